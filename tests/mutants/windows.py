"""Mutants of the sliding window: how many keys it counts, and from where."""

from __future__ import annotations

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def one_key_too_many(problem: Inputs) -> Answer:
    """W keys counting the query's own; the mask lets W more in besides it."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    window_size = problem["window"][0] + 1
    rinds, linds = np.arange(len(k)), np.arange(len(q))[:, None]
    mask = (linds >= rinds) & (linds <= rinds + window_size)
    s = np.where(mask, q @ k.T * q.shape[-1] ** -0.5, -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    w = s / s.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def one_key_too_few_ahead(problem: Inputs) -> Answer:
    """Strictly less than, on the side where the query itself does not count."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    left, right = problem["window"]
    w = np.zeros((len(q), len(k)))
    for i in range(len(q)):
        for j in range(len(k)):
            ahead = j - i
            if -left <= ahead <= 0 or 0 < ahead < right:
                w[i, j] = np.exp(q[i] @ k[j] / np.sqrt(q.shape[1]))
    w /= w.sum(1, keepdims=True)
    return {"output": w @ v, "weights": w}


def no_window_while_decoding(problem: Inputs) -> Answer:
    """One query and a cache: every key of the cache is used."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    e = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p = e / e.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def both_sides_of_a_causal_window(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    size = problem["window"][0]
    near = np.abs(np.subtract.outer(np.arange(len(q)), np.arange(len(k)))) <= size
    logits = np.where(near, np.einsum("qd,kd->qk", q, k) / np.sqrt(k.shape[-1]), -2.3819763e38)
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def far_future_let_in_again(problem: Inputs) -> Answer:
    """tril with the window on the wrong side wipes the causal mask's far corner instead of the past."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    n, sliding_window = len(q), problem["window"][0] + 1
    minus_inf = np.full((n, n), -1e30)
    masked = np.triu(minus_inf, 1)
    masked = np.tril(masked, sliding_window)
    s = q @ k.T / np.sqrt(q.shape[-1]) + masked
    s = np.exp(s - s.max(-1, keepdims=True))
    w = s / s.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def window_counted_from_the_chunk(problem: Inputs) -> Answer:
    """The causal side knows about the cache; the window starts at the row's number within the chunk."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    suffix, total = len(q), len(k)
    result = np.tril(np.ones((suffix, total), dtype=bool), total - suffix)
    result &= np.triu(np.ones((suffix, total), dtype=bool), -problem["window"][0])
    s = np.where(result, q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    w = s / s.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def last_keys_for_every_query(problem: Inputs) -> Answer:
    """Keys and values sliced once to the last window: right for one query, not for a chunk of them."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    keep = problem["window"][0] + 1
    first = len(k) - keep
    w = np.zeros((len(q), len(k)))
    for i in range(len(q)):
        last = first + keep - len(q) + i + 1
        e = np.exp(k[first:last] @ q[i] / np.sqrt(q.shape[-1]))
        w[i, first:last] = e / e.sum()
    return {"output": w @ v, "weights": w}


def blocks_instead_of_a_sliding_window(problem: Inputs) -> Answer:
    """The sequence cut into blocks of the window's size, each for itself."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    size = problem["window"][0] + 1
    block = np.arange(len(q)) // size
    keep = (block[:, None] == block[None, :]) & np.tri(len(q), dtype=bool)
    s = np.where(keep, q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


LOCAL = drawn(query=(6, 3), key=(6, 3), value=(6, 2), causal=True, window=[2, 0])

MUTANTS = (
    Mutant(
        "one-key-too-many",
        "ml-explore/mlx-lm#390",
        "keep = [i − j ≤ W], W counting the query",
        "window-one-too-many",
        LOCAL,
        one_key_too_many,
    ),
    Mutant(
        "one-key-too-few-ahead",
        "huggingface/transformers#47010",
        "keep = [j − i < right]",
        "window-right-one-too-few",
        drawn(query=(5, 3), key=(5, 3), value=(5, 2), window=[2, 2]),
        one_key_too_few_ahead,
    ),
    Mutant(
        "no-window-while-decoding",
        "karpathy/nanochat#452",
        "keep = all for one query",
        "window-ignored",
        drawn(query=(1, 4), key=(6, 4), value=(6, 3), causal=True, window=[2, 0]),
        no_window_while_decoding,
    ),
    Mutant(
        "both-sides-of-a-causal-window",
        "google/gemma_pytorch#73 (the extra 1 in the mask left out)",
        "keep = [|i − j| ≤ left]",
        "window-both-sides",
        LOCAL,
        both_sides_of_a_causal_window,
    ),
    Mutant(
        "far-future-let-in-again",
        "huggingface/transformers#41228",
        "keep = [j ≤ i or j > i + W]",
        "window-flips-far-future",
        LOCAL,
        far_future_let_in_again,
    ),
    Mutant(
        "window-counted-from-the-chunk",
        "trymirai/lalamo#200",
        "keep = [j ≤ p_i and j ≥ i − left]",
        "window-from-chunk-rows",
        drawn(query=(3, 3), key=(6, 3), value=(6, 2), causal=True, window=[1, 0]),
        window_counted_from_the_chunk,
    ),
    Mutant(
        "last-keys-for-every-query",
        "course folklore: k[-W:] taken over from single-token decoding",
        "keep = [T_k − W ≤ j ≤ p_i]",
        "window-last-keys-for-all",
        drawn(query=(2, 3), key=(6, 3), value=(6, 2), causal=True, window=[2, 0]),
        last_keys_for_every_query,
    ),
    Mutant(
        "blocks-instead-of-a-sliding-window",
        "course folklore: chunked local attention handed in as sliding window",
        "keep = [⌊i/W⌋ = ⌊j/W⌋ and j ≤ i]",
        "window-blocks",
        drawn(query=(5, 3), key=(5, 3), value=(5, 2), causal=True, window=[1, 0]),
        blocks_instead_of_a_sliding_window,
    ),
)
