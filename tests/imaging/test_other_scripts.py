"""Lines in other scripts are read by tesseract, where it has a language for them; other pages never start it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from bench.ocr import cer
from chyme.errors import EngineUnavailable, TimedOut
from chyme.imaging.ocr.engines import OcrResult, OcrSettings, load_engine, portable_fingerprint, unread_note
from chyme.imaging.ocr.page_text import page_text
from chyme.imaging.ocr.rapidocr import RapidOcr
from chyme.imaging.ocr.script_reader import SAMPLE_LENGTH, Choice, ScriptReader, StripText
from chyme.imaging.ocr.scripts import SCRIPTS, Script
from chyme.imaging.ocr.tesseract_program import TesseractProgram
from chyme.imaging.ocr.text_recogniser import RecognisedText
from chyme.imaging.ocr.text_regions import Region, cut_unsure_parts, make_line

pytestmark = pytest.mark.slow

PAGES = Path(__file__).resolve().parents[1] / "samples" / "pages"


def installed() -> frozenset[str]:
    return ScriptReader().installed() if shutil.which("tesseract") else frozenset()


def needs(language: str) -> pytest.MarkDecorator:
    reason = f"tesseract is not installed with {language} (Debian: apt-get install tesseract-ocr-{language})"
    return pytest.mark.skipif(language not in installed(), reason=reason)


def picture(name: str) -> Image.Image:
    with Image.open(PAGES / name) as image:
        return image.convert("RGB")


def text_of(reading: OcrResult, image: Image.Image) -> str:
    return page_text(reading.lines, image.width / image.height, 0.0).text


def truth_of(name: str) -> str:
    return (PAGES / name).with_suffix(".txt").read_text(encoding="utf-8")


SAMPLES = [
    pytest.param(name, marks=needs(language))
    for name, language in (
        ("cyrillic.png", "rus"), ("greek.png", "ell"), ("arabic.png", "ara"), ("hebrew.png", "heb"),
        ("devanagari.png", "hin"), ("korean.png", "kor"), ("thai.png", "tha"),
    )
]  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_in_another_script_is_read(name: str) -> None:
    image = picture(name)
    reading = load_engine(OcrSettings()).read(image)
    assert cer(text_of(reading, image), truth_of(name)) < 0.1
    assert reading.unread == 0


@needs("heb")
def test_a_page_that_stands_on_its_head_is_read_with_its_boxes() -> None:
    image = picture("hebrew.png")
    turned = image.transpose(Image.Transpose.ROTATE_180)
    reading = load_engine(OcrSettings()).read(turned)
    assert cer(text_of(reading, turned), truth_of("hebrew.png")) < 0.1
    heading = max(reading.lines, key=lambda line: line.box[1])
    assert "פרוטוקול" in heading.text
    first = next(word for word in heading.words if word.text == "פרוטוקול")
    assert first.box[0] < 0.1  # it begins at the right of the page, which now is at the left


@needs("rus")
def test_only_the_lines_in_another_script_are_read_again() -> None:
    image = picture("mixed_scripts.png")
    alone = load_engine(OcrSettings(ocr_scripts=False)).read(image)
    both = load_engine(OcrSettings()).read(image)
    assert alone.unread == 2
    assert set(alone.lines) < set(both.lines)
    assert cer(text_of(both, image), truth_of("mixed_scripts.png")) < 0.02
    payable = next(line for line in both.lines if "пятнадцатого" in line.text)
    word = next(word for word in payable.words if word.text == "пятнадцатого")
    assert payable.box[0] < word.box[0] < word.box[2] < payable.box[2]
    assert payable.box[1] == pytest.approx(0.62, abs=0.08)


FAKE = """#!/bin/sh
case "$*" in
  *--list-langs*) echo 'Languages:'; echo tha; echo rus; echo osd ;;
  *"--psm 0"*) echo osd >> "{log}"; {detect} ;;
  *) echo "$4" >> "{log}"; cat > /dev/null; {read} ;;
esac
"""
SCRIPT = "printf 'Rotate: 0\\nOrientation confidence: 9\\nScript: %s\\nScript confidence: %s\\n' {name} {sure}"
WORD = "printf '5\\t1\\t1\\t1\\t1\\t1\\t40\\t40\\t90\\t20\\t%s\\t%s\\n' {sure} {text}"


class FakeTesseract:
    """A program of this name that detects and reads what it is told to, and notes how it was started."""

    def __init__(self, folder: Path, detect: str, read: str = "true") -> None:
        self.log = folder / "log"
        program = folder / "tesseract"
        program.write_text(FAKE.format(log=self.log, detect=detect, read=read), encoding="utf-8")
        program.chmod(0o755)

    @property
    def starts(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").split() if self.log.exists() else []


def strips() -> list[Any]:
    import numpy

    return [numpy.full((40, 400, 3), 255, numpy.uint8)] * 3


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptReader:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return ScriptReader(seconds=20.0)


def test_a_script_that_cannot_be_read_here_is_not_tried_with_others(tmp_path: Path, reader: ScriptReader) -> None:
    fake = FakeTesseract(tmp_path, SCRIPT.format(name="Georgian", sure=3.3), WORD.format(sure=99, text="รายงาน"))
    assert reader.choose(strips()) is None
    assert fake.starts == ["osd"]


@pytest.mark.parametrize(("sure", "found"), [(80, None), (95, "Thai")])
def test_a_script_that_is_only_tried_must_be_read_with_confidence(
    tmp_path: Path, reader: ScriptReader, sure: int, found: str | None
) -> None:
    FakeTesseract(tmp_path, SCRIPT.format(name="Georgian", sure=0.2), WORD.format(sure=sure, text="รายงาน"))
    choice = reader.choose(strips()[:1])
    assert (choice.script.name if choice else None) == found


def test_lines_of_a_script_that_was_tried_are_not_tried_with_others(tmp_path: Path, reader: ScriptReader) -> None:
    cyrillic = next(script for script in SCRIPTS if script.name == "Cyrillic")
    fake = FakeTesseract(tmp_path, SCRIPT.format(name="Cyrillic", sure=0.2))
    assert reader.choose(strips(), [cyrillic]) is None
    assert fake.starts == ["osd"]


def test_a_tesseract_that_hangs_is_not_started_for_every_page(tmp_path: Path, reader: ScriptReader) -> None:
    fake = FakeTesseract(tmp_path, "exec sleep 60")
    assert reader.installed()
    slow = ScriptReader(seconds=0.5)
    slow._installed, slow._program = reader.installed(), TesseractProgram(0.5, 1)
    engine, page = RapidOcr(scripts=slow), picture("cyrillic.png")
    readings = [engine.read(page) for _ in range(3)]
    assert [reading.unread for reading in readings] == [4, 4, 4]
    assert fake.starts == ["osd", "osd"]


def test_all_starts_for_one_picture_share_its_seconds(tmp_path: Path, reader: ScriptReader) -> None:
    FakeTesseract(tmp_path, "true", "sleep 0.3")
    program = TesseractProgram(1.5, 1)
    program.begin_picture()
    with pytest.raises(TimedOut):
        for _ in range(30):
            program.run(["stdin", "stdout", "-l", "rus"])


def test_a_long_line_that_is_read_in_parts_may_be_in_another_script() -> None:
    import numpy

    corners = numpy.array([[0, 0], [960, 0], [960, 40], [0, 40]], numpy.float32)
    columns = tuple(range(108, 138, 3))
    recognised = RecognisedText("14.05.2024", (0.99,) * 10, columns, 144.0, 0.99)
    region = Region(corners, corners, recognised, make_line(recognised, corners, 960, 40))
    assert (region.is_doubtful, region.may_be_in_other_script) == (False, True)
    parts = cut_unsure_parts(numpy.zeros((40, 960, 3), numpy.uint8), region)
    assert [part.shape[1] for part in parts] == [
        pytest.approx(712, abs=12),
        pytest.approx(45, abs=12),
    ]  # all but the date


class CountingReader(ScriptReader):
    """Counts how often a script is looked for."""

    asked = 0

    def installed(self) -> frozenset[str]:
        return frozenset({"rus", "ara", "osd"})

    def choose(self, strips: Sequence[Any], tried: Iterable[Script] = ()) -> Choice | None:
        self.asked += 1
        return None


@pytest.mark.parametrize("name", ["noisy.jpg", "accents.png", "chinese.png", "sign.jpg", "table.png"])
def test_pages_in_known_scripts_do_not_start_tesseract(name: str) -> None:
    reader = CountingReader()
    RapidOcr(scripts=reader).read(picture(name))
    assert reader.asked == 0


def test_a_page_in_another_script_asks_once_and_stays_unread_where_none_is_found() -> None:
    reader = CountingReader()
    found = RapidOcr(scripts=reader).read(picture("cyrillic.png"))
    assert reader.asked == 1
    assert (found.lines, found.unread) == ((), 4)


class MeasuringReader(ScriptReader):
    """Notes the sizes of the lines that are tried with each script."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[tuple[int, int]] = []

    def read(self, strips: Sequence[Any], choice: Choice) -> list[StripText | None]:
        self.sizes += [strip.shape[:2] for strip in strips]
        return [None] * len(strips)


@needs("rus")
def test_only_the_beginning_of_a_long_line_is_tried_with_every_script() -> None:
    reader = MeasuringReader()
    assert (
        reader.choose([numpy.full((20, 5000, 3), 255, numpy.uint8), numpy.full((20, 90, 3), 255, numpy.uint8)]) is None
    )
    assert set(reader.sizes) == {(20, SAMPLE_LENGTH * 20), (20, 90)}


class FailingReader(CountingReader):
    """Its tesseract is too slow."""

    def choose(self, strips: Sequence[Any], tried: Iterable[Script] = ()) -> Choice | None:
        raise TimedOut("tesseract took more than 1 s")


def test_a_tesseract_that_fails_costs_only_the_lines_in_other_scripts() -> None:
    found = RapidOcr(scripts=FailingReader()).read(picture("mixed_scripts.png"))
    assert "Invoice 2024-117 of the harbour office" in [line.text for line in found.lines]
    assert found.unread == 2


def test_without_tesseract_unknown_letters_are_reported_with_the_command_that_adds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    engine = RapidOcr(scripts=ScriptReader())
    found = engine.read(picture("cyrillic.png"))
    note = unread_note(len(found.lines), found.unread, engine.letters)
    assert note is not None
    assert "4 regions look like writing" in note
    assert "for Cyrillic, Greek" in note
    assert "apt-get install tesseract-ocr tesseract-ocr-rus" in note


def test_a_page_of_nonsense_is_reported_even_if_letters_were_read() -> None:
    engine = RapidOcr()
    found = engine.read(picture("hebrew.png"))
    assert unread_note(len(found.lines), found.unread, engine.letters) is not None


@needs("rus")
def test_another_machine_reads_the_same_only_with_the_same_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    with_scripts = portable_fingerprint(OcrSettings())
    assert "tesseract" in with_scripts
    assert portable_fingerprint(OcrSettings(ocr_scripts=False)) != with_scripts


@needs("rus")
def test_the_program_says_what_it_reads_and_names_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(TesseractProgram(10.0, 1).data_folder()).is_dir()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EngineUnavailable, match="apt install tesseract-ocr"):
        TesseractProgram(10.0, 1)
