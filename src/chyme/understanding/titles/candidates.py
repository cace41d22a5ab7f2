"""The title a document has: given in its properties, standing above its text, or at least told by its name."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.model import Segment
from chyme.speech.transcripts.summary import shorten_text
from chyme.text.function_words import function_words
from chyme.text.markdown_blocks import BlockType, blocks_of
from chyme.text.sentences import sentences_of, word_count
from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.understanding.classification.data_descriptions import (
    is_code,
    is_data,
    parse_delimited_table,
    parse_markdown_table,
)
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import clean_title, name_to_words, strip_markup
from chyme.understanding.titles.letterheads import is_address_or_list_line, is_company, is_log_line, sender_in
from chyme.understanding.titles.placeholders import (
    comparison_key,
    is_file_name,
    is_junk,
    same_words,
    strip_program_name,
)

MIN_CONFIDENCE = 0.3  # below, a title is not worth showing
_MAIL = ("message/rfc822", "application/vnd.ms-outlook")
_NAMED = 0.35  # what the file is called, where a person called it so
_GIVEN = 0.95  # what somebody wrote where a title belongs, and be it "test"
_LETTERHEAD = 1_500  # characters of it
_NAME = "name"
_LINES = 80  # in which a title stands
_OPENING = 90  # characters of the first sentence, where it has to do as a title
_WRAPPED = 60  # characters of a line that ends where the page does
_FIRST = 12  # lines that may be a title without being marked as one
_BEGINNING = 20_000  # characters in which a title from the properties is expected to stand, too
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
_LEANS = re.compile(r"^(?:they|it|this|these|those|he|she|and|but|er|sie|es|und|aber|il|elle|et|mais)\b", re.I)
_BETWEEN = re.compile(r"(?:between|zwischen|entre|tra|fra|tussen)\s")  # the parties of a contract, below its name
_ENDED = re.compile(r"[.!?。！？;,:：]$")
_SENTENCES = re.compile(r"[.!?]\s+[A-ZÄÖÜ]")


@dataclass(frozen=True, slots=True)
class Title:
    """One title a document may have."""

    text: str
    confidence: float
    where: str  # the output, `properties` or `name`
    evidence: str  # as it stood there


def find_titles(
    found: SourceText, name: str, mime: str, generator: str = "", topics: Sequence[str] = ()
) -> list[Title]:
    """Everything that may be the title, the likeliest first. `topics` name a recording that has nothing better."""
    stem = without_extension(name)
    all_of_them = [*_from_properties(found, mime, stem, generator), *_from_text(found, mime), *_from_table(found, mime)]
    if found.spoken and topics:
        all_of_them.append(_made(", ".join(topics[:3]), 0.4, found.where))
    all_of_them += [_from_name(name, stem, mime), *_from_opening(found, mime)]
    told = [replace(one, text=clean_title(one.text, found.text, found.said.site)) for one in all_of_them]
    kept = [
        one
        for one in told
        if one.confidence > 0
        and one.text
        and (one.confidence >= _GIVEN or one.where == _NAME or not is_junk(one.text, generator))
    ]
    spellings = [comparison_key(one.text) for one in kept]
    agreed = [_agreed(one, ours, kept, spellings) for one, ours in zip(kept, spellings, strict=True)]
    return sorted(agreed, key=lambda one: -one.confidence)


def _from_properties(found: SourceText, mime: str, stem: str, generator: str) -> Iterator[Title]:
    said = found.said
    title = strip_program_name(said.title.strip())
    if not title:
        return
    if mime in _MAIL:
        yield Title(_REPLIES.sub("", title), 0.95 if not _UNNAMED.match(title) else 0.0, said.where, said.title)
        return
    confidence = {"url-metadata": 0.95, "media-preview": 0.8}.get(said.where, 0.92 if mime == "text/html" else 0.85)
    if title != said.title.strip():
        confidence -= 0.35  # the name of the file it was printed from
    if is_file_name(title) or same_words(title, stem):
        confidence = 0.38 if not is_machine_made(title) else 0.0
        title = name_to_words(without_extension(title))
    elif title[0].islower():
        confidence -= 0.3
    elif said.where == "properties" and found.text and not _stands_in(title, found.text):
        confidence -= 0.25 if mime not in ("text/html", "application/epub+zip") else 0.1
    if mime == "text/html" or said.where == "url-metadata":
        title = _SITE.sub("", title)
    if word_count(title) == 1 and mime != "application/epub+zip" and not IDEOGRAPH.search(title):
        confidence -= 0.2
    yield Title(title, confidence, said.where, said.title)


def _stands_in(title: str, text: str) -> bool:
    beginning = text_comparison_key(text[:_BEGINNING])
    return comparison_key(title) in beginning


def text_comparison_key(text: str) -> str:
    """A longer text in the spelling titles are compared by."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _from_text(found: SourceText, mime: str) -> Iterator[Title]:
    if not found.text or found.spoken:
        return
    if is_data(mime):
        told_in = _DATA_TITLE.search(found.text[:3_000])
        if told_in:
            yield Title(told_in[1] or told_in[2], 0.5, found.where, told_in[0].strip())
        return
    lines = _lines(found.text)
    headings: list[tuple[int, int, str]] = []
    taken = 0
    for at, line in enumerate(lines):
        heading = _HEADING.match(line)
        underlined = at + 1 < len(lines) and re.fullmatch(r"[=~^*-]{4,200}", lines[at + 1]) is not None
        told = None if line.startswith("|") else _SUBJECT.match(line) or _TITLE_FIELD.match(line)
        if told:
            yield Title(_REPLIES.sub("", _plain(told[1])), 0.75 - at / 400, found.where, line)
        elif heading or underlined:
            headings.append((at, len(heading[1]) if heading else 1, heading[2] if heading else line))
        elif taken < _FIRST and line and not line.startswith(("```", ">", "!", "|", "- ", "* ", "<", "{", "[")):
            yield from _line(line, taken, at, lines, found.where, mime)
            taken += 1
    sheets = "sheet" in mime or "excel" in mime
    for one in _from_headings(headings, found.where):
        yield replace(one, text=name_to_words(one.text), confidence=one.confidence - 0.25) if sheets else one


def _from_headings(headings: Sequence[tuple[int, int, str]], where: str) -> Iterator[Title]:
    if not headings:
        return
    highest = min(level for _, level, _ in headings)
    for number, (at, level, text) in enumerate(headings[:6]):
        plain = _plain(text)
        confidence = (0.8 if level == highest else 0.6) - 0.08 * number - at / 300
        if _NUMBERING.match(plain) or plain.endswith((".", ",")) or _NO_TITLE.search(plain):
            confidence -= 0.3
        if not 2 <= word_count(plain) <= 25:
            confidence -= 0.15
        yield Title(plain, confidence, where, text)


def _line(line: str, taken: int, at: int, lines: Sequence[str], where: str, mime: str) -> Iterator[Title]:
    plain = _plain(line)
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if _goes_on(plain, _plain(following)):
        plain = f"{plain} {_plain(following)}"
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
    alone = (at == 0 or not lines[at - 1]) and (at + 1 >= len(lines) or not lines[at + 1])
    confidence = 0.5 + 0.12 * bold + 0.08 * alone - 0.05 * taken - at / 200
    if following[:1].islower() or (following and len(line) > _WRAPPED):
        confidence -= 0.25  # the beginning of a paragraph
    confidence -= 0.15 * bool(_LEANS.match(plain))
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


def find_company(found: SourceText) -> str:
    """The first line that names a company, of those in which a letterhead stands; empty when none does."""
    return sender_in([_plain(line) for line in _lines(found.text[:_LETTERHEAD]) if line][:_FIRST])


def _goes_on(line: str, following: str) -> bool:
    """Whether a title takes two lines: the first ends with a small word, or both are in capitals."""
    if not following or len(line) + len(following) > 120 or _NO_TITLE.search(following):
        return False
    last = line.rpartition(" ")[2].lower()
    hanging = " " in line and last in function_words("en") | function_words("de")
    return hanging or (line.isupper() and following.isupper())


def _from_table(found: SourceText, mime: str) -> Iterator[Title]:
    table = (
        parse_delimited_table(found.text)
        if mime in ("text/csv", "text/tab-separated-values")
        else parse_markdown_table(found.text)
    )
    if table is None:
        return
    if table.caption:
        yield Title(table.caption, 0.6, found.where, table.caption)
    if len(table.names) > 1:
        yield _made(f"Table of {', '.join(table.names[:4])}", 0.31, found.where)


def _from_opening(found: SourceText, mime: str) -> Iterator[Title]:
    """How the text begins, for files that have nothing else, not even a name that a person gave."""
    if is_data(mime) or parse_markdown_table(found.text):
        return
    for block in found.blocks[:5]:
        if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM) and word_count(block.text[:400]) > 2:
            sentence = sentences_of([Segment(0.0, 0.0, block.text[:400])], [block.text[:400]])[0].text
            if not _SALUTATION.match(sentence) and not is_log_line(sentence):
                yield Title(shorten_text(sentence.rstrip("."), _OPENING), 0.31, found.where, sentence)
                return


def _from_name(name: str, stem: str, mime: str) -> Title:
    """A person's name for it is better than none, and source code is called by its name whatever that is."""
    if is_code(mime):
        return Title(name if is_machine_made(stem) or is_junk(stem) else name_to_words(stem), _NAMED, _NAME, name)
    if is_machine_made(stem if mime == "text/html" else name):
        return Title("", 0.0, _NAME, name)
    plain = name_to_words(strip_markup(stem))
    return Title(plain, MIN_CONFIDENCE if is_junk(plain) else _NAMED, _NAME, name)


def _made(text: str, confidence: float, where: str) -> Title:
    return Title(text, confidence, where, text)


def _agreed(one: Title, ours: str, others: Sequence[Title], spellings: Sequence[str]) -> Title:
    """Surer when another place tells the same."""
    for other, theirs in zip(others, spellings, strict=True):
        if one.where == _NAME and ours == theirs:
            continue  # the text spells it better
        if other.where != one.where and min(len(ours), len(theirs)) > 7 and (ours in theirs or theirs in ours):
            return replace(one, confidence=min(0.98, one.confidence + 0.1))
    return one


def _lines(text: str) -> list[str]:
    """The first lines that hold something, and one empty line where there are any between them."""
    found: list[str] = []
    for raw in text[:_BEGINNING].split("\n"):
        line = raw.strip()[:600]
        if line or (found and found[-1]):
            found.append(line)
        if len(found) >= _LINES:
            break
    return found


@functools.lru_cache(_LINES)
def _plain(line: str) -> str:
    blocks = blocks_of(line)
    return blocks[0].text if blocks else ""
