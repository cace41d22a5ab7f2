"""Stores files that are in memory, such as those of an e-mail: none replaces another, and none is stored twice."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.core.files.vault_folder import decode_path
from chyme.vault.file_names import safe_file_name
from chyme.vault.intake.new_files import MODE, folder_parts
from chyme.vault.intake.upload_placement import StagedFile, UploadResult, explain_disk_errors, place_uploads
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import NEW_FILE


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to store: its name, which need not be safe, and its content."""

    name: str
    data: bytes


def store_files(vault: OpenVault, files: Sequence[NewFile], folder: str) -> list[UploadResult]:
    """Write files into a folder of the vault, in order; those with a `problem` were not stored.

    A file of the same name and content counts as stored, so it may be called again after an interruption. Raises
    VaultError or DiskFull if nothing can be written there.
    """
    parts = tuple(folder_parts(vault, folder))
    vault.database.presence.require()
    results: list[StagedFile | UploadResult] = []
    with explain_disk_errors(vault), vault.staging.temporary_folder() as staging:
        vault.upload_limits.check_disk(staging, sum(len(file.data) for file in files), vault.folder.root.name)
        for number, file in enumerate(files):
            name = safe_file_name(file.name)
            if vault.scanner.ignores("/".join([*parts, name])):
                problem = f"{name}: chyme ignores such files, as they are hidden or in .chymeignore"
                results.append(UploadResult(file.name, None, len(file.data), problem=problem))
                continue
            with os.fdopen(os.open(staging / str(number), NEW_FILE, MODE), "wb") as stream:
                stream.write(file.data)
                stream.flush()
                os.fsync(stream.fileno())
            content_hash = hashlib.sha256(file.data).hexdigest()
            results.append(StagedFile(file.name, parts, name, str(number), len(file.data), content_hash))
        staged = [result for result in results if isinstance(result, StagedFile)]
        placed = place_uploads(vault, staging, staged)
        stored = [next(placed) if isinstance(result, StagedFile) else result for result in results]
        placed.close()
    vault.schedule_check([decode_path(result.path) for result in stored if result.path and result.created])
    return stored
