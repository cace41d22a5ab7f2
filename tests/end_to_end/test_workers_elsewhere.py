"""Workers with TLS in networks of their own: their digests are those of this machine, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from loopback_nats import nats_program
from waiting import AMPLE, wait_until

from bench.remote_costs import install_plugin
from bench.remote_crash import soak
from bench.remote_machines import ROOT, Machine, Nats, coordinator_settings, digest, running

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[1] / "samples"
FILES = 100
LEFT_OUT = ("media", "speech", "spoken", "__pycache__")


@pytest.fixture(autouse=True)
def needs_nats() -> None:
    nats_program()


def samples() -> list[Path]:
    """A hundred files of all kinds without sound: of each folder the first of every format, then the second, and so on.
    Each name occurs once."""
    found = {path.name: path for path in sorted(SAMPLES.rglob("*")) if path.is_file() and path.suffix != ".py"}
    kinds: dict[tuple[Path, str], list[Path]] = {}
    for path in found.values():
        if path.parent.name not in LEFT_OUT:
            kinds.setdefault((path.parent, path.suffix), []).append(path)
    turns = zip_longest(*kinds.values())
    return [path for turn in turns for path in turn if path is not None][:FILES]


def test_every_digest_is_that_of_this_machine_though_workers_nats_and_coordinator_die(tmp_path: Path) -> None:
    files = samples()
    assert len(files) == FILES

    soak(tmp_path, files, kills=3, nats_kills=1, coordinator_kills=1, seed=5)

    for number in (1, 2):
        log = (tmp_path / f"machine-{number}" / "worker.log").read_text()
        assert "begins" in log
        assert not [path.name for path in files if len(path.name) > 8 and path.name in log]


@pytest.fixture
def waiting_vault(tmp_path: Path) -> Iterator[tuple[Nats, Path, Path]]:
    """A cluster, and a vault with one file on which a made-up digester waits for a moment."""
    site = tmp_path / "site"
    install_plugin(site)
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "one.blob").write_bytes(b"2.0 \0" + bytes(70_000))
    os.utime(vault / "one.blob", (1e9, 1e9))
    yield Nats(tmp_path / "cluster", ["worker-1", "worker-2"]), vault, site


@pytest.mark.parametrize("how", ["stands still", "is cut off"])
def test_the_work_of_a_worker_that_is_silent_is_done_elsewhere(
    waiting_vault: tuple[Nats, Path, Path], tmp_path: Path, how: str
) -> None:
    nats, vault, site = waiting_vault
    silent = Machine(nats, "worker-1", tmp_path / "silent", ["--places", "1"], source=site)
    other = Machine(nats, "worker-2", tmp_path / "other", ["--places", "1"], source=site)
    settings = coordinator_settings(nats, home_places="0") | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    with running(nats, silent):
        coordinator = digest(vault, settings)
        wait_until(lambda: "waits begins" in silent.log.read_text())
        if how == "stands still":
            silent.signal(signal.SIGSTOP)
        else:
            silent.cut = True
        try:
            with running(other):
                said = coordinator.communicate(timeout=AMPLE)[0].decode()
        finally:
            coordinator.kill()
            if how == "stands still":
                silent.signal(signal.SIGCONT)
            silent.cut = False
    assert coordinator.returncode == 0, said
    with sqlite3.connect(vault / ".chyme/vault.db") as db:
        rows = db.execute("SELECT status, worker, attempts FROM digests WHERE digester = 'waits'").fetchall()
    assert rows == [("completed", "worker-2", 1)]


def test_a_worker_that_is_told_to_end_gives_its_work_back(
    waiting_vault: tuple[Nats, Path, Path], tmp_path: Path
) -> None:
    nats, vault, site = waiting_vault
    (vault / "one.blob").write_bytes(b"600 \0" + bytes(70_000))
    os.utime(vault / "one.blob", (1e9, 1e9))
    leaving = Machine(nats, "worker-1", tmp_path / "leaving", ["--places", "1", "--grace", "0"], source=site)
    settings = coordinator_settings(nats, home_places="0") | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    with running(nats, leaving):
        coordinator = digest(vault, settings)
        try:
            wait_until(lambda: "waits begins" in leaving.log.read_text())
            assert leaving.end() == 0

            def given_back() -> bool:
                with sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True) as db:
                    query = "SELECT count(*) FROM events WHERE digester = 'waits' AND status = 'todo'"
                    return bool(db.execute(query).fetchone()[0])

            wait_until(given_back)
        finally:
            coordinator.kill()
            coordinator.communicate()
    with sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True) as db:
        assert db.execute("SELECT losses FROM digests WHERE digester = 'waits'").fetchone() == (0,)
    assert not list((tmp_path / "leaving/scratch/runs").glob("*"))
