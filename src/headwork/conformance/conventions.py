"""What a function means by its other options: causal alignment, lengths, windows, scale, logsumexp.

Every question is answered by which weights there are, or which way they move, so that a mistake elsewhere in
the function does not change the answer. Good systems differ in all of this: it is said, and judged only where
it was stated.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..arrays import Array
from .asking import Ask
from .probing import GONE, Probe
from .ways import Argument, Ways, WindowWay

FAR = 1_000_000  # a window that reaches over everything
CLOSE = 0.02  # relative: a sharpness this near to 1/√D is that
# what stands for a row of Tk scores that are all 0
PER_ROW: Mapping[str, Callable[[int], float]] = {
    "natural": math.log,
    "base 2": math.log2,
    "row sum": float,
    "row maximum": lambda Tk: 0.0,
}

# --- causal ---------------------------------------------------------------------------------------


def seen(weights: Array) -> Array:
    """Which keys each query gives weight to, (Tq, Tk), in most of the samples and heads."""
    return np.asarray((np.abs(weights) > GONE).mean(axis=(0, 1)) > 0.5)


def is_causal(weights: Array | None) -> bool:
    """Whether, with as many queries as keys, no weight is on later keys and some on all earlier ones."""
    if weights is None or not np.isfinite(weights).all():
        return False
    visible = seen(weights)
    return bool((visible == np.tri(len(visible), dtype=bool)).all())


def alignment(weights: Array | None) -> str:
    """The alignment of a causal mask with fewer queries than keys: the one nearer to what is seen, or ""."""
    if weights is None:
        return ""
    visible = seen(weights)
    Tq, Tk = visible.shape
    masks = {"lower_right": np.tri(Tq, Tk, Tk - Tq, dtype=bool), "upper_left": np.tri(Tq, Tk, dtype=bool)}
    differ = {name: int((visible != mask).sum()) for name, mask in masks.items()}
    best = min(differ, key=lambda name: differ[name])
    return best if visible.any() and len(set(differ.values())) > 1 else ""


# --- lengths --------------------------------------------------------------------------------------


def find_lengths(probe: Probe, ways: Ways, ask: Ask) -> tuple[str, str]:
    """The dtype in which it takes lengths, and "valid" where just the keys at the front then have weight.

    ("", what was said) where it takes none.
    """
    B, Tk = ask.sizes["B"], ask.sizes["Tk"]
    asked = replace(ask, lengths=np.where(np.arange(B) % 2 == 0, Tk - 2, Tk))
    for dtype in ("int32", "int64"):
        weights = probe.weights(replace(ways, lengths=dtype), asked)
        if weights is not None:
            visible = seen(weights[:1])
            return dtype, "valid" if (visible == (np.arange(Tk) < Tk - 2)).all() else ""
    return "", probe.runs(replace(ways, lengths="int64"), asked)[1]


def stands_at_the_end(probe: Probe, ways: Ways, ask: Ask) -> bool:
    """Whether, beside lengths, the last query meets the last valid key, and not the last key."""
    B, Tk = ask.sizes["B"], ask.sizes["Tk"]
    weights = probe.weights(ways, replace(ask, causal=True, lengths=np.full(B, Tk - 1)))
    return weights is not None and alignment(weights[..., : Tk - 1]) == "lower_right"


# --- windows --------------------------------------------------------------------------------------


def find_window(probe: Probe, ways: Ways, ask: Ask, longer: Ask | None) -> tuple[WindowWay, str] | None:
    """How a window is handed over and what its number counts, None where none has any effect.

    Also where it stands for the first query of `longer`, which has fewer queries than keys: as `alignment`.
    """
    for way in _window_ways(ways):
        weights = _windowed(probe, ways, ask, way)
        reach = None if weights is None else _reach(weights)
        if reach is not None:
            place = "" if longer is None else _place(_windowed(probe, ways, longer, way), reach[1])
            return _unbounded(probe, ways, ask, _counted(way, reach, ask.sizes["Tk"])), place
    return None


def idle_window(probe: Probe, ways: Ways, ask: Ask) -> WindowWay | None:
    """How a window is handed over that is taken, but without an effect; None where it is refused."""
    taken = (way for way in _window_ways(ways) if _windowed(probe, ways, ask, way) is not None)
    return next((replace(way, right="none" if way.right == "?" else way.right) for way in taken), None)


def _window_ways(ways: Ways) -> Iterator[WindowWay]:
    argument = ways.named("window") or ways.named("window_left")
    for form in () if argument is None else _forms(argument):
        right = "given" if form == "pair" or ways.has("window_right") else "?"
        no_bound = -1 if argument is not None and "-1" in str(argument.parameter.default) else None
        for causal in (False, True) if ways.has("causal") else (False,):
            yield WindowWay(form, right=right, no_bound=no_bound, with_causal=causal)


def _forms(argument: Argument) -> tuple[str, ...]:
    if argument.role == "window_left":
        return ("sides",)
    default, annotation = str(argument.parameter.default), argument.parameter.annotation
    is_number = default.lstrip("-").isdigit() or ("int" in annotation and "tuple" not in annotation.lower())
    return ("number", "pair") if is_number else ("pair", "number")


def _windowed(probe: Probe, ways: Ways, ask: Ask, way: WindowWay) -> Array | None:
    """The weights under a window of one key on both sides, or of the number 2."""
    asked = (1, 1) if way.right == "given" else (2, 0)
    return probe.weights(replace(ways, window=way), replace(ask, window=asked, causal=way.with_causal))


def _reach(weights: Array) -> tuple[int, int] | None:
    """How far the last query sees back and the first one ahead; None where the last one sees all or none."""
    visible = seen(weights)
    T = len(visible)
    if not visible[T - 1].any() or not visible[0].any() or visible[T - 1, 0]:
        return None
    return T - 1 - int(visible[T - 1].argmax()), T - 1 - int(visible[0][::-1].argmax())


def _place(weights: Array | None, ahead: int) -> str:
    """Where the first of few queries stands, by the last key that it sees."""
    if weights is None or not (visible := seen(weights))[0].any():
        return ""
    Tq, Tk = visible.shape
    first = Tk - 1 - int(visible[0][::-1].argmax()) - ahead
    return {0: "upper_left", Tk - Tq: "lower_right"}.get(first, "")


def _counted(way: WindowWay, reach: tuple[int, int], T: int) -> WindowWay:
    back, ahead = reach
    if way.right == "given":
        return replace(way, more=back - 1)
    return replace(way, more=back - 2, right="all" if ahead == T - 1 else "none" if ahead == 0 else "same")


def _unbounded(probe: Probe, ways: Ways, ask: Ask, way: WindowWay) -> WindowWay:
    """The way with what stands for no bound: None or −1 where every query then sees the first key.

    Where −1 is a number like others, the last query may see nothing, which can look like seeing all.
    """
    asked = replace(ask, window=(None, 1), causal=way.with_causal)
    for no_bound in dict.fromkeys((way.no_bound, None, -1)):
        tried = replace(way, no_bound=no_bound, right="given" if way.right == "given" else "?")
        weights = probe.weights(replace(ways, window=tried), asked)
        if weights is not None and bool(seen(weights)[:, 0].all()):
            return replace(way, no_bound=no_bound)
    return replace(way, no_bound=FAR)


# --- scale, logsumexp -----------------------------------------------------------------------------


def find_scale(probe: Probe, ways: Ways, ask: Ask) -> tuple[str, bool]:
    """What a scale does: "multiplies", "divides", or comes "on top" of 1/√D; and whether it is always given.

    That is where its default is a number which is not 1/√D itself.
    """
    root = math.sqrt(ask.sizes["D"])
    low, high = (_sharpness(probe, ways, replace(ask, scale=factor / root)) for factor in (0.5, 2.0))
    if low is None or high is None or abs(abs(low) - abs(high)) < GONE:
        return "multiplies", False
    argument = ways.named("scale")
    has_number = argument is not None and _is_number(argument.parameter.default)
    own = _sharpness(probe, ways, ask) if has_number else None
    is_right_by_itself = own is not None and abs(own * root - 1) < CLOSE
    if is_right_by_itself and abs(high) > abs(low):
        return "on top", False
    return "multiplies" if abs(high) > abs(low) else "divides", has_number


def _is_number(text: str | None) -> bool:
    try:
        value = ast.literal_eval(text or "None")
    except (ValueError, SyntaxError):
        return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sharpness(probe: Probe, ways: Ways, ask: Ask) -> float | None:
    """How much the logarithm of a weight rises with the dot product: the scale, where there is no mistake."""
    weights = probe.weights(ways, ask)
    if weights is None or not np.isfinite(weights).all() or (weights <= 0).any():
        return None
    dots = ask.query @ ask.key.swapaxes(-1, -2)
    dots, logs = (x - x.mean(axis=-1, keepdims=True) for x in (dots, np.log(weights)))
    return float((dots * logs).sum() / (dots * dots).sum())


def find_logsumexp(probe: Probe, ways: Ways, ask: Ask, at: int) -> str:
    """What is returned at this place for each row: "natural" or "base 2", "row sum", "row maximum" or "".

    All scores are 0, so that the logsumexp is ln Tk whatever the scale.
    """
    outcome = probe.ask(ways, replace(ask, query=np.zeros_like(ask.query)))
    if not outcome.is_fine or len(outcome.outputs) <= at:
        return ""
    value, Tk = float(np.median(outcome.outputs[at].astype(np.float64))), ask.sizes["Tk"]
    return next((word for word, of in PER_ROW.items() if abs(value - of(Tk)) < 0.01), "")
