"""The line that says how far a check is: on terminals, after a second, and gone at the end."""

import io
import time

import pytest

from headwork.interfaces import progress_line
from headwork.interfaces.progress_line import CLEAR, ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What is written while two inputs are asked."""
    monkeypatch.setattr(progress_line, "TICK", 0.01)
    monkeypatch.setenv("COLUMNS", "40")

    def run(stream, patience):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr(progress_line, "PATIENCE", patience)
        with ProgressLine("beginning") as progress:
            time.sleep(0.08)
            progress(0, 2, "a reason that is far too long to stand on one line of forty columns")
            time.sleep(0.08)
            progress(2, 2, "the end")
            time.sleep(0.08)
        return stream.getvalue()

    return run


def test_a_terminal_shows_it_on_one_line_and_clears_it(shown, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    written = shown(Terminal(), 0.0)
    lines = written.split(CLEAR)
    assert lines[0] == ""
    assert lines[-1] == ""
    assert {"beginning (0 s)", "the end (0 s)"} <= set(lines)
    assert any(line.startswith("1 of 2: a reason") for line in lines)
    assert max(map(len, lines)) < 40
    assert "\n" not in written


@pytest.mark.parametrize(
    ("stream", "term", "patience", "reason"),
    [
        (io.StringIO, "xterm", 0.0, "no terminal"),
        (Terminal, "dumb", 0.0, "one that cannot"),
        (Terminal, "xterm", 60.0, "before a second"),
    ],
)
def test_nothing_is_shown(shown, monkeypatch, stream, term, patience, reason):
    monkeypatch.setenv("TERM", term)
    assert shown(stream(), patience) == ""
