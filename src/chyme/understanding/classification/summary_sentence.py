"""Summarise a document in one sentence: a good one of its own, otherwise a plain description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.text.action_phrases import is_question
from chyme.text.function_words import empty_words
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.markdown_lines import shorten_text
from chyme.text.page_summary import pick_sentences
from chyme.text.sentences import sentences_of, terms_of, word_count
from chyme.understanding.classification.data_descriptions import (
    describe_data,
    describe_table,
    is_data,
    parse_markdown_table,
)
from chyme.understanding.classification.result import SUMMARY_LENGTH
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import is_junk, same_words

_MIN_WORDS, _MAX_WORDS = 5, 60  # words of a sentence that may serve as a summary
_MAX_BLOCKS = 1_500  # blocks that are read
_MAX_COUNTED = 5_000_000  # characters in which rows are counted
_MAX_BLOCK_CHARS = 40_000  # characters of the blocks that are read
_ENDED = re.compile(r"[.!?…。！？][\"'”»’)\]」』]{0,3}$")
_SALUTATION = re.compile(
    r"^(?:dear|hi|hello|hey|sehr geehrte|liebe[rs]?|hallo|guten tag|bonjour|cher|chère|hola|estimad|best regards"
    r"|kind regards|regards|thanks|thank you|sincerely|mit freundlichen|viele grüße)\b",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"all rights reserved|©|cookie|subscribe|click here|lorem ipsum|unsubscribe|scanned for viruses|^-- |confidential"
    r"|creative commons|https?://|isbn|-{4,}|={4,}|<<<|>>>|^[\[{=<|]|_{3,}|\]\("
    r"|if you (?:are|received) (?:not the|this)|proofread|this page (?:was|is)|view this e-?mail"
    r"|^(?:from|to|sent|date|time|cc|subject|von|an|gesendet|betreff):",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(
    r"^(?:it|this|that|these|those|they|he|she|however|but|and|so|thus|therefore|hence|moreover|furthermore|in addition"
    r"|instead|besides|then|otherwise|also|such|as a result|for example|in this|on the other hand|dies\w*|er|sie|es"
    r"|aber|und|jedoch|daher|deshalb|außerdem|dabei|il|elle|ils|cela|mais|et|donc|ello|esto|pero|y|questo|ma|dit|maar|isto"
    r"|mas|\d[\d.]*)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_SPLIT_WORDS = re.compile(r"\b\w\b \b\w\b \b\w\b")
_INITIALS = re.compile(r"\b[A-Z]\.")
_POINT = "\u2024"  # replaces the point of an abbreviation while the text is split into sentences
_ABBREVIATED = re.compile(
    r"\b(?:(?i:mwst|ust|inkl|incl|exkl|excl|zzgl|abzgl|nr|bzw|bspw|evtl|ggf|vgl|approx|dept|avda|núm|pág|tél)"
    r"|z\. ?B|d\. ?h|u\. ?a|i\. ?d\. ?R|p\. ?ex|p\. ?ej|ca|max|mind?|Str|Tel|Abs|Art|Std|Stk|Mio|Mrd|Hrsg)\.(?=\s)"
)
_AMOUNT = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,' ]?\d{3}){0,3}[.,]\d\d(?![\d.,]*\d)|[€$£¥]\s?\d")
_MAX_TRIES = 50  # places with the first word of a sentence that are looked at one by one
_FEW_AMOUNTS = 3
_MAX_JOINED, _SHORT_LINE = 3, 36  # lines of a sentence, and average characters below which they are rather rows
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_BILLS = {"invoice": "An invoice", "receipt": "A receipt"}
_BOX = re.compile(r"^(?:\[[ xX]\]|\[edit\]|[☐☑☒✓])\s*")


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """The sentence, and the confidence that it says what the document is about."""

    text: str
    confidence: float
    evidence: str


def choose_sentence(
    source: SourceText,
    title: str | None,
    mime: str,
    language: str | None,
    sort: str = "",
    sender: str = "",
    day: str = "",
) -> SummarySentence | None:
    """The best summary; None if there is none. `sort` is the kind of document, `day` its date, as far as known."""
    if is_data(mime):
        data = describe_data(source.whole, mime)
        if data:
            return SummarySentence(shorten_text(data, SUMMARY_LENGTH), 0.8, data)
    description = _first_sentence(source.metadata.description)
    if description and not same_words(description, title or ""):
        return SummarySentence(description, 0.75, source.metadata.description)
    if source.spoken and source.summary:
        takeaway = _first_sentence(next((part for part in source.summary.split("\n\n") if part.strip()), ""))
        if takeaway:
            return SummarySentence(takeaway, 0.6, takeaway)
    table = parse_markdown_table(source.text) and parse_markdown_table(source.whole[:_MAX_COUNTED])
    bill = _describe_bill(sort, sender, day)
    if bill and not table:
        return SummarySentence(bill, 0.6, f"{sort}, {sender or day}")
    chosen = None if table else _choose(source, title, language)
    if chosen:
        return SummarySentence(shorten_text(chosen[0], SUMMARY_LENGTH), chosen[1], chosen[0])
    if table:
        return SummarySentence(describe_table(table), 0.7, describe_table(table))
    outline = _outline(source, title, mime)
    return SummarySentence(shorten_text(outline, SUMMARY_LENGTH), 0.3, outline) if outline else None


def _describe_bill(sort: str, sender: str, day: str) -> str:
    """`An invoice from Blue Harbour Ltd of 3 April 2026.` Bills are mostly tables and have no good sentence."""
    if sort not in _BILLS or not (sender or day):
        return ""
    sender_part = f" from {sender}" if sender else ""
    date_part = f" of {_format_day(day)}" if day else ""
    return f"{_BILLS[sort]}{sender_part}{date_part}."


def _format_day(day: str) -> str:
    """3 April 2026, April 2026 or 2026."""
    year, *rest = day.split("-")
    parts = [str(int(rest[1]))] if len(rest) > 1 else []
    return " ".join([*parts, *([_MONTHS[int(rest[0]) - 1]] if rest else []), year])


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    if not line or _BOILERPLATE.search(line[:SUMMARY_LENGTH]) or word_count(line[:2000]) < _MIN_WORDS:
        return ""
    sentences = [sentence.text for sentence in sentences_of([Segment(0.0, 0.0, line[:4000])], [line[:4000]])]
    first = sentences[0] if sentences else ""
    if word_count(first) < _MIN_WORDS and len(sentences) > 1:
        first = f"{first} {sentences[1]}"
    return shorten_text(first, SUMMARY_LENGTH) if word_count(first) >= _MIN_WORDS else ""


def _choose(source: SourceText, title: str | None, language: str | None) -> tuple[str, float] | None:
    """The best of the representative sentences: one that mentions the title, and preferably an early one."""
    blocks = _usable_blocks(source.blocks, title)
    points = [_BOX.sub("", point).replace(_POINT, ".") for point in pick_sentences(blocks, language).points]
    points = [point for point in points if _is_informative(point) and not _is_flattened(point, source.text)]
    complete = [point for point in points if _ENDED.search(point) and not is_question(point)]
    if not complete:
        long_points = [point for point in points if word_count(point) >= 8]
        return (long_points[0], 0.35) if long_points else None
    empty = empty_words(language)
    title_terms = frozenset(terms_of(title or "", empty))

    def score(i: int) -> float:
        shared = len(title_terms.intersection(terms_of(complete[i], empty)))
        good_length = 1.0 if 8 <= word_count(complete[i]) <= 45 else 0.0
        return (
            shared / max(len(title_terms), 1) * 1.5
            + good_length
            - 0.3 * i
            - 0.6 * bool(complete[i][0].islower() or _REFERS_BACK.match(complete[i]))
        )

    best = max(range(len(complete)), key=lambda i: (score(i), -i))
    return complete[best], 0.55 if title_terms & frozenset(terms_of(complete[best], empty)) else 0.45


def _usable_blocks(blocks: Sequence[Block], title: str | None) -> list[Block]:
    usable: list[Block] = []
    remaining = _MAX_BLOCK_CHARS
    for block in blocks[:_MAX_BLOCKS]:
        if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM) and not same_words(block.text, title or ""):
            plain = _ABBREVIATED.sub(lambda match: match[0].replace(".", _POINT), block.text)
            usable += [Block(block.sort, part) for part in _without_tables(plain)]
            remaining -= len(block.text)
        if remaining <= 0:
            break
    return usable


def _without_tables(text: str) -> list[str]:
    """The text; if it has many amounts, only its sentences with few of them."""
    if len(_AMOUNT.findall(text)) < _FEW_AMOUNTS:
        return [text]
    sentences = sentences_of([Segment(0.0, 0.0, text)], [text])
    return [sentence.text for sentence in sentences if len(_AMOUNT.findall(sentence.text)) < _FEW_AMOUNTS]


def _is_flattened(sentence: str, text: str) -> bool:
    """Whether it is not a sentence but joined short lines: an address, rows of a table."""
    start, end = find_words(sentence.split(), text)
    if "\n" not in text[start:end]:
        return False
    lines = [line for line in text[start:end].split("\n") if line.strip()]
    line_start = text.rfind("\n", 0, start) + 1
    mean_length = (end - line_start) / len(lines)
    max_lines = _MAX_JOINED if _ENDED.search(sentence) else 1
    return len(lines) > max_lines and mean_length < _SHORT_LINE


def find_words(words: Sequence[str], text: str) -> tuple[int, int]:
    """Where these words first stand in the text, with any white space between them; (0, 0) if they do not.

    To compile an expression for a sentence takes longer than everything else about it, so that is only done for a text
    that repeats the first word many times.
    """
    first, *others = words
    start = text.find(first)
    for _ in range(_MAX_TRIES):
        if start < 0:
            return 0, 0
        end = _end_of_words(others, text, start + len(first))
        if end is not None:
            return start, end
        start = text.find(first, start + 1)
    match = re.compile(r"\s++".join(map(re.escape, words))).search(text, start) if start >= 0 else None
    return match.span() if match else (0, 0)


def _end_of_words(words: Sequence[str], text: str, end: int) -> int | None:
    """Where these words end if they follow one another from here, each after white space; None if they do not."""
    for word in words:
        at = end
        while text[at : at + 1].isspace():
            at += 1
        if at == end or not text.startswith(word, at):
            return None
        end = at + len(word)
    return end


def _is_informative(sentence: str) -> bool:
    letters = len(_LETTER.findall(sentence))
    if (
        len(_INITIALS.findall(sentence)) > 2
        or letters < 0.6 * len(sentence.replace(" ", ""))
        or _SPLIT_WORDS.search(sentence)
    ):
        return False  # numbers, or words split into letters
    return (
        _MIN_WORDS <= word_count(sentence) <= _MAX_WORDS
        and not _BOILERPLATE.search(sentence)
        and not _SALUTATION.match(sentence)
        and not sentence.isupper()
    )


def _outline(source: SourceText, title: str | None, mime: str) -> str:
    """A description of a document without sentences: its headings, or its first words."""
    known = title or ""
    headings = [
        block.text.rstrip(".:")
        for block in source.blocks[:_MAX_BLOCKS]
        if block.sort is BlockType.HEADING and not same_words(block.text, known) and not is_junk(block.text)
    ]
    form = _describe_form(mime)
    names = list(dict.fromkeys(headings))
    if len(names) > 1:
        return f"{form} about {'; '.join(names[:5])}."
    words = [
        block.text
        for block in source.blocks[:20]
        if block.sort is not BlockType.MENU and not same_words(block.text, known)
    ]
    line = shorten_text(" · ".join(dict.fromkeys(word for word in words if _LETTER.search(word))), 160)
    return f"{form} that says “{line}”." if len(line) > 20 else ""


def _describe_form(mime: str) -> str:
    if "presentation" in mime or "powerpoint" in mime:
        return "A presentation"
    if "sheet" in mime or "excel" in mime:
        return "A spreadsheet"
    return {
        "message/rfc822": "An e-mail",
        "application/vnd.ms-outlook": "An e-mail",
        "application/epub+zip": "A book",
        "text/html": "A page",
    }.get(mime, "A recording" if mime.startswith(("audio/", "video/")) else "A text")
