"""What a search answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from chyme.model import Kind, Place
from chyme.search.snippets import Snippet, to_plain
from chyme.search.tables.facets import Facets


@dataclass(frozen=True, slots=True)
class Piece:
    """One passage of a hit."""

    source: str
    snippet: Snippet
    place: Place
    person: str | None = None  # the name of whoever speaks there, if they have one


@dataclass(frozen=True, slots=True)
class Hit:
    """One file that answers, with its best passages; `snippet` and `place` are those of the best."""

    path: str
    title: str
    kind: Kind
    score: float
    why: tuple[str, ...]  # words, name, meaning; filter when nothing but filters was asked
    snippet: Snippet
    place: Place | None
    passages: tuple[Piece, ...] = ()
    date: str | None = None
    tags: tuple[str, ...] = ()
    person: str | None = None  # who speaks at `place`
    copies: tuple[str, ...] = ()  # other files with the same content, of which this stands for all


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one page and what there is to say about the whole."""

    hits: tuple[Hit, ...]
    total: int
    total_is_exact: bool
    ms: float
    corrected: Mapping[str, str]  # what was typed → what was searched instead
    notes: tuple[str, ...] = ()
    facets: Facets | None = None  # only when asked for
    facets_are_exact: bool = True  # else only the best of the files found were counted
    suggested: Mapping[str, str] = field(default_factory=dict)  # what stands nowhere → what may be meant, not searched


def spelling_notes(result: SearchResult) -> list[str]:
    """What to say about words of the question that stand nowhere."""
    return [
        *(f"nothing has “{typed}”; showing “{instead}”" for typed, instead in result.corrected.items()),
        *(f"nothing has “{typed}”; did you mean “{other}”?" for typed, other in result.suggested.items()),
    ]


def as_json(result: SearchResult) -> dict[str, object]:
    """The shape that the command line and HTTP promise."""
    told: dict[str, object] = {
        "hits": [_hit(hit) for hit in result.hits],
        "total": result.total,
        "total_is_exact": result.total_is_exact,
        "ms": round(result.ms, 1),
        "corrected": dict(result.corrected),
        "suggested": dict(result.suggested),
        "notes": list(result.notes),
    }
    if result.facets is not None:
        told["facets"] = {facet.name: dict(getattr(result.facets, facet.name)) for facet in fields(result.facets)}
        told["facets_are_exact"] = result.facets_are_exact
    return told


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "path": hit.path,
        "title": hit.title,
        "kind": str(hit.kind),
        "score": round(hit.score, 4),
        "why": list(hit.why),
        "snippet": to_plain(hit.snippet),
        "marks": [list(mark) for mark in _marks(hit.snippet)],
        "place": _place(hit.place, hit.person) if hit.place else None,
        "date": hit.date,
        "tags": list(hit.tags),
        "copies": list(hit.copies),
        "passages": [
            {
                "source": piece.source,
                "snippet": to_plain(piece.snippet),
                "marks": [list(mark) for mark in _marks(piece.snippet)],
                "place": _place(piece.place, piece.person),
            }
            for piece in hit.passages
        ],
    }


def _marks(snippet: Snippet) -> list[tuple[int, int]]:
    """The marks as they fall in the plain text, behind the dots that say it was cut."""
    shift = len(to_plain(snippet)) - len(snippet.text) - (2 if snippet.cut_after else 0)
    return [(start + shift, end + shift) for start, end in snippet.marks]


def _place(place: Place, person: str | None) -> dict[str, object]:
    known: dict[str, object] = {
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
    return {name: value for name, value in known.items() if value is not None}
