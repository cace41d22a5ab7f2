"""Choose the reader of an archive by its type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from chyme.documents.conversion.archives.members import Member, display_path
from chyme.documents.conversion.archives.tar_reader import BLOCK, TarReader, is_tar_header
from chyme.documents.conversion.archives.unpacking import ByteStream, UnpackedStream
from chyme.documents.conversion.results import ConversionLimits
from chyme.files.extensions import (
    APK,
    BZIP2,
    GZIP,
    JAR,
    RAR,
    SEVEN_ZIP,
    TAR,
    WHEEL,
    XZ,
    ZIP,
    extension_of,
    kind_by_extension,
)

_NAMES = {
    ZIP: "ZIP archive", TAR: "tar archive", GZIP: "gzip archive", BZIP2: "bzip2 archive", XZ: "xz archive",
    SEVEN_ZIP: "7z archive", RAR: "RAR archive", JAR: "Java archive", APK: "Android app", WHEEL: "Python wheel",
}  # fmt: skip
_INNER_NAMES = {"tgz": "tar", "tbz2": "tar", "tbz": "tar", "txz": "tar", "svgz": "svg"}


def type_name(mime: str) -> str:
    """What people call an archive of this type."""
    return _NAMES[mime]


def is_package(name: str, mime: str) -> bool:
    """Whether it is the package of a program: by what is in it, or a zip file under a name that only a program uses."""
    if mime in (JAR, APK, WHEEL):
        return True
    extension = extension_of(name)
    is_own_format = extension not in ("", "zip") and not extension.isdigit() and kind_by_extension(name) is None
    return mime == ZIP and is_own_format


def open_archive(name: str, stream: BinaryIO, size: int, mime: str, limits: ConversionLimits) -> Iterable[Member]:
    """The members: an iterator where a stream is read once. Raises DamagedArchive, EncryptedArchive."""
    if mime == TAR:
        return iter(TarReader(ByteStream(stream, size)))
    if mime in (GZIP, BZIP2, XZ):
        return _unpack_stream(name, stream, size, mime, limits)
    if mime == SEVEN_ZIP:
        from chyme.documents.conversion.archives.seven_zip_reader import SevenZipReader

        return SevenZipReader(stream, size, limits.archive_bytes)
    if mime == RAR:
        from chyme.documents.conversion.archives.rar_reader import RarReader

        return RarReader(stream, size)
    from chyme.documents.conversion.archives.zip_reader import ZipReader

    return ZipReader(stream, size)


def _unpack_stream(name: str, stream: BinaryIO, size: int, mime: str, limits: ConversionLimits) -> Iterator[Member]:
    """The members of a packed tar archive, or the one file that is packed."""
    first = UnpackedStream(stream, mime, size, limits).read(BLOCK)
    stream.seek(0)
    unpacked = UnpackedStream(stream, mime, size, limits)
    if is_tar_header(first):
        yield from TarReader(unpacked)
        return
    yield Member(_inner_name(name), None, read=unpacked.read)


def _inner_name(name: str) -> str:
    """The name of the one file in a packed file: without the last extension."""
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return display_path(name)
    inner = _INNER_NAMES.get(extension.lower())
    return display_path(f"{stem}.{inner}" if inner else stem)
