"""Keeps voices and people in step with files and digests."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection

from chyme.core.pipeline.digest_state import Verdict
from chyme.core.pipeline.recorders import Completion, Recorder, RefreshNames
from chyme.model import Digest, File
from chyme.speech.people import voice_assignment
from chyme.speech.people.names import SPEAKERS
from chyme.speech.people.voice_matching import SAME_VOICE


class VoiceRecorder(Recorder):
    """Assigns the voices in a recording to people, in the transaction of the digest that found them."""

    def __init__(
        self,
        refresh_names: RefreshNames,
        same_voice: float = SAME_VOICE,  # cosine: from here on two voices are one person's
    ) -> None:
        self._refresh_names = refresh_names
        self._same_voice = same_voice

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        if completion.output.name != SPEAKERS:
            return content
        return voice_assignment.store_voices(
            db, completion.file, completion.output, self._same_voice, completion.now, self._refresh_names
        )

    def not_completed(self, db: Connection, file: File, name: str, verdict: Verdict) -> None:
        voice_assignment.handle_skipped_digest(db, file, name, verdict, self._refresh_names)

    def requeued(self, db: Connection, file: File, rows: Mapping[str, Digest]) -> None:
        voice_assignment.handle_changed_content(db, file, rows, self._refresh_names)

    def purge(self, db: Connection, file: File, prepared: object) -> None:
        voice_assignment.purge(db, file, self._refresh_names)
