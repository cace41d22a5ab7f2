"""A PDF with scripts in a real browser: no script runs on our address, and people can still read and save the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect
from visiting import House, served

pytestmark = pytest.mark.slow

JAVASCRIPT = "app.alert('from the PDF'); app.launchURL('http://127.0.0.1:9/', true); this.submitForm('/api/links');"
LOOK = 3_000  # milliseconds: far longer than Chromium took to open the dialog when it displayed the PDF
OPENERS = {
    "iframe": "frame.src = address",
    "embed": "frame.type = 'application/pdf'; frame.src = address",
    "object": "frame.type = 'application/pdf'; frame.data = address",
}


def scripted_pdf() -> bytes:
    """A PDF page with a line of text, and a script that runs when the document is opened."""
    text = b"BT /F1 24 Tf 20 150 Td (Harbour letter) Tj ET"
    font = b"<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (%s) >> >>" % JAVASCRIPT.encode(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font %s >> >>" % font,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
    ]
    out, offsets = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    ends = (len(objects) + 1, table, len(objects) + 1, len(out))
    return (
        out + b"xref\n0 %d\n0000000000 65535 f \n%btrailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % ends
    )


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("scripted")
    with served(folder, lambda chyme: chyme.drop("harbour.pdf", scripted_pdf())) as house:
        house.settled()
        yield house


@pytest.fixture
def dialogs(page: Page) -> list[str]:
    """The messages of every dialog that opens on the page."""
    seen: list[str] = []

    def dismiss(dialog: object) -> None:
        seen.append(dialog.message)  # type: ignore[attr-defined]
        dialog.dismiss()  # type: ignore[attr-defined]

    page.on("dialog", dismiss)
    return seen


def test_a_pdf_opened_by_its_address_is_saved_and_runs_nothing(house: House, page: Page, dialogs: list[str]) -> None:
    page.goto(house.base)
    with page.expect_download() as saved, pytest.raises(Error, match="Download is starting"):
        page.goto(f"{house.base}/api/raw/harbour.pdf")
    assert Path(saved.value.path()).read_bytes() == scripted_pdf()
    page.wait_for_timeout(LOOK)
    assert dialogs == []


@pytest.mark.parametrize("element", OPENERS)
def test_a_pdf_inside_our_page_runs_nothing(house: House, page: Page, dialogs: list[str], element: str) -> None:
    page.expected_errors = ["Content Security Policy", "frame"]  # type: ignore[attr-defined]
    page.goto(house.base)
    page.evaluate(
        f"""address => {{
            const frame = document.createElement("{element}");
            {OPENERS[element]};
            document.body.append(frame);
        }}""",
        "/api/raw/harbour.pdf",
    )
    page.wait_for_timeout(LOOK)
    assert dialogs == []


def test_its_page_is_read_as_a_picture_and_the_file_is_saved(house: House, page: Page, dialogs: list[str]) -> None:
    page.goto(f"{house.base}/file/harbour.pdf")
    sheet = page.locator("[data-sheet]")
    expect(sheet).to_be_visible()
    assert sheet.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    assert saved.value.suggested_filename == "harbour.pdf"
    assert Path(saved.value.path()).read_bytes() == scripted_pdf()
    page.wait_for_timeout(LOOK)
    assert dialogs == []
