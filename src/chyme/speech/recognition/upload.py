"""One piece of sound to the service and its answer back; what its faults mean for a digest is said here alone."""

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

FILE = ("piece.flac", "audio/flac")  # what the service is told instead of the file's own name
EXCERPT = 160  # characters of a service's own words in a message
_BLOCKED = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_BUSY = frozenset({"overloaded", "overloaded_error", "slow_down"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_TEXT_ONLY, _NO_WORDS = re.compile(r"response_format|verbose_json"), re.compile(r"timestamp_granularit")

# How to ask, the best answer first: with words, with segments, the text alone.
REQUEST_FORMATS: tuple[dict[str, Any], ...] = (
    {"response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]},
    {"response_format": "verbose_json"},
    {"response_format": "json"},
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, what it says, and which of the ways it took."""

    body: bytes
    answer: TranscriptionResponse
    way: int


@dataclass(frozen=True, slots=True)
class AudioUpload:
    """A piece of sound to send, and what tells it from others."""

    stream: BinaryIO
    sha256: str


def upload(
    calls: Calls, name: str, sound: AudioUpload, endpoint: SpeechEndpoint, language: str, way: int, seconds: float
) -> Reply:
    """The answer's bytes, or a DigestError. Blocks the calling thread, which must not run an event loop.

    A service that does not know the way it is asked is asked in a simpler one; all together take no longer than
    `seconds`. `name` is the file's, for messages; the service is not told it.
    """
    from chyme.models.providers.metered_transport import MeteredTransport

    toll = MeteredTransport(endpoint.endpoint, calls)
    try:
        reply = run_in_own_loop(_conversation(name, sound, endpoint, language, way, toll, seconds))
    except CallStopped:
        raise
    except Exception as error:
        if toll.stopped is None:
            ours = _translated(error, name, endpoint, seconds)
            if ours is None:
                raise
            report_health(calls, endpoint.endpoint, ours, toll.ended)
            raise ours from None
    if toll.stopped is not None:
        raise toll.stopped
    report_health(calls, endpoint.endpoint, None, toll.ended)
    return reply


def _translated(error: Exception, name: str, endpoint: SpeechEndpoint, seconds: float) -> DigestError | None:
    import httpx2

    match error:
        case DigestError():
            return error
        case TimeoutError() | httpx2.TimeoutException():
            return _late(name, endpoint, seconds)
        case httpx2.TransportError():
            return NetworkFailed(f"{name}: {_who(endpoint)} cannot be reached or broke off its answer")
        case httpx2.HTTPError() | httpx2.InvalidURL():
            return _stranger(name, endpoint)
    return None


async def _conversation(
    name: str,
    sound: AudioUpload,
    endpoint: SpeechEndpoint,
    language: str,
    way: int,
    toll: MeteredTransport,
    seconds: float,
) -> Reply:
    import httpx2

    url = endpoint.url.rstrip("/") + "/audio/transcriptions"
    async with (
        toll.limit_time(seconds),
        httpx2.AsyncClient(transport=toll, trust_env=False, follow_redirects=False, timeout=None) as client,
    ):
        while True:
            form = {"model": endpoint.model, **({"language": language} if language else {}), **REQUEST_FORMATS[way]}
            toll.told = f"{json.dumps(form, sort_keys=True)}\0{sound.sha256}".encode()
            answer = await client.post(url, data=form, files={"file": (FILE[0], sound.stream, FILE[1])})
            if answer.is_success:
                said = parse_response(answer.content)
                if said is None:  # something answers at that address, but it does not transcribe
                    raise _stranger(name, endpoint)
                return Reply(answer.content, said, way)
            simpler = _simpler(way, answer)
            if simpler == way:
                raise http_error(answer, name, endpoint)
            way = simpler


def _simpler(way: int, answer: httpx2.Response) -> int:
    """Another way to ask if that is what the service complains about."""
    if answer.status_code in (400, 422):
        told = answer.text.lower()
        if _TEXT_ONLY.search(told):
            return len(REQUEST_FORMATS) - 1
        if _NO_WORDS.search(told):
            return max(way, 1)
    return way


def http_error(answer: httpx2.Response, name: str, endpoint: SpeechEndpoint) -> DigestError:
    """Our error for an answer that is no success."""
    who, status = _who(endpoint), answer.status_code
    said, code = _said(answer, endpoint.key)
    wait = parse_retry_after(answer.headers)
    if code & _BLOCKED:
        return ContentBlocked(f"{name}: {who} refused this recording")
    if status == 402 or (status in (400, 403, 429) and code & _SPENT):
        return QuotaSpent(f"{name}: the quota of {who} is spent", retry_after=wait)
    if status == 529 or (status in (429, 503) and code & _BUSY):
        return QuotaSpent(f"{name}: {who} is overloaded", retry_after=wait)
    if status == 429:
        return RateLimited(f"{name}: {who} asks us to slow down", retry_after=wait)
    if status in (401, 403):
        return EngineUnavailable(f"{name}: {who} does not accept the key; correct speech_key, then run 'chyme retry'")
    if status in (404, 405):
        return EngineUnavailable(f"{name}: {who} does not exist (HTTP {status}); correct speech_model or speech_url")
    if status == 408:
        return TimedOut(f"{name}: {who} gave up waiting for the sound")
    if status == 413:
        return EngineUnavailable(
            f"{name}: {who} does not take uploads of {_megabytes(answer)} MB; allow 20 MB there, then run 'chyme retry'"
        )
    if status >= 500:
        return NetworkFailed(f"{name}: {who} failed (HTTP {status}){said}", retry_after=wait)
    if status < 400:
        return _stranger(name, endpoint, f" (HTTP {status})")
    return EngineUnavailable(
        f"{name}: {who} rejects the request (HTTP {status}){said}; "
        "speech_model must be a model that transcribes speech, then run 'chyme retry'"
    )


def _stranger(name: str, endpoint: SpeechEndpoint, status: str = "") -> EngineUnavailable:
    return EngineUnavailable(
        f"{name}: {_who(endpoint)} answers otherwise than it should{status}; "
        "correct speech_url (redirects are not followed)"
    )


def _late(name: str, endpoint: SpeechEndpoint, seconds: float) -> TimedOut:
    return TimedOut(
        f"{name}: {_who(endpoint)} did not answer within {seconds:.3g} seconds; speech_request_seconds allows more"
    )


def _who(endpoint: SpeechEndpoint) -> str:
    return f"the model {endpoint.model} at {endpoint.endpoint.host}"


def _said(answer: httpx2.Response, key: str) -> tuple[str, set[str]]:
    """A few of the service's own words, without the key should it quote it, and what it calls the fault."""
    try:
        told = json.loads(answer.content)
    except (ValueError, RecursionError):
        told = answer.text if not answer.text.lstrip().startswith("<") else ""
    codes: set[str] = set()
    if isinstance(told, dict):
        fault = told.get("error", told)
        if isinstance(fault, dict):
            codes = {value for value in (fault.get("code"), fault.get("type")) if isinstance(value, str)}
            told = fault.get("message") or fault.get("detail") or fault.get("msg")
        else:
            told = fault
    if not isinstance(told, str):
        return "", codes
    words = " ".join(_CONTROL.sub(" ", told.replace(key, "…") if key else told).split())
    if len(words) > EXCERPT:
        words = words[:EXCERPT].rstrip() + "…"
    return f": {words}" if words else "", codes


def _megabytes(answer: httpx2.Response) -> int:
    return max(1, round(int(answer.request.headers.get("content-length", "0")) / 1e6))
