"""Have the pieces of a recording transcribed by a service. Runs in a thread; loads no native library."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from chyme.digester import Calls
from chyme.errors import ChildCrashed, TimedOut
from chyme.model import Segment, Transcript
from chyme.models.providers.structured_request import check_endpoint
from chyme.speech.recognition.endpoint import SpeechEndpoint
from chyme.speech.recognition.piece_index import Piece, load_prepared, open_untrusted, write_atomically
from chyme.speech.recognition.service_responses import TranscriptionResponse, parse_response, place_segments
from chyme.speech.recognition.upload import AudioUpload, upload

ESTIMATED = "times are estimated: the model tells none"


def transcribe(
    calls: Calls,
    name: str,
    scratch: Path,
    endpoint: SpeechEndpoint,
    language: str,
    progress: Callable[[float], None],
) -> Transcript:
    """What is said in the pieces that `prepare` left in `scratch`, or a DigestError.

    `name` is the file's, for messages; `language` is as in `en`, or empty when the service shall find out. Every answer
    is kept in `scratch` before it is used: a second call asks only for what is missing.
    """
    check_endpoint(endpoint.endpoint, name)
    recording = load_prepared(scratch)
    if recording is None:
        raise ChildCrashed(f"{name}: its sound is not ready for sending, or was lost since; it is tried again")
    deadline = time.monotonic() + endpoint.seconds_for(recording.duration)
    asking = _Asking(calls, name, scratch, endpoint, language, deadline)
    segments: list[Segment] = []
    spoken: Counter[str] = Counter()
    estimated = False
    for number, piece in enumerate(recording.pieces, 1):
        answer = asking.answer(piece)
        laid = place_segments(answer, piece)
        segments += laid
        estimated = estimated or bool(laid and not answer.segments)
        if answer.language and laid:
            spoken[answer.language] += sum(round(1000 * (span.end - span.start)) for span in piece.spans)
        progress(number / len(recording.pieces))
    told = spoken.most_common(1)[0][0] if spoken else language or None
    note = ESTIMATED if estimated else None
    return Transcript(told, endpoint.model, recording.duration, tuple(segments), note)


class _Asking:
    """One recording's requests: what was answered before is not asked again."""

    def __init__(
        self, calls: Calls, name: str, scratch: Path, endpoint: SpeechEndpoint, language: str, deadline: float
    ) -> None:
        self._calls = calls
        self._name = name
        self._scratch = scratch
        self._endpoint = endpoint
        self._language = language
        self._deadline = deadline
        self._way = 0  # what the service did not understand once, it is not asked again

    def answer(self, piece: Piece) -> TranscriptionResponse:
        kept = self._scratch / f"answer-{self._key(piece)}.json"
        return self._kept(kept) or self._asked(piece, kept)

    def _kept(self, path: Path) -> TranscriptionResponse | None:
        from chyme.models.providers.http_transport import ANSWER_BYTES

        try:
            with open_untrusted(path, ANSWER_BYTES) as stream:
                return parse_response(stream.read())
        except OSError:
            return None

    def _asked(self, piece: Piece, kept: Path) -> TranscriptionResponse:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimedOut(
                f"{self._name}: {self._endpoint.model} takes too long for the whole recording; what it answered so far "
                "is kept for the next try; speech_request_seconds allows more"
            )
        with open_untrusted(self._scratch / piece.file, piece.size) as sound:
            seconds = min(left, self._endpoint.seconds)
            sent = AudioUpload(sound, piece.sha256)
            reply = upload(self._calls, self._name, sent, self._endpoint, self._language, self._way, seconds)
        self._way = reply.way
        write_atomically(kept, reply.body)
        return reply.answer

    def _key(self, piece: Piece) -> str:
        """What the answer depends on: another model's must not be taken for this one's."""
        told = "\0".join((self._endpoint.url, self._endpoint.model, self._language, piece.sha256))
        return hashlib.sha256(told.encode()).hexdigest()[:32]
