"""Score how likely a date in a text is the document's, by its position and the words beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from chyme.understanding.dates.forms import Mention
from chyme.understanding.dates.labels import DECORATION, NOTHING, PICTURE, SOFT, DateLine, line_of, score_label
from chyme.understanding.dates.vocabulary import BILLED_PERIOD_WORDS, SALUTATION

_DAY, _MONTH, _MONTH_IN_FIGURES = 0.35, 0.2, 0.05  # base score
_LETTERHEAD, _NEAR, _AT_END = 0.15, 0.05, 0.05
_ALONE, _SHORT_LINE, _IN_PROSE, _LISTED = 0.2, 0.08, -0.14, -0.06
_ABOVE_LETTER, _DATELINE = 0.3, 0.25
_OF_THE_ONLY_PURCHASE = 0.25  # the only date of a text, with an hour
_BILLED = 0.62  # the end of the period that a bill is about
_SHORT_YEAR = -0.05
_MAX_OTHERS = 0.2  # maximum for the date of something else
_MAX_HISTORY, _LONG_AGO = 0.15, 30  # maximum for a date in running text so many years ago
_IN_FUTURE = 0.5  # a document's date is seldom in the future
_PART_OF_SPAN = 0.6
_IN_TABLE = 0.6
_MANY, _MANY_IN_HEAD, _AMONG_MANY = 8, 4, 0.6  # a list of dates: which of them is it?
_LINES, _HEAD, _NEARBY, _END = 12, 1_500, 4_000, 500  # lines and characters
_MIN_REFERENCES = 0.3  # the share of a text after which a list of references may begin
_MIN_SCORE, _MAX_SCORE = 0.02, 0.95
_GAP = 160  # characters between the date of a letter and its salutation, including an address

_LINKED = r"(?:[-–—~〜～/]|から|至|(?:to|bis|au|through|thru|until|till|al|a|tot|do|по|and|und)\b)"
_SPAN_AFTER = re.compile(rf"\s?{_LINKED}\s?[^\W\d]{{0,10}}\.?\s?\d", re.IGNORECASE)
_SPAN_BEFORE = re.compile(rf"(?:(?<![.,\d#])\d{{1,2}}|\d{{4}})[.)]?\s?{_LINKED}\s?$", re.IGNORECASE)
_DAYS_BEFORE = re.compile(r"(?<![.,\d#])\d{1,2}\.?\s?[-–]\s?$")  # 12–14 June 2023
_PREPOSITION = re.compile(r"(?:on|am|le|el|il|op|em|den)\s{1,3}(?:[^\W\d_]{4,12},?\s)?(?:den\s)?", re.IGNORECASE)
# Before and after the date in the first sentence of a report of news: BERLIN, March 4, 2024 – …
_DATELINE_PLACE = re.compile(r"[^\W\d_][^\n.;!?]{1,60}[,)–—-]\s{0,2}(?:den\s|le\s)?")
_DATELINE_DASH = re.compile(r"\s?(?:–|—|--|-\s|/\s?PR|\()")
_LAST_CHANGE = re.compile(
    r"last (?:edited|modified|updated|revised|changed)|zuletzt|dernière modification", re.IGNORECASE
)
_NEW_SENTENCE = re.compile(r"\.?\s[*_(\[|–—-]{0,3}\s?[A-ZÀ-Þ]")
_HOUR_AFTER = re.compile(r"\s{1,3}(?:at\s|um\s)?\d{1,2}:\d{2}")
_HOUR_BEFORE = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?\s?(?:[AP]M)?(?:\s\d{1,10})?\s{1,3}$", re.IGNORECASE)
_REFERENCES = re.compile(
    r"^[\s#*\d.]{0,12}(?:references|bibliography|works cited|literature cited|literatur(?:verzeichnis)?|références"
    r"|bibliographie|bibliograf[ií]a|referencias|riferimenti|literatuur)[\s*:#]{0,6}$",
    re.IGNORECASE | re.MULTILINE,
)
_PLACE = re.compile(
    r"^[^\W\d_][\w .'’()/-]{1,40},\s?(?:den|le|li|lì|dnia|dne|a|el|am|im|en|in|the)?\s?$", re.IGNORECASE
)
_ONE_WORD = re.compile(r"[^\W\d_]{2,14}(?:-feira)?\.?,?\s{1,3}")  # a weekday, a town
_BULLET = re.compile(r"^\s{0,8}(?:[-*•+]|\d{1,3}[.)]|\\?-)\s")
# After a date: the hour, the word for year.
_TRAILING = re.compile(
    r"^(?:\.|\s?[T,]?\s?(?:at|um|à|às|alle|a las)?\s?\d{1,2}[:.h]\d{2}[\d:.]{0,12}\s?(?:[A-Z]{1,4}\b|Uhr|[ap]\.?m\.?)?"
    r"(?:\s?[+-]\d{2}:?\d{2})?(?:\s\(\w{3,4}\))?|\s?(?:г|р|r)\.?(?!\w))"
)


@dataclass(frozen=True, slots=True)
class DateContext:
    """What is needed to score every date of one text."""

    text: str
    mentions: Sequence[Mention]
    head: int  # where the letterhead ends
    crowded: bool  # too many dates for any of them to be the one
    crowded_head: bool
    alone: bool  # the text has only one date
    references: int  # where a list of references begins
    today: date


def prepare_context(text: str, mentions: Sequence[Mention], today: date) -> DateContext:
    """The context of a text, for `score_date`."""
    head = _end_of_head(text)
    distinct = {mention.iso() for mention in mentions if mention.day is not None}
    in_head = {mention.iso() for mention in mentions if mention.day is not None and mention.start < head}
    return DateContext(
        text,
        mentions,
        head,
        crowded=len(distinct) > _MANY,
        crowded_head=len(in_head) > _MANY_IN_HEAD,
        alone=len(distinct) == 1,
        references=_begin_of_references(text),
        today=today,
    )


def _begin_of_references(text: str) -> int:
    """The position of the heading above the works that a text cites; its end if there is none."""
    match = _REFERENCES.search(text, int(_MIN_REFERENCES * len(text)))
    return match.start() if match else len(text)


def is_span_of_days(context: DateContext, number: int) -> bool:
    """Whether several days are meant, such as 12–14 June 2023, so that only the month is certain."""
    mention = context.mentions[number]
    if mention.day is None or mention.mark:
        return False
    before = context.text[max(0, mention.start - 80) : mention.start].rpartition("\n")[2]
    return _DAYS_BEFORE.search(before) is not None and BILLED_PERIOD_WORDS.search(before.lower()) is None


def score_date(context: DateContext, number: int, iso: str) -> float:
    """How likely this is the document's date, from 0 to 1, by what is around it."""
    mention = context.mentions[number]
    line = line_of(context.text, mention)
    if _ends_billed_period(context, number, line):
        return _BILLED
    label = score_label(context.text, context.mentions, number, line)
    base = _DAY if mention.day is not None else _MONTH_IN_FIGURES if mention.mark else _MONTH
    score = base + _score_position(context, mention, line)
    if label < NOTHING or (mention.start > context.references and not _LAST_CHANGE.search(line.before)):
        return min(_MAX_OTHERS, score / 2)
    labelled = label > SOFT
    score += label + (_SHORT_YEAR if mention.short_year else 0.0)
    if line.prose or not labelled:
        score += _score_line(context, mention, line)
    if line.cell and not labelled:
        score *= _IN_TABLE
    if not is_span_of_days(context, number) and (
        _SPAN_AFTER.match(line.after) or _SPAN_BEFORE.search(line.before[-20:])
    ):
        score *= _PART_OF_SPAN
    if not labelled and _is_crowded(context, mention, line) and not _is_after_place(line):
        score *= _AMONG_MANY
    if iso > (context.today + timedelta(days=1)).isoformat()[: len(iso)]:
        score *= _IN_FUTURE
    if line.prose and not labelled and context.today.year - mention.year > _LONG_AGO:
        return min(score, _MAX_HISTORY)
    return max(_MIN_SCORE, min(score, _MAX_SCORE))


def _in_head(context: DateContext, mention: Mention, line: DateLine) -> bool:
    return mention.start < context.head and not line.cell


def _is_crowded(context: DateContext, mention: Mention, line: DateLine) -> bool:
    return context.crowded_head if _in_head(context, mention, line) else context.crowded


def _score_position(context: DateContext, mention: Mention, line: DateLine) -> float:
    if _in_head(context, mention, line):
        return _LETTERHEAD
    near = _NEAR if mention.start < _NEARBY else 0.0
    return near + (_AT_END if mention.end > len(context.text) - _END else 0.0)


def _score_line(context: DateContext, mention: Mention, line: DateLine) -> float:
    """The score for the line of a date without a label: the date of a letter is usually alone on its line."""
    if mention.start < _NEARBY and _is_dateline(line):
        return _DATELINE
    if line.bare and _opens_text(context, mention):
        return _ALONE
    if line.bare and SALUTATION.match(context.text[mention.end : mention.end + _GAP].lstrip(DECORATION + ".\n")):
        return _ABOVE_LETTER
    if line.prose:
        return _IN_PROSE
    head = _in_head(context, mention, line)
    alone = _ALONE if head or mention.end > len(context.text) - _END else _SHORT_LINE
    if _is_after_place(line):
        return alone
    if context.alone and (_HOUR_AFTER.match(line.after) or _HOUR_BEFORE.search(line.before)):
        return _OF_THE_ONLY_PURCHASE
    if line.cell or _is_crowded(context, mention, line):
        return 0.0
    before = line.before.lstrip(DECORATION)
    if not _rest_of_line(line) and (line.bare or _ONE_WORD.fullmatch(before) or _PREPOSITION.fullmatch(before)):
        return alone
    if _BULLET.match(line.before):
        return _LISTED
    return _SHORT_LINE if head else 0.0


def _is_after_place(line: DateLine) -> bool:
    """Berlin, den 3. April 2026"""
    return not _rest_of_line(line) and _PLACE.match(line.before.lstrip(DECORATION)) is not None


def _opens_text(context: DateContext, mention: Mention) -> bool:
    """Whether only a title is before the date, and a new sentence after it: March 2024 The harbour is …"""
    if mention.start > _HEAD or not _NEW_SENTENCE.match(context.text, mention.end):
        return False
    before = PICTURE.sub("", context.text[: mention.start])
    return sum(bool(line.strip(DECORATION)) for line in before.split("\n")) <= 1


def _is_dateline(line: DateLine) -> bool:
    """BERLIN, March 4, 2024 – The company announced …"""
    before = line.before.lstrip(DECORATION)
    return (
        line.prose
        and bool(before)
        and _DATELINE_DASH.match(line.after) is not None
        and _DATELINE_PLACE.fullmatch(before) is not None
    )


def _ends_billed_period(context: DateContext, number: int, line: DateLine) -> bool:
    """Whether this is the end of the period that a bill or an account is about."""
    if line.prose or not _SPAN_BEFORE.search(line.before[-24:]):
        return False
    return BILLED_PERIOD_WORDS.search(line.before.lower()) is not None


def _rest_of_line(line: DateLine) -> str:
    return _TRAILING.sub("", line.after, count=1).strip(DECORATION)


def _end_of_head(text: str) -> int:
    """The position where the first lines end."""
    position = lines = 0
    while position < min(len(text), _HEAD) and lines < _LINES:
        end = text.find("\n", position, _HEAD)
        end = end if end >= 0 else min(len(text), _HEAD)
        lines += bool(text[position:end].strip(DECORATION))
        position = end + 1
    return position
