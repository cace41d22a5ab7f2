"""Makes archives and texts for the tests of containers, honest and hostile ones."""

from __future__ import annotations

import importlib.util
import io
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from types import ModuleType

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


def sample_maker() -> ModuleType:
    """The script that writes the samples of containers."""
    spec = importlib.util.spec_from_file_location("make_containers", SAMPLES / "make_containers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tar_of(*entries: tuple[str, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def tar_of_links(**links: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


def vint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def rar5_of(members: dict[str, bytes], method: int = 0, encrypted_headers: bool = False) -> bytes:
    """A RAR 5 archive whose files are stored as they are; with another method they only claim to be packed."""

    def block(sort: int, fields: bytes, data: bytes = b"", has_data: bool = False) -> bytes:
        body = vint(sort) + vint(2 if has_data else 0) + (vint(len(data)) if has_data else b"") + fields
        header = vint(len(body)) + body
        return struct.pack("<I", zlib.crc32(header)) + header + data

    parts = [b"Rar!\x1a\x07\x01\x00", block(1, vint(0))]
    if encrypted_headers:
        return b"".join([*parts, block(4, bytes(20))])
    for name, data in members.items():
        raw = name.encode()
        fields = vint(0) + vint(len(data)) + vint(0o644) + vint(method << 7) + vint(1) + vint(len(raw)) + raw
        parts.append(block(2, fields, data, has_data=True))
    return b"".join([*parts, block(5, vint(0))])


def rar4_of(members: dict[str, bytes], encrypted: bool = False) -> bytes:
    """A RAR 4 archive whose files are stored as they are."""
    parts = [b"Rar!\x1a\x07\x00", struct.pack("<HBHH", 0, 0x73, 0, 13) + bytes(6)]
    for name, data in members.items():
        raw = name.encode()
        fields = struct.pack("<IIBIIBBHI", len(data), len(data), 3, 0, 0, 29, 0x30, len(raw), 0o644) + raw
        parts.append(struct.pack("<HBHH", 0, 0x74, 0x8000 | (4 if encrypted else 0), 7 + len(fields)) + fields + data)
    return b"".join(parts)
