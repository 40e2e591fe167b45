"""headwork.attention as it is called: every option at once, odd arrays, `out`, empty axes, and junk.

On the compiled kernel as people call it, and through the Python path on the NumPy engine. Right numbers are those of
the trace in float64 (against_trace.py).
"""

import contextlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from against_trace import assert_gradients_right, assert_right
from drawn_problems import SEEDS
from hypothesis import given, settings, strategies as st

import headwork
from headwork.errors import HeadworkError, MaskError, NumberError, OptionError, ShapeError, TooLargeError
from headwork.mechanism import blockwise, calling
from headwork.problem import published_slopes

pytest.importorskip("headwork.mechanism._kernel", exc_type=ImportError)
INF, NAN = np.inf, np.nan
ARRAYS = ("query", "key", "value")


@contextlib.contextmanager
def on_numpy():
    with mock.patch.object(calling, "engine", return_value=blockwise):
        yield calling.attention, calling.attention_vjp


@contextlib.contextmanager
def on_kernel():
    yield headwork.attention, headwork.attention_vjp


ENGINES = (on_kernel, on_numpy)


@pytest.fixture(params=ENGINES)
def calls(request: pytest.FixtureRequest) -> Any:
    """attention and attention_vjp on each engine."""
    with request.param() as functions:
        yield functions


# --- every option together ------------------------------------------------------------------------------

LAYINGS: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("as it is", lambda mask: mask),
    ("from the end", lambda mask: np.ascontiguousarray(mask[..., ::-1])[..., ::-1]),
    ("every other", lambda mask: np.repeat(mask, 2, axis=-1)[..., ::2]),
    ("queries inside", lambda mask: np.asfortranarray(mask)),
    ("not aligned", lambda mask: np.frombuffer(b"\0" + mask.tobytes(), mask.dtype, offset=1).reshape(mask.shape)),
)  # fmt: skip


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Bool or float; some axes are 1, or missing at the front, or repeated by a stride of 0; laid out anyhow."""
    rng = np.random.default_rng(draw(SEEDS))
    shape = shape[draw(st.integers(0, len(shape))) :]
    own = tuple(1 if draw(st.booleans()) else length for length in shape)
    mask = rng.random(own) < 0.8
    if draw(st.booleans()):
        mask = np.where(mask, rng.standard_normal(own), -INF).astype(
            draw(st.sampled_from([dtype, "float64"]))
        )
    if mask.ndim:
        mask = draw(st.sampled_from(LAYINGS))[1](mask)
    return np.broadcast_to(mask, shape) if draw(st.booleans()) else mask


@st.composite
def calls_with_everything(draw: st.DrawFn) -> dict[str, Any]:
    """0 to 2 batch axes, sizes around blocks, and any of the options, each batch element with its own position."""
    rng = np.random.default_rng(draw(SEEDS))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    batch = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 2)]))
    Hkv, group = draw(st.sampled_from([(1, 1), (2, 1), (1, 3), (2, 2)]))
    H, Tq, Tk = (
        Hkv * group,
        draw(st.sampled_from((1, 3, 5, 33, 65))),
        draw(st.sampled_from((1, 7, 49, 97, 130))),
    )
    D, Dv = draw(st.sampled_from((1, 4, 17, 300))), draw(st.sampled_from((1, 5, 16, 257)))
    shapes = {"query": (H, Tq, D), "key": (Hkv, Tk, D), "value": (Hkv, Tk, Dv)}
    record: dict[str, Any] = {
        name: rng.standard_normal((*batch, *shape)).astype(dtype) for name, shape in shapes.items()
    }
    options: dict[str, Any] = {
        "mask": draw(masks((*batch, H, Tq, Tk), dtype)),
        "causal": True,
        "offset": rng.integers(-3, Tk, batch) if batch else int(rng.integers(-3, Tk)),
        "scale": float(rng.uniform(-1, 1)),
        "softcap": float(rng.uniform(0.5, 5)),
        "window": tuple(draw(st.none() | st.integers(0, 50)) for _ in range(2)),
        "alibi": draw(st.sampled_from([True, 0.25, published_slopes(H).astype(dtype)])),
        "sink": rng.standard_normal(H).astype(dtype),
        "lengths": rng.integers(0, Tk + 1, batch) if batch else int(rng.integers(0, Tk + 1)),
    }
    for name in draw(st.lists(st.sampled_from(sorted(options)), unique=True)):
        record[name] = options[name]
    return record


@settings(max_examples=30)
@given(calls_with_everything())
def test_all_options_of_a_call_together_agree_with_the_trace_and_its_gradients(record):
    arrays = [record[name] for name in ARRAYS]
    options = {name: value for name, value in record.items() if name not in ARRAYS}
    for engine in ENGINES:
        with engine() as (attention, attention_vjp):
            output, logsumexp = attention(*arrays, **options, return_logsumexp=True)
            right = assert_right(record, output, logsumexp)
            cotangent = np.random.default_rng(0).standard_normal(output.shape).astype(output.dtype)
            for kept in ({}, {"output": output, "logsumexp": logsumexp}):
                got = attention_vjp(*arrays, cotangent, **options, **kept)
                assert_gradients_right(got, record, right, cotangent)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("batch", [(), (0,), (2,), (2, 0), (2, 3)])
@pytest.mark.parametrize("Tq", [0, 2])
def test_axes_without_entries_give_results_without_entries(calls, batch, Tq, dtype):
    query, key, value = (np.ones((*batch, 2, T, D), dtype) for T, D in ((Tq, 4), (3, 4), (3, 5)))
    output, logsumexp = calls[0](query, key, value, return_logsumexp=True)
    assert output.shape == (*batch, 2, Tq, 5)
    assert logsumexp.shape == (*batch, 2, Tq)
    gradients = calls[1](query, key, value, output)
    assert [each.shape for each in gradients] == [query.shape, key.shape, value.shape]
    if Tq == 0:
        assert not gradients[1].any()  # no query looks at any key
    out = np.full_like(output, NAN)
    assert calls[0](query, key, value, out=out) is out


# --- out --------------------------------------------------------------------------------------------------


@pytest.fixture
def arrays(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal((2, 3, 70, 8)) for _ in range(3)]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize(
    "part", [np.s_[:], np.s_[:, :, ::-1], np.s_[::-1]], ids=["same", "turned", "from the end"]
)
def test_out_may_lie_over_an_input(calls, arrays, which, part):
    right = headwork.attention(*arrays, causal=True)
    out = arrays[which][part]
    assert calls[0](*arrays, causal=True, out=out) is out
    np.testing.assert_allclose(out, right, rtol=0, atol=1e-12)


def test_out_may_lie_over_a_mask(calls, arrays):
    memory = np.zeros((2, 3, 70, 70))
    right = headwork.attention(*arrays, mask=memory.copy())
    out = memory.reshape(-1)[: right.size].reshape(right.shape)
    calls[0](*arrays, mask=memory, out=out)
    np.testing.assert_allclose(out, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layout", ["BHTD", "BTHD"])
def test_out_may_be_part_of_a_larger_array(calls, layout):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 3, 4, 8)) for _ in range(3)]
    whole = np.full((2, 3, 8, 12), NAN)
    out = whole[:, :, ::2, 1:9]
    calls[0](*arrays, out=out, layout=layout)
    np.testing.assert_allclose(out, headwork.attention(*arrays, layout=layout), rtol=0, atol=1e-12)
    assert np.isnan(whole[:, :, 1::2]).all()
    assert np.isnan(whole[..., 9:]).all()


def shares_its_rows(shape: tuple[int, ...]) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(np.zeros(shape[-1]), shape, (0, 0, 0, 8))


def windows(shape: tuple[int, ...]) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(np.zeros(1000), shape, (240, 80, 8, 8))


def read_only(shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(bytes(8 * int(np.prod(shape)))).reshape(shape)


OUT = [
    # what stands for out                                       error          what it says
    (shares_its_rows, OptionError, "memory for each entry"),
    (windows, OptionError, "memory for each entry"),
    (read_only, OptionError, "cannot be written"),
    (lambda shape: np.zeros(shape).tolist(), OptionError, "cannot be written"),
    (lambda shape: np.zeros(shape, ">f8"), OptionError, "cannot be written"),
    (lambda shape: np.zeros(shape, np.float32), ShapeError, "float32"),
    (lambda shape: np.zeros(shape[1:]), ShapeError, "out has shape"),
    (lambda shape: object(), NumberError, "out holds"),
]


@pytest.mark.parametrize(("given_", "error", "says"), OUT, ids=[str(i) for i in range(len(OUT))])
def test_an_out_that_cannot_hold_the_output_is_refused(calls, given_, error, says):
    arrays = [np.ones((2, 3, 10, 8)) for _ in range(3)]
    with pytest.raises(error, match=says):
        calls[0](*arrays, out=given_((2, 3, 10, 8)))


def test_a_tensor_may_be_out_and_one_that_records_may_not(calls):
    torch = pytest.importorskip("torch")
    arrays = [torch.ones(1, 2, 3, 4, dtype=torch.float64) for _ in range(3)]
    out = torch.zeros(1, 2, 3, 4, dtype=torch.float64)
    assert calls[0](*arrays, out=out) is out
    torch.testing.assert_close(out, torch.ones_like(out))
    with pytest.raises(OptionError, match="without gradients"):
        calls[0](*arrays, out=out.requires_grad_())


# --- arrays that are not plain ----------------------------------------------------------------------------


class Own(np.ndarray):
    """Somebody's subclass, which has a module of its own."""


class Foreign:
    """An array of a library that says how to read its memory and no more."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "wrap", [lambda x: x.view(np.matrix), lambda x: x.view(Own), np.ma.masked_array, Foreign]
)
def test_other_kinds_of_arrays_are_read_and_plain_ones_given_back(calls, wrap):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 4)) for _ in range(3)]
    output = calls[0](*map(wrap, arrays))
    assert type(output) is np.ndarray
    np.testing.assert_array_equal(output, calls[0](*arrays))


@pytest.mark.parametrize("name", ["query", "key", "value", "mask", "sink"])
def test_a_masked_array_with_hidden_entries_is_refused(calls, name):
    record = {"query": np.ones((3, 4)), "key": np.ones((3, 4)), "value": np.ones((3, 4)), "mask": np.ones((3, 3)) > 0,
              "sink": np.zeros(1)}  # fmt: skip
    record[name] = np.ma.masked_array(record[name], mask=np.ones(record[name].shape))
    if name == "mask":
        record[name] = [np.ones((3, 3)) > 0, record[name]]
    with pytest.raises(NumberError, match=f"{name} is a masked array"):
        calls[0](**record)


# --- sizes and numbers out of reach -----------------------------------------------------------------------


def repeated(*shape: int) -> np.ndarray:
    """As large as it likes, in four bytes."""
    return np.broadcast_to(np.float32(1), shape)


TOO_LARGE = [
    # query, key and value                                    why
    (repeated(2**60, 1, 1, 1),) * 3,
    (repeated(2**59, 1, 1, 1),) * 3,
    (repeated(1, 2**59, 1, 1)[:, :, :0], repeated(1, 1, 2, 1), repeated(1, 1, 2, 1)),
    (repeated(1, 4096, 1, 1), repeated(1, 1, 2**60, 1), repeated(1, 1, 2**60, 1)),
    (repeated(1, 1, 1, 1), repeated(1, 1, 2**31, 1), repeated(1, 1, 2**31, 1)),
    (repeated(1, 1, 2**50, 1), repeated(1, 1, 1, 1), repeated(1, 1, 1, 1)),  # an output of 4 PiB
]


@pytest.mark.parametrize("given_", TOO_LARGE, ids=[str(i) for i in range(len(TOO_LARGE))])
def test_sizes_beyond_all_memory_and_time_are_refused(given_):
    with pytest.raises(TooLargeError):
        headwork.attention(*given_)
    with pytest.raises(TooLargeError):
        headwork.attention_vjp(*given_, given_[0])


OUT_OF_REACH = [
    # option                                                          error        what it says
    ({"scale": 1e39}, OptionError, "float32"),
    ({"softcap": 1e39}, OptionError, "float32"),
    ({"softcap": 1e-60}, OptionError, "float32"),
    ({"alibi": 1e39}, OptionError, "float32"),
    ({"alibi": np.array([NAN, 1], np.float32)}, NumberError, "alibi holds nan"),
    ({"sink": np.array([INF, 1], np.float32)}, NumberError, "sink holds inf"),
    ({"sink": np.array([3e38, 1], np.float32)}, OptionError, "float32"),
    ({"mask": [np.full((3, 3), 3e38), np.full((3, 3), 3e38)]}, MaskError, "add up"),
    ({"offset": np.array([2**63 - 1])}, OptionError, "whole"),
    ({"offset": 2**60}, OptionError, "whole"),
    ({"window": (2**60, None)}, OptionError, "whole"),
    ({"layout": "BTHD", "query": np.ones((3, 4), np.float32)}, ShapeError, "BTHD"),
    ({"return_logsumexp": np.ones(2)}, OptionError, "True or False"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given_", "error", "says"), OUT_OF_REACH, ids=[str(i) for i in range(len(OUT_OF_REACH))]
)
def test_numbers_that_the_arithmetic_cannot_hold_are_told(calls, given_, error, says):
    record = {name: np.ones((1, 2, 3, 4), np.float32) for name in ARRAYS}
    with pytest.raises(error, match=says):
        calls[0](**(record | given_))


def test_a_position_per_batch_element_needs_a_batch(calls):
    arrays = [np.ones((2, 3, 4)) for _ in range(3)]
    for option in ("offset", "lengths"):
        with pytest.raises(ShapeError, match=option):
            calls[0](*arrays, causal=True, **{option: np.array([1])})


# --- junk -------------------------------------------------------------------------------------------------


class Unreadable:
    """Everything one may ask of it fails."""

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise RuntimeError("no array")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __repr__(self) -> str:
        raise RuntimeError("no words")


JUNK: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 3, 2**31, 2**53, 2**62, 2**63, -(2**63), 2**70, 10**5000, 1.5, -1.0, INF, -INF,
    NAN, 1e-320, 1e300, 1j, "abc", "", "BTHD", "upper_left", b"x", [], [[]], {}, (1, 2), (None, None), (2**62, None),
    ("a", None), (1, 2, 3), range(3), object(), type, ..., Fraction(1, 3), Unreadable(), np.float64(0.5),
    np.float32(0.5), np.int64(2), np.bool_(True), np.datetime64("2020"), {1, 2}, iter([1]), [1, [2]], [True, 1.0],
)  # fmt: skip
SHAPES = ((), (0,), (2,), (2, 3), (3, 3), (2, 3, 3), (2, 2, 3, 3), (2, 3, 2, 3), (2, 2, 2, 3, 3), (0, 2, 3, 3), (2, 2, 0, 3),
          (2, 2, 3, 0), (2, 0, 3, 3))  # fmt: skip
DTYPES = ("f4", "f8", "f2", ">f4", "i4", "u1", "?", "c8", "O", "S3", "M8[s]", "f16", "V4")
BENDS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda x: x,
    lambda x: x.T,
    lambda x: x[..., ::-1] if x.ndim else x,
    lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (0,) * x.ndim),
    lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape) if x.dtype != "O" else x,
    lambda x: np.broadcast_to(x, (2**60 // x.nbytes, *x.shape)) if x.dtype in ("f4", "f8") and x.size else x,
)


@st.composite
def odd_arrays(draw: st.DrawFn) -> np.ndarray:
    numbers = np.random.default_rng(0).standard_normal(draw(st.sampled_from(SHAPES)))
    dtype = draw(st.sampled_from(DTYPES))
    array = np.zeros(numbers.shape, dtype) if dtype in ("V4", "M8[s]") else np.asarray(numbers.astype(dtype))
    return draw(st.sampled_from(BENDS))(array)


@settings(max_examples=120)
@given(st.data(), st.sampled_from(["f4", "f8", "f2"]), st.sampled_from([(3, 3), (2, 3, 3), (2, 2, 3, 3)]))
def test_junk_gives_an_error_in_words_or_the_right_result(data, dtype, shape):
    record = {name: np.ones(shape, dtype) for name in ARRAYS}
    more = ("out", "return_logsumexp") if (forward := data.draw(st.booleans())) else ("output", "logsumexp")
    if not forward:
        record["cotangent"] = np.ones(shape, dtype)
    names = (*record, *calling.PROBLEM_OPTIONS, "layout", "threads", *more)
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)):
        kind = data.draw(st.integers(0, 3))
        index = data.draw(st.integers(0, len(JUNK) - 1))  # by number: Hypothesis would show all of them
        record[name] = JUNK[index] if kind < 2 else data.draw(odd_arrays())
    with np.errstate(all="ignore"):
        try:
            result = (headwork.attention if forward else headwork.attention_vjp)(**record)
        except (TypeError, HeadworkError):
            return
    for each in result if isinstance(result, tuple) else (result,):
        assert isinstance(each, np.ndarray)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Tq", [1, 9])
def test_a_row_that_a_mask_of_the_lowest_number_covers_shares_its_weight_evenly(calls, Tq, dtype):
    """Source: by hand; a score is lost beside the lowest number of its type, so all of the row's are equal."""
    rng = np.random.default_rng(5)
    query, cotangent = (rng.normal(size=(1, 1, Tq, 4)).astype(dtype) for _ in range(2))
    key, value = (rng.normal(size=(1, 1, 9, 4)).astype(dtype) for _ in range(2))
    lowest = np.finfo(dtype).min
    mask = np.full((Tq, 9), lowest)
    output, logsumexp = calls[0](query, key, value, mask=mask, return_logsumexp=True)
    np.testing.assert_allclose(output, np.repeat(value.mean(axis=-2, keepdims=True), Tq, axis=-2), atol=1e-6)
    np.testing.assert_array_equal(logsumexp, np.full((1, 1, Tq), lowest))
    for kept in ({}, {"output": output, "logsumexp": logsumexp}):
        of_value = calls[1](query, key, value, cotangent, mask=mask, **kept)[2]
        share = cotangent.sum(axis=-2, keepdims=True) / 9
        np.testing.assert_allclose(of_value, np.repeat(share, 9, axis=-2), atol=1e-5)


@pytest.mark.parametrize("Tq", [1, 6])
def test_distances_are_exact_at_positions_beyond_the_digits_of_the_type(Tq):
    """Source: by hand; ALiBi knows only distances, so a shift of all positions changes nothing."""
    rng = np.random.default_rng(6)
    query, key, value = (rng.normal(size=(1, T, 2)).astype(np.float32) for T in (Tq, 9, 9))
    long_key, long_value = (
        np.zeros((1, 2**24 + 10, 2), np.float32) for _ in range(2)
    )  # no page of most is touched
    long_key[:, -9:], long_value[:, -9:] = key, value
    slopes = np.array([0.25], np.float32)
    right = headwork.attention(query, key, value, causal=True, window=(3, None), alibi=slopes)
    shifted = headwork.attention(query, long_key, long_value, causal=True, window=(3, None), alibi=slopes)
    np.testing.assert_allclose(shifted, right, rtol=1e-6, atol=1e-6)
