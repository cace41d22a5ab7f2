"""OCR engines: settings, results, and the choice of one. All corners and boxes are in 0..1 of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.reading_order import Point, Quad
from chyme.model import Box

if TYPE_CHECKING:
    from PIL import Image

ENGINES = ("rapidocr", "tesseract")
NETWORKS = 3  # raise it when the same models, rewritten when they are loaded, read differently
SCRIPT_RULES = 2  # raise it when lines in other scripts are chosen or read differently
FEW, NOTABLE = 2, 0.1  # regions, and their share of all; a few specks in much text are not worth mentioning


@dataclass(frozen=True, slots=True)
class OcrSettings:
    """How pictures are read; each field is named like its setting."""

    ocr_engine: str = "rapidocr"  # or "tesseract", where that is installed
    ocr_threads: int = 1  # threads of one reading child; there is a child per core already
    ocr_side: int = 1600  # text is searched for at this size, in pixels of the longest side
    ocr_doubt: float = 0.75  # words read with less confidence are marked [?]
    ocr_pages: int = 200  # pages of one multi-page picture that are read
    ocr_seconds: float = 120.0  # how long tesseract may take for one picture
    ocr_languages: str = "eng"  # the languages for tesseract, such as deu+rus; rapidocr needs no such hint
    ocr_scripts: bool = True  # whether rapidocr has lines in other scripts read by tesseract, where that is installed


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a line."""

    text: str
    confidence: float
    box: Box


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text. Its first two corners show its direction."""

    text: str
    confidence: float
    quad: Quad
    words: tuple[Word, ...] = ()

    @property
    def box(self) -> Box:
        return bounding_box(self.quad)


@dataclass(frozen=True, slots=True)
class OcrResult:
    """All lines of a picture, in no particular order, and how many regions look like text but were not read."""

    lines: tuple[Line, ...] = ()
    unread: int = 0


class OcrEngine(Protocol):
    """Reads a picture. It gets upright RGB or grey images and detects the direction of the text itself."""

    @property
    def name(self) -> str: ...

    @property
    def letters(self) -> str:
        """Which letters it knows, as shown to people."""

    def read(self, image: Image.Image) -> OcrResult: ...


@runtime_checkable
class FindsWriting(Protocol):
    """An engine that can tell, faster than by reading, where something is written."""

    def find_writing(self, image: Image.Image) -> list[tuple[float, float]]:
        """Width and height of each region that seems to contain text, in pixels of any one scale."""


def bounding_box(points: Sequence[Point]) -> Box:
    """The smallest upright box around the corners, clipped to the picture."""
    across = [min(1.0, max(0.0, x)) for x, _ in points]
    down = [min(1.0, max(0.0, y)) for _, y in points]
    return round(min(across), 4), round(min(down), 4), round(max(across), 4), round(max(down), 4)


def cut_quad(quad: Quad, start: float, end: float) -> Quad:
    """The part of a line between two positions along it, each from 0 to 1."""
    (top_left, top_right, bottom_right, bottom_left) = quad
    return (
        _interpolate(top_left, top_right, start),
        _interpolate(top_left, top_right, end),
        _interpolate(bottom_left, bottom_right, end),
        _interpolate(bottom_left, bottom_right, start),
    )


def _interpolate(start: Point, end: Point, share: float) -> Point:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def move_line(line: Line, left: float, top: float, width: float, height: float) -> Line:
    """Convert a line of a part of the picture to the whole picture. The part's edges are in 0..1 of the whole."""
    corners = [(left + x * width, top + y * height) for x, y in line.quad]
    words = tuple(
        replace(word, box=bounding_box([(left + x * width, top + y * height) for x, y in (word.box[:2], word.box[2:])]))
        for word in line.words
    )
    return replace(line, quad=(corners[0], corners[1], corners[2], corners[3]), words=words)


def unread_note(read: int, unread: int, letters: str) -> str | None:
    """A note about regions that look like text but were not read; None when they are too few."""
    if unread < (FEW if read else FEW + 1) or unread < NOTABLE * (read + unread):
        return None
    return f"{unread:,} regions look like writing but could not be read (the reader knows {letters})"


def load_engine(settings: OcrSettings) -> OcrEngine:
    """The engine these settings ask for, or EngineUnavailable."""
    if settings.ocr_engine == "tesseract":
        return _tesseract(settings.ocr_languages, settings.ocr_seconds, settings.ocr_threads)
    if settings.ocr_engine == "rapidocr":
        seconds = settings.ocr_seconds if settings.ocr_scripts else 0.0
        return _rapidocr(settings.ocr_threads, settings.ocr_side, seconds)
    raise EngineUnavailable(f"ocr_engine is {settings.ocr_engine!r}; there are: {', '.join(ENGINES)}")


def fingerprint(settings: OcrSettings) -> str:
    """What affects the recognised words, without loading anything."""
    if settings.ocr_engine == "tesseract":
        return f"tesseract {settings.ocr_languages} {settings.ocr_doubt}"
    versions = describe_versions("rapidocr", "onnxruntime")
    scripts = f" scripts {SCRIPT_RULES}" * settings.ocr_scripts
    return f"{settings.ocr_engine} {versions} bytes {NETWORKS} {settings.ocr_side} {settings.ocr_doubt}{scripts}"


def portable_fingerprint(settings: OcrSettings) -> str:
    """The same with the version of a program that is not ours; empty if it cannot be told."""
    from chyme.imaging.ocr.tesseract import installed_version, version_of_scripts

    if settings.ocr_engine != "tesseract" and not settings.ocr_scripts:
        return fingerprint(settings)
    is_tesseract = settings.ocr_engine == "tesseract"
    version = installed_version(settings.ocr_languages) if is_tesseract else version_of_scripts()
    return f"{fingerprint(settings)}, {version}" if version else ""


@cache
def _rapidocr(threads: int, side: int, script_seconds: float) -> OcrEngine:
    from chyme.imaging.ocr.rapidocr import RapidOcr
    from chyme.imaging.ocr.script_reader import ScriptReader

    return RapidOcr(threads, side, ScriptReader(script_seconds, threads) if script_seconds else None)


@cache
def _tesseract(languages: str, seconds: float, threads: int) -> OcrEngine:
    from chyme.imaging.ocr.tesseract import Tesseract

    return Tesseract(languages, seconds, threads)
