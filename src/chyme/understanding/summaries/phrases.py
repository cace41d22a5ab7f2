"""Find phrases of a word list in a sentence, quickly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

_KEY = 3  # letters by which phrases are looked up
_NO_WORD = re.compile(r"[^\w'\-]+")
_FIRST_UNSPACED = "\u1100"  # scripts from here on have no spaces before a phrase


class PhraseList:
    """Phrases in lower case, in groups. A phrase is found where it begins with a word; its last word may go on."""

    def __init__(self, groups: Mapping[str, Iterable[str]]) -> None:
        spaced: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        unspaced: list[tuple[str, str]] = []
        for group, phrases in groups.items():
            for phrase in phrases:
                row = (phrase, group)
                (unspaced if phrase[0] >= _FIRST_UNSPACED else spaced[phrase[:_KEY]]).append(row)
        self._spaced: Mapping[str, Sequence[tuple[str, str]]] = dict(spaced)
        self._unspaced = tuple(unspaced)

    def groups_in(self, plain: str) -> set[str]:
        """The groups of the phrases that a sentence contains, in the form that `plain_words` gives it."""
        found: set[str] = set()
        start = 0
        while start >= 0:
            for phrase, group in self._spaced.get(plain[start : start + _KEY], ()):
                if plain.startswith(phrase, start):
                    found.add(group)
            start = plain.find(" ", start) + 1 or -1
        if not plain.isascii():
            found.update(group for phrase, group in self._unspaced if phrase in plain)
        return found

    def groups_at_start(self, plain: str) -> set[str]:
        """The groups of the phrases, as whole words, that a sentence in that form begins with."""
        first = plain.partition(" ")[0]
        rows = self._spaced.get(plain[:_KEY] if len(first) >= _KEY else first, ())
        if len(first) < _KEY:
            rows = [*rows, *self._spaced.get(plain[:_KEY], ())]  # "in fact" is kept below "in "
        found = {
            group
            for phrase, group in rows
            if plain.startswith(phrase) and plain[len(phrase) : len(phrase) + 1] in ("", " ")
        }
        found.update(group for phrase, group in self._unspaced if plain.startswith(phrase))
        return found


def plain_words(sentence: str) -> str:
    """The words of a sentence in lower case, with one space between them and straight apostrophes."""
    return _NO_WORD.sub(" ", sentence.lower().replace("’", "'")).strip()
