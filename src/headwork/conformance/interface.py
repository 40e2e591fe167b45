"""A function as it was recognised: what it can be asked, how, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..problem import Problem
from .asking import CannotAskError, call_of
from .calls import Call, Outcome, Signature
from .features import FEATURES
from .sizes import ANY, Sizes
from .stated import Found, Stated
from .translating import Answers, answers_from, asked, natural, suited
from .ways import Ways


@dataclass(frozen=True)
class Support:
    """Whether a feature is there, and why not. True or False as such."""

    is_there: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.is_there

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"supported": self.is_there, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Interface:
    """A function as it was recognised.

    signature stated   what could be seen, and what was said
    ways         how it is called
    dtypes       what it is checked in, the first for everything; sizes: what it takes
    conventions  "mask", "causal", "window", "empty rows", "logsumexp", "scale" -> what it was found to do
    refusals     feature -> why it is not there
    found        everything that was found out, in words
    also_runs    layouts of more axes in which it runs, but mixes heads or tokens: wrong where they are meant
    failure      why it cannot be called at all, "" where it can
    calls        how many calls it took to find out
    """

    signature: Signature
    stated: Stated
    ways: Ways
    dtypes: tuple[str, ...] = ()
    sizes: Sizes = ANY
    conventions: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    found: tuple[Found, ...] = ()
    also_runs: tuple[str, ...] = ()
    failure: str = ""
    calls: int = 0

    def supports(self, feature: str) -> Support:
        """Whether the function has that feature (an id of features.py), and why not."""
        if self.failure:
            return Support(False, self.failure)
        return Support(feature not in self.refusals, self.refusals.get(feature, ""))

    @property
    def alignment(self) -> str:
        """Where queries stand when there are fewer than keys: "lower_right" or "upper_left"."""
        return self.ways.alignment

    def suited(self, problem: Problem) -> Problem:
        """The problem nearest to this one that it can be asked: its answers are held against that one."""
        return suited(self.ways, problem)

    def call_for(self, problem: Problem, want: str = "", **options: Any) -> Call:
        """The call that asks for this problem, in its dtype. Raises CannotAskError with the reason.

        want     "weights" or "logsumexp" beside the output
        options  of the Call: layout, first, cotangent, gradients_of
        """
        if self.failure:
            raise CannotAskError(self.failure)
        ways = replace(self.ways, dtype=problem.dtype.name)
        return call_of(ways, asked(ways, problem, want), **options)

    def answers(self, problem: Problem, outcome: Outcome, want: str = "") -> Answers:
        """What came of that call: fields in the shape of the problem's own, and what else there is to say."""
        answers = answers_from(self.ways, problem, outcome, want)
        return replace(answers, values=natural(answers.values, self.conventions.get("logsumexp", "")))

    def to_dict(self) -> dict[str, Any]:
        """Everything that people are told, as plain data."""
        return {
            "name": self.signature.name,
            "library": self.ways.library,
            "device": self.ways.device,
            "roles": {argument.name: argument.role for argument in self.ways.arguments if argument.role},
            "layouts": dict(self.ways.layouts),
            "also_runs": list(self.also_runs),
            "returns": {want or "output": list(names) for want, names in self.ways.returns.items()},
            "dtypes": list(self.dtypes),
            "sizes": self.sizes.to_dict(),
            "conventions": dict(self.conventions),
            "features": {feature.id: self.supports(feature.id).to_dict() for feature in FEATURES},
            "found": [each.to_dict() for each in self.found],
            "stated": self.stated.to_dict(),
            "failure": self.failure,
        }
