"""Slips: one or a few wrong entries explained by their arithmetic.

A dropped product, a lost sign, two entries swapped. About half of all small wrong numbers are "explained"
by some slip, and most true slips have several readings, so a slip is a hint with all its readings, never a
certainty, and whole rules are looked for first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .places import entry_words, head_words, row_words
from .target import Target

Index = tuple[int, ...]
MOST_WRONG = 3  # more wrong entries than that are not a slip, unless whole rows or columns moved
MOST_READINGS = 6  # what a person can read; the likeliest kinds come first


@dataclass(frozen=True)
class Slip:
    """One reading of one or more wrong entries.

    kind     kebab-case: term-dropped, sign-lost, entries-swapped …
    entries  the entries it explains, as canonical indices from 0
    says     a hint in the problem's numbers
    """

    kind: str
    entries: tuple[Index, ...]
    says: str


@np.errstate(all="ignore")  # exponentials of large numbers overflow, and then are no reading
def find_slips(target: Target, fields: Mapping[str, Array], base: Array) -> tuple[Slip, ...]:
    """The slips that turn `base` into the answer; none unless they explain every entry that differs.

    fields  what the pipeline (right, or with a mistake) gives; base: its result for the step
    """
    wrong = _wrong_entries(target, base)
    if not wrong:
        return ()
    whole = (*_moved(target, base, wrong), *_unnormalised(target, fields, wrong))
    if whole or len(wrong) > MOST_WRONG or len(wrong) * 2 > int(target.given.sum()):
        return whole[:MOST_READINGS]
    found = {index: list(_readings(target, fields, base, index)) for index in wrong}
    if not all(found.values()):
        return ()
    return tuple(slip for readings in found.values() for slip in readings[:MOST_READINGS])


def _wrong_entries(target: Target, base: Array) -> list[Index]:
    return list(map(tuple, np.argwhere(target.given & ~target.same(base, target.tolerance)).tolist()))


# --- whole rows, columns, pairs of entries --------------------------------------------------------


def _moved(target: Target, base: Array, wrong: list[Index]) -> Iterator[Slip]:
    """Two entries, rows or columns that changed places."""
    for axis, what in ((-2, "rows"), (-1, "columns")):
        yield from _lines_moved(target, base, wrong, axis, what)
    if (
        len(wrong) == 2
        and _near(target, base[wrong[1]], wrong[0])
        and _near(target, base[wrong[0]], wrong[1])
    ):
        first, second = (entry_words(target.problem, target.step, index) for index in wrong)
        yield Slip("entries-swapped", tuple(wrong), f"{first} and {second} have changed places")


def _lines_moved(target: Target, base: Array, wrong: list[Index], axis: int, what: str) -> Iterator[Slip]:
    """Two rows or columns of each head that has wrong entries; the same two in all heads are told once."""
    lines: dict[Index, set[int]] = {}
    for index in wrong:
        lines.setdefault(index[:-2], set()).add(index[axis])
    if not target.given.all() or any(len(pair) != 2 for pair in lines.values()):
        return
    made = base.copy()
    for head, pair in lines.items():
        table = made[head].swapaxes(axis, 0)
        table[sorted(pair)] = table[sorted(pair, reverse=True)]
    if not target.matches(made, target.tolerance):
        return
    pairs = {tuple(sorted(pair)) for pair in lines.values()}
    everywhere = len(pairs) == 1 and len(lines) == np.prod(base.shape[:-2])
    for head, pair in lines.items():
        a, b = (line + 1 for line in sorted(pair))
        entries = tuple(index for index in wrong if everywhere or index[:-2] == head)
        place = "" if everywhere else f"{head_words(target.problem, target.step, head)}, "
        yield Slip(f"{what}-swapped", entries, f"{place}{what} {a} and {b} have changed places")
        if everywhere:
            return


def _unnormalised(target: Target, fields: Mapping[str, Array], wrong: list[Index]) -> Iterator[Slip]:
    """Rows of exponentials where weights were asked: right so far, not divided by their sum."""
    if target.step != "weights":
        return
    rows = sorted({index[:-1] for index in wrong})
    shifted, plain = fields["exponentials"], np.exp(fields["logits"])
    for row in rows:
        if not any(
            np.all(np.abs(exps[row] - target.values[row]) <= target.tolerance[row] * np.maximum(exps[row], 1))
            for exps in (shifted, plain)
        ):
            return
    for row in rows:
        entries = tuple(index for index in wrong if index[:-1] == row)
        where = row_words(target.problem, target.step, row)
        says = f"{where} holds the exponentials; what is left is to divide them by their sum"
        yield Slip("row-not-normalised", entries, says)


# --- one entry ------------------------------------------------------------------------------------


def _readings(target: Target, fields: Mapping[str, Array], base: Array, index: Index) -> Iterator[Slip]:
    """What would make this entry of the answer, one reading per kind and amount."""
    where = entry_words(target.problem, target.step, index)
    seen: set[str] = set()
    for kind, value, says in _candidates(target, fields, base, index):
        if says not in seen and _near(target, value, index):
            seen.add(says)
            yield Slip(kind, (index,), f"{where} {says}")


Candidate = tuple[str, float, str]


def _candidates(
    target: Target, fields: Mapping[str, Array], base: Array, index: Index
) -> Iterator[Candidate]:
    right = float(base[index])
    if not np.isfinite(right):
        return
    yield from _of_terms(target.problem, fields, target.step, index, right)
    if right != 0:
        yield "sign-lost", -right, "has the opposite sign"
        for shift in (10.0, 0.1):
            for number in (right, right if target.digits is None else np.round(right, target.digits)):
                yield "point-moved", number * shift, "has its decimal point moved by one place"
    yield from _transposed_digits(target, right)
    yield from _exponentials(target, fields, index)
    yield from _neighbours(target, base, index)


def _of_terms(
    problem: Problem, fields: Mapping[str, Array], step: str, index: Index, right: float
) -> Iterator[Candidate]:
    """A product dropped, doubled, with the other sign, or with its neighbour as partner."""
    pair = factors(problem, fields, step, index)
    if pair is None:
        return
    a, b = pair
    for k, term in enumerate(a * b):
        if term != 0 and np.isfinite(term):
            words = _product(a[k], b[k])
            yield "term-dropped", right - term, f"would be right with one more {words}"
            yield "term-doubled", right + term, f"would be right with {words} taken once, not twice"
            yield "term-sign", right - 2 * term, f"would be right with {words} added, not subtracted"
    for k in range(len(a)):
        for other in (k - 1, k + 1):
            if 0 <= other < len(a) and b[k] != b[other] and a[k] != 0:
                words = _product(a[k], b[k])
                swapped = _product(a[k], b[other])
                yield (
                    "term-partner",
                    right + a[k] * (b[other] - b[k]),
                    f"would be right with {words} in place of {swapped}",
                )


def factors(
    problem: Problem, fields: Mapping[str, Array], step: str, index: Index
) -> tuple[Array, Array] | None:
    """The two rows of numbers whose products are summed to this entry, or None where it is no such sum."""
    if step == "scores":
        *lead, i, j = index
        return fields["query_rotated"][(*lead, i)], fields["key_rotated"][(*lead, j)]
    if step in ("blended", "output", "merged") and "attention" in fields:
        if step == "output" and problem.w_output is not None:
            return fields["merged"][index[:-1]], problem.w_output[:, index[-1]]
        *lead, i, c = index
        if problem.merges and step != "blended":
            width = fields["value_repeated"].shape[-1]
            lead, c = [*lead, c // width], c % width
        return fields["attention"][(*lead, i)], fields["value_repeated"][(*lead,)][:, c]
    return None


def _transposed_digits(target: Target, right: float) -> Iterator[Candidate]:
    if target.digits is None:
        return
    text = f"{right:.{max(target.digits, 0)}f}"
    for k in range(len(text) - 1):
        a, b = text[k], text[k + 1]
        if a.isdigit() and b.isdigit() and a != b:
            swapped = text[:k] + b + a + text[k + 2 :]
            yield "digits-transposed", float(swapped), f"is {text} with {a} and {b} transposed"


def _exponentials(target: Target, fields: Mapping[str, Array], index: Index) -> Iterator[Candidate]:
    """e^s with s one off, with the wrong sign, or s itself."""
    if target.step != "exponentials":
        return
    s = float(fields["logits"][index])
    top = float(fields["row_max"][(*index[:-1], 0)])
    for shift in (0.0, top):
        for off in (-1.0, 1.0):
            yield (
                "exponential-off",
                float(np.exp(s - shift + off)),
                f"is e to the power of {_short(s - shift + off)}; the exponent is {_short(s - shift)}",
            )
        if s != shift:
            yield (
                "exponential-sign",
                float(np.exp(shift - s)),
                f"is e to the power of {_short(shift - s)}; the exponent is {_short(s - shift)}",
            )
            yield "exponential-missing", s - shift, "is the exponent itself; e to that power was asked"


def _neighbours(target: Target, base: Array, index: Index) -> Iterator[Candidate]:
    """The entry of another column or row written here."""
    *lead, i, j = index
    for what in ("row", "column"):
        for k in range(base.shape[-2 if what == "row" else -1]):
            place = (*lead, k, j) if what == "row" else (*lead, i, k)
            if place != index and np.isfinite(base[place]):
                yield (
                    "entry-copied",
                    float(base[place]),
                    f"has the number of {entry_words(target.problem, target.step, place)}",
                )


def _near(target: Target, value: float, index: Index) -> bool:
    return bool(abs(value - target.values[index]) <= target.tolerance[index])


def _short(value: float) -> str:
    return f"{float(value):.3f}".rstrip("0").rstrip(".").replace("-", "−")


def _product(a: float, b: float) -> str:
    """ "2 × (−1)": a negative factor stands in brackets."""
    return " × ".join(f"({_short(x)})" if x < 0 else _short(x) for x in (a, b))
