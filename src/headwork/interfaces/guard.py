"""What happens when something goes wrong: one message on standard error, an exit status, no traceback."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable

from ..errors import HeadworkError

BAD_INPUT = 2  # as for bad usage
FAULT = 70  # EX_SOFTWARE of sysexits.h: the program's fault, not its user's
INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended


def guarded(run: Callable[[], int]) -> int:
    """The exit status of `run`, whatever it raises."""
    try:
        status = run()
        sys.stdout.flush()  # a closed pipe shows here at the latest
        return status
    except HeadworkError as error:
        return complain(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _without_output()
    except OSError as error:  # files are told about where they are read; what is left is standard output
        _without_output()
        return complain(f"the output cannot be written: {error.strerror or error}.", BAD_INPUT)
    except MemoryError:
        return complain("this machine has not enough memory for that. Take fewer tokens or heads.", BAD_INPUT)
    except Exception as error:  # ours, by definition: whatever is wrong with the input is a HeadworkError
        return _own_fault(error)


def complain(message: str, status: int) -> int:
    """Print the message for people to read; the status."""
    print(f"headwork: {message}", file=sys.stderr)
    return status


def open_streams() -> None:
    """Put an empty stream where the caller has closed one (`headwork list >&-`): Python leaves None there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, open until the end


def speak_utf8() -> None:
    """Write UTF-8 whatever the locale says: √, · and ∞ are not in ASCII, and terminals read UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _without_output() -> int:
    """`headwork show scores | head`: the reader has seen enough. Python would complain again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _own_fault(error: Exception) -> int:
    if os.environ.get("HEADWORK_TRACEBACK"):
        traceback.print_exception(error)
    return complain(
        f"this is a fault in Headwork itself, not in what you gave it ({type(error).__name__}: {error}).\n"
        f"Please report it, with what HEADWORK_TRACEBACK=1 in front of the same command prints.",
        FAULT,
    )
