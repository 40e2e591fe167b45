"""ONNX's Attention operator as a Headwork problem: every convention in which the two differ, in one place.

What ONNX says                        what Headwork says
------------------------------------  -----------------------------------------------------------------
is_causal with no cache: upper left   offset 0 (our default is lower right)
past_key: queries stand behind it     keys joined, offset = length of the past
nonpad_kv_seqlen                      lengths; the queries end at the last valid key: offset None
windows act without is_causal too     the same; −1 is None
3-D arrays with q_num_heads           packed arrays with heads; the cache is (B, H, T, D) even then
softcap 0                             None
scale: √scale on query and on key     scale on the scores (equal but for rounding)
a mask shorter than the keys          padded with False or −inf
qk_matmul_output_mode 0, 1, 2, 3      scaled, capped, masked, weights
softmax_precision                     not needed: softmax never runs in less than float32
float16, bfloat16 in every step       dtype float32, and only what comes out is rounded: ONNX's own error
                                      there is up to 1.7 units in the last place

Source: onnx/reference/ops/op_attention.py of onnx 1.23.2, and the operator's documentation, opset 25.
"""

from typing import Any

import numpy as np

import headwork
from headwork import Problem, trace

QK_FIELDS = ("scaled", "capped", "masked", "weights")


def attention(inputs: dict[str, np.ndarray], attributes: dict[str, Any]) -> dict[str, np.ndarray]:
    """The four outputs of the operator, by ONNX's names."""
    work = trace(problem_from(inputs, attributes))
    fields = {
        "Y": "output",
        "present_key": "key_heads",  # (B, Hkv, T, D) even where the inputs are packed
        "present_value": "value_heads",
        "qk_matmul_output": QK_FIELDS[attributes.get("qk_matmul_output_mode", 0)],
    }
    return {name: work[field].astype(inputs["Q"].dtype) for name, field in fields.items()}


def problem_from(inputs: dict[str, np.ndarray], attributes: dict[str, Any]) -> Problem:
    past, lengths = inputs.get("past_key"), inputs.get("nonpad_kv_seqlen")
    key = joined(past, inputs["K"])
    no_cache = past is None and lengths is None
    return Problem(
        query=inputs["Q"],
        key=key,
        value=joined(inputs.get("past_value"), inputs["V"]),
        heads=attributes.get("q_num_heads"),
        kv_heads=attributes.get("kv_num_heads"),
        scale=attributes.get("scale"),
        softcap=attributes.get("softcap") or None,
        mask=padded(inputs.get("attn_mask"), key.shape[-2]),
        causal=bool(attributes.get("is_causal")),
        offset=0 if no_cache else None if past is None else past.shape[-2],
        window=window_from(attributes),
        lengths=lengths,
        dtype="float32",
    )


def fast_output(inputs: dict[str, np.ndarray], attributes: dict[str, Any]) -> np.ndarray:
    """Y of the operator by headwork.attention, as ONNX lays it out."""
    problem = problem_from(inputs, attributes)
    names = ("scale", "softcap", "causal", "offset", "window", "lengths")
    options = {name: getattr(problem, name) for name in names}
    arrays = [inputs["Q"], problem.key, problem.value]
    if packed := inputs["Q"].ndim == 3:
        heads = (problem.heads, problem.kv_heads, problem.kv_heads)
        arrays = [a.reshape(*a.shape[:2], h, -1) for a, h in zip(arrays, heads, strict=True)]
    # the mask as it was given, since a Problem keeps it in a form of its own
    mask = padded(inputs.get("attn_mask"), problem.key.shape[-2])
    wide = [a.astype(np.float32) if a.dtype.itemsize == 2 else a for a in arrays]
    mask = mask if mask is None or mask.dtype == bool else mask.astype(np.float32)
    output = headwork.attention(*wide, mask=mask, layout="BTHD" if packed else "BHTD", **options)
    return output.reshape(*output.shape[:2], -1) if packed else output


def joined(past: np.ndarray | None, new: np.ndarray) -> np.ndarray:
    """The cache and the new keys or values, packed if the new ones are: ONNX never packs the cache."""
    if past is None:
        return new
    if new.ndim == 3:
        past = past.swapaxes(1, 2).reshape(len(past), past.shape[2], -1)
    return np.concatenate([past, new], axis=-2)


def padded(mask: np.ndarray | None, Tk: int) -> np.ndarray | None:
    if mask is None or mask.shape[-1] == Tk:
        return mask
    width = [(0, 0)] * (mask.ndim - 1) + [(0, Tk - mask.shape[-1])]
    return np.pad(mask, width, constant_values=False if mask.dtype == bool else -np.inf)


def window_from(attributes: dict[str, Any]) -> tuple[int | None, int | None]:
    sides = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    left, right = (None if side == -1 else side for side in sides)
    return left, right
