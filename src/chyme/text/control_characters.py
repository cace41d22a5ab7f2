"""Names and messages as they can be shown: what would turn a line around or move the cursor is spelt out."""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with such characters escaped, and with bytes that are no letters marked as such."""
    return _UNSEEN.sub(lambda found: "�" if "\ud800" <= found[0] <= "\udfff" else _escaped(found[0]), text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode()
