"""Mistakes with ALiBi: the sign, the slopes, the distance, and where it is added."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.masks import float_masks
from ..mechanism.positions import distances
from ..problem import Problem, published_slopes
from .mistake import Mistake, Parameter, Reading, Wrong, WrongStep
from .recipe import Recipe

PAPER = "Press et al. 2022, section 3"
ONE = Recipe(Tq=3, options={"alibi": 0.5})
CAUSAL = Recipe(Tq=3, options={"alibi": 0.5, "causal": True})
PUBLISHED = Recipe(H=4, Tq=3, D=2, options={"alibi": True})
THREE_HEADS = Recipe(H=3, Tq=3, D=2, options={"alibi": True})
ONE_KEY = Recipe(Tk=1, Tq=1, options={"alibi": 0.5})
ALIKE = Recipe(H=2, Tq=3, D=2, options={"alibi": [0.5, 0.5]})
CACHED = Recipe(Tq=1, Tk=3, options={"alibi": 0.5})
BINARY_DISTANCES = Recipe(Tq=2, Tk=2, options={"alibi": 0.5})  # |i − j| is 0 or 1: its square is itself


# --- the bias, with one thing changed -------------------------------------------------------------


def slopes(problem: Problem) -> Array:
    """m_h, shape (H, 1, 1)."""
    return np.asarray(problem.alibi)[:, None, None]


def float_bias(problem: Problem) -> Array:
    """What the float masks add, without ALiBi."""
    bias = np.zeros((1, 1, 1), dtype=problem.work_dtype)
    for mask in float_masks(problem):
        bias = bias + np.where(np.isneginf(mask), 0, mask).astype(problem.work_dtype)
    return bias


def with_term(term: Callable[..., Any]) -> dict[str, WrongStep]:
    """The bias step with another ALiBi term: term(problem[, θ])."""
    return {
        "bias": lambda problem, *theta: (
            float_bias(problem) + np.asarray(term(problem, *theta)).astype(problem.work_dtype)
        )
    }


def with_slopes(other: Callable[..., Any]) -> dict[str, WrongStep]:
    """The bias step with other slopes, other(problem[, θ]) of shape (…, H, 1, 1)."""
    return with_term(lambda problem, *theta: -other(problem, *theta) * np.abs(distances(problem)))


def with_distances(other: Callable[[Problem], Array]) -> dict[str, WrongStep]:
    """The bias step with other distances, other(problem) of shape (…, 1, Tq, Tk)."""
    return with_term(lambda problem: -slopes(problem) * other(problem))


def head_numbers(problem: Problem) -> Array:
    """1 … H, shape (H, 1, 1)."""
    return np.arange(1, problem.H + 1)[:, None, None]


# --- which problems can show it -------------------------------------------------------------------


def biased(problem: Problem) -> bool:
    """The problem has ALiBi, and some slope is not zero."""
    return problem.alibi is not None and bool(np.any(problem.alibi))


def several_slopes(problem: Problem) -> bool:
    """Heads with slopes that differ."""
    return biased(problem) and len(set(problem.alibi)) > 1


def published(problem: Problem) -> bool:
    """The slopes are the published ones, for several heads."""
    return (
        problem.alibi is not None
        and problem.H > 1
        and np.allclose(problem.alibi, published_slopes(problem.H))
    )


def power_of_two(count: int) -> bool:
    """1, 2, 4, 8, …"""
    return math.log2(count).is_integer()


def looks_ahead(problem: Problem) -> bool:
    """A query may see keys after itself, so that the sign of the distance matters."""
    return biased(problem) and not problem.causal


ALIBI_SIGN = Mistake(
    id="alibi-sign",
    title="added the distance penalty instead of subtracting it",
    formula=r"S_{ij} + m_h |i - j|",
    why="Far keys are then favoured, and attention drifts to the start.",
    mend="Add −m·|i − j|: nothing for the query's own place, less the farther away.",
    hides_when="all keys are equally far, or the slope is 0",
    source="meta-pytorch/attention-gym#86",
    wrong=with_slopes(lambda problem: -slopes(problem)),
    applies=biased,
    witness=ONE,
    blind_spot=ONE_KEY,
    typical=True,
)

ALIBI_IGNORED = Mistake(
    id="alibi-ignored",
    title="left the distance penalty out",
    formula=r"S_{ij} \text{ without } -m_h |i - j|",
    why="Without it, the order of the tokens makes no difference to a score.",
    mend="Add −m·|i − j| to the scaled scores.",
    hides_when="all keys are equally far, or the slope is 0",
    source="ofirpress/attention_with_linear_biases#20",
    wrong=with_term(lambda problem: np.zeros((1, 1, 1))),
    applies=biased,
    witness=ONE,
    blind_spot=ONE_KEY,
    typical=True,
    readings=(
        Reading(
            id="alibi-over-new-tokens-only",
            title="worked the penalty out over the new tokens only, so it vanished",
            why=(
                "Built for one new query, the penalty is a single 0 and broadcasts over all cached keys "
                "without an error."
            ),
            mend="Build it over all keys, with the query at its true position.",
            source="keras-team/keras-hub#2861",
        ),
    ),
)

# --- distance -------------------------------------------------------------------------------------

ALIBI_SIGNED = Mistake(
    id="alibi-signed",
    title="took the signed distance, not its size",
    formula=r"-m_h (i - j)",
    why="Keys after the query are then rewarded; the penalty counts the distance in both directions.",
    mend="Take |i − j|.",
    hides_when="a causal mask hides the keys after the query",
    source=PAPER,
    wrong=with_distances(distances),
    applies=looks_ahead,
    witness=ONE,
    blind_spot=CAUSAL,
    typical=True,
)

ALIBI_BY_KEY_INDEX = Mistake(
    id="alibi-by-key-index",
    title="added m·j instead of −m·(i − j)",
    formula=r"+m_h\, j",
    why=(
        "The two differ by a constant in each row, which the softmax does not see: published code does "
        "it where the mask is causal. Without one, keys after the query are rewarded."
    ),
    mend="Add −m·|i − j| where the numbers before the softmax, the logsumexp or an unmasked row are asked.",
    hides_when="the mask is causal, from the weights on",
    source="ofirpress/attention_with_linear_biases#9",
    wrong=with_term(lambda problem: slopes(problem) * np.arange(problem.Tk)),
    applies=biased,
    convention=True,
    witness=ONE,
    blind_spot=ONE_KEY,
)

ALIBI_FUTURE_NOT_PENALISED = Mistake(
    id="alibi-future-not-penalised",
    title="penalised only the keys before the query",
    formula=r"-m_h \max(i - j, 0)",
    why="Keys after the query are as far as keys before it; a causal model never notices.",
    mend="Take |i − j|.",
    hides_when="a causal mask hides the keys after the query",
    source=PAPER,
    wrong=with_distances(lambda problem: np.maximum(distances(problem), 0)),
    applies=looks_ahead,
    witness=ONE,
    blind_spot=CAUSAL,
)

ALIBI_DISTANCE_SQUARED = Mistake(
    id="alibi-distance-squared",
    title="squared the distance",
    formula=r"-m_h (i - j)^2",
    why="The penalty is linear, as the name says: attention with linear biases.",
    mend="Take |i − j|.",
    hides_when="no key is farther than 1",
    source=PAPER,
    wrong=with_distances(lambda problem: np.square(distances(problem))),
    applies=biased,
    witness=ONE,
    blind_spot=BINARY_DISTANCES,
    typical=True,
)

ALIBI_OFFSET_IGNORED = Mistake(
    id="alibi-offset-ignored",
    title="measured the distance from the query's index, not from its position",
    formula=r"-m_h |i - j| \text{ with } i = 0, 1, \ldots",
    why="With a cache, query 0 stands after the cached keys; measured from 0 the farthest key looks nearest.",
    mend="Use the position i + offset of each query.",
    hides_when="the first query stands at position 0",
    source=PAPER,
    wrong=with_distances(lambda problem: np.abs(problem.row_numbers[:, None] - np.arange(problem.Tk))),
    applies=lambda problem: biased(problem) and bool((distances(problem)[..., :1, :1] != 0).any()),
    witness=CACHED,
    blind_spot=ONE,
)

ALIBI_QUERY_ONE_AHEAD = Mistake(
    id="alibi-query-one-ahead",
    title="measured the distances from one position too far",
    formula=r"-m_h |i + 1 - j|",
    why=(
        "The length was read after the new token had been appended. A causal softmax does not notice: "
        "every distance grows by 1."
    ),
    mend="The query's own key is at distance 0.",
    hides_when="the mask is causal, from the weights on",
    source="vllm-project/vllm#945",
    wrong=with_distances(lambda problem: np.abs(distances(problem) + 1)),
    applies=biased,
    witness=ONE,
    blind_spot=CAUSAL,
)

# --- slopes ---------------------------------------------------------------------------------------

ALIBI_SLOPES_REVERSED = Mistake(
    id="alibi-slopes-reversed",
    title="gave the heads their slopes in reverse order",
    formula=r"m_{H + 1 - h}",
    why="The first head has the steepest slope, the last one the flattest.",
    mend="Head h, from 1, has m_h = 2^(−8h/H).",
    hides_when="there is one head, or all slopes are equal",
    source=PAPER,
    wrong=with_slopes(lambda problem: slopes(problem)[::-1]),
    applies=several_slopes,
    witness=PUBLISHED,
    blind_spot=ALIKE,
)

ALIBI_SLOPES_FROM_ZERO = Mistake(
    id="alibi-slopes-from-zero",
    title="counted heads from 0 in the slopes",
    formula=r"2^{-8(h-1)/H}",
    why="The first head then has the slope 1, and every head one that is too steep.",
    mend="Count heads from 1: the first slope is 2^(−8/H).",
    hides_when="there is one key",
    source="paiml/aprender#2143",
    wrong=with_slopes(lambda problem: 2.0 ** (-8 * (head_numbers(problem) - 1) / problem.H)),
    applies=lambda problem: published(problem) and power_of_two(problem.H),
    witness=PUBLISHED,
    blind_spot=Recipe(H=4, Tq=1, D=2, options={"alibi": True}),
    typical=True,
)

ALIBI_SLOPES_NOT_INTERLEAVED = Mistake(
    id="alibi-slopes-not-interleaved",
    title="used 2^(−8h/H) for a number of heads that is no power of two",
    formula=r"m_h = 2^{-8h/H} \text{ for any } H",
    why=(
        "The authors' code takes the slopes of the next lower power of two and fills up with every other "
        "slope of twice as many heads."
    ),
    mend="For H = 3: the slopes for 2 heads, then the first of those for 4.",
    hides_when="the number of heads is a power of two",
    source="ml-explore/mlx#3071",
    wrong=with_slopes(lambda problem: 2.0 ** (-8 * head_numbers(problem) / problem.H)),
    applies=lambda problem: published(problem) and not power_of_two(problem.H),
    witness=THREE_HEADS,
    blind_spot=PUBLISHED,
)

ALIBI_SLOPES_HALVED = Mistake(
    id="alibi-slopes-halved",
    title="halved the slope from head to head, however many there are",
    formula=r"m_h = 2^{-h}",
    why="The slopes ½, ¼ … belong to 8 heads; in general the ratio is 2^(−8/H).",
    mend="Head h has m_h = 2^(−8h/H).",
    hides_when="there are 8 heads",
    source=PAPER,
    wrong=with_slopes(lambda problem: 2.0 ** -head_numbers(problem).astype(float)),
    applies=lambda problem: published(problem) and problem.H != 8,
    witness=PUBLISHED,
    blind_spot=Recipe(H=8, Tq=2, D=2, options={"alibi": True}),
    typical=True,
)

ALIBI_ANOTHER_EXPONENT = Mistake(
    id="alibi-another-exponent",
    title="spread the slopes over another range",
    formula=r"m_h = 2^{-\theta h/H}",
    why="The last head has the slope 2^(−8): the 8 is in the published rule, whatever the number of heads.",
    mend="Head h has m_h = 2^(−8h/H).",
    hides_when="θ is 8",
    source=PAPER,
    wrong=with_slopes(lambda problem, theta: 2.0 ** (-theta * head_numbers(problem) / problem.H)),
    applies=lambda problem: published(problem) and power_of_two(problem.H),
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (
            4.0,
            16.0,
            float(problem.H),
            1.0,
            2.0,
            *(float(b) for b in np.geomspace(0.5, 32, 30)),
        ),
        right=lambda problem: 8.0,
    ),
    witness=PUBLISHED,
    blind_spot=ONE_KEY,
)

ALIBI_ONE_SLOPE = Mistake(
    id="alibi-one-slope",
    title="used the first head's slope for all heads",
    formula=r"m_h = m_1",
    why="Heads look at different ranges because their slopes differ.",
    mend="Give every head its own slope.",
    hides_when="there is one head, or all slopes are equal",
    source=PAPER,
    wrong=with_slopes(lambda problem: slopes(problem)[:1]),
    applies=several_slopes,
    witness=PUBLISHED,
    blind_spot=ALIKE,
)

ALIBI_SLOPES_RESTART = Mistake(
    id="alibi-slopes-restart",
    title="started the slopes anew in the second half of the heads",
    formula=r"m_{h} = m_{h - H/2} \text{ for } h > H/2",
    why="Spread over two devices, each counts its heads from the first.",
    mend="Add the number of heads on earlier devices before taking the slope.",
    hides_when="there is one head, or all slopes are equal",
    source="bigscience-workshop/Megatron-DeepSpeed#227",
    wrong=with_slopes(lambda problem: slopes(problem)[np.arange(problem.H) % (problem.H // 2)]),
    applies=lambda problem: several_slopes(problem) and problem.H % 2 == 0 and problem.H > 2,
    witness=PUBLISHED,
    blind_spot=ALIKE,
)

ALIBI_SLOPE_PER_KV_HEAD = Mistake(
    id="alibi-slope-per-kv-head",
    title="took the slope of the key/value head",
    formula=r"m_{\lfloor h H_{kv}/H \rfloor}",
    why="Slopes belong to query heads; those that share a key/value head still have their own.",
    mend="Index the slopes by query head.",
    hides_when="each query head has its own key/value head",
    source=PAPER,
    wrong=with_slopes(lambda problem: slopes(problem)[np.arange(problem.H) * problem.Hkv // problem.H]),
    applies=lambda problem: several_slopes(problem) and problem.Hkv < problem.H,
    witness=Recipe(H=4, Hkv=2, Tq=3, D=2, options={"alibi": True}),
    blind_spot=PUBLISHED,
)

ALIBI_ANOTHER_SLOPE = Mistake(
    id="alibi-another-slope",
    title="used slopes that are too steep or too flat",
    formula=r"-\theta\, m_h |i - j|",
    why="The penalty is that of the given slope times θ.",
    mend="Use the slope as it is given.",
    hides_when="θ is 1, or all keys are equally far",
    source=PAPER,
    wrong=with_slopes(lambda problem, theta: theta * slopes(problem)),
    applies=biased,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (2.0, 0.5, *(float(f) for f in np.geomspace(0.02, 50, 40)), -1.0, -2.0, -0.5),
        right=lambda problem: 1.0,
    ),
    witness=ONE,
    blind_spot=ONE_KEY,
)

# --- where it is added ----------------------------------------------------------------------------

ALIBI_SCALED_TOO = Mistake(
    id="alibi-scaled-too",
    title="added the penalty before the scale",
    formula=r"(QK^T - m_h |i - j|)/\sqrt{d_k}",
    why="The penalty is then divided by √d_k as well, and wide heads hardly feel it.",
    mend="Divide the scores first, then add the penalty.",
    hides_when="d_k is 1, or all keys are equally far",
    source=PAPER,
    wrong=with_slopes(lambda problem: slopes(problem) * problem.factor),
    applies=lambda problem: biased(problem) and problem.softcap is None,
    witness=ONE,
    blind_spot=Recipe(Tq=3, D=1, options={"alibi": 0.5}),
    typical=True,
)

ALIBI_AFTER_SOFTMAX = Mistake(
    id="alibi-after-softmax",
    title="added the penalty to the weights",
    formula=r"\mathrm{softmax}(S)_{ij} - m_h |i - j|",
    why=(
        "After the softmax the rows sum to 1 already; with the penalty they do not, and weights turn "
        "negative."
    ),
    mend="Add the penalty to the scaled scores, before the softmax.",
    hides_when="every visible key is at distance 0",
    source=PAPER,
    wrong={
        **with_term(lambda problem: np.zeros((1, 1, 1))),
        "after-softmax": Wrong(
            lambda problem, weights, allowed: np.where(
                allowed, weights - slopes(problem) * np.abs(distances(problem)), weights
            ),
            reads=("settled", "allowed"),
        ),
    },
    applies=biased,
    witness=ONE,
    blind_spot=ONE_KEY,
)

ALIBI_MULTIPLIED = Mistake(
    id="alibi-multiplied",
    title="multiplied the scores by the penalty instead of adding it",
    formula=r"S_{ij} \cdot (-m_h |i - j|)",
    why="A factor of 0 erases every token's score with itself, and signs change.",
    mend="Add −m·|i − j| to the scaled scores.",
    hides_when="never, but in scores that happen to agree",
    source="ofirpress/attention_with_linear_biases#7",
    wrong={
        "add-bias": lambda problem, capped, bias: (
            capped * -slopes(problem) * np.abs(distances(problem)) + float_bias(problem)
        )
    },
    applies=biased,
    witness=ONE,
    blind_spot=None,
)

MISTAKES: tuple[Mistake, ...] = (
    ALIBI_SIGN,
    ALIBI_IGNORED,
    ALIBI_SIGNED,
    ALIBI_BY_KEY_INDEX,
    ALIBI_FUTURE_NOT_PENALISED,
    ALIBI_DISTANCE_SQUARED,
    ALIBI_OFFSET_IGNORED,
    ALIBI_QUERY_ONE_AHEAD,
    ALIBI_SLOPES_REVERSED,
    ALIBI_SLOPES_FROM_ZERO,
    ALIBI_SLOPES_NOT_INTERLEAVED,
    ALIBI_SLOPES_HALVED,
    ALIBI_ANOTHER_EXPONENT,
    ALIBI_ONE_SLOPE,
    ALIBI_SLOPES_RESTART,
    ALIBI_SLOPE_PER_KV_HEAD,
    ALIBI_ANOTHER_SLOPE,
    ALIBI_SCALED_TOO,
    ALIBI_AFTER_SOFTMAX,
    ALIBI_MULTIPLIED,
)
