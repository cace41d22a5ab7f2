"""Engines on other machines receive nothing about private files, which are found nevertheless."""

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


class PrivateBelow:
    """Says that every file below this folder is private."""

    def __init__(self, folder: str) -> None:
        self.fingerprint = folder

    def __call__(self, path: str) -> bool:
        return bool(self.fingerprint) and path.startswith(self.fingerprint + "/")


def files_in_engines(engines: VaultEngines) -> set[int]:
    """Return the files of which the engines have any entry."""
    file_ids = {
        document["file_id"] for index in engines.indexes for document in engines.words.documents(index, ["file_id"])
    }
    for collection in engines.meaning.collections(engines.vectors):
        file_ids |= {file_id for _, file_id in engines.meaning.points(collection)}
    return file_ids


def test_private_files_are_never_sent_and_are_removed_when_they_become_private(
    vault: ContractVault, servers: Mapping[str, Server]
) -> None:
    engines = engines_of(vault, servers)
    private = PrivateBelow("diary")
    pusher = Pusher(vault.database, engines, lambda: datetime(2026, 1, 1, tzinfo=UTC), private)
    model = vault.embedder("tiny", 2)
    diary, work = vault.put("diary/monday.txt", "an owl in the garden"), vault.put("work/owls.txt", "owl statistics")
    for file_id in (diary, work):
        vault.embed(file_id, model, [(1.0, 0.0)])

    pusher.push_all()
    assert files_in_engines(engines) == {work}
    assert check(vault.database, engines) == []
    index = RemoteIndex(vault.database.read, SqliteIndex(vault.database.read), engines)
    assert sorted(vault.found(index, "owl")) == ["diary/monday.txt", "work/owls.txt"]

    private.fingerprint = "work"
    pusher.push_all()
    assert files_in_engines(engines) == {diary}
    assert check(vault.database, engines) == []

    vault.database.write(lambda db: db.execute("UPDATE files SET path = 'work/monday.txt' WHERE id = ?", (diary,)))
    pusher.push_all()
    assert files_in_engines(engines) == set(), "it was moved into the private folder"

    private.fingerprint = ""
    pusher.push_all()
    assert files_in_engines(engines) == {diary, work}
    near = index.find_by_meaning((1.0, 0.0), model, all_of(()), 5)
    assert {match.file_id for match in near} == {diary, work}
    engines.close()
