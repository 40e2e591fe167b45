"""What crosses to the worker and back is the same on the other side, and garbage is known for what it is."""

import ml_dtypes
import numpy as np
import pytest

from headwork.conformance.calls import Call, Outcome, Parameter, Signature
from headwork.conformance.kinds import same_bits
from headwork.conformance.wire import GarbledError, Inbox, call_from, outcome_from, packed, signature_from


def sent(message, size=1 << 20):
    """The message on the other side of a pipe that passes `size` bytes at a time."""
    data, inbox, found = b"".join(packed(message)), Inbox(), None
    for place in range(0, len(data), size):
        assert found is None
        found = inbox.add(data[place : place + size])
    return found


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.array(3.0),
    np.zeros((2, 0)),
    np.array([True, False]),
    np.array([1, 2], np.int32),
    np.array([1.5, -0.0, np.nan, np.inf], np.float16),
    np.array([1.5, 2], ml_dtypes.bfloat16),
    np.array([1 + 2j]),
    np.arange(3.0).astype(">f8"),
    np.arange(8.0).reshape(2, 4)[:, ::2].T,
]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_call_arrives_as_it_was(size):
    call = Call(
        (*ARRAYS, 1, 0.1, float("-inf"), True, None, "text €\udc80", (2, (3, None))),
        {"mask": ARRAYS[3], "scale": np.float32(0.5), "array": ARRAYS[0]},
        layout="strided",
        cotangent=ARRAYS[0],
        gradients_of=(0, "mask"),
    )
    found = call_from(sent({"call": call}, size)["call"])
    for one, other in zip(ARRAYS, found.positional, strict=False):
        assert same_bits(one, other)
    assert found.positional[len(ARRAYS) :] == call.positional[len(ARRAYS) :]
    assert found.keywords["scale"] == 0.5
    assert same_bits(found.keywords["array"], ARRAYS[0])
    assert same_bits(found.cotangent, ARRAYS[0])
    assert (found.layout, found.gradients_of) == ("strided", (0, "mask"))


def test_an_outcome_arrives_as_it_was():
    outcome = Outcome("returned", outputs=(ARRAYS[0],), names=("output",), changed=(0, "key"), memory=1 << 40)
    found = outcome_from(sent({"outcome": outcome})["outcome"])
    assert (found.end, found.names, found.changed, found.memory) == (
        "returned",
        ("output",),
        (0, "key"),
        1 << 40,
    )
    found.outputs[0][0] = 1  # it may be written to


def test_a_signature_arrives_as_it_was():
    for parameters in (None, (), (Parameter("q"), Parameter("mask", "keyword", "None", "Tensor"))):
        signature = Signature("f", "function", "torch", parameters, "doc")
        assert signature_from(sent({"signature": signature})["signature"]) == signature


GARBAGE = [
    b"x",
    b"garbage " * 10,
    b"headwork" + b"\xff" * 16,
    b"headwork" + (2).to_bytes(8, "little") + bytes(8) + b"[]",
    b"headwork" + (2).to_bytes(8, "little") + bytes(8) + b"{]",
    b"headwork" + (35).to_bytes(8, "little") + bytes(8) + b'{"a": {"__array__": ["<f8",[9],0]}}',
    b"headwork" + (34).to_bytes(8, "little") + bytes(8) + b'{"a": {"__array__": ["O",[1], 0]}}',
    b"".join(packed({})) + b"more",
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_no_message(data):
    with pytest.raises(GarbledError):
        Inbox().add(data)


@pytest.mark.parametrize("message", [None, {}, {"end": "returned", "odd": 1}, 3])
def test_a_message_that_is_no_outcome_is_garbage(message):
    with pytest.raises(GarbledError):
        outcome_from(message)


def test_what_is_no_data_does_not_cross():
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        packed({"call": Call((object(),))})
