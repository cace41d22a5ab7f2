"""The response of a web server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FetchResult:
    """A complete response: redirects followed, decompressed, within its limits."""

    url: str  # after all redirects
    status: int
    headers: Mapping[str, str]  # names in lower case; the first value of several
    body: bytes
    hops: tuple[str, ...] = ()  # the addresses before `url`, in order

    @property
    def mime(self) -> str:
        """The declared media type, in lower case, without parameters; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """The encoding declared in the Content-Type; often wrong."""
        for part in self.headers.get("content-type", "").split(";")[1:]:
            name, _, value = part.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip("\"'") or None
        return None


class PartFetcher(Protocol):
    """Fetches the parts of a page: pictures, styles, fonts."""

    def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
        """Return the part; None if it is larger or cannot be fetched for any reason. Never raises."""
