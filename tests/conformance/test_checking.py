"""A check says what is right, names what is wrong, and accuses nobody of a convention or of rounding."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from zoo import entries, hostile, mutated

from headwork import check
from headwork.conformance.checking import check as check_with
from headwork.conformance.limits import Limits
from headwork.conformance.report import Check
from headwork.conformance.runner import Runner
from headwork.conformance.stated import Stated
from headwork.conformance.targets import read_target
from headwork.errors import FileError, OptionError

RIGHT = {entry.name: entry for entry in entries.right("right_numpy.py")}
WRONG = {entry.name: entry for entry in entries.wrong("wrong_numpy.py")}
ZOO = Path(__file__).parent / "zoo"


def softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])).astype(q.dtype) @ v


def named(result: Check) -> set[str]:
    """Every mistake of the readings that are left."""
    found = [each for report in result.features for each in report.explanations]
    return {id for each in found for ids in each.ids for id in ids}


def verdicts(result: Check) -> dict[str, str]:
    return {report.feature.id: report.verdict for report in result.features}


# --- right ----------------------------------------------------------------------------------------


def one_by_one(query: Any, key: Any, value: Any, mask: Any = None, scale: Any = None) -> Any:
    """Every sum in the order in which a plain loop takes it, in the arrays' own dtype."""
    kind = query.dtype.type
    scores = np.zeros((*query.shape[:-1], key.shape[-2]), kind)
    for d in range(query.shape[-1]):
        scores += query[..., d, None] * key[..., None, :, d]
    scores *= kind(scale or query.shape[-1] ** -0.5)
    scores = scores if mask is None else np.where(mask, scores, kind(-np.inf))
    exps = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), np.finfo(kind).min))
    total = exps.cumsum(-1)[..., -1:]
    output = np.zeros((*query.shape[:-1], value.shape[-1]), kind)
    for j in range(key.shape[-2]):
        output += exps[..., j, None] * value[..., j, None, :]
    return output / np.where(total == 0, 1, total)


def test_none_takes_back_nothing_that_was_stated() -> None:
    assert check(attention, Stated(causal="never"), causal=None).interface.stated.causal == "never"


@pytest.mark.parametrize("sizes", ["", "T=8; D=1024; B=1; H=1", "T=256; D=8; B=1; H=1"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_taken_one_after_the_other_are_no_mistake(sizes: str, dtype: str) -> None:
    result = check(one_by_one, layout="BHTD", dtypes=dtype, sizes=sizes)
    assert result.is_right, result.sentence
    assert result.of("mask-bool").verdict == "right"


@pytest.mark.parametrize(
    "name",
    [
        "textbook", "in_loops", "packed_heads", "either_mask", "fourth_root_on_both_sides", "online_in_blocks",
        "masked_after_the_softmax", "split_over_the_keys", "grouped_without_repeating", "window_in_two_numbers",
        "writes_into_out", "values_keys_query",
    ],
)  # fmt: skip
def test_a_right_implementation_is_not_accused(name: str) -> None:
    result = check(RIGHT[name].function)
    assert result.is_right, result.sentence
    assert result.mistakes == ()
    assert result.failing is None


def test_every_feature_of_a_function_that_has_them_all_is_right() -> None:
    result = check(RIGHT["everything"].function)
    supported = {name for name, verdict in verdicts(result).items() if verdict != "not supported"}
    assert supported == set(verdicts(result)) - {"gradients"}  # arrays of NumPy have none
    assert {verdicts(result)[name] for name in supported} == {"right"}
    assert result.unseen == ()


# --- wrong ----------------------------------------------------------------------------------------

MISTAKES = [
    # ids                                    where it shows first
    (("scale-missing",), "basic"),
    (("softmax-without-max",), "basic"),
    (("softmax-another-base",), "basic"),
    (("gqa-tile",), "grouped-heads"),
    (("mask-ignored",), "mask-bool"),
    (("float-mask-sign",), "mask-float"),
    (("window-ignored",), "window"),
    (("sink-scaled",), "sink"),
    (("scale-missing", "causal-strict"), "basic"),
    (("softcap-ignored", "sink-ignored"), "softcap"),
]


@pytest.mark.parametrize(("ids", "feature"), MISTAKES, ids=["+".join(ids) for ids, _ in MISTAKES])
def test_mistakes_are_named_where_they_show(ids: tuple[str, ...], feature: str) -> None:
    result = check(mutated.mutated(*ids), dtypes=("float64",))
    assert result.verdict == "wrong"
    assert set(ids) <= named(result)
    first = next(report for report in result.features if report.verdict == "wrong")
    assert first.feature.id == feature


@pytest.mark.parametrize("name", ["first_key_head_for_everybody", "parts_averaged", "bias_subtracted"])
def test_a_program_with_a_second_fault_is_named_all_the_same(name: str) -> None:
    entry = WRONG[name]
    result = check(entry.function, layout=entry.layouts[0])
    assert entry.mistake in named(result)


def test_a_feature_that_is_wrong_only_because_another_one_is_says_so() -> None:
    result = check(mutated.mutated("scale-missing"), dtypes=("float64",))
    causal = result.of("causal")
    assert (causal.verdict, causal.follows, causal.explanations) == ("wrong", "basic", ())
    assert "Query, key and value" in causal.sentence


def test_the_first_wrong_step_is_said_where_weights_come_back() -> None:
    def blends_wrongly(query: Any, key: Any, value: Any) -> Any:
        weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]))
        return weights @ value[..., ::-1, :], weights

    assert check(blends_wrongly, layout="BHTD", returns="output,weights").of("basic").first_step == "output"


def test_what_no_rule_explains_is_wrong_and_said_to_be_unexplained() -> None:
    result = check(lambda q, k, v: attention(q, k, v) + 0.1 * np.sin(37 * q.sum()), layout="BHTD")
    assert result.verdict == "wrong"
    assert result.of("basic").explanations == ()
    assert result.of("basic").unexplained
    assert "no rule of the catalogue" in result.sentence


def test_wrong_numbers_for_strided_arrays_are_wrong() -> None:
    def reads_the_buffer(q: Any, k: Any, v: Any) -> Any:
        return attention(np.zeros_like(q) if not q.flags.c_contiguous else q, k, v)

    result = check(reads_the_buffer, layout="BHTD")
    assert result.verdict == "wrong"
    assert "every other entry" in result.sentence


# --- conventions ----------------------------------------------------------------------------------


def upper_left(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.tri(*scores.shape[-2:], dtype=bool) if causal else True
    return softmax(np.where(seen, scores, -np.inf)) @ v


def test_a_convention_is_said_and_not_judged() -> None:
    result = check(upper_left)
    assert (result.verdict, result.is_right) == ("convention", True)
    assert verdicts(result)["causal"] == "convention"


def test_a_convention_is_a_mistake_once_another_one_is_stated() -> None:
    result = check(upper_left, causal="lower_right")
    assert result.verdict == "wrong"
    assert "causal-top-left-for-bottom-right" in named(result)


def test_a_convention_that_is_stated_is_right() -> None:
    assert check(upper_left, Stated(causal="upper_left")).of("causal").verdict == "right"


def test_rows_that_see_nothing_are_judged_once_somebody_says_what_they_are() -> None:
    function = RIGHT["batched"].function  # gives NaN there
    assert check(function).is_right
    assert check(function, empty_rows="nan").is_right
    assert "fully-masked-row-nan" in named(check(function, empty_rows="zero"))


# --- rounding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "bits"),
    [("inputs-tf32", 10), ("weights-bfloat16", 7), ("row-sum-float16", 10), ("everything-float32", 23)],
)
def test_arithmetic_in_fewer_bits_is_recognised_and_no_mistake(id: str, bits: int) -> None:
    result = check(mutated.mutated(id), dtypes=("float64",))
    assert (result.verdict, result.is_right) == ("rounding", True)
    arithmetic = result.of("basic").arithmetic
    assert arithmetic is not None
    assert (arithmetic.id, arithmetic.bits) == (id, bits)


def test_arithmetic_in_fewer_bits_is_recognised_though_sums_run_in_another_order() -> None:
    def backwards(q: Any, k: Any, v: Any) -> Any:
        q, k, v = (x.astype(np.float32) for x in (q, k, v))
        scores = (q[..., ::-1] @ k[..., ::-1].swapaxes(-1, -2)) / np.float32(np.sqrt(q.shape[-1]))
        return (softmax(scores)[..., ::-1] @ v[..., ::-1, :]).astype(np.float64)

    result = check(backwards, layout="BHTD", dtypes=("float64",))
    assert result.verdict == "rounding", result.sentence


def test_the_mean_of_the_values_is_never_rounding() -> None:
    """At a tolerance of 1e-2 it passes a well-known judge."""
    result = check(lambda q, k, v: np.broadcast_to(v.mean(-2, keepdims=True), (*q.shape[:-1], v.shape[-1])))
    assert result.verdict == "wrong"


# --- robustness -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "weakness"),
    [
        ("prints", "prints"),
        ("replaces_exp", "side-effects"),
        ("seeds_the_random_numbers", "side-effects"),
        ("writes_into_its_value", "changes-its-input"),
        ("sums_in_any_order", "not-repeatable"),
        ("gives_float64_for_float32", "dtype"),
    ],
)
def test_what_bites_later_is_no_wrong_number(name: str, weakness: str) -> None:
    result = check(getattr(hostile, name))
    assert result.is_right
    assert not result.is_robust
    assert weakness in {each.id for each in result.weaknesses}


def test_padding_that_leaks_is_a_weakness_and_not_a_mistake() -> None:
    result = check(RIGHT["everything"].function)
    assert [each.id for each in result.weaknesses] == ["padding-leaks"]


def test_a_refusal_of_strided_arrays_is_a_weakness() -> None:
    result = check(RIGHT["only_contiguous"].function)
    assert result.is_right
    assert "layout-refused" in {each.id for each in result.weaknesses}


@pytest.mark.parametrize("name", ["remembers_by_shape", "is_wrong_in_the_third_call"])
def test_a_function_that_remembers_is_wrong(name: str) -> None:
    assert check(getattr(hostile, name)).verdict == "wrong"


# --- what cannot be asked, or run -------------------------------------------------------------------


def test_sizes_that_are_refused_are_not_supported_and_what_is_lost_is_listed() -> None:
    def only_one_key_or_eight(q: Any, k: Any, v: Any) -> Any:
        if k.shape[-2] > 20:
            raise ValueError("at most 20 keys")
        return attention(q, k, v)

    result = check(only_one_key_or_eight)
    assert result.is_right
    assert any("Tk = 31" in note and "at most 20 keys" in note for note in result.notes)


def test_a_switch_that_breaks_down_could_not_be_run() -> None:
    def divides_by_nothing(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
        return attention(q, k, v) / (np.zeros(0)[0] if causal else 1)

    result = check(divides_by_nothing)
    assert (verdicts(result)["causal"], result.is_right) == ("could not be run", False)


def test_a_refusal_on_purpose_is_not_supported() -> None:
    def refuses(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
        if causal:
            raise NotImplementedError("causal masks are not supported yet")
        return attention(q, k, v)

    assert verdicts(check(refuses))["causal"] == "not supported"


def test_a_function_that_cannot_be_called_could_not_be_run() -> None:
    result = check(lambda q, k, v: None)
    assert (result.verdict, result.is_right) == ("could not be run", False)
    assert "return" in result.sentence


@pytest.mark.parametrize(("name", "says"), [("exits_at_once", "os._exit"), ("loops_for_ever", "0.5 s")])
def test_a_process_that_ends_or_hangs_is_said(name: str, says: str) -> None:
    limits = Limits(seconds=0.5, first_seconds=0.5)
    result = check_with(f"{ZOO / 'hostile.py'}:{name}", limits=limits)
    assert result.verdict == "could not be run"
    assert says in result.sentence


def test_a_function_that_takes_all_memory_is_given_up_soon(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "import numpy as np\ndef attention(q, k, v):\n    return [np.ones(2**20) for _ in range(2**14)]\n"
    )
    result = check_with(str(tmp_path / "kernel.py"), limits=Limits(memory=2**26))
    assert result.verdict == "could not be run"
    assert "keeps running out of memory" in result.sentence
    assert result.calls < 20


@pytest.mark.parametrize("is_opened", [False, True], ids=["named", "in a process already"])
def test_a_file_that_raises_could_not_be_run(tmp_path: Path, is_opened: bool) -> None:
    (tmp_path / "kernel.py").write_text("raise ValueError('no GPU here')")
    target = read_target(str(tmp_path / "kernel.py"))
    with Runner(target) as runner:
        result = check_with(runner if is_opened else target)
    assert (result.verdict, result.name) == ("could not be run", "kernel.py")
    assert result.sentence.startswith(
        "kernel.py could not be run: it cannot be loaded. ValueError: no GPU here"
    )


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"roles": {"qq": "query"}}, "no parameter 'qq'. Did you mean 'q'?"),
        ({"arguments": {"block": 16}}, "no parameter 'block'. It has: q, k, v."),
        ({"out_argument": "out"}, "no parameter 'out'"),
        ({"library": "no_such_library"}, "not installed here"),
        ({"layuot": "BHTD"}, "Did you mean 'layout'?"),
        ({"device": "cuda"}, "NumPy arrays, which lie on no device"),
    ],
)
def test_what_is_stated_and_cannot_be_meant_is_an_error(stated: dict[str, Any], says: str) -> None:
    def plain(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v)

    with pytest.raises(OptionError, match=re.escape(says)):
        check(plain, **stated)


def test_outputs_in_another_order_than_stated_are_said_and_no_fault_of_ours() -> None:
    def both(q: Any, k: Any, v: Any) -> Any:
        weights = attention(q, k, np.broadcast_to(np.eye(k.shape[-2]), (*k.shape[:-1], k.shape[-2])))
        return weights @ v, weights

    result = check(both, returns="weights,output")
    assert result.verdict == "wrong"
    assert "has shape" in result.sentence


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileError, match="not there"):
        check("nowhere.py:attention")


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(OptionError, match="lower_right"):
        check(attention, causal="lower_rihgt")


# --- the record -----------------------------------------------------------------------------------


def test_the_record_is_plain_data() -> None:
    result = check(mutated.mutated("softmax-without-max"), dtypes=("float32",))
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["verdict"] == "wrong"
    assert len(record["features"]) == 17


def test_progress_is_told_before_each_input() -> None:
    told: list[tuple[int, int, str]] = []
    check_with(attention, progress=lambda *each: told.append(each))
    count = len(told) - 1
    assert [done for done, _, _ in told] == list(range(count + 1))
    assert {total for _, total, _ in told} == {count}
    assert told[-1] == (count, count, "what explains the answers")


def test_importing_headwork_loads_nothing_of_the_check() -> None:
    import subprocess

    code = "import sys, headwork; print([m for m in sys.modules if 'conformance' in m or 'torch' in m])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
