"""The embedded detector on real pictures, and the statistics that tell what sort of picture it is."""

# Set CHYME_WEIGHTS_DIR where the weights are not beside Python.

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageOps

from chyme.errors import EngineUnavailable, UnreadableFile
from chyme.models.weights.catalog import OBJECTS
from chyme.models.weights.folder import path_of
from chyme.pictures.object_detector import DetectorSettings, detect, fingerprint, object_classes
from chyme.pictures.picture_types import Scene
from chyme.pictures.scene import analyse_scene, colour_in, read_pixels

pytestmark = pytest.mark.slow

SCENES = Path(__file__).parents[1] / "samples" / "scenes"
SETTINGS = DetectorSettings(os.environ.get("CHYME_WEIGHTS_DIR", ""))
needs_weights = pytest.mark.skipif(
    path_of(OBJECTS, SETTINGS.weights_dir) is None, reason="needs the detector's weights: chyme weights objects"
)


def scene(name: str) -> bytes:
    return (SCENES / name).read_bytes()


def preview(path: Path) -> bytes:
    out = io.BytesIO()
    with Image.open(path) as image:
        ImageOps.exif_transpose(image).convert("RGB").save(out, "JPEG", quality=88)
    return out.getvalue()


def test_the_80_names_of_coco_have_categories_and_gaps() -> None:
    names = {number: name for number, (name, _) in object_classes().items()}
    assert len(names) == len(set(names.values())) == 80
    assert {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}.isdisjoint(names)
    assert (names[1], names[13], names[18], names[90]) == ("person", "stop sign", "dog", "toothbrush")


@needs_weights
@pytest.mark.parametrize(
    ("name", "found", "middle"), [("stop.jpg", "stop sign", (0.5, 0.42)), ("clock.jpg", "clock", (0.5, 0.5))]
)
def test_a_drawn_thing_is_found_where_it_stands(name: str, found: str, middle: tuple[float, float]) -> None:
    (thing,) = detect(name, scene(name), SETTINGS)
    left, top, right, bottom = thing.edges
    assert thing.name == found
    assert thing.confidence > 0.9
    assert (left + right) / 2 == pytest.approx(middle[0], abs=0.05)
    assert (top + bottom) / 2 == pytest.approx(middle[1], abs=0.05)
    assert 0.45 < right - left < 0.75


@needs_weights
@pytest.mark.parametrize("name", ["hills.jpg", "night.jpg", "blue.jpg", "diagram.jpg"])
def test_nothing_is_found_in_pictures_without_objects(name: str) -> None:
    assert detect(name, scene(name), SETTINGS) == []


@needs_weights
def test_things_less_sure_than_the_setting_are_left_out() -> None:
    unsure = detect("diagram.jpg", scene("diagram.jpg"), replace(SETTINGS, object_confidence=0.05))
    assert unsure
    assert [thing.confidence for thing in unsure] == sorted((thing.confidence for thing in unsure), reverse=True)
    assert all(thing.confidence >= 0.05 for thing in unsure)


@needs_weights
def test_a_person_is_found_in_a_real_photograph(corpus: Path) -> None:
    path = corpus / "image" / "exif-orientation-examples__Portrait_1.jpg"
    (person,) = detect(path.name, preview(path), SETTINGS)
    assert (person.name, person.category) == ("person", "person")
    assert person.edges[1] > 0.5


@needs_weights
def test_a_cat_is_found_in_a_real_photograph(corpus: Path) -> None:
    path = corpus / "image" / "tika__testGIF.gif"
    assert [thing.name for thing in detect(path.name, preview(path), SETTINGS)] == ["cat"]


@needs_weights
@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff\xe0nothing", b"GIF89a"])
def test_a_broken_preview_is_an_unreadable_file(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match=r"^a\.jpg: "):
        detect("a.jpg", data, SETTINGS)


def test_without_weights_it_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"^stop\.jpg: .*; run 'chyme weights objects'"):
        detect("stop.jpg", scene("stop.jpg"), DetectorSettings(str(tmp_path)))


def test_the_fingerprint_changes_when_the_weights_appear(tmp_path: Path) -> None:
    settings = DetectorSettings(str(tmp_path))
    before = fingerprint(settings)
    (tmp_path / "objects").mkdir()
    for member in OBJECTS.members:
        with (tmp_path / "objects" / member.filename).open("wb") as file:
            file.truncate(member.size)
    assert fingerprint(settings) != before
    assert fingerprint(replace(settings, object_confidence=0.5)) != fingerprint(settings)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("blue.jpg", Scene(plain=True, colour="blue", colours=("blue",))),
        ("hills.jpg", Scene(photograph=True, colour="blue", colours=("blue",), sky=True, greenery=True)),
        ("night.jpg", Scene(grey=True, colourless=True, pale=True, dark=True, colour="black")),
        (
            "page.jpg",
            Scene(
                drawn=True, paper=True, grey=True, colourless=True, pale=True, bright=True, colour="white", tall=True
            ),
        ),
        ("diagram.jpg", Scene(drawn=True, bright=True, colour="yellow", colours=("yellow",), ruled=True, boxes=True)),
        ("stop.jpg", Scene(colour="blue", colours=("blue",), ruled=True, boxes=True)),
    ],
)
def test_the_sort_of_picture(name: str, expected: Scene) -> None:
    assert analyse_scene(name, scene(name)) == expected


@pytest.mark.parametrize(
    ("name", "photograph", "grey"),
    [
        ("exif-orientation-examples__Landscape_0.jpg", True, False),
        ("exif-orientation-examples__Portrait_1.jpg", True, False),
        ("tika__testGIF.gif", True, False),
        ("docling__header.jpeg", False, False),
        ("kreuzberg__2305_03393v1_pg9_img.png", False, True),
    ],
)
def test_photographs_are_distinguished_from_drawings(corpus: Path, name: str, photograph: bool, grey: bool) -> None:
    seen = analyse_scene(name, preview(corpus / "image" / name))
    assert (seen.photograph, seen.drawn, seen.grey) == (photograph, not photograph, grey)


@pytest.mark.parametrize(
    ("size", "screen", "slide"),
    [
        ((1366, 768), True, False),
        ((1170, 2532), True, False),
        ((2532, 1170), True, False),
        ((1920, 1080), False, True),
        ((1921, 1080), False, False),
    ],
)
def test_a_png_of_exactly_a_screens_size_is_told_apart_from_one_of_a_slides(
    size: tuple[int, int], screen: bool, slide: bool
) -> None:
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, size[0], 60), fill="navy")
    for top in range(100, 900, 40):
        pen.text((40, top), "File Edit View Go Help " * 8, fill="black", font_size=24)
    small, png = io.BytesIO(), io.BytesIO()
    picture.save(png, "PNG")
    picture.save(small, "JPEG", quality=88)
    seen = analyse_scene("s.png", small.getvalue(), png.getvalue()[:24])
    assert (seen.screen, seen.slide) == (screen, slide)
    seen = analyse_scene("s.jpg", small.getvalue(), small.getvalue()[:24])
    assert (seen.screen, seen.slide) == (False, False)


def scene_drawn(paint: Callable[[ImageDraw.ImageDraw], None], size: tuple[int, int] = (900, 600)) -> Scene:
    picture, jpeg = Image.new("RGB", size, "white"), io.BytesIO()
    paint(ImageDraw.Draw(picture))
    picture.save(jpeg, "JPEG", quality=90)
    return analyse_scene("drawn.png", jpeg.getvalue())


def test_a_frame_boxes_and_a_grid_are_told_apart() -> None:
    def frame(pen: ImageDraw.ImageDraw) -> None:
        pen.rectangle((30, 30, 870, 570), outline="black", width=4)

    def boxes(pen: ImageDraw.ImageDraw) -> None:
        for left in (40, 340, 640):
            for top in (60, 360):
                pen.rectangle((left, top, left + 200, top + 120), outline="black", width=3)

    def grid(pen: ImageDraw.ImageDraw) -> None:
        for number in range(7):
            pen.line((40, 40 + number * 80, 880, 40 + number * 80), fill="black", width=2)
            pen.line((40 + number * 140, 40, 40 + number * 140, 520), fill="black", width=2)

    flags = [(seen.ruled, seen.boxes, seen.grid) for seen in map(scene_drawn, (frame, boxes, grid))]
    assert flags == [(True, False, False), (True, True, False), (True, True, True)]


@pytest.mark.parametrize(
    ("stripes", "colours"),
    [
        (("red", "blue"), ("red", "blue")),
        (("red", "red", "lime", "blue"), ()),
        (("green", "orange", "red"), ()),
    ],
)
def test_main_colours_are_told_where_no_third_one_is_as_large(
    stripes: tuple[str, ...], colours: tuple[str, ...]
) -> None:
    width = 900 // len(stripes)

    def paint(pen: ImageDraw.ImageDraw) -> None:
        for number, colour in enumerate(stripes):
            pen.rectangle((number * width, 0, number * width + width, 600), fill=colour)

    assert sorted(scene_drawn(paint).colours) == sorted(colours)


def test_weak_colours_are_neither_named_nor_called_black_and_white() -> None:
    def weak(pen: ImageDraw.ImageDraw) -> None:
        for number in range(90):
            pen.rectangle((number * 10, 0, number * 10 + 10, 600), fill=(38 + number, 30 + number, 22 + number))

    def grey(pen: ImageDraw.ImageDraw) -> None:
        for number in range(90):
            pen.rectangle((number * 10, 0, number * 10 + 10, 600), fill=(30 + number,) * 3)

    seen, colourless = scene_drawn(weak), scene_drawn(grey)
    assert (seen.grey, seen.colourless, seen.colours) == (True, False, ())
    assert (colourless.grey, colourless.colourless) == (True, True)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (500, 1), (2, 2), (30, 100), (63, 300)])
def test_only_the_colour_of_small_pictures_is_determined(size: tuple[int, int]) -> None:
    out = io.BytesIO()
    picture = Image.new("RGB", size, "red")
    ImageDraw.Draw(picture).line((size[0] // 2, 20, size[0] // 2, 60), fill="black", width=4)
    picture.save(out, "JPEG", quality=95)
    seen = analyse_scene("dot.jpg", out.getvalue())
    assert (seen.photograph, seen.drawn, seen.colour) == (False, False, "red")


@pytest.mark.parametrize(
    ("rgb", "colour"),
    [
        ((200, 20, 20), "red"),
        ((230, 120, 20), "orange"),
        ((110, 70, 30), "brown"),
        ((240, 220, 40), "yellow"),
        ((40, 150, 60), "green"),
        ((40, 90, 200), "blue"),
        ((120, 40, 190), "purple"),
        ((240, 100, 180), "pink"),
        ((10, 10, 10), "black"),
        ((128, 128, 128), "grey"),
        ((250, 250, 250), "white"),
    ],
)
def test_colours_have_their_common_names(rgb: tuple[int, int, int], colour: str) -> None:
    out = io.BytesIO()
    Image.new("RGB", (80, 80), rgb).save(out, "JPEG", quality=95)
    assert analyse_scene("c.jpg", out.getvalue()).colour == colour


def test_an_object_has_a_colour_if_most_of_the_middle_of_its_box_has_it() -> None:
    picture = Image.new("RGB", (200, 100), "white")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((20, 20, 80, 80), fill=(200, 20, 20))
    pen.rectangle((120, 20, 150, 80), fill=(40, 90, 200))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=95)
    pixels = read_pixels("c.jpg", out.getvalue())
    assert colour_in(pixels, (0.1, 0.2, 0.4, 0.8)) == "red"
    assert colour_in(pixels, (0.6, 0.2, 0.9, 0.8)) is None  # half of it is white
    assert colour_in(pixels, (0.5, 0.5, 0.5, 0.5)) == "white"


def test_writing_has_no_rules_and_a_table_has() -> None:
    page = Image.new("RGB", (800, 1000), "white")
    pen = ImageDraw.Draw(page)
    for top in range(60, 900, 40):
        pen.text((40, top), "The tide was out and the harbour lay still as glass", fill="black", font_size=24)
    written, ruled = io.BytesIO(), io.BytesIO()
    page.save(written, "JPEG", quality=90)
    for at in range(100, 800, 200):
        pen.line((at, 50, at, 900), fill="black", width=3)
        pen.line((50, at, 750, at), fill="black", width=3)
    page.save(ruled, "JPEG", quality=90)
    assert not analyse_scene("p.jpg", written.getvalue()).ruled
    assert analyse_scene("p.jpg", ruled.getvalue()).ruled
    assert analyse_scene("p.jpg", ruled.getvalue()).tall


def test_a_broken_preview_has_no_scene() -> None:
    with pytest.raises(UnreadableFile, match=r"^a\.jpg: "):
        analyse_scene("a.jpg", b"\xff\xd8nothing")
