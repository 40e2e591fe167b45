"""Mutants of ALiBi: slope, sign and distance."""

from __future__ import annotations

import math

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def far_keys_favoured(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T = len(q)
    q_idx, kv_idx = np.arange(T)[:, None], np.arange(T)[None, :]
    score = q @ k.T / math.sqrt(q.shape[-1]) + problem["alibi"] * (q_idx - kv_idx)
    score = np.where(q_idx >= kv_idx, score, -np.inf)
    p = np.exp(score - score.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def one_geometric_row_of_slopes(problem: Inputs) -> Answer:
    """2^(−8h/H) also where H is not a power of two."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, Tq = q.shape[:2]
    slope = ((2**8) ** (1 / H)) ** -np.arange(1.0, H + 1)
    distance = -np.abs(np.arange(Tq)[:, None] - np.arange(k.shape[1])[None, :])
    s = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1]) + slope[:, None, None] * distance
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def slopes_counted_from_zero(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    n, T = q.shape[:2]
    out, maps = [], []
    for h in range(n):
        m = 2.0 ** (-8.0 * h / n)
        s = q[h] @ k[h].T / math.sqrt(q.shape[-1])
        for i in range(T):
            for j in range(T):
                s[i, j] = s[i, j] - m * (i - j) if j <= i else -np.inf
        e = np.exp(s - s.max(-1, keepdims=True))
        maps.append(e / e.sum(-1, keepdims=True))
        out.append(maps[-1] @ v[h])
    return {"output": np.stack(out), "weights": np.stack(maps)}


def one_row_of_biases_for_every_query(problem: Inputs) -> Answer:
    """A short cut that only a causal mask makes right."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    seq_len = len(k)
    alibi_bias = np.arange(1 - seq_len, 1) * problem["alibi"]
    s = q @ k.T / math.sqrt(q.shape[-1]) + alibi_bias
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def no_bias_while_decoding(problem: Inputs) -> Answer:
    """The bias is as long as the query, 1, and broadcasts: slope · 0 for every key."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    positions = np.cumsum(np.ones(len(q))) - 1
    s = q @ k.T / math.sqrt(q.shape[-1]) + problem["alibi"] * positions[None, :]
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def bias_scaled_with_the_scores(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    i, j = np.indices((len(q), len(k)))
    s = q @ k.T - problem["alibi"] * np.abs(i - j)
    s = np.where(j <= i, s / math.sqrt(q.shape[-1]), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def slopes_in_reverse(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, T = q.shape[:2]
    slopes = np.array([2 ** (-8 * (h + 1) / H) for h in range(H)])[::-1]
    back = np.maximum(np.arange(T)[:, None] - np.arange(T), 0)
    s = np.einsum("hid,hjd->hij", q, k) / math.sqrt(q.shape[-1]) - slopes[:, None, None] * back
    s = np.where(np.tri(T, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": np.einsum("hij,hjd->hid", p, v), "weights": p}


def distance_from_the_row_within_the_chunk(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    rows, columns = np.arange(len(q))[:, None], np.arange(len(k))[None, :]
    s = q @ k.T / math.sqrt(q.shape[-1]) - problem["alibi"] * np.abs(rows - columns)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def ahead_is_rewarded(problem: Inputs) -> Answer:
    """m·(j − i) without the absolute value, and no causal mask."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / math.sqrt(q.shape[-1])
    s = s + problem["alibi"] * (np.arange(len(k))[None, :] - np.arange(len(q))[:, None])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def ratio_squared(problem: Inputs) -> Answer:
    """2^(−16h/H): the first slope taken as ratio of a row that starts one later and steps twice."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, T = q.shape[:2]
    ratio = 2 ** (-8 / H)
    slopes = ratio ** (2 * np.arange(1, H + 1))
    gap = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    s = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1]) - slopes[:, None, None] * gap
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


CAUSAL = drawn(query=(4, 3), key=(4, 3), value=(4, 2), causal=True, alibi=0.5)

MUTANTS = (
    Mutant(
        "far-keys-favoured",
        "meta-pytorch/attention-gym#86",
        "bias = +m·(i − j)",
        "alibi-sign",
        CAUSAL,
        far_keys_favoured,
    ),
    Mutant(
        "one-geometric-row-of-slopes",
        "ml-explore/mlx#3071",
        "m_h = 2^(−8h/H) with H = 3",
        "alibi-slopes-not-power-of-two",
        drawn(query=(3, 4, 3), key=(3, 4, 3), value=(3, 4, 2), alibi=True),
        one_geometric_row_of_slopes,
    ),
    Mutant(
        "slopes-counted-from-zero",
        "paiml/aprender#2143",
        "m_h = 2^(−8(h−1)/H)",
        "alibi-slopes-from-zero",
        drawn(query=(4, 3, 3), key=(4, 3, 3), value=(4, 3, 2), alibi=True, causal=True),
        slopes_counted_from_zero,
    ),
    Mutant(
        "one-row-of-biases-for-every-query",
        "mosaicml/llm-foundry#186 (right with a causal mask; here without)",
        "bias = m·(j − T_k + 1)",
        "alibi-one-row-for-all",
        drawn(query=(4, 3), key=(4, 3), value=(4, 2), alibi=0.5),
        one_row_of_biases_for_every_query,
        ("alibi-signed-distance",),
    ),
    Mutant(
        "no-bias-while-decoding",
        "keras-team/keras-hub#2862",
        "bias = 0 for one query",
        "alibi-missing",
        drawn(query=(1, 4), key=(5, 4), value=(5, 2), causal=True, alibi=0.5),
        no_bias_while_decoding,
    ),
    Mutant(
        "bias-scaled-with-the-scores",
        "bigscience-workshop/Megatron-DeepSpeed#222 (a later scaling that reaches the bias)",
        "(s + b)/√d_k",
        "alibi-before-scale",
        CAUSAL,
        bias_scaled_with_the_scores,
        ("bias-before-scale",),
    ),
    Mutant(
        "slopes-in-reverse",
        "course folklore: the steepest slope given to the last head",
        "m_h = 2^(−8(H+1−h)/H)",
        "alibi-slopes-reversed",
        drawn(query=(2, 4, 3), key=(2, 4, 3), value=(2, 4, 2), alibi=True, causal=True),
        slopes_in_reverse,
    ),
    Mutant(
        "distance-from-the-row-within-the-chunk",
        "course folklore: arange(T_q) against arange(T_k) with a cache",
        "bias = −m·|i − j|, not |p_i − j|",
        "alibi-offset-missing",
        drawn(query=(2, 4), key=(5, 4), value=(5, 2), alibi=0.5),
        distance_from_the_row_within_the_chunk,
    ),
    Mutant(
        "ahead-is-rewarded",
        "course folklore: the paper's causal formula in an encoder",
        "bias = m·(j − i)",
        "alibi-signed-distance",
        drawn(query=(4, 3), key=(4, 3), value=(4, 2), alibi=0.5),
        ahead_is_rewarded,
        ("alibi-one-row-for-all",),
    ),
    Mutant(
        "ratio-squared",
        "course folklore: start and ratio of the slopes mixed up",
        "m_h = 2^(−16h/H)",
        "alibi-ratio-squared",
        drawn(query=(2, 4, 3), key=(2, 4, 3), value=(2, 4, 2), alibi=True),
        ratio_squared,
    ),
)
