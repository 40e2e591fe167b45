"""Mutants of the softmax: over which entries, with which function, divided by what."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def over_the_queries(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    attn = np.einsum("hid,hjd->hij", q, k) * q.shape[-1] ** -0.5
    attn = np.exp(attn - attn.max(axis=1, keepdims=True))
    attn = attn / attn.sum(axis=1, keepdims=True)
    return {"output": np.einsum("hij,hjd->hid", attn, v), "weights": attn}


def over_the_heads(problem: Inputs) -> Answer:
    """dim=1 of (B, H, Tq, Tk), written when the scores still were (B, Tq, Tk)."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = np.matmul(q, k.transpose(0, 1, 3, 2)) / np.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
    return {"output": np.matmul(p, v), "weights": p}


def over_the_batch(problem: Inputs) -> Answer:
    """softmax without a dim on a 3-d tensor: the old default is axis 0."""
    q, k, v = (np.array(problem[name])[:, 0] for name in ("query", "key", "value"))
    attn = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    attn = np.exp(attn - attn.max(0))
    attn = attn / attn.sum(0)
    return {"output": (attn @ v)[:, None], "weights": attn[:, None]}


def over_everything(problem: Inputs) -> Answer:
    """The scores are flattened before the softmax."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    scores = q @ k.T / np.sqrt(q.shape[-1])
    flat = np.exp(scores.ravel() - scores.max())
    attn = (flat / flat.sum()).reshape(scores.shape)
    return {"output": attn @ v, "weights": attn}


def over_an_axis_of_one(problem: Inputs) -> Answer:
    """An axis is added first, and the softmax then runs over that one: every weight is 1."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    scores = (q @ k.T / np.sqrt(q.shape[-1]))[..., None]
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores = scores / scores.sum(-1, keepdims=True)
    return {"output": (scores * v).sum(axis=1), "weights": scores[..., 0]}


def applied_twice(problem: Inputs) -> Answer:
    def softmax(x: Any) -> Any:
        y = np.exp(x - x.max(axis=-1, keepdims=True))
        return y / y.sum(axis=-1, keepdims=True)

    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    probabilities = softmax(softmax(q @ k.T / np.sqrt(q.shape[-1])))
    return {"output": probabilities @ v, "weights": probabilities}


def applied_twice_behind_the_mask(problem: Inputs) -> Answer:
    """The second softmax knows nothing of the mask: a weight of 0 comes back as e⁰."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T = len(q)
    s = np.where(np.tri(T, dtype=bool), q @ k.T / np.sqrt(q.shape[-1]), -1e32)
    for _ in range(2):
        s = np.exp(s - s.max(1, keepdims=True))
        s = s / s.sum(1, keepdims=True)
    return {"output": s @ v, "weights": s}


def left_out_with_the_scale(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    qk = q @ k.T
    return {"output": qk @ v, "weights": qk}


def left_out(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    weights = q @ k.T / np.sqrt(k.shape[-1])
    return {"output": weights @ v, "weights": weights}


def powers_of_two(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / np.sqrt(q.shape[-1])
    p = np.exp2(s - s.max(-1, keepdims=True))
    return {"output": p @ v / p.sum(-1, keepdims=True), "weights": p / p.sum(-1, keepdims=True)}


def divisor_without_exponentials(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    guesses = q @ k.T / np.sqrt(q.shape[-1])
    p = np.exp(guesses) / np.sum(guesses, axis=-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def no_exponentials_at_all(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / np.sqrt(q.shape[-1])
    p = s / s.sum(axis=-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def exponentials_not_divided(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / np.sqrt(q.shape[-1])
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return {"output": p @ v, "weights": p}


def logarithms_of_the_weights(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / np.sqrt(q.shape[-1])
    log_p = s - np.log(np.exp(s).sum(axis=-1, keepdims=True))
    return {"output": log_p @ v, "weights": log_p}


def one_in_the_divisor_after_the_shift(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    x = np.einsum("id,jd->ij", q, k) / math.sqrt(q.shape[-1])
    x = np.exp(x - x.max(-1, keepdims=True))
    p = x / (1.0 + x.sum(-1, keepdims=True))
    return {"output": p @ v, "weights": p}


def maximum_of_the_column(problem: Inputs) -> Answer:
    """A shift that is not the same along a row does not cancel."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    x = q @ k.T / np.sqrt(q.shape[-1])
    e_x = np.exp(x - np.max(x, axis=0))
    p = e_x / e_x.sum(axis=1, keepdims=True)
    return {"output": p @ v, "weights": p}


def rectified_scores(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    x = np.maximum(q @ k.T / np.sqrt(q.shape[-1]), 0)
    p = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def sigmoid_for_softmax(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = 1 / (1 + np.exp(-(q @ k.T) / np.sqrt(q.shape[-1])))
    return {"output": p @ v, "weights": p}


def largest_score_takes_all(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    best = (q @ k.T).argmax(axis=-1)
    return {"output": v[best], "weights": np.eye(len(k))[best]}


def small_number_in_the_divisor(problem: Inputs) -> Answer:
    """An epsilon that is harmless at 1e−9 and is not at 1e−1."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    x = q @ k.T / np.sqrt(q.shape[-1])
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / (e.sum(-1, keepdims=True) + 1e-1)
    return {"output": p @ v, "weights": p}


PLAIN = drawn(query=(3, 4), key=(5, 4), value=(5, 3))

MUTANTS = (
    Mutant(
        "over-the-queries",
        "labmlai/annotated_deep_learning_paper_implementations#146",
        "Σ_i P_ij = 1",
        "softmax-over-queries",
        drawn(query=(2, 3, 3), key=(2, 5, 3), value=(2, 5, 2)),
        over_the_queries,
    ),
    Mutant(
        "over-the-heads",
        "CAMMA-public/rendezvous-in-time#3",
        "Σ_h P_hij = 1",
        "softmax-over-heads",
        drawn(query=(2, 3, 2, 3), key=(2, 3, 4, 3), value=(2, 3, 4, 2)),
        over_the_heads,
    ),
    Mutant(
        "over-the-batch",
        "jadore801120/attention-is-all-you-need-pytorch#52",
        "Σ_b P_bij = 1",
        "softmax-over-batch",
        drawn(query=(3, 1, 2, 3), key=(3, 1, 4, 3), value=(3, 1, 4, 2)),
        over_the_batch,
    ),
    Mutant(
        "over-everything",
        "nntrainer/nntrainer#1602",
        "Σ_ij P_ij = 1",
        "softmax-over-all-entries",
        PLAIN,
        over_everything,
    ),
    Mutant(
        "over-an-axis-of-one",
        "localminimum/R-net#8",
        "P = 1: the values are added up",
        "softmax-over-singleton",
        PLAIN,
        over_an_axis_of_one,
        ("weights-all-one",),
    ),
    Mutant(
        "applied-twice",
        "course folklore: a softmax layer, and softmax again in the loss or the loop",
        "P = softmax(softmax(S))",
        "softmax-twice",
        PLAIN,
        applied_twice,
    ),
    Mutant(
        "applied-twice-behind-the-mask",
        "zyy-2001/DisKT#6",
        "P = softmax(softmax(mask(S)))",
        "softmax-twice",
        drawn(query=(4, 3), key=(4, 3), value=(4, 2), causal=True),
        applied_twice_behind_the_mask,
    ),
    Mutant(
        "left-out-with-the-scale",
        "flexflow/flexflow-train#467",
        "P = Q Kᵀ",
        "softmax-missing",
        drawn(query=(3, 3), key=(4, 3), value=(4, 2)),
        left_out_with_the_scale,
    ),
    Mutant(
        "left-out",
        "course folklore: weights = scores / sqrt(d_k) used as they are",
        "P = Q Kᵀ/√d_k",
        "softmax-missing",
        PLAIN,
        left_out,
    ),
    Mutant(
        "powers-of-two",
        "course folklore: exp2 kernels without log2(e) in the scale",
        "P_ij = 2^s_ij / Σ 2^s",
        "softmax-base-2",
        PLAIN,
        powers_of_two,
    ),
    Mutant(
        "divisor-without-exponentials",
        "rwitten/HighPerfLLMs2024#3",
        "P_ij = e^s_ij / Σ s",
        "softmax-divisor-without-exp",
        drawn(query=(2, 3), key=(3, 3), value=(3, 2)),
        divisor_without_exponentials,
    ),
    Mutant(
        "no-exponentials-at-all",
        "course folklore: normalising the scores themselves",
        "P_ij = s_ij / Σ s",
        "softmax-without-exp",
        drawn(query=(2, 3), key=(3, 3), value=(3, 2)),
        no_exponentials_at_all,
    ),
    Mutant(
        "exponentials-not-divided",
        "course folklore: the sum is forgotten",
        "P_ij = e^(s_ij − m_i)",
        "softmax-not-normalised",
        PLAIN,
        exponentials_not_divided,
    ),
    Mutant(
        "logarithms-of-the-weights",
        "course folklore: log_softmax carried over from the loss",
        "P = ln softmax(S)",
        "log-softmax",
        PLAIN,
        logarithms_of_the_weights,
    ),
    Mutant(
        "one-in-the-divisor-after-the-shift",
        "kyegomez/AttentionIsOFFByOne#5",
        "P_ij = e^(s−m) / (1 + Σ e^(s−m))",
        "softmax-one-not-shifted",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), sink=0.0),
        one_in_the_divisor_after_the_shift,
    ),
    Mutant(
        "maximum-of-the-column",
        "course folklore: x.max(axis=0) in a NumPy softmax",
        "P_ij ∝ e^(s_ij − max_i s_ij)",
        "softmax-column-max",
        PLAIN,
        maximum_of_the_column,
    ),
    Mutant(
        "rectified-scores",
        "course folklore: an activation left on the score layer",
        "P = softmax(max(S, 0))",
        "scores-rectified",
        PLAIN,
        rectified_scores,
    ),
    Mutant(
        "sigmoid-for-softmax",
        "course folklore: gates instead of weights",
        "P = σ(S)",
        "sigmoid-for-softmax",
        PLAIN,
        sigmoid_for_softmax,
    ),
    Mutant(
        "largest-score-takes-all",
        "course folklore: argmax where softmax was meant",
        "P_ij = [j = argmax s_i]",
        "hardmax",
        PLAIN,
        largest_score_takes_all,
    ),
    Mutant(
        "small-number-in-the-divisor",
        "course folklore: exp/(sum + eps) with a generous eps",
        "P = e / (Σ e + 0.1)",
        "softmax-epsilon",
        PLAIN,
        small_number_in_the_divisor,
    ),
)
