"""Draw the scenes that detector, scene statistics and captions are tested with: python tests/samples/make_scenes.py"""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FOLDER = Path(__file__).parent / "scenes"
SIZE = 480


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, picture, quality in (
        ("stop.jpg", stop_sign(), 80),
        ("clock.jpg", clock(), 80),
        ("page.jpg", page(), 60),
        ("diagram.jpg", diagram(), 80),
        ("hills.jpg", hills(), 70),
        ("night.jpg", night(), 70),
        ("blue.jpg", Image.new("RGB", (320, 240), (30, 60, 200)), 80),
    ):
        picture.save(FOLDER / name, quality=quality, optimize=True)


def noise(size: tuple[int, int], seed: int) -> Image.Image:
    """Grey grain, the same at every run: a linear congruential generator needs no library to agree with."""
    state, values = seed, bytearray()
    for _ in range(size[0] * size[1]):
        state = (state * 1103515245 + 12345) % 2**31
        values.append(state >> 23)
    return Image.frombytes("L", size, bytes(values))


def sky(size: tuple[int, int] = (SIZE, SIZE)) -> Image.Image:
    """A soft sky over grass, with the grain of a photograph."""
    picture = Image.new("RGB", size)
    pen = ImageDraw.Draw(picture)
    for y in range(size[1]):
        part = y / size[1]
        pen.line((0, y, size[0], y), (int(90 + 110 * part), int(140 + 80 * part), int(210 + 30 * part)))
    pen.rectangle((0, int(size[1] * 0.8), *size), (80, 110, 60))
    return grained(picture, 24)


def grained(picture: Image.Image, strength: int, seed: int = 7) -> Image.Image:
    grain = Image.merge("RGB", [noise(picture.size, seed + band) for band in range(3)])
    return Image.blend(picture, grain, strength / 255).filter(ImageFilter.GaussianBlur(0.6))


def stop_sign() -> Image.Image:
    picture = sky()
    pen = ImageDraw.Draw(picture)
    pen.rectangle((232, 300, 248, 480), (120, 120, 125))
    for radius, colour in ((138, (235, 235, 235)), (128, (190, 20, 30))):
        corners = [(240 + radius * math.cos(a), 200 + radius * math.sin(a)) for a in _eighths()]
        pen.polygon(corners, fill=colour)
    pen.text((240, 200), "STOP", fill=(245, 245, 245), font=ImageFont.load_default(88), anchor="mm", stroke_width=3)
    return picture.filter(ImageFilter.GaussianBlur(0.8))


def _eighths() -> list[float]:
    return [math.pi / 8 + math.pi / 4 * step for step in range(8)]


def clock() -> Image.Image:
    picture = grained(Image.new("RGB", (SIZE, SIZE), (170, 150, 120)), 20)
    pen = ImageDraw.Draw(picture)
    pen.ellipse((90, 90, 390, 390), fill=(40, 35, 30))
    pen.ellipse((105, 105, 375, 375), fill=(245, 243, 235))
    for hour in range(1, 13):
        angle = math.radians(hour * 30 - 90)
        at = (240 + 108 * math.cos(angle), 240 + 108 * math.sin(angle))
        pen.text(at, str(hour), fill=(20, 20, 20), font=ImageFont.load_default(30), anchor="mm")
    pen.line((240, 240, 240 + 55, 240 - 35), fill=(10, 10, 10), width=9)
    pen.line((240, 240, 240 - 30, 240 - 85), fill=(10, 10, 10), width=6)
    pen.ellipse((231, 231, 249, 249), fill=(10, 10, 10))
    return picture.filter(ImageFilter.GaussianBlur(0.8))


def page() -> Image.Image:
    picture = Image.new("RGB", (600, 800), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(18)
    for line in range(26):
        pen.text((60, 60 + line * 26), "The tide was out and the harbour lay still as glass.", fill="black", font=font)
    return picture


def diagram() -> Image.Image:
    picture = Image.new("RGB", (640, 480), (250, 240, 200))
    pen = ImageDraw.Draw(picture)
    for left, top, colour in ((60, 60, "orange"), (380, 60, "teal"), (220, 300, "crimson")):
        pen.rectangle((left, top, left + 200, top + 110), fill=colour, outline="black", width=4)
    pen.line((260, 115, 380, 115), fill="black", width=5)
    pen.line((160, 170, 300, 300), fill="black", width=5)
    return picture


def hills() -> Image.Image:
    """Rough ground under a sky: texture everywhere and many colours, as a photograph has."""
    size = (480, 360)
    rough = noise(size, 3).filter(ImageFilter.GaussianBlur(1.2))
    shades = Image.merge("RGB", [rough, noise(size, 4).filter(ImageFilter.GaussianBlur(1.5)), noise(size, 5)])
    ground = Image.blend(sky(size), shades, 0.45)
    pen = ImageDraw.Draw(ground)
    for step in range(60):
        x = (step * 97) % size[0]
        pen.line((x, 200 + (step * 53) % 140, x + 5, 190 + (step * 53) % 140), fill=(30, 40 + step, 20), width=2)
    return ground.filter(ImageFilter.GaussianBlur(0.5))


def night() -> Image.Image:
    picture = grained(Image.new("RGB", (320, 240), (8, 8, 14)), 10)
    pen = ImageDraw.Draw(picture)
    for step in range(12):
        pen.point(((step * 83) % 320, (step * 47) % 240), fill="white")
    return picture


if __name__ == "__main__":
    main()
