"""Read zip archives of any size: a bounded part of their directory, and single files without trusting their sizes."""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from chyme.documents.conversion.archives.members import DamagedArchive, Member, check_record_count, display_path
from chyme.documents.conversion.archives.unpacking import CHUNK, Decoder, Inflater, lzma_decoder, unpack

TAIL = 22 + 65_535
_UTF8, _ENCRYPTED = 0x800, 0x1
_ZIP64 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    is_link: bool


class ZipReader:
    """The files of a zip archive. `count` is what its directory claims."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        self._start, self._length, self.count, self._shift = _find_directory(stream, size)

    def __iter__(self) -> Iterator[Member]:
        folders = 0
        for entry in self._entries():
            if entry.path.endswith("/"):
                folders += 1
                check_record_count(folders)
                continue
            remark = "encrypted" if entry.flags & _ENCRYPTED else "a link" if entry.is_link else ""
            if remark:
                yield Member(entry.path, entry.size, remark)
            elif entry.method not in (0, 8, 12, 14):
                yield Member(entry.path, entry.size, "packed in a way that is not read here")
            else:
                yield Member(entry.path, entry.size, read=self._read_on(entry))

    def _entries(self) -> Iterator[_Entry]:
        position, end = self._start, self._start + self._length
        while position + 46 <= end:
            header = self._read_at(position, 46)
            if header[:4] != b"PK\x01\x02" or len(header) < 46:
                raise DamagedArchive
            flags, method = struct.unpack_from("<HH", header, 8)
            crc, packed, size, name_length, extra_length, comment_length = struct.unpack_from("<IIIHHH", header, 16)
            attributes, offset = struct.unpack_from("<II", header, 38)
            rest = self._read_at(position + 46, name_length + extra_length)
            packed, size, offset = _with_zip64(rest[name_length:], packed, size, offset)
            is_link = header[5] == 3 and attributes >> 28 == 0xA  # a symbolic link of Unix
            yield _Entry(
                _path(rest[:name_length], flags), flags, method, crc, packed, size, offset + self._shift, is_link
            )
            position += 46 + name_length + extra_length + comment_length

    def _read_on(self, entry: _Entry) -> Callable[[int], bytes]:
        """Reads one file piece by piece; nothing happens before the first piece."""
        chunks = self._unpacked(entry)
        ready = bytearray()

        def read(count: int) -> bytes:
            while len(ready) < count and (chunk := next(chunks, b"")):
                ready.extend(chunk)
            data = bytes(ready[:count])
            del ready[:count]
            return data

        return read

    def _unpacked(self, entry: _Entry) -> Iterator[bytes]:
        """The file's bytes. Raises DamagedArchive if there are fewer than it claims, or others."""
        crc, left = 0, entry.size
        for chunk in self._unpacked_chunks(entry):
            crc, left = zlib.crc32(chunk[:left], crc), left - len(chunk)
            yield chunk[: left + len(chunk)]
            if left <= 0:
                break
        if left > 0 or crc != entry.crc:
            raise DamagedArchive

    def _unpacked_chunks(self, entry: _Entry) -> Iterator[bytes]:
        header = self._read_at(entry.offset, 30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise DamagedArchive
        start = entry.offset + 30 + sum(struct.unpack_from("<HH", header, 26))
        end = min(start + entry.packed, self._size)
        if entry.method == 0:
            while start < end and (stored := self._read_at(start, min(CHUNK, end - start))):
                start += len(stored)
                yield stored
            return
        decoder = _decoder(entry.method, self._read_at(start, 9))
        position = start + (9 if entry.method == 14 else 0)

        def read_packed() -> bytes:
            nonlocal position
            packed = self._read_at(position, min(CHUNK, end - position))
            position += len(packed)
            return packed

        while chunk := unpack(decoder, read_packed):
            yield chunk

    def _read_at(self, position: int, length: int) -> bytes:
        if not 0 <= position < self._size or length <= 0:
            return b""
        self._stream.seek(position)
        return self._stream.read(length)


def _decoder(method: int, beginning: bytes) -> Decoder:
    if method == 8:
        return Inflater(-15)
    if method == 12:
        return bz2.BZ2Decompressor()
    return lzma_decoder(beginning[4:9])


def _find_directory(stream: BinaryIO, size: int) -> tuple[int, int, int, int]:
    """Where the directory begins, its length, how many entries it claims, and how far all offsets are shifted."""
    window = min(size, TAIL)
    stream.seek(size - window)
    tail = stream.read(window)
    position = tail.rfind(b"PK\x05\x06")
    if position < 0 or len(tail) - position < 22:
        raise DamagedArchive
    count, length, offset = struct.unpack_from("<HII", tail, position + 10)
    end = size - window + position
    if position >= 20 and tail[position - 20 : position - 16] == b"PK\x06\x07":
        (record,) = struct.unpack_from("<Q", tail, position - 12)
        stream.seek(min(record, size))
        wide = stream.read(56)
        if len(wide) == 56 and wide[:4] == b"PK\x06\x06":
            count, length, offset = struct.unpack_from("<QQQ", wide, 32)
            end = record
    start = end - length
    # Data before the archive (the program of a self-extractor) shifts every offset.
    return (start, length, count, start - offset) if start >= 0 and offset <= start else (offset, length, count, 0)


def _with_zip64(extra: bytes, packed: int, size: int, offset: int) -> tuple[int, int, int]:
    """The numbers that did not fit into the entry's own fields."""
    position = 0
    while position + 4 <= len(extra):
        sort, length = struct.unpack_from("<HH", extra, position)
        if sort == 1:
            wide = extra[position + 4 : position + 4 + length]
            numbers = iter(struct.unpack(f"<{len(wide) // 8}Q", wide[: len(wide) // 8 * 8]))
            size = next(numbers, size) if size == _ZIP64 else size
            packed = next(numbers, packed) if packed == _ZIP64 else packed
            offset = next(numbers, offset) if offset == _ZIP64 else offset
            break
        position += 4 + length
    return packed, size, offset


def _path(raw: bytes, flags: int) -> str:
    if flags & _UTF8 or raw.isascii():
        return display_path(raw.decode("utf-8", "replace"))
    try:
        return display_path(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return display_path(raw.decode("cp437") if _looks_like_dos(raw) else raw)


def _looks_like_dos(raw: bytes) -> bool:
    """Whether all other bytes are the accented letters of the encoding that the first zip programs used."""
    return all(byte < 0x80 or 0x80 <= byte <= 0xA5 or byte == 0xE1 for byte in raw)
