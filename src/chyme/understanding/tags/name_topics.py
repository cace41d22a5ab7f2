"""Find topics in names: in the title of a short text, in the name of a table and in those of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile

from chyme.text.common_words import general_words, has_noun_endings, is_nounlike
from chyme.text.function_words import function_words
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS
from chyme.understanding.tags.person_names import find_person_words
from chyme.understanding.tags.phrases import (
    TOKEN,
    comparison_form,
    empty_words,
    form_nouns,
    generic_nouns,
    phrases_in,
)
from chyme.understanding.tags.topics import Topic

_MIN_LETTERS = 4  # of a column's name
_MIN_TITLE_WORD = 5  # letters of a title's word that is a topic alone
_SINGLE_WORDS = frozenset({"en", "de"})  # languages whose verbs and adjectives are told from nouns
_IN_TITLE = 0.5
_MAX_TITLE_WORDS = 4
_FINITE_VERBS = frozenset(
    {"is", "are", "was", "were", "has", "have", "had", "will", "would", "can", "could", "should", "must", "does", "did"}
    | {
        "i",
        "you",
        "we",
        "they",
        "he",
        "she",
        "it",
        "ist",
        "sind",
        "war",
        "hat",
        "wird",
        "ich",
        "wir",
        "sie",
        "est",
        "sont",
    }
    | {"es", "son", "está", "è", "sono", "zijn", "é", "são"}
)
_MAX_WORDS = 2
_MAX_COLUMNS, _FEW_PEOPLE = 40, 4
_CLAUSES = re.compile(r"(?<=[.?!:;])\s+|\s[–—|-]\s")
_FORMAT_WORDS = frozenset({"csv", "tsv", "xls", "xlsx", "delimited", "separated"})
_BOUNDARIES = frozenset({"via", "per", "vs", "versus", "using"})
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_./()\[\]%-]+")


def find_title_topics(title: str, language: str | None, people: Sequence[str], limit: int) -> list[Topic]:
    """The topics in a title, for a text that is too short to repeat them; none of a clause that is a sentence.

    Whole noun phrases, with their last noun even if that is a general one: `linked images`, not `linked`.
    """
    if title.count(": ") > 1:
        return []  # fields with their values
    persons = find_person_words(title, people)
    if language is None and _may_be_english(title):
        language = "en"
    if not has_noun_endings(language):  # only as a whole is it sure to be a phrase
        words = title.lower().split()
        is_phrase = 1 < len(words) <= _MAX_TITLE_WORDS and all(map(str.isalpha, words)) and not RUNS.search(title)
        return [Topic(" ".join(words), _IN_TITLE)] if language and is_phrase and persons.isdisjoint(words) else []
    found = [
        phrase
        for clause in _CLAUSES.split(title)
        if not _is_sentence(clause)
        for words in _chunks(clause, language)
        if (phrase := _noun_phrase(words, language)) and persons.isdisjoint(map(fold, phrase.split()))
    ]
    found.sort(key=lambda phrase: -min(phrase.count(" "), 1))
    return [Topic(tag, _IN_TITLE) for tag in list(dict.fromkeys(found))[:limit]]


def _may_be_english(title: str) -> bool:
    words = [word.lower() for word in TOKEN.findall(title)]
    foreign = frozenset[str]().union(*map(function_words, ("de", "fr", "es", "it", "nl", "pt"))) - function_words("en")
    return title.isascii() and foreign.isdisjoint(words) and not any("'" in word for word in words)


def _is_sentence(clause: str) -> bool:
    words = [word.lower() for word in TOKEN.findall(clause)]
    return clause.endswith(".") or not _FINITE_VERBS.isdisjoint(words)


def _chunks(title: str, language: str | None) -> Iterator[list[str]]:
    """The words between function words, numbers and punctuation marks."""
    small, empty = function_words(language) | function_words("en") | _BOUNDARIES, empty_words(language)
    chunk: list[str] = []
    tokens = [token.replace("’", "'").removesuffix("'s") for token in TOKEN.findall(title)]
    for token in [*tokens, "."]:
        if token[:1].isalpha() and token.lower() not in small:
            if chunk and chunk[-1].lower() in empty and any(_is_telling(word, language) for word in chunk):
                yield chunk  # a general word ends a phrase: `tidal energy figures`
                chunk = []
            chunk.append(token)
        elif chunk:
            yield chunk
            chunk = []


def _noun_phrase(words: Sequence[str], language: str | None) -> str:
    """The words as a topic, without words of form at either end; empty if none of them tells anything."""
    words = list(words)
    while words and (words[-1].lower() in form_nouns() or not _may_end(words, language)):
        words.pop()
    while words and (_is_form(words[0], language) or (language == "en" and _is_verb_form(words[0], language))):
        del words[0]
    if language == "de":
        fitting = takewhile(lambda word: word[:1].isupper() or word.endswith("e"), reversed(words))
        words = list(fitting)[::-1]  # without verbs and inflected adjectives
    words = words[-_MAX_TITLE_WORDS:]
    telling = [word for word in words if _is_telling(word, language)]
    if not telling or (len(words) == 1 and not (language in _SINGLE_WORDS and len(words[0]) >= _MIN_TITLE_WORD)):
        return ""
    return " ".join(words).lower()


def _is_form(word: str, language: str | None) -> bool:
    """Whether a word at the beginning says nothing; a general noun there belongs to the next one: `cell format`."""
    plain = word.lower()
    return plain in form_nouns() or (plain in empty_words(language) and plain not in generic_nouns(language))


def _may_end(words: Sequence[str], language: str | None) -> bool:
    """Whether the last word may be a noun: after another noun also a participle, as in `machine learning`."""
    *others, last = words
    generic = generic_nouns(language)
    is_compound = bool(others) and last.lower().endswith("ing") and is_nounlike(others[-1].lower(), language)
    if language == "de" and not last[:1].isupper():
        return False
    if others and last.lower() in general_words(language) and comparison_form(last, language) not in generic:
        return False  # `bank good`
    return is_nounlike(last.lower(), language) or last.isupper() or is_compound


def _is_verb_form(word: str, language: str | None) -> bool:
    """Whether a word at the beginning is a participle: `using`, `testing`."""
    return word.lower().endswith("ing") and not is_nounlike(word.lower(), language)


def _is_telling(word: str, language: str | None) -> bool:
    """Whether a noun says more than that something is something."""
    parts = [part for part in word.lower().split("-") if part]
    is_long = len(word) >= _MIN_LETTERS or (word.isupper() and len(word) == _MIN_LETTERS - 1)
    if not parts or not is_long or any(map(str.isdecimal, word)):
        return False
    general = _untelling_words(language)
    is_general = all(part in general or part.removesuffix("s") in general for part in parts)
    return not is_general and is_nounlike(parts[-1], language)


@cache
def _untelling_words(language: str | None) -> frozenset[str]:
    return empty_words(language) | generic_nouns(language) | form_nouns()


def find_column_topics(
    title: str, columns: Sequence[str], language: str | None, limit: int, *, is_file_name: bool = False
) -> list[Topic]:
    """The topics that the title and the names of columns give, the title's first; no general words and no people."""
    found: dict[str, float] = {}
    name = _end_of_name(title, language)
    if is_file_name and not _ends_with(title, name):
        name = ""  # the rest of the name would say what it is about
    if name:
        first, _, last = name.partition(" ")
        found[last if is_file_name and last and first.endswith("s") else name] = 0.6
    people = find_person_words(" . ".join(columns[:_MAX_COLUMNS]))
    if len(people) > _FEW_PEOPLE:
        columns = ()  # a column for each person
    for column in columns[:_MAX_COLUMNS]:
        words = _PARTS.sub(" ", column).split()
        tag = " ".join(words).lower()
        if len(tag) >= _MIN_LETTERS and people.isdisjoint(tag.split()) and _end_of_name(tag, language) == tag:
            found.setdefault(tag, 0.5)
    return [Topic(tag, score) for tag, score in list(found.items())[:limit]]


def _ends_with(title: str, name: str) -> bool:
    words = _PARTS.sub(" ", title).lower().split()
    return bool(name) and words[-1:] == name.split()[-1:] and not _FORMAT_WORDS.intersection(words)


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
