"""List RAR archives (versions 4 and 5). Only files stored unpacked are read: the rest needs RAR's own program."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

from chyme.documents.conversion.archives.members import (
    DamagedArchive,
    EncryptedArchive,
    Member,
    check_record_count,
    display_path,
)

RAR5 = b"Rar!\x1a\x07\x01\x00"
HEADER_BYTES = 128 * 1024
_LONGEST_NUMBER = 10
PACKED = "packed by RAR, which is not read here"
_FILE5, _ENCRYPTION5, _END5 = 2, 4, 5
_MAIN4, _FILE4, _END4 = 0x73, 0x74, 0x7B


class RarReader:
    """The files of a RAR archive."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        stream.seek(0)
        self._is_rar5 = stream.read(8) == RAR5

    def __iter__(self) -> Iterator[Member]:
        position = 8 if self._is_rar5 else 7
        read_block = self._block5 if self._is_rar5 else self._block4
        others = 0
        while position < self._size:
            following, member = read_block(position)
            if member is not None:
                yield member
            else:
                others += 1
                check_record_count(others)
            if following is None:
                return
            if following <= position:
                raise DamagedArchive
            position = following

    def _block5(self, position: int) -> tuple[int | None, Member | None]:
        fields = _Fields(self._read_at(position + 4, _LONGEST_NUMBER))
        length = fields.number()
        header_start = position + 4 + fields.position
        header_end = header_start + length
        fields = _Fields(self._read_at(header_start, min(length, HEADER_BYTES)))
        sort, flags = fields.number(), fields.number()
        extra = fields.number() if flags & 1 else 0
        packed = fields.number() if flags & 2 else 0
        following = header_end + packed
        if sort == _ENCRYPTION5:
            raise EncryptedArchive
        if sort == _END5:
            return None, None
        if sort != _FILE5:
            return following, None
        file_flags, size = fields.number(), fields.number()
        fields.number()  # attributes
        fields.take((4 if file_flags & 2 else 0) + (4 if file_flags & 4 else 0))
        method = fields.number() >> 7 & 7
        fields.number()  # the system it was made on
        path = display_path(fields.take(fields.number()))
        if file_flags & 1:
            return following, None
        is_encrypted = extra > 0 and _has_encryption_record(fields.rest(extra))
        return following, self._member(path, size, is_encrypted, method == 0, header_end, packed)

    def _block4(self, position: int) -> tuple[int | None, Member | None]:
        header = self._read_at(position, 7)
        if len(header) < 7:
            return None, None
        sort, flags, length = header[2], *struct.unpack_from("<HH", header, 3)
        header += self._read_at(position + 7, max(length, 40) - 7)
        if sort == _MAIN4 and flags & 0x80:
            raise EncryptedArchive
        if sort == _END4:
            return None, None
        packed = struct.unpack_from("<I", header, 7)[0] if flags & 0x8000 and len(header) >= 11 else 0
        if sort != _FILE4 or len(header) < 32:
            return position + length + packed, None
        size = struct.unpack_from("<I", header, 11)[0]
        method, name_length, attributes = header[25], *struct.unpack_from("<HI", header, 26)
        start = 32
        if flags & 0x100:
            high_packed, high_size = struct.unpack_from("<II", header, 32)
            packed, size, start = packed | high_packed << 32, size | high_size << 32, 40
        path = display_path(header[start : start + name_length].split(b"\0", 1)[0])
        following = position + length + packed
        if flags & 0xE0 == 0xE0 or attributes & 0x10:
            return following, None
        return following, self._member(path, size, bool(flags & 4), method == 0x30, position + length, packed)

    def _member(self, path: str, size: int, is_encrypted: bool, is_stored: bool, start: int, packed: int) -> Member:
        if is_encrypted or not is_stored or size != packed:
            return Member(path, size, "encrypted" if is_encrypted else PACKED)
        return Member(path, size, read=self._read_on(start, start + size))

    def _read_on(self, start: int, end: int) -> Callable[[int], bytes]:
        position = start

        def read(count: int) -> bytes:
            nonlocal position
            wanted = max(0, min(count, end - position))
            data = self._read_at(position, wanted)
            if len(data) < wanted:
                raise DamagedArchive
            position += len(data)
            return data

        return read

    def _read_at(self, position: int, length: int) -> bytes:
        if position >= self._size or length <= 0:
            return b""
        self._stream.seek(position)
        return self._stream.read(length)


class _Fields:
    """The fields of a RAR 5 header, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        data = self._data[self.position : self.position + count]
        if len(data) < count:
            raise DamagedArchive
        self.position += count
        return data

    def number(self) -> int:
        value = 0
        for index in range(10):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * index)
            if not byte & 0x80:
                return value
        raise DamagedArchive

    def rest(self, count: int) -> _Fields:
        return _Fields(self._data[self.position : self.position + count])


def _has_encryption_record(fields: _Fields) -> bool:
    """Whether the additional records of a file say that it is encrypted."""
    try:
        while True:
            length = fields.number()
            start = fields.position
            if fields.number() == 1:
                return True
            fields.position = start + length
    except DamagedArchive:
        return False
