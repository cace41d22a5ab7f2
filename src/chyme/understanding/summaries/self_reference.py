"""Recognise sentences in which a document speaks of itself: "This report …"."""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile

from chyme.text.function_words import function_words
from chyme.text.word_lists import WordList

_MAX_NOUN_WORDS = 4  # words after "this" among which the document names itself
_THIS = re.compile(
    r"^(?:(?:in|with|dans|en|mit|for) )?(?:this|these|the present|the following|the attached|the enclosed|dies\w*"
    r"|d(?:as|ie|er) vorliegende|ce|cet|cette|est[ea]|quest[oa]|dit|deze|neste|nesta)\s+(.{3,80})",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_NOUNS = WordList(__package__, "document_nouns")


def names_document(sentence: str) -> bool:
    """Whether a sentence begins with the document itself: "This report …", "In this study …"."""
    match = _THIS.match(sentence)
    if match is None:
        return False
    words = [word.lower() for word in _WORD.findall(match[1])]
    if words[0] in ("is", "ist", "est", "es"):  # "This is a guide to …", but not "This is the case"
        words = (
            words[2 : 2 + _MAX_NOUN_WORDS]
            if len(words) > 2 and words[1] in ("a", "an", "ein", "eine", "un", "une", "una")
            else []
        )
    noun_phrase = takewhile(lambda word: word not in function_words("en"), words[:_MAX_NOUN_WORDS])
    return any(word in _nouns() for word in noun_phrase)


@cache
def _nouns() -> frozenset[str]:
    return frozenset().union(*(_NOUNS.words(language) for language in _NOUNS.sections))
