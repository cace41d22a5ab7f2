"""Decide whether 03/04/2026 is in March or in April."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from chyme.understanding.dates.forms import Mention

_DAY_FIRST_REGIONS = frozenset({"GB", "UK", "AU", "NZ", "IE", "IN", "ZA", "SG", "HK", "MT"})
_MONTH_FIRST = frozenset({"tl", "fil"})
_SEARCHED = 50_000  # characters at the beginning that are searched for signs of the country
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
_MAX_SIGNS = 20
_DEFAULT_TRUST = 0.72  # just high enough for a date in a letterhead to be chosen, and for no other


@dataclass(frozen=True, slots=True)
class Order:
    """How the figures of a date are read, and how sure that is."""

    month_first: bool
    trust: float  # 0..1
    ambiguous: bool  # it may be the other way round: neither other dates nor the language decide


def order_of(text: str, mentions: Sequence[Mention], mark: str, language: str | None) -> Order:
    """The order by other dates of the document; else by its language; for English, by signs of the country."""
    base, _, region = (language or "").partition("-")
    orders = [mention.month_first for mention in mentions if mention.mark == mark and mention.month_first is not None]
    if not orders:
        orders = [
            mention.month_first
            for mention in mentions
            if mention.mark and mention.mark != "." and mention.month_first is not None
        ]
    if orders and mark != ".":
        first = sum(orders)
        if first in (0, len(orders)):
            return Order(bool(first), 1.0, ambiguous=False)
        return Order(first * 2 > len(orders), 0.6, ambiguous=True)
    clear_dates = {mention.iso() for mention in mentions if not mention.swappable and mention.day is not None}
    as_day = sum(mention.iso() in clear_dates for mention in mentions if mention.swappable)
    as_month = sum(mention.iso(month_first=True) in clear_dates for mention in mentions if mention.swappable)
    if (as_day > 0) != (as_month > 0):
        return Order(as_month > 0, 1.0, ambiguous=False)
    if mark == ".":
        return Order(month_first=False, trust=1.0 if base != "en" else 0.85, ambiguous=base in ("en", ""))
    if base and base != "en":
        return Order(base in _MONTH_FIRST, 0.97, ambiguous=False)
    if region.upper() in _DAY_FIRST_REGIONS or region.upper() == "US":
        return Order(region.upper() == "US", 0.97, ambiguous=False)
    return _order_by_signs(text[:_SEARCHED], mentions, base)


def _order_by_signs(text: str, mentions: Sequence[Mention], base: str) -> Order:
    day = min(sum(1 for _ in _DAY_FIRST_SIGNS.finditer(text)), _MAX_SIGNS)
    month = min(sum(1 for _ in _MONTH_FIRST_SIGNS.finditer(text)), _MAX_SIGNS)
    for mention in mentions:  # April 3, 2026 is American, 3 April 2026 is not
        if not mention.mark and mention.month_first is not None:
            day, month = day + 2 * (not mention.month_first), month + 2 * mention.month_first
    if day != month and max(day, month) >= 2 * min(day, month):
        return Order(month > day, 0.85 if max(day, month) > 1 else 0.75, ambiguous=True)
    return Order(base == "en", _DEFAULT_TRUST, ambiguous=True)


def resolve_mention(mention: Mention, order: Order | None, today: date) -> tuple[str, float, bool]:
    """The date of a mention, the trust in its order, and whether day and month may be swapped."""
    if not mention.swappable or order is None:
        return mention.iso(), 1.0, False
    chosen, other = mention.iso(order.month_first), mention.iso(not order.month_first)
    if order.ambiguous and other <= today.isoformat() < chosen:  # a document's date is seldom in the future
        return other, order.trust, True
    return chosen, order.trust, order.ambiguous
