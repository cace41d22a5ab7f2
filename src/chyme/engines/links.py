"""Find the one address in a file that is nothing but a link."""

from __future__ import annotations

import plistlib
import re
from xml.parsers.expat import ExpatError

LINK_BYTES = 8192
LINK_EXTENSIONS = frozenset({"url", "webloc", "desktop"})

_ADDRESS = re.compile(r"https?://[^\s/?#<>\"']+[^\s<>\"]*", re.IGNORECASE)
_URL_LINE = re.compile(r"^URL\s*=\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)


def link_in(name: str, data: bytes) -> str | None:
    """The http(s) address that is the file's whole content, or None when the file is more than a link."""
    if not data or len(data) > LINK_BYTES:
        return None
    extension = name.rpartition(".")[2].lower()
    if extension == "webloc":
        return _in_webloc(data)
    text = _plain(data)
    if text is None:
        return None
    if extension in ("url", "desktop") and text.lstrip().startswith(("[InternetShortcut]", "[Desktop Entry]", "[{")):
        found = _URL_LINE.search(text)
        return _address(found[1]) if found else None
    return _address(text)


def _plain(data: bytes) -> str | None:
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _in_webloc(data: bytes) -> str | None:
    if b"<!ENTITY" in data:
        return None
    try:
        content = plistlib.loads(data)
    except (ValueError, ExpatError, plistlib.InvalidFileException, OverflowError, RecursionError):
        return None
    address = content.get("URL") if isinstance(content, dict) else None
    return _address(address) if isinstance(address, str) else None


def _address(text: str) -> str | None:
    text = text.strip()
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1]
    return text if _ADDRESS.fullmatch(text) else None
