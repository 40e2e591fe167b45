"""Causal attention with a cache."""

import numpy as np


def attend_with_cache(query, new_key, new_value, past_key, past_value):
    """The outputs of the new tokens, which see the cache and, causally, one another.

    query                  (new, d_k)
    new_key, new_value     (new, d_k), (new, d_v)
    past_key, past_value   (past, d_k), (past, d_v); past may be 0
    returns                (new, d_v)
    """
    key = np.concatenate([past_key, new_key], axis=-2)
    value = np.concatenate([past_value, new_value], axis=-2)
    scaled = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    queries, keys = scaled.shape[-2:]
    may_attend = np.tril(np.ones((queries, keys), dtype=bool), keys - queries)
    masked = np.where(may_attend, scaled, -np.inf)
    exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value
