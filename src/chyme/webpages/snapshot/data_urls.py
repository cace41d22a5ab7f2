"""Detects the pictures and fonts that a copy may contain by their bytes, and encodes them as data: addresses."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

FONTS = frozenset({"font/woff2", "font/woff"})
SVG = "image/svg+xml"
_MAGIC_BYTES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"wOF2", "font/woff2"),
    (b"wOFF", "font/woff"),
)
_AVIF = frozenset({b"avif", b"avis"})
_SVG_START = re.compile(rb"<(?:[A-Za-z]{1,20}:)?svg[\s>/]")
PICTURES = frozenset({*(mime for _, mime in _MAGIC_BYTES), "image/webp", "image/avif", SVG}) - FONTS
SVG_HEAD_BYTES = 4096  # of an SVG, before its first element
DATA_URL = re.compile(
    r"data:(?:image/(?:png|jpeg|gif|x-icon|bmp|webp|avif|svg\+xml)|font/woff2?);base64,[A-Za-z0-9+/]+=*"
)


def media_type(data: bytes) -> str | None:
    """Return one of PICTURES or FONTS; None for anything else, whatever the server declares."""
    for start, mime in _MAGIC_BYTES:
        if data.startswith(start):
            return mime
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF:
        return "image/avif"
    return SVG if _SVG_START.search(data[:SVG_HEAD_BYTES]) else None


def make_data_url(mime: str, data: bytes) -> str:
    """Return the bytes as a data: address, which `DATA_URL` matches."""
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"


def read_data_url(address: str) -> bytes | None:
    """Return the bytes of a data: address; None if it is broken."""
    head, comma, body = address.partition(",")
    if not comma:
        return None
    plain = unquote_to_bytes(body)
    if not head.rstrip().lower().endswith(";base64"):
        return plain
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=False)
    except (binascii.Error, ValueError):
        return None
