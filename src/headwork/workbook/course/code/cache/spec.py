"""What causal attention with a cache means, in plain loops over lists."""

from math import exp, sqrt


def attend_with_cache(query, new_key, new_value, past_key, past_value):
    """The outputs of the new tokens, which see the cache and, causally, one another."""
    output = []
    for i, q in enumerate(query):
        keys = [*past_key, *new_key[: i + 1]]
        values = [*past_value, *new_value[: i + 1]]
        scaled = [sum(a * b for a, b in zip(q, k)) / sqrt(len(q)) for k in keys]
        row_max = max(scaled)
        exponentials = [exp(s - row_max) for s in scaled]
        weights = [e / sum(exponentials) for e in exponentials]
        output.append([sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(values[0]))])
    return output
