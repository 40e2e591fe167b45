"""The right rule in narrow arithmetic: rounded to fewer bits, or so narrow that it overflows or saturates.

All but the overflow are reported as rounding, with the place where it happened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..arrays import DTYPES, Array
from ..mechanism import heads, softmax
from ..mechanism.positions import pairs, query_positions
from ..mechanism.steps import wide
from ..problem import Problem
from .mistake import Mistake, Parameter, altered
from .recipe import Recipe
from .rope import key_positions, rope_of, turn

BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # of precision, the hidden one included
TF32_DROPPED = 13  # of float32's 23 mantissa bits, TF32 keeps 10
INT8 = 127
IEEE = "IEEE 754-2019, section 3.6"
PLAIN = Recipe(Tq=3, spread=3.0)
WHOLE = Recipe(
    Tq=2,
    Tk=2,
    D=4,
    fixed={"query": [[1.0, 0, 1, 0]] * 2, "key": [[2.0, 0, 1, 0]] * 2, "value": [[1.0, 0, 0, 0]] * 2},
)
ZEROS = Recipe(Tq=1, Tk=1, D=1, fixed={"query": [[0.0]], "key": [[0.0]], "value": [[0.0]]})
LARGE = Recipe(
    Tq=1,
    Tk=2,
    D=2,
    fixed={
        "query": [[300.0, 200.0]],
        "key": [[250.0, 90.0], [180.0, 120.0]],
        "value": [[1.0, 2.0], [3.0, 4.0]],
    },
)
LONG = Recipe(Tq=1, Tk=2100, D=1, fixed={"query": [[0.0]]})
ROPED = Recipe(Tq=3, Tk=300, D=4, options={"rope": True})


# --- rounding -------------------------------------------------------------------------------------


def rounded(name: str) -> Callable[[Array], Array]:
    """Numbers as that dtype holds them, in their own dtype again."""
    dtype = DTYPES[name]
    return lambda x: x.astype(dtype).astype(x.dtype)


def to_tf32(x: Array) -> Array:
    """Numbers as TF32 holds them: float32 with 10 bits of mantissa, rounded to nearest."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    half = np.uint64(1 << (TF32_DROPPED - 1))
    kept = (bits + half) >> np.uint64(TF32_DROPPED) << np.uint64(TF32_DROPPED)
    tf32 = kept.astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(x), tf32, x).astype(x.dtype)


def to_int8(x: Array) -> Array:
    """Each row in 255 equal steps between −max|x| and max|x|."""
    step = np.abs(x).max(axis=-1, keepdims=True) / INT8
    step = np.where(step == 0, 1, step)
    return np.asarray(np.round(x / step) * step)


def to_fp8(x: Array) -> Array:
    """Numbers as float8 (4 bits of exponent, 3 of mantissa) holds them."""
    return np.asarray(x.astype(ml_dtypes.float8_e4m3fn).astype(x.dtype))


def summed_in(dtype: np.dtype[Any], terms: Array) -> Array:
    """The sum over the last axis, term by term, rounded to the dtype every time; (…, 1)."""
    narrow = terms.astype(dtype)
    total = narrow[..., :1]
    for index in range(1, terms.shape[-1]):
        total = (total + narrow[..., index : index + 1]).astype(dtype)
    return total


def may_fail_in_fp16(problem: Problem) -> bool:
    """A score could pass 2048, from where float16 skips whole numbers; below, its sums only round."""
    if problem.query is None or problem.D is None:
        return bool(problem.dtype == DTYPES["float16"])
    query, key = (float(np.nanmax(np.abs(x), initial=0)) for x in (problem.query, problem.key))
    return problem.D * query * key > 2048


def scores_summed_in_fp16(problem: Problem, query: Array, key: Array) -> Array:
    """q·k, products and sums rounded to float16 every time: beyond 65504 they are infinite."""
    half = DTYPES["float16"]
    query, key = query.astype(half), key.astype(half).swapaxes(-1, -2)
    scores = np.zeros(
        (*np.broadcast_shapes(query.shape[:-1], (*key.shape[:-2], 1)), key.shape[-1]), dtype=half
    )
    for d in range(query.shape[-1]):
        scores = scores + query[..., :, d, None] * key[..., d, None, :]
    return scores.astype(problem.work_dtype)


def scores_with(round_: Callable[[Array], Array]) -> Callable[[Problem, Array, Array], Array]:
    """Scores of queries and keys that were rounded first."""
    return lambda problem, query, key: (
        round_(wide(problem, query)) @ round_(wide(problem, key)).swapaxes(-1, -2)
    )


def blend_with(
    round_weights: Callable[[Array], Array], round_values: Callable[[Array], Array]
) -> Callable[[Problem, Array, Array, Array], Array]:
    """The blend of weights and values that were rounded first."""
    return lambda problem, weights, value, allowed: softmax.blend(
        round_weights(wide(problem, weights)), round_values(wide(problem, value)), allowed
    ).astype(problem.dtype, copy=False)


def same(x: Array) -> Array:
    """Nothing is rounded."""
    return x


def wider_than(name: str) -> Callable[[Problem], bool]:
    """The problem means wider arithmetic than that."""
    return lambda problem: BITS[problem.dtype.name] > BITS[name]


def longer_than(most: int) -> Callable[[Problem], bool]:
    """So many keys that a sum of ones does not fit."""
    return lambda problem: problem.Tk > most


def roped_wide(problem: Problem) -> bool:
    """Positions turn queries and keys, in wider arithmetic than bfloat16."""
    return problem.rope is not None and BITS[problem.dtype.name] > BITS["bfloat16"]


QK_ACCUMULATED_FP16 = Mistake(
    id="qk-accumulated-fp16",
    title="summed the scores in float16",
    formula=r"S = \mathrm{fp16}(QK^T):\; \infty \text{ above } 65504",
    why=(
        "A score is a sum of d_k products; before scaling it easily exceeds 65504, becomes ∞, and ∞ − ∞ "
        "in the softmax is NaN."
    ),
    mend="Sum in float32, or scale the queries before the product.",
    hides_when="scores are small and exact in float16",
    source="ggml-org/llama.cpp#7805",
    wrong={"scores": scores_summed_in_fp16},
    applies=may_fail_in_fp16,
    witness=LARGE,
    blind_spot=WHOLE,
)

SCORES_FLOAT16 = Mistake(
    id="scores-float16",
    title="rounded the scores to float16",
    formula=r"S \to \mathrm{fp16}(S)",
    why="float16 keeps 11 bits: a score near 10 is off by up to 0.004, and its exponential by 0.4 %.",
    mend="Keep scores in float32 up to the softmax.",
    hides_when="the scores are exact in float16",
    source="huggingface/transformers#17437",
    wrong={
        "scores": lambda problem, query, key: rounded("float16")(
            wide(problem, query) @ wide(problem, key).swapaxes(-1, -2)
        )
    },
    applies=lambda problem: problem.D is not None,
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

SCORES_BFLOAT16 = Mistake(
    id="scores-bfloat16",
    title="rounded the scores to bfloat16",
    formula=r"S \to \mathrm{bf16}(S)",
    why="bfloat16 keeps 8 bits: a score near 10 is off by up to 0.03, and its exponential by 3 %.",
    mend="Keep scores in float32 up to the softmax.",
    hides_when="the scores are exact in bfloat16",
    source="tinygrad/tinygrad#12280",
    wrong={
        "scores": lambda problem, query, key: rounded("bfloat16")(
            wide(problem, query) @ wide(problem, key).swapaxes(-1, -2)
        )
    },
    applies=lambda problem: problem.D is not None,
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

INPUTS_TF32 = Mistake(
    id="inputs-tf32",
    title="multiplied in TF32",
    formula=r"\mathrm{tf32}(Q)\,\mathrm{tf32}(K)^T,\; \mathrm{tf32}(W)\,\mathrm{tf32}(V)",
    why=(
        "Many GPUs multiply float32 matrices with 10 bits of mantissa unless told otherwise: errors near "
        "1 in 1000 instead of 1 in 10 million."
    ),
    mend="Ask for full precision where it matters, or allow for the difference.",
    hides_when="queries, keys, weights and values are exact in 11 bits",
    source="triton-lang/triton#1671",
    wrong={"scores": scores_with(to_tf32), "blend": blend_with(to_tf32, to_tf32)},
    applies=lambda problem: problem.D is not None and wider_than("float16")(problem),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

QK_BFLOAT16 = Mistake(
    id="qk-bfloat16",
    title="rounded queries and keys to bfloat16",
    formula=r"\mathrm{bf16}(Q)\,\mathrm{bf16}(K)^T",
    why="Tensor cores take bfloat16: each entry is off by up to 1 in 256 before it is multiplied.",
    mend="Compare with a reference on inputs rounded the same way.",
    hides_when="queries and keys are exact in bfloat16",
    source=IEEE,
    wrong={"scores": scores_with(rounded("bfloat16"))},
    applies=lambda problem: problem.D is not None and wider_than("bfloat16")(problem),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

QK_FLOAT16 = Mistake(
    id="qk-float16",
    title="rounded queries and keys to float16",
    formula=r"\mathrm{fp16}(Q)\,\mathrm{fp16}(K)^T",
    why="Each entry is off by up to 1 in 2048 before it is multiplied.",
    mend="Compare with a reference on inputs rounded the same way.",
    hides_when="queries and keys are exact in float16",
    source=IEEE,
    wrong={"scores": scores_with(rounded("float16"))},
    applies=lambda problem: problem.D is not None and wider_than("float16")(problem),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

EXPONENTIALS_FLOAT16 = Mistake(
    id="exponentials-float16",
    title="worked the softmax out in float16",
    formula=r"\mathrm{fp16}(e^{s - m})",
    why="Exponentials below 6·10⁻⁸ become 0, the others keep 11 bits.",
    mend="Cast to float32 before the softmax.",
    hides_when="the exponentials are exact in float16, as when all scores of a row are equal",
    source="huggingface/transformers#18057",
    wrong={
        "exponentials": lambda problem, logits, top: rounded("float16")(softmax.exponentials(logits, top))
    },
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

EXPONENTIALS_BFLOAT16 = Mistake(
    id="exponentials-bfloat16",
    title="worked the softmax out in bfloat16",
    formula=r"\mathrm{bf16}(e^{s - m})",
    why="Exponentials keep 8 bits: each is off by up to 1 in 256.",
    mend="Cast to float32 before the softmax.",
    hides_when="the exponentials are exact in bfloat16, as when all scores of a row are equal",
    source="tinygrad/tinygrad#12280",
    wrong={
        "exponentials": lambda problem, logits, top: rounded("bfloat16")(softmax.exponentials(logits, top))
    },
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

ROW_SUM_FLOAT16 = Mistake(
    id="row-sum-float16",
    title="added the row's sum up in float16",
    formula=r"\ell \le 2048 \text{ for terms } \le 1",
    why=(
        "From 2048 on, adding 1 changes nothing in float16: a long row is divided by too little, and its "
        "weights sum to more than 1."
    ),
    mend="Add up in float32.",
    hides_when="the sums are exact in float16, as in short rows of equal scores",
    source="sonos/tract#2586",
    wrong={"row-sum": lambda problem, exps, top: summed_in(DTYPES["float16"], exps).astype(exps.dtype)},
    applies=lambda problem: problem.sink is None and problem.Tk <= 4096,
    witness=LONG,
    blind_spot=WHOLE,
    narrow=True,
)

ROW_SUM_BFLOAT16 = Mistake(
    id="row-sum-bfloat16",
    title="added the row's sum up in bfloat16",
    formula=r"\ell \le 256 \text{ for terms } \le 1",
    why=(
        "From 256 on, adding 1 changes nothing in bfloat16: a long row is divided by too little, and its "
        "weights sum to more than 1."
    ),
    mend="Add up in float32.",
    hides_when="the sums are exact in bfloat16, as in short rows of equal scores",
    source="pytorch/executorch#20090",
    wrong={"row-sum": lambda problem, exps, top: summed_in(DTYPES["bfloat16"], exps).astype(exps.dtype)},
    applies=lambda problem: problem.sink is None and problem.Tk <= 4096,
    witness=Recipe(Tq=1, Tk=300, D=1, fixed={"query": [[0.0]]}),
    blind_spot=WHOLE,
    narrow=True,
)

WEIGHTS_FLOAT16 = Mistake(
    id="weights-float16",
    title="rounded the weights to float16 before the blend",
    formula=r"\mathrm{fp16}(W)\,V",
    why="The weights are cast to the values' dtype for a fast product; each keeps 11 bits.",
    mend="Compare with a tolerance that allows for it.",
    hides_when="the weights are exact in float16",
    source="huggingface/transformers#17437",
    wrong={"blend": blend_with(rounded("float16"), same)},
    applies=wider_than("float16"),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

WEIGHTS_BFLOAT16 = Mistake(
    id="weights-bfloat16",
    title="rounded the weights to bfloat16 before the blend",
    formula=r"\mathrm{bf16}(W)\,V",
    why=(
        "The weights are cast to the values' dtype for a fast product; each keeps 8 bits, and a row need "
        "not sum to 1."
    ),
    mend="Compare with a tolerance that allows for it.",
    hides_when="the weights are exact in bfloat16",
    source=IEEE,
    wrong={"blend": blend_with(rounded("bfloat16"), same)},
    applies=wider_than("bfloat16"),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

EVERYTHING_FLOAT32 = Mistake(
    id="everything-float32",
    title="worked in float32",
    formula=r"\text{all in float32}",
    why="float32 keeps 24 bits, about 7 decimal digits.",
    mend="Compare with a tolerance for float32, or say that float32 is meant.",
    hides_when="all numbers are exact in float32",
    source="huggingface/transformers#48459",
    rewrite=lambda problem: altered(problem, dtype="float32"),
    applies=wider_than("float32"),
    witness=PLAIN,
    blind_spot=ZEROS,
    narrow=True,
)

EVERYTHING_FLOAT16 = Mistake(
    id="everything-float16",
    title="worked in float16, with scores and softmax in float32",
    formula=r"\text{in and out float16}",
    why="float16 keeps 11 bits, about 3 decimal digits.",
    mend="Compare with a tolerance for float16, or say that float16 is meant.",
    hides_when="all numbers are exact in float16",
    source="Dao-AILab/flash-attention#118",
    rewrite=lambda problem: altered(problem, dtype="float16"),
    applies=wider_than("float16"),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

EVERYTHING_BFLOAT16 = Mistake(
    id="everything-bfloat16",
    title="worked in bfloat16, with scores and softmax in float32",
    formula=r"\text{in and out bfloat16}",
    why="bfloat16 keeps 8 bits, between 2 and 3 decimal digits.",
    mend="Compare with a tolerance for bfloat16, or say that bfloat16 is meant.",
    hides_when="all numbers are exact in bfloat16",
    source="Dao-AILab/flash-attention#118",
    rewrite=lambda problem: altered(problem, dtype="bfloat16"),
    applies=wider_than("bfloat16"),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

SOFTMAX_ALL_FLOAT16 = Mistake(
    id="softmax-all-float16",
    title="rounded every step to float16",
    formula=r"\mathrm{fp16} \text{ after every step}",
    why="Without a float32 softmax the roundings of scores, exponentials, sum and weights add up.",
    mend="Keep scores and softmax in float32.",
    hides_when="all numbers are exact in float16",
    source="huggingface/candle#3727",
    wrong={
        "scores": lambda problem, query, key: rounded("float16")(
            rounded("float16")(wide(problem, query)) @ rounded("float16")(wide(problem, key)).swapaxes(-1, -2)
        ),
        "scale": lambda problem, scores: rounded("float16")(scores * problem.factor),
        "exponentials": lambda problem, logits, top: rounded("float16")(softmax.exponentials(logits, top)),
        "row-sum": lambda problem, exps, top: rounded("float16")(softmax.row_sum(exps)),
        "weights": lambda problem, exps, total: rounded("float16")(softmax.weights(exps, total)),
        "blend": lambda problem, weights, value, allowed: rounded("float16")(
            softmax.blend(weights, rounded("float16")(wide(problem, value)), allowed)
        ),
    },
    applies=lambda problem: problem.D is not None and problem.sink is None and wider_than("float16")(problem),
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

KV_CACHE_INT8 = Mistake(
    id="kv-cache-int8",
    title="kept keys and values in 8-bit steps",
    formula=r"\mathrm{round}(127\, x / \max|x|)\, \max|x| / 127",
    why="A cache of 8-bit integers with one factor per row is off by up to max|x|/254 in every entry.",
    mend="Compare with a tolerance that allows for it.",
    hides_when="each row's entries are multiples of its largest over 127",
    source="vllm-project/vllm#36893",
    wrong={
        "repeat-key": lambda problem, key: heads.repeat(to_int8(wide(problem, key)), problem.H),
        "repeat-value": lambda problem, value: heads.repeat(to_int8(wide(problem, value)), problem.H),
    },
    applies=lambda problem: problem.D is not None,
    witness=PLAIN,
    blind_spot=Recipe(Tq=2, Tk=2, D=2, fixed={"key": [[1.0, 0.0]] * 2, "value": [[1.0, 0.0]] * 2}),
    narrow=True,
)

KV_CACHE_FP8 = Mistake(
    id="kv-cache-fp8",
    title="kept keys and values in float8",
    formula=r"\mathrm{fp8}(K),\; \mathrm{fp8}(V)",
    why="A float8 with 3 bits of mantissa is off by up to 1 in 16.",
    mend="Scale keys and values before storing them, or compare with a tolerance that allows for it.",
    hides_when="keys and values are exact in float8",
    source="NVIDIA/Model-Optimizer#20",
    wrong={
        "repeat-key": lambda problem, key: heads.repeat(to_fp8(wide(problem, key)), problem.H),
        "repeat-value": lambda problem, value: heads.repeat(to_fp8(wide(problem, value)), problem.H),
    },
    applies=lambda problem: problem.D is not None,
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
)

ROPE_ANGLES_BFLOAT16 = Mistake(
    id="rope-angles-bfloat16",
    title="worked the angles of the positions out in bfloat16",
    formula=r"\cos(\mathrm{bf16}(p)\,\mathrm{bf16}(b^{-2i/d}))",
    why=(
        "bfloat16 holds whole numbers exactly up to 256 only: beyond, neighbours share a position, and "
        "angles are noise."
    ),
    mend="Work out positions, angles, sine and cosine in float32, then cast.",
    hides_when="positions and angles are exact in bfloat16",
    source="EleutherAI/gpt-neox#1003",
    wrong={
        "rotate-query": lambda problem, query: _turned_narrow(problem, query, query_positions(problem)),
        "rotate-key": lambda problem, key: _turned_narrow(problem, key, key_positions(problem)),
    },
    applies=roped_wide,
    witness=ROPED,
    blind_spot=Recipe(Tq=1, D=2, options={"rope": True}),
    narrow=True,
)


def _turned_narrow(problem: Problem, x: Array, positions: Array) -> Array:
    rope = rope_of(problem)
    narrow = rounded("bfloat16")
    speeds = narrow(np.asarray(rope.base ** (-np.arange(0, rope.dim, 2) / rope.dim)))
    return turn(wide(problem, x), *pairs(rope), narrow(narrow(positions.astype(float)) * speeds))


def to_decimals(theta: float | Array, x: Array) -> Array:
    """Rounded to θ decimals, as people write them."""
    unit = 10.0 ** np.asarray(theta)
    return np.asarray(np.round(x * unit) / unit)


def cut_to_decimals(theta: float | Array, x: Array) -> Array:
    """Cut off after θ decimals."""
    unit = 10.0 ** np.asarray(theta)
    return np.asarray(np.trunc(x * unit) / unit)


DECIMALS = Parameter(symbol="θ", values=lambda problem: (1.0, 2.0, 3.0, 4.0), whole=True)

WEIGHTS_ROUNDED_EARLY = Mistake(
    id="weights-rounded-early",
    title="rounded the weights before blending",
    formula=r"\mathrm{round}_\theta(W)\,V",
    why="With θ decimals in the weights, the output cannot be trusted to more.",
    mend="Carry one or two digits more than are asked, and round at the end.",
    hides_when="the weights have no more decimals",
    source="learners, by hand",
    wrong={
        "blend": lambda problem, theta, weights, value, allowed: softmax.blend(
            to_decimals(theta, weights), wide(problem, value), allowed
        )
    },
    parameter=DECIMALS,
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
    typical=True,
)

WEIGHTS_CUT_OFF = Mistake(
    id="weights-cut-off",
    title="cut the weights off instead of rounding them",
    formula=r"\mathrm{trunc}_\theta(W)",
    why="Cutting off makes every weight too small, and the rows sum to less than 1.",
    mend="Round to the nearest: 0.6652 to 0.665, 0.0667 to 0.067.",
    hides_when="the weights have no more decimals",
    source="learners, by hand",
    wrong={"after-softmax": lambda problem, theta, weights: cut_to_decimals(theta, weights)},
    parameter=DECIMALS,
    witness=PLAIN,
    blind_spot=WHOLE,
    narrow=True,
    typical=True,
)

EXPONENTIALS_ROUNDED_EARLY = Mistake(
    id="exponentials-rounded-early",
    title="rounded the exponentials before dividing",
    formula=r"\mathrm{round}_\theta(e^{s})/\textstyle\sum_k \mathrm{round}_\theta(e^{s_k})",
    why="Small exponentials lose most of their digits, and the weights with them.",
    mend="Carry one or two digits more than are asked, and round at the end.",
    hides_when="the exponentials have no more decimals",
    source="learners, by hand",
    wrong={
        "row-max": lambda problem, theta, logits: np.zeros_like(logits[..., :1]),
        "exponentials": lambda problem, theta, logits, top: to_decimals(theta, np.exp(logits)),
    },
    applies=lambda problem: problem.sink is None,
    parameter=DECIMALS,
    witness=PLAIN,
    blind_spot=Recipe(Tq=1, Tk=1, D=1, fixed={"query": [[0.0]]}),
    narrow=True,
    typical=True,
)

SCORES_ROUNDED_EARLY = Mistake(
    id="scores-rounded-early",
    title="rounded the scaled scores before the softmax",
    formula=r"\mathrm{softmax}(\mathrm{round}_\theta(S))",
    why="An error in a score is multiplied by its exponential: 0.05 in the score is 5 % in the weight.",
    mend="Keep three or more decimals in the scores.",
    hides_when="the scaled scores have no more decimals",
    source="learners, by hand",
    wrong={"before-softmax": lambda problem, theta, masked: to_decimals(theta, masked)},
    parameter=Parameter(symbol="θ", values=lambda problem: (0.0, 1.0, 2.0, 3.0, 4.0), whole=True),
    witness=PLAIN,
    blind_spot=ZEROS,
    narrow=True,
    typical=True,
)

MISTAKES: tuple[Mistake, ...] = (
    QK_ACCUMULATED_FP16,
    SCORES_FLOAT16,
    SCORES_BFLOAT16,
    INPUTS_TF32,
    QK_BFLOAT16,
    QK_FLOAT16,
    EXPONENTIALS_FLOAT16,
    EXPONENTIALS_BFLOAT16,
    ROW_SUM_FLOAT16,
    ROW_SUM_BFLOAT16,
    WEIGHTS_FLOAT16,
    WEIGHTS_BFLOAT16,
    EVERYTHING_FLOAT32,
    EVERYTHING_FLOAT16,
    EVERYTHING_BFLOAT16,
    SOFTMAX_ALL_FLOAT16,
    KV_CACHE_INT8,
    KV_CACHE_FP8,
    ROPE_ANGLES_BFLOAT16,
    WEIGHTS_ROUNDED_EARLY,
    WEIGHTS_CUT_OFF,
    EXPONENTIALS_ROUNDED_EARLY,
    SCORES_ROUNDED_EARLY,
)
