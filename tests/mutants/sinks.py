"""Mutants of the sink: one more logit in the divisor, and nothing else."""

from __future__ import annotations

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn


def sink_not_wired_up(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def sink_in_every_part(problem: Inputs) -> Answer:
    """Each part of the keys adds the sink to its own sum, and the parts are merged by their sums."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    sink = np.asarray(problem["sink"], dtype=float)[:, None, None]
    outs, lses, at = [], [], 0
    for n in problem["chunks"]:
        s = q @ k[:, at : at + n].swapaxes(1, 2) / np.sqrt(q.shape[-1])
        total = np.exp(s).sum(-1, keepdims=True) + np.exp(sink)
        outs.append(np.exp(s) / total @ v[:, at : at + n])
        lses.append(np.log(total))
        at += n
    whole = np.log(sum(np.exp(lse) for lse in lses))
    return {"output": np.asarray(sum(np.exp(lse - whole) * o for lse, o in zip(lses, outs, strict=True)))}


def sink_times_the_scale(problem: Inputs) -> Answer:
    """The logit is appended to the raw scores, and scaled with them."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    raw = np.einsum("hid,hjd->hij", q, k)
    column = np.broadcast_to(np.asarray(problem["sink"], dtype=float)[:, None, None], (*raw.shape[:2], 1))
    logits = np.concatenate([raw, column], axis=-1) * q.shape[-1] ** -0.5
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p = (p / p.sum(-1, keepdims=True))[..., :-1]
    return {"output": np.einsum("hij,hjd->hid", p, v), "weights": p}


def sink_outside_the_shift(problem: Inputs) -> Answer:
    """e^sink is added to a sum of e^(s − m)."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / (e.sum(-1, keepdims=True) + np.exp(np.asarray(problem["sink"], dtype=float))[:, None, None])
    return {"output": p @ v, "weights": p}


def sink_added_as_it_is(problem: Inputs) -> Answer:
    """The logit goes into the sum without its exponential."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    out, maps = [], []
    for h, logit in enumerate(problem["sink"]):
        e = np.exp(q[h] @ k[h].T / np.sqrt(q.shape[-1]))
        maps.append(e / (e.sum(-1, keepdims=True) + logit))
        out.append(maps[-1] @ v[h])
    return {"output": np.stack(out), "weights": np.stack(maps)}


def sink_of_the_neighbouring_head(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    sink = np.roll(np.asarray(problem["sink"], dtype=float), 1)
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    p = np.exp(s) / (np.exp(s).sum(-1, keepdims=True) + np.exp(sink)[:, None, None])
    return {"output": p @ v, "weights": p}


def sink_with_the_first_value(problem: Inputs) -> Answer:
    """The sink's weight is not dropped: it goes to the first value, as if the first token were the sink."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    column = np.broadcast_to(np.asarray(problem["sink"], dtype=float)[:, None, None], (*s.shape[:2], 1))
    e = np.exp(np.concatenate([column, s], axis=-1))
    p = e / e.sum(-1, keepdims=True)
    p[..., 1] += p[..., 0]
    return {"output": p[..., 1:] @ v, "weights": p[..., 1:]}


SINK = drawn(query=(2, 3, 4), key=(2, 5, 4), value=(2, 5, 2), sink=[1.2, 0.4])

MUTANTS = (
    Mutant(
        "sink-not-wired-up",
        "kekzl/imp#1345",
        "Σ e^s without the sink",
        "sink-missing",
        SINK,
        sink_not_wired_up,
    ),
    Mutant(
        "sink-in-every-part",
        "ROCm/rocm-libraries#12227",
        "Σ e^s + 2·e^sink with two parts",
        "sink-counted-per-part",
        drawn(query=(2, 3, 4), key=(2, 5, 4), value=(2, 5, 2), sink=[1.2, 0.4], chunks=[3, 2]),
        sink_in_every_part,
    ),
    Mutant(
        "sink-times-the-scale",
        "local-inference-lab/b12x#119 (the scale of the scores for the missing factor)",
        "Σ e^s + e^(sink/√d_k)",
        "sink-scaled",
        SINK,
        sink_times_the_scale,
    ),
    Mutant(
        "sink-outside-the-shift",
        "course folklore: softmax-plus-one after subtracting the maximum",
        "Σ e^(s−m) + e^sink",
        "sink-not-shifted",
        SINK,
        sink_outside_the_shift,
    ),
    Mutant(
        "sink-added-as-it-is",
        "course folklore: the logit taken for its exponential",
        "Σ e^s + sink",
        "sink-without-exp",
        SINK,
        sink_added_as_it_is,
    ),
    Mutant(
        "sink-of-the-neighbouring-head",
        "course folklore: one logit per head, indexed one off",
        "head h uses sink h − 1",
        "sink-of-other-head",
        SINK,
        sink_of_the_neighbouring_head,
    ),
    Mutant(
        "sink-with-the-first-value",
        "sgl-project/sgl-kernel-npu#216 (what a review there asks for)",
        "Y = P V + p_sink·v_1",
        "sink-in-numerator",
        SINK,
        sink_with_the_first_value,
    ),
)
