"""Compose one plain sentence from what is known of a document: its kind, sender, date, subject and parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.text.markdown_blocks import BlockType
from chyme.text.markdown_lines import shorten_text
from chyme.understanding.classification.data_descriptions import Table, describe_rows, parse_markdown_table
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.mails import MAILBOX, MAILS, read_header, subjects_of
from chyme.understanding.summaries.refusals import has_refused_phrase, is_filler
from chyme.understanding.titles.cleanup import is_junk, same_words

_MAX_BLOCKS = 1_500
_MAX_NAMED, _NAME_LENGTH = 5, 60  # headings, sheets, fields that are named, and their characters
_SAID_LENGTH = 160
_LETTER = re.compile(r"[^\W\d_]")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_PHRASES = {"minutes": "Minutes", "cv": "A CV", "faq": "An FAQ", "e-mail": "An e-mail"}
_NO_KINDS = frozenset({"table", "source code", "calendar", "contact", "recording", "spreadsheet", "screenshot", "scan"})
_STRUCTURED = frozenset({"invoice", "receipt", "minutes", "recipe", "cv", "form", "contract", "presentation", "order", "book"})
_NO_SUBJECT = frozenset({"invoice", "receipt", "cv"})  # their titles are names and numbers
_JOINED_LENGTH = 330
_TEXTS = {"text/": "A text", "image": "A picture"}
_SHEET = re.compile(r"^## +(\S[^\n]{0,100})$", re.MULTILINE)
_UNNAMED_SHEET = re.compile(r"^(?:sheet|tabelle|feuil|hoja|foglio|blad|planilha|лист|シート|工作表)\s?\d*$", re.IGNORECASE)
_CUE = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3} -->")
_BLANK = re.compile(r"_{3,}|\.{6,}|[☐□]|\[ \]")
_LABEL = re.compile(r"([^\W\d_][^:_|\n.☐□\[\]]{2,40}?)\s*:?\s*(?:\\?_){3,}|^[*\s|-]*([^\W\d_][^:_|\n.]{2,40}):[*\s|_\\]*$", re.MULTILINE)
_MIN_BLANKS = 5
_FIELD = re.compile(r"^\W{0,3}([A-ZÄÖÜ][^\W\d_]+(?:[ /-][^\W\d_]+){0,2}):\W{0,3} \S", re.MULTILINE)
_FIELDS_HEAD, _MIN_FIELDS, _PROSE_LENGTH = 2_500, 3, 120
_MINUTES = re.compile(r"minutes|protokoll|compte rendu|procès-verbal|\bacta\b|verbale|notulen|\bata\b", re.IGNORECASE)
_FORMALITY = re.compile(
    r"last meeting|previous (?:meeting|minutes)|any other business|\baob\b|apolog|attend|present|call(?:ed)? to order|adjourn"
    r"|next meeting|welcome|approval of|minutes|agenda|begrüßung|anwesen|verschiedenes|sonstiges|nächste sitzung|tagesordnung",
    re.IGNORECASE,
)
_QUANTITY = re.compile(r"[\d½¼¾⅓]")
_NO_PART = frozenset("questions|questions?|any questions?|thank you|thanks|agenda|outline|q&a|fragen|fragen?|vielen dank|merci".split("|"))
_ABOUT = frozenset({"letter", "presentation", "paper", "article", "press release", "newsletter", "e-mail", "notes"})
_NUMBERING = re.compile(r"^(?:(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5})[.)]?|[A-Z][.)]|§\s*\d+|[◦•▪–—*-])\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What is known of a document besides its text; empty where it is not known."""

    title: str | None = None
    mime: str = ""
    language: str | None = None
    kinds: Sequence[str] = ()  # tags for the kind of document, the surest first
    sender: str = ""
    author: str = ""
    day: str = ""  # ISO 8601
    is_named: bool = True  # the title is the document's own, not the file's name
    topics: Sequence[str] = ()

    @property
    def kind(self) -> str:
        return next((kind for kind in self.kinds if kind not in _NO_KINDS), "")

    @property
    def is_structured(self) -> bool:
        """Whether documents of this kind are made of fields, lists and clauses rather than of prose."""
        return self.kind in _STRUCTURED


@dataclass(frozen=True, slots=True)
class Composed:
    """A composed sentence and how much it says, from 0 to 1."""

    text: str
    confidence: float


def describe_bill(facts: DocumentFacts) -> Composed | None:
    """`An invoice from Blue Harbour Ltd of 3 April 2026.` Bills are mostly tables and have no good sentence."""
    kind = next((kind for kind in facts.kinds if kind in ("invoice", "receipt")), "")
    if not kind or not (facts.sender or facts.day):
        return None
    return Composed(f"{with_article(kind)}{_from(facts.sender)}{_of(facts.day)}.", 0.6)


def describe_sheets(markdown: str, facts: DocumentFacts) -> Composed | None:
    """`A spreadsheet of 2 sheets: Budget, Staff; the largest has 120 rows of Month, Amount.`"""
    parts = _SHEET.split(markdown)
    names = parts[1::2]
    tables = [(name, table) for name, part in zip(names, parts[2::2], strict=True) if (table := _table_of(part))]
    if len(names) > 1:
        usable = [name for name in names if not _UNNAMED_SHEET.match(name)]
        listing = f": {_join_names(usable)}" if usable else ""
        largest = max((table for _, table in tables), key=lambda table: table.rows, default=None)
        size = f"; the largest has {describe_rows(largest)}" if largest else ""
        return Composed(f"A spreadsheet of {len(names)} sheets{listing}{size}.", 0.7)
    table = tables[0][1] if tables else _table_of(markdown)
    if table is None:
        return None
    name = table.caption or (names[0] if names and not _UNNAMED_SHEET.match(names[0]) else "")
    called = f" “{shorten_text(name, _NAME_LENGTH)}”" if name else ""
    return Composed(f"A spreadsheet{called} with {describe_rows(table)}.", 0.7)


def describe_mail(whole: str, mime: str, sentence: str = "") -> Composed | None:
    """`An e-mail from Ada Winter to Jürgen Brandt about “Window repair”: The glazier comes on Monday.`"""
    if mime == MAILBOX:
        subjects = subjects_of(whole)
        names = tuple(dict.fromkeys(subjects))
        count = f"{len(subjects)} e-mail{'s' if len(subjects) > 1 else ''}"
        return Composed(f"A mailbox of {count}: {_join_names(names, '; ')}.", 0.6) if names else None
    header = read_header(whole)
    if mime not in MAILS or not (header.sender or header.subject):
        return None
    to = _name_recipients([person for person in header.recipients if person != header.sender])
    about = f" about {_quote(header.subject)}" if _LETTER.search(header.subject) else ""
    text = f"An e-mail{_from(header.sender)}{to}{about}"
    joined = f"{text}: {sentence}"
    if sentence and len(joined) <= _JOINED_LENGTH:
        return Composed(joined, 0.6)
    return Composed(f"{text}{_name_files(header.attachments)}.", 0.5)


def _name_recipients(people: Sequence[str]) -> str:
    if not people:
        return ""
    return f" to {' and '.join(people)}" if len(people) < 3 else f" to {people[0]} and {len(people) - 1} others"


def _name_files(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f", with the attachment {names[0]}" if len(names) == 1 else f", with {len(names)} attachments"


def describe_subtitles(whole: str, facts: DocumentFacts, sentence: str = "") -> Composed | None:
    """`Subtitles of 14 minutes about apple trees: Today we prune an old apple tree.`"""
    last = None
    for last in _CUE.finditer(whole, max(0, len(whole) - 5_000)):
        pass
    if last is None:
        return None
    seconds = int(last[1] or 0) * 3600 + int(last[2]) * 60 + int(last[3])
    length = f"{round(seconds / 60)} minutes" if seconds >= 90 else f"{max(seconds, 1)} seconds"
    about = f" about {', '.join(facts.topics[:3])}" if facts.topics else ""
    said = f": {sentence}" if sentence else "."
    return Composed(f"Subtitles of {length}{about}{said}", 0.5 if about or sentence else 0.3)


def describe_minutes(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`Minutes of the Allotment Committee of 12 May 2024: Water supply; Rent.`"""
    title = facts.title if facts.is_named else ""
    if "minutes" not in facts.kinds or not (title or facts.day):
        return None
    named = title if title and _MINUTES.search(title) else f"Minutes called {_quote(title)}" if title else "Minutes"
    day = "" if re.search(r"\b\d{4}\b", title or "") else _of(facts.day)
    subjects = [name for name in _headings(source, facts) if not _FORMALITY.search(name)]
    parts = f": {_join_names(subjects, '; ')}" if subjects else ""
    return Composed(_end(f"{named}{day}{parts}"), 0.6 if subjects else 0.4)


def describe_recipe(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A recipe for “Rhubarb crumble” with 600 g rhubarb, 150 g flour, 100 g butter.`"""
    if "recipe" not in facts.kinds or not facts.title or not facts.is_named:
        return None
    items = [block.text for block in source.blocks[:200] if block.sort is BlockType.ITEM and _QUANTITY.match(block.text)]
    parts = f" with {_join_names([item.rstrip('.,') for item in items])}" if len(items) > 1 else ""
    return Composed(f"A recipe for {_quote(facts.title)}{parts}.", 0.5)


def describe_fields(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A text called “Account statement” with Account number, Statement period, Account holder.`"""
    labels = list(dict.fromkeys(_FIELD.findall(source.text[:_FIELDS_HEAD])))
    prose = sum(len(block.text) for block in source.blocks[:60] if len(block.text) > _PROSE_LENGTH)
    if len(labels) < _MIN_FIELDS or prose > _PROSE_LENGTH * 4:
        return None
    called = f" called {_quote(facts.title)}" if facts.title and facts.is_named else ""
    sender = facts.sender or ""
    return Composed(f"{_describe_form(facts)}{_from(sender)}{_of(facts.day)}{called} with {_join_names(labels)}.", 0.5)


def describe_form(text: str, facts: DocumentFacts) -> Composed | None:
    """`A form with the fields Name, Date of birth, Address.`"""
    if len(_BLANK.findall(text[:20_000])) < _MIN_BLANKS:
        return None
    found = [" ".join((inline or alone).split()).strip("* \\") for inline, alone in _LABEL.findall(text[:20_000])]
    labels = [label for label in dict.fromkeys(found) if 2 < len(label) <= 40 and not is_junk(label)]
    if len(labels) < 3:
        return None
    kind = facts.kind if facts.kind not in ("", "letter", "invoice") else "form"
    called = f" called {_quote(facts.title)}" if facts.title and facts.is_named else ""
    return Composed(f"{with_article(kind)}{called} to be filled in: {_join_names(labels)}.", 0.5)


def describe_outline(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """The kind of the document with sender, date and subject, and the headings of its parts or its first words."""
    names = _headings(source, facts)
    form = _describe_form(facts)
    known = f"{_from(facts.sender or (facts.author if facts.kind == 'book' else ''), facts)}{_of(facts.day)}"
    if facts.kind and (known or _about(facts, facts.kind) or len(names) > 1):
        parts = f": {_join_names(names, '; ')}" if len(names) > 1 else ""
        return Composed(_end(f"{form}{known}{_about(facts, facts.kind)}{parts}"), 0.5)
    if len(names) > 1:
        return Composed(_end(f"{form}{known} about {'; '.join(names[:_MAX_NAMED])}"), 0.3)
    texts = [block.text for block in source.blocks[:20] if block.sort is not BlockType.MENU]
    if texts and is_filler(" ".join(texts)[:2_000]):
        return Composed("Placeholder text (lorem ipsum).", 0.5)
    words = [
        text
        for text in texts
        if not same_words(text, facts.title or "") and _LETTER.search(text) and not has_refused_phrase(text)
    ]
    line = shorten_text(" · ".join(dict.fromkeys(words)), _SAID_LENGTH)
    if len(line) > 20 and len(_LETTER.findall(line)) > 0.5 * len(line.replace(" ", "")):
        return Composed(f"{form}{known} that says “{line}”.", 0.3)
    return None


def with_article(kind: str) -> str:
    """`An invoice`, `A court decision`, `Minutes`."""
    if kind in _PHRASES:
        return _PHRASES[kind]
    return f"{'An' if kind[:1] in 'aeiou' else 'A'} {kind}"


def format_day(day: str) -> str:
    """3 April 2026, April 2026 or 2026."""
    year, *rest = day[:10].split("-")
    parts = [str(int(rest[1]))] if len(rest) > 1 else []
    return " ".join([*parts, *([_MONTHS[int(rest[0]) - 1]] if rest else []), year])


def _headings(source: SourceText, facts: DocumentFacts) -> list[str]:
    found = [
        shorten_text(_NUMBERING.sub("", block.text.rstrip(".:")), _NAME_LENGTH)
        for block in source.blocks[:_MAX_BLOCKS]
        if block.sort is BlockType.HEADING
        and not same_words(block.text, facts.title or "")
        and not is_junk(block.text)
        and not has_refused_phrase(block.text)
        and block.text.casefold().strip(" !.") not in _NO_PART
    ]
    return list(dict.fromkeys(found))


def _end(text: str) -> str:
    return text if text.endswith(("?", "!")) else f"{text}."


def _from(sender: str, facts: DocumentFacts | None = None) -> str:
    if not sender:
        return ""
    return f" by {sender}" if facts and not facts.sender else f" from {sender}"


def _of(day: str) -> str:
    return f" of {format_day(day)}" if day else ""


def _about(facts: DocumentFacts, kind: str) -> str:
    """`about “Window repair”`, unless there is no title or it says nothing more than the kind."""
    title = facts.title or ""
    if not title or not facts.is_named or kind in _NO_SUBJECT or same_words(title, kind) or is_junk(title):
        return ""
    return f" {'about' if kind in _ABOUT and kind not in title.lower() else 'called'} {_quote(title)}"


def _quote(text: str) -> str:
    return f"“{shorten_text(text, 120).rstrip('.')}”"


def _table_of(markdown: str) -> Table | None:
    return parse_markdown_table(markdown.strip())


def _join_names(names: Sequence[str], joint: str = ", ") -> str:
    shown = [shorten_text(name, _NAME_LENGTH) for name in names[:_MAX_NAMED]]
    return joint.join(shown) + (" and more" if len(names) > _MAX_NAMED else "")


def _describe_form(facts: DocumentFacts) -> str:
    if facts.kind:
        return with_article(facts.kind)
    mime = facts.mime
    if "presentation" in mime or "powerpoint" in mime:
        return "A presentation"
    if "sheet" in mime or "excel" in mime:
        return "A spreadsheet"
    return {
        "message/rfc822": "An e-mail",
        "application/vnd.ms-outlook": "An e-mail",
        "application/epub+zip": "A book",
        "text/html": "A page",
    }.get(mime, "A recording" if mime.startswith(("audio/", "video/")) else _TEXTS.get(mime[:5], "A document"))
