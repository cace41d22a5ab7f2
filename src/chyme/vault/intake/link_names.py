"""Readable, safe file names for links, such as `example.org – how to digest.url`."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote, urlsplit

EXTENSION = ".url"
MAX_BYTES = 120  # of a whole file name, in UTF-8: file systems allow 255, but that is too long to read
_RESERVED_BYTES = len(" 9999") + len(EXTENSION)
_UNSAFE = re.compile(r'[<>:"/\\|?*\ufffd]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=[ .]|$)", re.IGNORECASE)
_PAGE_EXTENSION = re.compile(r"\.(?:x?html?|php\d?|aspx?|jsp|cgi|md)$", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_+]+")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBER = re.compile(r"(?=.*\d)[0-9A-Za-z]{1,20}", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9a-f-]{16,}", re.IGNORECASE)
_MEANINGLESS = frozenset({"index", "default", "home", "main"})


def link_name(address: str) -> str:
    """Return the host and the most telling words of the path, without extension."""
    parts = urlsplit(address)
    host = _readable_host((parts.hostname or "").removeprefix("www."))
    words = _words_of(parts.path)
    return safe_name(f"{host} – {words}" if words else host) or "link"


def safe_name(text: str, max_bytes: int = MAX_BYTES - _RESERVED_BYTES) -> str:
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


def file_name(stem: str, number: int) -> str:
    """Return `stem.url`, then `stem 2.url` and so on."""
    return f"{stem}{EXTENSION}" if number == 1 else f"{stem} {number}{EXTENSION}"


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
