"""Ways in which disks, people and other programs damage a database."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

PAGE = 4096


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as stream:
        stream.seek(offset)
        stream.write(data)


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def root_page(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()[0])


def overwrite_pages(path: Path) -> None:
    """Overwrite every sixth page, from the middle of the first table on."""
    for page in range(20, path.stat().st_size // PAGE, 6):
        overwrite(path, page * PAGE, noise(PAGE))


def overwrite_header(path: Path) -> None:
    overwrite(path, 0, noise(100))


def overwrite_schema(path: Path) -> None:
    """Overwrite the rest of the first page, which says where every table begins."""
    overwrite(path, 100, noise(PAGE - 100))


def zero_pages(path: Path) -> None:
    """Zero forty pages, as a failing disk does."""
    overwrite(path, path.stat().st_size // 3 // PAGE * PAGE, bytes(PAGE * 40))


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def replace_by_foreign(path: Path) -> None:
    """Put another application's database in its place."""
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks (address TEXT)")
        db.commit()


def replace_by_foreign_of_our_version(path: Path) -> None:
    replace_by_foreign(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 9")


def replace_by_text(path: Path) -> None:
    path.write_text("<html>this is not a database</html>\n" * 400)


def empty_index(path: Path) -> None:
    """Remove all entries of an index whose table has rows."""
    overwrite(path, (root_page(path, "files_by_folder") - 1) * PAGE, b"\x0a\0\0\0\0\x10\0\0" + bytes(PAGE - 8))


def scribble_in_journal(path: Path) -> None:
    """Write noise as the journal. SQLite sees by the checksums that it is not a journal, and ignores it."""
    path.with_name(f"{path.name}-wal").write_bytes(noise(50_000))


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {  # damage → what every command reports
    "header": (overwrite_header, "does not begin like a database"),
    "schema": (overwrite_schema, "is damaged (database disk image is malformed)"),
    "hole": (zero_pages, "is damaged"),
    "cut short": (cut_short, "is cut short: "),
    "empty": (empty, "is empty (0 bytes), though there was one here: "),
    "foreign": (replace_by_foreign, "belongs to another application (its tables: bookmarks)"),
    "foreign, our version": (replace_by_foreign_of_our_version, "belongs to another application"),
    "text": (replace_by_text, "does not begin like a database"),
}
