"""Choose the date of a document among candidates from its text, name and metadata: the most credible.

A wrong date is worse than none: `choose_date` returns one only if there is further evidence for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from chyme.model import Kind
from chyme.understanding.classification.data_descriptions import is_data
from chyme.understanding.classification.result import Candidate
from chyme.understanding.classification.source_text import RUNNING_TEXTS, read_json, running_text, text_in
from chyme.understanding.dates.candidates import LABELLED, NAME, TRUST, find_dates, from_dateline, from_name, from_stamp
from chyme.understanding.dates.forms import MAX_YEARS_AHEAD
from chyme.understanding.dates.years import find_years

if TYPE_CHECKING:
    from chyme.documents.properties.reader import Properties

RULES_VERSION = 5  # raise it when a rule changes the result
MIN_CONFIDENCE = 0.5  # the confidence a date needs to be the document's
MAX_CANDIDATES = 10
_MONTH = len("2026-04")
_CONFIRMED = 0.15  # bonus for a date from two sources
_MAX_CONFIDENCE = 0.98
_AFTER_LAST_CHANGE, _GRACE_DAYS = 0.6, 7  # factor for a date this many days after the file was last changed
_BEHIND_TEXT, _NAME_BEHIND_TEXT = 0.45, 0.6  # maximum for what a program and a name say, if the text says its date
_EDITED_FOR_YEARS, _FIRST_EDITION = (
    1000,
    0.5,
)  # a page changed so many days after its publication is edited all the time
_FROM_TEMPLATE, _LONG_BEFORE = 0.45, 365  # a file created so many days before its last change began as another one
_CREDIBLE_IN_TEXT = 0.3  # confidence from which on a date in the text shows that it was written later
_IN_PICTURE = 0.9  # a date written in a picture is seldom the day it was taken
_FROM_RECORDER, _FROM_SITE = 0.85, 0.55  # minimum, if there is nothing better
_PICTURES, _RECORDINGS, _PAGES = frozenset({"image"}), frozenset({"audio", "video"}), frozenset({"url", "page"})
_PROGRAMS = frozenset(TRUST)
_OF_FILE = {
    "properties": "created, in the properties of the file",
    "modified": "changed, in the properties of the file",
}
_MAIL = ("message/rfc822", "application/vnd.ms-outlook")


def dates_of(
    texts: Mapping[str, str],
    properties: Properties | None,
    *,
    kind: Kind,
    mime: str,
    name: str,
    language: str | None,
    today: date,
) -> tuple[Candidate, ...]:
    """All possible dates of the file, the likeliest first: from its text, properties, previews and name."""
    found: list[Candidate | None] = [from_name(name, today)]
    for where in RUNNING_TEXTS:
        if texts.get(where, "").strip():
            if not is_data(mime):
                text = running_text(where, texts[where])
                found += find_dates(text, language, where, today)
                found += find_years(text, where, today, is_page=kind is Kind.URL or mime == "text/html")
            break
    if properties is not None:
        made = "mail" if mime in _MAIL else "published" if mime == "text/html" or kind is Kind.TEXT else "properties"
        found += [
            from_stamp(properties.created or "", made, today),
            from_stamp(properties.modified or "", "modified", today),
            from_dateline(properties.dateline, language, today),
        ]
    page, picture = read_json(texts.get("url-metadata")), read_json(texts.get("image-preview"))
    found += [
        from_stamp(text_in(page, "published_date"), "published", today),
        from_stamp(text_in(page, "modified_date"), "modified", today),
        from_dateline(text_in(page, "dateline"), language, today),
        from_stamp(text_in(picture, "taken"), "exif", today),
        from_stamp(_recording_date(texts), "properties", today),
    ]
    file_kind = "mail" if mime in _MAIL else "page" if kind is Kind.URL or mime == "text/html" else str(kind)
    return rank_dates([candidate for candidate in found if candidate is not None], file_kind, today)


def _recording_date(texts: Mapping[str, str]) -> str:
    preview = read_json(texts.get("media-preview"))
    tags = preview.get("tags")
    return text_in(preview, "recorded") or (text_in(tags, "date") if isinstance(tags, dict) else "")


def rank_dates(candidates: Iterable[Candidate], kind: str | None, today: date) -> tuple[Candidate, ...]:
    """The dates of a document from all its sources, the most credible first, at most ten.

    `kind` is the kind of its file, or `mail` or `page`: the camera knows the day of a picture, the site that of a page.
    """
    plausible = [dated for dated in candidates if dated.date[:4] <= str(today.year + MAX_YEARS_AHEAD)]
    modified = max((dated.date for dated in plausible if dated.where == "modified"), default=None)
    in_prose = [dated for dated in plausible if _source(dated) == "text" and dated.confidence > _CREDIBLE_IN_TEXT]
    newest = max((dated.date for dated in in_prose if dated.date <= today.isoformat()), default="")
    best: dict[str, Candidate] = {}
    sources: dict[str, set[str]] = {}
    in_text: dict[str, float] = {}
    for original in plausible:
        dated = replace(original, confidence=_adjust(original, kind, modified))
        if dated.where == "properties" and newest and _days(dated.date, newest) > _LONG_BEFORE:
            dated = replace(dated, confidence=min(dated.confidence, _FROM_TEMPLATE))
        sources.setdefault(dated.date, set()).add(_source(dated))
        if _source(dated) == "text":
            in_text[dated.date] = max(dated.confidence, in_text.get(dated.date, 0.0))
        if dated.date not in best or _order(dated) > _order(best[dated.date]):
            best[dated.date] = dated
    for iso, dated in best.items():
        if (sources[iso] | sources.get(iso[:_MONTH], set())) - {_source(dated)}:
            best[iso] = replace(dated, confidence=min(_MAX_CONFIDENCE, dated.confidence + _CONFIRMED))
    text_confidence = max(
        (
            score + (_CONFIRMED if (sources[iso] | sources.get(iso[:_MONTH], set())) - {"text"} else 0.0)
            for iso, score in in_text.items()
        ),
        default=0.0,
    )
    if text_confidence >= MIN_CONFIDENCE:
        best = {iso: replace(dated, confidence=_limit(dated, text_confidence)) for iso, dated in best.items()}
    return tuple(sorted(best.values(), key=lambda dated: (-dated.confidence, -len(dated.date))))[:MAX_CANDIDATES]


def choose_date(candidates: Sequence[Candidate]) -> Candidate | None:
    """The first of the ranked dates if it is likely enough; none is better than a wrong one."""
    return candidates[0] if candidates and candidates[0].confidence >= MIN_CONFIDENCE else None


def date_evidence(chosen: Candidate) -> str:
    """The evidence for a date: the words in the text, or which property of the file says so."""
    return f"{_OF_FILE[chosen.where]}: {chosen.text}" if chosen.where in _OF_FILE else chosen.text


def _order(dated: Candidate) -> tuple[bool, float, bool, bool, str]:
    """What to prefer as the evidence for a date: anything likely before the properties of the file.

    Of equals never the one that comes first: the order of sources must not matter.
    """
    is_of_file = dated.where in _OF_FILE
    is_likely = not is_of_file and dated.confidence >= MIN_CONFIDENCE
    return is_likely, dated.confidence, not is_of_file, dated.where != NAME, dated.where


def _limit(dated: Candidate, text_confidence: float) -> float:
    """The confidence of a date beside one that the text gives: the file's own dates come after it."""
    if dated.where in _OF_FILE:
        return min(dated.confidence, _BEHIND_TEXT)
    if dated.where == NAME and text_confidence > _NAME_BEHIND_TEXT:
        return min(dated.confidence, _NAME_BEHIND_TEXT)
    return dated.confidence


def _adjust(dated: Candidate, kind: str | None, modified: str | None) -> float:
    """The confidence adjusted to the source, for a file of this kind that was last changed on that day."""
    if modified is not None and dated.where == "properties" and _days(dated.date, modified) > _LONG_BEFORE:
        return min(dated.confidence, _FROM_TEMPLATE)
    if (
        modified is not None
        and dated.where not in _PROGRAMS
        and dated.confidence < LABELLED  # a label may announce a later one
        and _days(modified, dated.date) > _GRACE_DAYS
    ):
        return dated.confidence * _AFTER_LAST_CHANGE
    if kind in _PICTURES and dated.where not in _PROGRAMS and dated.where != NAME:
        return dated.confidence * _IN_PICTURE
    if kind in _RECORDINGS and dated.where == "properties":
        return max(dated.confidence, _FROM_RECORDER)
    if kind in _PAGES and modified is not None and dated.where == "published":
        edited = _days(dated.date, modified) > _EDITED_FOR_YEARS
        return min(dated.confidence, _FIRST_EDITION) if edited else dated.confidence
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
