"""A stream of unpacked bytes that ends with an error where a limit is reached."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from chyme.documents.conversion.archives.members import DamagedArchive, UnpackLimit
from chyme.documents.conversion.results import MB, ConversionLimits
from chyme.documents.conversion.zip_packages import ALWAYS_ALLOWED_BYTES
from chyme.files.extensions import BZIP2, GZIP, XZ

CHUNK = 256 * 1024
XZ_MEMORY = 256 * MB
LARGEST_WINDOW = 256 * MB  # memory of an LZMA decoder


class Decoder(Protocol):
    """What unpacks: it takes packed bytes when it needs some, and gives back at most so many."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Inflater:
    """zlib's decoder in the shape of the others."""

    def __init__(self, window: int) -> None:
        self._decoder = zlib.decompressobj(window)
        self._tail = b""

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._tail

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        chunk = self._decoder.decompress(self._tail + data, max_length)
        self._tail = self._decoder.unconsumed_tail
        return chunk


def lzma_decoder(properties: bytes) -> Decoder:
    """The decoder that five bytes describe: three numbers in one, and the size of the window."""
    if len(properties) < 5 or properties[0] >= 225:
        raise DamagedArchive
    return raw_decoder([lzma1_filter(properties)])


def lzma1_filter(properties: bytes) -> dict[str, int]:
    """The same as a filter of the standard library."""
    lc, rest = properties[0] % 9, properties[0] // 9
    (window,) = struct.unpack_from("<I", properties, 1)
    return {"id": lzma.FILTER_LZMA1, "dict_size": max(window, 4096), "lc": lc, "lp": rest % 5, "pb": rest // 5}


def raw_decoder(filters: list[dict[str, int]]) -> Decoder:
    """A decoder for these filters. Raises DamagedArchive if they want more memory than any honest archive."""
    if any(options.get("dict_size", 0) > LARGEST_WINDOW for options in filters):
        raise DamagedArchive
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
    except (lzma.LZMAError, ValueError, TypeError) as error:
        raise DamagedArchive from error


def unpack(decoder: Decoder, read_packed: Callable[[], bytes]) -> bytes:
    """The next chunk; empty at the end. Raises DamagedArchive where the packed bytes end too early or are broken."""
    try:
        while not decoder.eof:
            packed = read_packed() if decoder.needs_input else b""
            chunk = decoder.decompress(packed, CHUNK)
            if chunk:
                return chunk
            if not packed and decoder.needs_input and not decoder.eof:
                raise DamagedArchive
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise DamagedArchive from error
    return b""


class ByteStream:
    """Reads on, counts, and skips. Subclasses unpack."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        self.position = 0

    def read(self, count: int) -> bytes:
        """So many bytes, or fewer at the end."""
        data = self._stream.read(count)
        self.position += len(data)
        return data

    def skip(self, count: int) -> None:
        """Go on without reading. Raises DamagedArchive if there are not so many bytes."""
        if count <= 0:
            return
        if count > self._size - self.position:
            raise DamagedArchive
        self._stream.seek(count, 1)
        self.position += count


class UnpackedStream(ByteStream):
    """The bytes in a gzip, bzip2 or xz file. Raises UnpackLimit like a bomb would, DamagedArchive at a broken place."""

    def __init__(self, stream: BinaryIO, mime: str, size: int, limits: ConversionLimits) -> None:
        super().__init__(stream, size)
        self._new_decoder = _DECODERS[mime]
        self._decoder = self._new_decoder()
        self._ready = bytearray()
        self._unpacked = 0
        self._limits = limits

    def read(self, count: int) -> bytes:
        while len(self._ready) < count and (chunk := self._next_chunk()):
            self._unpacked += len(chunk)
            self._check()
            self._ready += chunk
        data = bytes(self._ready[:count])
        del self._ready[:count]
        self.position += len(data)
        return data

    def skip(self, count: int) -> None:
        while count > 0:
            data = self.read(min(count, CHUNK))
            if not data:
                raise DamagedArchive
            count -= len(data)

    def _next_chunk(self) -> bytes:
        while True:
            chunk = unpack(self._decoder, lambda: self._stream.read(CHUNK))
            if chunk:
                return chunk
            rest = self._decoder.unused_data.lstrip(b"\0") or self._stream.read(CHUNK).lstrip(b"\0")
            if not rest:
                return b""
            self._decoder = self._new_decoder()  # several packed files, one after the other
            first = _first_chunk(self._decoder, rest)
            if first is None:
                return b""  # what follows is no packed file
            if first:
                return first

    def _check(self) -> None:
        if self._unpacked > ALWAYS_ALLOWED_BYTES and self._unpacked > self._size * self._limits.archive_ratio:
            raise UnpackLimit(
                f"it unpacks to more than {self._limits.archive_ratio} times its size, like a bomb; "
                "raise archive_ratio if you trust it"
            )
        if self._unpacked > self._limits.document_bytes:
            raise UnpackLimit(
                f"only the first {self._limits.document_bytes // MB:,} MB are unpacked; "
                "raise document_bytes to read more"
            )


def _first_chunk(decoder: Decoder, packed: bytes) -> bytes | None:
    try:
        return decoder.decompress(packed, CHUNK)
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError):
        return None


_DECODERS: dict[str, Callable[[], Decoder]] = {
    GZIP: lambda: Inflater(31),
    BZIP2: bz2.BZ2Decompressor,
    XZ: lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY),
}
