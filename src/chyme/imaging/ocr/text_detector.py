"""Finds the regions of a picture that seem to contain text, with the detection network of PP-OCR.

The network gives each pixel a probability of being text. A region is the smallest rectangle, at any angle, around
pixels that are connected; it is grown, because the network marks only the inner part of a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chyme.imaging.ocr.integer_network import rewrite_with_bytes
from chyme.models.weights.onnx_reader import parse_onnx
from chyme.models.weights.onnx_session import open_session

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Pixels = NDArray[numpy.uint8]  # rows, columns, blue-green-red
    Corners = NDArray[numpy.float32]  # four points in pixels, clockwise from the top left of the region
    Floats = NDArray[numpy.float32]

MARGIN = 16  # pixels of background around the picture, so that text at the edge is found, too
GRID = 32  # the network needs sides that are multiples of it
IS_TEXT = 0.3  # probability of a pixel
SURE_REGION = 0.5  # mean probability in a region
GROWTH = 1.6  # times area / circumference: by how much a region is grown on each side
THIN, THIN_GROWN = 3.0, 5.0  # pixels; a region that is thinner is dropped
MAX_REGIONS = 1000
LEAST_CHANNELS = 96  # a convolution of fewer channels gains nothing from bytes


class TextDetector:
    """The network, rewritten for integer arithmetic when it is loaded."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        network = parse_onnx(model)
        (output,) = network.outputs
        data = rewrite_with_bytes(network, (1, 3, "height", "width"), output, (1, 1, "h", "w"), LEAST_CHANNELS)
        self._session: Any = open_session(data, threads)
        self._input = network.inputs[0]

    def find_regions(self, pixels: Pixels) -> list[Corners]:
        """The corners of regions, in pixels. Lines should be at least 8 pixels high."""
        probabilities = self._map_text(pixels)
        height, width = pixels.shape[:2]
        return [region for region in _outline(probabilities) if _is_inside(region, width, height)]

    def _map_text(self, pixels: Pixels) -> Floats:
        import cv2
        import numpy

        height, width = pixels.shape[:2]
        background = [int(value) for value in numpy.median(pixels[:: max(1, height - 1)], axis=(0, 1))]
        below, right = (MARGIN + -(side + 2 * MARGIN) % GRID for side in (height, width))
        framed = cv2.copyMakeBorder(pixels, MARGIN, below, MARGIN, right, cv2.BORDER_CONSTANT, value=background)
        planes = numpy.multiply(framed.transpose(2, 0, 1)[None], numpy.float32(1 / 127.5), dtype=numpy.float32)
        planes -= 1
        (result,) = self._session.run(None, {self._input: planes})
        probabilities: Floats = result[0, 0]
        return probabilities


def _outline(probabilities: Floats) -> list[Corners]:
    import cv2
    import numpy

    mask = cv2.dilate((probabilities > IS_TEXT).astype(numpy.uint8), numpy.ones((2, 2), numpy.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    regions: list[Corners] = []
    for contour in contours[:MAX_REGIONS]:
        center, (across, down), angle = cv2.minAreaRect(contour)
        if min(across, down) < THIN:
            continue
        corners = cv2.boxPoints((center, (across, down), angle)).astype(numpy.float32)
        if _mean_inside(probabilities, corners) < SURE_REGION:
            continue
        growth = GROWTH * across * down / (across + down)  # on both sides together
        if min(across, down) + growth >= THIN_GROWN:
            grown = cv2.boxPoints((center, (across + growth, down + growth), angle)).astype(numpy.float32)
            regions.append(_order_corners(grown - MARGIN))
    return regions


def _mean_inside(probabilities: Floats, corners: Corners) -> float:
    import cv2
    import numpy

    height, width = probabilities.shape
    left, top = (int(value) for value in numpy.clip(numpy.floor(corners.min(axis=0)), 0, (width - 1, height - 1)))
    right, bottom = (int(value) for value in numpy.clip(numpy.ceil(corners.max(axis=0)), 0, (width - 1, height - 1)))
    mask = numpy.zeros((bottom - top + 1, right - left + 1), numpy.uint8)
    cv2.fillPoly(mask, [(corners - (left, top)).astype(numpy.int32)], 1)
    return float(cv2.mean(probabilities[top : bottom + 1, left : right + 1], mask)[0])


def _order_corners(corners: Corners) -> Corners:
    """Clockwise from the top left: of the two on the left, and of the two on the right, the upper one comes first."""
    import numpy

    by_column = corners[numpy.argsort(corners[:, 0], kind="stable")]
    left, right = (pair[numpy.argsort(pair[:, 1], kind="stable")] for pair in (by_column[:2], by_column[2:]))
    ordered: Corners = numpy.stack([left[0], right[0], right[1], left[1]]).astype(numpy.float32)
    return ordered


def _is_inside(region: Corners, width: int, height: int) -> bool:
    """Whether more of the region than a few pixels lies in the picture."""
    import numpy

    clipped = numpy.clip(region, 0, (width - 1, height - 1))
    return bool((clipped.max(axis=0) - clipped.min(axis=0)).min() > 3)
