"""What a check says, as data: `Check`, and the verdict on each feature, case and law that it is made of.

Everything that is shown anywhere (a table, JSON, JUnit, an AssertionError) is read off these records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..diagnosis.plan import Hypothesis
from .battery import Case
from .calls import Call
from .features import Feature
from .interface import Interface
from .laws import Law
from .wrong_gradients import WrongGradient

if TYPE_CHECKING:
    from .proof import Lost

# From best to worst; a feature has the worst verdict of its cases, a check the worst of its features, but for
# what is not supported, which is no fault.
VERDICTS = ("not supported", "right", "convention", "rounding", "could not be run", "wrong")
FINE = ("not supported", "right", "convention", "rounding")


@dataclass(frozen=True, eq=False)
class CaseReport:
    """One input of the battery, and what came of it.

    case     the input and why it is there; verdict: one of VERDICTS
    error    the largest distance from float64's result, inf where an entry that should be finite is not;
             None where there is nothing to compare
    allowed  how far honest arithmetic in that dtype may be off; plain: how far plain NumPy in it is
    said     what else there is to say: an exception, a shape, a size that is refused; "" for nothing
    seconds  what the call took
    """

    case: Case
    verdict: str
    error: float | None = None
    allowed: float = 0.0
    plain: float = 0.0
    said: str = ""
    seconds: float = 0.0

    @property
    def ratio(self) -> float | None:
        """How many times plain NumPy's error it is; None where either is 0 or unknown."""
        return self.error / self.plain if self.error and self.plain else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data; inf is "inf"."""
        return {
            **self.case.to_dict(),
            "verdict": self.verdict,
            "error": _plain(self.error),
            "allowed": _plain(self.allowed),
            "plain": _plain(self.plain),
            "ratio": _plain(self.ratio),
            "said": self.said,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False)
class Explanation:
    """What gives the very numbers that came back, on every case that was looked at.

    readings    sets of mistakes that nothing asked here tells apart, the most typical first
    thetas      for each reading the number in its rule, None where it has none
    bits        evidence against chance, all cases together; named: whether that rules chance out
    convention  it is no mistake: good systems differ there
    sentence    for a person: "it divided by d_k instead of √d_k (d_k = 23) …"
    cases       ids of the cases that were wrong and that it explains
    beside      mistakes found elsewhere that are made here as well
    """

    readings: tuple[Hypothesis, ...]
    thetas: tuple[float | None, ...]
    bits: float
    named: bool
    convention: bool
    sentence: str
    cases: tuple[str, ...]
    beside: Hypothesis = ()

    @property
    def ids(self) -> tuple[tuple[str, ...], ...]:
        """The readings as ids of mistakes."""
        return tuple(tuple(mistake.id for mistake in reading) for reading in self.readings)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; `mistakes` holds title, why and mend of each mistake that is spoken of."""
        spoken = {mistake.id: mistake for reading in self.readings for mistake in reading}
        return {
            "readings": [list(ids) for ids in self.ids],
            "thetas": list(self.thetas),
            "bits": round(self.bits, 1),
            "named": self.named,
            "convention": self.convention,
            "sentence": self.sentence,
            "cases": list(self.cases),
            "beside": [mistake.id for mistake in self.beside],
            "mistakes": [
                {"steps": list(m.steps)}
                | {name: getattr(m, name) for name in ("id", "title", "formula", "why", "mend")}
                for m in spoken.values()
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic with fewer bits than the dtype has, recognised by the errors that it makes.

    id    "tf32", "bfloat16", "float16", "float32" or "accumulation"; bits: of its mantissa, stored
    said  for a person: "its products are worked out with 10 bits, as TF32 has"
    overflows  ids of the cases with finite scores that are NaN or ∞ in it: that is wrong, and no rounding
    """

    id: str
    bits: int
    said: str
    overflows: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"id": self.id, "bits": self.bits, "said": self.said, "overflows": list(self.overflows)}


@dataclass(frozen=True, eq=False)
class Broken:
    """A law that does not hold.

    law    what should hold; case: the input on which it does not
    said   for a person, with the place and the numbers
    """

    law: Law
    case: Case
    said: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"law": self.law.id, "says": self.law.says, "case": self.case.id, "said": self.said}


@dataclass(frozen=True, eq=False)
class FeatureReport:
    """The verdict on one feature.

    feature       what it is about; verdict: one of VERDICTS
    sentence      for a person: what is wrong and how to mend it, what is refused, or how exact it is
    cases         every case asked, in order
    explanations  of what is wrong or another convention; of those with the same cases one holds
    gradients     wrong backward rules that give exactly its gradients
    arithmetic    which arithmetic was recognised, None for none: "rounding", or wrong where it overflows
    broken        laws that do not hold
    first_step    the first wrong step, where the function gives intermediates; "" where nothing can be said
    follows       "basic" where what is wrong in that one is wrong here, too; "" otherwise
    unexplained   ids of the cases that are wrong and that nothing explains
    """

    feature: Feature
    verdict: str
    sentence: str
    cases: tuple[CaseReport, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    gradients: tuple[WrongGradient, ...] = ()
    arithmetic: Arithmetic | None = None
    broken: tuple[Broken, ...] = ()
    first_step: str = ""
    follows: str = ""
    unexplained: tuple[str, ...] = ()

    @property
    def worst(self) -> CaseReport | None:
        """The case with the largest error for what its arithmetic may make; None where nothing was
        compared."""
        compared = [each for each in self.cases if each.error is not None]
        return max(compared, key=_excess, default=None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        worst = self.worst
        return {
            "feature": self.feature.id,
            "title": self.feature.title,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "error": _plain(worst.error) if worst else None,
            "ratio": _plain(worst.ratio) if worst else None,
            "worst": worst.case.id if worst else None,
            "explanations": [each.to_dict() for each in self.explanations],
            "gradients": [each.to_dict() for each in self.gradients],
            "arithmetic": self.arithmetic and self.arithmetic.to_dict(),
            "broken": [each.to_dict() for each in self.broken],
            "first_step": self.first_step,
            "follows": self.follows,
            "unexplained": list(self.unexplained),
            "cases": [each.to_dict() for each in self.cases],
        }


@dataclass(frozen=True, eq=False)
class Weakness:
    """A matter of robustness: no wrong number, but something that bites later. It fails only where one is
    strict.

    id     one of robustness.WEAKNESSES: "padding-leaks", "empty-rows", "not-repeatable", "prints", …
    said   for a person; where: ids of the cases or layouts on which it was seen
    explanations  the rules of the catalogue that give these numbers
    """

    id: str
    said: str
    where: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        explanations = [each.to_dict() for each in self.explanations]
        return {"id": self.id, "said": self.said, "where": list(self.where), "explanations": explanations}


@dataclass(frozen=True, eq=False)
class Failing:
    """The smallest input on which the function was seen to be wrong.

    case      the input, with sizes as small as it is still wrong in the same way
    call      the call that was made; names: its positional parameters' names
    expected  what it should have given; got: what it gave; both in the function's own layout
    allowed   how far honest arithmetic may be off
    said      for a person: what is wrong there
    """

    case: Case
    call: Call
    names: tuple[str, ...]
    expected: Array
    got: Array
    allowed: float
    said: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the arrays as nested lists."""
        return {
            "case": self.case.to_dict(),
            "problem": {name: _listed(value) for name, value in self.case.problem.to_dict().items()},
            "expected": _listed(self.expected),
            "got": _listed(self.got),
            "allowed": self.allowed,
            "said": self.said,
        }


@dataclass(frozen=True, eq=False)
class Check:
    """What came of checking one function.

    Fields
    name         of the function
    verdict      one of VERDICTS, the worst of its features'
    sentence     one sentence that a person can act on
    interface    how the function was recognised: layout, conventions, what it does not support and why
    features     one report for each of features.FEATURES, in order
    weaknesses   matters of robustness, which fail only where one is strict
    unseen       mistakes that could not be seen inside the sizes and dtypes that it takes
    failing      the smallest failing input, None where nothing failed (made when it is first asked for)
    notes        other things worth a line: a second round that was asked, sizes that were given up
    calls        how often it was called; seconds: how long the whole check took
    """

    name: str
    verdict: str
    sentence: str
    interface: Interface
    features: tuple[FeatureReport, ...]
    weaknesses: tuple[Weakness, ...] = ()
    unseen: tuple[Lost, ...] = ()
    failing: Failing | None = None
    notes: tuple[str, ...] = ()
    calls: int = 0
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Nothing is wrong: right, right by another convention, or right but for rounding, in all that it
        supports."""
        return self.verdict in FINE

    @property
    def is_robust(self) -> bool:
        """Nothing to say about robustness either: what `--strict` asks."""
        return not self.weaknesses

    @cached_property
    def mistakes(self) -> tuple[tuple[str, ...], ...]:
        """The ids of the mistakes found, each set once, over all features; conventions are not among them."""
        found = (ids for f in self.features for e in f.explanations if not e.convention for ids in e.ids)
        return tuple(dict.fromkeys(found))

    def of(self, feature: str) -> FeatureReport:
        """The report on the feature of that id."""
        return next(each for each in self.features if each.feature.id == feature)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "right": self.is_right,
            "robust": self.is_robust,
            "sentence": self.sentence,
            "interface": self.interface.to_dict(),
            "features": [each.to_dict() for each in self.features],
            "robustness": [each.to_dict() for each in self.weaknesses],
            "unseen": [each.to_dict() for each in self.unseen],
            "failing": self.failing and self.failing.to_dict(),
            "notes": list(self.notes),
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
        }


def worst_of(verdicts: list[str]) -> str:
    """The worst of these verdicts; "right" of none, or of nothing that is supported."""
    found = max(verdicts, key=VERDICTS.index, default="right")
    return "right" if found == "not supported" else found


def _excess(report: CaseReport) -> float:
    assert report.error is not None
    return report.error / report.allowed if report.allowed else math.inf if report.error else 0.0


def _plain(number: float | None) -> float | str | None:
    return number if number is None or math.isfinite(number) else str(number)


def _listed(value: Any) -> Any:
    """Nested lists for arrays, numbers that JSON has not as words."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_listed(each) for each in value]
    return _plain(value) if isinstance(value, float) else value
