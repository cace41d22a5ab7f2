"""The engines of a vault on the servers of a test, and the pusher that fills them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from contract_vault import ContractVault
from engine_servers import KEY, Server

from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.pusher import Pusher
from chyme.search.engines.qdrant import Qdrant
from chyme.search.engines.vault_engines import VaultEngines, vault_name


def engines_of(vault: ContractVault, servers: Mapping[str, Server]) -> VaultEngines:
    words, meaning = Meilisearch(servers["meilisearch"].url, KEY), Qdrant(servers["qdrant"].url, KEY)
    return VaultEngines(words, meaning, vault_name(vault.database))


def pusher_of(vault: ContractVault, engines: VaultEngines) -> Pusher:
    return Pusher(vault.database, engines, lambda: datetime(2026, 1, 1, tzinfo=UTC))
