"""The mutants as answers to the exercises in code: `python bench/code_mutants.py [--record] [--every N]`.

None may pass an exercise that asks for what it breaks. It is *named* if the record of the catalogue that is
the same rule is among what explains its numbers, *consistent* if it is and the numbers are too few to be
sure. Right programs are given too, and have to pass. --record writes the counts into
bench/results/code-mutants.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from startup import machine

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from mutants import RIGHT
from mutants.as_code import ANSWERS, file_text
from mutants.in_catalogue import names
from mutants.mutant import Mutant

from headwork.workbook.coding import CodeCheck, check_code
from headwork.workbook.tracks import track_named, tracks

RESULTS = Path(__file__).parent / "results" / "code-mutants.json"
# Of two parts, the last is what is left when the first is forgotten; a track has more parts.
ALSO = {"only-the-last-part-survives": ("only-last-part",)}
RIGHT_PROGRAMS = ("textbook", "loops")


def checked(folder: Path, track: str, program: str) -> CodeCheck:
    """The check of a program as the answer to a track."""
    file = folder / track_named(track).file_name
    file.write_text(file_text(track_named(track).function, track, program), encoding="utf-8")
    return check_code(track_named(track), file)


def outcome(check: CodeCheck, wanted: tuple[str, ...]) -> str:
    """passed, named, consistent, another name, no numbers or unexplained."""
    if check.is_right:
        return "passed"
    found = {name: each.is_sure for each in check.named for name in (*each.ids, *each.alike)}
    hits = [found[name] for name in wanted if name in found]
    if hits:
        return "named" if any(hits) else "consistent"
    if found:
        return "another name"
    has_numbers = any(result.got is not None for tried in check.tried for result in tried.results)
    return "unexplained" if has_numbers else "no numbers"


def wanted(mutant: Mutant) -> tuple[str, ...]:
    """The records of the catalogue that it may be named by on the cases of a track."""
    return (*names(mutant), *ALSO.get(mutant.id, ()))


def worked() -> float:
    """Seconds of processor time so far, those of the processes that the checks started among them."""
    return sum(os.times()[:4])


def main() -> None:
    """Run it, print each that is not named, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    asked = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for track, mutant in ANSWERS[:: asked.every]:
            before = worked()
            check = checked(Path(folder), track, mutant.id)
            seconds.append(worked() - before)
            came = outcome(check, wanted(mutant))
            counts[track, came] += 1
            if came != "named":
                found = [each.ids for each in check.named]
                print(f"{track:15} {mutant.id:50} {came}: {names(mutant)[0]}, found {found}", flush=True)
        right = {
            f"{one.id} on {track.id}": checked(Path(folder), track.id, one.id).is_right
            for one in RIGHT
            if one.id in RIGHT_PROGRAMS
            for track in tracks()
            if track.gives == "output"
        }
    by_track: dict[str, dict[str, int]] = {}
    for (track, came), count in sorted(counts.items()):
        by_track.setdefault(track, {})[came] = count
    result = {
        "answers": sum(counts.values()),
        "outcomes": dict(sorted(Counter(came for (_, came), n in counts.items() for _ in range(n)).items())),
        "by track": by_track,
        "right programs refused": [name for name, is_right in right.items() if not is_right],
        "median processor seconds": round(median(seconds), 2),
        "most processor seconds": round(max(seconds), 2),
        "machine": machine(),
    }
    print(json.dumps(result, indent=2, ensure_ascii=False))
    if asked.record:
        RESULTS.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
