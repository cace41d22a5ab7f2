"""The text of a page from the lines that were read on it, and where each line stands in that text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from chyme.imaging.ocr.reading_order import Quad, direction, gap, order_lines
from chyme.model import Box

CELL = " | "  # between things that stand beside each other but apart, as in a table; no word for the search
APART = 0.5  # heights of room that make two cells of one row
DOUBT = "[?]"
_LETTER = re.compile(r"\w")
_HYPHENED = re.compile(r"[^\W\d_]{2,}-$")
_MARKUP = re.compile(r"#{1,6}(?:\s|$)|>|```|~~~")
_GOES_ON = re.compile(r"[^\W\d_]+", re.UNICODE)


class RecognisedWord(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def confidence(self) -> float: ...


class RecognisedLine(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def quad(self) -> Quad: ...
    @property
    def box(self) -> Box: ...
    @property
    def words(self) -> Sequence[RecognisedWord]: ...


@dataclass(frozen=True, slots=True)
class Span:
    """Where a line stands: its characters in the text, and its number among the lines that were given."""

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class PageText:
    """Paragraphs separated by a blank line, rows by a line break; words in doubt are marked."""

    text: str = ""
    spans: tuple[Span, ...] = ()
    angle: float = 0.0  # the direction in which the writing runs, in degrees


def page_text(lines: Sequence[RecognisedLine], aspect: float, doubt: float, markdown: bool = False) -> PageText:
    """The lines in reading order. Words below `doubt` carry a mark, words broken at the end of a line are mended.

    For markdown, a row that happens to begin like a heading, a quotation or code is kept from becoming one.
    """
    quads = [line.quad for line in lines]
    told = [mark_doubtful_words(line, doubt) for line in lines]
    out: list[str] = []
    spans: list[Span] = []
    length = 0

    def write(text: str) -> None:
        nonlocal length
        out.append(text)
        length += len(text)

    for paragraph in order_lines(quads, aspect):
        _mend(told, paragraph)
        if out:
            write("\n\n")
        for number, row in enumerate(paragraph):
            if number:
                write("\n")
            before: int | None = None
            for index in row:
                if not told[index]:
                    continue
                if before is None and markdown and _MARKUP.match(told[index]):
                    write("\\")
                if before is not None:
                    write(CELL if gap(quads[before], quads[index], aspect) > APART else " ")
                spans.append(Span(length, length + len(told[index]), index))
                write(told[index])
                before = index
    return PageText("".join(out), tuple(spans), round(direction(quads, aspect), 1))


def mark_doubtful_words(line: RecognisedLine, doubt: float) -> str:
    """The line's text; words that were read with little confidence are followed by a mark."""
    in_doubt = [word.confidence < doubt and _LETTER.search(word.text) is not None for word in line.words]
    if not any(in_doubt):
        return line.text
    return " ".join(word.text + DOUBT * mark for word, mark in zip(line.words, in_doubt, strict=True))


def _mend(told: list[str], paragraph: Sequence[Sequence[int]]) -> None:
    """Bring the second half of a broken word up to its first half: nobody searches for halves."""
    for row, below in pairwise(paragraph):
        if len(row) != 1 or len(below) != 1:
            continue
        upper, lower = told[row[0]], told[below[0]]
        rest, _, others = lower.partition(" ")
        if _HYPHENED.search(upper) and rest[:1].islower() and _GOES_ON.match(rest) and others:
            told[row[0]], told[below[0]] = upper[:-1] + rest, others
