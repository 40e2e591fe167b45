"""For tests of one's own attention: `assert_attention(function)`, with pytest, unittest or by itself.

With pytest installed there is a fixture of the same name; see pytest_plugin.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conformance.report import Check

__all__ = ["assert_attention"]

WIDTH = 80  # columns of the message


def assert_attention(function: Callable[..., Any] | str, *, strict: bool = False, **stated: Any) -> Check:
    """Fail, saying which mistake it is, unless this is attention; the whole check, where it is.

    function  called in this process; or "FILE.py:NAME" or "MODULE:NAME", run in a process of its own
    strict    whether matters of robustness fail it as well
    stated    what is meant, as in headwork.check: layout="BTHD", mask_means="drop", causal="upper_left", …

    Special cases: another convention, rounding, and what the function does not offer are no failures, until
    it is stated what is meant.
    Raises AssertionError: the sentence, the mistake with how to mend it, and the smallest failing input;
    HeadworkError where an option cannot be meant.

    >>> from headwork import attention
    >>> assert_attention(attention, causal="lower_right").verdict
    'right'
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    from .conformance.checking import check
    from .errors import HeadworkError

    try:
        found = check(function, **stated)
    except HeadworkError as error:
        raise error.with_traceback(None) from None  # what is wrong is in the call, not in here
    if not found.is_right or (strict and not found.is_robust):
        from .interfaces.check_text import failure_page

        raise AssertionError("\n".join(failure_page(found, WIDTH, strict=strict)))
    return found
