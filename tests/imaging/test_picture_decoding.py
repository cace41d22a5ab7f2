"""Pictures of every sort come out upright, in RGB, within limits; broken ones fail with a reason."""

from __future__ import annotations

import base64
import io
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pillow_heif
import pillow_jxl  # noqa: F401 - Pillow saves JPEG XL once this is imported
import pytest
from PIL import Image, ImageCms, ImageFile
from PIL.TiffImagePlugin import IFDRational

from chyme.errors import DigestError, LimitReached, UnreadableFile, UnsupportedFile
from chyme.imaging.decoding.decoder_interface import PictureLimits
from chyme.imaging.decoding.headers import jxl_size
from chyme.imaging.decoding.metadata import facts_of, orientation_of
from chyme.imaging.decoding.reader import SAVE_AS_HINT, Picture, frames, open_picture

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "pictures"
LIMITS = PictureLimits()
CORNERS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}
UPRIGHT = ["red", "lime", "blue", "yellow"]
GREY = (128, 128, 128)


def show(name: str, data: bytes | None = None, longest: int | None = None, limits: PictureLimits = LIMITS) -> Picture:
    return open_picture(name, io.BytesIO((SAMPLES / name).read_bytes() if data is None else data), limits, longest)


def corners(image: Image.Image) -> list[str]:
    """The colours top left, top right, bottom left and bottom right."""
    width, height = image.size
    points = [(x, y) for y in (height // 8, height * 7 // 8) for x in (width // 8, width * 7 // 8)]
    return [min(CORNERS, key=lambda name: far(image, point, CORNERS[name])) for point in points]


def far(image: Image.Image, point: tuple[int, int], colour: tuple[int, int, int]) -> int:
    found = image.getpixel(point)
    assert isinstance(found, tuple)
    return sum(abs(value - wanted) for value, wanted in zip(found, colour, strict=True))


def png(width: int, height: int, depth: int = 8, kind: int = 2, rest: bytes = b"") -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + rest + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def saved(image: Image.Image, kind: str, **how: Any) -> bytes:
    image.save(out := io.BytesIO(), kind, **how)
    return out.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        *(f"lying_{orientation}.jpg" for orientation in range(1, 9)),
        *(f"lying_6.{extension}" for extension in ("tiff", "webp", "png", "heic", "avif")),
        *("jpeg_named.heic", "travel.jpg", "travel.heic", "scene.bmp", "scene.jxl", "cmyk.jpg", "palette.png"),
        *("clear.png", "pages.tiff", "moving.gif", "moving.webp", "camera.dng"),
    ],
)
def test_every_picture_comes_out_upright_in_rgb_whole_and_small(name: str) -> None:
    whole, small = show(name), show(name, longest=48)
    assert (whole.width, whole.height) == (small.width, small.height) == (96, 64)
    assert whole.image.size == (96, 64)
    assert small.image.size == (48, 32)
    assert whole.image.mode == small.image.mode == "RGB"
    assert corners(whole.image) == corners(small.image) == UPRIGHT
    assert far(whole.image, (8, 8), CORNERS["red"]) < 60


@pytest.mark.parametrize(
    ("name", "kind", "mime", "count", "orientation", "animated"),
    [
        ("jpeg_named.heic", "JPEG", "image/jpeg", 1, 6, False),
        ("lying_6.heic", "HEIC", "image/heic", 1, 6, False),
        ("lying_6.avif", "AVIF", "image/avif", 1, 6, False),
        ("lying_6.tiff", "TIFF", "image/tiff", 1, 6, False),
        ("scene.jxl", "JPEG XL", "image/jxl", 1, 1, False),
        ("scene.bmp", "BMP", "image/bmp", 1, 1, False),
        ("scene.svg", "SVG", "image/svg+xml", 1, 1, False),
        ("pages.tiff", "TIFF", "image/tiff", 3, 1, False),
        ("moving.gif", "GIF", "image/gif", 3, 1, True),
        ("moving.webp", "WebP", "image/webp", 2, 1, True),
        ("camera.dng", "DNG", "image/x-adobe-dng", 1, 1, False),
    ],
)
def test_the_format_is_detected_by_content(
    name: str, kind: str, mime: str, count: int, orientation: int, animated: bool
) -> None:
    found = show(name)
    assert (found.format, found.mime, found.frames, found.orientation) == (kind, mime, count, orientation)
    assert found.animated is animated
    assert open_picture("unnamed", io.BytesIO((SAMPLES / name).read_bytes()), LIMITS).width == found.width


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("JPEG2000", "JPEG 2000"),
        ("PPM", "PNM"),
        ("PCX", "PCX"),
        ("TGA", "TGA"),
        ("QOI", "QOI"),
        ("ICO", "ICO"),
        ("MPO", "JPEG"),
    ],
)
def test_rare_formats_are_read_too(kind: str, expected: str) -> None:
    whole = show("scene.bmp").image.resize((128, 128))
    how: dict[str, Any] = {"ICO": {"sizes": [(128, 128)]}, "MPO": {"save_all": True, "append_images": [whole]}}
    found = show(f"a.{kind.lower()}", saved(whole, kind, **how.get(kind, {})))
    assert (found.format, found.width, found.height, found.frames) == (expected, 128, 128, 1)
    assert corners(found.image) == UPRIGHT


def test_a_jpeg_packed_as_jpeg_xl_is_turned_once(tmp_path: Path) -> None:
    with Image.open(SAMPLES / "lying_6.jpg") as image:
        image.save(tmp_path / "packed.jxl", lossless_jpeg=True)
    found = show("packed.jxl", (tmp_path / "packed.jxl").read_bytes())
    assert (found.width, found.height) == (96, 64)
    assert corners(found.image) == UPRIGHT


def test_a_picture_is_never_enlarged() -> None:
    assert show("travel.jpg", longest=5000).image.size == (96, 64)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "CMYK", "1", "LA", "HEIC"])
def test_a_large_picture_is_reduced_to_the_same_as_by_a_slow_resize(mode: str) -> None:
    whole = Image.radial_gradient("L").resize((2600, 1800)).convert("RGB" if mode == "HEIC" else mode)
    if mode == "HEIC":
        pillow_heif.from_pillow(whole).save(out := io.BytesIO(), quality=50)
        found = show("x", out.getvalue(), longest=100).image
    else:
        found = show("x", saved(whole, "TIFF"), longest=100).image
    slow = whole.convert("RGB").resize((100, 69), Image.Resampling.BOX)
    assert found.size == slow.size
    pairs = zip(found.tobytes(), slow.tobytes(), strict=True)
    assert sum(abs(value - wanted) for value, wanted in pairs) / len(slow.tobytes()) < 4


def test_sixteen_and_twelve_bits_keep_their_shades() -> None:
    image = show("grey16.png").image
    assert [image.getpixel((x, 0)) for x in (0, 100, 255)] == [(0, 0, 0), (100, 100, 100), (255, 255, 255)]
    twelve = Image.frombytes("I;16", (3, 1), struct.pack("<3H", 0, 2048, 4095))
    assert show("x", saved(twelve, "TIFF")).image.tobytes() == bytes([0] * 3 + [128] * 3 + [255] * 3)


def test_values_that_are_not_numbers_are_black() -> None:
    assert show("float.tiff").image.tobytes()[::3] == bytes([0, 128, 255, 0])


def test_transparency_becomes_white() -> None:
    for name in ("clear.png", "clear_grey.png"):
        assert show(name).image.getpixel((48, 32)) == (255, 255, 255)


def swapped_profile() -> bytes:
    """sRGB with red and blue the other way round."""
    data = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return (
        data.replace(b"rXYZ", b"swap").replace(b"bXYZ", b"rXYZ").replace(b"swap", b"bXYZ").replace(b"\0s\0R", b"\0x\0R")
    )


def test_an_embedded_profile_is_turned_into_srgb() -> None:
    data = saved(Image.new("RGB", (4, 4), (250, 10, 20)), "PNG", icc_profile=swapped_profile())
    red, _, blue = show("x", data).image.getpixel((0, 0))  # type: ignore[misc]
    assert (red < 60, blue > 200) == (True, True)


@pytest.mark.parametrize("profile", [b"x" * 200, swapped_profile()[:300], bytes(5 << 20)])
def test_a_broken_profile_is_left_aside(profile: bytes) -> None:
    data = saved(Image.new("RGB", (4, 4), (250, 10, 20)), "TIFF", icc_profile=profile)
    assert show("x", data).image.getpixel((0, 0)) == (250, 10, 20)


def boxed(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", len(data) + 8, kind) + data


def huge() -> Iterator[tuple[str, bytes]]:
    yield "bomb.png", png(60000, 60000)
    moving = (SAMPLES / "moving.gif").read_bytes()
    yield "bomb.gif", moving[:6] + struct.pack("<HH", 65535, 65535) + moving[10:]
    bitmap = struct.pack("<IiiHHIIiiII", 40, 50000, 50000, 1, 24, 0, 0, 0, 0, 0, 0)
    yield "bomb.bmp", b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + bitmap
    tiff = saved(Image.new("RGB", (30, 20)), "TIFF")
    yield "bomb.tiff", tiff.replace(struct.pack("<HHII", 256, 4, 1, 30), struct.pack("<HHII", 256, 4, 1, 50_000_000))
    heic = (SAMPLES / "travel.heic").read_bytes()
    sizes = struct.pack(">4sIII", b"ispe", 0, 96, 64), struct.pack(">4sIII", b"ispe", 0, 30000, 20000)
    assert sizes[0] in heic
    yield "bomb.heic", heic.replace(*sizes)
    size = 0 | 2 << 1 | (99_999 << 3) | 1 << 21  # not small, eighteen bits of height, as wide as high
    codestream = b"\xff\x0a" + size.to_bytes(12, "little")
    yield "bomb.jxl", codestream
    packed = boxed(b"JXL ", b"\r\n\x87\n") + boxed(b"ftyp", b"jxl \0\0\0\0jxl ") + boxed(b"jxlp", bytes(4) + codestream)
    yield "bomb_in_boxes.jxl", packed
    moving = (SAMPLES / "moving.webp").read_bytes()
    yield "bomb.webp", moving[:24] + (16382).to_bytes(3, "little") * 2 + moving[30:]
    inside = png(60000, 60000)
    yield "bomb.ico", struct.pack("<HHHBBBBHHII", 0, 1, 1, 0, 0, 0, 0, 1, 32, len(inside), 22) + inside


@pytest.mark.parametrize(("name", "data"), list(huge()), ids=[name for name, _ in huge()])
@pytest.mark.parametrize("longest", [None, 100])
def test_too_many_pixels_are_refused_before_decoding(name: str, data: bytes, longest: int | None) -> None:
    with pytest.raises(LimitReached, match=rf"^{name}: .*image_pixels"):
        show(name, data, longest)


def test_pixels_at_the_limit_are_read_and_one_more_is_not() -> None:
    assert show("scene.bmp", limits=PictureLimits(image_pixels=96 * 64)).width == 96
    with pytest.raises(LimitReached, match="96 × 64 pixels"):
        show("scene.bmp", limits=PictureLimits(image_pixels=96 * 64 - 1))


@pytest.mark.parametrize(
    "name",
    ["travel.jpg", "travel.heic", "scene.jxl", "lying_6.avif", "pages.tiff", "moving.webp", "camera.dng", "cut.jpg"],
)
def test_the_limit_of_pixels_holds_for_every_decoder(name: str) -> None:
    with pytest.raises(LimitReached, match="image_pixels"):
        show(name, limits=PictureLimits(image_pixels=4000))


def test_a_picture_inside_that_is_larger_than_the_header_says_is_refused() -> None:
    inside = saved(Image.radial_gradient("L").resize((300, 300)), "PNG")
    icon = struct.pack(">4sI4sI", b"icns", len(inside) + 16, b"ic07", len(inside) + 8) + inside  # for 128 × 128
    with pytest.raises(LimitReached, match="larger than the header says"):
        show("a.icns", icon, limits=PictureLimits(image_pixels=256 * 256))


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(LimitReached, match=r"^scene.bmp: .*image_bytes"):
        show("scene.bmp", limits=PictureLimits(image_bytes=1000))


def test_the_size_in_a_jpeg_xl_header_is_read_in_every_shape() -> None:
    for size in ((96, 64), (8, 8), (300, 200), (1000, 1000), (513, 20), (1, 1), (160, 90), (9000, 3)):
        data = saved(Image.new("RGB", size), "JXL")
        assert jxl_size(io.BytesIO(data), len(data)) == size


def test_the_switches_of_pillow_are_as_before() -> None:
    before = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    for name in ("cut.jpg", "travel.jpg", "cut.heic"):
        try:
            show(name)
        except UnreadableFile:
            continue
    assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)


def test_a_cut_file_shows_what_is_left_and_says_so() -> None:
    found = show("cut.jpg")
    assert found.note == "file ends early: the lower part is missing"
    assert len(set(found.image.crop((0, 0, 64, 8)).tobytes())) > 100


def test_a_large_heic_that_is_cut_shows_what_is_left_and_says_so() -> None:
    noise = Image.frombytes("RGB", (512, 512), random.Random(3).randbytes(512 * 512 * 3))
    pillow_heif.from_pillow(noise).save(out := io.BytesIO(), quality=50, tile_size=256)
    found = show("x.heic", out.getvalue()[: len(out.getvalue()) * 6 // 10])
    assert found.note == "file ends early: a part of the picture is missing"


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("cut.heic", None, "ends early"),
        ("empty.png", b"", "empty"),
        ("noise.jpg", random.Random(5).randbytes(5000), "nothing in it looks like a picture"),
        ("only_start.jpg", (SAMPLES / "travel.jpg").read_bytes()[:200], "cannot be read as JPEG"),
        ("blank.png", (SAMPLES / "clear.png").read_bytes()[:60], "cannot be read as PNG"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><rect", "XML is broken"),
        ("a.jxl", b"\xff\x0a" + bytes(40), "cannot be read as JPEG XL"),
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100), "cannot be read as HEIC"),
    ],
)
def test_a_hopeless_file_says_its_name_the_cause_and_the_way_out(name: str, data: bytes | None, why: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        show(name, data)
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert why in message
    assert "; " in message
    assert "0x" not in message


def test_an_unsupported_sort_of_picture_is_reported_as_such() -> None:
    with pytest.raises(UnsupportedFile, match=r"^a\.cr3: .*no preview.*save it as JPEG"):
        show("a.cr3", b"\0\0\0\x18ftypcrx \0\0\0\1crx isom" + bytes(5000))


def test_a_file_the_first_decoder_refuses_is_read_by_the_second() -> None:
    whole = saved(Image.radial_gradient("L").convert("RGB"), "PNG")
    broken = whole[:33] + struct.pack(">I", 0) + b"sRGB" + struct.pack(">I", zlib.crc32(b"sRGB")) + whole[33:]
    found = show("x.png", broken)
    assert found.image.tobytes() == Image.radial_gradient("L").convert("RGB").tobytes()
    assert found.note == "file is damaged: the picture may have faults"


def test_a_header_with_a_wrong_sum_is_read_by_ffmpeg_within_the_same_limit() -> None:
    data = bytearray(saved(show("scene.bmp").image, "PNG"))
    data[29] ^= 1
    assert corners(show("x.png", bytes(data)).image) == UPRIGHT
    with pytest.raises(DigestError, match=r"^x.png: "):
        show("x.png", bytes(data), limits=PictureLimits(image_pixels=4000))


def test_directories_that_point_at_each_other_end() -> None:
    pointing = [(330, 4, 8)] * 2
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in pointing)
    data = struct.pack("<4sIH", b"II*\0", 8, len(pointing)) + entries + struct.pack("<I", 8)
    with pytest.raises(UnsupportedFile, match=r"^a.nef: .*no preview"):
        show("a.nef", data)


def test_messages_of_decoders_are_reported_without_paths(tmp_path: Path) -> None:
    (tmp_path / "cut.avif").write_bytes((SAMPLES / "lying_6.avif").read_bytes()[:200])
    with (tmp_path / "cut.avif").open("rb") as stream, pytest.raises(UnreadableFile) as caught:
        open_picture("cut.avif", stream, LIMITS)
    cause, _, way_out = str(caught.value).partition("; ")
    assert " (other decoders: " in cause and way_out == SAVE_AS_HINT
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(("kind", "bands"), [("float64", 1), ("float64", 3), ("float32", 4), ("int32", 3)])
def test_layouts_of_tiff_that_only_scientists_use_are_read(kind: str, bands: int) -> None:
    import cv2
    import numpy

    values = numpy.zeros((10, 20, bands), kind)
    values[:, 10:] = 1 if kind.startswith("float") else 255
    values[:, :10, 0] = values.max() / 2  # blue comes first
    done, data = cv2.imencode(".tiff", values)
    assert done
    found = show("x.tiff", data.tobytes())
    assert (found.width, found.height, found.note) == (20, 10, None)
    left = found.image.getpixel((2, 2))
    assert left in ([(127, 127, 127), (128, 128, 128)] if bands == 1 else [(0, 0, 127), (0, 0, 128)])
    assert found.image.getpixel((18, 2)) == (255, 255, 255)


@pytest.mark.parametrize("name", ["lying_6.jpg", "travel.heic", "pages.tiff", "clear.png", "scene.jxl", "scene.svg"])
def test_damage_anywhere_never_raises_anything_else(name: str) -> None:
    whole = (SAMPLES / name).read_bytes()
    chance = random.Random(name)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        cut = bytes(data[: chance.randint(1, len(data))] if chance.random() < 0.3 else data)
        try:
            show(name, cut, 64, PictureLimits(image_pixels=4_000_000))
        except DigestError as error:
            assert str(error).startswith(f"{name}: ")


def test_metadata_of_the_camera_is_read() -> None:
    expected = {
        "title": "Harbour",
        "description": "Gulls in the harbour",
        "keywords": ["gulls", "Ålesund"],
        "taken": "2024-07-06T12:34:56+02:00",
        "camera": {"make": "Kamera GmbH", "model": "K-1", "lens": "50mm f/1.8"},
        "exposure": {"seconds": 0.004, "aperture": 2.8, "iso": 200, "focal_length": 50.0},
        "place": {"latitude": 53.546017, "longitude": -9.95, "altitude": 12.3},
    }
    assert show("travel.jpg").facts == expected
    assert show("travel.heic").facts == expected
    assert list(show("travel.jpg").facts) == list(expected)


class Exif(dict[int, Any]):
    """EXIF as Pillow gives it, with anything in it."""

    def get_ifd(self, tag: int) -> Any:
        inside = self.get(-tag, {})
        if isinstance(inside, Exception):
            raise inside
        return inside


@pytest.mark.parametrize(
    ("exif", "expected"),
    [
        ({}, {}),
        ({0x010F: b"Caf\xe9\x00rest"}, {"camera": {"make": "Café"}}),
        ({0x010F: "Café".encode()}, {"camera": {"make": "Café"}}),
        ({0x010F: "\x00\x01 \n"}, {}),
        ({0x010F: 12, 0x0110: ("A  B\x07",)}, {"camera": {"model": "A B"}}),
        ({0x010F: "x" * 10_000_000}, {"camera": {"make": "x" * 499 + "…"}}),
        ({0x010E: "SONY DSC"}, {}),
        ({0x9C9B: "Über uns".encode("utf-16-le") + b"\0\0"}, {"title": "Über uns"}),
        ({0x9C9E: tuple("a; b;".encode("utf-16-le"))}, {"keywords": ["a", "b"]}),
        ({0x9C9B: (999, -1)}, {}),
        ({-0x8769: RecursionError("loop")}, {}),
        ({-0x8769: 7, -0x8825: None}, {}),
        ({-0x8769: {0x829A: IFDRational(1, 0), 0x829D: float("nan"), 0x8827: 10**400, 0x920A: "long"}}, {}),
        ({-0x8769: {0x829A: -1, 0x829D: 1e300, 0x8827: (100, 200)}}, {"exposure": {"iso": 100}}),
        ({-0x8769: {0x9003: "2024:02:30 10:00:00"}}, {}),
        ({-0x8769: {0x9003: "0000:00:00 00:00:00"}, 0x0132: "2020:01:02 03:04:05"}, {"taken": "2020-01-02T03:04:05"}),
        ({-0x8769: {0x9003: "2024:01:02 03:04:05", 0x9011: "+99:99"}}, {"taken": "2024-01-02T03:04:05"}),
        ({-0x8825: {1: "N", 2: (91, 0, 0), 3: "E", 4: (1, 0, 0)}}, {}),
        ({-0x8825: {1: "N", 2: (IFDRational(0, 0), 0, 0), 3: "E", 4: (1, 0, 0)}}, {}),
        ({-0x8825: {1: "N", 2: (0, 0, 0), 3: "E", 4: (0, 0, 0)}}, {}),
        ({-0x8825: {1: "S", 2: (1, 30), 3: "W", 4: (2,)}}, {"place": {"latitude": -1.5, "longitude": -2.0}}),
        (
            {-0x8825: {2: (1, 0, 0), 4: (2, 0, 0), 5: b"\x01", 6: 40}},
            {"place": {"latitude": 1.0, "longitude": 2.0, "altitude": -40.0}},
        ),
        ({-0x8825: {2: (1, 0, 0), 4: (2, 0, 0), 6: 1e9}}, {"place": {"latitude": 1.0, "longitude": 2.0}}),
        ({-0x8825: {2: (1, 99, 0), 4: (2, 0, 0)}}, {}),
        ({-0x8825: {2: 5, 4: "x"}}, {}),
    ],
)
def test_odd_metadata_is_mended_or_left_out(exif: dict[int, Any], expected: dict[str, Any]) -> None:
    assert facts_of(Exif(exif), {}) == expected


def test_words_come_from_iptc_and_png_text_too_and_broken_xmp_does_no_harm() -> None:
    iptc = {(2, 5): b"Titel", (2, 120): b"Beschreibung \xfc", (2, 25): [b"eins", b"zwei", b"eins"]}
    assert facts_of({}, {"iptc": iptc, "xmp": b"<broken"}) == {
        "title": "Titel",
        "description": "Beschreibung ü",
        "keywords": ["eins", "zwei"],
    }
    assert facts_of({}, {"Title": "A", "Description": "B"}) == {"title": "A", "description": "B"}
    assert facts_of({}, {"xmp": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'}) == {}


@pytest.mark.parametrize("stored", [0, 9, "left", None, float("nan"), 1e99, b"\x06"])
def test_an_invalid_orientation_leaves_the_picture_as_it_is(stored: object) -> None:
    assert orientation_of({0x0112: stored}) == 1


def svg(inside: str, attributes: str = 'width="40" height="20"') -> bytes:
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"'
    return f"<svg {spaces} {attributes}>{inside}</svg>".encode()


def test_a_drawing_is_drawn_at_the_requested_size_and_its_own_size_is_reported() -> None:
    found = show("scene.svg", longest=500)
    assert (found.width, found.height) == (181, 121)
    assert found.image.size[0] == 500
    assert corners(found.image) == UPRIGHT
    assert found.note is None


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="100000000" height="50000000"', (100000000, 50000000)),
        ('width="1e9" height="1"', (1000000000, 1)),
        ('viewBox="0 0 30 60"', (30, 60)),
        ('width="10" viewBox="0 0 30 60"', (10, 20)),
        ('width="100%" height="0" viewBox="0,0,7,7"', (7, 7)),
        ('width="nan" height="inf"', (300, 150)),
        ("", (300, 150)),
    ],
)
def test_drawings_of_any_size_are_drawn_small(attributes: str, size: tuple[int, int]) -> None:
    found = show("a.svg", svg('<rect width="5" height="5"/>', attributes), longest=64)
    assert (found.width, found.height) == size
    assert max(found.image.size) == 64
    assert max(show("a.svg", svg("<rect/>", attributes)).image.size) <= 8192


@pytest.mark.parametrize("link", ['href="{}"', "l:href='{}'", 'href=" file://{}"', 'href="&#47;{}"'])
def test_a_drawing_takes_nothing_from_elsewhere(link: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    Image.new("RGB", (9, 9), "black").save(secret)
    target = str(secret) if "&#47;" not in link else str(secret)[1:]
    found = show("a.svg", svg(f'<image width="40" height="20" {link.format(target)}/>'))
    assert found.image.getextrema() == ((255, 255),) * 3
    assert found.note
    assert "left out" in found.note


def test_pictures_inside_a_drawing_are_shown_unless_they_are_bombs() -> None:
    def inside(data: bytes) -> Picture:
        link = "data:image/png;base64," + base64.b64encode(data).decode()
        return show("a.svg", svg(f'<image width="40" height="20" href="{link}"/>'))

    good = inside(saved(Image.new("RGB", (40, 20), "black"), "PNG"))
    assert (good.note, good.image.getpixel((20, 10))) == (None, (0, 0, 0))
    bomb = inside(png(60000, 60000))
    assert bomb.note
    assert bomb.image.getpixel((20, 10)) == (255, 255, 255)


def test_a_drawing_measured_in_centimetres_is_drawn() -> None:
    rectangle = b'<rect x=".1cm" width=".8cm" height="1cm"/>'
    data = b'<svg width="1cm" height="1cm" xmlns="http://www.w3.org/2000/svg">' + rectangle + b"</svg>"
    image = show("a.svg", data).image
    middle, edge = image.width // 2, image.width // 50
    assert image.getpixel((middle, middle)) == (0, 0, 0)
    assert image.getpixel((edge, middle)) == (255, 255, 255)


def test_entities_are_not_expanded_in_a_drawing() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    data = f'<!DOCTYPE svg [<!ENTITY l0 "ha">{laughs}]>'.encode() + svg("<text y='9'>&l9;</text>")
    try:
        assert show("a.svg", data).image.getextrema() == ((255, 255),) * 3
    except UnreadableFile as error:
        assert "entities" in str(error)


def test_the_pages_of_a_tiff_come_one_at_a_time() -> None:
    pages = frames(io.BytesIO((SAMPLES / "pages.tiff").read_bytes()), "pages.tiff", LIMITS)
    number, first = next(pages)
    assert (number, corners(first)) == (1, UPRIGHT)
    assert [(number, page.size, page.mode) for number, page in pages] == [(2, (64, 96), "RGB"), (3, (40, 40), "RGB")]


def test_a_page_that_cannot_be_decoded_does_not_change_the_numbers_of_the_others() -> None:
    noise = [Image.frombytes("L", (90, 90), random.Random(seed).randbytes(8100)) for seed in range(3)]
    data = saved(noise[0], "TIFF", save_all=True, append_images=noise[1:], compression="tiff_adobe_deflate")
    with Image.open(io.BytesIO(data)) as image:
        image.seek(1)
        at = image.tag_v2[273][0]  # type: ignore[attr-defined]  # where the second page's bytes are
    broken = data[:at] + bytes(500) + data[at + 500 :]
    assert [number for number, _ in frames(io.BytesIO(broken), "broken.tiff", LIMITS)] == [1, 3]


def test_other_files_have_one_page_even_when_they_move() -> None:
    with (SAMPLES / "moving.gif").open("rb") as stream:
        ((_, only),) = frames(stream, "moving.gif", LIMITS)
    assert corners(only) == UPRIGHT


def test_a_later_page_that_is_too_large_is_refused_when_it_is_reached() -> None:
    pages = frames(io.BytesIO((SAMPLES / "pages.tiff").read_bytes()), "pages.tiff", PictureLimits(image_pixels=96 * 64))
    assert len(list(pages)) == 3
    large = saved(Image.new("L", (9, 9)), "TIFF", save_all=True, append_images=[Image.new("L", (99, 99))])
    pages = frames(io.BytesIO(large), "large.tiff", PictureLimits(image_pixels=100))
    assert next(pages)[1].size == (9, 9)
    with pytest.raises(LimitReached, match=r"^large.tiff: 99 × 99"):
        next(pages)


def test_a_decoder_that_is_not_installed_is_named_with_the_way_to_get_it() -> None:
    code = (
        "import sys; sys.modules['pillow_jxl'] = None;"
        "from chyme.imaging.decoding.decoder_interface import PictureLimits;"
        "from chyme.imaging.decoding.reader import open_picture;"
        "open_picture('scene.jxl', open(sys.argv[1], 'rb'), PictureLimits())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(SAMPLES / "scene.jxl")], capture_output=True, text=True, check=False
    )
    assert "EngineUnavailable: scene.jxl: reading it needs pillow-jxl-plugin; run 'pip install" in ended.stderr
