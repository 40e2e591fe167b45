"""The battery is proven: what it can hold shows, what differs is told apart, and what cannot is listed with a reason."""

import random
from functools import cache

import pytest

from headwork.conformance.battery import as_packed, draw_battery
from headwork.conformance.proof import SAME, lost, prove, unseen_numbers
from headwork.conformance.sizes import read_sizes
from headwork.diagnosis.distinct import alike, can_show, numbers_of
from headwork.diagnosis.reach import reaches
from headwork.errors import HeadworkError
from headwork.mistakes.catalogue import CATALOGUE
from headwork.mistakes.heads import MISTAKES as HEADS_MISTAKES
from headwork.mistakes.lookup import mistake_named
from headwork.mistakes.recipe import Recipe


@cache
def battery(dtype="float64", sizes=""):
    return draw_battery(lambda feature: True, (dtype,), read_sizes(sizes))


@cache
def proofs(dtype="float64"):
    return prove(battery(dtype))


def part(cases, *features):
    return [case for case in cases if case.feature in features]


def ids(mistakes):
    return {mistake.id for mistake in mistakes}


def invisible(proof):
    return ids(blind.mistake for blind in proof.invisible)


# ---------------------------------------------------------------- what shows

MASKS = ("mask-bool", "mask-float", "causal", "window", "lengths")

# dtype, feature, what no case of it shows, why that is so
INVISIBLE = [
    ("float64", "cache", {"causal-uninvited"}, "a single new query has no key ahead of it"),
    ("float32", "cache", {"causal-uninvited"}, "a single new query has no key ahead of it"),
    *(
        ("float32", feature, {"mask-fill-minus-1e9"}, "scores below −10⁹ have no digits left in float32")
        for feature in MASKS
    ),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_mistake_that_a_feature_can_have_shows(dtype):
    found = {proof.feature: invisible(proof) for proof in proofs(dtype)}
    expected = {feature: which for name, feature, which, _ in INVISIBLE if name == dtype}
    assert {feature: which for feature, which in found.items() if which} == expected
    assert all(len(proof.shown) > 100 for proof in proofs(dtype) if proof.feature != "offset")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_does_not_show_has_a_reason(dtype):
    for proof in proofs(dtype):
        assert all(len(blind.reason) > 20 for blind in proof.invisible)


# what float16 and bfloat16 cannot show: rules about scores that float16 does not hold, and sums in float16
BELOW = {
    "causal-uninvited",
    "mask-fill-not-low-enough",
    "mask-fill-minus-1e9",
    "row-max-floor",
    "qk-accumulated-fp16",
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_hides_rounding_and_numbers_beyond_its_range_only(dtype):
    for proof in prove(part(battery(dtype), "basic", "mask-bool", "causal", "alibi")):
        rules = {blind.mistake.id for blind in proof.invisible if not blind.mistake.narrow}
        assert rules <= BELOW, proof.feature
        near = {(pair.a, pair.b) for pair in proof.twins if pair.kind == "near"}
        assert all((a.id, b.id) in SAME or a.narrow or b.narrow for a, b in near), proof.feature


def test_the_basic_cases_show_a_maximum_that_starts_too_high_in_half_precision_too():
    (basic,) = prove(part(battery("float16"), "basic"))
    assert "row-max-floor" in ids(basic.shown)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float64", {}),
        ("float32", {"softmax-epsilon": (1e-9, 1e-8)}),  # 1 + 10⁻⁸ is 1 in float32
    ],
)
def test_every_wrong_number_of_a_rule_shows(dtype, expected):
    """Any factor, fill, block size … of the catalogue's lists; of blocks those that kernels use."""
    found = unseen_numbers(part(battery(dtype), "basic"))
    assert {rule.id: numbers for rule, numbers in found.items()} == expected
    assert ids(unseen_numbers(battery(dtype))) <= set(expected)


OWN = [
    # feature, some mistakes that belong to it alone, source
    ("mask-bool", {"mask-polarity", "mask-transposed"}, "only a mask of true and false can be taken so"),
    ("causal", {"causal-strict", "causal-skipped"}, "only with causality"),
    ("lengths", {"lengths-padded-left"}, "only with lengths"),
    ("grouped-heads", {"gqa-tile"}, "only with shared heads"),
    ("softcap", {"softcap-ignored"}, "only with a cap"),
    ("sink", {"sink-scaled"}, "only with sinks"),
]


@pytest.mark.parametrize(("feature", "some", "source"), OWN)
def test_a_feature_knows_the_mistakes_that_belong_to_it(feature, some, source):
    proof = next(proof for proof in proofs() if proof.feature == feature)
    assert some <= ids(proof.own)
    assert "scale-missing" not in ids(proof.own)


# ---------------------------------------------------------------- what is told apart


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_two_mistakes_that_differ_are_told_apart(dtype):
    for proof in proofs(dtype):
        pairs = {(pair.a.id, pair.b.id) for pair in proof.twins if pair.kind != "shape"}
        pairs -= {(pair.a.id, pair.b.id) for pair in proof.twins if pair.a.narrow and pair.b.narrow}
        assert pairs <= set(SAME), proof.feature
    if dtype == "float64":
        assert not any(pair.kind == "near" for proof in proofs() for pair in proof.twins)


def test_what_has_another_shape_is_the_logsumexp_of_a_softmax_over_the_wrong_axis():
    for proof in proofs():
        odd = {mistake for pair in proof.twins if pair.kind == "shape" for mistake in (pair.a, pair.b)}
        assert not odd or (
            proof.feature == "logsumexp" and all("row-max" in m.steps or "row-sum" in m.steps for m in odd)
        )


EVERYWHERE = [
    pair for pair in SAME if not {"row-max-added", "mask-fill-tiny", "mask-fill-minus-tiny"} & set(pair)
]


@pytest.mark.parametrize("pair", EVERYWHERE, ids="=".join)
def test_two_mistakes_are_called_the_same_only_where_they_are_on_any_input(pair):
    """Looked for on other inputs: of the same feature, at the steps where they are called the same."""
    both = tuple((mistake_named(id),) for id in pair)
    proven = [proof for proof in proofs() if pair in {(twins.a.id, twins.b.id) for twins in proof.twins}]
    assert proven
    for proof in proven:
        step = proof.feature if proof.feature in ("logsumexp", "weights") else "output"
        for seed in range(20):
            problem = like(proof.feature, seed)
            if all(can_show(problem, step, mistake) for (mistake,) in both):
                made = numbers_of(problem, step, None, both)
                assert alike(made.values[:1], made.values[1:], made.sure).all(), (proof.feature, seed)


def like(feature, seed):
    """A small problem of that feature, drawn otherwise than the battery draws."""
    dice = random.Random(seed)
    masks = {"mask-bool": "bool", "mask-float": "float"}
    options = {
        "scale": {"scale": dice.uniform(0.1, 2)},
        "causal": {"causal": True},
        "window": {"window": (dice.randrange(3), dice.randrange(3))},
        "lengths": {"lengths": [dice.randrange(1, 6) for _ in range(2)]},
        "softcap": {"softcap": dice.uniform(0.5, 3)},
        "alibi": {"alibi": True},
        "sink": {"sink": dice.uniform(-1, 1)},
    }
    Tq = dice.randrange(1, 6)
    T = {"Tq": Tq, "Tk": dice.randrange(Tq, 6)} if feature == "cache" else {"Tq": 5, "Tk": 5}
    H, Hkv = (4, 2) if feature == "grouped-heads" else (2, 2)
    return Recipe(
        B=2, H=H, Hkv=Hkv, **T, D=4, mask=masks.get(feature), options=options.get(feature, {})
    ).draw(seed)


# ---------------------------------------------------------------- nothing is left out


def some_problem(seed):
    """Sizes and options as they come: equal or not, with or without each option."""
    dice = random.Random(seed)
    H, Hkv, B = dice.choice([(1, 1, 1), (2, 2, 2), (3, 3, 3), (6, 2, 2), (6, 3, 1), (4, 1, 2), (4, 2, 2)])
    Tq, Tk, D, Dv = sizes = [dice.randrange(1, 7) for _ in range(4)]
    if dice.random() < 0.3:
        Tk = D = Dv = Tq
    options = {
        "causal": True,
        "window": (dice.choice([0, 1, 2, None]), dice.choice([0, 1, None])),
        "softcap": 1.3,
        "alibi": True,
        "sink": [0.5 * h for h in range(H)],
        "scale": 0.4,
        "offset": dice.choice([0, 1, 2]),
        "lengths": [dice.randrange(1, sizes[1] + 1) for _ in range(B)],
    }
    chosen = {name: value for name, value in options.items() if dice.random() < 0.25}
    mask = dice.choice([None, None, "bool", "float", "padding"])
    return Recipe(B=B, H=H, Hkv=Hkv, Tq=Tq, Tk=Tk, D=D, Dv=Dv, mask=mask, options=chosen).draw(seed)


def test_no_other_problem_of_these_features_can_hold_a_mistake_that_the_battery_never_shows():
    shown = {mistake for proof in proofs() for mistake in proof.shown}
    others = [m for m in CATALOGUE if m not in shown and m.parameter is None]
    for seed in range(400):
        try:
            problem = some_problem(seed)
        except HeadworkError:  # options that contradict one another
            continue
        for step in ("output", "weights", "logsumexp"):
            assert [m.id for m in others if reaches(m, step) and can_show(problem, step, m)] == [], seed


def test_packed_heads_show_what_goes_wrong_when_they_are_split_and_joined():
    (proof,) = prove([as_packed(case) for case in part(battery(), "basic")])
    splits = {
        m for m in HEADS_MISTAKES if m.parameter is None and {"split-query", "merge-heads"} & set(m.steps)
    }
    assert len(splits) >= 8
    assert splits <= set(proof.shown)
    assert proof.invisible == ()


# ---------------------------------------------------------------- the proof sees what is missing

NEEDED = [
    # the cases without which something hides, what hides then, why
    ("basic/low-scores", "row-max-floor", "no other row lies below −50000"),
    ("mask-bool/low-scores", "mask-fill-minus-1e4", "no other allowed score lies below −10000"),
    ("mask-bool/odd-padding", "mask-lets-nan-through", "no other masked key is NaN"),
    ("window/behind", "window-on-both-sides", "the others look ahead, or are causal"),
    ("softcap/biased", "softcap-after-bias", "no other cap stands before a bias"),
]


@pytest.mark.parametrize(("id", "mistake", "why"), NEEDED)
def test_without_a_case_its_mistake_is_missing_or_listed(id, mistake, why):
    feature = id.partition("/")[0]
    cases = part(battery(), feature)
    whole, less = (prove(chosen)[0] for chosen in (cases, [case for case in cases if case.id != id]))
    assert mistake in ids(whole.shown)
    assert mistake not in ids(less.shown)


# ---------------------------------------------------------------- fewer sizes

LOST = [
    # sizes, some of what cannot be seen any more, some that still can, why
    (
        "Tq=Tk",
        {"causal-top-left-for-bottom-right"},
        {"mask-transposed"},
        "alignment shows where Tq is not Tk",
    ),
    ("B=1; H=1", {"heads-summed", "gqa-tile", "softmax-over-heads"}, {"scale-missing"}, "one head"),
    ("Dv=D", {"scale-by-value-width"}, {"scale-by-key-count"}, "√d_v is √d_k"),
    ("D=16", {"scale-whole-root"}, {"scale-missing"}, "√16 is whole"),
]


@pytest.mark.parametrize(("sizes", "gone", "there", "why"), LOST)
def test_fewer_sizes_lose_what_they_cannot_show(sizes, gone, there, why):
    found = ids(each.mistake for each in lost(battery(), battery(sizes=sizes)))
    assert gone - {"softmax-over-heads"} <= found
    assert not there & found


def test_what_is_lost_names_the_case_that_would_show_it():
    (found,) = [
        each for each in lost(battery(), battery(sizes="Dv=D")) if each.mistake.id == "scale-by-value-width"
    ]
    assert found.case.sizes["Dv"] != found.case.sizes["D"]
    assert found.to_dict()["case"] == found.case.id


def test_nothing_is_lost_where_nothing_is_left_out():
    assert lost(battery(), battery()) == ()


def test_what_is_lost_is_what_a_whole_proof_finds():
    """`lost` gives up early and looks at some queries of large cases; a proof looks at everything."""
    whole, left = (part(battery(sizes=sizes), "basic", "mask-bool", "window") for sizes in ("", "Tq=Tk; D%8"))
    before, still = ({m for proof in prove(cases) for m in proof.shown} for cases in (whole, left))
    assert ids(each.mistake for each in lost(whole, left)) == ids(m for m in before - still if not m.narrow)
