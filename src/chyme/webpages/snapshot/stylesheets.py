"""Fetches all style sheets of a page with their imports, fills them, and serialises them in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.snapshot.css_sanitiser import PageUsage, Sheet, read_declarations, read_sheet, serialise_tokens
from chyme.webpages.snapshot.css_urls import UrlPlaceholder
from chyme.webpages.snapshot.html_tree import escape_html
from chyme.webpages.snapshot.image_sources import absolute_url
from chyme.webpages.snapshot.inlining import Parts
from chyme.webpages.snapshot.outline import Outline, StyleSource

MAX_STYLE_CHARS = 2_000_000  # of all styles of a page; a million takes a second or two
MIN_ATTRIBUTE_CHARS = 100  # that a value of style="" counts as, however short
MAX_IMPORT_DEPTH = 5  # of sheets that import each other
MAX_IMPORTS = 100


@dataclass(slots=True)
class _ReadSheet:
    """A sheet with its imports, each between its conditions."""

    sheet: Sheet
    base: str
    media: str = ""
    imported: list[tuple[str, _ReadSheet, str]] = field(default_factory=list)

    def to_css(self) -> str:
        imported = "".join(f"{before}{read.to_css()}{after}" for before, read, after in self.imported)
        return imported + self.sheet.to_css()


class Sheets:
    """The styles of one page."""

    def __init__(self, parts: Parts, base: str, usage: PageUsage) -> None:
        self._parts = parts
        self._base = base
        self._usage = usage
        self._chars_left = MAX_STYLE_CHARS
        self._imports_left = MAX_IMPORTS
        self._top: list[_ReadSheet] = []
        self._placeholders: list[tuple[UrlPlaceholder, str]] = []
        self._values: dict[str, list[Any]] = {}  # the tokens of each
        self.pictures: Counter[str] = Counter()  # addresses, and how often each is written
        self.fonts: Counter[str] = Counter()
        self.unread = 0

    def read(self, sources: Iterable[StyleSource]) -> None:
        """Fetch and parse the sheets, and their imports level by level."""
        sources = list(sources)
        responses = self._parts.fetch_sheets(source.url for source in sources if source.url)
        level: list[tuple[_ReadSheet, frozenset[str]]] = []
        for source in sources:
            part = responses.get(source.url)
            text = (_decode(part) if part else None) if source.url else source.text
            read = self._parse(text, part.url if part else self._base, source.media) if text else None
            if read:
                self._top.append(read)
                level.append((read, frozenset({source.url})))
        for _ in range(MAX_IMPORT_DEPTH):
            level = self._read_imports(level)

    def _read_imports(self, level: list[tuple[_ReadSheet, frozenset[str]]]) -> list[tuple[_ReadSheet, frozenset[str]]]:
        imports = [
            (read, ancestors, rule, url)
            for read, ancestors in level
            for rule in read.sheet.imports
            if (url := absolute_url(read.base, rule.address)) and url not in ancestors and url[:5].lower() != "data:"
        ][: self._imports_left]
        self._imports_left -= len(imports)
        responses = self._parts.fetch_sheets(url for *_, url in imports)
        next_level: list[tuple[_ReadSheet, frozenset[str]]] = []
        for read, ancestors, rule, url in imports:
            part = responses.get(url)
            inner = self._parse(_decode(part), part.url, "") if part else None
            if rule.layers:
                read.imported.append((rule.layers, _ReadSheet(Sheet(), read.base), ""))
            if inner:
                read.imported.append((rule.before, inner, rule.after))
                next_level.append((inner, ancestors | {url}))
        return next_level

    def _parse(self, text: str, base: str, media: str) -> _ReadSheet | None:
        if len(text) > self._chars_left or _has_too_many_brackets(text):
            self.unread += 1
            return None
        self._chars_left -= len(text)
        try:
            sheet = read_sheet(text, self._usage)
        except RecursionError:
            self.unread += 1
            return None
        self._add_placeholders(sheet.placeholders, base)
        return _ReadSheet(sheet, base, media)

    def _add_placeholders(self, placeholders: Iterable[UrlPlaceholder], base: str) -> None:
        for placeholder in placeholders:
            if url := absolute_url(base, placeholder.address):
                self._placeholders.append((placeholder, url))
                (self.fonts if placeholder.font else self.pictures)[url] += 1

    def read_attributes(self, page: Outline) -> None:
        """Parse every style="" and similar attribute, each different value once."""
        values = Counter(item.element.get(item.attribute, "") for item in page.style_attributes)
        values.update(top["style"] for top in (page.html, page.body) if "style" in top)
        for value, count in values.items():
            if _is_plain(value):
                continue
            cost = max(MIN_ATTRIBUTE_CHARS, len(value))
            if cost > self._chars_left or _has_too_many_brackets(value):
                continue
            self._chars_left -= cost
            try:
                tokens, placeholders = read_declarations(value)
            except RecursionError:
                continue
            self._values[value] = tokens
            for _ in range(count):
                self._add_placeholders(placeholders, self._base)

    def fill(self) -> None:
        """Fill the placeholders with the parts that were stored."""
        for placeholder, url in self._placeholders:
            placeholder.fill(self._parts.data_url_of(url))

    def write_attributes(self, page: Outline) -> set[str]:
        """Rewrite the attributes; return the set of all their values."""
        rewritten = {value: serialise_tokens(tokens) for value, tokens in self._values.items()}
        approved: set[str] = set()
        for item in page.style_attributes:
            value = item.element.get(item.attribute, "")
            new = value if _is_plain(value) else rewritten.get(value, "")
            item.element.set(item.attribute, new)
            approved.add(new)
        for top in (page.html, page.body):
            if "style" in top:
                top["style"] = top["style"] if _is_plain(top["style"]) else rewritten.get(top["style"], "")
        return approved

    def to_html(self) -> str:
        """Return the sheets as <style> elements."""
        out = []
        for read in self._top:
            try:
                text = read.to_css().replace("</", "<\\/")  # so that nothing in it can end the element
            except RecursionError:
                self.unread += 1
                continue
            media = f' media="{escape_html(read.media)}"' if read.media else ""
            out.append(f"<style{media}>{text}</style>")
        return "".join(out)


def _is_plain(value: str) -> bool:
    """Whether nothing in it names an address or runs code."""
    lower = value.lower()
    return not any(sign in lower for sign in ("(", "\\", "behavior", "binding", "/*"))


def _has_too_many_brackets(css: str) -> bool:
    """Whether it has more brackets than real styles have, which would take much memory to parse."""
    return sum(css.count(bracket) for bracket in "({[") > 1000 + len(css) // 6


def _decode(part: FetchResult) -> str:
    for encoding in (part.charset or "utf-8", "utf-8"):
        try:
            return part.body.decode(encoding).lstrip("\ufeff")
        except (LookupError, ValueError):
            continue
    return part.body.decode("cp1252", "replace")
