"""Moves completely received files into the vault, without replacing other files or storing one twice."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from chyme.core.files.vault_folder import FOLDER_ITSELF, encode_path
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.vault.file_names import numbered_name
from chyme.vault.intake.new_files import MODE, is_taken, move_into_place, open_folder
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import EXISTING_FILE, NEW_FILE, hidden_name

FULL = (errno.ENOSPC, errno.EDQUOT)
MAX_NUMBER = 10_000
MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A completely received file in the staging folder, and where it should go."""

    name: str  # as it was sent
    folder: tuple[str, ...]  # as spelled on disk
    wanted_name: str
    staged_name: str
    size: int
    hash: str


@dataclass(frozen=True, slots=True)
class UploadResult:
    """An uploaded file. `created` is False if it was there before, or (`problem`) could not be stored."""

    name: str
    path: str | None
    size: int
    created: bool = False
    problem: str | None = None
    disk_problem: bool = False  # whether the disk is the problem, not the uploaded file


def place_uploads(vault: OpenVault, staging: Path, files: Sequence[StagedFile]) -> Generator[UploadResult]:
    """Place each file and yield the results in order; existing files are not touched."""
    source = os.open(staging, FOLDER_ITSELF)
    try:
        for folder, group in groupby(files, lambda file: file.folder):
            yield from _place_in_folder(vault, source, folder, list(group))
    finally:
        os.close(source)


def explain_write_error(error: OSError) -> str:
    """Say why a file could not be written, and what to do."""
    if error.errno in FULL:
        return "there is no room left on the disk; make room and send it again"
    return f"no file can be written there ({error.strerror}); see who may write in the vault's folder"


@contextlib.contextmanager
def explain_disk_errors(vault: OpenVault) -> Iterator[None]:
    """Turn an error of the disk into one that says what to do; a missing vault is said to be missing."""
    try:
        yield
    except OSError as error:
        vault.database.presence.require()
        kind = DiskFull if error.errno in FULL else VaultError
        raise kind(f"{vault.folder.root.name}: {explain_write_error(error)}") from error


def _place_in_folder(
    vault: OpenVault, source: int, folder: Sequence[str], files: Sequence[StagedFile]
) -> list[UploadResult]:
    try:
        with open_folder(vault, folder) as handle:
            return [_try_placing(source, handle, file) for file in files]
    except (UsageError, OSError) as error:
        return [_failure_result(file, error) for file in files]


def _try_placing(source: int, handle: int, file: StagedFile) -> UploadResult:
    try:
        return _place_file(source, handle, file)
    except (UsageError, OSError) as error:
        return _failure_result(file, error)


def _failure_result(file: StagedFile, error: UsageError | OSError) -> UploadResult:
    by_disk = isinstance(error, OSError)
    reason = explain_write_error(error) if isinstance(error, OSError) else error
    return UploadResult(file.name, None, file.size, problem=f"{file.name[:100]}: {reason}", disk_problem=by_disk)


def _place_file(source: int, handle: int, file: StagedFile) -> UploadResult:
    """Use the first free name, unless a file with the same content has an earlier one."""
    for number in range(1, MAX_NUMBER):
        name = numbered_name(file.wanted_name, number)
        path = encode_path("/".join([*file.folder, name]))[0]
        if not is_taken(handle, name) and _move_or_copy(source, file.staged_name, handle, name):
            return UploadResult(file.name, path, file.size, created=True)
        if _has_same_content(handle, name, file):
            return UploadResult(file.name, path, file.size)
    raise UsageError("too many files are called so; choose another name")


def _move_or_copy(source: int, staged_name: str, handle: int, name: str) -> bool:
    """Move the file to this name, or copy it to another disk. Return False if the name is taken."""
    try:
        return move_into_place(source, staged_name, handle, name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    temporary = hidden_name()
    try:
        with (
            open(os.open(staged_name, EXISTING_FILE, dir_fd=source), "rb") as original,
            open(os.open(temporary, NEW_FILE, MODE, dir_fd=handle), "wb") as copy,
        ):
            shutil.copyfileobj(original, copy, MB)
            copy.flush()
            os.fsync(copy.fileno())
        return move_into_place(handle, temporary, handle, name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=handle)


def _has_same_content(handle: int, name: str, file: StagedFile) -> bool:
    """Whether the file of this name has the same content as the uploaded one."""
    try:
        descriptor = os.open(name, EXISTING_FILE, dir_fd=handle)
    except OSError:
        return False
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size:
        os.close(descriptor)
        return False
    with open(descriptor, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.hash
