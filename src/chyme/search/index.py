"""The one door to every search engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chyme.search.query.parser import Query
from chyme.search.ranking.matches import Match, RankedFile
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """What an engine found by words."""

    files: tuple[RankedFile, ...]  # best first
    total: int  # of files, as far as anybody looked
    exact: bool = True
    notes: tuple[str, ...] = ()


class Index(Protocol):
    """Finds what stands in the vault. The database stays the truth: what an engine knows and the database does not is
    never shown."""

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        """Files with words of the question that meet the condition, best first: `last`, if there are so many."""

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        """Semantic passages nearest to the vector whose files meet the condition, best first; scored by cosine."""

    def meaning_note(self, embedder: Embedder) -> str | None:
        """What there is to say about `by_meaning` as it answers now: that it does not know all passages yet."""
