"""Wrong implementations of attention that people reported, and right ones that must never be accused.

They share no code with the package: what a test does with them is not the catalogue tested against itself.
"""

from . import (
    alibi,
    blend,
    causal,
    heads,
    masks,
    merging,
    numerics,
    online,
    projection,
    right,
    rope,
    scale,
    scores,
    sinks,
    softcap,
    softmax,
    windows,
)
from .mutant import Answer, Inputs, Mutant
from .right import Right

MUTANTS: tuple[Mutant, ...] = (
    *projection.MUTANTS,
    *heads.MUTANTS,
    *rope.MUTANTS,
    *scores.MUTANTS,
    *scale.MUTANTS,
    *softcap.MUTANTS,
    *alibi.MUTANTS,
    *masks.MUTANTS,
    *causal.MUTANTS,
    *windows.MUTANTS,
    *softmax.MUTANTS,
    *sinks.MUTANTS,
    *online.MUTANTS,
    *merging.MUTANTS,
    *numerics.MUTANTS,
    *blend.MUTANTS,
)
RIGHT: tuple[Right, ...] = right.RIGHT

__all__ = ["Answer", "Inputs", "MUTANTS", "Mutant", "RIGHT", "Right"]
