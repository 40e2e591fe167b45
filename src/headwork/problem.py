"""The Problem record: what is to be computed, and the only place where shapes and options are checked.

Everything below trusts a Problem. It holds canonical arrays: per-head arrays have an H axis even
when the user's had none (`single`), packed arrays (`heads` given) stay (…, T, H·D) until the
pipeline splits them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, cast

import numpy as np

from .arrays import DTYPES, Array, as_array, as_floats, finite, plain, shown, whole, whole_array
from .errors import MaskError, NumberError, OptionError, ShapeError, TooLargeError, hint_at

GIVEN = ("scores", "scaled", "masked", "weights")  # the steps that a problem may start from, in order
PROJECTIONS = ("w_query", "w_key", "w_value", "w_output", "b_query", "b_key", "b_value", "b_output")
INPUT_PROJECTIONS = ("w_query", "w_key", "w_value", "b_query", "b_key", "b_value")
ARRAYS = ("query", "key", "value", "x", "x_key", *PROJECTIONS)
EMPTY = {
    "D": "query and key have rows without entries, so there is no dot product. d_k must be at least 1.",
    "Tk": "there is no key to attend to. Give at least one row of key and value.",
    "Dv": "value has rows without entries, so there is nothing to blend. d_v must be at least 1.",
    "H": "there is no query head. Give at least one.",
    "Hkv": "there is no key/value head. Give at least one.",
}
PAIRINGS = ("half", "interleaved")
ALIGNMENTS = ("upper_left", "lower_right")
ROPE_BASE = 10000.0  # Su et al. 2021, section 3.2.2
SWITCHES = ("causal", "window", "rope", "alibi", "dtype")  # read as Python's own values, not as arrays
# options that act before or at a step: a start later than that would ignore them
BEFORE = {
    "scores": ("rope", "x", "x_key", "query", "key"),
    "scaled": ("scale",),
    "masked": ("softcap", "alibi", "mask", "causal", "offset", "window", "lengths"),
    "weights": ("sink", "chunks"),
}


@dataclass(frozen=True)
class Rope:
    """Rotary positions: the first `dim` features of query and key are turned by position.

    base     pair i of a row at position p turns by p · base^(−2i/dim) radians
    pairing  "half": (i, i + dim/2) belong together; "interleaved": (2i, 2i + 1)
    dim      even, at most D
    """

    base: float
    pairing: str
    dim: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """One attention problem, checked when it is made.

    Fields (shapes; … are batch axes, any number of them)

    query key value  (…, H, Tq, D), (…, Hkv, Tk, D), (…, Hkv, Tk, Dv), or (T, D); with `heads`
                     packed: (…, T, H·D). `value` may be left out where the work ends at the weights.
    x x_key          (…, T, E) embeddings to project instead; `x_key` for cross-attention
    w_query w_key    (E, H·D), (E, Hkv·D); w_value (E, Hkv·Dv); w_output (H·Dv, Eout), also with
                     query, key and value; b_query b_key b_value b_output: biases as wide
    given            {"scores" | "scaled" | "masked" | "weights": (…, H, Tq, Tk) or (Tq, Tk)}
    head_dim         D, where no query says it (scores given, scale not)
    heads kv_heads   the arrays are packed; H and Hkv, where Hkv divides H
    scale            multiplies the scores; None means 1/√D
    softcap          c > 0: scaled scores become c·tanh(s/c), before bias and mask
    alibi            a slope, (H,) slopes, or True for the published ones (Press et al. 2022)
    rope             True or {"base", "pairing", "dim"}, see Rope (Su et al. 2021)
    mask             bool (True = may attend) or float (added; −inf = masked), or a list of arrays
                     (in JSON: [{"mask": …}, {"mask": …}]), each broadcasting to (…, H, Tq, Tk)
    causal           True, or "upper_left" (offset 0), "lower_right" (offset None)
    offset           position of the first query: an integer or one per batch element; None means
                     n − Tq with n valid keys, so that the last query meets the last key
    window           (left, right): keys p − left … p + right; None = unbounded
    lengths          valid keys per batch element, padding at the end
    sink             one extra logit per head in the softmax, dropped after it
    chunks           lengths of the key parts, for online softmax and merging; they sum to Tk
    dtype            "float64", "float32", "float16" or "bfloat16": the arithmetic that is meant;
                     None takes the arrays' own (float64 for lists and whole numbers)
    batch H Hkv Tq Tk D Dv single
                     worked out, not given: the sizes, and whether the arrays had no H axis (results
                     then come back without one)
    rows known       set for parts of a problem: its queries, where some are held (mechanism/sampling.py),
                     and somebody's own results that stand for steps (mechanism/resuming.py)

    Special cases: Tq may be 0; Tk and D may not. NaN and infinities are allowed in the arrays (a
    masked key never leaks them), and have no place in scale, softcap, masks (but −inf), slopes.
    Raises ShapeError, MaskError, OptionError, NumberError.
    Source: Vaswani et al. 2017, section 3.2; conventions in docs/conventions.md.
    """

    query: Any = None
    key: Any = None
    value: Any = None
    x: Any = None
    x_key: Any = None
    w_query: Any = None
    w_key: Any = None
    w_value: Any = None
    w_output: Any = None
    b_query: Any = None
    b_key: Any = None
    b_value: Any = None
    b_output: Any = None
    given: Any = None
    head_dim: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    scale: float | None = None
    softcap: float | None = None
    alibi: Any = None
    rope: Any = None
    mask: Any = None
    causal: Any = False
    offset: Any = None
    window: Any = None
    lengths: Any = None
    sink: Any = None
    chunks: Any = None
    dtype: Any = None

    batch: tuple[int, ...] = field(init=False)
    H: int = field(init=False)
    Hkv: int = field(init=False)
    Tq: int = field(init=False)
    Tk: int = field(init=False)
    D: int | None = field(init=False)
    Dv: int | None = field(init=False)
    single: bool = field(init=False)
    rows: Array | None = field(init=False, default=None)
    known: Mapping[str, tuple[Array, Array]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        try:
            _check_start(self)
            _read_arrays(self)
            _read_heads(self)
            _measure(self)
            _read_options(self)
            _read_places(self)
            _read_masks(self)
        except MemoryError:
            raise TooLargeError(
                "the arrays of this problem are larger than the memory that is left."
            ) from None

    @property
    def start(self) -> str:
        """The field that the work starts from: "x", "query", or the name of the given step."""
        if self.given is not None:
            return str(next(iter(self.given)))
        return "x" if self.x is not None else "query"

    @property
    def row_numbers(self) -> Array:
        """Which queries the arrays hold, counted from 0: all Tq, but for a sample (mechanism/sampling.py)."""
        return np.arange(self.Tq) if self.rows is None else self.rows

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """The shape of the score matrix, (…, H, Tq, Tk), with as many rows as are held."""
        return (*self.batch, self.H, len(self.row_numbers), self.Tk)

    @property
    def packed(self) -> bool:
        """Whether the arrays are (…, T, H·D) and have to be split into heads."""
        return self.heads is not None

    @property
    def merges(self) -> bool:
        """Whether heads are joined at the end: packed in, or an output projection follows."""
        return self.packed or self.w_output is not None

    @property
    def work_dtype(self) -> np.dtype[Any]:
        """The dtype of scores and softmax: at least float32."""
        return np.dtype(np.float64) if self.dtype == np.float64 else np.dtype(np.float32)

    @property
    def factor(self) -> float:
        """What the scores are multiplied by: `scale`, or 1/√D."""
        return self.scale if self.scale is not None else 1 / math.sqrt(self.D or 1)

    def cast(self, dtype: np.dtype[Any]) -> Problem:
        """The same problem in another arithmetic; numbers beyond its range are infinite there."""
        other = copy.copy(self)
        with np.errstate(over="ignore"):
            arrays = {
                name: value.astype(dtype) for name in ARRAYS if (value := getattr(self, name)) is not None
            }
            given = self.given and {step: array.astype(dtype) for step, array in self.given.items()}
        _set(other, dtype=dtype, given=given, **arrays)
        return other

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Problem:
        """The problem that a JSON object describes; keys are the field names, null means not given.

        record  field name to value, as in the Fields above
        Raises OptionError for an unknown field, and whatever `Problem` raises.
        Source: the table of fields in docs/problem.md.
        """
        if not isinstance(record, Mapping):
            raise OptionError(
                f"a problem is one JSON object with fields such as query, key and value; "
                f"this is a {type(record).__name__}."
            )
        names = field_names()
        for name in record:
            if name not in names:
                hint = f" {hint_at(shown(name), names, 'The fields are')}"
                raise OptionError(f"a problem has no field {shown(name)}.{hint}")
        return cls(**{name: value for name, value in record.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults, as arrays, numbers and strings; see `from_dict`."""
        record = {name: getattr(self, name) for name in field_names()} | {"dtype": self.dtype.name}
        if self.rope is not None:
            record["rope"] = asdict(self.rope)
        if self.mask is not None:
            record["mask"] = [{"mask": mask} for mask in self.mask]
        if self.single:
            inputs = ("x", "x_key", "query", "key", "value")
            record |= {name: record[name][..., 0, :, :] for name in inputs if record[name] is not None}
        if self.single and self.given is not None:
            record["given"] = {step: array[..., 0, :, :] for step, array in self.given.items()}
        return {name: value for name, value in record.items() if value is not None and value is not False}


def field_names() -> tuple[str, ...]:
    """The fields that a problem may be given, in order."""
    return tuple(f.name for f in fields(Problem) if f.init)


def _set(problem: Problem, **values: object) -> None:
    """Store what the door worked out; a Problem is frozen for everybody else."""
    for name, value in values.items():
        object.__setattr__(problem, name, value)


# --- where does it start? -------------------------------------------------------------------------


def _check_start(problem: Problem) -> None:
    switches = {name: plain(getattr(problem, name)) for name in SWITCHES}
    _set(problem, **{name: None if value is False else value for name, value in switches.items()})
    given = problem.given
    if given is not None and not (
        isinstance(given, Mapping) and len(given) == 1 and next(iter(given)) in GIVEN
    ):
        raise OptionError(
            f'given names one step to start from, with its values, for example {{"scaled": [[1, 2, 5]]}}; '
            f"the step is one of {', '.join(GIVEN)}. It was {shown(given)}."
        )
    if given is not None:
        _refuse(problem, f"the given {problem.start}", *ignored_after(problem.start))
        if problem.start == "scores" and problem.scale is None and problem.head_dim is None:
            raise OptionError(
                "scores are given, and nothing says what to divide them by. Add head_dim (d_k), or a scale."
            )
    elif problem.x is not None:
        _need(problem, "w_query", "w_key")
        _refuse(problem, "x", "query", "key", "value", "head_dim")
    else:
        _need(problem, "query", "key")
        _refuse(problem, "query", "x_key", *INPUT_PROJECTIONS)


def ignored_after(start: str) -> list[str]:
    earlier = GIVEN[: GIVEN.index(start) + 1]
    return [*INPUT_PROJECTIONS, *(name for step in earlier for name in BEFORE[step])]


def _need(problem: Problem, *names: str) -> None:
    missing = [name for name in names if getattr(problem, name) is None]
    if missing:
        raise OptionError(
            f"the problem has no {' and no '.join(missing)}. It needs query and key (and value); or x with "
            f'w_query and w_key (and w_value); or a step to start from: given={{"scores": [[…]]}}.'
        )


def _refuse(problem: Problem, start: str, *names: str) -> None:
    values = {name: getattr(problem, name) for name in names}
    extra = [name for name, value in values.items() if not (value is None or value is False)]
    if extra:
        raise OptionError(
            f"{extra[0]} would be ignored: the problem starts from {start}. Leave one of the two out."
        )


# --- arrays and their dtype -----------------------------------------------------------------------


def _read_arrays(problem: Problem) -> None:
    arrays = {
        name: as_floats(name, value) for name in ARRAYS if (value := getattr(problem, name)) is not None
    }
    given = problem.given
    if given is not None:
        arrays[problem.start] = as_floats(f"given {problem.start}", given[problem.start])
    dtype = _dtype(problem.dtype, list(arrays.values()))
    with np.errstate(over="ignore"):  # a number beyond float16 is inf there: that is the arithmetic meant
        arrays = {name: array.astype(dtype, copy=False) for name, array in arrays.items()}
    if given is not None:
        arrays["given"] = arrays.pop(problem.start)
    _set(problem, dtype=dtype, **arrays)
    if given is not None:
        _set(problem, given={next(iter(given)): problem.given})


def _dtype(asked: object, arrays: list[Array]) -> np.dtype[Any]:
    """The dtype that is asked for, else the widest of the arrays' own."""
    if asked is None:
        size = max(array.itemsize for array in arrays)
        widest = {array.dtype for array in arrays if array.itemsize == size}
        return widest.pop() if len(widest) == 1 else DTYPES["float32"]  # holds both float16 and bfloat16
    name = asked.name if isinstance(asked, np.dtype) else getattr(asked, "__name__", asked)
    if not isinstance(name, str) or name not in DTYPES:
        raise OptionError(f"dtype is {shown(asked)}; it must be one of {', '.join(DTYPES)}.")
    return DTYPES[name]


# --- heads: packed or not, and the H axis that everything below relies on -------------------------


def _read_heads(problem: Problem) -> None:
    for name in ("heads", "kv_heads", "head_dim"):
        if getattr(problem, name) is not None:
            _set(problem, **{name: whole(name, getattr(problem, name), least=1)})
    if problem.heads is not None:
        _set(problem, kv_heads=problem.kv_heads or problem.heads, single=False)
        return
    if problem.kv_heads is not None:
        raise OptionError(
            "kv_heads is given without heads; give both for packed arrays (…, T, H·D), or neither."
        )
    main = problem.given[problem.start] if problem.given is not None else problem.query
    _set(problem, single=problem.x is not None or main.ndim == 2)
    if problem.single:
        _add_head_axis(problem)


def _add_head_axis(problem: Problem) -> None:
    for name in ("x", "x_key", "query", "key", "value"):
        array = getattr(problem, name)
        if array is not None:
            if array.ndim < 2 or (array.ndim > 2 and problem.x is None):
                raise ShapeError(
                    f"{name} has shape {array.shape}, but the problem has no head axis, so a matrix "
                    f"(T, width) was expected. With heads, every array is (…, H, T, width)."
                )
            _set(problem, **{name: array[..., None, :, :]})
    if problem.given is not None:
        _set(problem, given={step: array[None] for step, array in problem.given.items()})


# --- sizes ----------------------------------------------------------------------------------------


def _measure(problem: Problem) -> None:
    shapes = {name: _shape_of(problem, name) for name in ("query", "key", "value")}
    if problem.given is not None:
        _measure_given(problem)
        shapes["query"] = shapes["key"] = None
    else:
        _measure_query_and_key(problem, cast("Shape", shapes["query"]), cast("Shape", shapes["key"]))
    _measure_value(problem, shapes["value"])
    _check_head_counts(problem)
    for name, why in EMPTY.items():
        if getattr(problem, name) == 0:
            raise ShapeError(f"{name} = 0: {why}")
    _check_projections(problem)


Shape = tuple[tuple[int, ...], int, int, int]  # batch, heads, length, width of one head


def _shape_of(problem: Problem, name: str) -> Shape | None:
    """(batch, heads, length, width) of query, key or value, wherever it comes from."""
    if problem.x is not None:
        return _projected_shape(problem, name)
    array = getattr(problem, name)
    if array is None:
        return None
    if problem.packed:
        return _unpack(problem, name, array.shape)
    if array.ndim < 3:
        raise ShapeError(
            f"{name} has shape {array.shape}; a matrix (T, width), or (…, H, T, width), was expected."
        )
    return array.shape[:-3], array.shape[-3], array.shape[-2], array.shape[-1]


def _projected_shape(problem: Problem, name: str) -> Shape | None:
    matrix = getattr(problem, f"w_{name}")
    if matrix is None:
        return None
    source = "x" if name == "query" or problem.x_key is None else "x_key"
    x = getattr(problem, source)
    if x.ndim < 2 or matrix.ndim != 2 or x.shape[-1] != matrix.shape[0]:
        raise ShapeError(
            f"{source} has shape {_seen(problem, x)} and w_{name} has shape {matrix.shape}; {source} must be "
            f"(…, T, E) and w_{name} (E, width), with the same E, since {name} = {source} · w_{name}."
        )
    if problem.packed:
        return _unpack(problem, name, (*x.shape[:-1], matrix.shape[1]))
    return x.shape[:-3], x.shape[-3], x.shape[-2], matrix.shape[1]


def _seen(problem: Problem, array: Array) -> tuple[int, ...]:
    """The shape as it was given, without the H axis that was added."""
    return (*array.shape[:-3], *array.shape[-2:]) if problem.single else array.shape


def _unpack(problem: Problem, name: str, shape: tuple[int, ...]) -> Shape:
    count = cast("int", problem.heads if name == "query" else problem.kv_heads)
    if len(shape) < 2:
        raise ShapeError(f"{name} has shape {shape}; packed arrays are (…, T, heads · width).")
    if shape[-1] % count:
        which = "heads" if name == "query" else "kv_heads"
        raise ShapeError(
            f"{name} is {shape[-1]} wide, which does not divide into {which} = {count} equal heads. "
            f"Choose a number of heads that divides {shape[-1]}."
        )
    return shape[:-2], count, shape[-2], shape[-1] // count


def _measure_given(problem: Problem) -> None:
    array = problem.given[problem.start]
    if array.ndim < 3:
        raise ShapeError(
            f"given {problem.start} has shape {array.shape}; (Tq, Tk) or (…, H, Tq, Tk) was expected."
        )
    batch, (H, Tq, Tk) = array.shape[:-3], array.shape[-3:]
    if problem.heads not in (None, H):
        raise ShapeError(
            f"given {problem.start} has shape {array.shape}, that is {H} heads, but heads = {problem.heads}."
        )
    _set(problem, batch=batch, H=H, Hkv=problem.kv_heads or H, Tq=Tq, Tk=Tk, D=problem.head_dim)


def _measure_query_and_key(problem: Problem, query: Shape, key: Shape) -> None:
    batch, H, Tq, D = query
    key_batch, Hkv, Tk, key_width = key
    if key_width != D:
        raise ShapeError(
            f"one row of query has {D} entries and one row of key has {key_width}; a score is the dot "
            f"product of the two, so they need the same width d_k."
        )
    if batch != key_batch:
        raise ShapeError(f"query has batch axes {batch} and key has {key_batch}; they must be the same.")
    if problem.head_dim not in (None, D):
        raise OptionError(
            f"head_dim = {problem.head_dim}, but query and key are {D} wide. Leave head_dim out."
        )
    _set(problem, batch=batch, H=H, Hkv=Hkv, Tq=Tq, Tk=Tk, D=D)


def _measure_value(problem: Problem, value: Shape | None) -> None:
    if value is None:
        if problem.w_output is not None:
            raise OptionError("w_output is given, but there is no value to blend and project. Add value.")
        _set(problem, Dv=None)
        return
    batch, Hkv, Tk, Dv = value
    if problem.given is not None and problem.kv_heads is None:
        _set(problem, Hkv=Hkv)  # scores have H heads already; only value says how many it has
    if Tk != problem.Tk:
        raise ShapeError(
            f"value has {Tk} rows and there are {problem.Tk} keys; each key needs its own value row."
        )
    if (batch, Hkv) != (problem.batch, problem.Hkv):
        raise ShapeError(
            f"value has batch axes {batch} and {Hkv} heads; {problem.batch} and {problem.Hkv} were expected."
        )
    _set(problem, Dv=Dv)


def _check_head_counts(problem: Problem) -> None:
    if problem.Hkv and problem.H % problem.Hkv:
        raise ShapeError(
            f"{problem.H} query heads cannot share {problem.Hkv} key/value heads evenly: Hkv must divide H. "
            f"Query head h uses key/value head ⌊h·Hkv/H⌋."
        )


def _check_projections(problem: Problem) -> None:
    for name, matrix in ((name, getattr(problem, name)) for name in PROJECTIONS if name.startswith("b_")):
        weight = getattr(problem, name.replace("b_", "w_"))
        if matrix is not None and (weight is None or matrix.shape != weight.shape[1:]):
            expected = (
                "nothing, as there is no " + name.replace("b_", "w_") if weight is None else weight.shape[1:]
            )
            raise ShapeError(
                f"{name} has shape {matrix.shape}; {expected} was expected: one number for each column."
            )
    if problem.w_output is not None:
        width = problem.H * cast("int", problem.Dv)
        if problem.w_output.ndim != 2 or problem.w_output.shape[0] != width:
            raise ShapeError(
                f"w_output has shape {problem.w_output.shape}; ({width}, Eout) was expected, as the merged "
                f"heads are H·Dv = {problem.H}·{problem.Dv} = {width} wide."
            )


# --- options --------------------------------------------------------------------------------------


def _read_options(problem: Problem) -> None:
    if problem.scale is not None:
        _set(problem, scale=finite("scale", problem.scale))
    if problem.softcap is not None:
        _set(problem, softcap=finite("softcap", problem.softcap, above_zero=True))
    if problem.rope is not None:
        _set(problem, rope=_rope(problem.rope, cast("int", problem.D)))
    if problem.alibi is True:
        _set(problem, alibi=published_slopes(problem.H))
    elif problem.alibi is not None:
        _set(problem, alibi=_per_head(problem, "alibi", "slope"))
    if problem.sink is not None:
        _set(problem, sink=_per_head(problem, "sink", "logit"))
    if problem.chunks is not None:
        _set(problem, chunks=_chunks(problem))


def _rope(asked: object, D: int) -> Rope:
    if asked is True:
        asked = {}
    if isinstance(asked, Rope):
        asked = asdict(asked)
    if not isinstance(asked, Mapping) or not set(asked) <= {"base", "pairing", "dim"}:
        raise OptionError(
            f'rope is {shown(asked)}; true or {{"base": 10000, "pairing": "half", "dim": {D}}} was expected.'
        )
    rope = Rope(
        base=finite("rope base", asked.get("base", ROPE_BASE), above_zero=True),
        pairing=cast("str", plain(asked.get("pairing", "half"))),
        dim=whole("rope dim", asked.get("dim", D), least=2),
    )
    if not isinstance(rope.pairing, str) or rope.pairing not in PAIRINGS:
        raise OptionError(f"rope pairing is {shown(rope.pairing)}; it must be one of {', '.join(PAIRINGS)}.")
    if rope.dim % 2 or rope.dim > D:
        raise ShapeError(
            f"rope turns pairs of features, so dim must be even and at most D = {D}; it is {rope.dim}."
        )
    return rope


def published_slopes(H: int) -> Array:
    """ALiBi slopes (H,): m_h = 2^(−8h/H), h = 1 … H; otherwise every other slope of twice the heads fills up.

    Source: Press et al. 2022, section 3, and the authors' code for H not a power of two.
    """
    power = 1 << (H.bit_length() - 1)  # the largest power of two that is at most H
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    between = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return np.array(slopes + between[: H - power])


def _per_head(problem: Problem, name: str, what: str) -> Array:
    array = as_floats(name, getattr(problem, name)).astype(np.float64)
    allowed = np.isfinite(array) | (np.isneginf(array) if name == "sink" else False)
    if array.shape not in ((), (1,), (problem.H,)):
        raise ShapeError(
            f"{name} has shape {array.shape}; one {what}, or one for each of {problem.H} heads, was expected."
        )
    if not allowed.all():
        raise NumberError(f"{name} holds {array[~allowed].flat[0]}; a finite {what} was expected.")
    return np.broadcast_to(array, (problem.H,)).copy()


def _chunks(problem: Problem) -> tuple[int, ...]:
    lengths = whole_array("chunks", problem.chunks, least=1)
    if lengths.ndim != 1 or lengths.sum() != problem.Tk:
        raise OptionError(
            f"chunks are {shown(problem.chunks)}; a list of lengths was expected that sum to the number of "
            f"keys, Tk = {problem.Tk}."
        )
    return tuple(int(length) for length in lengths)


# --- where queries stand and what they may see ----------------------------------------------------


def _read_places(problem: Problem) -> None:
    if problem.lengths is not None:
        lengths = _per_batch(problem, "lengths", least=0)
        if (lengths > problem.Tk).any():
            raise OptionError(f"lengths holds {lengths.max()}, more than there are keys: Tk = {problem.Tk}.")
        _set(problem, lengths=lengths)
    aligned = isinstance(problem.causal, str) and problem.causal in ALIGNMENTS
    if not (aligned or problem.causal is None or problem.causal is True):
        raise OptionError(
            f'causal is {shown(problem.causal)}; true, false, "upper_left" or "lower_right" was expected.'
        )
    if problem.offset is not None:
        if aligned:
            raise OptionError(
                f'causal="{problem.causal}" says where the queries stand, and offset says it too; keep one.'
            )
        _set(problem, offset=_per_batch(problem, "offset"))
    if problem.causal == "upper_left":
        _set(problem, offset=np.zeros(problem.batch, dtype=np.int64))
    _set(problem, causal=problem.causal is not None)
    if problem.window is not None:
        _set(problem, window=_window(problem.window))


def _per_batch(problem: Problem, name: str, least: int | None = None) -> Array:
    array = whole_array(name, getattr(problem, name), least)
    if array.shape not in ((), problem.batch):
        each = f", or one for each batch element (shape {problem.batch})," if problem.batch else ""
        raise ShapeError(f"{name} has shape {array.shape}; one whole number{each} was expected.")
    return np.broadcast_to(array, problem.batch).copy()


def _window(asked: object) -> tuple[int | None, int | None]:
    if not isinstance(asked, list | tuple) or len(asked) != 2:
        raise OptionError(
            f"window is {shown(asked)}; a pair (left, right) was expected: how many keys before and after "
            f"the query's own position it may see, null for no bound. (2, 0) is itself and two before."
        )
    left, right = (
        None if _unbounded(side) else whole("window (null: no bound)", side, least=0) for side in asked
    )
    return left, right


def _unbounded(side: object) -> bool:
    """None, or infinity where None cannot be written (.npz)."""
    return side is None or bool(np.isposinf(as_floats("window", side)).all())


# --- masks ----------------------------------------------------------------------------------------


def _read_masks(problem: Problem) -> None:
    if problem.mask is None:
        return
    masks = tuple(_mask(problem, mask) for mask in _mask_list(problem.mask))
    _set(problem, mask=masks or None)


def _mask_list(mask: object) -> list[object]:
    """A list of arrays, or of {"mask": …} records, is several masks; anything else is one."""
    if isinstance(mask, list | tuple) and mask:
        if all(isinstance(item, Mapping) and set(item) == {"mask"} for item in mask):
            return [item["mask"] for item in mask]
        if all(hasattr(item, "__array__") and getattr(item, "ndim", 0) > 0 for item in mask):
            return list(mask)
    return [mask]


def _mask(problem: Problem, given: object) -> Array:
    mask = as_array("mask", given)
    if problem.single and 3 <= mask.ndim <= len(problem.batch) + 2:
        mask = mask[..., None, :, :]  # (…, Tq, Tk), in the shape that such a problem's scores have
    _check_broadcast(problem, mask.shape)
    if mask.dtype == bool:
        return mask
    if mask.dtype.kind in "iu":
        raise MaskError(
            f"mask holds whole numbers, such as {mask.max(initial=0)}. Use true and false (true = may "
            f"attend), or a float mask that is added to the scaled scores: 0.0 and -inf."
        )
    mask = as_floats("mask", mask)
    if not (mask < np.inf).all():  # neither +inf nor NaN; −inf selects
        raise MaskError(
            "mask holds NaN or +inf; a float mask is added to the scaled scores, with -inf where masked."
        )
    return mask


def _check_broadcast(problem: Problem, shape: tuple[int, ...]) -> None:
    batch = ["B"] if len(problem.batch) == 1 else [f"batch axis {i + 1}" for i in range(len(problem.batch))]
    axes = list(
        zip([*batch, "H", "Tq", "Tk"], (*problem.batch, problem.H, problem.Tq, problem.Tk), strict=True)
    )
    if len(shape) > len(axes):
        misfit = f"it has {len(shape)} axes, which is more"
    else:
        pairs = zip(reversed(shape), reversed(axes), strict=False)
        misfit = next(
            (f"its {got} meets {letter} = {size}" for got, (letter, size) in pairs if got not in (1, size)),
            "",
        )
    if misfit:
        hint = (
            " A mask per batch and key is mask[:, None, None, :]."
            if shape == (*problem.batch, problem.Tk)
            else ""
        )
        letters, sizes = zip(*axes, strict=True)
        raise MaskError(
            f"mask has shape {shape}; it must broadcast to ({', '.join(letters)}) = {sizes}, "
            f"and {misfit}.{hint}"
        )
