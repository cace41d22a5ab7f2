"""Summarises a web page in three to five points: formats them, and picks sentences where no model writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.text.action_phrases import is_question
from chyme.text.function_words import empty_words, language_of
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.markdown_lines import LENGTH, escape_markdown, shorten_text
from chyme.text.sentences import ranks, sentences_of, terms_of, word_count
from chyme.text.topic_overlap import is_off_topic
from chyme.text.word_lists import WordList

RULES = 1  # increase it when a changed rule changes results
LEAST, MOST = 3, 5  # number of points
ENOUGH = 100  # characters of text that a page needs to get a summary
_OWN_SUMMARY_WORDS = 100  # words up to which a page of a few sentences is its own summary
_THREE_POINT_WORDS, _FOUR_POINT_WORDS = 250, 800  # below this many words, three or four points are enough
_MIN_WORDS, _MAX_WORDS = 6, 60  # words of a sentence that can represent others
_SHORT_SENTENCE_WORDS = 10  # shorter sentences rarely say much
_MIN_LINE_WORDS = 4  # words that a line needs if it is not a sentence
_SIMILAR, _NEARLY_EQUAL = 0.5, 0.9  # the share of terms from which on two sentences say the same
_LEAD_WEIGHT, _BEGINNING_WEIGHT = 1.6, 1.2  # of the first sentences: authors say there what the text is about
_LANGUAGE_SAMPLE = 20_000  # characters read to detect the language
_BULLETS = "*•·†‡–— "
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”»’)\]」』]{0,3}$")
# Unlike speech, writing has abbreviations before capitals and numbers.
_ABBREVIATION_END = re.compile(
    r"(?:^|[\s(])(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|gen|gov|sen|rep|capt|lt|col|fig|vol|pp?|approx|est"
    r"|u\.s|u\.k|d\.c|ph\.d|janv|févr|juil|okt|dez|abs|bd|inkl)\.$",
    re.IGNORECASE,
)
_DEPENDENT_STARTS = WordList(__package__, "dependent_starts")
_NOTICES = re.compile(
    r"cookie|newsletter|©|copyright|all rights reserved|javascript|subscribe|sign (?:up|in)|log ?in\b|privacy policy"
    r"|terms of (?:use|service)|abonnier|anmelden|datenschutz|abonnez|inscri(?:re|vez)|suscr[ií]|iscriviti",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageSummary:
    """The points of a summary."""

    points: tuple[str, ...]
    whole: bool  # the points are all that the page says


def text_of(blocks: Iterable[Block]) -> list[str]:
    """The text to summarise, line by line, without menus."""
    return [
        f"# {block.text}" if block.sort is BlockType.HEADING else block.text
        for block in blocks
        if block.sort is not BlockType.MENU
    ]


def detect_language(lines: Sequence[str]) -> str | None:
    """The language of a page, judged by its function words."""
    return language_of(" ".join(lines)[:_LANGUAGE_SAMPLE])


def pick_sentences(blocks: Sequence[Block], language: str | None) -> PageSummary:
    """Pick the sentences that represent the others best, in their order. No points if there are no sentences."""
    units = list(dict.fromkeys(_find_units(blocks)))
    words = [word_count(unit) for unit in units]
    most_of_it = sum(map(len, units)) > 0.5 * sum(map(len, text_of(blocks)))
    if most_of_it and len(units) <= MOST and sum(words) <= _OWN_SUMMARY_WORDS:
        return PageSummary(tuple(units), whole=True)
    empty = empty_words(language)
    bags = [frozenset(terms_of(unit, empty)) for unit in units]
    dependent_starts = _DEPENDENT_STARTS.words(language or "")
    weights = [_weight(unit, words[i], i / len(units), dependent_starts) for i, unit in enumerate(units)]
    scores = [score * weight for score, weight in zip(ranks(bags), weights, strict=True)]
    best = sorted(range(len(units)), key=lambda i: (-scores[i], i))
    candidates = [i for i in best if _can_represent(units[i], words[i])]
    wanted = LEAST if sum(words) < _THREE_POINT_WORDS else LEAST + 1 if sum(words) < _FOUR_POINT_WORDS else MOST
    chosen = _pick_distinct(candidates, bags, wanted, [], _SIMILAR)
    for max_overlap in (_SIMILAR, _NEARLY_EQUAL):  # where sentences are few or similar, take what there is
        chosen = _pick_distinct(best, bags, LEAST, chosen, max_overlap)
    return PageSummary(tuple(units[i] for i in sorted(chosen)), whole=False)


def format_markdown(points: Sequence[str], made: str) -> str:
    """One point per line. `made` is the last line: how the points were made."""
    lines = "\n".join(f"- {escape_markdown(shorten_text(point, LENGTH))}" for point in points)
    return f"{lines}\n\n*{escape_markdown(made)}*\n"


def find_problem(points: Sequence[str], text: str, language: str | None) -> str | None:
    """What is wrong with points that a model wrote about a text, worded so that the model can correct it."""
    if len(set(points)) < LEAST or not all(points):
        return f"give {LEAST} to {MOST} points that say different things"
    written_in = language_of(" ".join(points))
    if language is not None and written_in is not None and written_in != language:
        return f"the points are not in the language of the page, which is {language!r}"
    for number, point in enumerate(points, 1):
        if is_off_topic(point, text, language):
            return f"point {number} is about something that is not on the page: only summarise the page"
    return None


def _find_units(blocks: Iterable[Block]) -> Iterator[str]:
    """Sentences, and list items with enough words."""
    for block in blocks:
        if block.sort is BlockType.PARAGRAPH or block.sort is BlockType.ITEM:
            for text in _split_sentences(block.text.lstrip(_BULLETS)):
                if word_count(text) >= (2 if _SENTENCE_END.search(text) else _MIN_LINE_WORDS):
                    yield text


def _split_sentences(text: str) -> Iterator[str]:
    pending = ""
    for sentence in sentences_of([Segment(0.0, 0.0, text)], [text]):
        pending = f"{pending} {sentence.text}".strip()
        if not _ABBREVIATION_END.search(pending):
            yield pending
            pending = ""
    if pending:
        yield pending


def _can_represent(unit: str, words: int) -> bool:
    is_sentence = _SENTENCE_END.search(unit) is not None and not is_question(unit)
    return is_sentence and _MIN_WORDS <= words <= _MAX_WORDS and len(unit) <= LENGTH


def _weight(unit: str, words: int, position: float, dependent_starts: frozenset[str]) -> float:
    weight = _LEAD_WEIGHT if position < 0.05 else _BEGINNING_WEIGHT if position < 0.15 else 1.0
    weight *= 0.7 if words < _SHORT_SENTENCE_WORDS else 1.0
    if unit.split(maxsplit=1)[0].lower().strip(",.:;\"'“„«") in dependent_starts:
        weight *= 0.6
    return weight * (0.2 if _NOTICES.search(unit) else 1.0)


def _pick_distinct(
    ranked: Iterable[int], bags: Sequence[frozenset[str]], limit: int, chosen: Sequence[int], max_overlap: float
) -> list[int]:
    """The chosen and the best of the others, up to `limit`, without repeating each other."""
    found = list(chosen)
    for i in ranked:
        if len(found) >= limit:
            break
        if i not in found and all(_term_overlap(bags[i], bags[other]) < max_overlap for other in found):
            found.append(i)
    return found


def _term_overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / max(min(len(first), len(second)), 1)
