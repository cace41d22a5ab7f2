"""Turns what other programs say about a document into titles, dates, tags and properties as chyme stores them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from chyme.errors import UsageError
from chyme.imports.entries import OTHER_TAGS, Values
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.classification.result import TITLE_LENGTH
from chyme.understanding.edit_rules import MAX_TAGS, parse_date, parse_title
from chyme.understanding.tags.names import parse_typed_tag

MAX_NAME, MAX_VALUE = 100, 20_000  # characters of a property
MAX_PROPERTIES = 200
_DAY = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?(?=$|[T ])")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def values_of(
    title: object = None,
    date: object = None,
    tags: Iterable[object] = (),
    properties: Mapping[str, object] | None = None,
) -> Values:
    """Keep what makes sense. Tags that are too long for a tag are kept as a property."""
    names: dict[str, str] = {}
    unfit: list[str] = []
    for tag in tags:
        text = clean_text(tag)
        if not text:
            continue
        try:
            name = parse_typed_tag(text)
        except UsageError:
            unfit.append(text)
            continue
        if len(names) < MAX_TAGS:
            names.setdefault(comparison_key(name), name)
        else:
            unfit.append(text)
    kept = dict(properties or {})
    if unfit:
        kept[OTHER_TAGS] = "; ".join(dict.fromkeys(unfit))
    return Values(title_of(title), day_of(date), tuple(names.values()), _properties(kept))


def title_of(value: object) -> str | None:
    """A title, shortened to what chyme stores; None if there is none."""
    text = " ".join(clean_text(value).split())
    if len(text) > TITLE_LENGTH:
        text = text[: TITLE_LENGTH - 1].rstrip() + "…"
    try:
        return parse_title(text) if text else None
    except UsageError:
        return None


def day_of(value: object) -> str | None:
    """The day of an ISO date or time, or of a Unix time; None if it is no date."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _unix_day(value)
    text = clean_text(value).strip()
    if text.isdigit() and len(text) > 4:
        return _unix_day(int(text[:20]))
    found = _DAY.match(text.replace(":", "-", 2) if re.match(r"\d{4}:\d{2}:\d{2}", text) else text)
    try:
        return parse_date(found.group()) if found else None
    except UsageError:
        return None


def _unix_day(seconds: float) -> str | None:
    while abs(seconds) > 1e11:  # browsers also write milliseconds and microseconds
        seconds /= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d") if seconds > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


def clean_text(value: object) -> str:
    """Text without characters that cannot be seen or stored; "" for what is no text or number."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return _INVISIBLE.sub("", value.replace("\r\n", "\n").replace("\r", "\n")) if isinstance(value, str) else ""


def _properties(properties: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in properties.items():
        key = " ".join(clean_text(name).split())[:MAX_NAME]
        text = clean_text(value).strip()[:MAX_VALUE]
        if key and text and len(found) < MAX_PROPERTIES:
            found[key] = text if key not in found else f"{found[key]}\n{text}"[:MAX_VALUE]
    return found
