"""Recordings whose bytes say who speaks in them, and a recogniser that reads these bytes instead of listening."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from coordinating import Bench, ScriptedDigester

from chyme.application import consistency_checks
from chyme.application.document_queries import Documents
from chyme.digester import Source
from chyme.model import Artifact, Output, Segment, Transcript, Voice
from chyme.search.search import Search
from chyme.search.search_keyword import SearchKeyword
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import file_terms
from chyme.speech.people.edits import People
from chyme.speech.people.names import SPEAKERS
from chyme.speech.speaker_embedding import SpeakerEmbedding
from chyme.speech.transcripts import json_format as transcript
from chyme.speech.voices import json_format as voices

Speech = tuple[str, float]  # who speaks, and how long
SOUNDS = {  # cosine with ada: 1, .95, .8, .5, 0, 0
    "ada": (1.0, 0.0, 0.0, 0.0),
    "ada with a cold": (0.95, 0.3122499, 0.0, 0.0),
    "ada's sister": (0.8, -0.6, 0.0, 0.0),
    "somebody": (0.5, 0.0, 0.0, 0.8660254),
    "bob": (0.0, 0.0, 1.0, 0.0),
    "carol": (0.0, 0.0, 0.0, 1.0),
}


def recording(*spoken: Speech, note: str = "") -> bytes:
    """Bytes that begin like a sound file."""
    payload = json.dumps({"spoken": spoken, "note": note}).encode()
    head = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", 36 + len(payload), b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    return head + struct.pack("<4sI", b"data", len(payload)) + payload


def read_recording(source: Source) -> dict[str, Any]:
    with source.open() as stream:
        return dict(json.loads(stream.read()[44:]))


def listen(source: Source, model: str = "ear") -> list[Output]:
    """One sentence and one voice for each speaker; nothing without speakers."""
    spoken: list[Speech] = read_recording(source)["spoken"]
    if not spoken:
        return [Output("speech-recognition", None)]
    labels = [f"speaker-{number}" for number, _ in enumerate(spoken, 1)]
    segments = tuple(
        Segment(10.0 * at, 10.0 * at + seconds, f"I am {who}.", label)
        for at, (label, (who, seconds)) in enumerate(zip(labels, spoken, strict=True))
    )
    sounds = [Voice(label, seconds, model, SOUNDS[who]) for label, (who, seconds) in zip(labels, spoken, strict=True)]
    content = transcript.as_json(Transcript("en", "reader", 60.0, segments))
    return [Output("speech-recognition", content, (Artifact(voices.VOICES, voices.as_json(sounds)),))]


class Listening:
    """A vault that recognises people, and short ways to ask it about them."""

    def __init__(self, open_bench: Callable[..., Bench]) -> None:
        self.ear = ScriptedDigester("speech-recognition", listen)
        self.bench = open_bench(self.ear, SpeakerEmbedding(), SearchKeyword())
        self.people = People(self.bench.database, self.bench.clock, file_terms.rewrite)
        self.documents = Documents(self.bench.database, self.bench.rules, self.bench.clock)
        self.index = Search(
            self.bench.database.read, SqliteIndex(self.bench.database.read), form_of=self.bench.rules.form_of
        )

    def drop(self, name: str, *spoken: Speech, note: str = "") -> int:
        """A recording, digested."""
        file_id = self.bench.drop(name, recording(*spoken, note=note))
        self.bench.process(file_id)
        return file_id

    def told(self, file_id: int) -> list[dict[str, Any]]:
        content = self.bench.content(file_id, SPEAKERS)
        assert content is not None
        return list(json.loads(content)["speakers"])

    def persons(self, file_id: int) -> list[int]:
        """The ids of the people who speak in a file, in order."""
        return [speaker["person_id"] for speaker in self.told(file_id)]

    def voice(self, file_id: int, number: int = 0) -> str:
        return str(self.told(file_id)[number]["voice_id"])

    def found(self, question: str) -> list[str]:
        return sorted(hit.path for hit in self.index.search(question).hits)

    def problems(self) -> list[str]:
        return self.bench.database.write(consistency_checks.find_problems)
