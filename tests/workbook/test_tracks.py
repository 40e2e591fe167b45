"""Each code track: its stub fails and says where to begin, its solution passes, its plain loops agree with the engine,
and its cases show the mistakes that can be made there."""

import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headwork.conformance.calls import Outcome
from headwork.conformance.predicting import prediction
from headwork.conformance.rules import Rule
from headwork.diagnosis.search import applicable
from headwork.errors import FileError, UnknownNameError
from headwork.workbook.cases import ARGUMENTS, numbers_of
from headwork.workbook.coding import RIGHT, STOPPED, check_code, judged
from headwork.workbook.course import exercises
from headwork.workbook.naming import in_one_piece
from headwork.workbook.questions import CodeQuestion
from headwork.workbook.tracks import TRACKS, read_track, track_named, tracks

# What our solutions leave to production, and why.
NOT_THERE = {("softmax", "empty-row"): "the track about masks asks for it"}
# Mistakes that people make which no case of a track shows, and why that is so.
HIDDEN = {
    "softmax-without-max": "where overflow is not asked for, it is no mistake",
    "row-max-added": "where overflow is not asked for, it is no mistake",
    "row-max-of-table": "another shift of a row; it is wrong only where that underflows",
    "mask-fill-minus-1e9": "it is wrong only for scores below −10⁹, which is told as what production would add",
    "masked-value-leaks": "NaN in a hidden value is told as what production would add",
    "mask-lets-nan-through": "NaN in a hidden key is told as what production would add",
    "mask-added-minus-100": "e^(−100) is nothing beside these scores",
    "mask-fill-minus-1e4": "it is wrong only for scores below −10⁴, which is told as what production would add",
    "mask-fill-not-low-enough": "it is wrong only for very low scores, which is told as what production would add",
    "mask-value-overflows-fp16": "no case is in float16",
}
by_track = pytest.mark.parametrize("track", tracks(), ids=lambda track: track.id)


def outcome_of(function, numbers) -> Outcome:
    """What a function gives, called here."""
    given = function(*numbers.arguments.values())
    return Outcome(
        "returned", outputs=tuple(map(np.asarray, given if isinstance(given, tuple) else (given,)))
    )


def as_lists(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


@by_track
def test_a_stub_fails_and_says_where_to_begin(track):
    check = check_code(track, track.folder / "stub.py")
    assert (check.is_begun, check.is_right, check.failure) == (False, False, "")
    assert check.tried[0].said.startswith("NotImplementedError: begin with ")


@by_track
def test_a_solution_passes_and_has_what_production_adds(track):
    check = check_code(track, track.folder / "solution.py")
    assert check.is_right
    absent = {(track.id, extra.beyond.case.id) for extra in check.extras if not extra.is_there}
    assert absent == {pair for pair in NOT_THERE if pair[0] == track.id}
    assert check.named == ()


@by_track
def test_the_plain_loops_agree_with_the_engine(track):
    spec = runpy.run_path(str(track.folder / "spec.py"))[track.function]
    for case in track.cases:
        numbers = numbers_of(track, case)
        given = spec(*map(as_lists, numbers.arguments.values()))
        outputs = tuple(map(np.array, given)) if track.gives == "gradients" else (np.array(given),)
        assert judged(track, case, numbers, Outcome("returned", outputs=outputs)).verdict == RIGHT, case.id


@by_track
def test_what_a_track_says_is_there(track):
    assert track.text
    assert track.hints
    assert set(track.takes) <= set(ARGUMENTS)
    assert f"def {track.function}({', '.join(track.takes)}):" in track.stub
    assert len({case.id for case in track.cases}) == len(track.cases) >= 4
    assert all(extra.see.startswith("headwork ") for extra in track.beyond)


@by_track
def test_what_is_to_be_learned_elsewhere_is_there(track):
    from headwork.mistakes.lookup import mistake_named
    from headwork.workbook.finding import find_exercise

    for beyond in track.beyond:
        _, verb, name = beyond.see.split()
        (mistake_named if verb == "explain" else find_exercise)(name)


@by_track
def test_every_track_answers_a_question_of_the_course(track):
    asked = {
        question.track
        for exercise in exercises()
        for question in exercise.questions
        if isinstance(question, CodeQuestion)
    }
    assert track.id in asked


def test_the_first_case_is_the_three_tokens_where_it_can_be():
    first = {track.id: track.cases[0].id for track in tracks()}
    assert all("token" in first[name] or name == "grouped-heads" for name in TRACKS)


@by_track
def test_the_cases_show_every_mistake_that_people_make(track):
    if track.gives == "gradients":
        return
    asked = []
    for case in track.cases:
        numbers = numbers_of(track, case)
        right = np.asarray(
            runpy.run_path(str(track.folder / "solution.py"))[track.function](*numbers.arguments.values())
        )
        one = judged(track, case, numbers, Outcome("returned", outputs=(right,))).asked
        asked += [one, in_one_piece(one)] if one.problem.chunks else [one]
    made = {m.id: m for one in asked for m in applicable(one.exact, one.case.step) if is_one(m)}
    hidden = {id for id, mistake in made.items() if not any(is_shown(mistake, one) for one in asked)}
    assert hidden - set(HIDDEN) == set()


def is_one(mistake) -> bool:
    """A rule that people have in their heads, without a number in it, that reaches what is asked for."""
    return (
        mistake.typical and not mistake.narrow and not mistake.parameter and mistake.steps != ("logsumexp",)
    )


def is_shown(mistake, asked) -> bool:
    told = prediction(Rule((mistake,)), asked)
    return told is None or not asked.target.matches(*told)


def test_an_unknown_track_names_the_nearest():
    with pytest.raises(UnknownNameError, match="nearest is grouped-heads"):
        track_named("grouped-head")


def test_a_track_that_gives_something_else_is_an_error_with_file_and_key(tmp_path: Path):
    text = (track_named("softmax").folder / "track.md").read_text(encoding="utf-8")
    (tmp_path / "track.md").write_text(
        text.replace('gives = "weights"', 'gives = "nothing"'), encoding="utf-8"
    )
    with pytest.raises(FileError, match="gives is 'nothing'; it must be one of weights, output, gradients"):
        read_track(tmp_path)


def test_numbers_that_are_drawn_are_the_same_everywhere():
    """Pinned: random.Random(1).random() begins with 0.134, 0.847, 0.763, 0.255, 0.495."""
    numbers = numbers_of(track_named("softmax"), track_named("softmax").cases[2])
    assert numbers.arguments["scores"][0].tolist() == [-1.1, 1.1, 0.8, -0.8, 0.0]


def test_a_function_that_is_called_otherwise_is_told(tmp_path):
    track = replace(track_named("attention"), function="atention")
    check = check_code(track, track.folder / "solution.py")
    assert "did you mean attention?" in check.failure
    assert check.tried == ()
    assert STOPPED not in [each.verdict for each in check.tried]


HINTED = [
    # track        words                                     source
    ("attention", "row 1 is [2 0 4]", "q₁ = [2 0 0 0] with each key"),
    ("attention", "row 1 is [1 0 2]", "halved: √4 = 2"),
    ("attention", "row 1 is [0.245 0.090 0.665]", "2.718, 1 and 7.389 over 11.107"),
    ("causal", "row 1 of the output is value 1", "one exponential over itself"),
]  # fmt: skip


@pytest.mark.parametrize(("track", "words", "source"), HINTED)
def test_numbers_in_hints_are_right(track, words, source):
    assert any(words in hint for hint in track_named(track).hints)


def test_no_other_hint_has_rows_of_numbers():
    rows = [row for track in tracks() for hint in track.hints for row in re.findall(r"\[[\d. −]+\]", hint)]
    assert rows == ["[2 0 4]", "[1 0 2]", "[0.245 0.090 0.665]"]
