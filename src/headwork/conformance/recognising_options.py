"""What the options of a function mean: each is looked for by asking, and said as it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..problem import published_slopes
from . import conventions
from .asking import Ask, scores_shape
from .layouts import axes_words
from .masks import Meaning, empty_row, find_masks
from .probing import axes_inside
from .recognising_sizes import odd
from .search import Search
from .sizes import Sizes
from .ways import MaskWay

SCALE_WORDS = {
    "multiplies": "multiplies the scores",
    "divides": "is what the scores are divided by",
    "on top": "comes on top of 1/√D",
}
MASK_WORDS = {"attend": "may attend", "drop": "is hidden"}
EMPTY_WORDS = {
    "zero": "zeros",
    "nan": "NaN",
    "uniform": "the mean of all values",
    "unmasked": "what it would be without a mask",
    "refused": "refused",
    "other": "something else",
}
PLACE_WORDS = {
    "lower_right": "the last query meets the last key (lower right)",
    "upper_left": "the first query meets the first key (upper left)",
}
AHEAD_WORDS = {
    "given": "",
    "same": ", and it reaches as far ahead",
    "none": ", and nothing ahead is seen",
    "all": ", and everything ahead is seen",
}
COUNT_WORDS = {"others": "the keys before the query's own", "itself": "the query's own key, too"}


def recognise_scale(search: Search) -> None:
    """Whether a scale multiplies or divides, and whether it has to be given always."""
    if not search.ways.has("scale"):
        search.refusals["scale"] = "it has no parameter for a scale."
        return
    means, is_always = conventions.find_scale(search.probe, search.ways, search.ask())
    means, name = search.stated.scale or means, search.name("scale")
    search.change(scale=means, gives_scale=is_always)
    search.settle(
        "scale", means, "stated" if search.stated.scale else "tried", f"{name} {SCALE_WORDS[means]}"
    )
    argument = search.ways.named("scale")
    if is_always and argument is not None:
        default = argument.parameter.default
        search.say("scale", means, "tried", f"{name} is {default} by default, so 1/√D is always given")
    search.try_feature("scale", replace(search.ask(), scale=0.37))


# --- masks ----------------------------------------------------------------------------------------


def recognise_masks(search: Search) -> None:
    """What its masks mean, which axes they have, and what becomes of a row that may see nothing."""
    stated, ask = search.stated.mask_means, search.ask()
    meanings = find_masks(search.probe, search.ways, ask, search.plain, stated)
    if not any(map(_is_plain, meanings.values())):
        meanings = _find_masks_where_axes_agree(search) or meanings
    masks = {name: meaning.way for name, meaning in meanings.items()}
    search.change(masks=masks)
    for name, meaning in meanings.items():
        _say_mask(search, name, meaning)
    for feature, words in (("mask-bool", "of true and false"), ("mask-float", "that is added")):
        if feature not in masks:
            search.refusals[feature] = _why_no_mask(search, feature, words, masks)
    if masks.keys() & {"mask-bool", "mask-float"}:
        row = search.stated.empty_rows or empty_row(search.probe, search.ways, ask, search.plain)
        how = "stated" if search.stated.empty_rows else "tried"
        search.settle(
            "empty rows", row, how, f"the output of a row that may see nothing is {EMPTY_WORDS[row]}"
        )


def _is_plain(meaning: Meaning) -> bool:
    return meaning.means in ("attend", "drop", "add")


def _find_masks_where_axes_agree(search: Search) -> dict[str, Meaning]:
    """What its masks mean with as many samples as heads, where that is plain then, and only then."""
    ways, ask = search.ways, search.ask()
    if not ways.has("mask") or not {"B", "H"} <= set(axes_inside(ways)) or ways.heads:
        return {}
    H = ask.sizes["H"]
    square = replace(ask, query=ask.query[:H], key=ask.key[:H], value=ask.value[:H])
    plain = search.probe.weights(ways, square)
    found = find_masks(search.probe, ways, square, plain, search.stated.mask_means)
    if not any(map(_is_plain, found.values())):
        return {}
    search.sizes &= Sizes(equal=(("B", "H"),))
    search.say("sizes", "B=H", "tried", f"its {search.name('mask')} goes only with as many samples as heads")
    return found


def _say_mask(search: Search, name: str, meaning: Meaning) -> None:
    way = meaning.way
    what, one = (
        f"{search.name(way.role)} {axes_words(way.layout)}",
        {"bool": "True", "int": "1", "float": "1.0"}[way.kind],
    )
    is_unclear = meaning.means in ("nothing", "unclear")
    how = (
        "stated" if search.stated.mask_means and name == "mask-bool" else "assumed" if is_unclear else "tried"
    )
    if way.means == "add":
        search.say("mask", "add", how, f"{what} is added to the scores{', it seems' if is_unclear else ''}")
        return
    said = f"{what}: {one} means “{MASK_WORDS[way.means]}”"
    if is_unclear and how != "stated":
        said = f"{what}: what {one} means could not be told; taken as “{MASK_WORDS[way.means]}”"
    search.say("mask", way.means, how, said)
    search.conventions.setdefault("mask", way.means)


def _why_no_mask(search: Search, feature: str, words: str, masks: Mapping[str, MaskWay]) -> str:
    if not search.ways.has("mask") and not search.ways.has("bias"):
        return "it has no parameter for a mask."
    other = masks.get("mask-float" if feature == "mask-bool" else "mask-bool")
    if other is not None:
        own = "added" if other.means == "add" else "one of true and false"
        return f"its mask is {own}; it takes none {words}."
    return f"no mask {words} was taken: {search.last_words or 'nothing came of it'}"


# --- causal, offset, lengths ----------------------------------------------------------------------


def recognise_causal(search: Search) -> None:
    """Whether it is causal always or can be asked to be, and where queries then stand."""
    can_be_asked = search.ways.has("causal") or search.stated.causal == "never"
    is_always = not can_be_asked and conventions.is_causal(search.plain)
    search.change(is_causal=is_always)
    switch = replace(search.ask(), causal=not is_always)
    if is_always:
        search.settle("causal always", "yes", "tried", "it is causal, whether it is asked to or not")
    elif not search.ways.has("causal"):
        search.refusals["causal"] = "it has no causal switch."
    elif not search.try_feature("causal", switch) and not _takes_causal_behind_keys(search):
        return
    if "causal" not in search.refusals:
        _find_alignment(search, is_always)
        _try_beside_mask(search, switch)


def _takes_causal_behind_keys(search: Search) -> bool:
    """Whether it takes a causal mask where there are more keys than queries, and refuses it elsewhere."""
    works = search.takes_fewer and search.runs(replace(search.ask(longer=True), causal=True))[0]
    if works:
        said = search.refusals.pop("causal")
        search.say(
            "causal",
            "more keys",
            "tried",
            f"with a causal mask it takes only fewer queries than keys: {said}",
        )
    return works


def _find_alignment(search: Search, is_always: bool) -> None:
    said = search.stated.causal.replace("never", "")
    place = said
    if not said and search.takes_fewer:
        ask = replace(search.ask(longer=True), causal=not is_always)
        place = conventions.alignment(search.probe.weights(search.ways, ask))
        if not place and not search.runs(ask)[0]:
            search.change(square=True)
            search.say(
                "causal", "square", "tried", "with a causal mask it takes only as many queries as keys"
            )
    if place:
        search.change(alignment=place)
        how = "stated" if said else "tried"
        search.settle("causal", place, how, f"with fewer queries than keys, {PLACE_WORDS[place]}")


def _try_beside_mask(search: Search, switch: Ask) -> None:
    if not switch.causal or not search.ways.masks.keys() & {"mask-bool", "mask-float"}:
        return
    if search.takes_odd:  # torch has a path for such widths that refuses what its others take
        switch = odd(switch)
    works, said = search.runs(replace(switch, allowed=np.ones(scores_shape(switch), dtype=bool)))
    if not works:
        search.change(either=True)
        search.say("causal", "alone", "tried", f"it takes a mask or the causal switch, not both: {said}")


def recognise_offset(search: Search) -> None:
    """Whether the position of the first query can be given."""
    if not search.ways.has("offset") or "causal" in search.refusals:
        search.refusals["offset"] = "it has no parameter for the position of the first query."
        return
    ask = search.ask()
    offset = np.ones(ask.sizes["B"], dtype=np.int64)
    search.try_feature("offset", replace(ask, causal=not search.ways.is_causal, offset=offset))


def recognise_lengths(search: Search) -> None:
    """Whether it takes lengths, or a mask of padding, and where queries stand then."""
    ways = search.ways
    if not ways.has("lengths") or "B" not in ways.layouts["query"]:
        if "padding" not in ways.masks:
            search.refusals["lengths"] = "it has no parameter for lengths or padding."
        return
    dtype, seen = conventions.find_lengths(search.probe, ways, search.ask())
    search.change(lengths=dtype)
    if not dtype:
        search.refusals["lengths"] = seen
        return
    is_aligned = "causal" not in search.refusals and search.takes_fewer and ways.alignment == "lower_right"
    if is_aligned and not ways.is_causal:
        search.change(
            from_end=conventions.stands_at_the_end(search.probe, search.ways, search.ask(longer=True))
        )
    said = f"{search.name('lengths')} is the number of valid keys of each sample"
    search.say("lengths", "valid keys", "tried" if seen else "assumed", said)


# --- windows --------------------------------------------------------------------------------------


def recognise_window(search: Search) -> None:
    """What the numbers of a window count, and how far it reaches ahead."""
    if not search.ways.has("window") and not search.ways.has("window_left"):
        search.refusals["window"] = "it has no parameter for a window."
        return
    longer = search.ask(longer=True) if search.takes_fewer else None
    found = conventions.find_window(search.probe, search.ways, search.ask(), longer)
    way, place = found or (conventions.idle_window(search.probe, search.ways, search.ask()), "")
    if way is None:
        search.refusals["window"] = f"no window was taken. {search.last_words}".strip()
        return
    if found is None:
        search.say("window", "no effect", "tried", "a window is taken, and showed no effect")
    stated = search.stated.window_counts
    if stated:
        way = replace(way, more=-1 if stated == "itself" and way.form == "number" else 0)
    search.change(window=way)
    if place and not search.stated.causal and "causal" in search.refusals:
        search.change(alignment=place)
    counts = {0: "others", -1: "itself"}.get(way.more, f"{way.more:+d}")
    name = search.name("window_left" if way.form == "sides" else "window")
    number = "its left number counts" if way.form == "pair" else "it counts"
    keys = f"{abs(way.more)} key{'s' if abs(way.more) > 1 else ''}"
    more = f"{keys} {'more' if way.more > 0 else 'fewer'} than it says"
    said = f"{name}: {number} {COUNT_WORDS.get(counts, more)}{AHEAD_WORDS[way.right]}"
    search.settle("window", counts, "stated" if stated else "tried" if found else "assumed", said)


# --- the rest -------------------------------------------------------------------------------------


def recognise_numbers(search: Search) -> None:
    """Softcap, slopes and sinks: whether a call with them gives an output."""
    ask = search.ask()
    H = ask.sizes["H"]
    for feature, what, asked in (
        ("softcap", "a softcap", replace(ask, softcap=1.5)),
        ("alibi", "slopes (ALiBi)", replace(ask, alibi=published_slopes(H))),
        ("sink", "sinks", replace(ask, sink=np.linspace(-0.5, 0.5, H))),
    ):
        if search.ways.has(feature):
            search.try_feature(feature, asked)
        else:
            search.refusals[feature] = f"it has no parameter for {what}."


def recognise_groups(search: Search) -> None:
    """Whether query heads may share key/value heads; an axis along which they do is one of heads."""
    ways, layout = search.ways, search.ways.layouts["query"]
    if ways.has("qkv") or ways.has("x") or ways.heads:
        search.refusals["grouped-heads"] = "it has as many heads for query, key and value."
    elif "H" in layout or "E" in layout:
        search.try_feature("grouped-heads", search.ask(Hkv=search.probing.Hkv))
    elif layout == "BTD" and not (search.stated.layout or ways.has("lengths") or "padding" in ways.masks):
        search.change(layouts={name: word.replace("B", "H") for name, word in ways.layouts.items()})
        if search.try_feature("grouped-heads", search.ask(Hkv=search.probing.Hkv)):
            search.say("layout", "HTD", "tried", "its first axis is heads: it shares key/value heads")
        else:
            search.ways = ways
    else:
        search.refusals["grouped-heads"] = "its arrays have no axis of heads."
