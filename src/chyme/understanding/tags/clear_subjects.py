"""Decide whether a phrase is clearly a subject of its text: only then is it a topic beside better ones."""

from __future__ import annotations

from chyme.understanding.tags.phrases import Phrase

_SHORT_TEXT, _NOTE = 500, 200  # words of a short text, and of a very short one
_WORDS_PER_MENTION = 1_500  # words of a text for each of which one more mention is needed
# Mentions, and blocks in which they are, of a word, a name, and a phrase of several words.
_OF_WORD, _OF_NAME, _OF_PHRASE = (6, 4), (4, 3), (3, 2)
_OF_WORD_IN_NOTE = (3, 1)
_IN_HEADING = (4, 4)  # of a word that a heading contains
_IN_SHORT_TEXT = (2, 1)  # the same in a short text of a phrase that is a name or in a heading
_LATE = 0.7  # position of the first mention from which on it is only a detail
_NAMED = 0.7  # share of the mentions with a capital


def is_name(phrase: Phrase) -> bool:
    """Whether it has a capital where other words have none."""
    return phrase.inside > 0 and phrase.capitals > _NAMED * phrase.inside


def is_clear_subject(phrase: Phrase, words: int, language: str | None) -> bool:
    """Whether the title names it, or it comes early and is frequent and spread for a text of so many words."""
    if phrase.titled:
        return True
    is_short = words < _SHORT_TEXT
    if phrase.first > _LATE and not phrase.raised and not is_short:
        return False
    if len(phrase.keys) > 1:
        least, spread = _OF_PHRASE
        if is_short and (phrase.raised or is_name(phrase)):
            least, spread = _IN_SHORT_TEXT
    elif is_name(phrase) and language != "de":  # all German nouns have a capital
        least, spread = _OF_NAME
    elif words < _NOTE:
        least, spread = _OF_WORD_IN_NOTE
    else:
        least, spread = _IN_HEADING if phrase.raised else _OF_WORD
    if not phrase.raised:
        least += words // _WORDS_PER_MENTION
    return phrase.count >= least and len(phrase.places) >= spread
