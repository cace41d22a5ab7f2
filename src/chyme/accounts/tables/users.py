"""Users who may sign in, and their rights to vaults."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any


@dataclass(frozen=True, slots=True)
class User:
    """A user with a password."""

    id: int
    name: str
    password: str  # argon2
    everything: str | None  # the right to all vaults
    created_at: str
    owner: bool
    active: bool
    last_used_at: str | None


@dataclass(frozen=True, slots=True)
class Grant:
    """What one user may do in one vault."""

    vault: str  # the vault's identity
    vault_name: str
    right: str


_FIELDS = "id, name, password, everything, created_at, owner, active, last_used_at"


def _user(row: tuple[Any, ...]) -> User:
    id_, name, password, everything, created_at, owner, active, last_used_at = row
    return User(id_, name, password, everything, created_at, bool(owner), bool(active), last_used_at)


def has_any(db: Connection) -> bool:
    """Whether anyone can get access by name or token."""
    row = db.execute("SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM tokens)").fetchone()
    return bool(row[0])


def add(
    db: Connection, name: str, folded: str, password: str, everything: str | None, now: str, owner: bool = False
) -> int:
    row = db.execute(
        """
        INSERT INTO users (name, folded, password, everything, created_at, owner)
             VALUES (?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (name, folded, password, everything, now, owner),
    ).fetchone()
    return int(row[0])


def by_folded(db: Connection, folded: str) -> User | None:
    row = db.execute(f"SELECT {_FIELDS} FROM users WHERE folded = ?", (folded,)).fetchone()
    return _user(row) if row else None


def by_id(db: Connection, user_id: int) -> User | None:
    row = db.execute(f"SELECT {_FIELDS} FROM users WHERE id = ?", (user_id,)).fetchone()
    return _user(row) if row else None


def list_users(db: Connection) -> list[User]:
    return [_user(row) for row in db.execute(f"SELECT {_FIELDS} FROM users ORDER BY folded")]


def change_password(db: Connection, user_id: int, password: str) -> None:
    db.execute("UPDATE users SET password = ? WHERE id = ?", (password, user_id))


def renew_hash(db: Connection, user_id: int, before: str, password: str) -> None:
    """Store the same password hashed with current settings, unless it was changed in the meantime."""
    db.execute("UPDATE users SET password = ? WHERE id = ? AND password = ?", (password, user_id, before))


def change_everything(db: Connection, user_id: int, right: str | None) -> None:
    db.execute("UPDATE users SET everything = ? WHERE id = ?", (right, user_id))


def is_last_owner(db: Connection, user_id: int) -> bool:
    """Whether this user is an active owner, and no other user is."""
    owners = [row[0] for row in db.execute("SELECT id FROM users WHERE owner AND active LIMIT 2")]
    return owners == [user_id]


def change_owner(db: Connection, user_id: int, owner: bool) -> None:
    db.execute("UPDATE users SET owner = ? WHERE id = ?", (owner, user_id))


def change_active(db: Connection, user_id: int, active: bool) -> None:
    db.execute("UPDATE users SET active = ? WHERE id = ?", (active, user_id))


def mark_used(db: Connection, user_id: int, now: str) -> None:
    db.execute("UPDATE users SET last_used_at = ? WHERE id = ?", (now, user_id))


def remove(db: Connection, user_id: int) -> None:
    """Remove a user with grants, sessions and tokens."""
    db.execute("DELETE FROM users WHERE id = ?", (user_id,))


def grants_of(db: Connection, user_id: int) -> list[Grant]:
    rows = db.execute('SELECT vault, vault_name, "right" FROM grants WHERE user_id = ? ORDER BY vault_name', (user_id,))
    return [Grant(*row) for row in rows]


def grant(db: Connection, user_id: int, vault: str, vault_name: str, right: str) -> None:
    db.execute(
        """
        INSERT INTO grants (user_id, vault, vault_name, "right") VALUES (?, ?, ?, ?)
            ON CONFLICT (user_id, vault) DO UPDATE SET vault_name = excluded.vault_name, "right" = excluded."right"
        """,
        (user_id, vault, vault_name, right),
    )


def revoke(db: Connection, user_id: int, vault: str) -> bool:
    """Revoke a grant; return whether there was one."""
    return db.execute("DELETE FROM grants WHERE user_id = ? AND vault = ?", (user_id, vault)).rowcount == 1
