"""Which files there are, and under which path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from sqlite3 import Connection
from typing import Any

from chyme.errors import UsageError
from chyme.model import File, Kind, Seen, Stamp

TRASHED = ".chyme/trashed/"  # placeholder path of a file that a person put into the trash; never on disk
_COLUMNS = (
    "id, path, name, kind, mime, dev, inode, size, mtime_ns, hash, generation, escaped, vanished_at, "
    "created_at, updated_at"
)
_AT_OR_BELOW = """
    (:prefix = '' OR path = :prefix OR (path >= :prefix || '/' AND path < :prefix || '0')) AND vanished_at IS NULL
"""
_BY_ID = f"SELECT {_COLUMNS} FROM files WHERE id = ?"
_KINDS = {str(kind): kind for kind in Kind}
_IN_TRASH = f"(path >= '{TRASHED}' AND path < '{TRASHED[:-1]}0')"


def _from_row(row: Sequence[Any]) -> File:
    id_, path, name, kind, mime, dev, inode, size, mtime_ns, hash_, generation, escaped, vanished, made, changed = row
    return File(
        id_, path, name, _KINDS[kind], mime, Stamp(dev, inode, size, mtime_ns), hash_, generation, bool(escaped),
        vanished, made, changed,
    )  # fmt: skip


def by_id(db: Connection, file_id: int) -> File | None:
    row = db.execute(_BY_ID, (file_id,)).fetchone()
    return _from_row(row) if row else None


def path_of(db: Connection, file_id: int) -> str | None:
    """The path of a file; None if there is no such file."""
    row = db.execute("SELECT path FROM files WHERE id = ?", (file_id,)).fetchone()
    return row[0] if row else None


def by_path(db: Connection, path: str) -> File | None:
    """The file at this path, vanished or not."""
    row = db.execute(f"SELECT {_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()
    return _from_row(row) if row else None


def find(db: Connection, path: str) -> File:
    """The same; raises UsageError if there is none."""
    file = by_path(db, path)
    if file is None:
        raise unknown_file(path)
    return file


def unknown_file(path: str) -> UsageError:
    """The error for a path at which the vault has no file."""
    return UsageError(f"{path}: is not a file of this vault; 'chyme digest' takes in what is new")


def in_folder(db: Connection, folder: str) -> dict[str, File]:
    """The files directly in this folder, including vanished ones, by path."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM files WHERE folder = ?", (folder,))
    return {file.path: file for file in map(_from_row, rows)}


def stamps_in_folder(db: Connection, folder: str) -> dict[str, tuple[int, int, int, str, str, int]]:
    """path → (id, size, mtime_ns, inode, dev, vanished), for comparing a folder with the disk quickly."""
    rows = db.execute(
        "SELECT path, id, size, mtime_ns, inode, dev, vanished_at IS NOT NULL FROM files WHERE folder = ?", (folder,)
    )
    return {row[0]: row[1:] for row in rows}


def folders(db: Connection, below: str = "") -> Iterator[str]:
    """All folders that hold a file that has not vanished, at or below the given one."""
    rows = db.execute(
        """
        SELECT DISTINCT folder FROM files
         WHERE (:below = '' OR folder = :below OR (folder >= :below || '/' AND folder < :below || '0'))
           AND vanished_at IS NULL
        """,
        {"below": below},
    )
    return (row[0] for row in rows)


def below(db: Connection, prefix: str) -> list[File]:
    """All files at this path or in the folder of that name, not vanished."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM files WHERE {_AT_OR_BELOW} ORDER BY path", {"prefix": prefix})
    return [_from_row(row) for row in rows]


def ids_below(db: Connection, prefix: str) -> list[int]:
    """The same as `below`, but only the ids."""
    rows = db.execute(f"SELECT id FROM files WHERE {_AT_OR_BELOW}", {"prefix": prefix})
    return [file_id for (file_id,) in rows]


def by_ids(db: Connection, file_ids: Sequence[int]) -> list[File]:
    """Those of these files that exist."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM files WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(file_ids)),)
    )
    return [_from_row(row) for row in rows]


def of_kinds(db: Connection, kinds: Sequence[Kind], after: int, limit: int) -> list[File]:
    """The next files of these kinds that have not vanished, by their number."""
    statement = f"""
        SELECT {_COLUMNS} FROM files
         WHERE id > ? AND vanished_at IS NULL AND kind IN (SELECT value FROM json_each(?))
         ORDER BY id LIMIT ?
    """
    return [_from_row(row) for row in db.execute(statement, (after, json.dumps(list(kinds)), limit))]


def insert(db: Connection, seen: Seen, now: str) -> int:
    """Add a new file. Returns its id."""
    cursor = db.execute(
        """
        INSERT INTO files (path, folder, name, escaped, kind, mime, size, mtime_ns, dev, inode, hash,
                           created_at, updated_at)
        VALUES (:path, :folder, :name, :escaped, :kind, :mime, :size, :mtime_ns, :dev, :inode, :hash, :now, :now)
        """,
        _values(seen, now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def update_content(db: Connection, file_id: int, seen: Seen, now: str) -> None:
    """The content at this path has changed: a new generation of the same file."""
    db.execute(
        """
        UPDATE files
           SET kind = :kind, mime = :mime, size = :size, mtime_ns = :mtime_ns, dev = :dev, inode = :inode,
               hash = :hash, generation = generation + 1, vanished_at = NULL, updated_at = :now
         WHERE id = :id
        """,
        {**_values(seen, now), "id": file_id},
    )


def update_stamp(db: Connection, file_id: int, stamp: Stamp, now: str) -> None:
    """Same content, touched or copied back: only what identifies it on disk changed. It exists again."""
    db.execute(
        """
        UPDATE files SET size = ?, mtime_ns = ?, dev = ?, inode = ?, vanished_at = NULL, updated_at = ? WHERE id = ?
        """,
        (stamp.size, stamp.mtime_ns, stamp.dev, stamp.inode, now, file_id),
    )


def move(db: Connection, file_id: int, path: str, escaped: bool, now: str) -> None:
    """Give a file another path. Another file at that path must have been moved before."""
    folder, _, name = path.rpartition("/")
    db.execute(
        "UPDATE files SET path = ?, folder = ?, name = ?, escaped = ?, updated_at = ? WHERE id = ?",
        (path, folder, name, int(escaped), now, file_id),
    )


def mark_vanished(db: Connection, file_id: int, now: str) -> bool:
    """Hide a file that is no longer on disk. False if it was hidden already."""
    changed = db.execute(
        "UPDATE files SET vanished_at = ?, updated_at = ? WHERE id = ? AND vanished_at IS NULL", (now, now, file_id)
    ).rowcount
    return changed == 1


def delete(db: Connection, file_id: int) -> None:
    """Delete a file and everything that refers to it."""
    db.execute("DELETE FROM files WHERE id = ?", (file_id,))


def vanished_before(db: Connection, moment: str) -> list[File]:
    """The files that vanished at or before this time, not counting those in the trash."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM files WHERE vanished_at <= ? AND NOT {_IN_TRASH} ORDER BY +path", (moment,)
    )
    return [_from_row(row) for row in rows]


def in_trash(db: Connection) -> list[File]:
    """The files a person has put into the trash."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM files WHERE {_IN_TRASH} ORDER BY path")
    return [_from_row(row) for row in rows]


def same_inode(db: Connection, stamp: Stamp) -> list[File]:
    """Files known under the same device, inode, size and time: a rename, unless they are still where they were."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM files WHERE inode = ? AND dev = ? AND size = ? AND mtime_ns = ?",
        (stamp.inode, stamp.dev, stamp.size, stamp.mtime_ns),
    )
    return [_from_row(row) for row in rows]


def same_content(db: Connection, hash_: str, limit: int = 100) -> list[File]:
    """Files known with the same content, oldest first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM files WHERE hash = ? ORDER BY created_at LIMIT ?", (hash_, limit))
    return [_from_row(row) for row in rows]


def counts(db: Connection) -> tuple[int, int]:
    """How many files there are, and how many have vanished, not counting those in the trash."""
    everything, vanished, in_trash = db.execute(
        f"""
        SELECT (SELECT count(*) FROM files),
               (SELECT count(*) FROM files INDEXED BY files_vanished WHERE vanished_at IS NOT NULL),
               (SELECT count(*) FROM files WHERE {_IN_TRASH})
        """
    ).fetchone()
    return everything - vanished, vanished - in_trash


def _values(seen: Seen, now: str) -> dict[str, object]:
    return {
        "path": seen.path,
        "folder": seen.folder,
        "name": seen.name,
        "escaped": int(seen.escaped),
        "kind": str(seen.kind),
        "mime": seen.mime,
        "size": seen.stamp.size,
        "mtime_ns": seen.stamp.mtime_ns,
        "dev": seen.stamp.dev,
        "inode": seen.stamp.inode,
        "hash": seen.hash,
        "now": now,
    }
