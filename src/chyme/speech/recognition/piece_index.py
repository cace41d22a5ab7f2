"""What lies in a scratch folder between cutting the sound and sending it: pieces, and an index of them."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from chyme.speech.recognition.voice_activity import SpeechSpan
from chyme.speech.voices.window import Window

INDEX = "pieces.json"
INDEX_BYTES = 64 << 20
VERSION = 1
_NAME = re.compile(r"piece-\d{4,6}\.flac")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of sound to be sent. Long silence is left out of it, so its clock is not the recording's."""

    file: str  # its name in the scratch folder
    size: int
    sha256: str
    stretches: tuple[SpeechSpan, ...]  # what it holds of the recording, one after the other
    spans: tuple[SpeechSpan, ...]  # where somebody speaks, in seconds into the recording

    @property
    def length(self) -> float:
        """Seconds of sound in it."""
        return sum(stretch.end - stretch.start for stretch in self.stretches)

    def start_in_recording(self, second: float) -> float:
        """Where in the recording something is that begins at this second of the piece."""
        for stretch in self.stretches[:-1]:
            if second < stretch.end - stretch.start:
                return stretch.start + second
            second -= stretch.end - stretch.start
        return min(self.stretches[-1].end, self.stretches[-1].start + second)

    def end_in_recording(self, second: float) -> float:
        """Where in the recording something is over that ends at this second of the piece."""
        for stretch in self.stretches[:-1]:
            if second <= stretch.end - stretch.start:
                return stretch.start + second
            second -= stretch.end - stretch.start
        return min(self.stretches[-1].end, self.stretches[-1].start + second)


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """All that is to be sent of one recording; no piece at all when nobody speaks."""

    duration: float  # seconds of the recording's sound
    pieces: tuple[Piece, ...]
    windows: tuple[Window, ...] = ()  # how the voices sound; only known to whoever has just listened


def load_prepared(scratch: Path) -> PreparedRecording | None:
    """What was prepared in this folder, or None when that is not finished or not as it was left."""
    try:
        with open_untrusted(scratch / INDEX, INDEX_BYTES) as stream:
            told = json.loads(stream.read())
        if told["version"] != VERSION:
            return None
        found = PreparedRecording(_seconds(told["duration"]), tuple(map(_piece, told["pieces"])))
        for piece in found.pieces:
            with open_untrusted(scratch / piece.file, piece.size) as stream:
                if os.fstat(stream.fileno()).st_size != piece.size:
                    return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return found


def write_index(scratch: Path, found: PreparedRecording) -> None:
    """The last step: whoever sees the index sees all pieces."""
    pieces = [
        {
            "file": piece.file,
            "size": piece.size,
            "sha256": piece.sha256,
            "stretches": [[span.start, span.end] for span in piece.stretches],
            "spans": [[span.start, span.end] for span in piece.spans],
        }
        for piece in found.pieces
    ]
    told = {"version": VERSION, "duration": found.duration, "pieces": pieces}
    write_atomically(scratch / INDEX, json.dumps(told, separators=(",", ":")).encode())


def write_atomically(path: Path, data: bytes) -> None:
    """The whole file or none: written beside it, then renamed. The folder may hold traps; no name is followed."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(fd)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


@contextmanager
def open_untrusted(path: Path, most: int) -> Iterator[BinaryIO]:
    """A plain file of at most so many bytes, opened without following whoever laid it there; else an OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as stream:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size > most:
            raise OSError(f"{path.name} is not the file it should be")
        yield stream


def _piece(row: dict[str, Any]) -> Piece:
    file, size, sha256 = row["file"], row["size"], row["sha256"]
    if not isinstance(file, str) or not _NAME.fullmatch(file):
        raise ValueError("a piece by another name")
    if not isinstance(size, int) or not isinstance(sha256, str):
        raise TypeError("a piece without size or hash")
    stretches = _spans(row["stretches"])
    if not stretches:
        raise ValueError("a piece of nothing")
    return Piece(file, size, sha256, stretches, _spans(row["spans"]))


def _spans(rows: list[list[Any]]) -> tuple[SpeechSpan, ...]:
    spans = tuple(SpeechSpan(_seconds(start), _seconds(end)) for start, end in rows)
    times = [time for span in spans for time in (span.start, span.end)]
    if times != sorted(times):
        raise ValueError("not in order")
    return spans


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError("not a time")
    return float(value)
