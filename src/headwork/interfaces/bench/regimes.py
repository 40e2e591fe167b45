"""What is measured: sizes and options in which attention is used, and how the numbers are drawn."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array

SEED = 7
CHECKED_ROWS = 16  # of each head are computed again in float64


@dataclass(frozen=True)
class Regime:
    """One kind of call.

    Fields
    id, says  its name, and what it is in words
    B H Hkv Tq Tk D Dv  sizes (Hkv, Tk and Dv of 0: as H, Tq and D)
    causal    queries end at the last key and see none after their own; window: keys to the left, or None
    mask      "", "bool" or "float", of shape (Tq, Tk)
    backward  gradients too, with all that the forward pass keeps for them
    dtype     of every array; threads: that each implementation may use
    goal      ratio to the fastest other implementation that the project sets itself; 0: none
    is_short  whether `headwork bench` measures it
    """

    id: str
    says: str
    B: int = 1
    H: int = 8
    Hkv: int = 0
    Tq: int = 1024
    Tk: int = 0
    D: int = 64
    Dv: int = 0
    causal: bool = False
    window: int | None = None
    mask: str = ""
    backward: bool = False
    dtype: str = "float32"
    threads: int = 2
    goal: float = 0.0
    is_short: bool = False

    @property
    def key_heads(self) -> int:
        """Hkv."""
        return self.Hkv or self.H

    @property
    def keys(self) -> int:
        """Tk."""
        return self.Tk or self.Tq

    @property
    def value_width(self) -> int:
        """Dv."""
        return self.Dv or self.D

    @property
    def multiplications(self) -> float:
        """Floating-point operations of both products, over the scores that may be seen."""
        hidden = self.Tq * (self.Tq - 1) / 2 if self.causal else 0.0
        seen = (
            self.Tq * min(self.keys, self.window + 1)
            if self.window is not None
            else self.Tq * self.keys - hidden
        )
        once = 2.0 * self.B * self.H * seen * (self.D + self.value_width)
        return 3.5 * once if self.backward else once  # five products more, one of which repeats the first

    @property
    def bytes_read(self) -> float:
        """Keys and values, which one query has to read all of."""
        width = np.dtype(self.dtype).itemsize
        return float(self.B * self.key_heads * self.keys * (self.D + self.value_width) * width)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def drawn(regime: Regime) -> dict[str, Array]:
    """query, key, value, cotangent and mask of a regime, the same every time."""
    rng = np.random.default_rng(SEED)
    r = regime
    shapes = {
        "query": (r.B, r.H, r.Tq, r.D),
        "key": (r.B, r.key_heads, r.keys, r.D),
        "value": (r.B, r.key_heads, r.keys, r.value_width),
        "cotangent": (r.B, r.H, r.Tq, r.value_width),
    }
    arrays = {name: rng.standard_normal(shape).astype(r.dtype) for name, shape in shapes.items()}
    if r.mask == "bool":
        arrays["mask"] = rng.random((r.Tq, r.keys)) < 0.7
        arrays["mask"][:, 0] = True
    elif r.mask == "float":
        arrays["mask"] = rng.standard_normal((r.Tq, r.keys)).astype(r.dtype)
    return arrays


def visible(regime: Regime, rows: Array) -> Array | None:
    """Which keys these rows of queries may see, from the causal rule and the window; None where all."""
    position = rows[:, None] + regime.keys - regime.Tq
    key = np.arange(regime.keys)
    if regime.causal and regime.window is not None:
        return (key <= position) & (key >= position - regime.window)
    return key <= position if regime.causal else None


def largest_error(regime: Regime, arrays: dict[str, Array], output: Array) -> float:
    """The largest error of an output against float64, on a sample of rows of every head."""
    rows = np.unique(np.linspace(0, regime.Tq - 1, CHECKED_ROWS).astype(int))
    query = arrays["query"][:, :, rows].astype(float)
    groups = regime.H // regime.key_heads
    key, value = (np.repeat(arrays[name].astype(float), groups, axis=1) for name in ("key", "value"))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(regime.D)
    if regime.mask == "float":
        scores = scores + arrays["mask"][rows]
    may_see = arrays["mask"][rows] if regime.mask == "bool" else visible(regime, rows)
    if may_see is not None:
        scores = np.where(may_see, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    right = weights / weights.sum(axis=-1, keepdims=True) @ value
    return float(np.abs(output[:, :, rows] - right).max())


_TWO_THREADS = [
    Regime("dense-512", "dense, 512 tokens", Tq=512, goal=1.05, is_short=True),
    Regime("dense-512-wide", "dense, 512 tokens, width 128", Tq=512, D=128, goal=1.05),
    Regime("dense-1024", "dense, 1024 tokens", goal=1.05),
    Regime("dense-1024-wide", "dense, 1024 tokens, width 128", D=128, goal=1.05),
    Regime("dense-2048", "dense, 2048 tokens", Tq=2048, goal=1.05),
    Regime("dense-2048-wide", "dense, 2048 tokens, width 128", Tq=2048, D=128, goal=1.05),
    Regime("causal-1024", "causal, 1024 tokens", causal=True, goal=1.4, is_short=True),
    Regime("causal-2048", "causal, 2048 tokens", Tq=2048, causal=True, goal=1.4),
    Regime("causal-4096", "causal, 4096 tokens", Tq=4096, causal=True, goal=1.4),
    Regime("causal-offset", "causal, 1024 queries behind 1024 more keys", Tk=2048, causal=True, goal=1.4),
    Regime("causal-grouped", "causal, 2048 tokens, 8 heads over 2", Hkv=2, Tq=2048, causal=True, goal=1.4),
    Regime("window", "causal, window 256, 4096 tokens", Tq=4096, causal=True, window=256, goal=10),
    Regime("decode", "one query, 8192 keys, 32 heads", H=32, Tq=1, Tk=8192, D=128, goal=1.5),
    Regime(
        "decode-grouped", "the same over 8 heads", H=32, Hkv=8, Tq=1, Tk=8192, D=128, goal=3, is_short=True
    ),
    Regime("float-mask", "float mask, 2048 tokens", Tq=2048, mask="float", goal=1.05),
    Regime("bool-mask", "boolean mask, 2048 tokens", Tq=2048, mask="bool", goal=1.25),
    Regime("small-heads", "32 × 8 heads, 64 tokens, width 32", B=32, Tq=64, D=32, goal=1.15, is_short=True),
    Regime("odd", "1000 tokens, width 80", Tq=1000, D=80, goal=1.15),
    Regime("other-width", "1024 tokens, values of width 128", Dv=128, goal=2),
    Regime("backward", "forward and backward, 1024 tokens", backward=True, goal=1.3),
    Regime("backward-causal", "forward and backward, causal", backward=True, causal=True, goal=1.7),
    Regime("tiny", "3 tokens of width 4, one call", H=1, Tq=3, D=4, goal=2, is_short=True),
    Regime("float64", "float64, dense, 1024 tokens", dtype="float64", goal=1.0),
    Regime("float64-causal", "float64, causal, 1024 tokens", dtype="float64", causal=True, goal=1.0),
]
LONGEST = Regime("long-causal", "causal, 16384 tokens, one head", H=1, Tq=16384, causal=True, goal=1.4)


def on_one_thread(regime: Regime) -> Regime:
    """The same on one thread, where nothing should be slower than the others."""
    says = f"{regime.says}; one thread"
    return replace(regime, id=f"{regime.id}-one", says=says, threads=1, goal=1.0, is_short=False)


REGIMES = (*_TWO_THREADS, LONGEST, *map(on_one_thread, (*_TWO_THREADS, LONGEST)))
