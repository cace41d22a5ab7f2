"""Where a model is, and how it may be used. Plain values; nothing here loads a client."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address that speaks OpenAI's chat completions."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    seconds: float = 90.0  # one question, with its second asking, takes no longer
    prefix: str = "vision"  # how its settings begin, for messages that say what to correct
    takes: str = "picture"  # what it is asked about, for messages

    @property
    def fingerprint(self) -> str:
        """What changes every answer: the address and the model; and whether there is a key, never the key."""
        return f"{self.model} at {self.host} {'with' if self.key else 'without'} key"

    @property
    def host(self) -> str:
        """Host and port, for messages: an address may hold a password."""
        try:
            parts = urlsplit(self.url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return "?"
        return f"{parts.hostname or '?'}{port}"


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """The vision model; each field is the name of its setting behind `vision_`, heic_bytes by its own name."""

    url: str  # the address of an OpenAI-compatible service, such as http://localhost:11434/v1
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent to that address and nowhere else; empty when it asks for none
    seconds: float = 90.0  # how long one picture may take
    heic_bytes: int = 15 * MB  # larger HEIC files are not sent

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, self.key, self.seconds)

    @property
    def fingerprint(self) -> str:
        return self.endpoint.fingerprint

    def may_send(self, mime: str, size: int) -> bool:
        """Whether this file's picture may leave the machine."""
        return mime not in ("image/heic", "image/heif") or size <= self.heic_bytes


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """The language model; each field is the name of its setting behind `llm_`."""

    url: str  # the address of an OpenAI-compatible service, such as http://localhost:11434/v1
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent to that address and nowhere else; empty when it asks for none
    seconds: float = 90.0  # how long one question may take
    characters: int = 24_000  # how much of a long text is sent with one question that is about the whole of it

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, self.key, self.seconds, "llm", "text")

    @property
    def fingerprint(self) -> str:
        return self.endpoint.fingerprint
