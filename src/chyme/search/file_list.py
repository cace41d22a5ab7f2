"""The files of a vault as a list: sorted, filtered, one page at a time."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.pipeline.document_state import PROCESSING_STATUS, STALE_SECONDS
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import Kind, iso
from chyme.search.tables import facets, listing, timeline
from chyme.search.tables.keyword_queries import Condition
from chyme.search.tables.listing import Card, Filters
from chyme.search.tables.timeline import PeriodCount
from chyme.speech.people.names import parse_person_number
from chyme.speech.people.tables import people

__all__ = ["KINDS", "SORTS", "STATES", "Card", "FileList", "FilePage", "Filters", "Folder"]

SORTS = tuple(listing.COLUMNS)
STATES = tuple(PROCESSING_STATUS)
KINDS = tuple(str(kind) for kind in Kind)
MAX_PAGE_SIZE = 500  # cards on one page
MAX_FILES_CHECKED = 100_000  # files read for one page where some are hidden: two or three seconds
_MAX_BATCH = 5_000
RECOUNT_FACTOR = 20  # facets are counted again after this many times the time it took, while things change
_QUICK_COUNT_SECONDS = 0.02  # counting that takes less time may be repeated at once
_INVALID_CURSOR = "this cursor is invalid or belongs to another sort order; start again without one"
_YEAR = re.compile(r"[0-9]{4}")
_INT64_END = 1 << 63


@dataclass(frozen=True, slots=True)
class FilePage:
    """One page, and the cursor of the next one."""

    cards: tuple[Card, ...]
    next: str | None  # the cursor of the next page
    total: int
    total_is_exact: bool


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, and the number of files in it or below it."""

    path: str
    name: str
    files: int


@dataclass(frozen=True, slots=True)
class _CountedFacets:
    facets: facets.Facets
    newest: int  # the id of the last event that is included
    until: float  # monotonic time from which they may be counted again


ALL = Filters()


class FileList:
    """The files of one vault. Read-only and thread-safe."""

    def __init__(self, database: Database, clock: Callable[[], datetime], max_checked: int = MAX_FILES_CHECKED) -> None:
        self._database = database
        self._max_checked = max_checked
        self._clock = clock
        self._facets: _CountedFacets | None = None
        self._counting_lock = threading.Lock()

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

        `hidden` selects paths that are not revealed, not even by the cursor; the total then counts this page alone.
        """
        if sort not in SORTS:
            raise UsageError(f"files cannot be sorted by {sort[:50]!r}; choose one of: {', '.join(SORTS)}")
        limit = max(1, min(limit, MAX_PAGE_SIZE))
        order = listing.Order(sort, descending, _parse_cursor(cursor, sort, descending) if cursor else None)
        with self._database.snapshot() as db:
            among = self._members(db, filters)
            if hidden is None:
                found = listing.page(db, among, order, limit + 1)
            else:
                found = self._find_visible(db, among, order, limit + 1, hidden)
            cards = listing.cards(db, [file_id for file_id, _ in found[:limit]], self._stale_before())
            total = len(cards) if hidden else listing.count(db) if among is None else len(among)
        next_cursor = _encode_cursor(sort, descending, *found[limit - 1]) if len(found) > limit else None
        return FilePage(tuple(cards), next_cursor, total, total_is_exact=hidden is None)

    def cards(self, paths: Sequence[str]) -> list[Card]:
        """The cards of several files, in this order; unknown and vanished files are left out."""
        return listing.cards(self._database.read(), paths, self._stale_before(), "path")

    def folders(self, inside: str = "", filters: Filters = ALL) -> list[Folder]:
        """The folders directly inside this one that hold files which pass the filters, in alphabetical order."""
        inside = inside.strip("/")
        with self._database.snapshot() as db:
            among = self._members(db, replace(filters, folder=None))
            found = listing.folders(db, inside) if among is None else listing.folders_of(db, inside, among)
        found_folders = [Folder(path, path.rpartition("/")[2], files) for path, files in found.items()]
        return sorted(found_folders, key=lambda folder: (folder.name.casefold(), folder.path))

    def count_by_time(self, year: str | None) -> list[PeriodCount]:
        """Count the files of each kind by the year of their date, or by the month of one year."""
        db = self._database.read()
        return timeline.by_year(db) if year is None else timeline.by_month(db, year)

    def facets(self) -> facets.Facets:
        """The number of files for each kind, tag and so on; in a large and busy vault some seconds out of date."""
        with self._counting_lock:
            db = self._database.read()
            newest, cached = listing.last_event_id(db), self._facets
            if cached is None or (cached.newest != newest and time.monotonic() >= cached.until):
                started = time.monotonic()
                counted = facets.of_all(db, Condition("1"))
                duration = time.monotonic() - started
                cached = self._facets = _CountedFacets(
                    counted, newest, started + (RECOUNT_FACTOR * duration if duration > _QUICK_COUNT_SECONDS else 0.0)
                )
            return cached.facets

    def _members(self, db: Connection, filters: Filters) -> set[int] | None:
        for kind in filters.kinds:
            if kind not in KINDS:
                raise UsageError(f"{kind[:50]!r} is no kind of file; there are: {', '.join(KINDS)}")
        for state in filters.states:
            if state not in STATES:
                raise UsageError(f"{state[:50]!r} is no state of a document; there are: {', '.join(STATES)}")
        if filters.year is not None and not _YEAR.fullmatch(filters.year):
            raise UsageError(f"{filters.year[:50]!r} is no year; write four digits, such as 2024")
        folder = (filters.folder or "").strip("/") or None
        unique = replace(filters, tags=tuple(dict.fromkeys(filters.tags)), folder=folder)
        return listing.members(db, unique, _person_ids(db, filters.person), self._stale_before())

    def _find_visible(
        self, db: Connection, among: set[int] | None, order: listing.Order, wanted: int, hidden: Callable[[str], bool]
    ) -> list[tuple[int, listing.Key]]:
        """Up to `wanted` files that may be shown, with their sort keys. Gives up after a number of files."""
        shown: list[tuple[int, listing.Key]] = []
        checked, size = 0, wanted
        while len(shown) < wanted and checked < self._max_checked:
            found = listing.page(db, among, order, size)
            paths = listing.paths(db, [file_id for file_id, _ in found])
            shown += [(file_id, key) for file_id, key in found if file_id in paths and not hidden(paths[file_id])]
            if len(found) < size:
                break
            file_id, key = found[-1]
            order = replace(order, after=(key, file_id))
            checked, size = checked + size, min(2 * size, _MAX_BATCH)
        return shown[:wanted]

    def _stale_before(self) -> str:
        return iso(self._clock() - timedelta(seconds=STALE_SECONDS))


def _person_ids(db: Connection, name_or_number: str | None) -> tuple[int, ...] | None:
    """The ids of people with this name or number: empty if there is none, None if no person was asked for."""
    if name_or_number is None:
        return None
    person, number = people.by_name(db, name_or_number), parse_person_number(name_or_number)
    if person is None and number is not None and number < _INT64_END:
        person = people.by_id(db, number)
    return (person.id,) if person else ()


def _encode_cursor(sort: str, descending: bool, file_id: int, key: listing.Key) -> str:
    payload = json.dumps([sort, descending, key, file_id], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(payload.encode()).rstrip(b"=").decode()


def _parse_cursor(cursor: str, sort: str, descending: bool) -> tuple[listing.Key, int]:
    """The key and file after which a page begins. A cursor is untrusted input, so it is checked."""
    try:
        payload = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        cursor_sort, cursor_descending, key, file_id = payload
        if isinstance(key, str):
            key.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(_INVALID_CURSOR) from error
    key_type = int if sort == "size" else str
    if (
        (cursor_sort, cursor_descending) != (sort, descending)
        or type(cursor_descending) is not bool
        or type(key) is not key_type
        or type(file_id) is not int
        or not all(0 <= number < _INT64_END for number in (key, file_id) if isinstance(number, int))
    ):
        raise UsageError(_INVALID_CURSOR)
    return key, file_id
