"""The vault's folder on disk: encodes file names, and opens files without leaving the folder."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from chyme.errors import UsageError, VaultError
from chyme.model import File, Stamp

STATE = ".chyme"

_TO_ESCAPE = re.compile("[%\udc80-\udcff]")
_ESCAPE = re.compile("%(?:25|[89A-F][0-9A-F])")
_ESCAPED_BYTE = re.compile(rb"%([0-9A-F]{2})")

FOLDER_ITSELF = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # never the target of a link


def is_state(name: str) -> bool:
    """Whether this is chyme's own folder, also on a disk that ignores case or invisible characters."""
    visible = (letter for letter in unicodedata.normalize("NFC", name) if unicodedata.category(letter) != "Cf")
    return "".join(visible).casefold() == STATE


class Vault:
    """One folder. Paths of files are relative to it, with forward slashes."""

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.resolve(strict=True)
        except OSError as error:
            raise VaultError(f"{root}: cannot be opened as a vault ({error.strerror})") from error
        if not self.root.is_dir():
            raise VaultError(f"{root}: is not a folder")
        self._prefix = os.path.join(os.fspath(self.root), "")

    def disk_path(self, path: str, escaped: bool = False) -> str:
        """The path on disk of a file in the vault."""
        return self._prefix + (decode_path(path) if escaped else path)

    def relative(self, text: str) -> str:
        """Convert what a person typed to the public path of a file or folder. Refuses paths outside the vault."""
        typed = Path(text)
        absolute = typed if typed.is_absolute() else Path.cwd() / typed
        for candidate in (Path(os.path.normpath(absolute)), Path(os.path.normpath(self.root / text))):
            resolved = candidate.parent.resolve() / candidate.name if candidate != self.root else candidate
            if resolved == self.root:
                return ""
            if resolved.is_relative_to(self.root):
                relative = os.fspath(resolved.relative_to(self.root))
                if os.path.lexists(resolved):
                    return encode_path(relative)[0]
                if not typed.is_absolute():
                    return relative if _is_text(relative) else encode_path(relative)[0]
        raise UsageError(f"{text}: is not in the vault {self.root}")

    def open(self, file: File) -> int:
        """A read-only descriptor of a regular file inside the vault, also when links lead to it."""
        fd = os.open(self.disk_path(file.path, file.escaped), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise FileNotFoundError(errno.ENOENT, "not a regular file", file.path)
            if not self.contains(os.readlink(f"/proc/self/fd/{fd}")):  # as the kernel resolved all links
                raise FileNotFoundError(errno.ENOENT, "leads out of the vault", file.path)
        except BaseException:
            os.close(fd)
            raise
        return fd

    @contextlib.contextmanager
    def open_folder(self, folder: str, make: bool = False) -> Iterator[int]:
        """Keep a folder of the vault (as spelled on disk) open. Follows no link on the way."""
        handle = os.open(self.root, FOLDER_ITSELF)
        try:
            for part in folder.split("/") if folder else ():
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=handle)
                child_handle = os.open(part, FOLDER_ITSELF, dir_fd=handle)
                os.close(handle)
                handle = child_handle
            yield handle
        finally:
            os.close(handle)

    def contains(self, real: str) -> bool:
        """Whether a real path is inside the vault and outside chyme's own folder."""
        return real.startswith(self._prefix) and not real.startswith(self._prefix + STATE + "/")

    def status(self, raw: str) -> os.stat_result | None:
        """The status of a path as spelled on disk, or None if nothing is there. A link to a file of the vault counts as
        that file.

        Files behind a linked folder are not at this path. Raises OSError when the status cannot be determined.
        """
        disk_path = self._prefix + raw
        try:
            status = os.lstat(disk_path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not _has_no_links(os.path.dirname(disk_path)):
            return None
        return self.link_target(disk_path) if stat.S_ISLNK(status.st_mode) else status

    def require_readable(self) -> None:
        """Raise VaultError unless the folder is there: a missing folder proves nothing about its files."""
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise VaultError(f"{self.root}: cannot be read ({error.strerror}); is the disk connected?") from error

    def link_target(self, disk_path: str) -> os.stat_result | None:
        """The status of a symbolic link's target, if that is a file of this vault."""
        try:
            real = os.path.realpath(disk_path, strict=True)
            status = os.stat(real)
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) and self.contains(real) else None


def _has_no_links(folder: str) -> bool:
    """Whether no link is on the way to this folder. Asks the kernel once, however deep the folder is."""
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return os.readlink(f"/proc/self/fd/{handle}") == folder
    finally:
        os.close(handle)


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp that changes when a file's content changes."""
    return Stamp(str(status.st_dev), str(status.st_ino), status.st_size, status.st_mtime_ns)


def encode_path(raw: str) -> tuple[str, bool]:
    """Encode a path from disk as text that any database and any JSON accepts; also returns whether it was escaped.

    No two paths have the same encoding: a name that looks like the escaped form of another is escaped itself.
    """
    if raw.isascii() and "%" not in raw:
        return raw, False
    names = raw.split("/")
    encoded = [_escape(name) if not _is_text(name) or _is_escape(name) else name for name in names]
    return "/".join(encoded), encoded != names


def decode_path(path: str) -> str:
    """The path on disk that has this encoding."""
    return "/".join(_unescape(name) if _is_escape(name) else name for name in path.split("/"))


def raw_path(file: File) -> str:
    """The path of a file as the disk spells it."""
    return decode_path(file.path) if file.escaped else file.path


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_escape(name: str) -> bool:
    """Whether this is the encoding of some other name."""
    if not _ESCAPE.search(name):
        return False
    plain = _unescape(name)
    return _escape(plain) == name and (not _is_text(plain) or _is_escape(plain))


def _escape(name: str) -> str:
    """Percent-escape bytes that are not UTF-8, and the percent sign itself."""
    return _TO_ESCAPE.sub(lambda match: f"%{ord(match[0]) & 0xFF:02X}", name)


def _unescape(name: str) -> str:
    return os.fsdecode(
        _ESCAPED_BYTE.sub(lambda match: bytes([int(match[1], 16)]), name.encode("utf-8", "surrogateescape"))
    )
