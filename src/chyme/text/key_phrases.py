"""Key phrases of a recording: words that are repeated, alone or side by side."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chyme.text.function_words import empty_words
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS

_TOKEN = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|[^\w\s]")
_MAX_WORDS = 3  # words
_ADVERBS = ("ly", "mente", "ment", "lich", "weise", "ing")
_PLURALS = frozenset({"en", "fr", "es", "pt", "nl"})
_COVERED_SHARE = 0.6  # of its mentions: a word that occurs this often inside a phrase is covered by the phrase
# Characters that connect words in Chinese and Japanese; what is between them is mostly a word.
_CONNECTORS = re.compile(
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


def key_phrases(sentences: Sequence[str], language: str | None, limit: int) -> list[tuple[str, int]]:
    """At most `limit` phrases, the most significant first, each with the index of the first sentence that has it."""
    empty = empty_words(language)
    found: dict[tuple[str, ...], _Candidate] = {}
    for number, sentence in enumerate(sentences):
        for form in _find_phrases(sentence, empty, capitals_count=language == "de"):
            words = tuple(_word_key(word, language) for word in form)
            candidate = found.setdefault(words, _Candidate(words, number))
            candidate.count += 1
            candidate.forms[" ".join(form)] += 1
            candidate.capitals += form[0][:1].isupper()
    repeated = {words: candidate for words, candidate in found.items() if candidate.count > 1}
    longest_count: dict[tuple[str, ...], int] = defaultdict(int)
    for words, candidate in repeated.items():
        for part in _subphrases(words):
            longest_count[part] = max(longest_count[part], candidate.count)
    ranked = [
        candidate for words, candidate in repeated.items() if longest_count[words] < _COVERED_SHARE * candidate.count
    ]
    ranked.sort(key=lambda candidate: (-_weight(candidate, language), candidate.first))
    return [(_display_form(candidate), candidate.first) for candidate in _distinct(ranked, limit)]


def _find_phrases(sentence: str, empty: frozenset[str], capitals_count: bool) -> Iterator[tuple[str, ...]]:
    """Every run of one to three significant words, and the pieces of unspaced script.

    Where capitals mark nouns, the first word stands alone: its capital means nothing.
    """
    run: list[str] = []
    tokens = _TOKEN.findall(RUNS.sub(" . ", sentence))
    if capitals_count:
        tokens[1:1] = ["."]
    for token in [*tokens, "."]:
        if _is_significant(token, empty):
            run.append(token)
            continue
        for start in range(len(run)):
            for stop in range(start + 1, min(start + _MAX_WORDS, len(run)) + 1):
                yield tuple(run[start:stop])
        run = []
    for unspaced in RUNS.findall(sentence):
        yield from ((piece,) for piece in _CONNECTORS.split(unspaced) if 2 <= len(piece) <= 8)


def _is_significant(token: str, empty: frozenset[str]) -> bool:
    plain = token.lower().replace("’", "'")
    stem, _, ending = plain.rpartition("'")
    known = plain in empty or (stem in empty if ending == "s" else ending in empty and len(stem) < 3)
    long_enough = len(plain) > 2 or (len(plain) == 2 and token.isupper())
    return long_enough and not known and any(letter.isalpha() for letter in token)


def _word_key(word: str, language: str | None) -> str:
    plain = fold(word).removesuffix("'s").removesuffix("’s")
    return plain[:-1] if language in _PLURALS and len(plain) > 3 and plain.endswith("s") else plain


def _subphrases(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for length in range(1, len(words)):
        for start in range(len(words) - length + 1):
            yield words[start : start + length]


def _weight(candidate: _Candidate, language: str | None) -> float:
    weight = candidate.count * (1 + 0.8 * (len(candidate.words) - 1))
    if len(candidate.words) == 1 and candidate.words[0].endswith(_ADVERBS):
        weight *= 0.4
    if language == "de":  # German nouns are capitalised
        weight *= 1.5 if candidate.capitals > 0.6 * candidate.count else 0.4
    elif candidate.capitals > 0.6 * candidate.count:
        weight *= 1.2  # a name
    return weight


def _distinct(ranked: Sequence[_Candidate], limit: int) -> list[_Candidate]:
    """The best candidates that share no word."""
    chosen: list[_Candidate] = []
    used: set[str] = set()
    for candidate in ranked:
        if len(chosen) == limit:
            break
        if used.isdisjoint(candidate.words):
            chosen.append(candidate)
            used.update(candidate.words)
    return chosen


def _display_form(candidate: _Candidate) -> str:
    form = candidate.forms.most_common(1)[0][0]
    return form[:1].upper() + form[1:]
