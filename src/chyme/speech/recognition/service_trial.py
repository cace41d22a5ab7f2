"""Ask a service that transcribes whether it works, with a second of silence."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING

from chyme.digester import Calls
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.service_call import call_service
from chyme.models.providers.service_faults import (
    Fault,
    error_details,
    fault_of_response,
    parse_retry_after,
    service_error,
    transport_error,
)
from chyme.models.providers.structured_request import check_endpoint
from chyme.speech.recognition.service_responses import parse_response

if TYPE_CHECKING:
    from chyme.models.providers.metered_transport import MeteredTransport

RATE = 16_000


def try_service(endpoint: Endpoint, calls: Calls, name: str) -> None:
    """Send one request; raise a DigestError if the service does not answer as it should."""
    check_endpoint(endpoint, name)
    call_service(
        endpoint,
        calls,
        lambda transport: _send(endpoint, transport, name),
        lambda error, _last: transport_error(error, name, endpoint, endpoint.seconds, "request_seconds"),
    )


async def _send(endpoint: Endpoint, transport: MeteredTransport, name: str) -> None:
    import httpx2

    async with (
        transport.limit_time(endpoint.seconds),
        httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as client,
    ):
        answer = await client.post(
            endpoint.url.rstrip("/") + "/audio/transcriptions",
            data={"model": endpoint.model, "response_format": "json"},
            files={"file": ("piece.wav", _silence(), "audio/wav")},
        )
    if not answer.is_success:
        codes, _message = error_details(answer)
        raise service_error(
            fault_of_response(answer.status_code, codes),
            name,
            endpoint,
            status=answer.status_code,
            retry_after=parse_retry_after(answer.headers),
            asked="recording",
            needed="transcribe speech",
            sent="recording",
            lower="the length of recordings",
            answers="answers in the wrong format",
        )
    if parse_response(answer.content) is None:
        raise service_error(Fault.WRONG_SERVICE, name, endpoint)


def _silence() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(bytes(2 * RATE))
    return stream.getvalue()
