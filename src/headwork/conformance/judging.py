"""The verdict on one feature, from what came back on its cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ..diagnosis.plan import Hypothesis, compatible
from ..diagnosis.wording import describe
from .arithmetic import in_its_own, is_a_little, overflowing, recognised
from .cases import Cases
from .comparing import Asked
from .explaining import explain
from .explaining_overflow import explain_finite, explain_overflow
from .explaining_parts import explain_in_parts
from .explaining_some import explain_most
from .explaining_two import explain_with_two
from .features import Feature
from .report import Arithmetic, CaseReport, Explanation, FeatureReport, worst_of
from .rules import Found, Group, Rule
from .stated import Stated

# conventions of the catalogue: the option with which somebody says which of them is meant
SAID_BY = {
    "mask-polarity": "mask_means",
    "fully-masked-row-nan": "empty_rows",
    "fully-masked-row-uniform": "empty_rows",
    "fully-masked-row-unmasked": "empty_rows",
    "logsumexp-empty-row-inf": "empty_rows",
    "causal-top-left-for-bottom-right": "causal",
    "causal-bottom-right-for-top-left": "causal",
    "window-one-too-many": "window_counts",
    "window-one-too-few": "window_counts",
    "window-right-one-too-many": "window_counts",
    "window-right-one-too-few": "window_counts",
    "window-one-too-many-on-both-sides": "window_counts",
    "window-one-too-few-on-both-sides": "window_counts",
    "logsumexp-base-2": "logsumexp",
}
MOST_FOUND = 3  # explanations of one feature, each for some of its cases
MOST_PLACES = 2  # inputs that a sentence lists
MOST_PAIRS = 3  # features for which two mistakes are looked for where nothing simpler explains them
ORDER = ("logsumexp", "weights", "output")  # intermediates in the order in which they are worked out


@dataclass(eq=False)
class Known:
    """What was found in the features before, to be tried first on the next one.

    found  feature -> what explains its cases; searched: for how many features pairs were looked for
    arithmetic  in fewer bits, the first that was recognised
    is_second   features are looked at for a second time, with what was found since and no other effort
    """

    stated: Stated
    found: dict[str, list[Found]] = field(default_factory=dict)
    searched: int = 0
    arithmetic: Arithmetic | None = None
    is_second: bool = False

    @property
    def firsts(self) -> list[Rule]:
        """The likeliest rule of everything that was found."""
        return [one.first for each in self.found.values() for one in each]

    @property
    def mistakes(self) -> Hypothesis:
        """Every mistake found so far."""
        return tuple(dict.fromkeys(m for rule in self.firsts for m in rule.mistakes))

    def rules(self) -> list[Rule]:
        """Rules to which one more mistake may be added: each that was found, and all of them together."""
        every = (replace(rule, overflows=False) for rule in (*self.firsts, *_union(self.firsts)))
        return list({rule.hypothesis: rule for rule in every}.values())

    def explain(self, cases: Cases) -> tuple[str, Cases]:
        """The feature whose explanation holds on some of the cases as well, and the cases that are left.

        Of rules that could not be told apart there, those are kept that hold here, too.
        """
        origin = ""
        cases = cases.on_their_paths()
        for feature, each in self.found.items():
            for at, one in enumerate(each):
                held = [
                    (group, [rule for rule in group.rules if _helps(rule, cases)]) for group in one.groups
                ]
                most = max((len(cases.explained(r)) for _, rules in held for r in rules), default=0)
                left = tuple(
                    replace(group, rules=tuple(r for r in rules if len(cases.explained(r)) == most))
                    for group, rules in held
                    if any(len(cases.explained(rule)) == most for rule in rules)
                )
                if left and cases.failing:
                    each[at] = replace(one, groups=left)
                    cases, origin = cases.left(cases.explained(left[0].rules[0])), origin or feature
        for rule in _union(self.firsts):
            if cases.failing and _helps(rule, cases):
                cases, origin = cases.left(cases.explained(rule)), origin or next(iter(self.found))
        return origin, cases


def _helps(rule: Rule, cases: Cases) -> bool:
    """Whether the rule explains some of the cases and spoils none."""
    return bool(cases.explained(rule)) and cases.hold(rule, cases.passing)


def _union(rules: Sequence[Rule]) -> list[Rule]:
    """All of the rules at once, where no two of them replace the same step."""
    every: Hypothesis = tuple(dict.fromkeys(m for rule in rules for m in rule.hypothesis))
    thetas = {rule.theta for rule in rules if rule.theta is not None}
    if len(rules) < 2 or not compatible(every) or len(thetas) > 1:
        return []
    return [Rule(every, next(iter(thetas), None))]


def judge(feature: Feature, asked: Sequence[Asked], known: Known) -> FeatureReport:
    """The verdict on a feature that the function has."""
    reports = tuple(map(case_report, asked))
    compared = [each for each in asked if each.target is not None]
    failing = [each for each in compared if each.is_wrong]
    if not compared and not any(each.has_ended for each in asked) and not _odd(asked):
        verdict = "could not be run" if feature.id == "basic" else "not supported"
        return FeatureReport(feature, verdict, said_of(reports), reports)
    if failing:
        passing = [each for each in compared if not each.is_wrong]
        return _failed(feature, reports, Cases(failing, passing), known)
    if odd := _odd(asked):
        return FeatureReport(feature, "wrong", odd, reports)
    ended = next((each for each in asked if each.has_ended), None)
    if ended is not None and ended.outcome is not None:
        said = f"{ended.outcome.said} It was asked {sizes_said(ended)}."
        return FeatureReport(feature, "could not be run", said, reports)
    return FeatureReport(feature, "right", "", reports)


def said_of(reports: Sequence[CaseReport]) -> str:
    """What was said where nothing could be compared."""
    return next(
        (report.said for report in reports if report.said), "nothing that came back could be compared."
    )


def _odd(asked: Iterable[Asked]) -> str:
    """What came back that is no answer at all: another shape, nothing."""
    for each in asked:
        found = next(
            (f.said for f in each.findings if f.kind in ("shape", "missing") and f.step == each.case.step), ""
        )
        if found or (each.target is None and each.outcome is not None and each.outcome.end == "not arrays"):
            said = found or (each.outcome.said if each.outcome is not None else "")
            return f"{said[0].upper()}{said[1:]} It was asked {sizes_said(each)}."
    return ""


def sizes_said(asked: Asked) -> str:
    """The sizes of a case as people write them: "B = 2, H = 3, Tq = 5, Tk = 7, D = 23, Dv = 13"."""
    sizes = asked.case.sizes
    shown = {name: size for name, size in sizes.items() if name != "Hkv" or size != sizes["H"]}
    return ", ".join(f"{name} = {size}" for name, size in shown.items()) + f" in {asked.case.dtype}"


def case_report(asked: Asked) -> CaseReport:
    """One case as it is reported."""
    outcome, said = asked.outcome, asked.refused
    verdict = "not supported"
    if outcome is not None:
        said = " ".join(finding.said for finding in asked.findings if finding.kind != "end") or outcome.said
        if asked.has_ended:
            verdict = "could not be run"
        elif asked.target is not None:
            verdict = "wrong" if asked.is_wrong else "right"
        elif outcome.is_fine:
            verdict = "wrong"
    seconds = outcome.seconds if outcome is not None else 0.0
    return CaseReport(
        asked.case, verdict, asked.error, asked.allowed, asked.plain if asked.error else 0.0, said, seconds
    )


# --- what is wrong ----------------------------------------------------------------------------------


def _failed(feature: Feature, reports: tuple[CaseReport, ...], cases: Cases, known: Known) -> FeatureReport:
    report = FeatureReport(feature, "wrong", "", reports, first_step=first_step(cases))
    if all(asked.layout != "contiguous" for asked in cases.failing):
        return report
    before = known.mistakes
    origin, left = known.explain(cases)
    found, arithmetic, left = _found(left, known, cases.passing)
    if found:
        known.found[feature.id] = found
    verdicts = [_verdict_of(one, known.stated, before) for one in found]
    if arithmetic is not None:
        verdicts.append("wrong" if arithmetic.overflows else "rounding")
    verdicts += [_origin_verdict(known, origin)] if origin else []
    if left.failing:
        a_little = not verdicts and is_a_little(left)
        verdicts.append("rounding" if a_little else "wrong")
    verdict = worst_of(verdicts)
    return replace(
        report,
        verdict=verdict,
        cases=_as(reports, verdict),
        follows=origin,
        arithmetic=arithmetic,
        unexplained=tuple(asked.case.id for asked in left.failing) if verdict == "wrong" else (),
    )


def _origin_verdict(known: Known, origin: str) -> str:
    return worst_of([_verdict_of(one, known.stated, ()) for one in known.found[origin]])


def _verdict_of(found: Found, stated: Stated, known: Hypothesis) -> str:
    return "convention" if is_convention(found.groups, stated, known) else "wrong"


def _found(
    cases: Cases, known: Known, passing: Sequence[Asked]
) -> tuple[list[Found], Arithmetic | None, Cases]:
    """What explains the cases: rules, each for some of them, and arithmetic in fewer bits; and what is
    left."""
    found: list[Found] = []
    arithmetic: Arithmetic | None = None
    cases = Cases(cases.failing, passing, cases.judged)
    while cases.failing and len(found) < MOST_FOUND:
        rules = [*known.rules(), *(one.first for one in found)]
        every = (_all(each, rules) for each in _with_fewer(cases))
        one = _plainly(cases, rules) or next(filter(None, every), None)
        if one is None and arithmetic is None:
            arithmetic, explained = _arithmetic(cases, known)
            if arithmetic is not None:
                cases = cases.left(explained)
                continue
        one = one or _with_effort(cases, known, rules)
        if one is None:
            break
        found.append(one)
        cases = cases.left(one.cases)
    return found, arithmetic, cases


def _arithmetic(cases: Cases, known: Known) -> tuple[Arithmetic | None, list[Asked]]:
    """The arithmetic in fewer bits that explains what is finite, and all that it explains: what overflows in
    it, too."""
    finite = cases.finite
    own, mine = in_its_own(finite)
    others = [each for each in finite if each not in mine]
    found = recognised(Cases(others, cases.passing), known.arithmetic) if others else None
    if not finite:
        found = known.arithmetic
    if found is None:
        return own, mine
    known.arithmetic = known.arithmetic or found
    over = overflowing(found, cases.failing)
    explained = [*finite, *over]
    return (
        (replace(found, overflows=tuple(each.case.id for each in over)), explained)
        if explained
        else (None, [])
    )


def _plainly(cases: Cases, rules: Sequence[Rule]) -> Found | None:
    """One mistake that explains all numbers; or what is known, where nothing but NaN and ∞ is left."""
    overflowing = (explain_overflow(each, rules) for each in _with_fewer(cases))
    finite = (explain_finite(each) for each in _with_fewer(cases))
    return next(filter(None, chain(overflowing, finite)), None)


def _with_fewer(cases: Cases) -> tuple[Cases, ...]:
    """The cases, and without right ones that ask for other features, where there are any."""
    alone = cases.on_their_paths()
    return (cases, alone) if len(alone.passing) < len(cases.passing) else (cases,)


def _all(cases: Cases, rules: Sequence[Rule]) -> Found | None:
    groups = explain(cases, rules, pairs=False)
    return Found(groups, tuple(cases.failing)) if groups else None


def _with_effort(cases: Cases, known: Known, rules: Sequence[Rule]) -> Found | None:
    """Two mistakes, for a few features; or what explains most of the cases."""
    tried = _with_fewer(cases)
    most = (explain_most(each, rules) for each in tried)
    if known.is_second:
        return next(filter(None, most), None)
    known.searched += 1
    is_early = known.searched <= MOST_PAIRS
    pairs = ((each, explain_with_two(each)) for each in (tried if is_early else ()))
    joint = (Found(groups, tuple(each.failing)) for each, groups in pairs if groups)
    parts = (explain_in_parts(each) for each in (tried[-1:] if is_early else ()))
    return next(filter(None, chain(joint, most, parts)), None)


def _as(reports: tuple[CaseReport, ...], verdict: str) -> tuple[CaseReport, ...]:
    return tuple(replace(each, verdict=verdict) if each.verdict == "wrong" else each for each in reports)


def is_convention(groups: Sequence[Group], stated: Stated, known: Hypothesis = ()) -> bool:
    """Whether good systems differ in it, and nobody said which way is meant; beside what is known already."""
    rules = (rule.mistakes for group in groups for rule in group.rules)
    return any(_is_free(tuple(m for m in hypothesis if m not in known), stated) for hypothesis in rules)


def _is_free(hypothesis: Hypothesis, stated: Stated) -> bool:
    return all(m.convention and not getattr(stated, SAID_BY.get(m.id, ""), "") for m in hypothesis)


def first_step(cases: Cases) -> str:
    """The first step that is wrong, where the function gives weights or logsumexp beside the output."""
    for asked in cases.failing:
        off = {step: is_off(asked, step) for step in ORDER if step in asked.values}
        if len(off) > 1 and any(off.values()):
            return next(step for step, wrong in off.items() if wrong)
    return ""


def is_off(asked: Asked, step: str) -> bool:
    """Whether another step's numbers that came along are not right."""
    other = replace(asked, case=replace(asked.case, step=step))
    return other.is_wrong


# --- in words ---------------------------------------------------------------------------------------


def explanations(
    found: Sequence[Found], before: Hypothesis, stated: Stated, verdict: str
) -> tuple[Explanation, ...]:
    """What was found, as it is reported; before: the mistakes that were found elsewhere."""
    said: list[Explanation] = []
    for one in found:
        groups = sorted(one.groups, key=lambda each: -each.bits)
        also = bool(said) and set(before) & set(one.first.mistakes) != set()
        said += [_explanation(group, one.cases, before, stated, verdict, also) for group in groups]
        before = (*before, *one.first.mistakes)
    return tuple(said)


def _explanation(
    group: Group, cases: Sequence[Asked], before: Hypothesis, stated: Stated, verdict: str, also: bool
) -> Explanation:
    whole = [rule.mistakes for rule in group.rules]
    readings = [tuple(m for m in rule if m not in before) or rule for rule in whole]
    is_free = any(_is_free(reading, stated) for reading in readings)
    if is_free and verdict == "wrong" and not any(_is_free(rule, stated) for rule in whole):
        readings, is_free = whole, False  # a convention beside what is wrong is no news by itself
    thetas = tuple(rule.theta for rule in group.rules)
    beside = tuple(m for m in whole[0] if m not in readings[0])
    where = places(cases) if also and beside else ""
    return Explanation(
        tuple(dict.fromkeys(readings)),
        thetas,
        group.bits,
        group.is_named,
        is_free,
        sentence(cases[0], readings[0], thetas[0], group.is_named, is_free, where),
        tuple(asked.case.id for asked in cases),
        beside,
    )


def places(cases: Sequence[Asked]) -> str:
    """A few of the cases by their ids: "basic/far-scores, basic/low-scores and 3 more"."""
    more = f" and {len(cases) - MOST_PLACES} more" if len(cases) > MOST_PLACES else ""
    return f"{', '.join(asked.case.id for asked in cases[:MOST_PLACES])}{more}"


def sentence(
    asked: Asked, reading: Hypothesis, theta: float | None, named: bool, convention: bool, where: str = ""
) -> str:
    """An explanation in words: what was done, and how to mend it.

    where  the inputs on which it was done beside what was said before; "" where it is the first to be said
    """
    what = describe(asked.exact, reading, theta)
    if convention:
        return f"These are the right numbers under another convention: it {what}. Good systems differ here."
    own = [m for m in reading if not m.convention] or reading  # a convention that somebody stated, else
    mend = " ".join(m.mend for m in own)
    how = "these are exactly the numbers that gives" if named else "these are also the numbers that gives"
    subject = f"Beside that, on {where}, it" if where else "It"
    return f"{subject} {what}: {how}. {mend}".rstrip()
