"""The embedded OCR engine: the PP-OCR models inside the rapidocr package, run by onnxruntime.

Lines in scripts that the models do not know are read by tesseract, where it is installed with a language for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.core.process_memory import release_memory
from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.engines import OcrResult
from chyme.imaging.ocr.other_scripts import LETTERS, count_unread, describe_letters, read_other_scripts
from chyme.imaging.ocr.script_reader import ScriptReader
from chyme.imaging.ocr.text_detector import TextDetector
from chyme.imaging.ocr.text_recogniser import RecognisedText, TextRecogniser
from chyme.imaging.ocr.text_regions import (
    SURE,
    Region,
    cut_strip,
    extent,
    is_nearly_empty,
    is_tall,
    looks_like_text,
    make_line,
    turn_corners,
)

if TYPE_CHECKING:
    import numpy
    from PIL import Image

    Pixels = numpy.ndarray[Any, Any]
    Corners = numpy.ndarray[Any, Any]  # four points in pixels, clockwise from the top left of the region

NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "Insufficient memory")
INSTALL_HINT = "install it with: pip install rapidocr onnxruntime"
GLANCE = 512  # pixels of the longest side; enough to see whether anything is written
SMALL = 736  # a picture whose shorter side is less is enlarged before text is searched for
SAMPLE = 5  # lines read to find out the orientation of the page
UNSURE, BETTER = 0.6, 0.15
WORTHLESS = 0.5  # mean confidence of the letters; text below it is dropped
SHORT, SURE_OF_SHORT = 2, 0.75  # one or two letters are often a pattern or a shadow: accepted only when sure
SPECK = 4.0  # pixels; nothing can be read that small


class RapidOcr:
    """Finds regions of text, detects the orientation of the page, and reads region by region."""

    name = "rapidocr"

    def __init__(self, threads: int = 1, side: int = 1600, scripts: ScriptReader | None = None) -> None:
        # Otherwise numpy and OpenCV each reserve 40 MB of address space per core, which children may not have.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads))
        models = _models_folder()
        try:
            import cv2

            self._detector = TextDetector(_load_model(models, "det"), threads)
            self._recogniser = TextRecogniser(_load_model(models, "rec"), threads)
        except ImportError as error:
            raise EngineUnavailable(f"the reader of pictures, rapidocr, is not installed; {INSTALL_HINT}") from error
        except (ValueError, LookupError) as error:
            raise EngineUnavailable(f"the models of rapidocr cannot be loaded ({error}); {INSTALL_HINT}") from error
        cv2.setNumThreads(threads)
        self._side = side
        self._scripts = scripts

    @property
    def letters(self) -> str:
        if self._scripts is None:
            return LETTERS
        return describe_letters(self._scripts.installed())

    def read(self, image: Image.Image) -> OcrResult:
        try:
            return self._read(image)
        except Exception as error:
            if any(sign in str(error) for sign in NO_MEMORY):  # onnxruntime has no exception class for it
                raise MemoryError(str(error)[-200:]) from error
            raise
        finally:
            release_memory()

    def find_writing(self, image: Image.Image) -> list[tuple[float, float]]:
        """Width and height of each region that seems to contain text: a tenth of the work of reading it."""
        pixels = _to_pixels(image)
        small = _resize(pixels, min(1.0, GLANCE / max(pixels.shape[:2])))
        return [extent(region) for region in self._detector.find_regions(small)]

    def _read(self, image: Image.Image) -> OcrResult:
        pixels = _to_pixels(image)
        height, width = pixels.shape[:2]
        scale = min(self._side / max(height, width), max(1.0, SMALL / min(height, width)))
        small = _resize(pixels, scale)
        regions = list(self._read_regions(pixels, self._find_regions(small, scale, pixels)))
        if self._scripts is not None:
            read_other_scripts(pixels, regions, self._scripts)
        return OcrResult(tuple(region.line for region in regions if region.line is not None), count_unread(regions))

    def _find_regions(self, small: Pixels, scale: float, pixels: Pixels) -> list[Corners]:
        """The regions of the picture that seem to contain text. `small` is the picture at this scale."""
        import numpy

        height, width = pixels.shape[:2]
        bounds = numpy.array([width - 1, height - 1], numpy.float32)
        regions = [numpy.clip(box / numpy.float32(scale), 0, bounds) for box in self._detector.find_regions(small)]
        release_memory()
        return [region for region in regions if min(extent(region)) >= SPECK]

    def _read_regions(self, pixels: Pixels, regions: Sequence[Corners]) -> Iterator[Region]:
        """The regions with a line, and those that look like text but were not read."""
        if not regions:
            return
        height, width = pixels.shape[:2]
        known: dict[tuple[int, int], RecognisedText] = {}
        turn = self._page_turn(pixels, regions, known)
        for i, region in enumerate(regions):
            quarters, recognised = self._read_region(pixels, region, i, turn, known)
            corners = turn_corners(region, quarters)
            along = turn_corners(region, turn) if quarters % 2 == turn % 2 else corners
            if recognised.confidence < WORTHLESS or is_nearly_empty(recognised, corners):
                if looks_like_text(corners):
                    yield Region(corners, along, recognised, None)
            elif any(letter.isalnum() for letter in recognised.text) and (
                len(recognised.columns) > SHORT or recognised.confidence >= SURE_OF_SHORT
            ):
                yield Region(corners, along, recognised, make_line(recognised, corners, width, height))
            elif looks_like_text(corners):
                yield Region(corners, along, recognised, None, is_noise=True)

    def _page_turn(
        self, pixels: Pixels, regions: Sequence[Corners], known: dict[tuple[int, int], RecognisedText]
    ) -> int:
        """By how many quarters, clockwise, the page must be turned to be read."""
        tall = [i for i, region in enumerate(regions) if is_tall(region)]
        wide = [i for i, region in enumerate(regions) if not is_tall(region)]
        is_sideways = sum(max(extent(regions[i])) for i in tall) > sum(max(extent(regions[i])) for i in wide)
        candidates = sorted(
            tall if is_sideways else wide, key=lambda i: max(extent(regions[i])) / min(extent(regions[i]))
        )
        # Lines long enough to be conclusive, not so long that they are slow.
        middle = max(0, round(len(candidates) * 0.6) - SAMPLE)
        sample = candidates[middle : middle + SAMPLE]
        scores: dict[int, float] = {}
        for quarters in (1, 3) if is_sideways else (0, 2):
            for i in sample:
                known[i, quarters] = self._recognise(pixels, turn_corners(regions[i], quarters))
            recognised = [known[i, quarters] for i in sample]
            letters = sum(len(text.columns) for text in recognised)
            scores[quarters] = sum(text.confidence * len(text.columns) for text in recognised) / max(1, letters)
            if scores[quarters] >= SURE:
                return quarters
        best = max(scores, key=lambda quarters: scores[quarters])
        first = next(iter(scores))
        return best if scores[best] > max(scores[first] + 0.05, WORTHLESS) else first

    def _read_region(
        self, pixels: Pixels, region: Corners, index: int, turn: int, known: dict[tuple[int, int], RecognisedText]
    ) -> tuple[int, RecognisedText]:
        """The region's text and the quarters it had to be turned: like the page, if that gives plausible text."""
        against_page = is_tall(region) != bool(turn % 2)
        tries = [(turn + 3) % 4, (turn + 1) % 4] if against_page else [turn, (turn + 2) % 4]
        if against_page and max(extent(region)) < 3 * min(extent(region)):
            tries.insert(0, turn)  # a single letter may be high and narrow
        best = (tries[0], RecognisedText())
        for quarters in tries:
            if (index, quarters) not in known:
                known[index, quarters] = self._recognise(pixels, turn_corners(region, quarters))
            recognised = known[index, quarters]
            if best[1].confidence == 0 or recognised.confidence > best[1].confidence + BETTER:
                best = quarters, recognised
            if best[1].confidence >= (SURE if against_page else UNSURE):
                break
        return best

    def _recognise(self, pixels: Pixels, region: Corners) -> RecognisedText:
        return self._recogniser.read(cut_strip(pixels, region))


def _to_pixels(image: Image.Image) -> Pixels:
    import cv2
    import numpy

    pixels: Pixels = cv2.cvtColor(
        numpy.asarray(image if image.mode == "RGB" else image.convert("RGB")), cv2.COLOR_RGB2BGR
    )
    return pixels


def _resize(pixels: Pixels, scale: float) -> Pixels:
    import cv2

    if scale == 1.0:
        return pixels
    size = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)


def _models_folder() -> Path:
    """Where the package keeps its models. It is not imported: only its models are needed."""
    found = find_spec("rapidocr")
    if found is None or found.origin is None:
        raise EngineUnavailable(f"the reader of pictures, rapidocr, is not installed; {INSTALL_HINT}")
    return Path(found.origin).parent / "models"


def _load_model(folder: Path, task: str) -> bytes:
    found = sorted(folder.glob(f"*_{task}_*.onnx"))
    if not found:
        raise EngineUnavailable(f"rapidocr came without its models; {INSTALL_HINT} (3.10 or newer)")
    return found[0].read_bytes()
