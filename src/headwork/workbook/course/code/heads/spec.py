"""What several heads mean, in plain loops over lists."""

from math import exp, sqrt


def multi_head_attention(query, key, value, heads):
    """Attention in several heads, each on its own columns."""
    d_k, d_v = len(query[0]) // heads, len(value[0]) // heads
    output = []
    for q in query:
        row = []
        for head in range(heads):
            own = range(head * d_k, (head + 1) * d_k)
            scaled = [sum(q[c] * k[c] for c in own) / sqrt(d_k) for k in key]
            row_max = max(scaled)
            exponentials = [exp(s - row_max) for s in scaled]
            weights = [e / sum(exponentials) for e in exponentials]
            for c in range(head * d_v, (head + 1) * d_v):
                row.append(sum(w * v[c] for w, v in zip(weights, value)))
        output.append(row)
    return output
