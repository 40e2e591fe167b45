"""Which dtypes a function takes, and whether its output can be differentiated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import DTYPES
from .asking import call_of
from .probing import output_of
from .search import Search
from .ways import gradient_places

OFFERED = {  # by library: the dtypes that are checked, the first of those it takes for everything
    "numpy": ("float64", "float32"),
    "torch": ("float64", "float32", "float16", "bfloat16"),
    "jax": ("float32", "float16", "bfloat16"),
    "cupy": ("float64", "float32", "float16"),
    "list": ("float64",),
}
NARROW = ("float16", "bfloat16")  # tried where it takes none of these


def find_dtypes(search: Search) -> None:
    """The dtypes that it takes among those that are stated, or that its library offers."""
    stated, library = search.stated.dtypes, search.ways.library
    _try_dtypes(search, stated or annotated_dtypes(search) or OFFERED.get(library, ("float32",)))
    if not search.dtypes and not stated:
        _try_dtypes(search, NARROW)
    search.dtypes = search.dtypes or [search.ways.dtype]
    search.change(dtype=search.dtypes[0])
    if len(search.dtypes) == 1:
        search.refusals["dtypes"] = f"it takes {search.dtypes[0]} only."


def _try_dtypes(search: Search, dtypes: tuple[str, ...]) -> None:
    for dtype in dtypes:
        works, said = search.runs(search.ask(), replace(search.ways, dtype=dtype))
        if works:
            search.dtypes.append(dtype)
        else:
            search.say("dtypes", dtype, "tried", f"it does not take {dtype}: {said}")


def find_gradients(search: Search) -> None:
    """Whether the output can be differentiated."""
    ways, ask = search.ways, search.ask()
    if search.signature.kind not in ("function", "module") or ways.library not in ("torch", "jax"):
        search.refusals["gradients"] = (
            f"functions of {ways.library} arrays offer no gradients that could be asked for."
        )
        return
    if ways.has("x") or ways.projections is not None:
        search.refusals["gradients"] = "it projects inside."
        return
    call = call_of(ways, ask)
    plain = search.probe.outcome(call)
    if output_of(ways, ask, plain) is None:
        search.refusals["gradients"] = plain.said
        return
    cotangent = np.ones_like(plain.outputs[0])
    outcome = search.probe.outcome(
        replace(call, cotangent=cotangent, gradients_of=gradient_places(ways, call))
    )
    if not outcome.is_fine or not outcome.gradients:
        search.refusals["gradients"] = outcome.said or "it gives no gradients."


def annotated_dtypes(search: Search) -> tuple[str, ...]:
    """The dtype that an ONNX model says its inputs have."""
    inputs = (each.parameter for each in search.ways.arguments if each.role in ("query", "qkv"))
    said = {parameter.annotation.partition("[")[0] for parameter in inputs}
    return tuple(said & set(DTYPES)) if search.signature.kind == "onnx" else ()
