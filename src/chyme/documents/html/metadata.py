"""What a page tells about itself: title, author, dates, picture, language. Only what is told, nothing guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chyme.documents.html.metadata_values import clean_line, date_of, language_of, web_address
from chyme.documents.html.reader import reading_time
from chyme.documents.html.structured_data import kind_of, main_subjects, texts, things_in, types_of
from chyme.documents.html.tree import base_of, title_of, tree_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

HEAD = 200_000  # characters looked at of a page that is too wild for a tree
MOST_META = 1_000
MOST_KEYWORDS = 30
MOST_AUTHORS = 10
TITLE, DESCRIPTION, NAME, KEYWORD = 500, 2_000, 300, 100  # characters
_ADDRESS = re.compile(r"https?://\S+$", re.IGNORECASE)
_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "date", "pubdate", "publish_date",
    "citation_publication_date", "citation_date", "citation_online_date", "parsely-pub-date", "dc.date.issued",
    "dcterms.issued", "dcterms.created", "dc.date", "dcterms.date", "sailthru.date",
)  # fmt: skip
_BY = re.compile(r"^(?:by|von|par|por|di|door|от)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """The page as it presents itself; None and empty where it says nothing."""

    url: str
    canonical_url: str | None
    title: str | None
    description: str | None
    author: str | None
    published_date: str | None  # ISO 8601, as precise as told
    modified_date: str | None
    image: str | None
    site_name: str | None
    domain: str
    language: str | None  # as in `en`
    type: str | None
    keywords: tuple[str, ...]
    word_count: int
    reading_minutes: int
    favicon: str | None

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def metadata_of(page: str, url: str, headers: Mapping[str, str], markdown: str) -> PageMetadata:
    """What the page that came from `url` tells; `headers` by lower-case name, `markdown` as it was read."""
    from lxml.html import document_fromstring as fromstring

    root = tree_of(page)
    if root is None:
        root = tree_of(page[:HEAD])
    if root is None:
        root = fromstring("<html></html>")
    words, minutes = reading_time(markdown)
    told = _Told(root, url)
    site = told.first(NAME, told.meta("og:site_name"), told.site(), told.meta("application-name", "dc.publisher"))
    return PageMetadata(
        url=url,
        canonical_url=told.address(told.links("canonical"), told.meta("og:url"), told.of("url")),
        title=_without_site(told.title(), site),
        description=told.first(
            DESCRIPTION,
            told.of("description"),
            told.meta("og:description", "twitter:description", "description", "dc.description", "dcterms.abstract"),
        ),
        author=told.author(),
        published_date=told.date(
            told.of("datePublished", "uploadDate", "dateCreated"),
            told.meta(*_PUBLISHED),
            told.times(),
        ),
        modified_date=told.date(
            told.of("dateModified"),
            told.meta("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified"),
        ),
        image=told.address(
            told.meta("og:image:secure_url", "og:image", "og:image:url"),
            told.of("image", "thumbnailUrl", within=("url", "contentUrl")),
            told.meta("twitter:image", "twitter:image:src"),
            told.links("image_src"),
        ),
        site_name=site,
        domain=_domain(url),
        language=told.language(headers),
        type=told.kind(),
        keywords=told.keywords(),
        word_count=words,
        reading_minutes=minutes,
        favicon=told.address(told.links("icon"), told.links("apple-touch-icon")),
    )


class _Told:
    """Every place where a page says something of itself, looked through once."""

    def __init__(self, root: HtmlElement, url: str) -> None:
        self.root = root
        self.base = base_of(root, url)
        self.metas: dict[str, list[str]] = {}
        for element in islice(root.iter("meta"), MOST_META):
            name = (
                element.get("property") or element.get("name") or element.get("http-equiv") or element.get("itemprop")
            )
            content = (element.get("content") or "").strip()
            if name and content:
                self.metas.setdefault(name.strip().lower(), []).append(content[:10_000])
        self.things = things_in(root)
        self.known = {
            name: thing for thing in self.things if isinstance(name := thing.get("@id"), str) and len(thing) > 1
        }
        self.main = main_subjects(self.things, {url, *self.links("canonical"), *self.meta("og:url")})

    def meta(self, *names: str) -> Iterator[str]:
        return chain.from_iterable(self.metas.get(name, ()) for name in names)

    def of(self, *properties: str, within: tuple[str, ...] = ("@value", "name")) -> Iterator[str]:
        """What the page's own JSON-LD or microdata says under these properties."""
        return chain.from_iterable(
            texts(self.meant(thing.get(name)), *within) for name in properties for thing in self.main
        )

    def meant(self, value: object) -> object:
        """A value with the things it only points at put in their place."""
        if isinstance(value, list):
            return [self.meant(one) for one in value[:MOST_AUTHORS] if not isinstance(one, list)]
        if isinstance(value, dict) and set(value) <= {"@id", "@type"}:
            return self.known.get(str(value.get("@id")), value)
        return value

    def people(self) -> Iterator[str]:
        for thing in self.main:
            for value in (self.meant(thing.get("author")), self.meant(thing.get("creator"))):
                for one in value if isinstance(value, list) else (value,):
                    if isinstance(one, dict) and not one.get("name"):
                        yield " ".join(str(one.get(part) or "") for part in ("givenName", "familyName")).strip()
                    else:
                        yield from texts(one, "name")

    def links(self, rel: str) -> Iterator[str]:
        for link in islice(self.root.iter("link"), MOST_META):
            if rel in (link.get("rel") or "").lower().split() and link.get("href"):
                yield link.get("href")

    def first(self, most: int, *sources: Iterable[str]) -> str | None:
        """The first that says something; an address is no name for anything."""
        return next(
            (text for one in chain(*sources) if (text := clean_line(one, most)) and not _ADDRESS.match(text)), None
        )

    def address(self, *sources: Iterable[str]) -> str | None:
        return next((found for one in chain(*sources) if (found := web_address(one, self.base))), None)

    def date(self, *sources: Iterable[str]) -> str | None:
        return next((found for one in chain(*sources) if (found := date_of(one))), None)

    def title(self) -> str | None:
        heads = [clean_line(one.text_content()[:5000], TITLE) for one in islice(self.root.iter("h1"), 20)]
        named = clean_line(title_of(self.root), TITLE) or ""
        alone = [head for head in heads if head and len(head) > 3 and head in named]
        return self.first(
            TITLE,
            self.of("headline"),
            self.meta("og:title", "twitter:title", "citation_title", "dc.title", "dcterms.title"),
            alone[:1],
            (named,),
            self.of("name"),
            (one for one in heads if one),
        )

    def author(self) -> str | None:
        names: dict[str, str] = {}
        for source in (
            self.people(),
            self.meta("author", "article:author", "citation_author", "dc.creator", "dcterms.creator"),
            self.meta("parsely-author", "sailthru.author", "byl"),
            (one.text_content()[:500] for one in self.root.xpath("//a[@rel='author'] | //*[@itemprop='author']")[:5]),
        ):
            for one in source:
                name = _BY.sub("", clean_line(one, NAME) or "")
                if name and "://" not in name and not name.startswith(("@", "/", "www.")):
                    names.setdefault(name.casefold(), name)
            if names:
                return ", ".join(list(names.values())[:MOST_AUTHORS])[: NAME * 3]
        return None

    def times(self) -> Iterator[str]:
        """The moments written in the text: those marked as publication, else the only one there is."""
        marked = (
            "@pubdate or @itemprop='datePublished' or contains(@class, 'published') or contains(@class, 'entry-date')"
        )
        yield from (one.get("datetime") for one in self.root.xpath(f"//time[@datetime and ({marked})]")[:5])
        every = {one.get("datetime") for one in self.root.xpath("//time[@datetime]")[:200]}
        if len({(date_of(one) or "")[:10] for one in every}) == 1:
            yield from every

    def site(self) -> Iterator[str]:
        sites = (thing for thing in self.things if "WebSite" in types_of(thing))
        return chain(
            chain.from_iterable(texts(thing.get("name")) for thing in sites),
            self.of("isPartOf", within=("name",)),
            self.of("publisher", within=("name",)),
        )

    def language(self, headers: Mapping[str, str]) -> str | None:
        sources = chain(
            (self.root.get(name) or "" for name in ("lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang")),
            self.meta("og:locale"),
            self.of("inLanguage", within=("alternateName", "name")),
            self.meta("content-language", "language", "dc.language", "dcterms.language"),
            (headers.get("content-language", ""),),
        )
        return next((found for one in sources if (found := language_of(one))), None)

    def kind(self) -> str | None:
        kinds = [kind for thing in self.main if (kind := kind_of(thing))]
        told = [one.partition(".")[0].lower() for one in self.meta("og:type")]
        named = [clean_line(one, 30) or "" for one in told if re.fullmatch(r"[a-z][a-z_-]{1,29}", one)]
        telling = [kind for kind in (*kinds, *named) if kind != "website"]
        return next(iter((*telling, *kinds, *named)), None)

    def keywords(self) -> tuple[str, ...]:
        found: dict[str, str] = {}
        listed = chain(
            self.of("keywords", within=("name",)), self.meta("keywords", "news_keywords", "citation_keywords")
        )
        parts = chain(self.meta("article:tag"), (part for one in listed for part in re.split(r"[,;、，]", one[:5000])))
        for part in parts:
            word = clean_line(part, KEYWORD)
            if word and not word.startswith("@"):
                found.setdefault(word.casefold(), word)
            if len(found) >= MOST_KEYWORDS:
                break
        return tuple(found.values())


def _without_site(title: str | None, site: str | None) -> str | None:
    """A title without the site's name behind it."""
    if title and site:
        short = re.sub(rf"\s+[-–—|·•:»]\s+{re.escape(site)}$", "", title, flags=re.IGNORECASE)
        return short or title
    return title


def _domain(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
