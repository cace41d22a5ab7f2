"""Links through the real command: a table with the outcome for each kind of page; no forbidden address is visited."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import local_faults
import local_sites
import pytest
from local_web import Listener, LocalWeb
from running_chyme import RunningChyme, wait_until

from chyme.webpages.browser.executable import browser_program

pytestmark = pytest.mark.slow
needs_chromium = pytest.mark.skipif(browser_program("auto") is None, reason="Chromium is not installed")


@dataclass(frozen=True)
class Row:
    """A link: where it leads, and the expected outcome."""

    name: str
    leads: Callable[[LocalWeb, Listener], str]
    status: str  # of url-crawl-content
    category: str | None = None
    words: str = ""  # in the content, or in the error


def _charset(which: str) -> Row:
    def leads(web: LocalWeb, _forbidden: Listener) -> str:
        return local_sites.charset_lies(web)[which][0]

    line = local_sites.JAPANESE if "JIS" in which or "meta right" in which else local_sites.GERMAN
    return Row(f"charset {which}", leads, "completed", None, line)


def _wall(which: str) -> Row:
    return Row(f"bot wall {which}", lambda web, _: local_sites.bot_walls(web)[which], "failed", "validation", "robot")


def _turned(web: LocalWeb, forbidden: Listener) -> str:
    return web.page("/turned", headers={"Location": forbidden.url("/")}, status=302)


TABLE = [
    Row("article", lambda web, _: local_sites.article(web), "completed", None, "colony of swifts"),
    Row("redirects", lambda web, _: local_sites.redirect_chain(web), "completed", None, "colony of swifts"),
    Row("meta refresh", lambda web, _: local_sites.meta_refresh(web), "completed", None, "colony of swifts"),
    Row("PDF", lambda web, _: local_sites.pdf(web), "completed", None, "keeps a lighthouse"),
    Row("picture", lambda web, _: local_sites.picture(web), "completed", None, "Quetzalpension"),
    Row("paywall", lambda web, _: local_sites.paywall(web), "completed", None, "paying readers"),
    *map(
        _charset,
        (
            "says latin-1, is UTF-8",
            "says UTF-8, is Shift-JIS",
            "header right, meta wrong",
            "header wrong, meta right",
            "no header, meta right",
            "no word of it",
            "says UTF-8, is UTF-16 with a mark",
            "says nonsense",
        ),
    ),
    *map(_wall, ("challenge", "denied", "captcha")),
    Row("404", lambda web, _: local_sites.status(web, 404), "failed", "validation", "404"),
    Row("410", lambda web, _: local_sites.status(web, 410), "failed", "validation", "410"),
    Row("500", lambda web, _: local_sites.status(web, 500), "failed", "network", "500"),
    Row("login", lambda web, _: local_sites.login(web)["form"], "failed", "validation", "sign in"),
    Row("401", lambda web, _: local_sites.login(web)["status"], "failed", "validation", "sign in"),
    Row("cookie wall", lambda web, _: local_sites.cookie_wall(web), "failed", "validation", "cookies"),
    Row("redirect loop", lambda web, _: local_sites.redirect_loop(web), "failed", "validation", "redirect"),
    Row("endless redirects", lambda web, _: local_sites.endless_redirects(web), "failed", "validation", "web_hops"),
    Row("gzip bomb", lambda web, _: local_faults.gzip_bomb(web), "failed", "validation", "web_page_bytes"),
    Row("endless stream", lambda web, _: local_faults.endless_stream(web), "failed", "validation", "web_page_bytes"),
    Row("slow drip", lambda web, _: local_faults.slow_drip(web), "failed", "timeout", "web_seconds"),
    Row("header drip", lambda web, _: local_faults.header_drip(web), "failed", "timeout", "web_seconds"),
    Row("silence", lambda web, _: local_faults.silence(web), "failed", "timeout", "web_seconds"),
    Row("huge headers", lambda web, _: local_faults.huge_headers(web), "failed", "network"),
    Row("no HTTP", lambda web, _: local_faults.no_http(web), "failed", "network"),
    Row("huge page", lambda web, _: local_faults.huge_page(web), "failed", "validation", "web_page_bytes"),
    Row("forbidden address", lambda _, forbidden: forbidden.url("/"), "failed", "validation", "web_allow"),
    Row("redirect to a forbidden address", _turned, "failed", "validation", "web_allow"),
    Row("prowler", local_sites.prowler, "completed", None, "colony of swifts"),
]


@pytest.fixture
def chyme(tmp_path: Path) -> Iterator[RunningChyme]:
    running = RunningChyme(tmp_path)
    yield running
    assert running.close() == []


@pytest.fixture
def web(chyme: RunningChyme) -> Iterator[LocalWeb]:
    with LocalWeb() as local:
        chyme.settings |= {
            "CHYME_CRAWL": "true",
            "CHYME_WEB_ALLOW": local.host,
            "CHYME_WEB_DELAY": "0",
            "CHYME_WEB_SECONDS": "4",
        }
        yield local


def digests_of(chyme: RunningChyme, path: str) -> dict[str, dict[str, Any]]:
    digests = chyme.run("show", path, "--json").json["digests"]
    return {digest["digester"]: digest for digest in digests}


def test_every_kind_of_page_has_the_outcome_of_the_table(chyme: RunningChyme, web: LocalWeb) -> None:
    chyme.settings["CHYME_MAX_ATTEMPTS"] = "1"
    with Listener() as forbidden:
        for row in TABLE:
            chyme.drop(f"{row.name}.url", f"[InternetShortcut]\r\nURL={row.leads(web, forbidden)}\r\n")
        chyme.drop("note.txt", "an ordinary note")
        chyme.run("digest", seconds=280)
        visits = forbidden.connections

    assert visits == 0
    rows = chyme.rows(
        "SELECT file_path, status, error_category, coalesce(error, content, '') FROM digests"
        " WHERE digester = 'url-crawl-content'"
    )
    found = {path.removesuffix(".url"): (status, category, text) for path, status, category, text in rows}
    wrong = [
        (row.name, found[row.name])
        for row in TABLE
        if found[row.name][:2] != (row.status, row.category) or row.words not in found[row.name][2]
    ]
    assert wrong == []
    assert digests_of(chyme, "note.txt")["search-keyword"]["status"] == "completed"
    assert chyme.run("verify").code == 0


def link(chyme: RunningChyme, name: str, url: str) -> str:
    chyme.drop(name, url + "\n")
    return name


def test_an_article_is_stored_read_described_and_found(chyme: RunningChyme, web: LocalWeb) -> None:
    link(chyme, "mill.txt", local_sites.article(web))

    assert chyme.run("digest").code in (0, 1)  # 1 where there is no Chromium

    digests = digests_of(chyme, "mill.txt")
    content = digests["url-crawl-content"]["content"]
    headings = (f"# {local_sites.TITLE}", "## A pole and a notebook")
    for expected in (*headings, "| Day | Rise |", "- Readings were taken", "def head"):
        assert expected in content
    assert f"]({web.url('/tides/method')})" in content
    assert "Imprint" not in content
    facts = json.loads(digests["url-metadata"]["content"])
    assert (facts["title"], facts["author"], facts["site_name"], facts["language"]) == (
        local_sites.TITLE,
        "Marta Oyelaran",
        "The Quay Gazette",
        "en",
    )
    assert facts["published_date"].startswith("2024-05-17")
    assert facts["url"] == facts["canonical_url"] == web.url("/article")
    assert facts["reading_minutes"] >= 1
    bullets = [line for line in digests["url-crawl-summary"]["content"].splitlines() if line.startswith("- ")]
    assert 3 <= len(bullets) <= 5
    document = chyme.run("show", "mill.txt", "--json").json["document"]
    assert document["title"] == local_sites.TITLE
    hit = chyme.run("search", "swifts", "--json").json["hits"][0]
    assert (hit["path"], hit["title"]) == ("mill.txt", local_sites.TITLE)
    hit = chyme.run("search", "painted pole", "--json").json["hits"][0]
    assert hit["place"]["heading"] == "A pole and a notebook"


def test_a_copy_of_the_page_can_be_saved_and_needs_no_server(
    chyme: RunningChyme, web: LocalWeb, tmp_path: Path
) -> None:
    link(chyme, "mill.txt", local_sites.article(web))
    chyme.run("digest")

    assert chyme.run("show", "mill.txt", "--save", str(tmp_path / "saved")).code == 0

    page = next((tmp_path / "saved").glob("*page.html")).read_text()
    assert "data:image/jpeg;base64," in page
    assert "#7a1f1f" in page
    assert "<script" not in page
    assert re.findall(rf"(?:src|srcset|poster|data|action)=\S*{web.host}|url\(\S*{web.host}", page) == []


@needs_chromium
def test_a_page_of_scripts_is_read_and_captured_and_a_prowling_page_reaches_no_other_host(
    chyme: RunningChyme, web: LocalWeb, tmp_path: Path
) -> None:
    with Listener() as forbidden:
        link(chyme, "app.txt", local_sites.javascript_only(web))
        link(chyme, "prowler.txt", local_sites.prowler(web, forbidden))
        ended = chyme.run("digest")
        visits = forbidden.connections

    assert visits == 0
    assert ended.code == 0, ended.err
    digests = digests_of(chyme, "app.txt")
    assert local_sites.RENDERED in digests["url-crawl-content"]["content"]
    assert json.loads(digests["url-metadata"]["content"])["title"] == "Ferry times"
    assert chyme.run("search", "ferry pier", "--json").json["hits"][0]["path"] == "app.txt"
    for name in ("app.txt", "prowler.txt"):
        shot = digests_of(chyme, name)["url-crawl-screenshot"]
        assert shot["status"] == "completed"
        assert chyme.run("show", name, "--json").json["document"]["thumbnail"]
    refused = json.loads(digests_of(chyme, "prowler.txt")["url-crawl-screenshot"]["content"])["refused"]
    assert any("127.0.0.2" in host for host in refused)


def test_without_chromium_everything_but_the_picture_completes_and_the_picture_is_taken_when_it_appears(
    chyme: RunningChyme, web: LocalWeb
) -> None:
    link(chyme, "mill.txt", local_sites.article(web))
    chyme.settings["CHYME_BROWSER"] = "off"
    ended = chyme.run("digest", "--json")

    digests = digests_of(chyme, "mill.txt")
    assert {digests[name]["status"] for name in ("url-crawl-content", "url-crawl-html", "url-metadata")} == {
        "completed"
    }
    shot = digests["url-crawl-screenshot"]
    assert (shot["status"], shot["error_category"], shot["attempts"]) == ("failed", "unavailable", 0)
    assert "chromium" in shot["error"].lower()
    assert ended.json["documents"]["completed"] == 1

    if browser_program("auto") is not None:
        del chyme.settings["CHYME_BROWSER"]
        assert chyme.run("digest").code == 0
        assert digests_of(chyme, "mill.txt")["url-crawl-screenshot"]["status"] == "completed"


def test_a_host_that_asks_for_a_pause_gets_it_and_its_other_links_spend_no_attempt(
    chyme: RunningChyme, web: LocalWeb
) -> None:
    chyme.settings["CHYME_BROWSER"] = "off"
    link(chyme, "busy.txt", local_sites.busy(web, 429, 600))
    server = chyme.serve()
    try:
        paused = (
            "SELECT 1 FROM digests"
            " WHERE file_path = ? AND digester = 'url-crawl-content' AND error_category = 'rate_limit'"
        )
        wait_until(lambda: chyme.rows(paused, "busy.txt"))
        link(chyme, "late.txt", local_sites.article(web, "/late"))
        wait_until(lambda: chyme.rows(paused, "late.txt"))
        busy, late = (digests_of(chyme, name)["url-crawl-content"] for name in ("busy.txt", "late.txt"))
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert (busy["attempts"], late["attempts"]) == (1, 0)
    assert late["retry_at"] > (datetime.now(UTC) + timedelta(seconds=400)).isoformat()
    assert "/late" not in web.paths


def test_the_last_good_capture_survives_a_page_that_is_gone(chyme: RunningChyme, web: LocalWeb) -> None:
    chyme.settings["CHYME_BROWSER"] = "off"
    link(chyme, "mill.txt", local_sites.article(web))
    chyme.run("digest")
    before = digests_of(chyme, "mill.txt")
    local_sites.status(web, 404, "/article")

    chyme.run("reset", "mill.txt")
    chyme.run("digest")

    after = digests_of(chyme, "mill.txt")
    for name in ("url-crawl-content", "url-crawl-html", "url-metadata"):
        assert after[name]["status"] == "completed"
        assert after[name]["content"] == before[name]["content"]
        assert after[name]["sqlar_name"] == before[name]["sqlar_name"]
    assert "404" in after["url-crawl-content"]["error"]
    assert chyme.run("search", "swifts", "--json").json["total"] == 1
    assert chyme.run("status", "--json").json["outdated"] >= 3
    assert chyme.run("verify").code == 0


FOLDER = re.compile(rb"/tmp/chyme-browser-[^/\\0]+")


def homes_below(parent: int) -> set[bytes]:
    """The private folders of the Chromiums that this process and its children have started."""
    found: set[bytes] = set()
    with suppress(OSError):
        match = FOLDER.search(Path(f"/proc/{parent}/cmdline").read_bytes())
        found |= {match[0]} if match else set()
        for task in Path(f"/proc/{parent}/task").iterdir():
            for child in (task / "children").read_text().split():
                found |= homes_below(int(child))
    return found


def processes_in(homes: set[bytes]) -> list[int]:
    """Processes of a Chromium whose private folder is one of these."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                match = FOLDER.search((folder / "cmdline").read_bytes())
                found += [int(folder.name)] if match and match[0] in homes else []
    return found


@needs_chromium
def test_after_kill_9_no_browser_is_left_and_the_next_start_completes(chyme: RunningChyme, web: LocalWeb) -> None:
    for number in range(6):
        link(chyme, f"{number}.txt", local_sites.article(web, f"/article/{number}"))
    server = chyme.serve()
    wait_until(lambda: homes_below(server.process.pid), seconds=60)
    homes = homes_below(server.process.pid)
    assert processes_in(homes)
    server.end(signal.SIGKILL)

    wait_until(lambda: not processes_in(homes), seconds=60)
    wait_until(lambda: not any(Path(os.fsdecode(home)).exists() for home in homes), seconds=60)
    ended = chyme.run("digest")
    assert ended.code == 0, ended.err
    assert chyme.run("status", "--json").json["digests"]["failed"] == 0


@needs_chromium
def test_a_browser_that_appears_while_chyme_serves_is_noticed(
    chyme: RunningChyme, web: LocalWeb, tmp_path: Path
) -> None:
    program = tmp_path / "later"
    chyme.settings["CHYME_BROWSER"] = str(program)
    link(chyme, "mill.txt", local_sites.article(web))
    server = chyme.serve()
    shot = "SELECT status, error_category FROM digests WHERE digester = 'url-crawl-screenshot'"
    try:
        wait_until(lambda: chyme.rows(shot) == [("failed", "unavailable")])
        os.symlink(browser_program("auto") or "", program)
        wait_until(lambda: chyme.rows(shot) == [("completed", None)], seconds=60)
    finally:
        assert server.end(signal.SIGTERM) == 0
