"""Texts and questions as sent to Meilisearch: tokenised, folded and stemmed as in the vault's own index.

Meilisearch tokenises words its own way: it splits runs of Han, and finds "mach in" for "machin". So every word gets a
prefix letter that no part of a word has, and words with letters outside ASCII are encoded as hex. Words with the same
beginning have encodings with the same beginning, so that prefixes are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chyme.search.query.parser import Term, expression
from chyme.text.stemmer import fold, stem
from chyme.text.unspaced_scripts import RUNS

_MAX_BYTES = 240  # bytes; Meilisearch ignores longer words
_TOKENS = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")  # a combining mark stays with its letter
_QUOTED = re.compile(r'"((?:[^"]|"")*)"( \*)?')


@dataclass(frozen=True, slots=True)
class EnginePhrase:
    """Words that must follow each other; the last may be a prefix."""

    words: tuple[str, ...]
    prefix: bool = False


def engine_words(text: str) -> list[str]:
    """The words of a text that was segmented already."""
    return [_encode_word(word if RUNS.match(word) else stem(fold(word))) for word in _TOKENS.findall(text)]


def engine_phrases(terms: Iterable[Term]) -> list[EnginePhrase]:
    """The phrases of a question, any of which may match; parsed from the expression for the vault's own index."""
    phrases = [
        EnginePhrase(tuple(engine_words(words.replace('""', '"'))), bool(prefix))
        for words, prefix in _QUOTED.findall(expression(terms))
    ]
    return [phrase for phrase in phrases if phrase.words]


def _encode_word(word: str) -> str:
    return "q" + word[:_MAX_BYTES] if word.isascii() else "x" + word.encode("utf-8", "surrogatepass").hex()[:_MAX_BYTES]
