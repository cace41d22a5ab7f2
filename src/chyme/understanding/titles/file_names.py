"""Titles from file names: what a person chose, unless it only says what the file is for, such as `test_utf8_2`."""

from __future__ import annotations

import re

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.files.name_words import name_to_words, strip_markup
from chyme.text.word_lists import WordList
from chyme.understanding.classification.data_descriptions import is_code
from chyme.understanding.titles.cleanup import is_junk
from chyme.understanding.titles.possible_title import Title

NAME = "name"
FROM_NAME = 0.35  # the file name, if a person chose it
UNSPECIFIC = 0.305  # just before no title, and behind how the text begins
_UNSPECIFIC_WORDS = WordList(__package__, "unspecific_names")
_SECOND_EXTENSION = re.compile(
    r"(?<=\w)\.(?:docx?|xlsx?|pptx?|pdf|odt|ods|odp|rtf|txt|html?|epub|csv|jpe?g|png|tiff?)$", re.IGNORECASE
)
_SOURCE = "__"  # between where a file comes from and its name there
_PIECE = re.compile(r"[^\W\d_]+")
_SHORT = 2  # letters of a piece that is no word


def title_from_name(name: str, mime: str) -> Title:
    """The title from a file name that a person chose. Source code always gets its file name as the title."""
    stem = without_extension(name)
    if is_code(mime):
        return Title(name if is_machine_made(stem) or is_junk(stem) else name_to_words(stem), FROM_NAME, NAME, name)
    if is_machine_made(stem if mime == "text/html" else name):
        return Title("", 0.0, NAME, name)
    stem = _SECOND_EXTENSION.sub("", stem)
    plain = name_to_words(strip_markup(stem))
    return Title(plain, UNSPECIFIC if is_junk(plain) or is_unspecific(stem) else FROM_NAME, NAME, name)


def is_unspecific(stem: str) -> bool:
    """Whether a name says nothing about the content: `issue7821`, `sample-eng-utf8`, `archive__0001`."""
    source, _, own = stem.rpartition(_SOURCE)
    if source and is_machine_made(own):
        return True
    pieces = _PIECE.findall(name_to_words(own).casefold())
    listed = [piece in _UNSPECIFIC_WORDS.words() for piece in pieces]
    return any(listed) and all(
        is_listed or len(piece) <= _SHORT for piece, is_listed in zip(pieces, listed, strict=True)
    )


def telling_words(stem: str) -> set[str]:
    """The words of a name that may say what is in the file."""
    own = stem.rpartition(_SOURCE)[2]
    pieces = _PIECE.findall(name_to_words(own).casefold())
    return {piece for piece in pieces if len(piece) > _SHORT and piece not in _UNSPECIFIC_WORDS.words()}
