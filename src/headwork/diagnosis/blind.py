"""Blind spots: the mistakes that an input cannot show at a step, and those it cannot tell apart.

Works for one problem or a set of them, such as the inputs of several tests: a set shows what any of its
problems shows. "Shows" is strict: even an answer that was rounded along the way is certain to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import OptionError
from ..mistakes.catalogue import CATALOGUE
from ..mistakes.lookup import mistake_named
from ..mistakes.mistake import Mistake
from ..problem import Problem
from .distinct import Numbers, alike, differs, judged, makeable, numbers_of, step_of
from .hiding import EXACT, never_hides, other_step, why_hidden
from .plan import Hypothesis, compatible
from .reach import FINAL
from .search import MOST_ENTRIES
from .separating import far_problems, nearby_problems
from .tolerance import DIGITS

MOST_LOOKED_AT = 24  # nearby problems
FIRST_ROUND = 8  # of them, of different sizes
PATIENCE = 3  # of them in a row without anything new


@dataclass(frozen=True, eq=False)
class Blind:
    """A mistake that cannot be seen, and why.

    Fields
    mistake  the record; reason: when it hides, and what happens on this input
    """

    mistake: Mistake
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"id": self.mistake.id, "title": self.mistake.title, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Alike:
    """Mistakes that give the same numbers, each the same as every other.

    Fields
    mistakes  two or more records
    apart     a problem on which most pairs of them differ, or None where none was found
    still     the pairs that are the same there too; other_step: where they differ, "" for nowhere
    """

    mistakes: tuple[Mistake, ...]
    apart: Problem | None
    still: tuple[tuple[Mistake, Mistake], ...]
    other_step: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {
            "ids": [mistake.id for mistake in self.mistakes],
            "apart": self.apart and self.apart.to_dict(),
            "still": [[a.id, b.id] for a, b in self.still],
            "other_step": self.other_step,
        }


@dataclass(frozen=True, eq=False)
class Nearby:
    """An input like one of the set that shows what the set cannot.

    Fields
    problem  the input; shows: the invisible mistakes that it shows and those before it do not
    """

    problem: Problem
    shows: tuple[Mistake, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {
            "problem": self.problem.to_dict(),
            "shows": [mistake.id for mistake in self.shows],
        }


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of mistakes that each show alone.

    Fields
    tried      how many pairs can be made together
    cancel     those that together give the right numbers
    as_single  those that give the numbers of one mistake, with that mistake
    alike      single mistakes that give the same numbers and are in different groups
    """

    tried: int
    cancel: tuple[Hypothesis, ...]
    as_single: tuple[tuple[Hypothesis, Mistake], ...]
    alike: tuple[tuple[Mistake, Mistake], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, mistakes as ids."""
        return {
            "tried": self.tried,
            "cancel": [[m.id for m in pair] for pair in self.cancel],
            "as_single": [{"pair": [m.id for m in pair], "single": one.id} for pair, one in self.as_single],
            "alike": [[a.id, b.id] for a, b in self.alike],
        }


@dataclass(frozen=True, eq=False)
class Blindspots:
    """What a set of problems cannot show and cannot tell apart.

    Fields
    problems   the set; step: where answers are compared, "" where the problems end at different ones
    digits     decimals asked, None: the problems' own arithmetic
    shown      mistakes and conventions that at least one problem shows
    invisible  mistakes that none shows; conventions: the same for what good systems do differently
    elsewhere  mistakes that need what none of these problems has: a mask, several heads …
    alike      groups that give the same numbers on every problem
    nearby     inputs that together show what is invisible, or as much of it as was found, the best one first
    pairs      None where they were not asked for, or are too many
    notes      what was skipped, and why
    """

    problems: tuple[Problem, ...]
    step: str
    digits: int | None
    shown: tuple[Mistake, ...]
    invisible: tuple[Blind, ...]
    conventions: tuple[Blind, ...]
    elsewhere: tuple[Mistake, ...]
    alike: tuple[Alike, ...]
    nearby: tuple[Nearby, ...]
    pairs: Pairs | None
    notes: tuple[str, ...]

    @property
    def always(self) -> tuple[tuple[str, ...], ...]:
        """Ids of rules that give the same numbers on every input there is."""
        return tuple(mistake.ids for mistake in self.shown if mistake.readings)

    def shows(self, id: str) -> bool:
        """Whether the mistake of that id, its own or a reading's, can be seen."""
        return any(id in mistake.ids for mistake in self.shown)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the problems, as plain data."""
        return {
            "problems": len(self.problems),
            "step": self.step,
            "digits": self.digits,
            "shown": [mistake.id for mistake in self.shown],
            "invisible": [blind.to_dict() for blind in self.invisible],
            "conventions": [blind.to_dict() for blind in self.conventions],
            "elsewhere": [mistake.id for mistake in self.elsewhere],
            "alike": [group.to_dict() for group in self.alike],
            "always": [list(ids) for ids in self.always],
            "nearby": [near.to_dict() for near in self.nearby],
            "pairs": self.pairs and self.pairs.to_dict(),
            "notes": list(self.notes),
        }


def blindspots(
    problem: Problem | Sequence[Problem],
    step: str | None = None,
    digits: int | None = DIGITS,
    mistakes: Sequence[str] | None = None,
    pairs: bool = False,
) -> Blindspots:
    """Which mistakes an input, or a set of inputs, cannot show at a step, and which it cannot tell apart.

    problem   a Problem or several: a set shows what any of them shows
    step      "scores", "weights", …; None is each problem's output, or its weights where it has no value
    digits    decimals to which answers are compared; None: as exact as the problem's own dtype
    mistakes  ids to look at; None is the whole catalogue. Those with a number of their own are left out
    pairs     whether to look at two mistakes made together, too
    Special cases: an answer counts as refused only where rounding along the way could not explain it.
    Raises UnknownNameError (no such step or mistake), OptionError (no problem), TooLargeError.

    >>> equal_keys = Problem(query=[[1, 2]], key=[[1, 1], [1, 1]], value=[[1], [2]])
    >>> "scale-missing" in [blind.mistake.id for blind in blindspots(equal_keys).invisible]
    True
    """
    problems = (problem,) if isinstance(problem, Problem) else tuple(problem)
    if not problems:
        raise OptionError("there is no problem to look at. Give at least one.")
    chosen = None if mistakes is None else {mistake_named(name) for name in mistakes}
    looks = tuple(_look(each, step_of(each, step), digits, chosen) for each in problems)
    near = tuple(_near(looks, nearby_problems))
    shown = _in_order(mistake for look in looks for mistake in look.shown)
    invisible, elsewhere = _invisible(looks, near, shown)
    same = _same(looks, shown)
    groups = _groups(shown, same)
    wanted = tuple(mistake for mistake in invisible if not mistake.convention)
    nearby, separated = _search(looks, near, digits, wanted, groups)
    blind = tuple(Blind(mistake, _reason(looks, mistake, digits)) for mistake in invisible)
    looked_at, notes = _pairs(looks, digits, shown, same, groups) if pairs else (None, ())
    return Blindspots(
        problems=problems,
        step=looks[0].step if len({look.step for look in looks}) == 1 else "",
        digits=digits,
        shown=shown,
        invisible=tuple(each for each in blind if not each.mistake.convention),
        conventions=tuple(each for each in blind if each.mistake.convention),
        elsewhere=elsewhere,
        alike=separated,
        nearby=nearby,
        pairs=looked_at,
        notes=(*_sampled(looks), *notes),
    )


# --- one problem ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Look:
    """One problem of the set: what may be judged there, what can be made there, and what that gives."""

    problem: Problem
    step: str
    judged: tuple[Mistake, ...]
    made: Numbers

    @property
    def there(self) -> tuple[Mistake, ...]:
        return tuple(hypothesis[0] for hypothesis in self.made.hypotheses)

    @property
    def shown(self) -> list[Mistake]:
        return [mistake for mistake, shows in zip(self.there, self.made.shows, strict=True) if shows]

    def rows(self, mistakes: Sequence[Mistake]) -> Array:
        """What each mistake gives: the right numbers where it cannot be made."""
        where = {mistake: index for index, mistake in enumerate(self.there)}
        every = np.concatenate([self.made.values, self.made.right[None]])
        return every[[where.get(mistake, len(where)) for mistake in mistakes]]


def _look(problem: Problem, step: str, digits: int | None, chosen: Collection[Mistake] | None) -> _Look:
    every = judged(step, digits, problem.dtype.name)
    mistakes = tuple(mistake for mistake in every if chosen is None or mistake in chosen)
    singles = tuple((mistake,) for mistake in makeable(problem, step, mistakes))
    return _Look(problem, step, mistakes, numbers_of(problem, step, digits, singles))


def _in_order(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Each once, in the order of the catalogue."""
    found = set(mistakes)
    return tuple(mistake for mistake in CATALOGUE if mistake in found)


def _sampled(looks: Sequence[_Look]) -> tuple[str, ...]:
    """What is to be said where numbers were too many to be kept."""
    for look in looks:
        kept, every = look.made.right.size, look.made.fields[FINAL.get(look.step, look.step)].size
        if kept < every:
            return (f"which mistakes are alike was judged on {kept:,} of {every:,} entries, evenly spread",)
    return ()


# --- what is invisible, what is alike -------------------------------------------------------------


Drawing = Callable[[Problem], Iterator[Problem]]


def _near(looks: Sequence[_Look], draw: Drawing) -> Iterator[tuple[Problem, str]]:
    """Problems near those of the set, taken in turn, with the step of each."""
    lines = [((near, look.step) for near in draw(look.problem)) for look in looks]
    return islice((near for turn in zip(*lines, strict=False) for near in turn), MOST_LOOKED_AT)


def _invisible(
    looks: Sequence[_Look], near: Sequence[tuple[Problem, str]], shown: Sequence[Mistake]
) -> tuple[tuple[Mistake, ...], tuple[Mistake, ...]]:
    """The mistakes that do not show though they can be made here or with other numbers, and the others."""
    there = {mistake for look in looks for mistake in look.there}
    hidden = [m for m in _in_order(m for look in looks for m in look.judged) if m not in shown]
    for problem, step in near[:FIRST_ROUND]:
        # what never hides cannot be made here at all: the shapes refuse it
        there |= set(makeable(problem, step, [m for m in hidden if m not in there and not never_hides(m)]))
    return tuple(m for m in hidden if m in there), tuple(m for m in hidden if m not in there)


def _same(looks: Sequence[_Look], shown: Sequence[Mistake]) -> Array:
    """(n, n): which two mistakes give the same numbers on every problem."""
    same = np.ones((len(shown), len(shown)), dtype=bool)
    for look in looks:
        rows = look.rows(shown)
        same &= alike(rows, rows, look.made.sure)
    return same


def _groups(shown: Sequence[Mistake], same: Array) -> tuple[tuple[Mistake, ...], ...]:
    """Groups of two or more, each the same as every other: being near is not passed on."""
    groups: list[list[int]] = []
    for index in range(len(shown)):
        group = next((group for group in groups if same[index, group].all()), None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    return tuple(tuple(shown[index] for index in group) for group in groups if len(group) > 1)


def _reason(looks: Sequence[_Look], mistake: Mistake, digits: int | None) -> str:
    look = next((look for look in looks if mistake in look.there), None)
    made, problem = (None, looks[0].problem) if look is None else (look.made, look.problem)
    return why_hidden(problem, made, (look or looks[0]).step, mistake, digits)


# --- inputs that can ------------------------------------------------------------------------------


def _search(
    looks: Sequence[_Look],
    near: Sequence[tuple[Problem, str]],
    digits: int | None,
    wanted: tuple[Mistake, ...],
    groups: tuple[tuple[Mistake, ...], ...],
) -> tuple[tuple[Nearby, ...], tuple[Alike, ...]]:
    """Nearby problems that together show what is wanted, and for each group the one that separates most."""
    found = [Alike(group, None, tuple(combinations(group, 2))) for group in groups]
    of_interest = {*wanted, *(mistake for group in groups for mistake in group)}
    missing, always = set(wanted), set[tuple[Mistake, Mistake]]()
    useful: list[Nearby] = []
    for line in (near, _near(looks, far_problems)):
        idle, tried = 0, list[_Look]()
        for problem, step in line:
            open_pairs = {pair for group in found for pair in group.still} - always
            if idle == PATIENCE or not (missing or open_pairs):
                break
            look = _look(problem, step, digits, of_interest)
            tried.append(look)
            better = [min(old, _parted(look, old), key=lambda group: len(group.still)) for old in found]
            idle = idle + 1 if better == found and missing.isdisjoint(look.shown) else 0
            found, missing = better, missing - set(look.shown)
            always |= {pair for group in found for pair in group.still if _equal(look, pair)}
        useful += _cover(tried, set(wanted) - {m for each in useful for m in each.shows})
    return tuple(useful), tuple(_with_other_step(looks, group) for group in found)


def _with_other_step(looks: Sequence[_Look], group: Alike) -> Alike:
    """The group with the step at which those differ that no input tells apart."""
    able = [
        look for look in looks if {mistake for pair in group.still for mistake in pair} <= set(look.there)
    ]
    if not group.still or not able:
        return group
    pairs = [((a,), (b,)) for a, b in group.still]
    problem = able[0].made.enough(mistake for pair in group.still for mistake in pair)
    return replace(group, other_step=other_step(problem, able[0].step, pairs))


def _cover(looks: Sequence[_Look], wanted: set[Mistake]) -> Iterator[Nearby]:
    """The problem that shows most of what is wanted, then the one that shows most of the rest, and so on."""
    while wanted and looks:
        best = max(looks, key=lambda look: len(wanted.intersection(look.shown)))
        shows = wanted.intersection(best.shown)
        if not shows:
            return
        yield Nearby(best.problem, _in_order(shows))
        wanted = wanted - shows


def _equal(look: _Look, pair: tuple[Mistake, Mistake]) -> bool:
    """Whether both show and are equal to the last digit: on drawn numbers that is no coincidence."""
    a, b = look.rows(pair)
    return set(pair) <= set(look.shown) and not differs(a, b, np.array(EXACT)).any()


def _parted(look: _Look, group: Alike) -> Alike:
    """The group with the pairs that are the same on another problem, or that do not both show there."""
    rows, shown = look.rows(group.mistakes), set(look.shown)
    same = alike(rows, rows, look.made.sure)
    still = [
        (a, b)
        for (i, a), (j, b) in combinations(enumerate(group.mistakes), 2)
        if same[i, j] or not {a, b} <= shown
    ]
    return Alike(group.mistakes, look.problem, tuple(still))


# --- two at once ----------------------------------------------------------------------------------


def _pairs(
    looks: Sequence[_Look],
    digits: int | None,
    shown: tuple[Mistake, ...],
    same: Array,
    groups: tuple[tuple[Mistake, ...], ...],
) -> tuple[Pairs | None, tuple[str, ...]]:
    """What two mistakes together give, or why that was not looked at."""
    stackable = [mistake for mistake in shown if mistake.rewrite is None and not mistake.narrow]
    pairs = tuple(pair for pair in combinations(stackable, 2) if compatible(pair))
    if len(pairs) * max(look.made.right.size for look in looks) > MOST_ENTRIES:
        return None, (f"the {len(pairs):,} pairs were not looked at: the problems are too large for that",)
    cancel, single = np.ones(len(pairs), dtype=bool), np.ones((len(pairs), len(shown)), dtype=bool)
    for look in looks:
        there = set(look.there)
        here = tuple(tuple(mistake for mistake in pair if mistake in there) for pair in pairs)
        made = numbers_of(look.problem, look.step, digits, here)
        cancel &= ~made.shows
        single &= alike(made.values, look.rows(shown), made.sure)
    together = {mistake: group for group in groups for mistake in group}
    return Pairs(
        tried=len(pairs),
        cancel=tuple(pair for pair, is_right in zip(pairs, cancel, strict=True) if is_right),
        as_single=tuple(
            (pair, shown[int(np.argmax(row))])
            for pair, row, is_right in zip(pairs, single, cancel, strict=True)
            if row.any() and not is_right
        ),
        alike=tuple(
            (shown[i], shown[j])
            for i, j in combinations(range(len(shown)), 2)
            if same[i, j] and shown[j] not in together.get(shown[i], ())
        ),
    ), ()
