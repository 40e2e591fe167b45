"""Arrays of other libraries: read without copying, and results handed back as the same kind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array, as_floats
from ..errors import NumberError

GiveBack = Callable[[Array], Any]


def library_of(values: object) -> str:
    """The library that an array is from: "numpy", "torch", "jax", …; "numpy" for lists too."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return "numpy"
    root = type(values).__module__.partition(".")[0]
    return "jax" if root == "jaxlib" else root


def refuse_hidden(name: str, values: object) -> None:
    """Raise NumberError for a NumPy array that hides some of its entries: they would count all the same."""
    ma = sys.modules.get("numpy.ma")  # without it there is no such array
    if ma and isinstance(values, ma.MaskedArray) and ma.is_masked(values):
        raise NumberError(
            f"{name} is a masked array with hidden entries. Fill them ({name}.filled(0)), and say with mask= "
            f"which keys may be seen."
        )


def read(name: str, values: object) -> Array:
    """`values` as a NumPy array over the same memory where that is possible.

    Raises what `as_floats` raises: an array on another device, one that is being traced; NumberError for a
    masked array.
    """
    refuse_hidden(name, values)
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        import torch  # NumPy has no such type: the same bits as int16

        assert isinstance(values, torch.Tensor)
        return np.asarray(values.detach().view(torch.int16)).view(DTYPES["bfloat16"])
    if library_of(values) == "torch":
        values = values.detach()  # type: ignore[attr-defined]
    return as_floats(name, values)


def give_back(like: object) -> GiveBack:
    """What turns a NumPy array into an array of the library that `like` is from, where that says how."""
    library = library_of(like)
    if library == "numpy":
        return lambda array: array
    if library == "torch":
        return _as_tensor
    module = sys.modules.get("jax.numpy" if library == "jax" else library) or importlib.import_module(library)
    convert = getattr(module, "asarray", None) or getattr(module, "from_dlpack", None)
    return lambda array: convert(array) if convert else array


def _as_tensor(array: Array) -> Any:
    import torch

    if array.dtype == DTYPES["bfloat16"]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
