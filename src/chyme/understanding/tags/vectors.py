"""Compute vectors of tags, so that a tag close to one of the vault can be distinguished from a new one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from chyme.core.vectors import pack_vector, unpack_vector
from chyme.model import TagVector
from chyme.models.embedding.minilm import EmbeddingSettings, Vector, load_minilm

# Single words are closer to related words than to synonyms; in a sentence it is more often the other way round.
EMBEDDING_TEMPLATE = "a document about {}"
MAX_CACHED = 4096  # tags whose vectors a process keeps, 1.5 KB each: files of a vault share their tags


def vectors_of(tags: Iterable[str], settings: EmbeddingSettings) -> tuple[TagVector, ...]:
    """A vector for each distinct tag the embedder can read, in order. Raises EngineUnavailable."""
    distinct = list(dict.fromkeys(tags))
    if not distinct:
        return ()
    embedder = load_minilm(settings)
    known = [tag for tag in distinct if embedder.knows(tag)]
    vectors = _cache(settings).embed(known)
    return tuple(TagVector(tag, embedder.model, vector) for tag, vector in zip(known, vectors, strict=True))


class TagCache:
    """Embeds tags, and keeps the vectors of those asked for last."""

    def __init__(self, embed: Callable[[Sequence[str]], Sequence[Vector]], size: int = MAX_CACHED) -> None:
        self._embed = embed
        self._size = size
        self._packed: dict[str, bytes] = {}  # the oldest first; as tuples of floats they would take eight times as much

    def embed(self, tags: Sequence[str]) -> list[Vector]:
        """The vector of each distinct tag, in order."""
        new = [tag for tag in tags if tag not in self._packed]
        vectors = self._embed([EMBEDDING_TEMPLATE.format(tag) for tag in new]) if new else ()
        found = {tag: self._packed.pop(tag) for tag in tags if tag in self._packed}
        found |= {tag: pack_vector(vector) for tag, vector in zip(new, vectors, strict=True)}
        self._packed |= found
        for tag in list(self._packed)[: max(0, len(self._packed) - self._size)]:
            del self._packed[tag]
        return [unpack_vector(found[tag]) for tag in tags]


@functools.cache
def _cache(settings: EmbeddingSettings) -> TagCache:
    return TagCache(load_minilm(settings).embed)
