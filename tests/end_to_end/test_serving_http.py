"""A serving chyme: what it answers, what it refuses, and that requests are stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from plugin_package import install
from running_chyme import SAMPLES, RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow

SLEEPY = '''
class Sleepy(Digester):
    """Works as many seconds as the file says, and tells which of its runs this is."""

    name = "sleepy"
    label = "Sleepy"
    description = "Takes its time."

    def can_digest(self, file: File) -> bool:
        return file.name.startswith("slow")

    def digest(self, source: Source) -> list[Output]:
        with source.open() as text:
            time.sleep(float(text.read()))
        return [Output(self.name, str(time.time_ns()))]
'''


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningChyme, Server]]:
    """One server for all these tests; each has its own files."""
    chyme = RunningChyme(tmp_path_factory.mktemp("serving"))
    install(chyme.site, "sleepy_parsers", SLEEPY, {"sleepy": "Sleepy"})
    chyme.drop("papers/contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    chyme.drop("notes/käse & brot.md", "# Käse\n\nfondue recipe")
    server = chyme.serve()
    try:
        wait_until(lambda: server.http.get("/api/status").json()["documents"]["completed"] == 2)
        yield chyme, server
    finally:
        server.http.close()
        chyme.close()


@pytest.fixture
def chyme(serving: tuple[RunningChyme, Server]) -> RunningChyme:
    return serving[0]


@pytest.fixture
def http(serving: tuple[RunningChyme, Server]) -> httpx.Client:
    return serving[1].http


def digest_of(details: dict[str, Any], name: str) -> dict[str, Any]:
    return next(digest for digest in details["digests"] if digest["digester"] == name)


def test_health_and_status(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    status = http.get("/api/status").json()
    assert set(status["digests"]) == {"todo", "in-progress", "completed", "skipped", "failed"}
    assert set(status["documents"]) == {"processing", "stale", "completed", "needs-classification", "failed"}
    assert status["outdated"] == 0
    assert status["paused"] is None


def test_a_file_is_answered_for_under_any_name(http: httpx.Client) -> None:
    details = http.get("/api/digest/papers/contract.pdf").json()
    assert details["file"]["path"] == "papers/contract.pdf"
    assert details["document"]["state"] == "completed"
    assert digest_of(details, "doc-to-markdown")["status"] == "completed"
    note = http.get("/api/digest/notes/k%C3%A4se%20%26%20brot.md").json()
    assert note["document"]["title"] == "Käse"


def test_post_makes_the_digests_again_before_it_answers(http: httpx.Client) -> None:
    before = http.get("/api/digest/papers/contract.pdf").json()
    after = http.post("/api/digest/papers/contract.pdf").json()
    for name in ("doc-to-markdown", "search-keyword"):
        assert digest_of(after, name)["status"] == "completed"
        assert digest_of(after, name)["updated_at"] > digest_of(before, name)["updated_at"]
        assert digest_of(after, name)["content"] == digest_of(before, name)["content"]


def test_post_for_one_digester_leaves_the_others(http: httpx.Client) -> None:
    before = http.get("/api/digest/papers/contract.pdf").json()
    after = http.post("/api/digest/papers/contract.pdf", params={"digester": "search-keyword"}).json()
    old, new = digest_of(before, "doc-to-markdown"), digest_of(after, "doc-to-markdown")
    assert new["updated_at"] == old["updated_at"]
    assert digest_of(after, "search-keyword")["updated_at"] > digest_of(before, "search-keyword")["updated_at"]
    refused = http.post("/api/digest/papers/contract.pdf", params={"digester": "nobody"})
    assert refused.status_code == 400
    assert "nobody" in refused.json()["detail"]


def test_post_without_waiting_answers_202_and_the_work_is_done(http: httpx.Client) -> None:
    before = http.get("/api/digest/notes/k%C3%A4se%20%26%20brot.md").json()
    was = digest_of(before, "search-keyword")["updated_at"]
    answer = http.post("/api/digest/notes/k%C3%A4se%20%26%20brot.md", params={"wait": "false"})
    assert answer.status_code == 202

    def again() -> bool:
        digest = digest_of(http.get("/api/digest/notes/k%C3%A4se%20%26%20brot.md").json(), "search-keyword")
        return (digest["status"], digest["updated_at"] > was) == ("completed", True)

    wait_until(again)


@pytest.mark.parametrize(
    "path", ["nowhere.md", "../outside.md", "%2e%2e/%2e%2e/etc/passwd", ".chyme/vault.db", "papers", "%2Fetc%2Fpasswd"]
)
def test_a_path_that_is_not_a_file_of_the_vault_is_404(http: httpx.Client, path: str) -> None:
    for answer in (http.get(f"/api/digest/{path}"), http.post(f"/api/digest/{path}")):
        assert answer.status_code == 404, answer.text


def test_search_answers_in_the_promised_shape(http: httpx.Client) -> None:
    found = http.get("/api/search", params={"q": "fondue"}).json()
    [hit] = found["hits"]
    assert hit["path"] == "notes/käse & brot.md"
    assert {"path", "title", "score", "why", "snippet", "place"} <= set(hit)
    assert found["total"] == 1
    assert http.get("/api/search", params={"q": '"((', "limit": 0}).status_code == 422
    assert http.get("/api/search", params={"q": '"(( NEAR * -'}).status_code == 200


def test_requests_for_another_host_or_from_another_site_are_refused(http: httpx.Client) -> None:
    path = "/api/digest/papers/contract.pdf"
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        assert http.get("/healthz", headers={"Host": host}).status_code == 403, host
    for origin in ("http://evil.example", "null", "http://localhost:1", f"https://x@{http.base_url.netloc.decode()}"):
        assert http.post(path, headers={"Origin": origin}).status_code == 403, origin
    own = str(http.base_url).rstrip("/")
    assert http.post(path, headers={"Origin": own}, params={"wait": "false"}).status_code == 202


def test_a_note_dropped_while_serving_is_found_within_seconds(chyme: RunningChyme, http: httpx.Client) -> None:
    (chyme.vault / "new folder").mkdir()
    chyme.drop("new folder/fresh.md", "# Fresh\n\nquincunx", still=False)
    wait_until(lambda: http.get("/api/search", params={"q": "quincunx"}).json()["total"] == 1)
    chyme.drop("new folder/fresh.md", "# Fresh\n\nzugzwang", still=False)
    wait_until(lambda: http.get("/api/search", params={"q": "zugzwang"}).json()["total"] == 1)
    assert http.get("/api/search", params={"q": '"quincunx"'}).json()["total"] == 0
    (chyme.vault / "new folder/fresh.md").unlink()
    wait_until(lambda: http.get("/api/search", params={"q": "zugzwang"}).json()["total"] == 0)


def test_a_request_for_a_busy_file_is_stored_and_waits_for_its_own_run(chyme: RunningChyme, http: httpx.Client) -> None:
    chyme.drop("slow one.txt", "1.5")
    wait_until(
        lambda: _at_work(http, "slow one.txt", "sleepy")
    )  # a request before the first run begins would be merged with it
    began = time.monotonic()
    details = http.post("/api/digest/slow%20one.txt").json()
    assert time.monotonic() - began > 1.5, "it did not wait for its own run"
    assert digest_of(details, "sleepy")["status"] == "completed"
    runs = chyme.rows(
        "SELECT count(*) FROM events WHERE path = 'slow one.txt' AND digester = 'sleepy' AND status = 'in-progress'"
    )
    assert runs == [(2,)], "the run under way, and the requested one"
    assert chyme.rows("SELECT count(*) FROM requests") == [(0,)]


def test_searches_go_on_while_posts_wait(chyme: RunningChyme, http: httpx.Client) -> None:
    for number in range(10):
        chyme.drop(f"slow {number}.txt", f"0.{number}1")
    wait_until(lambda: http.get("/api/search", params={"q": "slow"}).json()["total"] >= 10)
    codes: list[int] = []
    asking = [
        threading.Thread(target=lambda n=n: codes.append(http.post(f"/api/digest/slow%20{n}.txt").status_code))
        for n in range(10)
    ]
    for thread in asking:
        thread.start()
    assert http.get("/healthz").status_code == 200
    assert len(codes) < 10, "it was answered after the posts"
    for thread in asking:
        thread.join(60)
    assert set(codes) <= {200, 202}
    assert codes.count(200) >= 8
    wait_until(lambda: chyme.rows("SELECT count(*) FROM requests") == [(0,)])
    wait_until(lambda: http.get("/api/status").json()["digests"]["in-progress"] == 0)


def _at_work(http: httpx.Client, path: str, digester: str) -> bool:
    under_way = http.get("/api/status").json()["work"]
    return any((work["path"], work["digester"]) == (path, digester) for work in under_way)


def test_only_a_free_port_is_taken(serving: tuple[RunningChyme, Server], tmp_path: Path) -> None:
    chyme, server = serving
    taken = chyme.run("serve", "--port", str(server.http.base_url.port), vault=tmp_path)
    assert taken.code == 2
    assert "--port" in taken.err
