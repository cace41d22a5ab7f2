"""What a recording is about, in a few phrases of its own: words that come again, alone or side by side."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chyme.text.function_words import empty_words
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS

_TOKEN = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|[^\w\s]")
_LONGEST = 3  # words
_ADVERBS = ("ly", "mente", "ment", "lich", "weise", "ing")
_PLURALS = frozenset({"en", "fr", "es", "pt", "nl"})
_SHARE = 0.6  # of its mentions: a word that comes this often inside a phrase is told by the phrase
# Letters that tie words together in Chinese and Japanese; what stands between them is mostly a word.
_TIES = re.compile(
    r"[的了是在我你他她它们們这那這不和有就也都与與及或但而把被从從到对對为為吗嗎呢吧啊着著过過\u3041-\u3096]+"
)


@dataclass(slots=True)
class _Candidate:
    """A phrase while it is counted."""

    words: tuple[str, ...]
    first: int
    count: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    capitals: int = 0


def key_phrases(sentences: Sequence[str], language: str | None, most: int) -> list[tuple[str, int]]:
    """At most so many phrases, the most telling first, each with the sentence that has it first."""
    empty = empty_words(language)
    found: dict[tuple[str, ...], _Candidate] = {}
    for number, sentence in enumerate(sentences):
        for form in _phrases(sentence, empty, capitals_count=language == "de"):
            words = tuple(_key(word, language) for word in form)
            one = found.setdefault(words, _Candidate(words, number))
            one.count += 1
            one.forms[" ".join(form)] += 1
            one.capitals += form[0][:1].isupper()
    again = {words: one for words, one in found.items() if one.count > 1}
    inside: dict[tuple[str, ...], int] = defaultdict(int)
    for words, one in again.items():
        for part in _parts(words):
            inside[part] = max(inside[part], one.count)
    told = [one for words, one in again.items() if inside[words] < _SHARE * one.count]
    told.sort(key=lambda one: (-_weight(one, language), one.first))
    return [(_shown(one), one.first) for one in _distinct(told, most)]


def _phrases(sentence: str, empty: frozenset[str], capitals_count: bool) -> Iterator[tuple[str, ...]]:
    """Every run of one to three words that say something, and the pieces of unspaced script.

    Where capitals tell nouns, the first word stands by itself: its capital tells nothing.
    """
    run: list[str] = []
    tokens = _TOKEN.findall(RUNS.sub(" . ", sentence))
    if capitals_count:
        tokens[1:1] = ["."]
    for token in [*tokens, "."]:
        if _tells(token, empty):
            run.append(token)
            continue
        for start in range(len(run)):
            for stop in range(start + 1, min(start + _LONGEST, len(run)) + 1):
                yield tuple(run[start:stop])
        run = []
    for unspaced in RUNS.findall(sentence):
        yield from ((piece,) for piece in _TIES.split(unspaced) if 2 <= len(piece) <= 8)


def _tells(token: str, empty: frozenset[str]) -> bool:
    plain = token.lower().replace("’", "'")
    stem, _, ending = plain.rpartition("'")
    known = plain in empty or (stem in empty if ending == "s" else ending in empty and len(stem) < 3)
    long_enough = len(plain) > 2 or (len(plain) == 2 and token.isupper())
    return long_enough and not known and any(letter.isalpha() for letter in token)


def _key(word: str, language: str | None) -> str:
    plain = fold(word).removesuffix("'s").removesuffix("’s")
    return plain[:-1] if language in _PLURALS and len(plain) > 3 and plain.endswith("s") else plain


def _parts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for length in range(1, len(words)):
        for start in range(len(words) - length + 1):
            yield words[start : start + length]


def _weight(one: _Candidate, language: str | None) -> float:
    weight = one.count * (1 + 0.8 * (len(one.words) - 1))
    if len(one.words) == 1 and one.words[0].endswith(_ADVERBS):
        weight *= 0.4
    if language == "de":  # its nouns have capitals
        weight *= 1.5 if one.capitals > 0.6 * one.count else 0.4
    elif one.capitals > 0.6 * one.count:
        weight *= 1.2  # a name
    return weight


def _distinct(ranked: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """The best ones that share no word."""
    chosen: list[_Candidate] = []
    used: set[str] = set()
    for one in ranked:
        if len(chosen) == most:
            break
        if used.isdisjoint(one.words):
            chosen.append(one)
            used.update(one.words)
    return chosen


def _shown(one: _Candidate) -> str:
    form = one.forms.most_common(1)[0][0]
    return form[:1].upper() + form[1:]
