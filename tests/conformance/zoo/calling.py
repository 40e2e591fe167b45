"""Draw a problem, call an entry of the zoo with it, and bring back what it returns.

Everything here goes by what the tables say of an implementation; nothing is guessed, and nothing of the
package is used. Problems are as in reference.py: (B, H, T, D) and the conventions of docs/conventions.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from .entries import Entry

Problem = dict[str, Any]
SIZES = {"B": 2, "H": 4, "Tq": 5, "Tk": 7, "D": 4, "Dv": 6}
FLOATS = ("query", "key", "value")


# --- a problem ------------------------------------------------------------------------------------


def sizes_for(entry: Entry, layout: str, **wanted: int) -> dict[str, int]:
    """SIZES, as far as this layout has them: B and H are 1 where it has no such axis; Hkv is H."""
    sizes = SIZES | wanted
    if "B" not in layout:
        sizes["B"] = 1
    if "H" not in layout and "E" not in layout:
        sizes["H"] = 1
    return {"Hkv": sizes["H"]} | sizes


def draw(sizes: Mapping[str, int], options: Mapping[str, Any] | None = None, seed: int = 0) -> Problem:
    """Numbers of these sizes. Options go in as they are, but for the words in OPTIONS."""
    B, H, Hkv, Tq, Tk, D, Dv = (sizes[name] for name in ("B", "H", "Hkv", "Tq", "Tk", "D", "Dv"))
    options = dict(options or {})
    random = np.random.default_rng(seed)
    spread = options.pop("spread", 1.5)
    shapes = {"query": (B, H, Tq, D), "key": (B, Hkv, Tk, D), "value": (B, Hkv, Tk, Dv)}
    problem: Problem = {name: random.uniform(-spread, spread, shape) for name, shape in shapes.items()}
    return problem | {name: _option(random, name, value, sizes) for name, value in options.items()}


def _option(random: np.random.Generator, name: str, value: Any, sizes: Mapping[str, int]) -> Any:
    """What a word stands for: a mask by its kind; lengths, alibi, sink True."""
    B, H, Tq, Tk = (sizes[axis] for axis in ("B", "H", "Tq", "Tk"))
    if name == "mask" and isinstance(value, str):
        return _mask(random, value, (B, 1, Tq, Tk))
    if name == "lengths" and value is True:
        return np.array([Tk - 1 - b % (Tk - 1) for b in range(B)])
    if name == "alibi" and value is True:
        return 2.0 ** (-8 * np.arange(1, H + 1) / H)
    if name == "sink" and value is True:
        return random.uniform(-1, 2, H)
    if name == "causal" and value is True:
        return "lower_right"
    return value


def _mask(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Each row keeps keys and loses some.

    "empty": and one row keeps none; "padding": the same for all queries; "first": and key 1 is always kept;
    "float": numbers, −inf where lost; "bias": numbers; "lowest": 0 and the lowest number
    """
    *lead, Tq, Tk = shape
    rank = random.random((*lead, 1 if kind == "padding" else Tq, Tk)).argsort(-1)
    keep = np.broadcast_to(rank < max(1, Tk // 2), shape).copy()
    if kind == "empty":
        keep[..., 0, :] = False
    if kind == "first":
        keep[..., 0] = True
    if kind in ("float", "bias"):
        return np.where(keep | (kind == "bias"), random.uniform(-2, 2, shape), -np.inf)
    return np.where(keep, 0.0, np.finfo(np.float32).min.item()) if kind == "lowest" else keep


# --- the call -------------------------------------------------------------------------------------


def call(entry: Entry, problem: Problem, layout: str = "", dtype: str = "float64") -> dict[str, np.ndarray]:
    """What it gives for this problem: output (B, H, Tq, Dv), and weights and logsumexp where it returns them."""
    layout = layout or entry.layouts[0]
    keywords = arguments(entry, problem, layout, dtype)
    returned = runnable(entry)(**keywords)
    if "out" in entry.takes:
        returned = keywords[entry.takes["out"]]
    return answers(entry, returned, layout, problem)


@cache
def runnable(entry: Entry) -> Any:
    """The function itself; of a model what ONNX's own reference evaluator makes of it."""
    if entry.kind != "onnx":
        return entry.function
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(entry.function())
    return lambda **inputs: tuple(evaluator.run(None, inputs))


def arguments(entry: Entry, problem: Problem, layout: str, dtype: str = "float64") -> dict[str, Any]:
    """parameter -> argument, in the arrays of its library."""
    past = problem["key"].shape[2] - problem["query"].shape[2] if "past_key" in entry.takes else 0
    given = {name: _laid_out(problem[name], layout) for name in FLOATS}
    for name in ("key", "value") if past else ():
        given[name] = _laid_out(problem[name][:, :, past:], layout)
        given[f"past_{name}"] = _laid_out(problem[name][:, :, :past], layout)
    for role in entry.takes:
        value = _GIVEN[role](entry, problem, layout) if role in _GIVEN else None
        if value is not None:
            given[role] = value
    keep = {"lengths", "mask"}
    return {
        entry.takes[role]: _in_library(
            entry.library, value, dtype if role not in keep or _floating(value) else ""
        )
        for role, value in given.items()
    }


def _mask_argument(entry: Entry, problem: Problem, layout: str) -> Any:
    mask = problem.get("mask")
    if mask is None:
        return None
    if mask.dtype == bool:
        means = entry.more.get("mask", "attend")
        mask = ~mask if means.startswith("drop") else mask
        mask = mask.astype(np.int64) if means.endswith("01") else mask
    axes = entry.more.get("mask_axes", "BHQK" if "B" in layout else "QK")
    return {"BHQK": mask, "BQK": mask[:, 0], "QK": mask[0, 0], "BK": mask[:, 0, 0]}[axes]


def _causal_argument(entry: Entry, problem: Problem, layout: str) -> Any:
    return bool(problem.get("causal"))


def _window_argument(entry: Entry, problem: Problem, layout: str) -> Any:
    window = problem.get("window")
    if window is None:
        return None
    means = entry.more.get("window", "pair")
    if means == "count":
        return window[0] + 1
    return tuple(-1 if side is None else side for side in window) if means == "pair-1" else window


def _plain(role: str) -> Any:
    return lambda entry, problem, layout: problem.get(role)


_GIVEN: dict[str, Any] = {
    "mask": _mask_argument,
    "causal": _causal_argument,
    "window": _window_argument,
    **{role: _plain(role) for role in ("scale", "softcap", "offset", "lengths", "alibi", "sink", "chunks")},
    "heads": lambda entry, problem, layout: problem["query"].shape[1],
    "kv_heads": lambda entry, problem, layout: problem["key"].shape[1],
    "return_weights": lambda entry, problem, layout: True,
    "return_logsumexp": lambda entry, problem, layout: True,
    "grouped": lambda entry, problem, layout: problem["query"].shape[1] != problem["key"].shape[1],
    "out": lambda entry, problem, layout: np.zeros(
        _laid_out(np.zeros((*problem["query"].shape[:3], problem["value"].shape[-1])), layout).shape
    ),
}


def _floating(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _in_library(library: str, value: Any, dtype: str) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if library == "torch":
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(value))
        return tensor.to(getattr(torch, dtype)) if dtype else tensor
    if dtype == "bfloat16":
        import ml_dtypes

        return value.astype(ml_dtypes.bfloat16)
    value = value.astype(dtype) if dtype else value
    if library == "jax":
        import jax.numpy as jnp

        return jnp.asarray(value)
    return value


# --- what comes back ------------------------------------------------------------------------------


def answers(entry: Entry, returned: Any, layout: str, problem: Problem) -> dict[str, np.ndarray]:
    """The outputs by name, in (B, H, …) and float64."""
    if isinstance(returned, Mapping):
        returned = tuple(returned.values())
    outputs = returned if isinstance(returned, tuple | list) else (returned,)
    H = problem["query"].shape[1]
    found = {}
    for name, array in zip(entry.returns, outputs, strict=True):
        array = _as_numpy(array)
        if name == "output":
            array = _canonical(array, entry.more.get("out_layout", layout), H)
        elif name in ("weights", "logsumexp"):
            rest = array.shape[-2:] if name == "weights" else array.shape[-1:]
            array = array.reshape(len(problem["query"]), H, *rest)
        found[name] = array
    return found


def _as_numpy(array: Any) -> np.ndarray:
    if hasattr(array, "detach"):
        array = array.detach().double().cpu().numpy()
    return np.asarray(array).astype(np.float64)


# --- layouts --------------------------------------------------------------------------------------


def _laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """(B, H, T, D) in other axes; B and H are left out where the layout has none, E joins H and D."""
    full = layout.replace("E", "HD")
    for axis in "BH":
        if axis not in full:
            assert array.shape["BH".index(axis)] == 1, f"{layout} has no {axis}"
            full = axis + full
    turned = array.transpose(["BHTD".index(axis) for axis in full])
    sizes = dict(zip(full, turned.shape, strict=True)) | {"E": array.shape[1] * array.shape[3]}
    return turned.reshape([sizes[axis] for axis in layout])


def _canonical(array: np.ndarray, layout: str, H: int) -> np.ndarray:
    """The inverse of `_laid_out`."""
    at = layout.find("E")
    if at >= 0:
        array = array.reshape(*array.shape[:at], H, -1, *array.shape[at + 1 :])
        layout = layout.replace("E", "HD")
    for axis in "BH":
        if axis not in layout:
            array, layout = array[None], axis + layout
    return array.transpose([layout.index(axis) for axis in "BHTD"])
