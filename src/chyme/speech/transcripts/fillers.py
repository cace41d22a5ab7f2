"""Filler sounds and stuttered words by language: only those that have no meaning in that language."""

from __future__ import annotations

import re
from functools import cache

# A sound in one language is a word in another: `um` is German and Portuguese, `er` German and Dutch.
_FILLERS = {
    "en": r"u+m+|u+h+m*|e+r+m+|er|ehm+",
    "de": r"ä+h+m*|ö+h+m*|e+h+m+|ühm+|uhm+",
    "fr": r"e+u+h+m*|h+e+u+h*|ehm+",
    "es": r"eh+m*|em+|uhm+",
    "it": r"eh+m+|uhm+|ehmm+",
    "nl": r"u+h+m*|e+h+m*|e+u+h+m*",
    "pt": r"ehm+|uhm+|ahm+|ã+h+m*",
}
_FILLERS_ELSEWHERE = r"uhm+|ehm+|ähm+"

# Words that no sentence has twice in a row. Left out on purpose: `that that`, `had had`, `in in`, `nous nous`,
# `die die`, `von von`, and words that people repeat for emphasis.
_SAID_ONCE = {
    "en": "a an and at because but i i'm if my of or our she the their they this to we we're your",
    "de": "aber am beim dass ein eine einem einen einer für ich im oder und vom weil wenn wir zum zur du",
    "fr": "avec c'est dans des du et il ils j'ai je le les mais on ou parce pour un une",
    "es": "al con de del el en las los pero porque un una y yo",
    "it": "al con del della di e gli il io lo ma nel nella per perché un una",
    "nl": "aan de een en ik maar met omdat wij we",
    "pt": "com da de do e eu mas na no os porque um uma ao",
}
_ARTICLES = {
    "en": "the a an my our your their",
    "de": "dem den das ein eine einen einem einer",
    "fr": "le la les un une des du",
    "es": "el la los las un una",
    "it": "il lo la gli le un una",
    "nl": "de het een",
    "pt": "o a os as um uma",
}
# Words that may precede an article in a phrase said twice: `in the in the`.
_BEFORE_ARTICLES = {
    "en": "and at by for from in into of on or to with",
    "de": "an auf aus bei für in mit nach oder über und unter von vor zu",
    "fr": "à avec dans de et ou par pour sur",
    "es": "a con de en o para por y",
    "it": "a con di e in o per su",
    "nl": "aan bij en in met naar of op uit van voor",
    "pt": "com de e em ou para por",
}
KNOWN = tuple(_FILLERS)


@cache
def filler_pattern(language: str | None) -> re.Pattern[str]:
    """Matches one whole word that is only a sound, ignoring case."""
    return re.compile(_FILLERS.get(language or "", _FILLERS_ELSEWHERE), re.IGNORECASE)


@cache
def stutter_words(language: str | None) -> frozenset[str]:
    """Words, in lower case, whose immediate repetition is a stutter."""
    return frozenset(_SAID_ONCE.get(language or "", "").split())


@cache
def stutter_phrases(language: str | None) -> frozenset[tuple[str, str]]:
    """Pairs of words, in lower case, whose immediate repetition is a stutter."""
    known = language or ""
    return frozenset(
        (before, article)
        for before in _BEFORE_ARTICLES.get(known, "").split()
        for article in _ARTICLES.get(known, "").split()
    )


def is_filler(word: str, language: str | None) -> bool:
    """Whether a bare word is only a sound. In capitals it is an abbreviation: ER, UM."""
    return filler_pattern(language).fullmatch(word) is not None and (len(word) < 2 or not word.isupper())
