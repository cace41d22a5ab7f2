"""Take in files that are sent in pieces: written aside as they come, and named when all of them are whole."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from chyme.core.files.vault_folder import decode_path
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.vault.intake.new_files import DEEPEST, MODE, NEW, folder_parts
from chyme.vault.intake.upload_names import decode_name, safe_file_name, safe_folder_name, split_path
from chyme.vault.intake.upload_placement import FULL, MB, StagedFile, UploadResult, explain_write_error, place_uploads
from chyme.vault.open_vault import OpenVault

__all__ = ["UploadReceiver", "UploadResult", "UploadTooLarge"]

HEADERS, HEADER_BYTES = 16, 16 * 1024  # of one part

logging.getLogger("python_multipart").setLevel(logging.ERROR)  # of a broken body, whoever sent it is told


class UploadTooLarge(UsageError):
    """An upload goes beyond a limit; the message names the setting."""


class UploadReceiver:
    """One upload. Give it the body of the request piece by piece, then `finish`. Must be closed; blocks on the disk.

    Nothing of it is in the vault before `finish`: a request that breaks off leaves nothing behind.
    """

    def __init__(self, vault: OpenVault, folder: str, boundary: bytes, length: int | None) -> None:
        self._vault = vault
        self._folder = folder_parts(vault, folder)
        self._limits = vault.upload_limits
        self._refuse_much(length or 0)
        self._parser = self._parsing(boundary)
        self._headers: dict[bytes, bytes] = {}
        self._header: tuple[bytearray, bytearray] = (bytearray(), bytearray())  # the one that is being read
        self._coming: StagedFile | None = None
        self._stream: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._results: list[StagedFile | UploadResult] = []
        self._size = 0
        self._whole = False
        self._stack = ExitStack()
        vault.database.presence.require()  # else we would make a new folder where the vault's own one was
        with _disk_errors(vault):
            self._aside: Path = self._stack.enter_context(vault.staging.temporary_folder())
        try:
            self._refuse_full(length or 0)
        except DiskFull:
            self.close()
            raise

    def _parsing(self, boundary: bytes) -> MultipartParser:
        try:
            return MultipartParser(
                boundary,
                {
                    "on_part_begin": self._part_begin,
                    "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._headers_finished,
                    "on_part_data": self._part_data,
                    "on_part_end": self._part_end,
                    "on_end": self._end,
                },
                max_header_count=HEADERS,
                max_header_size=HEADER_BYTES,
            )
        except FormParserError as error:
            raise UsageError("the boundary of the body is too long; send it as browsers do") from error

    def feed(self, data: bytes) -> None:
        """The next piece of the body."""
        self._size += len(data)
        self._refuse_much(self._size)
        try:
            with _disk_errors(self._vault):
                self._refuse_full(0)
                self._parser.write(data)
        except FormParserError as error:
            raise UsageError("the body is broken; send multipart/form-data as browsers do") from error

    def finish(self) -> list[UploadResult]:
        """Give all files their names. UsageError when the body is not whole, or nothing of it could be taken."""
        if not self._whole:
            raise UsageError("the body ends in the middle; send it again")
        if not self._results:
            raise UsageError("there is no file in the body; send each in a part with a filename")
        with _disk_errors(self._vault):
            staged = [result for result in self._results if isinstance(result, StagedFile)]
            named = place_uploads(self._vault, self._aside, staged)
            told = [next(named) if isinstance(one, StagedFile) else one for one in self._results]
            named.close()
        if all(one.path is None for one in told):
            worst = next((one for one in told if one.disk_problem), told[0])
            raise (VaultError if worst.disk_problem else UsageError)(worst.problem or "nothing could be taken")
        self._vault.schedule_check([decode_path(one.path) for one in told if one.path and one.created])
        return told

    def close(self) -> None:
        """Take away what is not in the vault."""
        if self._stream is not None:
            self._stream.close()
        self._stack.close()

    def _part_begin(self) -> None:
        self._headers = {}
        self._header = (bytearray(), bytearray())

    def _header_end(self) -> None:
        field, value = self._header
        self._headers[bytes(field).lower()] = bytes(value)
        self._header = (bytearray(), bytearray())

    def _headers_finished(self) -> None:
        """A file begins; whatever else is sent is passed over."""
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        name = decode_name(options.get(b"filename", b""))
        if not name:
            return
        if len(self._results) >= self._limits.files:
            raise UploadTooLarge(f"more than {self._limits.files:,} files; send fewer at once, or raise upload_files")
        shown = name[:255]
        try:
            folder, wanted = self._wanted(decode_name(options.get(b"name", b"")), name)
        except UsageError as error:
            self._results.append(UploadResult(shown, None, 0, problem=str(error)))
            return
        self._coming = StagedFile(shown, folder, wanted, str(len(self._results)), 0, "")
        self._stream = os.fdopen(os.open(self._aside / self._coming.staged_name, NEW, MODE), "wb")
        self._hash = hashlib.sha256()

    def _wanted(self, field: str, name: str) -> tuple[tuple[str, ...], str]:
        """Folder and name, both harmless. Hidden names are refused, not made visible."""
        parts = split_path(field, name)
        folder = [*self._folder, *map(safe_folder_name, parts[:-1])]
        wanted = safe_file_name(parts[-1])
        if any(map(self._vault.scanner.ignores, ("/".join(parts), "/".join([*folder, wanted])))):
            raise UsageError(f"{name[:100]}: chyme passes over such files, as they are hidden or in .chymeignore")
        if len(os.fsencode("/".join(folder))) > DEEPEST:
            raise UsageError(f"{name[:100]} …: its folders have too long names; choose shorter ones")
        return tuple(folder), wanted

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._stream is not None:
            piece = memoryview(data)[start:end]
            self._stream.write(piece)
            self._hash.update(piece)

    def _part_end(self) -> None:
        if self._coming is not None and self._stream is not None:
            self._stream.flush()
            size = self._stream.tell()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._results.append(replace(self._coming, size=size, hash=self._hash.hexdigest()))
        self._coming = self._stream = None

    def _end(self) -> None:
        self._whole = True

    def _refuse_much(self, size: int) -> None:
        most = self._limits.bytes
        if size > most:
            raise UploadTooLarge(f"more than {most / MB:,.0f} MB; send fewer files at once, or raise upload_bytes")

    def _refuse_full(self, coming: int) -> None:
        """Before the disk is full: the database lives from what is left."""
        found = os.statvfs(self._aside)
        if found.f_bavail * found.f_frsize - coming < self._limits.free_mb * MB:
            raise DiskFull(
                f"{self._vault.folder.root.name}: there is too little room on the disk for this upload; "
                "make room, or lower upload_free_mb"
            )


@contextlib.contextmanager
def _disk_errors(vault: OpenVault) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        vault.database.presence.require()
        kind = DiskFull if error.errno in FULL else VaultError
        raise kind(f"{vault.folder.root.name}: {explain_write_error(error)}") from error
