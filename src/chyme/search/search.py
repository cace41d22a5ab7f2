"""The search people use: understands the question, asks an index by words and by meaning, and shows what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Literal, get_args

from chyme.errors import UsageError
from chyme.search.hits import hits_of
from chyme.search.index import Index, KeywordMatches
from chyme.search.name_terms import name_terms
from chyme.search.nearest_passages import nearest_passages
from chyme.search.query.conditions import conditions_of
from chyme.search.query.corrections import Corrections, find_corrections
from chyme.search.query.parser import Query, Term, apply_corrections, expression, parse
from chyme.search.query.spelling import same_consonants
from chyme.search.query_embedding.protocol import QueryEmbedder
from chyme.search.ranking.fusion import (
    DEPTH,
    FusedFile,
    NearFile,
    feedback_scores,
    files_in_both,
    fuse,
    near_files,
    query_coverage,
)
from chyme.search.ranking.matches import Match, RankedFile
from chyme.search.ranking.similarity_threshold import SimilarityThresholds
from chyme.search.results import SearchResult
from chyme.search.similar_files import similar_files
from chyme.search.snippets import find
from chyme.search.tables import embedders, facets, keyword_queries, passages, semantic_availability, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.facets import Facets
from chyme.search.tables.keyword_queries import Condition
from chyme.text.stemmer import fold

Mode = Literal["both", "words", "meaning"]
MODES: tuple[Mode, ...] = get_args(Mode)
_FACETED = 2000  # files whose facets are counted, when words were asked for
_COUNTED = 500  # files with words of the question, up to which those found by meaning are looked up among them
_WORD_FOR_WORD = "what stands in quotes is searched word for word, not by meaning"
_NO_MEANING = "nothing can be found by meaning yet"
_BEING_READ = "no file has been read for its meaning yet; that is under way"
_BY_WORDS = "searched by words"


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a question means, and how near a passage must be to that."""

    vector: tuple[float, ...]
    embedder: Embedder
    floor: float


@dataclass(frozen=True, slots=True)
class _Found:
    """The files of one page, and what there is to say about all of them."""

    files: Sequence[FusedFile] = ()
    total: int = 0
    exact: bool = True
    notes: tuple[str, ...] = ()
    near: tuple[int, ...] = ()  # every file that was found by its meaning
    by_meaning_only: bool = False


class Search:
    """Any text is a valid question (docs/search.md), whatever engine stands behind it."""

    def __init__(self, read: Callable[[], Connection], index: Index, questions: QueryEmbedder | None = None) -> None:
        self._read = read
        self._index = index
        self._questions = questions
        self._floors = SimilarityThresholds()

    def search(
        self,
        text: str,
        *,
        limit: int = 20,
        offset: int = 0,
        typing: bool = False,
        mode: Mode = "both",
        facets: bool = False,
        as_typed: bool = False,
    ) -> SearchResult:
        """Files that answer, best first; each with its best passages.

        `typing`: the last word may be unfinished. `as_typed`: no word is corrected.
        """
        if mode not in MODES:
            raise UsageError(f"there is no way to search called {mode}; known are {', '.join(MODES)}")
        began = time.perf_counter()
        db = self._read()
        query = parse(text, typing=typing)
        where, notes = conditions_of(db, query)
        known = Corrections() if as_typed else find_corrections(db, query.terms)
        query, known, meant, why_not = self._understood(db, query, known, where, mode, typing)
        page = slice(offset, offset + limit)
        if query.terms:
            found = self._found(db, query, where, page, mode, meant)
            notes += why_not
        elif query.empty:
            found = _Found()
        else:
            files = [FusedFile(file_id, 0.0) for file_id in keyword_queries.list_files(db, limit, offset, where)]
            found = _Found(files, keyword_queries.count_listed(db, where))
        counted, counted_all = self._facets(db, query, where, found) if facets else (None, True)
        hits = hits_of(db, found.files, query.terms)
        return SearchResult(
            hits=tuple(hits),
            total=found.total,
            total_is_exact=found.exact,
            ms=(time.perf_counter() - began) * 1000,
            corrected=known.certain,
            suggested=known.possible,
            notes=tuple(dict.fromkeys(query.notes + notes + found.notes)),
            facets=counted,
            facets_are_exact=counted_all,
        )

    def all_files(self, text: str, mode: Mode = "both") -> list[int]:
        """Every file that answers, however far down `search` would show it; in no order."""
        db = self._read()
        query = parse(text)
        where, _ = conditions_of(db, query)
        query, _, meant, _ = self._understood(db, query, find_corrections(db, query.terms), where, mode, typing=False)
        if query.empty:
            return []
        if not query.terms:
            return keyword_queries.ids(db, where)
        found: set[int] = set()
        if mode != "meaning" or meant is None:
            found.update(
                keyword_queries.ids(
                    db, keyword_queries.all_of([where, keyword_queries.has_words(3000, expression(query.terms))])
                )
            )
        if meant is not None:
            nearest, _ = nearest_passages(self._index, meant.vector, meant.embedder, where, meant.floor)
            near = _leaned(db, (), nearest, meant)
            found.update(file.file_id for file in (near if mode == "meaning" else near[:DEPTH]))
        return sorted(found)

    def similar(self, path: str, *, limit: int = 20, offset: int = 0) -> SearchResult:
        """The files most like this one, without itself; UsageError when there is no such file."""
        began = time.perf_counter()
        result = similar_files(self._read(), self._index, self._floors, path, slice(offset, offset + limit))
        return replace(result, ms=(time.perf_counter() - began) * 1000)

    def _understood(
        self, db: Connection, query: Query, known: Corrections, where: Condition, mode: Mode, typing: bool
    ) -> tuple[Query, Corrections, _Meant | None, tuple[str, ...]]:
        """The question as it is searched, the corrections as they are told, what it means; else why that is unknown.

        Nothing is corrected where the question as it was typed means something that is here.
        """
        if not query.terms:
            return query, Corrections(), None, ()
        without_errors = apply_corrections(query, known.certain)
        meant, why_not = self._meant(db, without_errors, mode, typing)
        if known.certain and meant is not None:
            typed, _ = self._meant(db, query, mode, typing)
            if typed is not None and self._answers_better(db, typed, meant, known, where):
                return query, known.as_suggestions(), typed, why_not
        return without_errors, known, meant, why_not

    def _answers_better(
        self, db: Connection, typed: _Meant, meant: _Meant, known: Corrections, where: Condition
    ) -> bool:
        """Whether what is nearest to the typed question has no corrected word in it, and nothing that is nearer to the
        corrected one is there. Where a consonant differs (charge, change), the latter must have the word in it."""
        near_typed, near_meant = (
            next(iter(self._index.find_by_meaning(one.vector, one.embedder, where, 1)), None) for one in (typed, meant)
        )
        if near_typed is None or near_meant is None or near_typed.score < typed.floor:
            return False
        words = keyword_queries.has_words(3000, expression([Term(word) for word in known.certain.values()]))
        with_words = vectors.visible(db, [near_typed.passage_id, near_meant.passage_id], words)
        agreed = near_meant.passage_id in with_words or all(
            same_consonants(fold(word), other) for word, other in known.certain.items()
        )
        return near_typed.passage_id not in with_words and (not agreed or near_typed.score > near_meant.score)

    def _meant(self, db: Connection, query: Query, mode: Mode, typing: bool) -> tuple[_Meant | None, tuple[str, ...]]:
        """What the question means, if that is to be searched for; else what there is to say about it."""
        if mode == "words" or typing:
            return None, ()
        if all(term.phrase for term in query.terms):
            return None, (_WORD_FOR_WORD,) if mode == "meaning" else ()
        embedder = embedders.get_serving(db)
        if self._questions is None or embedder is None:
            return None, _told_instead(_nothing_meant(db) if self._questions else None, mode)
        meant = self._questions.embed(query.said, embedder.model)
        if meant.vector is None or len(meant.vector) != embedder.dimension:
            return None, _told_instead(meant.why_not, mode)
        return _Meant(meant.vector, embedder, self._floors.threshold(db, embedder, meant.vector)), ()

    def _found(
        self, db: Connection, query: Query, where: Condition, page: slice, mode: Mode, meant: _Meant | None
    ) -> _Found:
        if meant is None:
            worded = self._index.find_by_words(query, where, page.stop)
            return _Found([_as_worded(file) for file in worded.files[page]], worded.total, worded.exact, worded.notes)
        nearest, all_of_them = nearest_passages(self._index, meant.vector, meant.embedder, where, meant.floor)
        if mode == "meaning":
            found = _nearest(near_files(nearest), page, all_of_them)
        else:
            found = self._both(db, query, where, page, meant, nearest)
        note = self._index.meaning_note(meant.embedder)
        return replace(found, exact=False, notes=(*found.notes, note)) if note else found

    def _both(
        self, db: Connection, query: Query, where: Condition, page: slice, meant: _Meant, nearest: Sequence[Match]
    ) -> _Found:
        worded = self._index.find_by_words(query, where, DEPTH)
        answered = _answered(db, query.terms, worded.files[0]) if worded.files and nearest else 1.0
        near = _leaned(db, worded.files, nearest, meant)[:DEPTH]
        files = fuse(worded.files, near, meant.floor, answered)
        more = worded.total > len(worded.files)
        if page.stop > len(files) and more:
            shown = {file.file_id for file in files}
            deeper = self._index.find_by_words(query, where, page.stop)
            files += [_as_worded(file, 0.0) for file in deeper.files if file.file_id not in shown]
        total, exact = _total(db, query, where, worded, near)
        return _Found(files[page], total, exact, worded.notes, tuple(file.file_id for file in near))

    def _facets(self, db: Connection, query: Query, where: Condition, found: _Found) -> tuple[Facets, bool]:
        """How all files that were found divide; whether all of them were counted."""
        if not query.terms:
            return (facets.of_files(db, ()) if query.empty else facets.of_all(db, where)), True
        if found.by_meaning_only:
            return facets.of_files(db, found.near), found.exact
        worded = self._index.find_by_words(query, where, _FACETED)
        ids = {*found.near, *(file.file_id for file in worded.files)}
        return facets.of_files(db, ids), worded.exact and len(worded.files) == worded.total


def _nothing_meant(db: Connection) -> str | None:
    """Why no file has a meaning: the embedder was not to be had, or has yet to read the first."""
    failed = semantic_availability.last_failure(db)
    if failed is not None:
        return f"not searched by meaning: {failed}"
    return _BEING_READ if semantic_availability.is_waiting(db) else None


def _told_instead(why_not: str | None, mode: Mode) -> tuple[str, ...]:
    """What to say about a question that words answer alone; who asked for meaning is told in any case."""
    if mode == "meaning":
        return (f"{why_not or _NO_MEANING}; {_BY_WORDS}",)
    return (why_not,) if why_not else ()


def _nearest(near: Sequence[NearFile], page: slice, exact: bool) -> _Found:
    files = [FusedFile(file.file_id, file.score, near=file) for file in near]
    return _Found(files[page], len(files), exact, near=tuple(file.file_id for file in near), by_meaning_only=True)


def _as_worded(file: RankedFile, score: float | None = None) -> FusedFile:
    return FusedFile(file.file_id, file.score if score is None else score, file)


def _answered(db: Connection, terms: Sequence[Term], best: RankedFile) -> float:
    """How much of the question the best file by words has, in its best passages and its name."""
    texts = [passage.text for _, passage in passages.by_id(db, best.passages).values()]
    for shown in keyword_queries.files(db, [best.file_id]).values():
        named = name_terms(shown.name, shown.title, shown.tags, shown.summary)
        texts += [named.name, named.title, named.tags, named.summary]
    held = [
        (keyword_queries.frequency(db, expression([term]))[0], any(find(text, [term]) for text in texts))
        for term in terms
    ]
    return query_coverage(held, keyword_queries.count_passages(db))


def _leaned(db: Connection, worded: Sequence[RankedFile], nearest: Sequence[Match], meant: _Meant) -> list[NearFile]:
    """Files by meaning, in the order of a question that leans towards what words and meaning agree on."""
    near = near_files(nearest)
    like = files_in_both(worded, near)
    if not like:
        return near
    known = vectors.vectors_by_id(db, [match.passage_id for match in nearest])
    towards = [known[file.passages[0]] for file in like if file.passages[0] in known]
    return near_files(nearest, feedback_scores(meant.vector, towards, known))


def _total(
    db: Connection, query: Query, where: Condition, worded: KeywordMatches, near: Sequence[NearFile]
) -> tuple[int, bool]:
    """How many files were found one way or the other; whether that is all of them."""
    found = {file.file_id for file in worded.files}
    others = [file for file in near if file.file_id not in found]
    if not others or worded.total <= len(found):
        return worded.total + len(others), worded.exact
    if not worded.exact or worded.total > _COUNTED or any(term.prefix for term in query.terms):
        return max(worded.total, len(found) + len(others)), False
    with_words = keyword_queries.all_of([where, keyword_queries.has_words(3000, expression(query.terms))])
    further_down = vectors.visible(db, [file.passages[0] for file in others], with_words)
    return worded.total + len(others) - len(further_down), True
