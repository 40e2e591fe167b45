"""The conventions and faults of other implementations: `python bench/peers_check.py [NAME …] [--record]`.

Each is checked as anyone's function is, with nothing stated: torch's scaled_dot_product_attention, JAX's
dot_product_attention, and ONNX's Attention operator in onnxruntime and in onnx's own reference evaluator.
One of them alone, from the command line: `headwork check bench/peers_check.py:torch_sdpa`.

--record writes bench/results/peers.json and, from it, docs/peers.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULT = Path(__file__).parent / "results" / "peers.json"
PAGE = Path(__file__).parents[1] / "docs" / "peers.md"
OPSET = 23  # the first with Attention


# --- the functions --------------------------------------------------------------------------------


def torch_sdpa(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """torch.nn.functional.scaled_dot_product_attention; query, key and value are torch tensors (…, T, D)."""
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def jax_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: Any = None,
) -> Any:
    """jax.nn.dot_product_attention; query, key and value are JAX arrays (B, T, H, D)."""
    import jax

    return jax.nn.dot_product_attention(
        query,
        key,
        value,
        bias,
        mask,
        scale=scale,
        is_causal=is_causal,
        query_seq_lengths=query_seq_lengths,
        key_value_seq_lengths=key_value_seq_lengths,
        local_window_size=local_window_size,
    )


def onnxruntime_attention(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    attn_mask: np.ndarray | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    softcap: float = 0.0,
) -> np.ndarray:
    """ONNX's Attention operator in onnxruntime, on the CPU; Q, K and V are (B, H, T, D)."""
    inputs = {"Q": Q, "K": K, "V": V} | ({} if attn_mask is None else {"attn_mask": attn_mask})
    return _session(_kinds(inputs), is_causal, scale, softcap).run(None, inputs)[0]


def onnx_reference_attention(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    attn_mask: np.ndarray | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    softcap: float = 0.0,
) -> np.ndarray:
    """ONNX's Attention operator in onnx's own reference evaluator; Q, K and V are (B, H, T, D)."""
    inputs = {"Q": Q, "K": K, "V": V} | ({} if attn_mask is None else {"attn_mask": attn_mask})
    return _evaluator(_kinds(inputs), is_causal, scale, softcap).run(None, inputs)[0]


Kinds = tuple[tuple[str, str, int], ...]


def _kinds(inputs: dict[str, np.ndarray]) -> Kinds:
    return tuple((name, array.dtype.name, array.ndim) for name, array in inputs.items())


@cache
def _session(kinds: Kinds, is_causal: bool, scale: float | None, softcap: float) -> Any:
    from onnxruntime import InferenceSession

    model = attention_model(kinds, is_causal, scale, softcap)
    return InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@cache
def _evaluator(kinds: Kinds, is_causal: bool, scale: float | None, softcap: float) -> Any:
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(attention_model(kinds, is_causal, scale, softcap))


def attention_model(kinds: Kinds, is_causal: bool, scale: float | None, softcap: float) -> Any:
    """A model that is one Attention node, for inputs of these names, dtypes and numbers of axes."""
    import onnx
    from onnx import helper

    scaled = {} if scale is None else {"scale": scale}
    names = [name for name, _, _ in kinds]
    node = helper.make_node("Attention", names, ["Y"], is_causal=int(is_causal), softcap=softcap, **scaled)
    element = {name: onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for name, dtype, _ in kinds}
    inputs = [
        helper.make_tensor_value_info(name, element[name], [f"{name}{axis}" for axis in range(axes)])
        for name, _, axes in kinds
    ]
    output = helper.make_tensor_value_info("Y", element["Q"], [f"Y{axis}" for axis in range(kinds[0][2])])
    graph = helper.make_graph([node], "attention", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


# --- who they are ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """One of them.

    function  as above; package: whose version is named; library: whose arrays it takes; title: for a heading
    """

    function: Callable[..., Any]
    package: str
    library: str
    title: str

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def version(self) -> str:
        return version(self.package)


PEERS = (
    Peer(torch_sdpa, "torch", "torch", "torch.nn.functional.scaled_dot_product_attention"),
    Peer(jax_dot_product_attention, "jax", "jax", "jax.nn.dot_product_attention"),
    Peer(onnxruntime_attention, "onnxruntime", "numpy", "onnxruntime, the Attention operator"),
    Peer(onnx_reference_attention, "onnx", "numpy", "onnx.reference, the Attention operator"),
)


# --- check, print, record -------------------------------------------------------------------------


def main() -> None:
    """Check those that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *(peer.name for peer in PEERS)], metavar="NAME")
    parser.add_argument(
        "--record", action="store_true", help=f"write bench/results/{RESULT.name} and {PAGE.name}"
    )
    asked = parser.parse_args()
    chosen = [peer for peer in PEERS if not asked.names or peer.name in asked.names]
    fresh = [checked(peer) for peer in chosen]
    print(page({"peers": fresh}))
    if asked.record:
        report = {"peers": with_recorded(fresh)}
        RESULT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        PAGE.write_text(page(report), encoding="utf-8")


def with_recorded(fresh: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These and, of those that were not checked now, what was recorded before; in the order of PEERS."""
    before = json.loads(RESULT.read_text(encoding="utf-8"))["peers"] if RESULT.exists() else []
    known = {each["name"]: each for each in (*before, *fresh)}
    return [known[peer.name] for peer in PEERS if peer.name in known]


def checked(peer: Peer) -> dict[str, Any]:
    """What a check finds, as plain data, with who was checked."""
    from headwork.conformance.checking import check

    record = check(peer.function, library=peer.library).to_dict()
    kept = {name: record[name] for name in ("verdict", "sentence", "interface", "robustness", "unseen")}
    features = [
        {name: value for name, value in each.items() if name != "cases"} for each in record["features"]
    ]
    who = {
        "name": peer.name,
        "title": peer.title,
        "package": peer.package,
        "version": peer.version,
    }
    return who | {"date": datetime.now(UTC).date().isoformat()} | {"check": kept | {"features": features}}


# --- the page -------------------------------------------------------------------------------------

HEAD = """\
# Other implementations, as they are

Written by `python bench/peers_check.py --record`; nothing here is edited by hand. Each was put to
`headwork check` as anybody's function is, on the CPU, with nothing stated but whose arrays it takes. What the
words mean is said in [checking.md](checking.md), and what differs by convention in
[conventions.md](conventions.md).

A convention is no fault: it is what to know before numbers are compared. A fault here is one on these inputs,
in that version.
"""
CONVENTIONS = {  # what an interface calls it -> the head of a column, and the words for its values
    "mask": ("True in a mask", {"attend": "may attend", "drop": "is hidden"}),
    "causal": ("causal, fewer queries than keys", {"lower_right": "lower right", "upper_left": "upper left"}),
    "empty rows": ("a row that sees nothing", {"nan": "NaN", "uniform": "the mean of all values"}),
    "window": ("a window of one number", {"itself": "counts itself", "others": "counts the others"}),
}


def page(report: dict[str, Any]) -> str:
    """The report as the Markdown of docs/peers.md."""
    parts = [HEAD, _overview(report["peers"]), *map(_section, report["peers"])]
    return "\n".join(parts)


def _overview(peers: list[dict[str, Any]]) -> str:
    heads = ["", "version", "checked on", "axes", *(head for head, _ in CONVENTIONS.values()), "verdict"]
    rows = (
        [
            f"[{peer['title']}](#{peer['name']})",
            peer["version"],
            peer["date"],
            peer["check"]["interface"]["layouts"].get("query", ""),
            *(_convention(peer, name) for name in CONVENTIONS),
            peer["check"]["verdict"],
        ]
        for peer in peers
    )
    return _table(heads, rows)


def _convention(peer: dict[str, Any], name: str) -> str:
    value = peer["check"]["interface"]["conventions"].get(name, "–")
    return CONVENTIONS[name][1].get(value, value)


def _section(peer: dict[str, Any]) -> str:
    check = peer["check"]
    there = [each for each in check["features"] if each["verdict"] != "not supported"]
    absent = [each["title"] for each in check["features"] if each["verdict"] == "not supported"]
    lines = [f'<a id="{peer["name"]}"></a>', "", f"## {peer['title']}", ""]
    lines += [f"{peer['package']} {peer['version']}. {check['sentence']}", ""]
    lines += [f"- {found['said']} ({found['how']})" for found in check["interface"]["found"]]
    lines += ["", _table(["feature", "verdict", "what was found"], map(_feature_row, there))]
    lines += (
        [f"Not asked, as it has no way to say it or refuses it: {'; '.join(absent)}.", ""] if absent else []
    )
    if check["robustness"]:
        lines += ["Robustness:", "", *(f"- {each['id']}: {each['said']}" for each in check["robustness"]), ""]
    return "\n".join(lines)


def _feature_row(feature: dict[str, Any]) -> list[str]:
    return [feature["title"], feature["verdict"], feature["sentence"]]


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    cells = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in cells)


if __name__ == "__main__":
    main()
