"""Arrays on their way to somebody's function and back, in every library, dtype and memory layout."""

import dataclasses
import sys
import types
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest

from headwork.conformance.kinds import (
    LAYOUTS,
    NotArraysError,
    laid,
    outputs_of,
    same_bits,
    to_library,
    to_numpy,
)

DTYPES = ["float64", "float32", "float16", ml_dtypes.bfloat16, "int64", "int32", "bool"]
EIGHT_BITS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def numbers(dtype, shape=(2, 3, 4, 5)):
    return (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("dtype", [*DTYPES, *EIGHT_BITS], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_there_and_back_changes_nothing(library, dtype, layout):
    pytest.importorskip(library)
    for shape in [(), (0, 3), (4,), (3, 5), (1, 1), (2, 3, 4, 5)]:
        array = numbers(dtype, shape)
        handed = to_library(array, library, "cpu", layout)
        assert tuple(handed.shape) == shape
        assert same_bits(to_numpy(handed), array)


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float16", ml_dtypes.bfloat16, "int32", "bool"],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_there_and_back_by_jax(dtype):
    pytest.importorskip("jax")
    assert same_bits(to_numpy(to_library(numbers(dtype), "jax")), numbers(dtype))


def test_a_device_that_is_not_there_is_an_exception():
    pytest.importorskip("torch")
    with pytest.raises(Exception, match="device"):
        to_library(numbers("float32"), "torch", "nothing:3")


def test_what_a_function_does_to_its_array_does_not_reach_ours():
    array = numbers("float64")
    for layout in LAYOUTS:
        to_library(array, "numpy", "cpu", layout)[...] = 9
    assert same_bits(array, numbers("float64"))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_layouts_are_real(library):
    pytest.importorskip(library)

    def strides(array, layout):
        handed = to_library(array, library, "cpu", layout)
        return (
            handed.stride()
            if library == "torch"
            else tuple(step // array.itemsize for step in handed.strides)
        )

    array = numbers("float32")  # (2, 3, 4, 5)
    assert strides(array, "contiguous") == (60, 20, 5, 1)
    assert strides(array, "strided") == (120, 40, 10, 2)
    assert strides(array, "transposed") == (60, 5, 15, 1)  # (2, 4, 3, 5) in memory
    assert strides(array[0, 0], "transposed") == (1, 4)
    assert strides(np.broadcast_to(array[:1], (2, 3, 4, 5)), "expanded") == (0, 20, 5, 1)
    assert strides(np.broadcast_to(array[:, :1], (2, 3, 4, 5)), "expanded") == (20, 0, 5, 1)
    assert strides(array, "expanded") == strides(array, "contiguous")  # nothing repeats


def test_between_strided_entries_lies_nan():
    assert np.isnan(laid(numbers("float32"), "strided").buffer[1::2]).all()


def test_nested_lists_are_a_library_too():
    assert to_library(numbers("int64", (2, 2)), "list") == [[0, 1], [2, 3]]


# ---------------------------------------------------------------- libraries that are not installed here


class Speaker:
    """Speaks DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_whatever_speaks_dlpack_or_array_is_read():
    array = numbers("float32")
    assert same_bits(to_numpy(Speaker(array)), array)
    assert same_bits(to_numpy(np.ma.masked_array(array)), array)


def test_a_module_that_takes_arrays_is_handed_them(monkeypatch):
    module = types.ModuleType("tensors")
    module.asarray = Speaker
    monkeypatch.setitem(sys.modules, "tensors", module)
    handed = to_library(numbers("float32"), "tensors")
    assert isinstance(handed, Speaker)
    del module.asarray
    with pytest.raises(NotArraysError, match="neither from_dlpack nor asarray"):
        to_library(numbers("float32"), "tensors")


class CupyArray:
    """Like CuPy's: it refuses to become a NumPy array by itself."""

    __module__ = "cupy"

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def get(self):
        return self.array


class Device:
    def __init__(self, index):
        assert index in (0, 1)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def test_cupy_is_handed_its_own_arrays_and_read_from_its_device(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.asarray = lambda array: array
    cupy.cuda = types.SimpleNamespace(Device=Device)

    def as_strided(array, shape, strides):
        return CupyArray(np.lib.stride_tricks.as_strided(array, shape, strides))

    cupy.lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=as_strided))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for device in ("cuda", "cuda:1"):
        assert same_bits(
            to_numpy(to_library(numbers("float32"), "cupy", device, "strided")), numbers("float32")
        )


# ---------------------------------------------------------------- what is returned

A, B = np.array([1.0, 2.0]), np.array([3.0])
Pair = namedtuple("Pair", "output weights")


@dataclasses.dataclass
class Record:
    output: np.ndarray
    weights: np.ndarray | None = None


RETURNED = [
    # what is returned                          arrays     names
    (A, [A], [""]),
    ((A, B), [A, B], ["", ""]),
    ([A, B], [A, B], ["", ""]),
    ((A, None, B), [A, B], ["", ""]),
    ({"output": A, "lse": B}, [A, B], ["output", "lse"]),
    (Pair(A, B), [A, B], ["output", "weights"]),
    (Record(A), [A], ["output"]),
    ((A, (B, {"cache": A})), [A, B, A], ["", "", "cache"]),
    ([[1.0, 2.0], [3.0, 4.0]], [np.array([[1.0, 2.0], [3.0, 4.0]])], [""]),
    ((1.0, 2.0), [A], [""]),
    (2.5, [np.array(2.5)], [""]),
    (np.float32(2.5), [np.array(2.5, np.float32)], [""]),
    ([np.float64(1.0), np.float64(2.0)], [np.array(1.0), np.array(2.0)], ["", ""]),
]


@pytest.mark.parametrize(("returned", "arrays", "names"), RETURNED, ids=lambda value: type(value).__name__)
def test_the_arrays_in_what_is_returned_are_found(returned, arrays, names):
    outputs = outputs_of(returned)
    assert [output.name for output in outputs] == names
    assert len(outputs) == len(arrays)
    assert all(same_bits(output.array, array) for output, array in zip(outputs, arrays, strict=True))


def test_the_kind_is_the_type_as_it_came():
    assert [output.kind for output in outputs_of((A, 1.5, Speaker(A)))] == [
        "numpy.ndarray",
        "float",
        f"{__name__.partition('.')[0]}.Speaker",
    ]


def test_torch_tensors_are_read_whatever_holds_on_to_them():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([1 + 2j, 3], requires_grad=True)
    np.testing.assert_array_equal(to_numpy(tensor.conj()), [1 - 2j, 3])
    assert outputs_of(torch.ones(2))[0].kind == "torch.Tensor"
    with pytest.raises(NotArraysError, match=r"a torch\.Tensor that cannot be read"):
        to_numpy(torch.ones(2, 2).to_sparse())
    with pytest.raises(NotArraysError, match=r"a torch\.Tensor that cannot be read"):
        to_numpy(torch.ones(2, device="meta"))


def test_a_sparse_matrix_is_no_array():
    csr_matrix = type("csr_matrix", (), {"__module__": "scipy.sparse"})
    with pytest.raises(NotArraysError, match=r"a scipy\.csr_matrix"):
        outputs_of(csr_matrix())
