"""Send one piece of sound to the service."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.digester import Calls
from chyme.errors import DigestError, EngineUnavailable
from chyme.models.providers.retry_after import parse_retry_after
from chyme.models.providers.service_call import call_service
from chyme.models.providers.service_faults import (
    Fault,
    error_details,
    fault_of_response,
    model_name,
    service_error,
    transport_error,
)
from chyme.speech.recognition.endpoint import SpeechEndpoint
from chyme.speech.recognition.service_responses import TranscriptionResponse, parse_response

if TYPE_CHECKING:
    import httpx2

    from chyme.models.providers.metered_transport import MeteredTransport

FILE = ("piece.flac", "audio/flac")  # sent instead of the file's real name
EXCERPT = 160  # characters of the service's message in ours
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_REJECTS_VERBOSE, _REJECTS_TIMESTAMPS = re.compile(r"response_format|verbose_json"), re.compile(r"timestamp_granularit")

# Request formats, best answer first: with words, with segments, text only.
REQUEST_FORMATS: tuple[dict[str, Any], ...] = (
    {"response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]},
    {"response_format": "verbose_json"},
    {"response_format": "json"},
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The raw answer, the parsed answer, and the index of the request format used."""

    body: bytes
    answer: TranscriptionResponse
    format_index: int


@dataclass(frozen=True, slots=True)
class AudioUpload:
    """A piece of sound to send, and its hash."""

    stream: BinaryIO
    sha256: str


def upload(
    calls: Calls,
    name: str,
    audio: AudioUpload,
    endpoint: SpeechEndpoint,
    language: str,
    format_index: int,
    seconds: float,
) -> Reply:
    """Return the answer or raise a DigestError. Blocks the calling thread, which must not run an event loop.

    If the service does not support a request format, a simpler one is tried; all requests together take no longer than
    `seconds`. `name` is the file's name, for messages; the service does not receive it.
    """
    return call_service(
        endpoint.endpoint,
        calls,
        lambda transport: _send(name, audio, endpoint, language, format_index, transport, seconds),
        lambda error, _last: transport_error(error, name, endpoint.endpoint, seconds, "request_seconds"),
    )


async def _send(
    name: str,
    audio: AudioUpload,
    endpoint: SpeechEndpoint,
    language: str,
    format_index: int,
    transport: MeteredTransport,
    seconds: float,
) -> Reply:
    import httpx2

    url = endpoint.url.rstrip("/") + "/audio/transcriptions"
    async with (
        transport.limit_time(seconds),
        httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as client,
    ):
        while True:
            form = {
                "model": endpoint.model,
                **({"language": language} if language else {}),
                **REQUEST_FORMATS[format_index],
            }
            transport.identity = f"{json.dumps(form, sort_keys=True)}\0{audio.sha256}".encode()
            answer = await client.post(url, data=form, files={"file": (FILE[0], audio.stream, FILE[1])})
            if answer.is_success:
                parsed = parse_response(answer.content)
                if parsed is None:  # something answers at that address, but it does not transcribe
                    raise service_error(Fault.WRONG_SERVICE, name, endpoint.endpoint)
                return Reply(answer.content, parsed, format_index)
            simpler = _simpler_format(format_index, answer)
            if simpler == format_index:
                raise _response_error(answer, name, endpoint)
            format_index = simpler


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
        return EngineUnavailable(
            f"{name}: {model_name(endpoint.endpoint)} does not take uploads of {_megabytes(answer)} MB; "
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
    excerpt = " ".join(_CONTROL.sub(" ", message.replace(key, "…") if key else message).split())
    if len(excerpt) > EXCERPT:
        excerpt = excerpt[:EXCERPT].rstrip() + "…"
    return f": {excerpt}" if excerpt else ""


def _megabytes(answer: httpx2.Response) -> int:
    return max(1, round(int(answer.request.headers.get("content-length", "0")) / 1e6))
