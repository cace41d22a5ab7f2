"""Headings that stand where a title belongs and name nothing, such as `Main Title`: those below them are no titles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.text.sized_lines import SizedLine
from chyme.text.word_lists import WordList
from chyme.understanding.titles.cleanup import is_junk
from chyme.understanding.titles.file_names import FROM_NAME, telling_words
from chyme.understanding.titles.first_lines import strip_markdown
from chyme.understanding.titles.heading_titles import Heading
from chyme.understanding.titles.possible_title import Title

BELOW_GENERIC = 0.3  # maximum for what is below such a heading: it is a section
_HEADINGS = WordList(__package__, "generic_headings")
_NUMBER = re.compile(r"\s?\d[\d.]{0,6}$")
_ALIKE = 0.97  # share of the largest size from which on a line is as large
_CONFIDENCE = 0.02  # by which such a heading is more likely than a file name, or less


def is_generic_heading(line: str) -> bool:
    """Whether a line only says that a title belongs there: `Main Title`, `HEADER`, `Heading 1`."""
    plain = " ".join(line[:60].split()).strip(" .:;-–—_*#\"'“”„«»<>[]").casefold()
    return _NUMBER.sub("", plain).rstrip() in _HEADINGS.phrases()


def generic_heading(headings: Sequence[Heading], front: Sequence[SizedLine], slides: bool) -> str:
    """The highest heading, the first of slides, or the largest line of a page, if it names nothing; else empty."""
    if front:
        largest = max(line.size for line in front)
        top = [line.text for line in front if line.size >= _ALIKE * largest]
        is_larger = len(top) < len(front)
        return top[0] if is_larger and all(map(is_generic_heading, top)) else ""
    if not headings:
        return ""
    _, highest, text = headings[0]
    is_alone = slides or all(level > highest for _, level, _ in headings[1:])
    first = strip_markdown(text)
    return first if is_alone and is_generic_heading(first) else ""


def lacks_title_slide(headings: Sequence[Heading]) -> bool:
    """Whether the first titled slide is an agenda or the like: those after it name parts of the talk."""
    return bool(headings) and is_junk(strip_markdown(headings[0][2]))


def generic_title(heading: str, name: str, where: str) -> Title:
    """A heading that names nothing as the title: less likely than a file name that tells more, else more likely."""
    stem = without_extension(name)
    is_telling = not is_machine_made(name) and bool(telling_words(stem) - _HEADINGS.words("parts"))
    return Title(heading, FROM_NAME + (-_CONFIDENCE if is_telling else _CONFIDENCE), where, heading)
