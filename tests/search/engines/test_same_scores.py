"""Both engines give the same scores, so that files not pushed yet can be listed together with pushed ones."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from contract_vault import ContractVault
from engine_clients import engines_of, pusher_of
from engine_servers import Server

from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.sqlite_index import SqliteIndex

pytestmark = pytest.mark.slow

WORDS = [
    "the", "quick", "brown", "foxes", "jumped", "over", "lazy", "dogs", "naïve", "café", "東京", "Москва", "running",
    "runner", "ran", "tests", "tested",
]  # fmt: skip


def test_both_engines_give_the_same_scores_for_words(vault: ContractVault, servers: Mapping[str, Server]) -> None:
    chance = random.Random(3)
    for number in range(80):
        texts = [" ".join(chance.choices(WORDS, k=chance.randint(3, 40))) for _ in range(chance.randint(1, 3))]
        vault.put(f"{chance.choice(WORDS)}-{number}.txt", *texts, title=" ".join(chance.choices(WORDS, k=3)))
    engines = engines_of(vault, servers)
    pusher_of(vault, engines).push_all()
    local = SqliteIndex(vault.database.read)
    remote = RemoteIndex(vault.database.read, local, engines)

    for question in (
        "quick foxes",
        "cafe",
        "lazy dog naive москва",
        '"brown foxes"',
        "東京 running fox",
        "tests tests",
    ):
        local_files = {file.file_id: file for file in vault.ask(local, question, last=100).files}
        remote_files = {file.file_id: file for file in vault.ask(remote, question, last=100).files}
        assert local_files.keys() == remote_files.keys(), question
        for file_id, file in remote_files.items():
            assert file.score == pytest.approx(local_files[file_id].score, abs=1e-4), question
            assert (file.by_words, file.by_name) == (local_files[file_id].by_words, local_files[file_id].by_name)
    engines.clear()
    engines.close()
