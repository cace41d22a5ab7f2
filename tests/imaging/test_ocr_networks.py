"""The networks of the OCR engine: they are read, rewritten with integer matrices, and every letter can be scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pytest
from PIL import Image

from chyme.imaging.ocr.detection_network import STRIP, DetectionNetwork, _run_in_strips
from chyme.imaging.ocr.integer_network import rewrite_with_bytes
from chyme.imaging.ocr.rapidocr import _load_model, _models_folder
from chyme.imaging.ocr.text_detector import BLOCK, FAINT, GROWTH, MARGIN, _outline, find_contents
from chyme.imaging.ocr.text_recogniser import HEIGHT, NARROWEST, SURE_SCORE, TextRecogniser, _normalise
from chyme.models.weights.onnx_reader import OnnxNetwork, parse_onnx
from chyme.models.weights.onnx_session import open_session
from chyme.models.weights.onnx_writer import OnnxFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

PAGES = Path(__file__).resolve().parents[1] / "samples" / "pages"
CHANNELS, FEATURES = 16, 8


def random_floats(*shape: int) -> Floats:
    return numpy.random.default_rng(7).normal(0, 1, shape).astype(numpy.float32)


def a_block() -> bytes:
    """A depthwise convolution, two 1×1 convolutions with a bias, and the sum of both, as in the networks of PP-OCR."""
    file = OnnxFile()
    planes = file.add(
        "Conv", "x", file.constant(random_floats(CHANNELS, 1, 3, 3)), group=CHANNELS, pads=[1, 1, 1, 1],
        kernel_shape=[3, 3], auto_pad="NOTSET",
    )  # fmt: skip
    value = planes
    for inputs, outputs in ((CHANNELS, 2 * CHANNELS), (2 * CHANNELS, CHANNELS)):
        weights = file.constant(random_floats(outputs, inputs, 1, 1))
        product = file.add("Conv", value, weights, kernel_shape=[1, 1])
        value = file.add("Relu", file.add("Add", product, file.constant(random_floats(1, outputs, 1, 1))))
    result = file.add("Add", planes, value)
    return file.data({"x": (1, CHANNELS, "h", "w")}, {result: (1, CHANNELS, "h", "w")})


def run(network: bytes, values: Floats) -> Any:
    return open_session(network).run(None, {"x": values})[0]


def rewritten(network: OnnxNetwork, least: int) -> bytes:
    shape = (1, CHANNELS, "h", "w")
    return rewrite_with_bytes(network, {"x": shape}, {network.outputs[0]: shape}, least)


def test_a_file_that_was_written_is_read_again() -> None:
    network = parse_onnx(a_block())
    assert [node.operator for node in network.nodes] == ["Conv", "Conv", "Add", "Relu", "Conv", "Add", "Relu", "Add"]
    assert network.nodes[0].attributes["pads"] == [1, 1, 1, 1]
    assert network.nodes[0].attributes["auto_pad"] == "NOTSET"
    assert network.inputs == ("x",)
    assert numpy.array_equal(network.tensors[network.nodes[0].inputs[1]], random_floats(CHANNELS, 1, 3, 3))


@pytest.mark.parametrize("cut", [0, 1, 40, 400, -1])
def test_a_file_that_is_no_network_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="ONNX"):
        parse_onnx(a_block()[:cut])


def test_a_network_of_bytes_computes_almost_the_same() -> None:
    network, values = parse_onnx(a_block()), random_floats(1, CHANNELS, 6, 11)
    data = rewritten(network, CHANNELS)
    assert data.count(b"DynamicQuantizeMatMul") >= 2
    expected, found = run(a_block(), values), run(data, values)
    assert found.shape == expected.shape
    assert numpy.abs(found - expected).mean() < 0.03 * numpy.abs(expected).mean()


def test_small_convolutions_stay_as_they_are() -> None:
    network, values = parse_onnx(a_block()), random_floats(1, CHANNELS, 6, 11)
    data = rewritten(network, 1000)
    assert b"DynamicQuantizeMatMul" not in data
    assert numpy.allclose(run(data, values), run(a_block(), values), atol=1e-4)


def rename_values(network: OnnxNetwork) -> OnnxNetwork:
    """The same network with names that no file of ours has."""

    def rename(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name if name in (*network.tensors, *network.inputs) else f"value {name}" for name in names)

    nodes = (replace(node, inputs=rename(node.inputs), outputs=rename(node.outputs)) for node in network.nodes)
    return replace(network, nodes=tuple(nodes), outputs=rename(network.outputs))


def test_a_part_of_a_network_computes_one_value_from_another() -> None:
    network, values = rename_values(parse_onnx(a_block())), random_floats(1, CHANNELS, 6, 11)
    planes, shape = network.nodes[0].outputs[0], (1, CHANNELS, "h", "w")
    start = rewrite_with_bytes(network, {"x": shape}, {planes: shape}, 1000)
    rest = rewrite_with_bytes(network, {planes: shape}, {network.outputs[0]: shape}, 1000)
    (found,) = open_session(rest).run(None, {planes: run(start, values)})
    assert numpy.allclose(found, run(a_block(), values), atol=1e-4)


@pytest.mark.parametrize("height", [3, STRIP, 2 * STRIP + 5])
def test_strips_see_the_rows_around_them_and_are_joined(height: int) -> None:
    values = random_floats(1, 2, height, 5)

    def sum_of_neighbours(rows: slice) -> list[Floats]:
        padded = numpy.pad(values[:, :, rows], ((0, 0), (0, 0), (1, 1), (0, 0)))
        return [(padded[:, :, :-2] + padded[:, :, 1:-1] + padded[:, :, 2:]).repeat(2, axis=2)]

    expected = sum_of_neighbours(slice(0, height))[0]
    assert numpy.allclose(_run_in_strips(height, 1, sum_of_neighbours), expected)
    if height > STRIP:
        assert not numpy.allclose(_run_in_strips(height, 0, sum_of_neighbours), expected)


@pytest.mark.slow
def test_the_detection_network_gives_the_same_in_strips_as_in_one_piece() -> None:
    model = _load_model(_models_folder(), "det")
    with Image.open(PAGES / "clean.png") as page:
        pixels = numpy.asarray(page.convert("RGB").crop((60, 100, 444, 420)))  # lines in every strip, and on the seams
    planes = (pixels.transpose(2, 0, 1)[None] / 127.5 - 1).astype(numpy.float32)
    (expected,) = open_session(model).run(None, {"x": planes})
    found = DetectionNetwork(model, least_channels=10_000).map_text(pixels)
    assert expected.max() > 0.9
    assert found.shape == (320, 384)
    assert numpy.allclose(found, expected[0, 0], atol=1e-3)


def test_only_contents_are_searched_however_faint() -> None:
    page = numpy.full((1000, 700, 3), 250, numpy.uint8)
    assert find_contents(page) is None
    page[500:503, 300:340] -= FAINT
    assert find_contents(page) == (8 * BLOCK, 14 * BLOCK, 12 * BLOCK, 17 * BLOCK)
    page[999, 699] = 0
    assert find_contents(page) == (8 * BLOCK, 14 * BLOCK, 700, 1000)


def a_recogniser() -> TextRecogniser:
    """Letters are scored by the features alone: no network is loaded."""
    recogniser = TextRecogniser.__new__(TextRecogniser)
    recogniser._letters = ("", "a", "b", "文", "字", " ")
    recogniser._weights = numpy.zeros((FEATURES, 6), numpy.float32)
    recogniser._weights[:6, :6] = numpy.eye(6)
    recogniser._bias = numpy.zeros(6, numpy.float32)
    recogniser._first = numpy.array([0, 1, 2, 5])
    recogniser._first_weights = numpy.ascontiguousarray(recogniser._weights[:, recogniser._first])
    recogniser._first_bias = recogniser._bias[recogniser._first]
    return recogniser


def columns(*best: int, score: float = SURE_SCORE + 5) -> Floats:
    features = numpy.zeros((len(best), FEATURES), numpy.float32)
    features[numpy.arange(len(best)), list(best)] = score
    return features


def test_a_letter_of_many_columns_is_one_and_a_blank_separates_two() -> None:
    recogniser = a_recogniser()
    letters, probabilities = recogniser._score(columns(0, 1, 1, 0, 1, 5, 2, 0))
    found = recogniser._decode(letters, probabilities, 8.0)
    assert found.text == "aa b"
    assert found.columns == (1, 4, 6)
    assert len(found.confidences) == 4
    assert found.confidence > 0.99


def test_an_ideograph_among_latin_letters_is_read() -> None:
    recogniser = a_recogniser()
    letters, probabilities = recogniser._score(columns(1, 0, 3, 4, 0, 2))
    assert recogniser._decode(letters, probabilities, 6.0).text == "a文字b"


def test_a_doubtful_letter_has_the_probability_among_all_letters() -> None:
    recogniser = a_recogniser()
    features = columns(1, score=1.0)
    features[0, 3] = 0.9  # an ideograph is nearly as likely
    letters, probabilities = recogniser._score(features)
    scores = features[0, :6]
    assert letters.tolist() == [1]
    assert probabilities[0] == pytest.approx(numpy.exp(scores[1]) / numpy.exp(scores).sum(), abs=1e-4)


@pytest.mark.parametrize(("width", "expected"), [(10, NARROWEST), (2 * NARROWEST, 2 * NARROWEST), (1000, 1000)])
def test_a_line_is_read_at_its_own_width(width: int, expected: int) -> None:
    planes, used = _normalise(numpy.full((HEIGHT, width, 3), 255, numpy.uint8))
    assert planes.shape == (1, 3, HEIGHT, expected)
    assert used == width / expected
    assert numpy.allclose(planes[0, :, :, :width], 1)
    assert not planes[0, :, :, width:].any()


def test_a_region_is_outlined_clockwise_from_the_top_left_and_grown() -> None:
    probabilities = numpy.zeros((160, 256), numpy.float32)
    probabilities[60:80, 50:150] = 0.9
    probabilities[100:120, 50:150] = 0.4  # not sure enough
    (region,) = _outline(probabilities)
    growth = GROWTH * 99 * 19 / (99 + 19) / 2
    left, top, right, bottom = 50 - MARGIN - growth, 60 - MARGIN - growth, 149 - MARGIN + growth, 79 - MARGIN + growth
    expected = [(left, top), (right, top), (right, bottom), (left, bottom)]
    assert numpy.allclose(region, expected, atol=2)
