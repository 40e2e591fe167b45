"""What is seen of a function without calling it."""

import functools

import numpy as np
import pytest

from headwork.conformance.calls import Parameter
from headwork.conformance.signatures import signature_of


def plain(q, k, v, /, mask=None, *rest, scale: float = 0.5, **more):
    """Attention."""
    return np.exp(q)


def names(function):
    return [parameter.name for parameter in signature_of(function).parameters]


def test_parameters_have_kind_default_and_annotation():
    signature = signature_of(plain)
    assert signature.name == "plain"
    assert signature.kind == "function"
    assert signature.doc == "Attention."
    assert signature.parameters == (
        Parameter("q", "positional"),
        Parameter("k", "positional"),
        Parameter("v", "positional"),
        Parameter("mask", "either", "None"),
        Parameter("rest", "*args"),
        Parameter("scale", "keyword", "0.5", "float"),
        Parameter("more", "**kwargs"),
    )


def test_partial_and_wrapped_functions_are_seen_through():
    @functools.wraps(plain)
    def wrapper(*arguments):
        return plain(*arguments)

    assert names(functools.partial(plain, mask=None))[:3] == ["q", "k", "v"]
    assert signature_of(functools.partial(plain)).library == "numpy"
    assert names(wrapper)[:3] == ["q", "k", "v"]


def test_an_object_that_can_be_called_is_a_function():
    class Attention:
        def __call__(self, query, key):
            return np.exp(query)

    assert names(Attention()) == ["query", "key"]
    assert signature_of(Attention()).library == "numpy"
    assert signature_of(Attention()).name == "Attention"


def test_a_signature_that_cannot_be_read_is_none():
    class Odd:
        __signature__ = "nonsense"

        def __call__(self):
            return None

    assert signature_of(Odd()).parameters is None


def test_a_default_whose_repr_raises_is_named_by_its_type():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    def attention(q, how=Odd()):  # noqa: B008
        return q

    assert signature_of(attention).parameters[1].default == "a Odd"


def in_torch(source):
    torch = pytest.importorskip("torch")
    scope = {"torch": torch, "np": np}
    exec(source, scope)
    return scope["f"]


TORCH = [
    ("def f(q, k): return torch.softmax(q @ k, -1) * np.sqrt(2)", "torch"),
    ("def f(q: 'torch.Tensor', k): return q", "torch"),
    ("def f(q: np.ndarray): return torch.from_numpy(q)", "numpy"),
    ("def f(q):\n    def inner(x): return torch.exp(x)\n    return inner(q)", "torch"),
    ("def g(q): return torch.exp(q)\ndef f(q): return g(q)", "torch"),
    ("def f(q): return np.exp(q)", "numpy"),
]


@pytest.mark.parametrize(("source", "library"), TORCH)
def test_the_library_is_seen_by_annotations_code_and_imports(source, library):
    assert signature_of(in_torch(source)).library == library


def test_nothing_says_whose_arrays_these_are():
    scope = {"__builtins__": {}, "__name__": "alone"}
    exec("def f(q, k): return q", scope)
    assert signature_of(scope["f"]).library == ""


def test_what_torch_offers_is_seen_though_it_is_compiled():
    torch = pytest.importorskip("torch")
    signature = signature_of(torch.nn.functional.scaled_dot_product_attention)
    assert signature.library == "torch"
    assert [one.name for one in signature.parameters][:4] == ["query", "key", "value", "attn_mask"]
    assert {one.name: one.default for one in signature.parameters}["is_causal"] == "False"
    module = signature_of(torch.nn.MultiheadAttention(4, 2))
    assert (module.kind, module.library) == ("module", "torch")
    assert [one.name for one in module.parameters][:3] == ["query", "key", "value"]


def test_what_jax_offers_is_seen_through_its_wrappers():
    jax = pytest.importorskip("jax")
    signature = signature_of(jax.jit(jax.nn.dot_product_attention))
    assert signature.library == "jax"
    assert [one.name for one in signature.parameters][:5] == ["query", "key", "value", "bias", "mask"]
