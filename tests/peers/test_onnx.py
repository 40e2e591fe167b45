"""Every node test of ONNX's Attention operator, opsets 23 to 25, and every output that it asks for."""

import warnings
from typing import Any

import numpy as np
import pytest
from onnx_adapter import attention, fast_output

onnx = pytest.importorskip("onnx")


def collect() -> list[Any]:
    """The cases; those called "_expanded" hold the same numbers as a graph of simpler operators."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):  # it builds every operator's; some overflow
        warnings.simplefilter("ignore")
        cases = collect_testcases("Attention")
    return [case for case in cases if "attention" in case.name and not case.name.endswith("_expanded")]


CASES = collect()
ONNX_TOLERANCE = {"rtol": 1e-3, "atol": 1e-7}  # what ONNX asks of a backend


def node_and_arrays(case: Any) -> tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The operator's node, and by name its inputs and the outputs that it asks for."""
    (node,), ((inputs, outputs),) = case.model.graph.node, case.data_sets
    return node, named(node.input, inputs), named(node.output, outputs)


def named(names: list[str], arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip([name for name in names if name], arrays, strict=True))


def test_all_cases_were_collected():
    assert len(CASES) == 93
    assert {case.model.opset_import[0].version for case in CASES} == {23, 24, 25}
    asked = [name for case in CASES for name in node_and_arrays(case)[2]]
    # counted in the node lists themselves
    assert {name: asked.count(name) for name in asked} == {
        "Y": 93, "present_key": 21, "present_value": 21, "qk_matmul_output": 18,
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.removeprefix("test_attention_"))
def test_every_output_agrees(case: Any):
    node, inputs, expected = node_and_arrays(case)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    got = attention(inputs, attributes)
    for name, right in expected.items():
        assert got[name].dtype == right.dtype, name
        assert got[name].shape == right.shape, name
        np.testing.assert_allclose(widened(got[name]), widened(right), err_msg=name, **tolerance(right))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.removeprefix("test_attention_"))
def test_the_fast_engine_agrees(case: Any):
    node, inputs, expected = node_and_arrays(case)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    got, right = fast_output(inputs, attributes), expected["Y"]
    assert got.shape == right.shape
    np.testing.assert_allclose(got.astype(right.dtype).astype(float), widened(right), **tolerance(right))


def tolerance(right: np.ndarray) -> dict[str, float]:
    """ONNX's own; for bfloat16, whose neighbours are further apart than 1e-3, one unit in the last place.

    It is the unit of the largest value: ONNX rounds each step, and small outputs are off by two of their own.
    """
    if right.dtype.name != "bfloat16":
        return ONNX_TOLERANCE
    exponent = np.floor(np.log2(np.abs(widened(right)).max()))
    return {"rtol": 0.0, "atol": 2.0 ** (exponent - 7)}  # 8 bits of significand


def widened(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)
