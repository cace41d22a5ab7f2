"""Who tells what questions mean: a child of their own, or the endpoint that embeds the passages."""

from __future__ import annotations

from typing import Any

from chyme.application.digester_config import embedding_config
from chyme.application.settings import Settings
from chyme.models.embedding.passage_embedder import LOCAL, PassageEmbedding
from chyme.models.providers.call_ledger import CallLedger
from chyme.search.query_embedding.child_process import PATIENCE, ChildQueryEmbedder
from chyme.search.query_embedding.endpoint import EndpointQueryEmbedder
from chyme.search.query_embedding.protocol import QueryVector

MB = 1024 * 1024


class ModelQueryEmbedder:
    """Has each model asked where it is."""

    def __init__(self, here: ChildQueryEmbedder, away: EndpointQueryEmbedder | None = None) -> None:
        self._here = here
        self._away = away

    def embed(self, text: str, model: str) -> QueryVector:
        if self._away is not None and model == self._away.model:
            return self._away.embed(text, model)
        return self._here.embed(text, model)

    def preload(self, model: str) -> None:
        """Load this model in the background, so that the first question finds it ready."""
        self._here.preload(model)

    def close(self) -> None:
        self._here.close()


def create_query_embedder(settings: Settings, ledger: CallLedger, patience: float = PATIENCE) -> ModelQueryEmbedder:
    """Whoever can tell what questions mean under these settings. Starts nothing before it is asked.

    Every embedder that runs here can be asked, whichever is set: until a new one has read all files the old one serves.
    """
    wanted = PassageEmbedding(**embedding_config(settings))
    told: dict[str, Any] = {"weights_dir": settings.weights_dir}
    known = [PassageEmbedding(**{**told, "engine": engine}) for engine in LOCAL]
    here = ChildQueryEmbedder(
        [wanted, *known] if wanted.local else known,
        memory_bytes=settings.embedding_memory_mb * MB,
        run_as=(settings.child_uid, settings.child_uid),
        patience=patience,
    )
    return ModelQueryEmbedder(here, None if wanted.local else EndpointQueryEmbedder(wanted, ledger))
