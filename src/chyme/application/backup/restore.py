"""Bring back what a backup holds. What was there before is put aside, never deleted."""

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
from chyme.application.backup.archive import Manifest, Part, copy_part, is_safe_name, manifest_of, parts_of
from chyme.application.backup.creation import FILE_PART, SERVER_PART, STATE_PART, TRASH_PART
from chyme.application.backup.portable_settings import merge_settings
from chyme.application.backup.temporary_folder import temporary_folder
from chyme.application.server_vaults import server_folder
from chyme.application.settings import FILE_NAME as SETTINGS
from chyme.application.settings import read_settings
from chyme.core.clock import now
from chyme.core.files.permissions import FOLDER_MODE, make_private_folder, make_private_state, tighten_state
from chyme.core.files.vault_folder import STATE, is_state
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.database import FILE_NAME as DATABASE
from chyme.core.store.sqlite.database import migrations, refuse_network_file_system
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.search.vectors.cache import FOLDER as VECTORS
from chyme.vault.trash import FOLDER as TRASH

PREFIX = ".chyme-restore-"
_KNOWN = frozenset({STATE_PART + DATABASE, STATE_PART + SETTINGS, SERVER_PART + SERVER})
RESTORED_SETTINGS_NAME = (
    "settings.restored.toml"  # they name programs and addresses: whoever trusts the archive puts them in force
)


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What was brought back."""

    vault: Path
    made_at: str
    files: int
    server: bool
    kept: tuple[str, ...]  # files that were there with other content
    aside: tuple[str, ...]  # under which names what was there before is kept
    settings: str | None  # where the settings of the backup are now
    settings_in_force: bool


@dataclass(slots=True)
class _Restoring:
    archive: Path
    root: Path
    state: Path
    staged: Path
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
    """Everything is brought in and compared first; only then does it take the place of what was there."""
    manifest = manifest_of(archive)
    _refuse_what_we_cannot_read(archive, manifest, with_server)
    if with_settings and STATE_PART + SETTINGS not in manifest.parts:
        raise UsageError(f"{archive}: there are no settings in it; leave out --settings")
    own = read_settings(into / STATE, environment)
    accounts = server_folder(own) / SERVER
    if with_server:
        _refuse_to_replace(accounts, replace)
    try:
        if not into.is_dir():
            make_private_folder(into)
        root = into.resolve()
        state = Path(own.state_dir).expanduser() if own.state_dir else root / STATE
        make_private_state(state)
        tighten_state(root / STATE)
        refuse_network_file_system(state)
        if (state / DATABASE).exists():
            copies.merge_journal(state / DATABASE)  # before anything else: nobody may be at work here
        if with_server and accounts.exists():
            copies.merge_journal(accounts)  # nor may a server: half of it would be restored
        with temporary_folder(state, PREFIX) as staged:
            work = _Restoring(archive, root, state, staged)
            for part, entry, stream in parts_of(archive, manifest):
                _bring_in(work, part, entry, stream)
            _put_in_place(work, with_settings)
            if with_server:
                _put_accounts_in_place(work, accounts)
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


def _refuse_what_we_cannot_read(archive: Path, manifest: Manifest, with_server: bool) -> None:
    if STATE_PART + DATABASE not in manifest.parts:
        raise UsageError(f"{archive}: there is no database of a vault in it")
    for told, known in ((manifest.schema, "migrations"), (manifest.server_schema, SERVER_SCHEMA)):
        newest = migrations(known)[-1][0]
        if told is not None and told > newest:
            raise UsageError(
                f"{archive}: was made by a newer chyme ({manifest.chyme}, schema {told}; this one knows {newest}); "
                "upgrade chyme, and restore again"
            )
    if with_server and SERVER_PART + SERVER not in manifest.parts:
        raise UsageError(f"{archive}: there are no accounts in it; leave out --server")
    for name in manifest.parts:
        if name not in _KNOWN and not name.startswith((FILE_PART, TRASH_PART)):
            raise UsageError(f"{archive}: {name[:200]!r} is nothing that chyme backs up; it is not to be trusted")
        if any(map(is_state, name.split("/"))):
            raise UsageError(f"{archive}: {name[:200]!r} is a file of chyme's own folder; it is not to be trusted")


def _refuse_to_replace(accounts: Path, replace: bool) -> None:
    if accounts.exists() and not replace and copies.has_accounts(accounts):
        raise UsageError(
            f"{accounts}: there are accounts already; --replace puts those of the backup in their place (and keeps "
            "these beside them), without --server they stay as they are"
        )


def _bring_in(work: _Restoring, part: Part, entry: tarfile.TarInfo, stream: IO[bytes]) -> None:
    staged = work.staged / "part"
    with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as target:
        copy_part(work.archive, part, stream, target)
        target.flush()
        os.fsync(target.fileno())
    if part.name in _KNOWN:
        staged.rename(work.staged / part.name.replace("/", "-"))
        return
    os.utime(staged, (entry.mtime, entry.mtime))
    if part.name.startswith(TRASH_PART):
        name, top, mode = part.name.removeprefix(TRASH_PART), work.state / TRASH, FOLDER_MODE
    else:
        name, top, mode = part.name.removeprefix(FILE_PART), work.root, 0o755
        staged.chmod(entry.mode & 0o755 | 0o600)
    if not _put_file(staged, top, name, mode):
        work.kept.append(part.name)
    else:
        work.files += not part.name.startswith(TRASH_PART)


def _put_file(staged: Path, top: Path, name: str, mode: int) -> bool:
    """Move a file to its place, unless another one is there. Whether what is there now is what was restored."""
    assert is_safe_name(name)
    *folders, last = name.split("/")
    folder = top
    folder.mkdir(mode=0o700, exist_ok=True)
    for each in folders:
        folder = folder / each
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode)
        if not stat.S_ISDIR(folder.lstat().st_mode):  # a link would lead us out of the vault
            return False
    target = folder / last
    if os.path.lexists(target):
        return _same(staged, target)
    try:
        os.link(staged, target)
        staged.unlink()
    except FileExistsError:
        return _same(staged, target)
    except OSError:  # another disk, or one without links
        partial = folder / f".{os.urandom(8).hex()}.part"  # passed over by whoever watches
        try:
            shutil.copy2(staged, partial)
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)
    return True


def _same(one: Path, other: Path) -> bool:
    if not stat.S_ISREG(other.lstat().st_mode) or one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while data := left.read(1 << 20):
            if data != right.read(len(data)):
                return False
    return True


def _put_in_place(work: _Restoring, with_settings: bool) -> None:
    """The one moment in which the vault changes: its database is the old one before, and the restored one after."""
    database = work.staged / (STATE_PART + DATABASE).replace("/", "-")
    wrong = copies.find_faults(database)
    if wrong:
        raise UsageError(f"{work.archive}: its database is damaged ({wrong[0]}); use another backup")
    copies.remove_owner(database)
    settings = _settings(work, with_settings)
    target = work.state / DATABASE
    if target.exists():
        copies.merge_journal(target)
    shutil.rmtree(work.state / VECTORS, ignore_errors=True)  # a cache, of numbers that may be given again
    _replace(database, target, work.aside)
    if settings is not None:
        _put_settings_in_place(work, settings, with_settings)


def _settings(work: _Restoring, in_force: bool) -> bytes | None:
    """Those of the backup, but for where this vault keeps its things: its own database would not be found again."""
    staged, there = work.staged / (STATE_PART + SETTINGS).replace("/", "-"), work.root / STATE / SETTINGS
    if not staged.exists():
        return None
    here = tomllib.loads(there.read_text(encoding="utf-8")) if there.is_file() else {}
    try:
        return merge_settings(staged.read_text(encoding="utf-8"), here).encode()
    except ValueError as error:
        if in_force:
            raise UsageError(
                f"{work.archive}: its settings are not valid TOML ({error}); leave out --settings"
            ) from error
        return staged.read_bytes()  # for people to look at: nobody else can read it


def _put_settings_in_place(work: _Restoring, settings: bytes, in_force: bool) -> None:
    folder = work.root / STATE
    make_private_state(folder)
    there = folder / SETTINGS
    if there.is_file() and there.read_bytes() == settings:
        work.settings = there
        return
    work.settings = there if in_force else folder / RESTORED_SETTINGS_NAME
    with temporary_folder(folder, PREFIX) as staged:  # the database may be on another disk
        fresh = staged / SETTINGS
        fresh.touch(0o600)
        fresh.write_bytes(settings)
        _replace(fresh, work.settings, work.aside)


def _put_accounts_in_place(work: _Restoring, accounts: Path) -> None:
    staged = work.staged / (SERVER_PART + SERVER).replace("/", "-")
    make_private_state(accounts.parent)
    with temporary_folder(accounts.parent, PREFIX) as folder:
        copy = folder / SERVER
        shutil.copyfile(staged, copy)
        copy.chmod(0o600)
        if accounts.exists():
            copies.merge_journal(accounts)
        _replace(copy, accounts, work.aside)


def _replace(fresh: Path, target: Path, aside: list[str]) -> None:
    """Put a file in the place of another, which gets a dated name beside it. Either is there at any moment."""
    with fresh.open("rb") as stream:
        os.fsync(stream.fileno())
    if target.exists() and not (_same(fresh, target) and target.suffix != ".db"):
        before = target.with_name(f"{target.stem}.before-{now().strftime('%Y%m%dT%H%M%S%fZ')}{target.suffix}")
        for end in ("-wal", "-shm"):  # only of one that is broken: they must not be read into the new one
            with contextlib.suppress(FileNotFoundError):
                Path(f"{target}{end}").rename(f"{before}{end}")
        try:
            os.link(target, before)
        except OSError:
            shutil.copy2(target, before)
        aside.append(os.fspath(before))
    fresh.replace(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
