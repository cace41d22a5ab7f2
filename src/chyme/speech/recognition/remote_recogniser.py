"""Have a service transcribe the pieces of a recording. Runs in a thread; loads no native library."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.digester import Calls
from chyme.errors import ChildCrashed, TimedOut
from chyme.model import Segment, Transcript
from chyme.models.providers.structured_request import check_endpoint
from chyme.speech.recognition.endpoint import SpeechEndpoint
from chyme.speech.recognition.piece_index import Piece, load_prepared
from chyme.speech.recognition.service_responses import TranscriptionResponse, parse_response, place_segments
from chyme.speech.recognition.upload import AudioUpload, upload

ESTIMATED = "times are estimated: the model gives none"


def transcribe(
    calls: Calls,
    name: str,
    scratch: Path,
    endpoint: SpeechEndpoint,
    language: str,
    progress: Callable[[float], None],
) -> Transcript:
    """Return the transcript of the pieces that `prepare` left in `scratch`, or raise a DigestError.

    `name` is the file's name, for messages; `language` is a code such as `en`, or empty to let the service detect it.
    Every answer is saved in `scratch` before it is used: a second call requests only what is missing.
    """
    check_endpoint(endpoint.endpoint, name)
    recording = load_prepared(scratch)
    if recording is None:
        raise ChildCrashed(f"{name}: its sound is not ready for sending, or was lost since; it is tried again")
    deadline = time.monotonic() + endpoint.seconds_for(recording.duration)
    requests = _PieceRequests(calls, name, scratch, endpoint, language, deadline)
    segments: list[Segment] = []
    language_milliseconds: Counter[str] = Counter()
    estimated = False
    for number, piece in enumerate(recording.pieces, 1):
        answer = requests.answer(piece)
        placed = place_segments(answer, piece)
        segments += placed
        estimated = estimated or bool(placed and not answer.segments)
        if answer.language and placed:
            language_milliseconds[answer.language] += sum(round(1000 * (span.end - span.start)) for span in piece.spans)
        progress(number / len(recording.pieces))
    detected = language_milliseconds.most_common(1)[0][0] if language_milliseconds else language or None
    note = ESTIMATED if estimated else None
    return Transcript(detected, endpoint.model, recording.duration, tuple(segments), note)


class _PieceRequests:
    """The requests for one recording: a piece that was answered before is not sent again."""

    def __init__(
        self, calls: Calls, name: str, scratch: Path, endpoint: SpeechEndpoint, language: str, deadline: float
    ) -> None:
        self._calls = calls
        self._name = name
        self._scratch = scratch
        self._endpoint = endpoint
        self._language = language
        self._deadline = deadline
        self._format_index = 0  # index into REQUEST_FORMATS; formats the service rejected are not tried again

    def answer(self, piece: Piece) -> TranscriptionResponse:
        path = self._scratch / f"answer-{self._key(piece)}.json"
        return self._load_answer(path) or self._request_answer(piece, path)

    def _load_answer(self, path: Path) -> TranscriptionResponse | None:
        from chyme.models.providers.http_transport import ANSWER_BYTES

        try:
            with open_untrusted(path, ANSWER_BYTES) as stream:
                return parse_response(stream.read())
        except OSError:
            return None

    def _request_answer(self, piece: Piece, path: Path) -> TranscriptionResponse:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimedOut(
                f"{self._name}: {self._endpoint.model} takes too long for the whole recording; what it answered so far "
                "is kept for the next try; speech_request_seconds allows more"
            )
        with open_untrusted(self._scratch / piece.file, piece.size) as sound:
            seconds = min(remaining, self._endpoint.seconds)
            audio = AudioUpload(sound, piece.sha256)
            reply = upload(self._calls, self._name, audio, self._endpoint, self._language, self._format_index, seconds)
        self._format_index = reply.format_index
        write_atomically(path, reply.body)
        return reply.answer

    def _key(self, piece: Piece) -> str:
        """Hash everything the answer depends on, so that answers of different models are not mixed up."""
        parts = "\0".join((self._endpoint.url, self._endpoint.model, self._language, piece.sha256))
        return hashlib.sha256(parts.encode()).hexdigest()[:32]
