"""Leases: which process works on which file, one lease per file, across processes and machines."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.model import Lease


def take(db: Connection, file_id: int, owner: str, token: str, now: str, until: str) -> Lease | None:
    """The lease on a file, or None while another owner's is live."""
    taken = db.execute(
        """
        INSERT INTO processing_locks (file_id, locked_by, locked_at, lease_until, token)
        VALUES (:file, :owner, :now, :until, :token)
        ON CONFLICT (file_id) DO UPDATE
           SET locked_by = :owner, locked_at = :now, lease_until = :until, token = :token
         WHERE lease_until <= :now
        """,
        {"file": file_id, "owner": owner, "now": now, "until": until, "token": token},
    ).rowcount
    return Lease(file_id, token) if taken else None


def is_held(db: Connection, lease: Lease) -> bool:
    """Whether this lease is still valid."""
    row = db.execute("SELECT 1 FROM processing_locks WHERE file_id = ? AND token = ?", (lease.file_id, lease.token))
    return row.fetchone() is not None


def extend(db: Connection, lease: Lease, until: str) -> None:
    db.execute(
        "UPDATE processing_locks SET lease_until = max(lease_until, ?) WHERE file_id = ? AND token = ?",
        (until, lease.file_id, lease.token),
    )


def release(db: Connection, lease: Lease) -> None:
    db.execute("DELETE FROM processing_locks WHERE file_id = ? AND token = ?", (lease.file_id, lease.token))


def owners(db: Connection) -> list[str]:
    """All owners of leases, live or expired."""
    return [row[0] for row in db.execute("SELECT DISTINCT locked_by FROM processing_locks")]


def owner_of(db: Connection, file_id: int) -> str | None:
    row = db.execute("SELECT locked_by FROM processing_locks WHERE file_id = ?", (file_id,)).fetchone()
    return row[0] if row else None


def free_owner(db: Connection, owner: str) -> int:
    """Drop all leases of an owner that is known to be dead. Returns how many."""
    return db.execute("DELETE FROM processing_locks WHERE locked_by = ?", (owner,)).rowcount


def free_expired(db: Connection, now: str) -> int:
    return db.execute("DELETE FROM processing_locks WHERE lease_until <= ?", (now,)).rowcount
