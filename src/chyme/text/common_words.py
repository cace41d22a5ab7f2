"""Words too common to be a topic (verbs, qualities and common nouns of writing) or to be searched for (stop words)."""

from __future__ import annotations

from functools import cache

from chyme.text.function_words import empty_words
from chyme.text.stemmer import fold
from chyme.text.word_lists import WordList

_BY_LANGUAGE = WordList(__package__, "general_words")
_ANY_LANGUAGE = WordList(__package__, "any_language_words")
_COMPOUND_PARTS = WordList(__package__, "compound_words")
_ADJECTIVES = WordList(__package__, "adjectives")
_NON_NOUN_ENDINGS = WordList(__package__, "non_noun_endings")
_NOUNS_WITH_SUCH_ENDINGS = WordList(__package__, "nounlike_exceptions")
_STOP_WORDS = WordList(__package__, "stop_words")


@cache
def general_words(language: str | None) -> frozenset[str]:
    """Function words and general words, in lower case. English words for a language that is not listed here."""
    code = language if language and has_language(language) else "en"
    words = empty_words(code) | _BY_LANGUAGE.words(code) | _BY_LANGUAGE.words("en") | _ANY_LANGUAGE.words()
    return words - compound_words()


@cache
def _common_words() -> frozenset[str]:
    words = frozenset[str]().union(
        *map(general_words, _BY_LANGUAGE.sections), _NOUNS_WITH_SUCH_ENDINGS.words(), compound_words()
    )
    return frozenset(map(fold, words))


def is_common_word(word: str) -> bool:
    """Whether a folded word is listed here in any language: then it is hardly a typing error."""
    return word in _common_words()


def begins_with_a_day(phrase: str) -> bool:
    """Whether a phrase of a script without spaces begins with today, tomorrow or the like."""
    return phrase.startswith(tuple(_ANY_LANGUAGE.words("unspaced days")))


def has_language(language: str | None) -> bool:
    """Whether this language is listed here."""
    return language in _BY_LANGUAGE.sections


def compound_words() -> frozenset[str]:
    """Words that mean something only together with another."""
    return _COMPOUND_PARTS.words()


def is_nounlike(word: str, language: str | None) -> bool:
    """Whether a word may be a noun, judged by its ending; German capitals are not considered here."""
    if word in _ADJECTIVES.words():
        return False
    is_listed = word in _NOUNS_WITH_SUCH_ENDINGS.words()
    return len(word) < 5 or is_listed or not word.endswith(_non_noun_endings(language or ""))


def has_noun_endings(language: str | None) -> bool:
    """Whether nouns of this language can be recognised: by their ending, or German ones by their capital."""
    return language == "de" or language in _NON_NOUN_ENDINGS.sections


@cache
def _non_noun_endings(language: str) -> tuple[str, ...]:
    return tuple(_NON_NOUN_ENDINGS.words(language))


@cache
def stop_words() -> frozenset[str]:
    """In lower case, with straight and with curved apostrophes: English, German and French.

    Not those that mean something in another of these languages: `all`, `after`, `most`, `not` and `same` are outer
    space, a part of the body, cider, distress and seed in German. Nor words that mean something else in their own
    language (`down`, `may`, `mine`, `us`), and words for relations (`about`, `over`, `unter`, `sans`): leaving them out
    cost .003 of NDCG@10 on Cranfield.
    """
    words = frozenset[str]().union(*map(_STOP_WORDS.words, _STOP_WORDS.sections))
    return words | {word.replace("'", "’") for word in words}
