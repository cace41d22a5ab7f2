"""The digester that embeds questions, in a child that does nothing else, so that searches do not wait for files.

It is not in the registry: no file ever has its output.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from chyme.digester import Digester, Runs, Source
from chyme.errors import EngineUnavailable
from chyme.model import Artifact, File, Output
from chyme.models.embedding.passage_embedder import PassageEmbedding, load_passage_embedder
from chyme.models.picture_models.clip import load_clip
from chyme.models.picture_models.folder import PictureModelSettings

ENTRY = "chyme.models.embedding.embed_question:load_digesters"
NAME, QUESTION, MODEL, VECTOR = "embed-question", "question", "model", "vector"


class EmbedQuestion(Digester):
    """Returns the vector as an artifact; none if the model cannot read the question. An empty one only loads it."""

    name = NAME
    label = "Question"
    description = "What a question means."
    reads = (QUESTION, MODEL)
    runs = Runs(family="questions")

    def __init__(
        self,
        embedders: Mapping[str, PassageEmbedding],
        picture_models: Mapping[str, PictureModelSettings] = MappingProxyType({}),
    ) -> None:
        self._embedders = embedders
        self._picture_models = picture_models

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        question, model = (_content_of(source, name) for name in self.reads)
        if model in self._picture_models:
            clip = load_clip(self._picture_models[model])
            artifacts = (Artifact(VECTOR, clip.embed_text(question)),) if question else ()
            return [Output(self.name, None, artifacts)]
        settings = self._embedders.get(model)
        if settings is None:
            raise EngineUnavailable(f"{source.file.name}: there is no embedder {model} here")
        embedder = load_passage_embedder(settings)
        if not question or not embedder.reads(question):
            return [Output(self.name, None)]
        return [Output(self.name, None, (Artifact(VECTOR, embedder.embed([question])),))]


def _content_of(source: Source, name: str) -> str:
    upstream = source.output(name)
    return upstream.content or "" if upstream else ""


def load_digesters(config: dict[str, Any]) -> dict[str, Digester]:
    """The digesters of the child: `embedders` are the settings of each embedder, by model name, and `picture_models`
    those of models that compare pictures with words."""
    embedders = {model: PassageEmbedding(**settings) for model, settings in config["embedders"].items()}
    picture_models = {
        model: PictureModelSettings(**settings) for model, settings in config.get("picture_models", {}).items()
    }
    return {NAME: EmbedQuestion(embedders, picture_models)}
