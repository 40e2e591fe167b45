"""What the battery is made of: each case with the reason why it is there.

Sizes, options and seeds are literal. That they are enough is proven, not believed: proof.py shows for each
feature that every mistake which its cases can hold is seen, and any two that differ are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .numbers import (
    Numbers,
    biased,
    biased_everywhere,
    biased_low,
    drawn,
    each_at_its_place,
    far,
    low,
    masked,
    one_empty,
    one_full,
    own_slopes,
    padded,
    padded_cache,
    plain,
    rising,
    sloped,
    sunk,
    wide,
    windowed,
    with_empty_row,
    with_first_key,
    with_odd_beyond,
    with_odd_padding,
    with_own_key,
)

CAP = 1.5  # a softcap that bends scores of size 1


@dataclass(frozen=True, eq=False)
class Entry:
    """One case, before its numbers are drawn.

    Fields
    id        feature/name; why: the reason, in words
    sizes     the sizes that it wants, for every letter
    draw      the fields of the problem, from dice
    keep      the letters whose sizes are the reason for the case
    step      what is compared: "output", "logsumexp", "weights" or "gradients"
    seed      of its numbers
    lenient   a weakness there is a matter of robustness, not of being right
    in_every_dtype  whether it is drawn again for each further dtype
    """

    id: str
    why: str
    sizes: Mapping[str, int]
    draw: Numbers
    keep: tuple[str, ...] = ()
    step: str = "output"
    seed: int = 0
    lenient: bool = False
    in_every_dtype: bool = False

    @property
    def feature(self) -> str:
        """The feature that it is about."""
        return self.id.partition("/")[0]


def at(
    Tq: int = 5, Tk: int = 7, D: int = 23, Dv: int = 13, *, B: int = 2, H: int = 3, Hkv: int | None = None
) -> Mapping[str, int]:
    """Sizes; by default no one is another's equal, square or double, and all but the batch are odd."""
    return {"B": B, "H": H, "Hkv": Hkv or H, "Tq": Tq, "Tk": Tk, "D": D, "Dv": Dv}


def tokens(T: int, D: int = 23, Dv: int = 13, **heads: int) -> Mapping[str, int]:
    """Sizes of self-attention: as many queries as keys."""
    return at(T, T, D, Dv, **heads)


DIFFER = "no two sizes agree: a wrong axis, or a wrong size in a formula, shows"
EQUAL = "all sizes agree: what other shapes refuse, such as QK in place of QKᵀ, runs through and shows"
SQUARE = "as many queries as keys: what is transposed keeps its shape and shows"
FAR = "scores about ±1600: exponentials that overflow or all become 0"
LOW = "scores so low that a number written for −∞ is above them"
NOTHING = "a query that may see nothing"
ODD = "NaN and infinities where nobody may look"
BLOCKS = "around a block boundary, the maximum growing: what a block drops, repeats or rescales wrongly shows"
AROUND = tuple(
    size + by for size in (16, 32, 64, 128, 256) for by in (-1, 0, 1) if size + by not in (32, 255, 256)
)
LONG = 4093  # a prime: no block size divides it
ALL = ("B", "H", "Tq", "Tk")
CUBE = {"B": 3, "H": 3, "Tq": 3, "Tk": 3, "D": 3, "Dv": 3, "Hkv": 3}


# fmt: off
ENTRIES: tuple[Entry, ...] = (
    Entry("basic/sizes-differ", DIFFER, at(), plain, in_every_dtype=True),
    Entry("basic/sizes-agree", EQUAL, CUBE, plain),
    Entry("basic/square", SQUARE, tokens(5, 7, 7), plain),
    Entry("basic/one-token", "one query and one key: an axis of length 1",
          at(1, 1), plain, keep=("Tq", "Tk")),
    Entry("basic/one-key", "one key: its weight is 1", at(3, 1), plain, keep=("Tk",)),
    Entry("basic/more-queries", "more queries than keys", at(9, 4, 5, 7), plain),
    Entry("basic/one-head", "one sample, one head: axes that are often squeezed", at(6, 5, B=1, H=1), plain),
    Entry("basic/far-scores", FAR, at(4, 7, 5, 3), far, in_every_dtype=True),
    Entry("basic/low-scores", "all scores far below 0: a maximum that starts at a finite number shows",
          at(3, 7, 1, 5), low),
    Entry("basic/wide-scores", "saturated rows", at(5, 7, 7, 3), wide),
    *(Entry(f"basic/keys-{n}", BLOCKS, at(3, n, 5, 2, B=1, H=2), rising, keep=("Tk",)) for n in AROUND),
    Entry("basic/long-rows", "4093 keys: sums of many terms, and a prime that no block size divides",
          at(2, LONG, 3, 2, B=1, H=1), plain, in_every_dtype=True),

    Entry("scale/given", "a number that is no size's root", at(), drawn(plain, scale=0.37)),
    Entry("scale/one", "1, which means that nothing is divided", CUBE, drawn(plain, scale=1.0)),
    Entry("scale/far-scores", FAR + "; the scale is below 0", at(4, 7, 5, 3), drawn(far, scale=-0.45)),
    Entry("scale/low-scores", "all scores far below 0", at(3, 7, 3, 5), drawn(low, scale=0.57)),

    Entry("mask-bool/per-head", DIFFER + "; every sample and head has its own mask",
          at(), drawn(plain, masked(*ALL)),
          in_every_dtype=True),
    Entry("mask-bool/sizes-agree", EQUAL, CUBE, drawn(plain, masked(*ALL))),
    Entry("mask-bool/per-sample", "one mask for all heads of a sample",
          tokens(5, 7, 7, B=3), drawn(plain, masked("B", "Tq", "Tk"))),
    Entry("mask-bool/keys-only", "padding as a mask (B, 1, 1, Tk)",
          tokens(6, 5, 5, B=3), drawn(plain, masked("B", "Tk"))),
    Entry("mask-bool/far-scores", FAR, tokens(7, 5, 3), drawn(far, masked("B", "Tq", "Tk"))),
    Entry("mask-bool/causal", "a mask beside causality", tokens(6), drawn(plain, with_own_key, causal=True)),
    Entry("mask-bool/low-scores", LOW, tokens(5, 3, 5), drawn(low, masked("B", "Tq", "Tk")), lenient=True),
    Entry("mask-bool/empty-row", NOTHING, at(), drawn(plain, with_empty_row), lenient=True),
    Entry("mask-bool/causal-empty-row", NOTHING + ", for the mask and for being causal",
          tokens(6), drawn(plain, with_empty_row, causal=True), lenient=True),
    Entry("mask-bool/odd-padding", ODD, at(), drawn(plain, with_odd_padding), lenient=True),

    Entry("mask-float/per-head", DIFFER + "; every sample and head has its own mask",
          at(), drawn(plain, biased(*ALL))),
    Entry("mask-float/sizes-agree", EQUAL, CUBE, drawn(plain, biased(*ALL))),
    Entry("mask-float/shared", "one mask for all samples and heads",
          tokens(5, 7, 7), drawn(plain, biased("Tq", "Tk"))),
    Entry("mask-float/numbers-only", "biases by position: no −∞ turns what is wrong to NaN",
          at(), drawn(plain, biased_everywhere)),
    Entry("mask-float/finite", "−30000 for −∞, as many write it", at(), drawn(plain, biased_low)),
    Entry("mask-float/far-scores", FAR, tokens(7, 5, 3), drawn(far, biased("B", "Tq", "Tk"))),
    Entry("mask-float/low-scores", LOW, tokens(5, 3, 5), drawn(low, biased("B", "Tq", "Tk")), lenient=True),
    Entry("mask-float/empty-row", NOTHING, at(), drawn(plain, biased(*ALL), with_empty_row), lenient=True),

    Entry("causal/square", SQUARE, tokens(7), drawn(plain, causal=True), in_every_dtype=True),
    Entry("causal/sizes-agree", EQUAL, CUBE, drawn(plain, causal=True)),
    Entry("causal/more-keys", DIFFER + "; the alignment shows", at(), drawn(plain, causal=True)),
    Entry("causal/one-token", "one query and one key",
          at(1, 1), drawn(plain, causal=True), keep=("Tq", "Tk")),
    Entry("causal/far-scores", FAR, tokens(7, 5, 3), drawn(far, causal=True)),
    *(Entry(f"causal/tokens-{n}", "around a block boundary, on both sides",
            tokens(n, 5, 2, B=1, H=1), drawn(rising, causal=True),
            keep=("Tq", "Tk")) for n in (16, 17, 65, 129)),
    Entry("causal/low-scores", LOW, tokens(5, 3, 5), drawn(low, causal=True), lenient=True),
    Entry("causal/more-queries", NOTHING + ": it stands before the first key",
          at(7, 4), drawn(plain, causal=True), lenient=True),

    Entry("offset/given", "the first query stands at 1", at(), drawn(plain, causal=True, offset=1)),
    Entry("offset/square", SQUARE + ", and the first query does not stand at 0",
          tokens(7), drawn(plain, causal=True, offset=2)),
    Entry("offset/zero", "the first query stands at 0, and there are more keys",
          at(), drawn(plain, causal=True, offset=0)),
    Entry("offset/per-sample", "every sample's first query stands elsewhere", at(5, 9, B=3),
          drawn(plain, each_at_its_place, causal=True)),
    Entry("offset/far-scores", FAR, at(4, 7, 5, 3), drawn(far, causal=True, offset=1)),

    Entry("window/both-sides", SQUARE + "; it reaches less far ahead than back",
          tokens(11), drawn(plain, windowed(0.3, 0.1))),
    Entry("window/causal", "a window behind a causal mask",
          tokens(9), drawn(plain, windowed(0.3, 0), causal=True)),
    Entry("window/behind", "nothing ahead, which the window alone says",
          tokens(7, 5, 5), drawn(plain, windowed(0.3, 0))),
    Entry("window/more-keys", "fewer queries than keys", at(5, 11, 7, 13), drawn(plain, windowed(0.2, 0.3))),
    Entry("window/none-behind", "nothing behind, which 0 says, and one ahead",
          tokens(7), drawn(plain, windowed(0, 0.2))),
    Entry("window/unbounded", "no bound behind", tokens(7, 5, 5), drawn(plain, windowed(None, 0.2))),
    Entry("window/far-scores", FAR, tokens(7, 5, 3), drawn(far, windowed(0.3, 0.1))),
    Entry("window/low-scores", LOW, tokens(5, 3, 5), drawn(low, windowed(0.3, 0.2)), lenient=True),
    Entry("window/more-queries", NOTHING + ": its window ends before the first key",
          at(9, 4), drawn(plain, windowed(0.3, 0.2)),
          lenient=True),

    Entry("lengths/self", SQUARE + "; every sample has padding", tokens(7, B=3), drawn(plain, padded)),
    Entry("lengths/cross", DIFFER, at(B=4), drawn(plain, padded)),
    Entry("lengths/one-full", "one sample has no padding", CUBE, drawn(plain, one_full)),
    Entry("lengths/with-mask", "a mask beside the lengths; saturated rows",
          at(B=3), drawn(wide, padded, with_first_key)),
    Entry("lengths/far-scores", FAR, tokens(7, 5, 3), drawn(far, padded)),
    Entry("lengths/low-scores", LOW, tokens(5, 3, 5), drawn(low, padded), lenient=True),
    Entry("lengths/empty-sample", "a sample that is all padding",
          at(B=3), drawn(plain, one_empty), lenient=True),
    Entry("lengths/odd-padding", ODD, at(B=3), drawn(plain, padded, with_odd_beyond), lenient=True),

    Entry("grouped-heads/groups-of-three", DIFFER, at(H=6, Hkv=2), plain, in_every_dtype=True),
    Entry("grouped-heads/groups-of-two", "more groups than a group has heads",
          tokens(5, 7, 7, H=6, Hkv=3), plain),
    Entry("grouped-heads/one-for-all", "one key/value head", at(H=4, Hkv=1), plain),
    Entry("grouped-heads/far-scores", FAR, at(4, 7, 5, 3, H=6, Hkv=2), far),
    Entry("grouped-heads/low-scores", "all scores far below 0", at(3, 7, 3, 5, H=6, Hkv=2), low),
    Entry("grouped-heads/causal", "with a causal mask, past a block boundary",
          tokens(17, 5, 3, B=1, H=4, Hkv=2),
          drawn(plain, causal=True)),
    Entry("grouped-heads/masked", "every query head has its own mask",
          at(H=6, Hkv=2), drawn(plain, masked(*ALL))),

    Entry("softcap/low-cap", DIFFER, at(), drawn(plain, softcap=CAP)),
    Entry("softcap/sizes-agree", EQUAL, CUBE, drawn(plain, softcap=CAP)),
    Entry("softcap/wide-scores", "scores far beyond the cap", at(5, 7, 7, 3), drawn(wide, softcap=30.0)),
    Entry("softcap/far-scores", FAR + ", and a cap beyond them", at(4, 7, 5, 3), drawn(far, softcap=4000.0)),
    Entry("softcap/low-scores", "all scores far below 0, and a cap beyond them",
          at(3, 7, 3, 5), drawn(low, softcap=4e9)),
    Entry("softcap/masked", "before the mask, not after it", at(), drawn(plain, masked(*ALL), softcap=CAP)),
    Entry("softcap/biased", "before what is added, not after it",
          at(), drawn(plain, biased(*ALL), softcap=CAP)),
    Entry("softcap/windowed", "causal, a window and shared heads beside it", tokens(9, H=6, Hkv=2),
          drawn(plain, windowed(0.3, 0), causal=True, softcap=CAP)),

    Entry("alibi/published", "the published slopes of 6 heads, which is no power of two",
          tokens(9, H=6), drawn(plain, sloped)),
    Entry("alibi/causal", "behind a causal mask", tokens(9, H=4), drawn(plain, sloped, causal=True)),
    Entry("alibi/more-keys", "fewer queries than keys", at(5, 9, H=6), drawn(plain, sloped)),
    Entry("alibi/four-heads", "the published slopes of 4 heads, a power of two",
          tokens(7, 5, 5, H=4), drawn(plain, sloped)),
    Entry("alibi/one-token", "one new token: a bias that is as long as the query is one number for all keys",
          at(1, 9, H=4), drawn(plain, sloped, causal=True), keep=("Tq",)),
    Entry("alibi/own-slopes", "slopes that nobody published", at(5, 9), drawn(plain, own_slopes)),
    Entry("alibi/sizes-agree", EQUAL, CUBE, drawn(plain, own_slopes)),
    Entry("alibi/far-scores", FAR, at(4, 7, 5, 3), drawn(far, own_slopes)),
    Entry("alibi/low-scores", "all scores far below 0", at(3, 7, 3, 5), drawn(low, own_slopes)),
    Entry("alibi/grouped", "a slope for each query head, not for each key/value head",
          tokens(7, H=6, Hkv=2), drawn(plain, sloped)),

    Entry("sink/per-head", DIFFER, at(), drawn(plain, sunk)),
    Entry("sink/zero", "0: a 1 in the divisor, as softmax plus one has it", at(), drawn(plain, sink=0.0)),
    Entry("sink/sizes-agree", EQUAL, CUBE, drawn(plain, sunk)),
    Entry("sink/far-scores", FAR + ", and sinks as high", at(4, 7, 5, 3), drawn(far, sink=1600.0)),
    Entry("sink/capped", "the sink is not capped", at(), drawn(plain, sunk, softcap=CAP)),
    Entry("sink/windowed", "causal, a window and shared heads beside it", tokens(9, H=6, Hkv=2),
          drawn(plain, sunk, windowed(0.3, 0), causal=True)),
    Entry("sink/empty-row", NOTHING + " gives all to the sink", at(), drawn(plain, sunk, with_empty_row)),

    Entry("logsumexp/sizes-differ", DIFFER, at(), plain, step="logsumexp"),
    Entry("logsumexp/sizes-agree", EQUAL, CUBE, plain, step="logsumexp"),
    Entry("logsumexp/far-scores", FAR, at(4, 7, 5, 3), far, step="logsumexp"),
    Entry("logsumexp/low-scores", "all scores far below 0", at(3, 7, 3, 5), low, step="logsumexp"),
    Entry("logsumexp/causal", "behind a causal mask", tokens(7), drawn(plain, causal=True), step="logsumexp"),
    Entry("logsumexp/sink", "the sink counts", at(), drawn(plain, sunk), step="logsumexp"),
    Entry("logsumexp/empty-row", "−∞ for " + NOTHING,
          at(), drawn(plain, with_empty_row), step="logsumexp", lenient=True),

    Entry("weights/sizes-differ", DIFFER, at(), plain, step="weights"),
    Entry("weights/sizes-agree", EQUAL, CUBE, plain, step="weights"),
    Entry("weights/far-scores", FAR, at(4, 7, 5, 3), far, step="weights"),
    Entry("weights/low-scores", "all scores far below 0", at(3, 7, 3, 5), low, step="weights"),
    Entry("weights/masked", "0 where masked", tokens(5, 7, 7), drawn(plain, masked(*ALL)), step="weights"),
    Entry("weights/causal", "0 above the diagonal", tokens(7), drawn(plain, causal=True), step="weights"),
    Entry("weights/empty-row", "0 for " + NOTHING,
          at(), drawn(plain, with_empty_row), step="weights", lenient=True),

    Entry("cache/one-token", "one new token sees every key", at(1, 9), plain, keep=("Tq",)),
    Entry("cache/far-scores", FAR, at(1, 9, 5, 3), far, keep=("Tq",)),
    Entry("cache/low-scores", "all scores far below 0", at(1, 9, 3, 5), low, keep=("Tq",)),
    Entry("cache/causal", "one new token, causal: it stands at the end and still sees every key", at(1, 9),
          drawn(plain, causal=True), keep=("Tq",)),
    Entry("cache/some-tokens", "some new tokens behind a causal mask", at(3, 17), drawn(plain, causal=True)),
    Entry("cache/lengths", "caches of different lengths",
          at(2, 11, B=3), drawn(plain, padded_cache, causal=True)),
    Entry("cache/window", "a window counted from the end",
          at(2, 11, 7, 13), drawn(plain, windowed(0.3, 0), causal=True)),
    Entry("cache/grouped", "shared heads, past a block boundary",
          at(1, 65, 5, 3, B=1, H=4, Hkv=2), rising, keep=("Tq",)),

    Entry("gradients/sizes-differ", DIFFER, at(), plain, step="gradients"),
    Entry("gradients/sizes-agree", EQUAL, CUBE, plain, step="gradients"),
    Entry("gradients/causal", "behind a causal mask", tokens(7), drawn(plain, causal=True), step="gradients"),
    Entry("gradients/masked", "0 for keys that nobody sees",
          at(), drawn(plain, masked("B", "Tk")), step="gradients"),
    Entry("gradients/biased", "through what is added",
          at(), drawn(plain, biased("B", "Tq", "Tk")), step="gradients"),
    Entry("gradients/grouped", "a shared head adds up what its query heads give",
          at(H=6, Hkv=2), plain, step="gradients"),
    Entry("gradients/softcap", "through the cap", at(), drawn(plain, softcap=CAP), step="gradients"),
    Entry("gradients/scale", "a scale of one's own", at(), drawn(plain, scale=0.37), step="gradients"),
    Entry("gradients/far-scores", "saturated rows", at(4, 7, 5, 3), far, step="gradients"),
    Entry("gradients/keys-65", "past a block boundary",
          at(3, 65, 5, 2, B=1, H=1), rising, keep=("Tk",), step="gradients"),
    Entry("gradients/empty-row", "0 from " + NOTHING,
          at(), drawn(plain, with_empty_row), step="gradients", lenient=True),
)
# fmt: on
