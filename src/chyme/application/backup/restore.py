"""Restores a backup. What was there before is renamed, never deleted."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from chyme.accounts.tables.server_database import FILE_NAME as SERVER
from chyme.accounts.tables.server_database import SCHEMA as SERVER_SCHEMA
from chyme.application.backup.archive import (
    FILE_PART,
    SERVER_PART,
    STATE_PART,
    TRASH_PART,
    Manifest,
    Part,
    copy_part,
    is_safe_name,
    manifest_of,
    parts_of,
)
from chyme.application.backup.file_replacement import keep_as, sync, temporary_folder
from chyme.application.backup.portable_settings import merge_settings
from chyme.application.settings import FILE_NAME as SETTINGS
from chyme.application.settings import read_settings, server_folder
from chyme.core.clock import now
from chyme.core.files.permissions import FOLDER_MODE, make_private_folder, make_private_state, tighten_state
from chyme.core.files.vault_folder import STATE, is_state
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.database import FILE_NAME as DATABASE
from chyme.core.store.sqlite.database import migrations, refuse_network_file_system
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.model import iso
from chyme.search.vectors.cache import FOLDER as VECTORS
from chyme.vault.trash import FOLDER as TRASH

PREFIX = ".chyme-restore-"
_KNOWN_PARTS = frozenset({STATE_PART + DATABASE, STATE_PART + SETTINGS, SERVER_PART + SERVER})
# Not in force: they name programs and addresses, so the user must first decide to trust the archive.
RESTORED_SETTINGS_NAME = "settings.restored.toml"


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What was restored."""

    vault: Path
    made_at: str
    files: int
    server: bool
    kept: tuple[str, ...]  # existing files with other content
    aside: tuple[str, ...]  # new names of what was there before
    settings: str | None  # where the settings of the backup are now
    settings_in_force: bool


@dataclass(slots=True)
class _Restore:
    archive: Path
    root: Path
    state: Path
    staging: Path
    files: int = 0
    kept: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    settings: Path | None = None


def restore_vault(
    archive: Path,
    into: Path,
    *,
    with_settings: bool,
    with_server: bool,
    replace: bool,
    environment: Mapping[str, str],
) -> RestoreResult:
    """Extract and check everything first; only then replace what was there."""
    manifest = manifest_of(archive)
    _check_manifest(archive, manifest, with_server)
    if with_settings and STATE_PART + SETTINGS not in manifest.parts:
        raise UsageError(f"{archive}: there are no settings in it; leave out --settings")
    settings = read_settings(into / STATE, environment)
    accounts = server_folder(settings) / SERVER
    if with_server:
        _check_accounts(accounts, replace)
    try:
        if not into.is_dir():
            make_private_folder(into)
        root = into.resolve()
        state = Path(settings.state_dir).expanduser() if settings.state_dir else root / STATE
        make_private_state(state)
        tighten_state(root / STATE)
        refuse_network_file_system(state)
        if (state / DATABASE).exists():
            copies.merge_journal(state / DATABASE)  # first of all, because it fails while chyme runs here
        if with_server and accounts.exists():
            copies.merge_journal(accounts)  # fails while a server runs: only half would be restored
        with temporary_folder(state, PREFIX) as staging:
            work = _Restore(archive, root, state, staging)
            for part, entry, stream in parts_of(archive, manifest):
                _restore_part(work, part, entry, stream)
            _install_database(work, with_settings)
            if with_server:
                _install_accounts(work, accounts)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"{into}: there is not enough room to restore {archive.name}; the vault is as it was. Make room, and "
                "restore again"
            ) from error
        raise VaultError(f"{error.filename or into}: cannot be written ({error.strerror})") from error
    return RestoreResult(
        *(root, manifest.made_at, work.files, with_server, tuple(work.kept), tuple(work.aside)),
        os.fspath(work.settings) if work.settings else None,
        settings_in_force=work.settings is not None and work.settings.name == SETTINGS,
    )


def _check_manifest(archive: Path, manifest: Manifest, with_server: bool) -> None:
    if STATE_PART + DATABASE not in manifest.parts:
        raise UsageError(f"{archive}: there is no database of a vault in it")
    for schema, folder in ((manifest.schema, "migrations"), (manifest.server_schema, SERVER_SCHEMA)):
        newest = migrations(folder)[-1][0]
        if schema is not None and schema > newest:
            raise UsageError(
                f"{archive}: was made by a newer chyme ({manifest.chyme}, schema {schema}; this one knows {newest}); "
                "upgrade chyme, and restore again"
            )
    if with_server and SERVER_PART + SERVER not in manifest.parts:
        raise UsageError(f"{archive}: there are no accounts in it; leave out --server")
    for name in manifest.parts:
        if name not in _KNOWN_PARTS and not name.startswith((FILE_PART, TRASH_PART)):
            raise UsageError(f"{archive}: {name[:200]!r} is nothing that chyme backs up; it is not to be trusted")
        if any(map(is_state, name.split("/"))):
            raise UsageError(f"{archive}: {name[:200]!r} is a file of chyme's own folder; it is not to be trusted")


def _check_accounts(accounts: Path, replace: bool) -> None:
    if accounts.exists() and not replace and copies.has_accounts(accounts):
        raise UsageError(
            f"{accounts}: there are accounts already; --replace puts those of the backup in their place (and keeps "
            "these beside them), without --server they stay as they are"
        )


def _restore_part(work: _Restore, part: Part, entry: tarfile.TarInfo, stream: IO[bytes]) -> None:
    staged = work.staging / "part"
    with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as target:
        copy_part(work.archive, part, stream, target)
        target.flush()
        os.fsync(target.fileno())
    if part.name in _KNOWN_PARTS:
        staged.rename(work.staging / part.name.replace("/", "-"))
        return
    os.utime(staged, (entry.mtime, entry.mtime))
    if part.name.startswith(TRASH_PART):
        name, top, mode = part.name.removeprefix(TRASH_PART), work.state / TRASH, FOLDER_MODE
    else:
        name, top, mode = part.name.removeprefix(FILE_PART), work.root, 0o755
        staged.chmod(entry.mode & 0o755 | 0o600)
    if not _move_file(staged, top, name, mode):
        work.kept.append(part.name)
    else:
        work.files += not part.name.startswith(TRASH_PART)


def _move_file(staged: Path, top: Path, name: str, mode: int) -> bool:
    """Move a file to its place unless one is there; return whether the file there now has the restored content."""
    assert is_safe_name(name)
    *folders, last = name.split("/")
    folder = top
    folder.mkdir(mode=0o700, exist_ok=True)
    for part in folders:
        folder = folder / part
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode)
        if not stat.S_ISDIR(folder.lstat().st_mode):  # a link would lead us out of the vault
            return False
    target = folder / last
    if os.path.lexists(target):
        return _same_content(staged, target)
    try:
        os.link(staged, target)
        staged.unlink()
    except FileExistsError:
        return _same_content(staged, target)
    except OSError:  # another disk, or a file system without hard links
        partial = folder / f".{os.urandom(8).hex()}.part"  # a name that the watcher ignores
        try:
            shutil.copy2(staged, partial)
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)
    return True


def _same_content(first: Path, second: Path) -> bool:
    if not stat.S_ISREG(second.lstat().st_mode) or first.stat().st_size != second.stat().st_size:
        return False
    with first.open("rb") as left, second.open("rb") as right:
        while data := left.read(1 << 20):
            if data != right.read(len(data)):
                return False
    return True


def _install_database(work: _Restore, with_settings: bool) -> None:
    """Replace the database in one step: before it is the old one, afterwards the restored one."""
    database = work.staging / (STATE_PART + DATABASE).replace("/", "-")
    faults = copies.find_faults(database)
    if faults:
        raise UsageError(f"{work.archive}: its database is damaged ({faults[0]}); use another backup")
    copies.remove_owner(database)
    copies.end_links(database, iso(now()))
    settings = _settings_to_restore(work, with_settings)
    target = work.state / DATABASE
    if target.exists():
        copies.merge_journal(target)
    shutil.rmtree(work.state / VECTORS, ignore_errors=True)  # a cache by ids, which may be assigned again
    _replace(database, target, work.aside)
    if settings is not None:
        _install_settings(work, settings, with_settings)


def _settings_to_restore(work: _Restore, in_force: bool) -> bytes | None:
    """Return the settings of the backup, but with this vault's own folders: else its database would not be found."""
    staged, current = work.staging / (STATE_PART + SETTINGS).replace("/", "-"), work.root / STATE / SETTINGS
    if not staged.exists():
        return None
    current_settings = tomllib.loads(current.read_text(encoding="utf-8")) if current.is_file() else {}
    try:
        return merge_settings(staged.read_text(encoding="utf-8"), current_settings).encode()
    except ValueError as error:
        if in_force:
            raise UsageError(
                f"{work.archive}: its settings are not valid TOML ({error}); leave out --settings"
            ) from error
        return staged.read_bytes()  # only for people to look at


def _install_settings(work: _Restore, settings: bytes, in_force: bool) -> None:
    folder = work.root / STATE
    make_private_state(folder)
    current = folder / SETTINGS
    if current.is_file() and current.read_bytes() == settings:
        work.settings = current
        return
    work.settings = current if in_force else folder / RESTORED_SETTINGS_NAME
    with temporary_folder(folder, PREFIX) as staged:  # the database may be on another disk
        fresh = staged / SETTINGS
        fresh.touch(0o600)
        fresh.write_bytes(settings)
        _replace(fresh, work.settings, work.aside)


def _install_accounts(work: _Restore, accounts: Path) -> None:
    staged = work.staging / (SERVER_PART + SERVER).replace("/", "-")
    make_private_state(accounts.parent)
    with temporary_folder(accounts.parent, PREFIX) as folder:
        copy = folder / SERVER
        shutil.copyfile(staged, copy)
        copy.chmod(0o600)
        if accounts.exists():
            copies.merge_journal(accounts)
        _replace(copy, accounts, work.aside)


def _replace(fresh: Path, target: Path, aside: list[str]) -> None:
    """Replace a file, which gets a dated name beside the new one. One of both is there at any moment."""
    sync(fresh)
    if target.exists() and not (_same_content(fresh, target) and target.suffix != ".db"):
        before = target.with_name(f"{target.stem}.before-{now().strftime('%Y%m%dT%H%M%S%fZ')}{target.suffix}")
        for suffix in ("-wal", "-shm"):  # left by a broken database: SQLite must not read them into the new one
            with contextlib.suppress(FileNotFoundError):
                Path(f"{target}{suffix}").rename(f"{before}{suffix}")
        keep_as(target, before)
        aside.append(os.fspath(before))
    fresh.replace(target)
    sync(target.parent)
