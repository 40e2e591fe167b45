"""What a check says, for people: how the function was recognised, a verdict on each feature, what to mend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap

from ..conformance.interface import Interface
from ..conformance.report import FINE, CaseReport, Check, Explanation, Failing, FeatureReport, Weakness
from ..conformance.sentences import OWN, STEPS
from ..conformance.stated import WORDS, Found
from ..mistakes.mistake import Mistake
from .diagnose_text import chance_words
from .explanation_text import ids_of, more_about
from .input_text import array_text, input_lines
from .text import NO_BREAK, bold, printable, spelled, wrapped

# Beside a word, always: nothing is said by a sign, or by bold type, alone.
SIGNS = {
    "right": "✓",
    "convention": "≠",
    "rounding": "≈",
    "wrong": "✗",
    "could not be run": "!",
    "not supported": "–",
}
FOLLOWS = "↳"  # it is so only because something before it is
HOW = {  # where it is known from, in the order in which it is said
    "stated": "as stated",
    "name": "by its names",
    "annotation": "by its annotations",
    "documentation": "by its documentation",
    "tried": "by trying",
    "assumed": "assumed",
}
BARE = ("it has no ", "it does not return ")  # reasons that say no more than the feature's title
SIZE = re.compile(r"\b[A-Z][a-z]{,2} = \d+")  # stays on one line
NARROW = 26  # columns of a table's last column, below which it goes on a line of its own
LONGEST_REASON = 120  # characters of what an exception says, where it is no fault
MOST_UNSEEN = 8  # mistakes, and
MOST_OTHERS = 3  # other readings, that are listed; --json has all of them
MOST_NUMBERS = 24  # of the smallest failing input, that are written out
DIGITS, ALL_DIGITS = 4, 17  # significant ones; a float64 has no more than 17


@dataclass(frozen=True)
class Line:
    """One paragraph, before it is wrapped."""

    text: str = ""
    margin: str = ""
    hang: str = ""
    is_heading: bool = False


def check_page(
    check: Check, width: int, *, plain: bool = False, strict: bool = False, file: str = ""
) -> Iterator[str]:
    """Everything that a person wants to know of a check, the sentence to act on at the end.

    width   columns to fill; plain: for a screen reader; strict: whether matters of robustness fail it
    file    where the smallest failing input was written to, "" for nowhere
    """
    yield from rendered(_recognised(check), width, plain)
    if not check.interface.failure:
        yield ""
        yield from _table(check, width, plain)
    more = (
        *(_detail(each, check.interface) for each in _worth_telling(check)),
        _failing(check.failing, f"{file} runs it." if file else "--reproduce FILE.py writes it as Python."),
        _robustness(check.weaknesses, strict),
        _not_supported(check),
        _unseen(check),
        (Line(f"Note: {note}.".replace("..", "."), hang="  ") for note in check.notes),
        [Line(check.sentence, is_heading=True)],
    )
    for part in more:
        lines = list(rendered(part, width, plain))
        yield from ["", *lines] if lines else []


def failure_page(check: Check, width: int, *, strict: bool = False) -> Iterator[str]:
    """What is wrong and nothing else, the sentence to act on first: for the message of a failing test."""
    telling = [each for each in _worth_telling(check) if each.verdict not in FINE]
    details = (_detail(each, check.interface) for each in telling)
    parts = (
        [Line(check.sentence)],
        *([line for line in detail if line.text[1:] not in check.sentence] for detail in details),
        _robustness(check.weaknesses, strict) if strict else (),
        _failing(check.failing),
    )
    for number, part in enumerate(parts):
        lines = list(rendered(part, width, is_bare=True))
        yield from ["", *lines] if lines and number else lines


def feature_page(check: Check, report: FeatureReport, width: int) -> Iterator[str]:
    """All that there is to say of one feature, with the smallest failing input where it is one of its."""
    lines = [*_detail(report, check.interface)]
    if check.failing is not None and check.failing.case.feature == report.feature.id:
        lines += [Line(), *_failing(check.failing)]
    yield from rendered(lines, width, is_bare=True)


def rendered(lines: Iterable[Line], width: int, plain: bool = False, is_bare: bool = False) -> Iterator[str]:
    """The lines as they are printed; is_bare: for no terminal, so without bold type."""
    for line in lines:
        text = SIZE.sub(lambda match: match.group().replace(" ", NO_BREAK), printable(line.text))
        text = wrapped(in_words(text) if plain else text, width, line.margin, line.hang)
        yield bold(text) if line.is_heading and not (plain or is_bare) else text


def in_words(text: str) -> str:
    """The text for a screen reader: a sign at its beginning goes, as the word for it is there."""
    return spelled(text[2:] if text[:1] in (*SIGNS.values(), FOLLOWS) else text)


# --- what was recognised ---------------------------------------------------------------------------


def _recognised(check: Check) -> Iterator[Line]:
    interface = check.interface
    name = interface.signature.name or "this function"
    asked = f": {count_text(check.calls, 'call')} in {check.seconds:.1f} s" if check.calls else ""
    dtypes = f", in {' and '.join(interface.dtypes)}" if interface.dtypes else ""
    yield Line(f"{name}{asked}{dtypes}", is_heading=True)
    for how, word in HOW.items():
        said = [found.said for found in _once(interface.found) if found.how == how]
        if said:
            yield Line(f"{word}: {'; '.join(said)}", "  ", "  ")


def _once(found: Sequence[Found]) -> list[Found]:
    """Of what is said about sizes, the last: it holds all that was said before."""
    sizes = [each for each in found if each.what == "sizes"]
    return [each for each in found if each.what != "sizes" or each is sizes[-1]]


# --- the table -------------------------------------------------------------------------------------


def _table(check: Check, width: int, plain: bool) -> Iterator[str]:
    rows = [each for each in check.features if each.verdict != "not supported"]
    titles = max((len(each.feature.title) for each in rows), default=0)
    words = max((len(each.verdict) for each in rows), default=0)
    for each in rows:
        title, note = each.feature.title, _note(each)
        if plain:
            yield from rendered([Line(f"{title}: {each.verdict}; {note}", hang="  ")], width, plain)
            continue
        start = f"  {sign_of(each)} {title:<{titles}}  {each.verdict:<{words}}"
        room = width - len(start) - 2
        if room >= NARROW:
            first, *rest = wrap(note, room) or [""]
            yield f"{start}  {first}".rstrip()
            yield from (" " * (len(start) + 2) + line for line in rest)
        else:
            yield wrapped(f"{sign_of(each)} {title}: {each.verdict}", width)
            yield wrapped(note, width, "      ", "")


def sign_of(report: FeatureReport) -> str:
    """The sign of its verdict."""
    return FOLLOWS if only_follows(report) else SIGNS[report.verdict]


def only_follows(report: FeatureReport) -> bool:
    """Whether what there is to say was said of a feature before."""
    return bool(report.follows) and not (report.explanations or report.unexplained)


def _note(report: FeatureReport) -> str:
    """A few words beside the verdict."""
    if only_follows(report):
        return "by the convention above" if report.verdict in FINE else "because of what is wrong above"
    compared = [case for case in report.cases if case.error is not None]
    if report.verdict in FINE:
        return _exactness(report, len(compared))
    off = [case for case in report.cases if case.verdict == report.verdict]
    count = f"on {len(off)} of {count_text(len(report.cases), 'input')}" if off else ""
    return ", ".join(filter(None, (name_of(report), count)))


def _exactness(report: FeatureReport, count: int) -> str:
    worst = report.worst
    if worst is None:
        return ""
    ratio = f", {worst.ratio:.2g}× NumPy's" if worst.ratio else ""
    error = f"within {worst.error:.1e}{ratio}" if worst.error else "exact"
    return f"{count_text(count, 'input')}, {error}"


def count_text(count: int, noun: str) -> str:
    """1 input, 2 inputs."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def name_of(report: FeatureReport) -> str:
    """The ids of what was found in it, of the first of several; "" where nothing has a name."""
    if report.explanations:
        return ", ".join(ids_of(alike[0].readings[0]) for alike in by_cases(report.explanations))
    return next(iter([*(each.id for each in report.gradients), *(each.law.id for each in report.broken)]), "")


def _not_supported(check: Check) -> Iterator[Line]:
    """What it does not have: by title where there is no more to say, else each with its reason."""
    absent = [each for each in check.features if each.verdict == "not supported"]
    if check.interface.failure or not absent:
        return
    yield Line("Not supported, which is no fault", is_heading=True)
    titles = [each.feature.title for each in absent if is_bare(each)]
    if titles:
        yield Line(f"{SIGNS['not supported']} {'; '.join(titles)}", "  ", "  ")
    for each in absent:
        if not is_bare(each):
            said = shorten(each.sentence, LONGEST_REASON, placeholder=" …")
            yield Line(f"{SIGNS['not supported']} {each.feature.title}: {said}", "  ", "  ")


def is_bare(report: FeatureReport) -> bool:
    """Whether its sentence says no more than its title."""
    return report.sentence.lower().startswith(BARE)


# --- one feature -----------------------------------------------------------------------------------


def _worth_telling(check: Check) -> list[FeatureReport]:
    """The features of which a table does not say enough, each thing said once, what is wrong first."""
    told: dict[str, FeatureReport] = {}
    for each in check.features:
        if each.verdict not in ("right", "not supported") and not only_follows(each):
            told.setdefault("unexplained" if _is_unexplained(each) else each.sentence, each)
    return [] if check.interface.failure else sorted(told.values(), key=lambda each: each.verdict in FINE)


def _is_unexplained(report: FeatureReport) -> bool:
    return bool(report.unexplained) and not report.explanations


def by_cases(found: Sequence[Explanation]) -> list[list[Explanation]]:
    """The explanations of the same cases together: of those, one holds."""
    groups: dict[tuple[str, ...], list[Explanation]] = {}
    for each in found:
        groups.setdefault(each.cases, []).append(each)
    return list(groups.values())


def _detail(report: FeatureReport, interface: Interface) -> Iterator[Line]:
    name = name_of(report) if report.verdict == "wrong" else ""
    yield Line(
        f"{sign_of(report)} {report.feature.title}: {report.verdict}{f', {name}' if name else ''}",
        is_heading=True,
    )
    yield Line(report.sentence, "  ", "")
    for alike in by_cases(report.explanations):
        yield from _explained(report, alike)
    yield from (
        Line(f"– {each.said}", "  ", "  ") for each in report.broken if each.said not in report.sentence
    )
    if options := option_words(report, interface):
        yield Line(f"State it and it is held to that: {options}.", "  ", "")


def _explained(report: FeatureReport, alike: Sequence[Explanation]) -> Iterator[Line]:
    """Why it is wrong, how sure that is, where it was seen, and what else it may be."""
    first = alike[0]
    if not first.convention:
        why = " ".join(mistake.why for mistake in first.readings[0])
        yield Line(f"Why it is not right: {why}", "  ", "")
    where = f"on {len(first.cases)} of {count_text(len(report.cases), 'input')}"
    yield Line(f"How sure: {chance_words(first.bits)}, {where}.", "  ", "")
    if report.first_step:
        yield Line(f"The first step that is not right is {STEPS[report.first_step]}.", "  ", "")
    others = [reading for each in alike for reading in each.readings][1:]
    if others:
        yield Line("The same numbers come from:", "  ", "")
        yield from (Line(f"– {_reading_words(each)}", "  ", "  ") for each in others[:MOST_OTHERS])
    if len(others) > MOST_OTHERS:
        yield Line(f"– {len(others) - MOST_OTHERS} more; --json lists them", "  ", "")
    yield Line(more_about(first.readings[0]), "  ", "")


def _reading_words(reading: tuple[Mistake, ...]) -> str:
    """Ids, what was done, and how to mend it."""
    done = " and ".join(mistake.title for mistake in reading)
    return f"{ids_of(reading)}: it {done}. {' '.join(mistake.mend for mistake in reading)}"


def option_words(report: FeatureReport, interface: Interface) -> str:
    """The options that state the conventions found in a feature: "--mask-means drop"."""
    if report.verdict != "convention":
        return ""
    found = {name: interface.conventions.get(name, own) for name, own in OWN.get(report.feature.id, ())}
    options = {"mask": "mask_means", "window": "window_counts"}
    said = (
        f"--{option.replace('_', '-')} {value}"
        for name, value in found.items()
        if value in WORDS.get(option := options.get(name, name), ())
    )
    return " ".join(said)


# --- the rest --------------------------------------------------------------------------------------


def _robustness(weaknesses: Sequence[Weakness], strict: bool) -> Iterator[Line]:
    if weaknesses:
        when = "strict: it fails" if strict else "it fails only with --strict"
        yield Line(f"Robustness ({when})", is_heading=True)
    for each in weaknesses:
        said = f"– {each.id}: {each.said}"
        names = dict.fromkeys(e.readings[0][0].id for e in each.explanations)
        more = "".join(f" headwork explain {name} says more." for name in names)
        yield Line(said + more, "  ", "  ")


def _unseen(check: Check) -> Iterator[Line]:
    if not check.unseen:
        return
    yield Line("What cannot be seen with the sizes and inputs that it takes", is_heading=True)
    yield Line("Whether it:", "  ")
    yield from (
        Line(f"– {each.mistake.title} ({each.mistake.id})", "  ", "  ") for each in check.unseen[:MOST_UNSEEN]
    )
    if len(check.unseen) > MOST_UNSEEN:
        yield Line(f"– and {len(check.unseen) - MOST_UNSEEN} more; --json lists them", "  ", "  ")


def _failing(failing: Failing | None, more: str = "") -> Iterator[Line]:
    """The smallest failing input, in numbers where they are few; and where there is more."""
    if failing is None:
        return
    yield Line("The smallest input on which it fails", is_heading=True)
    yield Line(f"{sizes_text(failing.case.sizes)}, {failing.case.dtype}", "  ", "  ")
    few = list(input_lines(failing.case.problem, MOST_NUMBERS, DIGITS))
    if len(few) > 1:  # one line would be the sizes once more
        yield from (Line(line, "    ", "  ") for line in (*few, *_expected_and_got(failing)))
    yield from [Line(more, "  ", "")] if more else []


def _expected_and_got(failing: Failing) -> Iterator[str]:
    """Both with as few digits as show the difference."""
    both = (failing.expected, failing.got)
    texts = ([array_text(each, digits) for each in both] for digits in (DIGITS, 2 * DIGITS, ALL_DIGITS))
    expected, got = next((pair for pair in texts if pair[0] != pair[1]), ("?", "?"))
    yield f"expected {expected}"
    yield f"it gave {got}"


def sizes_text(sizes: Mapping[str, int]) -> str:
    """B = 2, H = 3, Tq = 5, …; the key/value heads only where they are fewer."""
    shown = {name: size for name, size in sizes.items() if name != "Hkv" or size != sizes["H"]}
    return ", ".join(f"{name} = {size}" for name, size in shown.items())


def case_text(case: CaseReport) -> str:
    """One input and what came of it, on a line."""
    if case.error is None:
        return f"{case.case.id}: {case.verdict}. {case.said}".rstrip()
    off = f"off by {case.error:.2g}; {case.allowed:.2g} is allowed"
    return f"{case.case.id} ({case.case.why}): {case.verdict}, {off}"
