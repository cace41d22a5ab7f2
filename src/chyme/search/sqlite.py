"""Keyword search in the vault's own database."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from sqlite3 import Connection

from chyme.decide.narrow import ENOUGH, MOST_SCORED, Counted, narrowed
from chyme.decide.people import Person
from chyme.decide.query import Query, Term, corrected, expression, parse, plain_word
from chyme.decide.rank import Ranked, rank
from chyme.decide.snippet import Snippet, cut_snippet, find
from chyme.decide.spelling import correctable, lookups, nearest
from chyme.model import Passage
from chyme.search.conditions import conditions_of, selective
from chyme.search.pinpoint import pinpointed
from chyme.search.result import Hit, Piece, SearchResult
from chyme.store import dictionary, matches, passages, voices
from chyme.store.matches import Condition, Found, Scope

_QUICK_LOOK, _THOROUGH_LOOK = 400, 5000
_ONLY_NEWEST = "these words stand almost everywhere; only the newest passages were compared"
_COUNTED = 5000  # passages looked at for a total; beyond that it is "at least"
_TRIED_CORRECTIONS, _FREQUENT = 12, 200
_SUMMARIES = ("speech-recognition-summary", "url-crawl-summary")
_SHORTEST_PREFIX = 3  # two letters begin a good part of all words there are


class SqliteIndex:
    """An `Index` over passages and names, both written in the transaction of the digest that made them."""

    def __init__(self, read: Callable[[], Connection], most_scored: int = MOST_SCORED) -> None:
        self._read = read
        self._most_scored = most_scored

    def search(self, text: str, *, limit: int = 20, offset: int = 0, typing: bool = False) -> SearchResult:
        """Files that answer, best first; each with its best passages."""
        began = time.perf_counter()
        db = self._read()
        query = parse(text, typing=typing)
        instead = _corrections(db, query.terms)
        query = corrected(query, instead)
        where, notes = conditions_of(db, query)
        if query.terms:
            hits, total, exact, more_notes = _matching(
                db, query, where, slice(offset, offset + limit), self._most_scored
            )
            notes += more_notes
        elif query.empty:
            hits, total, exact = [], 0, True
        else:
            ids = matches.listed(db, limit, offset, where)
            hits = _hits(db, [Ranked(file_id, 0.0, (), False, False) for file_id in ids], ())
            total, exact = matches.count_listed(db, where), True
        ms = (time.perf_counter() - began) * 1000
        return SearchResult(tuple(hits), total, exact, ms, instead, query.notes + notes)


def _matching(
    db: Connection, query: Query, where: Condition, page: slice, most_scored: int
) -> tuple[list[Hit], int, bool, tuple[str, ...]]:
    terms = _widened(db, query.terms, most_scored)
    asked = expression(terms)
    scope = _scope(db, terms, most_scored)
    look = _QUICK_LOOK if page.stop <= _QUICK_LOOK // 4 else _THOROUGH_LOOK
    among = selective(query)
    if not among:
        found, more = matches.best_passages(db, scope, look, where)
        ranked = rank(found, matches.names(db, asked, look, where))
        among = more and len(ranked) < page.stop and (bool(query.excluded or query.filters) or look < _THOROUGH_LOOK)
    if among:
        look, scope = _THOROUGH_LOOK, Scope(scope.expression)
        found = matches.best_passages_among(db, scope, look, where)
        ranked = rank(found, matches.names(db, asked, look, where))
        more = len(found) == look
    total, exact = len(ranked), not more and scope == Scope(asked)
    if not exact:
        counted, exact = matches.count_matching(db, asked, where, _COUNTED)
        total = max(total, counted)
    notes = (_ONLY_NEWEST,) if scope.since is not None else ()
    return _hits(db, ranked[page], terms), total, exact, notes


def _scope(db: Connection, terms: Sequence[Term], most: int) -> Scope:
    """Which passages to score: all that match, unless these are too many."""
    counted = [Counted(term, matches.frequency(db, expression([term]))[0]) for term in terms]
    if sum(one.passages for one in counted) <= most:
        return Scope(expression(terms))
    *preferred, last = narrowed(counted, matches.count_passages(db), most)
    chosen = next((one for one in preferred if matches.frequency(db, one, ENOUGH)[0] == ENOUGH), last)
    return Scope(chosen, matches.newest(db, chosen, most))


def _widened(db: Connection, terms: Sequence[Term], most: int) -> list[Term]:
    """Unfinished words with the words they may become: a beginning may be longer than the stem the index knows."""
    wide: list[Term] = []
    for term in terms:
        word = plain_word(term)
        if not term.prefix or word is None:
            wide.append(term)
            continue
        vague = word.isascii() and (
            len(word) < _SHORTEST_PREFIX or matches.frequency(db, expression([term]), most + 1)[0] > most
        )
        wide += [Term(term.text) if vague else term, *(Term(known) for known in dictionary.beginning_with(db, word))]
    return wide


def _corrections(db: Connection, terms: Sequence[Term]) -> dict[str, str]:
    """For words that stand nowhere: the nearest word that stands somewhere, the more frequent one of equals."""
    instead: dict[str, str] = {}
    for term in terms:
        word = plain_word(term)
        if word is None or not correctable(word) or any(matches.frequency(db, expression([term]), 1)):
            continue
        if term.prefix and dictionary.beginning_with(db, word, 1):
            continue
        near = nearest(word, dictionary.spelt_like(db, lookups(word)))[:_TRIED_CORRECTIONS]
        counted = [
            (-errors, sum(matches.frequency(db, expression([Term(known)]), _FREQUENT)), -place, known)
            for place, (errors, known) in enumerate(near)
        ]
        standing = [candidate for candidate in counted if candidate[1]]
        if standing:
            instead[term.text] = max(standing)[-1]
    return instead


def _hits(db: Connection, ranked: Sequence[Ranked], terms: Sequence[Term]) -> list[Hit]:
    files = matches.files(db, [file.file_id for file in ranked])
    texts = passages.by_id(db, [passage for file in ranked for passage in file.passages])
    who = voices.speaking(db, files)
    return [
        _hit(db, file, files[file.file_id], texts, terms, who.get(file.file_id, {}))
        for file in ranked
        if file.file_id in files
    ]


def _hit(
    db: Connection,
    ranked: Ranked,
    found: Found,
    texts: dict[int, Passage],
    terms: Sequence[Term],
    who: Mapping[str, Person],
) -> Hit:
    found_in = [texts[id_] for id_ in ranked.passages if id_ in texts]
    found_in.sort(key=lambda passage: passage.source in _SUMMARIES)  # a hit opens where it was said, if it was said
    pieces = tuple(_piece(db, ranked, passage, terms, who) for passage in found_in)
    why = tuple(reason for reason, holds in (("words", ranked.by_words), ("name", ranked.by_name)) if holds)
    return Hit(
        path=found.path,
        title=found.title or found.name,
        kind=found.kind,
        score=ranked.score,
        why=why or ("filter",),
        snippet=pieces[0].snippet if pieces else _snippet_of_name(found, terms, who),
        place=pieces[0].place if pieces else None,
        passages=pieces,
        date=found.date,
        tags=found.tags,
        person=pieces[0].person if pieces else None,
    )


def _piece(db: Connection, ranked: Ranked, passage: Passage, terms: Sequence[Term], who: Mapping[str, Person]) -> Piece:
    place = pinpointed(db, ranked.file_id, passage, terms)
    person = who.get(place.speaker or "")
    return Piece(passage.source, cut_snippet(passage.text, terms), place, person.name if person else None)


def _snippet_of_name(found: Found, terms: Sequence[Term], who: Mapping[str, Person]) -> Snippet:
    """For a file found by its name alone: whatever of it was asked for."""
    heard = ", ".join(dict.fromkeys(person.name for person in who.values() if person.name))
    texts = (found.summary, found.title, ", ".join(found.tags), found.name, heard)
    known = [text for text in texts if text]
    telling = next((text for text in known if find(text, terms)), known[0])
    return cut_snippet(telling, terms)
