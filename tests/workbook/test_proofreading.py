"""What a learner would stumble over is found before a learner does."""

from dataclasses import replace

import pytest

from headwork.errors import FileError
from headwork.workbook import proofreading
from headwork.workbook.course import exercises
from headwork.workbook.exercises import read_exercise
from headwork.workbook.judging import judge
from headwork.workbook.proofreading import proofread
from headwork.workbook.questions import CodeQuestion
from headwork.workbook.skeleton import SKELETON

READY = SKELETON.format(id="mine", number=1, fill="Words")
NUMBER = """
[[questions]]
id = "root"
kind = "number"
prompt = "What is the divisor?"
answer = "2"
source = "by hand: √4 = 2"
hints = ["√4"]
wrong = [{ value = "4", says = "4 is d_k." }]
"""


def with_number(text=NUMBER):
    return READY.replace("\n+++\nWords", f"\n{text}+++\nWords")


def test_a_ready_exercise_has_nothing_to_mend():
    proof = proofread(read_exercise("mine.md", with_number()))
    assert proof.findings == ()
    assert proof.drawn
    assert proof.operations > 0


@pytest.mark.parametrize(
    "exercise",
    [one for one in exercises() if not any(isinstance(q, CodeQuestion) for q in one.questions)],
    ids=lambda one: one.id,
)
def test_our_own_exercises_are_ready(exercise):
    assert proofread(exercise).findings == ()


FOUND = [
    # what is changed                              into                                  where, and what is said
    ('title = "Words: a few words"', 'title = "FILL IN"', "title", "is still to be written"),
    ('hints = ["√4"]', "hints = []", "question root", "has no hints"),
    ('answer = "2"', 'answer = "4"', "question root, wrong 4", "listed as not right, and it is right"),
    ('{ value = "4", says = "4 is d_k." }', '{ value = "4", says = "A." }, { value = "4.0", says = "B." }',
     "question root, wrong 4.0", "never gets its sentence"),
    ("What is the divisor?", "What is `d`?", "question root, prompt", "mark-up"),
    ("What is the divisor?", "See [this](x).", "question root, prompt", "a link or a tag"),
    ("What is the divisor?", "It is simply what?", "question root, prompt", "feel small"),
    ("What is the divisor?", "Try headwork practice nowhere.", "question root, prompt", "no such exercise"),
    ("What is the divisor?", "Try headwork explain scale-nothing.", "question root, prompt", "no such mistake"),
    ('"scores-negated", ', '"scores-nagated", ', "separates", "is in no catalogue"),
    ('"scores-negated", ', '"causal-skipped", ', "separates", "cannot be made at any step"),
    ('"scores-negated", "scores-last-feature-dropped", "scores-keys-reversed", "scores-sums-multiplied",', "",
     "", ""),
    ('"row-max-floor", ', "", "blind", "is not what these numbers cannot show. Put this line there: blind = ["),
    ('stays = ["why"]', 'stays = ["nothing"]', "stays, computed", "names 'nothing'"),
    ('stays = ["why"]', 'stays = ["root"]\ncomputed = { root = "scaled[1,1]" }', "", ""),
    ('stays = ["why"]', 'computed = { root = "scaled[1,2]" }', "computed", "is 0, and the answer of root is 2"),
    ('stays = ["why"]', 'computed = { root = "scaled[9,9]" }', "computed", "names nothing in these numbers"),
    ('stays = ["why"]', 'computed = { scaled = "scaled[1,1]" }', "computed", "scaled is no number question"),
    ('stays = ["why"]', 'stays = ["why"]\ndraws = { nothing = [1] }', "draws", "a shape for an array of the problem"),
    ('stays = ["why"]', 'stays = ["why"]\ndraws = { value = [] }', "draws", "a shape for an array of the problem"),
    ('stays = ["why"]', 'stays = ["why"]\ndraws = { value = [3, 5] }', "", ""),
    ("query = [[2, 0, 1, 0], [0, 2, 0, 2]]", "query = [[1e300, 0, 1, 0], [0, 1e-300, 0, 2]]", "separates",
     "no numbers were found for mine@0"),
    ('"scores-negated", ', '"scale-by-another-number", ', "separates", "has a number of its own"),
    ('"scores-negated", ', '"scale-missing", ', "separates", "same numbers as scale-missing on every input"),
    ('"scores-negated", ', '"scale-twice", ', "separates", "same numbers as scale-twice on every input"),
    ("Words: ask for all six scaled scores.", "Row 1 is [2 0 1].", "question scaled, prompt", "asked of drawn numbers"),
    ("query = [[2, 0, 1, 0]", "query = [[2, 0, 1]", "problem", "cannot be worked"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "place", "said"), FOUND, ids=[f"{row[2]} {row[3]}" for row in FOUND])
def test_a_slip_is_found_and_told_with_its_place(old, new, place, said):
    text = with_number()
    assert old in text
    findings = proofread(read_exercise("mine.md", text.replace(old, new))).findings
    if not said:
        assert findings == ()
        return
    assert any(finding.place == place and said in finding.says for finding in findings), findings


def test_what_is_found_with_every_seed_is_told_once_with_the_seeds(monkeypatch):
    exercise = read_exercise("mine.md", with_number().replace('stays = ["why"]', 'stays = ["root"]'))
    without = [replace(question, hints=()) for question in exercise.questions]
    findings = proofread(replace(exercise, questions=tuple(without))).findings
    assert [one.place for one in findings].count("question root") == 1, "not again for each seed"
    monkeypatch.setattr(proofreading, "judge", lambda fresh, *rest: judged_unless_drawn(fresh, *rest))
    findings = proofread(exercise).findings
    assert [one.place for one in findings] == ["seeds 0, 1 and 2 of the 3 that were drawn, question scaled"]


def judged_unless_drawn(exercise, question, answer, earlier):
    """As if no scaled scores of drawn numbers could be right."""
    judged = judge(exercise, question, answer, earlier)
    spoilt = exercise.drawn_from and question.id == "scaled"
    return replace(judged, verdict="not right") if spoilt else judged


@pytest.mark.parametrize(
    "line", ["computed = { a = 3 }", "computed = 3", "draws = { value = 3 }", 'stays = "why"']
)
def test_a_header_of_another_kind_is_told_when_it_is_read(line):
    with pytest.raises(FileError, match="was expected"):
        read_exercise("mine.md", READY.replace('stays = ["why"]', line))


def test_a_list_that_is_too_short_or_too_long_is_told():
    exercise = read_exercise("mine.md", READY)
    short = proofread(replace(exercise, separates=exercise.separates[:3])).findings
    assert [finding.says for finding in short] == ["has 3; from 10 to 25 were expected."]


def test_a_code_question_is_ready_where_its_stub_fails_and_its_solution_passes():
    (softmax,) = [one for one in exercises() if any(isinstance(q, CodeQuestion) for q in one.questions)][:1]
    assert proofread(softmax).findings == ()


def test_a_proof_is_plain_data():
    record = proofread(read_exercise("mine.md", READY)).to_dict()
    assert record["id"] == "mine"
    assert record["findings"] == []
    assert "row-max-floor" in record["blind"]
