"""What holds for every attention, whatever its numbers: checked on the function's own answers alone.

A law is a few problems and a claim about the outputs for them. It needs no right answer, so it holds its
ground where a reference could be doubted, and at sizes where a reference would take long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.masks import allowed_keys, is_masked
from ..mechanism.positions import query_positions
from ..problem import Problem
from .battery import Case
from .comparing import allowances, exact_of

Outputs = Sequence[Array]
POSITIONS = ("causal", "window", "alibi", "lengths", "offset")  # options for which a key's place matters
SHIFT = 4.0  # what is added to the scores of a row, at most
MOST_CASES = 4  # that a law is tried on


@dataclass(frozen=True, eq=False)
class Law:
    """Something that holds for every attention.

    Fields
    id        kebab-case; says: the law, in one sentence
    feature   the one that its finding is listed under
    problems  case -> the problems to put to the function, its own first; none where the law says nothing.
              They ask for no feature that the case does not need, but for an offset where it has one
    expected  (case, outputs) -> what the last output should be, by the others
    """

    id: str
    feature: str
    says: str
    problems: Callable[[Case], tuple[Problem, ...]]
    expected: Callable[[Case, Outputs], Array]

    def violations(self, case: Case, outputs: Outputs) -> Array:
        """Where the last output is not what the law says, True; the shape of that output.

        outputs  the function's own (B, H, Tq, Dv), in the order of the problems
        Special cases: of a query that may see nothing no law says anything.
        """
        asked = self.problems(case)
        slack = sum(tolerance(problem) for problem in asked)
        last, due = outputs[-1].astype(np.float64), self.expected(case, outputs)
        with np.errstate(invalid="ignore"):  # inf − inf
            broken = ~(np.abs(last - due) <= slack) & (last != due)
        both_odd = np.isnan(last) & np.isnan(due)
        return np.asarray(broken & ~both_odd & _see_something(asked[-1]))


def tolerance(problem: Problem) -> float:
    """How far two honest outputs for this problem may be apart from the exact one."""
    return float(allowances(exact_of(problem), problem.dtype.name)["output"].max())


def changed(problem: Problem, **fields: Any) -> Problem:
    """The same problem with other fields."""
    return Problem.from_dict(problem.to_dict() | fields)


def _asks(problem: Problem, *options: str) -> bool:
    return any(
        getattr(problem, option) is not None and getattr(problem, option) is not False for option in options
    )


def _finite(problem: Problem) -> bool:
    return all(np.isfinite(array).all() for array in (problem.query, problem.key, problem.value))


def _see_something(problem: Problem) -> Array:
    """(…, H, Tq, 1): which queries may see a key at all."""
    return np.asarray(_seen(problem).any(axis=-1, keepdims=True))


def _seen(problem: Problem) -> Array:
    """(…, H, Tq, Tk): which query may see which key."""
    return np.broadcast_to(allowed_keys(problem), problem.matrix_shape)


# --- the values -----------------------------------------------------------------------------------


def _ones(case: Case) -> tuple[Problem, ...]:
    problem = case.problem
    if _asks(problem, "sink") or not _finite(problem):
        return ()
    return (changed(problem, value=np.ones_like(problem.value)),)


def _ones_expected(case: Case, outputs: Outputs) -> Array:
    return np.ones(outputs[-1].shape)


def _doubled(case: Case) -> tuple[Problem, ...]:
    problem = case.problem
    return (
        (problem, changed(problem, value=problem.value * problem.value.dtype.type(2)))
        if _finite(problem)
        else ()
    )


def _twice(case: Case, outputs: Outputs) -> Array:
    return 2 * outputs[0].astype(np.float64)


# --- the scores -----------------------------------------------------------------------------------


def _shifted(case: Case) -> tuple[Problem, ...]:
    """The same vector added to every key of a head adds the same number to every score of a row.

    In half precision the sums would be rounded, so that it is not the same vector any more.
    """
    problem = case.problem
    if _asks(problem, "sink", "softcap") or not _finite(problem) or problem.dtype.itemsize == 2:
        return ()
    push = SHIFT / max(float(np.abs(problem.query).max()) * (problem.D or 1) * abs(problem.factor), 1e-3)
    return problem, changed(problem, key=(problem.key + push).astype(problem.dtype))


def _the_first(case: Case, outputs: Outputs) -> Array:
    return outputs[0].astype(np.float64)


# --- the order of keys ----------------------------------------------------------------------------


def _keys_reversed(case: Case) -> tuple[Problem, ...]:
    problem = case.problem
    if _asks(problem, *POSITIONS) or problem.Tk < 2:
        return ()
    masks = {} if problem.mask is None else {"mask": [mask[..., ::-1] for mask in problem.mask]}
    return problem, changed(
        problem, key=problem.key[..., ::-1, :], value=problem.value[..., ::-1, :], **masks
    )


# --- what must not matter -------------------------------------------------------------------------


def _other_future(case: Case) -> tuple[Problem, ...]:
    """Other numbers in all keys and values behind the middle query's position."""
    problem = case.problem
    if not problem.causal or problem.Tq < 2 or not _finite(problem):
        return ()
    later = np.arange(problem.Tk)[:, None] > _middle(problem)
    return (problem, _with_others(problem, later)) if later.any() and not later.all() else ()


def _middle(problem: Problem) -> Array:
    """(B, 1, 1, 1): where the middle query stands."""
    place: Array = query_positions(problem)[..., problem.Tq // 2 : problem.Tq // 2 + 1, :]
    return place


def _earlier_kept(case: Case, outputs: Outputs) -> Array:
    """The rows up to the middle one as they were; the later ones may be anything."""
    rows = np.arange(case.problem.Tq)[:, None] <= case.problem.Tq // 2
    return np.where(rows, outputs[0], outputs[-1]).astype(np.float64)


def _other_padding(case: Case) -> tuple[Problem, ...]:
    """Other numbers in all keys and values that no query of any head of their sample may see."""
    problem = case.problem
    if not is_masked(problem) or not _finite(problem):
        return ()
    hidden = ~np.asarray(_seen(problem).any(axis=(-3, -2)))[..., None, :, None]
    return (problem, _with_others(problem, hidden)) if hidden.any() else ()


def _with_others(problem: Problem, where: Array) -> Problem:
    """Keys and values turned round and enlarged at these places (…, Tk, 1)."""
    moved = {name: getattr(problem, name) for name in ("key", "value")}
    return changed(
        problem,
        **{name: np.where(where, array * array.dtype.type(-2), array) for name, array in moved.items()},
    )


# --- parts alone ----------------------------------------------------------------------------------


def _last_sample(case: Case) -> tuple[Problem, ...]:
    problem = case.problem
    if problem.batch in ((), (1,)) or len(problem.batch) > 1:
        return ()
    part = {name: getattr(problem, name)[-1:] for name in ("query", "key", "value")}
    part |= {name: getattr(problem, name)[-1:] for name in ("lengths", "offset") if _asks(problem, name)}
    return problem, changed(problem, **part, **_masks(problem, lambda mask: _cut(mask, 4, slice(-1, None))))


def _of_last_sample(case: Case, outputs: Outputs) -> Array:
    return outputs[0][-1:].astype(np.float64)


def _last_group(case: Case) -> tuple[Problem, ...]:
    """The query heads that use the last key/value head, and that head alone."""
    problem = case.problem
    if problem.Hkv < 2:
        return ()
    heads = slice(-(problem.H // problem.Hkv), None)
    part = {"query": problem.query[..., heads, :, :]}
    part |= {name: getattr(problem, name)[..., -1:, :, :] for name in ("key", "value")}
    part |= {name: getattr(problem, name)[heads] for name in ("alibi", "sink") if _asks(problem, name)}
    return problem, changed(problem, **part, **_masks(problem, lambda mask: _cut(mask, 3, heads)))


def _of_last_group(case: Case, outputs: Outputs) -> Array:
    group = case.problem.H // case.problem.Hkv
    return outputs[0][..., -group:, :, :].astype(np.float64)


def _masks(problem: Problem, cut: Callable[[Array], Array]) -> dict[str, Any]:
    return {} if problem.mask is None else {"mask": [cut(mask) for mask in problem.mask]}


def _cut(mask: Array, axis: int, part: slice) -> Array:
    """A part of a mask along an axis counted from the end, where the mask is longer than 1 there."""
    if mask.ndim < axis or mask.shape[-axis] == 1:
        return mask
    index: tuple[Any, ...] = (..., part, *(slice(None),) * (axis - 1))
    return np.asarray(mask[index])


def _last_query(case: Case) -> tuple[Problem, ...]:
    return () if _asks(case.problem, "causal", "window", "alibi") else _last_of(case.problem)


def _last_token(case: Case) -> tuple[Problem, ...]:
    """The last query at its place: what a cache leaves to do."""
    return _last_of(case.problem) if case.problem.causal else ()


def _last_of(problem: Problem) -> tuple[Problem, ...]:
    """The problem, and its last query alone; nothing where it is alone already."""
    if problem.Tq < 2:
        return ()
    part: dict[str, Any] = {"query": problem.query[..., -1:, :]}
    if problem.offset is not None:
        part["offset"] = problem.offset + problem.Tq - 1
    return problem, changed(problem, **part, **_masks(problem, lambda mask: _cut(mask, 2, slice(-1, None))))


def _last_row(case: Case, outputs: Outputs) -> Array:
    return outputs[0][..., -1:, :].astype(np.float64)


# fmt: off
LAWS: tuple[Law, ...] = (
    Law("rows-sum-to-one", "basic", "where every value is 1, every output is 1", _ones, _ones_expected),
    Law("values-scale", "basic", "twice the values give twice the output", _doubled, _twice),
    Law("scores-shift", "basic", "the same number added to every score of a row changes nothing",
        _shifted, _the_first),
    Law("keys-have-no-order", "basic", "keys in another order, with their values, change nothing",
        _keys_reversed, _the_first),
    Law("queries-are-apart", "basic", "a query alone gives what it gives beside others",
        _last_query, _last_row),
    Law("samples-are-apart", "basic", "a sample alone gives what it gives in a batch",
        _last_sample, _of_last_sample),
    Law("heads-are-apart", "basic", "heads alone give what they give beside others",
        _last_group, _of_last_group),
    Law("future-is-hidden", "causal", "what comes later never changes an output",
        _other_future, _earlier_kept),
    Law("hidden-is-hidden", "mask-bool", "what nobody may see changes nothing", _other_padding, _the_first),
    Law("cache-step", "cache", "one new token gives the last row of the whole run", _last_token, _last_row),
)
# fmt: on


def cases_for(law: Law, cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases that a law is tried on: the first of each feature of which it says something, a few."""
    numeric = (case for case in cases if case.step == "output" and not case.lenient)
    firsts: dict[str, Case] = {}
    for case in numeric:
        if case.feature not in firsts and law.problems(case):
            firsts[case.feature] = case
    return tuple(firsts.values())[:MOST_CASES]
