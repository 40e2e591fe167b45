"""The mistakes that explain bugs reported in public give the numbers that were reported."""

import numpy as np
import pytest
from cases import load
from made import made

from headwork.mechanism.tracing import trace

CASES = {case.id: case for case in load()}
LOOSE = {"H16", "H31", "H32"}  # worked in float16 and float32

EXPLAINED = [
    ("H01", "scale-d-k-instead-of-sqrt"),
    ("H02", "scale-missing"),
    ("H03", "scale-d-model"),
    ("H04", "scale-inverted"),
    ("H05", "scale-twice"),
    ("H06", "scale-after-softmax"),
    ("H07", "softmax-over-queries"),
    ("H08", "softmax-over-batch"),
    ("H09", "scale-missing", "softmax-missing"),
    ("H10", "mask-polarity", "fully-masked-row-nan"),
    ("H11", "mask-polarity"),
    ("H12", "mask-fill-zero"),
    ("H13", "mask-fill-tiny"),
    ("H14", "mask-after-softmax"),
    ("H15", "mask-fill-not-low-enough"),
    ("H15", "mask-fill-zero"),
    ("H16", "mask-value-overflows-fp16"),
    ("H17", "fully-masked-row-nan"),
    ("H18", "pad-mask-on-queries", "fully-masked-row-uniform"),
    ("H19", "mask-repeat-order"),
    ("H20", "causal-skipped"),
    ("H21", "causal-top-left-for-bottom-right"),
    ("H22", "causal-bottom-right-for-top-left"),
    ("H23", "causal-strict", "fully-masked-row-nan"),
    ("H24", "causal-reversed"),
    ("H25", "window-one-too-many"),
    ("H26", "head-split-no-transpose"),
    ("H27", "head-merge-no-transpose"),
    ("H28", "gqa-tile"),
    ("H29", "weights-transposed"),
    ("H30", "v-projected-with-wk"),
    ("H31", "softmax-without-max"),
    ("H32", "qk-accumulated-fp16"),
    ("H33", "lse-base2-merged-as-e"),
    ("H34", "softmax-one-not-shifted"),
    ("H36", "softcap-after-mask"),
    ("H37", "alibi-sign"),
    ("H38", "rope-angles-and-pairs-mixed"),
]


@pytest.mark.parametrize("row", EXPLAINED, ids=lambda row: "-".join(row))
def test_the_mistake_gives_the_reported_numbers(row: tuple[str, ...]) -> None:
    case = CASES[row[0]]
    far = 1e-3 if case.id in LOOSE else 1e-9
    for step, wrong in case.wrong.items():
        found = made(case.problem, step, *row[1:])
        assert np.allclose(found, wrong, atol=far, rtol=0, equal_nan=True), step


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"H16"}))
def test_the_right_pipeline_gives_the_right_numbers(name: str) -> None:
    case = CASES[name]
    work = trace(case.problem)
    for step, right in case.right.items():
        assert np.allclose(work[step], right, atol=1e-3 if "dtype" in case.inputs else 1e-9, rtol=0), step
