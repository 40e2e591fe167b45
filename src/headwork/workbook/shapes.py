"""Shapes as people type them: 3×5, 3 x 5, (3, 5), 3 by 5."""

from __future__ import annotations

import re

MOST_AXES = 8
BETWEEN = re.compile(r"\s*(?:[×xX*·,;]|\bby\b|\s)\s*")
SIZE = re.compile(r"[0-9]{1,9}")  # ASCII: other digits are not what a keyboard for these exercises gives
WIDE = str.maketrans("０１２３４５６７８９（），", "0123456789(),")  # of East Asian keyboards
BRACKETS = {"(": ")", "[": "]"}


def read_shape(text: str) -> tuple[int, ...] | None:
    """The sizes of a shape; None where it says none.

    text  sizes apart by ×, x, *, a comma, "by" or blanks, with or without brackets around them
    Raises nothing. Special cases: a comma behind the last size, as in (3,), is read over.
    """
    inner = re.sub(r"\bby\b", "×", text.strip().lower().translate(WIDE))
    if inner and BRACKETS.get(inner[0]) == inner[-1]:
        inner = inner[1:-1]
    sizes = BETWEEN.split(inner.strip().removesuffix(",").strip())
    if len(sizes) > MOST_AXES or not all(SIZE.fullmatch(size) for size in sizes):
        return None
    return tuple(map(int, sizes))


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as it is written: "3 × 5"."""
    return " × ".join(map(str, shape))
