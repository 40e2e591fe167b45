"""Whatever somebody's function does: the checker survives, says so in words, and goes on."""

import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from headwork.conformance.calls import Call
from headwork.conformance.limits import Limits
from headwork.conformance.runner import Runner
from headwork.conformance.targets import read_target
from headwork.errors import CannotRunError

HOSTILE = str(Path(__file__).with_name("hostile.py"))
LIMITS = Limits(seconds=1.0, memory=100 << 20)
QUERY = np.arange(6.0).reshape(2, 3)


@pytest.fixture(scope="module")
def runner():
    with Runner(read_target(f"{HOSTILE}:act"), LIMITS) as one:
        yield one


def act(runner, *how):
    return runner.call(Call((QUERY, *how)))


def assert_well(runner):
    """The next call is answered as if nothing had been."""
    outcome = act(runner, "good")
    assert outcome.is_fine, outcome
    np.testing.assert_array_equal(outcome.outputs[0], QUERY + 1)


# ---------------------------------------------------------------- what ends a process or a call

ENDS = [
    # name                        end              said
    ("segfault", "crashed", r"segmentation fault \(SIGSEGV\) \(hostile.py, line \d+\)"),
    ("os_exit", "crashed", r"exit status 0"),
    ("os_abort", "crashed", r"aborted"),
    ("kills_itself", "crashed", r"SIGKILL"),
    ("overflows_the_c_stack", "crashed", r"segmentation fault"),
    ("closes_every_file", "crashed", r"closed file descriptors"),
    ("writes_into_every_file", "crashed", r"wrote into a file descriptor"),
    ("loops", "timed out", r"no answer within 1 s \(hostile.py, line \d+\)"),
    ("loops_in_c_with_the_gil", "timed out", r"no answer within 1 s \(hostile.py, line \d+\)"),
    ("stops_itself", "timed out", r"no answer within 1 s"),
    ("allocates_and_touches", "out of memory", r"over 0.0977 GiB"),
    ("returns_a_giant", "out of memory", r"shape \(100000, 1000000\), which is 745 GiB"),
    ("raises", "raised", r"ValueError: D = 7 is not a multiple of 8 \(hostile.py, line \d+\)"),
    ("sys_exit", "raised", r"called sys.exit\(3\)"),
    ("keyboard_interrupt", "raised", r"KeyboardInterrupt"),
    ("raises_the_unreadable", "raised", r"Unreadable: \(its message cannot be read\)"),
    ("recurses", "raised", r"RecursionError"),
    ("reads_standard_input", "raised", r"EOFError"),
]


@pytest.mark.parametrize(("how", "end", "said"), ENDS, ids=[row[0] for row in ENDS])
def test_what_a_function_does_is_said_and_the_next_call_is_answered(runner, how, end, said):
    began = time.monotonic()
    outcome = act(runner, how)
    assert outcome.end == end, outcome
    assert re.search(said, outcome.said), outcome.said
    assert time.monotonic() - began < 10
    assert_well(runner)


def test_the_exception_has_its_name(runner):
    assert act(runner, "raises").exception == "ValueError"
    assert act(runner, "sys_exit").exception == "SystemExit"


def test_the_process_loads_the_function_while_nobody_waits_for_it_yet(tmp_path):
    """torch takes seconds to load, and the checker has work of its own meanwhile."""
    loaded = tmp_path / "loaded"
    (tmp_path / "kernel.py").write_text(f"open({str(loaded)!r}, 'w').close()\ndef f(q, k, v): return v\n")
    with Runner(read_target(f"{tmp_path / 'kernel.py'}:f")):
        until = time.monotonic() + 20
        while not loaded.exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert loaded.exists()


def test_a_process_that_is_gone_before_it_is_asked_is_told_like_any_other(tmp_path):
    (tmp_path / "kernel.py").write_text("def f(q): return q\n")
    with Runner(read_target(f"{tmp_path / 'kernel.py'}:f"), LIMITS) as one:
        assert act(one).is_fine
        os.kill(one._process.pid, signal.SIGKILL)
        time.sleep(0.2)
        assert act(one).end == "crashed"
        assert act(one).is_fine


def test_memory_that_is_never_touched_costs_nothing(runner):
    assert act(runner, "reserves_address_space").is_fine


def test_more_memory_than_there_is_is_no_crash(runner):
    outcome = act(runner, "allocates_lazily")
    assert outcome.end in ("returned", "out of memory")  # as the system grants it, untouched, or not
    assert_well(runner)


# ---------------------------------------------------------------- what a call leaves behind

EFFECTS = [
    ("seeds", "the random state of NumPy was changed"),
    ("draws", "the random state of Python was changed"),
    ("changes_the_environment", "the environment variables were changed"),
    ("changes_the_folder", "the working folder was changed"),
    ("silences_numpy", "how NumPy treats overflow and NaN (np.seterr) was changed"),
    ("leaves_a_thread", "a thread was left running"),
    ("leaves_a_process", "a process was left running"),
]


@pytest.mark.parametrize(("how", "words"), EFFECTS, ids=[row[0] for row in EFFECTS])
def test_what_a_call_leaves_behind_is_said(runner, how, words):
    outcome = act(runner, how)
    assert outcome.is_fine
    assert any(effect.startswith(words) for effect in outcome.side_effects), outcome.side_effects


def test_garbage_is_collected_in_a_call_as_it_always_is(tmp_path):
    (tmp_path / "kernel.py").write_text("import gc\ndef f(q): return q * 0 + gc.get_threshold()[0]\n")
    with Runner(read_target(f"{tmp_path / 'kernel.py'}:f"), LIMITS) as one:
        assert (act(one).outputs[0] == gc.get_threshold()[0]).all()


def test_a_file_that_collects_no_garbage_is_left_so(tmp_path):
    text = "import gc\ngc.set_threshold(0)\ndef f(q): return q * 0 + gc.get_threshold()[0]\n"
    (tmp_path / "kernel.py").write_text(text)
    with Runner(read_target(f"{tmp_path / 'kernel.py'}:f"), LIMITS) as one:
        assert (act(one).outputs[0] == 0).all()


def test_a_seed_that_is_set_at_every_call_is_said_at_every_call(runner):
    said = [act(runner, "seeds").side_effects for _ in range(3)]
    assert said == [("the random state of NumPy was changed",)] * 3


def test_a_function_that_leaves_nothing_behind_is_not_accused(runner):
    assert act(runner, "good").side_effects == ()


def test_a_replaced_numpy_is_said_and_changes_no_numbers(runner):
    outcome = act(runner, "replaces_numpy")
    assert "NumPy's exp was replaced" in outcome.side_effects
    np.testing.assert_array_equal(outcome.outputs[0], QUERY)
    assert_well(runner)
    act(runner, "puts_numpy_back")


def test_a_changed_input_is_said(runner):
    outcome = act(runner, "changes_its_input")
    assert outcome.changed == (0,)
    np.testing.assert_array_equal(outcome.outputs[0], QUERY * 2)


def test_a_copy_of_the_process_does_not_answer(runner):
    outcome = act(runner, "forks")
    np.testing.assert_array_equal(outcome.outputs[0], QUERY)
    assert_well(runner)


# ---------------------------------------------------------------- what it prints


def test_what_is_printed_is_kept_apart(runner, capfd):
    assert act(runner, "prints").printed == "hello\nthere\nlow\n"
    assert act(runner, "good").printed == ""
    assert capfd.readouterr() == ("", "")


def test_bytes_that_are_no_text_are_printed_all_the_same(runner):
    assert "café" in act(runner, "prints_bytes").printed


def test_standard_output_may_be_replaced(runner):
    assert act(runner, "replaces_standard_output").is_fine
    assert_well(runner)
    act(runner, "os_exit")  # a fresh process: print() of this one is broken


def test_print_without_end_is_stopped_and_shortened(runner):
    outcome = act(runner, "prints_forever")
    assert outcome.end == "timed out"
    assert "characters left out" in outcome.printed
    assert len(outcome.printed) < 20_000
    assert_well(runner)


# ---------------------------------------------------------------- what it returns

RETURNS = [
    ("None", "It returned None"),
    ("str", "It returned a str ('0.5')"),
    ("object", "Python objects"),
    ("generator", "a generator"),
    ("ragged", "differ in length"),
    ("lazy", "cannot be read as an array: RuntimeError: not computed yet"),
    ("function", "a function"),
    ("dates", "dtype datetime64[s]"),
    ("a list in itself", "a nest of over"),
    ("too many", "more than 64"),
    ("empty", "without an array in it"),
    ("coroutine", "a coroutine"),
]


@pytest.mark.parametrize(("what", "said"), RETURNS, ids=[row[0] for row in RETURNS])
def test_what_is_no_array_is_said(runner, what, said):
    outcome = act(runner, "returns", what)
    assert outcome.end == "not arrays", outcome
    assert said in outcome.said


def test_arrays_that_are_too_large_together_are_refused(runner):
    outcome = act(runner, "returns", "many large")
    assert outcome.end == "out of memory"
    assert "GiB" in outcome.said


# ---------------------------------------------------------------- processes


def test_calls_share_a_process_until_one_ends_it(runner):
    first, second = act(runner, "pid").outputs[0], act(runner, "pid").outputs[0]
    assert first == second != os.getpid()
    act(runner, "os_exit")
    assert act(runner, "pid").outputs[0] != first


def test_the_worker_loads_no_more_than_it_needs(runner):
    loaded = act(runner, "prints_what_is_loaded").printed.split()
    assert "numpy" in loaded
    assert {"torch", "jax", "onnx", "click", "multiprocessing"}.isdisjoint(loaded)
    assert not [
        name
        for name in loaded
        if name.startswith(("headwork.mechanism", "headwork.mistakes", "headwork.diagnosis"))
    ]


def test_a_crash_leaves_no_core_file(runner):
    assert act(runner, "limit_of_core_files").outputs[0] == 0


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(claim):
    deadline = time.monotonic() + 5
    while not claim() and time.monotonic() < deadline:
        time.sleep(0.01)
    return claim()


on_linux = pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc, which only Linux has")


@on_linux
def test_closing_ends_the_process_and_what_it_started(tmp_path):
    script = tmp_path / "starts.py"
    script.write_text(
        "import numpy as np, subprocess\n"
        "def attention(query):\n    return np.array(subprocess.Popen(['sleep', '1000']).pid)\n"
    )
    with Runner(read_target(str(script))) as runner:
        child = int(runner.call(Call((QUERY,))).outputs[0])
        assert is_running(child)
    assert soon(lambda: not is_running(child))


PARENT = """
import sys
import numpy as np
from headwork.conformance.calls import Call
from headwork.conformance.limits import Limits
from headwork.conformance.runner import Runner
from headwork.conformance.targets import read_target

runner = Runner(read_target(sys.argv[1] + ":act"), Limits(seconds=60))
print(int(runner.call(Call((np.ones(2), "pid"))).outputs[0]), flush=True)
runner.call(Call((np.ones(2), "loops_in_c_with_the_gil")))
"""


@on_linux
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_the_process_ends_with_the_checker(how):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, HOSTILE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:
        worker = int(parent.stdout.readline())
        time.sleep(0.2)  # it is in its endless call
        assert is_running(worker)
        parent.send_signal(how)
        try:
            assert soon(lambda: not is_running(worker))
            assert parent.wait(5) != 0
        finally:
            if is_running(worker):
                os.kill(worker, signal.SIGKILL)


def test_an_interrupted_call_ends_its_process(runner):
    class Interrupt(KeyboardInterrupt):
        pass

    def interrupt(number, frame):
        raise Interrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        pid = int(act(runner, "pid").outputs[0])
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupt):
            act(runner, "sleeps")
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not is_running(pid)
    assert_well(runner)


# ---------------------------------------------------------------- limits


def written(tmp_path, text):
    path = tmp_path / "target.py"
    path.write_text(textwrap.dedent(text))
    return read_target(str(path))


def test_a_first_call_may_take_longer(tmp_path):
    target = written(tmp_path, "import time\ndef attention(query):\n    time.sleep(0.5)\n    return query\n")
    with Runner(target, Limits(seconds=0.2, first_seconds=5)) as runner:
        assert runner.call(Call((QUERY,), first=True)).is_fine
        assert runner.call(Call((QUERY,))).end == "timed out"


def test_the_time_is_that_of_the_call(tmp_path):
    target = written(
        tmp_path,
        "import time\ntime.sleep(0.3)\ndef attention(query):\n    time.sleep(0.05)\n    return query\n",
    )
    with Runner(target) as runner:
        assert 0.05 <= runner.call(Call((QUERY,))).seconds < 0.25


@on_linux
def test_memory_is_what_the_call_took_at_its_height(tmp_path):
    target = written(
        tmp_path,
        "import numpy as np\ndef attention(query, size):\n    np.ones(size << 17)\n    return query\n",
    )
    with Runner(target) as runner:
        for size in (64, 32):  # MiB
            assert size - 2 <= runner.call(Call((QUERY, size))).memory / 2**20 <= size + 8


# ---------------------------------------------------------------- files that cannot be loaded

IMPORTS = [
    # text                               seconds  end         said
    ("1 / 0", 30, "raised", "ZeroDivisionError"),
    ("import sys; sys.exit(2)", 30, "raised", "sys.exit(2)"),
    ("import os; os._exit(5)", 30, "crashed", "exit status 5"),
    ("while True: pass", 2, "timed out", "no answer within 2 s (target.py, line 1)"),
    ("import ctypes; ctypes.string_at(0)", 30, "crashed", "segmentation fault"),
]


@pytest.mark.parametrize(("text", "seconds", "end", "said"), IMPORTS, ids=[row[0] for row in IMPORTS])
def test_what_happens_at_import_is_said(tmp_path, text, seconds, end, said):
    with Runner(written(tmp_path, text), Limits(load_seconds=seconds)) as runner:
        with pytest.raises(CannotRunError) as caught:
            _ = runner.signature
        assert caught.value.outcome.end == end
        assert said in str(caught.value)


def test_a_file_that_loads_only_once_is_an_outcome(tmp_path):
    flag = tmp_path / "flag"
    target = written(
        tmp_path,
        f"""
        import os
        if os.path.exists({str(flag)!r}):
            raise OSError("again")
        open({str(flag)!r}, "w").close()
        def attention(query):
            os._exit(0)
        """,
    )
    with Runner(target) as runner:
        assert runner.call(Call((QUERY,))).end == "crashed"
        outcome = runner.call(Call((QUERY,)))
        assert outcome.end == "raised"
        assert "could not be loaded again. OSError: again" in outcome.said
