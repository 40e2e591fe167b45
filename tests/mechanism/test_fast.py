"""The fast engines give what the trace gives, in the same arithmetic, however the arrays lie in memory.

The right numbers are the trace's in float64, which is itself compared with torch, ONNX and an independent
reference (tests/peers, tests/mechanism/test_tracing.py). Each test runs on the compiled kernel and on NumPy.
"""

import gc
import os
import subprocess
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from against_trace import assert_right
from drawn_problems import SEEDS, records
from hypothesis import given, settings, strategies as st
from processes import PYTHON

import headwork
from headwork.errors import HeadworkError, MaskError, NumberError, OptionError, ShapeError
from headwork.mechanism import blockwise, fast
from headwork.mechanism.calling import Prepared

_kernel = pytest.importorskip("headwork.mechanism._kernel", exc_type=ImportError)
ENGINES = {"kernel": _kernel, "numpy": blockwise}
OPTIONS = ("mask", "causal", "offset", "scale", "softcap", "window", "alibi", "sink", "lengths")
BLOCKS = (1, 2, 4, 5, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 193)
INF, NAN = np.inf, np.nan


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return ENGINES[request.param]


def computed(engine: Any, record: dict[str, Any], **more: Any) -> tuple[np.ndarray, np.ndarray]:
    """Output and logsumexp of a problem's fields, in the shapes that they were given in."""
    options = {name: record[name] for name in OPTIONS if name in record}
    call = Prepared(record["query"], record["key"], record["value"], "BHTD", None, options)
    output, logsumexp = engine.run(*call.arrays, **call.options, **more, return_logsumexp=True)
    return call.as_given(output), call.rows_as_given(logsumexp)


@given(records(without=("rope", "chunks")), st.sampled_from(["float64", "float32"]))
def test_every_option_together_agrees_with_the_trace(record, dtype):
    arrays = {name: record[name].astype(dtype) for name in ("query", "key", "value")}
    for engine in ENGINES.values():
        assert_right(record | arrays, *computed(engine, record | arrays))


@st.composite
def sized(draw: st.DrawFn) -> dict[str, Any]:
    """Sizes on both sides of every block boundary, and one or two options."""
    rng = np.random.default_rng(draw(SEEDS))
    Tq, Tk = draw(st.sampled_from(BLOCKS)), draw(st.sampled_from((*BLOCKS, 1023, 1025, 1500)))
    D, Dv = draw(st.sampled_from((1, 3, 8, 17, 64, 80))), draw(st.sampled_from((1, 6, 7, 16, 33, 64)))
    Hkv, group = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    record = {
        "query": rng.standard_normal((1, Hkv * group, Tq, D)),
        "key": rng.standard_normal((1, Hkv, Tk, D)),
        "value": rng.standard_normal((1, Hkv, Tk, Dv)),
    }
    options: dict[str, Any] = {
        "causal": True,
        "window": (int(rng.integers(0, 70)), None if rng.random() < 0.5 else int(rng.integers(0, 70))),
        "lengths": rng.integers(0, Tk + 1, 1),
        "mask": rng.random((Tq, Tk)) < rng.random(),
        "softcap": 3.0,
        "alibi": True,
        "sink": rng.standard_normal(Hkv * group),
    }
    for name in draw(st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True)):
        record[name] = options[name]
    return record


@settings(max_examples=60)
@given(sized(), st.sampled_from(["float64", "float32"]))
def test_odd_sizes_around_every_block_agree_with_the_trace(record, dtype):
    arrays = {name: record[name].astype(dtype) for name in ("query", "key", "value")}
    for engine in ENGINES.values():
        assert_right(record | arrays, *computed(engine, record | arrays))


@settings(max_examples=30)
@given(sized(), st.sampled_from(["float64", "float32"]))
def test_gradients_agree_with_torch(record, dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = [record[name].astype(dtype) for name in ("query", "key", "value")]
    cotangent = rng.standard_normal((*arrays[0].shape[:3], arrays[2].shape[3])).astype(dtype)
    right = torch_gradients(torch, record, cotangent)
    options = {name: record[name] for name in OPTIONS if name in record}
    call = Prepared(*arrays, "BHTD", None, options)
    output, logsumexp = headwork.attention(*arrays, **options, return_logsumexp=True)
    for engine in ENGINES.values():
        for kept in ({}, {"output": output, "logsumexp": logsumexp.reshape(arrays[0].shape[:3])}):
            got = engine.run_vjp(*call.arrays, cotangent, **call.options, **kept)
            for one, its in zip(got, right, strict=True):
                scale = 1 + np.abs(its).max(initial=0)
                np.testing.assert_allclose(one, its, rtol=0, atol=256 * np.finfo(dtype).eps * scale)


def torch_gradients(torch: Any, record: dict[str, Any], cotangent: np.ndarray) -> list[np.ndarray]:
    """By autograd in float64, written from the formula alone."""
    query, key, value = (
        torch.tensor(record[name].astype(np.float64), requires_grad=True)
        for name in ("query", "key", "value")
    )
    groups = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(groups, 1).mT / query.shape[-1] ** 0.5
    if "softcap" in record:
        scores = record["softcap"] * torch.tanh(scores / record["softcap"])
    Tq, Tk = scores.shape[-2:]
    n = int(record["lengths"][0]) if "lengths" in record else Tk
    position, j = torch.arange(Tq)[:, None] + n - Tq, torch.arange(Tk)
    if "alibi" in record:
        H = query.shape[1]
        scores = scores - torch.tensor(headwork.problem.published_slopes(H))[:, None, None] * abs(
            position - j
        )
    left, right = record.get("window", (None, None))
    allowed = j < n
    allowed = allowed & (j <= position) if "causal" in record else allowed.expand(Tq, Tk)
    allowed = allowed & (j >= position - left) if left is not None else allowed
    allowed = allowed & (j <= position + right) if right is not None else allowed
    if "mask" in record:
        allowed = allowed & torch.tensor(record["mask"])
    exps = torch.where(allowed, scores.clamp(max=700).exp(), 0.0)  # float64: no shift is needed
    total = exps.sum(-1, keepdim=True)
    if "sink" in record:
        total = total + torch.tensor(record["sink"])[:, None, None].exp()
    output = exps / torch.where(total == 0, 1.0, total) @ value.repeat_interleave(groups, 1)
    wanted = (output * torch.tensor(cotangent.astype(np.float64))).sum()
    return [each.numpy() for each in torch.autograd.grad(wanted, (query, key, value))]


def test_gradients_agree_with_finite_differences():
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape) for shape in ((2, 5, 4), (1, 7, 4), (1, 7, 3))]
    cotangent = rng.standard_normal((2, 5, 3))
    options: dict[str, Any] = {"causal": True, "softcap": 2.0, "alibi": True, "sink": np.array([0.5, -1.0])}
    got = headwork.attention_vjp(*arrays, cotangent, **options)
    for which, gradient in enumerate(got):
        for index in np.ndindex(gradient.shape):
            step = np.zeros_like(arrays[which])
            step[index] = 1e-6
            ends = [
                (headwork.attention(*arrays[:which], arrays[which] + sign * step, *arrays[which + 1 :], **options)
                 * cotangent).sum()
                for sign in (1, -1)
            ]  # fmt: skip
            assert gradient[index] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


# --- how arrays lie in memory -----------------------------------------------------------------------

LAYOUTS = [
    # name             what is done to a contiguous (B, H, T, D) array
    ("contiguous", lambda x: x),
    ("heads last", lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)),
    ("packed", lambda x: np.concatenate([x, x], axis=-1)[..., : x.shape[-1]]),
    ("every other row", lambda x: np.repeat(x, 2, axis=2)[:, :, ::2]),
    ("rows from the end", lambda x: np.ascontiguousarray(x[:, :, ::-1])[:, :, ::-1]),
    ("columns apart", lambda x: np.asfortranarray(x)),
    ("one head for all", lambda x: np.broadcast_to(x[:, :1], x.shape)),
    ("one row for all", lambda x: np.broadcast_to(x[:, :, :1], x.shape)),
    (
        "not aligned",
        lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype.newbyteorder("="), offset=1).reshape(x.shape),
    ),
    ("other byte order", lambda x: x.astype(x.dtype.newbyteorder(">"))),
    ("read only", lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape)),
]


@pytest.mark.parametrize(("name", "laid"), LAYOUTS, ids=[name for name, _ in LAYOUTS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_way_arrays_lie_in_memory_changes_nothing(name, laid, dtype):
    rng = np.random.default_rng(1)
    arrays = [
        laid(rng.standard_normal(shape).astype(dtype))
        for shape in ((2, 4, 19, 8), (2, 2, 23, 8), (2, 2, 23, 5))
    ]
    plain = [np.ascontiguousarray(each.astype(dtype)) for each in arrays]
    np.testing.assert_array_equal(
        headwork.attention(*arrays, causal=True), headwork.attention(*plain, causal=True)
    )
    swapped = [each.swapaxes(1, 2) for each in arrays]
    heads_last = headwork.attention(*swapped, causal=True, layout="BTHD")
    np.testing.assert_array_equal(heads_last.swapaxes(1, 2), headwork.attention(*plain, causal=True))


def test_out_is_written_and_given_back():
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((2, 3, 9, 4)) for _ in range(3)]
    out = np.full((2, 3, 9, 4), NAN)
    assert headwork.attention(*arrays, out=out) is out
    np.testing.assert_array_equal(out, headwork.attention(*arrays))
    turned = np.full((2, 9, 3, 4), NAN).swapaxes(1, 2)
    assert headwork.attention(*arrays, out=turned) is turned
    np.testing.assert_array_equal(turned, out)


# --- special numbers --------------------------------------------------------------------------------


def test_numbers_that_overflow_an_exponential_do_not(engine):
    rng = np.random.default_rng(0)
    query, key = 100 * rng.standard_normal((2, 1, 1, 40, 8)).astype(np.float32)
    record = {
        "query": query,
        "key": key,
        "value": rng.standard_normal((1, 1, 40, 3)).astype(np.float32),
        "scale": 1.0,
    }
    output, logsumexp = computed(engine, record)
    assert np.isfinite(output).all()
    assert_right(record, output, logsumexp)


@pytest.mark.parametrize("Tq", [1, 40])  # few queries have a way of their own
def test_a_hidden_key_never_leaks(engine, Tq):
    rng = np.random.default_rng(0)
    record = {
        name: rng.standard_normal((1, 2, T, 8)) for name, T in (("query", Tq), ("key", 150), ("value", 150))
    }
    clean = computed(engine, record | {"lengths": np.array([120])})
    for bad in (NAN, INF, -INF):
        dirty = {name: array.copy() for name, array in record.items()}
        dirty["key"][:, :, 120:], dirty["value"][:, :, 130:] = bad, bad
        for mask in ({"lengths": np.array([120])}, {"mask": np.arange(150) < 120, "offset": 120 - Tq},
                     {"mask": np.where(np.arange(150) < 120, 0.0, -INF)}):  # fmt: skip
            for got, right in zip(computed(engine, dirty | mask), clean, strict=True):
                np.testing.assert_allclose(got, right, rtol=1e-12)


@pytest.mark.parametrize("Tq", [2, 40])
def test_nan_in_a_query_stays_in_its_row(engine, Tq):
    rng = np.random.default_rng(0)
    record = {
        name: rng.standard_normal((1, 1, T, 8)) for name, T in (("query", Tq), ("key", 150), ("value", 150))
    }
    record["query"][0, 0, 1, 3] = NAN
    output, logsumexp = computed(engine, record)
    rows = np.isnan(output[0, 0]).all(axis=-1)
    assert rows.tolist() == [i == 1 for i in range(Tq)]
    assert np.isnan(logsumexp[0, 0]).tolist() == rows.tolist()


@pytest.mark.parametrize("Tq", [1, 40])
def test_a_row_that_may_see_nothing_is_zero(engine, Tq):
    rng = np.random.default_rng(0)
    record = {
        name: rng.standard_normal((1, 1, T, 8)) for name, T in (("query", Tq), ("key", 9), ("value", 9))
    }
    output, logsumexp = computed(engine, record | {"lengths": np.array([0])})
    assert (output == 0).all()
    assert np.isneginf(logsumexp).all()
    output, logsumexp = computed(engine, record | {"lengths": np.array([0]), "sink": np.array([0.25])})
    assert (output == 0).all()
    np.testing.assert_allclose(logsumexp, 0.25)  # the sink alone


# --- threads, forks, memory -------------------------------------------------------------------------


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 3, 300, 32)).astype(np.float32) for _ in range(4)]
    results = [
        (headwork.attention(*arrays[:3], causal=True, threads=n), *headwork.attention_vjp(*arrays, threads=n))
        for n in (1, 2, 5)
    ]
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(one, other)


def test_several_python_threads_may_call_at_once():
    rng = np.random.default_rng(0)
    inputs = [[rng.standard_normal((1, 2, 200, 32)) for _ in range(3)] for _ in range(8)]
    right = [headwork.attention(*arrays) for arrays in inputs]
    results: list[Any] = [None] * 8

    def work(i: int) -> None:
        for _ in range(10):
            results[i] = headwork.attention(*inputs[i], threads=2)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, its in zip(results, right, strict=True):
        np.testing.assert_array_equal(got, its)


def test_the_numpy_engine_gives_the_threads_of_products_back():
    arrays = [np.ones((2, 4, 64, 64)) for _ in range(3)]
    before = threadpoolctl.threadpool_info()
    callers = [threading.Thread(target=blockwise.run, args=arrays, kwargs={"threads": 2}) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert threadpoolctl.threadpool_info() == before


FORK = """
import os, numpy as np, headwork
arrays = [np.random.default_rng(0).standard_normal((2, 4, 300, 64)).astype(np.float32) for _ in range(3)]
before = headwork.attention(*arrays, threads=2)  # the pool has its threads now
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(headwork.attention(*arrays, threads=2), before) else 3)
status = os.waitpid(child, 0)[1]
assert os.waitstatus_to_exitcode(status) == 0, status
assert np.array_equal(headwork.attention(*arrays, threads=2), before)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own():
    subprocess.run([*PYTHON, "-W", "ignore", "-c", FORK], check=True, timeout=60)


def test_memory_does_not_grow_with_the_score_matrix(engine):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, 1, 3000, 16)).astype(np.float32) for _ in range(3)]
    engine.run(*arrays)
    gc.collect()
    tracemalloc.start()
    engine.run(*arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6  # the score matrix alone would be 36 MB


# --- in and out ---------------------------------------------------------------------------------------


def test_torch_tensors_come_back_as_tensors_with_gradients():
    torch = pytest.importorskip("torch")
    rng = torch.Generator().manual_seed(0)
    arrays = [torch.randn(2, 3, 9, 4, generator=rng, requires_grad=True) for _ in range(3)]
    output = headwork.attention(*arrays, causal=True)
    right = torch.nn.functional.scaled_dot_product_attention(*arrays, is_causal=True)
    torch.testing.assert_close(output, right)
    for got, its in zip(
        torch.autograd.grad(output.square().sum(), arrays),
        torch.autograd.grad(right.square().sum(), arrays),
        strict=True,
    ):
        torch.testing.assert_close(got, its)
    with torch.no_grad():
        assert not headwork.attention(*arrays).requires_grad


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_tensor_keeps_its_dtype_and_halves_are_computed_in_float32(dtype):
    torch = pytest.importorskip("torch")
    rng = torch.Generator().manual_seed(0)
    arrays = [torch.randn(2, 3, 9, 4, generator=rng).to(getattr(torch, dtype)) for _ in range(3)]
    output = headwork.attention(*arrays)
    assert output.dtype == arrays[0].dtype
    right = torch.nn.functional.scaled_dot_product_attention(*(each.double() for each in arrays))
    unit = torch.finfo(output.dtype).eps
    size = max(float(each.abs().max()) for each in arrays)
    assert float((output.double() - right).abs().max()) <= max(2 * unit * size, 1e-15)


def test_a_tensor_is_read_where_it_lies():
    torch = pytest.importorskip("torch")
    from headwork.mechanism.foreign import read

    for dtype in (torch.float32, torch.bfloat16):
        tensor = torch.zeros(4, 4, dtype=dtype)
        assert read("query", tensor).ctypes.data == tensor.data_ptr()


def test_a_mask_that_requires_a_gradient_is_refused_and_not_detached():
    torch = pytest.importorskip("torch")
    arrays = [torch.ones(1, 1, 2, 4) for _ in range(3)]
    mask = torch.zeros(2, 2, requires_grad=True)
    with pytest.raises(OptionError, match="mask requires a gradient"):
        headwork.attention(*arrays, mask=mask)


def test_jax_arrays_come_back_as_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, 2, 5, 4)).astype(np.float32) for _ in range(3)]
    output = headwork.attention(*map(jnp.asarray, arrays))
    assert type(output) is type(jnp.asarray(arrays[0]))
    np.testing.assert_array_equal(np.asarray(output), headwork.attention(*arrays))


def test_lists_and_whole_numbers_are_taken():
    output = headwork.attention([[1, 0]], [[1, 0], [0, 1]], [[1], [3]], scale=np.log(3.0))
    np.testing.assert_allclose(output, [[1.5]])  # by hand: weights 3/4 and 1/4, of 1 and 3


WRONG = [
    # arguments                                              error         what it says
    ({"key": np.zeros((3, 5))}, ShapeError, "same width"),
    ({"value": np.zeros((4, 2))}, ShapeError, "its own value row"),
    ({"mask": np.ones((2, 7), bool)}, MaskError, "broadcast"),
    ({"mask": np.ones((2, 3))[:1] * NAN}, MaskError, "NaN"),
    ({"softcap": 0.0}, OptionError, "above 0"),
    ({"scale": NAN}, OptionError, "finite"),
    ({"window": (1,)}, OptionError, "pair"),
    ({"window": (-1, None)}, OptionError, "at least 0"),
    ({"alibi": [1.0, 2.0]}, ShapeError, "alibi"),
    ({"lengths": 4}, OptionError, "more than there are keys"),
    ({"layout": "THD"}, OptionError, "BTHD"),
    ({"threads": 0}, OptionError, "at least 1"),
    ({"threads": 1.5}, OptionError, "whole"),
    ({"query": np.zeros((2, 4), bool)}, NumberError, "True and False"),
    ({"query": np.zeros((2, 4), complex)}, NumberError, "complex"),
    ({"query": "abc"}, NumberError, "abc"),
    ({"out": np.zeros((2, 2), np.float32)}, ShapeError, "out has"),
    ({"out": np.zeros((2, 3))}, ShapeError, "out has"),
    ({"key": np.zeros((0, 4)), "value": np.zeros((0, 2))}, ShapeError, "no key"),
]  # fmt: skip


@pytest.mark.parametrize(("given_", "error", "says"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_wrong_arguments_are_told_before_any_work(given_, error, says):
    arguments = {"query": np.zeros((2, 4)), "key": np.zeros((3, 4)), "value": np.zeros((3, 2))} | given_
    with pytest.raises(error, match=says) as caught:
        headwork.attention(**arguments)
    assert isinstance(caught.value, HeadworkError)


def test_an_argument_that_does_not_exist_is_told():
    arrays = [np.zeros((2, 4))] * 3
    with pytest.raises(TypeError, match="is_causal"):
        headwork.attention(*arrays, is_causal=True)


# --- parts ------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 5), st.booleans())
def test_parts_of_the_keys_merge_to_the_whole(seed, parts, some_empty):
    rng = np.random.default_rng(seed)
    query, key, value = (rng.standard_normal((2, T, 6)) for T in (4, 5 * parts, 5 * parts))
    mask = rng.random((4, 5 * parts)) < 0.5
    mask[0] &= not some_empty
    whole = headwork.attention(query, key, value, mask=mask, return_logsumexp=True)
    cuts = [slice(5 * i, 5 * i + 5) for i in range(parts)]
    pieces = [
        headwork.attention(query, key[:, c], value[:, c], mask=mask[:, c], return_logsumexp=True)
        for c in cuts
    ]
    merged = fast.merge(*zip(*pieces, strict=True))
    for got, right in zip(merged, whole, strict=True):
        np.testing.assert_allclose(got, right, rtol=0, atol=1e-12)


def test_merge_refuses_parts_that_do_not_fit():
    with pytest.raises(ShapeError, match="one logsumexp"):
        headwork.merge(np.zeros((2, 3, 4)), np.zeros((2, 4)))
    with pytest.raises(ShapeError, match="all parts need the same"):
        headwork.merge([np.zeros((3, 4)), np.zeros((2, 4))], np.zeros((2, 3)))
