"""What came back from a web server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FetchResult:
    """A whole answer: redirects followed, unpacked, within its limits."""

    url: str  # where it came from in the end
    status: int
    headers: Mapping[str, str]  # names in lower case; the first of several
    body: bytes
    hops: tuple[str, ...] = ()  # the addresses before `url`, in order

    @property
    def mime(self) -> str:
        """The media type told, in lower case, without parameters; empty when none is told."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """What the Content-Type says about the encoding; servers often say it wrongly."""
        for part in self.headers.get("content-type", "").split(";")[1:]:
            name, _, value = part.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip("\"'") or None
        return None


class PartFetcher(Protocol):
    """Whoever gets the parts of a page: pictures, styles, fonts."""

    def fetch_part(self, url: str, most: int) -> FetchResult | None:
        """The part, of at most so many bytes; None when it cannot be had, for whatever reason. Never raises."""
