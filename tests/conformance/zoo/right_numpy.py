"""Right implementations in NumPy, in the many ways in which people write them. None may ever be accused.

A program of its own: nothing of the project is imported. The table at the end says what each can do.
"""

import math
from collections import namedtuple

import numpy as np

# --- the formula ----------------------------------------------------------------------------------


def textbook(Q, K, V):
    scores = Q @ K.T / np.sqrt(K.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ V


def in_loops(queries, keys, values):
    """Lists in lists, number by number."""
    out = []
    for q in queries:
        scores = [sum(a * b for a, b in zip(q, k)) / math.sqrt(len(q)) for k in keys]
        largest = max(scores)
        e = [math.exp(s - largest) for s in scores]
        total = sum(e)
        out.append([sum(w / total * v[c] for w, v in zip(e, values)) for c in range(len(values[0]))])
    return np.array(out)


def batched(query, key, value, mask=None, scale=None):
    if scale is None:
        scale = 1.0 / np.sqrt(query.shape[-1])
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.matmul(weights, value)


def tokens_before_heads(q, k, v, causal=False):
    """(B, T, H, D); a square causal mask."""
    s = np.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5
    if causal:
        s = np.where(np.tri(s.shape[-2], s.shape[-1], dtype=bool), s, -np.inf)
    s -= s.max(-1, keepdims=True)
    p = np.exp(s)
    return np.einsum("bhts,bshd->bthd", p / p.sum(-1, keepdims=True), v)


def packed_heads(query, key, value, num_heads, mask=None):
    """(B, T, H·D): split, attend, join."""

    def split(x):
        return x.reshape(x.shape[0], x.shape[1], num_heads, -1).transpose(0, 2, 1, 3)

    q, k, v = split(query), split(key), split(value)
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, np.finfo(s.dtype).min)
    e = np.exp(s - s.max(-1, keepdims=True))
    z = e / e.sum(-1, keepdims=True) @ v
    return z.transpose(0, 2, 1, 3).reshape(query.shape[0], query.shape[1], -1)


def heads_in_a_list(X_q, X_k, X_v, n_heads):
    """One matrix for each tensor, one head after the other, joined at the end."""
    heads = []
    for q, k, v in zip(*(np.split(x, n_heads, axis=-1) for x in (X_q, X_k, X_v))):
        heads.append(textbook(q, k, v))
    return np.concatenate(heads, axis=-1)


def column_major(Q, K, V):
    """K Qᵀ, a softmax down the columns, and everything transposed back."""
    s = K @ Q.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    w = np.exp(s - s.max(axis=-2, keepdims=True))
    w = w / w.sum(axis=-2, keepdims=True)
    return (V.swapaxes(-1, -2) @ w).swapaxes(-1, -2)


# --- masks ----------------------------------------------------------------------------------------


def ones_minus_mask(q, k, v, mask):
    """1 = keep, and (1 − mask)·(−1e9) is added; the mask has to be given, and may be None."""
    matmul_qk = np.matmul(q, np.swapaxes(k, -1, -2))
    logits = matmul_qk / np.sqrt(k.shape[-1])
    if mask is not None:
        logits = logits + (1.0 - mask) * -1e9
    e = np.exp(logits - logits.max(-1, keepdims=True))
    attention_weights = e / e.sum(-1, keepdims=True)
    return np.matmul(attention_weights, v), attention_weights


def ones_are_dropped(q, k, v, mask=None):
    """The tutorial that has 1 for padding: mask·(−1e9) is added."""
    logits = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    if mask is not None:
        logits += mask * -1e9
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def additive_mask(q, k, v, attn_bias=None, scale=None):
    s = np.einsum("...qd,...kd->...qk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if attn_bias is not None:
        s = s + attn_bias
    s = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.einsum("...qk,...kd->...qd", s / s.sum(axis=-1, keepdims=True), v)


def either_mask(query, key, value, *, mask=None, is_causal=False, scale=None):
    """Boolean (True = keep) or additive; a row that sees nothing gives zeros; causal is lower right."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.swapaxes(-1, -2) * scale
    Tq, Tk = scores.shape[-2:]
    if is_causal:
        scores = np.where(np.tri(Tq, Tk, Tk - Tq, dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = np.max(scores, axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ value


def smallest_number_for_minus_infinity(q, k, v, mask=None, causal=False):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    lowest = np.finfo(s.dtype).min
    if mask is not None:
        s = np.where(mask, s, lowest)
    if causal:
        s = np.where(np.tri(*s.shape[-2:], k=s.shape[-1] - s.shape[-2], dtype=bool), s, lowest)
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True)) @ v


def masked_after_the_softmax(q, k, v, mask=None):
    """… and renormalised: the divisor of the first softmax cancels."""
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    if mask is not None:
        w = w * mask
        w /= w.sum(-1, keepdims=True)
    return w @ v


def exponentials_times_mask(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    if mask is not None:
        e = e * mask
    return (e @ v) / e.sum(-1, keepdims=True)


def masked_array(q, k, v, keep=None):
    s = q @ k.T / np.sqrt(q.shape[1])
    s = np.ma.masked_array(s, np.zeros(s.shape, bool) if keep is None else ~keep)
    e = np.exp(s - s.max(axis=1)[:, None])
    return ((e / e.sum(axis=1)[:, None]).filled(0.0)) @ v


def valid_lens(queries, keys, values, valid_lens=None):
    """The masked softmax of a well-known course: one length per sample, −1e6 behind it."""
    scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(queries.shape[-1])
    if valid_lens is not None:
        mask = np.arange(scores.shape[-1])[None, None, :] < np.asarray(valid_lens)[:, None, None]
        scores = np.where(mask, scores, -1e6)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ values


def always_causal(q, k, v):
    """A decoder's: there is no switch."""
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    s[..., np.triu(np.ones(s.shape[-2:], bool), 1)] = -np.inf
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


def causal_in_the_corner_of_torch(q, k, v, is_causal=False):
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if is_causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


def offset_of_the_first_query(q, k, v, causal=True, start_pos=0):
    i = start_pos + np.arange(q.shape[-2])[:, None]
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.arange(k.shape[-2]) <= i, s, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


# --- the same number by another road --------------------------------------------------------------


def scale_folded_into_the_query(q, k, v):
    q = q * q.shape[-1] ** -0.5
    s = q @ k.swapaxes(-1, -2)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


def fourth_root_on_both_sides(q, k, v):
    scale = 1 / math.sqrt(math.sqrt(q.shape[-1]))
    weight = np.einsum("bct,bcs->bts", np.swapaxes(q * scale, 1, 2), np.swapaxes(k * scale, 1, 2))
    weight = np.exp(weight - weight.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    return np.einsum("bts,bsc->btc", weight, v)


def keys_centred(q, k, v):
    """q·mean(K) is the same number along a row."""
    k = k - k.mean(axis=-2, keepdims=True)
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    s = np.exp(s - s.max(-1, keepdims=True))
    return s / s.sum(-1, keepdims=True) @ v


def values_centred(q, k, v):
    """The weights of a row sum to 1."""
    mean = v.mean(axis=-2, keepdims=True)
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    s = np.exp(s - s.max(-1, keepdims=True))
    return s / s.sum(-1, keepdims=True) @ (v - mean) + mean


def powers_of_two(q, k, v, sm_scale=None):
    """exp2 with log₂e folded into the scale, as kernels have it."""
    qk_scale = (q.shape[-1] ** -0.5 if sm_scale is None else sm_scale) * 1.44269504088896340736
    s = q @ k.swapaxes(-1, -2) * qk_scale
    p = np.exp2(s - s.max(-1, keepdims=True))
    return p @ v / p.sum(-1, keepdims=True)


def in_logarithms(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return np.exp(s - np.logaddexp.reduce(s, axis=-1, keepdims=True)) @ v


def through_the_output_matrix(query, key, value, heads, w_out=None):
    """Σ_h z_h W_O,h: each head through its own rows of the output matrix, nothing is joined."""
    width = value.shape[-1] // heads
    w_out = np.eye(value.shape[-1], dtype=value.dtype) if w_out is None else w_out
    total = 0.0
    for h in range(heads):
        q, k = (np.split(x, heads, axis=-1)[h] for x in (query, key))
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(-1, keepdims=True))
        z = e / e.sum(-1, keepdims=True) @ value[..., h * width : (h + 1) * width]
        total = total + z @ w_out[h * width : (h + 1) * width]
    return total


def in_three_passes(q, k, v):
    """Maximum, sum, blend: one row at a time."""
    out = np.empty((*q.shape[:-1], v.shape[-1]), np.result_type(q, v))
    for at in np.ndindex(q.shape[:-1]):
        keys, values = k[at[:-1]], v[at[:-1]]
        s = keys @ q[at] / np.sqrt(q.shape[-1])
        top = s.max()
        total = np.exp(s - top).sum()
        out[at] = np.exp(s - top) / total @ values
    return out


def in_place_on_copies(q, k, v):
    q = q.copy()
    q /= np.sqrt(q.shape[-1])
    s = q @ k.swapaxes(-1, -2)
    s -= s.max(-1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(-1, keepdims=True)
    return s @ v


# --- block by block -------------------------------------------------------------------------------


def _online(q, k, v, block, causal=False, mask=None):
    """FlashAttention-2: rescale what was summed whenever the maximum grows."""
    Tq, Tk = q.shape[-2], k.shape[-2]
    m = np.full((*q.shape[:-1], 1), -np.inf, q.dtype)
    row_sum, acc = np.zeros_like(m), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    keep = np.tri(Tq, Tk, Tk - Tq, dtype=bool) if causal else np.ones((Tq, Tk), bool)
    for at in range(0, Tk, block):
        part = slice(at, min(at + block, Tk))
        s = q @ k[..., part, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        s = np.where(keep[:, part], s, -np.inf)
        if mask is not None:
            s = np.where(mask[..., part], s, -np.inf)
        new = np.maximum(m, s.max(-1, keepdims=True))
        safe = np.where(np.isneginf(new), 0, new)
        alpha, p = np.exp(m - safe), np.exp(s - safe)
        row_sum = alpha * row_sum + p.sum(-1, keepdims=True)
        acc = alpha * acc + p @ v[..., part, :]
        m = new
    return acc / np.where(row_sum == 0, 1, row_sum)


def online_one_by_one(q, k, v):
    return _online(q, k, v, 1)


def online_in_blocks_of_2(q, k, v, causal=False):
    return _online(q, k, v, 2, causal)


def online_in_blocks_of_3(q, k, v, causal=False, mask=None):
    return _online(q, k, v, 3, causal, mask)


def online_in_blocks(q, k, v, *, mask=None, causal=False, block_size=16):
    return _online(q, k, v, block_size, causal, mask)


def online_in_blocks_of_128(Q, K, V):
    return _online(Q, K, V, 128)


def tiles(q, k, v, causal=False):
    """Tiles of 4 queries and 3 keys; tiles behind the diagonal are not looked at."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    Tq, Tk = q.shape[-2], k.shape[-2]
    for first in range(0, Tq, 4):
        rows = slice(first, min(first + 4, Tq))
        last = Tk if not causal else max(0, min(Tk, rows.stop + Tk - Tq))
        m = np.full((*q.shape[:-2], rows.stop - first, 1), -1e30, q.dtype)
        total, acc = np.zeros_like(m), 0.0
        for at in range(0, last, 3):
            columns = slice(at, min(at + 3, last))
            s = q[..., rows, :] @ k[..., columns, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
            if causal:
                i = np.arange(first, rows.stop)[:, None] + Tk - Tq
                s = np.where(np.arange(at, columns.stop) <= i, s, -np.inf)
            new = np.maximum(m, s.max(-1, keepdims=True))
            p = np.exp(s - new)
            acc = acc * np.exp(m - new) + p @ v[..., columns, :]
            total = total * np.exp(m - new) + p.sum(-1, keepdims=True)
            m = new
        out[..., rows, :] = acc / np.where(total == 0, 1, total)
    return out


def divided_in_every_block(q, k, v):
    """The first FlashAttention: the output is kept divided, and multiplied back in every block."""
    m = np.full((*q.shape[:-1], 1), -np.inf, q.dtype)
    total, out = np.zeros_like(m), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for at in range(0, k.shape[-2], 2):
        s = q @ k[..., at : at + 2, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        m_block = s.max(-1, keepdims=True)
        p = np.exp(s - m_block)
        m_new = np.maximum(m, m_block)
        total_new = np.exp(m - m_new) * total + np.exp(m_block - m_new) * p.sum(-1, keepdims=True)
        out = (
            total * np.exp(m - m_new) * out + np.exp(m_block - m_new) * (p @ v[..., at : at + 2, :])
        ) / total_new
        m, total = m_new, total_new
    return out


def split_over_the_keys(q, k, v, num_splits=3, return_lse=False):
    """Each part by itself, then merged by logsumexp."""
    outs, lses = [], []
    for k_part, v_part in zip(np.array_split(k, num_splits, axis=-2), np.array_split(v, num_splits, axis=-2)):
        if k_part.shape[-2]:
            s = q @ k_part.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
            lses.append(np.logaddexp.reduce(s, axis=-1))
            outs.append(np.exp(s - lses[-1][..., None]) @ v_part)
    lse = np.logaddexp.reduce(lses, axis=0)
    out = sum(np.exp(one - lse)[..., None] * part for one, part in zip(lses, outs))
    return (out, lse) if return_lse else out


def queries_in_chunks(q, k, v):
    return np.concatenate(
        [batched(part, k, v) for part in np.array_split(q, 3, axis=-2) if part.shape[-2]], axis=-2
    )


# --- more than one thing comes back ---------------------------------------------------------------

Attention = namedtuple("Attention", "context lse")


def output_and_weights(q, k, v, need_weights=True):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return (w @ v, w) if need_weights else w @ v


def weights_first(q, k, v):
    out, w = output_and_weights(q, k, v)
    return w, out


def in_a_dict(q, k, v):
    out, w = output_and_weights(q, k, v)
    return {"output": out, "weights": w}


def in_a_named_tuple(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    lse = np.logaddexp.reduce(s, axis=-1)
    return Attention(np.exp(s - lse[..., None]) @ v, lse)


# --- heads, biases, windows, sinks ----------------------------------------------------------------


def grouped_by_repeating(q, k, v):
    groups = q.shape[1] // k.shape[1]
    return batched(q, np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1))


def grouped_without_repeating(q, k, v):
    B, H, Tq, D = q.shape
    q = q.reshape(B, k.shape[1], -1, Tq, D)
    s = np.einsum("bgrtd,bgsd->bgrts", q, k) / math.sqrt(D)
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return np.einsum("bgrts,bgsd->bgrtd", w, v).reshape(B, H, Tq, -1)


def softcapped(q, k, v, logits_soft_cap=0.0):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if logits_soft_cap > 0:
        s = logits_soft_cap * np.tanh(s / logits_soft_cap)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


def alibi(q, k, v, alibi_slopes=None, causal=False):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    i = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
    j = np.arange(k.shape[-2])
    if alibi_slopes is not None:
        s = s - np.asarray(alibi_slopes)[:, None, None] * np.abs(i - j)
    if causal:
        s = np.where(j <= i, s, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


def window_in_two_numbers(q, k, v, window_size=(-1, -1)):
    """(left, right), −1 for no bound, as in FlashAttention; an empty row gives zeros."""
    left, right = window_size
    i = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
    j = np.arange(k.shape[-2])
    keep = ((left < 0) | (j >= i - left)) & ((right < 0) | (j <= i + right))
    s = np.where(keep, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    top = s.max(-1, keepdims=True)
    w = np.exp(s - np.where(np.isneginf(top), 0, top))
    total = w.sum(-1, keepdims=True)
    return w / np.where(total == 0, 1, total) @ v


def window_in_keys(q, k, v, sliding_window=None):
    """Causal, and at most this many keys, the query's own among them."""
    i = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
    j = np.arange(k.shape[-2])
    keep = (j <= i) & ((sliding_window is None) | (i - j < (sliding_window or 0)))
    s = np.where(keep, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


def sink_as_one_more_column(q, k, v, sinks=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if sinks is not None:
        column = np.broadcast_to(np.asarray(sinks)[:, None, None], (*s.shape[:-1], 1))
        s = np.concatenate([s, column], axis=-1)
    w = np.exp(s - s.max(-1, keepdims=True))
    return (w / w.sum(-1, keepdims=True))[..., : k.shape[-2]] @ v


def decoding_from_a_cache(q, k_cache, v_cache, cache_seqlens):
    """One new query per sample, (B, T, H, D) caches that are longer than what is in them."""
    s = np.einsum("bthd,bshd->bhts", q, k_cache) * q.shape[-1] ** -0.5
    filled = np.arange(k_cache.shape[1]) < np.asarray(cache_seqlens)[:, None]
    s = np.where(filled[:, None, None, :], s, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bhts,bshd->bthd", w / w.sum(-1, keepdims=True), v_cache)


def everything(
    query, key, value, *, mask=None, causal=False, offset=None, window=None, lengths=None, scale=None, softcap=None,
    alibi=None, sink=None, return_weights=False, return_logsumexp=False,
):  # fmt: skip
    """Every option at once, in the conventions of docs/conventions.md."""
    H, Tq, D = query.shape[-3:]
    Tk = key.shape[-2]
    key, value = (np.repeat(x, H // x.shape[-3], axis=-3) for x in (key, value))
    valid = np.asarray(Tk if lengths is None else lengths)[..., None, None, None]
    first = valid - Tq if offset is None else np.asarray(offset)[..., None, None, None]
    i, j = np.arange(Tq)[:, None] + first, np.arange(Tk)
    s = query @ key.swapaxes(-1, -2) * (D**-0.5 if scale is None else scale)
    if softcap is not None:
        s = softcap * np.tanh(s / softcap)
    if alibi is not None:
        s = s - np.asarray(alibi).reshape(-1, 1, 1) * np.abs(i - j)
    keep = j < valid
    if mask is not None and mask.dtype != bool:
        s = s + mask
    elif mask is not None:
        keep = keep & mask
    if causal:
        keep = keep & (j <= i)
    left, right = (None, None) if window is None else window
    keep = keep & (True if left is None else j >= i - left) & (True if right is None else j <= i + right)
    s = np.where(keep, s, -np.inf).astype(query.dtype)
    if sink is not None:
        column = np.asarray(sink).reshape(-1, 1, 1)
        s = np.concatenate([s, np.broadcast_to(column, (*s.shape[:-1], 1))], axis=-1).astype(query.dtype)
    top = s.max(-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    weights = e[..., :Tk] / np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):  # an empty row: −∞ is meant
        lse = (top + np.log(total))[..., 0]
    extra = [x for x, wanted in ((weights, return_weights), (lse, return_logsumexp)) if wanted]
    return (weights @ value, *extra) if extra else weights @ value


# --- narrow arithmetic ----------------------------------------------------------------------------


def softmax_in_float32(q, k, v):
    """Half precision in and out, float32 between."""
    s = q.astype(np.float32) @ k.astype(np.float32).swapaxes(-1, -2) / np.sqrt(q.shape[-1], dtype=np.float32)
    w = np.exp(s - s.max(-1, keepdims=True))
    w = (w / w.sum(-1, keepdims=True)).astype(q.dtype)
    return (w.astype(np.float32) @ v.astype(np.float32)).astype(q.dtype)


# --- other ways to be called ----------------------------------------------------------------------


def by_keyword_only(**kwargs):
    mask = kwargs.get("mask")
    return batched(kwargs["query"], kwargs["key"], kwargs["value"], mask=mask)


def with_anything_else(q, k, v, *args, **kwargs):
    return batched(q, k, v)


def values_keys_query(values, keys, query, mask):
    """The order of a well-known video course."""
    return batched(query, keys, values, None if mask is None else mask == 1)


def key_before_query(key, query, value):
    return batched(query, key, value)


def writes_into_out(q, k, v, out):
    """A kernel's wrapper: nothing comes back, `out` is filled."""
    out[...] = batched(q, k, v)


class Head:
    """A callable object with its scale inside."""

    def __init__(self, head_dim=None):
        self.head_dim = head_dim

    def __call__(self, q, k, v):
        return batched(q, k, v, scale=None if self.head_dim is None else self.head_dim**-0.5)


one_head = Head()

# --- only some inputs -----------------------------------------------------------------------------


def _need(fine, message):
    if not fine:
        raise ValueError(message)


def only_widths_of_8(q, k, v):
    _need(
        q.shape[-1] % 8 == 0 and v.shape[-1] % 8 == 0, f"head_dim must be a multiple of 8, got {q.shape[-1]}"
    )
    return batched(q, k, v)


def only_32_or_64(q, k, v, causal=False):
    assert q.shape[-1] in (32, 64) and q.shape[-1] == v.shape[-1], f"unsupported head size {q.shape[-1]}"
    return causal_in_the_corner_of_torch(q, k, v, causal)


def only_as_many_queries_as_keys(q, k, v, causal=False):
    if q.shape != k.shape or k.shape != v.shape:
        raise ValueError("q, k and v must have the same shape")
    return causal_in_the_corner_of_torch(q, k, v, causal)


def only_half_precision(q, k, v):
    if q.dtype.name not in ("float16", "bfloat16"):
        raise TypeError("flash attention only supports fp16 and bf16 data type")
    return softmax_in_float32(q, k, v)


def only_contiguous(q, k, v):
    for x in (q, k, v):
        if not x.flags["C_CONTIGUOUS"]:
            raise RuntimeError("input tensor must be contiguous")
    return batched(q, k, v)


def only_up_to_128(q, k, v):
    if max(q.shape[-2], k.shape[-2]) > 128:
        raise NotImplementedError("sequence length > 128")
    return batched(q, k, v)


def only_one_head(q, k, v):
    if q.shape[1] != 1:
        raise ValueError(f"expected 1 head, got {q.shape[1]}")
    return batched(q, k, v)


def only_powers_of_two(q, k, v):
    for n in (q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]):
        if n & (n - 1):
            raise ValueError(f"arange's range must be a power of 2, not {n}")
    return batched(q, k, v)


def only_float32(q, k, v):
    if q.dtype != np.float32:
        raise TypeError(f"expected float32, got {q.dtype}")
    return batched(q, k, v)


def only_one_sample(q, k, v):
    (one,) = q.shape[:1]
    if one != 1:
        raise ValueError("batch size must be 1")
    return batched(q, k, v)


def only_blocks_of_16(q, k, v):
    """The kernel has no tail: both lengths are whole blocks."""
    if q.shape[-2] % 16 or k.shape[-2] % 16:
        raise ValueError("seqlen must be divisible by 16")
    return _online(q, k, v, 16)


def mask_or_causal_but_not_both(q, k, v, mask=None, is_causal=False):
    if mask is not None and is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    return smallest_number_for_minus_infinity(q, k, v, mask, is_causal)


VASWANI = "Vaswani et al. 2017, equation 1"
FLASH = "Dao 2023 (FlashAttention-2), section 3.1"
SAME = "a softmax of a row does not change when a number is added to all of it"
KERNEL = "kernels of this kind, imitated"

# function, layout, takes, can, source, more
RIGHT = (
    (textbook, "TD", "Q K V", "", VASWANI),
    (in_loops, "TD", "queries keys values", "", VASWANI, {"dtypes": "float64"}),
    (batched, "BHTD HTD TD", "query key value mask scale", "mask-bool scale", VASWANI),
    (tokens_before_heads, "BTHD", "q k v causal", "causal", "jax's layout", {"causal": "upper_left"}),
    (packed_heads, "BTE", "query key value heads=num_heads mask", "mask-bool", "Vaswani et al. 2017, section 3.2.2"),
    (heads_in_a_list, "TE", "X_q X_k X_v heads=n_heads", "", "Vaswani et al. 2017, section 3.2.2"),
    (column_major, "BHTD HTD TD", "Q K V", "", "a column-major library, as in BLAS"),
    (
        ones_minus_mask, "BHTD HTD TD", "q k v mask", "mask-bool weights",
        "amanchadha/coursera-deep-learning-specialization#45, as it was mended",
        {"mask": "attend01", "returns": "output weights", "needs": ("mask",)},
    ),
    (
        ones_are_dropped, "BHTD HTD TD", "q k v mask", "mask-bool", "the transformer tutorial of TensorFlow",
        {"mask": "drop01"},
    ),
    (additive_mask, "BHTD HTD TD", "q k v mask=attn_bias scale", "mask-float scale", VASWANI),
    (
        either_mask, "BHTD HTD TD", "query key value mask causal=is_causal scale",
        "mask-bool mask-float causal scale", "docs/conventions.md",
    ),
    (
        smallest_number_for_minus_infinity, "BHTD HTD TD", "q k v mask causal", "mask-bool causal",
        "patrick-kidger/equinox#274: an empty row becomes uniform",
    ),
    (masked_after_the_softmax, "BHTD HTD TD", "q k v mask", "mask-bool", "the divisor cancels"),
    (exponentials_times_mask, "BHTD HTD TD", "q k v mask", "mask-bool", "e^(−∞) = 0"),
    (masked_array, "TD", "q k v mask=keep", "mask-bool", "numpy.ma"),
    (valid_lens, "BTD", "queries keys values lengths=valid_lens", "lengths", "Zhang et al., Dive into Deep Learning, section 11.3"),
    (always_causal, "BHTD HTD TD", "q k v", "", "Radford et al. 2019 (GPT-2)", {"always": {"causal": True}, "causal": "upper_left"}),
    (
        causal_in_the_corner_of_torch, "BHTD HTD TD", "q k v causal=is_causal", "causal",
        "torch.nn.functional.scaled_dot_product_attention", {"causal": "upper_left"},
    ),
    (
        offset_of_the_first_query, "BHTD HTD TD", "q k v causal offset=start_pos", "causal offset",
        "start_pos of meta-llama/llama", {"causal": "upper_left"},
    ),
    (scale_folded_into_the_query, "BHTD HTD TD", "q k v", "", "(Q/√d)Kᵀ = QKᵀ/√d"),
    (fourth_root_on_both_sides, "BTD", "q k v", "", "openai/improved-diffusion#54"),
    (keys_centred, "BHTD HTD TD", "q k v", "", SAME),
    (values_centred, "BHTD HTD TD", "q k v", "", "the weights of a row sum to 1"),
    (powers_of_two, "BHTD HTD TD", "q k v scale=sm_scale", "scale", "triton-lang/triton#2700"),
    (in_logarithms, "BHTD HTD TD", "q k v", "", "e^(s − lse)"),
    (through_the_output_matrix, "BTE TE", "query key value heads", "", "[z₁ … z_H] W_O = Σ z_h W_O,h"),
    (in_three_passes, "BHTD HTD TD", "q k v", "", VASWANI),
    (in_place_on_copies, "BHTD HTD TD", "q k v", "", VASWANI),
    (online_one_by_one, "BHTD HTD TD", "q k v", "", "Milakov and Gimelshein 2018"),
    (online_in_blocks_of_2, "BHTD HTD TD", "q k v causal", "causal", FLASH),
    (online_in_blocks_of_3, "BHTD HTD TD", "q k v causal mask", "causal mask-bool", FLASH),
    (online_in_blocks, "BHTD HTD TD", "q k v mask causal", "causal mask-bool", FLASH),
    (online_in_blocks_of_128, "BHTD HTD TD", "Q K V", "", FLASH),
    (tiles, "BHTD HTD TD", "q k v causal", "causal", FLASH),
    (divided_in_every_block, "BHTD HTD TD", "q k v", "", "Dao et al. 2022 (FlashAttention), algorithm 1"),
    (
        split_over_the_keys, "BHTD HTD TD", "q k v return_logsumexp=return_lse", "logsumexp",
        "Dao et al. 2023 (Flash-Decoding)", {"returns": "output logsumexp"},
    ),
    (queries_in_chunks, "BHTD HTD TD", "q k v", "", "Rabe and Staats 2021"),
    (
        output_and_weights, "BHTD HTD TD", "q k v return_weights=need_weights", "weights",
        "torch.nn.MultiheadAttention", {"returns": "output weights"},
    ),
    (weights_first, "BHTD HTD TD", "q k v", "weights", "course folklore: (attn, context)", {"returns": "weights output"}),
    (in_a_dict, "BHTD HTD TD", "q k v", "weights", "the ModelOutput of many a library", {"returns": "output weights"}),
    (in_a_named_tuple, "BHTD HTD TD", "q k v", "logsumexp", "collections.namedtuple", {"returns": "output logsumexp"}),
    (grouped_by_repeating, "BHTD", "q k v", "grouped-heads", "Ainslie et al. 2023, section 2.2"),
    (grouped_without_repeating, "BHTD", "q k v", "grouped-heads", "Ainslie et al. 2023, section 2.2"),
    (softcapped, "BHTD HTD TD", "q k v softcap=logits_soft_cap", "softcap", "Gemma Team 2024, Gemma 2, section 2"),
    (alibi, "BHTD", "q k v alibi=alibi_slopes causal", "alibi causal", "Press et al. 2022, section 3"),
    (
        window_in_two_numbers, "BHTD HTD TD", "q k v window=window_size", "window", "flash_attn_func",
        {"window": "pair-1"},
    ),
    (
        window_in_keys, "BHTD HTD TD", "q k v window=sliding_window", "window", "Jiang et al. 2023 (Mistral 7B), section 2",
        {"window": "count", "always": {"causal": True}},
    ),
    (sink_as_one_more_column, "BHTD", "q k v sink=sinks", "sink", "Miller 2023; the gpt-oss models"),
    (
        decoding_from_a_cache, "BTHD", "q k_cache v_cache lengths=cache_seqlens", "lengths", "flash_attn_with_kvcache",
        {"needs": ("lengths",), "only": "Tq == 1"},
    ),
    (
        everything, "BHTD",
        "query key value mask causal offset window lengths scale softcap alibi sink return_weights return_logsumexp",
        "mask-bool mask-float causal offset window lengths scale softcap alibi sink weights logsumexp grouped-heads",
        "docs/conventions.md", {"returns": "output weights logsumexp"},
    ),
    (
        softmax_in_float32, "BHTD HTD TD", "q k v", "", "huggingface/transformers#17437",
        {"dtypes": "float32 float16 bfloat16"},
    ),
    (by_keyword_only, "BHTD HTD TD", "query key value mask", "mask-bool", "**kwargs"),
    (with_anything_else, "BHTD HTD TD", "q k v", "", "*args, **kwargs that nobody reads"),
    (
        values_keys_query, "BHTD HTD TD", "query keys values mask", "mask-bool",
        "aladdinpersson/Machine-Learning-Collection, the order of its arguments", {"mask": "attend01", "needs": ("mask",)},
    ),
    (key_before_query, "BHTD HTD TD", "query key value", "", "course folklore: key first"),
    (writes_into_out, "BHTD HTD TD", "q k v out", "", KERNEL, {"needs": ("out",)}),
    (one_head, "BHTD HTD TD", "q k v", "", "an object with __call__"),
    (only_widths_of_8, "BHTD HTD TD", "q k v", "", KERNEL, {"only": "D % 8 == 0 and Dv % 8 == 0"}),
    (
        only_32_or_64, "BHTD HTD TD", "q k v causal", "causal", KERNEL,
        {"only": "D in (32, 64) and D == Dv", "causal": "upper_left"},
    ),
    (
        only_as_many_queries_as_keys, "BHTD HTD TD", "q k v causal", "causal", KERNEL,
        {"only": "Tq == Tk and D == Dv and H == Hkv", "causal": "square"},
    ),
    (only_half_precision, "BHTD HTD TD", "q k v", "", "Dao-AILab/flash-attention#118", {"dtypes": "float16 bfloat16"}),
    (only_contiguous, "BHTD HTD TD", "q k v", "", KERNEL),
    (only_up_to_128, "BHTD HTD TD", "q k v", "", KERNEL, {"only": "Tq <= 128 and Tk <= 128"}),
    (only_one_head, "BHTD", "q k v", "", KERNEL, {"only": "H == 1"}),
    (
        only_powers_of_two, "BHTD HTD TD", "q k v", "", "triton.language.arange",
        {"only": "all(n & (n - 1) == 0 for n in (Tq, Tk, D, Dv))"},
    ),
    (only_float32, "BHTD HTD TD", "q k v", "", KERNEL, {"dtypes": "float32"}),
    (only_one_sample, "BHTD", "q k v", "", KERNEL, {"only": "B == 1"}),
    (only_blocks_of_16, "BHTD HTD TD", "q k v", "", KERNEL, {"only": "Tq % 16 == 0 and Tk % 16 == 0"}),
    (
        mask_or_causal_but_not_both, "BHTD HTD TD", "q k v mask causal=is_causal", "mask-bool causal",
        "torch.nn.functional.scaled_dot_product_attention",
    ),
)  # fmt: skip
