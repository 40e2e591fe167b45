"""A function in this process: what is handed to it, what comes back, and that nothing stays changed."""

import os
import random
import warnings

import numpy as np
import pytest

from headwork.conformance.calls import Call
from headwork.conformance.here import Here

ARRAY = np.arange(6.0).reshape(2, 3)


def test_a_call_gives_arrays_names_and_kinds():
    outcome = Here(lambda query, scale: {"output": query * scale, "count": 3}).call(
        Call((ARRAY,), {"scale": 2.0})
    )
    assert (outcome.end, outcome.said) == ("returned", "")
    assert outcome.names == ("output", "count")
    assert outcome.kinds == ("numpy.ndarray", "int")
    np.testing.assert_array_equal(outcome.outputs[0], 2 * ARRAY)
    assert outcome.seconds > 0


def test_an_exception_is_said_with_its_line():
    def attention(query):
        raise ValueError("D = 3 is odd")

    outcome = Here(attention).call(Call((ARRAY,)))
    assert outcome.end == "raised"
    assert outcome.said.startswith("ValueError: D = 3 is odd (test_here.py, line ")


def test_exit_is_said_and_control_c_comes_through():
    def leave(query):
        raise SystemExit("done")

    def interrupt(query):
        raise KeyboardInterrupt

    assert Here(leave).call(Call((ARRAY,))).said.startswith("It called sys.exit(done)")
    with pytest.raises(KeyboardInterrupt):
        Here(interrupt).call(Call((ARRAY,)))


def test_what_a_call_replaces_seeds_or_sets_is_said_and_put_back():
    def attention(query):
        np.exp = np.sin
        del np.tanh
        np.random.seed(1)
        random.random()
        np.seterr(all="ignore")
        os.environ["HEADWORK_TEST"] = "1"
        os.chdir("/")
        return query

    exp, state, folder = np.exp, np.random.get_state()[1].copy(), os.getcwd()
    python = random.getstate()
    outcome = Here(attention).call(Call((ARRAY,)))
    assert outcome.side_effects == (
        "NumPy's exp was replaced",
        "NumPy's tanh was replaced",
        "the random state of NumPy was changed",
        "the random state of Python was changed",
        "how NumPy treats overflow and NaN (np.seterr) was changed",
        "the working folder was changed",
        "the environment variables were changed",
    )
    assert np.exp is exp
    assert np.tanh(0.0) == 0
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    assert random.getstate() == python
    assert np.geterr()["invalid"] == "warn"
    assert "HEADWORK_TEST" not in os.environ
    assert os.getcwd() == folder


def test_torch_is_watched_too():
    torch = pytest.importorskip("torch")

    def attention(query):
        torch.manual_seed(1)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return query

    before = torch.get_rng_state()
    outcome = Here(attention).call(Call((ARRAY,), library="torch"))
    assert outcome.side_effects == (
        "the random state of torch was changed",
        "torch's default dtype was changed",
        "torch's gradient mode was changed",
    )
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


def test_warnings_are_not_for_the_caller():
    def attention(query):
        warnings.warn("slow", UserWarning, stacklevel=1)
        return np.exp(query * 1000)

    outcome = Here(attention).call(Call((ARRAY,)))
    assert outcome.is_fine
    assert np.isinf(outcome.outputs[0]).any()


def test_what_is_printed_is_kept(capsys):
    def attention(query):
        print("hello")
        return query

    assert Here(attention).call(Call((ARRAY,))).printed == "hello\n"
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------- inputs that are changed, outputs that are written


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("layout", ["contiguous", "strided", "transposed"])
def test_changed_inputs_are_said_by_place(library, layout):
    pytest.importorskip(library)

    def attention(query, key, mask=None):
        key += 1
        mask[0] = 5
        return query

    call = Call((ARRAY, ARRAY), {"mask": ARRAY}, library=library, layout=layout)
    assert Here(attention).call(call).changed == (1, "mask")
    np.testing.assert_array_equal(ARRAY, np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_an_array_to_write_into_is_the_output(library):
    pytest.importorskip(library)

    def attention(query, out):
        out[:] = query + 1
        return None

    def attention_with_lse(query, out):
        out[:] = query + 1
        return out, query[0]

    empty = np.full((2, 3), np.nan)
    call = Call((ARRAY,), {"out": empty}, library=library, out="out")
    outcome = Here(attention).call(call)
    np.testing.assert_array_equal(outcome.outputs[0], ARRAY + 1)
    assert outcome.changed == ()
    assert np.isnan(empty).all()
    assert [array.shape for array in Here(attention_with_lse).call(call).outputs] == [(2, 3), (3,)]


# ---------------------------------------------------------------- gradients

COTANGENT = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def gradients(function, library, dtype="float64"):
    call = Call(
        (ARRAY.astype(dtype), (2 * ARRAY).astype(dtype)),
        {"factor": 3.0},
        library=library,
        cotangent=COTANGENT.astype(dtype),
        gradients_of=(0, 1),
    )
    return Here(function).call(call)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_are_those_of_the_first_output(library, dtype):
    pytest.importorskip(library)
    outcome = gradients(lambda query, key, factor: (factor * query * key, query), library, dtype)
    assert outcome.is_fine
    assert outcome.said == ""
    # by hand: d(3·q·k)/dq = 3·k, times the cotangent
    np.testing.assert_allclose(outcome.gradients[0], 3 * 2 * ARRAY * COTANGENT)
    np.testing.assert_allclose(outcome.gradients[1], 3 * ARRAY * COTANGENT)
    assert [array.dtype.name for array in (*outcome.gradients, *outcome.outputs)] == [dtype] * 4


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_an_input_that_is_not_used_has_gradient_zero(library):
    pytest.importorskip(library)
    outcome = gradients(lambda query, key, factor: factor * query, library)
    np.testing.assert_array_equal(outcome.gradients[1], np.zeros((2, 3)))


def cut_off(query, key, factor):
    return (query * key).detach()


def through_numpy(query, key, factor):
    return np.asarray(query) * np.asarray(key)


@pytest.mark.parametrize(
    ("function", "library", "said"),
    [
        (cut_off, "torch", "cut off from its inputs"),
        (through_numpy, "torch", "It gives no gradients. RuntimeError: Can't call numpy"),
        (through_numpy, "jax", "It gives no gradients. TracerArrayConversionError"),
        (through_numpy, "numpy", "offer no gradients"),
    ],
)
def test_where_there_are_no_gradients_it_is_said_and_the_output_is_there(function, library, said):
    pytest.importorskip(library)
    outcome = gradients(function, library)
    assert outcome.is_fine
    assert outcome.gradients == ()
    assert said in outcome.said
    np.testing.assert_array_equal(outcome.outputs[0], 2 * ARRAY**2)


# ---------------------------------------------------------------- JAX


def test_jax_computes_in_the_bits_it_is_handed():
    jax = pytest.importorskip("jax")

    def attention(query):
        return jax.numpy.exp(query)

    for dtype in ("float32", "float64"):
        assert Here(attention).call(Call((ARRAY.astype(dtype),), library="jax")).outputs[0].dtype == dtype
    assert not jax.config.jax_enable_x64


def test_an_input_that_was_given_away_counts_as_changed():
    jax = pytest.importorskip("jax")
    attention = jax.jit(lambda query: query + 1, donate_argnums=0)
    outcome = Here(attention).call(Call((ARRAY.astype("f4"),), library="jax"))
    assert outcome.is_fine
    assert outcome.changed == (0,)


def test_an_array_left_over_from_tracing_is_said():
    jax = pytest.importorskip("jax")
    leaked = []

    @jax.jit
    def leak(query):
        leaked.append(query)
        return query

    def attention(query):
        leak(query)
        return leaked[0]

    outcome = Here(attention).call(Call((ARRAY.astype("f4"),), library="jax"))
    assert outcome.end in ("not arrays", "raised")
    assert "racer" in outcome.said
