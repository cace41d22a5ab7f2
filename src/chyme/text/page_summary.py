"""A web page in three to five points: as markdown, and picked from its own sentences where no model writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.speech.transcripts.summary import LENGTH, escape_markdown, shorten_text
from chyme.text.action_phrases import is_question
from chyme.text.function_words import empty_words, language_of
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.sentences import sentences_of, terms_of, word_count
from chyme.text.text_rank import ranks
from chyme.text.topic_overlap import is_off_topic

RULES = 1  # raise it when a rule changes what comes out
LEAST, MOST = 3, 5  # points
ENOUGH = 100  # characters of text from which on a page has a summary
_ITSELF = 100  # words up to which a page of a few sentences is its own summary
_THREE, _FOUR = 250, 800  # words up to which three points do, and four
_SHORTEST, _LONGEST = 6, 60  # words of a sentence that can stand for others
_SLIGHT = 10  # words of a sentence that seldom says much
_FEW = 4  # words of a line that says something though it is no sentence
_SAME, _VERY_SAME = 0.5, 0.9  # the share of terms from which on a sentence says another one again
_LEAD, _BEGINNING = 1.6, 1.2  # how much more the first sentences count: whoever writes says there what it is about
_LANGUAGE = 20_000  # characters that give the language away
_BULLETS = "*•·†‡–— "
_ENDED = re.compile(r"[.!?…。！？][\"'”»’)\]」』]{0,3}$")
# In writing, unlike in speech, there are abbreviations before capitals and numbers.
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|gen|gov|sen|rep|capt|lt|col|fig|vol|pp?|approx|est"
    r"|u\.s|u\.k|d\.c|ph\.d|janv|févr|juil|okt|dez|abs|bd|inkl)\.$",
    re.IGNORECASE,
)
# A sentence that begins like this leans on the one before it.
_LEANS = {
    "en": """it this that these those they he she such also however but and so thus therefore hence moreover furthermore
        instead besides then otherwise meanwhile nevertheless""",
    "de": """dies diese dieser dieses er sie es so aber und doch dennoch deshalb daher dadurch damit außerdem jedoch
        dabei dann""",
    "fr": "il elle ils elles cela ceci ce cette ces mais et donc ainsi cependant toutefois",
    "es": "ello esto eso estos pero y además así",
    "it": "questo questa ciò ma e inoltre quindi",
    "nl": "dit dat deze hij zij maar en dus",
    "pt": "isto isso mas e assim",
}
_NOTICES = re.compile(
    r"cookie|newsletter|©|copyright|all rights reserved|javascript|subscribe|sign (?:up|in)|log ?in\b|privacy policy"
    r"|terms of (?:use|service)|abonnier|anmelden|datenschutz|abonnez|inscri(?:re|vez)|suscr[ií]|iscriviti",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageSummary:
    """What a page says, in short."""

    points: tuple[str, ...]
    whole: bool  # the points are all that the page says


def text_of(blocks: Iterable[Block]) -> list[str]:
    """What there is to summarise, line by line; menus say nothing."""
    return [
        f"# {one.text}" if one.sort is BlockType.HEADING else one.text
        for one in blocks
        if one.sort is not BlockType.MENU
    ]


def detect_language(lines: Sequence[str]) -> str | None:
    """The language of a page, as far as its small words tell it."""
    return language_of(" ".join(lines)[:_LANGUAGE])


def pick_sentences(blocks: Sequence[Block], language: str | None) -> PageSummary:
    """The sentences that say most of what the others say, in their order. No points where there are no sentences."""
    units = list(dict.fromkeys(_units(blocks)))
    words = [word_count(unit) for unit in units]
    most_of_it = sum(map(len, units)) > 0.5 * sum(map(len, text_of(blocks)))
    if most_of_it and len(units) <= MOST and sum(words) <= _ITSELF:
        return PageSummary(tuple(units), whole=True)
    empty = empty_words(language)
    bags = [frozenset(terms_of(unit, empty)) for unit in units]
    leans = frozenset(_LEANS.get(language or "", "").split())
    weights = [_weight(unit, words[at], at / len(units), leans) for at, unit in enumerate(units)]
    scores = [score * weight for score, weight in zip(ranks(bags), weights, strict=True)]
    best = sorted(range(len(units)), key=lambda at: (-scores[at], at))
    told = [at for at in best if _stands(units[at], words[at])]
    wanted = LEAST if sum(words) < _THREE else LEAST + 1 if sum(words) < _FOUR else MOST
    chosen = _distinct(told, bags, wanted, [], _SAME)
    for same in (_SAME, _VERY_SAME):  # where sentences are few or much alike, whatever there is
        chosen = _distinct(best, bags, LEAST, chosen, same)
    return PageSummary(tuple(units[at] for at in sorted(chosen)), whole=False)


def format_markdown(points: Sequence[str], made: str) -> str:
    """One point a line. `made` is the last line: how they came to be."""
    lines = "\n".join(f"- {escape_markdown(shorten_text(point, LENGTH))}" for point in points)
    return f"{lines}\n\n*{escape_markdown(made)}*\n"


def find_problem(points: Sequence[str], text: str, language: str | None) -> str | None:
    """What is wrong with points that somebody wrote about a text, said so that it can be put right."""
    if len(set(points)) < LEAST or not all(points):
        return f"give {LEAST} to {MOST} points that say different things"
    written_in = language_of(" ".join(points))
    if language is not None and written_in is not None and written_in != language:
        return f"the points are not in the language of the page, which is {language!r}"
    for number, point in enumerate(points, 1):
        if is_off_topic(point, text, language):
            return f"point {number} is about something that is not on the page: only summarise the page"
    return None


def _units(blocks: Iterable[Block]) -> Iterator[str]:
    """Sentences, and lines of lists that say something."""
    for block in blocks:
        if block.sort is BlockType.PARAGRAPH or block.sort is BlockType.ITEM:
            for text in _sentences(block.text.lstrip(_BULLETS)):
                if word_count(text) >= (2 if _ENDED.search(text) else _FEW):
                    yield text


def _sentences(text: str) -> Iterator[str]:
    begun = ""
    for one in sentences_of([Segment(0.0, 0.0, text)], [text]):
        begun = f"{begun} {one.text}".strip()
        if not _ABBREVIATED.search(begun):
            yield begun
            begun = ""
    if begun:
        yield begun


def _stands(unit: str, words: int) -> bool:
    sentence = _ENDED.search(unit) is not None and not is_question(unit)
    return sentence and _SHORTEST <= words <= _LONGEST and len(unit) <= LENGTH


def _weight(unit: str, words: int, place: float, leans: frozenset[str]) -> float:
    weight = _LEAD if place < 0.05 else _BEGINNING if place < 0.15 else 1.0
    weight *= 0.7 if words < _SLIGHT else 1.0
    if unit.split(maxsplit=1)[0].lower().strip(",.:;\"'“„«") in leans:
        weight *= 0.6
    return weight * (0.2 if _NOTICES.search(unit) else 1.0)


def _distinct(
    ranked: Iterable[int], bags: Sequence[frozenset[str]], most: int, chosen: Sequence[int], same: float
) -> list[int]:
    """The chosen and the best of the others, up to so many, none of which says again what another says."""
    found = list(chosen)
    for at in ranked:
        if len(found) >= most:
            break
        if at not in found and all(_shared(bags[at], bags[other]) < same for other in found):
            found.append(at)
    return found


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(min(len(one), len(other)), 1)
