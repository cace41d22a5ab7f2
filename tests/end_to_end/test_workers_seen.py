"""A real server, a real worker and NATS between them, as people see them."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_nats import LoopbackNats, loopback_nats
from running_chyme import SAMPLES, RunningChyme, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[LoopbackNats]:
    with loopback_nats(tmp_path) as server:
        yield server


def test_a_real_worker_is_seen_and_its_name_stays_with_what_it_made(chyme: RunningChyme, nats: LoopbackNats) -> None:
    chyme.settings |= {"CHYME_WORKERS_URL": nats.url, "CHYME_WORKERS_VAULT": "photos", "CHYME_HOME_PLACES": "0"}
    server = chyme.serve()
    with chyme.popen(
        *("work", "--name", "shed", "--without-isolation", "--scratch", os.fspath(chyme.folder / "scratch")),
        env=chyme.environment(),
        cwd=chyme.folder,
    ) as worker:
        try:
            wait_until(lambda: "image-preview" in str(server.http.get("/api/workers").json()["workers"]))
            shutil.copy(SAMPLES / "dot.png", chyme.vault / "till.png")
            wait_until(lambda: chyme.rows("SELECT 1 FROM digests WHERE worker = 'shed'"))
            shown = chyme.run("workers")
            assert shown.code == 0, shown.err
            assert "shed" in shown.out
            assert chyme.run("workers", "--json").json["workers"][0]["done"] >= 1
            assert "made by the worker shed" in chyme.run("show", "till.png").out
            assert "workers: connected to NATS; 1 worker;" in chyme.run("status").out
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(AMPLE)
    wait_until(lambda: not server.http.get("/api/workers").json()["workers"])
    server.end(signal.SIGTERM)
