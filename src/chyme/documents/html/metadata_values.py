"""Values as pages write them, made plain: strings without markup, dates, languages, addresses."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape

from chyme.documents.html.tree import absolute_url

OLDEST = 1400  # a year before that is a slip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # what a missing date becomes
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_MARKUP = re.compile(
    r"</?(?:a|b|i|u|em|strong|p|br|hr|span|div|sup|sub|img|small|mark|code|script|style|iframe|svg|li|ul|ol|h[1-6])"
    r"(?:[\s/][^<>]*)?>|<!--|-->",
    re.IGNORECASE,
)
# Marks that turn the reading direction or have no width; the joiners of Persian and of emoji stay.
_TRICKS = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*\s*(?:$|[,;])")


def clean_line(text: str, most: int) -> str | None:
    """One line without markup, control characters and turned directions; None when nothing is left."""
    text = text[: most * 8]
    if _ENTITY.search(text):
        text = unescape(text)
    text = _TRICKS.sub("", _MARKUP.sub(" ", text))
    text = "".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in text)
    text = " ".join(text.split())
    return (text if len(text) <= most else text[: most - 1].rstrip() + "…") or None


def date_of(text: str) -> str | None:
    """A date or moment in ISO 8601, as precise as it is told; None for what is no date or cannot be one."""
    text = text.strip()[:60]
    whole = _DATE.fullmatch(text)
    if whole:
        year, month, day = (int(part) if part else None for part in whole.groups())
        iso = f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")
        return iso if _sensible(year or 0, month or 1, day or 1) else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return _leading_date(text)
    if moment.year < OLDEST or (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) == _EPOCH:
        return None
    if text.isdigit():
        return moment.date().isoformat()
    return moment.isoformat()


def language_of(text: str) -> str | None:
    """The main part of a language tag, in lower case: `pt` of `pt-BR`, `en` of `en_GB`."""
    found = _LANGUAGE.match(text[:100])
    name = found[1].lower() if found else None
    return None if name in ("und", "mul", "zxx", "xx") else name


def web_address(text: str, base: str) -> str | None:
    """A web address that stands by itself, as a page tells it; None for everything else."""
    return absolute_url(text.strip(), base)


def _leading_date(text: str) -> str | None:
    """The date before a time that is written strangely: `2024-03-01 10:00 CET`."""
    found = re.match(r"(\d{4})-(\d{2})-(\d{2})(?=[T ])", text)
    if found and _sensible(int(found[1]), int(found[2]), int(found[3])):
        return found[0]
    return None


def _sensible(year: int, month: int, day: int) -> bool:
    try:
        return datetime(year, month, day).year >= OLDEST
    except ValueError:
        return False
