"""Arrays from .npy, .npz and .safetensors files, which may be damaged or hostile: nothing is unpickled.

A few bytes can claim to hold petabytes. What an archive declares is held against the memory of this machine
before it is unpacked, and what an array declares against the bytes that are there.
"""

from __future__ import annotations

import io
import json
import math
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from ..arrays import Array
from ..errors import FileError, HeadworkError, TooLargeError
from ..mechanism.tracing import memory_left

NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK"
SAFETENSORS_DTYPES: dict[str, np.dtype[Any]] = {
    **{f"F{bits}": np.dtype(f"f{bits // 8}") for bits in (64, 32, 16)},
    **{f"{kind}{bits}": np.dtype(f"{kind.lower()}{bits // 8}") for kind in "IU" for bits in (64, 32, 16, 8)},
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "BOOL": np.dtype(bool),
}


def read_npy(raw: bytes, name: str) -> Array:
    """The array of a .npy file, read-only. Raises FileError."""
    with _told(name, ".npy file"):
        return _array(raw, name)


def read_npz(raw: bytes, name: str) -> dict[str, Array]:
    """The arrays of a .npz file by name, read-only. Raises FileError, TooLargeError."""
    with _told(name, ".npz archive"), zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.infolist()
        check_fits(name, sum(member.file_size for member in members))
        stems = [member.filename.removesuffix(".npy") for member in members]
        if len(set(stems)) < len(stems):
            raise FileError(f"{name} holds two arrays of the same name; keep one of the two.")
        return {
            stem: _array(archive.read(each), f"{stem} in {name}")
            for stem, each in zip(stems, members, strict=True)
        }


def read_safetensors(raw: bytes, name: str) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of a .safetensors file by name, read-only, and its metadata. Raises FileError."""
    import safetensors

    with _told(name, ".safetensors file"):
        tensors = safetensors.deserialize(raw)  # type: ignore[no-untyped-call]
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
        return {key: _tensor(tensor, f"{key} in {name}") for key, tensor in tensors}, header.get(
            "__metadata__"
        ) or {}


def check_fits(name: str, size: int) -> None:
    """Refuse what would not fit into memory twice, as bytes and as arrays. Raises TooLargeError."""
    if 2 * size > memory_left():
        raise TooLargeError(
            f"{name} holds {size / 2**30:,.1f} GiB when unpacked, and this machine has "
            f"{memory_left() / 2**30:,.1f} GiB of memory left. Take fewer tokens or heads."
        )


@contextmanager
def _told(name: str, kind: str) -> Iterator[None]:
    """Whatever a library says about a damaged file becomes one message that names the file."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except HeadworkError:
        raise
    except Exception as error:  # zlib, lzma, struct, tokenize, … : a hostile file may raise anything
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise FileError(
            f"{name} is no {kind} that can be read ({said}). Write it again, or use JSON."
        ) from None


def _array(raw: bytes, name: str) -> Array:
    """An array in the .npy format."""
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise FileError(f"{name} is in version {version} of the .npy format; save it again with numpy.save.")
    shape, is_fortran, dtype = read_header(stream)
    if dtype.hasobject:
        raise FileError(
            f"{name} holds Python objects, which are not unpickled. Save it as an array of numbers."
        )
    array = _from_bytes(raw[stream.tell() :], dtype, shape[::-1] if is_fortran else shape, name)
    return array.T if is_fortran else array


def _tensor(tensor: dict[str, Any], name: str) -> Array:
    if tensor["dtype"] not in SAFETENSORS_DTYPES:
        raise FileError(
            f"{name} has dtype {tensor['dtype']}; these are read: {', '.join(SAFETENSORS_DTYPES)}."
        )
    return _from_bytes(tensor["data"], SAFETENSORS_DTYPES[tensor["dtype"]], tuple(tensor["shape"]), name)


def _from_bytes(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> Array:
    size = math.prod(shape)
    if min(shape, default=0) < 0 or size * dtype.itemsize > len(data):
        raise FileError(
            f"{name} says that it has shape {_short(shape)}, but the file holds {len(data):,} bytes of it."
        )
    return (
        np.frombuffer(data, dtype, size).reshape(shape) if size * dtype.itemsize else np.empty(shape, dtype)
    )


def _short(shape: tuple[int, ...]) -> str:
    text = str(shape)
    return text if len(text) <= 60 else text[:57] + "..."
