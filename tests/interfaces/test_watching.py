"""Watching files: what counts as a save, which keys do what, and that the terminal is left as it was."""

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import headwork
from headwork.interfaces.watching import stamps, watch_files


class Script:
    """Keys as they are pressed, and what happens before each look: a key, or something to do."""

    are_there = True

    def __init__(self, *steps):
        self.steps = list(steps)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def wait(self, seconds):
        step = self.steps.pop(0) if self.steps else "q"
        if callable(step):
            step()
            return ""
        return step


@pytest.fixture
def files(tmp_path):
    for name in ("kernel.py", "helper.py"):
        (tmp_path / name).write_text("1")
    return [tmp_path / "kernel.py", tmp_path / "helper.py"]


def watched(files, *steps, act=None):
    """What was acted on, and the last status."""
    seen = []

    def remember(changed):
        seen.append([path.name for path in changed])
        return act(changed) if act else len(seen)

    return watch_files(lambda: files, remember, Script(*steps)), seen


def test_it_acts_at_once_and_q_ends_with_the_last_status(files, capsys):
    assert watched(files, "", "x", "q") == (1, [[]])


@pytest.mark.parametrize("key", ["\n", "\r", " ", "r"])
def test_a_key_asks_for_the_same_again(files, capsys, key):
    assert watched(files, key, "q") == (2, [[], []])


def test_a_save_acts_again_on_what_was_saved(files, capsys):
    status, seen = watched(files, "", lambda: files[1].write_text("22"), "", "", "q")
    assert (status, seen) == (2, [[], ["helper.py"]])
    assert "helper.py was saved, " in capsys.readouterr().out


def test_a_save_in_several_steps_counts_once(files, capsys):
    steps = (files[0].unlink, lambda: files[0].write_text("2"), lambda: files[0].write_text("333"), "", "")
    assert watched(files, *steps) == (2, [[], ["kernel.py"]])


def test_a_save_with_the_size_as_before_counts(files, capsys):
    def save():
        os.utime(files[0], ns=(10, 10))

    assert watched(files, save, "", "")[1] == [[], ["kernel.py"]]


def test_a_save_while_it_acts_counts(files, capsys):
    def act(changed):
        if not changed:
            files[0].write_text("4444")
        return 0

    assert watched(files, "", "", "", act=act)[1] == [[], ["kernel.py"]]


def test_the_screen_says_what_is_watched_and_which_keys_there_are(files, capsys):
    watched(files)
    assert (
        "Watching kernel.py and 1 file that it imports. Enter checks again, q ends."
        in capsys.readouterr().out
    )


def test_a_file_that_is_not_there_has_no_stamp(tmp_path):
    assert stamps([tmp_path / "none"]) == {tmp_path / "none": None}


# ---------------------------------------------------------------- in a real terminal

PROGRAM = """
import sys
from pathlib import Path
from headwork.interfaces.watching import watch_files
sys.exit(watch_files(lambda: [Path(sys.argv[1])], lambda changed: 7))
"""


# A test before may have loaded jax, which warns of every fork; the new process replaces itself at once.
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.parametrize(("key", "status"), [(b"q", 7), (b"\x04", 7), (b"\x03", -signal.SIGINT)])
def test_a_terminal_is_left_as_it_was(files, key, status):
    leader, follower = pty.openpty()
    before = termios.tcgetattr(follower)
    source = str(Path(headwork.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(files[0])], stdin=follower, stdout=follower, stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": source, "TERM": "xterm"}, preexec_fn=lambda: _own_terminal(follower),
    )  # fmt: skip
    try:
        while b"q ends." not in os.read(leader, 10_000):
            pass
        assert termios.tcgetattr(follower)[3] != before[3]  # single keys are read
        time.sleep(0.05)
        os.write(leader, key)
        assert process.wait(timeout=30) == status
        assert termios.tcgetattr(follower) == before
    finally:
        process.kill()
        process.wait()
        os.close(leader)
        os.close(follower)


def _own_terminal(follower):
    """Make it the terminal of the new process, so that Ctrl-C reaches it."""
    import fcntl

    os.setsid()
    fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
