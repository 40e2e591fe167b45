"""Recognise somebody's function: which parameter is for what, how arrays lie, what its options mean.

What is stated is taken as said; the rest comes from names, annotations and documentation, and else from small
calls. Everything found says where it comes from. Whether the numbers are right is not looked at here: a
function with a mistake in it is recognised just as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import CannotRunError
from .asking import CannotAskError
from .calls import Subject
from .interface import Interface, Support
from .parameters import NAMINGS, arguments_of, check_parameters, takes_keywords_only
from .probing import Probe
from .recognising_dtypes import find_dtypes, find_gradients
from .recognising_layouts import find_layouts
from .recognising_options import (
    recognise_causal,
    recognise_groups,
    recognise_lengths,
    recognise_masks,
    recognise_numbers,
    recognise_offset,
    recognise_scale,
    recognise_window,
)
from .recognising_outputs import find_order, find_returns
from .recognising_sizes import find_sizes
from .search import Search
from .stated import Stated
from .ways import Ways, gradient_places

STEPS = (  # each reads what the ones before have found
    check_parameters,
    find_layouts,
    find_sizes,
    find_returns,
    find_order,
    recognise_scale,
    recognise_masks,
    recognise_causal,
    recognise_offset,
    recognise_lengths,
    recognise_window,
    recognise_numbers,
    recognise_groups,
    find_dtypes,
    find_gradients,
)


def recognise(subject: Subject, stated: Stated | None = None) -> Interface:
    """What the function takes, gives and means. It is never an error: `failure` says why it cannot be called.

    Raises HeadworkError only where the subject cannot even be loaded, or what is stated cannot be meant.
    """
    stated, signature = stated or Stated(), subject.signature
    namings = NAMINGS if takes_keywords_only(signature) else NAMINGS[:1]
    tries = (_recognised(subject, stated, names) for names in namings)
    first = next(tries)
    return next((each for each in (first, *tries) if not each.failure), first)


def _recognised(subject: Subject, stated: Stated, names: Sequence[str]) -> Interface:
    """The same, with query, key and value called so where it takes keywords of any name."""
    signature = subject.signature
    ways = Ways(arguments_of(signature, stated, names), fixed=dict(stated.arguments), device=stated.device)
    search, failure = Search(Probe(subject), signature, stated, ways), ""
    try:
        for step in STEPS:
            step(search)
    except (CannotRunError, CannotAskError) as error:
        failure = str(error)
    return Interface(
        signature,
        stated,
        search.ways,
        dtypes=tuple(search.dtypes),
        sizes=search.sizes & stated.sizes,
        conventions=search.conventions,
        refusals=search.refusals,
        found=tuple(search.found),
        also_runs=search.also_runs,
        failure=failure,
        calls=search.probe.calls,
    )


__all__ = ["CannotAskError", "Interface", "Support", "gradient_places", "recognise"]
