"""Parse the header of 7z archives: which files are in which packed streams. No number is trusted."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from chyme.documents.conversion.archives.members import DamagedArchive

END, HEADER, FILES, PACK_INFO, FOLDERS, SUBSTREAMS = 0x00, 0x01, 0x05, 0x06, 0x07, 0x08
SIZES, DIGESTS, FOLDER, UNPACK_SIZES, STREAM_COUNTS = 0x09, 0x0A, 0x0B, 0x0C, 0x0D
EMPTY_STREAM, EMPTY_FILE, NAMES, ATTRIBUTES, ENCODED_HEADER = 0x0E, 0x0F, 0x11, 0x15, 0x17
STREAMS, ARCHIVE_PROPERTIES = 0x04, 0x02
MOST_CODERS = 8
LARGEST_HEADER = 64 * 1024 * 1024
_DIRECTORY, _UNIX, _LINK = 0x10, 0x8000, 0xA000


@dataclass(frozen=True, slots=True)
class Coder:
    """One step of packing: its method, and its properties."""

    method: bytes
    properties: bytes
    is_simple: bool  # one stream in, one out


@dataclass(slots=True)
class Folder:
    """Files packed together: the steps, where the packed bytes are, and the sizes of the files."""

    coders: tuple[Coder, ...]
    packed_count: int
    sizes: list[int] = field(default_factory=list)  # unpacked, after each coder
    has_digest: bool = False
    start: int = 0
    packed_size: int = 0
    files: list[int] = field(default_factory=list)  # sizes of the files in it

    @property
    def unpacked_size(self) -> int:
        return max(self.sizes, default=0)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file: its path, its size, and its folder; None for an empty file."""

    path: str
    size: int
    folder: int | None
    is_directory: bool
    is_link: bool


class HeaderBytes:
    """Reads numbers from a header; beyond its end it is damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        data = self._data[self.position : self.position + count]
        if count < 0 or len(data) < count:
            raise DamagedArchive
        self.position += count
        return data

    def byte(self) -> int:
        return self.take(1)[0]

    def rest(self) -> bytes:
        return self.take(len(self._data) - self.position)

    def number(self) -> int:
        first = self.byte()
        mask, value = 0x80, 0
        for index in range(8):
            if not first & mask:
                return value | (first & (mask - 1)) << (8 * index)
            value |= self.byte() << (8 * index)
            mask >>= 1
        return value

    def count(self) -> int:
        """A number of things that are described by at least a bit each."""
        value = self.number()
        if value > 8 * len(self._data):
            raise DamagedArchive
        return value

    def bits(self, count: int) -> list[bool]:
        data = self.take(-(-count // 8))
        return [bool(data[index // 8] >> (7 - index % 8) & 1) for index in range(count)]

    def defined_bits(self, count: int) -> list[bool]:
        return [True] * count if self.byte() else self.bits(count)


def parse_streams(header: HeaderBytes) -> list[Folder]:
    """The folders with the place of their packed bytes, counted from the end of the archive's first 32 bytes."""
    position, has_substreams = 0, False
    packed_sizes: list[int] = []
    folders: list[Folder] = []
    while (sort := header.byte()) != END:
        if sort == PACK_INFO:
            position, packed_sizes = _pack_info(header)
        elif sort == FOLDERS:
            folders = _folders(header)
        elif sort == SUBSTREAMS:
            _substreams(header, folders)
            has_substreams = True
        else:
            raise DamagedArchive
    sizes = iter(packed_sizes)
    for folder in folders:
        folder.start = position
        folder.packed_size = sum(next(sizes, 0) for _ in range(folder.packed_count))
        position += folder.packed_size
        if not has_substreams:
            folder.files = [folder.unpacked_size]
    return folders


def _pack_info(header: HeaderBytes) -> tuple[int, list[int]]:
    position, count = header.number(), header.count()
    sizes: list[int] = []
    while (sort := header.byte()) != END:
        if sort == SIZES:
            sizes = [header.number() for _ in range(count)]
        elif sort == DIGESTS:
            header.take(4 * sum(header.defined_bits(count)))
        else:
            raise DamagedArchive
    return position, sizes


def _folders(header: HeaderBytes) -> list[Folder]:
    if header.byte() != FOLDER:
        raise DamagedArchive
    count = header.count()
    if header.byte():
        raise DamagedArchive  # described elsewhere: never seen
    found = [_folder(header) for _ in range(count)]
    while (sort := header.byte()) != END:
        if sort == UNPACK_SIZES:
            for folder in found:
                folder.sizes = [header.number() for _ in folder.coders]
        elif sort == DIGESTS:
            for folder, defined in zip(found, header.defined_bits(count), strict=True):
                folder.has_digest = defined
            header.take(4 * sum(folder.has_digest for folder in found))
        else:
            raise DamagedArchive
    return found


def _folder(header: HeaderBytes) -> Folder:
    count = header.number()
    if not 0 < count <= MOST_CODERS:
        raise DamagedArchive
    coders: list[Coder] = []
    streams_in = streams_out = 0
    for _ in range(count):
        flags = header.byte()
        method = header.take(flags & 0x0F)
        ins, outs = (header.number(), header.number()) if flags & 0x10 else (1, 1)
        if ins > MOST_CODERS or outs != 1:
            raise DamagedArchive
        properties = header.take(header.number()) if flags & 0x20 else b""
        coders.append(Coder(method, properties, ins == 1))
        streams_in, streams_out = streams_in + ins, streams_out + outs
    for _ in range(2 * (streams_out - 1)):
        header.number()
    packed = streams_in - (streams_out - 1)
    if packed > 1:
        for _ in range(packed):
            header.number()
    return Folder(tuple(coders), packed)


def _substreams(header: HeaderBytes, folders: list[Folder]) -> None:
    counts = [1] * len(folders)
    sort = header.byte()
    if sort == STREAM_COUNTS:
        counts = [header.count() for _ in folders]
        sort = header.byte()
    for folder, count in zip(folders, counts, strict=True):
        sizes = [header.number() for _ in range(count - 1)] if sort == SIZES else []
        folder.files = [*sizes, folder.unpacked_size - sum(sizes)] if count else []
        if any(size < 0 for size in folder.files) or len(folder.files) != count:
            raise DamagedArchive
    if sort == SIZES:
        sort = header.byte()
    while sort != END:
        if sort != DIGESTS:
            raise DamagedArchive
        unknown = sum(
            count for folder, count in zip(folders, counts, strict=True) if not (count == 1 and folder.has_digest)
        )
        header.take(4 * sum(header.defined_bits(unknown)))
        sort = header.byte()


def parse_files(header: HeaderBytes, folders: list[Folder]) -> list[FileEntry]:
    """The files in their order; those with content take the streams of the folders one after the other."""
    count = header.count()
    names, empty, empty_file, attributes = [""] * count, [False] * count, [], [0] * count
    while (sort := header.number()) != END:
        data = HeaderBytes(header.take(header.number()))
        if sort == NAMES:
            names = _names(data, count)
        elif sort == EMPTY_STREAM:
            empty = data.bits(count)
        elif sort == EMPTY_FILE:
            empty_file = data.bits(sum(empty))
        elif sort == ATTRIBUTES:
            defined = data.defined_bits(count)
            if not data.byte():
                attributes = [struct.unpack("<I", data.take(4))[0] if known else 0 for known in defined]
    streams = iter([(number, size) for number, folder in enumerate(folders) for size in folder.files])
    empties = iter(empty_file)
    entries: list[FileEntry] = []
    for name, is_empty, attribute in zip(names, empty, attributes, strict=True):
        is_file = next(empties, False) if is_empty else True
        folder, size = (None, 0) if is_empty else next(streams, (None, 0))
        is_link = bool(attribute & _UNIX) and attribute >> 16 & 0xF000 == _LINK
        entries.append(FileEntry(name, size, folder, not is_file or bool(attribute & _DIRECTORY), is_link))
    return entries


def _names(data: HeaderBytes, count: int) -> list[str]:
    if data.byte():
        raise DamagedArchive
    names = data.rest().decode("utf-16-le", "replace").split("\0")[:count]
    return names + [""] * (count - len(names))


def read_header(first: bytes, unpack_folder: Callable[[Folder, int], bytes]) -> tuple[list[Folder], list[FileEntry]]:
    """Folders and files. `unpack_folder` unpacks a header that is packed itself, up to so many bytes."""
    data = first
    for _ in range(4):  # a packed header in a packed header is as far as any program goes
        header = HeaderBytes(data)
        sort = header.byte()
        if sort == ENCODED_HEADER:
            folders = parse_streams(header)
            if len(folders) != 1 or folders[0].unpacked_size > LARGEST_HEADER:
                raise DamagedArchive
            data = unpack_folder(folders[0], folders[0].unpacked_size)
            continue
        if sort != HEADER:
            raise DamagedArchive
        return _parse_header(header)
    raise DamagedArchive


def _parse_header(header: HeaderBytes) -> tuple[list[Folder], list[FileEntry]]:
    folders: list[Folder] = []
    entries: list[FileEntry] = []
    while (sort := header.byte()) != END:
        if sort == ARCHIVE_PROPERTIES:
            while header.byte() != END:
                header.take(header.number())
        elif sort == STREAMS:
            folders = parse_streams(header)
        elif sort == FILES:
            entries = parse_files(header, folders)
        else:
            raise DamagedArchive
    return folders, entries
