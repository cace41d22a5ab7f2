"""Takes a screenshot of the page behind a link."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chyme.core.package_versions import describe_versions
from chyme.digester import Digester, Makes, Promises, Runs, Source
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.pages.limits import PageLimits
from chyme.errors import EngineUnavailable, NetworkFailed, RateLimited, UnreadableFile, UpstreamMissing
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.files.link_files import LINK_BYTES, link_in, remove_credentials, restore_link_parts
from chyme.imaging.decoding.decoder_interface import PictureLimits
from chyme.model import THUMBNAIL, Artifact, File, Form, Kind, Lane, Output
from chyme.webpages.browser.executable import INSTALL_HINT, browser_marker, browser_program
from chyme.webpages.settings import BrowserSettings, require_crawling

if TYPE_CHECKING:
    from PIL import Image

    from chyme.webpages.browser.browser import RenderedPage

SCREENSHOT = "screenshot.jpg"
SNAPSHOT = "page.html"  # what url-crawl stores of a page; of a file behind a link it stores the file itself
QUALITY = 80
LONGEST_PAUSE = 3600.0


class UrlCrawlScreenshot(Digester):
    """Takes a screenshot of the page in Chromium; of a document or picture behind a link it renders the first page.

    The content says where the page is, how large the picture is, and which hosts the page asked for in vain.
    """

    name = "url-crawl-screenshot"
    label = "Picture of the page"
    description = "What the page behind the link looks like."
    makes = Makes(Form.SCREENSHOT, picture="screenshot.jpg")
    reads = ("url-metadata", "url-crawl-html")
    runs = Runs(family="web", lane=Lane.AWAY, goes_out=True)
    promises = Promises(captures=True)

    def __init__(
        self,
        browser: BrowserSettings | None = None,
        pages: PageLimits | None = None,
        pictures: PictureLimits | None = None,
        conversion: ConversionLimits | None = None,
        seconds: float = 75.0,
        crawl: bool = True,
    ) -> None:
        self.browser = browser or BrowserSettings()
        self.pages = pages or PageLimits()
        self.pictures = pictures or PictureLimits()
        self.conversion = conversion or ConversionLimits()
        self.seconds = seconds
        self.crawl = crawl

    @property
    def fingerprint(self) -> str:
        browser = self.browser
        crawl = "crawls" if self.crawl else "does not crawl"
        look = f"{crawl} {browser.width}x{browser.height} {browser.longest} {browser.quality} {self.pages.thumbnail}"
        parsers = describe_versions("pypdfium2", "pillow")
        return f"{browser_marker(browser.program)} {look} {parsers} {self.pages.page_pixels}"

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.URL

    def time_limit(self, source: Source) -> float:
        """The time for the page, for Chromium to start and for scaling the picture."""
        return self.browser.seconds + self.seconds

    def digest(self, source: Source) -> list[Output]:
        metadata = _crawl_metadata(source)
        url = _final_address(source, metadata)
        copy = source.output("url-crawl-html")
        files = [] if copy is None else [(name, data) for name, data in copy.artifacts.items() if name != SNAPSHOT]
        return [
            self._screenshot_file(source, url, metadata.get("title"), *files[0])
            if files
            else self._screenshot_page(source, url)
        ]

    def _screenshot_page(self, source: Source, url: str) -> Output:
        name = source.file.name
        require_crawling(self.crawl, name)
        if browser_program(self.browser.program) is None:
            raise EngineUnavailable(f"{name}: no Chromium found; {INSTALL_HINT} and the picture is taken")
        from chyme.webpages.browser.browser import browser

        visited = browser(self.browser).visit(url, source, name, shot=True)
        source.progress(0.9)
        check_answer(source, visited)
        if visited.screenshot is None:
            return Output(self.name, None)
        size, note = (visited.width, visited.height), "; ".join(visited.notes)
        content = _content(visited.url, visited.title, size, visited.engine, visited.refused, note)
        small = _thumbnail(visited.screenshot, self.pages.thumbnail)
        return Output(self.name, content, (Artifact(SCREENSHOT, visited.screenshot), Artifact(THUMBNAIL, small)))

    def _screenshot_file(self, source: Source, url: str, title: object, name: str, data: bytes) -> Output:
        """Render a document or picture behind a link, which needs no browser."""
        from chyme.imaging.thumbnails import make_preview_and_thumbnail

        rendered = self._render(source, name, data)
        if rendered is None:
            return Output(self.name, None)
        image, engine, note = rendered
        large, small = make_preview_and_thumbnail(SCREENSHOT, image, self.pages.page_pixels, self.pages.thumbnail)
        shown_title = title if isinstance(title, str) else name
        return Output(self.name, _content(url, shown_title, _size(large.data), engine, (), note), (large, small))

    def _render(self, source: Source, name: str, data: bytes) -> tuple[Image.Image, str, str | None] | None:
        """Return the first page or the picture, how it was rendered, and a note; None if there is nothing to see."""
        kind, mime = identify(name, data[:HEAD_BYTES], len(data), lambda start, length: data[start : start + length])
        label = f"{source.file.name}: {name}"
        if kind is Kind.IMAGE:
            from chyme.imaging.decoding.reader import open_picture

            picture = open_picture(label, io.BytesIO(data), self.pictures, self.pictures.preview)
            return picture.image, f"picture {picture.format}", picture.note
        if kind is Kind.DOCUMENT:
            from chyme.documents.pages.first_page import render_first_page

            page = render_first_page(label, data, mime, self.pages, self.conversion, source.progress)
            return page.image, page.rendered, page.note
        if kind is Kind.TEXT:
            from chyme.documents.pages.text_page import render_text_page
            from chyme.text.decoding import decode

            image, note = render_text_page(decode(data, len(data)).text, self.pages)
            return image, "text", note
        return None


def _crawl_metadata(source: Source) -> dict[str, object]:
    """Return the metadata that the crawl found."""
    output = source.output("url-metadata")
    try:
        metadata = json.loads(output.content) if output and output.content else None
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _final_address(source: Source, metadata: Mapping[str, object]) -> str:
    """Return the address where the crawl found the page, with the password and fragment of the link."""
    url = metadata.get("url")
    if not isinstance(url, str) or not url:
        raise UpstreamMissing(
            f"{source.file.name}: the page could not be fetched; see what became of url-crawl-content"
        )
    with source.open() as stream:
        link = link_in(source.file.name, stream.read(LINK_BYTES + 1))
    return restore_link_parts(link or "", url)


def check_answer(source: Source, visited: RenderedPage) -> None:
    """Raise if the server turned the browser away and sent something other than the page."""
    if visited.status < 400:
        return
    name = source.file.name
    host = urlsplit(visited.url).hostname or ""
    retry_after = (visited.retry_after or "").strip()
    pause = min(float(retry_after[:9]), LONGEST_PAUSE) if retry_after.isascii() and retry_after.isdecimal() else None
    if visited.status == 429 or (visited.status == 503 and pause):
        if pause:
            source.hold(host, pause)
        raise RateLimited(f"{name}: {host} asks to come later ({visited.status})", retry_after=pause)
    if visited.status >= 500:
        raise NetworkFailed(f"{name}: {host} is in trouble and answers {visited.status}")
    raise UnreadableFile(f"{name}: {host} does not show the page to Chromium and answers {visited.status}")


def _thumbnail(jpeg: bytes, longest: int) -> bytes:
    """Return the top of the page, at most as high as it is wide."""
    from PIL import Image

    with Image.open(io.BytesIO(jpeg)) as image:
        top = image.convert("RGB").crop((0, 0, image.width, min(image.height, image.width)))
    top.thumbnail((longest, longest), Image.Resampling.LANCZOS, reducing_gap=3.0)
    out = io.BytesIO()
    top.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()


def _size(jpeg: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(io.BytesIO(jpeg)) as image:
        return image.size


def _content(url: str, title: str, size: tuple[int, int], engine: str, refused: Sequence[str], note: str | None) -> str:
    content = {
        "url": remove_credentials(url),
        "title": title,
        "width": size[0],
        "height": size[1],
        "engine": engine,
        "refused": list(refused),
    }
    if note:
        content["note"] = note
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
