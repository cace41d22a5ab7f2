"""Compute vectors of tags, so that a tag close to one of the vault can be distinguished from a new one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from chyme.errors import EngineUnavailable
from chyme.model import TagVector
from chyme.models.embedding.minilm import EmbeddingSettings, load_minilm

# Single words are closer to related words than to synonyms; in a sentence it is more often the other way round.
EMBEDDING_TEMPLATE = "a document about {}"


class EmbeddingResult(NamedTuple):
    """A vector for each tag that the model can read, or the reason why there is none."""

    vectors: tuple[TagVector, ...]
    reason: str | None = None


def embed_tags(tags: Iterable[str], settings: EmbeddingSettings) -> EmbeddingResult:
    """The vectors of the tags, if the embedder is available. Tags work without them."""
    try:
        return EmbeddingResult(vectors_of(tags, settings))
    except EngineUnavailable as error:
        return EmbeddingResult((), str(error))


def vectors_of(tags: Iterable[str], settings: EmbeddingSettings) -> tuple[TagVector, ...]:
    """A vector for each distinct tag the embedder can read, in order. Raises EngineUnavailable."""
    distinct = list(dict.fromkeys(tags))
    if not distinct:
        return ()
    embedder = load_minilm(settings)
    known = [tag for tag in distinct if embedder.knows(tag)]
    vectors = embedder.embed([EMBEDDING_TEMPLATE.format(tag) for tag in known])
    return tuple(TagVector(tag, embedder.model, vector) for tag, vector in zip(known, vectors, strict=True))
