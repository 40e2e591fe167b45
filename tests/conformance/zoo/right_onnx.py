"""Right ONNX models, built by hand. None may ever be accused.

A program of its own: nothing of the project is imported. Each function gives a model in float32; `takes`
in the table at the end are the names of its inputs. `python right_onnx.py FOLDER` writes them all.
"""

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

OPSET = 23  # the first with Attention


def model(nodes, inputs, outputs, *, name, initializers=()):
    """A model of these nodes; inputs and outputs: (name, axes) of float32, or (name, axes, type)."""

    def infos(entries):
        return [
            helper.make_tensor_value_info(entry[0], (*entry[2:], TensorProto.FLOAT)[0], entry[1].split())
            for entry in entries
        ]

    graph = helper.make_graph(nodes, name, infos(inputs), infos(outputs), list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    onnx.checker.check_model(made)
    return made


QKV = (("Q", "B H Tq D"), ("K", "B Hkv Tk D"), ("V", "B Hkv Tk Dv"))
Y = (("Y", "B H Tq Dv"),)


def attention_node():
    return model([helper.make_node("Attention", ["Q", "K", "V"], ["Y"])], QKV, Y, name="attention_node")


def attention_node_with_a_mask():
    node = helper.make_node("Attention", ["Q", "K", "V", "attn_mask"], ["Y"])
    mask = ("attn_mask", "MB MH Tq Tk", TensorProto.BOOL)
    return model([node], (*QKV, mask), Y, name="attention_node_with_a_mask")


def attention_node_with_a_bias():
    node = helper.make_node("Attention", ["Q", "K", "V", "attn_mask"], ["Y"])
    return model([node], (*QKV, ("attn_mask", "MB MH Tq Tk")), Y, name="attention_node_with_a_bias")


def attention_node_causal():
    """is_causal is upper left."""
    node = helper.make_node("Attention", ["Q", "K", "V"], ["Y"], is_causal=1)
    return model([node], QKV, Y, name="attention_node_causal")


def attention_node_packed():
    """Three axes, and four heads in an attribute."""
    node = helper.make_node("Attention", ["Q", "K", "V"], ["Y"], q_num_heads=4, kv_num_heads=4)
    inputs = (("Q", "B Tq E"), ("K", "B Tk E"), ("V", "B Tk Ev"))
    return model([node], inputs, (("Y", "B Tq Ev"),), name="attention_node_packed")


def _scaled_scores():
    """Q Kᵀ · D^(−1/2), with D read from the shape of the query."""
    return [
        helper.make_node("Transpose", ["key"], ["key_t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["query", "key_t"], ["scores"]),
        helper.make_node("Shape", ["query"], ["head_dim"], start=3, end=4),
        helper.make_node("Cast", ["head_dim"], ["head_dim_f"], to=TensorProto.FLOAT),
        helper.make_node("Sqrt", ["head_dim_f"], ["root"]),
        helper.make_node("Div", ["scores", "root"], ["scaled"]),
    ]


SUBGRAPH = (("query", "B H Tq D"), ("key", "B H Tk D"), ("value", "B H Tk Dv"))
OUTPUT = (("output", "B H Tq Dv"),)


def matmul_softmax_matmul():
    nodes = [
        *_scaled_scores(),
        helper.make_node("Softmax", ["scaled"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "value"], ["output"]),
    ]
    return model(nodes, SUBGRAPH, OUTPUT, name="matmul_softmax_matmul")


def matmul_softmax_with_a_mask():
    """Where(mask, s, −1e9), and the weights come out as well."""
    nodes = [
        *_scaled_scores(),
        helper.make_node("Where", ["mask", "scaled", "low"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "value"], ["output"]),
    ]
    low = helper.make_tensor("low", TensorProto.FLOAT, [], [-1e9])
    return model(
        nodes, (*SUBGRAPH, ("mask", "MB MH Tq Tk", TensorProto.BOOL)), (*OUTPUT, ("weights", "B H Tq Tk")),
        name="matmul_softmax_with_a_mask", initializers=[low],
    )  # fmt: skip


def root_on_both_sides():
    """As exporters write it: √(D^(−1/2)) on query and on key."""
    nodes = [
        helper.make_node("Shape", ["query"], ["head_dim"], start=3, end=4),
        helper.make_node("Cast", ["head_dim"], ["head_dim_f"], to=TensorProto.FLOAT),
        helper.make_node("Pow", ["head_dim_f", "minus_quarter"], ["root"]),
        helper.make_node("Mul", ["query", "root"], ["query_s"]),
        helper.make_node("Transpose", ["key"], ["key_t"], perm=[0, 1, 3, 2]),
        helper.make_node("Mul", ["key_t", "root"], ["key_s"]),
        helper.make_node("MatMul", ["query_s", "key_s"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "value"], ["output"]),
    ]
    power = helper.make_tensor("minus_quarter", TensorProto.FLOAT, [], [-0.25])
    return model(nodes, SUBGRAPH, OUTPUT, name="root_on_both_sides", initializers=[power])


ONNX = "the Attention operator of ONNX, opset 23"

# function, layout, takes, can, source, more
RIGHT = (
    (attention_node, "BHTD", "Q K V", "grouped-heads", ONNX, {"dtypes": "float32"}),
    (attention_node_with_a_mask, "BHTD", "Q K V mask=attn_mask", "mask-bool", ONNX, {"dtypes": "float32", "needs": ("mask",)}),
    (attention_node_with_a_bias, "BHTD", "Q K V mask=attn_mask", "mask-float", ONNX, {"dtypes": "float32", "needs": ("mask",)}),
    (
        attention_node_causal, "BHTD", "Q K V", "", ONNX,
        {"dtypes": "float32", "always": {"causal": True}, "causal": "upper_left"},
    ),
    (attention_node_packed, "BTE", "Q K V", "", ONNX, {"dtypes": "float32", "only": "H == 4 and Hkv == 4"}),
    (matmul_softmax_matmul, "BHTD", "query key value", "", "Vaswani et al. 2017, equation 1", {"dtypes": "float32"}),
    (
        matmul_softmax_with_a_mask, "BHTD", "query key value mask", "mask-bool weights", "Vaswani et al. 2017, equation 1",
        {"dtypes": "float32", "needs": ("mask",), "returns": "output weights"},
    ),
    (root_on_both_sides, "BHTD", "query key value", "", "torch.onnx, of scaled_dot_product_attention", {"dtypes": "float32"}),
)  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for build, *_ in RIGHT:
        onnx.save(build(), folder / f"{build.__name__}.onnx")


if __name__ == "__main__":
    main()
