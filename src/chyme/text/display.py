"""Values as they are shown to people: text without control characters, numbers as ranges, seconds as times."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with characters escaped that reverse a line or move the cursor; lone surrogates become �."""
    return _CONTROL.sub(lambda match: "�" if "\ud800" <= match[0] <= "\udfff" else _escape(match[0]), text)


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def format_ranges(numbers: Iterable[int]) -> str:
    """Rising numbers as people write them: 1–3, 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in spans)


def format_time(seconds: float) -> str:
    """Format seconds as players do: 12:04, 1:02:03."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def format_size(count: int) -> str:
    """A number of bytes in words: 44 B, 1.2 KB, 3.4 MB."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.1f} {unit}" if size < 10 else f"{size:,.0f} {unit}"
    return f"{size:,.0f} TB"
