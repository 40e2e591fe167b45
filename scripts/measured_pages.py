"""Write what the long runs gave: `python scripts/measured_pages.py`.

From bench/results/diagnosis-*.json: docs/diagnosis-by-mistake.md, and the table in docs/diagnosis.md; from
check.json there: the table in docs/checking.md. A test fails while they are not what this gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headwork.mistakes.catalogue import TOPICS
from headwork.mistakes.mistake import Mistake

ROOT = Path(__file__).resolve().parent.parent
DIAGNOSIS = ROOT / "docs" / "diagnosis.md"
CHECKING = ROOT / "docs" / "checking.md"
BY_MISTAKE = ROOT / "docs" / "diagnosis-by-mistake.md"
RESULTS = ROOT / "bench" / "results"
TABLE = re.compile(r"(?<=<!-- measured: scripts/measured_pages.py -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = """\
<!-- Written by scripts/measured_pages.py from bench/results/diagnosis-singles.json: run it again. -->

# How each mistake is diagnosed

Each mistake was made on random problems that have what it needs, mostly of 3 to 6 tokens, where it shows at
3 decimals: {drawn:,} draws of {count} mistakes, recorded by `python bench/diagnosis.py singles --record`.

- *found*: the mistake is among what `diagnose` says. *sure*: it is named; a convention is named as one. The
  others are facts that fit, because such numbers are too few or too plain ([diagnosis.md](diagnosis.md) says
  why); *bits* is the median of their evidence, where 10 (up to three tokens) or 13 would do.
- *set*: how many mistakes are told together, since they give the same numbers there: the median, the largest.

Found: {found:,} of {drawn:,}; sure: {named:,}, which is {share}. Where no draw is given, every number that
the mistake leaves is NaN.
"""


def main() -> None:
    """Write the pages."""
    made = (
        (BY_MISTAKE, by_mistake(record("singles"))),
        (DIAGNOSIS, with_table(DIAGNOSIS, measured())),
        (CHECKING, with_table(CHECKING, checked())),
    )
    for path, text in made:
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.name}: written")


def record(run: str) -> dict[str, Any] | None:
    """The report of a run, or None where it was not recorded."""
    path = RESULTS / f"diagnosis-{run}.json"
    report: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return report


def with_table(path: Path, lines: Iterable[str]) -> str:
    """The page with the table as it was recorded."""
    text, count = TABLE.subn(lambda _: "\n".join([*lines, ""]), path.read_text(encoding="utf-8"))
    assert count == 1, f"{path.name} has no place for the table"
    return text


# --- the table in docs/diagnosis.md ---------------------------------------------------------------


def measured() -> Iterator[str]:
    """One row for each run."""
    yield "| what | command, in `bench/` | result |"
    yield "|---|---|---|"
    for run, (what, result) in ROWS.items():
        report = record(run)
        if report is not None:
            yield f"| {what} | `{command(report)}` | {result(report)} |"


def command(report: dict[str, Any]) -> str:
    """What gives this report again."""
    start, stop, step = report["seeds"]
    options = {"count": len(range(start, stop, step)), "first": start, "stride": step}
    usual = {"first": 0, "stride": 1}
    said = "".join(f" --{name} {n}" for name, n in options.items() if usual.get(name) != n)
    return f"python diagnosis.py {report['run']}{said}"


def right(report: dict[str, Any]) -> str:
    """How many right answers were accused."""
    return f"{_of_answers(report)} called anything but right{_below(report['summary']['share, 95 %'])}"


def wrong(report: dict[str, Any]) -> str:
    """How many random answers were named, and how near the others came."""
    bits = values(report["counts"].get("bits of what is found", {}))
    kinds = len(report["counts"]["verdicts"])
    near = f"; of {len(bits)} that fit something, the most telling has {max(bits)} bits" if bits else ""
    return f"{_of_answers(report)} named{_below(report['summary']['share, 95 %'])}, of {kinds} kinds{near}"


def singles(report: dict[str, Any]) -> str:
    """How many mistakes were found, and named for sure."""
    return f"{report['summary']['mistakes']} mistakes, {_of_draws(report)}"


def pairs(report: dict[str, Any]) -> str:
    """The same for pairs."""
    how = report["summary"]["how"]
    simpler = f"; {how.get('simpler', 0):,} of them by fewer mistakes that give the same numbers"
    asked, apart, never = (
        report["summary"].get(name) for name in ("compatible pairs", "never together", "never shown")
    )
    unseen = (
        f"; of {asked:,} pairs {apart:,} could be made on no problem drawn, {never:,} showed on none"
        if asked
        else ""
    )
    return f"{_of_draws(report)}{simpler}{unseen}"


ROWS = {
    "right": ("right answers, 2 to 8 digits and every dtype", right),
    "wrong": ("random wrong answers, at least 3 × 3", wrong),
    "singles": ("single mistakes at 3 decimals", singles),
    "pairs": ("pairs of mistakes at 3 decimals", pairs),
    "every-pair": ("each compatible pair once", pairs),
}


def _of_answers(report: dict[str, Any]) -> str:
    failed = report["summary"]["failed"]
    return f"{report['summary']['of']:,} answers, {failed or 'none'}"


def _of_draws(report: dict[str, Any]) -> str:
    told = report["summary"]
    median, most, small = told["set: median, 95 %, at most 5"]
    found = f"{told['found']:,} found ({percent(told['found'], told['drawn'])})"
    sets = f"the set is {median}, in 95 % at most {most}, in {percent(round(small * 10**6), 10**6)} at most 5"
    return f"{told['drawn']:,} draws: {found}, {told['named']:,} of them sure; {sets}"


def _below(share: list[float]) -> str:
    return f" (95 %: below 1 in {1 / share[1]:,.0f})"


def percent(part: int, whole: int) -> str:
    """100 % for all of it, and for nothing less."""
    return "100 %" if part == whole else f"{min(100 * part / whole, 99.9):.1f} %"


# --- the table in docs/checking.md ----------------------------------------------------------------

CHECKED = {  # run of bench/check.py and part of it -> what was checked
    ("mutants", "numpy"): "wrong programs written by hand, NumPy",
    ("mutants", "torch"): "the same in PyTorch",
    ("singles-float64", ""): "mistakes of the catalogue, one at a time",
    ("singles-float32", ""): "",
    ("singles-float16", ""): "",
    ("pairs", ""): "two mistakes at once",
}


def checked() -> Iterator[str]:
    """What a check found in wrong functions, then what it left unnamed, and what it says of right ones."""
    runs = json.loads((RESULTS / "check.json").read_text(encoding="utf-8"))
    parts = [(key, what, _part(runs, *key)) for key, what in CHECKED.items() if key[0] in runs]
    yield "| `python bench/check.py …` | | checked | survivors | every mistake named |"
    yield "|---|---|--:|--:|--:|"
    for (run, _), what, counts in parts:
        named = f"{counts['named']} ({percent(counts['named'], counts['checked'])})"
        yield f"| `{run}` | {what} | {counts['checked']} | {len(counts['survivors'])} | {named} |"
    unnamed = [f"{run}: {each}" for (run, _), _, counts in parts for each in counts["not named"]]
    yield "\nNot named, and what was said instead:\n"
    yield from (f"- {each}" for each in unnamed)
    right, sizes, speed = (runs[name].get("counts", runs[name]) for name in ("right", "sizes", "speed"))
    yield f"\nRight functions (`right`): {right['checked']}, and {len(right['accused']) or 'none'} accused."
    yield f"torch's own function at {sizes['asked']:,} random sizes (`sizes`), in four dtypes: of its answers"
    yield f"{len(sizes['refused']) or 'none'} is refused. One check (`speed`), in seconds:"
    yield "; ".join(f"{what} {speed[what]:g}" for what in speed if what != "machine") + "."


def _part(runs: dict[str, Any], run: str, part: str) -> dict[str, Any]:
    counts: dict[str, Any] = runs[run]["counts"]
    return {"survivors": [], "not named": []} | (counts[part] if part else counts)


# --- docs/diagnosis-by-mistake.md -----------------------------------------------------------------


def by_mistake(report: dict[str, Any] | None) -> str:
    """The whole page."""
    assert report is not None, "singles were not recorded"
    told, found = report["summary"], report["counts"]["mistakes"]
    share = percent(told["named"], told["drawn"])
    head = HEAD.format(
        count=len(found), share=share, **{key: told[key] for key in ("drawn", "found", "named")}
    )
    lines = [head]
    for topic in TOPICS:
        rows = [row(mistake, found[mistake.id]) for mistake in topic.mistakes if mistake.id in found]
        lines += [f"## {topic.title}\n", *table(rows), ""] if rows else []
    return "\n".join(lines)


def table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Rows as a table of Markdown."""
    yield "| mistake | draws | found | sure | set | bits |"
    yield "|---|--:|--:|--:|--:|--:|"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def row(mistake: Mistake, one: dict[str, Any]) -> tuple[str, ...]:
    """What was found of one mistake."""
    name = f"{mistake.id} (convention)" if mistake.convention else mistake.id
    if "drawn" not in one:
        return (name, "none", "", "", "", "")
    sizes, bits = values(one.get("set", {})), values(one.get("bits", {}))
    together = f"{middle(sizes)}, {max(sizes)}" if sizes and max(sizes) > 1 else "1" if sizes else ""
    unsure = str(middle(bits)) if bits else ""
    return (name, str(one["drawn"]), str(one["found"]), str(one["named"]), together, unsure)


def values(counts: dict[str, int]) -> list[int]:
    """The values that were counted under their text, in order."""
    return [value for value in sorted(map(int, counts)) for _ in range(counts[str(value)])]


def middle(ordered: list[int]) -> int:
    """The lower median."""
    return ordered[(len(ordered) - 1) // 2]


if __name__ == "__main__":
    main()
