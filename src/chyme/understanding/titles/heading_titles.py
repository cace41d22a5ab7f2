"""Titles from the headings of a text: the highest one that names the work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chyme.text.function_words import function_words
from chyme.text.sentences import word_count
from chyme.understanding.titles.cleanup import is_company, is_junk
from chyme.understanding.titles.first_lines import plain_line, strip_markdown
from chyme.understanding.titles.line_roles import (
    are_fields,
    ends_with_kind,
    is_issuing_body,
    is_no_title,
    is_only_kind,
    is_torn,
    is_year_or_period,
    names_kind,
)
from chyme.understanding.titles.possible_title import Title, complete_kind, join_title_lines

Heading = tuple[int, int, str]  # the number of the line, the level, and the text
_KIND_WORDS = (2, 3)  # words of a heading that only adds what kind of work it is: `User manual`
GENERAL_HEADING = 0.2  # confidence lost by the name of a body, which is a title only if nothing else is
_SHORT_RULE = 40  # characters of a line of dashes that belongs to the line above it
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+(.+)$")
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.|§\s*\d+)\s+(?=\S)")
# In a heading, small words begin a title: `To the lighthouse`.
_NO_HEADING = re.compile(
    r"@\w|https?://|www\.|^(?:by|von|par|from|to|date|datum|an|cc|copyright|©|note|isbn|issn|doi)\W*[:©]|^\W*\d[\d\s./:-]*$"
    r"|^[\w ]{1,20}:\s*[\d.,/-]{1,20}$|-->",
    re.IGNORECASE,
)


def is_heading(lines: Sequence[str], number: int) -> bool:
    """Whether a line is marked as a heading."""
    return _HEADING.match(lines[number]) is not None or _is_underlined(lines, number)


def _is_underlined(lines: Sequence[str], number: int) -> bool:
    below = lines[number + 1] if number + 1 < len(lines) else ""
    # Dashes across the page divide it, except below its first line.
    is_rule = number > 0 and below.startswith("-") and len(below) > max(_SHORT_RULE, 2 * len(lines[number]))
    return not is_rule and re.fullmatch(r"[=~^*-]{4,200}", below) is not None


def headings_of(lines: Sequence[str]) -> list[Heading]:
    """The headings: the number of the line, the level, and the text. Those that layout broke are joined."""
    headings: list[Heading] = []
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if not heading and not _is_underlined(lines, number):
            continue
        level, text = (len(heading[1]), heading[2]) if heading else (1, line)
        last = headings[-1] if headings else None
        if last and last[1] == level and not any(lines[last[0] + 1 : number]) and _breaks(last[2], text):
            headings[-1] = (number, level, join_title_lines([strip_markdown(last[2]), strip_markdown(text)]))
        else:
            headings.append((number, level, text))
    return headings


def _breaks(line: str, following: str) -> bool:
    """Whether two headings are one title: the first ends open, or only names a kind of work, or a year follows."""
    first, second = strip_markdown(line), strip_markdown(following)
    if is_junk(first) or is_junk(second) or is_issuing_body(first) or len(first) + len(second) > 150:
        return is_year_or_period(second) and not is_junk(first)
    last = first.rpartition(" ")[2].lower()
    ends_open = (
        last in function_words("en") or last in function_words("de") or first.endswith((":", ",", "–", "—", "-"))
    )
    return (
        ends_open
        or (second[:1].islower() and not first[:1].islower())
        or is_year_or_period(second)
        or (is_only_kind(first) and not _NUMBERING.match(second))
        or (not names_kind(first) and ends_with_kind(second) and word_count(second) in _KIND_WORDS)
    )


def titles_from_headings(
    lines: Sequence[str], headings: Sequence[Heading], where: str, slides: bool
) -> Iterator[Title]:
    """The first headings, those of the highest level that names a work before others."""
    if not headings:
        return
    plains = [strip_markdown(text) for _, _, text in headings[:9]]
    naming = [level for (_, level, _), plain in zip(headings, plains, strict=False) if not names_no_work(plain)]
    highest = min(naming, default=1)
    rank = 0
    for place, (line_number, level, text) in enumerate(headings[:6]):
        plain = plains[place]
        if is_no_title(plain):
            continue
        confidence = (0.8 if level <= highest else 0.6) - 0.08 * rank - line_number / 300
        rank += 1
        is_sentence = plain.endswith((".", ",")) and not slides
        if _NUMBERING.match(plain) or is_sentence or _NO_HEADING.search(plain) or are_fields([plain]):
            confidence -= 0.3
        if not 2 <= word_count(plain) <= 25:
            confidence -= 0.15 * (not names_kind(plain) or word_count(plain) > 25)
        if is_issuing_body(plain) or is_company(plain):
            confidence -= GENERAL_HEADING + 0.1 * bool(naming)
            rank -= 1
        confidence -= 0.2 * is_torn(plain) + 0.15 * ("___" in text)
        before = [plain_line(line) for line in lines[max(0, line_number - 4) : line_number] if line]
        after = [plain_line(line) for line in lines[line_number + 1 : line_number + 7] if line]
        yield Title(complete_kind(plain, before[-2:], after), confidence, where, text)


def names_no_work(heading: str) -> bool:
    """Whether a line is junk, a stamp or the name of who issued the document."""
    return is_junk(heading) or is_no_title(heading) or is_issuing_body(heading) or is_company(heading)
