"""Make .venv fit for what is asked: `python3 scripts/environment.py [EXTRA ...]`, from the Makefile.

.venv/headwork.json says what .venv holds. It is written after the work, so an installation that was
interrupted is never taken for a whole one. When it already says what is wanted, nothing is done.

An old Python must be able to read this file, or it cannot say that it is too old: no f-strings here.
"""

import hashlib
import json
import os
import subprocess
import sys

NEEDED = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
RECORD = os.path.join(VENV, "headwork.json")
PYTHON = os.path.join(VENV, "bin", "python")


def main(extras):
    """Create or refresh .venv so that it holds headwork with these extras (and those it had)."""
    check_python()
    place = {"python": "{}.{}".format(*sys.version_info[:2]), "folder": ROOT}  # a venv cannot be moved
    had = read_record()
    if not all(had.get(key) == value for key, value in place.items()):
        create()
        had = {}
        write_record(place)
    wanted = dict(place, extras=sorted(set(extras) | set(had.get("extras", []))), versions=versions())
    if had == wanted:
        return
    write_record(dict(place, extras=wanted["extras"]))  # without versions: unfinished
    install(wanted["extras"])
    write_record(wanted)


def check_python():
    """Stop with what to install when this Python cannot run Headwork or cannot make a venv."""
    if sys.version_info[:2] < NEEDED:
        sys.exit(
            "Headwork needs Python {}.{} or newer; found {}.{}. Install it, or name it: "
            "make run PYTHON=python3.12".format(*(NEEDED + sys.version_info[:2]))
        )
    try:
        import ensurepip  # noqa: F401  Debian ships it apart, with the venv package
        import venv  # noqa: F401
    except ImportError:
        sys.exit(
            "This Python has no venv module, which Headwork needs to keep its packages apart from "
            "yours. On Debian or Ubuntu: apt install python3-venv"
        )


def read_record():
    """What .venv holds; empty when there is none, or it is half-made or broken."""
    try:
        with open(RECORD) as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    return record if os.access(PYTHON, os.X_OK) else {}


def write_record(record):
    """Replace the record in one step: a reader finds the old or the new one, never half of it."""
    with open(RECORD + ".new", "w") as file:
        json.dump(record, file, indent=1)
    os.replace(RECORD + ".new", RECORD)


def versions():
    """A fingerprint of everything that decides what gets installed."""
    import tomllib  # here, since an old Python lacks it

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        settings = tomllib.load(file)
    with open(os.path.join(ROOT, "constraints.txt")) as file:
        pins = file.read()
    decisive = json.dumps([settings["project"], settings["build-system"], pins, kernel()], sort_keys=True)
    return hashlib.sha256(decisive.encode()).hexdigest()


def kernel():
    """The sources of the compiled kernel: unlike Python's, an edit of theirs counts after a build."""
    folder = os.path.join(ROOT, "kernel")
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    texts = []
    for path in [*paths, os.path.join(ROOT, "CMakeLists.txt")]:
        with open(path) as file:
            texts.append(file.read())
    return texts


def create():
    """Make .venv afresh."""
    say("Making .venv ...")
    if os.path.exists(RECORD):
        os.remove(RECORD)  # first, or an interruption could leave it to vouch for a half-cleared .venv
    base = getattr(sys, "_base_executable", sys.executable)  # not .venv's own python: it is cleared
    run([base, "-m", "venv", "--clear", VENV])


def install(extras):
    """Install headwork (editable, so that an edit counts at once) with these extras."""
    what = ".[{}]".format(",".join(extras)) if extras else "."
    say("Installing headwork{} into .venv ...".format(" with " + ", ".join(extras) if extras else ""))
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1")
    # The environment, unlike -c, reaches the build too (in a recent pip by a name of its own).
    for name in ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"):
        # What is set already stays in force. The path is relative because pip splits the variable at
        # blanks, which a folder's name may hold.
        environment[name] = (os.environ.get(name, "") + " constraints.txt").strip()
    # Twice quiet: errors only.
    run([PYTHON, "-m", "pip", "install", "--quiet", "--quiet", "--editable", what], env=environment)


def run(command, **options):
    """Run a command in the project's folder; its failure ends this script with its own messages above."""
    code = subprocess.call(command, cwd=ROOT, **options)
    if code != 0:
        sys.exit("The environment is not complete; the reason stands above. The same make goes on from here.")


def say(line):
    """Print a line now, before the command that follows it prints anything."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same make goes on from here.")
