"""The files of an export, in a folder or a zip archive. Nothing outside of it is ever read."""

from __future__ import annotations

import os
import stat
import struct
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Protocol, Self, cast

from chyme.errors import UsageError

MAX_DIRECTORY = 24 * 1024 * 1024  # bytes of a zip archive's directory, which is in memory: some 200,000 entries
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2})  # LZMA may ask for much memory
MAX_RATIO = 300  # how many times larger than its compressed form a large entry may be
LARGE = 64 * 1024 * 1024  # below that, a high ratio is harmless
MIN_BUDGET = 4 * 1024**3  # bytes that may be unpacked from any archive, however small
MAX_DEPTH = 64  # folders inside each other
_TAIL = 22 + 0xFFFF + 76  # bytes at the end of a zip archive in which the place of its directory stands
_IN_64_BIT = 0xFFFFFFFF
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class ExportFiles(Protocol):
    """Files by their path inside the export, with / between the folders."""

    def names(self) -> Iterator[str]:
        """Every regular file, hidden ones left out."""

    def open(self, name: str) -> BinaryIO:
        """Open a file. Raises UsageError if it is not there, not inside the export, or no regular file."""

    def modified(self, name: str) -> float | None:
        """When a file was last changed."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_export(path: Path) -> FolderFiles | ZipFiles:
    """Open a folder, or a zip archive."""
    if path.is_dir():
        return FolderFiles(path)
    if not path.exists():
        raise UsageError(f"{path}: is not there; name the folder or zip file of the export")
    try:
        return ZipFiles(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise UsageError(f"{path.name}: is neither a folder nor an intact zip archive ({error})") from error


def safe_parts(name: str) -> list[str]:
    """The parts of a path inside an export. Raises UsageError for a path that could lead out of it."""
    parts = name.split("/")
    if name.startswith("/") or "\0" in name or "\\" in name or not all(part not in ("", ".", "..") for part in parts):
        raise UsageError(f"{name[:200]!r} is no path inside the export")
    return parts


class FolderFiles:
    """An export in a folder. Symbolic links are not followed."""

    def __init__(self, path: Path) -> None:
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def names(self) -> Iterator[str]:
        yield from self._walk(self._root, "", 0)

    def _walk(self, handle: int, prefix: str, depth: int) -> Iterator[str]:
        with os.scandir(handle) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries)
        for name, is_folder, is_link in found:
            if name.startswith(".") or is_link:
                continue
            if not is_folder:
                yield prefix + name
            elif depth < MAX_DEPTH:
                try:
                    below = os.open(name, _FOLDER, dir_fd=handle)
                except OSError:
                    continue
                try:
                    yield from self._walk(below, f"{prefix}{name}/", depth + 1)
                finally:
                    os.close(below)

    def open(self, name: str) -> BinaryIO:
        *folders, last = safe_parts(name)
        handle = os.dup(self._root)
        try:
            for folder in folders:
                below = os.open(folder, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
            descriptor = os.open(last, _FILE, dir_fd=handle)
        except (OSError, ValueError) as error:
            raise UsageError(_missing(name, error)) from error
        finally:
            os.close(handle)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UsageError(f"{name[:200]} is no regular file")
        return os.fdopen(descriptor, "rb")

    def modified(self, name: str) -> float | None:
        try:
            with self.open(name) as stream:
                return os.fstat(stream.fileno()).st_mtime
        except UsageError:
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._root)


class ZipFiles:
    """An export in a zip archive, unpacked one entry at a time and within limits."""

    def __init__(self, path: Path) -> None:
        if _directory_size(path) > MAX_DIRECTORY:
            raise UsageError(f"{path.name}: has too many entries for an archive; unpack it and import the folder")
        self._zip = zipfile.ZipFile(path)
        self._left = max(MIN_BUDGET, MAX_RATIO * path.stat().st_size)

    def names(self) -> Iterator[str]:
        for info in self._zip.filelist:
            if info.is_dir() or _is_link(info) or any(part.startswith(".") for part in info.filename.split("/")):
                continue
            if not info.filename.startswith("__MACOSX/"):
                yield info.filename

    def open(self, name: str) -> BinaryIO:
        safe_parts(name)
        try:
            info = self._zip.getinfo(name)
        except KeyError as error:
            raise UsageError(f"{name[:200]} is not in the export; export it again") from error
        if _is_link(info) or info.is_dir():
            raise UsageError(f"{name[:200]} is no regular file")
        if info.compress_type not in METHODS:
            raise UsageError(f"{name[:200]} is compressed in a rare way; unpack the archive and import the folder")
        if info.flag_bits & 1:
            raise UsageError(f"{name[:200]} is encrypted; unpack the archive and import the folder")
        if info.file_size > LARGE and info.file_size > MAX_RATIO * max(1, info.compress_size):
            raise UsageError(
                f"{name[:200]} would become more than {MAX_RATIO} times larger; if you trust it, unpack the archive "
                "and import the folder"
            )
        self._left -= info.file_size  # no entry yields more than it declares
        if self._left < 0:
            raise UsageError(
                f"{name[:200]}: so much does not fit into an honest archive of this size; if you trust it, unpack it "
                "and import the folder"
            )
        try:
            return cast("BinaryIO", _ZipStream(self._zip.open(info)))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise UsageError(f"{name[:200]}: is broken inside the archive ({error})") from error

    def modified(self, name: str) -> float | None:
        try:
            return time.mktime((*self._zip.getinfo(name).date_time, 0, 0, -1))
        except (KeyError, ValueError, OverflowError):
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()


class _ZipStream:
    """Reads an entry; an entry that is broken raises UsageError."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"is broken inside the archive ({error}); export it again") from error
        except Exception as error:
            if type(error).__module__ in ("zlib", "lzma", "_lzma"):  # these errors have no common ancestor
                raise UsageError(f"is broken inside the archive ({error}); export it again") from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def close(self) -> None:
        self._stream.close()


def _directory_size(path: Path) -> int:
    """The largest size of a directory that the end of the archive declares, in the old or the 64-bit form."""
    with path.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - _TAIL))
        tail = stream.read()
    sizes = [0]
    for mark, offset, form in ((b"PK\5\6", 12, "<L"), (b"PK\6\6", 40, "<Q")):
        position = tail.find(mark)
        while position >= 0:
            if len(tail) >= position + offset + struct.calcsize(form):
                size = struct.unpack_from(form, tail, position + offset)[0]
                sizes.append(0 if form == "<L" and size == _IN_64_BIT else size)
            position = tail.find(mark, position + 1)
    return max(sizes)


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


def _missing(name: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{name[:200]} is not in the export; export it again"
    reason = error.strerror if isinstance(error, OSError) else error
    return f"{name[:200]} cannot be read ({reason}); links are not followed"
