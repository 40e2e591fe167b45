"""Mutants of the blend: which weights meet which values."""

from __future__ import annotations

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def weights_the_wrong_way_round(problem: Inputs) -> Answer:
    """Channels first: V (d × T) times P; the permutation of P is left out."""
    q, k, v = (np.array(problem[name]).T for name in ("query", "key", "value"))
    energy = q.T @ k / np.sqrt(q.shape[0])
    attention = np.exp(energy) / np.exp(energy).sum(-1, keepdims=True)
    return {"output": (v @ attention).T, "weights": attention}


def keys_blended(problem: Inputs) -> Answer:
    q, k, _ = (np.array(problem[name]) for name in ("query", "key", "value"))
    v = k.reshape(len(k), -1)
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def newest_key_in_the_value_cache(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    past = np.zeros((2, len(k), k.shape[1]))
    past[0, :-1], past[1, :-1] = k[:-1], v[:-1]
    past[0, -1] = k[-1]
    past[1, -1] = k[-1]
    p = np.exp(q @ past[0].T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ past[1], "weights": p}


def queries_blended(problem: Inputs) -> Answer:
    q, k = np.array(problem["query"]), np.array(problem["key"])
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ q, "weights": p}


def values_of_the_first_head_for_all(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = np.einsum("hid,hjd->hij", q, k) / np.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": np.einsum("hij,jd->hid", p, v[0]), "weights": p}


def values_shifted_by_one(problem: Inputs) -> Answer:
    """K has a token in front (a start token, a class token) that V has not, and V is rolled to fit."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ np.roll(v, 1, axis=0), "weights": p}


def values_only_averaged(problem: Inputs) -> Answer:
    """The weights are computed and returned, and the plain mean is."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": np.tile(v.mean(axis=0), (len(q), 1)), "weights": p}


def query_added_to_the_output(problem: Inputs) -> Answer:
    """The residual connection inside the attention function."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v + q, "weights": p}


MUTANTS = (
    Mutant(
        "weights-the-wrong-way-round",
        "leaderj1001/BottleneckTransformers#14 (the change that was asked about)",
        "Y = Pᵀ V",
        "weights-transposed",
        drawn(query=(4, 3), key=(4, 3), value=(4, 2)),
        weights_the_wrong_way_round,
    ),
    Mutant(
        "keys-blended",
        "meta-pytorch/torchtune#21",
        "Y = P K",
        "key-used-as-value",
        drawn(query=(3, 4), key=(5, 4), value=(5, 4)),
        keys_blended,
    ),
    Mutant(
        "newest-key-in-the-value-cache",
        "snu-comparch/InfiniGen#5",
        "v_n := k_n",
        "newest-value-is-key",
        drawn(query=(1, 4), key=(5, 4), value=(5, 4)),
        newest_key_in_the_value_cache,
    ),
    Mutant(
        "queries-blended",
        "course folklore: attn @ q typed for attn @ v",
        "Y = P Q",
        "query-used-as-value",
        drawn(query=(4, 3), key=(4, 3), value=(4, 3)),
        queries_blended,
    ),
    Mutant(
        "values-of-the-first-head-for-all",
        "course folklore: v[0] in a loop over heads",
        "Y_h = P_h V_1",
        "value-of-first-head",
        drawn(query=(3, 2, 3), key=(3, 4, 3), value=(3, 4, 2)),
        values_of_the_first_head_for_all,
    ),
    Mutant(
        "values-shifted-by-one",
        "course folklore: keys and values off by one row",
        "Y_i = Σ P_ij v_(j−1)",
        "values-off-by-one",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        values_shifted_by_one,
    ),
    Mutant(
        "values-only-averaged",
        "course folklore: v.mean() left in from a first version",
        "Y_i = mean(V)",
        "weights-uniform",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        values_only_averaged,
    ),
    Mutant(
        "query-added-to-the-output",
        "course folklore: the residual added inside attention",
        "Y = P V + Q",
        "query-added",
        drawn(query=(3, 4), key=(5, 4), value=(5, 4)),
        query_added_to_the_output,
    ),
)
