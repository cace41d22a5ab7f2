"""BERT as its paper describes it, in plain numpy: slow; the fast network is compared with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy
from numpy.typing import NDArray

Floats = NDArray[numpy.float32]
HEADS, LAYERS = 12, 6


def embedded(tensors: Mapping[str, Floats], tokens: Sequence[int]) -> Floats:
    """Return the mean over all tokens, scaled to length 1."""

    def dense(flow: Floats, name: str) -> Floats:
        return flow @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def normal(flow: Floats, name: str) -> Floats:
        normalized = (flow - flow.mean(-1, keepdims=True)) / numpy.sqrt(flow.var(-1, keepdims=True) + 1e-12)
        scaled: Floats = normalized * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
        return scaled

    def heads(flow: Floats) -> Floats:
        return flow.reshape(len(flow), HEADS, -1).transpose(1, 0, 2)

    flow: Floats = (
        tensors["embeddings.word_embeddings.weight"][list(tokens)]
        + tensors["embeddings.position_embeddings.weight"][: len(tokens)]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    flow = normal(flow, "embeddings.LayerNorm")
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        query, key, value = (heads(dense(flow, f"{name}.attention.self.{part}")) for part in ("query", "key", "value"))
        attention = numpy.exp(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
        weighted = (attention / attention.sum(-1, keepdims=True)) @ value
        attended = dense(weighted.transpose(1, 0, 2).reshape(flow.shape), f"{name}.attention.output.dense")
        flow = normal(flow + attended, f"{name}.attention.output.LayerNorm")
        inner = _gelu(dense(flow, f"{name}.intermediate.dense"))
        flow = normal(flow + dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    mean: Floats = flow.mean(0)
    return mean / numpy.float32(numpy.linalg.norm(mean))


def _gelu(flow: Floats) -> Floats:
    error = numpy.frompyfunc(math.erf, 1, 1)(flow / math.sqrt(2)).astype(numpy.float32)
    activated: Floats = flow * (1 + error) / 2
    return activated
