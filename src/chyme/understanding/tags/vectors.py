"""What tags mean, so that one close to a tag already in the vault can be told from a new one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from chyme.errors import EngineUnavailable
from chyme.model import TagVector
from chyme.models.embedding.minilm import load_minilm
from chyme.models.embedding.minilm_settings import EmbeddingSettings

# Single words lie closer to their neighbours than to their synonyms; within a sentence it is more often the other way.
EMBEDDING_TEMPLATE = "a document about {}"


class EmbeddingResult(NamedTuple):
    """A vector for each tag that can be read, or why there is none."""

    vectors: tuple[TagVector, ...]
    reason: str | None = None


def embed_tags(tags: Iterable[str], settings: EmbeddingSettings) -> EmbeddingResult:
    """What the tags mean, if the embedder is there. Tags are as good without."""
    try:
        return EmbeddingResult(vectors_of(tags, settings))
    except EngineUnavailable as error:
        return EmbeddingResult((), str(error))


def vectors_of(tags: Iterable[str], settings: EmbeddingSettings) -> tuple[TagVector, ...]:
    """A vector for each different tag the embedder can read, in order, or EngineUnavailable."""
    different = list(dict.fromkeys(tags))
    if not different:
        return ()
    embedder = load_minilm(settings)
    known = [tag for tag in different if embedder.knows(tag)]
    vectors = embedder.embed([EMBEDDING_TEMPLATE.format(tag) for tag in known])
    return tuple(TagVector(tag, embedder.model, vector) for tag, vector in zip(known, vectors, strict=True))
