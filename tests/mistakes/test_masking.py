"""What each wrong mask lets through, and what is written where it does not, worked by hand."""

import numpy as np
import pytest
from made import made

from headwork.problem import Problem

inf, nan = np.inf, np.nan
SCALED = [[1.0, 2.0], [3.0, 4.0]]
VALUE = [[1.0], [0.0]]


def start(**options: object) -> Problem:
    """Scaled scores 1, 2 and 3, 4."""
    return Problem(given={"scaled": SCALED}, value=VALUE, **options)


LAST_HIDDEN = start(mask=[[True, False], [True, True]])
FLOAT = start(mask=[[0.5, -inf], [0.0, 2.0]])

MASKED = [
    # mistake                       problem      masked scores                  source
    ("mask-fill-zero",              LAST_HIDDEN, [[1, 0], [3, 4]],              "by hand"),
    ("mask-multiplied",             LAST_HIDDEN, [[1, 0], [3, 4]],              "by hand: 2 · 0 = 0"),
    ("mask-fill-tiny",              LAST_HIDDEN, [[1, 1e-9], [3, 4]],           "by hand"),
    ("mask-fill-not-low-enough",    LAST_HIDDEN, [[1, -1e5], [3, 4]],           "by hand"),
    ("mask-added-as-numbers",       LAST_HIDDEN, [[2, 2], [4, 5]],              "by hand: + 1 where true"),
    ("mask-infinity-times-zero",    LAST_HIDDEN, [[nan, -inf], [nan, nan]],     "by hand: 0 · ∞ is NaN"),
    ("mask-added-minus-100",        LAST_HIDDEN, [[1, -98], [3, 4]],            "by hand"),
    ("mask-ignored",                LAST_HIDDEN, [[1, 2], [3, 4]],              "by hand"),
    ("mask-polarity",               LAST_HIDDEN, [[-inf, 2], [-inf, -inf]],     "by hand"),
    ("mask-transposed",             LAST_HIDDEN, [[1, 2], [-inf, 4]],           "by hand"),
    ("mask-first-row-for-all",      LAST_HIDDEN, [[1, -inf], [3, -inf]],        "by hand"),
    ("mask-last-row-for-all",       LAST_HIDDEN, [[1, 2], [3, 4]],              "by hand"),
    ("float-mask-ignored",          FLOAT,       [[1, 2], [3, 4]],              "by hand"),
    ("float-mask-sign",             FLOAT,       [[0.5, -inf], [3, 2]],         "by hand"),
    ("float-mask-twice",            FLOAT,       [[2, -inf], [3, 8]],           "by hand"),
    ("float-mask-multiplied",       FLOAT,       [[0.5, -inf], [0, 8]],         "by hand"),
    ("float-mask-infinity-dropped", FLOAT,       [[1.5, 2], [3, 6]],            "by hand"),
    ("float-mask-nonzero-masks",    FLOAT,       [[-inf, -inf], [3, -inf]],     "by hand"),
    ("float-mask-zero-masks",       FLOAT,       [[1, 2], [-inf, 4]],           "by hand"),
    ("float-mask-transposed",       FLOAT,       [[1.5, 2], [-inf, 6]],         "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "masked", "source"), MASKED)
def test_the_masked_scores_are(
    mistake: str, problem: Problem, masked: list[list[float]], source: str
) -> None:
    assert made(problem, "masked", mistake) == pytest.approx(np.array(masked, dtype=float), nan_ok=True), (
        source
    )


PADDED = start(mask=[[True, False]])  # the second token is padding
BATCH = Problem(given={"scaled": [[SCALED]] * 2}, value=[[VALUE]] * 2, lengths=[1, 2])
TWO = start(mask=[{"mask": [[True, True]]}, {"mask": [[True, False], [True, True]]}])

ALLOWED = [
    # mistake                    problem   may be seen                                 source
    ("pad-mask-on-queries",      PADDED,   [[1, 1], [0, 0]],                           "by hand"),
    ("pad-mask-on-queries-too",  PADDED,   [[1, 0], [0, 0]],                           "by hand"),
    ("masks-first-only",         TWO,      [[1, 1], [1, 1]],                           "by hand"),
    ("masks-last-only",          TWO,      [[1, 0], [1, 1]],                           "by hand"),
    ("masks-ored",               TWO,      [[1, 1], [1, 1]],                           "by hand"),
    ("lengths-ignored",          BATCH,    [[[1, 1], [1, 1]], [[1, 1], [1, 1]]],       "by hand"),
    ("lengths-one-too-many",     BATCH,    [[[1, 1], [1, 1]], [[1, 1], [1, 1]]],       "by hand"),
    ("lengths-one-too-few",      BATCH,    [[[0, 0], [0, 0]], [[1, 0], [1, 0]]],       "by hand"),
    ("lengths-padded-left",      BATCH,    [[[0, 1], [0, 1]], [[1, 1], [1, 1]]],       "by hand"),
    ("lengths-inverted",         BATCH,    [[[0, 1], [0, 1]], [[0, 0], [0, 0]]],       "by hand"),
    ("lengths-of-first-sample",  BATCH,    [[[1, 0], [1, 0]], [[1, 0], [1, 0]]],       "by hand"),
    ("pad-mask-on-queries",      BATCH,    [[[1, 1], [0, 0]], [[1, 1], [1, 1]]],       "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "allowed", "source"), ALLOWED)
def test_the_keys_that_may_be_seen_are(
    mistake: str, problem: Problem, allowed: list[object], source: str
) -> None:
    given = np.array(allowed, dtype=bool)
    shape = (*problem.batch, problem.H, problem.Tq, problem.Tk)
    seen = made(problem, "masked", mistake) > -inf
    assert (seen.reshape(shape) == given.reshape(shape)).all(), source


def test_the_second_head_gets_the_next_samples_mask_when_the_batch_is_tiled() -> None:
    masks = [[[[True, True]]], [[[True, False]]]]  # m0, m1 as (B, 1, 1, Tk)
    problem = Problem(
        given={"scaled": np.ones((2, 3, 1, 2))}, value=np.ones((2, 3, 2, 1)), mask=np.array(masks)
    )
    seen = made(problem, "masked", "mask-repeat-order")[..., 0, 1] > -inf
    assert seen.tolist() == [[True, False, True], [False, True, False]]  # m0 m1 m0 | m1 m0 m1


EMPTY = start(mask=[[False, False], [True, True]])
EMPTY_ROWS = [
    # mistake                      weights of the row that may see nothing    source
    ("fully-masked-row-nan",       [nan, nan],                                "0/0"),
    ("mask-value-overflows-fp16",  [nan, nan],                                "google/flax#1527"),
    ("fully-masked-row-uniform",   [0.5, 0.5],                                "equal scores"),
    ("fully-masked-row-unmasked",  [1 / (1 + np.e), np.e / (1 + np.e)],       "softmax of 1, 2 by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "row", "source"), EMPTY_ROWS)
def test_an_empty_row_comes_out_as(mistake: str, row: list[float], source: str) -> None:
    assert made(EMPTY, "weights", mistake)[0] == pytest.approx(row, nan_ok=True), source


def test_only_the_empty_row_differs() -> None:
    assert made(EMPTY, "weights", "fully-masked-row-nan")[1] == pytest.approx(
        [1 / (1 + np.e), np.e / (1 + np.e)]
    )


def test_masking_the_weights_leaves_a_row_below_one() -> None:
    weights = made(LAST_HIDDEN, "weights", "mask-after-softmax")
    assert weights[0] == pytest.approx([1 / (1 + np.e), 0])


def test_a_low_fill_shows_only_where_scores_are_lower_still() -> None:
    low = Problem(
        given={"scaled": [[-2e5, 1.0, 0.0]]}, value=[[1.0], [2.0], [3.0]], mask=[[True, False, False]]
    )
    assert made(low, "weights", "mask-fill-not-low-enough")[0] == pytest.approx([0, 0.5, 0.5])
    assert made(low, "weights", "mask-fill-minus-1e9")[0] == pytest.approx([1, 0, 0])
