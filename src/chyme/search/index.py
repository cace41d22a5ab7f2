"""The one door to every search engine."""

from __future__ import annotations

from typing import Protocol

from chyme.search.result import SearchResult


class Index(Protocol):
    """Answers questions in chyme's query language (docs/search.md), whatever engine stands behind it."""

    def search(self, text: str, *, limit: int = 20, offset: int = 0, typing: bool = False) -> SearchResult:
        """The best files, best first. `typing`: the last word may be unfinished. Any text is a valid question."""
