"""The embedded reader: the PP-OCR models inside the rapidocr package, run by onnxruntime."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.engine_interface import Line, OcrResult, Quad, Word, bounding_box, cut_quad

if TYPE_CHECKING:
    import numpy
    from PIL import Image

    Pixels = numpy.ndarray[Any, Any]
    Corners = numpy.ndarray[Any, Any]  # four points in pixels, clockwise from the top left of the region

NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "Insufficient memory")
INSTALL_HINT = "install it with: pip install rapidocr onnxruntime"
LETTERS = "Latin, Greek, Chinese and Japanese letters"
MARGIN = 16  # pixels of paper around the picture: writing that touches the edge is found, too
SMALL = 736  # a picture whose shorter side is less is enlarged before writing is looked for
CONTRAST = 8  # of 255; less is an empty sheet
TALL = 1.5  # a region so many times higher than wide holds writing that runs up or down
SAMPLE = 5  # lines looked at to find out how the page lies
SURE, UNSURE, BETTER = 0.9, 0.6, 0.15
WORTHLESS = 0.5  # mean confidence of the letters; what is below is not told
DENSE, EMPTY = 0.4, 0.15  # letters per height of the line; unknown letters come back blank and leave it nearly empty
TINY = 8.0  # pixels; a lower region is a speck, nobody misses what it says
SHORT, SURE_OF_SHORT = 2, 0.75  # one or two letters are often a pattern or a shadow: told only when sure
SPECK = 4.0  # pixels; nothing can be read that small
LONGEST = 80.0  # heights; a longer line is squeezed


@dataclass(frozen=True, slots=True)
class _Text:
    """What the model saw in one region."""

    text: str = ""
    confidences: tuple[float, ...] = ()  # of each letter of the text, spaces too
    columns: tuple[int, ...] = ()  # of each letter that is no space
    width: float = 1.0  # in columns
    confidence: float = 0.0  # mean over what is no space


class RapidOcr:
    """Finds regions of writing, finds out how the page lies, and reads region by region."""

    name = "rapidocr"
    letters = LETTERS

    def __init__(self, threads: int = 1, side: int = 1600) -> None:
        # Else numpy and OpenCV each reserve 40 MB of address space for every core, and children may not have that.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads))
        try:
            import cv2
            import rapidocr
        except ImportError as error:
            raise EngineUnavailable(f"the reader of pictures, rapidocr, is not installed; {INSTALL_HINT}") from error
        models = Path(rapidocr.__file__).parent / "models"
        cv2.setNumThreads(threads)
        self._side = side
        self._models: Any = rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_preprocess_img": False,
                "Global.use_vertical_padding": False,
                "EngineConfig.onnxruntime.intra_op_num_threads": threads,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                "EngineConfig.onnxruntime.enable_cpu_mem_arena": False,
                "Det.limit_type": "max",
                "Det.limit_side_len": max(side, SMALL) + 2 * MARGIN,
                # With paths of our own it never looks for a download.
                "Det.model_path": _model(models, "det"),
                "Rec.model_path": _model(models, "rec"),
            }
        )

    def read(self, image: Image.Image) -> OcrResult:
        try:
            return self._read(image)
        except Exception as error:
            if any(sign in str(error) for sign in NO_MEMORY):  # onnxruntime has no class of its own for it
                raise MemoryError(str(error)[-200:]) from error
            raise
        finally:
            _give_back()

    def _read(self, image: Image.Image) -> OcrResult:
        import numpy

        pixels = numpy.ascontiguousarray(numpy.asarray(image.convert("RGB"))[:, :, ::-1])
        regions = self._regions(pixels) if int(pixels.max()) - int(pixels.min()) >= CONTRAST else []
        if not regions:
            return OcrResult()
        known: dict[tuple[int, int], _Text] = {}
        turn = self._turn(pixels, regions, known)
        lines: list[Line] = []
        unread = 0
        for at, region in enumerate(regions):
            quarter, seen = self._best(pixels, region, at, turn, known)
            corners = _turned(region, quarter)
            if seen.confidence < WORTHLESS or _nearly_empty(seen, corners):
                unread += _like_writing(corners)
            elif any(letter.isalnum() for letter in seen.text) and (
                len(seen.columns) > SHORT or seen.confidence >= SURE_OF_SHORT
            ):
                lines.append(_line(seen, corners, pixels.shape[1], pixels.shape[0]))
        return OcrResult(tuple(lines), unread)

    def _regions(self, pixels: Pixels) -> list[Corners]:
        """Where writing seems to be."""
        import cv2
        import numpy

        height, width = pixels.shape[:2]
        scale = min(self._side / max(height, width), max(1.0, SMALL / min(height, width)))
        small = pixels
        if scale != 1.0:
            size = max(1, round(width * scale)), max(1, round(height * scale))
            small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        paper = [int(value) for value in numpy.median(small[:: max(1, small.shape[0] - 1)], axis=(0, 1))]
        edges = (MARGIN, MARGIN, MARGIN, MARGIN)
        found = self._models(
            cv2.copyMakeBorder(small, *edges, cv2.BORDER_CONSTANT, value=paper),
            use_det=True, use_cls=False, use_rec=False,
        )  # fmt: skip
        if found.boxes is None:
            return []
        most = numpy.array([width - 1, height - 1], numpy.float32)
        back = (numpy.asarray(box, numpy.float32) - MARGIN for box in found.boxes)
        regions = [numpy.clip(box / numpy.float32(scale), 0, most) for box in back]
        return [region for region in regions if min(_extent(region)) >= SPECK]

    def _turn(self, pixels: Pixels, regions: Sequence[Corners], known: dict[tuple[int, int], _Text]) -> int:
        """By how many quarters, clockwise, the page must be turned to be read."""
        tall = [at for at, region in enumerate(regions) if _tall(region)]
        wide = [at for at, region in enumerate(regions) if not _tall(region)]
        lying = sum(max(_extent(regions[at])) for at in tall) > sum(max(_extent(regions[at])) for at in wide)
        among = sorted(tall if lying else wide, key=lambda at: max(_extent(regions[at])) / min(_extent(regions[at])))
        middle = max(0, round(len(among) * 0.6) - SAMPLE)  # long enough to tell, not so long that it costs
        sample = among[middle : middle + SAMPLE]
        scores: dict[int, float] = {}
        for quarter in (1, 3) if lying else (0, 2):
            for at in sample:
                known[at, quarter] = self._text(pixels, _turned(regions[at], quarter))
            seen = [known[at, quarter] for at in sample]
            letters = sum(len(text.columns) for text in seen)
            scores[quarter] = sum(text.confidence * len(text.columns) for text in seen) / max(1, letters)
            if scores[quarter] >= SURE:
                return quarter
        best = max(scores, key=lambda quarter: scores[quarter])
        first = next(iter(scores))
        return best if scores[best] > scores[first] + 0.05 else first

    def _best(
        self, pixels: Pixels, region: Corners, at: int, turn: int, known: dict[tuple[int, int], _Text]
    ) -> tuple[int, _Text]:
        """The region's text and the quarters it had to be turned: as the page, if that gives sense."""
        across = _tall(region) != bool(turn % 2)
        tries = [(turn + 3) % 4, (turn + 1) % 4] if across else [turn, (turn + 2) % 4]
        if across and max(_extent(region)) < 3 * min(_extent(region)):
            tries.insert(0, turn)  # a single letter may be high and narrow
        best = (tries[0], _Text())
        for quarter in tries:
            if (at, quarter) not in known:
                known[at, quarter] = self._text(pixels, _turned(region, quarter))
            seen = known[at, quarter]
            if best[1].confidence == 0 or seen.confidence > best[1].confidence + BETTER:
                best = quarter, seen
            if best[1].confidence >= (SURE if across else UNSURE):
                break
        return best

    def _text(self, pixels: Pixels, region: Corners) -> _Text:
        found = self._models(_cut_out(pixels, region), use_det=False, use_cls=False, use_rec=True, return_word_box=True)
        text = str(found.txts[0])
        told = found.word_results[0]
        confidences = tuple(float(value) for value in told.confs or ())
        columns = tuple(column for word in told.word_cols or () for column in word)
        letters = [value for letter, value in zip(text, confidences, strict=False) if not letter.isspace()]
        if not letters or len(letters) != len(columns):
            return _Text()
        return _Text(text, confidences, columns, max(1.0, told.line_txt_len), sum(letters) / len(letters))


def _give_back() -> None:
    """Return freed memory to the system: a page leaves 150 MB of it behind, and a child that grows is replaced."""
    with suppress(AttributeError):  # only glibc can
        ctypes.CDLL(None).malloc_trim(0)


def _model(folder: Path, task: str) -> str:
    found = sorted(folder.glob(f"*_{task}_*.onnx"))
    if not found:
        raise EngineUnavailable(f"rapidocr came without its models; {INSTALL_HINT} (3.10 or newer)")
    return str(found[0])


def _extent(region: Corners) -> tuple[float, float]:
    """Width and height in pixels."""
    return math.dist(region[0], region[1]), math.dist(region[0], region[3])


def _tall(region: Corners) -> bool:
    width, height = _extent(region)
    return height > TALL * width


def _turned(region: Corners, quarters: int) -> Corners:
    """The corners in the order in which writing that lies so begins."""
    import numpy

    return numpy.roll(region, quarters, axis=0)


def _cut_out(pixels: Pixels, region: Corners) -> Pixels:
    """The region as an upright strip."""
    import cv2
    import numpy

    width, height = (max(1, round(side)) for side in _extent(region))
    width = min(width, round(height * LONGEST))
    target = numpy.array([[0, 0], [width, 0], [width, height], [0, height]], numpy.float32)
    matrix = cv2.getPerspectiveTransform(numpy.asarray(region, numpy.float32), target)
    strip: Pixels = cv2.warpPerspective(
        pixels, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return strip


def _nearly_empty(seen: _Text, region: Corners) -> bool:
    width, height = _extent(region)
    density = len(seen.columns) * height / max(1.0, width)
    return density < EMPTY or (density < DENSE and seen.confidence < SURE)


def _like_writing(region: Corners) -> bool:
    width, height = _extent(region)
    return height >= TINY and width >= 2 * height


def _line(seen: _Text, region: Corners, width: int, height: int) -> Line:
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = ((float(x) / width, float(y) / height) for x, y in region)
    quad: Quad = ((ax, ay), (bx, by), (cx, cy), (dx, dy))
    step = (seen.columns[-1] - seen.columns[0]) / max(1, len(seen.columns) - 1) or seen.width
    words: list[Word] = []
    letter = at = 0
    for text in seen.text.split():
        letter = seen.text.index(text, letter)
        first, last = seen.columns[at], seen.columns[at + len(text) - 1]
        start = max(0.0, (first + 0.5 - 0.6 * step) / seen.width)
        end = min(1.0, (last + 0.5 + 0.6 * step) / seen.width)
        confidence = sum(seen.confidences[letter : letter + len(text)]) / len(text)
        words.append(Word(text, round(confidence, 3), bounding_box(cut_quad(quad, start, end))))
        letter += len(text)
        at += len(text)
    return Line(" ".join(seen.text.split()), round(seen.confidence, 3), quad, tuple(words))
