"""What a mutant is, and how its inputs are drawn.

A mutant is a wrong implementation of attention, written by hand the way somebody really wrote it, as a
small program of its own: NumPy, and nothing of the package that is tested. It takes a plain dict with
the field names and the conventions of docs/conventions.md, and returns {"output": …, "weights": …}
(weights where that program has them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Inputs = dict[str, Any]
Answer = dict[str, NDArray[Any]]

DRAWN = (
    "query",
    "key",
    "value",
    "x",
    "x_key",
    "w_query",
    "w_key",
    "w_value",
    "w_output",
    "b_query",
    "b_key",
    "b_value",
    "b_output",
)


@dataclass(frozen=True)
class Mutant:
    """One wrong implementation.

    id              kebab-case, of its own
    report          owner/repo#number where people reported it, or "course folklore: …" where it is commonly
                    seen but no report was found; in brackets what had to be assumed
    rule            the wrong rule in one line
    kind            the mistake that it is to be recognised as
    inputs          seed -> inputs on which it shows
    run             inputs -> answer
    same_numbers_as other kinds that give the same numbers on these inputs, whatever the seed
    nonfinite       the wrong output holds NaN or infinities
    """

    id: str
    report: str
    rule: str
    kind: str
    inputs: Callable[[int], Inputs]
    run: Callable[[Inputs], Answer]
    same_numbers_as: tuple[str, ...] = ()
    nonfinite: bool = False


def drawn(*, spread: int = 15, **fields: Any) -> Callable[[int], Inputs]:
    """seed -> inputs. An array field is given by its shape and drawn; every other field stays as it is.

    Entries have one decimal, between −spread/10 and spread/10; those of one matrix are distinct where
    there are enough such numbers.
    """

    def inputs(seed: int) -> Inputs:
        random = np.random.default_rng(seed)
        return {
            name: _numbers(random, value, spread) if name in DRAWN and isinstance(value, tuple) else value
            for name, value in fields.items()
        }

    return inputs


def _numbers(random: np.random.Generator, shape: tuple[int, ...], spread: int) -> Any:
    size = int(np.prod(shape[-2:]))
    tenths = np.arange(-spread, spread + 1)
    matrices = [
        random.choice(tenths, size, replace=size > len(tenths)) for _ in range(int(np.prod(shape[:-2])))
    ]
    return (np.array(matrices).reshape(shape) / 10).tolist()
