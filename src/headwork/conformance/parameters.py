"""Which parameter of a function is for what: as stated, by its name, or by its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from ..arrays import shown
from ..errors import CannotRunError, OptionError, hint_at
from .calls import Parameter, Signature
from .probing import PROBE_SIZES, ProbeSizes
from .projections import Projections, projections_of
from .roles import role_of
from .search import Search
from .stated import Stated
from .ways import Argument

STARS = ("*args", "**kwargs")
THREE = ("query", "key", "value")
NAMINGS = (THREE, ("q", "k", "v"), ("Q", "K", "V"), ("queries", "keys", "values"))  # keywords that are tried


def takes_keywords_only(signature: Signature) -> bool:
    """Whether it takes keywords of any name, and nothing else."""
    return bool(signature.parameters) and all(each.kind == "**kwargs" for each in signature.parameters or ())


def arguments_of(signature: Signature, stated: Stated, names: Sequence[str] = THREE) -> tuple[Argument, ...]:
    """The parameters with what each is for.

    names  of query, key and value, where it takes keywords of any name
    """
    parameters = signature.parameters
    if parameters is None or all(each.kind in STARS for each in parameters):
        kind = "keyword" if takes_keywords_only(signature) else "positional"
        how = "stated" if stated.takes else "name" if kind == "keyword" else "position"
        roles = stated.takes or THREE
        called = names if kind == "keyword" and not stated.takes else roles
        found = [Argument(Parameter(name, kind), role, how) for name, role in zip(called, roles, strict=True)]
    else:
        found = [_argument(parameter, stated) for parameter in parameters]
        found = _by_place(_cache_as_key(found), stated)
    return (*found, *_only_stated(found, stated))


def _argument(parameter: Parameter, stated: Stated) -> Argument:
    if parameter.name in stated.roles:
        return Argument(parameter, stated.roles[parameter.name], "stated")
    if parameter.name == stated.out_argument:
        return Argument(parameter, "out", "stated")
    role = role_of(parameter)
    if role == "out" and parameter.default is not None:
        role = ""  # an array to write into only where there has to be one
    return Argument(parameter, role, "name" if role else "")


def _cache_as_key(found: list[Argument]) -> list[Argument]:
    """A cache of keys and values is the keys and values, where there are no others."""
    if any(each.role in ("key", "kv", "qkv", "x") for each in found):
        return found
    roles = {"past_key": "key", "past_value": "value"}
    return [replace(each, role=roles.get(each.role, each.role)) for each in found]


def _by_place(found: list[Argument], stated: Stated) -> list[Argument]:
    """Query, key and value by their places, where their names are not known or the places are stated."""
    if not stated.takes and {each.role for each in found} & {"query", "qkv", "x"}:
        return found
    takes, how = iter(stated.takes or THREE), "stated" if stated.takes else "position"
    placed = []
    for each in found:
        is_free = each.parameter.kind in ("positional", "either") and (bool(stated.takes) or not each.role)
        role = next(takes, "") if is_free else ""
        placed.append(Argument(each.parameter, role, how) if role else each)
    return placed


def _only_stated(found: list[Argument], stated: Stated) -> list[Argument]:
    """Parameters that are stated and not seen, such as those of **kwargs; they are given by name."""
    named = dict.fromkeys(stated.arguments, "") | dict(stated.roles)
    named |= {stated.out_argument: "out"} if stated.out_argument else {}
    unseen = named.keys() - {each.name for each in found}
    return [
        Argument(Parameter(name, "keyword", "None"), role, "stated")
        for name, role in named.items()
        if name in unseen
    ]


# --- can it be called at all? ---------------------------------------------------------------------


def check_parameters(search: Search) -> None:
    """Raises CannotRunError where a parameter has to be given that nobody knows, or an array is missing.

    Raises OptionError where a parameter is stated that there is not, or a library that is not installed.
    """
    _refuse_absent(search.signature, search.stated)
    ways = search.ways
    unknown = [each.name for each in ways.arguments
               if each.is_required and not each.role and each.parameter.kind not in STARS
               and each.name not in ways.fixed]  # fmt: skip
    if unknown:
        is_one = len(unknown) == 1
        raise CannotRunError(
            f"nobody knows what its parameter{'' if is_one else 's'} {' and '.join(unknown)} "
            f"{'is' if is_one else 'are'} for. Say it: --role {unknown[0]}=ROLE (such as mask or scale), "
            f"or --argument {unknown[0]}=VALUE."
        )
    _check_projections(search)
    if not (ways.has(*THREE) or ways.has("qkv") or ways.has("query", "kv") or ways.has("x")):
        names = ", ".join(each.name for each in ways.arguments) or "nothing"
        raise CannotRunError(
            f"it takes {names}; query, key and value were not found among them. Say which they are with "
            f"--role NAME=query and so on."
        )
    for each in ways.arguments:
        if each.role in (*THREE, "qkv", "kv", "x") and each.how != "name":
            how = "stated" if each.how == "stated" else "assumed"
            search.say(each.name, each.role, how, f"{each.name} is the {each.role}, by its place")


def _refuse_absent(signature: Signature, stated: Stated) -> None:
    library = stated.library
    if library not in ("", "list") and not find_spec(library):
        raise OptionError(f"library is {library!r}, which is not installed here. Python is {sys.executable}.")
    parameters = signature.parameters or ()
    if not parameters or any(each.kind == "**kwargs" for each in parameters):
        return
    names = [each.name for each in parameters]
    for name in filter(None, (*stated.roles, *stated.arguments, stated.out_argument)):
        if name not in names:
            hint = hint_at(name, names, "It has")
            raise OptionError(f"{signature.name or 'it'} has no parameter {shown(name)}. {hint}")


def _check_projections(search: Search) -> None:
    has, projections = search.ways.has, projections_of(search.signature.weights)
    only_x = has("x") and not has("query") and not has("w_query", "w_key", "w_value")
    if isinstance(projections, str) or (only_x and projections is None):
        why = projections if isinstance(projections, str) else "with weights that cannot be chosen"
        raise CannotRunError(
            f"it projects inside, and {why}. Check the function of query, key and value that it calls."
        )
    if projections is not None:
        _choose_projections(search, projections, only_x)
    elif has("x"):  # few tokens: there may have to be a column for each
        search.all_probing = (replace(PROBE_SIZES[0], B=2), *PROBE_SIZES[1:])


def _choose_projections(search: Search, projections: Projections, only_x: bool) -> None:
    search.change(projections=projections, rows=only_x)
    T = max(2, min(5, projections.width // 2))
    search.all_probing = (ProbeSizes(2, 1, 1, T, max(1, T - 2), T, projections.width),)
    weights = ", ".join(projections.weights)
    chosen = "so that query, key and value are the wanted ones" if only_x else "to the identity"
    search.say(
        "projections", "chosen", "assumed", f"it projects inside: {weights} are set {chosen}, its biases to 0"
    )
