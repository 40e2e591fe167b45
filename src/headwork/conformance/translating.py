"""A Problem as one call of a function that has conventions of its own, and back: the problem's fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism import heads
from ..mechanism.fields import in_kind
from ..mechanism.masks import float_masks, in_window
from ..mechanism.positions import distances, valid_keys
from ..mistakes.mistake import altered
from ..problem import Problem
from .asking import Ask, CannotAskError
from .calls import Outcome
from .probing import axes_inside, fitting
from .ways import Ways

BEYOND = ("x", "rope", "given", "w_output")  # what no function of query, key and value is asked


@dataclass(frozen=True)
class Finding:
    """Something about what came back that is no number to compare.

    kind  "end" (it did not return), "shape", "dtype", "not finite" or "missing"
    said  for a person; step: the field it is about
    """

    kind: str
    said: str
    step: str = "output"

    def to_dict(self) -> dict[str, str]:
        """As plain data."""
        return {"kind": self.kind, "said": self.said, "step": self.step}


@dataclass(frozen=True, eq=False)
class Answers:
    """What a call gave: field -> values in the shape of the problem's own, and what else there is to say."""

    values: Mapping[str, Array]
    findings: tuple[Finding, ...] = ()


# --- in its terms ---------------------------------------------------------------------------------


def suited(ways: Ways, problem: Problem) -> Problem:
    """The problem nearest to this one that the function can be asked; the same one where it can be asked.

    Causal where the function is causal always; a mask without the axes that its mask has not; the far side
    of a window, slopes and offsets as it has them.
    """
    changes: dict[str, Any] = {}
    if ways.is_causal and not problem.causal:
        changes |= {"causal": True} | ({"offset": 0} if ways.alignment == "upper_left" else {})
    if (
        problem.window is not None
        and ways.window is not None
        and ways.window.right in ("same", "none", "all")
    ):
        left, right = problem.window
        ahead = {"same": left, "none": 0, "all": None}[ways.window.right]
        if not (problem.causal and (right is None or right >= 0)):
            changes["window"] = (left, ahead)
    if problem.mask is not None:
        masks = [_with_axes(ways, mask) for mask in problem.mask]
        if any(one is not other for one, other in zip(masks, problem.mask, strict=True)):
            changes["mask"] = masks
    argument = ways.named("alibi")
    if problem.alibi is not None and argument is not None and argument.parameter.default in ("True", "False"):
        changes["alibi"] = True
    if problem.offset is not None and ways.has("offset") and (problem.offset != problem.offset.flat[0]).any():
        changes["offset"] = int(problem.offset.flat[0])
    return altered(problem, **changes) if changes else problem


def _with_axes(ways: Ways, mask: Array) -> Array:
    """The mask, the same along the axes that the function's own mask has not."""
    name = "mask-bool" if mask.dtype == bool else "mask-float"
    way = ways.masks.get(name) or ways.masks.get("mask-float")
    for axis, letter in ((-4, "B"), (-3, "H"), (-2, "Q")):
        is_missing = way is not None and letter not in way.layout and letter in f"{axes_inside(ways)}Q"
        if is_missing and mask.ndim >= -axis and mask.shape[axis] > 1:
            mask = mask.take([0], axis=axis)
    return mask


# --- there ----------------------------------------------------------------------------------------


def asked(ways: Ways, problem: Problem, want: str = "") -> Ask:
    """The problem in terms of what the function takes; what it has no parameter for becomes a mask.

    Raises CannotAskError where it cannot be told so.
    """
    for name in BEYOND:
        if getattr(problem, name) is not None:
            raise CannotAskError(f"a function of query, key and value cannot be asked for {name}.")
    query, key, value = _per_head(problem)
    first, own = _first_positions(problem), own_positions(ways, problem)
    agrees = bool((first == own).all())
    ask = Ask(
        query=query, key=key, value=value, scale=problem.scale, softcap=problem.softcap, sink=problem.sink,
        want=ways.flag_for(want) if want else "",
    )  # fmt: skip
    ask = _with_lengths(ways, problem, ask)
    ask, hidden = _with_causal(ways, problem, ask, first, agrees)
    masks = [mask for mask in problem.mask or () if mask.dtype == bool]
    masks += [~np.isneginf(mask) for mask in float_masks(problem)]
    masks += [hidden] if hidden is not None else []
    ask, hidden = _with_window(ways, problem, ask, agrees)
    masks += [hidden] if hidden is not None else []
    if problem.alibi is not None:
        if not agrees:
            raise CannotAskError(
                "its queries stand elsewhere, which its biases by distance (ALiBi) depend on."
            )
        ask = replace(ask, alibi=problem.alibi)
    if problem.lengths is not None and ask.lengths is None and ask.valid is None:
        masks.append(_valid(problem))
    return replace(ask, allowed=_all_of(problem, masks), bias=_sum_of(problem, float_masks(problem)))


def _per_head(problem: Problem) -> tuple[Array, Array, Array]:
    """query (B, H, Tq, D), key (B, Hkv, Tk, D), value (B, Hkv, Tk, Dv)."""
    if problem.value is None:
        raise CannotAskError("the problem has no value.")
    arrays = [problem.query, problem.key, problem.value]
    if problem.packed:
        arrays = [
            heads.split(x, n) for x, n in zip(arrays, (problem.H, problem.Hkv, problem.Hkv), strict=True)
        ]
    query, key, value = (x.reshape(-1, *x.shape[-3:]) for x in arrays)
    return query, key, value


def _first_positions(problem: Problem) -> Array:
    """Where the first query of each sample stands, (B,)."""
    offset = problem.offset if problem.offset is not None else valid_keys(problem) - problem.Tq
    return np.asarray(offset).reshape(-1)


def own_positions(ways: Ways, problem: Problem) -> Array:
    """Where the function itself lets the first query of each sample stand, (B,)."""
    if ways.alignment == "upper_left":
        return np.zeros(math.prod(problem.batch), dtype=np.int64)
    by_length = ways.from_end and ways.has("lengths")
    keys = valid_keys(problem).reshape(-1) if by_length else np.full(math.prod(problem.batch), problem.Tk)
    return keys - problem.Tq


def _with_lengths(ways: Ways, problem: Problem, ask: Ask) -> Ask:
    if problem.lengths is None:
        return ask
    if ways.has("lengths") and ways.lengths:
        return replace(ask, lengths=problem.lengths.reshape(-1))
    has_batch = "B" in ways.layouts["query"]
    return replace(ask, valid=_four(_valid(problem))) if "padding" in ways.masks and has_batch else ask


def _valid(problem: Problem) -> Array:
    return np.arange(problem.Tk) < valid_keys(problem)[..., None, None, None]


def _with_causal(
    ways: Ways, problem: Problem, ask: Ask, first: Array, agrees: bool
) -> tuple[Ask, Array | None]:
    """The ask with its causal switch, or what causality hides as a mask."""
    if ways.is_causal and not (problem.causal and agrees):
        raise CannotAskError("it is causal always, in its own way.")
    if ways.is_causal and (first < 0).any():
        raise CannotAskError("it is causal always, and its first queries would see nothing.")
    if not problem.causal or ways.is_causal:
        return ask, None
    masks = any(getattr(problem, name) is not None for name in ("mask", "window", "lengths"))
    if ways.has("causal") and not (ways.either and masks):
        if agrees and ways.square and problem.Tq != problem.Tk:
            raise CannotAskError("with a causal mask it takes only as many queries as keys.")
        if agrees:
            return replace(ask, causal=True), None
        if ways.has("offset"):
            return replace(ask, causal=True, offset=first), None
        past = problem.Tk - problem.Tq
        if ways.has("past_key", "past_value") and past > 0 and (first == past).all():
            return replace(ask, causal=True, past=past), None
    return ask, distances(problem) >= 0


def _with_window(ways: Ways, problem: Problem, ask: Ask, agrees: bool) -> tuple[Ask, Array | None]:
    """The ask with its window, or what the window hides as a mask."""
    if problem.window is None:
        return ask, None
    way, (left, right) = ways.window, problem.window
    fits = way is not None and agrees and (ask.causal or ways.is_causal or not way.with_causal)
    if fits and way is not None and way.right != "given":
        ahead = {"same": left, "none": 0, "all": None}[way.right]
        hides_ahead = bool(problem.causal) and (right is None or right >= 0)
        fits = right == ahead or (hides_ahead and (ahead is None or ahead >= 0))
    return (replace(ask, window=problem.window), None) if fits else (ask, in_window(problem))


def _all_of(problem: Problem, masks: list[Array]) -> Array | None:
    if not masks:
        return None
    allowed = np.ones(problem.matrix_shape, dtype=bool)
    for mask in masks:
        allowed &= mask
    return _four(allowed)


def _sum_of(problem: Problem, masks: list[Array]) -> Array | None:
    if not masks:
        return None
    total = np.zeros(problem.matrix_shape, problem.dtype)
    for mask in masks:
        total = total + np.where(np.isneginf(mask), 0, mask).astype(problem.dtype)
    return _four(total)


def _four(array: Array) -> Array:
    return array.reshape(-1, *array.shape[-3:])


# --- and back -------------------------------------------------------------------------------------


def answers_from(ways: Ways, problem: Problem, outcome: Outcome, want: str = "") -> Answers:
    """What came back, as fields of the problem in its own shapes, and what else there is to say."""
    if not outcome.is_fine:
        return Answers({}, (Finding("end", outcome.said or outcome.end),))
    names = ways.returns.get(ways.flag_for(want) if want else "", ("output",))
    values: dict[str, Array] = {}
    findings: list[Finding] = []
    for step in ("output", "weights", "logsumexp"):
        if step not in names:
            continue
        if names.index(step) >= len(outcome.outputs):
            findings.append(
                Finding("missing", f"{len(outcome.outputs)} arrays came back; no {step} is among them.", step)
            )
            continue
        array = outcome.outputs[names.index(step)]
        found = _in_shape(ways, problem, step, array)
        findings += _about(ways, problem, step, array, found)
        if found is not None:
            values[step] = found
    return Answers(values, tuple(findings))


def _in_shape(ways: Ways, problem: Problem, step: str, array: Array) -> Array | None:
    sizes = {
        "B": math.prod(problem.batch), "H": problem.H, "Hkv": problem.Hkv,
        "Tq": problem.Tq, "Tk": problem.Tk, "D": problem.D or 0, "Dv": problem.Dv or 0,
    }  # fmt: skip
    axes = {"output": "BHTD", "weights": "BHQK", "logsumexp": "BHQ"}[step]
    found = fitting(array, ways.layouts[step], sizes, axes)
    if found is None:
        return None
    found = found.reshape(*problem.batch, *found.shape[1:])
    if step == "output" and problem.packed:
        return heads.merge(found)
    return in_kind(problem, step, found[..., None] if step == "logsumexp" else found)


def _about(ways: Ways, problem: Problem, step: str, array: Array, found: Array | None) -> list[Finding]:
    said = []
    if found is None:
        axes = ", ".join(ways.layouts[step])
        said.append(
            Finding(
                "shape", f"its {step} has shape {array.shape}, which is not ({axes}) of this problem.", step
            )
        )
    if array.dtype.kind in "biu":
        said.append(
            Finding("dtype", f"its {step} holds {array.dtype}; numbers with a fraction were expected.", step)
        )
    elif step == "output" and array.dtype != problem.dtype:
        said.append(
            Finding(
                "dtype", f"its output is {array.dtype.name} where its inputs are {problem.dtype.name}.", step
            )
        )
    bad = int((~np.isfinite(array.astype(np.float64))).sum()) if array.dtype.kind != "b" else 0
    if bad and step == "output":
        said.append(
            Finding("not finite", f"{bad} of {array.size} entries of its output are NaN or infinite.", step)
        )
    return said


def natural(values: Mapping[str, Array], base: str) -> Mapping[str, Array]:
    """The logsumexp in natural logarithms, where it came in base 2."""
    if base != "base 2" or "logsumexp" not in values:
        return values
    return {**values, "logsumexp": values["logsumexp"] * math.log(2)}
