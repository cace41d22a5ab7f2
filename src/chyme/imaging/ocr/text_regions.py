"""A region of a picture that seems to contain one line of text: its corners, and what was read in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.imaging.ocr.engines import Line, Word, bounding_box, cut_quad
from chyme.imaging.ocr.reading_order import Quad
from chyme.imaging.ocr.text_recogniser import RecognisedText

if TYPE_CHECKING:
    import numpy

    Pixels = numpy.ndarray[Any, Any]
    Corners = numpy.ndarray[Any, Any]  # four points in pixels, clockwise from the top left of the region

TALL = 1.5  # a region this many times higher than wide has text that runs up or down
SURE = 0.9  # mean confidence of the letters
DENSE, EMPTY = 0.4, 0.15  # letters per height of the line; unknown letters come back blank and leave it nearly empty
DOUBTFUL = 0.85  # mean confidence of the letters; text below it may be in a script that the network does not know
LONG, DOUBTFUL_IN_LONG = 8.0, 0.92  # heights; in a long line, numbers and Latin words hide letters that are not known
SPARSE = 0.8  # letters per height; a long line with fewer is read in parts only
SHORT_WORD, SURE_OF_WORD = 2, 0.95  # letters, and confidence: a longer word that is read so is no other script
TINY = 8.0  # pixels; a lower region is a speck that does not count as unread
LONGEST = 80.0  # heights; a longer line is squeezed


@dataclass(slots=True, eq=False)
class Region:
    """A region that looks like text: its corners as its text runs, and what was read in it."""

    corners: Corners
    along_page: Corners  # the same as the text of the page runs: letters that are not known do not show how they stand
    recognised: RecognisedText
    line: Line | None  # None if it could not be read
    is_noise: bool = False  # a rule, a pattern or a speck, as far as the embedded engine can tell
    in_other_script: bool = False  # tesseract has read it

    @property
    def length(self) -> float:
        """In heights."""
        width, height = extent(self.corners)
        return width / max(1.0, height)

    @property
    def is_doubtful(self) -> bool:
        if self.is_noise or self.in_other_script or not looks_like_text(self.corners):
            return False
        return self.line is None or self.line.confidence < DOUBTFUL or density(self.recognised, self.corners) < DENSE

    @property
    def may_be_in_other_script(self) -> bool:
        """Whether it is doubtful or a long line that is a little doubtful or read in parts only."""
        if self.is_doubtful or self.line is None or self.is_noise or self.in_other_script:
            return self.is_doubtful
        is_sparse = density(self.recognised, self.corners) < SPARSE
        return self.length >= LONG and (is_sparse or self.line.confidence < DOUBTFUL_IN_LONG)


def extent(region: Corners) -> tuple[float, float]:
    """Width and height in pixels."""
    return math.dist(region[0], region[1]), math.dist(region[0], region[3])


def is_tall(region: Corners) -> bool:
    width, height = extent(region)
    return height > TALL * width


def turn_corners(region: Corners, quarters: int) -> Corners:
    """The corners in the order in which text with this orientation begins."""
    import numpy

    return numpy.roll(region, quarters, axis=0)


def cut_strip(pixels: Pixels, region: Corners) -> Pixels:
    """The region as an upright strip."""
    import cv2
    import numpy

    width, height = (max(1, round(side)) for side in extent(region))
    width = min(width, round(height * LONGEST))
    target = numpy.array([[0, 0], [width, 0], [width, height], [0, height]], numpy.float32)
    matrix = cv2.getPerspectiveTransform(numpy.asarray(region, numpy.float32), target)
    strip: Pixels = cv2.warpPerspective(
        pixels, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return strip


def density(recognised: RecognisedText, region: Corners) -> float:
    """Letters per height of the line."""
    width, height = extent(region)
    return len(recognised.columns) * height / max(1.0, width)


def is_nearly_empty(recognised: RecognisedText, region: Corners) -> bool:
    letters = density(recognised, region)
    return letters < EMPTY or (letters < DENSE and recognised.confidence < SURE)


def looks_like_text(region: Corners) -> bool:
    width, height = extent(region)
    return height >= TINY and width >= 2 * height


def to_quad(region: Corners, width: int, height: int) -> Quad:
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = ((float(x) / width, float(y) / height) for x, y in region)
    return (ax, ay), (bx, by), (cx, cy), (dx, dy)


def locate_words(recognised: RecognisedText) -> Iterator[tuple[str, float, float, float]]:
    """Each word with its confidence and where it begins and ends in the line, from 0 to 1."""
    step = (recognised.columns[-1] - recognised.columns[0]) / max(1, len(recognised.columns) - 1) or recognised.width
    letter = column = 0
    for text in recognised.text.split():
        letter = recognised.text.index(text, letter)
        first, last = recognised.columns[column], recognised.columns[column + len(text) - 1]
        start = max(0.0, (first + 0.5 - 0.6 * step) / recognised.width)
        end = min(1.0, (last + 0.5 + 0.6 * step) / recognised.width)
        yield text, sum(recognised.confidences[letter : letter + len(text)]) / len(text), start, end
        letter += len(text)
        column += len(text)


def make_line(recognised: RecognisedText, region: Corners, width: int, height: int) -> Line:
    quad = to_quad(region, width, height)
    words = tuple(
        Word(text, round(confidence, 3), bounding_box(cut_quad(quad, start, end)))
        for text, confidence, start, end in locate_words(recognised)
    )
    return Line(" ".join(recognised.text.split()), round(recognised.confidence, 3), quad, words)


def cut_unsure_parts(pixels: Pixels, region: Region) -> list[Pixels]:
    """The parts of the region between words that were read with certainty, as upright strips."""
    import numpy

    strip = cut_strip(pixels, region.along_page)
    if region.line is None or not numpy.array_equal(region.along_page, region.corners):
        return [strip]
    parts, begin = [], 0.0
    certain = [one for one in locate_words(region.recognised) if one[1] >= SURE_OF_WORD and len(one[0]) > SHORT_WORD]
    for start, end in [*(one[2:] for one in certain), (1.0, 1.0)]:
        if (start - begin) * strip.shape[1] >= strip.shape[0]:
            parts.append(strip[:, int(begin * strip.shape[1]) : int(start * strip.shape[1])])
        begin = max(begin, end)
    return parts
