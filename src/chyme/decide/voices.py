"""How the voices of a file travel from speech-recognition to speaker-embedding: a small JSON artifact."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chyme.model import Voice

VOICES = "voices.json"  # the artifact's name


def as_json(voices: Sequence[Voice]) -> bytes:
    """The artifact's bytes."""
    rows = [
        {
            "speaker": voice.speaker,
            "seconds": round(voice.seconds, 2),
            "model": voice.model,
            "vector": [round(value, 6) for value in voice.vector],
        }
        for voice in voices
    ]
    return json.dumps(rows, separators=(",", ":")).encode()


def from_json(data: bytes) -> tuple[Voice, ...]:
    """What `as_json` wrote."""
    return tuple(
        Voice(row["speaker"], row["seconds"], row["model"], tuple(map(float, row["vector"])))
        for row in json.loads(data)
    )
