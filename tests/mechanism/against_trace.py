"""What the fast engines must give: the trace in float64, and the gradients that follow from its weights."""

from typing import Any

import numpy as np

from headwork import Problem, Trace, trace


def widened(record: dict[str, Any]) -> dict[str, Any]:
    """The same problem in float64."""
    return {
        name: value.astype(np.float64) if getattr(value, "dtype", None) in (np.float32, np.float64) else value
        for name, value in record.items()
    }


def assert_right(record: dict[str, Any], output: np.ndarray, logsumexp: np.ndarray) -> Trace:
    """As near to the trace in float64 as arithmetic in that dtype can be.  Source of the bound: design notes."""
    wide = widened(record)
    right = trace(Problem(**wide))
    eps = np.finfo(output.dtype).eps
    scaled = right["masked"] if "masked" in right else right["scaled"]
    reach = np.abs(scaled[np.isfinite(scaled)]).max(initial=0)
    size = np.abs(wide["value"][np.isfinite(wide["value"])]).max(initial=0)
    np.testing.assert_allclose(output, right.output, rtol=0, atol=16 * eps * size * (1 + reach))
    np.testing.assert_allclose(logsumexp, right["logsumexp"], rtol=0, atol=16 * eps * (1 + reach))
    return right


def gradients(record: dict[str, Any], right: Trace, cotangent: np.ndarray) -> list[np.ndarray]:
    """dQ, dK, dV (…, H, T, ·) of the trace, from its weights P.

    dV = Pᵀ dO   dS = P ∘ (dO Vᵀ − rowsum(O ∘ dO)) ∘ (1 − tanh²)   dQ = scale · dS K   dK = scale · dSᵀ Q
    Source: the derivatives of softmax and of c·tanh(s/c); query heads that share a key head add up.
    """
    wide = widened(record)
    query, key, value = (wide[name] for name in ("query", "key", "value"))
    group = query.shape[-3] // key.shape[-3] if query.ndim > 2 else 1
    keys, values = (np.repeat(each, group, axis=-3) if group > 1 else each for each in (key, value))
    scale = wide.get("scale", 1 / np.sqrt(query.shape[-1]))
    weights, cotangent = right["weights"], cotangent.astype(np.float64)
    delta = (right.output * cotangent).sum(axis=-1, keepdims=True)
    of_scores = scale * weights * (cotangent @ values.swapaxes(-1, -2) - delta)
    if "softcap" in wide:
        of_scores = of_scores * (1 - np.tanh(scale * (query @ keys.swapaxes(-1, -2)) / wide["softcap"]) ** 2)
    shared = [of_scores.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ cotangent]
    if group > 1:
        shared = [each.reshape(*key.shape[:-2], group, *each.shape[-2:]).sum(axis=-3) for each in shared]
    return [of_scores @ keys, *shared]


def assert_gradients_right(
    got: tuple[np.ndarray, ...], record: dict[str, Any], right: Trace, cotangent: np.ndarray
) -> None:
    """Each as near as sums of that many numbers in that dtype are."""
    for one, its in zip(got, gradients(record, right, cotangent), strict=True):
        bound = 256 * np.finfo(one.dtype).eps * (1 + np.abs(its).max(initial=0))
        np.testing.assert_allclose(one, its, rtol=0, atol=bound)
