"""What people hand over as numbers, and what becomes of it."""

from array import array
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from headwork.arrays import as_array, as_floats, finite, plain, shown, whole, whole_array
from headwork.errors import NumberError, OptionError, ShapeError

READ = [
    # given                                        dtype       values
    (3, "int64", 3),
    ([1, 2], "int64", [1, 2]),
    ([1, 2.5], "float64", [1, 2.5]),
    ([[1], (2,)], "int64", [[1], [2]]),
    (range(3), "int64", [0, 1, 2]),
    ([True, False], "bool", [True, False]),
    ([], "float64", []),
    ([[], []], "float64", [[], []]),
    (["inf", " +Inf ", "NaN"], "float64", [np.inf, np.inf, np.nan]),
    (["-inf", "-Infinity", "−inf"], "float64", [-np.inf] * 3),
    ([Fraction(1, 4), 2**70], "float64", [0.25, 2.0**70]),
    ([np.float32(0.5), np.int8(3)], "float64", [0.5, 3]),
    ([np.array([1, 2]), np.array([3.5, 4])], "float64", [[1, 2], [3.5, 4]]),
    ([[np.array(1.0), np.array(2)]], "float64", [[1, 2]]),
    (np.array([[1, 2]], object), "int64", [[1, 2]]),
    (np.array(["1e999", "inf"])[1:], "float64", [np.inf]),
    (np.array([1, 2], np.float32), "float32", [1, 2]),
    (np.array([1, 2], np.uint8), "uint8", [1, 2]),
    (np.array([1, 2], ml_dtypes.bfloat16), "bfloat16", [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "dtype", "values"), READ, ids=[str(row[0])[:40] for row in READ])
def test_numbers_are_read_and_keep_their_kind(given, dtype, values):
    array = as_array("query", given)
    assert array.dtype.name == dtype
    np.testing.assert_array_equal(array.astype(float), values)


REFUSED = [
    ([1, [2]], ShapeError, "query is ragged: its part 1 has one number and its part 2 has 1 entry"),
    ([[[1, 2]], [[1], [2]]], ShapeError, r"its part 1 has shape \(1, 2\) and its part 2 has shape \(2, 1\)"),
    ([1, True], NumberError, "mixes true/false with numbers"),
    (["one"], NumberError, "query holds 'one'"),
    (["1"], NumberError, "query holds '1', which is not a number"),  # digits as text are for answers
    ([Decimal("NaN")], NumberError, "query holds Decimal"),
    ([b"1"], NumberError, "query holds b'1'"),
    ({1, 2}, NumberError, "query holds {1, 2}"),
    (np.zeros(1, "V4"), NumberError, "query has dtype"),
]


@pytest.mark.parametrize(("given", "error", "message"), REFUSED)
def test_what_is_no_array_of_numbers_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        as_array("query", given)


def test_an_object_array_that_holds_itself_is_refused():
    array = np.empty(1, object)
    array[0] = array
    with pytest.raises(ShapeError, match="nested over 8"):
        as_array("query", array)


def test_a_foreign_array_that_cannot_be_read_keeps_its_own_words():
    class OnAnotherMachine:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("it is on the moon")

    with pytest.raises(NumberError, match=r"OnAnotherMachine that NumPy cannot read \(it is on the moon\)"):
        as_array("query", OnAnotherMachine())


@pytest.mark.parametrize(
    "buffer",
    [memoryview(np.array([[1.0, 2.0], [3.0, 4.0]])), [array("d", [1, 2]), memoryview(array("d", [3, 4]))]],
    ids=["a matrix", "a list of rows"],
)
def test_a_buffer_is_read(buffer):
    np.testing.assert_array_equal(as_floats("x", buffer), [[1.0, 2.0], [3.0, 4.0]])


def test_dlpack_is_enough():
    class Capsule:
        def __init__(self):
            self.array = np.array([1.0, 2.0])

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert as_array("query", Capsule()).tolist() == [1, 2]


@given(st.lists(st.floats(), max_size=5))
def test_a_list_of_floats_is_that_array(numbers):
    np.testing.assert_array_equal(as_floats("query", numbers), np.array(numbers, float))


def test_single_numbers():
    assert finite("scale", 2) == 2.0
    assert whole("heads", 3.0, least=1) == 3
    assert whole_array("lengths", np.array([1, 2], np.uint8)).dtype == np.int64
    with pytest.raises(OptionError, match="softcap is 0; a finite number above 0 was expected"):
        finite("softcap", 0, above_zero=True)


PLAIN = [
    (np.array(True), True),
    (np.float32(2), 2.0),
    (np.array("half"), "half"),
    (np.array([1, 2]), [1, 2]),
    ("a", "a"),
]


@pytest.mark.parametrize(("value", "right"), PLAIN)
def test_options_from_npz_are_pythons_own(value, right):
    assert plain(value) == right
    assert type(plain(value)) is type(right)


class Unshowable:
    def __repr__(self):
        raise RuntimeError


def test_showing_never_fails_and_stays_short():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (10**5000, deep, Unshowable(), "x" * 1000, list(range(1000)), np.ones((50, 50)), {1: deep}):
        assert len(shown(value)) <= 60
        assert "\n" not in shown(value)
    assert shown([1, 2]) == "[1, 2]"
