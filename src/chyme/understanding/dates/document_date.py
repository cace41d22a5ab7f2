"""The date a document is of: every date that is written in it or about it, and the one to believe.

A wrong date is worse than none: `chosen` gives one only where something beside it speaks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from chyme.understanding.classification.result import Candidate
from chyme.understanding.dates.context import prepare_context, score_date
from chyme.understanding.dates.day_month_order import order_of, resolve_mention
from chyme.understanding.dates.forms import MAX_YEARS_AHEAD, find_mentions
from chyme.understanding.dates.metadata import NAME, TRUST, from_name, from_stamp

__all__ = ["MIN_CONFIDENCE", "RULES_VERSION", "choose_date", "find_dates", "from_name", "from_stamp", "rank_dates"]

RULES_VERSION = 2  # raise it when a rule changes what comes out
MIN_CONFIDENCE = 0.5  # the confidence from which on a date is the document's
MOST_CANDIDATES = 10
_MONTH = len("2026-04")
_MOST_FOUND = 50
_FIRST, _LAST = 600, 200  # mentions that are weighed
_HEAD, _TAIL, _SAMPLE, _SAMPLES = 100_000, 30_000, 10_000, 8  # characters that are read of a long text
_AGREED = 0.15  # for a date that two sources tell
_AGAIN, _OFTEN = 0.03, 0.06  # for one that a text tells again, and at most for that
_SUREST = 0.98
_CLOSE, _DOUBT = 0.02, 0.6  # for dates of which any may be meant
_AFTER_IT_WAS_MADE, _SOON, _LABELLED = (
    0.6,
    7,
    0.75,
)  # for a date in a file that is older by days; labels may announce one
_OF_A_TEMPLATE, _LONG_BEFORE = 0.45, 365  # a file begun so many days before it was changed began as another one
_IN_A_PICTURE = 0.9  # what is written in a picture is seldom the day it was taken
_OF_A_RECORDER, _OF_A_SITE = 0.85, 0.55  # at least, where nothing better is told
_PICTURES, _RECORDINGS, _PAGES = frozenset({"image"}), frozenset({"audio", "video"}), frozenset({"url", "page"})
_MACHINES = frozenset(TRUST)


def find_dates(text: str, language: str | None, where: str, today: date) -> list[Candidate]:
    """Every date a text tells, the likeliest first, each once and with the characters it was read from.

    Of a long text the beginning, the end and samples between them are read.
    """
    found = find_mentions(text, _parts(len(text)), language, today)
    if len(found) > _FIRST + _LAST:
        found = found[:_FIRST] + found[-_LAST:]
    page = prepare_context(text, found, today)
    orders = {mark: order_of(text, found, mark, language) for mark in {one.mark for one in found if one.swappable}}
    best: dict[str, Candidate] = {}
    times: Counter[str] = Counter()
    for at, mention in enumerate(found):
        iso, trust, ambiguous = resolve_mention(mention, orders.get(mention.mark), today)
        told = Candidate(iso, text[mention.start : mention.end], where, score_date(page, at, iso) * trust, ambiguous)
        times[iso] += 1
        if iso not in best or told.confidence > best[iso].confidence:
            best[iso] = told
    for iso, one in best.items():
        best[iso] = replace(one, confidence=one.confidence + min(_OFTEN, _AGAIN * (times[iso] - 1)))
    return _doubted(sorted(best.values(), key=lambda one: -one.confidence)[:_MOST_FOUND])


def _doubted(found: list[Candidate]) -> list[Candidate]:
    """Where two dates are as likely and no label tells which is meant, neither is to be believed."""
    if len(found) < 2 or found[0].confidence >= _LABELLED or found[0].confidence - found[1].confidence > _CLOSE:
        return found
    return [replace(one, confidence=one.confidence * _DOUBT) for one in found]


def rank_dates(candidates: Iterable[Candidate], kind: str | None, today: date) -> tuple[Candidate, ...]:
    """The dates of a document from all its sources, the one to believe first, at most ten.

    `kind` is the kind of its file, or `mail` or `page`: of a picture the camera knows the day, of a page its site.
    """
    given = [one for one in candidates if one.date[:4] <= str(today.year + MAX_YEARS_AHEAD)]
    made = max((one.date for one in given if one.where == "modified"), default=None)
    best: dict[str, Candidate] = {}
    sources: dict[str, set[str]] = {}
    for told in given:
        one = replace(told, confidence=_trusted(told, kind, made))
        sources.setdefault(one.date, set()).add(_source(one))
        if one.date not in best or one.confidence > best[one.date].confidence:
            best[one.date] = one
    for iso, one in best.items():
        if (sources[iso] | sources.get(iso[:_MONTH], set())) - {_source(one)}:
            best[iso] = replace(one, confidence=min(_SUREST, one.confidence + _AGREED))
    return tuple(sorted(best.values(), key=lambda one: (-one.confidence, -len(one.date))))[:MOST_CANDIDATES]


def choose_date(candidates: Sequence[Candidate]) -> Candidate | None:
    """Of the dates in their order: the first, if it is likely enough; none is better than a wrong one."""
    return candidates[0] if candidates and candidates[0].confidence >= MIN_CONFIDENCE else None


def _trusted(one: Candidate, kind: str | None, made: str | None) -> float:
    """How much a source is to be believed about a file of this kind that was last changed on that day."""
    if made is not None and one.where == "properties" and _days(one.date, made) > _LONG_BEFORE:
        return min(one.confidence, _OF_A_TEMPLATE)
    if made is not None and one.where not in _MACHINES and one.confidence < _LABELLED and _days(made, one.date) > _SOON:
        return one.confidence * _AFTER_IT_WAS_MADE
    if kind in _PICTURES and one.where not in _MACHINES and one.where != NAME:
        return one.confidence * _IN_A_PICTURE
    if kind in _RECORDINGS and one.where == "properties":
        return max(one.confidence, _OF_A_RECORDER)
    if kind in _PAGES and one.where == "modified":
        return max(one.confidence, _OF_A_SITE)
    return one.confidence


def _source(one: Candidate) -> str:
    """What programs write down agrees with itself: only another source confirms it."""
    return "program" if one.where in _MACHINES else NAME if one.where == NAME else "text"


def _days(first: str, last: str) -> int:
    """From the one date to the other, those of a month or a year from their first day."""
    earlier, later = (date.fromisoformat((iso + "-01-01")[:10]) for iso in (first, last))
    return (later - earlier).days


def _parts(length: int) -> list[tuple[int, int]]:
    if length <= _HEAD + _TAIL + _SAMPLE * _SAMPLES:
        return [(0, length)]
    step = (length - _HEAD - _TAIL) // (_SAMPLES + 1)
    middle = [(_HEAD + step * number, _HEAD + step * number + _SAMPLE) for number in range(1, _SAMPLES + 1)]
    return [(0, _HEAD), *middle, (length - _TAIL, length)]
