"""The page of a check: what it says, that signs and words go together, and that it fits its columns."""

from dataclasses import replace

import pytest
from checks_made import case_reports, checked, failing, picky, raising, reported, unscaled, upper_left

from headwork.conformance.features import feature_named
from headwork.conformance.report import Arithmetic, FeatureReport, Weakness
from headwork.conformance.stated import Found
from headwork.interfaces.check_text import check_page, failure_page


def page(check, width=80, **options) -> str:
    return "\n".join(check_page(check, width, **options))


def flat(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------- verdicts

ROWS = [
    # verdict            sign  beside it                 reason
    ("right",            "✓", "2 inputs, within 1.5e-16, 1.5× NumPy's", "1.5e-16 of plain NumPy's 1e-16"),
    ("convention",       "≠", "2 inputs, within 1.5e-16, 1.5× NumPy's", "the same"),
    ("rounding",         "≈", "2 inputs, within 1.5e-16, 1.5× NumPy's", "the same"),
    ("wrong",            "✗", "on 2 of 2 inputs", "both are wrong, and it has no name"),
    ("could not be run", "!", "on 2 of 2 inputs", "neither came back"),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "sign", "beside", "reason"), ROWS, ids=[row[0] for row in ROWS])
def test_each_verdict_has_a_sign_and_its_word(verdict, sign, beside, reason):
    assert (
        f"  {sign} Query, key and value  {verdict}  {beside}"
        in page(reported(basic=verdict), 100).splitlines()
    )


def test_what_is_wrong_only_because_of_another_is_told_once():
    follows = FeatureReport(
        feature_named("causal"), "wrong", "Wrong because.", case_reports("wrong"), follows="basic"
    )
    text = page(reported(basic="wrong", causal=follows))
    assert "  ↳ Causal                wrong  because of what is wrong above" in text
    assert text.count("Causal") == 1


def test_a_convention_that_was_met_before_is_told_once():
    follows = FeatureReport(
        feature_named("causal"), "convention", "Right.", case_reports("convention"), follows="mask-bool"
    )
    text = page(reported(mask_bool="convention", causal=follows))
    assert "  ↳ Causal                    convention  by the convention above" in text
    assert text.count("Causal") == 1


def test_two_findings_on_different_inputs_are_both_told():
    check = checked(unscaled)
    basic = check.of("basic")
    found = replace(basic.explanations[0], readings=_readings("softmin"), cases=("basic/square",))
    features = tuple(
        replace(f, explanations=(*f.explanations, found)) if f is basic else f for f in check.features
    )
    text = flat(page(replace(check, features=features)))
    assert "✗ Query, key and value: wrong, scale-missing, softmin" in text
    assert f"on 1 of {len(basic.cases)} inputs. headwork explain softmin says more." in text
    assert "The same numbers come from" not in text


def test_features_that_are_wrong_and_unexplained_are_told_of_once():
    text = page(reported(basic="wrong", causal="wrong", cache="wrong"))
    assert "✗ Query, key and value: wrong" in text
    assert "Causal: wrong" not in text


def test_the_same_end_of_several_features_is_told_once():
    crashed = FeatureReport(
        feature_named("basic"), "could not be run", "It crashed.", case_reports("could not be run", None)
    )
    assert page(reported(basic=crashed, causal=crashed)).count("It crashed.") == 1


def test_the_arithmetic_of_a_rounding_is_said():
    arithmetic = Arithmetic("tf32", 10, "10 bits, as TF32 has.")
    report = FeatureReport(
        feature_named("basic"), "rounding", "10 bits, as TF32 has.", (), arithmetic=arithmetic
    )
    assert "≈ Query, key and value: rounding\n  10 bits, as TF32 has." in page(reported(basic=report))


# ---------------------------------------------------------------- a mistake


def test_a_mistake_is_named_with_why_evidence_and_the_command_that_says_more():
    text = flat(page(checked(unscaled)))
    assert "✗ Query, key and value: wrong, scale-missing" in text
    assert (
        "It left the scores unscaled: these are exactly the numbers that gives. Divide every score by √d_k"
        in text
    )
    assert "Why it is not right: " in text
    assert "How sure: random errors look like this in less than 1 of 2^64 cases (" in text
    assert "headwork explain scale-missing says more." in text


def test_the_sentence_to_act_on_stands_at_the_end():
    for check in (checked(unscaled), checked(raising), reported(basic="right")):
        assert flat(page(check)).endswith(flat(check.sentence).encode("ascii", "replace").decode()[-20:])


def test_other_readings_are_listed_with_how_to_mend_them():
    check = checked(unscaled)
    basic = check.of("basic")
    found = replace(basic.explanations[0], readings=(*basic.explanations[0].readings, *_readings("softmin")))
    features = tuple(replace(f, explanations=(found,)) if f is basic else f for f in check.features)
    text = flat(page(replace(check, features=features)))
    assert "The same numbers come from: – softmin: it " in text


def _readings(id):
    from headwork.mistakes.lookup import mistake_named

    return ((mistake_named(id),),)


def test_the_smallest_failing_input_is_written_out_where_it_is_small():
    text = page(checked(unscaled))
    assert "The smallest input on which it fails" in text
    assert "Q = [" in text
    assert "expected [" in text
    assert "--reproduce FILE.py writes it as Python." in text
    assert "failing.py runs it." in page(checked(unscaled), file="failing.py")


def test_a_large_failing_input_is_told_by_its_sizes():
    text = page(replace(reported(basic="wrong"), failing=failing(0.0, 1.0, size=40)))
    assert "B = 1, H = 1, Tq = 1, Tk = 40, D = 1, Dv = 1, float64" in text
    assert "expected" not in text


DIGITS = [
    # expected    got                  shown                                       reason
    (0.5,         0.75,                ("0.5", "0.75"),                            "four digits show it"),
    (1 / 3,       1 / 3 + 1e-6,        ("0.33333333", "0.33333433"),               "eight show it"),
    (0.5,         0.5 + 2**-50,        ("0.5", "0.50000000000000089"),             "2⁻⁵⁰ is 8.88e-16"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "got", "shown", "reason"), DIGITS)
def test_as_many_digits_as_show_the_difference(expected, got, shown, reason):
    text = page(replace(reported(basic="wrong"), failing=failing(expected, got)))
    assert f"expected [{shown[0]}]\n    it gave [{shown[1]}]" in text


# ---------------------------------------------------------------- conventions, robustness, what is not there


def test_a_convention_comes_with_the_option_that_states_it():
    text = flat(page(checked(upper_left)))
    assert "≠ Causal: convention" in text
    assert "the first query meets the first key (upper left)" in text
    assert "State it and it is held to that: --causal upper_left." in text


def test_what_is_not_there_is_listed_by_title_and_a_refusal_with_its_reason():
    text = flat(page(checked(picky)))
    assert "– A scale of one's own; A mask of true and false; A mask that is added; The first" in text
    assert "– A key/value cache: " in text
    assert "q and k must have the same length" in text


def test_what_can_no_longer_be_seen_is_listed():
    text = flat(page(checked(picky)))
    assert "What cannot be seen with the sizes and inputs that it takes Whether it: – " in text
    assert "(causal-top-left-for-bottom-right)" in text


def test_robustness_says_whether_it_fails():
    check = replace(reported(basic="right"), weaknesses=(Weakness("prints", "it prints: hello"),))
    assert "Robustness (it fails only with --strict)\n  – prints: it prints: hello" in page(check)
    assert "Robustness (strict: it fails)" in page(check, strict=True)


def test_of_sizes_that_were_found_bit_by_bit_the_last_is_told():
    found = tuple(Found("sizes", text, "tried", f"it takes {text}") for text in ("Tq=Tk", "D%8; Tq=Tk"))
    check = reported(basic="right")
    text = page(replace(check, interface=replace(check.interface, found=found)))
    assert "  by trying: it takes D%8; Tq=Tk\n" in text


def test_a_function_that_cannot_be_called_has_no_table():
    text = page(checked(raising))
    assert "attention" not in text
    assert "could not be run" in text
    assert "Not supported" not in text


# ---------------------------------------------------------------- how it looks


def everything():
    weak = (Weakness("prints", f"it prints: {'a long line of words ' * 9}"),)
    made = reported(
        basic="right", mask_bool="convention", causal="wrong", window="could not be run", dtypes="rounding"
    )
    return replace(
        made, weaknesses=weak, notes=("a note that is long enough to be wrapped at forty columns",)
    )


PAGES = {
    "wrong": lambda: checked(unscaled),
    "convention": lambda: checked(upper_left),
    "restricted": lambda: checked(picky),
    "everything": everything,
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_no_line_is_wider_than_the_page(name, width):
    assert max(map(len, page(PAGES[name](), width).splitlines())) <= width


@pytest.mark.parametrize("name", PAGES)
def test_plain_text_has_words_for_signs_and_no_columns(name):
    text = page(PAGES[name](), plain=True)
    assert not set("✓≠≈✗↳–√−") & set(text)
    assert "Query, key and value: " in text


def test_what_somebody_elses_code_says_cannot_move_the_cursor():
    text = page(checked(raising))
    assert r"\x1b[31mno\x07 such\ud800 kernel" in text
    assert text.isprintable() or not set("\x1b\x07\ud800") & set(text)


# ---------------------------------------------------------------- the message of a test


def test_the_message_of_a_failing_test_begins_with_the_sentence_and_says_it_once():
    lines = list(failure_page(checked(unscaled), 80))
    text = flat("\n".join(lines))
    assert text.startswith(
        "unscaled is wrong: it left the scores unscaled: these are exactly the numbers that gives."
    )
    assert text.count("left the scores unscaled") == 1
    assert "The smallest input on which it fails" in text
    assert "Not supported" not in text
    assert "--reproduce" not in text


def test_the_message_speaks_of_robustness_only_where_that_fails_the_test():
    check = replace(reported(basic="right"), weaknesses=(Weakness("prints", "it prints: hello"),))
    assert "prints" not in "\n".join(failure_page(check, 80))
    assert "it prints: hello" in "\n".join(failure_page(check, 80, strict=True))
