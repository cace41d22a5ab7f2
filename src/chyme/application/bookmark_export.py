"""Exports links as bookmarks in the HTML that browsers and bookmark services import (“Netscape” format)."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from chyme.application.vault_export import BATCH, PARTIAL, ExportResult, explain_write_errors, prepare_folder
from chyme.core.files.permissions import write_private
from chyme.core.files.vault_folder import Vault
from chyme.core.store import files
from chyme.core.store.documents import ExportRow, list_for_export
from chyme.core.store.sqlite.database import Database
from chyme.files.link_files import LINK_BYTES, link_in
from chyme.imports.entries import DESCRIPTION, NOTE, OTHER_TAGS, SAVED
from chyme.model import Kind
from chyme.understanding.tables import properties

FILE = "bookmarks.html"
_HEAD = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


@dataclass(frozen=True, slots=True)
class BookmarkExport:
    """Exports one vault's links; its folders become folders of bookmarks."""

    vault: Vault
    database: Database

    def write(self, folder: Path) -> ExportResult:
        """Write bookmarks.html into this folder."""
        target = prepare_folder(self.vault.root, folder)
        count = 0
        with explain_write_errors(folder):
            with write_private(target / PARTIAL) as stream:
                for text, is_link in self.lines():
                    stream.write(text.encode("utf-8", "replace"))
                    count += is_link
            (target / PARTIAL).replace(target / FILE)
        return ExportResult(target, count, 1, 0)

    def lines(self) -> Iterator[tuple[str, bool]]:
        """Yield the file in pieces, and whether each is a link."""
        yield _HEAD, False
        open_folders: list[str] = []
        for row, address in self._links():
            folders = row.path.split("/")[:-1]
            common = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(open_folders, folders, strict=False))
            )
            for depth in range(len(open_folders), common, -1):
                yield f"{'    ' * depth}</DL><p>\n", False
            for depth, name in enumerate(folders[common:], common + 1):
                yield f"{'    ' * depth}<DT><H3>{html.escape(name)}</H3>\n{'    ' * depth}<DL><p>\n", False
            open_folders = folders
            with self.database.snapshot() as db:
                more = properties.of_file(db, row.file_id)
            yield _link(row, address, more, "    " * (len(folders) + 1)), True
        for depth in range(len(open_folders), 0, -1):
            yield f"{'    ' * depth}</DL><p>\n", False
        yield "</DL><p>\n", False

    def _links(self) -> Iterator[tuple[ExportRow, str]]:
        last = ""
        while batch := list_for_export(self.database.read(), last, BATCH):
            last = batch[-1].path
            for row in batch:
                address = self._address(row) if row.kind == Kind.URL else None
                if address is not None:
                    yield row, address

    def _address(self, row: ExportRow) -> str | None:
        file = files.by_id(self.database.read(), row.file_id)
        if file is None:
            return None
        try:
            with os.fdopen(self.vault.open(file), "rb") as stream:
                return link_in(file.name, stream.read(LINK_BYTES + 1))
        except OSError:
            return None


def _link(row: ExportRow, address: str, more: Mapping[str, str], indent: str) -> str:
    saved = more.get(SAVED) or row.created_at[:10]
    try:
        seconds = int(datetime.fromisoformat(saved).replace(tzinfo=UTC).timestamp())
    except ValueError:
        seconds = 0
    tags = ",".join([*row.tags, *(tag.replace(",", " ") for tag in more.get(OTHER_TAGS, "").split("; ") if tag)])
    title = row.title or row.path.rpartition("/")[2]
    line = f'{indent}<DT><A HREF="{html.escape(address)}" ADD_DATE="{seconds}"'
    line += f' TAGS="{html.escape(tags)}"' if tags else ""
    description = more.get(DESCRIPTION) or more.get(NOTE)
    return f"{line}>{html.escape(title)}</A>\n" + (f"{indent}<DD>{html.escape(description)}\n" if description else "")
