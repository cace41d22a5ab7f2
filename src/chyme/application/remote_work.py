"""Connects the digestion of a vault with workers on other machines. Imported only where `workers_url` is set."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from sqlite3 import Connection
from typing import Any

from chyme import __version__
from chyme.application.child_families import MB
from chyme.application.settings import Settings
from chyme.core.children.places import Family, Places
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.process_memory import limit_heaps
from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.vault.open_vault import OpenVault
from chyme.workers.abilities import abilities_of
from chyme.workers.credentials import Credentials
from chyme.workers.fabric import Fabric
from chyme.workers.names import check_vault
from chyme.workers.remote_config import RemoteConfig, TravellingDigester
from chyme.workers.remote_runner import HomeRunner, RemoteRunner
from chyme.workers.travelling_config import identity_of, travelling_part
from chyme.workers.urls import check_url

NAME = "name for workers"  # of the property
HEAPS = 2  # for the threads of all attempts elsewhere


def make_remote_runner(
    home: HomeRunner,
    settings: Settings,
    config: Mapping[str, Any],
    families: Mapping[str, Family],
    rules: Rules,
    open_vault: OpenVault,
    on_change: Callable[[], None],
) -> RemoteRunner:
    """A runner that gives work to the children of this machine and to workers elsewhere."""
    limit_heaps(HEAPS)
    credentials = _read_credentials(settings)
    servers = check_url(settings.workers_url, credentials)
    travelled = travelling_part(config)
    abilities = abilities_of(rules.registry)
    known = {
        digester.name: TravellingDigester(
            abilities[digester.name], digester.outputs, int(digester.runs.lane), digester.runs.keeps_scratch
        )
        for digester in rules.registry
        if digester.name in abilities
    }
    vault = _name_of(open_vault.database, settings)
    cores = settings.cores if settings.home_places < 0 else settings.home_places
    remote = RemoteConfig(
        vault=vault,
        config=travelled,
        config_id=identity_of(travelled),
        digesters=known,
        answer_bytes=settings.answer_mb * MB,
        run_as=settings.child_uid if os.geteuid() == 0 else None,
        remote_places=settings.remote_places,
        home_waiting=settings.concurrency,
        travels_always=settings.home_places == 0,
        version=__version__,
    )
    name = credentials.name if credentials else "coordinator"
    fabric = Fabric(servers, name, credentials)
    return RemoteRunner(home, fabric, remote, Places(families, cores), open_vault.private, on_change)


def _read_credentials(settings: Settings) -> Credentials | None:
    if not settings.workers_credentials:
        return None
    return Credentials.read(Path(settings.workers_credentials).expanduser())


def _name_of(database: Database, settings: Settings) -> str:
    """The name of this vault on the fabric: from the settings, or a random one that stays."""
    if settings.workers_vault:
        return check_vault(settings.workers_vault)
    stored = vault_properties.value_of(database.read(), NAME)
    if stored is not None:
        return str(stored)
    name = token_hex(8)

    def put(db: Connection) -> None:
        vault_properties.put(db, NAME, name)

    database.write(put)
    return name
