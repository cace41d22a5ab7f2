"""Score the label beside a date: it may be the date of the document, or of a payment, a birth, a journey."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from re import Match

from chyme.understanding.dates.forms import Mention
from chyme.understanding.dates.vocabulary import (
    BIRTH_SIGN,
    DOCUMENT_DATE_WORDS,
    OTHER_DATE_WORDS,
    PERIOD_END_WORDS,
    STAGE_WORDS,
    TRAILING_BIRTH_WORDS,
    TRAILING_DATE_WORDS,
    WEAK_DATE_WORDS,
)

OF_THE_DOCUMENT, SECONDARY, SOFT, HINT, NOTHING, OF_SOMETHING_ELSE = 0.4, 0.32, 0.15, 0.05, 0.0, -1.0
OF_PERIOD, ACCEPTED, RECEIVED = 0.24, 0.24, 0.2  # the end of a reported period, and the stages of a paper
AROUND = 300  # characters that are read before and after a date
DECORATION = ' \t|*#>_:-–—•·~`()[]\r\xa0,\\"'
_ROW = "|"
_LABEL_CHARS, _FAR, _OTHERS_FAR = 80, 24, 42  # characters that may contain a label, and between it and its date
_LABEL_LINE, _LABEL_WORDS = 45, 5  # characters and words of a line that is only a label
_PHRASE_GAP = 14  # characters between words of one label, such as: due … date
_MAX_LABELS = 6  # lines of labels before lines of their dates
_PROSE_LENGTH = 110  # letters from which on a line is prose; East Asian ones count twice
_MAX_SMALL_WORDS, _MAX_IN_SENTENCE = 9, 3  # words in lower case in a line that is not prose
_SENTENCE_END = re.compile(
    r"(?<!\brev)(?<!\bver)(?<!\bvol)(?<!\bno)(?<!\bnr)(?<!\b\d)(?<!\b\d\d)[.;!?]\s|[|;。；\t]|\s{4,}"
)
_IDEOGRAPHS = re.compile("[\u2e80-\uffff]")
_SMALL_WORDS = re.compile(r"(?<![\w.@/-])[a-zà-öø-ÿа-яёіїєґα-ω][\w'’]*(?![\w@/])")
_ITEM_WITH_WORDS = re.compile(r"\s{0,8}(?:[-*•+]|\d{1,3}[.)])\s{1,3}(?:\S+\s){3}")
_SPACES = re.compile(r"\s+")
_COLON = re.compile(r":(?!\d)")  # not that of an hour
_SEPARATED = re.compile(r"[,;\t|]")
_COPYRIGHT = re.compile(r"^[\s#*]*(?:©|\(c\)|copyright)", re.IGNORECASE)
# In running text these may precede any date.
_WEAK_LABELS = frozenset(
    {"le", "li", "lì", "от", "від", "dnia", "dn.", "dne", "z dnia", "data", "stand", "as of", "ngày"}
    | {"edition", "auflage"}
)
# In running text these refer to another letter.
_QUOTED = frozenset(
    {
        "dated",
        "sent",
        "received",
        "created",
        "written",
        "submitted",
        "filed",
        "approved",
        "adopted",
        "decided",
        "entered",
    }
    | {"accepted", "version", "rev", "rev.", "revision", "effective", "held on", "meeting on", "enacted", "reported"}
)
# Contracts and minutes use these for themselves, also in running text.
_CONTRACT_LABEL = re.compile(
    r"(?:signed|dated|made)(?: on)? this|made and entered into(?: on| as of| this)?"
    r"|\w{0,20}(?:sitzung|versammlung|besprechung).{0,90} (?:vom|am)|minutes of .{1,90}"
)
PICTURE = re.compile(r"!\[[^\[\]]{0,200}\]\([^()\s]{0,200}\)")
_OPENS_A_LINK = re.compile(r"\[\[[^\[\]]{0,80}$")  # [[2024-01-03]]
_CLOSES_A_LINK, _LINK = re.compile(r"[^\[\]]{0,80}\]\]"), 84


@dataclass(frozen=True, slots=True)
class DateLine:
    """The line that contains a date."""

    begin: int  # position in the text
    before: str
    after: str
    cell: bool  # in a table, or among comma-separated values
    prose: bool

    @property
    def bare(self) -> bool:
        """Whether nothing precedes the date."""
        return not PICTURE.sub("", self.before).strip(DECORATION)


def line_of(text: str, mention: Mention) -> DateLine:
    """The line around a date, as far as it is read."""
    begin = text.rfind("\n", max(0, mention.start - AROUND), mention.start) + 1 or max(0, mention.start - AROUND)
    end = text.find("\n", mention.end, mention.end + AROUND)
    end = end if end >= 0 else min(len(text), mention.end + AROUND)
    before, after = text[begin : mention.start], text[mention.end : end]
    is_row = before.lstrip().startswith(_ROW)
    is_value = before.rstrip('"')[-1:] in {"", ",", ";", "\t", _ROW} and _SEPARATED.search(after[:28]) is not None
    is_value = is_value and len(_SEPARATED.findall(before + after)) > 1 and ", " not in before[-8:] + after[:28]
    is_cell = is_row or is_value
    return DateLine(
        begin, before, after, is_cell, not is_cell and _is_prose(before.strip(DECORATION), after.strip(DECORATION))
    )


def _is_prose(before: str, after: str) -> bool:
    line = f"{before} {after}"
    wide = 0 if line.isascii() else len(_IDEOGRAPHS.findall(line))
    max_small_words = _MAX_IN_SENTENCE if line.endswith((". ", ".")) else _MAX_SMALL_WORDS
    return len(line) + wide > _PROSE_LENGTH or len(_SMALL_WORDS.findall(line)) > max_small_words


def score_label(text: str, mentions: Sequence[Mention], number: int, line: DateLine) -> float:
    """How strongly the words beside a date support it; below NOTHING, it is the date of something else."""
    if TRAILING_BIRTH_WORDS.match(line.after) or _COPYRIGHT.search(line.before):
        return OF_SOMETHING_ELSE
    if BIRTH_SIGN.search(line.before[-3:]) and not line.after.startswith("*"):
        return OF_SOMETHING_ELSE
    mention = mentions[number]
    label_start = max(line.begin, mention.start - _LABEL_CHARS, mentions[number - 1].end if number else 0)
    is_told = line.prose or _ITEM_WITH_WORDS.match(line.before) is not None
    score = _score_label_text(text[label_start : mention.start], is_told)
    if score == NOTHING and _OPENS_A_LINK.search(line.before[-_LINK:]) and _CLOSES_A_LINK.match(line.after[:_LINK]):
        return OF_SOMETHING_ELSE  # the name of another note
    if score == NOTHING and TRAILING_DATE_WORDS.match(line.after):
        return OF_THE_DOCUMENT
    if score == NOTHING and line.cell:
        return _score_label_text(_column_header(text, line), prose=False)
    if score == NOTHING and line.bare:
        return _score_label_text(_label_above(text, mentions, number, line.begin), prose=False)
    return score


def _score_label_text(text: str, prose: bool) -> float:
    """The score of the last label, which is nearest to the date."""
    label = _last_part(text)
    labels = list(DOCUMENT_DATE_WORDS.finditer(label))
    good = max(labels, key=Match.end, default=None)
    others = [
        match for match in OTHER_DATE_WORDS.finditer(label) if not any(_is_inside(match, other) for other in labels)
    ]
    bad = max(others, key=Match.end, default=None)
    if bad and len(label[bad.end() :].strip()) > _OTHERS_FAR:
        bad = None
    if good and len(label[good.end() :].strip()) > _FAR:
        good = None
    if bad and (not good or bad.end() >= good.end() or good.start() - bad.end() < _PHRASE_GAP):
        return OF_SOMETHING_ELSE
    if not good:
        return NOTHING
    if good[0] in _WEAK_LABELS and not _COLON.search(label, good.end()):
        return NOTHING if prose else SOFT
    if _CONTRACT_LABEL.fullmatch(good[0]):
        return OF_THE_DOCUMENT
    if prose and good[0].startswith("last "):
        return SECONDARY
    if PERIOD_END_WORDS.fullmatch(good[0]):
        return HINT if prose else OF_PERIOD
    if (
        prose
        and not _COLON.search(label, good.end())
        and (good[0] in _QUOTED or label[: good.start()].strip(DECORATION))
    ):
        return HINT
    if STAGE_WORDS.fullmatch(good[0]):
        return ACCEPTED if good[0].startswith("accept") else RECEIVED
    return SECONDARY if WEAK_DATE_WORDS.search(good[0]) else OF_THE_DOCUMENT


def _is_inside(match: Match[str], other: Match[str]) -> bool:
    """Whether a label is only a part of another one: `ended` of `year ended`."""
    return match.span() != other.span() and other.start() <= match.start() and match.end() <= other.end()


def _last_part(text: str) -> str:
    """The text that belongs to the date, without the sentence or cell before it."""
    lower = unicodedata.normalize("NFC", text.lower())
    ends = [match.end() for match in _SENTENCE_END.finditer(lower)]
    while ends and not lower[ends[-1] :].strip(DECORATION):
        ends.pop()
    return _SPACES.sub(" ", lower[ends[-1] if ends else 0 :])


def _column_header(text: str, line: DateLine) -> str:
    """The column's header if the table has only one row; with several rows, each has a different date."""
    cells = line.before.count(_ROW)
    below = text[line.begin + len(line.before) :][: 3 * AROUND].partition("\n")[2].lstrip("\n")
    if below.startswith(_ROW):
        return ""
    above = text[max(0, line.begin - 4 * AROUND) : line.begin].rstrip("\n").split("\n")
    rows = 0
    while rows < len(above) and above[-1 - rows].lstrip().startswith(_ROW):
        rows += 1
    if rows != 2:  # the header and the rule below it
        return ""
    header = above[-2].split(_ROW)
    return header[cells] if cells < len(header) else ""


def _label_above(text: str, mentions: Sequence[Mention], number: int, begin: int) -> str:
    """The label on its own line; if several label lines precede as many dates, the one at the same place."""
    lines = [line.strip(DECORATION) for line in text[max(0, begin - 2 * AROUND) : begin].split("\n")]
    lines = [line for line in lines if line]
    dates = 0
    while lines and dates < min(number, _MAX_LABELS) and lines[-1] == _date_text(text, mentions[number - 1 - dates]):
        lines.pop()
        dates += 1
    labels: list[str] = []
    while lines and len(labels) < _MAX_LABELS and _is_label(lines[-1]):
        labels.insert(0, lines.pop())
    if dates < len(labels) and _consecutive_dates(text, mentions, number, dates) == len(labels):
        return labels[dates]
    return labels[-1] if labels and dates == 0 else ""


def _is_label(line: str) -> bool:
    short = len(line) <= _LABEL_LINE and len(line.split()) <= _LABEL_WORDS and not _SEPARATED.search(line)
    return short and _score_label_text(line, prose=False) != NOTHING


def _date_text(text: str, mention: Mention) -> str:
    return text[mention.start : mention.end].strip(DECORATION)


def _consecutive_dates(text: str, mentions: Sequence[Mention], i: int, above: int) -> int:
    """How many dates are on consecutive lines, including this one."""
    count = above + 1
    for mention, following in zip(mentions[i : i + _MAX_LABELS], mentions[i + 1 : i + 1 + _MAX_LABELS], strict=False):
        between = text[mention.end : following.start]
        if len(between) > _LABEL_LINE or "\n" not in between or between.strip(DECORATION + "\n"):
            break
        count += 1
    return count
