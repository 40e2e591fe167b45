"""Problems and answers from files: what is read, and what is refused with one clear message."""

import errno
import io
import json
import os
import sys
import threading
import zipfile

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from headwork import HeadworkError, Problem
from headwork.errors import FileError, OptionError, ShapeError, TooLargeError, UnknownNameError
from headwork.interfaces import archives
from headwork.interfaces.files import read_answers, read_problem
from headwork.problem import field_names

QKV = {"query": [[1.0, 0.0]], "key": [[1.0, 0.0], [0.0, 1.0]], "value": [[2.0], [4.0]]}
ARRAYS = {name: np.array(rows) for name, rows in QKV.items()}


def written(folder, name, content) -> str:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def same(one: Problem, other: Problem) -> None:
    assert one.to_dict().keys() == other.to_dict().keys()
    for name, value in one.to_dict().items():
        np.testing.assert_equal(value, other.to_dict()[name], err_msg=name)


# ---------------------------------------------------------------- what is read

OPTIONS = {
    "scale": 0.25,
    "causal": "upper_left",
    "window": [2, None],
    "sink": 0.5,
    "dtype": "float32",
    "chunks": [2],
}
IN_NPZ = {
    "scale": np.array([0.25]),  # one element stands for the number
    "causal": np.array("upper_left"),
    "window": np.array([2, np.nan]),  # NaN: no bound
    "sink": np.float64(0.5),
    "dtype": np.array("float32"),
    "chunks": np.array([2]),
}


def test_json_is_read(tmp_path):
    same(read_problem(written(tmp_path, "p.json", QKV | OPTIONS)), Problem(**QKV, **OPTIONS))


def test_npz_is_read(tmp_path):
    same(read_problem(written(tmp_path, "p.npz", npz(**ARRAYS, **IN_NPZ))), Problem(**QKV, **OPTIONS))


def test_safetensors_are_read_with_options_in_the_metadata(tmp_path):
    metadata = {
        "causal": "upper_left",
        "window": "[2, null]",
        "dtype": "float32",
        "scale": "0.25",
        "format": "pt",
    }
    raw = safetensors.numpy.save(
        ARRAYS | {"sink": np.array([0.5]), "chunks": np.array([2])}, metadata=metadata
    )
    same(read_problem(written(tmp_path, "p.safetensors", raw)), Problem(**QKV, **OPTIONS))


def test_bfloat16_keeps_its_dtype(tmp_path):
    arrays = {name: array.astype(ml_dtypes.bfloat16) for name, array in ARRAYS.items()}
    problem = read_problem(written(tmp_path, "p.safetensors", safetensors.numpy.save(arrays)))
    assert problem.dtype == ml_dtypes.bfloat16


def test_what_json_nests_has_dots_in_an_archive(tmp_path):
    raw = npz(
        **{
            "given.scaled": [[1.0, 2.0]],
            "value": [[1.0], [2.0]],
            "mask.0": [[True, False]],
            "mask.1": [[0.0, -1.0]],
        }
    )
    problem = read_problem(written(tmp_path, "p.npz", raw))
    nested = {"given": {"scaled": [[1.0, 2.0]]}, "mask": [{"mask": [[True, False]]}, {"mask": [[0.0, -1.0]]}]}
    same(problem, Problem.from_dict({**nested, "value": [[1.0], [2.0]]}))


def test_rope_in_an_archive(tmp_path):
    raw = npz(**ARRAYS, **{"rope.base": 100.0, "rope.pairing": np.array("interleaved")})
    assert read_problem(written(tmp_path, "p.npz", raw)).rope.pairing == "interleaved"


INFINITE = '{"given": {"scaled": [[1, %s]]}, "value": [[1], [2]]}'


@pytest.mark.parametrize("spelling", ['"-inf"', '"-Infinity"', "-Infinity", "-1e999"])
def test_minus_infinity_in_json(tmp_path, spelling):
    problem = read_problem(written(tmp_path, "p.json", INFINITE % spelling))
    assert problem.given["scaled"].tolist() == [[[1.0, -np.inf]]]


@pytest.mark.parametrize("spelling", ['"nan"', "NaN"])
def test_nan_in_json(tmp_path, spelling):
    assert np.isnan(read_problem(written(tmp_path, "p.json", INFINITE % spelling)).given["scaled"]).sum() == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_marks_of_windows_are_understood(tmp_path, encoding):
    same(read_problem(written(tmp_path, "p.json", json.dumps(QKV).encode(encoding))), Problem(**QKV))


def test_the_first_bytes_say_more_than_the_name(tmp_path):
    same(read_problem(written(tmp_path, "p.json", npz(**ARRAYS))), Problem(**QKV))


def test_a_file_without_a_suffix(tmp_path):
    same(read_problem(written(tmp_path, "problem", QKV)), Problem(**QKV))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(QKV).encode())))
    same(read_problem("-"), Problem(**QKV))


def test_a_pipe_can_be_read(tmp_path):
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=[json.dumps(QKV)])
    writer.start()
    same(read_problem(str(path)), Problem(**QKV))
    writer.join()


# ---------------------------------------------------------------- what is refused

HUGE = (
    b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000), }".ljust(117)
    + b"\n"
)
OBJECTS = npy(np.array([print, None], dtype=object))


def zipped(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name + ".npy", raw)
    return stream.getvalue()


REFUSED = [
    # name              content                                       error          said
    ("p.json", b"", FileError, "p.json is not JSON: line 1, column 1: it is empty."),
    ("p.json", '{"query": [[1,\n 2}', FileError, "line 2, column 3: expecting ',' delimiter; found '}'."),
    ("p.json", '{"query": [[1,', FileError, "expecting value; the text ends there."),
    ("p.json", '{"query": [[1]], "query": [[2]]}', FileError, "the key 'query' is given twice"),
    ("p.json", "[" * 100_000, FileError, "nested too deep"),
    ("p.json", '{"scale": ' + "9" * 5000 + "}", FileError, "too many digits to be read"),
    ("p.json", b"\xff\xfe\x00", FileError, "is no text: byte 3 is not utf-16"),
    ("p.json", b'{"query": "\xe9"}', FileError, "byte 12 is not utf-8"),
    ("p.json", b"\0\0\0\0", FileError, "it holds zero bytes"),
    ("p.json", "[1, 2]", OptionError, "a problem is one JSON object with fields"),
    ("p.json", {"qurey": [[1]]}, OptionError, "a problem has no field 'qurey'. Did you mean 'query'?"),
    ("p.json", {**QKV, "key": [[1, 2, 3]]}, ShapeError, "p.json: one row of query has 2 entries"),
    ("p.npy", npy(np.ones((2, 2))), FileError, "holds one array without a name"),
    ("p.npz", npz(**ARRAYS)[:-40], FileError, "p.npz is no .npz archive that can be read"),
    ("p.npz", "query", FileError, "p.npz is no .npz file: its first bytes are those of something else"),
    ("p.npz", npz(**ARRAYS, extra=[1]), OptionError, "a problem has no field 'extra'"),
    ("p.npz", npz(**ARRAYS, **{"mask": [[0.0]], "mask.0": [[True]]}), FileError, "holds 'mask' and also"),
    ("p.npz", zipped(query=HUGE), FileError, "has shape (1000000000, 1000000), but the file holds 0 bytes"),
    ("p.npz", zipped(query=OBJECTS), FileError, "holds Python objects, which are not unpickled"),
    ("p.npz", zipped(query=b"no array"), FileError, "is no .npz archive that can be read"),
    ("p.safetensors", b"", FileError, "is no .safetensors file that can be read"),
    ("p.safetensors", safetensors.numpy.save(ARRAYS)[:-1], FileError, "is no .safetensors file that"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "error", "said"), REFUSED)
def test_a_bad_file_is_refused_with_its_reason(tmp_path, name, content, error, said):
    with pytest.raises(error) as caught:
        read_problem(written(tmp_path, name, content))
    message = str(caught.value).replace(str(tmp_path), "")
    assert said in message
    assert name in message


def test_a_folder_is_no_problem(tmp_path):
    with pytest.raises(FileError, match="is a folder; a file was expected"):
        read_problem(str(tmp_path))


def test_a_file_that_is_not_there_names_the_nearest(tmp_path):
    near = written(tmp_path, "problem.json", QKV)
    with pytest.raises(FileError) as caught:
        read_problem(str(tmp_path / "porblem.json"))
    assert f"Did you mean {near}?" in str(caught.value)


def test_neither_an_exercise_nor_a_file():
    with pytest.raises(UnknownNameError, match=r"no file 'scoers', and .*scores"):
        read_problem("scoers")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = written(tmp_path, "p.json", QKV)
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileError, match="cannot be read: Permission denied"):
        read_problem(path)


def test_an_archive_that_would_not_fit_is_not_unpacked(tmp_path, monkeypatch):
    path = written(tmp_path, "p.npz", npz(**ARRAYS, mask=np.zeros(10_000, dtype=bool)))
    monkeypatch.setattr(archives, "memory_left", lambda: 15_000)
    with pytest.raises(TooLargeError, match="GiB when unpacked"):
        read_problem(path)


@pytest.mark.parametrize("name", ["p\n.json", "\x1b[31m.json", "\udcff.json"])
def test_a_file_name_cannot_write_to_the_terminal(name):
    with pytest.raises(HeadworkError) as caught:
        read_problem(name)
    assert str(caught.value).isprintable()


# ---------------------------------------------------------------- answers


def test_decimals_of_an_answer_keep_their_digits(tmp_path):
    path = written(tmp_path, "a.json", '{"weights": [[0.90, 2, "1/3", null]]}')
    assert read_answers(path) == {"weights": [["0.90", 2, "1/3", None]]}


def test_answers_are_arrays_or_named_arrays(tmp_path):
    np.testing.assert_equal(read_answers(written(tmp_path, "a.npy", npy(np.eye(2)))), np.eye(2))
    named = read_answers(written(tmp_path, "a.npz", npz(weights=np.array([[1.0]]))))
    assert named["weights"].shape == (1, 1)
    raw = safetensors.numpy.save({"weights": np.eye(2)}, metadata={"format": "np"})
    assert list(read_answers(written(tmp_path, "a.safetensors", raw))) == ["weights"]


def test_text_is_text_from_a_file_or_the_command_line(tmp_path):
    assert read_answers(written(tmp_path, "a.txt", "2 0 4; 0 2 0")) == "2 0 4; 0 2 0"
    assert read_answers("2 0 4\n0 2 0") == "2 0 4\n0 2 0"


def test_a_fraction_is_no_path():
    assert read_answers("1/3 2/3; √2/2 1") == "1/3 2/3; √2/2 1"


def test_json_may_be_given_instead_of_a_file_that_holds_it():
    assert read_answers('{"weights": [["0.90", 2, 0.50]]}') == {"weights": [["0.90", 2, "0.50"]]}
    assert read_answers('[["0.90", 2, 0.50]]') == [["0.90", 2, "0.50"]]
    assert read_answers("[[0.9 2.\n 0.5]]") == "[[0.9 2.\n 0.5]]", "as NumPy prints it"
    assert np.array_equal(read_problem(f" {json.dumps(QKV)}").to_dict()["query"], QKV["query"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{scores: 2}", "this is not JSON: line 1, column 2"),
        ('{"query": [[1]]}', "this: the problem has no key"),
    ],
)
def test_json_that_is_none_or_no_problem_is_told(text, said):
    with pytest.raises(HeadworkError, match=said):
        read_problem(text)


# ---------------------------------------------------------------- hostile files


def mutated(rng: np.random.Generator, raw: bytes) -> bytes:
    """The bytes with some changed, a piece cut out, doubled or made up, or the end missing."""
    data = bytearray(raw)
    for _ in range(rng.integers(1, 6)):
        at, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 9))
        match rng.integers(5):
            case 0:
                data[at : at + 1] = rng.bytes(1)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size]
            case 3:
                data[at : at + size] = rng.choice(
                    [b"-1", b"1e999", b"null", b"[", b"]", b'"', b"\xff" * 8, b"99999999999"]
                )
            case 4:
                del data[at : at + int(rng.choice([1, len(data)]))]
    return bytes(data)


FILES = {
    "p.json": json.dumps(QKV | OPTIONS).encode(),
    "p.npz": npz(**ARRAYS, **IN_NPZ),
    "compressed.npz": zipped(query=npy(ARRAYS["query"]), key=npy(ARRAYS["key"]), value=HUGE),
    "p.npy": npy(ARRAYS["query"]),
    "p.safetensors": safetensors.numpy.save(ARRAYS, metadata={"causal": "true", "window": "[1, 2]"}),
    "p": b"",
}

NAMES = (*field_names(), "given.scaled", "mask.0", "rope.base", "rope.", ".", "extra")
ODD_ARRAYS = [
    np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), np.float64(2), np.array([[np.nan, np.inf]]),
    np.ones((1,) * 9), np.array([[1]], "int8"), np.array([[1, 2]], "uint64"), np.array([[True, False]]),
]  # fmt: skip
UNUSUAL_ARRAYS = [
    np.array("lower_right"), np.array(["a", "b"]), np.array([b"x"]), np.array([[1 + 2j]]),
    np.zeros((2, 2), ">f4"), np.array(["2020-01-01"], "datetime64[D]"), np.zeros(2, [("a", "f8")]),
    np.asfortranarray(np.ones((2, 3))), np.eye(2)[::-1],
]  # fmt: skip
ODD_VALUES = [
    None, True, False, 0, -1, 2.5, 1e308, -float("inf"), float("nan"), 10**400, "", "x", "inf", "\ud800",
    "upper_left", [], [[]], [[], [1]], [[1, [2]]], [[True, 1]], [["inf", "nan"]], {}, {"base": -1},
    {"scores": [[1]]}, [{"mask": []}],
]  # fmt: skip


def odd_json(rng: np.random.Generator) -> bytes:
    """A problem in which some fields hold something that has no place there."""
    record = QKV | OPTIONS
    for name in rng.choice(NAMES, rng.integers(1, 4)):
        record = record | {str(name): ODD_VALUES[rng.integers(len(ODD_VALUES))]}
    return json.dumps(record).encode()


def odd_npz(rng: np.random.Generator) -> bytes:
    """An intact archive with odd arrays, or with an array that is damaged inside it."""
    odd = [*ODD_ARRAYS, *UNUSUAL_ARRAYS]
    members = {name: npy(array) for name, array in (ARRAYS | IN_NPZ).items()}
    members |= {str(name): npy(odd[rng.integers(len(odd))]) for name in rng.choice(NAMES, rng.integers(0, 3))}
    damaged = str(rng.choice(list(members)))
    return zipped(
        **members | {damaged: mutated(rng, members[damaged]) if rng.random() < 0.5 else members[damaged]}
    )


def odd_safetensors(rng: np.random.Generator) -> bytes:
    arrays = ARRAYS | {str(name): ODD_ARRAYS[rng.integers(len(ODD_ARRAYS))] for name in rng.choice(NAMES, 2)}
    odd = json.dumps(ODD_VALUES[rng.integers(len(ODD_VALUES))])
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return safetensors.numpy.save(arrays, metadata={str(rng.choice(NAMES)): odd})


def only_our_own_errors(path, draw) -> tuple[int, int]:
    """Read many files in both ways; how many were read and how many refused."""
    read, refused = 0, []
    for _ in range(300):
        path.write_bytes(draw())
        for reader in (read_problem, read_answers):
            try:
                reader(str(path))
                read += 1
            except HeadworkError as error:
                refused.append(str(error))
    assert all(path.name in message for message in refused)
    return read, len(refused)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_gives_none_but_our_own_errors(tmp_path, rng, name):
    def draw() -> bytes:
        return mutated(rng, FILES[name]) if rng.random() < 0.9 else rng.bytes(int(rng.integers(200)))

    _, refused = only_our_own_errors(tmp_path / name, draw)
    assert refused > 100


@pytest.mark.parametrize(
    ("name", "odd"), [("p.json", odd_json), ("p.npz", odd_npz), ("p.safetensors", odd_safetensors)]
)
def test_an_intact_file_with_odd_contents_gives_none_but_our_own_errors(tmp_path, rng, name, odd):
    read, refused = only_our_own_errors(tmp_path / name, lambda: odd(rng))
    assert read > 100
    assert refused > 100
