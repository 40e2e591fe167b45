"""What comes back from a function, in which order, and what has to be asked for."""

from __future__ import annotations

from dataclasses import replace

from .asking import Ask
from .calls import Outcome
from .conventions import find_logsumexp
from .outputs import outputs_named
from .probing import order_of
from .search import Search


def find_returns(search: Search) -> None:
    """What comes back, in which order, and what has to be asked for."""
    ask = search.ask(longer=search.takes_fewer)
    returns: dict[str, tuple[str, ...]] = {}
    for want in ("", "weights", "logsumexp"):
        if want and not search.ways.has(f"return_{want}"):
            continue
        outcome = search.probe.ask(search.ways, replace(ask, want=want))
        names, layouts = outputs_named(search.ways, ask, _as_stated(search, outcome, want))
        returns[want] = search.stated.returns if search.stated.returns and not want else names
        search.change(layouts={**search.ways.layouts, **layouts})
    search.change(returns=returns)
    if returns[""] != ("output",):
        listed = " and ".join(name if name != "-" else "something else" for name in returns[""])
        how = "stated" if search.stated.returns else "tried"
        search.say("returns", ", ".join(returns[""]), how, f"it returns {listed}")
    for step in ("weights", "logsumexp"):
        if not any(step in names for names in returns.values()):
            search.refusals[step] = f"it does not return the {step}."
    if "logsumexp" not in search.refusals:
        _find_base(search, ask)


def _as_stated(search: Search, outcome: Outcome, want: str) -> Outcome:
    """The outcome with the names that are stated for its outputs."""
    names = search.stated.returns
    return replace(outcome, names=names) if not want and len(names) == len(outcome.outputs) else outcome


def _find_base(search: Search, ask: Ask) -> None:
    ways, want = search.ways, search.ways.flag_for("logsumexp")
    at = ways.returns[want].index("logsumexp")
    base = search.stated.logsumexp or find_logsumexp(search.probe, ways, replace(ask, want=want), at)
    if base in ("row sum", "row maximum") and not ways.has("return_logsumexp"):
        search.refusals["logsumexp"] = f"what it returns for each row is the {base}, not the logsumexp."
        names = {
            key: tuple("-" if name == "logsumexp" else name for name in names)
            for key, names in ways.returns.items()
        }
        search.change(returns=names)
    elif base in ("natural", "base 2"):
        how, words = (
            "stated" if search.stated.logsumexp else "tried",
            "natural" if base == "natural" else "in base 2",
        )
        search.settle("logsumexp", base, how, f"its logsumexp is {words}")


def find_order(search: Search) -> None:
    """The weights without any option; where values stand in another place than their keys, put right."""
    ask = search.ask()
    weights = search.probe.weights(search.ways, ask)
    order = search.probe.order = order_of(weights, ask)
    search.plain = weights if weights is None or order is None else weights[..., order]
