"""Wrong ideas about single numbers: the divisor, variances, shapes, counts, ratios.

A question that asks for one number names its quantity and the sizes it depends on. `QUANTITIES` has the
right rule for each, `MISQUANTITIES` the wrong ones; `mistaken` finds those that give somebody's number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Sizes = Mapping[str, float]
Rule = Callable[[Sizes], float]

CLOSE = 1e-9  # relative: two numbers are the same
VASWANI = "Vaswani et al. 2017, section 3.2.1"
HEADS = "Vaswani et al. 2017, section 3.2.2"
BY_HAND = "learners, by hand"


@dataclass(frozen=True)
class Quantity:
    """Something that a question asks one number for.

    id       kebab-case; title: what is asked; formula: LaTeX of the right rule
    needs    names of the sizes that it depends on; value: the right rule
    """

    id: str
    title: str
    formula: str
    needs: tuple[str, ...]
    value: Rule


@dataclass(frozen=True)
class Misquantity:
    """One wrong idea about a quantity.

    id        kebab-case; title: a phrase in the past tense, for "you …"
    quantity  the id of the quantity that it is about
    formula   LaTeX of the wrong rule; why it is wrong; mend: how to put it right
    needs     sizes that it uses beyond those of the quantity; where they are unknown it cannot be told
    value     the wrong rule
    says      one sentence with {given} and {right} for the numbers, and sizes by name, such as {d_k}
    """

    id: str
    title: str
    quantity: str
    formula: str
    why: str
    mend: str
    source: str
    value: Rule
    says: str
    needs: tuple[str, ...] = ()

    def sentence(self, sizes: Sizes) -> str:
        """What to say about the number that this idea gives, in the question's own numbers."""
        numbers = {name: short(size) for name, size in sizes.items()}
        right = quantity_named(self.quantity).value(sizes)
        return self.says.format(**numbers | {"given": short(self.value(sizes)), "right": short(right)})


def short(number: float) -> str:
    """A number as people write it: 2, 0.125, 1.41."""
    return f"{number + 0:.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:.4g}"


def quantity_named(name: str) -> Quantity:
    """The quantity of that id. Raises KeyError."""
    return BY_ID[name]


def mistaken(quantity: str, sizes: Sizes, answer: float, tolerance: float = 0.0) -> tuple[Misquantity, ...]:
    """The wrong ideas that give this answer, none where it is right.

    quantity   id of what was asked; sizes: by name, at least those that it needs
    tolerance  how far the answer may be off by rounding
    """
    if _near(quantity_named(quantity).value(sizes), answer, tolerance):
        return ()
    told = (m for m in MISQUANTITIES if m.quantity == quantity and all(name in sizes for name in m.needs))
    return tuple(m for m in told if _near(m.value(sizes), answer, tolerance))


def _near(number: float, answer: float, tolerance: float) -> bool:
    return abs(number - answer) <= tolerance + CLOSE * abs(number)


def head_width(sizes: Sizes) -> float:
    """d_model/H."""
    return sizes["d_model"] / sizes["H"]


def slope(sizes: Sizes) -> float:
    """σ(1 − σ) of the weight w."""
    return sizes["w"] * (1 - sizes["w"])


def cache(sizes: Sizes) -> float:
    """2 · layers · H_kv · d · n · bytes."""
    return 2 * sizes["layers"] * sizes["Hkv"] * sizes["d_k"] * sizes["n"] * sizes["bytes"]


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("divisor", "the divisor of the scores", r"\sqrt{d_k}", ("d_k",), lambda s: math.sqrt(s["d_k"])),
    Quantity("dot-mean", "the mean of a raw score", r"0", ("d_k",), lambda s: 0.0),
    Quantity("dot-variance", "the variance of a raw score", r"d_k", ("d_k",), lambda s: s["d_k"]),
    Quantity(
        "dot-deviation",
        "the standard deviation of a raw score",
        r"\sqrt{d_k}",
        ("d_k",),
        lambda s: math.sqrt(s["d_k"]),
    ),
    Quantity("scaled-variance", "the variance of a scaled score", r"1", ("d_k",), lambda s: 1.0),
    Quantity("scaled-deviation", "the standard deviation of a scaled score", r"1", ("d_k",), lambda s: 1.0),
    Quantity(
        "overscaled-variance",
        "the variance of scores divided by d_k",
        r"1/d_k",
        ("d_k",),
        lambda s: 1 / s["d_k"],
    ),
    Quantity(
        "overscaled-deviation",
        "the standard deviation of scores divided by d_k",
        r"1/\sqrt{d_k}",
        ("d_k",),
        lambda s: 1 / math.sqrt(s["d_k"]),
    ),
    Quantity("head-width", "the width of one head", r"d_{\mathrm{model}}/H", ("d_model", "H"), head_width),
    Quantity(
        "head-divisor",
        "the divisor in each head",
        r"\sqrt{d_{\mathrm{model}}/H}",
        ("d_model", "H"),
        lambda s: math.sqrt(head_width(s)),
    ),
    Quantity(
        "head-variance",
        "the variance of a scaled score in each head",
        r"1",
        ("d_model", "H"),
        lambda s: 1.0,
    ),
    Quantity("row-total", "the sum of a row of weights", r"1", (), lambda s: 1.0),
    Quantity(
        "gap-ratio",
        "the ratio of two weights whose scores are a gap apart",
        r"e^{g}",
        ("gap",),
        lambda s: math.exp(s["gap"]),
    ),
    Quantity("slope", "the slope σ(1 − σ) at a weight", r"w(1 - w)", ("w",), slope),
    Quantity("score-rows", "the rows of the score matrix", r"T_q", ("Tq", "Tk", "d_k"), lambda s: s["Tq"]),
    Quantity(
        "score-columns", "the columns of the score matrix", r"T_k", ("Tq", "Tk", "d_k"), lambda s: s["Tk"]
    ),
    Quantity(
        "output-columns", "the columns of the output", r"d_v", ("Tq", "Tk", "d_k", "d_v"), lambda s: s["d_v"]
    ),
    Quantity("score-entries", "the entries of the score matrix", r"n^2", ("n",), lambda s: s["n"] ** 2),
    Quantity(
        "all-score-entries",
        "the entries of all score matrices",
        r"B\,H\,n^2",
        ("B", "H", "n"),
        lambda s: s["B"] * s["H"] * s["n"] ** 2,
    ),
    Quantity(
        "causal-entries",
        "the entries that a causal mask leaves",
        r"n(n + 1)/2",
        ("n",),
        lambda s: s["n"] * (s["n"] + 1) / 2,
    ),
    Quantity(
        "score-bytes",
        "the bytes of the score matrix",
        r"n^2 \cdot \text{bytes}",
        ("n", "bytes"),
        lambda s: s["n"] ** 2 * s["bytes"],
    ),
    Quantity(
        "growth",
        "how many times as many scores a context longer by a factor needs",
        r"f^2",
        ("factor",),
        lambda s: s["factor"] ** 2,
    ),
    Quantity(
        "score-multiplications",
        "the multiplications in QKᵀ",
        r"T_q T_k d_k",
        ("Tq", "Tk", "d_k"),
        lambda s: s["Tq"] * s["Tk"] * s["d_k"],
    ),
    Quantity(
        "cache-bytes",
        "the bytes of the key/value cache",
        r"2 \cdot \text{layers} \cdot H_{kv}\, d_k\, n \cdot \text{bytes}",
        ("layers", "Hkv", "d_k", "n", "bytes"),
        cache,
    ),
)

BY_ID = {quantity.id: quantity for quantity in QUANTITIES}

# --- the divisor ----------------------------------------------------------------------------------

DIVISOR_D_K = Misquantity(
    id="divisor-d-k",
    title="gave d_k for the divisor",
    quantity="divisor",
    formula=r"d_k",
    why="d_k is the variance of a raw score; dividing by the standard deviation, √d_k, brings it back to 1.",
    mend="Take the root: √d_k.",
    source=VASWANI,
    value=lambda s: s["d_k"],
    says="{given} is d_k itself; the divisor is its root, {right}.",
)
DIVISOR_HALF = Misquantity(
    id="divisor-half-d-k",
    title="halved d_k instead of taking its root",
    quantity="divisor",
    formula=r"d_k/2",
    why="Half and root are the same for 4 only.",
    mend="Take the root: √d_k.",
    source=BY_HAND,
    value=lambda s: s["d_k"] / 2,
    says="{given} is half of d_k = {d_k}; the divisor is its root, {right}.",
)
DIVISOR_SQUARED = Misquantity(
    id="divisor-squared",
    title="squared d_k instead of taking its root",
    quantity="divisor",
    formula=r"d_k^2",
    why="The divisor is a standard deviation: smaller than d_k, not larger.",
    mend="Take the root: √d_k.",
    source=BY_HAND,
    value=lambda s: s["d_k"] ** 2,
    says="{given} is d_k squared; the divisor is the root of {d_k}, {right}.",
)
DIVISOR_RECIPROCAL = Misquantity(
    id="divisor-reciprocal",
    title="gave 1/√d_k, the factor",
    quantity="divisor",
    formula=r"1/\sqrt{d_k}",
    why="Scores are multiplied by 1/√d_k, or divided by √d_k: the divisor is the latter.",
    mend="Give √d_k.",
    source="esceptico/perceiver-io#9",
    value=lambda s: 1 / math.sqrt(s["d_k"]),
    says="{given} is what scores are multiplied by; they are divided by {right}.",
)
DIVISOR_OF_MODEL = Misquantity(
    id="divisor-root-of-d-model",
    title="took the root of d_model",
    quantity="divisor",
    formula=r"\sqrt{d_{\mathrm{model}}}",
    why="A score sums over one head's features, d_k of them.",
    mend="Take √d_k, the width of one head.",
    source="lucidrains/vit-pytorch#65",
    value=lambda s: math.sqrt(s["d_model"]),
    says="{given} is √d_model; a score sums over d_k = {d_k} products, so the divisor is {right}.",
    needs=("d_model",),
)
DIVISOR_OF_KEYS = Misquantity(
    id="divisor-root-of-key-count",
    title="took the root of the number of keys",
    quantity="divisor",
    formula=r"\sqrt{T_k}",
    why="The number of keys says how many scores there are, not how large they get.",
    mend="Take √d_k.",
    source=VASWANI,
    value=lambda s: math.sqrt(s["Tk"]),
    says="{given} is the root of the number of keys; the divisor is √d_k = {right}.",
    needs=("Tk",),
)
DIVISOR_OF_VALUES = Misquantity(
    id="divisor-root-of-value-width",
    title="took the root of d_v",
    quantity="divisor",
    formula=r"\sqrt{d_v}",
    why="Scores come from queries and keys; the values' width plays no part in them.",
    mend="Take √d_k.",
    source=VASWANI,
    value=lambda s: math.sqrt(s["d_v"]),
    says="{given} is √d_v; the scores come from queries and keys, so the divisor is √d_k = {right}.",
    needs=("d_v",),
)

# --- mean and variance ----------------------------------------------------------------------------

DOT_MEAN_ONE = Misquantity(
    id="dot-mean-one",
    title="gave 1 for the mean",
    quantity="dot-mean",
    formula=r"1",
    why="Each product of independent components with mean 0 has mean 0, and so has their sum.",
    mend="The mean is 0; it is the variance of a component that is 1.",
    source=VASWANI,
    value=lambda s: 1.0,
    says="1 is the variance of one component; the mean of a sum of products with mean 0 is 0.",
)
DOT_MEAN_D_K = Misquantity(
    id="dot-mean-d-k",
    title="gave d_k for the mean",
    quantity="dot-mean",
    formula=r"d_k",
    why="d_k is the variance: variances add up, and the means are all 0.",
    mend="The mean is 0.",
    source=VASWANI,
    value=lambda s: s["d_k"],
    says="{given} is the variance; the mean of a sum of products with mean 0 is 0.",
)
DOT_VARIANCE_ROOT = Misquantity(
    id="dot-variance-deviation",
    title="gave the standard deviation for the variance",
    quantity="dot-variance",
    formula=r"\sqrt{d_k}",
    why="The standard deviation is the root of the variance.",
    mend="Add up d_k variances of 1.",
    source=VASWANI,
    value=lambda s: math.sqrt(s["d_k"]),
    says="{given} is the standard deviation; the variance is its square, {right}.",
)
DOT_VARIANCE_ONE = Misquantity(
    id="dot-variance-one",
    title="gave 1 for the variance of a raw score",
    quantity="dot-variance",
    formula=r"1",
    why=(
        "One product has variance 1; a score is a sum of d_k of them, and variances of independent terms add."
    ),
    mend="Add up d_k variances of 1.",
    source=VASWANI,
    value=lambda s: 1.0,
    says="1 is the variance of one product, and of a scaled score; the raw score sums {d_k} of them.",
)
DOT_VARIANCE_SQUARED = Misquantity(
    id="dot-variance-squared",
    title="squared d_k for the variance",
    quantity="dot-variance",
    formula=r"d_k^2",
    why=(
        "Variances of independent terms add: d_k times 1. Squares come in when one number is multiplied "
        "by d_k."
    ),
    mend="Add up d_k variances of 1.",
    source=BY_HAND,
    value=lambda s: s["d_k"] ** 2,
    says="{given} is d_k squared; {d_k} independent terms of variance 1 add up to {right}.",
)
DOT_DEVIATION_VARIANCE = Misquantity(
    id="dot-deviation-variance",
    title="gave the variance for the standard deviation",
    quantity="dot-deviation",
    formula=r"d_k",
    why="The standard deviation is the root of the variance.",
    mend="Take the root: √d_k.",
    source=VASWANI,
    value=lambda s: s["d_k"],
    says="{given} is the variance; the standard deviation is its root, {right}.",
)
SCALED_VARIANCE_D_K = Misquantity(
    id="scaled-variance-d-k",
    title="gave d_k for the variance after scaling",
    quantity="scaled-variance",
    formula=r"d_k",
    why="That is the variance before: dividing by √d_k divides the variance by d_k.",
    mend="Divide d_k by d_k.",
    source=VASWANI,
    value=lambda s: s["d_k"],
    says="{given} is the variance before scaling; divided by √d_k, it is {given}/{given} = 1.",
)
SCALED_VARIANCE_ROOT = Misquantity(
    id="scaled-variance-root",
    title="divided the variance by √d_k",
    quantity="scaled-variance",
    formula=r"d_k/\sqrt{d_k} = \sqrt{d_k}",
    why="Dividing numbers by c divides their variance by c², here by d_k.",
    mend="Divide the variance by the square of the divisor.",
    source=BY_HAND,
    value=lambda s: math.sqrt(s["d_k"]),
    says=(
        "{given} is {d_k} divided by √d_k; a variance is divided by the square of the divisor, which gives 1."
    ),
)
SCALED_VARIANCE_INVERSE = Misquantity(
    id="scaled-variance-inverse",
    title="gave 1/d_k for the variance after scaling",
    quantity="scaled-variance",
    formula=r"1/d_k",
    why="That is what dividing the scores by d_k leaves; dividing by √d_k leaves 1.",
    mend="Divide d_k by d_k.",
    source=BY_HAND,
    value=lambda s: 1 / s["d_k"],
    says="{given} is the variance after dividing by d_k; after dividing by √d_k it is 1.",
)
SCALED_DEVIATION_ROOT = Misquantity(
    id="scaled-deviation-root",
    title="gave √d_k for the standard deviation after scaling",
    quantity="scaled-deviation",
    formula=r"\sqrt{d_k}",
    why="That is the standard deviation before; it is divided by √d_k.",
    mend="Divide √d_k by √d_k.",
    source=BY_HAND,
    value=lambda s: math.sqrt(s["d_k"]),
    says="{given} is the standard deviation before scaling; divided by itself it is 1.",
)
OVERSCALED_VARIANCE_ONE = Misquantity(
    id="overscaled-variance-one",
    title="gave 1 for the variance after dividing by d_k",
    quantity="overscaled-variance",
    formula=r"1",
    why="That is what √d_k leaves. Dividing by d_k divides the variance by d_k², from d_k to 1/d_k.",
    mend="Divide d_k by d_k².",
    source=BY_HAND,
    value=lambda s: 1.0,
    says="1 is what dividing by √d_k leaves; dividing by {d_k} leaves {d_k}/{d_k}² = {right}.",
)
OVERSCALED_VARIANCE_ROOT = Misquantity(
    id="overscaled-variance-deviation",
    title="gave the standard deviation for the variance",
    quantity="overscaled-variance",
    formula=r"1/\sqrt{d_k}",
    why="The standard deviation is the root of the variance.",
    mend="Square it: 1/d_k.",
    source=BY_HAND,
    value=lambda s: 1 / math.sqrt(s["d_k"]),
    says="{given} is the standard deviation; the variance is its square, {right}.",
)
OVERSCALED_VARIANCE_SQUARED = Misquantity(
    id="overscaled-variance-squared",
    title="divided 1 by d_k²",
    quantity="overscaled-variance",
    formula=r"1/d_k^2",
    why="The raw variance is d_k, not 1: d_k/d_k² = 1/d_k.",
    mend="Start from the raw variance d_k.",
    source=BY_HAND,
    value=lambda s: 1 / s["d_k"] ** 2,
    says="{given} is 1/d_k²; the raw variance is d_k, so it is {d_k}/{d_k}² = {right}.",
)
OVERSCALED_DEVIATION_VARIANCE = Misquantity(
    id="overscaled-deviation-variance",
    title="gave the variance for the standard deviation",
    quantity="overscaled-deviation",
    formula=r"1/d_k",
    why="The standard deviation is the root of the variance.",
    mend="Take the root: 1/√d_k.",
    source=BY_HAND,
    value=lambda s: 1 / s["d_k"],
    says="{given} is the variance; the standard deviation is its root, {right}.",
)

# --- heads ----------------------------------------------------------------------------------------

HEAD_WIDTH_MODEL = Misquantity(
    id="head-width-d-model",
    title="gave the whole width for one head",
    quantity="head-width",
    formula=r"d_{\mathrm{model}}",
    why="The heads share the width among them.",
    mend="Divide d_model by the number of heads.",
    source=HEADS,
    value=lambda s: s["d_model"],
    says="{given} is the whole width; {H} heads share it, {right} each.",
)
HEAD_WIDTH_COUNT = Misquantity(
    id="head-width-count",
    title="gave the number of heads for their width",
    quantity="head-width",
    formula=r"H",
    why="Width and number multiply to d_model.",
    mend="Divide d_model by the number of heads.",
    source=HEADS,
    value=lambda s: s["H"],
    says="{given} is the number of heads; each is {d_model}/{H} = {right} wide.",
)
HEAD_WIDTH_PRODUCT = Misquantity(
    id="head-width-product",
    title="multiplied by the number of heads",
    quantity="head-width",
    formula=r"d_{\mathrm{model}} H",
    why="The heads share the width; they do not add to it.",
    mend="Divide d_model by the number of heads.",
    source=BY_HAND,
    value=lambda s: s["d_model"] * s["H"],
    says="{given} is {d_model} times {H}; the heads share the width, {right} each.",
)
HEAD_DIVISOR_MODEL = Misquantity(
    id="head-divisor-d-model",
    title="took the root of the whole width",
    quantity="head-divisor",
    formula=r"\sqrt{d_{\mathrm{model}}}",
    why="A score in a head sums over that head's features only.",
    mend="Take the root of d_model/H.",
    source="lucidrains/vit-pytorch#65",
    value=lambda s: math.sqrt(s["d_model"]),
    says="{given} is √{d_model}; each head is {d_model}/{H} wide, so the divisor is {right}.",
)
HEAD_DIVISOR_WIDTH = Misquantity(
    id="head-divisor-width",
    title="gave the head's width for the divisor",
    quantity="head-divisor",
    formula=r"d_{\mathrm{model}}/H",
    why="The divisor is the root of the width.",
    mend="Take the root of d_model/H.",
    source=VASWANI,
    value=head_width,
    says="{given} is the head's width; the divisor is its root, {right}.",
)
HEAD_DIVISOR_SHARED = Misquantity(
    id="head-divisor-shared",
    title="divided the root of the whole width by the number of heads",
    quantity="head-divisor",
    formula=r"\sqrt{d_{\mathrm{model}}}/H",
    why="The width is shared, then the root is taken: √(d_model/H).",
    mend="Divide first, then take the root.",
    source=BY_HAND,
    value=lambda s: math.sqrt(s["d_model"]) / s["H"],
    says="{given} is √{d_model}/{H}; divide first, then take the root: √({d_model}/{H}) = {right}.",
)
HEAD_VARIANCE_WIDTH = Misquantity(
    id="head-variance-width",
    title="gave the variance before scaling",
    quantity="head-variance",
    formula=r"d_{\mathrm{model}}/H",
    why="Each head divides by the root of its own width, which brings the variance back to 1.",
    mend="Divide the variance by the square of the divisor.",
    source=HEADS,
    value=head_width,
    says="{given} is the variance before scaling; divided by {given}, the divisor squared, it is 1.",
)
HEAD_VARIANCE_SHARE = Misquantity(
    id="head-variance-share",
    title="shared the variance among the heads",
    quantity="head-variance",
    formula=r"1/H",
    why="Each head is scaled by its own width; with √d_model instead, the variance would be 1/H.",
    mend="Divide by the root of the head's width.",
    source="lucidrains/vit-pytorch#65",
    value=lambda s: 1 / s["H"],
    says="{given} is what dividing by √d_model leaves; each head divides by the root of its own width: 1.",
)

# --- softmax --------------------------------------------------------------------------------------

ROW_TOTAL_ZERO = Misquantity(
    id="row-total-zero",
    title="gave 0 for the sum of a row of weights",
    quantity="row-total",
    formula=r"0",
    why="Each weight is its exponential over the row's sum, so together they are the sum over itself.",
    mend="A row of weights sums to 1.",
    source=VASWANI,
    value=lambda s: 0.0,
    says="0 is the sum of a row that may see nothing; every other row sums to 1.",
)
GAP_RATIO_GAP = Misquantity(
    id="gap-ratio-gap",
    title="gave the gap for the ratio",
    quantity="gap-ratio",
    formula=r"g",
    why="Scores are exponentiated: a gap g becomes a ratio e^g.",
    mend="Take e^g.",
    source=BY_HAND,
    value=lambda s: s["gap"],
    says="{given} is the gap between the scores; the weights' ratio is e^{given} = {right}.",
)
GAP_RATIO_BASE_TWO = Misquantity(
    id="gap-ratio-base-two",
    title="took a power of 2",
    quantity="gap-ratio",
    formula=r"2^g",
    why="The softmax takes powers of e.",
    mend="Take e^g.",
    source=BY_HAND,
    value=lambda s: 2 ** s["gap"],
    says="{given} is 2^{gap}; the softmax takes powers of e: {right}.",
)
GAP_RATIO_BASE_TEN = Misquantity(
    id="gap-ratio-base-ten",
    title="took a power of 10",
    quantity="gap-ratio",
    formula=r"10^g",
    why="The softmax takes powers of e.",
    mend="Take e^g.",
    source=BY_HAND,
    value=lambda s: 10 ** s["gap"],
    says="{given} is 10^{gap}; the softmax takes powers of e: {right}.",
)
GAP_RATIO_E = Misquantity(
    id="gap-ratio-e-times-gap",
    title="multiplied e by the gap",
    quantity="gap-ratio",
    formula=r"e\,g",
    why="The gap is an exponent: e·e for a gap of 2, not e + e.",
    mend="Take e^g.",
    source=BY_HAND,
    value=lambda s: math.e * s["gap"],
    says="{given} is e times {gap}; the gap is the exponent: e^{gap} = {right}.",
)
GAP_RATIO_SQUARED = Misquantity(
    id="gap-ratio-squared",
    title="squared the gap",
    quantity="gap-ratio",
    formula=r"g^2",
    why="The gap is an exponent of e.",
    mend="Take e^g.",
    source=BY_HAND,
    value=lambda s: s["gap"] ** 2,
    says="{given} is {gap} squared; the gap is the exponent: e^{gap} = {right}.",
)
GAP_RATIO_INVERTED = Misquantity(
    id="gap-ratio-inverted",
    title="divided the smaller weight by the larger",
    quantity="gap-ratio",
    formula=r"e^{-g}",
    why="The larger score has the larger weight, e^g times as large.",
    mend="Divide the larger weight by the smaller.",
    source=BY_HAND,
    value=lambda s: math.exp(-s["gap"]),
    says="{given} is the smaller weight over the larger; the other way round it is {right}.",
)
SLOPE_WEIGHT = Misquantity(
    id="slope-weight",
    title="gave the weight for the slope",
    quantity="slope",
    formula=r"w",
    why="The slope of the softmax at a weight w is w(1 − w).",
    mend="Multiply by 1 − w.",
    source=BY_HAND,
    value=lambda s: s["w"],
    says="{given} is the weight; the slope is {w}·(1 − {w}) = {right}.",
)
SLOPE_REST = Misquantity(
    id="slope-rest",
    title="gave what the weight leaves for the slope",
    quantity="slope",
    formula=r"1 - w",
    why="The slope of the softmax at a weight w is w(1 − w).",
    mend="Multiply by w.",
    source=BY_HAND,
    value=lambda s: 1 - s["w"],
    says="{given} is 1 − w; the slope is {w}·(1 − {w}) = {right}.",
)
SLOPE_SQUARED = Misquantity(
    id="slope-weight-squared",
    title="squared the weight",
    quantity="slope",
    formula=r"w^2",
    why="The slope of the softmax at a weight w is w(1 − w).",
    mend="Multiply by 1 − w, not by w.",
    source=BY_HAND,
    value=lambda s: s["w"] ** 2,
    says="{given} is w squared; the slope is {w}·(1 − {w}) = {right}.",
)
SLOPE_TANH = Misquantity(
    id="slope-one-minus-square",
    title="took 1 − w²",
    quantity="slope",
    formula=r"1 - w^2",
    why="That is the slope of tanh; for the softmax it is w(1 − w).",
    mend="Multiply w by 1 − w.",
    source=BY_HAND,
    value=lambda s: 1 - s["w"] ** 2,
    says="{given} is the slope of tanh; that of the softmax is {w}·(1 − {w}) = {right}.",
)

# --- shapes and counts ----------------------------------------------------------------------------

SCORE_ROWS_KEYS = Misquantity(
    id="score-rows-keys",
    title="gave the number of keys for the rows",
    quantity="score-rows",
    formula=r"T_k",
    why="Row i belongs to query i, column j to key j.",
    mend="One row for each query.",
    source=VASWANI,
    value=lambda s: s["Tk"],
    says="{given} is the number of keys, which are the columns; each of the {Tq} queries has a row.",
)
SCORE_ROWS_WIDTH = Misquantity(
    id="score-rows-width",
    title="gave the width for the rows",
    quantity="score-rows",
    formula=r"d_k",
    why="d_k is summed over in the dot product and is gone afterwards.",
    mend="One row for each query.",
    source=BY_HAND,
    value=lambda s: s["d_k"],
    says="{given} is d_k, which the dot product sums over; each of the {Tq} queries has a row.",
)
SCORE_COLUMNS_QUERIES = Misquantity(
    id="score-columns-queries",
    title="gave the number of queries for the columns",
    quantity="score-columns",
    formula=r"T_q",
    why="Row i belongs to query i, column j to key j.",
    mend="One column for each key.",
    source=VASWANI,
    value=lambda s: s["Tq"],
    says="{given} is the number of queries, which are the rows; each of the {Tk} keys has a column.",
)
SCORE_COLUMNS_WIDTH = Misquantity(
    id="score-columns-width",
    title="gave the width for the columns",
    quantity="score-columns",
    formula=r"d_k",
    why=(
        "d_k is summed over in the dot product and is gone afterwards; K is transposed, so its rows "
        "become columns."
    ),
    mend="One column for each key.",
    source=BY_HAND,
    value=lambda s: s["d_k"],
    says="{given} is d_k, which the dot product sums over; each of the {Tk} keys has a column.",
)
OUTPUT_COLUMNS_KEYS = Misquantity(
    id="output-columns-keys",
    title="gave the number of keys for the columns of the output",
    quantity="output-columns",
    formula=r"T_k",
    why="The keys are summed over in the blend; what is left is as wide as a value.",
    mend="One column for each entry of a value.",
    source=BY_HAND,
    value=lambda s: s["Tk"],
    says="{given} is the number of keys, which the blend sums over; a row is as wide as a value, {right}.",
)
OUTPUT_COLUMNS_D_K = Misquantity(
    id="output-columns-d-k",
    title="gave d_k for the columns of the output",
    quantity="output-columns",
    formula=r"d_k",
    why="The output is made of values, which are d_v wide; d_k is the width of queries and keys.",
    mend="One column for each entry of a value.",
    source=BY_HAND,
    value=lambda s: s["d_k"],
    says="{given} is the width of a key; the output is made of values, {right} wide.",
)
OUTPUT_COLUMNS_QUERIES = Misquantity(
    id="output-columns-queries",
    title="gave the number of queries for the columns of the output",
    quantity="output-columns",
    formula=r"T_q",
    why="The queries are the rows of the output; a row is as wide as a value.",
    mend="One column for each entry of a value.",
    source=BY_HAND,
    value=lambda s: s["Tq"],
    says="{given} is the number of queries, the rows; a row is as wide as a value, {right}.",
)
SCORE_ENTRIES_LINEAR = Misquantity(
    id="score-entries-linear",
    title="counted one score for each token",
    quantity="score-entries",
    formula=r"n",
    why="Every token is compared with every token.",
    mend="Multiply: n queries times n keys.",
    source=VASWANI,
    value=lambda s: s["n"],
    says="{given} is the number of tokens; each is compared with each, {n}·{n} = {right}.",
)
SCORE_ENTRIES_DOUBLE = Misquantity(
    id="score-entries-double",
    title="added queries and keys",
    quantity="score-entries",
    formula=r"2n",
    why="There is a score for every pair: n times n.",
    mend="Multiply: n queries times n keys.",
    source=BY_HAND,
    value=lambda s: 2 * s["n"],
    says="{given} is {n} + {n}; there is a score for every pair, {n}·{n} = {right}.",
)
SCORE_ENTRIES_HALF = Misquantity(
    id="score-entries-causal",
    title="counted what a causal mask leaves",
    quantity="score-entries",
    formula=r"n(n + 1)/2",
    why="The matrix has n² entries; a causal mask sets some to −∞, it does not remove them.",
    mend="Multiply: n queries times n keys.",
    source=BY_HAND,
    value=lambda s: s["n"] * (s["n"] + 1) / 2,
    says="{given} is what a causal mask leaves; the matrix itself has {n}·{n} = {right} entries.",
)
SCORE_ENTRIES_PAIRS = Misquantity(
    id="score-entries-pairs",
    title="counted pairs of different tokens once",
    quantity="score-entries",
    formula=r"n(n - 1)/2",
    why="s_ij and s_ji are two scores, and each token is compared with itself too.",
    mend="Multiply: n queries times n keys.",
    source=BY_HAND,
    value=lambda s: s["n"] * (s["n"] - 1) / 2,
    says="{given} counts each pair once and no token with itself; there are {n}·{n} = {right} scores.",
)
ALL_ENTRIES_ONE_HEAD = Misquantity(
    id="all-score-entries-one-head",
    title="counted one head",
    quantity="all-score-entries",
    formula=r"B\,n^2",
    why="Each head has a score matrix of its own.",
    mend="Multiply by the number of heads.",
    source=HEADS,
    value=lambda s: s["B"] * s["n"] ** 2,
    says="{given} is for one head; {H} heads have {right}.",
)
ALL_ENTRIES_ONE_SAMPLE = Misquantity(
    id="all-score-entries-one-sample",
    title="counted one element of the batch",
    quantity="all-score-entries",
    formula=r"H\,n^2",
    why="Each element of the batch has score matrices of its own.",
    mend="Multiply by the size of the batch.",
    source=BY_HAND,
    value=lambda s: s["H"] * s["n"] ** 2,
    says="{given} is for one element of the batch; {B} of them have {right}.",
)
ALL_ENTRIES_ONE = Misquantity(
    id="all-score-entries-one-matrix",
    title="counted one matrix",
    quantity="all-score-entries",
    formula=r"n^2",
    why="Each head of each element of the batch has a score matrix of its own.",
    mend="Multiply by the size of the batch and the number of heads.",
    source=BY_HAND,
    value=lambda s: s["n"] ** 2,
    says="{given} is one matrix; there are {B}·{H} of them, with {right} entries.",
)
CAUSAL_ENTRIES_ALL = Misquantity(
    id="causal-entries-all",
    title="counted all entries",
    quantity="causal-entries",
    formula=r"n^2",
    why="A causal mask hides the entries above the diagonal.",
    mend="Count 1 + 2 + … + n.",
    source=BY_HAND,
    value=lambda s: s["n"] ** 2,
    says="{given} is the whole matrix; row i sees i keys: 1 + 2 + … + {n} = {right}.",
)
CAUSAL_ENTRIES_HALF = Misquantity(
    id="causal-entries-half",
    title="halved the number of entries",
    quantity="causal-entries",
    formula=r"n^2/2",
    why="The diagonal stays whole: it is half of n² and half of n more.",
    mend="Count 1 + 2 + … + n.",
    source=BY_HAND,
    value=lambda s: s["n"] ** 2 / 2,
    says="{given} is half of {n}²; the diagonal is kept whole: n(n + 1)/2 = {right}.",
)
CAUSAL_ENTRIES_STRICT = Misquantity(
    id="causal-entries-strict",
    title="left the diagonal out",
    quantity="causal-entries",
    formula=r"n(n - 1)/2",
    why="Each token sees itself.",
    mend="Count 1 + 2 + … + n.",
    source="pbloem/former#10",
    value=lambda s: s["n"] * (s["n"] - 1) / 2,
    says="{given} leaves the diagonal out, or counts what is hidden; each token sees itself: {right}.",
)
SCORE_BYTES_ENTRIES = Misquantity(
    id="score-bytes-entries",
    title="gave the number of entries for the bytes",
    quantity="score-bytes",
    formula=r"n^2",
    why="Each entry takes several bytes: 4 in float32, 2 in float16.",
    mend="Multiply by the bytes of one entry.",
    source=BY_HAND,
    value=lambda s: s["n"] ** 2,
    says="{given} is the number of entries; at {bytes} bytes each they take {right}.",
)
SCORE_BYTES_LINEAR = Misquantity(
    id="score-bytes-linear",
    title="counted one score for each token",
    quantity="score-bytes",
    formula=r"n \cdot \text{bytes}",
    why="Every token is compared with every token.",
    mend="Multiply n by n, then by the bytes of one entry.",
    source=BY_HAND,
    value=lambda s: s["n"] * s["bytes"],
    says="{given} is for {n} entries; there are {n}·{n}, and they take {right} bytes.",
)
SCORE_BYTES_BITS = Misquantity(
    id="score-bytes-bits",
    title="counted bits",
    quantity="score-bytes",
    formula=r"8 n^2 \cdot \text{bytes}",
    why="A byte has 8 bits: float32 is 32 bits, 4 bytes.",
    mend="Divide by 8.",
    source=BY_HAND,
    value=lambda s: 8 * s["n"] ** 2 * s["bytes"],
    says="{given} is the number of bits; in bytes that is {right}.",
)
GROWTH_LINEAR = Misquantity(
    id="growth-linear",
    title="let the scores grow like the context",
    quantity="growth",
    formula=r"f",
    why="There are more queries and more keys, so both factors multiply.",
    mend="Square the factor.",
    source=BY_HAND,
    value=lambda s: s["factor"],
    says="{given} times as many queries, and {given} times as many keys: {right} times as many scores.",
)
GROWTH_EXPONENTIAL = Misquantity(
    id="growth-exponential",
    title="took a power of 2",
    quantity="growth",
    formula=r"2^f",
    why="The scores grow with the square of the length.",
    mend="Square the factor.",
    source=BY_HAND,
    value=lambda s: 2 ** s["factor"],
    says="{given} is 2^{factor}; the scores grow with the square: {factor}² = {right}.",
)
GROWTH_CUBIC = Misquantity(
    id="growth-cubic",
    title="cubed the factor",
    quantity="growth",
    formula=r"f^3",
    why="The width of a head does not grow with the context: queries times keys is a square.",
    mend="Square the factor.",
    source=BY_HAND,
    value=lambda s: s["factor"] ** 3,
    says="{given} is {factor} cubed; only queries and keys get more: {factor}² = {right}.",
)
MULTIPLICATIONS_ENTRIES = Misquantity(
    id="score-multiplications-entries",
    title="counted one multiplication for each score",
    quantity="score-multiplications",
    formula=r"T_q T_k",
    why="A score is a sum of d_k products.",
    mend="Multiply by d_k.",
    source=BY_HAND,
    value=lambda s: s["Tq"] * s["Tk"],
    says="{given} is the number of scores; each takes {d_k} multiplications: {right}.",
)
MULTIPLICATIONS_DOUBLED = Misquantity(
    id="score-multiplications-and-additions",
    title="counted multiplications and additions",
    quantity="score-multiplications",
    formula=r"2\,T_q T_k d_k",
    why="Operations are often counted so; multiplications alone are half of them.",
    mend="Count the multiplications only, or say that both are meant.",
    source=BY_HAND,
    value=lambda s: 2 * s["Tq"] * s["Tk"] * s["d_k"],
    says="{given} counts additions too; the multiplications alone are {right}.",
)
CACHE_WITHOUT_VALUES = Misquantity(
    id="cache-bytes-without-values",
    title="counted the keys only",
    quantity="cache-bytes",
    formula=r"\text{layers} \cdot H_{kv}\, d_k\, n \cdot \text{bytes}",
    why="The values are kept too.",
    mend="Multiply by 2.",
    source=BY_HAND,
    value=lambda s: cache(s) / 2,
    says="{given} is for keys or values alone; together they take {right} bytes.",
)
CACHE_ALL_HEADS = Misquantity(
    id="cache-bytes-query-heads",
    title="counted the query heads",
    quantity="cache-bytes",
    formula=r"2 \cdot \text{layers} \cdot H\, d_k\, n \cdot \text{bytes}",
    why="Only key/value heads are kept; query heads share them.",
    mend="Use the number of key/value heads.",
    source="rasbt/LLMs-from-scratch#922",
    value=lambda s: cache(s) * s["H"] / s["Hkv"],
    says="{given} is for {H} heads; only the {Hkv} key/value heads are kept: {right} bytes.",
    needs=("H",),
)
CACHE_GROUP_SIZE = Misquantity(
    id="cache-bytes-group-size",
    title="took the size of a group for the number of groups",
    quantity="cache-bytes",
    formula=r"2 \cdot \text{layers} \cdot (H/H_{kv})\, d_k\, n \cdot \text{bytes}",
    why="Hkv is how many key/value heads there are, not how many query heads share one.",
    mend="Use the number of key/value heads.",
    source="rasbt/LLMs-from-scratch#922",
    value=lambda s: cache(s) * s["H"] / s["Hkv"] ** 2,
    says="{given} counts H/Hkv heads; there are {Hkv} key/value heads: {right} bytes.",
    needs=("H",),
)
CACHE_ONE_LAYER = Misquantity(
    id="cache-bytes-one-layer",
    title="counted one layer",
    quantity="cache-bytes",
    formula=r"2\, H_{kv}\, d_k\, n \cdot \text{bytes}",
    why="Each layer keeps its own keys and values.",
    mend="Multiply by the number of layers.",
    source=BY_HAND,
    value=lambda s: cache(s) / s["layers"],
    says="{given} is one layer; {layers} layers take {right} bytes.",
)
CACHE_ENTRIES = Misquantity(
    id="cache-bytes-entries",
    title="gave the number of entries for the bytes",
    quantity="cache-bytes",
    formula=r"2 \cdot \text{layers} \cdot H_{kv}\, d_k\, n",
    why="Each entry takes several bytes: 2 in float16.",
    mend="Multiply by the bytes of one entry.",
    source=BY_HAND,
    value=lambda s: cache(s) / s["bytes"],
    says="{given} is the number of entries; at {bytes} bytes each they take {right}.",
)

MISQUANTITIES: tuple[Misquantity, ...] = (
    DIVISOR_D_K,
    DIVISOR_HALF,
    DIVISOR_SQUARED,
    DIVISOR_RECIPROCAL,
    DIVISOR_OF_MODEL,
    DIVISOR_OF_KEYS,
    DIVISOR_OF_VALUES,
    DOT_MEAN_ONE,
    DOT_MEAN_D_K,
    DOT_VARIANCE_ROOT,
    DOT_VARIANCE_ONE,
    DOT_VARIANCE_SQUARED,
    DOT_DEVIATION_VARIANCE,
    SCALED_VARIANCE_D_K,
    SCALED_VARIANCE_ROOT,
    SCALED_VARIANCE_INVERSE,
    SCALED_DEVIATION_ROOT,
    OVERSCALED_VARIANCE_ONE,
    OVERSCALED_VARIANCE_ROOT,
    OVERSCALED_VARIANCE_SQUARED,
    OVERSCALED_DEVIATION_VARIANCE,
    HEAD_WIDTH_MODEL,
    HEAD_WIDTH_COUNT,
    HEAD_WIDTH_PRODUCT,
    HEAD_DIVISOR_MODEL,
    HEAD_DIVISOR_WIDTH,
    HEAD_DIVISOR_SHARED,
    HEAD_VARIANCE_WIDTH,
    HEAD_VARIANCE_SHARE,
    ROW_TOTAL_ZERO,
    GAP_RATIO_GAP,
    GAP_RATIO_BASE_TWO,
    GAP_RATIO_BASE_TEN,
    GAP_RATIO_E,
    GAP_RATIO_SQUARED,
    GAP_RATIO_INVERTED,
    SLOPE_WEIGHT,
    SLOPE_REST,
    SLOPE_SQUARED,
    SLOPE_TANH,
    SCORE_ROWS_KEYS,
    SCORE_ROWS_WIDTH,
    SCORE_COLUMNS_QUERIES,
    SCORE_COLUMNS_WIDTH,
    OUTPUT_COLUMNS_KEYS,
    OUTPUT_COLUMNS_D_K,
    OUTPUT_COLUMNS_QUERIES,
    SCORE_ENTRIES_LINEAR,
    SCORE_ENTRIES_DOUBLE,
    SCORE_ENTRIES_HALF,
    SCORE_ENTRIES_PAIRS,
    ALL_ENTRIES_ONE_HEAD,
    ALL_ENTRIES_ONE_SAMPLE,
    ALL_ENTRIES_ONE,
    CAUSAL_ENTRIES_ALL,
    CAUSAL_ENTRIES_HALF,
    CAUSAL_ENTRIES_STRICT,
    SCORE_BYTES_ENTRIES,
    SCORE_BYTES_LINEAR,
    SCORE_BYTES_BITS,
    GROWTH_LINEAR,
    GROWTH_EXPONENTIAL,
    GROWTH_CUBIC,
    MULTIPLICATIONS_ENTRIES,
    MULTIPLICATIONS_DOUBLED,
    CACHE_WITHOUT_VALUES,
    CACHE_ALL_HEADS,
    CACHE_GROUP_SIZE,
    CACHE_ONE_LAYER,
    CACHE_ENTRIES,
)
