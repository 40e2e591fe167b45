"""Random problems for the laws: every option of a Problem, small sizes, numbers with two decimals."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

POSITIONAL = ("causal", "offset", "window", "alibi", "rope", "lengths", "chunks")
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def records(draw: st.DrawFn, without: tuple[str, ...] = (), batch_axes: int | None = None) -> dict[str, Any]:
    """The fields of a problem with query, key and value: matrices, heads, or heads with batch axes."""
    rng = np.random.default_rng(draw(SEEDS))
    axes = draw(st.integers(-1, 2)) if batch_axes is None else batch_axes  # −1: no head axis either
    batch = tuple(draw(st.integers(1, 2)) for _ in range(axes))
    Hkv = 1 if axes < 0 else draw(st.integers(1, 2))
    H = Hkv * (1 if axes < 0 else draw(st.integers(1, 3)))
    Tq, Tk, half, Dv = (draw(st.integers(1, 4)) for _ in range(4))
    D = 2 * half  # RoPE turns pairs
    heads = {"query": (H, Tq, D), "key": (Hkv, Tk, D), "value": (Hkv, Tk, Dv)}
    record: dict[str, Any] = {
        name: numbers(rng, shape[1:] if axes < 0 else (*batch, *shape)) for name, shape in heads.items()
    }
    scores = (Tq, Tk) if axes < 0 else (*batch, H, Tq, Tk)
    options = {
        "scale": st.floats(-1, 2).map(lambda x: round(x, 2)),
        "softcap": st.sampled_from([0.5, 3.0, 50.0]),
        "alibi": st.sampled_from([True, 0.25, numbers(rng, (H,))]),
        "rope": st.just(True) | st.fixed_dictionaries(
            {"base": st.sampled_from([10.0, 5e5]), "pairing": st.sampled_from(["half", "interleaved"]),
             "dim": st.integers(1, half).map(lambda pairs: 2 * pairs)}
        ),
        "mask": st.sampled_from([[bool_mask(rng, scores)], [float_mask(rng, scores)],
                                 [bool_mask(rng, scores), float_mask(rng, scores)]]),
        "causal": st.sampled_from([True, True, "upper_left", "lower_right"]),
        "offset": st.integers(-2, 3) if not batch else st.sampled_from([0, 2, rng.integers(-2, 4, batch)]),
        "window": st.tuples(*[st.none() | st.integers(0, 2)] * 2),
        "lengths": st.integers(0, Tk) if not batch else st.just(rng.integers(0, Tk + 1, batch)),
        "sink": st.sampled_from([0.0, numbers(rng, (H,))]),
        "chunks": st.integers(1, Tk).map(lambda cut: [part for part in (cut, Tk - cut) if part]),
    }  # fmt: skip
    for name, strategy in options.items():
        if name not in without and draw(st.integers(0, 2)) == 0:
            record[name] = draw(strategy)
    if isinstance(record.get("causal"), str):
        record.pop("offset", None)
    return record


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(-2, 2, shape).round(2)


def bool_mask(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcasts to `shape`: some axes are 1."""
    return rng.random([size if rng.random() < 0.7 else 1 for size in shape]) < 0.7


def float_mask(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    kept = bool_mask(rng, shape)
    return np.where(kept, numbers(rng, kept.shape), -np.inf)
