"""Words are found on the pages of PDFs where they are drawn."""

from __future__ import annotations

from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]
import pytest

from chyme.documents.pages.pdf_page import open_with_forms
from chyme.documents.pages.word_boxes import MAX_BOXES, boxes_of, characters_of
from chyme.model import Box
from chyme.search.match_location import spans_of

LINE = "BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET"


def pdf(*lines: tuple[int, int, int, str], page: str = "/MediaBox [0 0 400 200]") -> bytes:
    """A page with these lines of text: x and y from the lower left corner, size, text."""
    text = "\n".join(LINE.format(x=x, y=y, size=size, text=words) for x, y, size, words in lines).encode()
    font = b"<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R %s /Contents 4 0 R /Resources << /Font %s >> >>" % (page.encode(), font),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
    ]
    return (
        b"%PDF-1.7\n"
        + b"".join(b"%d 0 obj\n%s\nendobj\n" % item for item in enumerate(objects, 1))
        + (b"trailer << /Size 5 /Root 1 0 R >>\n%%EOF\n")
    )


def boxes(data: bytes, question: str) -> list[Box]:
    with open_with_forms("a.pdf", data) as document:
        page = document[0]
        textpage = page.get_textpage()
        found = boxes_of(page, textpage, spans_of(characters_of(textpage), question))
        textpage.close()
        page.close()
    return found


def ink(data: bytes) -> Box:
    """The smallest box around everything that is drawn, by looking at the picture."""
    document = pypdfium2.PdfDocument(data)
    image = document[0].render(scale=4).to_pil().convert("L").point(lambda grey: 255 if grey < 128 else 0)
    left, top, right, bottom = image.getbbox()
    width, height = image.size
    document.close()
    return left / width, top / height, right / width, bottom / height


@pytest.mark.parametrize(
    "page",
    [
        "/MediaBox [0 0 400 200]",
        "/MediaBox [0 0 400 200] /Rotate 90",
        "/MediaBox [0 0 400 200] /Rotate 180",
        "/MediaBox [0 0 400 200] /Rotate 270",
        "/MediaBox [0 0 400 200] /CropBox [40 50 300 190]",
        "/MediaBox [-100 -20 400 300] /CropBox [40 50 300 190] /Rotate 90",
    ],
)
def test_the_box_lies_around_the_drawn_word_however_the_page_is_turned_and_cropped(page: str) -> None:
    data = pdf((60, 120, 20, "HARBOUR"), page=page)
    (found,) = boxes(data, "harbour")
    for edge, drawn in zip(found, ink(data), strict=True):
        assert edge == pytest.approx(drawn, abs=0.03)


def test_only_the_words_of_the_question_are_found_in_every_form_and_line() -> None:
    data = pdf((20, 150, 12, "The keys hang here."), (20, 100, 12, "A key, and an oar."), (20, 50, 12, "Nothing."))
    found = boxes(data, "key")
    assert len(found) == 2 and found[0][1] < found[1][1]
    assert len(boxes(data, "key oar kind:document")) == 3
    assert len(boxes(data, '"an oar"')) == 1
    assert boxes(data, "elsewhere") == boxes(data, "kind:document") == boxes(data, "") == []


def test_a_word_that_is_broken_at_the_end_of_a_line_is_found_in_both_lines() -> None:
    for broken in ("har\ufffe\r\nbour", "har\x02bour", "har\u00ad\nbour"):
        assert spans_of(f"the {broken} wall", "harbour") == [(4, 4 + len(broken))]
    assert spans_of("har\r\nbour", "harbour") == []


def test_a_word_on_every_spot_gives_no_more_boxes_than_are_shown() -> None:
    lines = [(10, 195 - at, 1, "key and " * 40) for at in range(1, 190, 2)]
    assert len(boxes(pdf(*lines), "key")) == MAX_BOXES


def test_a_scan_has_no_words_of_its_own() -> None:
    data = (Path(__file__).parent.parent / "samples" / "scanned.pdf").read_bytes()
    assert boxes(data, "the") == []
