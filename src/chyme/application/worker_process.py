"""Puts a worker together from settings: its children, its scratch folder, its connection."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chyme.application.child_families import MB, children_memory, make_families
from chyme.application.digester_config import config_of, without_secrets
from chyme.application.settings import Settings
from chyme.core.children.runner import Runner, isolation
from chyme.errors import UsageError
from chyme.workers.credentials import Credentials
from chyme.workers.fabric import Fabric
from chyme.workers.names import ALL_VAULTS, check_person, check_vaults
from chyme.workers.scratch_root import ScratchRoot
from chyme.workers.slowness import measure_slowness
from chyme.workers.urls import check_url
from chyme.workers.worker import Worker, WorkerConfig


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker was started."""

    url: str
    credentials: Path | None
    name: str  # only without credentials, which name it
    scratch: Path
    quota_mb: int
    places: int  # 0: one per core
    only: Sequence[str]
    vaults: Sequence[str]
    grace_seconds: float
    without_isolation: bool


def make_worker(options: WorkerOptions, settings: Settings) -> Worker:
    """A worker that is ready to start; UsageError if it must not."""
    credentials = Credentials.read(options.credentials) if options.credentials else None
    servers = check_url(options.url, credentials)
    name = credentials.name if credentials else options.name
    check_person(name)
    vaults = check_vaults(options.vaults or (ALL_VAULTS,))
    if not options.without_isolation:
        _require_isolation(settings)
    places = options.places or settings.cores
    if not settings.speech_threads:  # its runs share the cores, instead of each using all
        settings = replace(settings, speech_threads=max(1, settings.cores // places))
    config = WorkerConfig(
        name=name,
        places=places,
        slowness=measure_slowness(),
        config=without_secrets(config_of(settings)),
        make_children=lambda merged: _make_children(settings, merged, places),
        run_as=settings.child_uid if os.geteuid() == 0 else None,
        scratch_bytes=settings.scratch_mb * MB,
        only=frozenset(options.only) or None,
        vaults=vaults,
        grace_seconds=options.grace_seconds,
    )
    return Worker(config, Fabric(servers, name, credentials), ScratchRoot(options.scratch, options.quota_mb * MB))


def _require_isolation(settings: Settings) -> None:
    found = isolation()
    if not found.network_off:
        raise UsageError(
            f"children cannot be cut off from the network here ({found.how}), so a hostile file could reach it; mend "
            "that ('chyme doctor' tells more), or accept it with --without-isolation"
        )


def _make_children(settings: Settings, config: Mapping[str, Any], places: int) -> Runner:
    """Children for one vault: they are never shared between vaults, since one may have read a hostile file."""
    families = {name: replace(family, count=places) for name, family in make_families(settings).items()}
    return Runner(
        "chyme.digesters:in_child",
        config,
        families,
        run_as=(settings.child_uid, settings.child_uid),
        scratch_bytes=settings.scratch_mb * MB,
        answer_bytes=settings.answer_mb * MB,
        preload="chyme.digesters:preload",
        cores=places,
        memory_bytes=children_memory(settings),
    )
