"""Wrong ONNX models, built by hand: subgraphs as exporters and people wrote them.

A program of its own: nothing of the project is imported. `python wrong_onnx.py FOLDER` writes them all.
"""

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

QKV = (("query", "B H Tq D"), ("key", "B H Tk D"), ("value", "B H Tk Dv"))


def model(nodes, name, inputs=QKV, initializers=()):
    def info(name, axes, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, axes.split())

    graph = helper.make_graph(
        nodes, name, [info(*entry) for entry in inputs], [info("output", "B H Tq Dv")], list(initializers)
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    onnx.checker.check_model(made)
    return made


def _scores(*, root=True):
    nodes = [
        helper.make_node("Transpose", ["key"], ["key_t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["query", "key_t"], ["scores" if root else "scaled"]),
    ]
    if root:
        nodes += [
            helper.make_node("Shape", ["query"], ["head_dim"], start=3, end=4),
            helper.make_node("Cast", ["head_dim"], ["head_dim_f"], to=TensorProto.FLOAT),
            helper.make_node("Sqrt", ["head_dim_f"], ["root"]),
            helper.make_node("Div", ["scores", "root"], ["scaled"]),
        ]
    return nodes


def _blend(scores="scaled", axis=-1):
    return [
        helper.make_node("Softmax", [scores], ["weights"], axis=axis),
        helper.make_node("MatMul", ["weights", "value"], ["output"]),
    ]


def scale_lost_in_a_fusion():
    return model([*_scores(root=False), *_blend()], "scale_lost_in_a_fusion")


def softmax_over_the_queries():
    """axis=2: right when the scores still had three axes."""
    return model([*_scores(), *_blend(axis=2)], "softmax_over_the_queries")


def where_the_wrong_way_round():
    """Where(mask, −1e9, s) with a mask that says what to keep."""
    low = helper.make_tensor("low", TensorProto.FLOAT, [], [-1e9])
    where = helper.make_node("Where", ["mask", "low", "scaled"], ["masked"])
    inputs = (*QKV, ("mask", "MB MH Tq Tk", TensorProto.BOOL))
    return model([*_scores(), where, *_blend("masked")], "where_the_wrong_way_round", inputs, [low])


def a_number_for_the_root():
    """√64 written into the graph when it was traced."""
    eight = helper.make_tensor("eight", TensorProto.FLOAT, [], [8.0])
    nodes = [*_scores(root=False)[:1], helper.make_node("MatMul", ["query", "key_t"], ["scores"])]
    div = helper.make_node("Div", ["scores", "eight"], ["scaled"])
    return model([*nodes, div, *_blend()], "a_number_for_the_root", initializers=[eight])


# function, layout, takes, mistake, report, shows, more
WRONG = (
    (
        scale_lost_in_a_fusion, "BHTD", "query key value", "scale-missing",
        "PAIR-code/tiny-transformers#71", {}, {"dtypes": "float32"},
    ),
    (
        softmax_over_the_queries, "BHTD", "query key value", "softmax-over-queries",
        "FudanNLP/fastNLP#254", {}, {"dtypes": "float32"},
    ),
    (
        where_the_wrong_way_round, "BHTD", "query key value mask", "mask-polarity",
        "lucidrains/halonet-pytorch#4", {"mask": "bool"},
        {"dtypes": "float32", "needs": ("mask",), "stated": {"mask_means": "attend"}},
    ),
    (
        a_number_for_the_root, "BHTD", "query key value", "scale-by-another-number",
        "course folklore: a constant of the example, folded when the graph was traced", {},
        {"dtypes": "float32", "theta": 8.0},
    ),
)  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for build, *_ in WRONG:
        onnx.save(build(), folder / f"{build.__name__}.onnx")


if __name__ == "__main__":
    main()
