"""Wrong rules for the gradients, as people write them, and which of them explains somebody's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..diagnosis.tolerance import in_float64
from ..problem import Problem
from .gradients import RIGHT, Backward, Fields, gradients, shared, transposed


@dataclass(frozen=True, eq=False)
class WrongGradient:
    """One wrong backward rule.

    Fields
    id       kebab-case; title: a phrase in the past tense, for "you …"
    why      why it is wrong; mend: how to put it right
    instead  the rules of Backward that are other ones
    applies  whether a problem can show it
    """

    id: str
    title: str
    why: str
    mend: str
    instead: Mapping[str, Callable[..., Array]]
    applies: Callable[[Problem], bool] = lambda problem: True

    def gradients(self, problem: Problem, cotangent: Array) -> dict[str, Array]:
        """What it gives, float64; see `gradients`."""
        rules = Backward(**(vars(RIGHT) | dict(self.instead)))
        return gradients(in_float64(problem), cotangent, rules)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"id": self.id, "title": self.title, "why": self.why, "mend": self.mend}


def explain_gradients(
    problem: Problem, cotangent: Array, given: Mapping[str, Array], slack: Mapping[str, float]
) -> tuple[WrongGradient, ...]:
    """The wrong rules that give all of these gradients, and at least one that is not the right one.

    given  query, key, value or some of them, in the shapes of the problem's arrays; slack: see `tolerances`
    """
    right = gradients(in_float64(problem), cotangent)
    candidates = (rule for rule in WRONG_GRADIENTS if rule.applies(problem))
    made = {rule: rule.gradients(problem, cotangent) for rule in candidates}
    return tuple(
        rule
        for rule, numbers in made.items()
        if all(_near(given[name], numbers[name], slack[name]) for name in given)
        and not all(_near(numbers[name], right[name], slack[name]) for name in given)
    )


def _near(a: Array, b: Array, slack: float) -> bool:
    return a.shape == b.shape and bool((np.abs(a.astype(np.float64) - b) <= slack).all())


def _is_square(problem: Problem) -> bool:
    return problem.Tq == problem.Tk


def _is_grouped(problem: Problem) -> bool:
    return bool(problem.Hkv != problem.H)


def _is_capped(problem: Problem) -> bool:
    return problem.softcap is not None


def _seen_scores(f: Fields) -> Array:
    return np.where(f["attention"] > 0, f["scaled"], 0)


def _one_of_group(problem: Problem, x: Array) -> Array:
    return x[..., :: problem.H // problem.Hkv, :, :]


def _mean_of_group(problem: Problem, x: Array) -> Array:
    return shared(problem, x) / (problem.H // problem.Hkv)


def _scaled_by(power: int) -> Callable[[Problem, Fields], Array]:
    return lambda problem, f: f["d_scaled"] * problem.factor**power


WRONG_GRADIENTS: tuple[WrongGradient, ...] = (
    WrongGradient(
        "gradient-scale-missing", "left the scale out of the gradients of query and key",
        "The scores were multiplied by 1/√d_k on the way forward, so their gradient is, too.",
        "Multiply dS by the scale before the products with K and Q.", {"d_scores": _scaled_by(0)},
        lambda problem: problem.factor != 1,
    ),
    WrongGradient(
        "gradient-scaled-twice", "multiplied by the scale twice in the gradients of query and key",
        "Once in dS and once more in dQ or dK is once too often.", "Scale in one place.",
        {"d_scores": _scaled_by(2)}, lambda problem: problem.factor != 1,
    ),
    WrongGradient(
        "gradient-query-scale-missing", "left the scale out of the gradient of the query",
        "Both gradients are taken through the same scaled scores.", "Multiply dQ by the scale, too.",
        {"query": lambda problem, f: f["d_scaled"] @ f["key_repeated"]}, lambda problem: problem.factor != 1,
    ),
    WrongGradient(
        "gradient-key-scale-missing", "left the scale out of the gradient of the key",
        "Both gradients are taken through the same scaled scores.", "Multiply dK by the scale, too.",
        {"key": lambda problem, f: transposed(f["d_scaled"]) @ f["query_heads"]},
        lambda problem: problem.factor != 1,
    ),
    WrongGradient(
        "gradient-row-not-subtracted", "did not subtract the row's sum Σ P∘dP in the softmax's gradient",
        "The weights of a row sum to 1: what one of them gains, the others lose.",
        "dS = P ∘ (dP − D) with D = Σ_j P_ij dP_ij, which is also Σ_c dO_ic O_ic.",
        {"row": lambda problem, f: np.zeros_like(f["row_sum"])},
    ),
    WrongGradient(
        "gradient-row-mean", "subtracted the row's plain mean of dP in the softmax's gradient",
        "The mean that counts is the one by the weights.", "D = Σ_j P_ij dP_ij.",
        {"row": lambda problem, f: f["d_weights"].mean(axis=-1, keepdims=True)},
    ),
    WrongGradient(
        "gradient-row-of-cotangent", "took Σ dO for the row's sum in the softmax's gradient",
        "The sum runs over dO ∘ O, not over dO alone.", "D = Σ_c dO_ic O_ic.",
        {"row": lambda problem, f: f["cotangent"].sum(axis=-1, keepdims=True)},
    ),
    WrongGradient(
        "gradient-softmax-left-out", "took the gradient of the weights for that of the scores",
        "Between scores and weights stands the softmax.", "dS = P ∘ (dP − Σ_j P_ij dP_ij).",
        {"d_masked": lambda problem, f: np.where(f["attention"] > 0, f["d_weights"], 0)},
    ),
    WrongGradient(
        "gradient-sigmoid", "used P(1 − P), as if every weight stood alone",
        "That is the diagonal of the softmax's Jacobian; the weights of a row hang together.",
        "dS = P ∘ (dP − Σ_j P_ij dP_ij).",
        {"d_masked": lambda problem, f: f["attention"] * (1 - f["attention"]) * f["d_weights"]},
    ),
    WrongGradient(
        "gradient-key-not-transposed", "multiplied dS instead of its transpose with Q",
        "Row j of dK collects what every query gives to key j.", "dK = dSᵀ Q.",
        {"key": lambda problem, f: f["d_scores"] @ f["query_heads"]}, _is_square,
    ),
    WrongGradient(
        "gradient-value-not-transposed", "multiplied P instead of its transpose with dO",
        "Row j of dV collects what every query took of value j.", "dV = Pᵀ dO.",
        {"value": lambda problem, f: f["attention"] @ f["cotangent"]}, _is_square,
    ),
    WrongGradient(
        "gradient-query-and-key-swapped", "exchanged query and key in their gradients",
        "dQ is made of keys and dK of queries.", "dQ = dS K and dK = dSᵀ Q.",
        {
            "query": lambda problem, f: f["d_scores"] @ f["query_heads"],
            "key": lambda problem, f: transposed(f["d_scores"]) @ f["key_repeated"],
        },
        _is_square,
    ),
    WrongGradient(
        "gradient-value-by-scores", "used the scores in place of the weights in the gradient of the values",
        "The output is a blend by weights.", "dV = Pᵀ dO.",
        {"value": lambda problem, f: transposed(_seen_scores(f)) @ f["cotangent"]},
    ),
    WrongGradient(
        "gradient-heads-not-summed", "kept one query head's gradient for a key/value head that several share",
        "Every query head that used the key adds to its gradient.", "Sum over the group of query heads.",
        {"shared": _one_of_group}, _is_grouped,
    ),
    WrongGradient(
        "gradient-heads-averaged", "averaged over the query heads that share a key/value head",
        "Gradients of shared things add up.", "Sum over the group of query heads.",
        {"shared": _mean_of_group}, _is_grouped,
    ),
    WrongGradient(
        "gradient-cap-left-out", "left the softcap out of the gradients",
        "c·tanh(s/c) has the slope 1 − tanh²(s/c), which is less than 1.",
        "Multiply dS by 1 − (s_capped/c)².", {"d_scaled": lambda problem, f: f["d_masked"]}, _is_capped,
    ),
    WrongGradient(
        "gradient-negated", "turned the sign of the gradients",
        "A gradient points to where the output grows.", "Leave the sign as it is.",
        {
            "query": lambda problem, f: -RIGHT.query(problem, f),
            "key": lambda problem, f: -RIGHT.key(problem, f),
            "value": lambda problem, f: -RIGHT.value(problem, f),
        },
    ),
)  # fmt: skip
