"""Finds the regions of a picture that seem to contain text, with the detection network of PP-OCR.

The network gives each pixel a probability of being text. A region is the smallest rectangle, at any angle, around
pixels that are connected; it is grown, because the network marks only the inner part of a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chyme.imaging.ocr.detection_network import GRID, DetectionNetwork

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Pixels = NDArray[numpy.uint8]  # rows, columns, blue-green-red
    Corners = NDArray[numpy.float32]  # four points in pixels, clockwise from the top left of the region
    Floats = NDArray[numpy.float32]

MARGIN = 16  # pixels of background around the picture, so that text at the edge is found, too
BLOCK = 32  # pixels; contents are searched for in squares of this size
FAINT = 5  # of 255; a square with less contrast is empty
IS_TEXT = 0.3  # probability of a pixel
SURE_REGION = 0.5  # mean probability in a region
GROWTH = 1.6  # times area / circumference: by how much a region is grown on each side
THIN, THIN_GROWN = 3.0, 5.0  # pixels; a region that is thinner is dropped
MAX_REGIONS = 1000


class TextDetector:
    """Finds regions of text."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        self._network = DetectionNetwork(model, threads)

    def find_regions(self, pixels: Pixels) -> list[Corners]:
        """The corners of regions, in pixels. Lines should be at least 8 pixels high."""
        import numpy

        area = find_contents(pixels)
        if area is None:
            return []
        left, top, right, bottom = area
        probabilities = self._map_text(pixels[top:bottom, left:right])
        height, width = pixels.shape[:2]
        corner = numpy.array([left, top], numpy.float32)
        regions = (region + corner for region in _outline(probabilities))
        return [region for region in regions if _is_inside(region, width, height)]

    def _map_text(self, pixels: Pixels) -> Floats:
        import cv2
        import numpy

        height, width = pixels.shape[:2]
        background = [int(value) for value in numpy.median(pixels[:: max(1, height - 1)], axis=(0, 1))]
        below, right = (MARGIN + -(side + 2 * MARGIN) % GRID for side in (height, width))
        framed: Any = cv2.copyMakeBorder(pixels, MARGIN, below, MARGIN, right, cv2.BORDER_CONSTANT, value=background)
        return self._network.map_text(framed)


def find_contents(pixels: Pixels) -> tuple[int, int, int, int] | None:
    """The left, top, right and bottom of what is not an empty margin; None on an empty sheet."""
    import cv2
    import numpy

    height, width = pixels.shape[:2]
    filled = cv2.copyMakeBorder(pixels, 0, -height % BLOCK, 0, -width % BLOCK, cv2.BORDER_REPLICATE)
    down, across = filled.shape[0] // BLOCK, filled.shape[1] // BLOCK
    rows = filled.reshape(down, BLOCK, -1)
    lightest = rows.max(axis=1).reshape(down, across, -1).max(axis=2)
    darkest = rows.min(axis=1).reshape(down, across, -1).min(axis=2)
    is_filled = lightest - darkest >= FAINT
    if not is_filled.any():
        return None
    top, bottom = _expand(numpy.flatnonzero(is_filled.any(axis=1)), height)
    left, right = _expand(numpy.flatnonzero(is_filled.any(axis=0)), width)
    return left, top, right, bottom


def _expand(blocks: NDArray[numpy.intp], length: int) -> tuple[int, int]:
    """The pixels from the first to the last block, with one more on each side."""
    return max(0, int(blocks[0]) - 1) * BLOCK, min(length, (int(blocks[-1]) + 2) * BLOCK)


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
