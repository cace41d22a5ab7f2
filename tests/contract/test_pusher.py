"""Whoever tells the engines what changed, at work beside everything else."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable, Mapping

import pytest
from contract_vault import ContractVault
from engine_servers import Server
from engines_told import engines_of, pusher_of

from chyme.search.drift import check
from chyme.store import outbox

pytestmark = pytest.mark.slow


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "never came"
        time.sleep(0.02)


def test_it_pushes_by_itself_and_goes_on_after_an_outage(
    vault: ContractVault, own_servers: Mapping[str, Server]
) -> None:
    engines = engines_of(vault, own_servers)
    pusher = pusher_of(vault, engines)
    read = vault.database.read
    vault.put("a.txt", "an owl")
    pusher.start()
    wait_until(lambda: outbox.is_active(read()) and pusher.state.behind == 0)
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


def test_one_pushes_at_a_time(vault: ContractVault, servers: Mapping[str, Server]) -> None:
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
    assert outbox.count(vault.database.read()) == 0
    engines.clear()
    engines.close()


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
