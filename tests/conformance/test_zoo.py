"""The zoo itself: a right implementation is right in all that it says it can do, a wrong one is wrong."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mutants import MUTANTS
from mutants.mutant import DRAWN
from mutants.right import textbook
from zoo import hostile, mutated
from zoo.calling import Problem, call, draw, sizes_for
from zoo.entries import Entry, right, wrong
from zoo.reference import attention

import headwork
from headwork.conformance.calls import ENDS
from headwork.mistakes.lookup import mistake_named
from headwork.mistakes.wrong_run import run_wrong

TOLERANCE = {
    "float64": 1e-13,
    "float32": 4e-6,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}  # times 1 + the largest output
LIBRARIES = ("numpy", "torch", "jax", "onnx")

# sizes to try until the entry supports them
SIZES: tuple[dict[str, int], ...] = (
    {},
    {"Dv": 4},
    {"Tq": 5, "Tk": 5, "Dv": 4},
    {"Tq": 1},
    {"D": 8, "Dv": 16},
    {"D": 32, "Dv": 32},
    {"H": 1},
    {"B": 1},
    {"Tq": 4, "Tk": 8, "Dv": 8},
    {"Tq": 16, "Tk": 32},
)
ASKED: dict[str, dict[str, Any]] = {
    "basic": {},
    "scale": {"scale": 0.3},
    "mask-bool": {"mask": "bool"},
    "mask-float": {"mask": "float"},
    "causal": {"causal": True},
    "offset": {"causal": True, "offset": 1},
    "window": {"window": (2, 1)},
    "lengths": {"lengths": True},
    "softcap": {"softcap": 1.5},
    "alibi": {"alibi": True},
    "sink": {"sink": True},
    "cache": {},
    "grouped-heads": {"Hkv": 2},
}


def asked(entry: Entry, feature: str) -> dict[str, Any]:
    """The options of a problem that asks for that feature, in the entry's own conventions."""
    more = entry.more
    options = {
        name: ASKED[f"{name}-bool" if name == "mask" else name][name]
        for name in more.get("needs", ())
        if name != "out"
    }
    options |= more.get("always", {}) | ASKED[feature]
    if "mask" in more.get("needs", ()) and "mask-bool" not in entry.can:
        options |= ASKED["mask-float"]
    if more.get("mask_axes") == "BK" and "mask" in options:
        options["mask"] = "padding"
    if "window" in options and more.get("window") == "count":
        options["window"] = (2, None)
    if options.get("causal") is True:
        options["causal"] = "upper_left" if more.get("causal") == "upper_left" else "lower_right"
    return options


Sizes = tuple[tuple[str, int], ...]
Options = tuple[tuple[str, Any], ...]


def fitting(entry: Entry, layout: str, feature: str) -> tuple[Sizes, Options]:
    """The first sizes that the entry supports, and what a problem of that feature asks for."""
    options = asked(entry, feature)
    grouped = {"Hkv": options.pop("Hkv")} if "Hkv" in options else {}
    square = entry.more.get("causal") == "square" and "causal" in options
    for wanted in SIZES:
        sizes = sizes_for(entry, layout, **wanted) | grouped
        if entry.supports(**sizes) and (not square or sizes["Tq"] == sizes["Tk"]):
            return tuple(sorted(sizes.items())), tuple(sorted(options.items()))
    raise AssertionError(f"no sizes for {entry}")


@cache
def worked(
    sizes: Sizes, options: Options, dtype: str, seed: int = 0
) -> tuple[Problem, dict[str, np.ndarray]]:
    """A problem, its numbers as that dtype holds them, and what the loops give for it."""
    problem = draw(dict(sizes), dict(options), seed)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    for name in {"query", "key", "value", "alibi", "sink"} & set(problem):
        problem[name] = problem[name].astype(kind).astype(np.float64)
    return problem, attention(problem)


def claims(library: str) -> Iterator[Any]:
    for entry in right(f"right_{library}.py"):
        features = sorted(entry.can & set(ASKED))
        layouts = entry.layouts
        if library == "jax":  # which compiles each shape and option anew
            layouts, features = layouts[:1], [one for one in features if one != "basic"] or features
        for layout in layouts:
            for dtype in entry.more.get("dtypes", "float64 float32").split():
                for feature in features:
                    if feature == "grouped-heads" and "H" not in layout:
                        continue
                    yield entry, layout, dtype, feature


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_right_implementation_is_right_in_all_that_it_can_do(library: str) -> None:
    if library != "numpy":
        pytest.importorskip(library)
    for entry, layout, dtype, feature in claims(library):
        problem, expected = worked(*fitting(entry, layout, feature), dtype)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = call(entry, problem, layout, dtype)
        for name in set(found) & set(expected):
            largest = np.abs(expected[name][np.isfinite(expected[name])]).max()
            np.testing.assert_allclose(
                found[name],
                expected[name],
                rtol=0,
                atol=TOLERANCE[dtype] * (1 + largest),
                err_msg=f"{entry} {layout} {dtype} {feature}: {name}",
            )


# ---------------------------------------------------------------- wrong ones

WRONG_LIBRARIES = ("numpy", "torch", "onnx")
REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+( \(.+\))?|course folklore: .+")
SHOWS = 1e-3  # seen at three digits
NARROW_SHOWS = 1e-9  # float64 itself errs by 1e-15
HARMLESS = {"return_weights", "return_logsumexp"}


def problem_of(entry: Entry, layout: str, seed: int = 0) -> Problem:
    """A problem on which it is wrong."""
    options = dict(entry.shows)
    sizes = {
        name: options.pop(name) for name in tuple(options) if name in ("B", "H", "Hkv", "Tq", "Tk", "D", "Dv")
    }
    return draw(sizes_for(entry, layout, **sizes), options, seed)


@cache
def written_for(library: str) -> list[tuple[Entry, Problem, dict[str, np.ndarray]]]:
    """Every wrong entry with a problem on which it is wrong, and what it gives."""
    done = []
    for entry in wrong(f"wrong_{library}.py"):
        dtype = entry.more.get("dtypes", "float64")
        problem = problem_of(entry, entry.layouts[0])
        problem |= {name: problem[name].astype(dtype).astype(float) for name in ("query", "key", "value")}
        with np.errstate(all="ignore"):
            done.append((entry, problem, call(entry, problem, dtype=dtype)))
    return done


@pytest.mark.parametrize("library", ["torch", "onnx"])
def test_a_wrong_implementation_is_wrong_where_it_says(library: str) -> None:
    pytest.importorskip(library)
    for entry, problem, found in written_for(library):
        right_output = attention(problem)["output"]
        assert found["output"].shape == right_output.shape, entry
        distance = np.abs(found["output"] - right_output).max()
        narrow = mistake_named(entry.mistake).narrow
        assert not distance <= (NARROW_SHOWS if narrow else SHOWS), f"{entry}: {distance}"


@pytest.mark.parametrize("library", ["torch", "onnx"])
def test_it_gives_the_numbers_of_the_mistake_that_it_is_named_after(library: str) -> None:
    pytest.importorskip(library)
    for entry, problem, found in written_for(library):
        if "cannot_compare" in entry.more:
            continue
        mistake = mistake_named(entry.mistake)
        theta = entry.more.get("theta")
        made = run_wrong(as_problem(problem, packed="E" in entry.layouts[0]), [mistake], theta)["output"]
        if "E" in entry.layouts[0]:
            B, Tq, H = *problem["query"].shape[0:3:2], problem["query"].shape[1]
            made = made.reshape(B, Tq, H, -1).swapaxes(1, 2)
        tolerance = 1e-5 if "dtypes" in entry.more else 1e-10
        np.testing.assert_allclose(found["output"], made, rtol=tolerance, atol=tolerance, err_msg=str(entry))


def as_problem(problem: Problem, packed: bool) -> headwork.Problem:
    """The package's own record of it."""
    fields = dict(problem)
    if fields.get("offset") is not None:
        fields["causal"] = True  # the offset says where the queries stand
    if packed:
        heads = {"heads": fields["query"].shape[1], "kv_heads": fields["key"].shape[1]}
        arrays = {name: fields[name].swapaxes(1, 2) for name in ("query", "key", "value")}
        fields |= {name: array.reshape(*array.shape[:2], -1) for name, array in arrays.items()} | heads
    return headwork.Problem(**fields)


def test_without_the_option_that_it_gets_wrong_it_is_right() -> None:
    """So that a check can tell which feature is wrong."""
    pytest.importorskip("torch")
    for entry in wrong("wrong_torch.py"):
        asked_for = set(entry.shows) - {"B", "H", "Hkv", "Tq", "Tk", "D", "Dv", "spread"}
        if not asked_for or asked_for == {"causal"} & set(entry.more.get("always", {})):
            continue
        sizes = {
            name: size for name, size in entry.shows.items() if name in ("B", "H", "Tq", "Tk", "D", "Dv")
        }
        problem = draw(sizes_for(entry, entry.layouts[0], **sizes), entry.more.get("always", {}))
        found = call(entry, problem, entry.layouts[0])["output"]
        np.testing.assert_allclose(found, attention(problem)["output"], atol=1e-12, err_msg=str(entry))


def test_the_mutants_are_wrong_as_ordinary_functions() -> None:
    for entry in wrong("wrong_numpy.py"):
        inputs = entry.more["inputs"](0)
        arguments = {name: _argument(name, value) for name, value in inputs.items() if name in entry.takes}
        with np.errstate(all="ignore"):
            expected = mutant_of(entry).run(inputs)
            returned = entry.function(**arguments, return_weights=True)
        outputs = returned if isinstance(returned, tuple) else (returned,)
        assert len(outputs) == len(entry.returns), entry
        for name, array in zip(entry.returns, outputs, strict=True):
            np.testing.assert_allclose(array, expected[name], rtol=1e-6, atol=1e-12, err_msg=str(entry))
        mistake_named(entry.mistake)


def _argument(name: str, value: Any) -> Any:
    """As `headwork check` hands it over: arrays for lists, and causal is causal."""
    if name == "causal":
        return True
    return np.array(value) if isinstance(value, list) and name not in ("chunks", "window") else value


def mutant_of(entry: Entry) -> Any:
    return next(mutant for mutant in MUTANTS if mutant.run.__name__ == entry.name)


def test_a_mutant_answers_rightly_where_its_option_is_not_asked_for() -> None:
    asked = 0
    for entry in wrong("wrong_numpy.py"):
        inputs = entry.more["inputs"](0)
        options = set(inputs) - {"dtype", "chunks", "heads", "kv_heads"} - set(DRAWN)
        if options:
            asked += 1
            bare = {name: np.array(value) for name, value in inputs.items() if name in DRAWN}
            np.testing.assert_allclose(
                entry.function(**bare), textbook(bare)["output"], atol=1e-12, err_msg=str(entry)
            )
    assert asked > 60


def test_there_are_enough_of_them() -> None:
    assert len(wrong("wrong_numpy.py")) == len(MUTANTS)
    assert len(right("right_numpy.py")) >= 60


@pytest.mark.parametrize("library", ["torch", "onnx"])
def test_every_wrong_one_says_who_reported_it(library: str) -> None:
    pytest.importorskip(library)
    entries = wrong(f"wrong_{library}.py")
    assert len(entries) >= {"torch": 60, "onnx": 4}[library]
    assert len({entry.name for entry in entries}) == len(entries)
    for entry in entries:
        assert REPORT.fullmatch(entry.source), entry


def test_the_command_reads_and_writes_npz(tmp_path: Path) -> None:
    problem = draw(sizes_for(right("right_numpy.py")[0], "BHTD"), {"mask": "bool"})
    np.savez(tmp_path / "in.npz", **problem)
    command = [
        sys.executable,
        Path(__file__).parent / "zoo" / "command.py",
        tmp_path / "in.npz",
        tmp_path / "out.npz",
    ]
    for flags, is_right in (([], True), (["--wrong"], False)):
        subprocess.run([*command, *flags], check=True)
        distance = np.abs(np.load(tmp_path / "out.npz")["output"] - attention(problem)["output"]).max()
        assert (distance < 1e-12) == is_right
    assert subprocess.run([*command, "--crash"], check=False).returncode == 3


# ---------------------------------------------------------------- mutated ones

TRIED = list(mutated.singles())[::10]


@pytest.mark.parametrize("mistake", TRIED, ids=lambda mistake: mistake.id)
def test_a_mutated_function_is_wrong_where_the_mistake_shows(mistake: Any) -> None:
    arguments = mistake.witness.draw().to_dict()
    arguments.pop("dtype")
    if "mask" in arguments:
        arguments["mask"] = arguments["mask"][0]["mask"]
    logsumexp = mistake.steps == ("logsumexp",)
    with np.errstate(all="ignore"):
        wrong_one, right_one = (
            function(**arguments, return_logsumexp=logsumexp)
            for function in (mutated.mutated(mistake.id), mutated.mutated())
        )
        if logsumexp:
            wrong_one, right_one = wrong_one[-1], right_one[-1]
        assert not np.abs(wrong_one - right_one).max() <= NARROW_SHOWS


def test_without_mistakes_it_is_right() -> None:
    problem = draw(
        sizes_for(right("right_numpy.py")[0], "BHTD"), {"mask": "bool", "softcap": 0.7, "sink": True}
    )
    found = mutated.mutated()(**problem, return_weights=True, return_logsumexp=True)
    for array, name in zip(found, ("output", "weights", "logsumexp"), strict=True):
        np.testing.assert_allclose(array, attention(problem)[name], atol=1e-12)


def test_a_mistake_that_a_call_cannot_show_is_left_out_of_it() -> None:
    problem = draw(sizes_for(right("right_numpy.py")[0], "BHTD"))
    capped = mutated.mutated("softcap-before-scale", "alibi-sign", "gqa-reversed")
    np.testing.assert_allclose(capped(**problem), attention(problem)["output"], atol=1e-12)


def test_mutated_functions_go_by_name() -> None:
    assert mutated.scale_missing__causal_strict.__name__ == "scale_missing__causal_strict"
    problem = draw(sizes_for(right("right_numpy.py")[0], "TD"))
    by_three, by_ten = mutated.softmax_another_base_3, mutated.softmax_another_base_10
    assert np.abs(by_three(**problem) - by_ten(**problem)).max() > SHOWS
    with pytest.raises(AttributeError, match="no_such_mistake"):
        _ = mutated.no_such_mistake


def test_pairs_replace_different_steps() -> None:
    pairs = mutated.pairs(100)
    assert len(set(pairs)) == 100
    assert all(not one.touches & other.touches for one, other in pairs)


# ---------------------------------------------------------------- hostile ones

HARMLESS_ONES = [row for row in hostile.HOSTILE if row[3] == "" and row[0].__name__ != "is_slow"]
DEADLY = [
    row
    for row in hostile.HOSTILE
    if row[3] == "process" and "leaves" not in row[0].__name__ and row[0].__name__ != "closes_every_file"
]
CHILDREN = """
import os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys.path.insert(0, sys.argv[1])
import numpy as np
from zoo import hostile
arrays = [np.ones((3, 2)) for _ in range(3)]
for word in sys.argv[2:]:
    name, seconds = word.split(":")
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        try:
            getattr(hostile, name)(*arrays)
        except (Exception, KeyboardInterrupt, SystemExit):
            os._exit(43)
        os._exit(42)
    latest = time.monotonic() + float(seconds)
    done = status = 0
    while not done and time.monotonic() < latest:
        time.sleep(0.01)
        done, status = os.waitpid(pid, os.WNOHANG)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status) if done else None
    print(name, {None: "timed out", 42: "returned", 43: "raised"}.get(code, "crashed"), sep="\t")
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("function", "end", "said"), [row[:3] for row in HARMLESS_ONES], ids=lambda x: getattr(x, "__name__", "")
)
def test_a_hostile_function_does_what_its_name_says(function: Any, end: str, said: str, capfd: Any) -> None:
    arrays = [np.random.default_rng(0).standard_normal(shape) for shape in ((3, 2), (3, 2), (3, 2))]
    if end == "raised":
        with pytest.raises(BaseException) as caught:  # noqa: PT011  (any, KeyboardInterrupt too)
            function(*arrays)
        assert type(caught.value).__name__ == said
    elif end == "out of memory":
        with pytest.raises(MemoryError):
            function(*arrays)
    else:
        function(*arrays)
    assert (capfd.readouterr().out != "") == (said == "printed")


def test_the_deadly_ones_are_deadly() -> None:
    words = [f"{function.__name__}:{0.2 if end == 'timed out' else 30}" for function, end, _, _ in DEADLY]
    command = [sys.executable, "-c", CHILDREN, str(Path(__file__).parent), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = dict(line.split("\t") for line in done.stdout.splitlines())
    assert found == {row[0].__name__: row[1] for row in DEADLY}, done.stderr


def test_every_way_for_a_call_to_end_is_there() -> None:
    assert {end for _, end, _, _ in hostile.HOSTILE} == set(ENDS)
    assert len({function for function, *_ in hostile.HOSTILE}) == len(hostile.HOSTILE)
