"""The smallest failing input as a Python file that somebody can paste: arrays, the call, what it should
give."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from .calls import Settings
from .report import Check, Failing
from .targets import Target

IMPORTS = {"torch": "import torch", "jax": "import jax.numpy as jnp", "cupy": "import cupy"}
MAKES = {  # how an array of a library is written
    "torch": "torch.tensor({values}, dtype=torch.{dtype})",
    "jax": "jnp.array({values}, dtype=jnp.{dtype})",
    "cupy": "cupy.array({values}, dtype=cupy.{dtype})",
    "list": "{values}",
}
PLAIN = "np.array({values}, dtype={dtype})"
NARROW = "import ml_dtypes"
BY_NAME = ("onnx", "command")  # what gives arrays by name


def reproduction(check: Check, target: Target | None = None) -> str:
    """A Python file that calls the function on the smallest failing input and compares; "" where nothing
    failed.

    target  where the function comes from, for its import
    """
    failing = check.failing
    if failing is None:
        return ""
    arguments = dict(_arguments(failing))
    library = failing.call.library
    lines = [
        f'"""{_docstring(failing)}"""',
        "",
        *_imports(failing, library),
        "",
        *_import_of(check, target, failing.case.dtype),
        "",
        *(f"{name} = {_written(value, library)}" for name, value in arguments.items()),
        f"expected = {_array(failing.expected, 'numpy')}",
        "",
        *_weights(failing, check.name),
        f"result = {_call(check, failing)}",
        f"output = {_picked(check, failing)}",
        'print("expected", expected, "got", output, sep="\\n")',
        "np.testing.assert_allclose(np.asarray(output, dtype=np.float64), expected, "
        f"rtol=0, atol={max(failing.allowed, 1e-300):.3g})",
        "",
    ]
    text = "\n".join(lines)
    words = [word for word in ("inf", "nan") if re.search(rf"\b{word}\b", text)]
    return (
        text.replace("import numpy as np\n", f"import numpy as np\nfrom numpy import {', '.join(words)}\n", 1)
        if words
        else text
    )


def _docstring(failing: Failing) -> str:
    said = failing.said.replace("\\", "").replace('"""', "'''")
    sizes = ", ".join(f"{letter} = {size}" for letter, size in failing.case.sizes.items())
    smallest = f"The smallest input on which that was seen ({sizes})"
    return f"{said}\n\n{smallest}; why it was asked: {failing.case.why}.\n"


def _imports(failing: Failing, library: str) -> Iterator[str]:
    arrays = (*failing.call.positional, *failing.call.keywords.values())
    if any(isinstance(value, Settings) for value in arrays):
        yield "from types import SimpleNamespace"
        yield ""
    if library not in IMPORTS and failing.case.dtype == "bfloat16":
        yield NARROW
    yield "import numpy as np"
    if library in IMPORTS:
        yield IMPORTS[library]


def _name(check: Check) -> str:
    """What the function is called in the file."""
    if check.interface.signature.kind in BY_NAME:
        return "attention"
    return check.name.rpartition(".")[2] or "attention"


def _import_of(check: Check, target: Target | None, dtype: str) -> Iterator[str]:
    name, kind = check.name or "attention", check.interface.signature.kind
    if target is not None and kind in BY_NAME:
        yield from _made_by_headwork(target)
        return
    first = name.partition(".")[0]
    if target is not None and target.kind == "file":
        path = Path(target.place)
        yield "import sys"
        yield ""
        yield f"sys.path.insert(0, {str(path.parent)!r})"
        yield f"from {path.stem} import {first}  # noqa: E402"
    elif target is not None and target.kind == "module":
        yield f"from {target.place} import {first}"
    else:
        yield f"from your_module import {first}  # the function that was checked"
    yield from _made(name, first)
    if kind == "module":
        yield f"{name.rpartition('.')[2]}.eval().to(torch.{dtype})"


def _made(name: str, first: str) -> Iterator[str]:
    """The object of a class, as a check makes it, and its method; nothing for a function."""
    if name == first and not first[:1].isupper():
        return
    yield ""
    yield f"{first} = {first}() if isinstance({first}, type) else {first}"
    if name != first:
        yield f"{name.rpartition('.')[2]} = {name}"


def _made_by_headwork(target: Target) -> Iterator[str]:
    """A model or a command is called as a check calls it."""
    if target.kind == "onnx":
        yield "from headwork.conformance.onnx_models import Model"
        yield ""
        yield f"attention = Model({target.place!r}, {target.engine!r}, {target.device!r})"
    else:
        yield "from headwork.conformance.commands import Command"
        yield ""
        yield f"attention = Command({target.place!r}, {target.takes!r})"


def _call(check: Check, failing: Failing) -> str:
    called = f"{_name(check)}({', '.join(_handed(failing))})"
    is_named = check.interface.signature.kind in BY_NAME
    return f"list({called}.values())" if is_named else called


def _arguments(failing: Failing) -> Iterator[tuple[str, Any]]:
    """Everything that is too long for the call itself, by name."""
    for name, value in (
        *zip(failing.names, failing.call.positional, strict=False),
        *failing.call.keywords.items(),
    ):
        if isinstance(value, np.ndarray | Settings):
            yield name, value


def _handed(failing: Failing) -> Iterator[str]:
    for name, value in zip(failing.names, failing.call.positional, strict=False):
        yield name if isinstance(value, np.ndarray | Settings) else repr(value)
    for name, value in failing.call.keywords.items():
        yield f"{name}={name if isinstance(value, np.ndarray | Settings) else repr(value)}"


def _written(value: Array | Settings, library: str) -> str:
    if isinstance(value, Settings):
        return f"SimpleNamespace({', '.join(f'{name}={each!r}' for name, each in value.values.items())})"
    return _array(value, library)


def _array(array: Array, library: str) -> str:
    wide = array.dtype.kind in "fV"
    values = repr((array.astype(np.float64) if wide else array).tolist())
    dtype = "bool" if array.dtype == bool else array.dtype.name
    if library in MAKES:
        return MAKES[library].format(
            values=values, dtype="bool_" if library == "jax" and dtype == "bool" else dtype
        )
    prefix = "ml_dtypes." if dtype == "bfloat16" else "np."
    return PLAIN.format(values=values, dtype="bool" if dtype == "bool" else prefix + dtype)


def _weights(failing: Failing, name: str) -> Iterator[str]:
    weights: Mapping[str, Array] = failing.call.weights
    if weights:
        own = name.rpartition(".")[2]
        yield "weights = {"
        yield from (f"    {key!r}: {_array(array, 'torch')}," for key, array in weights.items())
        yield "}"
        yield f"{own}.load_state_dict(weights, strict=False)"


def _picked(check: Check, failing: Failing) -> str:
    ways, step = check.interface.ways, failing.case.step
    if failing.call.out:
        return failing.call.out
    want = ways.flag_for(step) if step in ("weights", "logsumexp") else ""
    names = ways.returns.get(want, ("output",))
    is_one = len(names) == 1 and check.interface.signature.kind not in BY_NAME
    picked = "result" if is_one else f"result[{names.index(step) if step in names else 0}]"
    return f"{picked}.detach().double().cpu().numpy()" if failing.call.library == "torch" else picked
