"""Screenshots of links: pages by the real Chromium, files behind links without it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import local_sites
import pytest
from disk_source import DiskSource, file_of
from local_web import Asked, Listener, LocalWeb, Page, Wire
from PIL import Image
from upstreams import upstream

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.errors import EngineUnavailable, NetworkFailed, RateLimited, UnreadableFile, UpstreamMissing
from chyme.model import THUMBNAIL, Kind, Output
from chyme.webpages.browser.browser import browser
from chyme.webpages.browser.executable import browser_program
from chyme.webpages.settings import BrowserSettings
from chyme.webpages.url_crawl_screenshot import UrlCrawlScreenshot

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[1] / "samples"
SETTINGS = BrowserSettings(seconds=30)
needs_chromium = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser_program("auto") is None, reason="Chromium is not installed (Debian: apt-get install chromium)"
    ),
]


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    browser(SETTINGS).close()


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as made:
        yield made


class Links:
    """Link files, with the outputs of earlier digesters."""

    def __init__(self, folder: Path, web: LocalWeb) -> None:
        self._folder = folder
        self.guard = Guard(policy_of(web.host), delay=0)

    def source(self, url: str, artifacts: dict[str, bytes] | None = None, found: str | None = None) -> DiskSource:
        path = self._folder / "link.url"
        path.write_text(url, encoding="utf-8")
        metadata = upstream("url-metadata", json.dumps({"url": found or url}))
        html = upstream("url-crawl-html", "{}", (), artifacts if artifacts is not None else {"page.html": b"<p>"})
        inputs = {metadata.name: metadata, html.name: html}
        return DiskSource(path, file_of(path), self._folder, inputs, outside=self.guard)


@pytest.fixture
def links(tmp_path: Path, web: LocalWeb) -> Links:
    return Links(tmp_path, web)


def content_of(output: Output) -> dict[str, object]:
    content = json.loads(output.content or "null")
    assert isinstance(content, dict)
    return content


def size(output: Output, name: str) -> tuple[int, int]:
    (data,) = (artifact.data for artifact in output.artifacts if artifact.filename == name)
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "JPEG"
        image.load()
        return image.size


class TestPages:
    pytestmark = needs_chromium

    def test_a_page_is_pictured_with_a_thumbnail_of_its_top(self, web: LocalWeb, links: Links) -> None:
        url = web.page("/long", "<title>Long</title><body style='margin:0'><div style='height:9000px;background:tan'>")
        (output,) = UrlCrawlScreenshot(SETTINGS).digest(links.source(url))
        content = content_of(output)
        engine = str(content.pop("engine"))
        assert content == {"url": url, "title": "Long", "width": 1280, "height": 4000, "refused": []}
        assert engine.startswith("Chromium ")
        assert size(output, "screenshot.jpg") == (1280, 4000)
        assert size(output, THUMBNAIL) == (512, 512)

    def test_refused_hosts_are_listed(self, web: LocalWeb, links: Links) -> None:
        with Listener() as forbidden:
            (output,) = UrlCrawlScreenshot(SETTINGS).digest(links.source(local_sites.prowler(web, forbidden)))
            assert content_of(output)["refused"] == [forbidden.host]
            assert forbidden.connections == 0

    def test_user_and_password_of_the_link_open_the_page_and_are_not_stored(self, web: LocalWeb, links: Links) -> None:
        def answer(request: Asked, _wire: Wire) -> Page:
            if request.headers.get("authorization") == "Basic bWFydGE6dGlkZXM=":
                return Page(b"<title>Members</title>")
            return Page(status=401, headers=(("WWW-Authenticate", 'Basic realm="x"'),))

        url = web.handler("/members", answer)
        link = url.replace("http://", "http://marta:tides@")
        (output,) = UrlCrawlScreenshot(SETTINGS).digest(links.source(link, found=url))
        assert (content_of(output)["url"], content_of(output)["title"]) == (url, "Members")
        assert "tides@" not in (output.content or "")

    def test_a_server_that_turns_the_browser_away_is_a_failure(self, web: LocalWeb, links: Links) -> None:
        digester = UrlCrawlScreenshot(SETTINGS)
        with pytest.raises(UnreadableFile, match=r"^link\.url: 127\.0\.0\.1 does not show .* answers 403"):
            digester.digest(links.source(local_sites.status(web, 403)))
        with pytest.raises(NetworkFailed, match="answers 500"):
            digester.digest(links.source(local_sites.status(web, 500)))
        with pytest.raises(RateLimited) as caught:
            digester.digest(links.source(local_sites.busy(web, 429, 17)))
        assert caught.value.retry_after == 17
        with pytest.raises(RateLimited):
            links.guard.connect("127.0.0.1", web.port, polite=True)  # the guard knows, too


@pytest.mark.parametrize(
    ("sample", "engine"), [("contract.pdf", "pdf"), ("pages/sign.jpg", "picture JPEG"), ("letter.rtf", None)]
)
def test_a_file_behind_a_link_is_drawn_without_a_browser(
    web: LocalWeb, links: Links, sample: str, engine: str | None
) -> None:
    path = SAMPLES / sample
    digester = UrlCrawlScreenshot(BrowserSettings(program="off"))
    source = links.source(web.url(f"/files/{path.name}"), {path.name: path.read_bytes()})
    (output,) = digester.digest(source)
    content = content_of(output)
    assert (content["url"], content["title"]) == (web.url(f"/files/{path.name}"), path.name)
    assert content["engine"] == engine or engine is None
    assert size(output, "screenshot.jpg") == (content["width"], content["height"])
    assert max(size(output, THUMBNAIL)) <= 512
    assert web.connections == 0


def test_a_file_without_a_visual_form_has_no_picture(web: LocalWeb, links: Links) -> None:
    source = links.source(web.url("/a.bin"), {"a.bin": bytes(range(256)) * 10})
    assert UrlCrawlScreenshot(BrowserSettings(program="off")).digest(source) == [Output("url-crawl-screenshot", None)]


def test_a_text_behind_a_link_is_drawn_as_text(web: LocalWeb, links: Links) -> None:
    source = links.source(web.url("/notes.txt"), {"notes.txt": b"The tide comes in.\n" * 5})
    (output,) = UrlCrawlScreenshot(BrowserSettings(program="off")).digest(source)
    assert content_of(output)["engine"] == "text"


def test_without_chromium_the_error_says_how_to_get_it_and_its_arrival_is_noticed(
    web: LocalWeb, links: Links, tmp_path: Path
) -> None:
    program = tmp_path / "chrome"
    digester = UrlCrawlScreenshot(BrowserSettings(program=str(program)))
    before = digester.fingerprint
    with pytest.raises(EngineUnavailable, match=r"^link\.url: no Chromium found; install it .* the picture is taken"):
        digester.digest(links.source(web.url("/")))
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    assert digester.fingerprint != before


@pytest.mark.parametrize("content", [None, "", "no json", "[]", '{"title": "x"}', '{"url": 5}'])
def test_without_a_crawl_there_is_nothing_to_picture(links: Links, content: str | None) -> None:
    source = links.source("http://127.0.0.1/")
    inputs = {} if content is None else {"url-metadata": upstream("url-metadata", content)}
    missing = DiskSource(source.path, source.file, source.scratch, inputs, outside=links.guard)
    with pytest.raises(UpstreamMissing, match=r"^link\.url: the page could not be fetched"):
        UrlCrawlScreenshot().digest(missing)


def test_only_links_are_pictured(links: Links) -> None:
    digester = UrlCrawlScreenshot()
    assert digester.can_digest(links.source("http://127.0.0.1/").file)
    assert links.source("http://127.0.0.1/").file.kind is Kind.URL
    assert not digester.can_digest(file_of(SAMPLES / "contract.pdf"))
    assert (digester.runs.goes_out, digester.promises.captures, digester.runs.family) == (True, True, "web")


def test_a_vault_that_fetches_nothing_has_no_page_pictured(web: LocalWeb, links: Links) -> None:
    digester = UrlCrawlScreenshot(SETTINGS, crawl=False)

    with pytest.raises(EngineUnavailable, match="set crawl to true"):
        digester.digest(links.source(web.page("/quiet", "<p>nobody asked")))
    assert web.paths == []
    assert digester.recipe != UrlCrawlScreenshot(SETTINGS).recipe
