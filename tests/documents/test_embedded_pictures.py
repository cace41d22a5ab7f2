"""Pictures inside documents are read when they look like writing, within a budget."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from chyme.documents.conversion.embedded_pictures import (
    PictureBudget,
    PictureReader,
    PictureText,
    are_lines_of_text,
    is_writing,
    may_show_writing,
)
from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.engines import Line, OcrEngine, OcrResult, OcrSettings, load_engine
from chyme.imaging.ocr.reading_order import Quad

QUAD: Quad = ((0.1, 0.1), (0.9, 0.1), (0.9, 0.2), (0.1, 0.2))


class ATypist:
    """An engine that finds the same words everywhere, and counts how often it looked and read."""

    name = "typist"
    letters = "Latin letters"

    def __init__(self, text: str = "the boiler was inspected", room: float = 30.0) -> None:
        self.text = text
        self.room = room
        self.looked = self.read_count = 0

    def find_writing(self, image: Image.Image) -> list[tuple[float, float]]:
        self.looked += 1
        return [(self.room, 1.0)]

    def read(self, image: Image.Image) -> OcrResult:
        self.read_count += 1
        return OcrResult((Line(self.text, 0.95, QUAD),))


def picture(shade: int = 0, size: tuple[int, int] = (400, 300)) -> bytes:
    """A white picture with a bar in this shade, so that no two are alike."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((10, 10, size[0] - 20, 14), fill=(shade, shade, shade))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def reader(engine: OcrEngine, budget: PictureBudget | None = None) -> PictureReader:
    return PictureReader(lambda: engine, budget)


def test_writing_in_a_picture_is_read_with_the_place_of_each_line() -> None:
    found = reader(ATypist()).read(picture())
    assert found is not None
    assert found.text == "the boiler was inspected"
    assert [(line.start, line.end, line.box) for line in found.lines] == [(0, 24, (0.1, 0.1, 0.9, 0.2))]


def test_a_picture_that_appears_again_is_read_once() -> None:
    typist = ATypist()
    pictures = reader(typist)
    assert pictures.read(picture()) == pictures.read(picture())
    assert typist.read_count == 1


def test_the_same_writing_is_told_once_where_it_first_appears() -> None:
    pictures = reader(ATypist())
    assert pictures.read_first(picture()) is not None
    assert pictures.read_first(picture()) is None
    assert pictures.read_first(picture(40)) is None


def test_a_picture_with_room_for_a_name_only_is_not_read() -> None:
    typist = ATypist(room=5.0)
    assert reader(typist).read(picture()) is None
    assert (typist.looked, typist.read_count) == (1, 0)


def test_icons_blank_pictures_and_what_is_no_picture_are_not_even_examined() -> None:
    typist = ATypist()
    pictures = reader(typist)
    blank = Image.new("RGB", (400, 300), "white")
    assert [pictures.read(one) for one in (picture(size=(64, 64)), picture(size=(900, 16)), b"no picture", blank)] == [
        None
    ] * 4
    assert typist.looked == 0
    assert pictures.notes() == ()


def test_a_thin_line_of_ink_on_a_large_sheet_may_be_writing() -> None:
    sheet = Image.new("L", (2000, 2000), 255)
    ImageDraw.Draw(sheet).rectangle((100, 100, 500, 130), fill=0)
    assert may_show_writing(sheet)
    assert not may_show_writing(Image.new("L", (2000, 2000), 200))


def test_the_budget_of_pictures_ends_with_a_note() -> None:
    pictures = reader(ATypist(), PictureBudget(pictures=2))
    found = [pictures.read(picture(shade)) for shade in (0, 40, 80, 120)]
    assert [text is not None for text in found] == [True, True, False, False]
    assert pictures.notes() == (
        "2 pictures inside the document were examined; 2 more were not "
        "(limits embedded_pictures, embedded_pixels and embedded_seconds)",
    )


def test_the_budget_of_pixels_counts_pictures_as_they_are_read() -> None:
    pictures = reader(ATypist(), PictureBudget(pixels=200_000))
    assert pictures.read(picture(0)) is not None
    assert pictures.read(picture(40)) is None
    assert "1 more was not" in pictures.notes()[0]


def test_the_budget_of_seconds_ends_with_a_note() -> None:
    moments = iter(range(0, 1000, 40))
    pictures = PictureReader(ATypist, PictureBudget(seconds=60), clock=lambda: float(next(moments)))
    found = [pictures.read(picture(shade)) for shade in (0, 40, 80)]
    assert [text is not None for text in found] == [True, True, False]
    assert "1 more was not" in pictures.notes()[0]


def test_without_an_engine_the_reason_is_noted_once() -> None:
    def missing() -> OcrEngine:
        raise EngineUnavailable("rapidocr is not installed")

    pictures = PictureReader(missing)
    assert pictures.read(picture(0)) is None
    assert pictures.read(picture(40)) is None
    assert pictures.notes() == ("pictures inside the document were not read: rapidocr is not installed",)


def test_regions_must_have_room_for_some_words() -> None:
    assert are_lines_of_text([(90, 10), (60, 10)])
    assert are_lines_of_text([(10, 90)])  # written upwards
    assert not are_lines_of_text([(50, 10)])
    assert not are_lines_of_text([])


def test_a_few_doubtful_letters_are_no_writing() -> None:
    assert is_writing([Line("invoice number 4711", 0.9, QUAD)])
    assert not is_writing([Line("invoice number 4711", 0.6, QUAD)])
    assert not is_writing([Line("STOP", 0.99, QUAD)])
    assert not is_writing([Line("warehouse 12", 0.9, QUAD), Line("iltjfr lkwe lltre jjkre", 0.6, QUAD)])


def test_the_text_is_marked_as_read_from_a_picture_in_pieces_that_end_soon() -> None:
    text = PictureText("Shelf [12]\nrow B\n\n" + "word " * 200)
    first, *others = text.markdown.split("\n\n")
    assert first == "![picture: Shelf (12) row B]()"
    assert len(others) == 3
    assert all(len(other) < 500 for other in others)
    assert sum(other.count("word") for other in others) == 200


def test_the_embedded_engine_tells_a_written_page_from_a_drawing() -> None:
    engine = load_engine(OcrSettings())
    page = Image.new("RGB", (900, 500), "white")
    pen = ImageDraw.Draw(page)
    for row in range(5):
        pen.text((40, 40 + 80 * row), "Please return the keys by Friday", fill="black", font=ImageFont.load_default(32))
    drawing = Image.new("RGB", (900, 500), "white")
    ImageDraw.Draw(drawing).ellipse((200, 100, 600, 400), fill="red")
    found = reader(engine).read(page)
    assert found is not None
    assert found.text.count("keys") == 5
    assert reader(engine).read(drawing) is None
