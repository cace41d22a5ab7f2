"""Read rows from the pages of an SQLite file, one page at a time, even if other parts of the file are damaged.

SQLite finds rows starting from the first page: one bad page hides all below it. Here every page is read by itself.
The format: https://www.sqlite.org/fileformat2.html. Deleted rows do not turn up: chyme's databases overwrite them.
Whatever the bytes are, the time depends only on the length of the file: no page is read much more often than once.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = b"SQLite format 3\0"
PAGE_SIZE = 4096  # of every database that chyme creates
TABLE_LEAF, INDEX_LEAF, INDEX_INNER, TABLE_INNER = 0x0D, 0x0A, 0x02, 0x05
WAL_MAGIC = (0x377F0682, 0x377F0683)
WAL_HEADER, FRAME_HEADER = 32, 24
MAX_HEADER_BYTES = 1000  # of a row: a few bytes per column, and no table of chyme has fifty columns
OVERFLOW_READS_PER_PAGE = 4  # limit on reads of overflow pages: an intact database has each read once
SIZES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}  # bytes of a value, by its type

Value = int | float | str | bytes | None
Row = tuple[Value, ...]


class Unreadable(Exception):
    """These bytes are not a row."""


@dataclass(slots=True)
class Pages:
    """The number of pages, and how many of them are not valid SQLite pages."""

    total: int = 0
    damaged: int = 0


class PageReader:
    """The pages of a database, including what its journal has committed. Reads only. Must be closed."""

    def __init__(self, path: Path) -> None:
        self._stack = contextlib.ExitStack()
        self._data = self._map_file(path)
        self._journal = self._map_file(path.with_name(f"{path.name}-wal"))
        self.page_size = _detect_page_size(self._data, self._journal)
        self._usable = self.page_size - (self._data[20] if self._data[:16] == HEADER else 0)
        self._journal_pages = _committed_pages(self._journal, self.page_size)
        in_file = range(1, len(self._data) // self.page_size + 1)
        self._page_numbers = [*in_file, *sorted(number for number in self._journal_pages if number not in in_file)]
        self.pages = Pages(len(self._page_numbers))
        self._overflow_reads_left = OVERFLOW_READS_PER_PAGE * self.pages.total
        self._unused_bytes = 0  # bytes of the page not yet used by a row

    def close(self) -> None:
        self._data = self._journal = b""
        self._journal_pages = {}
        self._stack.close()

    def rows(self) -> Iterator[tuple[int | None, Row]]:
        """Yield every readable row with its rowid, or with None if it is from an index or a table without rowid."""
        for number in self._page_numbers:
            page = self._read_page(number)
            start = 100 if number == 1 else 0
            kind = page[start] if len(page) > start else 0
            if kind in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER):
                yield from self._page_rows(page, start, kind)
            elif kind not in (0, TABLE_INNER):  # neither free nor an overflow page
                self.pages.damaged += 1

    def _page_rows(self, page: bytes, start: int, kind: int) -> Iterator[tuple[int | None, Row]]:
        first = start + (12 if kind == INDEX_INNER else 8)
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        if len(page) < self._usable or first + 2 * count > self._usable:
            self.pages.damaged += 1
            return
        damaged = 0
        self._unused_bytes = self._usable
        for (cell,) in struct.iter_unpack(">H", page[first : first + 2 * count]):
            try:
                if not first + 2 * count <= cell < self._usable:
                    raise Unreadable
                yield self._read_row(page, cell, kind)
            except (Unreadable, IndexError, UnicodeDecodeError, struct.error):
                damaged = 1
        self.pages.damaged += damaged

    def _read_row(self, page: bytes, position: int, kind: int) -> tuple[int | None, Row]:
        rowid = None
        if kind == INDEX_INNER:
            position += 4
        size, position = _read_varint(page, position)
        if kind == TABLE_LEAF:
            rowid, position = _read_varint(page, position)
        return rowid, _parse_record(self._read_payload(page, position, size, kind))

    def _read_payload(self, page: bytes, position: int, size: int, kind: int) -> bytes:
        usable = self._usable
        max_local = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= max_local:
            return self._read_local(page, position, size)
        min_local = (usable - 12) * 32 // 255 - 23
        local = min_local + (size - min_local) % (usable - 4)
        local = local if local <= max_local else min_local
        parts, remaining = [self._read_local(page, position, local)], size - local
        next_page = int.from_bytes(_read_bytes(page, position + local, 4), "big")
        if remaining > self.pages.total * usable:
            raise Unreadable
        seen = set[int]()
        while remaining > 0:
            if next_page < 2 or next_page in seen or self._overflow_reads_left <= 0:
                raise Unreadable
            seen.add(next_page)
            self._overflow_reads_left -= 1
            overflow = self._read_page(next_page)
            part = _read_bytes(overflow, 4, min(remaining, usable - 4))
            next_page = int.from_bytes(overflow[:4], "big")
            parts.append(part)
            remaining -= len(part)
        return b"".join(parts)

    def _read_local(self, page: bytes, position: int, size: int) -> bytes:
        """The part of a row that is in the page itself; no two rows of a page share bytes."""
        if not 0 <= size <= self._unused_bytes:
            raise Unreadable
        self._unused_bytes -= size
        return _read_bytes(page, position, size)

    def _read_page(self, number: int) -> bytes:
        position = self._journal_pages.get(number)
        if position is not None:
            return bytes(self._journal[position : position + self.page_size])
        return bytes(self._data[(number - 1) * self.page_size : number * self.page_size])

    def _map_file(self, path: Path) -> mmap.mmap | bytes:
        try:
            stream = self._stack.enter_context(path.open("rb"))
            return self._stack.enter_context(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (FileNotFoundError, ValueError):  # missing or empty
            return b""


def _detect_page_size(data: mmap.mmap | bytes, journal: mmap.mmap | bytes) -> int:
    size = 0
    if data[:16] == HEADER:
        size = int.from_bytes(data[16:18], "big")
        size = 65536 if size == 1 else size
    elif len(journal) >= WAL_HEADER and int.from_bytes(journal[:4], "big") in WAL_MAGIC:
        size = int.from_bytes(journal[8:12], "big")
    return size if 512 <= size <= 65536 and size & (size - 1) == 0 else PAGE_SIZE


def _committed_pages(journal: mmap.mmap | bytes, page_size: int) -> dict[int, int]:
    """Where in the journal the newest committed version of each page is."""
    if len(journal) < WAL_HEADER or int.from_bytes(journal[:4], "big") not in WAL_MAGIC:
        return {}
    salt, committed, pending = journal[16:24], dict[int, int](), dict[int, int]()
    for position in range(WAL_HEADER, len(journal) - FRAME_HEADER - page_size + 1, FRAME_HEADER + page_size):
        number, commit = struct.unpack(">II", journal[position : position + 8])
        if journal[position + 8 : position + 16] != salt or not number:
            break  # left over from before the journal was restarted
        pending[number] = position + FRAME_HEADER
        if commit:
            committed |= pending
            pending = {}
    return committed


def _read_varint(data: bytes, start: int) -> tuple[int, int]:
    """A number of one to nine bytes, signed as in SQLite, and where it ends."""
    value = 0
    for index in range(8):
        byte = data[start + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, start + index + 1
    value = value << 8 | data[start + 8]
    return value - (1 << 64) if value >= 1 << 63 else value, start + 9


def _read_bytes(data: bytes, start: int, size: int) -> bytes:
    part = data[start : start + size]
    if size < 0 or len(part) != size:
        raise Unreadable
    return part


def _parse_record(data: bytes) -> Row:
    """The values of a row. Its header gives the length of each, and together they must be as long as the row."""
    end, position = _read_varint(data, 0)
    if not 0 < end <= min(len(data), MAX_HEADER_BYTES):
        raise Unreadable
    types = []
    while position < end:
        type_, position = _read_varint(data, position)
        types.append(type_)
    sizes = [SIZES.get(type_, (type_ - 12) // 2) for type_ in types]
    if position != end or min(types, default=0) < 0 or end + sum(sizes) != len(data) or {10, 11} & set(types):
        raise Unreadable
    values: list[Value] = []
    for type_, size in zip(types, sizes, strict=True):
        values.append(_parse_value(type_, data[position : position + size]))
        position += size
    return tuple(values)


def _parse_value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind in (8, 9):
        return kind - 8
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind < 7:
        return int.from_bytes(data, "big", signed=True)
    return data if kind % 2 == 0 else data.decode("utf-8")
