"""The long runs of bench/ can be stopped and go on, and their parts are added up once."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "bench" / "long_run.py"
_spec = importlib.util.spec_from_file_location("bench_long_run", PATH)
long_run = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = long_run  # its records are dataclasses, which look themselves up
_spec.loader.exec_module(long_run)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Ten seeds in parts of four, and the seeds that were worked, in order."""
    monkeypatch.setattr(long_run, "PROGRESS", tmp_path / "progress")
    seen = []

    def work(seeds):
        seen.extend(seeds)
        return {
            "answers": len(seeds),
            "kinds": {"even": sum(seed % 2 == 0 for seed in seeds)},
            "at": list(seeds),
        }

    return long_run.Run("trial", work, range(10), 4), seen


def test_the_parts_are_added_up(run, capsys):
    run, seen = run
    long_run.go_on(run, processes=1)
    report = run.report()
    assert seen == list(range(10))
    assert report["parts"] == [3, 3]
    assert report["counts"] == {"answers": 10, "kinds": {"even": 5}, "at": list(range(10))}
    assert "trial: 3 of 3 parts, about 0 min left" in capsys.readouterr().out


def test_a_run_that_was_stopped_does_only_what_is_left(run):
    run, seen = run
    long_run.go_on(run, shard=(1, 2), processes=1)  # parts 1 and 3
    assert seen == [0, 1, 2, 3, 8, 9]
    with (long_run.PROGRESS / "trial-1-of-2.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"run": "trial", "co')  # stopped while it wrote
    assert run.report()["parts"] == [2, 3]
    long_run.go_on(run, processes=1)
    assert seen[6:] == [4, 5, 6, 7]
    assert run.report()["counts"]["answers"] == 10
    long_run.go_on(run, processes=1)
    assert len(seen) == 10


def test_what_other_code_gave_does_not_count(run, monkeypatch):
    run, seen = run
    long_run.go_on(run, processes=1)
    monkeypatch.setattr(long_run, "fingerprint", lambda *folders: "other")
    assert run.report()["parts"] == [0, 3]
    long_run.go_on(run, processes=1)
    assert seen == [*range(10), *range(10)]


def test_tallies_are_added_key_by_key():
    assert long_run.added({"a": 1, "b": {"x": 2}}, {"b": {"x": 3, "y": 1}, "c": ["z"]}) == {
        "a": 1,
        "b": {"x": 5, "y": 1},
        "c": ["z"],
    }


def test_a_share_has_its_interval():
    """Wilson 1927: none of 100 is below 3.7 %, as the rule of three says: 3 of 100."""
    low, high = long_run.interval(0, 100)
    assert low == pytest.approx(0, abs=1e-12)
    assert high == pytest.approx(0.037, abs=0.001)
    assert long_run.interval(0, 0) == (0.0, 1.0)


def test_quantiles_of_counted_values():
    counts = {"1": 90, "2": 5, "10": 5}
    assert [long_run.quantile(counts, share) for share in (0.5, 0.95, 0.96, 1)] == [1, 2, 10, 10]
