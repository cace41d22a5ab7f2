"""Titles in a document's text: subjects, headings, and first lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from chyme.text.function_words import function_words
from chyme.text.sentences import word_count
from chyme.understanding.classification.data_descriptions import is_data, parse_delimited_table, parse_markdown_table
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import (
    is_address_or_list_line,
    is_company,
)
from chyme.understanding.titles.first_lines import BEGINNING, first_lines, plain_line, strip_markdown
from chyme.understanding.titles.generic_headings import BELOW_GENERIC, generic_heading, generic_title, lacks_title_slide
from chyme.understanding.titles.heading_titles import (
    GENERAL_HEADING,
    Heading,
    headings_of,
    is_heading,
    names_no_work,
    titles_from_headings,
)
from chyme.understanding.titles.largest_lines import paragraphs_of, titles_by_size
from chyme.understanding.titles.legal_titles import legal_titles
from chyme.understanding.titles.letter_titles import (
    title_field,
    titles_from_fields,
    titles_of_bill,
    titles_of_mails,
    titles_of_receipt,
)
from chyme.understanding.titles.line_roles import (
    is_issuing_body,
    is_no_title,
    is_only_kind,
    is_salutation,
    is_torn,
    is_year_or_period,
    names_kind,
)
from chyme.understanding.titles.opening_titles import title_of_poem
from chyme.understanding.titles.possible_title import Title, complete_kind
from chyme.understanding.titles.sheet_titles import cell_titles, sheet_titles

_CAPITALS = 4  # letters of a line in capitals that may be a part of a title
# A table's first row: what it is about, and years.
_YEARS_ROW = re.compile(r"\|\s*([^|\n]*[^\W\d_]{3}[^|\n]*)\|((?:\s*[^|\n]{0,12}\d{2,4}[^|\n]{0,6}\|){2,})\s*(?:\n|$)")
MBOX = "application/mbox"
_WRAPPED = 60  # characters from which on a line was probably wrapped
_FIRST_LINES = 12  # first lines that may be a title without being marked as one
_CODE = re.compile(r"\":|[{}<>=\\]|^\S+(?:\s\S+){0,2};$|\w\([^()\s]*\);$|\(\)|::|^\s*(?:\d{1,3}[.)]|[a-z][.)])\s")
_ENTRY = re.compile(r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?\s\D.{0,90}\s\d{1,3}$")  # of a table of contents
_FIRST_SECTION = re.compile(r"^1\.?\s\D")
_PAGE_NUMBER = re.compile(r"^\d{1,3}\s+(?=\D)|(?<=\D)\s+\d{1,3}$")
_CAPTION_NUMBER = re.compile(
    r"^(?:table|tabelle|tableau|tabla|tabella|tabel)\s\d{1,3}(?:\.\d{1,3})?\s?[:.–—-]\s+", re.IGNORECASE
)
_DATA_TITLE = re.compile(
    r"^ {0,4}\"?title\"?\s*[:=]\s*[\"']?([^\"'\n{}\[\]]{3,150}?)[\"']?,?\s*$|<title>([^<]{3,150})<", re.I | re.M
)
_NO_TITLE = re.compile(
    r"@\w|https?://|www\.|\b(?:tel|fax|phone|telefon|e-?mail)\b\.?:?|(?:^|,\s?|\b[A-Z]{1,2}[ -])\d{5}\b"
    r"|\b(?:page|seite)\s+\d|^\W*\d[\d\s./:-]*$"
    r"|^(?:by|von|par|from|to|date|datum|an|cc|copyright|©|isbn|issn|doi|version)\b\W|^note\W*:"
    r"|^[\w ]{1,20}:\s*\S{1,20}$|^[|+]|^\d{1,2}[:.]\d\d|-->",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(r"^(?:they|it|this|these|those|he|she|and|but|er|sie|es|und|aber|il|elle|et|mais)\b", re.I)
_BETWEEN = re.compile(r"(?:between|zwischen|entre|tra|fra|tussen)\s")  # the parties of a contract, below its title
_ENDED = re.compile(r"[.!?。！？;,:：]$")
_SENTENCES = re.compile(r"[.!?]\s+[A-ZÄÖÜ]")
_BELOW_TEXT = 0.25  # confidence lost by a line below a table or text
_PROSE, _SENTENCE = 160, 7  # characters of a line that is text, and words of one that ends like a sentence
_ABOVE_HEADINGS = 0.82
_FAR_BELOW = 3  # lines between the first one and a heading that is not the title
_NAME_WORDS = 14  # words of a line that is a title without being marked as one


def titles_from_text(source: SourceText, mime: str) -> Iterator[Title]:
    """The titles that the text, or the print of its first page, has."""
    if not source.text or source.spoken:
        return
    if is_data(mime):
        match = _DATA_TITLE.search(source.text[:3_000])
        if match:
            yield Title(match[1] or match[2], 0.5, source.where, match[0].strip())
        return
    if mime == MBOX:
        yield from titles_of_mails(source.text, source.where)
        return
    if "sheet" in mime or "excel" in mime:
        yield from sheet_titles(source.text[:BEGINNING], source.where)
        return
    lines = _without_code(first_lines(source.text))
    if lines and lines[0].startswith("|"):
        yield from cell_titles(source.text[:BEGINNING], source.where)
    printed = paragraphs_of(source.front)
    shown = printed or lines
    headings = headings_of(lines)
    slides = _are_slides(mime)
    has_no_title = generic_heading(headings, source.front, slides) or (slides and lacks_title_slide(headings))
    highest = BELOW_GENERIC if has_no_title else 1.0
    yield from _limit(titles_by_size(source.front, source.where), highest)
    yield from legal_titles([strip_markdown(line) for line in shown], source.text, source.where)
    yield from titles_from_fields(shown, source.where)
    yield from titles_of_bill(shown, source.where)
    yield from titles_of_receipt(lines, source.text, source.where)
    yield from _limit(titles_from_headings(lines, headings, source.where, slides), highest)
    if not printed:
        yield from _line_above_headings(lines, headings, source.where)
        yield from [] if headings else title_of_poem(lines, source.where)
    count = 0
    is_below = False
    for number, line in enumerate(shown):
        is_marked = not printed and is_heading(lines, number)
        if (
            is_marked
            or title_field(line)
            or not line
            or line.startswith(("```", ">", "!", "|", "- ", "* ", "<", "{", "["))
        ):
            is_below = is_below or line.startswith("|")
            continue
        if count >= _FIRST_LINES:
            break
        for title in _limit(_from_line(count, number, shown, source.where, mime), highest):
            yield replace(title, confidence=title.confidence - _BELOW_TEXT) if is_below else title
        is_below = is_below or (not printed and _is_prose(line))
        count += 1


def title_from_generic_heading(source: SourceText, mime: str, name: str) -> list[Title]:
    """The highest heading if it names nothing, such as `Main Title`; it is no title where there is a better one."""
    if not source.text or source.spoken or is_data(mime) or mime == MBOX or "sheet" in mime or "excel" in mime:
        return []
    headings = headings_of(_without_code(first_lines(source.text)))
    heading = generic_heading(headings, source.front, _are_slides(mime))
    return [generic_title(heading, name, source.where)] if heading else []


def _are_slides(mime: str) -> bool:
    return "presentation" in mime or "powerpoint" in mime


def _limit(titles: Iterable[Title], highest: float) -> Iterator[Title]:
    """The titles with at most this confidence."""
    return (replace(title, confidence=min(highest, title.confidence)) for title in titles)


def _is_prose(line: str) -> bool:
    """Whether a line is text rather than something above it."""
    return len(line) > _PROSE or (line.endswith(".") and word_count(line) > _SENTENCE)


def _line_above_headings(lines: Sequence[str], headings: Sequence[Heading], where: str) -> Iterator[Title]:
    """The first line of a text whose headings only divide it: none is of the highest level, or they begin far below."""
    if not headings or headings[0][0] == 0 or not lines[0]:
        return
    line_number = headings[0][0]
    bold = lines[0].startswith("**") and lines[0].endswith("**")
    highest = sum(level == 1 for _, level, _ in headings)
    if highest and not (line_number > _FAR_BELOW and (bold or highest > 1)):
        return
    plain = strip_markdown(lines[0])
    is_alone = len(lines) > 1 and not lines[1]
    if (
        is_alone
        and 2 <= word_count(plain) <= _NAME_WORDS
        and not (_NO_TITLE.search(plain) or _ENDED.search(plain) or _CODE.search(lines[0]) or is_torn(plain))
        and not (names_no_work(plain) or is_salutation(plain) or is_address_or_list_line(plain))
    ):
        after = [plain_line(line) for line in lines[1:6] if line]
        yield Title(complete_kind(plain, (), after), _ABOVE_HEADINGS, where, lines[0])


def _from_line(rank: int, number: int, lines: Sequence[str], where: str, mime: str) -> Iterator[Title]:
    line = lines[number]
    plain = strip_markdown(line)
    if any(below.startswith("|") for below in lines[number + 1 : number + 3]):
        plain = _CAPTION_NUMBER.sub("", plain)
    following = lines[number + 1] if number + 1 < len(lines) else ""
    if _continues(plain, strip_markdown(following)):
        plain = f"{plain} {strip_markdown(following)}"
    words = word_count(plain)
    if (
        not 1 <= words <= 25
        or len(plain) > 160
        or _NO_TITLE.search(plain)
        or is_address_or_list_line(plain)
        or is_no_title(plain)
        or _CODE.search(line)
        or is_salutation(plain)
        or _is_entry(lines, number)
    ):
        return
    bold = line.startswith("**") and line.rstrip().endswith("**")
    alone = (number == 0 or not lines[number - 1]) and (number + 1 >= len(lines) or not lines[number + 1])
    confidence = 0.5 + 0.12 * bold + 0.08 * alone - 0.05 * rank - number / 200
    if (following[:1].islower() or (following and len(line) > _WRAPPED)) and not (line.isupper() and names_kind(plain)):
        confidence -= 0.25  # the beginning of a paragraph
    confidence -= 0.15 * bool(_REFERS_BACK.match(plain)) + 0.25 * is_torn(plain)
    if mime == "application/pdf" and words > 5:
        plain = _PAGE_NUMBER.sub("", plain)
    confidence -= 0.2 * bool(_BETWEEN.match(plain) or _FIRST_SECTION.match(plain))
    confidence -= (
        (0.04 if rank == 0 and plain[-1:] in ";:" and words > 3 else 0.2)
        * bool(_ENDED.search(plain) and not is_company(plain))
        + 0.25 * (words == 1 and not is_only_kind(plain))
        + 0.15 * (words > 16)
        + 0.3 * bool(_ENDED.search(plain) and _SENTENCES.search(plain))
    )
    confidence -= GENERAL_HEADING * is_issuing_body(plain) + 0.25 * (words > 3 and _ends_open(plain))
    confidence += 0.1 * ((1 < words < 16 or is_only_kind(plain)) and names_kind(plain) and not _ENDED.search(plain))
    before = [plain_line(other) for other in lines[max(0, number - 2) : number] if other]
    after = [plain_line(other) for other in lines[number + 1 : number + 6] if other]
    yield Title(complete_kind(plain, before, after), confidence, where, line)


def _is_entry(lines: Sequence[str], number: int) -> bool:
    """Whether a line and one beside it are entries of a table of contents."""
    beside = [line for line in (*lines[max(0, number - 2) : number], *lines[number + 1 : number + 3]) if line]
    return _ENTRY.match(strip_markdown(lines[number])) is not None and any(
        _ENTRY.match(strip_markdown(line)) for line in beside
    )


def _continues(line: str, following: str) -> bool:
    """Whether a title takes two lines: the first ends with a small word, or both are in capitals."""
    if not following or len(line) + len(following) > 120 or _NO_TITLE.search(following) or is_no_title(following):
        return False
    ends_open = _ends_open(line)
    if is_issuing_body(line) and not ends_open:
        return False
    in_capitals = line.isupper() and following.isupper() and min(map(_count_letters, (line, following))) >= _CAPITALS
    return ends_open or (in_capitals and not is_issuing_body(following) and not is_company(following))


def _ends_open(line: str) -> bool:
    """Whether a line ends with a small word, so that it goes on."""
    last = line.rpartition(" ")[2].lower()
    return " " in line and (last in function_words("en") or last in function_words("de"))


def _count_letters(line: str) -> int:
    return sum(map(str.isalpha, line))


def titles_from_table(source: SourceText, mime: str) -> Iterator[Title]:
    """The caption of a table that is most of the text, or the names of its columns."""
    table = (
        parse_delimited_table(source.text)
        if mime in ("text/csv", "text/tab-separated-values")
        else parse_markdown_table(source.text)
    )
    if table is None:
        return
    above = _YEARS_ROW.match(source.text.lstrip()[:600])
    if above and is_year_or_period(above[2].split("|")[0]):
        yield Title(above[1].strip(), 0.5, source.where, above[1].strip())
    caption = _CAPTION_NUMBER.sub("", table.caption)
    if caption and not is_no_title(caption):
        yield Title(caption, 0.6, source.where, table.caption)
    if len(table.names) > 1:
        listing = f"Table of {', '.join(table.names[:4])}"
        yield Title(listing, 0.31, source.where, listing)


def _without_code(lines: Sequence[str]) -> list[str]:
    """The lines outside of code blocks."""
    kept: list[str] = []
    in_code = False
    for line in lines:
        if line.startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code:
            kept.append(line)
    return kept
