"""Compute vectors of tags, so that a tag close to one of the vault can be distinguished from a new one."""

from __future__ import annotations

from collections.abc import Iterable

from chyme.model import TagVector
from chyme.models.embedding.minilm import EmbeddingSettings, load_minilm

# Single words are closer to related words than to synonyms; in a sentence it is more often the other way round.
EMBEDDING_TEMPLATE = "a document about {}"


def vectors_of(tags: Iterable[str], settings: EmbeddingSettings) -> tuple[TagVector, ...]:
    """A vector for each distinct tag the embedder can read, in order. Raises EngineUnavailable."""
    distinct = list(dict.fromkeys(tags))
    if not distinct:
        return ()
    embedder = load_minilm(settings)
    known = [tag for tag in distinct if embedder.knows(tag)]
    vectors = embedder.embed([EMBEDDING_TEMPLATE.format(tag) for tag in known])
    return tuple(TagVector(tag, embedder.model, vector) for tag, vector in zip(known, vectors, strict=True))
