"""Stores the voices of a file and whose they are, in the transaction that records the digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from sqlite3 import Connection

from chyme.core.pipeline.digest_state import Verdict
from chyme.core.pipeline.recorders import Completion, Recorder, RefreshNames
from chyme.core.vectors import normalise
from chyme.model import Digest, File, Output, Status
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.speaker_identification import VoiceAssignment, assign_voices
from chyme.speech.people.tables import people, voices


class VoiceRecorder(Recorder):
    """Assigns the voices in a recording to people."""

    def __init__(self, refresh_names: RefreshNames, same_voice: float) -> None:
        """`same_voice`: cosine similarity from which two voices are one person's."""
        self._refresh_names = refresh_names
        self._same_voice = same_voice

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        if completion.output.name != SPEAKERS:
            return content
        return store_voices(
            db, completion.file, completion.output, self._same_voice, completion.now, self._refresh_names
        )

    def not_completed(self, db: Connection, file: File, name: str, verdict: Verdict) -> None:
        """Remove the voices if the file never has any; keep them if it failed to be heard."""
        if name == SPEAKERS and verdict.status is Status.SKIPPED:
            _remove_voices(db, file, self._refresh_names)

    def requeued(self, db: Connection, file: File, rows: Mapping[str, Digest]) -> None:
        """Keep the voices until the changed content is processed, unless its kind has no voices."""
        row = rows.get(SPEAKERS)
        if row is not None and row.status is Status.SKIPPED:
            _remove_voices(db, file, self._refresh_names)

    def purge(self, db: Connection, file: File, prepared: object) -> None:
        """Remove all voices of the file, and people who have no other voice."""
        _remove_voices(db, file, self._refresh_names)


def store_voices(
    db: Connection, file: File, output: Output, same_voice: float, now: str, refresh_names: RefreshNames
) -> str | None:
    """Return the content to store for this output; if it has voices, assign them to people first.

    Two files with the same new voice give one person: the second finds the person that the first created.
    """
    if not output.voices:
        _remove_voices(db, file, refresh_names)
        return output.content
    by_label = {voice.speaker: replace(voice, vector=normalise(voice.vector)) for voice in output.voices}
    file_voices = list(by_label.values())
    before = voices.of_file(db, file.id)
    known = {model: voices.groups(db, model) for model in sorted({voice.model for voice in file_voices})}
    assignments = assign_voices(file_voices, before, known, same_voice)
    kept_ids = {assignment.known_id for assignment in assignments}
    touched_groups = {old.group_id for old in before}
    voices.remove(db, [old.id for old in before if old.id not in kept_ids])
    voices.clear_labels(db, file.id)
    touched_groups.update(_store_voice(db, file, assignment, now) for assignment in assignments)
    voices.tidy(db, touched_groups)
    refresh_names(db, file.id)
    return voices.format_digest(db, file.id, output.content)


def _store_voice(db: Connection, file: File, assignment: VoiceAssignment, now: str) -> int:
    """Store a voice in its group, created if needed; return the group's id."""
    person_id = people.add(db, now) if assignment.person_id is None else assignment.person_id
    group_id = voices.add_group(db, person_id, assignment.voice) if assignment.group_id is None else assignment.group_id
    if assignment.known_id is not None:
        voices.replace(db, assignment.known_id, assignment.voice, group_id)
    else:
        voices.add(db, file.id, assignment.voice, group_id, is_new=assignment.person_id is None)
    return group_id


def _remove_voices(db: Connection, file: File, refresh_names: RefreshNames) -> None:
    removed = voices.of_file(db, file.id)
    if not removed:
        return
    voices.remove(db, [voice.id for voice in removed])
    voices.tidy(db, {voice.group_id for voice in removed})
    voices.clear_digest(db, file.id)
    refresh_names(db, file.id)
