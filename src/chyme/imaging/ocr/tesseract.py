"""OCR with the program Tesseract, where installed and chosen: it knows more scripts than the embedded engine."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.errors import EngineUnavailable, TimedOut, UnreadableFile
from chyme.imaging.ocr.engines import Line, OcrResult, Word, bounding_box
from chyme.imaging.ocr.reading_order import Quad
from chyme.imaging.ocr.scripts import SCRIPTS, find_languages
from chyme.imaging.ocr.tesseract_program import DETECTOR, TableWord, TesseractProgram

if TYPE_CHECKING:
    from PIL import Image

WORTHLESS = 0.3
WHOLE_PAGE = 3  # tesseract's number for: find the columns and lines of a page


@cache
def installed_version(languages: str) -> str:
    """The program's version and the hash of what it knows of these languages; empty if there is none, or it does not
    tell."""
    try:
        engine = Tesseract(languages, seconds=10.0)
        version, folder = engine.version(), Path(engine.data_folder())
    except (EngineUnavailable, TimedOut, UnreadableFile):
        return ""
    digest = hashlib.sha256()
    for language in languages.split("+"):
        try:
            digest.update((folder / f"{language}.traineddata").read_bytes())
        except OSError:
            return ""
    return f"{version} {digest.hexdigest()[:16]}"


@cache
def version_of_scripts() -> str:
    """The same for all languages that other scripts are read with; "no scripts" if there are none."""
    try:
        installed = set(TesseractProgram(10.0, 1).list_languages().split())
    except (EngineUnavailable, TimedOut, UnreadableFile):
        return "no scripts"
    languages = sorted({name for script in SCRIPTS for name in find_languages(script, installed).split("+") if name})
    if not languages:
        return "no scripts"
    detector = [DETECTOR] if DETECTOR in installed else []
    return installed_version("+".join([*detector, *languages]))


class Tesseract(TesseractProgram):
    """Starts the program again for every picture."""

    name = "tesseract"

    def __init__(self, languages: str = "eng", seconds: float = 120.0, threads: int = 1) -> None:
        super().__init__(seconds, threads)
        known = set(self.list_languages().split())
        # A language that tesseract lists itself cannot be an option in disguise.
        missing = [language for language in languages.split("+") if language not in known]
        if missing:
            raise EngineUnavailable(
                f"tesseract does not know {', '.join(missing)}; "
                f"install it with: apt install {' '.join(f'tesseract-ocr-{name}' for name in missing)}, "
                "or change ocr_languages"
            )
        self._languages = languages
        self._can_detect_turn = DETECTOR in known

    @property
    def letters(self) -> str:
        return f"the languages {self._languages}"

    def read(self, image: Image.Image) -> OcrResult:
        self.begin_picture()
        grey = image.convert("L")
        turn = self._detect_turn(grey)
        upright = grey.rotate(-turn, expand=True) if turn else grey
        words = self.read_words(_encode_ppm(upright), self._languages, WHOLE_PAGE)
        return _join_words(words, upright.width, upright.height, turn // 90)

    def _detect_turn(self, image: Image.Image) -> int:
        """By how many degrees, clockwise, the picture must be turned to be read."""
        detected = self.detect(_encode_ppm(image)) if self._can_detect_turn else None
        return detected.turn if detected else 0


def _encode_ppm(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PPM")
    return out.getvalue()


def _join_words(table: Iterable[TableWord], width: int, height: int, quarters: int) -> OcrResult:
    """The lines of a page of this size in pixels."""
    rows: dict[tuple[str, ...], list[tuple[str, float, tuple[float, ...]]]] = {}
    for word in table:
        left, top, right, bottom = word.box
        box = left / width, top / height, right / width, bottom / height
        rows.setdefault(word.line, []).append((word.text, word.confidence, box))
    lines: list[Line] = []
    unread = 0
    for words in rows.values():
        confidence = sum(word_confidence for _, word_confidence, _ in words) / len(words)
        if confidence < WORTHLESS:
            unread += 1
            continue
        lefts, tops, rights, bottoms = zip(*(box for _, _, box in words), strict=True)
        lines.append(
            Line(
                " ".join(text for text, _, _ in words),
                round(confidence, 3),
                _turn_back((min(lefts), min(tops), max(rights), max(bottoms)), quarters),
                tuple(
                    Word(text, round(max(0.0, word_confidence), 3), bounding_box(_turn_back(box, quarters)))
                    for text, word_confidence, box in words
                ),
            )
        )
    return OcrResult(tuple(lines), unread)


def _turn_back(box: tuple[float, ...], quarters: int) -> Quad:
    """The corners of a box in the picture before it was turned clockwise by this many quarters."""
    left, top, right, bottom = box
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    for _ in range(quarters):
        corners = [(y, 1 - x) for x, y in corners]
    return corners[0], corners[1], corners[2], corners[3]
