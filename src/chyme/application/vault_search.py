"""The search of one vault: its index, its query embedder, and the optional engines Meilisearch and Qdrant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from chyme.application.digester_config import ENGINES, embedding_config, picture_model_config
from chyme.application.settings import Settings
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError, VaultError
from chyme.model import Form, iso
from chyme.models.embedding.passage_embedder import LOCAL, PassageEmbedding
from chyme.models.picture_models.folder import PictureModelSettings, vector_space_of
from chyme.models.providers.call_ledger import CallLedger
from chyme.search import embedder_migration
from chyme.search.engines.consistency_check import check
from chyme.search.engines.http_client import ServerFailed, is_local
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.pusher import TURN_SECONDS, Pusher, PusherBusy
from chyme.search.engines.qdrant import Qdrant
from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines, vault_name
from chyme.search.index import Index
from chyme.search.query_embedding.child_process import PATIENCE, ChildQueryEmbedder
from chyme.search.query_embedding.endpoint import EndpointQueryEmbedder
from chyme.search.query_embedding.query_vectors import QueryVector
from chyme.search.search import Search
from chyme.search.sqlite_index import SqliteIndex, SqliteSemanticIndex
from chyme.search.tables import embedders, engine_outbox, passages
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.facets import Facets
from chyme.search.vectors.cache import FOLDER, VectorCache
from chyme.vault.private_files import PrivateFiles

__all__ = ["Facets", "VaultSearch"]
MB = 1024 * 1024


class VaultSearch:
    """Everything behind the search of one vault. Opening it starts nothing."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        state: Path,
        ledger: CallLedger,
        clock: Callable[[], datetime],
        private: PrivateFiles,
        form_of: Callable[[str], Form],
    ) -> None:
        self._database = database
        self._clock = clock
        self.model = PassageEmbedding(**embedding_config(settings)).model_name
        self._cache = VectorCache(state / FOLDER, database.read, at_once=None)
        local = SqliteIndex(database.read, SqliteSemanticIndex(database.read, self._cache))
        self.engines = _create_engines(settings, database)
        self.pusher = None
        if self.engines:
            remote = not (is_local(settings.meilisearch_url) and is_local(settings.qdrant_url))
            self.pusher = Pusher(database, self.engines, clock, private if remote else None)
        index: Index = RemoteIndex(database.read, local, self.engines) if self.engines else local
        self.query_embedder = create_query_embedder(settings, ledger)
        self.search = Search(database.read, index, self.query_embedder, form_of, picture_embedder(settings))

    def prepare(self) -> None:
        """Before digesting: request files that only another embedder has read again."""
        embedder_migration.request_reembedding(self._database, self.model, iso(self._clock()))
        if self.engines is None and engine_outbox.is_active(self._database.read()):
            self._database.write(engine_outbox.deactivate)  # if they are configured again, they are filled from scratch

    def start(self, warm: bool) -> None:
        """While digesting: keep the engines up to date; with `warm`, load models and vectors for the first query."""
        if self.pusher is not None:
            self.pusher.start()
        if warm:
            self.preload()

    def preload(self) -> None:
        """Load models and vectors for the first query in the background."""
        serving = self.preload_embedder()
        if serving is not None:
            self._cache.preload(serving)

    def preload_embedder(self) -> Embedder | None:
        """Load the model for the first query in the background; returns its embedder, if there is one."""
        serving = embedders.get_serving(self._database.read())
        if serving is not None:
            self.query_embedder.preload(serving.model)
        return serving

    def finish_embedder_migration(self) -> None:
        """Finish a change of the embedder, and delete the data of the old one."""
        embedder_migration.finish_migration(self._database, self.model, iso(self._clock()))

    def catch_up(self, patience: float = TURN_SECONDS) -> str | None:
        """Send the engines all pending changes. Return why that failed, or None."""
        if self.pusher is None:
            return None
        try:
            self.pusher.push_all(patience)
        except (ServerFailed, PusherBusy) as error:
            return str(error)
        return None

    def status(self) -> dict[str, Any]:
        """Return the embedder in use, and how far the engines are behind."""
        db = self._database.read()
        serving = embedders.get_serving(db)
        status: dict[str, Any] = {"embedder": serving.model if serving else None}
        if serving is not None and serving.model != self.model:
            status["next_embedder"] = self.model
        if self.pusher is not None:
            state = self.pusher.state
            status["engines"] = {"behind": state.behind, "since": state.since, "reason": state.reason}
        return status

    def check(self) -> list[str]:
        """Describe differences between the indexes and the database."""
        problems = self._database.write(passages.check)
        if self.engines is not None:
            try:
                problems += check(self._database, self.engines)
            except ServerFailed as error:
                problems.append(str(error))
        return problems

    def rebuild(self) -> None:
        """Rebuild the indexes from the database."""
        self._database.write(passages.rebuild)
        self._cache.clear()
        if self.pusher is not None:
            try:
                self.pusher.rebuild()
            except ServerFailed as error:
                raise VaultError(f"{error}; what it lacks is kept, and sent to it when it is back") from error

    def close(self) -> None:
        """Must be called before the database is closed, because threads here read it."""
        if self.pusher is not None:
            self.pusher.close()
        self.query_embedder.close()
        self._cache.close()
        if self.engines is not None:
            self.engines.close()


def _create_engines(settings: Settings, database: Database) -> VaultEngines | None:
    if settings.search_engine not in ENGINES:
        raise UsageError(f"search_engine must be one of {', '.join(ENGINES)}, not {settings.search_engine!r}")
    if settings.search_engine == ENGINES[0]:
        return None
    return VaultEngines(
        Meilisearch(settings.meilisearch_url, settings.meilisearch_key),
        Qdrant(settings.qdrant_url, settings.qdrant_key),
        vault_name(database),
    )


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


def picture_embedder(settings: Settings) -> str | None:
    """The name of the configured model that compares pictures with words; None if there is none."""
    found = PictureModelSettings(**picture_model_config(settings)).clip
    return vector_space_of(found) if found else None


def create_query_embedder(settings: Settings, ledger: CallLedger, patience: float = PATIENCE) -> ModelQueryEmbedder:
    """Return the query embedder for these settings. It starts nothing before its first use.

    It knows all local models, not only the configured one: the old model is used until a new one has read all files.
    """
    configured = PassageEmbedding(**embedding_config(settings))
    pictures = PictureModelSettings(**picture_model_config(settings))
    model = picture_embedder(settings)
    options: dict[str, Any] = {"weights_dir": settings.weights_dir}
    local_models = [PassageEmbedding(**{**options, "engine": engine}) for engine in LOCAL]
    child = ChildQueryEmbedder(
        [configured, *local_models] if configured.local else local_models,
        memory_bytes=settings.embedding_memory_mb * MB,
        run_as=(settings.child_uid, settings.child_uid),
        patience=patience,
        picture_models={model: pictures} if model else {},
    )
    return ModelQueryEmbedder(child, None if configured.local else EndpointQueryEmbedder(configured, ledger))
