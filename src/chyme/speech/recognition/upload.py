"""Send one piece of sound to the service; all mapping of its failures to digest errors is here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from chyme.digester import Calls
from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
)
from chyme.models.providers.cancellation import CallStopped, run_in_own_loop
from chyme.models.providers.health_reports import report_health
from chyme.models.providers.retry_after import parse_retry_after
from chyme.speech.recognition.endpoint import SpeechEndpoint
from chyme.speech.recognition.service_responses import TranscriptionResponse, parse_response

if TYPE_CHECKING:
    import httpx2

    from chyme.models.providers.metered_transport import MeteredTransport

FILE = ("piece.flac", "audio/flac")  # sent instead of the file's real name
EXCERPT = 160  # characters of the service's message in ours
_BLOCKED = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
_QUOTA_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_OVERLOADED = frozenset({"overloaded", "overloaded_error", "slow_down"})
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
    from chyme.models.providers.metered_transport import MeteredTransport

    transport = MeteredTransport(endpoint.endpoint, calls)
    try:
        reply = run_in_own_loop(_send(name, audio, endpoint, language, format_index, transport, seconds))
    except CallStopped:
        raise
    except Exception as error:
        if transport.stopped is None:
            translated = _translate_error(error, name, endpoint, seconds)
            if translated is None:
                raise
            report_health(calls, endpoint.endpoint, translated, transport.ended)
            raise translated from None
    if transport.stopped is not None:
        raise transport.stopped
    report_health(calls, endpoint.endpoint, None, transport.ended)
    return reply


def _translate_error(error: Exception, name: str, endpoint: SpeechEndpoint, seconds: float) -> DigestError | None:
    import httpx2

    match error:
        case DigestError():
            return error
        case TimeoutError() | httpx2.TimeoutException():
            return _timed_out(name, endpoint, seconds)
        case httpx2.TransportError():
            return NetworkFailed(f"{name}: {_model_at(endpoint)} cannot be reached or broke off its answer")
        case httpx2.HTTPError() | httpx2.InvalidURL():
            return _unexpected_answer(name, endpoint)
    return None


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
            transport.told = f"{json.dumps(form, sort_keys=True)}\0{audio.sha256}".encode()
            answer = await client.post(url, data=form, files={"file": (FILE[0], audio.stream, FILE[1])})
            if answer.is_success:
                parsed = parse_response(answer.content)
                if parsed is None:  # something answers at that address, but it does not transcribe
                    raise _unexpected_answer(name, endpoint)
                return Reply(answer.content, parsed, format_index)
            simpler = _simpler_format(format_index, answer)
            if simpler == format_index:
                raise http_error(answer, name, endpoint)
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


def http_error(answer: httpx2.Response, name: str, endpoint: SpeechEndpoint) -> DigestError:
    """The error for an unsuccessful answer."""
    service, status = _model_at(endpoint), answer.status_code
    excerpt, codes = _error_details(answer, endpoint.key)
    retry_after = parse_retry_after(answer.headers)
    if codes & _BLOCKED:
        return ContentBlocked(f"{name}: {service} refused this recording")
    if status == 402 or (status in (400, 403, 429) and codes & _QUOTA_SPENT):
        return QuotaSpent(f"{name}: the quota of {service} is spent", retry_after=retry_after)
    if status == 529 or (status in (429, 503) and codes & _OVERLOADED):
        return QuotaSpent(f"{name}: {service} is overloaded", retry_after=retry_after)
    if status == 429:
        return RateLimited(f"{name}: {service} asks us to slow down", retry_after=retry_after)
    if status in (401, 403):
        return EngineUnavailable(
            f"{name}: {service} does not accept the key; correct speech_key, then run 'chyme retry'"
        )
    if status in (404, 405):
        return EngineUnavailable(
            f"{name}: {service} does not exist (HTTP {status}); correct speech_model or speech_url"
        )
    if status == 408:
        return TimedOut(f"{name}: {service} gave up waiting for the sound")
    if status == 413:
        return EngineUnavailable(
            f"{name}: {service} does not take uploads of {_megabytes(answer)} MB; "
            "allow 20 MB there, then run 'chyme retry'"
        )
    if status >= 500:
        return NetworkFailed(f"{name}: {service} failed (HTTP {status}){excerpt}", retry_after=retry_after)
    if status < 400:
        return _unexpected_answer(name, endpoint, f" (HTTP {status})")
    return EngineUnavailable(
        f"{name}: {service} rejects the request (HTTP {status}){excerpt}; "
        "speech_model must be a model that transcribes speech, then run 'chyme retry'"
    )


def _unexpected_answer(name: str, endpoint: SpeechEndpoint, status: str = "") -> EngineUnavailable:
    return EngineUnavailable(
        f"{name}: {_model_at(endpoint)} answers otherwise than it should{status}; "
        "correct speech_url (redirects are not followed)"
    )


def _timed_out(name: str, endpoint: SpeechEndpoint, seconds: float) -> TimedOut:
    return TimedOut(
        f"{name}: {_model_at(endpoint)} did not answer within {seconds:.3g} seconds; speech_request_seconds allows more"
    )


def _model_at(endpoint: SpeechEndpoint) -> str:
    return f"the model {endpoint.model} at {endpoint.endpoint.host}"


def _error_details(answer: httpx2.Response, key: str) -> tuple[str, set[str]]:
    """Return an excerpt of the service's message, with the key removed if quoted, and its error codes."""
    try:
        message = json.loads(answer.content)
    except (ValueError, RecursionError):
        message = answer.text if not answer.text.lstrip().startswith("<") else ""
    codes: set[str] = set()
    if isinstance(message, dict):
        error = message.get("error", message)
        if isinstance(error, dict):
            codes = {value for value in (error.get("code"), error.get("type")) if isinstance(value, str)}
            message = error.get("message") or error.get("detail") or error.get("msg")
        else:
            message = error
    if not isinstance(message, str):
        return "", codes
    excerpt = " ".join(_CONTROL.sub(" ", message.replace(key, "…") if key else message).split())
    if len(excerpt) > EXCERPT:
        excerpt = excerpt[:EXCERPT].rstrip() + "…"
    return f": {excerpt}" if excerpt else "", codes


def _megabytes(answer: httpx2.Response) -> int:
    return max(1, round(int(answer.request.headers.get("content-length", "0")) / 1e6))
