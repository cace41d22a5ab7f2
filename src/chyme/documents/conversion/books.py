"""Rewrite the pages of an EPUB book: raised letters and pictures reach the text, its table of contents does not."""

from __future__ import annotations

import posixpath
import re
from html import unescape
from urllib.parse import unquote
from xml.sax.saxutils import escape

from chyme.documents.conversion.picture_marks import PictureMarks
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters
from chyme.documents.conversion.zip_packages import Package, tag_of

MAX_NEW, NEW_SHARE = 3, 0.15  # words, such as "contents", and their share of all
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W\d_]+")
_PAGES = (".xhtml", ".html", ".htm")
_SCRIPT = re.compile(r"(<(su[pb])(?:\s[^<>]*)?>)([^<]+)(</\2>)")
_IMAGE = re.compile(r"<(?:img\s[^<>]*?\bsrc|image\s[^<>]*?\bhref)=\"([^\"]+)\"[^<>]*>(?:\s*</ima?ge?>)?")
_ANCHOR = re.compile(r"<a id=\"[^\"<>]*\"></a>(\n*)")
_INNER_LINK = re.compile(r"(?<![!\\])\[([^\[\]]{0,300})\]\(#[^()\s]{1,300}\)")
_REFERENCE = re.compile(r"\(?(?:\d{1,4}|[a-z]|[*†‡§])\)?")


def rewritten_pages(package: Package, marks: PictureMarks | None) -> dict[str, bytes]:
    """The pages that must be rewritten, with their new contents."""
    sources = {
        part: (package.read(part) or b"").decode("utf-8", "surrogateescape")
        for part in package.names
        if part.lower().endswith(_PAGES)
    }
    contents = _contents_page(package)
    pages: dict[str, bytes] = {}
    for part, source in sources.items():
        if part == contents and _repeats(source, [text for other, text in sources.items() if other != part]):
            changed = _without_body(source)
        else:
            changed = _rewrite_page(source, part, marks)
        if changed != source:
            pages[part] = changed.encode("utf-8", "surrogateescape")
    return pages


def _repeats(contents: str, pages: list[str]) -> bool:
    """Whether nearly all words of a table of contents are on the other pages; a sample of a book has only some."""
    words = set(_WORD.findall(_TAG.sub(" ", contents).lower()))
    count = len(words)
    few = max(MAX_NEW, NEW_SHARE * count)
    for page in pages:
        if len(words) > few:
            text = page.lower()
            words = {word for word in words if word not in text}
    return len(words) <= few


def _contents_page(package: Package) -> str:
    """The page that is only a table of contents; empty if the book declares none."""
    for part in package.names:
        if part.lower().endswith(".opf"):
            for item in package.elements(part):
                if tag_of(item) == "item" and "nav" in item.get("properties", "").split():
                    return posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(item.get("href", ""))))
    return ""


def _without_body(source: str) -> str:
    start, end = source.find("<body"), source.rfind("</body>")
    return f"{source[:start]}<body>{source[end:]}" if 0 <= start < end else source


def _rewrite_page(source: str, part: str, marks: PictureMarks | None) -> str:
    if "<sup" in source or "<sub" in source:
        source = _SCRIPT.sub(_unscript, source)
    if marks is not None and ("<img" in source or "<image" in source):
        folder = posixpath.dirname(part)

        def mark(image: re.Match[str]) -> str:
            found = marks.mark(posixpath.normpath(posixpath.join(folder, unquote(unescape(image[1])))))
            return f"{image[0]} {found}" if found else image[0]

        source = _IMAGE.sub(mark, source)
    return source


def _unscript(script: re.Match[str]) -> str:
    text = unescape(script[3])
    before = unescape(script.string[max(0, script.start() - 20) : script.start()].rpartition(">")[2])
    changed = raise_letters(text, before) if script[2] == "sup" else lower_letters(text)
    return script[1] + escape(changed) + script[4]


def drop_inner_links(markdown: str) -> str:
    """The text without anchors, and without the targets of links that lead to another place in the same document."""
    if "](#" in markdown:
        markdown = _INNER_LINK.sub(lambda link: f"[{link[1]}]" if _REFERENCE.fullmatch(link[1]) else link[1], markdown)
    return _ANCHOR.sub(_drop_anchor, markdown) if "<a id=" in markdown else markdown


def _drop_anchor(anchor: re.Match[str]) -> str:
    """Nothing in place of an anchor on a line of its own; the line breaks after any other stay."""
    is_first = anchor.start() == 0 or anchor.string[anchor.start() - 1] in "\n>"
    return "" if is_first else anchor[1]
