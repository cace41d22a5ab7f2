"""The result of a classification: what is known about a document, with confidences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

CLASSIFIERS = ("classify-document", "classify-image")
LOCAL = "local"  # the engine made of rules and statistics
MAX_TAGS = 10
TITLE_LENGTH, SUMMARY_LENGTH, EVIDENCE_LENGTH = 200, 400, 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible date of the document."""

    date: str  # ISO 8601: 2026-04-03, 2026-04 or 2026
    text: str  # the original text there
    where: str  # the output or property it was read from: doc-to-markdown, properties, name, exif …
    confidence: float
    ambiguous: bool = False  # such as 03/04/2026, decided by the language


@dataclass(frozen=True, slots=True)
class Classification:
    """Title, one-sentence summary, date, language and tags; each may be missing."""

    title: str | None = None
    summary: str | None = None
    date: str | None = None
    language: str | None = None  # such as `en`
    tags: tuple[str, ...] = ()
    confidence: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # field → 0..1
    evidence: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # field → the text read
    dates: tuple[Candidate, ...] = ()  # ranked, the chosen one first
    engine: str = LOCAL
    note: str | None = None


def as_json(classification: Classification) -> str:
    """The content of classify-document and classify-image."""
    data = {
        "title": classification.title,
        "summary": classification.summary,
        "date": classification.date,
        "language": classification.language,
        "tags": list(classification.tags),
        "confidence": {name: round(value, 2) for name, value in classification.confidence.items()},
        "evidence": dict(classification.evidence),
        "dates": [
            asdict(candidate) | {"confidence": round(candidate.confidence, 2)} for candidate in classification.dates
        ],
        "engine": classification.engine,
    }
    if classification.note:
        data["note"] = classification.note
    return json.dumps(data, ensure_ascii=False)


def from_json(content: str) -> Classification:
    """Read the JSON back. Raises ValueError if it is no classification."""
    data = json.loads(content)
    if not isinstance(data, dict) or not isinstance(data.get("tags"), list):
        raise ValueError("no classification")
    return Classification(
        *(data.get("title"), data.get("summary"), data.get("date"), data.get("language"), tuple(data["tags"])),
        data.get("confidence", {}),
        data.get("evidence", {}),
        tuple(Candidate(**fields) for fields in data.get("dates", ())),
        data.get("engine", LOCAL),
        data.get("note"),
    )


def read_classification(contents: Iterable[str | None]) -> Classification | None:
    """The first of these contents that is a classification; None if none is."""
    for content in contents:
        try:
            return from_json(content or "")
        except (ValueError, TypeError, RecursionError):
            continue
    return None
