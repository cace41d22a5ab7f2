"""Turn files that were found into what people are shown of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from sqlite3 import Connection

from chyme.model import Passage
from chyme.search.match_location import locate_match
from chyme.search.query.parser import Term, plain_word
from chyme.search.ranking.fusion import FusedFile, NearFile
from chyme.search.ranking.matches import PASSAGES_SHOWN
from chyme.search.results import Hit, Piece
from chyme.search.snippets import Snippet, cut_key_snippet, cut_snippet, find, find_key_sentence
from chyme.search.tables import dictionary, keyword_queries, passages, vectors
from chyme.search.tables.keyword_queries import FoundFile
from chyme.speech.people.names import Person
from chyme.speech.people.tables import voices
from chyme.text.searchable_text import is_thin

_LOOK_AHEAD = 3  # passages behind a thin one, of which one may say more
_SUMMARIES = ("speech-recognition-summary", "url-crawl-summary")


@dataclass(frozen=True, slots=True)
class _Bit:
    """A passage, and whether it was found for its meaning."""

    passage: Passage
    meant: bool


def hits_of(db: Connection, files: Sequence[FusedFile], terms: Sequence[Term]) -> list[Hit]:
    """The files as hits, in order, with their best passages; those that are gone are left out."""
    asked = _marked(db, terms)
    known = keyword_queries.files(db, [file.file_id for file in files])
    texts = passages.by_id(db, [id_ for file in files if file.worded for id_ in file.worded.passages])
    meant = _meant(db, files)
    who = voices.speakers_by_file(db, known)
    hits = []
    for file in files:
        if file.file_id in known:
            bits = _bits(file, _of(file, texts), _of(file, meant))
            hits.append(_hit(db, file, known[file.file_id], bits, asked, who.get(file.file_id, {})))
    return hits


def _meant(db: Connection, files: Sequence[FusedFile]) -> dict[int, tuple[int, Passage]]:
    """The passages near to what was meant; and those that come next where a file has but thin ones."""
    near = [file.near for file in files if file.near]
    known = vectors.by_id(db, [id_ for file in near for id_ in file.passages])
    thin = [file for file in near if all(is_thin(known[id_][1].text) for id_ in file.passages if id_ in known)]
    return known | vectors.by_id(db, [id_ for file in thin for id_ in _next(file)])


def _next(file: NearFile) -> range:
    """The ids of a file's passages follow each other."""
    return range(file.passages[0] + 1, file.passages[0] + 1 + _LOOK_AHEAD) if file.passages else range(0)


def _telling(file: NearFile, meant: Mapping[int, Passage]) -> list[Passage]:
    """The passages of a file, nearest first. A thin one is near for its title, and gives way to one that says why."""
    found = [meant[id_] for id_ in file.passages if id_ in meant]
    if all(is_thin(passage.text) for passage in found):
        found += [meant[id_] for id_ in _next(file) if id_ in meant and meant[id_] not in found]
    return sorted(found, key=lambda passage: is_thin(passage.text))[:PASSAGES_SHOWN]


def _of(file: FusedFile, passages: Mapping[int, tuple[int, Passage]]) -> dict[int, Passage]:
    """Those of this file: since it was found, an id may have been given to a passage of another."""
    return {id_: passage for id_, (owner, passage) in passages.items() if owner == file.file_id}


def _marked(db: Connection, terms: Sequence[Term]) -> list[Term]:
    """What to mark: the words asked for, and those that unfinished ones may become."""
    unfinished = [word for term in terms if term.prefix and (word := plain_word(term)) is not None]
    return [*terms, *(Term(known) for word in unfinished for known in dictionary.find_by_prefix(db, word))]


def _bits(file: FusedFile, texts: Mapping[int, Passage], meant: Mapping[int, Passage]) -> list[_Bit]:
    """The passages of both kinds by turns, what overlaps only once.

    One with the words comes first, and of these one where it was said: a hit opens there, not in a summary.
    """
    by_words = [_Bit(texts[id_], False) for id_ in (file.worded.passages if file.worded else ()) if id_ in texts]
    by_meaning = [_Bit(passage, True) for passage in (_telling(file.near, meant) if file.near else ())]
    shown: list[_Bit] = []
    for bit in chain.from_iterable(zip_longest(by_words, by_meaning)):
        if bit is None:
            continue
        same = next((at for at, other in enumerate(shown) if _overlap(bit, other)), None)
        if same is None:
            shown.append(bit)
        elif not bit.meant and shown[same].meant:
            shown[same] = bit  # its words can be marked
    said_first = sorted(shown[:PASSAGES_SHOWN], key=lambda bit: bit.passage.source in _SUMMARIES)
    with_words = next((bit for bit in said_first if not bit.meant), None)
    return sorted(said_first, key=lambda bit: bit is not with_words)


def _overlap(one: _Bit, other: _Bit) -> bool:
    a, b = one.passage, other.passage
    if one.meant is other.meant or a.source != b.source:
        return False
    return a.place.start < b.place.end and b.place.start < a.place.end


def _hit(
    db: Connection,
    file: FusedFile,
    found: FoundFile,
    bits: Sequence[_Bit],
    terms: Sequence[Term],
    who: Mapping[str, Person],
) -> Hit:
    pieces = tuple(_piece(db, file.file_id, bit, terms, who) for bit in bits)
    reasons = (
        ("words", file.worded is not None and file.worded.by_words),
        ("name", file.worded is not None and file.worded.by_name),
        ("meaning", file.near is not None),
    )
    return Hit(
        path=found.path,
        title=found.title or found.name,
        kind=found.kind,
        score=file.score,
        why=tuple(reason for reason, holds in reasons if holds) or ("filter",),
        snippet=pieces[0].snippet if pieces else _snippet_of_name(found, terms, who),
        place=pieces[0].place if pieces else None,
        passages=pieces,
        date=found.date,
        tags=found.tags,
        person=pieces[0].person if pieces else None,
    )


def _piece(db: Connection, file_id: int, bit: _Bit, terms: Sequence[Term], who: Mapping[str, Person]) -> Piece:
    passage = bit.passage
    told = find_key_sentence(passage.text) if bit.meant else None
    place = locate_match(db, file_id, passage, terms, told)
    snippet = cut_key_snippet(passage.text, terms) if bit.meant else cut_snippet(passage.text, terms)
    person = who.get(place.speaker or "")
    return Piece(passage.source, snippet, place, person.name if person else None)


def _snippet_of_name(found: FoundFile, terms: Sequence[Term], who: Mapping[str, Person]) -> Snippet:
    """For a file found by its name alone: whatever of it was asked for."""
    heard = ", ".join(dict.fromkeys(person.name for person in who.values() if person.name))
    texts = (found.summary, found.title, ", ".join(found.tags), found.name, heard)
    known = [text for text in texts if text]
    return cut_snippet(next((text for text in known if find(text, terms)), known[0]), terms)
