"""The long runs of the diagnosis: `python bench/diagnosis.py RUN [--record]`.

RUN is one of
  right       right answers at 2 to 8 digits and in every dtype: how many are accused (goal: none in 100,000)
  wrong       random wrong answers to problems of at least 3 × 3: named by chance (goal: below 1 in 10,000)
  singles     every mistake on 200 problems where it shows at 3 decimals: in the set named (goal: all)
  pairs       random compatible pairs: in the set, or an equal explanation with fewer mistakes (goal: 98 %)
  every-pair  each compatible pair once, on a problem that has what both need
A run that was stopped goes on where it was. --shard 1/2 does every second part, --processes 1 uses one core,
and --record writes bench/results/diagnosis-RUN.json, which docs/diagnosis.md quotes, once nothing is left.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core instead: set before NumPy loads

import numpy as np
from draws import KINDS, WHOLE_STEPS, problem, telling, wrong_answer
from long_run import Run, Tally, added, go_on, interval, quantile
from startup import machine

from headwork.arrays import DTYPES
from headwork.diagnosis.consequences import consequences_of
from headwork.diagnosis.diagnosing import Diagnosis, diagnose
from headwork.diagnosis.plan import RIGHT, Hypothesis, compatible
from headwork.diagnosis.right import worked
from headwork.diagnosis.search import applicable, known_consequences
from headwork.diagnosis.tolerance import in_dtype
from headwork.mechanism.fields import canonical, in_kind
from headwork.mechanism.tracing import trace
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.mistake import Mistake
from headwork.problem import Problem

np.seterr(over="ignore")  # wrong numbers may be as large as they like
RESULTS = Path(__file__).parent / "results"
SINGLES = tuple(
    m for m in CATALOGUE if m.parameter is None and not m.narrow and not m.id.startswith("dropout")
)
COUNTED = frozenset(SINGLES)
Pair = frozenset[Mistake]
PER_MISTAKE = 200  # problems on which each mistake shows
MANY_ANSWERS = 100  # wrong answers to the same problem
PER_PROBLEM = 20  # answers to the same problem: what the problem gives is worked out once
STEPS = ("output", "weights", "logsumexp", "masked", "query_rotated", "key_rotated", "value_heads", "query")
SURE = ("mistake", "convention")  # verdicts that name; a convention is named as one
DIGITS = (3, 4, 6, None)  # of wrong answers; None: as they are
FOLLOWED = 10  # every so-manieth wrong answer comes with an output that follows from it


# --- what is drawn --------------------------------------------------------------------------------


def visible(given: Problem, hypothesis: Hypothesis, step: str) -> Diagnosis | None:
    """The diagnosis of what the mistakes give, at 3 decimals; None where that is right, or no number."""
    try:
        made = consequences_of(given, step, (RIGHT, hypothesis))
    except KeyError:  # the problem has no such step
        return None
    right, wrong = (made.values[node] for node in made.node)
    if wrong.shape != right.shape or not np.isfinite(wrong).any():
        return None
    found = diagnose(given, in_kind(given, step, np.round(wrong, 3)), step, 3)
    return None if found.verdict in ("right", "rounding", "invalid") else found


def shown(mistake: Mistake, seed: int) -> Diagnosis | None:
    """On a problem that has what the mistake needs, at the first of STEPS where it shows."""
    for given in telling([mistake], seed):
        for step in STEPS:
            if mistake in applicable(given, step):
                found = visible(given, (mistake,), step)
                if found is not None:
                    return found
    return None


def pairs_on(
    given: Problem, wanted: Container[Pair] | None = None
) -> Iterator[tuple[Hypothesis, np.ndarray]]:
    """The pairs that can be made on a problem, each with its output at 3 decimals where that is not right.

    wanted  only these, if given
    """
    made = known_consequences(given, "output", 2)
    right = np.round(worked(given)["output"], 3)
    for index, hypothesis in enumerate(made.hypotheses):
        if (
            len(hypothesis) == 2
            and COUNTED.issuperset(hypothesis)
            and (wanted is None or frozenset(hypothesis) in wanted)
        ):
            answer = in_kind(given, "output", np.round(made.values[made.node[index]], 3))
            if np.isfinite(answer).any() and not np.allclose(answer, right):
                yield hypothesis, answer


# --- one piece of work of each run ----------------------------------------------------------------


def right_answers(seeds: Iterable[int]) -> Tally:
    """Right answers to each problem: rounded to 2 to 8 digits or computed in a dtype; one step or several."""
    counts: Tally = {}
    for seed in seeds:
        given = problem(seed)
        work = trace(given)
        steps = [name for name in WHOLE_STEPS if name in work]
        for index in range(PER_PROBLEM):
            rng = np.random.default_rng([seed, index])
            step, digits = str(rng.choice(steps)), int(rng.integers(2, 10))
            there = in_dtype(given, str(rng.choice(list(DTYPES)))) if digits == 9 else given
            source = trace(there) if digits == 9 else work
            asked = steps[: steps.index(step) + 1] if index % 5 == 0 else [step]
            answers = {
                name: source[name] if digits == 9 else np.round(source[name], digits) for name in asked
            }
            found = diagnose(there, answers, digits=None if digits == 9 else digits)
            counts = added(counts, {"answers": 1, "verdicts": {found.verdict: 1}})
            if found.verdict != "right":
                says = f"seed {seed} {index}: {found.step} {digits} {there.dtype}: {found.verdict}"
                counts = added(counts, {"failures": [says]})
    return counts


def wrong_answers(seeds: Iterable[int]) -> Tally:
    """Random wrong answers; one that is a mistake's numbers to the last digit counts like any other."""
    counts: Tally = {}
    for seed in seeds:
        given = problem(seed, least=3)
        work = trace(given)
        for index in range(MANY_ANSWERS):
            rng = np.random.default_rng([seed, index])
            step, digits = ("weights", "output")[index % 2], DIGITS[rng.integers(len(DIGITS))]
            kind = KINDS[index // 2 % len(KINDS)]
            answers = {step: wrong_answer(rng, np.asarray(work[step]), kind, digits)}
            if step == "weights" and index % FOLLOWED == 0:
                answers |= follows_from(given, answers[step], digits)
            found = diagnose(given, answers, digits=digits)
            counts = added(counts, {"answers": 1, "verdicts": {kind: {found.verdict: 1}}})
            if found.findings and found.verdict != "rounding":
                bits = max(finding.bits for finding in found.findings)
                counts = added(counts, {"bits of what is found": {str(math.floor(bits)): 1}})
            if found.verdict == "mistake":
                exact = is_exactly(found, canonical(given, found.step, answers[found.step]), digits)
                says = f"seed {seed} {index}: {kind}, {step}, {digits=}: {found.mistakes[0]} {exact=}"
                counts = added(counts, {"failures": [says]})
    return counts


def follows_from(given: Problem, weights: np.ndarray, digits: int | None) -> dict[str, np.ndarray]:
    """The output that somebody with these weights goes on to, where the problem is plain enough."""
    if given.value is None or given.Hkv != given.H or given.packed or (given.single and given.batch):
        return {}
    output = weights @ (given.value[0] if given.single else given.value)
    return {"output": output if digits is None else np.round(output, digits)}


def is_exactly(found: Diagnosis, answer: np.ndarray, digits: int | None) -> bool:
    """Whether the answer is a finding's numbers to the last digit, not merely within the tolerance."""
    values = (f.values if digits is None else np.round(f.values, digits) for f in found.findings)
    return any(np.allclose(each, answer, atol=1e-9, equal_nan=True) for each in values)


def single_mistakes(seeds: Iterable[int]) -> Tally:
    """Mistake number seed // PER_MISTAKE on a problem where it shows."""
    counts: Tally = {}
    for seed in seeds:
        mistake = SINGLES[seed // PER_MISTAKE]
        found = shown(mistake, seed)
        if found is None:
            counts = added(counts, {"mistakes": {mistake.id: {"not drawn": 1}}})
            continue
        hits = [f for f in found.findings if any(mistake in reading for reading in f.readings)]
        one: Tally = {"drawn": 1, "found": len(hits[:1]), "named": int(bool(hits) and found.verdict in SURE)}
        if hits:
            one["set"] = {str(len(found.mistakes)): 1}
        if hits and found.verdict not in SURE:
            one["bits"] = {str(max(0, math.floor(hits[0].bits))): 1}
        counts = added(counts, {"mistakes": {mistake.id: one}})
        if not hits:
            says = f"{mistake.id}, seed {seed}, {found.step}: {found.verdict} {found.mistakes[:2]}"
            counts = added(counts, {"failures": [says]})
    return counts


def mistake_pairs(seeds: Iterable[int]) -> Tally:
    """Random pairs, some to each problem."""
    counts: Tally = {}
    for seed in seeds:
        dice = np.random.default_rng(seed)
        given = problem(int(dice.integers(2**31)), least=3)
        pairs = list(pairs_on(given))
        done = 0
        for index in dice.permutation(len(pairs)):
            if done < PER_PROBLEM and (one := judged_pair(given, *pairs[index], seed)):
                counts = added(counts, one)
                done += 1
    return counts


def judged_pair(given: Problem, pair: Hypothesis, answer: np.ndarray, seed: int) -> Tally:
    """Whether a pair is found as such, or by an explanation with fewer mistakes; nothing where right."""
    found = diagnose(given, answer, "output", 3)
    if found.verdict in ("right", "rounding", "invalid"):
        return {}
    readings = [reading for finding in found.findings for reading in finding.readings]
    fewer = min(map(len, readings), default=9) < 2
    simpler = fewer and is_exactly(found, canonical(given, "output", answer), 3)
    hit = simpler or any(set(reading) == set(pair) for reading in readings)
    how = "simpler" if simpler else "pair" if hit else "missed"
    one: Tally = {"drawn": 1, "how": {how: 1}, "named": int(hit and found.verdict in SURE)}
    if hit:
        return one | {"set": {str(len(found.findings)): 1}, "readings": {str(len(readings)): 1}}
    names = " + ".join(mistake.id for mistake in pair)
    return one | {"failures": [f"{names}, seed {seed}: {found.verdict} {found.mistakes[:2]}"]}


def every_pair(seeds: Iterable[int]) -> Tally:
    """Each of these mistakes with each that comes after it; on every problem all pairs that are left."""
    asked = [
        (SINGLES[i], other) for i in seeds for other in SINGLES[i + 1 :] if compatible((SINGLES[i], other))
    ]
    waiting = set(map(frozenset, asked))
    made_together: set[Pair] = set()
    counts: Tally = {"pairs": len(asked)}
    for seed, (first, other) in enumerate(asked):
        for given in telling([first, other], seed):
            if frozenset((first, other)) not in waiting:
                break
            if {first, other}.issubset(applicable(given, "output")):
                made_together.add(frozenset((first, other)))
                for pair, answer in pairs_on(given, waiting):
                    if one := judged_pair(given, pair, answer, seed):
                        counts = added(counts, one)
                        waiting.remove(frozenset(pair))
    for a, b in asked:
        if (pair := frozenset((a, b))) in waiting:
            why = "never shown" if pair in made_together else "never together"
            counts = added(counts, {why: [f"{a.id} + {b.id}"]})
    return counts


# --- running --------------------------------------------------------------------------------------

RUNS: dict[str, tuple[Callable[[range], Tally], int, int]] = {  # name -> (work, seeds, seeds in a part)
    "right": (right_answers, 100_000 // PER_PROBLEM, 10),
    "wrong": (wrong_answers, 100_000 // MANY_ANSWERS, 2),
    "singles": (single_mistakes, len(SINGLES) * PER_MISTAKE, 50),
    "pairs": (mistake_pairs, 20_000 // PER_PROBLEM, 4),
    "every-pair": (every_pair, len(SINGLES), 5),
}


def main() -> None:
    """Go on with a run; print what all of it gives, and write it down when asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--count", type=int, help="seeds, fewer than the goal asks for a quick look")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--stride", type=int, default=1, help="take every so-manieth seed")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="do the I-th of N shares of the parts")
    parser.add_argument("--processes", type=int, help="at once; one for each core, if not said")
    parser.add_argument("--record", action="store_true", help="write bench/results, if nothing is left")
    asked = parser.parse_args()
    work, goal, size = RUNS[asked.run]
    seeds = range(asked.first, asked.first + (asked.count or goal) * asked.stride, asked.stride)
    run = Run(asked.run, work, seeds, size)
    i, n = map(int, asked.shard.split("/"))
    go_on(run, (i, n), asked.processes)
    report = {"run": run.name, "machine": machine(), "seeds": [seeds.start, seeds.stop, seeds.step]}
    report |= run.report()
    report |= {"summary": SUMMARIES[run.name](report["counts"])}
    print(json.dumps({key: value for key, value in report.items() if key != "counts"}, indent=1))
    if asked.record and report["parts"][0] == report["parts"][1]:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        (RESULTS / f"diagnosis-{run.name}.json").write_text(text, encoding="utf-8")


def of_answers(counts: Tally) -> Tally:
    """How many answers failed, and the 95 % interval of their share."""
    failed, trials = len(counts.get("failures", [])), counts.get("answers", 0)
    return {"failed": failed, "of": trials, "share, 95 %": interval(failed, trials)}


def of_singles(counts: Tally) -> Tally:
    """How many draws were found, named, and found but too few bits to be sure; sizes of the sets."""
    total: Tally = {}
    for one in counts.get("mistakes", {}).values():
        total = added(total, one)
    return of_draws(total, total.get("found", 0)) | {
        "mistakes": len(counts.get("mistakes", {})),
        "not drawn": sorted(id for id, one in counts.get("mistakes", {}).items() if "drawn" not in one),
        "found, too few bits": sum(total.get("bits", {}).values()),
    }


def of_pairs(counts: Tally) -> Tally:
    """The same for pairs."""
    how = counts.get("how", {})
    return of_draws(counts, how.get("pair", 0) + how.get("simpler", 0)) | {
        "how": how,
        "compatible pairs": counts.get("pairs"),
        "never together": len(counts.get("never together", [])),
        "never shown": len(counts.get("never shown", [])),
    }


def of_draws(counts: Tally, found: int) -> Tally:
    """What singles and pairs have in common."""
    drawn, sizes = counts.get("drawn", 0), counts.get("set", {})
    small = sum(n for size, n in sizes.items() if int(size) <= 5)
    return {
        "drawn": drawn,
        "found": found,
        "named": counts.get("named", 0),
        "missed, 95 %": interval(drawn - found, drawn),
        "set: median, 95 %, at most 5": [quantile(sizes, 0.5), quantile(sizes, 0.95), small / max(found, 1)],
    }


SUMMARIES: dict[str, Callable[[Tally], dict[str, Any]]] = {
    "right": of_answers,
    "wrong": of_answers,
    "singles": of_singles,
    "pairs": of_pairs,
    "every-pair": of_pairs,
}

if __name__ == "__main__":
    main()
