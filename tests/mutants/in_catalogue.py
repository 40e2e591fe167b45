"""Which records of the catalogue are the same rule as a mutant.

The mutants were written apart from the catalogue, from what people reported, under names of their own. Each line
was judged by reading both rules, never by what `diagnose` found.
"""

from __future__ import annotations

from .mutant import Mutant

# What a mutant (by its id, or else by its kind) is in the catalogue, and why where the words do not say it.
# A kind that is an id of the catalogue itself needs no line.
NAMES: dict[str, tuple[str, ...]] = {
    # projection
    "query-and-key-weights-swapped": ("w-q-and-w-k-swapped",),
    "projection-bias-missing": ("projection-biases-forgotten",),
    "projection-weight-transposed": ("projections-transposed",),
    "output-projection-transposed": ("w-o-transposed",),
    "output-projection-missing": ("output-projection-left-out",),
    "qkv-fused-order": ("fused-qkv-read-per-head",),  # [Q K V] cut head by head
    "cross-attention-value-from-x": ("value-from-x",),
    "cross-attention-swapped": ("x-and-x-key-swapped",),
    "projection-missing": ("projection-left-out",),
    "output-bias-missing": ("b-o-forgotten",),
    # heads
    "viewed-straight-into-heads": ("head-split-reshaped-only",),  # joined rightly
    "head-split-interleaved": ("heads-interleaved",),  # the program deals the columns out and back again
    "heads-ignored": ("heads-not-split",),
    "gqa-tile-values-only": ("gqa-value-tiled",),
    "gqa-group-boundary": ("gqa-tile-over-the-edge",),
    "gqa-first-kv-head": ("gqa-first-for-all",),
    "attention-over-batch": ("batch-and-tokens-swapped",),
    "batch-time-view": ("batch-and-time-by-a-view",),
    "attention-over-heads": ("heads-and-tokens-swapped",),
    # positions
    "rope-sign": ("rope-backwards",),
    "rope-angles-and-pairs-mixed": ("rope-neighbours-with-half-angles",),  # neighbours, angles of halves
    "rope-base": ("rope-base-ignored",),
    "rope-exponent-halved": ("rope-exponent-without-two",),
    "rope-exponent-shifted": ("rope-exponent-one-less",),
    "rope-offset-missing": ("rope-query-offset-ignored",),
    "rope-keys-twice": ("rope-key-twice",),
    "rope-over-heads": ("rope-along-heads",),
    "rope-on-values": ("rope-value-too",),
    "rope-keys-not-rotated": ("rope-query-only",),
    "rope-missing": ("rope-not-applied",),
    "rope-partial-ignored": ("rope-whole-head",),
    "rope-partial-head-width": ("rope-first-pairs-of-the-head",),
    # scores, scale, softcap
    "scores-elementwise": ("entrywise-throughout",),  # Q ∘ K and W ∘ V: two products, one habit
    "scores-query-with-query": ("scores-query-for-key",),
    "scale-compounds-per-block": ("scale-compounds-per-part",),
    "scale-root-truncated": ("scale-whole-root",),
    "scale-integer-division": ("scale-zero",),  # 1 // 2 is 0
    "softcap-missing": ("softcap-ignored",),
    "softcap-in-base-2": ("softcap-in-base-two",),
    "softcap-clipped": ("softcap-clipped-hard",),
    # biases by distance
    "alibi-slopes-not-power-of-two": ("alibi-slopes-not-interleaved",),
    "alibi-one-row-for-all": ("alibi-by-key-index",),  # m·(j − Tk + 1): the constant cancels
    "alibi-missing": ("alibi-ignored",),
    "alibi-before-scale": ("alibi-scaled-too",),
    "alibi-offset-missing": ("alibi-offset-ignored",),
    "alibi-signed-distance": ("alibi-signed",),
    "alibi-ratio-squared": ("alibi-another-exponent",),  # 2^(−θh/H) with θ = 16
    # masks
    "mask-fill-tiny": ("mask-fill-minus-tiny",),  # with a minus in front as well
    "mask-fill-not-low-enough": ("mask-fill-minus-1e4",),
    "mask-penalty-too-small": ("mask-added-another-number",),  # θ = −10
    "mask-added-as-number": ("mask-added-as-numbers",),
    "mask-repeated-where-heads-come-first": ("mask-repeat-order-heads-first",),
    "masks-ored": ("causal-or-mask",),  # one of the two is the causal mask
    "mask-batch-on-heads": ("mask-batch-meets-heads",),
    "bias-added-twice": ("float-mask-twice",),
    "bias-before-scale": ("scale-after-bias",),
    "bias-sign": ("float-mask-sign",),
    "causal-one-ahead": ("causal-one-too-many",),
    "offset-from-padded-length": ("causal-offset-from-buffer",),
    "window-both-sides": ("window-instead-of-causal",),
    "no-window-while-decoding": ("window-ignored", "masking-ignored"),  # nor is it causal: one query sees all
    "window-from-chunk-rows": ("window-left-by-row",),
    "window-last-keys-for-all": ("window-from-the-end",),
    "window-blocks": ("window-in-blocks",),
    # softmax, sinks
    "softmax-over-all-entries": ("softmax-over-table",),
    "softmax-over-singleton": ("softmax-over-axis-of-one",),
    "softmax-base-2": ("softmax-base-two",),
    "softmax-divisor-without-exp": ("softmax-divided-by-scores",),
    "softmax-without-exp": ("softmax-not-exponentiated",),
    "exponentials-not-divided": ("softmax-shifted-not-normalised",),
    "log-softmax": ("softmax-log",),
    "softmax-column-max": ("row-max-over-queries",),
    "scores-rectified": ("scores-clipped-at-zero",),
    "sigmoid-for-softmax": ("softmax-sigmoid",),
    "hardmax": ("softmax-hard",),
    "sink-missing": ("sink-ignored",),
    "sink-counted-per-part": ("sink-in-every-part",),
    "sink-not-shifted": ("softmax-one-not-shifted",),  # any sink, not only 0
    "sink-without-exp": ("sink-added-to-exponentials",),  # the exponentials are not shifted
    "sink-of-other-head": ("sink-of-neighbouring-head",),
    "sink-in-numerator": ("sink-to-first-key",),
    # parts
    "online-rescale-inverted": ("accumulator-rescale-inverted",),
    "online-rescale-sign": ("rescale-inverted",),
    "online-accumulator-not-rescaled": ("accumulator-not-rescaled",),
    "online-sum-not-rescaled": ("row-sum-not-rescaled",),
    "online-not-rescaled": ("rescale-skipped-in-new-frame",),
    "online-rescale-with-block-max": ("rescaled-from-previous-part",),
    "online-max-stuck-at-zero": ("maximum-stuck-at-zero",),
    # where nobody names the parts, they are blocks of some size
    "online-last-block-skipped": ("last-part-forgotten", "last-partial-block-dropped"),
    "zero-padded-keys-in-softmax": ("last-part-not-masked", "last-block-not-masked"),
    "accumulator-not-reset": ("output-accumulated",),
    "merge-plain-sum": ("parts-added",),
    "online-divided-every-step": ("divided-after-every-part",),
    "merge-plain-average": ("parts-averaged",),
    "merge-lse-added": ("parts-lse-added",),
    "merge-lse-without-max": ("parts-weighted-by-row-sums",),  # e^(ln Σ) is the row sum
    "merge-lse-of-centred-keys": ("parts-weighted-by-centred-lse",),
    "merge-lse-not-shifted": ("parts-lse-not-shifted",),
    "merge-by-length": ("parts-weighted-by-length",),
    "merge-by-lse": ("parts-weighted-by-lse",),
    "merge-last-part-only": ("first-part-forgotten",),  # there are two parts
    # arithmetic, values
    "row-sum-accumulated-narrow": ("row-sum-bfloat16",),
    "weights-rounded": ("weights-rounded-early",),
    "key-used-as-value": ("key-for-value",),
    "query-used-as-value": ("query-for-value",),
    "values-off-by-one": ("values-shifted-by-one",),
    "weights-uniform": ("values-averaged",),  # its weights are right, its output is the mean
}


def names(mutant: Mutant) -> tuple[str, ...]:
    """The ids of the catalogue that it may be named by."""
    return NAMES.get(mutant.id) or NAMES.get(mutant.kind) or (mutant.kind,)
