"""Sizes that a function takes, and how the sizes that a case wants are fitted into them.

Written as `T=64,128; D=64; Tq=Tk; D%8; B=1-4`: T stands for Tq and Tk, and D for D and Dv where nothing
else is said about Dv. A kernel for few sizes is not wrong on others; it is tried on those that it has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from ..errors import OptionError

LETTERS = ("B", "H", "Hkv", "Tq", "Tk", "D", "Dv")
BOTH = {"T": ("Tq", "Tk"), "D": ("D", "Dv")}  # one letter that stands for two
MULTIPLES = 5  # of a size, from the one nearest to what is wanted, that are thought of
MOST_SCORES = 2_000_000  # entries of a score matrix; heads, then batch, are given up before that
USUAL = (("B", 2), ("H", 3), ("Hkv", 3), ("Tq", 5), ("Tk", 7), ("D", 23), ("Dv", 13))
LARGEST = 4096  # of any size: one score matrix of it, with its steps, is 1 GB already
TURNED = 4.0  # what it costs that Tq is the longer where Tk should be, beside two sizes that wrongly agree
SHARED = 2.0  # what it costs that another number of query heads share a key/value head
FAR = 0.2  # what a size twice, or half, as large costs beside that
EXAMPLE = 'Write sizes as "T=64,128; D=64", "D%8", "Tq=Tk" or "B=1-4"; the letters are T, ' + ", ".join(
    LETTERS
)

Wanted = Mapping[str, int]


@dataclass(frozen=True)
class Sizes:
    """What is said about the sizes that a function takes; letters of which nothing is said take any.

    Fields
    among      (letter, the sizes that it takes), each letter once
    multiples  (letter, a number that its sizes are multiples of)
    equal      pairs of letters that always agree
    """

    among: tuple[tuple[str, tuple[int, ...]], ...] = ()
    multiples: tuple[tuple[str, int], ...] = ()
    equal: tuple[tuple[str, str], ...] = ()

    def take(self, sizes: Wanted) -> bool:
        """Whether a function of which this is said takes these sizes."""
        return (
            all(sizes[letter] in few for letter, few in self.among)
            and all(sizes[letter] % number == 0 for letter, number in self.multiples)
            and all(sizes[a] == sizes[b] for a, b in self.equal)
        )

    def __and__(self, other: Sizes) -> Sizes:
        """What both say: the sizes in common."""
        few, more = dict(self.among), dict(other.among)
        both = {name: tuple(size for size in few[name] if size in more[name]) for name in few if name in more}
        numbers = dict(self.multiples)
        shared = {name: math.lcm(number, numbers.get(name, 1)) for name, number in other.multiples}
        return Sizes(
            tuple((few | more | both).items()),
            tuple((numbers | shared).items()),
            tuple(dict.fromkeys((*self.equal, *other.equal))),
        )

    def __str__(self) -> str:
        said = [f"{letter}={','.join(map(str, few))}" for letter, few in self.among]
        said += [f"{letter}%{number}" for letter, number in self.multiples]
        return "; ".join([*said, *(f"{a}={b}" for a, b in self.equal)])

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "among": {letter: list(few) for letter, few in self.among},
            "multiples": dict(self.multiples),
            "equal": [list(pair) for pair in self.equal],
        }


ANY = Sizes()

# --- reading --------------------------------------------------------------------------------------


def read_sizes(text: str) -> Sizes:
    """Sizes as somebody writes them, "" for any.

    Raises OptionError: a part that cannot be read, or no sizes that are left, or only too large ones.
    """
    parts = [_read_part(part) for part in re.split(r"[;\n]", text) if part.strip()]
    named = {letter for letter, _, _ in parts}
    found = ANY
    for letter, kind, what in parts:
        for each in _meant(letter, named):
            found &= _said(each, kind, what)
    _refuse_impossible(found, text)
    return found


def _refuse_impossible(sizes: Sizes, text: str) -> None:
    """Raises OptionError where no size is left for a letter, or only ones too large, or none go together."""
    for letters in _groups(sizes):
        by = math.lcm(*(number for letter, number in sizes.multiples if letter in letters))
        few = [set(among) for letter, among in sizes.among if letter in letters]
        left = [size for size in set.intersection(*few) if size % by == 0] if few else [by]
        name = next((letter for letter, _ in sizes.among if letter in letters), letters[0])
        if not left:
            raise OptionError(f"no size is left for {name} in {text!r}: what is said about it contradicts.")
        if min(left) > LARGEST:
            raise OptionError(
                f"{text!r} asks for {name} = {min(left):,} at least; {LARGEST:,} is the most that is "
                "checked. Inputs that tell mistakes apart need not be large."
            )
    if fitted(sizes, USUAL) is None:
        raise OptionError(f"no sizes in {text!r} go together: H must be a multiple of Hkv; say both.")


def _read_part(part: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"\s*(\w+)\s*([=%])\s*([\w\s,-]+?)\s*", part)
    letter, kind, what = found.groups() if found else ("", "", "")
    is_letter = kind == "=" and what in LETTERS
    few = re.fullmatch(r"\d+(\s*-\s*\d+)?(\s*,\s*\d+(\s*-\s*\d+)?)*", what)
    is_number = what.isdigit() and int(what) > 0
    if letter not in (*LETTERS, "T") or not (is_letter or few) or (kind == "%" and not is_number):
        raise OptionError(f"{part.strip()!r} says nothing about sizes that can be read. {EXAMPLE}.")
    return letter, kind, what


def _meant(letter: str, named: set[str]) -> tuple[str, ...]:
    """The letters that one stands for; nothing of what is said about another by its own name."""
    return tuple(each for each in BOTH.get(letter, (letter,)) if each == letter or each not in named)


def _said(letter: str, kind: str, what: str) -> Sizes:
    if what in LETTERS:
        return Sizes(equal=((letter, what),)) if what != letter else ANY
    if kind == "%":
        return Sizes(multiples=((letter, int(what)),))
    few = {size for item in what.split(",") for size in _range(item) if size > 0}
    return Sizes(among=((letter, tuple(sorted(few))),))


def _range(item: str) -> range:
    first, _, last = item.partition("-")
    return range(int(first), min(int(last or first), max(int(first), LARGEST)) + 1)


# --- fitting --------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def fitted(sizes: Sizes, wanted: tuple[tuple[str, int], ...], keep: tuple[str, ...] = ()) -> Wanted | None:
    """The sizes nearest to those wanted that are taken, None where there are none.

    wanted  (letter, size) for every letter; keep: letters for whose sizes the case is there
    Before sizes are near, what differs should differ, and what agrees agree; above all, the longer of Tq and
    Tk should be the longer. Heads that share keys share them in any case.
    """
    want = dict(wanted)
    if sizes.take(want):
        return want
    choices = {group: _choices(sizes, group, want, keep) for group in _groups(sizes)}
    if ("Hkv",) in choices:
        choices[("Hkv",)] = _dividing(sizes, next(few for group, few in choices.items() if "H" in group))
    tried = (_each_letter(choices, chosen) for chosen in product(*choices.values()))
    fit = [
        each for each in tried if _heads_fit(each, want) and all(each[name] == want[name] for name in keep)
    ]
    best = min(fit, key=lambda each: _cost(each, want), default=None)
    return best and _affordable(sizes, best)


def _groups(sizes: Sizes) -> list[tuple[str, ...]]:
    """The letters, those together that agree."""
    groups: dict[str, tuple[str, ...]] = {letter: (letter,) for letter in LETTERS}
    for a, b in sizes.equal:
        both = tuple(dict.fromkeys((*groups[a], *groups[b])))
        groups |= dict.fromkeys(both, both)
    return list(dict.fromkeys(groups.values()))


def _each_letter(groups: Iterable[tuple[str, ...]], chosen: tuple[int, ...]) -> Wanted:
    return {letter: size for group, size in zip(groups, chosen, strict=True) for letter in group}


def _choices(sizes: Sizes, group: tuple[str, ...], want: Wanted, keep: tuple[str, ...]) -> Sequence[int]:
    """The sizes for these letters that are thought of: those nearest to what is wanted."""
    by = math.lcm(*(number for letter, number in sizes.multiples if letter in group))
    wishes = [want[letter] for letter in group if letter in keep] or [want[letter] for letter in group]
    pool = {by * (max(size // by, 1) + more) for size in wishes for more in range(MULTIPLES if by > 1 else 1)}
    pool |= {size for letter, few in sizes.among if letter in group for size in few}
    fit = [size for size in pool if _is_taken(sizes, group, size)]
    return sorted(fit, key=lambda size: min(abs(math.log(size / wish)) for wish in wishes))[:MULTIPLES]


def _dividing(sizes: Sizes, heads: Sequence[int]) -> Sequence[int]:
    """The numbers of key/value heads that divide one of these numbers of heads."""
    fit = {size for H in heads for size in range(1, H + 1) if H % size == 0}
    return sorted(size for size in fit if _is_taken(sizes, ("Hkv",), size))


def _is_taken(sizes: Sizes, group: tuple[str, ...], size: int) -> bool:
    return all(size in few for letter, few in sizes.among if letter in group) and not any(
        size % number for letter, number in sizes.multiples if letter in group
    )


def _heads_fit(sizes: Wanted, want: Wanted) -> bool:
    shares = (want["H"] == want["Hkv"]) == (sizes["H"] == sizes["Hkv"])
    return shares and sizes["H"] % sizes["Hkv"] == 0


def _cost(sizes: Wanted, want: Wanted) -> float:
    others = sum((sizes[a] == sizes[b]) != (want[a] == want[b]) for a, b in combinations(LETTERS, 2))
    is_other_way = _longer(sizes) != _longer(want)
    shared = SHARED * (sizes["H"] // sizes["Hkv"] != want["H"] // want["Hkv"])
    far = sum(abs(math.log2(sizes[letter] / want[letter])) for letter in LETTERS)
    return TURNED * is_other_way + others + shared + FAR * far


def _longer(sizes: Wanted) -> int:
    return (sizes["Tq"] > sizes["Tk"]) - (sizes["Tq"] < sizes["Tk"])


def _affordable(sizes: Sizes, fit: Wanted) -> Wanted:
    """With fewer heads, then a smaller batch, where the scores would be too many and nothing is said."""
    said = {letter for letter, _ in (*sizes.among, *sizes.multiples)} | {
        x for pair in sizes.equal for x in pair
    }
    made = dict(fit)
    for letter in ("H", "B"):
        while made["B"] * made["H"] * made["Tq"] * made["Tk"] > MOST_SCORES and made[letter] > 1:
            if letter in said or (letter == "H" and ("Hkv" in said or made["Hkv"] != made["H"])):
                break
            made[letter] -= 1
            made["Hkv"] = made["H"] if letter == "H" else made["Hkv"]
    return made
