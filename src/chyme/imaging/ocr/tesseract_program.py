"""Starts the program tesseract, which ends with this process, and reads its answers."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chyme.errors import EngineUnavailable, TimedOut, UnreadableFile

INSTALL_HINT = "install it with: apt install tesseract-ocr, or set ocr_engine to rapidocr"
DETECTOR = "osd"  # the model that detects orientation and script
USUAL_LETTERS = 50  # tesseract detects nothing with fewer
SURE_OF_TURN = 2.0  # tesseract's own figure; below it guesses
CELLS = 12  # in a row of tesseract's table
NEAR = 40  # characters; a word that the text does not have so near is taken as it is in the table
PR_SET_PDEATHSIG = 1
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # of direction, which are no text
_FOLDER = re.compile(r'in "(.+)"')
_FIELD = re.compile(r"^(Rotate|Orientation confidence|Script|Script confidence): (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TableWord:
    """One word of tesseract's table: the numbers of its block, paragraph and line, and its box in pixels."""

    line: tuple[str, ...]
    text: str
    confidence: float
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Detected:
    """What tesseract detected before reading."""

    turn: int = 0  # degrees by which the picture must be turned clockwise; 0 if it is not sure
    script: str = ""
    confidence: float = 0.0  # of the script, in tesseract's own measure


class TesseractProgram:
    """The installed program; EngineUnavailable if there is none."""

    def __init__(self, seconds: float, threads: int) -> None:
        program = shutil.which("tesseract")
        if program is None:
            raise EngineUnavailable(f"the program tesseract is not installed; {INSTALL_HINT}")
        self._program = program
        self._seconds = seconds
        self._deadline: float | None = None  # None while each start has all seconds for itself
        self._environment = {**os.environ, "OMP_THREAD_LIMIT": str(threads)}

    def begin_picture(self) -> None:
        """From now on, all starts together have the seconds of one picture."""
        self._deadline = time.monotonic() + self._seconds

    def version(self) -> str:
        """Its own words for its version, and those of the libraries that it was built with."""
        return " ".join(self.run(["--version"]).split())

    def list_languages(self) -> str:
        """The languages that are installed, after a line with their folder."""
        return self.run(["--list-langs"])

    def data_folder(self) -> str:
        """Where it keeps its languages; empty if it does not tell."""
        match = _FOLDER.search(self.list_languages())
        return match[1] if match else ""

    def detect(self, picture: bytes, letters: int = USUAL_LETTERS) -> Detected | None:
        """The orientation and script of a picture; None if it has fewer letters, or it cannot be told."""
        options = ["-l", DETECTOR, "--psm", "0", "-c", f"min_characters_to_try={letters}"]
        try:
            report = dict(_FIELD.findall(self.run(["stdin", "stdout", *options], picture)))
        except UnreadableFile:
            return None
        try:
            turn = int(report["Rotate"]) % 360 if float(report["Orientation confidence"]) >= SURE_OF_TURN else 0
            return Detected(turn, report["Script"], float(report["Script confidence"]))
        except (KeyError, ValueError):
            return None

    def read_words(self, picture: bytes, languages: str, layout: int) -> list[TableWord]:
        """All words of a picture in reading order. `layout` is tesseract's page segmentation mode."""
        output = self.run(["stdin", "stdout", "-l", languages, "--psm", str(layout), "txt", "tsv"], picture)
        return parse_words(output)

    def run(self, arguments: list[str], data: bytes = b"") -> str:
        remaining = self._seconds if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            process = subprocess.run(
                [self._program, *arguments],
                input=data,
                capture_output=True,
                timeout=remaining,
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


def parse_words(output: str) -> list[TableWord]:
    """The words of tesseract's table and text, in one output.

    In scripts with few or no spaces, the table has a row for each syllable; the text shows what belongs together.
    """
    words: list[TableWord] = []
    texts: list[str] = []
    for row in _MARKS.sub("", output).splitlines():
        cells = row.split("\t")  # level, page, block, paragraph, line, word, box, confidence, text
        if len(cells) != CELLS:
            texts.append(row)
        elif cells[0] == "5" and cells[11].strip():
            left, top, across, down = (float(cell) for cell in cells[6:10])
            box = left, top, left + across, top + down
            words.append(TableWord(tuple(cells[1:5]), cells[11].strip(), float(cells[10]) / 100, box))
    return _join_syllables(words, "\n".join(texts))


def _join_syllables(words: Iterable[TableWord], text: str) -> list[TableWord]:
    joined: list[TableWord] = []
    position = 0
    for word in words:
        found = text.find(word.text, position, position + len(word.text) + NEAR)
        if joined and found == position > 0 and joined[-1].line == word.line:
            joined[-1] = _join(joined[-1], word)
        else:
            joined.append(word)
        position = found + len(word.text) if found >= 0 else position
    return joined


def _join(first: TableWord, second: TableWord) -> TableWord:
    (left, top, right, bottom), (begin, above, end, below) = first.box, second.box
    lengths = len(first.text), len(second.text)
    confidence = (first.confidence * lengths[0] + second.confidence * lengths[1]) / sum(lengths)
    box = min(left, begin), min(top, above), max(right, end), max(bottom, below)
    return TableWord(first.line, first.text + second.text, confidence, box)


def _die_with(parent: int) -> Callable[[], None]:
    """What the new process does first: it asks the kernel to kill it when its parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bind() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return bind
