"""Rank files by words and by meaning together: a first time, and again by what the best files of the first time say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.search.passage_hashes import KEYWORD
from chyme.search.query.parser import Term, expression
from chyme.search.ranking import relevance_feedback as feedback
from chyme.search.ranking import word_and_meaning_fusion as fusion
from chyme.search.ranking.keyword_ranking import PASSAGES_SHOWN, Match, RankedFile
from chyme.search.ranking.neighbour_smoothing import SMOOTHED, smooth_scores
from chyme.search.ranking.relevance_feedback import mean_direction
from chyme.search.ranking.word_and_meaning_fusion import FusedFile, NearFile
from chyme.search.searchable_texts import name_terms
from chyme.search.snippets import find
from chyme.search.tables import keyword_queries, passages, vectors
from chyme.search.tables.embedders import Embedder

_FIRST_PASSAGES = 3  # of a file that was found by words or a tag alone: how near these are says how near the file is


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a question, and how near to it a passage must be."""

    vector: tuple[float, ...]
    embedder: Embedder
    floor: float


def rank_by_both(
    db: Connection,
    terms: Sequence[Term],
    by_words: Sequence[RankedFile],
    near: Sequence[NearFile],
    nearest: Sequence[Match],
    meaning: Meaning,
) -> list[FusedFile]:
    """The files of both lists in one order, best first; `nearest` are the passages by which `near` were found."""
    coverage = _coverage(db, terms, by_words[0]) if by_words and near else 1.0
    if not near or _count_files(by_words, near) < feedback.MIN_LIST:
        return fusion.fuse(by_words, near, meaning.floor, fusion.words_weight(coverage))
    weight = fusion.words_weight(coverage, in_long_list=True)
    first = fusion.fuse(by_words, near, meaning.floor, weight, name_weight=fusion.NAME_WEIGHT)
    compared = _compare_with_best(db, first, nearest, meaning)
    second = fusion.fuse(by_words, near, meaning.floor, weight, compared.cosines, fusion.NAME_WEIGHT)
    third = feedback.add_word_scores(second, _shared_words(db, terms, first, second[: feedback.RERANKED]))
    wanted = {file.file_id for file in third[:SMOOTHED]}
    return smooth_scores(third, {id_: mean_direction(rows) for id_, rows in compared.vectors.items() if id_ in wanted})


def _count_files(by_words: Sequence[RankedFile], near: Sequence[NearFile]) -> int:
    return len({file.file_id for file in by_words} | {file.file_id for file in near})


def _coverage(db: Connection, terms: Sequence[Term], best: RankedFile) -> float:
    """How much of the question the best file by words covers with its best passages and its name."""
    texts = [passage.text for _, passage in passages.by_id(db, best.passages).values()]
    for file in keyword_queries.files(db, [best.file_id]).values():
        name_fields = name_terms(file.name, file.title, file.tags, file.summary)
        texts += [name_fields.name, name_fields.title, name_fields.tags, name_fields.summary]
    term_hits = [
        (keyword_queries.count_matching_passages(db, expression([term])), any(find(text, [term]) for text in texts))
        for term in terms
    ]
    return fusion.query_coverage(term_hits, keyword_queries.count_passages(db))


@dataclass(frozen=True, slots=True)
class _Compared:
    """Found files by their passages, those nearest to the question."""

    cosines: dict[int, float]  # by file: how near it is to the question, after that was moved towards the best files
    vectors: dict[int, list[bytes]]  # by file, of the passages nearest to the question as it was asked


def _compare_with_best(
    db: Connection, first: Sequence[FusedFile], nearest: Sequence[Match], meaning: Meaning
) -> _Compared:
    """Compare all files with the question as it is when moved towards the best of them."""
    owners = {match.passage_id: match.file_id for match in nearest}
    known = vectors.vectors_by_id(db, owners)
    others = [file.file_id for file in first if file.near is None or not file.near.passages]
    for id_, file_id, vector in vectors.first_of_files(db, meaning.embedder.id, others, _FIRST_PASSAGES):
        owners[id_], known[id_] = file_id, vector
    asked = feedback.nearest_of_files(feedback.cosines(meaning.vector, known), owners)
    best = [file for file in first[: feedback.FEEDBACK_FILES] if file.file_id in asked]
    weights = feedback.feedback_weights([file.score for file in best])
    feedback_vectors = [known[asked[file.file_id][0][0]] for file in best]
    moved = feedback.move_question(meaning.vector, list(zip(feedback_vectors, weights, strict=True)))
    after = feedback.nearest_of_files(feedback.cosines(moved, known), owners)
    otherwise_near = {
        file.file_id: file.near.score
        for file in first
        if file.near is not None and (file.near.tag is not None or file.near.pictured)
    }
    cosines = {file.file_id: feedback.nearness(after[file.file_id]) for file in first if file.file_id in after}
    cosines |= {file_id: max(score, cosines.get(file_id, score)) for file_id, score in otherwise_near.items()}
    return _Compared(cosines, {file_id: [known[id_] for id_, _ in passages] for file_id, passages in asked.items()})


def _shared_words(
    db: Connection, terms: Sequence[Term], first: Sequence[FusedFile], files: Sequence[FusedFile]
) -> dict[int, float]:
    """By file, how much it has of the rarest words of the best files."""
    best = first[: feedback.WORD_FILES]
    shown = _keyword_passages(db, [*best, *files])
    by_file: dict[int, int] = {}
    for passage_id, file_id in shown.items():
        by_file.setdefault(file_id, passage_id)
    texts = passages.by_id(db, [by_file[file.file_id] for file in best if file.file_id in by_file])
    scores = {file.file_id: file.score for file in best}
    frequent = feedback.frequent_words(
        [(passage.text, scores[file_id]) for file_id, passage in texts.values() if file_id in scores],
        [term.text for term in terms],
    )
    count = keyword_queries.count_passages(db)
    limit = feedback.rarity_limit(count)
    counted = [(word, keyword_queries.count_matching_passages(db, _match(word), limit + 1)) for word in frequent]
    chosen = feedback.choose_words(counted, count)
    return feedback.count_shared_words(
        [(word, keyword_queries.matching_passages(db, _match(word), limit)) for word in chosen], shown
    )


def _match(word: feedback.FeedbackWord) -> str:
    return expression([Term(word.word)])


def _keyword_passages(db: Connection, files: Sequence[FusedFile]) -> dict[int, int]:
    """Passages of these files in the keyword index, with their files: the best by words, or else the first ones."""
    known = {id_: file.file_id for file in files if file.keyword_match for id_ in file.keyword_match.passages}
    others = {file.file_id for file in files} - set(known.values())
    return known | passages.first_of_files(db, others, KEYWORD, PASSAGES_SHOWN)
