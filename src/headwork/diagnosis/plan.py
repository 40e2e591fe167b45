"""Plan how to work out many hypotheses at once: which results they share, and in what order to get them.

A hypothesis is a set of mistakes on different steps. Two hypotheses that agree up to a step share every
result up to there: a *node* is one version of a step on one choice of input nodes. A plan knows nodes
and steps but no numbers, so it is made once for each list of mistakes and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from ..arrays import Array
from ..mechanism.steps import STEPS, Step
from ..mistakes.mistake import Mistake, Wrong

Hypothesis = tuple[Mistake, ...]
RIGHT: Hypothesis = ()


@dataclass(frozen=True)
class Call:
    """One version of one step, to be run once on stacked inputs.

    inputs  (n, number of reads): which node of each field read goes into each of the n results
    nodes   (n,): the ids of the results among the nodes of the fields written
    """

    step: Step
    version: Wrong
    inputs: Array
    nodes: Array


@dataclass(frozen=True)
class Stage:
    """One step: its calls, or no call where every hypothesis hands the first field read on."""

    step: Step
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Plan:
    """The calls in order, and for each hypothesis the node of the target field that it leads to.

    rewritten  the hypotheses that solve another problem instead: they share nothing, and have no node here
    """

    hypotheses: tuple[Hypothesis, ...]
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
    sets = (group for size in range(1, most + 1) for group in combinations(mistakes, size))
    return (RIGHT, *(group for group in sets if compatible(group)))


@lru_cache(maxsize=64)
def plan(
    mistakes: tuple[Mistake, ...], most: int, target: str, known: frozenset[str], asked: frozenset[str]
) -> Plan:
    """How to work out the field `target` under every compatible set of up to `most` mistakes.

    known  fields that the problem gives; asked: names of the steps that it asks for
    """
    return plan_for(sets_of(mistakes, most), target, known, asked)


def plan_for(
    hypotheses: tuple[Hypothesis, ...], target: str, known: frozenset[str], asked: frozenset[str]
) -> Plan:
    """The same for a list of hypotheses."""
    chosen = _chosen(hypotheses)
    nodes: dict[str, Array] = {name: np.zeros(len(hypotheses), dtype=np.int64) for name in known}
    stages: list[Stage] = []
    for step in STEPS:
        if all(name in nodes for name in step.writes) or not all(name in nodes for name in step.reads):
            continue
        if step.name not in asked and step.reads and not step.passes:
            continue
        calls, result = _calls(step, chosen.get(step.name, {}), nodes, step.name in asked or not step.reads)
        stages.append(Stage(step, calls))
        nodes |= {name: result for name in step.writes if name not in nodes}
        if target in step.writes:
            break
    rewritten = tuple(
        i for i, made in enumerate(hypotheses) if len(made) == 1 and made[0].rewrite is not None
    )
    return Plan(hypotheses, target, tuple(stages), nodes[target], rewritten)


def _chosen(hypotheses: tuple[Hypothesis, ...]) -> dict[str, dict[Mistake, list[int]]]:
    """Step name -> mistake -> the hypotheses that make it there."""
    chosen: dict[str, dict[Mistake, list[int]]] = {}
    for index, hypothesis in enumerate(hypotheses):
        for mistake in hypothesis:
            for step in mistake.wrong:
                chosen.setdefault(step, {}).setdefault(mistake, []).append(index)
    return chosen


def _calls(
    step: Step, wrong: dict[Mistake, list[int]], nodes: dict[str, Array], asked: bool
) -> tuple[tuple[Call, ...], Array]:
    """The calls of one step, and the node of its results for each hypothesis."""
    count = len(next(iter(nodes.values())))
    if not wrong and not asked:
        return (), nodes[step.reads[0]]
    groups = [(mistake.version(step.name), np.array(members)) for mistake, members in wrong.items()]
    right = np.ones(count, dtype=bool)
    for _, members in groups:
        right[members] = False
    if right.any():
        groups.insert(0, (Wrong(step.run if asked else hand_on, step.reads), np.flatnonzero(right)))
    result, calls, made = np.zeros(count, dtype=np.int64), [], 0
    for version, members in groups:
        inputs, which = _distinct([nodes[name][members] for name in version.reads], len(members))
        calls.append(Call(step, version, inputs, np.arange(made, made + len(inputs))))
        result[members] = made + which
        made += len(inputs)
    return tuple(calls), result


def _distinct(columns: list[Array], count: int) -> tuple[Array, Array]:
    """The distinct rows of some columns of node ids, and which of them each row is."""
    if not columns:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(count, dtype=np.int64)
    key = columns[0]
    for column in columns[1:]:
        key = key * (column.max() + 1) + column
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns], axis=-1), which


def hand_on(problem: object, x: Array, *_: Array) -> Array:
    """The right version of a step that the problem does not ask for."""
    return x
