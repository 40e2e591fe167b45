"""A new exercise to begin from: everything that a program needs is there, and the words are the author's."""

from __future__ import annotations

from pathlib import Path

from ..errors import FileError, OptionError
from .asking import KEBAB
from .course import packaged_course
from .own import exercise_files
from .proofreading import TO_FILL_IN

FOLDER = "headwork-course"
LONGEST_ID = 60
SKELETON = '''+++
id = "{id}"
number = {number}
title = "{fill}: a few words"
about = "{fill}: a few words for the list"
part = "Part one"
shows = ["query", "key", "value"]
source = "{fill}: where the mathematics comes from"
recap = """
{fill}: what the learner knows now. It may give the answers.
"""
# What drawn numbers ({id}@7) have to tell apart: 10 to 25 of headwork mistakes.
separates = [
  "scores-negated", "scores-last-feature-dropped", "scores-keys-reversed", "scores-sums-multiplied",
  "scale-missing", "scale-d-k-instead-of-sqrt", "scale-by-key-count", "scale-inverted", "softmax-missing",
  "softmax-over-queries", "softmax-not-normalised", "softmax-base-two", "values-averaged", "values-reversed",
]
# What the numbers below cannot show: headwork course check says what belongs here.
blind = [
  "scale-by-query-count-unrooted", "scale-by-value-width-unrooted", "softmax-without-max", "row-max-added",
  "row-max-of-table", "row-max-floor", "output-accumulated",
]
# Questions that hold for any numbers; the others that are no steps are left out with drawn ones.
stays = ["why"]

[problem]
query = [[2, 0, 1, 0], [0, 2, 0, 2]]
key   = [[1, 0, 2, 0], [0, 1, 0, -2], [1, 0, 0, 1]]
value = [[1, 0], [0, 2], [3, 1]]

[[questions]]
id = "scaled"
kind = "step"
step = "scaled"
prompt = "{fill}: ask for all six scaled scores."
hints = [
  "{fill}: the first step of the way.",
  "{fill}: a step further; the last hint leaves nothing but writing it down.",
]

[[questions]]
id = "weights"
kind = "step"
step = "weights"
rows = [1]
prompt = "{fill}: ask for the weights of query 1."
hints = ["{fill}"]

[[questions]]
id = "output"
kind = "step"
step = "output"
rows = [1]
prompt = "{fill}: ask for the output of query 1."
hints = ["{fill}"]

[[questions]]
id = "why"
kind = "explain"
prompt = "{fill}: ask for a sentence."
ours = "{fill}: our sentence."
points = ["{fill}: the first thing that it says", "{fill}: the second"]
hints = ["{fill}"]
+++
{fill}: a paragraph that says what this is about, and asks a question before the answer.
'''


def write_skeleton(name: str, folder: Path) -> Path:
    """A new exercise in a folder, which is made where it is not there; its file.

    name    its id; folder: of somebody's own exercises
    Raises OptionError: no id, or one that is taken; FileError where it cannot be written. Special cases: a
    file that is there is never written over.
    """
    _check_id(name)
    path = folder / f"{name}.md"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = len(exercise_files(folder)) + 1
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(SKELETON.format(id=name, number=number, fill=TO_FILL_IN))
    except FileExistsError:
        raise FileError(f"{path} is there already, and nothing was written. Choose another id.") from None
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}. Name another folder.") from None
    return path


def _check_id(name: str) -> None:
    if not KEBAB.fullmatch(name) or len(name) > LONGEST_ID:
        raise OptionError(
            f"the id is {name[:LONGEST_ID]!r}; small letters and digits with - between words were expected, "
            "such as two-readers."
        )
    if name in {each.id for one in packaged_course() for each in one.announced}:
        raise OptionError(f"the course has an exercise {name} already. Choose another id.")
