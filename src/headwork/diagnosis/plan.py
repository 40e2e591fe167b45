"""Plan how to work out many hypotheses at once: which results they share, and in what order to get them.

A hypothesis is a set of mistakes on different steps. Two hypotheses that agree up to a step share every
result up to there: a *node* is one version of a step on one choice of input nodes. A plan knows nodes
and steps but no numbers, so it is made once for each list of mistakes and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from ..arrays import Array
from ..mechanism.steps import STEPS, Step
from ..mistakes.mistake import Mistake, Wrong

Hypothesis = tuple[Mistake, ...]
RIGHT: Hypothesis = ()


@dataclass(frozen=True, eq=False)
class Call:
    """One version of one step, to be run once on stacked inputs.

    inputs   (n, number of reads): which node of each field read goes into each of the n results
    nodes    (n,): the ids of the results among the nodes of the fields written
    numbers  (n,): the hypothesis whose number each result is worked out with, where the rule has one
    """

    step: Step
    version: Wrong
    inputs: Array
    nodes: Array
    numbers: Array | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """One step: its calls, or no call where every hypothesis hands the first field read on."""

    step: Step
    calls: tuple[Call, ...]

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The fields that some hypothesis needs here."""
        if not self.calls:
            return self.step.reads[:1]
        return tuple(dict.fromkeys(name for call in self.calls for name in call.version.reads))


@dataclass(frozen=True)
class Plan:
    """The calls in order, and for each hypothesis the node of the target field that it leads to.

    sizes      (hypotheses,): how many mistakes each one has
    rewritten  the hypotheses that solve another problem instead: they share nothing, and have no node here
    """

    hypotheses: tuple[Hypothesis, ...]
    sizes: Array
    target: str
    stages: tuple[Stage, ...]
    node: Array
    rewritten: tuple[int, ...]


def compatible(hypothesis: Sequence[Mistake]) -> bool:
    """Whether these mistakes go together: no step replaced twice, and nothing beside another problem."""
    touched = 0
    for mistake in hypothesis:
        if touched & mistake.touches:
            return False
        touched |= mistake.touches
    return True


def sets_of(mistakes: Sequence[Mistake], most: int) -> tuple[Hypothesis, ...]:
    """The right pipeline first, then every compatible set of up to `most` mistakes, smaller sets first."""
    count = len(mistakes)
    touches = np.array([mistake.touches for mistake in mistakes], dtype=np.int64)
    sets, touched, last = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64), np.array([-1])
    found: list[Hypothesis] = [RIGHT]
    for _ in range(most):
        fits = ((touched[:, None] & touches) == 0) & (np.arange(count) > last[:, None])
        which, last = np.nonzero(fits)
        sets, touched = np.column_stack([sets[which], last]), touched[which] | touches[last]
        found += zip(*([mistakes[index] for index in column] for column in sets.T.tolist()), strict=True)
    return tuple(found)


@lru_cache(maxsize=64)
def plan(
    mistakes: tuple[Mistake, ...],
    most: int,
    target: str,
    known: frozenset[str],
    asked: frozenset[str],
    more: tuple[Mistake, ...] = (),
) -> Plan:
    """How to work out the field `target` under every compatible set of up to `most` mistakes.

    known  fields that the problem gives; asked: names of the steps that it asks for
    more   mistakes of which there are sets of one more
    """
    larger = [made for made in sets_of(more, most + 1) if len(made) > most]
    return plan_for((*sets_of(mistakes, most), *larger), target, known, asked)


def plan_for(
    hypotheses: tuple[Hypothesis, ...], target: str, known: frozenset[str], asked: frozenset[str]
) -> Plan:
    """The same for a list of hypotheses."""
    sizes = np.fromiter(map(len, hypotheses), dtype=np.int64, count=len(hypotheses))
    members = _members(hypotheses, sizes)
    nodes: dict[str, Array] = {name: np.zeros(len(hypotheses), dtype=np.int64) for name in known}
    stages: list[Stage] = []
    for step in STEPS:
        if all(name in nodes for name in step.writes) or not all(name in nodes for name in step.reads):
            continue
        if step.name not in asked and step.reads and not step.passes:
            continue
        wrong = [(m, those) for m, those in members.items() if step.name in m.wrong]
        calls, result = _calls(step, wrong, nodes, step.name in asked or not step.reads)
        stages.append(Stage(step, calls))
        nodes |= {name: result for name in step.writes if name not in nodes}
        if target in step.writes:
            break
    rewritten = tuple(int(i) for m, those in members.items() if m.rewrite is not None for i in those)
    return Plan(hypotheses, sizes, target, _needed(stages, target), nodes[target], rewritten)


def _needed(stages: Sequence[Stage], target: str) -> tuple[Stage, ...]:
    """The stages that lead to the target: without parts to merge, the logsumexp leads nowhere."""
    needed, kept = {target}, list[Stage]()
    for stage in reversed(stages):
        if needed.intersection(stage.step.writes):
            needed.update(stage.reads)
            kept.append(stage)
    return tuple(reversed(kept))


def _members(hypotheses: tuple[Hypothesis, ...], sizes: Array) -> dict[Mistake, Array]:
    """Each mistake, and the hypotheses that make it."""
    made = list(chain.from_iterable(hypotheses))
    number = {mistake: index for index, mistake in enumerate(dict.fromkeys(made))}
    which = np.fromiter(map(number.__getitem__, made), dtype=np.int64, count=len(made))
    owner = np.repeat(np.arange(len(hypotheses)), sizes)[np.argsort(which, kind="stable")]
    ends = np.cumsum(np.bincount(which, minlength=len(number)))
    return dict(zip(number, np.split(owner, ends[:-1]), strict=True)) if number else {}


def _calls(
    step: Step, wrong: list[tuple[Mistake, Array]], nodes: dict[str, Array], asked: bool
) -> tuple[tuple[Call, ...], Array]:
    """The calls of one step, and the node of its results for each hypothesis.

    wrong  the mistakes that are made there, each with the hypotheses that make it; those with a number of
           their own share nothing
    """
    count = len(next(iter(nodes.values())))
    if not wrong and not asked:
        return (), nodes[step.reads[0]]
    right = np.ones(count, dtype=bool)
    for _, members in wrong:
        right[members] = False
    plain = Wrong(step.run if asked else hand_on, step.reads)
    versions = [(plain, np.flatnonzero(right)), *((m.version(step.name), members) for m, members in wrong)]
    solved = [False, *(mistake.parameter is not None for mistake, _ in wrong)]
    made = np.zeros(count, dtype=np.int64)  # which version each hypothesis has
    inputs = np.zeros(count, dtype=np.int64)  # and on which inputs: a number for each choice of nodes
    widths = {name: nodes[name].max() + 1 for version, _ in versions for name in version.reads}
    for index, (version, members) in enumerate(versions):
        made[members] = index
        inputs[members] = members if solved[index] else 0
        for name in version.reads:
            inputs[members] = inputs[members] * widths[name] + nodes[name][members]
    _, first, result = np.unique(made * (inputs.max() + 1) + inputs, return_index=True, return_inverse=True)
    ends = np.searchsorted(made[first], np.arange(len(versions) + 1))
    calls = []
    for (version, _), has_number, start, stop in zip(versions, solved, ends[:-1], ends[1:], strict=True):
        if start < stop:
            those = first[start:stop]
            columns = [nodes[name][those] for name in version.reads]
            chosen = np.stack(columns, axis=-1) if columns else np.zeros((len(those), 0), dtype=np.int64)
            calls.append(Call(step, version, chosen, np.arange(start, stop), those if has_number else None))
    return tuple(calls), result


def hand_on(problem: object, x: Array, *_: Array) -> Array:
    """The right version of a step that the problem does not ask for."""
    return x
