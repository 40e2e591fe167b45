"""Right implementations in JAX, as people write them. None may ever be accused.

A program of its own: nothing of the project is imported. The table at the end says what each can do.
JAX computes in float32 unless it is told otherwise.
"""

import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames=("scale", "is_causal"))
def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False):
    return jax.nn.dot_product_attention(query, key, value, bias, mask, scale=scale, is_causal=is_causal)


@functools.partial(jax.jit, static_argnames="local_window_size")
def with_lengths_and_window(query, key, value, *, key_value_seq_lengths=None, local_window_size=None):
    return jax.nn.dot_product_attention(
        query, key, value, key_value_seq_lengths=key_value_seq_lengths, local_window_size=local_window_size
    )


@jax.jit
def jitted(q, k, v, mask=None):
    logits = jnp.einsum("...qd,...kd->...qk", q, k) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(logits), v)


def one_head(q, k, v):
    return jax.nn.softmax(q @ k.T * q.shape[-1] ** -0.5, axis=-1) @ v


over_heads_and_batch = jax.vmap(jax.vmap(one_head))
over_heads_and_batch.__name__ = "over_heads_and_batch"


@functools.partial(jax.jit, static_argnames="causal")
def scanned(q, k, v, causal=False):
    """One key at a time, with a running maximum, in lax.scan."""
    Tq, Tk = q.shape[-2], k.shape[-2]
    i = jnp.arange(Tq) + Tk - Tq

    def step(carry, x):
        m, total, acc = carry
        j, key, value = x
        s = jnp.einsum("...td,...d->...t", q, key) * q.shape[-1] ** -0.5
        s = jnp.where((j > i) & causal, -jnp.inf, s)
        new = jnp.maximum(m, s)
        safe = jnp.where(jnp.isneginf(new), 0, new)
        p, alpha = jnp.exp(s - safe), jnp.exp(m - safe)
        return (new, total * alpha + p, acc * alpha[..., None] + p[..., None] * value[..., None, :]), None

    start = (
        jnp.full(q.shape[:-1], -jnp.inf, q.dtype),
        jnp.zeros(q.shape[:-1], q.dtype),
        jnp.zeros((*q.shape[:-1], v.shape[-1]), q.dtype),
    )
    rows = (jnp.arange(Tk), jnp.moveaxis(k, -2, 0), jnp.moveaxis(v, -2, 0))
    (_, total, acc), _ = jax.lax.scan(step, start, rows)
    return acc / jnp.where(total == 0, 1, total)[..., None]


@jax.jit
def grouped(q, k, v):
    """(B, T, H, D) with fewer key heads, by reshaping the queries."""
    B, T, H, D = q.shape
    q = q.reshape(B, T, k.shape[2], -1, D)
    w = jax.nn.softmax(jnp.einsum("btgrd,bsgd->bgrts", q, k) / jnp.sqrt(D), axis=-1)
    return jnp.einsum("bgrts,bsgd->btgrd", w, v).reshape(B, T, H, -1)


JAX = "documentation of jax.nn.dot_product_attention, jax 0.10"

# function, layout, takes, can, source, more
RIGHT = (
    (
        dot_product_attention, "BTHD THD", "query key value mask scale causal=is_causal",
        "mask-bool scale causal grouped-heads gradients", JAX,
        {"causal": "upper_left", "dtypes": "float32", "only": "D == Dv"},
    ),
    (
        with_lengths_and_window, "BTHD", "query key value lengths=key_value_seq_lengths window=local_window_size",
        "lengths window grouped-heads gradients", JAX, {"dtypes": "float32", "only": "D == Dv and Tq == Tk"},
    ),
    (jitted, "BHTD HTD TD", "q k v mask", "mask-bool gradients", "Vaswani et al. 2017, equation 1", {"dtypes": "float32"}),
    (over_heads_and_batch, "BHTD", "q k v", "gradients", "jax.vmap", {"dtypes": "float32"}),
    (scanned, "BHTD HTD TD", "q k v causal", "causal gradients", "Rabe and Staats 2021", {"dtypes": "float32"}),
    (grouped, "BTHD", "q k v", "grouped-heads gradients", "Ainslie et al. 2023, section 2.2", {"dtypes": "float32"}),
)  # fmt: skip
