"""Functions and modules of PyTorch, JAX and ONNX are recognised as NumPy's are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwork.conformance.adapter import Interface, recognise
from headwork.conformance.asking import CannotAskError
from headwork.conformance.battery import draw_battery
from headwork.conformance.calls import Call, Outcome
from headwork.conformance.features import FEATURES
from headwork.conformance.here import Here
from headwork.conformance.performing import perform
from headwork.conformance.stated import Stated
from headwork.mechanism.tracing import trace

TOLERANCE = {"float64": 1e-9, "float32": 2e-4}


def features(interface: Interface) -> set[str]:
    there = {feature.id for feature in FEATURES if interface.supports(feature.id)}
    return there - {"basic", "cache", "dtypes", "gradients"}


def check_answers(subject: Any, interface: Interface, each: int = 2) -> None:
    """The first cases of each feature come back right."""
    asked: dict[str, int] = {}
    for case in draw_battery(interface.supports, interface.dtypes[:1], interface.sizes, interface.alignment):
        step = case.step
        if (
            case.lenient
            or step == "gradients"
            or asked.get(case.feature, 0) >= each
            or case.sizes["Tk"] > 100
        ):
            continue
        problem, want = interface.suited(case.problem), step.replace("output", "")
        try:
            call = interface.call_for(problem, want)
        except CannotAskError:
            continue
        answers, tolerance = interface.answers(problem, subject.call(call), want), TOLERANCE[case.dtype]
        asked[case.feature] = asked.get(case.feature, 0) + 1
        np.testing.assert_allclose(answers.values[step], trace(problem)[step], rtol=tolerance, atol=tolerance)
    assert set(asked) >= {"basic"} | features(interface) - {"cache"}


# --- torch ----------------------------------------------------------------------------------------


def torch_zoo() -> list[tuple[str, Any, str, str, dict[str, str]]]:
    """name, function or module, layout, features, conventions."""
    torch = pytest.importorskip("torch")
    nn, F = torch.nn, torch.nn.functional

    def softmax_product(scores, v):
        return torch.softmax(scores, -1) @ v

    def eager_attention_forward(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
        key = key.repeat_interleave(module.num_key_value_groups, 1)
        value = value.repeat_interleave(module.num_key_value_groups, 1)
        scores = query @ key.transpose(2, 3) * scaling
        if attention_mask is not None:
            scores = scores + attention_mask[:, :, :, : key.shape[-2]]
        weights = F.dropout(torch.softmax(scores, -1), dropout, training=module.training)
        return (weights @ value).transpose(1, 2).contiguous(), weights

    def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        k, v = (x.repeat_interleave(q.size(1) // k.size(1), 1) for x in (k, v))
        scores = q @ k.mT * (softmax_scale or q.size(-1) ** -0.5)
        if causal:
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(k.size(2) - q.size(2)).logical_not()
            scores = scores.masked_fill(hidden, -math.inf)
        return softmax_product(scores, v).transpose(1, 2)

    def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None):
        query, key, value = (x.transpose(1, 2) for x in (query, key, value))
        scores = query @ key.mT * (scale or query.size(-1) ** -0.5)
        return softmax_product(scores if attn_bias is None else scores + attn_bias, value).transpose(1, 2)

    def bmm(query, key, value, attn_mask=None):
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.size(-1))
        return softmax_product(
            scores if attn_mask is None else scores.masked_fill(attn_mask == 0, -1e9), value
        )

    class Autograd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):
            return softmax_product(q @ k.mT / math.sqrt(q.size(-1)), v)

    class DotProduct(nn.Module):
        """No weights of its own."""

        def __init__(self, heads=None):
            super().__init__()
            self.dropout, self.heads = nn.Dropout(0.5), heads

        def forward(self, q, k, v, mask=None):
            if self.heads:
                q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (q, k, v))
            scores = q @ k.mT / math.sqrt(q.size(-1))
            if mask is not None:
                scores = scores.masked_fill(mask == 0, -math.inf)
            out = self.dropout(torch.softmax(scores, -1)) @ v
            return out.transpose(1, 2).flatten(-2) if self.heads else out

    class CausalSelfAttention(nn.Module):
        """As in nanoGPT: embeddings in, all projections inside."""

        def __init__(self, width=32, heads=2):
            super().__init__()
            self.c_attn, self.c_proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

        def forward(self, x):
            parts = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.c_attn(x).chunk(3, -1))
            y = F.scaled_dot_product_attention(*parts, is_causal=True)
            return self.c_proj(y.transpose(1, 2).flatten(-2))

    class Separate(nn.Module):
        """As in The Annotated Transformer."""

        def __init__(self, width=24, heads=3):
            super().__init__()
            self.linears = nn.ModuleDict(
                {name: nn.Linear(width, width) for name in ("w_q", "w_k", "w_v", "w_o")}
            )
            self.heads = heads

        def forward(self, query, key, value, mask=None):
            named = zip(("w_q", "w_k", "w_v"), (query, key, value), strict=True)
            q, k, v = (self.linears[n](x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for n, x in named)
            scores = q @ k.mT / math.sqrt(q.size(-1))
            if mask is not None:
                scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
            return self.linears["w_o"](softmax_product(scores, v).transpose(1, 2).flatten(-2))

    return [
        ("sdpa", F.scaled_dot_product_attention, "BHTD", "scale mask-bool mask-float causal grouped-heads", {"causal": "upper_left", "mask": "attend"}),
        ("eager", eager_attention_forward, "BHTD", "scale mask-float weights grouped-heads", {"empty rows": "nan"}),
        ("flash", flash_attn_func, "BTHD", "scale causal grouped-heads", {"causal": "lower_right"}),
        ("xformers", memory_efficient_attention, "BTHD", "scale mask-float", {}),
        ("bmm", bmm, "BTD", "mask-bool", {"mask": "attend", "empty rows": "uniform"}),
        ("autograd", Autograd.apply, "BHTD", "", {}),
        ("module", DotProduct().eval(), "BHTD", "mask-bool", {"mask": "attend"}),
        ("heads of its own", DotProduct(4).eval(), "BTE", "mask-bool", {"mask": "attend"}),
        ("nanoGPT", CausalSelfAttention().eval(), "BTE", "causal", {"causal always": "yes"}),
        ("separate", Separate().eval(), "BTE", "mask-bool", {"mask": "attend"}),
        ("multihead, batch first", nn.MultiheadAttention(32, 4, batch_first=True).eval(), "BTE", "mask-bool mask-float lengths weights", {"mask": "drop", "empty rows": "nan"}),
        ("multihead", nn.MultiheadAttention(32, 4, bias=False).eval(), "TBE", "mask-bool mask-float lengths weights", {"mask": "drop"}),
    ]  # fmt: skip


@pytest.mark.parametrize("at", range(12))
def test_functions_and_modules_of_torch_are_recognised_and_asked_in_their_own_terms(at: int) -> None:
    _, function, layout, expected, conventions = torch_zoo()[at]
    subject = Here(function)
    interface = recognise(subject)
    assert not interface.failure
    assert interface.ways.library == "torch"
    layouts = interface.ways.layouts
    assert (layouts.get("x") or layouts["query"]) == layout
    assert features(interface) == set(expected.split())
    assert {name: interface.conventions.get(name) for name in conventions} == conventions
    check_answers(subject, interface)


def test_a_module_keeps_its_own_weights() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.MultiheadAttention(32, 4)
    before = {name: weight.detach().clone() for name, weight in module.named_parameters()}
    recognise(Here(module))
    assert all(torch.equal(weight, before[name]) for name, weight in module.named_parameters())


def test_a_module_with_other_weights_says_why_it_cannot_be_run() -> None:
    torch = pytest.importorskip("torch")

    class Normed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.q_norm = torch.nn.Linear(8, 24), torch.nn.LayerNorm(8)

        def forward(self, x):
            return x

    assert "weights of its own beside its projections: q_norm.weight" in recognise(Here(Normed())).failure


def test_a_mistake_inside_a_module_changes_nothing_in_what_is_recognised() -> None:
    torch = pytest.importorskip("torch")

    def never_scaled(query, key, value, attn_mask=None):
        scores = query @ key.mT
        return torch.softmax(scores if attn_mask is None else scores.masked_fill(~attn_mask, 0.0), -1) @ value

    interface = recognise(Here(never_scaled))
    assert interface.ways.layouts["query"] == "BHTD"
    assert interface.supports("mask-bool")


def test_a_mask_beside_the_causal_switch_goes_into_the_mask_where_both_are_refused() -> None:
    torch = pytest.importorskip("torch")
    interface = recognise(Here(torch.nn.functional.scaled_dot_product_attention))
    assert interface.ways.either


# --- JAX ------------------------------------------------------------------------------------------


def test_the_attention_of_jax_is_recognised() -> None:
    jax = pytest.importorskip("jax")

    def attention(query, key, value, mask=None, is_causal=False):  # fewer options: each call compiles anew
        return jax.nn.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)

    interface = recognise(Here(attention), Stated(dtypes=("float32",), library="jax"))
    assert interface.ways.layouts["query"] == "BTHD"
    assert features(interface) == {"mask-bool", "causal", "grouped-heads"}
    assert interface.conventions["causal"] == "upper_left"
    assert interface.conventions["mask"] == "attend"


def test_a_jitted_function_is_recognised() -> None:
    jax = pytest.importorskip("jax")

    @jax.jit
    def attention(q, k, v):
        scores = jax.numpy.einsum("btnh,bsnh->bnts", q, k) / q.shape[-1] ** 0.5
        return jax.numpy.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, -1), v)

    assert recognise(Here(attention), Stated(dtypes=("float32",))).ways.layouts["query"] == "BTHD"


# --- ONNX -----------------------------------------------------------------------------------------


class Model:
    """A model as a Subject, in this process."""

    def __init__(self, path: Path) -> None:
        from headwork.conformance.onnx_models import Model as OnnxModel

        self.model = OnnxModel(str(path), "reference")
        self.signature = self.model.signature

    def call(self, call: Call) -> Outcome:
        return perform(self.model, call)

    def close(self) -> None: ...


ONNX = [
    # inputs (name: axes, type), attributes, layout, features, conventions
    ("Q:BHQD K:BHKD V:BHKD", {}, "BHTD", "grouped-heads", {}),
    ("Q:BHQD K:BHKD V:BHKD attn_mask:BHQK:bool", {}, "BHTD", "mask-bool grouped-heads", {"mask": "attend"}),
    ("Q:BHQD K:BHKD V:BHKD attn_mask:BHQK", {}, "BHTD", "mask-float grouped-heads", {}),
    ("Q:BHQD K:BHKD V:BHKD", {"is_causal": 1}, "BHTD", "causal grouped-heads", {"causal": "upper_left"}),
    ("Q:BQE K:BKE V:BKE", {"q_num_heads": 2, "kv_num_heads": 2}, "BTE", "", {}),
    (
        "Q:BHQD K:BHKD V:BHKD - past_key:BHPD past_value:BHPD",
        {"is_causal": 1},
        "BHTD",
        "causal grouped-heads",
        {},
    ),
]


@pytest.mark.parametrize(("inputs", "attributes", "layout", "expected", "conventions"), ONNX)
def test_the_attention_node_of_onnx_is_recognised(
    inputs: str,
    attributes: dict[str, int],
    layout: str,
    expected: str,
    conventions: dict[str, str],
    tmp_path: Path,
) -> None:
    subject = Model(saved(tmp_path, inputs, attributes))
    interface = recognise(subject)
    assert not interface.failure
    assert interface.ways.layouts["query"] == layout
    assert features(interface) == set(expected.split())
    assert {name: interface.conventions.get(name) for name in conventions} == conventions
    check_answers(subject, interface)


def saved(folder: Path, inputs: str, attributes: dict[str, int]) -> Path:
    onnx = pytest.importorskip("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    names, infos = [], []
    for word in inputs.split():
        name, axes, kind = [*word.replace("-", "").split(":"), "", ""][:3]
        names.append(name)
        if name:
            made = helper.make_tensor_value_info(
                name, types.BOOL if kind else types.FLOAT, [f"{name}{axis}" for axis in axes]
            )
            infos.append(made)
    has_past = "past_key" in names
    outputs = ["Y", "present_key", "present_value"] if has_past else ["Y"]
    node = helper.make_node("Attention", names, outputs, **attributes)
    results = [helper.make_tensor_value_info(name, types.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], "attention", infos, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    path = folder / "attention.onnx"
    onnx.save(model, path)
    return path
