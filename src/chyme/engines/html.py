"""Turn web pages into markdown: the article where there is one, the whole page where there is not."""

from __future__ import annotations

import codecs
import re
from html import unescape

from chyme.engines.converted import MB, ConversionLimits, Converted, count_words, whole
from chyme.engines.text import clean, decode
from chyme.errors import LimitReached

FEW_LINKS = 2  # a page with fewer has no navigation to leave out
LEAST_SHARE = 0.15  # of the page's words; an "article" smaller than that is a mistake
_META = re.compile(rb"<(?:meta|\?xml)[^>]+?(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_TITLE = re.compile(r"<title[^>]*>([^<]+)</title>", re.IGNORECASE)
_LINK = re.compile(r"<a\s", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style|template|title|head)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"<[^>]*>")
_WORD = re.compile(r"\w+")


def convert_html(name: str, data: bytes, limits: ConversionLimits) -> Converted:
    """The text of a page. Nothing it refers to is fetched."""
    if len(data) > limits.html_bytes:
        raise LimitReached(f"{name}: page is larger than {limits.html_bytes // MB} MB; raise html_bytes to read it")
    return whole(markdown_of(page_text(data)))


def page_text(data: bytes) -> str:
    """The page's source as text: by its mark, by what it says of itself, else by its letters."""
    if not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        told = _META.search(data[:4096])
        if told:
            try:
                return clean(data.decode(told[1].decode("ascii")))
            except (LookupError, UnicodeDecodeError, ValueError):
                pass  # pages often misname their encoding
    return decode(data, len(data)).text


def markdown_of(page: str) -> str:
    """Markdown of a page's source, with its title on top where the text does not repeat it."""
    if not page.strip():
        return ""
    entire = _whole_page(page)
    article = _article(page)
    words, kept = count_words(entire), count_words(article)
    if len(_LINK.findall(page)) <= FEW_LINKS:
        chosen = article if kept > words else entire
    else:
        chosen = article if kept >= LEAST_SHARE * words else entire
    return _with_title(page, chosen if chosen.strip() else _bare_words(page))


def _whole_page(page: str) -> str:
    from html_to_markdown import ConversionOptions, convert
    from html_to_markdown.exceptions import ConversionError

    try:
        options = ConversionOptions(extract_metadata=False, skip_images=True, autolinks=False)
        return convert(page, options).content or ""
    except ConversionError:
        return ""


def _article(page: str) -> str:
    import trafilatura

    return trafilatura.extract(_DECLARATION.sub("", page), output_format="markdown") or ""


def _with_title(page: str, markdown: str) -> str:
    found = _TITLE.search(page)
    title = " ".join(unescape(found[1]).split()) if found else ""
    known = {word.lower() for word in _WORD.findall(markdown[:5000])}
    if title and not all(word.lower() in known for word in _WORD.findall(title)):
        return f"# {title}\n\n{markdown}"
    return markdown


def _bare_words(page: str) -> str:
    """The words between the tags, for pages nested deeper than the other readers follow."""
    return " ".join(unescape(_TAGS.sub(" ", _HIDDEN.sub(" ", page))).split())
