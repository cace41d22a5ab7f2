"""The limits of one upload: its size, its number of files, and the room that must stay free on the disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from chyme.errors import DiskFull, UsageError

MB = 1024 * 1024


class UploadTooLarge(UsageError):
    """An upload exceeds a limit; the message names the setting."""


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The settings upload_files, upload_bytes and upload_free_mb."""

    files: int
    bytes: int
    free_mb: int  # that must stay free on the disk

    def check_size(self, size: int) -> None:
        """Raise UploadTooLarge if the body is larger; called before the first byte and with every piece."""
        if size > self.bytes:
            raise UploadTooLarge(
                f"more than {self.bytes / MB:,.0f} MB; send fewer files at once, or raise upload_bytes"
            )

    def check_files(self, count: int) -> None:
        """Raise UploadTooLarge if there are more files."""
        if count > self.files:
            raise UploadTooLarge(f"more than {self.files:,} files; send fewer at once, or raise upload_files")

    def check_disk(self, folder: Path, expected: int, vault: str) -> None:
        """Raise DiskFull before the disk is full, because the database needs space, too."""
        disk = os.statvfs(folder)
        if disk.f_bavail * disk.f_frsize - expected < self.free_mb * MB:
            raise DiskFull(
                f"{vault}: there is too little room on the disk for this upload; make room, or lower upload_free_mb"
            )
