"""The text of a page, and where each line stands in it."""

from __future__ import annotations

from chyme.imaging.ocr.engines import Line, Word
from chyme.imaging.ocr.page_text import PageText, page_text


def at(top: float, text: str, left: float = 0.1, unsure: str = "") -> Line:
    words = tuple(Word(word, 0.4 if word == unsure else 0.99, (0.0, 0.0, 1.0, 1.0)) for word in text.split())
    right = left + 0.012 * len(text)
    return Line(
        " ".join(text.split()), 0.99, ((left, top), (right, top), (right, top + 0.02), (left, top + 0.02)), words
    )


def read(*lines: Line, markdown: bool = False) -> PageText:
    return page_text(lines, 1.0, 0.75, markdown)


def test_every_span_is_the_line_it_names() -> None:
    lines = [at(0.5, "third of all"), at(0.1, "first line"), at(0.13, "second line")]
    found = read(*lines)
    assert found.text == "first line\nsecond line\n\nthird of all"
    assert [(found.text[span.start : span.end], span.line) for span in found.spans] == [
        ("first line", 1),
        ("second line", 2),
        ("third of all", 0),
    ]


def test_things_that_stand_apart_in_one_row_are_parted_by_a_bar_and_neighbours_by_a_space() -> None:
    assert read(at(0.1, "Lamp oil"), at(0.1, "36", 0.5), at(0.1, "barrels", 0.53)).text == "Lamp oil | 36 barrels"


def test_words_in_doubt_are_marked_but_signs_without_letters_are_not() -> None:
    assert read(at(0.1, "a quokka sat", unsure="quokka")).text == "a quokka[?] sat"
    assert read(at(0.1, "– item", unsure="–")).text == "– item"


def test_a_word_broken_at_the_end_of_a_line_is_whole_again() -> None:
    found = read(at(0.1, "we painted the boat-"), at(0.13, "house green"))
    assert found.text == "we painted the boathouse\ngreen"
    assert [found.text[span.start : span.end] for span in found.spans] == ["we painted the boathouse", "green"]


def test_a_dash_before_a_name_or_a_number_is_no_broken_word() -> None:
    assert read(at(0.1, "the line Paris-"), at(0.13, "Lyon and back")).text == "the line Paris-\nLyon and back"
    assert read(at(0.1, "pages 12-"), at(0.13, "14 are blank")).text == "pages 12-\n14 are blank"


def test_in_markdown_a_printed_sign_makes_no_heading() -> None:
    found = read(at(0.1, "# of layers"), at(0.13, "> 30 tons"), markdown=True)
    assert found.text == "\\# of layers\n\\> 30 tons"
    assert [found.text[span.start : span.end] for span in found.spans] == ["# of layers", "> 30 tons"]
    assert read(at(0.1, "# of layers")).text == "# of layers"


def test_no_line_no_text() -> None:
    assert read() == PageText()


def test_cells_and_columns_of_a_page_from_right_to_left_are_read_from_the_right() -> None:
    price, item = at(0.1, "4860", 0.1), at(0.1, "שמן למנורה", 0.7)
    found = read(price, item)
    assert found.text == "שמן למנורה | 4860"
    assert [(found.text[span.start : span.end], span.line) for span in found.spans] == [("שמן למנורה", 1), ("4860", 0)]
    assert found.angle == 0.0
