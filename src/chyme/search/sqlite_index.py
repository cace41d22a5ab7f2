"""Search in the vault's own database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import Protocol

from chyme.search.index import KeywordMatches
from chyme.search.query.conditions import is_selective
from chyme.search.query.parser import Query, Term, expression, neighbours
from chyme.search.query.scoring_terms import ENOUGH, MOST_SCORED, TermCount, scoring_expressions
from chyme.search.ranking.matches import Match, rank
from chyme.search.tables import dictionary, keyword_queries
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition, Scope

_QUICK_LIMIT, _THOROUGH_LIMIT = 400, 5000
_ONLY_NEWEST = "these words are almost everywhere; only the newest passages were compared"
_MAX_COUNTED = 5000  # passages read for a total; if there are more, it is "at least"


class SemanticIndex(Protocol):
    """Finds passages by their meaning."""

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        """As specified by `Index`."""

    def meaning_note(self, embedder: Embedder) -> str | None:
        """As specified by `Index`."""


class SqliteIndex:
    """An `Index` over passages and names, both written in the transaction of the digest that made them."""

    def __init__(
        self, read: Callable[[], Connection], meaning: SemanticIndex | None = None, most_scored: int = MOST_SCORED
    ) -> None:
        self._read = read
        self._semantic_index = meaning
        self._max_scored = most_scored

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        db = self._read()
        terms = dictionary.expand_prefixes(db, query.terms, self._matches_too_many)
        match_expression = expression(terms)
        scope = _choose_scope(db, terms, self._max_scored)
        # Adjacent words count only if few passages are scored.
        pairs = expression(neighbours(query.terms)) if scope == Scope(match_expression) else ""
        limit = _QUICK_LIMIT if last <= _QUICK_LIMIT // 4 else _THOROUGH_LIMIT
        filter_first = is_selective(query)
        if not filter_first:
            found, more = keyword_queries.best_passages(db, scope, limit, where)
            adjacent = keyword_queries.best_passages(db, Scope(pairs), limit, where)[0] if pairs else []
            ranked = rank(found, keyword_queries.names(db, match_expression, limit, where), together=adjacent)
            filter_first = (
                more and len(ranked) < last and (bool(query.excluded or query.filters) or limit < _THOROUGH_LIMIT)
            )
        if filter_first:
            limit, scope = _THOROUGH_LIMIT, Scope(scope.expression)
            found = keyword_queries.best_passages_among(db, scope, limit, where)
            adjacent = keyword_queries.best_passages_among(db, Scope(pairs), limit, where) if pairs else []
            ranked = rank(found, keyword_queries.names(db, match_expression, limit, where), together=adjacent)
            more = len(found) == limit
        total, exact = len(ranked), not more and scope == Scope(match_expression)
        if not exact:
            counted, exact = keyword_queries.count_matching(db, match_expression, where, _MAX_COUNTED)
            total = max(total, counted)
        notes = (_ONLY_NEWEST,) if scope.since is not None else ()
        return KeywordMatches(tuple(ranked[:last]), total, exact, notes)

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        return self._semantic_index.find_by_meaning(vector, embedder, where, count) if self._semantic_index else []

    def meaning_note(self, embedder: Embedder) -> str | None:
        return self._semantic_index.meaning_note(embedder) if self._semantic_index else None

    def _matches_too_many(self, db: Connection, term: Term) -> bool:
        return keyword_queries.frequency(db, expression([term]), self._max_scored + 1)[0] > self._max_scored


def _choose_scope(db: Connection, terms: Sequence[Term], max_scored: int) -> Scope:
    """Which passages to score: all that match, unless they are too many."""
    counted = [TermCount(term, keyword_queries.frequency(db, expression([term]))[0]) for term in terms]
    if sum(term_count.passages for term_count in counted) <= max_scored:
        return Scope(expression(terms))
    *preferred, last = scoring_expressions(counted, keyword_queries.count_passages(db), max_scored)
    chosen = next(
        (term_count for term_count in preferred if keyword_queries.frequency(db, term_count, ENOUGH)[0] == ENOUGH), last
    )
    return Scope(chosen, keyword_queries.newest(db, chosen, max_scored))
