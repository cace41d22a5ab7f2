"""What must hold in a vault after chyme was killed many times."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from chyme.text.spelling_variants import comparison_key

Row = tuple[object, ...]


def opened(vault: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(vault / ".chyme/vault.db", timeout=30, isolation_level=None))


def outcomes(vault: Path) -> dict[Row, Row]:
    """(path, digester) → what became of it."""
    with opened(vault) as db:
        rows = db.execute(
            """
            SELECT file_path, digester, status, CASE digester WHEN 'speaker-embedding' THEN NULL ELSE content END,
                   content_hash, error_category
              FROM digests
            """
        )
        return {row[:2]: row[2:] for row in rows} | _people(db)


def in_one_spelling(ours: dict[Row, Row], theirs: dict[Row, Row]) -> dict[Row, Row]:
    """Our outcomes, with their spelling where a file's tags are the same in another one ("book", "books").

    Whoever comes first decides how a tag is spelt, and kills change who that is. Its words stand in the index, so that
    search-keyword counts others there. Nothing else is forgiven, and no other file.
    """
    told = dict(ours)
    for path, digester in [key for key in ours if key[1:] == ("tags",)]:
        mine, other = ours[path, digester], theirs.get((path, digester))
        if other is None or mine == other or _but_for_spelling(mine) != _but_for_spelling(other):
            continue
        told[path, digester] = other
        indexed = (path, "search-keyword")
        if indexed in theirs and _but_for_words(ours[indexed]) == _but_for_words(theirs[indexed]):
            told[indexed] = theirs[indexed]
    return told


def _but_for_spelling(row: Row) -> Row:
    status, content, _hash, error = row
    told = json.loads(str(content)) if content else {}
    tags = [comparison_key(tag) for tag in told.get("tags", ())]
    reused = {
        tag: comparison_key(used)
        for tag, used in told.get("reused", {}).items()
        if comparison_key(used) != comparison_key(tag)
    }
    return (status, {**told, "tags": tags, "reused": reused}, error)


def _but_for_words(row: Row) -> Row:
    status, content, _hash, error = row
    return (status, {**(json.loads(str(content)) if content else {}), "words": None}, error)


def _people(db: sqlite3.Connection) -> dict[Row, Row]:
    """Who is taken for whom. Numbers tell who came first, so people are told by the first file they are heard in."""
    voices = db.execute(
        """
        SELECT f.path, v.speaker, g.person_id
          FROM voices v
          JOIN voice_groups g ON g.id = v.group_id
          JOIN files f ON f.id = v.file_id
         ORDER BY f.path, v.speaker
        """
    ).fetchall()
    first: dict[object, Row] = {}
    for path, speaker, person in voices:
        first.setdefault(person, (path, speaker))
    return {(path, f"whose voice {speaker} is"): first[person] for path, speaker, person in voices}


def pieces(vault: Path) -> dict[Row, Row]:
    """Every passage, place and title by path: what search answers from."""
    questions = (
        "SELECT f.path, 'passage', p.digester, p.ordinal, p.text FROM passages p JOIN files f ON f.id = p.file_id",
        "SELECT f.path, 'place', p.digester, p.ordinal, p.start || '-' || p.\"end\" FROM places p "
        "JOIN files f ON f.id = p.file_id",
        "SELECT f.path, 'document', '', d.state, d.title FROM documents d JOIN files f ON f.id = d.file_id",
        "SELECT 'artifact', name, '', sz, hex(data) FROM sqlar",
        "SELECT 'word', word, '', '', '' FROM words",
    )
    with opened(vault) as db:
        return {row[:4]: row[4:] for question in questions for row in db.execute(question)}


def differences(ours: dict[Row, Row], theirs: dict[Row, Row], what: str) -> Iterator[str]:
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        mine, other = ours.get(key), theirs.get(key)
        if mine != other:
            yield f"{what} {key}: {_short(mine)} after the kills, {_short(other)} undisturbed"


def _short(row: Row | None) -> str:
    return "missing" if row is None else str(tuple(str(value)[:60] for value in row))


def damage(vault: Path) -> Iterator[str]:
    """Everything that a kill may not leave behind."""
    with opened(vault) as db:
        for (answer,) in db.execute("PRAGMA integrity_check").fetchall():
            if answer != "ok":
                yield f"integrity_check: {answer}"
        for table in ("passage_fts", "file_fts"):
            try:
                db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
            except sqlite3.DatabaseError as error:
                yield f"{table}: {error}"
        for path, digester, status in db.execute(
            "SELECT file_path, digester, status FROM digests WHERE status IN ('todo', 'in-progress') OR settled = 0"
        ):
            yield f"{path} {digester}: still {status}"
        for path, digester, reason in db.execute(
            "SELECT file_path, digester, error FROM digests WHERE error LIKE '%chyme died%'"
        ):
            yield f"{path} {digester}: failed because of the kills: {reason}"
        for table in ("processing_locks", "requests"):
            count = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            if count:
                yield f"{table}: {count} left"


def left_in_scratch(vault: Path) -> int:
    folder = vault / ".chyme/scratch"
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
