"""The catalogue in teaching order: every mistake that Headwork knows."""

from __future__ import annotations

from dataclasses import dataclass

from . import (
    alibi,
    blending,
    causal,
    dropout,
    heads,
    masking,
    merging,
    numerics,
    projection,
    rope,
    scale,
    scores,
    sinks,
    softcap,
    softmax,
    windows,
)
from .mistake import Mistake


@dataclass(frozen=True)
class Topic:
    """The mistakes about one part of the pipeline.

    Fields
    id        as `headwork mistakes --step` takes it; title: a heading
    mistakes  in teaching order
    """

    id: str
    title: str
    mistakes: tuple[Mistake, ...]


TOPICS: tuple[Topic, ...] = (
    Topic("projection", "Projecting the embeddings", projection.MISTAKES),
    Topic("heads", "Splitting, sharing and joining heads", heads.MISTAKES),
    Topic("rope", "Turning queries and keys by their positions (RoPE)", rope.MISTAKES),
    Topic("scores", "Scores", scores.MISTAKES),
    Topic("scale", "Scale", scale.MISTAKES),
    Topic("softcap", "Softcap", softcap.MISTAKES),
    Topic("alibi", "Biases by distance (ALiBi)", alibi.MISTAKES),
    Topic("masking", "Masks", masking.MISTAKES),
    Topic("causal", "Causal masks", causal.MISTAKES),
    Topic("windows", "Windows", windows.MISTAKES),
    Topic("softmax", "Softmax", softmax.MISTAKES),
    Topic("sinks", "Sinks", sinks.MISTAKES),
    Topic("blending", "Blending the values", blending.MISTAKES),
    Topic("merging", "Working in parts, and the logsumexp", merging.MISTAKES),
    Topic("dropout", "Dropout", dropout.MISTAKES),
    Topic("numerics", "Arithmetic in fewer bits", numerics.MISTAKES),
)

CATALOGUE: tuple[Mistake, ...] = tuple(mistake for topic in TOPICS for mistake in topic.mistakes)
