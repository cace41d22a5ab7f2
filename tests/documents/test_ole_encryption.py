"""Old office documents that need a password are called encrypted, not broken."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.ole_encryption import is_encrypted_ole
from chyme.documents.conversion.results import ConversionLimits
from chyme.errors import UnreadableFile
from chyme.files.extensions import DOC, PPT, XLS

HOSTILE = Path(__file__).resolve().parents[2] / "../shared/corpus/hostile"
END, FREE, TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def entry(name: str, kind: int, child: int, right: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le") + b"\0\0"
    return (
        raw.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(raw), kind, 1, FREE, right, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )


def ole(name: str, content: bytes, small: bool = False) -> bytes:
    """An OLE file with one more stream beside `name`: a large one in sectors, or a small one in the shared stream."""
    streams = {name: content if small else content.ljust(4096, b"\0")}
    if name == "Current User":
        streams["PowerPoint Document"] = bytes(4096)
    # Sector 0 holds the table, 1 the directory, 2 the table of small pieces, 3 the shared stream, then large streams.
    table = [TABLE, END, END, END]
    shared = content.ljust(512, b"\0")[:512]
    entries, sectors = [], [shared]
    for number, (stream, data) in enumerate(streams.items()):
        right = number + 2 if number + 1 < len(streams) else FREE
        if len(data) < 4096:
            entries.append(entry(stream, 2, FREE, right, 0, len(data)))
            continue
        start = len(table)
        count = len(data) // 512
        table += [*range(start + 1, start + count), END]
        sectors += [data[at : at + 512] for at in range(0, len(data), 512)]
        entries.append(entry(stream, 2, FREE, right, start, len(data)))
    directory = entry("Root Entry", 5, 1, FREE, 3, 512) + b"".join(entries)
    pieces = struct.pack("<128I", *[1, 2, 3, 4, 5, 6, 7, END], *[FREE] * 120)
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    struct.pack_into("<HHHHH", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<IIIIIIIII", header, 44, 1, 1, 0, 4096, 2, 1, END, 0, 0)
    struct.pack_into("<109I", header, 76, 0, *[FREE] * 108)
    packed_table = struct.pack(f"<{len(table)}I", *table).ljust(512, b"\xff")
    return bytes(header) + packed_table + directory.ljust(512, b"\0") + pieces + b"".join(sectors)


def word(flags: int) -> bytes:
    return ole("WordDocument", struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, flags))


def workbook(*records: int) -> bytes:
    return ole("Workbook", b"".join(struct.pack("<HH", record, 4) + bytes(4) for record in records))


def slides(token: int) -> bytes:
    return ole("Current User", struct.pack("<HHIII", 0, 0x0FF6, 0x20, 0x14, token).ljust(40, b"\0"), small=True)


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("a.doc", word(0x0100), DOC),
        ("a.doc", ole("\tDRMContent", b"sealed"), DOC),
        ("a.xls", workbook(0x0809, 0x002F), XLS),
        ("a.ppt", slides(0xF3D1C4DF), PPT),
        ("a.ppt", ole("EncryptedSummary", b"x"), PPT),
        ("a.docx", ole("EncryptedPackage", b"x"), DOC),
    ],
)
def test_a_document_with_a_password_is_called_encrypted_with_the_way_out(name: str, data: bytes, mime: str) -> None:
    with pytest.raises(UnreadableFile, match=rf"{name}: .* is encrypted; save a copy without password"):
        convert(name, data, mime, ConversionLimits())


@pytest.mark.parametrize("data", [word(0), workbook(0x0809, 0x0042), slides(0xE391C05F), b"no OLE file"])
def test_a_document_without_password_is_not_called_encrypted(data: bytes) -> None:
    assert not is_encrypted_ole(data)


def test_broken_tables_end_somewhere() -> None:
    for data in (word(0x0100), workbook(0x0809, 0x002F), slides(0xF3D1C4DF)):
        for cut in range(0, len(data), 97):
            is_encrypted_ole(data[:cut])
        for position in range(24, 700, 4):
            for value in (0, 3, 0x7FFFFFFF, 0xFFFFFFFF):
                is_encrypted_ole(data[:position] + struct.pack("<I", value) + data[position + 4 :])


def test_a_rights_protected_document_of_the_corpus_is_called_encrypted() -> None:
    path = HOSTILE / "tika__testWORD_protected_drm.doc"
    if not path.exists():
        pytest.skip("../shared/corpus is not here")
    assert is_encrypted_ole(path.read_bytes())
