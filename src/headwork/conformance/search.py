"""What is known of a function while it is being recognised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..arrays import Array
from .asking import Ask
from .calls import Signature
from .probing import PROBE_SIZES, Probe, ProbeSizes, axes_inside, mild
from .sizes import ANY, Sizes
from .stated import Found, Stated
from .ways import Ways


@dataclass
class Search:
    """One function being recognised; every step reads what the ones before have found, and adds to it.

    probe signature stated  what it is asked through, what can be seen of it, and what was said
    ways ... found          as in Interface
    probing      the sizes of the calls; all_probing: the sizes to try, the first of which are usual
    plain        the weights that it gives without any option, (B, H, T, T)
    takes_odd    whether it takes odd widths, and values of another width than keys
    """

    probe: Probe
    signature: Signature
    stated: Stated
    ways: Ways
    sizes: Sizes = ANY
    dtypes: list[str] = field(default_factory=list)
    conventions: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    also_runs: tuple[str, ...] = ()
    probing: ProbeSizes = PROBE_SIZES[0]
    all_probing: tuple[ProbeSizes, ...] = PROBE_SIZES
    plain: Array | None = None
    takes_odd: bool = False

    def say(self, what: str, value: str, how: str, said: str) -> None:
        """Keep something that was found out."""
        self.found.append(Found(what, value, how, said))

    def settle(self, what: str, value: str, how: str, said: str) -> None:
        """Keep a convention."""
        self.conventions[what] = value
        self.say(what, value, how, said)

    def change(self, **ways: Any) -> None:
        """Change how it is called."""
        self.ways = replace(self.ways, **ways)

    def ask(self, *, longer: bool = False, Hkv: int = 0) -> Ask:
        """Numbers for a call, in the axes that it has: as many queries as keys, or fewer (`longer`)."""
        sizes, axes = self.probing, axes_inside(self.ways)
        B, H = (sizes.B if "B" in axes else 1), (sizes.H if "H" in axes else 1)
        D = sizes.D
        if self.ways.heads:
            H, D = self.ways.heads, max(2, sizes.D * sizes.H // self.ways.heads)
        Tq, Tk = (sizes.Tq, sizes.Tk) if longer else (sizes.T, sizes.T)
        return mild(2, B, H, Hkv or H, Tq, Tk, D)

    def runs(self, ask: Ask, ways: Ways | None = None) -> tuple[bool, str]:
        """Whether a call gives an output of the right shape, and otherwise what was said."""
        return self.probe.runs(ways or self.ways, ask)

    def try_feature(self, feature: str, ask: Ask) -> bool:
        """Whether a call with that feature gives an output; otherwise it is refused, with what was said."""
        works, said = self.runs(ask)
        if not works:
            self.refusals[feature] = said
        return works

    def name(self, role: str) -> str:
        """The function's own name for a parameter."""
        argument = self.ways.named(role)
        return argument.name if argument is not None else role

    @property
    def takes_fewer(self) -> bool:
        """Whether it takes fewer queries than keys."""
        return ("Tq", "Tk") not in self.sizes.equal

    @property
    def last_words(self) -> str:
        """What was said by the last call that failed."""
        return next(reversed(self.probe.said), "")
