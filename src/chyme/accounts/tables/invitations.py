"""Invitations: links by which people make their own accounts. Only hashes of their secrets are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any

from chyme.accounts.tables.users import Grant


@dataclass(frozen=True, slots=True)
class Invitation:
    """What an invited person will be able to do, and what became of the invitation."""

    id: int
    note: str
    owner: bool
    everything: str | None
    invited_by: int | None  # None: made at the command line
    created_at: str
    expires_at: str
    revoked_at: str | None
    redeemed_at: str | None
    redeemed_by: str | None
    grants: tuple[Grant, ...] = ()

    def state(self, now: str) -> str:
        """Return `open`, `used`, `revoked` or `expired`."""
        if self.redeemed_at is not None:
            return "used"
        if self.revoked_at is not None:
            return "revoked"
        return "open" if self.expires_at > now else "expired"


_FIELDS = "id, note, owner, everything, invited_by, created_at, expires_at, revoked_at, redeemed_at, redeemed_by"
_OPEN = "redeemed_at IS NULL AND revoked_at IS NULL AND expires_at > :now"


def add(
    db: Connection,
    hash_: str,
    note: str,
    owner: bool,
    everything: str | None,
    grants: tuple[Grant, ...],
    invited_by: int | None,
    now: str,
    expires_at: str,
) -> Invitation:
    row = db.execute(
        f"""
        INSERT INTO invitations (hash, note, owner, everything, invited_by, created_at, expires_at)
             VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING {_FIELDS}
        """,
        (hash_, note, owner, everything, invited_by, now, expires_at),
    ).fetchone()
    db.executemany(
        'INSERT INTO invitation_grants (invitation_id, vault, vault_name, "right") VALUES (?, ?, ?, ?)',
        [(row[0], grant.vault, grant.vault_name, grant.right) for grant in grants],
    )
    return _invitation(db, row)


def open_by_hash(db: Connection, hash_: str, now: str) -> Invitation | None:
    """The invitation with this hash, unless it is used, revoked or expired."""
    row = db.execute(
        f"SELECT {_FIELDS} FROM invitations WHERE hash = :hash AND {_OPEN}", {"hash": hash_, "now": now}
    ).fetchone()
    return _invitation(db, row) if row else None


def redeem(db: Connection, invitation_id: int, name: str, now: str) -> bool:
    """Mark an open invitation as used by this new user; return whether it was still open."""
    changed = db.execute(
        f"UPDATE invitations SET redeemed_at = :now, redeemed_by = :name WHERE id = :id AND {_OPEN}",
        {"id": invitation_id, "name": name, "now": now},
    )
    return changed.rowcount == 1


def revoke(db: Connection, invitation_id: int, now: str) -> bool:
    """Revoke an open invitation; return whether there was one."""
    changed = db.execute(
        f"UPDATE invitations SET revoked_at = :now WHERE id = :id AND {_OPEN}", {"id": invitation_id, "now": now}
    )
    return changed.rowcount == 1


def revoke_those_of(db: Connection, user_id: int, now: str) -> None:
    """Revoke the open invitations of an inviter."""
    db.execute(
        f"UPDATE invitations SET revoked_at = :now WHERE invited_by = :user AND {_OPEN}", {"user": user_id, "now": now}
    )


def list_invitations(db: Connection) -> list[Invitation]:
    """All invitations, the newest first."""
    rows = db.execute(f"SELECT {_FIELDS} FROM invitations ORDER BY id DESC").fetchall()
    return [_invitation(db, row) for row in rows]


def count_open(db: Connection, now: str) -> int:
    row = db.execute(f"SELECT count(*) FROM invitations WHERE {_OPEN}", {"now": now}).fetchone()
    return int(row[0])


def forget_before(db: Connection, moment: str) -> None:
    """Forget invitations that could not be used since that moment or longer."""
    db.execute("DELETE FROM invitations WHERE coalesce(redeemed_at, revoked_at, expires_at) < ?", (moment,))


def _invitation(db: Connection, row: tuple[Any, ...]) -> Invitation:
    grants = db.execute(
        'SELECT vault, vault_name, "right" FROM invitation_grants WHERE invitation_id = ? ORDER BY vault_name',
        (row[0],),
    )
    return replace(Invitation(*row), owner=bool(row[2]), grants=tuple(Grant(*grant) for grant in grants))
