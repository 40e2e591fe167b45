"""What most checks need, worked out while a function is still being loaded: torch takes seconds."""

from __future__ import annotations

from collections.abc import Callable

from .battery import cases_one_by_one
from .comparing import allowances, exact_of

# of functions that are long in coming: what libraries have, and where their causal masks stand
FEATURES = ("basic", "scale", "causal", "mask-bool", "mask-float", "grouped-heads", "dtypes")
ALIGNMENT = "upper_left"
DTYPES = ("float64", "float32", "float16", "bfloat16")


def work_ahead(is_loading: Callable[[], bool]) -> None:
    """Draw the usual inputs and keep how far their right numbers may be off, for as long as there is time.

    is_loading  whether the function is still being loaded, asked for each input
    """
    for case in cases_one_by_one(FEATURES.__contains__, DTYPES, alignment=ALIGNMENT):
        if not is_loading():
            return
        allowances(exact_of(case.problem), case.dtype)
