"""Search in the vault's own database, by words and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.search.index import KeywordMatches, SemanticIndex
from chyme.search.query.conditions import is_selective
from chyme.search.query.parser import Query, Term, expression, neighbours
from chyme.search.ranking.keyword_ranking import Match, rank
from chyme.search.tables import dictionary, keyword_queries, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition, Scope, all_of
from chyme.search.vectors.cache import VectorCache

_QUICK_LIMIT, _THOROUGH_LIMIT = 400, 5000
_ONLY_NEWEST = "these words are almost everywhere; only the newest passages were compared"
_MAX_COUNTED = 5000  # passages read for a total; if there are more, it is "at least"
MOST_SCORED = 20_000
_ENOUGH = 200
_TermCount = tuple[Term, int]  # a term and the number of passages that contain it
_ANY = all_of(()).sql
_NOT_ALL = "not all vectors could be read yet; files may be missing that would be found by meaning"
_FIRST_FACTOR, _SECOND_FACTOR = 2, 16  # times the wanted number is fetched: at first, and if that was too little
_FEW, _MANY = 20_000, 200_000  # passages that meet a condition, compared one by one


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
        counts = _PassageCounts(db, self._max_scored)
        terms = dictionary.expand_prefixes(db, query.terms, counts.is_vague)
        match_expression = expression(terms)
        scope = _choose_scope(db, terms, counts, self._max_scored)
        # Adjacent words count only if few passages are scored.
        pairs = expression(neighbours(query.terms)) if scope == Scope(match_expression) else ""
        limit = _QUICK_LIMIT if last <= _QUICK_LIMIT // 4 else _THOROUGH_LIMIT
        filter_first = is_selective(query)
        if not filter_first:
            found, more = keyword_queries.best_passages(db, scope, limit, where)
            adjacent = keyword_queries.best_passages(db, Scope(pairs), limit, where)[0] if pairs else []
            ranked = rank(found, keyword_queries.names(db, match_expression, limit, where), together=adjacent)
            filter_first = more and len(ranked) < last and (where.sql != _ANY or limit < _THOROUGH_LIMIT)
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An expression to score by."""

    expression: str
    is_bounded: bool = False  # no more passages can match than may be scored


class _PassageCounts:
    """How many passages have each term of one question. Each is counted once: FTS5 keeps no such numbers."""

    def __init__(self, db: Connection, max_scored: int) -> None:
        self._db = db
        self._max_scored = max_scored
        self._known: dict[Term, int] = {}

    def is_vague(self, db: Connection, term: Term) -> bool:
        """Whether more passages match than may be scored. If not, their number is known from then on."""
        counted = keyword_queries.count_matching_passages(db, expression([term]), self._max_scored + 1)
        if counted > self._max_scored:
            return True
        self._known[term] = counted
        return False

    def of_term(self, term: Term) -> int:
        if term not in self._known:
            self._known[term] = keyword_queries.count_matching_passages(self._db, expression([term]))
        return self._known[term]


def _choose_scope(db: Connection, terms: Sequence[Term], counts: _PassageCounts, max_scored: int) -> Scope:
    """Which passages to score: all that match, unless they are too many."""
    counted = [(term, counts.of_term(term)) for term in terms]
    if sum(passages for _, passages in counted) <= max_scored:
        return Scope(expression(terms))
    *preferred, last = _scoring_expressions(counted, keyword_queries.count_passages(db), max_scored)
    chosen = next(
        (
            candidate
            for candidate in preferred
            if keyword_queries.count_matching_passages(db, candidate.expression, _ENOUGH) == _ENOUGH
        ),
        last,
    )
    since = None if chosen.is_bounded else keyword_queries.newest(db, chosen.expression, max_scored)
    return Scope(chosen.expression, since)


def _scoring_expressions(counted: Sequence[_TermCount], all_passages: int, max_scored: int) -> list[_Candidate]:
    """Expressions to score by: use the first that matches at least _ENOUGH passages, otherwise the last.

    Finding the passages of a word costs next to nothing; scoring one by BM25 costs thirty times as much. If the words
    together match more passages than may be scored, only those with at least one of the rarer words are scored (the
    frequent words still count in their scores), or else those with all words. BM25 gives nothing for a word in more
    than half of all passages, so such words are dropped first.
    """
    useful = [(term, passages) for term, passages in counted if passages * 2 <= all_passages] or list(counted)
    terms = [term for term, _ in useful]
    if sum(passages for _, passages in useful) <= max_scored:
        return [_Candidate(expression(terms), True)]
    rare = _select_rarest(useful, max_scored)
    few, many = expression(rare), expression([term for term in terms if term not in rare])
    # One branch for each passage, so that no word counts twice.
    with_rare = [_Candidate(f"(({few}) AND ({many})) OR (({few}) NOT ({many}))", True)] if few and many else []
    with_all = [_Candidate(" AND ".join(f"({expression([term])})" for term in terms))] if len(terms) > 1 else []
    return [*with_rare, *with_all, _Candidate(expression(terms))]


def _select_rarest(counted: Sequence[_TermCount], remaining: int) -> list[Term]:
    rare: list[Term] = []
    for term, passages in sorted(counted, key=lambda term_count: term_count[1]):
        remaining -= passages
        if remaining < 0:
            break
        rare.append(term)
    return rare


class SqliteSemanticIndex:
    """A `SemanticIndex`: the cache of vectors proposes passages, the database decides which are shown."""

    def __init__(self, read: Callable[[], Connection], cache: VectorCache, few: int = _FEW, many: int = _MANY) -> None:
        self._read = read
        self._cache = cache
        self._few = few
        self._many = many

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        found, complete = self._find_nearest(vector, embedder, where, count, _FIRST_FACTOR)
        if complete:
            return found
        filtered = where.sql != _ANY
        if filtered and (ids := self._ids_meeting(embedder, where, self._few)) is not None:
            return self._nearest_of(ids, vector, embedder, where, count)
        found, complete = self._find_nearest(vector, embedder, where, count, _SECOND_FACTOR)
        if complete or not filtered or (ids := self._ids_meeting(embedder, where, self._many)) is None:
            return found
        return self._nearest_of(ids, vector, embedder, where, count)

    def meaning_note(self, embedder: Embedder) -> str | None:
        return None if self._cache.is_current(embedder) else _NOT_ALL

    def _find_nearest(
        self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int, factor: int
    ) -> tuple[list[Match], bool]:
        """The nearest passages that meet the condition; and whether these are as many as wanted, or all there are."""
        near = self._cache.nearest(vector, embedder, factor * count)
        found = self._visible_matches(near, where)
        if where.sql == _ANY:
            self._cache.count_deleted(embedder, len(near) - len(found))
        return found[:count], len(found) >= count or len(near) < factor * count

    def _ids_meeting(self, embedder: Embedder, where: Condition, limit: int) -> list[int] | None:
        """All passages of files that meet the condition, lowest id first; None if there are too many."""
        ids = vectors.ids_of_files_where(self._read(), embedder.id, where, limit + 1)
        return sorted(ids) if len(ids) <= limit else None

    def _nearest_of(
        self, ids: Sequence[int], vector: Sequence[float], embedder: Embedder, where: Condition, count: int
    ) -> list[Match]:
        return self._visible_matches(self._cache.nearest(vector, embedder, count, ids), where)

    def _visible_matches(self, near: Sequence[tuple[int, float]], where: Condition) -> list[Match]:
        files = vectors.visible(self._read(), [id_ for id_, _ in near], where)
        return [Match(id_, files[id_], cosine) for id_, cosine in near if id_ in files]
