"""How the axes of somebody's arrays lie, as a word of letters: B batch, H heads, T tokens, D width.

E is H and D joined, heads outside (the packed arrays of most layers). Weights and masks have Q and K for
their two token axes. 1 is an axis of size 1. Query, key and value in one array: 3 (or 2, key and value)
is the axis that tells them apart, F is 3·H·D. Every array here is "BHTD" (or "BHQK", "BHQ") inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..arrays import Array
from ..errors import OptionError
from .calls import Signature

LAYOUTS = ("BHTD", "BTHD", "TBHD", "BTE", "TBE", "BTD", "HTD", "THD", "TD", "TE", "BHDT", "BDT", "DT")
QKV_LAYOUTS = (
    "BT3HD",
    "3BHTD",
    "3BTHD",
    "B3HTD",
    "BTH3D",
    "BT3E",
    "BTF",
    "3BTE",
    "T3HD",
    "3HTD",
    "3TD",
    "TF",
)
KV_LAYOUTS = ("BT2HD", "2BHTD", "2BTHD", "B2HTD", "2BTD", "2TD")

# --- to and from the arrays inside ------------------------------------------------------------------


def laid_out(array: Array, layout: str, axes: str = "BHTD") -> Array:
    """An array whose axes are `axes` in that layout; axes that it has not must be of size 1."""
    full = layout.replace("E", "HD")
    kept = [axis for axis in axes if axis in full]
    array = array.squeeze(tuple(i for i, axis in enumerate(axes) if axis not in full))
    order = [axis for axis in full if axis != "1"]
    array = array.transpose([kept.index(axis) for axis in order])
    sizes = dict(zip(order, array.shape, strict=True))
    sizes |= {"E": sizes.get("H", 1) * sizes.get("D", 1), "1": 1}
    return np.ascontiguousarray(array.reshape([sizes[axis] for axis in layout]))


def inside(array: Array, layout: str, heads: int, axes: str = "BHTD") -> Array:
    """The inverse of `laid_out`; `heads` says how E comes apart."""
    at = layout.find("E")
    if at >= 0:
        array = array.reshape(*array.shape[:at], heads, -1, *array.shape[at + 1 :])
    full = layout.replace("E", "HD")
    array = array.reshape([n for n, axis in zip(array.shape, full, strict=True) if axis != "1"])
    full = full.replace("1", "")
    array = array.transpose([full.index(axis) for axis in axes if axis in full])
    return np.expand_dims(array, tuple(i for i, axis in enumerate(axes) if axis not in full))


def joined(arrays: Sequence[Array], layout: str) -> Array:
    """Query, key and value, or key and value, in one array."""
    if "F" in layout:
        return np.concatenate([laid_out(each, layout.replace("F", "E")) for each in arrays], axis=-1)
    digit = str(len(arrays))
    return np.stack([laid_out(each, layout.replace(digit, "")) for each in arrays], axis=layout.index(digit))


def shape_in(layout: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an array of these sizes in that layout."""
    sizes = {"E": sizes.get("H", 1) * sizes.get("D", 1), "1": 1, **sizes}
    return tuple(sizes[axis] for axis in layout)


# --- what people call them ------------------------------------------------------------------------

WORDS = {  # token: its letter, as docstrings, annotations and `layout=` write them
    "B": "b bs bsz batch batch_size n_batch nbatch z bz",
    "H": (
        "h heads head num_heads n_heads nheads n_head nh hq num_q_heads n_q_heads num_attention_heads "
        "head_num num_query_heads"
    ),
    "T": (
        "t s l m seq seqs seq_len seqlen sequence sequence_length seq_length length len tokens num_tokens "
        "n_tokens time n_ctx q_len len_q seq_len_q seqlen_q seq_q q_seq_len tq t_q lq l_q sq s_q nq n_q "
        "queries num_queries n_queries tgt_len target_len query_len query_length"
    ),
    "D": "d dim head_dim headdim d_k dk head_size depth features d_head dh hs d_q",
    "E": ("e c d_model embed_dim embed embedding_dim hidden hidden_size hidden_dim model_dim emb_dim n_embd"),
}
LETTER = {word: letter for letter, words in WORDS.items() for word in words.split()}
CODES = re.compile(
    r"\b[BTSHNDLK]{3,4}\b|\b(?:bshd|bhsd|sbhd|thd|bnsd|bsnd|bnth|btnh|bthd|bhtd|bmhk|hnd|nhd|bsh)\b"
)
GROUPS = re.compile(
    r"""[(\[]\s*([A-Za-z_·* ]+(?:[,x×][A-Za-z_·* ]+)+),?\s*[)\]]|["']([a-z_]+(?: [a-z_]+)+)["']"""
)
CODE_LETTERS = {"S": "T", "L": "T", "M": "T", "N": "H", "K": "D"}


def layouts_said(signature: Signature) -> tuple[str, ...]:
    """The layouts that annotations and documentation speak of, in order, each once."""
    texts = [parameter.annotation for parameter in signature.parameters or ()] + [signature.doc]
    return tuple(dict.fromkeys(found for text in texts for found in _layouts_in(text)))


def layout_named(text: str) -> str:
    """The layout that a word such as "bshd" or "BNSD" stands for, "" where it is none."""
    word = text.strip("'\" ").upper().replace("_", "")
    if word in LAYOUTS:
        return word
    if word in ("HND", "NHD"):  # FlashInfer: N tokens
        return word.replace("N", "T")
    if word in ("BSH", "SBH"):  # H is the whole hidden width there
        return word.replace("S", "T").replace("H", "E")
    if "N" in word and "H" in word:  # JAX: N heads of width H
        word = word.replace("H", "D")
    word = "".join(CODE_LETTERS.get(letter, letter) for letter in word)
    return word if word in LAYOUTS else ""


def _layouts_in(text: str) -> Iterator[str]:
    for match in sorted([*CODES.finditer(text), *GROUPS.finditer(text)], key=lambda match: match.start()):
        found = (
            _from_group(next(filter(None, match.groups()))) if match.groups() else layout_named(match.group())
        )
        if found:
            yield found


def _from_group(group: str) -> str:
    tokens = [token.strip().lower() for token in re.split(r"[,x×]", group)]
    tokens = tokens if len(tokens) > 1 else group.lower().split()
    if tokens[0] == "n" and len(tokens) > 2:  # PyTorch writes N for the batch
        tokens[0] = "b"
    elif "n" in tokens and "h" in tokens and tokens[-1] == "h":
        tokens = [{"n": "h", "h": "d"}.get(token, token) for token in tokens]
    word = "".join(LETTER.get(token, {"n": "T"}.get(token, "?")) for token in tokens)
    word = word[:-1] + "D" if word.endswith("E") and ("H" in word or word == "TE") else word
    return word if word in LAYOUTS else ""


def read_layout(text: str) -> tuple[str, ...]:
    """One layout, or three with commas for query, key and value. Raises OptionError."""
    words = [word.strip() for word in text.split(",")]
    known = (*QKV_LAYOUTS, *KV_LAYOUTS)
    found = tuple(word if word in known else layout_named(word) for word in words)
    if not all(found) or len(found) not in (1, 3):
        raise OptionError(
            f"{text!r} is no layout. Write one word of letters, such as BHTD, BTHD, BTE (heads joined), HTD "
            f"or TD, or three of them with commas for query, key and value."
        )
    return found


def axes_words(layout: str) -> str:
    """A layout as people write it: "(B, T, H·D)"."""
    names = {"E": "H·D", "F": "3·H·D", "Q": "Tq", "K": "Tk"}
    return f"({', '.join(names.get(axis, axis) for axis in layout)}{',' if len(layout) == 1 else ''})"
