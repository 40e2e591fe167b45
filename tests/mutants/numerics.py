"""Mutants of the arithmetic: too few bits, no shift, and dropout where nothing is trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def exponential_of_the_raw_score(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name], dtype=np.float32) for name in ("query", "key", "value"))
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(q @ k.T / np.float32(np.sqrt(q.shape[-1])))
        p = e / e.sum(-1, keepdims=True)
        return {"output": (p @ v).astype(float), "weights": p.astype(float)}


def dot_product_summed_in_half_precision(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name], dtype=np.float16) for name in ("query", "key", "value"))
    s = np.zeros((len(q), len(k)), dtype=np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        for c in range(q.shape[1]):
            s += np.outer(q[:, c], k[:, c])
        s32 = s.astype(np.float32) / np.float32(np.sqrt(q.shape[1]))
        e = np.exp(s32 - s32.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return {"output": (p @ v.astype(np.float32)).astype(float), "weights": p.astype(float)}


def row_sum_in_eight_bits(problem: Inputs) -> Answer:
    """A bfloat16 sum stops growing at 256: adding 1 no longer changes it."""

    def bfloat16(x: Any) -> Any:
        bits = np.asarray(x, dtype=np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)

    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / np.sqrt(q.shape[-1])
    e = bfloat16(np.exp(s - s.max(-1, keepdims=True)))
    total = np.zeros((len(q), 1), dtype=np.float32)
    for j in range(len(k)):
        total = bfloat16(total + e[:, j : j + 1])
    p = (e / total).astype(float)
    return {"output": p @ v, "weights": p}


def dropout_while_nothing_is_trained(problem: Inputs) -> Answer:
    """dropout_p goes to the kernel whatever the mode."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    dropout_p = 0.25
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    keep = np.random.default_rng(11).random(p.shape) >= dropout_p
    p = np.where(keep, p / (1 - dropout_p), 0.0)
    return {"output": p @ v, "weights": p}


def weights_rounded_to_one_digit(problem: Inputs) -> Answer:
    """Printed with one digit, typed in again, carried on with."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p = np.round(p / p.sum(-1, keepdims=True), 1)
    return {"output": p @ v, "weights": p}


def _many_keys(seed: int) -> Inputs:
    """400 keys of nearly the same score, values above 0."""
    problem = drawn(key=(400, 2), value=(400, 2))(seed)
    problem["value"] = np.abs(problem["value"]).tolist()
    return {"query": [[0.1, -0.1], [0.0, 0.2]], **problem, "dtype": "bfloat16"}


MUTANTS = (
    Mutant(
        "exponential-of-the-raw-score",
        "intel/xFasterTransformer#326",
        "e^s/Σe^s in float32: inf/inf",
        "softmax-without-max",
        drawn(query=(2, 4), key=(5, 4), value=(5, 2), dtype="float32", spread=220),
        exponential_of_the_raw_score,
        nonfinite=True,
    ),
    Mutant(
        "dot-product-summed-in-half-precision",
        "ROCm/AMDMIGraphX#850 (sums that overflow float16; the scores assumed)",
        "Σ_c q·k in float16: inf above 65504, then NaN",
        "qk-accumulated-fp16",
        lambda seed: {
            "query": [[250.0, 180.0 + seed % 50], [1.5, -0.5]],
            "key": [[240.0, 110.0], [190.0, 170.0], [0.5, 0.2]],
            "value": [[1.2, -0.7], [0.3, 1.5], [-1.1, 0.4]],
            "dtype": "float16",
        },
        dot_product_summed_in_half_precision,
        nonfinite=True,
    ),
    Mutant(
        "row-sum-in-eight-bits",
        "pytorch/executorch#20089",
        "ℓ stops at 256 in bfloat16",
        "row-sum-accumulated-narrow",
        _many_keys,
        row_sum_in_eight_bits,
    ),
    Mutant(
        "dropout-while-nothing-is-trained",
        "meta-pytorch/torchtune#1791",
        "P·keep/(1 − p) in evaluation",
        "dropout-at-inference",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        dropout_while_nothing_is_trained,
    ),
    Mutant(
        "weights-rounded-to-one-digit",
        "course folklore: carrying on with the printed numbers",
        "P rounded to one decimal",
        "weights-rounded",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        weights_rounded_to_one_digit,
    ),
)
