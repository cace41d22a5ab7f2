"""All style sheets of a page: fetched with what they import, filled, and written in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.snapshot.css_sanitiser import Sheet, read_declarations, read_sheet, serialise_tokens
from chyme.webpages.snapshot.css_urls import UrlPlaceholder
from chyme.webpages.snapshot.fonts import PageUsage
from chyme.webpages.snapshot.html_tree import escape_html
from chyme.webpages.snapshot.image_sources import absolute_url
from chyme.webpages.snapshot.inlining import Parts
from chyme.webpages.snapshot.outline import Outline, StyleSource

MOST_LETTERS = 2_000_000  # of all styles of a page: a second or two for every million
LEAST_LETTERS = 100  # that a value of style="" counts for, however short
DEEPEST = 5  # sheets that import each other
MOST_IMPORTS = 100


@dataclass(slots=True)
class _Read:
    """A sheet with those that it imports, each between its conditions."""

    sheet: Sheet
    base: str
    media: str = ""
    imported: list[tuple[str, _Read, str]] = field(default_factory=list)

    def written(self) -> str:
        above = "".join(f"{before}{read.written()}{after}" for before, read, after in self.imported)
        return above + self.sheet.to_css()


class Sheets:
    """The styles of one page."""

    def __init__(self, parts: Parts, base: str, seen: PageUsage) -> None:
        self._parts = parts
        self._base = base
        self._seen = seen
        self._letters = MOST_LETTERS
        self._imports = MOST_IMPORTS
        self._top: list[_Read] = []
        self._holes: list[tuple[UrlPlaceholder, str]] = []
        self._values: dict[str, tuple[list[Any], str]] = {}
        self.pictures: Counter[str] = Counter()  # addresses, and how often each is written
        self.fonts: Counter[str] = Counter()
        self.unread = 0

    def read(self, linked: Iterable[StyleSource]) -> None:
        """Fetch and read the sheets, and level by level those that they import."""
        linked = list(linked)
        got = self._parts.fetch_sheets(one.url for one in linked if one.url)
        level: list[tuple[_Read, frozenset[str]]] = []
        for one in linked:
            part = got.get(one.url)
            text = (_text(part) if part else None) if one.url else one.text
            read = self._read(text, part.url if part else self._base, one.media) if text else None
            if read:
                self._top.append(read)
                level.append((read, frozenset({one.url})))
        for _ in range(DEEPEST):
            level = self._imported(level)

    def _imported(self, level: list[tuple[_Read, frozenset[str]]]) -> list[tuple[_Read, frozenset[str]]]:
        wanted = [
            (read, above, one, url)
            for read, above in level
            for one in read.sheet.imports
            if (url := absolute_url(read.base, one.address)) and url not in above and url[:5].lower() != "data:"
        ][: self._imports]
        self._imports -= len(wanted)
        got = self._parts.fetch_sheets(url for *_, url in wanted)
        below: list[tuple[_Read, frozenset[str]]] = []
        for read, above, one, url in wanted:
            part = got.get(url)
            inner = self._read(_text(part), part.url, "") if part else None
            if one.layers:
                read.imported.append((one.layers, _Read(Sheet(), read.base), ""))
            if inner:
                read.imported.append((one.before, inner, one.after))
                below.append((inner, above | {url}))
        return below

    def _read(self, text: str, base: str, media: str) -> _Read | None:
        if len(text) > self._letters or _is_tangled(text):
            self.unread += 1
            return None
        self._letters -= len(text)
        try:
            sheet = read_sheet(text, self._seen)
        except RecursionError:
            self.unread += 1
            return None
        self._note(sheet.holes, base)
        return _Read(sheet, base, media)

    def _note(self, holes: Iterable[UrlPlaceholder], base: str) -> None:
        for hole in holes:
            if url := absolute_url(base, hole.address):
                self._holes.append((hole, url))
                (self.fonts if hole.font else self.pictures)[url] += 1

    def read_attributes(self, page: Outline) -> None:
        """Every style="" and its like, each different value once."""
        values = Counter(one.element.get(one.attribute, "") for one in page.styled)
        values.update(top["style"] for top in (page.html, page.body) if "style" in top)
        for value, count in values.items():
            if _is_plain(value):
                continue
            cost = max(LEAST_LETTERS, len(value))
            if cost > self._letters or _is_tangled(value):
                continue
            self._letters -= cost
            try:
                tokens, holes = read_declarations(value)
            except RecursionError:
                continue
            self._values[value] = (tokens, "")
            for _ in range(count):
                self._note(holes, self._base)

    def fill(self) -> None:
        """Put what was kept where it belongs."""
        for hole, url in self._holes:
            hole.fill(self._parts.data_url_of(url))

    def write_attributes(self, page: Outline) -> set[str]:
        """Write the attributes anew; the set of all their values."""
        written = {value: serialise_tokens(tokens) for value, (tokens, _) in self._values.items()}
        approved: set[str] = set()
        for one in page.styled:
            value = one.element.get(one.attribute, "")
            new = value if _is_plain(value) else written.get(value, "")
            one.element.set(one.attribute, new)
            approved.add(new)
        for top in (page.html, page.body):
            if "style" in top:
                top["style"] = top["style"] if _is_plain(top["style"]) else written.get(top["style"], "")
        return approved

    def to_html(self) -> str:
        """The sheets as <style> elements, as many as there is room for."""
        out = []
        for read in self._top:
            try:
                text = read.written().replace("</", "<\\/")  # nothing in it can end the element
            except RecursionError:
                self.unread += 1
                continue
            media = f' media="{escape_html(read.media)}"' if read.media else ""
            out.append(f"<style{media}>{text}</style>")
        return "".join(out)


def _is_plain(value: str) -> bool:
    """Nothing in it names an address or runs."""
    lower = value.lower()
    return not any(sign in lower for sign in ("(", "\\", "behavior", "binding", "/*"))


def _is_tangled(css: str) -> bool:
    """More brackets than styles have; they would take much memory to read."""
    return sum(css.count(bracket) for bracket in "({[") > 1000 + len(css) // 6


def _text(part: FetchResult) -> str:
    for encoding in (part.charset or "utf-8", "utf-8"):
        try:
            return part.body.decode(encoding).lstrip("\ufeff")
        except (LookupError, ValueError):
            continue
    return part.body.decode("cp1252", "replace")
