"""What masks mean to a function: found from which way weights move when some keys are masked.

"attend" and "drop" are what True (or 1) stands for, "add" is a mask that is added to the scores. A mask whose
effect says nothing is taken in the usual sense and said to be assumed: then it is the mask that is broken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from .asking import Ask, scores_shape
from .probing import GONE, Probe, axes_inside
from .ways import MaskWay, Ways

CLEAR = 0.02  # by how much the kept keys' share of all weight must move before it says anything
LIFT = 0.7  # a number added to some scores

LAYOUTS = {  # axes of the data: the axes that a mask may have, the most general ones first
    "BH": ("BHQK", "BQK", "QK", "BK", "B11K"),
    "B": ("BQK", "QK", "BK"),
    "H": ("HQK", "QK"),
    "": ("QK", "K"),
}
PADDING_LAYOUTS = ("BK", "B11K", "K")


@dataclass(frozen=True)
class Meaning:
    """What a mask turned out to mean, and how it is handed over.

    means  "attend", "drop", "add", or "nothing" and "unclear" where it moves no weight, or not plainly
    """

    way: MaskWay
    means: str


@dataclass(frozen=True, eq=False)
class _Masking:
    """What the questions about one function's masks share: plain are its weights without a mask."""

    probe: Probe
    ways: Ways
    ask: Ask
    plain: Array

    @property
    def keep(self) -> Array:
        """Which keys are kept, the same ones for all queries, samples and heads."""
        Tk = self.ask.sizes["Tk"]
        return np.asarray(np.arange(Tk) % 5 % 2 == 0 if Tk > 3 else np.arange(Tk) == 0)

    def weights(self, way: MaskWay, *, bias: Array | None = None) -> Array | None:
        """With the keys masked as this way says, or with a bias."""
        if bias is not None:
            ask = replace(self.ask, bias=np.broadcast_to(bias, scores_shape(self.ask)).copy())
        elif way.role == "padding":
            ask = replace(
                self.ask, valid=np.broadcast_to(self.keep, (len(self.ask.query), 1, 1, len(self.keep))).copy()
            )
        else:
            ask = replace(self.ask, allowed=np.broadcast_to(self.keep, scores_shape(self.ask)).copy())
        name = "mask-float" if way.means == "add" else "padding" if way.role == "padding" else "mask-bool"
        return self.probe.weights(replace(self.ways, masks={name: way}), ask)

    def moves(self, weights: Array, rows: slice = slice(None)) -> float:
        """By how much the kept keys' share of the weight in these rows differs from that without a mask."""
        with np.errstate(all="ignore"):
            shares = (
                np.abs(x[..., self.keep]).sum() / np.abs(x).sum()
                for x in (self.plain[:, :, rows], weights[:, :, rows])
            )
            before, after = shares
            return float(after - before)


def find_masks(probe: Probe, ways: Ways, ask: Ask, plain: Array | None, stated: str) -> dict[str, Meaning]:
    """ "mask-bool", "mask-float", "padding" -> what it means, for those that are taken.

    plain  the weights without a mask; stated: "attend", "drop" or "add", where that is said
    """
    if plain is None:
        return {}
    masking = _Masking(probe, ways, ask, plain)
    found: dict[str, Meaning | None] = {}
    if ways.has("mask"):
        found |= _find_mask(masking, stated)
    if ways.has("bias"):
        found["mask-float"] = _find_added(masking, "bias", is_sure=True)
    if ways.has("padding"):
        found["padding"] = _find_kept(masking, "padding", stated)
    return {name: meaning for name, meaning in found.items() if meaning is not None}


def _find_mask(masking: _Masking, stated: str) -> dict[str, Meaning | None]:
    argument = masking.ways.named("mask")
    said = argument.kind_said if argument is not None and not stated else ""
    if stated == "add" or said == "float":
        added = _find_added(masking, "mask", is_sure=stated == "add")
        return {
            "mask-float": added,
            "mask-bool": None if added or stated else _find_kept(masking, "mask", ""),
        }
    kept = _find_kept(masking, "mask", stated)
    is_plain = kept is not None and kept.way.kind == "bool" and kept.means in ("attend", "drop")
    added = None if said == "bool" else _find_added(masking, "mask", is_sure=False, may_be_idle=is_plain)
    if kept is not None and added is not None:
        is_same, hides = _as_numbers(masking, kept)
        if is_same and (hides or not _changes_nothing(masking)):  # 1 and 0 hide keys, or are factors
            added = None
        elif is_same and not stated:  # True and False do what adding 1 and 0 does: it is a mask of numbers
            kept = None
    return {"mask-bool": kept, "mask-float": added}


def _find_kept(masking: _Masking, role: str, stated: str) -> Meaning | None:
    """What True, or 1, means in a mask: of the first kind that is taken, the axes whose meaning is plain."""
    weak = None
    for way in _kept_ways(masking.ways, role, stated):
        if weak is not None and way.kind != weak.way.kind:
            break
        weights = masking.weights(way)
        if weights is None:
            continue
        moves = masking.moves(weights)
        means = stated or ("unclear" if not abs(moves) >= CLEAR else "attend" if moves > 0 else "drop")
        if means != "unclear":
            return Meaning(replace(way, means=means), means)
        weak = weak or Meaning(way, "nothing" if abs(moves) < GONE else "unclear")
    return weak


def _kept_ways(ways: Ways, role: str, stated: str) -> Iterator[MaskWay]:
    for kind in ("bool", "int", "float"):
        for layout in PADDING_LAYOUTS if role == "padding" else mask_layouts(ways):
            yield MaskWay(role, layout, stated or "attend", kind)


def mask_layouts(ways: Ways) -> tuple[str, ...]:
    """The axes that a mask may have, for these inputs."""
    return LAYOUTS["".join(letter for letter in "BH" if letter in axes_inside(ways))]


def _find_added(masking: _Masking, role: str, *, is_sure: bool, may_be_idle: bool = False) -> Meaning | None:
    """How a mask that is added is handed over; None where none is.

    −∞ hides keys; finite numbers move weights, more of them more; and one number for all moves none.
    is_sure  it can be nothing else: what it does is then not asked
    may_be_idle  beside a mask of true and false, it may be ignored, or added with the wrong sign
    """
    weak = None
    for layout in mask_layouts(masking.ways):
        way = MaskWay(role, layout, "add", "float")
        hidden = masking.weights(way)
        if hidden is None:
            continue
        moves = masking.moves(hidden)
        if (moves >= CLEAR or math.isnan(moves)) and _is_added(masking, way):
            return Meaning(way, "add")
        weak = Meaning(way, "nothing" if abs(moves) < GONE else "unclear")
        if may_be_idle and not is_sure:
            is_sure = _is_idle_at_zero(masking, way)
        break
    return weak if is_sure else None


def _changes_nothing(masking: _Masking) -> bool:
    """Whether a mask of 0 for all, in the first layout that is taken, changes nothing: as one that is
    added."""
    ways = (MaskWay("mask", layout, "add", "float") for layout in mask_layouts(masking.ways))
    taken = next((way for way in ways if masking.weights(way) is not None), None)
    return taken is not None and _is_idle_at_zero(masking, taken)


def _is_idle_at_zero(masking: _Masking, way: MaskWay) -> bool:
    idle = masking.weights(way, bias=np.zeros(masking.keep.shape))
    return idle is not None and np.allclose(idle, masking.plain, atol=GONE)


def _is_added(masking: _Masking, way: MaskWay) -> bool:
    rows = np.arange(masking.ask.sizes["Tq"])[:, None] % 2 == 0  # not all: some softmax runs over the queries

    def moved(lift: float) -> float:
        weights = masking.weights(way, bias=np.where(masking.keep & rows, lift, 0.0))
        return 0.0 if weights is None else masking.moves(weights, np.s_[::2])

    once = moved(LIFT)
    if once < CLEAR or moved(2 * LIFT) <= once + GONE:
        return False
    for_all = masking.weights(way, bias=np.full(masking.keep.shape, LIFT))
    return for_all is not None and abs(masking.moves(for_all)) < CLEAR


def _as_numbers(masking: _Masking, kept: Meaning) -> tuple[bool, bool]:
    """Whether True and False do what the numbers 1 and 0 do, and whether they hide keys altogether."""
    numbers = masking.keep if kept.way.means == "attend" else ~masking.keep
    as_bool = masking.weights(kept.way)
    as_numbers = masking.weights(replace(kept.way, means="add", kind="float"), bias=numbers.astype(float))
    if as_bool is None or as_numbers is None:
        return False, False
    hides = any(np.abs(as_bool[..., keys]).max() < GONE for keys in (masking.keep, ~masking.keep))
    return bool(np.allclose(as_bool, as_numbers, atol=GONE)), bool(hides)


def empty_row(probe: Probe, ways: Ways, ask: Ask, plain: Array | None) -> str:
    """What becomes of a row that may see nothing: one of the words for `empty_rows`, "refused" or "other"."""
    way = ways.masks.get("mask-bool") or ways.masks["mask-float"]
    empty = (slice(None), slice(None), 0) if "Q" in way.layout else 0 if "B" in way.layout else ...
    allowed = np.ones(scores_shape(ask), dtype=bool)
    allowed[empty] = False
    weights = probe.weights(ways, replace(ask, allowed=allowed))
    if weights is None or plain is None:
        return "refused"
    row = weights[empty]
    if np.isnan(row).all():
        return "nan"
    if (row == 0).all():
        return "zero"
    others = {"unmasked": plain[empty], "uniform": np.full(row.shape, 1 / row.shape[-1])}
    return next((word for word, other in others.items() if np.allclose(row, other, atol=1e-3)), "other")
