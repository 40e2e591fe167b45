"""Functions that nobody wants to run in their own process. `act(query, "name")` runs one of them."""

import ctypes
import io
import mmap
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np


def act(query, how, *more):
    return globals()[how](query, *more)


# ---------------------------------------------------------------- ends the process


def segfault(query):
    ctypes.string_at(0)


def os_exit(query):
    os._exit(0)


def os_abort(query):
    os.abort()


def kills_itself(query):
    os.kill(os.getpid(), signal.SIGKILL)


def overflows_the_c_stack(query):
    sys.setrecursionlimit(10**9)

    class Deep:
        def __getattr__(self, name):
            return getattr(self, name + "x")

    return Deep().x


def closes_every_file(query):
    os.closerange(0, 4096)
    return query


def writes_into_every_file(query):
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"garbage " * 100)
        except OSError:
            continue
    return query


# ---------------------------------------------------------------- never ends


def loops(query):
    while True:
        pass


def loops_in_c_with_the_gil(query):
    return re.match(r"(a+)+$", "a" * 64 + "b")  # one call of C, which would take years


def sleeps(query):
    time.sleep(1000)


def stops_itself(query):
    os.kill(os.getpid(), signal.SIGSTOP)


def prints_forever(query):
    while True:
        print("x" * 1000)


# ---------------------------------------------------------------- takes memory


def allocates_lazily(query):
    np.empty(100 << 30, np.uint8)
    return query


def reserves_address_space(query):
    mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
    return query


def allocates_and_touches(query):
    kept = []
    while True:
        kept.append(np.ones(4 << 20))


def returns_a_giant(query):
    return np.broadcast_to(np.float64(1), (100_000, 1_000_000))


# ---------------------------------------------------------------- raises


def raises(query):
    raise ValueError("D = 7 is not a multiple of 8")


def sys_exit(query):
    sys.exit(3)


def keyboard_interrupt(query):
    raise KeyboardInterrupt


class Unreadable(BaseException):
    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


def raises_the_unreadable(query):
    raise Unreadable


def recurses(query):
    return recurses(query)


def reads_standard_input(query):
    return input()


# ---------------------------------------------------------------- leaves things behind


def replaces_numpy(query):
    np.exp = np.sin
    np.asarray = None
    return query


def puts_numpy_back(query):
    np.exp, np.asarray = EXP, ASARRAY
    return query


EXP, ASARRAY = np.exp, np.asarray


def seeds(query):
    np.random.seed(0)
    return query


def draws(query):
    random.random()
    return query


def changes_its_input(query):
    query *= 2
    return query.copy()


def changes_the_environment(query):
    os.environ["OMP_NUM_THREADS"] = str(time.perf_counter())
    return query


def changes_the_folder(query):
    os.chdir("/" if os.getcwd() != "/" else "/tmp")
    return query


def silences_numpy(query):
    np.seterr(all="ignore")
    return query


def leaves_a_thread(query):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    return query


def leaves_a_process(query):
    subprocess.Popen(["sleep", "1000"])
    return query


def forks(query):
    if os.fork() == 0:
        return query * 0
    return query


# ---------------------------------------------------------------- prints


def prints(query):
    print("hello")
    print("there", file=sys.stderr)
    os.write(1, b"low\n")
    return query


def prints_what_is_loaded(query):
    print(*sys.modules)
    return query


def prints_bytes(query):
    os.write(1, b"\xff\xfe caf\xc3\xa9")
    return query


def replaces_standard_output(query):
    sys.stdout = io.StringIO()
    sys.stdout.close()
    return query


# ---------------------------------------------------------------- returns something else


class Lazy:
    shape = (2, 2)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not computed yet")


def returns(query, what):
    return {
        "None": lambda: None,
        "str": lambda: "0.5",
        "object": lambda: np.array([query, None], dtype=object),
        "generator": lambda: (row for row in query),
        "ragged": lambda: [[1.0, 2.0], [3.0]],
        "lazy": Lazy,
        "function": lambda: returns,
        "dates": lambda: np.zeros(3, "M8[s]"),
        "a list in itself": lambda: (nest := [], nest.append(nest))[0],
        "too many": lambda: [query] * 1000,
        "empty": tuple,
        "coroutine": coroutine,
        "many large": lambda: [np.broadcast_to(np.float64(1), (1 << 26,))] * 4,
    }[what]()


async def coroutine():
    return 1


def pid(query):
    return np.array(os.getpid())


def limit_of_core_files(query):
    return np.array(resource.getrlimit(resource.RLIMIT_CORE)[0])


def good(query):
    return query + 1
