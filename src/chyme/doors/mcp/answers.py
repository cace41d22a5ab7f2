"""What each tool answers. Files that no model may see are not shown to an assistant, which is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Literal

from chyme.application.app import App
from chyme.application.file_texts import Text, read_file
from chyme.core.clock import now
from chyme.doors.mcp.citations import Citation, cite, describe_place, link
from chyme.doors.mcp.schemas import Hit, Hits, Listed, Listing, Piece, Reading
from chyme.errors import UsageError
from chyme.model import iso
from chyme.search.file_list import Card, Filters
from chyme.search.query.parser import parse
from chyme.search.query.spelling import words_of
from chyme.search.results import Hit as Found
from chyme.search.search import Mode
from chyme.search.snippets import to_plain

SPARE, DEEP = 20, 500  # more are asked for, because private ones are left out; still more where they crowd others out
PIECE = 4_000  # characters: a longer piece is cut, so that any limit can be kept
_UNREAD = "nothing has been read of this file yet; it is being digested"
_SILENT = "there is no text in this file; it is known by its name, title and tags only"


def search(
    app: App,
    base: str,
    query: str,
    limit: int,
    mode: Mode,
    kind: str | None,
    tag: str | None,
    folder: str | None,
) -> Hits:
    """The files that answer a question. Where some may be private, all that is said comes from the files shown."""
    asked = " ".join([query, *_filters(kind, tag, folder)])
    guarded = app.private.has_patterns
    for depth in (limit + SPARE, DEEP):
        result = app.search.search(asked, limit=depth, mode=mode)
        shown = [hit for hit in result.hits if not app.private(hit.path)][:limit]
        if len(shown) == limit or len(result.hits) < depth:
            break
    return Hits(
        hits=[_hit(base, hit) for hit in shown],
        total=len(shown) if guarded else result.total,
        total_is_exact=result.total_is_exact and not guarded,
        corrected=_standing_in(shown, result.corrected) if guarded else dict(result.corrected),
        notes=[] if guarded and _by_name(asked) else list(result.notes),
    )


def _by_name(asked: str) -> bool:
    """Whether people or tags are asked for: what is noted then tells others, of whatever files."""
    return any(filter_.field in ("person", "tag") for filter_ in parse(asked).filters)


def _standing_in(hits: Iterable[Found], corrected: Mapping[str, str]) -> dict[str, str]:
    """The words that stand in what is shown: others would be told from files that are not."""
    known: set[str] = set()
    for hit in hits:
        texts = [hit.title, hit.path, *hit.tags, hit.snippet.text, *(piece.snippet.text for piece in hit.passages)]
        known |= words_of(texts)
    return {typed: meant for typed, meant in corrected.items() if meant in known}


def _filters(kind: str | None, tag: str | None, folder: str | None) -> list[str]:
    """Filters as the search box takes them; a quote would end the value."""
    given = {"kind": kind, "tag": tag, "folder": folder}
    return [f'{name}:"{value.replace(chr(34), " ").strip()}"' for name, value in given.items() if value]


def _hit(base: str, hit: Found) -> Hit:
    first = cite(base, hit.path, hit.place, hit.person)
    places = [cite(base, hit.path, piece.place, piece.person) for piece in hit.passages]
    return Hit(
        path=hit.path,
        title=hit.title,
        kind=str(hit.kind),
        snippet=to_plain(hit.snippet),
        why=list(hit.why),
        citation=first,
        date=hit.date,
        tags=list(hit.tags),
        more=[place for place in places if place != first],
    )


def read(app: App, base: str, path: str, page: int | None, offset: int, limit: int) -> Reading:
    """A part of what a file says, never more characters than asked for."""
    found = read_file(app.database, path)
    if app.private(path):
        raise UsageError(f"{path}: is private; .chymeprivate says that no model may read it")
    texts = [part for text in found.texts if page is None or text.page == page for part in _parts(text)]
    notes: list[str] = []
    if not found.texts:
        notes.append(_UNREAD if found.state == "processing" else found.reason or _SILENT)
    elif not texts:
        last = max((text.page or 0 for text in found.texts), default=0)
        notes.append(f"there is no text on page {page}" + (f"; the last page with text is {last}" if last else ""))
    at, end, pieces = 0, offset + limit, list[Piece]()
    for text in texts:
        begins, at = at, at + len(text.text)
        if at <= offset or begins >= end:
            continue
        told = text.text[max(0, offset - begins) : end - begins]
        pieces.append(Piece(text=told, source=text.source, citation=_cited(base, path, text)))
    return Reading(
        path=path,
        title=found.title,
        state=found.state,
        pieces=pieces,
        offset=offset,
        next_offset=end if at > end else None,
        characters=at,
        notes=notes,
    )


def _parts(text: Text) -> list[Text]:
    """Pieces of a handy length."""
    if len(text.text) <= PIECE:
        return [text]
    return [
        Text(
            *(text.source, text.text[start : start + PIECE], text.page, text.heading),
            *(text.seconds, text.until, text.speaker, text.box),
        )
        for start in range(0, len(text.text), PIECE)
    ]


def _cited(base: str, path: str, text: Text) -> Citation:
    return Citation(
        path=path,
        where=describe_place(text.page, text.seconds, text.speaker, text.box, text.heading),
        link=link(base, path, text.page, text.seconds, text.box),
        page=text.page,
        heading=text.heading,
        seconds=text.seconds,
        until=text.until,
        speaker=text.speaker,
        box=text.box,
    )


def list_files(
    app: App,
    base: str,
    *,
    folder: str | None,
    kind: str | None,
    tag: str | None,
    state: str | None,
    sort: Literal["added", "date", "name", "title", "size", "kind"],
    cursor: str | None,
    limit: int,
) -> Listing:
    """A page of the vault's files."""
    filters = Filters(_one(kind), _one(tag), folder.strip("/") if folder else None, _one(state))
    down = sort in ("added", "date", "size")
    hidden = app.private if app.private.has_patterns else None
    shelf = app.library.page(filters, sort=sort, descending=down, cursor=cursor, limit=limit, hidden=hidden)
    return _listing(base, shelf.cards, shelf.total, shelf.total_is_exact, shelf.next)


def list_recent(app: App, base: str, days: float, limit: int) -> Listing:
    """What came into the vault lately, newest first."""
    since = iso(now() - timedelta(days=days))
    hidden = app.private if app.private.has_patterns else None
    newest = app.library.page(limit=limit + SPARE, hidden=hidden).cards
    cards = [card for card in newest if card.added_at >= since]
    return _listing(base, cards[:limit], len(cards), len(cards) <= limit and hidden is None, None)


def _listing(base: str, cards: Sequence[Card], total: int, exact: bool, cursor: str | None) -> Listing:
    return Listing(files=[_card(base, card) for card in cards], total=total, total_is_exact=exact, next_cursor=cursor)


def _card(base: str, card: Card) -> Listed:
    return Listed(
        path=card.path,
        title=card.title,
        kind=str(card.kind),
        size=card.size,
        state=card.state,
        link=link(base, card.path),
        summary=card.summary,
        date=card.date,
        language=card.language,
        pages=card.pages,
        tags=list(card.tags),
        added_at=card.added_at,
    )


def _one(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()
