"""What is easily lost in office documents reaches the text: raised letters, remarks, hidden cells, pictures."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from chyme.documents.conversion.books import drop_inner_links
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.embedded_pictures import PictureBudget, PictureReader
from chyme.documents.conversion.equations import linear_text, spell_equations
from chyme.documents.conversion.picture_marks import authored
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters, symbol
from chyme.documents.conversion.results import ConversionLimits, ConversionResult
from chyme.documents.conversion.rtf_markup import remarks_in, rewrite_rtf
from chyme.documents.conversion.workbooks import Sheet, drop_empty_rows, place_in_sheets
from chyme.errors import DigestError
from chyme.files.extensions import DOCUMENTS
from chyme.imaging.ocr.engines import Line, OcrResult

KINDS = Path(__file__).resolve().parents[1] / "samples" / "kinds"
SIGN = "return the ladder tonight"


class ASignReader:
    """An engine that finds the same words in every picture."""

    name = "signs"
    letters = "Latin letters"

    def read(self, image: Image.Image) -> OcrResult:
        return OcrResult((Line(SIGN, 0.95, ((0.1, 0.1), (0.9, 0.1), (0.9, 0.2), (0.1, 0.2))),))


def of_bytes(name: str, data: bytes, budget: PictureBudget | None = None) -> ConversionResult:
    pictures = PictureReader(ASignReader, budget)
    return convert(name, data, DOCUMENTS[name.rpartition(".")[2]], ConversionLimits(), pictures=pictures)


def converted(name: str) -> str:
    return of_bytes(name, (KINDS / name).read_bytes()).markdown


def changed(name: str, part: str, old: str, new: str) -> bytes:
    """The sample with one of its parts changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(KINDS / name) as before, zipfile.ZipFile(buffer, "w") as after:
        for entry in before.infolist():
            content = before.read(entry)
            if entry.filename == part:
                assert old in content.decode()
                content = content.decode().replace(old, new).encode()
            after.writestr(entry, content)
    return buffer.getvalue()


def test_word_keeps_raised_letters_symbols_tick_boxes_and_readable_equations() -> None:
    text = converted("office_word.docx")
    assert "46 m² and binds CO₂." in text
    assert "It follows from p^2+q/4 alone." in text
    assert "- [x] handrail is fitted" in text
    assert "α is the angle." in text


def test_word_tells_tracked_changes_and_comments_apart_from_the_text() -> None:
    text = converted("office_word.docx")
    assert "The hedge is newly trimmed and dry." in text
    assert "<!-- deleted by Ada Winter: badly overgrown -->" in text
    assert "> Bo Lind: Please water it weekly" in text


def test_word_keeps_hyphens_that_do_not_break_and_words_with_their_reading_above() -> None:
    ruby = (
        "<w:ruby><w:rt><w:r><w:t>はし</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>橋</w:t></w:r></w:rubyBase></w:ruby>"
        "<w:t> on gate 12</w:t><w:noBreakHyphen/><w:t>b is</w:t>"
    )
    data = changed("office_word.docx", "word/document.xml", "<w:sectPr>", f"<w:p><w:r>{ruby}</w:r></w:p><w:sectPr>")
    assert "橋(はし) on gate 12-b is" in of_bytes("bridge.docx", data).markdown


def test_an_open_tick_box_is_not_ticked() -> None:
    data = changed("office_word.docx", "word/document.xml", '<w:default w:val="1"/>', '<w:default w:val="0"/>')
    assert "- [ ] handrail is fitted" in of_bytes("open.docx", data).markdown


def test_running_heads_are_found_by_search_but_no_part_of_the_running_text() -> None:
    assert converted("office_word.docx").endswith("<!-- header: Allotment society Brookside -->")
    assert converted("office_text.odt").endswith("<!-- header: Rowing club Millweir -->")
    assert converted("office_letter.rtf").endswith("<!-- header: Estate of Fernhollow -->")


@pytest.mark.parametrize(
    ("name", "after", "before"),
    [
        ("office_word.docx", "# Notice board", "> Bo Lind"),
        ("office_text.odt", "# Jetty", "Line 1 of the list"),
        ("office_book.epub", "# The label", "Line 1 of the list"),
        ("office_slides.pptx", "## Signs", "## Water"),
        ("office_slides.odp", "## Stalls", ""),
    ],
)
def test_writing_in_a_picture_is_where_the_picture_is(name: str, after: str, before: str) -> None:
    text = converted(name)
    mark = f"![picture: {SIGN}]()"
    assert text.count(mark) == 1
    rest = text[text.index(after) :]
    assert mark in (rest[: rest.index(before)] if before else rest)
    assert "⟦" not in text


def test_a_document_that_is_only_a_picture_has_its_writing_as_text() -> None:
    with zipfile.ZipFile(KINDS / "office_text.odt") as before:
        content = before.read("content.xml").decode()
    start, end = content.index("<office:text>") + len("<office:text>"), content.index("</office:text>")
    frame = '<text:p><draw:frame><draw:image xlink:href="Pictures/notice.png"/></draw:frame></text:p>'
    data = changed("office_text.odt", "content.xml", content[start:end], frame)
    assert of_bytes("scan.odt", data).markdown.startswith(SIGN)


def test_pictures_beyond_the_budget_are_noted() -> None:
    found = of_bytes("few.docx", (KINDS / "office_word.docx").read_bytes(), PictureBudget(pictures=0))
    assert "![picture" not in found.markdown
    assert found.notes[0].startswith("0 pictures inside the document were examined; 1 more was not")


def test_a_workbook_keeps_what_is_hidden_and_what_stands_beside_the_cells_with_its_sheet() -> None:
    rates, reserve = converted("office_sheet.xlsx").split("## Reserve (hidden)")
    assert rates.startswith("## Rates\n")
    assert "| Interest | 7.25 % |" in rates
    assert "| Deposit | € 1,834.50 |" in rates
    assert "| Kept in the vestry | 3 |" in rates
    assert "| Cellar | 62 m³ |" in rates
    assert "Figures audited by Quillfeather" in rates
    assert "> B2 Ada Winter: fixed until harvest" in rates
    assert "> B3 Bo Lind: Returned by bank transfer" in rates
    assert "Steeple fund" in reserve


def test_number_formats_known_by_their_number_only_are_applied() -> None:
    data = changed("office_sheet.xlsx", "xl/styles.xml", '<xf numFmtId="171"/>', '<xf numFmtId="44"/>')
    assert "| Deposit | 1,834.50 |" in of_bytes("money.xlsx", data).markdown


def test_signs_that_programs_escape_in_cells_are_no_words() -> None:
    data = changed("office_sheet.xlsx", "xl/sharedStrings.xml", "62 m", "first_x000D__x000A_then _x005F_x 62 m")
    found = of_bytes("cellar.xlsx", data).markdown
    assert "x000" not in found
    assert "first  then _x 62 m³" in found.replace("\\", "")


def test_an_open_spreadsheet_keeps_shapes_and_comments_with_their_sheet() -> None:
    tools, loans = converted("office_sheet.ods").split("## Loans (hidden)")
    assert "Counted by Thistlewood" in tools
    assert "> Bo Lind: two are rusty" in tools
    assert "| Spades |" in tools
    assert "Wheelbarrow lent to Marsh" in loans


def test_an_open_text_keeps_remarks_out_of_its_sentences() -> None:
    text = converted("office_text.odt")
    assert "31 m² of planks." in text
    assert "> Bo Lind: Order larch" in text
    assert "<!-- deleted by Ada Winter: leaking badly -->" in text


def test_slides_have_their_numbers_diagrams_and_descriptions_of_pictures() -> None:
    found = of_bytes("office_slides.pptx", (KINDS / "office_slides.pptx").read_bytes())
    pages = {place.page: found.markdown[place.start : place.end].strip() for place in found.places}
    assert pages[1] == "## Roof works\n\nWind load 12 kN/m²"
    assert pages[2].startswith("## Signs\n\n![A weather vane]()")
    assert pages[3] == "## Water\n\n<!-- hidden slide -->\n\n- Collect rainwater\n- Filter through gravel"


def test_the_footer_of_slides_is_text_on_the_first_slide_that_shows_it() -> None:
    footer = (
        '<p:sp><p:nvSpPr><p:nvPr><p:ph type="ftr"/></p:nvPr></p:nvSpPr><p:txBody><a:p>'
        "<a:r><a:t>Parish of Elmbrook</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(KINDS / "office_slides.pptx") as before, zipfile.ZipFile(buffer, "w") as after:
        for entry in before.infolist():
            after.writestr(entry, before.read(entry).replace(b"</p:spTree>", footer.encode()))
    text = of_bytes("parish.pptx", buffer.getvalue()).markdown
    assert text.startswith("## Roof works\n\nWind load 12 kN/m²\n\nParish of Elmbrook")
    assert text.count("Parish of Elmbrook") == 1


@pytest.mark.parametrize(
    ("description", "kept"),
    [
        ("A duck with a hat\n\nDescription automatically generated", "A duck with a hat"),
        ("A duck Description automatically generated with medium confidence", "A duck"),
        ("A duck AI-generated content may be incorrect.", "A duck"),
        ("How descriptions are generated", "How descriptions are generated"),
    ],
)
def test_what_programs_add_to_descriptions_of_pictures_is_left_out(description: str, kept: str) -> None:
    assert authored(description) == kept


def test_a_header_that_shows_only_the_error_of_a_field_is_left_out() -> None:
    error = "Error! No text of specified style in document."
    data = changed("office_word.docx", "word/header1.xml", "Allotment society Brookside", error)
    assert "specified style" not in of_bytes("error.docx", data).markdown


def test_slides_of_an_open_presentation_have_numbers_and_notes() -> None:
    found = of_bytes("office_slides.odp", (KINDS / "office_slides.odp").read_bytes())
    pages = {place.page: found.markdown[place.start : place.end].strip() for place in found.places}
    assert pages[1] == "## Harbour day\n\n> Mention the ferry strike"


def test_rtf_keeps_raised_letters_and_tells_comments_and_deletions_apart() -> None:
    text = converted("office_letter.rtf")
    assert text.startswith("The loft has 18 m².\n")
    assert "> Bo Lind: Ask the thatcher" in text
    assert "<!-- deleted: worn out -->" in text


def test_a_book_keeps_raised_letters() -> None:
    assert "It burned 9 cm³ of oil" in converted("office_book.epub")


def test_the_contents_page_of_a_book_is_left_out_unless_it_says_something_new() -> None:
    item = '<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    nav = f'{item}</manifest><spine><itemref idref="n"/>'
    data = changed("office_book.epub", "c.opf", "</manifest><spine>", nav)

    def with_contents(*titles: str) -> bytes:
        buffer = io.BytesIO(data)
        with zipfile.ZipFile(buffer, "a") as book:
            items = "".join(f'<li><a href="a.xhtml">{title}</a></li>' for title in titles)
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>{items}</ol></nav></body></html>'
            book.writestr("n.xhtml", page)
        return buffer.getvalue()

    assert of_bytes("book.epub", with_contents("The wick", "The label")).markdown.count("The wick") == 1
    assert "Quarrelling geese" in of_bytes("book.epub", with_contents("Quarrelling geese and other uproar")).markdown


@pytest.mark.parametrize(
    ("text", "before", "raised"),
    [
        ("2", "m", "m²"),
        ("-3", "10", "10⁻³"),
        ("n", "x", "xⁿ"),
        ("n+1", "x", "x^(n+1)"),
        ("th", "5", "5th"),
        ("TM", "Oilcan", "OilcanTM"),
        ("k", "x", "x^k"),
        ("12", "word", "word¹²"),
    ],
)
def test_superscripts_use_unicode_where_it_has_the_letters(text: str, before: str, raised: str) -> None:
    assert before + raise_letters(text, before) == raised


def test_subscripts_use_unicode_where_it_has_the_letters() -> None:
    assert [lower_letters(text) for text in ("2", "max", "i,j", " ")] == ["₂", "_max", "_(i,j)", " "]


def test_symbol_fonts_show_letters() -> None:
    assert [symbol("Symbol", 0xF062), symbol("Wingdings", 0xF0FC), symbol("Symbol", 0xB3)] == ["β", "✓", "≥"]
    assert symbol("Wingdings", 0xF001) == ""


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"x=\frac{-b\pm\sqrt{b^{2}-4ac}}{2a}", "x = (-b ± √(b^2-4ac))/(2a)"),
        (r"\begin{gathered} a^{2}+b^{2}=c^{2} \end{gathered}", "a^2+b^2 = c^2"),
        (r"\sum_{n=1}^{\infty}{\left(x^{k}y\right)}", "∑_(n = 1)^∞(x^k y)"),
        (r"\mathrm{speed}\leq\operatorname{max}", "speed ≤ max"),
        (r"\frac{1}{z}dz", "1/z dz"),
        (r"n\pi x+2\pi", "n π x+2π"),
        ("^" * 5000, ""),
        ("{" * 5000, ""),
    ],
)
def test_equations_become_one_readable_line(latex: str, text: str) -> None:
    assert linear_text(latex) == text


def test_equations_beside_each_other_and_without_markup_are_written_out() -> None:
    assert spell_equations("So $a=b$$c=d$$e=f$ follow.") == "So a = b c = d e = f follow."
    assert spell_equations("By $F=ma$ it falls.") == "By F = ma it falls."


def test_money_is_no_equation() -> None:
    assert spell_equations("From $5=five to $6, or $7<$8.") == "From $5=five to $6, or $7<$8."
    assert spell_equations(r"It costs $5 and $6, $x^{2}$ more.") == "It costs $5 and $6, x^2 more."


def test_links_within_a_document_lose_their_targets() -> None:
    text = 'see[3](#note-3) [the harbour](#harbour) and [a page](https://example.org)\n<a id="harbour"></a>\n\nEnd'
    assert drop_inner_links(text) == "see[3] the harbour and [a page](https://example.org)\nEnd"


def test_blocks_follow_their_sheet_even_if_it_has_no_cells() -> None:
    sheets = [Sheet("A_1", ""), Sheet("Empty", ""), Sheet("B", "")]
    text = place_in_sheets("## A\\_1\n\n| x |\n\n## B\n\n| y |", sheets, [["box of A"], ["box alone"], []])
    assert text == "## A\\_1\n\n| x |\n\nbox of A\n\n## Empty\n\nbox alone\n\n## B\n\n| y |"


def test_a_single_sheet_has_a_heading_if_its_name_says_something() -> None:
    assert place_in_sheets("| x |", [Sheet("Wages", "")], [[]]) == "## Wages\n\n| x |"
    assert place_in_sheets("| x |", [Sheet("Sheet1", "")], [[]]) == "| x |"


def test_runs_of_empty_rows_become_one() -> None:
    assert drop_empty_rows("| a |\n|  |\n|  |\n|  |\n| b |") == "| a |\n|  |\n| b |"


def test_hostile_markup_is_looked_through_once() -> None:
    brackets = b"{\\rtf1" + b"{\\header " * 50_000 + b"{\\super " * 50_000
    assert rewrite_rtf(brackets).count(b"\\super") == 50_000
    assert len(remarks_in(brackets)) <= 500
    tags = "<w:rPr><w:vertAlign " * 100_000 + "<w:fldChar x><w:checkBox>" * 100_000
    data = changed("office_word.docx", "word/document.xml", "<w:body>", f"<w:body>{tags}")
    with pytest.raises(DigestError):
        of_bytes("tags.docx", data)


def test_only_the_first_word_of_a_group_of_rtf_says_that_it_may_be_ignored() -> None:
    kept = rb"{\rtf1 {\*\generator X;}{ \*\unknown Y;} back\\* star}"
    assert rewrite_rtf(kept) == kept
    assert rewrite_rtf(rb"{\rtf1 {\b0\*\cs7 The ferry}}") == rb"{\rtf1 {\b0\cs7 The ferry}}"
