"""Which kind a file is, whatever its name says."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import pytest
from growth import NOISE_SECONDS, cpu_seconds

from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import Kind

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
HOSTILE = ROOT / "../shared/corpus/hostile"

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SHOW = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def kind_of(name: str, data: bytes) -> tuple[Kind, str]:
    return identify(name, data[:HEAD_BYTES], len(data), lambda at, length: data[at : at + length])


@pytest.mark.parametrize(
    ("sample", "kind", "mime"),
    [
        ("contract.pdf", Kind.DOCUMENT, "application/pdf"),
        ("minutes.docx", Kind.DOCUMENT, WORD),
        ("budget.xlsx", Kind.DOCUMENT, SHEET),
        ("slides.pptx", Kind.DOCUMENT, SHOW),
        ("letter.odt", Kind.DOCUMENT, "application/vnd.oasis.opendocument.text"),
        ("story.epub", Kind.DOCUMENT, "application/epub+zip"),
        ("letter.rtf", Kind.DOCUMENT, "application/rtf"),
        ("page.html", Kind.DOCUMENT, "text/html"),
        ("mail.eml", Kind.DOCUMENT, "message/rfc822"),
        ("cities.cp1251.csv", Kind.TEXT, "text/csv"),
        ("note.shiftjis.txt", Kind.TEXT, "text/plain"),
        ("note.utf16.txt", Kind.TEXT, "text/plain"),
        ("chinese.md", Kind.TEXT, "text/markdown"),
        ("dot.png", Kind.IMAGE, "image/png"),
        ("drawing.svg", Kind.IMAGE, "image/svg+xml"),
        ("link.url", Kind.URL, "application/x-mswinurl"),
        ("link.webloc", Kind.URL, "application/x-webloc"),
        ("link.txt", Kind.URL, "text/uri-list"),
    ],
)
def test_every_sample_is_known_by_its_content(sample: str, kind: Kind, mime: str) -> None:
    data = (SAMPLES / sample).read_bytes()
    assert kind_of(sample, data) == (kind, mime)
    if kind is not Kind.URL and kind is not Kind.TEXT:
        assert kind_of("unnamed", data) == (kind, mime)


@pytest.mark.parametrize(
    ("sample", "wrong", "mime"),
    [
        ("contract.pdf", "contract.docx", "application/pdf"),
        ("minutes.docx", "minutes.pdf", WORD),
        ("minutes.docx", "minutes.xlsx", WORD),
        ("minutes.docx", "minutes.zip", WORD),
        ("dot.png", "dot.txt", "image/png"),
        ("page.html", "page.txt", "text/html"),
    ],
)
def test_a_wrong_extension_does_not_change_the_kind(sample: str, wrong: str, mime: str) -> None:
    assert kind_of(wrong, (SAMPLES / sample).read_bytes())[1] == mime


@pytest.mark.parametrize(
    ("name", "data", "kind", "mime"),
    [
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Kind.IMAGE, "image/heic"),
        ("a.avif", b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", Kind.IMAGE, "image/avif"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0", Kind.IMAGE, "image/jpeg"),
        ("a.webp", b"RIFF\x24\0\0\0WEBPVP8 ", Kind.IMAGE, "image/webp"),
        ("a.tif", b"II*\0\x08\0\0\0", Kind.IMAGE, "image/tiff"),
        ("a.gif", b"GIF89a\x01\0\x01\0", Kind.IMAGE, "image/gif"),
        ("a.bmp", b"BM" + struct.pack("<IHHII", 70, 0, 0, 54, 40) + bytes(40), Kind.IMAGE, "image/bmp"),
        ("a.j2k", b"\xff\x4f\xff\x51\0\x2f", Kind.IMAGE, "image/jp2"),
        ("a.qoi", b"qoif\0\0\0\x40\0\0\0\x40", Kind.IMAGE, "image/qoi"),
        ("a.icns", b"icns\0\x28\x2a\x97TOC ", Kind.IMAGE, "image/icns"),
        ("scan", b"P6\n# by hand\n2 1\n255\n\0\0\0\xff\xff\xff", Kind.IMAGE, "image/x-portable-anymap"),
        ("letter.txt", b"P5 10 20 30 are the pages to read", Kind.TEXT, "text/plain"),
        ("a.tga", b"\0\0\2" + bytes(40), Kind.IMAGE, "image/x-tga"),
        ("a.mp3", b"ID3\x04\0\0\0\0\0\0", Kind.AUDIO, "audio/mpeg"),
        ("untagged", b"\xff\xfb\x90\x64" + bytes(60), Kind.AUDIO, "audio/mpeg"),
        ("a.m4a", b"\0\0\0\x18ftypM4A \0\0\0\0", Kind.AUDIO, "audio/mp4"),
        ("a.wav", b"RIFF\x24\0\0\0WAVEfmt ", Kind.AUDIO, "audio/wav"),
        ("a.flac", b"fLaC\0\0\0\x22", Kind.AUDIO, "audio/flac"),
        ("a.opus", b"OggS\0\x02" + bytes(22) + b"OpusHead", Kind.AUDIO, "audio/ogg"),
        ("a.mp4", b"\0\0\0\x18ftypisom\0\0\0\0", Kind.VIDEO, "video/mp4"),
        ("a.mov", b"\0\0\0\x14ftypqt  \0\0\0\0", Kind.VIDEO, "video/quicktime"),
        ("a.webm", b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", Kind.VIDEO, "video/webm"),
        ("a.mkv", b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska", Kind.VIDEO, "video/x-matroska"),
        ("a.avi", b"RIFF\x24\0\0\0AVI LIST", Kind.VIDEO, "video/x-msvideo"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0\4", Kind.DOCUMENT, "application/x-7z-compressed"),
        ("a.gz", b"\x1f\x8b\x08\0\0\0\0\0", Kind.DOCUMENT, "application/gzip"),
        ("a.bz2", b"BZh91AY&SY\0\0", Kind.DOCUMENT, "application/x-bzip2"),
        ("note.txt", b"BZh9 is how it begins", Kind.TEXT, "text/plain"),
        ("a.xz", b"\xfd7zXZ\0\0\4", Kind.DOCUMENT, "application/x-xz"),
        ("a.rar", b"Rar!\x1a\x07\x01\0\0\0", Kind.DOCUMENT, "application/vnd.rar"),
        ("a.zst", b"\x28\xb5\x2f\xfd\0\0", Kind.OTHER, "application/zstd"),
        ("empty.zip", b"PK\5\6" + bytes(18), Kind.DOCUMENT, "application/zip"),
    ],
)
def test_media_and_archives_are_known_by_their_first_bytes(name: str, data: bytes, kind: Kind, mime: str) -> None:
    assert kind_of(name, data) == (kind, mime)


@pytest.mark.parametrize(
    ("name", "text", "kind", "mime"),
    [
        ("app.py", "page = '<html><body>hi</body></html>'\n", Kind.TEXT, "text/x-python"),
        ("note.md", "<html> is a tag\n", Kind.TEXT, "text/markdown"),
        ("talk.txt", "The file begins with %PDF-1.4, they say.\n", Kind.TEXT, "text/plain"),
        ("plain.html", "no markup in here\n", Kind.TEXT, "text/plain"),
        ("piece.html", "<p>just a piece</p>\n", Kind.DOCUMENT, "text/html"),
        ("page", "<?xml version='1.0'?>\n<!-- x -->\n<!DOCTYPE html>\n<html></html>", Kind.DOCUMENT, "text/html"),
        ("feed.xml", "<?xml version='1.0'?><rss></rss>", Kind.TEXT, "application/xml"),
        ("saved", "Received: by mx\nFrom: a@b.c\nSubject: x\n\nhello", Kind.DOCUMENT, "message/rfc822"),
        ("agenda.txt", "From: Monday\nTo: Friday\nSubject: work\n\nnothing", Kind.TEXT, "text/plain"),
        ("two.txt", "https://example.org/a\nhttps://example.org/b\n", Kind.TEXT, "text/plain"),
        ("readme.txt", "see https://example.org\n", Kind.URL, "text/uri-list"),
        ("readme.txt", "see https://example.org or https://example.com\n", Kind.TEXT, "text/plain"),
        ("ftp.txt", "ftp://example.org/file\n", Kind.TEXT, "text/plain"),
        ("app.desktop", "[Desktop Entry]\nType=Application\nExec=ls\n", Kind.TEXT, "text/plain"),
        ("site.desktop", "[Desktop Entry]\nType=Link\nURL=https://example.org\n", Kind.URL, "application/x-desktop"),
    ],
)
def test_text_is_distinguished_from_markup_mail_and_links(name: str, text: str, kind: Kind, mime: str) -> None:
    assert kind_of(name, text.encode()) == (kind, mime)


FROM_LINE = "From ada@example.org Mon May  6 09:30:00 2024\n"


@pytest.mark.parametrize(
    ("name", "text", "mime"),
    [
        ("letters.mbox", f"{FROM_LINE}From: a@b.c\n\nhello", "application/mbox"),
        ("Sent", f"{FROM_LINE}X-Status: read\nFrom: a@b.c\n\nhello", "application/mbox"),
        ("takeout", "From 17@x Mon May 06 09:30:00 +0000 2024\nX-GM-THRID: 1\n\nhi", "application/mbox"),
        ("talk.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nhello", "text/vtt"),
        ("talk.txt", "\ufeffWEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\nhello", "text/vtt"),
        ("talk", "1\n00:00:01,000 --> 00:00:02,000\nhello", "application/x-subrip"),
        ("talk.srt", "00:00:01,000 --> 00:00:02,000\nno number", "application/x-subrip"),
        ("talk.txt", "[Script Info]\nTitle: x\n\n[Events]\n", "text/x-ssa"),
        ("song.lrc", "[ti:x]\n[00:10.00]la", "text/x-lrc"),
        ("talk.txt", "0:00:01.000,0:00:02.000\nhello", "text/x-sbv"),
        ("talk.xml", '<?xml version="1.0"?>\n<tt xmlns="http://www.w3.org/ns/ttml"></tt>', "application/ttml+xml"),
        ("work.ipynb", '{\n "cells": [], "nbformat": 4}', "application/x-ipynb+json"),
        ("club", "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "text/calendar"),
        ("card.txt", "BEGIN:VCARD\nFN:Ada\n", "text/vcard"),
    ],
)
def test_texts_with_a_structure_of_their_own_are_documents(name: str, text: str, mime: str) -> None:
    assert kind_of(name, text.encode()) == (Kind.DOCUMENT, mime)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("letter.txt", "From here to 12:30 it takes 2024 steps\nand more"),
        ("fix.patch", "From 0123 Mon Sep 17 00:00:00 2001\nFrom: a@b.c\nSubject: x\n\n---\n"),
        ("chat.txt", "[12:30] Ada: hello\n[12:31] Bruno: hello\n"),
        ("note.md", "BEGIN:VCARD is how a card begins"),
        ("talk.srt", "These are not subtitles."),
        ("work.ipynb", "not a notebook"),
        ("data.json", '{"cells": [1, 2]}'),
        ("data.txt", '{"cells": [1, 2]}'),
        ("empty.ics", ""),
        ("plan.txt", "From 10:30 on, as in 2019\nNote: bring a coat."),
        ("cells", '{"cells": [{"row": 1, "value": 2}]}'),
        ("app.txt", "[Script Info]\nname=backup\n"),
    ],
)
def test_texts_that_only_look_alike_stay_texts(name: str, text: str) -> None:
    assert kind_of(name, text.encode())[0] is Kind.TEXT


@pytest.mark.parametrize(
    ("names", "mime"),
    [
        (["META-INF/MANIFEST.MF", "a.class"], "application/java-archive"),
        (["AndroidManifest.xml", "META-INF/MANIFEST.MF"], "application/vnd.android.package-archive"),
        (["x/a.py", "x-1.dist-info/WHEEL"], "application/x-wheel+zip"),
        (["a.txt", "b.txt"], "application/zip"),
        (["word/document.xml"], WORD),
        (["META-INF/container.xml"], "application/epub+zip"),
    ],
)
def test_zip_files_are_told_apart_by_what_is_in_them(names: list[str], mime: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    assert kind_of("unnamed", buffer.getvalue()) == (Kind.DOCUMENT, mime)


def test_a_tar_without_signature_is_known_by_its_checksum() -> None:
    block = bytearray(512)
    block[:5], block[124:136] = b"a.txt", b"00000000000\0"
    block[148:156] = f"{sum(block) + 8 * 32:06o}\0 ".encode()
    assert kind_of("old.tar", bytes(block) * 2)[1] == "application/x-tar"
    assert kind_of("old.bin", bytes(block) * 2)[0] is Kind.OTHER


@pytest.mark.parametrize("encoding", ["cp037", "cp500", "utf-32-le", "utf-16-be", "iso2022_kr"])
def test_texts_in_encodings_with_control_bytes_are_texts(encoding: str) -> None:
    text = "The ferry leaves at six, and nobody has seen the pilot.\n" * 3
    text += "오늘은 배가 없다\n" if encoding == "iso2022_kr" else ""
    assert kind_of("note.txt", text.encode(encoding).replace(b"\x25", b"\x15")) == (Kind.TEXT, "text/plain")


def test_an_empty_file_is_what_its_extension_says() -> None:
    assert kind_of("a.pdf", b"") == (Kind.DOCUMENT, "application/pdf")
    assert kind_of("a.txt", b"") == (Kind.TEXT, "text/plain")
    assert kind_of("a", b"")[0] is Kind.OTHER


def test_noise_named_as_text_is_other_and_noise_named_as_a_picture_is_a_broken_picture() -> None:
    noise = bytes(range(256)) * 64
    assert kind_of("noise.txt", noise)[0] is Kind.OTHER
    assert kind_of("noise.jpg", noise)[0] is Kind.IMAGE


def ole(*streams: str) -> bytes:
    """An OLE file that contains the named streams, all empty."""
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    struct.pack_into("<HHHHH", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<I", header, 48, 1)
    struct.pack_into("<109I", header, 76, 0, *([0xFFFFFFFF] * 108))
    fat = struct.pack("<128I", 0xFFFFFFFD, 0xFFFFFFFE, *([0xFFFFFFFF] * 126))
    entries = b""
    for number, name in enumerate(("Root Entry", *streams)):
        entry = bytearray(128)
        coded = name.encode("utf-16-le") + b"\0\0"
        entry[: len(coded)] = coded
        following = number + 1 if 0 < number < len(streams) else 0xFFFFFFFF
        struct.pack_into(
            "<HBBIII",
            entry,
            64,
            len(coded),
            2 if number else 5,
            1,
            0xFFFFFFFF,
            following,
            1 if not number else 0xFFFFFFFF,
        )
        entries += entry
    return bytes(header) + fat + entries.ljust(512, b"\0")


@pytest.mark.parametrize(
    ("streams", "name", "mime"),
    [
        (("WordDocument",), "a.xls", "application/msword"),
        (("Workbook",), "a", "application/vnd.ms-excel"),
        (("PowerPoint Document",), "a.doc", "application/vnd.ms-powerpoint"),
        (("__properties_version1.0",), "a.bin", "application/vnd.ms-outlook"),
        (("EncryptedPackage", "EncryptionInfo"), "a.xlsx", SHEET),
        (("EncryptedPackage", "EncryptionInfo"), "a", WORD),
    ],
)
def test_ole_files_are_distinguished_by_their_streams(streams: tuple[str, ...], name: str, mime: str) -> None:
    assert kind_of(name, ole(*streams)) == (Kind.DOCUMENT, mime)


def test_an_ole_directory_that_runs_in_circles_ends() -> None:
    data = bytearray(ole("Strange"))
    struct.pack_into("<I", data, 512 + 4, 1)  # the directory's sector follows itself
    assert kind_of("a.doc", bytes(data))[1] == "application/msword"


def test_a_zip_of_many_entries_costs_a_bounded_read() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number:06}", b"")
    data = buffer.getvalue()
    read: list[int] = []

    def read_at(at: int, length: int) -> bytes:
        read.append(length)
        return data[at : at + length]

    assert identify("many.zip", data[:HEAD_BYTES], len(data), read_at) == (Kind.DOCUMENT, "application/zip")
    assert sum(read) < 300_000


def test_a_note_is_identified_by_its_beginning() -> None:
    note = ("# Ein Zettel\n\n" + "Grüße aus dem Hafen, bis später. " * 100).encode()

    def identified(data: bytes) -> None:
        for _ in range(200):
            kind_of("zettel.md", data)

    short = max(cpu_seconds(lambda: identified(note)), NOISE_SECONDS)
    assert cpu_seconds(lambda: identified(note * 1_000)) < 30 * short


@pytest.mark.skipif(not HOSTILE.is_dir(), reason=f"the shared corpus is not at {HOSTILE}")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pdf_named.docx", Kind.DOCUMENT),
        ("docx_named.pdf", Kind.DOCUMENT),
        ("png_named.txt", Kind.IMAGE),
        ("binary_as.txt", Kind.OTHER),
        ("utf16.txt", Kind.TEXT),
        ("shiftjis.txt", Kind.TEXT),
        ("overlap_15GB.zip", Kind.DOCUMENT),
        ("qpdf__15390.fuzz", Kind.DOCUMENT),
        ("bomb_10GiB.docx", Kind.DOCUMENT),
        ("tika__protected_normal_case.docx", Kind.DOCUMENT),
        ("trunc_xlsx.xlsx", Kind.DOCUMENT),
        ("trunc_heic.heic", Kind.IMAGE),
        ("deep_nest.json", Kind.TEXT),
        ("billion_laughs.svg", Kind.IMAGE),
    ],
)
def test_hostile_files_are_known_for_what_they_are(name: str, kind: Kind) -> None:
    path = HOSTILE / name
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = identify(
            name,
            os.pread(descriptor, HEAD_BYTES, 0),
            path.stat().st_size,
            lambda at, length: os.pread(descriptor, length, at),
        )
    finally:
        os.close(descriptor)
    assert found[0] is kind


def test_two_bytes_do_not_make_a_gzip_file() -> None:
    assert kind_of("a.bin", b"\x1f\x8b\x00\x01" + bytes(200))[0] is Kind.OTHER
