"""Read tar archives as a stream: bounded headers, nothing is written, nothing is trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chyme.documents.conversion.archives.members import DamagedArchive, Member, check_record_count, display_path
from chyme.documents.conversion.archives.unpacking import ByteStream

BLOCK = 512
LONG_NAME = 64 * 1024
EXTENDED_HEADER = 1024 * 1024
_REMARKS = {b"1": "a link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a device", b"S": "a sparse file"}


class TarReader:
    """The files of a tar archive (v7, ustar, GNU, pax)."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._long_name: bytes | None = None
        self._extended: dict[bytes, bytes] = {}

    def __iter__(self) -> Iterator[Member]:
        passed = 0
        while header := self._stream.read(BLOCK):
            passed += 1
            check_record_count(passed)
            if header.count(0) == BLOCK and len(header) == BLOCK:
                return
            if not is_tar_header(header):
                raise DamagedArchive
            sort = header[156:157]
            size = self._size_of(header)
            if sort in (b"L", b"K", b"x", b"g", b"X"):
                self._remember(sort, size)
                continue
            content = size if sort not in (b"1", b"2", b"3", b"4", b"5", b"6") else 0
            end = self._stream.position + content
            path, is_sparse = self._path_of(header), self._is_sparse()
            self._long_name, self._extended = None, {}
            if sort != b"5" and not path.endswith("/"):
                remark = _REMARKS[b"S"] if is_sparse else _REMARKS.get(sort, "")
                if remark:
                    yield Member(path, size, remark)
                else:
                    passed -= 1
                    yield Member(path, size, read=self._read_on(end))
            self._stream.skip(end - self._stream.position)
            self._stream.read(-content % BLOCK)  # zeros that may be missing at the archive's end

    def _read_on(self, end: int) -> Callable[[int], bytes]:
        def read(count: int) -> bytes:
            wanted = max(0, min(count, end - self._stream.position))
            data = self._stream.read(wanted)
            if len(data) < wanted:
                raise DamagedArchive
            return data

        return read

    def _remember(self, sort: bytes, size: int) -> None:
        """Keep a long name or extended header for the file that follows."""
        most = EXTENDED_HEADER if sort in (b"x", b"X") else LONG_NAME
        data = self._stream.read(min(size, most))
        self._stream.skip(size - len(data) + -size % BLOCK)
        if sort == b"L":
            self._long_name = data.rstrip(b"\0")
        elif sort in (b"x", b"X"):
            self._extended = _extended_header(data)

    def _size_of(self, header: bytes) -> int:
        wide = self._extended.get(b"size")
        size = int(wide) if wide and wide.isdigit() and len(wide) < 20 else number(header[124:136])
        if size is None or size < 0:
            raise DamagedArchive
        return size

    def _is_sparse(self) -> bool:
        """Whether the bytes that follow are a map of pieces, as GNU tar keeps files with holes."""
        return any(key.startswith(b"GNU.sparse.") for key in self._extended)

    def _path_of(self, header: bytes) -> str:
        name = self._extended.get(b"GNU.sparse.name") or self._extended.get(b"path") or self._long_name
        if name is None:
            name = header[:100].split(b"\0", 1)[0]
            prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
            name = prefix + b"/" + name if prefix else name
        return display_path(name)


def is_tar_header(block: bytes) -> bool:
    """Whether a block is the header of a file in a tar archive: its checksum is right."""
    if len(block) < BLOCK:
        return False
    claimed = number(block[148:156])
    return claimed is not None and claimed == sum(block[:148]) + 8 * 0x20 + sum(block[156:BLOCK])


def number(field: bytes) -> int | None:
    """A number in octal digits, or in base 256 as GNU tar writes large ones."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b"\0 ")
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        return None


def _extended_header(data: bytes) -> dict[bytes, bytes]:
    """The records `length key=value` of a pax header."""
    fields: dict[bytes, bytes] = {}
    position = 0
    while position < len(data):
        digits, space, _ = data[position : position + 20].partition(b" ")
        if not space or not digits.isdigit() or not int(digits):
            break
        record = data[position + len(digits) + 1 : position + int(digits)]
        key, equals, value = record.rstrip(b"\n").partition(b"=")
        if equals:
            fields[key] = value
        position += int(digits)
    return fields
