"""Functions are recognised by their names and by small calls, whatever mistakes are in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest

from headwork.conformance.adapter import Interface, recognise
from headwork.conformance.asking import CannotAskError
from headwork.conformance.battery import draw_battery
from headwork.conformance.calls import Outcome
from headwork.conformance.features import FEATURES
from headwork.conformance.here import Here
from headwork.conformance.layouts import (
    LAYOUTS,
    inside,
    joined,
    laid_out,
    layout_named,
    layouts_said,
    read_layout,
)
from headwork.conformance.roles import NAMES, NEUTRAL, plain_name
from headwork.conformance.signatures import signature_of
from headwork.conformance.sizes import read_sizes
from headwork.conformance.stated import Stated
from headwork.errors import OptionError
from headwork.mechanism.tracing import trace
from headwork.problem import Problem

MOST_CALLS = 50  # of a function that takes any size
ALWAYS_THERE = {"basic", "dtypes", "cache"}  # or not, for reasons that have tests of their own


def name_of(row: tuple[Any, ...]) -> str:
    function = row[0]
    return getattr(function, "__name__", type(function).__name__)


def seen(function: Callable[..., Any], **stated: Any) -> Interface:
    return recognise(Here(function), Stated(**stated))


def layout_of(interface: Interface) -> str:
    layouts = interface.ways.layouts
    return layouts.get("qkv") or layouts.get("x") or layouts["query"]


# --- the zoo --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", zoo.ZOO, ids=name_of)
def test_a_signature_seen_in_the_wild_is_recognised(row: tuple[Any, ...]) -> None:
    function, layout, features, conventions, _ = row
    interface = seen(function)
    assert not interface.failure
    assert layout_of(interface) == layout
    there = {feature.id for feature in FEATURES if interface.supports(feature.id)}
    assert there - ALWAYS_THERE == set(features.split())
    assert {name: interface.conventions.get(name) for name in conventions} == conventions
    if function is not zoo.kernel_like:
        assert interface.calls <= MOST_CALLS


# what cannot be told in a function with that mistake
CANNOT_BE_TOLD = {
    ("divided", "scale missing"),  # a scale that nobody reads
    ("always_causal", "value of the next key"),  # then no weight stands where a causal one would
    ("joined_heads_of_its_own", "heads averaged"),  # one head is the average of itself
}
WITH_BUGS = [(row, zoo.BUGS[1 + at % 5]) for at, row in enumerate(zoo.ZOO)]  # each of them for a fifth


@pytest.mark.parametrize(("row", "bug"), WITH_BUGS, ids=lambda x: x if isinstance(x, str) else name_of(x))
def test_a_mistake_inside_changes_nothing_in_what_is_recognised(row: tuple[Any, ...], bug: str) -> None:
    function, layout, features, conventions, _ = row
    if (name_of(row), bug) in CANNOT_BE_TOLD:
        return
    with zoo.bug(bug):
        interface = seen(function)
    assert layout_of(interface) == layout
    there = {feature.id for feature in FEATURES if interface.supports(feature.id)}
    assert there - ALWAYS_THERE == set(features.split())
    kept = {name: word for name, word in conventions.items() if name != "empty rows"}
    assert {name: interface.conventions.get(name) for name in kept} == kept


@pytest.mark.parametrize("row", [row for row in zoo.ZOO if row[0] is not zoo.in_lists], ids=name_of)
def test_a_right_function_gives_the_right_answers_in_its_own_terms(row: tuple[Any, ...]) -> None:
    function, *_ = row
    subject, interface = Here(function), seen(function)
    cases = draw_battery(interface.supports, interface.dtypes[:1], interface.sizes, interface.alignment)
    asked: dict[str, int] = {}
    for case in cases:
        if (
            case.lenient
            or case.step == "gradients"
            or case.sizes["Tk"] > 100
            or asked.get(case.feature, 0) > 3
        ):
            continue
        problem, want = interface.suited(case.problem), case.step.replace("output", "")
        try:
            call = interface.call_for(problem, want)
        except CannotAskError:
            continue
        answers = interface.answers(problem, subject.call(call), want)
        asked[case.feature] = asked.get(case.feature, 0) + 1
        tolerance = {"float64": 1e-9, "float32": 1e-4}[case.dtype]
        np.testing.assert_allclose(
            answers.values[case.step], trace(problem)[case.step], rtol=tolerance, atol=tolerance
        )
        assert not answers.findings, case.id
    missing = (
        {case.feature for case in cases if not case.lenient} - asked.keys() - {"cache", "dtypes", "gradients"}
    )
    assert not missing


# --- what is said, and what is stated -------------------------------------------------------------


def test_what_was_found_is_said_with_where_it_comes_from() -> None:
    said = {(found.how, found.said) for found in seen(zoo.mask_dropped).found}
    assert ("tried", "query, key and value are (B, H, T, D)") in said
    assert ("tried", "mask (B, H, Tq, Tk): True means “is hidden”") in said
    said = {(found.how, found.said) for found in seen(zoo.documented).found}
    assert ("documentation", "query, key and value are (B, T, H, D)") in said


def test_a_parameter_that_nobody_knows_is_named_with_the_way_to_state_it() -> None:
    def attention(q, k, v, flavour):
        return zoo.core(q, k, v)[0]

    failure = seen(attention).failure
    assert "parameter flavour is for" in failure
    assert "--role flavour=ROLE" in failure
    assert "--argument flavour=VALUE" in failure
    assert not seen(attention, arguments={"flavour": "plain"}).failure
    assert not seen(attention).supports("basic")


def test_roles_can_be_stated() -> None:
    def attention(a, b, c, keep_these=None):
        return zoo.core(b, c, a, allowed=keep_these)[0]

    roles = {"a": "value", "b": "query", "c": "key", "keep_these": "mask"}
    interface = seen(attention, roles=roles)
    assert interface.supports("mask-bool")
    problem = Problem(**numbers())
    answers = interface.answers(problem, Here(attention).call(interface.call_for(problem)))
    np.testing.assert_allclose(answers.values["output"], trace(problem).output)


def test_the_order_of_arguments_without_names_can_be_stated() -> None:
    interface = seen(lambda *args: zoo.core(args[1], args[2], args[0])[0], takes="value query key")
    problem = Problem(**numbers())
    call = interface.call_for(problem)
    np.testing.assert_array_equal(call.positional[0], problem.value)


def test_a_stated_layout_is_kept_where_another_one_would_run_better() -> None:
    assert layout_of(seen(zoo.attention)) == "BHTD"
    interface = seen(zoo.attention, layout="BTHD")
    assert layout_of(interface) == "BTHD"
    assert any("attends over its heads" in found.said for found in interface.found)


def test_what_a_mask_means_can_be_stated_against_what_it_does() -> None:
    interface = seen(zoo.mask_where, mask_means="drop")
    assert interface.conventions["mask"] == "drop"
    assert interface.ways.masks["mask-bool"].means == "drop"


def test_a_stated_alignment_is_not_tried() -> None:
    assert seen(zoo.scaled_dot_product_attention).alignment == "upper_left"
    assert seen(zoo.scaled_dot_product_attention, causal="lower_right").alignment == "lower_right"


def test_what_comes_back_can_be_stated() -> None:
    def attention(q, k, v):
        return core_outputs(q, k, v)

    interface = seen(attention, returns="weights,output")
    assert interface.ways.returns[""] == ("weights", "output")
    assert interface.supports("weights")


def core_outputs(q, k, v):
    output, weights, _ = zoo.core(q, k, v)
    return weights, output


def test_parameters_of_keywords_can_be_stated() -> None:
    def attention(**named):
        return zoo.core(named["query"], named["key"], named["value"], allowed=named.get("keep"))[0]

    assert not seen(attention).failure
    assert seen(attention, roles={"keep": "mask"}).supports("mask-bool")


STATED_WRONGLY = [
    ({"mask_means": "keep"}, "mask_means is 'keep'"),
    ({"causal": "lower right"}, "Did you mean 'lower_right'?"),
    ({"roles": {"m": "masks"}}, "Did you mean 'mask'?"),
    ({"returns": "output,attn"}, "returns is 'attn'"),
    ({"layout": "XYZ"}, "'XYZ' is no layout"),
    ({"dtypes": "float8"}, "dtypes is 'float8'"),
    ({"dtypes": 16}, "dtypes is 16; a list of words, or text with commas, was expected."),
    ({"returns": ["output", None]}, "returns is None"),
    ({"returns": [["output"]]}, "returns is ['output']"),
    ({"causal": np.array([1, 2])}, "causal is"),
    ({"roles": {"m": np.array([1, 2])}}, "the role of m is"),
    ({"causal": True}, "causal is True. It is one of: lower_right, upper_left, never."),
    ({"empty_rows": 0}, "empty_rows is 0. It is one of: zero"),
    ({"layout": 3}, "layout is 3; text was expected."),
    ({"roles": [("m", "mask")]}, "roles is [('m', 'mask')]; a dict was expected."),
    ({"sizes": {"T": 4}}, "sizes is {'T': 4}; text such as 'T=64,128; D=64' was expected."),
]


@pytest.mark.parametrize(("stated", "said"), STATED_WRONGLY, ids=lambda x: x if isinstance(x, str) else "")
def test_a_word_that_cannot_be_stated_is_an_error_with_what_can_be(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match="is") as error:
        Stated(**stated)
    assert said in str(error.value)


def test_what_is_none_is_not_stated() -> None:
    assert Stated(**dict.fromkeys(each.name for each in fields(Stated))) == Stated()
    assert Stated(sizes="T=64") == Stated(sizes=read_sizes("T=64"))


# --- the trap doors -------------------------------------------------------------------------------


def test_a_mask_that_does_nothing_is_still_taken_for_a_mask() -> None:
    def attention(q, k, v, mask=None):
        return zoo.core(q, k, v)[0]

    interface = seen(attention)
    assert interface.supports("mask-bool")
    found = next(found for found in interface.found if found.what == "mask")
    assert found.how == "assumed"


def test_a_window_that_does_nothing_is_still_taken_for_a_window() -> None:
    assert seen(lambda q, k, v, window_size=(-1, -1): zoo.core(q, k, v)[0]).supports("window")


def test_minus_one_is_no_missing_bound_where_it_is_a_number_like_others() -> None:
    def attention(q, k, v, local_window_size=None):  # (left, right) as JAX takes it; an empty row is uniform
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        if local_window_size is not None:
            left, right = local_window_size
            i, j = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
            scores = np.where((i - left <= j) & (j <= i + right), scores, -1e30)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v

    way = seen(attention).ways.window
    assert way is not None
    assert way.no_bound not in (None, -1)


def test_a_causal_mask_that_nobody_asked_for_is_a_mistake_where_there_is_a_switch() -> None:
    interface = seen(lambda q, k, v, causal=False: zoo.core(q, k, v, causal=True)[0])
    assert not interface.ways.is_causal
    assert interface.supports("causal")


def test_where_more_axes_run_but_mix_heads_that_is_said() -> None:
    def attention(q, k, v):
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True) @ v  # right for two axes, over the heads for four

    interface = seen(attention)
    assert layout_of(interface) == "TD"
    assert "BHTD" in interface.also_runs


def test_a_function_that_never_works_says_what_it_said() -> None:
    def attention(q, k, v):
        raise RuntimeError("no kernel image is available")

    interface = seen(attention)
    assert "no kernel image is available" in interface.failure
    assert interface.calls < 200


def test_a_function_without_query_key_and_value_is_said_to_be_one() -> None:
    assert "query, key and value were not found" in seen(lambda image: image).failure
    assert "it projects inside" in seen(lambda x: x).failure


def test_a_slow_function_is_given_up_after_two_timeouts() -> None:
    class Slow:
        signature = signature_of(zoo.attention)
        calls = 0

        def call(self, call: Any) -> Outcome:
            self.calls += 1
            return Outcome("timed out", "It did not return within 10 seconds.")

        def close(self) -> None: ...

    slow = Slow()
    assert "it ran out of time" in recognise(slow).failure
    assert slow.calls == 2


RESTRICTED = [
    ("widths", lambda q: q.shape[-1] % 8 == 0, "D%8; Dv%8"),
    ("tokens", lambda q: q.shape[-2] % 16 == 0, "Tq%16; Tk%16"),
    ("one head", lambda q: q.shape[1] == 1, "H=1"),
    ("one sample", lambda q: q.shape[0] == 1, "B=1"),
    ("one width", lambda q: q.shape[-1] == 64, "D=64; Dv=64; D=Dv"),
]


@pytest.mark.parametrize(("name", "takes", "sizes"), RESTRICTED, ids=[row[0] for row in RESTRICTED])
def test_sizes_that_are_refused_are_found(name: str, takes: Callable[[Any], bool], sizes: str) -> None:
    def attention(q, k, v):
        if not all(takes(array) for array in (q, k, v)):
            raise NotImplementedError("no kernel for this")
        return zoo.core(q, k, v)[0]

    interface = seen(attention)
    assert layout_of(interface) == "BHTD"
    assert interface.sizes == read_sizes(sizes)


# --- problems and answers -------------------------------------------------------------------------


def numbers(B: int = 2, H: int = 3, Tq: int = 4, Tk: int = 5, D: int = 6, Dv: int = 7) -> dict[str, Any]:
    random = np.random.default_rng(0)
    shapes = {"query": (B, H, Tq, D), "key": (B, H, Tk, D), "value": (B, H, Tk, Dv)}
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def test_what_there_is_no_parameter_for_becomes_a_mask() -> None:
    interface = seen(zoo.mask_dropped)  # True is hidden, and nothing else is taken
    problem = Problem(**numbers(), causal=True, lengths=[5, 3], window=(2, None))
    call = interface.call_for(problem)
    hidden = call.positional[3]
    assert hidden.dtype == bool
    np.testing.assert_array_equal(np.broadcast_to(~hidden, problem.matrix_shape), trace(problem)["allowed"])


def test_a_causal_mask_is_asked_for_by_its_switch_where_the_function_aligns_it_so() -> None:
    problem = Problem(**numbers(), causal=True)  # fewer queries than keys: lower right
    call = seen(zoo.tokens_first).call_for(problem)
    assert (*call.positional, *call.keywords.values())[-1] is True
    with pytest.raises(CannotAskError, match="no mask"):
        seen(zoo.tokens_first).call_for(Problem(**numbers(), causal=True, offset=0))


def test_a_cache_is_the_keys_and_values_where_there_are_no_others() -> None:
    def decode(q, k_cache, v_cache, cache_seqlens):
        allowed = (np.arange(k_cache.shape[1]) < np.asarray(cache_seqlens)[:, None])[:, None, None]
        return zoo.swap(zoo.core(zoo.swap(q), zoo.swap(k_cache), zoo.swap(v_cache), allowed)[0])

    interface = seen(decode)
    assert layout_of(interface) == "BTHD"
    assert interface.supports("lengths")


def test_a_mask_and_a_float_mask_become_one_where_there_is_one() -> None:
    interface = seen(zoo.scaled_dot_product_attention)
    keep, bias = np.tri(4, 5, dtype=bool), np.full((4, 5), 0.5)
    call = interface.call_for(Problem(**numbers(), mask=[keep, bias]))
    np.testing.assert_array_equal(call.positional[3][0, 0], np.where(keep, 0.5, -np.inf))


@pytest.mark.parametrize(
    ("function", "options", "why"),
    [
        (zoo.attention, {"scale": 0.3}, "no parameter for a scale"),
        (zoo.attention, {"mask": np.tri(4, 5, dtype=bool)}, "it has no mask"),
        (zoo.two_axes, {}, "one matrix each"),
        (zoo.always_causal, {}, "causal always"),
        (zoo.three_axes, {"sink": 0.5}, "one head"),
        (zoo.attention, {"rope": True}, "cannot be asked for rope"),
    ],
)
def test_what_cannot_be_asked_is_said(
    function: Callable[..., Any], options: dict[str, Any], why: str
) -> None:
    with pytest.raises(CannotAskError, match=why):
        seen(function).call_for(Problem(**numbers(), **options))


def test_a_problem_is_suited_to_what_the_function_does() -> None:
    problem = Problem(**numbers(Tq=5))
    assert seen(zoo.attention).suited(problem) is problem
    assert seen(zoo.always_causal).suited(problem).causal
    assert seen(zoo.window_around).suited(Problem(**numbers(), window=(2, 1))).window == (2, 2)
    mask = np.random.default_rng(0).random((2, 3, 5, 5)) < 0.7
    per_sample = seen(zoo.mask_per_sample).suited(Problem(**numbers(Tq=5), mask=mask)).mask
    assert per_sample[0].shape == (2, 1, 5, 5)


ODD_ANSWERS = [
    ("wider than its inputs", lambda q, k, v: zoo.core(q, k, v)[0].astype(np.float64), "dtype", "float64"),
    ("NaN", lambda q, k, v: zoo.core(q, k, v)[0] * np.where(q.shape[2] == 4, np.nan, 1).astype(q.dtype), "not finite", "84 of 168"),
    ("another shape", lambda q, k, v: zoo.core(q, k, v)[0][..., : 5 if q.shape[2] == 4 else None, :3 if q.shape[2] == 4 else None], "shape", "(2, 3, 4, 3)"),
    ("nothing", lambda q, k, v: None if q.shape[2] == 4 else zoo.core(q, k, v)[0], "end", "None"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "function", "kind", "said"), ODD_ANSWERS, ids=[row[0] for row in ODD_ANSWERS]
)
def test_what_is_odd_about_an_answer_is_a_finding(name: str, function: Any, kind: str, said: str) -> None:
    interface = seen(function)
    problem = Problem(**numbers(), dtype="float32")
    answers = interface.answers(problem, Here(function).call(interface.call_for(problem)))
    assert kind in [finding.kind for finding in answers.findings]
    if name != "NaN":
        assert said in " ".join(finding.said for finding in answers.findings)


def test_a_logsumexp_in_base_two_is_read_in_natural_logarithms() -> None:
    interface = seen(zoo.lse_in_bits)
    problem = Problem(**numbers())
    outcome = Here(zoo.lse_in_bits).call(interface.call_for(problem, "logsumexp"))
    found = interface.answers(problem, outcome, "logsumexp").values["logsumexp"]
    np.testing.assert_allclose(found, trace(problem).logsumexp)


def test_packed_problems_and_single_ones_come_back_as_they_went() -> None:
    interface = seen(zoo.attention)
    packed = {name: np.moveaxis(x, 1, 2).reshape(2, x.shape[2], -1) for name, x in numbers().items()}
    for problem in (Problem(**packed, heads=3), Problem(**{n: x[0, 0] for n, x in numbers().items()})):
        answers = interface.answers(problem, Here(zoo.attention).call(interface.call_for(problem)))
        np.testing.assert_allclose(answers.values["output"], trace(problem).output)


# --- tables ---------------------------------------------------------------------------------------


def test_every_name_stands_for_one_role() -> None:
    names = [plain_name(name) for listed in NAMES.values() for name in listed.split()]
    assert len(names) == len(set(names))
    assert set(NEUTRAL) <= set(NAMES)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_and_back_is_the_same_array(layout: str) -> None:
    array = np.arange(2.0 * 3 * 5 * 4).reshape(2, 3, 5, 4)
    array = array if "B" in layout else array[:1]
    array = array if set(layout) & {"H", "E"} else array[:, :1]
    np.testing.assert_array_equal(inside(laid_out(array, layout), layout, array.shape[1]), array)


def test_three_arrays_in_one_lie_as_its_letters_say() -> None:
    arrays = [np.full((2, 3, 5, 4), number) for number in (1.0, 2.0, 3.0)]
    assert joined(arrays, "BT3HD").shape == (2, 5, 3, 3, 4)
    assert joined(arrays, "BTF").shape == (2, 5, 36)
    np.testing.assert_array_equal(joined(arrays, "BTF")[0, 0, ::12], [1, 2, 3])
    np.testing.assert_array_equal(joined(arrays, "3BHTD")[:, 0, 0, 0, 0], [1, 2, 3])


LAYOUT_WORDS = [
    # word    layout   source
    ("bshd",  "BTHD",  "Transformer Engine"),
    ("BNSD",  "BHTD",  "Ascend"),
    ("BSH",   "BTE",   "Ascend: H is the hidden width"),
    ("BTNH",  "BTHD",  "JAX: N heads of width H"),
    ("NHD",   "THD",   "FlashInfer: N tokens"),
    ("BMHK",  "BTHD",  "xformers"),
    ("sbhd",  "TBHD",  "Megatron"),
    ("QKV",   "",      "no layout"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "layout", "source"), LAYOUT_WORDS)
def test_a_layout_goes_by_many_names(word: str, layout: str, source: str) -> None:
    assert layout_named(word) == layout


LAYOUT_TEXTS = [
    ("q: (batch, heads, seq_len, d_k)", ("BHTD",), "courses"),
    ("query; shape :code:`(BTNH|TNH)`", ("BTHD", "THD"), "JAX"),
    ("q: (batch_size, seqlen_q, nheads, headdim)", ("BTHD",), "flash-attention"),
    ("Float[Array, 'batch seq_len_q num_heads head_dim']", ("BTHD",), "jaxtyping"),
    ("Query of shape (seq_len, d_k); mask (seq_len, seq_len)", ("TD",), "courses"),
    ("[B, H, T, D]", ("BHTD",), "nanoGPT"),
    ("(N, H, L, E)", ("BHTD",), "PyTorch"),
    ("softmax(Q K^T / sqrt(d)) V (see the paper)", (), "no layout"),
]


@pytest.mark.parametrize(("text", "layouts", "source"), LAYOUT_TEXTS)
def test_documentation_says_how_arrays_lie(text: str, layouts: tuple[str, ...], source: str) -> None:
    def attention(q, k, v): ...

    attention.__doc__ = text
    assert layouts_said(signature_of(attention)) == layouts


def test_layouts_that_differ_can_be_stated_for_each() -> None:
    assert read_layout("BHTD, BHDT, BHTD") == ("BHTD", "BHDT", "BHTD")

    def attention(q, k_transposed, v):
        return zoo.core(q, k_transposed.swapaxes(-1, -2), v)[0]

    interface = seen(attention, layout="BHTD,BHDT,BHTD", roles={"k_transposed": "key"})
    assert not interface.failure
    problem = Problem(**numbers())
    answers = interface.answers(problem, Here(attention).call(interface.call_for(problem)))
    np.testing.assert_allclose(answers.values["output"], trace(problem).output)
