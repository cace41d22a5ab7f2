"""Decodes the bytes of a text file: detects the encoding, removes control characters, unifies line ends."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from chyme.digester import Source
from chyme.text.legacy_encodings import detect_legacy
from chyme.text.rare_encodings import EBCDIC, WITH_CONTROLS, detect_ebcdic, detect_escaped, detect_utf32

TEXT_BYTES = 5 * 1024 * 1024
SAMPLE = 256 * 1024

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"+/v8-", "utf-7"),
)
# Python knows them by a name like character sets. Some take time by the square of the length.
_NO_CHARACTER_SETS = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined"})
_LONGEST_NAME = 40
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff\ud800-\udfff]")
_NON_ASCII = re.compile("[^\x00-\x7f]")
_COLOUR_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's text. `truncated`: the file continues beyond the limit."""

    text: str
    encoding: str
    truncated: bool

    def note(self, limit: int = TEXT_BYTES) -> str | None:
        """The sentence to show when only part of the file was read."""
        return f"first {limit / 1_048_576:g} MB of text read" if self.truncated else None


def decode(data: bytes, limit: int = TEXT_BYTES) -> DecodedText:
    """Decode at most `limit` bytes of `data`."""
    truncated = len(data) > limit
    data = data[:limit]
    encoding, mark_length = encoding_of(data, cut=truncated)
    text = data[mark_length:].decode(encoding, "replace")
    if encoding in EBCDIC:
        text = text.replace("\x85", "\n")
    return DecodedText(clean(text, truncated), encoding, truncated)


def decode_declared(data: bytes, charset: str) -> str:
    """The text in the character set that its header names; in the one it looks like, if that is wrong or none."""
    if charset.isascii() and charset.isprintable() and len(charset) <= _LONGEST_NAME:
        try:
            name = codecs.lookup(charset).name
            if name.replace("_", "-") not in _NO_CHARACTER_SETS:
                return clean(data.decode(name))
        except (LookupError, ValueError):
            pass
    return decode(data, len(data)).text


def read_text(source: Source, limit: int = TEXT_BYTES) -> DecodedText:
    """Decode at most `limit` bytes of a file of kind text."""
    with source.open() as stream:
        return decode(stream.read(limit + 1), limit)


def encoding_of(data: bytes, *, cut: bool) -> tuple[str, int]:
    """The name of the encoding and the length of its byte order mark; `cut`: the data may end inside a character."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    wide = detect_utf32(data[:4096]) or detect_utf16(data[:4096])
    if wide:
        return wide, 0
    if is_utf8(data, cut=cut):
        return (detect_escaped(data) if data.isascii() else None) or "utf-8", 0
    return (detect_ebcdic(data) or ("utf-8" if _mostly_utf8(data) else detect_legacy(data))), 0


def encoding_with_controls(data: bytes) -> str | None:
    """The encoding of a text that holds bytes like those of binary files: UTF-16, UTF-32, EBCDIC, ISO 2022 of Korea.

    None for what is no text, or a text in any other encoding. It costs far less than `encoding_of`.
    """
    wide = detect_utf32(data[:4096]) or detect_utf16(data[:4096])
    if wide:
        return wide
    if data.isascii():
        escaped = detect_escaped(data)
        return escaped if escaped in WITH_CONTROLS else None
    return None if is_utf8(data, cut=True) else detect_ebcdic(data)


def is_utf8(data: bytes, *, cut: bool) -> bool:
    """Whether the bytes are UTF-8; `cut` allows an incomplete character at the end."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return cut and error.start >= len(data) - 3 and error.reason == "unexpected end of data"
    return True


def detect_utf16(head: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark by the zero bytes that Latin letters have in it."""
    pairs = len(head) // 2
    if pairs < 4:
        return None
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[offset::2].count(0)
        if zeros > pairs * 0.7 and head[1 - offset :: 2].count(0) < pairs * 0.05:
            return encoding
    return None


def clean(text: str, truncated: bool = False) -> str:
    """Remove control characters and colour codes; every line ends with a newline alone."""
    if truncated and text.endswith("\ufffd"):
        text = text.rstrip("\ufffd")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _COLOUR_CODES.sub("", text)
    if "\x0c" in text:
        text = text.replace("\x0c", "\n")
    return _CONTROL.sub("", text)


def _mostly_utf8(data: bytes) -> bool:
    """Whether a few broken bytes are in a text that is otherwise UTF-8: other encodings hardly ever look like it."""
    text = data[:SAMPLE].decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return len(_NON_ASCII.findall(text)) - broken > 10 * broken
