"""Headwork: work attention out by hand and in code, and hear which mistake is behind a wrong number.

Names are loaded when they are first used, so that `import headwork` and the command line answer at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conformance.checking import check
    from .conformance.report import Check
    from .diagnosis.blind import Blindspots, blindspots
    from .diagnosis.diagnosing import Diagnosis, diagnose
    from .diagnosis.marking import Marking, mark
    from .errors import HeadworkError
    from .mechanism.fast import attention, attention_vjp, merge
    from .mechanism.tracing import Trace, trace
    from .problem import Problem

__version__ = "0.1.0"

__all__ = [
    "Blindspots",
    "Check",
    "Diagnosis",
    "HeadworkError",
    "Marking",
    "Problem",
    "Trace",
    "attention",
    "attention_vjp",
    "blindspots",
    "check",
    "diagnose",
    "mark",
    "merge",
    "trace",
]

_HOMES = {
    "Blindspots": ".diagnosis.blind",
    "Check": ".conformance.report",
    "Diagnosis": ".diagnosis.diagnosing",
    "HeadworkError": ".errors",
    "Marking": ".diagnosis.marking",
    "Problem": ".problem",
    "Trace": ".mechanism.tracing",
    "attention": ".mechanism.fast",
    "attention_vjp": ".mechanism.fast",
    "blindspots": ".diagnosis.blind",
    "check": ".conformance.checking",
    "diagnose": ".diagnosis.diagnosing",
    "mark": ".diagnosis.marking",
    "merge": ".mechanism.fast",
    "trace": ".mechanism.tracing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"headwork has no {name!r}; it has {', '.join(__all__)}")
    if name in ("Trace", "trace"):
        _show_in_notebooks()
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value  # found at once the next time
    return value


def _show_in_notebooks() -> None:
    """Give Trace its HTML here, above all floors: the mechanism may not import what renders it."""
    from .mechanism.tracing import Trace

    def html(trace: Trace) -> str:
        from .interfaces.notebook import html_of

        return html_of(trace)

    Trace._repr_html_ = html  # type: ignore[attr-defined]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
