"""Run the pipeline and keep the result of every step."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import OptionError, TooLargeError
from ..problem import Problem
from .fields import FIELDS, INPUTS, in_kind
from .steps import STEPS, Step

MATRICES_KEPT = 8  # scores, scaled, …, weights: at most so many (Tq, Tk) arrays, and one to work in


@dataclass(frozen=True, eq=False)
class Trace:
    """A problem worked out, every step kept.

    Fields
    problem  the Problem
    fields   name to array as the pipeline holds it: per head (…, H, Tq, ·), row quantities (…, H, Tq, 1)

    Every field is an attribute too, in the shape of the problem's own arrays: scores, scaled, capped, biased,
    masked, row_max, exponentials, row_sum, weights, logsumexp (natural), output, and those of heads,
    positions and parts where the problem has them. A step that the problem does not ask for hands its
    input on: `masked` equals `scaled` where nothing is masked. Steps before `given` are absent.
    Special cases: a row that may see nothing has weights 0, output 0, logsumexp −inf (with a sink: the sink).
    """

    problem: Problem
    fields: Mapping[str, Array]

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name in ("problem", "fields"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this trace has no {name!r}; it has {', '.join(self.fields)}") from None

    def __getitem__(self, name: str) -> Array:
        return in_kind(self.problem, name, self._whole(name))

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in FIELDS if field.name in self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self.fields

    def _whole(self, name: str) -> Array:
        """The field at its full shape: bias and allowed are kept as small as they were given."""
        array = self.fields[name]
        if name in ("bias", "allowed"):
            problem = self.problem
            return np.broadcast_to(array, problem.matrix_shape)
        return array

    def __repr__(self) -> str:
        names = dict.fromkeys([*(name for step in self.steps for name in step.writes), "output"])
        return f"Trace({', '.join(f'{name} {self[name].shape}' for name in names if name in self)})"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that this problem asks for, in order."""
        return tuple(step for step in STEPS if step.asked(self.problem) and self._ran(step))

    def _ran(self, step: Step) -> bool:
        start = seeds(self.problem)
        return all(name in self.fields and name not in start for name in step.writes[:1])

    def to_dict(self) -> dict[str, Any]:
        """The problem, each step asked for with its title, formula and fields, and the output, as arrays."""
        return {
            "problem": self.problem.to_dict(),
            "steps": [
                {
                    "name": step.name,
                    "title": step.title,
                    "formula": step.formula,
                    "fields": {name: self[name] for name in step.writes if name in self.fields},
                }
                for step in self.steps
            ],
            **({"output": self["output"]} if "output" in self else {}),
        }


def trace(problem: Problem | Any, key: Any = None, value: Any = None, **options: Any) -> Trace:
    """Scaled dot-product attention, softmax(QKᵀ/√d_k + mask)V, each step kept.

    problem  a Problem; or the query, shape (…, H, Tq, D) or (T, D), with
    key      (…, Hkv, Tk, D) and
    value    (…, Hkv, Tk, Dv)
    options  the other fields of Problem: mask, causal, scale, …

    Special cases: a row that may see nothing has weights 0, output 0, logsumexp −inf; NaN in one query
    stays in its row; a masked key's NaN or inf never leaks.
    Raises ShapeError, MaskError, OptionError, NumberError as Problem does; TooLargeError.
    Source: Vaswani et al. 2017, equation 1; logsumexp: Dao 2023, section 3.1.

    >>> work = trace([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0], [4.0]], scale=0.0)
    >>> work.weights.tolist(), work.output.tolist()
    ([[0.5, 0.5]], [[3.0]])
    """
    if not isinstance(problem, Problem):
        problem = Problem.from_dict({"query": problem, "key": key, "value": value, **options})
    elif key is not None or value is not None or options:
        raise OptionError("trace takes a Problem that holds everything, or arrays with options; not both.")
    check_memory(problem)
    return Trace(problem, run(problem, seeds(problem)))


def seeds(problem: Problem) -> dict[str, Array]:
    """The fields that the problem itself gives, and results of somebody's own that stand for some."""
    fields = {name: getattr(problem, name) for name in INPUTS}
    if problem.x_key is None:
        fields["x_key"] = problem.x
    for step, array in (problem.given or {}).items():
        fields[step] = array.astype(problem.dtype if step == "weights" else problem.work_dtype)
    for step, (values, _) in (problem.known or {}).items():
        fields[step] = values
    return {name: array for name, array in fields.items() if array is not None}


def run(problem: Problem, known: Mapping[str, Array]) -> dict[str, Array]:
    """Every field that follows from the known ones; known fields stay as they are.

    Give it a trace's fields up to a step, with one of them replaced, and it works out what follows from that.
    """
    fields = dict(known)
    # overflow, inf − inf and ln 0 give inf, NaN and −inf, as IEEE says: results to be shown, not warnings
    with np.errstate(all="ignore"):
        for step in STEPS:
            for name, array in zip(step.writes, results(problem, step, fields), strict=False):
                fields.setdefault(name, array)
    return fields


def results(problem: Problem, step: Step, fields: Mapping[str, Array]) -> tuple[Array, ...]:
    """What a step gives, or nothing: its results are known already, or what it needs is absent."""
    if all(name in fields for name in step.writes):
        return ()
    if step.asked(problem) or not step.reads:
        have = all(name in fields for name in step.reads)
        return step.run(problem, *(fields[name] for name in step.reads)) if have else ()
    return (fields[step.reads[0]],) if step.passes and step.reads[0] in fields else ()


def check_memory(problem: Problem) -> None:
    """Refuse what would not fit, before any of it is made. Raises TooLargeError."""
    need, have = numbers_kept(problem) * problem.work_dtype.itemsize, memory_left()
    if need > have:
        raise TooLargeError(
            f"every step of this problem would be kept: with {problem.Tq:,} queries and {problem.Tk:,} keys "
            f"about {need / 2**30:,.1f} GiB, and this machine has {have / 2**30:,.1f} GiB left. "
            f"Take fewer tokens or heads."
        )


def numbers_kept(problem: Problem) -> int:
    """About how many numbers a trace holds: score matrices, and what is D, Dv or Eout wide for each token."""
    Tq, Tk, D, Dv = problem.Tq, problem.Tk, problem.D or 0, problem.Dv or 0
    parts = len(problem.chunks or ())
    head = MATRICES_KEPT * Tq * Tk + 3 * (Tq + Tk) * (D + Dv) + parts * Tq * Dv
    projected = 0 if problem.w_output is None else Tq * problem.w_output.shape[1]
    return math.prod(problem.batch) * (problem.H * head + projected)


def memory_left() -> int:
    """Bytes of memory that can still be had: MemAvailable on Linux, all physical memory elsewhere."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 2**34
