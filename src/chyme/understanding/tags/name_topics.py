"""Find topics in names: in the title of a short text, in the name of a table and in those of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.common_words import is_nounlike
from chyme.text.stemmer import fold
from chyme.understanding.tags.person_names import find_person_words
from chyme.understanding.tags.phrases import empty_words, generic_nouns, is_german_noun_phrase, phrases_in
from chyme.understanding.tags.topics import Topic

_MIN_LETTERS = 4  # of a column's name
_MIN_TITLE_WORD = 5  # letters of a title's word that is a topic alone
_SINGLE_WORDS = frozenset({"en", "de"})  # languages whose verbs and adjectives are told from nouns
_IN_TITLE = 0.5
_MAX_WORDS = 2
_MAX_COLUMNS, _FEW_PEOPLE = 40, 4
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_./()\[\]%-]+")


def find_title_topics(title: str, language: str | None, people: Sequence[str], limit: int) -> list[Topic]:
    """The topics in a title, for a text that is too short to repeat them."""
    persons = find_person_words(title, people)
    found: list[str] = []
    generic = generic_nouns(language)
    mentions = [mention for mention in phrases_in(title, empty_words(language)) if not mention.is_cut]
    if language == "de":
        mentions = [mention for mention in mentions if is_german_noun_phrase(mention.words)]
    mentions.sort(key=lambda mention: -len(mention.words))
    for words in (tuple(word.lower() for word in mention.words) for mention in mentions):
        is_part = any(set(words) & set(other.split()) for other in found)
        is_clear = len(words) > 1 or (language in _SINGLE_WORDS and len(words[0]) >= _MIN_TITLE_WORD)
        if (
            is_clear
            and not is_part
            and persons.isdisjoint(map(fold, words))
            and is_nounlike(words[-1], language)
            and not all(word in generic for word in words)
        ):
            found.append(" ".join(words))
    return [Topic(tag, _IN_TITLE) for tag in found[:limit]]


def find_column_topics(title: str, columns: Sequence[str], language: str | None, limit: int) -> list[Topic]:
    """The topics that the title and the names of columns give, the title's first; no general words and no people."""
    found: dict[str, float] = {}
    if name := _end_of_name(title, language):
        found[name] = 0.6
    people = find_person_words(" . ".join(columns[:_MAX_COLUMNS]))
    if len(people) > _FEW_PEOPLE:
        columns = ()  # a column for each person
    for column in columns[:_MAX_COLUMNS]:
        words = _PARTS.sub(" ", column).split()
        tag = " ".join(words).lower()
        if len(tag) >= _MIN_LETTERS and people.isdisjoint(tag.split()) and _end_of_name(tag, language) == tag:
            found.setdefault(tag, 0.5)
    return [Topic(tag, score) for tag, score in list(found.items())[:limit]]


def _end_of_name(name: str, language: str | None) -> str:
    """The last two meaningful words of a name, which say what it is about; empty if they are too general."""
    generic = generic_nouns(language)
    runs = [mention.words for mention in phrases_in(_PARTS.sub(" ", name), empty_words(language))]
    words = [word.lower() for word in (runs[-1] if runs else ())]
    longest = max((run for run in runs if run[-1].lower() in words[-1:]), key=len, default=())
    end = [word.lower() for word in longest][-_MAX_WORDS:]
    while len(end) > 1 and end[0] in generic:
        del end[0]
    usable = end and is_nounlike(end[-1], language) and not all(word in generic for word in end)
    return " ".join(end) if usable else ""
