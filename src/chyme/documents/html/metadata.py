"""Read a page's own metadata: title, author, dates, picture, language. Only what it declares, nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chyme.documents.html.metadata_values import clean_line, date_of, language_of
from chyme.documents.html.reader import reading_time
from chyme.documents.html.shown_dates import MAX_LINE, date_line, marked_dates
from chyme.documents.html.structured_data import kind_of, main_subjects, texts, things_in, types_of
from chyme.documents.html.tree import Page, absolute_url, base_of, title_of, tree_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

HEAD_CHARS = 200_000  # examined of a page that is too complex for a tree
MAX_META = 1_000
MAX_KEYWORDS = 30
MAX_AUTHORS = 10
TITLE_CHARS, DESCRIPTION_CHARS, NAME_CHARS, KEYWORD_CHARS = 500, 2_000, 300, 100  # limits
_ADDRESS = re.compile(r"https?://\S+$", re.IGNORECASE)
_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "date", "pubdate", "publish_date",
    "citation_publication_date", "citation_date", "citation_online_date", "parsely-pub-date", "dc.date.issued",
    "dcterms.issued", "dcterms.created", "dc.date", "dcterms.date", "sailthru.date",
)  # fmt: skip
_BY = re.compile(r"^(?:by|von|par|por|di|door|от)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """The page as it presents itself; None or empty where it says nothing."""

    url: str
    canonical_url: str | None = None
    title: str | None = None
    description: str | None = None
    author: str | None = None
    published_date: str | None = None  # ISO 8601, as precise as given
    modified_date: str | None = None
    image: str | None = None
    site_name: str | None = None
    domain: str = ""
    language: str | None = None  # as in `en`
    type: str | None = None
    keywords: tuple[str, ...] = ()
    word_count: int = 0
    reading_minutes: int = 0
    favicon: str | None = None
    dateline: str | None = None  # the line with a date beside the headline, if no date is declared


def metadata_of(page: Page, url: str, headers: Mapping[str, str], markdown: str) -> PageMetadata:
    """The metadata of the page from `url`; `headers` by lower-case name, `markdown` as it was read."""
    from lxml.html import document_fromstring as fromstring

    root = page.tree
    if root is None:
        root = tree_of(page.source[:HEAD_CHARS])
    if root is None:
        root = fromstring("<html></html>")
    words, minutes = reading_time(markdown)
    declared = _Declared(root, url)
    site = declared.first(
        NAME_CHARS, declared.meta("og:site_name"), declared.site(), declared.meta("application-name", "dc.publisher")
    )
    published = declared.date(
        declared.structured("datePublished", "uploadDate"),
        declared.meta(*_PUBLISHED),
        declared.times(),
        marked_dates(root),
        declared.structured("dateCreated"),  # often of the copy that was sent
    )
    return PageMetadata(
        url=url,
        canonical_url=declared.address(
            declared.links("canonical"), declared.meta("og:url"), declared.structured("url")
        ),
        title=_without_site(declared.title(), site),
        description=declared.first(
            DESCRIPTION_CHARS,
            declared.structured("description"),
            declared.meta("og:description", "twitter:description", "description", "dc.description", "dcterms.abstract"),
        ),
        author=declared.author(),
        published_date=published,
        modified_date=declared.date(
            declared.structured("dateModified"),
            declared.meta(
                "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified"
            ),
        ),
        dateline=None if published else clean_line(date_line(root), MAX_LINE),
        image=declared.address(
            declared.meta("og:image:secure_url", "og:image", "og:image:url"),
            declared.structured("image", "thumbnailUrl", within=("url", "contentUrl")),
            declared.meta("twitter:image", "twitter:image:src"),
            declared.links("image_src"),
        ),
        site_name=site,
        domain=_domain(url),
        language=declared.language(headers),
        type=declared.kind(),
        keywords=declared.keywords(),
        word_count=words,
        reading_minutes=minutes,
        favicon=declared.address(declared.links("icon"), declared.links("apple-touch-icon")),
    )


class _Declared:
    """All places where a page declares metadata, parsed once."""

    def __init__(self, root: HtmlElement, url: str) -> None:
        self.root = root
        self.base = base_of(root, url)
        self.metas: dict[str, list[str]] = {}
        for element in islice(root.iter("meta"), MAX_META):
            name = (
                element.get("property") or element.get("name") or element.get("http-equiv") or element.get("itemprop")
            )
            content = (element.get("content") or "").strip()
            if name and content:
                self.metas.setdefault(name.strip().lower(), []).append(content[:10_000])
        self.things = things_in(root)
        self.by_id = {
            name: thing for thing in self.things if isinstance(name := thing.get("@id"), str) and len(thing) > 1
        }
        self.main = main_subjects(self.things, {url, *self.links("canonical"), *self.meta("og:url")})

    def meta(self, *names: str) -> Iterator[str]:
        return chain.from_iterable(self.metas.get(name, ()) for name in names)

    def structured(self, *properties: str, within: tuple[str, ...] = ("@value", "name")) -> Iterator[str]:
        """What the page's own JSON-LD or microdata says under these properties."""
        return chain.from_iterable(
            texts(self.resolve(thing.get(name)), *within) for name in properties for thing in self.main
        )

    def resolve(self, value: object) -> object:
        """A value with references replaced by the things they refer to."""
        if isinstance(value, list):
            return [self.resolve(item) for item in value[:MAX_AUTHORS] if not isinstance(item, list)]
        if isinstance(value, dict) and set(value) <= {"@id", "@type"}:
            return self.by_id.get(str(value.get("@id")), value)
        return value

    def people(self) -> Iterator[str]:
        for thing in self.main:
            for value in (self.resolve(thing.get("author")), self.resolve(thing.get("creator"))):
                for person in value if isinstance(value, list) else (value,):
                    if isinstance(person, dict) and not person.get("name"):
                        yield " ".join(str(person.get(part) or "") for part in ("givenName", "familyName")).strip()
                    else:
                        yield from texts(person, "name")

    def links(self, rel: str) -> Iterator[str]:
        for link in islice(self.root.iter("link"), MAX_META):
            if rel in (link.get("rel") or "").lower().split() and link.get("href"):
                yield link.get("href")

    def first(self, max_chars: int, *sources: Iterable[str]) -> str | None:
        """The first non-empty value that is not an address."""
        return next(
            (text for value in chain(*sources) if (text := clean_line(value, max_chars)) and not _ADDRESS.match(text)),
            None,
        )

    def address(self, *sources: Iterable[str]) -> str | None:
        return next((found for value in chain(*sources) if (found := absolute_url(value.strip(), self.base))), None)

    def date(self, *sources: Iterable[str]) -> str | None:
        return next((found for value in chain(*sources) if (found := date_of(value))), None)

    def title(self) -> str | None:
        headings = [
            clean_line(heading.text_content()[:5000], TITLE_CHARS) for heading in islice(self.root.iter("h1"), 20)
        ]
        title_element = clean_line(title_of(self.root), TITLE_CHARS) or ""
        in_title = [head for head in headings if head and len(head) > 3 and head in title_element]
        return self.first(
            TITLE_CHARS,
            self.structured("headline"),
            self.meta("og:title", "twitter:title", "citation_title", "dc.title", "dcterms.title"),
            in_title[:1],
            (title_element,),
            self.structured("name"),
            (heading for heading in headings if heading),
        )

    def author(self) -> str | None:
        names: dict[str, str] = {}
        for source in (
            self.people(),
            self.meta("author", "article:author", "citation_author", "dc.creator", "dcterms.creator"),
            self.meta("parsely-author", "sailthru.author", "byl"),
            (
                value.text_content()[:500]
                for value in self.root.xpath("//a[@rel='author'] | //*[@itemprop='author']")[:5]
            ),
        ):
            for value in source:
                name = _BY.sub("", clean_line(value, NAME_CHARS) or "")
                if name and "://" not in name and not name.startswith(("@", "/", "www.")):
                    names.setdefault(name.casefold(), name)
            if names:
                return ", ".join(list(names.values())[:MAX_AUTHORS])[: NAME_CHARS * 3]
        return None

    def times(self) -> Iterator[str]:
        """Timestamps in the text: those marked as publication, else the only one there is."""
        marked = (
            "@pubdate or @itemprop='datePublished' or contains(@class, 'published') or contains(@class, 'entry-date')"
        )
        yield from (element.get("datetime") for element in self.root.xpath(f"//time[@datetime and ({marked})]")[:5])
        all_times = {element.get("datetime") for element in self.root.xpath("//time[@datetime]")[:200]}
        if len({(date_of(element) or "")[:10] for element in all_times}) == 1:
            yield from all_times

    def site(self) -> Iterator[str]:
        sites = (thing for thing in self.things if "WebSite" in types_of(thing))
        return chain(
            chain.from_iterable(texts(thing.get("name")) for thing in sites),
            self.structured("isPartOf", within=("name",)),
            self.structured("publisher", within=("name",)),
        )

    def language(self, headers: Mapping[str, str]) -> str | None:
        sources = chain(
            (self.root.get(name) or "" for name in ("lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang")),
            self.meta("og:locale"),
            self.structured("inLanguage", within=("alternateName", "name")),
            self.meta("content-language", "language", "dc.language", "dcterms.language"),
            (headers.get("content-language", ""),),
        )
        return next((found for value in sources if (found := language_of(value))), None)

    def kind(self) -> str | None:
        kinds = [kind for thing in self.main if (kind := kind_of(thing))]
        og_types = [og_type.partition(".")[0].lower() for og_type in self.meta("og:type")]
        valid_types = [
            clean_line(og_type, 30) or "" for og_type in og_types if re.fullmatch(r"[a-z][a-z_-]{1,29}", og_type)
        ]
        specific = [kind for kind in (*kinds, *valid_types) if kind != "website"]
        return next(iter((*specific, *kinds, *valid_types)), None)

    def keywords(self) -> tuple[str, ...]:
        keywords_found: dict[str, str] = {}
        listed = chain(
            self.structured("keywords", within=("name",)), self.meta("keywords", "news_keywords", "citation_keywords")
        )
        parts = chain(
            self.meta("article:tag"), (part for text in listed for part in re.split(r"[,;、，]", text[:5000]))
        )
        for part in parts:
            word = clean_line(part, KEYWORD_CHARS)
            if word and not word.startswith("@"):
                keywords_found.setdefault(word.casefold(), word)
            if len(keywords_found) >= MAX_KEYWORDS:
                break
        return tuple(keywords_found.values())


def _without_site(title: str | None, site: str | None) -> str | None:
    """A title without the site's name at its end."""
    if title and site:
        short = re.sub(rf"\s+[-–—|·•:»]\s+{re.escape(site)}$", "", title, flags=re.IGNORECASE)
        return short or title
    return title


def _domain(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
