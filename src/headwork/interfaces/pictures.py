"""Which picture is meant: by its name, or by the exercise that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import OptionError
from ..mechanism.tracing import Trace
from .curves import cost_picture, hill_picture, saturation_picture, variance_picture
from .drawing import Picture
from .grids import EVERY, Choice, matrix_at, places_of
from .heat_maps import weights_picture

PICTURES = ("weights", "hill", "variance", "saturation", "cost")
# the picture that belongs to an exercise, where it is another one than its weights
OF_EXERCISE = {
    "scaling": "variance",
    "saturation": "saturation",
    "code-causal": "cost",
    "level-3.1": "variance",
    "level-3.2": "hill",
    "level-5.1": "variance",
    "cost": "cost",
}


def picture_named(name: str, work: Trace | None, digits: int = 3, choice: Choice = EVERY) -> Picture:
    """The picture of that name.

    name  one of PICTURES
    work  the problem, of which weights and saturation are drawn; None where there is none
    digits choice  of the weights
    Raises OptionError for another name, or where the problem has not what is drawn. Special cases: none.
    """
    match name:
        case "hill":
            return hill_picture()
        case "variance":
            return variance_picture()
        case "cost":
            return cost_picture()
        case "saturation":
            return saturation_picture() if work is None else saturation_picture(_first_row(work))
        case "weights" if work is not None:
            return weights_picture(work, digits, choice)
        case "weights":
            raise OptionError("there is no problem here whose weights could be drawn.")
    raise OptionError(f"there is no picture {name[:40]!r}; there are {', '.join(PICTURES)}.")


def _first_row(work: Trace) -> Sequence[float]:
    if "scaled" not in work:
        raise OptionError("this problem has no scaled scores, whose first row would be drawn.")
    place = next(places_of(work, "scaled", EVERY))
    return [float(score) for score in matrix_at(work, "scaled", place)[0]]
