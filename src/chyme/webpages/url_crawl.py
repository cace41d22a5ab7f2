"""Fetch the page behind a link: what it says, what it tells about itself, and a copy that stays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chyme.core.package_versions import describe_versions
from chyme.core.pipeline.document_state import heading_title
from chyme.digester import Digester, Source
from chyme.documents.conversion.results import ConversionLimits
from chyme.errors import ChildCrashed, EngineUnavailable, LimitReached, TimedOut, UnreadableFile, UnsupportedFile
from chyme.files.extensions import DOCUMENTS, HTML
from chyme.files.link_files import LINK_BYTES, link_in, remove_credentials, restore_link_parts
from chyme.model import Artifact, File, Kind, Lane, Output
from chyme.webpages.browser.executable import browser_program
from chyme.webpages.browser.settings import BrowserSettings
from chyme.webpages.crawl_limits import CrawlLimits
from chyme.webpages.linked_file import Contents, FileReaders, LinkedFile, make_linked_file, name_of, original_name
from chyme.webpages.url_crawl_screenshot import check_answer
from chyme.webpages.walls.detection import Finding, ResponseFacts, Wall, detect_wall

if TYPE_CHECKING:
    from chyme.documents.html.reader import PageContent
    from chyme.webpages.http_client.fetch_result import FetchResult
    from chyme.webpages.http_client.fetcher import Fetcher

CONTENT, COPY, FACTS = "url-crawl-content", "url-crawl-html", "url-metadata"
PAGES = frozenset({HTML, DOCUMENTS["xhtml"]})
READERS = ("trafilatura", "html-to-markdown", "nh3", "tinycss2")
PAGE = "page.html"
OPENED_IN_BROWSER = frozenset({Wall.NEEDS_SCRIPT, Wall.BOT_WALL})  # some checks let a real browser pass
READING_SECONDS = 300.0  # for parsing a page, however large, and for sanitising its copy


@dataclass(frozen=True, slots=True)
class _Read:
    """A page as it was read, and what it turned out to be."""

    fetched: FetchResult
    source: str
    page: PageContent
    finding: Finding


class UrlCrawl(Digester):
    """One fetch for three outputs: the text, the copy, and what the page tells about itself.

    A page that is empty until its scripts have run is opened in Chromium. A file behind a link is read as what it is.
    """

    name = "url-crawl"
    label = "Web page"
    description = "The page behind a link as text and as a copy that stays, with its title, author and date."
    outputs = (CONTENT, COPY, FACTS)
    family = "web"
    lane = Lane.AWAY
    goes_out = True
    captures = True

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

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.URL

    def time_limit(self, source: Source) -> float:
        """Fetching keeps its own time; the rest is for whoever reads what came, a scanned PDF at worst."""
        fetching = self.limits.seconds + self.limits.parts_seconds + self.browser.seconds
        return fetching + max(READING_SECONDS, self.readers.text.seconds)

    def digest(self, source: Source) -> list[Output]:
        from chyme.webpages.http_client.fetcher import Fetcher
        from chyme.webpages.http_client.responses import RetryLater, ServerError

        name = source.file.name
        if not self.crawl:
            raise EngineUnavailable(f"{name}: pages behind links are not fetched; set crawl to true to have them")
        url = link_of(source)
        with Fetcher(source, self.limits, name) as fetcher:
            try:
                fetched = fetcher.fetch_page(url)
            except (RetryLater, ServerError) as trouble:  # it may be a wall against robots that looks like one
                self._refuse_walls(name, url, trouble.fetched)
                raise
            source.progress(0.2)
            found = make_linked_file(source, name_of(fetched.url, fetched.headers), fetched.body)
            page = is_page(fetched, found)
            if page or fetched.status >= 400:  # what is no page does not explain a status
                return self._page(source, fetcher, url, fetched if page else replace(fetched, body=b""))
        return self._file(url, fetched, found)

    def _refuse_walls(self, name: str, asked: str, fetched: FetchResult) -> None:
        from chyme.webpages.http_client.text_decoding import decode_page

        read = self._read(asked, fetched, decode_page(fetched))
        if read.finding.wall is Wall.BOT_WALL:
            raise UnreadableFile(f"{name}: {read.finding.sentence}")

    def _page(self, source: Source, fetcher: Fetcher, asked: str, fetched: FetchResult) -> list[Output]:
        from chyme.documents.html.metadata import metadata_of
        from chyme.webpages.http_client.text_decoding import decode_page
        from chyme.webpages.snapshot.builder import build_snapshot

        name = source.file.name
        read = self._read(asked, fetched, decode_page(fetched))
        rendered = False
        if read.finding.wall in OPENED_IN_BROWSER:
            read, rendered = self._rendered(source, asked, fetched, read)
        if not read.finding.readable:
            answer = f"answer {fetched.status}: " if fetched.status >= 400 else ""
            raise UnreadableFile(f"{name}: {answer}{read.finding.sentence}")
        source.progress(0.5)
        copy = build_snapshot(read.source, read.fetched.url, fetcher, self.limits)
        source.progress(0.9)
        facts = metadata_of(read.source, read.fetched.url, fetched.headers, read.page.markdown)
        told: dict[str, Any] = {**json.loads(facts.as_json()), "mime": HTML, **_requested(asked, read.fetched.url)}
        if read.finding.wall is Wall.PAYWALL:
            told["access"] = "paywall"
        kept: dict[str, Any] = {
            "artifact": PAGE,
            "bytes": len(copy.html),
            "parts": copy.parts,
            "left_out": copy.left_out,
            "rendered": rendered,
        }
        if copy.notes:
            kept["notes"] = list(copy.notes)
        notes = (*read.page.notes, *([read.finding.sentence] if read.finding.sentence else []))
        return [
            Output(CONTENT, with_notes(read.page.markdown, notes), places=read.page.places),
            Output(COPY, as_json(kept), (Artifact(PAGE, copy.html),)),
            Output(FACTS, as_json(told)),
        ]

    def _read(self, asked: str, fetched: FetchResult, page: str) -> _Read:
        from chyme.documents.html.reader import read_page
        from chyme.webpages.walls.page_signals import read_page_signals, wall_headers

        read = read_page(page, fetched.url, self.conversion)
        signs = asdict(read_page_signals(page, read.markdown))
        headers = wall_headers(fetched.headers)
        facts = ResponseFacts(
            status=fetched.status, asked=asked, url=fetched.url, words=read.words, headers=headers, **signs
        )
        return _Read(fetched, page, read, detect_wall(facts))

    def _rendered(self, source: Source, asked: str, fetched: FetchResult, plain: _Read) -> tuple[_Read, bool]:
        """The page after its scripts have run; as it was, where a wall stands and no browser can look behind it."""
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
            visited = browser(self.browser).visit(restore_link_parts(asked, fetched.url), source, name, shot=False)
        except (EngineUnavailable, TimedOut, ChildCrashed, LimitReached):
            if plain.finding.wall is Wall.NEEDS_SCRIPT:
                raise
            return plain, False
        seen = replace(
            fetched, url=remove_credentials(visited.url), status=visited.status or fetched.status, headers={}
        )
        read = self._read(asked, seen, visited.html)
        if read.finding.wall is not Wall.BOT_WALL and (visited.status == 429 or visited.status >= 500):
            check_answer(source, visited)
        if read.finding.wall is Wall.NEEDS_SCRIPT:  # they have run: this is all there is
            read = replace(read, finding=Finding(Wall.CONTENT))
        return read, True

    def _file(self, asked: str, fetched: FetchResult, found: LinkedFile) -> list[Output]:
        """What is behind the link is no page: it is read as what it is, and kept."""
        from chyme.documents.html.reader import reading_time

        try:
            contents = self.readers.read(found)
        except (UnreadableFile, UnsupportedFile, LimitReached) as error:  # kept all the same: others may read it
            contents = Contents(found.file.kind, found.file.mime, None, note=str(error))
        words, minutes = reading_time(contents.content or "")
        told: dict[str, Any] = {
            "url": fetched.url,
            "canonical_url": None,
            "title": heading_title(contents.content) or found.file.name,
            **dict.fromkeys(("description", "author", "published_date", "modified_date", "image", "site_name")),
            "domain": urlsplit(fetched.url).hostname or "",
            **dict.fromkeys(("language", "type")),
            "keywords": [],
            "word_count": words,
            "reading_minutes": minutes,
            "favicon": None,
            "mime": contents.mime,
            **_requested(asked, fetched.url),
        }
        original = original_name(found.file.name)
        kept: dict[str, Any] = {"artifact": original, "bytes": len(found.data), "parts": 0, "left_out": 0}
        kept["rendered"] = False
        if contents.note:
            kept["notes"] = [contents.note]
        return [
            Output(CONTENT, contents.content, places=contents.places),
            Output(COPY, as_json(kept), (Artifact(original, found.data),)),
            Output(FACTS, as_json(told)),
        ]


def _requested(asked: str, found: str) -> dict[str, str]:
    """The address in the link file, where the page came from another one in the end."""
    requested = remove_credentials(asked)
    return {} if requested == found else {"requested_url": requested}


def link_of(source: Source) -> str:
    """The address in a link file."""
    with source.open() as stream:
        url = link_in(source.file.name, stream.read(LINK_BYTES + 1))
    if url is None:
        raise UnreadableFile(f"{source.file.name}: holds no address any more; write one http(s) address into it")
    return url


def is_page(fetched: FetchResult, found: LinkedFile) -> bool:
    """Whether it is a web page, by its content; by its server's word where the content could be anything."""
    return found.file.mime in PAGES or (fetched.mime in PAGES and found.file.kind in (Kind.TEXT, Kind.OTHER, Kind.URL))


def with_notes(markdown: str, notes: Iterable[str]) -> str | None:
    """The text and what is to be said about it; nothing where there is no text."""
    if not markdown.strip():
        return None
    return "\n\n".join([markdown.strip(), *(f"> note: {note}" for note in notes)])


def as_json(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
