"""The door: what a Problem accepts, and what it says about everything else."""

import contextlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from headwork import HeadworkError, Problem, trace
from headwork.errors import MaskError, NumberError, OptionError, ShapeError, TooLargeError
from headwork.mechanism.tracing import numbers_kept
from headwork.problem import field_names, published_slopes

Q = [[1.0, 0.0], [0.0, 1.0]]  # two queries, D = 2
K = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]  # three keys
V = [[1.0], [2.0], [3.0]]
QKV = {"query": Q, "key": K, "value": V}
HEADS = {"query": np.ones((2, 4, 5, 8)), "key": np.ones((2, 2, 7, 8)), "value": np.ones((2, 2, 7, 3))}
X = {"x": np.ones((3, 4)), "w_query": np.ones((4, 6)), "w_key": np.ones((4, 6)), "w_value": np.ones((4, 6))}
PACKED = {"query": np.ones((3, 6)), "key": np.ones((3, 6)), "value": np.ones((3, 6)), "heads": 2}
SCORES = {"given": {"scores": [[1.0, 2.0]]}, "head_dim": 4}
DEEP: list[Any] = []
DEEP.append(DEEP)
FAR_DEEP: list[Any] = [0]
for _ in range(100_000):
    FAR_DEEP = [FAR_DEEP]


class Odd:
    """Something whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError


# Each is a problem with one thing wrong, the error it gives, and what the message must say.
ERRORS = [
    # --- shapes
    ({**QKV, "query": [[1, 0, 0]]}, ShapeError, "query has 3 entries and one row of key has 2"),
    ({**QKV, "value": [[1.0], [2.0]]}, ShapeError, "value has 2 rows and there are 3 keys"),
    ({**QKV, "query": [1.0, 0.0]}, ShapeError, r"query has shape \(2,\); a matrix"),
    ({**QKV, "key": [1.0, 0.0]}, ShapeError, r"key has shape \(2,\).*no head axis"),
    ({**QKV, "key": [K]}, ShapeError, r"key has shape \(1, 3, 2\).*no head axis"),
    ({**QKV, "query": 5}, ShapeError, r"query has shape \(\)"),
    ({**QKV, "query": []}, ShapeError, r"query has shape \(0,\)"),
    ({**QKV, "query": [[1, 0], [0]]}, ShapeError, "ragged: its part 1 has 2 entries and its part 2 has 1"),
    ({**QKV, "query": [[1, 0], 3]}, ShapeError, "its part 2 has one number"),
    ({**QKV, "query": [[], []]}, ShapeError, "one row of query has 0 entries"),
    ({"query": [[]], "key": [[]], "value": [[1.0]]}, ShapeError, "D = 0.*d_k must be at least 1"),
    ({"query": np.ones((2, 3)), "key": np.ones((0, 3)), "value": np.ones((0, 3))}, ShapeError, "Tk = 0"),
    ({**QKV, "value": [[], [], []]}, ShapeError, "Dv = 0"),
    ({**HEADS, "query": np.ones((2, 0, 5, 8))}, ShapeError, "H = 0"),
    ({**HEADS, "key": np.ones((2, 0, 7, 8)), "value": np.ones((2, 0, 7, 3))}, ShapeError, "Hkv = 0"),
    ({**HEADS, "key": np.ones((3, 2, 7, 8))}, ShapeError, r"query has batch axes \(2,\) and key has \(3,\)"),
    ({**HEADS, "value": np.ones((2, 4, 7, 3))}, ShapeError, r"value has batch axes \(2,\) and 4 heads"),
    ({**HEADS, "key": np.ones((2, 3, 7, 8)), "value": None}, ShapeError, "4 query heads.*3 key"),
    ({**HEADS, "key": np.ones((7, 8))}, ShapeError, r"key has shape \(7, 8\)"),
    ({**X, "w_query": np.ones((5, 6))}, ShapeError, r"x has shape \(3, 4\) and w_query has shape \(5, 6\)"),
    ({**X, "w_query": np.ones(4)}, ShapeError, r"w_query has shape \(4,\)"),
    ({**X, "w_value": 3.0}, ShapeError, r"w_value has shape \(\)"),
    ({**X, "x": [1.0]}, ShapeError, r"x has shape \(1,\)"),
    ({**X, "x": [1.0], "heads": 2}, ShapeError, r"x has shape \(1,\)"),
    ({**X, "b_query": np.ones(5)}, ShapeError, r"b_query has shape \(5,\); \(6,\) was expected"),
    ({**X, "w_value": None, "b_value": np.ones(6)}, ShapeError, "b_value.*no w_value"),
    ({**X, "w_output": np.ones((5, 2))}, ShapeError, r"w_output has shape \(5, 2\); \(6, Eout\)"),
    ({**X, "w_output": np.ones(6)}, ShapeError, r"w_output has shape \(6,\)"),
    ({"given": {"scaled": [1.0, 2.0]}}, ShapeError, r"given scaled has shape \(2,\)"),
    ({"given": {"scaled": 3.0}}, ShapeError, r"given scaled has shape \(\)"),
    ({"given": {"scaled": [[1.0, 2.0]]}, "value": V}, ShapeError, "value has 3 rows and there are 2 keys"),
    ({"given": {"scaled": np.ones((3, 2, 2))}, "heads": 2}, ShapeError, "3 heads, but heads = 2"),
    ({**PACKED, "heads": 4}, ShapeError, "query is 6 wide.*heads = 4"),
    ({**PACKED, "kv_heads": 4}, ShapeError, "key is 6 wide.*kv_heads = 4"),
    ({**PACKED, "query": np.ones(6)}, ShapeError, r"query has shape \(6,\); packed"),
    ({**QKV, "query": DEEP}, ShapeError, "query is nested over 8 lists deep"),
    ({**QKV, "query": FAR_DEEP}, ShapeError, "query is nested over 8 lists deep"),
    # --- numbers
    ({**QKV, "query": "abc"}, NumberError, "query holds 'abc'"),
    ({**QKV, "query": [["a", 1]]}, NumberError, "query holds 'a'.*\"-inf\""),
    ({**QKV, "query": [[None, 1]]}, NumberError, "query holds None"),
    ({**QKV, "query": {"a": 1}}, NumberError, "query holds {'a': 1}"),
    ({**QKV, "query": [[{}, 1]]}, NumberError, "query holds {}"),
    ({**QKV, "query": [[True, False]]}, NumberError, "query holds True and False"),
    ({**QKV, "query": [[True, 1.0]]}, NumberError, "query mixes true/false with numbers"),
    ({**QKV, "query": [[1j, 0]]}, NumberError, "query holds 1j"),
    ({**QKV, "query": np.ones((2, 2), complex)}, NumberError, "query holds complex numbers"),
    ({**QKV, "query": np.array([["a", "b"]])}, NumberError, "query holds 'a'"),
    ({**QKV, "query": np.array([[b"a"]])}, NumberError, r"query has dtype \|S1"),
    ({**QKV, "query": np.array([["2020-01-01"]], dtype="M8[D]")}, NumberError, "query has dtype datetime64"),
    ({**QKV, "query": np.array([[object()]])}, NumberError, "query holds <object"),
    ({**QKV, "query": [[10**400, 0]]}, NumberError, "query holds 1000.*is too large for float64"),
    ({**QKV, "query": [[10**5000, 0]]}, NumberError, "query holds a value of type int, which is too large"),
    ({**QKV, "query": [[Odd(), 0]]}, NumberError, "query holds (a|<)Odd"),
    ({"given": {"scaled": None}}, NumberError, "given scaled holds None"),
    # --- which fields
    ({"query": Q}, OptionError, "the problem has no key"),
    ({}, OptionError, "the problem has no query and no key"),
    ({"x": X["x"]}, OptionError, "no w_query and no w_key"),
    ({**QKV, "querry": Q}, OptionError, "no field 'querry'. Did you mean 'query'?"),
    ({**QKV, "zzz": 1}, OptionError, "no field 'zzz'. The fields are: query, key"),
    ({**QKV, 3: 1}, OptionError, "no field 3"),
    ({**QKV, "x": X["x"]}, OptionError, "no w_query and no w_key"),
    ({**QKV, **X}, OptionError, "query would be ignored: the problem starts from x"),
    ({**QKV, "w_query": np.ones((2, 2))}, OptionError, "w_query would be ignored"),
    ({**QKV, "x_key": Q}, OptionError, "x_key would be ignored"),
    ({**QKV, "w_output": np.ones((1, 2)), "value": None}, OptionError, "there is no value to blend"),
    # --- given
    ({"given": {"output": [[1]]}}, OptionError, "one of scores, scaled, masked, weights"),
    ({"given": {}}, OptionError, "given names one step"),
    ({"given": {"scores": [[1]], "weights": [[1]]}}, OptionError, "given names one step"),
    ({"given": "scores"}, OptionError, "given names one step"),
    ({"given": [[1]]}, OptionError, "given names one step"),
    ({"given": {3: [[1]]}}, OptionError, "given names one step"),
    ({"given": {("scores",): [[1]]}}, OptionError, "given names one step"),
    ({"given": {"scores": [[1.0]]}}, OptionError, "Add head_dim .d_k., or a scale"),
    ({"given": {"scaled": [[1.0]]}, "scale": 2}, OptionError, "scale would be ignored.*given scaled"),
    ({"given": {"masked": [[1.0]]}, "causal": True}, OptionError, "causal would be ignored"),
    ({"given": {"masked": [[1.0]]}, "mask": [[True]]}, OptionError, "mask would be ignored"),
    ({"given": {"weights": [[1.0]]}, "sink": 0}, OptionError, "sink would be ignored"),
    ({"given": {"weights": [[1.0]]}, "chunks": [1]}, OptionError, "chunks would be ignored"),
    ({**SCORES, "query": Q}, OptionError, "query would be ignored"),
    ({**SCORES, "rope": True}, OptionError, "rope would be ignored"),
    ({**SCORES, "x": X["x"]}, OptionError, "x would be ignored"),
    # --- heads
    ({**PACKED, "heads": 0}, OptionError, "heads is 0; it must be at least 1"),
    ({**PACKED, "heads": -2}, OptionError, "heads is -2"),
    ({**PACKED, "heads": 1.5}, OptionError, "heads is 1.5; whole numbers"),
    ({**PACKED, "heads": [2, 2]}, OptionError, r"heads is \[2, 2\]; one whole number"),
    ({**PACKED, "heads": True}, NumberError, "heads holds True"),
    ({**PACKED, "heads": "two"}, NumberError, "heads holds 'two'"),
    ({**PACKED, "heads": 10**30}, OptionError, "heads is 1000"),
    ({**PACKED, "heads": float("nan")}, OptionError, "heads is nan"),
    ({**QKV, "kv_heads": 2}, OptionError, "kv_heads is given without heads"),
    ({**QKV, "head_dim": 4}, OptionError, "head_dim = 4, but query and key are 2 wide"),
    ({**PACKED, "heads": 3, "kv_heads": 2}, ShapeError, "query has 2 entries and one row of key has 3"),
    # --- numbers among the options
    ({**QKV, "scale": float("nan")}, OptionError, "scale is nan; one finite number"),
    ({**QKV, "scale": "inf"}, OptionError, "scale is 'inf'"),
    ({**QKV, "scale": [1.0]}, OptionError, r"scale is \[1.0\]"),
    ({**QKV, "scale": "a"}, NumberError, "scale holds 'a'"),
    ({**QKV, "scale": True}, NumberError, "scale holds True"),
    ({**QKV, "scale": []}, OptionError, r"scale is \[\]"),
    ({**QKV, "softcap": 0}, OptionError, "softcap is 0; a finite number above 0"),
    ({**QKV, "softcap": -1.0}, OptionError, "softcap is -1.0"),
    ({**QKV, "softcap": "a"}, NumberError, "softcap holds 'a'"),
    ({**QKV, "alibi": [1.0, 2.0]}, ShapeError, r"alibi has shape \(2,\); one slope"),
    ({**QKV, "alibi": float("inf")}, NumberError, "alibi holds inf; a finite slope"),
    ({**QKV, "alibi": "a"}, NumberError, "alibi holds 'a'"),
    ({**QKV, "sink": float("nan")}, NumberError, "sink holds nan"),
    ({**QKV, "sink": float("inf")}, NumberError, "sink holds inf"),
    ({**QKV, "sink": [[0.0]]}, ShapeError, r"sink has shape \(1, 1\)"),
    ({**QKV, "sink": False}, NumberError, "sink holds True and False"),
    ({**QKV, "rope": {"theta": 3}}, OptionError, 'rope is {\'theta\': 3}; true or {"base"'),
    ({**QKV, "rope": [1]}, OptionError, r"rope is \[1\]"),
    ({**QKV, "rope": "half"}, OptionError, "rope is 'half'"),
    ({**QKV, "rope": {"base": 0}}, OptionError, "rope base is 0"),
    ({**QKV, "rope": {"base": [1]}}, OptionError, r"rope base is \[1\]"),
    ({**QKV, "rope": {"pairing": "odd"}}, OptionError, "rope pairing is 'odd'.*half, interleaved"),
    ({**QKV, "rope": {"pairing": ["half"]}}, OptionError, "rope pairing is"),
    ({**QKV, "rope": {"pairing": np.array(["half", "half"])}}, OptionError, "rope pairing is"),
    ({**QKV, "rope": {"dim": 4}}, ShapeError, "even and at most D = 2; it is 4"),
    ({**QKV, "rope": {"dim": 1}}, OptionError, "rope dim is 1; it must be at least 2"),
    ({"query": np.ones((1, 3)), "key": np.ones((1, 3)), "rope": True}, ShapeError, "at most D = 3; it is 3"),
    ({**QKV, "dtype": "float8"}, OptionError, "dtype is 'float8'; it must be one of float64"),
    ({**QKV, "dtype": {"a": 1}}, OptionError, "dtype is {'a': 1}"),
    ({**QKV, "dtype": np.int64}, OptionError, "dtype is <class 'numpy.int64'>"),
    ({**QKV, "dtype": FAR_DEEP}, OptionError, "dtype is"),
    ({**QKV, "dtype": 10**5000}, OptionError, "dtype is a value of type int"),
    # --- where queries stand
    ({**QKV, "causal": "left"}, OptionError, "causal is 'left'; true, false, \"upper_left\""),
    ({**QKV, "causal": [True]}, OptionError, r"causal is \[True\]"),
    ({**QKV, "causal": np.array([True, False])}, OptionError, r"causal is \[True, False\]"),
    ({**QKV, "causal": 1}, OptionError, "causal is 1"),
    ({**QKV, "causal": "upper_left", "offset": 1}, OptionError, 'causal="upper_left" says where'),
    ({**QKV, "offset": 0.5}, OptionError, "offset is 0.5; whole numbers"),
    ({**QKV, "offset": float("nan")}, OptionError, "offset is nan"),
    ({**QKV, "offset": 2**53}, OptionError, "offset is 9007199254740992"),
    ({**QKV, "offset": [1, 2]}, ShapeError, r"offset has shape \(2,\); one whole number was expected"),
    ({**HEADS, "offset": [1, 2, 3]}, ShapeError, r"one for each batch element \(shape \(2,\)\)"),
    ({**QKV, "offset": True}, NumberError, "offset holds True"),
    ({**HEADS, "lengths": [3, 8]}, OptionError, "lengths holds 8, more than there are keys: Tk = 7"),
    ({**HEADS, "lengths": [3, -1]}, OptionError, "lengths is .3, -1.; it must be at least 0"),
    ({**HEADS, "lengths": [[3, 1]]}, ShapeError, r"lengths has shape \(1, 2\)"),
    ({**QKV, "window": 2}, OptionError, "window is 2; a pair"),
    ({**QKV, "window": "ab"}, OptionError, "window is 'ab'; a pair"),
    ({**QKV, "window": [1]}, OptionError, r"window is \[1\]; a pair"),
    ({**QKV, "window": [-1, 0]}, OptionError, r"window \(null: no bound\) is -1; it must be at least 0"),
    ({**QKV, "window": [1, 0.5]}, OptionError, r"window .* is 0.5; whole numbers"),
    ({**QKV, "window": [[1, 2], [3, 4]]}, OptionError, r"window .* is \[1, 2\]; one whole number"),
    ({**QKV, "window": ["a", None]}, NumberError, "window holds 'a'"),
    ({**QKV, "chunks": [1, 1]}, OptionError, "chunks are .1, 1.*Tk = 3"),
    ({**QKV, "chunks": 3}, OptionError, "chunks are 3"),
    ({**QKV, "chunks": []}, OptionError, r"chunks are \[\]"),
    ({**QKV, "chunks": [0, 3]}, OptionError, "chunks is .0, 3.; it must be at least 1"),
    ({**QKV, "chunks": ["a"]}, NumberError, "chunks holds 'a'"),
    # --- masks
    (
        {**HEADS, "mask": np.ones((2, 7), bool)},
        MaskError,
        r"mask has shape \(2, 7\); it must broadcast to \(B, H, Tq, Tk\) = \(2, 4, 5, 7\), "
        r"and its 2 meets Tq = 5. A mask per batch and key is mask\[:, None, None, :\].",
    ),
    ({**HEADS, "mask": np.ones((3, 1, 1, 7), bool)}, MaskError, r"its 3 meets B = 2\.$"),
    ({**HEADS, "mask": np.ones((1, 2, 4, 5, 7), bool)}, MaskError, "it has 5 axes, which is more"),
    ({**QKV, "mask": [[True, False]]}, MaskError, "its 2 meets Tk = 3"),
    ({**QKV, "mask": []}, MaskError, "its 0 meets Tk = 3"),
    ({**QKV, "mask": [[1, 0, 1], [1, 1, 1]]}, MaskError, "whole numbers, such as 1.*true = may attend"),
    ({**QKV, "mask": [[0, 0, 0], [0, 0, 0]]}, MaskError, "mask holds whole numbers, such as 0"),
    ({**QKV, "mask": np.ones((2, 3), np.int8)}, MaskError, "mask holds whole numbers"),
    ({**QKV, "mask": [[0.0, "nan", 0.0]]}, MaskError, "mask holds NaN or .inf"),
    ({**QKV, "mask": [[0.0, "inf", 0.0]]}, MaskError, "mask holds NaN or .inf"),
    ({**QKV, "mask": [[True, 0.0, False]]}, NumberError, "mask mixes true/false"),
    ({**QKV, "mask": "causal"}, NumberError, "mask holds 'causal'"),
    ({**QKV, "mask": {"mask": [[True]]}}, NumberError, "mask holds {'mask'"),
    ({**QKV, "mask": [{"mask": [[True]]}, [[True]]]}, ShapeError, "ragged: its part 1 has one number"),
    ({**QKV, "mask": [{"mask": [[1, 1, 1]]}]}, MaskError, "whole numbers"),
    ({**QKV, "mask": np.ones((2, 3), complex)}, NumberError, "mask holds complex"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "error", "message"), ERRORS, ids=[row[2][:50] for row in ERRORS])
def test_a_wrong_problem_is_refused_with_a_reason(record, error, message):
    with pytest.raises(error, match=message) as raised:
        Problem.from_dict(record)
    assert type(raised.value) is error
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("record", [3, None, [], "query", [["query", 1]]])
def test_a_problem_that_is_no_object_is_refused(record):
    with pytest.raises(OptionError, match="a problem is one JSON object"):
        Problem.from_dict(record)


def test_a_long_name_does_not_make_a_long_message():
    with pytest.raises(OptionError) as raised:
        Problem.from_dict({"x" * 10_000: 1})
    assert len(str(raised.value)) < 600


TOO_LARGE = [
    # name               arrays, as views that take no memory
    ("score matrix", (10**6, 4), (10**6, 4), (10**6, 4)),
    ("output", (10**6, 1), (1, 1), (1, 10**7)),
    ("heads", (10**6, 10**3, 4), (10**6, 10**3, 4), (10**6, 10**3, 4)),
]


@pytest.mark.parametrize(("name", "query", "key", "value"), TOO_LARGE)
def test_what_does_not_fit_in_memory_is_refused_before_it_is_made(name, query, key, value):
    arrays = [np.broadcast_to(np.zeros(1), shape) for shape in (query, key, value)]
    with pytest.raises(TooLargeError, match="GiB left"):
        trace(*arrays)


def test_an_array_that_cannot_be_converted_for_lack_of_memory_is_refused():
    whole = np.broadcast_to(np.zeros(1, np.int8), (10**9, 10**6))  # 8 petabytes as float64
    with pytest.raises(TooLargeError, match="larger than the memory"):
        Problem(query=whole, key=whole)


def test_parts_and_projections_count_as_memory():
    plain, parts, projected = (
        numbers_kept(Problem(**QKV, **options))
        for options in ({}, {"chunks": [1, 1, 1]}, {"w_output": np.ones((1, 9))})
    )
    assert parts - plain == 3 * 2 * 1  # three outputs of Tq = 2, Dv = 1
    assert projected - plain == 2 * 9


# --- what is accepted, and how it is understood ----------------------------------------------------


SHAPES = [
    # name           query            key              value            batch   H  Hkv Tq Tk D Dv single
    ("matrices",     (2, 3),          (4, 3),          (4, 5),          (),     1, 1, 2, 4, 3, 5, True),
    ("heads",        (6, 2, 3),       (2, 4, 3),       (2, 4, 5),       (),     6, 2, 2, 4, 3, 5, False),
    ("batch",        (7, 6, 2, 3),    (7, 2, 4, 3),    (7, 2, 4, 5),    (7,),   6, 2, 2, 4, 3, 5, False),
    ("two batch",    (8, 7, 6, 2, 3), (8, 7, 6, 4, 3), (8, 7, 6, 4, 5), (8, 7), 6, 6, 2, 4, 3, 5, False),
    ("no query",     (0, 3),          (4, 3),          (4, 5),          (),     1, 1, 0, 4, 3, 5, True),
    ("empty batch",  (0, 6, 2, 3),    (0, 2, 4, 3),    (0, 2, 4, 5),    (0,),   6, 2, 2, 4, 3, 5, False),
]  # fmt: skip


@pytest.mark.parametrize("row", SHAPES, ids=[row[0] for row in SHAPES])
def test_sizes_are_read_from_the_arrays(row):
    _, query, key, value, *sizes = row
    problem = Problem(query=np.ones(query), key=np.ones(key), value=np.ones(value))
    names = ("batch", "H", "Hkv", "Tq", "Tk", "D", "Dv", "single")
    assert [getattr(problem, name) for name in names] == sizes
    output = trace(problem).output
    assert output.shape == (*query[:-1], value[-1])
    assert (output == 1).all()


DTYPES = [
    # query               key                 asked       meant       source
    ("int64",             "int64",            None,       "float64"),  # whole numbers count as float64
    ("float32",           "float32",          None,       "float32"),
    ("float32",           "float64",          None,       "float64"),  # the widest
    ("float16",           "float32",          None,       "float32"),
    (">f8",               ">f8",              None,       "float64"),
    ("longdouble",        "longdouble",       None,       "float64"),
    ("float64",           "float64",          "bfloat16", "bfloat16"),
    ("float64",           "float64",          np.float32, "float32"),
    ("float64",           "float64",          np.dtype("float16"), "float16"),
    ("float64",           "float64",          np.array("float16"), "float16"),  # so it comes from .npz
]  # fmt: skip


@pytest.mark.parametrize(("query", "key", "asked", "meant"), DTYPES)
def test_the_dtype_is_the_asked_one_or_the_widest(query, key, asked, meant):
    problem = Problem(query=np.ones((1, 2), query), key=np.ones((1, 2), key), dtype=asked)
    assert problem.dtype.name == meant
    assert problem.query.dtype.name == meant


def test_float16_and_bfloat16_meet_in_float32():
    bfloat16 = Problem(query=Q, key=K, dtype="bfloat16").query
    assert Problem(query=np.ones((1, 2), np.float16), key=bfloat16[0]).dtype == np.float32


def test_a_number_beyond_float16_is_infinite_there():
    assert Problem(query=[[1e6, 0]], key=K, dtype="float16").query[0, 0, 0] == np.inf


KEEP = [True, False, True]
ALIKE = [
    # name                       one way                               another
    ("null is not given",        {"scale": None, "causal": None},      {}),
    ("false is not given",       {"causal": False, "rope": False, "alibi": False, "window": False}, {}),
    ("infinity in words",        {"mask": [[0.0, "-inf", 0.0]]},       {"mask": np.array([[0, -np.inf, 0]])}),
    ("a minus sign of any kind", {"mask": [[0.0, "−inf", 0.0]]},       {"mask": [[0.0, "-Infinity", 0.0]]}),
    ("upper left",               {"causal": "upper_left"},             {"causal": True, "offset": 0}),
    ("lower right",              {"causal": "lower_right"},            {"causal": True}),
    ("no bound in .npz",         {"window": np.array([1, np.inf])},    {"window": (1, None)}),
    ("a switch in .npz",         {"causal": np.array(True)},           {"causal": True}),
    ("a number in .npz",         {"scale": np.array(2)},               {"scale": 2.0}),
    ("masks as records",         {"mask": [{"mask": [KEEP]}]},         {"mask": [np.array([KEEP])]}),
    ("rope in full",             {"rope": {"base": 1e4, "pairing": "half", "dim": 2}}, {"rope": True}),
    ("one slope for all heads",  {"alibi": 0.5},                       {"alibi": [0.5]}),
    ("whole numbers as floats",  {"chunks": [1.0, 2.0]},               {"chunks": np.array([1, 2])}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "one", "other"), ALIKE, ids=[row[0] for row in ALIKE])
def test_two_ways_of_saying_the_same(name, one, other):
    first, second = (trace(Problem(**QKV, **options)) for options in (one, other))
    for field in first:
        np.testing.assert_array_equal(first[field], second[field])


def test_arrays_in_lists_and_objects_are_read():
    for query in (
        [np.array([1.0, 0.0]), np.array([0, 1])],
        np.array(Q, dtype=object),
        [[np.float32(1), 0], [0, np.array(1)]],
    ):
        np.testing.assert_array_equal(Problem(**{**QKV, "query": query}).query[0], Q)


def test_trace_takes_a_problem_or_arrays_and_says_so():
    with pytest.raises(OptionError, match="not both"):
        trace(Problem(**QKV), causal=True)
    with pytest.raises(OptionError, match="Did you mean 'causal'"):
        trace(Q, K, V, casual=True)


def test_the_published_slopes():
    # Press et al. 2022, section 3: 8 heads give 1/2 … 1/256; their code for 12 adds every other one of 16
    assert published_slopes(8).tolist() == [2.0**-k for k in range(1, 9)]
    np.testing.assert_allclose(
        published_slopes(12), [2.0**-k for k in range(1, 9)] + [2.0**-k for k in (0.5, 1.5, 2.5, 3.5)]
    )
    assert published_slopes(1).tolist() == [2.0**-8]
    np.testing.assert_allclose(published_slopes(3), [2.0**-4, 2.0**-8, 2.0**-2])


ROUND_TRIPS = [
    QKV,
    HEADS,
    PACKED,
    {**X, "w_output": np.ones((6, 2)), "b_output": [1.0, 2.0], "heads": 2},
    {**X, "x_key": np.ones((5, 4)), "b_key": np.ones(6)},
    {**SCORES, "value": V[:2], "causal": True},
    {"given": {"weights": np.ones((2, 3, 1, 4)) / 4}, "value": np.ones((2, 1, 4, 3))},
    {**QKV, "causal": "upper_left", "rope": True, "alibi": True, "sink": 0.0, "chunks": [1, 2], "scale": 0.0},
    {**HEADS, "lengths": [3, 7], "offset": [1, 2], "window": (None, 0), "softcap": 5.0, "dtype": "float16"},
    {**HEADS, "mask": [np.ones((5, 7), bool), np.zeros((2, 1, 1, 7))]},
    {**X, "x": np.ones((2, 3, 4)), "mask": np.ones((2, 3, 3), bool)},
]  # fmt: skip


@pytest.mark.parametrize("record", ROUND_TRIPS, ids=lambda record: "-".join(record)[:60])
def test_to_dict_and_back_gives_the_same_trace(record):
    problem = Problem(**record)
    again = Problem.from_dict(problem.to_dict())
    first, second = trace(problem), trace(again)
    assert list(first) == list(second)
    for field in first:
        np.testing.assert_array_equal(first[field], second[field])
    assert json.dumps(again.to_dict(), default=np.ndarray.tolist)  # nothing but arrays, numbers and text


# --- whatever comes, only our own errors ----------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 9)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        ["inf", "-inf", "nan", "half", "upper_left", "float16", 10**400, b"a", 1j, np.float32(1)]
    )
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=8,
)


def matrices(rows: st.SearchStrategy[int], columns: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    entries = st.floats(-4, 4) | st.sampled_from([0, 1, "-inf", "nan"])
    return st.tuples(rows, columns).flatmap(
        lambda shape: st.lists(
            st.lists(entries, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
        )
    )


SMALL = st.integers(0, 3)
ARRAY_LIKE = (
    matrices(st.just(2), st.just(2))
    | matrices(SMALL, SMALL)
    | st.lists(SMALL, max_size=4).map(np.ones)
    | st.lists(SMALL, max_size=4).map(lambda shape: np.zeros(shape, bool))
    | st.lists(SMALL, max_size=3).map(lambda shape: np.full(shape, None))
)
NAMES = [*field_names(), "base", "pairing", "dim", "scores", "scaled", "masked", "weights"]
PLAUSIBLE = (
    ARRAY_LIKE
    | SCALARS
    | st.lists(SMALL | st.none(), max_size=3)
    | st.dictionaries(st.sampled_from(NAMES), ARRAY_LIKE | SCALARS, max_size=2)
    | st.lists(ARRAY_LIKE, max_size=2)
    | st.sampled_from([{1, 2}, object(), np.float64, range(3), np.array("half"), np.array([True, False])])
)


def works_or_is_refused(record: Any) -> None:
    with contextlib.suppress(HeadworkError):
        trace(Problem.from_dict(record)).to_dict()


@given(ANYTHING | st.dictionaries(st.sampled_from(field_names()), ANYTHING))
def test_anything_at_all_gives_a_problem_or_a_headwork_error(record):
    works_or_is_refused(record)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(field_names()), PLAUSIBLE, max_size=6),
    st.sampled_from([{}, QKV, HEADS, X, PACKED, SCORES]),
)
def test_any_values_in_the_fields_give_a_problem_or_a_headwork_error(fields, base):
    works_or_is_refused({**base, **fields})


@settings(max_examples=300)
@given(st.sampled_from(field_names()), PLAUSIBLE | ANYTHING, st.sampled_from([QKV, HEADS, X, PACKED, SCORES]))
def test_one_odd_value_in_a_good_problem_gives_a_problem_or_a_headwork_error(name, value, base):
    works_or_is_refused({**base, name: value})
