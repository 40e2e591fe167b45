"""Every record of the catalogue: it is complete, it shows where it says, and hides where it says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from headwork.mechanism.fields import INPUTS
from headwork.mechanism.steps import STEPS
from headwork.mistakes.catalogue import CATALOGUE, TOPICS
from headwork.mistakes.mistake import Mistake, Reading
from headwork.mistakes.wrong_run import can_be_made, run_wrong

REPORTED = Path(__file__).parents[1] / "data" / "reported_bugs.jsonl"
ORDER = [step.name for step in STEPS]
WRITES = {step.name: step.writes for step in STEPS}
STEP_OF = dict.fromkeys(INPUTS, -1) | {name: at for at, step in enumerate(STEPS) for name in step.writes}
GIVES = ("output", "logsumexp")  # what comes out in the end
SHOWS = 1e-3  # seen at three digits
NARROW_SHOWS = 1e-8  # arithmetic in float32 errs by about 1e-7, and float64 by 1e-16
HIDES = 1e-9
FEW = 12  # numbers of a family that are tried

each_mistake = pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
replacing = pytest.mark.parametrize(
    "mistake", [m for m in CATALOGUE if m.rewrite is None], ids=lambda mistake: mistake.id
)
families = pytest.mark.parametrize(
    "mistake", [m for m in CATALOGUE if m.parameter is not None], ids=lambda mistake: mistake.id
)


# ---------------------------------------------------------------- the records


def texts() -> Iterator[tuple[str, Mistake | Reading]]:
    for mistake in CATALOGUE:
        yield from ((one.id, one) for one in (mistake, *mistake.readings))


def faults(pattern: str, *fields: str, unless: bool = False) -> list[str]:
    """Ids whose fields match the pattern (or, with `unless`, do not)."""
    return [
        f"{id}: {field}: {text}"
        for id, one in texts()
        for field in fields
        if (text := getattr(one, field, None)) is not None and bool(re.search(pattern, text)) is not unless
    ]


def test_every_id_is_there_once():
    ids = [id for id, _ in texts()]
    assert [id for id in ids if ids.count(id) > 1] == []


def test_every_id_is_lower_case_with_hyphens():
    assert faults(r"^[a-z0-9]+(-[a-z0-9]+)*$", "id", unless=True) == []


def test_every_field_is_filled():
    filled = r"^\S(.*\S)?$"
    assert faults(filled, "title", "formula", "why", "mend", "hides_when", "source", unless=True) == []


def test_titles_complete_a_sentence_and_the_rest_are_sentences():
    assert faults(r"^[a-z].*[^.]$", "title", unless=True) == []
    assert faults(r"[.…]$", "why", "mend", unless=True) == []
    assert faults(r"[^.]$", "hides_when", unless=True) == []


def test_no_two_names_have_the_same_title():
    titles = [one.title for _, one in texts()]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []


def test_nothing_is_called_simple():
    words = r"(?i)\b(just|simply|obvious(ly)?|trivial(ly)?|merely|of course)\b"
    assert faults(words, "title", "why", "mend", "hides_when") == []


def test_a_report_is_cited_as_owner_repo_number():
    assert faults(r"^[^#]+$|^[\w.-]+/[\w.-]+#\d+\b", "source", unless=True) == []


def test_braces_and_bars_of_formulas_are_balanced():
    for mistake in CATALOGUE:
        bare = re.sub(r"\\[{}]", "", mistake.formula)
        depths = np.cumsum([(c == "{") - (c == "}") for c in bare] or [0])
        assert depths.min() >= 0, mistake.id
        assert depths[-1] == 0, mistake.id
        assert mistake.formula.count(r"\left(") == mistake.formula.count(r"\right)"), mistake.id
        assert "$" not in mistake.formula, mistake.id


def test_topics_are_in_the_order_of_the_files_that_they_are_named_after():
    assert [topic.id for topic in TOPICS] == [
        *(
            "projection",
            "heads",
            "rope",
            "scores",
            "scale",
            "softcap",
            "alibi",
            "masking",
            "causal",
            "windows",
        ),
        *("softmax", "sinks", "blending", "merging", "dropout", "numerics"),
    ]
    assert tuple(mistake for topic in TOPICS for mistake in topic.mistakes) == CATALOGUE


def test_a_mistake_replaces_steps_or_rewrites_the_problem():
    for mistake in CATALOGUE:
        assert bool(mistake.wrong) is not (mistake.rewrite is not None), mistake.id
        assert set(mistake.wrong) <= set(ORDER), mistake.id


def test_wrong_versions_read_what_is_there_when_they_run():
    for mistake in CATALOGUE:
        for step in mistake.steps:
            late = [n for n in mistake.version(step).reads if STEP_OF[n] >= ORDER.index(step)]
            assert late == [], f"{mistake.id} at {step}"


CONVENTIONS = {
    "alibi-by-key-index", "causal-bottom-right-for-top-left", "causal-top-left-for-bottom-right",
    "fully-masked-row-nan", "fully-masked-row-uniform", "fully-masked-row-unmasked", "logsumexp-base-2",
    "logsumexp-empty-row-inf", "mask-polarity", "mask-repeat-order",
    "mask-repeat-order-heads-first", "pad-mask-on-queries-too",
    "rope-pairing", "window-one-too-few", "window-one-too-few-on-both-sides", "window-one-too-many",
    "window-one-too-many-on-both-sides", "window-right-one-too-few", "window-right-one-too-many",
}  # fmt: skip


def test_conventions_are_those_that_good_systems_differ_in():
    """docs/conventions.md: alignment, polarity, empty rows, counting, pairing, base, order of masks."""
    assert {m.id for m in CATALOGUE if m.convention} == CONVENTIONS


def test_only_arithmetic_in_fewer_bits_is_rounding():
    narrow = {m.id for m in CATALOGUE if m.narrow}
    arithmetic = {m.id for topic in TOPICS if topic.id == "numerics" for m in topic.mistakes}
    assert narrow
    assert narrow <= arithmetic
    assert not any(m.narrow and m.convention for m in CATALOGUE)


def test_every_reported_kind_is_in_the_catalogue():
    with REPORTED.open(encoding="utf-8") as lines:
        kinds = {json.loads(line)["kind"].replace("_", "-") for line in lines}
    assert len(kinds) > 30
    assert kinds - {id for id, _ in texts()} == set()


# ---------------------------------------------------------------- what they do


def apart(a, b) -> float:
    """The largest difference; infinite where a number meets a symbol, or the sizes differ."""
    if any(m != n and 1 not in (m, n) for m, n in zip(a.shape, b.shape, strict=False)):
        return np.inf
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(a.astype(np.float64) - b.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype != bool else a == b
    return float(np.max(np.where(same, 0, np.where(np.isfinite(off), off, np.inf)), initial=0))


def numbers(mistake: Mistake, problem) -> list[float | None]:
    """Some numbers for the rule of a family, none of them the right one; None where it has no number."""
    if mistake.parameter is None:
        return [None]
    right = mistake.parameter.right(problem)
    tried = [
        theta for theta in mistake.parameter.values(problem) if right is None or abs(theta - right) > 1e-9
    ]
    return tried[:: max(len(tried) // FEW, 1)]


def differences(mistake: Mistake, problem, theta: float | None) -> dict[str, float]:
    """How far each field is from the right one."""
    right, wrong = run_wrong(problem, ()), run_wrong(problem, (mistake,), theta)
    own = {name for step in mistake.steps for name in WRITES[step]}
    return {
        name: apart(right[name], wrong[name]) for name in right if name in wrong and name in {*own, *GIVES}
    }


@each_mistake
def test_it_shows_on_its_witness(mistake):
    problem = mistake.witness.draw()
    assert can_be_made(problem, mistake)
    shows = NARROW_SHOWS if mistake.narrow else SHOWS
    most: dict[str, float] = {}
    for theta in numbers(mistake, problem):
        for name, off in differences(mistake, problem, theta).items():
            most[name] = max(most.get(name, 0), off)
    assert max(most.values()) > shows
    in_the_end = max((most[name] for name in GIVES if name in most), default=0)
    assert in_the_end > shows or "always" in mistake.hides_when, "its effect is lost on the way"


@each_mistake
def test_it_hides_in_its_blind_spot(mistake):
    if mistake.blind_spot is None:
        is_said = re.search(r"\b(never|always)\b", mistake.hides_when)
        assert is_said or mistake.parameter, "without a blind spot, hides_when says why"
        return
    problem = mistake.blind_spot.draw()
    if not can_be_made(problem, mistake):
        return  # what is not there cannot be got wrong
    gives = "logsumexp" if mistake.steps == ("logsumexp",) else "output"
    seen = [differences(mistake, problem, theta)[gives] for theta in numbers(mistake, problem)]
    assert min(seen) <= HIDES  # of a family, one number at least


@replacing
def test_stacked_fields_give_what_each_gives_alone(mistake):
    """The search works out many hypotheses at once: fields come with one more axis in front."""
    problem = mistake.witness.draw()
    theta = numbers(mistake, problem)[0]
    fields = run_wrong(problem, (mistake,), theta)
    for step in mistake.steps:
        version = mistake.version(step)
        call = (problem,) if mistake.parameter is None else (problem, theta)
        whole = [with_all_axes(problem, fields[name]) for name in version.reads]
        pairs = [(field, another(field)) for field in whole]
        with np.errstate(all="ignore"):  # overflow is what some of them are about
            alone = [as_tuple(version.run(*call, *inputs)) for inputs in zip(*pairs, strict=True)]
            stacked = as_tuple(version.run(*call, *map(np.stack, pairs)))
        for at, together in enumerate(stacked):
            for side, results in enumerate(alone):
                assert apart(results[at], one_of(together, side, results[at].ndim)) <= HIDES


@families
def test_stacked_numbers_give_what_each_gives_alone(mistake):
    problem = mistake.witness.draw()
    thetas = np.array(numbers(mistake, problem)[:5])
    together = run_wrong(problem, (mistake,), thetas.reshape(-1, *(1,) * (len(problem.batch) + 3)))
    for at, theta in enumerate(thetas):
        alone = run_wrong(problem, (mistake,), float(theta))
        for name in {name for step in mistake.steps for name in WRITES[step]} | {*GIVES}:
            if name in alone:
                assert apart(alone[name], one_of(together[name], at, alone[name].ndim)) <= HIDES, name


def with_all_axes(problem, field):
    """Masks and biases may come with fewer axes than (…, H, Tq, Tk)."""
    is_packed = field.ndim == len(problem.batch) + 2
    axes = len(problem.batch) + (2 if is_packed else 3)
    return field.reshape(*(1,) * (axes - field.ndim), *field.shape) if field.ndim < axes else field


def another(field):
    """Other numbers of the same kind and shape."""
    return (
        np.roll(field, 1, axis=-1)
        if field.dtype == bool
        else field * field.dtype.type(0.5) + field.dtype.type(0.25)
    )


def one_of(stacked, index: int, axes: int):
    """One of the stacked results; a result that depends on nothing stacked may have no axis for it."""
    if stacked.ndim <= axes:
        return stacked
    return stacked[index if len(stacked) > 1 else 0]


def as_tuple(made) -> tuple:
    return made if isinstance(made, tuple) else (made,)
