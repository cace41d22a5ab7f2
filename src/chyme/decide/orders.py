"""Where a document speaks to a model instead of to people, and whether somebody did as it says."""

from __future__ import annotations

import re

from chyme.decide.function_words import empty_words
from chyme.decide.sentences import terms_of

_AFTER = 2  # sentences behind one that sets a model loose: there it says what to answer
_HEAD = 5  # letters by which words are compared: who answers inflects
_PIECES = re.compile(r"[^.!?\n。！？]+")
_SETS_LOOSE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^\n]{0,60}\b(?:instructions?|prompts?|rules?|guidelines?|above"
    r"|previous|everything)\b"
    r"|\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\b[^\n]{0,60}\b(?:anweisung\w*|instruktion\w*|regeln)\b"
    r"|\b(?:ignore[zr]?|oublie[zr]?)\b[^\n]{0,60}\b(?:instructions?|consignes?|règles)\b"
    r"|\b(?:ignora|ignore|olvida|olvide|esqueça|dimentica)\b[^\n]{0,60}\b(?:instruc\w+|istruzioni|instruções|reglas)\b"
    r"|\b(?:negeer|vergeet)\b[^\n]{0,60}\b(?:instructies|opdrachten|regels)\b"
    r"|\b(?:new|updated|real|actual) (?:system )?(?:instructions?|prompt)\b"
    r"|\bsystem ?prompt\b|\byou are (?:now )?(?:an? )?(?:ai|assistant|language model|llm|chatbot)\b"
    r"|\b(?:dear|attention|note to(?: the)?|message to(?: the)?) (?:ai|assistant|language model|llm|model)\b"
    r"|<\|[a-z_]{1,30}\|>|\[/?inst\]|^\s*#{0,4}\s*(?:system|assistant)\s*:",
    re.IGNORECASE | re.MULTILINE,
)


def orders_in(text: str) -> tuple[str, str]:
    """The sentences that give orders to a model, and the others."""
    orders: list[str] = []
    others: list[str] = []
    behind = 0
    for piece in _PIECES.findall(text):
        if _SETS_LOOSE.search(piece):
            behind = _AFTER + 1
        elif not piece.strip():
            continue
        (orders if behind else others).append(piece)
        behind = max(behind - 1, 0)
    return "\n".join(orders), "\n".join(others)


def obeys(told: str, text: str, language: str | None) -> bool:
    """Whether most of the words told stand only where the text gives orders to a model."""
    if not _SETS_LOOSE.search(text):
        return False
    empty = empty_words(language)
    ours = _heads(told, empty)
    orders, others = orders_in(text)
    ordered = ours & (_heads(orders, empty) - _heads(others, empty))
    return 2 * len(ordered) > len(ours)


def _heads(text: str, empty: frozenset[str]) -> frozenset[str]:
    return frozenset(term[:_HEAD] for term in terms_of(text, empty))
