"""What holds for every attention problem, whatever its numbers."""

from typing import Any

import drawn_problems
import numpy as np
from drawn_problems import POSITIONAL, records
from hypothesis import assume, given, strategies as st

from headwork import Problem, Trace, trace

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def worked(record: dict[str, Any], **changes: Any) -> Trace:
    return trace(Problem(**(record | changes)))


def assert_same(one: Trace, other: Trace) -> None:
    for field in ("weights", "logsumexp", "output"):
        np.testing.assert_allclose(one[field], other[field], err_msg=field, **CLOSE)


# --- softmax --------------------------------------------------------------------------------------


@given(records())
def test_a_row_of_weights_sums_to_1_with_the_sink_and_to_0_where_nothing_may_be_seen(record):
    work = worked(record)
    total = work.weights.sum(axis=-1)
    if "sink" in record:
        sink = np.broadcast_to(record["sink"], (work.problem.H,))
        share = np.exp((sink[0] if work.problem.single else sink[:, None]) - work.logsumexp)
        np.testing.assert_allclose(total + share, 1, **CLOSE)
    else:
        np.testing.assert_allclose(total, work.allowed.any(axis=-1), **CLOSE)
        assert (np.isneginf(work.logsumexp) == ~work.allowed.any(axis=-1)).all()


@given(records())
def test_weights_are_the_exponentials_of_the_masked_scores_less_their_logsumexp(record):
    work = worked(record)
    lse = np.where(np.isneginf(work.logsumexp), 0, work.logsumexp)
    np.testing.assert_allclose(work.weights, np.exp(work.masked - lse[..., None]), **CLOSE)


@given(records(without=("sink",)), st.floats(-50, 50))
def test_adding_a_number_to_a_row_of_scores_changes_only_its_logsumexp(record, shift):
    work = worked(record)
    rest = {name: record[name] for name in ("value", "chunks") if name in record}
    moved = trace(Problem(given={"masked": work.masked + shift}, **rest))
    np.testing.assert_allclose(moved.weights, work.weights, atol=1e-12, rtol=1e-11)
    np.testing.assert_allclose(moved.output, work.output, atol=1e-12, rtol=1e-11)
    np.testing.assert_allclose(moved.logsumexp, work.logsumexp + shift, atol=1e-12, rtol=1e-12)


@given(records(without=("scale", "alibi")), st.floats(-2, 2))
def test_a_float_mask_of_one_number_is_a_shift_too(record, number):
    record.pop("sink", None)
    shifted = worked(record, mask=[*record.get("mask", []), np.full((1, 1), number)])
    np.testing.assert_allclose(shifted.output, worked(record).output, **CLOSE)


# --- order and independence -----------------------------------------------------------------------


@given(records(without=POSITIONAL), st.randoms(use_true_random=False))
def test_reordering_keys_and_values_together_reorders_the_weights(record, random):
    order = list(range(record["key"].shape[-2]))
    random.shuffle(order)
    work = worked(record)
    masks = [mask if mask.shape[-1] == 1 else mask[..., order] for mask in record.get("mask", [])]
    moved = worked(
        record, key=record["key"][..., order, :], value=record["value"][..., order, :], mask=masks or None
    )
    np.testing.assert_allclose(moved.weights, work.weights[..., order], **CLOSE)
    np.testing.assert_allclose(moved.output, work.output, **CLOSE)


@given(records(without=("causal", "chunks")), st.booleans())
def test_a_causal_output_never_depends_on_later_keys(record, poison):
    record["causal"] = True
    before = worked(record)
    key, value = record["key"].copy(), record["value"].copy()
    batch, Tq = before.problem.batch, before.problem.Tq
    n = np.broadcast_to(record.get("lengths", before.problem.Tk), batch)
    first = np.broadcast_to(record.get("offset", n - Tq), batch)
    last = first + Tq - 1  # the furthest key that any query may see
    for index in np.ndindex(*batch):
        later = (index, Ellipsis, slice(max(int(last[index]) + 1, 0), None), slice(None))
        here = (*index, *later[1:])
        key[here] = value[here] = np.nan if poison else 9.0
    assert_same(worked(record, key=key, value=value), before)


@given(records(batch_axes=1))
def test_batch_elements_know_nothing_of_each_other(record):
    work = worked(record)
    B = work.problem.batch[0]
    for b in range(B):
        alone = {name: x[b : b + 1] if name in ("query", "key", "value") else x for name, x in record.items()}
        for name in ("lengths", "offset"):
            if np.ndim(record.get(name, 0)):
                alone[name] = record[name][b : b + 1]
        if "mask" in record:
            alone["mask"] = [m if len(m) == 1 else m[b : b + 1] for m in record.get("mask", [])]
        for field in ("scores", "masked", "weights", "logsumexp", "output"):
            np.testing.assert_allclose(worked(alone)[field][0], work[field][b], err_msg=field, **CLOSE)


@given(records(without=("mask", "chunks")), st.data())
def test_nan_in_one_query_stays_in_its_row(record, data):
    work = worked(record)
    i = data.draw(st.integers(0, work.problem.Tq - 1))
    query = record["query"].copy()
    query[..., i, :] = np.nan
    poisoned = worked(record, query=query)
    others = np.arange(work.problem.Tq) != i
    for field in ("weights", "output"):
        np.testing.assert_array_equal(poisoned[field][..., others, :], work[field][..., others, :])
    sees = work.allowed[..., i, :].any(axis=-1)
    assert (np.isnan(poisoned.output[..., i, :]).all(axis=-1) == sees).all()


@given(records(), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_a_key_that_no_query_may_see_never_leaks(record, poison):
    work = worked(record)
    seen = work.allowed.any(axis=-2)  # (…, H, Tk), or (Tk,)
    if not work.problem.single:  # query heads share key/value heads
        seen = seen.reshape(*seen.shape[:-2], work.problem.Hkv, -1, seen.shape[-1]).any(axis=-2)
    key, value = (np.where(seen[..., None], record[name], poison) for name in ("key", "value"))
    assume(not seen.all())
    assert_same(worked(record, key=key, value=value), work)


@given(records(without=("chunks",)), st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_a_value_that_is_not_finite_reaches_only_the_rows_that_may_see_it(record, poison, data):
    work = worked(record)
    j = data.draw(st.integers(0, work.problem.Tk - 1))
    value = record["value"].copy()
    value[..., j, 0] = poison
    poisoned = worked(record, value=value)
    reached = work.allowed[..., j]
    np.testing.assert_array_equal(poisoned.output[~reached], work.output[~reached])
    assert not np.isfinite(poisoned.output[reached][..., 0]).any()
    np.testing.assert_allclose(poisoned.output[..., 1:], work.output[..., 1:], **CLOSE)


# --- two ways to the same numbers -----------------------------------------------------------------


@given(records(without=("chunks",)), st.data())
def test_cutting_the_keys_into_parts_changes_nothing(record, data):
    work = worked(record)
    parts = []
    while (left := work.problem.Tk - sum(parts)) > 0:
        parts.append(data.draw(st.integers(1, left)))
    assert_same(worked(record, chunks=parts), work)


@given(records(batch_axes=-1))
def test_matrices_and_arrays_with_one_head_agree(record):
    headed = worked({name: x[None] if name in ("query", "key", "value") else x for name, x in record.items()})
    single = worked(record)
    assert list(single) == list(headed)
    for field in single:
        parts = field in ("part_output", "part_logsumexp")
        np.testing.assert_array_equal(headed[field].squeeze(1 if parts else 0), single[field], err_msg=field)


@given(records(batch_axes=1))
def test_packed_arrays_give_the_joined_heads(record):
    def pack(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)

    apart = worked(record)
    packed = {name: pack(record[name]) for name in ("query", "key", "value")}
    together = worked(record, **packed, heads=apart.problem.H, kv_heads=apart.problem.Hkv)
    np.testing.assert_allclose(together.weights, apart.weights, **CLOSE)
    np.testing.assert_allclose(together.output, pack(apart.output), **CLOSE)
    np.testing.assert_array_equal(together.query, packed["query"])


@given(records(batch_axes=0))
def test_shared_key_heads_are_the_same_as_their_copies(record):
    shared = worked(record)
    group = shared.problem.H // shared.problem.Hkv
    copies = {name: np.stack([x for x in record[name] for _ in range(group)]) for name in ("key", "value")}
    assert_same(worked(record, **copies), shared)


@given(records(without=("lengths", "chunks", "mask"), batch_axes=0), st.data())
def test_lengths_cut_the_padding_off(record, data):
    n = data.draw(st.integers(1, record["key"].shape[-2]))
    padded = worked(record, lengths=n)
    cut = worked(record, key=record["key"][:, :n], value=record["value"][:, :n])
    np.testing.assert_allclose(padded.output, cut.output, **CLOSE)
    np.testing.assert_allclose(padded.logsumexp, cut.logsumexp, **CLOSE)
    assert (padded.weights[..., n:] == 0).all()


@given(records(without=("offset", "lengths", "chunks", "mask", "causal"), batch_axes=0), st.data())
def test_a_cache_gives_what_the_whole_sequence_gives(record, data):
    """One new query against all keys is the last row of the causal whole."""
    rng = np.random.default_rng(data.draw(drawn_problems.SEEDS))
    record["query"] = drawn_problems.numbers(rng, (len(record["query"]), *record["key"].shape[1:]))
    whole = worked(record, causal=True)
    i = data.draw(st.integers(0, whole.problem.Tk - 1))
    step = worked(
        record,
        causal=True,
        query=record["query"][:, i : i + 1],
        key=record["key"][:, : i + 1],
        value=record["value"][:, : i + 1],
    )
    np.testing.assert_allclose(step.output[:, 0], whole.output[:, i], **CLOSE)


@given(records(batch_axes=0, without=("mask", "chunks")), drawn_problems.SEEDS, st.booleans())
def test_projecting_first_and_projecting_inside_agree(record, seed, cross):
    rng = np.random.default_rng(seed)
    H, Tq, D = record["query"].shape
    Hkv, Tk, Dv = record["value"].shape
    E = 3
    x = rng.standard_normal((Tq, E))
    x_key = rng.standard_normal((Tk, E)) if cross or Tk != Tq else None
    widths = {"query": H * D, "key": Hkv * D, "value": Hkv * Dv}
    matrices = {f"w_{name}": rng.standard_normal((E, width)) for name, width in widths.items()}
    biases = {f"b_{name}": rng.standard_normal(width) for name, width in widths.items()}
    end = {"w_output": rng.standard_normal((H * Dv, 2)), "b_output": rng.standard_normal(2)}
    source = {"query": x, "key": x if x_key is None else x_key, "value": x if x_key is None else x_key}
    projected = {name: source[name] @ matrices[f"w_{name}"] + biases[f"b_{name}"] for name in widths}
    rest = {name: x for name, x in record.items() if name not in projected} | {"heads": H, "kv_heads": Hkv}
    inside = trace(Problem(x=x, x_key=x_key, **matrices, **biases, **end, **rest))
    before = trace(Problem(**projected, **rest))
    np.testing.assert_allclose(inside.weights, before.weights, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(inside.merged, before.output, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        inside.output, before.output @ end["w_output"] + end["b_output"], rtol=1e-10, atol=1e-11
    )


@given(records())
def test_to_dict_and_back_gives_the_same_trace(record):
    work = worked(record)
    again = trace(Problem.from_dict(work.problem.to_dict()))
    for field in work:
        np.testing.assert_array_equal(again[field], work[field])


# --- dtypes ---------------------------------------------------------------------------------------


@given(records(), st.sampled_from(["float32", "float16", "bfloat16"]))
def test_narrow_in_narrow_out_and_softmax_never_below_float32(record, dtype):
    work = worked(record, dtype=dtype)
    assert work.output.dtype.name == work.weights.dtype.name == dtype
    for field in ("scores", "scaled", "masked", "row_sum", "logsumexp"):
        assert work[field].dtype == np.float32


@given(
    records(without=("softcap", "rope")),
    st.sampled_from([("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)]),
)
def test_narrow_results_are_as_near_as_their_rounding_allows(record, narrow):
    dtype, eps = narrow
    rounded = {
        name: record[name].astype(Problem(**record, dtype=dtype).dtype) for name in ("query", "key", "value")
    }
    exact = worked(record, **{name: x.astype(np.float64) for name, x in rounded.items()}).output
    ours = worked(record, **rounded).output.astype(np.float64)
    # weights and output each rounded once (half an ε of at most max|v| = 2); scores up to 16 in float32
    assert np.abs(ours - exact).max(initial=0) <= 2 * eps + 200 * 2.0**-23
