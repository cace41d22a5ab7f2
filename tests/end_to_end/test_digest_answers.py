"""`POST /api/digest/{path}` answers once all digests and their dependents are settled, or lists the unsettled ones."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import local_sites
import pytest
from local_web import LocalWeb, Page
from running_chyme import RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def server(chyme: RunningChyme, web: LocalWeb) -> Iterator[Server]:
    chyme.drop("mill.txt", local_sites.article(web) + "\n")
    running = chyme.serve()
    wait_until(lambda: chyme.rows("SELECT 1 FROM digests"), seconds=60)
    wait_until(lambda: not chyme.rows("SELECT 1 FROM digests WHERE settled = 0"), seconds=120)
    yield running
    assert running.end(signal.SIGTERM) == 0


def rows_of(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["digester"]: row for row in answer["digests"]}


def test_dependents_are_settled_when_the_answer_comes(chyme: RunningChyme, web: LocalWeb, server: Server) -> None:
    sentence = "The wheelwright of Umberwick repaired carts, barrows and one memorable carriage. "
    web.page("/article", f"<html><title>Wheels</title><article><h1>Wheels</h1><p>{sentence * 12}</p></article></html>")

    answer = server.http.post("/api/digest/mill.txt?digester=url-crawl", timeout=120).json()

    assert answer["unsettled"] == []
    rows = rows_of(answer)
    assert {name for name, row in rows.items() if not row["settled"]} == set()
    assert json.loads(rows["classify-document"]["content"])["title"] == answer["document"]["title"] == "Wheels"
    assert "wheelwright" in rows["url-crawl-summary"]["content"].lower()
    assert server.http.get("/api/search?q=wheelwright&mode=words").json()["total"] == 1


def test_waiting_digests_are_listed_with_their_reason(chyme: RunningChyme, web: LocalWeb, server: Server) -> None:
    web.handler("/article", lambda _request, _wire: Page(b"later", 429, (("Retry-After", "3600"),)))

    answer = server.http.post("/api/digest/mill.txt", timeout=120).json()

    listed = {digest["digester"]: digest for digest in answer["unsettled"]}
    assert set(listed) == {name for name, row in rows_of(answer).items() if not row["settled"]}
    crawl = listed["url-crawl-content"]
    assert (crawl["status"], crawl["retry_at"]) == ("failed", rows_of(answer)["url-crawl-content"]["retry_at"])
    assert "3600 s" in crawl["reason"]
    assert listed["search-keyword"]["reason"].startswith("waiting for url-crawl-content")
    assert listed["search-keyword"]["retry_at"] is None


def test_a_digest_made_without_its_model_is_listed(chyme: RunningChyme, web: LocalWeb) -> None:
    chyme.settings |= {
        "CHYME_LLM_PROVIDER": "openai",
        "CHYME_LLM_URL": web.url("/v1"),
        "CHYME_LLM_MODEL": "m",
        "CHYME_LLM_KEY": "k",
    }
    web.handler("/v1/*", lambda _request, _wire: Page(b"{}", 503, (("Retry-After", "600"),)))
    chyme.drop("note.txt", "The tenancy agreement may be terminated by either party with three months' notice. " * 5)
    running = chyme.serve()
    wait_until(lambda: chyme.rows("SELECT 1 FROM files"))
    try:
        answer = running.http.post("/api/digest/note.txt?digester=classify-document", timeout=120).json()
    finally:
        assert running.end(signal.SIGTERM) == 0

    listed = {digest["digester"]: digest for digest in answer["unsettled"]}
    assert listed["classify-document"]["status"] == "completed"
    assert listed["classify-document"]["provider"] == "llm"
    assert "without its model" in listed["classify-document"]["reason"]
