"""Mutants of the scores: what is multiplied with what."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def multiplied_entry_by_entry(problem: Inputs) -> Answer:
    """mul where matmul was meant, twice: it runs, since everything is T × D."""
    f, g, h = (np.array(problem[name]) for name in ("query", "key", "value"))
    beta = np.multiply(f, g) / np.sqrt(f.shape[-1])
    beta = np.exp(beta) / np.exp(beta).sum(axis=-1, keepdims=True)
    return {"output": np.multiply(h, beta)}


def queries_against_queries(problem: Inputs) -> Answer:
    q, v = np.array(problem["query"]), np.array(problem["value"])
    similarity = q @ q.T / np.sqrt(q.shape[1])
    w = np.exp(similarity - similarity.max(1)[:, None])
    w /= w.sum(1)[:, None]
    return {"output": w @ v, "weights": w}


def key_matrix_not_transposed(problem: Inputs) -> Answer:
    Q, K, V = (np.array(problem[name]) for name in ("query", "key", "value"))
    scores = np.dot(Q, K) / np.sqrt(K.shape[1])
    exps = np.exp(scores)
    weights = exps / exps.sum(axis=1).reshape(-1, 1)
    return {"output": np.dot(weights, V), "weights": weights}


def keys_times_queries(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    pre = np.matmul(k, q.T) * q.shape[-1] ** -0.5
    att = np.exp(pre - pre.max(-1, keepdims=True))
    att = att / att.sum(-1, keepdims=True)
    return {"output": np.matmul(att, v), "weights": att}


def unpacked_in_the_order_query_value_key(problem: Inputs) -> Answer:
    def projections(source: Inputs) -> list[Any]:
        return [np.array(source[name]) for name in ("query", "key", "value")]

    q, v, k = projections(problem)
    s = q @ k.T / np.sqrt(k.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def one_feature_left_out_of_the_dot_product(problem: Inputs) -> Answer:
    """A loop over d that stops one short."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    Tq, Tk, d = len(q), len(k), q.shape[1]
    s = np.zeros((Tq, Tk))
    for i in range(Tq):
        for j in range(Tk):
            for c in range(d - 1):
                s[i, j] += q[i, c] * k[j, c]
    s /= np.sqrt(d)
    w = np.exp(s)
    w /= w.sum(1, keepdims=True)
    return {"output": w @ v, "weights": w}


def cosine_similarity(problem: Inputs) -> Answer:
    """Normalised vectors, as in similarity search, in a layer that expects plain dot products."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    qn = q / np.linalg.norm(q, axis=-1, keepdims=True)
    kn = k / np.linalg.norm(k, axis=-1, keepdims=True)
    s = qn @ kn.T / np.sqrt(q.shape[-1])
    w = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


SELF = drawn(query=(4, 3), key=(4, 3), value=(4, 2))

MUTANTS = (
    Mutant(
        "multiplied-entry-by-entry",
        "heykeetae/Self-Attention-GAN#7",
        "Y = V ∘ softmax(Q ∘ K / √d_k)",
        "scores-elementwise",
        drawn(query=(4, 3), key=(4, 3), value=(4, 3)),
        multiplied_entry_by_entry,
    ),
    Mutant(
        "queries-against-queries",
        "datawhalechina/learn-nlp-with-transformers#40",
        "S = Q Qᵀ",
        "scores-query-with-query",
        SELF,
        queries_against_queries,
    ),
    Mutant(
        "key-matrix-not-transposed",
        "course folklore: Q @ K on square toy matrices",
        "S = Q K (T_k = d_k)",
        "scores-key-not-transposed",
        drawn(query=(2, 4), key=(4, 4), value=(4, 3)),
        key_matrix_not_transposed,
    ),
    Mutant(
        "keys-times-queries",
        "karpathy/llm.c#531 (suspected there)",
        "S = K Qᵀ",
        "scores-transposed",
        SELF,
        keys_times_queries,
    ),
    Mutant(
        "unpacked-in-the-order-query-value-key",
        "jsbaan/transformer-from-scratch#1",
        "S = Q Vᵀ, Y = P K",
        "key-and-value-swapped",
        drawn(query=(3, 4), key=(5, 4), value=(5, 4)),
        unpacked_in_the_order_query_value_key,
    ),
    Mutant(
        "one-feature-left-out-of-the-dot-product",
        "course folklore: range(d - 1) in hand-written loops",
        "s_ij = Σ_{c<d} q_ic·k_jc",
        "scores-last-feature-dropped",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        one_feature_left_out_of_the_dot_product,
    ),
    Mutant(
        "cosine-similarity",
        "course folklore: cosine similarity carried over from embeddings search",
        "s_ij = q_i·k_j / (|q_i|·|k_j|)",
        "scores-cosine",
        drawn(query=(3, 4), key=(5, 4), value=(5, 2)),
        cosine_similarity,
    ),
)
