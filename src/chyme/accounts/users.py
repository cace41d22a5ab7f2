"""Users: their names, passwords and rights, and their sessions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.accounts import passwords
from chyme.accounts.permissions import Right, Rights
from chyme.accounts.tables import invitations, sessions, users
from chyme.accounts.tables.server_database import ServerDatabase
from chyme.accounts.tables.sessions import Session
from chyme.accounts.tables.users import Grant, User
from chyme.errors import NotFound, UsageError
from chyme.model import iso

__all__ = [
    "LONGEST_NAME",
    "Account",
    "Accounts",
    "Grant",
    "NewSession",
    "Session",
    "check_user_name",
    "fold_name",
    "insert_user",
    "rights_of",
]

LONGEST_NAME = 64
HINT = 200  # characters of a browser's name
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff/\\:]")


@dataclass(frozen=True, slots=True)
class Account:
    """A user as the owner of the server sees them."""

    name: str
    everything: Right | None
    grants: tuple[Grant, ...]
    created_at: str
    id: int
    is_owner: bool
    is_active: bool
    last_used_at: str | None


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session; only the browser gets the secret, once."""

    user_id: int
    name: str
    secret: str
    seconds: int


class Accounts:
    """All users who may sign in."""

    def __init__(self, database: ServerDatabase, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now

    def add(self, name: str, password: str, everything: Right | None = None, *, owner: bool = False) -> Account:
        """Create a user. An owner may manage all users."""
        clean_name = check_user_name(name)
        password_hash = passwords.hash_password(passwords.validate_password(password, clean_name))
        self._database.write(
            lambda db: insert_user(db, clean_name, password_hash, everything, iso(self._now()), owner=owner)
        )
        return self.get(clean_name)

    def add_first(self, name: str, password: str) -> Account:
        """Create the first owner, who may change every vault. Refused when there is an account or a token."""
        clean_name = check_user_name(name)
        password_hash = passwords.hash_password(passwords.validate_password(password, clean_name))

        def add(db: Connection) -> None:
            if users.has_any(db):
                raise UsageError("there is an account or a token already; sign in")
            insert_user(db, clean_name, password_hash, Right.WRITE, iso(self._now()), owner=True)

        self._database.write(add)
        return self.get(clean_name)

    def get(self, name: str) -> Account:
        """The user with this name."""
        db, user = self._find(name)
        return _account(db, user)

    def by_number(self, number: int) -> Account:
        """The user with this number."""
        db = self._database.read()
        user = users.by_id(db, number) if db is not None else None
        if db is None or user is None:
            raise NotFound(f"there is no user with the number {number}")
        return _account(db, user)

    def list_all(self) -> list[Account]:
        """All users, by name."""
        db = self._database.read()
        return [_account(db, user) for user in users.list_users(db)] if db is not None else []

    def remove(self, name: str) -> None:
        """Remove a user with all sessions and tokens."""
        _, user = self._find(name)

        def remove(db: Connection) -> None:
            _require_other_owner(db, user)
            users.remove(db, user.id)

        self._database.write(remove)

    def change_owner(self, name: str, owner: bool) -> Account:
        """Make a user an owner, or no longer one; then their open invitations are revoked."""
        _, user = self._find(name)

        def change(db: Connection) -> None:
            if not owner:
                _require_other_owner(db, user)
                invitations.revoke_those_of(db, user.id, iso(self._now()))
            users.change_owner(db, user.id, owner)

        self._database.write(change)
        return self.get(name)

    def change_active(self, name: str, active: bool) -> Account:
        """Let a user sign in again, or not any more: that ends their sessions, tokens and invitations at once."""
        _, user = self._find(name)

        def change(db: Connection) -> None:
            if not active:
                _require_other_owner(db, user)
                sessions.end_all(db, user.id)
                invitations.revoke_those_of(db, user.id, iso(self._now()))
            users.change_active(db, user.id, active)

        self._database.write(change)
        return self.get(name)

    def replace_rights(
        self, name: str, everything: Right | None, grants: Sequence[tuple[tuple[str, str], Right | None]]
    ) -> Account:
        """Set the right to every vault, and those to the named vaults ((identity, name), right); others stay."""
        _, user = self._find(name)

        def replace(db: Connection) -> None:
            users.change_everything(db, user.id, everything)
            for (identity, vault_name), right in grants:
                if right is None:
                    users.revoke(db, user.id, identity)
                else:
                    users.grant(db, user.id, identity, vault_name, right)

        self._database.write(replace)
        return self.get(name)

    def grant(self, name: str, vault: tuple[str, str] | None, right: Right) -> Account:
        """Give a user access to one vault (identity, name), or to every vault."""
        _, user = self._find(name)

        def grant(db: Connection) -> None:
            if vault is None:
                users.change_everything(db, user.id, right)
            else:
                users.grant(db, user.id, *vault, right)

        self._database.write(grant)
        return self.get(name)

    def revoke(self, name: str, vault: tuple[str, str] | None) -> Account:
        """Take away access to one vault, or to every vault that is not granted individually."""
        _, user = self._find(name)

        def revoke(db: Connection) -> None:
            if vault is None:
                users.change_everything(db, user.id, None)
            elif not users.revoke(db, user.id, vault[0]):
                raise UsageError(
                    f"{user.name} has no right of their own to {vault[1]}; 'chyme users list' shows what they may do"
                )

        self._database.write(revoke)
        return self.get(name)

    def change_password(self, name: str, password: str, keep: int | None = None) -> None:
        """Set a new password; ends every session except `keep`."""
        _, user = self._find(name)
        password_hash = passwords.hash_password(passwords.validate_password(password, user.name))

        def change(db: Connection) -> None:
            users.change_password(db, user.id, password_hash)
            sessions.end_all(db, user.id, keep)

        self._database.write(change)

    def check_password(self, name: str, password: str) -> bool:
        """Whether this is their password. Unknown names take as long as known ones."""
        db = self._database.read()
        user = users.by_folded(db, fold_name(name)) if db is not None else None
        return passwords.verify_password(user.password if user is not None else None, password)

    def sign_in(self, name: str, password: str, days: float, hint: str, address: str = "") -> NewSession | None:
        """A new session, or None; the caller does not learn whether name or password was wrong."""
        db = self._database.read()
        user = users.by_folded(db, fold_name(name)) if db is not None else None
        stored = user.password if user is not None and user.active else None
        if not passwords.verify_password(stored, password) or user is None:
            return None
        new_hash = passwords.hash_password(password) if passwords.needs_rehash(user.password) else None
        secret, now = passwords.new_secret(), self._now()
        length = timedelta(days=days)

        def begin(db: Connection) -> None:
            sessions.forget_expired(db, iso(now))
            if new_hash is not None:
                users.renew_hash(db, user.id, user.password, new_hash)
            users.mark_used(db, user.id, iso(now))
            hash_ = passwords.fingerprint(secret)
            sessions.add(db, hash_, user.id, iso(now), iso(now + length), hint[:HINT], address[:HINT])

        self._database.write(begin)
        return NewSession(user.id, user.name, secret, int(length.total_seconds()))

    def sessions(self, user_id: int) -> list[Session]:
        """The sessions of a user."""
        db = self._database.read()
        return sessions.of_user(db, user_id, iso(self._now())) if db is not None else []

    def all_sessions(self) -> list[Session]:
        """The sessions of all users, the last used first."""
        db = self._database.read()
        return sessions.list_sessions(db, iso(self._now())) if db is not None else []

    def end_sessions(self, user_id: int, keep: int | None = None) -> int:
        """End all sessions of this user except `keep`. Returns how many."""
        return self._database.write(lambda db: sessions.end_all(db, user_id, keep))

    def end_session(self, session_id: int, user_id: int) -> bool:
        """End a session of this user. Returns whether it existed."""
        return self._database.write(lambda db: sessions.end(db, session_id, user_id))

    def _find(self, name: str) -> tuple[Connection, User]:
        db = self._database.read()
        user = users.by_folded(db, fold_name(name)) if db is not None else None
        if db is None or user is None:
            raise UsageError(f"there is no user {name!r}; 'chyme users list' shows all users")
        return db, user


def check_user_name(name: str) -> str:
    """Return the name as it is stored; UsageError says why it cannot be one."""
    clean_name = " ".join(unicodedata.normalize("NFC", name).split())
    if not clean_name or len(clean_name) > LONGEST_NAME or _FORBIDDEN.search(clean_name):
        raise UsageError(f"{name[:LONGEST_NAME]!r} is no name; take up to {LONGEST_NAME} letters, without / \\ and :")
    return clean_name


def insert_user(
    db: Connection, name: str, password_hash: str, everything: str | None, now: str, *, owner: bool = False
) -> int:
    """Insert a user whose name is not taken; return the number."""
    if users.by_folded(db, fold_name(name)) is not None:
        raise UsageError(f"there is a user {name!r} already; take another name")
    return users.add(db, name, fold_name(name), password_hash, everything, now, owner)


def _require_other_owner(db: Connection, user: User) -> None:
    if users.is_last_owner(db, user.id):
        raise UsageError(f"{user.name} is the last owner; make someone else an owner first")


def fold_name(name: str) -> str:
    """A name as it is compared: names that look alike are equal."""
    return unicodedata.normalize("NFKC", " ".join(name.split()).casefold()).casefold()


def rights_of(db: Connection, user: User) -> Rights:
    """What a user may do, and where."""
    grants = {grant.vault: Right(grant.right) for grant in users.grants_of(db, user.id)}
    return Rights(Right(user.everything) if user.everything else None, grants)


def _account(db: Connection, user: User) -> Account:
    everything = Right(user.everything) if user.everything else None
    grants = tuple(users.grants_of(db, user.id))
    return Account(user.name, everything, grants, user.created_at, user.id, user.owner, user.active, user.last_used_at)
