"""Which keys may be seen, against matrices drawn by hand: ■ may be seen, · may not."""

import numpy as np
import pytest

from headwork import trace

TWO_MASKS = [np.array([[True, False]]), np.array([[0.0], [-np.inf]])]
PADDING = np.array([[True, True, False], [True, False, False]])

MASKS = [
    # name, Tq, Tk, options, what may be seen: one row for each query
    ("causal, square", 3, 3, {"causal": True}, "■·· ■■· ■■■"),
    ("causal, lower right: last query, last key", 2, 4, {"causal": True}, "■■■· ■■■■"),
    ("causal, upper left", 2, 4, {"causal": "upper_left"}, "■··· ■■··"),
    ("causal, said aloud", 2, 4, {"causal": "lower_right"}, "■■■· ■■■■"),
    ("causal, more queries than keys", 4, 2, {"causal": True}, "·· ·· ■· ■■"),
    ("upper left, more queries than keys", 4, 2, {"causal": "upper_left"}, "■· ■■ ■■ ■■"),
    ("one new query behind a cache of three", 1, 4, {"causal": True}, "■■■■"),
    ("an offset places the first query", 2, 4, {"causal": True, "offset": 1}, "■■·· ■■■·"),
    ("a negative offset: before the first key", 2, 3, {"causal": True, "offset": -1}, "··· ■··"),
    ("an offset beyond the keys", 2, 3, {"causal": True, "offset": 9}, "■■■ ■■■"),
    ("itself and one before", 4, 4, {"window": (1, 0)}, "■··· ■■·· ·■■· ··■■"),
    ("one before and two after", 5, 5, {"window": (1, 2)}, "■■■·· ■■■■· ·■■■■ ··■■■ ···■■"),
    ("no bound to the left", 3, 3, {"window": (None, 0)}, "■·· ■■· ■■■"),
    ("no bound to the right", 3, 3, {"window": (0, None)}, "■■■ ·■■ ··■"),
    ("no bound at all", 2, 3, {"window": (None, None)}, "■■■ ■■■"),
    ("a window moves with the queries", 2, 4, {"window": (1, 0)}, "·■■· ··■■"),
    ("a window and an offset", 2, 4, {"window": (1, 0), "offset": 0}, "■··· ■■··"),
    ("a window and causal: both must allow it", 3, 3, {"window": (1, 1), "causal": True}, "■·· ■■· ·■■"),
    ("lengths", 2, 4, {"lengths": 3}, "■■■· ■■■·"),
    ("lengths and causal: last query, last valid key", 2, 4, {"lengths": 3, "causal": True}, "■■·· ■■■·"),
    ("lengths and causal, upper left", 2, 4, {"lengths": 3, "causal": "upper_left"}, "■··· ■■··"),
    ("lengths, causal and a window", 2, 5, {"lengths": 4, "causal": True, "window": (1, 0)}, "·■■·· ··■■·"),
    ("no valid key", 2, 2, {"lengths": 0}, "·· ··"),
    ("a boolean mask", 2, 2, {"mask": [[True, False], [False, True]]}, "■· ·■"),
    ("-inf forbids, no other number does", 2, 2, {"mask": [[0.0, "-inf"], [-1e9, 2.0]]}, "■· ■■"),
    ("one row for all queries", 2, 3, {"mask": [[True, False, True]]}, "■·■ ■·■"),
    ("one number for all keys", 2, 3, {"mask": [[True], [False]]}, "■■■ ···"),
    ("two masks: both must allow it", 2, 2, {"mask": TWO_MASKS}, "■· ··"),
    ("a mask and causal", 3, 3, {"mask": [[True, False, True]], "causal": True}, "■·· ■·· ■·■"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "Tq", "Tk", "options", "drawn"), MASKS, ids=[row[0] for row in MASKS])
def test_what_may_be_seen(name, Tq, Tk, options, drawn):
    work = trace(np.zeros((Tq, 2)), np.zeros((Tk, 2)), np.zeros((Tk, 1)), **options)
    assert drawing(work.allowed) == drawn
    assert (np.isneginf(work.masked) == ~work.allowed).all()


PER_BATCH = [
    ({"lengths": [1, 3], "causal": True}, "··· ■·· | ■■· ■■■"),
    ({"lengths": [1, 3]}, "■·· ■·· | ■■■ ■■■"),
    ({"offset": [0, 1], "causal": True}, "■·· ■■· | ■■· ■■■"),
    ({"offset": [0, 1], "window": (0, 0)}, "■·· ·■· | ·■· ··■"),
    ({"lengths": [2, 3], "offset": 1, "causal": True}, "■■· ■■· | ■■· ■■■"),
    ({"mask": PADDING[:, None, None, :]}, "■■· ■■· | ■·· ■··"),
]


@pytest.mark.parametrize(("options", "drawn"), PER_BATCH)
def test_each_batch_element_has_its_own_lengths_and_offset(options, drawn):
    arrays = np.zeros((2, 1, 2, 2)), np.zeros((2, 1, 3, 2)), np.zeros((2, 1, 3, 1))
    seen = trace(*arrays, **options).allowed[:, 0]
    assert " | ".join(map(drawing, seen)) == drawn


def drawing(allowed: np.ndarray) -> str:
    return " ".join("".join("■" if seen else "·" for seen in row) for row in allowed)


def test_embeddings_in_a_batch_take_a_mask_in_the_shape_of_their_scores():
    x, w = np.zeros((2, 3, 4)), np.zeros((4, 4))
    keep = np.random.default_rng(0).random((2, 3, 3)) < 0.5
    for mask in (keep, keep[:, None]):
        work = trace(None, x=x, w_query=w, w_key=w, mask=mask)
        assert work.scores.shape == (2, 3, 3)
        np.testing.assert_array_equal(work.allowed, keep)


def test_minus_infinity_forbids_and_is_not_added():
    work = trace(np.zeros((1, 1)), np.zeros((2, 1)), mask=[[2.0, -np.inf]])
    assert work.bias.tolist() == [[2, 0]]
    assert work.biased.tolist() == [[2, 0]]
    assert work.masked.tolist() == [[2, -np.inf]]


def test_masks_are_added_up():
    masks = [np.array([[1.0, 2.0]]), np.array([[10.0], [20.0]]), np.array([[True, False], [True, True]])]
    work = trace(np.zeros((2, 1)), np.zeros((2, 1)), mask=masks)
    assert work.bias.tolist() == [[11, 12], [21, 22]]
    assert work.masked.tolist() == [[11, -np.inf], [21, 22]]
