"""Links that show some files, read only: made, listed, opened, ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.address_secrets import hash_address_secret, is_same_hash, new_address_secret
from chyme.core.store import files, vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.core.user_reference import UserReference
from chyme.errors import NotFound, UsageError, VaultError
from chyme.model import File, iso
from chyme.sharing.tables import shares
from chyme.sharing.tables.shares import ShareRow

DEFAULT_DAYS = 30
MAX_DAYS = 366
MAX_FILES = 500  # of one link: its page lists them all
MAX_OPEN_LINKS = 1000
MAX_LABEL = 200  # characters
KEEP_ENDED_FOR = timedelta(days=90)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class PrivateFilesChosen(UsageError):
    """Some of the files are private, and showing them was not confirmed."""


@dataclass(frozen=True, slots=True)
class Share:
    """A link: what it shows, until when, and how often it was opened."""

    id: int
    label: str
    user: UserReference | None  # who made it
    private: bool  # whether private files are shown, too
    created_at: str
    expires_at: str
    state: str  # open, expired, ended (by a person) or restored (ended because the vault was restored)
    opens: int
    last_opened_at: str | None
    paths: tuple[str | None, ...]  # where the files are now; None for those that are gone


@dataclass(frozen=True, slots=True)
class NewShare:
    """A link and its secret, which is shown only once."""

    share: Share
    secret: str


@dataclass(frozen=True, slots=True)
class OpenedShare:
    """A link as the people who have it see it."""

    id: int
    label: str
    user: UserReference | None
    is_open: bool
    expires_at: str
    files: tuple[File | None, ...]  # None: gone, or no longer to be shown


class ShareLinks:
    """The links of one vault."""

    def __init__(self, database: Database, private: Callable[[str], bool], now: Callable[[], datetime]) -> None:
        self._database = database
        self._private = private
        self._now = now

    def add(
        self,
        file_ids: Sequence[int],
        *,
        days: int = DEFAULT_DAYS,
        label: str = "",
        private: bool = False,
        user: UserReference | None = None,
    ) -> NewShare:
        """Make a link to these files. With `private` a person agrees that private files among them are shown."""
        if not 1 <= days <= MAX_DAYS:
            raise UsageError(f"a link lives from 1 to {MAX_DAYS} days, not {days}")
        shown_label = " ".join(_CONTROLS.sub(" ", label).split())
        if len(shown_label) > MAX_LABEL:
            raise UsageError(f"a label has at most {MAX_LABEL} letters")
        identity = vault_properties.value_of(self._database.read(), "identity")
        if not identity:
            raise VaultError("the database of this vault has no identity; 'chyme verify' shows what is wrong with it")
        chosen = self._choose(file_ids, private)
        secret, now = new_address_secret(identity), self._now()

        def add(db: Connection) -> ShareRow:
            shares.forget_ended(db, iso(now - KEEP_ENDED_FOR))
            if shares.count_open(db, iso(now)) >= MAX_OPEN_LINKS:
                raise UsageError(f"there are {MAX_OPEN_LINKS} links already; end those that are not needed any more")
            return shares.add(
                *(db, hash_address_secret(secret), shown_label, user, private, iso(now)),
                *(iso(now + timedelta(days=days)), [file.id for file in chosen]),
            )

        row = self._database.write(add)
        return NewShare(_share(row, tuple(file.path for file in chosen), iso(now)), secret)

    def list_all(self) -> list[Share]:
        """All links, the newest first; ended ones are listed for some months."""
        now = iso(self._now())
        with self._database.snapshot() as db:
            return [_share(row, _paths(db, row.id), now) for row in shares.list_shares(db)]

    def end(self, share_id: int) -> Share:
        """End a link: it cannot be opened again. Ending it twice changes nothing."""
        now = iso(self._now())

        def end(db: Connection) -> Share:
            shares.end(db, share_id, now)
            row = shares.by_id(db, share_id)
            if row is None:
                raise NotFound(f"there is no link {share_id}; 'chyme shares' lists them")
            return _share(row, _paths(db, row.id), now)

        return self._database.write(end)

    def find(self, secret: str) -> OpenedShare | None:
        """Return what a secret opens; None for an unknown one. The link may have ended."""
        given, now = hash_address_secret(secret), iso(self._now())
        with self._database.snapshot() as db:
            row = shares.by_hash(db, given)
            if row is None or not is_same_hash(row.hash, given):
                return None
            is_open = row.ended_at is None and row.expires_at > now
            found = self._visible_files(db, row) if is_open else ()
        return OpenedShare(row.id, row.label, row.user, is_open, row.expires_at, found)

    def count_opening(self, share_id: int) -> None:
        """Count that a link was opened, without waiting."""
        if not self._database.read_only:
            now = iso(self._now())
            self._database.submit(lambda db: shares.mark_opened(db, share_id, now))

    def _choose(self, file_ids: Sequence[int], private: bool) -> list[File]:
        unique = list(dict.fromkeys(file_ids))
        if not unique:
            raise UsageError("a link needs at least one file")
        if len(unique) > MAX_FILES:
            raise UsageError(f"a link shows at most {MAX_FILES} files, and these are {len(unique):,}; choose fewer")
        by_id = {file.id: file for file in files.by_ids(self._database.read(), unique) if file.vanished_at is None}
        chosen = sorted(by_id.values(), key=lambda file: (file.path.casefold(), file.path))
        if not chosen:
            raise UsageError("these files are not there any more")
        secret_ones = [file.path for file in chosen if self._private(file.path)]
        if secret_ones and not private:
            others = f" and {len(secret_ones) - 1} more" if len(secret_ones) > 1 else ""
            raise PrivateFilesChosen(
                f"{secret_ones[0]}{others}: private (.chymeprivate); say that it may be shared all the same"
            )
        return chosen

    def _visible_files(self, db: Connection, row: ShareRow) -> tuple[File | None, ...]:
        ids = shares.file_ids(db, row.id)
        by_id = {file.id: file for file in files.by_ids(db, [file_id for file_id in ids if file_id is not None])}
        found = [by_id.get(file_id) if file_id is not None else None for file_id in ids]
        return tuple(
            file
            if file is not None and file.vanished_at is None and (row.private or not self._private(file.path))
            else None
            for file in found
        )


def share_json(share: Share) -> dict[str, object]:
    """The JSON that the command line and HTTP promise."""
    return {
        "id": share.id,
        "label": share.label,
        "by": share.user.name if share.user else None,
        "private": share.private,
        "created_at": share.created_at,
        "expires_at": share.expires_at,
        "state": share.state,
        "opens": share.opens,
        "last_opened_at": share.last_opened_at,
        "files": len(share.paths),
        "paths": list(share.paths),
    }


def _paths(db: Connection, share_id: int) -> tuple[str | None, ...]:
    ids = shares.file_ids(db, share_id)
    by_id = {
        file.id: file.path
        for file in files.by_ids(db, [file_id for file_id in ids if file_id is not None])
        if file.vanished_at is None
    }
    return tuple(by_id.get(file_id) if file_id is not None else None for file_id in ids)


def _share(row: ShareRow, paths: tuple[str | None, ...], now: str) -> Share:
    state = "open" if row.expires_at > now else "expired"
    if row.ended_at is not None:
        state = "restored" if row.ended_by == "restore" else "ended"
    return Share(
        *(row.id, row.label, row.user, row.private, row.created_at, row.expires_at, state),
        *(row.opens, row.last_opened_at, paths),
    )
