"""Save finished chunks in the scratch folder, so that a killed process loses only the chunks in progress."""

from __future__ import annotations

import base64
import json
import math
import os
import threading
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chyme.speech.recognition.hallucination_filter import WhisperWord
from chyme.speech.voices.diarization import Window

NAME = "stretches.jsonl"

Place = tuple[int, int]  # first and last sample of the chunk in the file


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """The words and the voice windows of one chunk. Times are seconds into the file."""

    words: tuple[WhisperWord, ...]
    windows: tuple[Window, ...]


class ChunkCheckpoints:
    """An append-only file with one line and its checksum per chunk. Torn or broken lines are ignored."""

    def __init__(self, scratch: Path, voice_model: str | None) -> None:
        """`voice_model` names the model that produced the windows; windows of another model are not used."""
        self.language: str | None = None
        self._path = scratch / NAME
        self._voice_model = voice_model
        self._lock = threading.Lock()
        self._results: dict[Place, ChunkResult] = {}
        for row in _read_rows(self._path):
            self._load_row(row)

    def get(self, place: Place) -> ChunkResult | None:
        return self._results.get(place)

    def add(self, place: Place, result: ChunkResult) -> None:
        """Save a result permanently. Safe to call from any thread."""
        windows = [
            (window.start, window.end, base64.b64encode(array("f", window.vector)).decode())
            for window in result.windows
        ]
        words = [(word.text, word.start, word.end, word.probability) for word in result.words]
        self._append({"place": place, "voices": self._voice_model, "words": words, "windows": windows})
        self._results[place] = result

    def save_language(self, language: str) -> None:
        """Save the language of the file."""
        self._append({"language": language})
        self.language = language

    def _append(self, row: dict[str, Any]) -> None:
        payload = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        # The line break in front ends a partial line that a killed attempt may have left.
        line = b"\n%08x %b\n" % (zlib.crc32(payload), payload)
        with self._lock:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def _load_row(self, row: Any) -> None:
        try:
            if "language" in row:
                self.language = str(row["language"])
            elif row["voices"] == self._voice_model:
                first, last = map(int, row["place"])
                words = tuple(
                    WhisperWord(str(text), _finite(start), _finite(end), _finite(probability))
                    for text, start, end, probability in row["words"]
                )
                windows = tuple(
                    Window(_finite(start), _finite(end), array("f", base64.b64decode(packed, validate=True)))
                    for start, end, packed in row["windows"]
                )
                self._results[first, last] = ChunkResult(words, windows)
        except (KeyError, TypeError, ValueError):
            return


def _read_rows(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as lines:
            for line in lines:
                checksum, _, payload = line.rstrip(b"\n").partition(b" ")
                if payload and checksum == b"%08x" % zlib.crc32(payload):
                    yield json.loads(payload)
    except OSError:
        return


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a time that is no number")
    return float(value)
