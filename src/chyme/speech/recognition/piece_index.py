"""Audio pieces in a scratch folder, waiting to be sent, and the index of them."""

from __future__ import annotations

import json
import math
import operator
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.speech.recognition.voice_activity import SpeechSpan
from chyme.speech.voices.diarization import Window

INDEX = "pieces.json"
INDEX_BYTES = 64 << 20
VERSION = 1
_NAME = re.compile(r"piece-\d{4,6}\.flac")


@dataclass(frozen=True, slots=True)
class Piece:
    """An audio file to send. Long silence is left out, so its times differ from the recording's."""

    file: str  # its name in the scratch folder
    size: int
    sha256: str
    stretches: tuple[SpeechSpan, ...]  # the parts of the recording it contains, in order
    spans: tuple[SpeechSpan, ...]  # where there is speech, in seconds into the recording

    @property
    def length(self) -> float:
        """Seconds of sound in the piece."""
        return sum(stretch.end - stretch.start for stretch in self.stretches)

    def start_in_recording(self, second: float) -> float:
        """Convert a start time in the piece to the recording's time."""
        return self._in_recording(second, operator.lt)

    def end_in_recording(self, second: float) -> float:
        """Convert an end time in the piece to the recording's time."""
        return self._in_recording(second, operator.le)

    def _in_recording(self, second: float, is_within: Callable[[float, float], bool]) -> float:
        for stretch in self.stretches[:-1]:
            if is_within(second, stretch.end - stretch.start):
                return stretch.start + second
            second -= stretch.end - stretch.start
        return min(self.stretches[-1].end, self.stretches[-1].start + second)


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """Everything to send of one recording; no pieces when there is no speech."""

    duration: float  # seconds of the recording's sound
    pieces: tuple[Piece, ...]
    windows: tuple[Window, ...] = ()  # voice windows; only set directly after `prepare` ran


def load_prepared(scratch: Path) -> PreparedRecording | None:
    """Load what was prepared in this folder; None when that is unfinished or was altered."""
    try:
        with open_untrusted(scratch / INDEX, INDEX_BYTES) as stream:
            payload = json.loads(stream.read())
        if payload["version"] != VERSION:
            return None
        prepared = PreparedRecording(_parse_seconds(payload["duration"]), tuple(map(_parse_piece, payload["pieces"])))
        for piece in prepared.pieces:
            with open_untrusted(scratch / piece.file, piece.size) as stream:
                if os.fstat(stream.fileno()).st_size != piece.size:
                    return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return prepared


def write_index(scratch: Path, prepared: PreparedRecording) -> None:
    """Write the index as the last step: if it exists, all pieces do."""
    pieces = [
        {
            "file": piece.file,
            "size": piece.size,
            "sha256": piece.sha256,
            "stretches": [[span.start, span.end] for span in piece.stretches],
            "spans": [[span.start, span.end] for span in piece.spans],
        }
        for piece in prepared.pieces
    ]
    payload = {"version": VERSION, "duration": prepared.duration, "pieces": pieces}
    write_atomically(scratch / INDEX, json.dumps(payload, separators=(",", ":")).encode())


def _parse_piece(row: dict[str, Any]) -> Piece:
    file, size, sha256 = row["file"], row["size"], row["sha256"]
    if not isinstance(file, str) or not _NAME.fullmatch(file):
        raise ValueError("a piece by another name")
    if not isinstance(size, int) or not isinstance(sha256, str):
        raise TypeError("a piece without size or hash")
    stretches = _parse_spans(row["stretches"])
    if not stretches:
        raise ValueError("a piece of nothing")
    return Piece(file, size, sha256, stretches, _parse_spans(row["spans"]))


def _parse_spans(rows: list[list[Any]]) -> tuple[SpeechSpan, ...]:
    spans = tuple(SpeechSpan(_parse_seconds(start), _parse_seconds(end)) for start, end in rows)
    times = [time for span in spans for time in (span.start, span.end)]
    if times != sorted(times):
        raise ValueError("not in order")
    return spans


def _parse_seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError("not a time")
    return float(value)
