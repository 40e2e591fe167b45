"""Right implementations in PyTorch, as people write them. None may ever be accused.

A program of its own: nothing of the project is imported. The table at the end says what each can do.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

# --- wrappers of what torch has -------------------------------------------------------------------


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def sdpa_tokens_before_heads(q, k, v, mask=None, causal=False):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal).transpose(1, 2)


def sdpa_packed(q, k, v, heads, mask=None):
    """(B, T, H·D), as the attention blocks of image models have it."""
    b, _, _ = q.shape
    q, k, v = (x.view(b, -1, heads, x.shape[-1] // heads).transpose(1, 2) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(b, -1, heads * v.shape[-1])


def lower_right_by_a_mask(q, k, v, is_causal=False):
    """What has to be done with a cache, since is_causal is upper left (pytorch/pytorch#144858)."""
    mask = None
    if is_causal:
        w, h = k.size(-2), q.size(-2)
        mask = torch.ones(h, w, dtype=torch.bool, device=q.device).tril(diagonal=w - h)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def scale_of_one(query, key, value):
    """Scaled by hand, and the kernel told not to."""
    query = query * query.size(-1) ** -0.5
    return F.scaled_dot_product_attention(query, key, value, scale=1.0)


def multihead_with_identities(query, key, value, num_heads, key_padding_mask=None):
    """torch's own multi-head attention with identity matrices; True in its mask means: drop."""
    eye = torch.eye(query.size(-1), dtype=query.dtype, device=query.device)
    out, _ = F.multi_head_attention_forward(
        query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), query.size(-1), num_heads,
        in_proj_weight=None, in_proj_bias=None, bias_k=None, bias_v=None, add_zero_attn=False, dropout_p=0.0,
        out_proj_weight=eye, out_proj_bias=None, training=False, key_padding_mask=key_padding_mask,
        need_weights=False, use_separate_proj_weight=True, q_proj_weight=eye, k_proj_weight=eye, v_proj_weight=eye,
    )  # fmt: skip
    return out.transpose(0, 1)


# --- by hand --------------------------------------------------------------------------------------


def annotated_transformer(query, key, value, mask=None, dropout=None):
    """0 in the mask means: drop."""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = F.softmax(scores, dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


def causal_unless_told_otherwise(q, k, v, is_causal=True):
    """The triangle of a small GPT, cut to size."""
    T, S = q.size(-2), k.size(-2)
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if is_causal:
        bias = torch.tril(torch.ones(S, S, device=q.device))[S - T :] if S >= T else None
        if bias is None:
            raise ValueError("more queries than keys")
        att = att.masked_fill(bias == 0, float("-inf"))
    return F.softmax(att, dim=-1) @ v


def eager_attention_forward(query, key, value, attention_mask=None, scaling=None, dropout=0.0, **kwargs):
    """(B, H, T, D) goes in, (B, T, H, D) comes out; keys of grouped heads are repeated."""
    groups = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    scaling = query.size(-1) ** -0.5 if scaling is None else scaling
    attn_weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if attention_mask is not None:
        attn_weights = attn_weights + attention_mask[:, :, :, : key.shape[-2]]
    attn_weights = F.softmax(
        attn_weights, dim=-1, dtype=torch.float32 if query.dtype != torch.float64 else None
    )
    attn_weights = F.dropout(attn_weights.to(query.dtype), p=dropout, training=False)
    return torch.matmul(attn_weights, value).transpose(1, 2).contiguous(), attn_weights


def baddbmm(query, key, value, attention_mask=None, scale=None):
    """(B·H, T, D) in one product, the scale inside."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if attention_mask is None:
        start, beta = torch.empty(query.shape[0], query.shape[1], key.shape[1], dtype=query.dtype), 0
    else:
        start, beta = attention_mask.expand(query.shape[0], -1, -1), 1
    scores = torch.baddbmm(start, query, key.transpose(-1, -2), beta=beta, alpha=scale)
    return torch.bmm(scores.softmax(dim=-1), value)


def ones_and_a_large_negative(q, k, v, attention_mask=None):
    """1 is added to what is kept: the same along a row (open-mmlab/mmdetection#11803, which asks)."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if attention_mask is not None:
        mask = attention_mask.to(scores.dtype)
        scores = scores + mask.masked_fill(attention_mask == 0, -9e15)
    return scores.softmax(-1) @ v


def einsum(q, k, v, mask=None, scale=None):
    sim = torch.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
    sim = sim - sim.amax(dim=-1, keepdim=True).detach()
    return torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)


def padding_by_samples(q, k, v, key_padding_mask=None):
    """(B, Tk), True = drop, spread over heads and queries."""
    scores = torch.matmul(q / math.sqrt(q.size(-1)), k.transpose(2, 3))
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
    return torch.matmul(scores.softmax(dim=-1), v)


def llama_repeat_kv(xq, keys, values, mask=None):
    """(B, T, H, D) with grouped heads, repeated by expanding."""

    def repeat_kv(x, n_rep):
        bs, slen, n_kv_heads, head_dim = x.shape
        x = x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim)
        return x.reshape(bs, slen, n_kv_heads * n_rep, head_dim)

    keys, values = (repeat_kv(x, xq.shape[2] // x.shape[2]) for x in (keys, values))
    xq, keys, values = (x.transpose(1, 2) for x in (xq, keys, values))
    scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(xq.shape[-1])
    if mask is not None:
        scores = scores + mask
    return torch.matmul(F.softmax(scores.float(), dim=-1).type_as(xq) if xq.dtype != torch.float64 else
                        F.softmax(scores, dim=-1), values).transpose(1, 2)  # fmt: skip


def flash_attn_func(
    q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
    alibi_slopes=None, deterministic=False, return_attn_probs=False,
):  # fmt: skip
    """The signature and the conventions of FlashAttention: (B, T, H, D), lower right, empty rows are zeros."""
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    groups = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(groups, dim=2) for x in (k, v))
    s = torch.einsum("bthd,bshd->bhts", q, k) * scale
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    Tq, Tk = s.shape[-2:]
    i, j = torch.arange(Tq)[:, None] + Tk - Tq, torch.arange(Tk)
    if alibi_slopes is not None:
        s = s - alibi_slopes[:, None, None] * (i - j).abs()
    left, right = window_size
    right = 0 if causal else right
    drop = torch.zeros(Tq, Tk, dtype=torch.bool)
    if left >= 0:
        drop = drop | (j < i - left)
    if right >= 0:
        drop = drop | (j > i + right)
    s = s.masked_fill(drop, float("-inf"))
    p = torch.softmax(s, dim=-1).nan_to_num(0.0)
    return torch.einsum("bhts,bshd->bthd", p, v)


def everything(
    query, key, value, *, attn_mask=None, is_causal=False, q_offset=None, window=None, seq_lens=None, scale=None,
    softcap=None, alibi_slopes=None, sinks=None,
):  # fmt: skip
    """Every option at once, lower right."""
    H, Tq, D = query.shape[-3:]
    Tk = key.shape[-2]
    key, value = (x.repeat_interleave(H // x.shape[-3], dim=-3) for x in (key, value))
    n = torch.tensor(Tk) if seq_lens is None else torch.as_tensor(seq_lens)[:, None, None, None]
    i = torch.arange(Tq)[:, None] + (n - Tq if q_offset is None else q_offset)
    j = torch.arange(Tk)
    s = query @ key.mT * (D**-0.5 if scale is None else scale)
    if softcap is not None:
        s = softcap * torch.tanh(s / softcap)
    if alibi_slopes is not None:
        s = s - alibi_slopes[:, None, None] * (i - j).abs()
    drop = j >= n
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        drop = drop | ~attn_mask
    elif attn_mask is not None:
        s = s + attn_mask
    if is_causal:
        drop = drop | (j > i)
    left, right = (None, None) if window is None else window
    if left is not None:
        drop = drop | (j < i - left)
    if right is not None:
        drop = drop | (j > i + right)
    s = s.masked_fill(drop, float("-inf"))
    if sinks is not None:
        s = torch.cat([s, sinks.view(-1, 1, 1).expand(*s.shape[:-1], 1)], dim=-1)
    e = torch.exp(s - s.amax(-1, keepdim=True).clamp_min(torch.finfo(s.dtype).min).detach())
    total = e.sum(-1, keepdim=True)
    return (e[..., :Tk] @ value) / total.masked_fill(total == 0, 1.0)


def gemma_eager(query, key, value, softcap=None, scaling=None):
    scores = torch.matmul(query, key.transpose(2, 3)) * (
        query.size(-1) ** -0.5 if scaling is None else scaling
    )
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    return torch.matmul(F.softmax(scores, dim=-1), value)


def sinks_as_a_column(query, key, value, sinks):
    """A learned logit per head, dropped after the softmax."""
    scores = torch.matmul(query, key.transpose(2, 3)) * query.size(-1) ** -0.5
    column = sinks.reshape(1, -1, 1, 1).expand(query.shape[0], -1, query.shape[-2], -1)
    combined = torch.cat([scores, column], dim=-1)
    combined = combined - combined.max(dim=-1, keepdim=True).values
    return torch.matmul(F.softmax(combined, dim=-1)[..., :-1], value)


def window_as_a_band(q, k, v, sliding_window=None):
    """triu and tril of a square of ones; the window counts the query itself."""
    T, S = q.size(-2), k.size(-2)
    keep = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    if sliding_window is not None:
        keep = keep & torch.ones(T, S, dtype=torch.bool).triu(S - T - sliding_window + 1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def appended_to_a_cache(q, k, v, past_key=None, past_value=None):
    """New keys and values behind the old ones; a query sees everything up to itself."""
    if past_key is not None:
        k, v = torch.cat([past_key, k], dim=2), torch.cat([past_value, v], dim=2)
    return lower_right_by_a_mask(q, k, v, True), k, v


def with_logsumexp(q, k, v, scale=None):
    s = q @ k.mT * (q.size(-1) ** -0.5 if scale is None else scale)
    s = s.to(torch.promote_types(s.dtype, torch.float32))  # e^(s − lse) is far off where lse has few bits
    lse = torch.logsumexp(s, dim=-1)
    return torch.exp(s - lse.unsqueeze(-1)).to(v.dtype) @ v, lse


def online(q, k, v, is_causal=False, block=5):
    """Key blocks with a running maximum, in torch."""
    T, S = q.size(-2), k.size(-2)
    m = q.new_full((*q.shape[:-1], 1), float("-inf"))
    l, acc = torch.zeros_like(m), q.new_zeros(*q.shape[:-1], v.size(-1))  # noqa: E741
    i = torch.arange(T)[:, None] + S - T
    for j, (kb, vb) in enumerate(zip(k.split(block, dim=-2), v.split(block, dim=-2))):
        s = q @ kb.mT * q.size(-1) ** -0.5
        if is_causal:
            s = s.masked_fill(j * block + torch.arange(kb.size(-2)) > i, float("-inf"))
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        safe = new.masked_fill(new == float("-inf"), 0.0)
        p, alpha = torch.exp(s - safe), torch.exp(m - safe)
        l = l * alpha + p.sum(-1, keepdim=True)  # noqa: E741
        acc = acc * alpha + p @ vb
        m = new
    return acc / l.clamp_min(torch.finfo(q.dtype).tiny)


class ByHand(torch.autograd.Function):
    """With its own backward pass."""

    @staticmethod
    def forward(ctx, q, k, v):
        scale = q.size(-1) ** -0.5
        p = torch.softmax(q @ k.mT * scale, dim=-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, p = ctx.saved_tensors
        dp = grad @ v.mT
        ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * q.size(-1) ** -0.5
        return ds @ k, ds.mT @ q, p.mT @ grad


def own_backward(q, k, v):
    return ByHand.apply(q, k, v)


class ScaledDotProductAttention(nn.Module):
    """The module of many a repository: temperature, dropout, masked_fill."""

    def __init__(self, temperature=None, attn_dropout=0.1):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / (self.temperature or q.size(-1) ** 0.5), k.transpose(-2, -1))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


module = ScaledDotProductAttention().eval()


def in_place_on_clones(q, k, v):
    scores = torch.matmul(q.clone().mul_(q.size(-1) ** -0.5), k.transpose(-2, -1))
    scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    scores.div_(scores.sum(-1, keepdim=True))
    return torch.matmul(scores, v)


def half_with_float32_inside(q, k, v):
    scores = (q.float() @ k.float().mT) * q.size(-1) ** -0.5
    return (torch.softmax(scores, dim=-1).to(v.dtype).float() @ v.float()).to(q.dtype)


# --- only some inputs -----------------------------------------------------------------------------


def only_half_precision(q, k, v, causal=False):
    assert q.dtype in (torch.float16, torch.bfloat16), "FlashAttention only support fp16 and bf16 data type"
    if causal:
        assert q.shape[-2] == k.shape[-2]
    scores = (q.float() @ k.float().mT) * q.size(-1) ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    return (torch.softmax(scores, dim=-1).to(v.dtype).float() @ v.float()).to(q.dtype)


def only_contiguous(q, k, v):
    for x in (q, k, v):
        if not x.is_contiguous():
            raise RuntimeError("q, k, v must be contiguous")
    return F.scaled_dot_product_attention(q, k, v)


def only_viewable(q, k, v):
    """view fails on what is not contiguous, with torch's own words."""
    b, h = q.shape[:2]
    q, k, v = (x.view(b * h, x.shape[2], x.shape[3]) for x in (q, k, v))
    return torch.bmm(torch.bmm(q, k.mT).mul(q.shape[-1] ** -0.5).softmax(-1), v).view(b, h, -1, v.shape[-1])


def only_widths_of_8(q, k, v):
    torch._assert(q.shape[-1] % 8 == 0, "head_size should be a multiple of 8")
    torch._assert(v.shape[-1] % 8 == 0, "head_size should be a multiple of 8")
    return F.scaled_dot_product_attention(q, k, v)


def needs_out(q, k, v, *, out):
    p = torch.softmax(q @ k.mT * q.size(-1) ** -0.5, dim=-1)
    torch.matmul(p, v, out=out)
    return out


TORCH = "documentation of torch.nn.functional.scaled_dot_product_attention, torch 2.13"
KERNEL = "kernels of this kind, imitated"

# function, layout, takes, can, source, more
RIGHT = (
    (
        sdpa, "BHTD HTD", "query key value mask=attn_mask causal=is_causal scale grouped=enable_gqa",
        "mask-bool mask-float causal scale grouped-heads gradients", TORCH, {"causal": "upper_left"},
    ),
    (
        sdpa_tokens_before_heads, "BTHD", "q k v mask causal", "mask-bool mask-float causal gradients", TORCH,
        {"causal": "upper_left"},
    ),
    (sdpa_packed, "BTE", "q k v heads mask", "mask-bool mask-float gradients", TORCH),
    (lower_right_by_a_mask, "BHTD HTD TD", "q k v causal=is_causal", "causal gradients", "pytorch/pytorch#144858"),
    (scale_of_one, "BHTD HTD TD", "query key value", "gradients", "huggingface/transformers#38290, as it was mended"),
    (
        multihead_with_identities, "BTE", "query key value heads=num_heads mask=key_padding_mask",
        "mask-bool gradients", "torch.nn.MultiheadAttention",
        {"mask": "drop", "mask_axes": "BK", "only": "D == Dv"},
    ),
    (
        annotated_transformer, "BHTD HTD TD", "query key value mask", "mask-bool weights gradients",
        "harvardnlp/annotated-transformer", {"returns": "output weights"},
    ),
    (
        causal_unless_told_otherwise, "BHTD HTD TD", "q k v causal=is_causal", "causal gradients",
        "karpathy/nanoGPT, with a switch", {"only": "Tq <= Tk"},
    ),
    (
        eager_attention_forward, "BHTD", "query key value mask=attention_mask scale=scaling",
        "mask-float scale grouped-heads weights gradients", "huggingface/transformers",
        {"returns": "output weights", "out_layout": "BTHD"},
    ),
    (baddbmm, "HTD", "query key value mask=attention_mask scale", "mask-float scale gradients", "huggingface/diffusers#2643"),
    (
        ones_and_a_large_negative, "BHTD HTD TD", "q k v mask=attention_mask", "mask-bool gradients",
        "open-mmlab/mmdetection#11803", {"mask": "attend01"},
    ),
    (einsum, "BHTD", "q k v mask scale", "mask-bool scale gradients", "lucidrains' repositories"),
    (
        padding_by_samples, "BHTD", "q k v mask=key_padding_mask", "mask-bool gradients", "mlwithme/TransformerTranslation#2",
        {"mask": "drop", "mask_axes": "BK"},
    ),
    (llama_repeat_kv, "BTHD", "xq keys values mask", "mask-float grouped-heads gradients", "meta-llama/llama"),
    (
        flash_attn_func, "BTHD", "q k v scale=softmax_scale causal window=window_size softcap alibi=alibi_slopes",
        "scale causal window softcap alibi grouped-heads gradients", "Dao-AILab/flash-attention", {"window": "pair-1"},
    ),
    (
        everything, "BHTD",
        "query key value mask=attn_mask causal=is_causal offset=q_offset window lengths=seq_lens scale softcap"
        " alibi=alibi_slopes sink=sinks",
        "mask-bool mask-float causal offset window lengths scale softcap alibi sink grouped-heads gradients",
        "docs/conventions.md",
    ),
    (gemma_eager, "BHTD", "query key value softcap scale=scaling", "softcap scale gradients", "Gemma Team 2024, Gemma 2, section 2"),
    (sinks_as_a_column, "BHTD", "query key value sink=sinks", "sink gradients", "the gpt-oss models", {"needs": ("sink",)}),
    (
        window_as_a_band, "BHTD HTD TD", "q k v window=sliding_window", "window gradients", "huggingface/transformers#26792",
        {"window": "count", "always": {"causal": True}, "only": "Tq <= Tk"},
    ),
    (
        appended_to_a_cache, "BHTD", "q k v past_key past_value", "cache gradients", "huggingface/transformers",
        {"returns": "output present_key present_value", "always": {"causal": True}, "only": "Tq <= Tk"},
    ),
    (with_logsumexp, "BHTD HTD TD", "q k v scale", "scale logsumexp gradients", "the pairs that flex_attention returns", {"returns": "output logsumexp"}),
    (online, "BHTD HTD TD", "q k v causal=is_causal", "causal gradients", "Dao 2023 (FlashAttention-2), section 3.1"),
    (own_backward, "BHTD HTD TD", "q k v", "gradients", "Dao et al. 2022 (FlashAttention), appendix B.2"),
    (
        module, "BHTD HTD TD", "q k v mask", "mask-bool weights gradients",
        "jadore801120/attention-is-all-you-need-pytorch", {"returns": "output weights"},
    ),
    (in_place_on_clones, "BHTD HTD TD", "q k v", "", "course folklore: operations in place, to save memory"),
    (half_with_float32_inside, "BHTD HTD TD", "q k v", "", "Dao-AILab/flash-attention#613", {"dtypes": "float32 float16 bfloat16"}),
    (
        only_half_precision, "BHTD HTD TD", "q k v causal", "causal", "Dao-AILab/flash-attention#118",
        {"dtypes": "float16 bfloat16", "causal": "square"},
    ),
    (only_contiguous, "BHTD HTD TD", "q k v", "gradients", KERNEL),
    (only_viewable, "BHTD", "q k v", "gradients", KERNEL),
    (only_widths_of_8, "BHTD HTD TD", "q k v", "gradients", KERNEL, {"only": "D % 8 == 0 and Dv % 8 == 0"}),
    (needs_out, "BHTD HTD TD", "q k v out", "", KERNEL, {"needs": ("out",)}),
)  # fmt: skip
