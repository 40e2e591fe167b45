"""One call of somebody's function in this process, and what came of it: shared by `here` and the worker."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from .calling import Arguments, arguments_of, changed, plainly, settings_of, weights_of
from .calls import Call, Outcome
from .differentiating import with_gradients
from .endings import EndedError, name_of, raised, words
from .kinds import NotArraysError, Output, TooLargeOutputError, outputs_of


def perform(
    function: Callable[..., Any], call: Call, *, let_through: tuple[type[BaseException], ...] = ()
) -> Outcome:
    """Call it once. Never raises, but for the exceptions of `let_through`.

    Where gradients are asked for and the function has none, `said` of the outcome says why.
    """
    said = ""
    try:
        arguments = arguments_of(call)
    except Exception as error:  # such as a device that is not there
        return Outcome("raised", f"Its arguments could not be made. {words(error)}", exception=name_of(error))
    try:
        with settings_of(call), weights_of(function, call):
            if call.cotangent is not None:
                result, said = with_gradients(function, call, arguments)
            else:
                result = plainly(function, call, arguments)
            outputs = _outputs(call, arguments, result.returned)
            places = tuple(changed(arguments, call.out))
    except let_through:
        raise
    except EndedError as error:
        return Outcome(error.end, error.said)
    except TooLargeOutputError as error:
        return Outcome("out of memory", str(error))
    except NotArraysError as error:
        return Outcome("not arrays", str(error))
    except BaseException as error:  # SystemExit, KeyboardInterrupt and their like are answers here, too
        return raised(error)
    return Outcome(
        "returned",
        said,
        outputs=tuple(output.array for output in outputs),
        names=tuple(output.name for output in outputs) if any(output.name for output in outputs) else (),
        kinds=tuple(output.kind for output in outputs),
        gradients=result.gradients,
        changed=places,
        seconds=result.seconds,
    )


def _outputs(call: Call, arguments: Arguments, returned: Any) -> list[Output]:
    if isinstance(returned, Coroutine):
        returned.close()  # else Python complains later that it was never awaited
    if not call.out:
        return outputs_of(returned)
    written = arguments.keywords[call.out]
    others = [part for part in _as_parts(returned) if part is not written]
    return outputs_of([written, *others])


def _as_parts(returned: Any) -> Iterable[Any]:
    return returned if isinstance(returned, tuple | list) else [returned]
