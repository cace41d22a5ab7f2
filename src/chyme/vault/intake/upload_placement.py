"""Give files that have come whole their names in the vault: in nobody's place, and none twice."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from chyme.core.files.vault_folder import FOLDER_ITSELF, encode_path
from chyme.errors import UsageError
from chyme.files.machine_names import without_extension
from chyme.files.numbered_names import numbered_name
from chyme.vault.intake.new_files import MODE, NEW, hidden_name, is_taken, move_into_place, open_folder
from chyme.vault.open_vault import OpenVault

FULL = (errno.ENOSPC, errno.EDQUOT)
MOST_NUMBERS = 10_000
MB = 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A whole file under a name aside, and where it is wanted."""

    name: str  # as it was sent
    folder: tuple[str, ...]  # as the disk spells it
    wanted_name: str
    staged_name: str
    size: int
    hash: str


@dataclass(frozen=True, slots=True)
class UploadResult:
    """A file that was sent. `created` is False when it was there before, or (`problem`) could not be taken."""

    name: str
    path: str | None
    size: int
    created: bool = False
    problem: str | None = None
    disk_problem: bool = False  # whether the problem is ours, not that of what was sent


def place_uploads(vault: OpenVault, aside: Path, files: Sequence[StagedFile]) -> Generator[UploadResult]:
    """Each file, in order, as far as it could be named; what the folder held before is not touched."""
    source = os.open(aside, FOLDER_ITSELF)
    try:
        for folder, some in groupby(files, lambda one: one.folder):
            yield from _in_folder(vault, source, folder, list(some))
    finally:
        os.close(source)


def explain_write_error(error: OSError) -> str:
    """Why a file could not be written, and the way out."""
    if error.errno in FULL:
        return "there is no room left on the disk; make room and send it again"
    return f"no file can be written there ({error.strerror}); see who may write in the vault's folder"


def _in_folder(vault: OpenVault, source: int, folder: Sequence[str], files: Sequence[StagedFile]) -> list[UploadResult]:
    try:
        with open_folder(vault, folder) as handle:
            return [_attempt(one, lambda one=one: _named(source, handle, folder, one)) for one in files]  # type: ignore[misc]
    except (UsageError, OSError) as error:
        return [_refused(one, error) for one in files]


def _attempt(one: StagedFile, name: Callable[[], UploadResult]) -> UploadResult:
    try:
        return name()
    except (UsageError, OSError) as error:
        return _refused(one, error)


def _refused(one: StagedFile, error: UsageError | OSError) -> UploadResult:
    by_disk = isinstance(error, OSError)
    why = explain_write_error(error) if isinstance(error, OSError) else str(error)
    return UploadResult(one.name, None, one.size, problem=f"{one.name[:100]}: {why}", disk_problem=by_disk)


def _named(source: int, handle: int, folder: Sequence[str], one: StagedFile) -> UploadResult:
    """Under the first free name, unless a file of the same content has one of those before it."""
    ending = one.wanted_name[len(without_extension(one.wanted_name)) :]
    for number in range(1, MOST_NUMBERS):
        name = numbered_name(one.wanted_name, number, ending)
        path = encode_path("/".join([*folder, name]))[0]
        if not is_taken(handle, name) and _placed(source, one.staged_name, handle, name):
            return UploadResult(one.name, path, one.size, created=True)
        if _holds(handle, name, one):
            return UploadResult(one.name, path, one.size)
    raise UsageError("too many files are called so; choose another name")


def _placed(source: int, aside: str, handle: int, name: str) -> bool:
    """Whether the file has this name now, which nobody had; copied where the folder is on another disk."""
    try:
        return move_into_place(source, aside, handle, name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    temporary = hidden_name()
    try:
        with (
            open(os.open(aside, _READ, dir_fd=source), "rb") as whole,
            open(os.open(temporary, NEW, MODE, dir_fd=handle), "wb") as copy,
        ):
            shutil.copyfileobj(whole, copy, MB)
            copy.flush()
            os.fsync(copy.fileno())
        return move_into_place(handle, temporary, handle, name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=handle)


def _holds(handle: int, name: str, one: StagedFile) -> bool:
    """Whether the file of this name is the very one that was sent."""
    try:
        opened = os.open(name, _READ, dir_fd=handle)
    except OSError:
        return False
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode) or status.st_size != one.size:
        os.close(opened)
        return False
    with open(opened, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == one.hash
