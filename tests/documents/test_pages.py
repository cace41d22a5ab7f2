"""First pages from PDF, from covers and from text; and LibreOffice's folder and behaviour, without LibreOffice."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from growth import grows_linearly
from PIL import Image
from waiting import wait_until

from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.conversion.zip_packages import open_package
from chyme.documents.libreoffice.installation import office_marker, office_program
from chyme.documents.libreoffice.process import Office, OfficeFailed
from chyme.documents.libreoffice.profile import PREFIX, OfficeProfile
from chyme.documents.pages.first_page import PageImage, declared_page_count, render_first_page
from chyme.documents.pages.fonts import Fonts, fonts, letters_of
from chyme.documents.pages.limits import PageLimits
from chyme.documents.pages.markdown_blocks import Span, blocks_of, spans_of
from chyme.documents.pages.text_page import FOOT, render_text_page
from chyme.errors import LimitReached, UnreadableFile
from chyme.files.extensions import DOCX, EPUB, ODT, PDF, PPTX

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
COVERS = SAMPLES / "covers"
ALONE = PageLimits(office="off")
RED, GREEN = (200, 30, 40), (26, 153, 51)
BARE = Fonts(("/nonexistent",))  # a machine without any font


def page_of(name: str, limits: PageLimits = ALONE) -> PageImage:
    path = COVERS / name
    mime = PDF if path.suffix == ".pdf" else EPUB
    return render_first_page(name, path.read_bytes(), mime, limits, ConversionLimits())


def left_and_right(image: Image.Image) -> tuple[object, object]:
    width, height = image.size
    return image.getpixel((width // 4, height // 2)), image.getpixel((width * 3 // 4, height // 2))


def ink(image: Image.Image, box: tuple[float, float, float, float]) -> int:
    """How many pixels of a part of the page, given in fractions, are not white."""
    width, height = image.size
    part = image.crop((int(box[0] * width), int(box[1] * height), int(box[2] * width), int(box[3] * height)))
    return sum(part.convert("L").point(lambda value: 255 if value < 200 else 0).histogram()[255:])


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("wide.pdf", (1599, 17)),
        ("backwards.pdf", (1066, 1599)),
        ("no_box.pdf", (1236, 1599)),
        ("nan_box.pdf", (1236, 1599)),
        ("stamp.pdf", (120, 80)),
    ],
)
def test_a_pdf_page_is_drawn_within_bounds_whatever_its_box_claims(name: str, size: tuple[int, int]) -> None:
    page = page_of(name)
    assert (page.image.size, page.rendered, page.pages) == (size, "pdf", 1)
    assert left_and_right(page.image) == (GREEN, (255, 255, 255))


def test_a_pdf_page_of_a_thousand_kilometres_costs_no_more_pixels_than_any_other() -> None:
    assert max(page_of("vast.pdf").image.size) <= 1600


def test_a_turned_pdf_page_is_shown_turned() -> None:
    image = page_of("rotated.pdf").image
    assert image.size == (1599, 1066)
    assert image.getpixel((800, 200)) == GREEN


def test_filled_in_form_fields_are_drawn() -> None:
    assert page_of("form.pdf").image.getpixel((200, 160)) == (204, 26, 26)


def test_the_first_page_that_can_be_drawn_stands_in_for_a_broken_one() -> None:
    page = page_of("first_broken.pdf")
    assert (page.pages, page.note) == (2, "page 1 is damaged; this is page 2")
    assert left_and_right(page.image)[0] == GREEN


def test_a_page_with_a_picture_beyond_the_limit_is_not_drawn() -> None:
    page = page_of("huge_picture.pdf")
    assert page.note == "page 1 holds a picture of 60,000 × 60,000 pixels (limit image_pixels); this is page 2"
    assert page.image.size == (1066, 1599)


def test_a_pdf_without_a_page_that_can_be_drawn_still_reports_its_number_of_pages() -> None:
    page = page_of("all_broken.pdf")
    assert (page.rendered, page.pages, page.note) == ("text", 2, "no page could be drawn: page 1 is damaged")


@pytest.mark.parametrize("how", ["by_property", "by_meta", "by_guide", "by_spine"])
def test_the_cover_of_a_book_is_found_however_the_book_declares_it(how: str) -> None:
    page = page_of(f"{how}.epub")
    assert (page.rendered, page.pages, page.image.size) == ("cover", None, (300, 400))
    assert page.image.getpixel((150, 200)) == RED


@pytest.mark.parametrize("name", ["no_cover.epub", "small_picture.epub", "cover_outside.epub", "cover_bomb.epub"])
def test_a_book_without_a_cover_that_may_be_shown_shows_its_text(name: str) -> None:
    page = page_of(name)
    assert (page.rendered, page.pages) == ("text", None)
    assert ink(page.image, (0, 0, 1, 0.3)) > 500


def test_a_cover_page_that_no_parser_likes_is_passed_over() -> None:
    with zipfile.ZipFile(COVERS / "by_guide.epub") as book:
        parts = {name: book.read(name).decode("utf-8", "replace") for name in book.namelist()}
    data = packed(parts | {"OPS/cover.xhtml": "<html><body><![endless[ ]></body></html>"})
    page = render_first_page("odd.epub", data, EPUB, ALONE, ConversionLimits())
    assert page.rendered == "text"


def test_broken_and_empty_documents_are_reported_in_the_converters_words() -> None:
    whole = (SAMPLES / "minutes.docx").read_bytes()
    with pytest.raises(UnreadableFile, match=r"minutes\.docx: Word document is broken"):
        render_first_page("minutes.docx", whole[: len(whole) // 2], DOCX, ALONE, ConversionLimits())
    with pytest.raises(UnreadableFile, match="file is empty"):
        render_first_page("minutes.docx", b"", DOCX, ALONE, ConversionLimits())
    with pytest.raises(LimitReached, match="document_bytes"):
        render_first_page("minutes.docx", whole, DOCX, ALONE, ConversionLimits(document_bytes=100))


def packed(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("parts", "pages"),
    [
        ({"word/document.xml": "<a/>", "docProps/app.xml": '<P xmlns="urn:p"><Pages>7</Pages></P>'}, 7),
        (
            {
                "word/document.xml": "<a/>",
                "docProps/app.xml": '<P xmlns="urn:p"><Pages>1</Pages><Words>0</Words></P>',
            },
            None,
        ),
        ({"xl/workbook.xml": "<a/>", "docProps/app.xml": '<P xmlns="urn:p"><Pages>7</Pages></P>'}, None),
        ({"word/document.xml": "<a/>", "docProps/app.xml": '<P xmlns="urn:p"><Pages>0</Pages></P>'}, None),
        ({"meta.xml": '<m xmlns:m="urn:m"><m:document-statistic m:page-count="3"/></m>'}, 3),
        ({"meta.xml": '<m xmlns:m="urn:m"><m:document-statistic m:page-count="lots"/></m>'}, None),
        ({"word/document.xml": "<a/>"}, None),
    ],
)
def test_pages_are_counted_if_the_document_declares_them(parts: dict[str, str], pages: int | None) -> None:
    package = open_package("a", "document", packed(parts), ConversionLimits(), doctypes=False)
    assert declared_page_count(package) == pages


def test_slides_are_counted_one_by_one() -> None:
    page = render_first_page("slides.pptx", (SAMPLES / "slides.pptx").read_bytes(), PPTX, ALONE, ConversionLimits())
    assert (page.rendered, page.pages) == ("text", 2)


def test_markdown_is_cut_into_blocks() -> None:
    text = (
        "# Top\n\nfirst\nsecond\n- a\n  1) b\n> said\n\n| x | y\\|z |\n|---|---|\n| 1 | **2** |\n\n"
        "```sh\n# no heading\n```\n---\nend"
    )
    found = list(blocks_of(text))
    assert [(block.kind, block.level) for block in found] == [
        ("heading", 1),
        ("text", 0),
        ("item", 0),
        ("item", 1),
        ("quote", 0),
        ("table", 0),
        ("code", 0),
        ("rule", 0),
        ("text", 0),
    ]
    assert found[3].marker == "1)"
    assert (found[5].header, found[5].rows) == (True, (("x", "y|z"), ("1", "2")))
    assert found[6].spans == (Span("# no heading", mono=True),)


def test_markup_is_taken_off_the_words() -> None:
    text = r"see [the *rules*](http://x/y) in **bold** and `co*de` &amp; ~~old~~ <b>new</b> 3 \* 4 ![cat](c.png) a_b"
    assert spans_of(text) == (
        Span("see the "), Span("rules"), Span(" in "), Span("bold", bold=True), Span(" and "), Span("co*de", mono=True),
        Span(" & old new 3 * 4 [cat] a_b"),
    )  # fmt: skip


def test_text_fills_a_sheet_of_paper_from_the_top_and_says_at_its_foot_what_it_is() -> None:
    image, note = render_text_page("# Harbour notes\n\nHigh water at noon.", ALONE)
    empty, _ = render_text_page("", ALONE)
    assert (image.size, note) == ((1131, 1600), None)
    assert ink(image, (0, 0.05, 1, 0.2)) > 1000
    assert ink(image, (0, 0.3, 1, 0.85)) == 0
    assert FOOT
    assert ink(image, (0, 0.92, 1, 1)) == ink(empty, (0, 0.92, 1, 1)) > 100
    assert ink(empty, (0, 0.05, 1, 0.2)) > 100  # it says that there is no text


WORDS = " ".join(["lighthouse"] * 30)


@pytest.mark.parametrize(
    "block",
    [
        WORDS,
        f"# {WORDS}",
        f"- {WORDS}",
        f"> {WORDS}",
        f"```\n{WORDS}\n```",
        "\n".join(["|a|b|", "|---|---|", *[f"| {WORDS} | {WORDS} |"] * 3]),
        "w" * 5000,
    ],
)
def test_text_keeps_its_margins_and_ends_with_the_page(block: str) -> None:
    image, _ = render_text_page(f"{block}\n\n" * 60, ALONE)
    assert ink(image, (0, 0, 0.098, 1)) == ink(image, (0.903, 0, 1, 1)) == 0
    assert ink(image, (0, 0.8, 1, 0.91)) > 1000
    assert ink(image, (0, 0.922, 1, 0.931)) == 0  # between the text and the line above the foot


def test_right_to_left_text_stands_at_the_right() -> None:
    if not fonts().regular.has_glyph("ש"):
        pytest.skip("no font with Hebrew letters is installed here (Debian: fonts-dejavu-core)")
    image, _ = render_text_page("שלום עולם", ALONE)
    assert ink(image, (0.7, 0.05, 0.903, 0.2)) > 100
    assert ink(image, (0.903, 0, 1, 1)) == 0
    assert ink(image, (0, 0.05, 0.5, 0.2)) == 0


def test_letters_without_a_font_are_reported() -> None:
    _, note = render_text_page("plain words and 漢字 and ไทย", ALONE, BARE)
    assert note == "no font here for some letters (Cjk, Thai)"


def test_a_machine_without_fonts_draws_with_the_bundled_font() -> None:
    image, note = render_text_page("# Harbour notes\n\n`High` **water** at noon.", ALONE, BARE)
    assert note is None
    assert ink(image, (0, 0.05, 1, 0.2)) > 1000


def test_a_font_knows_which_letters_it_has() -> None:
    font = BARE.regular
    assert all(map(font.has_glyph, "AZaz09!?"))
    assert not any(map(font.has_glyph, "漢ש\uffff"))
    assert letters_of(io.BytesIO(b"OTTO\x00\x00" + bytes(6))) == ()


def test_damaged_fonts_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "DejaVuSans.ttf").write_bytes(b"\x00\x01\x00\x00\xff\xff" + bytes(30))
    assert Fonts((str(tmp_path),)).regular == BARE.regular


@pytest.mark.parametrize(
    "evil", ["`a``a```a", "**a", "*a", "[", "<a", "|", "- ", "a", "___", "ש", "![", "\x00\x1b[", "🎉"]
)
def test_no_text_costs_more_than_its_length(evil: str) -> None:
    assert grows_linearly(lambda count: render_text_page(evil * count, ALONE), 20_000)


def fake_office(folder: Path, behaviour: str, user: str = f"{os.getuid()}_") -> Path:
    """A program that listens where LibreOffice would and behaves as given."""
    program = folder / "soffice.bin"
    program.write_text(
        f"""#!{sys.executable}
import hashlib, os, pathlib, socket, sys, time
profile = next(a for a in sys.argv if a.startswith("-env:UserInstallation=")).partition("=")[2]
digest = "".join(f"{{b:x}}" for b in hashlib.md5(profile.encode("utf-16-le")).digest())
starts = pathlib.Path({str(folder / "starts")!r})
starts.write_text(starts.read_text() + "x" if starts.exists() else "x")
def listen():
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"/tmp/OSL_PIPE_{user}SingleOfficeIPC_{{digest}}")
    server.listen()
    while True:
        line, _ = server.accept()
        line.sendall(b"InternalIPC::SendArguments\\0")
        message = line.recv(4096)
        if b"--convert-to" in message:
            convert(message.rstrip(b"\\0").decode().split(","))
        line.sendall(b"InternalIPC::ProcessingDone\\0")
        line.close()
def made(arguments):
    out = pathlib.Path(arguments[arguments.index("--outdir") + 1])
    out.mkdir(exist_ok=True)
    (out / "document.pdf").write_bytes(b"%PDF of " + pathlib.Path(arguments[-1]).read_bytes())
{behaviour}
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text())


def test_one_process_serves_many_documents_and_a_fresh_one_takes_over_in_time(tmp_path: Path) -> None:
    office = Office(fake_office(tmp_path, "convert = made\nlisten()"), PageLimits(office_documents=3))
    try:
        pdfs = [office.convert_to_pdf(b"%d" % number, "docx") for number in range(4)]
        assert pdfs == [b"%%PDF of %d" % number for number in range(4)]
        assert starts(tmp_path) == 2
        assert office.folder is not None
        assert list((office.folder / "desk").iterdir()) == []
    finally:
        office.close()


def test_a_user_without_a_name_is_served_and_no_other_user_is(tmp_path: Path) -> None:
    office = Office(fake_office(tmp_path, "os.umask(0)\nconvert = made\nlisten()", user=""), PageLimits())
    before = set(Path("/tmp").glob("OSL_PIPE_Single*"))
    try:
        assert office.convert_to_pdf(b"a", "docx") == b"%PDF of a"
        (pipe,) = set(Path("/tmp").glob("OSL_PIPE_Single*")) - before
        assert pipe.stat().st_mode & 0o777 == 0o600
    finally:
        office.close()
    assert not pipe.exists()


def test_a_profile_that_is_new_may_ask_for_a_second_start(tmp_path: Path) -> None:
    behaviour = "convert = made\nsys.exit(81) if starts.read_text() == 'x' else listen()"
    office = Office(fake_office(tmp_path, behaviour), PageLimits())
    try:
        assert office.convert_to_pdf(b"a", "odt") == b"%PDF of a"
        assert starts(tmp_path) == 2
    finally:
        office.close()


def test_a_document_that_hangs_costs_its_own_time_only(tmp_path: Path) -> None:
    behaviour = (
        "def convert(arguments):\n"
        "    time.sleep(60) if b'hang' in open(arguments[-1], 'rb').read() else made(arguments)\nlisten()"
    )
    office = Office(fake_office(tmp_path, behaviour), PageLimits(office_seconds=3.0))
    try:
        assert office.convert_to_pdf(b"fine", "docx")
        hung = office.pid
        with pytest.raises(OfficeFailed, match=r"longer than 3 seconds"):
            office.convert_to_pdf(b"hang", "docx")
        assert hung is not None
        assert not Path(f"/proc/{hung}").exists()
        assert office.convert_to_pdf(b"fine", "docx")
    finally:
        office.close()


def test_a_crash_is_tried_once_more_in_a_fresh_process_and_then_reported(tmp_path: Path) -> None:
    behaviour = (
        "def convert(arguments):\n    data = open(arguments[-1], 'rb').read()\n"
        "    if data == b'deadly' or data == b'ill' and starts.read_text() == 'x': os._exit(1)\n"
        "    made(arguments)\nlisten()"
    )
    office = Office(fake_office(tmp_path, behaviour), PageLimits())
    try:
        assert office.convert_to_pdf(b"fine", "docx")
        assert office.convert_to_pdf(b"ill", "docx") == b"%PDF of ill"
        with pytest.raises(OfficeFailed, match="crashed"):
            office.convert_to_pdf(b"deadly", "docx")
    finally:
        office.close()


def test_an_office_has_limits_of_its_own(tmp_path: Path) -> None:
    limits = PageLimits(office_memory_mb=1024, office_seconds=30)
    office = Office(fake_office(tmp_path, "convert = made\nlisten()"), limits)
    try:
        office.convert_to_pdf(b"a", "docx")
        assert office.pid is not None
        assert resource.prlimit(office.pid, resource.RLIMIT_AS) == (1 << 30, 1 << 30)
        assert 30 <= resource.prlimit(office.pid, resource.RLIMIT_CPU)[0] < 40
        assert resource.prlimit(office.pid, resource.RLIMIT_CORE) == (0, 0)
    finally:
        office.close()


def test_an_office_that_cannot_start_says_so(tmp_path: Path) -> None:
    office = Office(fake_office(tmp_path, "sys.exit(3)"), PageLimits())
    try:
        with pytest.raises(OfficeFailed, match=r"does not start \(code 3\)"):
            office.convert_to_pdf(b"a", "docx")
    finally:
        office.close()
    assert office.folder is None


def test_a_failing_office_leads_to_the_text_with_a_note(tmp_path: Path) -> None:
    limits = PageLimits(office=str(fake_office(tmp_path, "sys.exit(3)")))
    page = render_first_page("a.odt", (SAMPLES / "letter.odt").read_bytes(), ODT, limits, ConversionLimits())
    assert page.rendered == "text"
    assert page.note is not None
    assert page.note.startswith("LibreOffice does not start (code 3)")


def test_closing_an_office_leaves_no_process_no_folder_and_no_socket(tmp_path: Path) -> None:
    office = Office(fake_office(tmp_path, "convert = made\nlisten()"), PageLimits())
    office.convert_to_pdf(b"a", "docx")
    folder, pid = office.folder, office.pid
    assert folder is not None
    sockets = set(Path("/tmp").glob("OSL_PIPE_*"))
    office.close()
    assert not folder.exists()
    assert not Path(f"/proc/{pid}").exists()
    assert len(sockets - set(Path("/tmp").glob("OSL_PIPE_*"))) >= 1


def test_folders_of_dead_processes_are_removed_and_those_of_living_ones_are_not() -> None:
    left = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))
    (left / "profile").mkdir()
    living = OfficeProfile()
    try:
        assert not left.exists()
        assert living.path.stat().st_mode & 0o777 == 0o700
        another = OfficeProfile()
        try:
            assert living.path.exists()
        finally:
            another.remove()
        assert not another.path.exists()
    finally:
        living.remove()


def test_the_folder_goes_even_when_its_owner_is_killed() -> None:
    code = (
        "import time; from chyme.documents.libreoffice.profile import OfficeProfile; "
        "print(OfficeProfile().path, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert folder.is_dir()
        os.kill(owner.pid, signal.SIGKILL)
    wait_until(lambda: not folder.exists())
    assert not folder.exists()


def test_libreoffice_is_found_by_its_command_and_its_marker_changes_with_it(tmp_path: Path) -> None:
    program = tmp_path / "program" / "soffice.bin"
    program.parent.mkdir()
    command = tmp_path / "soffice"
    (program.parent / "soffice").write_text("#!/bin/sh\n")
    command.symlink_to(program.parent / "soffice")
    assert office_program(str(command)) is None
    assert office_marker(str(command)) == "no LibreOffice"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert office_program(str(command)) == program.resolve()
    before = office_marker(str(command))
    os.utime(program, (1, 1))
    assert "no LibreOffice" != office_marker(str(command)) != before
    assert office_program("off") is None
