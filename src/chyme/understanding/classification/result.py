"""What is known about a document at a glance, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

LOCAL = "local"  # the engine that is rules and statistics
MOST_TAGS = 10
TITLE_LENGTH, SUMMARY_LENGTH, EVIDENCE_LENGTH = 200, 400, 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A date the document may be of."""

    date: str  # ISO 8601: 2026-04-03, 2026-04 or 2026
    text: str  # as it stands there
    where: str  # the output or property it was read from: doc-to-markdown, properties, name, exif …
    confidence: float
    ambiguous: bool = False  # 03/04/2026, decided by the language


@dataclass(frozen=True, slots=True)
class Classification:
    """Title, one-sentence summary, date, language and tags; each may be missing."""

    title: str | None = None
    summary: str | None = None
    date: str | None = None
    language: str | None = None  # as in `en`
    tags: tuple[str, ...] = ()
    confidence: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # field → 0..1
    evidence: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )  # field → the text it was read from
    dates: tuple[Candidate, ...] = ()  # ranked, the one taken first
    engine: str = LOCAL
    note: str | None = None


def as_json(found: Classification) -> str:
    """The content of classify-document and classify-image."""
    told = {
        "title": found.title,
        "summary": found.summary,
        "date": found.date,
        "language": found.language,
        "tags": list(found.tags),
        "confidence": {name: round(value, 2) for name, value in found.confidence.items()},
        "evidence": dict(found.evidence),
        "dates": [
            {
                "date": one.date,
                "text": one.text,
                "where": one.where,
                "confidence": round(one.confidence, 2),
                "ambiguous": one.ambiguous,
            }
            for one in found.dates
        ],
        "engine": found.engine,
    }
    if found.note:
        told["note"] = found.note
    return json.dumps(told, ensure_ascii=False)


def from_json(content: str) -> Classification:
    """The same, read back. ValueError when it is no classification."""
    told = json.loads(content)
    if not isinstance(told, dict) or not isinstance(told.get("tags"), list):
        raise ValueError("no classification")
    return Classification(
        *(told.get("title"), told.get("summary"), told.get("date"), told.get("language"), tuple(told["tags"])),
        told.get("confidence", {}),
        told.get("evidence", {}),
        tuple(Candidate(**one) for one in told.get("dates", ())),
        told.get("engine", LOCAL),
        told.get("note"),
    )
