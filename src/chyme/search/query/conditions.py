"""Turn the filters of a question into conditions on files, with notes about those that cannot be met."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sqlite3 import Connection

from chyme.errors import UsageError
from chyme.model import Kind
from chyme.search.query.parser import Query, Term, date_range, expression
from chyme.search.tables import keyword_queries
from chyme.search.tables.keyword_queries import Condition
from chyme.speech.people.names import find_by_name, no_match_message, parse_person_number
from chyme.speech.people.tables import people
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tables import tags
from chyme.understanding.tags.names import parse_typed_tag, resolve_tag

_Result = tuple[Condition | None, str | None]  # the condition, and a note about it

_KINDS = {
    "picture": "image", "photo": "image", "images": "image", "link": "url", "links": "url", "web": "url",
    "note": "text", "notes": "text", "documents": "document", "videos": "video", "movie": "video", "sound": "audio",
}  # fmt: skip
_STATES = {
    "processing": "processing", "pending": "processing", "stale": "processing", "completed": "completed",
    "done": "completed", "failed": "failed", "needs-classification": "needs-classification",
}  # fmt: skip


def conditions_of(db: Connection, query: Query) -> tuple[Condition, tuple[str, ...]]:
    """One condition for all filters, required phrases and excluded words; and notes for the user."""
    conditions: list[Condition] = []
    notes: list[str] = []
    for number, filter_ in enumerate(query.filters):
        condition, note = _PARSERS[filter_.field](db, number, filter_.value)
        if condition is not None:
            conditions.append(keyword_queries.negate(condition) if filter_.negated else condition)
        if note:
            notes.append(note)
    for number, term in enumerate(_required_phrases(query), 1000):
        conditions.append(keyword_queries.has_words(number, expression([term])))
    if query.excluded:
        conditions.append(keyword_queries.negate(keyword_queries.has_words(2000, expression(query.excluded))))
    return keyword_queries.all_of(conditions), tuple(notes)


def is_selective(query: Query) -> bool:
    """Whether few files are likely to meet the conditions, so that it pays to look these up before scoring."""
    return any(not filter_.negated for filter_ in query.filters) or bool(_required_phrases(query))


def _required_phrases(query: Query) -> list[Term]:
    """Quoted phrases, which the file must contain; a single one needs no condition, since the match implies it."""
    return [term for term in query.terms if term.phrase] if query.phrases_required and len(query.terms) > 1 else []


def _kind(db: Connection, number: int, value: str) -> _Result:
    """A kind, or else a file name extension; with a note only if no file has it."""
    typed = value.lower()
    kind = _KINDS.get(typed, typed)
    if kind in tuple(Kind):
        return keyword_queries.has_kind(number, kind), None
    ending = keyword_queries.has_ending(number, typed)
    if keyword_queries.files_that_meet(db, keyword_queries.all_of([ending]), 1):
        return ending, None
    return ending, f"{typed} is no kind of file; searched for names ending in .{typed}"


def _date(_db: Connection, number: int, value: str) -> _Result:
    span = date_range(value)
    if span is None:
        return None, f"date:{value} is no date; write date:2024, date:2024-03 or date:2023..2024"
    return keyword_queries.is_dated_between(number, *span), None


def _state(_db: Connection, number: int, value: str) -> _Result:
    state = _STATES.get(value.lower())
    if state is None:
        return None, f"status:{value} is unknown; known are {', '.join(sorted(set(_STATES.values())))}"
    note = "stale documents are found under status:processing" if value.lower() == "stale" else None
    return keyword_queries.in_state(number, state), note


def _person(db: Connection, number: int, value: str) -> _Result:
    """People by number, whole name, or a word of it. An unknown name matches no file."""
    known = people.list_named(db)
    found = {person.id for person in find_by_name(value, known)}
    person_id = parse_person_number(value)
    if person_id is not None and people.by_id(db, person_id) is not None:
        found.add(person_id)
    return keyword_queries.has_speaker(number, sorted(found)), None if found else no_match_message(value, known)


def _tag(db: Connection, number: int, value: str) -> _Result:
    """What `chyme tags show` finds: the tag as written, or else spelt differently; also by a former name."""
    try:
        typed = parse_typed_tag(value)
    except UsageError:
        return keyword_queries.has_tag(number, [value]), None
    found = resolve_tag(typed, tags.in_use(db), tags.rules(db))
    renamed = comparison_key(found[0]) != comparison_key(typed)
    return keyword_queries.has_tag(
        number, found
    ), f"“{typed}” became “{found[0]}”; searched for that" if renamed else None


def _name_filter(column: str, _db: Connection, number: int, value: str) -> _Result:
    term = Term(value.strip("*"), phrase=True, prefix=value.endswith("*"))
    return keyword_queries.is_named(number, expression([term], column)), None


_PARSERS: dict[str, Callable[[Connection, int, str], _Result]] = {
    "person": _person,
    "tag": _tag,
    "kind": _kind,
    "date": _date,
    "status": _state,
    "ext": lambda _db, number, value: (keyword_queries.has_ending(number, value.lstrip(".")), None),
    "folder": lambda _db, number, value: (keyword_queries.in_folder(number, value), None),
    "name": partial(_name_filter, "name"),
    "title": partial(_name_filter, "title"),
}
