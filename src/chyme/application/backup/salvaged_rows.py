"""Writes salvaged data into a new database: tag rules, people, voices, model calls, renames, captured web pages.

A row that the schema refuses is left out: some of its bytes were overwritten, or another row took its place.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection, IntegrityError

from chyme.core.pipeline import output_updates
from chyme.core.pipeline.output_updates import PreparedOutput, prepare_output
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts as sqlar
from chyme.core.store import digests, documents, text_places, vault_properties
from chyme.core.store.rescue.page_reader import Row, Value
from chyme.core.store.rescue.salvage import OldDigest, OldFile, SalvagedData
from chyme.digester import Title
from chyme.model import THUMBNAIL, Artifact, File, Output
from chyme.search.tables import file_terms
from chyme.speech.people.names import fold_name
from chyme.text.titles import title_from_json
from chyme.understanding.description import describe
from chyme.understanding.tables import tags

LARGEST_ID = 1 << 53  # SQLite assigns no ids beyond its largest one


def put_identity(db: Connection, identity: str) -> None:
    """Keep the vault's identity, to which the rights of accounts and tokens refer."""
    vault_properties.put(db, "identity", identity)


def put_rules(db: Connection, rules: Mapping[str, tuple[str | None, str]]) -> int:
    """Store what tags were renamed to. Return how many."""
    count = 0
    for name, (becomes, timestamp) in rules.items():
        with suppress(IntegrityError):
            tags.put_rule(db, name, becomes, timestamp)
            count += 1
    return count


def put_people(db: Connection, salvaged: SalvagedData, new_ids: Mapping[int, int]) -> tuple[int, int]:
    """Store voices of existing files, their groups, and people with a voice or a name. Return people and voices.

    They keep their ids: "Person 3" stays the same. Where two files became one, the first in `new_ids` counts.
    """
    order = {old_id: position for position, old_id in enumerate(new_ids)}
    voices = [
        (id_, row) for id_, row in salvaged.voices.items() if row[1] in new_ids and row[3] in salvaged.voice_groups
    ]
    voices.sort(key=lambda item: order[int(str(item[1][1]))])
    groups = {int(str(row[3])) for _, row in voices}
    people = {int(str(salvaged.voice_groups[group][1])) for group in groups}
    named = {id_ for id_, row in salvaged.people.items() if row[1] is not None}
    taken_names: set[str] = set()
    people_count = 0
    for id_ in sorted(people | named):
        row = salvaged.people.get(id_)
        name = str(row[1]) if row is not None and row[1] is not None else None
        folded = fold_name(name) if name is not None else None
        if folded in taken_names:
            name = folded = None
        taken_names |= {folded} if folded is not None else set()
        timestamp = str(row[3]) if row is not None else _earliest_time(salvaged)
        people_count += _insert(db, "people", (id_, name, folded, timestamp, timestamp))
    for group in sorted(groups):
        _insert(db, "voice_groups", (group, *salvaged.voice_groups[group][1:]))
    voice_count = sum(_insert(db, "voices", (id_, new_ids[int(str(row[1]))], *row[2:])) for id_, row in voices)
    return people_count, voice_count


def _insert(db: Connection, table: str, values: Sequence[Value]) -> bool:
    """Insert the row; return whether it is in the table."""
    if isinstance(values[0], int) and not 0 < values[0] < LARGEST_ID:
        return False
    try:
        return db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(values))})", values).rowcount > 0
    except IntegrityError:  # a number instead of a text, or a row that refers to one that was left out
        return False


def _earliest_time(salvaged: SalvagedData) -> str:
    """A timestamp for a person whose own row is lost."""
    return min((str(row[3]) for row in salvaged.people.values()), default="1970-01-01T00:00:00.000Z")


def unskip(db: Connection, file_id: int, output: str) -> None:
    """Undo a skip: the output exists although it would not be made today."""
    db.execute(
        """
        UPDATE digests SET status = 'todo', settled = 0, error = NULL
         WHERE file_id = ? AND digester = ? AND status = 'skipped'
        """,
        (file_id, output),
    )


def put_renames(db: Connection, renames: Mapping[int, Row], new_ids: Mapping[int, int]) -> int:
    """Store how files were called before. Return how many."""
    return sum(
        _insert(db, "renames", (None, row[1], new_ids[int(str(row[2]))], row[3], row[4]))
        for _, row in sorted(renames.items())
        if row[2] in new_ids
    )


def put_calls(db: Connection, calls: Mapping[int, Row], new_ids: Mapping[int, int]) -> int:
    """Store model calls and their cost. Responses for files that do not exist are left out. Return how many."""
    count = 0
    for id_, row in sorted(calls.items()):
        values = list(row)
        values[0] = id_
        values[6] = new_ids.get(row[6]) if isinstance(row[6], int) else None
        if values[6] is None:
            values[15] = values[16] = None
        if values[9] == "in-flight":
            values[9] = "lost"
        count += _insert(db, "ai_calls", values)
    return count


@dataclass(frozen=True, slots=True)
class Capture:
    """One output of a captured page, intact according to its hash."""

    digest: OldDigest
    prepared: PreparedOutput


def find_intact_captures(
    salvaged: SalvagedData, rules: Rules, old_id: int, old: OldFile, file: File, outputs: Sequence[str]
) -> list[Capture]:
    """Return the captured outputs of a file of which every byte is as recorded."""
    intact = []
    for name in outputs if old.hash in ("", file.hash) else ():
        digest = salvaged.captures[old_id, name]
        try:
            contents = salvaged.artifacts_of(old.path, name)
        except zlib.error:
            continue
        artifacts = tuple(Artifact(filename, data) for filename, data in contents.items())
        places = tuple(place for _, place in sorted(salvaged.places.get((old_id, name), {}).items()))
        prepared = prepare_output(Output(name, digest.content, artifacts, places=places), rules.form_of(name))
        if prepared.content_hash == digest.content_hash:
            intact.append(Capture(digest, prepared))
    return intact


def restore_captures(db: Connection, rules: Rules, file: File, captures: Sequence[Capture], now: str) -> None:
    """Complete these outputs as they were, with their artifacts; outputs that read them are made again."""
    for capture in captures:
        digest, prepared = capture.digest, capture.prepared
        name = digest.digester
        sqlar_name = sqlar.replace(db, file.path, name, prepared.artifacts, file.stamp.mtime_ns // 10**9)
        text_places.replace(db, file.id, name, prepared.output.places)
        unskip(db, file.id, name)  # its settings may have changed since
        digests.complete(
            db, file.id, name, digest.content, digest.content_hash, sqlar_name, digest.recipe, digest.input_hash,
            None, now,
        )  # fmt: skip
        if rules.traits[name].title is Title.OWN and documents.set_found_title(
            db, file.id, title_from_json(digest.content)
        ):
            describe(db, file.id, now, file_terms.rewrite)
        if any(artifact.filename == THUMBNAIL for artifact in prepared.artifacts):
            documents.set_thumbnail(db, file.id, name, prepared.pages)
    output_updates.update_document(db, rules, file, digests.of_file(db, file.id), now)
