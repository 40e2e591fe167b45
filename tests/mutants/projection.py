"""Mutants of the projections: which matrix, which side, which input."""

from __future__ import annotations

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def values_through_the_key_matrix(problem: Inputs) -> Answer:
    x, w_q, w_k = (np.array(problem[name]) for name in ("x", "w_query", "w_key"))
    q, k, v = x @ w_q, x @ w_k, x @ w_k
    p = np.exp(q @ k.T / np.sqrt(k.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v, "weights": p}


def query_and_key_matrices_exchanged(problem: Inputs) -> Answer:
    """Initialised in the order key, query, value: the saved matrices land in the wrong layers."""
    x = np.array(problem["x"])
    key_layer, query_layer, value_layer = (
        np.array(problem[name]) for name in ("w_query", "w_key", "w_value")
    )
    q, k, v = x @ query_layer, x @ key_layer, x @ value_layer
    s = q @ k.T / np.sqrt(q.shape[1])
    p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    return {"output": p @ v, "weights": p}


def biases_left_out(problem: Inputs) -> Answer:
    x = np.array(problem["x"])
    q, k, v = (x @ np.array(problem[name]) for name in ("w_query", "w_key", "w_value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v, "weights": p}


def matrices_the_other_way_round(problem: Inputs) -> Answer:
    """Square matrices, stored as (in, out) and used as (out, in)."""
    x = np.array(problem["x"])
    Q, K, V = (np.einsum("nd,od->no", x, np.array(problem[name])) for name in ("w_query", "w_key", "w_value"))
    s = np.einsum("ni,mi->nm", Q, K) / np.sqrt(Q.shape[1])
    p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    return {"output": p @ V, "weights": p}


def output_matrix_the_other_way_round(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v @ np.array(problem["w_output"]).T, "weights": p}


def output_projection_computed_and_not_returned(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    H = problem["heads"]
    maps, parts = [], []
    for a, b, c in zip(np.split(q, H, 1), np.split(k, H, 1), np.split(v, H, 1), strict=True):
        e = np.exp(a @ b.T / np.sqrt(a.shape[1]))
        maps.append(e / e.sum(1, keepdims=True))
        parts.append(maps[-1] @ c)
    output = np.hstack(parts)
    linear_proj = output @ np.array(problem["w_output"])
    assert linear_proj.shape == output.shape
    return {"output": output, "weights": np.stack(maps)}


def fused_matrix_cut_in_the_other_order(problem: Inputs) -> Answer:
    """[q₁ q₂ | k₁ k₂ | v₁ v₂] is read as [q₁ k₁ v₁ | q₂ k₂ v₂]."""
    x, H = np.array(problem["x"]), problem["heads"]
    fused = np.hstack([np.array(problem[name]) for name in ("w_query", "w_key", "w_value")])
    qkv = (x @ fused).reshape(len(x), H, 3, -1)
    q, k, v = (qkv[:, :, part].transpose(1, 0, 2) for part in range(3))
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": (p @ v).transpose(1, 0, 2).reshape(len(x), -1), "weights": p}


def values_from_the_querying_side(problem: Inputs) -> Answer:
    x, memory = np.array(problem["x"]), np.array(problem["x_key"])
    q, k = x @ np.array(problem["w_query"]), memory @ np.array(problem["w_key"])
    v = x @ np.array(problem["w_value"])
    p = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v, "weights": p}


def encoder_asks_decoder_answers(problem: Inputs) -> Answer:
    decoder, encoder = np.array(problem["x"]), np.array(problem["x_key"])
    q = encoder @ np.array(problem["w_query"])
    k, v = decoder @ np.array(problem["w_key"]), decoder @ np.array(problem["w_value"])
    p = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v, "weights": p}


def not_projected_at_all(problem: Inputs) -> Answer:
    """Attention of the embeddings themselves, at the place where the layer should be."""
    x = np.array(problem["x"])
    p = np.exp(x @ x.T / np.sqrt(x.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ x, "weights": p}


def output_bias_left_out(problem: Inputs) -> Answer:
    q, k, v, w = (np.array(problem[name]) for name in ("query", "key", "value", "w_output"))
    p = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v @ w, "weights": p}


SELF = drawn(x=(3, 4), w_query=(4, 3), w_key=(4, 3), w_value=(4, 3), spread=12)
CROSS = drawn(x=(3, 3), x_key=(3, 3), w_query=(3, 4), w_key=(3, 4), w_value=(3, 2), spread=12)

MUTANTS = (
    Mutant(
        "values-through-the-key-matrix",
        "yflyzhang/AnnotatedTransformer#1",
        "V = X W_K",
        "v-projected-with-wk",
        SELF,
        values_through_the_key_matrix,
        ("key-used-as-value",),
    ),
    Mutant(
        "query-and-key-matrices-exchanged",
        "neetcode-gh/leetcode#5169",
        "Q = X W_K, K = X W_Q",
        "query-and-key-weights-swapped",
        SELF,
        query_and_key_matrices_exchanged,
        ("scores-transposed",),
    ),
    Mutant(
        "biases-left-out",
        "paiml/aprender#2769",
        "Q = X W_Q, K = X W_K, V = X W_V",
        "projection-bias-missing",
        drawn(
            x=(3, 4),
            w_query=(4, 3),
            w_key=(4, 3),
            w_value=(4, 2),
            b_query=(3,),
            b_key=(3,),
            b_value=(2,),
            spread=12,
        ),
        biases_left_out,
    ),
    Mutant(
        "matrices-the-other-way-round",
        "rasbt/LLMs-from-scratch#857 (there the other way about)",
        "Q = X W_Qᵀ, …",
        "projection-weight-transposed",
        drawn(x=(4, 3), w_query=(3, 3), w_key=(3, 3), w_value=(3, 3), spread=12),
        matrices_the_other_way_round,
    ),
    Mutant(
        "output-matrix-the-other-way-round",
        "AaltoML/SUQ#2",
        "Z W_Oᵀ",
        "output-projection-transposed",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), w_output=(3, 3)),
        output_matrix_the_other_way_round,
    ),
    Mutant(
        "output-projection-computed-and-not-returned",
        "ethen8181/machine-learning#13",
        "Z, not Z W_O",
        "output-projection-missing",
        drawn(query=(3, 4), key=(4, 4), value=(4, 4), heads=2, w_output=(4, 4)),
        output_projection_computed_and_not_returned,
    ),
    Mutant(
        "fused-matrix-cut-in-the-other-order",
        "awslabs/slapo#46",
        "[Q K V] cut head by head",
        "qkv-fused-order",
        drawn(x=(3, 4), w_query=(4, 4), w_key=(4, 4), w_value=(4, 4), heads=2, spread=10),
        fused_matrix_cut_in_the_other_order,
    ),
    Mutant(
        "values-from-the-querying-side",
        "pinellolab/DNA-Diffusion#235 (its title; the rule assumed)",
        "V = X W_V, not X_key W_V",
        "cross-attention-value-from-x",
        CROSS,
        values_from_the_querying_side,
    ),
    Mutant(
        "encoder-asks-decoder-answers",
        "rexrex9/nlp_torchtext#2",
        "Q from x_key, K and V from x",
        "cross-attention-swapped",
        CROSS,
        encoder_asks_decoder_answers,
    ),
    Mutant(
        "not-projected-at-all",
        "course folklore: the simplified first attention left in place",
        "Q = K = V = X",
        "projection-missing",
        drawn(x=(4, 3), w_query=(3, 3), w_key=(3, 3), w_value=(3, 3), spread=12),
        not_projected_at_all,
    ),
    Mutant(
        "output-bias-left-out",
        "course folklore: bias=False on the output layer only",
        "Z W_O",
        "output-bias-missing",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), w_output=(3, 2), b_output=(2,)),
        output_bias_left_out,
    ),
)
