"""A job outlives the process that works on it."""

from __future__ import annotations

import signal

import pytest
from running_chyme import RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow

FILES = 120


def job_of(server: Server) -> dict[str, int | str]:
    found = server.http.get("/api/jobs").json()["jobs"]
    assert len(found) == 1
    return dict(found[0])


def test_a_job_goes_on_after_kill_9_and_ends_with_every_file_counted_once(chyme: RunningChyme) -> None:
    for number in range(FILES):
        chyme.drop(f"{number:03}.txt", f"note {number} about digestion")
    assert chyme.run("digest").code == 0
    (before,) = chyme.rows("SELECT count(*), max(updated_at) FROM digests WHERE digester = 'search-keyword'")

    server = chyme.serve()
    wanted = {"all": True, "digesters": ["search-keyword"]}
    started = server.http.post("/api/digest", json=wanted)
    assert started.status_code == 202
    wait_until(lambda: chyme.rows("SELECT 1 FROM job_files WHERE asked = 1"))
    server.end(signal.SIGKILL)

    server = chyme.serve()
    job = job_of(server)
    assert job["id"] == started.json()["job"]["id"]
    wait_until(lambda: job_of(server)["state"] == "done")
    ended = job_of(server)
    assert (ended["total"], ended["done"], ended["failed"], ended["left_out"]) == (FILES, FILES, 0, 0)
    made = chyme.rows("SELECT count(*) FROM digests WHERE digester = 'search-keyword' AND updated_at > ?", before[1])
    assert made == [(FILES,)]
    assert chyme.rows("SELECT count(*) FROM job_files") == [(0,)]
    assert server.end(signal.SIGTERM) == 0


def test_a_job_from_the_command_line_is_done_by_digest(chyme: RunningChyme) -> None:
    for number in range(60):
        chyme.drop(f"{number:03}.txt", f"note {number}")
    assert chyme.run("digest").code == 0
    plan = chyme.run("bulk", "start", "--query", "note", "--digester", "search-keyword", "--dry-run", "--json").json
    assert (plan["files"], plan["digests"], plan["dry_run"]) == (60, 60, True)
    job = chyme.run("bulk", "start", "--query", "note", "--digester", "search-keyword", "--json").json["job"]
    assert chyme.run("digest", "000.txt").code == 0  # digesting a single file does not work on jobs
    assert chyme.run("bulk", "list", "--json").json["jobs"][0]["done"] == 0
    assert chyme.run("bulk", "pause", str(job["id"])).code == 0
    assert chyme.run("digest").code == 0  # paused jobs are not worked on either
    assert "paused" in chyme.run("bulk", "list").out
    assert chyme.run("bulk", "resume", str(job["id"])).code == 0
    assert chyme.run("digest").code == 0
    assert chyme.run("bulk", "--json").json["jobs"][0]["state"] == "done"
