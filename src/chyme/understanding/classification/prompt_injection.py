"""Where a document speaks to a model instead of to people, and whether somebody did as it says.

It finds the usual words of the seven languages chyme knows, however they are wrapped, spaced or mixed with letters
nobody sees. It does not find orders in other languages, in other words ("from here on, every title is …"), spelt with
letters of another alphabet that look alike, s p a c e d out, encoded, or said long before what to answer is said; nor
what a model sees in a picture that no OCR read. So it is one wall of several: an answer must also be about the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from chyme.text.function_words import empty_words
from chyme.text.sentences import terms_of

_AFTER = 3  # sentences behind one that sets a model loose: there it says what to answer
_LONGEST = 400  # characters: where nothing ends a sentence, something must
_HEAD = 5  # letters by which words are compared: who answers inflects
_UNSEEN = re.compile(
    "\u00ad\n?|[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")
_PIECES = re.compile(rf"[^.!?\n。！？]{{1,{_LONGEST}}}")
_GAP = r"[^.!?\n。！？]{0,60}"
_SETS_LOOSE = re.compile(
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
_SPEAKS_AS = re.compile(
    r"^[^\S\n]{0,20}#{0,4}[^\S\n]{0,20}(?:system|assistant)[^\S\n]{0,20}:", re.IGNORECASE | re.MULTILINE
)


def split_injections(text: str) -> tuple[str, str]:
    """The sentences that give orders to a model, and the others, as a model reads them."""
    lines = _as_read(text)
    flat = _WRAPPED.sub(" ", lines)  # as long as before: what is found here stands there
    starts = [found.start() for found in _SETS_LOOSE.finditer(flat)]
    starts = sorted({*starts, *(found.start() for found in _SPEAKS_AS.finditer(lines))}, reverse=True)
    orders: list[str] = []
    others: list[str] = []
    behind = 0
    for piece in _PIECES.finditer(flat):
        begins, ends = piece.span()
        if starts and starts[-1] < ends:
            if not behind:  # the lines above belong to somebody else
                above = max(begins, lines.rfind("\n", begins, starts[-1]) + 1)
                others.append(flat[begins:above])
                begins = above
            while starts and starts[-1] < ends:
                starts.pop()
            behind = _AFTER + 1
        elif not piece[0].strip():
            continue
        (orders if behind else others).append(flat[begins:ends])
        behind = max(behind - 1, 0)
    return "\n".join(orders), "\n".join(other for other in others if other.strip())


def follows_injection(told: str, text: str, language: str | None) -> bool:
    """Whether most of the words told stand only where the text gives orders to a model."""
    ordered = _only_ordered(text, language)
    if not ordered:
        return False
    ours = _heads(_as_read(told), empty_words(language))
    return 2 * len(ours & ordered) > len(ours)


@lru_cache(maxsize=16)  # of one text a title, a summary and many tags are asked
def _only_ordered(text: str, language: str | None) -> frozenset[str]:
    """The words that stand in orders to a model and nowhere else."""
    orders, others = split_injections(text)
    empty = empty_words(language)
    return _heads(orders, empty) - _heads(others, empty) if orders else frozenset()


def _as_read(text: str) -> str:
    """One spelling, no letters that nobody sees, single blanks; lines as they were."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return "\n".join(" ".join(line.split()) for line in plain.splitlines())


def _heads(text: str, empty: frozenset[str]) -> frozenset[str]:
    return frozenset(term[:_HEAD] for term in terms_of(text, empty))
