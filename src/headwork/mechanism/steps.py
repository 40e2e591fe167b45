"""The pipeline: softmax(Q Kᵀ / √d_k + mask) V, one function per step, in the order in which they run.

Read STEPS from top to bottom: it is the mechanism. A step reads fields and writes fields; a step that
the problem does not ask for hands its first field on unchanged, so that `masked` is there (and equal
to `scaled`) when nothing is masked. A step that reads nothing always runs: it is cheap. Arrays are
(…, H, T, width); row quantities end in an axis of 1; extra leading axes pass through every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import Problem
from . import heads, merging, softmax
from .masks import allowed_keys, is_biased, is_masked, total_bias
from .positions import query_positions, rotate

Arrays = tuple[Array, ...]


@dataclass(frozen=True)
class Step:
    """One step of the pipeline.

    name     kebab-case; title: a verb phrase that a learner reads; formula: LaTeX
    reads    fields it needs; writes: fields it gives, in the order that `run` returns them
    run      (problem, *fields read) -> arrays for the fields written
    asked    whether this problem has such a step
    passes   where it is not asked for, the first field read is handed on under the name written
    """

    name: str
    title: str
    formula: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    run: Callable[..., Arrays]
    asked: Callable[[Problem], bool] = lambda problem: True
    passes: bool = True


def project(problem: Problem, x: Array, x_key: Array) -> Arrays:
    """Q = x W_Q + b_Q, and K, V alike from x_key."""
    made = [_affine(problem, x, "query"), _affine(problem, x_key, "key")]
    return (*made, _affine(problem, x_key, "value")) if problem.w_value is not None else tuple(made)


def _affine(problem: Problem, x: Array, name: str) -> Array:
    weight, bias = getattr(problem, f"w_{name}"), getattr(problem, f"b_{name}")
    product = wide(problem, x) @ wide(problem, weight)
    return (product if bias is None else product + wide(problem, bias)).astype(problem.dtype, copy=False)


def wide(problem: Problem, x: Array) -> Array:
    """x in the dtype that scores and softmax are computed in: at least float32."""
    return x.astype(problem.work_dtype, copy=False)


def split_query(problem: Problem, query: Array) -> Arrays:
    """(…, Tq, H·D) to (…, H, Tq, D)."""
    return (heads.split(query, problem.H),)


def split_key(problem: Problem, key: Array) -> Arrays:
    """(…, Tk, Hkv·D) to (…, Hkv, Tk, D)."""
    return (heads.split(key, problem.Hkv),)


def repeat(problem: Problem, x: Array) -> Arrays:
    """Every query head its own copy of the key/value head it uses."""
    return (heads.repeat(x, problem.H),)


def rotate_query(problem: Problem, query: Array) -> Arrays:
    """Query i turned by its position p_i."""
    assert problem.rope is not None
    return (rotate(wide(problem, query), query_positions(problem), problem.rope),)


def rotate_key(problem: Problem, key: Array) -> Arrays:
    """Key j turned by j."""
    assert problem.rope is not None
    return (rotate(wide(problem, key), np.arange(problem.Tk)[:, None], problem.rope),)


def score(problem: Problem, query: Array, key: Array) -> Arrays:
    """s_ij = q_i · k_j."""
    return (wide(problem, query) @ wide(problem, key).swapaxes(-1, -2),)


def scale(problem: Problem, scores: Array) -> Arrays:
    """Divided by √d_k, or multiplied by the scale that the problem names."""
    if problem.scale is None:
        return (scores / root(problem, scores),)
    return (scores * scores.dtype.type(problem.scale),)


def root(problem: Problem, scores: Array) -> Any:
    """√d_k in the dtype of the scores."""
    return np.sqrt(scores.dtype.type(problem.D or 1))


def softcap(problem: Problem, scaled: Array) -> Arrays:
    """c·tanh(s/c)."""
    c = scaled.dtype.type(problem.softcap)
    return (c * np.tanh(scaled / c),)


def bias(problem: Problem) -> Arrays:
    """What ALiBi and the float masks add."""
    return (total_bias(problem),)


def add_bias(problem: Problem, capped: Array, total: Array) -> Arrays:
    """s_ij + b_ij."""
    return (capped + total,)


def allow(problem: Problem) -> Arrays:
    """Which keys each query may see."""
    return (allowed_keys(problem),)


def mask(problem: Problem, biased: Array, allowed: Array) -> Arrays:
    """−∞ where the query may not see the key: replaced, not added, so that NaN stays masked too."""
    return (np.where(allowed, biased, biased.dtype.type(-np.inf)),)


def _sink(problem: Problem, like: Array) -> Array | None:
    return None if problem.sink is None else problem.sink[:, None, None].astype(like.dtype)


def row_max(problem: Problem, masked: Array) -> Arrays:
    """The largest entry of each row, subtracted so that no exponential overflows."""
    return (softmax.row_max(masked, _sink(problem, masked)),)


def exponentials(problem: Problem, masked: Array, top: Array) -> Arrays:
    """e^(s_ij − m_i)."""
    return (softmax.exponentials(masked, top),)


def row_sum(problem: Problem, exps: Array, top: Array) -> Arrays:
    """Σ_j e^(s_ij − m_i), and the sink's term."""
    return (softmax.row_sum(exps, _sink(problem, exps), top),)


def weights(problem: Problem, exps: Array, total: Array) -> Arrays:
    """Each exponential over its row's sum, rounded to the problem's dtype."""
    return (softmax.weights(exps, total).astype(problem.dtype, copy=False),)


def logsumexp(problem: Problem, top: Array, total: Array) -> Arrays:
    """m_i + ln Σ."""
    return (softmax.logsumexp(top, total),)


def attend_parts(problem: Problem, masked: Array, value: Array, allowed: Array) -> Arrays:
    """Attention over each part of the keys on its own."""
    return merging.attend_parts(masked, wide(problem, value), allowed, problem.chunks or ())


def merge_parts(problem: Problem, outputs: Array, logsumexps: Array, whole: Array) -> Arrays:
    """The parts' outputs, weighted by e^(lse_p − lse)."""
    return (merging.merge_parts(outputs, logsumexps, whole).astype(problem.dtype, copy=False),)


def blend(problem: Problem, weight: Array, value: Array, allowed: Array) -> Arrays:
    """z_i = Σ_j w_ij v_j."""
    output = softmax.blend(wide(problem, weight), wide(problem, value), allowed)
    return (output.astype(problem.dtype, copy=False),)


def merge_heads(problem: Problem, blended: Array) -> Arrays:
    """(…, H, Tq, Dv) to (…, Tq, H·Dv)."""
    return (heads.merge(blended),)


def project_output(problem: Problem, merged: Array) -> Arrays:
    """z W_O + b_O."""
    return (_affine(problem, merged, "output"),)


def nothing(problem: Problem, x: Array) -> Arrays:
    """A place where the right pipeline does nothing, and a wrong one may."""
    return (x,)


def never(problem: Problem) -> bool:
    """No problem asks for this step."""
    return False


def _packed(problem: Problem) -> bool:
    return problem.packed


def _grouped(problem: Problem) -> bool:
    return problem.Hkv != problem.H


def _rope(problem: Problem) -> bool:
    return problem.rope is not None


def _in_parts(problem: Problem) -> bool:
    return problem.chunks is not None


def _whole(problem: Problem) -> bool:
    return problem.chunks is None


# fmt: off
STEPS: tuple[Step, ...] = (
    Step("project", "Project the embeddings", r"Q = XW_Q,\; K = XW_K,\; V = XW_V",
         ("x", "x_key"), ("query", "key", "value"), project),
    Step("split-query", "Split the query into heads", r"Q \to Q_1 \ldots Q_H",
         ("query",), ("query_heads",), split_query, _packed),
    Step("split-key", "Split the key into heads", r"K \to K_1 \ldots K_{H_{kv}}",
         ("key",), ("key_heads",), split_key, _packed),
    Step("split-value", "Split the value into heads", r"V \to V_1 \ldots V_{H_{kv}}",
         ("value",), ("value_heads",), split_key, _packed),
    Step("repeat-key", "Share key heads among query heads", r"K_h = K_{\lfloor h H_{kv}/H \rfloor}",
         ("key_heads",), ("key_repeated",), repeat, _grouped),
    Step("repeat-value", "Share value heads among query heads", r"V_h = V_{\lfloor h H_{kv}/H \rfloor}",
         ("value_heads",), ("value_repeated",), repeat, _grouped),
    Step("rotate-query", "Turn each query by its position", r"q_i \to R(p_i)\,q_i",
         ("query_heads",), ("query_rotated",), rotate_query, _rope),
    Step("rotate-key", "Turn each key by its position", r"k_j \to R(j)\,k_j",
         ("key_repeated",), ("key_rotated",), rotate_key, _rope),
    Step("scores", "Score every query against every key", r"S = QK^T",
         ("query_rotated", "key_rotated"), ("scores",), score),
    Step("scale", "Scale the scores", r"S/\sqrt{d_k}",
         ("scores",), ("scaled",), scale),
    Step("softcap", "Cap the scores softly", r"c\tanh(S/c)",
         ("scaled",), ("capped",), softcap, lambda problem: problem.softcap is not None),
    Step("bias", "Work out what is added", r"B_{ij}",
         (), ("bias",), bias, is_biased),
    Step("add-bias", "Add the bias", r"S + B",
         ("capped", "bias"), ("biased",), add_bias, is_biased),
    Step("allow", "Find which keys may be seen", r"j \le p_i,\ \ldots",
         (), ("allowed",), allow, is_masked),
    Step("mask", "Mask what may not be seen", r"S_{ij} = -\infty \text{ where masked}",
         ("biased", "allowed"), ("masked",), mask, is_masked),
    Step("before-softmax", "What is done between mask and softmax", "S",
         ("masked",), ("logits",), nothing, never),
    Step("row-max", "Take the largest entry of each row", r"m_i = \max_j s_{ij}",
         ("logits",), ("row_max",), row_max),
    Step("exponentials", "Exponentiate", r"e^{s_{ij} - m_i}",
         ("logits", "row_max"), ("exponentials",), exponentials),
    Step("row-sum", "Add up each row", r"\ell_i = \sum_j e^{s_{ij} - m_i}",
         ("exponentials", "row_max"), ("row_sum",), row_sum),
    Step("weights", "Divide by the row's sum", r"w_{ij} = e^{s_{ij} - m_i} / \ell_i",
         ("exponentials", "row_sum"), ("weights",), weights),
    Step("empty-rows", "What becomes of a row that may see nothing", "w_i = 0",
         ("weights",), ("settled",), nothing, never),
    Step("after-softmax", "What is done between softmax and blend", "W",
         ("settled",), ("attention",), nothing, never),
    Step("logsumexp", "Keep the logarithm of the sum", r"m_i + \ln \ell_i",
         ("row_max", "row_sum"), ("logsumexp",), logsumexp),
    Step("attend-parts", "Attend to each part of the keys", r"z^{(p)}, \mathrm{lse}^{(p)}",
         ("logits", "value_repeated", "allowed"), ("part_output", "part_logsumexp"), attend_parts, _in_parts,
         passes=False),
    Step("merge-parts", "Merge the parts", r"z = \sum_p e^{\mathrm{lse}^{(p)} - \mathrm{lse}} z^{(p)}",
         ("part_output", "part_logsumexp", "logsumexp"), ("blended",), merge_parts, _in_parts, passes=False),
    Step("blend", "Blend the values", r"z_i = \sum_j w_{ij} v_j",
         ("attention", "value_repeated", "allowed"), ("blended",), blend, _whole, passes=False),
    Step("merge-heads", "Join the heads", r"z = [z_1 \ldots z_H]",
         ("blended",), ("merged",), merge_heads, lambda problem: problem.merges),
    Step("project-output", "Project the output", r"zW_O",
         ("merged",), ("output",), project_output, lambda problem: problem.w_output is not None),
)
# fmt: on
