"""What online softmax gives, in plain loops over lists: one key at a time, whatever the block."""

from math import exp, inf, sqrt


def online_attention(query, key, value, block):
    """Attention, with a running maximum, a running sum and a running total for each query."""
    output = []
    for q in query:
        row_max, row_sum, total = -inf, 0.0, [0.0] * len(value[0])
        for at in range(0, len(key), block):
            for k, v in zip(key[at : at + block], value[at : at + block]):
                score = sum(a * b for a, b in zip(q, k)) / sqrt(len(q))
                new_max = max(row_max, score)
                shrink, exponential = exp(row_max - new_max), exp(score - new_max)
                row_sum = row_sum * shrink + exponential
                total = [t * shrink + exponential * c for t, c in zip(total, v)]
                row_max = new_max
        output.append([t / row_sum for t in total])
    return output
