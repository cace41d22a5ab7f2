"""Hashes of embedded texts: whether two embedders read the same, and which passages have vectors already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SEMANTIC = "search-semantic"
KEYWORD = "search-keyword"  # the digester that cuts passages for the index of words
EMBEDDED_BEFORE = "embedded-before"  # the input that lists which passages have their vectors already
TEXT_HASH = "text_hash"  # in its content: of all texts that were cut into passages, without the titles before them
_DIGITS = 16


def text_hash(texts: Iterable[tuple[str, str]]) -> str:
    """The hash of these texts (source, text), in order."""
    digest = hashlib.sha256()
    for source, text in texts:
        digest.update(f"{source}\0{len(text)}\0".encode())
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_DIGITS]


def passage_hash(text: str) -> str:
    """The hash by which an embedded passage is recognised."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class ReusablePassages:
    """Passages of a file whose vectors the vault has already, so that they need not be embedded again."""

    dimension: int = 0
    hashes: frozenset[str] = frozenset()

    def __contains__(self, text: str) -> bool:
        return bool(self.hashes) and passage_hash(text) in self.hashes

    def as_json(self) -> str:
        return json.dumps({"dimension": self.dimension, "hashes": sorted(self.hashes)})

    @classmethod
    def from_json(cls, content: str | None) -> ReusablePassages:
        """The passages that `as_json` wrote; none without content."""
        fields = _parse_content(content)
        return cls(fields["dimension"], frozenset(fields["hashes"])) if fields else cls()


NO_REUSABLE_PASSAGES = ReusablePassages()


def same_text(before: str | None, after: str | None) -> bool:
    """Whether the text is unchanged, so that the passages of an earlier embedder are still at their places."""
    known = _hash_in(before)
    return known is not None and known == _hash_in(after)


def embedded_passages(content: str | None) -> int:
    """The number of passages that were embedded."""
    found = _parse_content(content).get("passages")
    return found if isinstance(found, int) else 0


def _hash_in(content: str | None) -> str | None:
    found = _parse_content(content).get(TEXT_HASH)
    return found if isinstance(found, str) else None


def _parse_content(content: str | None) -> dict[str, Any]:
    try:
        fields = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
