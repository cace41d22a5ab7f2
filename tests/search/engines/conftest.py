"""Vaults and search engines for the contract suite. The larger engines are real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contract_vault import ContractVault
from engine_clients import engines_of, pusher_of
from engine_servers import Server, absent, both_running

from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.index import Index, KeywordMatches
from chyme.search.query.parser import Query
from chyme.search.ranking.keyword_ranking import Match
from chyme.search.sqlite_index import SqliteIndex, SqliteSemanticIndex
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition
from chyme.search.vectors.cache import VectorCache


class NoFallback:
    """Takes the place of the vault's own index, the fallback, and must not be asked."""

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        raise AssertionError("the engines did not answer")

    def find_by_meaning(self, vector: object, embedder: Embedder, where: Condition, count: int) -> list[Match]:
        raise AssertionError("the engines did not answer")

    def meaning_note(self, embedder: Embedder) -> str | None:
        raise AssertionError("the engines did not answer")


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, Server]]:
    """Both servers, shared by all tests of a worker: every vault has its own name there."""
    yield from running()


@pytest.fixture
def own_servers() -> Iterator[dict[str, Server]]:
    """Both servers, for a test that stops or clears them."""
    yield from running()


def running() -> Iterator[dict[str, Server]]:
    why_not = absent()
    if why_not:
        pytest.skip(f"NOT TESTED on the larger engines: {why_not}")
    with both_running() as servers:
        yield servers


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[ContractVault]:
    vault = ContractVault(tmp_path / "state")
    yield vault
    vault.database.close()


@pytest.fixture(params=["sqlite", "meilisearch and qdrant"])
def index(request: pytest.FixtureRequest, vault: ContractVault, tmp_path: Path) -> Iterator[Callable[[], Index]]:
    """Call it when the vault is filled: it returns an index that knows everything."""
    if request.param == "sqlite":
        cache = VectorCache(tmp_path / "vectors", vault.database.read, at_once=None, tended=False)
        yield lambda: SqliteIndex(vault.database.read, SqliteSemanticIndex(vault.database.read, cache))
        cache.close()
        return
    engines = engines_of(vault, request.getfixturevalue("servers"))
    pusher = pusher_of(vault, engines)
    remote = RemoteIndex(vault.database.read, NoFallback(), engines)

    def push_everything() -> Index:
        pusher.push_all()
        return remote

    yield push_everything
    engines.clear()
    engines.close()
