"""Reads and writes link files: files whose only content is one address."""

from __future__ import annotations

import plistlib
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from chyme.digester import Source
from chyme.files.extensions import extension_of
from chyme.files.link_notes import NOTE_EXTENSIONS, LinkNote, is_address, read_link_note
from chyme.text.decoding import detect_utf16

LINK_BYTES = 8192
LINK_EXTENSIONS = frozenset({"url", "webloc", "desktop"})

_SURROUNDING = " \t\r\n\v\f\x00\x85\xa0\u200b\u200e\u200f\u2028\u2029\u2060\ufeff"  # copied along with addresses
# What plistlib may raise for a manipulated property list of 8 KB.
_PLIST_ERRORS = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError, ExpatError)


def link_in(name: str, data: bytes) -> str | None:
    """The http(s) address in a link file, or None when the file is more than a link."""
    note = link_note_in(name, data)
    return note.url if note else None


def link_note_in(name: str, data: bytes) -> LinkNote | None:
    """The address of a link file, with the title and remark beside it.

    A shortcut (.url, .webloc, .desktop) may hold more about its address, such as an icon. A note is a link when it is
    one address with little beside it; any other file only when the address is its whole content.
    """
    if not data or len(data) > LINK_BYTES:
        return None
    extension = extension_of(name)
    if extension == "webloc":
        address = _read_webloc(data)
    else:
        text = _decode(data)
        address = (_read_shortcut(text) if extension in LINK_EXTENSIONS else None) or _parse_address(text)
        if address is None and extension in NOTE_EXTENSIONS:
            return read_link_note(text)
    return LinkNote(address) if address else None


def make_shortcut(address: str) -> bytes:
    """A file that opens the address on a double click; of all shortcut formats, most desktops know .url."""
    return f"[InternetShortcut]\r\nURL={address}\r\n".encode()


def _decode(data: bytes) -> str:
    """Decode, replacing what is not Unicode: older Windows wrote icon names in any encoding, but addresses in ASCII."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    utf16 = detect_utf16(data)
    if utf16:
        return data.decode(utf16, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("ascii", "replace")


def _read_shortcut(text: str) -> str | None:
    """Read an internet shortcut of Windows, or a link entry of freedesktop.org."""
    section = ""
    entries: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        entry = line.strip()
        if entry.startswith("[") and entry.endswith("]"):
            section = entry[1:-1].strip().lower()
            continue
        key, _, value = entry.partition("=")
        entries.setdefault((section, key.strip().lower()), value.strip())
    if entries.get(("desktop entry", "type"), "").lower() == "link":
        expanded = entries.get(("desktop entry", "url[$e]"), "").replace("$$", "$")  # KDE escapes what it would expand
        return _parse_address(entries.get(("desktop entry", "url"), expanded))
    return _parse_address(entries.get(("internetshortcut", "url"), ""))


def _read_webloc(data: bytes) -> str | None:
    try:
        content = plistlib.loads(data)  # refuses entities by itself
    except _PLIST_ERRORS:
        return None
    address = content.get("URL") if isinstance(content, dict) else None
    return _parse_address(address) if isinstance(address, str) else None


def _parse_address(text: str) -> str | None:
    text = text.strip(_SURROUNDING)
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    return text if is_address(text) else None


def restore_link_parts(link: str, found: str) -> str:
    """The address where a page was found, with parts of its link: the password if the host is the same, and the
    fragment.

    Scripts choose by the fragment what they show.
    """
    try:
        link_parts, found_parts = urlsplit(link), urlsplit(found)
        same_host = (link_parts.scheme, link_parts.hostname, link_parts.port) == (
            found_parts.scheme,
            found_parts.hostname,
            found_parts.port,
        )
    except ValueError:
        return found
    credentials, separator, _ = link_parts.netloc.rpartition("@")
    if same_host and separator and "@" not in found_parts.netloc:
        found_parts = found_parts._replace(netloc=f"{credentials}@{found_parts.netloc}")
    return found_parts._replace(fragment=found_parts.fragment or link_parts.fragment).geturl()


def remove_credentials(url: str) -> str:
    """The address without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def link_note_of(source: Source) -> LinkNote | None:
    """The address in a link file, with the text beside it."""
    with source.open() as stream:
        return link_note_in(source.file.name, stream.read(LINK_BYTES + 1))
