"""Properties of files that came from other programs: correspondent, archive number, notes, and fields of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection


def of_file(db: Connection, file_id: int) -> dict[str, str]:
    """Name → value, in alphabetical order."""
    rows = db.execute("SELECT name, value FROM file_properties WHERE file_id = ? ORDER BY name", (file_id,))
    return dict(rows.fetchall())


def replace_all(db: Connection, file_id: int, properties: Mapping[str, str]) -> bool:
    """Give a file these properties and no others. Returns whether that changed anything."""
    before = of_file(db, file_id)
    if before == dict(properties):
        return False
    db.execute("DELETE FROM file_properties WHERE file_id = ?", (file_id,))
    db.executemany(
        "INSERT INTO file_properties (file_id, name, value) VALUES (?, ?, ?)",
        [(file_id, name, value) for name, value in properties.items()],
    )
    return True
