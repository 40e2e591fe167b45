"""The long runs of the diagnosis: `python bench/diagnosis.py RUN [--count N] [--record]`.

RUN is one of
  right    right answers at 2 to 8 digits and in every dtype: how many are accused (goal: none in 100,000)
  wrong    random wrong answers to problems of at least 3 × 3: named by chance (goal: below 1 in 10,000)
  singles  every mistake on problems where it shows at 3 decimals: in the set of its true readings (goal: all)
  pairs    random compatible pairs: in the set, or an equal explanation with fewer mistakes (goal: 98 %)
--record writes bench/results/diagnosis-RUN.json, which docs/diagnosis.md quotes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core instead: set before NumPy loads

import numpy as np
from draws import WHOLE_STEPS, problem, wrong_answer
from rich.progress import Progress
from startup import machine

from headwork.arrays import DTYPES
from headwork.diagnosis.consequences import consequences_of
from headwork.diagnosis.diagnosing import Diagnosis, diagnose, worked
from headwork.diagnosis.plan import RIGHT, Hypothesis
from headwork.diagnosis.search import applicable, known_consequences
from headwork.diagnosis.tolerance import in_dtype
from headwork.errors import HeadworkError
from headwork.mechanism.fields import canonical, in_kind
from headwork.mechanism.tracing import trace
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.mistake import Mistake
from headwork.problem import Problem

RESULTS = Path(__file__).parent / "results"
SINGLES = tuple(
    m for m in CATALOGUE if m.parameter is None and not m.narrow and not m.id.startswith("dropout")
)
COUNTED = frozenset(SINGLES)
PER_MISTAKE = 100  # problems on which each mistake shows
MANY_ANSWERS = 100  # wrong answers to the same problem
PER_PROBLEM = 20  # answers to the same problem: what the problem gives is worked out once
KINDS = ("noise", "permuted", "slips", "unrelated")
STEPS = ("output", "weights", "logsumexp", "masked", "query_rotated", "key_rotated", "value_heads", "query")


# --- what is drawn --------------------------------------------------------------------------------


def visible(given: Problem, mistake: Mistake, step: str) -> Diagnosis | None:
    """The diagnosis of what the mistake gives, at 3 decimals; None where that is right, or no number."""
    try:
        made = consequences_of(given, step, (RIGHT, (mistake,)))
    except KeyError:  # the problem has no such step
        return None
    right, wrong = (made.values[node] for node in made.node)
    if wrong.shape != right.shape or not np.isfinite(wrong).any():
        return None
    found = diagnose(given, in_kind(given, step, np.round(wrong, 3)), step, 3)
    return None if found.verdict in ("right", "rounding", "invalid") else found


def shown(mistake: Mistake, seed: int) -> Diagnosis | None:
    """On a problem like the mistake's witness on which it shows, at the first of STEPS where it does."""
    for attempt in range(20):
        try:
            given = mistake.witness.draw(seed * 31 + attempt)
        except HeadworkError:
            continue
        for step in STEPS:
            if mistake in applicable(given, step):
                found = visible(given, mistake, step)
                if found is not None:
                    return found
    return None


def drawn_pairs(seed: int) -> Iterator[tuple[Hypothesis, Problem, np.ndarray]]:
    """Random compatible pairs on one random problem, where they show."""
    dice = np.random.default_rng(seed)
    given = problem(int(dice.integers(2**31)), least=3)
    made = known_consequences(given, "output", 2)
    pairs = [i for i, h in enumerate(made.hypotheses) if len(h) == 2 and all(m in COUNTED for m in h)]
    for index in dice.permutation(pairs)[: 3 * PER_PROBLEM]:
        answer = in_kind(given, "output", np.round(made.values[made.node[index]], 3))
        if not np.isfinite(answer).any() or np.allclose(answer, np.round(worked(given)["output"], 3)):
            continue
        if diagnose(given, answer, "output", 3).verdict not in ("right", "rounding", "invalid"):
            yield made.hypotheses[index], given, answer


# --- one piece of work of each run ----------------------------------------------------------------


def right_answers(seeds: Iterable[int]) -> Counter[str]:
    """Right answers to each problem: rounded to 2 to 8 digits, or computed in a dtype."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        given = problem(seed)
        work = trace(given)
        steps = [name for name in WHOLE_STEPS if name in work]
        for index in range(PER_PROBLEM):
            rng = np.random.default_rng([seed, index])
            step, digits = str(rng.choice(steps)), int(rng.integers(2, 10))
            there = in_dtype(given, str(rng.choice(list(DTYPES)))) if digits == 9 else given
            answer = trace(there)[step] if digits == 9 else np.round(work[step], digits)
            found = diagnose(there, answer, step, None if digits == 9 else digits)
            counts["answers"] += 1
            counts[f"verdict {found.verdict}"] += 1
            if found.verdict != "right":
                counts[f"seed {seed} {index}: {step} {digits} {there.dtype}: {found.verdict}"] += 1
    return counts


def wrong_answers(seeds: Iterable[int]) -> Counter[str]:
    """Random wrong answers; one that is exactly a mistake's numbers is set aside and counted."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        given = problem(seed, least=3)
        work = trace(given)
        for index in range(MANY_ANSWERS):
            rng = np.random.default_rng([seed, index])
            step, digits = ("weights", "output")[index % 2], int(rng.choice([3, 4, 6]))
            kind, right = KINDS[index // 2 % len(KINDS)], work[step]
            others = (
                rng.permuted(right.ravel()).reshape(right.shape) + rng.normal(size=right.shape) * right.std()
            )
            answer = wrong_answer(rng, right, others, kind, digits)
            found = diagnose(given, answer, step, digits)
            counts["answers"] += 1
            counts[f"{kind}: {found.verdict}"] += 1
            if found.verdict == "mistake":
                exact = is_exactly(found, canonical(given, step, answer), digits)
                counts["exactly a mistake's numbers" if exact else "named"] += 1
                counts[f"seed {seed} {index}: {kind}, {step}: {found.mistakes[0]} {exact=}"] += 1
    return counts


def is_exactly(found: Diagnosis, answer: np.ndarray, digits: int) -> bool:
    """Whether the answer is a finding's numbers to the last digit, not merely within the tolerance."""
    return any(
        np.allclose(np.round(f.values, digits), answer, atol=1e-9, equal_nan=True) for f in found.findings
    )


def single_mistakes(seeds: Iterable[int]) -> Counter[str]:
    """Mistake number seed // PER_MISTAKE on a problem where it shows."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        mistake = SINGLES[seed // PER_MISTAKE]
        found = shown(mistake, seed)
        if found is None:
            counts[f"{mistake.id}: not drawn"] += 1
            continue
        hit = any(mistake in reading for finding in found.findings for reading in finding.readings)
        counts[f"{mistake.id}: drawn"] += 1
        counts[f"{mistake.id}: {found.verdict if hit else 'missed'}"] += 1
        counts[f"{mistake.id}: set of {min(len(found.mistakes), 9)}"] += hit
        if not hit:
            counts[
                f"missed {mistake.id}, seed {seed}, {found.step}: {found.verdict} {found.mistakes[:2]}"
            ] += 1
    return counts


def mistake_pairs(seeds: Iterable[int]) -> Counter[str]:
    """Pairs: found as such, or by an explanation with fewer mistakes that gives the same numbers."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        for pair, given, answer in islice(drawn_pairs(seed), PER_PROBLEM):
            found = diagnose(given, answer, "output", 3)
            readings = [reading for finding in found.findings for reading in finding.readings]
            fewer = min(map(len, readings), default=9) < 2
            simpler = fewer and is_exactly(found, canonical(given, "output", answer), 3)
            hit = simpler or any(set(reading) == set(pair) for reading in readings)
            counts["drawn"] += 1
            counts[f"{'simpler' if simpler else 'hit' if hit else 'missed'}: {found.verdict}"] += 1
            counts[f"set of {min(len(found.findings), 9)}"] += hit
            if not hit:
                names = " + ".join(mistake.id for mistake in pair)
                counts[f"missed {names}, seed {seed}: {found.verdict} {found.mistakes[:2]}"] += 1
    return counts


# --- running --------------------------------------------------------------------------------------

Work = Callable[[Iterable[int]], Counter[str]]
RUNS: dict[str, tuple[Work, int, int]] = {  # name -> (work, seeds for the goal, seeds handed over at a time)
    "right": (right_answers, 100_000 // PER_PROBLEM, 20),
    "wrong": (wrong_answers, 100_000 // MANY_ANSWERS, 2),
    "singles": (single_mistakes, len(SINGLES) * PER_MISTAKE, 25),
    "pairs": (mistake_pairs, 20_000 // PER_PROBLEM, 5),
}


def main() -> None:
    """Run, print, and write down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--count", type=int, help="seeds, fewer than the goal asks for a quick look")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--stride", type=int, default=1, help="take every so-manieth seed")
    parser.add_argument("--record", action="store_true", help="write bench/results")
    asked = parser.parse_args()
    work, goal, chunk = RUNS[asked.run]
    seeds = range(asked.first, asked.first + (asked.count or goal) * asked.stride, asked.stride)
    start = time.perf_counter()
    counts = spread(work, seeds, chunk)
    report = {
        "run": asked.run,
        "machine": machine(),
        "seeds": [seeds.start, seeds.stop, seeds.step],
        "minutes": round((time.perf_counter() - start) / 60, 1),
        "failed": failed(asked.run, counts),
        "counts": dict(sorted(counts.items())),
    }
    print(json.dumps(report, indent=1, ensure_ascii=False))
    if asked.record:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
        (RESULTS / f"diagnosis-{asked.run}.json").write_text(text, encoding="utf-8")


def spread(work: Work, seeds: range, chunk: int) -> Counter[str]:
    """The counts over all seeds, worked by all cores, with a bar."""
    parts = [seeds[at : at + chunk] for at in range(0, len(seeds), chunk)]
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool, Progress() as bar:
        task = bar.add_task(work.__name__.replace("_", " "), total=len(parts))
        for done in as_completed([pool.submit(work, part) for part in parts]):
            counts += done.result()
            bar.advance(task)
    return counts


def failed(run: str, counts: Counter[str]) -> dict[str, object]:
    """How many draws went against the goal, of how many, and the 95 % interval of their share."""
    trials = (
        counts["answers"] + counts["drawn"] + sum(n for key, n in counts.items() if key.endswith(": drawn"))
    )
    hits = {"right": trials - counts["verdict right"], "wrong": counts["named"]}.get(
        run, sum(n for key, n in counts.items() if key.startswith("missed") and "," in key)
    )
    return {"failed": hits, "of": trials, "share, 95 %": interval(hits, trials)}


def interval(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    z, p = 1.96, hits / trials
    middle, spread_ = (
        p + z * z / (2 * trials),
        z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials)),
    )
    return max(0.0, middle - spread_) / (1 + z * z / trials), (middle + spread_) / (1 + z * z / trials)


if __name__ == "__main__":
    main()
