"""Read a page as markdown: the article if there is one, else the whole page."""

from __future__ import annotations

import codecs
import math
import re
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from chyme.documents.conversion.results import (
    MB,
    ConversionLimits,
    ConversionResult,
    build_unpaged_result,
    count_words,
    truncate,
)
from chyme.documents.html.article import MIN_FOUND, article_markdown, article_text, keep_article, same_words
from chyme.documents.html.metadata_values import clean_line
from chyme.documents.html.raw_source import MAX_TAGS, bare_words, count_words_and_signs
from chyme.documents.html.structured_data import texts, things_in
from chyme.documents.html.teasers import teasers_in, without_lines
from chyme.documents.html.tree import SOFT_HYPHEN, Page, cleanse, drop, escape_link_syntax, title_of
from chyme.errors import LimitReached
from chyme.model import Place
from chyme.text.decoding import clean, decode

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

FEW_LINKS = 2  # a page with no more links has no navigation to leave out
MIN_SHARE = 0.15  # of the page's words; a smaller "article" is a mistake
MIN_PROSE_SHARE = 0.3  # of the words outside links; with less, the page is more than its longest part
MENU_OTHERS, MENU_SHARE = 40, 0.25  # words beside the navigation of a page that is only a menu: so many, such a share
MIN_BODY_RATIO = 2  # times the words shown: scripts would show the rest, which the structured data already contains
ARTICLE_WORDS = 100  # enough for an article if the page says that it is one
TITLE_LENGTH = 500
TEXT_LENGTH = 1_000_000
WORDS_PER_MINUTE, SIGNS_PER_MINUTE = 230, 500
_WORD = re.compile(r"\w+")
_ARTICLE_TYPE = re.compile(r'"@type"\s{0,9}:\s{0,9}(?:\[\s{0,9})?"(?:\w{0,20}Article|BlogPosting|Report)"')
_NO_ADDRESS = re.compile(r"(?<=[^\\])\]\(<>\)")  # of a picture
_PICTURE = re.compile(r"!\[[^\]\n]*\]\(\)")
_TARGET = re.compile(r"\]\((?:<[^<>\n]*>|[^()\n]*)\)")
_FIRST_PAGE = (
    "<html><body><article><h1>Title</h1><p>A text so short that every way of reading it is tried.</p></article>"
)
_BROWSER_ENCODINGS = {  # browsers read the first as the second, which has more letters
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "ks_c_5601-1987": "cp949",
    "big5": "big5hkscs",
}  # fmt: skip
_META = re.compile(rb"<(?:meta|\?xml)[^>]+?(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    markdown: str
    places: tuple[Place, ...]
    article: bool  # False: the whole page, because it is not an article
    words: int
    notes: tuple[str, ...] = ()
    title: str = ""  # as the page declares it, or its heading


def read_page(page: Page, url: str, limits: ConversionLimits) -> PageContent:
    """The text of a page that came from `url` (empty: from nowhere). Nothing it refers to is fetched."""
    root = page.copy_tree()
    if root is None:
        title, headline, markdown, article = "", "", _read_without_tree(page.source), False
    else:
        title, headline = _title_and_headline(root)
        declared = declares_article(root)
        body = _declared_body(root) if '"articleBody"' in page.source else ""
        cleanse(root, url)
        markdown, article = _read_tree(root, declared)
        words = count_words(strip_link_targets(markdown))
        if count_words(body) > max(MIN_BODY_RATIO * words, ARTICLE_WORDS):
            markdown, article = body, True
        elif not words:
            markdown = _visible_words(root)
    markdown = markdown.replace(SOFT_HYPHEN, "")  # of pages without a tree
    shown = headline if markdown else title  # without any text, the title is all there is to find the page by
    result = truncate(build_unpaged_result(_with_headline(shown, markdown)), limits.text_chars)
    return PageContent(result.markdown, result.places, article, reading_time(result.markdown)[0], result.notes, title)


def load_libraries() -> None:
    """Load what reading a page needs: code, patterns, stop words. Most of it comes with the first page only."""
    read_page(Page(_FIRST_PAGE), "", ConversionLimits())


def strip_link_targets(markdown: str) -> str:
    """A text without the addresses of its links, which are not words."""
    return _TARGET.sub("] ", markdown)


def _without_pictures(markdown: str) -> str:
    return strip_link_targets(_PICTURE.sub("", markdown))


def reading_time(markdown: str) -> tuple[int, int]:
    """How many words a text has, without addresses, and the minutes it takes to read them."""
    spaced, signs = count_words_and_signs(strip_link_targets(markdown))
    return spaced + signs, math.ceil(spaced / WORDS_PER_MINUTE + signs / SIGNS_PER_MINUTE)


def _read_tree(root: HtmlElement, declared: bool) -> tuple[str, bool]:
    """The markdown of a page that contains only what a reader sees, and whether it is the article alone."""
    links = sum(1 for link in root.iter("a") if link.get("href"))
    if links > FEW_LINKS:
        if _is_menu(root):
            return _tree_to_markdown(root), False
        _drop_navigation(root)
    text, whole_page = article_text(root), _tree_to_markdown(root)
    words, article_words = count_words(_without_pictures(whole_page)), count_words(text)
    unlinked = words - count_words(" ".join(link.text_content() for link in root.iter("a") if link.get("href")))
    plausible = article_words >= max(MIN_SHARE * words, MIN_PROSE_SHARE * unlinked) or (
        declared and article_words >= ARTICLE_WORDS
    )
    chosen = plausible if links > FEW_LINKS else article_words > words
    if not chosen or not article_words:
        return whole_page, False
    teasers = teasers_in(root, text) if links > FEW_LINKS else []
    if teasers:
        text = without_lines(text, teasers)
        for teaser in teasers:
            drop(teaser)
    return _article_in_page_form(root, text), True


def _read_without_tree(page: str) -> str:
    """The text of a page too complex for a tree: converted if that keeps its words, else the bare words."""
    bare = bare_words(page)
    markdown = _convert(page, links=False) if page.count("<") <= MAX_TAGS else ""
    return escape_link_syntax(markdown if count_words(markdown) >= MIN_FOUND * count_words(bare) else bare)


def _article_in_page_form(root: HtmlElement, text: str) -> str:
    """The article in the page's own form if its words are found there, else in trafilatura's."""
    pruned = deepcopy(root)
    keep_article(pruned, text)
    markdown = _tree_to_markdown(pruned)
    return markdown if same_words(_without_pictures(markdown), text) else article_markdown(root) or text


def _tree_to_markdown(root: HtmlElement) -> str:
    from lxml.html import tostring

    body = root.find("body")
    return _convert(tostring(root if body is None else body, encoding="unicode"))


def _visible_words(root: HtmlElement) -> str:
    body = root.find("body")
    return escape_link_syntax(" ".join((root if body is None else body).text_content().split()))


def _convert(page: str, links: bool = True) -> str:
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
    from html_to_markdown.exceptions import ConversionError

    try:
        options = ConversionOptions(
            extract_metadata=False,
            skip_images=False,
            autolinks=False,
            compact_tables=True,
            strip_tags=[] if links else ["a"],
            preprocessing=PreprocessingOptions(enabled=False),  # it drops headers and forms; menus are dropped here
        )
        return _NO_ADDRESS.sub("]()", convert(page, options).content or "")
    except ConversionError:
        return ""


def _drop_navigation(root: HtmlElement) -> None:
    for element in list(root.iter()):
        if _is_navigation(element):
            drop(element)


def _is_navigation(element: HtmlElement) -> bool:
    return element.tag == "nav" or element.get("role") in ("navigation", "menu", "menubar", "search")


def _is_menu(root: HtmlElement) -> bool:
    """Whether the page is hardly more than its navigation."""
    menus = [
        element
        for element in root.iter()
        if _is_navigation(element) and not any(_is_navigation(above) for above in element.iterancestors())
    ]
    words = sum(count_words(menu.text_content()) for menu in menus)
    if not words:
        return False
    body = root.find("body")
    others = count_words((root if body is None else body).text_content()) - words
    return others < min(MENU_OTHERS, MENU_SHARE * words)


def declares_article(root: HtmlElement) -> bool:
    """Whether the page declares itself an article."""
    og_types = {
        (meta.get("content") or "").strip().lower() for meta in root.iter("meta") if meta.get("property") == "og:type"
    }
    if "article" in og_types:
        return True
    scripts = (script.text or "" for script in root.iter("script") if script.get("type") == "application/ld+json")
    return any(_ARTICLE_TYPE.search(script) for script in scripts)


def _declared_body(root: HtmlElement) -> str:
    """The article's text from the structured data, one paragraph per line."""
    bodies = (text for thing in things_in(root) for text in texts(thing.get("articleBody")))
    lines = (clean_line(line, TEXT_LENGTH) for line in next(bodies, "").splitlines())
    return escape_link_syntax("\n\n".join(line for line in lines if line))


def _title_and_headline(root: HtmlElement) -> tuple[str, str]:
    """The page's title, and the heading that shows it; empty if there is none.

    `How to bake - Example Bakery` above a heading `How to bake` is the heading, and the name of the site.
    """
    title = title_of(root)[:TITLE_LENGTH]
    headings = [" ".join(heading.text_content().split()) for heading in islice(root.iter("h1"), 20)]
    headline = next((heading for heading in headings if len(heading) > 3 and heading.lower() in title.lower()), "")
    return headline or title, headline


def _with_headline(headline: str, markdown: str) -> str:
    """The text with its headline, which is often outside the article. A title that no reader sees is not text."""
    known = {word.lower() for word in _WORD.findall(markdown[:5000])}
    if headline and not all(word.lower() in known for word in _WORD.findall(headline)):
        return f"# {escape_link_syntax(headline)}\n\n{markdown}"
    return markdown


def convert_html(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The text of a page that is a file. Nothing it refers to is fetched."""
    if len(data) > limits.html_bytes:
        raise LimitReached(f"{name}: page is larger than {limits.html_bytes // MB} MB; raise html_bytes to read it")
    page = read_page(Page(page_text(data)), "", limits)
    return ConversionResult(page.markdown, page.places, page.notes, title=page.title)


def page_text(data: bytes) -> str:
    """The page's source as text, decoded by its byte order mark, its declared encoding, or else its content."""
    if not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        declared = _META.search(data[:4096])
        if declared:
            try:
                return clean(data.decode(_encoding(declared[1].decode("ascii"))))
            except (LookupError, UnicodeDecodeError, ValueError):
                pass  # pages often declare a wrong encoding
    return decode(data, len(data)).text


def _encoding(declared: str) -> str:
    """What browsers use for a declared encoding."""
    name = codecs.lookup(declared.lower().removeprefix("x-").replace("sjis", "shift_jis")).name
    if name.startswith("utf-16"):
        return "utf-8"  # a declaration that can be read as ASCII is not in UTF-16
    return _BROWSER_ENCODINGS.get(name, name)
