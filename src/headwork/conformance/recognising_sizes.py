"""Which sizes a function takes: fewer queries than keys, values wider than keys, odd ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .asking import Ask
from .probing import axes_inside
from .search import Search
from .sizes import Sizes

# of which the number of tokens, or the width, may have to be a multiple
TOKENS_TRIED = (1, 8, 16, 32, 64, 128)
WIDTHS_TRIED = (1, 2, 8, 16, 32, 64)
SQUARE = 5  # as many keys as columns, to try
KERNEL_SIZES = (16, 32, 64, 96, 128, 256)  # tried one by one where multiples of no number do


def find_sizes(search: Search) -> None:
    """Which sizes it takes: whether queries may be fewer than keys, values wider than keys, and odd ones."""
    ways, axes = search.ways, axes_inside(search.ways)
    if "B" not in axes and "H" not in axes:
        _only(search, "B", 1)
        _only(search, "H", 1)
    if ways.heads:
        _only(search, "H", ways.heads)
    if ways.has("qkv") or (ways.has("x") and not ways.has("x_key")):
        search.sizes &= Sizes(equal=(("Tq", "Tk"),))
        search.refusals["cache"] = "it takes as many queries as keys, in one array."
    else:
        _must_agree(search, "Tq", "Tk", search.ask(longer=True), "as many queries as keys")
    if ways.projections is not None or ways.rows:
        _only_projected(search)
        return
    for letter, words in (("B", "one sample"), ("H", "one head")):
        if letter in axes and getattr(search.probing, letter) == 1:
            _only(search, letter, 1)
            first = next(iter(search.probe.said), "")
            search.say("sizes", f"{letter}=1", "tried", f"it takes only {words}: {first}")
    is_usual = search.probing.T == search.all_probing[0].T
    search.takes_odd = is_usual and search.runs(odd(search.ask()))[0]
    if not search.takes_odd:
        ask = search.ask()
        wider = replace(ask, value=np.concatenate([ask.value, ask.value], axis=-1))
        _must_agree(search, "D", "Dv", wider, "values as wide as keys")
        _find_restrictions(search)


def odd(ask: Ask) -> Ask:
    """The same with widths that are odd, and differ."""
    return replace(ask, query=ask.query[..., :5], key=ask.key[..., :5], value=ask.value[..., :7])


def _only(search: Search, letter: str, *sizes: int) -> None:
    search.sizes &= Sizes(among=((letter, sizes),))


def _must_agree(search: Search, one: str, other: str, ask: Ask, words: str) -> None:
    works, said = search.runs(ask)
    if not works:
        search.sizes &= Sizes(equal=((one, other),))
        search.say("sizes", f"{one}={other}", "tried", f"it takes only {words}: {said}")
        if one == "Tq":
            search.refusals["cache"] = f"it takes only {words}: {said}"


def _only_projected(search: Search) -> None:
    """The sizes in which query, key and value can be chosen, where it projects inside."""
    projections, heads = search.ways.projections, search.ways.heads or 1
    width, heads = (64, 4) if projections is None else (projections.width, heads)
    for letter, size in (("H", heads), ("Hkv", heads), ("D", width // heads), ("Dv", width // heads)):
        _only(search, letter, size)
    if search.ways.rows:
        _only(search, "B", 1, 2)
        for letter in ("Tq", "Tk"):
            _only(search, letter, *range(1, width // 2 + 1))


def _find_restrictions(search: Search) -> None:
    """Where odd sizes were refused: what it asks of the number of tokens and of the width."""
    if _takes_square_keys_only(search):
        return
    for letter, letters, multiples in (("T", ("Tq", "Tk"), TOKENS_TRIED), ("D", ("D", "Dv"), WIDTHS_TRIED)):
        works = (
            n for n in multiples if _takes(search, **{letter: 3 * n}) or _takes(search, **{letter: 5 * n})
        )
        least = next(works, 0)
        if least > 1:
            search.sizes &= Sizes(multiples=tuple((each, least) for each in letters))
        elif not least:
            own = getattr(search.probing, letter)
            few = tuple(size for size in KERNEL_SIZES if size == own or _takes(search, **{letter: size})) or (
                own,
            )
            search.sizes &= Sizes(among=tuple((each, few) for each in letters))
    if str(search.sizes):
        first = next(iter(search.probe.said), "")
        search.say("sizes", str(search.sizes), "tried", f"it takes only some sizes ({search.sizes}): {first}")


def _takes_square_keys_only(search: Search) -> bool:
    """Whether there must be as many keys as each key has columns, as where Kᵀ should have been and is not."""
    few, T = SQUARE, search.probing.T
    if T != search.probing.D or _takes(search, T=T + 1) or not _takes(search, T=few, D=few):
        return False
    search.sizes &= Sizes(equal=(("Tk", "D"),))
    first = next(iter(search.probe.said), "")
    search.say("sizes", "Tk=D", "tried", f"it takes only as many keys as each has columns: {first}")
    return True


def _takes(search: Search, **sizes: int) -> bool:
    probing, search.probing = search.probing, replace(search.probing, B=1, H=1, Hkv=1, **sizes)
    works, _ = search.runs(search.ask())
    search.probing = probing
    return works
