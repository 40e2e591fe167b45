"""What holds for every test: fixed random numbers, NumPy's warnings on, and no skip that goes unseen.

HEADWORK_SEED=7       other random numbers, the same ones for the same seed
HEADWORK_NO_SKIPS=1   a skipped test fails the run
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

SEED = int(os.environ["HEADWORK_SEED"]) if os.environ.get("HEADWORK_SEED") else None
NO_SKIPS = os.environ.get("HEADWORK_NO_SKIPS", "0") not in ("", "0")

# A module that may be absent → the command after which its tests run.
ENABLE = dict.fromkeys(("jax", "onnx", "onnxruntime", "torch"), "make peers && make test")

# NumPy's own defaults, said aloud: with filterwarnings = error, a NaN from nowhere fails the test.
# Underflow is honest: exp(-1000) is 0.
NUMPY_ERRORS = {"divide": "warn", "over": "warn", "invalid": "warn", "under": "ignore"}

# No deadline: a loaded machine is not a failure. 50 examples: the property tests stay a matter of seconds.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=50, print_blob=True, database=None
)
settings.register_profile("varied", settings.get_profile("fixed"), derandomize=False)
settings.load_profile("fixed" if SEED is None else "varied")


@pytest.hookimpl(tryfirst=True)  # before Hypothesis's own plugin reads its seed
def pytest_configure(config: pytest.Config) -> None:
    if SEED is not None and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> str:
    if SEED is None:
        return "random numbers: seed 0 (HEADWORK_SEED=7 varies them)"
    return f"random numbers: HEADWORK_SEED={SEED}"


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers from the seed that the head of the run prints."""
    return np.random.default_rng(SEED or 0)


@pytest.fixture(autouse=True)
def numpy_errors_stay_as_they_are() -> Iterator[None]:
    """Start each test with NumPy's warnings on; the code under test must not leave them changed."""
    np.seterr(**NUMPY_ERRORS)
    yield
    assert np.geterr() == NUMPY_ERRORS, "the code under test left np.seterr changed"


# ---------------------------------------------------------------- skips


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if NO_SKIPS and exitstatus == pytest.ExitCode.OK and skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = list(skip_lines(skipped(config)))
    if lines:
        terminalreporter.section("skipped", red=NO_SKIPS, yellow=not NO_SKIPS)
        terminalreporter.write("".join(line + "\n" for line in lines))
    if lines and NO_SKIPS:
        terminalreporter.write_line("HEADWORK_NO_SKIPS is set: this is a failure.", red=True)


def skipped(config: pytest.Config) -> list[pytest.TestReport | pytest.CollectReport]:
    """The reports of skipped tests and skipped files; empty in a worker of xdist, which prints nothing."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter else []


def skip_lines(reports: list[pytest.TestReport | pytest.CollectReport]) -> Iterator[str]:
    """One line for each reason: how much was skipped, why, and the command that enables it."""
    by_reason = defaultdict(list)
    for report in reports:
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        missing = re.search(r"could not import '(\w+)", reason)
        by_reason[missing.group(1) if missing else reason].append(report)
    for reason, skips in sorted(by_reason.items()):
        files = sorted({Path(skip.nodeid.split("::")[0]).name for skip in skips})
        whole_files = all(isinstance(skip, pytest.CollectReport) for skip in skips)
        what = count(len(files), "test file") if whole_files else count(len(skips), "test")
        named = next((module for module in ENABLE if module in reason), None)
        why = f"{reason} is not installed" if reason in ENABLE else reason
        yield f"{what} skipped ({', '.join(files)}): {why}." + (
            f" To enable: {ENABLE[named]}" if named else ""
        )


def count(number: int, noun: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
