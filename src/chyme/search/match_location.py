"""Where in its passage the words of a question stand: the line of a picture, the sentence of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection

from chyme.core.store import digests, text_places
from chyme.model import Passage, Place, Upstream
from chyme.search.query.parser import Term
from chyme.search.snippets import Span, find
from chyme.text.digest_text import extract_text

# Where every line has its second; elsewhere seconds belong to single lines, and not to what stands between them.
_SAID = ("speech-recognition", "speech-recognition-cleanup")


def locate_match(
    db: Connection, file_id: int, passage: Passage, terms: Sequence[Term], telling: Span | None = None
) -> Place:
    """The passage's place, narrowed to the line with most of the words, where lines are known by box or second.

    Without words of the question in it, to the line where the telling bit begins, if there is one.
    """
    whole = passage.place
    if whole.box is None and whole.seconds is None:
        return whole
    bits = find(passage.text, terms) or ([telling] if telling else [])
    marks = [(whole.start + start, whole.start + end) for start, end in bits]
    lines = _lines(db, file_id, passage) if marks else ()
    best = max(lines, key=lambda line: (_told(line, marks, passage), -line.start), default=None)
    if best is None or not _told(best, marks, passage):
        return whole if passage.source in _SAID else replace(whole, seconds=None, until=None, speaker=None)
    start, end = max(best.start, whole.start), min(best.end, whole.end)
    return replace(best, start=start, end=end, page=whole.page or best.page, heading=whole.heading)


def _told(line: Place, marks: Sequence[tuple[int, int]], passage: Passage) -> int:
    """How many different words of the question stand in this line."""
    at = passage.place.start
    return len({passage.text[a - at : b - at].casefold() for a, b in marks if line.start < b and a < line.end})


def _lines(db: Connection, file_id: int, passage: Passage) -> tuple[Place, ...]:
    kept = text_places.within(db, file_id, passage.source, passage.place.start, passage.place.end)
    if not kept:
        told = Upstream(passage.source, digests.content(db, file_id, passage.source))
        kept = extract_text(told).places
    return tuple(line for line in kept if line.box is not None or line.seconds is not None)
