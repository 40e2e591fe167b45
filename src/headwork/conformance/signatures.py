"""What can be seen of a function without calling it: its parameters, and whose arrays it takes."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from .calls import Parameter, Signature

LIBRARIES = ("torch", "jax", "cupy", "numpy")  # where a function uses several, the first of them is meant
LONGEST_DOC = 4000

KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "*args",
    inspect.Parameter.VAR_KEYWORD: "**kwargs",
}


def signature_of(function: Any, name: str = "") -> Signature:
    """The Signature of a Python function, a `torch.nn.Module` or anything else that can be called."""
    is_module = is_torch_module(function)
    called = function.forward if is_module else function
    return Signature(
        name=name or str(getattr(function, "__name__", type(function).__name__)),
        kind="module" if is_module else "function",
        library="torch" if is_module else _library(called),
        parameters=_parameters(called),
        doc=_doc(called)[:LONGEST_DOC],
        weights={name: tuple(p.shape) for name, p in function.named_parameters()} if is_module else {},
    )


def is_torch_module(thing: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


def _parameters(function: Any) -> tuple[Parameter, ...] | None:
    try:
        seen = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # compiled, and silent about it
        return _from_doc(function)
    except Exception:  # a `__signature__` that raises
        return None
    return tuple(
        Parameter(
            parameter.name,
            KINDS[parameter.kind],
            None if parameter.default is parameter.empty else _safe_repr(parameter.default),
            "" if parameter.annotation is parameter.empty else _written(parameter.annotation),
        )
        for parameter in seen
    )


def _from_doc(function: Any) -> tuple[Parameter, ...] | None:
    """The parameters as the first line of a docstring writes them, as torch's compiled functions do."""
    name = re.escape(str(getattr(function, "__name__", "")))
    written = re.match(rf"\s*{name}\(([^()]*)\)", _doc(function))
    if not name or not written:
        return None
    parameters, kind = [], "either"
    for part in filter(None, (piece.strip() for piece in written[1].split(","))):
        left, _, default = (side.strip() for side in part.partition("="))
        label, _, annotation = (side.strip() for side in left.partition(":"))
        if label == "*":
            kind = "keyword"
        elif label.isidentifier():
            parameters.append(Parameter(label, kind, default or None, annotation))
    return tuple(parameters)


def _library(function: Any) -> str:
    """By its annotations, the modules that its code names, those its file imports, and its home."""
    for names in (_annotated(function), _named_in_code(function), _in_scope(function), _home(function)):
        found = set(names)
        for library in LIBRARIES:
            if library in found:
                return library
    return ""


def _annotated(function: Any) -> Iterator[str]:
    for parameter in _parameters(function) or ():
        words = set(re.findall(r"\w+", parameter.annotation))
        if words & {"torch", "Tensor", "FloatTensor"}:
            yield "torch"
        if words & {"jax", "jnp", "jaxlib"}:
            yield "jax"
        if words & {"cupy", "cp"}:
            yield "cupy"
        if words & {"np", "numpy", "ndarray", "NDArray"}:
            yield "numpy"


def _unwrapped(function: Any) -> Any:
    while True:
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        inner = (
            inner
            or getattr(function, "__func__", None)
            or getattr(function, "_torchdynamo_orig_callable", None)
        )
        if inner is None and not hasattr(function, "__code__"):
            inner = getattr(type(function).__call__, "__code__", None) and type(function).__call__
        if inner is None or inner is function:
            return function
        function = inner


def _named_in_code(function: Any) -> Iterator[str]:
    function = _unwrapped(function)
    scope = getattr(function, "__globals__", {})
    for name in _names(getattr(function, "__code__", None)):
        yield _root(scope.get(name))


def _names(code: CodeType | None) -> Iterator[str]:
    if code is not None:
        yield from code.co_names
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _names(constant)


def _in_scope(function: Any) -> Iterator[str]:
    for thing in dict(getattr(_unwrapped(function), "__globals__", {})).values():
        yield _root(thing)


def _home(function: Any) -> Iterator[str]:
    yield str(getattr(_unwrapped(function), "__module__", "")).partition(".")[0]


def _root(thing: object) -> str:
    """The package a module or function comes from; "" for plain values."""
    if isinstance(thing, ModuleType):
        return thing.__name__.partition(".")[0]
    module = getattr(thing, "__module__", None) if callable(thing) else None
    return module.partition(".")[0] if isinstance(module, str) else ""


def _written(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type):
        return f"{annotation.__module__}.{annotation.__qualname__}".removeprefix("builtins.")
    return _safe_repr(annotation)


def _safe_repr(thing: object) -> str:
    try:
        return repr(thing)[:200]
    except Exception:  # somebody's own repr
        return f"a {type(thing).__name__}"


def _doc(function: Any) -> str:
    try:
        return inspect.getdoc(function) or ""
    except Exception:
        return ""
