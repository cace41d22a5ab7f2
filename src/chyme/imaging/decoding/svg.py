"""Drawings in SVG: nothing is loaded from elsewhere, and the size is ours to choose."""

from __future__ import annotations

import base64
import binascii
import io
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.imaging.decoding.pillow import open_header, pillow_limits

if TYPE_CHECKING:
    from PIL import Image

SVG_BYTES = 50 << 20  # markup, all in memory several times over
DRAWN = 1024  # longest side of drawings that say they are smaller: they lose nothing by being drawn larger
LARGEST = 8192
INSIDE_PIXELS = 50_000_000  # of all pictures inside one drawing
DOTS_AN_INCH = 96
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_LENGTH = re.compile(
    r"\s*([0-9]{1,12}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})(?:e\+?([0-9]))?\s*(px|pt|pc|mm|cm|in)?\s*$", re.I
)
_INLINE = re.compile(r"data:image/(?:png|jpe?g|gif|webp);base64,", re.IGNORECASE)
ENDLESS = "its XML has entities that never end or do not exist"
NOTE = "pictures that the drawing takes from elsewhere, or that are too large, are left out"


@dataclass(frozen=True, slots=True)
class SvgDrawing:
    """A drawing made harmless, with the size it asks for."""

    markup: str
    width: int
    height: int
    note: str | None

    def image(self, longest: int | None) -> Image.Image:
        """Drawn so that its longest side is `longest`, or what it asks for within reason."""
        import resvg_py
        from PIL import Image

        natural = max(self.width, self.height)
        side = min(max(natural, DRAWN), longest or LARGEST, LARGEST)
        wide = self.width >= self.height
        png = resvg_py.svg_to_bytes(
            svg_string=self.markup,
            width=side if wide else None,
            height=None if wide else side,
            background="white",
            dpi=DOTS_AN_INCH,  # without it, everything measured in cm has no size
        )
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            return image.convert("RGB")


def parse_svg(data: bytes) -> SvgDrawing:
    """The drawing without anything that reaches outside. ValueError when it is none."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        endless = "entity" in (error.msg or "")
        raise ValueError(ENDLESS if endless else f"its XML is broken: {error.msg}") from None
    if etree.QName(root).localname != "svg":
        raise ValueError("its XML is not SVG")
    left_out = _made_harmless(root)
    width, height = _asked_size(root)
    root.set("width", str(width))
    root.set("height", str(height))
    return SvgDrawing(
        etree.tostring(root, encoding="unicode", with_tail=False), width, height, NOTE if left_out else None
    )


def _made_harmless(root: Any) -> bool:
    """Drop references to anything outside, and entities. Whether a picture went with them."""
    from lxml import etree

    left_out, pixels = False, 0
    for element in list(root.iter()):
        if element.tag is etree.Entity:
            element.getparent().remove(element)
            continue
        if not isinstance(element.tag, str):
            continue
        for attribute in list(element.attrib):
            if etree.QName(attribute).localname.lower() != "href":
                continue
            target = element.attrib[attribute].strip()
            if target.startswith("#") or etree.QName(element).localname == "a":
                continue
            pixels += _pixels_inside(target)
            if pixels > INSIDE_PIXELS or not _INLINE.match(target):
                del element.attrib[attribute]
                left_out = True
    return left_out


def _pixels_inside(target: str) -> int:
    """How many pixels a picture written into the drawing has; more than allowed when nobody can tell."""
    start = _INLINE.match(target)
    if not start:
        return 0
    try:
        data = base64.b64decode(target[start.end() :], validate=False)
        with pillow_limits(None), open_header(io.BytesIO(data)) as image:
            return image.width * image.height
    except (OSError, ValueError, SyntaxError, binascii.Error):
        return INSIDE_PIXELS + 1


def _asked_size(root: Any) -> tuple[int, int]:
    """Width and height in pixels, from the attributes or the view box; where neither tells, as browsers have it."""
    numbers = re.split(r"[\s,]+", root.get("viewBox", "").strip())
    box = [_number(number) for number in numbers[2:4]] if len(numbers) == 4 else []
    across, down = (box[0], box[1]) if len(box) == 2 and all(box) else (None, None)
    width, height = _length(root.get("width")), _length(root.get("height"))
    if width and not height:
        height = width * down / across if across and down else width
    elif height and not width:
        width = height * across / down if across and down else height
    return _pixels(width or across or 300.0), _pixels(height or down or 150.0)


def _length(text: str | None) -> float | None:
    found = _LENGTH.match(text or "")
    if not found:
        return None
    return float(found[1]) * 10.0 ** int(found[2] or 0) * _UNITS[(found[3] or "").lower()] or None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _pixels(length: float) -> int:
    return max(1, min(round(length), 10**9))
