"""How likely a document is of a date that is written in it: the words beside it and its place tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from chyme.understanding.dates.forms import Mention
from chyme.understanding.dates.labels import DECORATION, NOTHING, SECONDARY, DateLine, line_of, score_label
from chyme.understanding.dates.words import SALUTATION

_DAY, _MONTH = 0.35, 0.2  # for being written there at all
_LETTERHEAD, _NEAR, _AT_THE_END = 0.15, 0.05, 0.05
_ALONE, _SHORT_LINE, _IN_PROSE, _LISTED = 0.2, 0.08, -0.14, -0.06
_ABOVE_A_LETTER = 0.3
_SHORT_YEAR = -0.05
_OTHERS = 0.2  # at most, for the date of something else
_HISTORY, _LONG_AGO = 0.15, 30  # at most, for what a text tells about, so many years ago
_TO_COME = 0.5  # a document is seldom of a day to come
_PART_OF_A_SPAN = 0.6
_IN_A_TABLE = 0.6
_MANY, _MANY_AT_FIRST, _AMONG_MANY = 8, 4, 0.6  # a list of dates: which of them is it?
_LINES, _HEAD, _NEARBY, _END = 12, 1_500, 4_000, 500  # lines and characters
_LEAST, _MOST = 0.02, 0.95
_LETTER = 160  # characters between the date of a letter and its salutation, with an address between them

_LINKED = r"(?:[-–—~〜～/]|から|至|(?:to|bis|au|through|thru|until|till|al|a|tot|do|по|and|und)\b)"
_SPAN_AFTER = re.compile(rf"\s?{_LINKED}\s?[^\W\d]{{0,10}}\.?\s?\d", re.IGNORECASE)
_SPAN_BEFORE = re.compile(rf"(?:(?<![.,\d])\d{{1,2}}|\d{{4}})[.)]?\s?{_LINKED}\s?$", re.IGNORECASE)
_PLACE = re.compile(r"^[^\W\d_][\w .'’()/-]{1,40},\s?(?:den|le|li|lì|dnia|dne|a|el|am|the)?\s?$", re.IGNORECASE)
_ONE_WORD = re.compile(r"[^\W\d_]{2,14}(?:-feira)?\.?,?\s{1,3}")  # a weekday, a town
_BULLET = re.compile(r"^\s{0,8}(?:[-*•+]|\d{1,3}[.)]|\\?-)\s")
# After a date: the hour, the word for year.
_TRAILING = re.compile(
    r"^(?:\.|[T,]?\s?(?:at|um|à|às|alle|a las)?\s?\d{1,2}[:.h]\d{2}[\d:.]{0,12}\s?(?:[A-Z]{1,4}\b|Uhr|[ap]\.?m\.?)?"
    r"(?:\s?[+-]\d{2}:?\d{2})?(?:\s\(\w{3,4}\))?|\s?(?:г|р|r)\.?(?!\w))"
)


@dataclass(frozen=True, slots=True)
class DateContext:
    """What is looked up for every date of one text."""

    text: str
    found: Sequence[Mention]
    head: int  # where the letterhead ends
    crowded: bool  # too many dates for any of them to be the one
    crowded_head: bool
    today: date


def prepare_context(text: str, found: Sequence[Mention], today: date) -> DateContext:
    """The text, prepared for `weight`."""
    head = _head_of(text)
    distinct = {one.iso() for one in found if one.day is not None}
    at_first = {one.iso() for one in found if one.day is not None and one.start < head}
    return DateContext(text, found, head, len(distinct) > _MANY, len(at_first) > _MANY_AT_FIRST, today)


def score_date(page: DateContext, at: int, iso: str) -> float:
    """0..1: how likely the document is of this date, by what stands around it."""
    one = page.found[at]
    line = line_of(page.text, one)
    label = score_label(page.text, page.found, at, line)
    score = (_DAY if one.day is not None else _MONTH) + _place(page, one, line)
    if label < NOTHING:
        return min(_OTHERS, score / 2)
    labelled = label >= SECONDARY
    score += label + (_SHORT_YEAR if one.short_year else 0.0)
    if line.prose or not labelled:
        score += _setting(page, one, line)
    if line.cell and not labelled:
        score *= _IN_A_TABLE
    if _SPAN_AFTER.match(line.after) or _SPAN_BEFORE.search(line.before[-20:]):
        score *= _PART_OF_A_SPAN
    if not labelled and _crowded(page, one, line) and not _after_a_place(line):
        score *= _AMONG_MANY
    if iso > (page.today + timedelta(days=1)).isoformat()[: len(iso)]:
        score *= _TO_COME
    if line.prose and not labelled and page.today.year - one.year > _LONG_AGO:
        return min(score, _HISTORY)
    return max(_LEAST, min(score, _MOST))


def _in_head(page: DateContext, one: Mention, line: DateLine) -> bool:
    return one.start < page.head and not line.cell


def _crowded(page: DateContext, one: Mention, line: DateLine) -> bool:
    return page.crowded_head if _in_head(page, one, line) else page.crowded


def _place(page: DateContext, one: Mention, line: DateLine) -> float:
    if _in_head(page, one, line):
        return _LETTERHEAD
    near = _NEAR if one.start < _NEARBY else 0.0
    return near + (_AT_THE_END if one.end > len(page.text) - _END else 0.0)


def _setting(page: DateContext, one: Mention, line: DateLine) -> float:
    """How the line speaks for a date that has no label: dates of letters stand by themselves."""
    if line.bare and SALUTATION.match(page.text[one.end : one.end + _LETTER].lstrip(DECORATION + ".\n")):
        return _ABOVE_A_LETTER
    if line.prose:
        return _IN_PROSE
    head = _in_head(page, one, line)
    alone = _ALONE if head or one.end > len(page.text) - _END else _SHORT_LINE
    if _after_a_place(line):
        return alone
    if line.cell or _crowded(page, one, line):
        return 0.0
    if not _rest(line) and (line.bare or _ONE_WORD.fullmatch(line.before.lstrip(DECORATION))):
        return alone
    if _BULLET.match(line.before):
        return _LISTED
    return _SHORT_LINE if head else 0.0


def _after_a_place(line: DateLine) -> bool:
    """Berlin, den 3. April 2026"""
    return not _rest(line) and _PLACE.match(line.before.lstrip(DECORATION)) is not None


def _rest(line: DateLine) -> str:
    return _TRAILING.sub("", line.after, count=1).strip(DECORATION)


def _head_of(text: str) -> int:
    """Where the first lines end."""
    at = lines = 0
    while at < min(len(text), _HEAD) and lines < _LINES:
        end = text.find("\n", at, _HEAD)
        end = end if end >= 0 else min(len(text), _HEAD)
        lines += bool(text[at:end].strip(DECORATION))
        at = end + 1
    return at
