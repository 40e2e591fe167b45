"""Problems like a given one, and the ones among them that show mistakes and tell them apart."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headwork import HeadworkError, Problem, trace
from headwork.diagnosis.separating import far_problems, fresh_problem, nearby_problems, separating_problem
from headwork.diagnosis.similar import NumberKind, kind_of, other_sizes, similar_problem, sizes_of
from headwork.interfaces.json_text import json_text
from headwork.mistakes.lookup import mistake_named
from headwork.mistakes.recipe import Recipe
from headwork.mistakes.scale import MISTAKES
from headwork.mistakes.wrong_run import can_be_made, run_wrong

THREE_TOKENS = Problem(
    query=[[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    key=[[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    value=[[1, 0], [0, 1], [1, 1]],
)
HALF_UNIT = 0.0005  # at three decimals


def named(*ids):
    return tuple(mistake_named(id) for id in ids)


# --- problems like a given one --------------------------------------------------------------------

LIKE = {
    "matrices": THREE_TOKENS,
    "heads": Recipe(B=2, H=4, Hkv=2, Tk=5, options={"causal": True, "rope": True, "alibi": True}).draw(),
    "packed": Recipe(B=2, H=2, packed=True, Dv=3, options={"window": (1, 0), "offset": 1}).draw(),
    "embeddings": Recipe(E=5, D=2, project_output=True, fixed={"b_query": [0.5, -1.0]}).draw(),
    "cross-attention": Recipe(E=3, Tk=5).draw(),
    "masks": Recipe(B=2, H=2, mask="padding").draw(),
    "float mask": Recipe(mask="float", options={"sink": 0.5, "softcap": 3.0}).draw(),
    "parts": Recipe(Tk=4, options={"chunks": (3, 1)}).draw(),
    "lengths": Recipe(B=2, H=1, options={"lengths": [2, 3]}).draw(),
    "scores": Problem(given={"scores": [[1, 2], [3, 4]]}, head_dim=4, value=[[1], [2]]),
    "masked": Problem(given={"masked": [["-inf", 2, 1], [3, 4, 0]]}),
    "weights": Problem(given={"weights": [[0.881, 0.119]]}, value=[[10, 0], [0, 10]]),
    "float16": Recipe(options={"dtype": "float16"}).draw(),
}


@pytest.mark.parametrize("name", LIKE)
def test_a_similar_problem_has_the_same_fields_sizes_and_options_and_other_numbers(name):
    problem = LIKE[name]
    near = similar_problem(problem, random.Random(1))
    assert near.to_dict().keys() == problem.to_dict().keys()
    assert sizes_of(near) == sizes_of(problem)
    assert (near.causal, near.window, near.scale, near.softcap, near.dtype, near.rope, near.chunks) == (
        problem.causal,
        problem.window,
        problem.scale,
        problem.softcap,
        problem.dtype,
        problem.rope,
        problem.chunks,
    )
    assert json_text(near.to_dict()) != json_text(problem.to_dict())


@pytest.mark.parametrize("name", LIKE)
def test_other_sizes_can_be_worked_too(name):
    for sizes in other_sizes(LIKE[name]):
        near = similar_problem(LIKE[name], random.Random(1), sizes)
        assert sizes_of(near) == sizes_of(LIKE[name]) | sizes | ({"Hkv": near.Hkv} if "H" in sizes else {})
        trace(near)


def test_a_large_problem_has_small_neighbours():
    large = Problem(**{name: np.ones((3, 16, 100, 64)) for name in ("query", "key", "value")})
    assert all(near.query.size < 1000 for near in nearby_problems(large))


def test_grouped_heads_stay_grouped_alike():
    near = similar_problem(LIKE["heads"], random.Random(1), {"H": 8})
    assert (near.H, near.Hkv) == (8, 4)


# numbers, their kind, source: by hand
KINDS = [
    ([2, 0, 0, 0], NumberKind(0, 2, 0.5), "whole; zeros at most half"),
    ([1, 2, 5], NumberKind(0, 5, 0.0), "whole, up to 5"),
    ([0.5, -1.5], NumberKind(1, 15, 0.0), "tenths, up to 15 of them"),
    ([0.12345, 0.98765], NumberKind(2, 99, 0.0), "long decimals: two digits, 0.99"),
    ([1.0, 0.0], NumberKind(0, 2, 0.5), "at least up to 2"),
    ([200.123456], NumberKind(-1, 20, 0.0), "long decimals: two digits, 200"),
]


@pytest.mark.parametrize(("numbers", "kind", "source"), KINDS)
def test_numbers_are_of_the_same_kind(numbers, kind, source):
    assert kind_of(np.array(numbers, dtype=float)) == kind
    drawn = kind.draw(random.Random(0), (50, 4))
    units = drawn * 10.0**kind.places
    assert np.allclose(units, np.round(units))
    assert np.abs(units).max() <= kind.most + 1e-9
    assert (drawn < 0).any()
    assert (drawn > 0).any()


def test_rows_are_neither_zero_nor_equal():
    for seed in range(20):
        near = similar_problem(THREE_TOKENS, random.Random(seed))
        for matrix in (near.query[0], near.key[0], near.value[0]):
            assert (matrix != 0).any(axis=-1).all()
            assert len(np.unique(matrix, axis=0)) == len(matrix)


def test_a_mask_keeps_a_key_in_every_row_and_hides_something():
    for seed in range(20):
        near = similar_problem(Recipe(Tq=3, Tk=4, mask="bool").draw(), random.Random(seed))
        assert near.mask[0].any(axis=-1).all()
        assert not near.mask[0].all()


def test_a_causal_mask_stays_one_in_other_sizes():
    causal = Problem(
        **{name: np.ones((3, 2)) for name in ("query", "key", "value")}, mask=np.tri(3, dtype=bool)
    )
    near = similar_problem(causal, random.Random(0), {"Tq": 5, "Tk": 5})
    assert (near.mask[0] == np.tri(5, dtype=bool)).all()


def test_drawn_weights_sum_to_1():
    near = similar_problem(LIKE["weights"], random.Random(3))
    assert np.allclose(near.given["weights"].sum(axis=-1), 1)


def test_numbers_near_the_largest_there_are_stay_numbers():
    far = Problem(query=[[1e308, 2]], key=[[-1e308, 1], [3, 1e308]], value=[[1.0], [2.0]])
    for near in far_problems(far):
        assert np.isfinite(near.query).all()


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"Tk": 50_000}, "at most 100,000 are drawn"),
        ({"Q": 3}, "no size 'Q'.*Tq, Tk, D, Dv"),
        ({"H": 2}, "no size 'H'"),
        ({"Tk": 0}, "at least 1"),
    ],
)
def test_sizes_that_the_problem_does_not_have_are_refused(sizes, says):
    with pytest.raises(HeadworkError, match=says):
        similar_problem(THREE_TOKENS, random.Random(0), sizes)


def test_queries_and_keys_from_the_same_embeddings_stay_as_many():
    near = similar_problem(LIKE["embeddings"], random.Random(0), {"Tq": 5})
    assert near.Tk == 5
    with pytest.raises(HeadworkError, match="no size 'Tk'"):
        similar_problem(LIKE["embeddings"], random.Random(0), {"Tk": 5})


# --- telling two apart ----------------------------------------------------------------------------

APART = [m for m in MISTAKES if m.parameter is None]


@settings(max_examples=25)
@given(st.sampled_from(APART), st.sampled_from(APART), st.sampled_from(["scaled", "weights", "output"]))
def test_a_separating_problem_separates(a, b, step):
    near = separating_problem(THREE_TOKENS, (a,), (b,), step)
    if near is not None:
        name = "attention" if step == "weights" else step
        right, one, other = (run_wrong(near, made)[name] for made in ((), (a,), (b,)))
        for x, y in ((right, one), (right, other), (one, other)):
            assert np.abs(x - y).max() > 2 * HALF_UNIT
    elif a is not b and step == "scaled" and all(can_be_made(p, m) for p in [THREE_TOKENS] for m in (a, b)):
        one, other = (run_wrong(THREE_TOKENS, (m,))["scaled"] for m in (a, b))
        assert np.allclose(one, other)


def test_two_rules_that_are_one_are_never_apart():
    # (softmax(S)/√d_k) V = (softmax(S) V)/√d_k
    a, b = named("scale-after-softmax", "scale-output")
    assert separating_problem(THREE_TOKENS, (a,), (b,), "output") is None
    assert separating_problem(THREE_TOKENS, (a,), (b,), "weights") is not None


def test_far_problems_reach_a_thousand_times_as_far():
    assert max(float(np.abs(near.query).max()) for near in far_problems(THREE_TOKENS)) > 500


# --- fresh numbers --------------------------------------------------------------------------------


def test_fresh_numbers_show_and_separate_what_they_are_asked_to():
    wanted = named("scale-missing", "scale-by-key-count", "scale-by-query-count", "scale-d-k-instead-of-sqrt")
    fresh = fresh_problem(THREE_TOKENS, 5, wanted, {"Tk": 5})
    assert fresh.is_proven
    assert fresh.shows == wanted
    outputs = [run_wrong(fresh.problem, made)["output"] for made in ((), *((m,) for m in wanted))]
    for i, one in enumerate(outputs):
        for other in outputs[:i]:
            assert np.abs(one - other).max() > 2 * HALF_UNIT
    assert (fresh.problem.Tq, fresh.problem.Tk, fresh.problem.D) == (3, 5, 4)
    assert (fresh.problem.query == np.round(fresh.problem.query)).all()  # the given ones are whole numbers


def test_the_typical_mistakes_are_meant_where_none_are_named():
    fresh = fresh_problem(THREE_TOKENS)
    assert {m.id for m in fresh.shows} >= {"scale-missing", "scale-d-k-instead-of-sqrt", "scale-by-key-count"}
    assert all(mistake.typical and not mistake.convention for mistake in fresh.shows)


def test_what_no_numbers_can_do_is_said():
    fresh = fresh_problem(THREE_TOKENS, 0, named("scale-after-softmax", "scale-output"))
    assert not fresh.is_proven
    (pair,) = fresh.together
    assert {pair.a.id, pair.b.id} == {"scale-after-softmax", "scale-output"}
    assert (pair.ever, pair.other_step) == (False, "weights")
    assert fresh.draws == 64
    hidden = fresh_problem(THREE_TOKENS, 0, named("scale-by-key-count"), {"Tk": 4})  # √Tk = √d_k
    assert [mistake.id for mistake in hidden.hides] == ["scale-by-key-count"]


def test_the_same_seed_gives_the_same_numbers_in_another_process():
    script = (
        "from headwork import Problem; from headwork.diagnosis.separating import fresh_problem;"
        "from headwork.interfaces.json_text import json_text;"
        "given = Problem(query=[[1, 2]], key=[[1, 0], [0, 3]], value=[[1], [2]]);"
        "print(json_text(fresh_problem(given, 11).problem))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    here = fresh_problem(Problem(query=[[1, 2]], key=[[1, 0], [0, 3]], value=[[1], [2]]), 11)
    assert json.loads(run.stdout) == json.loads(json_text(here.problem))


def test_other_seeds_give_other_numbers():
    texts = {
        json_text(fresh_problem(THREE_TOKENS, seed, named("scale-missing")).problem) for seed in range(6)
    }
    assert len(texts) == 6


def test_numbers_come_from_random_alone():
    # 0.5 of the range −2, −1, 1, 2 (no zeros) is its third number, by hand
    class Half(random.Random):
        def random(self):
            return 0.5

    assert NumberKind(0, 2, 0.0).draw(Half(), (1, 1)).tolist() == [[1.0]]


def test_the_best_of_all_draws_is_taken():
    # one pair can never be apart, so all 64 are looked at; to one decimal most leave other pairs together too
    wanted = named("scale-missing", "scale-d-k-instead-of-sqrt", "scale-after-softmax", "scale-output")
    fresh = fresh_problem(THREE_TOKENS, 0, wanted, digits=1)
    assert fresh.shows == wanted
    assert [{pair.a.id, pair.b.id} for pair in fresh.together] == [{"scale-after-softmax", "scale-output"}]
    draws = [similar_problem(THREE_TOKENS, dice) for dice in [random.Random(0)] for _ in range(64)]
    assert any((fresh.problem.query == near.query).all() for near in draws)
