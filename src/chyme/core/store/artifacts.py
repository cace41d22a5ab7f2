"""Artifacts, in SQLite's own archive table: `sqlite3 vault.db -A -t` lists them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.model import THUMBNAIL, Artifact

MODE = 0o100644
JPEG = b"\xff\xd8\xff"  # compressed already: trying again costs time and gains nothing


@dataclass(frozen=True, slots=True)
class PackedArtifact:
    """An artifact as the archive stores it, made outside the writer thread."""

    filename: str
    size: int
    data: bytes


def pack(artifact: Artifact) -> PackedArtifact:
    """Compress if that makes it smaller; SQLite recognises compressed data by the size."""
    if artifact.data.startswith(JPEG):
        return PackedArtifact(artifact.filename, len(artifact.data), artifact.data)
    compressed = zlib.compress(artifact.data, 6)
    data = compressed if len(compressed) < len(artifact.data) else artifact.data
    return PackedArtifact(artifact.filename, len(artifact.data), data)


def path_hash(path: str) -> str:
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def name_of(path: str, digester: str, filename: str) -> str:
    return f"{path_hash(path)}/{digester}/{filename}"


def replace(db: Connection, path: str, digester: str, packed: Iterable[PackedArtifact], mtime: int) -> str | None:
    """Replace the digest's artifacts; returns the name of the first."""
    remove(db, path, digester)
    first = None
    for item in packed:
        name = name_of(path, digester, item.filename)
        db.execute(
            "INSERT INTO sqlar (name, mode, mtime, sz, data) VALUES (?, ?, ?, ?, ?)",
            (name, MODE, mtime, item.size, item.data),
        )
        first = first or name
    return first


def remove(db: Connection, path: str, digester: str | None = None) -> None:
    """Delete the artifacts of one digest, or of the whole file."""
    prefix = f"{path_hash(path)}/" + (f"{digester}/" if digester else "")
    db.execute("DELETE FROM sqlar WHERE name >= ? AND name < ?", (prefix, prefix[:-1] + "0"))


def move(db: Connection, old: str, new: str) -> None:
    """Move the artifacts of a renamed file. There must be none under the new name."""
    old_hash, new_hash = path_hash(old), path_hash(new)
    db.execute(
        "UPDATE sqlar SET name = ? || substr(name, 17) WHERE name >= ? AND name < ?",
        (new_hash, old_hash + "/", old_hash + "0"),
    )


def copy(db: Connection, old: str, new: str, digester: str) -> str | None:
    """Copy a digest's artifacts to another file; returns the name of the first."""
    remove(db, new, digester)
    old_hash, new_hash = path_hash(old), path_hash(new)
    db.execute(
        """
        INSERT INTO sqlar (name, mode, mtime, sz, data)
        SELECT ? || substr(name, 17), mode, mtime, sz, data FROM sqlar WHERE name >= ? AND name < ? ORDER BY rowid
        """,
        (new_hash, f"{old_hash}/{digester}/", f"{old_hash}/{digester}0"),
    )
    row = db.execute(
        "SELECT name FROM sqlar WHERE name >= ? AND name < ? ORDER BY rowid LIMIT 1",
        (f"{new_hash}/{digester}/", f"{new_hash}/{digester}0"),
    ).fetchone()
    return row[0] if row else None


def of_digest(db: Connection, path: str, digester: str) -> dict[str, bytes]:
    """filename → bytes of one digest's artifacts."""
    prefix = f"{path_hash(path)}/{digester}/"
    rows = db.execute("SELECT name, sz, data FROM sqlar WHERE name >= ? AND name < ?", (prefix, prefix[:-1] + "0"))
    return {name[len(prefix) :]: unpack(size, data) for name, size, data in rows}


def filenames(db: Connection, path: str, digester: str) -> list[str]:
    """The file names of one digest's artifacts."""
    prefix = f"{path_hash(path)}/{digester}/"
    rows = db.execute("SELECT name FROM sqlar WHERE name >= ? AND name < ? ORDER BY name", (prefix, prefix[:-1] + "0"))
    return [name[len(prefix) :] for (name,) in rows]


def read_visible(db: Connection, name: str) -> bytes | None:
    """An artifact by its whole name, unless its file has vanished."""
    folder = name.rpartition("/")[0]
    row = db.execute(
        """
        SELECT s.sz, s.data
          FROM digests d JOIN files f ON f.id = d.file_id AND f.vanished_at IS NULL, sqlar s
         WHERE d.sqlar_name >= :first AND d.sqlar_name < :last AND s.name = :name
        """,
        {"first": f"{folder}/", "last": f"{folder}0", "name": name},
    ).fetchone()
    return unpack(*row) if row else None


def has_thumbnail(db: Connection, path: str, digester: str) -> bool:
    """Whether the digest has the thumbnail that represents a document."""
    name = name_of(path, digester, THUMBNAIL)
    return db.execute("SELECT 1 FROM sqlar WHERE name = ?", (name,)).fetchone() is not None


def unpack(size: int, data: bytes) -> bytes:
    return data if len(data) == size else zlib.decompress(data)


def find_orphans(db: Connection, known: Iterable[tuple[str, str]]) -> list[str]:
    """Artifacts that belong to none of these (path, digester)."""
    prefixes = {f"{path_hash(path)}/{digester}" for path, digester in known}
    names = (row[0] for row in db.execute("SELECT name FROM sqlar"))
    return [name for name in names if name.rpartition("/")[0] not in prefixes]
