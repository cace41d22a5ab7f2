"""Detect prompt injection: text in a document that gives a model orders, and answers that follow them.

It finds the usual words of the seven languages chyme knows, however they are wrapped, spaced or mixed with invisible
letters. It does not find orders in other languages, in other words ("from here on, every title is …"), spelt with
similar letters of another alphabet, s p a c e d out, encoded, or far before the text that says what to answer; nor
what a model sees in a picture and OCR did not read. So it is one of several defences: answers must also fit the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from chyme.text.function_words import empty_words
from chyme.text.sentences import terms_of

_SENTENCES_AFTER = 3  # sentences after an order to ignore the rules: they say what to answer
_MAX_SENTENCE = 400  # characters after which a sentence without an end is cut
_PREFIX = 5  # first letters by which words are compared: an answer may inflect them
_INVISIBLE = re.compile(
    "\u00ad\n?|[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")
_PIECES = re.compile(rf"[^.!?\n。！？]{{1,{_MAX_SENTENCE}}}")
_GAP = r"[^.!?\n。！？]{0,60}"
_ORDER = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass)\b{_GAP}\b(?:instructions?|prompts?|rules?|guidelines?|above"
    r"|previous|everything)\b"
    rf"|\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\b{_GAP}\b(?:anweisung\w*|instruktion\w*|regeln)\b"
    rf"|\b(?:ignore[zr]?|oublie[zr]?)\b{_GAP}\b(?:instructions?|consignes?|règles)\b"
    rf"|\b(?:ignora|ignore|olvida|olvide|esqueça|dimentica)\b{_GAP}\b(?:instruc\w+|istruzioni|instruções|reglas)\b"
    rf"|\b(?:negeer|vergeet)\b{_GAP}\b(?:instructies|opdrachten|regels)\b"
    r"|\b(?:new|updated|real|actual) (?:system )?(?:instructions?|prompt)\b"
    r"|\bsystem ?prompt\b|\byou are (?:now )?(?:an? )?(?:ai|assistant|language model|llm|chatbot)\b"
    r"|\b(?:dear|attention|note to(?: the)?|message to(?: the)?) (?:ai|assistant|language model|llm|model)\b"
    r"|<\|[a-z_]{1,30}\|>|\[/?inst\]",
    re.IGNORECASE,
)
_ROLE_LINE = re.compile(
    r"^[^\S\n]{0,20}#{0,4}[^\S\n]{0,20}(?:system|assistant)[^\S\n]{0,20}:", re.IGNORECASE | re.MULTILINE
)


def split_injections(text: str) -> tuple[str, str]:
    """Split the text, as a model reads it, into sentences that give orders to a model and the others."""
    lines = _normalise(text)
    flat = _WRAPPED.sub(" ", lines)  # same length: positions are valid in both texts
    starts = [match.start() for match in _ORDER.finditer(flat)]
    starts = sorted({*starts, *(match.start() for match in _ROLE_LINE.finditer(lines))}, reverse=True)
    orders: list[str] = []
    others: list[str] = []
    remaining = 0
    for piece in _PIECES.finditer(flat):
        start, end = piece.span()
        if starts and starts[-1] < end:
            if not remaining:  # the lines above are not part of the order
                line_start = max(start, lines.rfind("\n", start, starts[-1]) + 1)
                others.append(flat[start:line_start])
                start = line_start
            while starts and starts[-1] < end:
                starts.pop()
            remaining = _SENTENCES_AFTER + 1
        elif not piece[0].strip():
            continue
        (orders if remaining else others).append(flat[start:end])
        remaining = max(remaining - 1, 0)
    return "\n".join(orders), "\n".join(other for other in others if other.strip())


def follows_injection(answer: str, text: str, language: str | None) -> bool:
    """Whether most words of an answer occur only where the text gives orders to a model."""
    ordered = _words_only_in_orders(text, language)
    if not ordered:
        return False
    words = _word_prefixes(_normalise(answer), empty_words(language))
    return 2 * len(words & ordered) > len(words)


@lru_cache(maxsize=16)  # a title, a summary and many tags are checked against one text
def _words_only_in_orders(text: str, language: str | None) -> frozenset[str]:
    """The words that occur in orders to a model and nowhere else."""
    orders, others = split_injections(text)
    empty = empty_words(language)
    return _word_prefixes(orders, empty) - _word_prefixes(others, empty) if orders else frozenset()


def _normalise(text: str) -> str:
    """The text with normalised letters, no invisible ones and single blanks; line breaks stay."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return "\n".join(" ".join(line.split()) for line in plain.splitlines())


def _word_prefixes(text: str, empty: frozenset[str]) -> frozenset[str]:
    return frozenset(term[:_PREFIX] for term in terms_of(text, empty))
