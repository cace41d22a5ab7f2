"""Where speech is recognised elsewhere, and how that may be used. Plain values; nothing here loads a client."""

from __future__ import annotations

from dataclasses import dataclass, field

from chyme.models.providers.endpoints import Endpoint

PROTOCOL = 1  # raise it when what is sent, or how answers are read, changes
SOUND_A_REQUEST = 400.0  # seconds of sound that go into one request, at the least, when there is more than that


@dataclass(frozen=True, slots=True)
class SpeechEndpoint:
    """A service that takes OpenAI's `POST {url}/audio/transcriptions`.

    Each field is the name of its setting behind `speech_`; `seconds` is speech_request_seconds.
    """

    url: str  # the address of an OpenAI-compatible service, such as http://localhost:8000/v1
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent to that address and nowhere else; empty when it asks for none
    seconds: float = 600.0  # how long one request, for up to ten minutes of sound, may take

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, self.key, self.seconds, "speech")

    @property
    def fingerprint(self) -> str:
        return f"{self.endpoint.fingerprint}, protocol {PROTOCOL}"

    def seconds_for(self, duration: float) -> float:
        """How long all requests for a recording of so many seconds may take together."""
        return self.seconds * (1.0 + duration / SOUND_A_REQUEST)
