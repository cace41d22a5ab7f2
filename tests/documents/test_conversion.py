"""Documents become markdown with all their words, and dangerous ones are refused."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from chyme.documents.conversion.comments_and_charts import format_numbers
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    build_unpaged_result,
    compact_tables,
    headings_in,
    join_pages,
    places_in,
)
from chyme.documents.conversion.scanned_pages import Scan, ScanReader
from chyme.errors import EngineUnavailable, LimitReached, UnreadableFile
from chyme.files.container_formats import OLE_MARK
from chyme.files.extensions import DOCUMENTS
from chyme.model import Place
from chyme.text.display import format_ranges

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
ENTITIES = '<?xml version="1.0"?>{pad}<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'


def converted(sample: str, limits: ConversionLimits | None = None) -> ConversionResult:
    return of_bytes(sample, (SAMPLES / sample).read_bytes(), limits)


def of_bytes(name: str, data: bytes, limits: ConversionLimits | None = None) -> ConversionResult:
    return convert(name, data, DOCUMENTS[name.rpartition(".")[2]], limits or ConversionLimits())


def with_part(sample: str, part: str, content: bytes) -> bytes:
    """The sample with one of its parts replaced or added."""
    return with_parts(sample, {part: content})


def with_parts(sample: str, parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(SAMPLES / sample) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename not in parts:
                new.writestr(entry, old.read(entry))
        for part, content in parts.items():
            new.writestr(part, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("contract.pdf", ["lighthouse", "three hundred crowns", "Pets other than gulls"]),
        (
            "minutes.docx",
            ["# Meeting minutes", "boathouse", "turpentine", "Ada Winter: I have two cans of varnish left."],
        ),
        ("budget.xlsx", ["## Income", "| Regatta | 1250 |", "## Costs", "96.5"]),
        ("filtered.xlsx", ["Alder", "Birch", "Cedar"]),
        ("slides.pptx", ["## Season review", "Nine regattas", "Thank the pilots first.", "A new jetty"]),
        ("letter.odt", ["# To the harbour master", "buoy"]),
        ("story.epub", ["# Dawn", "left early", "# Dusk", "came back empty"]),
        ("letter.rtf", ["Dear neighbour", "grows über the wall"]),
        ("page.html", ["# Harbour notes", "noon", "Monday", "3.4 m"]),
        (
            "mail.eml",
            ["**From:** Jürgen Brandt", "Rechnung für die Fenster", "Thursday. Schöne Grüße", "- invoice.pdf"],
        ),
    ],
)
def test_samples_keep_their_words(sample: str, words: list[str]) -> None:
    markdown = converted(sample).markdown
    assert [word for word in words if word not in markdown] == []
    assert "navy" not in markdown


@pytest.mark.parametrize(
    ("sample", "word", "page", "heading"),
    [
        ("contract.pdf", "lighthouse", 1, "Rental contract"),
        ("contract.pdf", "gulls", 2, "Second page"),
        ("contract.pdf", "harbour office", 3, "Third page"),
        ("slides.pptx", "Thank the pilots", 1, "Season review"),
        ("slides.pptx", "new jetty", 2, "Next season"),
        ("minutes.docx", "turpentine", None, "Open points"),
        ("budget.xlsx", "Varnish", None, "Costs"),
        ("story.epub", "empty", None, "Dusk"),
    ],
)
def test_a_word_leads_to_its_page_and_heading(sample: str, word: str, page: int | None, heading: str) -> None:
    found = converted(sample)
    at = found.markdown.index(word)
    place = next(place for place in found.places if place.start <= at < place.end)
    assert (place.page, place.heading) == (page, heading)


def test_places_cover_the_text_without_overlap() -> None:
    found = converted("contract.pdf")
    assert found.places[0].start == 0
    assert found.places[-1].end == len(found.markdown)
    assert all(before.end == after.start for before, after in zip(found.places, found.places[1:], strict=False))


def test_a_heading_reaches_over_the_page_that_follows() -> None:
    found = join_pages([(1, "# One\n\nword"), (2, "more"), (3, ""), (4, "# Two")])
    assert [(place.page, place.heading) for place in found.places] == [(1, "One"), (2, "One"), (4, "Two")]


def test_hashes_inside_code_are_no_headings() -> None:
    text = "# Real **one**\n\n```sh\n# comment\n```\n\n## [Linked](http://x)\n"
    assert [title for _, title in headings_in(text)] == ["Real one", "Linked"]
    assert places_in("") == ()


def test_without_a_reader_of_scans_pages_that_have_no_text_layer_are_named() -> None:
    assert converted("half_scanned.pdf").notes == ("pages 2–3 have no text layer",)
    assert converted("scanned.pdf").markdown == ""
    assert format_ranges([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"


class ATypist:
    """Returns these texts for scanned pages, and remembers which pages it was given."""

    def __init__(self, *texts: str, unread: int = 0) -> None:
        self.texts = dict(enumerate(texts, 1))
        self.unread = unread
        self.given: list[int] = []

    def __call__(self, number: int, draw: Callable[[], Image.Image]) -> Scan:
        assert max(draw().size) == 2300
        self.given.append(number)
        text = self.texts.get(number, "")
        lines = (Place(0, len(text), box=(0.1, 0.2, 0.9, 0.3)),) if text else ()
        return Scan(text, lines, self.unread, "Latin letters")


def scanned(
    typist: ScanReader, limits: ConversionLimits | None = None, sample: str = "half_scanned.pdf"
) -> ConversionResult:
    data = (SAMPLES / sample).read_bytes()
    return convert(sample, data, DOCUMENTS["pdf"], limits or ConversionLimits(), scans=typist)


def test_only_pages_without_a_text_layer_are_read_from_their_pictures() -> None:
    typist = ATypist("never asked for", "# Second sheet", "")
    found = scanned(typist)
    assert typist.given == [2, 3]
    assert found.markdown == "Only this page can be read.\n\n# Second sheet"
    assert found.notes == ("page 2 was read from its picture", "no words were found in the picture on page 3")


def test_lines_of_a_scanned_page_have_their_box_and_the_page_its_number() -> None:
    found = scanned(ATypist("", "second", "third"))
    pages = [(found.markdown[place.start : place.end], place.page) for place in found.places if place.page]
    assert pages == [("Only this page can be read.\n\n", 1), ("second\n\n", 2), ("third", 3)]
    boxes = [(found.markdown[place.start : place.end], place.box) for place in found.places if place.box]
    assert boxes == [("second", (0.1, 0.2, 0.9, 0.3)), ("third", (0.1, 0.2, 0.9, 0.3))]


def test_the_limit_of_scanned_pages_is_noted() -> None:
    typist = ATypist("one", "two", "three")
    found = scanned(typist, ConversionLimits(ocr_pages=1), "scanned.pdf")
    assert typist.given == [1]
    assert found.notes == (
        "page 1 was read from its picture",
        "first 1 of 2 scanned pages read (limit ocr_pages)",
    )


def test_without_an_engine_the_document_is_read_as_far_as_it_goes_and_the_reason_is_noted() -> None:
    def missing(number: int, draw: Callable[[], Image.Image]) -> Scan:
        raise EngineUnavailable("rapidocr is not installed; pip install rapidocr")

    found = scanned(missing)
    assert found.markdown == "Only this page can be read."
    assert found.notes == (
        "pages 2–3 have no text layer and cannot be read: rapidocr is not installed; pip install rapidocr",
    )


def test_unknown_writing_is_noted_even_if_there_is_nothing_else() -> None:
    found = scanned(ATypist(unread=7), sample="scanned.pdf")
    assert found.markdown == ""
    assert found.has_unreadable_text
    assert found.notes[-1] == "14 regions look like writing but could not be read (the reader knows Latin letters)"
    assert not scanned(ATypist(), sample="scanned.pdf").has_unreadable_text


def test_a_stamp_on_a_scan_is_no_text_layer_but_a_caption_beside_a_small_picture_is() -> None:
    scan = (SAMPLES / "pages" / "three_scans.pdf").read_bytes()
    font = b"/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> "
    stamped = scan.replace(b"/Resources << ", font)
    whole, small = (
        stamped.replace(b"q 595 0 0 842 0 0 cm /Scan Do Q", b"q %s cm /Scan Do Q BT /F 9 Tf 9 9 Td (Page 1) Tj ET" % at)
        for at in (b"595 0 0 842 0 0", b"99 0 0 99 0 0")
    )
    typist = ATypist("from one", "from two", "")
    read = convert("a.pdf", whole, DOCUMENTS["pdf"], ConversionLimits(), scans=typist)
    assert typist.given == [1, 2, 3]
    assert read.markdown == "from one\n\nfrom two\n\nPage 1"
    convert("a.pdf", small, DOCUMENTS["pdf"], ConversionLimits(), scans=typist)
    assert typist.given == [1, 2, 3]


def test_pages_beyond_the_limit_are_left_out_and_noted() -> None:
    found = converted("contract.pdf", ConversionLimits(pdf_pages=2))
    assert "gulls" in found.markdown
    assert "harbour office" not in found.markdown
    assert found.notes == ("first 2 of 3 pages read (limit pdf_pages)",)


def test_a_pdf_after_rubbish_is_read_all_the_same() -> None:
    assert "gulls" in of_bytes("late.pdf", b"rubbish\n" + (SAMPLES / "contract.pdf").read_bytes()).markdown


CHART = """<c:chart xmlns:c="c" xmlns:a="a"><c:title><a:t>Boats by year</a:t></c:title><c:ser>
<c:tx><c:v>Dinghies</c:v></c:tx><c:cat><c:pt><c:v>2023</c:v></c:pt><c:pt><c:v>2024</c:v></c:pt></c:cat>
<c:val><c:pt><c:v>17</c:v></c:pt><c:pt><c:v>23</c:v></c:pt></c:val></c:ser></c:chart>"""
ODF_CHART = """<o:d xmlns:o="o" xmlns:chart="c" xmlns:table="t"><chart:chart><chart:title>Depths</chart:title>
<table:table-row><table:table-cell>Mole</table:table-cell><table:table-cell>4.2</table:table-cell></table:table-row>
</chart:chart></o:d>"""


@pytest.mark.parametrize(
    ("sample", "part", "chart", "words"),
    [
        ("minutes.docx", "word/charts/chart1.xml", CHART, ["Boats by year", "|  | Dinghies |", "| 2024 | 23 |"]),
        ("slides.pptx", "ppt/charts/chart1.xml", CHART, ["Boats by year", "| 2023 | 17 |"]),
        ("letter.odt", "Object 1/content.xml", ODF_CHART, ["Depths", "| Mole | 4.2 |"]),
    ],
)
def test_words_that_only_a_chart_shows_are_kept(sample: str, part: str, chart: str, words: list[str]) -> None:
    found = of_bytes(sample, with_part(sample, part, chart.encode()))
    assert [word for word in words if word not in found.markdown] == []


def test_a_chart_that_repeats_the_text_is_left_out() -> None:
    chart = CHART.replace("Boats by year", "Rope").replace("Dinghies", "Varnish")
    for figure, known in (("2023", "96.5"), ("2024", "41"), ("17", "1250"), ("23", "480")):
        chart = chart.replace(f">{figure}<", f">{known}<")
    plain = converted("budget.xlsx").markdown
    assert of_bytes("budget.xlsx", with_part("budget.xlsx", "xl/charts/chart1.xml", chart.encode())).markdown == plain


def test_figures_are_kept_as_their_program_shows_them() -> None:
    chart = CHART.replace(">17<", ">4.4000000000000004<").replace(">23<", ">0.29999999999999999<")
    found = of_bytes("slides.pptx", with_part("slides.pptx", "ppt/charts/chart1.xml", chart.encode()))
    assert "| 2023 | 4.4 |" in found.markdown
    assert "| 2024 | 0.3 |" in found.markdown
    written = "v1.2.30000000000000004 3.14159265358979323 1.00000000000000004x 10000000000000004 9.95"
    assert format_numbers(written) == written
    assert format_numbers("(-2.2000000000000002, 8.0000000000000004)") == "(-2.2, 8)"


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(f'<w:r>{run}</w:r>' for run in runs)}</w:p>"


def words(text: str) -> str:
    return f'<w:t xml:space="preserve">{text}</w:t>'


def drawing(description: str, drawn: str) -> str:
    return (
        f'<w:drawing><wp:inline><wp:docPr id="1" name="p" descr="{description}"/>'
        f"<a:graphic><a:graphicData>{drawn}</a:graphicData></a:graphic></wp:inline></w:drawing>"
    )


def of_paragraphs(*paragraphs: str) -> str:
    """The markdown of a Word document with these paragraphs."""
    spaces = "".join(
        f' xmlns:{prefix}="http://schemas.openxmlformats.org/{path}/2006/{last}"'
        for prefix, path, last in (
            ("w", "wordprocessingml", "main"),
            ("wp", "drawingml", "wordprocessingDrawing"),
            ("a", "drawingml", "main"),
            ("pic", "drawingml", "picture"),
            ("r", "officeDocument", "relationships"),
        )
    )
    document = f"<w:document{spaces}><w:body>{''.join(paragraphs)}</w:body></w:document>"
    parts = {
        "word/document.xml": document.encode(),
        "word/comments.xml": b"<none/>",
        "word/_rels/document.xml.rels": LINK,
    }
    return of_bytes("a.docx", with_parts("minutes.docx", parts)).markdown


LINK = (
    b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId9" '
    b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
    b'Target="https://example.org/gull.png" TargetMode="External"/></Relationships>'
)
PICTURE = "<pic:pic/>"
TEXT_BOX = (
    '<wps:wsp xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:txbx>'
    f"<w:txbxContent>{paragraph(words('Ropes'))}</w:txbxContent></wps:txbx></wps:wsp>"
)
LINKED_PICTURE = '<pic:pic><pic:blipFill><a:blip r:link="rId9"/></pic:blipFill></pic:pic>'


def test_the_description_of_a_picture_is_marked_as_a_picture() -> None:
    found = of_paragraphs(
        paragraph(words("Before")),
        paragraph(drawing("A gull &amp; a_mast&#10;&#10;in fog", PICTURE)),
        paragraph(words("A gull &amp; a_mast in fog")),
    )
    first, picture, caption = found.split("\n\n")
    assert first == "Before"
    assert " ".join(picture.replace("\\", "").split()) == "![A gull & a_mast in fog]()"
    assert caption.replace("\\", "") == "A gull & a_mast in fog"


@pytest.mark.parametrize(
    ("drawn", "lines"),
    [(TEXT_BOX, ["Ropes", "Ropes"]), (LINKED_PICTURE, ["![Ropes](https://example.org/gull.png)", "Ropes"])],
)
def test_a_caption_that_repeats_a_description_stays_text(drawn: str, lines: list[str]) -> None:
    assert of_paragraphs(paragraph(drawing("Ropes", drawn)), paragraph(words("Ropes"))).split("\n\n") == lines


def test_tick_boxes_are_written_as_markdown_writes_them() -> None:
    found = of_paragraphs(*(paragraph(words(text)) for text in ("☒ Sails", "☐Oars", "☑ Ropes", "Yes ☒ (all) no ☐ yet")))
    assert found.split("\n\n") == ["- [x] Sails", "- [ ] Oars", "- [x] Ropes", "Yes [x] (all) no [ ] yet"]


def of_lists(*lists: str) -> str:
    """The markdown of an OpenDocument text whose list styles I, a and B count by Roman numbers, letters or not."""
    space = "urn:oasis:names:tc:opendocument:xmlns:"
    numbers = "".join(
        f'<text:list-style style:name="{name}">'
        + "".join(
            f'<text:list-level-style-number text:level="{level}" style:num-format="{name}" style:num-suffix="."/>'
            for level in (1, 2, 3)
        )
        + "</text:list-style>"
        for name in ("I", "a")
    )
    bullets = (
        '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/>'
        "</text:list-style>"
    )
    content = (
        f'<office:document-content xmlns:office="{space}office:1.0" xmlns:text="{space}text:1.0" '
        f'xmlns:style="{space}style:1.0" office:version="1.2"><office:automatic-styles>{numbers}{bullets}'
        f"</office:automatic-styles><office:body><office:text>{''.join(lists)}</office:text></office:body>"
        "</office:document-content>"
    )
    return of_bytes("a.odt", with_part("letter.odt", "content.xml", content.encode())).markdown


def listed(style: str, *items: str) -> str:
    inner = "".join(f"<text:list-item>{item}</text:list-item>" for item in items)
    return f'<text:list text:style-name="{style}">{inner}</text:list>'


def para(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def test_lists_of_letters_and_roman_numbers_become_numbered_lists_that_nest() -> None:
    deep = listed("I", *(para(f"Rope {n}") for n in range(1, 5)))
    found = of_lists(listed("I", para("Sails"), para("Masts") + listed("a", para("Oak"), para("Pine") + deep)))
    assert [line for line in found.split("\n") if line] == [
        "1. Sails",
        "2. Masts",
        "   1. Oak",
        "   2. Pine",
        "      1. Rope 1",
        "      2. Rope 2",
        "      3. Rope 3",
        "      4. Rope 4",
    ]


def test_bullets_that_begin_like_numbers_stay_bullets() -> None:
    found = of_lists(listed("B", para("I. Newton"), para("C. Huygens")), para("and"), listed("a", para("J. Cook")))
    assert [line for line in found.split("\n") if line] == ["- I. Newton", "- C. Huygens", "and", "1. J. Cook"]


def test_a_list_that_markdown_would_count_on_from_the_one_before_keeps_its_letters() -> None:
    found = of_lists(listed("I", para("Port"), para("Bow")), listed("a", para("Stern"), para("Keel")))
    assert [line for line in found.split("\n") if line] == ["1. Port", "2. Bow", "- a. Stern", "- b. Keel"]


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.odt", "a.eml", "a.html"])
def test_an_empty_document_is_said_to_be_empty(name: str) -> None:
    with pytest.raises(UnreadableFile, match=rf"{name}: file is empty \(0 bytes\)"):
        of_bytes(name, b"")


@pytest.mark.parametrize(
    "sample", ["contract.pdf", "minutes.docx", "budget.xlsx", "slides.pptx", "letter.odt", "story.epub"]
)
def test_half_a_file_is_reported_as_broken(sample: str) -> None:
    data = (SAMPLES / sample).read_bytes()
    with pytest.raises(UnreadableFile, match=rf"{sample}: .* is broken or incomplete.*; open it"):
        of_bytes(sample, data[:150] if sample.endswith("pdf") else data[: len(data) // 2])


def test_a_file_beyond_the_size_limit_is_refused_by_the_name_of_the_setting() -> None:
    with pytest.raises(LimitReached, match=r"contract\.pdf: .*document_bytes"):
        converted("contract.pdf", ConversionLimits(document_bytes=1000))


@pytest.mark.parametrize("sample", ["minutes.docx", "budget.xlsx", "slides.pptx", "letter.odt", "story.epub"])
def test_a_bomb_is_refused_before_any_reader_sees_it(sample: str) -> None:
    bomb = with_part(sample, "filler.xml", b"<x>" + b" " * 70_000_000 + b"</x>")
    with pytest.raises(LimitReached, match=r"100 times its size.*archive_ratio"):
        of_bytes(sample, bomb)


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    data = bytearray(with_part("minutes.docx", "word/document.xml", b"<x>" + b" " * 70_000_000 + b"</x>"))
    true_size = struct.pack("<I", 70_000_007)
    assert data.count(true_size) == 2
    with pytest.raises(LimitReached, match="archive_ratio"):
        of_bytes("minutes.docx", bytes(data).replace(true_size, struct.pack("<I", 900)))


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(LimitReached, match=r"holds \d+ entries, more than 3; raise archive_entries"):
        converted("minutes.docx", ConversionLimits(archive_entries=3))


@pytest.mark.parametrize(
    ("sample", "part"),
    [
        ("minutes.docx", "word/document.xml"),
        ("budget.xlsx", "xl/worksheets/sheet1.xml"),
        ("slides.pptx", "ppt/slides/slide1.xml"),
        ("letter.odt", "content.xml"),
        ("story.epub", "c1.xhtml"),
        ("minutes.docx", "_rels/.rels"),
    ],
)
@pytest.mark.parametrize("pad", ["", "<!-- <x -->", "<!--" + "x" * 400_000 + "-->"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_entities_are_refused_wherever_they_hide(sample: str, part: str, pad: str, encoding: str) -> None:
    with pytest.raises(UnreadableFile, match=f"{part} declares XML entities"):
        of_bytes(sample, with_part(sample, part, ENTITIES.format(pad=pad).encode(encoding)))


def test_a_document_type_is_refused_in_office_files_and_usual_in_books() -> None:
    plain = b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd"><html><body><p>kept</p></body></html>'
    for beginning in (b"", b"<!-- <x -->", b"<?pi <x ?>"):
        with pytest.raises(UnreadableFile, match="declares XML entities"):
            of_bytes("minutes.docx", with_part("minutes.docx", "word/document.xml", beginning + plain))
    assert "kept" in of_bytes("story.epub", with_part("story.epub", "c1.xhtml", plain)).markdown


def test_an_encrypted_office_file_says_so_and_what_to_do() -> None:
    header = bytearray(OLE_MARK + bytes(504))
    struct.pack_into("<HHHHH", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<I", header, 48, 0)
    struct.pack_into("<109I", header, 76, *([0xFFFFFFFF] * 109))
    root, stream = bytearray(128), bytearray(128)
    struct.pack_into("<I", root, 76, 1)
    name = "EncryptedPackage".encode("utf-16-le")
    stream[: len(name)] = name
    struct.pack_into("<HBBIII", stream, 64, len(name) + 2, 2, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    with pytest.raises(UnreadableFile, match=r"^plan\.docx: Word document is encrypted; save a copy without password$"):
        of_bytes("plan.docx", bytes(header + root + stream + bytes(256)))


def test_an_encrypted_zip_entry_says_so() -> None:
    data = bytearray((SAMPLES / "letter.odt").read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 4)
    with pytest.raises(UnreadableFile, match=r"letter\.odt: OpenDocument text is encrypted"):
        of_bytes("letter.odt", bytes(data))


def test_a_page_with_navigation_yields_its_article() -> None:
    links = "".join(f'<li><a href="/{n}">Menu entry {n}</a></li>' for n in range(40))
    prose = "".join(f"<p>The keeper wrote sentence {n} of the long report about the sea.</p>" for n in range(30))
    found = of_bytes(
        "a.html",
        f"<html><body><div id='sidebar'><ul>{links}</ul></div><article>{prose}</article></body></html>".encode(),
    )
    assert "sentence 29" in found.markdown
    assert "Menu entry" not in found.markdown


def test_a_page_nested_beyond_measure_still_yields_its_words() -> None:
    page = (
        "<html><body>" + "<div>" * 50_000 + "<script>alert(1)</script>deep words" + "</div>" * 50_000 + "</body></html>"
    )
    assert of_bytes("deep.html", page.encode()).markdown == "deep words"


def test_a_page_in_a_legacy_encoding_is_read_by_its_own_declaration() -> None:
    page = '<html><head><meta charset="windows-1251"></head><body><p>Привет, мир</p></body></html>'
    assert of_bytes("a.html", page.encode("cp1251")).markdown == "Привет, мир"


def test_a_mail_inside_a_mail_is_read_too_and_endless_nesting_is_refused() -> None:
    inner = b"From: inner@example.org\nSubject: inside\n\nhidden harbour\n"
    outer = (
        b'MIME-Version: 1.0\nFrom: o@example.org\nContent-Type: multipart/mixed; boundary="b"\n\n'
        b"--b\nContent-Type: message/rfc822\n\n"
    )
    assert "hidden harbour" in of_bytes("a.eml", outer + inner + b"\n--b--\n").markdown
    deep = b"Subject: x\n\nend"
    for _ in range(150):
        deep = b"Subject: x\nContent-Type: message/rfc822\n\n" + deep
    with pytest.raises(LimitReached, match=r"a\.eml: .*raise nesting"):
        of_bytes("a.eml", deep)


def test_the_richer_body_of_a_mail_is_taken() -> None:
    mail = (
        b'Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="b"\n\n'
        b"--b\nContent-Type: text/plain\n\nOpen in a browser.\n"
        b"--b\nContent-Type: text/html\n\n<p>"
        + b"The boat sails at nine from the northern quay. " * 5
        + b"</p>\n--b--\n"
    )
    assert "northern quay" in of_bytes("a.eml", mail).markdown


def test_a_text_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    page = "<html><body>" + "".join(f"<p>paragraph {n} of many</p>" for n in range(1000)) + "</body></html>"
    whole = convert("long.html", page.encode(), "text/html", ConversionLimits())
    part = convert("long.html", page.encode(), "text/html", ConversionLimits(text_chars=2000))

    assert 1000 <= len(part.markdown) <= 2000
    assert whole.markdown.startswith(part.markdown) and part.markdown.endswith("of many")
    assert all(place.end <= 2000 for place in part.places)
    assert "raise text_chars" in part.notes[-1]


def test_tables_are_not_padded_to_equal_width() -> None:
    table = "| a    | b       |\n| ---- | ------- |\n| c    | d  e    |\n\ntext   |   as    it was"
    assert compact_tables(table) == "| a | b |\n| --- | --- |\n| c | d e |\n\ntext   |   as    it was"
    assert len(compact_tables("| " + " " * 5_000_000 + "x |")) == 5


def test_endless_runs_of_letters_are_cut_and_noted() -> None:
    found = build_unpaged_result("before " + "A" * 50_000 + " after " + "漢字" * 2_000)
    assert found.markdown == "before " + "A" * 200 + "… after " + "漢字" * 2_000
    assert found.notes == ("runs of more than 1,000 letters without a space are cut: 1",)
    paged = join_pages([(1, "one"), (2, "B" * 5_000), (3, "three")])
    assert [place.page for place in paged.places] == [1, 2, 3] and paged.notes == found.notes
    assert paged.markdown[paged.places[2].start :] == "three"
