"""Which keys each wrong causal rule lets a query see: drawn as a table, x is seen."""

import numpy as np
import pytest
from made import made

from headwork.problem import Problem


def problem(Tq: int, Tk: int, **options: object) -> Problem:
    return Problem(given={"scaled": np.zeros((Tq, Tk))}, value=np.ones((Tk, 1)), **options)


def drawn(seen: np.ndarray) -> str:
    return " ".join("".join("x" if cell else "." for cell in row) for row in seen)


SQUARE = problem(3, 3, causal=True)  # right: x.. xx. xxx
CACHED = problem(2, 4, causal=True)  # right: xxx. xxxx
UPPER = problem(2, 4, causal="upper_left")  # right: x... xx..
PLACED = problem(2, 5, causal=True, offset=1)  # right: xx... xxx..
WITH_MASK = problem(3, 3, causal=True, mask=[[True, False, True]])

TABLES = [
    # mistake                             problem    seen              source
    ("causal-skipped",                    SQUARE,    "xxx xxx xxx",    "by hand"),
    ("causal-strict",                     SQUARE,    "... x.. xx.",    "by hand"),
    ("causal-one-too-many",               SQUARE,    "xx. xxx xxx",    "by hand"),
    ("causal-reversed",                   SQUARE,    "xxx .xx ..x",    "by hand"),
    ("causal-inverted",                   SQUARE,    ".xx ..x ...",    "by hand"),
    ("causal-uninvited",                  problem(3, 3), "x.. xx. xxx", "by hand"),
    ("causal-top-left-for-bottom-right",  CACHED,    "x... xx..",      "by hand"),
    ("causal-strict",                     CACHED,    "xx.. xxx.",      "by hand"),
    ("causal-reversed",                   CACHED,    "..xx ...x",      "by hand"),
    ("causal-bottom-right-for-top-left",  UPPER,     "xxx. xxxx",      "by hand"),
    ("causal-offset-ignored",             PLACED,    "x.... xx...",    "by hand"),
    ("causal-offset-doubled",             PLACED,    "xxx.. xxxx.",    "by hand"),
    ("causal-offset-negated",             PLACED,    "..... x....",    "by hand"),
    ("causal-offset-from-the-end",        PLACED,    "xxxx. xxxxx",    "by hand"),
    ("causal-offset-one-too-large",       PLACED,    "xxx.. xxxx.",    "by hand"),
    ("causal-offset-one-too-small",       PLACED,    "x.... xx...",    "by hand"),
    ("causal-or-mask",                    WITH_MASK, "x.x xxx xxx",    "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "table", "source"), TABLES)
def test_the_keys_seen_are(mistake: str, problem: Problem, table: str, source: str) -> None:
    assert drawn(made(problem, "masked", mistake) == 0) == table, source


def test_blocks_of_two_show_one_key_too_many_in_every_other_row() -> None:
    assert (
        drawn(made(problem(4, 4, causal=True), "masked", "causal-by-block", theta=2.0) == 0)
        == "xx.. xx.. xxxx xxxx"
    )


def test_any_offset_is_one_family() -> None:
    assert drawn(made(SQUARE, "masked", "causal-another-offset", theta=1.0) == 0) == "xx. xxx xxx"


def test_rows_numbered_through_the_batch_see_the_future_from_the_second_element_on() -> None:
    batch = Problem(
        given={"scaled": np.zeros((2, 1, 2, 3))}, value=np.ones((2, 1, 3, 1)), causal="upper_left"
    )
    seen = made(batch, "masked", "causal-flattened")[:, 0] == 0
    assert [drawn(table) for table in seen] == ["x.. xx.", "xxx xxx"]


def test_padding_counted_as_keys_moves_the_queries_too_far() -> None:
    batch = Problem(
        given={"scaled": np.zeros((1, 1, 2, 5))}, value=np.ones((1, 1, 5, 1)), causal=True, lengths=[3]
    )
    assert (
        drawn(made(batch, "masked", "causal-offset-from-buffer")[0, 0] == 0) == "xxx.. xxx.."
    )  # right: xx... xxx..


def test_only_the_first_head_hides_the_future() -> None:
    heads = Problem(given={"scaled": np.zeros((2, 2, 2))}, value=np.ones((2, 2, 1)), causal=True)
    assert [drawn(table) for table in made(heads, "masked", "causal-first-head-only") == 0] == [
        "x. xx",
        "xx xx",
    ]
