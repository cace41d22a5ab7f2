"""The small records of a Paperless manifest, in a temporary database: notes come before their document, and many."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any, Self


class ManifestIndex:
    """Names by model and number, and notes and fields by document. Lives in a temporary file, not in memory."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("")  # SQLite deletes it when it is closed, or when the process dies
        self._db.execute("PRAGMA cache_size = -4096")
        self._db.execute(
            "CREATE TABLE records (model TEXT, pk TEXT, fields TEXT, PRIMARY KEY (model, pk)) WITHOUT ROWID"
        )
        self._db.execute("CREATE TABLE parts (document TEXT, model TEXT, fields TEXT)")
        self._db.execute("CREATE INDEX parts_of_document ON parts (document)")

    def add_record(self, model: str, pk: object, fields: Mapping[str, Any]) -> None:
        self._db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (model, str(pk), json.dumps(fields)))

    def add_part(self, document: object, model: str, fields: Mapping[str, Any]) -> None:
        """Add a note or the value of a field, which belongs to a document."""
        self._db.execute("INSERT INTO parts VALUES (?, ?, ?)", (str(document), model, json.dumps(fields)))

    def record(self, model: str, pk: object) -> dict[str, Any]:
        """The fields of a record; empty if there is none."""
        row = self._db.execute("SELECT fields FROM records WHERE model = ? AND pk = ?", (model, str(pk))).fetchone()
        return dict(json.loads(row[0])) if row else {}

    def parts(self, document: object) -> list[tuple[str, dict[str, Any]]]:
        """The notes and fields of a document, in the order of the manifest."""
        rows = self._db.execute("SELECT model, fields FROM parts WHERE document = ? ORDER BY rowid", (str(document),))
        return [(model, json.loads(fields)) for model, fields in rows]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
