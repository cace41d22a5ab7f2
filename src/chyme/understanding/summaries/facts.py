"""What is known of a document besides its text, and a sentence composed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_NO_KINDS = frozenset({"table", "source code", "calendar", "contact", "recording", "spreadsheet", "screenshot", "scan"})
_STRUCTURED = frozenset(
    {"invoice", "receipt", "minutes", "recipe", "cv", "form", "contract", "presentation", "order", "book"}
)


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What is known of a document besides its text; empty where it is not known."""

    title: str | None = None
    mime: str = ""
    language: str | None = None
    kinds: Sequence[str] = ()  # tags for the kind of document, the surest first
    sender: str = ""
    author: str = ""
    day: str = ""  # ISO 8601
    is_named: bool = True  # the title is the document's own, not the file's name
    topics: Sequence[str] = ()
    form: str = ""  # what its text is, if the type does not tell it: `A Typst document`

    @property
    def kind(self) -> str:
        return next((kind for kind in self.kinds if kind not in _NO_KINDS), "")

    @property
    def is_structured(self) -> bool:
        """Whether documents of this kind are made of fields, lists and clauses rather than of prose."""
        return self.kind in _STRUCTURED


@dataclass(frozen=True, slots=True)
class Composed:
    """A composed sentence and how much it says, from 0 to 1."""

    text: str
    confidence: float
