"""Kill workers, NATS and the coordinator while files are digested elsewhere: python -m bench.remote_crash [--kills 50].

Afterwards every digest must be what an undisturbed run on this machine makes, no attempt may have been charged, and no
process, scratch folder or lease may be left.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from bench.remote_machines import (
    Machine,
    Nats,
    NatsCluster,
    await_true,
    coordinator_settings,
    copy_of_chyme,
    digest,
    running,
)
from bench.vaults import CORPUS

LONG = 1800.0
OF_INTEREST = (
    "SELECT file_path, digester, status, content_hash, recipe, input_hash, error, attempts, losses FROM digests"
)


class Digestion:
    """A vault whose coordinator is started again whenever it was killed."""

    def __init__(self, vault: Path, environment: dict[str, str]) -> None:
        self.vault = vault
        self.starts = 0
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.starts += 1
        with (self.vault.parent / "coordinator.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*digest_command(self.vault)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(LONG)


def digest_command(vault: Path) -> list[str]:
    import sys

    return [sys.executable, "-m", "chyme", "-v", "digest", "--vault", os.fspath(vault)]


def rows_of(vault: Path) -> dict[tuple[str, str], tuple[object, ...]]:
    """What each digest of a vault is."""
    with sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True) as db:
        return {(row[0], row[1]): tuple(row[2:]) for row in db.execute(OF_INTEREST)}


def running_elsewhere(vault: Path) -> int:
    """How many digests are in progress."""
    try:
        with sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM digests WHERE status = 'in-progress'").fetchone()[0])
    except sqlite3.Error:
        return 0


def find_leftovers(vault: Path, folders: Sequence[Path]) -> list[str]:
    """Leases, scratch folders and files of workers that should be gone."""
    with sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True) as db:
        left = [f"the lease of file {row[0]}" for row in db.execute("SELECT file_id FROM processing_locks")]
    left += [f"scratch {path.name}" for path in (vault / ".chyme/scratch").iterdir()]
    left += [f"{path} on a worker" for folder in folders for path in (folder / "scratch/runs").glob("*")]
    return left


def find_processes(folder: Path) -> list[str]:
    """Processes that were started for a test in this folder and still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if os.fspath(folder) in command:
                found.append(command)
    return found


def soak(
    folder: Path, files: Sequence[Path], kills: int, nats_kills: int, coordinator_kills: int, seed: int, nodes: int = 1
) -> None:
    """Digest these files with two workers while everything is killed in turn; AssertionError if anything is lost."""
    chance = random.Random(seed)
    vault, twin = folder / "vault", folder / "twin"
    for place in (vault, twin):
        place.mkdir()
        for path in files:
            folder_of_kind = place / path.parent.name
            folder_of_kind.mkdir(exist_ok=True)
            shutil.copy(path, folder_of_kind)
    nats = (NatsCluster if nodes > 1 else Nats)(folder / "cluster", ["worker-1", "worker-2"])
    settings = coordinator_settings(nats, home_places="0")
    process = digest(twin, {**os.environ, "CHYME_CRAWL": "false"})
    process.communicate()
    machines = [
        Machine(nats, "worker-1", folder / "machine-1", ["--places", "1"]),
        Machine(nats, "worker-2", folder / "machine-2", ["--places", "1"], source=copy_of_chyme(folder)),
    ]
    victims = ["worker"] * kills + ["nats"] * nats_kills + ["coordinator"] * coordinator_kills
    chance.shuffle(victims)
    coordinator = Digestion(vault, settings)
    hit = 0
    with running(nats, *machines):
        coordinator.start()
        for victim in victims:
            await_true(lambda: running_elsewhere(vault) > 0 or coordinator.has_ended(), "work", LONG)
            time.sleep(chance.uniform(0.1, 2.5))
            if coordinator.has_ended():
                _start_over(vault)
                coordinator.start()
                await_true(lambda: running_elsewhere(vault) > 0 or coordinator.has_ended(), "work", LONG)
            hit += running_elsewhere(vault) > 0
            if victim == "worker":
                machine = chance.choice(machines)
                machine.kill()
                machine.start()
            elif victim == "nats":
                nats.kill()
                time.sleep(chance.uniform(0.1, 3.0))
                nats.start()
            else:
                coordinator.kill()
                coordinator.start()
        code = coordinator.wait()
        if code < 0:
            coordinator.start()
            coordinator.wait()
        await_true(
            lambda: not find_leftovers(vault, [machine.folder for machine in machines]), "everything to be put away"
        )
        for machine in machines:
            assert machine.end() == 0, machine.log.read_text()[-2000:]
    ours, theirs = rows_of(vault), rows_of(twin)
    different = {
        key: (ours.get(key), theirs.get(key))
        for key in ours.keys() | theirs.keys()
        if _differ(ours.get(key), theirs.get(key))
    }
    assert not different, list(different.items())[:5]
    left = find_processes(folder)
    assert not left, left
    made = _count_by_worker(vault)
    print(
        f"{len(victims)} kills, {hit} while digests were in progress, {coordinator.starts} starts; "
        f"{len(ours)} digests equal; {made}"
    )


def _differ(ours: tuple[object, ...] | None, theirs: tuple[object, ...] | None) -> bool:
    """Losses may differ: they are counted, and cost nothing. Of two equal files, either may be copied from the other,
    which takes no attempt."""
    if ours is None or theirs is None or ours[:-2] != theirs[:-2]:
        return True
    (charged, _), (usual, _) = ours[-2:], theirs[-2:]
    assert isinstance(charged, int) and isinstance(usual, int)
    return charged > max(usual, 1)


def _start_over(vault: Path) -> None:
    """All was done before all kills were: have it made again."""
    import sys

    subprocess.run(
        [sys.executable, "-m", "chyme", "reset", "--vault", os.fspath(vault), "--yes"],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _count_by_worker(vault: Path) -> dict[str, int]:
    with sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True) as db:
        rows = db.execute(
            "SELECT coalesce(worker, 'here'), count(*) FROM digests WHERE status = 'completed' GROUP BY 1"
        )
        return dict(rows.fetchall())


def mixed_files(folder: Path, count: int) -> list[Path]:
    """Files of all kinds from the corpus, and scans made worse from its receipts for the rest."""
    kinds = sorted(path for path in CORPUS.iterdir() if path.is_dir() and path.name not in ("retrieval", "truth"))
    found = [path for kind in kinds for path in sorted(kind.iterdir()) if path.is_file()]
    found = [path for path in found if "autodate" not in path.name]  # its slide shows the time of day
    found += sorted(path for path in (CORPUS / "truth").rglob("*") if path.is_file())
    receipts = sorted((CORPUS / "receipts").glob("*.jpg"))
    scans = folder / "worse"
    scans.mkdir()
    for number in range(max(0, count - len(found))):
        with Image.open(receipts[number % len(receipts)]) as scan:
            smaller = scan.convert("L").reduce(2)
            smaller.save(scans / f"scan-{number}.jpg", quality=30 + number // len(receipts))
    return (found + sorted(scans.iterdir()))[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--nats", type=int, default=5)
    parser.add_argument("--coordinator", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3), help="servers of NATS, killed in turn")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--mixed", action="store_true", help="files of all kinds, hostile ones included")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    with tempfile.TemporaryDirectory(prefix="chyme-remote-crash-") as folder:
        if asked.mixed:
            files = mixed_files(Path(folder), asked.files)
        else:
            every = sorted((CORPUS / "receipts").glob("*.jpg")) + sorted((CORPUS / "pdf").glob("*.pdf"))
            files = random.Random(asked.seed).sample(every, min(asked.files, len(every)))
        soak(Path(folder), files, asked.kills, asked.nats, asked.coordinator, asked.seed, asked.nodes)


if __name__ == "__main__":
    main()
