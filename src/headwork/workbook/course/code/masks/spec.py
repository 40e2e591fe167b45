"""What attention with a mask means, in plain loops over lists."""

from math import exp, sqrt


def masked_attention(query, key, value, mask):
    """Attention in which query i sees key j where the mask is True; zeros where it sees nothing."""
    output = []
    for i, q in enumerate(query):
        row = mask[i] if len(mask) > 1 else mask[0]
        scaled = {}
        for j, k in enumerate(key):
            if row[j]:
                scaled[j] = sum(q[c] * k[c] for c in range(len(q))) / sqrt(len(q))
        row_max = max(scaled.values(), default=0.0)
        exponentials = {j: exp(s - row_max) for j, s in scaled.items()}
        row_sum = sum(exponentials.values())
        output.append(
            [sum(e / row_sum * value[j][c] for j, e in exponentials.items()) for c in range(len(value[0]))]
        )
    return output
