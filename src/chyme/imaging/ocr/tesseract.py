"""Tesseract, a program of its own, where it is installed and wanted: it knows more scripts than the embedded reader."""

from __future__ import annotations

import ctypes
import io
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

from chyme.errors import EngineUnavailable, TimedOut, UnreadableFile
from chyme.imaging.ocr.engine_interface import Line, OcrResult, Quad, Word, bounding_box

if TYPE_CHECKING:
    from PIL import Image

INSTALL_HINT = "install it with: apt install tesseract-ocr, or set ocr_engine to rapidocr"
PR_SET_PDEATHSIG = 1
WORTHLESS = 0.3
SURE_OF_TURN = 2.0  # tesseract's own figure; below it guesses
_ROTATE = re.compile(r"^Rotate: (\d+)$.*?^Orientation confidence: ([\d.]+)$", re.MULTILINE | re.DOTALL)


class Tesseract:
    """Started anew for every picture; ends with the process that started it."""

    name = "tesseract"

    def __init__(self, languages: str = "eng", seconds: float = 120.0, threads: int = 1) -> None:
        found = shutil.which("tesseract")
        if found is None:
            raise EngineUnavailable(f"the program tesseract is not installed; {INSTALL_HINT}")
        self._program = found
        self._seconds = seconds
        self._environment = {**os.environ, "OMP_THREAD_LIMIT": str(threads)}
        known = set(self._told(["--list-langs"]).split())
        # What it lists itself is no option in disguise.
        missing = [language for language in languages.split("+") if language not in known]
        if missing:
            raise EngineUnavailable(
                f"tesseract does not know {', '.join(missing)}; "
                f"install it with: apt install {' '.join(f'tesseract-ocr-{name}' for name in missing)}, "
                "or change ocr_languages"
            )
        self._languages = languages
        self._finds_turns = "osd" in known

    @property
    def letters(self) -> str:
        return f"the languages {self._languages}"

    def read(self, image: Image.Image) -> OcrResult:
        grey = image.convert("L")
        turn = self._turn(grey)
        upright = grey.rotate(-turn, expand=True) if turn else grey
        table = self._told(["stdin", "stdout", "-l", self._languages, "--psm", "3", "tsv"], _encoded(upright))
        return _reading(table, upright.width, upright.height, turn // 90)

    def _turn(self, image: Image.Image) -> int:
        """By how many degrees, clockwise, the picture must be turned to be read."""
        if not self._finds_turns:
            return 0
        try:
            told = self._told(["stdin", "stdout", "-l", "osd", "--psm", "0"], _encoded(image))
        except UnreadableFile:
            return 0  # too few letters to tell
        found = _ROTATE.search(told)
        return int(found[1]) % 360 if found and float(found[2]) >= SURE_OF_TURN else 0

    def _told(self, arguments: list[str], data: bytes = b"") -> str:
        try:
            ended = subprocess.run(
                [self._program, *arguments],
                input=data,
                capture_output=True,
                timeout=self._seconds,
                env=self._environment,
                preexec_fn=_ends_with(os.getpid()),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TimedOut(f"tesseract took more than {self._seconds:g} s; raise ocr_seconds") from error
        except OSError as error:
            raise EngineUnavailable(f"tesseract cannot be started ({error.strerror}); {INSTALL_HINT}") from error
        if ended.returncode != 0:
            last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise UnreadableFile(f"tesseract gave up ({' '.join(last)[:200]}); set ocr_engine to rapidocr")
        return ended.stdout.decode("utf-8", "replace")


def _ends_with(parent: int) -> Callable[[], None]:
    """What the new process does first: it asks the kernel to end it when its parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bind() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return bind


def _encoded(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PPM")
    return out.getvalue()


def _reading(table: str, width: int, height: int, quarters: int) -> OcrResult:
    """Lines from tesseract's table: level, page, block, paragraph, line, word, box, confidence, text."""
    rows: dict[tuple[str, ...], list[tuple[str, float, tuple[float, ...]]]] = {}
    for told in table.splitlines()[1:]:
        cells = told.split("\t")
        if len(cells) == 12 and cells[0] == "5" and cells[11].strip():
            left, top, across, down = (float(cell) for cell in cells[6:10])
            box = left / width, top / height, (left + across) / width, (top + down) / height
            rows.setdefault(tuple(cells[1:5]), []).append((cells[11].strip(), float(cells[10]) / 100, box))
    lines: list[Line] = []
    unread = 0
    for words in rows.values():
        confidence = sum(sure for _, sure, _ in words) / len(words)
        if confidence < WORTHLESS:
            unread += 1
            continue
        lefts, tops, rights, bottoms = zip(*(box for _, _, box in words), strict=True)
        lines.append(
            Line(
                " ".join(text for text, _, _ in words),
                round(confidence, 3),
                _back((min(lefts), min(tops), max(rights), max(bottoms)), quarters),
                tuple(
                    Word(text, round(max(0.0, sure), 3), bounding_box(_back(box, quarters)))
                    for text, sure, box in words
                ),
            )
        )
    return OcrResult(tuple(lines), unread)


def _back(box: tuple[float, ...], quarters: int) -> Quad:
    """The corners of a box in the picture as it was before it was turned clockwise by so many quarters."""
    left, top, right, bottom = box
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    for _ in range(quarters):
        corners = [(y, 1 - x) for x, y in corners]
    return corners[0], corners[1], corners[2], corners[3]
