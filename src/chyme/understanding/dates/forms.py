"""Find dates in a text: in figures, in words, and in East Asian forms.

Every pattern is bounded and begins with a figure or a word, so that the work grows linearly with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from re import Match, Pattern

from chyme.understanding.dates.vocabulary import VERSION_NUMBER_WORDS, month_of

EARLIEST, EARLIEST_IN_FIGURES = 1000, 1583  # earlier figures are from before today's calendar
MAX_YEARS_AHEAD = 2  # years ahead of today
YEAR_FIRST = frozenset({"ja", "ko", "zh", "hu", "lt", "mn", "sv"})  # languages that write 26-04-03 for 2026
_POINTS_ARE_SECTIONS = frozenset({"en", "ja", "zh"})  # languages in which 3.4.26 is rather a section or a version
_BUDDHIST, _TAIWAN = 543, 1911
_SEARCHED = 50_000  # characters that are searched for numbered sections

_NOT_AFTER = r"(?<![0-9A-Za-z\u00c0-\u024f_./+$€£¥%^=&?-])"  # no figure, word, address or amount continues here
_NOT_BEFORE = r"(?![0-9A-Za-z\u00c0-\u024f_%€$£°]|[./:,-]\d|/\w|\s?[€%$£])"
_WORD = r"(?:[^\W\d_][\u0300-\u036f\u0653-\u0655]{0,2}){3,14}"  # accents may be separate characters
_ORDINAL = r"(?:st|nd|rd|th|er|re|[eoaº°ª.]|η|ης|-?го)?"
_GAP = r"(?:(?!\n\s{0,2}\n)[\s\u00a0./-]){0,3}"  # a date may be wrapped, but is in one paragraph

_ISO = re.compile(
    r"(?<![0-9A-Za-z_./+-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})"
    r"(?:[T ]\d{1,2}[:.]\d{2}|(?![0-9A-Za-z_]|[./-]\w))"
)
_SPACED = re.compile(rf"{_NOT_AFTER}(\d{{4}})\.\s(\d{{1,2}})\.\s(\d{{1,2}})(?![\d:])")  # 2026. 4. 3.
_FIGURES = re.compile(rf"{_NOT_AFTER}(\d{{1,2}})(\s?)([./-])(\s?)(\d{{1,2}})\2\3\4(\d{{4}}|\d{{2}}){_NOT_BEFORE}")
_DAY_MONTH = re.compile(
    rf"(?<![0-9A-Za-z_/.,-])(?<!\d:)(\d{{1,2}}){_ORDINAL}(?:\s{{1,2}}day)?{_GAP}(?:(?:of|de|den|di|the)\s|d['’])?({_WORD})\.?,?{_GAP}"
    r"(?:(?:de|del|do|of|anno)\s)?(\d{4}|['’]\d{2}|\d{2})(?![\d:]|[.,]\d|,\s{1,2}(?:1[5-9]|20)\d{2}|\s?(?:uhr|am\b|pm\b|a\.m|p\.m))",
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
# 03/2019, 2019/04: dates only beside a label.
_FIGURES_MONTH_YEAR = re.compile(
    rf"{_NOT_AFTER}(0?[1-9]|1[0-2])/((?:19|20)\d{{2}}){_NOT_BEFORE}|{_NOT_AFTER}(0[1-9]|1[0-2])\.((?:19|20)\d{{2}}){_NOT_BEFORE}"
)
_FIGURES_YEAR_MONTH = re.compile(rf"{_NOT_AFTER}((?:19|20)\d{{2}})/(0[1-9]|1[0-2]){_NOT_BEFORE}")
_VIETNAMESE = re.compile(r"ng[àa]y\s(\d{1,2})\sth[áa]ng\s(\d{1,2})\sn[ăa]m\s(\d{4})", re.IGNORECASE)
_ANY_FIGURE = re.compile(r"[\d〇零一二三四五六七八九十廿元]+")
_REACH = 48  # characters of a date before and after one of its figures
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
    month_first: bool | None = None  # if the way it is written shows it
    swappable: bool = False  # day and month may be swapped; these fields assume day first
    mark: str = ""  # between the figures
    short_year: bool = False

    @property
    def is_month_in_figures(self) -> bool:
        """Whether it is written like 03/2019."""
        return self.day is None and bool(self.mark)

    def iso(self, month_first: bool = False) -> str:
        """The date in ISO 8601, with day and month swapped if that is wanted and possible."""
        if self.day is None:
            return f"{self.year:04}-{self.month:02}"
        month, day = (self.day, self.month) if self.swappable and month_first else (self.month, self.day)
        return f"{self.year:04}-{month:02}-{day:02}"


def find_mentions(text: str, parts: Iterable[tuple[int, int]], language: str | None, today: date) -> list[Mention]:
    """The dates in these parts of the text, in order; none overlaps another."""
    candidates = [
        mention
        for begin, end in _ranges_with_figures(text, parts)
        for mention in _mentions_in(text, begin, end, language, today)
        if not mention.end == end < len(text)  # cut off
    ]
    candidates.sort(key=lambda mention: (mention.start, -mention.end))
    sections = any(mention.mark == "." for mention in candidates) and len(_SECTION.findall(text, 0, _SEARCHED)) > 1
    accepted: list[Mention] = []
    covered_to = 0
    for mention in candidates:
        if mention.start < covered_to:
            continue
        covered_to = mention.end  # also after an impossible date: 31 February 2026 must not yield February 2026
        if is_possible(mention, today) and (not mention.mark or _is_date(text, mention, language, sections)):
            accepted.append(mention)
    return accepted


def _ranges_with_figures(text: str, parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges around figures: there are no dates elsewhere."""
    for part_begin, part_end in parts:
        begin = end = part_begin
        for match in _ANY_FIGURE.finditer(text, part_begin, part_end):
            if match.start() - _REACH > end:
                if end > begin:
                    yield begin, end
                begin = max(part_begin, match.start() - _REACH)
            end = min(part_end, match.end() + _REACH)
        if end > begin:
            yield begin, end


def _overlapping_matches(pattern: Pattern[str], text: str, begin: int, end: int) -> Iterator[Match[str]]:
    """All matches, also overlapping ones: in `2. Auflage, 31. Dezember 2016` the last one is the date."""
    while match := pattern.search(text, begin, end):
        yield match
        begin = match.start() + 1


def is_possible(mention: Mention, today: date) -> bool:
    """Whether this day exists in the calendar and is not too far in the future."""
    if not (EARLIEST_IN_FIGURES if mention.mark else EARLIEST) <= mention.year <= today.year + MAX_YEARS_AHEAD:
        return False
    try:
        date(mention.year, mention.month, mention.day or 1)
    except ValueError:
        return False
    return True


def full_year(figures: str, today: date) -> int:
    """The year in four digits, at most two years in the future: 26 is 2026, 98 is 1998."""
    year = int(figures.lstrip("'’"))
    if len(figures.lstrip("'’")) > 2:
        return year
    century = today.year - today.year % 100
    return century + year if century + year <= today.year + MAX_YEARS_AHEAD else century + year - 100


def _mentions_in(text: str, begin: int, end: int, language: str | None, today: date) -> Iterator[Mention]:
    base = (language or "").split("-")[0]
    yield from _in_figures(text, begin, end, base, today)
    yield from _in_words(text, begin, end, language, today)
    yield from _in_east_asian(text, begin, end, base)


def _in_figures(text: str, begin: int, end: int, base: str, today: date) -> Iterator[Mention]:
    for match in _ISO.finditer(text, begin, end):
        year, mark, month, day = match.groups()
        date_end = match.end(4)
        yield Mention(match.start(), date_end, _to_gregorian(int(year), base), int(month), int(day), mark=mark)
    for match in _SPACED.finditer(text, begin, end):
        yield Mention(match.start(), match.end(), int(match[1]), int(match[2]), int(match[3]), mark=".")
    for match in _FIGURES.finditer(text, begin, end):
        first, second = int(match[1]), int(match[5])
        short_year = len(match[6]) == 2
        span, mark = (match.start(), match.end()), match[3]
        if short_year and base in YEAR_FIRST and mark != "." and len(match[1]) == 2:
            yield Mention(*span, full_year(match[1], today), second, int(match[6]), mark=mark, short_year=True)
            continue
        year = _to_gregorian(full_year(match[6], today), base)
        if first > 12 or second > 12:
            month_first = first <= 12
            month, day = (first, second) if month_first else (second, first)
            yield Mention(*span, year, month, day, month_first, mark=mark, short_year=short_year)
        else:
            yield Mention(*span, year, second, first, swappable=first != second, mark=mark, short_year=short_year)
    for match in _FIGURES_MONTH_YEAR.finditer(text, begin, end):
        month, year_text = (match[1], match[2]) if match[1] else (match[3], match[4])
        yield Mention(match.start(), match.end(), int(year_text), int(month), None, mark="/")
    for match in _FIGURES_YEAR_MONTH.finditer(text, begin, end):
        yield Mention(match.start(), match.end(), int(match[1]), int(match[2]), None, mark="/")


def _in_words(text: str, begin: int, end: int, language: str | None, today: date) -> Iterator[Mention]:
    for match in _overlapping_matches(_DAY_MONTH, text, begin, end):
        if month := month_of(match[2], language):
            year, short_year = full_year(match[3], today), len(match[3]) < 4
            yield Mention(match.start(), match.end(), year, month, int(match[1]), False, short_year=short_year)
    for match in _overlapping_matches(_MONTH_DAY, text, begin, end):
        if month := month_of(match[1], language, strict=True):
            yield Mention(match.start(), match.end(), int(match[3]), month, int(match[2]), True)
    for match in _overlapping_matches(_YEAR_WORD, text, begin, end):
        if month := month_of(match[2], language):
            yield Mention(match.start(), match.end(), int(match[1]), month, int(match[3]))
    for match in _overlapping_matches(_MONTH_YEAR, text, begin, end):
        may_be_month = match[1][0].isupper() or language not in (None, "en", "de")  # which write them with capitals
        if may_be_month and (month := month_of(match[1], language, strict=True)):
            yield Mention(match.start(), match.end(), int(match[2]), month, None)
    for match in _VIETNAMESE.finditer(text, begin, end):
        yield Mention(match.start(), match.end(), int(match[3]), int(match[2]), int(match[1]))


def _in_east_asian(text: str, begin: int, end: int, base: str) -> Iterator[Mention]:
    for match in _EAST.finditer(text, begin, end):
        era, year_text, month, day = match.groups()
        year = _parse_numeral(year_text)
        if era:
            year += _ERAS.get(era, _TAIWAN)
        elif len(year_text) < 4:
            continue
        yield Mention(match.start(), match.end(), year, _parse_numeral(month), _parse_numeral(day) if day else None)
    if base == "ja":
        for match in _ERA_LETTER.finditer(text, begin, end):
            year = _ERAS[match[1]] + int(match[2])
            yield Mention(match.start(), match.end(), year, int(match[3]), int(match[4]), mark=".")


def _parse_numeral(text: str) -> int:
    """The number written as 8, 八, 十二, 二十三 or 二〇二六; 0, which no date has, if it is none."""
    if text.isdecimal():
        return int(text)
    if "十" in text or "廿" in text:
        tens, _, ones = text.replace("廿", "二十").partition("十")
        return (_parse_numeral(tens) if tens else 1) * 10 + (_parse_numeral(ones) if ones else 0)
    figures = [_HAN.get(letter, int(letter) if letter.isdecimal() else -1) for letter in text]
    return int("".join(map(str, figures))) if min(figures) >= 0 else 0


def _to_gregorian(year: int, base: str) -> int:
    return year - _BUDDHIST if base == "th" and year > 2400 else year


def _is_date(text: str, mention: Mention, language: str | None, has_sections: bool) -> bool:
    """Whether figures are a date and not a version, section or telephone number, by the text before them."""
    before = text[max(0, mention.start - 24) : mention.start].lower()
    if VERSION_NUMBER_WORDS.search(before) or _DIALLED.search(before):
        return False
    base = (language or "").split("-")[0]
    if mention.mark == "." and text[mention.start : mention.start + 4].isdecimal() is False:
        if has_sections and _LINE_BEGINS.search("\n" * (mention.start == 0) + before):
            return False
        if mention.short_year and base in _POINTS_ARE_SECTIONS and not before.rstrip().endswith(":"):
            return False
    return True
