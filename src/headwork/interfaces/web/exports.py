"""What the bench gives away: JSON, LaTeX, Python and a picture, each made of the trace alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...arrays import Array
from ...mechanism.fields import field_named
from ...mechanism.numerals import number_text
from ...mechanism.tracing import Trace
from ..grids import EVERY, caption_of, matrix_at, places_of
from ..json_text import json_text
from ..sections import made_by
from ..show import show_record

CELL, GAP = 54, 64  # of the picture
LEVELS = (
    "#fcfaf5",
    "#f0f2f3",
    "#e4eaf2",
    "#d9e2f0",
    "#cddaee",
    "#c1d3ec",
    "#b5cbeb",
    "#aac3ea",
    "#9ebbe9",
    "#92b3e7",
    "#86abe6",
)


def json_of(work: Trace) -> str:
    """Problem and every step, as headwork show --json prints them.

    work  of the bench
    Raises nothing. Special cases: none.
    """
    return json_text(show_record(work, (), None, EVERY)) + "\n"


def latex_of(work: Trace) -> str:
    """Every step as a matrix of amsmath.

    work  of the bench
    Raises nothing. Special cases: of several heads, one matrix after the other.
    """
    lines = [r"% needs \usepackage{amsmath}"]
    for step, name in made_by(work):
        for place in places_of(work, name, EVERY):
            matrix = matrix_at(work, name, place)
            if matrix.dtype == bool:
                continue
            caption = caption_of(work, name, place)
            lines += ["", f"% {field_named(name).title}{', ' + caption if caption else ''}: {step.formula}"]
            lines += [r"\[\begin{bmatrix}", *_latex_rows(matrix), r"\end{bmatrix}\]"]
    return "\n".join(lines) + "\n"


def _latex_rows(matrix: Array) -> Iterator[str]:
    for row in matrix:
        yield "  " + " & ".join(_latex(number_text(x)) for x in row) + r" \\"


def _latex(text: str) -> str:
    return text.replace("−", "-").replace("∞", r"\infty").replace("NaN", r"\text{NaN}")


def python_of(work: Trace) -> str:
    """A program that makes the problem and works it.

    work  of the bench
    Raises nothing. Special cases: none.
    """
    record = work.problem.to_dict()
    if record.get("dtype") == "float64":
        del record["dtype"]
    fields = ",\n".join(f"    {name}={_python(value)}" for name, value in record.items())
    return (
        "from headwork import Problem, trace\n\n"
        f"problem = Problem(\n{fields},\n)\n"
        "work = trace(problem)\n"
        'print(work["weights"].round(3))\n' + ('print(work["output"].round(3))\n' if "output" in work else "")
    )


def _python(value: object) -> str:
    if isinstance(value, np.ndarray):
        return _python(value.tolist() if value.dtype.kind in "biuf" else value.astype("f8").tolist())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_python(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_python, value)) + "]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def svg_of(work: Trace) -> str:
    """The weights as a picture, a table for each head.

    work  of the bench
    Raises nothing. Special cases: none.
    """
    places = list(places_of(work, "weights", EVERY))
    matrices = [matrix_at(work, "weights", place) for place in places]
    rows, columns = matrices[0].shape
    width, height = columns * CELL + GAP, rows * CELL + GAP
    body = "".join(
        f'<g transform="translate({at * width}, 0)">{_table(matrix, caption_of(work, "weights", place))}</g>'
        for at, (matrix, place) in enumerate(zip(matrices, places, strict=True))
    )
    size = f'width="{width * len(places)}" height="{height}" viewBox="0 0 {width * len(places)} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Charter, serif" font-size="15">'
        f'<rect width="100%" height="100%" fill="#fcfaf5"/>{body}</svg>\n'
    )


def _table(matrix: Array, caption: str) -> str:
    parts = [f'<text x="{GAP - 10}" y="20" fill="#5f584b">{caption or "weights"}</text>']
    for i, row in enumerate(matrix):
        y = GAP - 16 + i * CELL
        parts.append(f'<text x="{GAP - 24}" y="{y + 32}" text-anchor="end" fill="#5f584b">{i + 1}</text>')
        for j, value in enumerate(row):
            x, level = GAP - 10 + j * CELL, round(min(max(float(value), 0), 1) * 10)
            text = number_text(value)
            parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" fill="{LEVELS[level]}"/>'
            )
            parts.append(
                f'<text x="{x + CELL / 2 - 1}" y="{y + 32}" text-anchor="middle" fill="#211e19">{text}</text>'
            )
    for j in range(matrix.shape[1]):
        parts.append(
            f'<text x="{GAP - 11 + j * CELL + CELL / 2}" y="{GAP - 24}" text-anchor="middle" fill="#5f584b">'
            f"{j + 1}</text>"
        )
    return "".join(parts)


FORMATS: dict[str, tuple[Callable[[Trace], str], str, str]] = {
    "json": (json_of, "json", "application/json"),
    "svg": (svg_of, "svg", "image/svg+xml"),
    "latex": (latex_of, "tex", "text/x-tex"),
    "python": (python_of, "py", "text/x-python"),
}
