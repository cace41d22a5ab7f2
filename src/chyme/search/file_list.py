"""The files of a vault as a list that can be leafed through: sorted, filtered, a page at a time."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from sqlite3 import Connection

from chyme.core.pipeline.document_state import PROCESSING_STATUS, STALE_SECONDS, displayed_state
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import Kind, iso
from chyme.search.tables import facets, listing
from chyme.search.tables.keyword_queries import Condition
from chyme.speech.people.names import parse_person_number
from chyme.speech.people.tables import people
from chyme.text.first_lines import first_lines

SORTS = tuple(listing.COLUMNS)
STATES = tuple(PROCESSING_STATUS)
KINDS = tuple(str(kind) for kind in Kind)
MARKDOWN = "text/markdown"
MOST = 500  # cards of one page
MAX_FILES_CHECKED = 100_000  # files of one page, at most, where some are hidden: two or three seconds
_AT_ONCE = 5_000
RECOUNT_FACTOR = 20  # facets are counted again after this many times the time it took, while things change
_QUICK = 0.02  # seconds of counting that are no matter
_FORGED = "this cursor is none of ours, or belongs to another order; begin again without one"
_YEAR = re.compile(r"[0-9]{4}")
_BIG = 1 << 63


@dataclass(frozen=True, slots=True)
class Card:
    """What a list shows of a file."""

    path: str
    name: str
    kind: Kind
    mime: str
    size: int
    title: str
    summary: str | None
    date: str | None
    language: str | None
    tags: tuple[str, ...]
    state: str
    processing_status: str
    reason: str | None
    degraded: bool
    pages: int | None
    thumbnail: str | None  # the artifact's name
    added_at: str
    modified_at: str
    excerpt: str | None = None  # the first lines of a text file, once it is indexed


@dataclass(frozen=True, slots=True)
class Filters:
    """Which files: of one of these kinds and states, with all of these tags, in this folder or below it, …"""

    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    folder: str | None = None
    states: tuple[str, ...] = ()
    year: str | None = None
    person: str | None = None  # by name or number


@dataclass(frozen=True, slots=True)
class FilePage:
    """One page, and where the next one begins."""

    cards: tuple[Card, ...]
    next: str | None  # the cursor of the next page
    total: int
    total_is_exact: bool


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, and how many files are in it or below it."""

    path: str
    name: str
    files: int


@dataclass(frozen=True, slots=True)
class _Counted:
    facets: facets.Facets
    newest: int  # the event they are as of
    until: float  # when they may be counted again


ALL = Filters()


class FileList:
    """Read-only. Any number of threads may ask."""

    def __init__(self, database: Database, clock: Callable[[], datetime], looked_at: int = MAX_FILES_CHECKED) -> None:
        self._database = database
        self._looked_at = looked_at
        self._clock = clock
        self._facets: _Counted | None = None
        self._counting = threading.Lock()

    def page(
        self,
        filters: Filters = ALL,
        *,
        sort: str = "added",
        descending: bool = True,
        cursor: str | None = None,
        limit: int = 60,
        hidden: Callable[[str], bool] | None = None,
    ) -> FilePage:
        """One page of the files that pass the filters.

        `hidden`: paths of which nothing is told, neither here nor by the cursor; then the total is of this page alone.
        """
        if sort not in SORTS:
            raise UsageError(f"files cannot be sorted by {sort[:50]!r}; choose one of: {', '.join(SORTS)}")
        limit = max(1, min(limit, MOST))
        order = listing.Order(sort, descending, _behind(cursor, sort, descending) if cursor else None)
        with self._database.snapshot() as db:
            among = listing.members(db, self._wanted(db, filters))
            if hidden is None:
                found = listing.page(db, among, order, limit + 1)
            else:
                found = _not_hidden(db, among, order, limit + 1, hidden, self._looked_at)
            cards = self._cards(listing.rows(db, [file_id for file_id, _ in found[:limit]]))
            total = len(cards) if hidden else listing.count(db) if among is None else len(among)
        more = _cursor(sort, descending, *found[limit - 1]) if len(found) > limit else None
        return FilePage(tuple(cards), more, total, total_is_exact=hidden is None)

    def card(self, path: str) -> Card:
        """What a list shows of this file."""
        found = self.cards([path])
        if not found:
            raise UsageError(f"{path}: is not a file of this vault; 'chyme digest' takes in what is new")
        return found[0]

    def cards(self, paths: Sequence[str]) -> list[Card]:
        """The same of several, in this order; unknown and vanished ones are left out."""
        return self._cards(listing.rows_at(self._database.read(), paths))

    def folders(self, inside: str = "", filters: Filters = ALL) -> list[Folder]:
        """The folders directly inside this one that hold files which pass the filters, in alphabetical order."""
        inside = inside.strip("/")
        with self._database.snapshot() as db:
            among = listing.members(db, self._wanted(db, replace(filters, folder=None)))
            found = listing.folders(db, inside) if among is None else listing.folders_of(db, inside, among)
        named = [Folder(path, path.rpartition("/")[2], files) for path, files in found.items()]
        return sorted(named, key=lambda folder: (folder.name.casefold(), folder.path))

    def facets(self) -> facets.Facets:
        """How all files divide. In a large vault at work they may lag a few seconds behind."""
        with self._counting:
            db = self._database.read()
            newest, kept = listing.last_event_id(db), self._facets
            if kept is None or (kept.newest != newest and time.monotonic() >= kept.until):
                began = time.monotonic()
                counted = facets.of_all(db, Condition("1"))
                took = time.monotonic() - began
                kept = self._facets = _Counted(
                    counted, newest, began + (RECOUNT_FACTOR * took if took > _QUICK else 0.0)
                )
            return kept.facets

    def _wanted(self, db: Connection, filters: Filters) -> listing.FileFilter:
        for kind in filters.kinds:
            if kind not in KINDS:
                raise UsageError(f"{kind[:50]!r} is no kind of file; there are: {', '.join(KINDS)}")
        for state in filters.states:
            if state not in STATES:
                raise UsageError(f"{state[:50]!r} is no state of a document; there are: {', '.join(STATES)}")
        if filters.year is not None and not _YEAR.fullmatch(filters.year):
            raise UsageError(f"{filters.year[:50]!r} is no year; write four digits, such as 2024")
        folder = (filters.folder or "").strip("/") or None
        who = _people(db, filters.person)
        return listing.FileFilter(
            filters.kinds, tuple(dict.fromkeys(filters.tags)), folder, filters.states, filters.year, who,
            self._stale_before(),
        )  # fmt: skip

    def _cards(self, rows: Sequence[listing.Row]) -> list[Card]:
        stale_before = self._stale_before()
        return [_card(row, displayed_state(row.state, row.moved_at, stale_before)) for row in rows]

    def _stale_before(self) -> str:
        return iso(self._clock() - timedelta(seconds=STALE_SECONDS))


def _not_hidden(
    db: Connection,
    among: set[int] | None,
    order: listing.Order,
    wanted: int,
    hidden: Callable[[str], bool],
    at_most: int,
) -> list[tuple[int, listing.Key]]:
    """So many files that may be shown, and their keys. Behind too many hidden ones in a row, nothing more is found."""
    shown: list[tuple[int, listing.Key]] = []
    looked_at, size = 0, wanted
    while len(shown) < wanted and looked_at < at_most:
        found = listing.page(db, among, order, size)
        paths = listing.paths(db, [file_id for file_id, _ in found])
        shown += [(file_id, key) for file_id, key in found if file_id in paths and not hidden(paths[file_id])]
        if len(found) < size:
            break
        file_id, key = found[-1]
        order = replace(order, behind=(key, file_id))
        looked_at, size = looked_at + size, min(2 * size, _AT_ONCE)
    return shown[:wanted]


def _card(row: listing.Row, state: str) -> Card:
    return Card(
        *(row.path, row.name, row.kind, row.mime, row.size, row.title or row.name, row.summary, row.date),
        *(row.language, row.tags, state, PROCESSING_STATUS[state], row.reason, row.degraded, row.pages),
        *(row.thumbnail, row.created_at, _moment(row.mtime_ns)),
        excerpt=first_lines(row.begins, row.mime == MARKDOWN) if row.begins else None,
    )


def _moment(mtime_ns: int) -> str:
    """A file may claim to be of any time at all."""
    try:
        return iso(datetime.fromtimestamp(mtime_ns / 1_000_000_000, UTC))
    except (OverflowError, ValueError, OSError):
        return iso(datetime.fromtimestamp(0, UTC))


def _people(db: Connection, asked: str | None) -> tuple[int, ...] | None:
    """Whoever has this name or number; nobody is found where nobody has."""
    if asked is None:
        return None
    person, number = people.by_name(db, asked), parse_person_number(asked)
    if person is None and number is not None and number < _BIG:
        person = people.by_id(db, number)
    return (person.id,) if person else ()


def _cursor(sort: str, descending: bool, file_id: int, key: listing.Key) -> str:
    told = json.dumps([sort, descending, key, file_id], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(told.encode()).rstrip(b"=").decode()


def _behind(cursor: str, sort: str, descending: bool) -> tuple[listing.Key, int]:
    """The key and file a page begins behind. Anybody may have written it, so it is looked at."""
    try:
        told = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        by, down, key, file_id = told
        if isinstance(key, str):
            key.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(_FORGED) from error
    right = int if sort == "size" else str
    if (by, down) != (sort, descending) or type(down) is not bool or type(key) is not right or type(file_id) is not int:
        raise UsageError(_FORGED)
    if not 0 <= file_id < _BIG or (isinstance(key, int) and not 0 <= key < _BIG):
        raise UsageError(_FORGED)
    return key, file_id
