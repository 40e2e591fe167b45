"""Small calls that show how a function behaves, whatever mistakes are in it.

Nothing here looks at whether the numbers are right. Each value row holds a 1 in a place of its own, so that
the output is the weights; what counts is which entries move, and which way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Array
from ..errors import CannotRunError
from .asking import Ask, CannotAskError, call_of
from .calls import Call, Outcome, Subject
from .layouts import inside
from .ways import Ways

GONE = 1e-6  # a weight below this is none
MOST_TIMEOUTS = 2
MOST_CRASHES = 8  # each takes a new process; a kernel may crash on layouts and dtypes that it does not take
MOST_CALLS = 400  # a function that is recognised takes 15 to 50, one that takes only few sizes 150


@dataclass(frozen=True)
class ProbeSizes:
    """Sizes of the calls that show how arrays lie: no two of them, or of their products, agree if that will
    do.

    T  tokens where there are as many queries as keys; Tq < Tk for others
    """

    B: int
    H: int
    Hkv: int
    T: int
    Tq: int
    Tk: int
    D: int


# the first is tried first: small and unlike anything; then one head, one sample, as many tokens as columns,
# and what kernels ask for
PROBE_SIZES = (
    ProbeSizes(7, 4, 2, 5, 3, 5, 8),
    ProbeSizes(7, 1, 1, 5, 3, 5, 8),
    ProbeSizes(1, 4, 2, 5, 3, 5, 8),
    ProbeSizes(7, 4, 2, 8, 3, 8, 8),
    ProbeSizes(2, 4, 2, 16, 16, 32, 64),
    ProbeSizes(2, 4, 2, 64, 64, 192, 128),
    ProbeSizes(2, 4, 2, 128, 128, 256, 64),
)


@dataclass
class Probe:
    """Calls the subject, counts the calls and keeps what was said where they failed."""

    subject: Subject
    calls: int = 0
    timeouts: int = 0
    crashes: int = 0
    said: dict[str, None] = field(default_factory=dict)  # what was said, each once, in order
    order: Array | None = None  # of the columns of weights, where values were found to stand elsewhere

    def outcome(self, call: Call) -> Outcome:
        """What comes of it. Raises CannotRunError where it keeps running out of time, or crashing."""
        if self.calls >= MOST_CALLS:
            raise CannotRunError(f"{MOST_CALLS} calls were tried, and it is still not clear how to call it.")
        outcome = self.subject.call(call)
        self.calls += 1
        if not outcome.is_fine:
            self.said[outcome.said or outcome.end] = None
        self.timeouts += outcome.end == "timed out"
        if self.timeouts >= MOST_TIMEOUTS:
            raise CannotRunError(f"it ran out of time on small inputs. {outcome.said}")
        self.crashes += outcome.end in ("crashed", "out of memory")
        if self.crashes >= MOST_CRASHES:
            how = "crashing" if outcome.end == "crashed" else "running out of memory"
            raise CannotRunError(f"it keeps {how} on small inputs. {outcome.said}")
        return outcome

    def ask(self, ways: Ways, ask: Ask) -> Outcome:
        """What comes of a call that asks this; the outcome says why where it cannot be asked."""
        try:
            return self.outcome(call_of(ways, ask))
        except CannotAskError as error:
            return Outcome("raised", str(error))

    def output(self, ways: Ways, ask: Ask) -> Array | None:
        """The output (B, H, Tq, Dv), None where there is none of that shape."""
        outcome = self.ask(ways, ask)
        return output_of(ways, ask, outcome)

    def runs(self, ways: Ways, ask: Ask) -> tuple[bool, str]:
        """Whether a call gives an output of the right shape, and otherwise what was said."""
        outcome = self.ask(ways, ask)
        if output_of(ways, ask, outcome) is not None:
            return True, ""
        shapes = ", ".join(str(array.shape) for array in outcome.outputs)
        return False, f"its output has shape {shapes}" if outcome.is_fine else outcome.said

    def weights(self, ways: Ways, ask: Ask) -> Array | None:
        """What share of each value row is in each output row, (B, H, Tq, Tk); None without an output."""
        Tk, Dv = ask.value.shape[2:]
        blocks = []
        for start in range(0, Tk, Dv):
            value = np.zeros(ask.value.shape)
            count = min(Dv, Tk - start)
            value[:, :, np.arange(start, start + count), np.arange(count)] = 1
            output = self.output(ways, replace(ask, value=value))
            if output is None:
                return None
            blocks.append(output[..., :count].astype(np.float64))
        weights = np.concatenate(blocks, axis=-1)
        return weights if self.order is None or len(self.order) != Tk else weights[..., self.order]


def order_of(weights: Array | None, ask: Ask) -> Array | None:
    """Which column of the weights goes with which key: the one whose logarithm follows that key's scores.

    None where the columns cannot be told apart: each must go with one key only.
    """
    if weights is None or not np.isfinite(weights).all():
        return None
    keys = np.repeat(ask.key, ask.sizes["H"] // ask.sizes["Hkv"], axis=1)
    scores = (ask.query @ keys.swapaxes(-1, -2)).reshape(-1, ask.sizes["Tk"])
    logs = np.log(np.abs(weights) + 1e-12).reshape(scores.shape)
    scores, logs = (x - x.mean(axis=1, keepdims=True) for x in (scores, logs))
    with np.errstate(all="ignore"):
        follows = np.abs(np.corrcoef(scores.T, logs.T)[: scores.shape[1], scores.shape[1] :])
    if not np.isfinite(follows).all():
        return None
    order = np.asarray(follows.argmax(axis=1))
    return order if len(set(order)) == len(order) else None


def axes_inside(ways: Ways) -> str:
    """The letters of B, H, T and D that the function's inputs have, joined or not."""
    layout = ways.layouts.get("qkv") or ways.layouts["query"]
    return layout.replace("E", "HD").replace("F", "HD")


def output_of(ways: Ways, ask: Ask, outcome: Outcome) -> Array | None:
    """The output of a call as (B, H, Tq, Dv), None where it has another shape or is not there."""
    names = ways.returns.get(ask.want) or ways.returns.get("", ("output",))
    if not outcome.is_fine or "output" not in names or len(outcome.outputs) <= names.index("output"):
        return None
    sizes = ask.sizes
    return fitting(outcome.outputs[names.index("output")], ways.layouts["output"], sizes, "BHTD")


def fitting(array: Array, layout: str, sizes: dict[str, int], axes: str) -> Array | None:
    """The array inside, (B, H, …) by `axes`, None where its shape is another one."""
    letters = {**sizes, "T": sizes["Tq"], "Q": sizes["Tq"], "K": sizes["Tk"], "D": sizes["Dv"]}
    B, H = sizes["B"], sizes["H"]
    full = layout.replace("E", "HD")
    if "H" not in full and "B" in full:  # heads were handed over as batch, see asking.folded
        letters |= {"B": B * H, "H": 1}
    elif "B" not in full:
        letters |= {"H": B * H, "B": 1}
    letters |= {"E": letters["H"] * letters["D"], "1": 1}
    if array.shape != tuple(letters[axis] for axis in layout):
        return None
    array = inside(array, layout, letters["H"], axes)
    return array.reshape(B, H, *array.shape[2:])


def mild(seed: int, B: int, H: int, Hkv: int, Tq: int, Tk: int, D: int) -> Ask:
    """Query and key whose scaled scores lie about 2, a bit apart: every weight matters, and none is 0."""
    random = np.random.RandomState(seed)
    level = np.sqrt(2 / np.sqrt(D))

    def draw(heads: int, T: int) -> Array:
        return np.asarray(level * (1 + 0.4 * (2 * random.random_sample((B, heads, T, D)) - 1)))

    value = 2 * random.random_sample((B, Hkv, Tk, D)) - 1
    return Ask(query=draw(H, Tq), key=draw(Hkv, Tk), value=value)
