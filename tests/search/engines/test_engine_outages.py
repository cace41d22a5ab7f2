"""Larger engines that fail, lose their data or receive only a part: nothing is lost, and nothing stays wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from contract_vault import ContractVault
from engine_clients import engines_of, pusher_of
from engine_servers import KEY, Server

from chyme.search.engines.consistency_check import check
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.qdrant import Point, Qdrant
from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines, vault_name
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import embedders, engine_outbox
from chyme.search.tables.embedders import Embedder

pytestmark = pytest.mark.slow


class Breaking(Qdrant):
    """Runs some actions before it receives points for the n-th time."""

    def __init__(self, url: str, calls: int, happens: list[object]) -> None:
        super().__init__(url, KEY)
        self.calls = calls
        self.happens = happens

    def put(self, collection: str, points: Sequence[Point]) -> None:
        self.calls -= 1
        if self.calls == 0:
            for action in self.happens:
                assert callable(action)
                action()
        super().put(collection, points)


class Forgetful(Meilisearch):
    """Accepts everything, but the caller dies before it gets the confirmation."""

    def wait_for_tasks(self, tasks: object, absent_is_fine: bool = False) -> None:
        assert isinstance(tasks, list)
        super().wait_for_tasks(tasks, absent_is_fine)
        if len(tasks) > 2:  # documents, not indexes
            raise KeyboardInterrupt


@pytest.fixture
def embedder(vault: ContractVault) -> Embedder:
    return vault.embedder("tiny", 3)


@pytest.fixture
def filled(vault: ContractVault, embedder: Embedder) -> ContractVault:
    for number in range(450):
        file_id = vault.put(f"{number}.txt", f"owl number {number}", "and more of it")
        vault.embed(file_id, embedder, [(1.0, 0.0, 0.0)])
    return vault


@pytest.fixture
def engines(vault: ContractVault, servers: Mapping[str, Server]) -> Iterator[VaultEngines]:
    engines = engines_of(vault, servers)
    yield engines
    engines.clear()
    engines.close()


@pytest.mark.parametrize("loses", [False, True], ids=["keeps its data", "loses its data"])
@pytest.mark.parametrize("name", ["meilisearch", "qdrant"])
def test_a_server_that_dies_during_a_push_and_comes_back_gets_everything(
    filled: ContractVault, own_servers: dict[str, Server], name: str, loses: bool
) -> None:
    server = own_servers[name]
    meaning = Breaking(own_servers["qdrant"].url, 2, [server.kill])
    words = Meilisearch(own_servers["meilisearch"].url, KEY)
    engines = VaultEngines(words, meaning, vault_name(filled.database))
    pusher = pusher_of(filled, engines)

    with pytest.raises(ServerFailed):
        pusher.push_all()
    assert 0 < engine_outbox.count(filled.database.read()) < 450

    if loses:
        server.lose_everything()
    server.start()
    filled.put("new.txt", "an owl that came meanwhile")
    pusher.push_all()

    assert engine_outbox.count(filled.database.read()) == 0
    assert check(filled.database, engines) == []
    remote = RemoteIndex(filled.database.read, SqliteIndex(filled.database.read), engines)
    result = filled.ask(remote, "meanwhile 449")
    assert result.notes == ()
    assert {filled.path(file.file_id) for file in result.files} == {"new.txt", "449.txt"}
    engines.close()


def test_a_pusher_that_dies_before_it_records_a_push_sends_the_same_again(
    vault: ContractVault, embedder: Embedder, engines: VaultEngines, servers: dict[str, Server]
) -> None:
    for number in range(5):
        vault.embed(vault.put(f"{number}.txt", "an owl"), embedder, [(1.0, 0.0, 0.0)])
    dying = VaultEngines(Forgetful(servers["meilisearch"].url, KEY), engines.meaning, engines.vault)

    with pytest.raises(KeyboardInterrupt):
        pusher_of(vault, dying).push_all()
    assert engine_outbox.count(vault.database.read()) == 5
    vault.put("0.txt", "a kite")
    vault.purge(vault.put("1.txt", "an owl"))

    assert pusher_of(vault, engines).push_all() == 5
    assert check(vault.database, engines) == []
    dying.words.close()


def test_a_file_that_changes_during_a_push_stays_in_the_outbox(
    vault: ContractVault, embedder: Embedder, engines: VaultEngines, servers: dict[str, Server]
) -> None:
    file_id = vault.put("a.txt", "an owl")
    vault.embed(file_id, embedder, [(1.0, 0.0, 0.0)])
    meaning = Breaking(servers["qdrant"].url, 1, [lambda: vault.put("a.txt", "a kite", "and another")])
    slow = VaultEngines(engines.words, meaning, engines.vault)

    assert pusher_of(vault, slow).push_all() == 2  # once with the owl, once with the kites

    assert check(vault.database, engines) == []
    meaning.close()


def test_check_names_missing_and_superfluous_entries(
    vault: ContractVault, embedder: Embedder, engines: VaultEngines
) -> None:
    file_id = vault.put("a.txt", "an owl")
    vault.embed(file_id, embedder, [(1.0, 0.0, 0.0)])
    pusher_of(vault, engines).push_all()
    assert check(vault.database, engines) == []

    stray = {"id": "p777", "file_id": 9, "tokens": "qowl"}
    engines.words.wait_for_tasks(
        [engines.words.put(engines.passages, [stray]), engines.words.delete(engines.names, "file_id = 1")]
    )
    engines.meaning.delete_except(engines.collection(embedder.id), [file_id], [])
    engines.meaning.create_collection(f"{engines.vectors}99", 3)

    problems = check(vault.database, engines)

    assert [problem.split(" in ")[0] for problem in problems] == [
        "Meilisearch should not have 1 entries",
        "Meilisearch lacks 1 entries",
        "Qdrant lacks 1 entries",
        f"Qdrant still has {engines.vectors}99, of a model that is gone",
    ]
    assert "777 of file 9" in problems[0]

    vault.put("b.txt", "a kite")
    assert "1 files were not pushed yet" in check(vault.database, engines)

    pusher_of(vault, engines).rebuild()
    assert check(vault.database, engines) == []


def test_stale_entries_of_an_engine_are_never_found(
    vault: ContractVault, embedder: Embedder, engines: VaultEngines
) -> None:
    vault.embed(vault.put("a.txt", "an owl"), embedder, [(1.0, 0.0, 0.0)])
    pusher_of(vault, engines).push_all()
    ghosts = [{"id": "p777", "file_id": 9, "tokens": "qowl"}, {"id": "p1", "file_id": 9, "tokens": "qowl qowl"}]
    engines.words.wait_for_tasks([engines.words.put(engines.passages, ghosts)])
    name = {"id": "f9", "file_id": 9, "name": "qowl", "title": "", "tags": "", "summary": ""}
    engines.words.wait_for_tasks([engines.words.put(engines.names, [name])])
    engines.meaning.put(engines.collection(embedder.id), [Point(777, 9, b"\0\0\x80\x3f" + bytes(8))])
    remote = RemoteIndex(vault.database.read, SqliteIndex(vault.database.read), engines)

    assert vault.found(remote, "owl") == []
    assert vault.near(remote, (1.0, 0.0, 0.0), embedder) == [("a.txt", 0)]


def test_files_not_pushed_yet_are_found_in_the_vaults_own_index(
    vault: ContractVault, embedder: Embedder, engines: VaultEngines
) -> None:
    vault.put("old.txt", "an owl")
    vault.put("changed.txt", "an owl")
    pusher_of(vault, engines).push_all()
    vault.put("changed.txt", "a kite")
    vault.put("new.txt", "an owl, a kite")
    remote = RemoteIndex(vault.database.read, SqliteIndex(vault.database.read), engines)

    assert set(vault.found(remote, "owl")) == {"old.txt", "new.txt"}
    assert set(vault.found(remote, "kite")) == {"changed.txt", "new.txt"}
    assert vault.ask(remote, "kite").notes == ()


def test_collections_of_dropped_embedders_are_removed(
    vault: ContractVault, embedder: Embedder, engines: VaultEngines
) -> None:
    file_id = vault.put("a.txt", "an owl")
    vault.embed(file_id, embedder, [(1.0, 0.0, 0.0)])
    pusher = pusher_of(vault, engines)
    pusher.push_all()
    other = vault.embedder("other", 2)
    vault.embed(file_id, other, [(0.0, 1.0)], keep_others=False)
    vault.database.write(lambda db: embedders.switch(db, other.id))
    while vault.database.write(lambda db: embedders.sweep(db, [other.id])):
        pass

    pusher.push_all()

    assert engines.meaning.collections(engines.vectors) == {engines.collection(other.id)}
    assert check(vault.database, engines) == []


def test_two_vaults_share_the_servers(
    vault: ContractVault, engines: VaultEngines, servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = ContractVault(tmp_path_factory.mktemp("other"))
    others = engines_of(other, servers)
    vault.put("mine.txt", "an owl")
    other.put("theirs.txt", "an owl")
    pusher_of(vault, engines).push_all()
    pusher_of(other, others).push_all()

    remote = RemoteIndex(vault.database.read, SqliteIndex(vault.database.read), engines)
    assert vault.found(remote, "owl") == ["mine.txt"]
    assert check(vault.database, engines) == check(other.database, others) == []

    others.clear()
    assert check(vault.database, engines) == []
    others.close()
    other.database.close()


def test_a_wrong_key_is_named(vault: ContractVault, servers: dict[str, Server]) -> None:
    words, meaning = Meilisearch(servers["meilisearch"].url, "wrong"), Qdrant(servers["qdrant"].url, "wrong")

    with pytest.raises(ServerFailed, match="check meilisearch_key"):
        words.has_index("any", {})
    with pytest.raises(ServerFailed, match="check qdrant_key"):
        meaning.collections("any")
    words.close()
    meaning.close()
