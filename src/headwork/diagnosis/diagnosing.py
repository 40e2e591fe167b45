"""Name the mistake behind somebody's numbers: verdict, explanations with their evidence, and hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array
from ..errors import AnswerError
from ..mechanism.fields import FIELDS, axes_of, canonical, field_named, in_kind
from ..mechanism.resuming import resumed
from ..mechanism.sampling import sample
from ..mechanism.steps import STEPS
from ..mechanism.tracing import Trace, run, seeds
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .answers import Answer, check_step, floats, read_answers
from .apart import Apart, tell_apart
from .consequences import Consequences
from .following import OwnWork
from .large import by_rows_if_many, explanations, is_large, is_wide, large_explanations
from .looking import Looking
from .parting import Parting, parting
from .places import entry_words, seen_index
from .plan import RIGHT, Hypothesis
from .pooling import pooled
from .right import known_tolerance, right_fields, worked
from .rounding import half_unit
from .search import Finding, known_consequences
from .shifting import SUMS, unshifted, unshifted_rows
from .slips import Slip, find_slips
from .target import Target
from .tolerance import Precision, array_dtype, array_precision, asked_precision, precision_of
from .verdicts import FLOAT_NOISE, SHORT, judge, short_note
from .wording import describe, finding_sentence

MOST_SHOWN = 100_000  # entries that are listed one by one
MOST_OF_LARGE = 1_000  # of an answer to a large problem
ANOTHER_STEP = "another-step"  # a slip: the right numbers in the wrong place
ROUNDED_SHARE = 0.25  # of the entries: rounding spares short decimals and zeros, but not three in four
# what to believe first
BEST = ("right", "rounding", "convention", "mistake", "slip", "consistent", "unexplained", "invalid")
MORE_DIGITS = "The last digits are off: keep more digits on the way, and round at the end."
NOT_FINITE = (
    "None of these numbers is finite. Something overflowed, or 0 was divided by 0; "
    "numbers that are not there cannot tell what."
)
VERDICTS = ("right", "rounding", "convention", "slip", "mistake", "consistent", "unexplained", "invalid")


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is behind one step's numbers.

    Fields
    problem   the problem that was worked, from somebody's own earlier numbers where it goes on from them
    step      the step that was answered
    verdict   one of VERDICTS; "mistake" is named, "consistent" is not sure
    findings  the explanations with the fewest mistakes, the best evidence first
    slips     hints about single entries, alone or after `after`, a mistake that explains the rest
    wrong     the entries that differ from the right ones, counted from 0, as people see that step
    sentence  one sentence for a person
    assumed   how exact the numbers were taken to be, and why
    follows   the numbers are not the right ones, but follow from the answer to an earlier step
    steps     where several steps were answered: the diagnosis of each, in order
    """

    problem: Problem
    step: str
    verdict: str
    findings: tuple[Finding, ...]
    slips: tuple[Slip, ...]
    after: Hypothesis
    wrong: tuple[tuple[int, ...], ...]
    sentence: str
    assumed: str
    follows: bool = False
    steps: tuple[Diagnosis, ...] = ()

    @property
    def mistakes(self) -> tuple[tuple[str, ...], ...]:
        """The readings of all findings as ids; a pair of mistakes is a tuple of two."""
        return tuple(
            tuple(m.id for m in reading) for finding in self.findings for reading in finding.readings
        )

    @property
    def hint(self) -> str:
        """Where to look, without saying what is wrong there; "" where nothing was found."""
        if self.verdict in ("convention", "rounding"):
            return self.sentence if self.verdict == "convention" else MORE_DIGITS
        if any(slip.kind == ANOTHER_STEP for slip in self.slips):
            return "Look again at what is asked: these may be the numbers of another step."
        if self.findings or self.after:
            rule = self.findings[0].readings[0] if self.findings else self.after
            start = f" Start with {self.example.where}." if self.example else ""
            return f"Look again at this step: {_first_step(rule)}.{start}"
        places = dict.fromkeys(entry for slip in self.slips for entry in slip.entries)
        where = "; ".join(entry_words(self.problem, self.step, place) for place in places)
        return f"Look again at {where}." if where else ""

    @cached_property
    def example(self) -> Parting | None:
        """One entry with its arithmetic, where the first explanation and the right way part."""
        if not self.findings or not self.wrong or self.findings[0].is_narrow or is_large(self.problem):
            return None
        first = self.findings[0]
        theta = first.theta_of(first.readings[0])
        return parting(self.problem, self.step, first.readings[0], theta, first.values, self.wrong)

    @cached_property
    def apart(self) -> Apart | None:
        """What tells the explanations apart, worked out when it is asked for; None where there is but one."""
        readings = [reading for finding in self.findings for reading in finding.readings]
        return tell_apart(self.problem, readings, self.step) if len(readings) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the problem, as plain data."""
        return {
            "step": self.step,
            "verdict": self.verdict,
            "mistakes": [finding_dict(self.problem, finding) for finding in self.findings],
            "slips": [self._slip_dict(slip) for slip in self.slips],
            "after": [mistake.id for mistake in self.after],
            "wrong": self.wrong,
            "hint": self.hint,
            "sentence": self.sentence,
            "example": self.example and self.example.to_dict(),
            "assumed": self.assumed,
            "follows": self.follows,
            **({"steps": [step.to_dict() for step in self.steps]} if self.steps else {}),
        }

    def _slip_dict(self, slip: Slip) -> dict[str, Any]:
        entries = [seen_index(self.problem, self.step, entry) for entry in slip.entries]
        return {"kind": slip.kind, "entries": entries, "says": slip.says}


def _first_step(hypothesis: Hypothesis) -> str:
    """The title of the first step that one of these mistakes replaces, in small letters.

    The largest entry of a row only moves the exponentials: who went wrong further on finds nothing there.
    """
    names = [name for mistake in hypothesis for name in mistake.steps]
    names = [name for name in names if name != "row-max"] or names
    title = next((step.title for step in STEPS if step.name in names), "Read the problem")
    return title[0].lower() + title[1:]


def finding_dict(problem: Problem, finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "readings": [[mistake.id for mistake in reading] for reading in finding.readings],
        "also": [
            list(mistake.ids[1:]) for reading in finding.readings for mistake in reading if mistake.readings
        ],
        "named": finding.named,
        "convention": finding.is_convention,
        "bits": round(finding.bits, 1),
        "theta": finding.theta,
        "thetas": [finding.theta_of(reading) for reading in finding.readings],
        "sentence": finding_sentence(problem, finding),
    }


def diagnose(problem: Problem, values: Any, step: str = "output", digits: int | None = None) -> Diagnosis:
    """Which mistake gives these numbers, or which slip; or that they are right, rounded, or unexplained.

    problem  what was to be worked out
    values   the numbers of one step, in the shape of the problem's arrays: an array, nested lists, or text,
             None or "_" where not given; or {step: values} for several steps, of which the first wrong one is
             diagnosed
    step     the field that they answer: "scores", "weights", "output", …
    digits   decimals asked for; None infers them from the numbers

    Special cases: NaN and infinities are numbers like others; a shape that does not fit has the verdict
    "invalid".
    Raises UnknownNameError for a step that does not exist, and what `trace` raises.
    Source: docs/diagnosis.md.

    >>> from headwork import Problem, diagnose
    >>> query, key = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]], [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]]
    >>> problem = Problem(query=query, key=key)
    >>> diagnose(problem, "2 0 4; 0 2 0; 0 4 0", step="scaled").mistakes
    (('scale-missing',), ('scale-after-softmax',))
    """
    if isinstance(values, Mapping) and "step" in values:
        step, values = str(values["step"]), {name: value for name, value in values.items() if name != "step"}
    several = isinstance(values, Mapping) and not ({"row", "entry", "values", "value"} & set(values))
    if is_large(problem) and not several:
        return diagnose_array(problem, values, step, digits)
    work = worked(problem)
    try:
        answers = read_answers(work, values if several else {step: values})
    except AnswerError as error:
        return Diagnosis(problem, step, "invalid", (), (), RIGHT, (), str(error), "")
    diagnoses = diagnose_answers(problem, answers, digits)
    first = next((each for each in diagnoses if each.verdict != "right"), diagnoses[-1])
    return replace(first, steps=diagnoses) if several else first


def diagnose_array(problem: Problem, values: Any, step: str, digits: int | None) -> Diagnosis:
    """The diagnosis of an array for a large problem: not every step is kept, no slips are looked for."""
    probe = sample(problem, np.arange(1))
    shown = Trace(probe, run(probe, seeds(probe)))
    try:
        check_step(shown, step)
        array = floats(values)
        expected = list(shown[step].shape)
        expected[-1 if axes_of(problem, step)[-1] == "Tq" else -2] = problem.Tq
        if list(array.shape) != expected:
            raise AnswerError(f"{step} has shape {tuple(expected)} here; the answer has shape {array.shape}.")
    except AnswerError as error:
        return Diagnosis(problem, step, "invalid", (), (), RIGHT, (), str(error), "")
    kinds = (problem.dtype.name, array.dtype.name)
    precision = array_precision(array.astype(np.float64), max(kinds, key=list(DTYPES).index))
    precision = precision if digits is None else asked_precision(digits)
    looking = Looking(problem, step, canonical(problem, step, array.astype(np.float64)), precision)
    target = looking.until_off()
    found = (
        None
        if target.is_right
        else _explained(target, precision.why, large_explanations(target, looking.own_tolerance))
    )
    if found is not None:
        return found
    target = looking.to_the_end()
    if target.is_right:
        return _result(target, "right", precision.why, "This is right.")
    return _result(target, "unexplained", precision.why, _unexplained(target))


def diagnose_answers(
    problem: Problem, answers: Sequence[Answer], digits: int | None
) -> tuple[Diagnosis, ...]:
    """Each step's diagnosis: what it adds to what it inherits from somebody's own earlier steps."""
    own = OwnWork(problem, worked(problem).fields)
    diagnoses: list[Diagnosis] = []
    standing: list[Problem] = []
    before = ""
    for answer in answers:
        found = _after(problem, own, before, answer, digits)
        diagnoses.append(found)
        own.known |= found.problem.known or {}  # which maximum they subtracted
        standing.append(own.standing)
        if answer is not answers[-1]:
            own.add(answer, worked(found.problem)[answer.step], precision_of(problem, answer, digits))
            before = answer.step
    return tuple(_told_by_all(diagnoses, standing, answers, digits))


def _after(problem: Problem, own: OwnWork, before: str, answer: Answer, digits: int | None) -> Diagnosis:
    """What a step adds to the steps before it; what is behind it at all where they explain it no better."""
    found = _in_some_way(problem, answer, digits)
    if found.verdict == "right" or not before:
        return found
    added = _in_some_way(resumed(problem, own.known), answer, digits)
    if added.verdict == "right":
        says = f"This follows from your own {field_named(before).title}."
        return replace(added, follows=True, sentence=says)
    return min(added, found, key=_doubt)


def _told_by_all(
    diagnoses: list[Diagnosis], standing: Sequence[Problem], answers: Sequence[Answer], digits: int | None
) -> list[Diagnosis]:
    """The first step that is not right, with the evidence of the steps after it.

    standing  the problem as it stood before each answer
    """
    at = next((index for index, each in enumerate(diagnoses) if each.verdict != "right"), len(diagnoses))
    later = list(zip(standing, answers, strict=True))[at + 1 :]
    if not later or is_large(standing[0]):
        return diagnoses
    first = diagnoses[at]
    if not first.findings or first.findings[0].is_narrow:
        return diagnoses
    targets = [target_of(each, answer, precision_of(each, answer, digits)) for each, answer in later]
    told = [pooled(first.problem, finding, targets) for finding in first.findings]
    findings = tuple(sorted((each for each in told if each is not None), key=lambda each: -each.bits))
    if findings:
        verdict = _verdict(findings)
        slips = first.slips if verdict == "consistent" else ()
        sentence = _sentence(first.problem, findings[0], slips)
        diagnoses[at] = replace(first, findings=findings, verdict=verdict, slips=slips, sentence=sentence)
    return diagnoses


def _in_some_way(problem: Problem, answer: Answer, digits: int | None) -> Diagnosis:
    """The best diagnosis among the ways of working that are all right."""
    ways = [problem, *_other_ways(problem, answer, digits)]
    if len(ways) > 1:
        precision = precision_of(problem, answer, digits)
        ways = [way for way in ways if target_of(way, answer, precision).is_right][:1] or ways
    return min((diagnose_answer(way, answer, digits) for way in ways), key=_doubt)


def _other_ways(problem: Problem, answer: Answer, digits: int | None) -> Iterator[Problem]:
    """Of the exponentials: with nothing subtracted from any row, and from those where that is nearer."""
    if answer.step not in SUMS or "exponentials" in (problem.known or {}):
        return
    precision, plain = precision_of(problem, answer, digits), unshifted(problem)
    yield plain
    ways = [target_of(way, answer, precision) for way in (problem, plain)]
    agrees = [each.given & each.same(each.right, each.tolerance) for each in ways]
    rows = unshifted_rows(ways[0].values, (ways[0].right, ways[1].right), (agrees[0], agrees[1]))
    if rows.any() and not rows.all():
        top = worked(problem).fields["row_max"]
        yield resumed(problem, {"row_max": (np.where(rows, 0, top), np.zeros(top.shape))})


def _doubt(diagnosis: Diagnosis) -> tuple[int, int, int]:
    """The smaller, the better it explains: by verdict, by how many mistakes it takes, by what is wrong."""
    sizes = [len(reading) for finding in diagnosis.findings for reading in finding.readings]
    return (
        BEST.index(diagnosis.verdict),
        min(sizes, default=len(diagnosis.after)),
        len(diagnosis.wrong),
    )


def diagnose_answer(problem: Problem, answer: Answer, digits: int | None) -> Diagnosis:
    """The diagnosis of one answer to one step of a problem that is worked out."""
    precision = precision_of(problem, answer, digits)
    target = target_of(problem, answer, precision)
    is_short = target.given.sum() < answer.given.sum()
    if is_short and target.is_right:
        return _result(target, "rounding", precision.why, short_note(precision.digits or 0))
    is_array = digits is None and answer.dtype is not None and precision.digits is not None
    exact = _as_computed(problem, answer, target) if is_array else None
    return exact or diagnose_target(target, precision.why)


def _as_computed(problem: Problem, answer: Answer, rounded: Target) -> Diagnosis | None:
    """What gives exactly the short decimals of an array, unless they are the right numbers, rounded.

    Equal weights are 0.2 each and a lost row is 0: to one digit, nearly everything is near.
    """
    assert rounded.digits is not None
    half = np.full(rounded.right.shape, half_unit(rounded.digits))
    if rounded.matches(rounded.right, half):
        return None
    dtype = array_dtype(problem, answer)
    why = f"judged as {dtype} arithmetic, as these are exactly the numbers that a rule gives"
    target = target_of(problem, answer, Precision(None, dtype, why))
    found = None if target.is_right else _explained(target, why, explanations(target))
    return None if found is not None and found.verdict == "rounding" and rounded.is_right else found


def target_of(problem: Problem, answer: Answer, precision: Precision) -> Target:
    """What is to be explained. Entries that are right so far, with fewer digits than asked, are left out."""
    step, work = answer.step, worked(problem)
    tolerance = known_tolerance(problem, precision, step)
    values = canonical(problem, step, answer.values)
    right = np.broadcast_to(work.fields[step], values.shape).astype(np.float64)
    tolerance = tolerance + FLOAT_NOISE * np.abs(np.where(np.isfinite(right), right, 0))
    given, places = (canonical(problem, step, each) for each in (answer.given, answer.places))
    if precision.digits is not None and (places < precision.digits).any():
        given = given & (judge(values, right, tolerance, places, precision.digits) != SHORT)

    def slack(other: Problem, fields: Mapping[str, Array]) -> Array:
        if precision.digits is None:
            return tolerance
        own = precision.tolerances(other, _shaped_like(work.fields, fields), [step])[step]
        return np.where(np.isfinite(own), own, tolerance)  # an overflow elsewhere leaves nothing to bound by

    return Target(problem, step, values, given, right, slack, tolerance, precision.digits)


def _shaped_like(right: Mapping[str, Array], wrong: Mapping[str, Array]) -> dict[str, Array]:
    """A wrong pipeline's fields in float64; one of another shape (a sum over columns): the right one."""
    return {
        name: array
        if array.dtype == bool or name not in wrong or wrong[name].shape != array.shape
        else wrong[name].astype(np.float64)
        for name, array in right.items()
    }


def diagnose_target(target: Target, assumed: str) -> Diagnosis:
    """The diagnosis of one step's numbers: right, one mistake, rounding, more mistakes, slips, or none."""
    if target.is_right:
        return _result(target, "right", assumed, "This is right.")
    simple = explanations(target)
    if not np.isfinite(target.values[target.given]).any() and not any(f.is_convention for f in simple):
        return _result(target, "unexplained", assumed, NOT_FINITE)
    return (
        _explained(target, assumed, [finding for finding in simple if finding.exact])
        or _rounded(target, assumed)
        or _joint(target, assumed, simple)
        or _other_step(target, assumed)
        or _slipped(target, assumed)
        or _coarse(target, assumed)
        or _result(target, "unexplained", assumed, _unexplained(target))
    )


def _joint(target: Target, assumed: str, simple: Sequence[Finding]) -> Diagnosis | None:
    """Two mistakes that give the numbers to the last digit; else one that rounding allows; else two."""
    joint = by_rows_if_many(target)
    exact = [finding for finding in joint if finding.exact and finding.named]
    return _explained(target, assumed, exact or simple or joint)


def _explained(target: Target, assumed: str, findings: Sequence[Finding]) -> Diagnosis | None:
    """The findings, conventions and then the best evidence first; where none is sure, slips beside them."""
    if not findings:
        return None
    best = tuple(sorted(findings, key=lambda f: (f.is_narrow, not f.is_convention, -f.bits)))
    if best[0].is_narrow:
        what = describe(target.problem, best[0].readings[0], best[0].theta)
        return _result(target, "rounding", assumed, f"This is right but for rounding: you {what}.", best)
    verdict = _verdict(best)
    slips = find_slips(target, right_fields(target.problem), target.right) if verdict == "consistent" else ()
    return _result(target, verdict, assumed, _sentence(target.problem, best[0], slips), best, slips)


def _sentence(problem: Problem, finding: Finding, slips: Sequence[Slip]) -> str:
    sentence = finding_sentence(problem, finding)
    return f"{sentence} Or a slip: {slips[0].says}." if slips else sentence


def _rounded(target: Target, assumed: str) -> Diagnosis | None:
    """Right but for rounding to fewer digits on the way than were asked."""
    return None if target.digits is None else _within(target, assumed, fewer_digits(target.digits))


def fewer_digits(digits: int) -> Iterator[tuple[Precision, str]]:
    """Down to two digits: with one, nearly everything is near."""
    for count in range(digits - 1, 1, -1):
        what = f"it is what comes out if results are rounded to {count} digits on the way"
        yield asked_precision(count), what


def _coarse(target: Target, assumed: str) -> Diagnosis | None:
    """An array that nothing explains, but that a narrower dtype than the problem's would excuse.

    Rounding reaches many entries: a few that are off in an array that is otherwise exact are no rounding.
    """
    off = _wrong(target)
    if target.digits is not None or off.sum() < ROUNDED_SHARE * target.given.sum():
        return None
    names = list(DTYPES)[list(DTYPES).index(target.problem.dtype.name) + 1 :]
    arithmetics = (
        (Precision(None, name, ""), f"the error is what {name} arithmetic makes") for name in names
    )
    return _within(target, assumed, arithmetics)


def _within(target: Target, assumed: str, precisions: Iterable[tuple[Precision, str]]) -> Diagnosis | None:
    for precision, says in precisions:
        if target.matches(target.right, known_tolerance(target.problem, precision, target.step)):
            return _result(target, "rounding", assumed, f"This is right but for rounding: {says}.")
    return None


def _other_step(target: Target, assumed: str) -> Diagnosis | None:
    """The right numbers of another step: written in the wrong place, or one step too many or too few."""
    fields, tolerance = worked(target.problem).fields, target.tolerance
    for name in (field.name for field in FIELDS if field.name in fields):
        other = fields[name]
        if other is fields[target.step]:  # also under the name of a step that hands it on
            continue
        if other.shape == target.right.shape and other.dtype != bool and target.matches(other, tolerance):
            says = (
                f"These are the {field_named(name).title}; the {field_named(target.step).title} were asked."
            )
            slip = Slip(ANOTHER_STEP, tuple(map(tuple, np.argwhere(_wrong(target)).tolist())), says)
            return _result(target, "slip", assumed, says, slips=(slip,))
    return None


def _slipped(target: Target, assumed: str) -> Diagnosis | None:
    after, slips = slips_after(target)
    if not slips:
        return None
    return _result(target, "slip", assumed, _slip_sentence(target, after, slips), slips=slips, after=after)


def _verdict(findings: tuple[Finding, ...]) -> str:
    if any(finding.is_convention for finding in findings):
        return "convention"
    return "mistake" if any(finding.named for finding in findings) else "consistent"


def _result(
    target: Target,
    verdict: str,
    assumed: str,
    sentence: str,
    findings: tuple[Finding, ...] = (),
    slips: tuple[Slip, ...] = (),
    after: Hypothesis = RIGHT,
) -> Diagnosis:
    wrong = () if verdict == "right" else wrong_entries(target)
    return Diagnosis(target.problem, target.step, verdict, findings, slips, after, wrong, sentence, assumed)


def wrong_entries(target: Target) -> tuple[tuple[int, ...], ...]:
    """The given entries that are not right, as people see the step; of a large answer the first ones."""
    wrong = in_kind(target.problem, target.step, _wrong(target))
    most = MOST_OF_LARGE if is_large(target.problem) else MOST_SHOWN
    places = np.unravel_index(np.flatnonzero(wrong)[:most], wrong.shape)
    return tuple(zip(*(axis.tolist() for axis in places), strict=True))


def _wrong(target: Target) -> Array:
    return target.given & ~target.same(target.right, target.tolerance)


# --- slips, alone or after one mistake ------------------------------------------------------------


def slips_after(target: Target) -> tuple[Hypothesis, tuple[Slip, ...]]:
    """The slips that explain the answer: alone, else after the mistake that leaves fewest wrong entries."""
    alone = find_slips(target, right_fields(target.problem), target.right)
    if alone or is_wide(target):
        return RIGHT, alone
    made = known_consequences(target.problem, target.step, 1)
    for index in _nearest(target, made):
        slips = find_slips(
            target, run_wrong(target.problem, made.hypotheses[index]), made.values[made.node[index]]
        )
        if slips:
            return made.hypotheses[index], slips
    return RIGHT, ()


def _nearest(target: Target, made: Consequences) -> list[int]:
    """The mistakes that agree with more than half of the given entries, and with more than the right way."""
    agree = target.same(made.values, target.tolerance) | ~target.given
    counts = agree.reshape(len(agree), -1).sum(axis=-1)[made.node]
    blank = int((~target.given).sum())
    enough = max(int(counts[0]), blank + int(target.given.sum()) // 2)
    return [int(i) for i in np.argsort(-counts, kind="stable")[:3] if counts[i] > enough]


def _slip_sentence(target: Target, after: Hypothesis, slips: tuple[Slip, ...]) -> str:
    """What each wrong entry may have come from, at most two readings of each."""
    by_entry: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for slip in slips:
        by_entry.setdefault(slip.entries, []).append(slip.says)
    hint = "; and ".join(", or ".join(readings[:2]) for readings in by_entry.values())
    if after:
        what = describe(target.problem, after)
        return f"These are the numbers of somebody who {what}, but for a slip: {hint}."
    return f"{hint[0].upper()}{hint[1:]}."


def _unexplained(target: Target) -> str:
    """That no reason was found, and what was looked for."""
    if target.given.sum() == 1:
        return "This number is not right, and nothing in the catalogue gives it: no mistake, no two together."
    return (
        "These numbers are not right, and nothing in the catalogue gives them: no mistake, no two together, "
        "and no slip in a few entries."
    )
