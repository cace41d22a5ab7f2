"""Recognises encodings by their shape: EBCDIC of mainframes, UTF-32 without a mark, and those that use only ASCII."""

from __future__ import annotations

import re

SAMPLE = 16_384
EBCDIC = ("cp037", "cp500", "cp273", "cp1026")  # the first wins a draw
WITH_CONTROLS = frozenset({*EBCDIC, "iso2022_kr"})  # texts in these hold bytes that are control characters in ASCII
_EBCDIC_LETTERS = frozenset(
    [
        *range(0x81, 0x8A),
        *range(0x91, 0x9A),
        *range(0xA2, 0xAA),
        *range(0xC1, 0xCA),
        *range(0xD1, 0xDA),
        *range(0xE2, 0xEA),
    ]
)
_EBCDIC_DIGITS = frozenset(range(0xF0, 0xFA))
_EBCDIC_SIGNS = frozenset(b"\x4b\x4c\x4d\x4e\x50\x5b\x5c\x5d\x5e\x60\x61\x6b\x6c\x6d\x6e\x6f\x7a\x7b\x7c\x7d\x7e\x7f")
_EBCDIC_SPACES = frozenset(b"\x40\x15\x25\x0d\x05\x0c")
_ODD_INSIDE_WORD = re.compile(r"(?<=[^\W\d_])[^\w\s.,;:'\"()/&@=+*<>-](?=[^\W\d_])")
_HZ_RUN = re.compile(rb"~\{((?:[\x21-\x77][\x21-\x7e]){2,400})~\}")
_ESCAPED_JAPANESE = (b"\x1b$B", b"\x1b$@", b"\x1b$(D", b"\x1b(I")
_KOREAN_HEADER = b"\x1b$)C"


def detect_ebcdic(data: bytes) -> str | None:
    """The EBCDIC code page of a text; None for any other text. ASCII and its descendants can never look like one."""
    sample = data[:SAMPLE]
    total = len(sample)
    if total < 16 or sample.count(0x40) <= 0.05 * total or sample.count(0x20) + sample.count(0x0A) >= 0.01 * total:
        return None
    counts = [sample.count(byte) for byte in range(256)]
    letters = sum(counts[byte] for byte in _EBCDIC_LETTERS)
    digits = sum(counts[byte] for byte in _EBCDIC_DIGITS)
    spaces = sum(counts[byte] for byte in _EBCDIC_SPACES)
    signs = sum(counts[byte] for byte in _EBCDIC_SIGNS)
    ascii_letters = sum(counts[0x61:0x7B]) - sum(counts[byte] for byte in _EBCDIC_SIGNS if 0x61 <= byte < 0x7B)
    is_text = (
        letters + digits + spaces + signs > 0.85 * total and letters > 0.4 * total and ascii_letters < 0.08 * total
    )
    return min(EBCDIC, key=lambda page: _oddness(sample, page)) if is_text else None


def _oddness(sample: bytes, page: str) -> int:
    """How many signs stand inside words, or are hardly ever written: they are others in another code page."""
    text = sample.decode(page, "replace")
    return 3 * len(_ODD_INSIDE_WORD.findall(text)) + sum(text.count(sign) for sign in "|¢¬¦~^")


def detect_utf32(head: bytes) -> str | None:
    """Recognise UTF-32 without a byte order mark by the zero bytes that every character has in it."""
    count = len(head) // 4
    if count < 4:
        return None
    for order, encoding in (((3, 2, 0), "utf-32-le"), ((0, 1, 3), "utf-32-be")):
        high, middle, low = (head[offset : 4 * count : 4].count(0) for offset in order)
        if high == count and middle >= 0.95 * count and low < 0.2 * count:
            return encoding
    return None


def detect_escaped(data: bytes) -> str | None:
    """The encoding of a text in ASCII bytes that switches to another script by marks: ISO 2022, HZ."""
    if b"\x1b$" in data or b"\x1b(I" in data:
        if _KOREAN_HEADER in data[:1024] and _decodes(data, "iso2022_kr"):
            return "iso2022_kr"
        if any(mark in data for mark in _ESCAPED_JAPANESE):
            return "iso2022_jp" if _decodes(data, "iso2022_jp") else "iso2022_jp_ext"
    if b"~{" in data:
        return _detect_hz(data[: 4 * SAMPLE])
    return None


def _detect_hz(data: bytes) -> str | None:
    """HZ marks Chinese by `~{` and `~}`; program code may hold these marks, but hardly ever Chinese between them."""
    runs = _HZ_RUN.findall(data)
    chinese = 0
    for run in runs:
        text = bytes(byte | 0x80 for byte in run).decode("gb2312", "replace")
        if all("\u4e00" <= character <= "\u9fff" or "\u3000" <= character <= "\uffef" for character in text):
            chinese += "\ufffd" not in text
    return "hz" if runs and chinese > 0.9 * len(runs) else None


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data[:SAMPLE].decode(encoding)
    except UnicodeDecodeError as error:
        return error.start >= min(len(data), SAMPLE) - 8
    return True
