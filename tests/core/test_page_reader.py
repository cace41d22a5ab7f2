"""Pages of a damaged database may hold anything: reading them takes bounded time and memory."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from chyme.core.store.rescue.page_reader import PAGE_SIZE, PageReader, Row

LEAF = 0x0D


def write_database(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 4096")
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        db.execute("INSERT INTO notes VALUES (1, 'short'), (2, ?)", ("long " * 10_000,))


def leaf(cells: list[bytes], pointers: int = 0) -> bytes:
    """Return a page of a table with these cells; `pointers` says how many times the page points to them."""
    body = b"".join(reversed(cells))
    ends, at = [], PAGE_SIZE
    for cell in cells:
        at -= len(cell)
        ends.append(at)
    named = ends * max(1, pointers)
    head = struct.pack(">BHHHB", LEAF, 0, len(named), PAGE_SIZE - len(body), 0)
    head += b"".join(struct.pack(">H", at) for at in named)
    return head.ljust(PAGE_SIZE - len(body), b"\0") + body


def varint(value: int) -> bytes:
    out = [value & 0x7F]
    while value := value >> 7:
        out.append(value & 0x7F | 0x80)
    return bytes(reversed(out))


def long_row(size: int, following: int) -> bytes:
    """Return a cell whose row has this size and continues on another page."""
    usable = PAGE_SIZE
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    here = least + (size - least) % (usable - 4)
    here = here if here <= most else least
    record = b"\x02\x00".ljust(here, b"\0")
    return varint(size) + varint(1) + record + struct.pack(">I", following)


def read(path: Path) -> tuple[list[Row], PageReader]:
    with closing(PageReader(path)) as reader:
        return [row for _, row in reader.rows()], reader


class CountingReader(PageReader):
    """Counts how often it reads a page."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.count = 0

    def _read_page(self, number: int) -> bytes:
        self.count += 1
        return super()._read_page(number)


def count_pages_read(path: Path) -> tuple[list[Row], int]:
    with closing(CountingReader(path)) as reader:
        return [row for _, row in reader.rows()], reader.count


def test_rows_of_a_whole_database_are_read(tmp_path: Path) -> None:
    write_database(tmp_path / "a.db")

    rows, reader = read(tmp_path / "a.db")

    assert (None, "short") in rows and (None, "long " * 10_000) in rows
    assert reader.pages.damaged == 0


def test_a_long_row_that_leads_back_to_itself_is_no_row(tmp_path: Path) -> None:
    path, pages = tmp_path / "a.db", 400
    write_database(path)
    path.write_bytes(path.read_bytes().ljust(pages * PAGE_SIZE, b"\0"))
    circle = struct.pack(">I", pages).ljust(PAGE_SIZE, b"\0")
    row = long_row(300 * PAGE_SIZE, pages)
    with path.open("r+b") as stream:
        for number in range(100, 300):
            stream.seek((number - 1) * PAGE_SIZE)
            stream.write(leaf([row], 500 if len(row) < 3000 else 1))
        stream.seek((pages - 1) * PAGE_SIZE)
        stream.write(circle)

    rows, read_pages = count_pages_read(path)

    assert (None, "long " * 10_000) in rows
    assert read_pages < 20 * pages


def test_long_rows_that_share_their_pages_are_read_a_few_times_only(tmp_path: Path) -> None:
    path, pages = tmp_path / "a.db", 600
    write_database(path)
    path.write_bytes(path.read_bytes().ljust(pages * PAGE_SIZE, b"\0"))
    row = long_row(300 * PAGE_SIZE, 250)
    with path.open("r+b") as stream:
        for number in range(100, 200):
            stream.seek((number - 1) * PAGE_SIZE)
            stream.write(leaf([row], 400))
        for number in range(250, 590):
            stream.seek((number - 1) * PAGE_SIZE)
            stream.write(struct.pack(">I", number + 1).ljust(PAGE_SIZE, b"\0"))

    rows, read_pages = count_pages_read(path)

    assert (None, "long " * 10_000) in rows
    assert read_pages < 20 * pages


def test_a_row_of_millions_of_columns_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text BLOB)")
        db.execute("INSERT INTO notes VALUES (1, ?)", (bytes(2_000_000),))
    data = bytearray(path.read_bytes())
    at = data.index(b"\x06\x00", PAGE_SIZE)  # the head of the row: its length, NULL, and the length of the BLOB
    data[at : at + 6] = varint(2_000_006).ljust(6, b"\0")  # all of the row is its head
    path.write_bytes(data)

    rows, _ = read(path)

    assert all(len(row) < 1000 for row in rows)


def test_a_journal_that_names_a_page_far_away_does_not_make_the_file_longer(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write_database(path)
    salt = b"saltsalt"
    header = struct.pack(">IIII", 0x377F0682, 3007000, PAGE_SIZE, 0) + salt + bytes(8)
    frames = b"".join(
        struct.pack(">II", number, commit) + salt + bytes(8) + leaf([varint(7) + varint(9) + b"\x03\x00\x15after"])
        for number, commit in ((4_000_000_000, 0), (5000, 4_000_000_000))
    )
    path.with_name("a.db-wal").write_bytes(header + frames)

    rows, reader = read(path)

    assert (None, "short") in rows
    assert reader.pages.total < 1000
