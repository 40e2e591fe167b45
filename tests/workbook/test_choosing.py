"""An option is meant by its number, its letter, its text or the beginning of that; a doubt is an error."""

import pytest

from headwork.errors import AnswerError
from headwork.workbook.choosing import chosen_options, read_choice
from headwork.workbook.questions import ChoiceQuestion, Option

TEXTS = ("the softmax", "the sigmoid", "q₂ · k₄", "3", "half of  it")


def question(*, texts: tuple[str, ...] = TEXTS, several: bool = False) -> ChoiceQuestion:
    options = tuple(Option(text, f"about {text}", right=at == 0) for at, text in enumerate(texts))
    return ChoiceQuestion("q", "Which?", ("A hint.",), options, several=several)


MEANT = [
    # typed         text           why
    ("1", "the softmax", "its number"),
    ("a", "the softmax", "its letter"),
    ("B", "the sigmoid", "its letter, as a capital"),
    ("b)", "the sigmoid", "as it is printed"),
    ("(2)", "the sigmoid", "in parentheses"),
    ("2.", "the sigmoid", "with a full stop"),
    ("the si", "the sigmoid", "the beginning of its text"),
    ("THE SOFTMAX", "the softmax", "its text"),
    ("q2 · k4", "q₂ · k₄", "its text, as a keyboard writes it"),
    ("q", "q₂ · k₄", "a beginning that is no letter of an option"),
    ("half of it", "half of  it", "blanks do not matter"),
    ("２", "the sigmoid", "a wide digit"),
]

REFUSED = [
    # typed        what the error says
    ("the", "could be option a or option b"),
    ("3", "could be option c or option d"),  # the third one, and the one that says 3
    ("6", "none of the options"),
    ("f", "none of the options"),
    ("softmax", "none of the options"),
    ("1 2", "none of the options"),
    ("", "none of the options"),
    ("١", "none of the options"),
    ("x" * 5000, "x …' is none of the options"),
]

SEVERAL = [
    # typed             texts                                why
    ("1 5", ["the softmax", "half of  it"], "numbers"),
    ("c a", ["the softmax", "q₂ · k₄"], "letters, in any order"),
    ("a,b and e", ["the softmax", "the sigmoid", "half of  it"], "commas and a word"),
    ("1;1", ["the softmax"], "one of them twice"),
    ("the sig", ["the sigmoid"], "the beginning of one"),
    ("the softmax | half of it", ["the softmax", "half of  it"], "as progress keeps it"),
]


@pytest.mark.parametrize(("typed", "text", "why"), MEANT)
def test_one_option_is_meant(typed, text, why):
    assert read_choice(question(), typed) == text, why


@pytest.mark.parametrize(("typed", "said"), REFUSED)
def test_a_doubt_costs_nothing_and_says_what_can_be_typed(typed, said):
    with pytest.raises(AnswerError, match=said):
        read_choice(question(), typed)


@pytest.mark.parametrize(("typed", "texts", "why"), SEVERAL)
def test_several_options_may_be_meant(typed, texts, why):
    asked = question(several=True)
    answer = read_choice(asked, typed)
    assert [option.text for option in chosen_options(asked, answer)] == texts, why


def test_one_of_several_that_is_none_is_an_error():
    with pytest.raises(AnswerError, match="'z' is none of the options"):
        read_choice(question(several=True), "a z")


def test_what_was_read_is_read_again_as_the_same():
    for asked in (question(), question(several=True)):
        for option in asked.options:
            if option.text != "3":  # which is also a number
                assert read_choice(asked, option.text) == option.text
