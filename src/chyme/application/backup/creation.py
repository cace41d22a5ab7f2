"""Put everything chyme knows about a vault into one archive, while chyme runs."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from chyme import __version__
from chyme.accounts.tables.server_database import FILE_NAME as SERVER
from chyme.application.app import App
from chyme.application.backup.archive import ArchiveWriter
from chyme.application.backup.temporary_folder import temporary_folder
from chyme.application.server_vaults import server_folder
from chyme.application.settings import FILE_NAME as SETTINGS
from chyme.core.clock import now
from chyme.core.files.permissions import FILE_MODE
from chyme.core.files.vault_folder import STATE
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.database import FILE_NAME as DATABASE
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.model import iso
from chyme.vault.private_files import FILE_NAME as PRIVATE
from chyme.vault.trash import FOLDER as TRASH
from chyme.vault.watch.ignore_rules import FILE_NAME as IGNORE
from chyme.vault.watch.ignore_rules import IgnoreRules

STATE_PART, SERVER_PART, FILE_PART, TRASH_PART = "state/", "server/", "files/", "trash/"
PREFIX = ".chyme-backup-"


@dataclass(frozen=True, slots=True)
class BackupResult:
    """What was written, and what is to be known about it."""

    archive: Path
    size: int
    parts: int
    secrets: bool  # there are settings or accounts in it
    changed: tuple[str, ...]
    missing: tuple[str, ...]


def back_up(app: App, target: Path, *, with_files: bool = False, with_trash: bool = False) -> BackupResult:
    """Write the archive and return once it is on disk. `target` may be a folder. Nothing is ever overwritten."""
    archive = _place_for(app, target)
    try:
        with temporary_folder(archive.parent, PREFIX) as folder:
            partial = folder / "archive"
            with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
                gathered = _Gathered(app, stream)
                gathered.databases(folder)
                gathered.named_files()
                if with_trash:
                    gathered.tree(app.state / TRASH, TRASH_PART)
                if with_files:
                    gathered.originals()
                gathered.finish()
                stream.flush()
                os.fsync(stream.fileno())
            return BackupResult(
                archive,
                _settle(partial, archive),
                len(gathered.writer.parts),
                any(part in gathered.writer.parts for part in (STATE_PART + SETTINGS, SERVER_PART + SERVER)),
                tuple(gathered.changed),
                tuple(gathered.missing),
            )
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"{archive}: there is not enough room for a backup; nothing was left behind. It takes the size of "
                f"{app.database.path} twice, for a while; make room, or choose another disk"
            ) from error
        raise VaultError(f"{archive}: the backup could not be written ({error.strerror})") from error


def _place_for(app: App, target: Path) -> Path:
    if target.is_dir():
        stamp = now().strftime("%Y%m%dT%H%M%SZ")
        target = target / f"chyme-{app.vault.root.name}-{stamp}.tar"
    archive = target.absolute()
    parent = archive.parent.resolve()
    if not parent.is_dir():
        raise UsageError(f"{archive.parent}: there is no such folder; make it first")
    if parent == app.vault.root or parent.is_relative_to(app.vault.root):
        raise UsageError(
            f"{archive}: is inside the vault, where it would be digested and lost with it; say where: "
            "chyme backup /somewhere/else/"
        )
    if os.path.lexists(archive):
        raise UsageError(f"{archive}: is there already, and nothing is overwritten; choose another name")
    return parent / archive.name


def _settle(partial: Path, archive: Path) -> int:
    """Give the finished archive its name, unless somebody has taken it meanwhile."""
    size = partial.stat().st_size
    try:
        os.link(partial, archive)
    except FileExistsError:
        raise UsageError(f"{archive}: is there already, and nothing is overwritten; choose another name") from None
    except OSError:  # this disk knows no links
        partial.rename(archive)
    folder = os.open(archive.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return size


class _Gathered:
    """What goes into one archive."""

    def __init__(self, app: App, stream: IO[bytes]) -> None:
        self._app = app
        self.writer = ArchiveWriter(stream)
        self.changed: list[str] = []
        self.missing: list[str] = []
        self._made_at = iso(now())
        self._schema = 0
        self._server_schema: int | None = None
        self._counts: dict[str, int] = {}

    def databases(self, folder: Path) -> None:
        """The vault's, as it is at this moment, and the server's where there is one."""
        copy = folder / DATABASE
        copies.copy_into(self._app.database.path, copy)
        self._schema, self._counts = copies.schema_of(copy), copies.counts(copy)
        self._add_and_remove(STATE_PART + DATABASE, copy)
        accounts = server_folder(self._app.settings) / SERVER
        if accounts.exists():
            copy = folder / SERVER
            copies.copy_into(accounts, copy)
            copies.remove_sessions(copy)
            self._server_schema = copies.schema_of(copy)
            self._add_and_remove(SERVER_PART + SERVER, copy)

    def named_files(self) -> None:
        """Settings, and what says which files are ignored or private."""
        root = self._app.vault.root
        self._file(STATE_PART + SETTINGS, os.fspath(root / STATE / SETTINGS), optional=True)
        for name in (IGNORE, PRIVATE):
            self._file(FILE_PART + name, os.fspath(root / name), optional=True)

    def originals(self) -> None:
        """Every file of the vault that is not ignored; a link to one is that one."""
        self.tree(self._app.vault.root, FILE_PART, IgnoreRules(self._app.vault.root))

    def tree(self, root: Path, prefix: str, ignore: IgnoreRules | None = None) -> None:
        """All files below a folder."""
        for raw in _walk(os.fspath(root), ignore, lambda folder: self.missing.append(prefix + folder)):
            disk = os.path.join(root, raw)
            if os.path.islink(disk) and self._app.vault.link_target(disk) is None:
                continue
            self._file(prefix + raw, disk)

    def finish(self) -> None:
        self.writer.finish(
            {
                "chyme": __version__,
                "made_at": self._made_at,
                "vault": self._app.vault.root.name,
                "schema": self._schema,
                "server_schema": self._server_schema,
                "counts": self._counts,
                "changed": self.changed,
                "missing": self.missing,
            }
        )

    def _add_and_remove(self, name: str, copy: Path) -> None:
        with copy.open("rb") as stream:
            self.writer.add(name, stream, copy.stat().st_size)
        copy.unlink()

    def _file(self, name: str, disk: str, optional: bool = False) -> None:
        try:
            descriptor = os.open(disk, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            if not optional:
                self.missing.append(name)
            return
        with os.fdopen(descriptor, "rb") as stream:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return
            mode = before.st_mode & 0o777 if name.startswith(FILE_PART) else FILE_MODE
            whole = self.writer.add(name, stream, before.st_size, before.st_mtime, mode)
            after = os.fstat(descriptor)
        if not whole or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            self.changed.append(name)


def _walk(root: str, ignore: IgnoreRules | None, unreadable: Callable[[str], None]) -> Iterator[str]:
    """Paths of files below a folder, as the disk spells them. Linked folders are not entered."""
    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except FileNotFoundError:
            continue
        except OSError:
            unreadable(folder)
            continue
        for name, is_folder in found:
            raw = f"{folder}/{name}" if folder else name
            if ignore is not None and (ignore.ignores_name(name) or ignore.ignores_path(raw, is_folder)):
                continue
            if is_folder:
                stack.append(raw)
            else:
                yield raw
