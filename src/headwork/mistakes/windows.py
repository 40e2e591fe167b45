"""Mistakes in the window: how many keys before and after the query's own position may be seen."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..mechanism.positions import distances, query_positions
from ..problem import Problem
from .causal import places
from .limits import joined, lengths_of, limits, replacing, without
from .mistake import Mistake, Parameter
from .recipe import Recipe

BY_HAND = "learners, by hand"
RULE = "Beltagy et al. 2020, section 3.1"
Bound = Array | float | None


def window_of(problem: Problem) -> tuple[int | None, int | None]:
    """(left, right), None where a side has no bound or there is no window."""
    return problem.window if problem.window is not None else (None, None)


def left_of(problem: Problem) -> int | None:
    """How many keys before its own position a query may see."""
    return window_of(problem)[0]


def right_of(problem: Problem) -> int | None:
    """How many keys after its own position a query may see."""
    return window_of(problem)[1]


def has_window(problem: Problem) -> bool:
    """There is a window with a bound."""
    return left_of(problem) is not None or right_of(problem) is not None


def bounded(problem: Problem, left: Bound, right: Bound, back: Array | None = None) -> Array:
    """All limits, with the window p − left … p + right instead of the right one."""
    back = distances(problem) if back is None else back
    inside = np.ones_like(back, dtype=bool)
    inside = inside if left is None else inside & (back <= left)
    return replacing(problem, window=inside if right is None else inside & (back >= -np.asarray(right)))


def longer(bound: int | None, by: int) -> int | None:
    """The bound moved outwards; no bound stays none."""
    return None if bound is None else bound + by


def reaches(bound: int | None, least: int = 0) -> bool:
    """The side has a bound of at least that many keys."""
    return bound is not None and bound >= least


BEHIND = Recipe(Tq=5, options={"causal": True, "window": (1, 0)})
AROUND = Recipe(Tq=5, options={"window": (1, 2)})
WIDE = Recipe(Tq=3, options={"window": (5, 5)})
ALL_INSIDE = "the sequence is no longer than the window"

WINDOW_IGNORED = Mistake(
    id="window-ignored",
    title="left the window out",
    formula=r"\text{no bound on } p_i - j",
    why="With a window a query sees only the keys near its own position.",
    mend="Mask the keys outside p_i − left … p_i + right.",
    hides_when=ALL_INSIDE,
    source="proger/hippogriff#7",
    wrong={"allow": lambda problem: without(problem, "window")},
    applies=has_window,
    witness=BEHIND,
    blind_spot=WIDE,
    typical=True,
)

WINDOW_ONE_TOO_MANY = Mistake(
    id="window-one-too-many",
    title="let the window reach one key further back",
    formula=r"p_i - j \le \mathrm{left} + 1",
    why="A window of W keys may count the query's own key or not: W keys with itself are left = W − 1. "
    "Systems differ.",
    mend="Where W counts the query itself, give left = W − 1.",
    hides_when=ALL_INSIDE,
    source="huggingface/transformers#39408",
    wrong={"allow": lambda problem: bounded(problem, longer(left_of(problem), 1), right_of(problem))},
    applies=lambda problem: reaches(left_of(problem)),
    witness=BEHIND,
    blind_spot=WIDE,
    convention=True,
    typical=True,
)

WINDOW_ONE_TOO_FEW = Mistake(
    id="window-one-too-few",
    title="let the window reach one key less far back",
    formula=r"p_i - j \le \mathrm{left} - 1",
    why="A window of W keys may count the query's own key or not: left does not count it. Systems differ.",
    mend="Where W does not count the query itself, give left = W.",
    hides_when=ALL_INSIDE,
    source="NVIDIA-NeMo/Megatron-Bridge#2656",
    wrong={"allow": lambda problem: bounded(problem, longer(left_of(problem), -1), right_of(problem))},
    applies=lambda problem: reaches(left_of(problem), 1),
    witness=BEHIND,
    blind_spot=WIDE,
    convention=True,
    typical=True,
)

WINDOW_RIGHT_ONE_TOO_MANY = Mistake(
    id="window-right-one-too-many",
    title="let the window reach one key further ahead",
    formula=r"j - p_i \le \mathrm{right} + 1",
    why="right counts the keys after the query's own position. Systems differ in whether the own key counts.",
    mend="Keep j ≤ p_i + right.",
    hides_when=f"{ALL_INSIDE}, or causality hides what lies ahead",
    source="huggingface/transformers#47010",
    wrong={"allow": lambda problem: bounded(problem, left_of(problem), longer(right_of(problem), 1))},
    applies=lambda problem: reaches(right_of(problem)) and not problem.causal,
    witness=AROUND,
    blind_spot=WIDE,
    convention=True,
)

WINDOW_RIGHT_ONE_TOO_FEW = Mistake(
    id="window-right-one-too-few",
    title="let the window reach one key less far ahead",
    formula=r"j - p_i < \mathrm{right}",
    why="right counts the keys after the query's own position, the last of them included. Systems differ.",
    mend="Keep j ≤ p_i + right.",
    hides_when=f"{ALL_INSIDE}, or causality hides what lies ahead",
    source="huggingface/transformers#47010",
    wrong={"allow": lambda problem: bounded(problem, left_of(problem), longer(right_of(problem), -1))},
    applies=lambda problem: reaches(right_of(problem), 1) and not problem.causal,
    witness=AROUND,
    blind_spot=WIDE,
    convention=True,
)

WINDOW_BOTH_ONE_TOO_MANY = Mistake(
    id="window-one-too-many-on-both-sides",
    title="let the window reach one key further on both sides",
    formula=r"-(\mathrm{right} + 1) \le p_i - j \le \mathrm{left} + 1",
    why="A window of W keys to each side may count the query's own key or not. Systems differ.",
    mend="Where W counts the query itself, give (W − 1, W − 1).",
    hides_when=ALL_INSIDE,
    source="huggingface/transformers#39408",
    wrong={
        "allow": lambda problem: bounded(problem, longer(left_of(problem), 1), longer(right_of(problem), 1))
    },
    applies=lambda problem: reaches(left_of(problem)) and reaches(right_of(problem)) and not problem.causal,
    witness=AROUND,
    blind_spot=WIDE,
    convention=True,
)

WINDOW_BOTH_ONE_TOO_FEW = Mistake(
    id="window-one-too-few-on-both-sides",
    title="let the window reach one key less far on both sides",
    formula=r"-\mathrm{right} < p_i - j < \mathrm{left}",
    why="A window of W keys to each side may count the query's own key or not. Systems differ.",
    mend="Where W does not count the query itself, give (W, W).",
    hides_when=ALL_INSIDE,
    source="keras-team/keras#22814",
    wrong={
        "allow": lambda problem: bounded(problem, longer(left_of(problem), -1), longer(right_of(problem), -1))
    },
    applies=lambda problem: (
        reaches(left_of(problem), 1) and reaches(right_of(problem), 1) and not problem.causal
    ),
    witness=AROUND,
    blind_spot=WIDE,
    convention=True,
)

WINDOW_SIDES_SWAPPED = Mistake(
    id="window-sides-swapped",
    title="swapped the two sides of the window",
    formula=r"p_i - \mathrm{right} \le j \le p_i + \mathrm{left}",
    why="The first number counts the keys before the query, the second those after it.",
    mend="Give (left, right): keys p − left … p + right.",
    hides_when="both sides are equal",
    source=BY_HAND,
    wrong={"allow": lambda problem: bounded(problem, right_of(problem), left_of(problem))},
    applies=lambda problem: left_of(problem) != right_of(problem),
    witness=AROUND,
    blind_spot=Recipe(Tq=5, options={"window": (1, 1)}),
    typical=True,
)

WINDOW_ON_BOTH_SIDES = Mistake(
    id="window-on-both-sides",
    title="let the window reach ahead as far as it reaches back",
    formula=r"|p_i - j| \le \mathrm{left}",
    why="The window looks back only; taken with the absolute distance, it shows the future as well.",
    mend="Bound the right side too: window=(left, 0).",
    hides_when="causality hides what lies ahead, or left is 0",
    source="huggingface/transformers#39408",
    wrong={"allow": lambda problem: bounded(problem, left_of(problem), left_of(problem))},
    applies=lambda problem: not problem.causal and reaches(left_of(problem), 1) and right_of(problem) == 0,
    witness=Recipe(Tq=5, options={"window": (1, 0)}),
    blind_spot=Recipe(Tq=5, options={"window": (0, 0)}),
    typical=True,
)

WINDOW_INSTEAD_OF_CAUSAL = Mistake(
    id="window-instead-of-causal",
    title="bounded the distance on both sides and left causality out",
    formula=r"|p_i - j| \le \mathrm{left} \text{ instead of } 0 \le p_i - j \le \mathrm{left}",
    why="A window of that size around the query shows the future too; it does not take the place of the "
    "causal mask.",
    mend="Keep both: j ≤ p_i and p_i − j ≤ left.",
    hides_when="no query has a key ahead of it, or left is 0",
    source="google/gemma_pytorch#73",
    wrong={
        "allow": lambda problem: joined(
            limits_but(problem, "causal") | {"window": np.abs(distances(problem)) <= (left_of(problem) or 0)}
        )
    },
    applies=lambda problem: problem.causal and reaches(left_of(problem), 1),
    witness=BEHIND,
    blind_spot=Recipe(Tq=5, options={"causal": True, "window": (0, 0)}),
)

WINDOW_FLIPS_FAR_FUTURE = Mistake(
    id="window-flips-far-future",
    title="took the far future out of the causal mask instead of the far past out of the window",
    formula=r"j \le p_i \;\text{ or }\; j > p_i + W, \quad W = \mathrm{left} + 1",
    why="Cut on the wrong side of the diagonal, the triangle of −∞ loses its far corner: the far future is "
    "seen again, and so is all of the past.",
    mend="Mask p_i − j > left as well as j > p_i.",
    hides_when="the sequence is no longer than the window",
    source="huggingface/transformers#41228",
    wrong={
        "allow": lambda problem: joined(
            limits_but(problem, "window")
            | {"causal": (distances(problem) >= 0) | (distances(problem) < -_width(problem))}
        )
    },
    applies=lambda problem: problem.causal and reaches(left_of(problem)),
    witness=BEHIND,
    blind_spot=Recipe(Tq=3, options={"causal": True, "window": (5, 0)}),
)


def limits_but(problem: Problem, kind: str) -> dict[str, Array]:
    """All limits but that one."""
    return {name: piece for name, piece in limits(problem).items() if name != kind}


WINDOW_CENTRED = Mistake(
    id="window-centred",
    title="put half of the window on each side",
    formula=r"|p_i - j| \le \lfloor W/2 \rfloor, \quad W = \mathrm{left} + \mathrm{right} + 1",
    why="The window's width was read as its whole extent around the query; it says how far to reach on each "
    "side.",
    mend="Reach left keys back and right keys ahead.",
    hides_when="left and right are equal",
    source=BY_HAND,
    wrong={"allow": lambda problem: bounded(problem, _half(problem), _half(problem))},
    applies=lambda problem: reaches(left_of(problem)) and reaches(right_of(problem)),
    witness=Recipe(Tq=5, options={"window": (3, 0)}),
    blind_spot=Recipe(Tq=5, options={"window": (1, 1)}),
)


def _half(problem: Problem) -> int:
    return ((left_of(problem) or 0) + (right_of(problem) or 0) + 1) // 2


WINDOW_ZERO_AS_NONE = Mistake(
    id="window-zero-as-none",
    title="took a bound of 0 to mean no bound",
    formula=r"0 \text{ read as } \infty",
    why="0 keys on a side is a bound like any other; tested for truth, 0 counts as “not given”.",
    mend="Ask whether the bound is None.",
    hides_when="neither side is 0, or causality hides what lies ahead",
    source=BY_HAND,
    wrong={"allow": lambda problem: bounded(problem, left_of(problem) or None, right_of(problem) or None)},
    applies=lambda problem: left_of(problem) == 0 or (right_of(problem) == 0 and not problem.causal),
    witness=Recipe(Tq=5, options={"window": (1, 0)}),
    blind_spot=AROUND,
)

WINDOW_INVERTED = Mistake(
    id="window-inverted",
    title="hid the window and kept the rest",
    formula=r"j \text{ outside } p_i - \mathrm{left} \ldots p_i + \mathrm{right}",
    why="Inside the window means: may be seen. A band in which True means “masked” was read the other way "
    "round.",
    mend="Keep the keys inside the window.",
    hides_when="never, where there is a window with a bound",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, window=~_inside(problem))},
    applies=has_window,
    witness=AROUND,
    blind_spot=Recipe(),
)


def _inside(problem: Problem) -> Array:
    left, right = window_of(problem)
    back = distances(problem)
    return np.asarray(
        (back <= (np.inf if left is None else left)) & (back >= (-np.inf if right is None else -right))
    )


WINDOW_BY_ROW = Mistake(
    id="window-by-row",
    title="placed the window by the row number instead of the query's position",
    formula=r"i - \mathrm{left} \le j \le i + \mathrm{right}",
    why="With keys in a cache, row i stands at position p_i = i + offset; counted by rows, the window lies "
    "too far back.",
    mend="Measure from p_i, the position of the query.",
    hides_when="the first query stands at 0",
    source="trymirai/lalamo#200",
    wrong={
        "allow": lambda problem: bounded(problem, *window_of(problem), distances(problem) - places(problem))
    },
    applies=lambda problem: has_window(problem) and bool((places(problem) != 0).any()),
    witness=Recipe(Tq=2, Tk=6, options={"window": (1, 1)}),
    blind_spot=Recipe(Tq=5, options={"window": (1, 1)}),
)

WINDOW_LEFT_BY_ROW = Mistake(
    id="window-left-by-row",
    title="let the window begin by the row number and end by the query's position",
    formula=r"i - \mathrm{left} \le j \le p_i + \mathrm{right}",
    why="The causal side knows about the cache, the other one does not: with a long cache the window reaches "
    "back to its start.",
    mend="Measure both sides from p_i, the position of the query.",
    hides_when="the first query stands at 0",
    source="trymirai/lalamo#200",
    wrong={
        "allow": lambda problem: replacing(
            problem,
            window=(problem.row_numbers[:, None] - np.arange(problem.Tk) <= left_of(problem))
            & (distances(problem) >= (-np.inf if right_of(problem) is None else -(right_of(problem) or 0))),
        )
    },
    applies=lambda problem: (
        reaches(left_of(problem)) and right_of(problem) is not None and bool((places(problem) != 0).any())
    ),
    witness=Recipe(Tq=2, Tk=6, options={"window": (1, 1)}),
    blind_spot=Recipe(Tq=5, options={"window": (1, 1)}),
)

WINDOW_FROM_THE_END = Mistake(
    id="window-from-the-end",
    title="gave every query the last keys of the sequence",
    formula=r"n - 1 - j \le \mathrm{left}",
    why="The window moves with the query. Cut from the end of the cache, it is right for the last query "
    "only.",
    mend="Measure from the query's own position: p_i − j ≤ left.",
    hides_when="there is one query, at the end",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(
            problem, window=lengths_of(problem) - 1 - np.arange(problem.Tk) <= left_of(problem)
        )
    },
    applies=lambda problem: reaches(left_of(problem)),
    witness=Recipe(Tq=5, options={"window": (1, None)}),
    blind_spot=Recipe(Tq=1, Tk=5, options={"window": (1, None)}),
)

WINDOW_IN_BLOCKS = Mistake(
    id="window-in-blocks",
    title="cut the sequence into blocks instead of sliding the window",
    formula=r"\lfloor j/W \rfloor = \lfloor p_i/W \rfloor, \quad W = \mathrm{left} + 1",
    why="A sliding window reaches back over block borders; in blocks, the first token of a block sees "
    "nothing before it.",
    mend="Measure the distance: p_i − left ≤ j.",
    hides_when="the whole sequence lies in one block",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(
            problem,
            window=np.arange(problem.Tk) // _width(problem) == query_positions(problem) // _width(problem),
        )
    },
    applies=lambda problem: reaches(left_of(problem)),
    witness=Recipe(Tq=5, options={"causal": True, "window": (1, 0)}),
    blind_spot=Recipe(Tq=3, options={"causal": True, "window": (3, 0)}),
)


def _width(problem: Problem) -> int:
    return (left_of(problem) or 0) + 1


WINDOW_ANOTHER_WIDTH = Mistake(
    id="window-another-width",
    title="let the window reach back another number of keys",
    formula=r"p_i - j \le \theta",
    why="The window reaches back as many keys as its left side says.",
    mend="Keep the keys with p_i − j ≤ left.",
    hides_when=f"θ is the left side of the window, or {ALL_INSIDE}",
    source=RULE,
    wrong={"allow": lambda problem, theta: bounded(problem, theta, right_of(problem))},
    applies=lambda problem: reaches(left_of(problem)),
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(float(width) for width in range(min(problem.Tk, 128))),
        right=lambda problem: left_of(problem),
        whole=True,
    ),
    witness=BEHIND,
    blind_spot=Recipe(Tq=1, Tk=1, options={"window": (1, 0)}),
)

MISTAKES: tuple[Mistake, ...] = (
    WINDOW_IGNORED,
    WINDOW_ONE_TOO_MANY,
    WINDOW_ONE_TOO_FEW,
    WINDOW_RIGHT_ONE_TOO_MANY,
    WINDOW_RIGHT_ONE_TOO_FEW,
    WINDOW_BOTH_ONE_TOO_MANY,
    WINDOW_BOTH_ONE_TOO_FEW,
    WINDOW_SIDES_SWAPPED,
    WINDOW_ON_BOTH_SIDES,
    WINDOW_INSTEAD_OF_CAUSAL,
    WINDOW_FLIPS_FAR_FUTURE,
    WINDOW_CENTRED,
    WINDOW_ZERO_AS_NONE,
    WINDOW_INVERTED,
    WINDOW_BY_ROW,
    WINDOW_LEFT_BY_ROW,
    WINDOW_FROM_THE_END,
    WINDOW_IN_BLOCKS,
    WINDOW_ANOTHER_WIDTH,
)
