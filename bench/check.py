"""The long runs of the check: `python bench/check.py RUN [--record] [--every N]`.

RUN is one of
  mutants            the programs of tests/mutants as functions of NumPy, and the zoo's of PyTorch
  singles-float64    a right implementation with each applicable mistake of the catalogue in it, in that dtype
  singles-float32    …
  singles-float16    …
  pairs              the same with 100 pairs of mistakes
  right              right implementations of the zoo: none may be accused
  sizes              torch's own function at 10,000 random sizes: no answer may be refused
  speed              how long one check takes here, in seconds

A mutant *survives* if nothing is said against it: right, and no convention, arithmetic or weakness found.
It is *named* if each mistake in it is among the readings of what explains its numbers, or the convention
that was found. What is not applicable, because no input of the battery can show it, is counted apart.

A run that was stopped goes on where it was; --every N takes every N-th one only; --record writes the
counts into
bench/results/check.json.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core instead: set before NumPy loads

import numpy as np
from long_run import FOLDERS, Run, Tally, added, go_on
from startup import machine

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "conformance")]

from mutants import MUTANTS
from mutants.in_catalogue import names
from zoo import RIGHT_FILES, entries, mutated

from headwork.conformance.adapter import recognise
from headwork.conformance.battery import Case, draw_battery, draw_case
from headwork.conformance.checking import check
from headwork.conformance.comparing import ask, packed
from headwork.conformance.entries import Entry
from headwork.conformance.here import Here
from headwork.conformance.interface import Interface
from headwork.conformance.judging import SAID_BY
from headwork.conformance.numbers import drawn, plain, wide
from headwork.conformance.proof import first_shown
from headwork.conformance.report import Check
from headwork.mistakes.mistake import Mistake

RESULTS = Path(__file__).parent / "results" / "check.json"
ROLES = mutated.CALLABLE - {"rope", "chunks"}  # what a check asks for
PAIRS = 100
SIZES = 10_000
NOT_ASKED = {"rope", "x", "x_key", "w_output", "w_query", "b_output", "b_query"}  # no features of a check
STATED = {"causal-bottom-right-for-top-left": {"causal": "upper_left"}}  # what makes it a mistake
OWN = {  # option: how the interface names the convention, and the one that Headwork has
    "mask_means": ("mask", "attend"),
    "causal": ("causal", "lower_right"),
    "window_counts": ("window", "others"),
    "empty_rows": ("empty rows", "zero"),
    "logsumexp": ("logsumexp", "natural"),
}


# --- what a check found ---------------------------------------------------------------------------


def found_in(result: Check) -> set[str]:
    """The ids of everything that the check names."""
    explanations = [each for report in result.features for each in report.explanations]
    explanations += [each for weakness in result.weaknesses for each in weakness.explanations]
    ids = {id for e in explanations for reading in e.readings for m in reading for id in m.ids}
    ids |= {mistake.id for each in explanations for mistake in each.beside}
    ids |= {report.arithmetic.id for report in result.features if report.arithmetic is not None}
    return ids | {rule.id for report in result.features for rule in report.gradients}


def is_said(result: Check, id: str) -> bool:
    """Whether a mistake is a convention that was found and said."""
    if id == "mask-added-as-numbers":
        supports = result.interface.supports
        return bool(supports("mask-float")) and not supports("mask-bool")
    name, own = OWN.get(SAID_BY.get(id, ""), ("", ""))
    return bool(name) and result.interface.conventions.get(name, own) != own


def judged(name: str, result: Check, wanted: Sequence[Sequence[str]], seconds: float) -> Tally:
    """The counts of one mutant; wanted: for each mistake in it the ids that it may be named by."""
    found = found_in(result)
    missing = [
        ids[0] for ids in wanted if not found & set(ids) and not any(is_said(result, id) for id in ids)
    ]
    said = any(is_said(result, id) for ids in wanted for id in ids)
    survives = result.verdict == "right" and not found and not said and not result.weaknesses
    return {
        "checked": 1,
        "named": int(not missing),
        "survivors": [name] if survives else [],
        "not named": [] if not missing else [f"{name}: {result.verdict}, not {', '.join(missing)}"],
        "seconds": [round(seconds, 2)],
    }


def timed(work: Callable[[], Check]) -> tuple[Check, float]:
    """The check, and the processor time that it took."""
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = work()
    return result, time.process_time() - start


# --- mistakes of the catalogue --------------------------------------------------------------------


@cache
def batteries(dtype: str) -> dict[str, tuple[Case, ...]]:
    """The inputs by layout, as a function of it is asked them."""
    cases = draw_battery(lambda feature: feature not in ("gradients", "dtypes"), (dtype,))
    return {"BHTD": cases, "BTE": tuple(replace(case, problem=packed(case).problem) for case in cases)}


def layout_for(mistakes: Sequence[Mistake], dtype: str) -> str:
    """The layout in which the battery can show these mistakes, "" where there is none."""
    plain = [mistake for mistake in mistakes if mistake.parameter is None]
    shown = (name for name, cases in batteries(dtype).items() if len(first_shown(cases, plain)) == len(plain))
    return next(shown, "")


def of_catalogue(mistakes: Sequence[Mistake], dtype: str) -> Tally:
    """The counts of a right implementation with these mistakes in it."""
    name = "+".join(mistake.id for mistake in mistakes)
    layout = layout_for(mistakes, dtype)
    if not layout:
        return {"not applicable": [name]}
    function = mutated.mutated(*(mistake.id for mistake in mistakes))
    if layout != "BTE":
        function = without(function, "heads", "kv_heads")
    result, seconds = timed(lambda: check(function, layout=layout, dtypes=(dtype,)))
    return judged(name, result, [mistake.ids for mistake in mistakes], seconds)


def without(function: Callable[..., Any], *options: str) -> Callable[..., Any]:
    """The function as one that does not take these options."""

    def attention(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    signature = inspect.signature(function)
    kept = [each for name, each in signature.parameters.items() if name not in options]
    attention.__signature__ = signature.replace(parameters=kept)
    attention.__name__ = function.__name__
    return attention


@cache
def singles() -> tuple[tuple[Mistake, ...], ...]:
    return tuple((mistake,) for mistake in mutated.singles(ROLES))


@cache
def pairs() -> tuple[tuple[Mistake, ...], ...]:
    return tuple(pair for pair in mutated.pairs(2 * PAIRS, roles=ROLES) if layout_for(pair, "float64"))[
        :PAIRS
    ]


# --- programs of the zoo --------------------------------------------------------------------------


@cache
def programs() -> tuple[tuple[entries.Entry, tuple[str, ...]], ...]:
    """The wrong programs, each with the ids that it may be named by."""
    known = {mutant.run.__name__: (*names(mutant), *mutant.same_numbers_as) for mutant in MUTANTS}
    found = [
        (entry, (*known.get(entry.name, ()), entry.mistake)) for entry in entries.wrong("wrong_numpy.py")
    ]
    return tuple(found + [(entry, (entry.mistake,)) for entry in entries.wrong("wrong_torch.py")])


def of_program(entry: entries.Entry, ids: tuple[str, ...]) -> Tally:
    """The counts of one program, by library."""
    if NOT_ASKED & set(entry.takes):
        return {entry.library: {"not applicable": [entry.name]}}
    inputs = entry.more.get("inputs")
    dtype = inputs(0).get("dtype") if inputs is not None else None
    words: dict[str, Any] = dict(entry.more.get("stated", {})) | ({"dtypes": (dtype,)} if dtype else {})
    words |= STATED.get(entry.mistake, {})
    result, seconds = timed(lambda: check(entry.function, layout=entry.layouts[0], **words))
    return {entry.library: judged(entry.name, result, [ids], seconds)}


@cache
def right_ones() -> tuple[entries.Entry, ...]:
    return tuple(entry for file in RIGHT_FILES for entry in _right(file))


def _right(file: str) -> Iterator[entries.Entry]:
    try:
        yield from entries.right(file)
    except ImportError:
        return


def of_right(entry: entries.Entry) -> Tally:
    """The counts of one right implementation."""
    target = entry.function if entry.kind != "onnx" else None
    if target is None:
        return {"not applicable": [entry.id]}
    result, seconds = timed(lambda: check(target))
    accused = [f"{entry.id}: {result.sentence}"] if not result.is_right else []
    return {"checked": 1, "accused": accused, "verdicts": {result.verdict: 1}, "seconds": [round(seconds, 2)]}


# --- torch at random sizes ------------------------------------------------------------------------


@cache
def torch_sdpa() -> tuple[Here, Interface]:
    """torch's own function, and how it is called."""
    from torch.nn.functional import scaled_dot_product_attention

    subject = Here(scaled_dot_product_attention)
    return subject, recognise(subject)


def of_size(seed: int) -> Tally:
    """The counts of one call of torch's own at sizes drawn from that seed: no right answer may be refused."""
    subject, interface = torch_sdpa()
    random = np.random.RandomState(seed)
    dtype = str(random.choice(interface.dtypes))
    most = {"B": 4, "H": 5, "Tq": 40, "Tk": 40, "D": 33, "Dv": 33}
    sizes = {letter: int(random.randint(1, count)) for letter, count in most.items()}
    options: dict[str, Any] = ({}, {"causal": True}, {"scale": 0.5})[int(random.randint(3))]
    numbers = (plain, wide)[int(random.randint(2))]
    entry = Entry(f"basic/{seed}", "", sizes | {"Hkv": sizes["H"]}, drawn(numbers, **options), seed=seed)
    case = draw_case(entry, dtype, alignment=interface.alignment)
    assert case is not None
    answer = ask(subject, interface, case)
    if answer.target is None:
        return {"not asked": [f"{seed}: {answer.refused or answer.outcome}"]}
    said = f"{seed} in {dtype}, {sizes}: {answer.error:.3g} where {answer.allowed:.3g} is allowed"
    return {"asked": 1, "by dtype": {dtype: 1}, "refused": [said] if answer.is_wrong else []}


# --- the runs -------------------------------------------------------------------------------------


def each(items: Callable[[], Sequence[Any]], work: Callable[..., Tally]) -> Callable[[range], Tally]:
    """What is done with a range of numbers: of items, in their order."""

    def do(numbers: range) -> Tally:
        counts: Tally = {}
        for number in numbers:
            counts = added(counts, work(items()[number]))
        return counts

    return do


RUNS: dict[str, tuple[Callable[[], Sequence[Any]], Callable[..., Tally]]] = {
    "mutants": (programs, lambda item: of_program(*item)),
    "singles-float64": (singles, lambda item: of_catalogue(item, "float64")),
    "singles-float32": (singles, lambda item: of_catalogue(item, "float32")),
    "singles-float16": (singles, lambda item: of_catalogue(item, "float16")),
    "pairs": (pairs, lambda item: of_catalogue(item, "float64")),
    "right": (right_ones, of_right),
    "sizes": (lambda: range(SIZES), of_size),
}


SHARE = {"sizes": 500}  # of a run that is done at a time, where it is not 4


TYPED = ("-m", "headwork", "check", "torch.nn.functional:scaled_dot_product_attention")


def speed() -> Tally:
    """Seconds of one check in a fresh process, medians of five in turns; the files are compiled before."""
    sdpa = "from torch.nn.functional import scaled_dot_product_attention as f"
    zoo = "from zoo.right_numpy import everything as f, either_mask as g"
    run = "from headwork import check; check(f)"
    ways = {
        "numpy, all features": ("-c", f"{zoo}; {run}"),
        "numpy, a typical function": ("-c", f"{zoo}; {run.replace('(f)', '(g)')}"),
        "torch, its import included": ("-c", f"{sdpa}; {run}"),
        "torch, on the command line": TYPED,
        "torch, the import alone": ("-c", sdpa),
    }
    took = [{name: _seconds_of(words) for name, words in ways.items()} for _ in range(1 + 5)]
    return {name: round(statistics.median(turn[name] for turn in took[1:]), 2) for name in ways}


def _seconds_of(words: Sequence[str]) -> float:
    left = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    left["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    start = time.perf_counter()
    command = [sys.executable, "-W", "ignore", *words]
    subprocess.run(command, check=True, env=left, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Do a run, or what is left of it, and print what it gives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", choices=[*RUNS, "speed"])
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    report: Tally = {"machine": machine()}
    if asked.run == "speed":
        report |= speed()
    else:
        items, work = RUNS[asked.run]
        folders = (*FOLDERS, "conformance")
        run = Run(
            f"check-{asked.run}",
            each(items, work),
            range(0, len(items()), asked.every),
            SHARE.get(asked.run, 4),
            folders,
        )
        go_on(run, processes=asked.processes)
        report |= run.report()
    print(json.dumps(report, indent=1, ensure_ascii=False))
    if asked.record:
        known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        known[asked.run] = report | ({"every": asked.every} if asked.every > 1 else {})
        RESULTS.write_text(
            json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
