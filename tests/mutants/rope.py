"""Mutants of rotary positions: the angle, the sign, the pairs, and what is turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def minus_the_sine(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, d = q.shape
    inv_freq = 1.0 / problem["rope"]["base"] ** (np.arange(0, d, 2) / d)
    freqs = np.outer(np.arange(T), inv_freq)
    cos, sin = np.cos(np.hstack([freqs, freqs])), np.sin(np.hstack([freqs, freqs]))

    def apply(x: Any) -> Any:
        rotated = np.hstack([-x[:, d // 2 :], x[:, : d // 2]])
        return x * cos - rotated * sin

    p = np.exp(apply(q) @ apply(k).T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def halves_where_neighbours_were_meant(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, d = q.shape
    half = d // 2
    angle = np.arange(T)[:, None] * problem["rope"]["base"] ** (-np.arange(half) * 2 / d)
    turned = []
    for x in (q, k):
        a, b = x[:, :half], x[:, half:]
        turned.append(
            np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], 1)
        )
    p = np.exp(turned[0] @ turned[1].T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def frequencies_in_halves_pairs_of_neighbours(problem: Inputs) -> Answer:
    """repeat for repeat_interleave: angles t₁ t₂ t₁ t₂, pairs (1, 2), (3, 4)."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, d = q.shape
    omega = problem["rope"]["base"] ** (-np.arange(d // 2) / (d / 2))
    freq = np.tile(np.einsum("t,c->tc", np.arange(T), omega), 2)

    def rotate(x: Any) -> Any:
        y = np.stack([-x[:, 1::2], x[:, ::2]], axis=-1).reshape(x.shape)
        return x * np.cos(freq) + y * np.sin(freq)

    p = np.exp(rotate(q) @ rotate(k).T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def base_written_into_the_code(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, d = q.shape
    theta = np.array([[pos / 10000.0 ** (i / d) for i in range(0, d, 2)] for pos in range(T)])
    q2, k2 = ((x[:, : d // 2] + 1j * x[:, d // 2 :]) * np.exp(1j * theta) for x in (q, k))
    p = np.exp((q2 @ k2.conj().T).real / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def half_the_exponent(problem: Inputs) -> Answer:
    """arange(d/2) divided by d, not by d/2."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, head_dim = q.shape
    inv_freq = 1.0 / (problem["rope"]["base"] ** (np.arange(head_dim // 2) / head_dim))
    angles = np.concatenate([np.outer(np.arange(T), inv_freq)] * 2, axis=1)
    rope = []
    for x in (q, k):
        x1, x2 = x[:, : head_dim // 2], x[:, head_dim // 2 :]
        rope.append(x * np.cos(angles) + np.concatenate([-x2, x1], axis=1) * np.sin(angles))
    p = np.exp(rope[0] @ rope[1].T / np.sqrt(head_dim))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def index_counted_from_one_starts_at_zero(problem: Inputs) -> Answer:
    """The paper's θ_i = base^(−2(i−1)/d) counts i from 1; the loop from 0."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, d = q.shape
    R = np.zeros((T, d, d))
    for position in range(T):
        for i in range(d // 2):
            m_theta = position * problem["rope"]["base"] ** (-2.0 * (i - 1) / d)
            a, b = 2 * i, 2 * i + 1
            R[position, a, a], R[position, a, b] = np.cos(m_theta), -np.sin(m_theta)
            R[position, b, a], R[position, b, b] = np.sin(m_theta), np.cos(m_theta)
    q, k = np.einsum("tij,tj->ti", R, q), np.einsum("tij,tj->ti", R, k)
    p = np.exp(q @ k.T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def new_tokens_start_at_zero_again(problem: Inputs) -> Answer:
    """arange(seq_length) without the cache's offset: the query turns by its number within the chunk."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    d = q.shape[1]
    w = problem["rope"]["base"] ** (-np.arange(0, d, 2) / d)

    def turn(x: Any) -> Any:
        z = (x[:, : d // 2] + 1j * x[:, d // 2 :]) * np.exp(1j * np.arange(len(x))[:, None] * w)
        return np.concatenate([z.real, z.imag], axis=1)

    p = np.exp(turn(q) @ turn(k).T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def cache_one_token_ahead(problem: Inputs) -> Answer:
    """The counter is raised before the layer reads it: the new queries and keys stand one place too far."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    new, total, d = len(q), len(k), q.shape[1]
    past = total - new
    places_q = np.arange(new) + past + 1
    places_k = np.concatenate([np.arange(past), np.arange(new) + past + 1])
    w = problem["rope"]["base"] ** (-np.arange(0, d, 2) / d)
    zq = (q[:, : d // 2] + 1j * q[:, d // 2 :]) * np.exp(1j * np.outer(places_q, w))
    zk = (k[:, : d // 2] + 1j * k[:, d // 2 :]) * np.exp(1j * np.outer(places_k, w))
    p = np.exp((zq @ zk.conj().T).real / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def cached_keys_turned_again(problem: Inputs) -> Answer:
    """Keys were turned when they were stored, and are turned once more when they are read."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    d = q.shape[1]
    w = problem["rope"]["base"] ** (-np.arange(0, d, 2) / d)

    def apply_rope(x: Any, start: int) -> Any:
        y = x.copy()
        for t in range(len(x)):
            c, s = np.cos((start + t) * w), np.sin((start + t) * w)
            y[t, : d // 2] = x[t, : d // 2] * c - x[t, d // 2 :] * s
            y[t, d // 2 :] = x[t, : d // 2] * s + x[t, d // 2 :] * c
        return y

    k_cache = apply_rope(k, 0)
    s = apply_rope(q, len(k) - len(q)) @ apply_rope(k_cache, 0).T / np.sqrt(d)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def turned_by_the_number_of_the_head(problem: Inputs) -> Answer:
    """The second-last axis is taken for the sequence; in (B, T, H, d) that is the heads."""
    q, k, v = (np.array(problem[name]).transpose(1, 0, 2) for name in ("query", "key", "value"))  # (T, H, d)
    d = q.shape[-1]
    t = np.arange(q.shape[-2])
    angle = np.outer(t, problem["rope"]["base"] ** (-np.arange(0, d, 2) / d))
    angle = np.concatenate([angle, angle], axis=-1)

    def rotary(x: Any) -> Any:
        return x * np.cos(angle) + np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], -1) * np.sin(angle)

    s = np.einsum("ihd,jhd->hij", rotary(q), rotary(k)) / np.sqrt(d)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": np.einsum("hij,jhd->hid", p, v), "weights": p}


def values_turned_as_well(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    d = q.shape[1]
    w = problem["rope"]["base"] ** (-np.arange(0, d, 2) / d)
    turned = []
    for x in (q, k, v):
        angle = np.outer(np.arange(len(x)), w)
        a, b = x[:, : d // 2], x[:, d // 2 :]
        turned.append(
            np.hstack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)])
        )
    p = np.exp(turned[0] @ turned[1].T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ turned[2], "weights": p}


def keys_stay_where_they_are(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    d = q.shape[1]
    angle = np.outer(np.arange(len(q)), problem["rope"]["base"] ** (-np.arange(0, d, 2) / d))
    a, b = q[:, : d // 2], q[:, d // 2 :]
    q = np.hstack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)])
    p = np.exp(q @ k.T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def not_turned_at_all(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def whole_head_turned(problem: Inputs) -> Answer:
    """partial_rotary_factor is dropped on the way."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    d = q.shape[1]
    angle = np.outer(np.arange(len(k)), problem["rope"]["base"] ** (-np.arange(0, d, 2) / d))
    zq, zk = (x[:, : d // 2] + 1j * x[:, d // 2 :] for x in (q, k))
    s = ((zq * np.exp(1j * angle)) @ (zk * np.exp(1j * angle)).conj().T).real
    p = np.exp(s / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def first_pairs_of_the_whole_head_turned(problem: Inputs) -> Answer:
    """Frequencies over d, pairs (i, i + d/2), and only the first rotary_dim/2 of them."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    d, rotary_dim = q.shape[1], problem["rope"]["dim"]
    turned = []
    for x in (q, k):
        y = x.copy()
        for t in range(len(x)):
            for i in range(rotary_dim // 2):
                a = t * problem["rope"]["base"] ** (-2 * i / d)
                y[t, i] = x[t, i] * np.cos(a) - x[t, i + d // 2] * np.sin(a)
                y[t, i + d // 2] = x[t, i] * np.sin(a) + x[t, i + d // 2] * np.cos(a)
        turned.append(y)
    p = np.exp(turned[0] @ turned[1].T / np.sqrt(d))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


HALF = drawn(query=(4, 4), key=(4, 4), value=(4, 2), rope={"base": 100.0, "pairing": "half"})
NEIGHBOURS = drawn(query=(4, 4), key=(4, 4), value=(4, 2), rope={"base": 100.0, "pairing": "interleaved"})
CACHED = drawn(query=(2, 4), key=(5, 4), value=(5, 2), rope={"base": 100.0, "pairing": "half"})
PARTIAL = drawn(query=(4, 6), key=(4, 6), value=(4, 2), rope={"base": 100.0, "pairing": "half", "dim": 4})

MUTANTS = (
    Mutant("minus-the-sine", "trymirai/lalamo#268", "turned by −p·θ", "rope-sign", HALF, minus_the_sine),
    Mutant(
        "halves-where-neighbours-were-meant",
        "vllm-project/vllm-ascend#12765",
        "pairs (i, i + d/2) for (2i, 2i + 1)",
        "rope-pairing",
        NEIGHBOURS,
        halves_where_neighbours_were_meant,
    ),
    Mutant(
        "frequencies-in-halves-pairs-of-neighbours",
        "facebookresearch/vjepa2#15",
        "pairs (2i, 2i + 1), angles t₁ t₂ t₁ t₂",
        "rope-angles-and-pairs-mixed",
        NEIGHBOURS,
        frequencies_in_halves_pairs_of_neighbours,
    ),
    Mutant(
        "base-written-into-the-code",
        "huggingface/candle#3746",
        "base 10000 whatever is configured",
        "rope-base",
        HALF,
        base_written_into_the_code,
    ),
    Mutant(
        "half-the-exponent",
        "rasbt/LLMs-from-scratch#410 (the change that was asked for)",
        "θ_i = base^(−i/d)",
        "rope-exponent-halved",
        HALF,
        half_the_exponent,
    ),
    Mutant(
        "index-counted-from-one-starts-at-zero",
        "bkitano/llama-from-scratch#8",
        "θ_i = base^(−2(i−1)/d), i from 0",
        "rope-exponent-shifted",
        NEIGHBOURS,
        index_counted_from_one_starts_at_zero,
    ),
    Mutant(
        "new-tokens-start-at-zero-again",
        "Blaizzy/mlx-vlm#1983",
        "p_i = i, not i + offset",
        "rope-offset-missing",
        CACHED,
        new_tokens_start_at_zero_again,
    ),
    Mutant(
        "cache-one-token-ahead",
        "fla-org/flash-linear-attention#766",
        "new queries and keys at p + 1",
        "rope-cache-one-ahead",
        CACHED,
        cache_one_token_ahead,
    ),
    Mutant(
        "cached-keys-turned-again",
        "NeuraLegion/shainet#110",
        "k_j turned by 2j",
        "rope-keys-twice",
        HALF,
        cached_keys_turned_again,
    ),
    Mutant(
        "turned-by-the-number-of-the-head",
        "facebookresearch/xformers#841",
        "p = h",
        "rope-over-heads",
        drawn(query=(3, 4, 4), key=(3, 4, 4), value=(3, 4, 2), rope={"base": 100.0, "pairing": "half"}),
        turned_by_the_number_of_the_head,
        ("rope-missing",),
    ),
    Mutant(
        "values-turned-as-well",
        "mistralai/mistral-inference#147 (the rule that was asked about)",
        "v_j turned by j",
        "rope-on-values",
        drawn(query=(4, 4), key=(4, 4), value=(4, 4), rope={"base": 100.0, "pairing": "half"}),
        values_turned_as_well,
    ),
    Mutant(
        "keys-stay-where-they-are",
        "course folklore: RoPE on the query only",
        "q_i turned by p_i, k_j not",
        "rope-keys-not-rotated",
        HALF,
        keys_stay_where_they_are,
    ),
    Mutant(
        "not-turned-at-all",
        "course folklore: rotate() called, its result not used",
        "q and k not turned",
        "rope-missing",
        HALF,
        not_turned_at_all,
    ),
    Mutant(
        "whole-head-turned",
        "AI-Hypercomputer/maxtext#4616",
        "rotary dim = d",
        "rope-partial-ignored",
        PARTIAL,
        whole_head_turned,
    ),
    Mutant(
        "first-pairs-of-the-whole-head-turned",
        "pie-project/pie#603",
        "pairs (i, i + d/2) and base^(−2i/d) for i < dim/2",
        "rope-partial-head-width",
        PARTIAL,
        first_pairs_of_the_whole_head_turned,
    ),
)
