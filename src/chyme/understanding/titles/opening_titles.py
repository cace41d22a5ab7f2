"""Titles of texts that have none: the first line of a poem, the first sentence, or that it is placeholder text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chyme.model import Segment
from chyme.text.markdown_blocks import BlockType
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import sentences_of, word_count
from chyme.understanding.classification.data_descriptions import is_data, parse_markdown_table
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import is_filler, is_log_line
from chyme.understanding.titles.line_roles import is_date_line, is_no_title, is_salutation
from chyme.understanding.titles.possible_title import Title

_OPENING_LENGTH = 90  # characters of the first sentence when it serves as a title
_READ = 400  # characters of a block in which its first sentence is searched
_BLOCKS = 8  # first blocks
_OPENING, _PLACEHOLDER, _VERSE = 0.31, 0.33, 0.48  # confidence
_VERSES, _VERSE_LENGTH = 4, (12, 62)  # lines of a poem, and characters of each
_BROKEN_OFF = re.compile(r"[,;:.!?…—–-][\"'”’»]?$")  # how lines of a poem end
_NO_VERSE = re.compile(r"^[\W_]*\d|^[-*•>|#]|https?://|@|^[\w ]{1,20}:\s|\s{3,}|\|")


def title_from_opening(source: SourceText, mime: str) -> Iterator[Title]:
    """The first sentence, for files that have no other title, not even a file name that a person chose."""
    if is_data(mime) or parse_markdown_table(source.text):
        return
    for block in source.blocks[:_BLOCKS]:
        if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM) and word_count(block.text[:_READ]) > 2:
            sentence = sentences_of([Segment(0.0, 0.0, block.text[:_READ])], [block.text[:_READ]])[0].text
            if is_filler(sentence):
                yield Title("Placeholder text (lorem ipsum)", _PLACEHOLDER, source.where, sentence)
                return
            is_question = sentence.endswith("?")  # it says less than an answer
            if not (is_salutation(sentence) or is_log_line(sentence) or is_no_title(sentence) or is_question):
                yield Title(shorten_text(sentence.rstrip("."), _OPENING_LENGTH), _OPENING, source.where, sentence)
                return


def title_of_poem(lines: Sequence[str], where: str) -> Iterator[Title]:
    """The first line of a text that begins with verses, as poems without a title are called."""
    first = [line.rstrip(" \\") for line in lines[: _VERSES + 2] if line]
    if len(first) < _VERSES or "" in lines[:_VERSES]:
        return
    verses = first[:_VERSES]
    if all(map(_may_be_verse, verses)) and sum(_BROKEN_OFF.search(line) is not None for line in verses) >= 2:
        yield Title(verses[0].rstrip(" ,;:.—–-"), _VERSE, where, verses[0])


def _may_be_verse(line: str) -> bool:
    shortest, longest = _VERSE_LENGTH
    return (
        shortest <= len(line) <= longest
        and word_count(line) > 2
        and line.lstrip("\"'“„«—–-( ")[:1].isupper()
        and _NO_VERSE.search(line) is None
        and not is_date_line(line)
        and not is_salutation(line)
    )
