"""The formula of each step in plain characters, for terminals. The LaTeX that pages set is the step's own."""

from __future__ import annotations

from ..mechanism.masks import float_masks
from ..mechanism.numerals import number_text
from ..mechanism.steps import Step
from ..problem import Problem

FORMULAS = {
    "project": "Q = X·W_Q,  K = X·W_K,  V = X·W_V",
    "split-query": "Q → Q₁ … Q_H, side by side in the columns",
    "split-key": "K → K₁ … K_Hkv, side by side in the columns",
    "split-value": "V → V₁ … V_Hkv, side by side in the columns",
    "repeat-key": "each key head serves H / Hkv query heads in a row",
    "repeat-value": "each value head serves H / Hkv query heads in a row",
    "rotate-query": "qᵢ turned by position × base^(−2·pair / dim), both counted from 0",
    "rotate-key": "kⱼ turned by position × base^(−2·pair / dim), both counted from 0",
    "scores": "S = Q·Kᵀ",
    "scale": "S / √d_k",
    "softcap": "c·tanh(S / c)",
    "bias": "bᵢⱼ",
    "add-bias": "S + B",
    "allow": "may query i see key j?",
    "mask": "sᵢⱼ = −∞ where query i may not see key j",
    "before-softmax": "S",
    "row-max": "mᵢ = the largest sᵢⱼ of row i",
    "exponentials": "eᵢⱼ = e^(sᵢⱼ − mᵢ)",
    "row-sum": "ℓᵢ = Σⱼ eᵢⱼ",
    "weights": "wᵢⱼ = eᵢⱼ / ℓᵢ",
    "empty-rows": "wᵢⱼ = 0 in a row that may see nothing",
    "after-softmax": "W",
    "logsumexp": "lseᵢ = mᵢ + ln ℓᵢ",
    "attend-parts": "softmax and blend over the keys of each part alone",
    "merge-parts": "Z = Σ e^(lse of the part − lse of the row) · (Z of the part)",
    "blend": "Z = W·V",
    "merge-heads": "Z = [Z₁ … Z_H], side by side",
    "project-output": "Z·W_O",
}


def formula_of(step: Step, problem: Problem) -> str:
    """The formula with what this problem says about it: its own scale, its biases."""
    if step.name == "scale":
        return FORMULAS["scale"] if problem.scale is None else f"S · {number_text(problem.scale, 6)}"
    if step.name == "bias":
        alibi = ["−m·|pᵢ − j|"] if problem.alibi is not None else []
        added = " + ".join([*alibi, *["float mask"] * len(float_masks(problem))])
        return f"bᵢⱼ = {added}" + ("  (pᵢ: where query i stands)" if alibi else "")
    if step.name == "project" and problem.x_key is not None:
        return "Q = X·W_Q,  K = Y·W_K,  V = Y·W_V  (X: embeddings, Y: those of the keys)"
    return FORMULAS[step.name]
