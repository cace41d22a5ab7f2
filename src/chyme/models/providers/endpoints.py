"""Where a model is, and how it may be used. Plain values; nothing here loads a client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from chyme.models.local.model import LocalSettings

MB = 1024 * 1024
OPENAI, GOOGLE, ANTHROPIC, LOCAL = "openai", "google", "anthropic", "local"  # whose protocol, or whose model
ADDRESSES = {GOOGLE: "https://generativelanguage.googleapis.com", ANTHROPIC: "https://api.anthropic.com"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address."""

    url: str  # may be empty where the provider has an address of its own
    model: str
    key: str = field(default="", repr=False)
    seconds: float = 90.0  # one question, with its second asking, takes no longer
    prefix: str = "vision"  # how its settings begin, for messages that say what to correct
    takes: str = "picture"  # what it is asked about, for messages
    provider: str = OPENAI  # whose protocol it speaks; openai is also Ollama, vLLM, llama.cpp
    own: bool = False  # it runs in a child of ours, at a port that changes
    local: LocalSettings | None = None  # how to run it here, for the provider `local`

    @property
    def address(self) -> str:
        """Where it is."""
        return self.url or ADDRESSES.get(self.provider, "")

    @property
    def fingerprint(self) -> str:
        """What changes every answer: the address and the model; and whether there is a key, never the key."""
        if self.local is not None:
            return self.local.fingerprint
        if self.own:
            return f"{self.model} here"
        by = "" if self.provider == OPENAI else f"{self.provider}'s "
        return f"{by}{self.model} at {self.host} {'with' if self.key else 'without'} key"

    @property
    def host(self) -> str:
        """Host and port, for messages: an address may hold a password."""
        try:
            parts = urlsplit(self.address)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return "?"
        return f"{parts.hostname or '?'}{port}"


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """The vision model; each field is the name of its setting behind `vision_`, heic_bytes by its own name."""

    url: str  # such as http://localhost:11434/v1; empty for the address that google and anthropic have
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent to that address and nowhere else; empty when it asks for none
    seconds: float = 90.0  # how long one picture may take
    heic_bytes: int = 15 * MB  # larger HEIC files are not sent
    provider: str = OPENAI  # whose protocol it speaks: openai (also Ollama, vLLM, llama.cpp), google, anthropic

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.model, self.key, self.seconds, "vision", "picture", self.provider)

    @property
    def fingerprint(self) -> str:
        return self.endpoint.fingerprint

    def may_send(self, mime: str, size: int) -> bool:
        """Whether this file's picture may leave the machine."""
        return mime not in ("image/heic", "image/heif") or size <= self.heic_bytes


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """The language model; each field is the name of its setting behind `llm_`."""

    url: str  # such as http://localhost:11434/v1; empty for the address that google and anthropic have
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent to that address and nowhere else; empty when it asks for none
    seconds: float = 90.0  # how long one question may take
    characters: int = 24_000  # how much of a long text is sent with one question that is about the whole of it
    provider: str = OPENAI  # openai (also Ollama, vLLM, llama.cpp), google, anthropic, or local
    local: LocalSettings | None = None  # how to run it here, for the provider `local`

    @property
    def endpoint(self) -> Endpoint:
        own = self.provider == LOCAL
        return Endpoint(
            self.url, self.model, self.key, self.seconds, "llm", "text", self.provider, own, self.local if own else None
        )

    @property
    def fingerprint(self) -> str:
        return self.endpoint.fingerprint
