"""How one function is called: what the adapter finds out, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .calls import Call, Parameter
from .projections import Projections


@dataclass(frozen=True)
class Argument:
    """One parameter with what it is for.

    role  a name of NAMES in roles.py; "" where nobody knows
    how   "stated", "name" or "position"
    """

    parameter: Parameter
    role: str
    how: str

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def is_required(self) -> bool:
        return self.parameter.default is None

    @property
    def kind_said(self) -> str:
        """ "bool" or "float" where its annotation says so: ONNX's "bool[B,1,T,T]", jaxtyping's "Bool[…]"."""
        words = self.parameter.annotation.lower()
        return next((kind for kind in ("bool", "float") if words.startswith(kind) and "[" in words), "")


@dataclass(frozen=True)
class MaskWay:
    """How a mask is handed over.

    role    of the parameter: "mask", "bias" or "padding"
    layout  its axes, such as "BHQK", "QK" or "BK"
    means   "attend", "drop" (what True or 1 stands for) or "add"
    kind    "bool", "int" or "float"
    """

    role: str
    layout: str
    means: str
    kind: str


@dataclass(frozen=True)
class WindowWay:
    """How a window is handed over.

    form     "pair" (left, right), "number", or "sides": two parameters
    more     keys that it reaches further back than the number says: −1 where the query itself is counted
    right    "given", "same" as the left, "none" ahead, "all" that is ahead, "?" where it is not known yet
    no_bound what stands for no bound
    """

    form: str
    more: int = 0
    right: str = "given"
    no_bound: int | None = None
    with_causal: bool = False


@dataclass(frozen=True, eq=False)
class Ways:
    """How the function is called, as far as it is known.

    arguments   its parameters, in order; fixed: parameter -> the value it is always given
    layouts     "query", "key", "value" (or "qkv", "kv"), "output", "weights", "logsumexp", "past" -> axes
    library device dtype  of the arrays
    returns     "" (nothing asked), "weights", "logsumexp" -> what comes back then, in order
    masks       "mask-bool", "mask-float", "padding" -> how
    idle_mask   what a mask without a default is given where nothing is masked, until it is known what it
                means: "" for None, or "ones QK", "zeros BHQK" and the like
    either      a mask or the causal switch, but not both: the causal mask goes into the mask
    square      with a causal mask it takes only as many queries as keys
    alignment   of causal masks where Tq ≠ Tk: "lower_right" or "upper_left"
    is_causal   always, asked or not
    scale       "multiplies", "divides", "on top"; gives_scale: it is given even where none is asked for
    lengths     the dtype in which lengths are taken; from_end: the last query then meets the last valid one
    projections its own, chosen at each call; rows: so that they are the rows of query, key and value
    heads       how many heads its packed arrays have, where it knows that itself
    """

    arguments: tuple[Argument, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    layouts: Mapping[str, str] = field(default_factory=dict)
    library: str = "numpy"
    device: str = "cpu"
    dtype: str = "float64"
    returns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    masks: Mapping[str, MaskWay] = field(default_factory=dict)
    idle_mask: str = ""
    alignment: str = "lower_right"
    is_causal: bool = False
    either: bool = False
    square: bool = False
    scale: str = "multiplies"
    gives_scale: bool = False
    window: WindowWay | None = None
    lengths: str = "int32"
    from_end: bool = False
    heads: int = 0
    projections: Projections | None = None
    rows: bool = False

    def has(self, *roles: str) -> bool:
        """Whether it has a parameter for each of these."""
        return all(self.named(role) is not None for role in roles)

    def flag_for(self, step: str) -> str:
        """What has to be asked for so that a step comes back: a key of `returns`."""
        return next((want for want, names in self.returns.items() if step in names), "")

    def named(self, role: str) -> Argument | None:
        """The first parameter for that."""
        return next((argument for argument in self.arguments if argument.role == role), None)


def gradient_places(ways: Ways, call: Call) -> tuple[int | str, ...]:
    """Where query, key and value (or what holds them) stand in a call."""
    listed = (each for each in ways.arguments if each.parameter.kind not in ("*args", "**kwargs"))
    wanted = ("query", "key", "value", "qkv", "kv", "x")
    places = {each.name if each.name in call.keywords else at: each.role for at, each in enumerate(listed)}
    return tuple(place for place, role in places.items() if role in wanted)
