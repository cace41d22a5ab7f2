"""Compose one plain sentence from what is known of a document: its kind, sender, date, subject and parts."""

from __future__ import annotations

import re
from functools import cache

from chyme.text.language_codes import name_of
from chyme.text.markdown_blocks import BlockType
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import word_count
from chyme.text.word_lists import WordList
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.candidates import name_section
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.phrases import PhraseList, plain_words
from chyme.understanding.summaries.quotations import (
    QUOTE_LENGTH,
    field_labels,
    has_residue,
    line_labels,
    quote_lines,
    quote_sentences,
    without_running_heads,
)
from chyme.understanding.summaries.refusals import has_refused_phrase, is_filler
from chyme.understanding.summaries.tables import describe_number_tables
from chyme.understanding.summaries.wording import (
    end_sentence,
    join_names,
    name_author,
    name_day,
    name_kind,
    name_sender,
    name_subject,
    name_title,
    quote_name,
    with_article,
)
from chyme.understanding.titles.cleanup import is_junk, is_log_line, same_words

_MAX_BLOCKS = 1_500
_MAX_NAMED, _NAME_LENGTH = 5, 60  # headings that are named, and their characters
_SAID_BLOCKS, _MANY_WORDS = 30, 20  # blocks of the first words of a document, and words that are worth counting
_RULE = re.compile(r"[-_=*\s]+")
_LETTER = re.compile(r"[^\W\d_]")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_BLANK = re.compile(r"_{3,}|\.{6,}|[☐□\uf06f\uf071\uf072\uf0a8\uf0fe]|\[ \]")  # boxes, also of symbol fonts
_LABEL = re.compile(
    r"([^\W\d_][^:_|\n.☐□\[\]]{2,40}?)\s{0,9}:?\s{0,9}(?:\\?_){3,}|^[*\s|-]{0,9}([^\W\d_][^:_|\n.]{2,40}):[*\s|_\\]{0,99}$",
    re.MULTILINE,
)
_ASKED = re.compile(r"[^?]{4,200}\?(?=$|\s?\()")
_CHECK_MARK = re.compile(r"^(?:\[[ xX]?\]|[☐☑☒□■])\s*")
_MIN_BLANKS = 5
_MAX_LOG = 5_000_000  # characters in which lines of a log are counted
_LOG_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d\d/[A-Z][a-z]{2}/\d{4}|[A-Z][a-z]{2} {1,2}\d{1,2}\b")
_FIELD = re.compile(r"^\W{0,3}([A-ZÄÖÜ][^\W\d_]+(?:[ /-][^\W\d_]+){0,2}):\W{0,3} \S", re.MULTILINE)
_FIELDS_HEAD, _MIN_FIELDS, _FIELDS_SHARE, _PROSE_LENGTH = 2_500, 3, 0.2, 120
_MINUTES = re.compile(r"minutes|protokoll|compte rendu|procès-verbal|\bacta\b|verbale|notulen|\bata\b", re.IGNORECASE)
_MINUTES_HEAD = 20_000  # characters in which the points of an agenda are looked for
_ITEM_LINE = re.compile(
    r"^\W{0,3}(?:TOP|Item|Punkt|Point|Punto)\s*\d{1,2}\s*[.:)–-]?\s+(\S[^\n.]{2,60})$", re.MULTILINE
)
_PLACEHOLDER = "Placeholder text (lorem ipsum)."
_QUANTITY = re.compile(r"[\d½¼¾⅓]")
_PARTS = WordList(__package__, "parts")
_NUMBERING = re.compile(r"^(?:(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5})[.)]?|[A-Z][.)]|§\s*\d+|[◦•▪–—*-])\s+(?=\S)")


def describe_minutes(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`Minutes of the Allotment Committee of 12 May 2024: Water supply; Rent.`"""
    title = facts.title if facts.is_named else ""
    if "minutes" not in facts.kinds or not (title or facts.day):
        return None
    named = title if title and _MINUTES.search(title) else f"Minutes called {quote_name(title)}" if title else "Minutes"
    day = "" if re.search(r"\b\d{4}\b", title or "") else name_day(facts.day)
    found = part_names(source, facts) or _ITEM_LINE.findall(source.text[:_MINUTES_HEAD])
    subjects = [name.strip() for name in found if not _formalities().groups_in(plain_words(name))]
    parts = f": {join_names(subjects, '; ')}" if subjects else ""
    return Composed(end_sentence(f"{named}{day}{parts}"), 0.6 if subjects else 0.4)


def describe_recipe(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A recipe for “Rhubarb crumble” with 600 g rhubarb, 150 g flour, 100 g butter.`"""
    if "recipe" not in facts.kinds or not facts.title or not facts.is_named:
        return None
    items = [
        block.text for block in source.blocks[:200] if block.sort is BlockType.ITEM and _QUANTITY.match(block.text)
    ]
    parts = f" with {join_names([item.rstrip('.,') for item in items])}" if len(items) > 1 else ""
    return Composed(f"A recipe for {quote_name(facts.title)}{parts}.", 0.5)


def describe_fields(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A text called “Account statement” with Account number, Statement period, Account holder.`"""
    labels = list(dict.fromkeys(_FIELD.findall(source.text[:_FIELDS_HEAD])))
    prose = sum(len(block.text) for block in source.blocks[:60] if len(block.text) > _PROSE_LENGTH)
    lines = sum(map(bool, map(str.strip, source.text[:_FIELDS_HEAD].split("\n"))))
    if len(labels) < max(_MIN_FIELDS, _FIELDS_SHARE * lines) or prose > _PROSE_LENGTH * 4:
        return None
    known = f"{name_kind(facts)}{name_sender(facts.sender)}{name_day(facts.day)}{name_title(facts)}"
    return Composed(f"{known} with {join_names(labels)}.", 0.5)


def _describe_list(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A document of 6 June 2023 called “Council meeting”: Playground fence; Summer fair.`"""
    items = [
        _CHECK_MARK.sub("", block.text.rstrip(".;,")) for block in source.blocks[:100] if block.sort is BlockType.ITEM
    ]
    prose = sum(len(block.text) for block in source.blocks[:100] if block.sort is BlockType.PARAGRAPH)
    short = [item for item in items if len(item) <= _NAME_LENGTH and not _formalities().groups_in(plain_words(item))]
    is_readable = all(len(_LETTER.findall(item)) > 0.6 * len(item) for item in short[:_MAX_NAMED])
    if (
        len(items) < _MIN_FIELDS
        or len(short) < 2
        or not is_readable
        or prose > max(_PROSE_LENGTH * 2, sum(map(len, items)))
    ):
        return None
    if not (facts.day or name_title(facts)):
        return None
    known = f"{name_kind(facts)}{name_sender(facts.sender)}{name_day(facts.day)}{name_title(facts)}"
    return Composed(end_sentence(f"{known}: {join_names(short, '; ')}"), 0.5)


def describe_questions(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A questionnaire called “Visitor survey” with 4 questions: How did you hear of us?; How often do you come?`"""
    if len(_BLANK.findall(source.text[:_MINUTES_HEAD])) < _MIN_FIELDS:
        return None
    asked = [asked[0] for block in source.blocks[:200] if (asked := _ASKED.match(block.text))]
    if len(asked) < _MIN_FIELDS:
        return None
    known = f"A questionnaire{name_title(facts)} with {len(asked)} questions"
    return Composed(end_sentence(f"{known}: {'; '.join(asked[:2])}"), 0.5)


def describe_log(source: SourceText) -> Composed | None:
    """`A log of 1,200 lines from 2024-03-01 to 2024-03-08.`"""
    lines = source.whole[:_MAX_LOG].strip().split("\n")
    if len(lines) < 5 or not all(map(is_log_line, [*lines[:5], lines[-1]][:6])):
        return None
    first, last = (_LOG_DAY.search(line) for line in (lines[0], lines[-1]))
    days = f" from {first[0]} to {last[0]}" if first and last and first[0] != last[0] else ""
    on = f" of {first[0]}" if first and not days else ""
    return Composed(f"A log of {len(lines):,} lines{days}{on}.", 0.6)


def describe_form(text: str, facts: DocumentFacts) -> Composed | None:
    """`A form with the fields Name, Date of birth, Address.`"""
    if len(_BLANK.findall(text[:20_000])) < _MIN_BLANKS:
        return None
    found = [" ".join((inline or alone).split()).strip("* \\") for inline, alone in _LABEL.findall(text[:20_000])]
    labels = [label for label in dict.fromkeys(found) if 2 < len(label) <= 40 and not is_junk(label)]
    if len(labels) < 3:
        return None
    kind = facts.kind if facts.kind not in ("", "letter", "invoice") else "form"
    return Composed(f"{with_article(kind)}{name_title(facts)} to be filled in: {join_names(labels)}.", 0.5)


def describe_outline(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """The kind of the document with sender, date and subject, and the headings of its parts or its first words."""
    form = name_kind(facts)
    texts = [block.text for block in source.blocks[:20] if block.sort is not BlockType.MENU]
    if texts and is_filler(" ".join(texts)[:2_000]):
        title = "" if is_filler(facts.title or "") else name_title(facts)
        return Composed(f"{form}{title} of placeholder text (lorem ipsum)." if title else _PLACEHOLDER, 0.5)
    names = part_names(source, facts)
    is_book = facts.kind == "book"  # which has an author, and other dates than its own
    known = name_author(facts.author) if is_book else f"{name_sender(facts.sender)}{name_day(facts.day)}"
    if facts.kind and (known or name_subject(facts, facts.kind) or len(names) > 1):
        parts = f": {join_names(names, '; ')}" if len(names) > 1 else ""
        return Composed(end_sentence(f"{form}{known}{name_subject(facts, facts.kind)}{parts}"), 0.5)
    if len(names) > 1:
        subject = name_subject(facts, facts.kind)
        joint = f"{subject}:" if subject else " about"
        return Composed(end_sentence(f"{form}{known}{joint} {join_names(names, '; ')}"), 0.3)
    if source.spoken and facts.topics:
        return Composed(f"A recording about {', '.join(facts.topics[:3])}.", 0.4)
    listed = _describe_list(source, facts)
    if listed:
        return listed
    words = [
        text
        for text in without_running_heads(texts, facts.title or "")
        if _LETTER.search(text) and not has_refused_phrase(text)
    ]
    line = " · ".join(dict.fromkeys(words))
    is_whole = len(line) <= QUOTE_LENGTH and len(texts) == len(source.blocks) and not has_residue(line)
    if is_whole and len(line) > 20 and len(_LETTER.findall(line)) > 0.5 * len(line.replace(" ", "")):
        return Composed(f"{form}{known}{name_title(facts)} that {_says(form)} “{line}”.", 0.3)
    return _describe_beginning(source, facts)


def _describe_beginning(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A text called “Tides” that says “The sea rises twice a day.”`, or the labels of its lines, if it is a form."""
    form = f"{name_kind(facts)}{name_sender(facts.sender)}{name_day(facts.day)}"
    title = facts.title or ""
    first = [
        block
        for block in source.blocks[:_SAID_BLOCKS]
        if block.sort is not BlockType.MENU and _LETTER.search(block.text)
    ]
    prose = [block.text for block in first if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM)]
    fields = field_labels(first, title)
    said = "" if fields else quote_sentences(without_running_heads(prose, title), title, facts.language)
    if said:
        return Composed(f"{form}{'' if title in said else name_title(facts)} that {_says(form)} “{said}”", 0.3)
    lines = "" if fields else quote_lines(source.text)
    if lines:
        begins = "begins" if _says(form) == "says" else "begin"
        return Composed(f"{form}{'' if title in lines else name_title(facts)} that {begins} “{lines}”.", 0.3)
    labels = fields or line_labels(first, title)
    return Composed(f"{form}{name_title(facts)} with {join_names(labels)}.", 0.3) if labels else None


def _describe_length(source: SourceText, facts: DocumentFacts) -> Composed:
    """`A text in Korean called “Tides”, about 400 words.` What is sure of a text that cannot be quoted."""
    if facts.form and name_title(facts):
        return Composed(f"{facts.form} about {quote_name(facts.title or '')}.", 0.3)
    words = sum(word_count(block.text) for block in source.blocks)
    length = f"about {round(words, 1 - len(str(words))):,} words" if words >= _MANY_WORDS else "a few words"
    language = name_of(facts.language or "")
    language = "" if language == facts.language else language
    known = f"{name_kind(facts)}{f' in {language}' if language else ''}{name_sender(facts.sender)}{name_day(facts.day)}"
    named = name_title(facts)
    return Composed(f"{known}{named}, {length}." if named else f"{known} of {length}.", 0.2)


def describe_remainder(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A document that says only “Hidden text”.` What can be quoted of a text that says no more than its title."""
    form, known = name_kind(facts), f"{name_sender(facts.sender)}{name_day(facts.day)}"
    blocks = [block.text for block in source.blocks if block.sort is not BlockType.MENU]
    blocks = blocks or [block.text for block in source.blocks]
    quoted = [text for text in blocks[:_SAID_BLOCKS] if not has_refused_phrase(text)] or blocks[:_SAID_BLOCKS]
    line = " · ".join(dict.fromkeys(quoted)) or " ".join(_PICTURE.sub("", source.text[:1_000]).split())
    if not any(map(str.isalnum, line)) and (not line or _RULE.fullmatch(line)):
        pictures = len(_PICTURE.findall(source.text))
        named = "a picture" if pictures == 1 else "pictures"
        if not pictures:
            return Composed(describe_empty(facts.mime), 0.2) if line else None
        return Composed(f"{form}{known} with {named} and no text.", 0.2)
    if not _LETTER.search(line) and any(map(str.isdecimal, line)):
        return Composed(f"{form}{known} of numbers and signs.", 0.2)
    tables = describe_number_tables(source.whole[:_MINUTES_HEAD], facts)
    if tables:
        return tables
    if len(line) > QUOTE_LENGTH or has_residue(line):
        return _describe_beginning(source, facts) or _describe_length(source, facts)
    is_all = len(quoted) == len(source.blocks) and not facts.form
    title = "" if is_all or (facts.title or "") in line else name_title(facts)
    return Composed(f"{form}{known}{title} that {_says(form)} {'only ' if is_all else ''}“{line}”.", 0.2)


def _says(form: str) -> str:
    return "says" if form.startswith(("A ", "An ")) else "say"


def describe_empty(mime: str, pages: int = 0, pictures: int = 0, files: int = 0) -> str:
    """`A document of 2 pages without text.`, `A presentation with 3 pictures and no text.`"""
    held = [
        f"{count} {name}{'s' if count > 1 else ''}"
        for count, name in ((pictures, "picture"), (files, "embedded file"))
        if count
    ]
    form = name_kind(DocumentFacts(mime=mime))
    if held:
        return f"{form} with {' and '.join(held)}, and no text."
    length = f" of {pages} page{'s' if pages > 1 else ''}" if pages else ""
    return f"{form}{length} without text."


def part_names(source: SourceText, facts: DocumentFacts) -> list[str]:
    """The headings of a document's parts that say what they are about."""
    found = [
        shorten_text(_NUMBERING.sub("", block.text.rstrip(".:")), _NAME_LENGTH)
        for block in source.blocks[:_MAX_BLOCKS]
        if block.sort is BlockType.HEADING
        and not same_words(block.text, facts.title or "")
        and not is_junk(block.text)
        and not has_refused_phrase(block.text)
        and name_section(block.text) != "skipped"
        and block.text.casefold().strip(" !?.") not in _PARTS.phrases("no part")
    ]
    return list(dict.fromkeys(found))


@cache
def _formalities() -> PhraseList:
    return PhraseList({"formalities": _PARTS.phrases("formalities")})
