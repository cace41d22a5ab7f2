"""What the words beside a date say it is the date of: the document, or a payment, a birth, a journey."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from re import Match

from chyme.understanding.dates.forms import Mention
from chyme.understanding.dates.words import (
    BIRTH_SIGN,
    DOCUMENT_DATE_WORDS,
    OTHER_DATE_WORDS,
    TRAILING_BIRTH_WORDS,
    TRAILING_DATE_WORDS,
    WEAK_DATE_WORDS,
)

OF_THE_DOCUMENT, SECONDARY, SOFT, HINT, NOTHING, OF_SOMETHING_ELSE = 0.4, 0.32, 0.15, 0.05, 0.0, -1.0
AROUND = 300  # characters that are looked at before and after a date
DECORATION = ' \t|*#>_:-–—•·~`()[]\r\xa0,\\"'
_ROW = "|"
_BEFORE, _FARTHEST, _OTHERS_FARTHEST = 80, 24, 42  # characters that can be a label, and between a label and its date
_OWN_LINE, _WORDS = 45, 5  # characters and words of a line that can be a label alone
_PHRASE = 14  # characters between words that belong to one label: due … date
_MOST_LABELS = 6  # lines of labels before lines of their dates
_SENTENCE = 110  # letters of a line that is prose; those of East Asia count twice
_MOST_SMALL_WORDS, _MOST_IN_A_SENTENCE = 9, 3  # that begin without a capital, in a line that is none
_ENDED = re.compile(r"[.;!?]\s|[|;。；\t]|\s{4,}")
_IDEOGRAPHS = re.compile("[\u2e80-\uffff]")
_SMALL_WORDS = re.compile(r"(?<![\w.@/-])[a-zà-öø-ÿа-яёіїєґα-ω][\w'’]*(?![\w@/])")
_SPACES = re.compile(r"\s+")
_SEPARATED = re.compile(r"[,;\t|]")
_RIGHTS = re.compile(r"^[\s#*]*(?:©|\(c\)|copyright)", re.IGNORECASE)
# In running text they stand before any date.
_SMALL = frozenset(
    {"le", "li", "lì", "от", "від", "dnia", "dn.", "dne", "z dnia", "data", "stand", "as of", "ngày"}
    | {"edition", "auflage"}
)
# In running text they speak of another letter.
_QUOTED = frozenset({"dated", "sent", "received", "created", "written", "submitted", "filed"})
# So speak contracts of themselves, in running text as well.
_SOLEMN = re.compile(r"(?:signed|dated|made)(?: on)? this|made and entered into(?: on| as of| this)?")
_OPENS_A_LINK = re.compile(r"\[\[[^\[\]]{0,80}$")  # [[2024-01-03]]
_CLOSES_IT, _NAME = re.compile(r"[^\[\]]{0,80}\]\]"), 84


@dataclass(frozen=True, slots=True)
class DateLine:
    """Where a date stands."""

    begin: int  # in the text
    before: str
    after: str
    cell: bool  # in a table, or among values with commas between them
    prose: bool

    @property
    def bare(self) -> bool:
        """Whether nothing stands before the date."""
        return not self.before.strip(DECORATION)


def line_of(text: str, one: Mention) -> DateLine:
    """The line around a date, as far as it is looked at."""
    begin = text.rfind("\n", max(0, one.start - AROUND), one.start) + 1 or max(0, one.start - AROUND)
    end = text.find("\n", one.end, one.end + AROUND)
    end = end if end >= 0 else min(len(text), one.end + AROUND)
    before, after = text[begin : one.start], text[one.end : end]
    row = before.lstrip().startswith(_ROW)
    value = before.rstrip('"')[-1:] in {"", ",", ";", "\t", _ROW} and _SEPARATED.search(after[:28]) is not None
    value = value and len(_SEPARATED.findall(before + after)) > 1 and ", " not in before[-8:] + after[:28]
    cell = row or value
    return DateLine(
        begin, before, after, cell, not cell and _is_prose(before.strip(DECORATION), after.strip(DECORATION))
    )


def _is_prose(before: str, after: str) -> bool:
    line = f"{before} {after}"
    wide = 0 if line.isascii() else len(_IDEOGRAPHS.findall(line))
    most = _MOST_IN_A_SENTENCE if line.endswith((". ", ".")) else _MOST_SMALL_WORDS
    return len(line) + wide > _SENTENCE or len(_SMALL_WORDS.findall(line)) > most


def score_label(text: str, found: Sequence[Mention], at: int, line: DateLine) -> float:
    """How much the words beside a date speak for it; below nothing, they say it is of something else."""
    if TRAILING_BIRTH_WORDS.match(line.after) or _RIGHTS.search(line.before):
        return OF_SOMETHING_ELSE
    if BIRTH_SIGN.search(line.before[-3:]) and not line.after.startswith("*"):
        return OF_SOMETHING_ELSE
    one = found[at]
    said = max(line.begin, one.start - _BEFORE, found[at - 1].end if at else 0)
    told = _told_by(text[said : one.start], line.prose)
    if told == NOTHING and _OPENS_A_LINK.search(line.before[-_NAME:]) and _CLOSES_IT.match(line.after[:_NAME]):
        return OF_SOMETHING_ELSE  # the name of another note
    if told == NOTHING and TRAILING_DATE_WORDS.match(line.after):
        return OF_THE_DOCUMENT
    if told == NOTHING and line.cell:
        return _told_by(_column(text, line), prose=False)
    if told == NOTHING and line.bare:
        return _told_by(_line_above(text, found, at, line.begin), prose=False)
    return told


def _told_by(beside: str, prose: bool) -> float:
    """By the label that stands last, nearest to the date."""
    plain = _own(beside)
    good = max(DOCUMENT_DATE_WORDS.finditer(plain), key=Match.end, default=None)
    bad = max(OTHER_DATE_WORDS.finditer(plain), key=Match.end, default=None)
    if bad and len(plain[bad.end() :].strip()) > _OTHERS_FARTHEST:
        bad = None
    if good and len(plain[good.end() :].strip()) > _FARTHEST:
        good = None
    if bad and (not good or bad.end() >= good.end() or good.start() - bad.end() < _PHRASE):
        return OF_SOMETHING_ELSE
    if not good:
        return NOTHING
    if good[0] in _SMALL and ":" not in plain[good.end() :]:
        return NOTHING if prose else SOFT
    if _SOLEMN.fullmatch(good[0]):
        return OF_THE_DOCUMENT
    if prose and good[0].startswith("last "):
        return SECONDARY
    if prose and ":" not in plain[good.end() :] and (good[0] in _QUOTED or plain[: good.start()].strip(DECORATION)):
        return HINT
    return SECONDARY if WEAK_DATE_WORDS.search(good[0]) else OF_THE_DOCUMENT


def _own(beside: str) -> str:
    """What belongs to the date: not the sentence or the cell before."""
    lower = unicodedata.normalize("NFC", beside.lower())
    ends = [match.end() for match in _ENDED.finditer(lower)]
    while ends and not lower[ends[-1] :].strip(DECORATION):
        ends.pop()
    return _SPACES.sub(" ", lower[ends[-1] if ends else 0 :])


def _column(text: str, line: DateLine) -> str:
    """The head of the column, where one row is all the table has: of many rows, each has a date of its own."""
    cells = line.before.count(_ROW)
    below = text[line.begin + len(line.before) :][: 3 * AROUND].partition("\n")[2].lstrip("\n")
    if below.startswith(_ROW):
        return ""
    above = text[max(0, line.begin - 4 * AROUND) : line.begin].rstrip("\n").split("\n")
    rows = 0
    while rows < len(above) and above[-1 - rows].lstrip().startswith(_ROW):
        rows += 1
    if rows != 2:  # the head and the rule below it
        return ""
    head = above[-2].split(_ROW)
    return head[cells] if cells < len(head) else ""


def _line_above(text: str, found: Sequence[Mention], at: int, begin: int) -> str:
    """The label on a line of its own; of several lines of labels before as many dates, the one in the same place."""
    lines = [line.strip(DECORATION) for line in text[max(0, begin - 2 * AROUND) : begin].split("\n")]
    lines = [line for line in lines if line]
    dates = 0
    while lines and dates < min(at, _MOST_LABELS) and lines[-1] == _characters(text, found[at - 1 - dates]):
        lines.pop()
        dates += 1
    labels: list[str] = []
    while lines and len(labels) < _MOST_LABELS and _is_label(lines[-1]):
        labels.insert(0, lines.pop())
    if dates < len(labels) and _dates_below(text, found, at, dates) == len(labels):
        return labels[dates]
    return labels[-1] if labels and dates == 0 else ""


def _is_label(line: str) -> bool:
    short = len(line) <= _OWN_LINE and len(line.split()) <= _WORDS and not _SEPARATED.search(line)
    return short and _told_by(line, prose=False) != NOTHING


def _characters(text: str, one: Mention) -> str:
    return text[one.start : one.end].strip(DECORATION)


def _dates_below(text: str, found: Sequence[Mention], at: int, above: int) -> int:
    """How many dates stand line below line, this one among them."""
    count = above + 1
    for one, other in zip(found[at : at + _MOST_LABELS], found[at + 1 : at + 1 + _MOST_LABELS], strict=False):
        between = text[one.end : other.start]
        if len(between) > _OWN_LINE or "\n" not in between or between.strip(DECORATION + "\n"):
            break
        count += 1
    return count
