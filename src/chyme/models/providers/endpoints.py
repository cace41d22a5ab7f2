"""Where a model is and how it may be used. Plain values; nothing here imports a client library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from chyme.models.local.model import LocalSettings

MB = 1024 * 1024
OPENAI, GOOGLE, ANTHROPIC, LOCAL = "openai", "google", "anthropic", "local"  # the protocol, or the local model
ADDRESSES = {GOOGLE: "https://generativelanguage.googleapis.com", ANTHROPIC: "https://api.anthropic.com"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address."""

    url: str  # may be empty where the provider has a fixed address
    model: str
    key: str = field(default="", repr=False)
    seconds: float = 90.0  # limit for one question, including its one repetition
    prefix: str = "vision"  # the prefix of its settings, for messages that say what to correct
    takes: str = "picture"  # what it is asked about, for messages
    provider: str = OPENAI  # the protocol it speaks; openai is also Ollama, vLLM, llama.cpp
    own: bool = False  # it runs in our child process, at a port that changes
    local: LocalSettings | None = None  # how to run it here, for the provider `local`

    @property
    def address(self) -> str:
        """The configured URL, or the provider's fixed address."""
        return self.url or ADDRESSES.get(self.provider, "")

    @property
    def fingerprint(self) -> str:
        """What changes every answer: address, model and whether there is a key, but never the key itself."""
        if self.local is not None:
            return self.local.fingerprint
        if self.own:
            return f"{self.model} here"
        owner = "" if self.provider == OPENAI else f"{self.provider}'s "
        return f"{owner}{self.model} at {self.host} {'with' if self.key else 'without'} key"

    @property
    def host(self) -> str:
        """Host and port, for messages: the full address may contain a password."""
        try:
            parts = urlsplit(self.address)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return "?"
        return f"{parts.hostname or '?'}{port}"


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """The vision model; each field is a setting without its prefix `vision_`, except heic_bytes."""

    url: str  # such as http://localhost:11434/v1; empty for the address that google and anthropic have
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent only to that address; empty if none is needed
    seconds: float = 90.0  # time limit for one picture
    heic_bytes: int = 15 * MB  # larger HEIC files are not sent
    provider: str = OPENAI  # the protocol it speaks: openai (also Ollama, vLLM, llama.cpp), google, anthropic

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
    """The language model; each field is a setting without its prefix `llm_`."""

    url: str  # such as http://localhost:11434/v1; empty for the address that google and anthropic have
    model: str  # the model's name there
    key: str = field(default="", repr=False)  # sent only to that address; empty if none is needed
    seconds: float = 90.0  # time limit for one question
    characters: int = 24_000  # how much of a long text is sent with one question about the whole of it
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
