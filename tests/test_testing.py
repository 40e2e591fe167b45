"""`headwork.testing`, and what pytest loads of Headwork by itself."""

import os
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

import pytest
from checks_made import attention, raising, unscaled, upper_left

import headwork
from headwork.errors import HeadworkError
from headwork.testing import assert_attention

ROOT = Path(__file__).resolve().parents[1]


def test_what_is_right_passes_and_comes_back_as_a_check():
    assert assert_attention(attention, dtypes="float64").verdict == "right"


def test_a_mistake_fails_with_its_name_and_the_smallest_input():
    with pytest.raises(AssertionError) as caught:
        assert_attention(unscaled, dtypes="float64")
    message = str(caught.value)
    assert message.startswith("unscaled is wrong: it left the scores unscaled")
    assert "wrong, scale-missing" in message
    assert "The smallest input on which it fails" in message
    assert max(map(len, message.splitlines())) <= 80


def test_a_convention_fails_once_another_is_stated():
    assert assert_attention(upper_left, dtypes="float64").verdict == "convention"
    with pytest.raises(AssertionError, match="causal-top-left-for-bottom-right"):
        assert_attention(upper_left, dtypes="float64", causal="lower_right")


def test_robustness_fails_only_where_one_is_strict():
    def printing(q, k, v):
        print("hello")
        return attention(q, k, v)

    assert_attention(printing, dtypes="float64")
    with pytest.raises(AssertionError, match="it prints: hello"):
        assert_attention(printing, dtypes="float64", strict=True)


def test_what_cannot_be_run_fails():
    with pytest.raises(AssertionError, match="could not be run"):
        assert_attention(raising, dtypes="float64")


def test_an_option_that_cannot_be_meant_is_no_failure_of_the_function():
    with pytest.raises(HeadworkError, match="Did you mean 'drop'"):
        assert_attention(attention, mask_means="dropp")


def test_it_is_a_failure_to_unittest_as_well():
    case = unittest.FunctionTestCase(lambda: assert_attention(raising, dtypes="float64"))
    result = unittest.TestResult()
    case.run(result)
    assert len(result.failures) == 1
    assert result.errors == []


# ---------------------------------------------------------------- pytest

TEST = """
def attention(q, k, v):
    raise ValueError("no such kernel")

def test_mine(assert_attention):
    assert_attention(attention, library="numpy")
"""


def environment():
    return os.environ | {"PYTHONPATH": str(Path(headwork.__file__).parents[1]), "COLUMNS": "100"}


def test_the_fixture_fails_a_test_readably(tmp_path):
    (tmp_path / "test_mine.py").write_text(TEST)
    plugin = ["-p", "headwork.pytest_plugin", "-p", "no:headwork", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 1, done.stdout
    assert ">       assert_attention(attention, library" in done.stdout
    assert "E       AssertionError: attention could not be run: " in done.stdout
    assert "no such kernel" in done.stdout
    assert "testing.py" not in done.stdout  # the trace ends in the test


def test_an_option_that_there_is_not_is_shown_where_it_is_written(tmp_path):
    (tmp_path / "test_mine.py").write_text(TEST.replace('library="numpy"', 'layuot="BHTD"'))
    plugin = ["-p", "headwork.pytest_plugin", "-p", "no:headwork", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert "'layuot' that can be stated. Did you mean 'layout'?" in done.stdout
    assert "checking.py" not in done.stdout


def test_the_plugin_that_is_installed_is_the_module_with_the_fixture():
    with open(ROOT / "pyproject.toml", "rb") as file:
        plugins = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert plugins == {"headwork": "headwork.pytest_plugin"}


def test_loading_the_plugin_loads_nothing_heavy():
    script = "import sys, pytest; before = set(sys.modules); import headwork.pytest_plugin; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
    )
    assert {name for name in done.stdout.split() if name.startswith("headwork")} == {
        "headwork", "headwork.pytest_plugin", "headwork.testing",
    }  # fmt: skip
    assert "numpy" not in done.stdout.split()
