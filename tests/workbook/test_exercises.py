"""An author's slip is told by file and key; nothing in a header is ignored."""

import pytest

from headwork.errors import FileError
from headwork.workbook.course import read_set
from headwork.workbook.exercises import read_exercise
from headwork.workbook.opening import worked_out

GOOD = """+++
id = "scores"
number = 1
title = "Nine dot products"
about = "all nine"
part = "one"
shows = ["query", {field = "key", rows = [2]}]
recap = "Done."
source = "by hand"
[problem]
query = [[2, 0], [0, 2]]
key = [[1, 0], [0, 1]]
value = [[1], [2]]
[[questions]]
id = "s"
kind = "step"
step = "scores"
rows = [2]
prompt = "Row 2."
hints = ["Look.", "Look again."]
[[questions]]
id = "n"
kind = "number"
prompt = "One number."
answer = "e^2"
source = "by hand"
wrong = [{ value = "2", says = "2 is the gap." }]
[[questions]]
id = "x"
kind = "explain"
prompt = "Why?"
ours = "Because."
points = ["it says why"]
[[questions]]
id = "c"
kind = "choice"
prompt = "Which?"
options = [{ text = "this", right = true, says = "It is." }, { text = "that", says = "It is not." }]
[[questions]]
id = "f"
kind = "shape"
prompt = "Which shape?"
answer = "2 × 2"
source = "by hand"
wrong = [{ value = "2 × 1", says = "That is V." }]
[[questions]]
id = "d"
kind = "design"
prompt = "Make up a query."
asks = [{ name = "query", shape = [1, 2] }]
wanted = "scores"
values = "1 1"
example = "1 1"
property = "They are {scores}."
[[questions]]
id = "p"
kind = "code"
prompt = "Write it."
track = "attention"
+++
The opening.
"""


def test_a_good_file_is_read():
    exercise = read_exercise("scores.md", GOOD)
    assert exercise.opening == "The opening."
    assert [question.id for question in exercise.questions] == ["s", "n", "x", "c", "f", "d", "p"]
    assert exercise.questions[0].rows == (2,)
    assert exercise.views[1].rows == (2,)


def test_line_ends_of_any_kind_are_read():
    assert read_exercise("scores.md", GOOD.replace("\n", "\r\n")).title == "Nine dot products"


BAD = [
    # from                              to                           what the error says
    ("+++\nid", "id", r"scores\.md has no header"),
    ('id = "scores"', "id = scores", r"scores\.md: the header is not TOML: .*line 2, "),
    ('title = "Nine dot products"\n', "", r"scores\.md: title is missing"),
    ('title = "Nine dot products"', 'title = " "', r"scores\.md: title is empty"),
    ('title = "Nine dot products"', "title = 3", r"scores\.md: title is 3; a text was expected"),
    ("number = 1", 'number = "1"', r"scores\.md: number is '1'; a whole number"),
    ("number = 1", "number = true", r"scores\.md: number is True"),
    ("number = 1", "number = 0", r"scores\.md: number is 0; a whole number of at least 1"),
    ('id = "scores"', 'id = "The Scores"', r"scores\.md: id is 'The Scores'; small letters"),
    ('about = "all nine"', 'abuot = "all nine"', r"scores\.md: about is missing; .* there is 'abuot', which is no key"),
    ("number = 1", 'number = 1\ntitel = "x"', r"titel \(line 4\) is not a key .*the nearest is 'title'"),
    ("number = 1", "number = 1\nzzz = 1", r"zzz \(line 4\) is not a key .*the keys here are about"),
    ('key = [[1, 0], [0, 1]]\n', "", r"problem cannot be worked: the problem has no key"),
    ('key = [[1, 0], [0, 1]]', "key = [[1], [0]]", r"problem cannot be worked: one row of query"),
    ('key = [[1, 0], [0, 1]]', "keys = [[1], [0]]", r"problem cannot be worked: .* no field 'keys'"),
    ("rows = [2]\nprompt", "rows = [3]\nprompt", r"questions\[1\]\.rows is \[3\], and there are only 2"),
    ("rows = [2]\nprompt", 'rows = ["2"]\nprompt', r"questions\[1\]\.rows is \['2'\]"),
    ("rows = [2]}", "rows = [3]}", r"shows\[2\]\.rows is \[3\]"),
    ('["query", {', '["qeury", {', r"shows\[1\]\.field is 'qeury'"),
    ('["query", {', '[7, {', r"shows"),
    ('step = "scores"', 'step = "score"', r"questions\[1\]\.step is 'score'"),
    ('kind = "step"', 'kind = "matrix"', r"questions\[1\]\.kind is 'matrix'; it must be one of step, number"),
    ('hints = ["Look."', 'hints = [""', r"questions\[1\]\.hints"),
    ('answer = "e^2"', 'answer = "e squared"', r"questions\[2\]\.answer is no number"),
    ('value = "2"', 'value = "two"', r"questions\[2\]\.wrong\[1\]\.value is no number"),
    ('points = ["it says why"]', "points = []", r"questions\[3\]\.points is missing"),
    ('id = "n"', 'id = "s"', r"questions has the id 's' twice"),
    ('answer = "e^2"', 'answer = "e^2"\nwithin = "some"', r"questions\[2\]\.within is no number"),
    ("right = true, ", "", r"questions\[4\]\.options has 0 with right = true; exactly one was expected"),
    ('text = "that",', 'text = "that", right = true,', r"options has 2 with right = true; exactly one"),
    ('prompt = "Which?"', 'prompt = "Which?"\nguess = true', r"questions\[4\]\.guess is true; then no option"),
    ('prompt = "Which?"', 'prompt = "Which?"\nseveral = 1', r"questions\[4\]\.several is 1; true or false"),
    (', { text = "that", says = "It is not." }', "", r"questions\[4\]\.options has 1; from 2 to 9 were"),
    ('text = "that"', 'text = "This"', r"questions\[4\]\.options has the same text twice"),
    ('says = "It is not."', 'say = "It is not."', r"questions\[4\]\.options\[2\]\.says is missing"),
    ('answer = "2 × 2"', 'answer = "two"', r"questions\[5\]\.answer has 'two'; a shape such as '3 × 5'"),
    ('value = "2 × 1"', 'value = "x"', r"questions\[5\]\.wrong has 'x'"),
    ("shape = [1, 2]", "shape = [2]", r"questions\[6\]\.asks\[1\]\.shape is \[2\]; \[rows, columns\]"),
    ("asks = [{ name = \"query\", shape = [1, 2] }]", "asks = []", r"questions\[6\]\.asks needs at least one"),
    ('name = "query", shape', 'name = "queries", shape', r"questions\[6\] cannot be asked"),
    ('wanted = "scores"', 'wanted = "score"', r"questions\[6\] cannot be asked: 'score'"),
    ('example = "1 1"', 'example = "1 2"', r"questions\[6\]\.example does not have the property"),
    ("They are {scores}.", "They are {sums}.", r"questions\[6\] cannot be asked: 'sums'"),
    ('track = "attention"', 'track = "atention"', r"questions\[7\] cannot be asked: .*nearest is attention"),
    ("[problem]\n", "[problems]\n", r"is not a key that is read here; the nearest is 'problem'"),
    ("The opening.", "", r"the text below the header is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), BAD)
def test_a_slip_of_the_author_names_file_and_key(old, new, said):
    assert old in GOOD
    with pytest.raises(FileError, match=said) as error:
        worked_out(read_exercise("scores.md", GOOD.replace(old, new, 1)))
    assert "scores.md" in str(error.value)


def test_a_part_that_the_set_does_not_have_is_an_error():
    text = '+++\nid = "set"\ntitle = "Set"\nformula = "z"\nclosing = "End."\n+++\nOpening.'
    with pytest.raises(FileError, match=r"set\.md: parts has no 'one', the part that exercise scores names"):
        read_set("set.md", text, (read_exercise("scores.md", GOOD),))


def test_what_asks_for_no_numbers_needs_no_problem():
    head, questions = GOOD.split("[problem]")
    choice = questions[
        questions.index('[[questions]]\nid = "c"') : questions.index('[[questions]]\nid = "f"')
    ]
    shows = 'shows = ["query", {field = "key", rows = [2]}]\n'
    exercise = read_exercise("words.md", f"{head.replace(shows, '')}{choice}+++\nThe opening.")
    assert worked_out(exercise) is None
    with pytest.raises(FileError, match="without a problem to work out"):
        _ = exercise.work


def test_a_step_without_a_problem_is_an_error():
    head, questions = GOOD.split("[problem]")
    text = head + questions[questions.index("[[questions]]") :]
    with pytest.raises(FileError, match=r"shows\[1\]\.field is 'query', which needs a \[problem\]"):
        worked_out(read_exercise("words.md", text))


def test_what_a_learner_sees_of_a_question_does_not_give_it_away():
    for question in read_exercise("scores.md", GOOD).questions:
        seen = question.to_dict()
        assert seen["kind"] == question.kind
        assert not {"answer", "right", "source", "ours", "points", "example", "says"} & set(seen)
        assert "It is." not in str(seen)
