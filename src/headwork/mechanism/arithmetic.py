"""How each entry of each step came about, as data: the numbers that went in, what was done, the result.

    worked(trace, "scores", (0, 2)).text()   is   s₁₃ = 2·2 + 0·0 + 0·0 + 0·0 = 4

The results are the trace's own. Only what a trace does not keep is worked out here: the angle of a turn, and
the weights within one part of the keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UnknownNameError
from ..problem import Problem, Rope
from .fields import axes_of, canonical_axes, field_named
from .masks import float_masks
from .numerals import DIGITS, number_text, subscript, superscript
from .positions import distances, pairs, query_positions
from .reasons import why_hidden
from .steps import STEPS
from .tracing import Trace, seeds

Piece = Any  # str, or a number: float, int or a NumPy scalar, which keeps its dtype's digits
Term = tuple[Piece, ...]
PARTS = ("part_output", "part_logsumexp")  # these have an axis of parts behind the batch axes
MOST_TERMS = 12  # of a longer sum only the ends are written out
ENDS = 3
LARGEST_EXPONENT = (
    300  # beyond it e^s or a sum of them may leave float64 (ln 1.8e308 = 709.8), and no one reads it
)


@dataclass(frozen=True)
class Worked:
    """One entry and how it came about.

    Fields
    field    the step's result that it belongs to; index: its place there, from 0, as in `trace[field]`
    symbol   the entry's name; s₁₃ counts from 1
    pieces   signs and numbers in turn: (2.0, "·", 1.0, " + ", …); empty where nothing is worked out
    value    the result, the trace's own
    reason   in words, what numbers do not say: "key 3 is after query 1"
    """

    field: str
    index: tuple[int, ...]
    symbol: str
    pieces: tuple[Piece, ...]
    value: Any
    reason: str = ""

    def arithmetic(self, digits: int = DIGITS) -> str:
        """What is done, with its numbers: "2·2 + 0·(−1)"."""
        return pieces_text(self.pieces, digits)

    def text(self, digits: int = DIGITS) -> str:
        """The whole line: "s₁₃ = 2·2 + 0·0 + 0·0 + 0·0 = 4"."""
        shown = (self.symbol, self.arithmetic(digits), entry_text(self.value, digits))
        line = " = ".join(part for part in shown if part)
        return f"{line}: {self.reason}" if self.reason else line

    def to_dict(self) -> dict[str, Any]:
        """The same, with the arithmetic as text."""
        return {
            "field": self.field,
            "index": list(self.index),
            "symbol": self.symbol,
            "arithmetic": self.arithmetic(),
            "value": self.value,
            "reason": self.reason,
        }


def entry_text(value: Any, digits: int = DIGITS) -> str:
    """An entry of any field: a number, or yes and no where it says which keys may be seen."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return number_text(value, digits)


def pieces_text(pieces: Iterable[Piece], digits: int = DIGITS) -> str:
    """The pieces put together; a negative number behind a sign gets parentheses: 2·(−1)."""
    text = ""
    for piece in pieces:
        part = piece if isinstance(piece, str) else number_text(piece, digits)
        behind_sign = not isinstance(piece, str) and text.rstrip().endswith(("·", "+", "−", "/", "^"))
        text += f"({part})" if behind_sign and part.startswith("−") else part
    return text


# --- from a field and an index to its arithmetic ---------------------------------------------------


def worked(trace: Trace, field: str, index: Sequence[int]) -> Worked:
    """How `trace[field][index]` came about.

    field  any result that the trace has; index: whole numbers from 0, one for each axis
    Special cases: a step that the problem does not ask for hands on an earlier entry, and the arithmetic is
    that one's. What the problem itself gives has no arithmetic.
    Raises UnknownNameError: no such field in this trace, or no such entry in it.
    """
    place = tuple(int(i) for i in index)
    source = source_of(trace, field)
    shape = trace[field].shape
    if len(place) != len(shape) or any(not 0 <= i < size for i, size in zip(place, shape, strict=True)):
        raise UnknownNameError(
            f"{field} has shape {shape}; there is no entry {place} (counted from 0) in it."
        )
    view = _view(trace, source, place)
    given = source in seeds(trace.problem)
    pieces, reason = ((), "") if given else _HOW[source](view)
    return Worked(field, place, view.symbol(source), tuple(pieces), trace[field][place], reason)


def source_of(trace: Trace, field: str) -> str:
    """The field whose step made this one's numbers: `scaled` for `masked` where nothing is masked.

    Raises UnknownNameError where the trace has no such field.
    """
    field_named(field)
    if field not in trace:
        raise UnknownNameError(f"this problem has no {field}. It has {', '.join(trace)}.")
    made = {*seeds(trace.problem), *(name for step in trace.steps for name in step.writes)}
    handed_on = {step.writes[0]: step.reads[0] for step in STEPS if step.reads}
    while field not in made and field in handed_on:
        field = handed_on[field]
    return field


def unshifted(trace: Trace, index: Sequence[int]) -> Worked | None:
    """A row's sum as people work it, the maximum not taken off: e^1 + e^0 + e^2 = 2.718 + 1 + 7.389 = 11.107.

    index  the row in `trace.row_sum`, from 0
    Special cases: None where the maximum is 0, so that it is the same sum, where the row may see nothing,
    and where a score is not finite or e^score would be too large or too small to be read.
    """
    place = tuple(int(i) for i in index)
    view = _view(trace, "row_sum", place)
    scores = [float(score) for score in view.row("masked", and_sink=True) if not np.isneginf(score)]
    readable = all(abs(score) <= LARGEST_EXPONENT for score in scores)
    if not scores or not readable or max(scores) == 0:
        return None
    exps = [math.exp(score) for score in scores]
    pieces = _sum(("e^", score) for score in scores)
    if len(exps) > 1:
        pieces = (*pieces, " = ", *_sum((exp,) for exp in exps))
    symbol = f"Σⱼ e^s{subscript(view.i)}ⱼ"
    return Worked("row_sum", place, symbol, pieces, math.fsum(exps), "not shifted, the same weights")


# --- one entry's surroundings ----------------------------------------------------------------------


@dataclass(frozen=True)
class _View:
    """Row i, column j of one head of one batch element (and one part of the keys), all from 0."""

    trace: Trace
    batch: tuple[int, ...]
    part: int
    h: int
    i: int
    j: int

    @property
    def problem(self) -> Problem:
        return self.trace.problem

    def matrix(self, name: str) -> Array:
        """The field for this batch element and head, (T, width); row quantities are (Tq, 1)."""
        array = self.trace.fields[name]
        problem, axes = self.problem, canonical_axes(self.problem, name)
        if name in ("bias", "allowed"):  # kept as small as they were given
            array = np.broadcast_to(array, problem.matrix_shape)
        matrix: Array = array[(*self.batch, self.h)] if axes[0] in ("H", "Hkv") else array[self.batch]
        return matrix

    def at(self, name: str) -> Any:
        """The field's entry in this place; of a row quantity, this row's."""
        matrix = self.matrix(name)
        return matrix[self.i, self.j if matrix.shape[1] > 1 else 0]

    def row(self, name: str, and_sink: bool = False) -> Term:
        """This row of the field; with the sink's logit where the problem has one."""
        sink = (self.problem.sink[self.h],) if and_sink and self.problem.sink is not None else ()
        return (*self.matrix(name)[self.i], *sink)

    def column(self, name: str) -> Term:
        return tuple(self.matrix(name)[:, self.j])

    def symbol(self, name: str) -> str:
        field = field_named(name)
        part = f"⁽{superscript(self.part + 1)}⁾" if name in PARTS else ""
        return (
            field.symbol + part + (subscript(self.i) if field.axes[-1] == "Tq" else subscript(self.i, self.j))
        )


def _view(trace: Trace, field: str, index: tuple[int, ...]) -> _View:
    """The place that an index of `trace[field]` means."""
    axes = axes_of(trace.problem, field)
    named = dict(zip(axes, index[len(index) - len(axes) :], strict=True))
    batch = index[: len(index) - len(axes)]
    part, h = named.pop("P", 0), named.pop("H", 0) or named.pop("Hkv", 0)
    i, j = (*named.values(), 0)[:2]
    return _View(trace, batch, part, h, i, j)


def _sum(terms: Iterable[Term], sign: str = " + ") -> Term:
    """The terms with a sign between them; of many, the first ones and the last."""
    kept = list(terms)
    if len(kept) > MOST_TERMS:
        kept = [*kept[:ENDS], (f"… {len(kept) - ENDS - 1} more …",), kept[-1]]
    pieces = [piece for term in kept for piece in (sign, *term)]
    return tuple(pieces[1:])


def _products(left: Iterable[Piece], right: Iterable[Piece]) -> list[Term]:
    return [(a, "·", b) for a, b in zip(left, right, strict=True)]


# --- what each field's step does to one entry: pieces of arithmetic, and words ----------------------

How = tuple[Term, str]


def _projected(view: _View, x: str, name: str) -> How:
    """A row of x times a column of w, plus b."""
    weight, bias = getattr(view.problem, f"w_{name}"), getattr(view.problem, f"b_{name}")
    terms = _products(view.row(x), weight[:, view.j])
    return _sum(terms if bias is None else [*terms, (bias[view.j],)]), ""


def _split(view: _View, name: str) -> How:
    """A copy from the packed array."""
    width = view.trace.fields[f"{name}_heads"].shape[-1]
    return (), f"column {view.h * width + view.j + 1} of row {view.i + 1} of {name}"


def _repeated(view: _View, name: str) -> How:
    """A copy from the key/value head that this query head uses."""
    return (), f"query head {view.h + 1} uses {name} head {view.h * view.problem.Hkv // view.problem.H + 1}"


def _rotated_query(view: _View) -> How:
    return _rotated(view, "query_heads", int(query_positions(view.problem)[(*view.batch, 0, view.i, 0)]))


def _rotated(view: _View, name: str, position: int) -> How:
    """first·cos − second·sin, or first·sin + second·cos, of the pair that this feature belongs to."""
    rope, x = view.problem.rope, view.matrix(name)[view.i]
    assert isinstance(rope, Rope)
    if view.j >= rope.dim:
        return (), f"only the first {rope.dim} features are turned"
    first, second = pairs(rope)
    pair = int(np.flatnonzero((first == view.j) | (second == view.j))[0])
    angle = position * rope.base ** (-2 * pair / rope.dim)
    a, b = x[first[pair]], x[second[pair]]
    reason = f"position {position}, pair {pair + 1}"
    if first[pair] == view.j:
        return (a, "·cos(", angle, ") − ", b, "·sin(", angle, ")"), reason
    return (a, "·sin(", angle, ") + ", b, "·cos(", angle, ")"), reason


def _scores(view: _View) -> How:
    return _sum(_products(view.row("query_rotated"), view.matrix("key_rotated")[view.j])), ""


def _scaled(view: _View) -> How:
    if view.problem.scale is not None:
        return (view.at("scores"), " · ", view.problem.scale), ""
    return (view.at("scores"), " / √", view.problem.D), ""


def _capped(view: _View) -> How:
    c = view.problem.softcap
    return (c, "·tanh(", view.at("scaled"), " / ", c, ")"), ""


def _bias(view: _View) -> How:
    """−m·|pᵢ − j|, places counted from 1, plus the float masks; −inf there hides the key and adds nothing."""
    problem, terms = view.problem, list[Term]()
    shape = problem.matrix_shape
    place = (*view.batch, view.h, view.i, view.j)
    if problem.alibi is not None:
        back = int(np.broadcast_to(distances(problem), shape)[place])
        terms.append((-problem.alibi[view.h], "·|", view.j + 1 + back, " − ", view.j + 1, "|"))
    masks = [np.broadcast_to(mask, shape)[place] for mask in float_masks(problem)]
    terms += [(0.0 if np.isneginf(mask) else mask,) for mask in masks]
    return (_sum(terms) if problem.alibi is not None or len(terms) > 1 else ()), ""


def _biased(view: _View) -> How:
    return (view.at("capped"), " + ", view.at("bias")), ""


def _hidden(view: _View) -> How:
    return (), "; ".join(why_hidden(view.problem, view.batch, view.h, view.i, view.j))


def _row_max(view: _View) -> How:
    return ("max(", *_sum(((score,) for score in view.row("masked", and_sink=True)), ", "), ")"), _sink_last(
        view
    )


def _sink_last(view: _View) -> str:
    return "the last one is the sink" if view.problem.sink is not None else ""


def _exponentials(view: _View) -> How:
    return _power(view.at("masked"), view.at("row_max")), ""


def _power(score: Any, top: Any) -> Term:
    """e^(s − m); −∞ stays −∞ whatever is taken off."""
    is_alone = np.isneginf(score) and not np.isnan(top)
    return ("e^(", score, ")") if is_alone else ("e^(", score, " − ", top, ")")


def _row_sum(view: _View) -> How:
    sink = [] if view.problem.sink is None else [_power(view.problem.sink[view.h], view.at("row_max"))]
    return _sum([*((exp,) for exp in view.row("exponentials")), *sink]), _sink_last(view)


def _weights(view: _View) -> How:
    if view.at("row_sum") == 0:
        return (), f"query {view.i + 1} may see no key"
    return (view.at("exponentials"), " / ", view.at("row_sum")), ""


def _logsumexp(view: _View) -> How:
    if np.isneginf(view.at("row_max")):
        return (), f"query {view.i + 1} may see no key"
    return (view.at("row_max"), " + ln ", view.at("row_sum")), ""


def _part_scores(view: _View) -> tuple[Array, slice]:
    """The masked scores of this row in this part, and where the part stands."""
    chunks = view.problem.chunks or ()
    keys = slice(sum(chunks[: view.part]), sum(chunks[: view.part + 1]))
    return view.matrix("masked")[view.i, keys], keys


def _part_logsumexp(view: _View) -> How:
    scores, _ = _part_scores(view)
    top = scores.max()
    if np.isneginf(top):
        return (), f"query {view.i + 1} may see no key of part {view.part + 1}"
    return (top, " + ln(", *_sum(_power(score, top) for score in scores), ")"), ""


def _part_output(view: _View) -> How:
    scores, keys = _part_scores(view)
    lse = view.trace.fields["part_logsumexp"][(*view.batch, view.part, view.h, view.i, 0)]
    if np.isneginf(lse):
        return (), f"query {view.i + 1} may see no key of part {view.part + 1}"
    return _sum(_blend_terms(np.exp(scores - lse), view, keys)), ""


def _merged_parts(view: _View) -> How:
    """Each part's output times its share e^(lse_p − lse)."""
    outputs, sums = (view.trace.fields[name][view.batch][:, view.h, view.i] for name in PARTS)
    whole = view.at("logsumexp")
    if np.isneginf(whole):
        return (), f"query {view.i + 1} may see no key"
    return _sum(
        (*_power(lse, whole), "·", z) for lse, z in zip(sums[:, 0], outputs[:, view.j], strict=True)
    ), ""


def _blended(view: _View) -> How:
    if view.problem.chunks is not None:
        return _merged_parts(view)
    return _sum(_blend_terms(view.row("weights"), view, slice(None))), ""


def _blend_terms(weights: Iterable[Any], view: _View, keys: slice) -> list[Term]:
    """w·v for each key; a hidden key's NaN or infinite value is left out, as the blend does."""
    values, allowed = view.column("value_repeated")[keys], view.row("allowed")[keys]
    seen = [bool(ok) or bool(np.isfinite(v)) for ok, v in zip(allowed, values, strict=True)]
    return [term for term, kept in zip(_products(weights, values), seen, strict=True) if kept]


def _merged(view: _View) -> How:
    width = view.problem.Dv or 1
    return (), f"head {view.j // width + 1}, column {view.j % width + 1}"


_HOW: dict[str, Callable[[_View], How]] = {
    "query": lambda view: _projected(view, "x", "query"),
    "key": lambda view: _projected(view, "x_key", "key"),
    "value": lambda view: _projected(view, "x_key", "value"),
    "query_heads": lambda view: _split(view, "query"),
    "key_heads": lambda view: _split(view, "key"),
    "value_heads": lambda view: _split(view, "value"),
    "key_repeated": lambda view: _repeated(view, "key"),
    "value_repeated": lambda view: _repeated(view, "value"),
    "query_rotated": _rotated_query,
    "key_rotated": lambda view: _rotated(view, "key_repeated", view.i),
    "scores": _scores,
    "scaled": _scaled,
    "capped": _capped,
    "bias": _bias,
    "biased": _biased,
    "allowed": _hidden,
    "masked": _hidden,
    "row_max": _row_max,
    "exponentials": _exponentials,
    "row_sum": _row_sum,
    "weights": _weights,
    "logsumexp": _logsumexp,
    "part_output": _part_output,
    "part_logsumexp": _part_logsumexp,
    "blended": _blended,
    "merged": _merged,
    "output": lambda view: _projected(view, "merged", "output"),
}
