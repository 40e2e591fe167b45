"""From numbers inside (B, H, T, D) to a call of somebody's function, by its Ways."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array
from ..errors import HeadworkError
from ..problem import published_slopes
from .calls import Call, Settings
from .layouts import axes_words, joined, laid_out, shape_in
from .projections import one_hot
from .roles import ALWAYS, NEUTRAL, UNLESS_SAME
from .ways import Argument, MaskWay, Ways


class CannotAskError(HeadworkError):
    """The function cannot be asked this; the message says why, and it is no fault of the function."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ask:
    """What one call is to compute.

    query (B, H, Tq, D)   key (B, Hkv, Tk, D)   value (B, Hkv, Tk, Dv)
    allowed  bool (B, H, Tq, Tk), bias float (B, H, Tq, Tk): to be handed over as masks
    valid    bool (B, 1, 1, Tk): which keys are no padding
    causal window lengths offset scale softcap alibi sink: to be handed over as such
    past     so many of the keys come from a cache
    want     "", "weights" or "logsumexp": the switch that is set so that more comes back
    """

    query: Array
    key: Array
    value: Array
    allowed: Array | None = None
    bias: Array | None = None
    valid: Array | None = None
    causal: bool = False
    window: tuple[int | None, int | None] | None = None
    lengths: Array | None = None
    offset: Array | None = None
    scale: float | None = None
    softcap: float | None = None
    alibi: Array | None = None
    sink: Array | None = None
    past: int = 0
    want: str = ""

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by their letters."""
        B, H, Tq, D = self.query.shape
        _, Hkv, Tk, Dv = self.value.shape
        return {"B": B, "H": H, "Hkv": Hkv, "Tq": Tq, "Tk": Tk, "D": D, "Dv": Dv}


def scores_shape(ask: Ask) -> tuple[int, int, int, int]:
    """(B, H, Tq, Tk)."""
    B, H, Tq, _ = ask.query.shape
    return B, H, Tq, ask.key.shape[2]


# --- the call -------------------------------------------------------------------------------------


def call_of(ways: Ways, ask: Ask, **options: Any) -> Call:
    """The call that asks this. `options` go into the Call. Raises CannotAskError."""
    ask = folded(ways, ask)
    values = dict(_values(ways, ask))
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    is_leading = True  # by place as long as nothing is left out: decorated functions often take no names
    for argument in ways.arguments:
        kind = argument.parameter.kind
        is_given, value = (
            (False, None) if kind in ("*args", "**kwargs") else _given(ways, argument, values, ask)
        )
        if not is_given and kind == "positional":  # one that follows may be given, and then this one must be
            is_given, value = True, _default(argument)
        is_leading &= is_given and kind != "keyword" and (argument.role != "out" or kind == "positional")
        if is_leading:
            positional.append(value)
        elif is_given:
            keywords[argument.name] = value
    out = ways.named("out")
    if out is not None and out.name in keywords:
        options["out"] = out.name
    if ways.projections is not None:
        options["weights"] = ways.projections.chosen(*_packed(ways, ask), rows=ways.rows)
    return Call(tuple(positional), keywords, library=ways.library, device=ways.device, **options)


def _given(ways: Ways, argument: Argument, values: Mapping[str, Any], ask: Ask) -> tuple[bool, Any]:
    """Whether the parameter is given anything, and what."""
    name, role = argument.name, argument.role
    if name in ways.fixed:
        return True, ways.fixed[name]
    if role in values and ways.named(role) is argument:
        return True, values[role]
    if not argument.is_required and not _may_ask(argument):
        return False, None
    if role not in NEUTRAL:
        raise CannotAskError(
            f"nobody knows what its parameter {name} is for. Say it with --role {name}=ROLE, or give it a "
            f"value with --argument {name}=VALUE."
        )
    return True, idle(ways, role, ask)


def _may_ask(argument: Argument) -> bool:
    """Whether the default of a parameter may ask for something."""
    if argument.role in UNLESS_SAME:
        return _default(argument) not in (None, NEUTRAL[argument.role])
    return argument.role in ALWAYS


def _default(argument: Argument) -> Any:
    try:
        return ast.literal_eval(argument.parameter.default or "None")
    except (ValueError, SyntaxError):
        return None


# --- where nothing is asked -----------------------------------------------------------------------


def idle(ways: Ways, role: str, ask: Ask) -> Any:
    """What a parameter is given where nothing is asked of it."""
    sizes, dtype = ask.sizes, DTYPES[ways.dtype]
    B, H, Hkv, Tq, Tk, D, Dv = (sizes[letter] for letter in ("B", "H", "Hkv", "Tq", "Tk", "D", "Dv"))
    if role in ("mask", "bias", "padding"):
        return _idle_mask(ways, role, ask)
    if role == "lengths":
        return np.full(B, Tk, ways.lengths or "int32")
    value = NEUTRAL[role]
    if value == "no past":
        widths = {"past_key": D, "past_value": Dv}
        shape = shape_in(ways.layouts["past"], {"B": B, "H": Hkv, "T": 0, "D": widths[role]})
        return np.zeros(shape, dtype)
    if value == "no bias":
        widths = {"b_query": H * D, "b_key": Hkv * D, "b_value": Hkv * Dv, "b_output": H * Dv}
        return np.zeros(widths[role], dtype)
    if value == "out":
        return np.zeros(shape_in(ways.layouts["output"], {**sizes, "T": Tq, "D": Dv}), dtype)
    words = {
        "B": B, "H": H, "Hkv": Hkv, "H/Hkv": H // Hkv, "Tq": Tq, "Tk": Tk, "D": D,
        "1/√D": _scale(ways, 1 / math.sqrt(D), D),
        "no slopes": np.zeros(H), "no sinks": np.full(H, -np.inf, dtype),
        "layout": ways.layouts["query"].replace("T", "S").lower(),
        "settings": _settings(H, Hkv, D),
    }  # fmt: skip
    return words.get(value, value) if isinstance(value, str) else value


def _settings(H: int, Hkv: int, D: int) -> Settings:
    """What functions read from the module or configuration they are handed."""
    scale, width = 1 / math.sqrt(D), H * D
    return Settings({
        "training": False, "is_causal": False, "dropout": 0.0, "attention_dropout": 0.0, "layer_idx": 0,
        "num_heads": H, "n_heads": H, "n_head": H, "num_attention_heads": H,
        "num_key_value_heads": Hkv, "n_kv_heads": Hkv, "num_key_value_groups": H // Hkv,
        "head_dim": D, "d_k": D, "hidden_size": width, "d_model": width, "scaling": scale, "scale": scale,
        "sliding_window": None, "attn_logit_softcapping": None,
    })  # fmt: skip


def _idle_mask(ways: Ways, role: str, ask: Ask) -> Array | None:
    if not ways.idle_mask:
        return None
    way = next((way for way in ways.masks.values() if way.role == role), None)
    if way is not None:
        return handed(way, np.ones(scores_shape(ask), dtype=bool), None, DTYPES[ways.dtype])
    kind, _, layout = ways.idle_mask.partition(" ")
    shape = shape_in(layout, dict(zip("BHQK", scores_shape(ask), strict=True)))
    return np.ones(shape, DTYPES[ways.dtype]) if kind == "ones" else np.zeros(shape, dtype=bool)


# --- axes that are missing ------------------------------------------------------------------------


def folded(ways: Ways, ask: Ask) -> Ask:
    """Heads as batch, or batch as heads, where the function's arrays have only one of the two axes.

    Raises CannotAskError where neither will do.
    """
    layout = ways.layouts.get("qkv") or ways.layouts["query"]
    has_heads, has_batch = any(axis in layout for axis in "HEF"), "B" in layout
    B, H = ask.query.shape[:2]
    if (has_heads or H == 1) and (has_batch or B == 1):
        return ask
    if not has_heads and not has_batch:
        raise CannotAskError(f"it takes one matrix each; {B} samples of {H} heads were wanted.")
    if has_heads and (ways.heads or ask.lengths is not None or ask.valid is not None):
        raise CannotAskError(f"its arrays have no batch axis; {B} samples were wanted.")
    if has_batch and (ask.key.shape[1] != H or ask.alibi is not None or ask.sink is not None):
        raise CannotAskError(f"it takes one head; {H} heads that differ were wanted.")

    def fold(array: Array) -> Array:
        flat = np.broadcast_to(array, (B, *array.shape[1:])).reshape(-1, *array.shape[2:])
        return flat[None] if has_heads else flat[:, None]

    return replace(
        ask,
        query=fold(ask.query),
        key=fold(ask.key),
        value=fold(ask.value),
        allowed=None if ask.allowed is None else fold(ask.allowed),
        bias=None if ask.bias is None else fold(ask.bias),
        valid=None if ask.valid is None else np.repeat(ask.valid, H, axis=0),
        lengths=None if ask.lengths is None else np.repeat(ask.lengths, H),
        alibi=None if ask.alibi is None else np.tile(ask.alibi, B),
        sink=None if ask.sink is None else np.tile(ask.sink, B),
    )


# --- what the parameters are given ----------------------------------------------------------------


def _values(ways: Ways, ask: Ask) -> Iterator[tuple[str, Any]]:
    """role -> value, for what this call asks. Raises CannotAskError for what there is no parameter for."""
    yield from _arrays(ways, ask)
    yield from _masks(ways, ask)
    yield from _window(ways, ask)
    sizes = ask.sizes
    if ask.causal and not ways.is_causal:
        yield _for(ways, "causal", True, "a causal mask")
    if ask.lengths is not None:
        yield _for(ways, "lengths", ask.lengths.astype(ways.lengths or "int32"), "lengths")
    if ask.offset is not None:
        first = int(ask.offset[0])
        if (ask.offset != first).any():
            raise CannotAskError("its offset is one number; one for each sample was wanted.")
        yield _for(ways, "offset", first, "an offset")
    if ask.scale is not None or ways.gives_scale:
        factor = 1 / math.sqrt(sizes["D"]) if ask.scale is None else ask.scale
        yield _for(ways, "scale", _scale(ways, factor, sizes["D"]), "a scale")
    if ask.softcap is not None:
        yield _for(ways, "softcap", ask.softcap, "a softcap")
    if ask.alibi is not None:
        yield _for(ways, "alibi", _slopes(ways, ask.alibi), "slopes (ALiBi)")
    if ask.sink is not None:
        yield _for(ways, "sink", ask.sink.astype(DTYPES[ways.dtype]), "sinks")
    if sizes["H"] != sizes["Hkv"] and ways.has("grouped"):
        yield "grouped", True
    if ask.want and ways.has(f"return_{ask.want}"):
        yield f"return_{ask.want}", True


def _for(ways: Ways, role: str, value: Any, what: str) -> tuple[str, Any]:
    if not ways.has(role):
        raise CannotAskError(f"it has no parameter for {what}.")
    return role, value


def _scale(ways: Ways, factor: float, D: int) -> float:
    if ways.scale == "divides":
        return 1 / factor
    return factor * math.sqrt(D) if ways.scale == "on top" else factor


def _slopes(ways: Ways, slopes: Array) -> Any:
    argument = ways.named("alibi")
    if argument is None or argument.parameter.default not in ("True", "False"):
        return slopes.astype(np.float64 if ways.dtype == "float64" else np.float32)
    if not np.array_equal(slopes, published_slopes(len(slopes))):
        raise CannotAskError("its slopes are the published ones; others were wanted.")
    return True


def _arrays(ways: Ways, ask: Ask) -> Iterator[tuple[str, Any]]:
    query, key, value = _in_dtype(ways, ask)
    sizes = ask.sizes
    if (ways.has("qkv") or ways.has("kv")) and sizes["D"] != sizes["Dv"]:
        raise CannotAskError("key and value come in one array, equally wide.")
    if ways.has("qkv"):
        if (sizes["Tq"], sizes["H"]) != (sizes["Tk"], sizes["Hkv"]):
            raise CannotAskError(
                "query, key and value come in one array, with as many heads and tokens each."
            )
        yield "qkv", joined((query, key, value), ways.layouts["qkv"])
        return
    if ways.has("x"):
        yield from _embedded(ways, query, key, value)
        return
    yield "query", laid_out(query, ways.layouts["query"])
    if ask.past:
        for name, array in (("past_key", key), ("past_value", value)):
            yield name, laid_out(array[:, :, : ask.past], ways.layouts["past"])
        key, value = key[:, :, ask.past :], value[:, :, ask.past :]
    if ways.has("kv"):
        yield "kv", joined((key, value), ways.layouts["kv"])
    else:
        yield "key", laid_out(key, ways.layouts["key"])
        yield "value", laid_out(value, ways.layouts["value"])
    if ways.has("w_query"):  # projects to the same
        for name, array in (("query", query), ("key", key), ("value", value), ("output", query)):
            yield f"w_{name}", np.eye(array.shape[1] * array.shape[3], dtype=query.dtype)


def _in_dtype(ways: Ways, ask: Ask) -> tuple[Array, Array, Array]:
    with np.errstate(over="ignore"):  # a number beyond float16 is inf there: that is the arithmetic meant
        query, key, value = (array.astype(DTYPES[ways.dtype]) for array in (ask.query, ask.key, ask.value))
    return query, key, value


def _packed(ways: Ways, ask: Ask) -> tuple[Array, Array, Array]:
    """Query, key and value, each (B, T, H·D)."""
    query, key, value = (laid_out(array, "BTE") for array in _in_dtype(ways, ask))
    return query, key, value


def _embedded(ways: Ways, query: Array, key: Array, value: Array) -> Iterator[tuple[str, Any]]:
    """Embeddings and projections from which query, key and value come, see projections.py.

    Where the projections are parameters that may have any shape, the embeddings hold the three side by side.
    """
    B, _, Tq, _ = query.shape
    if key.shape[2] != Tq and not ways.has("x_key"):
        raise CannotAskError("query, key and value come from the same embeddings: as many of each.")
    layout, parts = ways.layouts["x"], [laid_out(array, "BTE") for array in (query, key, value)]
    widths = [part.shape[-1] for part in parts]
    yield "w_output", np.eye(widths[2], dtype=query.dtype)
    if not ways.rows:
        pick = np.split(np.eye(sum(widths), dtype=query.dtype), np.cumsum(widths)[:-1], axis=1)
        yield from zip(("w_query", "w_key", "w_value"), pick, strict=True)
        if ways.has("x_key"):
            before, after = widths[0], widths[1] + widths[2]
            yield "x", _in_layout(np.pad(parts[0], ((0, 0), (0, 0), (0, after))), layout)
            both = np.concatenate(parts[1:], axis=-1)
            yield "x_key", _in_layout(np.pad(both, ((0, 0), (0, 0), (before, 0))), layout)
        else:
            yield "x", _in_layout(np.concatenate(parts, axis=-1), layout)
        return
    width = widths[0] if ways.projections is None else ways.projections.width
    if B * Tq > width:
        raise CannotAskError(
            f"it projects inside, {width} columns wide: at most as many tokens can be chosen."
        )
    if not all(np.isfinite(part).all() for part in parts):
        raise CannotAskError("it projects inside, where NaN and infinities would spread.")
    yield "x", _in_layout(one_hot(B, Tq, width, query.dtype), layout)
    for name, part in zip(("w_query", "w_key", "w_value"), parts, strict=True):
        yield name, np.pad(part.reshape(B * Tq, -1), ((0, width - B * Tq), (0, 0)))


def _in_layout(tokens: Array, layout: str) -> Array:
    """Embeddings (B, T, E) in the layout of the function, whose joined axis they are."""
    return laid_out(tokens[:, None], layout.replace("E", "D"))


# --- masks ----------------------------------------------------------------------------------------


def _masks(ways: Ways, ask: Ask) -> Iterator[tuple[str, Any]]:
    dtype = DTYPES[ways.dtype]
    keep, add, padding = (ways.masks.get(name) for name in ("mask-bool", "mask-float", "padding"))
    allowed = ask.allowed
    if ask.valid is not None and padding is not None:
        yield "padding", handed(padding, ask.valid, None, dtype)
    elif ask.valid is not None:
        allowed = np.broadcast_to(ask.valid, scores_shape(ask)) & (True if allowed is None else allowed)
    if ask.bias is not None:
        if add is None:
            raise CannotAskError("it has no mask that is added to the scores.")
        is_apart = keep is not None and keep.role != add.role
        yield add.role, handed(add, None if is_apart else allowed, ask.bias, dtype)
        allowed = allowed if is_apart else None
    if allowed is not None:
        way = keep or add
        if way is None:
            raise CannotAskError("it has no mask.")
        yield way.role, handed(way, allowed, None, dtype)


def handed(way: MaskWay, allowed: Array | None, bias: Array | None, dtype: np.dtype[Any]) -> Array:
    """A mask as the function takes it. Raises CannotAskError where it has not the axes for it."""
    if bias is not None:
        mask = bias.astype(dtype)
        mask = mask if allowed is None else np.where(allowed, mask, dtype.type(-np.inf))
    elif allowed is None:
        raise CannotAskError("there is nothing to mask.")
    elif way.means == "add":
        mask = np.where(allowed, dtype.type(0), dtype.type(-np.inf))
    else:
        kinds: dict[str, np.dtype[Any]] = {"bool": np.dtype(bool), "int": np.dtype(np.int64), "float": dtype}
        mask = (allowed if way.means == "attend" else ~allowed).astype(kinds[way.kind])
    for axis, letter in enumerate("BHQK"):
        if letter not in way.layout:
            first = mask.take([0], axis=axis)
            if not (mask == first).all():
                raise CannotAskError(
                    f"its mask is {axes_words(way.layout)}; one that differs along {letter} was wanted."
                )
            mask = first
    return laid_out(mask, way.layout, "BHQK")


def _window(ways: Ways, ask: Ask) -> Iterator[tuple[str, Any]]:
    if ask.window is None:
        return
    way, (left, right) = ways.window, ask.window
    if way is None:
        raise CannotAskError("it has no parameter for a window.")
    back = way.no_bound if left is None else left - way.more
    ahead = way.no_bound if right is None else right
    if way.form == "pair":
        yield "window", (back, ahead)
    elif way.form == "number":
        yield "window", back
    else:
        yield _for(ways, "window_left", back, "how far a window reaches back")
        if way.right == "given":
            yield _for(ways, "window_right", ahead, "how far a window reaches ahead")
