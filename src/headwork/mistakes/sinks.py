"""Mistakes with an attention sink: the extra logit that takes part in the softmax and is dropped after it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..mechanism import softmax
from ..mechanism.merging import merge_parts
from ..problem import Problem
from .mistake import Mistake, Parameter, Reading, Wrong, WrongStep
from .recipe import Recipe

PAPER = "Xiao et al. 2024, section 3; Miller 2023, Attention is off by one"
BY_HAND = "learners, by hand"
SINK = Recipe(Tq=3, options={"sink": 0.7})
SINKS = Recipe(H=2, Tq=3, D=2, fixed={"sink": [0.7, -0.4]})
EQUAL_SINKS = Recipe(H=2, Tq=3, D=2, fixed={"sink": [0.3, 0.3]})
SOFTMAX_ONE = Recipe(Tq=3, options={"sink": 0.0})
NO_SINK = Recipe(Tq=3, options={"sink": -math.inf})
PARTS_AND_SINK = Recipe(Tq=2, Tk=4, D=2, options={"sink": 0.7, "chunks": (2, 2)})
ONE_PART = Recipe(Tq=2, Tk=4, D=2, options={"sink": 0.7, "chunks": (4,)})


# --- the softmax, with another sink ---------------------------------------------------------------


def sink_of(problem: Problem) -> Array:
    """The sink's logit of each head, shape (H, 1, 1)."""
    return np.asarray(problem.sink)[:, None, None]


def with_sink(other: Callable[..., Array | None]) -> dict[str, WrongStep]:
    """Row maximum and sum with another sink, other(problem[, θ]) of shape (…, H, 1, 1); None is no sink."""
    return {
        "row-max": lambda problem, *rest: softmax.row_max(rest[-1], other(problem, *rest[:-1])),
        "row-sum": lambda problem, *rest: softmax.row_sum(rest[-2], other(problem, *rest[:-2]), rest[-1]),
    }


def sinks(problem: Problem) -> bool:
    """The problem has a sink that takes some of the weight."""
    return problem.sink is not None and bool(np.isfinite(problem.sink).any())


def sinks_not_zero(problem: Problem) -> bool:
    """A sink other than 0."""
    return sinks(problem) and bool(np.any(problem.sink))


def several_sinks(problem: Problem) -> bool:
    """Heads with sinks that differ."""
    return sinks(problem) and len(set(problem.sink)) > 1


def in_parts(problem: Problem) -> bool:
    """A sink and several parts of the keys."""
    return sinks(problem) and problem.chunks is not None and len(problem.chunks) > 1


def unshifted_row_sum(problem: Problem, exps: Array, top: Array) -> Array:
    """Σ e^(s − m) + e^sink: the sink's term is not shifted."""
    return softmax.row_sum(exps) + np.exp(sink_of(problem))


def all_sinks_row_sum(problem: Problem, exps: Array, top: Array) -> Array:
    """Σ e^(s − m) + sink: the sink itself where its exponential belongs."""
    return softmax.row_sum(exps) + sink_of(problem)


def sinkless_max(problem: Problem, logits: Array) -> Array:
    """The largest score, the sink left aside."""
    return softmax.row_max(logits)


def to_first_key(problem: Problem, weights: Array, allowed: Array) -> Array:
    """What the sink took is given to key 1 (each row sums to 1 again)."""
    missing = 1 - weights.sum(axis=-1, keepdims=True)
    given = np.zeros_like(weights)
    given[..., :1] = missing
    return np.asarray(weights + np.where(allowed, given, 0))


SOFTMAX_ONE_NOT_SHIFTED = Mistake(
    id="softmax-one-not-shifted",
    title="added the sink's term unshifted to shifted exponentials",
    formula=r"\frac{e^{s_j - m}}{e^{\mathrm{sink}} + \sum_k e^{s_k - m}}",
    why=(
        "Subtracting the maximum divides every exponential by e^m; the sink's term must be divided too, "
        "or its share no longer fits."
    ),
    mend="Add e^(sink − m): with a 1 in the denominator, that is e^(−m).",
    hides_when="the largest score of each row is 0",
    source="kyegomez/AttentionIsOFFByOne#5",
    wrong={"row-max": sinkless_max, "row-sum": unshifted_row_sum},
    applies=sinks,
    witness=SOFTMAX_ONE,
    blind_spot=Recipe(Tq=3, options={"sink": 0.0}, fixed={"query": [[0.0] * 4] * 3}),
    typical=True,
)

SINK_IGNORED = Mistake(
    id="sink-ignored",
    title="left the sink out",
    formula=r"\frac{e^{s_j}}{\sum_k e^{s_k}}",
    why=(
        "The sink takes a share of each row's attention and hands over nothing; without it the rows sum to 1."
    ),
    mend="Add e^(sink − m) to each row's sum.",
    hides_when="the sink is −∞",
    source="vllm-project/vllm-metal#550",
    wrong=with_sink(lambda problem: None),
    applies=sinks,
    witness=SINK,
    blind_spot=NO_SINK,
    typical=True,
    readings=(
        Reading(
            id="sink-weight-given-back",
            title="normalised the rows again after dropping the sink",
            why="Dropping the sink's column leaves rows that sum to less than 1, and that is what it is for.",
            mend="Leave the rows as they are after dropping the sink.",
            source=PAPER,
        ),
        Reading(
            id="sink-added-to-scores",
            title="added the sink to every score",
            why=(
                "The softmax does not see what is added to a whole row: the sink must be an entry of its own."
            ),
            mend="Append the sink to the row of scores, and drop its weight after the softmax.",
            source=PAPER,
        ),
    ),
)

SINK_NOT_EXPONENTIATED = Mistake(
    id="sink-not-exponentiated",
    title="added the sink itself to the row's sum",
    formula=r"\frac{e^{s_j - m}}{\mathrm{sink} + \sum_k e^{s_k - m}}",
    why="The sink is a logit like a score, so it is its exponential that joins the sum.",
    mend="Add e^(sink − m).",
    hides_when="never, but where sink = e^(sink − m) by chance",
    source=PAPER,
    wrong={"row-sum": all_sinks_row_sum},
    applies=sinks,
    witness=SINK,
    blind_spot=None,
    typical=True,
)

SINK_ADDED_TO_EXPONENTIALS = Mistake(
    id="sink-added-to-exponentials",
    title="added the sink itself to a sum of unshifted exponentials",
    formula=r"\frac{e^{s_j}}{\mathrm{sink} + \sum_k e^{s_k}}",
    why="The sink is a logit like a score, so it is its exponential that joins the sum.",
    mend="Add e^sink.",
    hides_when="never, as no number is its own exponential",
    source=BY_HAND,
    wrong={
        "row-max": lambda problem, logits: np.zeros_like(logits[..., :1]),
        "row-sum": all_sinks_row_sum,
    },
    applies=sinks,
    witness=SINK,
    blind_spot=None,
    typical=True,
)

SINK_SCALED = Mistake(
    id="sink-scaled",
    title="scaled the sink like a score",
    formula=r"e^{\mathrm{sink}/\sqrt{d_k}}",
    why="The sink is learned as it enters the softmax; it is no dot product and has no √d_k in it.",
    mend="Append the sink after scaling.",
    hides_when="d_k is 1, or the sink is 0",
    source="ROCm/rocm-libraries#12227",
    wrong=with_sink(lambda problem: sink_of(problem) * problem.factor),
    applies=lambda problem: sinks_not_zero(problem) and (problem.D is not None or problem.scale is not None),
    witness=SINK,
    blind_spot=SOFTMAX_ONE,
)

SINK_SCALED_UP = Mistake(
    id="sink-scaled-up",
    title="multiplied the sink by √d_k",
    formula=r"e^{\mathrm{sink}\,\sqrt{d_k}}",
    why="A kernel that scales everything inside was given a sink divided beforehand, or the reverse.",
    mend="Append the sink as it is, after scaling.",
    hides_when="d_k is 1, or the sink is 0",
    source="ROCm/rocm-libraries#12227",
    wrong=with_sink(lambda problem: sink_of(problem) / problem.factor),
    applies=lambda problem: sinks_not_zero(problem) and problem.D is not None and problem.factor != 0,
    witness=SINK,
    blind_spot=SOFTMAX_ONE,
)

SINK_CAPPED = Mistake(
    id="sink-capped",
    title="capped the sink like a score",
    formula=r"c\tanh(\mathrm{sink}/c)",
    why="The soft cap acts on scaled scores; the sink joins after it.",
    mend="Append the sink after capping and masking.",
    hides_when="the sink is 0, or small beside the cap",
    source="ROCm/rocm-libraries#12229",
    wrong=with_sink(lambda problem: problem.softcap * np.tanh(sink_of(problem) / problem.softcap)),
    applies=lambda problem: sinks_not_zero(problem) and problem.softcap is not None,
    witness=Recipe(Tq=3, options={"sink": 1.5, "softcap": 1.0}),
    blind_spot=Recipe(Tq=3, options={"sink": 0.0, "softcap": 1.0}),
)

SINK_NOT_IN_LOGSUMEXP = Mistake(
    id="sink-not-in-logsumexp",
    title="left the sink out of the logsumexp",
    formula=r"\ln \sum_k e^{s_k} \text{ without } e^{\mathrm{sink}}",
    why="The logsumexp is the logarithm of what the weights are divided by, and that holds the sink.",
    mend="Add e^(sink − m) to the sum before taking the logarithm.",
    hides_when="the sink is −∞; and always in weights and output",
    source=PAPER,
    wrong={
        "logsumexp": Wrong(
            lambda problem, exps, top: softmax.logsumexp(top, softmax.row_sum(exps)),
            reads=("exponentials", "row_max"),
        )
    },
    applies=sinks,
    witness=SINK,
    blind_spot=NO_SINK,
)

SINK_OF_ANOTHER_HEAD = Mistake(
    id="sink-of-another-head",
    title="used the sinks of the heads in reverse order",
    formula=r"\mathrm{sink}_{H + 1 - h}",
    why="Each query head has a sink of its own; rows were packed in another order than the sinks.",
    mend="Index the sinks by query head.",
    hides_when="there is one head, or all sinks are equal",
    source="sgl-project/sgl-kernel-xpu#254",
    wrong=with_sink(lambda problem: sink_of(problem)[::-1]),
    applies=several_sinks,
    witness=SINKS,
    blind_spot=EQUAL_SINKS,
)

SINK_OF_NEIGHBOURING_HEAD = Mistake(
    id="sink-of-neighbouring-head",
    title="used the sink of the head before",
    formula=r"\mathrm{sink}_{h - 1}",
    why="Each query head has a sink of its own; the index was off by one, and the first head took the last "
    "sink.",
    mend="Index the sinks by query head, from 0.",
    hides_when="there is one head, or all sinks are equal",
    source="sgl-project/sgl-kernel-xpu#254",
    wrong=with_sink(lambda problem: np.roll(sink_of(problem), 1, axis=0)),
    applies=several_sinks,
    witness=SINKS,
    blind_spot=EQUAL_SINKS,
)

SINK_OF_FIRST_HEAD = Mistake(
    id="sink-of-first-head",
    title="used the first head's sink for all heads",
    formula=r"\mathrm{sink}_1",
    why="Each query head has a sink of its own.",
    mend="Index the sinks by query head.",
    hides_when="there is one head, or all sinks are equal",
    source="sgl-project/sgl-kernel-xpu#254",
    wrong=with_sink(lambda problem: sink_of(problem)[:1]),
    applies=several_sinks,
    witness=SINKS,
    blind_spot=EQUAL_SINKS,
)

SINK_PER_KV_HEAD = Mistake(
    id="sink-per-kv-head",
    title="used the sink of the key/value head",
    formula=r"\mathrm{sink}_{\lfloor h H_{kv}/H \rfloor}",
    why="Sinks belong to query heads; those that share a key/value head still have their own.",
    mend="Index the sinks by query head.",
    hides_when="each query head has its own key/value head, or all sinks are equal",
    source="sgl-project/sgl-kernel-xpu#254",
    wrong=with_sink(lambda problem: sink_of(problem)[np.arange(problem.H) * problem.Hkv // problem.H]),
    applies=lambda problem: several_sinks(problem) and problem.Hkv < problem.H,
    witness=Recipe(H=2, Hkv=1, Tq=3, D=2, fixed={"sink": [0.7, -0.4]}),
    blind_spot=Recipe(H=2, Hkv=1, Tq=3, D=2, fixed={"sink": [0.3, 0.3]}),
)

SINK_TO_FIRST_KEY = Mistake(
    id="sink-to-first-key",
    title="gave the sink's share to the first key",
    formula=r"w_{i1} + \mathrm{share},\; \text{rows sum to } 1",
    why=(
        "In models without a sink the first token often serves as one; a sink logit belongs to no token "
        "and hands over nothing."
    ),
    mend="Drop the sink's share after the softmax.",
    hides_when="the sink is −∞",
    source="sgl-project/sgl-kernel-npu#216",
    wrong={"after-softmax": Wrong(to_first_key, reads=("settled", "allowed"))},
    applies=sinks,
    witness=SINK,
    blind_spot=NO_SINK,
)

SINK_IN_EVERY_PART = Mistake(
    id="sink-in-every-part",
    title="counted the sink once for every part of the keys",
    formula=r"\sum_p \left(e^{\mathrm{lse}_p} + e^{\mathrm{sink}}\right)",
    why=(
        "Each part's kernel adds the sink to its own sum; merged, it is in there as often as there are parts."
    ),
    mend="Let one part have it, or add it when merging.",
    hides_when="there is one part, or the sink is −∞",
    source="ROCm/rocm-libraries#12227",
    wrong={
        "merge-parts": lambda problem, outputs, logsumexps, whole: merge_parts(
            outputs,
            logsumexps,
            np.logaddexp(whole, np.log(len(problem.chunks) - 1.0) + sink_of(problem)),
        )
    },
    applies=in_parts,
    witness=PARTS_AND_SINK,
    blind_spot=ONE_PART,
)

SINK_FORGOTTEN_IN_MERGE = Mistake(
    id="sink-forgotten-in-merge",
    title="merged the parts without the sink",
    formula=r"z = \sum_p e^{\mathrm{lse}_p} z_p \Big/ \sum_p e^{\mathrm{lse}_p}",
    why="The parts' shares then sum to 1, as if nothing went to the sink.",
    mend="Add e^sink to the sum over the parts.",
    hides_when="the sink is −∞",
    source="ROCm/rocm-libraries#12229",
    wrong={"merge-parts": lambda problem, outputs, logsumexps, whole: merge_parts(outputs, logsumexps)},
    applies=lambda problem: sinks(problem) and problem.chunks is not None,
    witness=PARTS_AND_SINK,
    blind_spot=Recipe(Tq=2, Tk=4, D=2, options={"sink": -math.inf, "chunks": (2, 2)}),
)

SINK_ANOTHER_LOGIT = Mistake(
    id="sink-another-logit",
    title="used another logit for the sink",
    formula=r"e^{\theta} \text{ instead of } e^{\mathrm{sink}}",
    why=(
        "The rows lose the share that a sink of θ takes. A 1 in the denominator is a sink of 0, since e⁰ = 1."
    ),
    mend="Use the sink as it is given.",
    hides_when="θ is the sink",
    source=PAPER,
    wrong=with_sink(lambda problem, theta: theta * np.ones((problem.H, 1, 1))),
    applies=sinks,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (1.0, *(float(x) for x in np.linspace(-6, 6, 49) if x)),
        right=lambda problem: float(problem.sink[0]) if len(set(problem.sink)) == 1 else None,
    ),
    witness=SINK,
    blind_spot=None,
)

MISTAKES: tuple[Mistake, ...] = (
    SOFTMAX_ONE_NOT_SHIFTED,
    SINK_IGNORED,
    SINK_NOT_EXPONENTIATED,
    SINK_ADDED_TO_EXPONENTIALS,
    SINK_SCALED,
    SINK_SCALED_UP,
    SINK_CAPPED,
    SINK_NOT_IN_LOGSUMEXP,
    SINK_OF_ANOTHER_HEAD,
    SINK_OF_NEIGHBOURING_HEAD,
    SINK_OF_FIRST_HEAD,
    SINK_PER_KV_HEAD,
    SINK_TO_FIRST_KEY,
    SINK_IN_EVERY_PART,
    SINK_FORGOTTEN_IN_MERGE,
    SINK_ANOTHER_LOGIT,
)
