"""Joins the voices of a file to people, in the transaction of the verdict that brought them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from sqlite3 import Connection

from chyme.core.pipeline.digest_state import Verdict
from chyme.core.pipeline.recorders import RefreshNames
from chyme.model import Digest, File, Output, Status
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.tables import people, voices
from chyme.speech.people.voice_matching import KnownVoice, VoiceAssignment, assign_voices, normalise


def store_voices(
    db: Connection, file: File, output: Output, same_voice: float, now: str, refresh_names: RefreshNames
) -> str | None:
    """What is stored as the output's content; where it brings voices, these are joined first.

    Two files with the same new voice become one person: whoever comes second finds the person the first one made.
    """
    if not output.voices:
        _forget(db, file, voices.of_file(db, file.id), refresh_names)
        return output.content
    by_label = {voice.speaker: replace(voice, vector=normalise(voice.vector)) for voice in output.voices}
    heard = list(by_label.values())
    before = voices.of_file(db, file.id)
    known = {model: voices.groups(db, model) for model in sorted({voice.model for voice in heard})}
    placed = assign_voices(heard, before, known, same_voice)
    kept = {each.kept for each in placed}
    touched = {old.group_id for old in before}
    voices.remove(db, [old.id for old in before if old.id not in kept])
    voices.clear_labels(db, file.id)
    touched.update(_write(db, file, each, now) for each in placed)
    voices.tidy(db, touched)
    refresh_names(db, file.id)
    return voices.format_digest(db, file.id, output.content)


def _write(db: Connection, file: File, joined: VoiceAssignment, now: str) -> int:
    """Store a voice where it belongs; returns its group."""
    person_id = people.add(db, now) if joined.person_id is None else joined.person_id
    group_id = voices.add_group(db, person_id, joined.voice) if joined.group_id is None else joined.group_id
    if joined.kept is not None:
        voices.replace(db, joined.kept, joined.voice, group_id)
    else:
        voices.add(db, file.id, joined.voice, group_id, is_new=joined.person_id is None)
    return group_id


def handle_skipped_digest(db: Connection, file: File, name: str, verdict: Verdict, refresh_names: RefreshNames) -> None:
    """The digest was not made. Its voices go if this file never has any, and stay where it failed: nobody listened."""
    if name == SPEAKERS and verdict.status is Status.SKIPPED:
        _forget(db, file, voices.of_file(db, file.id), refresh_names)


def handle_changed_content(db: Connection, file: File, rows: Mapping[str, Digest], refresh_names: RefreshNames) -> None:
    """The file has other content. Its voices stay until it is heard again, unless it is of a kind nobody listens to."""
    row = rows.get(SPEAKERS)
    if row is not None and row.status is Status.SKIPPED:
        _forget(db, file, voices.of_file(db, file.id), refresh_names)


def purge(db: Connection, file: File, refresh_names: RefreshNames) -> None:
    """Nothing may stay of a file that is forgotten, nor of people nobody else knows."""
    _forget(db, file, voices.of_file(db, file.id), refresh_names)


def _forget(db: Connection, file: File, gone: list[KnownVoice], refresh_names: RefreshNames) -> None:
    if not gone:
        return
    voices.remove(db, [voice.id for voice in gone])
    voices.tidy(db, {voice.group_id for voice in gone})
    voices.clear_digest(db, file.id)
    refresh_names(db, file.id)
