"""What grouped heads mean, in plain loops over lists."""

from math import exp, sqrt


def grouped_attention(query, key, value):
    """Attention in which neighbouring query heads share a key/value head."""
    H, Hkv = len(query), len(key)
    output = []
    for h in range(H):
        shared = h * Hkv // H
        rows = []
        for q in query[h]:
            scaled = [sum(a * b for a, b in zip(q, k)) / sqrt(len(q)) for k in key[shared]]
            row_max = max(scaled)
            exponentials = [exp(s - row_max) for s in scaled]
            weights = [e / sum(exponentials) for e in exponentials]
            width = len(value[shared][0])
            rows.append([sum(w * v[c] for w, v in zip(weights, value[shared])) for c in range(width)])
        output.append(rows)
    return output
