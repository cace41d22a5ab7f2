"""The tags of the vault, which files have them, and what people decided about them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.vectors import normalise, pack_vector, unpack_vector
from chyme.model import TagVector
from chyme.understanding.tags.digest import TagDigest, as_json, from_json, update_digest
from chyme.understanding.tags.names import TAGS
from chyme.understanding.tags.same_meaning import KnownTag, PackedTag, TagBits, sign_bits

CHANGES_KEPT = 1000

# Tags that people gave: (file_id, name). Files they removed a tag from are not included.
_BY_HAND = """
    SELECT e.file_id, t.value AS name FROM edits e, json_each(e.value, '$.set') AS t WHERE e.field = 'tags'
     UNION
    SELECT e.file_id, t.value FROM edits e, json_each(e.value, '$.added') AS t WHERE e.field = 'tags'
"""


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many files on disk have it."""

    name: str
    files: int
    by_machine: int  # files a digest gave it to, even if a person removed it later
    by_person: int  # files a person gave it to


@dataclass(frozen=True, slots=True)
class Holder:
    """A file with a tag."""

    path: str
    title: str | None
    by_person: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that can be undone."""

    id: int
    what: str
    undo: str  # JSON


def names(db: Connection) -> list[str]:
    """Every tag, in alphabetical order."""
    return [name for (name,) in db.execute("SELECT name FROM tags ORDER BY name")]


def version(db: Connection) -> str:
    """A value that differs after every change of the tags."""
    row = db.execute("SELECT version FROM tag_version").fetchone()
    return str(row[0])


def in_use(db: Connection) -> list[str]:
    """Every tag that a file may have, from a digest or a person, in alphabetical order."""
    rows = db.execute(f"SELECT name FROM tags UNION SELECT name FROM ({_BY_HAND}) ORDER BY 1")
    return [name for (name,) in rows]


def by_name(db: Connection, name: str) -> tuple[int, str | None] | None:
    """(id, model of its vector) of the tag with exactly this spelling."""
    row: tuple[int, str | None] | None = db.execute("SELECT id, model FROM tags WHERE name = ?", (name,)).fetchone()
    return row


def ensure(db: Connection, name: str, now: str, meaning: TagVector | None = None) -> int:
    """The tag's id; the tag is added, with this vector, if necessary."""
    found = by_name(db, name)
    return found[0] if found else add(db, name, meaning, now)


def add(db: Connection, name: str, meaning: TagVector | None, now: str) -> int:
    """Add a new tag."""
    row = db.execute("INSERT INTO tags (name, created_at) VALUES (?, ?) RETURNING id", (name, now)).fetchone()
    if meaning is not None:
        set_vector(db, row[0], meaning)
    return int(row[0])


def set_vector(db: Connection, tag_id: int, meaning: TagVector) -> None:
    """Store the tag's vector, as the present embedder computed it."""
    vector = normalise(meaning.vector)
    db.execute(
        "UPDATE tags SET model = ?, vector = ?, code = ? WHERE id = ?",
        (meaning.model, pack_vector(vector), sign_bits(vector), tag_id),
    )


def set_missing_vector(db: Connection, meaning: TagVector) -> bool:
    """The same for a tag by its name, if it has no vector or another model's. Returns whether that was so."""
    found = by_name(db, meaning.tag)
    if found is None or found[1] == meaning.model:
        return False
    set_vector(db, found[0], meaning)
    return True


def list_codes(db: Connection, model: str) -> list[TagBits]:
    """The sign bits of all tags whose vectors are of this model."""
    return db.execute("SELECT id, code FROM tags WHERE model = ?", (model,)).fetchall()


def list_packed(db: Connection, ids: Collection[int]) -> list[PackedTag]:
    """These tags with their vectors as stored."""
    return db.execute(
        "SELECT id, name, vector FROM tags WHERE id IN (SELECT value FROM json_each(?)) AND vector NOT NULL",
        (json.dumps(list(ids)),),
    ).fetchall()


def meanings(db: Connection, limit: int) -> list[KnownTag]:
    """The tags on most files, with their vectors of the model that made most of the vectors."""
    rows = db.execute(
        """
        SELECT t.id, t.name, t.vector
          FROM tags t LEFT JOIN file_tags g ON g.tag_id = t.id
         WHERE t.model = (SELECT model FROM tags WHERE model NOT NULL GROUP BY model ORDER BY count(*) DESC, 1 LIMIT 1)
         GROUP BY t.id ORDER BY count(g.file_id) DESC, t.id LIMIT ?
        """,
        (limit,),
    )
    return [KnownTag(id_, name, unpack_vector(vector)) for id_, name, vector in rows]


def meaning_of(db: Connection, name: str) -> TagVector | None:
    row = db.execute("SELECT model, vector FROM tags WHERE name = ? AND vector NOT NULL", (name,)).fetchone()
    return TagVector(name, row[0], unpack_vector(row[1])) if row else None


def find_file_without_vector(db: Connection, name: str) -> int | None:
    """A file that has this tag from a digest, if the tag has no vector."""
    row = db.execute(
        """
        SELECT g.file_id FROM tags t JOIN file_tags g ON g.tag_id = t.id
         WHERE t.name = ? AND t.vector IS NULL ORDER BY g.file_id LIMIT 1
        """,
        (name,),
    ).fetchone()
    return row[0] if row else None


def of_file(db: Connection, file_id: int) -> list[str]:
    """The tags a digest gave to a file, in its order."""
    rows = db.execute(
        """
        SELECT t.name FROM file_tags g JOIN tags t ON t.id = g.tag_id
         WHERE g.file_id = ? ORDER BY g.ordinal, g.tag_id
        """,
        (file_id,),
    )
    return [name for (name,) in rows]


def models_of_file(db: Connection, file_id: int) -> dict[str, str]:
    """The tags a digest gave to a file that have a vector, with its model."""
    rows = db.execute(
        """
        SELECT t.name, t.model FROM file_tags g JOIN tags t ON t.id = g.tag_id
         WHERE g.file_id = ? AND t.vector NOT NULL
        """,
        (file_id,),
    )
    return dict(rows.fetchall())


def set_file_tags(db: Connection, file_id: int, ids: Sequence[int]) -> bool:
    """Give the file these tags, in this order, and no others; delete tags that no file has any more.

    Returns whether any may have been deleted.
    """
    rows = db.execute("SELECT tag_id FROM file_tags WHERE file_id = ? ORDER BY ordinal, tag_id", (file_id,))
    old_ids = [tag_id for (tag_id,) in rows]
    if old_ids == list(ids):
        return False
    db.execute("DELETE FROM file_tags WHERE file_id = ?", (file_id,))
    db.executemany(
        "INSERT INTO file_tags (file_id, tag_id, ordinal) VALUES (?, ?, ?)",
        [(file_id, tag_id, ordinal) for ordinal, tag_id in enumerate(ids)],
    )
    removed = set(old_ids).difference(ids)
    delete_unused(db, removed)
    return bool(removed)


def delete_unused(db: Connection, tag_ids: Collection[int]) -> None:
    """Delete those of these tags that no file has, from a digest or a person."""
    for tag_id in tag_ids:
        db.execute(
            f"""
            DELETE FROM tags
             WHERE id = :tag AND NOT EXISTS (SELECT 1 FROM file_tags g WHERE g.tag_id = tags.id)
               AND name NOT IN (SELECT name FROM ({_BY_HAND}))
            """,
            {"tag": tag_id},
        )


def files_with(db: Connection, wanted: Iterable[str]) -> list[int]:
    """Files a digest or a person gave one of these tags to, or a person removed it from; also vanished ones."""
    rows = db.execute(
        """
        SELECT g.file_id
          FROM json_each(:wanted) AS w CROSS JOIN tags t ON t.name = w.value CROSS JOIN file_tags g ON g.tag_id = t.id
         UNION
        SELECT e.file_id FROM edits e, json_tree(e.value) AS j
         WHERE e.field = 'tags' AND j.type = 'text' AND j.atom IN (SELECT value FROM json_each(:wanted))
         ORDER BY 1
        """,
        {"wanted": json.dumps(list(wanted))},
    )
    return [file_id for (file_id,) in rows]


def holders(db: Connection, name: str) -> list[Holder]:
    """The files on disk that have this tag, from a digest or a person."""
    rows = db.execute(
        f"""
        WITH by_hand AS (SELECT file_id FROM ({_BY_HAND}) WHERE name = :name)
        SELECT f.path, d.title, f.id IN (SELECT file_id FROM by_hand)
          FROM (SELECT g.file_id FROM tags t JOIN file_tags g ON g.tag_id = t.id WHERE t.name = :name
                 UNION SELECT file_id FROM by_hand) AS has
          JOIN files f ON f.id = has.file_id AND f.vanished_at IS NULL
          JOIN documents d ON d.file_id = f.id
         WHERE EXISTS (SELECT 1 FROM json_each(d.tags) AS t WHERE t.value = :name)
         ORDER BY f.path
        """,
        {"name": name},
    )
    return [Holder(path, title, bool(by_person)) for path, title, by_person in rows]


def list_tags(db: Connection) -> list[TagCount]:
    """Every tag, those on most files first."""
    rows = db.execute(
        f"""
        WITH gone AS (SELECT id FROM files INDEXED BY files_vanished WHERE vanished_at IS NOT NULL),
        shown AS (SELECT tag AS name, count(*) AS files FROM shelf_tags
                   WHERE file_id NOT IN (SELECT id FROM gone) GROUP BY tag),
        machine AS (SELECT tag_id, count(*) AS files FROM file_tags
                     WHERE file_id NOT IN (SELECT id FROM gone) GROUP BY tag_id),
        person AS (SELECT name, count(*) AS files FROM ({_BY_HAND})
                    WHERE file_id NOT IN (SELECT id FROM gone) GROUP BY name)
        SELECT every.name, coalesce(shown.files, 0), coalesce(machine.files, 0), coalesce(person.files, 0)
          FROM (SELECT name FROM tags UNION SELECT name FROM shown) AS every
          LEFT JOIN shown ON shown.name = every.name
          LEFT JOIN tags ON tags.name = every.name
          LEFT JOIN machine ON machine.tag_id = tags.id
          LEFT JOIN person ON person.name = every.name
         ORDER BY 2 DESC, 1
        """
    )
    return [TagCount(*row) for row in rows]


def digest_of(db: Connection, file_id: int) -> TagDigest | None:
    """The parsed digest of the file's tags."""
    row = db.execute("SELECT content FROM digests WHERE file_id = ? AND digester = ?", (file_id, TAGS)).fetchone()
    return from_json(row[0]) if row else None


def refresh_digest(db: Connection, file_id: int) -> None:
    """Update the digest to match the file's tags.

    Its content hash stays that of the proposal: nothing is made again because a person decided something.
    """
    tagged = digest_of(db, file_id)
    if tagged is not None:
        content = as_json(update_digest(tagged, of_file(db, file_id), rules(db)))
        db.execute("UPDATE digests SET content = ? WHERE file_id = ? AND digester = ?", (content, file_id, TAGS))


def rules(db: Connection) -> dict[str, str | None]:
    """What people decided: tag → what it becomes; None: it is never given."""
    return dict(db.execute("SELECT name, becomes FROM tag_rules").fetchall())


def list_manual(db: Connection) -> set[str]:
    """Every tag that a person gave to a file, including vanished ones."""
    return {name for (name,) in db.execute(f"SELECT DISTINCT name FROM ({_BY_HAND})")}


def put_rule(db: Connection, name: str, becomes: str | None, now: str) -> None:
    db.execute(
        """
        INSERT INTO tag_rules (name, becomes, created_at) VALUES (?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET becomes = excluded.becomes, created_at = excluded.created_at
        """,
        (name, becomes, now),
    )


def remove_rule(db: Connection, name: str) -> None:
    db.execute("DELETE FROM tag_rules WHERE name = ?", (name,))


def record_change(db: Connection, what: str, undo: str, now: str) -> None:
    """Remember a decision and how to undo it."""
    db.execute("INSERT INTO tag_changes (at, what, undo) VALUES (?, ?, ?)", (now, what, undo))
    db.execute("DELETE FROM tag_changes WHERE id <= (SELECT max(id) FROM tag_changes) - ?", (CHANGES_KEPT,))


def last_change(db: Connection) -> Change | None:
    row = db.execute("SELECT id, what, undo FROM tag_changes ORDER BY id DESC LIMIT 1").fetchone()
    return Change(*row) if row else None


def forget_change(db: Connection, change_id: int) -> None:
    db.execute("DELETE FROM tag_changes WHERE id = ?", (change_id,))
