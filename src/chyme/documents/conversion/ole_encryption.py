"""Tell whether an old office document is encrypted: its readers call such files broken, or read noise."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from chyme.files.container_formats import OLE_MARK, ole_names

RIGHTS_PROTECTED = "\tDRMContent"
MOST_SECTORS = 1 << 16
_END = 0xFFFFFFFA  # this number and higher ones are marks, no sectors
_FILE_PASS, _WORKBOOK_RECORDS = 0x002F, 20  # the record of an encrypted workbook is among its first
_ENCRYPTED_SLIDES = 0xF3D1C4DF


def is_encrypted_ole(data: bytes) -> bool:
    """Whether an OLE file holds an encrypted or rights-protected document; False if it cannot be parsed."""
    if not data.startswith(OLE_MARK):
        return False
    names = ole_names(data[:512], len(data), lambda at, length: data[at : at + length])
    if names & {"EncryptedPackage", "EncryptedSummary", RIGHTS_PROTECTED}:
        return True
    try:
        streams = _Streams(data)
        if "WordDocument" in names:
            flags = streams.beginning("WordDocument", 12)[10:12]
            return len(flags) == 2 and bool(struct.unpack("<H", flags)[0] & 0x0100)
        if "PowerPoint Document" in names:
            user = streams.beginning("Current User", 20)
            return len(user) >= 16 and struct.unpack_from("<I", user, 12)[0] == _ENCRYPTED_SLIDES
        workbook = next((name for name in ("Workbook", "Book") if name in names), None)
        return workbook is not None and _has_file_pass(streams.beginning(workbook, 4096))
    except (struct.error, IndexError):
        return False


def _has_file_pass(stream: bytes) -> bool:
    position = 0
    for _ in range(_WORKBOOK_RECORDS):
        if position + 4 > len(stream):
            return False
        sort, length = struct.unpack_from("<HH", stream, position)
        if sort == _FILE_PASS:
            return True
        position += 4 + length
    return False


class _Streams:
    """Reads the beginning of streams by the tables of an OLE file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._sector = 1 << struct.unpack_from("<H", data, 30)[0]
        if self._sector not in (512, 4096):
            raise struct.error
        self._directory_start, self._small_limit, self._mini_table_start = (
            *struct.unpack_from("<I", data, 48),
            *struct.unpack_from("<I", data, 56),
            *struct.unpack_from("<I", data, 60),
        )
        self._table_sectors = self._find_table_sectors()

    def beginning(self, name: str, count: int) -> bytes:
        """The first bytes of the first stream with this name; empty if there is none."""
        root: bytes | None = None
        for sector in self._chain(self._directory_start):
            block = self._block(sector)
            for offset in range(0, len(block) - 127, 128):
                entry = block[offset : offset + 128]
                root = root or entry
                length = max(0, min(struct.unpack_from("<H", entry, 64)[0], 64) - 2)
                if entry[:length].decode("utf-16-le", "replace") == name:
                    start, size = struct.unpack_from("<II", entry, 116)
                    if size < self._small_limit:
                        return self._small_beginning(root, start, min(count, size))
                    return self._large_beginning(start, min(count, size))
        return b""

    def _large_beginning(self, start: int, count: int) -> bytes:
        found = bytearray()
        for sector in self._chain(start):
            found += self._block(sector)
            if len(found) >= count:
                break
        return bytes(found[:count])

    def _small_beginning(self, root: bytes, start: int, count: int) -> bytes:
        """Small streams share one stream, in pieces of 64 bytes that another table chains."""
        container = self._large_beginning(struct.unpack_from("<I", root, 116)[0], MOST_SECTORS * 64)
        table = self._large_beginning(self._mini_table_start, MOST_SECTORS * 4)
        found, seen = bytearray(), 0
        while start < _END and len(found) < count and seen < MOST_SECTORS:
            found += container[start * 64 : start * 64 + 64]
            start = struct.unpack_from("<I", table, 4 * start)[0]
            seen += 1
        return bytes(found[:count])

    def _chain(self, sector: int) -> Iterator[int]:
        seen = 0
        while sector < _END and seen < MOST_SECTORS:
            yield sector
            seen += 1
            index, offset = divmod(sector, self._sector // 4)
            if index >= len(self._table_sectors):
                return
            table = self._block(self._table_sectors[index])
            sector = struct.unpack_from("<I", table, 4 * offset)[0]

    def _find_table_sectors(self) -> list[int]:
        """Where the table of chains is: the first 109 sectors are named in the header, more in further sectors."""
        found = [sector for sector in struct.unpack_from("<109I", self._data, 76) if sector < _END]
        more = struct.unpack_from("<I", self._data, 68)[0]
        seen = 0
        while more < _END and seen < 1000:
            block = self._block(more)
            numbers = struct.unpack(f"<{len(block) // 4}I", block[: len(block) // 4 * 4])
            found += [sector for sector in numbers[:-1] if sector < _END]
            more = numbers[-1] if numbers else _END
            seen += 1
        return found

    def _block(self, sector: int) -> bytes:
        return self._data[(sector + 1) * self._sector : (sector + 2) * self._sector]
