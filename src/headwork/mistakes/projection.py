"""Mistakes in the projections: which matrix and bias, from which embeddings, and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism.steps import wide
from ..problem import Problem
from .mistake import Mistake, Parameter, WrongStep, altered, skip
from .recipe import Recipe

PAPER = "Vaswani et al. 2017, section 3.2.2"
NAMES = ("query", "key", "value")
SELF = Recipe(E=4, Tq=3, D=4)
CROSS = Recipe(E=4, Tq=3, Tk=4, D=4)
CROSS_SQUARE = Recipe(  # as many queries as keys
    E=2, Tq=2, D=2, fixed={"x_key": [[1.0, -0.5], [0.3, 0.8]]}
)
CROSS_SAME = Recipe(E=2, Tq=2, D=2, fixed={name: [[1.0, -0.5], [0.3, 0.8]] for name in ("x", "x_key")})
BIASED = Recipe(
    E=3,
    D=2,
    fixed={"b_query": [0.5, -1.0], "b_key": [1.5, 0.25], "b_value": [-0.75, 1.0]},
)
NO_BIAS = {f"b_{name}": [0.0, 0.0] for name in NAMES}
UNBIASED = Recipe(E=3, D=2, fixed=NO_BIAS)
OUT = Recipe(E=4, H=2, D=2, packed=True, project_output=True)
OUT_BIASED = Recipe(
    E=4, H=2, D=2, packed=True, project_output=True, fixed={"b_output": [0.5, -1.0, 0.25, 2.0]}
)
OUT_UNBIASED = Recipe(
    E=4, H=2, D=2, packed=True, project_output=True, fixed={"b_output": [0.0, 0.0, 0.0, 0.0]}
)
EYE = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
SAME = [[1.0, -0.5, 0.2, 0.7], [0.3, 0.8, -1.1, 0.4], [-0.6, 0.1, 0.9, -0.2], [0.5, -0.9, 0.6, 1.2]]
ALL_SAME = Recipe(E=4, D=4, fixed={f"w_{name}": SAME for name in NAMES})
ALL_EYE = Recipe(E=4, D=4, fixed={f"w_{name}": EYE for name in NAMES})
OUT_EYE = Recipe(E=4, H=2, D=2, packed=True, project_output=True, fixed={"w_output": EYE})


# --- how a projection goes wrong ------------------------------------------------------------------


def linear(problem: Problem, x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x W + b, in the arithmetic of the right step."""
    product = wide(problem, x) @ wide(problem, weight)
    return (product if bias is None else product + wide(problem, bias)).astype(problem.dtype, copy=False)


def made(problem: Problem) -> tuple[str, ...]:
    """The names that the project step makes: value may be left out."""
    return NAMES if problem.w_value is not None else NAMES[:2]


def layer(problem: Problem, name: str) -> tuple[Array, Array | None]:
    """The weight and bias of one projection."""
    return getattr(problem, f"w_{name}"), getattr(problem, f"b_{name}")


def with_layers(**taken: str) -> WrongStep:
    """The project step where name is made with the weight and bias of taken[name]; others with their own."""

    def project(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
        sources = {"query": x, "key": x_key, "value": x_key}
        return tuple(
            linear(problem, sources[name], *layer(problem, taken.get(name, name))) for name in made(problem)
        )

    return project


def with_sources(**taken: str) -> WrongStep:
    """The project step where name is made from "x" or "x_key" as told; others from their own."""

    def project(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
        sources = {"query": "x", "key": "x_key", "value": "x_key"} | taken
        arrays = {"x": x, "x_key": x_key}
        return tuple(linear(problem, arrays[sources[name]], *layer(problem, name)) for name in made(problem))

    return project


def with_biases(factor: float = 1, **taken: str | None) -> WrongStep:
    """The project step with factor times the bias of taken[name], none where that is None."""

    def project(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
        results = []
        for name in made(problem):
            which = taken.get(name, name)
            bias = None if which is None else getattr(problem, f"b_{which}")
            source = x if name == "query" else x_key
            bias = None if bias is None else factor * wide(problem, bias)
            results.append(linear(problem, source, getattr(problem, f"w_{name}"), bias))
        return tuple(results)

    return project


def transposed(*names: str) -> WrongStep:
    """The project step with the transposes of these weights."""

    def project(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
        results = []
        for name in made(problem):
            weight, bias = layer(problem, name)
            weight = weight.T if name in names else weight
            results.append(linear(problem, x if name == "query" else x_key, weight, bias))
        return tuple(results)

    return project


def left_out(*names: str) -> WrongStep:
    """The project step where these are the embeddings themselves."""

    def project(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
        results = []
        for name in made(problem):
            source = x if name == "query" else x_key
            results.append(source if name in names else linear(problem, source, *layer(problem, name)))
        return tuple(results)

    return project


def fused(problem: Problem, x: Array, x_key: Array) -> Array:
    """The three projections side by side, as one layer makes them: (…, T, H·D + H·D + H·D)."""
    return np.concatenate([linear(problem, x, *layer(problem, name)) for name in NAMES], axis=-1)


def read_per_head(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
    """[Q | K | V] taken for [q₁ k₁ v₁ | q₂ k₂ v₂ | …]."""
    row = fused(problem, x, x_key)
    parts = row.reshape(*row.shape[:-1], problem.H, 3, -1)
    return tuple(parts[..., which, :].reshape(*row.shape[:-1], -1) for which in range(3))


def read_in_blocks(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
    """[q₁ k₁ v₁ | q₂ k₂ v₂ | …] taken for [Q | K | V]."""
    row = fused(problem, x, x_key)
    parts = row.reshape(*row.shape[:-1], 3, problem.H, -1).swapaxes(-3, -2).reshape(row.shape)
    return tuple(np.split(parts, 3, axis=-1))


# --- which problems can show it -------------------------------------------------------------------


def fits(*names: str) -> Any:
    """A problem projects, and these weights are there and of one shape."""

    def applies(problem: Problem) -> bool:
        weights = [getattr(problem, f"w_{name}") for name in names]
        return (
            problem.x is not None
            and all(w is not None for w in weights)
            and len({w.shape for w in weights}) == 1
        )

    return applies


def square(*names: str) -> Any:
    """A problem projects, and these weights are there and square."""

    def applies(problem: Problem) -> bool:
        weights = [getattr(problem, f"w_{name}") for name in names]
        return all(w is not None and w.shape[0] == w.shape[1] for w in weights) and (
            problem.x is not None or names == ("output",)
        )

    return applies


def biased(*names: str) -> Any:
    """One of these biases is there and not zero."""

    def applies(problem: Problem) -> bool:
        return any((bias := getattr(problem, f"b_{name}")) is not None and bool(bias.any()) for name in names)

    return applies


def crossed_square(problem: Problem) -> bool:
    """Keys come from other embeddings than queries, as many of them."""
    return problem.x_key is not None and problem.Tq == problem.Tk and problem.x_key.shape == problem.x.shape


def can_attend_to_itself(problem: Problem) -> bool:
    """Cross-attention where nothing else depends on how many keys there are."""
    tied = (problem.mask, problem.lengths, problem.chunks)
    fitting = problem.x_key is not None and problem.x_key.shape[-1] == problem.x.shape[-1]
    return fitting and (problem.Tq == problem.Tk or all(option is None for option in tied))


def fuses(problem: Problem) -> bool:
    """Self-attention whose three projections could be one layer, with several heads."""
    return problem.packed and problem.H > 1 and problem.x_key is None and fits(*NAMES)(problem)


# --- the wrong matrix -----------------------------------------------------------------------------

V_PROJECTED_WITH_WK = Mistake(
    id="v-projected-with-wk",
    title="made the values with W_K instead of W_V",
    formula=r"V = X W_K",
    why=(
        "Keys decide where to look, values are what is handed over. With W_K the weights are right and "
        "the output is not."
    ),
    mend="Make the values with W_V: V = X W_V.",
    hides_when="W_V equals W_K; and always up to the weights",
    source="yflyzhang/AnnotatedTransformer#1",
    wrong={"project": with_layers(value="key")},
    applies=fits("key", "value"),
    witness=SELF,
    blind_spot=ALL_SAME,
    typical=True,
)

V_PROJECTED_WITH_WQ = Mistake(
    id="v-projected-with-wq",
    title="made the values with W_Q instead of W_V",
    formula=r"V = X W_Q",
    why=(
        "Queries ask, values answer; they are learned apart. With W_Q the weights are right and the "
        "output is not."
    ),
    mend="Make the values with W_V: V = X W_V.",
    hides_when="W_V equals W_Q; and always up to the weights",
    source=PAPER,
    wrong={"project": with_layers(value="query")},
    applies=fits("query", "value"),
    witness=SELF,
    blind_spot=ALL_SAME,
    typical=True,
)

K_PROJECTED_WITH_WQ = Mistake(
    id="k-projected-with-wq",
    title="made the keys with W_Q instead of W_K",
    formula=r"K = X W_Q",
    why=(
        "With one matrix for both, self-attention scores are symmetric: token 1 scores token 3 as token "
        "3 scores token 1."
    ),
    mend="Make the keys with W_K: K = X W_K.",
    hides_when="W_K equals W_Q",
    source="learners, by hand",
    wrong={"project": with_layers(key="query")},
    applies=fits("query", "key"),
    witness=SELF,
    blind_spot=ALL_SAME,
    typical=True,
)

Q_PROJECTED_WITH_WK = Mistake(
    id="q-projected-with-wk",
    title="made the queries with W_K instead of W_Q",
    formula=r"Q = X W_K",
    why="With one matrix for both, self-attention scores are symmetric, and what W_Q learned is not used.",
    mend="Make the queries with W_Q: Q = X W_Q.",
    hides_when="W_Q equals W_K",
    source="learners, by hand",
    wrong={"project": with_layers(query="key")},
    applies=fits("query", "key"),
    witness=SELF,
    blind_spot=ALL_SAME,
    typical=True,
)

K_PROJECTED_WITH_WV = Mistake(
    id="k-projected-with-wv",
    title="made the keys with W_V instead of W_K",
    formula=r"K = X W_V",
    why="Queries are compared with keys; values were never meant to be compared with anything.",
    mend="Make the keys with W_K: K = X W_K.",
    hides_when="W_K equals W_V",
    source=PAPER,
    wrong={"project": with_layers(key="value")},
    applies=fits("key", "value"),
    witness=SELF,
    blind_spot=ALL_SAME,
)

Q_PROJECTED_WITH_WV = Mistake(
    id="q-projected-with-wv",
    title="made the queries with W_V instead of W_Q",
    formula=r"Q = X W_V",
    why="A query made with W_V asks for what the value matrix was trained to hand over.",
    mend="Make the queries with W_Q: Q = X W_Q.",
    hides_when="W_Q equals W_V",
    source=PAPER,
    wrong={"project": with_layers(query="value")},
    applies=fits("query", "value"),
    witness=SELF,
    blind_spot=ALL_SAME,
)

W_Q_AND_W_K_SWAPPED = Mistake(
    id="w-q-and-w-k-swapped",
    title="swapped W_Q and W_K",
    formula=r"Q = X W_K,\; K = X W_Q",
    why=(
        "In self-attention the scores come out transposed: row i then says who looks at token i, not "
        "where token i looks."
    ),
    mend="Queries take W_Q, keys take W_K.",
    hides_when="the scores are symmetric, as with W_Q equal to W_K",
    source=PAPER,
    wrong={"project": with_layers(query="key", key="query")},
    applies=fits("query", "key"),
    witness=SELF,
    blind_spot=ALL_SAME,
    typical=True,
)

W_K_AND_W_V_SWAPPED = Mistake(
    id="w-k-and-w-v-swapped",
    title="swapped W_K and W_V",
    formula=r"K = X W_V,\; V = X W_K",
    why=(
        "The parts of a projection were unpacked in another order than they were packed; a trained layer "
        "then compares with values."
    ),
    mend="Unpack in the order of packing: query, key, value.",
    hides_when="W_K equals W_V",
    source="jsbaan/transformer-from-scratch#1",
    wrong={"project": with_layers(key="value", value="key")},
    applies=fits("key", "value"),
    witness=SELF,
    blind_spot=ALL_SAME,
)

W_Q_AND_W_V_SWAPPED = Mistake(
    id="w-q-and-w-v-swapped",
    title="swapped W_Q and W_V",
    formula=r"Q = X W_V,\; V = X W_Q",
    why="The fused projection was read in the order value, key, query.",
    mend="Read it in the order in which it was packed: query, key, value.",
    hides_when="W_Q equals W_V",
    source=PAPER,
    wrong={"project": with_layers(query="value", value="query")},
    applies=fits("query", "value"),
    witness=SELF,
    blind_spot=ALL_SAME,
)

QKV_READ_AS_KVQ = Mistake(
    id="qkv-read-as-kvq",
    title="read the packed projections in the order key, value, query",
    formula=r"K = X W_Q,\; V = X W_K,\; Q = X W_V",
    why="Each of the three gets another one's matrix; shapes fit, so nothing complains.",
    mend="Read them in the order in which they are packed: query, key, value.",
    hides_when="the three matrices are equal",
    source=PAPER,
    wrong={"project": with_layers(key="query", value="key", query="value")},
    applies=fits(*NAMES),
    witness=SELF,
    blind_spot=ALL_SAME,
)

QKV_READ_AS_VQK = Mistake(
    id="qkv-read-as-vqk",
    title="read the packed projections in the order value, query, key",
    formula=r"V = X W_Q,\; Q = X W_K,\; K = X W_V",
    why="Each of the three gets another one's matrix; shapes fit, so nothing complains.",
    mend="Read them in the order in which they are packed: query, key, value.",
    hides_when="the three matrices are equal",
    source=PAPER,
    wrong={"project": with_layers(value="query", query="key", key="value")},
    applies=fits(*NAMES),
    witness=SELF,
    blind_spot=ALL_SAME,
)

ALL_PROJECTED_WITH_WQ = Mistake(
    id="all-projected-with-wq",
    title="used W_Q for all three projections",
    formula=r"Q = K = V = X W_Q",
    why=(
        "A line was copied three times. Each token then looks most at those like itself and hands over "
        "its own query."
    ),
    mend="Use W_Q, W_K and W_V, each for its own.",
    hides_when="the three matrices are equal",
    source="stevezheng23/reading_comprehension_tf#284",
    wrong={"project": with_layers(key="query", value="query")},
    applies=fits(*NAMES),
    witness=SELF,
    blind_spot=ALL_SAME,
    typical=True,
)

ALL_PROJECTED_WITH_WV = Mistake(
    id="all-projected-with-wv",
    title="used W_V for all three projections",
    formula=r"Q = K = V = X W_V",
    why="The last matrix overwrote the other two, as when a loop keeps one variable.",
    mend="Use W_Q, W_K and W_V, each for its own.",
    hides_when="the three matrices are equal",
    source="stevezheng23/reading_comprehension_tf#284",
    wrong={"project": with_layers(query="value", key="value")},
    applies=fits(*NAMES),
    witness=SELF,
    blind_spot=ALL_SAME,
)

FUSED_QKV_READ_PER_HEAD = Mistake(
    id="fused-qkv-read-per-head",
    title="read a projection packed as [Q | K | V] head by head",
    formula=r"[Q\,|\,K\,|\,V] \text{ read as } [q_1 k_1 v_1\,|\,q_2 k_2 v_2\,|\,\ldots]",
    why=(
        "Some systems keep the three blocks one after the other, others keep each head's three together. "
        "Read the other way, heads get parts of queries as keys."
    ),
    mend="Reshape to (3, H, D), not (H, 3, D); or reorder the columns once when loading.",
    hides_when="there is one head",
    source="awslabs/slapo#46",
    wrong={"project": read_per_head},
    applies=fuses,
    mixes_queries=True,
    witness=Recipe(E=3, H=2, D=2, packed=True),
    blind_spot=Recipe(E=3, H=1, D=2, packed=True),
)

FUSED_QKV_READ_IN_BLOCKS = Mistake(
    id="fused-qkv-read-in-blocks",
    title="read a projection packed head by head as [Q | K | V]",
    formula=r"[q_1 k_1 v_1\,|\,q_2 k_2 v_2\,|\,\ldots] \text{ read as } [Q\,|\,K\,|\,V]",
    why=(
        "BLOOM, Falcon and GPT-NeoX keep each head's query, key and value together; cut into thirds, "
        "they are mixed."
    ),
    mend="Reshape to (H, 3, D), not (3, H, D); or reorder the columns once when loading.",
    hides_when="there is one head",
    source="vllm-project/vllm#53114",
    wrong={"project": read_in_blocks},
    applies=fuses,
    mixes_queries=True,
    witness=Recipe(E=3, H=2, D=2, packed=True),
    blind_spot=Recipe(E=3, H=1, D=2, packed=True),
)

# --- the right matrix, used wrongly ---------------------------------------------------------------

PROJECTIONS_TRANSPOSED = Mistake(
    id="projections-transposed",
    title="multiplied with the transposes of W_Q, W_K and W_V",
    formula=r"Q = X W_Q^T,\; K = X W_K^T,\; V = X W_V^T",
    why="Frameworks store a layer as (out, in) or as (in, out); square matrices fit either way.",
    mend=(
        "Multiply the rows of X with the columns of W; transpose once if the weights are stored as (out, in)."
    ),
    hides_when="the matrices are symmetric",
    source="AutoGPTQ/AutoGPTQ#139",
    wrong={"project": transposed(*NAMES)},
    applies=lambda problem: (
        square("query", "key")(problem) and (problem.w_value is None or square("value")(problem))
    ),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

W_Q_TRANSPOSED = Mistake(
    id="w-q-transposed",
    title="multiplied with the transpose of W_Q",
    formula=r"Q = X W_Q^T",
    why=(
        "Rows and columns of W_Q were exchanged, so each feature of the query is a sum with another "
        "feature's weights."
    ),
    mend="Multiply the rows of X with the columns of W_Q.",
    hides_when="W_Q is symmetric",
    source="AutoGPTQ/AutoGPTQ#139",
    wrong={"project": transposed("query")},
    applies=square("query"),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

W_K_TRANSPOSED = Mistake(
    id="w-k-transposed",
    title="multiplied with the transpose of W_K",
    formula=r"K = X W_K^T",
    why="Rows and columns of W_K were exchanged. It is K that is transposed in QKᵀ, not W_K.",
    mend="Multiply the rows of X with the columns of W_K, then transpose K for the scores.",
    hides_when="W_K is symmetric",
    source="AutoGPTQ/AutoGPTQ#139",
    wrong={"project": transposed("key")},
    applies=square("key"),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

W_V_TRANSPOSED = Mistake(
    id="w-v-transposed",
    title="multiplied with the transpose of W_V",
    formula=r"V = X W_V^T",
    why="Rows and columns of W_V were exchanged; the weights are right and the output is not.",
    mend="Multiply the rows of X with the columns of W_V.",
    hides_when="W_V is symmetric; and always up to the weights",
    source="AutoGPTQ/AutoGPTQ#139",
    wrong={"project": transposed("value")},
    applies=square("value"),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

PROJECTION_LEFT_OUT = Mistake(
    id="projection-left-out",
    title="used the embeddings themselves as queries, keys and values",
    formula=r"Q = K = V = X",
    why="Without W_Q and W_K the scores xᵢ·xⱼ are symmetric, and nothing is learned about what to look for.",
    mend="Project first: Q = X W_Q, K = X W_K, V = X W_V.",
    hides_when="the three matrices are the identity",
    source=PAPER,
    wrong={"project": left_out(*NAMES)},
    applies=lambda problem: (
        square("query", "key")(problem) and (problem.w_value is None or square("value")(problem))
    ),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

VALUE_NOT_PROJECTED = Mistake(
    id="value-not-projected",
    title="blended the embeddings instead of the values",
    formula=r"V = X",
    why="What a token hands over is its value X W_V, not its embedding.",
    mend="Make the values first: V = X W_V.",
    hides_when="W_V is the identity; and always up to the weights",
    source="maoyunyao/JOINT#2",
    wrong={"project": left_out("value")},
    applies=square("value"),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

KEY_NOT_PROJECTED = Mistake(
    id="key-not-projected",
    title="compared the queries with the embeddings instead of the keys",
    formula=r"K = X",
    why="A query is compared with keys X W_K; the embeddings live in another space.",
    mend="Make the keys first: K = X W_K.",
    hides_when="W_K is the identity",
    source=PAPER,
    wrong={"project": left_out("key")},
    applies=square("key"),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

QUERY_NOT_PROJECTED = Mistake(
    id="query-not-projected",
    title="compared the embeddings themselves with the keys",
    formula=r"Q = X",
    why="It is the query X W_Q that is compared with the keys.",
    mend="Make the queries first: Q = X W_Q.",
    hides_when="W_Q is the identity",
    source=PAPER,
    wrong={"project": left_out("query")},
    applies=square("query"),
    witness=SELF,
    blind_spot=ALL_EYE,
    typical=True,
)

# --- biases ---------------------------------------------------------------------------------------

PROJECTION_BIASES_FORGOTTEN = Mistake(
    id="projection-biases-forgotten",
    title="left out the biases of the projections",
    formula=r"Q = X W_Q,\; K = X W_K,\; V = X W_V \text{ without } b",
    why="The layer was trained with biases; loaders that know only weights drop them without a word.",
    mend="Add b_Q, b_K and b_V after the products.",
    hides_when="the biases are zero",
    source="sbryngelson/ANEForge#253",
    wrong={"project": with_biases(query=None, key=None, value=None)},
    applies=biased(*NAMES),
    witness=BIASED,
    blind_spot=UNBIASED,
    typical=True,
)

B_Q_FORGOTTEN = Mistake(
    id="b-q-forgotten",
    title="left out the bias of the queries",
    formula=r"Q = X W_Q",
    why="b_Q adds its own score b_Q·kⱼ to every key, the same for all queries.",
    mend="Add b_Q after X W_Q.",
    hides_when="b_Q is zero",
    source="OminiX-ai/OminiX-MLX#7",
    wrong={"project": with_biases(query=None)},
    applies=biased("query"),
    witness=BIASED,
    blind_spot=UNBIASED,
)

B_K_FORGOTTEN = Mistake(
    id="b-k-forgotten",
    title="left out the bias of the keys",
    formula=r"K = X W_K",
    why=(
        "b_K adds qᵢ·b_K to every score of row i, which the softmax does not see: some models leave it "
        "out on purpose."
    ),
    mend="Add b_K after X W_K where the scores themselves are asked.",
    hides_when=(
        "b_K is zero; and always from the weights on, except with a softcap, a sink or a masked score "
        "that is not −∞"
    ),
    source="baaivision/EVA#53",
    wrong={"project": with_biases(key=None)},
    applies=biased("key"),
    witness=BIASED,
    blind_spot=UNBIASED,
)

B_V_FORGOTTEN = Mistake(
    id="b-v-forgotten",
    title="left out the bias of the values",
    formula=r"V = X W_V",
    why="Weights sum to 1, so b_V belongs to every output as a whole.",
    mend="Add b_V after X W_V.",
    hides_when="b_V is zero; and always up to the weights",
    source="shadowpa0327/Palu#8",
    wrong={"project": with_biases(value=None)},
    applies=biased("value"),
    witness=BIASED,
    blind_spot=UNBIASED,
)

PROJECTION_BIASES_TWICE = Mistake(
    id="projection-biases-twice",
    title="added the biases of the projections twice",
    formula=r"Q = X W_Q + 2 b_Q,\; \ldots",
    why="The layer adds its bias, and a fused kernel adds it once more.",
    mend="Add each bias once.",
    hides_when="the biases are zero",
    source=PAPER,
    wrong={"project": with_biases(2, query="query", key="key", value="value")},
    applies=biased(*NAMES),
    witness=BIASED,
    blind_spot=UNBIASED,
)

B_K_USED_FOR_V = Mistake(
    id="b-k-used-for-v",
    title="added the bias of the keys to the values",
    formula=r"V = X W_V + b_K",
    why="The packed bias was cut at another place than the packed weight, so the values got the keys' part.",
    mend="Cut weights and biases at the same places: b_V belongs to V.",
    hides_when="b_K equals b_V; and always up to the weights",
    source=PAPER,
    wrong={"project": with_biases(value="key")},
    applies=lambda problem: (
        biased("key", "value")(problem) and fits("key", "value")(problem) and problem.b_key is not None
    ),
    witness=BIASED,
    blind_spot=UNBIASED,
)

B_Q_AND_B_K_SWAPPED = Mistake(
    id="b-q-and-b-k-swapped",
    title="swapped the biases of queries and keys",
    formula=r"Q = X W_Q + b_K,\; K = X W_K + b_Q",
    why="The packed biases were read in another order than the packed weights.",
    mend="Read weights and biases in one order: query, key, value.",
    hides_when="b_Q equals b_K",
    source=PAPER,
    wrong={"project": with_biases(query="key", key="query")},
    applies=lambda problem: biased("query", "key")(problem) and fits("query", "key")(problem),
    witness=BIASED,
    blind_spot=UNBIASED,
)

# --- cross-attention: whose embeddings? -----------------------------------------------------------

X_KEY_IGNORED = Mistake(
    id="x-key-ignored",
    title="made keys and values from the queries' own embeddings",
    formula=r"K = X W_K,\; V = X W_V \text{ with the queries' } X",
    why="That is self-attention: the other sequence is never looked at.",
    mend="In cross-attention queries come from one sequence, keys and values from the other.",
    hides_when="both sequences are the same",
    source=PAPER,
    rewrite=lambda problem: altered(problem, x_key=None),
    applies=can_attend_to_itself,
    mixes_queries=True,
    witness=CROSS,
    blind_spot=CROSS_SAME,
    typical=True,
)

QUERY_FROM_X_KEY = Mistake(
    id="query-from-x-key",
    title="made the queries from the keys' embeddings",
    formula=r"Q = X_{\mathrm{key}} W_Q",
    why="Queries belong to the sequence that wants to know; made from the other one, it attends to itself.",
    mend="Make queries from x, keys and values from x_key.",
    hides_when="both sequences are the same",
    source=PAPER,
    wrong={"project": with_sources(query="x_key")},
    applies=crossed_square,
    mixes_queries=True,
    witness=CROSS_SQUARE,
    blind_spot=CROSS_SAME,
)

X_AND_X_KEY_SWAPPED = Mistake(
    id="x-and-x-key-swapped",
    title="swapped the two sequences",
    formula=r"Q = X_{\mathrm{key}} W_Q,\; K = X W_K,\; V = X W_V",
    why="The encoder then asks the decoder; the output has one row for each token of the wrong sequence.",
    mend="Make queries from x, keys and values from x_key.",
    hides_when="both sequences are the same",
    source=PAPER,
    wrong={"project": with_sources(query="x_key", key="x", value="x")},
    applies=crossed_square,
    mixes_queries=True,
    witness=CROSS_SQUARE,
    blind_spot=CROSS_SAME,
    typical=True,
)

VALUE_FROM_X = Mistake(
    id="value-from-x",
    title="made the values from the queries' embeddings, the keys from the others",
    formula=r"V = X W_V,\; K = X_{\mathrm{key}} W_K",
    why=(
        "Key j and value j must come from the same token, or the weights pick values that were not asked for."
    ),
    mend="Make keys and values from the same sequence, x_key.",
    hides_when="both sequences are the same; and always up to the weights",
    source=PAPER,
    wrong={"project": with_sources(value="x")},
    applies=lambda problem: crossed_square(problem) and problem.w_value is not None,
    mixes_queries=True,
    witness=CROSS_SQUARE,
    blind_spot=CROSS_SAME,
)

KEY_FROM_X = Mistake(
    id="key-from-x",
    title="made the keys from the queries' embeddings, the values from the others",
    formula=r"K = X W_K,\; V = X_{\mathrm{key}} W_V",
    why=(
        "Key j and value j must come from the same token, or the weights pick values that were not asked for."
    ),
    mend="Make keys and values from the same sequence, x_key.",
    hides_when="both sequences are the same",
    source="apple/ml-cvnets#81",
    wrong={"project": with_sources(key="x")},
    applies=crossed_square,
    mixes_queries=True,
    witness=CROSS_SQUARE,
    blind_spot=CROSS_SAME,
)

# --- the way out ----------------------------------------------------------------------------------


def with_output_bias(factor: float | Array) -> WrongStep:
    """z W_O + factor · b_O."""

    def project(problem: Problem, merged: Array) -> Array:
        return np.asarray(linear(problem, merged, problem.w_output) + factor * problem.b_output)

    return project


def output_bias_times(problem: Problem, theta: float | Array, merged: Array) -> Array:
    """z W_O + θ b_O; θ as an array stands before the axes of the joined heads."""
    if isinstance(theta, np.ndarray) and theta.ndim > 0:
        theta = theta.reshape(-1, *(1,) * merged.ndim)
    return np.asarray(linear(problem, merged, problem.w_output) + theta * problem.b_output)


OUTPUT_PROJECTION_LEFT_OUT = Mistake(
    id="output-projection-left-out",
    title="left out the output projection W_O",
    formula=r"z \text{ instead of } z W_O",
    why="W_O mixes the heads; without it each head's result stays in its own columns.",
    mend="Join the heads and multiply by W_O.",
    hides_when="W_O is the identity and its bias zero",
    source="Kyubyong/transformer#117",
    wrong={"project-output": skip},
    applies=square("output"),
    witness=OUT,
    blind_spot=OUT_EYE,
    typical=True,
)

W_O_TRANSPOSED = Mistake(
    id="w-o-transposed",
    title="multiplied with the transpose of W_O",
    formula=r"z W_O^T",
    why="W_O has one row for each column of the joined heads; a square one fits either way.",
    mend="Multiply the rows of z with the columns of W_O.",
    hides_when="W_O is symmetric",
    source="AutoGPTQ/AutoGPTQ#139",
    wrong={
        "project-output": lambda problem, merged: linear(
            problem, merged, problem.w_output.T, problem.b_output
        )
    },
    applies=square("output"),
    witness=OUT,
    blind_spot=OUT_EYE,
    typical=True,
)

OUTPUT_PROJECTED_TWICE = Mistake(
    id="output-projected-twice",
    title="applied the output projection twice",
    formula=r"(z W_O + b_O) W_O + b_O",
    why="The attention function projects already, and the block around it projects again.",
    mend="Apply W_O once.",
    hides_when="W_O is the identity and its bias zero",
    source=PAPER,
    wrong={
        "project-output": lambda problem, merged: linear(
            problem, linear(problem, merged, *layer(problem, "output")), *layer(problem, "output")
        )
    },
    applies=square("output"),
    witness=OUT,
    blind_spot=OUT_EYE,
)

B_O_FORGOTTEN = Mistake(
    id="b-o-forgotten",
    title="left out the bias of the output projection",
    formula=r"z W_O \text{ without } b_O",
    why="b_O belongs to every row of the output.",
    mend="Add b_O after z W_O.",
    hides_when="b_O is zero",
    source=PAPER,
    wrong={"project-output": with_output_bias(0)},
    applies=biased("output"),
    witness=OUT_BIASED,
    blind_spot=OUT_UNBIASED,
    typical=True,
)

B_O_SEVERAL_TIMES = Mistake(
    id="b-o-several-times",
    title="added the output bias more than once",
    formula=r"z W_O + \theta\, b_O",
    why=(
        "Where the rows of W_O are spread over several devices, each adds the whole bias and the sum "
        "holds it as often as there are devices."
    ),
    mend="Add b_O once, after the parts are summed.",
    hides_when="b_O is zero, or there is one part",
    source="huggingface/text-generation-inference#1036",
    wrong={"project-output": output_bias_times},
    applies=biased("output"),
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0),
        right=lambda problem: 1.0,
        whole=True,
    ),
    witness=OUT_BIASED,
    blind_spot=OUT_UNBIASED,
)

MISTAKES: tuple[Mistake, ...] = (
    V_PROJECTED_WITH_WK,
    V_PROJECTED_WITH_WQ,
    K_PROJECTED_WITH_WQ,
    Q_PROJECTED_WITH_WK,
    K_PROJECTED_WITH_WV,
    Q_PROJECTED_WITH_WV,
    W_Q_AND_W_K_SWAPPED,
    W_K_AND_W_V_SWAPPED,
    W_Q_AND_W_V_SWAPPED,
    QKV_READ_AS_KVQ,
    QKV_READ_AS_VQK,
    ALL_PROJECTED_WITH_WQ,
    ALL_PROJECTED_WITH_WV,
    FUSED_QKV_READ_PER_HEAD,
    FUSED_QKV_READ_IN_BLOCKS,
    PROJECTIONS_TRANSPOSED,
    W_Q_TRANSPOSED,
    W_K_TRANSPOSED,
    W_V_TRANSPOSED,
    PROJECTION_LEFT_OUT,
    VALUE_NOT_PROJECTED,
    KEY_NOT_PROJECTED,
    QUERY_NOT_PROJECTED,
    PROJECTION_BIASES_FORGOTTEN,
    B_Q_FORGOTTEN,
    B_K_FORGOTTEN,
    B_V_FORGOTTEN,
    PROJECTION_BIASES_TWICE,
    B_K_USED_FOR_V,
    B_Q_AND_B_K_SWAPPED,
    X_KEY_IGNORED,
    QUERY_FROM_X_KEY,
    X_AND_X_KEY_SWAPPED,
    VALUE_FROM_X,
    KEY_FROM_X,
    OUTPUT_PROJECTION_LEFT_OUT,
    W_O_TRANSPOSED,
    OUTPUT_PROJECTED_TWICE,
    B_O_FORGOTTEN,
    B_O_SEVERAL_TIMES,
)
