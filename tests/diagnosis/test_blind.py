"""Blind spots: what is said to be hidden is hidden, and what is said to show is refused by the marker."""

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from headwork import HeadworkError, Problem, blindspots, mark, trace
from headwork.diagnosis.distinct import alike, differs, numbers_of
from headwork.interfaces.json_text import json_text
from headwork.mechanism.fields import in_kind
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.recipe import Recipe
from headwork.mistakes.scale import MISTAKES as SCALE_MISTAKES
from headwork.mistakes.wrong_run import run_wrong

QUERY = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]]
KEY = [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]]
THREE_TOKENS = {"query": QUERY, "key": KEY, "value": [[1, 0], [0, 1], [1, 1]]}
CAPSTONE = {"query": [[2, 0]], "key": [[2, 0], [0, 2]], "value": [[1, 0], [0, 1]]}
SCALE = {"scale-missing", "scale-d-k-instead-of-sqrt", "scale-inverted", "scale-zero", "scale-fourth-root"}


@cache
def of_three_tokens():
    return blindspots(Problem(**THREE_TOKENS))


def ids(blind):
    return {each.mistake.id for each in blind}


def reason(found, id):
    return next(each.reason for each in found.invisible if each.mistake.id == id)


def drawn(seed=0, **recipe):
    return Recipe(**recipe).draw(seed)


# name, problem, what it cannot show, source
HIDDEN = [
    ("d_k = 4, d_v = 2", Problem(**THREE_TOKENS), {"scale-by-value-width-unrooted"}, "√4 = 2"),
    ("d_k = 4 is a square", Problem(**THREE_TOKENS), {"scale-whole-root"}, "⌊√4⌋ = √4"),
    ("Tk = d_k = d_v = 2", Problem(**CAPSTONE), {"scale-by-key-count", "scale-by-value-width"}, "√2 = √2"),
    ("square", drawn(Tq=4, Tk=4, D=4), {"scale-by-key-count", "scale-by-query-count"}, "√4 = √4"),
    (
        "equal keys",
        Problem(query=[[1, 2]], key=[[1, 1], [1, 1]], value=[[1], [2]]),
        SCALE,
        "all scores of a row are equal",
    ),
    ("one key", drawn(Tq=2, Tk=1), SCALE, "its weight is 1"),
    (
        "a bias of 0",
        drawn(E=3, D=2, fixed={"b_query": [0.0, 0.0]}),
        {"scale-before-projection-bias"},
        "0·√2 = 0",
    ),
]


@pytest.mark.parametrize(("name", "problem", "hidden", "source"), HIDDEN, ids=[case[0] for case in HIDDEN])
def test_what_cannot_show_is_named(name, problem, hidden, source):
    assert hidden <= ids(blindspots(problem).invisible)


def test_the_sizes_that_hide_it_are_given():
    found = of_three_tokens()
    assert "d_v = 2" in reason(found, "scale-by-value-width-unrooted")
    assert "√d_k = 2" in reason(found, "scale-by-value-width-unrooted")


def test_where_the_numbers_come_together_again_is_said():
    equal = Problem(query=[[1, 2]], key=[[1, 1], [1, 1]], value=[[1], [2]])
    says = reason(blindspots(equal), "scale-missing")
    assert "all scores of a row are equal" in says
    assert "changes the scaled scores and still gives the same output" in says


def test_a_difference_too_small_to_be_sure_of_is_hidden_with_its_size():
    # scores 0.002 and 0: weights 0.5 ± 0.0005 whatever the scale, by hand
    near = Problem(query=[[0.002, 0, 0, 0]], key=[[1, 0, 0, 0], [0, 0, 0, 0]], value=[[1, 0], [0, 1]])
    found = blindspots(near)
    assert "scale-missing" in ids(found.invisible)
    assert "too little to be sure at 3 decimals" in reason(found, "scale-missing")
    assert "scale-missing" not in ids(blindspots(near, digits=6).invisible)


# a, b, told apart where everything nearer than 1 is not sure, source
NUMBERS = [
    (1.2, 0.0, True, "farther than 1"),
    (0.8, 0.0, False, "nearer than 1"),
    (np.inf, 3.0, True, "a symbol against a number"),
    (np.nan, 3.0, True, "a symbol against a number"),
    (-np.inf, np.inf, True, "two symbols"),
    (-np.inf, -np.inf, False, "the same symbol"),
    (np.nan, np.nan, False, "the same symbol"),
]


@pytest.mark.parametrize(("a", "b", "apart", "source"), NUMBERS)
def test_numbers_are_told_apart_where_they_are_far_from_each_other(a, b, apart, source):
    assert bool(differs(np.array(a), np.array(b), np.array(1.0))) == apart
    rows = np.array([[0.0, 5.0], [a, 5.0]])
    assert alike(rows, np.array([[b, 5.0]]), np.array([1.0, 1.0]))[1, 0] == (not apart)


def test_sure_is_the_tolerance_of_marking_and_half_a_unit():
    # S/2 is exact here: half a unit of the third decimal is marked right, half may be lost in writing
    made = numbers_of(Problem(**THREE_TOKENS), "scaled", 3, ())
    assert np.allclose(made.sure, 0.001)


def test_what_the_marker_takes_for_right_is_not_shown():
    # exponentials count without the maximum subtracted; −10⁹ counts as −∞ where masked
    causal = Problem(**THREE_TOKENS, causal=True)
    names = ["softmax-without-max", "mask-fill-minus-1e9"]
    assert not blindspots(causal, "exponentials", mistakes=names[:1]).shown
    assert not blindspots(causal, "row_sum", mistakes=names[:1]).shown
    assert not blindspots(causal, "masked", mistakes=names[1:]).shown


def test_arithmetic_of_arrays_is_more_exact_than_three_decimals():
    near = Problem(query=[[0.002, 0, 0, 0]], key=[[1, 0, 0, 0], [0, 0, 0, 0]], value=[[1, 0], [0, 1]])
    assert blindspots(near, digits=None).shows("scale-missing")


def test_a_causal_mask_over_a_square_hides_where_the_queries_stand():
    # Tk − Tq = 0: upper left and lower right are the same, by definition
    found = blindspots(drawn(Tq=3, Tk=3, options={"causal": True}))
    wide = blindspots(drawn(Tq=2, Tk=4, options={"causal": True}))
    assert "causal-top-left-for-bottom-right" in ids(found.conventions)
    assert wide.shows("causal-top-left-for-bottom-right")


def test_mistakes_that_have_no_place_are_counted_elsewhere():
    found = of_three_tokens()
    assert "scale-given-ignored" in {mistake.id for mistake in found.elsewhere}  # no scale is given
    assert "scale-after-bias" in {mistake.id for mistake in found.elsewhere}  # no bias


def test_what_leads_nowhere_near_the_step_is_no_blind_spot_of_it():
    # without parts to merge, nothing follows from the logsumexp
    output, logsumexp = (blindspots(Problem(**THREE_TOKENS), step) for step in ("output", "logsumexp"))
    assert "logsumexp-of-mean" not in ids(output.invisible)
    assert logsumexp.shows("logsumexp-of-mean")


# --- what cannot be told apart --------------------------------------------------------------------


def groups(found):
    return [{mistake.id for mistake in group.mistakes} for group in found.alike]


def test_equal_sizes_cannot_be_told_apart_and_an_input_with_other_sizes_can():
    # Tk = Tq = 3: the same divisor
    found = of_three_tokens()
    group = next(
        g for g in found.alike if {"scale-by-key-count", "scale-by-query-count"} <= {m.id for m in g.mistakes}
    )
    assert group.apart is not None
    pairs = {frozenset((a.id, b.id)) for a, b in group.still}
    assert frozenset(("scale-by-key-count", "scale-by-query-count")) not in pairs
    assert group.apart.Tq != group.apart.Tk


def test_what_is_the_same_on_every_input_is_said_to_differ_at_another_step():
    # (softmax(S)/√d_k) V = (softmax(S) V)/√d_k, by algebra; the weights differ
    found = of_three_tokens()
    group = next(
        g for g in found.alike if {"scale-after-softmax", "scale-output"} <= {m.id for m in g.mistakes}
    )
    assert ("scale-after-softmax", "scale-output") in [(a.id, b.id) for a, b in group.still]
    alone = blindspots(Problem(**THREE_TOKENS), mistakes=["scale-after-softmax", "scale-output"])
    assert alone.alike[0].apart is None
    assert alone.alike[0].other_step == "weights"


def test_readings_of_one_record_are_always_the_same():
    found = of_three_tokens()
    assert any({"scale-d-k-instead-of-sqrt", "scale-twice"} <= set(always) for always in found.always)
    assert found.shows("scale-twice")


# --- inputs that can ------------------------------------------------------------------------------


def test_a_nearby_input_shows_what_it_is_said_to():
    found = of_three_tokens()
    assert found.nearby
    for near in found.nearby:
        assert near.shows
        again = blindspots(near.problem, mistakes=[mistake.id for mistake in near.shows])
        assert not again.invisible
    assert "scale-by-value-width-unrooted" in {m.id for near in found.nearby for m in near.shows}


# --- sets of problems -----------------------------------------------------------------------------


def test_a_set_shows_what_any_of_its_problems_shows():
    problems, names = [drawn(0), drawn(1, Tk=5), drawn(2, D=3, Dv=2)], [m.id for m in SCALE_MISTAKES]
    names.remove("scale-by-another-number")
    together = {mistake.id for mistake in blindspots(problems, mistakes=names).shown}
    each = [{mistake.id for mistake in blindspots(one, mistakes=names).shown} for one in problems]
    assert together == each[0] | each[1] | each[2]
    assert together > each[0]


def test_a_set_tells_apart_what_any_of_its_problems_tells_apart():
    names = ["scale-by-key-count", "scale-by-query-count"]
    alike, apart = drawn(0, Tq=3, Tk=3), drawn(0, Tq=3, Tk=6)
    assert groups(blindspots(alike, mistakes=names)) == [set(names)]
    assert groups(blindspots([alike, apart], mistakes=names)) == []


# --- laws -----------------------------------------------------------------------------------------

RECIPES = st.builds(
    dict,
    Tq=st.integers(1, 4),
    Tk=st.integers(1, 5),
    D=st.integers(1, 5),
    Dv=st.integers(1, 4),
    H=st.sampled_from([None, 1, 2]),
    spread=st.sampled_from([0.2, 1.5, 4.0]),
)


STEPS = ["scaled", "weights", "output"]
SINGLES = [mistake.id for mistake in CATALOGUE if mistake.parameter is None]
SOME = st.lists(st.sampled_from(SINGLES), min_size=20, max_size=20)


@settings(max_examples=30)
@given(RECIPES, st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.sampled_from(STEPS), SOME)
def test_what_shows_is_refused_by_the_marker_and_what_is_hidden_is_near(recipe, seed, digits, step, some):
    problem = drawn(seed, **recipe)
    found = blindspots(problem, step, digits, mistakes=some)
    right = trace(problem)[step]
    for mistake in found.shown:
        wrong = answer(problem, mistake, step)
        if wrong.shape == right.shape and np.isfinite(wrong).all():
            rows = wrong.reshape(-1, wrong.shape[-1])
            typed = "; ".join(" ".join(f"{x:.{digits}f}" for x in row) for row in rows)
            assert not mark(problem, {step: typed}, digits).is_right, mistake.id
    for blind in found.invisible:
        if blind.mistake.applies(problem):
            wrong = answer(problem, blind.mistake, step)
            assert wrong.shape != right.shape or np.abs(wrong - right).max() < 1e3 * 10.0**-digits


def answer(problem, mistake, step):
    """What somebody who makes the mistake writes at that step."""
    fields = run_wrong(problem, (mistake,))
    return in_kind(problem, step, fields["attention" if step == "weights" else step])


@settings(max_examples=20)
@given(RECIPES, st.integers(0, 10**6))
def test_every_mistake_is_shown_hidden_or_elsewhere_and_only_one_of_these(recipe, seed):
    found = blindspots(
        drawn(seed, **recipe), mistakes=["scale-missing", "scale-by-key-count", "scale-whole-root"]
    )
    every = [m.id for m in (*found.shown, *found.elsewhere)] + [*ids(found.invisible)]
    assert sorted(every) == ["scale-by-key-count", "scale-missing", "scale-whole-root"]


# --- two at once ----------------------------------------------------------------------------------


def test_two_mistakes_that_cancel_are_found():
    # s/ln d_k in base 2 of the softmax: s·ln 2/ln 4 = s/2 = s/√4, by hand, and only for d_k = 4
    names = ["scale-log-d-k", "softmax-base-two"]
    pairs = blindspots(Problem(**THREE_TOKENS), mistakes=names, pairs=True).pairs
    assert pairs is not None
    assert [{mistake.id for mistake in pair} for pair in pairs.cancel] == [set(names)]


def test_two_mistakes_that_look_like_one_are_found():
    # the scores times 0 are 0, and to the power of 0 every base gives 1
    names = ["scale-zero", "softmax-base-two"]
    pairs = blindspots(Problem(**THREE_TOKENS), mistakes=names, pairs=True).pairs
    assert pairs is not None
    assert [single.id for _, single in pairs.as_single] == ["scale-zero"]


def test_pairs_are_left_out_where_they_are_too_many(monkeypatch):
    monkeypatch.setattr("headwork.diagnosis.blind.MOST_ENTRIES", 10)
    found = blindspots(Problem(**THREE_TOKENS), pairs=True)
    assert found.pairs is None
    assert "pairs were not looked at" in found.notes[0]


# --- arrays ---------------------------------------------------------------------------------------


def test_large_problems_are_looked_at_in_slices(monkeypatch):
    problem = drawn(0, H=2, Tq=4, Tk=5)
    whole = blindspots(problem, digits=None)
    monkeypatch.setattr("headwork.diagnosis.distinct.MOST_ENTRIES", 200)
    sliced = blindspots(problem, digits=None)
    assert [m.id for m in sliced.shown] == [m.id for m in whole.shown]
    assert "evenly spread" in sliced.notes[0]


def test_fewer_bits_count_only_in_arithmetic_of_few_bits():
    narrow = {mistake.id for mistake in CATALOGUE if mistake.narrow}
    for dtype, digits in (("float64", None), ("float16", 3)):
        found = blindspots(drawn(0, options={"dtype": dtype}), digits=digits)
        assert not narrow & {m.id for m in (*found.shown, *found.elsewhere)}


# --- what is refused ------------------------------------------------------------------------------

REFUSED = [
    (lambda: blindspots([]), "at least one"),
    (
        lambda: blindspots(Problem(**THREE_TOKENS), step="outptu"),
        "no numbers called 'outptu'.*scores, scaled",
    ),
    (lambda: blindspots(Problem(**THREE_TOKENS), step="query"), "no numbers called 'query'"),
    (lambda: blindspots(Problem(**THREE_TOKENS), mistakes=["scale-mising"]), "scale-missing"),
]


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_what_cannot_be_asked_is_refused_in_words(call, says):
    with pytest.raises(HeadworkError, match=says):
        call()


def test_where_there_is_no_value_the_weights_are_looked_at():
    assert blindspots(Problem(given={"scaled": [[1, 2, 5]]})).step != "output"
    assert blindspots(Problem(query=QUERY, key=KEY), step=None).step in ("weights", "logsumexp")


def test_the_record_is_json():
    found = blindspots(Problem(**THREE_TOKENS), pairs=True)
    record = json.loads(json_text(found))
    assert set(record) >= {"shown", "invisible", "alike", "nearby", "pairs", "conventions", "notes"}
    assert record["invisible"][0].keys() == {"id", "title", "reason"}
