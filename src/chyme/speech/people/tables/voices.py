"""The voices of every file, and groups of similar ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.vectors import pack_vector, unpack_vector
from chyme.model import Voice
from chyme.speech.people.names import SPEAKERS, Person, Speaker, skipped_in, speakers_json
from chyme.speech.people.speaker_identification import KnownVoice, VoiceGroup, compute_centroid
from chyme.speech.people.tables import people

SAMPLES = 50  # the longest voices of a group define its centre: more cost time on every new file and change little
FIRST_WORDS = 80


@dataclass(frozen=True, slots=True)
class LocatedVoice:
    """A voice, where it is heard, and whose it is."""

    id: int
    file_id: int
    path: str
    speaker: str
    seconds: float
    group_id: int
    person_id: int


_SELECT_VOICES = """
    SELECT v.id, v.file_id, f.path, v.speaker, v.seconds, v.group_id, g.person_id
      FROM voices v JOIN voice_groups g ON g.id = v.group_id JOIN files f ON f.id = v.file_id
"""


def of_file(db: Connection, file_id: int) -> list[KnownVoice]:
    """A file's voices with their vectors."""
    rows = db.execute(
        """
        SELECT v.id, v.speaker, v.seconds, v.model, v.vector, v.group_id, g.person_id
          FROM voices v JOIN voice_groups g ON g.id = v.group_id WHERE v.file_id = ? ORDER BY v.id
        """,
        (file_id,),
    )
    return [
        KnownVoice(id_, speaker, seconds, model, unpack_vector(vector), group_id, person_id)
        for id_, speaker, seconds, model, vector, group_id, person_id in rows
    ]


def groups(db: Connection, model: str) -> list[VoiceGroup]:
    """Every group that voices of this model can be compared with."""
    rows = db.execute("SELECT id, person_id, centroid FROM voice_groups WHERE model = ?", (model,))
    return [VoiceGroup(id_, person_id, unpack_vector(centroid)) for id_, person_id, centroid in rows]


def of_person(db: Connection, person_id: int) -> list[LocatedVoice]:
    """A person's voices in files that are on disk."""
    rows = db.execute(
        _SELECT_VOICES + " WHERE g.person_id = ? AND f.vanished_at IS NULL ORDER BY f.path, v.id", (person_id,)
    )
    return [LocatedVoice(*row) for row in rows]


def recordings_of(db: Connection, person_id: int) -> list[tuple[str, str, float]]:
    """(path, day, seconds heard) of each recording of a person that is on disk, in the order of the days."""
    return db.execute(
        """
        SELECT f.path, coalesce(substr(d.date, 1, 10), strftime('%Y-%m-%d', f.mtime_ns / 1000000000, 'unixepoch')),
               sum(v.seconds)
          FROM voice_groups g JOIN voices v ON v.group_id = g.id JOIN files f ON f.id = v.file_id
               LEFT JOIN documents d ON d.file_id = f.id
         WHERE g.person_id = ? AND f.vanished_at IS NULL GROUP BY f.id ORDER BY 2, 1
        """,
        (person_id,),
    ).fetchall()


def by_id(db: Connection, voice_id: int) -> LocatedVoice | None:
    row = db.execute(_SELECT_VOICES + " WHERE v.id = ?", (voice_id,)).fetchone()
    return LocatedVoice(*row) if row else None


def by_speaker(db: Connection, path: str, speaker: str) -> LocatedVoice | None:
    row = db.execute(_SELECT_VOICES + " WHERE f.path = ? AND v.speaker = ?", (path, speaker)).fetchone()
    return LocatedVoice(*row) if row else None


def count_of(db: Connection, person_id: int) -> int:
    """How many voices a person has, including those in vanished files."""
    row = db.execute(
        "SELECT count(*) FROM voices v JOIN voice_groups g ON g.id = v.group_id WHERE g.person_id = ?", (person_id,)
    ).fetchone()
    return int(row[0])


def groups_of(db: Connection, person_id: int) -> list[int]:
    rows = db.execute("SELECT id FROM voice_groups WHERE person_id = ? ORDER BY id", (person_id,))
    return [group_id for (group_id,) in rows]


def files_of(db: Connection, person_ids: Collection[int]) -> set[int]:
    """The files these people are heard in, including vanished ones."""
    rows = db.execute(
        """
        SELECT DISTINCT v.file_id
          FROM json_each(?) AS wanted
         CROSS JOIN voice_groups g ON g.person_id = wanted.value
         CROSS JOIN voices v ON v.group_id = g.id
        """,
        (json.dumps(list(person_ids)),),
    )
    return {file_id for (file_id,) in rows}


def people_in(db: Connection, file_id: int) -> list[Person]:
    """The people heard in a file who have a name."""
    rows = db.execute(
        """
        SELECT DISTINCT p.id, p.name
          FROM voices v JOIN voice_groups g ON g.id = v.group_id JOIN people p ON p.id = g.person_id
         WHERE v.file_id = ? AND p.name NOT NULL ORDER BY p.id
        """,
        (file_id,),
    )
    return [Person(*row) for row in rows]


def speakers_by_file(db: Connection, file_ids: Collection[int]) -> dict[int, dict[str, Person]]:
    """The speakers of these files: file → label → person.

    A file whose voices are to be analysed again is left out, since its labels may then mean others.
    """
    rows = db.execute(
        """
        SELECT v.file_id, v.speaker, p.id, p.name
          FROM json_each(?) AS wanted
         CROSS JOIN digests d ON d.file_id = wanted.value AND d.digester = ? AND d.status = 'completed'
         CROSS JOIN voices v ON v.file_id = wanted.value
         CROSS JOIN voice_groups g ON g.id = v.group_id
         CROSS JOIN people p ON p.id = g.person_id
         ORDER BY v.file_id, length(v.speaker), v.speaker
        """,
        (json.dumps(list(file_ids)), SPEAKERS),
    )
    found: dict[int, dict[str, Person]] = {}
    for file_id, speaker, person_id, name in rows:
        found.setdefault(file_id, {})[speaker] = Person(person_id, name)
    return found


def first_words(db: Connection, file_id: int, speaker: str) -> tuple[str, float, float] | None:
    """The beginning of a speaker's first sentence, and from when to when it is said."""
    row = db.execute(
        """
        SELECT substr(trim(json_extract(said.value, '$.text')), 1, ?),
               json_extract(said.value, '$.start'), json_extract(said.value, '$.end')
          FROM digests d, json_each(d.content, '$.segments') AS said
         WHERE d.file_id = ? AND d.digester = 'speech-recognition' AND json_valid(d.content)
           AND json_extract(said.value, '$.speaker') = ?
         ORDER BY said.key LIMIT 1
        """,
        (FIRST_WORDS, file_id, speaker),
    ).fetchone()
    return (row[0], float(row[1]), float(row[2])) if row else None


def add_group(db: Connection, person_id: int, voice: Voice) -> int:
    """Add a group that begins with this voice."""
    row = db.execute(
        "INSERT INTO voice_groups (person_id, model, centroid) VALUES (?, ?, ?) RETURNING id",
        (person_id, voice.model, pack_vector(voice.vector)),
    ).fetchone()
    return int(row[0])


def add(db: Connection, file_id: int, voice: Voice, group_id: int, is_new: bool) -> None:
    db.execute(
        """
        INSERT INTO voices (file_id, speaker, group_id, seconds, model, vector, is_new) VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (file_id, voice.speaker, group_id, voice.seconds, voice.model, pack_vector(voice.vector), int(is_new)),
    )


def replace(db: Connection, voice_id: int, voice: Voice, group_id: int) -> None:
    """Update a voice that was analysed again."""
    db.execute(
        "UPDATE voices SET speaker = ?, group_id = ?, seconds = ?, model = ?, vector = ? WHERE id = ?",
        (voice.speaker, group_id, voice.seconds, voice.model, pack_vector(voice.vector), voice_id),
    )


def clear_labels(db: Connection, file_id: int) -> None:
    """Free the file's labels: its speakers may exchange them."""
    db.execute("UPDATE voices SET speaker = '#' || id WHERE file_id = ?", (file_id,))


def remove(db: Connection, ids: Iterable[int]) -> None:
    db.executemany("DELETE FROM voices WHERE id = ?", [(voice_id,) for voice_id in ids])


def assign_group(db: Connection, group_id: int, person_id: int) -> None:
    """Assign the group to this person."""
    db.execute("UPDATE voice_groups SET person_id = ? WHERE id = ?", (person_id, group_id))


def owner_of(db: Connection, group_id: int) -> int | None:
    row = db.execute("SELECT person_id FROM voice_groups WHERE id = ?", (group_id,)).fetchone()
    return int(row[0]) if row else None


def split_group(db: Connection, group_id: int, voice_ids: Collection[int]) -> int:
    """Move some or all voices of a group to a group of their own; returns the group that has them."""
    chosen_ids = json.dumps(list(voice_ids))
    remaining = db.execute(
        "SELECT 1 FROM voices WHERE group_id = ? AND id NOT IN (SELECT value FROM json_each(?))", (group_id, chosen_ids)
    ).fetchone()
    if remaining is None:
        return group_id
    row = db.execute(
        """
        INSERT INTO voice_groups (person_id, model, centroid)
        SELECT person_id, model, centroid FROM voice_groups WHERE id = ? RETURNING id
        """,
        (group_id,),
    ).fetchone()
    db.execute(
        "UPDATE voices SET group_id = ? WHERE group_id = ? AND id IN (SELECT value FROM json_each(?))",
        (row[0], group_id, chosen_ids),
    )
    tidy(db, (group_id, row[0]))
    return int(row[0])


def tidy(db: Connection, group_ids: Collection[int]) -> None:
    """After voices were added or removed: update the groups' centres, delete empty groups and unnamed people without
    voices."""
    affected_people: set[int] = set()
    for group_id in sorted(set(group_ids)):
        rows = db.execute(
            "SELECT seconds, vector FROM voices WHERE group_id = ? ORDER BY seconds DESC LIMIT ?", (group_id, SAMPLES)
        ).fetchall()
        if rows:
            centroid = pack_vector(compute_centroid((seconds, unpack_vector(vector)) for seconds, vector in rows))
            db.execute("UPDATE voice_groups SET centroid = ? WHERE id = ?", (centroid, group_id))
            continue
        deleted = db.execute("DELETE FROM voice_groups WHERE id = ? RETURNING person_id", (group_id,)).fetchone()
        if deleted:
            affected_people.add(deleted[0])
    people.delete_empty(db, affected_people)


def format_digest(db: Connection, file_id: int, before: str | None) -> str:
    """The content of the digest of a file's voices; speakers that were not analysed are taken from `before`."""
    rows = db.execute(
        """
        SELECT v.speaker, g.person_id, v.id, round(v.seconds, 2), v.is_new
          FROM voices v JOIN voice_groups g ON g.id = v.group_id
         WHERE v.file_id = ? ORDER BY length(v.speaker), v.speaker
        """,
        (file_id,),
    )
    speakers = [Speaker(label, person, id_, seconds, bool(new)) for label, person, id_, seconds, new in rows]
    return speakers_json(speakers, skipped_in(before))


def refresh_digest(db: Connection, file_id: int) -> bool:
    """Update the digest to match the voices; False if it did already, or there is none.

    Its content hash stays that of the analysis: nothing is made again because a person decided something.
    """
    row = db.execute(
        "SELECT content FROM digests WHERE file_id = ? AND digester = ? AND content NOT NULL", (file_id, SPEAKERS)
    ).fetchone()
    if row is None:
        return False
    content = format_digest(db, file_id, row[0])
    if content != row[0]:
        db.execute("UPDATE digests SET content = ? WHERE file_id = ? AND digester = ?", (content, file_id, SPEAKERS))
    return bool(content != row[0])


def clear_digest(db: Connection, file_id: int) -> None:
    """The file has no voices any more, so that its digest must not name them."""
    db.execute("UPDATE digests SET content = NULL WHERE file_id = ? AND digester = ?", (file_id, SPEAKERS))
