"""What search-semantic tells of the passages it embedded: by it one knows whether two embedders read the same text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SEMANTIC = "search-semantic"
EMBEDDED_BEFORE = "embedded-before"  # the input that tells it which passages have their vectors already
TEXT_HASH = "text_hash"  # in its content: of all texts that were cut into passages, the titles before them apart
_DIGITS = 16


def text_hash(texts: Iterable[tuple[str, str]]) -> str:
    """The hash of these texts (source, text), in order."""
    told = hashlib.sha256()
    for source, text in texts:
        told.update(f"{source}\0{len(text)}\0".encode())
        told.update(text.encode("utf-8", "surrogatepass"))
    return told.hexdigest()[:_DIGITS]


def passage_hash(text: str) -> str:
    """What a passage that was embedded before is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class ReusablePassages:
    """Passages of a file whose vectors the vault has already: nobody need embed them again."""

    dimension: int = 0
    hashes: frozenset[str] = frozenset()

    def __contains__(self, text: str) -> bool:
        return bool(self.hashes) and passage_hash(text) in self.hashes

    def as_json(self) -> str:
        return json.dumps({"dimension": self.dimension, "hashes": sorted(self.hashes)})

    @classmethod
    def from_json(cls, content: str | None) -> ReusablePassages:
        """As `as_json` wrote it; nothing where there is none."""
        told = _told(content)
        return cls(told["dimension"], frozenset(told["hashes"])) if told else cls()


NO_REUSABLE_PASSAGES = ReusablePassages()


def same_text(before: str | None, after: str | None) -> bool:
    """Whether the passages of an earlier embedder still stand where they stood: the text is what it was."""
    known = _hash_in(before)
    return known is not None and known == _hash_in(after)


def embedded_passages(content: str | None) -> int:
    """How many passages were embedded."""
    found = _told(content).get("passages")
    return found if isinstance(found, int) else 0


def _hash_in(content: str | None) -> str | None:
    found = _told(content).get(TEXT_HASH)
    return found if isinstance(found, str) else None


def _told(content: str | None) -> dict[str, Any]:
    try:
        told = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
