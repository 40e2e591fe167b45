"""Mistakes in the softmax: what is exponentiated, what it is divided by, along which axis, and how often."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..mechanism import softmax
from ..mechanism.masks import is_masked
from ..mechanism.steps import row_sum
from ..problem import Problem
from .blending import blended
from .mistake import Mistake, Parameter, Reading, Wrong
from .recipe import Recipe

BY_HAND = "learners, by hand"
RULE = "Vaswani et al. 2017, equation 1"
ONE_KEY = Recipe(Tk=1)
ONE_KEY_ONLY = "there is one key"
NO_QUERY = {"query": [[0.0] * 4] * 3}
ONE_SCORE_OF_ONE = Recipe(Tq=1, D=1, fixed={"query": [[1.0]], "key": [[1.0]]})
WIDE_APART = Recipe(spread=60.0)  # scores of several thousand: e to that power is beyond float64
BASES = tuple(map(float, np.geomspace(1.05, 100, 60)))  # to try
EPSILONS = tuple(map(float, np.geomspace(1e-4, 1e3, 70)))  # to try


def plain(problem: Problem) -> bool:
    """No extra logit stands in the softmax, and all keys are taken in one go."""
    return problem.sink is None and problem.chunks is None


def _in_dtype(problem: Problem, weights: Array) -> Array:
    return weights.astype(problem.dtype, copy=False)


def _finite(logits: Array) -> Array:
    """The scores, with 0 in the place of masked ones: nobody works with −∞ where no exponential follows."""
    return np.where(np.isneginf(logits), logits.dtype.type(0), logits)


def _from_logits(rule: Callable[[Problem, Array], Array]) -> Wrong:
    """Weights worked out from the masked scores by another rule than the softmax."""
    return Wrong(lambda problem, logits: _in_dtype(problem, rule(problem, logits)), ("logits",))


# --- no softmax, or another function -------------------------------------------------------------------

SOFTMAX_MISSING = Mistake(
    id="softmax-missing",
    title="used the scores as weights, without a softmax",
    formula=r"W = S",
    why="Scores can be negative and sum to anything. The softmax makes them positive and lets each row sum "
    "to 1.",
    mend="Exponentiate each score and divide by the row's sum.",
    hides_when="there is one key and its score is 1",
    source="flexflow/flexflow-train#467",
    wrong={"weights": _from_logits(lambda problem, logits: _finite(logits))},
    witness=Recipe(),
    blind_spot=ONE_SCORE_OF_ONE,
    typical=True,
)

SOFTMAX_NOT_EXPONENTIATED = Mistake(
    id="softmax-not-exponentiated",
    title="divided each score by its row's sum, without exponentials",
    formula=r"s_{ij} / \sum_j s_{ij}",
    why="Without the exponential, negative scores give negative weights, and a sum near 0 makes them huge.",
    mend="Take e to the power of each score first, then divide by the sum of those.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={"exponentials": lambda problem, logits, top: _finite(logits)},
    applies=plain,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, D=1, fixed={"query": [[1.0]], "key": [[2.0]], "value": [[1.0]]}),
    typical=True,
)

SOFTMAX_SHIFTED_NOT_EXPONENTIATED = Mistake(
    id="softmax-shifted-not-exponentiated",
    title="subtracted the row's maximum and divided by the sum, without exponentials",
    formula=r"(s_{ij} - m_i) / \sum_j (s_{ij} - m_i)",
    why="Subtracting the maximum only prepares the exponential; without it, the best key gets weight 0.",
    mend="Take e to the power of each difference, then divide by the sum of those.",
    hides_when="all values are equal: the weights still sum to 1",
    source=BY_HAND,
    wrong={"exponentials": lambda problem, logits, top: _finite(logits - np.where(np.isneginf(top), 0, top))},
    applies=plain,
    witness=Recipe(),
    blind_spot=Recipe(Dv=2, fixed={"value": [[1.0, -0.5]] * 3}),
)

SOFTMAX_SQUARED = Mistake(
    id="softmax-squared",
    title="squared the scores instead of exponentiating them",
    formula=r"s_{ij}^2 / \sum_j s_{ij}^2",
    why="Squares are positive too, but a strongly negative score then gets a large weight.",
    mend="Use e to the power of the score.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={"exponentials": lambda problem, logits, top: _finite(logits) ** 2},
    applies=plain,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, D=1, fixed={"query": [[1.0]], "key": [[2.0]], "value": [[1.0]]}),
)

SOFTMAX_SIGMOID = Mistake(
    id="softmax-sigmoid",
    title="took the sigmoid of each score",
    formula=r"1/(1 + e^{-s_{ij}})",
    why="A sigmoid judges each key on its own. In a softmax the keys share one unit of weight.",
    mend="Divide each exponential by the sum of its row.",
    hides_when="there are two keys and every score is 0",
    source=BY_HAND,
    wrong={"weights": _from_logits(lambda problem, logits: 1 / (1 + np.exp(-logits)))},
    applies=plain,
    witness=Recipe(),
    blind_spot=Recipe(Tk=2, fixed=NO_QUERY),
)

SOFTMAX_HARD = Mistake(
    id="softmax-hard",
    title="gave all the weight to the best key",
    formula=r"w_{ij} = 1 \text{ for the largest } s_{ij}",
    why="That is the maximum, not the softmax: every allowed key keeps a share.",
    mend="Exponentiate the scores and divide by the row's sum.",
    hides_when="one score lies far above the others of its row",
    source=BY_HAND,
    wrong={"after-softmax": lambda problem, weights: _best(weights)},
    witness=Recipe(),
    blind_spot=ONE_KEY,
    typical=True,
    readings=(
        Reading(
            id="best-value-only",
            title="copied the value of the best key",
            why="The output is a blend of all allowed values, not a choice of one.",
            mend="Weigh every value with its own weight and add them up.",
            source=BY_HAND,
        ),
    ),
)


def _best(weights: Array) -> Array:
    chosen = np.arange(weights.shape[-1]) == np.argmax(weights, axis=-1, keepdims=True)
    best = chosen & (weights.max(axis=-1, keepdims=True) > 0)
    return np.asarray(best.astype(weights.dtype))


SOFTMAX_LOG = Mistake(
    id="softmax-log",
    title="took the logarithm of the softmax",
    formula=r"\ln W",
    why="log_softmax is made for losses; its values are negative and do not sum to 1.",
    mend="Use softmax, not log_softmax.",
    hides_when="never, as no number is its own logarithm",
    source=BY_HAND,
    wrong={"after-softmax": lambda problem, weights: np.log(weights)},
    witness=Recipe(),
    blind_spot=None,
)

SOFTMIN = Mistake(
    id="softmin",
    title="exponentiated the negative scores",
    formula=r"e^{-s_{ij}} / \sum_j e^{-s_{ij}}",
    why="e to the power of minus the score gives the worst match the largest weight.",
    mend="Exponentiate the scores with their own sign.",
    hides_when="all scores of a row are equal",
    source="CASIA-IVA-Lab/DANet#48",
    wrong={"before-softmax": lambda problem, masked: np.where(np.isneginf(masked), masked, -masked)},
    applies=plain,
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

SOFTMAX_AFTER_BLEND = Mistake(
    id="softmax-after-blend",
    title="blended with the raw scores and took the softmax of the result",
    formula=r"\mathrm{softmax}(SV)",
    why="The softmax turns scores into weights, before they meet the values. The output is no distribution.",
    mend="Softmax the scores of each row, then multiply by V.",
    hides_when="the values are one number wide and that number is 1",
    source=BY_HAND,
    wrong={
        "weights": _from_logits(lambda problem, logits: _finite(logits)),
        "blend": lambda problem, *fields: _in_dtype(problem, _softmax(blended(problem, *fields))),
    },
    applies=lambda problem: problem.Dv is not None,
    witness=Recipe(),
    blind_spot=Recipe(Tq=2, Dv=1, fixed={"value": [[1.0], [1.0]]}),
    typical=True,
)


def _softmax(x: Array) -> Array:
    exps = softmax.exponentials(x, softmax.row_max(x))
    return softmax.weights(exps, softmax.row_sum(exps))


SOFTMAX_TWICE = Mistake(
    id="softmax-twice",
    title="took the softmax twice",
    formula=r"\mathrm{softmax}(\mathrm{softmax}(S))",
    why="The second softmax sees numbers between 0 and 1 and makes them almost equal; masked keys get "
    "weight again.",
    mend="Take the softmax once.",
    hides_when="all weights of a row are equal and none is masked",
    source="zyy-2001/DisKT#6",
    wrong={"after-softmax": lambda problem, weights: _softmax(weights)},
    witness=Recipe(),
    blind_spot=ONE_KEY,
    typical=True,
)

SOFTMAX_TWICE_MASKED = Mistake(
    id="softmax-twice-masked",
    title="took the softmax twice, and masked both times",
    formula=r"\mathrm{softmax}(\mathrm{mask}(\mathrm{softmax}(S)))",
    why="The second softmax sees numbers between 0 and 1 and makes them almost equal.",
    mend="Take the softmax once.",
    hides_when="all weights of a row are equal",
    source="zyy-2001/DisKT#6",
    wrong={
        "after-softmax": Wrong(
            lambda problem, weights, allowed: _softmax(
                np.where(allowed, weights, weights.dtype.type(-np.inf))
            ),
            ("settled", "allowed"),
        )
    },
    applies=is_masked,
    witness=Recipe(mask="bool", Tk=5),
    blind_spot=Recipe(Tk=1, fixed={"mask": [[True]] * 3}),
)

# --- another base ---------------------------------------------------------------------------------------


def _powers(base: float | Array, logits: Array, top: Array) -> Array:
    """base^(s − m)."""
    shifted = logits - np.where(np.isneginf(top), 0, top)
    return np.asarray(np.exp(shifted * np.log(np.asarray(base, dtype=logits.dtype))))


SOFTMAX_BASE_TWO = Mistake(
    id="softmax-base-two",
    title="took powers of 2 instead of e",
    formula=r"2^{s_{ij}} / \sum_j 2^{s_{ij}}",
    why="exp2 is faster than exp, but then the scores have to be multiplied by log₂ e = 1.4427 first.",
    mend="Use e, or multiply the scores by 1/ln 2 before exp2.",
    hides_when="all scores of a row are equal",
    source="triton-lang/triton#2700, where the factor is there",
    wrong={"exponentials": lambda problem, logits, top: _powers(2.0, logits, top)},
    applies=plain,
    witness=Recipe(),
    blind_spot=ONE_KEY,
    typical=True,
)

SOFTMAX_BASE_TEN = Mistake(
    id="softmax-base-ten",
    title="took powers of 10 instead of e",
    formula=r"10^{s_{ij}} / \sum_j 10^{s_{ij}}",
    why="On many calculators 10ˣ and eˣ are neighbours, as log and ln are.",
    mend="Use the key eˣ.",
    hides_when="all scores of a row are equal",
    source=BY_HAND,
    wrong={"exponentials": lambda problem, logits, top: _powers(10.0, logits, top)},
    applies=plain,
    witness=Recipe(),
    blind_spot=ONE_KEY,
    typical=True,
)

SOFTMAX_ANOTHER_BASE = Mistake(
    id="softmax-another-base",
    title="took powers of another number than e",
    formula=r"\theta^{s_{ij}} / \sum_j \theta^{s_{ij}}",
    why="The softmax takes powers of e = 2.71828…",
    mend="Use the exponential function.",
    hides_when="θ is e, or all scores of a row are equal",
    source=RULE,
    wrong={"exponentials": lambda problem, theta, logits, top: _powers(theta, logits, top)},
    applies=plain,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (2.7, 2.72, 2.718, 3.0, 4.0, *BASES),
        right=lambda problem: math.e,
    ),
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

# --- along another axis ----------------------------------------------------------------------------------


def over(axes: Callable[[Problem], tuple[int, ...]]) -> dict[str, Wrong]:
    """A softmax whose maximum and sum run over other axes than the keys."""
    return {
        "row-max": Wrong(
            lambda problem, logits: np.max(logits, axis=axes(problem), keepdims=True), ("logits",)
        ),
        "row-sum": Wrong(
            lambda problem, exps: np.sum(exps, axis=axes(problem), keepdims=True), ("exponentials",)
        ),
    }


def batch_axis(problem: Problem) -> int:
    """The axis that people call the batch: the one before the heads, or the first of three."""
    return -4 if problem.batch else -3


def has_batch_axis(problem: Problem) -> bool:
    """There is one axis that may be a batch."""
    return plain(problem) and (
        len(problem.batch) == 1 or (problem.batch == () and not problem.single and not problem.packed)
    )


SOFTMAX_OVER_QUERIES = Mistake(
    id="softmax-over-queries",
    title="took the softmax down the columns, over the queries",
    formula=r"e^{s_{ij}} / \sum_i e^{s_{ij}}",
    why="Each query shares out one unit of weight among the keys: every row sums to 1. Over the queries, "
    "every column does.",
    mend="Take the softmax over the keys, the last axis: softmax(scores, axis=-1).",
    hides_when="the exponentials are symmetric and rows and columns have equal sums",
    source="nerminnuraydogan/vision-transformer#1",
    wrong=over(lambda problem: (-2,)),
    applies=plain,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=1),
    typical=True,
)

SOFTMAX_OVER_BATCH = Mistake(
    id="softmax-over-batch",
    title="took the softmax over the batch",
    formula=r"e^{s_{bij}} / \sum_b e^{s_{bij}}",
    why="The first axis is the batch. With one batch element, every weight is 1, whatever the scores are.",
    mend="Take the softmax over the keys, the last axis: softmax(scores, axis=-1).",
    hides_when="there is one key and one batch element",
    source="PetrochukM/PyTorch-NLP#2",
    wrong=over(lambda problem: (batch_axis(problem),)),
    applies=has_batch_axis,
    witness=Recipe(B=2, H=1),
    blind_spot=Recipe(B=1, H=1, Tk=1),
)

SOFTMAX_OVER_BATCH_AND_QUERIES = Mistake(
    id="softmax-over-batch-and-queries",
    title="took the softmax over the first axis of the scores with batch and queries in one axis",
    formula=r"e^{s_{bij}} / \sum_{b,i} e^{s_{bij}}",
    why="With batch and queries flattened into one axis, the first axis is not the keys.",
    mend="Take the softmax over the keys, the last axis: softmax(scores, axis=-1).",
    hides_when="there is one key, one query and one batch element",
    source="PetrochukM/PyTorch-NLP#2",
    wrong=over(lambda problem: (batch_axis(problem), -2)),
    applies=has_batch_axis,
    mixes_queries=True,
    witness=Recipe(B=2, H=1),
    blind_spot=Recipe(B=1, H=1, Tq=1, Tk=1),
)

SOFTMAX_OVER_HEADS = Mistake(
    id="softmax-over-heads",
    title="took the softmax over the heads",
    formula=r"e^{s_{hij}} / \sum_h e^{s_{hij}}",
    why="The heads work apart from each other; in each of them, every query shares out weight among the "
    "keys.",
    mend="Take the softmax over the keys, the last axis: softmax(scores, axis=-1).",
    hides_when="there is one key and one head",
    source="FudanNLP/fastNLP#254",
    wrong=over(lambda problem: (-3,)),
    applies=lambda problem: plain(problem) and not problem.single,
    witness=Recipe(H=2),
    blind_spot=Recipe(H=1, Tk=1),
)

SOFTMAX_OVER_TABLE = Mistake(
    id="softmax-over-table",
    title="took one softmax over the whole table",
    formula=r"e^{s_{ij}} / \sum_{i,j} e^{s_{ij}}",
    why="Every query shares out one unit of weight of its own: each row sums to 1, not all rows together.",
    mend="Divide each exponential by the sum of its own row.",
    hides_when="there is one query",
    source=BY_HAND,
    wrong=over(lambda problem: (-2, -1)),
    applies=lambda problem: plain(problem) and problem.Tq > 1,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=3),
    typical=True,
)

SOFTMAX_OVER_EVERYTHING = Mistake(
    id="softmax-over-everything",
    title="took one softmax over all heads and batch elements together",
    formula=r"e^{s_{bhij}} / \sum_{b,h,i,j} e^{s_{bhij}}",
    why="Every query of every head shares out one unit of weight of its own.",
    mend="Take the softmax over the keys, the last axis: softmax(scores, axis=-1).",
    hides_when="there is one query, one head and one batch element",
    source=BY_HAND,
    wrong=over(lambda problem: tuple(range(-3 - len(problem.batch), 0))),
    applies=lambda problem: plain(problem) and not problem.single,
    mixes_queries=True,
    witness=Recipe(B=2, H=2),
    blind_spot=Recipe(B=1, H=1, Tq=1, Tk=3),
)

# --- another sum below the fraction -----------------------------------------------------------------------

SOFTMAX_OVER_AXIS_OF_ONE = Mistake(
    id="softmax-over-axis-of-one",
    title="took the softmax over an axis of length 1",
    formula=r"e^{s_{ij}} / e^{s_{ij}} = 1",
    why="Over an axis with one entry, every softmax is 1, whatever the score is: the values are added up.",
    mend="Take the softmax over the keys, and look at the shape of the scores first.",
    hides_when=ONE_KEY_ONLY,
    source="localminimum/R-net#8",
    wrong={"weights": lambda problem, exps, total: _in_dtype(problem, np.ones_like(exps))},
    applies=lambda problem: plain(problem) and not is_masked(problem),
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

SOFTMAX_DIVIDED_BY_SCORES = Mistake(
    id="softmax-divided-by-scores",
    title="divided the exponentials by the sum of the scores",
    formula=r"e^{s_{ij}} / \sum_j s_{ij}",
    why="The exponential was taken above the fraction only; the sum below it is of the same exponentials.",
    mend="Divide by the sum of the row's exponentials.",
    hides_when="never, as a score is never its own exponential",
    source="rwitten/HighPerfLLMs2024#3",
    wrong={
        "weights": _from_logits(
            lambda problem, logits: np.exp(logits) / _finite(logits).sum(axis=-1, keepdims=True)
        )
    },
    applies=plain,
    witness=Recipe(),
    blind_spot=None,
)

SOFTMAX_NOT_NORMALISED = Mistake(
    id="softmax-not-normalised",
    title="left the exponentials undivided",
    formula=r"w_{ij} = e^{s_{ij}}",
    why="Exponentials are only relative sizes; divided by the sum of their row they become shares.",
    mend="Divide each exponential by the sum of its row.",
    hides_when="there is one key and its score is 0",
    source=BY_HAND,
    wrong={"weights": _from_logits(lambda problem, logits: np.exp(logits))},
    witness=Recipe(),
    blind_spot=Recipe(Tk=1, fixed=NO_QUERY),
    typical=True,
)

SOFTMAX_SHIFTED_NOT_NORMALISED = Mistake(
    id="softmax-shifted-not-normalised",
    title="subtracted the row's maximum and left the exponentials undivided",
    formula=r"w_{ij} = e^{s_{ij} - m_i}",
    why="With the maximum subtracted the largest exponential is 1, but the row sums to more than 1.",
    mend="Divide each exponential by the sum of its row.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={"weights": Wrong(lambda problem, exps: _in_dtype(problem, exps), ("exponentials",))},
    applies=plain,
    witness=Recipe(),
    blind_spot=ONE_KEY,
    typical=True,
    readings=(
        Reading(
            id="softmax-divided-by-the-largest",
            title="divided by the largest exponential of the row instead of their sum",
            why="Divided by the largest, the best key gets weight 1 and the others come on top.",
            mend="Divide by the sum of the row.",
            source=BY_HAND,
        ),
    ),
)

SOFTMAX_DIVIDED_BY_COUNT = Mistake(
    id="softmax-divided-by-count",
    title="divided the exponentials by the number of keys",
    formula=r"e^{s_{ij}} / T_k",
    why="That is the share of an average; the weights of a row have to sum to 1, whatever the exponentials "
    "are.",
    mend="Divide by the sum of the row's exponentials.",
    hides_when="every score is 0",
    source=BY_HAND,
    wrong={"weights": _from_logits(lambda problem, logits: np.exp(logits) / problem.Tk)},
    applies=plain,
    witness=Recipe(),
    blind_spot=Recipe(fixed=NO_QUERY),
)

SOFTMAX_L2 = Mistake(
    id="softmax-l2",
    title="divided the exponentials by the root of the sum of their squares",
    formula=r"e^{s_{ij}} / \sqrt{\textstyle\sum_j e^{2 s_{ij}}}",
    why="That gives the row length 1; weights need the sum 1.",
    mend="Divide by the plain sum of the row's exponentials.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={
        "row-sum": Wrong(
            lambda problem, exps: np.sqrt(np.sum(exps**2, axis=-1, keepdims=True)), ("exponentials",)
        )
    },
    applies=plain,
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

SOFTMAX_ODDS = Mistake(
    id="softmax-odds",
    title="divided each exponential by the sum of the others",
    formula=r"e^{s_{ij}} / \sum_{k \ne j} e^{s_{ik}}",
    why="One against the others are odds. A weight is one out of all: its own exponential counts in the sum.",
    mend="Let the sum run over all keys of the row.",
    hides_when="never, with more than one key",
    source=BY_HAND,
    wrong={"weights": lambda problem, exps, total: _in_dtype(problem, exps / (total - exps))},
    applies=lambda problem: plain(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
    typical=True,
)


def _sum_of(part: Callable[[Array], Array]) -> Wrong:
    return Wrong(lambda problem, exps: np.sum(part(exps), axis=-1, keepdims=True), ("exponentials",))


SUM_WITHOUT_LAST_KEY = Mistake(
    id="softmax-sum-without-last-key",
    title="left the last key out of the sum",
    formula=r"e^{s_{ij}} / \sum_{j < T_k} e^{s_{ij}}",
    why="The sum runs over every key that may be seen.",
    mend="Add up the whole row.",
    hides_when="the last key is masked for every query",
    source=BY_HAND,
    wrong={"row-sum": _sum_of(lambda exps: exps[..., :-1])},
    applies=lambda problem: plain(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"mask": [[True, True, False]] * 3}),
)

SUM_WITHOUT_FIRST_KEY = Mistake(
    id="softmax-sum-without-first-key",
    title="left the first key out of the sum",
    formula=r"e^{s_{ij}} / \sum_{j > 1} e^{s_{ij}}",
    why="The sum runs over every key that may be seen; counting from 0, the first has index 0.",
    mend="Add up the whole row.",
    hides_when="the first key is masked for every query",
    source=BY_HAND,
    wrong={"row-sum": _sum_of(lambda exps: exps[..., 1:])},
    applies=lambda problem: plain(problem) and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"mask": [[False, True, True]] * 3}),
)

SUM_WITHOUT_DIAGONAL = Mistake(
    id="softmax-sum-without-diagonal",
    title="left each token's own key out of the sum",
    formula=r"e^{s_{ij}} / \sum_{k \ne i} e^{s_{ik}}",
    why="A token may look at itself, so its own exponential counts in the sum.",
    mend="Add up the whole row, the diagonal included.",
    hides_when="the diagonal is masked",
    source=BY_HAND,
    wrong={
        "row-sum": Wrong(
            lambda problem, exps: np.sum(
                exps * (problem.row_numbers[:, None] != np.arange(problem.Tk)), axis=-1, keepdims=True
            ),
            ("exponentials",),
        )
    },
    applies=lambda problem: plain(problem) and problem.Tq == problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"mask": [[False, True, True], [True, False, True], [True, True, False]]}),
)

SUM_OVER_QUERIES = Mistake(
    id="softmax-sum-over-queries",
    title="divided by the sum of the column, after subtracting the maximum of the row",
    formula=r"e^{s_{ij} - m_i} / \sum_i e^{s_{ij} - m_i}",
    why="Both the maximum and the sum belong to the row: each query shares out its own unit of weight.",
    mend="Divide each exponential by the sum of its row.",
    hides_when="rows and columns have equal sums",
    source=BY_HAND,
    wrong={"row-sum": Wrong(lambda problem, exps: np.sum(exps, axis=-2, keepdims=True), ("exponentials",))},
    applies=plain,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=1),
)

SUM_OVER_TABLE = Mistake(
    id="softmax-sum-over-table",
    title="divided by the sum of the whole table, after subtracting the maximum of each row",
    formula=r"e^{s_{ij} - m_i} / \sum_{i,j} e^{s_{ij} - m_i}",
    why="Each query shares out its own unit of weight, so every row has a sum of its own.",
    mend="Divide each exponential by the sum of its row.",
    hides_when="there is one query",
    source=BY_HAND,
    wrong={
        "row-sum": Wrong(lambda problem, exps: np.sum(exps, axis=(-2, -1), keepdims=True), ("exponentials",))
    },
    applies=lambda problem: plain(problem) and problem.Tq > 1,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=3),
)

SOFTMAX_EPSILON = Mistake(
    id="softmax-epsilon",
    title="added a number to the sum below the fraction",
    formula=r"e^{s_{ij} - m_i} / (\theta + \sum_j e^{s_{ij} - m_i})",
    why="The number guards against a division by 0, which cannot happen after the maximum is subtracted; "
    "the rows then sum "
    "to less than 1.",
    mend="Divide by the sum alone; treat a row that may see nothing on its own.",
    hides_when="θ is too small for the digits given, or the output is 0",
    source="MenghaoGuo/PCT#13",
    wrong={"row-sum": lambda problem, theta, exps, top: row_sum(problem, exps, top)[0] + theta},
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (1e-9, 1e-8, 1e-6, 1e-5, 1e-3, *EPSILONS),
        right=lambda problem: 0.0,
    ),
    witness=Recipe(),
    blind_spot=Recipe(fixed={"value": [[0.0] * 4] * 3}),
)

WEIGHTS_NORMALISED_OVER_QUERIES = Mistake(
    id="weights-normalised-over-queries",
    title="divided the weights by the sum of their column as well",
    formula=r"w_{ij} / \sum_i w_{ij}",
    why="After the softmax the rows sum to 1. Dividing by the columns spoils that.",
    mend="Use the weights as the softmax gives them.",
    hides_when="the columns sum to 1 already",
    source="MenghaoGuo/PCT#13",
    wrong={"after-softmax": lambda problem, weights: _by_column(weights)},
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=1),
)


def _by_column(weights: Array) -> Array:
    total = np.sum(weights, axis=-2, keepdims=True)
    return np.asarray(weights / np.where(total == 0, 1, total))


# --- the maximum that is subtracted -----------------------------------------------------------------------


def unguarded(problem: Problem, exps: Array, total: Array, logits: Array) -> Array:
    """0/0 is NaN in a row that may see something but whose exponentials have all become 0."""
    weights = softmax.weights(exps, total)
    if (total == 0).any():
        lost = (total == 0) & ~np.isneginf(logits).all(axis=-1, keepdims=True)
        weights = np.where(lost, exps.dtype.type(np.nan), weights)
    return _in_dtype(problem, weights)


UNGUARDED = Wrong(unguarded, ("exponentials", "row_sum", "logits"))

SOFTMAX_WITHOUT_MAX = Mistake(
    id="softmax-without-max",
    title="exponentiated the scores without subtracting the row's maximum",
    formula=r"e^{s_{ij}} / \sum_j e^{s_{ij}}",
    why="On paper it is the same. In a computer e⁸⁹ is beyond float32 and e⁷¹⁰ beyond float64: ∞/∞ is NaN.",
    mend="Subtract the row's maximum first; it cancels in the fraction.",
    hides_when="no exponential overflows, and none of a row's exponentials all become 0",
    source="pytorch/executorch#18407",
    wrong={"row-max": lambda problem, logits: np.zeros_like(logits[..., :1]), "weights": UNGUARDED},
    witness=WIDE_APART,
    blind_spot=Recipe(),
)

ROW_MAX_ADDED = Mistake(
    id="row-max-added",
    title="added the row's maximum instead of subtracting it",
    formula=r"e^{s_{ij} + m_i}",
    why="It cancels in the fraction either way, but added it makes the exponentials overflow all the sooner.",
    mend="Subtract it: the largest exponent is then 0.",
    hides_when="no exponential overflows; then only the exponentials themselves show it",
    source=BY_HAND,
    wrong={
        "exponentials": lambda problem, logits, top: np.exp(logits + np.where(np.isneginf(top), 0, top)),
        "weights": UNGUARDED,
    },
    applies=plain,
    witness=WIDE_APART,
    blind_spot=Recipe(),
)

ROW_MAX_OF_TABLE = Mistake(
    id="row-max-of-table",
    title="subtracted the maximum of the whole table instead of each row's own",
    formula=r"e^{s_{ij} - \max_{ij} s_{ij}}",
    why="On paper it cancels. In a computer a row that lies far below the maximum has only exponentials of "
    "0, and 0/0 is NaN.",
    mend="Subtract each row's own maximum.",
    hides_when="no row lies far below the largest score",
    source="CASIA-IVA-Lab/DANet#48, which asks which maximum is meant",
    wrong={
        "row-max": lambda problem, logits: np.broadcast_to(
            np.max(logits, axis=(-2, -1), keepdims=True), (*logits.shape[:-1], 1)
        ),
        "weights": UNGUARDED,
    },
    applies=lambda problem: plain(problem) and problem.Tq > 1,
    mixes_queries=True,
    witness=Recipe(Tq=4, spread=60.0),
    blind_spot=Recipe(),
)

ROW_MAX_OVER_QUERIES = Mistake(
    id="row-max-over-queries",
    title="subtracted the maximum of the column instead of the row's",
    formula=r"e^{s_{ij} - \max_i s_{ij}}",
    why="What is subtracted must be the same all along the row, or it does not cancel.",
    mend="Subtract the maximum of each row: max over the keys, the last axis.",
    hides_when="all columns have the same maximum",
    source=BY_HAND,
    wrong={"row-max": lambda problem, logits: np.max(logits, axis=-2, keepdims=True)},
    applies=plain,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": [[1.0, 0.0], [0.0, 1.0]], "key": [[1.0, 0.0], [0.0, 1.0]]}),
)

ROW_MAX_DIVIDED = Mistake(
    id="row-max-divided",
    title="divided by the row's maximum instead of subtracting it",
    formula=r"e^{s_{ij} / m_i}",
    why="Subtracted, the maximum cancels in the fraction; divided, it changes every weight.",
    mend="Subtract the row's maximum.",
    hides_when="every row's maximum is 1, or there is one key",
    source=BY_HAND,
    wrong={
        "exponentials": lambda problem, logits, top: np.where(
            np.isneginf(logits), logits.dtype.type(0), np.exp(_finite(logits) / np.where(top == 0, 1, top))
        )
    },
    applies=plain,
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

ROW_MAX_FLOOR = Mistake(
    id="row-max-floor",
    title="let the running maximum start at −50000 instead of −∞",
    formula=r"m_i = \max(-5 \cdot 10^4, \max_j s_{ij})",
    why="A row whose scores are all lower keeps that number as its maximum, and its exponentials all become "
    "0.",
    mend="Start at −∞.",
    hides_when="every row has a score above −50000",
    source="flashinfer-ai/flashinfer#4267",
    wrong={"row-max": lambda problem, logits: np.maximum(np.max(logits, axis=-1, keepdims=True), -5e4)},
    applies=plain,
    witness=Recipe(
        Tq=2, D=2, fixed={"query": [[40.0, 0.5], [1.0, 2.0]], "key": [[-5000.0, 1.0], [-4000.0, 0.3]]}
    ),
    blind_spot=Recipe(),
)

MISTAKES: tuple[Mistake, ...] = (
    SOFTMAX_MISSING,
    SOFTMAX_OVER_QUERIES,
    SOFTMAX_NOT_NORMALISED,
    SOFTMAX_SHIFTED_NOT_NORMALISED,
    SOFTMAX_NOT_EXPONENTIATED,
    SOFTMAX_SHIFTED_NOT_EXPONENTIATED,
    SOFTMAX_OVER_TABLE,
    SOFTMAX_TWICE,
    SOFTMAX_TWICE_MASKED,
    SOFTMAX_HARD,
    SOFTMAX_AFTER_BLEND,
    SOFTMAX_BASE_TWO,
    SOFTMAX_BASE_TEN,
    SOFTMAX_OVER_BATCH,
    SOFTMAX_OVER_BATCH_AND_QUERIES,
    SOFTMAX_OVER_HEADS,
    SOFTMAX_OVER_EVERYTHING,
    SOFTMAX_OVER_AXIS_OF_ONE,
    SOFTMAX_DIVIDED_BY_SCORES,
    SOFTMAX_ODDS,
    SOFTMAX_DIVIDED_BY_COUNT,
    SOFTMAX_L2,
    SOFTMAX_SQUARED,
    SOFTMAX_SIGMOID,
    SOFTMAX_LOG,
    SOFTMIN,
    SUM_WITHOUT_LAST_KEY,
    SUM_WITHOUT_FIRST_KEY,
    SUM_WITHOUT_DIAGONAL,
    SUM_OVER_QUERIES,
    SUM_OVER_TABLE,
    WEIGHTS_NORMALISED_OVER_QUERIES,
    SOFTMAX_WITHOUT_MAX,
    ROW_MAX_ADDED,
    ROW_MAX_OF_TABLE,
    ROW_MAX_OVER_QUERIES,
    ROW_MAX_DIVIDED,
    ROW_MAX_FLOOR,
    SOFTMAX_ANOTHER_BASE,
    SOFTMAX_EPSILON,
)
