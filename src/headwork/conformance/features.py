"""What a function may offer, feature by feature, and what it must accept for it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UnknownNameError


@dataclass(frozen=True)
class Feature:
    """Something that a function may offer or not.

    Fields
    id     kebab-case; title: for a heading
    needs  what a function must accept or return to be asked for it, in words
    """

    id: str
    title: str
    needs: str


FEATURES: tuple[Feature, ...] = (
    Feature("basic", "Query, key and value", "arrays query, key and value; the output comes back"),
    Feature("scale", "A scale of one's own", "a number that multiplies the scores in place of 1/√D"),
    Feature("mask-bool", "A mask of true and false", "an array that says which query may see which key"),
    Feature("mask-float", "A mask that is added", "an array that is added to the scaled scores, −∞ to mask"),
    Feature("causal", "Causal", "a switch that hides later keys, or being causal always"),
    Feature("offset", "The first query's position", "a number, or one for each batch element"),
    Feature("window", "A window", "how many keys before and after its own position a query may see"),
    Feature("lengths", "Lengths", "the number of valid keys of each batch element, padding at the end"),
    Feature("grouped-heads", "Shared key/value heads", "fewer heads of key and value than of query"),
    Feature("softcap", "Softcap", "a number c: the scaled scores become c·tanh(s/c)"),
    Feature("alibi", "Biases by distance (ALiBi)", "a slope for each head"),
    Feature("sink", "Sinks", "one more logit for each head in the softmax"),
    Feature("logsumexp", "The logsumexp", "it comes back beside the output"),
    Feature("weights", "The weights", "they come back beside the output"),
    Feature("cache", "A key/value cache", "fewer queries than keys: the new tokens at the end"),
    Feature("dtypes", "Other dtypes", "arrays of more than one floating-point dtype"),
    Feature("gradients", "Gradients", "the output can be differentiated, as in PyTorch and JAX"),
)

_BY_ID = {feature.id: feature for feature in FEATURES}


def feature_named(id: str) -> Feature:
    """The feature of that id. Raises UnknownNameError, naming all of them."""
    if id not in _BY_ID:
        raise UnknownNameError(f"there is no feature called {id[:60]!r}. They are: {', '.join(_BY_ID)}.")
    return _BY_ID[id]
