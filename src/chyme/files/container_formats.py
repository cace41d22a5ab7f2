"""Reads the names inside zip and OLE containers without trusting them: bounded reads, no unpacking."""

from __future__ import annotations

import struct
from collections.abc import Callable

ReadAt = Callable[[int, int], bytes]  # offset, length

ZIP_TAIL = 22 + 65_535
ZIP_DIRECTORY = 131_072
OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLE_SECTORS = 256


def zip_names(head: bytes, size: int, read_at: ReadAt) -> tuple[str, ...]:
    """The first names in a zip file, from its directory or, if that is cut off, from the entries in its head."""
    for window in (min(size, 4096), min(size, ZIP_TAIL)):
        tail = read_at(size - window, window)
        position = tail.rfind(b"PK\x05\x06")
        if position >= 0 or size == window:
            break
    if position >= 0 and len(tail) - position >= 22:
        length, offset = struct.unpack_from("<II", tail, position + 12)
        length = min(length, ZIP_DIRECTORY)
        # Data before the archive (a self-extractor's stub) shifts every offset.
        for start in (offset, size - window + position - struct.unpack_from("<I", tail, position + 12)[0]):
            if 0 <= start < size:
                names = _directory_names(read_at(start, length))
                if names:
                    return names
    return _entry_names(head)


def _directory_names(directory: bytes) -> tuple[str, ...]:
    names: list[str] = []
    position = 0
    while position + 46 <= len(directory) and directory[position : position + 4] == b"PK\x01\x02":
        name_length, extra_length, comment_length = struct.unpack_from("<HHH", directory, position + 28)
        names.append(directory[position + 46 : position + 46 + name_length].decode("utf-8", "replace"))
        position += 46 + name_length + extra_length + comment_length
    return tuple(names)


def _entry_names(head: bytes) -> tuple[str, ...]:
    names: list[str] = []
    position = head.find(b"PK\x03\x04")
    while position >= 0 and position + 30 <= len(head):
        (length,) = struct.unpack_from("<H", head, position + 26)
        names.append(head[position + 30 : position + 30 + length].decode("utf-8", "replace"))
        position = head.find(b"PK\x03\x04", position + 30)
    return tuple(names)


def stored_mimetype(head: bytes) -> str | None:
    """The type that an ODF or EPUB package declares in its first, uncompressed entry."""
    if len(head) < 38 or head[:4] != b"PK\x03\x04":
        return None
    method, length, name, extra = (
        *struct.unpack_from("<H", head, 8),
        *struct.unpack_from("<I", head, 18),
        *struct.unpack_from("<HH", head, 26),
    )
    if method != 0 or head[30 : 30 + name] != b"mimetype":
        return None
    start = 30 + name + extra
    if not length:  # written as a stream: the length follows the data
        end = head.find(b"PK", start)
        length = max(0, end - start) if end >= 0 else 100
    data = head[start : start + min(length, 100)]
    return data.decode("ascii", "replace").strip() if data else None


def ole_names(head: bytes, size: int, read_at: ReadAt) -> frozenset[str]:
    """The names of top-level streams and storages of an OLE file; empty if it cannot be parsed."""
    header = head[:512] if len(head) >= 512 else read_at(0, 512)
    if len(header) < 512 or header[:8] != OLE_MARK:
        return frozenset()
    shift = struct.unpack_from("<H", header, 30)[0]
    if shift not in (9, 12):
        return frozenset()
    return _top_level(_directory_entries(header, 1 << shift, size, read_at))


def _directory_entries(header: bytes, sector: int, size: int, read_at: ReadAt) -> list[bytes]:
    table = struct.unpack_from("<109I", header, 76)
    fat: dict[int, tuple[int, ...]] = {}
    per_sector = sector // 4
    current = struct.unpack_from("<I", header, 48)[0]
    seen: set[int] = set()
    entries: list[bytes] = []
    while current < 0xFFFFFFFA and current not in seen and len(seen) < OLE_SECTORS:
        seen.add(current)
        block = read_at((current + 1) * sector, sector)
        entries += [block[offset : offset + 128] for offset in range(0, len(block) - 127, 128)]
        table_index, entry_index = divmod(current, per_sector)
        if table_index >= len(table) or (table[table_index] + 1) * sector >= size:
            break
        if table_index not in fat:
            raw = read_at((table[table_index] + 1) * sector, sector)
            fat[table_index] = struct.unpack_from(f"<{len(raw) // 4}I", raw)
        if entry_index >= len(fat[table_index]):
            break
        current = fat[table_index][entry_index]
    return entries


def _top_level(entries: list[bytes]) -> frozenset[str]:
    """Only the root's own children: a document embedded further down does not decide the type of the file."""
    if not entries:
        return frozenset()
    names: set[str] = set()
    pending = [struct.unpack_from("<I", entries[0], 76)[0]]
    seen: set[int] = set()
    while pending:
        number = pending.pop()
        if number in seen or number >= len(entries):
            continue
        seen.add(number)
        entry = entries[number]
        length = min(struct.unpack_from("<H", entry, 64)[0], 64)
        names.add(entry[: max(0, length - 2)].decode("utf-16-le", "replace"))
        pending += struct.unpack_from("<II", entry, 68)
    return frozenset(names)
