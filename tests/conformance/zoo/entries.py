"""What stands in the tables of the zoo, as records.

A file of the zoo is a program of its own that imports nothing of this project; its last lines are a table,
RIGHT or WRONG, of plain tuples:

    RIGHT   function, layout, takes, can, source[, more]
    WRONG   function, layout, takes, mistake, report, shows[, more]

layout   the axes of query, key and value: letters B, H, T, D, and E where heads are joined; several with blanks
takes    the parameters: those of query, key and value, then role=parameter, or parameter where it is the role
can      features (docs/checking.md) besides the basic one; of a wrong function: those of its roles
source   where it is seen, or why it is right
mistake  the id in the catalogue that it is to be recognised as
report   owner/repo#number, or "course folklore: …"
shows    sizes and options of a problem on which it is wrong
more     a dict, see Entry
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
FEATURE_OF = {  # the feature that a role is there for
    "scale": "scale",
    "mask": "mask-bool",
    "causal": "causal",
    "offset": "offset",
    "window": "window",
    "lengths": "lengths",
    "softcap": "softcap",
    "alibi": "alibi",
    "sink": "sink",
    "return_logsumexp": "logsumexp",
    "return_weights": "weights",
    "past_key": "cache",
}


@dataclass(frozen=True, eq=False)
class Entry:
    """One implementation, and what is known of it without asking the package.

    name, file  where it is; library: whose arrays it takes; kind: "function", "module" or "onnx"
    layouts     the first is its own, the others work as well
    takes       role -> parameter
    can         features, "basic" among them
    source      of a right one, or the report of a wrong one
    mistake     "" for a right one; shows: sizes and options on which a wrong one is wrong
    more        the rest, each where it is not the default:
      returns     what comes out, in order: "output" if not said
      out_layout  where the output has other axes than the inputs
      mask        what a boolean mask means: "attend" if not said, or "drop"; with "01" behind it: as whole numbers
      mask_axes   "QK" (Tq, Tk), "BHQK" (B, 1, Tq, Tk), "BQK", "BK"; the first without a B in the layout, else the second
      causal      "lower_right" if not said, "upper_left", or "square": it is only meant for Tq = Tk
      always      options that it has without being asked, such as {"causal": True}
      window      "pair" (left, right) if not said; "pair-1": −1 is no bound; "count": the number of keys, its own among them
      only        what it can do at all, as a condition on B H Hkv Tq Tk D Dv
      dtypes      "float64 float32" if not said
      needs       roles that have to be given
      theta       the number in the rule of its mistake
      cannot_compare  why the catalogue's numbers are not exactly its own
      stated      what has to be stated (headwork.conformance.stated) before it is a mistake and not a convention
    """

    name: str
    file: str
    library: str
    kind: str
    layouts: tuple[str, ...]
    takes: Mapping[str, str]
    can: frozenset[str]
    source: str
    function: Any = None
    mistake: str = ""
    shows: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{Path(self.file).stem}:{self.name}"

    @property
    def returns(self) -> tuple[str, ...]:
        return tuple(self.more.get("returns", "output").split())

    def __str__(self) -> str:
        return self.id

    def supports(self, **sizes: int) -> bool:
        """Whether it is meant for these B H Hkv Tq Tk D Dv."""
        return bool(eval(self.more.get("only", "True"), {"__builtins__": {"all": all}} | sizes))


@cache
def module_of(file: str) -> ModuleType:
    """A file of the zoo, loaded by its path as `headwork check FILE.py:NAME` does."""
    spec = importlib.util.spec_from_file_location(f"zoo_{Path(file).stem}", HERE / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def right(file: str) -> tuple[Entry, ...]:
    return tuple(_right(file, *row) for row in module_of(file).RIGHT)


def wrong(file: str) -> tuple[Entry, ...]:
    return tuple(_wrong(file, *row) for row in module_of(file).WRONG)


def _right(
    file: str, function: Any, layout: str, takes: str, can: str, source: str, more: Any = None
) -> Entry:
    return Entry(
        **_place(file, function),
        layouts=tuple(layout.split()),
        takes=roles(takes),
        can=frozenset({"basic", *can.split()}),
        source=source,
        more=more or {},
    )


def _wrong(
    file: str, function: Any, layout: str, takes: Any, mistake: str, report: str, shows: Any, more: Any = None
) -> Entry:
    taken = roles(takes) if isinstance(takes, str) else takes
    return Entry(
        **_place(file, function),
        layouts=tuple(layout.split()),
        takes=taken,
        can=frozenset({"basic", *(FEATURE_OF[role] for role in taken if role in FEATURE_OF)}),
        source=report,
        mistake=mistake,
        shows=shows,
        more=more or {},
    )


def _place(file: str, function: Any) -> dict[str, Any]:
    library = Path(file).stem.partition("_")[2]
    kind = "onnx" if library == "onnx" else "function" if hasattr(function, "__name__") else "module"
    # an instance of a module goes by the name that it has in its file
    name = getattr(function, "__name__", "") or next(
        name for name, thing in vars(module_of(file)).items() if thing is function
    )
    return {"name": name, "file": file, "library": library, "kind": kind, "function": function}


def roles(takes: str) -> dict[str, str]:
    """role -> parameter: "q k v mask=attn_mask scale" has query, key, value, mask and scale."""
    words = takes.split()
    pairs = [f"{role}={name}" for role, name in zip(("query", "key", "value"), words, strict=False)] + words[
        3:
    ]
    return {role: parameter or role for role, _, parameter in (pair.partition("=") for pair in pairs)}
