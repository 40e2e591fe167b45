"""What the outputs of a call are: by their names where they have some, else by their shapes."""

from __future__ import annotations

from .asking import Ask
from .calls import Outcome
from .layouts import shape_in
from .ways import Ways

NAMES = {
    "output": "output out o attn_output context context_layer result y attention_output",
    "weights": "weights attn_weights attention_weights probs attn_probs attention attn p w attentions",
    "logsumexp": "logsumexp lse softmax_lse log_sum_exp l",
}
STEPS = {name: step for step, names in NAMES.items() for name in names.split()}
LAYOUTS = {
    "weights": ("BHQK", "BQHK", "HQK", "BQK", "QK", "HBQK", "QHK"),
    "logsumexp": ("BHQ", "BQH", "HQ", "QH", "BQ", "Q", "BHQ1", "BQH1", "HQ1", "BQ1", "Q1"),
}


def outputs_named(ways: Ways, ask: Ask, outcome: Outcome) -> tuple[tuple[str, ...], dict[str, str]]:
    """What the outputs are, in order ("-" for anything else), and how weights and logsumexp lie."""
    sizes = ask.sizes
    sizes |= {"T": sizes["Tq"], "D": sizes["Dv"], "Q": sizes["Tq"], "K": sizes["Tk"]}
    tables = {"output": (ways.layouts["output"],), **LAYOUTS}
    steps: list[str] = []
    layouts: dict[str, str] = {}
    for array, name in zip(outcome.outputs, outcome.names or ("",) * len(outcome.outputs), strict=True):
        called = STEPS.get(name.lower(), "")
        for step in filter(None, (called, *tables)):
            fits = (
                word for word in tables[step] if _fits(word, ways) and array.shape == shape_in(word, sizes)
            )
            word = "" if step in steps or array.dtype.kind in "bi" else next(fits, "")
            if word:
                layouts[step] = word
                break
        steps.append(step if word else "-")
    return tuple(steps), {step: word for step, word in layouts.items() if step != "output"}


def _fits(word: str, ways: Ways) -> bool:
    """Whether it has the batch and head axes that the data have."""
    word, data = word.replace("E", "HD"), ways.layouts["output"].replace("E", "HD")
    return all((letter in word) == (letter in data) for letter in "BH")
