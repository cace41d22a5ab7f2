"""The result of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from chyme.model import Form, Kind, Passage, Place
from chyme.search.snippets import Snippet, to_plain
from chyme.search.tables.facets import Facets

TAG_REASON = "tag: "  # begins the reason of a hit that has a tag which means something near to the question


@dataclass(frozen=True, slots=True)
class Piece:
    """One passage of a hit."""

    source: str
    snippet: Snippet
    place: Place
    person: str | None = None  # the name of the speaker there, if it is known
    form: Form = Form.DATA  # what the source is
    passage: Passage | None = None  # the whole of it


@dataclass(frozen=True, slots=True)
class Hit:
    """One matching file with its best passages; `snippet` and `place` are those of the best."""

    path: str
    title: str
    kind: Kind
    score: float
    why: tuple[str, ...]  # words, name, meaning, tag: with its name; filter if the question has only filters
    snippet: Snippet
    place: Place | None
    passages: tuple[Piece, ...] = ()
    date: str | None = None
    tags: tuple[str, ...] = ()
    person: str | None = None  # the speaker at `place`
    copies: tuple[str, ...] = ()  # other files with the same content, which this hit represents


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one page, and facts about the whole result."""

    hits: tuple[Hit, ...]
    total: int
    total_is_exact: bool
    ms: float
    corrected: Mapping[str, str]  # typed word → word searched instead
    notes: tuple[str, ...] = ()
    facets: Facets | None = None  # only if requested
    facets_are_exact: bool = True  # otherwise only the best of the found files were counted
    suggested: Mapping[str, str] = field(default_factory=dict)  # unknown word → word that may be meant, not searched
    dropped: tuple[str, ...] = ()  # conditions, as typed, that no file meets and without which these were found


def spelling_notes(result: SearchResult) -> list[str]:
    """Notes about words of the question that are in no file."""
    return [
        *(f"nothing has “{typed}”; showing “{instead}”" for typed, instead in result.corrected.items()),
        *(f"nothing has “{typed}”; did you mean “{other}”?" for typed, other in result.suggested.items()),
    ]


def as_json(result: SearchResult) -> dict[str, object]:
    """The JSON that the command line and HTTP promise."""
    payload: dict[str, object] = {
        "hits": [_hit(hit) for hit in result.hits],
        "total": result.total,
        "total_is_exact": result.total_is_exact,
        "ms": round(result.ms, 1),
        "corrected": dict(result.corrected),
        "suggested": dict(result.suggested),
        "dropped": list(result.dropped),
        "notes": list(result.notes),
    }
    if result.facets is not None:
        payload["facets"] = {facet.name: dict(getattr(result.facets, facet.name)) for facet in fields(result.facets)}
        payload["facets_are_exact"] = result.facets_are_exact
    return payload


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "path": hit.path,
        "title": hit.title,
        "kind": str(hit.kind),
        "score": round(hit.score, 4),
        "why": list(hit.why),
        **_excerpt(hit.snippet, hit.place, hit.person),
        "date": hit.date,
        "tags": list(hit.tags),
        "copies": list(hit.copies),
        "passages": [
            {"source": piece.source, **_excerpt(piece.snippet, piece.place, piece.person)} for piece in hit.passages
        ],
    }


def _excerpt(snippet: Snippet, place: Place | None, person: str | None) -> dict[str, object]:
    shift = 2 if snippet.cut_before else 0  # the plain text begins with dots then
    return {
        "snippet": to_plain(snippet),
        "marks": [[start + shift, end + shift] for start, end in snippet.marks],
        "place": _place(place, person) if place else None,
    }


def _place(place: Place, person: str | None) -> dict[str, object]:
    place_fields: dict[str, object] = {
        "start": place.start,
        "end": place.end,
        "page": place.page,
        "heading": place.heading,
        "seconds": place.seconds,
        "until": place.until,
        "speaker": place.speaker,
        "person": person,
        "box": list(place.box) if place.box else None,
    }
    return {name: value for name, value in place_fields.items() if value is not None}
