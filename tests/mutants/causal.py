"""Mutants of the causal mask: which side, which diagonal, which corner."""

from __future__ import annotations

import math

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def flag_ignored_when_weights_are_asked_for(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    is_causal, need_weights = problem["causal"], True
    s = q @ k.T / math.sqrt(q.shape[-1])
    if is_causal and not need_weights:
        s[np.triu_indices(len(q), 1)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def dropped_when_a_mask_is_given(problem: Inputs) -> Answer:
    query, key, value = (np.array(problem[name]) for name in ("query", "key", "value"))
    attention_mask = problem.get("mask")
    if attention_mask is None and problem["causal"]:
        attention_mask = np.tri(len(query), len(key))
    scores = query @ key.T / math.sqrt(key.shape[-1])
    scores = np.where(np.array(attention_mask), scores, -1e30)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores = scores / scores.sum(-1, keepdims=True)
    return {"output": scores @ value, "weights": scores}


def no_mask_unless_the_block_is_square(problem: Inputs) -> Answer:
    """A second chunk on top of a cache is not square, and loses its mask."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    seq_len, kv_len = len(q), len(k)
    mask_mode = "causal" if seq_len > 1 and seq_len == kv_len else ""
    rows = []
    for i in range(seq_len):
        seen = i + 1 if mask_mode == "causal" else kv_len
        e = [math.exp(float(q[i] @ k[j]) / math.sqrt(q.shape[1])) if j < seen else 0.0 for j in range(kv_len)]
        rows.append([x / sum(e) for x in e])
    return {"output": np.array(rows) @ v, "weights": np.array(rows)}


def upper_left_corner_with_a_cache(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    L, S = q.shape[-2], k.shape[-2]
    attn_mask = np.tril(np.ones((L, S), dtype=bool), 0)
    w = np.where(attn_mask, q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
    w = np.exp(w - w.max(-1, keepdims=True))
    w = w / w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def lower_right_corner_without_a_cache(problem: Inputs) -> Answer:
    """More queries than keys: the first rows see nothing and are written as zeros."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    M, N = len(q), len(k)
    out, p = np.zeros((M, v.shape[1])), np.zeros((M, N))
    for m in range(M):
        last = m + (N - M)
        if last < 0:
            continue
        e = np.exp(k[: last + 1] @ q[m] / math.sqrt(q.shape[1]))
        p[m, : last + 1] = e / e.sum()
        out[m] = p[m] @ v
    return {"output": out, "weights": p}


def current_token_left_out(problem: Inputs) -> Answer:
    """The cache is read before the newest key counts as visible."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    past = len(k) - len(q)
    out, maps = [], np.zeros((len(q), len(k)))
    for step, token in enumerate(q):
        visible = past + step
        s = k[:visible] @ token / math.sqrt(len(token))
        e = np.exp(s - s.max())
        maps[step, :visible] = e / e.sum()
        out.append(maps[step, :visible] @ v[:visible])
    return {"output": np.array(out), "weights": maps}


def triu_for_tril(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T = len(q)
    bias = np.triu(np.ones((T, T)))
    att = (q @ k.T) * (1.0 / math.sqrt(k.shape[-1]))
    att[bias == 0] = -np.inf
    att = np.exp(att - att.max(-1, keepdims=True))
    att = att / att.sum(-1, keepdims=True)
    return {"output": att @ v, "weights": att}


def one_token_of_the_future(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    future = np.triu(np.ones((len(q), len(k)), dtype=bool), k=2)
    scores = np.ma.masked_array(q @ k.T / math.sqrt(q.shape[-1]), future)
    w = np.exp(scores).filled(0.0)
    w /= w.sum(axis=1)[:, None]
    return {"output": w @ v, "weights": w}


def mask_on_the_first_head_only(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T = q.shape[1]
    s = np.einsum("hid,hjd->hij", q, k) / math.sqrt(q.shape[-1])
    s[0][np.triu_indices(T, 1)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def positions_from_the_padded_width(problem: Inputs) -> Answer:
    """A row's queries stand after its own keys; here they stand after the widest row's."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    B, _, Tq, d = q.shape
    Tk = k.shape[2]
    past_len = Tk - Tq
    out, maps = np.zeros((*q.shape[:3], v.shape[-1])), np.zeros((*q.shape[:3], Tk))
    for b in range(B):
        for i in range(Tq):
            upto = min(past_len + i + 1, problem["lengths"][b])
            s = k[b, :, :upto] @ q[b, :, i, :, None]
            e = np.exp(s[..., 0] / math.sqrt(d))
            maps[b, :, i, :upto] = e / e.sum(-1, keepdims=True)
        out[b] = maps[b] @ v[b]
    return {"output": out, "weights": maps}


def only_itself(problem: Inputs) -> Answer:
    """A boolean diagonal where a triangle was meant (np.eye for np.tri)."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = np.where(np.eye(len(q), dtype=bool), q @ k.T / math.sqrt(q.shape[-1]), -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


SQUARE = drawn(query=(4, 3), key=(4, 3), value=(4, 2), causal=True)
CACHED = drawn(query=(2, 4), key=(5, 4), value=(5, 3), causal=True)

MUTANTS = (
    Mutant(
        "flag-ignored-when-weights-are-asked-for",
        "pytorch/pytorch#99282",
        "keep = all",
        "causal-skipped",
        SQUARE,
        flag_ignored_when_weights_are_asked_for,
    ),
    Mutant(
        "dropped-when-a-mask-is-given",
        "keras-team/keras#23040",
        "keep = mask, not mask and [j ≤ i]",
        "causal-skipped",
        drawn(
            query=(4, 3),
            key=(4, 3),
            value=(4, 2),
            causal=True,
            mask=[[True, False, True, True]] * 2 + [[True] * 4] * 2,
        ),
        dropped_when_a_mask_is_given,
    ),
    Mutant(
        "no-mask-unless-the-block-is-square",
        "mlx-node/mlx-node#24",
        "keep = all where T_q ≠ T_k",
        "causal-skipped",
        CACHED,
        no_mask_unless_the_block_is_square,
    ),
    Mutant(
        "upper-left-corner-with-a-cache",
        "pytorch/pytorch#103082",
        "keep = [j ≤ i]",
        "causal-top-left-for-bottom-right",
        drawn(query=(2, 3, 4), key=(2, 5, 4), value=(2, 5, 2), causal=True),
        upper_left_corner_with_a_cache,
    ),
    Mutant(
        "lower-right-corner-without-a-cache",
        "flagos-ai/FlagAttention#12",
        "keep = [j ≤ i + T_k − T_q]",
        "causal-bottom-right-for-top-left",
        drawn(query=(5, 3), key=(3, 3), value=(3, 2), causal="upper_left"),
        lower_right_corner_without_a_cache,
    ),
    Mutant(
        "current-token-left-out",
        "harvard-edge/cs249r_book#1953",
        "keep = [j < p_i]",
        "causal-strict",
        CACHED,
        current_token_left_out,
    ),
    Mutant(
        "triu-for-tril",
        "karpathy/nanoGPT#170 (the change that was asked for)",
        "keep = [j ≥ i]",
        "causal-reversed",
        SQUARE,
        triu_for_tril,
    ),
    Mutant(
        "one-token-of-the-future",
        "course folklore: triu(diagonal=2), tril(diagonal=1)",
        "keep = [j ≤ i + 1]",
        "causal-one-ahead",
        SQUARE,
        one_token_of_the_future,
    ),
    Mutant(
        "mask-on-the-first-head-only",
        "course folklore: scores[0] in a loop over samples that became heads",
        "keep = [j ≤ i] in head 0, all elsewhere",
        "causal-first-head-only",
        drawn(query=(3, 4, 3), key=(3, 4, 3), value=(3, 4, 2), causal=True),
        mask_on_the_first_head_only,
    ),
    Mutant(
        "positions-from-the-padded-width",
        "Comfy-Org/ComfyUI#15698",
        "p_i = i + T_k − T_q, not i + n − T_q",
        "offset-from-padded-length",
        drawn(query=(2, 1, 2, 3), key=(2, 1, 5, 3), value=(2, 1, 5, 2), causal=True, lengths=[3, 5]),
        positions_from_the_padded_width,
    ),
    Mutant(
        "only-itself",
        "course folklore: np.eye for np.tri",
        "keep = [j = i]",
        "causal-diagonal-only",
        SQUARE,
        only_itself,
    ),
)
