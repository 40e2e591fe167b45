"""headwork doctor: what it says of this machine, of a broken engine, and of a place that cannot keep progress."""

import json
import platform
from pathlib import Path

import numpy as np
import pytest

from headwork.interfaces.cli import main
from headwork.interfaces.doctor import Finding, examined
from headwork.mechanism import engines, fast


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "progress.sqlite3"


def found(progress: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in examined(progress)}


def test_all_is_well_here(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "--progress", str(here)]) == 0
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["Python"]["found"].startswith(platform.python_version())
    assert findings["NumPy"]["found"] == np.__version__
    assert "agrees" in findings["Trial"]["found"]
    assert not here.exists()


def test_the_engine_says_why_it_is_numpy(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWORK_ENGINE", "numpy")
    engines.engine.cache_clear()
    try:
        assert found(here)["Engine"].found == "NumPy, in blocks: HEADWORK_ENGINE=numpy asks for it"
    finally:
        engines.engine.cache_clear()


def test_an_engine_that_computes_something_else_is_not_well(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = fast.attention
    monkeypatch.setattr(fast, "attention", lambda *arrays, **options: right(*arrays, causal=False))
    assert main(["doctor", "--progress", str(here)]) == 1
    assert "not well: causal attention is off by" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("a file that is no database", lambda place: place.write_bytes(b"not a database" * 100)),
        ("a folder in its place", lambda place: place.mkdir()),
    ],
)
def test_progress_that_cannot_be_kept_is_not_well(
    here: Path, capsys: pytest.CaptureFixture[str], what: str, make: object
) -> None:
    make(here)
    assert main(["doctor", "--progress", str(here)]) == 1, what
    said = " ".join(capsys.readouterr().out.split())
    assert "not well:" in said
    assert "--progress FILE" in said


def test_threads_say_where_their_number_comes_from(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert found(here)["Threads"].found == "3 (OMP_NUM_THREADS=3)"


def test_a_screen_reader_gets_no_signs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--plain", "--progress", str(here)]) == 0
    assert capsys.readouterr().out.isascii()
