"""Normalise values that pages declare: strings without markup, dates, languages, addresses."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape

MIN_YEAR = 1400  # an earlier year is an error
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # what a missing date becomes
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_MARKUP = re.compile(
    r"</?(?:a|b|i|u|em|strong|p|br|hr|span|div|sup|sub|img|small|mark|code|script|style|iframe|svg|li|ul|ol|h[1-6])"
    r"(?:[\s/][^<>]*)?>|<!--|-->",
    re.IGNORECASE,
)
# Characters that change the reading direction or have no width; the joiners of Persian and of emoji stay.
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*\s*(?:$|[,;])")


def clean_line(text: str, max_chars: int) -> str | None:
    """One line without markup, control characters and changes of direction; None if nothing is left."""
    text = text[: max_chars * 8]
    if _ENTITY.search(text):
        text = unescape(text)
    text = _HIDDEN.sub("", _MARKUP.sub(" ", text))
    text = "".join(" " if unicodedata.category(character) == "Cc" else character for character in text)
    text = " ".join(text.split())
    return (text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…") or None


def date_of(text: str) -> str | None:
    """A date or timestamp in ISO 8601, as precise as given; None if it is not or cannot be a date."""
    text = text.strip()[:60]
    match = _DATE.fullmatch(text)
    if match:
        year, month, day = (int(part) if part else None for part in match.groups())
        iso = f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")
        return iso if _is_plausible_date(year or 0, month or 1, day or 1) else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return _leading_date(text)
    if moment.year < MIN_YEAR or (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) == _EPOCH:
        return None
    if text.isdigit():
        return moment.date().isoformat()
    return moment.isoformat()


def language_of(text: str) -> str | None:
    """The main part of a language tag, in lower case: `pt` of `pt-BR`, `en` of `en_GB`."""
    match = _LANGUAGE.match(text[:100])
    name = match[1].lower() if match else None
    return None if name in ("und", "mul", "zxx", "xx") else name


def _leading_date(text: str) -> str | None:
    """The date before a time in an unusual format: `2024-03-01 10:00 CET`."""
    match = re.match(r"(\d{4})-(\d{2})-(\d{2})(?=[T ])", text)
    if match and _is_plausible_date(int(match[1]), int(match[2]), int(match[3])):
        return match[0]
    return None


def _is_plausible_date(year: int, month: int, day: int) -> bool:
    try:
        return datetime(year, month, day).year >= MIN_YEAR
    except ValueError:
        return False
