"""Keyword search with Meilisearch: it finds candidates, the database decides which may be shown, BM25 orders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from sqlite3 import Connection
from typing import Any

from chyme.search.engines import bm25
from chyme.search.engines.meilisearch import Meilisearch, SearchRequest
from chyme.search.engines.vault_engines import NAME_FIELDS, VaultEngines
from chyme.search.engines.word_encoding import EnginePhrase, engine_phrases
from chyme.search.index import KeywordMatches
from chyme.search.query.parser import Query, expression, neighbours
from chyme.search.ranking.keyword_ranking import NAME_WEIGHTS, Match, rank
from chyme.search.tables import dictionary, engine_entries, keyword_queries
from chyme.search.tables.keyword_queries import Condition
from chyme.search.tables.passages import totals

_CANDIDATE_LIMITS = (300, 1000, 5000)  # candidates to fetch, growing while too few of them meet the conditions
_MAX_COUNTED = 5000  # passages read for a total
_COMBINED_WORDS = (12, 8, 6)  # how many of the rarest words are asked for one by one, in pairs, in threes
_TEXT_FIELDS = ("tokens",)

_Document = Mapping[str, Any]  # a document of Meilisearch
_Weights = Mapping[EnginePhrase, float]  # how much each phrase contributes to a score; the highest first


def find_by_words(
    db: Connection,
    engines: VaultEngines,
    query: Query,
    where: Condition,
    among: Collection[int] | None,
    last: int,
    but: Collection[int],
) -> KeywordMatches:
    """Files with words of the question, best first. `among`: the files that meet the condition, if they are few; `but`:
    files whose present state the engine does not have."""
    terms = dictionary.expand_prefixes(db, query.terms)
    phrases, adjacent = Counter(engine_phrases(terms)), Counter(engine_phrases(neighbours(query.terms)))
    text_totals, name_totals = totals(db, "passage_fts"), totals(db, "file_fts")
    text_weights, name_weights, adjacent_weights = _phrase_weights(
        engines.words,
        (engines.passages, text_totals.texts, phrases),
        (engines.names, name_totals.texts, phrases),
        (engines.passages, text_totals.texts, adjacent),
    )
    for limit in _CANDIDATE_LIMITS if among is None else _CANDIDATE_LIMITS[1:]:
        texts = _candidates(engines.words, engines.passages, _TEXT_FIELDS, text_weights, among, limit)
        names = _candidates(engines.words, engines.names, NAME_FIELDS, name_weights, among, limit)
        more = max(len(texts), len(names)) >= limit or max(len(text_weights), len(name_weights)) > _COMBINED_WORDS[0]
        texts, names = _known_texts(db, texts, where, but), _known_names(db, names, where, but)
        scored = _score_documents(names, NAME_FIELDS, NAME_WEIGHTS, name_weights, name_totals.average_length)
        ranked = rank(
            _matches(texts, text_weights, text_totals.average_length),
            [(name["file_id"], score) for name, score in scored],
            together=_matches(texts, adjacent_weights, text_totals.average_length),
        )
        if len(ranked) >= last or not more:
            break
    total, exact = len(ranked), not more
    if more:
        counted, exact = keyword_queries.count_matching(db, expression(terms), where, _MAX_COUNTED)
        total = max(total, counted)
    return KeywordMatches(tuple(ranked[:last]), total, exact)


def _phrase_weights(words: Meilisearch, *indexes: tuple[str, int, Counter[EnginePhrase]]) -> list[_Weights]:
    """The weights of the phrases in their index, by how rare they are; phrases that are not in it are left out."""
    requests = [SearchRequest(index, _format_query([phrase])) for index, _, phrases in indexes for phrase in phrases]
    counts = iter(words.count(requests))
    weights: list[_Weights] = []
    for _, texts, phrases in indexes:
        index_weights = {
            phrase: bm25.weight(texts, count) * phrases[phrase] for phrase in phrases if (count := next(counts))
        }
        weights.append(dict(sorted(index_weights.items(), key=lambda item: -item[1])))
    return weights


def _candidates(
    words: Meilisearch, index: str, fields: Sequence[str], weights: _Weights, among: Collection[int] | None, limit: int
) -> Sequence[_Document]:
    """Texts with several of the rarest words, then with single ones.

    Meilisearch knows how many words a text has, not how much they contribute. So it is asked for words one by one, in
    pairs and in threes, by falling weight: a text is returned for the first question that finds it.
    """
    if not weights or (among is not None and not among):
        return []
    filter_ = None if among is None else f"file_id IN [{', '.join(map(str, among))}]"
    max_words = _COMBINED_WORDS if among is None else _COMBINED_WORDS[:1]
    combinations_ = [
        phrases
        for size, words_used in enumerate(max_words, 1)
        for phrases in combinations(list(weights)[:words_used], size)
    ]
    requests = [
        SearchRequest(index, _format_query(phrases), weight=sum(weights[phrase] for phrase in phrases), filter=filter_)
        for phrases in combinations_
        if sum(phrase.prefix for phrase in phrases) <= 1
    ]
    return words.search(sorted(requests, key=lambda request: -request.weight), limit, ("id", "file_id", *fields))


def _format_query(phrases: Iterable[EnginePhrase]) -> str:
    """A question in Meilisearch's syntax. Its last word is a prefix unless a space follows."""
    phrases = list(phrases)
    whole = [
        f'"{" ".join(phrase.words)}"' if len(phrase.words) > 1 else phrase.words[0]
        for phrase in phrases
        if not phrase.prefix
    ]
    unfinished = [" ".join(phrase.words) for phrase in phrases if phrase.prefix]
    return " ".join([*whole, *unfinished]) + ("" if unfinished else " ")


def _known_texts(db: Connection, texts: Sequence[_Document], where: Condition, but: Collection[int]) -> list[_Document]:
    owners = engine_entries.known_passages(db, [_passage_id(text) for text in texts], where)
    return [text for text in texts if owners.get(_passage_id(text)) == text["file_id"] and text["file_id"] not in but]


def _known_names(db: Connection, names: Sequence[_Document], where: Condition, but: Collection[int]) -> list[_Document]:
    known = engine_entries.known_files(db, [name["file_id"] for name in names], where)
    return [name for name in names if name["file_id"] in known and name["file_id"] not in but]


def _matches(texts: Sequence[_Document], weights: _Weights, average: float) -> list[Match]:
    scored = _score_documents(texts, _TEXT_FIELDS, (1.0,), weights, average)
    found = [Match(_passage_id(text), text["file_id"], score) for text, score in scored]
    return sorted(found, key=lambda match: (-match.score, match.passage_id))


def _score_documents(
    texts: Sequence[_Document],
    fields: Sequence[str],
    field_weights: Sequence[float],
    phrase_weights: _Weights,
    average: float,
) -> list[tuple[_Document, float]]:
    """The texts that contain a phrase. Meilisearch may return others: it truncates long questions."""
    if not phrase_weights:
        return []
    scores = [
        bm25.score([text[field].split() for field in fields], field_weights, phrase_weights, average) for text in texts
    ]
    return [(text, score) for text, score in zip(texts, scores, strict=True) if score is not None]


def _passage_id(text: _Document) -> int:
    return int(text["id"][1:])
