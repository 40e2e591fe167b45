"""Parts merged wrongly, online softmax with faults, and wrong logsumexps, worked by hand."""

from math import log, log2, log10

import numpy as np
import pytest
from made import made

from headwork.mistakes.merging import Fault, block_lengths, online
from headwork.problem import Problem


def row(exponentials: list[float], values: list[float], **options: object) -> Problem:
    """One query whose scores have these exponentials."""
    return Problem(
        query=[[1.0]],
        key=[[log(e)] for e in exponentials],
        value=[[v] for v in values],
        scale=1.0,
        **options,
    )


# parts (1) and (3, 2): outputs 6 and 1.2, sums 1 and 5, maxima ln 1 and ln 3; right: (6 + 0 + 6)/6 = 2
ONE_AND_TWO = row([1, 3, 2], [6, 0, 3], chunks=[1, 2])
# parts (1, 3) and (6): right (8 + 0 + 30)/10 = 3.8
TWO_AND_ONE = row([1, 3, 6], [8, 0, 5], chunks=[2, 1])
THREE = row([1, 3, 2], [6, 0, 3], chunks=[1, 1, 1])
BASE2 = 5 ** (1 / log(2))
BASE_E = 2 ** log(5)

MERGED = [
    # mistake                      problem      output                       source
    ("lse-base2-merged-as-e", ONE_AND_TWO, (6 + 1.2 * BASE2) / (1 + BASE2), "shares 1, e^(ln 5/ln 2)"),
    ("lse-e-merged-as-base2", ONE_AND_TWO, (6 + 1.2 * BASE_E) / (1 + BASE_E), "shares 1, 2^(ln 5)"),
    ("parts-averaged",             ONE_AND_TWO, 3.6,                         "by hand: (6 + 1.2)/2"),
    ("parts-added",                ONE_AND_TWO, 7.2,                         "by hand"),
    ("parts-weighted-by-length",   ONE_AND_TWO, 2.8,                         "by hand: (6 + 2·1.2)/3"),
    ("parts-weighted-by-row-sums", ONE_AND_TWO, 3.0,                         "by hand: sums 1 and 5/3"),
    ("parts-weighted-by-maxima",   ONE_AND_TWO, 2.4,                         "by hand: (6 + 3·1.2)/4"),
    ("parts-weighted-by-lse",      ONE_AND_TWO, 1.2,                         "by hand: ln 1 = 0"),
    ("parts-lse-added",            ONE_AND_TWO, 2.4,                         "by hand: 6/5 + 1.2·5/5"),
    ("last-part-forgotten",        ONE_AND_TWO, 6.0,                         "by hand"),
    ("first-part-forgotten",       ONE_AND_TWO, 1.2,                         "by hand"),
    ("accumulator-not-rescaled",   ONE_AND_TWO, 4.0,                         "by hand: (6 + 2)/(1/3 + 5/3)"),
    ("row-sum-not-rescaled",       ONE_AND_TWO, 1.5,                         "by hand: (2 + 2)/(1 + 5/3)"),
    ("nothing-rescaled",           ONE_AND_TWO, 3.0,                         "by hand: (6 + 2)/(1 + 5/3)"),
    ("rescale-inverted",           ONE_AND_TWO, 30 / 7,                      "by hand: (18 + 2)/(3 + 5/3)"),
    ("accumulator-overwritten",    ONE_AND_TWO, 1.0,                         "by hand: 2/(1/3 + 5/3)"),
    ("row-sum-overwritten",        ONE_AND_TWO, 2.4,                         "by hand: (2 + 2)/(5/3)"),
    ("divided-after-every-part", TWO_AND_ONE, 3.6, "by hand: ((8/3)/(4/3)/2 + 5)/(5/3)"),
    ("only-last-part",             THREE,       3.0,                         "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "problem", "output", "source"), MERGED)
def test_the_parts_merge_to(mistake: str, problem: Problem, output: float, source: str) -> None:
    assert made(problem, "output", mistake) == pytest.approx(np.array([[output]])), source


# blocks of 1, 3, 2, … keys, as the answer will tell; right: 2
UNNAMED = row([1, 3, 2], [6, 0, 3])

BLOCKS = [
    # mistake                         block  output   source
    ("block-accumulator-not-rescaled", 1.0,  4.0,     "by hand: (6 + 0 + 2)/2"),
    ("block-row-sum-not-rescaled",     1.0,  1.5,     "by hand: (2 + 0 + 2)/(1 + 1 + 2/3)"),
    ("block-nothing-rescaled",         1.0,  3.0,     "by hand: (6 + 0 + 2)/(1 + 1 + 2/3)"),
    ("block-rescale-inverted",         1.0,  30 / 7,  "by hand: (18 + 0 + 2)/(3 + 1 + 2/3)"),
    ("block-accumulator-not-rescaled", 3.0,  2.0,     "by hand: one block is right"),
    ("last-partial-block-dropped",     2.0,  1.5,     "by hand: (6 + 0)/(1 + 3)"),
    ("last-block-not-masked",          2.0,  12 / 7,  "by hand: one more e⁰"),
    ("last-block-not-masked",          8.0,  12 / 11, "by hand: five more e⁰"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "block", "output", "source"), BLOCKS)
def test_in_blocks_of_unnamed_size(mistake: str, block: float, output: float, source: str) -> None:
    assert made(UNNAMED, "output", mistake, theta=block) == pytest.approx(np.array([[output]])), source


def test_blocks_cover_all_keys() -> None:
    assert [block_lengths(7, size) for size in (1, 3, 7, 9)] == [(1,) * 7, (3, 3, 1), (7,), (7,)]


@pytest.mark.parametrize("lengths", [(5,), (2, 3), (1, 1, 1, 1, 1)])
def test_online_softmax_without_a_fault_is_right(lengths: tuple[int, ...]) -> None:
    logits = np.array([[0.3, -np.inf, 2.0, -1.0, 0.7], [-np.inf] * 5])
    value = np.arange(10.0).reshape(5, 2)
    exps = np.exp(logits[0])
    right = [(exps @ value) / exps.sum(), [0, 0]]  # textbook; a row that sees nothing is 0
    found = online(logits, value, np.isfinite(logits), lengths, Fault())
    assert found == pytest.approx(np.array(right))


# scores ln 1, ln 3, ln 2: m = ln 3, ℓ = 2, logsumexp ln 6
LSES = [
    # mistake                    logsumexp          source
    ("logsumexp-max-not-added",  log(2),            "by hand"),
    ("logsumexp-max-subtracted", log(2) - log(3),   "by hand"),
    ("logsumexp-base-2",         log2(6),           "by hand"),
    ("logsumexp-base-10",        log10(6),          "by hand"),
    ("logsumexp-mixed-bases",    log(3) + 1,        "by hand: log₂ 2 = 1"),
    ("logsumexp-not-logged",     6,                 "by hand"),
    ("logsumexp-sum-added",      log(3) + 2,        "by hand"),
    ("logsumexp-row-sum",        2,                 "by hand"),
    ("logsumexp-max-only",       log(3),            "by hand"),
    ("logsumexp-of-mean",        log(2),            "by hand: ln(6/3)"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "expected", "source"), LSES)
def test_the_logsumexp_is(mistake: str, expected: float, source: str) -> None:
    assert made(UNNAMED, "logsumexp", mistake) == pytest.approx(np.array([expected])), source


def test_plus_infinity_for_a_row_that_sees_nothing() -> None:
    problem = row([1, 3], [0, 0], mask=[[False, False]])
    assert made(problem, "logsumexp", "logsumexp-empty-row-inf").tolist() == [np.inf]
