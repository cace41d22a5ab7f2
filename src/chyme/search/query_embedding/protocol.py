"""The interface for embedding questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector, or the reason why there is none."""

    vector: tuple[float, ...] | None
    why_not: str | None = None  # for people; None if there is nothing to say


class QueryEmbedder(Protocol):
    """Embeds questions with the model whose vectors they are compared with."""

    def embed(self, text: str, model: str) -> QueryVector:
        """Never raises and never takes long: a search must not wait for a model that does not load."""
