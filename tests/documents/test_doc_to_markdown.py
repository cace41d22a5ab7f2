"""The digester that turns documents into markdown."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from disk_source import source_of

from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.conversion.scanned_pages import Scan, save_scan
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.errors import DigestError, LimitReached
from chyme.imaging.ocr.engines import OcrSettings
from chyme.model import Kind, Place
from chyme.text.passages import cut_passages

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
HOSTILE = ROOT / "../shared/corpus/hostile"


def test_only_documents_are_digested(tmp_path: Path) -> None:
    file = source_of(SAMPLES / "contract.pdf", tmp_path).file
    assert DocToMarkdown().can_digest(file)
    assert not any(DocToMarkdown().can_digest(replace(file, kind=kind)) for kind in Kind if kind is not Kind.DOCUMENT)


def test_content_and_places_come_out_and_notes_stand_at_the_end(tmp_path: Path) -> None:
    (output,) = DocToMarkdown().digest(source_of(SAMPLES / "half_scanned.pdf", tmp_path))
    assert output.name == "doc-to-markdown"
    assert output.content == ("Only this page can be read.\n\n> note: no words were found in the pictures on pages 2–3")
    assert [place.page for place in output.places] == [1]


def test_scanned_pages_are_read_and_their_lines_have_boxes(tmp_path: Path) -> None:
    (output,) = DocToMarkdown().digest(source_of(SAMPLES / "pages" / "three_scans.pdf", tmp_path))
    assert output.content is not None
    body, _, note = output.content.rpartition("\n\n")
    assert body.split() == (SAMPLES / "pages" / "three_scans.txt").read_text(encoding="utf-8").split()
    assert note == "> note: pages 1–3 were read from their pictures"
    at = output.content.index("narwhal")
    (page,) = (place for place in output.places if place.page and place.start <= at < place.end)
    (line,) = (place for place in output.places if place.box and place.start <= at < place.end)
    assert page.page == 3
    assert output.content[line.start : line.end] == "The guest of honour brought a narwhal tooth."
    assert line.box == pytest.approx((0.095, 0.15, 0.77, 0.175), abs=0.015)
    (passage,) = (
        span
        for span in cut_passages(output.content, output.places)
        if "narwhal" in output.content[span.start : span.end]
    )
    assert (passage.page, passage.box is not None) == (3, True)


def test_another_attempt_goes_on_behind_the_pages_that_were_read(tmp_path: Path) -> None:
    source = source_of(SAMPLES / "pages" / "three_scans.pdf", tmp_path)
    assert DocToMarkdown.runs.keeps_scratch
    save_scan(tmp_path, 1, Scan("kept from before", (Place(0, 4, box=(0.1, 0.1, 0.2, 0.2)),), 0, "Latin"))
    (tmp_path / "scan-00002.json").write_text('{"text": "half a pa', encoding="utf-8")
    (output,) = DocToMarkdown().digest(source)
    assert output.content is not None
    assert output.content.startswith("kept from before\n\nSecond sheet")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"scan-0000{number}.json" for number in (1, 2, 3)]


def test_without_the_engine_the_rest_is_read_and_a_note_says_how_to_get_it(tmp_path: Path) -> None:
    digester = DocToMarkdown(ocr=OcrSettings(ocr_engine="tesseract", ocr_languages="xyz"))
    (output,) = digester.digest(source_of(SAMPLES / "half_scanned.pdf", tmp_path))
    assert output.content is not None
    assert output.content.startswith(
        "Only this page can be read.\n\n> note: pages 2–3 have no text layer and cannot be"
    )
    assert "apt install" in output.content
    assert digester.recipe != DocToMarkdown().recipe


def test_a_document_has_more_time_the_more_scanned_pages_it_can_hold(tmp_path: Path) -> None:
    source = source_of(SAMPLES / "contract.pdf", tmp_path)
    large = replace(source, file=replace(source.file, stamp=replace(source.file.stamp, size=10**8)))
    assert DocToMarkdown().time_limit(source) == 600
    assert DocToMarkdown().time_limit(large) == 600 + 200 * 10
    assert DocToMarkdown().time_limit(replace(large, file=replace(large.file, mime="text/html"))) == 600


def test_a_scan_completes_without_content(tmp_path: Path) -> None:
    (output,) = DocToMarkdown().digest(source_of(SAMPLES / "scanned.pdf", tmp_path))
    assert output.content is None
    assert output.places == ()


def test_limits_come_by_the_constructor_and_count_in_the_recipe(tmp_path: Path) -> None:
    small = DocToMarkdown(ConversionLimits(document_bytes=100))
    with pytest.raises(LimitReached):
        small.digest(source_of(SAMPLES / "contract.pdf", tmp_path))
    assert small.recipe != DocToMarkdown().recipe


def test_the_parent_process_loads_no_reader() -> None:
    readers = "('liteparse', 'pypdfium2', 'anydoc', 'xberg', 'trafilatura', 'html_to_markdown', 'lxml', 'rapidocr')"
    code = (
        "import sys; from chyme.documents.doc_to_markdown import DocToMarkdown; import chyme.files.kind_detection;"
        f"DocToMarkdown().recipe; print([name for name in {readers} if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


@pytest.mark.skipif(not HOSTILE.is_dir(), reason=f"the shared corpus is not at {HOSTILE}")
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("aes256_password_secret.pdf", "encrypted"),
        ("tika__protected_normal_case.docx", "encrypted"),
        ("tika__protect.xlsx", "encrypted"),
        ("tika__password.xls", "encrypted"),
        ("tika__testODTEncrypted.odt", "encrypted"),
        ("bomb_10GiB.docx", "archive_ratio"),
        ("bomb_1GiB.xlsx", "archive_ratio"),
        ("laughs.docx", "entities"),
        ("xxe.docx", "entities"),
        ("trunc_pdf.pdf", "broken"),
        ("trunc_xlsx.xlsx", "broken"),
        ("zero.docx", "empty"),
    ],
)
def test_hostile_documents_fail_with_their_name_the_cause_and_a_way_out(name: str, cause: str, tmp_path: Path) -> None:
    with pytest.raises(DigestError) as caught:
        DocToMarkdown().digest(source_of(HOSTILE / name, tmp_path))
    assert str(caught.value).startswith(f"{name}: ")
    assert cause in str(caught.value)
    assert ";" in str(caught.value)


@pytest.mark.skipif(not HOSTILE.is_dir(), reason=f"the shared corpus is not at {HOSTILE}")
@pytest.mark.parametrize("name", ["aes128_owner_only.pdf", "pdf_named.docx", "docx_named.pdf", "qpdf__bad10.pdf"])
def test_odd_documents_are_read_all_the_same(name: str, tmp_path: Path) -> None:
    (output,) = DocToMarkdown().digest(source_of(HOSTILE / name, tmp_path))
    assert output.content


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kreuzberg__ocr_test_rotated_90.pdf", "Docling bundles PDF document conversion to"),
        ("ocrmypdf__rotated_skew.pdf", "32 Track MIDI Sequence Recorder"),
    ],
)
def test_real_scans_are_read_however_they_lie(name: str, words: str, corpus: Path, tmp_path: Path) -> None:
    (output,) = DocToMarkdown().digest(source_of(corpus / "pdf" / name, tmp_path))
    assert output.content is not None
    assert words in output.content
    assert output.content.endswith("> note: page 1 was read from its picture")
