"""Settings of a remote speech recognition service. Plain values; nothing here loads a client."""

from __future__ import annotations

from dataclasses import dataclass, field

from chyme.models.providers.endpoints import Endpoint

PROTOCOL = 1  # raise it when the requests, or how answers are read, change
SOUND_A_REQUEST = 400.0  # minimum seconds of sound per request, when there is more than that


@dataclass(frozen=True, slots=True)
class SpeechEndpoint:
    """A service that implements OpenAI's `POST {url}/audio/transcriptions`.

    Each field is the name of its setting after the prefix `speech_`; `seconds` is speech_request_seconds.
    """

    url: str  # the address of an OpenAI-compatible service, such as http://localhost:8000/v1
    model: str  # the model's name at that service
    key: str = field(default="", repr=False)  # sent only to that address; empty when no key is needed
    seconds: float = 600.0  # time limit of one request, for up to ten minutes of sound

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, self.key, self.seconds, "speech", "recording")

    @property
    def fingerprint(self) -> str:
        return f"{self.endpoint.fingerprint}, protocol {PROTOCOL}"

    def seconds_for(self, duration: float) -> float:
        """Time limit in seconds for all requests of a recording of this duration together."""
        return self.seconds * (1.0 + duration / SOUND_A_REQUEST)
