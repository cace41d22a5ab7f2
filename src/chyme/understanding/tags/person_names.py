"""Find the names of people in a text, and of towns in addresses: speakers, authors and senders are no topics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from chyme.text.stemmer import fold
from chyme.text.word_lists import WordList

_FIRST_NAMES = WordList(__package__, "first_names")
_MAX_CHARS = 60_000  # characters that are read
_MIN_SPOKEN = 3  # lines with a speaker's name before a colon
_NAME = r"[^\W\d_][\w'’-]{1,20}"
_PAIR = re.compile(rf"\b([A-ZÀ-Þ][\w'’-]{{1,14}})\s(?:[A-Z]\.\s?)?(?=([A-ZÀ-Þ]{_NAME}))")  # `Mayor John Smith` has two
_IN_ADDRESS = re.compile(  # Springfield, IL 62703
    r"\b([A-ZÀ-Þ][^\W\d_]{2,20})(?:[ -]([A-ZÀ-Þ][^\W\d_]{2,20}))?,? (?:[A-Z]{2}|[A-Z][a-z]{2,4}\.),? \d{5}\b"
)
_LAST_FIRST = re.compile(r"\b([A-ZÀ-Þ][^\W\d_]{1,20}), ([A-ZÀ-Þ][^\W\d_]{1,14})\b")
_BEFORE_JUDGES = re.compile(  # LOKEN, WOLLMAN, and BENTON, Circuit Judges
    r"((?:[A-Z][\w'’-]{1,20},? (?:and )?){1,4})"
    r"(?:(?:Chief|Circuit|District|Presiding|Associate|Senior) ){1,2}(?:Judges?|Justices?)\b"
)
_CITED = re.compile(
    r"\b([A-ZÀ-Þ][^\W\d_]{1,20})(?: (?:and|&|und|et) ([A-ZÀ-Þ][^\W\d_]{1,20}))?,?(?: et al\b| \(?(?:19|20)\d\d[a-z]?\))"
)
_AFTER_TITLE = re.compile(
    r"\b(Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Judge|Justice|Sir|Lady|Lord|Herrn?|Frau|Monsieur|Madame|Mme|Mlle|Señora?|Sra?"
    r"|Signora?|Sig|Dott|Sen|Senator|Rep|Gov|President|Chancellor|Capt|Captain|Sgt|Officer|Heer|Mevrouw|Dhr|Mevr)\.?\s"
    rf"([A-ZÀ-Þ][\w'’-]{{1,20}})(?:\s([A-ZÀ-Þ]{_NAME}))?"
)
_AFTER_INITIAL = re.compile(r"(?<![\w.])[A-Z]\.\s?(?:[A-Z]\.\s?){0,2}([A-ZÀ-Þ][^\W\d_]{2,20})\b")
_BEFORE_INITIALS = re.compile(r"\b([A-ZÀ-Þ][^\W\d_]{2,20}),\s(?:[A-Z]\.\s?){1,3}")
_GREETED = re.compile(
    r"^\W{0,3}(?:Hi|Hello|Hey|Dear|Hallo|Liebe[r]?|Salut|Bonjour|Hola|Ciao|Beste)\s([A-ZÀ-Þ][^\W\d_]{2,20})\b",
    re.MULTILINE,
)
_SPEAKER = re.compile(r"^\W{0,3}([A-ZÀ-Þ][^\W\d_]+(?:\s[A-ZÀ-Þ][^\W\d_]+){0,2})\s?:\s", re.MULTILINE)
_RELATIVE = re.compile(
    r"\b(?:wife|husband|widow|son|daughter|brother|sister|mother|father|uncle|aunt|cousin|nephew|niece|girlfriend"
    r"|boyfriend|fiancée?|partner)\s([A-ZÀ-Þ][^\W\d_]{2,20})\b"
)
_NOUNS_TOO = frozenset({"Frau", "Herr", "Herrn"})  # which may stand beside any other noun
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’-][^\W\d_]+)*")


def find_relatives(text: str) -> frozenset[str]:
    """The first names after words for relatives, folded: `his wife Anna`."""
    return frozenset(map(fold, _RELATIVE.findall(text[:_MAX_CHARS])))


def find_person_words(text: str, people: Iterable[str] = ()) -> frozenset[str]:
    """The words of names of people, and of towns in addresses, folded; `people` are names known from elsewhere."""
    text = text[:_MAX_CHARS]
    first_names = _FIRST_NAMES.words()
    found = {word for name in people for word in _WORD.findall(name)}
    for first, last in _PAIR.findall(text):
        if first.lower() in first_names:
            found.update((first, last))
    for (title, *names), times in Counter(_AFTER_TITLE.findall(text)).items():
        if title not in _NOUNS_TOO or times > 1:
            found.update(filter(None, names))
    found.update(_GREETED.findall(text))
    found.update(_AFTER_INITIAL.findall(text))
    found.update(_BEFORE_INITIALS.findall(text))
    for last, first in _LAST_FIRST.findall(text):
        if first.lower() in first_names:
            found.update((first, last))
    if "Judge" in text or "Justice" in text:
        found.update(word for names in _BEFORE_JUDGES.findall(text) for word in _WORD.findall(names) if word != "and")
    found.update(name for names in _CITED.findall(text) for name in names if name)
    found.update(name for names in _IN_ADDRESS.findall(text) for name in names if name)
    for name, times in Counter(_SPEAKER.findall(text)).items():
        if times >= _MIN_SPOKEN:
            found.update(name.split())
    return frozenset(fold(word).replace("’", "'").removesuffix("'s") for word in found)
