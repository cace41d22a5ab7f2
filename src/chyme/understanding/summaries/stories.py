"""Recognise narratives, whose sentences say what happens and not what the text is, and describe them."""

from __future__ import annotations

import re
from collections import Counter

from chyme.model import Segment
from chyme.text.function_words import words_in
from chyme.text.sentences import sentences_of
from chyme.text.word_lists import WordList
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.wording import join_names, name_author, name_title

_HEAD = 20_000  # characters in which the words of a narrative are counted
_MIN_WORDS = 250
_MIN_TOLD, _TOLD_SHARE = 3, 0.004  # different words of a narrative, and their share of all words
_MIN_PRONOUNS = 0.025  # share of he, she, I, him, her …
_BEGINNING = 200  # characters of a first sentence that is quoted
_MIN_NAMED, _MAX_NAMES = 3, 3  # how often someone is named, and how many are listed
_PERSON = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,15}(?: [A-Z][a-z]{2,15})?\b")
_CHAPTER = re.compile(r"^\W{0,3}(?:chapter|kapitel|chapitre|capítulo|capitolo|hoofdstuk)\b.{0,20}$", re.IGNORECASE)
_WORDS = WordList(__package__, "narrative_words")


def is_story(text: str) -> bool:
    """Whether a text tells a story: people speak, cry and whisper in it, and are called he and she."""
    words = words_in(text[:_HEAD])
    if len(words) < _MIN_WORDS:
        return False
    told = [word for word in words if word in _WORDS.words("telling")]
    people = sum(word in _WORDS.words("people") for word in words)
    is_told = len(set(told)) >= _MIN_TOLD and len(told) >= _TOLD_SHARE * len(words)
    return is_told and people >= _MIN_PRONOUNS * len(words)


def describe_story(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """`A story called “The ice road” with Ada, Captain Brandt; it begins “The winter was cold that year …”.`"""
    if not is_story(source.text):
        return None
    people = [
        name for name, count in Counter(_PERSON.findall(source.text[:_HEAD])).most_common(20) if count >= _MIN_NAMED
    ]
    told = [name for name in people if not any(name != other and name in other.split() for other in people)]
    cast = f" with {join_names(told[:_MAX_NAMES])}" if told else ""
    first = next(
        (block.text for block in source.blocks[:20] if len(block.text) > 60 and not _CHAPTER.match(block.text)), ""
    )
    sentences = sentences_of([Segment(0.0, 0.0, first)], [first])
    beginning = sentences[0].text.strip('"“”') if sentences else ""
    begins = f"; it begins “{beginning}”" if 0 < len(beginning) <= _BEGINNING else ""
    return Composed(f"A story{name_author(facts.author)}{name_title(facts)}{cast}{begins}.", 0.55)
