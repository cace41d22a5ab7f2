"""Search in the vault's own database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import Protocol

from chyme.search.index import KeywordMatches
from chyme.search.query.conditions import is_selective
from chyme.search.query.parser import Query, Term, expression, neighbours, plain_word
from chyme.search.query.scoring_terms import ENOUGH, MOST_SCORED, TermCount, scoring_expressions
from chyme.search.ranking.matches import Match, rank
from chyme.search.tables import dictionary, keyword_queries
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition, Scope

_QUICK_LOOK, _THOROUGH_LOOK = 400, 5000
_ONLY_NEWEST = "these words stand almost everywhere; only the newest passages were compared"
_COUNTED = 5000  # passages looked at for a total; beyond that it is "at least"
_SHORTEST_PREFIX = 3  # two letters begin a good part of all words there are


class SemanticIndex(Protocol):
    """Whoever finds passages by what they mean."""

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        """As `Index` promises it."""

    def meaning_note(self, embedder: Embedder) -> str | None:
        """As `Index` promises it."""


class SqliteIndex:
    """An `Index` over passages and names, both written in the transaction of the digest that made them."""

    def __init__(
        self, read: Callable[[], Connection], meaning: SemanticIndex | None = None, most_scored: int = MOST_SCORED
    ) -> None:
        self._read = read
        self._meaning = meaning
        self._most_scored = most_scored

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        db = self._read()
        terms = _widened(db, query.terms, self._most_scored)
        asked = expression(terms)
        scope = _scope(db, terms, self._most_scored)
        pairs = expression(neighbours(query.terms)) if scope == Scope(asked) else ""  # only where few are scored
        look = _QUICK_LOOK if last <= _QUICK_LOOK // 4 else _THOROUGH_LOOK
        among = is_selective(query)
        if not among:
            found, more = keyword_queries.best_passages(db, scope, look, where)
            together = keyword_queries.best_passages(db, Scope(pairs), look, where)[0] if pairs else []
            ranked = rank(found, keyword_queries.names(db, asked, look, where), together=together)
            among = more and len(ranked) < last and (bool(query.excluded or query.filters) or look < _THOROUGH_LOOK)
        if among:
            look, scope = _THOROUGH_LOOK, Scope(scope.expression)
            found = keyword_queries.best_passages_among(db, scope, look, where)
            together = keyword_queries.best_passages_among(db, Scope(pairs), look, where) if pairs else []
            ranked = rank(found, keyword_queries.names(db, asked, look, where), together=together)
            more = len(found) == look
        total, exact = len(ranked), not more and scope == Scope(asked)
        if not exact:
            counted, exact = keyword_queries.count_matching(db, asked, where, _COUNTED)
            total = max(total, counted)
        notes = (_ONLY_NEWEST,) if scope.since is not None else ()
        return KeywordMatches(tuple(ranked[:last]), total, exact, notes)

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        return self._meaning.find_by_meaning(vector, embedder, where, count) if self._meaning else []

    def meaning_note(self, embedder: Embedder) -> str | None:
        return self._meaning.meaning_note(embedder) if self._meaning else None


def _scope(db: Connection, terms: Sequence[Term], most: int) -> Scope:
    """Which passages to score: all that match, unless these are too many."""
    counted = [TermCount(term, keyword_queries.frequency(db, expression([term]))[0]) for term in terms]
    if sum(one.passages for one in counted) <= most:
        return Scope(expression(terms))
    *preferred, last = scoring_expressions(counted, keyword_queries.count_passages(db), most)
    chosen = next((one for one in preferred if keyword_queries.frequency(db, one, ENOUGH)[0] == ENOUGH), last)
    return Scope(chosen, keyword_queries.newest(db, chosen, most))


def _widened(db: Connection, terms: Sequence[Term], most: int) -> list[Term]:
    """Unfinished words with the words they may become: a beginning may be longer than the stem the index knows."""
    wide: list[Term] = []
    for term in terms:
        word = plain_word(term)
        if not term.prefix or word is None:
            wide.append(term)
            continue
        vague = word.isascii() and (
            len(word) < _SHORTEST_PREFIX or keyword_queries.frequency(db, expression([term]), most + 1)[0] > most
        )
        wide += [Term(term.text) if vague else term, *(Term(known) for known in dictionary.find_by_prefix(db, word))]
    return wide
