"""The programs of tests/mutants as ordinary functions: f(query, key, value, *, …) -> output.

`headwork check wrong_numpy.py:never_scaled` runs one. A mutant was written for one kind of problem: its function
takes what that kind has, and where a call leaves out an option of it, a right program answers. The lengths of the
parts (`chunks`) may be left out: the keys are then cut in about the proportions of the mutant's own problem.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TESTS = str(Path(__file__).resolve().parents[2])
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)

from mutants import MUTANTS, Inputs  # noqa: E402  (found by the path above, wherever this file is loaded from)
from mutants.in_catalogue import names  # noqa: E402
from mutants.mutant import DRAWN  # noqa: E402
from mutants.right import textbook  # noqa: E402

HEADS = ("heads", "kv_heads")
FREE = ("chunks", *HEADS)  # an option that is always there
SIDE = ("dtype",)  # how a mutant computes, and nothing that a caller says


def as_function(run: Callable[[Inputs], Any], example: Inputs, doc: str) -> Callable[..., Any]:
    """`run` with the fields of its example as arguments."""
    asked = [name for name in options_of(example) if name not in FREE]
    signature = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in arrays_of(example)]
        + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in HEADS if name in example]
        + [_option(name) for name in options_of(example) if name not in HEADS]
        + [_option("return_weights")]
    )

    def function(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords).arguments
        return_weights = bound.pop("return_weights", False)
        inputs = {
            name: _plain(name, value)
            for name, value in bound.items()
            if value is not None and value is not False
        }
        _check_axes(inputs, example)
        if "chunks" in example and "chunks" not in inputs:
            inputs["chunks"] = _parts(inputs["key"].shape[-2], example["chunks"])
        if inputs.get("causal") is True:
            inputs["causal"] = example["causal"]  # True, or the corner that is meant
        made = (run if set(asked) <= set(inputs) else textbook)(inputs)
        dtype = next(iter(inputs.values())).dtype
        output = np.asarray(made["output"]).astype(dtype)
        return (
            (output, np.asarray(made["weights"]).astype(dtype))
            if return_weights and "weights" in made
            else output
        )

    function.__name__ = function.__qualname__ = run.__name__
    function.__doc__ = doc
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def arrays_of(example: Inputs) -> list[str]:
    return [name for name in example if name in DRAWN]


def options_of(example: Inputs) -> list[str]:
    return [name for name in example if name not in (*DRAWN, *SIDE)]


def _option(name: str) -> inspect.Parameter:
    default = False if name in ("causal", "return_weights") else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def _plain(name: str, value: Any) -> Any:
    """As a mutant's inputs have it: arrays, and Python's own numbers and lists for everything else."""
    if name in (*DRAWN, "mask"):
        return np.asarray(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _check_axes(inputs: Inputs, example: Inputs) -> None:
    """A mutant knows one number of axes. Raises ValueError for others."""
    first = next(iter(example))
    axes, expected = np.ndim(inputs[first]), np.ndim(example[first])
    if axes != expected:
        raise ValueError(f"{first} has {axes} axes; {expected} were expected")


def _parts(Tk: int, like: list[int]) -> list[int]:
    """Tk keys cut into as many parts as `like` has, or into single keys where there are not so many."""
    ends = np.round(np.cumsum(like) * Tk / sum(like)).astype(int)
    return [int(part) for part in np.diff([0, *ends]) if part > 0]


def layout_of(example: Inputs) -> str:
    first = next(iter(example))
    packed = first == "x" or "heads" in example
    return {2: "TE" if packed else "TD", 3: "BTE" if packed else "HTD", 4: "BHTD"}[np.ndim(example[first])]


def row(mutant: Any) -> tuple[Any, ...]:
    """As the tables of the other files have it."""
    example = mutant.inputs(0)
    takes = {name: name for name in (*arrays_of(example), *options_of(example), "return_weights")}
    more: dict[str, Any] = {
        "inputs": mutant.inputs,
        "needs": tuple(name for name in HEADS if name in example),
    }
    if "upper_left" in (causal := example.get("causal", ""),):
        more["causal"] = causal
    if "weights" in mutant.run(example):
        more["returns"] = "output weights"
    function = as_function(mutant.run, example, f"{mutant.rule} ({mutant.report})")
    return function, layout_of(example), takes, names(mutant)[0], mutant.report, {}, more


# function, layout, takes, mistake, report, shows, more (with the mutant's own problems: seed -> inputs)
with np.errstate(all="ignore"):
    WRONG = tuple(row(mutant) for mutant in MUTANTS)
globals().update({function.__name__: function for function, *_ in WRONG})
