"""A file of vectors that never changes: written in one go, and mapped to be read.

It begins with a page that says what is in it; then come the ids, the files, the signs and the vectors themselves.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from chyme.core.files.regular_files import open_regular
from chyme.search.vectors.binary_codes import words_for
from chyme.search.vectors.id_ranges import Span

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from chyme.search.vectors.binary_codes import Floats, Whole, Words

_MAGIC = b"chyme vectors 1\n"
_PAGE = 4096
_WRITTEN = 2048  # vectors in one go


class DamagedSegment(ValueError):
    """The file is not what it should be, and is of no use."""


class WriteInterrupted(Exception):
    """Writing was given up half-way, because it was asked to end."""


@dataclass(frozen=True, slots=True)
class Label:
    """Whose vectors: nothing is read that bears another label."""

    database: str
    embedder: int
    model: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of an embedder's vectors, lowest id first."""

    ids: Whole
    files: Whole
    codes: Words  # a column for each vector
    vectors: Floats

    def __len__(self) -> int:
        return len(self.ids)

    def between(self, first: int, last: int | None = None) -> Piece:
        """Rows by where they stand."""
        rows = slice(first, last)
        return Piece(self.ids[rows], self.files[rows], self.codes[:, rows], self.vectors[rows])

    def after(self, id_: int) -> Piece:
        """Rows with higher ids."""
        return self.between(int(self.ids.searchsorted(id_, side="right")))


@dataclass(frozen=True, slots=True)
class Segment:
    """What one file holds: all vectors there were in its span."""

    path: Path
    inode: int  # a file of the same name may have taken its place
    span: Span
    piece: Piece


@dataclass(frozen=True, slots=True)
class _Head:
    label: Label
    low: int
    high: int
    count: int
    checksum: int  # of everything but the vectors, which are too many to be read each time


def write(
    stream: BinaryIO,
    label: Label,
    span: Span,
    parts: Sequence[tuple[Piece, Whole]],
    interrupted: Callable[[], bool] = lambda: False,
) -> None:
    """Write these rows of these pieces; ids must rise from the first to the last."""
    count = sum(len(rows) for _, rows in parts)
    stream.write(bytes(_PAGE))
    checksum = 0
    for block in _index(label, parts):
        checksum = zlib.crc32(block, checksum)
        stream.write(block)
    stream.write(bytes(-stream.tell() % _PAGE))
    for piece, rows in parts:
        for first in range(0, len(rows), _WRITTEN):
            if interrupted():
                raise WriteInterrupted
            stream.write(_plain(piece.vectors[rows[first : first + _WRITTEN]], "<f4"))
    stream.seek(0)
    stream.write(_page(_Head(label, *span, count, checksum)))


def _index(label: Label, parts: Sequence[tuple[Piece, Whole]]) -> Iterator[memoryview]:
    for piece, rows in parts:
        yield _plain(piece.ids[rows], "<i8")
    for piece, rows in parts:
        yield _plain(piece.files[rows], "<i8")
    for word in range(words_for(label.dimension)):
        for piece, rows in parts:
            yield _plain(piece.codes[word][rows], "<u8")


def _plain(numbers: NDArray[numpy.generic], kind: str) -> memoryview:
    return numbers.astype(kind, copy=False).data.cast("B") if numbers.size else memoryview(b"")


def _page(head: _Head) -> bytes:
    told = json.dumps(asdict(head)).encode()
    page = _MAGIC + b"%08x " % zlib.crc32(told) + told + b"\n"
    if len(page) > _PAGE:
        raise ValueError(f"the name of the model is too long: {head.label.model}")
    return page.ljust(_PAGE, b"\0")


def open_segment(path: Path, label: Label) -> Segment:
    """Map a file and check it; Damaged when it is cut short, altered, of another format or of other vectors."""
    import numpy

    with open_regular(path) as stream:
        inode = os.fstat(stream.fileno()).st_ino
        head = _head(stream.read(_PAGE), label)
        words = words_for(label.dimension)
        signs_at = _PAGE + 16 * head.count
        index_end = signs_at + 8 * words * head.count
        vectors_at = index_end + -index_end % _PAGE
        size = vectors_at + 4 * label.dimension * head.count
        if stream.seek(0, 2) != size:
            raise DamagedSegment(f"{path.name} should have {size} bytes")
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    with memoryview(mapped) as view, view[_PAGE:index_end] as index:
        if zlib.crc32(index) != head.checksum:
            raise DamagedSegment(f"{path.name} has been altered")
    ids, files = numpy.frombuffer(mapped, "<i8", 2 * head.count, _PAGE).reshape(2, -1)
    codes = numpy.frombuffer(mapped, "<u8", words * head.count, signs_at).reshape(words, head.count)
    vectors = (
        numpy.frombuffer(mapped, "<f4", label.dimension * head.count, vectors_at)
        if head.count
        else numpy.empty(0, "<f4")
    )
    piece = Piece(ids, files, codes, vectors.reshape(head.count, label.dimension))
    return Segment(path, inode, Span(head.low, head.high), piece)


def _head(page: bytes, label: Label) -> _Head:
    told = page.rstrip(b"\0").removeprefix(_MAGIC)
    checksum, _, values = told.rstrip(b"\n").partition(b" ")
    if not page.startswith(_MAGIC) or b"%08x" % zlib.crc32(values) != checksum:
        raise DamagedSegment("its first page is not ours")
    head = json.loads(values)
    if Label(**head.pop("label")) != label:
        raise DamagedSegment("it belongs to other vectors")
    return _Head(label, **head)
