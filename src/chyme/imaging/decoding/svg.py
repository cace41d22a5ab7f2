"""Renders SVG drawings: loads nothing from outside, at a size of our choice."""

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

SVG_BYTES = 50 << 20  # markup, in memory several times over
DRAWN = 1024  # longest side of drawings that claim to be smaller: they lose nothing by being drawn larger
LARGEST = 8192
INSIDE_PIXELS = 50_000_000  # of all pictures inside one drawing
DOTS_AN_INCH = 96
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_LENGTH = re.compile(
    r"\s*([0-9]{1,12}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})(?:e\+?([0-9]))?\s*(px|pt|pc|mm|cm|in)?\s*$", re.I
)
_INLINE_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|webp);base64,", re.IGNORECASE)
ENDLESS = "its XML has entities that never end or do not exist"
NOTE = "pictures that the drawing takes from elsewhere, or that are too large, are left out"


@dataclass(frozen=True, slots=True)
class SvgDrawing:
    """A drawing without external references, with the size it asks for."""

    markup: str
    width: int
    height: int
    note: str | None

    def image(self, longest: int | None) -> Image.Image:
        """Render it so that its longest side is `longest`, or what it asks for within limits."""
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
    """The drawing without anything that reaches outside. Raises ValueError when it is no drawing."""
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
    left_out = _sanitise(root)
    width, height = _requested_size(root)
    root.set("width", str(width))
    root.set("height", str(height))
    return SvgDrawing(
        etree.tostring(root, encoding="unicode", with_tail=False), width, height, NOTE if left_out else None
    )


def _sanitise(root: Any) -> bool:
    """Drop external references and entities. Returns whether a picture was dropped."""
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
            pixels += _embedded_pixels(target)
            if pixels > INSIDE_PIXELS or not _INLINE_PICTURE.match(target):
                del element.attrib[attribute]
                left_out = True
    return left_out


def _embedded_pixels(target: str) -> int:
    """How many pixels an embedded picture has; more than allowed when that cannot be determined."""
    start = _INLINE_PICTURE.match(target)
    if not start:
        return 0
    try:
        data = base64.b64decode(target[start.end() :], validate=False)
        with pillow_limits(None), open_header(io.BytesIO(data)) as image:
            return image.width * image.height
    except (OSError, ValueError, SyntaxError, binascii.Error):
        return INSIDE_PIXELS + 1


def _requested_size(root: Any) -> tuple[int, int]:
    """Width and height in pixels, from the attributes or the view box, otherwise the default of browsers."""
    numbers = re.split(r"[\s,]+", root.get("viewBox", "").strip())
    view_size = [_parse_number(number) for number in numbers[2:4]] if len(numbers) == 4 else []
    view_width, view_height = (view_size[0], view_size[1]) if len(view_size) == 2 and all(view_size) else (None, None)
    width, height = _parse_length(root.get("width")), _parse_length(root.get("height"))
    if width and not height:
        height = width * view_height / view_width if view_width and view_height else width
    elif height and not width:
        width = height * view_width / view_height if view_width and view_height else height
    return _to_pixels(width or view_width or 300.0), _to_pixels(height or view_height or 150.0)


def _parse_length(text: str | None) -> float | None:
    match = _LENGTH.match(text or "")
    if not match:
        return None
    return float(match[1]) * 10.0 ** int(match[2] or 0) * _UNITS[(match[3] or "").lower()] or None


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _to_pixels(length: float) -> int:
    return max(1, min(round(length), 10**9))
