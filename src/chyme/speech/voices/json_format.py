"""Voices, and who spoke when, as JSON: on their way from one digester, or one part of a digester, to the next."""

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
    """What `as_json` wrote."""
    return tuple(
        Voice(row["speaker"], row["seconds"], row["model"], tuple(map(float, row["vector"])))
        for row in json.loads(data)
    )


def speakers_as_json(turns: Sequence[Turn], voices: Sequence[Voice], note: str | None) -> bytes:
    """Who spoke when, how they sound, and what could not be told."""
    told = {
        "turns": [[turn.start, turn.end, turn.speaker] for turn in turns],
        "voices": json.loads(as_json(voices)),
        "note": note,
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def speakers_from_json(data: bytes) -> tuple[tuple[Turn, ...], tuple[Voice, ...], str | None]:
    """What `speakers_as_json` wrote; KeyError, TypeError or ValueError for anything else."""
    told = json.loads(data)
    turns = tuple(Turn(float(start), float(end), str(speaker)) for start, end, speaker in told["turns"])
    note = told["note"]
    return turns, from_json(json.dumps(told["voices"]).encode()), None if note is None else str(note)
