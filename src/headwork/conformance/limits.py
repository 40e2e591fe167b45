"""What somebody's function may use before it is stopped."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one call.

    seconds        of a call;  first_seconds  of one that may compile;  load_seconds  of the import
    memory         bytes by which resident memory may grow; memory asked for and never touched costs nothing
    """

    seconds: float = 10.0
    first_seconds: float = 60.0
    load_seconds: float = 60.0
    memory: int = 2 << 30
