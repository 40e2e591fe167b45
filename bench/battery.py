"""What the battery of the check can see, in figures: `python bench/battery.py [--record]`.

How long it takes to draw; what is proven for each dtype; how many pairs of mistakes, made together, give the
right numbers on every case of a feature and so would survive.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from startup import machine

from headwork.conformance.battery import Case, draw_battery, draw_case
from headwork.conformance.proof import STEPS, Proof, lost, prove
from headwork.conformance.sizes import fitted, read_sizes
from headwork.diagnosis.distinct import can_show, numbers_of
from headwork.diagnosis.plan import Hypothesis, compatible

RESULT = Path(__file__).parent / "results" / "battery.json"
DTYPES = ("float64", "float32", "float16", "bfloat16")
RESTRICTED = ("T=64,128; D=64", "D%8", "Tq=Tk", "B=1; H=1", "B=1; H=1; Tq=Tk; D%16; Dv=D")
BATCH = 2000  # pairs that are looked at together


def everything(feature: str) -> bool:
    """A function that offers every feature."""
    return True


def seconds_to_draw(dtype: str) -> tuple[float, tuple[Case, ...]]:
    """Drawn anew, nothing kept."""
    draw_case.cache_clear()
    fitted.cache_clear()
    start = time.process_time()
    cases = draw_battery(everything, (dtype,))
    return time.process_time() - start, cases


def proofs(dtype: str) -> dict[str, Any]:
    """What is proven in one dtype, the number of cases, and how long both took."""
    drawing, cases = seconds_to_draw(dtype)
    start = time.process_time()
    found = prove(cases)
    return {
        "cases": len(cases),
        "ms of CPU to draw": round(1000 * drawing),
        "s of CPU to prove": round(time.process_time() - start, 1),
        "features": {proof.feature: _figures(proof) for proof in found},
    }


def _figures(proof: Proof) -> dict[str, Any]:
    pairs = {kind: [[p.a.id, p.b.id] for p in proof.twins if p.kind == kind] for kind in ("equal", "near")}
    return {
        "cases": proof.cases,
        "shown": len(proof.shown),
        "invisible": [blind.mistake.id for blind in proof.invisible],
        "the same on every input": pairs["equal"],
        "too near": pairs["near"],
    }


def survivors(cases: Sequence[Case], proof: Proof) -> tuple[int, list[list[str]]]:
    """How many pairs of a feature's mistakes go together, and those that are right on all of its cases."""
    own = [case for case in cases if case.feature == proof.feature and case.step in STEPS]
    stackable = [m for m in proof.shown if m.rewrite is None and not m.narrow]
    pairs: list[Hypothesis] = [pair for pair in combinations(stackable, 2) if compatible(pair)]
    left = pairs
    for case in own:
        there = {m for m in stackable if can_show(case.problem, case.step, m)}
        asked = [pair for pair in left if there & set(pair)]
        seen: set[Hypothesis] = set()
        for start in range(0, len(asked), BATCH):
            part = asked[start : start + BATCH]
            here = tuple(tuple(m for m in pair if m in there) for pair in part)
            made = numbers_of(case.problem, case.step, None, here)
            seen |= {pair for pair, shows in zip(part, made.shows, strict=True) if shows}
        left = [pair for pair in left if pair not in seen]
    return len(pairs), [[m.id for m in pair] for pair in left]


def restricted(text: str, whole: Sequence[Case]) -> dict[str, Any]:
    """What a function of few sizes leaves unseen, and how long it takes to say so."""
    cases = draw_battery(everything, ("float32",), read_sizes(text))
    start = time.process_time()
    found = lost(whole, cases)
    taken = time.process_time() - start
    return {"cases": len(cases), "s of CPU": round(taken, 2), "lost": [each.mistake.id for each in found]}


def main() -> None:
    """Work everything out, and print it or keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"write {RESULT.name}")
    record = parser.parse_args().record
    proven = {dtype: proofs(dtype) for dtype in DTYPES}
    whole = draw_battery(everything, ("float32",))
    pairs = {proof.feature: survivors(whole, proof) for proof in prove(whole)}
    figures = {
        "machine": machine(),
        "proven": proven,
        "pairs in float32": {
            name: {"tried": tried, "right on every case": left} for name, (tried, left) in pairs.items()
        },
        "fewer sizes": {text: restricted(text, whole) for text in RESTRICTED},
    }
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    if record:
        RESULT.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
