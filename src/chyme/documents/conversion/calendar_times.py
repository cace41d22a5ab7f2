"""Dates, times, durations and recurrence rules of calendars, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chyme.documents.conversion.content_lines import ContentLine

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAY_CODES = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), WEEKDAYS, strict=True))
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?)?(?:\.\d+)?(Z?)")
_DURATION = re.compile(r"([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?")
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNITS = {"SECONDLY": "second", "MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week",
          "MONTHLY": "month", "YEARLY": "year"}  # fmt: skip
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "second to last"}


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, or a time of a day with its time zone."""

    at: datetime
    has_time: bool
    zone: str = ""

    @property
    def day(self) -> str:
        """The day in words: Saturday, 11 May 2024."""
        return f"{WEEKDAYS[self.at.weekday()]}, {describe_date(self.at.year, self.at.month, self.at.day)}"

    @property
    def time(self) -> str:
        return f"{self.at:%H:%M}"

    def later(self, length: timedelta) -> Moment | None:
        try:
            return replace(self, at=self.at + length)
        except OverflowError:
            return None


def describe_date(year: int | None, month: int, day: int) -> str:
    """A date in words: 11 May 2024, or 11 May."""
    return f"{day} {MONTHS[month - 1]}" + (f" {year}" if year else "")


def parse_moment(line: ContentLine) -> Moment | None:
    """The time that a property names; None if it makes no sense."""
    found = _MOMENT.fullmatch(line.value.strip())
    if found is None:
        return None
    try:
        at = datetime(*(int(part or 0) for part in found.groups()[:5]))  # type: ignore[arg-type]
    except ValueError:
        return None
    zone = "UTC" if found[7] else " ".join(line.parameters.get("TZID", "").lstrip("/").split())[:60]
    return Moment(at, found[4] is not None, zone if found[4] is not None else "")


def parse_duration(value: str) -> timedelta | None:
    """A duration such as PT1H30M; None if it makes no sense."""
    found = _DURATION.fullmatch(value.strip().upper())
    if found is None:
        return None
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if found[1] == "-" else length


def describe_span(start: Moment, end: Moment | None) -> str:
    """From when to when, in words. The end of whole days is the day after, as calendars write it."""
    if not start.has_time:
        last = end.later(timedelta(days=-1)) if end and not end.has_time else None
        if last is None or last.at <= start.at:
            return f"{start.day} (all day)"
        return f"{start.day} to {last.day} (all day)"
    zone = f" ({start.zone})" if start.zone else ""
    if end is None or end.at <= start.at:
        return f"{start.day}, {start.time}{zone}"
    if end.at.date() == start.at.date():
        return f"{start.day}, {start.time} to {end.time}{zone}"
    return f"{start.day}, {start.time} to {end.day}, {end.time}{zone}"


def describe_recurrence(rule: str) -> str:
    """A recurrence rule in words: every 2 weeks on Saturday until 26 October 2024."""
    fields = dict(part.upper().split("=", 1) for part in rule.strip()[:2000].split(";") if "=" in part)
    unit = _UNITS.get(fields.get("FREQ", ""))
    if unit is None:
        return ""
    interval = _number(fields.get("INTERVAL")) or 1
    words = [f"every {unit}" if interval == 1 else f"every {interval} {unit}s"]
    months = [MONTHS[number - 1] for number in _numbers(fields.get("BYMONTH")) if 1 <= number <= 12]
    days = [_describe_weekday(*match) for match in _BY_DAY.findall(fields.get("BYDAY", ""))[:20]]
    month_days = [_describe_month_day(number) for number in _numbers(fields.get("BYMONTHDAY"))]
    if days:
        words.append(f"on {_join(days)}")
    if month_days:
        words.append(f"on {_join(month_days)}")
    if months:
        words.append(f"in {_join(months)}")
    until = parse_moment(ContentLine("UNTIL", fields.get("UNTIL", ""), {}))
    if until:
        words.append(f"until {describe_date(until.at.year, until.at.month, until.at.day)}")
    elif count := _number(fields.get("COUNT")):
        words.append("once" if count == 1 else f"{count:,} times")
    return " ".join(words)


def _describe_weekday(ordinal: str, code: str) -> str:
    name = _DAY_CODES[code]
    if not ordinal or not int(ordinal):
        return name
    number = int(ordinal)
    return f"the {_ORDINALS.get(number, f'{number}.')} {name}"


def _describe_month_day(number: int) -> str:
    return f"day {number}" if number > 0 else "the last day" if number == -1 else f"day {-number} before the end"


def _join(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"


def _numbers(text: str | None) -> list[int]:
    numbers = (_number(part) for part in (text or "").split(",")[:40])
    return [number for number in numbers if number]


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[+-]?\d{1,6}", text.strip()) else None
