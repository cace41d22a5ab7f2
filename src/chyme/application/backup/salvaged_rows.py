"""Write salvaged rows into a new database: rules of tags, people, voices, calls of models, renames, the identity.

A row that the schema refuses is left out: some of its bytes were overwritten, or another row has its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from sqlite3 import Connection, IntegrityError

from chyme.core.store import vault_properties
from chyme.core.store.rescue.page_reader import Row, Value
from chyme.core.store.rescue.salvage import SalvagedData
from chyme.speech.people.names import fold_name
from chyme.understanding.tables import tags

LARGEST_ID = 1 << 53  # SQLite gives no more numbers behind its largest


def put_identity(db: Connection, identity: str) -> None:
    """The vault stays the one that accounts and tokens have rights to."""
    vault_properties.put(db, "identity", identity)


def put_rules(db: Connection, rules: Mapping[str, tuple[str | None, str]]) -> int:
    """What tags are called by now. Returns how many."""
    count = 0
    for name, (becomes, at) in rules.items():
        with suppress(IntegrityError):
            tags.put_rule(db, name, becomes, at)
            count += 1
    return count


def put_people(db: Connection, found: SalvagedData, new_ids: Mapping[int, int]) -> tuple[int, int]:
    """Voices of files that are there, their groups, and whoever has a voice or a name. Returns people and voices.

    They keep their numbers: "Person 3" stays who it was. Where two files became one, the first in `new_ids` counts.
    """
    order = {old_id: at for at, old_id in enumerate(new_ids)}
    voices = [(id_, row) for id_, row in found.voices.items() if row[1] in new_ids and row[3] in found.voice_groups]
    voices.sort(key=lambda one: order[int(str(one[1][1]))])
    groups = {int(str(row[3])) for _, row in voices}
    people = {int(str(found.voice_groups[group][1])) for group in groups}
    named = {id_ for id_, row in found.people.items() if row[1] is not None}
    taken: set[str] = set()
    kept = 0
    for id_ in sorted(people | named):
        row = found.people.get(id_)
        name = str(row[1]) if row is not None and row[1] is not None else None
        folded = fold_name(name) if name is not None else None
        if folded in taken:
            name = folded = None
        taken |= {folded} if folded is not None else set()
        moment = str(row[3]) if row is not None else _earliest(found)
        kept += _put(db, "people", (id_, name, folded, moment, moment))
    for group in sorted(groups):
        _put(db, "voice_groups", (group, *found.voice_groups[group][1:]))
    heard = sum(_put(db, "voices", (id_, new_ids[int(str(row[1]))], *row[2:])) for id_, row in voices)
    return kept, heard


def _put(db: Connection, table: str, values: Sequence[Value]) -> bool:
    """Whether the row is in the table."""
    if isinstance(values[0], int) and not 0 < values[0] < LARGEST_ID:
        return False
    try:
        return db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(values))})", values).rowcount > 0
    except IntegrityError:  # a number where a text belongs, or a row that belongs to one that was left out
        return False


def _earliest(found: SalvagedData) -> str:
    """A moment for a person whose own row is lost."""
    return min((str(row[3]) for row in found.people.values()), default="1970-01-01T00:00:00.000Z")


def unskip(db: Connection, file_id: int, output: str) -> None:
    """An output that would not be made today is there all the same."""
    db.execute(
        """
        UPDATE digests SET status = 'todo', settled = 0, error = NULL
         WHERE file_id = ? AND digester = ? AND status = 'skipped'
        """,
        (file_id, output),
    )


def put_renames(db: Connection, renames: Mapping[int, Row], new_ids: Mapping[int, int]) -> int:
    """How files were called before. Returns how many."""
    return sum(
        _put(db, "renames", (None, row[1], new_ids[int(str(row[2]))], row[3], row[4]))
        for _, row in sorted(renames.items())
        if row[2] in new_ids
    )


def put_calls(db: Connection, calls: Mapping[int, Row], new_ids: Mapping[int, int]) -> int:
    """What was asked of models, and what it cost. Responses of files that are not there are left out."""
    count = 0
    for id_, row in sorted(calls.items()):
        values = list(row)
        values[0] = id_
        values[6] = new_ids.get(row[6]) if isinstance(row[6], int) else None
        if values[6] is None:
            values[15] = values[16] = None
        if values[9] == "in-flight":
            values[9] = "lost"
        count += _put(db, "ai_calls", values)
    return count
