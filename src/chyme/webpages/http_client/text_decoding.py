"""The text of a page, whatever encoding its server and the page itself claim it has."""

from __future__ import annotations

import codecs
import re

from chyme.text.decoding import clean, decode, detect_utf16, is_utf8
from chyme.text.legacy_encodings import detect_legacy
from chyme.webpages.http_client.fetch_result import FetchResult

_TOLD = re.compile(rb"<(?:meta|\?xml)\b[^>]{0,1024}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD_BYTES = 4096
_BROKEN = 0.02  # of the letters beyond ASCII; a page with more of them broken is in another encoding
_TELLING = 20  # letters beyond ASCII from which on they speak against "latin-1"
# Names that browsers take for a larger encoding, because pages do.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Codecs of Python that no page means.
_NEVER = frozenset({"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape"})
_WESTERN = frozenset({"cp1252", "cp1250"})


def decode_page(fetched: FetchResult) -> str:
    """The page's source: by its mark, as UTF-8 where it is that, as told where that fits, else by its letters."""
    data = fetched.body
    if data.isascii() or data.startswith(_MARKS) or detect_utf16(data[:_HEAD_BYTES]):
        return decode(data, len(data)).text
    told = _encodings_told(fetched.charset, data)
    # Other encodings look like UTF-8 only by design, so that it wins over whatever is told.
    if is_utf8(data, cut=False):
        return clean(data.decode())
    if told[:1] == ["cp1252"]:  # what servers say who were not asked
        told = [*told[1:], *_letters_against_western(data), "cp1252"]
    for encoding in told:
        text = _decoded(data, encoding)
        if text is not None:
            return text
    return decode(data, len(data)).text


def _encodings_told(header: str | None, data: bytes) -> list[str]:
    """The header's word first, then the page's own."""
    found = _TOLD.search(data[:_HEAD_BYTES])
    names = [header or "", found[1].decode("ascii", "replace") if found else ""]
    known = [_encoding(name) for name in names]
    return list(dict.fromkeys(encoding for encoding in known if encoding))


def _encoding(name: str) -> str | None:
    try:
        known = codecs.lookup(name.strip().lower().removeprefix("x-")).name
        "".encode(known)  # not all codecs make bytes of text
    except (LookupError, ValueError, UnicodeError):
        return None
    if known in _NEVER or known.startswith(("utf-16", "utf-32")):  # would have been seen by their zeros
        return None
    return _MEANT.get(known, known)


def _letters_against_western(data: bytes) -> list[str]:
    if len(data) - len(data.translate(None, bytes(range(128, 256)))) < _TELLING:
        return []
    detected = detect_legacy(data)
    return [] if detected in _WESTERN else [detected]


def _decoded(data: bytes, encoding: str) -> str | None:
    text = data.decode(encoding, "replace")
    broken = text.count("\ufffd")
    if broken and broken > _BROKEN * _beyond_ascii(text):
        return None
    return clean(text)


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))
