"""The search people use: parses the question, queries an index by words and by meaning, and builds the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Literal, get_args

from chyme.errors import UsageError
from chyme.model import Form
from chyme.search.hits import FormOf, hits_of
from chyme.search.hybrid_ranking import Meaning, rank_by_both
from chyme.search.index import Index, KeywordMatches
from chyme.search.near_pictures import add_pictures, pictures_near
from chyme.search.query.conditions import conditions_of
from chyme.search.query.corrections import Corrections, find_corrections
from chyme.search.query.long_questions import choose_rarest
from chyme.search.query.parser import Query, Term, apply_corrections, expression, parse
from chyme.search.query.relaxation import format_filter, relaxations, without_each_filter
from chyme.search.query.spelling import same_consonants
from chyme.search.query_embedding.query_vectors import QueryEmbedder, QueryVector
from chyme.search.ranking import word_and_meaning_fusion as fusion
from chyme.search.ranking.keyword_ranking import Match, RankedFile
from chyme.search.ranking.near_tags import TagMeanings, add_tagged
from chyme.search.ranking.nearest_passages import SimilarityThresholds, nearest_passages
from chyme.search.results import SearchResult
from chyme.search.similar_files import similar_files
from chyme.search.tables import embedders, embedding_backlog, facets, keyword_queries, vectors
from chyme.search.tables.facets import Facets
from chyme.search.tables.keyword_queries import Condition
from chyme.text.stemmer import fold

Mode = Literal["both", "words", "meaning"]
MODES: tuple[Mode, ...] = get_args(Mode)
_FACET_FILES = 2000  # files whose facets are counted if the question has words
_MAX_COUNTED = 500  # up to so many files with words, those found by meaning are looked up among them
_WORD_FOR_WORD = "text in quotes is searched word for word, not by meaning"
_NO_MEANING = "nothing can be found by meaning yet"
_BEING_READ = "no file has been read for its meaning yet; that is under way"
_BY_WORDS = "searched by words"


@dataclass(frozen=True, slots=True)
class _FoundFiles:
    """The files of one page, and facts about all that were found."""

    files: Sequence[fusion.FusedFile] = ()
    total: int = 0
    exact: bool = True
    notes: tuple[str, ...] = ()
    near: tuple[int, ...] = ()  # every file that was found by meaning
    by_meaning_only: bool = False
    all_files: Sequence[int] | None = None  # every file that was found, if known


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was searched for, and what was found."""

    query: Query
    where: Condition
    found: _FoundFiles
    corrections: Corrections
    notes: tuple[str, ...]


class Search:
    """Any text is a valid question (docs/search.md), with any engine."""

    def __init__(
        self,
        read: Callable[[], Connection],
        index: Index,
        query_embedder: QueryEmbedder | None = None,
        form_of: FormOf = lambda _output: Form.DATA,
        picture_model: str | None = None,
    ) -> None:
        """`picture_model`: the model that compares pictures with words, if there is one."""
        self._form_of = form_of
        self._picture_model = picture_model
        self._read = read
        self._index = index
        self._query_embedder = query_embedder
        self._thresholds = SimilarityThresholds()
        self._tag_meanings = TagMeanings()

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
        keep_conditions: bool = False,
        only: Collection[int] | None = None,
    ) -> SearchResult:
        """Files that match, best first; each with its best passages.

        `typing`: the last word may be unfinished. `as_typed`: no word is corrected. `keep_conditions`: none is dropped,
        also if no file meets them all. `only`: these files, by their ids; None for all.
        """
        if mode not in MODES:
            raise UsageError(f"there is no search mode {mode}; known are {', '.join(MODES)}")
        started = time.perf_counter()
        db = self._read()
        query = choose_rarest(db, parse(text, typing=typing))
        page = slice(offset, offset + limit)
        answer = self._answer(db, query, page, mode, typing, as_typed, only)
        dropped: tuple[str, ...] = ()
        notes: tuple[str, ...] = ()
        if not answer.found.total and not typing and not keep_conditions:
            for relaxed, conditions in relaxations(query):
                other = self._answer(db, relaxed, page, mode, typing, as_typed, only)
                if other.found.total:
                    notes = (*answer.notes, f"nothing meets {' and '.join(conditions)}; shown without that")
                    answer, dropped = other, conditions
                    break
            else:
                notes = _filter_hints(db, query, has_notes=bool(answer.notes))
        facet_counts, facets_exact = (
            self._count_facets(db, answer.query, answer.where, answer.found) if facets else (None, True)
        )
        return SearchResult(
            hits=tuple(hits_of(db, answer.found.files, answer.query.terms, self._form_of)),
            total=answer.found.total,
            total_is_exact=answer.found.exact,
            ms=(time.perf_counter() - started) * 1000,
            corrected=answer.corrections.certain,
            suggested=answer.corrections.possible,
            notes=tuple(dict.fromkeys((*notes, *answer.notes))),
            facets=facet_counts,
            facets_are_exact=facets_exact,
            dropped=dropped,
        )

    def _answer(
        self,
        db: Connection,
        query: Query,
        page: slice,
        mode: Mode,
        typing: bool,
        as_typed: bool,
        only: Collection[int] | None = None,
    ) -> _Answer:
        """Search for the question as it is, with all its conditions."""
        where, notes = conditions_of(db, query)
        if only is not None:
            where = keyword_queries.all_of([where, keyword_queries.is_one_of(only)])
        corrections = Corrections() if as_typed else find_corrections(db, query.terms)
        query, corrections, meaning, meaning_notes = self._interpret(db, query, corrections, where, mode, typing)
        if query.terms:
            found = self._find(db, query, where, page, mode, meaning)
            notes += meaning_notes
        elif query.empty:
            found = _FoundFiles()
        else:
            listing = keyword_queries.list_files(db, page.stop - page.start, page.start, where)
            found = _FoundFiles(
                [fusion.FusedFile(file_id, 0.0) for file_id in listing.page], listing.total, all_files=listing.all_files
            )
        return _Answer(query, where, found, corrections, (*query.notes, *notes, *found.notes))

    def all_files(self, text: str, mode: Mode = "both", among: Condition | None = None) -> list[int]:
        """Every file that matches, even those `search` would show last; in no particular order.

        No condition is dropped: what is done to these files may not be undone. `among`: only files that meet this.
        """
        db = self._read()
        query = choose_rarest(db, parse(text))
        where, _ = conditions_of(db, query)
        if among is not None:
            where = keyword_queries.all_of([where, among])
        query, _, meaning, _ = self._interpret(db, query, find_corrections(db, query.terms), where, mode, typing=False)
        if query.empty:
            return []
        if not query.terms:
            return keyword_queries.files_that_meet(db, where)
        found: set[int] = set()
        if mode != "meaning" or meaning is None:
            with_words = keyword_queries.all_of([where, keyword_queries.has_words(3000, expression(query.terms))])
            found.update(keyword_queries.files_that_meet(db, with_words))
        if meaning is not None:
            nearest, _ = nearest_passages(self._index, meaning.vector, meaning.embedder, where, meaning.floor)
            near = self._near_files(db, query, nearest, where, meaning)
            found.update(file.file_id for file in near[: fusion.DEPTH])
        return sorted(found)

    def similar(self, path: str, *, limit: int = 20, offset: int = 0) -> SearchResult:
        """The files most like this one, without itself; UsageError if there is no such file."""
        started = time.perf_counter()
        result = similar_files(
            self._read(), self._index, self._thresholds, path, slice(offset, offset + limit), self._form_of
        )
        return replace(result, ms=(time.perf_counter() - started) * 1000)

    def _interpret(
        self, db: Connection, query: Query, corrections: Corrections, where: Condition, mode: Mode, typing: bool
    ) -> tuple[Query, Corrections, Meaning | None, tuple[str, ...]]:
        """The query to run, the corrections to report, the question's meaning, and notes on why that is unknown.

        Nothing is corrected if the question as typed has a meaning that the vault answers.
        """
        if not query.terms:
            return query, Corrections(), None, ()
        corrected = apply_corrections(query, corrections.certain)
        meaning, notes = self._embed_question(db, corrected, mode, typing)
        if corrections.certain and meaning is not None:
            typed_meaning, _ = self._embed_question(db, query, mode, typing)
            if typed_meaning is not None and self._answers_better(db, typed_meaning, meaning, corrections, where):
                return query, corrections.as_suggestions(), typed_meaning, notes
        return corrected, corrections, meaning, notes

    def _answers_better(
        self,
        db: Connection,
        typed_meaning: Meaning,
        corrected_meaning: Meaning,
        corrections: Corrections,
        where: Condition,
    ) -> bool:
        """Whether the typed question finds a better passage than the corrected one: without a corrected word in it, and
        nearer. Where a consonant differs (charge, change), the corrected question's passage must also contain the word
        to win."""
        typed_match, corrected_match = (
            next(iter(self._index.find_by_meaning(meaning.vector, meaning.embedder, where, 1)), None)
            for meaning in (typed_meaning, corrected_meaning)
        )
        if typed_match is None or corrected_match is None or typed_match.score < typed_meaning.floor:
            return False
        corrected_words = keyword_queries.has_words(
            3000, expression([Term(word) for word in corrections.certain.values()])
        )
        with_words = vectors.visible(db, [typed_match.passage_id, corrected_match.passage_id], corrected_words)
        corrected_fits = corrected_match.passage_id in with_words or all(
            same_consonants(fold(word), other) for word, other in corrections.certain.items()
        )
        return typed_match.passage_id not in with_words and (
            not corrected_fits or typed_match.score > corrected_match.score
        )

    def _embed_question(
        self, db: Connection, query: Query, mode: Mode, typing: bool
    ) -> tuple[Meaning | None, tuple[str, ...]]:
        """The meaning of the question if it is to be searched for; otherwise None and notes on why."""
        if mode == "words" or typing:
            return None, ()
        if all(term.phrase for term in query.terms):
            return None, (_WORD_FOR_WORD,) if mode == "meaning" else ()
        embedder = embedders.get_serving(db)
        if self._query_embedder is None or embedder is None:
            return None, _fallback_notes(_unavailable_note(db) if self._query_embedder else None, mode)
        embedded = self._query_embedder.embed(query.question, embedder.model)
        if embedded.vector is None or len(embedded.vector) != embedder.dimension:
            return None, _fallback_notes(embedded.why_not, mode)
        return Meaning(embedded.vector, embedder, self._thresholds.threshold(db, embedder, embedded.vector)), ()

    def _find(
        self, db: Connection, query: Query, where: Condition, page: slice, mode: Mode, meaning: Meaning | None
    ) -> _FoundFiles:
        if meaning is None:
            by_words = self._index.find_by_words(query, where, page.stop)
            return _FoundFiles(
                [_keyword_file(file) for file in by_words.files[page]], by_words.total, by_words.exact, by_words.notes
            )
        nearest, complete = nearest_passages(self._index, meaning.vector, meaning.embedder, where, meaning.floor)
        near = self._near_files(db, query, nearest, where, meaning)
        if mode == "meaning":
            found = _meaning_page(near, page, complete)
        else:
            found = self._find_by_both(db, query, where, page, meaning, nearest, near[: fusion.DEPTH])
        note = self._index.meaning_note(meaning.embedder)
        return replace(found, exact=False, notes=(*found.notes, note)) if note else found

    def _near_files(
        self, db: Connection, query: Query, nearest: Sequence[Match], where: Condition, meaning: Meaning
    ) -> list[fusion.NearFile]:
        """Files by their nearest passage, by their nearest tag or, of pictures, by what they show, best first."""
        embed = self._query_embedder.embed if self._query_embedder else lambda _text, _model: QueryVector(None)
        tagged = self._tag_meanings.files_near(db, meaning.vector, meaning.embedder, where, embed)
        near = add_tagged(fusion.near_files(nearest), tagged, meaning.floor)
        if self._picture_model is None or self._query_embedder is None:
            return near
        pictures = pictures_near(*(db, self._index, self._query_embedder, self._picture_model), query.question, where)
        return add_pictures(near, pictures, meaning.floor)

    def _find_by_both(
        self,
        db: Connection,
        query: Query,
        where: Condition,
        page: slice,
        meaning: Meaning,
        nearest: Sequence[Match],
        near: Sequence[fusion.NearFile],
    ) -> _FoundFiles:
        by_words = self._index.find_by_words(query, where, fusion.DEPTH)
        files = rank_by_both(db, query.terms, by_words.files, near, nearest, meaning)
        more = by_words.total > len(by_words.files)
        if page.stop > len(files) and more:
            shown = {file.file_id for file in files}
            deeper = self._index.find_by_words(query, where, page.stop)
            files += [_keyword_file(file, 0.0) for file in deeper.files if file.file_id not in shown]
        total, exact = _count_total(db, query, where, by_words, near)
        return _FoundFiles(files[page], total, exact, by_words.notes, tuple(file.file_id for file in near))

    def _count_facets(self, db: Connection, query: Query, where: Condition, found: _FoundFiles) -> tuple[Facets, bool]:
        """The facets of all found files; and whether all of these were counted."""
        if query.empty:
            return facets.of_files(db, ()), True
        if not query.terms:
            few = found.all_files
            return (facets.of_all(db, where) if few is None else facets.of_files(db, few)), True
        if found.by_meaning_only:
            return facets.of_files(db, found.near), found.exact
        by_words = self._index.find_by_words(query, where, _FACET_FILES)
        ids = {*found.near, *(file.file_id for file in by_words.files)}
        return facets.of_files(db, ids), by_words.exact and len(by_words.files) == by_words.total


def _filter_hints(db: Connection, query: Query, has_notes: bool) -> tuple[str, ...]:
    """For filters alone that no file meets: that none does, and which of them to leave out."""
    if query.terms or not query.filters:
        return ()
    hints = []
    for relaxed, dropped in without_each_filter(query):
        if relaxed.empty:
            break
        where, _ = conditions_of(db, relaxed)
        count = len(keyword_queries.files_that_meet(db, where, _MAX_COUNTED + 1))
        if count:
            files = f"more than {_MAX_COUNTED}" if count > _MAX_COUNTED else count
            hints.append(f"without {dropped} there {'is 1 file' if count == 1 else f'are {files} files'}")
    if has_notes and not hints:
        return ()  # a note about a filter says it already
    conditions = " and ".join(format_filter(filter_) for filter_ in query.filters)
    return (f"no file meets {conditions}{'; ' if hints else ''}{', '.join(hints)}",)


def _unavailable_note(db: Connection) -> str | None:
    """Why no file can be found by meaning: the embedder was unavailable, or has yet to read the first file."""
    failure = embedding_backlog.last_failure(db)
    if failure is not None:
        return f"not searched by meaning: {failure}"
    return _BEING_READ if embedding_backlog.is_waiting(db) else None


def _fallback_notes(why_not: str | None, mode: Mode) -> tuple[str, ...]:
    """The notes for a question answered by words alone; a search by meaning always gets one."""
    if mode == "meaning":
        return (f"{why_not or _NO_MEANING}; {_BY_WORDS}",)
    return (why_not,) if why_not else ()


def _meaning_page(near: Sequence[fusion.NearFile], page: slice, exact: bool) -> _FoundFiles:
    files = [fusion.FusedFile(file.file_id, file.score, near=file) for file in near]
    return _FoundFiles(files[page], len(files), exact, near=tuple(file.file_id for file in near), by_meaning_only=True)


def _keyword_file(file: RankedFile, score: float | None = None) -> fusion.FusedFile:
    return fusion.FusedFile(file.file_id, file.score if score is None else score, file)


def _count_total(
    db: Connection, query: Query, where: Condition, by_words: KeywordMatches, near: Sequence[fusion.NearFile]
) -> tuple[int, bool]:
    """How many files were found by words or meaning; and whether that is exact."""
    found = {file.file_id for file in by_words.files}
    others = [file for file in near if file.file_id not in found]
    if not others or by_words.total <= len(found):
        return by_words.total + len(others), by_words.exact
    if not by_words.exact or by_words.total > _MAX_COUNTED or any(term.prefix for term in query.terms):
        return max(by_words.total, len(found) + len(others)), False
    with_words = keyword_queries.all_of([where, keyword_queries.has_words(3000, expression(query.terms))])
    further_down = keyword_queries.among(db, [file.file_id for file in others], with_words)
    return by_words.total + len(others) - len(further_down), True
