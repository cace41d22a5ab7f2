"""Search with larger engines that are unavailable: the vault's own index answers quickly, and a note says so."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest
from contract_vault import ContractVault

from chyme.errors import UsageError
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.qdrant import Qdrant
from chyme.search.engines.remote_index import REST_SECONDS, RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.sqlite_index import SqliteIndex, SqliteSemanticIndex
from chyme.search.tables import engine_outbox
from chyme.search.vectors.cache import VectorCache

pytestmark = pytest.mark.slow

FORWARD = (1.0, 0.0)


class BusyHandler(http.server.BaseHTTPRequestHandler):
    """Answers every request with an error status, and records its path."""

    requests: ClassVar[list[str]]
    status = 503

    def do_POST(self) -> None:
        self.requests.append(self.path)
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.status)
        self.send_header("location", "/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[BusyHandler]]]:
    class Own(BusyHandler):
        requests: ClassVar[list[str]] = []

    with http.server.HTTPServer(("127.0.0.1", 0), Own) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", Own
        listening.shutdown()
        thread.join()


@pytest.fixture
def engines(server: tuple[str, type[BusyHandler]]) -> Iterator[VaultEngines]:
    engines = VaultEngines(Meilisearch(server[0]), Qdrant(server[0]), "chyme_test")
    yield engines
    engines.close()


@pytest.fixture
def local(vault: ContractVault) -> Iterator[SqliteIndex]:
    cache = VectorCache(vault.database.path.parent / "vectors", vault.database.read, at_once=None, tended=False)
    yield SqliteIndex(vault.database.read, SqliteSemanticIndex(vault.database.read, cache))
    cache.close()


@pytest.fixture
def told(vault: ContractVault) -> ContractVault:
    """A vault with no changes left to send to its engines."""
    vault.embed(vault.put("a.txt", "an owl"), vault.embedder("tiny", 2), [FORWARD])
    vault.database.write(engine_outbox.activate)
    vault.database.write(lambda db: engine_outbox.mark_done(db, engine_outbox.list_changed(db, 9)))
    return vault


def test_after_a_failure_the_server_is_not_called_again_for_a_while(
    told: ContractVault, local: SqliteIndex, engines: VaultEngines, server: tuple[str, type[BusyHandler]]
) -> None:
    clock = [100.0]
    remote = RemoteIndex(told.database.read, local, engines, lambda: clock[0])
    requests = server[1].requests

    for _ in range(3):
        result = told.ask(remote, "owl")
        assert [told.path(file.file_id) for file in result.files] == ["a.txt"]
        assert result.notes == (f"Meilisearch at {server[0]} answered 503: ; the vault's own index answered",)
    assert len(requests) == 1

    clock[0] += REST_SECONDS
    told.ask(remote, "owl")
    assert len(requests) == 2


def test_meaning_is_answered_by_the_vaults_own_vectors(
    told: ContractVault, local: SqliteIndex, engines: VaultEngines, server: tuple[str, type[BusyHandler]]
) -> None:
    remote = RemoteIndex(told.database.read, local, engines)
    embedder = told.embedder("tiny", 2)

    for _ in range(3):
        assert told.near(remote, FORWARD, embedder) == [("a.txt", 0)]
        assert (remote.meaning_note(embedder) or "").endswith("answered 503: ; the vault's own index answered")
    assert len(server[1].requests) == 1


def test_engines_that_lack_many_files_are_not_asked(
    told: ContractVault, local: SqliteIndex, engines: VaultEngines, server: tuple[str, type[BusyHandler]]
) -> None:
    told.database.write(lambda db: engine_outbox.put(db, range(1, 1002)))
    result = told.ask(RemoteIndex(told.database.read, local, engines), "owl")

    assert [told.path(file.file_id) for file in result.files] == ["a.txt"]
    assert "yet to be told of many files" in result.notes[0]
    assert server[1].requests == []


def test_engines_that_never_received_files_are_not_asked(
    vault: ContractVault, local: SqliteIndex, engines: VaultEngines, server: tuple[str, type[BusyHandler]]
) -> None:
    vault.put("a.txt", "an owl")

    assert vault.found(RemoteIndex(vault.database.read, local, engines), "owl") == ["a.txt"]
    assert server[1].requests == []


def test_redirects_are_not_followed(engines: VaultEngines, server: tuple[str, type[BusyHandler]]) -> None:
    server[1].status = 307

    with pytest.raises(ServerFailed, match="answered 307"):
        engines.words.count([])
    assert server[1].requests == ["/multi-search"]


@pytest.mark.parametrize("url", ["", "127.0.0.1:7700", "ftp://127.0.0.1", "http://me:secret@127.0.0.1", "http://"])
def test_an_invalid_server_address_is_refused_without_revealing_secrets(url: str) -> None:
    with pytest.raises(UsageError, match="meilisearch_url") as refused:
        Meilisearch(url)
    assert "secret" not in str(refused.value)
