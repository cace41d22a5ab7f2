"""Find the date of a document: collect every date in its text and metadata, and choose the most credible.

A wrong date is worse than none: `choose_date` returns one only if there is further evidence for it.
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

RULES_VERSION = 2  # raise it when a rule changes the result
MIN_CONFIDENCE = 0.5  # the confidence a date needs to be the document's
MAX_CANDIDATES = 10
_MONTH = len("2026-04")
_MAX_FOUND = 50
_FIRST, _LAST = 600, 200  # mentions that are scored
_HEAD, _TAIL, _SAMPLE, _SAMPLES = 100_000, 30_000, 10_000, 8  # characters of a long text that are read
_CONFIRMED = 0.15  # bonus for a date from two sources
_REPEATED, _MAX_REPEATED = 0.03, 0.06  # bonus for each repetition in a text, and its maximum
_MAX_CONFIDENCE = 0.98
_CLOSE, _DOUBT = 0.02, 0.6  # difference up to which two dates are equally likely, and the factor for them then
_AFTER_LAST_CHANGE, _GRACE_DAYS, _LABELLED = (
    0.6,
    7,
    0.75,
)  # factor for a date this many days after the file was last changed; a label may announce one
_FROM_TEMPLATE, _LONG_BEFORE = 0.45, 365  # a file created so many days before its last change began as another one
_IN_PICTURE = 0.9  # a date written in a picture is seldom the day it was taken
_FROM_RECORDER, _FROM_SITE = 0.85, 0.55  # minimum, if there is nothing better
_PICTURES, _RECORDINGS, _PAGES = frozenset({"image"}), frozenset({"audio", "video"}), frozenset({"url", "page"})
_PROGRAMS = frozenset(TRUST)


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
        dated = Candidate(iso, text[mention.start : mention.end], where, score_date(context, i, iso) * trust, ambiguous)
        times[iso] += 1
        if iso not in best or dated.confidence > best[iso].confidence:
            best[iso] = dated
    for iso, dated in best.items():
        best[iso] = replace(dated, confidence=dated.confidence + min(_MAX_REPEATED, _REPEATED * (times[iso] - 1)))
    return _doubt_ties(sorted(best.values(), key=lambda dated: -dated.confidence)[:_MAX_FOUND])


def _doubt_ties(found: list[Candidate]) -> list[Candidate]:
    """Lower the confidence of all dates if the best two are equally likely and have no label."""
    if len(found) < 2 or found[0].confidence >= _LABELLED or found[0].confidence - found[1].confidence > _CLOSE:
        return found
    return [replace(candidate, confidence=candidate.confidence * _DOUBT) for candidate in found]


def rank_dates(candidates: Iterable[Candidate], kind: str | None, today: date) -> tuple[Candidate, ...]:
    """The dates of a document from all its sources, the most credible first, at most ten.

    `kind` is the kind of its file, or `mail` or `page`: the camera knows the day of a picture, the site that of a page.
    """
    plausible = [dated for dated in candidates if dated.date[:4] <= str(today.year + MAX_YEARS_AHEAD)]
    modified = max((dated.date for dated in plausible if dated.where == "modified"), default=None)
    best: dict[str, Candidate] = {}
    sources: dict[str, set[str]] = {}
    for original in plausible:
        dated = replace(original, confidence=_adjust(original, kind, modified))
        sources.setdefault(dated.date, set()).add(_source(dated))
        if dated.date not in best or dated.confidence > best[dated.date].confidence:
            best[dated.date] = dated
    for iso, dated in best.items():
        if (sources[iso] | sources.get(iso[:_MONTH], set())) - {_source(dated)}:
            best[iso] = replace(dated, confidence=min(_MAX_CONFIDENCE, dated.confidence + _CONFIRMED))
    return tuple(sorted(best.values(), key=lambda dated: (-dated.confidence, -len(dated.date))))[:MAX_CANDIDATES]


def choose_date(candidates: Sequence[Candidate]) -> Candidate | None:
    """The first of the ranked dates if it is likely enough; none is better than a wrong one."""
    return candidates[0] if candidates and candidates[0].confidence >= MIN_CONFIDENCE else None


def _adjust(dated: Candidate, kind: str | None, modified: str | None) -> float:
    """The confidence adjusted to the source, for a file of this kind that was last changed on that day."""
    if modified is not None and dated.where == "properties" and _days(dated.date, modified) > _LONG_BEFORE:
        return min(dated.confidence, _FROM_TEMPLATE)
    if (
        modified is not None
        and dated.where not in _PROGRAMS
        and dated.confidence < _LABELLED
        and _days(modified, dated.date) > _GRACE_DAYS
    ):
        return dated.confidence * _AFTER_LAST_CHANGE
    if kind in _PICTURES and dated.where not in _PROGRAMS and dated.where != NAME:
        return dated.confidence * _IN_PICTURE
    if kind in _RECORDINGS and dated.where == "properties":
        return max(dated.confidence, _FROM_RECORDER)
    if kind in _PAGES and dated.where == "modified":
        return max(dated.confidence, _FROM_SITE)
    return dated.confidence


def _source(dated: Candidate) -> str:
    """The source of a date. Programs count as one source: they copy each other and confirm nothing."""
    return "program" if dated.where in _PROGRAMS else NAME if dated.where == NAME else "text"


def _days(first: str, last: str) -> int:
    """Days between two dates; a month or a year counts from its first day."""
    earlier, later = (date.fromisoformat((iso + "-01-01")[:10]) for iso in (first, last))
    return (later - earlier).days


def _parts_to_read(length: int) -> list[tuple[int, int]]:
    if length <= _HEAD + _TAIL + _SAMPLE * _SAMPLES:
        return [(0, length)]
    step = (length - _HEAD - _TAIL) // (_SAMPLES + 1)
    middle = [(_HEAD + step * number, _HEAD + step * number + _SAMPLE) for number in range(1, _SAMPLES + 1)]
    return [(0, _HEAD), *middle, (length - _TAIL, length)]
