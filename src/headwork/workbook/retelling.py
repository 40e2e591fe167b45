"""An exercise told again with drawn numbers: what stays as it is, what is worked out anew, what is left out.

No text of the first numbers is kept unless its header says that it holds for any: hints and helper values are
made from the drawn numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..mechanism.numerals import number_text
from .exercises import Exercise
from .gate import step_questions
from .quantities import computed
from .questions import NumberQuestion, Question, StepQuestion
from .solutions import solution

METHODS = {
    "query": "Each query is a row of X times the columns of W_Q.",
    "key": "Each key is a row of X times the columns of W_K.",
    "value": "Each value is a row of X times the columns of W_V.",
    "query_rotated": "A pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos) of the angle of its position.",
    "key_rotated": "A pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos) of the angle of its position.",
    "scores": "Each score is the dot product of its query's row and its key's row; components that are 0 in "
    "one of them add nothing.",
    "scaled": "Every score is divided by √d_k.",
    "capped": "Divide by the cap, take tanh, and multiply by the cap again.",
    "bias": "Minus the slope of the head times the distance between query and key.",
    "biased": "Each scaled score, with what is added to it.",
    "masked": "What may not be seen becomes −∞; every other score stays, with what the mask adds to it.",
    "row_max": "The largest score of each row that may be seen.",
    "exponentials": "Each score becomes a power of e: the score is the exponent, and e^(−∞) = 0.",
    "row_sum": "Add the exponentials of the row up.",
    "weights": "Each weight is its exponential divided by the sum of its own row.",
    "logsumexp": "The natural logarithm of the sum of the exponentials of the row.",
    "blended": "Weight times value, added up over the keys, one component at a time.",
    "merged": "Lay the heads' outputs side by side, head 1 first.",
    "output": "Weight times value, added up over the keys, one component at a time.",
}
JOINED = "Each output is a row of the joined heads times the columns of W_O, and what is added to it."
EXPONENTIATED = ("exponentials", "row_sum", "weights", "logsumexp", "output")  # steps that need powers of e
MOST_SEED = 2**63  # what other languages and data bases hold, too
OTHERWISE = "Work it entry by entry, from the results before it."
LARGEST_POWER = 20  # beyond it, a helper value says nothing to anybody
LEAST_DIGITS = 3  # decimals of a number from 1 to 10; larger ones have as many digits in all: 148.4


def retold(exercise: Exercise, fresh: Exercise, seed: int) -> Exercise:
    """The exercise with drawn numbers, as a learner sees it.

    exercise  with its own numbers; fresh: the same with drawn ones; seed: which they are
    Raises FileError. Special cases: questions about the first numbers are left out, and the opening says so.
    """
    questions = tuple(_questions(fresh))
    return replace(
        fresh,
        id=drawn_id(exercise, seed),
        title=f"{exercise.title}, numbers of seed {seed}",
        about=f"with the numbers of seed {seed}",
        opening=_opening(exercise, seed, len(exercise.questions) - len(questions)),
        helpers=helpers(fresh) if exercise.helpers else "",
        questions=questions,
        recap=f"These were the numbers of seed {seed}. headwork practice "
        f"{exercise.id}@{(seed + 1) % MOST_SEED} asks the same of others.",
        drawn_from=exercise.id,
    )


def drawn_id(exercise: Exercise, seed: int) -> str:
    """What it is called, and kept under: scores@7, or scores.2@7 from the second variant on.

    exercise, seed  which
    Raises nothing. Special cases: none.
    """
    variant = f".{exercise.variant}" if exercise.variant > 1 else ""
    return f"{exercise.id}{variant}@{seed}"


def _opening(exercise: Exercise, seed: int, left_out: int) -> str:
    text = f"The questions of {exercise.id} with other numbers, drawn from seed {seed}."
    if left_out:
        some = "One question asks" if left_out == 1 else f"{left_out} questions ask"
        text += (
            f" {some} about the first numbers, and headwork practice {exercise.id} has what is left out here."
        )
    return text


def _questions(fresh: Exercise) -> Iterator[Question]:
    """Steps with hints of their own, numbers worked out anew, and what holds for any numbers."""
    for question in fresh.kept:
        if isinstance(question, StepQuestion):
            yield replace(question, hints=step_hints(fresh, question))
        elif question.id in fresh.computed and isinstance(question, NumberQuestion):
            yield computed(fresh, question, fresh.computed[question.id])
        else:
            yield question


def step_hints(exercise: Exercise, question: StepQuestion) -> tuple[str, ...]:
    """Graded hints made from the numbers: how it is worked, the first entry, and then every one.

    exercise, question  which
    Raises FileError. Special cases: where there is one entry only, it is the last hint.
    """
    lines = solution(exercise, question)
    entries = [line for line in lines if "=" in line]  # the others name a head or a part
    first = (f"{entries[0]}.",) if len(entries) > 1 else ()
    is_projected = question.step == "output" and exercise.problem.w_output is not None
    method = JOINED if is_projected else METHODS.get(question.step, OTHERWISE)
    every = "\n".join(f"    {line}" for line in lines)  # indented, so that it stays line by line
    return (method, *first, every)


def helpers(exercise: Exercise) -> str:
    """The powers of e that the steps that are asked need, such as "e⁰ = 1, e¹ ≈ 2.718".

    exercise  with its numbers
    Raises FileError. Special cases: "" where no exponential is taken.
    """
    return ", ".join(_power(score) for score in sorted(_exponents(exercise)))


def _exponents(exercise: Exercise) -> Iterator[float]:
    scores = exercise.work.fields.get("masked")
    if scores is None or not any(question.step in EXPONENTIATED for question in step_questions(exercise)):
        return
    if exercise.takes_maximum_off:
        scores = scores - exercise.work.fields["row_max"]
    rows = sorted({row for question in step_questions(exercise) for row in question.rows})
    if rows and all(question.rows for question in step_questions(exercise)):
        scores = scores[..., [row - 1 for row in rows], :]
    for score in np.unique(scores):
        if np.isneginf(score) or abs(score) <= LARGEST_POWER:
            yield float(score)


def _power(score: float) -> str:
    if math.isinf(score):
        return "e^(−∞) = 0"
    value = math.exp(score)
    exponent = number_text(score, 4)
    sign = f"e^({exponent})" if exponent.startswith("−") else f"e^{exponent}"
    if score == 0:
        return f"{sign} = 1"
    digits = max(LEAST_DIGITS - math.floor(math.log10(value)), 0) if value >= 1 else LEAST_DIGITS
    return f"{sign} ≈ {value:.{digits}f}"
