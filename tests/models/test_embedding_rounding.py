"""Matrices of bytes give the same products on every CPU: no sum of two products exceeds 16 bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from chyme.models.embedding import minilm_network, multilingual_network, multilingual_weights
from chyme.models.embedding.minilm import NUMBERS
from chyme.models.embedding.multilingual import NUMBERS as MULTILINGUAL_NUMBERS
from chyme.models.embedding.multilingual_weights import fields, messages
from chyme.models.embedding.quantization import prevent_saturation, round_to_bytes
from chyme.models.weights.catalog import EMBEDDING, MULTILINGUAL, Weights
from chyme.models.weights.folder import path_of
from chyme.models.weights.safetensors import read_tensors

pytestmark = pytest.mark.slow

INT8 = 3  # the number of this type in ONNX
LARGEST, SMALLEST = 2**15 - 1, -(2**15)

Rows = NDArray[Any]


def saturates(rounded: Rows) -> bool:
    """Whether an AVX2 CPU would clip a sum: `vpmaddubsw` adds 255 times two neighbours of the same sign."""
    pairs = rounded.astype(int).reshape(len(rounded), -1, 2)
    above, below = (255 * side.sum(axis=2) for side in (numpy.maximum(pairs, 0), numpy.minimum(pairs, 0)))
    return bool(above.max() > LARGEST or below.min() < SMALLEST)


def int8_matrices(onnx: bytes) -> Iterator[Rows]:
    """Yield the matrices of an ONNX file, with a row for each output channel."""
    (graph,) = messages(memoryview(onnx), 7)
    for tensor in messages(graph, 5):
        values_by_field: dict[int, list[Any]] = {}
        for number, value in fields(tensor):
            values_by_field.setdefault(number, []).append(value)
        if values_by_field[2] == [INT8] and len(values_by_field[1]) == 2:
            yield numpy.frombuffer(values_by_field[9][0], numpy.int8).reshape(values_by_field[1]).T


def weights_of(weights: Weights) -> Path:
    folder = path_of(weights)
    if folder is None:
        pytest.skip(f"the weights for {weights.capability} are not there; run 'chyme weights {weights.capability}'")
    return folder


def test_adjacent_largest_weights_do_not_saturate() -> None:
    weights = numpy.array([[1.0, 1.0, 0.1, -0.1], [-0.5, -0.5, 0.2, 0.0], [0.0] * 4], numpy.float32)
    rounded, step = round_to_bytes(weights.copy())
    assert not saturates(rounded)
    assert numpy.allclose(rounded * step[:, None], weights, atol=float(step.max()) / 2)


def test_weights_that_cannot_saturate_keep_all_digits_of_a_byte() -> None:
    rounded, step = round_to_bytes(numpy.array([[1.0, 0.0, -0.5, 0.5]], numpy.float32))
    assert rounded.tolist() == [[127, 0, -64, 64]]
    assert step.tolist() == pytest.approx([1 / 127])


def test_rounded_weights_never_saturate() -> None:
    random = numpy.random.default_rng(5)
    for scale in (1e-6, 1.0, 1e6):
        weights = (random.standard_normal((200, 64)) * scale).astype(numpy.float32)
        rounded, step = round_to_bytes(weights.copy())
        assert not saturates(rounded)
        assert (abs(rounded * step[:, None] - weights) <= step[:, None] * 0.51).all()


def test_rounded_weights_stay_as_they_are_unless_they_saturate() -> None:
    stored = numpy.array([[127, 1, -64, 64], [127, 127, 5, -128]], numpy.int8)
    rounded, step = prevent_saturation(stored)
    assert not saturates(rounded)
    assert (rounded[0].tolist(), float(step[0])) == ([127, 1, -64, 64], 1.0)
    assert rounded[1].tolist() == [64, 64, 3, -64]
    assert float(step[1]) == pytest.approx(254 / 127.9)


def test_no_matrix_of_the_embedder_saturates() -> None:
    network, _ = minilm_network.build_network(read_tensors(weights_of(EMBEDDING) / NUMBERS))
    matrices = list(int8_matrices(network))
    assert len(matrices) == 4 * minilm_network.LAYERS
    assert not any(map(saturates, matrices))


def test_no_matrix_of_the_multilingual_embedder_saturates() -> None:
    stored = multilingual_weights.read(weights_of(MULTILINGUAL) / MULTILINGUAL_NUMBERS)
    network, _ = multilingual_network.build_network(stored.tensors)
    matrices = list(int8_matrices(network))
    assert len(matrices) == 16
    assert not any(map(saturates, matrices))
