"""Access tokens, which programs use instead of a name and a password. Only their hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any


@dataclass(frozen=True, slots=True)
class Token:
    """What a token gives access to, and for how long."""

    id: int
    name: str
    user_id: int | None
    right: str
    vault: str | None  # the vault's identity; None: all vaults
    vault_name: str | None
    created_at: str
    last_used_at: str | None
    expires_at: str | None


# A token that may only add stands in the table as one that may write in a vault of a name that no vault has: where an
# older chyme reads the table, it opens nothing.
_ADD, _ADD_MARK, _ANY = "add", "add:", "*"
_FIELDS = 'id, name, user_id, "right", vault, vault_name, created_at, last_used_at, expires_at'


def add(
    db: Connection,
    name: str,
    hash_: str,
    user_id: int | None,
    right: str,
    vault: tuple[str, str] | None,
    now: str,
    expires_at: str | None,
) -> Token:
    """Add a token; `vault` is (identity, name), None for all vaults."""
    identity, vault_name = vault or (None, None)
    if right == _ADD:
        right, identity, vault_name = "write", f"{_ADD_MARK}{identity or _ANY}", vault_name or _ANY
    row = db.execute(
        f"""
        INSERT INTO tokens (name, hash, user_id, "right", vault, vault_name, created_at, expires_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING {_FIELDS}
        """,
        (name, hash_, user_id, right, identity, vault_name, now, expires_at),
    ).fetchone()
    return _token(row)


def by_hash(db: Connection, hash_: str, now: str) -> Token | None:
    """The token with this hash, unless it has expired."""
    row = db.execute(
        f"SELECT {_FIELDS} FROM tokens WHERE hash = ? AND (expires_at IS NULL OR expires_at > ?)", (hash_, now)
    ).fetchone()
    return _token(row) if row else None


def by_id(db: Connection, token_id: int, now: str) -> Token | None:
    """The token with this id, unless it has expired."""
    row = db.execute(
        f"SELECT {_FIELDS} FROM tokens WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)", (token_id, now)
    ).fetchone()
    return _token(row) if row else None


def list_tokens(db: Connection) -> list[Token]:
    return [_token(row) for row in db.execute(f"SELECT {_FIELDS} FROM tokens ORDER BY id")]


def of_user(db: Connection, user_id: int) -> list[Token]:
    rows = db.execute(f"SELECT {_FIELDS} FROM tokens WHERE user_id = ? ORDER BY id", (user_id,))
    return [_token(row) for row in rows]


def mark_used(db: Connection, token_id: int, now: str) -> None:
    db.execute("UPDATE tokens SET last_used_at = ? WHERE id = ?", (now, token_id))


def remove(db: Connection, token_id: int) -> bool:
    """Remove a token; return whether it existed."""
    return db.execute("DELETE FROM tokens WHERE id = ?", (token_id,)).rowcount == 1


def _token(row: tuple[Any, ...]) -> Token:
    token = Token(*row)
    if token.vault is None or not token.vault.startswith(_ADD_MARK):
        return token
    identity = token.vault.removeprefix(_ADD_MARK)
    if identity == _ANY:
        return replace(token, right=_ADD, vault=None, vault_name=None)
    return replace(token, right=_ADD, vault=identity)
