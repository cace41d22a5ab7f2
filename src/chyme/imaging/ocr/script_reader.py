"""Reads lines in scripts that the embedded engine does not know, with the languages that tesseract has here.

All lines are put below each other into one picture, so that tesseract starts twice for a page: to detect the script,
and to read it. Where it cannot detect the script, a few lines are tried with each one that is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable, TimedOut, UnreadableFile
from chyme.imaging.ocr.scripts import BESIDE, SCRIPTS, Script, find_languages, is_written_in
from chyme.imaging.ocr.tesseract_program import DETECTOR, TesseractProgram

if TYPE_CHECKING:
    import numpy

    Pixels = numpy.ndarray[Any, Any]

HEIGHT, GAP, MARGIN = 40, 32, 32  # pixels of a line, between two lines, and beside them
WIDEST = 80 * HEIGHT  # pixels
MAX_LINES = 40  # in one picture
LETTERS = 10  # that are enough to detect a script; the choice is checked by reading
SAMPLE = 4  # lines that are tried with each script
SAMPLE_LENGTH = 20  # heights of such a line that are tried; on a long line of noise each script would take seconds
ONE_BLOCK = 6  # tesseract's number for: lines below each other
SURE_OF_SCRIPT = 1.0  # tesseract's own measure
SURE_OF_LATIN = 0.85  # confidence of a word
LEGIBLE = 0.5  # confidence of a line that is accepted
PLAUSIBLE = 0.65  # mean confidence of all accepted lines of a page
SURE_OF_TRIAL = 0.85  # the same where nothing else tells the script: some models read letters of any script as theirs
MOST_TIMEOUTS = 2  # pictures in a row; then tesseract is not started any more in this process
LISTING_SECONDS = 10.0
_LATIN = re.compile(r"[A-Za-z]")


@dataclass(frozen=True, slots=True)
class StripWord:
    """A word and where it begins and ends in its strip, each from 0 to 1."""

    text: str
    confidence: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class StripText:
    """The words of one line, in the order in which they are read."""

    words: tuple[StripWord, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def confidence(self) -> float:
        letters = sum(len(word.text) for word in self.words)
        return sum(word.confidence * len(word.text) for word in self.words) / max(1, letters)


@dataclass(frozen=True, slots=True)
class Choice:
    """The script of some lines, and whether they stand upside down."""

    script: Script
    languages: str
    upside_down: bool = False
    sure: bool = False  # tesseract's detection is sure of the script

    def turn_over(self) -> Choice:
        return replace(self, upside_down=not self.upside_down)


class ScriptReader:
    """Reads strips, each with one line, as far as tesseract is installed with a language for them."""

    def __init__(self, seconds: float = 120.0, threads: int = 1) -> None:
        self._seconds = seconds
        self._threads = threads
        self._program: TesseractProgram | None = None
        self._installed: frozenset[str] | None = None  # None until asked for
        self._timeouts = 0

    def installed(self) -> frozenset[str]:
        """The languages of tesseract; none where it is not installed or does not answer."""
        if self._installed is None:
            self._installed = frozenset()
            try:
                listing = TesseractProgram(min(self._seconds, LISTING_SECONDS), self._threads).list_languages()
                self._program = TesseractProgram(self._seconds, self._threads)
                self._installed = frozenset(listing.split())
            except (EngineUnavailable, TimedOut, UnreadableFile):
                pass
        return self._installed

    @contextmanager
    def one_picture(self) -> Iterator[None]:
        """Everything that is read meanwhile has the seconds of one picture, together."""
        if self._program is not None:
            self._program.begin_picture()
        try:
            yield
        except TimedOut:
            self._timeouts += 1
            if self._timeouts >= MOST_TIMEOUTS:
                self._installed = frozenset()
            raise
        self._timeouts = 0

    def choose(self, strips: Sequence[Pixels], tried: Iterable[Script] = ()) -> Choice | None:
        """The script of these lines, if it can be read here and is none of those that were tried."""
        readable = [
            Choice(script, languages) for script in SCRIPTS if (languages := find_languages(script, self.installed()))
        ]
        choices = [choice for choice in readable if choice.script not in tried]
        if not choices or not strips or self._program is None:
            return None
        detected = None
        if DETECTOR in self.installed():
            detected = self._program.detect(_encode(_stack(strips[:MAX_LINES])), LETTERS)
        if detected is not None:
            choices = [replace(choice, upside_down=detected.turn == 180) for choice in choices]
            for choice in choices:
                if detected.script in choice.script.detected_as:
                    return replace(choice, sure=detected.confidence >= SURE_OF_SCRIPT)
            was_tried = any(detected.script in script.detected_as for script in tried)
            if was_tried or detected.confidence >= SURE_OF_SCRIPT:
                return None
        return self._try_all([_cut_sample(strip) for strip in strips[:SAMPLE]], choices)

    def _try_all(self, sample: Sequence[Pixels], choices: Sequence[Choice]) -> Choice | None:
        for attempt in (choices, [choice.turn_over() for choice in choices]):
            scored = [(_score(self.read(sample, choice)), choice) for choice in attempt]
            score, best = max(scored, key=lambda pair: pair[0])
            if score >= SURE_OF_TRIAL:
                return best
        return None

    def read(self, strips: Sequence[Pixels], choice: Choice) -> list[StripText | None]:
        """The text of each strip, and None for those that are not legible in this script."""
        if self._program is None:
            return [None] * len(strips)
        found: list[StripText | None] = []
        for first in range(0, len(strips), MAX_LINES):
            part = [_turn(strip) if choice.upside_down else strip for strip in strips[first : first + MAX_LINES]]
            found += self._read_part(self._program, part, choice)
        accepted = [line for line in found if line is not None]
        enough = PLAUSIBLE if choice.sure else SURE_OF_TRIAL
        if not accepted or sum(line.confidence for line in accepted) < enough * len(accepted):
            return [None] * len(strips)
        return found

    def _read_part(self, program: TesseractProgram, strips: Sequence[Pixels], choice: Choice) -> list[StripText | None]:
        lines = self._read_rows(program, strips, choice.languages)
        skipped = [i for i, line in enumerate(lines) if not line.words]
        if 0 < len(skipped) < len(lines):  # a line that stands apart from the others is sometimes taken for a picture
            self._read_again(program, strips, skipped, choice.languages, lines)
        alone = choice.languages.removesuffix(f"+{BESIDE}")
        doubtful = [i for i, line in enumerate(lines) if _has_doubtful_latin(line)]
        if doubtful and alone != choice.languages:
            self._read_again(program, strips, doubtful, alone, lines)
        return [_accept(line, choice.script) for line in lines]

    def _read_again(
        self,
        program: TesseractProgram,
        strips: Sequence[Pixels],
        numbers: Sequence[int],
        languages: str,
        lines: list[StripText],
    ) -> None:
        """Replace these lines by what is read with more confidence now."""
        again = self._read_rows(program, [strips[i] for i in numbers], languages)
        for i, line in zip(numbers, again, strict=True):
            lines[i] = max(lines[i], line, key=lambda one: one.confidence)

    def _read_rows(self, program: TesseractProgram, strips: Sequence[Pixels], languages: str) -> list[StripText]:
        picture, widths = _stack(strips), [_fit_width(strip) for strip in strips]
        rows: list[list[StripWord]] = [[] for _ in strips]
        for word in program.read_words(_encode(picture), languages, ONE_BLOCK):
            left, top, right, bottom = word.box
            number = int(((top + bottom) / 2 - GAP / 2) // (HEIGHT + GAP))
            if 0 <= number < len(rows):
                start, end = (min(1.0, max(0.0, (edge - MARGIN) / widths[number])) for edge in (left, right))
                rows[number].append(StripWord(word.text, max(0.0, word.confidence), start, end))
        return [StripText(tuple(words)) for words in rows]


def _has_doubtful_latin(line: StripText) -> bool:
    """Whether it has a word in Latin letters that may be a misread word of the script."""
    return any(word.confidence < SURE_OF_LATIN and _LATIN.search(word.text) for word in line.words)


def _accept(line: StripText, script: Script) -> StripText | None:
    return line if line.confidence >= LEGIBLE and is_written_in(line.text, script) else None


def _score(lines: Sequence[StripText | None]) -> float:
    """How well a sample was read with a script: the mean confidence, 0 for a line that is not legible."""
    return sum(line.confidence for line in lines if line is not None) / max(1, len(lines))


def _cut_sample(strip: Pixels) -> Pixels:
    """The beginning of a long line."""
    return strip[:, : SAMPLE_LENGTH * strip.shape[0]]


def _fit_width(strip: Pixels) -> int:
    height, width = strip.shape[:2]
    return int(max(1, min(WIDEST, round(width * HEIGHT / height))))


def _stack(strips: Sequence[Pixels]) -> Pixels:
    """One grey picture with all strips below each other, dark on white."""
    import cv2
    import numpy

    widths = [_fit_width(strip) for strip in strips]
    picture = numpy.full((GAP + len(strips) * (HEIGHT + GAP), max(widths) + 2 * MARGIN), 255, numpy.uint8)
    for number, (strip, width) in enumerate(zip(strips, widths, strict=True)):
        grey = cv2.cvtColor(strip, cv2.COLOR_BGR2GRAY)
        resized = cv2.resize(_stretch(grey), (width, HEIGHT), interpolation=cv2.INTER_AREA)
        top = GAP + number * (HEIGHT + GAP)
        picture[top : top + HEIGHT, MARGIN : MARGIN + width] = resized
    return picture


def _stretch(grey: Pixels) -> Pixels:
    """Dark letters on a white ground, with full contrast."""
    import numpy

    darkest, ground, lightest = (float(value) for value in numpy.percentile(grey, (1, 50, 99)))
    if lightest - darkest < 1:
        return grey
    stretched = (grey.astype(numpy.float32) - darkest) * (255 / (lightest - darkest))
    if ground - darkest < lightest - ground:  # light letters on a dark ground
        stretched = 255 - stretched
    clipped: Pixels = numpy.clip(stretched, 0, 255).astype(numpy.uint8)
    return clipped


def _turn(strip: Pixels) -> Pixels:
    """The strip turned by half a circle."""
    return strip[::-1, ::-1]


def _encode(grey: Pixels) -> bytes:
    """The picture as a PGM file."""
    height, width = grey.shape
    return b"P5 %d %d 255\n" % (width, height) + grey.tobytes()
