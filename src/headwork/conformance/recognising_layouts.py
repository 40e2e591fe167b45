"""How the arrays of a function lie, and whose arrays they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

from ..errors import CannotRunError, OptionError
from .layouts import axes_words, layout_named, layouts_said, read_layout
from .probing import ProbeSizes
from .recognising_dtypes import annotated_dtypes
from .search import Search
from .structure import Look, find_structure, settled
from .ways import Ways

LIBRARIES = ("numpy", "torch", "jax")  # tried in this order where nothing says whose arrays it takes
PROBED_IN = {  # by library: the dtypes to begin with; kernels may take only the narrow ones
    "numpy": ("float64", "float32", "float16"),
    "torch": ("float32", "float16", "bfloat16", "float64"),
    "jax": ("float32", "bfloat16", "float16"),
    "cupy": ("float32", "float16"),
    "list": ("float64",),
}
SPEAKS_OF_DTYPES = re.compile(r"\bb?float|half|double|dtype|[fb]p?16|precision|(scalar|data) type", re.I)
SPEAKS_OF_TENSORS = re.compile(r"ndarray|Tensor|axes don't match")
# what a mask without a default may be given before it is known what it means, see Ways.idle_mask
IDLE_MASKS = ("", *(f"{kind} {axes}" for axes in ("QK", "BK", "BHQK", "BQK") for kind in ("ones", "zeros")))


def find_layouts(search: Search) -> None:
    """How query, key, value and the output lie, and whose arrays they are.

    Raises CannotRunError where no call fits, OptionError for a device that its arrays do not have.
    """
    said, how = _said_layout(search)
    look = find_structure(search.probe, lambda sizes: _tries(search, sizes), said, how, search.all_probing)
    if look is None:
        raise CannotRunError(_why_nothing_runs(search, said))
    search.probing, search.also_runs = look.sizes, look.also_runs
    search.ways = replace(settled(look), returns={"": ("-",) * look.output_at + ("output",)})
    _say_layouts(search, look, said, how)
    library, device = search.ways.library, search.stated.device
    if library in ("numpy", "list") and device != "cpu" and search.signature.kind in ("function", "module"):
        what = "lists" if library == "list" else "NumPy arrays"
        raise OptionError(f"device is {device!r}, and it takes {what}, which lie on no device. Leave it out.")
    how = "stated" if search.stated.library else "name" if search.signature.library else "tried"
    search.say("library", library, how, f"it takes {'lists' if library == 'list' else library + ' arrays'}")


def _said_layout(search: Search) -> tuple[tuple[str, ...], str]:
    if search.stated.layout:
        return read_layout(search.stated.layout), "stated"
    argument = search.ways.named("layout")
    word = layout_named(argument.parameter.default or "bshd") if argument is not None else ""
    if word:
        return (word,), "name"
    words = layouts_said(search.signature)
    if not words or any(map(search.ways.has, ("qkv", "kv", "x"))):
        return (), "tried"
    in_annotation = layouts_said(replace(search.signature, doc=""))
    return words, "annotation" if in_annotation else "documentation"


def _tries(search: Search, sizes: ProbeSizes) -> Iterator[Ways]:
    """The libraries, dtypes and idle masks to try, in order; what was said by then decides how many."""
    ways, stated, library = search.ways, search.stated, search.stated.library or search.signature.library
    is_first = sizes == search.all_probing[0]
    needs_mask = any(each.role in ("mask", "bias", "padding") and each.is_required for each in ways.arguments)
    idle = (IDLE_MASKS if is_first else IDLE_MASKS[:2]) if needs_mask else IDLE_MASKS[:1]
    for name in [library] if library else filter(find_spec, LIBRARIES):
        dtypes = stated.dtypes or annotated_dtypes(search) or PROBED_IN.get(name, ("float32", "float64"))
        for dtype in dtypes:
            if dtype != dtypes[0] and not any(map(SPEAKS_OF_DTYPES.search, search.probe.said)):
                break
            tried = replace(ways, library=name, dtype=dtype)
            yield from (replace(tried, idle_mask=mask) for mask in idle)
            if ways.has("x") and ways.projections is None:
                yield replace(tried, rows=True)
    if is_first and library in ("", "numpy") and not stated.library and search.signature.kind == "function":
        yield replace(ways, library="list")  # a file that imports NumPy may hold other functions, too
        if library and any(map(SPEAKS_OF_TENSORS.search, search.probe.said)):
            others = filter(find_spec, ("torch", "jax"))
            yield from (replace(ways, library=name, dtype="float32") for name in others)


def _why_nothing_runs(search: Search, said: tuple[str, ...]) -> str:
    tried = (
        f"as {', '.join(said)}" if search.stated.layout else "in any layout (such as BHTD, BTHD, BTE and TD)"
    )
    what = f"no call of it {tried} gave an output of a shape that fits"
    if not search.probe.said:
        return f"{what}. Say how its arrays lie with --layout, and what it returns with --returns."
    return f"{what}. What it said: {' | '.join([*search.probe.said][:4])}"


def _say_layouts(search: Search, look: Look, said: tuple[str, ...], how: str) -> None:
    ways, layouts = search.ways, search.ways.layouts
    what = "query, key and value in one array are" if ways.has("qkv") else "query, key and value are"
    what = "its embeddings are" if ways.has("x") else what
    given = layouts.get("qkv") or layouts.get("x") or layouts["query"]
    each = [layouts.get(name, given) for name in ("query", "key", "value")]
    shown = given if len(set(each)) == 1 or ways.has("kv") else ", ".join(each)
    is_said = how == "stated" or given in said
    search.say("layout", shown, how if is_said else "tried", f"{what} {axes_words(given)}")
    if layouts["output"] != layouts["query"]:
        search.say(
            "output layout", layouts["output"], "tried", f"its output is {axes_words(layouts['output'])}"
        )
    if ways.heads:
        search.say("heads", str(ways.heads), "tried", f"it has {ways.heads} heads of its own")
    elif said and not is_said:
        search.say("layout", given, "tried", f"what is said about it, {' or '.join(said)}, does not run")
    if look.tokens in ("B", "H"):
        axis = {"B": "samples", "H": "heads"}[look.tokens]
        search.say("layout", shown, "tried", f"yet it attends over its {axis}, not its tokens")
    for other in look.also_runs:
        mixes = f"it takes {axes_words(other)} as well, and then mixes what it should not"
        search.say("layout", other, "tried", f"{mixes}; state that layout to have it checked")
