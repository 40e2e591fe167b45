"""Attention in loops over Python floats, written from the papers: what the zoo is compared with.

A problem is a dict with the field names and conventions of docs/conventions.md:
    query (B, H, Tq, D)   key (B, Hkv, Tk, D)   value (B, Hkv, Tk, Dv)
    mask  bool or float, (B or 1, H or 1, Tq, Tk);  alibi, sink (H,);  lengths (B,);  offset: an integer
    causal "upper_left" or "lower_right"
"""

import math
from typing import Any

import numpy as np


def attention(problem: dict[str, Any]) -> dict[str, np.ndarray]:
    """output (B, H, Tq, Dv), weights (B, H, Tq, Tk), logsumexp (B, H, Tq)."""
    query, key, value = (np.asarray(problem[name], np.float64) for name in ("query", "key", "value"))
    B, H, Tq, _ = query.shape
    Tk, group = key.shape[2], H // key.shape[1]
    output, weights = np.zeros((B, H, Tq, value.shape[-1])), np.zeros((B, H, Tq, Tk))
    logsumexp = np.full((B, H, Tq), -math.inf)
    for b, h, i in np.ndindex(B, H, Tq):
        q, k, v = query[b, h, i], key[b, h // group], value[b, h // group]
        row = [score(problem, q, k[j], b, h, i, j, Tq, Tk) for j in range(Tk)]
        sink = [] if problem.get("sink") is None else [float(problem["sink"][h])]
        seen = [s for s in row if s is not None]
        if not seen + sink:
            continue
        top = max(seen + sink)
        total = math.fsum(math.exp(s - top) for s in seen + sink)
        logsumexp[b, h, i] = top + math.log(total)
        weights[b, h, i] = [0.0 if s is None else math.exp(s - top) / total for s in row]
        output[b, h, i] = [
            math.fsum(w * x for w, x in zip(weights[b, h, i], column, strict=True)) for column in v.T
        ]
    return {"output": output, "weights": weights, "logsumexp": logsumexp}


def score(
    problem: dict[str, Any], q: Any, k: Any, b: int, h: int, i: int, j: int, Tq: int, Tk: int
) -> float | None:
    """The score of query i and key j as it goes into the softmax, or None where j may not be seen."""
    valid = Tk if problem.get("lengths") is None else int(problem["lengths"][b])
    corner = 0 if problem.get("causal") == "upper_left" else valid - Tq
    p = i + (corner if problem.get("offset") is None else problem["offset"])
    left, right = problem.get("window") or (None, None)
    mask = problem.get("mask")
    m = None if mask is None else mask[b % len(mask), h % mask.shape[1], i, j].item()
    hidden = (
        j >= valid
        or (problem.get("causal") and j > p)
        or (left is not None and j < p - left)
        or (right is not None and j > p + right)
        or m is False
        or m == -math.inf
    )
    if hidden:
        return None
    s = math.fsum(x * y for x, y in zip(q, k, strict=True)) * (problem.get("scale") or len(q) ** -0.5)
    if problem.get("softcap") is not None:
        s = problem["softcap"] * math.tanh(s / problem["softcap"])
    if problem.get("alibi") is not None:
        s -= float(problem["alibi"][h]) * abs(p - j)
    return s if m is None or m is True else s + m
