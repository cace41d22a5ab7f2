"""An immutable file of vectors: written in one go, then mapped into memory.

It begins with a page that describes the contents; then follow the ids, the file ids, the signs and the vectors.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from chyme.core.files.untrusted_files import open_regular
from chyme.search.vectors.binary_codes import words_for

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from chyme.search.vectors.binary_codes import Floats, Whole, Words

_MAGIC = b"chyme vectors 1\n"
_PAGE_BYTES = 4096
_WRITE_BATCH = 2048  # vectors per write


class DamagedSegment(ValueError):
    """The file is not what it should be, and cannot be used."""


class WriteInterrupted(Exception):
    """Writing was stopped half-way on request."""


class Span(NamedTuple):
    """Everything with an id above `low`, up to and including `high`."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Label:
    """Whose vectors these are: a file with another label is never used."""

    database: str
    embedder: int
    model: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of an embedder's vectors, lowest id first."""

    ids: Whole
    files: Whole
    codes: Words  # one column per vector
    vectors: Floats

    def __len__(self) -> int:
        return len(self.ids)

    def between(self, first: int, last: int | None = None) -> Piece:
        """Rows by position."""
        rows = slice(first, last)
        return Piece(self.ids[rows], self.files[rows], self.codes[:, rows], self.vectors[rows])

    def after(self, id_: int) -> Piece:
        """Rows with higher ids."""
        return self.between(int(self.ids.searchsorted(id_, side="right")))


@dataclass(frozen=True, slots=True)
class Segment:
    """The contents of one file: all vectors that existed in its span."""

    path: Path
    inode: int  # to notice that another file has replaced it
    span: Span
    piece: Piece


@dataclass(frozen=True, slots=True)
class _Header:
    label: Label
    low: int
    high: int
    count: int
    checksum: int  # of everything but the vectors, which are too many to read each time


def write(
    stream: BinaryIO,
    label: Label,
    span: Span,
    parts: Sequence[tuple[Piece, Whole]],
    interrupted: Callable[[], bool] = lambda: False,
) -> None:
    """Write these rows of these pieces; the ids must be ascending."""
    count = sum(len(rows) for _, rows in parts)
    stream.write(bytes(_PAGE_BYTES))
    checksum = 0
    for block in _index_blocks(label, parts):
        checksum = zlib.crc32(block, checksum)
        stream.write(block)
    stream.write(bytes(-stream.tell() % _PAGE_BYTES))
    for piece, rows in parts:
        for first in range(0, len(rows), _WRITE_BATCH):
            if interrupted():
                raise WriteInterrupted
            stream.write(_as_bytes(piece.vectors[rows[first : first + _WRITE_BATCH]], "<f4"))
    stream.seek(0)
    stream.write(_format_header(_Header(label, *span, count, checksum)))


def _index_blocks(label: Label, parts: Sequence[tuple[Piece, Whole]]) -> Iterator[memoryview]:
    for piece, rows in parts:
        yield _as_bytes(piece.ids[rows], "<i8")
    for piece, rows in parts:
        yield _as_bytes(piece.files[rows], "<i8")
    for word in range(words_for(label.dimension)):
        for piece, rows in parts:
            yield _as_bytes(piece.codes[word][rows], "<u8")


def _as_bytes(numbers: NDArray[numpy.generic], dtype: str) -> memoryview:
    return numbers.astype(dtype, copy=False).data.cast("B") if numbers.size else memoryview(b"")


def _format_header(header: _Header) -> bytes:
    payload = json.dumps(asdict(header)).encode()
    page = _MAGIC + b"%08x " % zlib.crc32(payload) + payload + b"\n"
    if len(page) > _PAGE_BYTES:
        raise ValueError(f"the name of the model is too long: {header.label.model}")
    return page.ljust(_PAGE_BYTES, b"\0")


def open_segment(path: Path, label: Label) -> Segment:
    """Map a file and check it; DamagedSegment if it is truncated, altered, of another format or other vectors."""
    import numpy

    with open_regular(path) as stream:
        inode = os.fstat(stream.fileno()).st_ino
        header = _parse_header(stream.read(_PAGE_BYTES), label)
        words = words_for(label.dimension)
        signs_offset = _PAGE_BYTES + 16 * header.count
        index_end = signs_offset + 8 * words * header.count
        vectors_offset = index_end + -index_end % _PAGE_BYTES
        size = vectors_offset + 4 * label.dimension * header.count
        if stream.seek(0, 2) != size:
            raise DamagedSegment(f"{path.name} should have {size} bytes")
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    with memoryview(mapped) as view, view[_PAGE_BYTES:index_end] as index:
        if zlib.crc32(index) != header.checksum:
            raise DamagedSegment(f"{path.name} has been altered")
    ids, files = numpy.frombuffer(mapped, "<i8", 2 * header.count, _PAGE_BYTES).reshape(2, -1)
    codes = numpy.frombuffer(mapped, "<u8", words * header.count, signs_offset).reshape(words, header.count)
    vectors = (
        numpy.frombuffer(mapped, "<f4", label.dimension * header.count, vectors_offset)
        if header.count
        else numpy.empty(0, "<f4")
    )
    piece = Piece(ids, files, codes, vectors.reshape(header.count, label.dimension))
    return Segment(path, inode, Span(header.low, header.high), piece)


def _parse_header(page: bytes, label: Label) -> _Header:
    text = page.rstrip(b"\0").removeprefix(_MAGIC)
    checksum, _, values = text.rstrip(b"\n").partition(b" ")
    if not page.startswith(_MAGIC) or b"%08x" % zlib.crc32(values) != checksum:
        raise DamagedSegment("its first page is not in our format")
    fields = json.loads(values)
    if Label(**fields.pop("label")) != label:
        raise DamagedSegment("it belongs to other vectors")
    return _Header(label, **fields)
