"""Makes names and messages safe to show: escapes characters that reverse a line or move the cursor."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with such characters escaped; bytes that are not text become replacement characters."""
    return _CONTROL.sub(lambda match: "�" if "\ud800" <= match[0] <= "\udfff" else _escape(match[0]), text)


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode()
