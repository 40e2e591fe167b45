"""Mistakes in the blend: which values, with which weights, and what is added to them."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..mechanism import softmax
from ..mechanism.steps import wide
from ..problem import Problem
from .heads import joined
from .mistake import Mistake, Parameter, Wrong
from .recipe import Recipe

BY_HAND = "learners, by hand"
RULE = "Vaswani et al. 2017, equation 1"
SAME_VALUES = {"value": [[1.0, -0.5], [1.0, -0.5], [1.0, -0.5]]}
EYE = [[1.0, 0.0], [0.0, 1.0]]
FACTORS = tuple(map(float, np.geomspace(0.05, 50, 60)))  # to try


def blended(problem: Problem, weights: Array, value: Array, allowed: Array) -> Array:
    """The right blend of whatever is handed over."""
    blend = softmax.blend(wide(problem, weights), wide(problem, value), allowed)
    return blend.astype(problem.dtype, copy=False)


def own_value(problem: Problem, value: Array) -> Array:
    """The value of each query's own token."""
    return value[..., problem.row_numbers, :].astype(problem.dtype, copy=False)


def has_value(problem: Problem) -> bool:
    """There is something to blend."""
    return problem.Dv is not None


def square(problem: Problem) -> bool:
    """Values to blend, and as many queries as keys; more than one."""
    return has_value(problem) and problem.Tq == problem.Tk > 1


WEIGHTS_TRANSPOSED = Mistake(
    id="weights-transposed",
    title="multiplied by the transpose of the weights",
    formula=r"W^TV",
    why="Row i of the weights says how query i blends the values. Transposed, output i takes what every "
    "query gives to key i.",
    mend="Multiply the weights as they are: W V.",
    hides_when="the weights are symmetric",
    source="heykeetae/Self-Attention-GAN#11",
    wrong={"after-softmax": lambda problem, weights: weights.swapaxes(-1, -2)},
    applies=square,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": EYE}),
    typical=True,
)

VALUES_AVERAGED = Mistake(
    id="values-averaged",
    title="averaged all the values instead of weighing them",
    formula=r"\frac{1}{T_k}\sum_j v_j",
    why="Every key then counts alike, whatever the query asks for.",
    mend="Multiply each value by its weight and add them up.",
    hides_when="all values are equal, or all weights are",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, np.full_like(weights, 1 / problem.Tk), value, allowed
        )
    },
    applies=has_value,
    witness=Recipe(),
    blind_spot=Recipe(Dv=2, fixed=SAME_VALUES),
    typical=True,
)

VALUES_SUMMED = Mistake(
    id="values-summed",
    title="added all the values up, without weights",
    formula=r"\sum_j v_j",
    why="Each value is to be multiplied by its weight before it is added.",
    mend="Multiply each value by its weight and add them up.",
    hides_when="there is one key, or the values sum to 0 and so does the blend",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, np.ones_like(weights), value, allowed
        )
    },
    applies=has_value,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
)

KEY_FOR_VALUE = Mistake(
    id="key-for-value",
    title="blended the keys instead of the values",
    formula=r"WK",
    why="Keys say what a token is found by; what it hands over is its value.",
    mend="Multiply the weights by V.",
    hides_when="K equals V; where d_k is not d_v the shapes show it",
    source="ruvnet/agentic-flow#191",
    wrong={"blend": Wrong(blended, ("attention", "key_repeated", "allowed"))},
    applies=lambda problem: has_value(problem) and problem.Dv == problem.D,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"key": EYE, "value": EYE}),
    typical=True,
)

QUERY_FOR_VALUE = Mistake(
    id="query-for-value",
    title="blended the queries instead of the values",
    formula=r"WQ",
    why="Queries say what a token looks for; what it hands over is its value.",
    mend="Multiply the weights by V.",
    hides_when="Q equals V; where d_k is not d_v the shapes show it",
    source=BY_HAND,
    wrong={"blend": Wrong(blended, ("attention", "query_heads", "allowed"))},
    applies=lambda problem: square(problem) and problem.Dv == problem.D,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "value": EYE}),
    typical=True,
)

VALUES_REVERSED = Mistake(
    id="values-reversed",
    title="took the values in reverse order",
    formula=r"\sum_j w_{ij} v_{T_k + 1 - j}",
    why="Weight j belongs to value j.",
    mend="Keep the values in the order of the keys.",
    hides_when="the values read the same from both ends",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, weights, value[..., ::-1, :], np.ones_like(allowed)
        )
    },
    applies=lambda problem: has_value(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(Dv=2, fixed=SAME_VALUES),
)

VALUES_SHIFTED = Mistake(
    id="values-shifted-by-one",
    title="met each weight with the value of the key before",
    formula=r"\sum_j w_{ij} v_{j - 1}",
    why="Weight j belongs to value j. Keys that have one token more in front (a start token) and values "
    "rolled to fit are off by one row.",
    mend="Keep the values in the order of the keys.",
    hides_when="all values are equal",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, weights, np.roll(value, 1, axis=-2), np.ones_like(allowed)
        )
    },
    applies=lambda problem: has_value(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(Dv=2, fixed=SAME_VALUES),
)

NEWEST_VALUE_IS_KEY = Mistake(
    id="newest-value-is-key",
    title="put the newest key into the values as well",
    formula=r"v_{T_k} = k_{T_k}",
    why="The cache of the values was extended with the new key: all earlier values are right, the last is "
    "not.",
    mend="Append the new key to the keys and the new value to the values.",
    hides_when="the last key and its value are equal; where d_k is not d_v the shapes show it",
    source="snu-comparch/InfiniGen#5",
    wrong={
        "blend": Wrong(
            lambda problem, weights, value, allowed, key: blended(
                problem, weights, _last_from(value, key), allowed
            ),
            ("attention", "value_repeated", "allowed", "key_repeated"),
        )
    },
    applies=lambda problem: has_value(problem) and problem.Dv == problem.D and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"key": EYE, "value": EYE}),
)


def _last_from(value: Array, key: Array) -> Array:
    """The values, the last of them replaced by the last key."""
    is_last = (np.arange(value.shape[-2]) == value.shape[-2] - 1)[:, None]
    return np.where(is_last, key, value)


VALUES_ENTRYWISE = Mistake(
    id="values-entrywise",
    title="multiplied weights and values entry by entry",
    formula=r"W \odot V",
    why="Entry by entry nothing is added up: each output is the sum over all keys of weight times value.",
    mend="Use the matrix product W V.",
    hides_when="never, where Tq, Tk and d_v are equal and above 1; otherwise the shapes refuse it",
    source=BY_HAND,
    wrong={"blend": lambda problem, weights, value, allowed: weights * value},
    applies=lambda problem: problem.Tq == problem.Tk == problem.Dv,
    mixes_queries=True,
    witness=Recipe(Tq=4),
    blind_spot=Recipe(Tq=1, D=1),
    typical=True,
)

SCORES_BLENDED = Mistake(
    id="scores-blended",
    title="multiplied the weights by the scores instead of the values",
    formula=r"WS",
    why="The scores have done their work in the softmax; what is blended are the values.",
    mend="Multiply the weights by V.",
    hides_when="never, where Tq, Tk and d_v are equal; otherwise the shapes refuse it",
    source=BY_HAND,
    wrong={"blend": Wrong(blended, ("attention", "scores", "allowed"))},
    applies=lambda problem: problem.Tq == problem.Tk == problem.Dv,
    mixes_queries=True,
    witness=Recipe(Tq=4),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": EYE, "value": EYE}),
)

OWN_VALUE_ONLY = Mistake(
    id="own-value-only",
    title="gave each token its own value",
    formula=r"z_i = v_i",
    why="Attention blends the values of all tokens that may be seen; each token's own is only one of them.",
    mend="Multiply the weights by V.",
    hides_when="all values are equal",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: own_value(problem, value) + 0 * weights[..., :1]
    },
    applies=square,
    witness=Recipe(),
    blind_spot=Recipe(Dv=2, fixed=SAME_VALUES),
)


def only(problem: Problem, weights: Array, keys: slice) -> Array:
    """The weights of some keys, 0 for the others."""
    kept = np.zeros(problem.Tk, dtype=bool)
    kept[keys] = True
    return np.where(kept, weights, weights.dtype.type(0))


LAST_TERM_ONLY = Mistake(
    id="blend-last-term-only",
    title="kept only the last term of the sum",
    formula=r"w_{iT_k} v_{T_k}",
    why="Each term replaced the one before instead of being added to it.",
    mend="Add the terms up: += in place of =.",
    hides_when="there is one key",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, only(problem, weights, slice(-1, None)), value, allowed
        )
    },
    applies=lambda problem: has_value(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
)

FIRST_TERM_ONLY = Mistake(
    id="blend-first-term-only",
    title="kept only the first term of the sum",
    formula=r"w_{i1} v_1",
    why="The sum stopped after one term.",
    mend="Let the sum run over all keys.",
    hides_when="only the first key may be seen",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, only(problem, weights, slice(1)), value, allowed
        )
    },
    applies=lambda problem: has_value(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"mask": [[True, False, False]] * 3}),
)

LAST_KEY_LEFT_OUT = Mistake(
    id="blend-without-last-key",
    title="left the last key out of the blend",
    formula=r"\sum_{j < T_k} w_{ij} v_j",
    why="The sum stops one key early.",
    mend="Let the sum run over all keys.",
    hides_when="the last key is masked for every query, or its value is 0",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, only(problem, weights, slice(-1)), value, allowed
        )
    },
    applies=has_value,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"mask": [[True, True, False]] * 3}),
)

FIRST_KEY_LEFT_OUT = Mistake(
    id="blend-without-first-key",
    title="left the first key out of the blend",
    formula=r"\sum_{j > 1} w_{ij} v_j",
    why="The sum starts one key late; counting from 0, the first key has index 0.",
    mend="Let the sum run over all keys.",
    hides_when="the first key is masked for every query, or its value is 0",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, only(problem, weights, slice(1, None)), value, allowed
        )
    },
    applies=has_value,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"mask": [[False, True, True]] * 3}),
)

BLEND_AVERAGED = Mistake(
    id="blend-averaged",
    title="took the mean of the weighted values instead of their sum",
    formula=r"\frac{1}{T_k}\sum_j w_{ij} v_j",
    why="The weights sum to 1 already, so the sum is the average; dividing by the number of keys shrinks it.",
    mend="Add the weighted values up.",
    hides_when="there is one key",
    source=BY_HAND,
    wrong={"blend": lambda problem, *fields: blended(problem, *fields) / problem.Tk},
    applies=lambda problem: has_value(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
    typical=True,
)

OUTPUT_TIMES_ANOTHER_NUMBER = Mistake(
    id="output-times-another-number",
    title="multiplied the output by a number",
    formula=r"\theta\,WV",
    why="The blend is the output; nothing is to be multiplied after it.",
    mend="Leave the factor out.",
    hides_when="θ is 1, or the output is 0",
    source=RULE,
    wrong={
        "blend": lambda problem, theta, *fields: (blended(problem, *fields) * theta).astype(problem.dtype)
    },
    applies=has_value,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (*FACTORS, -1.0),
        right=lambda problem: 1.0,
    ),
    witness=Recipe(),
    blind_spot=Recipe(fixed={"value": [[0.0] * 4] * 3}),
)

# --- heads and batch ------------------------------------------------------------------------------------

VALUE_OF_NEXT_HEAD = Mistake(
    id="value-of-next-head",
    title="gave each head the values of the next one",
    formula=r"W_h V_{h+1}",
    why="Each head blends the values that its own projection made.",
    mend="Keep the head axis of weights and values in the same order.",
    hides_when="there is one head, or all heads have the same values",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, weights, np.roll(value, -1, axis=-3), np.ones_like(allowed)
        )
    },
    applies=lambda problem: has_value(problem) and problem.H > 1,
    witness=Recipe(H=2),
    blind_spot=Recipe(H=2, Hkv=1),
)

VALUE_OF_FIRST_HEAD = Mistake(
    id="value-of-first-head",
    title="gave every head the values of the first one",
    formula=r"W_h V_1",
    why="Each head blends the values that its own projection made.",
    mend="Use the values of the head itself.",
    hides_when="there is one head, or all heads have the same values",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem, weights, np.repeat(value[..., :1, :, :], problem.H, axis=-3), np.ones_like(allowed)
        )
    },
    applies=lambda problem: has_value(problem) and problem.H > 1,
    witness=Recipe(H=2),
    blind_spot=Recipe(H=2, Hkv=1),
)

VALUE_OF_FIRST_SAMPLE = Mistake(
    id="value-of-first-sample",
    title="gave every batch element the values of the first one",
    formula=r"W_b V_1",
    why="Each sequence blends its own values.",
    mend="Use the values of the batch element itself.",
    hides_when="there is one batch element",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: blended(
            problem,
            weights,
            np.repeat(value[..., :1, :, :, :], problem.batch[0], axis=-4),
            np.ones_like(allowed),
        )
    },
    applies=lambda problem: has_value(problem) and len(problem.batch) == 1 and problem.batch[0] > 1,
    witness=Recipe(B=2, H=1),
    blind_spot=Recipe(B=1, H=1),
)

# --- what is added, and what leaks ------------------------------------------------------------------------

VALUE_ADDED = Mistake(
    id="value-added",
    title="added each token's own value to the output",
    formula=r"WV + V",
    why="A token's own value is in the blend already, with its weight.",
    mend="Leave the output as the blend.",
    hides_when="all values are 0",
    source=BY_HAND,
    wrong={
        "blend": lambda problem, weights, value, allowed: (
            blended(problem, weights, value, allowed) + own_value(problem, value)
        )
    },
    applies=square,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"value": [[0.0] * 4] * 3}),
)

QUERY_ADDED = Mistake(
    id="query-added",
    title="added each query to its output",
    formula=r"WV + Q",
    why="The residual connection stands around the layer and adds its input, not inside attention.",
    mend="Leave the output as the blend.",
    hides_when="all queries are 0; where d_k is not d_v the shapes refuse it",
    source=BY_HAND,
    wrong={
        "blend": Wrong(
            lambda problem, weights, value, allowed, query: (
                blended(problem, weights, value, allowed) + query.astype(problem.dtype)
            ),
            ("attention", "value_repeated", "allowed", "query_heads"),
        )
    },
    applies=lambda problem: has_value(problem) and problem.Dv == problem.D,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"query": [[0.0] * 4] * 3}),
)

OUTPUT_ACCUMULATED = Mistake(
    id="output-accumulated",
    title="carried the output on from query to query",
    formula=r"\textstyle\sum_{r \le i} z_r \text{ instead of } z_i",
    why="The accumulator was set to 0 before the loop over the queries, not inside it.",
    mend="Start every query with an accumulator of 0.",
    hides_when="there is one query",
    source="flashinfer-ai/flashinfer#5029",
    wrong={
        "merge-heads": lambda problem, blended: joined(
            problem, np.cumsum(blended, axis=-2, dtype=blended.dtype)
        )
    },
    applies=lambda problem: has_value(problem) and problem.Tq > 1,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=3),
)


MASKED_VALUE_LEAKS = Mistake(
    id="masked-value-leaks",
    title="let a masked key's NaN or infinity into the output",
    formula=r"0 \cdot \mathrm{NaN} = \mathrm{NaN}",
    why="A masked key has weight 0, but 0 times NaN is NaN, and 0 times ∞ is too: padding may hold anything.",
    mend="Leave masked keys out of the sum, or clear their values first.",
    hides_when="every value is finite",
    source="vllm-project/vllm#47305",
    wrong={
        "blend": lambda problem, weights, value, allowed: (
            wide(problem, weights) @ wide(problem, value)
        ).astype(problem.dtype)
    },
    applies=lambda problem: has_value(problem) and not _finite_values(problem),
    witness=Recipe(
        Tq=2,
        Dv=2,
        Tk=3,
        fixed={"value": [[0.5, 1.0], ["nan", 1.0], [-1.0, 0.3]], "mask": [[True, False, True]] * 2},
    ),
    blind_spot=Recipe(fixed={"mask": [[True, False, True]] * 3}),
)


def _finite_values(problem: Problem) -> bool:
    source = (
        problem.value
        if problem.value is not None
        else problem.x_key
        if problem.x_key is not None
        else problem.x
    )
    return bool(np.isfinite(source).all())


MISTAKES: tuple[Mistake, ...] = (
    WEIGHTS_TRANSPOSED,
    KEY_FOR_VALUE,
    QUERY_FOR_VALUE,
    VALUES_AVERAGED,
    VALUES_SUMMED,
    BLEND_AVERAGED,
    VALUES_ENTRYWISE,
    SCORES_BLENDED,
    OWN_VALUE_ONLY,
    VALUES_REVERSED,
    VALUES_SHIFTED,
    NEWEST_VALUE_IS_KEY,
    LAST_KEY_LEFT_OUT,
    FIRST_KEY_LEFT_OUT,
    LAST_TERM_ONLY,
    FIRST_TERM_ONLY,
    VALUE_OF_NEXT_HEAD,
    VALUE_OF_FIRST_HEAD,
    VALUE_OF_FIRST_SAMPLE,
    VALUE_ADDED,
    QUERY_ADDED,
    OUTPUT_ACCUMULATED,
    MASKED_VALUE_LEAKS,
    OUTPUT_TIMES_ANOTHER_NUMBER,
)
