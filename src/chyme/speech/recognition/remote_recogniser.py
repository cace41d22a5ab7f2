"""Have a service transcribe the pieces of a recording. Runs in a thread; loads no native library."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.digester import Calls
from chyme.errors import ChildCrashed, DigestError, EngineUnavailable, TimedOut
from chyme.model import Segment, Transcript
from chyme.models.providers.service_call import call_service
from chyme.models.providers.service_faults import (
    Fault,
    error_details,
    fault_of_response,
    model_name,
    parse_retry_after,
    service_error,
    transport_error,
)
from chyme.models.providers.structured_request import check_endpoint
from chyme.speech.recognition.piece_index import Piece, load_prepared
from chyme.speech.recognition.service_responses import TranscriptionResponse, clean_text, parse_response, place_segments
from chyme.speech.recognition.settings import SpeechEndpoint

if TYPE_CHECKING:
    import httpx2

    from chyme.models.providers.metered_transport import MeteredTransport

FILE = ("piece.flac", "audio/flac")  # sent instead of the file's real name
EXCERPT = 160  # characters of the service's message in ours
_REJECTS_VERBOSE, _REJECTS_TIMESTAMPS = re.compile(r"response_format|verbose_json"), re.compile(r"timestamp_granularit")
ESTIMATED = "times are estimated: the model gives none"

# Request formats, best answer first: with words, with segments, text only.
REQUEST_FORMATS: tuple[dict[str, Any], ...] = (
    {"response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]},
    {"response_format": "verbose_json"},
    {"response_format": "json"},
)


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
        seconds = min(remaining, self._endpoint.seconds)
        with open_untrusted(self._scratch / piece.file, piece.size) as sound:
            body, answer = call_service(
                self._endpoint.endpoint,
                self._calls,
                lambda transport: self._send(sound, piece.sha256, transport, seconds),
                lambda error, _last: transport_error(
                    error, self._name, self._endpoint.endpoint, seconds, "request_seconds"
                ),
            )
        write_atomically(path, body)
        return answer

    async def _send(
        self, sound: BinaryIO, sha256: str, transport: MeteredTransport, seconds: float
    ) -> tuple[bytes, TranscriptionResponse]:
        """Return the answer as received and as parsed, or raise a DigestError.

        If the service does not support a request format, a simpler one is tried; all requests together take no longer
        than `seconds`. The service does not receive the file's name.
        """
        import httpx2

        url = self._endpoint.url.rstrip("/") + "/audio/transcriptions"
        format_index = self._format_index
        async with (
            transport.limit_time(seconds),
            httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as client,
        ):
            while True:
                form = {
                    "model": self._endpoint.model,
                    **({"language": self._language} if self._language else {}),
                    **REQUEST_FORMATS[format_index],
                }
                transport.identity = f"{json.dumps(form, sort_keys=True)}\0{sha256}".encode()
                answer = await client.post(url, data=form, files={"file": (FILE[0], sound, FILE[1])})
                if answer.is_success:
                    parsed = parse_response(answer.content)
                    if parsed is None:  # something answers at that address, but it does not transcribe
                        raise service_error(Fault.WRONG_SERVICE, self._name, self._endpoint.endpoint)
                    self._format_index = format_index
                    return answer.content, parsed
                simpler = _simpler_format(format_index, answer)
                if simpler == format_index:
                    raise _response_error(answer, self._name, self._endpoint)
                format_index = simpler

    def _key(self, piece: Piece) -> str:
        """Hash everything the answer depends on, so that answers of different models are not mixed up."""
        parts = "\0".join((self._endpoint.url, self._endpoint.model, self._language, piece.sha256))
        return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _simpler_format(format_index: int, answer: httpx2.Response) -> int:
    """Return a simpler format if that is what the service complains about."""
    if answer.status_code in (400, 422):
        message = answer.text.lower()
        if _REJECTS_VERBOSE.search(message):
            return len(REQUEST_FORMATS) - 1
        if _REJECTS_TIMESTAMPS.search(message):
            return max(format_index, 1)
    return format_index


def _response_error(answer: httpx2.Response, name: str, endpoint: SpeechEndpoint) -> DigestError:
    codes, message = error_details(answer)
    fault = fault_of_response(answer.status_code, codes)
    if fault is Fault.TOO_LARGE:
        megabytes = max(1, round(int(answer.request.headers.get("content-length", "0")) / 1e6))
        return EngineUnavailable(
            f"{name}: {model_name(endpoint.endpoint)} does not take uploads of {megabytes} MB; "
            "allow 20 MB there, then run 'chyme retry'"
        )
    return service_error(
        fault,
        name,
        endpoint.endpoint,
        status=answer.status_code,
        retry_after=parse_retry_after(answer.headers),
        excerpt=_excerpt(message, endpoint.key),
        sent="sound",
        asked="request",
        needed="be a model that transcribes speech, then run 'chyme retry'",
    )


def _excerpt(message: str, key: str) -> str:
    """The beginning of the service's message, with the key removed if quoted."""
    excerpt = clean_text(message.replace(key, "…") if key else message)
    if len(excerpt) > EXCERPT:
        excerpt = excerpt[:EXCERPT].rstrip() + "…"
    return f": {excerpt}" if excerpt else ""
