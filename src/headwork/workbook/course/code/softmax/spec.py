"""What softmax means, in plain loops over lists."""

from math import exp


def softmax(scores):
    """Weights: e^s / Σ e^s along each row."""
    weights = []
    for row in scores:
        row_max = max(row)
        exponentials = [exp(score - row_max) for score in row]
        row_sum = sum(exponentials)
        weights.append([exponential / row_sum for exponential in exponentials])
    return weights
