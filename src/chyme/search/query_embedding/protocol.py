"""What a question means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector, or why there is none."""

    vector: tuple[float, ...] | None
    why_not: str | None = None  # for people; None when there is nothing to say about it


class QueryEmbedder(Protocol):
    """Whoever tells what questions mean, by the model whose vectors they are held against."""

    def embed(self, text: str, model: str) -> QueryVector:
        """Never raises, and never takes long: a search must not wait for a model that does not come."""
