"""The output of a row whose keys come in parts, worked part by part: on the run, or merged by logsumexp."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Array
from ..mechanism.arithmetic import worked
from ..mechanism.numerals import number_text, subscript
from ..mechanism.tracing import Trace
from .questions import DIGITS
from .rows import Place, columns_of


def running_lines(work: Trace, place: Place, digits: int) -> Iterator[str]:
    """What is kept after each part: the maximum, the sum and the values added up; then the division.

    work   of a problem with chunks; place: of a row of its output; digits: of what is asked
    Raises nothing. Special cases: of a row that may see nothing, the zeros.
    """
    shown, top, total, blend = max(digits, DIGITS), -np.inf, 0.0, np.zeros(columns_of(work, "output"))
    for block, (scores, values) in enumerate(_parts(work, place), 1):
        largest = max(top, float(scores.max()))
        if np.isneginf(largest):
            continue
        powers, factor = np.exp(scores - largest), float(np.exp(top - largest))
        added = float(powers.sum())
        sums = f"{number_text(total, shown)}·{number_text(factor, shown)} + {number_text(added, shown)} = "
        grown = (
            f", so that what was before counts e^({number_text(top)} − {number_text(largest)}) times as much"
        )
        total, blend = total * factor + added, blend * factor + powers @ values
        yield (
            f"block {block}: m = {number_text(largest)}{grown if -np.inf < top < largest else ''}; "
            f"ℓ = {sums if top > -np.inf else ''}{number_text(total, shown)}, values {_row(blend, shown)}"
        )
        top = largest
    result = _row(work["output"][place], digits)
    yield f"z{subscript(place[-1])} = {_row(blend, shown)} / {number_text(total, shown)} = {result}"


def part_lines(work: Trace, place: Place, digits: int) -> Iterator[str]:
    """The logsumexp and the output of each part by itself, which merging begins from.

    work, place, digits  as above
    Raises nothing. Special cases: none.
    """
    *heads, row = place
    for part in range(len(work.problem.chunks or ())):
        yield worked(work, "part_logsumexp", (part, *heads, row)).text(digits)
        for column in range(columns_of(work, "output")):
            yield worked(work, "part_output", (part, *heads, row, column)).text(digits)


def _parts(work: Trace, place: Place) -> Iterator[tuple[Array, Array]]:
    """The scores of a row and the values, of each part."""
    scores, values = work["masked"][place], np.asarray(work["value"])
    values = work["value_repeated"][place[:-1]] if values.ndim > 2 else values
    ends = np.cumsum(work.problem.chunks or ())
    return zip(np.split(scores, ends[:-1]), np.split(values, ends[:-1]), strict=True)


def _row(numbers: Array, digits: int) -> str:
    return "[" + " ".join(number_text(x, digits) for x in numbers) + "]"
