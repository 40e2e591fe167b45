"""Mistakes in causality: which keys lie in the future of a query, and where the queries stand."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..mechanism.positions import distances, query_positions, valid_keys
from ..mechanism.steps import mask
from ..problem import Problem
from .limits import has_bool_mask, joined, limits, replacing, without
from .mistake import Mistake, Parameter, Reading
from .recipe import Recipe

BY_HAND = "learners, by hand"
RULE = "Vaswani et al. 2017, section 3.2.3"
CAUSAL = Recipe(options={"causal": True})
CACHED = Recipe(Tq=2, Tk=4, options={"causal": True})
SEEN_ANYWAY = Recipe(options={"causal": True, "window": (0, 0)})


def is_causal(problem: Problem) -> bool:
    """The future is hidden."""
    return bool(problem.causal)


def places(problem: Problem) -> Array:
    """Where the first query of each batch element stands, (…, 1, 1, 1)."""
    return np.asarray(query_positions(problem)[..., :1, :] - problem.row_numbers[0])


def up_to(problem: Problem, offset: Array | float) -> Array:
    """All limits, with causality as if the first query stood at `offset`: j ≤ i + offset."""
    seen = np.arange(problem.Tk) <= problem.row_numbers[:, None] + offset
    return replacing(problem, causal=seen)


def from_the_end(problem: Problem) -> Array:
    """n − Tq, (…, 1, 1, 1): the last query meets the last valid key."""
    return (valid_keys(problem) - problem.Tq)[..., None, None, None]


def moved(problem: Problem) -> bool:
    """The future is hidden, and the first query does not stand at 0."""
    return is_causal(problem) and bool((places(problem) != 0).any())


CAUSAL_SKIPPED = Mistake(
    id="causal-skipped",
    title="let every query see the future",
    formula=r"\text{all } j",
    why="Token i may look at tokens up to itself. Seeing later ones, it can copy what it is to predict.",
    mend="Mask every key j > p_i.",
    hides_when="no query has a key ahead of it",
    source="facebookresearch/xformers#103",
    wrong={"allow": lambda problem: without(problem, "causal")},
    applies=is_causal,
    witness=CAUSAL,
    blind_spot=Recipe(Tq=1, Tk=3, options={"causal": True}),
    typical=True,
)

CAUSAL_STRICT = Mistake(
    id="causal-strict",
    title="hid the query's own position too",
    formula=r"j < p_i \text{ instead of } j \le p_i",
    why="A token may look at itself; without the diagonal, the first row has nothing left and every other "
    "row loses its own key.",
    mend="Keep the diagonal: j ≤ p_i.",
    hides_when="other limits hide the own position anyway",
    source="pbloem/former#10",
    wrong={"allow": lambda problem: up_to(problem, places(problem) - 1)},
    applies=is_causal,
    witness=CAUSAL,
    blind_spot=Recipe(Tq=2, options={"causal": True}, fixed={"mask": [[False, False], [True, False]]}),
    typical=True,
    readings=(
        Reading(
            id="causal-offset-one-too-small",
            title="placed the queries one position too early",
            why="The first query stands right behind the keys that came before it; one position earlier, it "
            "does not see itself.",
            mend="Count the keys that came before: that number is the first position.",
            source=BY_HAND,
        ),
    ),
)

CAUSAL_ONE_TOO_MANY = Mistake(
    id="causal-one-too-many",
    title="let every query see one token of the future",
    formula=r"j \le p_i + 1 \text{ instead of } j \le p_i",
    why="The next token is what a language model is to predict; seen, it is copied.",
    mend="Keep keys up to the query's own position: j ≤ p_i.",
    hides_when="no query has a key ahead of it",
    source="RVC-Boss/GPT-SoVITS#965",
    wrong={"allow": lambda problem: up_to(problem, places(problem) + 1)},
    applies=is_causal,
    witness=CAUSAL,
    blind_spot=Recipe(Tq=1, Tk=3, options={"causal": True}),
    typical=True,
    readings=(
        Reading(
            id="causal-offset-one-too-large",
            title="placed the queries one position too late",
            why="A query one position further on sees one more key, which lies in its future.",
            mend="Count the keys that came before: that number is the first position.",
            source=BY_HAND,
        ),
    ),
)

CAUSAL_REVERSED = Mistake(
    id="causal-reversed",
    title="hid the past and kept the future",
    formula=r"j \ge p_i \text{ instead of } j \le p_i",
    why="The upper triangle was kept instead of the lower one: a token then sees itself and everything "
    "after it.",
    mend="Keep the lower triangle (tril): j ≤ p_i.",
    hides_when="a query's own key is the only one either way",
    source="marin-community/levanter#102",
    wrong={"allow": lambda problem: replacing(problem, causal=distances(problem) <= 0)},
    applies=is_causal,
    witness=CAUSAL,
    blind_spot=SEEN_ANYWAY,
    typical=True,
)

CAUSAL_INVERTED = Mistake(
    id="causal-inverted",
    title="kept exactly the keys that causality hides",
    formula=r"j > p_i \text{ instead of } j \le p_i",
    why="A triangle in which True means “masked” was read as one in which True means “may attend”.",
    mend="Turn the triangle round: a query sees j ≤ p_i.",
    hides_when="never, where the future is hidden",
    source="rasbt/LLMs-from-scratch#1061",
    wrong={"allow": lambda problem: replacing(problem, causal=distances(problem) < 0)},
    applies=is_causal,
    witness=CAUSAL,
    blind_spot=Recipe(),
    typical=True,
)

CAUSAL_TOP_LEFT = Mistake(
    id="causal-top-left-for-bottom-right",
    title="let the first query meet the first key instead of the last query the last key",
    formula=r"j \le i \text{ instead of } j \le i + (T_k - T_q)",
    why="With more keys than queries, the queries are the tail of the sequence: a chunk after a cache sees "
    "all of the cache.",
    mend="Place the first query at Tk − Tq, or say where it stands with offset.",
    hides_when="there are as many queries as keys",
    source="gittensor-ai-lab/sparkinfer#3",
    wrong={"allow": lambda problem: up_to(problem, 0)},
    applies=lambda problem: moved(problem) and problem.offset is None,
    witness=CACHED,
    blind_spot=CAUSAL,
    convention=True,
)

CAUSAL_BOTTOM_RIGHT = Mistake(
    id="causal-bottom-right-for-top-left",
    title="let the last query meet the last key instead of the first query the first key",
    formula=r"j \le i + (T_k - T_q) \text{ instead of } j \le i",
    why="The problem places the first query at the first key (“upper left”); counted from the end, every "
    "row shifts.",
    mend='Place the first query at 0: causal="upper_left".',
    hides_when="there are as many queries as keys",
    source="ml-explore/mlx#2835",
    wrong={"allow": lambda problem: up_to(problem, from_the_end(problem))},
    applies=lambda problem: is_causal(problem) and problem.offset is not None and not moved(problem),
    witness=Recipe(Tq=2, Tk=4, options={"causal": "upper_left"}),
    blind_spot=Recipe(options={"causal": "upper_left"}),
    convention=True,
)

PLACED = Recipe(Tq=2, Tk=6, options={"causal": True, "offset": 2})


def placed(problem: Problem) -> bool:
    """The problem says where the first query stands, and it is not 0."""
    return moved(problem) and problem.offset is not None


CAUSAL_OFFSET_IGNORED = Mistake(
    id="causal-offset-ignored",
    title="took the first query to stand at the first key",
    formula=r"j \le i \text{ instead of } j \le i + \mathrm{offset}",
    why="The queries come after what is in the cache; counted from 0, they do not see the cache.",
    mend="Add the offset to the row: j ≤ i + offset.",
    hides_when="the offset is 0",
    source="hyprstream/hyprstream#1521",
    wrong={"allow": lambda problem: up_to(problem, 0)},
    applies=placed,
    witness=PLACED,
    blind_spot=Recipe(Tq=2, Tk=6, options={"causal": True, "offset": 0}),
)

CAUSAL_OFFSET_FROM_THE_END = Mistake(
    id="causal-offset-from-the-end",
    title="took the last query to meet the last key, although the problem says where the queries stand",
    formula=r"j \le i + (T_k - T_q) \text{ instead of } j \le i + \mathrm{offset}",
    why="Where a buffer holds keys that come later, or none yet, the queries do not stand at its end.",
    mend="Use the offset that is given.",
    hides_when="the offset is Tk − Tq",
    source="onnx/onnx#8054",
    wrong={"allow": lambda problem: up_to(problem, from_the_end(problem))},
    applies=placed,
    witness=PLACED,
    blind_spot=Recipe(Tq=2, Tk=6, options={"causal": True, "offset": 4}),
)

CAUSAL_OFFSET_FROM_BUFFER = Mistake(
    id="causal-offset-from-buffer",
    title="counted the padding when placing the queries",
    formula=r"j \le i + (T_k - T_q) \text{ instead of } j \le i + (n - T_q)",
    why="Of the Tk keys in the buffer only n are valid, and the last query meets the last valid one.",
    mend="Place the first query at n − Tq, with n the valid keys of that batch element.",
    hides_when="every batch element fills the buffer",
    source="lablup/mlxcel#75",
    wrong={"allow": lambda problem: up_to(problem, problem.Tk - problem.Tq)},
    applies=lambda problem: is_causal(problem) and problem.offset is None and problem.lengths is not None,
    witness=Recipe(B=2, H=1, Tq=2, Tk=6, options={"causal": True, "lengths": [3, 5]}),
    blind_spot=Recipe(B=2, H=1, Tq=2, Tk=6, options={"causal": True, "lengths": [6, 6]}),
)

CAUSAL_OFFSET_DOUBLED = Mistake(
    id="causal-offset-doubled",
    title="counted the keys in the cache twice",
    formula=r"j \le i + 2\,\mathrm{offset}",
    why="The rows were positions already, and the offset was added once more.",
    mend="Add the offset once.",
    hides_when="the offset is 0, or every key is seen anyway",
    source=BY_HAND,
    wrong={"allow": lambda problem: up_to(problem, 2 * places(problem))},
    applies=moved,
    witness=PLACED,
    blind_spot=Recipe(Tq=1, Tk=3, options={"causal": True}),
)

CAUSAL_OFFSET_NEGATED = Mistake(
    id="causal-offset-negated",
    title="subtracted the offset instead of adding it",
    formula=r"j \le i - \mathrm{offset}",
    why="The diagonal moves to the right as the queries move on; subtracted, it moves to the left and the "
    "rows empty.",
    mend="Add the offset: j ≤ i + offset.",
    hides_when="the offset is 0",
    source=BY_HAND,
    wrong={"allow": lambda problem: up_to(problem, -places(problem))},
    applies=moved,
    witness=PLACED,
    blind_spot=CAUSAL,
)

CAUSAL_OFFSET_OF_FIRST_SAMPLE = Mistake(
    id="causal-offset-of-first-sample",
    title="placed every batch element's queries where the first one's stand",
    formula=r"\mathrm{offset}_1 \text{ for every batch element}",
    why="Each sequence has a past of its own length.",
    mend="Use the offset of the batch element itself.",
    hides_when="all batch elements have the same offset",
    source=BY_HAND,
    wrong={"allow": lambda problem: up_to(problem, places(problem)[:1])},
    applies=lambda problem: (
        is_causal(problem)
        and len(problem.batch) == 1
        and bool((np.diff(places(problem)[:, 0, 0, 0]) != 0).any())
    ),
    witness=Recipe(B=2, H=1, Tq=2, Tk=6, options={"causal": True, "offset": [1, 3]}),
    blind_spot=Recipe(B=2, H=1, Tq=2, Tk=6, options={"causal": True, "offset": [2, 2]}),
)

CAUSAL_FLATTENED = Mistake(
    id="causal-flattened",
    title="numbered the rows through the whole batch",
    formula=r"j \le bT_q + i",
    why="With batch and queries in one axis, later batch elements get large row numbers and see their "
    "future.",
    mend="Number the rows within each batch element.",
    hides_when="there is one batch element",
    source=BY_HAND,
    wrong={"allow": lambda problem: up_to(problem, places(problem) + _earlier_rows(problem))},
    applies=lambda problem: is_causal(problem) and len(problem.batch) == 1 and problem.batch[0] > 1,
    witness=Recipe(B=2, H=1, options={"causal": True}),
    blind_spot=Recipe(B=1, H=1, options={"causal": True}),
)


def _earlier_rows(problem: Problem) -> Array:
    return np.asarray(np.arange(problem.batch[0])[:, None, None, None] * problem.Tq)


CAUSAL_FIRST_HEAD_ONLY = Mistake(
    id="causal-first-head-only",
    title="hid the future from the first head only",
    formula=r"j \le p_i \text{ for } h = 1 \text{ only}",
    why="Every head has to hide the future; one that sees it is enough to leak it.",
    mend="Let the causal mask broadcast over the heads.",
    hides_when="there is one head",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(
            problem, causal=(distances(problem) >= 0) | (np.arange(problem.H) > 0)[:, None, None]
        )
    },
    applies=lambda problem: is_causal(problem) and problem.H > 1,
    witness=Recipe(H=2, options={"causal": True}),
    blind_spot=Recipe(H=1, options={"causal": True}),
)

CAUSAL_OR_MASK = Mistake(
    id="causal-or-mask",
    title="let a key be seen where either the mask or causality allows it",
    formula=r"m_{ij} \vee j \le p_i",
    why="Both have to allow the key: padding in the past stays hidden, and so does a real token in the "
    "future.",
    mend="Combine them with “and”.",
    hides_when="the mask is the causal triangle itself",
    source=BY_HAND,
    wrong={"allow": lambda problem: _either(problem)},
    applies=lambda problem: is_causal(problem) and has_bool_mask(problem),
    witness=Recipe(mask="padding", options={"causal": True}),
    blind_spot=Recipe(
        options={"causal": True},
        fixed={"mask": [[True, False, False], [True, True, False], [True, True, True]]},
    ),
    typical=True,
)


def _either(problem: Problem) -> Array:
    pieces = limits(problem)
    causal = pieces.pop("causal")
    return joined(pieces | {"mask": pieces["mask"] | causal})


CAUSAL_DIAGONAL_ONLY = Mistake(
    id="causal-diagonal-only",
    title="let every query see its own position only",
    formula=r"j = p_i \text{ instead of } j \le p_i",
    why="A diagonal (eye) was taken for a triangle (tri): no token sees what came before it, and each gets "
    "its own value.",
    mend="Keep the lower triangle (tril): j ≤ p_i.",
    hides_when="other limits leave a query its own position only",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, causal=distances(problem) == 0)},
    applies=is_causal,
    witness=CAUSAL,
    blind_spot=SEEN_ANYWAY,
)

CAUSAL_UNINVITED = Mistake(
    id="causal-uninvited",
    title="hid the future although nothing asks for it",
    formula=r"j \le p_i \text{ instead of all } j",
    why="Only a decoder hides the future. In an encoder, and towards another sequence, every token may be "
    "seen.",
    mend="Leave causality off.",
    hides_when="no query has a key ahead of it",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, causal=distances(problem) >= 0), "mask": mask},
    applies=lambda problem: not problem.causal and problem.Tk > 1,
    witness=Recipe(),
    blind_spot=Recipe(Tq=1, Tk=3),
    typical=True,
)

CAUSAL_BY_BLOCK = Mistake(
    id="causal-by-block",
    title="hid only whole blocks of the future",
    formula=r"\lfloor j/\theta \rfloor \le \lfloor p_i/\theta \rfloor",
    why="Blocks that lie wholly in the future are left out; in the block on the diagonal each entry needs "
    "its own test.",
    mend="Test j ≤ p_i in the blocks that the diagonal crosses.",
    hides_when="the blocks hold one key each, or no query has a key ahead of it",
    source="Dao 2023, section 3.1.1",
    wrong={
        "allow": lambda problem, theta: replacing(
            problem, causal=np.arange(problem.Tk) // theta <= query_positions(problem) // theta
        )
    },
    applies=is_causal,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(float(size) for size in range(2, min(problem.Tk, 128) + 1)),
        right=lambda problem: 1.0,
        whole=True,
    ),
    witness=CAUSAL,
    blind_spot=Recipe(Tq=1, Tk=3, options={"causal": True}),
)

CAUSAL_ANOTHER_OFFSET = Mistake(
    id="causal-another-offset",
    title="placed the first query at another position",
    formula=r"j \le i + \theta",
    why="Where the queries stand decides what lies in their future.",
    mend="Place the first query where the problem says, or at Tk − Tq.",
    hides_when="θ is the right position, or every key is seen either way",
    source=RULE,
    wrong={"allow": lambda problem, theta: up_to(problem, theta)},
    applies=is_causal,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(
            float(place) for place in range(-min(problem.Tq, 64), min(problem.Tk, 64) + 1)
        ),
        right=lambda problem: _one_place(problem),
        whole=True,
    ),
    witness=CAUSAL,
    blind_spot=SEEN_ANYWAY,
)


def _one_place(problem: Problem) -> float | None:
    found = np.unique(places(problem))
    return float(found[0]) if found.size == 1 else None


MISTAKES: tuple[Mistake, ...] = (
    CAUSAL_SKIPPED,
    CAUSAL_STRICT,
    CAUSAL_ONE_TOO_MANY,
    CAUSAL_REVERSED,
    CAUSAL_INVERTED,
    CAUSAL_DIAGONAL_ONLY,
    CAUSAL_UNINVITED,
    CAUSAL_TOP_LEFT,
    CAUSAL_BOTTOM_RIGHT,
    CAUSAL_OFFSET_IGNORED,
    CAUSAL_OFFSET_FROM_THE_END,
    CAUSAL_OFFSET_FROM_BUFFER,
    CAUSAL_OFFSET_DOUBLED,
    CAUSAL_OFFSET_NEGATED,
    CAUSAL_OFFSET_OF_FIRST_SAMPLE,
    CAUSAL_FLATTENED,
    CAUSAL_FIRST_HEAD_ONLY,
    CAUSAL_OR_MASK,
    CAUSAL_BY_BLOCK,
    CAUSAL_ANOTHER_OFFSET,
)
