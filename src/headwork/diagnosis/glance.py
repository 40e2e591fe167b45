"""The worst row of an answer to a large problem: whatever explains the answer explains that row.

Most rules are ruled out there, in the one head that is farthest off, at next to no cost. A rule that mixes
queries is followed in that head as far as its last step; only that row goes on from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..arrays import Array
from ..mechanism.sampling import in_heads, one_head, sample
from ..mechanism.tracing import run, seeds
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import can_be_made
from ..problem import Problem
from .consequences import Consequences, asked_steps, consequences, consequences_of
from .cutting import cut, head_index, heads_of, how_far, is_apart, rows_of
from .parts import Fields, consequence, follows, own_step
from .plan import RIGHT, Hypothesis, sets_of
from .reach import FINAL
from .search import LOOSE, MOST_ENTRIES, PAIRS
from .target import Target
from .tolerance import in_dtype, largest

SHARED = 4_000_000  # entries of a head's score matrix, up to which its right fields are kept for all rules
MOST_TOGETHER = 16_000_000  # twice the pairs, times the keys: what is worked out at once
MOST_PAIRED = 64_000_000  # the same: what is worked out at all
SAFE = 40.0  # scores, up to which no exponential of a difference leaves float32
ROUGH = 1e-3  # of the largest number: far more than float32 makes of a sum of thousands
KEYS = ("rotate-key", "repeat-key", "repeat-value")  # a wrong version of them has keys or values of its own


class Glance:
    """The row of an answer that is farthest off, and the head in which it is.

    room  how much farther off than the usual tolerance a rule may be that is not given up yet
    row   that row of all heads; one: of that head only, None where heads cannot be told apart
    head  that head with all its queries
    """

    def __init__(self, target: Target, room: float = 0.0) -> None:
        self.target = target
        self.room = room
        self.rows = np.array([_worst(target)[-2]])
        self.row = rows_of(target, self.rows)
        self.head = target.problem
        self.one: Target | None = None
        if is_apart(target):
            heads = heads_of(self.row)
            at = _worst(heads)
            batch, head = at[: len(target.problem.batch)], at[-3]
            self.number = head
            self.head = one_head(in_heads(target.problem), batch, head)
            one = cut(heads, head_index(target, batch, head))
            self.one = replace(one, problem=sample(self.head, self.rows), step=own_step(target.step))
        self._hosted: dict[Mistake, bool] = {}
        self._asked = asked_steps(target.problem)

    def hosts(self, hypothesis: Hypothesis) -> bool:
        """Whether these mistakes can be made in one head as in all."""
        return self.one is not None and all(map(self._hosts, hypothesis))

    def _hosts(self, mistake: Mistake) -> bool:
        if mistake not in self._hosted:
            self._hosted[mistake] = can_be_made(self.head, mistake)
        return self._hosted[mistake]

    def place(self, hypothesis: Hypothesis) -> Target:
        """The least that these mistakes can be tried on."""
        return self.one if self.one is not None and self.hosts(hypothesis) else self.row

    def survivors(self, hypotheses: Sequence[Hypothesis], extra: float = 0.0) -> tuple[Hypothesis, ...]:
        """Those that give the row, within `extra` more than the usual tolerance; none that mixes queries."""
        hosted = [each for each in hypotheses if self.hosts(each)]
        near = {each for chunk in self._chunks(hosted) for each in self._near(chunk, extra)}
        guests = set(hypotheses).difference(hosted)
        near |= {each for each in guests if self._gives(self.row, self._made(each), extra)}
        return tuple(each for each in hypotheses if each in near)

    def pairs(self, mistakes: Sequence[Mistake]) -> tuple[Hypothesis, ...]:
        """The pairs that can be made in one head and give the row; none where keys are too many."""
        hosted = tuple(mistake for mistake in mistakes if self._hosts(mistake))
        if self.one is None or len(hosted) ** 2 * self.target.problem.Tk > MOST_PAIRED:
            return ()
        if len(hosted) ** 2 * self.target.problem.Tk > MOST_TOGETHER:
            return self.survivors([pair for pair in sets_of(hosted, PAIRS) if len(pair) == PAIRS])
        made = consequences(self.one.problem, self.one.step, hosted, PAIRS)
        return self._nearest(made, made.size == PAIRS)

    def _near(self, hypotheses: Sequence[Hypothesis], extra: float) -> tuple[Hypothesis, ...]:
        assert self.one is not None
        problem, step = self.one.problem, self.one.step
        if all(len(each) == 1 for each in hypotheses):  # planned once for all problems of the kind
            made = consequences(problem, step, tuple(mistake for (mistake,) in hypotheses))
        else:
            made = consequences_of(problem, step, (RIGHT, *hypotheses))
        return self._nearest(made, made.size > 0, extra)

    def _nearest(self, made: Consequences, among: Array, extra: float = 0.0) -> tuple[Hypothesis, ...]:
        assert self.one is not None
        room = LOOSE * self.one.tolerance + self.room + extra
        near = self.one.matches(made.values, room)[made.node] & among
        return tuple(made.hypotheses[index] for index in np.flatnonzero(near))

    def _chunks(self, hypotheses: Sequence[Hypothesis]) -> Iterator[Sequence[Hypothesis]]:
        """As many at a time as there is room for."""
        problem, chunk, room = self.target.problem, list[Hypothesis](), MOST_ENTRIES
        for each in hypotheses:
            has_keys = any(step in KEYS for mistake in each for step in mistake.steps)
            room -= problem.Tk * ((problem.D or 1) + (problem.Dv or 1) if has_keys else 1)
            if room < 0 and chunk:
                yield chunk
                chunk, room = [], MOST_ENTRIES
            chunk.append(each)
        if chunk:
            yield chunk

    def _made(self, hypothesis: Hypothesis) -> Array | None:
        known = self._unchanged(hypothesis[0], self._right_row) if len(hypothesis) == 1 else {}
        return consequence(self.row.problem, hypothesis, _field(self.target.step), known=known)

    @cached_property
    def _right_row(self) -> Fields:
        return run(self.row.problem, seeds(self.row.problem))

    def _gives(self, place: Target, made: Array | None, extra: float = 0.0) -> bool:
        if made is None or made.size != place.values.size:
            return False
        room = LOOSE * place.tolerance + self.room + extra
        return bool(place.matches(made.reshape(place.values.shape), room))

    # --- rules that mix queries ---------------------------------------------------------------------

    def mixes_to(self, mistake: Mistake) -> bool:
        """Whether a rule that sees all queries, or another problem, gives the row."""
        problem, field = self.target.problem, _field(self.target.step)
        if mistake.rewrite is not None:
            other = mistake.rewrite(problem)
            fits = other.Tq == problem.Tq
            return fits and self._gives(self.row, consequence(sample(other, self.rows), (), field))
        if self._is_no_multiple(mistake):
            return False
        if self.one is None or not self.hosts((mistake,)):
            return self._mixes_batches_to(mistake)
        goal, known = _field(self.one.step), self._unchanged(mistake, self._right_roughly)
        rough = consequence(self._roughly, (mistake,), goal, rows=self.rows, known=known)
        if self._roughly is self.head or not self._gives(self.one, rough, self._rough_error(rough)):
            return self._gives(self.one, rough)
        return self._gives(self.one, consequence(self.head, (mistake,), goal, rows=self.rows))

    def _mixes_batches_to(self, mistake: Mistake) -> bool:
        """The same where one batch element is not enough: in one head of all of them, else in all heads."""
        problem, place = self.target.problem, self.row
        step = self.target.step
        if self.one is not None:
            head = one_head(in_heads(problem), None, self.number)
            if can_be_made(head, mistake):
                place, problem = cut(heads_of(self.row), head_index(self.row, None, self.number)), head
                step = self.one.step
        return self._gives(place, consequence(problem, (mistake,), _field(step), rows=self.rows))

    @cached_property
    def _roughly(self) -> Problem:
        """The head in float32 where float64 is meant: that rules out most rules in half the time."""
        return in_dtype(self.head, "float32") if self.head.dtype == np.float64 else self.head

    @cached_property
    def _right_roughly(self) -> Fields:
        """Its right fields, where there is room for them."""
        fits = self.head.Tq * self.head.Tk <= SHARED
        return run(self._roughly, seeds(self._roughly)) if fits else {}

    def _rough_error(self, rough: Array | None) -> float:
        """What float32 can never make; infinite where it may have overflowed or lost all of a row."""
        assert self.one is not None
        spread = largest(self._right_roughly["scaled"]) if "scaled" in self._right_roughly else math.inf
        if rough is None or not np.isfinite(rough).all() or spread > SAFE:
            return math.inf
        return ROUGH * (largest(self.one.values) + largest(rough))

    def _unchanged(self, mistake: Mistake, right: Fields) -> Fields:
        changed = follows(mistake, self._asked)
        return {name: array for name, array in right.items() if name not in changed}

    def _is_no_multiple(self, mistake: Mistake) -> bool:
        """Whether it only divides a row by another number, and the row is no multiple of the right one."""
        place = self.one
        if place is None or not set(mistake.steps) <= {"row-max", "row-sum"}:
            return False
        for name in ("row_max", "row_sum"):
            made = consequence(self.row.problem, (mistake,), name)
            if made is None or made.shape[-1] != 1:  # it divides columns
                return False
        with np.errstate(all="ignore"):
            factor = float((place.values * place.right).sum() / np.square(place.right).sum())
        if not np.isfinite(factor):
            return False
        return not self._gives(place, factor * place.right, abs(factor) * float(place.tolerance.max()))


def _worst(target: Target) -> tuple[int, ...]:
    """The index of the entry that is farthest off."""
    off = how_far(target)
    return tuple(map(int, np.unravel_index(int(off.argmax()), off.shape)))


def _field(step: str) -> str:
    return FINAL.get(step, step)
