"""Find the passages for a question with our own search, and where in a file a sentence of a passage is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from sqlite3 import Connection

from chyme.answers.conversation import Citation, FoundPassage
from chyme.answers.packing import fuse
from chyme.answers.support import Span
from chyme.core.store import files
from chyme.errors import NotFound
from chyme.search.match_location import locate_match
from chyme.search.search import Search

FILES = 12  # of one search
MOST_PATHS = 1000  # files that a question can be narrowed to


class Retrieval:
    """The searches of questions, and the places of what they found."""

    def __init__(self, search: Callable[[], Search], read: Callable[[], Connection]) -> None:
        self._search = search
        self._read = read

    def ids_of(self, paths: Sequence[str]) -> list[int]:
        """The ids of these files; NotFound if one is not in the vault."""
        db = self._read()
        found = []
        for path in paths[:MOST_PATHS]:
            file = files.by_path(db, path)
            if file is None:
                raise NotFound(f"{path}: is not a file of this vault")
            found.append(file.id)
        return found

    def find(self, searches: Sequence[str], only: Collection[int] | None) -> list[FoundPassage]:
        """The passages that these searches find, best first."""
        db = self._read()
        found: list[list[list[FoundPassage]]] = []
        for text in searches:
            result = self._search().search(text, limit=FILES, only=only, keep_conditions=True)
            hits = []
            for hit in result.hits:
                file = files.by_path(db, hit.path)
                if file is not None:
                    hits.append(
                        [
                            FoundPassage(
                                file.id, hit.path, hit.title, hit.kind, piece.passage, piece.form, piece.person
                            )
                            for piece in hit.passages
                            if piece.passage is not None and piece.passage.text.strip()
                        ]
                    )
            found.append(hits)
        return fuse(found)

    def cite(self, found: FoundPassage, span: Span) -> Citation:
        """The place of these characters of a passage: its page and lines, its second, or its part of the picture."""
        passage = found.passage
        place = locate_match(self._read(), found.file_id, passage, (), found.form, span)
        if (place.start, place.end) == (passage.place.start, passage.place.end):
            start = passage.place.start + span[0]
            if place.end - place.start == len(passage.text) or span[1] < len(passage.text):
                place = replace(place, start=start, end=min(start + span[1] - span[0], passage.place.end))
        quote = " ".join(passage.text[span[0] : span[1]].split())
        return Citation(*(found.path, found.title, found.kind, passage.source, found.form, place, quote, found.person))
