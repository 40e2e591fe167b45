"""Every wrong program of tests/mutants is recognised from its numbers alone, and no right one is accused.

The mutants were written apart from the catalogue, from what people reported, under names of their own. NAMES
says which records of the catalogue are the same rule; each line was judged by reading both rules, never by
what `diagnose` found. `python tests/diagnosis/test_mutants_named.py` prints what is found, as a table.
"""

import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from mutants import MUTANTS, RIGHT
from mutants.right import textbook

from headwork import Problem
from headwork.diagnosis.diagnosing import Diagnosis, diagnose
from headwork.mistakes.lookup import mistake_named

SEEDS = (0,)  # one draw of numbers is enough here; (0, 1) was looked at too
STEPS = ("output", "weights")
ROUNDING = 1e-12  # of float64, in sums of a few products of size 1

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
    "online-last-block-skipped": ("last-part-forgotten",),
    "zero-padded-keys-in-softmax": ("last-part-not-masked",),
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

# Mutants that the catalogue does not name, and why.
NOT_NAMED: tuple[tuple[str, str], ...] = ()

# The mistake is found, but these numbers say too little to be sure of it.
TOO_FEW_BITS = {
    "minus-ten-thousand-is-not-low-enough": "the masked scores win by thousands: weights are 0, 1 or equal",
    "only-itself": "each row has one weight, which is 1",
    "blocks-instead-of-a-sliding-window": "rows that differ have one key left, and its weight is 1",
    "largest-score-takes-all": "weights of 0 and 1 carry a bit each",
    "sink-with-the-first-value": "one weight of each row differs, and rows sum to 1",
    "maximum-stuck-at-zero": "one row of zeros",
}
# Weights that were rounded to one decimal are right at one decimal.
RIGHT_AS_GIVEN = {("weights-rounded-to-one-digit", "weights")}
MUTANT = {mutant.id: mutant for mutant in MUTANTS}
KNOWN = [mutant for mutant in MUTANTS if mutant.id not in dict(NOT_NAMED)]


def names(mutant) -> tuple[str, ...]:
    return NAMES.get(mutant.id) or NAMES.get(mutant.kind) or (mutant.kind,)


@lru_cache(maxsize=8)
def problem_of(id: str, seed: int) -> Problem:
    return Problem.from_dict(MUTANT[id].inputs(seed))


def is_right(mutant, seed: int, step: str, array) -> bool:
    """The weights of many mutants are those of the right pipeline: a right program says so, not ours."""
    right = textbook(mutant.inputs(seed))[step]
    return bool(np.allclose(array, right, rtol=0, atol=ROUNDING))


def found_in(diagnosis: Diagnosis) -> dict[str, float]:
    """Every id among the findings' readings, with its bits."""
    return {
        id: finding.bits
        for finding in diagnosis.findings
        for reading in finding.readings
        for mistake in reading
        for id in mistake.ids
    }


def expected_verdict(mutant, diagnosis: Diagnosis) -> str:
    """As the record that is meant says, unless an equal reading is a convention or the bits are few."""
    record = mistake_named(names(mutant)[0])
    if record.narrow:
        return "rounding"
    if record.convention or any(finding.is_convention for finding in diagnosis.findings):
        return "convention"
    return "mistake" if any(finding.named for finding in diagnosis.findings) else "consistent"


def runs_of(mutant, seed: int):
    """(step, diagnosis) for the steps that it gives and gets wrong."""
    problem, answer = problem_of(mutant.id, seed), mutant.run(mutant.inputs(seed))
    for step in STEPS:
        if step in answer and not is_right(mutant, seed, step, answer[step]):
            yield step, diagnose(problem, np.asarray(answer[step]), step)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mutant", KNOWN, ids=lambda mutant: mutant.id)
def test_a_wrong_program_is_named_from_its_numbers(mutant, seed):
    for step, diagnosis in runs_of(mutant, seed):
        if (mutant.id, step) in RIGHT_AS_GIVEN:
            assert diagnosis.verdict == "right"
            continue
        found = found_in(diagnosis)
        assert set(names(mutant)) & set(found), f"{step}: {diagnosis.verdict}, {diagnosis.mistakes}"
        assert diagnosis.verdict == expected_verdict(mutant, diagnosis), step
        assert (diagnosis.verdict != "consistent") or mutant.id in TOO_FEW_BITS, found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("one", RIGHT, ids=lambda one: one.id)
def test_no_right_program_is_accused(one, seed):
    """They compute in float64, whatever arithmetic a mutant needs."""
    for mutant in MUTANTS:
        inputs = mutant.inputs(seed)
        if one.supports(inputs):
            problem = Problem.from_dict({**inputs, "dtype": "float64"})
            for step, array in one.run(inputs).items():
                assert diagnose(problem, np.asarray(array), step).verdict == "right", f"{mutant.id}, {step}"


def test_the_table_names_what_is_there():
    keys = {mutant.id for mutant in MUTANTS} | {mutant.kind for mutant in MUTANTS}
    assert set(NAMES) <= keys
    assert {id for id, _ in NOT_NAMED} | set(TOO_FEW_BITS) <= set(MUTANT)
    for mutant in KNOWN:
        for id in names(mutant):
            mistake_named(id)  # raises UnknownNameError, naming the nearest


def test_few_stay_unnamed():
    assert len(NOT_NAMED) <= 8


def print_table() -> None:
    """One line for each mutant, seed and step; then how many came out how."""
    counts: Counter[tuple[str, str]] = Counter()
    for seed in SEEDS:
        for mutant in KNOWN:
            for step, diagnosis in runs_of(mutant, seed):
                found = found_in(diagnosis)
                bits = max((found[id] for id in names(mutant) if id in found), default=float("nan"))
                counts[step, diagnosis.verdict] += 1
                others = len(diagnosis.findings)
                print(
                    f"{mutant.id:56} {seed} {step:8} {diagnosis.verdict:12} {bits:7.0f} bits, "
                    f"{others} finding{'s' * (others != 1)}: {names(mutant)[0]}"
                )
    for (step, verdict), count in sorted(counts.items()):
        print(f"{step:8} {verdict:12} {count:4}")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        print_table()
