"""Mistakes in the soft cap: what it does to a score, and when."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..mechanism import heads
from ..mechanism.masks import is_biased, is_masked
from ..problem import Problem
from .mistake import Mistake, Parameter, skip
from .recipe import Recipe

PAPER = "Gemma Team 2024, Gemma 2, section 2"
CAPPED = Recipe(Tq=3, options={"softcap": 1.0})
MASKED = Recipe(Tq=3, mask="bool", options={"softcap": 1.0})
BIASED = Recipe(Tq=3, options={"softcap": 1.0, "alibi": 0.5})
BIASED_AND_MASKED = Recipe(Tq=3, options={"softcap": 1.0, "alibi": 0.5, "causal": True})
NO_SCORES = Recipe(Tq=3, options={"softcap": 1.0}, fixed={"query": [[0.0] * 4] * 3})  # tanh 0 = 0
CAP_ONE = Recipe(Tq=3, options={"softcap": 1.0})
CAP_TWO = Recipe(Tq=3, options={"softcap": 2.0})


def cap(problem: Problem, x: Array) -> Array:
    """c·tanh(x/c)."""
    c = problem.softcap or 1.0
    return np.asarray(c * np.tanh(x / c))


def capped(problem: Problem) -> bool:
    """The problem caps its scores."""
    return problem.softcap is not None


def capped_not_at_one(problem: Problem) -> bool:
    """The cap is not 1, so that a factor c more or less shows."""
    return problem.softcap not in (None, 1.0)


SOFTCAP_AFTER_MASK = Mistake(
    id="softcap-after-mask",
    title="capped the scores after masking them",
    formula=r"c\tanh((S + \text{mask})/c)",
    why=(
        "A masked score of −∞ becomes −c: the key that should be hidden keeps weight, the more the "
        "smaller c is."
    ),
    mend="Cap first, then add biases and mask.",
    hides_when="nothing is masked or added",
    source="onnx/onnx#7865",
    wrong={"softcap": skip, "before-softmax": cap},
    applies=lambda problem: capped(problem) and (is_masked(problem) or is_biased(problem)),
    witness=MASKED,
    blind_spot=CAPPED,
)

SOFTCAP_AFTER_BIAS = Mistake(
    id="softcap-after-bias",
    title="capped the scores after adding the bias, before masking",
    formula=r"c\tanh((S + B)/c)",
    why="The bias is then capped too: a far key's penalty never exceeds c.",
    mend="Cap first, then add the bias.",
    hides_when="nothing is added",
    source=PAPER,
    wrong={"softcap": skip, "add-bias": lambda problem, capped, bias: cap(problem, capped + bias)},
    applies=lambda problem: capped(problem) and is_biased(problem),
    witness=BIASED_AND_MASKED,
    blind_spot=MASKED,
)

SOFTCAP_BEFORE_SCALE = Mistake(
    id="softcap-before-scale",
    title="capped the scores before scaling them",
    formula=r"c\tanh(QK^T/c)/\sqrt{d_k}",
    why=(
        "The cap is meant for scaled scores; unscaled ones are larger, so they are capped too hard, and "
        "the limit becomes c/√d_k."
    ),
    mend="Divide by √d_k first, then cap.",
    hides_when="d_k is 1, or all scores are 0",
    source="huggingface/trl#5691",
    wrong={"scale": lambda problem, scores: cap(problem, scores) * problem.factor, "softcap": skip},
    applies=lambda problem: capped(problem) and (problem.D is not None or problem.scale is not None),
    witness=CAPPED,
    blind_spot=Recipe(Tq=3, D=1, options={"softcap": 1.0}),
)

SOFTCAP_IGNORED = Mistake(
    id="softcap-ignored",
    title="left the soft cap out",
    formula=r"S \text{ instead of } c\tanh(S/c)",
    why="Large scores are then not held back. With c = 50 short tests hardly notice.",
    mend="Replace each scaled score s by c·tanh(s/c).",
    hides_when="all scores are 0; hardly visible where they are small beside c",
    source="vllm-project/vllm-metal#665",
    wrong={"softcap": skip},
    applies=capped,
    witness=CAPPED,
    blind_spot=NO_SCORES,
    typical=True,
)

SOFTCAP_NOT_MULTIPLIED_BACK = Mistake(
    id="softcap-not-multiplied-back",
    title="did not multiply by the cap again",
    formula=r"\tanh(S/c)",
    why=(
        "tanh lies between −1 and 1: without the factor c small scores are divided by c, and weights are "
        "nearly equal."
    ),
    mend="Multiply by c: c·tanh(s/c) is about s for small s.",
    hides_when="the cap is 1",
    source=PAPER,
    wrong={"softcap": lambda problem, scaled: np.tanh(scaled / problem.softcap)},
    applies=capped_not_at_one,
    witness=CAP_TWO,
    blind_spot=CAP_ONE,
    typical=True,
)

SOFTCAP_NOT_DIVIDED = Mistake(
    id="softcap-not-divided",
    title="did not divide by the cap before the tanh",
    formula=r"c\tanh(S)",
    why="Scores above 1 are then all near c, and small ones are multiplied by c.",
    mend="Divide by c first: c·tanh(s/c).",
    hides_when="the cap is 1",
    source=PAPER,
    wrong={"softcap": lambda problem, scaled: problem.softcap * np.tanh(scaled)},
    applies=capped_not_at_one,
    witness=CAP_TWO,
    blind_spot=CAP_ONE,
    typical=True,
)

SOFTCAP_DIVIDED_ONLY = Mistake(
    id="softcap-divided-only",
    title="divided by the cap, and left the tanh out",
    formula=r"S/c",
    why="That is another scale, not a cap: nothing is held back.",
    mend="Take c·tanh(s/c).",
    hides_when="all scores are 0",
    source=PAPER,
    wrong={"softcap": lambda problem, scaled: scaled / problem.softcap},
    applies=capped_not_at_one,
    witness=CAP_TWO,
    blind_spot=Recipe(Tq=3, options={"softcap": 2.0}, fixed={"query": [[0.0] * 4] * 3}),
)

SOFTCAP_TIMES_SCORE = Mistake(
    id="softcap-times-score",
    title="multiplied by the score instead of the cap",
    formula=r"S\tanh(S/c)",
    why="For large scores tanh is 1 and nothing is capped; negative scores turn positive.",
    mend="The factor before tanh is c.",
    hides_when="all scores are 0",
    source="unslothai/unsloth-zoo#593",
    wrong={"softcap": lambda problem, scaled: scaled * np.tanh(scaled / problem.softcap)},
    applies=capped,
    witness=CAPPED,
    blind_spot=NO_SCORES,
)

SOFTCAP_IN_BASE_TWO = Mistake(
    id="softcap-in-base-two",
    title="capped the scores after turning them into powers of 2",
    formula=r"2^{c\tanh(S \log_2 e/c)}",
    why=(
        "With scores multiplied by log₂ e for exp2, the same c caps earlier: it stands for c·ln 2 in the "
        "units of the scores."
    ),
    mend="Cap first, then multiply by log₂ e; or use c·log₂ e as the cap.",
    hides_when="all scores are 0; hardly visible where they are small beside c",
    source="sgl-project/sgl-kernel-xpu#491",
    wrong={"softcap": lambda problem, scaled: _cap_in_base_two(problem, scaled)},
    applies=capped,
    witness=CAPPED,
    blind_spot=NO_SCORES,
)


def _cap_in_base_two(problem: Problem, scaled: Array) -> Array:
    c = (problem.softcap or 1.0) * math.log(2)
    return np.asarray(c * np.tanh(scaled / c))


SOFTCAP_CLIPPED_HARD = Mistake(
    id="softcap-clipped-hard",
    title="cut the scores off at the cap",
    formula=r"\min(\max(S, -c), c)",
    why=(
        "A soft cap bends all scores a little; cutting off leaves small ones as they are and makes large "
        "ones equal."
    ),
    mend="Take c·tanh(s/c).",
    hides_when="all scores are 0",
    source=PAPER,
    wrong={"softcap": lambda problem, scaled: np.clip(scaled, -problem.softcap, problem.softcap)},
    applies=capped,
    witness=CAPPED,
    blind_spot=NO_SCORES,
)

SOFTCAP_ON_WEIGHTS = Mistake(
    id="softcap-on-weights",
    title="capped the weights instead of the scores",
    formula=r"c\tanh(\mathrm{softmax}(S)/c)",
    why="Weights are below 1 already; capped, they no longer sum to 1.",
    mend="Cap the scaled scores, before the softmax.",
    hides_when="never, except where weights are 0",
    source="flashinfer-ai/flashinfer#299",
    wrong={"softcap": skip, "after-softmax": cap},
    applies=capped,
    witness=CAPPED,
    blind_spot=None,
)

SOFTCAP_ON_OUTPUT = Mistake(
    id="softcap-on-output",
    title="capped the output instead of the scores",
    formula=r"c\tanh(z/c)",
    why=(
        "Such models also cap the logits at their very end; that cap has a number of its own and is no "
        "part of attention."
    ),
    mend="Cap the scaled scores, before the softmax.",
    hides_when="values and scores are 0; and always up to the output but for the missing cap",
    source="KellerJordan/modded-nanogpt#33",
    wrong={
        "softcap": skip,
        "merge-heads": lambda problem, blended: cap(
            problem, heads.merge(blended) if problem.merges else blended
        ),
    },
    applies=lambda problem: capped(problem) and problem.Dv is not None,
    witness=CAPPED,
    blind_spot=Recipe(
        Tq=3, options={"softcap": 1.0}, fixed={"query": [[0.0] * 4] * 3, "value": [[0.0] * 4] * 3}
    ),
)

SOFTCAP_ANOTHER_CAP = Mistake(
    id="softcap-another-cap",
    title="used another cap",
    formula=r"\theta\tanh(S/\theta)",
    why=(
        "Models name two caps, one for attention and one for the final logits; or half, or the square, "
        "of it was taken."
    ),
    mend="Use the cap of the attention scores.",
    hides_when="θ is the cap, or all scores are 0",
    source="trymirai/lalamo#275",
    wrong={"softcap": lambda problem, theta, scaled: theta * np.tanh(scaled / theta)},
    applies=capped,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (
            30.0,
            50.0,
            *(float((problem.softcap or 1) * f) for f in (0.5, 2.0)),
            float((problem.softcap or 1) ** 2),
            *(float(c) for c in np.geomspace(0.05, 100, 40)),
        ),
        right=lambda problem: problem.softcap,
    ),
    witness=CAPPED,
    blind_spot=NO_SCORES,
)

SOFTCAP_SATURATES_EARLY = Mistake(
    id="softcap-saturates-early",
    title="divided by another number before the tanh than it multiplies by",
    formula=r"c\tanh(S/\theta)",
    why="Near 0 the cap must leave a score as it is: c·s/θ is s only where θ is c.",
    mend="Divide and multiply by the same c.",
    hides_when="θ is the cap, or all scores are 0",
    source="trymirai/lalamo#275",
    wrong={"softcap": lambda problem, theta, scaled: problem.softcap * np.tanh(scaled / theta)},
    applies=capped,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (
            float((problem.softcap or 1) / 2),
            float((problem.softcap or 1) * 2),
            *(float(c) for c in np.geomspace(0.05, 100, 40)),
        ),
        right=lambda problem: problem.softcap,
    ),
    witness=CAPPED,
    blind_spot=NO_SCORES,
)

MISTAKES: tuple[Mistake, ...] = (
    SOFTCAP_AFTER_MASK,
    SOFTCAP_AFTER_BIAS,
    SOFTCAP_BEFORE_SCALE,
    SOFTCAP_IGNORED,
    SOFTCAP_NOT_MULTIPLIED_BACK,
    SOFTCAP_NOT_DIVIDED,
    SOFTCAP_DIVIDED_ONLY,
    SOFTCAP_TIMES_SCORE,
    SOFTCAP_CLIPPED_HARD,
    SOFTCAP_IN_BASE_TWO,
    SOFTCAP_ON_WEIGHTS,
    SOFTCAP_ON_OUTPUT,
    SOFTCAP_ANOTHER_CAP,
    SOFTCAP_SATURATES_EARLY,
)
