"""Parse a page into a tree of elements, and remove what is not visible: scripts, hidden parts, cookie banners."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from chyme.documents.html.raw_source import LONG_TAG, is_too_complex
from chyme.documents.html.shown_values import clean_descriptions, write_formulas, write_values

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MAX_DEPTH = 250  # libxml2 drops what is nested deeper than 256
MAX_LINKS = 50_000  # beyond that only their text is kept
LINK_LENGTH = 2_000
TITLE_LENGTH = 2_000
SOFT_HYPHEN = "\xad"  # a place where a word may be broken
BANNER_CHARS = 2_400  # a part with more is text, whatever its name

_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,500}\?>")
_INVISIBLE_TAGS = frozenset((
    "script", "style", "template", "noscript", "svg", "iframe", "frame", "object", "embed", "canvas", "applet",
    "audio", "video", "map", "math-field", "input", "select", "option", "textarea", "datalist", "progress", "meter",
))  # fmt: skip
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
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


class Page:
    """A page's source, parsed once for all who read it."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def tree(self) -> HtmlElement | None:
        """The page's root, not to be changed; None if there is no tree."""
        return tree_of(self.source)

    def forget_tree(self) -> None:
        """Free the tree's memory, which is a multiple of the source's."""
        self.__dict__.pop("tree", None)

    def copy_tree(self) -> HtmlElement | None:
        """A copy of the tree that may be changed: several times quicker than parsing again."""
        return deepcopy(self.tree)


def tree_of(page: str) -> HtmlElement | None:
    """The page's root; None if it is empty or too complex for a tree: nested too deep, too many tags."""
    from lxml.etree import LxmlError  # type: ignore[import-untyped]
    from lxml.html import HTMLParser, document_fromstring

    if not page.strip() or is_too_complex(page):
        return None
    source = _DECLARATION.sub("", page, count=1).replace("\0", "").encode("utf-8", "replace")
    try:  # the encoding is ours: the one the page declares no longer applies
        root: HtmlElement = document_fromstring(
            source, parser=HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
        )
    except (LxmlError, ValueError, AssertionError):
        return None
    return None if _is_too_deep(root) else root


def base_of(root: HtmlElement, url: str) -> str:
    """The base of the page's relative addresses; empty if unknown."""
    for base in root.iter("base"):
        href = (base.get("href") or "").strip()
        if href:
            return absolute_url(href, url) or url
    return url


def title_of(root: HtmlElement) -> str:
    """The page's own title, on one line; drawings have titles too."""
    for title in root.iter("title"):
        if next(title.iterancestors("svg"), None) is None and (title.text or "").strip():
            return " ".join(title.text[:TITLE_LENGTH].split())
    return ""


def absolute_url(address: str, base: str) -> str | None:
    """The absolute form of a web address; None if it is something else, too long, or relative to nothing.

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
    """Remove an element and keep the text after it, separate from the text before it.

    If there is text after it, an empty element stays in its place: joining texts again and again takes quadratic time.
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
    """Remove what a reader does not see, and make links absolute: in place.

    A hidden part that contains most of the page stays: scripts would show it.
    """
    write_values(root)
    write_formulas(root)
    for template in list(root.iter("template")):
        if is_shown(template):
            template.tag = "div"
    for element in [
        candidate for candidate in root.iter() if candidate.tag in _INVISIBLE_TAGS or not isinstance(candidate.tag, str)
    ]:
        drop(element)
    lengths = _text_lengths(root)
    total = lengths.get(root, 0)
    for element in list(root.iter()):
        is_small = lengths.get(element, 0) * 2 <= total
        if (is_small and _is_hidden(element)) or _is_banner(element, lengths):
            drop(element)
    clean_descriptions(root)
    _resolve_links(root, base_of(root, url))
    _escape_texts(root)
    for element in list(root.iter("pre", "button")):
        if element.tag == "pre":
            _mark_language(element)
        elif not any(above.tag in _HEADINGS for above in element.iterancestors()):
            drop(element)


def is_shown(template: HtmlElement) -> bool:
    """Whether browsers show its content at once, inside the element around it."""
    return (template.get("shadowrootmode") or "").lower() in ("open", "closed")


def escape_link_syntax(text: str) -> str:
    """A text in which nothing looks like a markdown link: only the page's own links become links."""
    return text.replace("](", "] (")


def _escape_texts(root: HtmlElement) -> None:
    """Escape what would be a link of markdown, and drop soft hyphens: paragraphs with them would be left out."""
    for element in root.iter():
        if element.text and SOFT_HYPHEN in element.text:
            element.text = element.text.replace(SOFT_HYPHEN, "")
        if element.tail and SOFT_HYPHEN in element.tail:
            element.tail = element.tail.replace(SOFT_HYPHEN, "")
        if element.text and "](" in element.text and not _is_code(element):
            element.text = escape_link_syntax(element.text)
        if element.tail and "](" in element.tail and not _is_code(element.getparent()):
            element.tail = escape_link_syntax(element.tail)


def _is_code(element: HtmlElement | None) -> bool:
    return element is not None and any(
        ancestor.tag in ("pre", "code") for ancestor in (element, *element.iterancestors())
    )


def _text_lengths(root: HtmlElement) -> dict[HtmlElement, int]:
    """How many characters of text each element contains."""
    lengths: dict[HtmlElement, int] = {}
    for element in reversed(list(root.iter())):
        own_length = len((element.text or "").strip())
        lengths[element] = own_length + sum(
            lengths[child] + len((child.tail or "").strip()) for child in element.iterchildren()
        )
    return lengths


def _is_hidden(element: HtmlElement) -> bool:
    style = element.get("style")
    if style and len(style) < LONG_TAG and _HIDING_STYLE.search(style):
        return True
    hidden = element.get("hidden")
    if hidden is not None and hidden.lower() != "until-found":
        return True
    return bool(element.get("aria-hidden") == "true") or (element.tag == "dialog" and element.get("open") is None)


def _is_banner(element: HtmlElement, lengths: dict[HtmlElement, int]) -> bool:
    if element.tag in ("html", "body", "main", "article") or lengths.get(element, 0) > BANNER_CHARS:
        return False
    named = _BANNER.search(f"{element.get('id') or ''} {element.get('class') or ''}"[:500])
    if not named and element.get("role") not in ("dialog", "alertdialog"):
        return False
    holds_page = next(element.iter("h1", "main", "article"), None) is not None
    return not holds_page and bool(_CONSENT.search(element.text_content()))


def _resolve_links(root: HtmlElement, base: str) -> None:
    links = list(root.iter("a"))
    for link in links:
        href = link.get("href")
        if _is_permalink(link) or (href is not None and not link.text_content().strip()):
            if any(picture.get("alt") for picture in link.iter("img")):
                link.tag = "span"  # the description stays without the link
                link.attrib.clear()
            else:
                drop(link)
        elif href is not None:
            target = _valid_link(href, base) if len(links) <= MAX_LINKS else None
            if target is None:
                del link.attrib["href"]
            else:
                link.set("href", target.replace("(", "%28").replace(")", "%29"))  # parentheses end a link in markdown
                link.attrib.pop("title", None)


def _valid_link(href: str, base: str) -> str | None:
    href = href.strip()
    if not href or href.startswith("#"):
        return None
    if href[:7].lower() == "mailto:":
        return href if len(href) < 300 and not any(mark.isspace() for mark in href) else None
    if base:
        return absolute_url(href, base)
    scheme = href.partition(":")[0].lower() if ":" in href.partition("/")[0] else ""
    return href if scheme in ("", "http", "https") and len(href) <= LINK_LENGTH else None


def _is_permalink(link: HtmlElement) -> bool:
    """Whether it is the small sign after a heading that links to the heading itself."""
    if len(link) or not (link.get("href") or "").startswith("#"):
        return False
    return (link.text or "").strip() in _PERMALINKS


def _mark_language(block: HtmlElement) -> None:
    """Set a code block's language where the converter looks for it."""
    candidates = [block, *block.iterchildren("code"), *_wrappers(block)]
    for element in candidates:
        declared = element.get("data-lang") or element.get("data-language") or element.get("lang") or ""
        match = _LANGUAGE.search((element.get("class") or "")[:500])
        language = match[1] if match else declared.strip()
        if language and re.fullmatch(r"[A-Za-z0-9+#-]{1,20}", language) and language not in ("none", "default"):
            block.set("class", f"language-{language.lower()}")
            for code in block.iterchildren("code"):
                code.set("class", f"language-{language.lower()}")
            return


def _wrappers(block: HtmlElement) -> Iterator[HtmlElement]:
    """The two elements around it, because highlighters wrap code."""
    for steps, parent in enumerate(block.iterancestors("div", "figure")):
        if steps > 1 or len(parent) > 3:
            return
        yield parent


def _is_too_deep(root: HtmlElement) -> bool:
    from lxml.etree import iterwalk

    depth = 0
    for event, _ in iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth >= MAX_DEPTH:
            return True
    return False
