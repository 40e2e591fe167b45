"""What the bench gives away: JSON, LaTeX, Python and a picture, each made of the trace alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...arrays import Array
from ...mechanism.fields import field_named
from ...mechanism.numerals import number_text
from ...mechanism.tracing import Trace
from ..drawing import drawn
from ..grids import EVERY, caption_of, matrix_at, places_of
from ..heat_maps import weights_picture
from ..json_text import json_text
from ..sections import made_by
from ..show import show_record


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


def picture_of(kind: str) -> Callable[[Trace], bytes]:
    """What draws the weights, a table for each head.

    kind  svg or png
    Raises nothing; what it gives raises HeadworkError where Matplotlib is not there. Special cases: none.
    """
    return lambda work: drawn(weights_picture(work), kind)


# kind: what writes it, its ending, its type, and what it is called
FORMATS: dict[str, tuple[Callable[[Trace], str | bytes], str, str, str]] = {
    "json": (json_of, "json", "application/json", "JSON"),
    "svg": (picture_of("svg"), "svg", "image/svg+xml", "Picture (SVG)"),
    "png": (picture_of("png"), "png", "image/png", "Picture (PNG)"),
    "latex": (latex_of, "tex", "text/x-tex", "LaTeX"),
    "python": (python_of, "py", "text/x-python", "Python"),
}
