"""What every hypothesis gives at one field of one problem, worked out together and kept.

This depends on the problem and not on anybody's answer, so diagnosis, marking, blind spots and the
gate for fresh numbers share it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..mechanism.fields import canonical_axes
from ..mechanism.steps import STEPS
from ..mechanism.tracing import seeds
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import first_replaced, run_wrong
from ..problem import Problem
from .layout import Layout, Tasks, alone, layout, tasks
from .plan import RIGHT, Hypothesis, Plan, Stage, plan, plan_for
from .reach import FINAL
from .remembering import remembered
from .right import right_fields


@dataclass(frozen=True)
class Consequences:
    """The field `step` under each hypothesis.

    hypotheses  the right pipeline first
    size        (hypotheses,): how many mistakes each one has
    node        (hypotheses,): which of the values each one gives; those that share a node are equal
    values      (nodes, *canonical shape of the field)
    """

    step: str
    hypotheses: tuple[Hypothesis, ...]
    size: Array
    node: Array
    values: Array

    def up_to(self, most: int) -> Consequences:
        """The same for sets of up to so many mistakes: smaller ones come first."""
        count = int(np.count_nonzero(self.size <= most))
        if count == len(self.hypotheses):
            return self
        kept = np.zeros(len(self.values), dtype=bool)
        kept[self.node[:count]] = True
        node = (np.cumsum(kept) - 1)[self.node[:count]]
        return Consequences(self.step, self.hypotheses[:count], self.size[:count], node, self.values[kept])

    def tried(self, size: int) -> int:
        """How many different results the sets of that many mistakes have."""
        return len(np.unique(self.node[self.size == size]))


class Nodes(NamedTuple):
    """The results of one field, stacked by shape."""

    stacks: tuple[Array, ...]
    layout: Layout


def consequences(
    problem: Problem, step: str, mistakes: tuple[Mistake, ...], most: int = 1, more: tuple[Mistake, ...] = ()
) -> Consequences:
    """The field `step` under every compatible set of up to `most` of these mistakes.

    more  mistakes of which sets of one more are worked out too
    """
    known = seeds(problem)
    made = plan(mistakes, most, FINAL.get(step, step), frozenset(known), asked_steps(problem), more)
    return execute(problem, step, made, known)


def consequences_of(problem: Problem, step: str, hypotheses: tuple[Hypothesis, ...]) -> Consequences:
    """The field `step` under these hypotheses."""
    known = seeds(problem)
    made = plan_for(hypotheses, FINAL.get(step, step), frozenset(known), asked_steps(problem))
    return execute(problem, step, made, known)


def under_numbers(problem: Problem, step: str, rules: tuple[Mistake, ...], theta: Array) -> Array:
    """The field `step` under each rule with its number θ, (n, *field); NaN where it has another shape.

    rules  n of them, the same one several times for several numbers
    """
    known = _known_before(problem, first_replaced(dict.fromkeys(rules)))
    made = _plan_of(rules, FINAL.get(step, step), known.names, asked_steps(problem))
    found = _execute(problem, step, made, known.nodes, np.append(np.nan, theta))
    return found.values.take(found.node[1:], axis=0)


class Known(NamedTuple):
    """What is known before anything goes wrong."""

    names: frozenset[str]
    nodes: Mapping[str, Nodes]


@remembered(lambda known: sum(node.stacks[0].nbytes for node in known.nodes.values()))
def _known_before(problem: Problem, count: int) -> Known:
    """What the problem gives, and what the first so many steps of the right pipeline give, kept."""
    right = right_fields(problem)
    names = (name for step in STEPS[:count] for name in step.writes)
    known = seeds(problem) | {name: right[name] for name in names if name in right}
    return Known(frozenset(known), _as_nodes(known))


def _as_nodes(known: Mapping[str, Array]) -> dict[str, Nodes]:
    """Each field as one node."""
    return {name: Nodes((array[None],), alone(array.shape)) for name, array in known.items()}


@lru_cache(maxsize=256)
def _plan_of(rules: tuple[Mistake, ...], target: str, known: frozenset[str], asked: frozenset[str]) -> Plan:
    return plan_for((RIGHT, *((rule,) for rule in rules)), target, known, asked)


@remembered()
def asked_steps(problem: Problem) -> frozenset[str]:
    """The names of the steps that the problem asks for."""
    return frozenset(step.name for step in STEPS if step.asked(problem))


def execute(problem: Problem, step: str, made: Plan, known: Mapping[str, Array]) -> Consequences:
    """Run a plan on a problem's numbers."""
    return _execute(problem, step, made, _as_nodes(known))


def _execute(
    problem: Problem, step: str, made: Plan, known: Mapping[str, Nodes], theta: Array | None = None
) -> Consequences:
    """The same with what is known as nodes.

    theta  (hypotheses,): the number of each, where the rules have one
    """
    lead = None if theta is None else theta.reshape(-1, *(1,) * (len(problem.batch) + 3))
    fields = dict(known)
    # overflow, inf − inf and ln 0 are results here, as in the trace
    with np.errstate(all="ignore"):
        for stage in made.stages:
            if stage.calls:
                fields |= _run_stage(problem, stage, fields, lead)
            else:
                fields[stage.step.writes[0]] = fields[stage.step.reads[0]]
    target = fields[made.target]
    node, values = _with_rewritten(problem, made, _as_one(target, _shape(problem, made, target)))
    return Consequences(step, made.hypotheses, made.sizes, node, values)


def _with_rewritten(problem: Problem, made: Plan, values: Array) -> tuple[Array, Array]:
    """Mistakes that solve another problem share nothing: each is run by itself and gets a node of its own."""
    if not made.rewritten:
        return made.node, values
    node = made.node.copy()
    node[list(made.rewritten)] = len(values) + np.arange(len(made.rewritten))
    results = (run_wrong(problem, made.hypotheses[index]).get(made.target) for index in made.rewritten)
    return node, np.concatenate(
        [values, np.stack([_fitting(result, values.shape[1:]) for result in results])]
    )


def _fitting(result: Array | None, shape: tuple[int, ...]) -> Array:
    """The result in the shape of the answer; one of another shape explains nothing."""
    if result is None or result.size != math.prod(shape):
        return np.full(shape, np.nan)
    return result.astype(np.float64).reshape(shape)


def _shape(problem: Problem, made: Plan, target: Nodes) -> tuple[int, ...]:
    """The field's full shape; a mask or a bias may be held smaller."""
    if made.target in ("allowed", "bias"):
        return problem.matrix_shape
    shape: tuple[int, ...] = target.stacks[target.layout.stack_of[made.node[0]]].shape[1:]
    return shape


def _as_one(target: Nodes, shape: tuple[int, ...]) -> Array:
    """All nodes in one array; a result of another shape explains nothing, so it is NaN throughout."""
    where = target.layout
    if [stack.shape[1:] for stack in target.stacks] == [shape]:
        return target.stacks[0].take(where.row_of, axis=0)
    values = np.full((len(where.row_of), *shape), np.nan)
    for index, stack in enumerate(target.stacks):
        if stack.ndim == values.ndim and all(
            s in (1, n) for s, n in zip(stack.shape[1:], shape, strict=True)
        ):
            members = where.stack_of == index
            values[members] = stack[where.row_of[members]]
    return values


def _run_stage(
    problem: Problem, stage: Stage, fields: Mapping[str, Nodes], theta: Array | None
) -> dict[str, Nodes]:
    todo = tasks(stage, tuple([fields[name].layout for name in stage.reads]))
    names = stage.step.writes
    axes = [_axes(problem, name) for name in names]
    parts: list[list[Array]] = [[] for _ in names]
    for task in todo.each:
        inputs = [_rows(fields[name].stacks[stack], rows) for name, stack, rows in task.reads]
        if theta is not None and task.numbers is not None:  # what all numbers share has no axis for them
            inputs = [theta[task.numbers], *(x[0] if len(x) == 1 else x for x in inputs)]
        results = task.version.run(problem, *inputs)
        count = len(task.nodes)
        if not isinstance(results, tuple):
            parts[0].append(_stacked(results, axes[0], count))
            continue
        for index, array in enumerate(results):
            parts[index].append(_stacked(array, axes[index], count))
    return {name: _nodes(todo, arrays) for name, arrays in zip(names, parts, strict=True) if arrays}


def _rows(stack: Array, rows: Array | slice) -> Array:
    # an array as index would copy the same, many times slower
    return stack[rows] if type(rows) is slice else stack.take(rows, axis=0)


def _nodes(todo: Tasks, arrays: Sequence[Array]) -> Nodes:
    where = layout(todo, tuple([array.shape for array in arrays]))
    if len(arrays) == 1:
        return Nodes((arrays[0],), where)
    return Nodes(tuple([np.concatenate([arrays[i] for i in each]) for each in where.members]), where)


def _stacked(array: Array, axes: int, count: int) -> Array:
    if array.ndim <= axes:  # made from the problem alone, or from nothing that was stacked
        array = array.reshape(*(1,) * (axes + 1 - array.ndim), *array.shape)
    return array if len(array) == count else np.broadcast_to(array, (count, *array.shape[1:]))


def _axes(problem: Problem, name: str) -> int:
    names = HIDDEN.get(name, name)
    axes = canonical_axes(problem, names)
    return len(problem.batch) + len(axes) + (axes[-1] == "Tq")


HIDDEN = {"logits": "masked", "settled": "weights", "attention": "weights"}
