"""Read 7z archives with the decoders of the standard library: LZMA, LZMA2, deflate, bzip2, and stored files."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from chyme.documents.conversion.archives.members import (
    DamagedArchive,
    EncryptedArchive,
    Member,
    OutOfReach,
    display_path,
)
from chyme.documents.conversion.archives.seven_zip_header import (
    LARGEST_HEADER,
    Coder,
    FileEntry,
    Folder,
    read_header,
)
from chyme.documents.conversion.archives.unpacking import (
    CHUNK,
    LARGEST_WINDOW,
    Decoder,
    Inflater,
    lzma1_filter,
    raw_decoder,
    unpack,
)

SIGNATURE_HEADER = 32
_COPY, _DEFLATE, _BZIP2, _AES = b"\x00", b"\x04\x01\x08", b"\x04\x02\x02", b"\x06\xf1\x07\x01"
_LZMA1, _LZMA2 = b"\x03\x01\x01", b"\x21"
_DELTA = b"\x03"
_FILTERS = {b"\x03\x03\x01\x03": lzma.FILTER_X86, b"\x04": lzma.FILTER_X86, _DELTA: lzma.FILTER_DELTA}


class SevenZipReader:
    """The files of a 7z archive. `reach` is how much may be unpacked only to get to a file further on."""

    def __init__(self, stream: BinaryIO, size: int, reach: int) -> None:
        self._stream = stream
        self._size = size
        self._reach = reach
        self._folders, self._entries = read_header(self._first_header(), self._unpack_header)
        self.count = len(self._entries)

    def __iter__(self) -> Iterator[Member]:
        folder_number, stream, remark, position = None, None, "", 0
        for entry in self._entries:
            if entry.folder is not None and entry.folder != folder_number:
                folder = self._folders[entry.folder]
                folder_number, position, remark = entry.folder, 0, refusal(folder.coders)
                stream = None if remark else _FolderStream(self._stream, folder, self._size, self._reach)
            if not entry.is_directory:
                yield self._member(entry, stream, remark, position)
            position += entry.size

    def _member(self, entry: FileEntry, stream: _FolderStream | None, remark: str, position: int) -> Member:
        path = display_path(entry.path)
        if entry.folder is None:
            return Member(path, 0)
        if entry.is_link or stream is None:
            return Member(path, entry.size, remark or "a link")
        return Member(path, entry.size, read=_read_on(stream, position, entry.size))

    def _first_header(self) -> bytes:
        self._stream.seek(0)
        start = self._stream.read(SIGNATURE_HEADER)
        if len(start) < SIGNATURE_HEADER:
            raise DamagedArchive
        offset, length, crc = struct.unpack_from("<QQI", start, 12)
        if not length or length > LARGEST_HEADER or SIGNATURE_HEADER + offset + length > self._size:
            raise DamagedArchive
        self._stream.seek(SIGNATURE_HEADER + offset)
        header = self._stream.read(length)
        if zlib.crc32(header) != crc:
            raise DamagedArchive
        return header

    def _unpack_header(self, folder: Folder, size: int) -> bytes:
        remark = refusal(folder.coders)
        if remark == "encrypted":
            raise EncryptedArchive
        if remark:
            raise DamagedArchive
        return _FolderStream(self._stream, folder, self._size, self._reach).read(0, size)


def refusal(coders: tuple[Coder, ...]) -> str:
    """Why files packed in this way cannot be read; empty if they can."""
    if any(coder.method == _AES for coder in coders):
        return "encrypted"
    methods = [coder.method for coder in coders]
    known = (_COPY, _DEFLATE, _BZIP2, _LZMA1, _LZMA2)
    main = [method for method in methods if method in known]
    is_chain = len(main) == 1 and all(method in known or method in _FILTERS for method in methods)
    if is_chain and all(coder.is_simple for coder in coders) and (len(methods) == 1 or main[0] in (_LZMA1, _LZMA2)):
        return "packed with more memory than is given here" if _window(coders) > LARGEST_WINDOW else ""
    return "packed in a way that is not read here"


def _read_on(stream: _FolderStream, start: int, size: int) -> Callable[[int], bytes]:
    """Reads one file of a folder piece by piece."""
    position = start

    def read(count: int) -> bytes:
        nonlocal position
        data = stream.read(position, min(count, start + size - position))
        position += len(data)
        return data

    return read


class _FolderStream:
    """The unpacked bytes of a folder, read forwards. Nothing is allocated before the first byte is asked for."""

    def __init__(self, stream: BinaryIO, folder: Folder, size: int, reach: int) -> None:
        self._stream = stream
        self._packed = SIGNATURE_HEADER + folder.start
        self._end = min(self._packed + folder.packed_size, size)
        self._coders = folder.coders
        self._decoder: Decoder | None = None
        self._reach = reach
        self._left = folder.unpacked_size
        self._position = 0
        self._ready = b""

    def read(self, position: int, count: int) -> bytes:
        """So many bytes from this position on, which is not before the last one. Raises OutOfReach."""
        if position - self._position > self._reach:
            raise OutOfReach
        parts: list[bytes] = []
        while count > 0:
            if not self._ready:
                self._ready = self._next_chunk()
                if not self._ready:
                    raise DamagedArchive
            skipped = min(max(0, position - self._position), len(self._ready))
            taken = self._ready[skipped : skipped + count]
            self._ready = self._ready[skipped + len(taken) :]
            self._position += skipped + len(taken)
            position += len(taken)
            count -= len(taken)
            parts.append(taken)
        return b"".join(parts)

    def _next_chunk(self) -> bytes:
        if self._decoder is None and self._coders[0].method != _COPY:
            self._decoder = _decoder(self._coders)
        chunk = (unpack(self._decoder, self._read_packed) if self._decoder else self._read_packed())[: self._left]
        self._left -= len(chunk)
        return chunk

    def _read_packed(self) -> bytes:
        if self._packed >= self._end:
            return b""
        self._stream.seek(self._packed)
        data = self._stream.read(min(CHUNK, self._end - self._packed))
        self._packed += len(data)
        return data


def _decoder(coders: tuple[Coder, ...]) -> Decoder:
    filters: list[dict[str, int]] = []
    main: list[dict[str, int]] = []
    for coder in coders:
        if coder.method == _DEFLATE:
            return Inflater(-15)
        if coder.method == _BZIP2:
            return bz2.BZ2Decompressor()
        if coder.method in _FILTERS:
            filters.append({"id": _FILTERS[coder.method]})
            if coder.method == _DELTA:
                filters[-1]["dist"] = (coder.properties[0] if coder.properties else 0) + 1
        elif coder.method == _LZMA1:
            if len(coder.properties) < 5 or coder.properties[0] >= 225:
                raise DamagedArchive
            main.append(lzma1_filter(coder.properties))
        else:
            main.append({"id": lzma.FILTER_LZMA2, "dict_size": _lzma2_window(coder.properties)})
    return raw_decoder(filters + main)


def _window(coders: tuple[Coder, ...]) -> int:
    """The memory that unpacking needs; 0 if it is small, or the archive does not tell it."""
    for coder in coders:
        if coder.method == _LZMA2 and coder.properties and coder.properties[0] <= 40:
            return _lzma2_window(coder.properties)
        if coder.method == _LZMA1 and len(coder.properties) >= 5:
            return int(lzma1_filter(coder.properties)["dict_size"])
    return 0


def _lzma2_window(properties: bytes) -> int:
    if not properties or properties[0] > 40:
        raise DamagedArchive
    value = properties[0]
    return 0xFFFFFFFF if value == 40 else (2 | value & 1) << (value // 2 + 11)
