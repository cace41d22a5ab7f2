"""Words found by Meilisearch: it finds candidates, the database says which may be shown, BM25 brings them in order."""

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
from chyme.search.query.parser import Query, Term, expression, neighbours, plain_word
from chyme.search.ranking.matches import NAME_WEIGHTS, Match, rank
from chyme.search.tables import dictionary, engine_result_checks, keyword_queries
from chyme.search.tables.fts_totals import totals
from chyme.search.tables.keyword_queries import Condition

_LOOKS = (300, 1000, 5000)  # candidates taken, growing while too few of them meet the conditions
_COUNTED = 5000  # passages looked at for a total
_TOGETHER = (12, 8, 6)  # of the rarest words: how many are asked for one by one, in pairs, in threes
_SHORTEST_PREFIX = 3
_TEXT_FIELDS = ("tokens",)

_Text = Mapping[str, Any]  # a document of Meilisearch
_Worth = Mapping[EnginePhrase, float]  # how much it says that something stands in a text; what says most comes first


def find_by_words(
    db: Connection,
    engines: VaultEngines,
    query: Query,
    where: Condition,
    among: Collection[int] | None,
    last: int,
    but: Collection[int],
) -> KeywordMatches:
    """Files with words of the question, best first. `among`: which files meet the condition, if they are few; `but`:
    files that the engine knows too little of."""
    terms = _widened(db, query.terms)
    asked, side_by_side = Counter(engine_phrases(terms)), Counter(engine_phrases(neighbours(query.terms)))
    of_texts, of_names = totals(db, "passage_fts"), totals(db, "file_fts")
    in_texts, in_names, in_pairs = _worths(
        engines.words,
        (engines.passages, of_texts.texts, asked),
        (engines.names, of_names.texts, asked),
        (engines.passages, of_texts.texts, side_by_side),
    )
    for look in _LOOKS if among is None else _LOOKS[1:]:
        texts = _candidates(engines.words, engines.passages, _TEXT_FIELDS, in_texts, among, look)
        names = _candidates(engines.words, engines.names, NAME_FIELDS, in_names, among, look)
        more = max(len(texts), len(names)) >= look or max(len(in_texts), len(in_names)) > _TOGETHER[0]
        texts, names = _known_texts(db, texts, where, but), _known_names(db, names, where, but)
        scored = _scored(names, NAME_FIELDS, NAME_WEIGHTS, in_names, of_names.average_length)
        ranked = rank(
            _matches(texts, in_texts, of_texts.average_length),
            [(name["file_id"], score) for name, score in scored],
            together=_matches(texts, in_pairs, of_texts.average_length),
        )
        if len(ranked) >= last or not more:
            break
    total, exact = len(ranked), not more
    if more:
        at_least, exact = keyword_queries.count_matching(db, expression(terms), where, _COUNTED)
        total = max(total, at_least)
    return KeywordMatches(tuple(ranked[:last]), total, exact)


def _widened(db: Connection, terms: Sequence[Term]) -> list[Term]:
    """Unfinished words with the words they may become: a beginning may be longer than the stem the index knows."""
    wide: list[Term] = []
    for term in terms:
        word = plain_word(term)
        if not term.prefix or word is None:
            wide.append(term)
            continue
        vague = word.isascii() and len(word) < _SHORTEST_PREFIX
        wide += [Term(term.text) if vague else term, *(Term(known) for known in dictionary.find_by_prefix(db, word))]
    return wide


def _worths(words: Meilisearch, *asked: tuple[str, int, Counter[EnginePhrase]]) -> list[_Worth]:
    """What says how much in its index of so many texts, by how rare it is; what does not stand there is left out."""
    questions = [SearchRequest(index, _text([one]), every_word=True) for index, _, each in asked for one in each]
    counts = iter(words.count(questions))
    worths: list[_Worth] = []
    for _, everything, each in asked:
        worth = {one: bm25.weight(everything, count) * each[one] for one in each if (count := next(counts))}
        worths.append(dict(sorted(worth.items(), key=lambda item: -item[1])))
    return worths


def _candidates(
    words: Meilisearch,
    index: str,
    fields: Sequence[str],
    worth: _Worth,
    among: Collection[int] | None,
    look: int,
) -> Sequence[_Text]:
    """Texts with several of the rarest words, then with single ones.

    Meilisearch tells how many words a text has, not how much they say. So it is asked for words one by one, in pairs
    and in threes, what says most first: a text comes with the first question that finds it.
    """
    if not worth or (among is not None and not among):
        return []
    filter_ = None if among is None else f"file_id IN [{', '.join(map(str, among))}]"
    together = _TOGETHER if among is None else _TOGETHER[:1]
    sets = [some for size, most in enumerate(together, 1) for some in combinations(list(worth)[:most], size)]
    asked = [
        SearchRequest(index, _text(some), every_word=True, weight=sum(worth[one] for one in some), filter=filter_)
        for some in sets
        if sum(one.prefix for one in some) <= 1
    ]
    return words.search(sorted(asked, key=lambda one: -one.weight), look, ("id", "file_id", *fields))


def _text(some: Iterable[EnginePhrase]) -> str:
    """A question in Meilisearch's language. Its last word may go on, unless a space follows."""
    some = list(some)
    whole = [f'"{" ".join(one.words)}"' if len(one.words) > 1 else one.words[0] for one in some if not one.prefix]
    unfinished = [" ".join(one.words) for one in some if one.prefix]
    return " ".join([*whole, *unfinished]) + ("" if unfinished else " ")


def _known_texts(db: Connection, texts: Sequence[_Text], where: Condition, but: Collection[int]) -> list[_Text]:
    owners = engine_result_checks.known_passages(db, [_number(text) for text in texts], where)
    return [text for text in texts if owners.get(_number(text)) == text["file_id"] and text["file_id"] not in but]


def _known_names(db: Connection, names: Sequence[_Text], where: Condition, but: Collection[int]) -> list[_Text]:
    known = engine_result_checks.known_files(db, [name["file_id"] for name in names], where)
    return [name for name in names if name["file_id"] in known and name["file_id"] not in but]


def _matches(texts: Sequence[_Text], worth: _Worth, average: float) -> list[Match]:
    scored = _scored(texts, _TEXT_FIELDS, (1.0,), worth, average)
    found = [Match(_number(text), text["file_id"], score) for text, score in scored]
    return sorted(found, key=lambda match: (-match.score, match.passage_id))


def _scored(
    texts: Sequence[_Text], fields: Sequence[str], weights: Sequence[float], worth: _Worth, average: float
) -> list[tuple[_Text, float]]:
    """Those that have something of what was asked for. Meilisearch may find others: it cuts long questions short."""
    if not worth:
        return []
    scores = [bm25.score([text[field].split() for field in fields], weights, worth, average) for text in texts]
    return [(text, score) for text, score in zip(texts, scores, strict=True) if score is not None]


def _number(text: _Text) -> int:
    return int(text["id"][1:])
