"""The implementations that are measured, each called in the way that its own documents call fastest."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Array
from .regimes import Regime, visible

Arrays = dict[str, Array]
Call = Callable[[], Any]


def prepare(name: str, regime: Regime, arrays: Arrays) -> Call | None:
    """A call that does the regime once; None where the implementation cannot.

    name  one of NAMES; arrays: as `drawn` gives them, already in the form that the implementation wants
    Raises ImportError where it is not installed, and what it raises itself.
    """
    return PREPARE[name](regime, arrays)


def as_numpy(name: str, regime: Regime, result: Any) -> Array:
    """The output of a call, (B, H, Tq, Dv), as a NumPy array."""
    output = result[0] if isinstance(result, list | tuple) else result
    array = np.asarray(output.detach() if hasattr(output, "detach") else output)
    if name == "jax":
        return array.swapaxes(1, 2)
    if name == "onnxruntime MHA":
        return array.reshape(regime.B, regime.Tq, regime.H, -1).swapaxes(1, 2)
    return array.reshape(regime.B, regime.H, regime.Tq, -1)


def _headwork(regime: Regime, arrays: Arrays) -> Call:
    from ...mechanism.fast import attention, attention_vjp

    query, key, value = arrays["query"], arrays["key"], arrays["value"]
    options: dict[str, Any] = {"threads": regime.threads} if regime.Tq > 3 else {}
    if regime.causal:
        options["causal"] = True
    if regime.window is not None:
        options["window"] = (regime.window, None)
    if regime.mask:
        options["mask"] = arrays["mask"]
    if not regime.backward:
        return (
            (lambda: attention(query, key, value, **options))
            if options
            else lambda: attention(query, key, value)
        )

    def both() -> Any:
        output, logsumexp = attention(query, key, value, return_logsumexp=True, **options)
        kept = {"output": output, "logsumexp": logsumexp}
        return output, attention_vjp(query, key, value, arrays["cotangent"], **kept, **options)

    return both


def _numpy(regime: Regime, arrays: Arrays) -> Call | None:
    """The textbook, every step of it in place."""
    if regime.backward:
        return None
    r, scale = regime, np.asarray(1 / np.sqrt(regime.D), regime.dtype)
    query = arrays["query"].reshape(r.B, r.key_heads, r.H // r.key_heads, r.Tq, r.D)
    key, value = arrays["key"][:, :, None].swapaxes(-1, -2), arrays["value"][:, :, None]
    seen = arrays["mask"] if r.mask == "bool" else visible(r, np.arange(r.Tq)) if r.Tq > 1 else None
    bias = arrays["mask"] if r.mask == "float" else None

    def call() -> Any:
        scores = query @ key
        scores *= scale
        if bias is not None:
            scores += bias
        if seen is not None:
            scores[..., ~seen] = -np.inf
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores @ value

    return call


def _torch(regime: Regime, arrays: Arrays) -> Call:
    import torch

    torch.set_num_threads(regime.threads)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    query, key, value = tensors["query"], tensors["key"], tensors["value"]
    options: dict[str, Any] = {"enable_gqa": True} if regime.Hkv else {}
    square = regime.Tq == regime.keys and regime.window is None
    if regime.causal and square:
        options["is_causal"] = True
    elif (seen := visible(regime, np.arange(regime.Tq))) is not None and regime.Tq > 1:
        options["attn_mask"] = torch.from_numpy(seen)
    if regime.mask:
        options["attn_mask"] = tensors["mask"]
    attention = torch.nn.functional.scaled_dot_product_attention
    if not regime.backward:
        return lambda: attention(query, key, value, **options)
    inputs = tuple(each.requires_grad_() for each in (query, key, value))

    def both() -> Any:
        output = attention(*inputs, **options)
        return output, torch.autograd.grad(output, inputs, tensors["cotangent"])

    return both


def _jax(regime: Regime, arrays: Arrays) -> Call | None:
    import jax

    jax.config.update("jax_enable_x64", regime.dtype == "float64")
    if regime.value_width != regime.D:
        return None
    names = ("query", "key", "value", "cotangent")
    placed = [jax.device_put(np.ascontiguousarray(arrays[name].swapaxes(1, 2))) for name in names]
    options: dict[str, Any] = {}
    mask = arrays.get("mask")
    if regime.Tq > 1 and regime.mask != "float":
        mask = mask if mask is not None else visible(regime, np.arange(regime.Tq))
    square = regime.causal and regime.Tq == regime.keys and regime.window is None
    if square:
        options["is_causal"] = True
    elif mask is not None:
        options["bias" if regime.mask == "float" else "mask"] = jax.device_put(mask[None, None])

    def attention(query: Any, key: Any, value: Any) -> Any:
        return jax.nn.dot_product_attention(query, key, value, **options)

    def both(query: Any, key: Any, value: Any, cotangent: Any) -> Any:
        output, back = jax.vjp(attention, query, key, value)
        return output, back(cotangent)

    compiled = jax.jit(both if regime.backward else attention)
    inputs = placed if regime.backward else placed[:3]
    return lambda: jax.block_until_ready(compiled(*inputs))


def _attention_operator(regime: Regime, arrays: Arrays) -> Call | None:
    """ONNX's own operator, opset 23."""
    from onnx import helper

    if regime.backward:
        return None
    inputs = {name: arrays[name] for name in ("query", "key", "value")}
    square = regime.causal and regime.Tq == regime.keys and regime.window is None
    if regime.mask:
        inputs["mask"] = arrays["mask"]
    elif not square and regime.Tq > 1 and (seen := visible(regime, np.arange(regime.Tq))) is not None:
        inputs["mask"] = seen
    node = helper.make_node("Attention", list(inputs), ["output"], is_causal=int(square))
    return _session(regime, node, inputs, (regime.B, regime.H, regime.Tq, regime.value_width))


def _multi_head_attention(regime: Regime, arrays: Arrays) -> Call | None:
    """onnxruntime's contributed operator: packed heads, no grouping, float32."""
    from onnx import helper

    square = regime.Tq == regime.keys
    more = regime.backward or regime.Hkv or regime.mask or regime.window is not None
    if more or regime.dtype != "float32" or not (square or regime.Tq == 1):
        return None
    inputs = {
        name: np.ascontiguousarray(arrays[name].swapaxes(1, 2)).reshape(regime.B, arrays[name].shape[2], -1)
        for name in ("query", "key", "value")
    }
    options = {"num_heads": regime.H, "unidirectional": int(regime.causal and square)}
    node = helper.make_node("MultiHeadAttention", list(inputs), ["output"], domain="com.microsoft", **options)
    return _session(regime, node, inputs, (regime.B, regime.Tq, regime.H * regime.value_width))


def _session(regime: Regime, node: Any, inputs: Arrays, shape: tuple[int, ...]) -> Call:
    import onnxruntime
    from onnx import helper

    def described(name: str, array: Array) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    given = [described(name, array) for name, array in inputs.items()]
    output = described("output", np.empty(shape, regime.dtype))
    graph = helper.make_graph([node], "one", given, [output])
    sets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = regime.threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


PREPARE: dict[str, Callable[[Regime, Arrays], Call | None]] = {
    "headwork": _headwork,
    "torch": _torch,
    "jax": _jax,
    "onnxruntime": _attention_operator,
    "onnxruntime MHA": _multi_head_attention,
    "numpy": _numpy,
}
NAMES = tuple(PREPARE)


def use_threads(threads: int) -> None:
    """Hold this process to so many cores, so that no library can use more."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
