"""What an attempt elsewhere costs the coordinator: python -m bench.remote_costs [--attempts 2000].

Files of no known type, a made-up digester that waits, one worker with 64 places. The same files are digested here with
the same digester, which then does not wait. The difference of the coordinator's CPU is what an attempt elsewhere costs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from bench.processes import private_bytes, used_by
from bench.remote_machines import ROOT, Machine, Nats, await_true, coordinator_settings, running

PLACES = 64
SOURCE = """
import os, time
from chyme.digester import Digester, Makes, Runs
from chyme.model import Output

class Waits(Digester):
    name = "waits"
    label = "Waits"
    description = "Waits a moment."
    makes = Makes()
    runs = Runs(family="parsers")

    def can_digest(self, file):
        return True

    def digest(self, source):
        words = source.open().read(20).split(b" ")
        seconds = float(words[0])
        if b"burn" in words:
            began = time.process_time()
            while time.process_time() - began < seconds:
                sum(range(10_000))
        else:
            time.sleep(seconds)
        return [Output("waits", "waited " * 20)]
"""


def install_plugin(site: Path) -> None:
    """A package with the digester, as pip would leave it."""
    site.mkdir()
    (site / "waits.py").write_text(SOURCE)
    info = site / "waits-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waits\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[chyme.digesters]\nwaits = waits:Waits\n")


def make_vault(folder: Path, count: int, seconds: float) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.blob").write_bytes(
            f"{seconds} {number}".encode() + bytes(70_000)
        )  # small ones share threads
        os.utime(folder / f"{number}.blob", (1e9, 1e9))
    return folder


def measure(vault: Path, environment: Mapping[str, str]) -> tuple[float, float, int, int]:
    """CPU of the coordinator, wall, its private memory after a tenth of the time and at the end."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "chyme", "digest", "--vault", os.fspath(vault)],
        env=dict(environment),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    memory: list[int] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.5):  # polling the process would reap it
            memory.append(private_bytes(process.pid))

    watcher = threading.Thread(target=sample)
    watcher.start()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter() - began
    ended.set()
    used = used_by(process.pid)
    assert used is not None
    said = process.communicate()[0].decode()
    watcher.join()
    if process.returncode != 0:
        raise RuntimeError(said)
    grown = [figure for figure in memory if figure]
    return used.cpu, wall, grown[len(grown) // 10] if grown else 0, max(grown, default=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=2000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chyme-remote-costs-") as temporary:
        folder = Path(temporary)
        site = folder / "site"
        install_plugin(site)
        path = {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
        here = make_vault(folder / "here", asked.attempts, 0.0)
        there = make_vault(folder / "there", asked.attempts, 0.6)
        local = os.environ | path | {"CHYME_CRAWL": "false"}
        cpu_here, wall_here, _, memory_here = measure(here, local)
        print(f"here:      {cpu_here:.2f} s CPU of the coordinator, {wall_here:.1f} s wall, {memory_here >> 20} MB")
        nats = Nats(folder / "cluster", ["worker-1"])
        machine = Machine(nats, "worker-1", folder / "machine", ["--places", str(PLACES)], source=site)
        with running(nats, machine):
            await_true(lambda: "waiting for work" in machine.log.read_text(), "the worker")
            settings = coordinator_settings(nats, home_places="0") | path
            short = measure(make_vault(folder / "short", PLACES, 0.6), settings)
            long = measure(make_vault(folder / "long", PLACES, 10.0), settings)
            cpu, wall, early, memory = measure(there, settings)
        waiting = (long[0] - short[0]) / (long[1] - short[1])
        print(f"waiting:   {waiting * 1000:.0f} ms CPU each second, while {PLACES} attempts run elsewhere")
        print(f"elsewhere: {cpu:.2f} s CPU of the coordinator, {wall:.1f} s wall, {early >> 20} then {memory >> 20} MB")
        extra = (cpu - cpu_here) / asked.attempts * 1000
        apart = (cpu - waiting * (wall - wall_here) - cpu_here) / asked.attempts * 1000
        each = cpu_here / asked.attempts * 1000
        print(f"an attempt: {each:.2f} ms here with its file, {extra:+.2f} elsewhere, {apart:+.2f} without the waiting")


if __name__ == "__main__":
    main()
