"""A captured page can still be found and viewed while its host refuses to serve it again."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from typing import Any

import local_sites
import pytest
from local_web import LocalWeb, Page
from running_chyme import RunningChyme, Server, wait_until

from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow
WAITING = "SELECT 1 FROM digests WHERE digester = 'url-crawl-content' AND status = 'failed' AND settled = 0"
LINK = "mill.txt"
SIMILAR_QUESTION = "a tide mill whose wheel stood still"


@pytest.fixture
def server(chyme: RunningChyme, web: LocalWeb) -> Iterator[Server]:
    chyme.drop(LINK, local_sites.article(web) + "\n")
    running = chyme.serve()
    settled = (
        "SELECT 1 WHERE (SELECT count(*) FROM digests) > 3 AND NOT EXISTS (SELECT 1 FROM digests WHERE settled = 0)"
    )
    wait_until(lambda: chyme.rows(settled), seconds=120)
    yield running
    assert running.end(signal.SIGTERM) == 0


def visible_state(server: Server) -> dict[str, Any]:
    """What a user finds and sees of the page."""
    digest = server.http.get(f"/api/digest/{LINK}").json()
    rows = {row["digester"]: row["content"] for row in digest["digests"]}
    page = server.http.get(f"/file/{LINK}").text
    return {
        "words": [hit["path"] for hit in server.http.get("/api/search?q=swifts&mode=words").json()["hits"]],
        "meaning": [
            hit["path"] for hit in server.http.get(f"/api/search?q={SIMILAR_QUESTION}&mode=meaning").json()["hits"]
        ],
        "document": {name: digest["document"][name] for name in ("title", "summary", "date", "language", "tags")},
        "contents": {name: rows[name] for name in ("url-crawl-content", "url-metadata", "url-crawl-summary", "tags")},
        "shown": "colony of swifts" in page,
        "copy": "page.html" in page,
    }


def post_digest(chyme: RunningChyme, server: Server) -> None:
    server.http.post(f"/api/digest/{LINK}")


def post_digest_of_tags(chyme: RunningChyme, server: Server) -> None:
    server.http.post(f"/api/digest/{LINK}", params={"digester": ["tags", "classify-document", "url-crawl"]})


def reset_command(chyme: RunningChyme, server: Server) -> None:
    assert chyme.run("reset", LINK).code == 0


def bulk_reset(chyme: RunningChyme, server: Server) -> None:
    server.http.post("/api/digest", json={"all": True, "mode": "reset"})


def forget_searches(chyme: RunningChyme, server: Server) -> None:
    for name in ("url-crawl", "search-keyword", "search-semantic"):
        server.http.delete(f"/api/digesters/{name}/digests")


def reprocess(chyme: RunningChyme, server: Server) -> None:
    assert server.http.post(f"/api/documents/{LINK}/reprocess").json()["success"]


@pytest.mark.parametrize(
    "again", [post_digest, post_digest_of_tags, reset_command, bulk_reset, forget_searches, reprocess]
)
def test_a_captured_page_is_served_while_its_host_asks_for_a_pause(
    chyme: RunningChyme, web: LocalWeb, server: Server, again: Callable[[RunningChyme, Server], None]
) -> None:
    before = visible_state(server)
    assert before["words"] == [LINK]
    assert before["meaning"] == ([LINK] if path_of(EMBEDDING) else [])
    assert before["shown"] and before["copy"] and before["document"]["tags"]
    web.handler("/article", lambda _request, _wire: Page(b"later", 429, (("Retry-After", "3600"),)))

    again(chyme, server)
    wait_until(lambda: chyme.rows(WAITING), seconds=60)

    assert visible_state(server) == before
    assert chyme.run("verify").code == 0


def test_a_new_version_of_the_page_replaces_the_captured_one(
    chyme: RunningChyme, web: LocalWeb, server: Server
) -> None:
    sentence = "The wheelwright of Umberwick repaired carts, barrows and one memorable carriage. "
    web.page("/article", f"<html><title>Wheels</title><article><h1>Wheels</h1><p>{sentence * 12}</p></article></html>")

    answer = server.http.post(f"/api/digest/{LINK}").json()

    assert answer["document"]["title"] == "Wheels"
    facts = next(row for row in answer["digests"] if row["digester"] == "url-metadata")
    assert json.loads(facts["content"])["title"] == "Wheels"
    wait_until(lambda: not chyme.rows("SELECT 1 FROM digests WHERE settled = 0"), seconds=120)
    found = visible_state(server)
    assert (found["words"], found["shown"]) == ([], False)
    assert server.http.get("/api/search?q=wheelwright&mode=words").json()["total"] == 1


def test_a_changed_remark_is_found_and_the_capture_stays_though_the_page_is_gone(
    chyme: RunningChyme, web: LocalWeb, server: Server
) -> None:
    address = (chyme.vault / LINK).read_text().strip()
    before = visible_state(server)
    web.handler("/article", lambda _request, _wire: Page(b"gone", 404))

    chyme.drop(LINK, f"{address}\n\nrecommended by Philippa\n")

    found = "/api/search?q=Philippa&mode=words"
    wait_until(lambda: server.http.get(found).json()["total"], seconds=120)
    wait_until(lambda: not chyme.rows("SELECT 1 FROM digests WHERE settled = 0"), seconds=120)
    after = visible_state(server)
    assert (after["words"], after["shown"], after["copy"]) == ([LINK], True, True)
    assert after["contents"]["url-crawl-content"] == before["contents"]["url-crawl-content"]
    assert chyme.run("verify").code == 0
