"""A file that takes hours to hash delays neither the start of the server nor a new note."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from running_chyme import RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow

LONG = 120.0
ENDLESS = 1 << 40  # bytes; sparse, and hashed for an hour at least


def put_endless(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(ENDLESS)
    moment = time.time() - 3600
    os.utime(path, (moment, moment))


def found(server: Server, word: str) -> list[str]:
    """Paths of the files with this word."""
    return [hit["path"] for hit in server.http.get("/api/search", params={"q": word}).json()["hits"]]


def words_are_found(chyme: RunningChyme) -> bool:
    if not (chyme.vault / ".chyme/vault.db").exists():
        return False
    try:
        return chyme.rows(
            "SELECT count(*) FROM digests WHERE digester = 'search-keyword' AND status = 'completed'"
        ) == [(1,)]
    except sqlite3.OperationalError:  # there is nothing in the database yet
        return False


def test_a_note_is_found_while_large_files_are_hashed(chyme: RunningChyme) -> None:
    put_endless(chyme.vault / "before.bin")
    chyme.drop("first.md", "a walrus in the first scan")
    server = chyme.serve()
    with closing(server.http):
        wait_until(lambda: found(server, "walrus") == ["first.md"], LONG)
        put_endless(chyme.vault / "dropped.bin")
        os.makedirs(chyme.vault / "/".join(["d"] * 300))
        chyme.drop("second.md", "a heron behind it", still=False)
        wait_until(lambda: found(server, "heron") == ["second.md"], LONG)
        status = server.http.get("/api/status").json()

        assert status["moving"] >= 2
        assert chyme.rows("SELECT count(*) FROM files WHERE name LIKE '%.bin'") == [(0,)]


def test_a_digestion_processes_small_files_while_it_hashes_a_large_one(chyme: RunningChyme) -> None:
    put_endless(chyme.vault / "a.bin")
    chyme.drop("b.md", "a walrus")
    process = chyme.start("digest")
    wait_until(lambda: words_are_found(chyme), LONG)

    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.wait(60)
