"""API tokens: what programs send instead of a name and a password."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.accounts.passwords import TOKEN_PREFIX, fingerprint, new_secret
from chyme.accounts.permissions import Right, Visitor
from chyme.accounts.tables import tokens, users
from chyme.accounts.tables.server_database import ServerDatabase
from chyme.accounts.tables.tokens import Token
from chyme.accounts.users import LONGEST_NAME, fold_name
from chyme.errors import UsageError
from chyme.model import iso

__all__ = ["ApiTokens", "NewToken", "Token"]

LONGEST_LIFE = 36_500  # days
MAX_TOKENS_PER_USER = 100
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token and its secret, which is shown only once."""

    token: Token
    secret: str


class ApiTokens:
    """All tokens of a server."""

    def __init__(self, database: ServerDatabase, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now

    def add(
        self,
        name: str,
        right: Right,
        vault: tuple[str, str] | None = None,
        owner: str | None = None,
        days: int | None = None,
    ) -> NewToken:
        """Create a token for one vault (identity, name) or all. With an owner it never grants more than the owner's
        rights."""
        shown = " ".join(name.split())
        if not shown or len(shown) > LONGEST_NAME or _FORBIDDEN.search(shown):
            raise UsageError(f"{name!r} is no name for a token; take up to {LONGEST_NAME} letters")
        if days is not None and not 1 <= days <= LONGEST_LIFE:
            raise UsageError(f"a token lives from 1 to {LONGEST_LIFE} days, not {days}")
        secret, now = new_secret(TOKEN_PREFIX), self._now()
        expires_at = iso(now + timedelta(days=days)) if days is not None else None

        def add(db: Connection) -> Token:
            user = users.by_folded(db, fold_name(owner)) if owner is not None else None
            if owner is not None and user is None:
                raise UsageError(f"there is no user {owner!r}; 'chyme users list' shows all users")
            user_id = user.id if user is not None else None
            if user_id is not None and len(tokens.of_user(db, user_id)) >= MAX_TOKENS_PER_USER:
                raise UsageError(f"{owner} has {MAX_TOKENS_PER_USER} tokens already; revoke those that are not in use")
            return tokens.add(db, shown, fingerprint(secret), user_id, right, vault, iso(now), expires_at)

        return NewToken(self._database.write(add), secret)

    def add_own(
        self, visitor: Visitor, name: str, right: Right, vault: tuple[str, str] | None, days: int | None
    ) -> NewToken:
        """Create a token of a signed-in user, for one vault (identity, name) or all of theirs."""
        if vault is not None and not visitor.may(vault[0], right):
            allowed = visitor.may(vault[0], Right.READ)
            raise UsageError(f"you may only read {vault[1]}" if allowed else f"there is no vault called {vault[1]!r}")
        return self.add(name, right, vault, visitor.name, days)

    def list_all(self) -> list[Token]:
        """All tokens, the oldest first."""
        db = self._database.read()
        return tokens.list_tokens(db) if db is not None else []

    def of_user(self, user_id: int) -> list[Token]:
        """The tokens of one user."""
        db = self._database.read()
        return tokens.of_user(db, user_id) if db is not None else []

    def owners(self) -> dict[int, str]:
        """The names of all users, by number."""
        db = self._database.read()
        return {user.id: user.name for user in users.list_users(db)} if db is not None else {}

    def revoke(self, token_id: int) -> bool:
        """Make the token invalid. Returns whether it existed."""
        return self._database.read() is not None and self._database.write(lambda db: tokens.remove(db, token_id))
