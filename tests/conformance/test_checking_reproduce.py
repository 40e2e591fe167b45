"""The smallest failing input, and the Python file that shows it to somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from zoo import mutated

import headwork
from headwork.conformance.checking import check
from headwork.conformance.reproduce import reproduction
from headwork.conformance.targets import read_target

RIGHT = """
import numpy as np


def attention(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], scores.shape[-1] - scores.shape[-2], dtype=bool), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
"""
WRONG = RIGHT.replace("np.sqrt(q.shape[-1])", "q.shape[-1]")


def reproduced(tmp_path: Path, program: str, text: str) -> subprocess.CompletedProcess[str]:
    """What comes of running a reproduction beside that program."""
    (tmp_path / "kernel.py").write_text(program, encoding="utf-8")
    (tmp_path / "shown.py").write_text(text, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "shown.py")]
    own = os.environ | {"PYTHONPATH": str(Path(headwork.__file__).parents[1])}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=own)


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "kernel.py").write_text(WRONG, encoding="utf-8")
    target = read_target(f"{tmp_path / 'kernel.py'}:attention")
    return reproduction(check(target), target)


def test_the_file_fails_where_the_function_is_wrong_and_passes_once_it_is_right(
    tmp_path: Path, text: str
) -> None:
    wrong = reproduced(tmp_path, WRONG, text)
    assert wrong.returncode == 1
    assert "Mismatched elements" in wrong.stderr
    right = reproduced(tmp_path, RIGHT, text)
    assert right.returncode == 0, right.stderr


def test_the_file_says_what_is_wrong_and_needs_nothing_but_numpy(text: str) -> None:
    assert "divided by d_k" in text
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert imports == ["import numpy as np", "import sys", "from kernel import attention  # noqa: E402"]


def test_nothing_failed_and_there_is_nothing_to_reproduce() -> None:
    assert reproduction(check(mutated.mutated(), dtypes=("float64",))) == ""


def test_the_smallest_input_has_no_more_of_anything_than_it_takes() -> None:
    failing = check(mutated.mutated("scale-missing"), dtypes=("float64",)).failing
    assert failing is not None
    # by hand: two keys, so that weights differ from 1, and a width of 2, so that √d_k is not 1
    assert dict(failing.case.sizes) == {"B": 1, "H": 1, "Hkv": 1, "Tq": 1, "Tk": 2, "D": 2, "Dv": 1}
    assert not np.allclose(failing.got, failing.expected, rtol=0, atol=failing.allowed)


METHOD = RIGHT.replace("def attention(q", "class Block:\n  def attend(self, q").replace("\n    ", "\n      ")


def test_a_method_is_called_of_an_object_of_its_class(tmp_path: Path) -> None:
    program = METHOD.replace("np.sqrt(q.shape[-1])", "q.shape[-1]")
    (tmp_path / "kernel.py").write_text(program, encoding="utf-8")
    target = read_target(f"{tmp_path / 'kernel.py'}:Block.attend")
    text = reproduction(check(target), target)
    assert "Mismatched elements" in reproduced(tmp_path, program, text).stderr
    assert reproduced(tmp_path, METHOD, text).returncode == 0


def test_a_command_is_run_as_a_check_runs_it(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np\nfrom kernel import attention\n"
        "given = np.load(sys.argv[1])\nq, k, v = (given[name] for name in ('query', 'key', 'value'))\n"
        "np.savez(sys.argv[2], output=attention(q, k, v))\n"
    )
    (tmp_path / "kernel.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    target = read_target(command=f"{sys.executable} {tmp_path / 'program.py'} {{input}} {{output}}")
    text = reproduction(check(target, dtypes=("float64",), sizes="T=4"), target)
    assert "Mismatched elements" in reproduced(tmp_path, WRONG, text).stderr
    assert reproduced(tmp_path, RIGHT, text).returncode == 0


def test_infinities_and_nan_can_be_pasted(tmp_path: Path) -> None:
    program = RIGHT.replace(" - scores.max(-1, keepdims=True)", "")
    (tmp_path / "kernel.py").write_text(program, encoding="utf-8")
    target = read_target(f"{tmp_path / 'kernel.py'}:attention")
    text = reproduction(check(target), target)
    assert reproduced(tmp_path, program, text).returncode == 1
    assert reproduced(tmp_path, RIGHT, text).returncode == 0
