"""Engines on other machines are told nothing of private files, and these are found all the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from contract_vault import ContractVault
from engine_clients import engines_of
from engine_servers import Server

from chyme.search.engines.consistency_check import check
from chyme.search.engines.pusher import Pusher
from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables.keyword_queries import all_of

pytestmark = pytest.mark.slow


class Below:
    """Whatever lies below this folder is private."""

    def __init__(self, folder: str) -> None:
        self.fingerprint = folder

    def __call__(self, path: str) -> bool:
        return bool(self.fingerprint) and path.startswith(self.fingerprint + "/")


def told(engines: VaultEngines) -> set[int]:
    """Files of which the engines hold anything."""
    held = {
        document["file_id"] for index in engines.indexes for document in engines.words.documents(index, ["file_id"])
    }
    for collection in engines.meaning.collections(engines.vectors):
        held |= {file_id for _, file_id in engines.meaning.points(collection)}
    return held


def test_what_is_private_never_gets_there_and_leaves_when_it_becomes_so(
    vault: ContractVault, servers: Mapping[str, Server]
) -> None:
    engines = engines_of(vault, servers)
    private = Below("diary")
    pusher = Pusher(vault.database, engines, lambda: datetime(2026, 1, 1, tzinfo=UTC), private)
    model = vault.embedder("tiny", 2)
    diary, work = vault.put("diary/monday.txt", "an owl in the garden"), vault.put("work/owls.txt", "owl statistics")
    for file_id in (diary, work):
        vault.embed(file_id, model, [(1.0, 0.0)])

    pusher.push_all()
    assert told(engines) == {work}
    assert check(vault.database, engines) == []
    index = RemoteIndex(vault.database.read, SqliteIndex(vault.database.read), engines)
    assert sorted(vault.found(index, "owl")) == ["diary/monday.txt", "work/owls.txt"]

    private.fingerprint = "work"
    pusher.push_all()
    assert told(engines) == {diary}
    assert check(vault.database, engines) == []

    vault.database.write(lambda db: db.execute("UPDATE files SET path = 'work/monday.txt' WHERE id = ?", (diary,)))
    pusher.push_all()
    assert told(engines) == set(), "it was moved to where files are private"

    private.fingerprint = ""
    pusher.push_all()
    assert told(engines) == {diary, work}
    near = index.find_by_meaning((1.0, 0.0), model, all_of(()), 5)
    assert {match.file_id for match in near} == {diary, work}
    engines.close()
