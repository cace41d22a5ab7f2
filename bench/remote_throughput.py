"""How much faster workers make it, and what a very large file costs: python -m bench.remote_throughput.

A made-up digester computes or waits for five seconds. Workers have a core each (as far as there are cores).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.processes import private_bytes
from bench.remote_costs import install_plugin
from bench.remote_machines import ROOT, Machine, Nats, await_true, coordinator_settings, running

SECONDS = 5.0
LARGE = 1 << 30


def make_vault(folder: Path, count: int, word: str) -> Path:
    folder.mkdir()
    for number in range(count):
        path = folder / f"{number}.blob"
        path.write_bytes(f"{SECONDS} {word} {number} ".encode() + bytes(70_000))
        os.utime(path, (1e9, 1e9))
    return folder


def time_with(folder: Path, nats: Nats, site: Path, workers: int, files: int, word: str) -> float:
    """Seconds from the first attempt's begin to the end of all, with so many workers of one place each."""
    names = [f"worker-{number}" for number in range(1, workers + 1)]
    cores = sorted(os.sched_getaffinity(0))
    machines = []
    for number, name in enumerate(names):
        machine = Machine(nats, name, folder / f"{word}-{workers}-{name}", ["--places", "1"], source=site)
        machine.core = cores[number % len(cores)] if word == "burn" else None
        machines.append(machine)
    vault = make_vault(folder / f"vault-{word}-{workers}", files, word)
    settings = coordinator_settings(nats, home_places="0") | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    with running(nats, *machines):
        for machine in machines:
            await_true(lambda machine=machine: "connected to NATS" in machine.log.read_text(), "a worker")  # type: ignore[misc]
        command = [sys.executable, "-m", "chyme", "digest", "--vault", os.fspath(vault)]
        process = subprocess.Popen(command, env=settings, cwd=ROOT, stdout=subprocess.DEVNULL)
        await_true(lambda: any("waits begins" in machine.log.read_text() for machine in machines), "the first attempt")
        began = time.perf_counter()
        process.wait()
        return time.perf_counter() - began


def carry_large_file(folder: Path, nats: Nats, site: Path) -> None:
    """One file of a gigabyte: what it takes on both sides."""
    vault = folder / "vault-large"
    vault.mkdir()
    with (vault / "large.blob").open("wb") as stream:
        stream.write(b"0.6 \0")
        stream.truncate(LARGE)
    os.utime(vault / "large.blob", (1e9, 1e9))
    machine = Machine(nats, "worker-1", folder / "large", ["--places", "1"], source=site)
    settings = coordinator_settings(nats, home_places="0") | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    with running(nats, machine):
        await_true(lambda: "connected to NATS" in machine.log.read_text(), "the worker")
        before = private_bytes(machine.pid)
        command = [sys.executable, "-m", "chyme", "digest", "--vault", os.fspath(vault)]
        process = subprocess.Popen(command, env=settings, cwd=ROOT, stdout=subprocess.DEVNULL)
        began, here, there = time.perf_counter(), 0, 0
        while process.poll() is None:
            here, there = max(here, private_bytes(process.pid)), max(there, private_bytes(machine.pid))
            time.sleep(0.1)
        took = time.perf_counter() - began
    print(
        f"a file of 1 GB: {took:.1f} s with hashing; most private memory {here >> 20} MB here, {there >> 20} MB on the "
        f"worker ({before >> 20} MB before)"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="chyme-remote-throughput-") as temporary:
        folder = Path(temporary)
        site = folder / "site"
        install_plugin(site)
        nats = Nats(folder / "cluster", [f"worker-{number}" for number in range(1, 5)])
        one, two = (time_with(folder, nats, site, workers, 8, "burn") for workers in (1, 2))
        print(
            f"computing for {SECONDS:g} s, 8 files: {one:.1f} s with one worker, {two:.1f} with two: {one / two:.2f} ×"
        )
        one, four = (time_with(folder, nats, site, workers, 16, "wait") for workers in (1, 4))
        print(f"waiting for {SECONDS:g} s, 16 files: {one:.1f} s with one, {four:.1f} with four: {one / four:.2f} ×")
        carry_large_file(folder, nats, site)


if __name__ == "__main__":
    main()
