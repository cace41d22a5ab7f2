"""The form of a backup: a tar of parts, and last a manifest with the size and SHA-256 of each.

Plain tar, because any computer opens it without chyme, it has no limit of size, keeps any name, and is written in one
go. It is not compressed: pictures and recordings cannot be, and who wants to may do it with what they like.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from chyme.errors import UsageError

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES = 1 << 29  # a million files have a manifest of a quarter of that
BLOCK = 1 << 20
_LAST_SECOND = 1 << 62  # what a disk may be told


@dataclass(frozen=True, slots=True)
class Part:
    """One file in the archive."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive holds, as it says itself."""

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
    """Writes parts one after the other; nothing is kept in memory but their names and hashes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._tar = tarfile.open(  # noqa: SIM115 - closed by `finish`
            fileobj=stream, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
        )
        self.parts: dict[str, Part] = {}

    def add(self, name: str, source: IO[bytes], size: int, mtime: float = 0.0, mode: int = 0o600) -> bool:
        """Add so many bytes; where the source has fewer by now, zeros stand for them. Whether it had them all."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mtime, entry.mode = size, mtime, mode
        counted = _Counted(source, size)
        self._tar.addfile(entry, counted)
        _let_go(self._tar)
        self.parts[name] = Part(name, size, counted.hash.hexdigest())
        return counted.whole

    def finish(self, told: Mapping[str, Any]) -> None:
        """Write the manifest."""
        parts = [{"name": one.name, "size": one.size, "sha256": one.sha256} for one in self.parts.values()]
        data = json.dumps({"format": FORMAT, **told, "parts": parts}, indent=1).encode()
        self.add(MANIFEST, io.BytesIO(data), len(data))
        self._tar.close()


class _Counted:
    """Hashes what is read, and gives exactly as many bytes as were promised."""

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
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
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
        _let_go(tar)


def _let_go(tar: tarfile.TarFile) -> None:
    """It keeps an entry of every file, which adds up."""
    tar.members.clear()  # type: ignore[attr-defined]


def manifest_of(path: Path) -> Manifest:
    """What the archive says it holds; UsageError when it is none, is cut short, or says what cannot be."""
    with _opened(path) as tar:
        last = None
        for entry in _entries(tar):
            last = entry
        if last is None or last.name != MANIFEST or not 0 < last.size <= MANIFEST_BYTES or not _plain(last):
            raise UsageError(f"{path}: is not a whole archive of 'chyme backup': it does not end with {MANIFEST}")
        stream = tar.extractfile(last)
        assert stream is not None
        return _understood(path, stream.read())


def parts_of(path: Path, manifest: Manifest) -> Iterator[tuple[Part, tarfile.TarInfo, IO[bytes]]]:
    """Every part with its bytes, which are yet to be compared. Refuses whatever the manifest does not name."""
    left = dict(manifest.parts)
    with _opened(path) as tar:
        for entry in _entries(tar):
            if entry.name == MANIFEST:
                continue
            part = left.pop(entry.name, None)
            if part is None or not _plain(entry) or entry.size != part.size:
                raise UsageError(f"{path}: {entry.name[:200]!r} is not what its manifest says; it is not to be trusted")
            if not abs(entry.mtime) < _LAST_SECOND:  # nor is it when it is no number at all
                raise UsageError(f"{path}: {entry.name[:200]!r} is of a time that cannot be; it is not to be trusted")
            stream = tar.extractfile(entry)
            assert stream is not None
            yield part, entry, stream
    if left:
        raise UsageError(f"{path}: {next(iter(left))[:200]!r} is missing, though its manifest names it")


def copy_part(path: Path, part: Part, source: IO[bytes], target: IO[bytes] | None) -> None:
    """Copy a part; UsageError when it is not what it was when the archive was made."""
    found = hashlib.sha256()
    while data := source.read(BLOCK):
        found.update(data)
        if target is not None:
            target.write(data)
    if found.hexdigest() != part.sha256:
        raise UsageError(f"{path}: {part.name[:200]!r} is damaged; use another backup")


def is_safe_name(name: str) -> bool:
    """Whether a name stays where it is put: relative, and nowhere back."""
    return bool(name) and "\0" not in name and not any(one in ("", ".", "..") for one in name.split("/"))


def _plain(entry: tarfile.TarInfo) -> bool:
    """An ordinary file, no link, device or hole, with a name that leads nowhere else."""
    return entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not entry.issparse() and is_safe_name(entry.name)


def _understood(path: Path, data: bytes) -> Manifest:
    try:
        told = json.loads(data)
        if told["format"] != FORMAT:
            raise UsageError(
                f"{path}: was made by a newer chyme (format {told['format']}); upgrade chyme to restore it"
            )
        parts = [Part(str(one["name"]), int(one["size"]), str(one["sha256"])) for one in told["parts"]]
        server = told["server_schema"]
        manifest = Manifest(
            *(str(told["chyme"]), str(told["made_at"]), str(told["vault"]), int(told["schema"])),
            int(server) if server is not None else None,
            {one.name: one for one in parts},
            tuple(map(str, told["changed"])),
            tuple(map(str, told["missing"])),
            {str(name): int(count) for name, count in told["counts"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: its manifest cannot be understood; it is not to be trusted") from error
    if len(manifest.parts) != len(parts) or not all(is_safe_name(name) for name in manifest.parts):
        raise UsageError(f"{path}: its manifest names parts twice, or outside of it; it is not to be trusted")
    return manifest
