"""Check somebody's function: recognise it, put the battery to it, and say what its numbers mean."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import getattr_static
from time import perf_counter
from typing import Any

from ..errors import CannotRunError, OptionError, hint_at
from ..mechanism.engines import products_on_one_thread
from .adapter import recognise
from .backward import Backward, ask_backward, explained
from .battery import Case, draw_battery
from .calls import Call, Outcome, Signature, Subject
from .cases import Cases
from .comparing import Asked, ask
from .features import FEATURES, Feature
from .interface import Interface
from .judging import Known, explanations, judge
from .lawful import broken_laws
from .layouts import axes_words
from .limits import Limits
from .proof import Lost, lost
from .report import FINE, Broken, Check, FeatureReport, worst_of
from .restricting import broke_down, refusals, taken_sizes
from .robustness import layout_cases, weaknesses
from .rules import Found
from .second_round import MOST_ASKED, told_apart
from .sentences import check_sentence, feature_sentence, other_conventions
from .shrinking import failing_of, smallest
from .sizes import Sizes
from .stated import Stated
from .targets import Target, read_target
from .ways import Ways

Progress = Callable[[int, int, str], None]  # (cases done, cases in all, what comes next)
LAST = "what explains the answers"  # that comes once every input was asked
ROUNDED = "its output is rounded, so that its gradients cannot be held against exact ones."
MOST_HANGS = 2  # of one feature, and then the rest of it is not asked

__all__ = ["Check", "check"]


def check(
    target: Any,
    stated: Stated | None = None,
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,
    command: str = "",
    setup: str = "",
    engine: str = "",
    **words: Any,
) -> Check:
    """Whether an attention is right, what its conventions are, and which mistake is behind its numbers.

    target    a function or module, checked in this process; or what names one, checked in a process of its
    own:
              "kernel.py:attention", "package.module:attention", "model.onnx"; or a Target or a Subject
    stated    what is said about it, see Stated; words: its fields by name: layout="BTHD", mask_means="drop",
              causal="upper_left", returns="output,weights", dtypes="float16", sizes="T=64,128; D=64", …
    limits    time and memory, for a process of its own
    progress  called before each input: (inputs done, inputs in all, the next one's reason)
    command   in place of a target: "./a.out {input} {output}"; setup: a Python file to run first;
    engine    of an ONNX model

    Special cases: what the function cannot do is "not supported" and no fault; where good systems differ,
    the difference is a convention and no fault, unless it was stated.
    Raises HeadworkError where there is nothing to check, or an option cannot be meant.

    >>> from headwork import attention, check
    >>> check(attention).is_right
    True
    """
    started = perf_counter()
    stated = _stated(stated, words)
    subject, name, is_ours = _subject(target, stated, limits, command, setup, engine)
    try:
        with products_on_one_thread():
            found = _checked(_Counted(subject), stated, progress, name)
        return replace(found, seconds=perf_counter() - started)
    finally:
        if is_ours:
            subject.close()


def _stated(stated: Stated | None, words: dict[str, Any]) -> Stated:
    words = {name: word for name, word in words.items() if word is not None}
    names = [each.name for each in fields(Stated)]
    if unknown := next((word for word in words if word not in names), ""):
        hint = hint_at(unknown, names, "There are")
        raise OptionError(f"nothing is called {unknown!r} that can be stated. {hint}")
    return replace(stated or Stated(), **words) if words else stated or Stated()


def _subject(
    target: Any, stated: Stated, limits: Limits | None, command: str, setup: str, engine: str
) -> tuple[Subject, str, bool]:
    """The subject, what to call it while it has no name, and whether it is ours to close."""
    if isinstance(target, str | Target) or command:
        from .runner import Runner

        if not isinstance(target, Target):
            target = read_target(
                target or "",
                command=command,
                setup=setup,
                device=stated.device,
                takes=stated.takes,
                engine=engine,
            )
        runner = Runner(target, limits or Limits())
        return runner, runner.name, True
    if hasattr(target, "call") and getattr_static(target, "signature", None):  # nothing is loaded yet
        return target, getattr(target, "name", ""), False
    from .here import Here

    return Here(target), "", True


class _Counted:
    """A subject whose calls are counted."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.calls = 0

    @property
    def signature(self) -> Signature:
        """The subject's own."""
        return self._subject.signature

    def call(self, call: Call) -> Outcome:
        """Call it once more."""
        self.calls += 1
        return self._subject.call(call)

    def close(self) -> None:
        """Let go of it."""
        self._subject.close()


# --- the whole ------------------------------------------------------------------------------------


def _checked(subject: _Counted, stated: Stated, progress: Progress | None, name: str) -> Check:
    try:
        interface = recognise(subject, stated)
    except CannotRunError as error:
        signature = Signature(name, "function", "", None)
        interface = Interface(signature, stated, Ways(()), failure=str(error))
    if interface.failure:
        return _not_run(interface, subject.calls)
    session = _Session(subject, interface, progress or (lambda done, total, what: None))
    found = session.run()
    other = _by_our_conventions(interface, found) or _by_other_conventions(interface, found)
    if other is not None:
        again = _Session(subject, replace(recognise(subject, other), stated=stated), session.progress).run()
        found = min(found, again, key=_oddity)
    return _in_more_axes(session, found) or found


def _in_more_axes(session: _Session, found: Check) -> Check | None:
    """The check with arrays of more axes, where it takes them as well and a mistake shows there."""
    stated, narrow = session.interface.stated, session.interface
    if not found.is_right or stated.layout or not narrow.also_runs:
        return None
    layout = max(narrow.also_runs, key=len)
    interface = recognise(session.subject, replace(stated, layout=layout))
    if interface.failure:
        return None
    wide = _Session(session.subject, replace(interface, stated=stated), session.progress).run()
    if wide.verdict != "wrong" or not wide.of("basic").explanations:
        return None
    own = narrow.ways.layouts["query"]
    said = (
        f"It takes arrays {axes_words(layout)} and is right for {axes_words(own)}; --layout {own} says that "
        "only those are meant."
    )
    return replace(wide, sentence=f"{wide.sentence} {said}")


def _by_our_conventions(interface: Interface, found: Check) -> Stated | None:
    """What else to assume where the function is wrong in a way that its conventions may come from.

    They were found by which way its weights move; where heads, samples or keys are mixed up, that says
    little.
    """
    own = (
        ("mask", "mask_means", "attend"),
        ("causal", "causal", "lower_right"),
        ("window", "window_counts", "others"),
    )
    other: dict[str, Any] = {
        option: word
        for name, option, word in own
        if interface.conventions.get(name, word) != word and not getattr(interface.stated, option)
    }
    is_doubtful = found.of("basic").verdict == "wrong" or any(each.unexplained for each in found.features)
    return replace(interface.stated, **other) if other and is_doubtful else None


def _by_other_conventions(interface: Interface, found: Check) -> Stated | None:
    """What else to assume where a convention could not be seen, and with ours no plain rule explains the
    rest."""
    doubtful = {each.feature.id for each in found.features if each.unexplained or _has_number(each)}
    own = interface.conventions
    other: dict[str, Any] = {}
    if "causal" in doubtful and "causal" not in own and not interface.stated.causal:
        other["causal"] = "upper_left"
    is_assumed = any(each.what == "window" and each.how == "assumed" for each in interface.found)
    if "window" in doubtful and is_assumed and not interface.stated.window_counts:
        other["window_counts"] = "itself"
    return replace(interface.stated, **other) if other else None


def _has_number(report: FeatureReport) -> bool:
    """Whether some explanation has a number that was solved for."""
    return any(theta is not None for each in report.explanations for theta in each.thetas)


def _oddity(found: Check) -> tuple[int, int]:
    """How many features are wrong in a way of their own, those that nothing explains counted twice; and
    numbers solved for."""
    wrong = [each for each in found.features if each.verdict == "wrong"]
    return sum((not each.follows) + bool(each.unexplained) for each in wrong), sum(map(_has_number, wrong))


def _not_run(interface: Interface, calls: int) -> Check:
    reason = interface.failure.removeprefix("It could not be run, since ")
    sentence = f"{interface.signature.name or 'It'} could not be run: {reason}"
    features = tuple(FeatureReport(feature, "could not be run", reason) for feature in FEATURES)
    return Check(interface.signature.name, "could not be run", sentence, interface, features, calls=calls)


@dataclass(eq=False)
class _Session:
    """One check, from the first case to the last sentence."""

    subject: _Counted
    interface: Interface
    progress: Progress
    known: Known = field(init=False)
    asked: list[Asked] = field(default_factory=list)
    backward: list[Backward] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verdicts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = Known(self.interface.stated)

    def run(self) -> Check:
        """Every step, in order."""
        sizes = self._ask_all()
        self.notes += [f"not supported: {said}" for said in refusals(self.asked)]
        reports = []
        for feature in FEATURES:
            reports.append(self._judged(feature))
            self.verdicts[feature.id] = reports[-1].verdict
        self.known.is_second = True
        reports = [self._judged_again(each) if self._is_unexplained(each) else each for each in reports]
        reports = self._in_order(reports)
        self._tell_apart()
        reports = self._with_laws([self._explained(report) for report in reports])
        reports = [replace(each, sentence=feature_sentence(each, self.interface)) for each in reports]
        sound = {each.feature.id for each in reports if each.verdict in FINE}
        found = weaknesses(self.subject, self.interface, self.asked, sound, self.known)
        verdict = worst_of([each.verdict for each in reports])
        name = self.interface.signature.name
        return Check(
            name,
            verdict,
            check_sentence(name, verdict, reports, found),
            self.interface,
            tuple(reports),
            found,
            self._unseen(sizes),
            self._failing(reports),
            tuple(self.notes),
            self.subject.calls,
        )

    # --- asking ---

    def _cases(self, sizes: Sizes) -> tuple[Case, ...]:
        interface = self.interface
        return draw_battery(
            lambda f: bool(interface.supports(f)), interface.dtypes, sizes, interface.alignment
        )

    def _ask_all(self) -> Sizes:
        """Ask every case, and those again that were refused for their sizes, inside what is taken."""
        sizes = self.interface.sizes & self._own_axes()
        cases = self._cases(sizes)
        self._ask(cases)
        narrower = sizes & taken_sizes(self.asked)
        if narrower != sizes:
            fine = {each.case.id for each in self.asked if each.target is not None}
            asked = set(cases)
            self._ask([case for case in self._cases(narrower) if case.id not in fine and case not in asked])
        self.asked += layout_cases(self.subject, self.interface, cases)
        self.progress(len(cases), len(cases), LAST)
        return narrower

    def _ask(self, cases: Sequence[Case]) -> None:
        hangs: Counter[str] = Counter()
        for done, case in enumerate(cases):
            if hangs[case.feature] >= MOST_HANGS:
                continue
            self.progress(done, len(cases), case.why)
            if case.step == "gradients":
                self.backward.append(ask_backward(self.subject, self.interface, case))
                continue
            answer = ask(self.subject, self.interface, case)
            hangs[case.feature] += answer.has_ended
            self.asked.append(answer)

    # --- judging ---

    def _mine(self, feature: Feature) -> list[Asked]:
        return [each for each in self.asked if each.case.feature == feature.id]

    def _judged(self, feature: Feature) -> FeatureReport:
        support = self.interface.supports(feature.id)
        if not support:
            verdict = "could not be run" if broke_down(feature.id, self.interface) else "not supported"
            return FeatureReport(feature, verdict, support.reason)
        if feature.id == "gradients":
            return self._judged_backward(feature)
        report = judge(feature, self._mine(feature), self.known)
        if feature.id == "logsumexp" and report.unexplained:
            report = self._in_natural_logarithms(feature) or report
        if report.verdict == "right" and other_conventions(feature.id, self.interface):
            return replace(report, verdict="convention")
        return report

    def _judged_again(self, report: FeatureReport) -> FeatureReport:
        """The same with what was found since, and without the cases that need a feature which is wrong by
        itself."""
        own = self.known.found.pop(report.feature.id, None)
        others = set(self.known.found) - {"basic"}
        mine = self._mine(report.feature)
        alone = [each for each in mine if not each.case.needs & others]
        if not any(each.is_wrong for each in alone):
            needed = {name for each in mine if each.is_wrong for name in each.case.needs & others}
            return replace(report, follows=next(f.id for f in FEATURES if f.id in needed), unexplained=())
        again = self._judged(report.feature)
        if again.unexplained and len(alone) < len(mine):
            self.known.found.pop(report.feature.id, None)
            found = judge(report.feature, alone, self.known)
            again = replace(found, cases=report.cases)
        if own is not None and len(again.unexplained) >= len(report.unexplained):
            self.known.found[report.feature.id] = own
            return report
        return again

    def _in_order(self, reports: Sequence[FeatureReport]) -> list[FeatureReport]:
        """The same with each explanation at the first feature that it explains: what comes later follows."""
        ordered, known = list(reports), self.known.found
        for at, report in enumerate(ordered):
            cases = tuple(each for each in self._mine(report.feature) if each.is_wrong)
            is_its_own = any(report.follows not in each.case.needs for each in cases)
            is_later = report.follows in {each.feature.id for each in ordered[at + 1 :]}
            if not is_later or not is_its_own or report.follows not in known:
                continue
            own, moved = known.get(report.feature.id, []), known.pop(report.follows)
            known[report.feature.id] = own + [
                explained for one in moved for explained in explained_by(one, cases)
            ]
            ordered[at] = replace(report, follows="")
            for later in range(at + 1, len(ordered)):
                feature = ordered[later].feature
                if known.pop(feature.id, None) is not None or feature.id == report.follows:
                    ordered[later] = self._judged(feature)
        return ordered

    def _is_unexplained(self, report: FeatureReport) -> bool:
        """Whether nobody knows why it is wrong, and something was found elsewhere that may play a part in
        it."""
        return bool(report.unexplained) and any(each != report.feature.id for each in self.known.found)

    def _in_natural_logarithms(self, feature: Feature) -> FeatureReport | None:
        """Wrong numbers that seemed to be in base 2, taken as they came: whether a rule explains them."""
        stated, found = self.interface.stated, self.interface.conventions.get("logsumexp")
        if found != "base 2" or stated.logsumexp:
            return None
        mine = [as_it_came(each) for each in self._mine(feature)]
        report = judge(feature, mine, self.known)
        if report.unexplained:
            return None
        self.asked = [each for each in self.asked if each.case.feature != feature.id] + mine
        return report

    def _judged_backward(self, feature: Feature) -> FeatureReport:
        """Gradients are judged where the output is right: those of a wrong one are right for what it is.

        So are those of rows that may see nothing, where the output of these is another than 0 by convention.
        """
        wrong = {each.case.feature for each in self.asked if each.is_wrong}
        has_zeros = self.interface.conventions.get("empty rows", "zero") == "zero"
        judged = [each for each in self.backward if has_zeros or not each.case.lenient]
        mine = [each for each in judged if not (each.case.needs | {"basic"}) & wrong]
        reports = tuple(each.report for each in mine)
        if not mine and self.backward:
            origin = next(f.id for f in FEATURES if f.id in wrong)
            if self.verdicts[origin] in FINE:
                return FeatureReport(feature, "rounding", ROUNDED)
            return FeatureReport(feature, "wrong", "", follows=origin)
        if not any(each.given for each in mine):
            said = next((each.refused for each in mine), "none of its inputs could be asked.")
            return FeatureReport(feature, "not supported", said, reports)
        if any(each.is_wrong for each in mine):
            return FeatureReport(feature, "wrong", "", reports, gradients=explained(mine, self.interface))
        return FeatureReport(feature, "right", "", reports)

    def _tell_apart(self) -> None:
        """The second round: an input that separates what is left."""
        room = MOST_ASKED
        for found in self.known.found.values():
            for at, one in enumerate(found):
                if room > 0 and sum(len(group.rules) for group in one.groups) > 1:
                    groups, asked = told_apart(
                        self.subject, self.interface, one.groups, Cases(one.cases, []), room
                    )
                    found[at] = replace(one, groups=groups)
                    self.notes += [f"second round: {each.case.why}" for each in asked]
                    room -= len(asked)

    def _explained(self, report: FeatureReport) -> FeatureReport:
        found = self.known.found.get(report.feature.id, [])
        others = (one for name, each in self.known.found.items() if name != report.feature.id for one in each)
        before = tuple(dict.fromkeys(m for one in others for m in one.first.mistakes))
        return replace(
            report, explanations=explanations(found, before, self.interface.stated, report.verdict)
        )

    def _with_laws(self, reports: Sequence[FeatureReport]) -> list[FeatureReport]:
        main = self.interface.dtypes[0]
        right = [
            each for each in self.asked if each.target is not None and not each.is_wrong and not each.is_weak
        ]
        right = [each for each in right if each.case.dtype == main and each.layout == "contiguous"]
        known = {each.problem: each.values["output"] for each in right if "output" in each.values}
        broken: dict[str, list[Broken]] = {}
        for each in broken_laws(self.subject, self.interface, [each.case for each in right], known):
            broken.setdefault(each.law.feature, []).append(each)
        return [_with_broken(report, tuple(broken.get(report.feature.id, ()))) for report in reports]

    # --- the rest ---

    def _unseen(self, sizes: Sizes) -> tuple[Lost, ...]:
        """What can no longer be seen, where sizes or inputs were refused."""
        if sizes == self._own_axes() and not any(each.target is None for each in self.asked):
            return ()
        left = [each.case for each in self.asked if each.target is not None]
        return lost([case for case in self._cases(self._own_axes()) if case.step != "gradients"], left)

    def _own_axes(self) -> Sizes:
        """What its arrays are by nature: no samples, or no heads, where they have no axis for them."""
        ways = self.interface.ways
        layout = (
            (ways.layouts.get("query") or ways.layouts.get("qkv", "BHTD"))
            .replace("E", "HD")
            .replace("F", "HD")
        )
        absent = [letter for letter in ("B", "H", "Hkv") if letter[0] not in layout]
        return Sizes(among=tuple((letter, (1,)) for letter in absent))

    def _failing(self, reports: Sequence[FeatureReport]) -> Any:
        root = next((each for each in reports if each.verdict == "wrong"), None)
        failing = [each for each in self._mine(root.feature) if each.is_wrong] if root is not None else []
        if root is None or not failing:
            return None
        found = self.known.found.get(root.feature.id, [])
        groups = found[0].groups if found else ()
        over = root.arithmetic.overflows if root.arithmetic is not None else ()
        failing = [each for each in failing if each.case.id in over] or failing
        small = smallest(self.subject, self.interface, found[0].cases if found else failing, groups)
        return failing_of(small, self.interface, root.sentence)


def explained_by(found: Found, cases: Sequence[Asked]) -> Iterator[Found]:
    """The same explanation, of those of the cases that it explains."""
    explained = Cases(cases, []).explained(found.first)
    if explained:
        yield replace(found, cases=tuple(explained))


def as_it_came(asked: Asked) -> Asked:
    """The logsumexp without what was done to it for being in base 2."""
    values = {
        name: array / math.log(2) if name == "logsumexp" else array for name, array in asked.values.items()
    }
    return replace(asked, values=values)


def _with_broken(report: FeatureReport, broken: tuple[Broken, ...]) -> FeatureReport:
    if not broken:
        return report
    verdict = "wrong" if report.verdict in FINE else report.verdict
    return replace(report, verdict=verdict, broken=broken)
