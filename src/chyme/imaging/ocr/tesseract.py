"""OCR with the program Tesseract, where installed and chosen: it knows more scripts than the embedded engine."""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.errors import EngineUnavailable, TimedOut, UnreadableFile
from chyme.imaging.ocr.engines import Line, OcrResult, Word, bounding_box
from chyme.imaging.ocr.reading_order import Quad

if TYPE_CHECKING:
    from PIL import Image

INSTALL_HINT = "install it with: apt install tesseract-ocr, or set ocr_engine to rapidocr"
PR_SET_PDEATHSIG = 1
WORTHLESS = 0.3
SURE_OF_TURN = 2.0  # tesseract's own figure; below it guesses
_FOLDER = re.compile(r'in "(.+)"')
_ROTATE = re.compile(r"^Rotate: (\d+)$.*?^Orientation confidence: ([\d.]+)$", re.MULTILINE | re.DOTALL)


@cache
def installed_version(languages: str) -> str:
    """The program's version and the hash of what it knows of these languages; empty if there is none, or it does not
    tell."""
    try:
        engine = Tesseract(languages, seconds=10.0)
        told = engine.version()
    except (EngineUnavailable, TimedOut, UnreadableFile):
        return ""
    folder = _FOLDER.search(engine.list_languages())
    digest = hashlib.sha256()
    for language in languages.split("+"):
        try:
            digest.update((Path(folder[1] if folder else "") / f"{language}.traineddata").read_bytes())
        except OSError:
            return ""
    return f"{told} {digest.hexdigest()[:16]}"


class Tesseract:
    """Starts the program again for every picture; the program ends with this process."""

    name = "tesseract"

    def __init__(self, languages: str = "eng", seconds: float = 120.0, threads: int = 1) -> None:
        program = shutil.which("tesseract")
        if program is None:
            raise EngineUnavailable(f"the program tesseract is not installed; {INSTALL_HINT}")
        self._program = program
        self._seconds = seconds
        self._environment = {**os.environ, "OMP_THREAD_LIMIT": str(threads)}
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
        self._can_detect_turn = "osd" in known

    def version(self) -> str:
        """Its own words for its version, and those of the libraries that it was built with."""
        return " ".join(self._run(["--version"]).split())

    def list_languages(self) -> str:
        """The languages that are installed, after a line with their folder."""
        return self._run(["--list-langs"])

    @property
    def letters(self) -> str:
        return f"the languages {self._languages}"

    def read(self, image: Image.Image) -> OcrResult:
        grey = image.convert("L")
        turn = self._detect_turn(grey)
        upright = grey.rotate(-turn, expand=True) if turn else grey
        table = self._run(["stdin", "stdout", "-l", self._languages, "--psm", "3", "tsv"], _encode_ppm(upright))
        return _parse_table(table, upright.width, upright.height, turn // 90)

    def _detect_turn(self, image: Image.Image) -> int:
        """By how many degrees, clockwise, the picture must be turned to be read."""
        if not self._can_detect_turn:
            return 0
        try:
            report = self._run(["stdin", "stdout", "-l", "osd", "--psm", "0"], _encode_ppm(image))
        except UnreadableFile:
            return 0  # too few letters to decide
        match = _ROTATE.search(report)
        return int(match[1]) % 360 if match and float(match[2]) >= SURE_OF_TURN else 0

    def _run(self, arguments: list[str], data: bytes = b"") -> str:
        try:
            process = subprocess.run(
                [self._program, *arguments],
                input=data,
                capture_output=True,
                timeout=self._seconds,
                env=self._environment,
                preexec_fn=_die_with(os.getpid()),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TimedOut(f"tesseract took more than {self._seconds:g} s; raise ocr_seconds") from error
        except OSError as error:
            raise EngineUnavailable(f"tesseract cannot be started ({error.strerror}); {INSTALL_HINT}") from error
        if process.returncode != 0:
            last_line = process.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise UnreadableFile(f"tesseract gave up ({' '.join(last_line)[:200]}); set ocr_engine to rapidocr")
        return process.stdout.decode("utf-8", "replace")


def _die_with(parent: int) -> Callable[[], None]:
    """What the new process does first: it asks the kernel to kill it when its parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bind() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return bind


def _encode_ppm(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PPM")
    return out.getvalue()


def _parse_table(table: str, width: int, height: int, quarters: int) -> OcrResult:
    """Lines from tesseract's table: level, page, block, paragraph, line, word, box, confidence, text."""
    rows: dict[tuple[str, ...], list[tuple[str, float, tuple[float, ...]]]] = {}
    for row in table.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) == 12 and cells[0] == "5" and cells[11].strip():
            left, top, across, down = (float(cell) for cell in cells[6:10])
            box = left / width, top / height, (left + across) / width, (top + down) / height
            rows.setdefault(tuple(cells[1:5]), []).append((cells[11].strip(), float(cells[10]) / 100, box))
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
