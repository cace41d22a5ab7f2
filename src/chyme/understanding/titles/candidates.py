"""Find the title of a document: in its properties, above its text, or at least in its file name."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.model import Segment
from chyme.text.function_words import function_words
from chyme.text.markdown_blocks import BlockType, blocks_of
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import sentences_of, word_count
from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.understanding.classification.data_descriptions import (
    is_code,
    is_data,
    parse_delimited_table,
    parse_markdown_table,
)
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import (
    clean_title,
    comparison_key,
    is_address_or_list_line,
    is_company,
    is_file_name,
    is_junk,
    is_log_line,
    name_to_words,
    same_words,
    sender_in,
    strip_markup,
    strip_program_name,
)

MIN_CONFIDENCE = 0.3  # a title with less is not worth showing
_MAIL = ("message/rfc822", "application/vnd.ms-outlook")
_FROM_NAME = 0.35  # the file name, if a person chose it
_EXPLICIT = 0.95  # written where a title belongs: used even if it is "test"
_LETTERHEAD = 1_500  # characters of a letterhead
_NAME = "name"
_MAX_LINES = 80  # lines searched for a title
_OPENING_LENGTH = 90  # characters of the first sentence when it serves as a title
_WRAPPED = 60  # characters from which on a line was probably wrapped
_FIRST_LINES = 12  # first lines that may be a title without being marked as one
_BEGINNING = 20_000  # characters in which a title from the properties is expected to occur
_REPLIES = re.compile(r"^(?:(?:re|aw|fwd?|wg|antw|rv|tr|sv|vs)\s*(?:\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE)
_HEADING = re.compile(r"^(#{1,6}|={1,6})\s+(.+)$")
_SUBJECT = re.compile(
    r"^\W{0,4}(?:subject|betreff|betr\.|objet|asunto|oggetto|onderwerp|assunto|ämne|emne|temat|тема|主题|主旨|件名|제목"
    r"|re)\W{0,3}\s*[:：]\W{0,3}\s*(\S.{2,200})$",
    re.IGNORECASE,
)
_TITLE_FIELD = re.compile(
    r"^\W{0,3}(?:#\+title|:?title|titel|titre|título|document title)\s*[:=]\s*(\S.{1,200})$", re.I
)
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-Z]\.|§\s*\d+)\s+(?=\S)")
_UNNAMED = re.compile(r"^[\s(\[]*(?:no subject|kein betreff|none|empty)?[\s)\]]*$", re.IGNORECASE)
_CODE = re.compile(r"\":|[{}<>=\\]|;$|\(\)|::|^\s*(?:\d{1,3}[.)]|[a-z][.)])\s")
_SITE = re.compile(r"(?<=\w{3})\W?(?:\s[|»]\s[^|»]{2,40}){1,3}$")
_PAGE_NUMBER = re.compile(r"^\d{1,3}\s+(?=\D)|(?<=\D)\s+\d{1,3}$")
_DATA_TITLE = re.compile(
    r"^ {0,4}\"?title\"?\s*[:=]\s*[\"']?([^\"'\n{}\[\]]{3,150}?)[\"']?,?\s*$|<title>([^<]{3,150})<", re.I | re.M
)
_SALUTATION = re.compile(
    r"^(?:dear|hi|hello|hey|sehr geehrte|liebe[rs]?|hallo|guten tag|bonjour|cher|chère|madame|monsieur|hola|estimad|"
    r"gentile|egregio|caro|cara|geachte|beste|prezad)\b",
    re.IGNORECASE,
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


@dataclass(frozen=True, slots=True)
class Title:
    """One possible title of a document."""

    text: str
    confidence: float
    where: str  # the output, `properties` or `name`
    evidence: str  # the original text there


def find_titles(
    source: SourceText, name: str, mime: str, generator: str = "", topics: Sequence[str] = ()
) -> list[Title]:
    """All possible titles, the likeliest first. `topics` serve as the title of a recording that has none better."""
    stem = without_extension(name)
    candidates = [*_from_properties(source, mime, stem), *_from_text(source, mime), *_from_table(source, mime)]
    if source.spoken and topics:
        spoken_about = ", ".join(topics[:3])
        candidates.append(Title(spoken_about, 0.4, source.where, spoken_about))
    candidates += [_from_name(name, stem, mime), *_from_opening(source, mime)]
    cleaned = [replace(title, text=clean_title(title.text, source.text, source.metadata.site)) for title in candidates]
    usable = [
        title
        for title in cleaned
        if title.confidence > 0
        and title.text
        and (title.confidence >= _EXPLICIT or title.where == _NAME or not is_junk(title.text, generator))
    ]
    keys = [comparison_key(title.text) for title in usable]
    agreed = [_with_agreement(title, key, usable, keys) for title, key in zip(usable, keys, strict=True)]
    return sorted(agreed, key=lambda title: -title.confidence)


def _from_properties(source: SourceText, mime: str, stem: str) -> Iterator[Title]:
    metadata = source.metadata
    title = strip_program_name(metadata.title.strip())
    if not title:
        return
    if mime in _MAIL:
        yield Title(_REPLIES.sub("", title), 0.95 if not _UNNAMED.match(title) else 0.0, metadata.where, metadata.title)
        return
    confidence = {"url-metadata": 0.95, "media-preview": 0.8}.get(metadata.where, 0.92 if mime == "text/html" else 0.85)
    if title != metadata.title.strip():
        confidence -= 0.35  # the name of the file it was printed from
    if is_file_name(title) or same_words(title, stem):
        confidence = 0.38 if not is_machine_made(title) else 0.0
        title = name_to_words(without_extension(title))
    elif title[0].islower():
        confidence -= 0.3
    elif metadata.where == "properties" and source.text and not _occurs_in(title, source.text):
        confidence -= 0.25 if mime not in ("text/html", "application/epub+zip") else 0.1
    if mime == "text/html" or metadata.where == "url-metadata":
        title = _SITE.sub("", title)
    if word_count(title) == 1 and mime != "application/epub+zip" and not IDEOGRAPH.search(title):
        confidence -= 0.2
    yield Title(title, confidence, metadata.where, metadata.title)


def _occurs_in(title: str, text: str) -> bool:
    return comparison_key(title) in text_comparison_key(text[:_BEGINNING])


def text_comparison_key(text: str) -> str:
    """The form of a longer text in which titles are searched."""
    return "".join(filter(str.isalnum, text.casefold()))


def _from_text(source: SourceText, mime: str) -> Iterator[Title]:
    if not source.text or source.spoken:
        return
    if is_data(mime):
        match = _DATA_TITLE.search(source.text[:3_000])
        if match:
            yield Title(match[1] or match[2], 0.5, source.where, match[0].strip())
        return
    lines = _first_lines(source.text)
    headings: list[tuple[int, int, str]] = []
    count = 0
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        underlined = number + 1 < len(lines) and re.fullmatch(r"[=~^*-]{4,200}", lines[number + 1]) is not None
        field = None if line.startswith("|") else _SUBJECT.match(line) or _TITLE_FIELD.match(line)
        if field:
            yield Title(_REPLIES.sub("", _strip_markdown(field[1])), 0.75 - number / 400, source.where, line)
        elif heading or underlined:
            headings.append((number, len(heading[1]) if heading else 1, heading[2] if heading else line))
        elif count < _FIRST_LINES and line and not line.startswith(("```", ">", "!", "|", "- ", "* ", "<", "{", "[")):
            yield from _from_line(line, count, number, lines, source.where, mime)
            count += 1
    sheets = "sheet" in mime or "excel" in mime
    for title in _from_headings(headings, source.where):
        yield replace(title, text=name_to_words(title.text), confidence=title.confidence - 0.25) if sheets else title


def _from_headings(headings: Sequence[tuple[int, int, str]], where: str) -> Iterator[Title]:
    if not headings:
        return
    highest = min(level for _, level, _ in headings)
    for rank, (line_number, level, text) in enumerate(headings[:6]):
        plain = _strip_markdown(text)
        confidence = (0.8 if level == highest else 0.6) - 0.08 * rank - line_number / 300
        if _NUMBERING.match(plain) or plain.endswith((".", ",")) or _NO_TITLE.search(plain):
            confidence -= 0.3
        if not 2 <= word_count(plain) <= 25:
            confidence -= 0.15
        yield Title(plain, confidence, where, text)


def _from_line(line: str, rank: int, number: int, lines: Sequence[str], where: str, mime: str) -> Iterator[Title]:
    plain = _strip_markdown(line)
    following = lines[number + 1] if number + 1 < len(lines) else ""
    if _continues(plain, _strip_markdown(following)):
        plain = f"{plain} {_strip_markdown(following)}"
    words = word_count(plain)
    if (
        not 1 <= words <= 25
        or len(plain) > 160
        or _NO_TITLE.search(plain)
        or is_address_or_list_line(plain)
        or _CODE.search(line)
        or _SALUTATION.match(plain)
    ):
        return
    bold = line.startswith("**") and line.rstrip().endswith("**")
    alone = (number == 0 or not lines[number - 1]) and (number + 1 >= len(lines) or not lines[number + 1])
    confidence = 0.5 + 0.12 * bold + 0.08 * alone - 0.05 * rank - number / 200
    if following[:1].islower() or (following and len(line) > _WRAPPED):
        confidence -= 0.25  # the beginning of a paragraph
    confidence -= 0.15 * bool(_REFERS_BACK.match(plain))
    if mime == "application/pdf" and words > 5:
        plain = _PAGE_NUMBER.sub("", plain)
    confidence -= 0.2 * bool(_BETWEEN.match(plain))
    confidence -= (
        0.2 * bool(_ENDED.search(plain) and not is_company(plain))
        + 0.25 * (words == 1)
        + 0.15 * (words > 16)
        + 0.3 * bool(_ENDED.search(plain) and _SENTENCES.search(plain))
    )
    yield Title(plain, confidence, where, line)


def find_company(source: SourceText) -> str:
    """The first line of the letterhead that names a company; empty if none does."""
    return sender_in([_strip_markdown(line) for line in _first_lines(source.text[:_LETTERHEAD]) if line][:_FIRST_LINES])


def _continues(line: str, following: str) -> bool:
    """Whether a title takes two lines: the first ends with a small word, or both are in capitals."""
    if not following or len(line) + len(following) > 120 or _NO_TITLE.search(following):
        return False
    last = line.rpartition(" ")[2].lower()
    ends_open = " " in line and (last in function_words("en") or last in function_words("de"))
    return ends_open or (line.isupper() and following.isupper())


def _from_table(source: SourceText, mime: str) -> Iterator[Title]:
    table = (
        parse_delimited_table(source.text)
        if mime in ("text/csv", "text/tab-separated-values")
        else parse_markdown_table(source.text)
    )
    if table is None:
        return
    if table.caption:
        yield Title(table.caption, 0.6, source.where, table.caption)
    if len(table.names) > 1:
        listing = f"Table of {', '.join(table.names[:4])}"
        yield Title(listing, 0.31, source.where, listing)


def _from_opening(source: SourceText, mime: str) -> Iterator[Title]:
    """The first sentence, for files that have no other title, not even a file name that a person chose."""
    if is_data(mime) or parse_markdown_table(source.text):
        return
    for block in source.blocks[:5]:
        if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM) and word_count(block.text[:400]) > 2:
            sentence = sentences_of([Segment(0.0, 0.0, block.text[:400])], [block.text[:400]])[0].text
            if not _SALUTATION.match(sentence) and not is_log_line(sentence):
                yield Title(shorten_text(sentence.rstrip("."), _OPENING_LENGTH), 0.31, source.where, sentence)
                return


def _from_name(name: str, stem: str, mime: str) -> Title:
    """The title from a file name that a person chose. Source code always gets its file name as the title."""
    if is_code(mime):
        return Title(name if is_machine_made(stem) or is_junk(stem) else name_to_words(stem), _FROM_NAME, _NAME, name)
    if is_machine_made(stem if mime == "text/html" else name):
        return Title("", 0.0, _NAME, name)
    plain = name_to_words(strip_markup(stem))
    return Title(plain, MIN_CONFIDENCE if is_junk(plain) else _FROM_NAME, _NAME, name)


def _with_agreement(title: Title, key: str, others: Sequence[Title], keys: Sequence[str]) -> Title:
    """The title, with a higher confidence if another place gives the same one."""
    for other, other_key in zip(others, keys, strict=True):
        if title.where == _NAME and key == other_key:
            continue  # the text spells it better
        if other.where != title.where and min(len(key), len(other_key)) > 7 and (key in other_key or other_key in key):
            return replace(title, confidence=min(0.98, title.confidence + 0.1))
    return title


def _first_lines(text: str) -> list[str]:
    """The first non-empty lines, with one empty line for each gap between them."""
    lines: list[str] = []
    for raw in text[:_BEGINNING].split("\n"):
        line = raw.strip()[:600]
        if line or (lines and lines[-1]):
            lines.append(line)
        if len(lines) >= _MAX_LINES:
            break
    return lines


@functools.lru_cache(_MAX_LINES)
def _strip_markdown(line: str) -> str:
    blocks = blocks_of(line)
    return blocks[0].text if blocks else ""
