"""What honest rounding can add: how far a right answer may be from the full-precision one, step by step.

A person who works by hand writes each result with some decimals, or carries it in full, and goes on from
there. For each field this module bounds |what such work gives − the true value|. The bounds hold for
every choice of what is rounded; they are intervals carried through the pipeline, not first order, since
first order is too small where few decimals are asked.

What may be rounded: every field, and the constants 1/√d_k, √d_k, cos and sin. Within one step the work is
carried in full. A result that is a decimal of that many places loses nothing by being written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..mechanism import heads, positions
from ..mechanism.merging import PARTS
from ..mechanism.steps import STEPS
from ..mechanism.tracing import seeds
from ..problem import Problem
from .shifting import SUMS
from .terms import Terms, log_errors, mean_errors, share_errors

Errors = dict[str, Array]

# Units of the last place within which a number counts as a decimal: float64 noise is far below, and
# what is neglected is a ten-millionth of a unit.
NOISE = 1e-7
ROOM = 1 + 1e-6  # on each rounding, for what is_decimal neglects
# Where rounding could take more than this share of a row's sum, the exponentials are all but gone
# (e^−8 is 0.000): nobody goes on from those, so that rounding is not allowed for.
COARSEST = 0.25


def half_unit(digits: int) -> float:
    """Half a unit of the last decimal."""
    return float(0.5 * 10.0**-digits)


def is_decimal(values: Array, digits: int) -> Array:
    """Where a value is a decimal of that many places (negative: a multiple of ten, a hundred, …)."""
    units = np.abs(_finite(values)) * 10.0**digits
    return np.asarray(np.abs(units - np.rint(units)) <= NOISE + 1e-13 * units)


def error_bounds(
    problem: Problem, fields: Mapping[str, Array], digits: int, only: Collection[str] | None = None
) -> Errors:
    """For each field a bound on |honest value − field|, for work rounded to `digits` decimals, or not.

    fields  the values of all fields, canonical shapes, float64
    only    the fields that are wanted; all of them if None

    What the problem gives is exact, but a step that it starts from may be rounded like any other; how far
    somebody's own results may be off comes with them. `exponentials` and `row_sum` are those shifted by the
    row's maximum (see shifting.py); later fields allow for both ways.
    Special cases: −∞, NaN and empty rows are exact.
    """
    known = _start(problem, digits)
    work = _Work(problem, fields, dict(known), digits, frozenset(known))
    wanted = [name for name in fields if name != "allowed"] if only is None else only
    with np.errstate(all="ignore"):  # unshifted exponentials may overflow: then only the shifted way is left
        return {name: _worst(work, name) for name in wanted}


def _worst(work: _Work, name: str) -> Array:
    """The larger bound of the two ways of working, or that of the shifted one."""
    error = work.error(name)
    if error.ndim <= work.fields[name].ndim:
        return error  # the same for both
    shifted, plain = error
    return np.asarray(shifted if name in SUMS else np.maximum(shifted, _finite(plain)))


def _start(problem: Problem, digits: int) -> Errors:
    """The errors of what the problem gives, and of somebody's own results."""
    exact = {name: np.zeros(array.shape) for name, array in seeds(problem).items()}
    given = {
        name: written(array.astype(np.float64), 0.0, digits) for name, array in (problem.given or {}).items()
    }
    own = {
        name: np.broadcast_to(error, values.shape) for name, (values, error) in (problem.known or {}).items()
    }
    return exact | given | own


def written(values: Array, error: Array | float, digits: int) -> Array:
    """The error after writing these values down: the same for a decimal that is known exactly."""
    stays = ((error == 0) & is_decimal(values, digits)) | ~np.isfinite(values)
    return np.where(stays, 0, error + half_unit(digits) * ROOM)


@dataclass(frozen=True)
class _Work:
    """Two ways of working, side by side on a first axis: exponentials shifted by the row's maximum, or not.

    What comes before the exponentials is the same for both and has no such axis.
    """

    problem: Problem
    fields: Mapping[str, Array]
    errors: Errors
    digits: int
    known: frozenset[str]

    def error(self, name: str) -> Array:
        """The error of a field, worked out where it is asked for."""
        if name not in self.errors:
            step = next(s for s in STEPS if name in s.writes and (s.passes or s.asked(self.problem)))
            is_asked = step.asked(self.problem) or not step.reads
            found = GROWTH[step.name](self) if is_asked else (self.error(step.reads[0]),)
            for written, error in zip(step.writes, found, strict=False):
                self.errors.setdefault(written, error)
        return self.errors[name]

    def value(self, name: str) -> Array:
        """The field, 0 where it is infinite or NaN: those are compared as symbols, not by distance."""
        return _finite(self.fields[name])

    def written(self, name: str, error: Array) -> Array:
        """The error after writing the field down."""
        return self.rounded(self.fields[name], error)

    def rounded(self, values: Array, error: Array | float = 0.0) -> Array:
        """The error after writing these values down."""
        return written(values, error, self.digits)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0)


def _product(x: Array, x_error: Array, y: Array, y_error: Array) -> Array:
    """Bound on |x̃ỹ − xy|, a matrix product."""
    return np.asarray(np.abs(x) @ y_error + x_error @ (np.abs(y) + y_error))


# Up to the softmax ------------------------------------------------------------------------------------


def _project(work: _Work) -> tuple[Array, ...]:
    made = [_affine(work, "query", "x"), _affine(work, "key", "x_key")]
    return (*made, _affine(work, "value", "x_key")) if "value" in work.fields else tuple(made)


def _affine(work: _Work, name: str, source: str) -> Array:
    matrix = getattr(work.problem, f"w_{name}").astype(np.float64)
    return work.written(name, work.error(source) @ np.abs(matrix))


def _split(name: str) -> Callable[[_Work], tuple[Array, ...]]:
    def split(work: _Work) -> tuple[Array, ...]:
        return (heads.split(work.error(name), work.problem.H if name == "query" else work.problem.Hkv),)

    return split


def _repeat(name: str) -> Callable[[_Work], tuple[Array, ...]]:
    return lambda work: (heads.repeat(work.error(name), work.problem.H),)


def _rotate_query(work: _Work) -> tuple[Array, ...]:
    return (_rotated(work, "query_heads", "query_rotated", positions.query_positions(work.problem)),)


def _rotate_key(work: _Work) -> tuple[Array, ...]:
    return (_rotated(work, "key_repeated", "key_rotated", np.arange(work.problem.Tk)[:, None]),)


def _rotated(work: _Work, source: str, name: str, places: Array) -> Array:
    """x₁cos − x₂sin and x₁sin + x₂cos, where x, cos and sin may each be rounded."""
    rope = work.problem.rope
    assert rope is not None
    angle = places * rope.base ** (-np.arange(0, rope.dim, 2) / rope.dim)
    cos, sin = np.cos(angle), np.sin(angle)
    cos_error, sin_error = (np.abs(np.round(f, work.digits) - f) for f in (cos, sin))
    cos, sin = np.abs(cos) + cos_error, np.abs(sin) + sin_error
    x, error = np.abs(work.value(source)), work.error(source)
    a, b = positions.pairs(rope)
    grown = np.broadcast_to(error, work.fields[name].shape).copy()
    grown[..., a] = error[..., a] * cos + error[..., b] * sin + x[..., a] * cos_error + x[..., b] * sin_error
    grown[..., b] = error[..., a] * sin + error[..., b] * cos + x[..., a] * sin_error + x[..., b] * cos_error
    return work.written(name, grown)


def _scores(work: _Work) -> tuple[Array, ...]:
    query, key = work.value("query_rotated"), work.value("key_rotated").swapaxes(-1, -2)
    error = _product(query, work.error("query_rotated"), key, work.error("key_rotated").swapaxes(-1, -2))
    return (work.written("scores", error),)


def _scale(work: _Work) -> tuple[Array, ...]:
    scores, error = np.abs(work.value("scores")), work.error("scores")
    if work.problem.factor.is_integer():
        return (error * abs(work.problem.factor),)  # a whole number of times a decimal is a decimal
    return (
        work.written("scaled", error * abs(work.problem.factor) + (scores + error) * _factor_error(work)),
    )


def _factor_error(work: _Work) -> float:
    """What dividing by 1.732, or multiplying by 0.577, changes for d_k = 3. A given scale is exact."""
    root = np.sqrt(np.float64(work.problem.D or 1))
    if work.problem.scale is not None or is_decimal(root, work.digits):
        return 0.0
    constants = (1 / np.round(root, work.digits), np.round(1 / root, work.digits))
    # nobody works with a constant that has been rounded to nothing
    return max((float(abs(c - 1 / root)) for c in constants if np.isfinite(c) and c > 0), default=0.0)


def _softcap(work: _Work) -> tuple[Array, ...]:
    return (work.written("capped", work.error("scaled")),)  # the slope of c·tanh(s/c) is at most 1


def _bias(work: _Work) -> tuple[Array, ...]:
    return (work.rounded(work.fields["bias"]),)


def _add_bias(work: _Work) -> tuple[Array, ...]:
    return (work.error("capped") + work.error("bias"),)  # a sum of decimals is a decimal


def _mask(work: _Work) -> tuple[Array, ...]:
    return (np.where(work.fields["allowed"], work.error("biased"), 0),)


# Softmax ----------------------------------------------------------------------------------------------


def _row_max(work: _Work) -> tuple[Array, ...]:
    masked, error, top = work.fields["masked"], work.error("masked"), work.fields["row_max"]
    most, least = (np.max(ends, axis=-1, keepdims=True) for ends in (masked + error, masked - error))
    error = np.maximum(most - top, top - np.maximum(least, _sink(work, -np.inf)))
    return (np.where(np.isfinite(top), np.maximum(error, 0), 0),)  # the largest of some decimals is one


def _sink(work: _Work, absent: float) -> Array | float:
    return absent if work.problem.sink is None else work.problem.sink[:, None, None]


def _top(work: _Work) -> tuple[Array, Array]:
    """What is subtracted from each row, and its error: in either way of working."""
    return _or_nothing(work.value("row_max")), _or_nothing(work.error("row_max"))


def _or_nothing(x: Array) -> Array:
    """(2, …): x, and 0."""
    return np.stack([x, np.zeros_like(x)])


def _exponentials(work: _Work) -> tuple[Array, ...]:
    top, top_error = _top(work)
    exps = _power(work.fields["masked"], top)
    return (work.rounded(exps, exps * np.expm1(work.error("masked") + top_error)),)


def _power(masked: Array, top: Array) -> Array:
    return np.where(masked < np.inf, np.exp(masked - top), 0)  # NaN and +∞ leave nothing to bound


def _row_sum(work: _Work) -> tuple[Array, ...]:
    error = np.sum(work.error("exponentials"), axis=-1, keepdims=True)
    if work.problem.sink is not None:
        top, top_error = _top(work)
        term = np.broadcast_to(np.exp(_sink(work, -np.inf) - top), top.shape)
        error = error + work.rounded(term, term * np.expm1(top_error))
    return (error,)  # a sum of decimals is a decimal, and rounding the sum instead adds less


def _terms(work: _Work) -> Terms:
    """The terms of each row's sum, the sink's last; a learner's own exponentials where they are known."""
    top, top_error = _top(work)
    if "exponentials" not in work.known:
        return _exponentiated(
            work, work.fields["masked"], work.error("masked"), top, top_error, _sink(work, -np.inf)
        )
    exps, error = work.value("exponentials"), work.error("exponentials")
    if work.problem.sink is not None:
        term = np.exp(_sink(work, -np.inf) - work.value("row_max"))
        exps, error = _joined(exps, term), _joined(error, work.rounded(term))
    return Terms(exps, exps, exps, error)


def _exponentiated(
    work: _Work, masked: Array, error: Array, top: Array, top_error: Array, sink: Array | float = -np.inf
) -> Terms:
    """e^(s − m); an error of m is common to the row, and only changes what the rounding weighs."""
    column = (*masked.shape[:-1], 1)
    masked = _joined(masked, np.broadcast_to(sink, column))
    error = _joined(np.broadcast_to(error, (*column[:-1], error.shape[-1])), np.zeros(column))
    exps = _power(masked, top)
    is_exact = ((error == 0) & (top_error == 0) & is_decimal(exps, work.digits)) | (exps == 0)
    half = np.where(is_exact, 0, half_unit(work.digits) * ROOM * np.exp(top_error))
    is_coarse = np.sum(half, axis=-1, keepdims=True) > COARSEST * np.sum(exps, axis=-1, keepdims=True)
    return Terms(exps, exps * np.exp(-error), exps * np.exp(error), np.where(is_coarse, 0, half))


def _joined(row: Array, column: Array) -> Array:
    return np.concatenate([row, column], axis=-1)


def _shares(work: _Work) -> Array:
    """The error of each weight before it is written."""
    if "row_sum" not in work.known:
        return _finite(share_errors(_terms(work)))[..., : work.problem.Tk]
    terms, total, error = _terms(work), work.value("row_sum"), work.error("row_sum")
    low, high = (x[..., : work.problem.Tk] for x in (terms.low, terms.high))
    weights = work.value("weights")
    return _finite(np.maximum(high / (total - error) - weights, weights - low / (total + error)))


def _weights(work: _Work) -> tuple[Array, ...]:
    return (work.written("weights", _shares(work)),)


def _logsumexp(work: _Work) -> tuple[Array, ...]:
    if "row_sum" in work.known:
        error = np.log1p(work.error("row_sum") / (work.value("row_sum") - work.error("row_sum")))
        return (work.written("logsumexp", _finite(error) + work.error("row_max")),)
    return (work.written("logsumexp", _finite(log_errors(_terms(work)))),)


# After it ---------------------------------------------------------------------------------------------


def _attend_parts(work: _Work) -> tuple[Array, ...]:
    outputs, sums = [], []
    start = 0
    for index, length in enumerate(work.problem.chunks or ()):
        keys = slice(start, start + length)
        terms = _terms_of_part(work, keys)
        output, total = (
            np.take(work.fields[name], index, axis=PARTS) for name in ("part_output", "part_logsumexp")
        )
        error = _blended(work, terms, slice(0, length), keys)
        outputs.append(work.rounded(output, error))
        sums.append(work.rounded(total, _finite(log_errors(terms))))
        start += length
    return np.stack(outputs, axis=PARTS), np.stack(sums, axis=PARTS)


def _terms_of_part(work: _Work, keys: slice) -> Terms:
    masked, error = work.fields["masked"][..., keys], work.error("masked")
    error = np.broadcast_to(error, work.fields["masked"].shape)[..., keys]
    top = np.max(masked, axis=-1, keepdims=True)
    top_error = np.max(error, axis=-1, keepdims=True)
    return _exponentiated(work, masked, error, _or_nothing(_finite(top)), _or_nothing(top_error))


def _merge_parts(work: _Work) -> tuple[Array, ...]:
    """Σ share · output, the shares e^(lse_p − lse) rounded too; or blended in one go, from whole rows."""
    whole, whole_error = (
        np.expand_dims(x, PARTS) for x in (work.fields["logsumexp"], work.error("logsumexp"))
    )
    share = _finite(np.exp(work.fields["part_logsumexp"] - whole))
    output, error = np.abs(work.value("part_output")), work.error("part_output")
    share_error = work.rounded(share, share * np.expm1(work.error("part_logsumexp") + whole_error))
    merged = np.sum(share_error * (output + error) + share * error, axis=PARTS)
    return (np.maximum(work.written("blended", merged), _blend(work)[0]),)


def _blend(work: _Work) -> tuple[Array, ...]:
    value, value_error = work.value("value_repeated"), work.error("value_repeated")
    if {"weights", "row_sum"} & work.known:  # a learner's own need not sum to 1
        weights, error = work.value("weights"), work.error("weights")
        return (work.written("blended", _product(weights, error, value, value_error)),)
    return (work.written("blended", _blended(work, _terms(work), slice(0, work.problem.Tk), slice(None))),)


def _blended(work: _Work, terms: Terms, columns: slice, keys: slice) -> Array:
    """The weights move together as their terms do, and each is rounded on its own."""
    value = work.value("value_repeated")[..., keys, :]
    value_error = work.error("value_repeated")[..., keys, :]
    shares = terms.exact / terms.total
    share_error = _finite(share_errors(terms))
    rounding = (work.rounded(shares, share_error) - share_error)[..., columns]
    nothing = np.zeros((*value.shape[:-2], terms.exact.shape[-1] - value.shape[-2], value.shape[-1]))
    common = _finite(mean_errors(terms, np.concatenate([value, nothing], axis=-2)))
    most = _finite(shares)[..., columns] + share_error[..., columns] + rounding
    return np.asarray(common + rounding @ np.abs(value) + most @ value_error)


def _merge_heads(work: _Work) -> tuple[Array, ...]:
    return (heads.merge(work.error("blended")),)


def _project_output(work: _Work) -> tuple[Array, ...]:
    return (_affine(work, "output", "merged"),)


GROWTH: dict[str, Callable[[_Work], tuple[Array, ...]]] = {
    "project": _project,
    "split-query": _split("query"),
    "split-key": _split("key"),
    "split-value": _split("value"),
    "repeat-key": _repeat("key_heads"),
    "repeat-value": _repeat("value_heads"),
    "rotate-query": _rotate_query,
    "rotate-key": _rotate_key,
    "scores": _scores,
    "scale": _scale,
    "softcap": _softcap,
    "bias": _bias,
    "add-bias": _add_bias,
    "mask": _mask,
    "row-max": _row_max,
    "exponentials": _exponentials,
    "row-sum": _row_sum,
    "weights": _weights,
    "logsumexp": _logsumexp,
    "attend-parts": _attend_parts,
    "merge-parts": _merge_parts,
    "blend": _blend,
    "merge-heads": _merge_heads,
    "project-output": _project_output,
}
