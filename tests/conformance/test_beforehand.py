"""While a function is being loaded, what most checks need is worked out: the same inputs, and no longer than that."""

import itertools
import time

from headwork.conformance import beforehand, comparing
from headwork.conformance.battery import draw_battery, draw_case
from headwork.conformance.beforehand import work_ahead
from headwork.conformance.entries import ENTRIES
from headwork.conformance.runner import Runner
from headwork.conformance.sizes import Sizes
from headwork.conformance.targets import read_target


def test_it_ends_with_the_loading(monkeypatch):
    """Asked for each input: three times yes, then no more is worked on."""
    asked, worked = itertools.chain([True, True, True], itertools.repeat(False)), []
    monkeypatch.setattr(
        beforehand, "exact_of", lambda problem: worked.append(problem) or comparing.exact_of(problem)
    )
    work_ahead(lambda: next(asked))
    assert len(worked) == 3


def test_a_check_finds_the_very_inputs_that_were_worked_on(monkeypatch):
    worked = []
    monkeypatch.setattr(
        beforehand, "exact_of", lambda problem: worked.append(problem) or comparing.exact_of(problem)
    )
    work_ahead(lambda: True)
    cases = draw_battery(beforehand.FEATURES.__contains__, beforehand.DTYPES, alignment="upper_left")
    shared = {id(problem) for problem in worked} & {id(case.problem) for case in cases}
    assert len(shared) > 0.9 * len(cases)


def test_the_same_sizes_are_the_same_input_whatever_else_is_taken():
    entry = next(entry for entry in ENTRIES if entry.id == "basic/sizes-differ")
    wide = draw_case(entry, "float64")
    narrow = draw_case(entry, "float64", Sizes(among=(("Tq", (entry.sizes["Tq"], 64)),)))
    assert narrow is wide


def test_a_function_is_loading_until_it_has_said_what_it_is(tmp_path):
    (tmp_path / "slow.py").write_text("import time; time.sleep(1)\ndef f(q, k, v): return v\n")
    with Runner(read_target(f"{tmp_path / 'slow.py'}:f")) as runner:
        assert runner.is_loading()
        until = time.monotonic() + 20
        while runner.is_loading() and time.monotonic() < until:
            time.sleep(0.05)
        assert not runner.is_loading()
        assert runner.signature.name == "f"
        assert not runner.is_loading()


def test_one_that_ends_while_it_is_loaded_is_not_waited_for(tmp_path):
    (tmp_path / "gone.py").write_text("import os; os._exit(3)\n")
    with Runner(read_target(f"{tmp_path / 'gone.py'}:f")) as runner:
        until = time.monotonic() + 20
        while runner.is_loading() and time.monotonic() < until:
            time.sleep(0.05)
        assert not runner.is_loading()
