"""The arithmetic that is shown is the arithmetic that was done: it is worked out again from what is shown."""

import math
import re

import numpy as np
import pytest
from drawn_problems import records
from hypothesis import given

from headwork import Problem, trace
from headwork.errors import UnknownNameError
from headwork.mechanism.arithmetic import pieces_text, source_of, unshifted, worked

THREE_TOKENS = {
    "query": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 2, 0]],
    "key": [[1, 0, 0, 0], [0, 1, 1, 0], [2, 0, 0, 0]],
    "value": [[1, 0], [0, 1], [1, 1]],
}
E = {
    "x": [[1, 2], [0, -1]],
    "w_query": [[1, 0], [2, 1]],
    "w_key": [[1, -1], [0, 1]],
    "w_value": [[1, 2], [3, 4]],
}
TURNED, PROJECTED = {"rope": {"pairing": "interleaved"}}, {"w_output": [[1, -1], [2, 0]]}

# Worked by hand with a calculator; the steps of the three tokens are those of any textbook.
LINES = [
    # options                                     field           entry      line
    ({}, "scores", (0, 2), "s₁₃ = 2·2 + 0·0 + 0·0 + 0·0 = 4"),
    ({}, "scaled", (0, 2), "s₁₃ = 4 / √4 = 2"),
    ({"scale": 0.25}, "scaled", (0, 2), "s₁₃ = 4 · 0.25 = 1"),
    ({"scale": -0.5}, "scaled", (0, 2), "s₁₃ = 4 · (−0.5) = −2"),
    ({"softcap": 2}, "capped", (0, 2), "s₁₃ = 2·tanh(2 / 2) = 1.523"),
    ({"alibi": 0.5}, "bias", (0, 2), "b₁₃ = −0.5·|1 − 3| = −1"),
    ({"alibi": 0.5}, "biased", (0, 2), "s₁₃ = 2 + (−1) = 1"),
    ({"causal": True}, "allowed", (0, 2), "a₁₃ = no: key 3 is after query 1"),
    ({"causal": True}, "allowed", (2, 0), "a₃₁ = yes"),
    ({"causal": True}, "masked", (0, 2), "s₁₃ = −∞: key 3 is after query 1"),
    ({"causal": True}, "masked", (2, 1), "s₃₂ = 2"),
    ({}, "masked", (0, 2), "s₁₃ = 4 / √4 = 2"),  # nothing is masked: it is the scaled score
    ({}, "row_max", (0,), "m₁ = max(1, 0, 2) = 2"),
    ({"sink": 3}, "row_max", (0,), "m₁ = max(1, 0, 2, 3) = 3: the last one is the sink"),
    ({}, "exponentials", (0, 0), "e₁₁ = e^(1 − 2) = 0.368"),
    ({"causal": True}, "exponentials", (0, 2), "e₁₃ = e^(−∞) = 0"),
    ({}, "row_sum", (0,), "ℓ₁ = 0.368 + 0.135 + 1 = 1.503"),
    ({}, "weights", (0, 0), "w₁₁ = 0.368 / 1.503 = 0.245"),
    ({}, "logsumexp", (0,), "lse₁ = 2 + ln 1.503 = 2.408"),
    ({}, "output", (0, 0), "z₁₁ = 0.245·1 + 0.090·0 + 0.665·1 = 0.910"),
    ({"rope": True}, "query_rotated", (2, 1), "q₃₂ = 2·cos(0.02) − 0·sin(0.02) = 2.000: position 2, pair 2"),
    (TURNED, "key_rotated", (2, 1), "k₃₂ = 2·sin(2) + 0·cos(2) = 1.819: position 2, pair 1"),
    ({"rope": {"dim": 2}}, "key_rotated", (2, 3), "k₃₄ = 0: only the first 2 features are turned"),
    ({"chunks": [1, 2]}, "part_output", (0, 0, 0), "z⁽¹⁾₁₁ = 1·1 = 1"),
    ({"chunks": [1, 2]}, "part_logsumexp", (1, 0), "lse⁽²⁾₁ = 2 + ln(e^(0 − 2) + e^(2 − 2)) = 2.127"),
    ({"chunks": [1, 2]}, "output", (0, 0), "z₁₁ = e^(1 − 2.408)·1 + e^(2.127 − 2.408)·0.881 = 0.910"),
    ({"mask": [[False] * 3] * 3}, "weights", (1, 0), "w₂₁ = 0: query 2 may see no key"),
    ({"mask": [[False] * 3] * 3}, "logsumexp", (1,), "lse₂ = −∞: query 2 may see no key"),
    (PROJECTED, "output", (0, 0), "z₁₁ = 0.910·1 + 0.755·2 = 2.421"),
    ({**PROJECTED, "b_output": [0, 5]}, "output", (0, 1), "z₁₂ = 0.910·(−1) + 0.755·0 + 5 = 4.090"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "field", "entry", "line"), LINES)
def test_a_line_says_what_a_person_would_write(options, field, entry, line):
    assert worked(trace(Problem(**THREE_TOKENS, **options)), field, entry).text() == line


def test_embeddings_are_projected():
    work = trace(Problem(**E))
    assert worked(work, "query", (1, 0)).text() == "q₂₁ = 0·1 + (−1)·2 = −2"


def test_heads_say_where_their_entries_come_from():
    packed = {name: np.arange(8.0).reshape(2, 4) for name in ("query", "key", "value")}
    work = trace(Problem(**packed, heads=2))
    assert worked(work, "query_heads", (1, 0, 0)).text() == "q₁₁ = 2: column 3 of row 1 of query"
    assert worked(work, "merged", (1, 2)).text() == "z₂₃ = 6: head 2, column 1"  # one key takes it all


def test_grouped_heads_say_which_head_they_use():
    heads = trace(Problem(query=np.ones((4, 2, 2)), key=np.ones((2, 3, 2)), value=np.ones((2, 3, 2))))
    assert worked(heads, "key_repeated", (3, 0, 0)).reason == "query head 4 uses key head 2"


REASONS = [
    # options                                              key  reason why query 1 of 2 may not see it
    ({"causal": True}, 4, "key 4 is after query 1, which stands at position 3"),
    ({"causal": "upper_left"}, 4, "key 4 is after query 1"),
    ({"window": (1, 0)}, 1, "key 1 is more than 1 before query 1, which stands at position 3"),
    ({"window": (1, 0)}, 4, "key 4 is more than 0 after query 1, which stands at position 3"),
    ({"lengths": 3}, 4, "key 4 is padding, as 3 keys are valid"),
    ({"mask": [[True, False, True, True]]}, 2, "the mask hides key 2"),
    ({"mask": [[0.0, -np.inf, 1.5, 0.0]]}, 2, "the mask is −∞ at key 2"),
    ({"lengths": 3, "causal": "upper_left"}, 4, "key 4 is after query 1; key 4 is padding, as 3 keys are "
     "valid"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "key", "reason"), REASONS)
def test_a_masked_score_says_why(options, key, reason):
    work = trace(Problem(query=np.ones((2, 2)), key=np.ones((4, 2)), value=np.ones((4, 1)), **options))
    assert worked(work, "masked", (0, key - 1)).reason == reason


@given(records())
def test_a_key_is_hidden_if_and_only_if_there_is_a_reason(record):
    work = trace(Problem(**record))
    for index in np.ndindex(work.allowed.shape):
        assert bool(worked(work, "allowed", index).reason) != work.allowed[index]


def test_the_sum_without_the_shift_is_the_one_that_people_write():
    line = unshifted(trace(Problem(**THREE_TOKENS)), (0,)).text()
    assert line == "Σⱼ e^s₁ⱼ = e^1 + e^0 + e^2 = 2.718 + 1 + 7.389 = 11.107: not shifted, the same weights"


def test_the_sum_without_the_shift_leaves_masked_keys_out():
    line = unshifted(trace(Problem(**THREE_TOKENS, causal=True)), (1,)).text()
    assert line.startswith("Σⱼ e^s₂ⱼ = e^0 + e^1 = 1 + 2.718 = 3.718")


@pytest.mark.parametrize(
    "scores", [[800.0, 0.0], [-800.0, -900.0], [0.0, -1.0], [-np.inf, -np.inf], [np.nan, 0.0]]
)
def test_a_sum_that_nobody_could_write_is_left_out(scores):
    work = trace(Problem(given={"scaled": [scores]}, value=[[1.0], [2.0]]))
    assert unshifted(work, (0,)) is None


def test_a_hidden_key_with_no_value_is_left_out():
    work = trace(Problem(given={"scaled": [[0.0, 0.0]]}, value=[[1.0], [np.nan]], causal="upper_left"))
    assert worked(work, "output", (0, 0)).text() == "z₁₁ = 1·1 = 1"


def test_of_a_long_sum_the_ends_are_written():
    work = trace(Problem(query=np.ones((1, 64)), key=np.ones((1, 64)), value=[[1.0]]))
    assert worked(work, "scores", (0, 0)).arithmetic() == "1·1 + 1·1 + 1·1 + … 60 more … + 1·1"


def test_what_was_given_has_no_arithmetic():
    work = trace(Problem(given={"scaled": [[1.0, 2.0]]}, value=[[1.0], [2.0]]))
    assert worked(work, "masked", (0, 1)).text() == "s₁₂ = 2"


@pytest.mark.parametrize("entry", [(3, 0), (0, -1), (0,), (0, 0, 0)])
def test_an_entry_that_is_not_there_is_refused(entry):
    with pytest.raises(UnknownNameError, match="there is no entry"):
        worked(trace(Problem(**THREE_TOKENS)), "scores", entry)


def test_a_field_that_is_not_there_is_refused():
    with pytest.raises(UnknownNameError, match="this problem has no part_output"):
        worked(trace(Problem(**THREE_TOKENS)), "part_output", (0, 0, 0))


def test_a_record_says_the_same_as_the_line():
    record = worked(trace(Problem(**THREE_TOKENS)), "scaled", (0, 2)).to_dict()
    assert record == {
        "field": "scaled",
        "index": [0, 2],
        "symbol": "s₁₃",
        "arithmetic": "4 / √4",
        "value": 2.0,
        "reason": "",
    }


# ---------------------------------------------------------------- every entry, worked out again


def value_of(pieces) -> float:
    """What a calculator makes of the pieces: their numbers in full, their signs as Python's."""
    text = "".join(piece if isinstance(piece, str) else f"({float(piece)!r})" for piece in pieces)
    for sign, operator in (
        ("·|", "*abs("),
        ("|", ")"),
        ("·", "*"),
        ("−", "-"),
        ("√", "sqrt"),
        ("e^", "exp"),
        ("ln", "log"),
    ):
        text = text.replace(sign, operator)
    names = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "cos", "sin", "tanh", "inf", "nan")}
    return float(eval(text, {"__builtins__": {}}, {**names, "max": max, "abs": abs}))


def drawn(rng: np.random.Generator, number: int) -> Problem:
    """A small problem with this and that; the number says what."""
    has = [bool(number >> bit & 1) for bit in range(8)]
    Tq, Tk, D, Dv, H, Hkv = 2, 3, 4, 2, 4, 2
    whole = lambda *shape: rng.integers(-3, 4, shape).astype(float)  # noqa: E731
    options = {"rope": {"pairing": rng.choice(["half", "interleaved"])}} if has[0] else {}
    options |= {"softcap": 3.0} if has[1] else {}
    options |= (
        {"alibi": True, "mask": np.where(rng.random((Tq, Tk)) < 0.2, -np.inf, whole(Tq, Tk))}
        if has[2]
        else {}
    )
    options |= {"causal": True} if has[3] else {}
    options |= {"sink": whole(H)} if has[4] else {}
    options |= {"chunks": [1, 2]} if has[5] else {}
    options |= {"w_output": whole(H * Dv, 3), "b_output": whole(3)} if has[6] else {}
    if has[7]:
        weights = {
            "w_query": whole(5, H * D),
            "w_key": whole(5, Hkv * D),
            "w_value": whole(5, Hkv * Dv),
            "b_key": whole(Hkv * D),
        }
        return Problem(x=whole(2, Tq, 5), x_key=whole(2, Tk, 5), **weights, heads=H, kv_heads=Hkv, **options)
    return Problem(query=whole(2, H, Tq, D), key=whole(2, Hkv, Tk, D), value=whole(2, Hkv, Tk, Dv), **options)


@pytest.mark.parametrize("number", range(0, 256, 17))
def test_every_line_works_out_to_its_value(rng, number):
    work = trace(drawn(rng, number))
    found = 0
    for field in work:
        for index in np.ndindex(work[field].shape):
            one = worked(work, field, index)
            assert one.value == work[field][index] or np.isnan(one.value)
            if one.pieces:
                found += 1
                assert value_of(one.pieces) == pytest.approx(float(one.value), rel=1e-9, abs=1e-9), one.text()
    assert found > 100


@pytest.mark.parametrize("number", range(0, 256, 17))
def test_the_sum_without_the_shift_gives_the_same_weights(rng, number):
    work = trace(drawn(rng, number))
    for index in np.ndindex(work.row_sum.shape):
        other = unshifted(work, index)
        if other is not None:
            powers, *sums = "".join(
                p if isinstance(p, str) else f"\0{float(p)!r}\0" for p in other.pieces
            ).split(" = ")
            total = sum(math.exp(float(s)) for s in re.findall("\0(.*?)\0", powers))
            assert other.value == pytest.approx(total)
            assert math.log(other.value) == pytest.approx(work.logsumexp[index])
            assert len(sums) == (powers.count("e^") > 1)


def test_every_field_of_a_trace_has_its_arithmetic(rng):
    """A new step needs a line in the table of `arithmetic`; this fails until it has one."""
    work = trace(drawn(rng, 255))
    for field in work:
        worked(work, field, (0,) * work[field].ndim)
        assert source_of(work, field) in work


def test_a_negative_number_behind_a_sign_gets_parentheses():
    assert pieces_text((-1.0, "·", -2.0, " + ", -3.0, "·", 4.0)) == "−1·(−2) + (−3)·4"
