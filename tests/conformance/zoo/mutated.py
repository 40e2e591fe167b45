"""A right implementation with mistakes of the catalogue put into it, as an ordinary function.

    from zoo.mutated import mutated
    attention = mutated("scale-missing", "causal-strict")
    attention(query, key, value, causal=True)

or by name, as `headwork check mutated.py:scale_missing__causal_strict` has it; a number behind a mistake with a
parameter is its θ: `softmax_another_base_3`; without one it is a number that shows on the mistake's own witness. Where a call cannot show a mistake (no mask, no second head), it is left
out of that call: a function with a mistake in its softcap is right as long as nobody asks for one.

This one file of the zoo uses the package, and is no test of the catalogue: it says whether a battery sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from headwork.diagnosis.reach import FINAL
from headwork.errors import UnknownNameError
from headwork.mechanism.fields import in_kind
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.lookup import mistake_named
from headwork.mistakes.mistake import Mistake
from headwork.mistakes.wrong_run import can_be_made, run_wrong
from headwork.problem import Problem

ARRAYS = ("query", "key", "value")
OPTIONS = (
    "mask",
    "causal",
    "offset",
    "window",
    "lengths",
    "scale",
    "softcap",
    "alibi",
    "sink",
    "rope",
    "chunks",
)
CALLABLE = frozenset((*ARRAYS, *OPTIONS, "heads", "kv_heads"))
SHOWS = 1e-6
SILENT = {"rope-from-one"}  # only differences of positions reach the scores


def mutated(*ids: str, theta: float | None = None) -> Callable[..., Any]:
    """The function in which these mistakes are made together. Raises UnknownNameError."""
    mistakes = [mistake_named(id) for id in ids]
    number = (
        theta if theta is not None else next((shown_theta(one) for one in mistakes if one.parameter), None)
    )

    def attention(
        query, key, value, *, mask=None, causal=False, offset=None, window=None, lengths=None, scale=None,
        softcap=None, alibi=None, sink=None, rope=None, chunks=None, heads=None, kv_heads=None,
        return_weights=False, return_logsumexp=False,
    ):  # fmt: skip
        options = {
            "mask": mask, "causal": causal, "offset": offset, "window": window, "lengths": lengths, "scale": scale,
            "softcap": softcap, "alibi": alibi, "sink": sink, "rope": rope, "chunks": chunks, "heads": heads,
            "kv_heads": kv_heads,
        }  # fmt: skip
        problem = Problem(query=query, key=key, value=value, **options)
        made = [mistake for mistake in mistakes if can_be_made(problem, mistake)]
        fields = run_wrong(problem, made, number)
        asked = ["output", *(["weights"] * return_weights), *(["logsumexp"] * return_logsumexp)]
        # an answer called "weights" is what goes into the blend
        outputs = [
            in_kind(problem, name, fields[FINAL.get(name, name)]).astype(query.dtype) for name in asked
        ]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    attention.__name__ = attention.__qualname__ = "__".join(id.replace("-", "_") for id in ids) or "unmutated"
    attention.__doc__ = (
        "Scaled dot-product attention" + "".join(f", where {one.title}" for one in mistakes) + "."
    )
    return attention


@cache
def shown_theta(mistake: Mistake) -> float:
    """The first number that is tried for the mistake and that shows on its witness."""
    problem = mistake.witness.draw()
    right = run_wrong(problem, ())["output"]
    assert mistake.parameter is not None
    for theta in mistake.parameter.values(problem):
        wrong = run_wrong(problem, (mistake,), theta)["output"]
        if not np.abs(wrong - right).max() <= SHOWS:
            return theta
    raise AssertionError(f"no number shows {mistake.id}")


# --- which there are ------------------------------------------------------------------------------


def singles(roles: frozenset[str] = CALLABLE) -> Iterator[Mistake]:
    """The mistakes that an ordinary call with these arguments can show."""
    for mistake in CATALOGUE:
        if roles_of(mistake) <= roles and mistake.id not in SILENT:
            yield mistake


def roles_of(mistake: Mistake) -> frozenset[str]:
    """The arguments that its witness has; "x" and "w_query" among them where something is projected."""
    return frozenset(mistake.witness.draw().to_dict()) - {"dtype"}


def pairs(count: int, seed: int = 0, roles: frozenset[str] = CALLABLE) -> list[tuple[Mistake, Mistake]]:
    """Some of the pairs that can be made together: they replace different steps, and one θ at most is free."""
    fitting = [
        (one, other)
        for one, other in combinations(singles(roles), 2)
        if not one.touches & other.touches and (one.parameter is None or other.parameter is None)
    ]
    chosen = np.random.default_rng(seed).choice(len(fitting), size=min(count, len(fitting)), replace=False)
    return [fitting[at] for at in sorted(chosen)]


def __getattr__(name: str) -> Any:
    """`scale_missing`, `scale_missing__causal_strict`, `softmax_another_base_3`."""
    ids, theta = [], None
    for part in name.split("__") if not name.startswith("_") else [""]:
        words = part.replace("_", "-")
        try:
            ids.append(mistake_named(words).id if words != "unmutated" else "")
        except UnknownNameError:
            head, _, number = words.rpartition("-")
            if not head or not number.isdigit():
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
            ids.append(mistake_named(head).id)
            theta = float(number)
    return mutated(*filter(None, ids), theta=theta)
