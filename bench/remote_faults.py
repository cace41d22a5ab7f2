"""What becomes of work elsewhere when something goes wrong: python -m bench.remote_faults [NAME …].

Each case starts real servers and workers, breaks something, prints what it saw and fails if a promise was not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from bench import long_recordings
from bench.remote_costs import install_plugin
from bench.remote_machines import (
    CHYME,
    ROOT,
    Machine,
    Nats,
    await_true,
    coordinator_settings,
    copy_of_chyme,
    free_port,
    running,
)

LONG = 1800.0
FILLED = bytes(70_000)  # smaller files share threads
BEGINS = "waits begins"


class Served:
    """`chyme serve` of a vault, which is asked by HTTP."""

    def __init__(self, vault: Path, environment: dict[str, str]) -> None:
        self.vault = vault
        self._port = free_port()
        vault.mkdir(exist_ok=True)
        self._log = (vault.parent / f"{vault.name}.log").open("ab")
        command = [*CHYME, "-v", "serve", os.fspath(vault), "--port", str(self._port)]
        self.process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )
        await_true(self._answers, "the server")

    def _answers(self) -> bool:
        with suppress(OSError):
            return bool(self.ask("/healthz"))
        return False

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=60) as answer:
            return json.load(answer)

    def worker(self, name: str) -> dict[str, Any]:
        """The newest process of this worker."""
        found = [worker for worker in self.ask("/api/workers")["workers"] if worker["name"] == name]
        return max(found, key=lambda worker: -worker["heard_seconds_ago"], default={})

    def digests(self, digester: str = "waits") -> list[tuple[Any, ...]]:
        """Path, status, worker, attempts, losses and category of error of each digest."""
        query = (
            "SELECT file_path, status, worker, attempts, losses, error_category FROM digests WHERE digester = ? "
            "AND status <> 'skipped' ORDER BY file_path"
        )
        with closing(sqlite3.connect(f"file:{self.vault}/.chyme/vault.db?mode=ro", uri=True)) as db:
            return db.execute(query, (digester,)).fetchall()

    def await_status(self, status: str, count: int, digester: str = "waits") -> None:
        await_true(
            lambda: sum(row[1] == status for row in self.digests(digester)) >= count, f"{count} {status}", seconds=LONG
        )

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._log.close()


@contextmanager
def serving(vault: Path, environment: dict[str, str]) -> Iterator[Served]:
    served = Served(vault, environment)
    try:
        yield served
    finally:
        served.process.kill() if served.process.poll() is None else None
        served.process.wait()


class Scene:
    """A cluster of two workers and a made-up digester that waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "site"
        install_plugin(self.site)
        self.nats = Nats(folder / "cluster", ["worker-1", "worker-2"])

    def settings(self, **more: str) -> dict[str, str]:
        chosen = {"home_places": "0", **more}
        return coordinator_settings(self.nats, **chosen) | {"PYTHONPATH": f"{self.site}{os.pathsep}{ROOT}"}

    def machine(self, name: str, places: int = 1, site: Path | None = None, **more: Any) -> Machine:
        where = self.folder / f"machine-{name}"
        return Machine(self.nats, name, where, ["--places", str(places)], source=site or self.site, **more)

    def vault(self, name: str, files: Sequence[tuple[str, str]]) -> Path:
        """A vault of these files, each a name and the words that say what to do."""
        folder = self.folder / name
        folder.mkdir()
        for file_name, words in files:
            put(folder / file_name, words)
        return folder


def put(path: Path, words: str) -> None:
    path.write_bytes(f"{words} {path.name} ".encode() + FILLED)
    os.utime(path, (1e9, 1e9))


def begun(machine: Machine, what: str = BEGINS) -> int:
    return machine.log.read_text().count(what) if machine.log.exists() else 0


def seconds_until(condition: Callable[[], object], what: str) -> float:
    since = time.monotonic()
    await_true(condition, what)
    return time.monotonic() - since


def silence(scene: Scene, how: str) -> None:
    """A worker stands still for a minute, or is cut off; its work is done elsewhere, and its answer comes too late."""
    first, second = scene.machine("worker-1"), scene.machine("worker-2")
    vault = scene.vault("vault", [("one.blob", "5.0")])
    with running(scene.nats, first), serving(vault, scene.settings()) as served:
        await_true(lambda: begun(first), "the first worker")
        with running(second):
            if how == "stopped":
                first.signal(signal.SIGSTOP)
            else:
                first.cut = True
            since = time.monotonic()
            await_true(lambda: begun(second), "the second worker")
            taken = time.monotonic() - since
            served.await_status("completed", 1)
            time.sleep(max(0.0, 60 - (time.monotonic() - since)))
            if how == "stopped":
                first.signal(signal.SIGCONT)
            first.cut = False
            await_true(lambda: "stopped" in first.log.read_text() or served.ask("/api/workers")["late"], "its end")
            time.sleep(5)
            rows, late = served.digests(), served.ask("/api/workers")["late"]
        print(f"{how} for 60 s: taken by the other after {taken:.1f} s; late answers {late}; {rows}")
        assert rows == [("one.blob", "completed", "worker-2", 1, 0, None)] and taken <= 15


def black_hole(scene: Scene) -> None:
    """A worker whose library is broken beside a good one: set aside within three files, no file is charged."""
    broken = scene.folder / "broken"
    install_plugin(broken)
    source = (broken / "waits.py").read_text()
    (broken / "waits.py").write_text(source.replace("words = source.open()", "os._exit(3); words = source.open()"))
    bad, good = scene.machine("worker-1", site=broken), scene.machine("worker-2")
    vault = scene.vault("vault", [(f"{number}.blob", "0.6") for number in range(30)])
    with running(scene.nats, bad, good), serving(vault, scene.settings()) as served:
        served.await_status("completed", 30)
        rows, aside = served.digests(), served.worker("worker-1")
        attempts = {row[3] for row in rows}
        print(f"broken: {aside['failed']} files failed there, {aside['set_aside']}; attempts of all files {attempts}")
        assert aside["set_aside"] and aside["failed"] <= 3 and attempts == {1}
        assert "worker-1" not in {row[2] for row in rows}  # the others were made by the good one, or here


def full_disk(scene: Scene) -> None:
    """A worker whose disk is full takes nothing; one whose disk fills up during a run costs the file nothing."""
    disk = scene.folder / "machine-worker-1" / "scratch"
    disk.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", os.fspath(disk)], check=False)
    if mounted.returncode != 0:
        print("full disk: skipped, needs to mount a disk")
        return
    try:
        full, good = scene.machine("worker-1"), scene.machine("worker-2")
        vault = scene.vault("vault", [(f"{number}.blob", "0.6") for number in range(20)])
        with running(scene.nats, full):
            await_true(lambda: "waiting for work" in full.log.read_text(), "the worker")
            filler = (disk / "filler").open("wb")
            with suppress(OSError), filler:
                while True:
                    filler.write(bytes(1 << 20))
            with running(good), serving(vault, scene.settings()) as served:
                served.await_status("completed", 20)
                rows, seen = served.digests(), served.worker("worker-1")
                print(f"full disk: it began {begun(full)}; failed {seen['failed']}, {seen['set_aside']}")
                assert {(row[2], row[3]) for row in rows} == {("worker-2", 1)}
    finally:
        subprocess.run(["umount", "-l", os.fspath(disk)], check=False)


def poison(scene: Scene) -> None:
    """A file that kills whole workers runs out of tries; its neighbours do not."""
    source = (scene.site / "waits.py").read_text()
    made = source.replace("class Waits", "class Kills").replace('"waits"', '"kills"').replace('"Waits"', '"Kills"')
    made = made.replace("return True", 'return file.name.endswith(".poison")')
    (scene.site / "kills.py").write_text(made)
    (scene.site / "waits.py").write_text(source.replace("return True", 'return not file.name.endswith(".poison")'))
    (scene.site / "waits-1.0.dist-info/entry_points.txt").write_text(
        "[chyme.digesters]\nwaits = waits:Waits\nkills = kills:Kills\n"
    )
    machines = [scene.machine("worker-1", 2), scene.machine("worker-2", 2)]
    files = [("the.poison", "600"), *((f"{number:02}.blob", "1.0") for number in range(20))]
    vault = scene.vault("vault", files)
    deaths, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal deaths
        seen = dict.fromkeys(machines, 0)
        while not stop.wait(0.2):
            for machine in machines:
                if begun(machine, "kills begins") > seen[machine]:
                    seen[machine] = begun(machine, "kills begins")
                    machine.kill()
                    deaths += 1
                    machine.start()

    with running(scene.nats, *machines), serving(vault, scene.settings()) as served:
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            await_true(lambda: any(row[3] >= 3 for row in served.digests("kills")), "its end", seconds=LONG)
            served.await_status("failed", 1, "kills")
            served.await_status("completed", 20)
        finally:
            stop.set()
            watcher.join()
        poisoned, neighbours = served.digests("kills"), served.digests()
        charged = [row for row in neighbours if row[3] != 1 or row[1] != "completed"]
        print(f"poison: {deaths} workers died; {poisoned}; neighbours charged {charged}")
        assert poisoned[0][1:2] == ("failed",) and poisoned[0][3] == 3 and poisoned[0][5] == "crash" and not charged


def two_vaults(scene: Scene) -> None:
    """One vault has 5,000 files waiting; a person's file in another is taken next."""
    only = scene.machine("worker-1")
    crowded = scene.vault("crowded", [(f"{number}.blob", "1.0") for number in range(5000)])
    quiet = scene.vault("quiet", [])
    with (
        running(scene.nats, only),
        serving(crowded, scene.settings()) as full,
        serving(quiet, scene.settings()) as other,
    ):
        await_true(lambda: len(full.digests()) == 5000, "the scan", seconds=LONG)
        await_true(lambda: begun(only) > 3, "the crowded vault", seconds=LONG)
        await_true(lambda: other.worker("worker-1").get("makes"), "the worker at the other vault")
        put(quiet / "mine.blob", "1.0")
        await_true(other.digests, "the scan of the other", seconds=LONG)
        before = sum(row[1] == "completed" for row in full.digests())
        other.await_status("completed", 1)
        after = sum(row[1] == "completed" for row in full.digests())
        print(f"two vaults: {after - before} of the 5,000 were finished before the person's file")
        assert after - before <= 3


def reach(scene: Scene) -> None:
    """Whatever ends a run here ends it on the worker, too."""
    only = scene.machine("worker-1")
    vault = scene.vault("vault", [("one.blob", "600")])
    path = vault / "one.blob"

    def stopped() -> int:
        return begun(only, "stopped")

    def break_in(what: str, harm: Callable[[], object]) -> None:
        await_true(lambda: begun(only) > stopped(), "the run", seconds=LONG)
        time.sleep(3)
        ended = stopped()
        harm()
        took = seconds_until(lambda: stopped() > ended, f"the end after {what}")
        print(f"reach: {what}: the run elsewhere ended after {took:.1f} s")
        assert took <= 5, what

    with running(scene.nats, only), serving(vault, scene.settings()) as served:
        break_in("a change", lambda: put(path, "6010"))
        break_in("a lost lease", lambda: _take_lease(vault))
        break_in("a deletion", path.unlink)
        put(path, "60200")
        await_true(lambda: begun(only) > stopped(), "the last run", seconds=LONG)
        ended = stopped()
        served.process.terminate()
        took = seconds_until(lambda: stopped() > ended, "the end after SIGTERM")
        served.process.wait(60)
        print(f"reach: SIGTERM of the server: the run elsewhere ended after {took:.1f} s")
        assert took <= 5


def _take_lease(vault: Path) -> None:
    with closing(sqlite3.connect(vault / ".chyme/vault.db", timeout=30)) as db, db:
        db.execute("UPDATE processing_locks SET token = 'another'")


def nats_away(scene: Scene) -> None:
    """NATS is away at the start, then for a minute, then for ever: digestion goes on here, and the status says so."""
    only = scene.machine("worker-1")
    vault = scene.vault("vault", [(f"{number}.blob", "1.0") for number in range(4)])
    with serving(vault, scene.settings(home_places="-1")) as served:
        served.await_status("completed", 4)
        workers, status = served.ask("/api/workers"), _status_of(served)
        print(f"NATS away at the start: all done here; {workers['problem']!r}; {status!r}")
        assert not workers["connected"] and "here" in status
        with running(scene.nats, only):
            await_true(lambda: served.ask("/api/workers")["connected"], "the connection")
            for number in range(4, 80):
                put(vault / f"{number}.blob", "3.0")
            await_true(lambda: begun(only), "work elsewhere", seconds=LONG)
            scene.nats.kill()
            since, done = time.monotonic(), sum(row[1] == "completed" for row in served.digests())
            await_true(lambda: not served.ask("/api/workers")["connected"], "the loss")
            time.sleep(max(0.0, 60 - (time.monotonic() - since)))
            meanwhile = sum(row[1] == "completed" for row in served.digests()) - done
            elsewhere = begun(only)
            scene.nats.start()
            await_true(lambda: begun(only) > elsewhere, "work elsewhere again", seconds=LONG)
            print(f"NATS away for a minute: {meanwhile} files done here meanwhile; afterwards elsewhere again")
            assert meanwhile > 0
            scene.nats.kill()
            served.await_status("completed", 80)
            rows = served.digests()
            print(f"NATS away for ever: all 80 done; attempts { ({row[3] for row in rows}) }; {_status_of(served)!r}")
            assert {row[3] for row in rows} == {1}


def _status_of(served: Served) -> str:
    said = subprocess.run(
        [*CHYME, "status", "--vault", os.fspath(served.vault)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return next((line.strip() for line in said.stdout.splitlines() if "orker" in line or "NATS" in line), said.stdout)


def versions(scene: Scene) -> None:
    """A worker of another version beside one of ours: no digest with a wrong recipe."""
    other = scene.folder / "newer"
    install_plugin(other)
    source = (other / "waits.py").read_text()
    (other / "waits.py").write_text(
        source.replace('name = "waits"', 'name = "waits"\n    version = 2').replace("waited ", "WRONG ")
    )
    newer, ours = scene.machine("worker-1", site=other), scene.machine("worker-2")
    vault = scene.vault("vault", [(f"{number}.blob", "0.6") for number in range(10)])
    with running(scene.nats, newer, ours), serving(vault, scene.settings()) as served:
        served.await_status("completed", 10)
        seen = served.worker("worker-1")
        print(
            f"versions: made by { ({row[2] for row in served.digests()}) }; the newer one: {seen['misfits']['waits']}"
        )
        assert {row[2] for row in served.digests()} == {"worker-2"} and not begun(newer)


def speech(scene: Scene) -> None:
    """An hour of speech whose worker dies twice: it is not begun anew."""
    vault, twin = scene.folder / "vault", scene.folder / "twin"
    for folder in (vault, twin):
        folder.mkdir()
    long_recordings.write(vault / "hour.wav", 3600)
    os.link(vault / "hour.wav", twin / "hour.wav")
    machines = [
        scene.machine("worker-1", site=copy_of_chyme(scene.folder)),
        scene.machine("worker-2", site=ROOT / "src"),
    ]
    digester = "speech-recognition"

    def fraction(served: Served) -> float:
        runs = [run for worker in served.ask("/api/workers")["workers"] for run in worker["running"]]
        return max((run["fraction"] for run in runs if run["digester"] == digester), default=0.0)

    settings = scene.settings() | {"PYTHONPATH": os.fspath(ROOT)}
    with running(scene.nats, *machines), serving(vault, settings) as served:
        for share in (0.4, 0.7):
            await_true(lambda share=share: fraction(served) >= share, f"{share:.0%} of the hour", LONG)  # type: ignore[misc]
            reached = fraction(served)
            running_there = next(machine for machine in machines if served.worker(machine.name).get("running", []))
            running_there.kill()
            running_there.start()
            await_true(lambda: fraction(served) == 0.0, "the loss", LONG)
            await_true(lambda: fraction(served) > 0.0, "the next try", LONG)
            time.sleep(5)
            print(f"speech: killed at {reached:.0%}, taken up again at {fraction(served):.0%}")
            assert fraction(served) > share - 0.35
        served.await_status("completed", 1, digester)
        rows = served.digests(digester)
    process = subprocess.run([*CHYME, "digest", "--vault", os.fspath(twin)], cwd=ROOT, capture_output=True, check=False)
    same = _content(vault, digester) == _content(twin, digester)
    print(f"speech: {rows}; the same words as undisturbed: {same} (exit {process.returncode})")
    assert rows[0][3] == 1 and same


def _content(vault: Path, digester: str) -> str:
    with closing(sqlite3.connect(f"file:{vault}/.chyme/vault.db?mode=ro", uri=True)) as db:
        found = db.execute("SELECT content FROM digests WHERE digester = ?", (digester,)).fetchone()
        return str(found[0])


CASES: dict[str, Callable[[Scene], None]] = {
    "stopped": lambda scene: silence(scene, "stopped"),
    "cut": lambda scene: silence(scene, "cut off"),
    "broken": black_hole,
    "full_disk": full_disk,
    "poison": poison,
    "two_vaults": two_vaults,
    "reach": reach,
    "nats_away": nats_away,
    "versions": versions,
    "speech": speech,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}")
    chosen = parser.parse_args().names or list(CASES)
    failed = []
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix=f"chyme-fault-{name}-", ignore_cleanup_errors=True) as folder:
            try:
                CASES[name](Scene(Path(folder)))
            except (AssertionError, TimeoutError) as error:
                print(f"{name}: FAILED {error}")
                failed.append(name)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
