"""Mutants of the heads: split, joined, shared and mixed up with other axes."""

from __future__ import annotations

import math

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def viewed_straight_into_heads(problem: Inputs) -> Answer:
    """view(H, T, d) where view(T, H, d).transpose was meant; joined again as it should be."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, T = problem["heads"], len(q)
    q, k, v = (x.reshape(H, T, -1) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": (p @ v).transpose(1, 0, 2).reshape(T, -1), "weights": p}


def no_permutation_before_nor_after(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    B, S, width = q.shape
    H = problem["heads"]
    q, k, v = (x.reshape(B, H, S, width // H) for x in (q, k, v))
    token_weights = np.einsum("bhsd,bhtd->bhst", q, k) / math.sqrt(width // H)
    token_weights = np.exp(token_weights - token_weights.max(-1, keepdims=True))
    token_weights /= token_weights.sum(-1, keepdims=True)
    return {"output": np.matmul(token_weights, v).reshape(B, S, width), "weights": token_weights}


def joined_without_permutation(problem: Inputs) -> Answer:
    x = {name: np.array(problem[name]) for name in ("query", "key", "value")}
    H = problem["heads"]
    T = x["query"].shape[0]
    q, k, v = (x[name].reshape(T, H, -1).transpose(1, 0, 2) for name in ("query", "key", "value"))
    s = np.matmul(q, k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])
    attention = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    values = np.matmul(attention, v)
    return {"output": values.reshape(T, -1), "weights": attention}


def batch_and_heads_exchanged_when_joined(problem: Inputs) -> Answer:
    """(B·H, T, d) is taken for (H, B, T, d)."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    B, T, _ = q.shape
    H = problem["heads"]
    q, k, v = (x.reshape(B, T, H, -1).transpose(0, 2, 1, 3).reshape(B * H, T, -1) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    output = (p @ v).reshape(H, B, T, -1).transpose(0, 2, 1, 3).reshape(B, T, -1)
    return {"output": output, "weights": p.reshape(B, H, T, T)}


def features_joined_before_heads(problem: Inputs) -> Answer:
    """(T, d, H) flattened: head 1 feature 1, head 2 feature 1, …"""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, T = problem["heads"], len(q)
    outs, maps = [], []
    for one_q, one_k, one_v in zip(*(np.split(x, H, axis=-1) for x in (q, k, v)), strict=True):
        e = np.exp(one_q @ one_k.T / math.sqrt(one_q.shape[-1]))
        maps.append(e / e.sum(-1, keepdims=True))
        outs.append(maps[-1] @ one_v)
    return {"output": np.stack(outs, axis=-1).reshape(T, -1), "weights": np.stack(maps)}


def every_second_feature_to_a_head(problem: Inputs) -> Answer:
    """Split as (T, d, H): head h takes features h, h + H, …"""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H = problem["heads"]
    output = np.zeros(v.shape)
    maps = []
    for h in range(H):
        e = np.exp(q[:, h::H] @ k[:, h::H].T / math.sqrt(q.shape[1] // H))
        maps.append(e / e.sum(-1, keepdims=True))
        output[:, h::H] = maps[-1] @ v[:, h::H]
    return {"output": output, "weights": np.stack(maps)}


def one_head_for_all(problem: Inputs) -> Answer:
    """n_heads is read and never used: one wide head."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    e = np.exp(q @ k.T / math.sqrt(q.shape[-1]))
    return {"output": e @ v / e.sum(-1, keepdims=True)}


def key_heads_tiled(problem: Inputs) -> Answer:
    """tile gives 0 1 0 1; every group should have its own: 0 0 1 1."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    reps = q.shape[0] // k.shape[0]
    k, v = np.tile(k, (reps, 1, 1)), np.tile(v, (reps, 1, 1))
    s = np.einsum("hqd,hkd->hqk", q, k) / math.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": np.einsum("hqk,hkd->hqd", p, v), "weights": p}


def values_tiled_keys_repeated(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, groups = len(q), len(k)
    out, maps = [], []
    for h in range(H):
        e = np.exp(q[h] @ k[h * groups // H].T / math.sqrt(q.shape[-1]))
        maps.append(e / e.sum(-1, keepdims=True))
        out.append(maps[-1] @ v[h % groups])
    return {"output": np.stack(out), "weights": np.stack(maps)}


def tile_of_heads_over_the_edge_of_a_group(problem: Inputs) -> Answer:
    """Query heads go in tiles of two; the tile's first head says which key head all of it uses."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H, group, block = len(q), len(q) // len(k), 2
    out, maps = np.zeros((*q.shape[:2], v.shape[-1])), np.zeros((*q.shape[:2], k.shape[1]))
    for tile in range(0, H, block):
        kv_head = tile // group
        for h in range(tile, min(tile + block, H)):
            e = np.exp(q[h] @ k[kv_head].T / math.sqrt(q.shape[-1]))
            maps[h] = e / e.sum(-1, keepdims=True)
            out[h] = maps[h] @ v[kv_head]
    return {"output": out, "weights": maps}


def first_key_head_for_everybody(problem: Inputs) -> Answer:
    """Grouped heads served by a multi-query kernel: it reads key head 0."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = np.einsum("hqd,kd->hqk", q, k[0]) / math.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": np.einsum("hqk,kd->hqd", p, v[0]), "weights": p}


def attention_between_samples(problem: Inputs) -> Answer:
    """batch_first forgotten: the batch is taken for the sequence."""
    q, k, v = (np.array(problem[name]).transpose(2, 1, 0, 3) for name in ("query", "key", "value"))
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": (p @ v).transpose(2, 1, 0, 3)}


def batch_and_time_exchanged_by_a_view(problem: Inputs) -> Answer:
    """view(T, B, E) where transpose(0, 1) was meant, in and out."""
    y = {name: np.array(problem[name])[:, 0] for name in ("query", "key", "value")}
    B, T, E = y["query"].shape
    q, k, v = (x.reshape(T, B, -1).transpose(1, 0, 2) for x in y.values())
    s = q @ k.transpose(0, 2, 1) / math.sqrt(E)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": (p @ v).transpose(1, 0, 2).reshape(B, T, -1)[:, None]}


def attention_between_heads(problem: Inputs) -> Answer:
    """(T, H, d) goes where (…, T, d) is expected: the heads of a token attend to one another."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T, H = len(q), problem["heads"]
    q, k, v = (x.reshape(T, H, -1) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": (p @ v).reshape(T, -1)}


PACKED = drawn(query=(3, 6), key=(3, 6), value=(3, 6), heads=2)
GROUPED = drawn(query=(4, 2, 3), key=(2, 4, 3), value=(2, 4, 2))
SAMPLES = drawn(query=(2, 1, 3, 3), key=(2, 1, 3, 3), value=(2, 1, 3, 2))

MUTANTS = (
    Mutant(
        "viewed-straight-into-heads",
        "hyunwoongko/transformer#15 (the shortcut that was asked about)",
        "(T, H·d) read as (H, T, d)",
        "head-split-no-transpose",
        PACKED,
        viewed_straight_into_heads,
    ),
    Mutant(
        "no-permutation-before-nor-after",
        "chelsea0x3b/dfdx#158",
        "(T, H·d) read as (H, T, d), and back",
        "head-split-no-transpose",
        drawn(query=(2, 3, 4), key=(2, 3, 4), value=(2, 3, 4), heads=2),
        no_permutation_before_nor_after,
    ),
    Mutant(
        "joined-without-permutation",
        "ajhalthor/Transformer-Neural-Network#1",
        "(H, T, d) read as (T, H·d)",
        "head-merge-no-transpose",
        PACKED,
        joined_without_permutation,
    ),
    Mutant(
        "batch-and-heads-exchanged-when-joined",
        "gazelle93/Transformer-Various-Positional-Encoding#1",
        "(B·H, T, d) read as (H, B, T, d)",
        "head-merge-batch-swapped",
        drawn(query=(2, 2, 6), key=(2, 2, 6), value=(2, 2, 6), heads=3),
        batch_and_heads_exchanged_when_joined,
    ),
    Mutant(
        "features-joined-before-heads",
        "course folklore: stack(axis=-1).reshape",
        "column c·H + h holds feature c of head h",
        "head-merge-interleaved",
        PACKED,
        features_joined_before_heads,
    ),
    Mutant(
        "every-second-feature-to-a-head",
        "course folklore: x.reshape(T, d, H) or x[:, h::H]",
        "head h takes columns h, h + H, …",
        "head-split-interleaved",
        PACKED,
        every_second_feature_to_a_head,
    ),
    Mutant(
        "one-head-for-all",
        "course folklore: n_heads read and never used",
        "H = 1",
        "heads-ignored",
        PACKED,
        one_head_for_all,
    ),
    Mutant(
        "key-heads-tiled",
        "onnx/onnx#7274",
        "query head h uses key head h mod H_kv",
        "gqa-tile",
        GROUPED,
        key_heads_tiled,
    ),
    Mutant(
        "values-tiled-keys-repeated",
        "course folklore: repeat_interleave on K, repeat on V",
        "value head h mod H_kv, key head right",
        "gqa-tile-values-only",
        GROUPED,
        values_tiled_keys_repeated,
    ),
    Mutant(
        "tile-of-heads-over-the-edge-of-a-group",
        "FlashML-org/FreeToken#177",
        "query head h uses key head ⌊2⌊h/2⌋/(H/H_kv)⌋",
        "gqa-group-boundary",
        drawn(query=(6, 2, 3), key=(2, 4, 3), value=(2, 4, 2)),
        tile_of_heads_over_the_edge_of_a_group,
    ),
    Mutant(
        "first-key-head-for-everybody",
        "course folklore: a multi-query kernel for grouped heads",
        "every query head uses key head 1",
        "gqa-first-kv-head",
        GROUPED,
        first_key_head_for_everybody,
    ),
    Mutant(
        "attention-between-samples",
        "om-ai-lab/OmDet#19",
        "softmax over the samples, for each token",
        "attention-over-batch",
        SAMPLES,
        attention_between_samples,
    ),
    Mutant(
        "batch-and-time-exchanged-by-a-view",
        "rish-16/tokenlearner-pytorch#1",
        "(B, T, E) read as (T, B, E)",
        "batch-time-view",
        drawn(query=(2, 1, 3, 3), key=(2, 1, 3, 3), value=(2, 1, 3, 3)),
        batch_and_time_exchanged_by_a_view,
    ),
    Mutant(
        "attention-between-heads",
        "course folklore: (B, T, H, d) handed to an SDPA that wants (B, H, T, d)",
        "softmax over the heads of a token",
        "attention-over-heads",
        PACKED,
        attention_between_heads,
    ),
)
