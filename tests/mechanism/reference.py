"""Attention for one head as plain loops over decimals of 40 digits.

It is written from the papers and shares nothing with the code that it checks.

A masked score is None, so that no infinity is ever computed with.
Sources: Vaswani et al. 2017, equation 1; Su et al. 2021, equation 34 (RoPE); Press et al. 2022, section 3
(ALiBi); Gemma 2 report 2024, section 2 (softcap); Xiao et al. 2023 (sinks; softmax plus one).
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

Row = list[Decimal]


def exact(values: Any) -> Any:
    """Floats, also in nested lists, as the decimals that they are."""
    return [exact(value) for value in values] if isinstance(values, Sequence) else Decimal(values)


def attention(*arrays: list[Row], **options: Any) -> dict[str, list[Any]]:
    """`one_head` with 40 digits."""
    with localcontext(prec=40):
        return one_head(*arrays, **options)


def one_head(
    query: list[Row],
    key: list[Row],
    value: list[Row],
    *,
    scale: Decimal | None = None,
    softcap: Decimal | None = None,
    slope: Decimal = Decimal(0),
    added: list[Row] | None = None,
    kept: list[list[bool]] | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: tuple[int | None, int | None] = (None, None),
    length: int | None = None,
    sink: Decimal | None = None,
    rope: dict[str, Any] | None = None,
) -> dict[str, list[Any]]:
    """scores, scaled, masked (None where masked), weights, logsumexp (None for −inf), output: row by row."""
    valid = len(key) if length is None else length
    first = valid - len(query) if offset is None else offset
    if rope is not None:
        query = [turned(row, first + i, **rope) for i, row in enumerate(query)]
        key = [turned(row, j, **rope) for j, row in enumerate(key)]
    work: dict[str, list[Any]] = {
        name: [] for name in ("scores", "scaled", "masked", "weights", "logsumexp", "output")
    }
    for i, q in enumerate(query):
        position = first + i
        scores = [dot(q, k) for k in key]
        scaled = [s / Decimal(len(q)).sqrt() if scale is None else s * scale for s in scores]
        masked: list[Decimal | None] = []
        for j, s in enumerate(scaled):
            if softcap is not None:
                s = softcap * tanh(s / softcap)
            s -= slope * abs(position - j)
            hidden = (
                (kept is not None and not kept[i][j])
                or (added is not None and added[i][j].is_infinite())
                or (causal and j > position)
                or (window[0] is not None and j < position - window[0])
                or (window[1] is not None and j > position + window[1])
                or j >= valid
            )
            if not hidden and added is not None:
                s += added[i][j]
            masked.append(None if hidden else s)
        total = sum((s.exp() for s in masked if s is not None), Decimal(0)) + (
            sink.exp() if sink is not None else 0
        )
        weights = [Decimal(0) if s is None else s.exp() / total for s in masked]
        output = [
            sum((w * v[c] for w, v in zip(weights, value, strict=True)), Decimal(0))
            for c in range(len(value[0]))
        ]
        lse = total.ln() if total else None
        for name, row in zip(work, (scores, scaled, masked, weights, lse, output), strict=True):
            work[name].append(row)
    return work


def dot(a: Row, b: Row) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True)), Decimal(0))


def tanh(x: Decimal) -> Decimal:
    up, down = x.exp(), (-x).exp()
    return (up - down) / (up + down)


def turned(row: Row, position: int, *, base: Decimal, pairing: str, dim: int) -> Row:
    """Pair number t turned by position · base^(−2t/dim), as a rotation matrix times a column."""
    out = list(row)
    for t in range(dim // 2):
        a, b = (2 * t, 2 * t + 1) if pairing == "interleaved" else (t, t + dim // 2)
        angle = position / (base.ln() * 2 * t / dim).exp()
        cos, sin = series(angle, 0), series(angle, 1)
        out[a], out[b] = cos * row[a] - sin * row[b], sin * row[a] + cos * row[b]
    return out


def series(angle: Decimal, start: int) -> Decimal:
    """The power series of cos (start 0) or sin (start 1), for angles up to a few turns."""
    term = total = angle if start else Decimal(1)
    for n in range(start + 1, 200, 2):
        term = -term * angle * angle / (n * (n + 1))
        total += term
    return total
