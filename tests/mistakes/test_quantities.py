"""Wrong ideas about single numbers: what each gives, worked by hand, and what is said about it."""

from math import e

import pytest

from headwork.mistakes.quantities import (
    MISQUANTITIES,
    QUANTITIES,
    Misquantity,
    mistaken,
    quantity_named,
    short,
)

RIGHT = [
    # quantity                sizes                                        number    source
    ("divisor",               {"d_k": 100},                                10,       "by hand"),
    ("dot-mean",              {"d_k": 64},                                 0,        "Vaswani et al. 2017"),
    ("dot-variance",          {"d_k": 64},                                 64,       "Vaswani et al. 2017"),
    ("dot-deviation",         {"d_k": 64},                                 8,        "by hand"),
    ("scaled-variance",       {"d_k": 64},                                 1,        "by hand: 64/8²"),
    ("scaled-deviation",      {"d_k": 64},                                 1,        "by hand: 8/8"),
    ("overscaled-variance",   {"d_k": 64},                                 1 / 64,   "by hand: 64/64²"),
    ("overscaled-deviation",  {"d_k": 64},                                 1 / 8,    "by hand"),
    ("head-width",            {"d_model": 64, "H": 4},                     16,       "by hand"),
    ("head-divisor",          {"d_model": 64, "H": 4},                     4,        "by hand"),
    ("head-variance",         {"d_model": 64, "H": 4},                     1,        "by hand: 16/4²"),
    ("row-total",             {},                                          1,        "by hand"),
    ("gap-ratio",             {"gap": 2},                                  e**2,     "by hand"),
    ("slope",                 {"w": 0.25},                                 0.1875,   "by hand"),
    ("score-rows",            {"Tq": 3, "Tk": 5, "d_k": 8},                3,        "by hand"),
    ("score-columns",         {"Tq": 3, "Tk": 5, "d_k": 8},                5,        "by hand"),
    ("output-columns",        {"Tq": 3, "Tk": 5, "d_k": 8, "d_v": 2},      2,        "by hand"),
    ("score-entries",         {"n": 1000},                                 10**6,    "by hand"),
    ("all-score-entries",     {"B": 2, "H": 4, "n": 10},                   800,      "by hand"),
    ("causal-entries", {"n": 4}, 10, "by hand: 1 + 2 + 3 + 4"),
    ("score-bytes",           {"n": 1000, "bytes": 4},                     4 * 10**6, "by hand"),
    ("growth",                {"factor": 2},                               4,        "by hand"),
    ("score-multiplications", {"Tq": 3, "Tk": 5, "d_k": 8},                120,      "by hand"),
    ("cache-bytes", {"layers": 2, "Hkv": 2, "d_k": 4, "n": 10, "bytes": 2}, 640,     "by hand"),
]  # fmt: skip

WRONG = [
    # quantity, sizes, answer, ids, source
    ("divisor", {"d_k": 4}, 4, ["divisor-d-k"], "by hand"),
    ("divisor", {"d_k": 64}, 32, ["divisor-half-d-k"], "by hand"),
    ("divisor", {"d_k": 4}, 16, ["divisor-squared"], "by hand"),
    ("divisor", {"d_k": 64}, 0.125, ["divisor-reciprocal"], "by hand"),
    ("divisor", {"d_k": 4, "d_model": 36}, 6, ["divisor-root-of-d-model"], "by hand"),
    ("divisor", {"d_k": 4, "Tk": 9}, 3, ["divisor-root-of-key-count"], "by hand"),
    ("divisor", {"d_k": 4, "d_v": 25}, 5, ["divisor-root-of-value-width"], "by hand"),
    ("dot-mean", {"d_k": 64}, 1, ["dot-mean-one"], "by hand"),
    ("dot-mean", {"d_k": 64}, 64, ["dot-mean-d-k"], "by hand"),
    ("dot-variance", {"d_k": 64}, 8, ["dot-variance-deviation"], "by hand"),
    ("dot-variance", {"d_k": 64}, 1, ["dot-variance-one"], "by hand"),
    ("dot-variance", {"d_k": 64}, 4096, ["dot-variance-squared"], "by hand"),
    ("dot-deviation", {"d_k": 64}, 64, ["dot-deviation-variance"], "by hand"),
    ("scaled-variance", {"d_k": 64}, 64, ["scaled-variance-d-k"], "by hand"),
    ("scaled-variance", {"d_k": 64}, 8, ["scaled-variance-root"], "by hand"),
    ("scaled-variance", {"d_k": 64}, 1 / 64, ["scaled-variance-inverse"], "by hand"),
    ("scaled-deviation", {"d_k": 64}, 8, ["scaled-deviation-root"], "by hand"),
    ("overscaled-variance", {"d_k": 64}, 1, ["overscaled-variance-one"], "by hand"),
    ("overscaled-variance", {"d_k": 64}, 0.125, ["overscaled-variance-deviation"], "by hand"),
    ("overscaled-variance", {"d_k": 64}, 1 / 4096, ["overscaled-variance-squared"], "by hand"),
    ("overscaled-deviation", {"d_k": 64}, 1 / 64, ["overscaled-deviation-variance"], "by hand"),
    ("head-width", {"d_model": 64, "H": 4}, 64, ["head-width-d-model"], "by hand"),
    ("head-width", {"d_model": 64, "H": 4}, 4, ["head-width-count"], "by hand"),
    ("head-width", {"d_model": 64, "H": 4}, 256, ["head-width-product"], "by hand"),
    ("head-divisor", {"d_model": 64, "H": 4}, 8, ["head-divisor-d-model"], "by hand"),
    ("head-divisor", {"d_model": 64, "H": 4}, 16, ["head-divisor-width"], "by hand"),
    ("head-divisor", {"d_model": 64, "H": 4}, 2, ["head-divisor-shared"], "by hand"),
    ("head-variance", {"d_model": 64, "H": 4}, 16, ["head-variance-width"], "by hand"),
    ("head-variance", {"d_model": 64, "H": 4}, 0.25, ["head-variance-share"], "by hand"),
    ("row-total", {}, 0, ["row-total-zero"], "by hand"),
    ("gap-ratio", {"gap": 3}, 3, ["gap-ratio-gap"], "by hand"),
    ("gap-ratio", {"gap": 3}, 8, ["gap-ratio-base-two"], "by hand"),
    ("gap-ratio", {"gap": 2}, 100, ["gap-ratio-base-ten"], "by hand"),
    ("gap-ratio", {"gap": 2}, 5.44, ["gap-ratio-e-times-gap"], "by hand: 2·2.718"),
    ("gap-ratio", {"gap": 3}, 9, ["gap-ratio-squared"], "by hand"),
    ("gap-ratio", {"gap": 2}, 0.135, ["gap-ratio-inverted"], "by hand: e^−2"),
    ("gap-ratio", {"gap": 2}, 4, ["gap-ratio-base-two", "gap-ratio-squared"], "2² both ways"),
    ("slope", {"w": 0.9}, 0.9, ["slope-weight"], "by hand"),
    ("slope", {"w": 0.9}, 0.1, ["slope-rest"], "by hand"),
    ("slope", {"w": 0.9}, 0.81, ["slope-weight-squared"], "by hand"),
    ("slope", {"w": 0.9}, 0.19, ["slope-one-minus-square"], "by hand"),
    ("score-rows", {"Tq": 3, "Tk": 5, "d_k": 8}, 5, ["score-rows-keys"], "by hand"),
    ("score-rows", {"Tq": 3, "Tk": 5, "d_k": 8}, 8, ["score-rows-width"], "by hand"),
    ("score-columns", {"Tq": 3, "Tk": 5, "d_k": 8}, 3, ["score-columns-queries"], "by hand"),
    ("score-columns", {"Tq": 3, "Tk": 5, "d_k": 8}, 8, ["score-columns-width"], "by hand"),
    ("output-columns", {"Tq": 3, "Tk": 5, "d_k": 8, "d_v": 2}, 5, ["output-columns-keys"], "by hand"),
    ("output-columns", {"Tq": 3, "Tk": 5, "d_k": 8, "d_v": 2}, 8, ["output-columns-d-k"], "by hand"),
    ("output-columns", {"Tq": 3, "Tk": 5, "d_k": 8, "d_v": 2}, 3, ["output-columns-queries"], "by hand"),
    ("score-entries", {"n": 1000}, 1000, ["score-entries-linear"], "by hand"),
    ("score-entries", {"n": 1000}, 2000, ["score-entries-double"], "by hand"),
    ("score-entries", {"n": 1000}, 500500, ["score-entries-causal"], "by hand"),
    ("score-entries", {"n": 1000}, 499500, ["score-entries-pairs"], "by hand"),
    ("all-score-entries", {"B": 2, "H": 4, "n": 10}, 200, ["all-score-entries-one-head"], "by hand"),
    ("all-score-entries", {"B": 2, "H": 4, "n": 10}, 400, ["all-score-entries-one-sample"], "by hand"),
    ("all-score-entries", {"B": 2, "H": 4, "n": 10}, 100, ["all-score-entries-one-matrix"], "by hand"),
    ("causal-entries", {"n": 4}, 16, ["causal-entries-all"], "by hand"),
    ("causal-entries", {"n": 4}, 8, ["causal-entries-half"], "by hand"),
    ("causal-entries", {"n": 4}, 6, ["causal-entries-strict"], "by hand"),
    ("score-bytes", {"n": 10, "bytes": 4}, 100, ["score-bytes-entries"], "by hand"),
    ("score-bytes", {"n": 10, "bytes": 4}, 40, ["score-bytes-linear"], "by hand"),
    ("score-bytes", {"n": 10, "bytes": 4}, 3200, ["score-bytes-bits"], "by hand"),
    ("growth", {"factor": 3}, 3, ["growth-linear"], "by hand"),
    ("growth", {"factor": 3}, 8, ["growth-exponential"], "by hand"),
    ("growth", {"factor": 3}, 27, ["growth-cubic"], "by hand"),
    ("score-multiplications", {"Tq": 3, "Tk": 5, "d_k": 8}, 15, ["score-multiplications-entries"], "by hand"),
    ("score-multiplications", {"Tq": 3, "Tk": 5, "d_k": 8}, 240,
     ["score-multiplications-and-additions"], "by hand"),
]  # fmt: skip

CACHE = {"layers": 3, "Hkv": 2, "d_k": 4, "n": 10, "bytes": 4, "H": 10}  # right: 2·3·2·4·10·4 = 1920

CACHES = [
    # answer  id                            source
    (960,     "cache-bytes-without-values", "by hand"),
    (9600,    "cache-bytes-query-heads",    "by hand: 10 heads for 2"),
    (4800,    "cache-bytes-group-size",     "by hand: 10/2 = 5 heads for 2"),
    (640,     "cache-bytes-one-layer",      "by hand"),
    (480,     "cache-bytes-entries",        "by hand"),
]  # fmt: skip


@pytest.mark.parametrize(("quantity", "sizes", "number", "source"), RIGHT)
def test_the_right_number_is(quantity: str, sizes: dict[str, float], number: float, source: str) -> None:
    assert quantity_named(quantity).value(sizes) == pytest.approx(number), source
    assert mistaken(quantity, sizes, number) == ()


@pytest.mark.parametrize(("quantity", "sizes", "answer", "ids", "source"), WRONG)
def test_a_wrong_number_is_told(
    quantity: str, sizes: dict[str, float], answer: float, ids: list[str], source: str
) -> None:
    assert [m.id for m in mistaken(quantity, sizes, answer, tolerance=0.005)] == ids, source


@pytest.mark.parametrize(("answer", "id", "source"), CACHES)
def test_a_wrong_cache_size_is_told(answer: float, id: str, source: str) -> None:
    assert [m.id for m in mistaken("cache-bytes", CACHE, answer)] == [id], source


def test_at_two_bytes_two_ideas_give_one_number() -> None:
    both = {m.id for m in mistaken("cache-bytes", CACHE | {"bytes": 2}, 480)}
    assert both == {"cache-bytes-without-values", "cache-bytes-entries"}


def test_an_idea_about_an_unknown_size_is_not_tried() -> None:
    assert mistaken("divisor", {"d_k": 4}, 6) == ()  # √d_model, were d_model known to be 36


def test_every_quantity_has_a_right_number_and_wrong_ones() -> None:
    assert [row[0] for row in RIGHT] == [quantity.id for quantity in QUANTITIES]
    assert {m.quantity for m in MISQUANTITIES} == {quantity.id for quantity in QUANTITIES}


def test_every_wrong_idea_is_tried_here() -> None:
    tried = {id for row in WRONG for id in row[3]} | {row[1] for row in CACHES}
    assert tried == {m.id for m in MISQUANTITIES}
    assert len({m.id for m in MISQUANTITIES}) == len(MISQUANTITIES)


def test_what_is_said_about_d_k_for_the_divisor() -> None:
    (found,) = mistaken("divisor", {"d_k": 4}, 4)
    assert found.sentence({"d_k": 4}) == "4 is d_k itself; the divisor is its root, 2."


@pytest.mark.parametrize("idea", MISQUANTITIES, ids=lambda idea: idea.id)
def test_every_sentence_can_be_said(idea: Misquantity) -> None:
    sizes = {"d_k": 64, "d_model": 512, "H": 8, "Hkv": 2, "Tq": 3, "Tk": 5, "d_v": 16, "gap": 2, "w": 0.75}
    sizes |= {"n": 10, "B": 2, "bytes": 2, "factor": 3, "layers": 4}
    text = idea.sentence(sizes)
    assert "{" not in text
    assert text.endswith(".")
    assert short(idea.value(sizes)) in text


def test_numbers_as_people_write_them() -> None:
    assert [short(x) for x in (2.0, 0.125, 1 / 3, -0.0)] == ["2", "0.125", "0.3333", "0"]
