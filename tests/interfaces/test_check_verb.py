"""`headwork check`: what is typed, the exit status, and the files that are written."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from checks_made import failing, reported

from headwork.conformance import checking, reproduce
from headwork.conformance.limits import Limits
from headwork.conformance.report import Weakness
from headwork.errors import HeadworkError
from headwork.interfaces import check_verb, watching
from headwork.interfaces.cli import main

RIGHT = reported(basic="right")
WRONG = replace(reported(basic="wrong"), failing=failing(0.5, 0.75))
FRAGILE = replace(RIGHT, weaknesses=(Weakness("prints", "it prints: hello"),))


THE_RUNNER = SimpleNamespace(is_loading=lambda: False)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command line on a file, where a check finds what is said; and what it was given."""
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text("def attention(q, k, v): ...\n")
    seen = {}

    def runner(target, limits):
        seen.update(target=target, limits=limits)
        return nullcontext(THE_RUNNER)

    def run(found, *arguments):
        def check(subject, stated, *, progress):
            seen.update(subject=subject, stated=stated)
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(check_verb, "Runner", runner)
        monkeypatch.setattr(checking, "check", check)
        monkeypatch.setattr(reproduce, "reproduction", lambda found, target: f"# {target.kind}\n")
        status = main(["check", *arguments])
        return status, *capsys.readouterr()

    run.seen = seen
    return run


# ---------------------------------------------------------------- the exit status

STATUSES = [
    # found                               strict  status  source
    (RIGHT,                               False,  0,      "right"),
    (reported(basic="convention"),        False,  0,      "a convention is no fault"),
    (reported(basic="rounding"),          False,  0,      "nor is rounding"),
    (reported(),                          False,  0,      "nor is what is not supported"),
    (WRONG,                               False,  1,      "wrong"),
    (reported(basic="could not be run"),  False,  1,      "it could not be run"),
    (FRAGILE,                             False,  0,      "robustness fails it …"),
    (FRAGILE,                             True,   1,      "… only where one is strict"),
    (RIGHT,                               True,   0,      "and nothing is there"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "strict", "status", "source"), STATUSES, ids=[row[-1] for row in STATUSES])
def test_the_exit_status(run, found, strict, status, source):
    assert run(found, "kernel.py", *["--strict"] * strict)[0] == status


MESSAGES = [
    # arguments                                        message
    ([],                                               "One thing to check was expected: FILE.py"),
    (["nothing.py"],                                   "nothing.py is not there, or is no file."),
    (["kernel.py", "--command", "a {input} {output}"], "One thing to check was expected"),
    (["kernel.py", "--mask-means", "dropp"],           "'dropp'. Did you mean 'drop'?"),
    (["kernel.py", "--causal", "sometimes"],           "It is one of: lower_right, upper_left, never."),
    (["kernel.py", "--sizes", "seven"],                "'seven' says nothing about sizes"),
    (["kernel.py", "--dtypes", "float31"],             "float32"),
    (["kernel.py", "--role", "a"],                     "--role is 'a'; NAME=ROLE was expected."),
    (["kernel.py", "--role", "a=quary"],               "Did you mean 'query'?"),
    (["kernel.py", "--argument", "=3"],                "NAME=VALUE was expected."),
    (["kernel.py", "--engine", "steam"],               "it is one of onnxruntime, reference."),
    (["kernel.py", "--setup", "none.py"],              "none.py is not there"),
    (["kernel.py", "--seconds", "0"],                  "'--seconds': 0"),
    (["kernel.py", "--memory", "much"],                "'--memory': 'much' is not a valid float"),
    (["kernel.py", "--watch", "--json"],               "leave out --json."),
    (["kernel.py", "--junit", "no/folder/a.xml"],      "cannot write no/folder/a.xml"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), MESSAGES, ids=[" ".join(row[0]) for row in MESSAGES])
def test_bad_usage_has_status_2_and_one_message(run, arguments, message):
    status, out, err = run(RIGHT, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("headwork: ")
    assert message in err


def test_a_file_that_cannot_be_imported_has_status_2(run):
    assert run(HeadworkError("kernel.py is not valid Python: line 1."), "kernel.py") == (
        2, "", "headwork: kernel.py is not valid Python: line 1.\n",
    )  # fmt: skip


@pytest.mark.parametrize("option", ["--junit", "--reproduce"])
@pytest.mark.parametrize(("file", "message"), [("nowhere/a", "there is no folder"), (".", "it is a folder")])
def test_a_file_that_cannot_be_written_is_said_before_the_check(run, option, file, message):
    status, out, err = run(WRONG, "kernel.py", option, file)
    assert (status, out) == (2, "")
    assert message in err
    assert not run.seen


@pytest.mark.parametrize("option", ["--seconds", "--memory"])
@pytest.mark.parametrize("number", ["nan", "inf", "1e300"])
def test_a_limit_that_is_none_is_bad_usage(run, option, number):
    status, out, err = run(RIGHT, "kernel.py", option, number)
    assert (status, out) == (2, "")
    assert f"{option} is {float(number):g}" in err


# ---------------------------------------------------------------- what is typed


def test_every_word_reaches_what_is_stated(run):
    run(
        RIGHT, "kernel.py:attention", "--layout", "BTHD", "--output-layout", "BTE", "--mask-means", "drop",
        "--causal", "upper_left", "--window-counts", "itself", "--empty-rows", "nan", "--logsumexp", "base 2",
        "--scale", "divides", "--returns", "output,lse", "--takes", "query,key,value", "--role", "m=mask",
        "--role", "s=scale", "--argument", "block=16", "--argument", "mode=fast", "--argument", "eps=-0.5",
        "--out-argument", "o", "--library", "torch", "--device", "cpu:0", "--dtypes", "float32,float16",
        "--sizes", "T=64; D%8", "--seconds", "90", "--memory", "0.5",
    )  # fmt: skip
    stated, limits = run.seen["stated"], run.seen["limits"]
    assert stated.to_dict() == {
        "roles": {"m": "mask", "s": "scale"},
        "arguments": {"block": 16, "mode": "fast", "eps": -0.5},
        "takes": ("query", "key", "value"), "layout": "BTHD", "output_layout": "BTE", "mask_means": "drop",
        "causal": "upper_left", "window_counts": "itself", "empty_rows": "nan", "logsumexp": "base 2",
        "scale": "divides", "returns": ("output", "logsumexp"), "out_argument": "o", "library": "torch",
        "device": "cpu:0", "dtypes": ("float32", "float16"),
        "sizes": {"among": {"Tq": [64], "Tk": [64]}, "multiples": {"D": 8, "Dv": 8}, "equal": []},
    }  # fmt: skip
    assert limits == Limits(seconds=90, first_seconds=90, load_seconds=90, memory=2**29)


def test_nothing_typed_states_nothing(run):
    run(RIGHT, "kernel.py")
    assert run.seen["stated"].to_dict() == {}
    assert run.seen["limits"] == Limits()
    assert run.seen["subject"] == THE_RUNNER


def test_a_command_takes_the_place_of_a_file(run):
    run(RIGHT, "--command", "cat {input} {output}", "--takes", "query,key,value,mask")
    assert (run.seen["target"].kind, run.seen["target"].takes) == (
        "command",
        ("query", "key", "value", "mask"),
    )


# ---------------------------------------------------------------- what comes out


def test_the_page_or_the_record(run):
    assert run(RIGHT, "kernel.py")[1].startswith("attention: 3 calls in 1.2 s, in float64\n")
    assert "Query, key and value: right;" in run(RIGHT, "kernel.py", "--plain")[1]
    record = json.loads(run(WRONG, "kernel.py", "--json")[1], parse_constant=pytest.fail)
    assert (record["verdict"], record["right"]) == ("wrong", False)


def test_files_are_written_whole_beside_the_page(run):
    status, out, err = run(WRONG, "kernel.py", "--junit", "a.xml", "--reproduce", "failing.py")
    assert (status, err) == (1, "")
    assert ElementTree.parse("a.xml").getroot().get("failures") == "1"
    assert Path("failing.py").read_text() == "# file\n"
    assert "failing.py runs it." in out
    assert sorted(path.name for path in Path().iterdir()) == ["a.xml", "failing.py", "kernel.py"]


def test_where_nothing_is_wrong_there_is_nothing_to_reproduce(run):
    status, out, err = run(RIGHT, "kernel.py", "--reproduce", "failing.py")
    assert (status, err) == (0, "")
    assert "failing.py was not written." in out
    assert not Path("failing.py").exists()
    out, err = run(RIGHT, "kernel.py", "--reproduce", "failing.py", "--json")[1:]
    json.loads(out)
    assert "failing.py was not written." in err


def test_strictness_reaches_the_page_and_the_xml(run):
    out = run(FRAGILE, "kernel.py", "--strict", "--junit", "a.xml")[1]
    assert "Robustness (strict: it fails)" in out
    assert ElementTree.parse("a.xml").getroot().get("failures") == "1"


# ---------------------------------------------------------------- on every save


def test_watching_looks_at_the_file_and_what_it_imports_and_outlives_a_broken_file(run, monkeypatch, capsys):
    Path("kernel.py").write_text("import helper\n")
    Path("helper.py").write_text("")

    def watch_files(files, act):
        assert [path.name for path in files()] == ["kernel.py", "helper.py"]
        return 10 + act(())  # it comes back, whatever happens

    monkeypatch.setattr(watching, "watch_files", watch_files)
    assert run(WRONG, "kernel.py", "--watch")[0] == 11
    status, _, err = run(HeadworkError("half a file."), "kernel.py", "--watch")
    assert (status, err) == (12, "headwork: half a file.\n")
