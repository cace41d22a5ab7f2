"""Words are found in pictures, with their boxes, in any direction of the writing; what cannot be read is reported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]
import pytest
from PIL import Image, ImageDraw, ImageFont

from chyme.documents.conversion.scan_rendering import LONGEST, CannotDraw, draw, has_covering_image
from chyme.documents.conversion.scanned_pages import Scan, load_scan, save_scan
from chyme.errors import EngineUnavailable, TimedOut
from chyme.imaging.ocr.engines import (
    Line,
    OcrEngine,
    OcrResult,
    OcrSettings,
    fingerprint,
    load_engine,
    move_line,
    unread_note,
)
from chyme.imaging.ocr.page_text import page_text
from chyme.imaging.ocr.tesseract import Tesseract
from chyme.model import Place

pytestmark = pytest.mark.slow

PAGES = Path(__file__).resolve().parents[1] / "samples" / "pages"
NEEDS_TESSERACT = pytest.mark.skipif(shutil.which("tesseract") is None, reason="the program tesseract is not installed")


@pytest.fixture(scope="module")
def rapid() -> OcrEngine:
    return load_engine(OcrSettings())


def picture(name: str) -> Image.Image:
    with Image.open(PAGES / name) as image:
        return image.convert("RGB")


def a_paragraph() -> Image.Image:
    """The heading and the first paragraph of the clean page."""
    return picture("clean.png").crop((60, 100, 1110, 370))


def text_of(reading: OcrResult, image: Image.Image) -> str:
    return page_text(reading.lines, image.width / image.height, 0.75).text


def truth_of(name: str) -> str:
    return (PAGES / name).with_suffix(".txt").read_text(encoding="utf-8").strip()


def test_words_of_a_scene_are_read_and_stand_where_they_are(rapid: OcrEngine) -> None:
    lines = {line.text: line for line in rapid.read(picture("sign.jpg")).lines}
    assert set(lines) == {"HOTEL", "Quetzalpension", "3 km"}
    assert lines["Quetzalpension"].box == pytest.approx((0.27, 0.41, 0.76, 0.55), abs=0.035)
    three, kilometres = lines["3 km"].words
    assert (three.text, kilometres.text) == ("3", "km")
    assert lines["3 km"].box[0] - 0.01 <= three.box[0] < three.box[2] < kilometres.box[2]
    assert kilometres.box[2] <= lines["3 km"].box[2] + 0.01
    assert min(three.confidence, kilometres.confidence) > 0.9


def test_chinese_is_read(rapid: OcrEngine) -> None:
    image = picture("chinese.png")
    assert text_of(rapid.read(image), image).split() == truth_of("chinese.png").split()


@pytest.mark.parametrize("name", ["clean.png", "rotated_3.png", "turned_90.png", "upside_down.png", "noisy.jpg"])
def test_a_printed_page_is_read_whole_however_it_lies(name: str, rapid: OcrEngine) -> None:
    image = picture(name)
    assert text_of(rapid.read(image), image) == truth_of(name)


def test_columns_are_read_one_after_the_other_and_tables_row_by_row(rapid: OcrEngine) -> None:
    for name in ("two_columns.png", "table.png"):
        image = picture(name)
        assert text_of(rapid.read(image), image).split() == truth_of(name).split()


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_boxes_of_turned_writing_are_those_of_the_picture_as_it_is(quarters: int, rapid: OcrEngine) -> None:
    upright = a_paragraph()
    lying = upright.rotate(-90 * quarters, expand=True)
    expected = {line.text: line.quad for line in rapid.read(upright).lines}
    found = {line.text: line.quad for line in rapid.read(lying).lines}
    assert found.keys() == expected.keys()
    for text, quad in expected.items():
        corners = list(quad)
        for _ in range(quarters):
            corners = [(1 - y, x) for x, y in corners]
        for corner, other in zip(corners, found[text], strict=True):
            assert corner == pytest.approx(other, abs=0.03)


def test_an_empty_sheet_has_no_lines(rapid: OcrEngine) -> None:
    assert rapid.read(Image.new("RGB", (900, 700), "white")) == OcrResult()
    assert rapid.read(Image.new("L", (1, 1), 3)) == OcrResult()


def write(image: Image.Image, size: int, shade: int) -> None:
    """One line in the right part of the picture, at the bottom."""
    font = ImageFont.load_default(size)
    ImageDraw.Draw(image).text((image.width // 2, image.height * 0.85), "Harbour Street Bakery", (shade,) * 3, font)


@pytest.mark.parametrize(("size", "shade"), [(16, 0), (20, 225), (30, 240)])
def test_a_small_or_faint_line_on_an_empty_page_is_read(size: int, shade: int, rapid: OcrEngine) -> None:
    page = Image.new("RGB", (1650, 2300), "white")
    write(page, size, shade)
    (line,) = rapid.read(page).lines
    assert line.text == "Harbour Street Bakery"
    assert line.box[:2] == pytest.approx((0.5, 0.85), abs=0.01)


@pytest.mark.parametrize("size", [(3, 2000), (2000, 3), (40, 40), (5000, 20)])
def test_pictures_of_odd_shape_are_read_without_complaint(size: tuple[int, int], rapid: OcrEngine) -> None:
    found = rapid.read(Image.effect_noise(size, 90))
    assert all(0 <= edge <= 1 for line in found.lines for edge in line.box)


def test_unknown_letters_are_reported_and_not_made_up() -> None:
    alone = load_engine(OcrSettings(ocr_scripts=False))
    found = alone.read(picture("cyrillic.png"))
    assert found.unread == 4
    assert found.lines == ()
    note = unread_note(0, found.unread, alone.letters)
    assert note is not None
    assert "4 regions look like writing" in note
    assert "Latin, Chinese and Japanese" in note


def test_a_speck_among_much_text_is_not_worth_a_note() -> None:
    assert unread_note(40, 1, "x") is None
    assert unread_note(40, 3, "x") is None
    assert unread_note(0, 2, "x") is None
    assert unread_note(10, 2, "x") is not None


def test_a_line_of_a_part_is_moved_to_its_place_in_the_whole() -> None:
    line = Line("a", 1.0, ((0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 0.5)))
    assert move_line(line, 0.5, 0.5, 0.5, 0.25).box == (0.5, 0.5, 1.0, 0.625)


def test_a_reader_is_loaded_once_and_an_unknown_one_is_named() -> None:
    assert load_engine(OcrSettings()) is load_engine(OcrSettings(ocr_doubt=0.1))
    with pytest.raises(EngineUnavailable, match=r"'abbyy'.*rapidocr, tesseract"):
        load_engine(OcrSettings(ocr_engine="abbyy"))


def test_the_fingerprint_knows_what_changes_the_words_and_loads_nothing() -> None:
    code = (
        "import sys; from chyme.documents.doc_to_markdown import DocToMarkdown;"
        "from chyme.pictures.image_ocr import ImageOcr; print(ImageOcr().fingerprint); DocToMarkdown().fingerprint;"
        "native = ('rapidocr', 'onnxruntime', 'cv2', 'numpy', 'PIL', 'pypdfium2');"
        "print([name for name in native if name in sys.modules])"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0].startswith("rapidocr rapidocr 3.")
    assert lines[1] == "[]"
    assert fingerprint(OcrSettings(ocr_side=900)) != fingerprint(OcrSettings())
    assert fingerprint(OcrSettings(ocr_engine="tesseract")) != fingerprint(OcrSettings())
    assert fingerprint(OcrSettings(ocr_threads=2)) == fingerprint(OcrSettings())


def test_loading_says_nothing(rapid: OcrEngine, capfd: pytest.CaptureFixture[str]) -> None:
    rapid.read(picture("sign.jpg"))
    assert capfd.readouterr() == ("", "")


def test_a_missing_tesseract_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EngineUnavailable, match="apt install tesseract-ocr"):
        Tesseract()


@NEEDS_TESSERACT
def test_tesseract_reads_an_upright_and_a_turned_page() -> None:
    engine = Tesseract()
    upright = a_paragraph()
    expected = engine.read(upright)
    assert "Whoever keeps the watch" in text_of(expected, upright)
    lying = picture("turned_90.png")
    found = engine.read(lying)
    assert "cormorants may not. A quokka" in text_of(found, lying)
    heading = next(line for line in found.lines if line.text == "Keeping the lighthouse")
    assert heading.box[0] > 0.85
    assert heading.box[3] - heading.box[1] > 4 * (heading.box[2] - heading.box[0])


def test_a_pattern_of_signs_is_no_text(rapid: OcrEngine) -> None:
    rule = Image.new("L", (500, 160), 255)
    ImageDraw.Draw(rule).text((60, 50), "+ + +", 0, ImageFont.load_default(size=44))
    assert rapid.read(rule) == OcrResult()


@NEEDS_TESSERACT
def test_a_language_tesseract_lacks_and_an_option_in_disguise_are_refused() -> None:
    with pytest.raises(EngineUnavailable, match="apt install tesseract-ocr-xyz"):
        Tesseract("eng+xyz")
    with pytest.raises(EngineUnavailable):
        Tesseract("--tessdata-dir")


@NEEDS_TESSERACT
def test_tesseract_is_stopped_when_its_time_is_up() -> None:
    engine = Tesseract()
    engine._seconds = 0.01
    with pytest.raises(TimedOut, match="ocr_seconds"):
        engine.read(a_paragraph())


@pytest.fixture
def scans() -> Iterator[pypdfium2.PdfDocument]:
    document = pypdfium2.PdfDocument(PAGES / "three_scans.pdf")
    yield document
    document.close()


def test_a_page_is_drawn_as_large_as_reading_needs(scans: pypdfium2.PdfDocument) -> None:
    assert draw(scans, 1).size == (1625, 2300)
    page = scans[0]
    assert has_covering_image(page)
    page.close()


@pytest.mark.parametrize("box", [b"[0 0 28346 842]", b"[0 0 595 14400]"])
def test_a_page_that_claims_to_be_huge_is_drawn_small(box: bytes) -> None:
    data = (PAGES / "three_scans.pdf").read_bytes().replace(b"[0 0 595 842]", box)
    document = pypdfium2.PdfDocument(data)
    assert max(draw(document, 2).size) == LONGEST
    document.close()


def test_a_page_that_takes_too_long_or_is_too_narrow_or_not_there_is_left(scans: pypdfium2.PdfDocument) -> None:
    with pytest.raises(CannotDraw, match="too long"):
        draw(scans, 1, seconds=-1)
    with pytest.raises(CannotDraw, match="broken"):
        draw(scans, 9)
    thin = pypdfium2.PdfDocument((PAGES / "three_scans.pdf").read_bytes().replace(b"[0 0 595 842]", b"[0 0 9000 3]"))
    with pytest.raises(CannotDraw, match="narrow"):
        draw(thin, 1)
    thin.close()


def test_a_page_whose_picture_would_fill_the_memory_is_left() -> None:
    data = (PAGES / "three_scans.pdf").read_bytes().replace(b"/Width 827 /Height 1169", b"/Width 82700 /Height 11690")
    document = pypdfium2.PdfDocument(data)
    with pytest.raises(CannotDraw, match="too large"):
        draw(document, 1)
    document.close()


def test_a_page_that_was_read_is_found_again(tmp_path: Path) -> None:
    scan = Scan("a line", (Place(0, 6, box=(0.1, 0.2, 0.3, 0.4)),), 2, "Latin")
    assert load_scan(tmp_path, 7) is None
    save_scan(tmp_path, 7, scan)
    assert load_scan(tmp_path, 7) == scan
    assert [path.name for path in tmp_path.iterdir()] == ["scan-00007.json"]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"text":1,"lines":[],"unread":0,"letters":""}',
        b'{"text":"a","lines":[[0,5,0,0,1,1]],"unread":0,"letters":""}',
        b'{"text":"a","lines":[[0,1,0,0,1,7]],"unread":0,"letters":""}',
        b'{"text":"a","lines":[[0,1]],"unread":0,"letters":""}',
    ],
)
def test_a_broken_scan_file_counts_as_missing(broken: bytes, tmp_path: Path) -> None:
    save_scan(tmp_path, 1, Scan("a"))
    (scan_file,) = tmp_path.iterdir()
    assert json.loads(scan_file.read_bytes())["text"] == "a"
    scan_file.write_bytes(broken)
    assert load_scan(tmp_path, 1) is None
