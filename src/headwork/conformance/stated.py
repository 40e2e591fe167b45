"""What somebody says about their function, and what was found out about it, with where it comes from."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from ..arrays import DTYPES, shown
from ..errors import OptionError
from .layouts import read_layout
from .roles import NAMES
from .sizes import ANY, Sizes, read_sizes

# option: the words that it takes, the first being what documentation calls Headwork's own
WORDS: Mapping[str, tuple[str, ...]] = {
    "mask_means": ("attend", "drop", "add"),
    "causal": ("lower_right", "upper_left", "never"),
    "window_counts": ("others", "itself"),
    "empty_rows": ("zero", "nan", "uniform", "unmasked"),
    "logsumexp": ("natural", "base 2"),
    "scale": ("multiplies", "divides", "on top"),
}
RETURNS = ("output", "weights", "logsumexp", "-")
OTHER_NAMES = {"lse": "logsumexp", "out": "output", "attention": "weights", "_": "-"}
FORMS: Mapping[str, tuple[tuple[type, ...], str]] = {  # type of a field: what is taken for it, in words
    "str": ((str,), "text"),
    "tuple[str, ...]": ((str, tuple, list), "a list of words, or text with commas,"),
    "Mapping[str, str]": ((Mapping,), "a dict"),
    "Mapping[str, Any]": ((Mapping,), "a dict"),
    "Sizes": ((Sizes, str), "text such as 'T=64,128; D=64'"),
}
HOW = ("stated", "name", "annotation", "documentation", "tried", "assumed")


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What is said, and therefore not looked for; differences from it are mistakes, not conventions.

    roles        parameter -> what it is for (a name of NAMES in roles.py)
    arguments    parameter -> the value it is always given
    takes        what the positional parameters are for, in order, where they have no names that say it
    layout       one for query, key and value, or three with commas: "BTHD"; output_layout where it is another
    mask_means   what True (or 1) in its mask means: "attend" or "drop"; "add": the mask is added
    causal       "lower_right" or "upper_left"; "never": not unless it is asked to
    window_counts  what a window given as one number counts: "itself" too, or the "others" before
    empty_rows   a row that may see nothing is "zero", "nan", "uniform" or "unmasked"
    logsumexp    "natural" or "base 2"
    scale        "multiplies" the scores, "divides" them, or comes "on top" of 1/√D
    returns      what comes back, in order: "output", "weights", "logsumexp", "-" for anything else
    out_argument the parameter that takes an array to write the output into
    library      "numpy", "torch", "jax", "cupy", "list"; device: as that library names it
    dtypes       what it is checked in, the first for everything; sizes: what it takes (sizes.py)

    Special cases: None says nothing.
    Raises OptionError for a word that an option does not have, and for what is no word.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    layout: str = ""
    output_layout: str = ""
    mask_means: str = ""
    causal: str = ""
    window_counts: str = ""
    empty_rows: str = ""
    logsumexp: str = ""
    scale: str = ""
    returns: tuple[str, ...] = ()
    out_argument: str = ""
    library: str = ""
    device: str = "cpu"
    dtypes: tuple[str, ...] = ()
    sizes: Sizes = ANY

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _of_its_form(each, getattr(self, each.name)))
        for name in ("takes", "returns", "dtypes"):
            words = getattr(self, name)
            split = words.replace(",", " ").split() if isinstance(words, str) else tuple(words)
            object.__setattr__(self, name, tuple(map(_own_name, split)))
        for name, words in WORDS.items():
            if getattr(self, name):
                _one_of(name, getattr(self, name), words)
        for name, words in (("takes", tuple(NAMES)), ("returns", RETURNS), ("dtypes", tuple(DTYPES))):
            for word in getattr(self, name):
                _one_of(name, word, words)
        for parameter, role in self.roles.items():
            _one_of(f"the role of {parameter}", role, tuple(NAMES))
        for text in filter(None, (self.layout, self.output_layout)):
            read_layout(text)

    def to_dict(self) -> dict[str, Any]:
        """What is stated, as plain data."""
        default = Stated()
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        said = {name: value for name, value in record.items() if value != getattr(default, name)}
        return said | ({"sizes": self.sizes.to_dict()} if "sizes" in said else {})


def _own_name(word: object) -> object:
    return OTHER_NAMES.get(word, word) if isinstance(word, str) else word


def _of_its_form(option: Field[Any], value: object) -> object:
    if value is None:
        return option.default if option.default_factory is MISSING else option.default_factory()
    kinds, words = FORMS[str(option.type)]
    if not isinstance(value, kinds):
        if option.name in WORDS:
            _one_of(option.name, value, WORDS[option.name])
        raise OptionError(f"{option.name} is {shown(value)}; {words} was expected.")
    return read_sizes(value) if option.name == "sizes" and isinstance(value, str) else value


def _one_of(option: str, word: object, words: tuple[str, ...]) -> None:
    if not isinstance(word, str) or word not in words:
        near = difflib.get_close_matches(str(word), words, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It is one of: {', '.join(words)}."
        raise OptionError(f"{option} is {shown(word)}. {hint}")


@dataclass(frozen=True)
class Found:
    """One thing that was found out about a function.

    what   such as "layout", "mask", "causal" or a parameter; value: such as "BTHD", "drop"
    how    one of HOW
    said   for a person, a phrase: "query, key and value are (B, T, H, D)"
    """

    what: str
    value: str
    how: str
    said: str

    def to_dict(self) -> dict[str, str]:
        """As plain data."""
        return {"what": self.what, "value": self.value, "how": self.how, "said": self.said}
