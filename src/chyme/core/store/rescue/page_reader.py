"""Read rows from the pages of an SQLite file, one page at a time, whatever else in the file is damaged.

SQLite finds rows from the first page down: one bad page hides all below it. Here every page is looked at by itself.
The format: https://www.sqlite.org/fileformat2.html. Deleted rows do not turn up: chyme's databases overwrite them.
Whatever the bytes are, time grows with the length of the file alone: no page is read much more often than once.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = b"SQLite format 3\0"
PAGE_SIZE = 4096  # of every database that chyme makes
TABLE_LEAF, INDEX_LEAF, INDEX_INNER, TABLE_INNER = 0x0D, 0x0A, 0x02, 0x05
WAL_MAGIC = (0x377F0682, 0x377F0683)
WAL_HEADER, FRAME_HEADER = 32, 24
HEADER_BYTES = 1000  # of a row: a few for each column, of which no table of chyme's has fifty
CONTINUED = 4  # times as many continuations of rows are read as there are pages: of a whole database each is read once
SIZES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}  # bytes of a value, by its type

Value = int | float | str | bytes | None
Row = tuple[Value, ...]


class Unreadable(Exception):
    """These bytes are no row."""


@dataclass(slots=True)
class Pages:
    """How many pages there are, and how many are none of SQLite's."""

    total: int = 0
    damaged: int = 0


class PageReader:
    """The pages of a database, with what its journal has committed. Reads only. Must be closed."""

    def __init__(self, path: Path) -> None:
        self._stack = contextlib.ExitStack()
        self._data = self._map(path)
        self._journal = self._map(path.with_name(f"{path.name}-wal"))
        self.page_size = _page_size(self._data, self._journal)
        self._usable = self.page_size - (self._data[20] if self._data[:16] == HEADER else 0)
        self._newer = _committed(self._journal, self.page_size)
        own = range(1, len(self._data) // self.page_size + 1)
        self._numbers = [*own, *sorted(number for number in self._newer if number not in own)]
        self.pages = Pages(len(self._numbers))
        self._continued = CONTINUED * self.pages.total
        self._room = 0  # bytes of the page that no row has yet

    def close(self) -> None:
        self._data = self._journal = b""
        self._newer = {}
        self._stack.close()

    def rows(self) -> Iterator[tuple[int | None, Row]]:
        """Every row that can be read: of a table with its rowid, of an index or a table without rowid with None."""
        for number in self._numbers:
            page = self._page(number)
            start = 100 if number == 1 else 0
            kind = page[start] if len(page) > start else 0
            if kind in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER):
                yield from self._rows_of(page, start, kind)
            elif kind not in (0, TABLE_INNER):  # neither free nor the continuation of a long row
                self.pages.damaged += 1

    def _rows_of(self, page: bytes, start: int, kind: int) -> Iterator[tuple[int | None, Row]]:
        first = start + (12 if kind == INDEX_INNER else 8)
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        if len(page) < self._usable or first + 2 * count > self._usable:
            self.pages.damaged += 1
            return
        bad = 0
        self._room = self._usable
        for (cell,) in struct.iter_unpack(">H", page[first : first + 2 * count]):
            try:
                if not first + 2 * count <= cell < self._usable:
                    raise Unreadable
                yield self._row(page, cell, kind)
            except (Unreadable, IndexError, UnicodeDecodeError, struct.error):
                bad = 1
        self.pages.damaged += bad

    def _row(self, page: bytes, at: int, kind: int) -> tuple[int | None, Row]:
        rowid = None
        if kind == INDEX_INNER:
            at += 4
        size, at = _varint(page, at)
        if kind == TABLE_LEAF:
            rowid, at = _varint(page, at)
        return rowid, _record(self._payload(page, at, size, kind))

    def _payload(self, page: bytes, at: int, size: int, kind: int) -> bytes:
        usable = self._usable
        most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return self._local(page, at, size)
        least = (usable - 12) * 32 // 255 - 23
        here = least + (size - least) % (usable - 4)
        here = here if here <= most else least
        parts, left = [self._local(page, at, here)], size - here
        following = int.from_bytes(_taken(page, at + here, 4), "big")
        if left > self.pages.total * usable:
            raise Unreadable
        seen = set[int]()
        while left > 0:
            if following < 2 or following in seen or self._continued <= 0:
                raise Unreadable
            seen.add(following)
            self._continued -= 1
            more = self._page(following)
            part = _taken(more, 4, min(left, usable - 4))
            following = int.from_bytes(more[:4], "big")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _local(self, page: bytes, at: int, size: int) -> bytes:
        """The part of a row that is in the page itself; no two rows of a page have bytes in common."""
        if not 0 <= size <= self._room:
            raise Unreadable
        self._room -= size
        return _taken(page, at, size)

    def _page(self, number: int) -> bytes:
        at = self._newer.get(number)
        if at is not None:
            return bytes(self._journal[at : at + self.page_size])
        return bytes(self._data[(number - 1) * self.page_size : number * self.page_size])

    def _map(self, path: Path) -> mmap.mmap | bytes:
        try:
            stream = self._stack.enter_context(path.open("rb"))
            return self._stack.enter_context(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (FileNotFoundError, ValueError):  # not there, or empty
            return b""


def _page_size(data: mmap.mmap | bytes, journal: mmap.mmap | bytes) -> int:
    told = 0
    if data[:16] == HEADER:
        told = int.from_bytes(data[16:18], "big")
        told = 65536 if told == 1 else told
    elif len(journal) >= WAL_HEADER and int.from_bytes(journal[:4], "big") in WAL_MAGIC:
        told = int.from_bytes(journal[8:12], "big")
    return told if 512 <= told <= 65536 and told & (told - 1) == 0 else PAGE_SIZE


def _committed(journal: mmap.mmap | bytes, page_size: int) -> dict[int, int]:
    """Where in the journal the newest version of each page is that a transaction left there."""
    if len(journal) < WAL_HEADER or int.from_bytes(journal[:4], "big") not in WAL_MAGIC:
        return {}
    salt, found, pending = journal[16:24], dict[int, int](), dict[int, int]()
    for at in range(WAL_HEADER, len(journal) - FRAME_HEADER - page_size + 1, FRAME_HEADER + page_size):
        number, commit = struct.unpack(">II", journal[at : at + 8])
        if journal[at + 8 : at + 16] != salt or not number:
            break  # left over from before the journal was begun anew
        pending[number] = at + FRAME_HEADER
        if commit:
            found |= pending
            pending = {}
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, signed as SQLite's are, and where it ends."""
    value = 0
    for position in range(8):
        byte = data[at + position]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + position + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) if value >= 1 << 63 else value, at + 9


def _taken(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if size < 0 or len(part) != size:
        raise Unreadable
    return part


def _record(data: bytes) -> Row:
    """The values of a row. Its header says how long each is, and together they must be as long as the row."""
    end, at = _varint(data, 0)
    if not 0 < end <= min(len(data), HEADER_BYTES):
        raise Unreadable
    types = []
    while at < end:
        one, at = _varint(data, at)
        types.append(one)
    sizes = [SIZES.get(one, (one - 12) // 2) for one in types]
    if at != end or min(types, default=0) < 0 or end + sum(sizes) != len(data) or {10, 11} & set(types):
        raise Unreadable
    values: list[Value] = []
    for one, size in zip(types, sizes, strict=True):
        values.append(_value(one, data[at : at + size]))
        at += size
    return tuple(values)


def _value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind in (8, 9):
        return kind - 8
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind < 7:
        return int.from_bytes(data, "big", signed=True)
    return data if kind % 2 == 0 else data.decode("utf-8")
