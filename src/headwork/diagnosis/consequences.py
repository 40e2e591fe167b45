"""What every hypothesis gives at one field of one problem, worked out together and kept.

This depends on the problem and not on anybody's answer, so diagnosis, marking, blind spots and the
gate for fresh numbers share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.fields import canonical_axes
from ..mechanism.steps import STEPS
from ..mechanism.tracing import seeds
from ..mistakes.mistake import Mistake
from ..mistakes.wrong_run import run_wrong
from ..problem import Problem
from .plan import Call, Hypothesis, Plan, plan, plan_for
from .reach import FINAL

LARGE_NODE = 2**20  # bytes


@dataclass(frozen=True)
class Consequences:
    """The field `step` under each hypothesis.

    hypotheses  the right pipeline first
    node        (hypotheses,): which of the values each one gives; those that share a node are equal
    values      (nodes, *canonical shape of the field)
    """

    step: str
    hypotheses: tuple[Hypothesis, ...]
    node: Array
    values: Array

    @cached_property
    def size(self) -> Array:
        """(hypotheses,): how many mistakes each one has."""
        return np.array([len(hypothesis) for hypothesis in self.hypotheses])

    def tried(self, size: int) -> int:
        """How many different results the sets of that many mistakes have."""
        return len(np.unique(self.node[self.size == size]))


class Nodes:
    """The results of one field, stacked by shape; a node is found by its id."""

    def __init__(self, parts: Sequence[tuple[Array, Array]]) -> None:
        shapes = list(dict.fromkeys(array.shape[1:] for _, array in parts))
        self.stacks = [
            np.concatenate([array for _, array in parts if array.shape[1:] == shape]) for shape in shapes
        ]
        ids = [np.concatenate([ids for ids, array in parts if array.shape[1:] == shape]) for shape in shapes]
        self.stack_of = np.zeros(sum(len(each) for each in ids), dtype=np.int64)
        self.row_of = np.zeros_like(self.stack_of)
        for index, each in enumerate(ids):
            self.stack_of[each], self.row_of[each] = index, np.arange(len(each))

    @cached_property
    def is_large(self) -> bool:
        """Whether one node is so large that no copy of it should be made."""
        return bool(max(stack[0].nbytes for stack in self.stacks) > LARGE_NODE)

    @property
    def is_plain(self) -> bool:
        """Whether any of its nodes may be stacked with any other."""
        return len(self.stacks) == 1 and not self.is_large

    def take(self, ids: Array) -> Array:
        """The nodes stacked, all of one shape; one row that broadcasts where they are all the same."""
        rows = self.row_of[ids]
        stack: Array = self.stacks[self.stack_of[ids[0]]]
        if len(rows) == len(stack) and (rows == np.arange(len(rows))).all():
            return stack
        return stack[rows[0] : rows[0] + 1] if (rows == rows[0]).all() else stack[rows]


def consequences(problem: Problem, step: str, mistakes: tuple[Mistake, ...], most: int = 1) -> Consequences:
    """The field `step` under every compatible set of up to `most` of these mistakes."""
    known = seeds(problem)
    made = plan(mistakes, most, FINAL.get(step, step), frozenset(known), asked_steps(problem))
    return execute(problem, step, made, known)


def consequences_of(problem: Problem, step: str, hypotheses: tuple[Hypothesis, ...]) -> Consequences:
    """The field `step` under these hypotheses."""
    known = seeds(problem)
    made = plan_for(hypotheses, FINAL.get(step, step), frozenset(known), asked_steps(problem))
    return execute(problem, step, made, known)


def asked_steps(problem: Problem) -> frozenset[str]:
    """The names of the steps that the problem asks for."""
    return frozenset(step.name for step in STEPS if step.asked(problem))


def execute(problem: Problem, step: str, made: Plan, known: dict[str, Array]) -> Consequences:
    """Run a plan on a problem's numbers."""
    one = np.zeros(1, dtype=np.int64)
    fields = {name: Nodes([(one, array[None])]) for name, array in known.items()}
    # overflow, inf − inf and ln 0 are results here, as in the trace
    with np.errstate(all="ignore"):
        for stage in made.stages:
            results = _run_stage(problem, stage.calls, fields)
            names = stage.step.writes
            fields |= results if stage.calls else {names[0]: fields[stage.step.reads[0]]}
    target = fields[made.target]
    node, values = _with_rewritten(problem, made, _as_one(target, _shape(problem, made, target)))
    return Consequences(step, made.hypotheses, node, values)


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
    shape: tuple[int, ...] = target.stacks[target.stack_of[made.node[0]]].shape[1:]
    return shape


def _as_one(target: Nodes, shape: tuple[int, ...]) -> Array:
    """All nodes in one array; a result of another shape explains nothing, so it is NaN throughout."""
    if [stack.shape[1:] for stack in target.stacks] == [shape]:
        return target.stacks[0][target.row_of]
    values = np.full((len(target.row_of), *shape), np.nan)
    for index, stack in enumerate(target.stacks):
        if stack.ndim == values.ndim and all(
            s in (1, n) for s, n in zip(stack.shape[1:], shape, strict=True)
        ):
            members = target.stack_of == index
            values[members] = stack[target.row_of[members]]
    return values


def _run_stage(problem: Problem, calls: Sequence[Call], fields: dict[str, Nodes]) -> dict[str, Nodes]:
    parts: dict[str, list[tuple[Array, Array]]] = {}
    for call in calls:
        for ids, inputs in _by_shape(call, fields):
            results = call.version.run(problem, *inputs)
            results = results if isinstance(results, tuple) else (results,)
            for name, array in zip(call.step.writes, results, strict=False):
                parts.setdefault(name, []).append((ids, stacked(problem, name, array, len(ids))))
    return {name: Nodes(each) for name, each in parts.items()}


def _by_shape(call: Call, fields: dict[str, Nodes]) -> list[tuple[Array, list[Array]]]:
    """The call's inputs, split so that each group can be stacked: nearly always one group."""
    reads = [fields[name] for name in call.version.reads]
    rows_of_groups = [slice(None)] if all(each.is_plain for each in reads) else _groups(call, reads)
    return [
        (call.nodes[rows], [each.take(call.inputs[rows, index]) for index, each in enumerate(reads)])
        for rows in rows_of_groups
    ]


def _groups(call: Call, reads: Sequence[Nodes]) -> list[Any]:
    """Rows of a call that go together: inputs of one shape, and one node of a large field, a whole K or V."""
    kind = np.zeros(len(call.nodes), dtype=np.int64)
    for index, each in enumerate(reads):
        ids = call.inputs[:, index]
        apart = ids if each.is_large else each.stack_of[ids]
        kind = kind * (int(apart.max()) + 1) + apart
    return [np.flatnonzero(kind == one) for one in dict.fromkeys(kind.tolist())]


def stacked(problem: Problem, name: str, array: Array, count: int) -> Array:
    """A result with its axes complete and one row for each node, so that it stacks with the others."""
    axes = _axes(problem, name)
    if array.ndim <= axes:  # made from the problem alone, or from nothing that was stacked
        array = array.reshape(*(1,) * (axes + 1 - array.ndim), *array.shape)
    return np.broadcast_to(array, (count, *array.shape[1:]))


def _axes(problem: Problem, name: str) -> int:
    names = HIDDEN.get(name, name)
    axes = canonical_axes(problem, names)
    return len(problem.batch) + len(axes) + (axes[-1] == "Tq")


HIDDEN = {"logits": "masked", "settled": "weights", "attention": "weights"}
