"""What the numbers of attention say: spread of scores, saturation, entropy, gradients, cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from ..arrays import Array
from ..errors import OptionError, ShapeError

# --- how far scores spread ------------------------------------------------------------------------


def score_variance(
    head_dim: int, *, query_variance: float = 1.0, key_variance: float = 1.0, scale: float = 1.0
) -> float:
    """The variance of a score: scale² · d_k · σ_q² · σ_k².

    Components are independent with mean 0: each product of two has mean 0 and variance σ_q²·σ_k², and a score
    adds d_k of them.

    head_dim        d_k, at least 1
    query_variance  σ_q² of one component of a query; key_variance: σ_k² of one of a key
    scale           what scores are multiplied by: 1/√d_k brings the variance of a score back to σ_q²·σ_k²

    Special cases: scale = 1 is the raw score, with variance d_k for components of variance 1.
    Raises OptionError where head_dim < 1 or a variance is negative.
    Source: Vaswani et al. 2017, footnote 4.

    >>> score_variance(64), score_variance(64, scale=1 / 8), score_variance(64, scale=1 / 64)
    (64.0, 1.0, 0.015625)
    """
    if head_dim < 1 or query_variance < 0 or key_variance < 0:
        raise OptionError(
            f"head_dim = {head_dim}, query_variance = {query_variance}, key_variance = {key_variance}; "
            f"d_k is at least 1 and a variance is not negative."
        )
    return float(scale * scale * head_dim * query_variance * key_variance)


def simulate_score_variance(
    head_dim: int, *, draws: int = 10_000, scale: float = 1.0, seed: int = 0
) -> float:
    """The variance of that many drawn scores q·k, with independent standard normal components.

    head_dim  d_k; draws: how many pairs of a query and a key; scale: what each score is multiplied by
    seed      of the random numbers: the same seed gives the same result

    Special cases: by chance it is off from `score_variance` by about √(2·(1 + 3/d_k)/draws) of it.
    Raises OptionError where head_dim < 1 or draws < 2.
    """
    if head_dim < 1 or draws < 2:
        raise OptionError(f"head_dim = {head_dim} and draws = {draws}; at least 1 and 2 were expected.")
    rng = np.random.default_rng(seed)
    query, key = rng.standard_normal((2, draws, head_dim))
    return float(np.var(scale * np.sum(query * key, axis=-1)))


# --- how sharp the rows are -----------------------------------------------------------------------


def largest_weight(weights: Array) -> Array:
    """The largest weight of each row: 1/n where a row spreads evenly, near 1 where it is saturated.

    weights  (…, Tq, Tk), rows that sum to 1
    Returns (…, Tq).
    Special cases: 0 for a row that may see nothing.
    Raises nothing.
    """
    return np.asarray(np.max(weights, axis=-1, initial=0))


def saturation(weights: Array) -> Array:
    """The slope that is left in each row: σ(1 − σ) of its largest weight σ.

    σ(1 − σ) = ∂w/∂s is what a change of a score does to its own weight. It is at most 1/4, at σ = 1/2; near 0
    the row is saturated: the gradient that reaches the scores is as good as gone.

    weights  (…, Tq, Tk), rows that sum to 1
    Returns (…, Tq).
    Special cases: 0 for a row that may see nothing, and for one that sees a single key.
    Raises nothing.

    >>> saturation(np.array([0.5, 0.5])), saturation(np.array([1.0, 0.0]))
    (array(0.25), array(0.))
    """
    top = largest_weight(weights)
    return np.asarray(top * (1 - top))


def entropy(weights: Array, *, normalised: bool = False) -> Array:
    """The entropy of each row, −Σ_j w_ij ln w_ij, in nats; 0 ln 0 counts as 0.

    weights     (…, Tq, Tk), rows that sum to 1
    normalised  as a fraction of ln n, the entropy of n equal weights (n = Tk)
    Returns (…, Tq): 0 where one key has everything, ln n (or 1) where all have the same.
    Special cases: 0 for a row that may see nothing; normalised with n = 1 gives 0.
    Raises nothing.
    Source: Shannon 1948, section 6.

    >>> float(entropy(np.array([0.25, 0.25, 0.25, 0.25]), normalised=True))
    1.0
    """
    logs = np.log(np.where(weights > 0, weights, 1))
    nats = np.asarray(np.sum(-weights * logs, axis=-1)) + 0.0  # + 0.0: −0 is 0
    return nats / np.log(max(weights.shape[-1], 2)) if normalised else nats


# --- the backward pass ----------------------------------------------------------------------------


def softmax_jacobian(weights: Array) -> Array:
    """How each weight of a row answers to each score: J = diag(p) − p pᵀ.

    J_jk = ∂p_j/∂s_k = p_j (1 − p_j) for j = k, and −p_j p_k otherwise. Each row and each column sums to 0,
    since the weights keep their sum.

    weights  (…, Tk): p, rows that sum to 1
    Returns (…, Tk, Tk).
    Special cases: a row of zeros gives zeros.
    Raises nothing.
    Source: Martins and Astudillo 2016, section 2.5.

    >>> softmax_jacobian(np.array([0.5, 0.5])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return np.asarray(weights[..., :, None] * (np.eye(weights.shape[-1]) - weights[..., None, :]))


@dataclass(frozen=True, eq=False)
class RowGradient:
    """What one row of attention, z = Σ_j p_j v_j with p = softmax(scale · q Kᵀ), sends back.

    Fields
    weights  dL/dp = V dz, shape (Tk,)
    scaled   dL/ds = J dL/dp = p ⊙ (dL/dp − p·dL/dp), shape (Tk,): it sums to 0
    scores   scale · dL/ds, shape (Tk,)
    query    dL/dq = scale · Kᵀ dL/ds, shape (D,)
    key      dL/dK = scale · dL/ds qᵀ, shape (Tk, D)
    value    dL/dV = p dzᵀ, shape (Tk, Dv)
    """

    weights: Array
    scaled: Array
    scores: Array
    query: Array
    key: Array
    value: Array

    def to_dict(self) -> dict[str, Array]:
        """Every field, as an array."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def row_gradient(
    query: Array,
    key: Array,
    value: Array,
    weights: Array,
    output_gradient: Array,
    *,
    scale: float | None = None,
) -> RowGradient:
    """The backward pass of one row: from dL/dz to the gradients of weights, scores, query, key and value.

    query            (D,), one query; key (Tk, D); value (Tk, Dv)
    weights          (Tk,), the row's own, from the forward pass; masked keys have weight 0
    output_gradient  (Dv,), dL/dz
    scale            what the scores were multiplied by; None means 1/√D

    Special cases: a row that may see nothing sends back zeros; so does a masked key.
    Raises ShapeError where the shapes do not fit together.
    Source: Dao et al. 2022 (FlashAttention), appendix B.2.
    """
    shapes = [array.shape for array in (query, key, value, weights, output_gradient)]
    if key.ndim != 2 or value.ndim != 2 or shapes != [
        key.shape[1:], key.shape, (len(key), value.shape[1]), key.shape[:1], value.shape[1:],
    ]:  # fmt: skip
        raise ShapeError(
            f"query, key, value, weights and output_gradient have shapes {', '.join(map(str, shapes))}; "
            f"(D,), (Tk, D), (Tk, Dv), (Tk,) and (Dv,) were expected."
        )
    factor = 1 / np.sqrt(len(query)) if scale is None else scale
    to_weights = value @ output_gradient
    to_scaled = weights * (to_weights - weights @ to_weights)
    to_scores = factor * to_scaled
    return RowGradient(
        weights=to_weights,
        scaled=to_scaled,
        scores=to_scores,
        query=to_scores @ key,
        key=np.outer(to_scores, query),
        value=np.outer(weights, output_gradient),
    )


# --- cost -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What attention costs for one batch of heads.

    Fields
    entries        of the score matrices: B·H·Tq·Tk
    multiply_adds  of the two products QKᵀ and PV: entries · (D + Dv)
    exponentials   one for each entry
    input_bytes    of query, key and value; output_bytes: of the output
    kept_bytes     the most held at once: input, output, and the score matrix where it is kept
    moved_bytes    to and from memory at least: input read once, output written once; where the score
                   matrix is kept, it is written and read twice: as scores and as weights
    """

    entries: int
    multiply_adds: int
    exponentials: int
    input_bytes: int
    output_bytes: int
    kept_bytes: int
    moved_bytes: int

    def to_dict(self) -> dict[str, int]:
        """Every field, as a whole number."""
        return asdict(self)


def cost(
    Tq: int,
    Tk: int,
    D: int,
    *,
    Dv: int | None = None,
    H: int = 1,
    Hkv: int | None = None,
    B: int = 1,
    itemsize: int = 4,
    keep_scores: bool = True,
) -> Cost:
    """Entries, multiply-adds and bytes of attention as a function of its sizes.

    Tq Tk D      queries, keys, head dimension; Dv: value width, None means D
    H Hkv B      query heads, key/value heads (None means H), batch
    itemsize     bytes of one number: 4 for float32
    keep_scores  whether the score matrix lies in memory (the textbook), or is made and used up block by block

    Special cases: a causal mask halves the work at best; it is not taken off here.
    Raises OptionError where a size is negative, or D, H or itemsize is 0.
    Source: Dao et al. 2022 (FlashAttention), section 3.2; moved bytes without the score matrix are its lower
    bound, for fast memory that holds all keys.

    >>> cost(1000, 1000, 64).entries, cost(2000, 2000, 64).entries
    (1000000, 4000000)
    """
    Dv, Hkv = D if Dv is None else Dv, H if Hkv is None else Hkv
    if min(Tq, Tk, Dv, Hkv, B) < 0 or min(D, H, itemsize) < 1:
        raise OptionError("sizes are whole numbers from 0, and D, H and itemsize from 1.")
    entries = B * H * Tq * Tk
    read = B * (H * Tq * D + Hkv * Tk * (D + Dv)) * itemsize
    written = B * H * Tq * Dv * itemsize
    scores = entries * itemsize if keep_scores else 0
    return Cost(
        entries=entries,
        multiply_adds=entries * (D + Dv),
        exponentials=entries,
        input_bytes=read,
        output_bytes=written,
        kept_bytes=read + written + scores,
        moved_bytes=read + written + 4 * scores,
    )
