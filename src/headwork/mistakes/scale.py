"""Mistakes in the scale: which number the scores are divided by, when, and how often."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from ..arrays import Array
from ..mechanism.masks import is_biased
from ..mechanism.steps import project, wide
from ..problem import Problem
from .blending import blended
from .mistake import Mistake, Parameter, Reading, skip
from .recipe import Recipe

PAPER = "Vaswani et al. 2017, section 3.2.1"
EQUAL_ROWS = "or all scores of a row are equal"
DIVISORS = tuple(map(float, np.geomspace(0.05, 200, 80)))  # to try
CLOSE = 1e-9  # relative: two sizes are the same number


def scale_known(problem: Problem) -> bool:
    """The problem says what the scores are multiplied by: `scale`, or D for 1/√d_k."""
    return problem.scale is not None or problem.D is not None


def default_scale(problem: Problem) -> bool:
    """The problem leaves the scale to the rule 1/√d_k."""
    return problem.scale is None and problem.D is not None


def given_scale(problem: Problem) -> bool:
    """The problem names its own scale, which is not 1/√d_k."""
    return problem.scale is not None and (
        problem.D is None or not math.isclose(problem.scale, 1 / math.sqrt(problem.D))
    )


def sizes(problem: Problem) -> dict[str, int]:
    """The problem's own sizes, as people call them: what may have been taken for d_k."""
    D, H = problem.D or 1, problem.H
    named = {"d_k": D, "Tk": problem.Tk, "Tq": problem.Tq, "H": H, "d_model": D * H}
    named |= {} if problem.Dv is None else {"d_v": problem.Dv}
    return named | ({} if problem.x is None else {"E": embedding_width(problem)})


def embedding_width(problem: Problem) -> int:
    """E, the width of the embeddings; D where there are none."""
    return int(problem.x.shape[-1]) if problem.x is not None else problem.D or 1


def names_of(problem: Problem, number: float) -> tuple[str, ...]:
    """What in this problem the number is: a size, its root or square, or a product of two sizes or its root.

    The simplest names only: with d_k = 4, 2.0 is "√d_k" and 4.0 is "d_k"; 3.0 may be nothing at all.
    """
    own = sizes(problem)
    pairs = {f"{a}·{b}": own[a] * own[b] for a, b in combinations(own, 2) if min(own[a], own[b]) > 1}
    forms: tuple[dict[str, float], ...] = (
        {name: float(size) for name, size in own.items()},
        {f"√{name}": math.sqrt(size) for name, size in own.items()},
        {f"{name}²": float(size) ** 2 for name, size in own.items()},
        {name: float(product) for name, product in pairs.items()},
        {f"√({name})": math.sqrt(product) for name, product in pairs.items()},
    )
    for form in forms:
        found = tuple(name for name, value in form.items() if math.isclose(value, number, rel_tol=CLOSE))
        if found:
            return found
    return ()


SCALE_MISSING = Mistake(
    id="scale-missing",
    title="left the scores unscaled",
    formula=r"S \text{ instead of } S/\sqrt{d_k}",
    why="A score is a sum of d_k products, so its spread grows with √d_k; unscaled, the softmax saturates "
    "as heads get wider.",
    mend="Divide every score by √d_k before the softmax.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="PAIR-code/tiny-transformers#71",
    wrong={"scale": skip},
    applies=scale_known,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    typical=True,
)

SCALE_D_K_INSTEAD_OF_SQRT = Mistake(
    id="scale-d-k-instead-of-sqrt",
    title="divided by d_k instead of √d_k",
    formula=r"S/d_k",
    why="The standard deviation of a dot product is √d_k; d_k is its variance. Dividing by d_k flattens the "
    "weights.",
    mend="Take the root: divide by √d_k.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="delzac/cntkx#10",
    wrong={"scale": lambda problem, scores: scores / problem.D},
    applies=default_scale,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    typical=True,
    readings=(
        Reading(
            id="scale-twice",
            title="divided by √d_k twice",
            why="Where queries are scaled beforehand and the kernel scales again, the scores end up divided "
            "by d_k.",
            mend="Scale once: either the queries or the scores.",
            source="huggingface/transformers#38290",
        ),
        Reading(
            id="scale-query-and-key",
            title="divided both the queries and the keys by √d_k",
            why="A score has one factor from the query and one from the key, so both divisions reach it: it "
            "is divided by d_k.",
            mend="Divide one of the two by √d_k, or each of them by the fourth root of d_k.",
            source="learners, by hand",
        ),
    ),
)

SCALE_INVERTED = Mistake(
    id="scale-inverted",
    title="multiplied by √d_k instead of dividing by it",
    formula=r"S \cdot \sqrt{d_k}",
    why="A factor stored as 1/√d_k multiplies; used as a divisor it makes the scores larger by d_k than "
    "they should be.",
    mend="Divide by √d_k, or multiply by 1/√d_k.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="esceptico/perceiver-io#9",
    wrong={"scale": lambda problem, scores: scores / problem.factor},
    applies=lambda problem: scale_known(problem) and problem.factor != 0,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    typical=True,
)

SCALE_TIMES_D_K = Mistake(
    id="scale-times-d-k",
    title="multiplied by d_k",
    formula=r"S \cdot d_k",
    why="The scores must get smaller as heads get wider, not larger; multiplied, one key takes almost all "
    "the weight.",
    mend="Divide by √d_k.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source=PAPER,
    wrong={"scale": lambda problem, scores: scores * problem.D},
    applies=default_scale,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
)

SCALE_D_K_SQUARED = Mistake(
    id="scale-d-k-squared",
    title="divided by the square of d_k",
    formula=r"S/d_k^2",
    why="√ and ² were mixed up: √d_k brings the spread of the scores back to 1, d_k² makes them almost "
    "equal.",
    mend="Take the root: divide by √d_k.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="learners, by hand",
    wrong={"scale": lambda problem, scores: scores / problem.D**2},
    applies=default_scale,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
)

SCALE_FOURTH_ROOT = Mistake(
    id="scale-fourth-root",
    title="divided by the fourth root of d_k",
    formula=r"S/\sqrt[4]{d_k}",
    why="The fourth root is right on each side, query and key, so that together they give √d_k; once is not "
    "enough.",
    mend="Divide both query and key by the fourth root of d_k, or the scores by √d_k.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="openai/improved-diffusion#54, where both sides carry it",
    wrong={"scale": lambda problem, scores: scores / problem.D**0.25},
    applies=default_scale,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    readings=(
        Reading(
            id="scale-on-one-side",
            title="scaled the queries by the fourth root of d_k, and not the keys",
            why="Split between the two sides, the scale is the fourth root on each; on one side only, half "
            "of it is missing.",
            mend="Scale the keys too.",
            source="openai/improved-diffusion#54, where both sides carry it",
        ),
    ),
)

SCALE_LOG_D_K = Mistake(
    id="scale-log-d-k",
    title="divided by the logarithm of d_k",
    formula=r"S/\ln d_k",
    why="The spread of a sum of d_k independent products grows with √d_k, not with its logarithm.",
    mend="Divide by √d_k.",
    hides_when=f"ln d_k and √d_k never agree; {EQUAL_ROWS.removeprefix('or ')}",
    source="learners, by hand",
    wrong={"scale": lambda problem, scores: scores / math.log(problem.D)},
    applies=lambda problem: default_scale(problem) and problem.D != 1,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
)

SCALE_HALF_HEAD = Mistake(
    id="scale-half-head",
    title="divided by √(d_k/2)",
    formula=r"S/\sqrt{d_k/2}",
    why="Pairs of features were counted, as rotary positions do, but a score sums over all d_k of them.",
    mend="Count every feature of the key: divide by √d_k.",
    hides_when="all scores of a row are equal",
    source="learners, by hand",
    wrong={"scale": lambda problem, scores: scores / math.sqrt(problem.D / 2)},
    applies=lambda problem: default_scale(problem) and (problem.D or 1) > 2,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
)

SCALE_WHOLE_ROOT = Mistake(
    id="scale-whole-root",
    title="rounded √d_k down to a whole number",
    formula=r"S/\lfloor\sqrt{d_k}\rfloor",
    why="Whole-number arithmetic drops what stands behind the point: √8 becomes 2.",
    mend="Divide in floating point.",
    hides_when=f"d_k is a square number, {EQUAL_ROWS}",
    source="learners, by hand",
    wrong={"scale": lambda problem, scores: scores / math.isqrt(problem.D)},
    applies=lambda problem: (
        default_scale(problem) and (problem.D or 1) not in (2, 3, math.isqrt(problem.D or 1) ** 2)
    ),
    witness=Recipe(D=6),
    blind_spot=Recipe(D=4),
)

SCALE_ZERO = Mistake(
    id="scale-zero",
    title="multiplied the scores by 0",
    formula=r"0 \cdot S",
    why="A scale of 0 that was meant as “not given” was taken literally, or 1/√d_k was worked out in whole "
    "numbers: every "
    "allowed key gets the same weight.",
    mend="Resolve the default first: 1/√d_k, in floating point.",
    hides_when="all scores of a row are equal already",
    source="SKaiNET-developers/SKaiNET#860",
    wrong={"scale": lambda problem, scores: scores * 0},
    applies=lambda problem: scale_known(problem) and problem.factor != 0,
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
)


def _by(
    size: Callable[[Problem], int],
    *,
    id: str,
    name: str,
    letter: str,
    why: str,
    source: str,
    witness: Recipe,
    blind_spot: Recipe,
    root: bool = True,
    typical: bool = False,
) -> Mistake:
    """Another size of the problem was taken for d_k, under the root or (`root` False) without it."""
    sign, divisor = ("√", rf"\sqrt{{{letter}}}") if root else ("", letter)
    return Mistake(
        id=id,
        title=f"divided by {sign}{name}",
        formula=f"S/{divisor}",
        why=why if root else f"{why} And the root is missing.",
        mend="Divide by √d_k, the root of the width of one key: key.shape[-1], once the heads are split.",
        hides_when=f"{name} happens to be d_k, {EQUAL_ROWS}"
        if root
        else f"{name} happens to be √d_k, {EQUAL_ROWS}",
        source=source,
        wrong={
            "scale": lambda problem, scores: scores / (math.sqrt(size(problem)) if root else size(problem))
        },
        applies=lambda problem: default_scale(problem) and size(problem) not in (0, 1, problem.D),
        witness=witness,
        blind_spot=blind_spot,
        typical=typical,
    )


KEY_COUNT = (
    "The number of keys says nothing about the spread of one dot product; its number of features does."
)
QUERY_COUNT = (
    "The number of queries says nothing about the spread of one dot product; its number of features does."
)
VALUE_WIDTH = "Values are blended after the softmax; their width has no part in a score."
HEAD_COUNT = "The number of heads says nothing about the spread of one head's dot product."
MODEL_WIDTH = "Only the d_k features of one head are summed in its dot product, not those of all heads."
EMBEDDING = "The embeddings were projected to d_k features before the dot product; only those are summed."

SCALE_BY_KEY_COUNT = _by(
    lambda problem: problem.Tk,
    id="scale-by-key-count",
    name="Tk, the number of keys",
    letter="T_k",
    why=KEY_COUNT,
    source="learners, by hand",
    witness=Recipe(Tq=2, Tk=5),
    blind_spot=Recipe(Tq=2, Tk=4),
    typical=True,
)
SCALE_BY_KEY_COUNT_UNROOTED = _by(
    lambda problem: problem.Tk,
    id="scale-by-key-count-unrooted",
    name="Tk, the number of keys",
    letter="T_k",
    why=KEY_COUNT,
    source="learners, by hand",
    witness=Recipe(Tq=2, Tk=5),
    blind_spot=Recipe(Tk=2),
    root=False,
    typical=True,
)
SCALE_BY_QUERY_COUNT = _by(
    lambda problem: problem.Tq,
    id="scale-by-query-count",
    name="Tq, the number of queries",
    letter="T_q",
    why=QUERY_COUNT,
    source="learners, by hand",
    witness=Recipe(Tq=2, Tk=5),
    blind_spot=Recipe(Tq=4, Tk=3),
)
SCALE_BY_QUERY_COUNT_UNROOTED = _by(
    lambda problem: problem.Tq,
    id="scale-by-query-count-unrooted",
    name="Tq, the number of queries",
    letter="T_q",
    why=QUERY_COUNT,
    source="learners, by hand",
    witness=Recipe(Tk=5),
    blind_spot=Recipe(Tq=2, Tk=3),
    root=False,
)
SCALE_BY_VALUE_WIDTH = _by(
    lambda problem: problem.Dv or 0,
    id="scale-by-value-width",
    name="d_v, the width of a value",
    letter="d_v",
    why=VALUE_WIDTH,
    source="juho-lee/set_transformer#18",
    witness=Recipe(Dv=3),
    blind_spot=Recipe(),
    typical=True,
)
SCALE_BY_VALUE_WIDTH_UNROOTED = _by(
    lambda problem: problem.Dv or 0,
    id="scale-by-value-width-unrooted",
    name="d_v, the width of a value",
    letter="d_v",
    why=VALUE_WIDTH,
    source="learners, by hand",
    witness=Recipe(Dv=3),
    blind_spot=Recipe(Dv=2),
    root=False,
)
SCALE_BY_HEAD_COUNT = _by(
    lambda problem: problem.H,
    id="scale-by-head-count",
    name="H, the number of heads",
    letter="H",
    why=HEAD_COUNT,
    source="tenstorrent/tt-metal#56789",
    witness=Recipe(H=2),
    blind_spot=Recipe(H=4),
)
SCALE_BY_HEAD_COUNT_UNROOTED = _by(
    lambda problem: problem.H,
    id="scale-by-head-count-unrooted",
    name="H, the number of heads",
    letter="H",
    why=HEAD_COUNT,
    source="learners, by hand",
    witness=Recipe(H=3),
    blind_spot=Recipe(H=2),
    root=False,
)
SCALE_D_MODEL = _by(
    lambda problem: problem.H * (problem.D or 0),
    id="scale-d-model",
    name="d_model, the width of all heads together",
    letter=r"d_{\mathrm{model}}",
    why=MODEL_WIDTH,
    source="lucidrains/vit-pytorch#65",
    witness=Recipe(H=2, packed=True),
    blind_spot=Recipe(H=1, packed=True),
    typical=True,
)
SCALE_D_MODEL_UNROOTED = _by(
    lambda problem: problem.H * (problem.D or 0),
    id="scale-d-model-unrooted",
    name="d_model, the width of all heads together",
    letter=r"d_{\mathrm{model}}",
    why=MODEL_WIDTH,
    source="learners, by hand",
    witness=Recipe(H=2, packed=True),
    blind_spot=Recipe(H=2, Tk=1, packed=True),
    root=False,
)
SCALE_BY_EMBEDDING_WIDTH = _by(
    embedding_width,
    id="scale-by-embedding-width",
    name="E, the width of the embeddings",
    letter="E",
    why=EMBEDDING,
    source="Graylab/DL4Proteins-notebooks#12",
    witness=Recipe(E=6, D=2),
    blind_spot=Recipe(E=4),
    typical=True,
)
SCALE_BY_EMBEDDING_WIDTH_UNROOTED = _by(
    embedding_width,
    id="scale-by-embedding-width-unrooted",
    name="E, the width of the embeddings",
    letter="E",
    why=EMBEDDING,
    source="learners, by hand",
    witness=Recipe(E=6, D=2),
    blind_spot=Recipe(E=2),
    root=False,
)

SCALE_GIVEN_IGNORED = Mistake(
    id="scale-given-ignored",
    title="divided by √d_k although the problem names its own scale",
    formula=r"S/\sqrt{d_k} \text{ instead of } \mathrm{scale}\cdot S",
    why="1/√d_k is only the default. Where a scale is given, it takes the default's place.",
    mend="Multiply the scores by the scale that is given.",
    hides_when=f"the scale given is 1/√d_k, {EQUAL_ROWS}",
    source="llvm/torch-mlir#4419",
    wrong={"scale": lambda problem, scores: scores / math.sqrt(problem.D)},
    applies=lambda problem: given_scale(problem) and problem.D is not None,
    witness=Recipe(options={"scale": 1.0}),
    blind_spot=Recipe(options={"scale": 0.5}),
    typical=True,
)

SCALE_GIVEN_AND_DEFAULT = Mistake(
    id="scale-given-and-default",
    title="multiplied by the given scale and divided by √d_k as well",
    formula=r"\mathrm{scale}\cdot S/\sqrt{d_k}",
    why="The scale was applied beforehand, and a function with a default of its own then applied 1/√d_k "
    "again.",
    mend="Hand the scale to the function, or tell it that its own scale is 1.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="huggingface/transformers#38290",
    wrong={"scale": lambda problem, scores: scores * (problem.scale / math.sqrt(problem.D))},
    applies=lambda problem: problem.scale is not None and problem.D is not None,
    witness=Recipe(options={"scale": 0.3}),
    blind_spot=Recipe(D=1, options={"scale": 0.3}),
)

SCALE_DEFAULT_NOT_CANCELLED = Mistake(
    id="scale-default-not-cancelled",
    title="divided by d_k to cancel the default scale, which divided by √d_k all the same",
    formula=r"\mathrm{scale}\cdot S/(d_k\sqrt{d_k})",
    why="The default multiplies by 1/√d_k, so √d_k undoes it; dividing by d_k makes the scores smaller "
    "still.",
    mend="Hand the scale to the function, or multiply the queries by scale·√d_k.",
    hides_when=f"d_k is 1, {EQUAL_ROWS}",
    source="lucidrains/denoising-diffusion-pytorch#314",
    wrong={"scale": lambda problem, scores: scores * (problem.scale / problem.D / math.sqrt(problem.D))},
    applies=lambda problem: problem.scale is not None and problem.D is not None,
    witness=Recipe(options={"scale": 0.9}),
    blind_spot=Recipe(D=1, options={"scale": 0.3}),
)

SCALE_GIVEN_SQUARED = Mistake(
    id="scale-given-twice",
    title="multiplied by the given scale twice",
    formula=r"\mathrm{scale}^2 \cdot S",
    why="Once on the queries and once on the scores, the scale counts twice.",
    mend="Apply it once: to the queries or to the scores.",
    hides_when=f"the scale is 1 or 0, {EQUAL_ROWS}",
    source="huggingface/transformers#38290",
    wrong={"scale": lambda problem, scores: scores * problem.scale**2},
    applies=lambda problem: problem.scale is not None,
    witness=Recipe(options={"scale": 0.3}),
    blind_spot=Recipe(options={"scale": 1.0}),
)

SCALE_BEFORE_PROJECTION_BIAS = Mistake(
    id="scale-before-projection-bias",
    title="scaled the projected queries before their bias was added",
    formula=r"(xW_Q/\sqrt{d_k} + b_Q)K^T",
    why="The bias is part of the query. Added after the scale, it stays unscaled and weighs √d_k times too "
    "much.",
    mend="Scale the query with its bias: (x W_Q + b_Q)/√d_k.",
    hides_when="there is no bias, or d_k is 1",
    source="learners, by hand",
    wrong={"project": lambda problem, x, x_key: _scaled_before_bias(problem, x, x_key), "scale": skip},
    applies=lambda problem: scale_known(problem) and problem.b_query is not None,
    witness=Recipe(E=3, D=2, fixed={"b_query": [0.5, -1.0]}),
    blind_spot=Recipe(E=3, D=2, fixed={"b_query": [0.0, 0.0]}),
)


def _scaled_before_bias(problem: Problem, x: Array, x_key: Array) -> tuple[Array, ...]:
    query, *others = project(problem, x, x_key)
    bias = wide(problem, problem.b_query)
    scaled = (wide(problem, query) - bias) * problem.factor + bias
    return (scaled.astype(problem.dtype, copy=False), *others)


SCALE_AFTER_BIAS = Mistake(
    id="scale-after-bias",
    title="added the bias before scaling, so that it was scaled too",
    formula=r"(S + B)/\sqrt{d_k}",
    why="A float mask or a position bias is added to the scaled scores; scaled along with them, it is √d_k "
    "times too weak.",
    mend="Scale the scores first, then add the bias.",
    hides_when="the bias holds only 0 and −∞, or d_k is 1",
    source="tenstorrent/tt-metal#56406",
    wrong={"add-bias": lambda problem, capped, bias: capped + bias * problem.factor},
    applies=lambda problem: is_biased(problem) and scale_known(problem) and problem.factor != 1,
    witness=Recipe(mask="float"),
    blind_spot=Recipe(mask="float", D=1),
)


def _shrunk(problem: Problem, x: Array) -> Array:
    return (x * problem.factor).astype(problem.dtype, copy=False)


SCALE_AFTER_SOFTMAX = Mistake(
    id="scale-after-softmax",
    title="scaled the weights instead of the scores",
    formula=r"\mathrm{softmax}(S)/\sqrt{d_k}",
    why="After the softmax the saturation has already happened, and the rows no longer sum to 1.",
    mend="Divide the scores before the softmax.",
    hides_when="d_k is 1",
    source="FrancescoSaverioZuppichini/ViT#2",
    wrong={"scale": skip, "after-softmax": _shrunk},
    applies=scale_known,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    typical=True,
)

SCALE_OUTPUT = Mistake(
    id="scale-output",
    title="scaled the output instead of the scores",
    formula=r"\mathrm{softmax}(S)\,V/\sqrt{d_k}",
    why="The scale tames the scores before they are exponentiated; dividing the blended values only shrinks "
    "them.",
    mend="Divide the scores before the softmax and leave the output as it is.",
    hides_when="d_k is 1",
    source="learners, by hand",
    wrong={"scale": skip, "blend": lambda problem, *fields: _shrunk(problem, blended(problem, *fields))},
    applies=scale_known,
    witness=Recipe(),
    blind_spot=Recipe(D=1),
    readings=(
        Reading(
            id="scale-values",
            title="scaled the values instead of the scores",
            why="The values are what is blended; the scale belongs to the scores, before the softmax.",
            mend="Divide the scores by √d_k and leave the values as they are.",
            source="learners, by hand",
        ),
    ),
)


LOG2_E = 1.44269504  # with the digits that kernels write

SCALE_COMPOUNDS_PER_PART = Mistake(
    id="scale-compounds-per-part",
    title="multiplied the scale by log₂ e once more for every part of the keys",
    formula=r"S\,(\log_2 e)^{p - 1}/\sqrt{d_k} \text{ in part } p",
    why="For powers of 2 the scale takes a factor log₂ e once. Inside the loop over the parts, it piles up.",
    mend="Multiply before the loop.",
    hides_when=f"there is one part, {EQUAL_ROWS}",
    source="flagos-ai/FlagGems#424",
    wrong={"scale": lambda problem, scores: _compounded(problem, scores)},
    applies=lambda problem: scale_known(problem) and problem.chunks is not None and len(problem.chunks) > 1,
    witness=Recipe(Tk=5, options={"chunks": (3, 2)}),
    blind_spot=Recipe(Tk=5, options={"chunks": (5,)}),
)


def _compounded(problem: Problem, scores: Array) -> Array:
    part = np.repeat(np.arange(len(problem.chunks)), problem.chunks) + 1
    scaled = scores * (problem.factor * LOG2_E**part * math.log(2))
    return np.asarray(scaled, dtype=scores.dtype)


SCALE_BY_ANOTHER_NUMBER = Mistake(
    id="scale-by-another-number",
    title="divided by a number that is not √d_k",
    formula=r"S/\theta",
    why="The weights follow from a division by θ; the divisor is √d_k.",
    mend="Divide by √d_k.",
    hides_when="θ is √d_k, or all scores of a row are equal",
    source=PAPER,
    wrong={"scale": lambda problem, theta, scores: scores / theta},
    applies=scale_known,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (*DIVISORS, -0.5, -1.0, -2.0, -4.0, -8.0),
        right=lambda problem: 1 / problem.factor if problem.factor else None,
    ),
    witness=Recipe(),
    blind_spot=Recipe(Tk=1),
)

MISTAKES: tuple[Mistake, ...] = (
    SCALE_MISSING,
    SCALE_D_K_INSTEAD_OF_SQRT,
    SCALE_BY_KEY_COUNT,
    SCALE_BY_VALUE_WIDTH,
    SCALE_D_MODEL,
    SCALE_BY_EMBEDDING_WIDTH,
    SCALE_INVERTED,
    SCALE_AFTER_SOFTMAX,
    SCALE_OUTPUT,
    SCALE_GIVEN_IGNORED,
    SCALE_GIVEN_AND_DEFAULT,
    SCALE_DEFAULT_NOT_CANCELLED,
    SCALE_GIVEN_SQUARED,
    SCALE_BY_QUERY_COUNT,
    SCALE_BY_HEAD_COUNT,
    SCALE_BY_KEY_COUNT_UNROOTED,
    SCALE_BY_QUERY_COUNT_UNROOTED,
    SCALE_BY_VALUE_WIDTH_UNROOTED,
    SCALE_BY_HEAD_COUNT_UNROOTED,
    SCALE_D_MODEL_UNROOTED,
    SCALE_BY_EMBEDDING_WIDTH_UNROOTED,
    SCALE_TIMES_D_K,
    SCALE_D_K_SQUARED,
    SCALE_FOURTH_ROOT,
    SCALE_WHOLE_ROOT,
    SCALE_HALF_HEAD,
    SCALE_LOG_D_K,
    SCALE_ZERO,
    SCALE_BEFORE_PROJECTION_BIAS,
    SCALE_AFTER_BIAS,
    SCALE_COMPOUNDS_PER_PART,
    SCALE_BY_ANOTHER_NUMBER,
)
