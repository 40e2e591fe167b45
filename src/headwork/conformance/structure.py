"""How the axes of query, key, value and output lie: found from which outputs move when one number does.

One entry of the value moves the outputs of all queries of its sample and head, in its own column: the axis
along which the change spreads is the token axis. One entry of the query moves one row of one head. That
holds for a function with a mistake in it as well; where it does not, heads, samples or columns mix, and
another layout is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import DTYPES, Array
from .asking import Ask
from .calls import Outcome
from .layouts import KV_LAYOUTS, LAYOUTS, QKV_LAYOUTS, inside, shape_in
from .probing import Probe, ProbeSizes, axes_inside, mild
from .ways import Ways

BY_RANK = {
    4: ("TBHD", "BTHD", "BHTD", "BHDT"),
    3: ("THD", "BTD", "BDT"),
    2: ("TD", "DT"),
}  # by the place of T
PACKED_BY_RANK = {3: ("TBE", "BTE"), 2: ("TE",)}
# what arrays and libraries say where the number of axes is wrong; other words may be about sizes
SPEAKS_OF_AXES = re.compile(
    r"shape|broadcast|matmul|dimension|einsum|einstein|subscript|ax[ei]s|unpack|index|indices|mat1|"
    r"size mismatch|must match|permut|transpose|dim\b|0-d|1-d|2-d|3-d|4-d|iterable|attribute|rank|reshape",
    re.IGNORECASE,
)
MOVED = 1e-4  # of the largest change: less is rounding
PERTURBED = 3.0  # what is added to one entry


@dataclass(frozen=True, eq=False)
class Look:
    """What one layout showed.

    ways       with that layout, and the output's
    sizes      of the calls; output_at: which of the outputs is the output
    value query key  the axes along which a change in one entry of each spreads, as letters
    width      how many columns one entry of the query moves
    also_runs  layouts with more axes that run as well, but mix what they should not
    """

    ways: Ways
    sizes: ProbeSizes
    output_at: int
    value: str
    query: str
    key: str
    width: int
    also_runs: tuple[str, ...] = ()

    @property
    def layout(self) -> str:
        """How query (or what it comes from) lies."""
        return self.ways.layouts.get("qkv") or self.ways.layouts["query"]

    @property
    def tokens(self) -> str:
        """The axes that may be the token axis: where the value spreads, or the key if the value does not."""
        return self.value or self.key.replace("D", "")

    @property
    def quality(self) -> float:
        """3: as attention should be; 2: the token axis is plain; 1: it is among those that mix; 0: it is not.

        A little less where the output lies in another way than the inputs.
        """
        if self.value == "T" and self.query == "D" and self.key in ("TD", "D"):
            return 3
        is_alike = self.ways.layouts["output"] == self.ways.layouts["query"]
        return (2 if self.tokens == "T" else 1 if "T" in self.tokens else 0) - (0 if is_alike else 0.5)


# --- which layouts --------------------------------------------------------------------------------


def candidates(ways: Ways) -> tuple[tuple[str, ...], ...]:
    """The layouts to try, in groups; a later group only where nothing of the ones before will do.

    Where it is told how many heads there are, the packed ones come first: with one head, anything runs.
    """
    axes = _axes_said(ways)
    if axes:
        return (tuple(word for word in LAYOUTS if len(word) == axes),)
    if ways.has("qkv"):
        return (QKV_LAYOUTS,)
    if ways.has("kv"):
        return (KV_LAYOUTS,)
    if ways.projections is not None:
        return (("BTE", "TBE", "TE"),)
    if ways.has("heads"):
        packed = ("BTE", "TE") if ways.has("x") or ways.has("w_query") else ("BTE", "TE", "TBE")
        return packed, ("BHTD", "BTHD"), ("BTD", "TD")
    if ways.has("x") or ways.has("w_query"):
        return (("BTD", "TD", "BTE", "TE"),)
    return (("BHTD", "BTHD", "BTD", "BTE", "TD", "TE", "THD", "TBE", "TBHD"),)


def _axes_said(ways: Ways) -> int:
    """How many axes the query has, where its annotation is ONNX's, a dtype and sizes: "float32[B,H,T,D]"."""
    query = ways.named("query")
    written = re.fullmatch(rf"(?:{'|'.join(DTYPES)})\[(.*)\]", query.parameter.annotation if query else "")
    return written[1].count(",") + 1 if written and written[1] else 0


def with_layout(ways: Ways, layout: str | tuple[str, ...]) -> Ways:
    """The ways with that layout of the inputs (or one for each), and of the output until it is seen."""
    words = (layout,) if isinstance(layout, str) else layout
    plain = re.sub("[23]", "", words[0]).replace("F", "E")
    made = {"output": plain, "query": plain, "key": plain, "value": plain}
    for name in ("qkv", "kv", "x"):
        if ways.has(name):
            made[name] = words[0]
    if len(words) == 3:
        made |= dict(zip(("query", "key", "value"), words, strict=True))
    made["past"] = "BHTD" if "E" in plain else plain  # a cache is never packed, as in ONNX
    return replace(ways, layouts=made)


def find_structure(
    probe: Probe,
    tries: Callable[[ProbeSizes], Iterable[Ways]],
    said: tuple[str, ...],
    how: str,
    all_sizes: tuple[ProbeSizes, ...],
) -> Look | None:
    """The best look that can be had: the first that is as attention should be, or else the plainest.

    tries  for calls of these sizes, the ways to try: they differ in library, dtype, idle masks
    said   the layouts that are spoken of; how: "stated" (one, or three for query, key, value), or where
    """
    plainest = None
    for at, sizes in enumerate(all_sizes):
        for ways in tries(sizes):
            look = _best(probe, ways, said, how, sizes)
            if look is None or (look.quality < 1 and how == "tried"):
                plainest = plainest or look
            elif len(look.layout) < 4 and how == "tried" and _refuses_sizes(probe):
                return _with_four_axes(probe, ways, all_sizes[at + 1 :]) or look
            else:
                return look
    return plainest


def _refuses_sizes(probe: Probe) -> bool:
    """Whether something else than axes that do not fit was said: other sizes may do."""
    return any(not SPEAKS_OF_AXES.search(said) for said in probe.said)


def _with_four_axes(probe: Probe, ways: Ways, all_sizes: tuple[ProbeSizes, ...]) -> Look | None:
    four = tuple(word for group in candidates(ways) for word in group if len(word) == 4)
    found = (look for sizes in all_sizes for look in looks(probe, ways, four, sizes))
    return next((look for look in found if look.quality >= 2), None)


def _best(probe: Probe, ways: Ways, said: tuple[str, ...], how: str, sizes: ProbeSizes) -> Look | None:
    if how == "stated":
        return look_at(probe, ways, said, sizes)
    if len(said) == 1:  # taken at its word, also where the function then mixes what it should not
        look = look_at(probe, ways, said[0], sizes)
        if look is not None:
            return look
    seen: list[Look] = []
    for group in (tuple(sorted(said, key=len, reverse=True)), *candidates(ways)):
        for look in looks(probe, ways, group, sizes):
            if look.quality == 3:
                return replace(look, also_runs=_others(look, seen))
            seen.append(look)
        best = max(seen, key=lambda look: look.quality, default=None)
        if best is not None and best.quality >= 1:
            return best
    return max(seen, key=lambda look: look.quality, default=None)


def _others(chosen: Look, seen: list[Look]) -> tuple[str, ...]:
    return tuple(look.layout for look in seen if look.quality == 2 and len(look.layout) > len(chosen.layout))


# --- looking --------------------------------------------------------------------------------------


def looks(probe: Probe, ways: Ways, layouts: tuple[str, ...], sizes: ProbeSizes) -> Iterator[Look]:
    """What each layout shows that runs and gives an output of a shape that fits, and what follows from it."""
    queue, seen = list(layouts), set()
    while queue:
        layout = queue.pop(0)
        look = None if layout in seen else look_at(probe, ways, layout, sizes)
        seen.add(layout)
        if look is not None:
            yield look
            queue = [*_follow(look, ways), *queue]


def _follow(look: Look, ways: Ways) -> Iterable[str]:
    """The layout with the token axis where the change spread, where that was another axis."""
    layout = look.layout
    if ways.has("qkv") or ways.has("kv") or len(look.tokens) != 1 or look.tokens == "T":
        return ()
    place = layout.find(look.tokens) if look.tokens in layout else layout.find("E")
    packed = PACKED_BY_RANK.get(len(layout), ()) if ways.has("heads") or "E" in layout else ()
    words = packed if ways.has("heads") else (*packed, *BY_RANK[len(layout)])
    return [word for word in words if word.find("T") == place]


def look_at(probe: Probe, ways: Ways, layout: str | tuple[str, ...], sizes: ProbeSizes) -> Look | None:
    """What this layout shows, None where it does not run or gives nothing of a fitting shape."""
    ways = with_layout(ways, layout)
    axes = axes_inside(ways)
    B, H = (sizes.B if "B" in axes else 1), (sizes.H if "H" in axes else 1)
    ask = mild(1, B, H, H, sizes.T, sizes.T, sizes.D)
    base = probe.ask(ways, ask)
    found = find_output(ways, ask, base)
    if found is None:
        return None
    at, output_layout = found

    def moved(name: str, *tokens: int) -> Array:
        """Which outputs (B, H, T, D) move with an entry at one of these tokens, the first that moves any."""
        for token in tokens:
            array = getattr(ask, name).copy()
            array[0, 0, token, 0] += PERTURBED
            outputs = probe.ask(ways, replace(ask, **{name: array})).outputs
            if len(outputs) > at and outputs[at].shape == base.outputs[at].shape:
                change = inside(_moved(base.outputs[at], outputs[at]), output_layout, H)
                if change.any():
                    return change
        return np.zeros((1, 1, 1, 1), dtype=bool)

    # with a causal mask the first key is seen by all queries, and the last query sees all keys
    by_value, by_query, by_key = moved("value", 0, -1), moved("query", -1, 0), moved("key", 0)
    width = int(by_query.any(axis=(0, 2)).sum())
    ways = replace(ways, layouts={**ways.layouts, "output": output_layout})
    return Look(ways, sizes, at, _spread(by_value), _spread(by_query), _spread(by_key), width)


def find_output(ways: Ways, ask: Ask, outcome: Outcome) -> tuple[int, str] | None:
    """Which of the outputs is the output, and how its axes lie: by its shape."""
    if not outcome.is_fine:
        return None
    sizes = {**ask.sizes, "T": ask.sizes["Tq"], "D": ask.sizes["Dv"]}
    own = ways.layouts["output"]
    axes = set(own.replace("E", "HD"))
    words = [word for word in (own, *LAYOUTS) if set(word.replace("E", "HD")) == axes]
    for at, array in enumerate(outcome.outputs):
        for word in words:
            if array.shape == shape_in(word, sizes) and np.isfinite(array.astype(np.float64)).any():
                return at, word
    return None


def _moved(one: Array, other: Array) -> Array:
    with np.errstate(invalid="ignore"):  # inf − inf
        change = np.abs(other.astype(np.float64) - one.astype(np.float64))
    change = np.where(np.isfinite(change), change, 0.0)
    return np.asarray(change > MOVED * change.max(initial=0.0))


def _spread(moved: Array) -> str:
    """The axes along which there is more than one entry that moved."""
    counts = [moved.any(axis=tuple({0, 1, 2, 3} - {axis})).sum() for axis in range(4)]
    return "".join(letter for letter, count in zip("BHTD", counts, strict=True) if count > 1)


def settled(look: Look) -> Ways:
    """The ways that a look shows: one head, or as many in joined ones as the function itself has."""
    ways, layout = look.ways, look.layout
    knows = not ways.has("heads") and not ways.has("kv_heads")
    if "H" in layout or not knows or not look.width or ways.has("qkv") or ways.has("kv"):
        return ways
    total = look.sizes.D * (look.sizes.H if "E" in layout else 1)
    if "E" in layout and look.width >= total:
        return _renamed(ways, "E", "D")
    if look.width < total and total % look.width == 0:
        return replace(_renamed(ways, "D", "E"), heads=total // look.width)
    return ways


def _renamed(ways: Ways, old: str, new: str) -> Ways:
    layouts = {name: word.replace(old, new) for name, word in ways.layouts.items()}
    return replace(ways, layouts=layouts) if set(layouts.values()) <= set(LAYOUTS) else ways
