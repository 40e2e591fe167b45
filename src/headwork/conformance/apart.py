"""A Python process of its own: what is sent to it and heard of it, and its end when it uses too much.

It is started afresh and not forked: CUDA, threads and locks do not survive a fork.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any

from .endings import LINE_LOST, EndedError, place_in, signal_words
from .memory import resident, resident_group
from .printed import Printed
from .wire import GarbledError, Inbox, packed

# -P: a json.py in the working folder is not our json. -u: what is printed before a crash is not lost.
START = (
    "import sys; sys.path[:] = sys.argv[2].split('\\n'); "
    "from headwork.conformance.worker import main; main(int(sys.argv[1]))"
)
POLL = 0.02  # seconds between two looks at memory
GRACE = 0.3  # seconds to say where it hangs
CHUNK = 1 << 20
DUMP = re.compile(r"(?:Fatal Python error: .*|Current thread 0x\w+ .*|Stack \(most recent call first\):)")
FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


class Apart:
    """One process. `ask` sends a message and waits for the answer; any failure ends the process."""

    def __init__(self, *, memory: int, whole_group: bool = False) -> None:
        self._memory = memory
        self._resident = resident_group if whole_group else resident
        theirs, self._alive = os.pipe()
        command = [sys.executable, "-P", "-u", "-c", START, str(theirs), "\n".join(map(str, sys.path))]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            pass_fds=(theirs,),
            start_new_session=True,
        )
        os.close(theirs)
        self.pid = self._process.pid
        self._to, self._from, self._said = (
            stream.fileno()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
            if stream
        )
        self._selector = selectors.DefaultSelector()
        for line in (self._to, self._from, self._said):
            os.set_blocking(line, False)
        for line in (self._from, self._said):
            self._selector.register(line, selectors.EVENT_READ)
        self._outbox: list[memoryview] = []
        self._inbox = Inbox()
        self._begin_printing()

    # --- a question and its answer ----------------------------------------------------------------

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message without waiting for the answer: what there is room for goes at once."""
        self._outbox = packed(message)
        self._begin_printing()
        self._selector.register(self._to, selectors.EVENT_WRITE)
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # whoever waits for the answer sees that
            self._push()

    def has_spoken(self) -> bool:
        """Whether something came back that nobody has read; never waits."""
        return any(key.fd == self._from for key, _ in self._selector.select(0))

    def answer(self, seconds: float) -> dict[str, Any]:
        """Wait for the answer to what was sent. Raises EndedError; the process is gone then."""
        try:
            return self._answer(seconds)
        except BaseException:  # Ctrl-C, too: it must not run on
            self.kill()
            raise

    def _answer(self, seconds: float) -> dict[str, Any]:
        deadline, look = monotonic() + seconds, monotonic() + POLL
        most = self._resident(self.pid) + self._memory
        while True:
            message = self._turn(POLL)
            if message is not None:
                self._turn(0)  # what was printed before the answer is there already
                return message
            if (now := monotonic()) > deadline:
                raise self._stopped("timed out", f"It gave no answer within {seconds:g} s")
            if now > look:
                look = now + POLL
                if self._resident(self.pid) > most:
                    said = f"It used over {self._memory / 2**30:.3g} GiB of memory and was stopped"
                    raise self._stopped("out of memory", said)
                if self._process.poll() is not None:
                    raise self._ended()

    def _turn(self, wait: float) -> dict[str, Any] | None:
        """Read and write what is ready now; the answer, if it is whole."""
        message = None
        for key, _ in self._selector.select(wait):
            if key.fd == self._to:
                self._write()
            elif key.fd == self._said:
                self._hear()
            else:
                message = self._read()
        return message

    def _write(self) -> None:
        try:
            self._push()
        except BrokenPipeError:
            raise self._ended() from None

    def _push(self) -> None:
        sent = os.write(self._to, self._outbox[0][:CHUNK])
        self._outbox[0] = self._outbox[0][sent:]
        self._outbox = [chunk for chunk in self._outbox if chunk]
        if not self._outbox:
            self._selector.unregister(self._to)

    def _read(self) -> dict[str, Any] | None:
        part = os.read(self._from, CHUNK)
        if not part:
            raise self._ended()
        try:
            return self._inbox.add(part)
        except GarbledError:
            raise self._stopped(
                "crashed", "It wrote into a file descriptor that is not its own: the line to the checker"
            ) from None

    # --- what it prints ---------------------------------------------------------------------------

    def _begin_printing(self) -> None:
        self._printed = Printed()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def _hear(self) -> None:
        part = os.read(self._said, CHUNK)
        if part:
            self._printed.write(self._decoder.decode(part))
        else:
            self._selector.unregister(self._said)

    @property
    def printed(self) -> str:
        """What it printed since the last message was sent, without what Python says when it crashes."""
        text = self._printed.text
        return text[: found.start()] if (found := DUMP.search(text)) else text

    def _place(self) -> str:
        """` (kernel.py, line 7)`: where it was, as its last words say; or nothing."""
        text = self._printed.text
        found = DUMP.search(text)
        return (
            place_in([(file, int(line)) for file, line in FRAME.findall(text[found.start() :])])
            if found
            else ""
        )

    # --- its end ----------------------------------------------------------------------------------

    def _ended(self) -> EndedError:
        """It ended by itself, or closed its line: what to say."""
        self._listen_until_dead(GRACE)
        status = self._process.poll()
        if status is None or status == LINE_LOST:
            return self._stopped("crashed", "It closed file descriptors that are not its own")
        if status < 0:
            return EndedError("crashed", f"It crashed: {signal_words(-status)}{self._place()}.")
        return EndedError(
            "crashed", f"It ended its own process, with exit status {status} (as os._exit does)."
        )

    def _stopped(self, end: str, said: str) -> EndedError:
        """End it, and have it say where it was: Python's fault handler answers even where C never returns."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGABRT)
        self._listen_until_dead(GRACE)
        return EndedError(end, f"{said}{self._place()}.")

    def _listen_until_dead(self, seconds: float) -> None:
        deadline = monotonic() + seconds
        while self._process.poll() is None and monotonic() < deadline:
            self._hear_all(0.005)
        self._hear_all(0)

    def _hear_all(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            if key.fd == self._said:
                self._hear()
            else:
                self._selector.unregister(key.fd)

    def kill(self) -> None:
        """End it and every process that it started in its group, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        deadline = monotonic() + 5  # one that hangs in a driver ends when that lets it
        while self._process.poll() is None and monotonic() < deadline:
            sleep(0.002)
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1
