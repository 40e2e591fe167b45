"""What people write to say what is to be checked, and what they hear where that is nothing."""

import sys
import textwrap

import numpy as np
import pytest

from headwork.conformance.calls import Call
from headwork.conformance.limits import Limits
from headwork.conformance.loading import load
from headwork.conformance.runner import Runner
from headwork.conformance.targets import read_target
from headwork.errors import FileError, HeadworkError, UnknownNameError

ARRAY = np.ones((2, 3))


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return written


@pytest.fixture(autouse=True)
def imports_leave_no_trace(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("headwork", "numpy", "torch", "onnx", "jax")):
            del sys.modules[name]


# ---------------------------------------------------------------- what is written


def test_a_file_with_and_without_a_name(write):
    path = str(write("kernel.py", ""))
    assert read_target(path).kind == "file"
    assert (read_target(path).place, read_target(path).name) == (path, "")
    assert (read_target(f"{path}:Block.forward").place, read_target(f"{path}:Block.forward").name) == (
        path,
        "Block.forward",
    )


def test_a_module_with_and_without_a_name():
    target = read_target("torch.nn.functional:scaled_dot_product_attention")
    assert (target.kind, target.place, target.name) == (
        "module",
        "torch.nn.functional",
        "scaled_dot_product_attention",
    )
    assert (read_target("my_kernels").place, read_target("my_kernels").name) == ("my_kernels", "")


def test_a_command_says_where_it_reads_and_writes():
    target = read_target(command=f"{sys.executable} x.py {{input}} {{output}}")
    assert target.kind == "command"
    assert target.takes == ("query", "key", "value")


WRONG = [
    # text, command                    error          said
    ("", "", HeadworkError, "One thing to check was expected"),
    ("a.b", "./a.out {input} {output}", HeadworkError, "One thing to check was expected"),
    ("kernal.py", "", FileError, "Did you mean kernel.py?"),
    ("nowhere/kernel.py", "", FileError, "there is no folder"),
    ("kernel.py:two words", "", HeadworkError, "no name in Python"),
    ("notes/kernel.txt:f", "", HeadworkError, "nothing that can be checked"),
    ("notes.ipynb", "", HeadworkError, "neither Python nor ONNX"),
    ("./", "", HeadworkError, "is a folder"),
    ("kernels", "", HeadworkError, "is a folder"),
    ("m.onnx:f", "", HeadworkError, "leave out :f"),
    ("", "./a.out", HeadworkError, "does not say {input} and {output}"),
    ("", "./a.out {input}", HeadworkError, "does not say {output}"),
    ("", "no-such-program {input} {output}", FileError, "'no-such-program' is not there"),
    ("", "'open {input} {output}", HeadworkError, "cannot be read"),
]


@pytest.mark.parametrize(
    ("text", "command", "error", "said"), WRONG, ids=[f"{row[0]}{row[1]}" for row in WRONG]
)
def test_what_cannot_be_meant_is_said(write, monkeypatch, tmp_path, text, command, error, said):
    write("kernel.py", "")
    write("notes.ipynb", "")
    write("kernels/notes.txt", "")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        read_target(text, command=command)
    assert said in str(caught.value)


# ---------------------------------------------------------------- which function is taken

CHOICES = [
    # what is in the file                                              the name taken
    ("def softmax(x): ...\ndef attention(q, k, v): ...", "attention"),
    ("def helper(x): ...\ndef SDPA(q, k, v): ...", "SDPA"),
    ("def scaled_dot_product_attention(q): ...\ndef forward(q): ...", "scaled_dot_product_attention"),
    ("import math\nfrom os.path import join\ndef mine(q): ...\ndef _softmax(x): ...", "mine"),
    ("class MultiHeadAttention:\n    def __call__(self, q): ...\ndef helper(x): ...", "MultiHeadAttention"),
    ("class Attention:\n    def __call__(self, q): ...\ndef attention(q): ...", "attention"),
    ("from math import sqrt as attention", "attention"),
]


@pytest.mark.parametrize(("text", "name"), CHOICES)
def test_the_likely_function_is_taken(write, text, name):
    _, signature = load(read_target(str(write("kernel.py", text))))
    assert signature.name == name


REFUSED = [
    # text                                   name          error             said
    (
        "def one(q): ...\ndef two(q): ...",
        "",
        HeadworkError,
        "kernel.py does not say which function to check: it has one, two. Write kernel.py:NAME.",
    ),
    ("import math", "", HeadworkError, "there is no public function in it"),
    (
        "def attention(q): ...",
        "atention",
        UnknownNameError,
        "kernel.py has no 'atention'; did you mean attention?",
    ),
    (
        "class A:\n    def forward(self): ...",
        "A.forwards",
        UnknownNameError,
        "A in kernel.py has no 'forwards'; did you mean forward?",
    ),
    ("attention = 3", "attention", HeadworkError, "attention is of type int, which cannot be called"),
    (
        "class A:\n    def __init__(self, d): ...\n    def __call__(self, q): ...",
        "A",
        HeadworkError,
        "The class A cannot be made without arguments. TypeError",
    ),
    ("class A:\n    pass", "A", HeadworkError, "A is of type A, which cannot be called"),
    (
        "def attention(q):\n  return (",
        "",
        HeadworkError,
        "kernel.py is not valid Python: line 2: '(' was never closed",
    ),
    (
        "import numpi",
        "",
        HeadworkError,
        "kernel.py cannot be imported. ModuleNotFoundError: No module named 'numpi' (kernel.py, line 1)",
    ),
    ("from math import sqqrt", "", HeadworkError, "ImportError: cannot import name 'sqqrt'"),
]


@pytest.mark.parametrize(("text", "name", "error", "said"), REFUSED)
def test_what_is_wrong_with_a_file_is_said(write, text, name, error, said):
    path = write("kernel.py", text)
    with pytest.raises(error) as caught:
        load(read_target(f"{path}:{name}" if name else str(path)))
    assert said in str(caught.value)


def test_a_module_that_is_not_there_is_said():
    with pytest.raises(HeadworkError, match="No module named 'no_such_module'"):
        load(read_target("no_such_module:attention"))


def test_a_method_is_taken_of_an_object_of_its_class(write):
    path = write(
        "kernel.py",
        "class A:\n    x = 2\n    def run(self, q): return q * self.x\n    @staticmethod\n    def still(q): return q\n",
    )
    assert load(read_target(f"{path}:A.run"))[0](3) == 6
    assert load(read_target(f"{path}:A.still"))[0](3) == 3


# ---------------------------------------------------------------- files and their neighbours


@pytest.mark.parametrize(
    "name",
    ["kernel.py", "my kernel.py", "Aufmerksamkeit-größer.py", "注意.py", "a.b.py", "random.py", "numpy.py"],
)
def test_a_file_may_be_called_anything(write, name):
    function, _ = load(read_target(str(write(name, "def attention(q): return q + 1"))))
    assert function(1) == 2


NEIGHBOURS = [
    # files                                                             import in kernel.py
    ({"helper.py": ""}, "from helper import one"),
    ({"helper.py": ""}, "from .helper import one"),
    ({"helper.py": ""}, "from . import helper; one = helper.one"),
    ({"helper.py": "", "__init__.py": ""}, "from .helper import one"),
    ({"../helper.py": ""}, "from ..helper import one"),
    ({"../helper.py": "", "../__init__.py": "", "__init__.py": ""}, "from ..helper import one"),
]


@pytest.mark.parametrize(("files", "line"), NEIGHBOURS)
@pytest.mark.parametrize("folder", ["kernels", "my kernels"])
def test_imports_of_files_next_to_it_work(write, files, line, folder):
    for name in files:
        write(f"outer/{folder}/{name}", "" if "__init__" in name else "one = 1")
    path = write(f"outer/{folder}/kernel.py", f"{line}\ndef attention(q): return q + one")
    function, _ = load(read_target(str(path)))
    assert function(1) == 2


def test_a_module_in_the_working_folder_is_found(write, monkeypatch, tmp_path):
    write("my_kernels/fast.py", "def attention(q): return q + 1")
    monkeypatch.chdir(tmp_path)
    function, signature = load(read_target("my_kernels.fast"))
    assert function(1) == 2
    assert signature.name == "attention"


def test_importing_leaves_nothing_in_the_folder(write, tmp_path):
    with Runner(
        read_target(str(write("kernel.py", "import helper\ndef attention(q): return q")), setup="")
    ) as runner:
        write("helper.py", "")
        assert runner.signature.name == "attention"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["helper.py", "kernel.py"]


# ---------------------------------------------------------------- set-up


def test_a_setup_file_runs_first(write):
    setup = write(
        "setup.py", "import os\nos.environ['SCALE'] = '3'\ndef warm_up(function): print('warm', function(2))"
    )
    path = write(
        "kernel.py", "import os\nscale = int(os.environ['SCALE'])\ndef attention(q): return q * scale"
    )
    with Runner(read_target(str(path), setup=str(setup))) as runner:
        np.testing.assert_array_equal(runner.call(Call((ARRAY,))).outputs[0], 3 * ARRAY)


def test_a_setup_file_that_is_not_there_is_said(write):
    with pytest.raises(FileError, match="is not there"):
        read_target(str(write("kernel.py", "")), setup="nowhere.py")


# ---------------------------------------------------------------- commands

PROGRAM = """
import sys, os, signal
import numpy as np
given = np.load(sys.argv[1])
how = given["how"]
if how == "fails": sys.exit(3)
if how == "crashes": os.kill(os.getpid(), signal.SIGSEGV)
if how == "loops":
    while True: pass
if how == "greedy":
    kept = []
    while True: kept.append(np.ones(1 << 20))
if how == "text": open(sys.argv[2], "w").write("no numbers")
if how == "good":
    print("computing")
    np.savez(sys.argv[2], output=given["query"] * given["scale"], names=",".join(given.files))
if how == "arrays":
    np.savez(sys.argv[2], output=given["query"], weights=given["key"].sum())
"""

COMMANDS = [
    ("fails", "raised", "exit status 3"),
    ("crashes", "crashed", "The command crashed: a segmentation fault"),
    ("silent", "not arrays", "wrote no file"),
    ("text", "not arrays", "cannot be read as .npz"),
    ("good", "not arrays", "dtype <U"),  # names is text: every entry must be numbers
    ("loops", "timed out", "no answer within 1.5 s"),
    ("greedy", "out of memory", "of memory"),
]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    program = tmp_path_factory.mktemp("a folder") / "program.py"
    program.write_text(PROGRAM)
    target = read_target(command=f"{sys.executable} '{program}' {{input}} {{output}}")
    with Runner(target, Limits(seconds=1.5, memory=150 << 20)) as runner:
        yield runner


@pytest.mark.parametrize(("how", "end", "said"), COMMANDS, ids=[row[0] for row in COMMANDS])
def test_what_a_command_does_is_said(command, how, end, said):
    outcome = command.call(Call((ARRAY,), {"scale": 2.0, "how": how}, first=how != "loops"))
    assert outcome.end == end, outcome
    assert said in outcome.said


def test_a_command_reads_and_writes_arrays_by_name(command):
    assert command.signature.kind == "command"
    assert [parameter.name for parameter in command.signature.parameters] == ["query", "key", "value"]
    outcome = command.call(Call((ARRAY, ARRAY), {"mask": None, "how": "arrays"}, first=True))
    assert outcome.names == ("output", "weights")
    np.testing.assert_array_equal(outcome.outputs[0], ARRAY)
    assert outcome.outputs[1] == 6


# ---------------------------------------------------------------- ONNX


@pytest.fixture
def model(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    shape = ["B", "H", "T", 4]
    graph = helper.make_graph(
        [helper.make_node("Attention", ["Q", "K", "V"], ["Y"])],
        "attention",
        [helper.make_tensor_value_info(name, kind, shape) for name in "QKV"],
        [helper.make_tensor_value_info("Y", kind, shape)],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)
    return str(path)


@pytest.mark.parametrize("engine", ["onnxruntime", "reference"])
def test_an_onnx_model_is_a_function_of_its_inputs(model, engine):
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime")
    function, signature = load(read_target(model, engine=engine))
    assert signature.kind == "onnx"
    assert [(one.name, one.annotation) for one in signature.parameters] == [
        (name, "float32[B,H,T,4]") for name in "QKV"
    ]
    assert ("onnxruntime" if engine == "onnxruntime" else "reference evaluator of onnx") in signature.doc
    query = np.zeros((1, 1, 2, 4), np.float32)  # equal scores: the output is the mean of the values
    value = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    np.testing.assert_allclose(function(query, query, V=value)["Y"][0, 0], [[2, 3, 4, 5]] * 2)


def test_a_file_that_is_no_model_is_said(write):
    pytest.importorskip("onnx")
    with pytest.raises(FileError, match="cannot be read as an ONNX model"):
        load(read_target(str(write("bad.onnx", "nothing")), engine="reference"))


def test_without_onnxruntime_and_onnx_it_is_said(model, monkeypatch):
    monkeypatch.setattr("headwork.conformance.onnx_models.find_spec", lambda name: None)
    with pytest.raises(HeadworkError, match="pip install onnxruntime"):
        load(read_target(model))


# ---------------------------------------------------------------- torch


def test_a_torch_module_is_made_and_put_into_evaluation(write):
    torch = pytest.importorskip("torch")
    path = write(
        "block.py",
        """
        import torch
        class Attention(torch.nn.Module):
            def __init__(self, heads=2):
                super().__init__()
                self.heads = heads
            def forward(self, query: torch.Tensor, key, value, *, causal=False):
                return torch.nn.functional.dropout(query, 0.5, self.training)
        """,
    )
    function, signature = load(read_target(str(path)))
    assert (signature.kind, signature.library) == ("module", "torch")
    assert [parameter.name for parameter in signature.parameters] == ["query", "key", "value", "causal"]
    query = torch.ones(3)
    assert torch.equal(function(query, query, query), query)
    with pytest.raises(HeadworkError, match="The device 'nothing' cannot be used here"):
        load(read_target(str(path), device="nothing"))
