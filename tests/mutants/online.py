"""Mutants of the online softmax: what is carried from block to block."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def accumulator_divided_by_the_correction(problem: Inputs) -> Answer:
    """The printed algorithm: diag(e^(m_old − m_new))⁻¹ in front of O; the sum is done right."""
    Q, K, V = (np.array(problem[name]) for name in ("query", "key", "value"))
    acc, row_sum, m = np.zeros((len(Q), V.shape[1])), np.zeros((len(Q), 1)), np.full((len(Q), 1), -np.inf)
    j = 0
    for Bc in problem["chunks"]:
        S = Q @ K[j : j + Bc].T / math.sqrt(Q.shape[1])
        m_new = np.maximum(m, S.max(1, keepdims=True))
        P = np.exp(S - m_new)
        row_sum = np.exp(m - m_new) * row_sum + P.sum(1, keepdims=True)
        acc = (acc if j == 0 else acc / np.exp(m - m_new)) + P @ V[j : j + Bc]
        m, j = m_new, j + Bc
    return {"output": acc / row_sum}


def sign_of_the_correction(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    edges = np.cumsum([0, *problem["chunks"]])
    out = []
    for row in q:
        mx, total, acc = None, 0.0, np.zeros(v.shape[1])
        for a, b in itertools.pairwise(edges):
            s = k[a:b] @ row / math.sqrt(len(row))
            new = s.max() if mx is None else max(mx, s.max())
            scale = 1.0 if mx is None else math.exp(new - mx)
            p = np.exp(s - new)
            total, acc, mx = total * scale + p.sum(), acc * scale + p @ v[a:b], new
        out.append(acc / total)
    return {"output": np.array(out)}


def accumulator_left_as_it_is(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    m_i, l_i, acc = np.full(len(q), -np.inf), np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    start_n = 0
    for block in problem["chunks"]:
        qk = np.dot(q, k[start_n : start_n + block].T) * q.shape[1] ** -0.5
        m_ij = np.maximum(m_i, qk.max(1))
        p = np.exp(qk - m_ij[:, None])
        l_i = l_i * np.exp(m_i - m_ij) + p.sum(1)
        acc += np.dot(p, v[start_n : start_n + block])
        m_i = m_ij
        start_n += block
    return {"output": acc / l_i[:, None]}


def sum_left_as_it_is(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    out = np.empty((len(q), v.shape[1]))
    for r, row in enumerate(q):
        peak, denominator, numerator, at = -math.inf, 0.0, np.zeros(v.shape[1]), 0
        for n in problem["chunks"]:
            scores = k[at : at + n] @ row / math.sqrt(len(row))
            higher = max(peak, scores.max())
            numerator = numerator * math.exp(peak - higher) + np.exp(scores - higher) @ v[at : at + n]
            denominator += np.exp(scores - higher).sum()
            peak, at = higher, at + n
        out[r] = numerator / denominator
    return {"output": out}


def rescale_skipped_but_block_in_the_new_frame(problem: Inputs) -> Answer:
    """Small jumps of the maximum are skipped: m goes back, but the block was taken with the new one."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    tau = math.log(256)
    m: Any = None
    row_sum: Any = None
    acc: Any = None
    at = 0
    for n in problem["chunks"]:
        s = q @ k[at : at + n].T / math.sqrt(q.shape[1])
        top = s.max(1) if m is None else np.maximum(m, s.max(1))
        p = np.exp(s - top[:, None])
        if m is None:
            m, row_sum, acc = top, p.sum(1), p @ v[at : at + n]
        else:
            jump = top - m > tau
            fix = np.where(jump, np.exp(m - top), 1.0)
            m = np.where(jump, top, m)
            row_sum = row_sum * fix + p.sum(1)
            acc = acc * fix[:, None] + p @ v[at : at + n]
        at += n
    return {"output": acc / row_sum[:, None]}


def correction_from_the_block_instead_of_the_running_maximum(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    running = last = np.full((len(q), 1), -np.inf)
    row_sum, acc, at = np.zeros((len(q), 1)), np.zeros((len(q), v.shape[1])), 0
    for n in problem["chunks"]:
        s = q @ k[at : at + n].T / math.sqrt(q.shape[1])
        block = s.max(1, keepdims=True)
        new = np.maximum(running, block)
        alpha = np.exp(last - new)  # `last` is the maximum of the previous block alone
        p = np.exp(s - new)
        row_sum, acc = row_sum * alpha + p.sum(1, keepdims=True), acc * alpha + p @ v[at : at + n]
        running, last, at = new, block, at + n
    return {"output": acc / row_sum}


def maximum_stuck_at_zero(problem: Inputs) -> Answer:
    """Blocks from right to left; the first is masked whole, its maximum −∞ becomes 0, and 0 is kept."""
    q, k, v = (np.array(problem[name], dtype=np.float32) for name in ("query", "key", "value"))
    edges = np.cumsum([0, *problem["chunks"]])
    out = np.zeros((len(q), v.shape[1]), dtype=np.float32)
    for i in range(len(q)):
        top, row_sum, acc = np.float32(-np.inf), np.float32(0), np.zeros(v.shape[1], dtype=np.float32)
        for a, b in reversed(list(itertools.pairwise(edges))):
            s = k[a:b] @ q[i] / np.float32(math.sqrt(q.shape[1]))
            s[np.arange(a, b) > i] = -np.inf
            new = max(top, s.max())
            new = np.float32(0) if new == -np.inf else new
            p = np.exp(s - new)
            alpha = np.exp(top - new) if top > -np.inf else np.float32(0)
            row_sum, acc, top = row_sum * alpha + p.sum(), acc * alpha + p @ v[a:b], new
        out[i] = acc / row_sum if row_sum > 0 else 0
    return {"output": out.astype(float)}


def last_part_of_a_block_never_read(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    block = problem["chunks"][0]
    num, den = np.zeros((len(q), v.shape[1])), np.zeros((len(q), 1))
    for b in range(len(k) // block):
        cut = slice(b * block, (b + 1) * block)
        e = np.exp(q @ k[cut].T / math.sqrt(q.shape[1]))
        num, den = num + e @ v[cut], den + e.sum(1, keepdims=True)
    return {"output": num / den}


def tail_filled_with_zero_keys(problem: Inputs) -> Answer:
    """Out-of-bounds rows of K and V read as 0: score 0, weight e⁰, value 0."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    block = problem["chunks"][0]
    missing = -len(k) % block
    k = np.vstack([k, np.zeros((missing, k.shape[1]))])
    v = np.vstack([v, np.zeros((missing, v.shape[1]))])
    s = q @ k.T / math.sqrt(q.shape[1])
    p = np.exp(s - s.max(1, keepdims=True))
    return {"output": p @ v / p.sum(1, keepdims=True)}


def accumulator_carried_from_row_to_row(problem: Inputs) -> Answer:
    """Declared outside the loop over rows."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    out = np.zeros((len(q), v.shape[1]))
    acc = np.zeros(v.shape[1])
    for i, row in enumerate(q):
        s = k @ row / math.sqrt(len(row))
        w = np.exp(s - s.max())
        w /= w.sum()
        for j in range(len(k)):
            acc = acc + w[j] * v[j]
        out[i] = acc
    return {"output": out}


def every_block_a_softmax_of_its_own(problem: Inputs) -> Answer:
    """Tiled softmax: each block normalised by itself, the results added."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    out, at = 0, 0
    for n in problem["chunks"]:
        e = np.exp(q @ k[at : at + n].T / math.sqrt(q.shape[1]))
        out = out + e / e.sum(1, keepdims=True) @ v[at : at + n]
        at += n
    return {"output": np.asarray(out)}


def divided_in_every_step(problem: Inputs) -> Answer:
    """The running output is divided by the running sum after each block, and again at the end."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    m, row_sum, o, at = (
        np.full((len(q), 1), -np.inf),
        np.zeros((len(q), 1)),
        np.zeros((len(q), v.shape[1])),
        0,
    )
    for n in problem["chunks"]:
        s = q @ k[at : at + n].T / math.sqrt(q.shape[1])
        new = np.maximum(m, s.max(1, keepdims=True))
        p = np.exp(s - new)
        row_sum = row_sum * np.exp(m - new) + p.sum(1, keepdims=True)
        o = (o * np.exp(m - new) + p @ v[at : at + n]) / row_sum
        m, at = new, at + n
    return {"output": o}


BLOCKS = drawn(query=(4, 4), key=(6, 4), value=(6, 3), chunks=[2, 3, 1])

MUTANTS = (
    Mutant(
        "accumulator-divided-by-the-correction",
        "Dao-AILab/flash-attention#991",
        "O ← O·e^(m_new − m_old) + P V, ℓ right",
        "online-rescale-inverted",
        BLOCKS,
        accumulator_divided_by_the_correction,
    ),
    Mutant(
        "sign-of-the-correction",
        "deepseek-ai/FlashMLA#177",
        "O and ℓ times e^(m_new − m_old)",
        "online-rescale-sign",
        BLOCKS,
        sign_of_the_correction,
    ),
    Mutant(
        "accumulator-left-as-it-is",
        "course folklore: acc += p @ v in Triton and CUDA homework",
        "O ← O + P V, ℓ right",
        "online-accumulator-not-rescaled",
        BLOCKS,
        accumulator_left_as_it_is,
    ),
    Mutant(
        "sum-left-as-it-is",
        "course folklore: row_sum += p.sum() in Triton and CUDA homework",
        "ℓ ← ℓ + Σ P, O right",
        "online-sum-not-rescaled",
        BLOCKS,
        sum_left_as_it_is,
    ),
    Mutant(
        "rescale-skipped-but-block-in-the-new-frame",
        "meta-pytorch/MSLK#242",
        "m stays m₁, block b with e^(s − max(m₁, m_b))",
        "online-not-rescaled",
        BLOCKS,
        rescale_skipped_but_block_in_the_new_frame,
    ),
    Mutant(
        "correction-from-the-block-instead-of-the-running-maximum",
        "course folklore: the block's maximum kept in place of the running one",
        "factor e^(max of block b−1 − m_new)",
        "online-rescale-with-block-max",
        drawn(query=(5, 4), key=(6, 4), value=(6, 3), chunks=[1] * 6),
        correction_from_the_block_instead_of_the_running_maximum,
    ),
    Mutant(
        "maximum-stuck-at-zero",
        "Dao-AILab/flash-attention#2082",
        "m ≥ 0 after a masked block: e^(s − 0) underflows, Y = 0",
        "online-max-stuck-at-zero",
        lambda seed: {
            "query": [[-20.0 - seed, 1.0], [-18.0, 2.0], [-19.0, -1.0]],
            "key": [[10.0, 1.0], [12.0, -1.0], [14.0, 0.5]],
            "value": [[1.2, -0.7], [0.3, 1.5], [-1.1, 0.4]],
            "causal": True,
            "chunks": [1, 2],
            "dtype": "float32",
        },
        maximum_stuck_at_zero,
    ),
    Mutant(
        "last-part-of-a-block-never-read",
        "jax-ml/jax#27224 (right for whole blocks only; the rule assumed)",
        "keep = [j < ⌊T_k/B⌋·B]",
        "online-last-block-skipped",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), chunks=[2, 2, 1]),
        last_part_of_a_block_never_read,
    ),
    Mutant(
        "tail-filled-with-zero-keys",
        "flashinfer-ai/flashinfer#5090",
        "zero rows of K and V up to a whole block",
        "zero-padded-keys-in-softmax",
        drawn(query=(3, 4), key=(5, 4), value=(5, 3), chunks=[3, 2]),
        tail_filled_with_zero_keys,
    ),
    Mutant(
        "accumulator-carried-from-row-to-row",
        "flashinfer-ai/flashinfer#5029",
        "Y_i = Σ_{r≤i} P_r V",
        "accumulator-not-reset",
        BLOCKS,
        accumulator_carried_from_row_to_row,
    ),
    Mutant(
        "every-block-a-softmax-of-its-own",
        "course folklore: softmax inside the tile loop",
        "Y = Σ_b softmax(S_b) V_b",
        "merge-plain-sum",
        BLOCKS,
        every_block_a_softmax_of_its_own,
    ),
    Mutant(
        "divided-in-every-step",
        "course folklore: FlashAttention-1's formula mixed with FlashAttention-2's",
        "O ← (α O + P V)/ℓ in every block",
        "online-divided-every-step",
        BLOCKS,
        divided_in_every_step,
    ),
)
