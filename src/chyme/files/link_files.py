"""The one address in a file that is nothing but a link, and such a file for an address."""

from __future__ import annotations

import plistlib
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from chyme.files.extensions import extension_of
from chyme.files.link_notes import NOTE_EXTENSIONS, LinkNote, is_address, read_link_note
from chyme.text.decoding import detect_utf16

LINK_BYTES = 8192
LINK_EXTENSIONS = frozenset({"url", "webloc", "desktop"})

_AROUND = " \t\r\n\v\f\x00\x85\xa0\u200b\u200e\u200f\u2028\u2029\u2060\ufeff"  # what copying brings along
# Whatever a property list of 8 KB that somebody has tampered with makes plistlib raise.
_BROKEN = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError, ExpatError)


def link_in(name: str, data: bytes) -> str | None:
    """The http(s) address that a file is about, or None when the file is more than a link."""
    note = link_note_in(name, data)
    return note.url if note else None


def link_note_in(name: str, data: bytes) -> LinkNote | None:
    """The address of a link file, with the title and remark somebody wrote beside it.

    A shortcut (.url, .webloc, .desktop) may say more about its address, such as an icon. A note is a link when it is
    one address with little beside it; every other file only when the address is its whole content.
    """
    if not data or len(data) > LINK_BYTES:
        return None
    extension = extension_of(name)
    if extension == "webloc":
        address = _in_webloc(data)
    else:
        text = _plain(data)
        address = (_in_shortcut(text) if extension in LINK_EXTENSIONS else None) or _address(text)
        if address is None and extension in NOTE_EXTENSIONS:
            return read_link_note(text)
    return LinkNote(address) if address else None


def make_shortcut(address: str) -> bytes:
    """A file that opens the address at a double click: of the shortcuts there are, .url is known to most desktops."""
    return f"[InternetShortcut]\r\nURL={address}\r\n".encode()


def _plain(data: bytes) -> str:
    """What is no Unicode is replaced: older Windows wrote names of icons in any encoding, but addresses in ASCII."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    wide = detect_utf16(data)
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
    return text if is_address(text) else None


def restore_link_parts(link: str, found: str) -> str:
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


def remove_credentials(url: str) -> str:
    """The address without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
