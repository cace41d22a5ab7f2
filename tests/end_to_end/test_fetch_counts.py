"""How often the page behind a link is fetched: once for each attempt, however many outputs it has."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import local_sites
import pytest
from local_web import Asked, LocalWeb, Page, Wire
from running_chyme import RunningChyme, wait_until

from chyme.model import iso

pytestmark = pytest.mark.slow
CRAWLED = "digester IN ('url-crawl-content', 'url-crawl-html', 'url-metadata')"


def dead(web: LocalWeb) -> str:
    return web.handler("/page", lambda _request, _wire: None)


def too_many_requests(web: LocalWeb) -> str:
    return web.handler("/page", lambda _request, _wire: Page(b"later", 429, (("Retry-After", "1"),)))


def not_found(web: LocalWeb) -> str:
    return local_sites.status(web, 404, "/page")


def broken_then_not_found(web: LocalWeb) -> str:
    def answer(_request: Asked, _wire: Wire) -> Page:
        return Page(b"<h1>No</h1>", 500 if web.paths.count("/page") == 1 else 404)

    return web.handler("/page", answer)


def bring_retries_forward(vault: Path) -> None:
    """Move all retry times by the same span, so that the earliest is due now and the others keep their distance."""
    with closing(sqlite3.connect(vault / ".chyme/vault.db", timeout=30)) as db, db:
        waiting = db.execute(f"SELECT id, retry_at FROM digests WHERE retry_at IS NOT NULL AND {CRAWLED}").fetchall()
        times = {id_: datetime.fromisoformat(at) for id_, at in waiting}
        for id_, at in times.items():
            moved = iso(datetime.now(UTC) + (at - min(times.values())))
            db.execute("UPDATE digests SET retry_at = ? WHERE id = ? AND retry_at IS NOT NULL", (moved, id_))


@pytest.mark.parametrize(
    ("leads", "fetches", "category"),
    [
        (dead, 3, "network"),
        (too_many_requests, 3, "rate_limit"),
        (not_found, 1, "validation"),
        (broken_then_not_found, 2, "validation"),
    ],
)
def test_a_page_is_fetched_once_for_each_attempt(
    chyme: RunningChyme, web: LocalWeb, leads: Callable[[LocalWeb], str], fetches: int, category: str
) -> None:
    chyme.drop("a.url", f"[InternetShortcut]\r\nURL={leads(web)}\r\n")
    server = chyme.serve()

    def settled() -> bool:
        rows = chyme.rows(f"SELECT settled, retry_at FROM digests WHERE {CRAWLED}")
        if any(retry_at is not None for _, retry_at in rows):
            bring_retries_forward(chyme.vault)
        return len(rows) == 3 and all(done for done, _ in rows)

    try:
        wait_until(settled, seconds=120)
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert web.paths.count("/page") == fetches
    rows = chyme.rows(f"SELECT DISTINCT status, attempts, error_category FROM digests WHERE {CRAWLED}")
    assert rows == [("failed", fetches, category)]
