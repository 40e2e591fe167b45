"""The engines as a process sees them: which one runs, its threads, signals, and what is left behind.

An engine is chosen once in a process, so most of this happens in processes of its own.
"""

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from processes import PYTHON
from threadpoolctl import threadpool_info, threadpool_limits

import headwork
from headwork.mechanism.engines import NAMES, products_on_one_thread

pytest.importorskip("headwork.mechanism._kernel", exc_type=ImportError)
HERE = Path(__file__).parent
THREADS = Path("/proc/self/task")  # Linux lists a process's threads there


def printed(code: str, **environment: str) -> str:
    """What a process with this code prints."""
    paths = os.pathsep.join([str(HERE), *sys.path])
    done = subprocess.run(
        [*PYTHON, "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- which one ----------------------------------------------------------------------------------------

BATTERY = """
import sys
if {without_kernel}:
    sys.modules["headwork.mechanism._kernel"] = None  # as where it could not be built
import numpy as np, headwork
from against_trace import assert_gradients_right, assert_right
from headwork.mechanism.engines import engine
rng = np.random.default_rng(0)
options = [
    {{}}, {{"causal": True}}, {{"window": (20, 3)}}, {{"softcap": 2.0, "alibi": True, "sink": np.zeros(4)}},
    {{"lengths": np.array([50, 0])}}, {{"mask": rng.random((70, 101)) < 0.7}},
    {{"mask": np.where(rng.random((2, 1, 1, 101)) < 0.5, 0.5, -np.inf)}},
]
for dtype in (np.float32, np.float64):
    for Tq in (1, 70):
        for option in options:
            if Tq == 1 and getattr(option.get("mask"), "ndim", 0) == 2:
                continue
            shapes = {{"query": (2, 4, Tq, 20), "key": (2, 2, 101, 20), "value": (2, 2, 101, 9)}}
            arrays = {{name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}}
            record = arrays | option
            output, logsumexp = headwork.attention(**record, return_logsumexp=True)
            right = assert_right(record, output, logsumexp)
            cotangent = rng.standard_normal(output.shape).astype(dtype)
            gradients = headwork.attention_vjp(*arrays.values(), cotangent, **option)
            assert_gradients_right(gradients, record, right, cotangent)
print(engine().engine_name())
"""


@pytest.mark.parametrize("name", NAMES)
def test_every_engine_agrees_with_the_trace(name):
    """One that this machine cannot run gives way to the next lower one."""
    ran = printed(BATTERY.format(without_kernel=False), HEADWORK_ENGINE=name)
    assert ran in NAMES[: NAMES.index(name) + 1]
    assert ran == name or name.startswith("avx")


def test_without_a_compiled_kernel_the_same_function_runs_on_numpy():
    assert printed(BATTERY.format(without_kernel=True), HEADWORK_ENGINE="") == "numpy"


def test_an_engine_that_is_not_asked_for_is_the_fastest_of_this_machine():
    name = "from headwork.mechanism.engines import engine; print(engine().engine_name())"
    assert printed(name, HEADWORK_ENGINE="") == printed(name, HEADWORK_ENGINE="avx512")


def test_an_engine_that_does_not_exist_is_told():
    code = "import headwork\ntry: headwork.attention\nexcept headwork.HeadworkError as error: print(error)"
    assert "numpy, portable, avx2, avx512" in printed(code, HEADWORK_ENGINE="avx")


# --- threads ------------------------------------------------------------------------------------------

COUNT = """
import os, numpy as np, headwork
arrays = [np.ones((1, 8, 200, 64), np.float32)] * 3
counts = [len(os.listdir("/proc/self/task"))]
for options in ({"threads": 1}, {}, {"threads": 3}, {"threads": 2}):
    headwork.attention(*arrays, **options)
    counts.append(len(os.listdir("/proc/self/task")))
print([count - counts[0] for count in counts[1:]])
"""


@pytest.mark.skipif(not THREADS.exists(), reason="needs /proc")
@pytest.mark.skipif("TSAN_OPTIONS" in os.environ, reason="the thread sanitizer starts a thread of its own")
def test_as_many_threads_work_as_are_asked_for():
    """The caller is one of them; those that were started wait for the next call."""
    assert printed(COUNT, OMP_NUM_THREADS="2", HEADWORK_ENGINE="") == "[0, 1, 2, 2]"
    assert printed(COUNT, OMP_NUM_THREADS="1", HEADWORK_ENGINE="") == "[0, 0, 2, 2]"


def test_the_last_one_inside_gives_the_products_their_threads_back():
    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        first, second = products_on_one_thread(), products_on_one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(threads()) == {1}
        second.__exit__(None, None, None)
        assert threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_forked_child_sets_the_limit_itself():
    """Nobody is inside in the child, even if somebody is in the parent."""
    code = """
import os
import numpy
from threadpoolctl import threadpool_info, threadpool_limits
from headwork.mechanism.engines import products_on_one_thread
def threads(): return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
with products_on_one_thread():
    if os.fork() == 0:
        threadpool_limits(2, user_api="blas")
        with products_on_one_thread():
            print(threads(), end=" ", flush=True)
        print(threads(), flush=True)
        os._exit(0)
    os.wait()
"""
    assert printed(code) == "1 2"


def test_other_python_threads_run_meanwhile():
    array = np.ones((1, 4, 2000, 64), np.float32)
    moments: list[float] = []

    def work() -> None:
        moments.append(time.perf_counter())
        headwork.attention(array, array, array, threads=1)
        moments.append(time.perf_counter())

    worker = threading.Thread(target=work)
    worker.start()
    turns = []
    while worker.is_alive():
        time.sleep(0.001)
        turns.append(time.perf_counter())
    begin, end = moments
    assert sum(begin < turn < end for turn in turns) > 2


def test_a_repeated_call_gives_the_same_bits():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, 2, 300, 16)).astype(np.float32) for _ in range(4)]
    first = (headwork.attention(*arrays[:3]), *headwork.attention_vjp(*arrays, causal=True))
    for _ in range(5):
        again = (headwork.attention(*arrays[:3]), *headwork.attention_vjp(*arrays, causal=True))
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


# --- signals ------------------------------------------------------------------------------------------

INTERRUPT = """
import os, signal, threading, time, numpy as np, headwork
small = np.random.default_rng(0).standard_normal((1, 4, 300, 32)).astype(np.float32)
before = headwork.attention(small, small, small, threads=2)
large = np.broadcast_to(np.full(({tokens}, 32), 0.5, np.float32), (1, {heads}, {tokens}, 32))
arrays = [large] * {arrays}
call = {call}
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.perf_counter()
try:
    call(*arrays, threads=2)
except KeyboardInterrupt:
    print("interrupted")
assert np.array_equal(headwork.attention(small, small, small, threads=2), before)
"""


@pytest.mark.parametrize("engine", ["", "numpy"])
@pytest.mark.parametrize("call", ["attention", "attention_vjp"])
def test_ctrl_c_ends_a_long_call_and_the_next_one_works(engine, call):
    """The signal comes after 0.3 s; to its end this one would take many seconds."""
    tokens, heads, arrays = (8192, 128, 3) if call == "attention" else (2048, 1024, 4)
    code = INTERRUPT.format(tokens=tokens, heads=heads, arrays=arrays, call=f"headwork.{call}")
    begin = time.perf_counter()
    assert printed(code, HEADWORK_ENGINE=engine) == "interrupted"
    assert time.perf_counter() - begin < 30


HANDLER = """
import signal, numpy as np, headwork
rng = np.random.default_rng(0)
arrays = [rng.standard_normal((1, 8, 4096, 16)).astype(np.float32) for _ in range(3)]
inner = [rng.standard_normal((1, 2, 100, 700)).astype(np.float32) for _ in range(3)]
right, inner_right = headwork.attention(*arrays, threads=2), headwork.attention(*inner, threads=2)
results = []
signal.signal(signal.SIGALRM, lambda *_: results.append(headwork.attention(*inner, threads=2)))
signal.setitimer(signal.ITIMER_REAL, 0.01)
while not results:
    assert np.array_equal(headwork.attention(*arrays, threads=2), right)
assert all(np.array_equal(result, inner_right) for result in results)
"""


@pytest.mark.parametrize("engine", ["", "numpy"])
def test_a_signal_handler_may_itself_call_attention(engine):
    printed(HANDLER, HEADWORK_ENGINE=engine)


# --- what is left behind ------------------------------------------------------------------------------

ARRAY = np.random.default_rng(0).standard_normal((1, 2, 3, 4))
MASK, SINK, LENGTHS, WINDOW = np.zeros((3, 3)), np.zeros(2), np.array([2]), (1, 2)
OPTIONS = {"mask": MASK, "sink": SINK, "alibi": SINK, "lengths": LENGTHS, "window": WINDOW}


def calls() -> None:
    output = np.empty_like(ARRAY)
    headwork.attention(ARRAY, ARRAY, ARRAY, **OPTIONS, out=output, return_logsumexp=True)
    headwork.attention_vjp(ARRAY, ARRAY, ARRAY, output, **OPTIONS)


def careful_calls() -> None:
    headwork.attention(ARRAY, ARRAY, ARRAY, mask=[MASK, MASK], out=ARRAY.copy())


def errors() -> None:
    for wrong in ({"mask": SINK}, {"scale": "x"}, {"is_causal": 1}, {"out": MASK}, {"window": (1,)}):
        with pytest.raises((headwork.HeadworkError, TypeError)):
            headwork.attention(ARRAY, ARRAY, ARRAY, **wrong)
    with pytest.raises(TypeError):
        headwork.attention_vjp(ARRAY, ARRAY, ARRAY)


def memory() -> int:
    """The most that this process has held, in KiB."""
    import resource  # not on Windows, where there is no kernel either

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most


@pytest.mark.parametrize(("call", "times"), [(calls, 20_000), (careful_calls, 2000), (errors, 500)])
def test_calls_leave_no_reference_and_no_memory_behind(call: Callable[[], None], times: int):
    for _ in range(50):
        call()
    kept = (ARRAY, MASK, SINK, LENGTHS, WINDOW)
    gc.collect()
    references, blocks, before = [sys.getrefcount(each) for each in kept], sys.getallocatedblocks(), memory()
    for _ in range(times):
        call()
    gc.collect()
    assert [sys.getrefcount(each) for each in kept] == references
    assert (
        sys.getallocatedblocks() - blocks < 1500
    )  # Python's own lists of free objects vary by some hundreds
    assert memory() - before < 8 * 1024
