"""The interface that every search engine implements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chyme.search.query.parser import Query
from chyme.search.ranking.keyword_ranking import Match, RankedFile
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """What an engine found by words."""

    files: tuple[RankedFile, ...]  # best first
    total: int  # number of matching files, as far as they were counted
    exact: bool = True
    notes: tuple[str, ...] = ()


class SemanticIndex(Protocol):
    """Finds passages by meaning."""

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        """Semantic passages nearest to the vector whose files meet the condition, best first; scored by cosine."""

    def meaning_note(self, embedder: Embedder) -> str | None:
        """A note about the present answers of `find_by_meaning`, such as that it does not know all passages yet."""


class Index(SemanticIndex, Protocol):
    """Finds files by words and passages by meaning.

    The database is authoritative: an engine's entry that the database does not have is never shown.
    """

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        """Files with words of the question that meet the condition, best first, at most `last`."""
