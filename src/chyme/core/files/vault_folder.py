"""The vault's folder on disk: names in and out, and opening files without leaving it."""

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

_FOREIGN = re.compile("[%\udc80-\udcff]")
_ESCAPE = re.compile("%(?:25|[89A-F][0-9A-F])")
_HEX = re.compile(rb"%([0-9A-F]{2})")

FOLDER_ITSELF = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # never what a link leads to


def is_state(name: str) -> bool:
    """Whether this is chyme's own folder, or may be on a disk that folds case or passes over what cannot be seen."""
    seen = (letter for letter in unicodedata.normalize("NFC", name) if unicodedata.category(letter) != "Cf")
    return "".join(seen).casefold() == STATE


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
        """Where a file of the vault is on disk."""
        return self._prefix + (decode_path(path) if escaped else path)

    def relative(self, text: str) -> str:
        """What a person typed, as the public path of a file or folder. Refuses what lies outside."""
        typed = Path(text)
        inside = typed if typed.is_absolute() else Path.cwd() / typed
        for candidate in (Path(os.path.normpath(inside)), Path(os.path.normpath(self.root / text))):
            resolved = candidate.parent.resolve() / candidate.name if candidate != self.root else candidate
            if resolved == self.root:
                return ""
            if resolved.is_relative_to(self.root):
                found = os.fspath(resolved.relative_to(self.root))
                if os.path.lexists(resolved):
                    return encode_path(found)[0]
                if not typed.is_absolute():
                    return found if _is_text(found) else encode_path(found)[0]
        raise UsageError(f"{text}: is not in the vault {self.root}")

    def open(self, file: File) -> int:
        """A read-only descriptor of a regular file inside the vault, whatever links lead to it."""
        fd = os.open(self.disk_path(file.path, file.escaped), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise FileNotFoundError(errno.ENOENT, "not a regular file", file.path)
            if not self.contains(os.readlink(f"/proc/self/fd/{fd}")):  # the kernel's own answer, links resolved
                raise FileNotFoundError(errno.ENOENT, "leads out of the vault", file.path)
        except BaseException:
            os.close(fd)
            raise
        return fd

    @contextlib.contextmanager
    def open_folder(self, folder: str, make: bool = False) -> Iterator[int]:
        """A folder of the vault (as the disk spells it), held open. No link is followed on the way."""
        handle = os.open(self.root, FOLDER_ITSELF)
        try:
            for part in folder.split("/") if folder else ():
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=handle)
                below = os.open(part, FOLDER_ITSELF, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    def contains(self, real: str) -> bool:
        """Whether a real path lies inside the vault, outside chyme's own folder."""
        return real.startswith(self._prefix) and not real.startswith(self._prefix + STATE + "/")

    def status(self, raw: str) -> os.stat_result | None:
        """What is at a path as the disk spells it, a link to a file of the vault being that file; None when nothing is.

        What lies behind a linked folder is not at this path. Raises OSError when it cannot be told.
        """
        disk_path = self._prefix + raw
        try:
            status = os.lstat(disk_path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not _is_real(os.path.dirname(disk_path)):
            return None
        return self.link_target(disk_path) if stat.S_ISLNK(status.st_mode) else status

    def require_readable(self) -> None:
        """Raise VaultError unless the folder is there: a missing one proves nothing about its files."""
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise VaultError(f"{self.root}: cannot be read ({error.strerror}); is the disk connected?") from error

    def link_target(self, disk_path: str) -> os.stat_result | None:
        """What a symbolic link leads to, when that is a file of this vault."""
        try:
            real = os.path.realpath(disk_path, strict=True)
            status = os.stat(real)
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) and self.contains(real) else None


def _is_real(folder: str) -> bool:
    """Whether no link is on the way to this folder, by the kernel's own answer: one question, however deep it is."""
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return os.readlink(f"/proc/self/fd/{handle}") == folder
    finally:
        os.close(handle)


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells one content of a file from the next."""
    return Stamp(str(status.st_dev), str(status.st_ino), status.st_size, status.st_mtime_ns)


def encode_path(raw: str) -> tuple[str, bool]:
    """A path as read from disk, as text that any database and any JSON takes; and whether it had to be escaped.

    No two paths are spelled alike: a name that reads like the escaped form of another is escaped itself.
    """
    if raw.isascii() and "%" not in raw:
        return raw, False
    names = raw.split("/")
    spelled = [_escaped(name) if not _is_text(name) or _is_escape(name) else name for name in names]
    return "/".join(spelled), spelled != names


def decode_path(path: str) -> str:
    """The path on disk that is spelled like this."""
    return "/".join(_unescaped(name) if _is_escape(name) else name for name in path.split("/"))


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_escape(name: str) -> bool:
    """Whether this is how some other name is spelled."""
    if not _ESCAPE.search(name):
        return False
    plain = _unescaped(name)
    return _escaped(plain) == name and (not _is_text(plain) or _is_escape(plain))


def _escaped(name: str) -> str:
    """Percent-escape what is not UTF-8, and the percent sign itself."""
    return _FOREIGN.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", name)


def _unescaped(name: str) -> str:
    return os.fsdecode(_HEX.sub(lambda found: bytes([int(found[1], 16)]), name.encode("utf-8", "surrogateescape")))
