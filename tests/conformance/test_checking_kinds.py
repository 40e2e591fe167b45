"""Each kind of finding says what it is: arithmetic in few bits, overflow, conventions, layouts that run by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headwork import check, trace
from headwork.conformance.arithmetic import recognised
from headwork.conformance.battery import Case
from headwork.conformance.cases import Cases
from headwork.conformance.comparing import Asked
from headwork.conformance.report import Check
from headwork.problem import Problem


def softmax(scores: Any) -> Any:
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def scores_of(q: Any, k: Any) -> Any:
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


def named(result: Check) -> set[str]:
    """Every mistake that is spoken of."""
    found = [each for report in result.features for each in report.explanations]
    return {id for each in found for ids in each.ids for id in ids}


def everywhere(result: Check, verdict: str) -> bool:
    """Whether nothing else is found in any feature that it has."""
    return {report.verdict for report in result.features} <= {verdict, "right", "not supported"}


# --- arithmetic in few bits -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_a_scale_held_in_fewer_bits_is_rounding(name: str) -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        return (
            softmax(q @ k.swapaxes(-1, -2) * np.dtype(name).type(1 / np.sqrt(q.shape[-1])).astype(q.dtype))
            @ v
        )

    result = check(attention, layout="BHTD", dtypes=("float64",))
    arithmetic = result.of("basic").arithmetic
    assert result.verdict == "rounding", result.sentence
    assert arithmetic is not None
    assert arithmetic.id == f"scale-{name}"


def test_a_scale_of_a_few_steps_in_float32_is_rounding() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        root = np.sqrt(np.float32(1) / np.sqrt(np.float32(q.shape[-1])))  # on both sides, as ONNX has it
        return softmax((q * np.float64(root)) @ (k * np.float64(root)).swapaxes(-1, -2)) @ v

    result = check(attention, layout="BHTD", dtypes=("float64",))
    assert result.verdict == "rounding", result.sentence
    assert "a scale that is worked out in float32" in result.sentence


def test_scores_of_products_in_half_precision_are_recognised() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        with np.errstate(all="ignore"):
            half = q.astype(np.float16) @ k.astype(np.float16).swapaxes(-1, -2)
        return softmax(half.astype(q.dtype) / np.sqrt(q.shape[-1])) @ v

    arithmetic = check(attention, layout="BHTD", dtypes=("float64",)).of("basic").arithmetic
    assert arithmetic is not None
    assert arithmetic.bits == 10


@pytest.mark.parametrize("start", ["scores", "scaled", "masked", "weights"])
def test_arithmetic_is_recognised_where_a_problem_starts_in_the_middle(start: str) -> None:
    """Behind the scale there is none to try; what is rounded at the end is known all the same."""
    random = np.random.RandomState(0)
    given, value = random.random_sample((4, 6)), random.random_sample((6, 3))
    given /= given.sum(axis=-1, keepdims=True)
    problem = Problem(given={start: given}, value=value, **({"head_dim": 8} if start == "scores" else {}))
    output = trace(problem).output
    case = Case("basic/x", "basic", "", problem, "float64", "output", frozenset(), False, {})

    def found(values: Any) -> Any:
        return recognised(Cases([Asked(case, problem, values={"output": values[None]})], []))

    rounded = found(output.astype(np.float32).astype(np.float64))
    assert rounded.id == "output-float32"
    assert found(output * 1.001) is None


def half_scores(q: Any, k: Any, v: Any) -> Any:
    with np.errstate(all="ignore"):
        return softmax(scores_of(q, k).astype(np.float16)).astype(q.dtype) @ v


def test_an_overflow_at_finite_scores_is_wrong_and_no_rounding() -> None:
    result = check(half_scores, layout="BHTD", dtypes=("float64",))
    arithmetic = result.of("basic").arithmetic
    assert (result.verdict, result.is_right) == ("wrong", False)
    assert arithmetic is not None
    assert arithmetic.overflows == ("basic/low-scores",)
    assert "overflows to NaN or ∞" in result.sentence


def test_a_rule_is_not_accused_of_numbers_that_are_all_nan() -> None:
    assert named(check(half_scores, layout="BHTD", dtypes=("float64",))) == set()


def test_scores_in_the_inputs_own_half_precision_are_rounding() -> None:
    torch = pytest.importorskip("torch")

    def attention(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v

    result = check(attention, layout="BHTD", dtypes=("float32", "float16"))
    assert everywhere(result, "rounding"), result.sentence


def test_a_softmax_worked_out_in_logarithms_is_right_in_float64() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = scores_of(q, k)
        top = scores.max(-1, keepdims=True)
        return np.exp(scores - (top + np.log(np.exp(scores - top).sum(-1, keepdims=True)))) @ v

    assert check(attention, layout="BHTD", dtypes=("float64",)).verdict == "right"


# --- several mistakes -----------------------------------------------------------------------------


def four_mistakes(
    q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, scale: float | None = None
) -> Any:
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] if scale is None else q @ k.swapaxes(-1, -2) * scale**2
    if causal:
        queries, keys = scores.shape[-2:]
        scores = np.where(np.tri(queries, keys, keys - queries - 1, dtype=bool), scores, -1e9)
    weights = softmax(scores)
    return (weights if mask is None else weights * mask) @ v


def test_four_mistakes_are_each_named_where_they_are() -> None:
    result = check(four_mistakes, layout="BHTD")
    first = {
        name: result.of(name).explanations[0].ids[0] for name in ("basic", "scale", "mask-bool", "causal")
    }
    assert first["basic"] == ("scale-d-k-instead-of-sqrt",)
    assert "causal-strict" in first["causal"]
    assert not any(report.follows > "" and report.explanations for report in result.features)
    assert named(result) & {"mask-infinity-times-zero", "softmax-without-max"} == set()


def test_what_is_wrong_follows_an_earlier_feature_and_never_a_later_one() -> None:
    reports = check(four_mistakes, layout="BHTD").features
    ids = [report.feature.id for report in reports]
    for report in reports:
        assert not report.follows or ids.index(report.follows) < ids.index(report.feature.id)


# --- conventions ----------------------------------------------------------------------------------


def test_a_stated_convention_that_is_broken_is_said_with_how_to_mend_it() -> None:
    def drops(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        scores = scores_of(q, k)
        return softmax(scores if mask is None else np.where(mask, -np.inf, scores)) @ v

    result = check(drops, mask_means="attend", dtypes=("float64",))
    assert "mask-polarity" in named(result)
    assert "~mask" in result.sentence
    assert result.of("mask-float").verdict == "not supported"  # True and False do what 1 and 0 do


def test_a_corner_that_could_not_be_told_is_the_one_for_which_a_plain_rule_explains_all() -> None:
    """One token of the future, from the upper left: for the lower right, an offset of 1."""

    def attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
        scores = scores_of(q, k)
        return (
            softmax(
                np.where(np.tri(*scores.shape[-2:], 1, dtype=bool), scores, -np.inf) if causal else scores
            )
            @ v
        )

    result = check(attention, layout="BHTD", dtypes=("float64",))
    assert result.interface.conventions["causal"] == "upper_left"
    assert result.of("causal").explanations[0].ids == (("causal-one-too-many",),)


def test_a_causal_mask_that_is_refused_for_square_scores_is_asked_behind_other_keys() -> None:
    """Its first query sees nothing there, and the largest of nothing is an error."""

    def attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
        if not causal:
            return softmax(scores_of(q, k)) @ v
        past, rows = k.shape[-2] - q.shape[-2], []
        for i in range(q.shape[-2]):
            scores = scores_of(q[..., i : i + 1, :], k[..., : past + i, :])
            scores.max(-1)
            rows.append(softmax(scores) @ v[..., : past + i, :])
        return np.concatenate(rows, axis=-2)

    result = check(attention, layout="BHTD", dtypes=("float64",))
    assert result.of("causal").explanations[0].ids == (("causal-strict",),)


# --- masks ----------------------------------------------------------------------------------------


def test_a_mask_that_scores_are_multiplied_by_is_one_of_true_and_false() -> None:
    def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        scores = scores_of(q, k)
        return softmax(scores if mask is None else scores * np.asarray(mask).astype(float)) @ v

    result = check(attention, layout="TD", dtypes=("float64",))
    assert "mask-fill-zero" in named(result)
    assert result.of("mask-float").verdict == "not supported"


def test_a_mask_that_goes_only_with_as_many_samples_as_heads_is_asked_so() -> None:
    def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        scores = scores_of(q, k)
        return softmax(scores if mask is None else np.where(mask[:, 0], scores, -1e30)) @ v

    result = check(attention, layout="BHTD", dtypes=("float64",))
    assert "mask-batch-meets-heads" in named(result)
    assert str(result.interface.sizes) == "B=H"


# --- layouts, names -------------------------------------------------------------------------------


def over_the_heads(q: Any, k: Any, v: Any) -> Any:
    e = np.exp((scores := scores_of(q, k)) - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) @ v


def test_a_softmax_over_a_fixed_axis_is_wrong_where_there_are_more_axes() -> None:
    result = check(over_the_heads, dtypes=("float64",))
    assert named(result) == {"softmax-over-heads"}
    assert "--layout TD" in result.sentence


def test_it_is_right_once_somebody_says_how_many_axes_are_meant() -> None:
    assert check(over_the_heads, layout="TD", dtypes=("float64",)).verdict == "right"


def test_a_function_that_forgets_to_transpose_the_keys_is_asked_for_as_many_keys_as_columns() -> None:
    result = check(
        lambda q, k, v: softmax(q @ k / np.sqrt(q.shape[-1])) @ v, layout="TD", dtypes=("float64",)
    )
    assert named(result) == {"scores-key-not-transposed"}
    assert "Tk=D" in str(result.interface.sizes)


@pytest.mark.parametrize("names", [("q", "k", "v"), ("Q", "K", "V")])
def test_keywords_of_any_name_are_tried(names: tuple[str, ...]) -> None:
    def attention(**arrays: Any) -> Any:
        q, k, v = (arrays[name] for name in names)
        return softmax(scores_of(q, k)) @ v

    assert check(attention, dtypes=("float64",)).verdict == "right"


def test_a_file_that_cannot_be_loaded_is_said_once(tmp_path: Any) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('no such device')\n", encoding="utf-8")
    sentence = check(f"{tmp_path / 'broken.py'}:attention").sentence
    assert sentence.count("could not be run") == 1
    assert "no such device" in sentence
