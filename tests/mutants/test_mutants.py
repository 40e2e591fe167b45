"""The mutants are wrong where they say so, and the right implementations agree with one another."""

import functools
import re
from collections import Counter

import numpy as np
import pytest

from . import MUTANTS, RIGHT, Answer, Inputs, Mutant, Right
from .right import features, textbook

SEEDS = (0, 1)
FEWEST = 64  # of mutants
REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+( \(.+\))?|course folklore: .+", re.DOTALL)
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TOLERANCE = 1e-12  # of float64, sums of a few hundred products of size 1


def by_id(one: object) -> str:
    return str(getattr(one, "id", one))


def test_there_are_many_and_most_were_reported() -> None:
    assert len(MUTANTS) >= FEWEST
    assert sum(not mutant.report.startswith("course folklore") for mutant in MUTANTS) >= 45
    assert len(RIGHT) >= 10


def test_no_id_stands_twice() -> None:
    ids = Counter([*(mutant.id for mutant in MUTANTS), *(one.id for one in RIGHT)])
    assert [name for name, times in ids.items() if times > 1] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=by_id)
def test_a_record_says_who_reported_what(mutant: Mutant) -> None:
    assert REPORT.fullmatch(mutant.report)
    assert mutant.rule
    assert all(KEBAB.fullmatch(name) for name in (mutant.id, mutant.kind, *mutant.same_numbers_as))
    assert mutant.kind not in mutant.same_numbers_as


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mutant", MUTANTS, ids=by_id)
def test_a_mutant_gives_other_numbers_than_the_right_pipeline(mutant: Mutant, seed: int) -> None:
    problem = mutant.inputs(seed)
    wrong, right = mutant.run(problem), textbook(problem)
    assert set(wrong) <= {"output", "weights"}
    assert all(array.shape == right[name].shape for name, array in wrong.items())
    if mutant.nonfinite:
        assert not np.isfinite(wrong["output"]).all()
    else:
        assert all(np.isfinite(array).all() for array in wrong.values())
        assert np.abs(wrong["output"] - right["output"]).max() > 1e-3


@pytest.mark.parametrize("mutant", MUTANTS, ids=by_id)
def test_a_mutant_leaves_its_inputs_alone(mutant: Mutant) -> None:
    problem = mutant.inputs(0)
    mutant.run(problem)
    assert problem == mutant.inputs(0)


@functools.cache
def problems(seed: int) -> list[tuple[Inputs, Answer]]:
    """Every mutant's problem, with what the textbook answers."""
    return [(problem := mutant.inputs(seed), textbook(problem)) for mutant in MUTANTS]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("one", RIGHT, ids=by_id)
def test_right_implementations_agree(one: Right, seed: int) -> None:
    supported = [pair for pair in problems(seed) if one.supports(pair[0])]
    assert supported, f"no mutant's problem is one that {one.id} can do"
    for problem, right in supported:
        for name, array in one.run(problem).items():
            largest = 1 + np.abs(right[name]).max()
            np.testing.assert_allclose(
                array,
                right[name],
                rtol=0,
                atol=TOLERANCE * largest,
                err_msg=f"{one.id} on {sorted(features(problem))}",
            )
