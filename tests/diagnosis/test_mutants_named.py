"""Every wrong program of tests/mutants is recognised from its numbers alone, and no right one is accused.

mutants/in_catalogue.py says which records of the catalogue are the same rule, judged by reading both, never by
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
from mutants.in_catalogue import NAMES, names
from mutants.right import textbook

from headwork import Problem
from headwork.diagnosis.diagnosing import Diagnosis, diagnose
from headwork.mistakes.lookup import mistake_named

SEEDS = (0,)  # one draw of numbers is enough here; (0, 1) was looked at too
STEPS = ("output", "weights")
ROUNDING = 1e-12  # of float64, in sums of a few products of size 1

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
    "features-joined-before-heads": "four of six columns have changed places",
    "one-over-root-in-integers": "the weights are one number throughout",
    "over-an-axis-of-one": "the weights are 1 throughout",
    "values-only-averaged": "the output is the same two short numbers in every row",
}
# Weights that were rounded to one decimal are right at one decimal.
RIGHT_AS_GIVEN = {("weights-rounded-to-one-digit", "weights")}
MUTANT = {mutant.id: mutant for mutant in MUTANTS}
KNOWN = [mutant for mutant in MUTANTS if mutant.id not in dict(NOT_NAMED)]


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
