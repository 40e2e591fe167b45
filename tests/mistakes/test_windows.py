"""Which keys each wrong window lets a query see: drawn as a table, x is seen."""

import numpy as np
import pytest
from made import made
from test_causal import drawn, problem

from headwork.problem import Problem

BEHIND = problem(4, 4, causal=True, window=(1, 0))  # right: x... xx.. .xx. ..xx
AROUND = problem(4, 4, window=(0, 1))  # right: xx.. .xx. ..xx ...x
BACK = problem(4, 4, window=(1, 0))  # right: x... xx.. .xx. ..xx
WIDE = problem(5, 5, window=(3, 0))
CACHED = problem(2, 4, window=(1, 1))  # right: .xxx ..xx

TABLES = [
    # mistake  problem  seen  source
    ("window-ignored",  BEHIND,  "x... xx.. xxx. xxxx",  "by hand"),
    ("window-one-too-many",  BEHIND,  "x... xx.. xxx. .xxx",  "by hand"),
    ("window-one-too-few",  BEHIND,  "x... .x.. ..x. ...x",  "by hand"),
    ("window-right-one-too-many",  AROUND,  "xxx. .xxx ..xx ...x",  "by hand"),
    ("window-right-one-too-few",  AROUND,  "x... .x.. ..x. ...x",  "by hand"),
    ("window-one-too-many-on-both-sides",  AROUND,  "xxx. xxxx .xxx ..xx",  "by hand"),
    ("window-one-too-few-on-both-sides",  problem(3, 3, window=(1, 1)), "x.. .x. ..x", "by hand"),
    ("window-sides-swapped",  AROUND,  "x... xx.. .xx. ..xx",  "by hand"),
    ("window-on-both-sides",  BACK,  "xx.. xxx. .xxx ..xx",  "by hand"),
    ("window-centred",  WIDE,  "xxx.. xxxx. xxxxx .xxxx ..xxx", "by hand: (3 + 0 + 1)/2 = 2"),
    ("window-zero-as-none",  BACK,  "xxxx xxxx .xxx ..xx",  "by hand"),
    ("window-inverted",  BACK,  ".xxx ..xx x..x xx..",  "by hand"),
    ("window-by-row",  CACHED,  "xx.. xxx.",  "by hand"),
    ("window-from-the-end",  problem(3, 3, window=(1, None)), ".xx .xx .xx", "by hand"),
    ("window-in-blocks",  BEHIND,  "x... xx.. ..x. ..xx",  "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "table", "source"), TABLES)
def test_the_keys_seen_are(mistake: str, problem: Problem, table: str, source: str) -> None:
    assert drawn(made(problem, "masked", mistake) == 0) == table, source


def test_any_width_is_one_family() -> None:
    assert drawn(made(BEHIND, "masked", "window-another-width", theta=2.0) == 0) == "x... xx.. xxx. .xxx"


def test_a_window_as_long_as_the_sequence_hides_what_width_it_has() -> None:
    wide = Problem(given={"scaled": np.zeros((2, 2))}, value=np.ones((2, 1)), window=(4, 4))
    assert drawn(made(wide, "masked", "window-one-too-many") == 0) == "xx xx"
