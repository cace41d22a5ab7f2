"""Find where in a page or a passage the words of a question are: the line of a picture, the sentence of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection

from chyme.core.store import digests, text_places
from chyme.model import Form, Passage, Place, Upstream
from chyme.search.query.parser import Term, parse
from chyme.search.snippets import Span, find
from chyme.text.digest_text import extract_text

MAX_SPANS = 300  # per page
_LINE_BREAK_MARKS = frozenset("\ufffe\x02\u00ad")  # what PDFium leaves where a line breaks inside a word


def locate_match(
    db: Connection, file_id: int, passage: Passage, terms: Sequence[Term], form: Form, key_sentence: Span | None = None
) -> Place:
    """The passage's place, narrowed to the line with most of the words where lines have a box or a time.

    Elsewhere its heading is the one above most of the words. If the passage has none of them, the line where the key
    sentence begins counts, if there is one.
    """
    whole = passage.place
    is_narrowable = whole.box is not None or whole.seconds is not None
    if not is_narrowable and whole.heading is None:
        return whole
    spans = find(passage.text, terms) or ([key_sentence] if key_sentence else [])
    marks = [(whole.start + start, whole.start + end) for start, end in spans]
    if not is_narrowable:
        return replace(whole, heading=_heading_above(db, file_id, passage, marks)) if marks else whole
    lines = _lines(db, file_id, passage, form) if marks else ()
    best = max(lines, key=lambda line: (_count_words(line, marks, passage), -line.start), default=None)
    if best is None or not _count_words(best, marks, passage):
        # In a transcript every line has its time; in other texts the time of some lines says nothing about the rest.
        return whole if form is Form.TRANSCRIPT else replace(whole, seconds=None, until=None, speaker=None)
    start, end = max(best.start, whole.start), min(best.end, whole.end)
    return replace(best, start=start, end=end, page=whole.page or best.page, heading=whole.heading)


def _heading_above(db: Connection, file_id: int, passage: Passage, marks: Sequence[tuple[int, int]]) -> str | None:
    """The heading of the section with most of the words: a passage may hold several short sections."""
    whole = passage.place
    sections = text_places.headings_within(db, file_id, passage.source, whole.start, whole.end)
    best = max(sections, key=lambda section: (_count_words(section, marks, passage), -section.start), default=None)
    return best.heading if best is not None and _count_words(best, marks, passage) else whole.heading


def _count_words(line: Place, marks: Sequence[tuple[int, int]], passage: Passage) -> int:
    """The number of different words of the question in this line."""
    offset = passage.place.start
    return len({passage.text[a - offset : b - offset].casefold() for a, b in marks if line.start < b and a < line.end})


def _lines(db: Connection, file_id: int, passage: Passage, form: Form) -> tuple[Place, ...]:
    lines = text_places.within(db, file_id, passage.source, passage.place.start, passage.place.end)
    if not lines:
        output = Upstream(passage.source, digests.content(db, file_id, passage.source), form=form)
        lines = extract_text(output).places
    return tuple(candidate for candidate in lines if candidate.box is not None or candidate.seconds is not None)


def spans_of(text: str, question: str) -> list[tuple[int, int]]:
    """First and last + 1 character of each found word or phrase; a word broken at the end of a line is one word."""
    indices = _join_broken_words(text)
    joined = "".join(text[index] for index in indices)
    found = find(joined, parse(question).terms)[:MAX_SPANS]
    return [(indices[start], indices[end - 1] + 1) for start, end in found]


def _join_broken_words(text: str) -> list[int]:
    """The indices of the characters that remain when broken words are joined."""
    indices, joining = [], False
    for index, character in enumerate(text):
        if character in _LINE_BREAK_MARKS:
            joining = True
        elif not (joining and character in "\r\n"):
            joining = False
            indices.append(index)
    return indices
