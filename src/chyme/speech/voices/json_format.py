"""Voices, and who speaks when, as JSON that is passed between digesters or parts of a digester."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chyme.model import Turn, Voice

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
    """Parse what `as_json` wrote."""
    return tuple(
        Voice(row["speaker"], row["seconds"], row["model"], tuple(map(float, row["vector"])))
        for row in json.loads(data)
    )


def speakers_as_json(turns: Sequence[Turn], voices: Sequence[Voice], note: str | None) -> bytes:
    """Who speaks when, their voices, and a note on what could not be determined."""
    fields = {
        "turns": [[turn.start, turn.end, turn.speaker] for turn in turns],
        "voices": json.loads(as_json(voices)),
        "note": note,
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def speakers_from_json(data: bytes) -> tuple[tuple[Turn, ...], tuple[Voice, ...], str | None]:
    """Parse what `speakers_as_json` wrote; raise KeyError, TypeError or ValueError for anything else."""
    fields = json.loads(data)
    turns = tuple(Turn(float(start), float(end), str(speaker)) for start, end, speaker in fields["turns"])
    note = fields["note"]
    return turns, from_json(json.dumps(fields["voices"]).encode()), None if note is None else str(note)
