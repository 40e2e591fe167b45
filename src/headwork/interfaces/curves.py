"""Pictures of what the course asks about: the hill σ(1 − σ), variance, saturation and cost.

Lines differ by their dashes and marks and are named where they end, so that grey paper and colour-blind
eyes lose nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import OptionError
from ..mechanism.analysis import cost, score_variance
from ..mechanism.numerals import number_text
from .drawing import Picture, Theme

UNSCALED, SCALED = 0.5, 0.5 / math.sqrt(64)  # the gap of z = [8.0 7.5] before and after dividing by √64


def hill_picture() -> Picture:
    """The hill σ(1 − σ), and where the two first weights of level-3.2 stand on it. Raises nothing."""
    points = [
        (name, 1 / (1 + math.exp(-gap))) for name, gap in (("without scaling", UNSCALED), ("scaled", SCALED))
    ]
    told = [f"{name}, the first weight is {p:.4f} and the slope {p * (1 - p):.4f}" for name, p in points]
    says = (
        "A hill: how fast a weight σ changes with its score, σ(1 − σ). It is 0.25 at the top, where σ is "
        "0.5, and falls to nearly 0 where σ is near 0 or 1. The axis of σ is stretched towards its ends: "
        "equal steps along it are equal steps of the log-odds ln(σ/(1 − σ)), which for two keys is the gap "
        "between their scores. On it, for z = [8.0 7.5] and d_k = 64: "
        f"{told[0]}; {told[1]}, nearer the top."
    )
    return Picture("hill", "How fast a weight changes with its score", says, (6.4, 3.8), _hill(points))


def _hill(points: Sequence[tuple[str, float]]) -> Callable[[Sequence[Any], Theme], None]:
    def draw(axes: Sequence[Any], theme: Theme) -> None:
        own, odds = axes[0], np.linspace(-6, 6, 241)
        sigma = 1 / (1 + np.exp(-odds))
        own.plot(odds, sigma * (1 - sigma), color=theme.ink)
        for (name, p), mark, place in zip(points, ("s", "o"), ((2.0, 0.21), (-1.9, 0.21)), strict=True):
            at, slope = math.log(p / (1 - p)), p * (1 - p)
            own.plot(
                [at], [slope], mark, color=theme.accent, markersize=8, markeredgecolor=theme.ink, zorder=3
            )
            own.annotate(
                f"{name}\nσ = {p:.4f}\nslope {slope:.4f}", (at, slope), place,
                ha="left" if place[0] > 0 else "right", va="center", fontsize=9,
                arrowprops={"arrowstyle": "-", "color": theme.soft, "shrinkB": 5},
            )  # fmt: skip
        shown = (0.01, 0.1, 0.5, 0.9, 0.99)
        own.set_xticks([math.log(p / (1 - p)) for p in shown], [str(p) for p in shown])
        own.set(
            xlim=(-6, 6),
            ylim=(0, 0.28),
            xlabel="weight σ (stretched: equal steps of ln(σ/(1 − σ)))",
            ylabel="slope σ(1 − σ)",
            yticks=[0, 0.1, 0.2, 0.25],
        )
        own.axhline(0.25, color=theme.rule, zorder=0)

    return draw


HEAD_DIMS = tuple(2**n for n in range(9))  # 1 to 256
MARKED_DIM = 64


def variance_picture() -> Picture:
    """The variance of a score as d_k grows: raw, divided by √d_k, divided by d_k. Raises nothing."""
    rules: tuple[tuple[str, Callable[[int], float], str, str], ...] = (
        ("q · k", lambda d: 1.0, "-", "s"),
        ("divided by √d_k", lambda d: 1 / math.sqrt(d), "--", "o"),
        ("divided by d_k", lambda d: 1 / d, ":", "^"),
    )
    at = [score_variance(MARKED_DIM, scale=scale(MARKED_DIM)) for _, scale, _, _ in rules]
    says = (
        "The variance of a score for queries and keys whose components are independent, with mean 0 and "
        "variance 1, as d_k grows from 1 to 256; both axes are logarithmic. The variance of q · k rises in a "
        "straight line: it is d_k. Divided by √d_k it stays at 1. Divided by d_k it falls: it is 1/d_k. At "
        f"d_k = {MARKED_DIM} the three are {number_text(at[0])}, {number_text(at[1])} and "
        f"1/{MARKED_DIM} = {number_text(at[2], 6)}."
    )

    def draw(axes: Sequence[Any], theme: Theme) -> None:
        own = axes[0]
        for (name, scale, dashes, mark), colour in zip(
            rules, (theme.ink, theme.accent, theme.soft), strict=True
        ):
            values = [score_variance(d, scale=scale(d)) for d in HEAD_DIMS]
            own.plot(HEAD_DIMS, values, dashes, marker=mark, markersize=5, color=colour)
            _named_at_end(own, HEAD_DIMS[-1], values[-1], name, colour)
        own.set_xscale("log", base=2)
        own.set_yscale("log", base=2)
        own.set_xticks(HEAD_DIMS, [str(d) for d in HEAD_DIMS])
        own.set_yticks([1 / 256, 1 / 16, 1, 16, 256], ["1/256", "1/16", "1", "16", "256"])
        own.minorticks_off()
        own.grid(True)
        own.set(xlabel="d_k", ylabel="variance of a score")

    return Picture("variance", "What dividing by √d_k keeps steady", says, (6.8, 3.8), draw)


def _named_at_end(axes: Any, x: float, y: float, name: str, colour: str) -> None:
    """The name of a line, beside its last point."""
    axes.annotate(
        name,
        (x, y),
        (7, 0),
        textcoords="offset points",
        va="center",
        color=colour,
        fontsize=9,
        annotation_clip=False,
    )


DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKS = ("o", "s", "^", "D", "v", "P")
FACTORS = np.linspace(0, 6, 121)
MARKED_FACTORS = (1, 5)


def saturation_picture(scores: Sequence[float] = (1, 0, 2)) -> Picture:
    """The weights of one row as all of its scores are multiplied by a growing factor.

    scores  of the row, at most six; those of the three tokens' first row if not said
    Raises OptionError for more, or where one is not finite. Special cases: none.
    """
    row = np.asarray(scores, dtype=np.float64)
    if not (1 <= len(row) <= len(DASHES) and np.isfinite(row).all()):
        raise OptionError(f"a row of 1 to {len(DASHES)} finite scores can be drawn; this one has {len(row)}.")
    text = " ".join(number_text(score) for score in row)
    told = "; ".join(
        f"times {factor}, the weights are {' '.join(number_text(w) for w in _softmax(row * factor))}"
        for factor in MARKED_FACTORS
    )
    says = (
        f"The weights of a row with the scaled scores [{text}] as all of them are multiplied by a factor "
        f"from 0 to 6. At 0 every weight is the same. {told[0].upper()}{told[1:]}. {_end_of(row)}"
    )

    def draw(axes: Sequence[Any], theme: Theme) -> None:
        own = axes[0]
        weights = np.array([_softmax(row * factor) for factor in FACTORS])
        best = int(np.argmax(row))
        for j, height in zip(range(len(row)), _apart(weights[-1], 0.06), strict=True):
            colour = theme.accent if j == best else theme.ink
            own.plot(
                FACTORS,
                weights[:, j],
                linestyle=DASHES[j],
                color=colour,
                marker=MARKS[j],
                markevery=20,
                markersize=5,
                clip_on=False,
            )
            _named_at_end(own, FACTORS[-1], height, f"key {j + 1}, score {number_text(row[j])}", colour)
        for factor in MARKED_FACTORS:
            own.axvline(factor, color=theme.rule, zorder=0)
        own.set(xlim=(0, 6), ylim=(-0.02, 1.02), xlabel="all scores times", ylabel="weight")

    return Picture("saturation", "A row saturates as its scores grow", says, (6.8, 3.8), draw)


def _end_of(row: Array) -> str:
    if int((row == row.max()).sum()) == 1:
        return "The weight of the largest score goes to 1, all others to 0."
    return "The largest scores share all the weight in the end; the weights of the others go to 0."


def _softmax(row: Array) -> Array:
    exponentials = np.exp(row - row.max())
    return np.asarray(exponentials / exponentials.sum())


def _apart(heights: Array, least: float) -> list[float]:
    """The heights, moved up as little as it takes for names beside them not to meet."""
    placed: dict[int, float] = {}
    last = -math.inf
    for j in np.argsort(heights, kind="stable"):
        last = max(float(heights[j]), last + least)
        placed[int(j)] = last
    return [placed[j] for j in range(len(heights))]


LENGTHS = (125, 250, 500, 1000, 2000, 4000, 8000, 16000)
WIDTH = 64


def cost_picture() -> Picture:
    """How many numbers attention holds as a text grows: the score matrix, and Q, K, V and the output.

    Raises nothing. Special cases: one head of width 64.
    """
    entries = [cost(T, T, WIDTH).entries for T in LENGTHS]
    rows = [4 * WIDTH * T for T in LENGTHS]  # Q, K, V and the output
    one, two = (cost(T, T, WIDTH).entries for T in (1000, 2000))
    says = (
        f"How many numbers one head of width {WIDTH} holds, against the length of the text; both axes are "
        "logarithmic. Queries, keys, values and outputs together rise in a straight line of slope 1: twice "
        f"the tokens, twice the numbers. The score matrix rises twice as steeply: {one:,} entries for 1,000 "
        f"tokens, {two:,} for 2,000, four times as many. Beyond {4 * WIDTH} tokens it is the larger of "
        "the two."
    )

    def draw(axes: Sequence[Any], theme: Theme) -> None:
        own = axes[0]
        own.plot(LENGTHS, entries, "-", marker="o", markersize=5, color=theme.accent)
        own.plot(LENGTHS, rows, "--", marker="s", markersize=5, color=theme.ink)
        _named_at_end(own, LENGTHS[-1], entries[-1], "score matrix", theme.accent)
        _named_at_end(own, LENGTHS[-1], rows[-1], "Q, K, V and z", theme.ink)
        for T, count, text in ((1000, one, "10⁶"), (2000, two, "4·10⁶")):
            own.annotate(text, (T, count), (-8, 6), textcoords="offset points", ha="right", fontsize=9)
        own.set_xscale("log", base=2)
        own.set_yscale("log")
        own.set_xticks(LENGTHS, [f"{T:,}" for T in LENGTHS], rotation=30)
        own.minorticks_off()
        own.grid(True)
        own.set(xlabel="tokens", ylabel="numbers held")

    return Picture("cost", "Twice the text, four times the scores", says, (6.8, 4.0), draw)
