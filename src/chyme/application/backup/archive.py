"""The format of a backup: a tar of parts that ends with a manifest of the size and SHA-256 of each part.

Plain tar, because any computer opens it without chyme, it has no size limit, keeps any name, and is written in one
pass. It is not compressed: pictures and recordings hardly shrink, and users can compress it with any tool.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from chyme.accounts.tables.server_database import FILE_NAME as SERVER
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.database import FILE_NAME as DATABASE
from chyme.errors import UsageError

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES = 1 << 29  # the manifest of a million files takes a quarter of this
BLOCK = 1 << 20
_MAX_MTIME = 1 << 62  # seconds that a file system accepts
STATE_PART, SERVER_PART, FILE_PART, TRASH_PART = "state/", "server/", "files/", "trash/"
DATABASES = (STATE_PART + DATABASE, SERVER_PART + SERVER)


@dataclass(frozen=True, slots=True)
class Part:
    """One file in the archive."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The declared contents of an archive."""

    chyme: str
    made_at: str
    vault: str  # the name of its folder
    schema: int
    server_schema: int | None
    parts: Mapping[str, Part]
    changed: tuple[str, ...] = ()  # files that changed while they were read
    missing: tuple[str, ...] = ()  # files that could not be read
    counts: Mapping[str, int] = field(default_factory=dict)


class ArchiveWriter:
    """Writes parts one after the other; only their names and hashes stay in memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._tar = tarfile.open(  # noqa: SIM115 - closed by `finish`
            fileobj=stream, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
        )
        self.parts: dict[str, Part] = {}

    def add(self, name: str, source: IO[bytes], size: int, mtime: float = 0.0, mode: int = 0o600) -> bool:
        """Add `size` bytes, with zeros for those that the source lacks by now; return whether it had them all."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mtime, entry.mode = size, mtime, mode
        reader = _HashingReader(source, size)
        self._tar.addfile(entry, reader)
        _forget_entries(self._tar)
        self.parts[name] = Part(name, size, reader.hash.hexdigest())
        return reader.whole

    def finish(self, fields: Mapping[str, Any]) -> None:
        """Write the manifest."""
        parts = [{"name": part.name, "size": part.size, "sha256": part.sha256} for part in self.parts.values()]
        data = json.dumps({"format": FORMAT, **fields, "parts": parts}, indent=1).encode()
        self.add(MANIFEST, io.BytesIO(data), len(data))
        self._tar.close()


class _HashingReader:
    """Hashes what is read, and returns exactly `size` bytes."""

    def __init__(self, source: IO[bytes], size: int) -> None:
        self._source = source
        self._left = size
        self.hash = hashlib.sha256()
        self.whole = True

    def read(self, count: int = BLOCK) -> bytes:
        wanted = min(count, self._left)
        data = self._source.read(wanted) if self.whole else b""
        if len(data) < wanted:
            self.whole = False
            data += bytes(wanted - len(data))
        self._left -= wanted
        self.hash.update(data)
        return data


@contextmanager
def _open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r:", encoding="utf-8", errors="surrogateescape") as tar:
            yield tar
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.filename:
            raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
        raise UsageError(f"{path}: is not a whole archive of 'chyme backup' ({error})") from error


def _entries(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (entry := tar.next()) is not None:
        yield entry
        _forget_entries(tar)


def _forget_entries(tar: tarfile.TarFile) -> None:
    """Free memory: the tar keeps an entry of every file, which adds up."""
    tar.members.clear()  # type: ignore[attr-defined]


def manifest_of(path: Path) -> Manifest:
    """Return the manifest; raises UsageError if it is no archive, is truncated, or is contradictory."""
    with _open_tar(path) as tar:
        last = None
        for entry in _entries(tar):
            last = entry
        if last is None or last.name != MANIFEST or not 0 < last.size <= MANIFEST_BYTES or not _is_plain_file(last):
            raise UsageError(f"{path}: is not a whole archive of 'chyme backup': it does not end with {MANIFEST}")
        stream = tar.extractfile(last)
        assert stream is not None
        return _parse_manifest(path, stream.read())


def parts_of(path: Path, manifest: Manifest) -> Iterator[tuple[Part, tarfile.TarInfo, IO[bytes]]]:
    """Yield every part with its bytes, whose hash is not checked yet. Refuses parts that the manifest does not name."""
    remaining = dict(manifest.parts)
    with _open_tar(path) as tar:
        for entry in _entries(tar):
            if entry.name == MANIFEST:
                continue
            part = remaining.pop(entry.name, None)
            if part is None or not _is_plain_file(entry) or entry.size != part.size:
                raise UsageError(f"{path}: {entry.name[:200]!r} is not what its manifest says; it is not to be trusted")
            if not abs(entry.mtime) < _MAX_MTIME:  # also catches NaN
                raise UsageError(f"{path}: {entry.name[:200]!r} has an impossible time; it is not to be trusted")
            stream = tar.extractfile(entry)
            assert stream is not None
            yield part, entry, stream
    if remaining:
        raise UsageError(f"{path}: {next(iter(remaining))[:200]!r} is missing, though its manifest names it")


def copy_part(path: Path, part: Part, source: IO[bytes], target: IO[bytes] | None) -> None:
    """Copy a part; raises UsageError if it has changed since the archive was made."""
    digest = hashlib.sha256()
    while data := source.read(BLOCK):
        digest.update(data)
        if target is not None:
            target.write(data)
    if digest.hexdigest() != part.sha256:
        raise UsageError(f"{path}: {part.name[:200]!r} is damaged; use another backup")


def is_safe_name(name: str) -> bool:
    """Whether a name is a relative path that does not leave its folder."""
    return bool(name) and "\0" not in name and not any(part in ("", ".", "..") for part in name.split("/"))


def _is_plain_file(entry: tarfile.TarInfo) -> bool:
    """Whether it is an ordinary file (no link, device or sparse file) with a safe name."""
    return entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not entry.issparse() and is_safe_name(entry.name)


def _parse_manifest(path: Path, data: bytes) -> Manifest:
    try:
        fields = json.loads(data)
        if fields["format"] != FORMAT:
            raise UsageError(
                f"{path}: was made by a newer chyme (format {fields['format']}); upgrade chyme to restore it"
            )
        parts = [Part(str(part["name"]), int(part["size"]), str(part["sha256"])) for part in fields["parts"]]
        server = fields["server_schema"]
        manifest = Manifest(
            *(str(fields["chyme"]), str(fields["made_at"]), str(fields["vault"]), int(fields["schema"])),
            int(server) if server is not None else None,
            {part.name: part for part in parts},
            tuple(map(str, fields["changed"])),
            tuple(map(str, fields["missing"])),
            {str(name): int(count) for name, count in fields["counts"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: its manifest cannot be understood; it is not to be trusted") from error
    if len(manifest.parts) != len(parts) or not all(is_safe_name(name) for name in manifest.parts):
        raise UsageError(f"{path}: its manifest names parts twice, or outside of it; it is not to be trusted")
    return manifest


def check(archive: Path) -> list[str]:
    """Return what is wrong with it as sentences: wrong hashes, missing parts, inconsistent databases."""
    try:
        manifest = manifest_of(archive)
        problems = [] if DATABASES[0] in manifest.parts else [f"{archive}: there is no {DATABASES[0]} in it"]
        with tempfile.TemporaryDirectory(prefix="chyme-check-") as folder:
            for part, _, stream in parts_of(archive, manifest):
                if part.name not in DATABASES:
                    copy_part(archive, part, stream, None)
                    continue
                copy = Path(folder) / part.name.replace("/", "-")
                with copy.open("wb") as target:
                    copy_part(archive, part, stream, target)
                problems += [f"{part.name}: {fault}" for fault in copies.find_faults(copy)]
                copy.unlink()
    except UsageError as error:
        return [str(error)]
    return problems
