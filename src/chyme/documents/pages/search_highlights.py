"""Which characters of a page are words of a question."""

from __future__ import annotations

from chyme.search.query.parser import parse
from chyme.search.snippets import find

MOST = 300  # stretches of a page
_BROKEN = frozenset("\ufffe\x02\u00ad")  # what PDFium leaves where a line broke inside a word


def spans_of(text: str, question: str) -> list[tuple[int, int]]:
    """First and last + 1 character of each found word or phrase; a word broken at the end of a line is one word."""
    indices = _unbroken(text)
    joined = "".join(text[index] for index in indices)
    found = find(joined, parse(question).terms)[:MOST]
    return [(indices[start], indices[end - 1] + 1) for start, end in found]


def _unbroken(text: str) -> list[int]:
    """The characters that are left when broken words are put together."""
    kept, joining = [], False
    for index, character in enumerate(text):
        if character in _BROKEN:
            joining = True
        elif not (joining and character in "\r\n"):
            joining = False
            kept.append(index)
    return kept
