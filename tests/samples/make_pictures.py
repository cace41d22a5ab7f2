"""Write the pictures in tests/samples/pictures: python tests/samples/make_pictures.py

The scene has a colour of its own in each corner, so that whoever sees it can tell which way up it is.
"""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path
from typing import Any

import pillow_heif
import pillow_jxl  # noqa: F401 - Pillow saves JPEG XL once this is imported
from PIL import Image, ImageDraw
from PIL.TiffImagePlugin import IFDRational

HERE = Path(__file__).parent / "pictures"
SIZE = (96, 64)
CORNERS = {"red": (0, 0), "lime": (1, 0), "blue": (0, 1), "yellow": (1, 1)}  # left or right, top or bottom
ORIENTATION = 0x0112
UNTURNED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def scene(size: tuple[int, int] = SIZE, mode: str = "RGB") -> Image.Image:
    width, height = size
    image = Image.new("RGB", size, "gray")
    draw = ImageDraw.Draw(image)
    for colour, (right, bottom) in CORNERS.items():
        left, top = right * width * 2 // 3, bottom * height * 2 // 3
        draw.rectangle((left, top, left + width // 3, top + height // 3), fill=colour)
    return image.convert(mode)


def lying(orientation: int) -> Image.Image:
    """The scene as a camera held that way stores it."""
    image = scene()
    return image.transpose(UNTURNED[orientation]) if orientation in UNTURNED else image


def told(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return exif.tobytes()


def travel_exif() -> Image.Exif:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x010E] = "Kamera GmbH", "K-1", "Gulls in the harbour"
    details = exif.get_ifd(0x8769)
    details[0x9003], details[0x9011], details[0xA434] = "2024:07:06 12:34:56", "+02:00", "50mm f/1.8"
    details[0x829A], details[0x829D] = IFDRational(1, 250), IFDRational(28, 10)
    details[0x8827], details[0x920A] = 200, IFDRational(50, 1)
    place = exif.get_ifd(0x8825)
    place[1], place[2] = "N", (IFDRational(53, 1), IFDRational(32, 1), IFDRational(4566, 100))
    place[3], place[4] = "W", (IFDRational(9, 1), IFDRational(57, 1), IFDRational(0, 1))
    place[5], place[6] = b"\x00", IFDRational(123, 10)
    return exif


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Harbour</rdf:li></rdf:Alt></dc:title>
<dc:subject><rdf:Bag><rdf:li>gulls</rdf:li><rdf:li>Ålesund</rdf:li></rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]>
<svg xmlns="&ns;" width="48mm" height="32mm" viewBox="0 0 96 64">
<rect width="96" height="64" fill="gray"/><rect width="32" height="21" fill="red"/>
<rect x="64" width="32" height="21" fill="lime"/><rect y="43" width="32" height="21" fill="blue"/>
<rect x="64" y="43" width="32" height="21" fill="yellow"/></svg>
"""


def raw_with_preview() -> bytes:
    """A TIFF as cameras write raw files: sensor data nobody here reads, and a JPEG to look at in a directory inside."""
    preview = io.BytesIO()
    scene().save(preview, "JPEG", quality=90)
    jpeg = preview.getvalue()
    sub, data = 8 + 2 + 12 * 5 + 4, 8 + 2 + 12 * 5 + 4 + 2 + 12 * 5 + 4
    first = [(256, 4, 6000), (257, 4, 4000), (259, 3, 34713), (274, 3, 1), (330, 4, sub)]
    inside = [(256, 4, SIZE[0]), (257, 4, SIZE[1]), (259, 3, 7), (273, 4, data), (279, 4, len(jpeg))]
    written = struct.pack("<4sI", b"II*\0", 8)
    for entries in (first, inside):
        written += struct.pack("<H", len(entries))
        written += b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
        written += struct.pack("<I", 0)
    return written + jpeg


def main() -> None:
    HERE.mkdir(exist_ok=True)
    pillow_heif.register_heif_opener()

    def save(name: str, image: Image.Image, **how: Any) -> None:
        image.save(HERE / name, **how)

    for orientation in range(1, 9):
        save(f"lying_{orientation}.jpg", lying(orientation), exif=told(orientation), quality=95)
    for extension in ("tiff", "webp", "png", "heic", "avif"):
        save(f"lying_6.{extension}", lying(6), exif=told(6), quality=95)
    lying(6).save(stored := io.BytesIO(), "JPEG", exif=told(6), quality=95)
    (HERE / "jpeg_named.heic").write_bytes(stored.getvalue())
    save("scene.jxl", scene(), quality=95)
    save("travel.jpg", scene(), exif=travel_exif().tobytes(), xmp=XMP.encode(), quality=95)
    save("travel.heic", scene(), exif=travel_exif().tobytes(), xmp=XMP.encode(), quality=95)
    save("scene.bmp", scene())
    save("cmyk.jpg", scene(mode="CMYK"), quality=95)
    save("palette.png", scene().quantize(16))
    save("grey16.png", Image.frombytes("I;16", (256, 4), struct.pack("<1024H", *(v % 256 * 257 for v in range(1024)))))
    save("float.tiff", Image.frombytes("F", (4, 1), struct.pack("<4f", 0.0, 0.5, 1.0, float("nan"))))
    clear = scene(mode="RGBA")
    clear.paste((0, 0, 0, 0), (32, 0, 64, 64))
    save("clear.png", clear)
    save("clear_grey.png", clear.convert("LA"))
    pages = [scene(), scene((64, 96)), Image.new("1", (40, 40), 1)]
    save("pages.tiff", pages[0], save_all=True, append_images=pages[1:], compression="tiff_deflate")
    save("moving.gif", scene(), save_all=True, append_images=[Image.new("RGB", SIZE, c) for c in ("white", "black")])
    save("moving.webp", scene(), save_all=True, append_images=[Image.new("RGB", SIZE, "white")], lossless=True)
    (HERE / "scene.svg").write_text(SVG, encoding="utf-8")
    (HERE / "camera.dng").write_bytes(raw_with_preview())

    noise = Image.frombytes("RGB", (64, 64), random.Random(7).randbytes(64 * 64 * 3))
    noise.save(whole := io.BytesIO(), "JPEG", quality=90)
    (HERE / "cut.jpg").write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])
    noise.save(whole := io.BytesIO(), "HEIF", quality=90)
    (HERE / "cut.heic").write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])


if __name__ == "__main__":
    main()
