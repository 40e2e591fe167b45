"""Find a mistake by its id, by the beginning of one, by words, or by the step where it is made."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import UnknownNameError
from ..mechanism.steps import STEPS
from ..problem import Problem
from .catalogue import TOPICS, Topic
from .mistake import Mistake, Reading
from .wrong_run import can_be_made

WRITES = {step.name: step.writes for step in STEPS}
MOST_NAMED = 6  # ids named in a message
# where a word counts for how much: who types an id or a title means that one
WEIGHTS = {"id": 8, "title": 4, "formula": 2, "why": 1, "mend": 1, "hides_when": 1}


@dataclass(frozen=True)
class Entry:
    """One name in the catalogue: a record, or another reading of it, which always gives the same numbers.

    Fields
    topic, mistake  where it stands; reading: None where the name is the record's own
    """

    topic: Topic
    mistake: Mistake
    reading: Reading | None = None

    @property
    def own(self) -> Mistake | Reading:
        """What says id, title, why, mend and source."""
        return self.reading or self.mistake

    @property
    def id(self) -> str:
        return self.own.id

    @property
    def title(self) -> str:
        return self.own.title

    @property
    def source(self) -> str:
        return self.own.source or self.mistake.source

    @property
    def same_as(self) -> tuple[str, ...]:
        """The other ids that always give the same numbers."""
        return tuple(other for other in self.mistake.ids if other != self.id)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        mistake, own = self.mistake, self.own
        return {
            "id": own.id,
            "title": own.title,
            "topic": self.topic.id,
            "steps": list(mistake.steps),
            "formula": mistake.formula,
            "why": own.why,
            "mend": own.mend,
            "hides_when": mistake.hides_when,
            "source": self.source,
            "same_as": list(self.same_as),
            "parameter": mistake.parameter and mistake.parameter.symbol,
            "convention": mistake.convention,
            "typical": mistake.typical,
            "narrow": mistake.narrow,
        }


@cache
def entries() -> tuple[Entry, ...]:
    """Every name in the catalogue in its order, other readings behind their record."""
    return tuple(
        Entry(topic, mistake, reading)
        for topic in TOPICS
        for mistake in topic.mistakes
        for reading in (None, *mistake.readings)
    )


def mistake_named(id: str) -> Mistake:
    """The record of that id, or of the other reading that has it.

    Raises UnknownNameError, naming the nearest.
    """
    if id not in _by_id():
        raise _unknown(id)
    return _by_id()[id].mistake


def entry_named(name: str) -> Entry:
    """The entry of that id, or of the only id that begins so.

    Raises UnknownNameError, naming the ids that it may have been.
    """
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    begun = [id for id in _by_id() if wanted and id.startswith(wanted)]
    if wanted in _by_id() or len(begun) == 1:
        return _by_id().get(wanted) or _by_id()[begun[0]]
    if begun:
        raise UnknownNameError(f"{_quoted(name)} begins {len(begun)} ids: {_some(begun)}. Give more of one.")
    raise _unknown(wanted)


@cache
def _by_id() -> dict[str, Entry]:
    return {entry.id: entry for entry in entries()}


def _unknown(name: str) -> UnknownNameError:
    near = nearest(name, tuple(_by_id()))
    hint = f" Did you mean {_some(near)}?" if near else ""
    return UnknownNameError(f"there is no mistake {_quoted(name)}.{hint} headwork mistakes lists them all.")


def nearest(wanted: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names that look most like it, then those that share most of its words; none for something else."""
    alike = difflib.get_close_matches(wanted, names, n=MOST_NAMED // 2, cutoff=0.6)
    words = {word for word in wanted.split("-") if len(word) > 2}
    sharing = sorted(names, key=lambda name: -len(words & set(name.split("-"))))
    shared = [name for name in sharing[: MOST_NAMED // 2] if words & set(name.split("-"))]
    return tuple(dict.fromkeys([*alike, *shared]))[: MOST_NAMED // 2]


def search(words: Sequence[str] = (), step: str | None = None) -> tuple[Entry, ...]:
    """The entries in which every word occurs, the best first; without words all of them, in order.

    step  only those that concern it: a topic, a step of the pipeline, or the field that it gives
    Raises UnknownNameError for a step that does not exist.
    """
    found = [entry for entry in entries() if step is None or step in _concerns()[entry.mistake.id]]
    if not found:
        near = nearest(str(step).lower(), _step_names())
        hint = f" Did you mean {_some(near)}?" if near else f" There are {', '.join(t.id for t in TOPICS)}."
        raise UnknownNameError(f"no mistake concerns a step {_quoted(str(step))}.{hint}")
    sought = dict.fromkeys(part for word in words for part in word.lower().split())
    scored = [(entry, _score(entry, sought)) for entry in found]
    ranked = sorted((one for one in scored if one[1] is not None), key=lambda one: -(one[1] or 0))
    return tuple(entry for entry, _ in ranked)


def typical_at(problem: Problem, step: str) -> tuple[Mistake, ...]:
    """What learners get wrong at a step of this problem, in the order of the catalogue."""
    mistakes = (mistake for topic in TOPICS for mistake in topic.mistakes)
    return tuple(
        mistake
        for mistake in mistakes
        if mistake.typical
        and not mistake.convention
        and mistake.steps[:1] == (step,)
        and can_be_made(problem, mistake)
    )


@cache
def _concerns() -> dict[str, frozenset[str]]:
    """For each record its topic, the steps that it replaces and the fields that they give."""
    return {
        mistake.id: frozenset(
            {topic.id, *mistake.steps, *(name for s in mistake.steps for name in WRITES[s])}
        )
        for topic in TOPICS
        for mistake in topic.mistakes
    }


def _step_names() -> tuple[str, ...]:
    return tuple(sorted(frozenset().union(*_concerns().values())))


def _score(entry: Entry, words: Iterable[str]) -> int | None:
    """How much the words say for this entry; None where one of them does not occur."""
    record = entry.to_dict()
    texts = {field: record[field].lower() for field in WEIGHTS}
    total = 0
    for word in words:
        weight = sum(weight for field, weight in WEIGHTS.items() if word in texts[field])
        if not weight:
            return None
        total += weight + 100 * (word == entry.id)
    return total


def _quoted(name: str) -> str:
    return repr(name.strip()[:60])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
