"""The pusher, which sends changes to the engines in the background."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Collection, Mapping

import pytest
from contract_vault import ContractVault
from engine_clients import engines_of, pusher_of
from engine_servers import KEY, Server
from waiting import wait_until

from chyme.search.engines.consistency_check import check
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.pusher import PusherBusy
from chyme.search.engines.qdrant import Qdrant
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.tables import engine_outbox

pytestmark = pytest.mark.slow


def test_it_pushes_automatically_and_continues_after_an_outage(
    vault: ContractVault, own_servers: Mapping[str, Server]
) -> None:
    engines = engines_of(vault, own_servers)
    pusher = pusher_of(vault, engines)
    read = vault.database.read
    vault.put("a.txt", "an owl")
    pusher.start()
    wait_until(lambda: engine_outbox.is_active(read()) and pusher.state.behind == 0)
    assert (pusher.state.since, pusher.state.reason) == (None, None)

    own_servers["meilisearch"].kill()
    vault.put("b.txt", "a kite")
    wait_until(lambda: pusher.state.reason is not None)
    assert pusher.state.behind == 1
    assert pusher.state.since == "2026-01-01T00:00:00.000000Z"
    assert "Meilisearch" in str(pusher.state.reason)

    own_servers["meilisearch"].start()
    wait_until(lambda: pusher.state.behind == 0 and pusher.state.reason is None)
    pusher.close()
    assert check(vault.database, engines) == []
    engines.close()


def test_only_one_process_pushes_at_a_time(vault: ContractVault, servers: Mapping[str, Server]) -> None:
    engines = engines_of(vault, servers)
    vault.put("a.txt", "an owl")
    pushed = threading.Event()
    pusher = pusher_of(vault, engines)

    def push() -> None:
        pusher.push_all()
        pushed.set()

    thread = threading.Thread(target=push)

    with vault.database.path.with_name("pusher.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread.start()
        assert not pushed.wait(0.5)
    thread.join()

    assert pushed.is_set()
    assert engine_outbox.count(vault.database.read()) == 0
    engines.clear()
    engines.close()


def test_a_caller_with_limited_patience_does_not_wait_longer(vault: ContractVault) -> None:
    nowhere = VaultEngines(Meilisearch("http://127.0.0.1:9"), Qdrant("http://127.0.0.1:9"), "chyme_test")
    with vault.database.path.with_name("pusher.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(PusherBusy, match="another process is updating"):
            pusher_of(vault, nowhere).push_all(patience=0.2)
    nowhere.close()


def test_a_push_of_the_same_process_is_waited_for(vault: ContractVault, servers: Mapping[str, Server]) -> None:
    reached, resume = threading.Event(), threading.Event()

    class Slow(Qdrant):
        def delete_except(self, collection: str, file_ids: Collection[int], ids: Collection[int]) -> None:
            reached.set()
            assert resume.wait(60)
            super().delete_except(collection, file_ids, ids)

    normal = engines_of(vault, servers)
    engines = VaultEngines(normal.words, Slow(servers["qdrant"].url, KEY), normal.vault)
    vault.embed(vault.put("a.txt", "an owl"), vault.embedder("tiny", 2), [(1.0, 0.0)])
    pusher = pusher_of(vault, engines)
    pusher.start()
    assert reached.wait(60)
    waiter = threading.Thread(target=pusher.push_all, args=(0.2,))
    waiter.start()
    waiter.join(1)
    assert waiter.is_alive()
    resume.set()
    waiter.join()

    assert check(vault.database, normal) == []
    pusher.close()
    engines.clear()
    engines.close()
    normal.meaning.close()


def test_a_file_that_an_engine_refuses_is_named_and_blocks_no_other(
    vault: ContractVault, servers: Mapping[str, Server]
) -> None:
    engines = engines_of(vault, servers)
    embedder = vault.embedder("tiny", 2)
    pusher = pusher_of(vault, engines)
    for number in range(9):
        vector = (float("nan"), 0.0) if number == 4 else (1.0, 0.0)
        vault.embed(vault.put(f"{number}.txt", "an owl"), embedder, [vector])

    with pytest.raises(ServerFailed, match=r"^4\.txt is refused: Qdrant .* answered 400"):
        pusher.push_all()
    assert [change.file_id for change in engine_outbox.list_changed(vault.database.read(), 99)] == [5]

    vault.put("later.txt", "a kite")
    pusher.start()
    wait_until(lambda: pusher.state.reason is not None and pusher.state.behind == 1)
    assert "4.txt" in str(pusher.state.reason)
    assert check(vault.database, engines) == ["1 files were not pushed yet"]

    vault.embed(5, embedder, [(0.0, 1.0)])
    wait_until(lambda: pusher.state.reason is None and pusher.state.behind == 0)
    pusher.close()
    assert check(vault.database, engines) == []
    engines.clear()
    engines.close()


def test_an_engine_that_refuses_everything_is_not_asked_for_every_file(
    vault: ContractVault, servers: Mapping[str, Server]
) -> None:
    engines = engines_of(vault, servers)
    group_sizes: list[int] = []

    class Refusing(Qdrant):
        def delete_except(self, collection: str, file_ids: Collection[int], ids: Collection[int]) -> None:
            group_sizes.append(len(file_ids))
            raise ServerFailed("no", 400)

    refusing = VaultEngines(engines.words, Refusing(servers["qdrant"].url, KEY), engines.vault)
    vault.embedder("tiny", 2)
    for number in range(60):
        vault.put(f"{number}.txt", "an owl")

    with pytest.raises(ServerFailed, match="no"):
        pusher_of(vault, refusing).push_all()

    assert len(group_sizes) < 60
    assert engine_outbox.count(vault.database.read()) == 60
    engines.clear()
    engines.close()
    refusing.meaning.close()


def test_a_large_file_is_pushed_whole(vault: ContractVault, servers: Mapping[str, Server]) -> None:
    engines = engines_of(vault, servers)
    embedder = vault.embedder("wide", 2000)
    vault.put("small.txt", "an owl")
    large = vault.put("large.txt", *(f"passage {number}" for number in range(4500)))
    vault.embed(large, embedder, [(1.0, *[0.0] * 1999)] * 450)

    assert pusher_of(vault, engines).push_all() == 2

    assert check(vault.database, engines) == []
    engines.clear()
    engines.close()
