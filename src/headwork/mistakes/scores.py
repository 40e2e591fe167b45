"""Mistakes in the scores: which vectors meet, along which axis, and what is done with each pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..mechanism import softmax
from ..mechanism.masks import is_biased, is_masked
from ..mechanism.steps import score, wide
from ..problem import Problem
from .blending import blended
from .mistake import Mistake, Reading, Wrong
from .recipe import Recipe

PAPER = "Vaswani et al. 2017, section 3.2.1"
BY_HAND = "learners, by hand"
ONE_KEY = Recipe(Tk=1)  # a single key has weight 1 whatever its score is
ONE_KEY_ONLY = "there is one key, or all scores of a row are equal"
EYE = [[1.0, 0.0], [0.0, 1.0]]


def square(problem: Problem) -> bool:
    """As many queries as keys, so that rows and columns can be taken for each other; more than one."""
    return problem.Tq == problem.Tk > 1


def dot(problem: Problem, query: Array, key: Array) -> Array:
    """The right scores of whatever is handed over."""
    return score(problem, query, key)[0]


def squared_length(problem: Problem, x: Array) -> Array:
    """‖x‖² of each row, the last axis kept."""
    return np.asarray(np.sum(wide(problem, x) ** 2, axis=-1, keepdims=True))


def unit(problem: Problem, x: Array) -> Array:
    """Each row divided by its length; a row of zeros stays."""
    length = np.sqrt(squared_length(problem, x))
    return wide(problem, x) / np.where(length == 0, 1, length)


def squared_distance(problem: Problem, query: Array, key: Array) -> Array:
    """‖q_i − k_j‖²."""
    own = squared_length(problem, query) + squared_length(problem, key).swapaxes(-1, -2)
    return np.asarray(np.maximum(own - 2 * dot(problem, query, key), 0))


SCORES_TRANSPOSED = Mistake(
    id="scores-transposed",
    title="swapped queries and keys in the scores",
    formula=r"KQ^T",
    why="Row i of the scores belongs to query i, column j to key j. K Qᵀ puts the keys in the rows, and the "
    "softmax then "
    "runs over the queries.",
    mend="Take each query against all keys: Q Kᵀ.",
    hides_when="the scores are symmetric",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, key, query)},
    applies=square,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(fixed={"key": np.eye(3, 4).tolist(), "query": np.eye(3, 4).tolist()}),
    typical=True,
)

SCORES_KEY_NOT_TRANSPOSED = Mistake(
    id="scores-key-not-transposed",
    title="multiplied by K instead of its transpose",
    formula=r"QK",
    why="A score is the dot product of a row of Q with a row of K. Q K without the transpose takes the "
    "columns of K, which "
    "are features and not keys.",
    mend="Transpose the last two axes of the keys: Q Kᵀ.",
    hides_when="K is symmetric; where Tk is not d_k the shapes refuse it",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, query, key.swapaxes(-1, -2))},
    applies=lambda problem: problem.Tk == problem.D,
    witness=Recipe(Tk=4),
    blind_spot=Recipe(D=2, Tq=2, fixed={"key": [[1.0, 0.5], [0.5, -1.0]]}),
    typical=True,
)

SCORES_QUERY_FOR_KEY = Mistake(
    id="scores-query-for-key",
    title="scored the queries against themselves",
    formula=r"QQ^T",
    why="The queries were used on both sides; how well a query matches a key is then not asked at all.",
    mend="Use the keys on the other side: Q Kᵀ.",
    hides_when="Q equals K",
    source=BY_HAND,
    wrong={"scores": Wrong(lambda problem, query: dot(problem, query, query), ("query_rotated",))},
    applies=lambda problem: problem.Tq == problem.Tk,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": EYE}),
    typical=True,
)

SCORES_KEY_FOR_QUERY = Mistake(
    id="scores-key-for-query",
    title="scored the keys against themselves",
    formula=r"KK^T",
    why="The keys were used on both sides; the queries have no part in the result.",
    mend="Use the queries on the left: Q Kᵀ.",
    hides_when="Q equals K",
    source=BY_HAND,
    wrong={"scores": Wrong(lambda problem, key: dot(problem, key, key), ("key_rotated",))},
    applies=lambda problem: problem.Tq == problem.Tk,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": EYE}),
    typical=True,
)

SCORES_VALUE_FOR_KEY = Mistake(
    id="scores-value-for-key",
    title="scored the queries against the values",
    formula=r"QV^T",
    why="Keys say what a token offers to be found by, values what it hands over. The match is between query "
    "and key.",
    mend="Use the keys in the scores and the values in the blend.",
    hides_when="V equals K; where d_v is not d_k the shapes refuse it",
    source="Genentech/ARGMINN#1",
    wrong={
        "scores": Wrong(
            lambda problem, query, value: dot(problem, query, value), ("query_rotated", "value_repeated")
        )
    },
    applies=lambda problem: problem.Dv == problem.D,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"value": EYE, "key": EYE}),
    typical=True,
)

KEY_AND_VALUE_SWAPPED = Mistake(
    id="key-and-value-swapped",
    title="swapped keys and values",
    formula=r"\mathrm{softmax}(QV^T/\sqrt{d_k})\,K",
    why="They were unpacked or handed over in the order query, value, key: values are searched, keys "
    "blended.",
    mend="Keep the order query, key, value, or name the arguments.",
    hides_when="K equals V; where d_v is not d_k the shapes refuse it",
    source=BY_HAND,
    wrong={
        "scores": Wrong(
            lambda problem, query, value: dot(problem, query, value), ("query_rotated", "value_repeated")
        ),
        "blend": Wrong(blended, ("attention", "key_repeated", "allowed")),
    },
    applies=lambda problem: problem.Dv == problem.D and problem.x is None and problem.rope is None,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"value": EYE, "key": EYE}),
    typical=True,
)

SCORES_ENTRYWISE = Mistake(
    id="scores-entrywise",
    title="multiplied Q and K entry by entry",
    formula=r"Q \odot K",
    why="Entry by entry, query i meets only key i, and nothing is summed. Every query must meet every key.",
    mend="Use the matrix product: s_ij is the sum over c of q_ic · k_jc.",
    hides_when="never, where Tq, Tk and d_k are equal and above 1; otherwise the shapes refuse it",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: wide(problem, query) * wide(problem, key)},
    applies=lambda problem: problem.Tq == problem.Tk == problem.D,
    mixes_queries=True,
    witness=Recipe(Tq=4),
    blind_spot=Recipe(Tq=1, D=1),
    typical=True,
)

ENTRYWISE_THROUGHOUT = Mistake(
    id="entrywise-throughout",
    title="multiplied entry by entry in both places: Q with K, and the result with V",
    formula=r"\mathrm{softmax}(Q \odot K/\sqrt{d_k}) \odot V",
    why="Each token then looks at itself only, and shares out weight among its own features.",
    mend="Use matrix products: softmax(Q Kᵀ/√d_k) V.",
    hides_when="never, where Tq equals Tk, d_k equals d_v, and one of them is above 1",
    source="heykeetae/Self-Attention-GAN#7",
    wrong={
        "blend": Wrong(
            lambda problem, *fields: _entrywise(problem, *fields),
            ("query_rotated", "key_rotated", "value_repeated"),
        )
    },
    applies=lambda problem: (
        problem.Tq == problem.Tk
        and problem.Dv == problem.D
        and problem.sink is None
        and problem.chunks is None
        and not (is_masked(problem) or is_biased(problem) or problem.softcap)
    ),
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=None,
)


def _entrywise(problem: Problem, query: Array, key: Array, value: Array) -> Array:
    scaled = wide(problem, query) * wide(problem, key) * problem.factor
    exps = softmax.exponentials(scaled, softmax.row_max(scaled))
    made = softmax.weights(exps, softmax.row_sum(exps)) * wide(problem, value)
    return made.astype(problem.dtype, copy=False)


SCORES_FEATURES_AGAINST_FEATURES = Mistake(
    id="scores-features-against-features",
    title="summed over the tokens instead of the features",
    formula=r"Q^TK",
    why="Qᵀ K compares features with features. Scores compare tokens with tokens: the sum runs over the d_k "
    "features.",
    mend="Sum over the last axis of both: Q Kᵀ.",
    hides_when="never, where Tq, Tk and d_k are equal and above 1; otherwise the shapes refuse it",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, query.swapaxes(-1, -2), key.swapaxes(-1, -2))},
    applies=lambda problem: problem.Tq == problem.Tk == problem.D,
    mixes_queries=True,
    witness=Recipe(Tq=4),
    blind_spot=Recipe(Tq=2, D=2, fixed={"query": EYE, "key": EYE}),
    typical=True,
)

SCORES_SUMS_MULTIPLIED = Mistake(
    id="scores-sums-multiplied",
    title="multiplied the sums instead of summing the products",
    formula=r"\left(\sum_c q_{ic}\right)\left(\sum_c k_{jc}\right)",
    why="A dot product pairs each feature with its partner before anything is added.",
    mend="Multiply feature by feature first, then add: Σ q_ic · k_jc.",
    hides_when="d_k is 1",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: _sum(problem, query) * _sum(problem, key).swapaxes(-1, -2)},
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    typical=True,
)

SCORES_ADDED = Mistake(
    id="scores-added",
    title="added the features of query and key instead of multiplying them",
    formula=r"\sum_c (q_{ic} + k_{jc})",
    why="A dot product multiplies each pair of features and adds the products.",
    mend="Multiply feature by feature: Σ q_ic · k_jc.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: _sum(problem, query) + _sum(problem, key).swapaxes(-1, -2)},
    witness=Recipe(),
    blind_spot=ONE_KEY,
)


def _sum(problem: Problem, x: Array) -> Array:
    return np.asarray(np.sum(wide(problem, x), axis=-1, keepdims=True))


SCORES_LAST_FEATURE_DROPPED = Mistake(
    id="scores-last-feature-dropped",
    title="left the last feature out of the dot product",
    formula=r"\sum_{c<d_k} q_{ic}k_{jc}",
    why="The sum stops one term early; every one of the d_k features counts.",
    mend="Let the sum run over all d_k features.",
    hides_when="the last feature is 0 in all queries or the same in all keys",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, query[..., :-1], key[..., :-1])},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": [[1.0, 0.0], [0.5, 0.0]]}),
    typical=True,
)

SCORES_FIRST_FEATURE_DROPPED = Mistake(
    id="scores-first-feature-dropped",
    title="left the first feature out of the dot product",
    formula=r"\sum_{c>1} q_{ic}k_{jc}",
    why="The sum starts one term late; counting from 0, the first feature has index 0.",
    mend="Let the sum run over all d_k features.",
    hides_when="the first feature is 0 in all queries or the same in all keys",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, query[..., 1:], key[..., 1:])},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": [[0.0, 1.0], [0.0, 0.5]]}),
)

SCORES_NEGATED = Mistake(
    id="scores-negated",
    title="took the scores with the opposite sign",
    formula=r"-QK^T",
    why="A larger dot product means a better match and must get the larger weight; with the sign turned, "
    "the worst match wins.",
    mend="Keep the sign of the dot product.",
    hides_when=ONE_KEY_ONLY,
    source="CASIA-IVA-Lab/DANet#48",
    wrong={"scores": lambda problem, query, key: -dot(problem, query, key)},
    witness=Recipe(),
    blind_spot=ONE_KEY,
    typical=True,
)

SCORES_ABSOLUTE = Mistake(
    id="scores-absolute",
    title="dropped the minus signs of the scores",
    formula=r"|QK^T|",
    why="A negative score says that query and key point away from each other; without its sign it counts as "
    "a match.",
    mend="Keep negative scores negative.",
    hides_when="no score is negative",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: np.abs(dot(problem, query, key))},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": [[1.0, 0.5], [0.0, 2.0]]}),
    typical=True,
)

SCORES_CLIPPED = Mistake(
    id="scores-clipped-at-zero",
    title="replaced negative scores by 0",
    formula=r"\max(QK^T, 0)",
    why="The softmax takes negative scores as they are: they get small weights, not the weight of a score "
    "of 0.",
    mend="Leave negative scores as they are.",
    hides_when="no score is negative",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: np.maximum(dot(problem, query, key), 0)},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": [[1.0, 0.5], [0.0, 2.0]]}),
)

SCORES_SQUARED = Mistake(
    id="scores-squared",
    title="squared the scores",
    formula=r"(QK^T)^2",
    why="The square loses the sign and stretches large scores; the dot product itself is the score.",
    mend="Use the dot product as it is.",
    hides_when="all scores are 0 or 1",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, query, key) ** 2},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": EYE}),
)

SCORES_COSINE = Mistake(
    id="scores-cosine",
    title="took the cosine instead of the dot product",
    formula=r"\frac{q_i \cdot k_j}{\|q_i\|\,\|k_j\|}",
    why="Dot-product attention lets the lengths of query and key count: a longer query is more decided, a "
    "longer key is louder.",
    mend="Do not divide by the lengths; divide by √d_k.",
    hides_when="all queries and keys have length 1",
    source=PAPER,
    wrong={"scores": lambda problem, query, key: dot(problem, unit(problem, query), unit(problem, key))},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE, "key": EYE}),
    typical=True,
)

SCORES_QUERY_NORMALISED = Mistake(
    id="scores-query-normalised",
    title="divided each query by its length",
    formula=r"\frac{q_i}{\|q_i\|} \cdot k_j",
    why="The length of a query says how decided it is; normalised, every query is equally sharp.",
    mend="Use the queries as they are; divide the scores by √d_k.",
    hides_when="all queries have length 1",
    source=PAPER,
    wrong={"scores": lambda problem, query, key: dot(problem, unit(problem, query), key)},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": EYE}),
)

SCORES_KEY_NORMALISED = Mistake(
    id="scores-key-normalised",
    title="divided each key by its length",
    formula=r"q_i \cdot \frac{k_j}{\|k_j\|}",
    why="A longer key gets larger scores on purpose; normalised, that difference is lost.",
    mend="Use the keys as they are; divide the scores by √d_k.",
    hides_when="all keys have length 1",
    source=PAPER,
    wrong={"scores": lambda problem, query, key: dot(problem, query, unit(problem, key))},
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"key": EYE}),
)

SCORES_SQUARED_DISTANCE = Mistake(
    id="scores-squared-distance",
    title="scored by the negative squared distance instead of the dot product",
    formula=r"-\|q_i - k_j\|^2",
    why="The distance also counts the lengths of the keys: long keys are punished. The score is the dot "
    "product alone.",
    mend="Use q_i · k_j.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: -squared_distance(problem, query, key)},
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

SCORES_DISTANCE = Mistake(
    id="scores-distance",
    title="scored by the negative distance instead of the dot product",
    formula=r"-\|q_i - k_j\|",
    why="Closeness in space is another measure than the dot product, which also lets lengths count.",
    mend="Use q_i · k_j.",
    hides_when=ONE_KEY_ONLY,
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: -np.sqrt(squared_distance(problem, query, key))},
    witness=Recipe(),
    blind_spot=ONE_KEY,
)

SCORES_OF_FIRST_QUERY = Mistake(
    id="scores-of-first-query",
    title="used the first query for every row",
    formula=r"s_{ij} = q_1 \cdot k_j",
    why="Each row of the scores belongs to its own query.",
    mend="Work row i out with query i.",
    hides_when="all queries are equal, or there is only one",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: _same_rows(dot(problem, query, key), 0)},
    applies=lambda problem: problem.Tq > 1,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": [[1.0, 0.5], [1.0, 0.5]]}),
)

SCORES_OF_LAST_QUERY = Mistake(
    id="scores-of-last-query",
    title="used the last query for every row",
    formula=r"s_{ij} = q_{T_q} \cdot k_j",
    why="Each row of the scores belongs to its own query; a view of one buffer was kept for all of them.",
    mend="Work row i out with query i.",
    hides_when="all queries are equal, or there is only one",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: _same_rows(dot(problem, query, key), -1)},
    applies=lambda problem: problem.Tq > 1,
    mixes_queries=True,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=2, fixed={"query": [[1.0, 0.5], [1.0, 0.5]]}),
)


def _same_rows(scores: Array, row: int) -> Array:
    return np.broadcast_to(scores[..., row, None, :], scores.shape)


SCORES_KEYS_REVERSED = Mistake(
    id="scores-keys-reversed",
    title="took the keys in reverse order",
    formula=r"s_{ij} = q_i \cdot k_{T_k + 1 - j}",
    why="Column j of the scores belongs to key j, and its weight goes to value j.",
    mend="Keep the keys in the order of the values.",
    hides_when="the keys read the same from both ends, or there is one",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: dot(problem, query, key)[..., ::-1]},
    applies=lambda problem: problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(D=2, Tq=3, fixed={"key": [[1.0, 0.5], [-1.0, 0.0], [1.0, 0.5]]}),
)

SCORES_SUMMED_OVER_HEADS = Mistake(
    id="scores-summed-over-heads",
    title="let every head use the scores of all heads added up",
    formula=r"\sum_h Q_h K_h^T",
    why="Each head scores on its own features; added up, the heads all look at the same keys.",
    mend="Split into heads before the dot product and keep the head axis.",
    hides_when="there is one head",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: _same_heads(dot(problem, query, key), np.sum)},
    applies=lambda problem: problem.H > 1,
    witness=Recipe(H=2),
    blind_spot=Recipe(H=1),
    readings=(
        Reading(
            id="scores-over-all-features",
            title="took the dot product over the full width, before splitting into heads",
            why="Over the full width, the products of all heads are summed into one score.",
            mend="Split queries and keys into heads first.",
            source=BY_HAND,
        ),
    ),
)

SCORES_AVERAGED_OVER_HEADS = Mistake(
    id="scores-averaged-over-heads",
    title="let every head use the average of all heads' scores",
    formula=r"\frac{1}{H}\sum_h Q_h K_h^T",
    why="Each head scores on its own features; averaged, the heads all look at the same keys.",
    mend="Keep the head axis: each head has its own scores.",
    hides_when="there is one head",
    source=BY_HAND,
    wrong={"scores": lambda problem, query, key: _same_heads(dot(problem, query, key), np.mean)},
    applies=lambda problem: problem.H > 1,
    witness=Recipe(H=2),
    blind_spot=Recipe(H=1),
)


def _same_heads(scores: Array, join: Callable[..., Array]) -> Array:
    return np.broadcast_to(join(scores, axis=-3, keepdims=True), scores.shape)


MISTAKES: tuple[Mistake, ...] = (
    SCORES_TRANSPOSED,
    SCORES_KEY_NOT_TRANSPOSED,
    SCORES_QUERY_FOR_KEY,
    SCORES_KEY_FOR_QUERY,
    SCORES_VALUE_FOR_KEY,
    KEY_AND_VALUE_SWAPPED,
    SCORES_ENTRYWISE,
    ENTRYWISE_THROUGHOUT,
    SCORES_FEATURES_AGAINST_FEATURES,
    SCORES_SUMS_MULTIPLIED,
    SCORES_ADDED,
    SCORES_LAST_FEATURE_DROPPED,
    SCORES_FIRST_FEATURE_DROPPED,
    SCORES_NEGATED,
    SCORES_ABSOLUTE,
    SCORES_CLIPPED,
    SCORES_SQUARED,
    SCORES_COSINE,
    SCORES_QUERY_NORMALISED,
    SCORES_KEY_NORMALISED,
    SCORES_SQUARED_DISTANCE,
    SCORES_DISTANCE,
    SCORES_OF_FIRST_QUERY,
    SCORES_OF_LAST_QUERY,
    SCORES_KEYS_REVERSED,
    SCORES_SUMMED_OVER_HEADS,
    SCORES_AVERAGED_OVER_HEADS,
)
