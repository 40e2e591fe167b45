"""Mutants of merging: attention over parts of the keys, put together by logsumexp."""

from __future__ import annotations

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def base_two_read_as_base_e(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    outs, lses, at = [], [], 0
    for n in problem["chunks"]:
        s2 = q @ k[at : at + n].T / np.sqrt(q.shape[-1]) * np.log2(np.e)
        m = s2.max(-1, keepdims=True)
        total = np.exp2(s2 - m).sum(-1, keepdims=True)
        outs.append(np.exp2(s2 - m) @ v[at : at + n] / total)
        lses.append(m + np.log2(total))
        at += n
    top = np.max(lses, axis=0)
    w = [np.exp(lse - top) for lse in lses]
    return {"output": np.asarray(sum(a * o for a, o in zip(w, outs, strict=True)) / sum(w))}


def parts_averaged(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    ends = np.cumsum(problem["chunks"])
    parts = []
    for part_k, part_v in zip(np.split(k, ends[:-1]), np.split(v, ends[:-1]), strict=True):
        e = np.exp(q @ part_k.T / np.sqrt(q.shape[-1]))
        parts.append(e / e.sum(-1, keepdims=True) @ part_v)
    return {"output": np.mean(parts, axis=0)}


def logsumexps_added(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    out = lse = None
    at = 0
    for n in problem["chunks"]:
        s = q @ k[at : at + n].T / np.sqrt(q.shape[-1])
        block_lse = np.log(np.exp(s).sum(-1, keepdims=True))
        block_out = np.exp(s - block_lse) @ v[at : at + n]
        if out is None:
            out, lse = block_out, block_lse
        else:
            new_lse = lse + block_lse
            out, lse = np.exp(lse - new_lse) * out + np.exp(block_lse - new_lse) * block_out, new_lse
        at += n
    return {"output": np.asarray(out)}


def logsumexp_without_its_maximum(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    numerator, denominator, at = 0.0, 0.0, 0
    for n in problem["chunks"]:
        s = q @ k[at : at + n].T / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(-1, keepdims=True))
        softmax_lse = np.log(e.sum(-1, keepdims=True))
        out = e / e.sum(-1, keepdims=True) @ v[at : at + n]
        numerator = numerator + np.exp(softmax_lse) * out
        denominator = denominator + np.exp(softmax_lse)
        at += n
    return {"output": np.asarray(numerator / denominator)}


def logsumexp_of_centred_keys(problem: Inputs) -> Answer:
    """The mean of the keys may be taken out of a whole row; here each part takes out its own."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    outs, lses, at = [], [], 0
    for n in problem["chunks"]:
        smooth = k[at : at + n] - k[at : at + n].mean(axis=0)
        s = q @ smooth.T / np.sqrt(q.shape[-1])
        lses.append(np.log(np.exp(s).sum(-1)))
        outs.append(np.einsum("ij,jd->id", np.exp(s - lses[-1][:, None]), v[at : at + n]))
        at += n
    share = np.exp(np.stack(lses))
    share /= share.sum(axis=0)
    return {"output": np.einsum("pi,pid->id", share, np.stack(outs))}


def exponential_of_a_large_logsumexp(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name], dtype=np.float32) for name in ("query", "key", "value"))
    acc, norm, at = np.zeros((len(q), v.shape[1]), np.float32), np.zeros((len(q), 1), np.float32), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for n in problem["chunks"]:
            s = q @ k[at : at + n].T / np.float32(np.sqrt(q.shape[-1]))
            top = s.max(-1, keepdims=True)
            e = np.exp(s - top)
            lse = top + np.log(e.sum(-1, keepdims=True))
            acc += np.exp(lse) * (e @ v[at : at + n] / e.sum(-1, keepdims=True))
            norm += np.exp(lse)
            at += n
        return {"output": (acc / norm).astype(float)}


def weighted_by_length(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    total, at = np.zeros((len(q), v.shape[1])), 0
    for n in problem["chunks"]:
        e = np.exp(q @ k[at : at + n].T / np.sqrt(q.shape[-1]))
        total += n / len(k) * (e / e.sum(-1, keepdims=True)) @ v[at : at + n]
        at += n
    return {"output": total}


def weighted_by_logsumexp_itself(problem: Inputs) -> Answer:
    """softmax over the parts is right; here the logsumexps are normalised without an exponential."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    outs, lses, at = [], [], 0
    for n in problem["chunks"]:
        s = q @ k[at : at + n].T / np.sqrt(q.shape[-1])
        lses.append(np.log(np.exp(s).sum(-1, keepdims=True)))
        outs.append(np.exp(s - lses[-1]) @ v[at : at + n])
        at += n
    return {"output": np.asarray(sum(lse * o for lse, o in zip(lses, outs, strict=True)) / sum(lses))}


def only_the_last_part_survives(problem: Inputs) -> Answer:
    """The merge writes its result over the part it still needs."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    at, out = 0, np.zeros((len(q), v.shape[1]))
    for n in problem["chunks"]:
        e = np.exp(q @ k[at : at + n].T / np.sqrt(q.shape[-1]))
        out = e @ v[at : at + n] / e.sum(-1, keepdims=True)
        at += n
    return {"output": out}


PARTS = drawn(query=(3, 4), key=(5, 4), value=(5, 2), chunks=[3, 2])

MUTANTS = (
    Mutant(
        "base-two-read-as-base-e",
        "lightseekorg/tokenspeed#571",
        "parts weighted by e^(lse/ln 2)",
        "lse-base2-merged-as-e",
        PARTS,
        base_two_read_as_base_e,
    ),
    Mutant(
        "parts-averaged",
        "foundation-model-stack/foundation-model-stack#407 (no online softmax; the rule assumed)",
        "Y = mean of the parts",
        "merge-plain-average",
        PARTS,
        parts_averaged,
    ),
    Mutant(
        "logsumexps-added",
        "zhuzilin/ring-flash-attention#20 (the change that was asked for)",
        "lse := lse₁ + lse₂",
        "merge-lse-added",
        PARTS,
        logsumexps_added,
    ),
    Mutant(
        "logsumexp-without-its-maximum",
        "Dao-AILab/flash-attention#404 (the reading that was asked about)",
        "lse := ln Σ e^(s − m)",
        "merge-lse-without-max",
        PARTS,
        logsumexp_without_its_maximum,
    ),
    Mutant(
        "logsumexp-of-centred-keys",
        "ROCm/aiter#3334",
        "lse of each part off by q·mean(K_part)/√d_k",
        "merge-lse-of-centred-keys",
        PARTS,
        logsumexp_of_centred_keys,
    ),
    Mutant(
        "exponential-of-a-large-logsumexp",
        "SHI-Labs/NATTEN#202",
        "e^lse is inf above 88.7 in float32",
        "merge-lse-not-shifted",
        drawn(query=(2, 4), key=(5, 4), value=(5, 2), chunks=[3, 2], dtype="float32", spread=220),
        exponential_of_a_large_logsumexp,
        same_numbers_as=("softmax-without-max",),  # e^lse = Σ e^s overflows with the largest e^s
        nonfinite=True,
    ),
    Mutant(
        "weighted-by-length",
        "course folklore: a weighted mean by number of keys",
        "Y = Σ (n_p/T_k)·Y_p",
        "merge-by-length",
        PARTS,
        weighted_by_length,
    ),
    Mutant(
        "weighted-by-logsumexp-itself",
        "course folklore: lse taken for the sum of exponentials",
        "Y = Σ lse_p·Y_p / Σ lse_p",
        "merge-by-lse",
        PARTS,
        weighted_by_logsumexp_itself,
    ),
    Mutant(
        "only-the-last-part-survives",
        "course folklore: out = instead of out += in the loop over parts",
        "Y = Y of the last part",
        "merge-last-part-only",
        PARTS,
        only_the_last_part_survives,
    ),
)
