"""Where no numbers can be found, the mistake that is to blame is named, or the two, with the reason."""

from dataclasses import replace

import pytest

from headwork.errors import OptionError
from headwork.workbook import numbers
from headwork.workbook.exercises import read_exercise
from headwork.workbook.finding import find_exercise
from headwork.workbook.numbers import drawing
from headwork.workbook.proofreading import proofread
from headwork.workbook.skeleton import SKELETON

UNMEETABLE = [
    # exercise   put into its list            what is said, and why it is so, by hand
    # d_k = 4 and d_v = 2: dividing by d_v is dividing by √d_k
    ("blend", "scale-by-value-width-unrooted", "scale-by-value-width-unrooted (divided by d_v, the width of a value) leaves the "
     "output right in every draw"),
    ("blend", "scale-by-value-width-unrooted", "Here: d_v = 2, √d_k = 2"),
    # no score by hand is so large that an exponential overflows
    ("softmax", "softmax-without-max", "leaves the weights right in every draw. It hides when no exponential overflows"),
    # one row: what happens along the queries happens to each entry by itself
    ("level-2.3", "softmax-sum-over-queries", "give the same numbers in every draw"),
    ("level-2.3", "softmax-sum-over-queries", "They differ at the step logsumexp."),
    # two keys: all but the first is the last one alone
    ("level-2.3", "blend-last-term-only", "blend-without-first-key (left the first key out of the blend) and "
     "blend-last-term-only"),
    ("level-2.3", "blend-last-term-only", "Tk = 2, Tq = 1, H = 1, Hkv = 1 no input was found"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "mistake", "said"), UNMEETABLE)
def test_the_mistake_to_blame_is_named_with_the_reason(monkeypatch, name, mistake, said):
    monkeypatch.setattr(numbers, "MOST_PROVED", 6)
    exercise = find_exercise(name)
    with pytest.raises(OptionError) as error:
        drawing(replace(exercise, separates=(*exercise.separates, mistake)), 0)
    assert said in str(error.value)
    assert "Leave out of separates what no draw can show" in str(error.value)


def test_where_no_draw_is_like_the_first_numbers_that_is_said(monkeypatch):
    monkeypatch.setattr(numbers, "_is_like", lambda fresh, like: False)
    monkeypatch.setattr(numbers, "MOST_DRAWS", 20)
    with pytest.raises(OptionError, match="No draw was like its own numbers"):
        drawing(replace(find_exercise("scores"), title="Another"), 0)


def test_where_no_mistake_is_to_blame_alone_the_nearest_draw_is_told(monkeypatch):
    monkeypatch.setattr(numbers, "all_seen", lambda fresh: False)
    monkeypatch.setattr(numbers, "MOST_PROVED", 6)
    with pytest.raises(OptionError, match="Each of the mistakes shows in some draw, and all of them in none"):
        drawing(replace(find_exercise("causal"), title="Another"), 0)


def test_an_author_is_told_by_course_check(monkeypatch):
    monkeypatch.setattr(numbers, "MOST_PROVED", 6)
    text = SKELETON.format(id="mine", number=1, fill="Words").replace("scores-negated", "row-max-floor", 1)
    (finding,) = [
        each for each in proofread(read_exercise("mine.md", text)).findings if each.place == "separates"
    ]
    assert (
        "row-max-floor (let the running maximum start at −50000 instead of −∞) leaves the output right"
        in finding.says
    )
