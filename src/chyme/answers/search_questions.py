"""The searches that a question leads to: its parts, and a follow-up together with what was asked before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.answers.conversation import Turn
from chyme.search.query.parser import FIELDS, parse
from chyme.search.query.relaxation import format_filter
from chyme.text.word_lists import WordList

MOST_SEARCHES = 4
_QUESTION_WORDS = WordList(__package__, "question_words")
_FILTER = re.compile(rf"""(?<!\S)-?(?:{"|".join(FIELDS)}):(?:"[^"]*"|\S+)""", re.IGNORECASE)
_PARTS = re.compile(r"[?？;]+\s*")
_SHORTEST = 2  # words of a part that is searched by itself


def plain_question(text: str) -> str:
    """The question without its filters, as a model reads it."""
    return " ".join(_FILTER.sub(" ", text).split())


def search_questions(text: str, turns: Sequence[Turn] = ()) -> list[str]:
    """What to search for, the most important first; the filters of the question hold for each."""
    filters = [format_filter(filter_) for filter_ in parse(text).filters]
    question = plain_question(text)
    earlier = plain_question(turns[-1].question) if turns else ""
    searches = [f"{earlier} {question}", question] if earlier else [question]
    parts = _parts_of(question)
    searches += parts if len(parts) > 1 else []
    distinct = dict.fromkeys(search.strip() for search in searches if search.strip())
    return [" ".join([search, *filters]) for search in list(distinct)[:MOST_SEARCHES]] or [" ".join(filters)]


def _parts_of(question: str) -> list[str]:
    """The questions in one: after question marks, and after "and" where a question word follows."""
    parts: list[str] = []
    for piece in _PARTS.split(question):
        words = piece.split()
        start = 0
        for index in range(1, len(words) - 1):
            joins = words[index].lower() in _QUESTION_WORDS.words("and")
            if joins and words[index + 1].lower() in _QUESTION_WORDS.words("words"):
                parts.append(" ".join(words[start:index]))
                start = index + 1
        parts.append(" ".join(words[start:]))
    return [part for part in (part.strip(" ,") for part in parts) if len(part.split()) >= _SHORTEST]
