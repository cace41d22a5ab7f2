"""A full disk pauses digestion without using up attempts; digestion continues when there is room."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugin_package import install
from running_chyme import RunningChyme, unmount, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

BULKY = """
import random


class Bulky(Digester):
    name = "bulky"
    label = "Bulky"
    description = "Makes much of little."

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        noise = random.Random(source.file.name).randbytes(300_000)
        return [Output(self.name, source.file.name, (Artifact("noise.bin", noise),))]
"""
FILES = 30


@pytest.fixture
def small_disk(chyme: RunningChyme) -> Iterator[Path]:
    """The vault on a file system of 12 MB."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", chyme.vault], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system could not be mounted here: {mounted.stderr.strip()}")
    try:
        yield chyme.vault
    finally:
        chyme.close()
        unmount(chyme.vault)


def test_a_full_disk_pauses_and_uses_up_no_attempts(chyme: RunningChyme, small_disk: Path) -> None:
    install(chyme.site, "bulky_parsers", BULKY, {"bulky": "Bulky"})
    for number in range(FILES):
        chyme.drop(f"note {number}.md", f"# Note {number}\n\nmarigold")
    ballast = small_disk / ".ballast"
    ballast.write_bytes(random.Random(1).randbytes(5 << 20))

    running = chyme.start("digest")
    wait_until(lambda: "digestion is paused" in chyme.said(running))

    time.sleep(2)
    assert running.poll() is None, chyme.said(running)
    assert "full" in chyme.said(running)
    assert chyme.run("search", "marigold", "--json").code == 0, "reading goes on"
    assert chyme.rows("SELECT count(*) FROM digests WHERE status = 'failed'") == [(0,)]
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)

    assert running.wait(AMPLE) == 0, chyme.said(running)
    assert chyme.rows("SELECT status, max(attempts), count(*) FROM digests WHERE digester = 'bulky' GROUP BY 1") == [
        ("completed", 1, FILES)
    ]
    assert len(chyme.said(running).splitlines()) < 40, "the log mentions it, but not over and over"
    assert chyme.run("verify").code == 0


def test_a_full_disk_pauses_once_until_there_is_clearly_room(chyme: RunningChyme, small_disk: Path) -> None:
    install(chyme.site, "bulky_parsers", BULKY, {"bulky": "Bulky"})
    for number in range(FILES):
        chyme.drop(f"note {number}.md", f"# Note {number}\n\nmarigold")
    ballast = small_disk / ".ballast"
    ballast.write_bytes(random.Random(1).randbytes(5 << 20))
    server = chyme.serve()

    def paused() -> str | None:
        reason: str | None = server.http.get("/api/status").json()["paused"]
        return reason

    wait_until(paused, 120)
    first = paused()
    for _ in range(60):
        os.truncate(ballast, ballast.stat().st_size - 4096)  # a few bytes are no room
        assert paused() == first
        time.sleep(0.2)
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    wait_until(lambda: paused() is None, 120)
    wait_until(
        lambda: (
            chyme.rows("SELECT count(*) FROM digests WHERE digester = 'bulky' AND status = 'completed'") == [(FILES,)]
        ),
        120,
    )
    server.http.close()
    log = chyme.said(server.process)
    assert (log.count("digestion is paused"), log.count("there is room on the disk again")) == (1, 1), log
    assert len(log.splitlines()) < 10, log
    assert chyme.rows("SELECT max(attempts) FROM digests") == [(1,)]
