"""Somebody's function in this very process, for `headwork.check(function)`: no walls, and no waiting."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import Any

from .calls import Call, Outcome, Signature
from .performing import perform
from .printed import Printed
from .side_effects import Watch
from .signatures import signature_of


class Here:
    """A Subject in this process. What a call replaces, seeds or sets is reported, and put back.

    There are no limits: an endless loop is ended with Ctrl-C, and a crash takes this process along.
    """

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        self._function = function
        self._watch = Watch()
        self.signature: Signature = signature_of(function, name)

    def call(self, call: Call) -> Outcome:
        """Call it once; never raises for what the function does, but lets Ctrl-C through."""
        printed = Printed()
        self._watch.start()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                outcome = perform(self._function, call, let_through=(KeyboardInterrupt,))
            effects = self._watch.effects()
        finally:
            self._watch.restore()
        return replace(outcome, side_effects=effects, printed=printed.text)

    def close(self) -> None:
        """Nothing to let go of."""
