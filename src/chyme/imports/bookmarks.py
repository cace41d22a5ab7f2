"""Reads bookmarks in the HTML that browsers, Pocket, Linkding and many others export (“Netscape” format)."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import BinaryIO

from chyme.errors import UsageError
from chyme.imports.entries import DESCRIPTION, SAVED, Entry, Problem
from chyme.imports.link_entries import link_entry
from chyme.imports.values import day_of, values_of
from chyme.vault.file_names import MAX_DEPTH, safe_folder_name

PIECE = 64 * 1024
MAX_PENDING = 1024 * 1024  # characters of one tag; no real one is longer (icons are in attributes)
MAX_TEXT = 20_000  # characters of a title or description
UNREAD = "to read"
_TO_READ = {"1", "true", "yes"}


def read_bookmarks(open_export: Callable[[], BinaryIO]) -> Iterator[Entry | Problem]:
    """Yield each link with its folders, day and tags; all else in the file is ignored."""
    parser = _Parser()
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
    with open_export() as stream:
        while True:
            piece = stream.read(PIECE)
            parser.feed(decode.decode(piece, final=not piece))
            if len(parser.rawdata) > MAX_PENDING:
                yield Problem("the export", "has a tag without end; export it again")
                return
            if not piece:
                parser.close()
            yield from parser.take()
            if not piece:
                break
    if not parser.is_bookmarks:
        raise UsageError("the file has no bookmarks; give the HTML file that a browser's bookmark manager exports")


class _Parser(HTMLParser):
    """A folder is <DT><H3>name</H3><DL>…</DL>, a link <DT><A HREF=…>title</A>, and after it <DD>description."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.is_bookmarks = False
        self._folders: list[str | None] = []  # one for each open <DL>
        self._heading: str | None = None  # of the next <DL>
        self._text: list[str] | None = None  # of the open <H3>, <A> or <DD>
        self._open = ""
        self._link: dict[str, str] | None = None  # the last link, until its description is complete
        self._found: list[Entry | Problem] = []

    def take(self) -> list[Entry | Problem]:
        """What was found since the last call."""
        found, self._found = self._found, []
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("dt", "dl", "h3", "a", "dd") and self._open == "dd":
            self._end_text("dd")
        if tag == "dl":
            self.is_bookmarks = True
            self._end_link()
            self._folders.append(self._heading)
            self._heading = None
        elif tag in ("h3", "a"):
            self._end_link()
            self._open, self._text = tag, []
            if tag == "a":
                self._link = {name: value or "" for name, value in attrs}
        elif tag == "dd" and self._link is not None:
            self._open, self._text = tag, []

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._end_text(tag)
        elif tag == "dl":
            self._end_text(self._open)
            self._end_link()
            if self._folders:
                self._folders.pop()

    def handle_data(self, data: str) -> None:
        if self._text is not None and sum(map(len, self._text)) < MAX_TEXT:
            self._text.append(data)

    def close(self) -> None:
        super().close()
        self._end_text(self._open)
        self._end_link()

    def _end_text(self, tag: str) -> None:
        text = "".join(self._text or ())[:MAX_TEXT].strip()
        if tag == "h3":
            self._heading = " ".join(text.split())
        elif self._link is not None and tag in ("a", "dd"):
            self._link["title" if tag == "a" else "description"] = text
        self._open, self._text = "", None

    def _end_link(self) -> None:
        link, self._link = self._link, None
        if link is None or not link.get("href"):
            return
        self.is_bookmarks = True
        tags = [*link.get("tags", "").split(","), *([UNREAD] if link.get("toread", "").lower() in _TO_READ else [])]
        values = values_of(
            link.get("title"),
            None,
            tags,
            {DESCRIPTION: link.get("description"), SAVED: day_of(link.get("add_date") or link.get("time_added"))},
        )
        folder = tuple(safe_folder_name(name) for name in self._folders if name)[:MAX_DEPTH]
        self._found.append(link_entry(link["href"], None, values, folder))
