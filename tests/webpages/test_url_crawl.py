"""What is made from the page or the file behind a link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import local_sites
import pytest
from disk_source import DiskSource, source_of
from local_web import Listener, LocalWeb, Page

from chyme.core.children.environment import child_environment
from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.core.pipeline.document_state import captured_address
from chyme.errors import (
    AddressRefused,
    DigestError,
    EngineUnavailable,
    LimitReached,
    NetworkFailed,
    RateLimited,
    UnreadableFile,
)
from chyme.imaging.ocr.engines import OcrSettings
from chyme.model import Kind, Lane, Output
from chyme.pictures.image_ocr import ImageOcr
from chyme.webpages.browser.browser import browser
from chyme.webpages.browser.executable import browser_program
from chyme.webpages.linked_file import FileReaders
from chyme.webpages.settings import BrowserSettings, CrawlLimits
from chyme.webpages.url_crawl import UrlCrawl

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[1] / "samples"
ALONE = BrowserSettings(program="off")
needs_chromium = pytest.mark.skipif(browser_program("auto") is None, reason="Chromium is not installed")


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    """While a browser of this process runs, we adopt orphaned processes: other tests must not see them."""
    yield
    browser(UrlCrawl().browser).close()


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as local:
        yield local


def link(folder: Path, web: LocalWeb, url: str) -> DiskSource:
    path = folder / "link.url"
    path.write_text(f"[InternetShortcut]\r\nURL={url}\r\n")
    return replace(source_of(path, folder), outside=Guard(policy_of(web.host), delay=0))


def crawl(folder: Path, web: LocalWeb, url: str, crawler: UrlCrawl | None = None) -> dict[str, Output]:
    made = (crawler or UrlCrawl(browser=ALONE)).digest(link(folder, web, url))
    assert [output.name for output in made] == list(UrlCrawl.outputs)
    return {output.name: output for output in made}


def content_of(output: Output) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.content or "")
    return found


def test_the_digester_takes_only_links_and_declares_its_lane_network_and_captures() -> None:
    assert UrlCrawl().can_digest(source_of(SAMPLES / "dot.png").file) is False
    assert (UrlCrawl.runs.family, UrlCrawl.runs.lane, UrlCrawl.runs.goes_out, UrlCrawl.promises.captures) == (
        "web",
        Lane.AWAY,
        True,
        True,
    )


def test_an_article_becomes_text_a_copy_and_metadata(tmp_path: Path, web: LocalWeb) -> None:
    made = crawl(tmp_path, web, local_sites.article(web))

    content = made["url-crawl-content"]
    assert content.content is not None
    assert content.content.startswith(f"# {local_sites.TITLE}")
    assert {place.heading for place in content.places} == {
        local_sites.TITLE,
        "A pole and a notebook",
        "Two summers of mud",
    }
    (copy,) = made["url-crawl-html"].artifacts
    assert content_of(made["url-crawl-html"]) == {
        "artifact": "page.html",
        "bytes": len(copy.data),
        "parts": 3,
        "left_out": 0,
        "rendered": False,
    }
    assert local_sites.PARAGRAPHS[0][:40].encode() in copy.data
    facts = content_of(made["url-metadata"])
    assert (facts["title"], facts["mime"]) == (local_sites.TITLE, "text/html")
    assert "access" not in facts


def test_the_metadata_always_has_the_same_fields(tmp_path: Path, web: LocalWeb) -> None:
    page = content_of(crawl(tmp_path, web, local_sites.article(web))["url-metadata"])
    file = content_of(crawl(tmp_path, web, local_sites.pdf(web))["url-metadata"])

    assert list(page) == list(file)
    assert {
        *("url", "title", "description", "author", "published_date", "image", "site_name", "domain"),
        *("word_count", "reading_minutes"),
    } <= set(page)


def test_for_a_redirected_link_both_addresses_are_stored_without_password(tmp_path: Path, web: LocalWeb) -> None:
    link = local_sites.redirect_chain(web)
    facts = content_of(crawl(tmp_path, web, link.replace("http://", "http://me:secret@"))["url-metadata"])

    assert facts["requested_url"] == captured_address(json.dumps(facts)) == link
    assert facts["url"] != link


def test_a_document_behind_a_link_is_read_with_its_pages_and_stored(tmp_path: Path, web: LocalWeb) -> None:
    made = crawl(tmp_path, web, local_sites.pdf(web))

    content = made["url-crawl-content"]
    assert "keeps a lighthouse" in (content.content or "")
    assert [place.page for place in content.places] == [1, 2, 3]
    (original,) = made["url-crawl-html"].artifacts
    assert (original.filename, original.data) == ("original.pdf", (SAMPLES / "contract.pdf").read_bytes())
    facts = content_of(made["url-metadata"])
    assert (facts["title"], facts["mime"]) == ("Rental contract", "application/pdf")


def test_a_file_is_recognised_by_its_content_not_by_its_header(tmp_path: Path, web: LocalWeb) -> None:
    url = web.page("/page.html", (SAMPLES / "contract.pdf").read_bytes())
    assert "keeps a lighthouse" in (crawl(tmp_path, web, url)["url-crawl-content"].content or "")

    url = web.page("/data.bin", "<!DOCTYPE html><title>A</title><p>A page after all", {"Content-Type": "image/png"})
    assert "A page after all" in (crawl(tmp_path, web, url)["url-crawl-content"].content or "")


def test_plain_text_is_taken_as_it_is(tmp_path: Path, web: LocalWeb) -> None:
    url = web.page("/notes.txt", "first line\nsecond line\n", {"Content-Type": "text/plain"})

    assert crawl(tmp_path, web, url)["url-crawl-content"].content == "first line\nsecond line"


def test_a_recording_is_stored_with_the_reason_why_it_has_no_text(tmp_path: Path, web: LocalWeb) -> None:
    data = (SAMPLES / "speech/memo.ogg").read_bytes()
    made = crawl(tmp_path, web, web.page("/memo.ogg", data, {"Content-Type": "audio/ogg"}))

    assert made["url-crawl-content"].content is None
    assert "recording" in content_of(made["url-crawl-html"])["notes"][0]
    assert made["url-crawl-html"].artifacts[0].data == data


def test_a_file_with_the_name_of_an_artifact_replaces_none(tmp_path: Path, web: LocalWeb) -> None:
    url = web.page("/thumbnail.jpg", (SAMPLES / "pages/sign.jpg").read_bytes(), {"Content-Type": "image/jpeg"})

    (original,) = crawl(tmp_path, web, url)["url-crawl-html"].artifacts

    assert original.filename == "original.jpg"


def test_an_empty_answer_has_no_content(tmp_path: Path, web: LocalWeb) -> None:
    assert crawl(tmp_path, web, web.page("/empty", ""))["url-crawl-content"].content is None


def test_a_paywall_leaves_the_beginning_a_note_and_its_metadata(tmp_path: Path, web: LocalWeb) -> None:
    made = crawl(tmp_path, web, local_sites.paywall(web))

    assert "\n\n> note: 127.0.0.1 marks this page as one for paying readers" in (
        made["url-crawl-content"].content or ""
    )
    assert content_of(made["url-metadata"])["access"] == "paywall"


@pytest.mark.parametrize("which", ["challenge", "denied", "captcha"])
def test_a_check_for_robots_is_never_content(which: str, tmp_path: Path, web: LocalWeb) -> None:
    with pytest.raises(UnreadableFile, match=r"link\.url: .*check for robots instead of the page; open it"):
        crawl(tmp_path, web, local_sites.bot_walls(web)[which])


@needs_chromium
def test_a_check_for_robots_is_passed_by_a_browser_where_it_can_be(tmp_path: Path, web: LocalWeb) -> None:
    wall = Page(
        b"<!DOCTYPE html><title>Just a moment...</title><h2>Checking your browser before you go on</h2>"
        b'<form id="challenge-form"></form><script>document.cookie = "passed=1"; location.reload()</script>',
        403,
        (("Content-Type", "text/html"), ("CF-Mitigated", "challenge")),
    )
    behind = Page(f"<title>The mill</title><p>{'<p>'.join(local_sites.PARAGRAPHS)}".encode())
    url = web.handler(
        "/guarded", lambda request, _wire: behind if "passed" in request.headers.get("cookie", "") else wall
    )

    made = crawl(tmp_path, web, url, UrlCrawl())

    assert "colony of swifts" in (made["url-crawl-content"].content or "")
    assert content_of(made["url-crawl-html"])["rendered"] is True


@needs_chromium
def test_a_page_of_scripts_is_stored_as_the_scripts_left_it(tmp_path: Path, web: LocalWeb) -> None:
    made = crawl(tmp_path, web, local_sites.javascript_only(web), UrlCrawl())

    assert local_sites.RENDERED in (made["url-crawl-content"].content or "")
    assert local_sites.RENDERED.encode() in made["url-crawl-html"].artifacts[0].data
    assert b"<script" not in made["url-crawl-html"].artifacts[0].data


@needs_chromium
def test_a_page_that_stays_empty_after_its_scripts_has_no_content(tmp_path: Path, web: LocalWeb) -> None:
    web.page("/idle.js", "let nothing = 1;" * 500, {"Content-Type": "text/javascript"})
    url = web.page("/idle", '<div id="root"></div><script src="/idle.js"></script>')

    assert crawl(tmp_path, web, url, UrlCrawl())["url-crawl-content"].content is None


def test_without_a_browser_a_page_of_scripts_waits_for_one(tmp_path: Path, web: LocalWeb) -> None:
    with pytest.raises(EngineUnavailable, match="no Chromium to run them; install it"):
        crawl(tmp_path, web, local_sites.javascript_only(web))
    assert UrlCrawl(browser=ALONE).recipe != UrlCrawl().recipe or browser_program("auto") is None


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [(404, UnreadableFile, "answer 404"), (403, UnreadableFile, "answer 403"), (500, NetworkFailed, "500")],
)
def test_an_error_status_is_a_failure_with_its_number(
    code: int, error: type[DigestError], words: str, tmp_path: Path, web: LocalWeb
) -> None:
    with pytest.raises(error, match=words):
        crawl(tmp_path, web, local_sites.status(web, code))


def test_addresses_that_the_guard_forbids_are_not_visited(tmp_path: Path, web: LocalWeb) -> None:
    with Listener() as forbidden:
        for url in (forbidden.url("/"), web.page("/turn", headers={"Location": forbidden.url("/")}, status=302)):
            with pytest.raises(AddressRefused, match="web_allow"):
                crawl(tmp_path, web, url)
        crawl(tmp_path, web, local_sites.prowler(web, forbidden))
        assert forbidden.connections == 0


def test_a_page_over_the_limit_names_its_setting(tmp_path: Path, web: LocalWeb) -> None:
    small = UrlCrawl(CrawlLimits(page_bytes=1000), ALONE)

    with pytest.raises(LimitReached, match="web_page_bytes"):
        crawl(tmp_path, web, local_sites.article(web), small)


def test_without_the_crawl_setting_nothing_is_fetched(tmp_path: Path, web: LocalWeb) -> None:
    with pytest.raises(EngineUnavailable, match="set crawl to true"):
        crawl(tmp_path, web, local_sites.article(web), UrlCrawl(crawl=False))
    assert web.paths == []
    assert UrlCrawl(crawl=False).recipe != UrlCrawl().recipe


def test_a_link_file_without_an_address_is_reported(tmp_path: Path, web: LocalWeb) -> None:
    source = link(tmp_path, web, web.url("/"))
    source.path.write_text("no address at all")

    with pytest.raises(UnreadableFile, match=r"link\.url: holds no address any more"):
        UrlCrawl(browser=ALONE).digest(source)
    assert source.file.kind is Kind.URL


@pytest.mark.parametrize("sample", ["pages/sign.jpg", "contract.pdf"])
def test_an_error_status_with_a_file_is_still_a_failure(sample: str, tmp_path: Path, web: LocalWeb) -> None:
    url = web.page("/hotlink", (SAMPLES / sample).read_bytes() * 3, {"Content-Type": "image/jpeg"}, 403)

    with pytest.raises(UnreadableFile, match="answer 403"):
        crawl(tmp_path, web, url)


def test_an_unreadable_file_is_stored_with_the_reason(tmp_path: Path, web: LocalWeb) -> None:
    broken = (SAMPLES / "contract.pdf").read_bytes()[:300]
    made = crawl(tmp_path, web, web.page("/broken.pdf", broken, {"Content-Type": "application/pdf"}))

    assert made["url-crawl-content"].content is None
    assert "broken.pdf" in content_of(made["url-crawl-html"])["notes"][0]
    assert made["url-crawl-html"].artifacts[0].data == broken


def test_readers_of_files_are_part_of_the_recipe() -> None:
    other = FileReaders(words=ImageOcr(OcrSettings(ocr_engine="tesseract")))

    assert UrlCrawl(readers=other).recipe != UrlCrawl().recipe


@needs_chromium
def test_the_fragment_of_the_address_selects_the_page_for_its_scripts(tmp_path: Path, web: LocalWeb) -> None:
    pages = {"": "the home page", "#/guide": "the guide"}
    script = f"""const said = {json.dumps(pages)}[location.hash] || "nothing";
        document.getElementById("app").innerHTML = "<h1>" + said + "</h1>" + {json.dumps(local_sites.PARAGRAPHS[0])}"""
    web.page("/routes.js", script, {"Content-Type": "text/javascript"})
    shell = '<div id="app"></div><noscript>Enable JavaScript</noscript><script src="/routes.js"></script>'
    url = web.page("/docs", shell)

    made = crawl(tmp_path, web, f"{url}#/guide", UrlCrawl())

    assert "the guide" in (made["url-crawl-content"].content or "")
    assert content_of(made["url-metadata"])["url"] == f"{url}#/guide"


@needs_chromium
def test_a_server_that_turns_the_browser_away_for_now_is_tried_again(tmp_path: Path, web: LocalWeb) -> None:
    shell = Page(b'<div id="root"></div><noscript>Enable JavaScript</noscript><script src="/app.js"></script>')
    busy = Page(b"<p>Later", 503, (("Content-Type", "text/html"), ("Retry-After", "60")))
    url = web.handler("/shell", lambda request, _wire: busy if "Chrome/" in request.headers["user-agent"] else shell)

    with pytest.raises(RateLimited):
        crawl(tmp_path, web, url, UrlCrawl())


def test_a_check_for_robots_that_asks_for_a_pause_is_a_check_for_robots(tmp_path: Path, web: LocalWeb) -> None:
    checkpoint = "<title>Vercel Security Checkpoint</title><p>We're verifying your browser</p>"
    wall = web.page("/checkpoint", checkpoint, {"X-Vercel-Mitigated": "challenge"}, 429)

    with pytest.raises(UnreadableFile, match="check for robots"):
        crawl(tmp_path, web, wall)
    with pytest.raises(RateLimited):
        crawl(tmp_path, web, local_sites.busy(web, 429, 60))


@pytest.mark.parametrize("crawl", [True, False])
def test_what_pages_need_is_loaded_before_the_first_page_and_starts_no_thread(crawl: bool) -> None:
    program = (
        "import os, sys\n"
        "from chyme.webpages.url_crawl import UrlCrawl\n"
        f"UrlCrawl(crawl={crawl}).preload()\n"
        "loaded = {'httpcore2', 'lxml.html', 'nh3', 'tinycss2', 'trafilatura'} & set(sys.modules)\n"
        "print(len(loaded), len(os.listdir('/proc/self/task')))"
    )
    environment = child_environment() | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert ran.stdout.split() == (["5", "1"] if crawl else ["0", "1"])
