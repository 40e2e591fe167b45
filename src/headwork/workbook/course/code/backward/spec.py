"""What the backward pass gives, in plain loops over lists: every path from an output back to an input."""

from math import exp, sqrt


def attention_backward(query, key, value, d_output):
    """The gradients of Σ d_output · output for query, key and value."""
    d_query, d_key, d_value = zeros(query), zeros(key), zeros(value)
    for i, q in enumerate(query):
        scaled = [sum(a * b for a, b in zip(q, k)) / sqrt(len(q)) for k in key]
        row_max = max(scaled)
        exponentials = [exp(s - row_max) for s in scaled]
        weights = [e / sum(exponentials) for e in exponentials]
        d_weights = [sum(d * c for d, c in zip(d_output[i], v)) for v in value]
        for j, k in enumerate(key):
            for c in range(len(value[0])):
                d_value[j][c] += weights[j] * d_output[i][c]
            # weight m changes with score j by w_m · ([m = j] − w_j)
            d_score = sum(d_weights[m] * weights[m] * ((m == j) - weights[j]) for m in range(len(key)))
            for c in range(len(q)):
                d_query[i][c] += d_score * k[c] / sqrt(len(q))
                d_key[j][c] += d_score * q[c] / sqrt(len(q))
    return d_query, d_key, d_value


def zeros(rows):
    """As many zeros, in the same shape."""
    return [[0.0] * len(row) for row in rows]
