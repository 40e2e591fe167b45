"""Which rule gives the numbers of all cases together: those that are wrong, and those that are right as well.

One case alone is explained by chance, or by a rule that happens to agree with another there. A rule that
stands has to give every number that came back, wrong or right, on every case that it could be made on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .cases import Cases
from .explaining_dropout import dropped
from .explaining_numbers import with_a_number
from .explaining_one import singles
from .explaining_some import MOST_PARTS, in_part
from .explaining_two import explain_with_two
from .rules import Group, Rule, named

TOLD = 6.0  # bits from which NaN and ∞ alone are told to be what a rule gives; fewer say nothing of it


def explain(cases: Cases, known: Sequence[Rule] = (), pairs: bool = True) -> tuple[Group, ...]:
    """The simplest rules that hold on every case, grouped by what they give; none where nothing does.

    known  rules that were found before, to which one more mistake may be added
    One mistake; and where the evidence names it, one with a number, dropout, one more than is known, two.
    """
    found = singles(cases)
    if found and (cases.finite or max(group.bits for group in found) >= TOLD):
        return found
    tried = map(named, _one_by_one(cases, known))
    return next(filter(None, tried), ()) or (explain_with_two(cases) if pairs else ())


def _one_by_one(cases: Cases, known: Sequence[Rule]) -> Iterator[tuple[Group, ...]]:
    """What each way to look finds, the simplest first; the next one is taken where nothing was found."""
    yield with_a_number(cases)
    yield dropped(cases)
    for base in (*known, *in_part(cases)[:MOST_PARTS]):
        yield singles(cases, base)
        yield with_a_number(cases, base)
