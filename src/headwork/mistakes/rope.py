"""Mistakes with rotary positions: which features pair up, by what angle, which way, from where, on what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..mechanism import heads
from ..mechanism.positions import pairs, query_positions, rotate
from ..mechanism.steps import wide
from ..problem import ROPE_BASE, Problem, Rope
from .mistake import Mistake, Parameter, WrongStep, skip
from .recipe import Recipe

PAPER = "Su et al. 2021, section 3.2.2"
ROPE = Recipe(Tq=3, D=4, options={"rope": {"base": 100.0}})
ONE_TOKEN = Recipe(Tq=1, D=4, options={"rope": {"base": 100.0}})  # at position 0 nothing turns
ONE_PAIR = Recipe(Tq=3, D=2, options={"rope": {"base": 100.0}})
CACHED = Recipe(Tq=1, Tk=3, D=4, options={"rope": {"base": 100.0}})
PARTIAL = Recipe(Tq=3, D=4, options={"rope": {"base": 100.0, "dim": 2}})
WIDE_PARTIAL = Recipe(Tq=3, D=8, options={"rope": {"base": 100.0, "dim": 4}})
PACKED = Recipe(H=2, Tq=3, D=4, packed=True, options={"rope": {"base": 100.0}})
PER_HEAD = Recipe(H=2, Tq=3, D=4, options={"rope": {"base": 100.0}})
TURNED_VALUE = Recipe(Tq=3, D=4, Dv=4, options={"rope": {"base": 100.0}})

Positions = Callable[[Problem], Array]


# --- turning, with one thing changed --------------------------------------------------------------


def rope_of(problem: Problem) -> Rope:
    """The problem's rope; records here apply only where there is one."""
    rope: Rope | None = problem.rope
    assert rope is not None
    return rope


def key_positions(problem: Problem) -> Array:
    """j, shape (Tk, 1)."""
    return np.arange(problem.Tk)[:, None]


def frequencies(rope: Rope) -> Array:
    """base^(−2i/dim) for each pair i."""
    return np.asarray(rope.base ** (-np.arange(0, rope.dim, 2) / rope.dim))


def turn(x: Array, first: Array, second: Array, angle: Array) -> Array:
    """Each pair (first, second) of features turned by its angle (…, T, pairs)."""
    return mix(x, first, second, np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle))


def mix(x: Array, first: Array, second: Array, a: Array, b: Array, c: Array, d: Array) -> Array:
    """Each pair (u, v) of features replaced by (a·u + b·v, c·u + d·v); other features stay."""
    a, b, c, d = (np.asarray(m).astype(x.dtype) for m in (a, b, c, d))
    shape = np.broadcast_shapes(x.shape[:-1], a.shape[:-1])
    mixed = np.broadcast_to(x, (*shape, x.shape[-1])).copy()
    mixed[..., first] = a * x[..., first] + b * x[..., second]
    mixed[..., second] = c * x[..., first] + d * x[..., second]
    return mixed


Turned = Callable[..., Array]  # (problem, x, positions[, θ]) -> x turned wrongly


def both(turned: Turned) -> dict[str, WrongStep]:
    """Query and key turned wrongly in the same way."""
    return {**query_only(turned), **key_only(turned)}


def query_only(turned: Turned, positions: Positions = query_positions) -> dict[str, WrongStep]:
    """The query turned wrongly."""
    return {"rotate-query": lambda problem, *rest: _apply(turned, problem, positions(problem), rest)}


def key_only(turned: Turned, positions: Positions = key_positions) -> dict[str, WrongStep]:
    """The key turned wrongly."""
    return {"rotate-key": lambda problem, *rest: _apply(turned, problem, positions(problem), rest)}


def _apply(turned: Turned, problem: Problem, positions: Array, rest: tuple[Any, ...]) -> Array:
    *theta, x = rest  # a rule with a number has it before the field
    return turned(problem, wide(problem, x), positions, *theta)


def rightly(problem: Problem, x: Array, positions: Array) -> Array:
    """The right turn: for rules that have the wrong positions."""
    return rotate(x, positions, rope_of(problem))


def with_frequencies(wrong: Callable[[Rope], Array]) -> Turned:
    """Pair i turned by position · wrong(rope)[i]."""

    def turned(problem: Problem, x: Array, positions: Array) -> Array:
        rope = rope_of(problem)
        return turn(x, *pairs(rope), positions * wrong(rope))

    return turned


def with_rope(**changes: Any) -> Turned:
    """Turned with another base, pairing or dim."""
    return lambda problem, x, positions: rotate(x, positions, replace(rope_of(problem), **changes))


def other_pairing(rope: Rope) -> str:
    """The pairing that the rope does not have."""
    return "half" if rope.pairing == "interleaved" else "interleaved"


# --- which problems can show it -------------------------------------------------------------------


def roped(problem: Problem) -> bool:
    """The problem turns its queries and keys."""
    return problem.rope is not None


def several_pairs(problem: Problem) -> bool:
    """More than one pair is turned: only then can pairs and angles be mixed up."""
    return problem.rope is not None and problem.rope.dim > 2


def partial(problem: Problem) -> bool:
    """Only some of the features are turned."""
    return problem.rope is not None and problem.rope.dim < (problem.D or 0)


def shifted(problem: Problem) -> bool:
    """The first query does not stand at position 0."""
    return problem.rope is not None and bool((query_positions(problem)[..., :1, :] != 0).any())


# --- pairs and angles -----------------------------------------------------------------------------


def half_pairs_interleaved_angles(problem: Problem, x: Array, positions: Array) -> Array:
    """Pairs (i, i + d/2), but the angles laid out t₀, t₀, t₁, t₁, …"""
    rope = rope_of(problem)
    laid_out = np.repeat(frequencies(rope), 2)
    return _mixed(x, pairs(replace(rope, pairing="half")), positions * laid_out)


def interleaved_pairs_half_angles(problem: Problem, x: Array, positions: Array) -> Array:
    """Pairs (2i, 2i + 1), but the angles laid out t₀, t₁, …, t₀, t₁, …"""
    rope = rope_of(problem)
    laid_out = np.tile(frequencies(rope), 2)
    return _mixed(x, pairs(replace(rope, pairing="interleaved")), positions * laid_out)


def _mixed(x: Array, paired: tuple[Array, Array], angle: Array) -> Array:
    """x·cos + rotated(x)·sin, where the two features of a pair have different angles."""
    first, second = paired
    cos, sin = np.cos(angle), np.sin(angle)
    return mix(x, first, second, cos[..., first], -sin[..., first], sin[..., second], cos[..., second])


ROPE_ANGLES_AND_PAIRS_MIXED = Mistake(
    id="rope-angles-and-pairs-mixed",
    title="paired feature i with i + d/2, but laid the angles out for neighbours",
    formula=r"(x_i,\, x_{i + d/2}) \text{ with angles } t_0, t_0, t_1, t_1, \ldots",
    why=(
        "Two features of a pair are turned by different angles: that is no turn, and scores no longer "
        "depend on i − j alone."
    ),
    mend="Use one layout for both: halves with t₀ t₁ … t₀ t₁ …, or neighbours with t₀ t₀ t₁ t₁ …",
    hides_when="there is one pair, or all positions are 0",
    source="raiyanyahya/how-to-train-your-gpt#6",
    wrong=both(half_pairs_interleaved_angles),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
)

ROPE_NEIGHBOURS_WITH_HALF_ANGLES = Mistake(
    id="rope-neighbours-with-half-angles",
    title="paired neighbours, but laid the angles out for halves",
    formula=r"(x_{2i},\, x_{2i + 1}) \text{ with angles } t_0, t_1, \ldots, t_0, t_1, \ldots",
    why=(
        "Two features of a pair are turned by different angles: that is no turn, and scores no longer "
        "depend on i − j alone."
    ),
    mend="Use one layout for both: neighbours with t₀ t₀ t₁ t₁ …, or halves with t₀ t₁ … t₀ t₁ …",
    hides_when="there is one pair, or all positions are 0",
    source="EleutherAI/gpt-neox#834",
    wrong=both(interleaved_pairs_half_angles),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
)

ROPE_PAIRING = Mistake(
    id="rope-pairing",
    title="paired the features the other way",
    formula=r"(x_{2i},\, x_{2i+1}) \text{ instead of } (x_i,\, x_{i+d/2}), \text{ or the reverse}",
    why=(
        "Both pairings are in use; weights trained with one give wrong scores with the other, at every "
        "position but 0."
    ),
    mend=(
        "Say which pairing is meant, and reorder the columns of W_Q and W_K when moving from one to the "
        "other."
    ),
    hides_when="there is one pair, or all positions are 0",
    source="huggingface/candle#3948",
    wrong=both(
        lambda problem, x, positions: with_rope(pairing=other_pairing(rope_of(problem)))(
            problem, x, positions
        )
    ),
    applies=several_pairs,
    convention=True,
    witness=ROPE,
    blind_spot=ONE_PAIR,
)

# --- direction ------------------------------------------------------------------------------------

ROPE_BACKWARDS = Mistake(
    id="rope-backwards",
    title="turned queries and keys the other way round",
    formula=r"R(-p)\, x",
    why="Scores then depend on j − i where i − j is meant: past and future change places.",
    mend="Turn by +p: (x₁ cos − x₂ sin, x₁ sin + x₂ cos).",
    hides_when="all positions are equal",
    source="karpathy/nanochat#489",
    wrong=both(lambda problem, x, positions: rotate(x, -positions, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_QUERY_BACKWARDS = Mistake(
    id="rope-query-backwards",
    title="turned the queries the other way round, the keys rightly",
    formula=r"R(-i)\, q_i,\; R(j)\, k_j",
    why="Scores then depend on i + j instead of i − j.",
    mend="Turn both the same way.",
    hides_when="all queries stand at position 0",
    source=PAPER,
    wrong=query_only(lambda problem, x, positions: rotate(x, -positions, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)

ROPE_KEY_BACKWARDS = Mistake(
    id="rope-key-backwards",
    title="turned the keys the other way round, the queries rightly",
    formula=r"R(i)\, q_i,\; R(-j)\, k_j",
    why=(
        "Turning the key back looks like the minus in i − j, but the dot product of two turned vectors "
        "has it already."
    ),
    mend="Turn both the same way.",
    hides_when="all keys stand at position 0",
    source=PAPER,
    wrong=key_only(lambda problem, x, positions: rotate(x, -positions, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)

ROPE_MINUS_FORGOTTEN = Mistake(
    id="rope-minus-forgotten",
    title="forgot the minus in the turn",
    formula=r"(x_1 \cos + x_2 \sin,\; x_1 \sin + x_2 \cos)",
    why="A turn has one minus; without it lengths change and scores no longer depend on i − j alone.",
    mend="Take (x₁ cos − x₂ sin, x₁ sin + x₂ cos).",
    hides_when="all positions are 0",
    source=PAPER,
    wrong=both(
        lambda problem, x, positions: _turned_with(
            problem, x, positions, lambda cos, sin: (cos, sin, sin, cos)
        )
    ),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_SIN_AND_COS_SWAPPED = Mistake(
    id="rope-sin-and-cos-swapped",
    title="swapped sine and cosine",
    formula=r"(x_1 \sin - x_2 \cos,\; x_1 \cos + x_2 \sin)",
    why=(
        "That turns by a quarter minus the angle: position 0 turns too, and scores come out as if turned "
        "backwards."
    ),
    mend="Multiply x with the cosine and its partner with the sine.",
    hides_when="all positions are equal, from the scores on",
    source=PAPER,
    wrong=both(
        lambda problem, x, positions: _turned_with(
            problem, x, positions, lambda cos, sin: (sin, -cos, cos, sin)
        )
    ),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_OVERWRITTEN = Mistake(
    id="rope-overwritten",
    title="used the turned first feature to turn the second",
    formula=(
        r"x_1 \leftarrow x_1 \cos - x_2 \sin;\; x_2 \leftarrow x_1 \sin + x_2 \cos \text{ with the new } "
        r"x_1"
    ),
    why="Written in place, the second line reads what the first one has changed.",
    mend="Keep both old features until both new ones are made.",
    hides_when="all positions are 0",
    source="learners, by hand",
    wrong=both(
        lambda problem, x, positions: _turned_with(
            problem, x, positions, lambda cos, sin: (cos, -sin, cos * sin, cos - sin * sin)
        )
    ),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)


def _turned_with(problem: Problem, x: Array, positions: Array, entries: Callable[..., Any]) -> Array:
    """Each pair multiplied by the matrix (a b; c d) that `entries` makes of cosine and sine."""
    rope = rope_of(problem)
    angle = positions * frequencies(rope)
    return mix(x, *pairs(rope), *entries(np.cos(angle), np.sin(angle)))


# --- what is turned -------------------------------------------------------------------------------

ROPE_NOT_APPLIED = Mistake(
    id="rope-not-applied",
    title="did not turn queries and keys",
    formula=r"S = QK^T \text{ without } R",
    why="Without positions, the order of the tokens makes no difference to a score.",
    mend="Turn query i by its position and key j by j before the dot products.",
    hides_when="all positions are 0",
    source=PAPER,
    wrong={"rotate-query": skip, "rotate-key": skip},
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_QUERY_ONLY = Mistake(
    id="rope-query-only",
    title="turned the queries, not the keys",
    formula=r"(R(i)\, q_i) \cdot k_j",
    why="Scores then depend on the query's own position, not on the distance.",
    mend="Turn both.",
    hides_when="all keys stand at position 0",
    source=PAPER,
    wrong={"rotate-key": skip},
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_KEY_ONLY = Mistake(
    id="rope-key-only",
    title="turned the keys, not the queries",
    formula=r"q_i \cdot (R(j)\, k_j)",
    why="Scores then depend on the key's own position, not on the distance.",
    mend="Turn both.",
    hides_when="all queries stand at position 0",
    source=PAPER,
    wrong={"rotate-query": skip},
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_TWICE = Mistake(
    id="rope-twice",
    title="turned queries and keys twice",
    formula=r"R(p)\,R(p)\, x = R(2p)\, x",
    why="Cached keys are turned when they are stored, and once more when they are read.",
    mend="Turn each row once.",
    hides_when="all positions are 0",
    source=PAPER,
    wrong=both(lambda problem, x, positions: rotate(x, 2 * positions, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)

ROPE_KEY_TWICE = Mistake(
    id="rope-key-twice",
    title="turned the keys twice",
    formula=r"R(2j)\, k_j",
    why="Cached keys are turned when they are stored, and once more when they are read.",
    mend="Store keys turned, or turn them when they are read; one of the two.",
    hides_when="all keys stand at position 0",
    source=PAPER,
    wrong=key_only(lambda problem, x, positions: rotate(x, 2 * positions, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)

ROPE_VALUE_TOO = Mistake(
    id="rope-value-too",
    title="turned the values too",
    formula=r"V_j \to R(j)\, v_j",
    why="Positions belong to the comparison of query and key; a turned value hands over something else.",
    mend="Leave the values as they are.",
    hides_when="all keys stand at position 0; and always up to the weights",
    source="mistralai/mistral-inference#147",
    wrong={
        "repeat-value": lambda problem, value: rotate(
            wide(problem, heads.repeat(value, problem.H)), key_positions(problem), rope_of(problem)
        )
    },
    applies=lambda problem: roped(problem) and problem.Dv is not None and rope_of(problem).dim <= problem.Dv,
    witness=TURNED_VALUE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_WHOLE_HEAD = Mistake(
    id="rope-whole-head",
    title="turned all features instead of the first `dim`",
    formula=r"\text{all } d \text{ features, angles } p\,b^{-2i/d}",
    why="Partial rotary models leave the features from `dim` on as they are.",
    mend="Turn the first `dim` features and append the others unchanged.",
    hides_when="`dim` is the whole head",
    source="jagmarques/nexusquant#12",
    wrong=both(lambda problem, x, positions: with_rope(dim=problem.D)(problem, x, positions)),
    applies=lambda problem: partial(problem) and (problem.D or 0) % 2 == 0,
    witness=PARTIAL,
    blind_spot=ROPE,
)

ROPE_LAST_FEATURES = Mistake(
    id="rope-last-features",
    title="turned the last `dim` features instead of the first",
    formula=r"x_{d - \mathrm{dim}} \ldots x_{d-1} \text{ turned}",
    why="Some models keep the turned part at the end; weights laid out for the one do not fit the other.",
    mend="Turn the first `dim` features, or reorder the columns of W_Q and W_K.",
    hides_when="`dim` is the whole head",
    source=PAPER,
    wrong=both(
        lambda problem, x, positions: np.roll(
            rotate(np.roll(x, rope_of(problem).dim, axis=-1), positions, rope_of(problem)),
            -rope_of(problem).dim,
            axis=-1,
        )
    ),
    applies=partial,
    witness=PARTIAL,
    blind_spot=ROPE,
)

ROPE_PAIRS_ACROSS_THE_HEAD = Mistake(
    id="rope-pairs-across-the-head",
    title="paired feature i with i + d/2 of the whole head, where only `dim` features turn",
    formula=r"(x_i,\, x_{i + d/2}) \text{ instead of } (x_i,\, x_{i + \mathrm{dim}/2})",
    why="The partner lies half of the turned part away, not half of the head.",
    mend="Cut off the first `dim` features first, then pair their halves.",
    hides_when="`dim` is the whole head",
    source="apple/coreai-models#66",
    wrong=both(
        lambda problem, x, positions: turn(
            x,
            np.arange(rope_of(problem).dim // 2),
            np.arange(rope_of(problem).dim // 2) + (problem.D or 0) // 2,
            positions * frequencies(rope_of(problem)),
        )
    ),
    applies=lambda problem: partial(problem) and rope_of(problem).pairing == "half",
    witness=WIDE_PARTIAL,
    blind_spot=ROPE,
)

ROPE_FIRST_PAIRS_OF_THE_HEAD = Mistake(
    id="rope-first-pairs-of-the-head",
    title="turned the first pairs of the whole head, where the first `dim` features are meant",
    formula=r"(x_i,\, x_{i + d/2}) \text{ by } p \cdot b^{-2i/d},\; i < \mathrm{dim}/2",
    why=(
        "Pairs and speeds were laid out for the whole head and only cut off after dim/2 of them; the "
        "turned part is a small head of its own."
    ),
    mend="Cut off the first `dim` features first, then take pairs and speeds as for a head of that width.",
    hides_when="`dim` is the whole head",
    source="pie-project/pie#603",
    wrong=both(lambda problem, x, positions: first_pairs_of_the_head(problem, x, positions)),
    applies=lambda problem: partial(problem) and rope_of(problem).pairing == "half",
    witness=WIDE_PARTIAL,
    blind_spot=ROPE,
)


def first_pairs_of_the_head(problem: Problem, x: Array, positions: Array) -> Array:
    """Pair i < dim/2 is (i, i + d/2), its speed base^(−2i/d)."""
    D, rope = problem.D or 0, rope_of(problem)
    pair = np.arange(rope.dim // 2)
    return turn(x, pair, pair + D // 2, positions * rope.base ** (-2 * pair / D))


def before_the_split(problem: Problem, x: Array, positions: Array) -> Array:
    """The joined heads turned as one row, H·D wide."""
    whole = replace(rope_of(problem), dim=problem.H * (problem.D or 0))
    return heads.split(
        rotate(heads.merge(x), positions[..., 0, :, :] if positions.ndim > 2 else positions, whole), problem.H
    )


ROPE_BEFORE_SPLIT = Mistake(
    id="rope-before-split",
    title="turned the rows before splitting them into heads",
    formula=r"R \text{ over } H d \text{ features instead of } d \text{ in each head}",
    why="Each head then has other frequencies, and halves are paired across heads.",
    mend="Split into heads first, then turn each head's features.",
    hides_when="there is one head",
    source="Lightricks/LTX-Video#224",
    wrong=both(before_the_split),
    applies=lambda problem: (
        roped(problem) and problem.H > 1 and problem.Hkv == problem.H and rope_of(problem).dim == problem.D
    ),
    witness=PACKED,
    blind_spot=Recipe(H=1, Tq=3, D=4, packed=True, options={"rope": {"base": 100.0}}),
)

# --- positions ------------------------------------------------------------------------------------

ROPE_FROM_ONE = Mistake(
    id="rope-from-one",
    title="counted positions from 1",
    formula=r"R(p + 1)\, x",
    why=(
        "Positions start at 0. Scores do not notice, since only i − j counts; the turned vectors "
        "themselves do."
    ),
    mend="Give the first token position 0.",
    hides_when="always from the scores on: both sides are turned by one step more",
    source="learners, by hand",
    wrong=both(lambda problem, x, positions: rotate(x, positions + 1, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=None,
    typical=True,
)

ROPE_QUERY_OFFSET_IGNORED = Mistake(
    id="rope-query-offset-ignored",
    title="counted the queries' positions from 0, though keys precede them",
    formula=r"p_i = i \text{ instead of } i + \text{offset}",
    why=(
        "With a cache, the new query stands after the cached keys; at position 0 its distances are all wrong."
    ),
    mend="Add the number of cached tokens to the query's index.",
    hides_when="the first query stands at position 0",
    source="RobertCsordas/moeut#6",
    wrong=query_only(rightly, positions=lambda problem: problem.row_numbers[:, None]),
    applies=shifted,
    witness=CACHED,
    blind_spot=ROPE,
)

ROPE_CACHE_FORGOTTEN = Mistake(
    id="rope-cache-forgotten",
    title="turned the new tokens as if nothing were cached",
    formula=r"\text{new queries and new keys at } 0, 1, \ldots",
    why="Both the new query and the new key restart at position 0, while the cached keys keep theirs.",
    mend="Add the number of cached tokens to the positions of new queries and keys.",
    hides_when="nothing is cached: as many queries as keys",
    source="lucidrains/rotary-embedding-torch#11",
    wrong={
        **query_only(rightly, positions=lambda problem: problem.row_numbers[:, None]),
        **key_only(rightly, positions=lambda problem: _restarted(problem)),
    },
    applies=lambda problem: roped(problem) and problem.Tq < problem.Tk,
    witness=CACHED,
    blind_spot=ROPE,
)


def _restarted(problem: Problem) -> Array:
    """0 … for the cached keys, then 0 … again for the last Tq."""
    cached = problem.Tk - problem.Tq
    return np.concatenate([np.arange(cached), np.arange(problem.Tq)])[:, None]


ROPE_CACHE_ONE_AHEAD = Mistake(
    id="rope-cache-one-ahead",
    title="turned the new queries and keys one position too far, the cached keys rightly",
    formula=r"R(p_i + 1)\, q_i,\; R(j + 1)\, k_j \text{ for new } j",
    why=(
        "The counter was raised before the layer read it. Among the new tokens distances are right; to every "
        "cached key they are one too large."
    ),
    mend="Read the number of cached tokens first, then raise it.",
    hides_when="nothing is cached: as many queries as keys",
    source="fla-org/flash-linear-attention#766",
    wrong={
        **query_only(rightly, positions=lambda problem: query_positions(problem) + 1),
        **key_only(rightly, positions=lambda problem: _new_ones_ahead(problem)),
    },
    applies=lambda problem: roped(problem) and problem.Tq < problem.Tk,
    witness=CACHED,
    blind_spot=ROPE,
)


def _new_ones_ahead(problem: Problem) -> Array:
    """0, 1, … for the cached keys, one more for the last Tq."""
    place = np.arange(problem.Tk)
    return (place + (place >= problem.Tk - problem.Tq))[:, None]


ROPE_QUERY_ONE_AHEAD = Mistake(
    id="rope-query-one-ahead",
    title="turned the queries one position too far",
    formula=r"R(p_i + 1)\, q_i",
    why="The length was read after the new token had been appended, so every distance is one too large.",
    mend="The query's position is the number of tokens before it.",
    hides_when="never, but in single scores that happen to agree",
    source="rajveer43/VeloxQuant-MLX#389",
    wrong=query_only(rightly, positions=lambda problem: query_positions(problem) + 1),
    applies=roped,
    witness=ROPE,
    blind_spot=None,
)

ROPE_QUERY_ONE_BEHIND = Mistake(
    id="rope-query-one-behind",
    title="turned the queries one position too little",
    formula=r"R(p_i - 1)\, q_i",
    why=(
        "The positions of queries and keys were counted from different starts, so every distance is one "
        "too small."
    ),
    mend="Count both from 0.",
    hides_when="never, but in single scores that happen to agree",
    source="rajveer43/VeloxQuant-MLX#389",
    wrong=query_only(rightly, positions=lambda problem: query_positions(problem) - 1),
    applies=roped,
    witness=ROPE,
    blind_spot=None,
)

ROPE_QUERY_SHIFTED = Mistake(
    id="rope-query-shifted",
    title="turned the queries by positions that are off by a constant",
    formula=r"R(p_i + \theta)\, q_i",
    why="Queries and keys must count from the same start: only then is i − j their distance.",
    mend="Keep the true position of each token, also after the cache drops some.",
    hides_when="the constant is 0",
    source="warpfront/hipfire#391",
    wrong=query_only(lambda problem, x, positions, theta: rotate(x, positions + theta, rope_of(problem))),
    applies=roped,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(float(s) for s in range(-8, 65) if s != 0),
        right=lambda problem: 0.0,
        whole=True,
    ),
    witness=ROPE,
    blind_spot=None,
)

ROPE_FROM_THE_END = Mistake(
    id="rope-from-the-end",
    title="counted positions from the end",
    formula=r"R(T - 1 - p)\, x",
    why="Distances change their sign, as if queries and keys were turned backwards.",
    mend="The first token stands at position 0.",
    hides_when="there is one token",
    source=PAPER,
    wrong=both(lambda problem, x, positions: rotate(x, problem.Tk - 1 - positions, rope_of(problem))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)

ROPE_ALONG_HEADS = Mistake(
    id="rope-along-heads",
    title="took the head's number for the position",
    formula=r"R(h)\, x \text{ instead of } R(p)\, x",
    why="The axis of heads was taken for the axis of tokens: all tokens of a head are turned alike.",
    mend="Positions run along the tokens: axis −2 of (…, H, T, D), axis −3 of (…, T, H, D).",
    hides_when="there is one head and one token",
    source="facebookresearch/xformers#841",
    wrong=both(lambda problem, x, positions: rotate(x, _head_numbers(x), rope_of(problem))),
    applies=lambda problem: roped(problem) and problem.H > 1,
    witness=PER_HEAD,
    blind_spot=Recipe(H=1, Tq=1, D=4, options={"rope": {"base": 100.0}}),
)


def _head_numbers(x: Array) -> Array:
    return np.arange(x.shape[-3])[:, None, None]


ROPE_POSITIONS_SCALED = Mistake(
    id="rope-positions-scaled",
    title="stretched the positions",
    formula=r"R(p/\theta)\, x",
    why=(
        "Dividing positions is how a model is fitted to longer texts; it belongs to models that were "
        "trained so."
    ),
    mend="Use the positions as they are, or the factor that the model names.",
    hides_when="the factor is 1, or all positions are 0",
    source="Chen et al. 2023, Extending context window by positional interpolation",
    wrong=both(lambda problem, x, positions, theta: rotate(x, positions / theta, rope_of(problem))),
    applies=roped,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (
            2.0,
            4.0,
            8.0,
            16.0,
            0.5,
            0.25,
            *(float(f) for f in np.geomspace(0.1, 64, 40)),
        ),
        right=lambda problem: 1.0,
    ),
    witness=ROPE,
    blind_spot=ONE_TOKEN,
)

# --- frequencies ----------------------------------------------------------------------------------

ROPE_BASE_IGNORED = Mistake(
    id="rope-base-ignored",
    title="used the base 10000 instead of the one given",
    formula=r"p \cdot 10000^{-2i/d}",
    why="The base was written into the code; models differ in it, and the error grows with the distance.",
    mend="Take the base from the problem.",
    hides_when="the base is 10000, or there is one pair",
    source="huggingface/candle#3746",
    wrong=both(with_rope(base=ROPE_BASE)),
    applies=lambda problem: several_pairs(problem) and rope_of(problem).base != ROPE_BASE,
    witness=ROPE,
    blind_spot=Recipe(Tq=3, D=4, options={"rope": {"base": ROPE_BASE}}),
)

ROPE_ANOTHER_BASE = Mistake(
    id="rope-another-base",
    title="used another base",
    formula=r"p \cdot \theta^{-2i/d}",
    why="The base sets how fast the later pairs turn; queries and keys were made for the one given.",
    mend="Take the base from the problem.",
    hides_when="there is one pair: its angle is the position itself",
    source="lyogavin/airllm#369",
    wrong=both(
        lambda problem, x, positions, theta: turn(
            x,
            *pairs(rope_of(problem)),
            positions * np.asarray(theta ** (-np.arange(0, rope_of(problem).dim, 2) / rope_of(problem).dim)),
        )
    ),
    applies=several_pairs,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (
            1e4,
            5e5,
            1e6,
            1e3,
            100.0,
            10.0,
            1e5,
            5e6,
            *(float(b) for b in np.geomspace(2, 1e8, 60)),
        ),
        right=lambda problem: rope_of(problem).base,
    ),
    witness=ROPE,
    blind_spot=ONE_PAIR,
)

ROPE_EXPONENT_WITHOUT_TWO = Mistake(
    id="rope-exponent-without-two",
    title="left the 2 out of the exponent",
    formula=r"p \cdot b^{-i/d}",
    why=(
        "Pair i has the exponent 2i/d: with i counting pairs, the 2 is needed; with i counting features "
        "in steps of 2, it is there already."
    ),
    mend="Use −2i/d for pair i = 0 … d/2 − 1.",
    hides_when="there is one pair",
    source="rasbt/LLMs-from-scratch#410",
    wrong=both(with_frequencies(lambda rope: rope.base ** (-np.arange(rope.dim // 2) / rope.dim))),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
    typical=True,
)

ROPE_EXPONENT_DOUBLED = Mistake(
    id="rope-exponent-doubled",
    title="doubled the exponent",
    formula=r"p \cdot b^{-4i/d}",
    why="The index already went in steps of 2, and was multiplied by 2 once more; or d/2 was taken for d.",
    mend="Use −2i/d for pair i = 0 … d/2 − 1.",
    hides_when="there is one pair",
    source="lucidrains/RETRO-pytorch#12",
    wrong=both(with_frequencies(lambda rope: rope.base ** (-2 * np.arange(0, rope.dim, 2) / rope.dim))),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
)

ROPE_EXPONENT_FROM_ONE = Mistake(
    id="rope-exponent-from-one",
    title="counted the pairs from 1 in the exponent",
    formula=r"p \cdot b^{-2(i+1)/d}",
    why="The paper counts i from 1 and writes 2(i − 1)/d: the first pair turns by the position itself.",
    mend="Give the first pair the exponent 0.",
    hides_when="all positions are 0",
    source=PAPER,
    wrong=both(with_frequencies(lambda rope: rope.base ** (-np.arange(2, rope.dim + 2, 2) / rope.dim))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_EXPONENT_ONE_LESS = Mistake(
    id="rope-exponent-one-less",
    title="took 1 from the pair's number in the exponent, with pairs counted from 0",
    formula=r"p \cdot b^{-2(i - 1)/d},\; i = 0, 1, \ldots",
    why="The paper writes 2(i − 1)/d because it counts i from 1; from 0, the first pair turns b^(2/d) "
    "times too fast.",
    mend="With i from 0, use b^(−2i/d).",
    hides_when="all positions are 0",
    source="bkitano/llama-from-scratch#8",
    wrong=both(with_frequencies(lambda rope: rope.base ** (-np.arange(-2, rope.dim - 2, 2) / rope.dim))),
    applies=roped,
    witness=ROPE,
    blind_spot=ONE_TOKEN,
    typical=True,
)

ROPE_EXPONENT_SIGN = Mistake(
    id="rope-exponent-sign",
    title="left the minus out of the exponent",
    formula=r"p \cdot b^{+2i/d}",
    why="Later pairs turn more slowly; without the minus they spin.",
    mend="Use b^(−2i/d).",
    hides_when="there is one pair",
    source=PAPER,
    wrong=both(with_frequencies(lambda rope: rope.base ** (np.arange(0, rope.dim, 2) / rope.dim))),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
    typical=True,
)

ROPE_ONE_FREQUENCY = Mistake(
    id="rope-one-frequency",
    title="turned every pair by the position itself",
    formula=r"\text{angle } p \text{ for every pair}",
    why="Each pair has its own speed, b^(−2i/d); with one speed far positions look like near ones.",
    mend="Multiply the position by b^(−2i/d) for pair i.",
    hides_when="there is one pair",
    source=PAPER,
    wrong=both(with_frequencies(lambda rope: np.ones(rope.dim // 2))),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
    typical=True,
)

ROPE_FREQUENCIES_REVERSED = Mistake(
    id="rope-frequencies-reversed",
    title="gave the pairs their speeds in reverse order",
    formula=r"p \cdot b^{-2(d/2 - 1 - i)/d}",
    why="The first pair turns fastest, the last one slowest.",
    mend="Pair i turns by p · b^(−2i/d).",
    hides_when="there is one pair",
    source=PAPER,
    wrong=both(with_frequencies(lambda rope: frequencies(rope)[::-1])),
    applies=several_pairs,
    witness=ROPE,
    blind_spot=ONE_PAIR,
)

ROPE_EXPONENT_BY_HEAD_WIDTH = Mistake(
    id="rope-exponent-by-head-width",
    title="divided by the head's width in the exponent, where only `dim` features turn",
    formula=r"p \cdot b^{-2i/d} \text{ instead of } p \cdot b^{-2i/\mathrm{dim}}",
    why="The speeds are spread over the turned features, not over the whole head.",
    mend="Divide by `dim`.",
    hides_when="`dim` is the whole head, or there is one pair",
    source="pie-project/pie#602",
    wrong=both(
        lambda problem, x, positions: turn(
            x,
            *pairs(rope_of(problem)),
            positions * rope_of(problem).base ** (-np.arange(0, rope_of(problem).dim, 2) / (problem.D or 1)),
        )
    ),
    applies=lambda problem: partial(problem) and several_pairs(problem),
    witness=WIDE_PARTIAL,
    blind_spot=ROPE,
)

MISTAKES: tuple[Mistake, ...] = (
    ROPE_ANGLES_AND_PAIRS_MIXED,
    ROPE_NEIGHBOURS_WITH_HALF_ANGLES,
    ROPE_PAIRING,
    ROPE_BACKWARDS,
    ROPE_QUERY_BACKWARDS,
    ROPE_KEY_BACKWARDS,
    ROPE_MINUS_FORGOTTEN,
    ROPE_SIN_AND_COS_SWAPPED,
    ROPE_OVERWRITTEN,
    ROPE_NOT_APPLIED,
    ROPE_QUERY_ONLY,
    ROPE_KEY_ONLY,
    ROPE_TWICE,
    ROPE_KEY_TWICE,
    ROPE_VALUE_TOO,
    ROPE_WHOLE_HEAD,
    ROPE_LAST_FEATURES,
    ROPE_PAIRS_ACROSS_THE_HEAD,
    ROPE_FIRST_PAIRS_OF_THE_HEAD,
    ROPE_BEFORE_SPLIT,
    ROPE_FROM_ONE,
    ROPE_QUERY_OFFSET_IGNORED,
    ROPE_CACHE_FORGOTTEN,
    ROPE_CACHE_ONE_AHEAD,
    ROPE_QUERY_ONE_AHEAD,
    ROPE_QUERY_ONE_BEHIND,
    ROPE_QUERY_SHIFTED,
    ROPE_FROM_THE_END,
    ROPE_ALONG_HEADS,
    ROPE_POSITIONS_SCALED,
    ROPE_BASE_IGNORED,
    ROPE_ANOTHER_BASE,
    ROPE_EXPONENT_WITHOUT_TWO,
    ROPE_EXPONENT_DOUBLED,
    ROPE_EXPONENT_FROM_ONE,
    ROPE_EXPONENT_ONE_LESS,
    ROPE_EXPONENT_SIGN,
    ROPE_ONE_FREQUENCY,
    ROPE_FREQUENCIES_REVERSED,
    ROPE_EXPONENT_BY_HEAD_WIDTH,
)
