"""A session: what comes of every line that a learner types."""

import pytest
from hypothesis import given, settings, strategies as st

from headwork.interfaces.json_text import json_text
from headwork.workbook.course import exercises
from headwork.workbook.events import Asked, Card, Event, Explained, Listed, Marked, Opened, Said
from headwork.workbook.finding import find_exercise
from headwork.workbook.progress import Progress
from headwork.workbook.session import Session
from headwork.workbook.standing import standing
from headwork.workbook.words import WORDS

RIGHT = {  # one right answer to each question of exercise 4, from the by-hand table of test_judging
    "exponentials": "2.718 1 7.389",
    "sum": "11.107",
    "weights": "0.245 0.090 0.665",
    "total": "1",
    "ratio": "7.39",
}


class Learner:
    """Types lines and keeps what came of each."""

    def __init__(self, progress: Progress, exercise: str | None = None) -> None:
        self.progress = progress
        self.session = Session(progress)
        self.seen = list(self.session.begin(find_exercise(exercise) if exercise else None))

    def types(self, *lines: str) -> list[Event]:
        self.seen = [event for line in lines for event in self.session.receive(line)]
        return self.seen

    def saw(self, kind) -> bool:
        return any(isinstance(event, kind) for event in self.seen)

    def said(self, what: str) -> str:
        found = (event for event in self.seen if isinstance(event, Said) and event.what == what)
        return " ".join(" ".join((event.title, event.text, *event.lines)) for event in found)

    @property
    def place(self) -> tuple[str, str]:
        return self.session._exercise.id, self.session.question.id


@pytest.fixture
def progress():
    with Progress(None) as log:
        yield log


def test_a_new_learner_gets_the_card_before_the_first_exercise(progress):
    kinds = [type(event) for event in Learner(progress).seen]
    assert kinds.index(Card) < kinds.index(Opened) < kinds.index(Asked)


def test_whoever_begins_in_the_middle_gets_the_card_too_and_only_once(progress):
    assert Learner(progress, "softmax").saw(Card)
    assert not Learner(progress, "blend").saw(Card)


def test_a_right_answer_leads_to_the_next_question(progress):
    learner = Learner(progress, "softmax")
    learner.types("2.718 1 7.389")
    assert learner.place == ("softmax", "sum")


def test_an_answer_that_is_not_right_can_be_tried_again(progress):
    learner = Learner(progress, "softmax")
    for _ in range(3):
        learner.types("1 2 3")
        assert learner.place == ("softmax", "exponentials")
        assert learner.seen[0].judged.verdict == "not right"
    learner.types("2.718 1 7.389")
    assert [act.verdict for act in progress.acts() if act.kind == "answer"] == ["not right"] * 3 + ["right"]


def test_right_so_far_asks_the_same_question_again(progress):
    learner = Learner(progress, "softmax")
    learner.types("2.7 1 7.4")
    assert learner.seen[0].judged.verdict == "short"
    assert learner.place == ("softmax", "exponentials")


def test_an_answer_is_kept_before_its_mark_is_handed_out(progress):
    learner = Learner(progress, "softmax")
    events = learner.session.receive("2.718 1 7.389")
    assert isinstance(next(events), Marked)
    assert progress.acts()[-1].text == "2.718 1 7.389"


@pytest.mark.parametrize("line", ["hello", "1 2", "1 2 3 4", "1,2,3.4,5", "🙂", "\x00", "1/0 2 3", "9" * 500])
def test_what_cannot_be_read_costs_nothing(progress, line):
    learner = Learner(progress, "softmax")
    learner.types(line)
    assert learner.said("unreadable")
    assert not [act for act in progress.acts() if act.kind == "answer"]
    assert learner.place == ("softmax", "exponentials")


def test_an_empty_line_is_told_what_is_expected(progress):
    learner = Learner(progress, "scores")
    learner.types("")
    assert "3 rows, each of 3 numbers" in learner.said("note")


def test_a_row_that_is_far_too_long_is_not_repeated_in_full(progress):
    learner = Learner(progress, "scores")
    learner.types("9 " * 20_000)
    assert "I read 20000 numbers: 9 | 9 |" in learner.said("unreadable")
    assert len(learner.said("unreadable")) < 300


def test_a_question_to_be_explained_says_how_an_answer_ends(progress):
    learner = Learner(progress, "scores")
    learner.types("skip", "skip", "skip")
    assert "an empty line ends them" in learner.said("note")


def test_help_while_comparing_is_about_comparing(progress):
    learner = Learner(progress, "scores")
    learner.types("skip", "skip", "skip", "A row is one query.", "")
    assert learner.types("?")
    assert "y, n or partly" in learner.said("note")


def test_rows_can_come_one_by_one_and_the_prompt_counts_them(progress):
    learner = Learner(progress, "scores")
    prompts = []
    for row in ("2 0 4", "oops", "0 2 0"):
        learner.types(row)
        prompts.append(learner.session.prompt)
    assert prompts == ["row 2 of 3: ", "row 2 of 3: ", "row 3 of 3: "]
    learner.types("0 4 0")
    assert learner.place == ("scores", "token-1")


def test_back_while_rows_are_typed_takes_the_last_one_back(progress):
    learner = Learner(progress, "scores")
    learner.types("2 0 4", "9 9 9", "back")
    assert learner.session.prompt == "row 2 of 3: "
    learner.types("0 2 0", "0 4 0")
    assert learner.place == ("scores", "token-1")


def test_a_paste_of_several_lines_is_taken_as_typed(progress):
    learner = Learner(progress, "scores")
    learner.types("2 0 4\n0 2 0\r\n0 4 0\n3")
    assert learner.place == ("scores", "tokens-2-and-3")


def test_hints_open_one_at_a_time_and_the_last_one_again(progress):
    learner = Learner(progress, "scores")
    hints = learner.session.question.hints
    for at, hint in enumerate(hints, 1):
        learner.types("hint")
        assert f"Hint {at} of 4" in learner.said("hint")
        assert hint in learner.said("hint")
    learner.types("hint")
    assert "all of them are open" in learner.said("hint")
    assert [act.text for act in progress.acts() if act.kind == "hint"] == ["1", "2", "3", "4"]


def test_hints_go_on_where_they_were_in_the_next_session(progress):
    Learner(progress, "scores").types("hint")
    learner = Learner(progress)
    learner.types("hint")
    assert "Hint 2 of 4" in learner.said("hint")


def test_a_worked_solution_is_noted_when_the_answer_comes_after_it(progress):
    learner = Learner(progress, "blend")
    learner.types("show")
    assert "0.245·1 + 0.090·0 + 0.665·1 = 0.910" in learner.said("solution")
    learner.types("0.910 0.755")
    stand = standing(find_exercise("blend"), progress.acts())
    assert (stand.state, stand.solved) == ("done", True)


def test_looking_at_the_solution_afterwards_is_not_held_against_anybody(progress):
    learner = Learner(progress, "blend")
    learner.types("0.910 0.755", "back", "show")
    assert learner.place == ("blend", "output")
    assert not standing(find_exercise("blend"), progress.acts()).solved


DIVIDED_BY_4 = "0.5 0 1; 0 0.5 0; 0 1 0"  # the scaled scores, with d_k in place of its root


def test_why_explains_a_table_of_numbers(progress):
    learner = Learner(progress, "scaling")
    learner.types("2", "why")
    assert "there is none here" in learner.said("note")
    learner.types(DIVIDED_BY_4)
    learner.types("why")
    (explained,) = learner.seen
    assert isinstance(explained, Explained)
    assert explained.found.mistakes[0] == ("scale-d-k-instead-of-sqrt",)
    assert explained.found.example.says.startswith("For example row 1, column 1: s₁₁ = 2 / √4 = 1.")
    assert explained.to_dict()["event"] == "why"


def test_why_is_still_there_in_the_next_session(progress):
    Learner(progress, "scaling").types("2", DIVIDED_BY_4)
    learner = Learner(progress)
    learner.types("why")
    assert learner.saw(Explained)


def test_why_of_a_number_says_what_is_known_of_it(progress):
    learner = Learner(progress, "scaling")
    learner.types("4", "why")
    assert "4 is d_k" in learner.said("why")
    learner.types("77", "why")
    assert "Nothing is known about this number" in learner.said("why")
    learner.types("2")
    learner.types("back", "why")
    assert "nothing in it that is not right" in learner.said("note")


def test_a_wrong_answer_has_its_explanation_and_what_follows_from_it_has_none(progress):
    learner = Learner(progress, "causal")
    learner.types("skip")
    learner.types("1 -inf -inf; 0 2 -inf; 0 2 0")  # 2 where 1 is right; from there e²/(1 + e²) = 0.881
    assert learner.seen[0].judged.explanation.step == "masked"
    learner.types("skip", "1 0 0; 0.119 0.881 0; 0.107 0.787 0.107")
    judged = next(event.judged for event in learner.seen if isinstance(event, Marked))
    assert (judged.verdict, judged.explanation) == ("follows", None)


SAME = [
    # exercise, first answer, then, whether these are the same numbers
    ("scaling", "4", "4.0", True),
    ("scaling", "4", "16", False),
    ("scaling", "1/2", "0.5", True),
    ("softmax", "1 0 2", "1 0 2", True),
    ("softmax", "1 0 2", "1; 0; 2", None),  # cannot be read as a row
    ("softmax", "1 0 2", "1 0 -inf", False),
    ("softmax", "2.718 1 _", "2.718 1 _", False),  # not wrong, as one is still to come
]


@pytest.mark.parametrize(("exercise", "first", "then", "again"), SAME)
def test_the_same_wrong_numbers_are_known_again_however_they_are_written(
    progress, exercise, first, then, again
):
    learner = Learner(progress, exercise)
    learner.types(first)
    assert [event.again for event in learner.seen if isinstance(event, Marked)] == [False]
    learner.types("hint", then)
    marked = [event.again for event in learner.seen if isinstance(event, Marked)]
    assert marked == ([] if again is None else [again])


def test_right_numbers_are_never_the_same_wrong_ones(progress):
    learner = Learner(progress, "softmax")
    learner.types("1 0 2", "2.718 1 7.389", "back", "2.718 1 7.389")
    assert not next(
        event.again for event in learner.seen if isinstance(event, Marked) and event.judged.is_done
    )


def test_skip_and_back_move_and_lose_nothing(progress):
    learner = Learner(progress, "softmax")
    learner.types("2.718 1 7.389", "skip")
    assert learner.place == ("softmax", "weights")
    learner.types("back")
    assert learner.place == ("softmax", "sum")
    learner.types("back", "back")
    assert learner.place == ("scaling", "why")
    assert standing(find_exercise("softmax"), progress.acts()).done == ("exponentials",)


def test_back_from_the_very_first_question_says_so(progress):
    learner = Learner(progress, "scores")
    learner.types("back")
    assert "first question of all" in learner.said("note")


@pytest.mark.parametrize("word", ["?", "help", "HINT", " list ", "card", "why"])
def test_words_work_whatever_their_case_and_move_nothing(progress, word):
    learner = Learner(progress, "softmax")
    assert learner.types(word)
    assert learner.place == ("softmax", "exponentials")


def test_help_names_every_word(progress):
    learner = Learner(progress, "softmax")
    learner.types("?")
    assert all(word in learner.said("note") for word in WORDS)


@pytest.mark.parametrize("word", ["quit", "exit", "q"])
def test_quit_ends_it(progress, word):
    learner = Learner(progress, "softmax")
    learner.types(word)
    assert learner.session.finished
    assert learner.types("2.718 1 7.389") == []


def test_a_recap_comes_when_everything_is_done_and_not_before(progress):
    learner = Learner(progress, "softmax")
    for _ in range(5):
        learner.types("skip")
    assert not learner.said("recap")
    assert "5 of 5 questions" in learner.said("place")
    learner = Learner(progress, "softmax")
    learner.types(*RIGHT.values())
    assert "gaps into ratios" in learner.said("recap")


def test_a_done_exercise_can_be_worked_again_question_by_question(progress):
    Learner(progress, "softmax").types(*RIGHT.values())
    learner = Learner(progress, "softmax")
    assert "You have done this one" in learner.said("place")
    for question, answer in RIGHT.items():
        assert learner.place == ("softmax", question)
        learner.types(answer)


# --- explanations ----------------------------------------------------------------------------------


@pytest.fixture
def writer(progress):
    learner = Learner(progress, "asymmetry")
    learner.types("a", "4", "0")
    return learner


def test_an_explanation_is_kept_in_the_learners_words_and_compared_point_by_point(writer, progress):
    writer.types("A dot product", "goes both ways.")
    assert writer.seen == []
    writer.types("")
    assert "W_Q" in writer.said("ours")
    assert progress.acts()[-1].text == "A dot product\ngoes both ways."
    writer.types("perhaps")
    assert "y, n or partly" in writer.said("note")
    writer.types("y", "PARTLY")
    compared = [(act.text, act.verdict) for act in progress.acts() if act.kind == "compared"]
    assert compared == [("1", "yes"), ("2", "partly")]
    assert standing(find_exercise("asymmetry"), progress.acts()).state == "done"


def test_an_explanation_that_was_not_compared_to_the_end_is_taken_up_there(writer, progress):
    writer.types("Mine.", "", "y")
    again = Learner(progress)
    assert "Mine." in again.said("yours")
    assert "Point 2 of 2" in again.said("point")
    again.types("n")
    assert standing(find_exercise("asymmetry"), progress.acts()).state == "done"


def test_half_an_explanation_is_kept_when_the_input_ends_and_goes_on_there(writer, progress):
    writer.types("Half a thought")
    list(writer.session.end_of_input())
    again = Learner(progress)
    assert "Half a thought" in again.said("yours")
    again.types("and the other half.", "")
    assert progress.acts()[-1].text == "Half a thought\nand the other half."


def test_hints_and_show_work_while_writing(writer):
    writer.types("hint")
    assert "Hint 1 of 2" in writer.said("hint")
    writer.types("show")
    assert "W_Q" in writer.said("ours")


# --- where the learner left off --------------------------------------------------------------------


def test_practice_goes_on_at_the_question_where_it_stopped(progress):
    Learner(progress, "softmax").types("2.718 1 7.389", "11.107")
    learner = Learner(progress)
    assert learner.place == ("softmax", "weights")
    assert "question 3 of 5" in learner.said("place")


def test_what_was_skipped_comes_at_the_end(progress):
    learner = Learner(progress)
    everything = {exercise.id: exercise for exercise in exercises()}
    while not learner.session.finished:
        learner.types("skip")
    first = ", ".join(list(everything)[:8])
    assert f"Still open: {first} and {len(everything) - 8} more." in learner.said("place")
    assert Learner(progress).place == ("scores", "scores")


def test_the_list_says_what_is_done_begun_and_not_yet(progress):
    learner = Learner(progress, "softmax")
    learner.types(*RIGHT.values(), "hint", "list")
    (listed,) = (event for event in learner.seen if isinstance(event, Listed))
    states = {name: stand.state for name, stand in listed.standings.items()}
    assert (states["softmax"], states["blend"], states["scores"]) == ("done", "begun", "not yet")
    sets = listed.to_dict()["sets"]
    assert [one["id"] for one in sets][:2] == ["three-tokens", "levels"]
    assert sum(len(one["exercises"]) for one in sets) == len(exercises())


ANYTHING = st.one_of(
    st.sampled_from(
        [*WORDS, "", "y", "n", *RIGHT.values(), "1 0 2", "0.5 0 1; 0 0.5 0; 0 1 0", "1 _ _", "-inf"]
    ),
    st.text(max_size=12),
)


@given(exercise=st.sampled_from([each.id for each in exercises()]), lines=st.lists(ANYTHING, max_size=12))
@settings(max_examples=25)
def test_whatever_is_typed_there_is_an_answer_and_it_is_data(exercise, lines):
    with Progress(None) as progress:
        learner = Learner(progress, exercise)
        for line in lines:
            for event in learner.types(line):
                json_text(event)


# --- choices, guesses, designs, several heads ------------------------------------------------------


def test_a_guess_is_kept_not_marked_and_remembered_at_the_end(progress):
    learner = Learner(progress, "asymmetry")
    learner.types("show")
    assert "A guess has no solution" in learner.said("note")
    learner.types("a")
    (marked,) = (event for event in learner.seen if isinstance(event, Marked))
    assert marked.judged.verdict == "guess"
    assert learner.place == ("asymmetry", "s13")
    learner.types("4", "0", "Mine.", "", "y", "y")
    assert "What you expected before: they are equal." in learner.said("place")


def test_the_last_guess_is_the_one_that_is_remembered(progress):
    learner = Learner(progress, "asymmetry")
    learner.types("a", "back", "3", "4", "0", "Mine.", "", "y", "y")
    assert "What you expected before: one of them" in learner.said("place")


def test_a_choice_is_the_same_however_it_was_typed(progress):
    learner = Learner(progress, "self-test")
    for typed, again in (("1", False), ("a", True), ("down each", True), ("2", False)):
        learner.types(typed)
        assert next(event.again for event in learner.seen if isinstance(event, Marked)) is again
    learner.types("why")
    assert "lets all queries share one attention" in learner.said("why")


def test_rows_of_several_heads_are_named_in_the_prompt(progress):
    learner = Learner(progress, "two-heads")
    learner.types("skip", "skip")
    prompts = [learner.session.prompt]
    for row in ("2 0", "oops", "2 4", "2 2"):  # q·k, by hand, in each head's own four columns
        learner.types(row)
        prompts.append(learner.session.prompt)
    assert prompts == [
        *("head 1, query 1 (1 of 4): ", "head 1, query 2 (2 of 4): ", "head 1, query 2 (2 of 4): "),
        *("head 2, query 1 (3 of 4): ", "head 2, query 2 (4 of 4): "),
    ]
    learner.types("0 -2")
    (marked,) = (event for event in learner.seen if isinstance(event, Marked))
    assert marked.judged.verdict == "right"
    assert marked.judged.step.echo


def test_what_is_made_up_is_asked_for_by_name(progress):
    learner = Learner(progress, "level-4.2")
    prompts = []
    for row in ("q = 1 0", "k1 = 1 1"):
        prompts.append(learner.session.prompt)
        learner.types(row)
    prompts.append(learner.session.prompt)
    assert prompts == ["q (1 of 3): ", "k₁ (2 of 3): ", "k₂ (3 of 3): "]
    learner.types("?")
    assert "q, k₁, k₂, for each a row of 2 numbers" in learner.said("note")
    learner.types("1 5")
    assert learner.place == ("level-4.2", "condition")


def test_each_set_begins_with_its_card_and_ends_with_its_closing(progress):
    assert Learner(progress, "scores").saw(Card)
    learner = Learner(progress, "self-test")
    assert learner.saw(Card)
    assert not Learner(progress, "level-1.1").saw(Card)
    learner.types("3", "3")
    assert "recap" in learner.said("recap")
    assert learner.said("closing") == ""  # the others of the set are still open


def test_after_a_solution_other_numbers_are_offered_where_there_are_any(progress):
    learner = Learner(progress, "scores")
    learner.types("show")
    assert "headwork practice scores@7 asks the same of other numbers." in learner.said("note")
    learner = Learner(progress, "level-1.1")
    learner.types("show")
    assert "@" not in learner.said("note")


def test_fresh_numbers_are_worked_like_the_first_and_kept_apart(progress):
    learner = Learner(progress, "scores@7")
    assert learner.place[0] == "scores@7"
    learner.types("show")
    assert "scores@8" in learner.said("note")
    learner.types("skip")
    assert {act.exercise for act in progress.acts()} == {"scores@7"}
    assert standing(find_exercise("scores"), progress.acts()).state == "not yet"
    assert not Learner(progress, "scores").saw(Card)


def test_code_is_done_when_the_checker_has_kept_it(progress):
    learner = Learner(progress, "code-attention")
    learner.types("check")
    assert learner.place == ("code-attention", "function")
    progress.record("code-attention", "function", "answer", "attention.py", "right")
    learner.types("check")
    assert learner.place == ("code-attention", "axis")
