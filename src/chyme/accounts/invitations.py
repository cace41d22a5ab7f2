"""Invitations: an owner fixes the rights, the invited person chooses name and password. Each is used once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.accounts.passwords import fingerprint, hash_password, new_secret, validate_password
from chyme.accounts.permissions import Right
from chyme.accounts.tables import invitations, users
from chyme.accounts.tables.invitations import Invitation
from chyme.accounts.tables.server_database import ServerDatabase
from chyme.accounts.tables.users import Grant
from chyme.accounts.users import check_user_name, insert_user
from chyme.errors import NotFound, UsageError
from chyme.model import iso

__all__ = ["Invitation", "Invitations", "NewInvitation"]

PREFIX = "chyme_invitation_"  # makes a leaked link recognisable
DEFAULT_DAYS = 7
LONGEST_DAYS = 30
LONGEST_NOTE = 100
MAX_OPEN = 200
FORGOTTEN_AFTER = timedelta(days=30)
NOT_OPEN = "this invitation is not open: it was used, revoked, or it has expired; ask for a new one"
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """An invitation and its secret, which is shown only once."""

    invitation: Invitation
    secret: str


class Invitations:
    """All invitations of a server."""

    def __init__(self, database: ServerDatabase, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now

    def add(
        self,
        note: str,
        everything: Right | None,
        grants: Sequence[tuple[tuple[str, str], Right]],
        invited_by: int | None = None,
        *,
        owner: bool = False,
        days: int = DEFAULT_DAYS,
    ) -> NewInvitation:
        """Create an invitation with rights to every vault, to some ((identity, name), right), or both."""
        shown = " ".join(note.split())
        if len(shown) > LONGEST_NOTE or _FORBIDDEN.search(shown):
            raise UsageError(f"say for whom the invitation is in at most {LONGEST_NOTE} letters")
        if not 1 <= days <= LONGEST_DAYS:
            raise UsageError(f"an invitation is open for 1 to {LONGEST_DAYS} days, not {days}")
        secret, now = new_secret(PREFIX), self._now()
        rows = tuple(Grant(*vault, right) for vault, right in grants)

        def add(db: Connection) -> Invitation:
            inviter = users.by_id(db, invited_by) if invited_by is not None else None
            if invited_by is not None and not (inviter and inviter.owner and inviter.active):
                raise UsageError("only owners may invite")
            invitations.forget_before(db, iso(now - FORGOTTEN_AFTER))
            if invitations.count_open(db, iso(now)) >= MAX_OPEN:
                raise UsageError(f"{MAX_OPEN} invitations are open already; revoke those that are not needed")
            expires_at = iso(now + timedelta(days=days))
            return invitations.add(
                db, fingerprint(secret), shown, owner, everything, rows, invited_by, iso(now), expires_at
            )

        return NewInvitation(self._database.write(add), secret)

    def list_all(self) -> list[tuple[Invitation, str]]:
        """All invitations and their state, the newest first; those of more than a month ago are forgotten."""
        db, now = self._database.read(), iso(self._now())
        return [(found, found.state(now)) for found in invitations.list_invitations(db)] if db is not None else []

    def revoke(self, invitation_id: int) -> bool:
        """Revoke an open invitation. Returns whether there was one."""
        now = iso(self._now())
        return self._database.read() is not None and self._database.write(
            lambda db: invitations.revoke(db, invitation_id, now)
        )

    def find_open(self, secret: str) -> Invitation | None:
        """The invitation with this secret, while it is open."""
        db = self._database.read()
        return invitations.open_by_hash(db, fingerprint(secret.strip()), iso(self._now())) if db is not None else None

    def redeem(self, secret: str, name: str, password: str) -> str:
        """Make the account and return its name. Of several attempts at once only one succeeds."""
        if self.find_open(secret) is None:  # hashing a password costs much: only for those who were invited
            raise NotFound(NOT_OPEN)
        clean_name = check_user_name(name)
        password_hash = hash_password(validate_password(password, clean_name))
        hash_ = fingerprint(secret.strip())

        def redeem(db: Connection) -> None:
            now = iso(self._now())
            found = invitations.open_by_hash(db, hash_, now)
            if found is None or not invitations.redeem(db, found.id, clean_name, now):
                raise NotFound(NOT_OPEN)
            user_id = insert_user(db, clean_name, password_hash, found.everything, now, owner=found.owner)
            for grant in found.grants:
                users.grant(db, user_id, grant.vault, grant.vault_name, grant.right)

        self._database.write(redeem)
        return clean_name
