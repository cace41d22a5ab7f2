"""Find the characters of a page that are words of a question."""

from __future__ import annotations

from chyme.search.query.parser import parse
from chyme.search.snippets import find

MAX_SPANS = 300  # per page
_LINE_BREAK_MARKS = frozenset("\ufffe\x02\u00ad")  # what PDFium leaves where a line breaks inside a word


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
