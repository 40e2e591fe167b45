"""How much work the steps of an exercise are: what is multiplied, added, exponentiated and divided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.tracing import Trace, seeds
from .exercises import Exercise
from .questions import StepQuestion

# What a step is worked from, where that was neither given, shown nor asked before.
NEEDS = {
    "output": "weights",
    "merged": "blended",
    "blended": "weights",
    "weights": "row_sum",
    "logsumexp": "row_sum",
    "row_sum": "exponentials",
    "exponentials": "masked",
    "masked": "scaled",
    "scaled": "scores",
}


@dataclass(frozen=True)
class Effort:
    """The operations of a piece of work, zeros left out as anybody leaves them out.

    Fields
    products, additions, exponentials, divisions  how many
    """

    products: int = 0
    additions: int = 0
    exponentials: int = 0
    divisions: int = 0

    def __add__(self, other: Effort) -> Effort:
        """Both pieces of work."""
        return Effort(
            self.products + other.products,
            self.additions + other.additions,
            self.exponentials + other.exponentials,
            self.divisions + other.divisions,
        )

    @property
    def total(self) -> float:
        """One number: a product counts 1, an addition half of it, a division by a long number twice."""
        return self.products + self.additions / 2 + self.exponentials + 2 * self.divisions

    def to_dict(self) -> dict[str, Any]:
        """The counts and their total."""
        return {**asdict(self), "total": self.total}


def effort(exercise: Exercise) -> Effort:
    """The work that the steps of an exercise ask for.

    exercise  which
    Raises FileError. Special cases: what is shown, given or asked before is not worked again.
    """
    work, total = exercise.work, Effort()
    known = {view.field for view in exercise.views} | set(seeds(work.problem))
    for question in exercise.questions:
        if isinstance(question, StepQuestion):
            step: str | None = question.step
            while step is not None and step not in known:
                total += _own(work, step, question.rows)
                known.add(step)
                step = NEEDS.get(step)
    return total


def _own(work: Trace, step: str, rows: tuple[int, ...]) -> Effort:
    """Of one step alone, on the rows that are asked."""
    if step == "output" and work.problem.w_output is not None:
        return _products(_asked(work.fields["merged"], rows), work.problem.w_output)
    if step in ("output", "blended"):
        return _products(_asked(work.fields["weights"], rows), work.fields["value_repeated"])
    if step in _OWN:
        return _OWN[step](work.fields, rows)
    if step in ("query", "key", "value") and work.problem.x is not None:
        return _projection(work, step)
    return Effort(additions=int(_asked(work.fields[step], rows).size)) if step in work.fields else Effort()


def _projection(work: Trace, name: str) -> Effort:
    x = work.problem.x if name == "query" or work.problem.x_key is None else work.problem.x_key
    return _products(np.asarray(x), getattr(work.problem, f"w_{name}"))


Fields = Mapping[str, Array]


def _asked(array: Array, rows: tuple[int, ...]) -> Array:
    return array[..., [row - 1 for row in rows], :] if rows else array


def _products(left: Array, right: Array) -> Effort:
    """Of a matrix product: a factor of 0 costs nothing."""
    terms = (left != 0).astype(int) @ (right != 0).astype(int)
    return Effort(products=int(terms.sum()), additions=int(np.maximum(terms - 1, 0).sum()))


def _scores(fields: Fields, rows: tuple[int, ...]) -> Effort:
    return _products(_asked(fields["query_rotated"], rows), np.swapaxes(fields["key_rotated"], -1, -2))


def _scaled(fields: Fields, rows: tuple[int, ...]) -> Effort:
    scores, scaled = _asked(fields["scores"], rows), _asked(fields["scaled"], rows)
    return Effort(products=int(np.sum(scores != scaled)))


def _masked(fields: Fields, rows: tuple[int, ...]) -> Effort:
    """Only what a float mask adds is work."""
    before, after = _asked(fields["scaled"], rows), _asked(fields["masked"], rows)
    return Effort(additions=int(np.sum(np.isfinite(after) & (after != before))))


def _exponentials(fields: Fields, rows: tuple[int, ...]) -> Effort:
    scores = _asked(fields["masked"], rows)
    powers = {float(score) for score in scores[np.isfinite(scores)] if score}
    return Effort(exponentials=len(powers))


def _row_sum(fields: Fields, rows: tuple[int, ...]) -> Effort:
    seen = np.isfinite(_asked(fields["masked"], rows)).sum(axis=-1)
    return Effort(additions=int(np.maximum(seen - 1, 0).sum()))


def _weights(fields: Fields, rows: tuple[int, ...]) -> Effort:
    weights = _asked(fields["weights"], rows).reshape(-1, fields["weights"].shape[-1])
    return Effort(divisions=sum(len({float(w) for w in row if 0 < w < 1}) for row in weights))


_OWN: dict[str, Callable[[Fields, tuple[int, ...]], Effort]] = {
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "exponentials": _exponentials,
    "row_sum": _row_sum,
    "weights": _weights,
}
