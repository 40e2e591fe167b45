"""What is no wrong number and bites later: leaks of padding, empty rows, side effects, arrays that are
refused.

It is said in a section of its own and fails only where somebody asks for strictness. Wrong numbers are wrong
wherever they come from: those for strided arrays are cases of the battery like any other (`layout_cases`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .battery import Case
from .calls import Subject
from .cases import Cases, Judged
from .comparing import Asked, ask, sees_something
from .explaining import explain
from .interface import Interface
from .judging import Known, explanations
from .laws import changed
from .report import Explanation, Weakness
from .rules import Found

WEAKNESSES = (
    "padding-leaks",
    "empty-rows",
    "low-scores",
    "not-repeatable",
    "layout-refused",
    "float-mask-refused",
    "dtype",
    "changes-its-input",
    "side-effects",
    "prints",
)
LAYOUTS = {
    "strided": "arrays that are every other entry of larger ones",
    "transposed": "arrays whose axes lie in another order in memory, as after a transpose",
    "expanded": "arrays that repeat with a stride of 0, as after expand or broadcast_to",
}
LAID_OUT = ("numpy", "torch", "cupy")  # libraries whose arrays have strides
ROWS = {  # what the catalogue calls it, and what such a row gets
    "fully-masked-row-nan": "NaN",
    "fully-masked-row-uniform": "the mean of all values",
    "fully-masked-row-unmasked": "what it would get without the mask",
}
MOST_NAMED = 4  # cases, or arguments, that a sentence lists
MOST_PRINTED = 80  # characters
LEAKS = (
    "what nobody may see is not quite hidden: NaN or ∞ in masked keys and values reaches the output. "
    "0 times NaN is NaN; choose with np.where, or clear the padding first."
)
LOW = (
    "where all scores are far below 0, masked keys come back: what is written for −∞ is not low enough. "
    "Write −∞ itself."
)


# --- other ways to lie in memory ------------------------------------------------------------------


def layout_cases(subject: Subject, interface: Interface, cases: Sequence[Case]) -> Iterator[Asked]:
    """The first case once more for each way in which its arrays may lie in memory."""
    case = next((case for case in cases if case.id == "basic/sizes-differ"), None)
    has_strides = interface.signature.kind in ("function", "module") and interface.ways.library in LAID_OUT
    if case is not None and has_strides:
        for layout in LAYOUTS:
            yield ask(subject, interface, laid_case(case, layout), layout=layout)


@lru_cache(maxsize=256)
def laid_case(case: Case, layout: str) -> Case:
    """The case for that layout; for strides of 0 every sample is the first one."""
    problem = case.problem
    if layout == "expanded":
        samples = {name: getattr(problem, name) for name in ("query", "key", "value")}
        same = {name: np.broadcast_to(array[:1], array.shape).copy() for name, array in samples.items()}
        problem = changed(problem, **same)
    return replace(case, id=f"basic/{layout}", why=LAYOUTS[layout], problem=problem)


# --- what is said -----------------------------------------------------------------------------------


def weaknesses(
    subject: Subject, interface: Interface, asked: Sequence[Asked], sound: set[str], known: Known
) -> tuple[Weakness, ...]:
    """What there is to say about robustness, in the order of WEAKNESSES.

    asked  every case; sound: the features that are not wrong: weaknesses of others come from what is wrong
    there
    """
    mine = [each for each in asked if each.case.feature in sound]
    found = [
        *_weak(mine, known),
        *_not_repeatable(subject, asked),
        *_refused(mine, interface),
        *_dtype(mine),
        *_left_behind(asked, interface),
    ]
    return tuple(sorted(found, key=lambda each: WEAKNESSES.index(each.id)))


def _weak(asked: Sequence[Asked], known: Known) -> Iterator[Weakness]:
    kinds: dict[str, list[Asked]] = {"padding-leaks": [], "empty-rows": [], "low-scores": []}
    for each in asked:
        if each.is_weak:
            kinds[kind_of(each)].append(each)
    for kind, weak in kinds.items():
        if weak:
            found = _explained(weak, asked, known)
            said = {"padding-leaks": LEAKS, "low-scores": LOW}.get(kind) or empty_rows_said(weak, found)
            yield Weakness(kind, said, tuple(each.case.id for each in weak), found)


def kind_of(asked: Asked) -> str:
    """Which weakness it is: by what is in the case."""
    if not np.isfinite(asked.problem.key).all() or not np.isfinite(asked.problem.value).all():
        return "padding-leaks"
    return "empty-rows" if not sees_something(asked.exact, asked.case.step).all() else "low-scores"


def _explained(weak: Sequence[Asked], asked: Sequence[Asked], known: Known) -> tuple[Explanation, ...]:
    """The rules that give these numbers, and the right ones on every case of the same features."""
    features = {each.case.feature for each in weak}
    others = [each for each in asked if each.case.feature in features and each.target is not None]
    cases = Cases(weak, [each for each in others if each not in weak], _loose_where(weak))
    groups = explain(cases, pairs=False)
    return explanations([Found(groups, tuple(weak))], (), known.stated, "right") if groups else ()


def _loose_where(weak: Sequence[Asked]) -> Judged:
    return lambda asked: np.ones_like(asked.loose) if asked in weak else ~asked.loose


def empty_rows_said(weak: Sequence[Asked], found: Sequence[Explanation]) -> str:
    """What the output of a row is that may see nothing."""
    ids = {id for each in found for reading in each.ids for id in reading}
    words = [word for id, word in ROWS.items() if id in ids] or list(dict.fromkeys(map(_row_word, weak)))
    return (
        f"a query that may see nothing gets {' or '.join(words)} where zeros were expected "
        "(docs/conventions.md). "
        "Good systems differ here; say which is meant with --empty-rows."
    )


def _row_word(asked: Asked) -> str:
    values = asked.values[asked.case.step][asked.off & asked.loose]
    if np.isnan(values).all():
        return "NaN"
    if not np.isfinite(values).all():
        return "infinities"
    return "numbers"


def _not_repeatable(subject: Subject, asked: Sequence[Asked]) -> Iterator[Weakness]:
    first = next((each for each in asked if each.outcome is not None and each.outcome.outputs), None)
    if first is None or first.call is None or first.outcome is None:
        return
    again = subject.call(first.call)
    before, after = first.outcome.outputs, again.outputs
    same = len(before) == len(after) and all(
        a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True)
    )
    if not same:
        said = "the same call twice does not give the same bits."
        yield Weakness("not-repeatable", said, (first.case.id,))


def _refused(asked: Sequence[Asked], interface: Interface) -> Iterator[Weakness]:
    for each in asked:
        if each.layout != "contiguous" and each.outcome is not None and not each.outcome.is_fine:
            yield Weakness(
                "layout-refused", f"it refuses {LAYOUTS[each.layout]}: {each.outcome.said}", (each.case.id,)
            )
    reason = interface.supports("mask-float")
    if (
        interface.supports("mask-bool")
        and not reason
        and "mask" in {a.role for a in interface.ways.arguments}
    ):
        yield Weakness("float-mask-refused", f"it takes no mask that is added to the scores: {reason.reason}")


def _dtype(asked: Sequence[Asked]) -> Iterator[Weakness]:
    said = {f.said: each.case.id for each in asked for f in each.findings if f.kind == "dtype"}
    if said:
        yield Weakness("dtype", f"{next(iter(said))}", tuple(dict.fromkeys(said.values())))


def _left_behind(asked: Sequence[Asked], interface: Interface) -> Iterator[Weakness]:
    outcomes = [each.outcome for each in asked if each.outcome is not None]
    changed_ones = dict.fromkeys(place for outcome in outcomes for place in outcome.changed)
    if changed_ones:
        names = " and ".join(argument_name(interface, place) for place in list(changed_ones)[:MOST_NAMED])
        yield Weakness("changes-its-input", f"it writes into the arrays that it is given: {names}.")
    effects = dict.fromkeys(effect for outcome in outcomes for effect in outcome.side_effects)
    for effect in effects:
        yield Weakness("side-effects", f"{effect}.")
    printed = next((outcome.printed for outcome in outcomes if outcome.printed.strip()), "")
    if printed:
        yield Weakness("prints", f"it prints: {' '.join(printed.split())[:MOST_PRINTED]}")


def argument_name(interface: Interface, place: int | str) -> str:
    """The parameter at that place."""
    taken: Iterable[str] = (
        a.name for a in interface.ways.arguments if a.parameter.kind not in ("*args", "**kwargs")
    )
    return place if isinstance(place, str) else list(taken)[place]
