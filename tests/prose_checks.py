"""What the texts of exercises are checked with: all that a learner reads, and the equations in it."""

import re
from collections.abc import Iterator
from itertools import pairwise

from headwork.workbook.exercises import Exercise
from headwork.workbook.questions import (
    ChoiceQuestion,
    DesignQuestion,
    ExplainQuestion,
    NumberQuestion,
    ShapeQuestion,
)

DECIMAL = r"\d+\.\d+"
ROW = r"\[([^\]]*)\]"
NUMBER = r"\d+(?:\.\d+)?"
SUM = rf"(?:{NUMBER})(?: ?[·+/−*] ?{NUMBER})*"
OF_A_FUNCTION = "".join(rf"(?<!{name} )" for name in ("ln", "cos", "sin", "tanh"))
EQUATION = re.compile(rf"(?<![\w.√·/²^]){OF_A_FUNCTION}({SUM})(?: (?:=|≈) {SUM})+(?![\w²^]| [·+/−*])")


def texts(exercise: Exercise) -> Iterator[str]:
    """All that a learner reads of an exercise."""
    yield from (exercise.title, exercise.about, exercise.opening, exercise.recap, exercise.helpers)
    for question in exercise.questions:
        yield from (question.prompt, *question.hints)
        if isinstance(question, NumberQuestion | ShapeQuestion):
            yield question.source
            yield from (f"{wrong.value}: {wrong.says}" for wrong in question.wrong)
        if isinstance(question, ChoiceQuestion):
            yield from (f"{option.text}. {option.says}" for option in question.options)
        if isinstance(question, DesignQuestion):
            yield from (question.property, question.otherwise)
        if isinstance(question, ExplainQuestion):
            yield from (question.ours, *question.points)


def equations(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each equation between numbers in a text, and its sides."""
    for found in EQUATION.finditer(" ".join(text.split())):
        yield found.group(), re.split(r" [=≈] ", found.group())


def holds(text: str) -> int:
    """How many equations a text has, once each of them was seen to hold."""
    count = 0
    for whole, sides in equations(text):
        count += 1
        for left, right in pairwise(sides):
            digits = len(right.partition(".")[2]) if re.fullmatch(NUMBER, right) else 3
            assert abs(value(left) - value(right)) <= 0.5000001 * 10**-digits, whole
    return count


def value(text: str) -> float:
    """What a sum or a product of numbers comes to."""
    return float(eval(text.replace("·", "*").replace("−", "-")))
