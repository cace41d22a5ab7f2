"""Read a page: the article where there is one, the whole page where there is not, as markdown."""

from __future__ import annotations

import math
import re
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from chyme.documents.conversion.results import ConversionLimits, build_unpaged_result, count_words, truncate
from chyme.documents.html.article import LEAST_FOUND, article_markdown, article_text, keep_article, same_words
from chyme.documents.html.complexity_limits import MOST_TAGS
from chyme.documents.html.metadata_values import clean_line
from chyme.documents.html.structured_data import texts, things_in
from chyme.documents.html.tree import cleanse, drop, escape_link_syntax, title_of, tree_of
from chyme.documents.html.words import bare_words, count_words_and_signs
from chyme.model import Place

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

FEW_LINKS = 2  # a page with fewer has no navigation to leave out
LEAST_SHARE = 0.15  # of the page's words; an "article" smaller than that is a mistake
FAR_MORE = 2  # times the words shown: scripts would show the rest, which the page tells machines already
ARTICLE_WORDS = 100  # enough for an article where the page says that it is one
TITLE_LENGTH = 500
TEXT_LENGTH = 1_000_000
WORDS_A_MINUTE, SIGNS_A_MINUTE = 230, 500
_WORD = re.compile(r"\w+")
_ARTICLE = re.compile(r'"@type"\s{0,9}:\s{0,9}(?:\[\s{0,9})?"(?:\w{0,20}Article|BlogPosting|Report)"')
_TARGET = re.compile(r"\]\((?:<[^<>\n]*>|[^()\n]*)\)")


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a page says."""

    markdown: str
    places: tuple[Place, ...]
    article: bool  # False: the whole page, because it is no article
    words: int
    notes: tuple[str, ...] = ()


def read_page(page: str, url: str, limits: ConversionLimits) -> PageContent:
    """The text of a page's source that came from `url` (empty: from nowhere). Nothing it refers to is fetched."""
    root = tree_of(page)
    if root is None:
        title, markdown, article = "", _untreed(page), False
    else:
        title, told = _title(root), declares_article(root)
        body = _told_body(root) if '"articleBody"' in page else ""
        cleanse(root, url)
        markdown, article = _read(root, told)
        words = count_words(strip_link_targets(markdown))
        if count_words(body) > max(FAR_MORE * words, ARTICLE_WORDS):
            markdown, article = body, True
        elif not words:
            markdown = _visible_words(root)
    found = truncate(build_unpaged_result(_with_title(title, markdown)), limits.text_chars)
    return PageContent(found.markdown, found.places, article, reading_time(found.markdown)[0], found.notes)


def strip_link_targets(markdown: str) -> str:
    """A text without the addresses its links lead to: they are no words."""
    return _TARGET.sub("] ", markdown)


def reading_time(markdown: str) -> tuple[int, int]:
    """How many words a text has, addresses apart, and the minutes it takes to read them."""
    spaced, signs = count_words_and_signs(strip_link_targets(markdown))
    return spaced + signs, math.ceil(spaced / WORDS_A_MINUTE + signs / SIGNS_A_MINUTE)


def _read(root: HtmlElement, told: bool) -> tuple[str, bool]:
    """The markdown of a page that holds only what a reader sees, and whether it is the article alone."""
    links = sum(1 for link in root.iter("a") if link.get("href"))
    if links > FEW_LINKS:
        _drop_navigation(root)
    text, entire = article_text(root), _markdown(root)
    words, kept = count_words(strip_link_targets(entire)), count_words(text)
    telling = kept >= LEAST_SHARE * words or (told and kept >= ARTICLE_WORDS)
    chosen = telling if links > FEW_LINKS else kept > words
    return (_article(root, text), True) if chosen and kept else (entire, False)


def _untreed(page: str) -> str:
    """The text of a page that is too wild for a tree: converted where that keeps its words, else the bare words."""
    bare = bare_words(page)
    markdown = _converted(page, links=False) if page.count("<") <= MOST_TAGS else ""
    return escape_link_syntax(markdown if count_words(markdown) >= LEAST_FOUND * count_words(bare) else bare)


def _article(root: HtmlElement, text: str) -> str:
    """The article in the page's own form where its words are found again there, else in trafilatura's."""
    pruned = deepcopy(root)
    keep_article(pruned, text)
    markdown = _markdown(pruned)
    return markdown if same_words(strip_link_targets(markdown), text) else article_markdown(root) or text


def _markdown(root: HtmlElement) -> str:
    from lxml.html import tostring

    body = root.find("body")
    return _converted(tostring(root if body is None else body, encoding="unicode"))


def _visible_words(root: HtmlElement) -> str:
    body = root.find("body")
    return escape_link_syntax(" ".join((root if body is None else body).text_content().split()))


def _converted(page: str, links: bool = True) -> str:
    from html_to_markdown import ConversionOptions, convert
    from html_to_markdown.exceptions import ConversionError

    try:
        options = ConversionOptions(
            extract_metadata=False,
            skip_images=True,
            autolinks=False,
            compact_tables=True,
            strip_tags=[] if links else ["a"],
        )
        return convert(page, options).content or ""
    except ConversionError:
        return ""


def _drop_navigation(root: HtmlElement) -> None:
    for element in list(root.iter()):
        if element.tag == "nav" or element.get("role") in ("navigation", "menu", "menubar", "search"):
            drop(element)


def declares_article(root: HtmlElement) -> bool:
    """Whether the page says of itself that it is one article."""
    told = {
        (meta.get("content") or "").strip().lower() for meta in root.iter("meta") if meta.get("property") == "og:type"
    }
    if "article" in told:
        return True
    scripts = (script.text or "" for script in root.iter("script") if script.get("type") == "application/ld+json")
    return any(_ARTICLE.search(script) for script in scripts)


def _told_body(root: HtmlElement) -> str:
    """The article's text as the page tells it to machines, a paragraph a line."""
    bodies = (text for thing in things_in(root) for text in texts(thing.get("articleBody")))
    lines = (clean_line(line, TEXT_LENGTH) for line in next(bodies, "").splitlines())
    return escape_link_syntax("\n\n".join(line for line in lines if line))


def _title(root: HtmlElement) -> str:
    title = title_of(root)[:TITLE_LENGTH]
    headings = [" ".join(heading.text_content().split()) for heading in islice(root.iter("h1"), 20)]
    # `How to bake - Example Bakery` above a heading `How to bake` is the heading, and the name of the site
    return next((heading for heading in headings if len(heading) > 3 and heading.lower() in title.lower()), title)


def _with_title(title: str, markdown: str) -> str:
    known = {word.lower() for word in _WORD.findall(markdown[:5000])}
    if title and not all(word.lower() in known for word in _WORD.findall(title)):
        return f"# {escape_link_syntax(title)}\n\n{markdown}"
    return markdown
