"""Sizes as they are written, and cases fitted into them."""

import pytest
from hypothesis import assume, given, strategies as st

from headwork import HeadworkError
from headwork.conformance.entries import ENTRIES
from headwork.conformance.sizes import ANY, LETTERS, Sizes, fitted, read_sizes

WANTED = {"B": 2, "H": 3, "Hkv": 3, "Tq": 5, "Tk": 7, "D": 23, "Dv": 13}
GROUPED = WANTED | {"H": 6, "Hkv": 2}


def fit(text, wanted=WANTED, keep=()):
    return fitted(read_sizes(text), tuple(wanted.items()), keep)


READ = [
    # text, what it says, source
    ("", ANY, "nothing said"),
    ("Tk=64", Sizes(among=(("Tk", (64,)),)), "one size"),
    ("B = 4, 1", Sizes(among=(("B", (1, 4)),)), "several, in order"),
    ("B=1-3,8", Sizes(among=(("B", (1, 2, 3, 8)),)), "a range"),
    ("T=64,128", Sizes(among=(("Tq", (64, 128)), ("Tk", (64, 128)))), "T is Tq and Tk"),
    ("D=64", Sizes(among=(("D", (64,)), ("Dv", (64,)))), "D is Dv, too"),
    ("D=64;Dv=32", Sizes(among=(("D", (64,)), ("Dv", (32,)))), "but where Dv has a size of its own"),
    ("D%8", Sizes(multiples=(("D", 8), ("Dv", 8))), "multiples"),
    ("Tk%8\nTk%12", Sizes(multiples=(("Tk", 24),)), "both: multiples of lcm(8, 12)"),
    ("Tq=Tk", Sizes(equal=(("Tq", "Tk"),)), "two that agree"),
    ("B=1-4; B=3-6", Sizes(among=(("B", (3, 4)),)), "both"),
]


@pytest.mark.parametrize(("text", "said", "source"), READ)
def test_what_is_written_is_read(text, said, source):
    assert read_sizes(text) == said


@pytest.mark.parametrize(
    "text", ["64", "X=3", "T=", "T=a,b", "D%", "D%0.5", "T=64,,128", "Tq>Tk", "=", "T=Q", "D%0"]
)
def test_what_cannot_be_read_is_said_with_an_example(text):
    with pytest.raises(HeadworkError, match=r"T=64,128"):
        read_sizes(text)


@pytest.mark.parametrize("text", ["T=0", "Tk=5-3", "B=1; B=2", "T=64; T%7", "Tq=8; Tk=9; Tq=Tk"])
def test_no_size_left_is_an_error_that_names_the_letter(text):
    with pytest.raises(HeadworkError, match=r"no size is left for (Tq|Tk|B)"):
        read_sizes(text)


@pytest.mark.parametrize(
    "text", ["T=100000", "D=9999999999999999999999999", "D%1000000007", "T=50000-100000000"]
)
def test_sizes_beyond_what_can_be_checked_are_refused_at_once(text):
    with pytest.raises(HeadworkError, match=r"asks for (Tq|D) = [\d,]+ at least; 4,096 is the most"):
        read_sizes(text)


def test_heads_that_cannot_be_shared_are_refused():
    with pytest.raises(HeadworkError, match="H must be a multiple of Hkv"):
        read_sizes("H=2; Hkv=3")


def test_a_range_without_an_end_in_sight_is_cut_where_nothing_more_is_checked():
    assert read_sizes("T=1-100000000") == read_sizes("T=1-4096")


@pytest.mark.parametrize("text", [text for text, _, _ in READ])
def test_sizes_are_written_as_they_are_read(text):
    assert read_sizes(str(read_sizes(text))) == read_sizes(text)


FITTED = [
    # sizes, letters and the sizes expected, source
    ("", WANTED, "nothing said: as wanted"),
    ("T=64,128", {"Tq": 64, "Tk": 128}, "the longer stays the longer, though 64 is nearer"),
    ("T=128", {"Tq": 128, "Tk": 128}, "no choice"),
    ("D%8", {"D": 24, "Dv": 16}, "the nearest multiples; 8·1 = 8 is farther from 13 than 16"),
    ("Dv=D; D=16,24", {"D": 16, "Dv": 16}, "as far from 13 and 23 as 24 is, and the smaller one"),
    ("Tq=Tk; T=16,64", {"Tq": 16, "Tk": 16}, "the nearest"),
    ("B=1; H=1", {"B": 1, "H": 1, "Hkv": 1}, "heads of key and value go along"),
    ("H=8", {"H": 8, "Hkv": 8}, "every head keeps its own"),
    ("H%4", {"H": 4, "Hkv": 4}, "every head keeps its own"),
]


@pytest.mark.parametrize(("text", "expected", "source"), FITTED)
def test_a_case_gets_the_nearest_sizes_that_are_taken(text, expected, source):
    assert fit(text) == WANTED | expected


def test_heads_that_share_keys_share_them_with_other_numbers_too():
    assert fit("H=8", GROUPED)["Hkv"] in (2, 4)
    assert fit("H=1", GROUPED) is None
    assert fit("Hkv=H", GROUPED) is None


def test_a_size_that_a_case_is_about_is_kept_or_the_case_left_out():
    assert fit("D%8", keep=("Tk",))["Tk"] == WANTED["Tk"]
    assert fit("T=16", keep=("Tk",)) is None


def test_long_sequences_cost_heads_and_samples_where_nothing_is_said_about_them():
    assert fit("T=1024")["B"] * fit("T=1024")["H"] * 1024**2 <= 2_000_000
    assert fit("T=1024; B=2; H=4")["H"] == 4


SOME = st.sampled_from(
    ["T=16,64", "T=7", "D%8", "D=32", "Tq=Tk", "Dv=D", "B=1", "H=1,2", "H%2", "Tk%4", "Tq=1", "Hkv=1"]
)


@given(st.lists(SOME, max_size=4), st.sampled_from(ENTRIES))
def test_fitted_sizes_are_always_taken_and_keep_what_the_case_is_about(texts, entry):
    try:
        sizes = read_sizes(";".join(texts))
    except HeadworkError:  # they contradict one another
        assume(False)
    found = fitted(sizes, tuple(entry.sizes.items()), entry.keep)
    assume(found is not None)
    assert set(found) == set(LETTERS)
    assert sizes.take(found)
    assert all(found[letter] == entry.sizes[letter] for letter in entry.keep)
    assert found["H"] % found["Hkv"] == 0


@pytest.mark.parametrize("heads", [{"H": 6, "Hkv": 2}, {"H": 4, "Hkv": 1}, {"H": 6, "Hkv": 3}])
def test_without_samples_as_many_query_heads_share_a_key_head(heads: dict[str, int]) -> None:
    """Which of the other sizes the batch agreed with is chance."""
    wanted = {"B": 2, **heads, "Tq": 5, "Tk": 7, "D": 23, "Dv": 13}
    found = fitted(Sizes(among=(("B", (1,)),)), tuple(wanted.items()))
    assert found == wanted | {"B": 1}
