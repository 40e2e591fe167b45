"""Which files a program is made of, without running any of it."""

import pytest

from headwork.conformance.targets import Target
from headwork.interfaces.imported import files_of, with_imports

TREES = [
    # files, the first is asked                                                        found besides it      reason
    ({"a.py": "import b, math, numpy.linalg", "b.py": "", "c.py": ""},                 {"b.py"},             "beside it"),
    ({"a.py": "import b", "b.py": "from c import x", "c.py": "import a"},              {"b.py", "c.py"},     "in a circle"),
    ({"a.py": "from p import q", "p/__init__.py": "", "p/q.py": "", "p/r.py": ""},     {"p/__init__.py", "p/q.py"}, "a module of a package"),
    ({"a.py": "import p.q", "p/__init__.py": "from . import r", "p/q.py": "", "p/r.py": ""},
     {"p/__init__.py", "p/q.py", "p/r.py"},                                                                  "a package runs its own"),
    ({"p/a.py": "from .b import x", "p/__init__.py": "", "p/b.py": ""},                {"p/b.py"},           "relative"),
    ({"p/q/a.py": "from ..b import x", "p/__init__.py": "", "p/q/__init__.py": "", "p/b.py": ""}, {"p/b.py"}, "from the folder above"),
    ({"p/a.py": "import p.b", "p/__init__.py": "", "p/b.py": ""},                      {"p/__init__.py", "p/b.py"}, "by its package's name"),
    ({"a.py": "def f():\n    import b", "b.py": ""},                                   {"b.py"},             "in a function"),
    ({"a.py": "def f(:", "b.py": ""},                                                  set(),                "half-typed"),
    ({"a.py": "x = '\0'", "b.py": ""},                                                 set(),                "no Python"),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "found", "reason"), TREES, ids=[row[-1] for row in TREES])
def test_the_files_that_a_program_imports_from_beside_it(tmp_path, tree, found, reason):
    for name, text in tree.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    first = tmp_path / next(iter(tree))
    every = with_imports(first)
    assert every[0] == first
    assert {str(path.relative_to(tmp_path)) for path in every[1:]} == found


def test_each_kind_of_target_has_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("kernel.py", "setup.py", "model.onnx", "a.out"):
        (tmp_path / name).write_bytes(b"")

    def names(*parts, **more):
        return [path.name for path in files_of(Target(*parts, **more))]

    assert names("file", str(tmp_path / "kernel.py")) == ["kernel.py"]
    assert names("file", str(tmp_path / "kernel.py"), setup=str(tmp_path / "setup.py")) == [
        "setup.py",
        "kernel.py",
    ]
    assert names("module", "kernel") == ["kernel.py"]
    assert names("onnx", str(tmp_path / "model.onnx")) == ["model.onnx"]
    assert names("command", "./a.out {input} {output}") == ["a.out"]
