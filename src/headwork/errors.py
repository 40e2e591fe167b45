"""Everything that Headwork raises on purpose, in one tree.

    HeadworkError                   bad input; the command line prints it and exits with 2
    ├── ProblemError                the problem itself cannot be worked
    │   ├── ShapeError              sizes that do not fit together
    │   ├── MaskError               a mask of the wrong shape, kind or content
    │   ├── OptionError             an unknown field, or options that contradict each other
    │   ├── NumberError             something that is no number, or NaN where it has no place
    │   └── TooLargeError           more memory than this machine has
    ├── AnswerError                 an answer that cannot be read, or that fits no step
    ├── FileError                   a file that cannot be read or written
    ├── UnknownNameError            no exercise, step or mistake of that name
    └── CannotRunError              somebody's function whose file raises, hangs or crashes when loaded

A message says what was given, what was expected and how to mend it. A wrong *answer* is never an
error: marking returns a verdict.
"""

from collections.abc import Sequence
from typing import Any


class HeadworkError(ValueError):
    """Bad input: what was given, what was expected, how to mend it."""


class ProblemError(HeadworkError):
    """The problem itself cannot be worked."""


class ShapeError(ProblemError):
    """Sizes that do not fit together."""


class MaskError(ProblemError):
    """A mask of the wrong shape, kind or content."""


class OptionError(ProblemError):
    """An unknown field, or options that contradict each other."""


class NumberError(ProblemError):
    """Something that is no number, or NaN where it has no place."""


class TooLargeError(ProblemError):
    """More memory than this machine has."""


class AnswerError(HeadworkError):
    """An answer that cannot be read, or that fits no step of the problem."""


class FileError(HeadworkError):
    """A file that cannot be read or written."""


class UnknownNameError(HeadworkError):
    """No exercise, step or mistake of that name."""


class CannotRunError(HeadworkError):
    """Somebody's function whose file raises, hangs or crashes when loaded; `outcome` says which."""

    def __init__(self, message: str, outcome: Any = None) -> None:
        super().__init__(message)
        self.outcome = outcome


def hint_at(name: str, names: Sequence[str], otherwise: str) -> str:
    """A sentence for a name that is not there: the one that was probably meant, or else all there are.

    name   as it was given; names: that there are
    otherwise  how a list of them begins: "The fields are"
    Raises nothing. Special cases: none.
    """
    import difflib  # nothing needs it but an error

    near = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"{otherwise}: {', '.join(names)}."
