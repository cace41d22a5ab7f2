"""A page's source as a tree of elements, without what nobody sees: scripts, hidden parts, cookie banners."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from chyme.documents.html.complexity_limits import LONG_TAG, is_too_complex

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MOST_DEPTH = 250  # libxml2 drops what stands deeper than 256
MOST_LINKS = 50_000  # beyond them only their words are kept
LINK_LENGTH = 2_000
TITLE_LENGTH = 2_000
BANNER_CHARS = 2_400  # a part with more is text, whatever it is called

_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,500}\?>")
_UNSEEN = frozenset((
    "script", "style", "template", "noscript", "svg", "iframe", "frame", "object", "embed", "canvas", "applet",
    "audio", "video", "map", "math-field", "input", "select", "option", "textarea", "datalist", "progress", "meter",
))  # fmt: skip
_UNSHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
_BANNER = re.compile(
    r"cookie-?_?(?:banner|bar|consent|notice|law|popup|policy-?banner|modal|wall|overlay|message|info|disclaimer|alert)"
    r"|consent-?_?(?:banner|modal|manager|popup|overlay)|(?:cookie|gdpr|eu|privacy)-?_?(?:consent|popup|banner|notice)"
    r"|onetrust|cybotcookiebot|usercentrics|didomi|truste|quantcast|qc-cmp|sp_message_container|cc-window|cookiebot"
    r"|osano-cm|iubenda-cs|klaro|cmplz|borlabs|tarteaucitron|fc-consent|moove_gdpr|cky-consent",
    re.IGNORECASE,
)
_CONSENT = re.compile(r"cookie|consent|privacy|datenschutz|confidentialité|куки|クッキー|隐私|隱私", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-source-|sourceCode\s+|brush:\s*)([A-Za-z0-9+#-]{1,20})")
_ITEMS = frozenset(("li", "tr", "dt", "dd", "thead", "tbody", "tfoot", "option"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_PERMALINKS = frozenset("¶#§🔗⚓∞")


def tree_of(page: str) -> HtmlElement | None:
    """The page's root; None when it holds nothing or is too wild for a tree: nested too deep, too many tags."""
    from lxml.etree import LxmlError  # type: ignore[import-untyped]
    from lxml.html import HTMLParser, document_fromstring

    if not page.strip() or is_too_complex(page):
        return None
    source = _DECLARATION.sub("", page, count=1).replace("\0", "").encode("utf-8", "replace")
    try:  # the encoding is ours: what the page says of itself no longer holds
        root: HtmlElement = document_fromstring(
            source, parser=HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
        )
    except (LxmlError, ValueError, AssertionError):
        return None
    return None if _deep(root) else root


def base_of(root: HtmlElement, url: str) -> str:
    """What the page's relative addresses are relative to; empty when nobody knows."""
    for base in root.iter("base"):
        told = (base.get("href") or "").strip()
        if told:
            joined = absolute_url(told, url)
            return joined or url
    return url


def title_of(root: HtmlElement) -> str:
    """The page's own title, on one line; drawings have titles too."""
    for title in root.iter("title"):
        if next(title.iterancestors("svg"), None) is None and (title.text or "").strip():
            return " ".join(title.text[:TITLE_LENGTH].split())
    return ""


def absolute_url(address: str, base: str) -> str | None:
    """A web address as it stands by itself; None for everything that is none, is too long, or is relative to nothing.

    Blanks and line ends inside are dropped, as browsers do.
    """
    address = "".join(address.split()) if len(address) <= LINK_LENGTH else ""
    if not address:
        return None
    try:
        joined = urljoin(base, address)
        parts = urlsplit(joined)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or len(joined) > LINK_LENGTH:
        return None
    return joined


def drop(element: HtmlElement) -> None:
    """Take an element out and leave the text behind it, apart from the text before it.

    Where there is text behind it an empty element stays in its place: texts that are joined again and again take
    quadratic time.
    """
    parent = element.getparent()
    if parent is None:
        return
    if not element.tail or (element.tag in _ITEMS and not element.tail.strip()):
        parent.remove(element)
        return
    element.clear(keep_tail=True)
    if element.tag not in ("td", "th"):
        element.tag = "span"


def cleanse(root: HtmlElement, url: str) -> None:
    """Take out what a reader does not see, and make links lead where they lead: in place.

    A hidden part that holds most of the page stays: scripts would show it.
    """
    for template in list(root.iter("template")):
        if is_shown(template):
            template.tag = "div"
    for element in [found for found in root.iter() if found.tag in _UNSEEN or not isinstance(found.tag, str)]:
        drop(element)
    lengths = _lengths(root)
    entire = lengths.get(root, 0)
    for element in list(root.iter()):
        little = lengths.get(element, 0) * 2 <= entire
        if (little and _hidden(element)) or _banner(element, lengths):
            drop(element)
    _settle_links(root, base_of(root, url))
    _disarm(root)
    for element in list(root.iter("pre", "button")):
        if element.tag == "pre":
            _tell_language(element)
        elif not any(above.tag in _HEADINGS for above in element.iterancestors()):
            drop(element)


def is_shown(template: HtmlElement) -> bool:
    """Whether browsers show what it holds at once, inside of the element around it."""
    return (template.get("shadowrootmode") or "").lower() in ("open", "closed")


def escape_link_syntax(text: str) -> str:
    """A text in which nothing looks like a link of markdown: only the page's own links become links."""
    return text.replace("](", "] (")


def _disarm(root: HtmlElement) -> None:
    for element in root.iter():
        if element.text and "](" in element.text and not _is_code(element):
            element.text = escape_link_syntax(element.text)
        if element.tail and "](" in element.tail and not _is_code(element.getparent()):
            element.tail = escape_link_syntax(element.tail)


def _is_code(element: HtmlElement | None) -> bool:
    return element is not None and any(one.tag in ("pre", "code") for one in (element, *element.iterancestors()))


def _lengths(root: HtmlElement) -> dict[HtmlElement, int]:
    """How many characters of text each element holds."""
    lengths: dict[HtmlElement, int] = {}
    for element in reversed(list(root.iter())):
        own = len((element.text or "").strip())
        lengths[element] = own + sum(
            lengths[child] + len((child.tail or "").strip()) for child in element.iterchildren()
        )
    return lengths


def _hidden(element: HtmlElement) -> bool:
    style = element.get("style")
    if style and len(style) < LONG_TAG and _UNSHOWN.search(style):
        return True
    told = element.get("hidden")
    if told is not None and told.lower() != "until-found":
        return True
    return bool(element.get("aria-hidden") == "true") or (element.tag == "dialog" and element.get("open") is None)


def _banner(element: HtmlElement, lengths: dict[HtmlElement, int]) -> bool:
    if element.tag in ("html", "body", "main", "article") or lengths.get(element, 0) > BANNER_CHARS:
        return False
    named = _BANNER.search(f"{element.get('id') or ''} {element.get('class') or ''}"[:500])
    if not named and element.get("role") not in ("dialog", "alertdialog"):
        return False
    holds_page = next(element.iter("h1", "main", "article"), None) is not None
    return not holds_page and bool(_CONSENT.search(element.text_content()))


def _settle_links(root: HtmlElement, base: str) -> None:
    links = list(root.iter("a"))
    for link in links:
        href = link.get("href")
        if _permalink(link) or (href is not None and not link.text_content().strip()):
            drop(link)
        elif href is not None:
            kept = _kept_link(href, base) if len(links) <= MOST_LINKS else None
            if kept is None:
                del link.attrib["href"]
            else:
                link.set("href", kept.replace("(", "%28").replace(")", "%29"))  # they end a link in markdown
                link.attrib.pop("title", None)


def _kept_link(href: str, base: str) -> str | None:
    href = href.strip()
    if not href or href.startswith("#"):
        return None
    if href[:7].lower() == "mailto:":
        return href if len(href) < 300 and not any(mark.isspace() for mark in href) else None
    if base:
        return absolute_url(href, base)
    scheme = href.partition(":")[0].lower() if ":" in href.partition("/")[0] else ""
    return href if scheme in ("", "http", "https") and len(href) <= LINK_LENGTH else None


def _permalink(link: HtmlElement) -> bool:
    """Whether it is the little sign behind a heading that leads to the heading itself."""
    if len(link) or not (link.get("href") or "").startswith("#"):
        return False
    return (link.text or "").strip() in _PERMALINKS


def _tell_language(block: HtmlElement) -> None:
    """Name a code block's language where the converter looks for it."""
    around = [block, *block.iterchildren("code"), *_parents(block)]
    for element in around:
        told = element.get("data-lang") or element.get("data-language") or element.get("lang") or ""
        found = _LANGUAGE.search((element.get("class") or "")[:500])
        language = found[1] if found else told.strip()
        if language and re.fullmatch(r"[A-Za-z0-9+#-]{1,20}", language) and language not in ("none", "default"):
            block.set("class", f"language-{language.lower()}")
            for code in block.iterchildren("code"):
                code.set("class", f"language-{language.lower()}")
            return


def _parents(block: HtmlElement) -> Iterator[HtmlElement]:
    """The two elements around it, as highlighters wrap code."""
    for steps, parent in enumerate(block.iterancestors("div", "figure")):
        if steps > 1 or len(parent) > 3:
            return
        yield parent


def _deep(root: HtmlElement) -> bool:
    from lxml.etree import iterwalk

    depth = 0
    for event, _ in iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth >= MOST_DEPTH:
            return True
    return False
