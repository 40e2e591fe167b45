"""Mistakes in attention over parts of the keys: online softmax, merging, and the logsumexp."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ..arrays import Array
from ..mechanism import softmax
from ..mechanism.masks import is_masked
from ..mechanism.merging import PARTS, merge_parts
from ..mechanism.steps import wide
from ..problem import Problem
from .mistake import Mistake, Parameter, Wrong, WrongStep
from .recipe import Recipe

PAPER = "Dao et al. 2022 (FlashAttention), section 3.1"
LSE_PAPER = "Dao 2023 (FlashAttention-2), section 3.1"
TWO_PARTS = Recipe(Tq=2, Tk=5, D=2, options={"chunks": (3, 2)})
THREE_PARTS = Recipe(Tq=2, Tk=6, D=2, options={"chunks": (1, 3, 2)})
ONE_PART = Recipe(Tq=2, Tk=5, D=2, options={"chunks": (5,)})
EQUAL_PARTS = Recipe(Tq=2, Tk=4, D=2, options={"chunks": (2, 2)}, fixed={"query": [[0.0, 0.0]] * 2})
BLOCKS = Recipe(Tq=2, Tk=5, D=2, spread=3.0)
EQUAL_SCORES = Recipe(Tq=2, Tk=4, D=2, fixed={"query": [[0.0, 0.0]] * 2})  # no maximum ever grows
ONE_KEY = Recipe(Tq=2, Tk=1, D=2)
LN2 = math.log(2)
LAZY = math.log(256)  # growth of the maximum that kernels which rescale seldom let pass


# --- online softmax, with faults ------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What goes wrong when the next part of the keys comes in.

    accumulator, row_sum  whether the old one is rescaled when the maximum grows
    inverted              rescaled by e^(new − old) instead of e^(old − new): "", "accumulator", "both"
    previous              rescaled from the maximum of the part before alone, not from the running one
    lazy                  small growth is not rescaled, m stays; the new part was taken with the new m
    overwrites            the old accumulator, or both, is lost: "", "accumulator", "row_sum", "both"
    divides               the accumulator is divided by the row's sum after every part
    """

    accumulator: bool = True
    row_sum: bool = True
    inverted: str = ""
    previous: bool = False
    lazy: bool = False
    overwrites: str = ""
    divides: bool = False


def online(logits: Array, value: Array, allowed: Array, lengths: Sequence[int], fault: Fault) -> Array:
    """Attention with a running maximum m, sum ℓ and accumulator over the parts of the keys, with a fault.

    logits (…, H, Tq, Tk), value (…, H, Tk, Dv), allowed broadcasts to logits. Right without a fault.
    """
    starts = list(accumulate(lengths[:-1], initial=0))
    own_tops = np.maximum.reduceat(logits, starts, axis=-1).astype(np.float64)
    tops, shrink = _frames(own_tops, fault)
    exps = softmax.exponentials(logits, np.repeat(tops, lengths, axis=-1))
    own_sums = np.add.reduceat(exps, starts, axis=-1)
    kept_acc, kept_sum = (_kept(name, shrink, fault) for name in ("accumulator", "row_sum"))
    total, acc = np.zeros((*logits.shape[:-1], 1)), np.zeros((1,))
    for index, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        part, own = slice(start, start + length), slice(index, index + 1)
        seen = allowed if allowed.shape[-1] == 1 else allowed[..., part]
        added = softmax.blend(exps[..., part], value[..., part, :], seen)
        acc = added if kept_acc is None else acc * kept_acc[..., own] + added
        own_sum = own_sums[..., own]
        total = own_sum if kept_sum is None else total * kept_sum[..., own] + own_sum
        acc = softmax.weights(acc, total) if fault.divides else acc
    return acc if fault.divides else softmax.weights(acc, total)


def _frames(own_tops: Array, fault: Fault) -> tuple[Array, Array]:
    """The maximum that each part's exponentials are taken with, and by what old results shrink there."""
    nothing = np.full_like(own_tops[..., :1], -np.inf)
    tops = np.maximum.accumulate(own_tops, axis=-1)
    if fault.lazy:
        return _lazy_frames(own_tops)
    before = own_tops if fault.previous else tops
    return tops, _shrunk_by(np.concatenate([nothing, before[..., :-1]], axis=-1), tops)


def _lazy_frames(own_tops: Array) -> tuple[Array, Array]:
    """The same where m stays while it grows little."""
    top = np.full_like(own_tops[..., 0], -np.inf)
    tops, shrink = np.empty_like(own_tops), np.empty_like(own_tops)
    for index in range(own_tops.shape[-1]):
        new_top = np.maximum(top, own_tops[..., index])
        grown = np.isneginf(top) | (new_top - top > LAZY)
        tops[..., index] = new_top
        shrink[..., index] = np.where(grown, _shrunk_by(top, new_top), 1)
        top = np.where(grown, new_top, top)
    return tops, shrink


def _shrunk_by(old: Array, new: Array) -> Array:
    """e^(old − new), 0 where there is nothing yet."""
    return np.where(np.isneginf(old), 0, softmax.exponentials(old, new))


def _kept(name: str, shrink: Array, fault: Fault) -> Array | None:
    """By what the old accumulator or row_sum is multiplied when the next part comes in; None: it is lost."""
    if fault.overwrites in (name, "both"):
        return None
    if fault.inverted in (name, "both"):
        shrink = np.where(shrink == 0, 0, 1 / np.where(shrink == 0, 1, shrink))
    return shrink if getattr(fault, name) else np.ones_like(shrink)


Parts = Callable[[Problem, Array, Array, Array, Sequence[int]], Array]


def over_parts(run: Parts) -> dict[str, WrongStep | Wrong]:
    """The merged output, from logits, values and the lengths of the parts that the problem names."""
    return {
        "merge-parts": Wrong(
            lambda problem, logits, value, allowed: run(
                problem, logits, wide(problem, value), allowed, problem.chunks or (problem.Tk,)
            ),
            reads=("logits", "value_repeated", "allowed"),
        )
    }


Blocks = Callable[[Problem, Array, Array, Array, int], Array]


def over_blocks(run: Blocks) -> dict[str, WrongStep | Wrong]:
    """The output, worked out in blocks of θ keys; θ may be an array along the first axis."""

    def version(problem: Problem, theta: float | Array, logits: Array, value: Array, allowed: Array) -> Array:
        sizes = np.atleast_1d(theta)
        fields = (logits, wide(problem, value), allowed)
        made = [
            run(problem, *_at(fields, index, sizes), max(int(size), 1))
            for index, size in enumerate(sizes.ravel())
        ]
        return made[0] if np.ndim(theta) == 0 else np.concatenate(_led(made, sizes.ndim))

    return {"blend": Wrong(version, reads=("logits", "value_repeated", "allowed"))}


def in_blocks(run: Parts) -> Blocks:
    """Blocks are parts of one length, the last one what is left."""
    return lambda problem, logits, value, allowed, size: run(
        problem, logits, value, allowed, block_lengths(problem.Tk, size)
    )


def _at(fields: tuple[Array, Array, Array], index: int, sizes: Array) -> tuple[Array, Array, Array]:
    """The part of each field that goes with one block size: all of it, unless stacked like the sizes."""
    stacked = [x.ndim == sizes.ndim and len(x) == sizes.size > 1 for x in fields]
    logits, value, allowed = (x[index : index + 1] if s else x for x, s in zip(fields, stacked, strict=True))
    return logits, value, allowed


def _led(made: Sequence[Array], axes: int) -> list[Array]:
    """Each result with a first axis for its block size."""
    return [x if x.ndim == axes else x[None] for x in made]


def block_lengths(Tk: int, size: int) -> tuple[int, ...]:
    """Blocks of that many keys, the last one what is left."""
    full, rest = divmod(Tk, size)
    return (size,) * full + ((rest,) if rest else ())


def faulty(fault: Fault) -> Parts:
    """Online softmax with that fault."""
    return lambda problem, logits, value, allowed, lengths: online(logits, value, allowed, lengths, fault)


def only_keys(chosen: Callable[[Sequence[int]], slice]) -> Parts:
    """Attention over some of the keys only: chosen(lengths of the parts)."""

    def run(problem: Problem, logits: Array, value: Array, allowed: Array, lengths: Sequence[int]) -> Array:
        allowed = np.broadcast_to(allowed, np.broadcast_shapes(allowed.shape, logits.shape))
        keys = chosen(lengths)
        kept = (keys.stop - keys.start,)
        return online(logits[..., keys], value[..., keys, :], allowed[..., keys], kept, Fault())

    return run


def all_but_last(lengths: Sequence[int]) -> slice:
    """The keys before the last part."""
    return slice(0, sum(lengths[:-1]))


def all_but_first(lengths: Sequence[int]) -> slice:
    """The keys after the first part."""
    return slice(lengths[0], sum(lengths))


def full_blocks(lengths: Sequence[int]) -> slice:
    """The keys in blocks as long as the first."""
    return slice(0, sum(length for length in lengths if length == lengths[0]))


# --- partial results, put together wrongly --------------------------------------------------------


def shared_out(shares: Array, outputs: Array) -> Array:
    """Σ_p share_p · output_p over the parts, the shares made to sum to 1."""
    total = shares.sum(axis=PARTS, keepdims=True)
    return np.asarray((softmax.weights(shares, total) * outputs).sum(axis=PARTS))


def in_base(factor: float) -> WrongStep:
    """Parts merged by e^(factor · lse), shares summing to 1."""
    return lambda problem, outputs, logsumexps, whole: merge_parts(outputs, factor * logsumexps)


def by_length(problem: Problem, outputs: Array, logsumexps: Array, whole: Array) -> Array:
    """Each part weighs as much as it has keys."""
    lengths = np.array(problem.chunks, dtype=float).reshape(-1, 1, 1, 1)
    return shared_out(lengths, outputs)


def by_lse(problem: Problem, outputs: Array, logsumexps: Array, whole: Array) -> Array:
    """Each part weighs its logsumexp itself, not the exponential of it."""
    return shared_out(logsumexps, outputs)


def by_part(statistic: Callable[[Array], Array]) -> dict[str, WrongStep | Wrong]:
    """Each part weighs a statistic of its scores (…, H, Tq, length) -> (…, H, Tq, 1)."""

    def merge(problem: Problem, outputs: Array, logits: Array) -> Array:
        edges = np.cumsum(problem.chunks)[:-1]
        shares = np.stack([statistic(part) for part in np.split(logits, edges, axis=-1)], axis=PARTS)
        return shared_out(shares, outputs)

    return {"merge-parts": Wrong(merge, reads=("part_output", "logits"))}


def row_sum_of_its_own(scores: Array) -> Array:
    """Σ e^(s − m), m the part's own maximum."""
    return softmax.row_sum(softmax.exponentials(scores, softmax.row_max(scores)))


# --- which problems can show it -------------------------------------------------------------------


def in_parts(problem: Problem) -> bool:
    """Several parts of the keys, whose lengths the problem names, and values to blend."""
    return problem.chunks is not None and len(problem.chunks) > 1 and problem.Dv is not None


def online_in_parts(problem: Problem) -> bool:
    """The same, and no sink in the sum."""
    return in_parts(problem) and problem.sink is None


def in_unknown_blocks(problem: Problem) -> bool:
    """Several keys, and nothing said about parts: the block size is what the answer reveals."""
    return problem.chunks is None and problem.Tk > 1 and problem.Dv is not None and problem.sink is None


def block_sizes(problem: Problem) -> tuple[float, ...]:
    """Block sizes to try: all up to 64 where there are few keys, otherwise those that kernels use."""
    few = range(1, min(problem.Tk, 65)) if problem.Tk <= 256 else (16, 24, 32, 48, 64)
    many = (size for size in (80, 96, 128, 160, 192, 256, 384, 512, 1024, 2048) if size < problem.Tk)
    return tuple(float(size) for size in (*few, *many))


BLOCK_SIZE = Parameter(symbol="θ", values=block_sizes, right=lambda problem: float(problem.Tk), whole=True)

LSE_BASE2_MERGED_AS_E = Mistake(
    id="lse-base2-merged-as-e",
    title="merged base-2 logsumexps as if they were natural ones",
    formula=r"z = \frac{\sum_p e^{\mathrm{lse}_p/\ln 2}\, z_p}{\sum_p e^{\mathrm{lse}_p/\ln 2}}",
    why=(
        "A kernel that works with 2^x returns log₂; taken for ln, the part with the larger sum gets too much."
    ),
    mend="Multiply a base-2 logsumexp by ln 2 before merging with e.",
    hides_when="there is one part, or all parts have the same logsumexp",
    source="sgl-project/sglang#35045",
    wrong={"merge-parts": in_base(1 / LN2)},
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
)

LSE_E_MERGED_AS_BASE2 = Mistake(
    id="lse-e-merged-as-base2",
    title="merged natural logsumexps with powers of 2",
    formula=r"z = \frac{\sum_p 2^{\mathrm{lse}_p} z_p}{\sum_p 2^{\mathrm{lse}_p}}",
    why="2^lse grows more slowly than e^lse, so the parts come out more alike than they are.",
    mend="Merge natural logsumexps with e, or divide them by ln 2 first.",
    hides_when="there is one part, or all parts have the same logsumexp",
    source=LSE_PAPER,
    wrong={"merge-parts": in_base(LN2)},
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
)

PARTS_AVERAGED = Mistake(
    id="parts-averaged",
    title="averaged the parts' outputs",
    formula=r"z = \tfrac{1}{P}\textstyle\sum_p z_p",
    why="A part counts as much as the exponentials in it: e^lse.",
    mend="Weigh each part by e^(lse_p − lse).",
    hides_when="all parts have the same logsumexp",
    source=LSE_PAPER,
    wrong={"merge-parts": lambda problem, outputs, logsumexps, whole: outputs.mean(axis=PARTS)},
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
    typical=True,
)

PARTS_ADDED = Mistake(
    id="parts-added",
    title="added the parts' outputs",
    formula=r"z = \textstyle\sum_p z_p",
    why="Each part's output is an average already; their shares must sum to 1.",
    mend="Weigh each part by e^(lse_p − lse).",
    hides_when="there is one part",
    source=LSE_PAPER,
    wrong={"merge-parts": lambda problem, outputs, logsumexps, whole: outputs.sum(axis=PARTS)},
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
    typical=True,
)

PARTS_WEIGHTED_BY_LENGTH = Mistake(
    id="parts-weighted-by-length",
    title="weighed the parts by how many keys they have",
    formula=r"z = \textstyle\sum_p \frac{T_p}{T_k}\, z_p",
    why="A part with few keys can hold most of the attention; it counts by its exponentials.",
    mend="Weigh each part by e^(lse_p − lse).",
    hides_when="all scores of a row are equal",
    source=LSE_PAPER,
    wrong={"merge-parts": by_length},
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=EQUAL_PARTS,
    typical=True,
)

PARTS_WEIGHTED_BY_ROW_SUMS = Mistake(
    id="parts-weighted-by-row-sums",
    title="weighed the parts by their row sums, without the maxima",
    formula=r"z = \frac{\sum_p \ell_p z_p}{\sum_p \ell_p},\; \ell_p = \textstyle\sum_j e^{s_j - m_p}",
    why="Each sum is shifted by its own part's maximum; only e^(m_p)·ℓ_p can be compared between parts.",
    mend="Weigh each part by e^(m_p)·ℓ_p, that is by e^(lse_p).",
    hides_when="all parts have the same maximum",
    source="Dao-AILab/flash-attention#404",
    wrong=by_part(row_sum_of_its_own),
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=EQUAL_PARTS,
    typical=True,
)

PARTS_WEIGHTED_BY_MAXIMA = Mistake(
    id="parts-weighted-by-maxima",
    title="weighed the parts by the exponentials of their maxima",
    formula=r"z = \frac{\sum_p e^{m_p} z_p}{\sum_p e^{m_p}}",
    why="The maximum is one key of the part; the others count too.",
    mend="Weigh each part by e^(m_p)·ℓ_p, that is by e^(lse_p).",
    hides_when="all parts have the same row sum, as with one key each",
    source=LSE_PAPER,
    wrong=by_part(lambda scores: np.exp(softmax.row_max(scores))),
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=Recipe(Tq=2, Tk=3, D=2, options={"chunks": (1, 1, 1)}),
)

PARTS_WEIGHTED_BY_LSE = Mistake(
    id="parts-weighted-by-lse",
    title="weighed the parts by their logsumexps themselves",
    formula=r"z = \frac{\sum_p \mathrm{lse}_p z_p}{\sum_p \mathrm{lse}_p}",
    why="A logsumexp is a logarithm: it is its exponential that adds up.",
    mend="Weigh each part by e^(lse_p − lse).",
    hides_when="all parts have the same logsumexp",
    source=LSE_PAPER,
    wrong={"merge-parts": by_lse},
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
)

PARTS_LSE_ADDED = Mistake(
    id="parts-lse-added",
    title="added the parts' logsumexps to get that of the whole",
    formula=r"\mathrm{lse} = \textstyle\sum_p \mathrm{lse}_p",
    why="Logarithms add where numbers multiply; here the sums of exponentials add: lse = ln Σ e^(lse_p).",
    mend="Take lse = ln Σ_p e^(lse_p), then weigh each part by e^(lse_p − lse).",
    hides_when="there is one part, or the two happen to be equal",
    source="zhuzilin/ring-flash-attention#20",
    wrong={
        "merge-parts": lambda problem, outputs, logsumexps, whole: merge_parts(
            outputs, logsumexps, logsumexps.sum(axis=PARTS)
        )
    },
    applies=in_parts,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
    typical=True,
)

PARTS_WEIGHTED_BY_CENTRED_LSE = Mistake(
    id="parts-weighted-by-centred-lse",
    title="merged logsumexps of scores from which each part's own mean had been taken out",
    formula=r"\mathrm{lse}_p - \tfrac{1}{T_p}\textstyle\sum_{j \in p} s_j",
    why=(
        "Subtracting the mean key changes no weights of a part, but its logsumexp by q · mean(K)/√d_k: "
        "between parts that is a different number each."
    ),
    mend="Add q · mean(K)/√d_k back to each part's logsumexp.",
    hides_when="there is one part, or all parts have the same mean score",
    source="ROCm/aiter#3334",
    wrong={
        "merge-parts": Wrong(
            lambda problem, *fields: centred_merge(problem, *fields),
            reads=("part_output", "part_logsumexp", "scaled"),
        )
    },
    applies=lambda problem: online_in_parts(problem) and problem.softcap is None,
    witness=TWO_PARTS,
    blind_spot=ONE_PART,
)


def centred_merge(problem: Problem, outputs: Array, logsumexps: Array, scaled: Array) -> Array:
    """Each part weighs e^(lse_p − mean of its scores)."""
    edges = np.cumsum(problem.chunks)[:-1]
    parts = np.split(scaled, edges, axis=-1)
    means = np.stack([part.mean(axis=-1, keepdims=True) for part in parts], axis=PARTS)
    return merge_parts(outputs, logsumexps - means)


PARTS_LSE_NOT_SHIFTED = Mistake(
    id="parts-lse-not-shifted",
    title="weighed the parts by e^lse without subtracting the largest",
    formula=r"z = \frac{\sum_p e^{\mathrm{lse}_p} z_p}{\sum_p e^{\mathrm{lse}_p}}",
    why="That is right until it overflows: in float32 e^89 is infinite, and ∞/∞ is not a number.",
    mend="Subtract the largest logsumexp first: e^(lse_p − max lse).",
    hides_when="no logsumexp is above 88 in float32, or 709 in float64",
    source="SHI-Labs/NATTEN#202",
    wrong={
        "merge-parts": lambda problem, outputs, logsumexps, whole: (
            np.sum(np.exp(logsumexps) * outputs, axis=PARTS) / np.sum(np.exp(logsumexps), axis=PARTS)
        )
    },
    applies=online_in_parts,
    witness=Recipe(Tq=2, Tk=5, D=2, spread=60.0, options={"chunks": (3, 2)}),
    blind_spot=TWO_PARTS,
)

LAST_PART_FORGOTTEN = Mistake(
    id="last-part-forgotten",
    title="left the last part out",
    formula=r"p = 1, \ldots, P - 1",
    why="The loop ended one part too early, or rounded the number of parts down.",
    mend="Go through all parts, the last one too.",
    hides_when="the last part has no weight",
    source="jax-ml/jax#27224",
    wrong=over_parts(only_keys(all_but_last)),
    applies=online_in_parts,
    witness=TWO_PARTS,
    blind_spot=Recipe(
        Tq=2, Tk=5, D=2, options={"chunks": (3, 2), "mask": [[True, True, True, False, False]] * 2}
    ),
)

FIRST_PART_FORGOTTEN = Mistake(
    id="first-part-forgotten",
    title="left the first part out",
    formula=r"p = 2, \ldots, P",
    why="The first part's result was kept elsewhere, or the running values were reset after it.",
    mend="Start from the first part.",
    hides_when="the first part has no weight",
    source=PAPER,
    wrong=over_parts(only_keys(all_but_first)),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=Recipe(
        Tq=2, Tk=5, D=2, options={"chunks": (3, 2), "mask": [[False, False, False, True, True]] * 2}
    ),
)

ACCUMULATOR_NOT_RESCALED = Mistake(
    id="accumulator-not-rescaled",
    title="did not rescale the accumulator when the maximum grew",
    formula=r"\mathrm{acc} \leftarrow \mathrm{acc} + \textstyle\sum_j e^{s_j - m_{\mathrm{new}}} v_j",
    why=(
        "What was summed so far is relative to the old maximum; the row's sum was rescaled, the "
        "accumulator was not."
    ),
    mend="Multiply the accumulator by e^(m_old − m_new) before adding the next part.",
    hides_when="the first part holds each row's maximum",
    source=PAPER,
    wrong=over_parts(faulty(Fault(accumulator=False))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=EQUAL_PARTS,
    typical=True,
)

ROW_SUM_NOT_RESCALED = Mistake(
    id="row-sum-not-rescaled",
    title="did not rescale the row's sum when the maximum grew",
    formula=r"\ell \leftarrow \ell + \textstyle\sum_j e^{s_j - m_{\mathrm{new}}}",
    why=(
        "What was summed so far is relative to the old maximum; the accumulator was rescaled, the row's "
        "sum was not."
    ),
    mend="Multiply the sum by e^(m_old − m_new) before adding the next part.",
    hides_when="the first part holds each row's maximum",
    source=PAPER,
    wrong=over_parts(faulty(Fault(row_sum=False))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=EQUAL_PARTS,
    typical=True,
)

NOTHING_RESCALED = Mistake(
    id="nothing-rescaled",
    title="rescaled neither accumulator nor sum when the maximum grew",
    formula=r"\alpha = 1 \text{ instead of } e^{m_{\mathrm{old}} - m_{\mathrm{new}}}",
    why="Earlier parts then count too much, by e^(m_new − m_old).",
    mend="Multiply both by e^(m_old − m_new) before adding the next part.",
    hides_when="the first part holds each row's maximum",
    source=PAPER,
    wrong=over_parts(faulty(Fault(accumulator=False, row_sum=False))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=EQUAL_PARTS,
    typical=True,
)

RESCALE_INVERTED = Mistake(
    id="rescale-inverted",
    title="rescaled by e^(m_new − m_old), the wrong way round",
    formula=r"\alpha = e^{m_{\mathrm{new}} - m_{\mathrm{old}}}",
    why="A larger maximum makes earlier terms smaller, not larger: the factor is at most 1.",
    mend="Multiply by e^(m_old − m_new).",
    hides_when="the first part holds each row's maximum",
    source="deepseek-ai/FlashMLA#177",
    wrong=over_parts(faulty(Fault(inverted="both"))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=EQUAL_PARTS,
    typical=True,
)

ACCUMULATOR_RESCALE_INVERTED = Mistake(
    id="accumulator-rescale-inverted",
    title="rescaled the accumulator by e^(m_new − m_old), the row's sum rightly",
    formula=r"\mathrm{acc} \leftarrow e^{m_{\mathrm{new}} - m_{\mathrm{old}}}\,\mathrm{acc} + \ldots",
    why="The paper's formula has an inverse in front of the accumulator that is one too many.",
    mend="Multiply the accumulator by the same e^(m_old − m_new) as the sum.",
    hides_when="the first part holds each row's maximum",
    source="Dao-AILab/flash-attention#991",
    wrong=over_parts(faulty(Fault(inverted="accumulator"))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=EQUAL_PARTS,
)

RESCALE_SKIPPED_IN_NEW_FRAME = Mistake(
    id="rescale-skipped-in-new-frame",
    title="skipped the rescaling for small growth, but took the new part relative to the new maximum",
    formula=r"m = m_{\mathrm{old}} \text{ kept, yet } e^{s_j - m_{\mathrm{new}}} \text{ added}",
    why=(
        "Where the maximum grows little, the old one may be kept, but then for the new part too: here old "
        "and new terms are relative to different maxima."
    ),
    mend="Take the new part relative to the maximum that is kept.",
    hides_when="the first part holds each row's maximum, or it always grows by more than ln 256",
    source="meta-pytorch/MSLK#242",
    wrong=over_parts(faulty(Fault(lazy=True))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=EQUAL_PARTS,
)

RESCALED_FROM_PREVIOUS_PART = Mistake(
    id="rescaled-from-previous-part",
    title="rescaled from the maximum of the part before instead of the running one",
    formula=r"\alpha = e^{\max_{j \in p - 1} s_j - m_{\mathrm{new}}}",
    why="Accumulator and sum are relative to the running maximum, which may stem from a part further back.",
    mend="Keep the running maximum: m_old = max of all parts so far.",
    hides_when="the maximum grows with every part, or there are two",
    source=PAPER,
    wrong=over_parts(faulty(Fault(previous=True))),
    applies=lambda problem: online_in_parts(problem) and len(problem.chunks) > 2,
    witness=Recipe(Tq=3, Tk=6, D=2, options={"chunks": (2, 2, 2)}),
    blind_spot=ONE_PART,
)

ACCUMULATOR_OVERWRITTEN = Mistake(
    id="accumulator-overwritten",
    title="kept the last part's values only, over the whole row's sum",
    formula=r"z = \frac{\sum_{j \in P} e^{s_j - m} v_j}{\sum_j e^{s_j - m}}",
    why="The accumulator was assigned, not added to.",
    mend="Add to the accumulator: acc = α·acc + new.",
    hides_when="the earlier parts have no weight",
    source=PAPER,
    wrong=over_parts(faulty(Fault(overwrites="accumulator"))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=ONE_PART,
    typical=True,
)

ROW_SUM_OVERWRITTEN = Mistake(
    id="row-sum-overwritten",
    title="divided by the last part's sum only",
    formula=r"z = \frac{\sum_j e^{s_j - m} v_j}{\sum_{j \in P} e^{s_j - m}}",
    why="The row's sum was assigned, not added to, so the weights sum to more than 1.",
    mend="Add to the sum: ℓ = α·ℓ + new.",
    hides_when="the earlier parts have no weight",
    source=PAPER,
    wrong=over_parts(faulty(Fault(overwrites="row_sum"))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=ONE_PART,
    typical=True,
)

ONLY_LAST_PART = Mistake(
    id="only-last-part",
    title="kept the last part's output only",
    formula=r"z = z_P",
    why="Each part replaced what the earlier ones gave.",
    mend="Merge the parts: weigh each by e^(lse_p − lse).",
    hides_when="the earlier parts have no weight",
    source=PAPER,
    wrong=over_parts(faulty(Fault(overwrites="both"))),
    applies=lambda problem: online_in_parts(problem) and len(problem.chunks) > 2,
    witness=THREE_PARTS,
    blind_spot=ONE_PART,
)

DIVIDED_AFTER_EVERY_PART = Mistake(
    id="divided-after-every-part",
    title="divided by the row's sum after every part",
    formula=r"\mathrm{acc} \leftarrow (\alpha\,\mathrm{acc} + \textstyle\sum_j e^{s_j - m} v_j)/\ell",
    why=(
        "The accumulator is then divided already when the next part is added to it, and earlier parts "
        "count too little."
    ),
    mend="Divide once, after the last part; or multiply by the old sum first.",
    hides_when="there is one part",
    source="PaddleJitLab/CUDATutorial#69",
    wrong=over_parts(faulty(Fault(divides=True))),
    applies=online_in_parts,
    witness=THREE_PARTS,
    blind_spot=ONE_PART,
    typical=True,
)


def stuck_at_zero(
    problem: Problem, logits: Array, value: Array, allowed: Array, lengths: Sequence[int]
) -> Array:
    """From the last part to the first; a row that sees nothing of the last one keeps m ≥ 0."""
    seen = np.isfinite(logits[..., -lengths[-1] :]).any(axis=-1, keepdims=True)
    top = softmax.row_max(logits)
    exps = softmax.exponentials(logits, np.where(seen, top, np.maximum(top, 0)))
    return softmax.blend(softmax.weights(exps, softmax.row_sum(exps)), value, allowed)


MAXIMUM_STUCK_AT_ZERO = Mistake(
    id="maximum-stuck-at-zero",
    title="let the running maximum stay at 0 after a part that was masked whole",
    formula=r"m = \max(0, \max_j s_j)",
    why=(
        "The −∞ of a part that may not be seen was replaced by 0 to avoid −∞ − (−∞), and kept. Scores far "
        "below 0 then underflow, and the output is 0."
    ),
    mend="Use 0 in that exponential only, and keep −∞ as the running maximum.",
    hides_when="no score of such a row lies so far below 0 that its exponential underflows",
    source="Dao-AILab/flash-attention#2082",
    wrong=over_parts(stuck_at_zero),
    applies=lambda problem: online_in_parts(problem) and is_masked(problem),
    witness=Recipe(
        Tq=2,
        D=2,
        options={"causal": True, "chunks": (1, 1)},
        fixed={"query": [[-800.0, 1.0], [-900.0, 2.0]], "key": [[2.0, 1.0], [2.5, -1.0]]},
    ),
    blind_spot=Recipe(Tq=2, D=2, options={"causal": True, "chunks": (1, 1)}),
)

# --- the same, in blocks that the problem does not name -------------------------------------------

BLOCK_ACCUMULATOR_NOT_RESCALED = Mistake(
    id="block-accumulator-not-rescaled",
    title="did not rescale the accumulator from block to block",
    formula=r"\mathrm{acc} \leftarrow \mathrm{acc} + \ldots \text{ in blocks of } \theta \text{ keys}",
    why=(
        "The numbers are those of an online softmax over blocks of θ keys whose accumulator is not "
        "rescaled when the maximum grows."
    ),
    mend="Multiply the accumulator by e^(m_old − m_new) before adding the next block.",
    hides_when="the first block holds each row's maximum, or there is one block",
    source=PAPER,
    wrong=over_blocks(in_blocks(faulty(Fault(accumulator=False)))),
    applies=in_unknown_blocks,
    parameter=BLOCK_SIZE,
    witness=BLOCKS,
    blind_spot=EQUAL_SCORES,
)

BLOCK_ROW_SUM_NOT_RESCALED = Mistake(
    id="block-row-sum-not-rescaled",
    title="did not rescale the row's sum from block to block",
    formula=r"\ell \leftarrow \ell + \ldots \text{ in blocks of } \theta \text{ keys}",
    why=(
        "The numbers are those of an online softmax over blocks of θ keys whose sum is not rescaled when "
        "the maximum grows."
    ),
    mend="Multiply the sum by e^(m_old − m_new) before adding the next block.",
    hides_when="the first block holds each row's maximum, or there is one block",
    source=PAPER,
    wrong=over_blocks(in_blocks(faulty(Fault(row_sum=False)))),
    applies=in_unknown_blocks,
    parameter=BLOCK_SIZE,
    witness=BLOCKS,
    blind_spot=EQUAL_SCORES,
)

BLOCK_NOTHING_RESCALED = Mistake(
    id="block-nothing-rescaled",
    title="rescaled nothing from block to block",
    formula=r"\alpha = 1 \text{ in blocks of } \theta \text{ keys}",
    why=(
        "The numbers are those of an online softmax over blocks of θ keys that ignores how the maximum grows."
    ),
    mend="Multiply accumulator and sum by e^(m_old − m_new) before adding the next block.",
    hides_when="the first block holds each row's maximum, or there is one block",
    source=PAPER,
    wrong=over_blocks(in_blocks(faulty(Fault(accumulator=False, row_sum=False)))),
    applies=in_unknown_blocks,
    parameter=BLOCK_SIZE,
    witness=BLOCKS,
    blind_spot=EQUAL_SCORES,
)

BLOCK_RESCALE_INVERTED = Mistake(
    id="block-rescale-inverted",
    title="rescaled the wrong way round from block to block",
    formula=r"\alpha = e^{m_{\mathrm{new}} - m_{\mathrm{old}}} \text{ in blocks of } \theta \text{ keys}",
    why="The numbers are those of an online softmax over blocks of θ keys whose factor is upside down.",
    mend="Multiply by e^(m_old − m_new), which is at most 1.",
    hides_when="the first block holds each row's maximum, or there is one block",
    source="deepseek-ai/FlashMLA#177",
    wrong=over_blocks(in_blocks(faulty(Fault(inverted="both")))),
    applies=in_unknown_blocks,
    parameter=BLOCK_SIZE,
    witness=BLOCKS,
    blind_spot=EQUAL_SCORES,
)

LAST_PARTIAL_BLOCK_DROPPED = Mistake(
    id="last-partial-block-dropped",
    title="left out the last, shorter block of keys",
    formula=r"j < \theta \lfloor T_k/\theta \rfloor",
    why="The number of blocks was rounded down, so keys beyond the last full block of θ are never seen.",
    mend="Round the number of blocks up, and mask what lies beyond the last key.",
    hides_when="the number of keys is a multiple of the block size",
    source="jax-ml/jax#27224",
    wrong=over_blocks(in_blocks(only_keys(full_blocks))),
    applies=in_unknown_blocks,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(size for size in block_sizes(problem) if problem.Tk % size),
        right=lambda problem: float(problem.Tk),
        whole=True,
    ),
    witness=BLOCKS,
    blind_spot=ONE_KEY,
)


def with_zero_keys(logits: Array, value: Array, allowed: Array, missing: float | Array) -> Array:
    """So many keys of score 0 and value 0 more, which are not masked: each adds e⁰ to the row's sum."""
    zero = np.zeros(1)
    top = softmax.row_max(logits, zero)
    exps = softmax.exponentials(logits, top)
    total = softmax.row_sum(exps) + missing * softmax.exponentials(zero, top)
    return softmax.weights(softmax.blend(exps, value, allowed), total)


LAST_BLOCK_NOT_MASKED = Mistake(
    id="last-block-not-masked",
    title="did not mask what lies beyond the last key in its block",
    formula=r"\text{scores } 0 \text{ for } j \ge T_k \text{ up to a multiple of } \theta",
    why="Rows loaded beyond the end are zeros: their scores are 0, and e⁰ = 1 joins every row's sum.",
    mend="Set scores beyond the last key to −∞.",
    hides_when="the number of keys is a multiple of the block size",
    source="flashinfer-ai/flashinfer#5090",
    wrong={
        "blend": Wrong(
            lambda problem, theta, logits, value, allowed: with_zero_keys(
                logits, wide(problem, value), allowed, -problem.Tk % theta
            ),
            reads=("logits", "value_repeated", "allowed"),
        )
    },
    applies=in_unknown_blocks,
    parameter=Parameter(
        symbol="θ",
        values=lambda problem: tuple(
            float(size) for size in (2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512) if problem.Tk % size
        ),
        whole=True,
    ),
    witness=BLOCKS,
    blind_spot=None,
)

LAST_PART_NOT_MASKED = Mistake(
    id="last-part-not-masked",
    title="filled the last part up with keys of 0 and did not mask them",
    formula=r"\text{scores } 0 \text{ for } j \ge T_k \text{ up to the length of the other parts}",
    why="Rows loaded beyond the end are zeros: their scores are 0, and e⁰ = 1 joins every row's sum.",
    mend="Set scores beyond the last key to −∞.",
    hides_when="the last part is as long as the others",
    source="flashinfer-ai/flashinfer#5090",
    wrong=over_parts(
        lambda problem, logits, value, allowed, lengths: with_zero_keys(
            logits, value, allowed, max(lengths) - lengths[-1]
        )
    ),
    applies=lambda problem: online_in_parts(problem) and problem.chunks[-1] < max(problem.chunks),
    witness=TWO_PARTS,
    blind_spot=EQUAL_PARTS,
)

# --- the logsumexp itself -------------------------------------------------------------------------

ROW = Recipe(Tq=2, Tk=3)
ONE_SCORE_ZERO = Recipe(Tq=1, Tk=1, D=2, fixed={"query": [[0.0, 0.0]]})  # m = 0, ℓ = 1, lse = 0

LOGSUMEXP_MAX_NOT_ADDED = Mistake(
    id="logsumexp-max-not-added",
    title="did not add the maximum back to the logsumexp",
    formula=r"\ln \textstyle\sum_j e^{s_j - m}",
    why=(
        "The sum was shifted by m, so its logarithm is too small by m; parts with different m cannot be "
        "merged with it."
    ),
    mend="Add m: lse = m + ln ℓ.",
    hides_when="the largest score is 0; and always in weights and output",
    source="Dao-AILab/flash-attention#404",
    wrong={"logsumexp": lambda problem, top, total: np.log(total)},
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
    typical=True,
)

LOGSUMEXP_MAX_SUBTRACTED = Mistake(
    id="logsumexp-max-subtracted",
    title="subtracted the maximum once more in the logsumexp",
    formula=r"\ln \textstyle\sum_j e^{s_j - m} - m",
    why="The shift by −m is undone by adding m.",
    mend="Add m: lse = m + ln ℓ.",
    hides_when="the largest score is 0; and always in weights and output",
    source=LSE_PAPER,
    wrong={"logsumexp": lambda problem, top, total: np.log(total) - np.where(np.isneginf(top), 0, top)},
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
    typical=True,
)

LOGSUMEXP_BASE_2 = Mistake(
    id="logsumexp-base-2",
    title="gave the logsumexp in base 2",
    formula=r"\log_2 \textstyle\sum_j e^{s_j}",
    why="Kernels that work with 2^x return it so; elsewhere it is natural.",
    mend="Say which base is meant; multiply by ln 2 for the natural one.",
    hides_when="the logsumexp is 0; and always in weights and output",
    source="pytorch/pytorch#181645",
    wrong={"logsumexp": lambda problem, top, total: softmax.logsumexp(top, total) / LN2},
    convention=True,
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
)

LOGSUMEXP_BASE_10 = Mistake(
    id="logsumexp-base-10",
    title="took the decimal logarithm",
    formula=r"\log_{10} \textstyle\sum_j e^{s_j}",
    why="The exponentials are powers of e, so the logarithm that undoes them is ln.",
    mend="Use ln (often written log in code).",
    hides_when="the logsumexp is 0; and always in weights and output",
    source="learners, by hand",
    wrong={"logsumexp": lambda problem, top, total: softmax.logsumexp(top, total) / math.log(10)},
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
    typical=True,
)

LOGSUMEXP_MIXED_BASES = Mistake(
    id="logsumexp-mixed-bases",
    title="added a base-2 logarithm to a natural maximum",
    formula=r"m + \log_2 \ell",
    why="Maximum and logarithm must be in one base: m is a score, natural.",
    mend="Use m + ln ℓ; or m/ln 2 + log₂ ℓ for base 2.",
    hides_when="ℓ is 1; and always in weights and output",
    source=LSE_PAPER,
    wrong={
        "logsumexp": lambda problem, top, total: (
            softmax.logsumexp(top, np.asarray(total)) + np.log(total) * (1 / LN2 - 1)
        )
    },
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
)

LOGSUMEXP_NOT_LOGGED = Mistake(
    id="logsumexp-not-logged",
    title="gave the sum of exponentials without its logarithm",
    formula=r"\textstyle\sum_j e^{s_j}",
    why="The logsumexp is the logarithm of that sum, as the name says.",
    mend="Take ln of the sum.",
    hides_when="never: e^x is never x",
    source=LSE_PAPER,
    wrong={"logsumexp": lambda problem, top, total: np.exp(softmax.logsumexp(top, total))},
    witness=ROW,
    blind_spot=None,
    typical=True,
)

LOGSUMEXP_SUM_ADDED = Mistake(
    id="logsumexp-sum-added",
    title="added the row's sum to the maximum without its logarithm",
    formula=r"m + \ell",
    why="ℓ is a sum of exponentials; its logarithm is on the scale of scores.",
    mend="Take m + ln ℓ.",
    hides_when="never: ln ℓ is never ℓ",
    source=LSE_PAPER,
    wrong={"logsumexp": lambda problem, top, total: top + total},
    witness=ROW,
    blind_spot=None,
    typical=True,
)

LOGSUMEXP_ROW_SUM = Mistake(
    id="logsumexp-row-sum",
    title="gave the shifted row's sum",
    formula=r"\ell = \textstyle\sum_j e^{s_j - m}",
    why="That is what the weights are divided by; neither the logarithm nor the maximum is in it.",
    mend="Take m + ln ℓ.",
    hides_when="m + ln ℓ happens to be ℓ; and always in weights and output",
    source=LSE_PAPER,
    wrong={"logsumexp": lambda problem, top, total: np.asarray(total)},
    witness=ROW,
    blind_spot=None,
)

LOGSUMEXP_MAX_ONLY = Mistake(
    id="logsumexp-max-only",
    title="gave the maximum for the logsumexp",
    formula=r"m",
    why="The logsumexp lies above the maximum, by at most ln Tk; it is a soft maximum.",
    mend="Add ln ℓ.",
    hides_when="one key is visible; and always in weights and output",
    source=LSE_PAPER,
    wrong={"logsumexp": lambda problem, top, total: top},
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
)

LOGSUMEXP_OF_MEAN = Mistake(
    id="logsumexp-of-mean",
    title="took the logarithm of the mean",
    formula=r"\ln \tfrac{1}{T_k} \textstyle\sum_j e^{s_j}",
    why="It is the logarithm of the sum; the mean is smaller by the factor Tk.",
    mend="Do not divide by the number of keys.",
    hides_when="there is one key; and always in weights and output",
    source="learners, by hand",
    wrong={"logsumexp": lambda problem, top, total: softmax.logsumexp(top, total / problem.Tk)},
    witness=ROW,
    blind_spot=ONE_SCORE_ZERO,
)

LOGSUMEXP_EMPTY_ROW_INF = Mistake(
    id="logsumexp-empty-row-inf",
    title="gave +∞ for a row that may see nothing",
    formula=r"\mathrm{lse} = +\infty \text{ where nothing is visible}",
    why=(
        "Some kernels write +∞ so that e^(s − lse) is 0 later; the logarithm of an empty sum is −∞, and "
        "only that merges rightly."
    ),
    mend="Say which is meant; −∞ where results are merged.",
    hides_when="every row sees a key; and always in weights and output",
    source="Dao-AILab/flash-attention#978",
    wrong={
        "logsumexp": lambda problem, top, total: np.where(total == 0, np.inf, softmax.logsumexp(top, total))
    },
    applies=is_masked,
    convention=True,
    witness=Recipe(Tq=2, Tk=3, mask="empty"),
    blind_spot=ROW,
)

MISTAKES: tuple[Mistake, ...] = (
    LSE_BASE2_MERGED_AS_E,
    LSE_E_MERGED_AS_BASE2,
    PARTS_AVERAGED,
    PARTS_ADDED,
    PARTS_WEIGHTED_BY_LENGTH,
    PARTS_WEIGHTED_BY_ROW_SUMS,
    PARTS_WEIGHTED_BY_MAXIMA,
    PARTS_WEIGHTED_BY_LSE,
    PARTS_LSE_ADDED,
    PARTS_WEIGHTED_BY_CENTRED_LSE,
    PARTS_LSE_NOT_SHIFTED,
    LAST_PART_FORGOTTEN,
    FIRST_PART_FORGOTTEN,
    ACCUMULATOR_NOT_RESCALED,
    ROW_SUM_NOT_RESCALED,
    NOTHING_RESCALED,
    RESCALE_INVERTED,
    ACCUMULATOR_RESCALE_INVERTED,
    RESCALE_SKIPPED_IN_NEW_FRAME,
    RESCALED_FROM_PREVIOUS_PART,
    ACCUMULATOR_OVERWRITTEN,
    ROW_SUM_OVERWRITTEN,
    ONLY_LAST_PART,
    DIVIDED_AFTER_EVERY_PART,
    MAXIMUM_STUCK_AT_ZERO,
    LAST_PART_NOT_MASKED,
    BLOCK_ACCUMULATOR_NOT_RESCALED,
    BLOCK_ROW_SUM_NOT_RESCALED,
    BLOCK_NOTHING_RESCALED,
    BLOCK_RESCALE_INVERTED,
    LAST_PARTIAL_BLOCK_DROPPED,
    LAST_BLOCK_NOT_MASKED,
    LOGSUMEXP_MAX_NOT_ADDED,
    LOGSUMEXP_MAX_SUBTRACTED,
    LOGSUMEXP_BASE_2,
    LOGSUMEXP_BASE_10,
    LOGSUMEXP_MIXED_BASES,
    LOGSUMEXP_NOT_LOGGED,
    LOGSUMEXP_SUM_ADDED,
    LOGSUMEXP_ROW_SUM,
    LOGSUMEXP_MAX_ONLY,
    LOGSUMEXP_OF_MEAN,
    LOGSUMEXP_EMPTY_ROW_INF,
)
