"""What the documents say was measured is what was recorded, and scripts/measured_pages.py adds up rightly."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("measured_pages", ROOT / "scripts" / "measured_pages.py")
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)

STALE = "is stale. Run: python scripts/measured_pages.py"


def test_the_page_by_mistake_is_what_was_recorded():
    is_same = pages.BY_MISTAKE.read_text(encoding="utf-8") == pages.by_mistake(pages.record("singles"))
    assert is_same, f"docs/diagnosis-by-mistake.md {STALE}"


def test_the_table_is_what_was_recorded():
    text = pages.with_table(pages.DIAGNOSIS, pages.measured())
    assert pages.DIAGNOSIS.read_text(encoding="utf-8") == text, f"docs/diagnosis.md {STALE}"


def test_the_table_of_checks_is_what_was_recorded():
    text = pages.with_table(pages.CHECKING, pages.checked())
    assert pages.CHECKING.read_text(encoding="utf-8") == text, f"docs/checking.md {STALE}"


def test_the_record_adds_up():
    report = pages.record("singles")
    mistakes = report["counts"]["mistakes"].values()
    for name in ("drawn", "found", "named"):
        assert sum(one.get(name, 0) for one in mistakes) == report["summary"][name]
    assert all(one.get("found", 0) <= one.get("drawn", 0) for one in mistakes)


def test_a_row_by_hand():
    mistake = next(m for topic in pages.TOPICS for m in topic.mistakes if not m.convention)
    one = {"drawn": 5, "found": 4, "named": 3, "set": {"1": 2, "10": 1, "2": 1}, "bits": {"7": 1}}
    assert pages.row(mistake, one) == (mistake.id, "5", "4", "3", "1, 10", "7")
    assert pages.row(mistake, {"not drawn": 2}) == (mistake.id, "none", "", "", "", "")
    alone = {"drawn": 2, "found": 2, "named": 2, "set": {"1": 2}}
    assert pages.row(mistake, alone) == (mistake.id, "2", "2", "2", "1", "")


# part, whole, said
SHARES = [(10, 10, "100 %"), (9999, 10000, "99.9 %"), (1, 3, "33.3 %"), (0, 4, "0.0 %")]


@pytest.mark.parametrize(("part", "whole", "said"), SHARES)
def test_only_all_of_it_is_100_percent(part, whole, said):
    assert pages.percent(part, whole) == said


# seeds, command
COMMANDS = [
    ([0, 5000, 1], "python diagnosis.py right --count 5000"),
    ([7, 757, 10], "python diagnosis.py right --count 75 --first 7 --stride 10"),
]


@pytest.mark.parametrize(("seeds", "said"), COMMANDS)
def test_the_command_gives_the_record_again(seeds, said):
    assert pages.command({"run": "right", "seeds": seeds}) == said
