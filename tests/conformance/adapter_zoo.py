"""Signatures of attention as people write them, over one core, so that a mistake can be put into all of them at once.

Each row of ZOO is a function with what is to be recognised; `source` says where such a signature is seen.
"""

import functools
import math
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

BUGS = (
    "none",
    "scale missing",
    "softmax over queries",
    "not normalised",
    "value of the next key",
    "heads averaged",
)
BUG = "none"


@contextmanager
def bug(name):
    """All functions of the zoo have this mistake."""
    global BUG
    before, BUG = BUG, name
    try:
        yield
    finally:
        BUG = before


def core(
    q,
    k,
    v,
    allowed=None,
    bias=None,
    scale=None,
    cap=None,
    sink=None,
    window=None,
    causal=None,
    first=None,
    empty=0.0,
):
    """(B, H, T, D) -> output, weights, logsumexp; first: where query 0 stands; causal and window go by it."""
    H, Tq, Tk = q.shape[1], q.shape[2], k.shape[2]
    k, v = (np.repeat(x, H // x.shape[1], axis=1) for x in (k, v))
    if q.shape[1] != k.shape[1]:
        raise ValueError("query heads must be a multiple of key heads")
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    s = q @ k.swapaxes(-1, -2) * (1.0 if BUG == "scale missing" else factor)
    s = cap * np.tanh(s / cap) if cap else s
    s = s if bias is None else s + bias
    p = np.arange(Tq)[:, None] + (Tk - Tq if first is None else first)
    j = np.arange(Tk)
    keep = np.ones((Tq, Tk), bool) if not causal else j <= p
    if window is not None:
        left, right = window
        keep = keep & (left is None or j >= p - left) & (right is None or j <= p + right)
    s = np.where(keep if allowed is None else keep & allowed, s, -np.inf)
    top = s.max(-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    e = np.exp(s - top)
    total = e.sum(-2 if BUG == "softmax over queries" else -1, keepdims=True)
    if sink is not None:
        total = total + np.exp(np.asarray(sink)[:, None, None] - top)
    if BUG == "not normalised":
        total = np.ones_like(total)
    with np.errstate(all="ignore"):
        lse = top[..., 0] + np.log(e.sum(-1))
        w = np.where(total == 0, empty, e / total)
    if BUG == "heads averaged":
        w = np.broadcast_to(w.mean(1, keepdims=True), w.shape)
    return w @ (np.roll(v, 1, -2) if BUG == "value of the next key" else v), w, lse


def swap(x):
    return x.swapaxes(1, 2)


def two(f, q, k, v, *more, **options):
    """A core call for arrays without batch and heads."""
    return [x[0, 0] for x in f(*(x[None, None] for x in (q, k, v)), *more, **options)]


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def merge(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


# --- plain ----------------------------------------------------------------------------------------


def attention(q, k, v):
    return core(q, k, v)[0]


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if dropout_p:
        query = query * 0
    if key.shape[1] != query.shape[1] and not enable_gqa:
        raise ValueError("heads differ; enable_gqa is off")
    bool_mask = attn_mask is not None and attn_mask.dtype == bool
    return core(
        query,
        key,
        value,
        allowed=attn_mask if bool_mask else None,
        bias=None if bool_mask else attn_mask,
        scale=scale,
        causal=is_causal,
        first=0,
    )[0]


def two_axes(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ V


def two_axes_with_weights(q, k, v):
    return tuple(two(core, q, k, v)[:2])


def weights_first(q, k, v):
    return core(q, k, v)[1::-1]


def named_outputs(q, k, v):
    output, weights, lse = core(q, k, v)
    return {"lse": lse, "attn": weights, "out": output}


class Result(NamedTuple):
    context: Any
    probs: Any


def named_tuple(query_states, key_states, value_states):
    return Result(*core(query_states, key_states, value_states)[:2])


def positional_only(q, k, v, /):
    return core(q, k, v)[0]


def nameless(a, b, c):
    return core(a, b, c)[0]


def star(*args):
    return core(*args)[0]


def keyword_only(*, query, key, value, scale=None):
    return core(query, key, value, scale=scale)[0]


def timed(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@timed
def wrapped(queries, keys, values):
    return core(queries, keys, values)[0]


class Callable:
    def __call__(self, xq, xk, xv):
        return core(xq, xk, xv)[0]


callable_object = Callable()
partial = functools.partial(lambda q, k, v, cap: core(q, k, v, cap=cap)[0], cap=None)


def value_before_key(query, value, key):
    return core(query, key, value)[0]


def in_lists(Q, K, V):
    out = []
    for q in Q:
        scores = [
            sum(a * b for a, b in zip(q, k, strict=True))
            / (1 if BUG == "scale missing" else math.sqrt(len(q)))
            for k in K
        ]
        e = [math.exp(s - max(scores)) for s in scores]
        out.append([sum(w * row[d] for w, row in zip(e, V, strict=True)) / sum(e) for d in range(len(V[0]))])
    return out


# --- layouts --------------------------------------------------------------------------------------


def tokens_first(query, key, value, causal=False, softmax_scale=None):
    return swap(core(swap(query), swap(key), swap(value), scale=softmax_scale, causal=causal)[0])


def documented(q, k, v):
    """Attention.

    q: (batch, seq_len, heads, head_dim), and k and v likewise.
    """
    return swap(core(swap(q), swap(k), swap(v))[0])


def three_axes(q, k, v):
    return core(q[:, None], k[:, None], v[:, None])[0][:, 0]


def three_axes_of_heads(q, k, v, scale=None):
    return core(q[None], k[None], v[None], scale=scale)[0][0]


def heads_between(q, k, v):
    return swap(core(*(swap(x[None]) for x in (q, k, v)))[0])[0]


def time_first(q, k, v):
    return core(*(x.transpose(1, 2, 0, 3) for x in (q, k, v)))[0].transpose(2, 0, 1, 3)


def columns(Q, K, V):
    return two(core, Q.T, K.T, V.T)[0].T


def joined_heads(q, k, v, num_heads):
    return merge(core(*(split(x, num_heads) for x in (q, k, v)))[0])


def joined_heads_of_its_own(q, k, v):
    return merge(core(*(split(x, 2) for x in (q, k, v)))[0])


def joined_two_axes(Q, K, V, n_heads=8):
    return merge(core(*(split(x[None], n_heads) for x in (Q, K, V)))[0])[0]


def joined_with_shared(q, k, v, num_heads, num_kv_heads):
    return merge(core(split(q, num_heads), split(k, num_kv_heads), split(v, num_kv_heads))[0])


def output_merged(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    groups = module.num_key_value_groups
    key, value = np.repeat(key, groups, axis=1), np.repeat(value, groups, axis=1)
    output, weights, _ = core(query, key, value, bias=attention_mask, scale=scaling, empty=np.nan)
    return swap(output), weights


def with_settings(cfg, q, k, v):
    return core(q, k, v, scale=cfg.head_dim**-0.5)[0]


def with_layout(q, k, v, layout="bshd"):
    assert layout == "bshd"
    return tokens_first(q, k, v)


def qkv_stacked(qkv, causal=False):
    return swap(core(*(swap(qkv[:, :, i]) for i in range(3)), causal=causal)[0])


def qkv_first(qkv):
    return core(*qkv)[0]


def qkv_joined(qkv, num_heads):
    return merge(core(*(split(x, num_heads) for x in np.split(qkv, 3, axis=-1)))[0])


def kv_stacked(q, kv, softmax_scale=None):
    return swap(core(swap(q), swap(kv[:, :, 0]), swap(kv[:, :, 1]), scale=softmax_scale)[0])


def writes(q, k, v, out):
    out[...] = core(q, k, v)[0]


def sizes_given(batch_size, q, k, v, causal, sm_scale):
    assert batch_size == len(q)
    return swap(core(swap(q), swap(k), swap(v), scale=sm_scale, causal=causal)[0])


# --- projections ----------------------------------------------------------------------------------


def projecting(Q, K, V, W_q, W_k, W_v, W_o, num_heads):
    heads = (split(x @ w, num_heads) for x, w in ((Q, W_q), (K, W_k), (V, W_v)))
    return merge(core(*heads)[0]) @ W_o


def self_attention(x, W_q, W_k, W_v):
    return two(core, x @ W_q, x @ W_k, x @ W_v)[0]


def self_attention_with_heads(x, Wq, Wk, Wv, Wo, n_heads):
    B, T, E = x.shape
    return (
        merge(core(*((x @ w).reshape(B, T, n_heads, E // n_heads).swapaxes(1, 2) for w in (Wq, Wk, Wv)))[0])
        @ Wo
    )


# --- masks ----------------------------------------------------------------------------------------


def mask_where(q, k, v, mask=None):
    return core(q, k, v, allowed=mask)[0]


def mask_needed(Q, K, V, mask):
    output, weights, _ = two(core, Q, K, V, allowed=mask != 0)
    return output, weights


def mask_dropped(q, k, v, mask):
    """As in TensorFlow's tutorial: 1 is hidden."""
    output, weights, _ = core(q, k, v, bias=mask * -1e9)
    return output, weights


def mask_added(q, k, v, mask=None):
    return core(q, k, v, bias=mask)[0]


def mask_of_numbers(q, k, v, attention_mask):
    bias = (1 - attention_mask[:, None, None, :]) * -10000.0
    return core(q, k, v, bias=bias)[0]


def mask_per_sample(query, key, value, mask=None):
    return core(query, key, value, allowed=None if mask is None else mask[:, None] == 1)[0]


def masked_fill(q, k, v, m=None):
    s_hidden = None if m is None else ~m
    return core(q[:, None], k[:, None], v[:, None], allowed=s_hidden if m is None else s_hidden[:, None])[0][
        :, 0
    ]


def padding_dropped(q, k, v, key_padding_mask=None):
    return core(q, k, v, allowed=None if key_padding_mask is None else ~key_padding_mask[:, None, None, :])[0]


def valid_lengths(queries, keys, values, valid_lens=None):
    allowed = (
        None if valid_lens is None else (np.arange(keys.shape[1]) < valid_lens[:, None])[:, None, None, :]
    )
    return core(queries[:, None], keys[:, None], values[:, None], allowed=allowed)[0][:, 0]


def bias_and_mask(
    query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, query_seq_lengths=None,
    key_value_seq_lengths=None, local_window_size=None, implementation=None, return_residual=False,
):  # fmt: skip
    window = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
    n = key_value_seq_lengths
    allowed = True if mask is None else mask
    allowed = allowed if n is None else allowed & (np.arange(key.shape[1]) < n[:, None])[:, None, None, :]
    o, _, lse = core(
        swap(query),
        swap(key),
        swap(value),
        allowed=allowed,
        bias=bias,
        scale=scale,
        causal=is_causal,
        window=window,
        first=0,
    )
    return (swap(o), swap(lse)) if return_residual else swap(o)


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
    return swap(core(swap(query), swap(key), swap(value), bias=attn_bias, scale=scale, empty=np.nan)[0])


# --- causal, windows and the rest -----------------------------------------------------------------


def flash_attn_func(
    q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
    deterministic=False, return_attn_probs=False,
):  # fmt: skip
    window = tuple(None if side < 0 else side for side in window_size)
    far = np.abs(np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1] - np.arange(k.shape[1]))
    bias = None if alibi_slopes is None else -alibi_slopes[:, None, None] * far
    o, w, lse = core(
        swap(q), swap(k), swap(v), bias=bias, scale=softmax_scale, cap=softcap, causal=causal, window=window
    )
    return (swap(o), lse, w) if return_attn_probs else swap(o)


def always_causal(q, k, v):
    return core(q, k, v, causal=True)[0]


def causal_square(Q, K, V, causal=False):
    T = len(Q)
    mask = np.tril(np.ones((T, T), bool)) if causal else np.ones((T, len(K)), bool)
    return two(core, Q, K, V, allowed=mask)[0]


def sliding(q, k, v, sliding_window=None, is_causal=True):
    window = None if sliding_window is None else (sliding_window - 1, None)
    return core(q, k, v, causal=is_causal, window=window)[0]


def window_around(q, k, v, window_size=None):
    return core(q, k, v, window=None if window_size is None else (window_size, window_size))[0]


def with_offset(q, k, v, causal=False, start_pos=0):
    return core(q, k, v, causal=causal, first=start_pos)[0]


def onnx_like(Q, K, V, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, *, is_causal=0, scale=None,
              softcap=0.0, left_window_size=-1, right_window_size=-1, q_num_heads=None, kv_num_heads=None):  # fmt: skip
    first = 0
    if past_key is not None:
        first = past_key.shape[2]
        K, V = np.concatenate([past_key, K], axis=2), np.concatenate([past_value, V], axis=2)
    n = K.shape[2] if nonpad_kv_seqlen is None else nonpad_kv_seqlen[:, None, None, None]
    allowed = np.arange(K.shape[2]) < n
    bool_mask = attn_mask is not None and attn_mask.dtype == bool
    allowed = allowed & attn_mask if bool_mask else allowed
    window = tuple(None if side < 0 else side for side in (left_window_size, right_window_size))
    return core(
        Q,
        K,
        V,
        allowed,
        None if bool_mask else attn_mask,
        scale,
        softcap,
        causal=is_causal,
        first=first,
        window=window,
    )[0]


def with_sinks(q, k, v, s_aux=None, sm_scale=None):
    return core(q, k, v, sink=s_aux, scale=sm_scale)[0]


def soft_capped(q, k, v, logits_soft_cap=None):
    return core(q, k, v, cap=logits_soft_cap)[0]


def published_alibi(q, k, v, alibi=False):
    H, far = (
        q.shape[1],
        np.abs(np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2] - np.arange(k.shape[2])),
    )
    near = 2 ** int(math.log2(H))
    slopes = [2.0 ** (-8 * h / near) for h in range(1, near + 1)]
    slopes = np.array((slopes + [2.0 ** (-4 * h / near) for h in range(1, 2 * near, 2)])[:H])
    return core(q, k, v, bias=-slopes[:, None, None] * far if alibi else None)[0]


def lse_in_bits(q, k, v, return_lse=False):
    o, _, lse = core(q, k, v)
    return (o, lse / math.log(2)) if return_lse else o


def always_lse(q, k, v):
    return core(q, k, v)[::2]


def scale_of_one(q, k, v, scale=1.0):
    return core(q, k, v, scale=scale)[0]


def divided(q, k, v, temperature):
    return core(q, k, v, scale=1 / temperature)[0]


def blocks(Q, K, V, block_size):
    out = np.zeros((len(Q), V.shape[1]))
    for start in range(0, len(Q), block_size):
        out[start : start + block_size] = two(core, Q[start : start + block_size], K, V)[0]
    return out


def single_precision(q, k, v):
    if q.dtype != np.float32:
        raise TypeError("only float32 is supported")
    return core(q, k, v)[0].astype(np.float32)


def kernel_like(q, k, v, sm_scale=None):
    if q.shape[-1] not in (64, 128) or q.shape[2] % 64 or k.shape[2] % 64:
        raise ValueError(f"no kernel for D = {q.shape[-1]}, T = {q.shape[2]}")
    return core(q, k, v, scale=sm_scale)[0]


DROP, KEEP, ADD = "drop", "attend", "add"
UL, LR = "upper_left", "lower_right"
COURSE = "course folklore"

# function, layout, features beside the basic one (and dtypes, cache), conventions, source
ZOO = (
    (attention, "BHTD", "grouped-heads", {}, COURSE),
    (scaled_dot_product_attention, "BHTD", "scale mask-bool mask-float causal grouped-heads", {"mask": KEEP, "causal": UL}, "PyTorch"),
    (two_axes, "TD", "", {}, "CS224n, deep-ml"),
    (two_axes_with_weights, "TD", "weights", {}, "d2l, courses"),
    (weights_first, "BHTD", "weights grouped-heads", {}, "annotated transformers"),
    (named_outputs, "BHTD", "weights logsumexp grouped-heads", {"logsumexp": "natural"}, "model outputs as dicts"),
    (named_tuple, "BHTD", "weights grouped-heads", {}, "Hugging Face"),
    (positional_only, "BHTD", "grouped-heads", {}, "C extensions"),
    (nameless, "BHTD", "grouped-heads", {}, "lambdas"),
    (star, "BHTD", "grouped-heads", {}, "torch.autograd.Function.apply"),
    (keyword_only, "BHTD", "scale grouped-heads", {}, "Transformer Engine"),
    (wrapped, "BHTD", "grouped-heads", {}, "decorators with functools.wraps"),
    (callable_object, "BHTD", "grouped-heads", {}, "layers without torch"),
    (partial, "BHTD", "softcap grouped-heads", {}, "functools.partial"),
    (value_before_key, "BHTD", "grouped-heads", {}, "Keras (query, value, key)"),
    (in_lists, "TD", "", {}, "from scratch in plain Python"),
    (tokens_first, "BTHD", "causal scale grouped-heads", {"causal": LR}, "flash-attention"),
    (documented, "BTHD", "grouped-heads", {}, "docstrings"),
    (three_axes, "BTD", "", {}, COURSE),
    (three_axes_of_heads, "HTD", "scale grouped-heads", {}, "tinygrad, kernels"),
    (heads_between, "THD", "grouped-heads", {}, "varlen kernels"),
    (time_first, "TBHD", "grouped-heads", {}, "Megatron (sbhd)"),
    (columns, "DT", "", {}, "columns as tokens: Prince, Understanding Deep Learning"),
    (joined_heads, "BTE", "", {}, COURSE),
    (joined_heads_of_its_own, "BTE", "", {}, "layers"),
    (joined_two_axes, "TE", "", {}, "deep-ml"),
    (joined_with_shared, "BTE", "grouped-heads", {}, "llama2.c in Python"),
    (output_merged, "BHTD", "scale mask-float weights grouped-heads", {"empty rows": "nan"}, "Hugging Face eager_attention_forward"),
    (with_settings, "BHTD", "grouped-heads", {}, "sdpa(cfg, q, k, v)"),
    (with_layout, "BTHD", "grouped-heads", {}, "SageAttention, Transformer Engine"),
    (qkv_stacked, "BT3HD", "causal", {}, "flash_attn_qkvpacked_func"),
    (qkv_first, "3BHTD", "", {}, "qkv.unbind(0), timm"),
    (qkv_joined, "BTF", "", {}, "nanoGPT c_attn"),
    (kv_stacked, "BTHD", "scale grouped-heads", {}, "flash_attn_kvpacked_func"),
    (writes, "BHTD", "grouped-heads", {}, "kernels, out="),
    (sizes_given, "BTHD", "causal scale grouped-heads", {"causal": LR}, "FlashInfer's tests"),
    (projecting, "BTE", "", {}, "TensorTonic"),
    (self_attention, "TD", "", {}, "Raschka, Build a Large Language Model"),
    (self_attention_with_heads, "BTE", "", {}, COURSE),
    (mask_where, "BHTD", "mask-bool grouped-heads", {"mask": KEEP, "empty rows": "zero"}, COURSE),
    (mask_needed, "TD", "mask-bool weights", {"mask": KEEP}, COURSE),
    (mask_dropped, "BHTD", "mask-bool weights grouped-heads", {"mask": DROP}, "TensorFlow's transformer tutorial"),
    (mask_added, "BHTD", "mask-float grouped-heads", {}, COURSE),
    (mask_of_numbers, "BHTD", "mask-bool grouped-heads", {"mask": KEEP}, "BERT's extended attention mask"),
    (mask_per_sample, "BHTD", "mask-bool grouped-heads", {"mask": KEEP}, "The Annotated Transformer"),
    (masked_fill, "BTD", "mask-bool", {"mask": DROP}, COURSE),
    (padding_dropped, "BHTD", "lengths grouped-heads", {"mask": DROP}, "torch.nn.MultiheadAttention"),
    (valid_lengths, "BTD", "lengths", {}, "d2l valid_lens"),
    (bias_and_mask, "BTHD", "scale mask-bool mask-float causal window lengths logsumexp grouped-heads", {"mask": KEEP, "causal": UL, "window": "others"}, "jax.nn.dot_product_attention"),
    (memory_efficient_attention, "BTHD", "scale mask-float grouped-heads", {"empty rows": "nan"}, "xformers"),
    (flash_attn_func, "BTHD", "scale causal window softcap alibi logsumexp weights grouped-heads", {"causal": LR, "window": "others"}, "flash-attention"),
    (always_causal, "BHTD", "causal grouped-heads", {"causal always": "yes", "causal": LR}, "minGPT"),
    (causal_square, "TD", "causal", {}, COURSE),
    (sliding, "BHTD", "causal window grouped-heads", {"causal": LR, "window": "itself"}, "Hugging Face sliding_window"),
    (window_around, "BHTD", "window grouped-heads", {"window": "others"}, "Longformer"),
    (with_offset, "BHTD", "causal offset grouped-heads", {"causal": UL}, "llama start_pos"),
    (onnx_like, "BHTD", "scale mask-bool mask-float causal window softcap lengths grouped-heads", {"mask": KEEP, "causal": UL, "window": "others"}, "ONNX Attention"),
    (with_sinks, "BHTD", "scale sink grouped-heads", {}, "gpt-oss"),
    (soft_capped, "BHTD", "softcap grouped-heads", {}, "Gemma 2, FlashInfer"),
    (published_alibi, "BHTD", "alibi grouped-heads", {}, "MPT"),
    (lse_in_bits, "BHTD", "logsumexp grouped-heads", {"logsumexp": "base 2"}, "FlashInfer return_lse"),
    (always_lse, "BHTD", "logsumexp grouped-heads", {"logsumexp": "natural"}, "flash-attention's forward"),
    (scale_of_one, "BHTD", "scale grouped-heads", {"scale": "multiplies"}, COURSE),
    (divided, "BHTD", "scale grouped-heads", {"scale": "divides"}, "ScaledDotProductAttention(temperature)"),
    (blocks, "TD", "", {}, "flash attention from scratch"),
    (single_precision, "BHTD", "grouped-heads", {}, "kernels"),
    (kernel_like, "BHTD", "scale grouped-heads", {}, "kernels"),
)  # fmt: skip
