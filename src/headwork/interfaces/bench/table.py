"""The figures as a table for people: ratios first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..text import NO_BREAK
from .racing import OURS, Measured

HEAD = ("ratio", "goal", "headwork", "fastest other", "")


def table(measured: Sequence[Measured]) -> Iterator[str]:
    """One line for each regime: how many times as fast as the fastest other, and both times.

    Special cases: without another implementation, a dash and the time alone.
    """
    rows = [HEAD, *map(_row, measured)]
    says = ["", *(one.regime.says for one in measured)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    margin = max(map(len, says))
    for what, row in zip(says, rows, strict=True):
        cells = (f"{cell:>{width}}" for cell, width in zip(row[:-1], widths[:-1], strict=True))
        yield f"{what:<{margin}}  {'  '.join(cells)}  {row[-1]}".rstrip()


def _row(one: Measured) -> tuple[str, ...]:
    goal = f"{one.regime.goal:g}" if one.regime.goal else "–"
    ratio = f"{one.ratio:.2f} ×" if one.ratio else "–"
    other = time_text(one.seconds[one.best]) if one.best else "–"
    return (ratio, goal, time_text(one.seconds[OURS]), other, one.best)


def time_text(seconds: float) -> str:
    """A time in the unit that suits it, with three digits."""
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    unit, size = next((each for each in units.items() if seconds >= each[1]), ("µs", 1e-6))
    return f"{seconds / size:.3g}{NO_BREAK}{unit}"
