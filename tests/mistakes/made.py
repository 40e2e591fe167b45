"""Make a mistake by its id, for the tests beside this file."""

from headwork.arrays import Array
from headwork.mechanism.fields import in_kind
from headwork.mistakes import (
    alibi,
    blending,
    causal,
    dropout,
    heads,
    masking,
    merging,
    numerics,
    projection,
    rope,
    scale,
    scores,
    sinks,
    softcap,
    softmax,
    windows,
)
from headwork.mistakes.mistake import Mistake
from headwork.mistakes.wrong_run import can_be_made, run_wrong
from headwork.problem import Problem

MODULES = (
    *(projection, heads, rope, scores, scale, softcap, alibi, masking, causal, windows),
    *(softmax, sinks, blending, merging, dropout, numerics),
)
BY_ID: dict[str, Mistake] = {id: m for module in MODULES for m in module.MISTAKES for id in m.ids}


def made(problem: Problem, field: str, *ids: str, theta: float | None = None) -> Array:
    """The field when these mistakes are made together; each of them must be one that the problem can show.

    "weights" are those that meet the values, after whatever was done to them behind the softmax.
    """
    mistakes = [BY_ID[id] for id in ids]
    for mistake in mistakes:
        assert can_be_made(problem, mistake), f"{mistake.id} cannot be made here"
    fields = run_wrong(problem, mistakes, theta)
    return in_kind(problem, field, fields["attention" if field == "weights" else field])
