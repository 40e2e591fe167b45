"""The smallest set of mistakes that gives exactly somebody's numbers."""

import numpy as np
import pytest
from made import BY_ID
from three_tokens import SCORES, VALUE, softmax, three_tokens

from headwork import Problem, diagnose, trace
from headwork.diagnosis.search import NAMED, applicable, cost, families, makeable, narrow_ones

CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
FORBIDDEN = [[False, True, True], [True, False, False], [False, True, False]]
NO_ROW = {"mask": [[False] * 3, [True] * 3, [True] * 3]}
OUT = np.array(VALUE)


def first(problem: Problem, answer, step: str, digits: int | None = 3):
    found = diagnose(problem, answer if digits is None else np.round(answer, digits), step, digits)
    return found.verdict, found.mistakes[0] if found.mistakes else ()


NAMED_BY_HAND = [
    # verdict, mistakes, step, answer, problem
    ("mistake", ("scale-missing",), "weights", softmax(SCORES), {}),
    ("mistake", ("softmax-over-queries",), "output", softmax(SCORES / 2, axis=0) @ OUT, {}),
    ("mistake", ("scale-missing", "softmax-over-queries"), "weights", softmax(SCORES, axis=0), {}),
    ("mistake", ("causal-skipped",), "weights", softmax(SCORES / 2), {"causal": True}),
    ("mistake", ("mask-fill-zero",), "weights", softmax(np.where(CAUSAL, SCORES / 2, 0)), {"causal": True}),
    ("mistake", ("scale-d-k-instead-of-sqrt",), "scaled", SCORES / 4 + 0, {"causal": True}),
    ("mistake", ("scale-by-another-number",), "weights", softmax(SCORES / 3.3), {}),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "mistakes", "step", "answer", "options"), NAMED_BY_HAND)
def test_what_was_done_by_hand_is_what_is_found(verdict, mistakes, step, answer, options):
    problem = three_tokens(**options)
    if step == "scaled":  # few short numbers: a fact that fits
        verdict = "consistent"
    assert first(problem, answer, step) == (verdict, mistakes)


CONVENTIONS = [
    # what good systems do differently      step       answer                                problem
    ("fully-masked-row-nan", "weights", np.vstack([[np.nan] * 3, softmax(SCORES / 2)[1:]]), NO_ROW),
    ("fully-masked-row-uniform", "weights", np.vstack([[1 / 3] * 3, softmax(SCORES / 2)[1:]]), NO_ROW),
    ("logsumexp-base-2", "logsumexp", np.log2(np.exp(SCORES / 2).sum(axis=1)), {}),
    ("mask-polarity", "weights", softmax(np.where(FORBIDDEN, -np.inf, SCORES / 2)), {"mask": FORBIDDEN}),
]  # fmt: skip


def test_rules_that_always_give_equal_numbers_are_one_finding_each_with_its_own_number():
    """e^(s/3.3) = b^(s/2) with b = e^(2/3.3)."""
    found = diagnose(three_tokens(), np.round(softmax(SCORES / 3.3), 6), "weights", 6)
    assert found.mistakes == (("scale-by-another-number",), ("softmax-another-base",))
    (finding,) = found.findings
    thetas = [finding.theta_of(reading) for reading in finding.readings]
    assert thetas == pytest.approx([3.3, np.exp(2 / 3.3)], rel=1e-4)
    assert found.to_dict()["mistakes"][0]["thetas"] == thetas


@pytest.mark.parametrize(("id", "step", "answer", "options"), CONVENTIONS)
def test_a_convention_is_never_called_a_mistake(id, step, answer, options):
    assert first(three_tokens(**options), answer, step) == ("convention", (id,))


def test_beside_a_convention_a_mistake_that_gives_the_same_digits_is_told():
    """Key 1 scores −9: who left the window out, or made it one wider, writes e⁻⁹ = 0.0001 as 0.000."""
    problem = Problem(query=np.ones((3, 1)), key=[[-9.0], [0.0], [0.0]], causal=True, window=(0, None))
    found = diagnose(problem, "1 0 0; 0 1 0; 0 0.5 0.5", "weights", 3)
    assert (found.verdict, found.mistakes[0]) == ("convention", ("window-one-too-many",))
    assert ("window-ignored",) in found.mistakes
    assert found.sentence.startswith("These are the right numbers under another convention")


def test_a_convention_beside_a_mistake_costs_nothing():
    strict = np.tril(np.ones((3, 3), dtype=bool), -1)
    with np.errstate(all="ignore"):
        weights = softmax(np.where(strict, SCORES / 2, -np.inf))  # row 1 sees nothing: 0/0
    verdict, mistakes = first(three_tokens(causal=True), weights, "weights")
    assert (verdict, set(mistakes)) == ("mistake", {"causal-strict", "fully-masked-row-nan"})
    assert cost(tuple(BY_ID[id] for id in mistakes)) == (1, 1)


def test_one_mistake_is_never_told_as_two():
    """Every single mistake that shows at the weights: whatever explains it is one mistake."""
    problem = three_tokens(causal=True)
    right = trace(problem)["weights"]
    for scale in (1, 1 / 4, 2, 1 / 8):
        answer = softmax(np.where(CAUSAL, SCORES * scale, -np.inf))
        assert not np.allclose(answer, right)
        found = diagnose(problem, np.round(answer, 3), "weights", 3)
        assert {len(reading) for reading in found.mistakes} == {1}


def test_rules_that_give_equal_numbers_are_one_finding_and_all_are_listed():
    square = Problem(
        query=[[1.0, 2, 3], [0.5, 1, -1], [2, 0, 1]],
        key=[[1.0, 0, 2], [2, 1, 1], [0, 1, -1]],
        value=np.eye(3),
    )
    answer = np.array(square.query[0] @ square.key[0].T) / 3  # Tq = Tk = d_k = 3
    found = diagnose(square, answer, "scaled", 3)
    readings = found.findings[0].readings
    assert len(found.findings) == 1
    assert readings[0] == (BY_ID["scale-d-k-instead-of-sqrt"],)  # what learners do comes first
    assert all(BY_ID["scale-d-k-instead-of-sqrt"].typical >= each[0].typical for each in readings)


def test_what_a_problem_cannot_show_is_not_tried():
    plain, causal = three_tokens(), three_tokens(causal=True)
    ids = {mistake.id for mistake in makeable(plain, "output")}
    assert "causal-skipped" not in ids
    assert "causal-skipped" in {mistake.id for mistake in makeable(causal, "output")}
    assert "weights-transposed" not in {mistake.id for mistake in makeable(plain, "scaled")}


def test_what_is_given_cannot_have_been_got_wrong():
    given = Problem(given={"scaled": (SCORES / 2).tolist()}, value=VALUE)
    ids = {mistake.id for mistake in makeable(given, "output")}
    assert not {"scale-missing", "query-not-scaled"} & ids
    assert "softmax-over-queries" in ids


def test_where_nothing_is_blended_there_are_no_values_to_get_wrong():
    matrices = {name: np.eye(4).tolist() for name in ("w_query", "w_key")}
    scores_only = Problem(x=np.arange(12.0).reshape(3, 4) / 4, **matrices, heads=2)
    written = {name for mistake in makeable(scores_only, "weights") for name in mistake.steps}
    assert "scores" in written
    assert not {"split-value", "repeat-value", "blend"} & written


def test_rules_with_numbers_narrow_arithmetic_and_plain_rules_are_told_apart():
    problem = three_tokens()
    groups = [applicable(problem, "output"), families(problem, "output"), narrow_ones(problem, "output")]
    assert sorted(m.id for group in groups for m in group) == sorted(
        m.id for m in makeable(problem, "output")
    )
    assert all(groups)


@pytest.mark.parametrize(
    "step",
    ["scores", "bias", "scaled", "row_max", "exponentials", "row_sum", "weights", "logsumexp", "output"],
)
def test_a_problem_with_nothing_left_to_get_wrong_crashes_nowhere(step):
    problem = Problem(given={"masked": [[0.25, 0.75], [0.5, 0.5]]})
    for answer in ([[9.0, 7.1], [8.0, 3.3]], [9.0, 8.0]):
        assert diagnose(problem, answer, step).verdict in ("unexplained", "invalid", "consistent")


def test_two_keys_and_one_query_say_too_little_to_name():
    """One degree of freedom: 7 to 25 % of random answers match something."""
    problem = Problem(query=[[1.0, 1.0]], key=[[1.0, 0.0], [0.0, 2.0]], value=[[1.0], [0.0]])
    answer = softmax(np.array([[1.0, 2.0]]))  # the scale is missing
    found = diagnose(problem, np.round(answer, 3), "weights", 3)
    assert found.verdict == "consistent"
    assert ("scale-missing",) in found.mistakes
    assert all(finding.bits < NAMED for finding in found.findings)


def test_dropout_is_read_off_the_weights():
    weights = softmax(SCORES / 2)
    keep = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]])
    assert first(three_tokens(), weights * keep / 0.75, "weights", None) == (
        "mistake",
        ("dropout-at-inference",),
    )


def test_random_numbers_are_seldom_explained_and_never_named(rng):
    problem = Problem(**{name: rng.normal(size=(4, 4)).round(1) for name in ("query", "key", "value")})
    verdicts = [diagnose(problem, rng.normal(size=(4, 4)).round(3), "output", 3).verdict for _ in range(60)]
    assert "mistake" not in verdicts
