"""Stretches that are done, kept in the scratch folder: whoever is killed loses only what was being heard."""

from __future__ import annotations

import base64
import json
import math
import os
import threading
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chyme.speech.recognition.hallucination_filter import WhisperWord
from chyme.speech.voices.window import Window

NAME = "stretches.jsonl"

Place = tuple[int, int]  # the samples of the file, from and to


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What was said in one stretch, and how it sounded. Seconds into the file."""

    words: tuple[WhisperWord, ...]
    windows: tuple[Window, ...]


class ChunkCheckpoints:
    """A file that only grows, a line with its checksum for each stretch. Torn or broken lines count as none."""

    def __init__(self, scratch: Path, voices: str | None) -> None:
        """`voices` names the model that the windows come from; windows of another one are not used."""
        self.language: str | None = None
        self._path = scratch / NAME
        self._voices = voices
        self._lock = threading.Lock()
        self._done: dict[Place, ChunkResult] = {}
        for row in _rows(self._path):
            self._read(row)

    def get(self, place: Place) -> ChunkResult | None:
        return self._done.get(place)

    def add(self, place: Place, done: ChunkResult) -> None:
        """Keeps it for good. Any thread may call."""
        windows = [(one.start, one.end, _packed(one.vector)) for one in done.windows]
        words = [(one.text, one.start, one.end, one.probability) for one in done.words]
        self._append({"place": place, "voices": self._voices, "words": words, "windows": windows})
        self._done[place] = done

    def save_language(self, language: str) -> None:
        """Keeps which language the file is in."""
        self._append({"language": language})
        self.language = language

    def _append(self, row: dict[str, Any]) -> None:
        told = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        # The line break before it ends whatever a killed attempt left behind.
        line = b"\n%08x %b\n" % (zlib.crc32(told), told)
        with self._lock:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def _read(self, row: Any) -> None:
        try:
            if "language" in row:
                self.language = str(row["language"])
            elif row["voices"] == self._voices:
                begin, end = map(int, row["place"])
                words = tuple(_spoken(*one) for one in row["words"])
                windows = tuple(_window(*one) for one in row["windows"])
                self._done[begin, end] = ChunkResult(words, windows)
        except (KeyError, TypeError, ValueError):
            return


def _rows(path: Path) -> Iterator[Any]:
    try:
        with path.open("rb") as lines:
            for line in lines:
                checksum, _, told = line.rstrip(b"\n").partition(b" ")
                if told and checksum == b"%08x" % zlib.crc32(told):
                    yield json.loads(told)
    except OSError:
        return


def _spoken(text: str, start: float, end: float, probability: float) -> WhisperWord:
    return WhisperWord(str(text), _number(start), _number(end), _number(probability))


def _window(start: float, end: float, packed: str) -> Window:
    return Window(_number(start), _number(end), _unpacked(packed))


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a time that is no number")
    return float(value)


def _packed(vector: Sequence[float]) -> str:
    import numpy

    return base64.b64encode(numpy.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def _unpacked(packed: str) -> Sequence[float]:
    import numpy

    return array("f", numpy.frombuffer(base64.b64decode(packed, validate=True), dtype="<f4").astype("f4").tobytes())
