"""Mutants of the soft cap c·tanh(s/c)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def score_times_tanh(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    logits = q @ k.T / np.sqrt(q.shape[-1])
    logits = logits * np.tanh(logits / problem["softcap"])
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def zero_handed_to_the_kernel(problem: Inputs) -> Answer:
    def kernel(q: Any, k: Any, v: Any, scale: float, softcap: float) -> Answer:
        s = q @ k.T * scale
        if softcap > 0:
            s = softcap * np.tanh(s / softcap)
        p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
        return {"output": p @ v, "weights": p}

    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    return kernel(q, k, v, q.shape[-1] ** -0.5, 0.0)


def capped_when_already_masked(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    c = problem["softcap"]
    bias = np.where(np.array(problem["mask"]), 0.0, -np.inf)
    score = c * np.tanh((np.einsum("id,jd->ij", q, k) * q.shape[-1] ** -0.5 + bias) / c)
    p = np.exp(score - score.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def capped_before_the_scale(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    c = problem["softcap"]
    s = c * np.tanh(q @ k.T / c) / np.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def not_multiplied_back(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = np.tanh(q @ k.T / np.sqrt(q.shape[-1]) / problem["softcap"])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def capped_in_the_units_of_exp2(problem: Inputs) -> Answer:
    """log₂e is folded into the scale, and the cap is applied to the folded score."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    c = problem["softcap"]
    s = q @ k.T * (q.shape[-1] ** -0.5 * np.log2(np.e))
    s = c * np.tanh(s / c)
    p = np.exp2(s) / np.exp2(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def cut_off_hard(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = np.clip(q @ k.T / np.sqrt(q.shape[-1]), -problem["softcap"], problem["softcap"])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


CAPPED = drawn(query=(3, 4), key=(5, 4), value=(5, 3), softcap=1.5)

MUTANTS = (
    Mutant(
        "score-times-tanh",
        "unslothai/unsloth-zoo#593",
        "s·tanh(s/c)",
        "softcap-times-score",
        CAPPED,
        score_times_tanh,
    ),
    Mutant(
        "zero-handed-to-the-kernel",
        "vllm-project/vllm-metal#665",
        "s, not capped",
        "softcap-missing",
        CAPPED,
        zero_handed_to_the_kernel,
    ),
    Mutant(
        "capped-when-already-masked",
        "emmtrix/emx-onnx-cgen#731",
        "c·tanh((s + bias)/c)",
        "softcap-after-mask",
        drawn(
            query=(3, 3),
            key=(4, 3),
            value=(4, 2),
            softcap=1.5,
            mask=[[True, True, False, False], [False, True, True, False], [True, False, True, True]],
        ),
        capped_when_already_masked,
    ),
    Mutant(
        "capped-before-the-scale",
        "course folklore: tanh applied to q @ k.T",
        "c·tanh(q·k/c)/√d_k",
        "softcap-before-scale",
        CAPPED,
        capped_before_the_scale,
    ),
    Mutant(
        "not-multiplied-back",
        "course folklore: tanh(s/c) and no c in front",
        "tanh(s/c)",
        "softcap-not-multiplied-back",
        CAPPED,
        not_multiplied_back,
    ),
    Mutant(
        "capped-in-the-units-of-exp2",
        "sgl-project/sgl-kernel-xpu#491 (the trap that its fix steps around)",
        "c·tanh(s·log₂e/c), then 2^x",
        "softcap-in-base-2",
        CAPPED,
        capped_in_the_units_of_exp2,
    ),
    Mutant(
        "cut-off-hard",
        "course folklore: clip for soft cap",
        "min(max(s, −c), c)",
        "softcap-clipped",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), softcap=0.7),
        cut_off_hard,
    ),
)
