"""What most checks need, worked out while a function is still being loaded: torch takes seconds."""

from __future__ import annotations

from collections.abc import Callable

from .battery import draw_case
from .comparing import allowances, exact_of
from .entries import ENTRIES
from .laws import tolerance

# of functions that are long in coming: what libraries have, and where their causal masks stand
FEATURES = ("basic", "scale", "causal", "mask-bool", "mask-float", "grouped-heads")
ALIGNMENT = "upper_left"
DTYPES = ("float64", "float32", "float16", "bfloat16")


def work_ahead(is_loading: Callable[[], bool]) -> None:
    """Draw the usual inputs and keep how far their right numbers may be off, for as long as there is time.

    is_loading  whether the function is still being loaded, asked before each input
    """
    main, *others = DTYPES
    entries = [entry for entry in ENTRIES if entry.feature in FEATURES]
    plan = [(entry, main) for entry in entries]
    plan += [(entry, dtype) for dtype in others for entry in entries if entry.in_every_dtype]
    for entry, dtype in plan:
        if not is_loading():
            return
        case = draw_case(entry, dtype, alignment=ALIGNMENT, is_other=dtype != main)
        if case is not None:
            allowances(exact_of(case.problem), case.dtype)
            tolerance(case.problem)
