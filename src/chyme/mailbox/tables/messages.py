"""The messages of the mailbox: which were taken, which wait for another attempt, and which were left out."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the folder."""

    uidvalidity: int
    uid: int
    state: str  # failed: tried again; stored: not yet reported to the server; done; skipped
    attempts: int
    path: str | None
    problem: str | None
    at: str


_FIELDS = "uidvalidity, uid, state, attempts, path, problem, at"


def highest_uid(db: Connection, mailbox: str, uidvalidity: int) -> int:
    """Return the highest uid that was seen; 0 if none was."""
    row = db.execute(
        "SELECT max(uid) FROM mail_messages WHERE mailbox = ? AND uidvalidity = ?", (mailbox, uidvalidity)
    ).fetchone()
    return row[0] or 0


def in_state(db: Connection, mailbox: str, state: str, limit: int) -> list[Message]:
    """Return the messages in this state, the newest first."""
    rows = db.execute(
        f"""
        SELECT {_FIELDS} FROM mail_messages
         WHERE mailbox = ? AND state = ? AND state <> 'done' ORDER BY at DESC, uid DESC LIMIT ?
        """,
        (mailbox, state, limit),
    )
    return [Message(*row) for row in rows]


def begin_attempt(db: Connection, mailbox: str, uidvalidity: int, uid: int, problem: str, now: str) -> int:
    """Count an attempt before it begins. Return how many there were."""
    row = db.execute(
        """
        INSERT INTO mail_messages (mailbox, uidvalidity, uid, state, attempts, problem, at)
             VALUES (:mailbox, :uidvalidity, :uid, 'failed', 1, :problem, :now)
                 ON CONFLICT DO UPDATE SET attempts = attempts + 1, at = :now WHERE state = 'failed'
          RETURNING attempts
        """,
        {"mailbox": mailbox, "uidvalidity": uidvalidity, "uid": uid, "problem": problem, "now": now},
    ).fetchone()
    return row[0] if row else 0


def give_back_attempt(db: Connection, mailbox: str, uidvalidity: int, uid: int) -> None:
    """Uncount an attempt that ended for a reason that the message has nothing to do with."""
    db.execute(
        """
        UPDATE mail_messages SET attempts = max(attempts - 1, 0)
         WHERE mailbox = ? AND uidvalidity = ? AND uid = ? AND state = 'failed'
        """,
        (mailbox, uidvalidity, uid),
    )


def record_problem(
    db: Connection, mailbox: str, uidvalidity: int, uid: int, state: str, problem: str, now: str
) -> None:
    """Record why a message was not taken, and whether it is tried again (`failed`) or not (`skipped`)."""
    db.execute(
        """
        UPDATE mail_messages SET state = :state, problem = :problem, at = :now
         WHERE mailbox = :mailbox AND uidvalidity = :uidvalidity AND uid = :uid AND state = 'failed'
        """,
        {
            "mailbox": mailbox,
            "uidvalidity": uidvalidity,
            "uid": uid,
            "state": state,
            "problem": problem,
            "now": now,
        },
    )


def record_stored(
    db: Connection,
    mailbox: str,
    uidvalidity: int,
    uid: int,
    content_hash: str,
    path: str | None,
    files: int,
    problem: str | None,
    now: str,
) -> None:
    """Record that the files of a message are in the vault."""
    db.execute(
        """
        UPDATE mail_messages
           SET state = 'stored', hash = :hash, path = :path, files = :files, problem = :problem, at = :now
         WHERE mailbox = :mailbox AND uidvalidity = :uidvalidity AND uid = :uid AND state = 'failed'
        """,
        {
            "mailbox": mailbox,
            "uidvalidity": uidvalidity,
            "uid": uid,
            "hash": content_hash,
            "path": path,
            "files": files,
            "problem": problem,
            "now": now,
        },
    )


def path_of_same(db: Connection, mailbox: str, content_hash: str) -> str | None:
    """Return the path of the file of a message with this content that was taken; None if none was."""
    row = db.execute(
        """
        SELECT coalesce(path, '') FROM mail_messages
         WHERE mailbox = ? AND hash = ? AND state IN ('stored', 'done') LIMIT 1
        """,
        (mailbox, content_hash),
    ).fetchone()
    return row[0] if row else None


def finish(db: Connection, mailbox: str, uidvalidity: int, uid: int) -> None:
    """Record that the server has the request for a message."""
    db.execute(
        """
        UPDATE mail_messages SET state = 'done'
         WHERE mailbox = ? AND uidvalidity = ? AND uid = ? AND state = 'stored'
        """,
        (mailbox, uidvalidity, uid),
    )


def finish_older(db: Connection, mailbox: str, uidvalidity: int) -> None:
    """Close what the server no longer knows by these uids: it has given new ones to all messages."""
    db.execute(
        """
        UPDATE mail_messages SET state = CASE state WHEN 'stored' THEN 'done' ELSE 'skipped' END
         WHERE mailbox = ? AND uidvalidity <> ? AND state IN ('stored', 'failed')
        """,
        (mailbox, uidvalidity),
    )


def retry_skipped(db: Connection, mailbox: str) -> int:
    """Give skipped messages new attempts. Return how many."""
    return db.execute(
        "UPDATE mail_messages SET state = 'failed', attempts = 0 WHERE mailbox = ? AND state = 'skipped'", (mailbox,)
    ).rowcount


def count(db: Connection, mailbox: str) -> dict[str, int]:
    """Return how many messages were taken, are tried again, and were skipped; and the files of those taken."""
    row = db.execute(
        """
        SELECT count(*) FILTER (WHERE state IN ('stored', 'done')), count(*) FILTER (WHERE state = 'failed'),
               count(*) FILTER (WHERE state = 'skipped'), coalesce(sum(files), 0)
          FROM mail_messages WHERE mailbox = ?
        """,
        (mailbox,),
    ).fetchone()
    return {"messages": row[0], "waiting": row[1], "skipped": row[2], "files": row[3]}
