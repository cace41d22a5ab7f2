"""Embeds queries: in a separate child process, or at the endpoint that embeds the passages."""

from __future__ import annotations

from typing import Any

from chyme.application.digester_config import embedding_config
from chyme.application.settings import Settings
from chyme.models.embedding.passage_embedder import LOCAL, PassageEmbedding
from chyme.models.providers.call_ledger import CallLedger
from chyme.search.query_embedding.child_process import PATIENCE, ChildQueryEmbedder
from chyme.search.query_embedding.endpoint import EndpointQueryEmbedder
from chyme.search.query_embedding.query_vectors import QueryVector

MB = 1024 * 1024


class ModelQueryEmbedder:
    """Embeds with a local model or at the endpoint, depending on where the model is."""

    def __init__(self, child: ChildQueryEmbedder, endpoint: EndpointQueryEmbedder | None = None) -> None:
        self._child = child
        self._endpoint = endpoint

    def embed(self, text: str, model: str) -> QueryVector:
        if self._endpoint is not None and model == self._endpoint.model:
            return self._endpoint.embed(text, model)
        return self._child.embed(text, model)

    def preload(self, model: str) -> None:
        """Load this model in the background, so that it is ready for the first query."""
        self._child.preload(model)

    def close(self) -> None:
        self._child.close()


def create_query_embedder(settings: Settings, ledger: CallLedger, patience: float = PATIENCE) -> ModelQueryEmbedder:
    """Return the query embedder for these settings. It starts nothing before its first use.

    It knows all local models, not only the configured one: the old model is used until a new one has read all files.
    """
    configured = PassageEmbedding(**embedding_config(settings))
    options: dict[str, Any] = {"weights_dir": settings.weights_dir}
    local_models = [PassageEmbedding(**{**options, "engine": engine}) for engine in LOCAL]
    child = ChildQueryEmbedder(
        [configured, *local_models] if configured.local else local_models,
        memory_bytes=settings.embedding_memory_mb * MB,
        run_as=(settings.child_uid, settings.child_uid),
        patience=patience,
    )
    return ModelQueryEmbedder(child, None if configured.local else EndpointQueryEmbedder(configured, ledger))
