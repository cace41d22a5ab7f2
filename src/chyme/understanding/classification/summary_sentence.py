"""One sentence that says what a document is about: its own where it has a good one, a plain description otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.speech.transcripts.summary import shorten_text
from chyme.text.action_phrases import is_question
from chyme.text.function_words import empty_words
from chyme.text.markdown_blocks import Block, BlockType
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
from chyme.understanding.titles.placeholders import is_junk, same_words

_LEAST, _MOST = 5, 60  # words of a sentence that says something
_BLOCKS = 1_500  # that are looked at
_COUNTED = 5_000_000  # characters in which rows are counted
_UNITS = 40_000  # characters of them
_ENDED = re.compile(r"[.!?…。！？][\"'”»’)\]」』]{0,3}$")
_SALUTATION = re.compile(
    r"^(?:dear|hi|hello|hey|sehr geehrte|liebe[rs]?|hallo|guten tag|bonjour|cher|chère|hola|estimad|best regards"
    r"|kind regards|regards|thanks|thank you|sincerely|mit freundlichen|viele grüße)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"all rights reserved|©|cookie|subscribe|click here|lorem ipsum|unsubscribe|scanned for viruses|^-- |confidential"
    r"|creative commons|https?://|isbn|-{4,}|={4,}|<<<|>>>|^[\[{=<|]|_{3,}|\]\("
    r"|if you (?:are|received) (?:not the|this)|proofread|this page (?:was|is)|view this e-?mail"
    r"|^(?:from|to|sent|date|time|cc|subject|von|an|gesendet|betreff):",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"^(?:it|this|that|these|those|they|he|she|however|but|and|so|thus|therefore|hence|moreover|furthermore|in addition"
    r"|instead|besides|then|otherwise|also|such|as a result|for example|in this|on the other hand|dies\w*|er|sie|es"
    r"|aber|und|jedoch|daher|deshalb|außerdem|dabei|il|elle|ils|cela|mais|et|donc|ello|esto|pero|y|questo|ma|dit|maar|isto"
    r"|mas|\d[\d.]*)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_SPLIT_WORDS = re.compile(r"\b\w\b \b\w\b \b\w\b")
_INITIALS = re.compile(r"\b[A-Z]\.")
_POINT = "\u2024"  # stands for the point of an abbreviation while sentences are told apart
_ABBREVIATED = re.compile(
    r"\b(?:(?i:mwst|ust|inkl|incl|exkl|excl|zzgl|abzgl|nr|bzw|bspw|evtl|ggf|vgl|approx|dept|avda|núm|pág|tél)"
    r"|z\. ?B|d\. ?h|u\. ?a|i\. ?d\. ?R|p\. ?ex|p\. ?ej|ca|max|mind?|Str|Tel|Abs|Art|Std|Stk|Mio|Mrd|Hrsg)\.(?=\s)"
)
_AMOUNT = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,' ]?\d{3}){0,3}[.,]\d\d(?![\d.,]*\d)|[€$£¥]\s?\d")
_FEW_AMOUNTS = 3
_JOINED, _SHORT_LINE = 3, 36  # lines of a sentence, and characters of a line up to which it is rather a row
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_BILLS = {"invoice": "An invoice", "receipt": "A receipt"}
_BOX = re.compile(r"^(?:\[[ xX]\]|\[edit\]|[☐☑☒✓])\s*")


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """The sentence, and how sure it is that it says what the document is about."""

    text: str
    confidence: float
    evidence: str
    where: str


def choose_sentence(
    found: SourceText,
    title: str | None,
    mime: str,
    language: str | None,
    sort: str = "",
    sender: str = "",
    day: str = "",
) -> SummarySentence | None:
    """None when there is nothing to say. `sort` is what kind of document it is, `day` its date, as far as known."""
    if is_data(mime):
        data = describe_data(found.whole, mime)
        if data:
            return SummarySentence(shorten_text(data, SUMMARY_LENGTH), 0.8, data, found.where)
    said = _first_sentence(found.said.description)
    if said and not same_words(said, title or ""):
        return SummarySentence(said, 0.75, found.said.description, found.said.where)
    if found.spoken and found.summary:
        takeaway = _first_sentence(next((part for part in found.summary.split("\n\n") if part.strip()), ""))
        if takeaway:
            return SummarySentence(takeaway, 0.6, takeaway, "speech-recognition-summary")
    table = parse_markdown_table(found.text) and parse_markdown_table(found.whole[:_COUNTED])
    bill = _bill(sort, sender, day)
    if bill and not table:
        return SummarySentence(bill, 0.6, f"{sort}, {sender or day}", found.where)
    chosen = None if table else _chosen(found, title, language)
    if chosen:
        return SummarySentence(shorten_text(chosen[0], SUMMARY_LENGTH), chosen[1], chosen[0], found.where)
    if table:
        return SummarySentence(describe_table(table), 0.7, describe_table(table), found.where)
    composed = _outline(found, title, mime)
    return SummarySentence(shorten_text(composed, SUMMARY_LENGTH), 0.3, composed, found.where) if composed else None


def _bill(sort: str, sender: str, day: str) -> str:
    """`An invoice from Blue Harbour Ltd of 3 April 2026.` They are tables with a request around them."""
    if sort not in _BILLS or not (sender or day):
        return ""
    whom = f" from {sender}" if sender else ""
    when = f" of {_spoken(day)}" if day else ""
    return f"{_BILLS[sort]}{whom}{when}."


def _spoken(day: str) -> str:
    """3 April 2026, April 2026 or 2026."""
    year, *rest = day.split("-")
    parts = [str(int(rest[1]))] if len(rest) > 1 else []
    return " ".join([*parts, *([_MONTHS[int(rest[0]) - 1]] if rest else []), year])


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    if not line or _NOTHING.search(line[:SUMMARY_LENGTH]) or word_count(line[:2000]) < _LEAST:
        return ""
    sentences = [one.text for one in sentences_of([Segment(0.0, 0.0, line[:4000])], [line[:4000]])]
    first = sentences[0] if sentences else ""
    if word_count(first) < _LEAST and len(sentences) > 1:
        first = f"{first} {sentences[1]}"
    return shorten_text(first, SUMMARY_LENGTH) if word_count(first) >= _LEAST else ""


def _chosen(found: SourceText, title: str | None, language: str | None) -> tuple[str, float] | None:
    """The best of the sentences that stand for the others: one that speaks of the title, and rather an early one."""
    usable = _usable(found.blocks, title)
    points = [_BOX.sub("", point).replace(_POINT, ".") for point in pick_sentences(usable, language).points]
    points = [point for point in points if _says_something(point) and not _is_flattened(point, found.text)]
    whole = [point for point in points if _ENDED.search(point) and not is_question(point)]
    if not whole:
        long_ones = [point for point in points if word_count(point) >= 8]
        return (long_ones[0], 0.35) if long_ones else None
    empty = empty_words(language)
    about = frozenset(terms_of(title or "", empty))

    def worth(at: int) -> float:
        shared = len(about.intersection(terms_of(whole[at], empty)))
        fitting = 1.0 if 8 <= word_count(whole[at]) <= 45 else 0.0
        return (
            shared / max(len(about), 1) * 1.5
            + fitting
            - 0.3 * at
            - 0.6 * bool(whole[at][0].islower() or _LEANS.match(whole[at]))
        )

    best = max(range(len(whole)), key=lambda at: (worth(at), -at))
    return whole[best], 0.55 if about & frozenset(terms_of(whole[best], empty)) else 0.45


def _usable(blocks: Sequence[Block], title: str | None) -> list[Block]:
    found: list[Block] = []
    room = _UNITS
    for block in blocks[:_BLOCKS]:
        if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM) and not same_words(block.text, title or ""):
            plain = _ABBREVIATED.sub(lambda short: short[0].replace(".", _POINT), block.text)
            found += [Block(block.sort, part) for part in _without_tables(plain)]
            room -= len(block.text)
        if room <= 0:
            break
    return found


def _without_tables(text: str) -> list[str]:
    """The text; where amounts are many, its sentences that have few."""
    if len(_AMOUNT.findall(text)) < _FEW_AMOUNTS:
        return [text]
    sentences = sentences_of([Segment(0.0, 0.0, text)], [text])
    return [one.text for one in sentences if len(_AMOUNT.findall(one.text)) < _FEW_AMOUNTS]


def _is_flattened(sentence: str, text: str) -> bool:
    """Whether it is no sentence but short lines that were joined: an address, rows of a table."""
    words = sentence.split()
    stood = re.search(r"\s++".join(map(re.escape, words)), text)
    if stood is None or "\n" not in stood[0]:
        return False
    lines = [line for line in stood[0].split("\n") if line.strip()]
    begins = text.rfind("\n", 0, stood.start()) + 1
    mean = (len(stood[0]) + stood.start() - begins) / len(lines)
    most = _JOINED if _ENDED.search(sentence) else 1
    return len(lines) > most and mean < _SHORT_LINE


def _says_something(sentence: str) -> bool:
    letters = len(_LETTER.findall(sentence))
    if (
        len(_INITIALS.findall(sentence)) > 2
        or letters < 0.6 * len(sentence.replace(" ", ""))
        or _SPLIT_WORDS.search(sentence)
    ):
        return False  # numbers, or a line that fell apart
    return (
        _LEAST <= word_count(sentence) <= _MOST
        and not _NOTHING.search(sentence)
        and not _SALUTATION.match(sentence)
        and not sentence.isupper()
    )


def _outline(found: SourceText, title: str | None, mime: str) -> str:
    """What stands in a document that has no sentences: its headings, or its first words."""
    told_before = title or ""
    headings = [
        one.text.rstrip(".:")
        for one in found.blocks[:_BLOCKS]
        if one.sort is BlockType.HEADING and not same_words(one.text, told_before) and not is_junk(one.text)
    ]
    what = _form(mime)
    names = list(dict.fromkeys(headings))
    if len(names) > 1:
        return f"{what} about {'; '.join(names[:5])}."
    words = [
        one.text
        for one in found.blocks[:20]
        if one.sort is not BlockType.MENU and not same_words(one.text, told_before)
    ]
    line = shorten_text(" · ".join(dict.fromkeys(word for word in words if _LETTER.search(word))), 160)
    return f"{what} that says “{line}”." if len(line) > 20 else ""


def _form(mime: str) -> str:
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
