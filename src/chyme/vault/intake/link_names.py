"""A readable, harmless file name for a link: example.org – how to digest.url."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote, urlsplit

ENDING = ".url"
BYTES = 120  # of a whole file name, in UTF-8: file systems allow 255, people read less
_ROOM = len(" 9999") + len(ENDING)
_UNFIT = re.compile(r'[<>:"/\\|?*\ufffd]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=[ .]|$)", re.IGNORECASE)
_PAGE_ENDING = re.compile(r"\.(?:x?html?|php\d?|aspx?|jsp|cgi|md)$", re.IGNORECASE)
_JOINTS = re.compile(r"[-_+]+")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBER = re.compile(r"(?=.*\d)[0-9A-Za-z]{1,20}", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9a-f-]{16,}", re.IGNORECASE)
_SAYS_NOTHING = frozenset({"index", "default", "home", "main"})


def link_name(address: str) -> str:
    """The host, and the words of the path that tell most; without ending."""
    parts = urlsplit(address)
    host = _readable_host((parts.hostname or "").removeprefix("www."))
    words = _words_of(parts.path)
    return safe_name(f"{host} – {words}" if words else host) or "link"


def safe_name(text: str, most: int = BYTES - _ROOM) -> str:
    """The text as a file name that every system takes and every terminal shows, without ending; may be empty.

    `most`: how many bytes of UTF-8 it has.
    """
    shown = (
        " " if unicodedata.category(letter)[0] == "C" or unicodedata.category(letter) in ("Zl", "Zp") else letter
        for letter in unicodedata.normalize("NFC", text)
    )
    name = " ".join(_UNFIT.sub(" ", "".join(shown)).split()).lstrip(" .-~").rstrip(" .")
    if _RESERVED.match(name):
        name = f"_{name}"
    kept = name.encode()[:most].decode("utf-8", "ignore")
    return kept.rstrip(" .–")


def file_name(stem: str, number: int) -> str:
    """name.url, then name 2.url."""
    return f"{stem}{ENDING}" if number == 1 else f"{stem} {number}{ENDING}"


def _words_of(path: str) -> str:
    """The last part of the path that has words in it, with a number that ends the path."""
    parts = [_PAGE_ENDING.sub("", unquote(part)) for part in path.split("/") if part]
    telling = [part for part in parts if _tells(part)]
    if not telling:
        return ""
    last = telling[-1]
    if parts[-1] is not last and _NUMBER.fullmatch(parts[-1]):
        last += " " + parts[-1]
    return _JOINTS.sub(" ", last)


def _tells(part: str) -> bool:
    return bool(_LETTERS.search(part)) and not _HEXADECIMAL.fullmatch(part) and part.lower() not in _SAYS_NOTHING


def _readable_host(host: str) -> str:
    if "xn--" not in host:
        return host
    import idna

    try:
        return idna.decode(host)
    except UnicodeError:
        return host
