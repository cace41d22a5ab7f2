"""Decodes a page, whatever encoding its server and the page itself declare."""

from __future__ import annotations

import codecs
import re

from chyme.text.decoding import clean, decode, detect_utf16, is_utf8
from chyme.text.legacy_encodings import detect_legacy
from chyme.webpages.http_client.fetch_result import FetchResult

_DECLARED = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,1024}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE
)
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD_BYTES = 4096
_MAX_BROKEN_SHARE = 0.02  # of the non-ASCII letters; a page with more of them broken is in another encoding
_MIN_LETTERS = 20  # non-ASCII letters that are needed to overrule "latin-1"
# Encodings that browsers replace by a larger one, because pages mean that.
_LARGER_ENCODINGS = {
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
# Python codecs that no page means.
_IGNORED_CODECS = frozenset({"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape"})
_WESTERN = frozenset({"cp1252", "cp1250"})


def decode_page(fetched: FetchResult) -> str:
    """Decode the page by its byte order mark, as UTF-8 if valid, as declared if that fits, else by its letters."""
    data = fetched.body
    if data.isascii() or data.startswith(_BYTE_ORDER_MARKS) or detect_utf16(data[:_HEAD_BYTES]):
        return decode(data, len(data)).text
    declared = _declared_encodings(fetched.charset, data)
    # Other encodings look like UTF-8 only by design, so valid UTF-8 wins over the declared encoding.
    if is_utf8(data, cut=False):
        return clean(data.decode())
    if declared[:1] == ["cp1252"]:  # what servers declare by default
        declared = [*declared[1:], *_detect_non_western(data), "cp1252"]
    for encoding in declared:
        text = _try_decode(data, encoding)
        if text is not None:
            return text
    return decode(data, len(data)).text


def _declared_encodings(header: str | None, data: bytes) -> list[str]:
    """Return the encoding in the header first, then the one in the page."""
    found = _DECLARED.search(data[:_HEAD_BYTES])
    names = [header or "", found[1].decode("ascii", "replace") if found else ""]
    known = [_lookup_encoding(name) for name in names]
    return list(dict.fromkeys(encoding for encoding in known if encoding))


def _lookup_encoding(name: str) -> str | None:
    try:
        known = codecs.lookup(name.strip().lower().removeprefix("x-")).name
        "".encode(known)  # not all codecs encode text
    except (LookupError, ValueError, UnicodeError):
        return None
    if known in _IGNORED_CODECS or known.startswith(("utf-16", "utf-32")):  # detected by their zeros before
        return None
    return _LARGER_ENCODINGS.get(known, known)


def _detect_non_western(data: bytes) -> list[str]:
    if len(data) - len(data.translate(None, bytes(range(128, 256)))) < _MIN_LETTERS:
        return []
    detected = detect_legacy(data)
    return [] if detected in _WESTERN else [detected]


def _try_decode(data: bytes, encoding: str) -> str | None:
    text = data.decode(encoding, "replace")
    broken = text.count("\ufffd")
    if broken and broken > _MAX_BROKEN_SHARE * (len(text) - len(text.encode("ascii", "ignore"))):
        return None
    return clean(text)
