"""Find what is written like a date: in figures, in words, and as East Asia writes them.

Every pattern is bounded and begins with a figure or a word, so that the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from re import Match, Pattern

from chyme.understanding.dates.words import VERSION_NUMBER_WORDS, month_of

EARLIEST, EARLIEST_IN_FIGURES = 1000, 1583  # figures before the calendar of today are another calendar's
MAX_YEARS_AHEAD = 2  # years ahead of today
YEAR_FIRST = frozenset({"ja", "ko", "zh", "hu", "lt", "mn", "sv"})  # who write 26-04-03 for 2026
_WITH_POINTS_ONLY = frozenset({"en", "ja", "zh"})  # whose 3.4.26 is rather a section or a version
_BUDDHIST, _TAIWAN = 543, 1911
_LOOKED_AT = 50_000  # characters that show whether a text numbers its sections

_CLEAR = r"(?<![0-9A-Za-z\u00c0-\u024f_./+$€£¥%^=&?-])"  # no figure, word, address or amount goes on here
_OVER = r"(?![0-9A-Za-z\u00c0-\u024f_%€$£°]|[./:,-]\d|/\w|\s?[€%$£])"
_WORD = r"(?:[^\W\d_][\u0300-\u036f\u0653-\u0655]{0,2}){3,14}"  # accents may stand apart
_NTH = r"(?:st|nd|rd|th|er|re|[eoaº°ª.]|η|ης|-?го)?"
_GAP = r"[\s\u00a0./-]{0,3}"

_ISO = re.compile(
    r"(?<![0-9A-Za-z_./+-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})"
    r"(?:[T ]\d{1,2}[:.]\d{2}|(?![0-9A-Za-z_]|[./-]\w))"
)
_SPACED = re.compile(rf"{_CLEAR}(\d{{4}})\.\s(\d{{1,2}})\.\s(\d{{1,2}})(?![\d:])")  # 2026. 4. 3.
_FIGURES = re.compile(rf"{_CLEAR}(\d{{1,2}})(\s?)([./-])(\s?)(\d{{1,2}})\2\3\4(\d{{4}}|\d{{2}}){_OVER}")
_DAY_MONTH = re.compile(
    rf"(?<![0-9A-Za-z_/.,-])(?<!\d:)(\d{{1,2}}){_NTH}(?:\s{{1,2}}day)?{_GAP}(?:(?:of|de|den|di|the)\s|d['’])?({_WORD})\.?,?{_GAP}"
    r"(?:(?:de|del|do|of|anno)\s)?(\d{4}|['’]\d{2}|\d{2})(?![\d:]|[.,]\d|\s?(?:uhr|am\b|pm\b|a\.m|p\.m))",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    rf"(?<![\w'’-])({_WORD})\.?[\s\u00a0-]{{1,3}}(?:the\s)?(\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,\s{0,3}|\s{1,3}|-)(?:\d{1,2}:\d{2}(?::\d{2})?\s(?:[A-Z]{2,5}\s)?)?(?:of\s)?(\d{4})(?![\d:]|[.,]\d)",
    re.IGNORECASE,
)
_YEAR_WORD = re.compile(
    rf"(?<![\w.,-])(\d{{4}})(?:\.|,)?[\s-]{{1,2}}(?:m\.\s)?({_WORD})\.?[\s-]{{1,2}}(\d{{1,2}})(?![\d:]|[.,]\d)"
)
_MONTH_YEAR = re.compile(
    rf"(?<![\w'’])({_WORD})\.?,?[\s\u00a0-]{{0,2}}(?:(?:de|del|do|of)\s)?(\d{{4}})(?![\w]|[.,:/-]\d)", re.IGNORECASE
)
_VIETNAMESE = re.compile(r"ng[àa]y\s(\d{1,2})\sth[áa]ng\s(\d{1,2})\sn[ăa]m\s(\d{4})", re.IGNORECASE)
_ANY_FIGURE = re.compile(r"[\d〇零一二三四五六七八九十廿元]+")
_REACH = 48  # characters that a date goes on before and after a figure of it
_NUMERAL = r"[\d〇零一二三四五六七八九十廿元]"
_EAST = re.compile(
    r"(?<!\d)(?:(令和|平成|昭和|大正|明治|民國|民国|中華民國)\s?)?"
    rf"({_NUMERAL}{{1,4}})\s?[年년]\s?({_NUMERAL}{{1,3}})\s?[月월](?:份)?(?:\s?({_NUMERAL}{{1,3}})\s?[日号號일])?"
)
_ERA_LETTER = re.compile(r"(?<![0-9A-Za-z])([RHS])(\d{1,2})\.(\d{1,2})\.(\d{1,2})(?![.\d])")
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "R": 2018, "H": 1988, "S": 1925}
_HAN = {letter: value for value, letter in enumerate("〇一二三四五六七八九")} | {"零": 0, "元": 1}
_SECTION = re.compile(r"^[#\s]{0,8}\d{1,2}\.\d{1,2}(?:\.\d{1,2})?\.?\s{1,3}[^\W\d]", re.MULTILINE)
_DIALLED = re.compile(r"\(\d{2,6}\)\s?$|\+\d{1,3}[\s\d]{0,12}$")
_LINE_BEGINS = re.compile(r"(?:^|\n)[#\s*>]{0,8}$")


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a date is written."""

    start: int
    end: int
    year: int
    month: int
    day: int | None
    month_first: bool | None = None  # how it is written, where that shows
    swappable: bool = False  # day and month may be the other way round: read here as day first
    mark: str = ""  # between the figures
    short_year: bool = False

    def iso(self, month_first: bool = False) -> str:
        """As ISO 8601 has it, with day and month changed over where that may be."""
        if self.day is None:
            return f"{self.year:04}-{self.month:02}"
        month, day = (self.day, self.month) if self.swappable and month_first else (self.month, self.day)
        return f"{self.year:04}-{month:02}-{day:02}"


def find_mentions(text: str, parts: Iterable[tuple[int, int]], language: str | None, today: date) -> list[Mention]:
    """What is written like a date in these parts of the text, in order; none lies in another."""
    found = [
        one
        for begin, end in _with_figures(text, parts)
        for one in _written(text, begin, end, language, today)
        if not one.end == end < len(text)  # cut off
    ]
    found.sort(key=lambda one: (one.start, -one.end))
    sections = any(one.mark == "." for one in found) and len(_SECTION.findall(text, 0, _LOOKED_AT)) > 1
    apart: list[Mention] = []
    reached = 0
    for one in found:
        if one.start < reached:
            continue
        reached = one.end  # also by what is impossible: of 31 February 2026, no February is left
        if is_possible(one, today) and (not one.mark or _is_date(text, one, language, sections)):
            apart.append(one)
    return apart


def _with_figures(text: str, parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches around figures: no date is anywhere else."""
    for first, last in parts:
        begin = end = first
        for match in _ANY_FIGURE.finditer(text, first, last):
            if match.start() - _REACH > end:
                if end > begin:
                    yield begin, end
                begin = max(first, match.start() - _REACH)
            end = min(last, match.end() + _REACH)
        if end > begin:
            yield begin, end


def _each(pattern: Pattern[str], text: str, begin: int, end: int) -> Iterator[Match[str]]:
    """Every place where it matches, also inside of others: in `2. Auflage, 31. Dezember 2016` that is the last."""
    while match := pattern.search(text, begin, end):
        yield match
        begin = match.start() + 1


def is_possible(one: Mention, today: date) -> bool:
    """Whether there is such a day in the calendar, not too far ahead."""
    if not (EARLIEST_IN_FIGURES if one.mark else EARLIEST) <= one.year <= today.year + MAX_YEARS_AHEAD:
        return False
    try:
        date(one.year, one.month, one.day or 1)
    except ValueError:
        return False
    return True


def full_year(figures: str, today: date) -> int:
    """26 is 2026, 98 is 1998: at most two years from now lies ahead."""
    year = int(figures.lstrip("'’"))
    if len(figures.lstrip("'’")) > 2:
        return year
    century = today.year - today.year % 100
    return century + year if century + year <= today.year + MAX_YEARS_AHEAD else century + year - 100


def _written(text: str, begin: int, end: int, language: str | None, today: date) -> Iterator[Mention]:
    base = (language or "").split("-")[0]
    yield from _in_figures(text, begin, end, base, today)
    yield from _in_words(text, begin, end, language, today)
    yield from _in_the_east(text, begin, end, base)


def _in_figures(text: str, begin: int, end: int, base: str, today: date) -> Iterator[Mention]:
    for match in _ISO.finditer(text, begin, end):
        year, mark, month, day = match.groups()
        until = match.end(4)
        yield Mention(match.start(), until, _gregorian(int(year), base), int(month), int(day), mark=mark)
    for match in _SPACED.finditer(text, begin, end):
        yield Mention(match.start(), match.end(), int(match[1]), int(match[2]), int(match[3]), mark=".")
    for match in _FIGURES.finditer(text, begin, end):
        one, two = int(match[1]), int(match[5])
        short = len(match[6]) == 2
        span, mark = (match.start(), match.end()), match[3]
        if short and base in YEAR_FIRST and mark != "." and len(match[1]) == 2:
            yield Mention(*span, full_year(match[1], today), two, int(match[6]), mark=mark, short_year=True)
            continue
        year = _gregorian(full_year(match[6], today), base)
        if one > 12 or two > 12:
            month_first = one <= 12
            month, day = (one, two) if month_first else (two, one)
            yield Mention(*span, year, month, day, month_first, mark=mark, short_year=short)
        else:
            yield Mention(*span, year, two, one, swappable=one != two, mark=mark, short_year=short)


def _in_words(text: str, begin: int, end: int, language: str | None, today: date) -> Iterator[Mention]:
    for match in _each(_DAY_MONTH, text, begin, end):
        if month := month_of(match[2], language):
            year, short = full_year(match[3], today), len(match[3]) < 4
            yield Mention(match.start(), match.end(), year, month, int(match[1]), False, short_year=short)
    for match in _each(_MONTH_DAY, text, begin, end):
        if month := month_of(match[1], language, strict=True):
            yield Mention(match.start(), match.end(), int(match[3]), month, int(match[2]), True)
    for match in _each(_YEAR_WORD, text, begin, end):
        if month := month_of(match[2], language):
            yield Mention(match.start(), match.end(), int(match[1]), month, int(match[3]))
    for match in _each(_MONTH_YEAR, text, begin, end):
        named = match[1][0].isupper() or language not in (None, "en", "de")  # they write months with capitals
        if named and (month := month_of(match[1], language, strict=True)):
            yield Mention(match.start(), match.end(), int(match[2]), month, None)
    for match in _VIETNAMESE.finditer(text, begin, end):
        yield Mention(match.start(), match.end(), int(match[3]), int(match[2]), int(match[1]))


def _in_the_east(text: str, begin: int, end: int, base: str) -> Iterator[Mention]:
    for match in _EAST.finditer(text, begin, end):
        era, told, month, day = match.groups()
        year = _numeral(told)
        if era:
            year += _ERAS.get(era, _TAIWAN)
        elif len(told) < 4:
            continue
        yield Mention(match.start(), match.end(), year, _numeral(month), _numeral(day) if day else None)
    if base == "ja":
        for match in _ERA_LETTER.finditer(text, begin, end):
            year = _ERAS[match[1]] + int(match[2])
            yield Mention(match.start(), match.end(), year, int(match[3]), int(match[4]), mark=".")


def _numeral(told: str) -> int:
    """8, 八, 十二, 二十三, 二〇二六. Zero when it is none, which no date has."""
    if told.isdecimal():
        return int(told)
    if "十" in told or "廿" in told:
        tens, _, ones = told.replace("廿", "二十").partition("十")
        return (_numeral(tens) if tens else 1) * 10 + (_numeral(ones) if ones else 0)
    figures = [_HAN.get(letter, int(letter) if letter.isdecimal() else -1) for letter in told]
    return int("".join(map(str, figures))) if min(figures) >= 0 else 0


def _gregorian(year: int, base: str) -> int:
    return year - _BUDDHIST if base == "th" and year > 2400 else year


def _is_date(text: str, one: Mention, language: str | None, sections: bool) -> bool:
    """Figures may be a version, a section, a telephone number: what stands before them tells."""
    before = text[max(0, one.start - 24) : one.start].lower()
    if VERSION_NUMBER_WORDS.search(before) or _DIALLED.search(before):
        return False
    base = (language or "").split("-")[0]
    if one.mark == "." and text[one.start : one.start + 4].isdecimal() is False:
        if sections and _LINE_BEGINS.search("\n" * (one.start == 0) + before):
            return False
        if one.short_year and base in _WITH_POINTS_ONLY and not before.rstrip().endswith(":"):
            return False
    return True
