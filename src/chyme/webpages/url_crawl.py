"""Fetches the page behind a link: its text, its metadata and a lasting copy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from chyme.core.package_versions import describe_versions
from chyme.digester import Digester, Makes, Promises, Runs, Source, Title
from chyme.documents.conversion.results import ConversionLimits
from chyme.errors import ChildCrashed, EngineUnavailable, LimitReached, TimedOut, UnreadableFile, UnsupportedFile
from chyme.files.extensions import DOCUMENTS, HTML
from chyme.files.link_files import LINK_BYTES, link_in, remove_credentials, restore_link_parts
from chyme.model import Artifact, File, Form, Kind, Lane, Output, Place
from chyme.text.titles import clean_title, heading_title
from chyme.webpages.browser.executable import browser_program
from chyme.webpages.linked_file import Contents, FileReaders, LinkedFile, make_linked_file, name_of, original_name
from chyme.webpages.login_and_bot_walls import Finding, ResponseFacts, Wall, detect_wall, wall_headers
from chyme.webpages.settings import BrowserSettings, CrawlLimits, require_crawling
from chyme.webpages.url_crawl_screenshot import check_answer

if TYPE_CHECKING:
    from chyme.documents.html.reader import PageContent
    from chyme.documents.html.tree import Page
    from chyme.webpages.http_client.fetch_result import FetchResult
    from chyme.webpages.http_client.fetcher import Fetcher

CONTENT, COPY, FACTS = "url-crawl-content", "url-crawl-html", "url-metadata"
PAGES = frozenset({HTML, DOCUMENTS["xhtml"]})
READERS = ("trafilatura", "html-to-markdown", "nh3", "tinycss2")
PAGE = "page.html"
OPENED_IN_BROWSER = frozenset({Wall.NEEDS_SCRIPT, Wall.BOT_WALL})  # some checks let a real browser pass
READING_SECONDS = 300.0  # for parsing a page of any size and sanitising its copy


@dataclass(frozen=True, slots=True)
class _ReadPage:
    """A page that was read, and the verdict on it."""

    fetched: FetchResult
    page: Page
    content: PageContent
    finding: Finding


class UrlCrawl(Digester):
    """One fetch for three outputs: text, copy and metadata of the page.

    A page that is empty until its scripts have run is opened in Chromium. A file behind a link is read by its kind.
    """

    name = "url-crawl"
    label = "Web page"
    description = "The page behind a link as text and as a copy that stays, with its title, author and date."
    makes: ClassVar = {
        CONTENT: Makes(Form.TEXT, essential_for=frozenset({Kind.URL})),
        COPY: Makes(Form.PAGE_COPY),
        FACTS: Makes(Form.PAGE_FACTS, title=Title.OWN),
    }
    version = 4  # a date of creation comes after every other; lines that say when a page was published are dated
    runs = Runs(family="web", lane=Lane.AWAY, goes_out=True)
    promises = Promises(captures=True)

    def __init__(
        self,
        limits: CrawlLimits | None = None,
        browser: BrowserSettings | None = None,
        readers: FileReaders | None = None,
        conversion: ConversionLimits | None = None,
        crawl: bool = True,
    ) -> None:
        self.limits = limits or CrawlLimits()
        self.browser = browser or BrowserSettings()
        self.readers = readers or FileReaders()
        self.conversion = conversion or ConversionLimits()
        self.crawl = crawl

    @property
    def fingerprint(self) -> str:
        browser = "with" if browser_program(self.browser.program) else "without"
        sizes = f"{self.limits.page_bytes} {self.limits.snapshot_bytes} {self.limits.picture_bytes} {self.limits.parts}"
        crawl = "crawls" if self.crawl else "does not crawl"
        readers = f"{self.readers.text.fingerprint} {self.readers.preview.fingerprint} {self.readers.words.fingerprint}"
        return f"{describe_versions(*READERS)} {sizes} {browser} browser, {crawl}, {readers}"

    def preload(self) -> None:
        if not self.crawl:
            return
        from chyme.documents.html import metadata, reader  # noqa: F401
        from chyme.webpages import wall_signals  # noqa: F401
        from chyme.webpages.http_client import fetcher, text_decoding  # noqa: F401
        from chyme.webpages.http_client.transport import load_certificates
        from chyme.webpages.snapshot import builder

        load_certificates()
        reader.load_libraries()
        builder.load_libraries()

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.URL

    def time_limit(self, source: Source) -> float:
        """The time for fetching, which has its own limits, and for reading the result: a scanned PDF at worst."""
        fetching = self.limits.seconds + self.limits.parts_seconds + self.browser.seconds
        return fetching + max(READING_SECONDS, self.readers.text.seconds)

    def digest(self, source: Source) -> list[Output]:
        from chyme.webpages.http_client.fetcher import Fetcher
        from chyme.webpages.http_client.responses import RetryLater, ServerError

        name = source.file.name
        require_crawling(self.crawl, name)
        url = link_of(source)
        with Fetcher(source, self.limits, name) as fetcher:
            try:
                fetched = fetcher.fetch_page(url)
            except (RetryLater, ServerError) as trouble:  # a wall against robots may answer like this
                self._raise_for_wall(name, url, trouble.fetched)
                raise
            source.progress(0.2)
            found = make_linked_file(source, name_of(fetched.url, fetched.headers), fetched.body)
            page = is_page(fetched, found)
            if page or fetched.status >= 400:  # a body that is not a page does not explain the status
                return self._digest_page(source, fetcher, url, fetched if page else replace(fetched, body=b""))
        return self._digest_file(url, fetched, found)

    def _raise_for_wall(self, name: str, link: str, fetched: FetchResult) -> None:
        from chyme.webpages.http_client.text_decoding import decode_page

        read = self._read_page(link, fetched, decode_page(fetched))
        if read.finding.wall is Wall.BOT_WALL:
            raise UnreadableFile(f"{name}: {read.finding.sentence}")

    def _digest_page(self, source: Source, fetcher: Fetcher, link: str, fetched: FetchResult) -> list[Output]:
        from chyme.documents.html.metadata import metadata_of
        from chyme.webpages.http_client.text_decoding import decode_page
        from chyme.webpages.snapshot.builder import build_snapshot

        name = source.file.name
        read = self._read_page(link, fetched, decode_page(fetched))
        rendered = False
        if read.finding.wall in OPENED_IN_BROWSER:
            read, rendered = self._render(source, link, fetched, read)
        if not read.finding.readable:
            answer = f"answer {fetched.status}: " if fetched.status >= 400 else ""
            raise UnreadableFile(f"{name}: {answer}{read.finding.sentence}")
        source.progress(0.5)
        metadata = asdict(metadata_of(read.page, read.fetched.url, fetched.headers, read.content.markdown))
        read.page.forget_tree()
        copy = build_snapshot(read.page.source, read.fetched.url, fetcher, self.limits)
        source.progress(0.9)
        metadata |= {"mime": HTML, **_requested_url(link, read.fetched.url)}
        if read.finding.wall is Wall.PAYWALL:
            metadata["access"] = "paywall"
        counts: dict[str, Any] = {"parts": copy.parts, "left_out": copy.left_out, "rendered": rendered}
        if copy.notes:
            counts["notes"] = list(copy.notes)
        notes = (*read.content.notes, *([read.finding.sentence] if read.finding.sentence else []))
        content = with_notes(read.content.markdown, notes)
        return _make_outputs(content, read.content.places, Artifact(PAGE, copy.html), counts, metadata)

    def _read_page(self, link: str, fetched: FetchResult, source: str) -> _ReadPage:
        from chyme.documents.html.reader import read_page
        from chyme.documents.html.tree import Page
        from chyme.webpages.wall_signals import read_page_signals

        page = Page(source)
        read = read_page(page, fetched.url, self.conversion)
        signals = asdict(read_page_signals(page, read.markdown))
        headers = wall_headers(fetched.headers)
        facts = ResponseFacts(
            status=fetched.status, asked=link, url=fetched.url, words=read.words, headers=headers, **signals
        )
        return _ReadPage(fetched, page, read, detect_wall(facts))

    def _render(self, source: Source, link: str, fetched: FetchResult, plain: _ReadPage) -> tuple[_ReadPage, bool]:
        """Return the page after its scripts have run; unchanged if it is a wall that no browser can look behind."""
        from chyme.webpages.browser.browser import browser

        name = source.file.name
        if browser_program(self.browser.program) is None:
            if plain.finding.wall is not Wall.NEEDS_SCRIPT:
                return plain, False
            raise EngineUnavailable(
                f"{name}: the page is empty until its scripts have run, and there is no Chromium to run them; "
                "install it (Debian: apt-get install chromium), and the page is read"
            )
        try:
            visited = browser(self.browser).visit(restore_link_parts(link, fetched.url), source, name, shot=False)
        except (EngineUnavailable, TimedOut, ChildCrashed, LimitReached):
            if plain.finding.wall is Wall.NEEDS_SCRIPT:
                raise
            return plain, False
        rendered = replace(
            fetched, url=remove_credentials(visited.url), status=visited.status or fetched.status, headers={}
        )
        read = self._read_page(link, rendered, visited.html)
        if read.finding.wall is not Wall.BOT_WALL and (visited.status == 429 or visited.status >= 500):
            check_answer(source, visited)
        if read.finding.wall is Wall.NEEDS_SCRIPT:  # the scripts have run: there is no more text
            read = replace(read, finding=Finding(Wall.CONTENT))
        return read, True

    def _digest_file(self, link: str, fetched: FetchResult, found: LinkedFile) -> list[Output]:
        """Read and store a file behind the link that is not a page."""
        from chyme.documents.html.metadata import PageMetadata
        from chyme.documents.html.reader import reading_time

        try:
            contents = self.readers.read(found)
        except (UnreadableFile, UnsupportedFile, LimitReached) as error:  # stored anyway: other programs may read it
            contents = Contents(None, note=str(error))
        words, minutes = reading_time(contents.content or "")
        known = PageMetadata(
            url=fetched.url,
            title=heading_title(contents.content) or found.file.name,
            domain=urlsplit(fetched.url).hostname or "",
            word_count=words,
            reading_minutes=minutes,
        )
        metadata = asdict(known) | {"mime": found.file.mime, **_requested_url(link, fetched.url)}
        counts: dict[str, Any] = {"parts": 0, "left_out": 0, "rendered": False}
        if contents.note:
            counts["notes"] = [contents.note]
        original = Artifact(original_name(found.file.name), found.data)
        return _make_outputs(contents.content, contents.places, original, counts, metadata)


def _make_outputs(
    content: str | None, places: tuple[Place, ...], copy: Artifact, counts: dict[str, Any], metadata: dict[str, Any]
) -> list[Output]:
    copy_info = {"artifact": copy.filename, "bytes": len(copy.data), **counts}
    return [
        Output(CONTENT, content, places=places),
        Output(COPY, as_json(copy_info), (copy,)),
        Output(FACTS, as_json(metadata), title=clean_title(metadata["title"])),
    ]


def _requested_url(link: str, final: str) -> dict[str, str]:
    """Return the address in the link file as `requested_url` if the page came from another one."""
    requested = remove_credentials(link)
    return {} if requested == final else {"requested_url": requested}


def link_of(source: Source) -> str:
    """Return the address in a link file."""
    with source.open() as stream:
        url = link_in(source.file.name, stream.read(LINK_BYTES + 1))
    if url is None:
        raise UnreadableFile(f"{source.file.name}: holds no address any more; write one http(s) address into it")
    return url


def is_page(fetched: FetchResult, found: LinkedFile) -> bool:
    """Whether it is a web page, by its content; by its Content-Type if the content could be anything."""
    return found.file.mime in PAGES or (fetched.mime in PAGES and found.file.kind in (Kind.TEXT, Kind.OTHER, Kind.URL))


def with_notes(markdown: str, notes: Iterable[str]) -> str | None:
    """Return the text with the notes below it; None if there is no text."""
    if not markdown.strip():
        return None
    return "\n\n".join([markdown.strip(), *(f"> note: {note}" for note in notes)])


def as_json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
