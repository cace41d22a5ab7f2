"""The vault's folder on disk: names in and out, and opening files without leaving it."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from chyme.errors import UsageError, VaultError
from chyme.model import File, Stamp

STATE = ".chyme"


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
        return self._prefix + (unescape(path) if escaped else path)

    def relative(self, text: str) -> str:
        """What a person typed, as a path in the vault. Refuses what lies outside."""
        typed = Path(text)
        inside = typed if typed.is_absolute() else Path.cwd() / typed
        for candidate in (Path(os.path.normpath(inside)), Path(os.path.normpath(self.root / text))):
            resolved = candidate.parent.resolve() / candidate.name if candidate != self.root else candidate
            if resolved == self.root:
                return ""
            if resolved.is_relative_to(self.root):
                found = os.fspath(resolved.relative_to(self.root))
                if os.path.lexists(resolved) or not typed.is_absolute():
                    return found
        raise UsageError(f"{text}: is not in the vault {self.root}")

    def open(self, file: File) -> int:
        """A read-only descriptor of a regular file inside the vault, whatever links lead to it."""
        fd = os.open(self.disk_path(file.path, file.escaped), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise FileNotFoundError(errno.ENOENT, "not a regular file", file.path)
            if not self.holds(os.path.realpath(f"/proc/self/fd/{fd}")):
                raise FileNotFoundError(errno.ENOENT, "leads out of the vault", file.path)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def holds(self, real: str) -> bool:
        """Whether a real path lies inside the vault, outside chyme's own folder."""
        return real.startswith(self._prefix) and not real.startswith(self._prefix + STATE + "/")

    def link_target(self, disk_path: str) -> os.stat_result | None:
        """What a symbolic link leads to, when that is a file of this vault."""
        try:
            real = os.path.realpath(disk_path, strict=True)
            status = os.stat(real)
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) and self.holds(real) else None


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells one content of a file from the next."""
    return Stamp(str(status.st_dev), str(status.st_ino), status.st_size, status.st_mtime_ns)


def spell(name: str) -> tuple[str, bool]:
    """A path as read from disk, as text that any database and any JSON takes; and whether it had to be escaped."""
    if name.isascii():
        return name, False
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raw = os.fsencode(name)
        return "".join(_escaped(raw)), True
    return name, False


def _escaped(raw: bytes) -> list[str]:
    """Percent-escape what is not UTF-8, and the percent sign itself."""
    parts = []
    text = raw.decode("utf-8", "surrogateescape")
    for character in text:
        if character == "%":
            parts.append("%25")
        elif "\udc80" <= character <= "\udcff":
            parts.append(f"%{ord(character) - 0xDC00:02X}")
        else:
            parts.append(character)
    return parts


def unescape(path: str) -> str:
    """The name on disk of an escaped path."""
    raw = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), path.encode("utf-8"))
    return os.fsdecode(raw)
