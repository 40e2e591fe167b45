"""Right implementations of attention, written in many ways: none of them may ever be accused.

`textbook` and `loops` do everything that a problem can ask for and were written apart from each other;
the others do what they say in `can`. All compute in float64 (`dtype` only says what a mutant does).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .mutant import Answer, Inputs

Array = NDArray[Any]


@dataclass(frozen=True)
class Right:
    """One right implementation.

    id    kebab-case
    why   why it is right, where that is not plain to see
    can   what it can do beside query, key and value: field names, and "batch", "gqa"; "must:NAME" where it
          is only meant for problems that have NAME
    run   inputs -> answer
    """

    id: str
    why: str
    can: frozenset[str]
    run: Callable[[Inputs], Answer]

    def supports(self, problem: Inputs) -> bool:
        asked = features(problem)
        must = {name.removeprefix("must:") for name in self.can if name.startswith("must:")}
        return must <= asked and asked <= self.can | must


def features(problem: Inputs) -> set[str]:
    """What a problem asks for beside plain query, key and value."""
    asked = {name for name, value in problem.items() if value is not None and value is not False}
    asked -= {"query", "key", "value"}
    if "query" in problem and "heads" not in problem:
        query, key = np.array(problem["query"]), np.array(problem["key"])
        if query.ndim > 2:
            asked.add("stacked")
        if query.ndim > 2 and query.shape[-3] != key.shape[-3]:
            asked.add("gqa")
    if "mask" in asked and np.array(problem["mask"]).dtype != bool:
        asked = asked - {"mask"} | {"float mask"}
    if "mask" in asked and not np.array(problem["mask"]).any(-1).all():
        asked.add("empty rows")
    if "dim" in problem.get("rope", {}):
        asked.add("partial rope")
    if problem.get("causal") and "query" in problem:
        Tq, Tk = np.array(problem["query"]).shape[-2], np.array(problem["key"]).shape[-2]
        if Tq != Tk or problem["causal"] is not True:
            asked.add("cache")
    return asked


# --- everything, vectorised -----------------------------------------------------------------------


def textbook(problem: Inputs) -> Answer:
    """softmax(Q Kᵀ / √d_k + mask) V, array by array."""
    q, k, v = _projected(problem)
    heads: Any = problem.get("heads")
    kv_heads: Any = problem.get("kv_heads", heads)
    alone = heads is None and q.ndim == 2
    if heads is not None:
        q = q.reshape(*q.shape[:-1], heads, -1).swapaxes(-2, -3)
        k, v = (x.reshape(*x.shape[:-1], kv_heads, -1).swapaxes(-2, -3) for x in (k, v))
    elif alone or "x" in problem:
        q, k, v = (x[..., None, :, :] for x in (q, k, v))
    H, Tq, D = q.shape[-3:]
    Tk = k.shape[-2]
    k, v = (np.repeat(x, H // x.shape[-3], axis=-3) for x in (k, v))

    lengths = np.array(problem.get("lengths", Tk))[..., None, None, None]
    offset = problem.get("offset", 0 if problem.get("causal") == "upper_left" else None)
    first = lengths - Tq if offset is None else np.array(offset)[..., None, None, None]
    place_q, place_k = np.arange(Tq)[:, None] + first, np.arange(Tk)
    if problem.get("rope"):
        q, k = _turned(q, place_q, problem["rope"]), _turned(k, place_k[:, None], problem["rope"])

    scores = q @ k.swapaxes(-1, -2)
    scores = scores * problem["scale"] if problem.get("scale") is not None else scores / np.sqrt(D)
    if problem.get("softcap") is not None:
        scores = problem["softcap"] * np.tanh(scores / problem["softcap"])
    if problem.get("alibi") not in (None, False):
        scores = scores - _slopes(problem["alibi"], H)[:, None, None] * np.abs(place_q - place_k)
    allowed = place_k < lengths
    if problem.get("mask") is not None:
        mask = np.array(problem["mask"])
        scores = scores if mask.dtype == bool else scores + mask
        allowed = allowed & mask if mask.dtype == bool else allowed
    if problem.get("causal"):
        allowed = allowed & (place_k <= place_q)
    if problem.get("window") is not None:
        left, right = problem["window"]
        allowed = (
            allowed
            & (left is None or place_k >= place_q - left)
            & (right is None or place_k <= place_q + right)
        )
    scores = np.where(allowed, scores, -np.inf)

    top = scores.max(-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    if problem.get("sink") is not None:
        total = total + np.exp(np.broadcast_to(problem["sink"], (H,))[:, None, None] - top)
    weights = weights / np.where(total == 0, 1, total)
    output = weights @ v
    if heads is not None or "w_output" in problem:
        output = output.swapaxes(-2, -3).reshape(*output.shape[:-3], Tq, -1)
    elif alone or "x" in problem:
        output = output[..., 0, :, :]
    if "w_output" in problem:
        output = output @ np.array(problem["w_output"]) + np.array(problem.get("b_output", 0.0))
    return {
        "output": output,
        "weights": weights[..., 0, :, :] if heads is None and (alone or "x" in problem) else weights,
    }


def _projected(problem: Inputs) -> list[Array]:
    if "x" not in problem:
        return [np.array(problem[name]) for name in ("query", "key", "value")]
    x, x_key = np.array(problem["x"]), np.array(problem.get("x_key", problem["x"]))
    return [
        source @ np.array(problem[f"w_{name}"]) + np.array(problem.get(f"b_{name}", 0.0))
        for source, name in ((x, "query"), (x_key, "key"), (x_key, "value"))
    ]


def _turned(x: Array, place: Array, rope: dict[str, Any]) -> Array:
    dim: Any = rope.get("dim", x.shape[-1])
    first = np.arange(0, dim, 2) if rope["pairing"] == "interleaved" else np.arange(dim // 2)
    second = first + (1 if rope["pairing"] == "interleaved" else dim // 2)
    angle = place / rope["base"] ** (np.arange(dim // 2) * 2 / dim)
    z = (x[..., first] + 1j * x[..., second]) * np.exp(1j * angle)
    y = np.broadcast_to(x, (*z.shape[:-1], x.shape[-1])).copy()
    y[..., first], y[..., second] = z.real, z.imag
    return y


def _slopes(asked: Any, H: int) -> Array:
    if asked is not True:
        return np.broadcast_to(np.array(asked, dtype=float), (H,))

    def power_of_two(n: int) -> list[float]:
        return [2 ** (-8 * h / n) for h in range(1, n + 1)]

    below = 2 ** math.floor(math.log2(H))
    return np.array(power_of_two(below) + power_of_two(2 * below)[0::2][: H - below])


# --- everything, in loops -------------------------------------------------------------------------


def loops(problem: Inputs) -> Answer:
    """Number by number, in Python floats, summed with math.fsum."""
    q, k, v = _heads_of(problem)
    B, H, Tq, Tk = len(q), len(q[0]), len(q[0][0]), len(k[0][0])
    group = H // len(k[0])
    out: Any = [[[[] for _ in range(Tq)] for _ in range(H)] for _ in range(B)]
    maps: Any = [[[[] for _ in range(Tq)] for _ in range(H)] for _ in range(B)]
    for b in range(B):
        valid = problem["lengths"][b] if problem.get("lengths") else Tk
        for h in range(H):
            for i in range(Tq):
                p = _place(problem, b, i, valid, Tq)
                row = [_logit(problem, q[b][h], k[b][h // group], (b, h, i, j), p, valid) for j in range(Tk)]
                extra = None if problem.get("sink") is None else _of_head(problem["sink"], h)
                weights = _softmax(row, extra)
                maps[b][h][i] = weights
                width = len(v[0][0][0])
                out[b][h][i] = [
                    math.fsum(weights[j] * v[b][h // group][j][c] for j in range(Tk)) for c in range(width)
                ]
    return _as_given(problem, out, maps)


def _heads_of(problem: Inputs) -> tuple[Any, Any, Any]:
    """Nested lists [batch][head][row][feature] of query, key and value."""
    made = []
    for name in ("query", "key", "value"):
        if "x" in problem:
            source = np.array(problem["x"] if name == "query" else problem.get("x_key", problem["x"]))
            matrix = np.array(problem[f"w_{name}"])
            bias = problem.get(f"b_{name}", [0.0] * matrix.shape[1])
            rows = source if source.ndim == 3 else source[None]
            data: Any = [
                [
                    [
                        math.fsum([*(r[e] * matrix[e, c] for e in range(len(r))), bias[c]])
                        for c in range(matrix.shape[1])
                    ]
                    for r in one
                ]
                for one in rows
            ]
        else:
            data = np.array(problem[name])
            data = data if "heads" in problem or data.ndim != 3 else data[None]
            if data.ndim == 4:
                made.append(data.tolist())
                continue
            data = (data if data.ndim == 3 else data[None]).tolist()
        heads: Any = problem.get("heads", 1)
        count = heads if name == "query" else problem.get("kv_heads", heads)
        width = len(data[0][0]) // count
        made.append(
            [[[row[h * width : (h + 1) * width] for row in one] for h in range(count)] for one in data]
        )
    return made[0], made[1], made[2]


def _place(problem: Inputs, b: int, i: int, valid: int, Tq: int) -> int:
    if problem.get("causal") == "upper_left":
        return i
    offset = problem.get("offset")
    if offset is None:
        return i + valid - Tq
    return i + (offset if isinstance(offset, int) else int(offset[b]))


def _of_head(value: Any, h: int) -> float:
    return float(value[h]) if isinstance(value, list) else float(value)


def _logit(
    problem: Inputs, q: Any, k: Any, at: tuple[int, int, int, int], p: int, valid: int
) -> float | None:
    """The masked score, or None where key j may not be seen."""
    b, h, i, j = at
    left, right = problem["window"] if problem.get("window") is not None else (None, None)
    seen = j < valid and not (problem.get("causal") and j > p)
    seen = seen and (left is None or j >= p - left) and (right is None or j <= p + right)
    mask = None
    if problem.get("mask") is not None:
        whole = np.array(problem["mask"])
        index = [b, h, i, j][4 - whole.ndim :]
        mask = whole[tuple(n if size > 1 else 0 for n, size in zip(index, whole.shape, strict=True))].item()
    if not seen or mask is False:
        return None
    a, c = q[i], k[j]
    if problem.get("rope"):
        a, c = _turn_row(a, p, problem["rope"]), _turn_row(c, j, problem["rope"])
    s = math.fsum(x * y for x, y in zip(a, c, strict=True))
    s = s * problem["scale"] if problem.get("scale") is not None else s / math.sqrt(len(a))
    if problem.get("softcap") is not None:
        s = problem["softcap"] * math.tanh(s / problem["softcap"])
    if problem.get("alibi") not in (None, False):
        slope = (
            _published_slope(h, np.array(problem["query"]).shape[-3])
            if problem["alibi"] is True
            else _of_head(problem["alibi"], h)
        )
        s -= slope * abs(p - j)
    return s if mask is None or mask is True else s + mask


def _published_slope(h: int, H: int) -> float:
    power = 1
    while power * 2 <= H:
        power *= 2
    return float(2.0 ** (-8 * (h + 1) / power) if h < power else 2.0 ** (-4 * (2 * (h - power) + 1) / power))


def _turn_row(x: Any, p: int, rope: dict[str, Any]) -> list[float]:
    y, dim = list(x), rope.get("dim", len(x))
    for pair in range(dim // 2):
        a, b = (2 * pair, 2 * pair + 1) if rope["pairing"] == "interleaved" else (pair, pair + dim // 2)
        angle = p * rope["base"] ** (-2 * pair / dim)
        y[a] = x[a] * math.cos(angle) - x[b] * math.sin(angle)
        y[b] = x[a] * math.sin(angle) + x[b] * math.cos(angle)
    return y


def _softmax(row: list[float | None], extra: float | None) -> list[float]:
    present = [s for s in [*row, extra] if s is not None]
    if not present:
        return [0.0] * len(row)
    top = max(present)
    total = math.fsum(math.exp(s - top) for s in present)
    return [0.0 if s is None else math.exp(s - top) / total for s in row]


def _as_given(problem: Inputs, out: Any, maps: Any) -> Answer:
    """Back into the shape in which the problem came."""
    output, weights = np.array(out), np.array(maps)
    if "heads" in problem or "w_output" in problem:
        output = np.concatenate([output[:, h] for h in range(output.shape[1])], axis=-1)
    if "w_output" in problem:
        output = np.einsum("btc,ce->bte", output, np.array(problem["w_output"])) + np.array(
            problem.get("b_output", 0.0)
        )
    main = np.array(problem["x"] if "x" in problem else problem["query"])
    if "heads" in problem:
        return (
            {"output": output, "weights": weights}
            if main.ndim == 3
            else {"output": output[0], "weights": weights[0]}
        )
    if "x" in problem or main.ndim == 2:
        if "w_output" not in problem:
            output = output[:, 0]
        return (
            {"output": output, "weights": weights[:, 0]}
            if main.ndim == 3
            else {"output": output[0], "weights": weights[0, 0]}
        )
    return (
        {"output": output, "weights": weights}
        if main.ndim == 4
        else {"output": output[0], "weights": weights[0]}
    )


# --- one idea each --------------------------------------------------------------------------------


def _arrays(problem: Inputs) -> tuple[Array, Array, Array]:
    return np.array(problem["query"]), np.array(problem["key"]), np.array(problem["value"])


def _keep(problem: Inputs, Tq: int, Tk: int) -> Any:
    keep = np.ones((Tq, Tk), dtype=bool)
    if problem.get("causal"):
        keep &= np.tri(Tq, Tk, 0 if problem["causal"] == "upper_left" else Tk - Tq, dtype=bool)
    return keep & np.array(problem.get("mask", True))


def einsum(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = np.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    s = s + np.where(_keep(problem, q.shape[-2], k.shape[-2]), 0.0, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    w = e / np.einsum("...ij->...i", e)[..., None]
    return {"output": np.einsum("...ij,...jd->...id", w, v), "weights": w}


def online_in_blocks(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    keep = _keep(problem, q.shape[-2], k.shape[-2])
    m, row_sum, acc = np.full((*q.shape[:-1], 1), -1e300), 0.0, 0.0
    for at in range(0, k.shape[-2], 2):
        cut = slice(at, at + 2)
        s = q @ k[..., cut, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        new = np.maximum(m, np.where(keep[..., cut], s, -1e300).max(-1, keepdims=True))
        p = np.where(keep[..., cut], np.exp(np.minimum(s - new, 0)), 0)
        alpha = np.exp(m - new)
        m, row_sum, acc = new, row_sum * alpha + p.sum(-1, keepdims=True), acc * alpha + p @ v[..., cut, :]
    return {"output": np.asarray(acc / row_sum)}


def online_with_each_blocks_own_maximum(problem: Inputs) -> Answer:
    """The reference need not be the largest so far (tile-ai/tilelang#1148): any will do without overflow."""
    q, k, v = _arrays(problem)
    m: Any = None
    row_sum: Any = None
    acc: Any = None
    for at in range(0, k.shape[-2], 2):
        s = q @ k[..., at : at + 2, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        new = s.max(-1, keepdims=True)
        p = np.exp(s - new)
        alpha = 0.0 if m is None else np.exp(m - new)
        row_sum = p.sum(-1, keepdims=True) + (0.0 if row_sum is None else row_sum * alpha)
        acc = p @ v[..., at : at + 2, :] + (0.0 if acc is None else acc * alpha)
        m = new
    return {"output": np.asarray(acc / row_sum)}


def fourth_root_on_both_sides(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    root = q.shape[-1] ** -0.25
    s = (q * root) @ (k * root).swapaxes(-1, -2)
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def scale_folded_into_the_query(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = np.where(
        _keep(problem, q.shape[-2], k.shape[-2]), (q / math.sqrt(q.shape[-1])) @ k.swapaxes(-1, -2), -1e30
    )
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def masked_after_the_softmax_and_renormalised(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    w = w * _keep(problem, q.shape[-2], k.shape[-2])
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def exponentials_times_mask(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    e = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) * _keep(problem, q.shape[-2], k.shape[-2])
    return {"output": e @ v / e.sum(-1, keepdims=True), "weights": e / e.sum(-1, keepdims=True)}


def keys_centred(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    smooth = k - k.mean(-2, keepdims=True)
    s = np.where(
        _keep(problem, q.shape[-2], k.shape[-2]),
        q @ smooth.swapaxes(-1, -2) / math.sqrt(q.shape[-1]),
        -np.inf,
    )
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def values_centred(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    mean = v.mean(-2, keepdims=True)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ (v - mean) + mean, "weights": w}


def constant_for_the_maximum(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    e = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) - 10.0)
    return {"output": e @ v / e.sum(-1, keepdims=True), "weights": e / e.sum(-1, keepdims=True)}


def maximum_of_the_whole_matrix(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = np.where(
        _keep(problem, q.shape[-2], k.shape[-2]), q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf
    )
    e = np.exp(s - s.max())
    return {"output": e @ v / e.sum(-1, keepdims=True), "weights": e / e.sum(-1, keepdims=True)}


def in_logarithms(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = np.where(
        _keep(problem, q.shape[-2], k.shape[-2]), q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf
    )
    w = np.exp(s - np.logaddexp.reduce(s, axis=-1, keepdims=True))
    return {"output": w @ v, "weights": w}


def column_major(problem: Inputs) -> Answer:
    """K Qᵀ and a softmax down the columns, as a column-major library sees it."""
    q, k, v = _arrays(problem)
    st = k @ q.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    wt = np.exp(st - st.max(-2, keepdims=True))
    wt /= wt.sum(-2, keepdims=True)
    return {"output": (v.swapaxes(-1, -2) @ wt).swapaxes(-1, -2), "weights": wt.swapaxes(-1, -2)}


def powers_of_two_with_the_factor(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 * math.log2(math.e))
    w = np.exp2(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return {"output": w @ v, "weights": w}


def split_and_merged_in_base_two(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    outs, lses, at = [], [], 0
    for n in problem["chunks"]:
        s = q @ k[..., at : at + n, :].swapaxes(-1, -2) * (q.shape[-1] ** -0.5 / math.log(2))
        lses.append(np.logaddexp2.reduce(s, axis=-1, keepdims=True))
        outs.append(np.exp2(s - lses[-1]) @ v[..., at : at + n, :])
        at += n
    whole = np.logaddexp2.reduce(lses, axis=0)
    return {"output": np.asarray(sum(np.exp2(lse - whole) * o for lse, o in zip(lses, outs, strict=True)))}


def heads_through_their_own_rows_of_the_output_matrix(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    H = problem["heads"]
    w_o = np.array(problem["w_output"]).reshape(H, v.shape[1] // H, -1)
    total, maps = 0.0, []
    for h, (a, b, c) in enumerate(zip(np.split(q, H, 1), np.split(k, H, 1), np.split(v, H, 1), strict=True)):
        e = np.exp(a @ b.T / math.sqrt(a.shape[1]))
        maps.append(e / e.sum(1, keepdims=True))
        total = total + maps[-1] @ c @ w_o[h]
    return {"output": np.asarray(total), "weights": np.stack(maps)}


def query_and_key_matrices_multiplied_first(problem: Inputs) -> Answer:
    x = np.array(problem["x"])
    y = np.array(problem.get("x_key", problem["x"]))
    w_q, w_k, w_v = (np.array(problem[name]) for name in ("w_query", "w_key", "w_value"))
    s = x @ (w_q @ w_k.T) @ y.T / math.sqrt(w_q.shape[1])
    w = np.exp(s - s.max(1, keepdims=True))
    w /= w.sum(1, keepdims=True)
    return {"output": w @ y @ w_v, "weights": w}


def without_the_keys_bias(problem: Inputs) -> Answer:
    """q·b_K is the same for every key, so a softmax does not see the key's bias."""
    x = np.array(problem["x"])
    q = x @ np.array(problem["w_query"]) + np.array(problem["b_query"])
    v = x @ np.array(problem["w_value"]) + np.array(problem["b_value"])
    s = q @ (x @ np.array(problem["w_key"])).T / math.sqrt(q.shape[1])
    w = np.exp(s - s.max(1, keepdims=True))
    w /= w.sum(1, keepdims=True)
    return {"output": w @ v, "weights": w}


def queries_grouped_keys_not_repeated(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    grouped = q.reshape(len(k), -1, *q.shape[1:])
    s = np.einsum("ghid,gjd->ghij", grouped, k) / math.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    out = np.einsum("ghij,gje->ghie", w, v)
    return {"output": out.reshape(len(q), *out.shape[2:]), "weights": w.reshape(len(q), *w.shape[2:])}


def positions_seven_further_on(problem: Inputs) -> Answer:
    """Only differences of positions reach the scores."""
    q, k, v = _arrays(problem)
    d, base = q.shape[1], problem["rope"]["base"]
    w = base ** (-np.arange(0, d, 2) / d)
    turned = []
    for x, first in ((q, len(k) - len(q)), (k, 0)):
        angle = (7 + first + np.arange(len(x)))[:, None] * w
        pairs = (
            x.reshape(len(x), -1, 2)
            if problem["rope"]["pairing"] == "interleaved"
            else np.stack(np.split(x, 2, 1), -1)
        )
        a, b = pairs[..., 0], pairs[..., 1]
        # the halves are joined in another order than they came: the same order on both sides is as good
        turned.append(
            np.hstack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)])
        )
    s = turned[0] @ turned[1].T / math.sqrt(d)
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return {"output": p @ v, "weights": p}


def alibi_counted_from_the_first_key(problem: Inputs) -> Answer:
    """Under a causal mask −m·(p − j) and m·j differ by a number that is the same along a row."""
    q, k, v = _arrays(problem)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + problem["alibi"] * np.arange(k.shape[-2])
    s = np.where(_keep(problem, q.shape[-2], k.shape[-2]), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return {"output": p @ v, "weights": p}


def sink_as_one_more_key(problem: Inputs) -> Answer:
    q, k, v = _arrays(problem)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    column = np.broadcast_to(
        np.asarray(problem["sink"], dtype=float).reshape(-1, 1, 1) if s.ndim > 2 else problem["sink"],
        (*s.shape[:-1], 1),
    )
    p = np.exp(np.concatenate([s, column], -1))
    p = (p / p.sum(-1, keepdims=True))[..., :-1]
    return {"output": p @ v, "weights": p}


def _right(run: Callable[[Inputs], Answer], why: str, *can: str) -> Right:
    return Right(run.__name__.replace("_", "-"), why, frozenset(can), run)


EVERYTHING = (
    "mask",
    "float mask",
    "empty rows",
    "causal",
    "cache",
    "offset",
    "window",
    "lengths",
    "scale",
    "softcap",
    "alibi",
    "rope",
    "partial rope",
    "sink",
    "heads",
    "kv_heads",
    "chunks",
    "dtype",
    "stacked",
    "gqa",
    "x",
    "x_key",
    "w_query",
    "w_key",
    "w_value",
    "w_output",
    "b_query",
    "b_key",
    "b_value",
    "b_output",
)

RIGHT = (
    _right(textbook, "the formula", *EVERYTHING),
    _right(loops, "the formula, entry by entry", *EVERYTHING),
    _right(einsum, "the formula in index notation", "stacked", "mask", "causal", "cache", "chunks"),
    _right(
        online_in_blocks,
        "what was summed is brought to the new maximum",
        "stacked",
        "mask",
        "causal",
        "chunks",
    ),
    _right(online_with_each_blocks_own_maximum, "any reference cancels", "stacked", "chunks"),
    _right(fourth_root_on_both_sides, "d^(−1/4)·d^(−1/4) = d^(−1/2)", "stacked", "chunks"),
    _right(scale_folded_into_the_query, "(Q/√d) Kᵀ = (Q Kᵀ)/√d", "stacked", "mask", "causal", "chunks"),
    _right(
        masked_after_the_softmax_and_renormalised,
        "the divisor cancels",
        "stacked",
        "mask",
        "causal",
        "chunks",
    ),
    _right(exponentials_times_mask, "e^(−∞) = 0 = e^s·0", "stacked", "mask", "causal", "cache", "chunks"),
    _right(keys_centred, "q·mean(K) is the same along a row", "stacked", "mask", "causal", "chunks"),
    _right(values_centred, "the weights of a row sum to 1", "stacked", "chunks"),
    _right(constant_for_the_maximum, "any shift cancels", "stacked", "chunks"),
    _right(maximum_of_the_whole_matrix, "any shift of a row cancels", "stacked", "mask", "causal", "chunks"),
    _right(in_logarithms, "e^(s − lse)", "stacked", "mask", "causal", "cache", "chunks"),
    _right(column_major, "everything transposed", "stacked", "chunks"),
    _right(powers_of_two_with_the_factor, "e^s = 2^(s·log₂e)", "stacked", "chunks"),
    _right(split_and_merged_in_base_two, "base 2 on both sides", "stacked", "must:chunks"),
    _right(
        heads_through_their_own_rows_of_the_output_matrix,
        "[z₁ … z_H] W_O = Σ z_h W_O,h",
        "must:heads",
        "must:w_output",
    ),
    _right(
        query_and_key_matrices_multiplied_first,
        "(x W_Q)(y W_K)ᵀ = x (W_Q W_Kᵀ) yᵀ",
        "must:x",
        "x_key",
        "w_query",
        "w_key",
        "w_value",
    ),
    _right(
        without_the_keys_bias,
        "q·b_K is the same along a row",
        "must:x",
        "w_query",
        "w_key",
        "w_value",
        "must:b_query",
        "b_key",
        "b_value",
    ),
    _right(
        queries_grouped_keys_not_repeated, "groups of query heads share a key head", "stacked", "must:gqa"
    ),
    _right(positions_seven_further_on, "only p_i − j reaches the scores", "must:rope"),
    _right(
        alibi_counted_from_the_first_key,
        "m·p_i is the same along a row",
        "must:alibi",
        "must:causal",
        "cache",
    ),
    _right(sink_as_one_more_key, "a key with value 0", "stacked", "must:sink"),
)
