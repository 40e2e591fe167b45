"""Somebody's function in a process of its own: a Subject that no crash, hang or print can get through."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from numpy import ndarray

from .. import errors
from ..errors import CannotRunError, HeadworkError
from .apart import Apart
from .calls import Call, Outcome, Signature
from .endings import EndedError
from .limits import Limits
from .targets import Target
from .wire import outcome_from, signature_from


class Runner:
    """A Subject in its own process, started at once; `signature` and `call` wait for it.

    A process that crashed, hung or used too much is ended, and the next call gets a fresh one.
    A call that may compile has the longer limit: one with `first`, and the first of its shapes and dtypes
    where a compiler such as JAX's is loaded or the device is no CPU.
    """

    def __init__(self, target: Target, limits: Limits | None = None) -> None:
        self.name = target.name or Path(target.place).name  # until its own is known
        self._target = target
        self._limits = limits or Limits()
        self._signature: Signature | None = None
        self._compiles = False
        self._seen: set[object] = set()
        self._process: Apart | None = None
        self._is_loaded = False
        self._start()

    def _start(self) -> Apart:
        self._process = Apart(memory=self._limits.memory, whole_group=self._target.kind == "command")
        self._process.send({"load": self._target})
        self._is_loaded = False
        self._seen = set()
        return self._process

    def is_loading(self) -> bool:
        """Whether its process is still loading the function, so that a call would wait."""
        return not self._is_loaded and self._process is not None and not self._process.has_spoken()

    @property
    def signature(self) -> Signature:
        """What can be seen of the function.

        Raises HeadworkError where the target is not what it should be, and CannotRunError where its file
        raises, hangs or crashes when it is imported.
        """
        if self._signature is None:
            self._loaded()
        assert self._signature is not None
        return self._signature

    def call(self, call: Call) -> Outcome:
        """Call it once; never raises for what the function does. Raises as `signature` until it is loaded."""
        try:
            process = self._loaded()
        except CannotRunError as error:
            if self._signature is None:
                raise
            outcome: Outcome = error.outcome
            return replace(outcome, said=f"It could not be loaded again. {outcome.said}")
        process.send({"call": call})
        try:
            outcome = outcome_from(self._answer(process, self._seconds(call)).get("outcome"))
        except EndedError as error:
            return Outcome(error.end, error.said, printed=process.printed)
        return replace(outcome, printed=process.printed)

    def _loaded(self) -> Apart:
        process = self._process or self._start()
        if not self._is_loaded:
            try:
                answer = self._answer(process, self._limits.load_seconds)
            except EndedError as error:
                raise _cannot_run(Outcome(error.end, error.said, printed=process.printed)) from None
            self._take_in(process, answer)
        return process

    def _take_in(self, process: Apart, answer: dict[str, Any]) -> None:
        """What the worker says when it has loaded the target, or could not."""
        if "signature" not in answer:
            self.close()
        if "wrong" in answer:
            raise getattr(errors, str(answer.get("kind")), HeadworkError)(str(answer["wrong"]))
        if "raised" in answer:
            raise _cannot_run(replace(outcome_from(answer["raised"]), printed=process.printed))
        self._signature = signature_from(answer["signature"])
        self._compiles = bool(answer["compiles"])
        self._is_loaded = True

    def _answer(self, process: Apart, seconds: float) -> dict[str, Any]:
        try:
            return process.answer(seconds)
        except BaseException:
            self._process = None  # it is gone
            raise

    def _seconds(self, call: Call) -> float:
        """The limit of this call."""
        kind = _kind(call)
        is_first = call.first or ((self._compiles or call.library == "jax") and kind not in self._seen)
        self._seen.add(kind)
        return self._limits.first_seconds if is_first else self._limits.seconds

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cannot_run(outcome: Outcome) -> CannotRunError:
    return CannotRunError(f"It could not be run, since it cannot be loaded. {outcome.said}", outcome)


def _kind(call: Call) -> object:
    """What a compiler compiles for: shapes, dtypes, and the values of everything else."""
    arguments = (*enumerate(call.positional), *call.keywords.items())
    return (call.layout, call.library, call.device, *((place, _shape(value)) for place, value in arguments))


def _shape(value: Any) -> object:
    return (value.shape, value.dtype.name) if isinstance(value, ndarray) else repr(value)
