"""Sizes that a function refuses: seen from where it raised, and the battery drawn again inside what it
takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .comparing import Asked
from .interface import Interface
from .sizes import LETTERS, Sizes

# features with a parameter each
SWITCHES = ("scale", "causal", "offset", "window", "softcap", "alibi", "sink")
# what a function says that refuses on purpose; anything else that it raises is an accident
ON_PURPOSE = re.compile(
    r"NotImplemented|support|implement|not available|require|expect|must|only|cannot|allow|invalid",
    re.I,
)
RAISED = re.compile(r"\w*(?:Error|Exception|Exit)\b")


def broke_down(feature: str, interface: Interface) -> bool:
    """Whether the function has a parameter for the feature, and what it raised with it does not read as a
    refusal."""
    reason = interface.supports(feature).reason
    is_accident = RAISED.match(reason) is not None and not ON_PURPOSE.search(reason)
    return feature in SWITCHES and interface.ways.has(feature) and is_accident


def taken_sizes(asked: Sequence[Asked]) -> Sizes:
    """What the function seems to take, where it raised: of each letter whose size never worked, those that
    did.

    A case that raises although each of its sizes worked elsewhere says nothing about sizes.
    """
    worked = [each.case.sizes for each in asked if each.target is not None]
    refused = [each for each in asked if has_raised(each)]
    among: dict[str, tuple[int, ...]] = {}
    for letter in LETTERS:
        fine = {sizes[letter] for sizes in worked}
        if fine and any(each.case.sizes[letter] not in fine for each in refused):
            among[letter] = tuple(sorted(fine))
    return Sizes(among=tuple(among.items()))


def has_raised(asked: Asked) -> bool:
    """Whether the call ended in an exception of the function's own."""
    return asked.outcome is not None and asked.outcome.end == "raised"


def refusals(asked: Sequence[Asked]) -> tuple[str, ...]:
    """What was refused, each message once: "D = 7: ValueError: …"."""
    worked = [each.case.sizes for each in asked if each.target is not None]
    said: dict[str, str] = {}
    for each in asked:
        if has_raised(each) and each.outcome is not None:
            own = {
                letter: size
                for letter, size in each.case.sizes.items()
                if worked and all(sizes[letter] != size for sizes in worked)
            }
            shown = own or {name: each.case.sizes[name] for name in ("Tq", "Tk", "D", "Dv")}
            words = ", ".join(f"{letter} = {size}" for letter, size in shown.items())
            said.setdefault(each.outcome.said, f"{words} ({each.case.id}): {each.outcome.said}")
    return tuple(said.values())
