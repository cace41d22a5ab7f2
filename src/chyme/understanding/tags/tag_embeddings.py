"""Compute vectors for a file's tags, so that tags of other files with the same meaning can be found."""

from __future__ import annotations

import json
from typing import Any

from chyme.digester import Digester, Inputs, Promises, Runs, Source
from chyme.errors import EngineUnavailable
from chyme.model import File, Kind, Output
from chyme.models.embedding.minilm import DIMENSION, EmbeddingSettings
from chyme.understanding.classification.source_text import content_of, read_json
from chyme.understanding.tags.digest import from_json
from chyme.understanding.tags.names import TAGS_EMBEDDED_BEFORE
from chyme.understanding.tags.vectors import EMBEDDING_TEMPLATE, vectors_of

SECONDS = 30.0
MAX_TAGS = 100  # tags of one file that are embedded; a person may have given it many


class TagEmbeddings(Digester):
    """Computes a vector for each tag of a file that has none yet. No digester waits for it or fails because of it."""

    name = "tag-embeddings"
    label = "Meaning of tags"
    description = "What the tags mean, by which tags of other files are found to be the same."
    reads = ("tags",)
    inputs = Inputs(artifacts=False)
    runs = Runs(family="embedding", gathers=True)
    promises = Promises(reusable=False, counts=False)

    def __init__(self, embedding: EmbeddingSettings | None = None) -> None:
        self.embedding = embedding or EmbeddingSettings()

    @property
    def fingerprint(self) -> str:
        return f"{self.embedding.fingerprint}, {EMBEDDING_TEMPLATE!r}"

    def can_digest(self, file: File) -> bool:
        return file.kind is not Kind.OTHER

    def time_limit(self, source: Source) -> float:
        return SECONDS

    def digest(self, source: Source) -> list[Output]:
        tag_digest = from_json(content_of(source, "tags"))
        stripped = [tag.strip() for tag in tag_digest.tags] if tag_digest else []
        tags = list(dict.fromkeys(tag for tag in stripped if tag))[:MAX_TAGS]
        if not tags:
            return [Output(self.name, None)]
        models = read_json(content_of(source, TAGS_EMBEDDED_BEFORE))
        missing = [tag for tag in tags if models.get(tag) != self.embedding.model]
        try:
            vectors = vectors_of(missing, self.embedding)
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{source.file.name}: {error}") from error
        unreadable = len(missing) - len(vectors)
        content: dict[str, Any] = {"tags": len(tags) - unreadable, "model": self.embedding.model}
        content["dimension"] = DIMENSION
        if unreadable:
            content["note"] = f"{unreadable} in a script or language that the model cannot read"
        return [Output(self.name, json.dumps(content, ensure_ascii=False), tag_vectors=vectors)]
