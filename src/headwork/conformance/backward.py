"""Gradients of somebody's function held against those of the formula, and which wrong rule gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array
from .asking import CannotAskError
from .battery import Case
from .calls import Call, Outcome, Subject
from .gradients import NAMES, reference, tolerances
from .interface import Interface
from .layouts import laid_out
from .probing import fitting
from .report import CaseReport
from .ways import Ways, gradient_places
from .wrong_gradients import WrongGradient, explain_gradients


@dataclass(frozen=True, eq=False)
class Backward:
    """One case's gradients.

    given   query, key, value or some of them -> what came back, (B, H, T, D)
    right slack  the right ones, and how far honest arithmetic may be off; refused: why there are none
    """

    case: Case
    cotangent: Array
    outcome: Outcome | None = None
    refused: str = ""
    given: Mapping[str, Array] = field(default_factory=dict)
    right: Mapping[str, Array] = field(default_factory=dict)
    slack: Mapping[str, float] = field(default_factory=dict)

    @property
    def errors(self) -> dict[str, float]:
        """The largest error of each, inf where it is no number."""
        with np.errstate(invalid="ignore"):
            return {
                name: float(
                    np.nan_to_num(np.abs(array - self.right[name]), nan=np.inf, posinf=np.inf).max(
                        initial=0.0
                    )
                )
                for name, array in self.given.items()
            }

    @property
    def is_wrong(self) -> bool:
        """Whether one of them is off."""
        return any(error > self.slack[name] for name, error in self.errors.items())

    @property
    def report(self) -> CaseReport:
        """As it is reported: the gradient that is farthest off for what it may be."""
        if not self.given:
            return CaseReport(self.case, "not supported", said=self.refused)
        errors, slack = self.errors, self.slack
        worst = max(errors, key=lambda name: errors[name] / max(slack[name], 1e-300))
        verdict = "wrong" if self.is_wrong else "right"
        said = f"the gradient of the {worst}" if self.is_wrong else ""
        seconds = self.outcome.seconds if self.outcome is not None else 0.0
        return CaseReport(self.case, verdict, errors[worst], slack[worst], 0.0, said, seconds)


def ask_backward(subject: Subject, interface: Interface, case: Case) -> Backward:
    """Ask for the gradients of Σ cotangent · output."""
    problem, ways = interface.suited(case.problem), interface.ways
    shape = (*problem.batch, problem.H, problem.Tq, problem.Dv or 1)
    random = np.random.RandomState(1)
    cotangent = (2 * random.random_sample(shape) - 1).astype(problem.dtype)
    try:
        call = interface.call_for(problem)
        given = laid_out(folded(ways, cotangent), ways.layouts["output"])
        places = gradient_places(ways, call)
        call = interface.call_for(problem, cotangent=given, gradients_of=places)
    except CannotAskError as error:
        return Backward(case, cotangent, refused=str(error))
    outcome = subject.call(call)
    if not outcome.gradients:
        return Backward(case, cotangent, outcome, outcome.said or outcome.end)
    found = {
        name: array.astype(np.float64)
        for place, gradient in zip(places, outcome.gradients, strict=True)
        for name, array in _taken_apart(ways, call, place, gradient, case)
    }
    kind = case.dtype
    return Backward(
        case,
        cotangent,
        outcome,
        "",
        found,
        reference(problem, cotangent),
        tolerances(problem, cotangent, kind),
    )


def explained(asked: Sequence[Backward], problems: Interface) -> tuple[WrongGradient, ...]:
    """The wrong rules that give the gradients of every case that is off."""
    failing = [each for each in asked if each.is_wrong]
    sets = [
        explain_gradients(problems.suited(each.case.problem), each.cotangent, each.given, each.slack)
        for each in failing
    ]
    return tuple(rule for rule in (sets[0] if sets else ()) if all(rule in found for found in sets))


def folded(ways: Ways, array: Array) -> Array:
    """(B, H, T, D) with heads as batch, or batch as heads, as asking.folded has it."""
    letters = ways.layouts["output"].replace("E", "HD")
    flat = array.reshape(-1, *array.shape[-2:])
    return array if "H" in letters and "B" in letters else flat[None] if "H" in letters else flat[:, None]


def _taken_apart(
    ways: Ways, call: Call, place: int | str, gradient: Array, case: Case
) -> Iterator[tuple[str, Array]]:
    """The gradient of one argument as those of query, key and value, (B, H, T, D)."""
    arguments = [a for a in ways.arguments if a.parameter.kind not in ("*args", "**kwargs")]
    role = next(a.role for n, a in enumerate(arguments) if place in (n, a.name))
    parts = {"qkv": NAMES, "kv": ("key", "value")}.get(role, (role,))
    layout = ways.layouts[role]
    if "F" in layout:
        pieces, layout = np.split(gradient, 3, axis=-1), layout.replace("F", "E")
    elif len(parts) > 1:
        digit = str(len(parts))
        pieces = list(np.moveaxis(gradient, layout.index(digit), 0))
        layout = layout.replace(digit, "")
    else:
        pieces = [gradient]
    sizes = dict(case.sizes)
    for name, piece in zip(parts, pieces, strict=True):
        own = {
            **sizes,
            "H": sizes["H"] if name == "query" else sizes["Hkv"],
            "Tq": sizes["Tq"] if name == "query" else sizes["Tk"],
            "Dv": sizes["Dv"] if name == "value" else sizes["D"],
        }
        array = fitting(piece, layout, own, "BHTD")
        if array is not None:
            yield name, array
