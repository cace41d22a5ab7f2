"""What a PDF has besides plain text: form fields, notes, pictures with writing, raised digits, running heads."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from chyme.documents.conversion.arabic_ligatures import mend_arabic_codes
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.embedded_pictures import PictureBudget, PictureReader
from chyme.documents.conversion.hollow_bullets import mark_hollow_bullets
from chyme.documents.conversion.pdf_annotations import describe_box, label_of
from chyme.documents.conversion.pdf_pictures import read_pictures
from chyme.documents.conversion.raised_digits import RaisedDigits, mark_raised_digits
from chyme.documents.conversion.results import ConversionLimits, ConversionResult
from chyme.documents.conversion.running_heads import EdgeLine, edge_lines, find_repeated, remove_lines
from chyme.documents.conversion.two_readings import join_readings
from chyme.files.extensions import PDF
from chyme.imaging.ocr.engines import Line, OcrResult

KINDS = Path(__file__).resolve().parents[1] / "samples/kinds"


class ATypist:
    """An engine that reads the same words in every picture, and counts the pictures."""

    name = "typist"
    letters = "Latin letters"

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []

    def read(self, image: Image.Image) -> OcrResult:
        self.sizes.append(image.size)
        quad = ((0.1, 0.1), (0.9, 0.1), (0.9, 0.2), (0.1, 0.2))
        return OcrResult((Line("slipway closed to trailers", 0.95, quad),))


def converted(name: str, pictures: PictureReader | None = None) -> ConversionResult:
    return convert(name, (KINDS / name).read_bytes(), PDF, ConversionLimits(), pictures=pictures)


def page_of(result: ConversionResult, words: str) -> int | None:
    at = result.markdown.index(words)
    return next(place.page for place in result.places if place.page and place.start <= at < place.end)


def test_values_of_form_fields_are_read_on_their_page_with_their_names() -> None:
    form = converted("membership.pdf")
    for line in (
        "- Name of the applicant: Marta Vogelsang",
        "- boat: a skiff called Perkunas",
        "- season: winter storage",
        "- [x] locker key",
    ):
        assert f"\n{line}" in form.markdown
        assert page_of(form, line) == 2


def test_a_value_that_the_page_shows_is_not_repeated_and_passwords_are_not_read() -> None:
    form = converted("membership.pdf").markdown
    assert form.count("forty crowns") == 1
    assert "newsletter" not in form
    assert "moonraker" not in form


def test_a_field_is_called_by_its_tooltip_or_by_a_name_that_is_a_word() -> None:
    assert label_of("Date of birth", "f1_02") == "Date of birth"
    assert label_of("", "form[0].page_1[0].last_name[0]") == "last name"
    assert label_of("", "topmost[0].f1_02[0]") == ""
    assert describe_box("Married", "Yes") == "- [x] Married"
    assert describe_box("Delivery", "by ferry") == "- [x] Delivery: by ferry"
    assert describe_box("", "2") is None


def test_notes_are_read_on_their_page_with_their_author() -> None:
    reviewed = converted("reviewed.pdf")
    for line in (
        "> Ines Falk: Who pays for the varnish of the oars?",
        "> Superseded by the agreement of the harbour council",
        "> Office: Approved by the quartermaster",
    ):
        assert page_of(reviewed, line) == 2


def test_a_note_that_repeats_the_marked_words_and_its_bubble_are_left_out() -> None:
    reviewed = converted("reviewed.pdf").markdown
    assert reviewed.count("the floor is dry") == 2  # once on each page
    assert "bubble" not in reviewed


def test_writing_in_a_picture_is_read_on_its_page_with_the_box_of_the_picture() -> None:
    typist = ATypist()
    read = converted("slipway.pdf", PictureReader(lambda: typist))
    words = "![picture: slipway closed to trailers]()"
    assert page_of(read, words) == 2
    assert typist.sizes == [(700, 240)]
    place = next(place for place in read.places if place.box)
    assert read.markdown[place.start : place.end] == words
    assert place.box == pytest.approx((100 / 595, 222 / 842, 450 / 595, 342 / 842), abs=0.001)


def test_pictures_cost_nothing_in_a_file_without_any_and_stop_with_their_time() -> None:
    import pypdfium2  # type: ignore[import-untyped]

    def refuse() -> ATypist:
        raise AssertionError("no engine is needed")

    data = (KINDS / "slipway.pdf").read_bytes()
    with_picture = pypdfium2.PdfDocument(data)
    reader = PictureReader(refuse)
    assert read_pictures(with_picture, b"%PDF-1.4 nothing", [1, 2], reader, 60.0) == {}
    ticks = iter(range(100))
    assert read_pictures(with_picture, data, [1, 2], reader, 0.5, lambda: next(ticks)) == {}
    spent = PictureReader(ATypist, PictureBudget(pictures=0))
    assert read_pictures(with_picture, data, [1, 2], spent, 60.0) == {}
    assert "not (limits" in spent.notes()[0]
    with_picture.close()


def test_raised_digits_are_powers_or_marks_of_notes() -> None:
    survey = converted("survey.pdf").markdown
    assert "measures 340 m² and" in survey
    assert "after the gale[^1] of that year" in survey
    assert "[^1]: Insured by the guild of coopers." in survey


@pytest.mark.parametrize(
    ("before", "digits", "written"),
    [
        ("m", "2", "²"),
        ("km", "2", "²"),
        ("f", "−1", "⁻¹"),
        ("b)", "2", "²"),
        ("10", "6", "⁶"),
        ("cos", "2", "²"),
        ("it", "7", "[^7]"),
        ("annotated.", "1", "[^1]"),
        ("authors", "1, 2", "[^1][^2]"),
        ("재해", "2", "[^2]"),
        ("", "3", "[^3]: "),
    ],
)
def test_what_raised_digits_mean_depends_on_what_is_before_them(before: str, digits: str, written: str) -> None:
    assert RaisedDigits(digits, before).markdown == written


def test_raised_digits_are_found_in_the_text_by_their_neighbours() -> None:
    marks = [RaisedDigits("2", "m", "and more"), RaisedDigits("1", "gale", ".")]
    text = "From m2 to s: 30 m 2 and 3 m2; the gale1. It blew."
    assert mark_raised_digits(text, marks) == "From m2 to s: 30 m² and 3 m2; the gale[^1]. It blew."
    assert mark_raised_digits("nothing of the sort", marks) == "nothing of the sort"


def test_running_heads_stay_once_and_page_numbers_never() -> None:
    chronicle = converted("chronicle.pdf").markdown
    assert chronicle.count("Chronicle of the rowing club") == 1
    assert "- 3 -" not in chronicle
    assert all(f"Chapter {number} begins" in chronicle for number in range(1, 6))


def heads(*texts: str, at: float = 0.05, height: float = 10) -> dict[int, list[EdgeLine]]:
    return {
        number: edge_lines([(text, 50, 800 * at, height)], 800) for number, text in enumerate(texts, start=1) if text
    }


def test_a_line_repeats_only_at_the_same_place_in_the_size_of_text_and_often_enough() -> None:
    assert find_repeated(heads("Annual report", "Annual report", "Annual report"), 10) == {
        2: ["Annual report"],
        3: ["Annual report"],
    }
    assert find_repeated(heads("Invoice", "Invoice", "Invoice", height=20), 10) == {}
    assert find_repeated(heads("Total", "Total", "Total", at=0.5), 10) == {}
    assert find_repeated(heads("Total", "Sum", "Total", "Mean", "Mode", "Range"), 10) == {}


def test_numbers_that_are_not_page_numbers_are_never_dropped() -> None:
    assert find_repeated(heads("Balance 1", "Balance 2", "Balance 3", at=0.95), 10) == {}
    assert find_repeated(heads("1250", "96", "3", at=0.95), 10) == {3: ["3"]}
    pages = heads("Page 4 of 9", "Page 5 of 9", "Page 6 of 9", at=0.95)
    assert find_repeated(pages, 10) == {1: ["Page 4 of 9"], 2: ["Page 5 of 9"], 3: ["Page 6 of 9"]}


def test_heads_are_removed_at_the_edges_of_a_page_and_never_from_tables_or_everything() -> None:
    assert remove_lines("## Annual report\n\nSales rose.\n\n7", ["Annual report", "7"]) == "Sales rose."
    assert remove_lines("Annual report Sales rose.", ["Annual report"]) == "Sales rose."
    assert remove_lines("| 7 |\n|---|\n| 8 |", ["7"]) == "| 7 |\n|---|\n| 8 |"
    assert remove_lines("Page 1", ["Page 1"]) == "Page 1"


def test_the_letters_of_an_arabic_ligature_are_in_their_order() -> None:
    assert converted("peace.pdf").markdown == "السلام"


def test_the_letters_of_an_arabic_ligature_are_in_their_order_in_the_lines_of_the_first_page_too() -> None:
    import pypdfium2
    from pypdfium2 import raw

    document = pypdfium2.PdfDocument(KINDS / "peace.pdf")
    textpage = document[0].get_textpage()
    codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(raw.FPDFText_CountChars(textpage))]
    assert "".join(map(chr, mend_arabic_codes(textpage, codes))).strip() == "السلام"
    assert mend_arabic_codes(textpage, [65, 66]) == [65, 66]


def test_words_that_the_layout_reader_glued_or_tore_are_mended() -> None:
    assert join_readings("| truevalue | second |", "true value\nsecond") == "| true value | second |"
    assert join_readings("the secon d boat", "the second boat") == "the second boat"
    assert join_readings("boats yellowwith sails", "boats with sails\nyellow") == "boats yellow with sails"


def test_words_that_the_layout_reader_joined_at_a_hyphen_stay_joined() -> None:
    assert join_readings("an appointment in town", "an appoint-\nment in town") == "an appointment in town"
    assert join_readings("| an appoint- ment |", "an appoint-\nment") == "| an appointment |"
    assert join_readings("pre- and post-war", "pre- and post-war") == "pre- and post-war"


def test_a_line_that_the_layout_reader_dropped_is_put_back_after_the_line_before_it() -> None:
    plain = "\n".join(["Boats of the club", "Perkunas", *(f"Rule {word} of the shed" for word in "abcdefghij")])
    laid_out = "Boats of the club\n\n" + " ".join(f"Rule {word} of the shed" for word in "abcdefghij")
    assert join_readings(laid_out, plain).startswith("Boats of the club\n\nPerkunas\n\nRule a")


def test_a_line_is_not_put_back_inside_a_table() -> None:
    rows = "\n".join(f"| Rule {word} | of the shed |" for word in "abcdefgh")
    plain = "Rule a\nPerkunas\nof the shed\n" + "\n".join(f"Rule {word} of the shed" for word in "bcdefgh")
    assert join_readings(f"{rows}\n\nThe end", f"{plain}\nThe end") == f"{rows}\n\nPerkunas\n\nThe end"


def test_a_programming_language_that_nobody_named_is_not_text() -> None:
    assert join_readings("```python\nx = 1\n```", "x = 1") == "```\nx = 1\n```"


def test_a_word_parted_by_a_hyphen_is_joined_across_paragraphs_and_emphasis() -> None:
    plain = "The council made new appointments for the older population of both valleys."
    torn = "The council made new appoint-\n\nments for the older **popu-** **lation** of both valleys."
    assert (
        join_readings(torn, plain) == "The council made new appointments for the older **population** of both valleys."
    )


def test_a_hollow_bullet_is_an_item_of_a_list_and_no_letter() -> None:
    assert mark_hollow_bullets("- Dairy\n\no Milk\no Curd of 1 day") == "- Dairy\n\n- Milk\n- Curd of 1 day"
    assert mark_hollow_bullets("Buy:\n\n```\no Milk\no Curd\no Whey\n```") == "Buy:\n\n- Milk\n- Curd\n- Whey"


@pytest.mark.parametrize(
    "page",
    [
        "o menino viu o mar\n\no mar viu o menino",
        "- Dairy\n\no Milk",
        "O sole mio\nO sole tuo\n- a",
        "```\nint o = 1\n```",
    ],
)
def test_an_o_that_may_be_a_word_stays(page: str) -> None:
    assert mark_hollow_bullets(page) == page
