"""An ONNX model as a function of its graph inputs: run by onnxruntime where it is installed, else by onnx."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import DTYPES, Array
from ..errors import FileError, HeadworkError
from .calls import Parameter, Signature

RUNTIME = {  # onnxruntime's words for dtypes
    "tensor(double)": "float64",
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(bfloat16)": "bfloat16",
    "tensor(bool)": "bool",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
}


class Model:
    """Called with arrays by the names of the graph's inputs, or in their order; gives its outputs by name."""

    def __init__(self, path: str, engine: str = "", device: str = "cpu") -> None:
        engine = engine or _installed()
        _refuse_device(engine, device)
        try:
            self._run = _Runtime(path, device) if engine == "onnxruntime" else _Reference(path)
        except Exception as error:
            text = " ".join(str(error).split())
            raise FileError(
                f"{path} cannot be read as an ONNX model: {type(error).__name__}: {text}"
            ) from None
        self._inputs = {parameter.name: parameter.annotation for parameter in self._run.inputs}
        package = "onnx" if engine == "reference" else engine
        self.signature = Signature(
            name=Path(path).name,
            kind="onnx",
            library="numpy",
            parameters=self._run.inputs,
            doc=f"Run by {'the reference evaluator of ' if engine == 'reference' else ''}"
            f"{package} {version(package)}.",
        )

    def __call__(self, *positional: Any, **keywords: Any) -> dict[str, Array]:
        given = dict(zip(self._inputs, positional, strict=False)) | keywords
        feeds = {name: self._array(name, value) for name, value in given.items() if value is not None}
        return self._run(feeds)

    def _array(self, name: str, value: Any) -> Array:
        """Arrays as they are; a number in the dtype that this input has."""
        if isinstance(value, np.ndarray):
            return value
        kind = self._inputs.get(name, "").partition("[")[0]
        return np.asarray(value, DTYPES.get(kind, kind) or None)


class _Runtime:
    def __init__(self, path: str, device: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors: they come as exceptions all the same
        first = ["CUDAExecutionProvider"] if device.startswith("cuda") else []
        self._session = onnxruntime.InferenceSession(
            path, options, providers=[*first, "CPUExecutionProvider"]
        )
        self._outputs = [one.name for one in self._session.get_outputs()]
        optional = {one.name for one in self._session.get_overridable_initializers()}
        self.inputs = tuple(
            _parameter(one.name, RUNTIME.get(one.type, one.type), one.shape, one.name in optional)
            for one in (*self._session.get_inputs(), *self._session.get_overridable_initializers())
        )

    def __call__(self, feeds: dict[str, Array]) -> dict[str, Array]:
        return dict(zip(self._outputs, self._session.run(self._outputs, feeds), strict=True))


class _Reference:
    def __init__(self, path: str) -> None:
        import onnx
        from onnx.reference import ReferenceEvaluator

        model = onnx.load(path)
        self._evaluator = ReferenceEvaluator(model)
        optional = {one.name for one in model.graph.initializer}
        self.inputs = tuple(_graph_input(one, one.name in optional) for one in model.graph.input)

    def __call__(self, feeds: dict[str, Array]) -> dict[str, Array]:
        return dict(zip(self._evaluator.output_names, self._evaluator.run(None, feeds), strict=True))


def _graph_input(one: Any, optional: bool) -> Parameter:
    import onnx

    tensor = one.type.tensor_type
    shape = [size.dim_param or size.dim_value for size in tensor.shape.dim]
    return _parameter(one.name, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name, shape, optional)


def _parameter(name: str, kind: str, shape: list[Any], optional: bool) -> Parameter:
    sizes = ",".join(str(size) if size else "?" for size in shape)
    return Parameter(name, "either", "None" if optional else None, f"{kind}[{sizes}]")


def _refuse_device(engine: str, device: str) -> None:
    """onnxruntime would run on the CPU without a word."""
    if device == "cpu":
        return
    has = ["CPUExecutionProvider"]
    if engine == "onnxruntime":
        import onnxruntime

        has = onnxruntime.get_available_providers()
    if not device.startswith("cuda") or "CUDAExecutionProvider" not in has:
        raise HeadworkError(f"The device {device!r} cannot be used here: {engine} has {', '.join(has)}.")


def _installed() -> str:
    for package, engine in (("onnxruntime", "onnxruntime"), ("onnx", "reference")):
        if find_spec(package):
            return engine
    raise HeadworkError(
        "An ONNX model needs onnxruntime or onnx, and neither is installed here. Try: pip install onnxruntime"
    )
