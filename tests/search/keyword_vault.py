"""A small vault for search tests: real database, real digester, files made of plain words."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import BinaryIO

from upstreams import form_of

from chyme.digester import StaysHome
from chyme.model import File, Kind, Output, Stamp, Upstream
from chyme.search.results import SearchResult
from chyme.search.search import Search
from chyme.search.search_keyword import SearchKeyword
from chyme.search.searchable_texts import name_terms
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import dictionary, passages


def open_database(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = OFF")
    scripts = (
        script for script in (resources.files("chyme.core.store") / "migrations").iterdir() if script.name[:1] == "0"
    )
    for script in sorted(scripts, key=lambda script: script.name):
        db.executescript(script.read_text(encoding="utf-8"))
    return db


@dataclass
class WordsSource(StaysHome):
    """A file that exists only in memory, and the outputs made from it so far."""

    file: File
    data: bytes = b""
    outputs: dict[str, Upstream] = field(default_factory=dict)
    scratch: Path = Path()

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def output(self, name: str) -> Upstream | None:
        return self.outputs.get(name)

    def progress(self, fraction: float) -> None:
        pass


def a_file(path: str, kind: Kind = Kind.TEXT, id_: int = 1) -> File:
    return File(id_, path, path.rsplit("/", maxsplit=1)[-1], kind, "text/plain", Stamp("1", "1", 1, 0), "hash", 1)


def digest(path: str, text: str, kind: Kind = Kind.TEXT, outputs: Iterable[Upstream] = ()) -> Output:
    source = WordsSource(a_file(path, kind), text.encode(), {output.name: output for output in outputs})
    return SearchKeyword().digest(source)[0]


class Shelf:
    """Adds files as the coordinator would, and searches for them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.index = Search(lambda: db, SqliteIndex(lambda: db), form_of=form_of)

    def put(
        self,
        path: str,
        text: str = "",
        *,
        kind: Kind = Kind.TEXT,
        title: str | None = None,
        tags: Iterable[str] = (),
        summary: str | None = None,
        date: str | None = None,
        state: str = "completed",
        outputs: Iterable[Upstream] = (),
        hash_: str = "hash",
    ) -> int:
        file = a_file(path, kind)
        folder = path.rpartition("/")[0]
        row = self.db.execute(
            """
            INSERT INTO files (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, updated_at)
            VALUES (?, ?, ?, ?, 'text/plain', 1, 1700000000000000000, '1', '1', ?, 'now', 'now') RETURNING id
            """,
            (path, folder, file.name, kind, hash_),
        ).fetchone()
        file_id = int(row[0])
        names = list(tags)
        self.db.execute(
            "INSERT INTO documents (file_id, title, summary, date, tags, state, moved_at) "
            "VALUES (?, ?, ?, ?, json(?), ?, 'now')",
            (file_id, title, summary, date, str(names).replace("'", '"'), state),
        )
        terms = name_terms(file.name, title, names, summary)
        passages.write_names(self.db, file_id, terms)
        output = digest(path, text, kind, outputs)
        passages.replace(self.db, file_id, "search-keyword", output.passages, output.words)
        return file_id

    def purge(self, file_id: int) -> None:
        words = dictionary.find_unique_words(self.db, file_id)
        passages.remove(self.db, file_id)
        dictionary.forget(self.db, words)
        passages.remove_names(self.db, file_id)
        self.db.execute("DELETE FROM files WHERE id = ?", (file_id,))

    def ask(
        self, question: str, *, typing: bool = False, limit: int = 20, offset: int = 0, keep_conditions: bool = False
    ) -> SearchResult:
        return self.index.search(question, typing=typing, limit=limit, offset=offset, keep_conditions=keep_conditions)

    def found(self, question: str, *, typing: bool = False) -> list[str]:
        return [hit.path for hit in self.ask(question, typing=typing).hits]
