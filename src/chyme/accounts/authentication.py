"""Authentication on a server: who has access by session or token, and to what."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

from chyme.accounts.api_tokens import ApiTokens
from chyme.accounts.invitations import Invitations
from chyme.accounts.login_throttle import LoginThrottle
from chyme.accounts.passwords import fingerprint
from chyme.accounts.permissions import Right, Rights, Visitor
from chyme.accounts.tables import sessions, tokens, users
from chyme.accounts.tables.server_database import ServerDatabase
from chyme.accounts.tables.sessions import Session
from chyme.accounts.tables.tokens import Token
from chyme.accounts.users import Accounts, fold_name, rights_of
from chyme.core.user_reference import UserReference
from chyme.errors import UsageError
from chyme.model import iso

LAST_USED_INTERVAL = timedelta(minutes=1)
WRONG_PASSWORDS = 5
WRONG_CODES = 10  # of invitations and of the set-up; these cannot be guessed either
WRONG_TOKENS = 20  # a token cannot be guessed; but a script with an old token must not keep the server busy


class Authenticator:
    """Open while there is no account or token; then closed to requests without one. Must be closed."""

    def __init__(self, folder: Path, now: Callable[[], datetime]) -> None:
        self._database = ServerDatabase(folder)
        self._now = now
        self.accounts = Accounts(self._database, now)
        self.tokens = ApiTokens(self._database, now)
        self.wrong_passwords = LoginThrottle(WRONG_PASSWORDS, now)
        self.invitations = Invitations(self._database, now)
        self.wrong_codes = LoginThrottle(WRONG_CODES, now)
        self.wrong_tokens = LoginThrottle(WRONG_TOKENS, now)
        self.wrong_links = LoginThrottle(WRONG_TOKENS, now)  # of shared files and feeds

    @property
    def path(self) -> Path:
        """The database of users and tokens, which may not exist."""
        return self._database.path

    @property
    def login_required(self) -> bool:
        """Whether there is any account or token, so that every request needs one."""
        db = self._database.read()
        return db is not None and users.has_any(db)

    @contextlib.contextmanager
    def explain_damage(self) -> Iterator[None]:
        """Turn an error of the damaged account database into one clear sentence."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._database.explain(error) from error

    def by_token(self, secret: str) -> Visitor | None:
        """The visitor with this token."""
        db, now = self._database.read(), self._now()
        token = tokens.by_hash(db, fingerprint(secret), iso(now)) if db is not None else None
        if db is None or token is None:
            return None
        if token.last_used_at is None or now - datetime.fromisoformat(token.last_used_at) >= LAST_USED_INTERVAL:
            self._database.submit(lambda db: _mark_token_used(db, token, iso(now)))
        return _token_visitor(db, token)

    def by_session(self, secret: str, address: str = "") -> Visitor | None:
        """The visitor who is signed in with this cookie; `address` is where the request came from."""
        db, now = self._database.read(), self._now()
        session = sessions.by_hash(db, fingerprint(secret), iso(now)) if db is not None else None
        if db is None or session is None:
            return None
        if now - datetime.fromisoformat(session.seen_at) >= LAST_USED_INTERVAL:
            self._database.submit(lambda db: _mark_session_used(db, session, iso(now), address))
        return _session_visitor(db, session)

    def find_user(self, name: str) -> UserReference:
        """The user with this name, as vaults refer to them; UsageError if there is none."""
        db = self._database.read()
        user = users.by_folded(db, fold_name(name)) if db is not None else None
        if user is None:
            raise UsageError(f"there is no user {name!r}; 'chyme users list' shows all users")
        return UserReference(user.id, user.name)

    def may_still(self, user: UserReference, vault: str, right: Right) -> bool:
        """Whether a user has this right to the vault with this identity, as of now."""
        db = self._database.read()
        found = users.by_id(db, user.id) if db is not None else None
        if db is None or found is None or not found.active or found.name != user.name:
            return False
        return rights_of(db, found).allow(vault, right)

    def refresh(self, visitor: Visitor) -> Visitor | None:
        """The same visitor as of now: rights may have changed, the session or token may be invalid."""
        db, now = self._database.read(), iso(self._now())
        if db is None:
            return None
        if visitor.token_id is not None:
            token = tokens.by_id(db, visitor.token_id, now)
            return _token_visitor(db, token) if token is not None else None
        session = sessions.by_id(db, visitor.session_id, now) if visitor.session_id is not None else None
        return _session_visitor(db, session) if session is not None else None

    def version(self) -> int:
        """A number that changes with every change of accounts, by any process; it means nothing elsewhere."""
        return self._database.version()

    def close(self) -> None:
        self._database.close()


def _session_visitor(db: Connection, session: Session) -> Visitor | None:
    user = users.by_id(db, session.user_id)
    if user is None or not user.active:
        return None
    reference = UserReference(user.id, user.name)
    rights = (rights_of(db, user),)
    return Visitor(user.name, rights, user.id, session_id=session.id, is_owner=user.owner, user=reference)


def _token_visitor(db: Connection, token: Token) -> Visitor | None:
    right = Right(token.right)
    rights = [Rights(right) if token.vault is None else Rights(vaults={token.vault: right})]
    reference = None
    if token.user_id is not None:
        owner = users.by_id(db, token.user_id)
        if owner is None or not owner.active:
            return None
        rights.append(rights_of(db, owner))
        reference = UserReference(owner.id, owner.name)
    return Visitor(token.name, tuple(rights), token.user_id, token_id=token.id, user=reference)


def _mark_token_used(db: Connection, token: Token, now: str) -> None:
    tokens.mark_used(db, token.id, now)
    if token.user_id is not None:
        users.mark_used(db, token.user_id, now)


def _mark_session_used(db: Connection, session: Session, now: str, address: str) -> None:
    sessions.mark_seen(db, session.id, now, address)
    users.mark_used(db, session.user_id, now)
