"""Build the kernel with sanitizers and run its tests: `make sanitize`.

Address and undefined behaviour on the fastest engine of this machine and on the portable one, then threads.
A finding ends the run. Needs GCC and what `make test` needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = [f"tests/mechanism/test_{name}.py" for name in ("fast", "calling", "engines")]
RUNTIMES = {"address,undefined": ("libasan.so", "libubsan.so", "libstdc++.so"), "thread": ("libtsan.so",)}
TSAN = "die_after_fork=0 exitcode=66 allocator_may_return_null=1"
NOT_OURS = "race:_dl_deallocate_tls\n"  # glibc frees the storage of a thread behind the sanitizer's back
# Their threads are not built for this: the tests that need them are skipped.
NO_PEERS = "sys.modules['torch'] = sys.modules['jax'] = None; "


def main() -> None:
    """Both builds, each with its runs; the exit status is the worst."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for sanitizers in RUNTIMES:
            build(sanitizers, place / sanitizers)
        for engine in ("", "portable"):
            run("address,undefined", place, HEADWORK_ENGINE=engine)
        (place / "not-ours").write_text(NOT_OURS)
        run("thread", place, TSAN_OPTIONS=f"{TSAN} suppressions={place / 'not-ours'}")


def build(sanitizers: str, target: Path) -> None:
    """The package, with its kernel built with these sanitizers, in a folder of its own."""
    print(f"Building with {sanitizers} ...", flush=True)
    define = f"cmake.define.HEADWORK_SANITIZE={sanitizers}"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        target,
        ".",
        "-C",
        define,
    ]
    subprocess.run(pip, cwd=ROOT, check=True)


def run(sanitizers: str, place: Path, **settings: str) -> None:
    """The tests of the kernel, on that build."""
    print(f"Testing with {sanitizers} {settings.get('HEADWORK_ENGINE', '')}", flush=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(place / sanitizers), *sys.path[1:]]),
        "LD_PRELOAD": " ".join(map(runtime, RUNTIMES[sanitizers])),
        # Python keeps memory until the end; tests ask for more than there is, and look at what is held.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=4",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OPENBLAS_NUM_THREADS": "1",
        **settings,
    }
    # -S, and the site folder by PYTHONPATH: the hook of an editable Headwork would come before the build.
    hidden = NO_PEERS if sanitizers == "thread" else ""
    code = f"import sys, pytest; {hidden}sys.exit(pytest.main(sys.argv[1:]))"
    pytest = [sys.executable, "-S", "-c", code, "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *TESTS]
    if subprocess.run(pytest, cwd=ROOT, env=environment).returncode:
        sys.exit(f"{sanitizers}: not clean; what was found stands above.")


def runtime(name: str) -> str:
    """The library that a sanitizer needs in the process, from GCC."""
    found = subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


if __name__ == "__main__":
    main()
