"""Builds the text of a page from its recognised lines, with the position of each line in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from chyme.imaging.ocr.engines import Line
from chyme.imaging.ocr.reading_order import direction, gap, mirror, order_lines
from chyme.imaging.ocr.scripts import is_right_to_left

CELL = " | "  # between items side by side but apart, as in a table; not a word for the search
APART = 0.5  # heights of space that separate two cells of one row
DOUBT = "[?]"
_LETTER = re.compile(r"\w")
_HYPHENATED = re.compile(r"[^\W\d_]{2,}-$")
_MARKUP = re.compile(r"#{1,6}(?:\s|$)|>|```|~~~")
_CONTINUATION = re.compile(r"[^\W\d_]+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a line is: its characters in the text, and its index among the given lines."""

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class PageText:
    """Paragraphs separated by a blank line, rows by a line break; doubtful words are marked."""

    text: str = ""
    spans: tuple[Span, ...] = ()
    angle: float = 0.0  # the direction of the text, in degrees


def page_text(lines: Sequence[Line], aspect: float, doubt: float, markdown: bool = False) -> PageText:
    """The lines in reading order. Words below `doubt` carry a mark; words hyphenated at the end of a line are joined.

    Columns and cells of a page that is written from right to left are read in that order, too. For Markdown, rows that
    happen to begin like a heading, a quotation or code are escaped.
    """
    quads = [line.quad for line in lines]
    if is_right_to_left("".join(line.text for line in lines)):
        quads = [mirror(quad) for quad in quads]
    texts = [mark_doubtful_words(line, doubt) for line in lines]
    out: list[str] = []
    spans: list[Span] = []
    length = 0

    def write(text: str) -> None:
        nonlocal length
        out.append(text)
        length += len(text)

    for paragraph in order_lines(quads, aspect):
        _join_hyphenated(texts, paragraph)
        if out:
            write("\n\n")
        for number, row in enumerate(paragraph):
            if number:
                write("\n")
            previous: int | None = None
            for index in row:
                if not texts[index]:
                    continue
                if previous is None and markdown and _MARKUP.match(texts[index]):
                    write("\\")
                if previous is not None:
                    write(CELL if gap(quads[previous], quads[index], aspect) > APART else " ")
                spans.append(Span(length, length + len(texts[index]), index))
                write(texts[index])
                previous = index
    angle = direction([line.quad for line in lines], aspect)
    return PageText("".join(out), tuple(spans), round(angle, 1))


def mark_doubtful_words(line: Line, doubt: float) -> str:
    """The line's text; a mark follows words that were read with little confidence."""
    doubtful = [word.confidence < doubt and _LETTER.search(word.text) is not None for word in line.words]
    if not any(doubtful):
        return line.text
    return " ".join(word.text + DOUBT * is_doubtful for word, is_doubtful in zip(line.words, doubtful, strict=True))


def _join_hyphenated(texts: list[str], paragraph: Sequence[Sequence[int]]) -> None:
    """Join the second half of a hyphenated word to its first half: people do not search for halves."""
    for row, below in pairwise(paragraph):
        if len(row) != 1 or len(below) != 1:
            continue
        upper, lower = texts[row[0]], texts[below[0]]
        rest, _, others = lower.partition(" ")
        if _HYPHENATED.search(upper) and rest[:1].islower() and _CONTINUATION.match(rest) and others:
            texts[row[0]], texts[below[0]] = upper[:-1] + rest, others
