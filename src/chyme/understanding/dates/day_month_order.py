"""Whether 03/04/2026 is in March or in April."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from chyme.understanding.dates.forms import Mention

_DAY_FIRST_REGIONS = frozenset({"GB", "UK", "AU", "NZ", "IE", "IN", "ZA", "SG", "HK", "MT"})
_MONTH_FIRST = frozenset({"tl", "fil"})
_SIGNS = 50_000  # characters at the beginning that tell where a text is from
_DAY_FIRST_SIGNS = re.compile(
    r"£|€|\b(?:GBP|EUR|VAT|Ltd|Pty|PLC|Limited|BST|ABN|GST|NHS|HMRC|United Kingdom)\b|\b[Pp]ost ?code"
    r"|\.(?:co\.uk|uk|ie|com\.au|co\.nz|co\.za|eu|in)\b|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b"
    r"|\b(?:[Ee]uros?|pence)\b|\b(?:[Cc]olour|[Ff]avour|[Cc]entre|[Oo]rganis|[Rr]ecognis|[Rr]ealis|[Cc]heque|[Ll]icence|[Pp]rogramme)"
    r"|\+(?:44|61|64|353|27|91|49|33)\b"
)
_MONTH_FIRST_SIGNS = re.compile(
    r"(?<![A-Z])\$ ?\d|\b(?:USD|LLC|Inc|Corp|IRS|SSN|EST|EDT|PST|PDT|CST|United States|[Zz][Ii][Pp])\b|\bU\.S\."
    r"|\b[A-Z]{2},? \d{5}(?:-\d{4})?\b|\(\d{3}\) ?\d{3}-\d{4}|\+1[ (-]"
    r"|\b(?:[Dd]ollars?|[Cc]ents?)\b"
    r"|\b(?:[Cc]olor|[Ff]avor|[Cc]enter|[Oo]rganiz|[Rr]ecogniz|[Cc]heck #|[Ss]ales [Tt]ax)"
)
_MOST_SIGNS = 20
_BY_HABIT = 0.72  # so far that a date in a letterhead is just taken, and none that stands anywhere else


@dataclass(frozen=True, slots=True)
class Order:
    """How figures are to be read, and how sure that is."""

    month_first: bool
    trust: float  # 0..1
    ambiguous: bool  # it may be the other way round: neither other dates nor the language tell


def order_of(text: str, found: Sequence[Mention], mark: str, language: str | None) -> Order:
    """Other dates of the document decide; else its language; where English leaves it open, signs of the country."""
    base, _, region = (language or "").partition("-")
    shown = [one.month_first for one in found if one.mark == mark and one.month_first is not None]
    if not shown:
        shown = [one.month_first for one in found if one.mark and one.mark != "." and one.month_first is not None]
    if shown and mark != ".":
        first = sum(shown)
        if first in (0, len(shown)):
            return Order(bool(first), 1.0, ambiguous=False)
        return Order(first * 2 > len(shown), 0.6, ambiguous=True)
    said = {one.iso() for one in found if not one.swappable and one.day is not None}
    as_day = sum(one.iso() in said for one in found if one.swappable)
    as_month = sum(one.iso(month_first=True) in said for one in found if one.swappable)
    if (as_day > 0) != (as_month > 0):
        return Order(as_month > 0, 1.0, ambiguous=False)
    if mark == ".":
        return Order(month_first=False, trust=1.0 if base != "en" else 0.85, ambiguous=base in ("en", ""))
    if base and base != "en":
        return Order(base in _MONTH_FIRST, 0.97, ambiguous=False)
    if region.upper() in _DAY_FIRST_REGIONS or region.upper() == "US":
        return Order(region.upper() == "US", 0.97, ambiguous=False)
    return _by_signs(text[:_SIGNS], found, base)


def _by_signs(text: str, found: Sequence[Mention], base: str) -> Order:
    day = min(sum(1 for _ in _DAY_FIRST_SIGNS.finditer(text)), _MOST_SIGNS)
    month = min(sum(1 for _ in _MONTH_FIRST_SIGNS.finditer(text)), _MOST_SIGNS)
    for one in found:  # April 3, 2026 is American, 3 April 2026 is not
        if not one.mark and one.month_first is not None:
            day, month = day + 2 * (not one.month_first), month + 2 * one.month_first
    if day != month and max(day, month) >= 2 * min(day, month):
        return Order(month > day, 0.85 if max(day, month) > 1 else 0.75, ambiguous=True)
    return Order(base == "en", _BY_HABIT, ambiguous=True)


def resolve_mention(one: Mention, order: Order | None, today: date) -> tuple[str, float, bool]:
    """The date a mention stands for, how far its order is to be trusted, whether it may be the other way round."""
    if not one.swappable or order is None:
        return one.iso(), 1.0, False
    taken, other = one.iso(order.month_first), one.iso(not order.month_first)
    if order.ambiguous and other <= today.isoformat() < taken:  # papers are seldom of a day to come
        return other, order.trust, True
    return taken, order.trust, order.ambiguous
