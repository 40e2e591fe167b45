"""An exercise told again with drawn numbers: what stays as it is, what is worked out anew, what is left out.

No text of the first numbers is kept unless its header says that it holds for any: hints and helper values are
made from the drawn numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..mechanism.fields import field_named
from ..mechanism.masks import float_masks
from ..mechanism.numerals import number_text
from ..mechanism.tracing import Trace, seeds
from ..problem import Problem
from .effort import NEEDS
from .exercises import Exercise
from .gate import step_questions
from .quantities import computed
from .questions import NumberQuestion, Question, StepQuestion
from .solutions import UNROUNDED, solution

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
    "masked": "What may not be seen becomes −∞; every other score stays as it is.",
    "row_max": "The largest score of each row that may be seen.",
    "exponentials": "Each score becomes a power of e: the score is the exponent.",
    "row_sum": "Add the exponentials of the row up.",
    "weights": "Each weight is its exponential divided by the sum of its own row.",
    "logsumexp": "The natural logarithm of the sum of the exponentials of the row.",
    "blended": "Weight times value, added up over the keys, one component at a time.",
    "merged": "Lay the heads' outputs side by side, head 1 first.",
    "output": "Weight times value, added up over the keys, one component at a time.",
}
# the same where the problem has more than plain attention
ADDED = "Add the entry of the mask to each score; with −∞ added, a score is −∞."
SHIFTED = "Take the maximum of its row off each score; what is left is the exponent of e."
WITH_SINK = (
    "Each weight is its exponential divided by the sum of its own row, the exponential of the sink included."
)
IN_BLOCKS = (
    "Take the blocks in turn, and keep the maximum m, the sum ℓ and the values added up. Where m grows, "
    "multiply what is there by e^(old − new). At the end, divide by ℓ."
)
MERGED = (
    "Work the logsumexp and the output of each part by itself, and add up the outputs, each times "
    "e^(its logsumexp − that of the row)."
)
SIDE_BY_SIDE = "Blend the values of each head with its own weights, and lay the heads' outputs side by side."
JOINED = "Each output is a row of the joined heads times the columns of W_O, and what is added to it."
EXPONENTIATED = ("exponentials", "row_sum", "weights", "logsumexp", "output")  # steps that need powers of e
MOST_SEED = 2**63  # what other languages and data bases hold, too
SUMS = ("row_sum", "blended", "output")  # their lines show rounded terms
EXACT = 1e-9
OTHERWISE = "Work it entry by entry, from the results before it."
LARGEST_POWER = 20  # beyond it, a helper value says nothing to anybody
LEAST_DIGITS = 3  # decimals of a number from 1 to 10, or as many as are asked; 148.4 has as many in all
# what a hint works out first where it was neither shown nor asked before; sums stand in the lines of weights
FIRST = ("scores", "scaled", "biased", "masked", "weights", "blended", "merged")


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
    """Graded hints made from the numbers: what has to be known first, how it is worked, the first entry, all.

    exercise, question  which
    Raises FileError. Special cases: where there is one entry only, it is the last hint.
    """
    lines = solution(exercise, question)
    entries = [line for line in lines if "=" in line]  # the others name a head or a part
    first = (f"{entries[0]}.",) if len(entries) > 1 else ()
    method = _method(exercise, question.step)
    before = (_worked_first(exercise, replace(question, step=step)) for step in _missing(exercise, question))
    return (*before, method, *first, _block(lines) + _rounding_note(exercise, question))


def _method(exercise: Exercise, step: str) -> str:
    """How a step is worked in this exercise, in a sentence."""
    problem = exercise.problem
    special = {
        "masked": ADDED if float_masks(problem) else "",
        "exponentials": SHIFTED if exercise.takes_maximum_off else "",
        "weights": WITH_SINK if problem.sink is not None else "",
        "output": _blending(exercise),
    }
    return special.get(step) or METHODS.get(step, OTHERWISE)


def _blending(exercise: Exercise) -> str:
    """How outputs are worked; "" for one blend of all values."""
    problem = exercise.problem
    if problem.w_output is not None:
        return JOINED
    if problem.chunks is not None:
        return MERGED if exercise.merges_parts else IN_BLOCKS
    return SIDE_BY_SIDE if problem.heads is not None else ""


def _worked_first(exercise: Exercise, question: StepQuestion) -> str:
    """A step that nobody asked for, and that the one that is asked begins from."""
    title = field_named(question.step).title
    return f"First the {title}. {_method(exercise, question.step)}\n\n{_block(solution(exercise, question))}"


def _missing(exercise: Exercise, question: StepQuestion) -> list[str]:
    """The steps on the way to a question that were neither given, shown nor asked before it, in order."""
    before = exercise.questions[: [one.id for one in exercise.questions].index(question.id)]
    known = {view.field for view in exercise.views} | set(seeds(exercise.problem))
    known |= {one.step for one in before if isinstance(one, StepQuestion)}
    missing, step = list[str](), _needed(exercise.problem, question.step)
    while step is not None and step not in known:
        missing.insert(0, step)
        step = _needed(exercise.problem, step)
    return [name for name in missing if name in FIRST and not _is_handed_on(exercise.work, name)]


def _needed(problem: Problem, step: str) -> str | None:
    """The step that another is worked from; the outputs of several heads are joined, and parts merged."""
    if step == "output" and problem.chunks is not None:
        return None  # its lines begin from the scores
    if step == "output" and problem.heads is not None:
        return "blended" if problem.w_output is None else "merged"
    if step == "masked" and problem.alibi is not None:
        return "biased"
    return {"biased": "scaled", "bias": None, "capped": "scaled"}.get(step, NEEDS.get(step))


def _is_handed_on(work: Trace, step: str) -> bool:
    """Whether a step leaves the numbers as they were, as scaling by √1 or a mask that hides nothing."""
    before = work.fields.get(_needed(work.problem, step) or "")
    return before is not None and np.array_equal(work.fields[step], before)


def _rounding_note(exercise: Exercise, question: StepQuestion) -> str:
    """Of sums whose terms are shown rounded: that adding those up may differ in the last digit."""
    result = exercise.work[question.step]
    is_exact = np.allclose(result, result.round(question.digits), rtol=0, atol=EXACT)
    return "" if is_exact or question.step not in SUMS else f"\n\n{UNROUNDED}"


def _block(lines: tuple[str, ...]) -> str:
    """Indented, so that it stays line by line."""
    return "\n".join(f"    {line}" for line in lines)


def helpers(exercise: Exercise) -> str:
    """The powers of e that the steps that are asked need, such as "e⁰ = 1, e¹ ≈ 2.718".

    exercise  with its numbers
    Raises FileError. Special cases: "" where no exponential is taken. They have as many digits as are asked.
    """
    if exercise.problem.rope is not None:
        return exercise.helpers  # of angles: positions are as they were
    digits = max([LEAST_DIGITS, *(question.digits for question in step_questions(exercise))])
    powers = ", ".join(_power(score, digits) for score in sorted(_exponents(exercise)))
    return "; ".join(filter(None, (", ".join(_bends(exercise)), powers)))


def _bends(exercise: Exercise) -> Iterator[str]:
    """The tanh of each score over the cap, where capped scores are asked for; tanh(−x) is −tanh x."""
    if exercise.problem.softcap is not None and any(one.step == "capped" for one in step_questions(exercise)):
        shares = np.abs(exercise.work.fields["scaled"]) / exercise.problem.softcap
        yield from (f"tanh {number_text(x, 4)} ≈ {math.tanh(x):.4f}" for x in np.unique(shares) if x)


def _exponents(exercise: Exercise) -> Iterator[float]:
    scores = exercise.work.fields.get("masked")
    if scores is None or not any(question.step in EXPONENTIATED for question in step_questions(exercise)):
        return
    if exercise.takes_maximum_off:
        scores = scores - exercise.work.fields["row_max"]
    if exercise.problem.sink is not None:
        yield from map(float, np.unique(exercise.problem.sink))
    rows = sorted({row for question in step_questions(exercise) for row in question.rows})
    if rows and all(question.rows for question in step_questions(exercise)):
        scores = scores[..., [row - 1 for row in rows], :]
    for score in np.unique(scores):
        if np.isneginf(score) or abs(score) <= LARGEST_POWER:
            yield float(score)


def _power(score: float, digits: int) -> str:
    if math.isinf(score):
        return "e^(−∞) = 0"
    value = math.exp(score)
    exponent = number_text(score, 4)
    sign = f"e^({exponent})" if exponent.startswith("−") else f"e^{exponent}"
    if score == 0:
        return f"{sign} = 1"
    after = max(digits - math.floor(math.log10(value)), 0) if value >= 1 else digits
    return f"{sign} ≈ {value:.{after}f}"
