"""Write dates and times of a sheet as it shows them: `14 May 2024`, not the number of days that is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from chyme.documents.conversion.zip_packages import tag_of
from chyme.text.word_lists import WordList

MAX_CODE = 200  # letters of a format
MAX_STYLES = 500  # with dates
_MAX_DAYS = 2_958_466  # from here on the year has five digits
_FIRST_SAFE_DAY = 61  # before, the calendar of sheets has a 29 February 1900
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_NAMES = WordList(__package__, "sheet_dates")
_LANGUAGES = {0x07: "de", 0x09: "en", 0x0A: "es", 0x0C: "fr", 0x10: "it", 0x13: "nl", 0x16: "pt"}
_BUILT_IN = {  # those that look alike in every country; 14 and 22, the plain date, do not
    15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
}  # fmt: skip
_LOCAL = {14: "yyyy-mm-dd", 22: "yyyy-mm-dd hh:mm"}  # each country has its own; this one is understood everywhere
_TOKEN = re.compile(
    r"(?P<literal>\"[^\"]*\"|\\.|_.|\*.)|(?P<elapsed>\[(?:h+|m+|s+)\])|\[(?P<bracket>[^\]]*)\]"
    r"|(?P<noon>AM/PM|A/P)|(?P<part>y+|m+|d+|h+|s+)(?P<split>\.0+)?|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_CELL = (  # with one of these styles
    r"<((?:\w+:)?)c\s(?=[^<>]*?\bs=\"({styles})\")([^<>]*)>"
    r"(\s*<(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>))?\s*<(?:\w+:)?v>([^<]{{1,40}})</(?:\w+:)?v>"
)
_TYPE = re.compile(r"\s*\bt=\"(\w+)\"")


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a date's format: `kind` is y, m, d, h, M (minutes), s, a (noon), e (elapsed) or `` for plain text."""

    kind: str
    text: str
    decimals: int = 0


def date_styles(tree: Element | None) -> dict[int, str]:
    """The date format of each style of cells that shows dates or times; `tree` are the workbook's styles."""
    codes: dict[int, str] = {**_BUILT_IN, **_LOCAL}
    styles: dict[int, str] = {}
    for element in tree if tree is not None else ():
        if tag_of(element) == "numFmts":
            for entry in element:
                number, code = entry.get("numFmtId", ""), entry.get("formatCode", "")
                if number.isdigit():
                    codes[int(number)] = code
        elif tag_of(element) == "cellXfs":
            for index, style in enumerate(element):
                number = style.get("numFmtId", "0")
                code = codes.get(int(number), "") if number.isdigit() else ""
                if code and len(styles) < MAX_STYLES and _parts(code):
                    styles[index] = code
    return styles


def show_dates(source: str, styles: Mapping[int, str], from_1904: bool) -> str:
    """A sheet whose cells with dates hold them as text, in the form that is shown."""

    def change(cell: re.Match[str]) -> str:
        kind = _TYPE.search(cell[3])
        shown = None
        if kind is None or kind[1] in ("n", "d"):
            shown = shown_date(cell[5], styles[int(cell[2])], from_1904)
        if shown is None:
            return cell[0]
        attributes = _TYPE.sub("", cell[3])
        return f'<{cell[1]}c {attributes} t="str">{cell[4] or ""}<{cell[1]}v>{escape(shown)}</{cell[1]}v>'

    return re.sub(_CELL.format(styles="|".join(map(str, styles))), change, source) if styles else source


def shown_date(stored: str, code: str, from_1904: bool = False) -> str | None:
    """What a cell with this content and format shows; None if it is not known for sure."""
    parts = _parts(code)
    days = _days(stored, from_1904)
    if not parts or days is None or not 0 <= days < _MAX_DAYS:
        return None
    has_date = any(part.kind in ("y", "m", "d") for part in parts)
    if has_date and days < _FIRST_SAFE_DAY and not from_1904:
        return None
    decimals = max(part.decimals for part in parts)
    seconds = round(days * 86_400, decimals)
    moment = (_EPOCH_1904 if from_1904 else _EPOCH) + timedelta(seconds=seconds)
    names = _names(_language(code))
    if names is None:
        return None
    twelve = any(part.kind == "a" for part in parts)
    return "".join(_show(part, moment, seconds, names, twelve) for part in parts).strip()


def _days(stored: str, from_1904: bool) -> float | None:
    """The stored number of days; newer programs may store an ISO date instead."""
    try:
        return float(stored)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(stored.strip()).replace(tzinfo=None)
    except ValueError:
        return None
    return (moment - (_EPOCH_1904 if from_1904 else _EPOCH)) / timedelta(days=1)


@cache
def _parts(code: str) -> tuple[_Part, ...]:
    """The pieces of a format; none if it shows no date."""
    parts = list(_tokens(code)) if len(code) <= MAX_CODE else []
    if any(part.kind == "?" for part in parts) or not any(part.kind in set("ymdhse") for part in parts):
        return ()
    for index, part in enumerate(parts):
        if part.kind != "m" or len(part.text) > 2:
            continue
        before = next((earlier.kind for earlier in reversed(parts[:index]) if earlier.kind), "")
        after = next((later for later in parts[index + 1 :] if later.kind), None)
        hours = before == "h" or (before == "e" and _is_elapsed_hours(parts[:index]))
        if hours or (after is not None and after.kind == "s"):
            parts[index] = _Part("M", part.text)
    return tuple(parts)


def _is_elapsed_hours(parts: Sequence[_Part]) -> bool:
    return next(part.text for part in reversed(parts) if part.kind == "e").lower().startswith("h")


def _tokens(code: str) -> Iterator[_Part]:
    for token in _TOKEN.finditer(code):
        literal, bracket, other = token["literal"], token["bracket"], token["other"]
        if literal is not None:
            yield _Part("", literal.strip('"') if literal[0] == '"' else literal[1] if literal[0] == "\\" else "")
        elif token["elapsed"]:
            yield _Part("e", token["elapsed"].strip("[]"))
        elif bracket is not None:
            if bracket[:1] == "$" and bracket[1:].partition("-")[0]:
                yield _Part("", bracket[1:].partition("-")[0])
        elif token["noon"]:
            yield _Part("a", token["noon"])
        elif token["part"]:
            decimals = len(token["split"] or ".") - 1
            is_second = token["part"][0] in "sS"
            yield _Part(token["part"][0].lower(), token["part"], min(decimals, 3) if is_second else 0)
            if decimals and not is_second:
                yield _Part("?", "")
        elif other == ";":
            return  # what follows is for numbers below zero, and for text
        else:
            yield _Part("" if other in " ,.:/-年月日時分秒'()" or not other.isascii() else "?", other)


def _language(code: str) -> str:
    found = re.search(r"\[\$[^\]-]*-([0-9A-Fa-f]{1,8})\]", code)
    if not found:
        return "en"
    number = int(found[1], 16)
    return "" if number in (0xF800, 0xF400) or number >> 16 else _LANGUAGES.get(number & 0x3FF, "")


@cache
def _names(language: str) -> tuple[list[str], ...] | None:
    """Months, short months, days and short days; none for a language that is not known."""
    lines = _NAMES.sections.get(language)
    return tuple(line.split() for line in lines) if lines else None


def _show(part: _Part, moment: datetime, seconds: float, names: tuple[list[str], ...], twelve: bool) -> str:
    months, short_months, days, short_days = names
    length = len(part.text)
    match part.kind:
        case "y":
            return f"{moment.year:04}" if length > 2 else f"{moment.year % 100:02}"
        case "m":
            if length > 2:
                full = months[moment.month - 1]
                return full[0] if length == 5 else short_months[moment.month - 1] if length == 3 else full
            return f"{moment.month:0{length}}"
        case "d":
            if length > 2:
                return (short_days if length == 3 else days)[moment.weekday()]
            return f"{moment.day:0{length}}"
        case "h":
            return f"{(moment.hour - 1) % 12 + 1 if twelve else moment.hour:0{min(length, 2)}}"
        case "M":
            return f"{moment.minute:0{length}}"
        case "s":
            fraction = f".{moment.microsecond:06}"[: part.decimals + 1] if part.decimals else ""
            return f"{moment.second:0{min(length, 2)}}{fraction}"
        case "a":
            return ("AM" if moment.hour < 12 else "PM")[: 1 if length == 3 else 2]
        case "e":
            unit = {"h": 3600, "m": 60, "s": 1}[part.text[0].lower()]
            return f"{int(seconds // unit):0{length}}"
    return part.text
