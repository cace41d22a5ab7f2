"""Receives uploads in pieces: files are written to a staging folder, and moved into the vault when all are complete."""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from chyme.core.files.vault_folder import decode_path
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.vault.file_names import decode_name, safe_file_name, safe_folder_name, split_path
from chyme.vault.intake.new_files import MAX_FOLDER_BYTES, MODE, folder_parts
from chyme.vault.intake.upload_limits import UploadTooLarge
from chyme.vault.intake.upload_placement import StagedFile, UploadResult, explain_disk_errors, place_uploads
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import NEW_FILE

MAX_HEADERS, MAX_HEADER_BYTES = 16, 16 * 1024  # of one part

logging.getLogger("python_multipart").setLevel(logging.ERROR)  # the sender of a broken body gets an error


class UploadReceiver:
    """One upload: feed it the request body in pieces, then `finish`. Must be closed; blocks on the disk.

    Nothing is in the vault before `finish`: an aborted request leaves nothing behind.
    """

    def __init__(
        self, vault: OpenVault, folder: str, boundary: bytes, length: int | None, *, field_bytes: int = 0
    ) -> None:
        """`field_bytes`: how much of the parts without a file is kept in `fields`; more is refused."""
        self.fields: dict[str, str] = {}
        self._field_bytes = field_bytes
        self._field: tuple[str, bytearray] | None = None  # name and value of the one being read
        self._vault = vault
        self._folder = folder_parts(vault, folder)
        self._limits = vault.upload_limits
        self._limits.check_size(length or 0)
        self._parser = self._make_parser(boundary)
        self._headers: dict[bytes, bytes] = {}
        self._header: tuple[bytearray, bytearray] = (bytearray(), bytearray())  # name and value of the one being read
        self._current: StagedFile | None = None
        self._stream: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._results: list[StagedFile | UploadResult] = []
        self._size = 0
        self._complete = False
        self._stack = ExitStack()
        vault.database.presence.require()  # otherwise a new folder would be made in place of a missing vault
        with explain_disk_errors(vault):
            self._staging: Path = self._stack.enter_context(vault.staging.temporary_folder())
        try:
            self._check_disk(length or 0)
        except DiskFull:
            self.close()
            raise

    def _make_parser(self, boundary: bytes) -> MultipartParser:
        try:
            return MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._begin_file,
                    "on_part_data": self._write_data,
                    "on_part_end": self._end_part,
                    "on_end": self._end_body,
                },
                max_header_count=MAX_HEADERS,
                max_header_size=MAX_HEADER_BYTES,
            )
        except FormParserError as error:
            raise UsageError("the boundary of the body is too long; send it as browsers do") from error

    def feed(self, data: bytes) -> None:
        """Parse the next piece of the body."""
        self._size += len(data)
        self._limits.check_size(self._size)
        try:
            with explain_disk_errors(self._vault):
                self._check_disk(0)
                self._parser.write(data)
        except FormParserError as error:
            raise UsageError("the body is broken; send multipart/form-data as browsers do") from error

    @property
    def has_files(self) -> bool:
        """Whether any file has come."""
        return bool(self._results)

    def finish(self) -> list[UploadResult]:
        """Move all files into the vault. Raises UsageError if the body is incomplete, or no file could be stored."""
        self.require_complete()
        if not self._results:
            raise UsageError("there is no file in the body; send each in a part with a filename")
        with explain_disk_errors(self._vault):
            staged = [result for result in self._results if isinstance(result, StagedFile)]
            placed = place_uploads(self._vault, self._staging, staged)
            results = [next(placed) if isinstance(result, StagedFile) else result for result in self._results]
            placed.close()
        if all(result.path is None for result in results):
            failure = next((result for result in results if result.disk_problem), results[0])
            raise (VaultError if failure.disk_problem else UsageError)(failure.problem or "nothing could be taken")
        self._vault.schedule_check([decode_path(result.path) for result in results if result.path and result.created])
        return results

    def require_complete(self) -> None:
        """Raise UsageError unless the whole body has come."""
        if not self._complete:
            raise UsageError("the body ends in the middle; send it again")

    def close(self) -> None:
        """Remove what was not moved into the vault."""
        if self._stream is not None:
            self._stream.close()
        self._stack.close()

    def _begin_part(self) -> None:
        self._headers = {}
        self._header = (bytearray(), bytearray())

    def _end_header(self) -> None:
        field, value = self._header
        self._headers[bytes(field).lower()] = bytes(value)
        self._header = (bytearray(), bytearray())

    def _begin_file(self) -> None:
        """Start a file, or a field where those are wanted; other parts without a file name are ignored."""
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        name = decode_name(options.get(b"filename", b""))
        if not name:
            if self._field_bytes and b"filename" not in options:
                self._field = decode_name(options.get(b"name", b""))[:100], bytearray()
            return
        self._limits.check_files(len(self._results) + 1)
        shown_name = name[:255]
        try:
            folder, wanted_name = self._safe_target(decode_name(options.get(b"name", b"")), name)
        except UsageError as error:
            self._results.append(UploadResult(shown_name, None, 0, problem=str(error)))
            return
        self._current = StagedFile(shown_name, folder, wanted_name, str(len(self._results)), 0, "")
        self._stream = os.fdopen(os.open(self._staging / self._current.staged_name, NEW_FILE, MODE), "wb")
        self._hash = hashlib.sha256()

    def _safe_target(self, field: str, name: str) -> tuple[tuple[str, ...], str]:
        """Return a safe folder and name. Hidden names are refused, not made visible."""
        parts = split_path(field, name)
        folder = [*self._folder, *map(safe_folder_name, parts[:-1])]
        wanted_name = safe_file_name(parts[-1])
        if any(map(self._vault.scanner.ignores, ("/".join(parts), "/".join([*folder, wanted_name])))):
            raise UsageError(f"{name[:100]}: chyme ignores such files, as they are hidden or in .chymeignore")
        if len(os.fsencode("/".join(folder))) > MAX_FOLDER_BYTES:
            raise UsageError(f"{name[:100]} …: its folders have too long names; choose shorter ones")
        return tuple(folder), wanted_name

    def _write_data(self, data: bytes, start: int, end: int) -> None:
        if self._stream is not None:
            piece = memoryview(data)[start:end]
            self._stream.write(piece)
            self._hash.update(piece)
        elif self._field is not None:
            self._field_bytes -= end - start
            if self._field_bytes <= 0:
                raise UploadTooLarge("the text is too long; send it as a file")
            self._field[1].extend(data[start:end])

    def _end_part(self) -> None:
        if self._current is not None and self._stream is not None:
            self._stream.flush()
            size = self._stream.tell()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._results.append(replace(self._current, size=size, hash=self._hash.hexdigest()))
        elif self._field is not None:
            name, value = self._field
            self.fields.setdefault(name, value.decode("utf-8", "replace"))
        self._current = self._stream = self._field = None

    def _end_body(self) -> None:
        self._complete = True

    def _check_disk(self, expected: int) -> None:
        self._limits.check_disk(self._staging, expected, self._vault.folder.root.name)
