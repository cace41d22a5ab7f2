"""Find phrases of a word list in a sentence, quickly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

_KEY = 3  # letters by which phrases are looked up
_NO_WORD = re.compile(r"[^\w'\-]+")
_FIRST_UNSPACED = "\u1100"  # scripts from here on have no spaces before a phrase


class PhraseList:
    """Phrases in lower case. A phrase is found where it begins with a word; its last word may go on."""

    def __init__(self, phrases: Iterable[str]) -> None:
        spaced: defaultdict[str, list[str]] = defaultdict(list)
        unspaced: list[str] = []
        for phrase in phrases:
            (unspaced if phrase[0] >= _FIRST_UNSPACED else spaced[phrase[:_KEY]]).append(phrase)
        self._spaced: Mapping[str, Sequence[str]] = dict(spaced)
        self._unspaced = tuple(unspaced)
        self._short = frozenset(phrase for phrases in spaced.values() for phrase in phrases if len(phrase) < _KEY)

    def begins(self, plain: str) -> bool:
        """Whether a sentence in that form begins with one of the phrases."""
        phrases = self._spaced.get(plain[:_KEY], ())
        if any(plain.startswith(phrase) and plain[len(phrase) : len(phrase) + 1] in ("", " ") for phrase in phrases):
            return True
        first = plain.partition(" ")[0]
        return (len(first) < _KEY and first in self._short) or plain.startswith(self._unspaced)

    def is_in(self, plain: str) -> bool:
        """Whether a sentence, in the form that `plain_words` gives it, contains one of the phrases."""
        start = 0
        while start >= 0:
            phrases = self._spaced.get(plain[start : start + _KEY], ())
            if any(plain.startswith(phrase, start) for phrase in phrases):
                return True
            start = plain.find(" ", start) + 1 or -1
        return not plain.isascii() and any(phrase in plain for phrase in self._unspaced)


def plain_words(sentence: str) -> str:
    """The words of a sentence in lower case, with one space between them and straight apostrophes."""
    return _NO_WORD.sub(" ", sentence.lower().replace("’", "'")).strip()
