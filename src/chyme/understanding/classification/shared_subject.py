"""Check whether a model's title has a subject in common with the document, and not only words that any text has."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise

from chyme.text.common_words import compound_words, general_words, has_language
from chyme.text.function_words import empty_words
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS, normalize_run
from chyme.understanding.dates.vocabulary import MONTHS, SHORT_MONTHS
from chyme.understanding.titles.cleanup import WEEKDAYS

_LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")  # languages whose function words are listed
_WORD = re.compile(r"[^\W\d_]{3,}")
_SYLLABIC = re.compile("[\u3041-\u309f]")  # Hiragana: the endings and particles of Japanese
_ALPHABETIC = re.compile("[\u0e01-\u0ecd\u1000-\u109d\u1780-\u17d3]")  # Thai … Khmer: two letters are no word
_ALPHABETIC_RUN = 4  # letters that such scripts must share
_PAIRS = 2  # pairs of ideographs that must be shared, if the title has so many
_BEGINNING, _SHARE = 5, 0.6  # letters, and their share of the longer word, that two forms of a word have in common
_PART = 6  # letters of a word that is found within another: fewer occur there by chance
_UNLISTED_LENGTH = 5  # letters of a telling word in a language whose small words are not listed
_GENERAL_WORDS = 2  # general words, such as `report`, that together make up for a telling one


def shares_subject(title: str, document: str, language: str | None) -> bool:
    """Whether a telling word of the title is in the document, or two general ones if it has no better.

    Function words, numbers and the names of months and days do not count. In scripts without spaces, letters side by
    side take the place of words.
    """
    runs, text_runs = RUNS.findall(title), RUNS.findall(document)
    if runs and _shares_runs(runs, text_runs):
        return True
    words = _significant_words(RUNS.sub(" ", title), language)
    if not words:
        return False
    folded = fold(RUNS.sub(" ", document))
    in_text = frozenset(_WORD.findall(folded))
    general = _general(language)
    telling = [word for word in words if word not in general]
    if any(_occurs(word, in_text, folded) for word in telling):
        return True
    vague = [word for word in words if word in general]
    needed = _GENERAL_WORDS if telling else min(_GENERAL_WORDS, len(vague))
    return bool(vague) and sum(word in in_text for word in vague) >= needed


def count_significant_words(text: str, language: str | None) -> int:
    """How many words of a text are more than function words, numbers or dates; a run without spaces counts as one."""
    return len(_significant_words(RUNS.sub(" ", text), language)) + len(RUNS.findall(text))


def _significant_words(text: str, language: str | None) -> list[str]:
    """The folded words that may name a subject, each once."""
    empty = _empty(language)
    least = 3 if language is None or has_language(language) else _UNLISTED_LENGTH
    words = (fold(word) for word in _WORD.findall(text) if len(word) >= least)
    return [word for word in dict.fromkeys(words) if word not in empty]


def _occurs(word: str, words: Collection[str], text: str) -> bool:
    """Whether a word is in the text, in another form or as a part of a longer one."""
    if word in words:
        return True
    head = word[: max(_BEGINNING, int(len(word) * _SHARE))]
    if len(word) >= _BEGINNING and any(
        other.startswith(head) and len(head) >= _SHARE * len(other) for other in words if len(other) >= _BEGINNING
    ):
        return True
    part = word[: max(_PART, int(len(word) * 0.8))]
    return len(part) >= _PART and part in text


def _shares_runs(runs: Sequence[str], text_runs: Sequence[str]) -> bool:
    text = " ".join(map(normalize_run, text_runs))
    for run in map(normalize_run, runs):
        if _ALPHABETIC.search(run):
            pieces = [run[at : at + _ALPHABETIC_RUN] for at in range(len(run) - _ALPHABETIC_RUN + 1)]
            if any(piece in text for piece in pieces):
                return True
    pairs = {
        first + second
        for run in map(normalize_run, runs)
        for first, second in pairwise(run)
        if not _SYLLABIC.search(first + second) and not _ALPHABETIC.search(first + second)
    }
    return bool(pairs) and sum(pair in text for pair in pairs) >= min(_PAIRS, len(pairs))


@cache
def _empty(language: str | None) -> frozenset[str]:
    """Folded words without a subject: of the language, or of every listed one if it is unknown or not listed."""
    known = (language,) if has_language(language) else _LANGUAGES
    words = frozenset[str]().union(*map(empty_words, known), empty_words("en"), WEEKDAYS.words())
    months = " ".join(line for names in (MONTHS, SHORT_MONTHS) for part in names.sections.values() for line in part)
    return frozenset(map(fold, words | frozenset(months.replace("|", " ").split())))


@cache
def _general(language: str | None) -> frozenset[str]:
    return frozenset(map(fold, general_words(language) | compound_words()))
