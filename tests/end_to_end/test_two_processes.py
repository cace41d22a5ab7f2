"""A serve and a digest on the same vault share the work and do nothing twice."""

from __future__ import annotations

import signal

import pytest
from running_chyme import RunningChyme, wait_until

pytestmark = pytest.mark.slow

FILES = 300
DIGESTS = 6  # of a note: classify-document, tags, slug, tag-embeddings, search-keyword, search-semantic


def test_serve_and_digest_at_the_same_time_do_every_digest_once(chyme: RunningChyme) -> None:
    for number in range(FILES):
        chyme.drop(f"folder {number % 7}/note {number}.md", f"# Note {number}\n\nharbour and ledger, number {number}\n")
    # Both start on a vault without a database: one process creates it, the other waits for it.
    digest = chyme.start("digest")
    server = chyme.serve()

    assert digest.wait(120) == 0, chyme.said(digest)
    assert f"files: {FILES}" in chyme.said(digest)
    wait_until(lambda: server.http.get("/api/status").json()["digests"]["completed"] == FILES * DIGESTS)
    seen = server.http.get("/api/status").json()
    assert (seen["files"], seen["digests"]["todo"], seen["digests"]["in-progress"]) == (FILES, 0, 0)

    assert chyme.rows(
        "SELECT attempts, interruptions, count(*) FROM digests WHERE status = 'completed' GROUP BY 1, 2"
    ) == [(1, 0, FILES * DIGESTS)]
    assert (
        chyme.rows(
            """
        SELECT path, digester, count(*) FROM events WHERE type = 'digest' AND status = 'in-progress'
         GROUP BY path, digester HAVING count(*) <> 1
        """
        )
        == []
    )
    assert chyme.rows("SELECT count(*) FROM events WHERE type = 'file' AND status = 'new'") == [(FILES,)]
    assert chyme.rows("SELECT count(*) FROM processing_locks") == [(0,)]

    assert server.end(signal.SIGTERM) == 0, chyme.said(server.process)
    assert chyme.alive() == []
    assert chyme.run("verify").code == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_serve_ends_cleanly_at_a_signal(chyme: RunningChyme, how: signal.Signals) -> None:
    chyme.drop("note.md", "# A note")
    server = chyme.serve()
    wait_until(lambda: server.http.get("/api/status").json()["digests"]["completed"] == DIGESTS)

    code = server.end(how)

    assert code == 0, chyme.said(server.process)
    assert chyme.alive() == []
    assert not (chyme.vault / ".chyme/vault.db-wal").exists(), "the database was not closed"
    assert "Traceback" not in chyme.said(server.process)
