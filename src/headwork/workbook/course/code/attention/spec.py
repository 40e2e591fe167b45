"""What attention means, in plain loops over lists."""

from math import exp, sqrt


def attention(query, key, value):
    """softmax(query keyᵀ / √d_k) value"""
    output = []
    for q in query:
        scaled = []
        for k in key:
            score = sum(q[c] * k[c] for c in range(len(q)))
            scaled.append(score / sqrt(len(q)))
        row_max = max(scaled)
        exponentials = [exp(s - row_max) for s in scaled]
        row_sum = sum(exponentials)
        weights = [e / row_sum for e in exponentials]
        output.append([sum(w * v[c] for w, v in zip(weights, value)) for c in range(len(value[0]))])
    return output
