"""Readable file names that are safe on every system: for links, uploads, notes, and files whose own name is taken."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote, urlsplit

from chyme.errors import UsageError
from chyme.files.machine_names import without_extension

EXTENSION = ".url"
MAX_LINK_BYTES = 120  # of a whole file name, in UTF-8: file systems allow 255, but that is too long to read
MAX_UPLOAD_BYTES = 200  # of a name without extension, in UTF-8: file systems allow 255, and a number may be added
MAX_DEPTH = 32  # folders inside each other
_RESERVED_BYTES = len(" 9999") + len(EXTENSION)
_UNSAFE = re.compile(r'[<>:"/\\|?*\ufffd]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=[ .]|$)", re.IGNORECASE)
_PAGE_EXTENSION = re.compile(r"\.(?:x?html?|php\d?|aspx?|jsp|cgi|md)$", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_+]+")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBER = re.compile(r"(?=.*\d)[0-9A-Za-z]{1,20}", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9a-f-]{16,}", re.IGNORECASE)
_MEANINGLESS = frozenset({"index", "default", "home", "main"})
_ESCAPED = {"%22": '"', "%0D": " ", "%0A": " "}  # as browsers send them


def link_name(address: str) -> str:
    """Return the host and the most telling words of the path, without extension: `example.org – how to digest`."""
    parts = urlsplit(address)
    host = _readable_host((parts.hostname or "").removeprefix("www."))
    words = _words_of(parts.path)
    return safe_name(f"{host} – {words}" if words else host) or "link"


def safe_name(text: str, max_bytes: int = MAX_LINK_BYTES - _RESERVED_BYTES) -> str:
    """Return the text as a file name that is safe on every system and terminal, without extension; may be empty.

    `max_bytes` counts UTF-8.
    """
    visible = (
        " " if unicodedata.category(letter)[0] == "C" or unicodedata.category(letter) in ("Zl", "Zp") else letter
        for letter in unicodedata.normalize("NFC", text)
    )
    name = " ".join(_UNSAFE.sub(" ", "".join(visible)).split()).lstrip(" .-~").rstrip(" .")
    if _RESERVED.match(name):
        name = f"_{name}"
    shortened = name.encode()[:max_bytes].decode("utf-8", "ignore")
    return shortened.rstrip(" .–")


def _words_of(path: str) -> str:
    """Return the last part of the path that has words in it, with a number that ends the path."""
    parts = [_PAGE_EXTENSION.sub("", unquote(part)) for part in path.split("/") if part]
    wordy = [part for part in parts if _has_words(part)]
    if not wordy:
        return ""
    last = wordy[-1]
    if parts[-1] is not last and _NUMBER.fullmatch(parts[-1]):
        last += " " + parts[-1]
    return _SEPARATORS.sub(" ", last)


def _has_words(part: str) -> bool:
    return bool(_LETTERS.search(part)) and not _HEXADECIMAL.fullmatch(part) and part.lower() not in _MEANINGLESS


def _readable_host(host: str) -> str:
    if "xn--" not in host:
        return host
    import idna

    try:
        return idna.decode(host)
    except UnicodeError:
        return host


def decode_name(raw: bytes) -> str:
    """Return the name in the header of a part. Bytes that are not UTF-8 are removed later."""
    name = raw.decode("utf-8", "replace")
    for escaped, letter in _ESCAPED.items():
        name = name.replace(escaped, letter)
    return name


def split_path(field: str, name: str) -> list[str]:
    """Return the folders and name that were sent: in the file name, or (for dropped folders) in the field name."""
    sent = name if "/" in name or "/" not in field else field
    parts = [part for part in sent.split("/") if part not in ("", ".")]
    if sent.startswith("/") or ".." in parts or not parts or sent.endswith("/"):
        raise UsageError(f"{sent[:100]!r}: is not the name of a file inside the vault")
    if len(parts) > MAX_DEPTH:
        raise UsageError(f"{sent[:100]!r} …: lies in too many folders")
    return parts


def safe_file_name(name: str) -> str:
    """Return the name, with its extension, in a form that is safe on every system."""
    stem = without_extension(name)
    return (safe_name(stem, MAX_UPLOAD_BYTES) or "unnamed") + name[len(stem) :]


def safe_folder_name(name: str) -> str:
    """The same for a folder."""
    return safe_name(name, MAX_UPLOAD_BYTES) or "unnamed"


def note_name(title: str, text: str) -> str:
    """Return the name of a note: its title, or its first line that makes a name."""
    lines = (line.strip().lstrip("#>*-+ ").strip() for line in text.splitlines())
    return next((name for line in (title, *lines) if (name := safe_name(line[:200], 100))), "note")


def numbered_name(name: str, number: int, extension: str | None = None) -> str:
    """name.pdf, then name 2.pdf. `extension`: what of the name stays behind the number, if that is not obvious."""
    if number == 1:
        return name
    if extension is None:
        extension = name[len(without_extension(name)) :]
    return f"{name.removesuffix(extension)} {number}{extension}"
