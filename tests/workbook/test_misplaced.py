"""A key below the wrong line in brackets is told as that: which key, where it stands, and where it belongs."""

from collections import defaultdict

import pytest

from headwork.errors import FileError
from headwork.problem import field_names
from headwork.workbook.course import packaged_course, read_set
from headwork.workbook.exercises import read_exercise
from headwork.workbook.headers import Header
from headwork.workbook.misplaced import EXERCISE_KEYS, SET_KEYS, line_of
from headwork.workbook.skeleton import SKELETON

GOOD = SKELETON.format(id="mine", number=1, fill="Words")
STAYS = 'stays = ["why"]\n'
VALUE = "value = [[1, 0], [0, 2], [3, 1]]\n"
HEADER = "and belongs to the header itself"


def moved(line, behind):
    """The file with a line of it moved below another."""
    return GOOD.replace(line, "", 1).replace(behind, behind + line, 1)


# Lines are counted in the skeleton as an editor counts them, from the first fence; a line that is moved down
# makes those before its new place one fewer.
MISPLACED = [
    # the file                                         what is said
    (moved(STAYS, VALUE), f"problem.stays (line 29) stands in problem {HEADER}"),
    (moved(STAYS, 'step = "scaled"\n'), f"questions[1].stays (line 34) stands in questions[1] {HEADER}"),
    (moved(STAYS, 'step = "output"\n'), f"questions[3].stays (line 52) stands in questions[3] {HEADER}"),
    (moved('part = "Part one"\n', "[problem]\n"), f"problem.part (line 26) stands in problem {HEADER}"),
    (moved(STAYS, "[problem]\n"), "Move it above the first line in brackets (line 25)."),
    (moved(VALUE, STAYS), "value (line 25) stands above the first line in brackets and belongs to [problem]"),
    (moved(VALUE, 'step = "scaled"\n'), "questions[1].value (line 34) stands in questions[1] and belongs to [problem]"),
    (GOOD.replace("[problem]\n", ""), "query (line 26) stands above the first line in brackets and belongs to [problem]"),
    (GOOD.replace("[[questions]]\n", "", 1), "problem.id (line 31) stands in problem and belongs to [[questions]]"),
    (GOOD.replace(STAYS, STAYS + 'step = "scaled"\n'), "step (line 25) stands above the first line in brackets and belongs to [[questions]]"),
    (GOOD.replace(STAYS, "[draws]\nvalue = [3, 5]\n" + STAYS), f"draws.stays (line 26) stands in draws {HEADER}"),
    (GOOD.replace('hints = ["Words"]\n', '[[questions.wrong]]\nvalue = "1"\nsays = "A."\nhints = ["Words"]\n', 1),
     "questions[2].wrong[1].hints (line 50) stands in questions[2].wrong[1] and belongs to [[questions]]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), MISPLACED, ids=[row[1][:50] for row in MISPLACED])
def test_a_key_in_the_wrong_table_is_told_with_its_line_and_its_place(text, said):
    with pytest.raises(FileError) as error:
        read_exercise("mine.md", text)
    assert str(error.value).startswith("mine.md: ")
    assert said in str(error.value)
    line = said.partition("(line ")[2].partition(")")[0]
    key = str(error.value).removeprefix("mine.md: ").split()[0].rpartition(".")[2]
    if said.startswith(("problem", "questions", "draws", "step", "query", "value")):
        assert text.splitlines()[int(line) - 1].startswith(f"{key} ="), "the line is that of an editor"


def test_a_set_is_looked_at_as_an_exercise_is():
    text = (
        '+++\nid = "mine"\ntitle = "Mine"\nformula = "z"\n[[symbols]]\nsign = "z"\nsays = "outputs"\n'
        'closing = "Done."\n+++\nWelcome.\n'
    )
    with pytest.raises(
        FileError, match=r"symbols\[1\]\.closing \(line 8\) stands in symbols\[1\] and belongs"
    ):
        read_set("set.md", text, ())


def test_what_is_in_its_place_is_read():
    assert read_exercise("mine.md", GOOD).stays == ("why",)
    inline = GOOD.replace(STAYS, STAYS + 'computed = { why = "sum of weights[1]" }\n')
    assert read_exercise("mine.md", inline).computed == {"why": "sum of weights[1]"}


@pytest.mark.parametrize(
    "table",
    ["questions = [1, {a = 2}]", "problem = [[{separates = 2}]]", "shows = 3", "questions = {id = 1}"],
)
def test_tables_of_another_kind_are_left_to_the_reader(table):
    with pytest.raises(FileError, match=r"was expected|belongs"):
        read_exercise("mine.md", f"+++\n{table}\n+++\nText.")


def test_a_line_inside_a_text_is_no_table_and_no_key():
    lines = ("+++", 'recap = """', "[problem]", "stays = 1", '"""', "[problem]", "stays = 2")
    assert line_of(lines, "problem.", "stays") == 7
    assert line_of(lines, "", "stays") is None


def test_the_keys_are_those_that_are_read(monkeypatch):
    """Every kind of question and table is somewhere in the course."""
    read, take = defaultdict(set), Header.take

    def noting(self, key, *rest):
        at = ".".join(part.partition("[")[0] for part in self.place.strip(".").split("."))
        read[at].add(key)
        return take(self, key, *rest)

    monkeypatch.setattr(Header, "take", noting)
    packaged_course.__wrapped__()
    ours = {name for each in (EXERCISE_KEYS, SET_KEYS) for name in each} - {"later"}  # none is at present
    for name in ours:
        known = {*EXERCISE_KEYS.get(name, ()), *SET_KEYS.get(name, ())}
        assert read[name] == known, name


def test_no_field_of_a_problem_is_a_key_of_an_exercise_or_a_question():
    assert not {*EXERCISE_KEYS[""], *EXERCISE_KEYS["questions"]} & set(field_names())
