"""Cuts a text into passages, each with its place in the file, and decides what is worth searching."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chyme.core.bounding_boxes import enclosing_box
from chyme.model import Place
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS

WINDOW = 200
OVERLAP = 0.15

# How good a boundary is; a passage ends at the best one in the last part of its window.
_HARD, _SPACE, _SENTENCE, _PARAGRAPH, _HEADING, _PAGE = range(6)
_LOOK_BACK = 0.5  # the part of the window in which a better boundary justifies a shorter passage
CHARACTERS_PER_TOKEN = 10  # at most, in an estimate: one long line of digits is not one token
_LONGEST_HEADING = 200
_SHORTEST_PIECE, _LONGEST_PIECE = 24, 4000  # a million one-letter lines are not a million pieces

# Every repeat is bounded, so that five million full stops cost no more than five million letters.
_ENDS = re.compile(r"(?P<paragraph>\n[ \t\r]{0,80}\n\s*)|\n|[.!?…]{1,4}[\"'”’)\]]{0,4}[ \t]{1,80}(?=\S)|[。！？]{1,4}")
_WEAK_ENDS = re.compile(r"[\s,;|]")
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"[^\W_]+")
_MARKDOWN = re.compile(r"^(?P<fence>```|~~~)|^#{1,6}[ \t]+(?P<heading>\S[^\n]{0,500})", re.MULTILINE)
_NOTES = re.compile(r"(?:(?:\A|\n)\s*> note: [^\n]*)+\s*\Z")
_NOTES_TAIL = 2000  # characters at the end of a text in which notes may be
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")
_MIN_TOKENS = 4  # words: a heading, the name of a sheet


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text cheaply: its words, and each letter of scripts without spaces."""
    words = len(_WORDS.findall(text))
    if IDEOGRAPH.search(text):
        words += sum(len(run) - 1 for run in RUNS.findall(text))
    return max(words, len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece that is not cut further, and how good a place to stop its end is."""

    start: int
    end: int
    tokens: int
    level: int


def cut_passages(
    text: str,
    places: Sequence[Place] = (),
    *,
    window: int = WINDOW,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> list[Place]:
    """The spans of the passages, in order, each with page, heading, seconds and box. No span crosses a page."""
    index = _PlaceIndex(places)
    spans: list[Place] = []
    for first, last in _pages(text, places):
        pieces = list(_pieces(text, (first, last), index.headings, window, count_tokens))
        for start, end in _pack(pieces, window, int(window * OVERLAP)):
            trimmed = _trim(text, start, end)
            if trimmed is not None:
                spans.append(index.place(*trimmed))
    return spans


def markdown_headings(text: str) -> tuple[Place, ...]:
    """The `#` headings of a Markdown text as places, except in fenced code."""
    found: list[Place] = []
    fenced = False
    for match in _MARKDOWN.finditer(text):
        if match["fence"]:
            fenced = not fenced
        elif not fenced:
            heading = match["heading"].rstrip(" \t\r#")[:_LONGEST_HEADING] or match["heading"].strip()
            found.append(Place(match.start(), match.end(), heading=heading))
    return tuple(found)


def _pages(text: str, places: Sequence[Place]) -> Iterator[tuple[int, int]]:
    starts = sorted({place.start for place in places if place.page is not None and 0 < place.start < len(text)})
    yield from pairwise([0, *starts, len(text)])


def _pieces(
    text: str, page: tuple[int, int], headings: Sequence[int], window: int, count: Callable[[str], int]
) -> Iterator[_Piece]:
    """Sentences and lines; those that are longer than a part of the window are cut."""
    largest = max(window // 4, 1)
    for start, end, level in _boundaries(text, *page, headings):
        size = end - start
        tokens = count(text[start:end]) if size <= _LONGEST_PIECE else largest * size
        if tokens <= largest:
            yield _Piece(start, end, tokens, level)
        else:
            yield from _cut_long(text, (start, end), level, largest, count)


def _boundaries(text: str, first: int, last: int, headings: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    start = first
    for stop in (*headings[bisect_right(headings, first) : bisect_right(headings, last - 1)], last):
        while (match := _ENDS.search(text, start + _SHORTEST_PIECE, stop)) is not None and match.end() < stop:
            yield start, match.end(), _PARAGRAPH if match["paragraph"] else _SENTENCE
            start = match.end()
        if start < stop:
            yield start, stop, _HEADING if stop < last else _PAGE
            start = stop


def _cut_long(
    text: str, span: tuple[int, int], level: int, largest: int, count: Callable[[str], int]
) -> Iterator[_Piece]:
    """A long sentence or line in steps: at white space if there is some nearby, otherwise anywhere."""
    start, end = span
    step = largest * 4
    while start < end:
        stop = min(start + step, end)
        rank = level
        if stop < end:
            stop, rank = _find_weak_end(text, start, stop)
        tokens = count(text[start:stop])
        if tokens > largest and stop - start > 1:
            step = max((stop - start) // 2, 1)
            continue
        yield _Piece(start, stop, tokens, rank)
        if tokens * 2 < largest:
            step = min(step * 2, _LONGEST_PIECE)
        start = stop


def _find_weak_end(text: str, start: int, stop: int) -> tuple[int, int]:
    for position in range(stop, max(start, stop - 64), -1):
        if _WEAK_ENDS.match(text, position - 1):
            return position, _SPACE
    return stop, _HARD


def _pack(pieces: Sequence[_Piece], window: int, shared: int) -> Iterator[tuple[int, int]]:
    """Spans of pieces: as many as fit, ending at the best boundary near the end, overlapping a little."""
    first = 0
    first_new = 0  # the first piece that is in no span yet
    while first_new < len(pieces):
        tokens, stop = 0, first
        while stop < len(pieces) and (stop <= first_new or tokens + pieces[stop].tokens <= window):
            tokens += pieces[stop].tokens
            stop += 1
        if stop < len(pieces):
            stop = _best_stop(pieces, first_new, stop, tokens, window)
        yield pieces[first].start, pieces[stop - 1].end
        first_new = stop
        first = _step_back(pieces, first, stop, shared) if stop < len(pieces) else stop


def _best_stop(pieces: Sequence[_Piece], first_new: int, stop: int, tokens: int, window: int) -> int:
    best = stop
    min_tokens = window * (1 - _LOOK_BACK)
    for end in range(stop, first_new, -1):
        if tokens < min_tokens:
            break
        if pieces[end - 1].level > pieces[best - 1].level:
            best = end
        tokens -= pieces[end - 1].tokens
    return best


def _step_back(pieces: Sequence[_Piece], first: int, stop: int, shared: int) -> int:
    """Where the next passage begins: a little before the end of this one, but never before a heading."""
    start, tokens = stop, 0
    while start - 1 > first and pieces[start - 1].level < _HEADING and tokens + pieces[start - 1].tokens <= shared:
        start -= 1
        tokens += pieces[start].tokens
    return start


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if _WORD.search(text, start, end) else None


class _PlaceIndex:
    """Finds the place of a span in time that grows with the answer, not with the text."""

    def __init__(self, places: Sequence[Place]) -> None:
        ordered = sorted(places, key=lambda place: (place.start, place.end))
        self._pages = [place for place in ordered if place.page is not None]
        self._headings = [place for place in ordered if place.heading is not None]
        self._spans = [place for place in ordered if place.seconds is not None or place.box is not None]
        self._page_starts = [place.start for place in self._pages]
        self.headings = [place.start for place in self._headings]
        self._span_ends: list[int] = []
        furthest = 0
        for place in self._spans:
            furthest = max(furthest, place.end)
            self._span_ends.append(furthest)

    def place(self, start: int, end: int) -> Place:
        page = self._last_before(self._pages, self._page_starts, start)
        heading = self._last_before(self._headings, self.headings, start)
        overlapping = self._find_overlapping(start, end)
        timed = [place for place in overlapping if place.seconds is not None]
        ends = [until for place in timed if (until := place.until) is not None]
        return Place(
            start,
            end,
            page=page.page if page else None,
            heading=heading.heading if heading else None,
            seconds=timed[0].seconds if timed else None,
            until=max(ends) if ends else None,
            speaker=timed[0].speaker if timed else None,
            box=enclosing_box([place.box for place in overlapping if place.box is not None]),
        )

    @staticmethod
    def _last_before(places: Sequence[Place], starts: Sequence[int], position: int) -> Place | None:
        index = bisect_right(starts, position)
        return places[index - 1] if index else None

    def _find_overlapping(self, start: int, end: int) -> list[Place]:
        overlapping: list[Place] = []
        for place in self._spans[bisect_right(self._span_ends, start) :]:
            if place.start >= end:
                break
            if place.end > start:
                overlapping.append(place)
        return overlapping


def without_notes(text: str) -> str:
    """The text without the lines at its end in which chyme says what it left out."""
    end = max(0, len(text) - _NOTES_TAIL)
    match = _NOTES.search(text, text.find("\n", end) if end else 0)
    return text[: match.start()] if match else text


def has_word(text: str) -> bool:
    """Whether it contains a word: a text of digits and single letters means nothing in particular."""
    return bool(_THREE_LETTERS.search(text) or IDEOGRAPH.search(text))


def is_thin(text: str) -> bool:
    """Whether it says almost nothing by itself."""
    return estimate_tokens(text) < _MIN_TOKENS
