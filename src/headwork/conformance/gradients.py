"""Gradients: what backpropagation must give for query, key and value.

For a cotangent dO (the gradient of the output), with P the weights and S the scaled scores:

    dV = Pᵀ dO    dP = dO Vᵀ    dS = P ∘ (dP − Σ_j P_ij dP_ij)    dQ = scale · dS K    dK = scale · dSᵀ Q

A softcap multiplies dS by 1 − tanh², query heads that share a key/value head add their dK and dV up, and a
sink takes part in P only. A mask, causality, a window, lengths and what is added are in P already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ..arrays import DTYPES, Array
from ..diagnosis.tolerance import in_dtype, in_float64
from ..mechanism.tracing import run, seeds
from ..problem import Problem

Fields = Mapping[str, Array]
NAMES = ("query", "key", "value")
# How far honest arithmetic may be off, in ε of the terms' absolute sums: the chain is four products and a
# subtraction long, and the weights come rounded into it.
ROUNDINGS = 8.0


@dataclass(frozen=True)
class Backward:
    """The backward pass, rule by rule; each takes (problem, fields so far) and gives one field.

    Fields
    d_weights  (…, H, Tq, Tk) from cotangent and value_repeated
    row        (…, H, Tq, 1): what is subtracted from d_weights, Σ_j P_ij dP_ij
    d_masked   through the softmax; d_scaled: through the softcap; d_scores: through the scale
    query key value
               per query head; query (…, H, Tq, D)
    shared     (problem, per query head) -> per key/value head, for key and value
    """

    d_weights: Callable[[Problem, Fields], Array]
    row: Callable[[Problem, Fields], Array]
    d_masked: Callable[[Problem, Fields], Array]
    d_scaled: Callable[[Problem, Fields], Array]
    d_scores: Callable[[Problem, Fields], Array]
    query: Callable[[Problem, Fields], Array]
    key: Callable[[Problem, Fields], Array]
    value: Callable[[Problem, Fields], Array]
    shared: Callable[[Problem, Array], Array]


def transposed(x: Array) -> Array:
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2)


def shared(problem: Problem, x: Array) -> Array:
    """(…, H, T, width) to (…, Hkv, T, width): heads that share a key/value head are added up."""
    *lead, H, T, width = x.shape
    return np.asarray(x.reshape(*lead, problem.Hkv, H // problem.Hkv, T, width).sum(axis=-3))


def through_cap(problem: Problem, f: Fields) -> Array:
    """dS · (1 − tanh²(S/c)), and dS where there is no cap."""
    if problem.softcap is None:
        return f["d_masked"]
    return np.asarray(f["d_masked"] * (1 - (f["capped"] / problem.softcap) ** 2))


RIGHT = Backward(
    d_weights=lambda problem, f: f["cotangent"] @ transposed(f["value_repeated"]),
    row=lambda problem, f: (f["attention"] * f["d_weights"]).sum(axis=-1, keepdims=True),
    d_masked=lambda problem, f: f["attention"] * (f["d_weights"] - f["row"]),
    d_scaled=through_cap,
    d_scores=lambda problem, f: f["d_scaled"] * f["d_scaled"].dtype.type(problem.factor),
    query=lambda problem, f: f["d_scores"] @ f["key_repeated"],
    key=lambda problem, f: transposed(f["d_scores"]) @ f["query_heads"],
    value=lambda problem, f: transposed(f["attention"]) @ f["cotangent"],
    shared=shared,
)
CHAIN = ("d_weights", "row", "d_masked", "d_scaled", "d_scores")


def gradients(problem: Problem, cotangent: Array, backward: Backward = RIGHT) -> dict[str, Array]:
    """The gradients of Σ cotangent · output for query, key and value, in the problem's own arithmetic.

    problem    query (…, H, Tq, D), key and value given; finite numbers, no rope, parts or output projection
    cotangent  (…, H, Tq, Dv)
    Special cases: a query that may see nothing gives 0, as does a key that nobody sees.
    Source: Dao et al. 2022 (FlashAttention), appendix B.4.
    """
    kind = problem.work_dtype
    fields = {name: array if array.dtype == bool else array.astype(kind) for name, array in _forward(problem)}
    fields["cotangent"] = cotangent.astype(problem.dtype).astype(kind)
    with np.errstate(all="ignore"):
        for name in CHAIN:
            fields[name] = getattr(backward, name)(problem, fields)
        found = {name: getattr(backward, name)(problem, fields) for name in NAMES}
    return found | {name: backward.shared(problem, found[name]) for name in ("key", "value")}


def _forward(problem: Problem) -> list[tuple[str, Array]]:
    return list(run(problem, seeds(problem)).items())


def reference(problem: Problem, cotangent: Array) -> dict[str, Array]:
    """The gradients in float64, for the numbers that the problem holds in its own dtype."""
    return gradients(in_float64(problem), cotangent.astype(problem.dtype).astype(np.float64))


def tolerances(problem: Problem, cotangent: Array, dtype: str) -> dict[str, float]:
    """How far honest gradients in the dtype may be from `reference`, for query, key and value.

    Twice what plain NumPy makes in that dtype, and ε times the sums of the terms' absolute values.
    """
    there, exact = in_dtype(problem, dtype), reference(problem, cotangent)
    plain = gradients(there, cotangent)
    kind = DTYPES[dtype]
    rounded = {name: array.astype(kind).astype(np.float64) for name, array in plain.items()}
    scaled = np.abs(run(problem, seeds(problem))["scaled"]).max(initial=0.0)
    narrow = _epsilon(dtype)
    relative = ROUNDINGS * narrow + min(narrow, _epsilon("float32")) * float(scaled)
    terms = gradients(in_float64(problem), cotangent, ABSOLUTE)
    return {
        name: 2 * float(np.abs(rounded[name] - exact[name]).max(initial=0.0))
        + relative * float(np.abs(terms[name]).max(initial=0.0))
        for name in NAMES
    }


def _epsilon(dtype: str) -> float:
    return float(ml_dtypes.finfo(DTYPES[dtype]).eps)  # type: ignore[no-untyped-call]


def _absolute() -> Backward:
    """The same chain of absolute values: no term cancels another, so it bounds what rounding can do."""
    size = np.abs
    return Backward(
        d_weights=lambda problem, f: size(f["cotangent"]) @ transposed(size(f["value_repeated"])),
        row=RIGHT.row,
        d_masked=lambda problem, f: f["attention"] * (f["d_weights"] + f["row"]),
        d_scaled=through_cap,
        d_scores=lambda problem, f: size(f["d_scaled"] * problem.factor),
        query=lambda problem, f: f["d_scores"] @ size(f["key_repeated"]),
        key=lambda problem, f: transposed(f["d_scores"]) @ size(f["query_heads"]),
        value=lambda problem, f: transposed(f["attention"]) @ size(f["cotangent"]),
        shared=shared,
    )


ABSOLUTE = _absolute()
