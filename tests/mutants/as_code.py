"""Mutants as a learner's answer to an exercise in code: which exercise asks for what a mutant breaks, and a file.

A mutant belongs to a track when its own inputs ask for what the track is about and for nothing more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import MUTANTS, RIGHT
from .mutant import Inputs, Mutant
from .right import features

# track -> what the inputs of its mutants ask for
ASKED: dict[str, tuple[frozenset[str], ...]] = {
    "attention": (frozenset(),),
    "causal": (frozenset({"causal"}),),
    "masks": (frozenset({"mask"}), frozenset({"mask", "empty rows"})),
    "heads": (frozenset({"heads"}),),
    "grouped-heads": (frozenset({"stacked", "gqa"}),),
    "cache": (frozenset({"causal", "cache"}),),
    "online-softmax": (frozenset({"chunks"}),),
}
# Programs of the softmax's file that break what comes before it, and so answer no exercise about it alone.
BEFORE = ("left-out-with-the-scale", "rectified-scores")
PROGRAM = {one.id: one for one in (*MUTANTS, *RIGHT)}


def tracks_of(mutant: Mutant) -> list[str]:
    """The tracks that ask for what a mutant breaks."""
    inputs = mutant.inputs(0)
    if "query" not in inputs:
        return []
    asked = frozenset(features(inputs))
    single = np.ndim(inputs["query"]) == 2
    fitting = [
        track for track, ways in ASKED.items() if asked in ways and (single or track == "grouped-heads")
    ]
    more_queries = len(inputs["query"]) > len(inputs["key"])
    is_softmax = fitting == ["attention"] and mutant.run.__module__.endswith("mutants.softmax")
    is_softmax = is_softmax and mutant.id not in BEFORE
    return [] if "cache" in fitting and more_queries else [*fitting, *(["softmax"] if is_softmax else [])]


ANSWERS = [(track, mutant) for mutant in MUTANTS for track in tracks_of(mutant)]


def file_text(function: str, track: str, program: str) -> str:
    """A learner's file: the function of a track, which hands its arguments to a program of this package."""
    return (
        "import numpy as np\nfrom mutants.as_code import answered\n\n\n"
        f"def {function}(*arguments):\n    return answered({program!r}, {track!r}, *arguments)\n"
    )


def answered(program: str, track: str, *arguments: Any) -> Any:
    """What a program gives for the arguments of a track's function."""
    step = "weights" if track == "softmax" else "output"
    return np.asarray(PROGRAM[program].run(inputs_of(track, *arguments))[step])


def inputs_of(track: str, *arguments: Any) -> Inputs:
    """The arguments of a track's function as the inputs of a program."""
    if track == "softmax":
        return _with_scores(arguments[0])
    query, key, value, *more = [each.tolist() if isinstance(each, np.ndarray) else each for each in arguments]
    if track == "cache":
        past_key, past_value = more
        return {"query": query, "key": past_key + key, "value": past_value + value, "causal": True}
    own = {"masks": "mask", "heads": "heads", "online-softmax": "chunks"}.get(track)
    if own == "chunks":
        more = [[min(more[0], len(key) - at) for at in range(0, len(key), more[0])]]
    if own == "mask":
        more = [np.broadcast_to(more[0], (len(query), len(key))).tolist()]
    return {"query": query, "key": key, "value": value, **({own: more[0]} if own else {}), **_causal(track)}


def _causal(track: str) -> Inputs:
    return {"causal": True} if track == "causal" else {}


def _with_scores(scores: Any) -> Inputs:
    """Inputs whose scaled scores are these: each row is a query, twice or four times, and each key picks a column.

    The width is 4 or 16, whose roots are exact.
    """
    columns = scores.shape[-1]
    width = 4 if columns <= 4 else 16
    query = np.zeros((len(scores), width))
    query[:, :columns] = np.maximum(scores, -1e30) * np.sqrt(width)
    return {
        "query": query.tolist(),
        "key": np.eye(columns, width).tolist(),
        "value": np.eye(columns).tolist(),
    }
