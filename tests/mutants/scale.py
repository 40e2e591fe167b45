"""Mutants of the scale: which number the scores are divided by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def never_scaled(problem: Inputs) -> Answer:
    Q, K, V = np.array(problem["query"]), np.array(problem["key"]), np.array(problem["value"])
    scores = Q @ K.T
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention = e / e.sum(axis=1, keepdims=True)
    return {"output": attention @ V, "weights": attention}


def square_root_of_the_model_width(problem: Inputs) -> Answer:
    query, key, value = (np.array(problem[name]) for name in ("query", "key", "value"))
    heads = problem["heads"]
    width = query.shape[1]
    head_dim = width // heads
    outputs, maps = [], []
    for h in range(heads):
        cut = slice(h * head_dim, (h + 1) * head_dim)
        energy = query[:, cut] @ key[:, cut].T / width**0.5
        energy = np.exp(energy - energy.max(-1, keepdims=True))
        energy /= energy.sum(-1, keepdims=True)
        maps.append(energy)
        outputs.append(energy @ value[:, cut])
    return {"output": np.concatenate(outputs, axis=-1), "weights": np.stack(maps)}


def divided_by_head_size(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    n = q.shape[-1]
    logits = np.einsum("id,jd->ij", q, k) / n
    p = np.exp(logits)
    p = p / p.sum(-1)[:, None]
    return {"output": np.einsum("ij,jd->id", p, v), "weights": p}


def scaled_weights_and_scaling_kernel(problem: Inputs) -> Answer:
    """The queries come out of a layer that has the factor built in, and the fused kernel applies its own."""

    def fused_kernel(q: Any, k: Any, v: Any) -> Answer:
        s = (q @ k.T) * (1.0 / math.sqrt(q.shape[-1]))
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        return {"output": p @ v, "weights": p}

    depth_scaling = np.sqrt(len(problem["query"][0]))
    return fused_kernel(
        np.array(problem["query"]) / depth_scaling, np.array(problem["key"]), np.array(problem["value"])
    )


def minus_one_half_in_the_divisor(problem: Inputs) -> Answer:
    queries, keys, values = (np.array(problem[name]) for name in ("query", "key", "value"))
    attn_scores = queries @ keys.swapaxes(-2, -1)
    z = attn_scores / keys.shape[-1] ** -0.5
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    attn_weights = z / z.sum(axis=-1, keepdims=True)
    return {"output": attn_weights @ values, "weights": attn_weights}


def scaling_outside_the_softmax(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    energy = np.einsum("qd,kd->qk", q, k)
    att = np.exp(energy)
    att = att / att.sum(axis=-1, keepdims=True) * q.shape[-1] ** -0.5
    return {"output": att @ v, "weights": att}


def square_root_of_the_value_width(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    w = q @ k.T
    w = w / np.sqrt(float(v.shape[-1]))
    w = np.exp(w - np.max(w, axis=-1, keepdims=True))
    w = w / np.sum(w, axis=-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def square_root_of_the_key_count(problem: Inputs) -> Answer:
    Q, K, V = (np.array(problem[name]) for name in ("query", "key", "value"))
    d_k = K.shape[0]
    S = np.dot(Q, K.T) / np.sqrt(d_k)
    A = np.exp(S) / np.sum(np.exp(S), axis=1, keepdims=True)
    return {"output": np.dot(A, V), "weights": A}


def fourth_root_on_one_side_only(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    ch = q.shape[-1]
    scale = 1 / math.sqrt(math.sqrt(ch))
    weight = np.einsum("td,sd->ts", q * scale, k)
    weight = np.exp(weight - weight.max(-1, keepdims=True))
    weight = weight / weight.sum(-1, keepdims=True)
    return {"output": np.einsum("ts,sd->td", weight, v), "weights": weight}


def own_scale_over_a_default_that_stays(problem: Inputs) -> Answer:
    """The default is to be cancelled by dividing through it, but the width is taken for the default."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    default_scale = q.shape[-1]
    q = q * (problem["scale"] / default_scale)
    sim = q @ k.T * q.shape[-1] ** -0.5  # what the library call does by itself
    sim = np.exp(sim - sim.max(-1, keepdims=True))
    attn = sim / sim.sum(-1, keepdims=True)
    return {"output": attn @ v, "weights": attn}


def scale_grows_with_every_block(problem: Inputs) -> Answer:
    """log₂e is multiplied into the scale inside the loop over blocks, so it piles up."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    qk_scale = q.shape[-1] ** -0.5
    m = np.full(len(q), -np.inf)
    total = np.zeros(len(q))
    acc = np.zeros((len(q), v.shape[-1]))
    start = 0
    for size in problem["chunks"]:
        qk_scale *= 1.44269504
        qk = q @ k[start : start + size].T * qk_scale
        m_new = np.maximum(m, qk.max(1))
        alpha, p = np.exp2(m - m_new), np.exp2(qk - m_new[:, None])
        total = total * alpha + p.sum(1)
        acc = acc * alpha[:, None] + p @ v[start : start + size]
        m, start = m_new, start + size
    return {"output": acc / total[:, None]}


def root_rounded_down_to_a_whole_number(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    root = int(q.shape[-1] ** 0.5)
    out, rows = [], []
    for row in q:
        s = [float(row @ other) / root for other in k]
        e = [math.exp(x - max(s)) for x in s]
        rows.append([x / sum(e) for x in e])
        out.append(sum(w * vector for w, vector in zip(rows[-1], v, strict=True)))
    return {"output": np.array(out), "weights": np.array(rows)}


def one_over_root_in_integers(problem: Inputs) -> Answer:
    """A whole-number division: 1 // 2 is 0, so every score is 0 and every key weighs the same."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    scale = 1 // round(math.sqrt(q.shape[-1]))
    s = scale * (q @ k.T)
    w = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    return {"output": w @ v, "weights": w}


PLAIN = drawn(query=(3, 4), key=(5, 4), value=(5, 3))

MUTANTS = (
    Mutant(
        "never-scaled",
        "deepjavalibrary/d2l-java#186",
        "P = softmax(Q Kᵀ)",
        "scale-missing",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        never_scaled,
    ),
    Mutant(
        "square-root-of-the-model-width",
        "chelsea0x3b/dfdx#171",
        "P = softmax(Q Kᵀ / √(H·d_k))",
        "scale-d-model",
        drawn(query=(3, 6), key=(5, 6), value=(5, 6), heads=3),
        square_root_of_the_model_width,
    ),
    Mutant(
        "divided-by-head-size",
        "thegregyang/NTK4A#3",
        "P = softmax(Q Kᵀ / d_k)",
        "scale-d-k-instead-of-sqrt",
        drawn(query=(4, 3), key=(5, 3), value=(5, 2)),
        divided_by_head_size,
        ("scale-twice",),
    ),
    Mutant(
        "scaled-weights-and-scaling-kernel",
        "AI-Hypercomputer/maxtext#1349",
        "P = softmax(((Q/√d_k) Kᵀ)/√d_k)",
        "scale-twice",
        drawn(query=(3, 5), key=(4, 5), value=(4, 3)),
        scaled_weights_and_scaling_kernel,
        ("scale-d-k-instead-of-sqrt",),
    ),
    Mutant(
        "minus-one-half-in-the-divisor",
        "rasbt/LLMs-from-scratch#856",
        "P = softmax(Q Kᵀ / d_k^(−1/2))",
        "scale-inverted",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), spread=12),
        minus_one_half_in_the_divisor,
    ),
    Mutant(
        "scaling-outside-the-softmax",
        "FrancescoSaverioZuppichini/ViT#2",
        "P = softmax(Q Kᵀ) / √d_k",
        "scale-after-softmax",
        drawn(query=(3, 3), key=(4, 3), value=(4, 5)),
        scaling_outside_the_softmax,
    ),
    Mutant(
        "square-root-of-the-value-width",
        "openai/gpt-2#49",
        "P = softmax(Q Kᵀ / √d_v)",
        "scale-by-value-width",
        drawn(query=(3, 3), key=(5, 3), value=(5, 6)),
        square_root_of_the_value_width,
    ),
    Mutant(
        "square-root-of-the-key-count",
        "course folklore: d_k read from K.shape[0] in NumPy homework",
        "P = softmax(Q Kᵀ / √T_k)",
        "scale-by-key-count",
        drawn(query=(3, 2), key=(5, 2), value=(5, 3)),
        square_root_of_the_key_count,
    ),
    Mutant(
        "fourth-root-on-one-side-only",
        "openai/guided-diffusion#38 (what the reporter took the code for)",
        "P = softmax(Q Kᵀ / d_k^(1/4))",
        "scale-fourth-root",
        drawn(query=(3, 5), key=(4, 5), value=(4, 2)),
        fourth_root_on_one_side_only,
    ),
    Mutant(
        "own-scale-over-a-default-that-stays",
        "lucidrains/denoising-diffusion-pytorch#314",
        "P = softmax(scale · Q Kᵀ / (d_k·√d_k))",
        "scale-default-not-cancelled",
        drawn(query=(3, 3), key=(4, 3), value=(4, 2), scale=2.0),
        own_scale_over_a_default_that_stays,
    ),
    Mutant(
        "scale-grows-with-every-block",
        "flagos-ai/FlagGems#424",
        "block b: s·(log₂e)^(b−1)",
        "scale-compounds-per-block",
        drawn(query=(3, 4), key=(6, 4), value=(6, 2), chunks=[2, 3, 1]),
        scale_grows_with_every_block,
    ),
    Mutant(
        "root-rounded-down-to-a-whole-number",
        "course folklore: int(sqrt(d)) in C and CUDA exercises",
        "P = softmax(Q Kᵀ / ⌊√d_k⌋)",
        "scale-root-truncated",
        drawn(query=(3, 7), key=(4, 7), value=(4, 2), spread=20),
        root_rounded_down_to_a_whole_number,
    ),
    Mutant(
        "one-over-root-in-integers",
        "course folklore: 1/2 is 0 in C, Java and Python 2",
        "P = softmax(0 · Q Kᵀ)",
        "scale-integer-division",
        PLAIN,
        one_over_root_in_integers,
        ("weights-uniform",),
    ),
)
