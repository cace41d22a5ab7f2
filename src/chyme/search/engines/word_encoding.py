"""Texts and questions as a larger engine is told them: cut, folded and stemmed as the vault's own index does it.

Such an engine cuts words its own way: it takes runs of Han apart, and finds "mach in" for "machin". So every word gets
a letter in front that no part of a word has, and words in other letters than ASCII are spelt out. What begins alike is
spelt alike, so that beginnings are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chyme.search.query.parser import Term, expression
from chyme.text.stemmer import fold, stem
from chyme.text.unspaced_scripts import RUNS

_LONGEST = 240  # bytes; Meilisearch leaves out longer words
_TOKENS = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")  # a combining mark stays with its letter
_ASKED = re.compile(r'"((?:[^"]|"")*)"( \*)?')


@dataclass(frozen=True, slots=True)
class EnginePhrase:
    """Words that must stand one after the other; the last may go on."""

    words: tuple[str, ...]
    prefix: bool = False


def engine_words(text: str) -> list[str]:
    """The words of a text that was segmented already."""
    return [_spelt(word if RUNS.match(word) else stem(fold(word))) for word in _TOKENS.findall(text)]


def engine_phrases(terms: Iterable[Term]) -> list[EnginePhrase]:
    """What a question asks for; any of it may match. Read from the expression the vault's own index is asked with."""
    asked = [
        EnginePhrase(tuple(engine_words(words.replace('""', '"'))), bool(prefix))
        for words, prefix in _ASKED.findall(expression(terms))
    ]
    return [one for one in asked if one.words]


def _spelt(word: str) -> str:
    return "q" + word[:_LONGEST] if word.isascii() else "x" + word.encode("utf-8", "surrogatepass").hex()[:_LONGEST]
