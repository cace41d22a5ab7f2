"""The properties that documents declare, read from real and from broken files."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest
from growth import grows_linearly

from chyme.digester import StaysHome
from chyme.documents.properties.pdf import FRONT_CHARS, MAX_ANNOTATIONS
from chyme.documents.properties.reader import Properties, properties_of
from chyme.files.extensions import DOCX, EML, EPUB, HTML, ODT, PDF, RTF
from chyme.model import File, Kind, Stamp, Upstream

CORE = """<?xml version="1.0"?><cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc" xmlns:dcterms="urn:dct">
<dc:title>Rental contract</dc:title><dc:creator>Ada Miller</dc:creator><cp:keywords>flat; rent</cp:keywords>
<dcterms:created>{created}</dcterms:created></cp:coreProperties>"""


@dataclass(frozen=True)
class OnDisk(StaysHome):
    """A file as a digester sees it."""

    path: Path
    file: File
    scratch: Path = Path("/nonexistent")

    def open(self) -> BinaryIO:
        return self.path.open("rb")

    def output(self, name: str) -> Upstream | None:
        return None

    def progress(self, fraction: float) -> None:
        raise AssertionError("this is too short to report progress")


def on_disk(path: Path, mime: str, kind: Kind = Kind.DOCUMENT) -> OnDisk:
    return OnDisk(path, File(1, path.name, path.name, kind, mime, Stamp("1", "1", path.stat().st_size, 0), "", 1))


def source_with(folder: Path, data: bytes, mime: str, kind: Kind = Kind.DOCUMENT) -> OnDisk:
    path = folder / "file"
    path.write_bytes(data)
    return on_disk(path, mime, kind)


def packed(**parts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml").replace("_opf", ".opf"), text)
    return buffer.getvalue()


def office(created: str = "2024-05-03T10:00:00Z") -> bytes:
    return packed(docProps__core_xml=CORE.format(created=created))


def test_an_office_document_declares_title_author_keywords_and_creation_date(tmp_path: Path) -> None:
    found = properties_of(source_with(tmp_path, office(), DOCX))

    assert (found.title, found.author, found.keywords) == ("Rental contract", "Ada Miller", ("flat", "rent"))
    assert found.created == "2024-05-03T10:00:00+00:00"


def test_the_creation_date_of_a_template_is_not_that_of_the_document(tmp_path: Path) -> None:
    assert properties_of(source_with(tmp_path, office("2013-12-23T23:15:00Z"), DOCX)).created is None


def test_an_opendocument_text_declares_its_properties(tmp_path: Path) -> None:
    meta = (
        '<d xmlns:dc="urn:dc" xmlns:m="urn:m"><dc:title>Brief</dc:title><dc:language>de-DE</dc:language>'
        "<m:creation-date>2020-01-02T03:04:05</m:creation-date><dc:date>2021-01-01</dc:date></d>"
    )
    found = properties_of(source_with(tmp_path, packed(meta_xml=meta), ODT))

    assert (found.title, found.language) == ("Brief", "de")
    assert (found.created, found.modified) == ("2020-01-02T03:04:05", "2021-01-01")


def test_a_book_is_read_by_way_of_its_container(tmp_path: Path) -> None:
    data = packed(
        **{"META-INF__container_xml": '<c><rootfile full-path="OPS/b.opf"/></c>'},
        OPS__b_opf='<package xmlns:dc="urn:dc"><metadata><dc:title>Alps</dc:title><dc:subject>Snow</dc:subject>'
        "<dc:subject>Ski</dc:subject></metadata></package>",
    )
    found = properties_of(source_with(tmp_path, data, EPUB))

    assert (found.title, found.keywords) == ("Alps", ("Snow", "Ski"))


def test_parts_that_declare_entities_are_not_read(tmp_path: Path) -> None:
    declared = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>'
    bomb = CORE.format(created="2024-05-03").replace('<?xml version="1.0"?>', declared)
    assert properties_of(source_with(tmp_path, packed(docProps__core_xml=bomb), DOCX)) == Properties()


def test_a_part_that_unpacks_to_very_much_is_not_read(tmp_path: Path) -> None:
    huge = CORE.format(created=" " * 3_000_000)
    assert properties_of(source_with(tmp_path, packed(docProps__core_xml=huge), DOCX)) == Properties()


def test_a_package_whose_list_is_very_long_has_no_properties_and_costs_no_memory(tmp_path: Path) -> None:
    """The length is declared only in a second place, as in very large packages."""
    whole = office()
    end = whole.rindex(b"PK\x05\x06")
    hole = 64 << 20
    second = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, hole, end)
    where = struct.pack("<4sLQL", b"PK\x06\x07", 0, end + hole, 1)
    source = source_with(tmp_path, whole[:end], DOCX)
    with source.path.open("r+b") as stream:
        stream.seek(end + hole)
        stream.write(second + where + whole[end:])
    tracemalloc.start()
    try:
        found = properties_of(on_disk(source.path, DOCX))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == Properties()
    assert peak < hole / 4


def test_a_part_that_claims_a_window_larger_than_memory_is_not_read(tmp_path: Path) -> None:
    """Runs in its own process, which may not use that much memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("docProps/core.xml", CORE.format(created="2024-05-03"))
    data = bytearray(buffer.getvalue())
    at = data.index(b"\x5d\x00\x00")  # the first of five bytes that say how it is packed
    data[at + 1 : at + 5] = b"\xff\xff\xff\xff"
    source = source_with(tmp_path, bytes(data), DOCX)
    code = (
        "import resource, sys; from chyme.documents.properties.office import office_properties\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "with open(sys.argv[1], 'rb') as stream:\n    print(office_properties(stream, 0).title == '')"
    )
    result = subprocess.run([sys.executable, "-c", code, source.path], capture_output=True, text=True, check=False)
    assert (result.stdout.strip(), result.stderr) == ("True", "")


def test_the_words_of_a_packet_are_found_and_a_hostile_one_costs_no_more_than_its_length(tmp_path: Path) -> None:
    def with_packet(packet: bytes) -> Properties:
        whole = blank_pdf() + b"<x:xmpmeta>" + packet + b"</x:xmpmeta>"
        return properties_of(source_with(tmp_path, whole, PDF))

    words = b"<dc:subject>\n<rdf:Bag><rdf:li>flat</rdf:li> <rdf:li>rent</rdf:li></rdf:Bag>\n</dc:subject>"
    assert with_packet(words).keywords == ("flat", "rent")

    def read(count: int) -> None:
        assert with_packet(b"<dc:subject><rdf:Bag>" * count).keywords == ()

    assert grows_linearly(read, 12_000)


def blank_pdf() -> bytes:
    import pypdfium2  # type: ignore[import-untyped]

    buffer = io.BytesIO()
    document = pypdfium2.PdfDocument.new()
    document.new_page(100, 100)
    document.save(buffer)
    document.close()
    return buffer.getvalue()


def test_a_pdf_declares_properties_in_its_dictionary_or_else_in_its_packet(tmp_path: Path) -> None:
    packet = (
        b"<x:xmpmeta><dc:title><rdf:Alt><rdf:li>Quarterly report</rdf:li></rdf:Alt></dc:title>"
        b"<xmp:CreateDate>2023-04-10T07:46:54Z</xmp:CreateDate></x:xmpmeta>\n"
    )
    found = properties_of(source_with(tmp_path, blank_pdf() + packet, PDF))

    assert found.title == "Quarterly report"
    assert found.created is not None and found.created.startswith("20")


def test_the_first_page_of_a_pdf_has_lines_with_sizes_and_nothing_from_its_margin(tmp_path: Path) -> None:
    content = (
        b"BT /F 24 Tf 1 0 0 1 60 700 Tm (Rules for the) Tj ET BT /F 24 Tf 1 0 0 1 60 670 Tm (Old Pier) Tj ET "
        b"BT /F 1 Tf 10 0 0 10 60 600 Tm (Nobody may fish from the old pier.) Tj ET "
        b"BT /F 30 Tf 0 1 -1 0 30 200 Tm (Printed along the margin) Tj ET"
    )
    found = properties_of(source_with(tmp_path, pdf_with(content), PDF)).front

    assert [line.text for line in found] == ["Rules for the", "Old Pier", "Nobody may fish from the old pier."]
    assert found[0].size == pytest.approx(found[1].size)
    assert found[0].size == pytest.approx(2.4 * found[2].size, rel=0.01)  # whether by the font or by the matrix
    assert found[0].top < found[1].top < found[2].top


def test_only_the_beginning_of_a_crowded_first_page_is_measured(tmp_path: Path) -> None:
    row = b"BT /F 10 Tf 1 0 0 1 60 %d Tm (" + b"word " * 20 + b") Tj ET "
    content = b"".join(row % (790 - number) for number in range(700))
    front = properties_of(source_with(tmp_path, pdf_with(content), PDF)).front
    assert 0 < sum(len(line.text) for line in front) <= FRONT_CHARS


def form_pdf(fields: int, catalog: bytes = b"/AcroForm<</Fields[]>>") -> bytes:
    field = b"<</Type/Annot/Subtype/Widget/FT/Tx/Rect[10 10 90 30]/T(a)>>"
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R" + catalog + b">>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 800 600]/Annots[" + field * fields + b"]>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF"
    )


def test_the_fields_of_a_form_and_wide_pages_are_counted(tmp_path: Path) -> None:
    found = properties_of(source_with(tmp_path, form_pdf(4), PDF))
    assert (found.fields, found.wide_pages) == (4, 1)
    plain = properties_of(source_with(tmp_path, form_pdf(4, b""), PDF))
    assert plain.fields == 0
    assert properties_of(source_with(tmp_path, pdf_with(b""), PDF)).wide_pages == 0


def test_no_more_fields_are_counted_than_a_form_has(tmp_path: Path) -> None:
    found = properties_of(source_with(tmp_path, form_pdf(5_000), PDF))
    assert found.fields == MAX_ANNOTATIONS


def pdf_with(content: bytes) -> bytes:
    """A PDF of one page, without a table of its objects: readers rebuild it."""
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F<</Type/Font"
        b"/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n4 0 obj<</Length %d>>stream\n"
        % len(content)
        + content
        + b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )


def test_a_mail_declares_subject_sender_and_date(tmp_path: Path) -> None:
    mail = (
        b"From: Ada Miller <ada@example.org>\nSubject: =?utf-8?b?TWlldGU=?=\nDate: Mon, 6 Jun 2005 22:21:22 +0200\n\nHi"
    )
    found = properties_of(source_with(tmp_path, mail, EML))

    assert (found.title, found.author, found.created) == ("Miete", "Ada Miller", "2005-06-06T22:21:22+02:00")


def test_a_web_page_declares_properties_in_its_head(tmp_path: Path) -> None:
    page = (
        b'<html lang="fr"><head><title>Le pain</title><meta name="description" content="Comment faire du pain.">'
        b"</head><body><p>x</p></body></html>"
    )
    found = properties_of(source_with(tmp_path, page, HTML))

    assert (found.title, found.description, found.language) == ("Le pain", "Comment faire du pain.", "fr")


def test_rtf_declares_properties_in_its_info_group(tmp_path: Path) -> None:
    data = rb"{\rtf1{\info{\title M\'fcnchen \u8364?}{\author Ada}{\creatim\yr2006\mo5\dy18}}Text}"
    found = properties_of(source_with(tmp_path, data, RTF))

    assert (found.title, found.author, found.created) == ("München €", "Ada", "2006-05-18")


@pytest.mark.parametrize("tags", ["[hiking, alps]", "\n  - hiking\n  - alps"])
def test_a_note_declares_properties_in_its_front_matter(tmp_path: Path, tags: str) -> None:
    text = f'---\ntitle: "A day: out"\ndate: 2024-05-03\ntags: {tags}\nauthor: Ada\n---\n# Other\n'
    found = properties_of(source_with(tmp_path, text.encode(), "text/markdown", Kind.TEXT))

    assert (found.title, found.author, found.created) == ("A day: out", "Ada", "2024-05-03")
    assert found.keywords == ("hiking", "alps")


def test_a_rule_at_the_top_is_no_front_matter(tmp_path: Path) -> None:
    text = b"---\ntitle: never closed\n" + b"more\n" * 10
    assert properties_of(source_with(tmp_path, text, "text/markdown", Kind.TEXT)) == Properties()


@pytest.mark.parametrize("mime", [PDF, DOCX, ODT, EPUB, HTML, EML, RTF])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff" * 500,
        b"PK\x03\x04",
        b"PK\x05\x06" + b"\xff" * 18,
        b"%PDF-1.4 %%EOF",
        b"{\\info" * 99,
        b"<" * 999,
    ],
)
def test_broken_input_has_no_properties_and_is_no_error(tmp_path: Path, mime: str, data: bytes) -> None:
    found = properties_of(source_with(tmp_path, data, mime))

    assert (found.title, found.created, found.keywords) == ("", None, ())


def test_our_own_samples_can_be_read() -> None:
    samples = Path(__file__).parents[1] / "samples"
    assert properties_of(on_disk(samples / "story.epub", EPUB)).title
    assert properties_of(on_disk(samples / "mail.eml", EML)).title
