"""Joins what answering questions needs: the vault's search, the language model with its ledger, what is private."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from sqlite3 import Connection
from typing import Any

from chyme import digesters
from chyme.answers.answering import Answering, AnswerModel
from chyme.answers.retrieval import Retrieval
from chyme.answers.support import Similarity
from chyme.application.digester_config import embedding_config
from chyme.application.settings import Settings
from chyme.application.vault_search import VaultSearch
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.providers.call_ledger import CallLedger
from chyme.search.tables import embedders


def create_answering(
    read: Callable[[], Connection],
    settings: Settings,
    language_config: Mapping[str, Any] | None,
    search_index: VaultSearch,
    ledger: CallLedger,
    private: Callable[[str], bool],
    providers: Mapping[str, str],
) -> Answering:
    """Return what answers questions about one vault. It starts nothing before it is asked."""
    model = None
    if language_config:
        language = digesters.language_settings(language_config)
        own = language.endpoint.own
        model = AnswerModel(language, providers["llm"], ledger, lambda path: not own and private(path))
    return Answering(
        Retrieval(lambda: search_index.search, read), model, _local_similarity(read, settings, search_index)
    )


def _local_similarity(
    read: Callable[[], Connection], settings: Settings, search_index: VaultSearch
) -> Similarity | None:
    """How near two texts are in meaning, where the embedder runs here: nothing of a file may leave for this."""
    if not PassageEmbedding(**embedding_config(settings)).local:
        return None

    def similarity(one: str, other: str) -> float | None:
        serving = embedders.get_serving(read())
        if serving is None:
            return None
        first, second = (search_index.query_embedder.embed(text, serving.model).vector for text in (one, other))
        if first is None or second is None or len(first) != len(second):
            return None
        product = sum(a * b for a, b in zip(first, second, strict=True))
        norms = math.hypot(*first) * math.hypot(*second)
        return product / norms if norms else None

    return similarity
