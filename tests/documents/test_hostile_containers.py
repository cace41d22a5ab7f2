"""Containers that somebody made to do harm, or that are merely huge, cost no more than their limits allow."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator

import pytest
from container_files import rar4_of, sample_maker, tar_of, zip_of

from chyme.documents.conversion.archives.members import MOST_RECORDS, OutOfReach, display_path
from chyme.documents.conversion.archives.reader import convert_archive
from chyme.documents.conversion.archives.seven_zip_reader import SevenZipReader
from chyme.documents.conversion.content_lines import FILE_BYTES
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.mailboxes import mail_spans
from chyme.documents.conversion.numbered_parts import Part, join_parts
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult
from chyme.documents.conversion.subtitles import MOST_CUES
from chyme.files.extensions import ASS, CALENDAR, GZIP, LRC, MBOX, NOTEBOOK, RAR, SEVEN_ZIP, SRT, TAR, VCARD, ZIP

number = sample_maker().number_7z
seven_zip_of = sample_maker().seven_zip_of
FROM = "From ada@example.org Mon May  6 09:30:00 2024\n"


def read(data: bytes | str, mime: str, limits: ConversionLimits | None = None) -> ConversionResult:
    return convert("a", data.encode() if isinstance(data, str) else data, mime, limits or ConversionLimits())


def listed(result: ConversionResult) -> list[str]:
    return [line[2:] for line in result.markdown.split("\n") if line.startswith("- ")]


def peak_memory(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def non_solid_seven_zip(members: dict[str, bytes], window: int) -> bytes:
    """A 7z archive with a packed stream of its own for each file; `window` is the property of LZMA2."""
    n = number
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]
    packed = [lzma.compress(data, lzma.FORMAT_RAW, filters=filters) for data in members.values()]
    count = len(members)
    streams = b"\x06" + n(0) + n(count) + b"\x09" + b"".join(n(len(data)) for data in packed) + b"\x00"
    streams += b"\x07\x0b" + n(count) + b"\x00" + (n(1) + b"\x21\x21" + n(1) + bytes([window])) * count
    streams += b"\x0c" + b"".join(n(len(data)) for data in members.values()) + b"\x00\x00"
    names = b"\x00" + b"".join(name.encode("utf-16-le") + b"\x00\x00" for name in members)
    header = b"\x01\x04" + streams + b"\x05" + n(count) + b"\x11" + n(len(names)) + names + b"\x00\x00"
    body = b"".join(packed)
    start = struct.pack("<QQI", len(body), len(header), zlib.crc32(header))
    archive: bytes = b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", zlib.crc32(start)) + start + body + header
    return archive


def test_what_was_unpacked_of_one_file_is_released_before_the_next() -> None:
    data = zip_of({f"{count}.dat": b"\x00\x01\x02" + bytes(250_000) for count in range(60)})
    assert peak_memory(lambda: read(data, ZIP)) < 5 * MB


def test_an_archive_of_many_packed_streams_unpacks_one_at_a_time() -> None:
    data = non_solid_seven_zip({f"{count}.txt": b"words %d" % count for count in range(60)}, window=24)  # 16 MB
    results: list[ConversionResult] = []
    assert peak_memory(lambda: results.append(read(data, SEVEN_ZIP))) < 100 * MB
    assert "words 59" in results[0].markdown


def test_files_packed_with_a_giant_window_are_listed_with_the_reason() -> None:
    result = read(non_solid_seven_zip({"a.txt": b"words"}, window=40), SEVEN_ZIP)
    assert listed(result) == ["a.txt, 5 B (packed with more memory than is given here)"]


def test_a_file_far_inside_a_solid_archive_is_listed_not_unpacked() -> None:
    data = seven_zip_of({"video.mp4": bytes(3 * MB), "readme.txt": b"behind the video"})
    (_, readme) = SevenZipReader(io.BytesIO(data), len(data), reach=MB)
    assert readme.read is not None
    with pytest.raises(OutOfReach):
        readme.read(10)
    result = read(data, SEVEN_ZIP, ConversionLimits(archive_bytes=MB, archive_ratio=10**6))
    assert "1 more files are listed, not read" in result.notes[0]
    assert "behind the video" in read(data, SEVEN_ZIP, ConversionLimits(archive_ratio=10**6)).markdown


def test_folders_and_other_records_without_end_are_not_followed_for_ever() -> None:
    folder = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0) + b"a/"
    many = folder * (MOST_RECORDS + 1000)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(many), 0, 0)
    assert "folders and other records are examined" in read(many + end, ZIP).notes[0]

    blocks = io.BytesIO(b"Rar!\x1a\x07\x00" + struct.pack("<HBHH", 0, 0x75, 0, 7) * (2 * MOST_RECORDS))
    size = len(blocks.getvalue())
    result = convert_archive("a.rar", blocks, size, RAR, ConversionLimits())
    assert "folders and other records are examined" in result.notes[0]
    assert blocks.tell() < 0.6 * size


def test_sizes_beyond_every_file_are_damage() -> None:
    entry = tarfile.TarInfo("a.bin")
    entry.size = 2**70
    result = read(entry.tobuf(tarfile.GNU_FORMAT), TAR)
    assert listed(result)[0].endswith("(not read: damaged)")
    assert "the archive is damaged or incomplete" in result.notes[0]

    wide = zip_of({"a.txt": b"hello"})
    directory, end = wide.rfind(b"PK\1\2"), wide.rfind(b"PK\5\6")
    extra = struct.pack("<HHQ", 1, 8, 2**64 - 1)
    changed = bytearray(wide[directory:end] + extra)
    struct.pack_into("<H", changed, 30, len(extra))
    struct.pack_into("<I", changed, 42, 0xFFFFFFFF)
    tail = bytearray(wide[end:])
    struct.pack_into("<I", tail, 12, len(changed))
    assert listed(read(wide[:directory] + bytes(changed) + bytes(tail), ZIP)) == ["a.txt, 5 B (not read: damaged)"]


def test_a_cut_archive_says_so_and_keeps_what_could_be_read() -> None:
    whole = tar_of(("a.txt", b"the first one"), ("b.png", bytes(5000)))
    for data, mime in ((whole[:4000], TAR), (gzip.compress(whole[:4000]), GZIP)):
        result = read(data, mime)
        assert "the first one" in result.markdown
        assert result.notes == ("the archive is damaged or incomplete; what is listed could be read",)
    assert read(whole[: whole.index(b"the first one") + 13], TAR).notes == ()  # only the padding is missing


def test_a_directory_that_is_damaged_further_on_is_read_up_to_there() -> None:
    data = bytearray(zip_of({"a.txt": b"the first one", "b.txt": b"the second one"}))
    data[data.rfind(b"PK\x01\x02")] = 0
    result = read(bytes(data), ZIP)
    assert listed(result) == ["a.txt, 13 B"]
    assert "the first one" in result.markdown
    assert result.notes == ("the archive is damaged or incomplete; what is listed could be read",)


def test_bytes_of_files_that_turn_out_broken_count() -> None:
    broken = b"%PDF-1.7\n" + bytes(MB)
    data = zip_of({f"{count}.pdf": broken for count in range(6)}, zipfile.ZIP_STORED)
    result = read(data, ZIP, ConversionLimits(archive_bytes=2 * MB + 100))
    assert sum("not read" in line for line in listed(result)) == 2
    assert "4 more files are listed, not read" in result.notes[0]


def test_a_sparse_file_is_named_and_not_read() -> None:
    entry = tarfile.TarInfo("GNUSparseFile.0/holes.txt")
    entry.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "holes.txt", "GNU.sparse.realsize": "5"}
    entry.size = 512
    data = entry.tobuf(tarfile.PAX_FORMAT) + b"1\n0\n5\n".ljust(512, b"\0") + bytes(1024)
    assert listed(read(data, TAR)) == ["holes.txt, 512 B (a sparse file)"]


def test_a_stored_file_of_a_cut_rar_archive_is_damaged() -> None:
    data = rar4_of({"a.txt": b"a text that is longer than what is left of it"})[:-10]
    assert listed(read(data, RAR)) == ["a.txt, 45 B (not read: damaged)"]


def test_names_show_no_reversed_letters() -> None:
    assert display_path("invoice\u202efdp.exe") == "invoicefdp.exe"


def test_names_are_shown_as_they_are_spelled() -> None:
    result = read(zip_of({"src/__init__.py": b"pass", "my_notes.txt": b"x", "a`b*.txt": b"y"}), ZIP)
    assert listed(result) == ["`src/__init__.py`, 4 B", "my_notes.txt, 1 B", "`` a`b*.txt ``, 1 B"]
    assert "## `src/__init__.py`" in result.markdown
    assert [place.heading for place in result.places][1:] == ["src/__init__.py", "my_notes.txt", "a`b*.txt"]


def test_code_in_one_file_does_not_swallow_the_next() -> None:
    files = {"a.md": b"# A\n\n````\n```\nopen", "b.py": b"x = (\n```\n~~~\n)", "c.txt": b"last"}
    markdown = read(zip_of(files), ZIP).markdown
    assert "open\n````\n\n## b.py\n\n````\nx = " in markdown
    assert ")\n````\n\n## c.txt" in markdown


def test_parts_beyond_the_limit_are_counted_without_being_made() -> None:
    def parts() -> Iterator[Part]:
        yield Part("first", "words " * 10)
        yield Part("second", "words " * 1000)
        raise AssertionError("a part beyond the limit was asked for")

    result = join_parts("a", "", parts(), 70_000, ("e-mail", "e-mails"), ConversionLimits(text_chars=500))
    assert result.notes == ("the first 1 of 70,000 e-mails are kept; raise text_chars to keep more",)


@pytest.mark.parametrize(
    "mail",
    [
        'Subject: x\nContent-Type: text/plain; a="' + ";" * 100_000 + "\n\nbody",
        "Subject: x\nContent-Type: text/plain; charset=punycode\n\nbody-" + "a9b8c7d6" * 40_000,
        "Subject: x\nContent-Type: text/plain; charset=idna\n\nbody.xn--" + "a9b8c7d6" * 40_000,
        "Subject: x\nContent-Type: text/plain; charset=undefined\n\nbody",
        'Subject: x\nContent-Type: text/plain; charset="a\0b"\n\nbody',
        "Subject: " + "=?utf-8?q?a?= " * 200_000 + "\n\nbody",
    ],
    ids=["parameters", "punycode", "idna", "undefined", "zero byte", "encoded words"],
)
def test_hostile_headers_of_a_mail_leave_its_body_readable(mail: str) -> None:
    assert "body" in read(FROM + mail + "\n", MBOX).markdown


def test_mails_without_an_end_of_their_headers_take_time_by_their_length_alone() -> None:
    data = (FROM + "A:\n").encode() * 100_000
    assert sum(1 for _ in mail_spans(data)) == 100_000


def test_a_sentence_with_a_time_and_a_year_does_not_begin_a_mail() -> None:
    data = (FROM + "Subject: Bus\n\nIt runs all day.\nFrom 10:30 on, as in 2019\nNote: bring a coat.\n").encode()
    assert len(list(mail_spans(data))) == 1


@pytest.mark.parametrize(
    ("text", "mime"),
    [
        ('{"cells": [{"cell_type": "markdown", "source": "' + "[](data:" * 150_000 + '"}]}', NOTEBOOK),
        ("[Script Info]\n[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,a" + ("{" + "\\p1" * 600) * 5000, ASS),
        ("BEGIN:VCARD\nFN:A\nNOTE;ENCODING=QUOTED-PRINTABLE:a=\n" + "a=\n" * 400_000, VCARD),
    ],
    ids=["notebook", "drawings", "quoted-printable"],
)
def test_hostile_marks_take_time_by_the_length_of_the_text_alone(text: str, mime: str) -> None:
    assert read(text, mime).markdown


def test_lyrics_that_repeat_a_long_line_end_at_the_limit() -> None:
    text = ("[00:01]" * 50 + "word " * 2000 + "\n") * 20
    assert peak_memory(lambda: read(text, LRC, ConversionLimits(text_chars=50_000))) < 5 * MB


def test_subtitles_beyond_any_film_are_cut_with_a_note() -> None:
    line = "1\n00:00:01,000 --> 00:00:02,000\nHi %d\n\n"
    result = read("".join(line % count for count in range(MOST_CUES + 5)), SRT)
    assert len(result.places) == MOST_CUES
    assert result.notes == ("the first 50,000 of 50,005 subtitles are kept",)


def test_pictures_of_contacts_and_files_of_appointments_are_not_even_decoded() -> None:
    picture = "PHOTO;ENCODING=b;TYPE=JPEG:QUJD\r\n" + " QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD\r\n" * 100_000
    card = ("BEGIN:VCARD\r\nFN:Ada\r\n" + picture + "TEL:+44 1\r\nEND:VCARD\r\n").encode()
    assert peak_memory(lambda: read(card, VCARD)) < MB
    assert "+44 1" in read(card, VCARD).markdown
    event = (
        b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nATTACH;ENCODING=BASE64:QUJD\n QUJD\nSUMMARY:Fair\nEND:VEVENT\nEND:VCALENDAR"
    )
    assert "## Fair" in read(event, CALENDAR).markdown


def test_contacts_beyond_the_limit_are_cut_with_a_note() -> None:
    data = b"BEGIN:VCARD\nFN:Ada\n" + b"X-A:" + b"a" * FILE_BYTES + b"\nTEL:+44 1\nEND:VCARD\n"
    result = read(data, VCARD)
    assert "Ada" in result.markdown
    assert result.notes == ("only the first 64 MB are read",)
