"""Archives are listed by name, their readable files become text, and hostile ones cost nothing but a note."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from container_files import rar4_of, rar5_of, sample_maker, tar_of, tar_of_links, zip_of

from chyme.documents.conversion.archives.crash_marks import CrashMarks
from chyme.documents.conversion.archives.reader import convert_archive
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult
from chyme.errors import UnreadableFile
from chyme.files.extensions import BZIP2, GZIP, JAR, RAR, SEVEN_ZIP, TAR, XZ, ZIP

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
HOSTILE = Path(__file__).resolve().parents[2] / "../shared/corpus/hostile"
FILES = {"readme.txt": b"The key hangs behind the sextant.\n", "notes/regatta.md": b"# Regatta\n\nThe orange buoy.\n"}
seven_zip_of = sample_maker().seven_zip_of


def read(name: str, data: bytes, mime: str, limits: ConversionLimits | None = None) -> ConversionResult:
    return convert(name, data, mime, limits or ConversionLimits())


def listed(result: ConversionResult) -> list[str]:
    return [line[2:] for line in result.markdown.split("\n") if line.startswith("- ")]


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("boats.zip", zip_of(FILES), ZIP),
        ("boats.zip", zip_of(FILES, zipfile.ZIP_STORED), ZIP),
        ("boats.zip", zip_of(FILES, zipfile.ZIP_BZIP2), ZIP),
        ("boats.zip", zip_of(FILES, zipfile.ZIP_LZMA), ZIP),
        ("boats.exe", b"MZ a self-extractor" + zip_of(FILES), ZIP),
        ("boats.tar", tar_of(*FILES.items()), TAR),
        ("boats.tar", tar_of(*FILES.items(), format=tarfile.GNU_FORMAT), TAR),
        ("boats.tgz", gzip.compress(tar_of(*FILES.items())), GZIP),
        ("boats.tar.bz2", bz2.compress(tar_of(*FILES.items())), BZIP2),
        ("boats.tar.xz", lzma.compress(tar_of(*FILES.items())), XZ),
        ("boats.7z", seven_zip_of(FILES), SEVEN_ZIP),
        ("boats.7z", seven_zip_of(FILES, packed_header=False), SEVEN_ZIP),
        ("boats.rar", rar5_of(FILES), RAR),
        ("boats.rar", rar4_of(FILES), RAR),
    ],
)
def test_files_are_listed_and_read_in_every_format(name: str, data: bytes, mime: str) -> None:
    if mime == ZIP and name.endswith(".exe"):
        name = "boats"
    result = read(name, data, mime)
    assert listed(result) == ["readme.txt, 34 B", "notes/regatta.md, 28 B"]
    assert result.markdown.startswith("# boats\n\n")
    for path, words in (("readme.txt", "sextant"), ("notes/regatta.md", "orange buoy")):
        position = result.markdown.index(words)
        (place,) = (place for place in result.places if place.start <= position < place.end)
        assert (place.page, place.heading) == (1, path)
        assert result.markdown[place.start :].startswith(f"## {path}\n")


def test_documents_in_an_archive_are_read_by_their_own_converters() -> None:
    names = ("contract.pdf", "minutes.docx", "mail.eml")
    result = read("all.zip", zip_of({f"in/{name}": (SAMPLES / name).read_bytes() for name in names}), ZIP)
    for words in ("Pets other than gulls", "boathouse", "The glazier comes on Thursday"):
        assert words in result.markdown
    position = result.markdown.index("Pets other than gulls")
    place = next(place for place in result.places if place.page and place.start <= position < place.end)
    assert (place.page, place.heading) == (2, "in/contract.pdf")


def test_a_mailbox_in_an_archive_keeps_its_mails_apart_and_scans_are_told() -> None:
    mails = (SAMPLES / "kinds/letters.mbox").read_bytes()
    members = {"a.txt": b"before it", "k/letters.mbox": mails, "scan.pdf": (SAMPLES / "scanned.pdf").read_bytes()}
    result = read("all.zip", zip_of(members), ZIP)
    starts = {place.start: place for place in result.places if place.page is not None}
    assert starts[result.markdown.index("## k/letters.mbox")].heading == "k/letters.mbox"
    assert starts[result.markdown.index("## Quinces")].page == 3
    assert listed(result)[2].endswith("(it has no text)")
    assert any(note.startswith("scan.pdf: ") for note in result.notes)


def test_code_and_data_are_fenced_so_that_no_comment_becomes_a_heading() -> None:
    result = read("code.zip", zip_of({"a.py": b"# a comment\nprint()\n"}), ZIP)
    assert "```\n# a comment\nprint()\n```" in result.markdown


def test_an_archive_in_an_archive_is_only_listed() -> None:
    inner = zip_of({"secret.txt": b"deep inside"})
    packed = gzip.compress(inner)
    result = read("outer.zip", zip_of({"inner.zip": inner, "inner.gz": packed, "a.txt": b"outside"}), ZIP)
    assert [line.split(",")[0] for line in listed(result)] == ["inner.zip", "inner.gz", "a.txt"]
    assert "deep inside" not in result.markdown
    assert "secret.txt" not in result.markdown
    assert "outside" in result.markdown


def test_a_single_packed_file_is_read_under_its_own_name() -> None:
    result = read("journal.txt.gz", gzip.compress(b"The astrolabe was pawned."), GZIP)
    assert "## journal.txt\n\nThe astrolabe was pawned." in result.markdown


def test_several_packed_pieces_one_after_the_other_are_one_file() -> None:
    data = gzip.compress(b"first half, ") + gzip.compress(b"second half") + bytes(100)
    assert "first half, second half" in read("log.txt.gz", data, GZIP).markdown


@pytest.mark.parametrize(
    ("name", "members", "mime"),
    [
        ("app.jar", {"META-INF/MANIFEST.MF": b"x", "help.txt": b"words"}, JAR),
        ("drawing.sketch", {"document.json": b'{"words": 1}', "help.txt": b"words"}, ZIP),
    ],
)
def test_the_package_of_a_program_is_only_listed(name: str, members: dict[str, bytes], mime: str) -> None:
    result = read(name, zip_of(members), mime)
    assert len(listed(result)) == 2
    assert "words" not in result.markdown
    assert "package of a program" in result.notes[0]


def test_encrypted_files_are_listed_as_such_with_the_way_out() -> None:
    data = bytearray(zip_of(FILES))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    result = read("locked.zip", bytes(data), ZIP)
    assert listed(result)[0] == "readme.txt, 34 B (encrypted)"
    assert "unpack them with their password" in result.notes[-1]
    assert "orange buoy" in result.markdown
    assert listed(read("a.rar", rar4_of(FILES, encrypted=True), RAR))[0].endswith("(encrypted)")


def test_an_archive_whose_names_are_encrypted_is_called_encrypted() -> None:
    with pytest.raises(UnreadableFile, match="RAR archive is encrypted"):
        read("a.rar", rar5_of(FILES, encrypted_headers=True), RAR)


def test_packed_rar_files_are_listed_with_the_reason() -> None:
    assert "packed by RAR" in listed(read("a.rar", rar5_of(FILES, method=3), RAR))[0]


def test_a_zip_bomb_is_listed_and_not_unpacked() -> None:
    data = zip_of({f"{number}.txt": bytes(30 * MB) for number in range(4)})
    result = read("bomb.zip", data, ZIP)
    assert len(listed(result)) == 4
    assert result.notes == (
        "it unpacks to more than 100 times its size, like a bomb, so its files are only listed; "
        "raise archive_ratio if you trust it",
    )


def test_of_a_large_packed_text_the_beginning_is_read() -> None:
    data = gzip.compress(b"many equal words\n" * (5 * MB))
    result = read("log.txt.gz", data, GZIP, ConversionLimits(text_chars=100_000))
    assert "many equal words" in result.markdown
    assert len(result.markdown) <= 100_000
    assert "only the first" in result.notes[0]


def test_a_tar_bomb_in_a_stream_is_listed_as_far_as_it_was_unpacked() -> None:
    data = gzip.compress(tar_of(("first.txt", b"an honest start"), ("zeros.bin", bytes(100 * MB)), ("last.txt", b"x")))
    result = read("bomb.tar.gz", data, GZIP, ConversionLimits(archive_ratio=20))
    assert [line.split(",")[0] for line in listed(result)] == ["first.txt", "zeros.bin"]
    assert "an honest start" in result.markdown
    assert "with more than 2 files" in result.markdown
    assert "like a bomb" in result.notes[0]


def test_an_archive_of_very_many_files_is_listed_up_to_the_limit() -> None:
    block = tar_of(("same.bin", b""))[:512]
    many = io.BytesIO(block * 200_000)
    limits = ConversionLimits(archive_entries=500)
    result = convert_archive("many.tar", many, 512 * 200_000, TAR, limits)
    assert len(listed(result)) == 500
    assert "only the first 500 files are listed; raise archive_entries" in result.notes[0]
    assert many.tell() < 512 * 600

    zipped = zip_of({f"{number}.bin": b"" for number in range(2000)})
    result = read("many.zip", zipped, ZIP, limits)
    assert len(listed(result)) == 500
    assert "archive_entries" in result.notes[0]


def test_names_that_lead_elsewhere_are_only_shown() -> None:
    members = {"../../etc/passwd.txt": b"up and out", "/abs/a.txt": b"from the root", "C:\\x\\b.txt": b"of a drive"}
    before = sorted(Path.cwd().iterdir())
    result = read("names.zip", zip_of(members), ZIP)
    assert [line.split(",")[0] for line in listed(result)] == ["../../etc/passwd.txt", "/abs/a.txt", "C:/x/b.txt"]
    assert "up and out" in result.markdown
    assert sorted(Path.cwd().iterdir()) == before


def test_links_in_an_archive_are_not_followed() -> None:
    result = read("links.tar", tar_of_links(passwd="/etc/passwd", up="../../.."), TAR)
    assert listed(result) == ["passwd, 0 B (a link)", "up, 0 B (a link)"]
    assert len(result.places) == 1


def test_long_and_odd_names_stay_on_one_line() -> None:
    long = "ö" * 127 + ".txt"
    result = read("a.tar", tar_of((long, b"long name"), ("a\nb\t*c*.txt", b"odd name"), ("x" * 5000, b"")), TAR)
    assert listed(result)[0].startswith(long)
    assert listed(result)[1] == "`a b *c*.txt`, 8 B"
    assert len(listed(result)[2]) < 600
    assert "odd name" in result.markdown


def test_names_in_old_encodings_keep_their_letters() -> None:
    data = zip_of({"XXXXXXXX.txt": b"y"}).replace(b"XXXXXXXX", "Größe_zu".encode("cp437"))
    assert listed(read("dos.zip", data, ZIP)) == ["Größe_zu.txt, 1 B"]


def test_a_broken_file_in_an_archive_does_not_keep_others_from_being_read() -> None:
    members = {"broken.docx": b"PK\x03\x04 no document", "empty.pdf": b"", "bad.pdf": b"%PDF-1.4 broken", **FILES}
    result = read("mixed.zip", zip_of(members), ZIP)
    assert "sextant" in result.markdown
    assert listed(result)[0].startswith("broken.docx, 16 B (not read: ")
    assert listed(result)[2].startswith("bad.pdf, 15 B (not read: PDF ")


def test_a_damaged_file_in_an_archive_is_named() -> None:
    data = bytearray(zip_of({"a.txt": b"words " * 50, "b.txt": b"other words"}, zipfile.ZIP_STORED))
    data[data.index(b"words")] ^= 0xFF
    result = read("a.zip", bytes(data), ZIP)
    assert listed(result)[0] == "a.txt, 300 B (not read: damaged)"
    assert "other words" in result.markdown


def test_bytes_characters_and_time_are_bounded_and_the_rest_is_listed() -> None:
    members = {f"{number}.txt": f"words of file {number} ".encode() * 1000 for number in range(10)}
    data = zip_of(members)
    by_bytes = read("a.zip", data, ZIP, ConversionLimits(archive_bytes=50_000))
    by_chars = read("a.zip", data, ZIP, ConversionLimits(text_chars=50_000))
    clock = itertools.count(0.0, 10.0)
    by_time = convert_archive(
        "a.zip", io.BytesIO(data), len(data), ZIP, ConversionLimits(archive_seconds=35.0), clock=lambda: next(clock)
    )
    for result in (by_bytes, by_chars, by_time):
        assert len(listed(result)) == 10
        assert "## 0.txt" in result.markdown
        assert "## 9.txt" not in result.markdown
        assert "more files are listed, not read" in result.notes[-1] or "text_chars" in "".join(result.notes)


def test_a_file_whose_reader_killed_the_process_is_left_out_next_time(tmp_path: Path) -> None:
    marks = CrashMarks(tmp_path)
    with pytest.raises(KeyboardInterrupt), marks.mark(2):
        raise KeyboardInterrupt
    assert not CrashMarks(tmp_path).has_crashed(2)  # an orderly end leaves no mark
    killed = marks.mark(1)
    killed.__enter__()  # a killed process never leaves it

    data = zip_of(FILES)
    result = convert_archive(
        "boats.zip", io.BytesIO(data), len(data), ZIP, ConversionLimits(), lambda _: None, tmp_path
    )
    assert listed(result)[0] == "readme.txt, 34 B (not read: its reader crashed or took too long)"
    assert "orange buoy" in result.markdown


def test_a_file_is_not_blamed_for_the_death_of_the_process_that_started_its_reader(tmp_path: Path) -> None:
    killed = [CrashMarks(tmp_path, starter=100).mark(1), CrashMarks(tmp_path, starter=200).mark(1)]
    killed[0].__enter__()
    assert CrashMarks(tmp_path, starter=100).has_crashed(1)
    assert not CrashMarks(tmp_path, starter=200).has_crashed(1)  # chyme was killed and started again
    killed[1].__enter__()
    assert CrashMarks(tmp_path, starter=300).has_crashed(1)  # twice is no chance


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (zip_of(FILES), ZIP),
        (tar_of(*FILES.items()), TAR),
        (gzip.compress(tar_of(*FILES.items())), GZIP),
        (bz2.compress(tar_of(*FILES.items())), BZIP2),
        (lzma.compress(tar_of(*FILES.items())), XZ),
        (seven_zip_of(FILES), SEVEN_ZIP),
        (seven_zip_of(FILES, packed_header=False), SEVEN_ZIP),
        (rar5_of(FILES), RAR),
        (rar4_of(FILES), RAR),
    ],
)
def test_cut_and_fuzzed_archives_are_read_or_refused_in_plain_words(data: bytes, mime: str) -> None:
    chance = random.Random(7)
    cuts = [data[: chance.randrange(1, len(data))] for _ in range(60)]
    fuzzed = []
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            changed[chance.randrange(8, len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        fuzzed.append(bytes(changed))
    for hostile in (*cuts, *fuzzed):
        try:
            result = read("a", hostile, mime)
        except UnreadableFile as error:
            assert str(error).startswith("a: ")
        else:
            assert len(result.markdown) < 100_000


def test_the_bombs_of_the_corpus_are_listed() -> None:
    if not HOSTILE.exists():
        pytest.skip("../shared/corpus is not here")
    for name in ("nested_10TB.zip", "overlap_15GB.zip"):
        assert listed(read(name, (HOSTILE / name).read_bytes(), ZIP))
