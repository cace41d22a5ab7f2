"""Dates that files carry with them: in their name, and in what programs wrote into them."""

from __future__ import annotations

import re
from datetime import date, timedelta
from email.utils import parsedate_tz

from chyme.understanding.classification.result import Candidate
from chyme.understanding.dates.day_month_order import order_of, resolve_mention
from chyme.understanding.dates.forms import find_mentions

# How much a stamp is worth by where it is from.
TRUST = {"exif": 0.95, "mail": 0.97, "published": 0.92, "properties": 0.62, "modified": 0.4}
_OTHER = 0.6
NAME = "name"
_LONGEST = 200  # characters of a stamp or a name
# What programs write who do not know: the first day of their clock, the day their template was made.
_MADE_UP = frozenset(
    {"1970-01-01", "1969-12-31", "1980-01-01", "1979-12-31", "1601-01-01", "1899-12-30", "1899-12-31", "1900-01-01"}
    | {"1904-01-01", "2000-01-01", "2001-01-01", "2013-12-23", "2006-09-16", "2006-09-13"}
)
_STAMP = re.compile(
    r"(?:D:\s?)?(\d{4})(?:([-:/.]?)(0[1-9]|1[0-2])\2([0-3]\d)(?:\d{2}|\d{4}|\d{6})?(?=$|[T\s:+Z'.-])|(?:-(0[1-9]|1[0-2]))?$)"
)
_EXTENSION = re.compile(r"(?:\.[A-Za-z]\w{0,5}){1,2}$")
_UNDERSCORE = re.compile(r"(?<=\d)_(?=\d)")
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d{2})(\d{2})(\d{2})(?:(?=\D|$)|(?=[01]\d[0-5]\d[0-5]\d(?:\D|$)))")
_YEAR_MONTH = re.compile(r"(?<![\d.,-])((?:19|20)\d{2})[-. ](0[1-9]|1[0-2])(?!\d|[.-]\d)")
_YEAR = re.compile(r"(?<![\d.,-])((?:19|20)\d{2})(?![\d,-])")
_FULL, _MONTH, _ONLY_YEAR, _UNCLEAR = 0.8, 0.55, 0.3, 0.45


def from_stamp(value: str, where: str, today: date) -> Candidate | None:
    """The date in what a program wrote down. None for what it made up, and for days to come."""
    told = value.strip()[:_LONGEST]
    if match := _STAMP.match(told):
        return _checked(match[1], match[3] or match[5], match[4], told, where, today)
    if parsed := parsedate_tz(told):
        year, month, day = parsed[:3]
        return _checked(str(year), str(month), str(day), told, where, today)
    found = find_mentions(told, [(0, len(told))], None, today)
    if len(found) == 1 and found[0].day is not None and not found[0].swappable:
        written = found[0].iso().split("-")
        return _checked(written[0], written[1], written[2], told, where, today)
    return None


def _checked(year: str, month: str | None, day: str | None, told: str, where: str, today: date) -> Candidate | None:
    try:
        exact = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    iso = exact.isoformat()[: 10 if day else 7 if month else 4]
    if exact > today + timedelta(days=1) or exact.year < 1800 or iso in _MADE_UP:
        return None
    return Candidate(iso, told, where, TRUST.get(where, _OTHER) * (1.0 if day else 0.7))


def from_name(name: str, today: date) -> Candidate | None:
    """The date in the name of a file, where it can only be one."""
    told = name[:_LONGEST]
    plain = _UNDERSCORE.sub("-", _EXTENSION.sub("", told)).replace("_", " ")
    compact = {match[0]: match for match in _COMPACT.finditer(plain)}
    if len(compact) == 1:
        figures, match = compact.popitem()
        found = _named("-".join(match.groups()), figures, _FULL, today)
        if found is not None:
            return found
    mentioned = find_mentions(plain, [(0, len(plain))], None, today)
    exact = [one for one in mentioned if one.day is not None]
    exact = [one for one in exact if plain[one.start : one.start + 4].isdecimal()] or exact  # the other may be a time
    if len({one.iso() for one in exact}) > 1:
        return None  # a span of time
    if exact:
        one = exact[0]
        iso, _, ambiguous = resolve_mention(one, order_of(plain, exact, one.mark, None), today)
        ambiguous = ambiguous and one.mark != "."
        sure = _UNCLEAR if ambiguous else _FULL - (0.1 if one.short_year else 0.0)
        return _named(iso, told[one.start : one.end], sure, today, ambiguous)
    if len({one.iso() for one in mentioned}) == 1:
        return _named(mentioned[0].iso(), told[mentioned[0].start : mentioned[0].end], _MONTH, today)
    if month := _YEAR_MONTH.search(plain):
        return _named(f"{month[1]}-{month[2]}", told[month.start() : month.end()], _MONTH, today)
    years = {match[0] for match in _YEAR.finditer(plain)}
    if len(years) == 1:
        year = years.pop()
        return _named(year, year, _ONLY_YEAR, today)
    return None


def _named(iso: str, told: str, sure: float, today: date, ambiguous: bool = False) -> Candidate | None:
    year, month, day = (*iso.split("-"), "1", "1")[:3]
    try:
        exact = date(int(year), int(month), int(day))
    except ValueError:
        return None
    if exact > today + timedelta(days=366):
        return None
    return Candidate(iso, told, NAME, sure if exact <= today else sure * 0.6, ambiguous)
