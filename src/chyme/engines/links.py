"""The one address in a file that is nothing but a link, and such a file for an address."""

from __future__ import annotations

import plistlib
import re
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from chyme.engines.text import unmarked_utf16

LINK_BYTES = 8192
LINK_EXTENSIONS = frozenset({"url", "webloc", "desktop"})

# White space, control and direction characters, half letters, and what stands for an unreadable one.
_NEVER = r"\s<>\"\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff"
_ADDRESS = re.compile(rf"https?://[^/?#'\\{_NEVER}]+(?:[/?#][^{_NEVER}]*)?", re.IGNORECASE)
_AROUND = " \t\r\n\v\f\x00\x85\xa0\u200b\u200e\u200f\u2028\u2029\u2060\ufeff"  # what copying brings along
# Whatever a property list of 8 KB that somebody has tampered with makes plistlib raise.
_BROKEN = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError, ExpatError)


def link_in(name: str, data: bytes) -> str | None:
    """The http(s) address that is the file's whole content, or None when the file is more than a link.

    A shortcut (.url, .webloc, .desktop) may say more about its address, such as an icon. Markdown with one link in it
    is no link: somebody wrote words there.
    """
    if not data or len(data) > LINK_BYTES:
        return None
    extension = name.rpartition(".")[2].lower()
    if extension == "webloc":
        return _in_webloc(data)
    text = _plain(data)
    if extension in LINK_EXTENSIONS:
        return _in_shortcut(text) or _address(text)
    return _address(text)


def shortcut(address: str) -> bytes:
    """A file that opens the address at a double click: of the shortcuts there are, .url is known to most desktops."""
    return f"[InternetShortcut]\r\nURL={address}\r\n".encode()


def _plain(data: bytes) -> str:
    """What is no Unicode is replaced: older Windows wrote names of icons in any encoding, but addresses in ASCII."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    wide = unmarked_utf16(data)
    if wide:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("ascii", "replace")


def _in_shortcut(text: str) -> str | None:
    """What Windows calls an internet shortcut, and freedesktop.org an entry of type link."""
    section = ""
    told: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        entry = line.strip()
        if entry.startswith("[") and entry.endswith("]"):
            section = entry[1:-1].strip().lower()
            continue
        key, _, value = entry.partition("=")
        told.setdefault((section, key.strip().lower()), value.strip())
    if told.get(("desktop entry", "type"), "").lower() == "link":
        expanded = told.get(("desktop entry", "url[$e]"), "").replace("$$", "$")  # KDE escapes what it would expand
        return _address(told.get(("desktop entry", "url"), expanded))
    return _address(told.get(("internetshortcut", "url"), ""))


def _in_webloc(data: bytes) -> str | None:
    try:
        content = plistlib.loads(data)  # refuses entities by itself
    except _BROKEN:
        return None
    address = content.get("URL") if isinstance(content, dict) else None
    return _address(address) if isinstance(address, str) else None


def _address(text: str) -> str | None:
    text = text.strip(_AROUND)
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    if not _ADDRESS.fullmatch(text):
        return None
    try:
        return text if urlsplit(text).hostname else None
    except ValueError:  # brackets around what is no address, letters that only look like a slash
        return None


def as_asked(link: str, found: str) -> str:
    """Where a page was found, with what its link says besides: a password for that very host, and the part behind #.

    Scripts choose by that part what they show.
    """
    try:
        asked, there = urlsplit(link), urlsplit(found)
        same = (asked.scheme, asked.hostname, asked.port) == (there.scheme, there.hostname, there.port)
    except ValueError:
        return found
    secret, at, _ = asked.netloc.rpartition("@")
    if same and at and "@" not in there.netloc:
        there = there._replace(netloc=f"{secret}@{there.netloc}")
    return there._replace(fragment=there.fragment or asked.fragment).geturl()


def without_secret(url: str) -> str:
    """The address without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
