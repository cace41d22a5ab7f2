"""What a digester keeps in its scratch folder, as one stream of bytes: it goes with an attempt that moves elsewhere."""

from __future__ import annotations

import json
import os
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from chyme.core.children.frames import ANSWER, INPUT, BadFrame

MAX_FILES = 2000
MAX_LIST = 256 << 10
CHUNK = 1 << 20
COMING = ".coming"  # the beginning of the names of files that are being unpacked

_SIZE = struct.Struct("!I")


def pack_folder(folder: Path, stream: BinaryIO, most_bytes: int) -> bool:
    """Write the plain files of a folder. False if there is nothing to keep, or more than `most_bytes`.

    The folder belongs to a child, which may have laid traps: links are not followed, and only plain files are read.
    """
    files = _list_files(folder)
    if not files or sum(size for _, size in files) > most_bytes:
        return False
    head = json.dumps(files).encode()
    if len(head) > MAX_LIST:
        return False
    stream.write(_SIZE.pack(len(head)) + head)
    return all(_copy_in(folder / name, size, stream) for name, size in files)


def _list_files(folder: Path) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            if plain and _is_fine_name(entry.name) and status.st_size:
                found.append((entry.name, status.st_size))
    return sorted(found)[:MAX_FILES]


def _copy_in(path: Path, size: int, stream: BinaryIO) -> bool:
    """Copy exactly so many bytes; a file that is being written to grows, and its beginning is what counts."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        while size:
            piece = os.read(fd, min(CHUNK, size))
            if not piece:
                return False
            stream.write(piece)
            size -= len(piece)
    finally:
        os.close(fd)
    return True


def unpack_folder(stream: BinaryIO, size: int, folder: Path, owner: int | None) -> None:
    """Put the files into a folder, each under its name only when it is whole. BadFrame for anything else.

    `owner`: the user that children run as, when chyme itself is root.
    """
    files = _read_list(stream, size)
    for name, length in files:
        coming = folder / f"{COMING}-{name}"
        with suppress(FileNotFoundError):
            coming.unlink()
        fd = os.open(coming, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if owner is not None:
                os.fchown(fd, owner, owner)
            _copy_out(stream, length, fd)
        finally:
            os.close(fd)
        coming.replace(folder / name)


def _copy_out(stream: BinaryIO, length: int, fd: int) -> None:
    while length:
        piece = stream.read(min(CHUNK, length))
        if not piece:
            raise BadFrame("kept files that end early")
        view = memoryview(piece)
        while view:
            view = view[os.write(fd, view) :]
        length -= len(piece)


def _read_list(stream: BinaryIO, size: int) -> list[tuple[str, int]]:
    (head_size,) = _SIZE.unpack(_exactly(stream, _SIZE.size))
    if head_size > min(MAX_LIST, size):
        raise BadFrame("a list of kept files that is too long")
    try:
        rows = json.loads(_exactly(stream, head_size))
    except (ValueError, RecursionError) as error:
        raise BadFrame("a list of kept files that is not JSON") from error
    if not isinstance(rows, list) or len(rows) > MAX_FILES:
        raise BadFrame("kept files that are not a list, or too many")
    files: list[tuple[str, int]] = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 2:
            raise BadFrame("a kept file without name and size")
        name, length = row
        if not isinstance(name, str) or not _is_fine_name(name) or type(length) is not int or length < 0:
            raise BadFrame("a kept file with a strange name or size")
        files.append((name, length))
    if len({name for name, _ in files}) < len(files):
        raise BadFrame("two kept files of one name")
    if _SIZE.size + head_size + sum(length for _, length in files) != size:
        raise BadFrame("kept files of another size than announced")
    return files


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise BadFrame("kept files that end early")
    return data


def _is_fine_name(name: str) -> bool:
    plain = name.isprintable() and "/" not in name and len(name.encode("utf-8", "replace")) <= 200
    return plain and name not in ("", ".", "..", ANSWER, INPUT) and not name.startswith(COMING)
