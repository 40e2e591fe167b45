"""The battery: its cases are what they say, and stay inside what a function supports."""

import numpy as np
import pytest

from headwork import trace
from headwork.arrays import DTYPES
from headwork.conformance.battery import ALIGNMENTS, as_packed, draw_battery
from headwork.conformance.entries import ENTRIES
from headwork.conformance.features import FEATURES, feature_named
from headwork.conformance.sizes import read_sizes
from headwork.errors import UnknownNameError
from headwork.mechanism.masks import allowed_keys

IDS = [feature.id for feature in FEATURES]


def everything(feature):
    return True


def battery(dtype="float64", supports=everything, **options):
    return draw_battery(supports, (dtype,), **options)


# ---------------------------------------------------------------- the list


def test_every_entry_has_an_id_of_its_own_a_known_feature_and_a_reason():
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert feature_named(entry.feature).id == entry.feature
        assert entry.id.startswith(f"{entry.feature}/")
        assert len(entry.why) > 10, entry.id


def test_every_feature_has_cases():
    cases = draw_battery(everything, ("float32", "float64", "float16", "bfloat16"))
    assert {case.feature for case in cases} == set(IDS)


def test_an_unknown_feature_is_an_error_that_names_all():
    with pytest.raises(UnknownNameError, match="grouped-heads"):
        feature_named("gqa")


ASKED = [
    # what the issue of a check asks of the inputs, whether a case has it
    ("Tq ≠ Tk, fewer", lambda p: p.Tq < p.Tk),
    ("Tq ≠ Tk, more", lambda p: p.Tq > p.Tk),
    ("Dv ≠ D", lambda p: p.Dv != p.D),
    ("one token", lambda p: p.Tq == p.Tk == 1),
    ("one key", lambda p: p.Tk == 1 < p.Tq),
    ("around 16", lambda p: p.Tk in (15, 16, 17)),
    ("around 64", lambda p: p.Tk == 65),
    ("around 128, on both sides", lambda p: p.Tq == p.Tk == 129),
    ("long rows: from 2048 on, 1 more changes nothing in float16", lambda p: p.Tk > 2048),
    ("overflow: e^s beyond float64", lambda p: np.nanmax(scaled(p)) > 710),
    ("underflow: a row of e^s = 0", lambda p: np.nanmin(np.nanmax(scaled(p), axis=-1)) < -746),
    ("several samples", lambda p: p.batch[0] > 1),
    ("shared heads", lambda p: 1 < p.Hkv < p.H),
    ("one head for all", lambda p: p.Hkv == 1 < p.H),
]


def scaled(problem):
    return trace(problem).scaled


@pytest.mark.parametrize(("what", "has"), ASKED)
def test_what_a_check_must_try_is_there(what, has):
    assert any(has(case.problem) for case in battery() if case.step == "output"), what


# ---------------------------------------------------------------- the numbers


def test_numbers_are_those_of_the_seed_on_every_machine():
    """RandomState(0) begins with 0.5488…, 0.7151…, 0.6027…, as NumPy's documentation of seeds shows."""
    case = next(case for case in battery() if case.id == "basic/sizes-differ")
    first = case.problem.query[0, 0, 0, :3]
    np.testing.assert_allclose(
        first, 1.5 * (2 * np.array([0.5488135, 0.71518937, 0.60276338]) - 1), atol=1e-7
    )


def test_the_same_battery_is_drawn_every_time():
    assert [case.problem for case in battery()] == [
        case.problem for case in battery()
    ]  # kept, not drawn anew


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_is_one_that_the_dtype_holds(dtype):
    """A mask, a sink or a slope that had to be rounded for the function would be another problem."""
    for case in battery(dtype):
        assert case.problem.dtype.name == dtype
        given = [*(case.problem.mask or ()), case.problem.alibi, case.problem.sink]
        for array in (array for array in given if array is not None and array.dtype != bool):
            np.testing.assert_array_equal(array.astype(DTYPES[dtype]).astype(np.float64), array, case.id)


def test_float16_holds_every_score_before_it_is_scaled():
    for case in battery("float16"):
        assert np.nanmax(np.abs(trace(case.problem).scores)) < 65504, case.id


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_no_output_could_be_taken_for_a_table_of_short_decimals(dtype):
    """Such outputs are judged at their decimals, which is less exact than an array's arithmetic."""
    for case in (case for case in battery(dtype) if case.step == "output" and not case.lenient):
        output = trace(case.problem).output.astype(np.float64)
        assert (np.abs(output - np.round(output, 6)) > 0).any(), case.id


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_rows_that_see_nothing_and_odd_numbers_are_left_to_robustness(alignment):
    for case in (case for case in battery(alignment=alignment) if not case.lenient):
        allowed = np.broadcast_to(allowed_keys(case.problem), case.problem.matrix_shape)
        assert allowed.any(axis=-1).all() or case.problem.sink is not None, case.id
        assert all(np.isfinite(getattr(case.problem, name)).all() for name in ("query", "key", "value"))


# ---------------------------------------------------------------- inside what is supported


@pytest.mark.parametrize("missing", IDS)
def test_no_case_asks_for_a_feature_that_is_not_there(missing):
    cases = draw_battery(lambda feature: feature != missing, ("float32", "float16"))
    assert cases or missing == "basic"
    assert not any(missing in case.needs for case in cases)


OPTIONS = {"scale", "softcap", "window", "lengths", "sink", "alibi"}


def test_what_a_problem_asks_for_is_among_the_needs():
    for case in battery():
        problem = case.problem
        asked = {name for name in OPTIONS if getattr(problem, name) is not None}
        asked |= {"causal"} if problem.causal else set()
        asked |= {"grouped-heads"} if problem.Hkv != problem.H else set()
        asked |= {"mask-bool" if mask.dtype == bool else "mask-float" for mask in problem.mask or ()}
        assert asked <= case.needs, case.id


def test_a_function_with_nothing_but_query_key_and_value_gets_the_basic_cases():
    assert {case.feature for case in battery(supports=lambda feature: feature == "basic")} == {"basic"}


def test_upper_left_puts_the_first_query_at_the_first_key():
    placed = [
        case for case in battery(alignment="upper_left") if case.problem.causal and "offset" not in case.needs
    ]
    assert placed
    assert all((case.problem.offset == 0).all() for case in placed)


RESTRICTED = ["T=64,128; D=64", "D%8", "Tq=Tk", "B=1; H=1", "B=1; H=1; Tq=Tk; D%16; Dv=D", "T=16-32; D=8,16"]


@pytest.mark.parametrize("text", RESTRICTED)
def test_a_restricted_battery_stays_inside_the_sizes(text):
    sizes = read_sizes(text)
    cases = battery("float32", sizes=sizes)
    for case in cases:
        problem = case.problem
        letters = ("H", "Hkv", "Tq", "Tk", "D", "Dv")
        names = {"B": problem.batch[0], **{letter: getattr(problem, letter) for letter in letters}}
        assert names == case.sizes
        assert sizes.take(names)
    assert {case.feature for case in cases} >= {"basic", "mask-bool", "causal", "window"}


def test_cases_that_fewer_sizes_make_the_same_are_asked_once():
    sizes = read_sizes("B=1; H=1; T=7; D=8")
    plain = [case for case in battery(sizes=sizes) if case.feature == "basic"]
    assert len({case.problem.query.tobytes() for case in plain}) == len(plain) < 8


def test_packed_heads_are_the_same_problem():
    for case in (
        case for case in battery() if case.feature in ("basic", "grouped-heads", "mask-bool", "sink")
    ):
        packed, output = trace(as_packed(case).problem).output, trace(case.problem).output
        B, H, Tq, Dv = output.shape
        np.testing.assert_array_equal(packed, output.swapaxes(1, 2).reshape(B, Tq, H * Dv))
