"""The trace against 40-digit decimals over every option, where it may start, and the shapes of results."""

import pickle
from typing import Any

import drawn_problems
import numpy as np
import pytest
import reference
from hypothesis import given, strategies as st

from headwork import Problem, trace
from headwork.mechanism.fields import FIELDS, axes_of, canonical, in_kind
from headwork.mechanism.steps import STEPS
from headwork.mechanism.tracing import run, seeds

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
FIELDS_CHECKED = ("scores", "scaled", "masked", "weights", "logsumexp", "output")


@given(drawn_problems.records(without=("chunks",)))
def test_every_step_agrees_with_40_digits(record):
    problem = Problem(**record)
    work = trace(problem)
    for index in np.ndindex(*problem.batch, problem.H):
        right = one_head(problem, record, index)
        for name in FIELDS_CHECKED:
            got = work[name] if problem.single else work[name][index]
            np.testing.assert_allclose(got, floats(right[name]), err_msg=name, **CLOSE)


def one_head(problem: Problem, record: dict[str, Any], index: tuple[int, ...]) -> dict[str, list[Any]]:
    """The reference's answer for one batch element and query head: its options, picked out of the record."""
    batch, h = index[:-1], index[-1]
    kv = (*batch, h // (problem.H // problem.Hkv))
    here = () if problem.single else index
    scores = (*problem.batch, problem.H, problem.Tq, problem.Tk)
    masks = [np.broadcast_to(mask, scores)[index].tolist() for mask in record.get("mask", [])]
    kept = [mask for mask in masks if isinstance(mask[0][0], bool)]
    added = [mask for mask in masks if not isinstance(mask[0][0], bool)]
    offset = 0 if record.get("causal") == "upper_left" else pick(record, "offset", problem.batch, batch)
    sink = pick(record, "sink", (problem.H,), (h,))
    return reference.attention(
        reference.exact(record["query"][here].tolist()),
        reference.exact(record["key"][kv if here else ()].tolist()),
        reference.exact(record["value"][kv if here else ()].tolist()),
        scale=optional(record.get("scale")),
        softcap=optional(record.get("softcap")),
        slope=reference.Decimal(slope(record.get("alibi", 0.0), h, problem.H)),
        added=reference.exact(added[0]) if added else None,
        kept=kept[0] if kept else None,
        causal=bool(record.get("causal")),
        offset=offset,
        window=record.get("window", (None, None)),
        length=pick(record, "lengths", problem.batch, batch),
        sink=optional(sink),
        rope=rope_in_full(record["rope"], problem.D) if "rope" in record else None,
    )


def pick(record: dict[str, Any], name: str, shape: tuple[int, ...], index: tuple[int, ...]) -> Any:
    return np.broadcast_to(record[name], shape)[index].item() if name in record else None


def optional(number: float | None) -> Any:
    return None if number is None else reference.Decimal(number)


def rope_in_full(rope: Any, D: int) -> dict[str, Any]:
    full = {"base": 10000, "pairing": "half", "dim": D} | ({} if rope is True else rope)
    return full | {"base": reference.Decimal(full["base"])}


def slope(alibi: Any, h: int, H: int) -> float:
    """Published slopes, written out for the numbers of heads that are drawn (powers of two, 3 and 6)."""
    published = {
        1: [-8], 2: [-4, -8], 3: [-4, -8, -2], 4: [-2, -4, -6, -8], 6: [-2, -4, -6, -8, -1, -3],
    }  # fmt: skip
    if alibi is True:
        return 2.0 ** published[H][h]
    return float(np.broadcast_to(alibi, H)[h])


def floats(values: Any) -> Any:
    return (
        [floats(v) for v in values]
        if isinstance(values, list)
        else -np.inf
        if values is None
        else float(values)
    )


# --- where the work may start ---------------------------------------------------------------------


SCORING = ("scale", "softcap", "alibi", "causal", "offset", "window", "lengths", "mask")
STARTS = [
    # start    options that act before it
    ("scores", ()),
    ("scaled", ("scale",)),
    ("masked", SCORING),
    ("weights", (*SCORING, "sink", "chunks")),
]


@pytest.mark.parametrize(("start", "before"), STARTS)
@given(record=drawn_problems.records(without=("rope",)))
def test_starting_in_the_middle_gives_the_rest(start, before, record):
    whole = trace(Problem(**record))
    rest = {name: value for name, value in record.items() if name not in (*before, "query", "key")}
    if start == "scores" and "scale" not in rest:
        rest["head_dim"] = record["query"].shape[-1]
    middle = trace(Problem(given={start: whole[start]}, **rest))
    assert "query" not in middle
    for field in set(middle) - {"bias", "allowed"}:
        np.testing.assert_allclose(middle[field], whole[field], err_msg=field, **CLOSE)


def test_steps_before_the_start_are_absent():
    work = trace(Problem(given={"masked": [[1.0, 2.0]]}, value=[[1.0], [2.0]]))
    assert [step.name for step in work.steps] == [
        "row-max",
        "exponentials",
        "row-sum",
        "weights",
        "logsumexp",
        "blend",
    ]
    assert not {"scores", "scaled", "query"} & set(work)
    with pytest.raises(AttributeError, match="this trace has no 'scores'; it has"):
        _ = work.scores


def test_without_values_the_work_ends_at_the_weights():
    work = trace(Problem(given={"scaled": [[1.0, 1.0]]}))
    assert work.weights.tolist() == [[0.5, 0.5]]
    assert "output" not in work


def test_minus_infinity_in_given_masked_scores_hides_the_value_too():
    work = trace(Problem(given={"masked": [[0.0, -np.inf]]}, value=[[1.0], [np.nan]]))
    assert work.output.tolist() == [[1.0]]


# --- what a trace looks like ----------------------------------------------------------------------

STEPS_ASKED = [
    ({}, "scores scale row-max exponentials row-sum weights logsumexp blend"),
    (
        {"causal": True, "softcap": 2.0, "alibi": 1.0},
        "scores scale softcap bias add-bias allow mask row-max exponentials row-sum weights logsumexp blend",
    ),
    (
        {"chunks": [1, 1]},
        "scores scale row-max exponentials row-sum weights logsumexp attend-parts merge-parts",
    ),
    (
        {"rope": True, "heads": 1, "w_output": np.eye(2)},
        "split-query split-key split-value rotate-query rotate-key scores scale "
        "row-max exponentials row-sum weights logsumexp blend merge-heads project-output",
    ),
]


@pytest.mark.parametrize(("options", "names"), STEPS_ASKED)
def test_the_steps_are_those_that_the_problem_asks_for(options, names):
    work = trace(Problem(query=np.ones((2, 2)), key=np.ones((2, 2)), value=np.ones((2, 2)), **options))
    assert [step.name for step in work.steps] == names.split()
    record = work.to_dict()
    assert [step["name"] for step in record["steps"]] == names.split()
    assert all(step["fields"] for step in record["steps"])


@given(drawn_problems.records())
def test_results_come_in_the_kind_of_the_arrays(record):
    work = trace(Problem(**record))
    *lead, Tq, D = record["query"].shape
    Tk, Dv = record["value"].shape[-2:]
    for name in ("scores", "scaled", "masked", "exponentials", "weights", "allowed", "bias"):
        assert work[name].shape == (*lead, Tq, Tk)
    assert work.row_max.shape == work.row_sum.shape == work.logsumexp.shape == (*lead, Tq)
    assert work.output.shape == (*lead, Tq, Dv)
    assert work.query.shape == (*lead, Tq, D)


@given(drawn_problems.records())
def test_canonical_undoes_in_kind(record):
    work = trace(Problem(**record))
    for name in work:
        if name not in ("bias", "allowed"):  # kept as small as they were given
            seen = in_kind(work.problem, name, work.fields[name])
            np.testing.assert_array_equal(canonical(work.problem, name, seen), work.fields[name])
            batch_and_parts = len(work.problem.batch)
            assert seen.ndim == batch_and_parts + len(axes_of(work.problem, name))


@given(drawn_problems.records(without=("chunks",)), st.sampled_from(["scores", "scaled", "weights"]))
def test_run_keeps_what_it_is_told_and_works_out_what_follows(record, name):
    problem = Problem(**record)
    known = seeds(problem) | {name: np.full_like(trace(problem).fields[name], 0.5)}
    fields = run(problem, known)
    assert (fields[name] == 0.5).all()
    if name == "weights":
        half = 0.5 * np.repeat(problem.value, problem.H // problem.Hkv, axis=-3).sum(axis=-2, keepdims=True)
        np.testing.assert_allclose(fields["output"], np.broadcast_to(half, fields["output"].shape), **CLOSE)


def test_every_field_has_one_description_and_one_step_that_gives_it():
    described = [field.name for field in FIELDS]
    assert len(set(described)) == len(described)
    assert set(described) - {"x", "x_key"} <= {name for step in STEPS for name in step.writes}


def test_a_trace_survives_pickling():
    work = trace([[1.0]], [[1.0]], [[2.0]])
    assert pickle.loads(pickle.dumps(work)).output.tolist() == [[2.0]]
    assert not hasattr(work, "nothing")
    assert "nothing" not in work
