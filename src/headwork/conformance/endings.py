"""The ways a call ends without an answer, in words."""

from __future__ import annotations

import os
import signal
import traceback

from .calls import Outcome

OURS = os.path.dirname(os.path.abspath(__file__))
LONGEST = 500  # characters of an exception's message

WORDS = {
    "SIGABRT": "it aborted (SIGABRT)",
    "SIGALRM": "its own alarm ended it (SIGALRM)",
    "SIGBUS": "a bus error (SIGBUS)",
    "SIGFPE": "an arithmetic fault such as a division by zero (SIGFPE)",
    "SIGILL": "an instruction that this processor does not have (SIGILL)",
    "SIGKILL": "the system killed it (SIGKILL), most likely for want of memory",
    "SIGSEGV": "a segmentation fault (SIGSEGV)",
}
LINE_LOST = 91  # the worker's exit status where somebody's code closed the line to the checker


class EndedError(Exception):
    """A call that ended without an answer: `end` is one of calls.ENDS, `said` says it for a person."""

    def __init__(self, end: str, said: str) -> None:
        super().__init__(said)
        self.end = end
        self.said = said


def signal_words(number: int) -> str:
    """What signal `number` means where it ends a process."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return WORDS.get(name, f"signal {name} ended it")


def raised(error: BaseException) -> Outcome:
    """The outcome of a call that raised."""
    said = words(error)
    out_of_memory = isinstance(error, MemoryError) or "OutOfMemory" in name_of(error)
    if out_of_memory or "can't allocate memory" in said or "RESOURCE_EXHAUSTED" in said:
        return Outcome(
            "out of memory", f"It asked for more memory than there is. {said}", exception=name_of(error)
        )
    return Outcome("raised", said, exception=name_of(error))


def words(error: BaseException) -> str:
    """An exception in words: its name, its message and the line of somebody's file that it came from."""
    name, message = name_of(error), _message(error)
    if isinstance(error, SystemExit):
        name, message = f"It called sys.exit({message})", ""
    said = f"{name}: {message}" if message else name
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return f"{said}{place_in(frames[::-1])}"


def name_of(error: BaseException) -> str:
    """The name of its class."""
    return type(error).__name__


def _message(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except BaseException:  # somebody's own __str__
        return "(its message cannot be read)"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def place_in(frames: list[tuple[str, int]]) -> str:
    """` (kernel.py, line 7)`: the first file and line that is neither ours nor a library's, or nothing.

    frames  innermost first
    """
    for file, line in frames:
        if not file.startswith(OURS) and not _is_library(file):
            return f" ({os.path.basename(file)}, line {line})"
    return ""


def _is_library(file: str) -> bool:
    return "site-packages" in file or file.startswith("<") or file.startswith(os.path.dirname(os.__file__))
