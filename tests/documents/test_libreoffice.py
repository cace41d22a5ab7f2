"""The real LibreOffice: it draws, it stays warm, and it cannot use the network, other files or macros."""

from __future__ import annotations

import io
import os
import signal
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.libreoffice.installation import VERSION_FILE, office_program
from chyme.documents.libreoffice.process import Office, OfficeFailed
from chyme.documents.pages.first_page import render_first_page
from chyme.documents.pages.limits import PageLimits
from chyme.documents.pages.pdf_page import render_first_pdf_page
from chyme.files.extensions import DOCX, ODT

PROGRAM = office_program("auto")
SAMPLES = Path(__file__).resolve().parents[1] / "samples"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
LIBRARY = "http://openoffice.org/2000"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None,
        reason="LibreOffice is not installed (Debian: apt-get install --no-install-recommends "
        "libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui)",
    ),
]


@pytest.fixture(scope="module")  # one for many documents, as in chyme; a start takes longer than every conversion here
def office() -> Iterator[Office]:
    assert PROGRAM is not None
    made = Office(PROGRAM, PageLimits())
    yield made
    made.close()


def packed(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_picture_from(address: str) -> bytes:
    """A Word document that shows a picture stored elsewhere."""
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
            f'PartName="/word/document.xml" ContentType="{DOCX}.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
            f'Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
            f'Type="{OFFICE}/image" Target="{address}" TargetMode="External"/></Relationships>',
            "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
            f'xmlns:r="{OFFICE}" xmlns:wp="{DRAWING}/wordprocessingDrawing" xmlns:a="{DRAWING}/main" '
            f'xmlns:pic="{DRAWING}/picture"><w:body><w:p><w:r><w:t>Look here</w:t></w:r></w:p><w:p><w:r><w:drawing>'
            '<wp:inline><wp:extent cx="914400" cy="914400"/><wp:docPr id="1" name="x"/><a:graphic>'
            f'<a:graphicData uri="{DRAWING}/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="x"/><pic:cNvPicPr/>'
            '</pic:nvPicPr><pic:blipFill><a:blip r:link="rId1"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill>'
            '<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="914400" cy="914400"/></a:xfrm><a:prstGeom prst="rect">'
            "<a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
            "</w:p></w:body></w:document>",
        }
    )


def with_macro(mark: Path) -> bytes:
    """A text that, once opened, would write a file."""
    code = f"Sub Main\nOpen &quot;{mark}&quot; For Output As #1\nPrint #1, 1\nClose #1\nEnd Sub\n"
    call = "vnd.sun.star.script:Standard.Module1.Main?language=Basic&amp;location=document"
    parts = {
        "mimetype": ODT,
        "content.xml": f'<office:document-content xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" '
        f'xmlns:script="{ODF}:script:1.0" xmlns:ooo="http://openoffice.org/2004/office" '
        'xmlns:dom="http://www.w3.org/2001/xml-events" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'office:version="1.2"><office:scripts><office:event-listeners><script:event-listener '
        f'script:language="ooo:script" script:event-name="dom:load" xlink:href="{call}" xlink:type="simple"/>'
        "</office:event-listeners></office:scripts><office:body><office:text><text:p>Hello</text:p></office:text>"
        "</office:body></office:document-content>",
        "Basic/script-lc.xml": f'<library:libraries xmlns:library="{LIBRARY}/library"><library:library '
        'library:name="Standard" library:link="false"/></library:libraries>',
        "Basic/Standard/script-lb.xml": f'<library:library xmlns:library="{LIBRARY}/library" library:name="Standard" '
        'library:readonly="false"><library:element library:name="Module1"/></library:library>',
        "Basic/Standard/Module1.xml": f'<script:module xmlns:script="{LIBRARY}/script" script:name="Module1" '
        f'script:language="StarBasic">{code}</script:module>',
    }
    entries = "".join(
        f'<m:file-entry m:full-path="{part}" m:media-type="text/xml"/>' for part in parts if part != "mimetype"
    )
    manifest = (
        f'<m:manifest xmlns:m="{ODF}:manifest:1.0" m:version="1.2"><m:file-entry m:full-path="/" m:version="1.2" '
        f'm:media-type="{ODT}"/>{entries}</m:manifest>'
    )
    return packed({**parts, "META-INF/manifest.xml": manifest})


def test_office_documents_become_pdf_one_after_the_other_in_the_same_process(office: Office) -> None:
    pids: set[int | None] = set()
    for name, count in (("minutes.docx", 1), ("budget.xlsx", 2), ("letter.odt", 1), ("letter.rtf", 1)):
        made = office.convert_to_pdf((SAMPLES / name).read_bytes(), name.rpartition(".")[2])
        image, pages, note = render_first_pdf_page(name, made, PageLimits())
        assert (pages, note) == (count, None), name
        assert max(image.size) == 1599
        darkest, _ = image.convert("L").getextrema()
        assert isinstance(darkest, int)
        assert darkest < 100, name
        pids.add(office.pid)
    assert len(pids) == 1


def test_it_starts_only_once_although_its_profile_is_new(tmp_path: Path) -> None:
    assert PROGRAM is not None
    tmp_path.chmod(0o755)
    program, starts = tmp_path / PROGRAM.name, tmp_path / "starts"
    program.write_text(f'#!/bin/sh\necho started >> "{starts}"\nexec "{PROGRAM}" "$@"\n')
    program.chmod(0o755)
    (tmp_path / VERSION_FILE).symlink_to(PROGRAM.parent / VERSION_FILE)
    office = Office(program, PageLimits())
    try:
        assert office.convert_to_pdf((SAMPLES / "letter.odt").read_bytes(), "odt").startswith(b"%PDF")
    finally:
        office.close()
    assert starts.read_text() == "started\n"


def test_a_linked_picture_is_not_fetched_although_the_network_is_there(office: Office) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/seen.png"
        assert office.convert_to_pdf(with_picture_from(address), "docx").startswith(b"%PDF")
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_linked_picture_is_not_taken_from_this_machine(office: Office) -> None:
    made = office.convert_to_pdf(with_picture_from((SAMPLES / "dot.png").as_uri()), "docx")
    assert b"/Subtype/Image" not in made


def test_macros_do_not_run(office: Office, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    mark = tmp_path / "ran"
    assert office.convert_to_pdf(with_macro(mark), "odt").startswith(b"%PDF")
    assert not mark.exists()


def test_a_process_that_was_killed_is_replaced(office: Office) -> None:
    document = (SAMPLES / "letter.odt").read_bytes()
    office.convert_to_pdf(document, "odt")
    assert office.pid is not None
    killed = office.pid
    os.kill(killed, signal.SIGKILL)
    time.sleep(0.2)
    assert office.convert_to_pdf(document, "odt").startswith(b"%PDF")
    assert office.pid != killed


def test_a_document_libreoffice_cannot_read_is_reported_and_the_next_is_converted(office: Office) -> None:
    with pytest.raises(OfficeFailed, match="could not read it"):
        office.convert_to_pdf(packed({"word/document.xml": "<nothing/>"}), "docx")
    assert office.convert_to_pdf((SAMPLES / "letter.odt").read_bytes(), "odt").startswith(b"%PDF")


def test_out_of_time_the_text_is_drawn_and_the_note_says_why() -> None:
    limits = PageLimits(office_seconds=0.001)
    page = render_first_page("letter.odt", (SAMPLES / "letter.odt").read_bytes(), ODT, limits, ConversionLimits())
    assert (page.rendered, page.note) == ("text", "LibreOffice took longer than 0.001 seconds")
