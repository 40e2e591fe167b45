"""The mathematics: the steps of attention in order, the trace that keeps each, and what they tell."""
