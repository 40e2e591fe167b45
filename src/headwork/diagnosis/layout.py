"""Where results lie: nodes of a field in stacks of one shape, and from where each call takes what it reads.

No numbers here, as in plan.py; but shapes, which a plan does not know. Problems of one shape share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..mistakes.mistake import Wrong
from .plan import Call, Stage

LARGE = 2**17  # entries of a node of which no copy should be made
KEPT = 4096  # layouts: of the dozen stages of some hundred plans


@dataclass(frozen=True, eq=False)
class Task:
    """Results of a call that are worked out together.

    nodes    their ids
    reads    for each field read, its name, which of its stacks and which rows of it; one row that
             broadcasts where all results read the same
    numbers  the hypotheses whose numbers they are worked out with, where the rule has one
    """

    version: Wrong
    nodes: Array
    reads: tuple[tuple[str, int, Array | slice], ...]
    numbers: Array | None = None


@dataclass(frozen=True, eq=False)
class Tasks:
    """All results of a stage."""

    each: tuple[Task, ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each node of a field is.

    members   for each stack, the tasks whose results are joined in it, in order
    stack_of  row_of  (nodes,): the stack that a node is in, and its row there
    is_large  whether one node is so large that no copy of it should be made
    """

    members: tuple[tuple[int, ...], ...]
    stack_of: Array
    row_of: Array
    is_large: bool

    def find(self, ids: Array) -> tuple[int, Array | slice]:
        """The stack and the rows of nodes of one shape."""
        stack, rows = int(self.stack_of[ids[0]]), self.row_of[ids]
        first = int(rows[0])
        if (rows == first).all():
            return stack, slice(first, first + 1)
        return stack, slice(first, first + len(rows)) if (np.diff(rows) == 1).all() else rows


@lru_cache(maxsize=KEPT)
def alone(shape: tuple[int, ...]) -> Layout:
    """The layout of what the problem gives: one node of that shape."""
    first = np.zeros(1, dtype=np.int64)
    return Layout(((0,),), first, first, math.prod(shape) > LARGE)


@lru_cache(maxsize=KEPT)
def layout(tasks: Tasks, shapes: tuple[tuple[int, ...], ...]) -> Layout:
    """The layout of a field, from the shape of each task's results, with a first axis for the nodes."""
    kinds = dict.fromkeys(shape[1:] for shape in shapes)
    members = tuple(tuple(i for i, shape in enumerate(shapes) if shape[1:] == kind) for kind in kinds)
    stack_of = np.zeros(sum(len(task.nodes) for task in tasks.each), dtype=np.int64)
    row_of = np.zeros_like(stack_of)
    for stack, each in enumerate(members):
        ids = np.concatenate([tasks.each[i].nodes for i in each])
        stack_of[ids], row_of[ids] = stack, np.arange(len(ids))
    return Layout(members, stack_of, row_of, max(map(math.prod, kinds)) > LARGE)


@lru_cache(maxsize=KEPT)
def tasks(stage: Stage, reads: tuple[Layout, ...]) -> Tasks:
    """The calls of a stage in parts that can be stacked, from the layouts of the fields that it reads."""
    layouts = dict(zip(stage.reads, reads, strict=True))
    return Tasks(tuple(task for call in stage.calls for task in _parts(call, layouts)))


def _parts(call: Call, layouts: dict[str, Layout]) -> list[Task]:
    """Results whose inputs have one shape, and share what is large, a whole K or V: nearly always all."""
    reads = list(zip(call.version.reads, call.inputs.T, strict=True))
    kind = np.zeros(len(call.nodes), dtype=np.int64)
    for name, ids in reads:
        where = layouts[name]
        apart = ids if where.is_large else where.stack_of[ids]
        kind = kind * (int(apart.max()) + 1) + apart
    together = [kind == one for one in dict.fromkeys(kind.tolist())]
    return [
        Task(
            call.version,
            call.nodes[rows],
            tuple((name, *layouts[name].find(ids[rows])) for name, ids in reads),
            None if call.numbers is None else call.numbers[rows],
        )
        for rows in together
    ]
