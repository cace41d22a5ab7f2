"""Saved searches: questions under a name, what is new to them since their owner looked, and their feeds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from chyme.core.address_secrets import hash_address_secret, is_same_hash, new_address_secret
from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.core.user_reference import UserReference
from chyme.errors import NotFound, UsageError, VaultError
from chyme.model import iso
from chyme.search.query.parser import LONGEST_QUESTION, parse
from chyme.search.search import MODES, Mode, Search
from chyme.search.tables import listing
from chyme.search.tables import saved_searches as table
from chyme.search.tables.listing import Card
from chyme.search.tables.saved_searches import SavedSearchRow

MAX_NAME = 100  # characters
MAX_SAVED = 200  # of one user
MAX_COUNTED = 1000  # new files that are counted; beyond, it is "more than"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A question under a name. `newest` is the last arrival of the vault when this was read."""

    id: int
    user: UserReference | None
    name: str
    query: str
    mode: Mode
    created_at: str
    seen: int
    seen_at: str
    newest: int
    has_feed: bool
    feed_made_at: str | None
    feed_read_at: str | None


@dataclass(frozen=True, slots=True)
class ArrivedFile:
    """A file that a search finds, and when its content arrived."""

    id: int
    card: Card
    at: str


class SavedSearches:
    """The saved searches of one vault. Each belongs to one user, or to the vault if no user made it."""

    def __init__(self, database: Database, search: Callable[[], Search], now: Callable[[], datetime]) -> None:
        self._database = database
        self._search = search
        self._now = now

    def save(self, name: str, query: str, mode: Mode = "both", user: UserReference | None = None) -> SavedSearch:
        """Save a search under a new name. What is there now counts as seen."""
        shown, folded = _check_name(name)
        question = query.strip()
        if not question or parse(question).empty:
            raise UsageError("a saved search needs a word or a filter to search for")
        if len(question) > LONGEST_QUESTION:
            raise UsageError(f"a question has at most {LONGEST_QUESTION:,} letters")
        if mode not in MODES:
            raise UsageError(f"there is no search mode {mode}; known are {', '.join(MODES)}")
        now = iso(self._now())

        def save(db: Connection) -> SavedSearch:
            _refuse_taken(db, folded, shown, user)
            if len(table.list_saved(db, user)) >= MAX_SAVED:
                raise UsageError(f"there are {MAX_SAVED} saved searches already; delete those that are not needed")
            return _saved(table.add(db, user, shown, folded, question, mode, now), table.newest_arrival(db))

        return self._database.write(save)

    def list_all(self, user: UserReference | None = None) -> list[SavedSearch]:
        """The searches of this user, by name."""
        with self._database.snapshot() as db:
            newest = table.newest_arrival(db)
            return [_saved(row, newest) for row in table.list_saved(db, user)]

    def find(self, search_id: int, user: UserReference | None = None) -> SavedSearch:
        """The search with this number; NotFound if this user has none."""
        with self._database.snapshot() as db:
            return _saved(_require(db, search_id, user), table.newest_arrival(db))

    def find_by_name(self, name: str, user: UserReference | None = None) -> SavedSearch:
        """The search with this name, or else with this number; NotFound if this user has none."""
        with self._database.snapshot() as db:
            row = table.by_name(db, _fold(name), user)
            if row is None and name.isascii() and name.isdecimal() and len(name) < 16:
                row = table.by_id(db, int(name), user)
            if row is None:
                raise NotFound(f"there is no saved search {name[:100]!r}; 'chyme searches list' shows them")
            return _saved(row, table.newest_arrival(db))

    def rename(self, search_id: int, name: str, user: UserReference | None = None) -> SavedSearch:
        """Give a search another name."""
        shown, folded = _check_name(name)

        def rename(db: Connection) -> None:
            row = _require(db, search_id, user)
            if _fold(row.name) != folded:
                _refuse_taken(db, folded, shown, user)
            table.rename(db, search_id, shown, folded)

        self._database.write(rename)
        return self.find(search_id, user)

    def delete(self, search_id: int, user: UserReference | None = None) -> None:
        """Delete a search; its feed ends with it."""

        def delete(db: Connection) -> None:
            _require(db, search_id, user)
            table.remove(db, search_id)

        self._database.write(delete)

    def mark_seen(self, search_id: int, until: int | None = None, user: UserReference | None = None) -> SavedSearch:
        """Everything that has arrived has been seen; with `until` only up to that arrival."""
        now = iso(self._now())

        def mark(db: Connection) -> None:
            _require(db, search_id, user)
            newest = table.newest_arrival(db)
            table.mark_seen(db, search_id, newest if until is None else min(until, newest), now)

        self._database.write(mark)
        return self.find(search_id, user)

    def count_new(self, saved: SavedSearch) -> int:
        """How many files are new to a search, at most MAX_COUNTED."""
        return min(len(self._new_ids(saved)), MAX_COUNTED)

    def new_files(self, saved: SavedSearch, limit: int) -> list[ArrivedFile]:
        """The files that are new to a search, the newest first."""
        return self._arrived(self._new_ids(saved), limit, saved.seen)

    def new_paths(self, saved: SavedSearch, paths: Sequence[str]) -> set[str]:
        """Which of these files, that the search has found, are new to it."""
        return table.paths_arrived_after(self._database.read(), paths, saved.seen)

    def latest_files(self, saved: SavedSearch, limit: int, hidden: Callable[[str], bool]) -> list[ArrivedFile]:
        """The files that arrived last of all that a search finds, without hidden ones."""
        found = self._search().all_files(saved.query, saved.mode)
        wanted = limit
        while True:  # hidden files are left out, so more may be needed
            arrived = self._arrived(found, wanted, 0)
            visible = [file for file in arrived if not hidden(file.card.path)]
            if len(visible) >= limit or wanted >= len(found):
                return visible[:limit]
            wanted *= 4

    def make_feed(self, search_id: int, user: UserReference | None = None) -> str:
        """Return the secret of the search's feed, shown only once. An earlier one opens nothing any more."""
        identity = vault_properties.value_of(self._database.read(), "identity")
        if not identity:
            raise VaultError("the database of this vault has no identity; 'chyme verify' shows what is wrong with it")
        secret, now = new_address_secret(identity), iso(self._now())

        def set_feed(db: Connection) -> None:
            _require(db, search_id, user)
            table.set_feed(db, search_id, hash_address_secret(secret), now)

        self._database.write(set_feed)
        return secret

    def end_feed(self, search_id: int, user: UserReference | None = None) -> SavedSearch:
        """End the search's feed: its address opens nothing any more."""

        def end(db: Connection) -> None:
            _require(db, search_id, user)
            table.set_feed(db, search_id, None, None)

        self._database.write(end)
        return self.find(search_id, user)

    def find_by_feed(self, secret: str) -> SavedSearch | None:
        """The search whose feed this secret opens; None for an unknown one."""
        given = hash_address_secret(secret)
        with self._database.snapshot() as db:
            row = table.by_feed(db, given)
            if row is None or row.feed_hash is None or not is_same_hash(row.feed_hash, given):
                return None
            return _saved(row, table.newest_arrival(db))

    def note_feed_read(self, search_id: int) -> None:
        """Remember when the feed was read, without waiting."""
        if not self._database.read_only:
            now = iso(self._now())
            self._database.submit(lambda db: table.mark_feed_read(db, search_id, now))

    def _new_ids(self, saved: SavedSearch) -> list[int]:
        if saved.newest <= saved.seen:  # nothing has arrived at all, so nothing needs to be searched
            return []
        return self._search().all_files(saved.query, saved.mode, table.arrived_after(saved.seen))

    def _arrived(self, file_ids: Sequence[int], limit: int, after: int) -> list[ArrivedFile]:
        with self._database.snapshot() as db:
            arrivals = table.latest(db, file_ids, limit, after)
            paths = listing.paths(db, [arrival.file_id for arrival in arrivals])
            cards = {card.path: card for card in listing.cards(db, [arrival.file_id for arrival in arrivals], "")}
        return [
            ArrivedFile(arrival.file_id, cards[paths[arrival.file_id]], arrival.at)
            for arrival in arrivals
            if paths.get(arrival.file_id) in cards
        ]


def search_json(saved: SavedSearch, new: int) -> dict[str, object]:
    """The JSON that the command line and HTTP promise."""
    return {
        "id": saved.id,
        "name": saved.name,
        "query": saved.query,
        "mode": saved.mode,
        "created_at": saved.created_at,
        "seen_at": saved.seen_at,
        "newest": saved.newest,
        "new": new,
        "feed": saved.has_feed,
        "feed_made_at": saved.feed_made_at,
        "feed_read_at": saved.feed_read_at,
    }


def _require(db: Connection, search_id: int, user: UserReference | None) -> SavedSearchRow:
    row = table.by_id(db, search_id, user)
    if row is None:
        raise NotFound(f"you have no saved search {search_id}")
    return row


def _refuse_taken(db: Connection, folded: str, name: str, user: UserReference | None) -> None:
    if table.by_name(db, folded, user) is not None:
        raise UsageError(f"there is a saved search {name!r} already; choose another name")


def _check_name(name: str) -> tuple[str, str]:
    shown = " ".join(_CONTROLS.sub(" ", name).split())
    if not shown or len(shown) > MAX_NAME:
        raise UsageError(f"a saved search needs a name of up to {MAX_NAME} letters")
    return shown, _fold(shown)


def _fold(name: str) -> str:
    """A name as it is compared: names that look alike are equal."""
    return unicodedata.normalize("NFKC", " ".join(name.split()).casefold()).casefold()


def _saved(row: SavedSearchRow, newest: int) -> SavedSearch:
    mode: Mode = "words" if row.mode == "words" else "meaning" if row.mode == "meaning" else "both"
    return SavedSearch(
        *(row.id, row.user, row.name, row.query, mode, row.created_at, row.seen_number, row.seen_at, newest),
        *(row.feed_hash is not None, row.feed_made_at, row.feed_read_at),
    )
