"""Turn found files into the hits that people see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from sqlite3 import Connection

from chyme.model import Form, Passage
from chyme.search.match_location import locate_match
from chyme.search.query.parser import Term, plain_word
from chyme.search.ranking.keyword_ranking import PASSAGES_SHOWN
from chyme.search.ranking.word_and_meaning_fusion import FusedFile, NearFile
from chyme.search.results import TAG_REASON, Hit, Piece
from chyme.search.snippets import Snippet, count_terms, cut_key_snippet, cut_snippet, find, find_key_sentence
from chyme.search.tables import dictionary, keyword_queries, passages, vectors
from chyme.search.tables.keyword_queries import FoundFile
from chyme.speech.people.names import Person
from chyme.speech.people.tables import voices
from chyme.text.passages import is_thin

FormOf = Callable[[str], Form]  # what the content of an output is
_LOOK_AHEAD = 3  # passages after a thin one, among which one may say more


@dataclass(frozen=True, slots=True)
class _FoundPassage:
    """A passage, whether it was found by its meaning alone, and whether it is also near if it was found by words."""

    passage: Passage
    by_meaning: bool
    is_near: bool = False


def hits_of(db: Connection, files: Sequence[FusedFile], terms: Sequence[Term], form_of: FormOf) -> list[Hit]:
    """The files as hits, in order, with their best passages; files that are gone are left out."""
    highlighted = _highlight_terms(db, terms)
    known = keyword_queries.files(db, [file.file_id for file in files])
    texts = passages.by_id(db, [id_ for file in files if file.keyword_match for id_ in file.keyword_match.passages])
    semantic = _find_semantic_passages(db, files)
    speakers = voices.speakers_by_file(db, known)
    hits = []
    for file in files:
        if file.file_id in known:
            merged = _merge_passages(
                file, _passages_of(file, texts), _passages_of(file, semantic), highlighted, form_of
            )
            hits.append(
                _hit(db, file, known[file.file_id], merged, highlighted, speakers.get(file.file_id, {}), form_of)
            )
    return hits


def _find_semantic_passages(db: Connection, files: Sequence[FusedFile]) -> dict[int, tuple[int, Passage]]:
    """The passages nearest in meaning; for files that only have thin ones, also the passages that follow."""
    near = [file.near for file in files if file.near]
    known = vectors.by_id(db, [id_ for file in near for id_ in file.passages])
    thin = [file for file in near if all(is_thin(known[id_][1].text) for id_ in file.passages if id_ in known)]
    return known | vectors.by_id(db, [id_ for file in thin for id_ in _following_ids(file)])


def _following_ids(file: NearFile) -> range:
    """The ids of the next passages: the passages of one file have consecutive ids."""
    return range(file.passages[0] + 1, file.passages[0] + 1 + _LOOK_AHEAD) if file.passages else range(0)


def _select_semantic(file: NearFile, passages: Mapping[int, Passage]) -> list[Passage]:
    """The passages of a file, nearest first; thin ones, which are near because of their title only, come last."""
    found = [passages[id_] for id_ in file.passages if id_ in passages]
    if all(is_thin(passage.text) for passage in found):
        found += [passages[id_] for id_ in _following_ids(file) if id_ in passages and passages[id_] not in found]
    return sorted(found, key=lambda passage: is_thin(passage.text))[:PASSAGES_SHOWN]


def _passages_of(file: FusedFile, passages: Mapping[int, tuple[int, Passage]]) -> dict[int, Passage]:
    """The passages of this file: since the search, an id may have been given to a passage of another file."""
    return {id_: passage for id_, (owner, passage) in passages.items() if owner == file.file_id}


def _highlight_terms(db: Connection, terms: Sequence[Term]) -> list[Term]:
    """The terms to highlight: those asked for, and the words that unfinished ones may become."""
    unfinished = [word for term in terms if term.prefix and (word := plain_word(term)) is not None]
    return [*terms, *(Term(known) for word in unfinished for known in dictionary.find_by_prefix(db, word))]


def _merge_passages(
    file: FusedFile,
    texts: Mapping[int, Passage],
    semantic: Mapping[int, Passage],
    terms: Sequence[Term],
    form_of: FormOf,
) -> list[_FoundPassage]:
    """The best passages found by words and by meaning; overlapping ones appear once."""
    keyword_passages = [
        _FoundPassage(texts[id_], False)
        for id_ in (file.keyword_match.passages if file.keyword_match else ())
        if id_ in texts
    ]
    semantic_passages = [
        _FoundPassage(passage, True, is_near=True)
        for passage in (_select_semantic(file.near, semantic) if file.near else ())
    ]
    shown: list[_FoundPassage] = []
    for candidate in chain.from_iterable(zip_longest(keyword_passages, semantic_passages)):
        if candidate is None:
            continue
        duplicate = next((position for position, other in enumerate(shown) if _is_same_text(candidate, other)), None)
        if duplicate is None:
            shown.append(candidate)
        else:  # of the two, the one whose words can be marked
            by_words = candidate if shown[duplicate].by_meaning else shown[duplicate]
            shown[duplicate] = replace(by_words, is_near=True)
    return _order_passages(shown[:PASSAGES_SHOWN], terms, form_of)


def _order_passages(found: Sequence[_FoundPassage], terms: Sequence[Term], form_of: FormOf) -> list[_FoundPassage]:
    """Passages with words of the question before those without, and the text itself before its summaries.

    First comes the best by words, unless another one has as many of the words and is near in meaning too: it answers.
    """
    counts = [max(count_terms(each.passage.text, terms), 0 if each.by_meaning else 1) for each in found]
    groups = [
        (count == 0, form_of(each.passage.source) is Form.SUMMARY) for each, count in zip(found, counts, strict=True)
    ]
    order = sorted(range(len(found)), key=lambda at: (groups[at], at))
    best = order[0] if order else 0
    answer = next(
        (at for at in order if groups[at] == groups[best] and found[at].is_near and counts[at] >= counts[best]), best
    )
    return [found[at] for at in sorted(order, key=lambda at: at != answer)]


def _is_same_text(one: _FoundPassage, other: _FoundPassage) -> bool:
    a, b = one.passage, other.passage
    if one.by_meaning is other.by_meaning or a.source != b.source:
        return False
    return a.place.start < b.place.end and b.place.start < a.place.end


def _hit(
    db: Connection,
    file: FusedFile,
    found: FoundFile,
    merged: Sequence[_FoundPassage],
    terms: Sequence[Term],
    speakers: Mapping[str, Person],
    form_of: FormOf,
) -> Hit:
    pieces = tuple(_piece(db, file.file_id, passage, terms, speakers, form_of) for passage in merged)
    reasons = (
        ("words", file.keyword_match is not None and file.keyword_match.by_words),
        ("name", file.keyword_match is not None and file.keyword_match.by_name),
        ("meaning", file.near is not None and bool(file.near.passages)),
        (f"{TAG_REASON}{file.near.tag if file.near else None}", file.near is not None and file.near.tag is not None),
    )
    return Hit(
        path=found.path,
        title=found.title or found.name,
        kind=found.kind,
        score=file.score,
        why=tuple(reason for reason, holds in reasons if holds) or ("filter",),
        snippet=pieces[0].snippet if pieces else _snippet_of_name(found, terms, speakers),
        place=pieces[0].place if pieces else None,
        passages=pieces,
        date=found.date,
        tags=found.tags,
        person=pieces[0].person if pieces else None,
    )


def _piece(
    db: Connection,
    file_id: int,
    found: _FoundPassage,
    terms: Sequence[Term],
    speakers: Mapping[str, Person],
    form_of: FormOf,
) -> Piece:
    passage = found.passage
    key_sentence = find_key_sentence(passage.text) if found.by_meaning else None
    place = locate_match(db, file_id, passage, terms, form_of(passage.source), key_sentence)
    snippet = cut_key_snippet(passage.text, terms) if found.by_meaning else cut_snippet(passage.text, terms)
    person = speakers.get(place.speaker or "")
    return Piece(passage.source, snippet, place, person.name if person else None, form_of(passage.source), passage)


def _snippet_of_name(found: FoundFile, terms: Sequence[Term], speakers: Mapping[str, Person]) -> Snippet:
    """The snippet of a file found by its name alone: the first of its fields that contains a term."""
    speaker_names = ", ".join(dict.fromkeys(person.name for person in speakers.values() if person.name))
    texts = (found.summary, found.title, ", ".join(found.tags), found.name, speaker_names)
    known = [text for text in texts if text]
    return cut_snippet(next((text for text in known if find(text, terms)), known[0]), terms)
