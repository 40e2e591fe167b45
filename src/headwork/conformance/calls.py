"""What is said between the checker and somebody's function: signatures, calls and what came of them.

All of it is plain data, NumPy arrays and numbers, so that a call can cross into another process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..arrays import Array

ENDS = ("returned", "raised", "crashed", "timed out", "out of memory", "not arrays")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, as far as it can be seen without a call.

    kind  "positional", "either", "keyword", "*args" or "**kwargs"; default: its repr, None where it has none
    """

    name: str
    kind: str = "either"
    default: str | None = None
    annotation: str = ""


@dataclass(frozen=True)
class Settings:
    """An object with these attributes, for functions that read them from a module or a configuration."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Signature:
    """What can be seen of a function without calling it.

    kind     "function", "module" (torch), "onnx" or "command"
    library  whose arrays it seems to take: "numpy", "torch", "jax", "cupy"; "" where nothing says so
    parameters  None where they cannot be read, as of some compiled functions
    weights  of a torch module: parameter -> shape
    """

    name: str
    kind: str
    library: str
    parameters: tuple[Parameter, ...] | None
    doc: str = ""
    weights: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Call:
    """One call.

    positional keywords  NumPy arrays, numbers, booleans, strings, None, tuples of these, and Settings
    weights      what a torch module's own parameters are during the call, by their names
    library device       what the arrays are turned into, and where they are put
    layout       how arrays lie in memory: "contiguous", "strided" (every other entry of a larger array),
                 "transposed" or "expanded" (zero strides along the first axis that repeats)
    out          the parameter that takes an array to write into, with its shape and dtype in `keywords`
    cotangent    where gradients are wanted: what the first output is multiplied with before it is summed
    gradients_of the positions and names of the arrays that the gradients are taken of
    first        the first call of its kind may compile: it has the longer limit
    """

    positional: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    library: str = "numpy"
    device: str = "cpu"
    layout: str = "contiguous"
    out: str = ""
    cotangent: Array | None = None
    gradients_of: tuple[int | str, ...] = ()
    first: bool = False
    weights: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a call.

    end        one of ENDS; said: for a person, what happened (the exception, the signal, the limit)
    outputs    what it returned, in order, as NumPy arrays
    names      their names, where it returned a mapping or a named tuple
    kinds      the type of each output as it came, such as "torch.Tensor"
    gradients  in the order of `gradients_of`
    changed    the arguments that the call changed, by position or name
    side_effects  in words: "NumPy's exp was replaced", "the random state of NumPy was changed"
    printed    what it printed, shortened; seconds: what the call itself took; memory: its growth in bytes
    exception  the class name where it raised
    """

    end: str
    said: str = ""
    outputs: tuple[Array, ...] = ()
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    gradients: tuple[Array, ...] = ()
    changed: tuple[int | str, ...] = ()
    side_effects: tuple[str, ...] = ()
    printed: str = ""
    seconds: float = 0.0
    memory: int = 0
    exception: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether there are numbers to look at."""
        return self.end == "returned"


class Subject(Protocol):
    """Somebody's function: in a process of its own (runner.py) or here (here.py)."""

    @property
    def signature(self) -> Signature:
        """What can be seen of it without a call."""

    def call(self, call: Call) -> Outcome:
        """Call it once; never raises for what the function does."""

    def close(self) -> None:
        """Let go of the process."""
