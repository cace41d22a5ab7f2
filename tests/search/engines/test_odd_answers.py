"""Servers that answer with unexpected data: searches still work, and no key is revealed."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest
from contract_vault import ContractVault
from engine_clients import pusher_of

from chyme.errors import UsageError
from chyme.search.engines import http_client
from chyme.search.engines.consistency_check import check
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.meilisearch import Meilisearch, SearchRequest
from chyme.search.engines.qdrant import Qdrant
from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.sqlite_index import SqliteIndex, SqliteSemanticIndex
from chyme.search.tables import engine_outbox
from chyme.search.vectors.cache import VectorCache

pytestmark = pytest.mark.slow

KEY = "a-secret-of-the-tests"
DEEP = "[" * 100_000 + "]" * 100_000
ODD = {
    "another object": '{"ok": true}',
    "a list": "[1]",
    "nothing": "null",
    "a text": '"owl"',
    "no JSON": "<html>",
    "deep": DEEP,
    "lists of nothing": '{"result": {"points": [null]}, "results": [null, null], "hits": [null]}',
    "too few answers": '{"results": [], "hits": [], "result": {"points": [{"id": 1}]}}',
    "no numbers": json.dumps(
        {
            "result": {"points": [{"id": "x", "payload": {"file_id": "y"}, "score": "z"}], "collections": 7},
            "results": [{"estimatedTotalHits": "many"}],
            "hits": [{"id": "p" + "9" * 5000, "file_id": 1, "tokens": "qowl"}],
        }
    ),
    "infinite": '{"result": {"points": [{"id": 1, "payload": {"file_id": 1}, "score": NaN}]}}',
}


class OddHandler(http.server.BaseHTTPRequestHandler):
    """Answers every request in the same way."""

    status: ClassVar[int] = 200
    answer: ClassVar[bytes] = b"{}"
    headers_too: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        echoed = f"{self.headers.get('authorization')} {self.headers.get('api-key')}".encode()
        body = self.answer.replace(b"ECHO", echoed)
        self.send_response(self.status)
        self.send_header("content-length", str(len(body)))
        for name, value in self.headers_too.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def odd() -> Iterator[tuple[str, type[OddHandler]]]:
    class Own(OddHandler):
        pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", Own
        listening.shutdown()
        thread.join()


@pytest.fixture
def engines(odd: tuple[str, type[OddHandler]]) -> Iterator[VaultEngines]:
    engines = VaultEngines(Meilisearch(odd[0], KEY), Qdrant(odd[0], KEY), "chyme_test")
    yield engines
    engines.close()


@pytest.mark.parametrize("shape", ODD)
def test_an_answer_of_another_shape_is_a_failure_of_the_server(
    vault: ContractVault, odd: tuple[str, type[OddHandler]], engines: VaultEngines, shape: str
) -> None:
    embedder = vault.embedder("tiny", 2)
    vault.embed(vault.put("a.txt", "an owl"), embedder, [(1.0, 0.0)])
    vault.database.write(engine_outbox.activate)
    vault.database.write(lambda db: engine_outbox.mark_done(db, engine_outbox.list_changed(db, 9)))
    cache = VectorCache(vault.database.path.parent / "vectors", vault.database.read, at_once=None, tended=False)
    local = SqliteIndex(vault.database.read, SqliteSemanticIndex(vault.database.read, cache))
    remote = RemoteIndex(vault.database.read, local, engines)
    odd[1].answer = ODD[shape].encode()

    result = vault.ask(remote, "owl")
    assert [vault.path(file.file_id) for file in result.files] == ["a.txt"]
    if shape != "infinite":
        assert "the vault's own index answered" in result.notes[0]
    assert vault.near(remote, (1.0, 0.0), embedder)[:1] == [("a.txt", 0)]
    for ask in _requests(engines):
        with pytest.raises(ServerFailed, match="answered"):
            ask()
    with pytest.raises(ServerFailed):
        check(vault.database, engines)
    with pytest.raises(ServerFailed):
        pusher_of(vault, engines).push_all()
    cache.close()


def _requests(engines: VaultEngines) -> list[Callable[[], object]]:
    words, meaning = engines.words, engines.meaning
    return [
        lambda: words.has_index("any", {"facetSearch": False}),
        lambda: words.create_index("any", {}),
        lambda: words.put("any", [{"id": "p1"}]),
        lambda: words.delete("any", "id = p1"),
        lambda: words.wait_for_tasks([1]),
        lambda: words.field("any", "told", "number"),
        lambda: list(words.documents("any", ("id", "file_id"))),
        lambda: words.count([SearchRequest("any", "owl")]),
        lambda: (
            words.search([SearchRequest("any", "owl")], 5, ("id", "file_id", "tokens"))
            or words.count([SearchRequest("any", "")])
        ),
        lambda: meaning.collections(""),
        lambda: meaning.has_collection("any", 2),
        lambda: meaning.find_nearest("any", (1.0, 0.0), 5),
        lambda: list(meaning.points("any")),
    ]


def test_an_endless_answer_is_not_read_to_the_end(
    odd: tuple[str, type[OddHandler]], engines: VaultEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "ANSWER_BYTES", 100_000)
    odd[1].answer = b'{"results": [' + b" " * 100_000 + b"]}"

    with pytest.raises(ServerFailed, match="longer than 100,000 bytes"):
        engines.words.count([])


def test_an_answer_that_was_compressed_without_request_is_refused(
    odd: tuple[str, type[OddHandler]], engines: VaultEngines
) -> None:
    odd[1].headers_too = {"content-encoding": "gzip"}

    with pytest.raises(ServerFailed, match="encoding"):
        engines.words.count([])


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_messages_do_not_contain_a_key_that_the_server_repeats(
    odd: tuple[str, type[OddHandler]], engines: VaultEngines, status: int
) -> None:
    task = {"status": "failed", "type": "any", "error": {"message": "ECHO", "code": "ECHO"}}
    odd[1].status, odd[1].answer = status, json.dumps(task).encode() if status == 200 else b" " * 285 + b"ECHO"

    for ask in (lambda: engines.words.wait_for_tasks([1]), lambda: engines.meaning.collections("")):
        with pytest.raises(ServerFailed) as failed:
            ask()
        assert KEY[:5] not in str(failed.value)


@pytest.mark.parametrize("key", ["a-secret\n", "a-secret\r\nx: y", "a-secret-é", "a-secret\0"])
def test_a_key_that_cannot_be_sent_is_refused_without_revealing_it(key: str) -> None:
    for engine in (Meilisearch, Qdrant):
        with pytest.raises(UsageError, match="_key") as refused:
            engine("http://127.0.0.1:9", key)
        assert "a-secret" not in str(refused.value)
