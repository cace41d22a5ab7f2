"""Find candidates for the date of a document: in its text, in its name, and in the stamps that programs write."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from email.utils import parsedate_tz

from chyme.understanding.classification.result import Candidate
from chyme.understanding.dates.context import is_span_of_days, prepare_context, score_date
from chyme.understanding.dates.day_month_order import order_of, resolve_mention
from chyme.understanding.dates.forms import find_mentions

LABELLED = 0.75  # the confidence from which on a date has a label
# The confidence of a stamp, by its source.
TRUST = {"exif": 0.95, "mail": 0.97, "published": 0.92, "properties": 0.55, "modified": 0.4}
_OTHER_TRUST = 0.6
NAME = "name"
_DATELINE, _DATELINE_MONTH = 0.85, 0.7  # the confidence of a day and of a month beside a headline
_MAX_IN_DATELINE = 3
_CHANGED = re.compile(
    r"(?:updat|modifi|revis|edit|chang|aktualisiert|geändert|mise? à jour|actualizad|aggiornat|bijgewerkt|atualizad)\w*"
    r"\W(?:\w+\W{1,2}){0,2}$",
    re.IGNORECASE,
)
_MAX_LENGTH = 200  # characters of a stamp or a name
_MAX_FOUND = 50
_MONTH_LENGTH, _YEAR_LENGTH = len("2026-04"), len("2026")
_ISSUE = re.compile(r"(?:ausgabe|heft|issue|edition|numéro|número|numero)\s?#?$", re.IGNORECASE)  # 3/2021 is no March
_FIRST, _LAST = 600, 200  # mentions that are scored
_HEAD, _TAIL, _SAMPLE, _SAMPLES = 100_000, 30_000, 10_000, 8  # characters of a long text that are read
_REPEATED, _MAX_REPEATED = 0.03, 0.06  # bonus for each repetition in a text, and its maximum
_LISTED = 3  # equally likely dates that are a list
_CLOSE, _DOUBT = 0.02, 0.6  # difference up to which two dates are equally likely, and the factor for them then
# What programs write if they do not know the date: the first day of their clock, the day their template was made.
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


def find_dates(text: str, language: str | None, where: str, today: date) -> list[Candidate]:
    """Every date in a text, the likeliest first, each once and with the characters it was read from.

    Only the beginning, the end and samples between them are read of a long text.
    """
    mentions = find_mentions(text, _parts_to_read(len(text)), language, today)
    if len(mentions) > _FIRST + _LAST:
        mentions = mentions[:_FIRST] + mentions[-_LAST:]
    context = prepare_context(text, mentions, today)
    orders = {
        mark: order_of(text, mentions, mark, language)
        for mark in {mention.mark for mention in mentions if mention.swappable}
    }
    best: dict[str, Candidate] = {}
    times: Counter[str] = Counter()
    for i, mention in enumerate(mentions):
        iso, trust, ambiguous = resolve_mention(mention, orders.get(mention.mark), today)
        score = score_date(context, i, iso) * trust
        if is_span_of_days(context, i):
            iso = iso[:_MONTH_LENGTH]
        elif mention.is_month_in_figures and _ISSUE.search(text[max(0, mention.start - 20) : mention.start]):
            iso = iso[:_YEAR_LENGTH]
        dated = Candidate(iso, text[mention.start : mention.end], where, score, ambiguous)
        times[iso] += 1
        if iso not in best or dated.confidence > best[iso].confidence:
            best[iso] = dated
    is_list = _is_list(best.values())
    for iso, dated in best.items():
        bonus = 0.0 if is_list else min(_MAX_REPEATED, _REPEATED * (times[iso] - 1))
        best[iso] = replace(dated, confidence=dated.confidence + bonus)
    found = sorted(best.values(), key=lambda dated: dated.date, reverse=True)  # the last of several revisions
    found.sort(key=lambda dated: (-dated.confidence, dated.confidence < LABELLED))
    return _doubt_ties(found[:_MAX_FOUND])


def _is_list(found: Iterable[Candidate]) -> bool:
    """Whether several dates are equally likely and have no label, as in a log: repetition proves nothing there."""
    scores = sorted((candidate.confidence for candidate in found), reverse=True)[:_LISTED]
    return len(scores) == _LISTED and scores[0] < LABELLED and scores[0] - scores[-1] <= _CLOSE


def _doubt_ties(found: list[Candidate]) -> list[Candidate]:
    """Lower the confidence of all dates if the best two are equally likely and have no label."""
    if len(found) < 2 or found[0].confidence >= LABELLED or found[0].confidence - found[1].confidence > _CLOSE:
        return found
    return [replace(candidate, confidence=candidate.confidence * _DOUBT) for candidate in found]


def _parts_to_read(length: int) -> list[tuple[int, int]]:
    if length <= _HEAD + _TAIL + _SAMPLE * _SAMPLES:
        return [(0, length)]
    step = (length - _HEAD - _TAIL) // (_SAMPLES + 1)
    middle = [(_HEAD + step * number, _HEAD + step * number + _SAMPLE) for number in range(1, _SAMPLES + 1)]
    return [(0, _HEAD), *middle, (length - _TAIL, length)]


def from_stamp(value: str, where: str, today: date) -> Candidate | None:
    """The date in a stamp that a program wrote. None for made-up dates and for future ones."""
    text = value.strip()[:_MAX_LENGTH]
    if match := _STAMP.match(text):
        return _stamp_date(match[1], match[3] or match[5], match[4], text, where, today)
    if parsed := parsedate_tz(text):
        year, month, day = parsed[:3]
        return _stamp_date(str(year), str(month), str(day), text, where, today)
    mentions = find_mentions(text, [(0, len(text))], None, today)
    if len(mentions) == 1 and mentions[0].day is not None and not mentions[0].swappable:
        parts = mentions[0].iso().split("-")
        return _stamp_date(parts[0], parts[1], parts[2], text, where, today)
    return None


def from_dateline(line: str, language: str | None, today: date) -> Candidate | None:
    """The day in the line beside a headline, if there is one: of several, the first that is not of a change."""
    text = line[:_MAX_LENGTH]
    mentions = find_mentions(text, [(0, len(text))], language, today)
    whole = [mention for mention in mentions if mention.day is not None]
    found = [mention for mention in whole if not _CHANGED.search(text, 0, mention.start)] or whole
    found = found or [mention for mention in mentions if not mention.mark]
    if not found or len(mentions) > _MAX_IN_DATELINE:
        return None
    iso, _, ambiguous = resolve_mention(found[0], order_of(text, mentions, found[0].mark, language), today)
    if ambiguous or iso > today.isoformat()[: len(iso)]:
        return None
    return Candidate(
        iso,
        text[found[0].start : found[0].end],
        "published",
        _DATELINE if len(iso) > _MONTH_LENGTH else _DATELINE_MONTH,
    )


def _stamp_date(year: str, month: str | None, day: str | None, text: str, where: str, today: date) -> Candidate | None:
    try:
        exact = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    iso = exact.isoformat()[: 10 if day else 7 if month else 4]
    if exact > today + timedelta(days=1) or exact.year < 1800 or iso in _MADE_UP:
        return None
    return Candidate(iso, text, where, TRUST.get(where, _OTHER_TRUST) * (1.0 if day else 0.7))


def from_name(name: str, today: date) -> Candidate | None:
    """The date in a file's name, if there is only one possibility."""
    text = name[:_MAX_LENGTH]
    plain = _UNDERSCORE.sub("-", _EXTENSION.sub("", text)).replace("_", " ")
    compact = {match[0]: match for match in _COMPACT.finditer(plain)}
    if len(compact) == 1:
        figures, match = compact.popitem()
        candidate = _name_date("-".join(match.groups()), figures, _FULL, today)
        if candidate is not None:
            return candidate
    mentions = find_mentions(plain, [(0, len(plain))], None, today)
    exact = [mention for mention in mentions if mention.day is not None]
    exact = [
        mention for mention in exact if plain[mention.start : mention.start + 4].isdecimal()
    ] or exact  # not a time of day
    if len({mention.iso() for mention in exact}) > 1:
        return None  # a period
    if exact:
        mention = exact[0]
        iso, _, ambiguous = resolve_mention(mention, order_of(plain, exact, mention.mark, None), today)
        ambiguous = ambiguous and mention.mark != "."
        confidence = _UNCLEAR if ambiguous else _FULL - (0.1 if mention.short_year else 0.0)
        return _name_date(iso, text[mention.start : mention.end], confidence, today, ambiguous)
    if len({mention.iso() for mention in mentions}) == 1:
        return _name_date(mentions[0].iso(), text[mentions[0].start : mentions[0].end], _MONTH, today)
    if month := _YEAR_MONTH.search(plain):
        return _name_date(f"{month[1]}-{month[2]}", text[month.start() : month.end()], _MONTH, today)
    years = {match[0] for match in _YEAR.finditer(plain)}
    if len(years) == 1:
        year = years.pop()
        return _name_date(year, year, _ONLY_YEAR, today)
    return None


def _name_date(iso: str, text: str, sure: float, today: date, ambiguous: bool = False) -> Candidate | None:
    year, month, day = (*iso.split("-"), "1", "1")[:3]
    try:
        exact = date(int(year), int(month), int(day))
    except ValueError:
        return None
    if exact > today + timedelta(days=366):
        return None
    return Candidate(iso, text, NAME, sure if exact <= today else sure * 0.6, ambiguous)
