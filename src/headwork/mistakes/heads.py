"""Mistakes with heads: how rows are split, who shares which key/value head, how heads are joined again."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..mechanism import heads, softmax
from ..problem import Problem
from .mistake import Mistake, Parameter, Wrong, WrongStep, altered
from .recipe import Recipe

PAPER = "Vaswani et al. 2017, section 3.2.2"
GQA_PAPER = "Ainslie et al. 2023, section 2.2"
MULTI = Recipe(H=2, Tq=3, D=2, packed=True)
ONE_HEAD = Recipe(H=1, Tq=3, D=2, packed=True)
ONE_TOKEN = Recipe(H=2, Tq=1, D=2, packed=True)
FOUR = Recipe(H=2, Tq=3, D=4, packed=True)
GROUPED = Recipe(H=4, Hkv=2, Tq=2, Tk=3, D=2)
UNGROUPED = Recipe(H=4, Tq=2, Tk=3, D=2)
SHARED_BY_ALL = Recipe(H=4, Hkv=1, Tq=2, Tk=3, D=2)


# --- splitting and joining ------------------------------------------------------------------------


def split_by_reshape(x: Array, count: int) -> Array:
    """(…, T, count·width) read as (…, count, T, width) without moving a number: tokens and heads mix."""
    *lead, T, width = x.shape
    return x.reshape(*lead, count, T, width // count)


def merge_by_reshape(x: Array) -> Array:
    """(…, H, T, width) read as (…, T, H·width) without moving a number."""
    *lead, H, T, width = x.shape
    return x.reshape(*lead, T, H * width)


def split_interleaved(x: Array, count: int) -> Array:
    """Head h takes the columns h, h + count, h + 2·count, …"""
    return x.reshape(*x.shape[:-1], x.shape[-1] // count, count).swapaxes(-1, -2).swapaxes(-3, -2)


def merge_interleaved(x: Array) -> Array:
    """Column d·H + h is feature d of head h."""
    *lead, H, T, width = x.shape
    return x.swapaxes(-3, -2).swapaxes(-2, -1).reshape(*lead, T, H * width)


def joined(problem: Problem, blended: Array) -> Array:
    """The heads joined where the problem joins them."""
    return heads.merge(blended) if problem.merges else blended


SPLIT_BY_RESHAPE = {
    "split-query": lambda problem, query: split_by_reshape(query, problem.H),
    "split-key": lambda problem, key: split_by_reshape(key, problem.Hkv),
    "split-value": lambda problem, value: split_by_reshape(value, problem.Hkv),
}
SPLIT_INTERLEAVED = {
    "split-query": lambda problem, query: split_interleaved(query, problem.H),
    "split-key": lambda problem, key: split_interleaved(key, problem.Hkv),
    "split-value": lambda problem, value: split_interleaved(value, problem.Hkv),
}


def splits(problem: Problem) -> bool:
    """Packed arrays of several heads."""
    return problem.packed and problem.H > 1 and problem.given is None


def splits_wide(problem: Problem) -> bool:
    """Packed arrays of several heads of more than one feature."""
    return splits(problem) and max(problem.D or 1, problem.Dv or 1) > 1


def merges(problem: Problem) -> bool:
    """Several heads are joined at the end."""
    return problem.merges and problem.H > 1 and problem.Dv is not None


def many(problem: Problem) -> bool:
    """Several heads."""
    return problem.H > 1


def masks_per_head(problem: Problem) -> bool:
    """Something is given for each head, which another number of heads would not fit."""
    has_head_axis = any(mask.ndim > 2 and mask.shape[-3] > 1 for mask in problem.mask or ())
    return problem.alibi is not None or problem.sink is not None or has_head_axis


def can_split_otherwise(problem: Problem) -> bool:
    """Packed, as many key/value heads as query heads, and nothing else depends on their number."""
    return (
        splits(problem) and problem.Hkv == problem.H and problem.rope is None and not masks_per_head(problem)
    )


HEAD_SPLIT_NO_TRANSPOSE = Mistake(
    id="head-split-no-transpose",
    title="split into heads, and joined them, by a reshape alone",
    formula=r"(T, H d) \to (H, T, d) \to (T, H d) \text{ without a transpose}",
    why=(
        "The shapes are right, but a head then holds pieces of different tokens, so tokens and heads are "
        "mixed."
    ),
    mend="Reshape to (T, H, d), then swap the axes to (H, T, d); undo both in reverse order at the end.",
    hides_when="there is one head, or one token",
    source="reczoo/FuxiCTR#30",
    wrong=SPLIT_BY_RESHAPE | {"merge-heads": lambda problem, blended: merge_by_reshape(blended)},
    applies=splits,
    mixes_queries=True,
    witness=MULTI,
    blind_spot=ONE_HEAD,
    typical=True,
)

HEAD_SPLIT_RESHAPED_ONLY = Mistake(
    id="head-split-reshaped-only",
    title="split into heads by a reshape alone, and joined them rightly",
    formula=r"(T, H d) \to (H, T, d) \text{ without a transpose}",
    why="A head then holds pieces of different tokens; joining rightly does not put them back.",
    mend="Reshape to (T, H, d), then swap the axes to (H, T, d).",
    hides_when="there is one head, or one token",
    source="hyunwoongko/transformer#15",
    wrong=SPLIT_BY_RESHAPE,
    applies=splits,
    mixes_queries=True,
    witness=MULTI,
    blind_spot=ONE_HEAD,
    typical=True,
)

HEAD_MERGE_NO_TRANSPOSE = Mistake(
    id="head-merge-no-transpose",
    title="joined the heads by a reshape alone",
    formula=r"(H, T, d) \to (T, H d) \text{ without a transpose}",
    why="Row i of the output then holds pieces of several tokens of one head, not all heads of token i.",
    mend="Swap the axes to (T, H, d) first, then reshape to (T, H·d).",
    hides_when="there is one head, or one token",
    source="jsbaan/transformer-from-scratch#6",
    wrong={"merge-heads": lambda problem, blended: merge_by_reshape(blended)},
    applies=merges,
    mixes_queries=True,
    witness=MULTI,
    blind_spot=ONE_TOKEN,
    typical=True,
)

HEAD_SPLIT_INTERLEAVED = Mistake(
    id="head-split-interleaved",
    title="gave every H-th column to a head",
    formula=r"\text{head } h = \text{columns } h, h + H, h + 2H, \ldots",
    why=(
        "Head h owns the columns h·d to (h+1)·d − 1, side by side; read as (T, d, H) they are dealt out "
        "like cards."
    ),
    mend="Reshape to (T, H, d), not (T, d, H).",
    hides_when="there is one head, or heads are one column wide",
    source=PAPER,
    wrong=SPLIT_INTERLEAVED,
    applies=splits_wide,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

HEAD_MERGE_INTERLEAVED = Mistake(
    id="head-merge-interleaved",
    title="joined the heads feature by feature",
    formula=r"\text{column } c\,H + h = \text{feature } c \text{ of head } h",
    why=(
        "The columns are all there, in the order (d, h) instead of (h, d), so W_O meets them in the "
        "wrong place."
    ),
    mend="Put whole heads one after the other: (T, H, d) to (T, H·d).",
    hides_when="there is one head, or heads are one column wide",
    source=PAPER,
    wrong={"merge-heads": lambda problem, blended: merge_interleaved(blended)},
    applies=lambda problem: merges(problem) and (problem.Dv or 1) > 1,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

HEADS_INTERLEAVED = Mistake(
    id="heads-interleaved",
    title="dealt the columns out to the heads, and back",
    formula=r"(T, d, H) \text{ instead of } (T, H, d) \text{ in and out}",
    why=(
        "In and out agree, so the shapes and columns come back in place, but each head saw other "
        "features than it was trained on."
    ),
    mend="Reshape to (T, H, d) on the way in and from (T, H, d) on the way out.",
    hides_when="there is one head, or heads are one column wide",
    source=PAPER,
    wrong=SPLIT_INTERLEAVED | {"merge-heads": lambda problem, blended: merge_interleaved(blended)},
    applies=splits_wide,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

HEAD_ORDER_REVERSED = Mistake(
    id="head-order-reversed",
    title="joined the heads in reverse order",
    formula=r"z = [z_H \ldots z_1]",
    why="W_O expects head 1 in the first columns.",
    mend="Join them in order: z = [z₁ … z_H].",
    hides_when="there is one head",
    source=PAPER,
    wrong={"merge-heads": lambda problem, blended: heads.merge(blended[..., ::-1, :, :])},
    applies=merges,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

HEADS_NOT_SPLIT = Mistake(
    id="heads-not-split",
    title="attended once over the full width instead of head by head",
    formula=r"\mathrm{softmax}(QK^T/\sqrt{H d_k})\,V",
    why="Each head has its own weights; one softmax over all features gives every head the same.",
    mend="Split into H heads and attend in each.",
    hides_when="there is one head",
    source=PAPER,
    rewrite=lambda problem: altered(problem, heads=1, kv_heads=1),
    applies=can_split_otherwise,
    witness=MULTI,
    blind_spot=ONE_HEAD,
    typical=True,
)

HEAD_COUNT_AND_WIDTH_SWAPPED = Mistake(
    id="head-count-and-width-swapped",
    title="swapped the number of heads and their width",
    formula=r"d \text{ heads of width } H",
    why="H·d = d·H, so the shapes fit; the columns are cut at other places and the divisor changes too.",
    mend="Reshape to (T, H, d) with H heads.",
    hides_when="there are as many heads as each is wide",
    source=PAPER,
    rewrite=lambda problem: altered(problem, heads=problem.D, kv_heads=problem.D),
    applies=lambda problem: (
        can_split_otherwise(problem) and problem.Dv == problem.D and problem.D != problem.H
    ),
    witness=FOUR,
    blind_spot=MULTI,
)


# --- all heads one --------------------------------------------------------------------------------


def over_heads(x: Array, combine: str) -> Array:
    """The mean or sum over heads, for every head."""
    one = getattr(np, combine)(x, axis=-3, keepdims=True)
    return np.repeat(one, x.shape[-3], axis=-3)


def one_head_for_all(problem: Problem, theta: float | Array, blended: Array) -> Array:
    """Every head gets what head θ (from 1) gives."""
    number = np.arange(1, problem.H + 1)[:, None, None]
    one = np.where(number == theta, blended, 0).sum(axis=-3, keepdims=True)
    return joined(problem, np.repeat(one, problem.H, axis=-3))


WEIGHTS_AVERAGED_OVER_HEADS = Mistake(
    id="weights-averaged-over-heads",
    title="averaged the weights over the heads",
    formula=r"W_h \text{ replaced by } \tfrac{1}{H}\textstyle\sum_h W_h",
    why="Some libraries return averaged weights by default, for looking at; each head blends with its own.",
    mend="Ask for the weights of each head, and blend with those.",
    hides_when="there is one head, or all heads agree",
    source="torch.nn.MultiheadAttention, average_attn_weights",
    wrong={"after-softmax": lambda problem, weights: over_heads(weights, "mean")},
    applies=many,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

HEADS_AVERAGED = Mistake(
    id="heads-averaged",
    title="averaged the heads' outputs",
    formula=r"z_h \text{ replaced by } \tfrac{1}{H}\textstyle\sum_h z_h",
    why="Heads are joined side by side; an average loses what tells them apart.",
    mend="Put the heads' outputs one after the other.",
    hides_when="there is one head, or all heads agree",
    source=PAPER,
    wrong={"merge-heads": lambda problem, blended: joined(problem, over_heads(blended, "mean"))},
    applies=many,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

HEADS_SUMMED = Mistake(
    id="heads-summed",
    title="summed the heads' outputs",
    formula=r"z_h \text{ replaced by } \textstyle\sum_h z_h",
    why="Heads are joined side by side, not added.",
    mend="Put the heads' outputs one after the other.",
    hides_when="there is one head",
    source=PAPER,
    wrong={"merge-heads": lambda problem, blended: joined(problem, over_heads(blended, "sum"))},
    applies=many,
    witness=MULTI,
    blind_spot=ONE_HEAD,
)

ONE_HEAD_FOR_ALL = Mistake(
    id="one-head-for-all",
    title="used one head's output for all heads",
    formula=r"z = [z_\theta \ldots z_\theta]",
    why=(
        "Head θ was written to every place: a loop index that stands still, or a variable that the last "
        "head overwrote."
    ),
    mend="Take head h's own result for head h.",
    hides_when="there is one head, or all heads agree",
    source="learners, by hand",
    wrong={"merge-heads": one_head_for_all},
    applies=many,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(float(h) for h in range(1, problem.H + 1)),
        whole=True,
    ),
    witness=MULTI,
    blind_spot=ONE_HEAD,
)


def attended(problem: Problem, query: Array, key: Array, value: Array) -> Array:
    """Attention along the second last axis, whatever stands there."""
    scaled = query @ key.swapaxes(-1, -2) * problem.factor
    if problem.causal:
        scaled = np.where(np.tri(scaled.shape[-1], dtype=bool), scaled, -np.inf)
    exps = softmax.exponentials(scaled, softmax.row_max(scaled))
    return softmax.weights(exps, softmax.row_sum(exps)) @ value


def across(axis: int) -> dict[str, WrongStep | Wrong]:
    """Attention along another axis: that one and the tokens have changed places."""

    def run(problem: Problem, *fields: Array) -> Array:
        return attended(problem, *(x.swapaxes(axis, -2) for x in fields)).swapaxes(axis, -2)

    return {"blend": Wrong(run, reads=("query_rotated", "key_rotated", "value_repeated"))}


def can_cross(problem: Problem) -> bool:
    """As many queries as keys and key/value heads as query heads, and nothing given per token or head."""
    plain = all(option is None for option in (problem.mask, problem.window, problem.lengths, problem.chunks))
    simple = all(option is None for option in (problem.alibi, problem.sink, problem.softcap))
    has_value = problem.Dv is not None
    return plain and simple and has_value and problem.Hkv == problem.H and problem.Tq == problem.Tk


def several_samples(problem: Problem) -> bool:
    """One batch axis with several elements."""
    return len(problem.batch) == 1 and problem.batch[0] > 1


HEADS_AND_TOKENS_SWAPPED = Mistake(
    id="heads-and-tokens-swapped",
    title="let the heads of each token attend to each other",
    formula=r"\mathrm{softmax}(Q_t K_t^T/\sqrt{d_k})\,V_t \text{ for each token } t",
    why="Arrays (T, H, d) went into a function that expects (H, T, d): tokens never see each other.",
    mend="Swap the axes first, so that the last two are tokens and features.",
    hides_when="there is one head and one token",
    source="harvardnlp/annotated-transformer#118",
    wrong=across(-3),
    applies=lambda problem: can_cross(problem) and problem.H > 1,
    mixes_queries=True,
    witness=MULTI,
    blind_spot=Recipe(H=1, Tq=1, D=2),
    typical=True,
)

BATCH_AND_TOKENS_SWAPPED = Mistake(
    id="batch-and-tokens-swapped",
    title="let the batch elements attend to each other, token by token",
    formula=r"\mathrm{softmax}(Q_t K_t^T/\sqrt{d_k})\,V_t \text{ over the batch, for each token } t",
    why=(
        "Arrays (B, T, d) went into a layer that expects (T, B, d): the batch was taken for the sequence, "
        "and tokens never see each other."
    ),
    mend="Say which axis is the batch (batch_first=True), or swap the two axes first.",
    hides_when="there is one batch element and one token",
    source="om-ai-lab/OmDet#19",
    wrong=across(-4),
    applies=lambda problem: can_cross(problem) and several_samples(problem),
    mixes_queries=True,
    witness=Recipe(B=2, H=1, Tq=3, D=2),
    blind_spot=Recipe(B=1, H=1, Tq=1, D=2),
)


def batch_viewed_as_tokens(x: Array) -> Array:
    """(…, B, H, T, width) joined to (…, B, T, H·width), read as (…, T, B, H·width), and split again."""
    *lead, B, H, T, width = x.shape
    return heads.split(heads.merge(x).reshape(*lead, T, B, H * width).swapaxes(-3, -2), H)


def tokens_viewed_as_batch(x: Array) -> Array:
    """The way back: `batch_viewed_as_tokens` undone."""
    *lead, B, H, T, width = x.shape
    return heads.split(heads.merge(x).swapaxes(-3, -2).reshape(*lead, B, T, H * width), H)


BATCH_AND_TIME_BY_A_VIEW = Mistake(
    id="batch-and-time-by-a-view",
    title="turned (B, T, E) into (T, B, E) by a view, in and out",
    formula=r"(B, T, E) \text{ read as } (T, B, E)",
    why=(
        "A view does not move a number: it cuts the same row of numbers otherwise, so each sequence is "
        "made of tokens of several batch elements."
    ),
    mend="Swap the axes: transpose(0, 1), not view.",
    hides_when="there is one batch element, or one token",
    source="rish-16/tokenlearner-pytorch#1",
    wrong={
        "blend": Wrong(
            lambda problem, *fields: tokens_viewed_as_batch(
                attended(problem, *map(batch_viewed_as_tokens, fields))
            ),
            reads=("query_rotated", "key_rotated", "value_repeated"),
        )
    },
    applies=lambda problem: (
        can_cross(problem)
        and several_samples(problem)
        and (problem.H == 1 or problem.packed)
        and problem.rope is None
        and problem.Tq > 1
    ),
    mixes_queries=True,
    witness=Recipe(B=2, H=1, Tq=3, D=2),
    blind_spot=Recipe(B=1, H=1, Tq=3, D=2),
)


def merge_with_batch_and_heads_exchanged(x: Array) -> Array:
    """(…, B·H, T, width) taken for (…, H, B, T, width), and joined as if the first of them were the batch."""
    *lead, B, H, T, width = x.shape
    return x.reshape(*lead, H, B, T, width).swapaxes(-3, -2).reshape(*lead, B, T, H * width)


HEAD_MERGE_BATCH_SWAPPED = Mistake(
    id="head-merge-batch-swapped",
    title="took (B·H, T, d) for (H, B, T, d) when joining the heads",
    formula=r"(B H, T, d) \to (H, B, T, d) \to (B, T, H d)",
    why=(
        "With batch and heads in one axis, the batch is the outer one, as it was put in. Cut the other way, "
        "heads of different batch elements are joined."
    ),
    mend="Undo the split in reverse order: (B·H, T, d) to (B, H, T, d), swap to (B, T, H, d), then join.",
    hides_when="there is one batch element, or one token",
    source="gazelle93/Transformer-Various-Positional-Encoding#1",
    wrong={"merge-heads": lambda problem, blended: merge_with_batch_and_heads_exchanged(blended)},
    applies=lambda problem: merges(problem) and several_samples(problem),
    mixes_queries=True,
    witness=Recipe(B=2, H=3, Tq=3, D=2, packed=True),
    blind_spot=Recipe(B=2, H=3, Tq=1, D=2, packed=True),
)


# --- groups ---------------------------------------------------------------------------------------


def tile(problem: Problem, x: Array) -> Array:
    """Query head h uses key/value head h mod Hkv."""
    return x[..., np.arange(problem.H) % problem.Hkv, :, :]


def by_kv_count(problem: Problem, x: Array) -> Array:
    """Query head h uses key/value head ⌊h/Hkv⌋."""
    return x[..., np.arange(problem.H) // problem.Hkv, :, :]


def next_group(problem: Problem, x: Array) -> Array:
    """Query head h uses the key/value head after its own, the last one the first."""
    return x[..., (np.arange(problem.H) * problem.Hkv // problem.H + 1) % problem.Hkv, :, :]


def first_group(problem: Problem, x: Array) -> Array:
    """Every query head uses the first key/value head."""
    return x[..., np.zeros(problem.H, dtype=int), :, :]


def mean_group(problem: Problem, x: Array) -> Array:
    """Every query head uses the mean of all key/value heads."""
    return np.repeat(x.mean(axis=-3, keepdims=True), problem.H, axis=-3)


def reversed_groups(problem: Problem, x: Array) -> Array:
    """The key/value heads are shared out from the last to the first."""
    return heads.repeat(x[..., ::-1, :, :], problem.H)


def grouped(problem: Problem) -> bool:
    """Several query heads share one of several key/value heads."""
    return 1 < problem.Hkv < problem.H


GQA_TILE = Mistake(
    id="gqa-tile",
    title="let query head h use key/value head h mod Hkv",
    formula=r"K_h = K_{h \bmod H_{kv}}",
    why=(
        "Query heads that share stand side by side: head h uses ⌊h·Hkv/H⌋. Tiling the key/value heads "
        "deals them out in turn."
    ),
    mend=(
        "Repeat each key/value head H/Hkv times in place (repeat_interleave), instead of the whole row "
        "of them."
    ),
    hides_when="there is one key/value head, or one for each query head",
    source="ekzhang/jax-js#180",
    wrong={"repeat-key": tile, "repeat-value": tile},
    applies=grouped,
    witness=GROUPED,
    blind_spot=UNGROUPED,
)

GQA_KEY_TILED = Mistake(
    id="gqa-key-tiled",
    title="tiled the key heads, and shared the value heads rightly",
    formula=r"K_h = K_{h \bmod H_{kv}},\; V_h = V_{\lfloor h H_{kv}/H \rfloor}",
    why="A query head then looks with one group's keys and takes another group's values.",
    mend="Repeat keys and values the same way, each head H/Hkv times in place.",
    hides_when="there is one key/value head, or one for each query head",
    source="onnx/onnx#7274",
    wrong={"repeat-key": tile},
    applies=grouped,
    witness=GROUPED,
    blind_spot=UNGROUPED,
)

GQA_VALUE_TILED = Mistake(
    id="gqa-value-tiled",
    title="tiled the value heads, and shared the key heads rightly",
    formula=r"V_h = V_{h \bmod H_{kv}},\; K_h = K_{\lfloor h H_{kv}/H \rfloor}",
    why="A query head then looks with one group's keys and takes another group's values.",
    mend="Repeat keys and values the same way, each head H/Hkv times in place.",
    hides_when="there is one key/value head, or one for each query head",
    source="onnx/onnx#7274",
    wrong={"repeat-value": tile},
    applies=grouped,
    witness=GROUPED,
    blind_spot=UNGROUPED,
)

GQA_DIVIDES_BY_HKV = Mistake(
    id="gqa-divides-by-hkv",
    title="let query head h use key/value head ⌊h/Hkv⌋",
    formula=r"K_h = K_{\lfloor h / H_{kv} \rfloor}",
    why="The divisor is the size of a group, H/Hkv, not the number of groups.",
    mend="Divide by H/Hkv: query head h uses ⌊h/(H/Hkv)⌋.",
    hides_when="a group is as large as there are groups, H = Hkv²",
    source="PSAL-POSTECH/ONNXim#33",
    wrong={"repeat-key": by_kv_count, "repeat-value": by_kv_count},
    applies=lambda problem: grouped(problem) and problem.Hkv**2 > problem.H,
    witness=Recipe(H=8, Hkv=4, Tq=2, D=2),
    blind_spot=GROUPED,
)

GQA_NEXT_GROUP = Mistake(
    id="gqa-next-group",
    title="let each query head use the key/value head after its own",
    formula=r"K_h = K_{\lfloor h H_{kv}/H \rfloor + 1}",
    why="Heads were counted from 1 where the index starts at 0.",
    mend="Query head h, from 0, uses key/value head ⌊h·Hkv/H⌋.",
    hides_when="there is one key/value head",
    source=GQA_PAPER,
    wrong={"repeat-key": next_group, "repeat-value": next_group},
    applies=grouped,
    witness=GROUPED,
    blind_spot=SHARED_BY_ALL,
)

GQA_REVERSED = Mistake(
    id="gqa-reversed",
    title="shared the key/value heads out from the last to the first",
    formula=r"K_h = K_{H_{kv} - 1 - \lfloor h H_{kv}/H \rfloor}",
    why="The first group of query heads uses the first key/value head.",
    mend="Query head h uses key/value head ⌊h·Hkv/H⌋.",
    hides_when="there is one key/value head",
    source=GQA_PAPER,
    wrong={"repeat-key": reversed_groups, "repeat-value": reversed_groups},
    applies=lambda problem: grouped(problem) and problem.Hkv > 2,
    witness=Recipe(H=6, Hkv=3, Tq=2, D=2),
    blind_spot=SHARED_BY_ALL,
)

GQA_FIRST_FOR_ALL = Mistake(
    id="gqa-first-for-all",
    title="used the first key/value head for all query heads",
    formula=r"K_h = K_1,\; V_h = V_1",
    why="That is multi-query attention; with Hkv heads, each group has its own.",
    mend="Query head h uses key/value head ⌊h·Hkv/H⌋.",
    hides_when="there is one key/value head",
    source="PSAL-POSTECH/ONNXim#33",
    wrong={"repeat-key": first_group, "repeat-value": first_group},
    applies=lambda problem: problem.Hkv > 1,
    witness=GROUPED,
    blind_spot=SHARED_BY_ALL,
)

GQA_MEAN_FOR_ALL = Mistake(
    id="gqa-mean-for-all",
    title="averaged the key/value heads and used the mean for all query heads",
    formula=r"K_h = \tfrac{1}{H_{kv}}\textstyle\sum_g K_g",
    why="Averaging heads is how a model is converted to fewer of them, not how a group uses its own.",
    mend="Query head h uses key/value head ⌊h·Hkv/H⌋ as it is.",
    hides_when="there is one key/value head",
    source=GQA_PAPER,
    wrong={"repeat-key": mean_group, "repeat-value": mean_group},
    applies=lambda problem: problem.Hkv > 1,
    witness=GROUPED,
    blind_spot=SHARED_BY_ALL,
)


def by_tile(problem: Problem, theta: float | Array, x: Array) -> Array:
    """Query heads in tiles of θ use the key/value head of their tile's first head; θ may be an array."""
    made = [x[..., _first_of_tile(problem, int(size)), :, :] for size in np.ravel(theta)]
    return made[0] if np.ndim(theta) == 0 else np.stack(made)


def _first_of_tile(problem: Problem, size: int) -> Array:
    head = np.arange(problem.H)
    return np.asarray((head - head % max(size, 1)) * problem.Hkv // problem.H)


GQA_TILE_OVER_THE_EDGE = Mistake(
    id="gqa-tile-over-the-edge",
    title="worked query heads in tiles, each with the key/value head of its first head",
    formula=r"K_h = K_{\lfloor \theta \lfloor h/\theta \rfloor H_{kv}/H \rfloor}",
    why=(
        "A tile of θ query heads that lies over the edge of a group belongs to two key/value heads, and only "
        "the first was read."
    ),
    mend="Let tiles end where groups do, or look up the key/value head of every query head.",
    hides_when="the tile size divides the size of a group",
    source="FlashML-org/FreeToken#177",
    wrong={"repeat-key": by_tile, "repeat-value": by_tile},
    applies=lambda problem: grouped(problem) and problem.H // problem.Hkv > 1,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(
            float(size) for size in range(2, problem.H) if problem.H // problem.Hkv % size
        ),
        right=lambda problem: 1.0,
        whole=True,
    ),
    witness=Recipe(H=6, Hkv=2, Tq=2, Tk=3, D=2),
    blind_spot=SHARED_BY_ALL,
)

MISTAKES: tuple[Mistake, ...] = (
    HEAD_SPLIT_NO_TRANSPOSE,
    HEAD_SPLIT_RESHAPED_ONLY,
    HEAD_MERGE_NO_TRANSPOSE,
    HEAD_SPLIT_INTERLEAVED,
    HEAD_MERGE_INTERLEAVED,
    HEADS_INTERLEAVED,
    HEAD_ORDER_REVERSED,
    HEADS_NOT_SPLIT,
    HEAD_COUNT_AND_WIDTH_SWAPPED,
    WEIGHTS_AVERAGED_OVER_HEADS,
    HEADS_AVERAGED,
    HEADS_SUMMED,
    ONE_HEAD_FOR_ALL,
    HEADS_AND_TOKENS_SWAPPED,
    HEAD_MERGE_BATCH_SWAPPED,
    BATCH_AND_TOKENS_SWAPPED,
    BATCH_AND_TIME_BY_A_VIEW,
    GQA_TILE,
    GQA_KEY_TILED,
    GQA_VALUE_TILED,
    GQA_DIVIDES_BY_HKV,
    GQA_NEXT_GROUP,
    GQA_REVERSED,
    GQA_FIRST_FOR_ALL,
    GQA_MEAN_FOR_ALL,
    GQA_TILE_OVER_THE_EDGE,
)
