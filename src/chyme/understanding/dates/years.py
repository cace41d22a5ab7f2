"""Find the year of a document that gives no day: on its cover, in the name of its period, in its copyright notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from chyme.text.word_lists import WordList
from chyme.understanding.classification.result import Candidate
from chyme.understanding.dates.labels import DECORATION

ON_COVER, OF_PERIOD, OF_VOLUME, OF_COPYRIGHT = 0.52, 0.58, 0.56, 0.5  # the confidence, by what names the year
_HEAD, _LINES, _WORDS = 1_500, 12, 14  # characters and lines of the beginning, and words of a line that are a name
_EDGE = 4_000  # characters of the beginning and the end that may contain a copyright notice
_AROUND = 300  # characters around a copyright notice that say whose it is
_YEAR = r"(?<![\d.,/-])(?<!\bof )(?<!since )((?:19|20)\d{2})(?:\s?[/–-]\s?((?:19|20)?\d{2}))?(?![\d.,/-]\d|\d)"
_ANY_YEAR = re.compile(_YEAR)
_LONE = re.compile(r"(?:19|20)\d{2}")
_PERIOD = re.compile("|".join(" | ".join(WordList(__package__, "period_names").sections[""]).split(" | ")))
_VOLUME = re.compile(
    r"(?<!\w)(?:vol(?:ume)?|band|jahrgang|tome)\.? ?\d{1,4}\b.{0,40}?(?<!\d)((?:19|20)\d{2})(?!\d)"
    r"|(?<!\d)\d{1,4} ?(?:\(\d{1,3}\) ?)?\(((?:19|20)\d{2})\) ?(?:\d{1,5} ?[–-] ?\d|art|\w?\d{3,})"
)
_COPYRIGHT = re.compile(
    r"(?:©|\(c\)|copyright|copr\.)[\s,©()c]{0,6}(?:by\s)?(?:[^\W\d][\w.&' -]{0,40},?\s)?(?:(?:19|20)\d{2}\s?[,–-]\s?)?"
    r"((?:19|20)\d{2})(?!\d)",
    re.IGNORECASE,
)
_SOFTWARE = re.compile(
    r"licen[cs]|software|permission|redistribut|template|powered by|creative commons|open source|gnu |microsoft|adobe"
    r"|theme|fonts?\b|photo|image",
    re.IGNORECASE,
)


def find_years(text: str, where: str, today: date, is_page: bool) -> list[Candidate]:
    """The years by which a document may be dated, without days. A page's copyright notice belongs to its site."""
    found = {iso: (evidence, score) for iso, evidence, score in _find_all(text, is_page) if int(iso) <= today.year + 1}
    newest = max(found, default="")
    return [
        Candidate(iso, evidence, where, score)
        for iso, (evidence, score) in found.items()
        if score != OF_COPYRIGHT or iso == newest
    ]


def _find_all(text: str, is_page: bool) -> Iterator[tuple[str, str, float]]:
    """Years, the least likely first."""
    if not is_page:
        yield from _in_copyright_notices(text)
    lines = [line for raw in text[:_HEAD].split("\n") if raw[:1] != "|" and (line := raw.strip(DECORATION))][:_LINES]
    lone = [line for line in lines if _LONE.fullmatch(line)]
    if len(lone) == 1:
        yield lone[0], lone[0], ON_COVER
    for line in lines:
        if len(line.split()) > _WORDS:
            continue
        if volume := _VOLUME.search(line.lower()):
            yield volume[1] or volume[2], line, OF_VOLUME
        years = list(_ANY_YEAR.finditer(line))
        if len(years) == 1 and _PERIOD.search(line.lower()):
            yield _last_year(years[0]), line, OF_PERIOD


def _in_copyright_notices(text: str) -> Iterator[tuple[str, str, float]]:
    parts = [(0, len(text))] if len(text) <= 2 * _EDGE else [(0, _EDGE), (len(text) - _EDGE, len(text))]
    for begin, end in parts:
        for match in _COPYRIGHT.finditer(text, begin, end):
            around = text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            if not _SOFTWARE.search(around):
                yield match[1], match[0], OF_COPYRIGHT


def _last_year(match: re.Match[str]) -> str:
    """The year, or the last one of two: 2023 of 2022/23."""
    first, last = match[1], match[2]
    if not last or (len(last) == 2 and int(last) != (int(first) + 1) % 100):  # 2022-11 is a month
        return first
    return last if len(last) == 4 else first[:2] + last
