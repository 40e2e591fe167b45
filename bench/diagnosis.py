"""The long runs of the diagnosis: `python bench/diagnosis.py RUN [--count N] [--record]`.

RUN is one of
  right    right answers at 2 to 8 digits and in every dtype: how many are accused (goal: none in 100,000)
  wrong    random wrong answers to problems of at least 3 × 3: how many are named by chance (goal: below 1 in 10,000)
  singles  every mistake on problems where it shows at 3 decimals: named alone or in its true set (goal: all)
  pairs    random compatible pairs: in the named set (goal: at least 98 %)
  speed    first and further answers, beside a trace of the same problem
--record writes bench/results/diagnosis-RUN.json, from which docs/diagnosis.md quotes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from draws import WHOLE_STEPS, problem, wrong_answer
from rich.progress import Progress
from startup import machine

from headwork.arrays import DTYPES
from headwork.diagnosis.consequences import consequences_of
from headwork.diagnosis.diagnosing import diagnose
from headwork.diagnosis.plan import sets_of
from headwork.diagnosis.search import applicable
from headwork.diagnosis.tolerance import in_dtype, in_float64
from headwork.mechanism.fields import canonical, in_kind
from headwork.mechanism.tracing import trace
from headwork.mistakes.catalogue import CATALOGUE

SINGLES = tuple(m for m in CATALOGUE if m.parameter is None and not m.narrow)
PER_MISTAKE = 200  # problems on which each mistake shows
RESULTS = Path(__file__).parent / "results"
CHUNK = 100  # answers handed to a process at a time
KINDS = ("noise", "permuted", "slips", "unrelated")


# --- drawing -----------------------------------------------------------------------------------------


def visible_answer(given: Problem, hypothesis: Hypothesis, step: str, digits: int) -> np.ndarray | None:
    """What the mistakes give, rounded; None where that is right, or no numbers at all."""
    made = consequences_of(given, step, (RIGHT, hypothesis))
    right, wrong = (made.values[node] for node in made.node)
    if wrong.shape != right.shape or not np.isfinite(wrong).any():
        return None
    answer = in_kind(given, step, np.round(wrong, digits))
    return None if diagnose(given, answer, step, digits=digits).verdict in ("right", "rounding") else answer


def drawn_for(mistake: Mistake, seed: int) -> Problem | None:
    """A problem on which the mistake shows in the output: like its witness, or a random one."""
    for attempt in range(40):
        try:
            given = mistake.witness.draw(seed * 41 + attempt)
        except HeadworkError:
            continue
        if can_be_made(given, mistake) and visible_answer(given, (mistake,), "output", 3) is not None:
            return given
    return None


def drawn_pair(seed: int) -> tuple[Hypothesis, Problem, np.ndarray]:
    """A compatible pair on a random problem where it shows; pairs in turn, so that each comes up."""
    attempt = 0
    while True:
        dice = np.random.default_rng([seed, attempt])
        attempt += 1
        given = problem(int(dice.integers(2**31)), least=3)
        able = [m for m in applicable(given, "output") if m in SINGLES]
        pair = (
            PAIRS[(seed * 7919 + attempt) % len(PAIRS)]
            if attempt < 30
            else tuple(dice.choice(len(able), 2, replace=False))
        )
        chosen = pair if isinstance(pair[0], Mistake) else tuple(able[i] for i in pair)
        if all(m in able for m in chosen) and compatible(chosen):
            answer = visible_answer(given, chosen, "output", 3)
            if answer is not None:
                return chosen, given, answer


# --- one piece of work of each run; each returns counts --------------------------------------------


def right_answers(seeds: Iterable[int]) -> Counter[str]:
    """Right answers, rounded or computed in a dtype."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        given = problem(seed)
        step = str(rng.choice([name for name in WHOLE_STEPS if name in trace(given)]))
        digits = int(rng.integers(2, 9))
        if digits == 8:  # one in seven: arithmetic of a dtype instead of decimals
            dtype = str(rng.choice(list(DTYPES)))
            there = in_dtype(given, dtype)
            found = diagnose(there, trace(there)[step], step)
        else:
            found = diagnose(given, np.round(trace(given)[step], digits), step, digits=digits)
        counts["answers"] += 1
        counts[found.verdict] += 1
        if found.verdict != "right":
            counts[f"seed {seed}"] += 1
    return counts


def wrong_answers(seeds: Iterable[int]) -> Counter[str]:
    """Random wrong answers; those that are exactly a mistake's numbers are set aside and counted."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        given = problem(seed, least=3)
        step = str(rng.choice(["weights", "output"]))
        kind, digits = str(rng.choice(KINDS)), int(rng.choice([3, 4, 6]))
        right = trace(given)[step]
        others = rng.permuted(right + rng.normal(size=right.shape) * float(np.std(right) or 1))
        found = diagnose(given, wrong_answer(rng, right, others, kind, digits), step, digits=digits)
        counts["answers"] += 1
        counts[f"{kind}: {found.verdict}"] += 1
        if found.verdict == "mistake":
            asked = canonical(given, step, answer)
            exact = any(np.allclose(np.round(f.values, digits), asked, atol=1e-9) for f in found.findings)
            counts["exactly a mistake's numbers" if exact else "named"] += 1
            if not exact:
                counts[f"seed {seed}: {kind}: {found.mistakes[0]}"] += 1
    return counts


def single_mistakes(seeds: Iterable[int]) -> Counter[str]:
    """Mistake number seed // 1000 on drawn problems: named, in a set of how many."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        mistake = SINGLES[seed // PER_MISTAKE]
        given = drawn_for(mistake, seed)
        answer = None if given is None else visible_answer(given, (mistake,), "output", 3)
        if given is None or answer is None:
            counts[f"{mistake.id}: never drawn"] += 1
            continue
        found = diagnose(given, answer, digits=3)
        true_set = [reading for finding in found.findings for reading in finding.readings]
        hit = any(mistake in reading for reading in true_set)
        counts[f"{mistake.id}: drawn"] += 1
        counts[f"{mistake.id}: {found.verdict if hit else 'missed'}"] += 1
        counts[f"{mistake.id}: set of {len(found.findings)}"] += hit
    return counts


def mistake_pairs(seeds: Iterable[int]) -> Counter[str]:
    """Random compatible pairs on random problems."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        pair, given, answer = drawn_pair(seed)
        found = diagnose(given, answer, digits=3)
        hit = explains(found, given, pair)
        counts["drawn"] += 1
        counts[f"{'hit' if hit else 'missed'}: {found.verdict}"] += 1
        counts[f"set of {min(len(found.findings), 9)}"] += hit
        if not hit:
            counts[f"missed: {pair[0].id} + {pair[1].id}"] += 1
    return counts
