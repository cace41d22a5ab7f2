"""Backs up everything chyme knows about a vault into one archive, even while chyme runs."""

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
from chyme.application.backup.archive import FILE_PART, SERVER_PART, STATE_PART, TRASH_PART, ArchiveWriter
from chyme.application.backup.file_replacement import sync, temporary_folder
from chyme.application.settings import FILE_NAME as SETTINGS
from chyme.application.settings import Settings, server_folder
from chyme.core.clock import now
from chyme.core.files.permissions import FILE_MODE
from chyme.core.files.vault_folder import STATE
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.database import FILE_NAME as DATABASE
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.model import iso
from chyme.vault.open_vault import OpenVault
from chyme.vault.private_files import FILE_NAME as PRIVATE
from chyme.vault.trash import FOLDER as TRASH
from chyme.vault.watch.ignore_rules import FILE_NAME as IGNORE
from chyme.vault.watch.ignore_rules import IgnoreRules

PREFIX = ".chyme-backup-"


@dataclass(frozen=True, slots=True)
class BackupResult:
    """What was written, and what to know about it."""

    archive: Path
    size: int
    parts: int
    secrets: bool  # it contains settings or accounts
    changed: tuple[str, ...]
    missing: tuple[str, ...]


def back_up(
    open_vault: OpenVault, settings: Settings, target: Path, *, with_files: bool = False, with_trash: bool = False
) -> BackupResult:
    """Write the archive and return once it is on disk. `target` may be a folder. Nothing is ever overwritten."""
    archive = _archive_path(open_vault.folder.root, target)
    try:
        with temporary_folder(archive.parent, PREFIX) as folder:
            partial = folder / "archive"
            with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
                collector = _Collector(open_vault, stream)
                collector.add_databases(folder, server_folder(settings) / SERVER)
                collector.add_settings_and_rules()
                if with_trash:
                    collector.add_tree(open_vault.state / TRASH, TRASH_PART)
                if with_files:
                    collector.add_originals()
                collector.finish()
                stream.flush()
                os.fsync(stream.fileno())
            return BackupResult(
                archive,
                _give_final_name(partial, archive),
                len(collector.writer.parts),
                any(part in collector.writer.parts for part in (STATE_PART + SETTINGS, SERVER_PART + SERVER)),
                tuple(collector.changed),
                tuple(collector.missing),
            )
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"{archive}: there is not enough room for a backup; nothing was left behind. It takes the size of "
                f"{open_vault.database.path} twice, for a while; make room, or choose another disk"
            ) from error
        raise VaultError(f"{archive}: the backup could not be written ({error.strerror})") from error


def _archive_path(root: Path, target: Path) -> Path:
    if target.is_dir():
        stamp = now().strftime("%Y%m%dT%H%M%SZ")
        target = target / f"chyme-{root.name}-{stamp}.tar"
    archive = target.absolute()
    parent = archive.parent.resolve()
    if not parent.is_dir():
        raise UsageError(f"{archive.parent}: there is no such folder; make it first")
    if parent.is_relative_to(root):
        raise UsageError(
            f"{archive}: is inside the vault, where it would be digested and lost with it; say where: "
            "chyme backup /somewhere/else/"
        )
    if os.path.lexists(archive):
        raise UsageError(f"{archive}: is there already, and nothing is overwritten; choose another name")
    return parent / archive.name


def _give_final_name(partial: Path, archive: Path) -> int:
    """Give the finished archive its name, unless the name was taken meanwhile; return its size."""
    size = partial.stat().st_size
    try:
        os.link(partial, archive)
    except FileExistsError:
        raise UsageError(f"{archive}: is there already, and nothing is overwritten; choose another name") from None
    except OSError:  # this file system has no hard links
        partial.rename(archive)
    sync(archive.parent)
    return size


class _Collector:
    """Collects what goes into one archive."""

    def __init__(self, open_vault: OpenVault, stream: IO[bytes]) -> None:
        self._folder = open_vault.folder
        self._database = open_vault.database.path
        self.writer = ArchiveWriter(stream)
        self.changed: list[str] = []
        self.missing: list[str] = []
        self._made_at = iso(now())
        self._schema = 0
        self._server_schema: int | None = None
        self._counts: dict[str, int] = {}

    def add_databases(self, folder: Path, accounts: Path) -> None:
        """Add the vault's database as it is now, and the server's if there is one."""
        copy = folder / DATABASE
        copies.copy_into(self._database, copy)
        self._schema, self._counts = copies.schema_of(copy), copies.counts(copy)
        self._add_and_remove(STATE_PART + DATABASE, copy)
        if accounts.exists():
            copy = folder / SERVER
            copies.copy_into(accounts, copy)
            copies.remove_sessions(copy)
            self._server_schema = copies.schema_of(copy)
            self._add_and_remove(SERVER_PART + SERVER, copy)

    def add_settings_and_rules(self) -> None:
        """Add the settings, and the lists of ignored and private files."""
        root = self._folder.root
        self._add_file(STATE_PART + SETTINGS, os.fspath(root / STATE / SETTINGS), optional=True)
        for name in (IGNORE, PRIVATE):
            self._add_file(FILE_PART + name, os.fspath(root / name), optional=True)

    def add_originals(self) -> None:
        """Add every file of the vault that is not ignored; a link is stored as the file it points to."""
        self.add_tree(self._folder.root, FILE_PART, IgnoreRules(self._folder.root))

    def add_tree(self, root: Path, prefix: str, ignore: IgnoreRules | None = None) -> None:
        """Add all files below a folder."""
        for relative in _walk(os.fspath(root), ignore, lambda folder: self.missing.append(prefix + folder)):
            path = os.path.join(root, relative)
            if os.path.islink(path) and self._folder.link_target(path) is None:
                continue
            self._add_file(prefix + relative, path)

    def finish(self) -> None:
        self.writer.finish(
            {
                "chyme": __version__,
                "made_at": self._made_at,
                "vault": self._folder.root.name,
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

    def _add_file(self, name: str, path: str, optional: bool = False) -> None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            if not optional:
                self.missing.append(name)
            return
        with os.fdopen(descriptor, "rb") as stream:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return
            mode = before.st_mode & 0o777 if name.startswith(FILE_PART) else FILE_MODE
            is_complete = self.writer.add(name, stream, before.st_size, before.st_mtime, mode)
            after = os.fstat(descriptor)
        if not is_complete or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            self.changed.append(name)


def _walk(root: str, ignore: IgnoreRules | None, on_unreadable: Callable[[str], None]) -> Iterator[str]:
    """Yield paths of files below a folder, as spelled on disk. Does not enter linked folders."""
    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except FileNotFoundError:
            continue
        except OSError:
            on_unreadable(folder)
            continue
        for name, is_folder in found:
            relative = f"{folder}/{name}" if folder else name
            if ignore is not None and (ignore.ignores_name(name) or ignore.ignores_path(relative, is_folder)):
                continue
            if is_folder:
                stack.append(relative)
            else:
                yield relative
