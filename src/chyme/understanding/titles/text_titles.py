"""Titles in a document's text: subjects, headings, first lines, and the first sentence if there is nothing better."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chyme.model import Segment
from chyme.text.function_words import function_words
from chyme.text.markdown_blocks import BlockType
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import sentences_of, word_count
from chyme.understanding.classification.data_descriptions import is_data, parse_delimited_table, parse_markdown_table
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import (
    is_address_or_list_line,
    is_company,
    is_junk,
    is_log_line,
)
from chyme.understanding.titles.first_lines import BEGINNING, first_lines, plain_line, strip_markdown
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
from chyme.understanding.titles.possible_title import Title, complete_kind, join_title_lines
from chyme.understanding.titles.sheet_titles import cell_titles, sheet_titles

_OPENING_LENGTH = 90  # characters of the first sentence when it serves as a title
_CAPITALS = 4  # letters of a line in capitals that may be a part of a title
# A table's first row: what it is about, and years.
_YEARS_ROW = re.compile(r"\|\s*([^|\n]*[^\W\d_]{3}[^|\n]*)\|((?:\s*[^|\n]{0,12}\d{2,4}[^|\n]{0,6}\|){2,})\s*(?:\n|$)")
MBOX = "application/mbox"
_WRAPPED = 60  # characters from which on a line was probably wrapped
_FIRST_LINES = 12  # first lines that may be a title without being marked as one
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+(.+)$")
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.|§\s*\d+)\s+(?=\S)")
_CODE = re.compile(r"\":|[{}<>=\\]|;$|\(\)|::|^\s*(?:\d{1,3}[.)]|[a-z][.)])\s")
_PAGE_NUMBER = re.compile(r"^\d{1,3}\s+(?=\D)|(?<=\D)\s+\d{1,3}$")
_DATA_TITLE = re.compile(
    r"^ {0,4}\"?title\"?\s*[:=]\s*[\"']?([^\"'\n{}\[\]]{3,150}?)[\"']?,?\s*$|<title>([^<]{3,150})<", re.I | re.M
)
_NO_TITLE = re.compile(
    r"@\w|https?://|www\.|\b(?:tel|fax|phone|telefon|e-?mail)\b\.?:?|(?:^|,\s?|\b[A-Z]{1,2}[ -])\d{5}\b"
    r"|\b(?:page|seite)\s+\d|^\W*\d[\d\s./:-]*$"
    r"|^(?:by|von|par|from|to|date|datum|an|cc|copyright|©|figure|fig\.|table|note|isbn|issn|doi|version)\b\W"
    r"|^[\w ]{1,20}:\s*\S{1,20}$|^[|+]|^\d{1,2}[:.]\d\d|-->",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(r"^(?:they|it|this|these|those|he|she|and|but|er|sie|es|und|aber|il|elle|et|mais)\b", re.I)
_BETWEEN = re.compile(r"(?:between|zwischen|entre|tra|fra|tussen)\s")  # the parties of a contract, below its title
_ENDED = re.compile(r"[.!?。！？;,:：]$")
_SENTENCES = re.compile(r"[.!?]\s+[A-ZÄÖÜ]")
_GENERAL_HEADING = 0.2  # confidence lost by the name of a body, which is a title only if nothing else is


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
    yield from titles_by_size(source.front, source.where)
    yield from legal_titles([strip_markdown(line) for line in shown], source.text, source.where)
    yield from titles_from_fields(shown, source.where)
    yield from titles_of_bill(shown, source.where)
    yield from titles_of_receipt(lines, source.text, source.where)
    yield from _from_headings(_headings(lines), source.where, slides="presentation" in mime or "powerpoint" in mime)
    count = 0
    for number, line in enumerate(shown):
        is_heading = not printed and (_HEADING.match(line) or _is_underlined(lines, number))
        if (
            is_heading
            or title_field(line)
            or not line
            or line.startswith(("```", ">", "!", "|", "- ", "* ", "<", "{", "["))
        ):
            continue
        if count >= _FIRST_LINES:
            break
        yield from _from_line(count, number, shown, source.where, mime)
        count += 1


def _is_underlined(lines: Sequence[str], number: int) -> bool:
    return number + 1 < len(lines) and re.fullmatch(r"[=~^*-]{4,200}", lines[number + 1]) is not None


def _headings(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """The headings: the number of the line, the level, and the text. Those that layout broke are joined."""
    headings: list[tuple[int, int, str]] = []
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
    )


def _from_headings(headings: Sequence[tuple[int, int, str]], where: str, slides: bool) -> Iterator[Title]:
    if not headings:
        return
    plains = [strip_markdown(text) for _, _, text in headings[:9]]
    naming = [level for (_, level, _), plain in zip(headings, plains, strict=False) if not _names_no_work(plain)]
    highest = min(naming, default=1)
    rank = 0
    for place, (line_number, level, text) in enumerate(headings[:6]):
        plain = plains[place]
        if is_no_title(plain):
            continue
        confidence = (0.8 if level <= highest else 0.6) - 0.08 * rank - line_number / 300
        rank += 1
        is_sentence = plain.endswith((".", ",")) and not slides
        if _NUMBERING.match(plain) or is_sentence or _NO_TITLE.search(plain):
            confidence -= 0.3
        if not 2 <= word_count(plain) <= 25:
            confidence -= 0.15 * (not names_kind(plain) or word_count(plain) > 25)
        if is_issuing_body(plain) or is_company(plain):
            confidence -= _GENERAL_HEADING + 0.1 * bool(naming)
            rank -= 1
        confidence -= 0.2 * is_torn(plain) + 0.15 * ("___" in text)
        yield Title(
            complete_kind(plain, plains[max(0, place - 1) : place], plains[place + 1 :]), confidence, where, text
        )


def _names_no_work(heading: str) -> bool:
    return is_junk(heading) or is_no_title(heading) or is_issuing_body(heading) or is_company(heading)


def _from_line(rank: int, number: int, lines: Sequence[str], where: str, mime: str) -> Iterator[Title]:
    line = lines[number]
    plain = strip_markdown(line)
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
    confidence -= 0.2 * bool(_BETWEEN.match(plain))
    confidence -= (
        0.2 * bool(_ENDED.search(plain) and not is_company(plain))
        + 0.25 * (words == 1 and not is_only_kind(plain))
        + 0.15 * (words > 16)
        + 0.3 * bool(_ENDED.search(plain) and _SENTENCES.search(plain))
    )
    confidence -= _GENERAL_HEADING * is_issuing_body(plain) + 0.25 * (words > 3 and _ends_open(plain))
    confidence += 0.1 * ((1 < words < 16 or is_only_kind(plain)) and names_kind(plain) and not _ENDED.search(plain))
    before = [plain_line(other) for other in lines[max(0, number - 2) : number] if other]
    after = [plain_line(other) for other in lines[number + 1 : number + 6] if other]
    yield Title(complete_kind(plain, before, after), confidence, where, line)


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
    if table.caption and not is_no_title(table.caption):
        yield Title(table.caption, 0.6, source.where, table.caption)
    if len(table.names) > 1:
        listing = f"Table of {', '.join(table.names[:4])}"
        yield Title(listing, 0.31, source.where, listing)


def title_from_opening(source: SourceText, mime: str) -> Iterator[Title]:
    """The first sentence, for files that have no other title, not even a file name that a person chose."""
    if is_data(mime) or parse_markdown_table(source.text):
        return
    for block in source.blocks[:8]:
        if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM) and word_count(block.text[:400]) > 2:
            sentence = sentences_of([Segment(0.0, 0.0, block.text[:400])], [block.text[:400]])[0].text
            if not is_salutation(sentence) and not is_log_line(sentence) and not is_no_title(sentence):
                yield Title(shorten_text(sentence.rstrip("."), _OPENING_LENGTH), 0.31, source.where, sentence)
                return


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
