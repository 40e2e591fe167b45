"""Functions that misbehave: the checker has to survive each, and say what happened.

A program of its own: nothing of the project is imported. All take (q, k, v) in NumPy, any number of axes. Do not
call those marked "process" or "machine" in a process that you need: the one ends it, the other fills the memory.
"""

import ctypes
import gc
import logging
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np


def _attention(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v


# --- never comes back -----------------------------------------------------------------------------


def loops_for_ever(q, k, v):
    while True:
        pass


def searches_for_ever(q, k, v):
    """Backtracking, which is one call into C, but looks for signals now and then."""
    return re.match(r"(a+)+b", "a" * 64)


def sums_for_ever_in_c(q, k, v):
    """One instruction of Python that holds the interpreter: no signal handler and no thread gets its turn."""
    return sum(range(10**18))


def computes_a_huge_power(q, k, v):
    """The same, and gigabytes with it."""
    return 3 ** (10**10) % 7


def waits_for_a_lock(q, k, v):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def waits_for_input(q, k, v):
    """Reads standard input: the end of it, or nothing ever."""
    sys.stdin.readline()
    return _attention(q, k, v)


def sleeps(q, k, v):
    time.sleep(3600)


def ignores_signals(q, k, v):
    for name in ("SIGTERM", "SIGINT", "SIGALRM", "SIGXCPU"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    while True:
        time.sleep(0.1)


def swallows_every_exception(q, k, v):
    while True:
        try:
            time.sleep(0.1)
        except BaseException:
            continue


def stops_itself(q, k, v):
    os.kill(os.getpid(), signal.SIGSTOP)


def is_slow(q, k, v):
    """Not for ever: a second more than it needs."""
    time.sleep(1)
    return _attention(q, k, v)


# --- takes the process with it --------------------------------------------------------------------


def reads_address_0(q, k, v):
    return ctypes.string_at(0)


def exits(q, k, v):
    sys.exit(3)


def exits_as_if_all_were_well(q, k, v):
    sys.exit()


def exits_at_once(q, k, v):
    os._exit(0)


def aborts(q, k, v):
    os.abort()


def kills_itself(q, k, v):
    os.kill(os.getpid(), signal.SIGKILL)


def recurses(q, k, v):
    return recurses(q, k, v)


def interrupts(q, k, v):
    raise KeyboardInterrupt


# --- too much -------------------------------------------------------------------------------------


def takes_100_gigabytes(q, k, v):
    return np.ones(100 * 2**30 // 8)


def takes_100_gigabytes_unwritten(q, k, v):
    """Address space only, until it is written to."""
    big = np.empty(100 * 2**30 // 8)
    big[::512] = 1.0
    return big


def asks_for_8_gigabytes_and_writes_nothing(q, k, v):
    """No memory is used: that is no fault."""
    big = np.empty(8 * 2**30 // 8)
    return _attention(q, k, v) + 0.0 * big.size


def grows_slowly(q, k, v):
    """64 MB every twentieth of a second."""
    kept = []
    while True:
        kept.append(np.ones(8 * 2**20))
        time.sleep(0.05)


_LEAK = []


def leaks_a_little_in_every_call(q, k, v):
    _LEAK.append(np.ones(2**21))  # 16 MB
    return _attention(q, k, v)


def prints_for_ever(q, k, v):
    while True:
        print("attention " * 100)


def prints_without_a_line(q, k, v):
    """64 MB, and no end of a line in it."""
    block = "x" * 2**20
    for _ in range(64):
        sys.stdout.write(block)
    return _attention(q, k, v)


# --- says more than it should ---------------------------------------------------------------------


def prints(q, k, v):
    print("scores", q.shape, k.shape)
    print("and a warning", file=sys.stderr)
    return _attention(q, k, v)


def writes_to_file_descriptor_1(q, k, v):
    os.write(1, b'{"end": "returned", "outputs": []}\n\x00\xff\x1b[2J')
    return _attention(q, k, v)


def closes_the_standard_streams(q, k, v):
    for number in (0, 1, 2):
        os.close(number)
    return _attention(q, k, v)


def replaces_stdout(q, k, v):
    sys.stdout = None
    return _attention(q, k, v)


def warns(q, k, v):
    warnings.warn("this kernel is experimental \x1b[31m", UserWarning, stacklevel=1)
    logging.getLogger().error("and logs")
    return _attention(q, k, v)


def closes_every_file(q, k, v):
    """Whatever channel there is to the checker goes with them."""
    os.closerange(3, 1024)
    return _attention(q, k, v)


# --- changes what is not its own ------------------------------------------------------------------


def replaces_exp(q, k, v):
    out = _attention(q, k, v)
    np.exp = np.exp2
    return out


def replaces_matmul_for_the_call(q, k, v):
    """… and puts it back."""
    kept, np.matmul = np.matmul, lambda *args, **kwargs: None
    np.matmul = kept
    return _attention(q, k, v)


def replaces_allclose(q, k, v):
    """So that every comparison agrees."""
    np.allclose = np.array_equal = lambda *args, **kwargs: True
    np.testing.assert_allclose = lambda *args, **kwargs: None
    return np.zeros_like(q)


def seeds_the_random_numbers(q, k, v):
    np.random.seed(0)
    random.seed(0)
    return _attention(q, k, v)


def sets_the_error_state(q, k, v):
    np.seterr(all="ignore")
    return _attention(q, k, v)


def changes_the_folder(q, k, v):
    os.chdir("/")
    os.environ["PATH"] = ""
    return _attention(q, k, v)


def changes_its_query(q, k, v):
    q /= np.sqrt(q.shape[-1])
    w = np.exp(q @ k.swapaxes(-1, -2))
    return w / w.sum(-1, keepdims=True) @ v


def writes_into_its_value(q, k, v):
    v[...] = _attention(q, k, np.array(v))[..., : v.shape[-2], :] if q.shape == k.shape else v * 2
    return v


def leaves_a_thread(q, k, v):
    threading.Thread(target=time.sleep, args=(3600,), daemon=False).start()
    return _attention(q, k, v)


def leaves_a_busy_thread(q, k, v):
    def spin():
        while True:
            pass

    threading.Thread(target=spin, daemon=True).start()
    return _attention(q, k, v)


def leaves_a_process(q, k, v):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    return _attention(q, k, v)


def leaves_the_session(q, k, v):
    """A child that is in no group of its parent's and holds its standard output open."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    return _attention(q, k, v)


def turns_off_the_collector(q, k, v):
    gc.disable()
    sys.setrecursionlimit(10**6)
    return _attention(q, k, v)


# --- what comes back is odd -----------------------------------------------------------------------


def gives_none(q, k, v):
    _attention(q, k, v)


def gives_text(q, k, v):
    return "attention"


def gives_lists(q, k, v):
    """Lists of numbers are arrays all the same."""
    return _attention(q, k, v).tolist()


def gives_ragged_lists(q, k, v):
    return [[1.0, 2.0], [3.0]]


def gives_objects(q, k, v):
    return _attention(q, k, v).astype(object)


def gives_complex(q, k, v):
    return _attention(q, k, v).astype(complex)


def gives_whole_numbers(q, k, v):
    return np.round(_attention(q, k, v)).astype(np.int64)


def gives_truth(q, k, v):
    return True


def gives_one_number(q, k, v):
    return float(_attention(q, k, v).sum())


def gives_nothing_at_all(q, k, v):
    return ()


def gives_a_generator(q, k, v):
    return (row for row in _attention(q, k, v))


def gives_itself(q, k, v):
    """A list that holds itself."""
    nested = []
    nested.append(nested)
    return nested


def gives_an_endless_sequence(q, k, v):
    class Endless:
        def __len__(self):
            return 10**9

        def __getitem__(self, at):
            return 1.0

    return Endless()


def gives_what_lies_about_itself(q, k, v):
    class Liar:
        shape, dtype, ndim = q.shape, q.dtype, q.ndim

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("no array here")

    return Liar()


def gives_zero_strides(q, k, v):
    """Every row is the same memory; the numbers are wrong, the array is not."""
    return np.broadcast_to(_attention(q, k, v)[..., :1, :], (*q.shape[:-1], v.shape[-1]))


def gives_another_shape(q, k, v):
    return _attention(q, k, v)[..., :-1]


def gives_one_axis_more(q, k, v):
    return _attention(q, k, v)[None]


def gives_it_transposed(q, k, v):
    return _attention(q, k, v).swapaxes(-1, -2)


def gives_float64_for_float32(q, k, v):
    return _attention(q, k, v).astype(np.float64)


def gives_float16(q, k, v):
    with np.errstate(over="ignore"):
        return _attention(q, k, v).astype(np.float16)


def gives_nan(q, k, v):
    return np.full_like(_attention(q, k, v), np.nan)


def gives_one_nan(q, k, v):
    out = _attention(q, k, v)
    out.flat[-1] = np.nan
    return out


def gives_infinities(q, k, v):
    return np.full_like(_attention(q, k, v), np.inf)


def gives_zeros(q, k, v):
    return np.zeros_like(_attention(q, k, v))


def gives_its_query(q, k, v):
    """The output is the input, in the same memory."""
    return q


def gives_a_view_of_its_value(q, k, v):
    out = v[..., : q.shape[-2], :]
    return out if out.shape[:-1] == q.shape[:-1] else _attention(q, k, v)


# --- what is raised is odd ------------------------------------------------------------------------


class Unprintable(Exception):
    def __repr__(self):
        raise RuntimeError("no repr either")

    __str__ = __repr__


class NotAnException(BaseException):
    pass


class Unpicklable(Exception):
    def __init__(self, message, detail):
        super().__init__(message)
        self.detail = detail  # and no __reduce__: loading it calls __init__ with one argument


def raises(q, k, v):
    raise ValueError("shapes do not fit")


def raises_what_cannot_be_printed(q, k, v):
    raise Unprintable


def raises_no_exception(q, k, v):
    raise NotAnException("a BaseException")


def raises_what_cannot_be_sent(q, k, v):
    raise Unpicklable("first", lambda: None)


def raises_control_characters(q, k, v):
    raise RuntimeError("\x1b[2J\x1b]0;title\x07 \x00 \r\n\n over the screen")


def raises_ten_megabytes(q, k, v):
    raise RuntimeError("long " * 2_000_000)


def raises_in_many_scripts(q, k, v):
    raise RuntimeError("Größe ≠ 形状 \N{PILE OF POO} \u202e right to left \ud800")


def raises_a_chain(q, k, v):
    try:
        raises(q, k, v)
    except ValueError as error:
        raise RuntimeError("while handling") from error


def raises_a_group(q, k, v):
    raise ExceptionGroup("both", [ValueError("one"), TypeError("two")])


def raises_memory_error(q, k, v):
    raise MemoryError("CUDA out of memory, as a kernel says it")


def raises_stop_iteration(q, k, v):
    raise StopIteration


# --- not the same twice ---------------------------------------------------------------------------

_CALLS = {"once": 0, "twice": 0, "third": 0}
_BY_ID = {}
_BY_SHAPE = {}


def is_not_the_same_twice(q, k, v):
    out = _attention(q, k, v)
    return out * (1 + 1e-3 * np.random.default_rng().standard_normal(out.shape))


def sums_in_any_order(q, k, v):
    """Right each time, and another last bit each time, as atomic additions give."""
    order = np.random.default_rng().permutation(k.shape[-2])
    return _attention(q, k[..., order, :], v[..., order, :])


def works_only_once(q, k, v):
    _CALLS["once"] += 1
    if _CALLS["once"] > 1:
        raise RuntimeError("the workspace is in use")
    return _attention(q, k, v)


def works_from_the_second_call_on(q, k, v):
    _CALLS["twice"] += 1
    if _CALLS["twice"] == 1:
        raise RuntimeError("not initialised")
    return _attention(q, k, v)


def is_wrong_in_the_third_call(q, k, v):
    _CALLS["third"] += 1
    out = _attention(q, k, v)
    return out * 1.5 if _CALLS["third"] % 3 == 0 else out


def remembers_by_address(q, k, v):
    """Another array at the same address gives the old answer."""
    key = (id(q), q.shape, k.shape, v.shape)
    return _BY_ID.setdefault(key, _attention(q, k, v))


def remembers_by_shape(q, k, v):
    """The first answer of each shape is given for ever."""
    key = (q.shape, k.shape, v.shape, q.dtype)
    return _BY_SHAPE.setdefault(key, _attention(q, k, v))


def uses_one_buffer_for_all(q, k, v, _buffer={}):  # noqa: B006  (that is the fault)
    """What it gave before changes with the next call."""
    out = _attention(q, k, v)
    kept = _buffer.setdefault((out.shape, out.dtype), out)
    kept[...] = out
    return kept


def accumulates_into_one_buffer(q, k, v, _buffer={}):  # noqa: B006
    out = _attention(q, k, v)
    kept = _buffer.setdefault((out.shape, out.dtype), np.zeros_like(out))
    kept += out
    return kept


# function, how the call ends (headwork.conformance.calls.ENDS), a word of what is said of it, danger
#   the word: in what the outcome says, in its side effects or its exception; "printed": it holds what was printed;
#     "" where the outcome says nothing, and what is wrong shows in its arrays or in the arguments that it changed
#   danger: "" may be called anywhere; "state": it leaves something changed; "process": it ends or blocks its process,
#     or leaves something running; "machine": it takes memory without end
HOSTILE = (
    (loops_for_ever, "timed out", "within", "process"),
    (searches_for_ever, "timed out", "within", "process"),
    (sums_for_ever_in_c, "timed out", "within", "process"),
    (computes_a_huge_power, "timed out", "within", "machine"),
    (waits_for_a_lock, "timed out", "within", "process"),
    (waits_for_input, "returned", "", "state"),
    (sleeps, "timed out", "within", "process"),
    (ignores_signals, "timed out", "within", "process"),
    (swallows_every_exception, "timed out", "within", "process"),
    (stops_itself, "timed out", "within", "process"),
    (is_slow, "returned", "", ""),
    (reads_address_0, "crashed", "segmentation fault", "process"),
    (exits, "raised", "sys.exit", "process"),
    (exits_as_if_all_were_well, "raised", "sys.exit", "process"),
    (exits_at_once, "crashed", "exit", "process"),
    (aborts, "crashed", "abort", "process"),
    (kills_itself, "crashed", "kill", "process"),
    (recurses, "raised", "RecursionError", ""),
    (interrupts, "raised", "KeyboardInterrupt", "process"),
    (takes_100_gigabytes, "out of memory", "memory", "machine"),
    (takes_100_gigabytes_unwritten, "out of memory", "memory", "machine"),
    (asks_for_8_gigabytes_and_writes_nothing, "returned", "", "machine"),
    (grows_slowly, "out of memory", "memory", "machine"),
    (leaks_a_little_in_every_call, "returned", "", "state"),
    (prints_for_ever, "timed out", "within", "process"),
    (prints_without_a_line, "returned", "printed", "process"),
    (prints, "returned", "printed", ""),
    (writes_to_file_descriptor_1, "returned", "printed", "state"),
    (closes_the_standard_streams, "returned", "", "process"),
    (replaces_stdout, "returned", "", "state"),
    (warns, "returned", "", ""),
    (closes_every_file, "crashed", "", "process"),
    (replaces_exp, "returned", "exp was replaced", "state"),
    (replaces_matmul_for_the_call, "returned", "", ""),
    (replaces_allclose, "returned", "allclose was replaced", "state"),
    (seeds_the_random_numbers, "returned", "random state", "state"),
    (sets_the_error_state, "returned", "np.seterr", "state"),
    (changes_the_folder, "returned", "folder", "state"),
    (changes_its_query, "returned", "", ""),
    (writes_into_its_value, "returned", "", ""),
    (leaves_a_thread, "returned", "thread", "process"),
    (leaves_a_busy_thread, "returned", "thread", "process"),
    (leaves_a_process, "returned", "process", "process"),
    (leaves_the_session, "returned", "process", "process"),
    (turns_off_the_collector, "returned", "", "state"),
    (gives_none, "not arrays", "None", ""),
    (gives_text, "not arrays", "str", ""),
    (gives_lists, "returned", "", ""),
    (gives_ragged_lists, "not arrays", "list", ""),
    (gives_objects, "not arrays", "object", ""),
    (gives_complex, "returned", "", ""),
    (gives_whole_numbers, "returned", "", ""),
    (gives_truth, "returned", "", ""),
    (gives_one_number, "returned", "", ""),
    (gives_nothing_at_all, "not arrays", "without an array", ""),
    (gives_a_generator, "not arrays", "generator", ""),
    (gives_itself, "not arrays", "nest", ""),
    (gives_an_endless_sequence, "not arrays", "Endless", ""),
    (gives_what_lies_about_itself, "not arrays", "Liar", ""),
    (gives_zero_strides, "returned", "", ""),
    (gives_another_shape, "returned", "", ""),
    (gives_one_axis_more, "returned", "", ""),
    (gives_it_transposed, "returned", "", ""),
    (gives_float64_for_float32, "returned", "", ""),
    (gives_float16, "returned", "", ""),
    (gives_nan, "returned", "", ""),
    (gives_one_nan, "returned", "", ""),
    (gives_infinities, "returned", "", ""),
    (gives_zeros, "returned", "", ""),
    (gives_its_query, "returned", "", ""),
    (gives_a_view_of_its_value, "returned", "", ""),
    (raises, "raised", "ValueError", ""),
    (raises_what_cannot_be_printed, "raised", "Unprintable", ""),
    (raises_no_exception, "raised", "NotAnException", ""),
    (raises_what_cannot_be_sent, "raised", "Unpicklable", ""),
    (raises_control_characters, "raised", "RuntimeError", ""),
    (raises_ten_megabytes, "raised", "RuntimeError", ""),
    (raises_in_many_scripts, "raised", "RuntimeError", ""),
    (raises_a_chain, "raised", "RuntimeError", ""),
    (raises_a_group, "raised", "ExceptionGroup", ""),
    (raises_memory_error, "out of memory", "MemoryError", ""),
    (raises_stop_iteration, "raised", "StopIteration", ""),
    (is_not_the_same_twice, "returned", "", ""),
    (sums_in_any_order, "returned", "", ""),
    (works_only_once, "returned", "", "state"),
    (works_from_the_second_call_on, "raised", "RuntimeError", "state"),
    (is_wrong_in_the_third_call, "returned", "", "state"),
    (remembers_by_address, "returned", "", "state"),
    (remembers_by_shape, "returned", "", "state"),
    (uses_one_buffer_for_all, "returned", "", "state"),
    (accumulates_into_one_buffer, "returned", "", "state"),
)
