"""Recognise verse and fiction by how they are written, in any language with capitals and rhymes or quotation marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.markdown_blocks import Block, BlockType

_HEAD, _BLOCKS = 6_000, 200  # characters in which lines of verse are looked for, and blocks that people speak in
_MIN_VERSES, _MIN_VERSE, _MAX_VERSE = 6, 8, 62  # lines of verse, and characters of each
_MIN_VERSE_WORDS = 3.5  # words of a line on average; lists of names have fewer
_VERSE_SHARE, _DISTINCT_SHARE, _RHYME_SHARE = 0.75, 0.7, 0.3
_MARKED_LINE = re.compile(r"^\s*(?:[|#>`*+•]|-\s|\d{1,3}[.)]\s|https?:|\[)")
_LAST_LETTERS = re.compile(r"([^\W\d_]{2})[^\w]*$")
_OPENING = "\"'“„«—–- "
_MIN_SPEECHES, _SPEECH_SHARE, _MIN_VERBS = 4, 0.12, 6  # paragraphs that begin with speech, their share, and other verbs
_QUOTES = '"“„«»‘—'
_SAID = r"said|asked|replied|cried|answered|whispered|exclaimed"
_SPEECH_VERB = re.compile(  # “…,” said he; “…” she asked
    rf"[\"”“’'»«,!?] (?:(?:he|she|they|I|the|[A-Z][\w’']+) ){{0,3}}({_SAID})\b"
    rf"|\b({_SAID}) (?:he|she|the|[A-Z][\w’']+)\b"
    r"|\b(sagte|fragte|rief|antwortete|flüsterte|demanda|répondit|s['’]écria|dijo|preguntó|respondió|disse|chiese"
    r"|rispose|zei|vroeg|antwoordde)\b"
)
_PLAIN_VERBS = frozenset({"said", "sagte", "dijo", "disse", "zei"})  # which newspapers use as well
_CITATION = re.compile(r"\bet al\b|\(\d{4}\)|\bibid\b|\bpp?\. \d|\(\d{1,3}\)|\buniversity press\b", re.IGNORECASE)


def is_verse(text: str) -> bool:
    """Whether a text is written in short lines that rhyme."""
    lines = [line.strip(" \t\r\\") for line in text[:_HEAD].split("\n")]
    are_verses = [_MIN_VERSE <= len(line) <= _MAX_VERSE and not _MARKED_LINE.match(line) for line in lines]
    verses = [
        line
        for at, line in enumerate(lines)
        if are_verses[at] and any(are_verses[max(at - 1, 0) : at] + are_verses[at + 1 : at + 2])  # in a stanza
    ]
    lines = [line for line in lines if line]
    count = len(verses)
    if count < _MIN_VERSES or count < _VERSE_SHARE * len(lines) or any(map(str.isdecimal, "".join(verses))):
        return False
    ends = [match[1].lower() if (match := _LAST_LETTERS.search(line)) else "" for line in verses]
    return (
        len(set(verses)) > _DISTINCT_SHARE * count
        and sum(len(line.split()) for line in verses) >= _MIN_VERSE_WORDS * count
        and sum(line.lstrip(_OPENING)[:1].isupper() for line in verses) >= _VERSE_SHARE * count
        and sum(bool(end) and end in ends[at + 1 : at + 3] for at, end in enumerate(ends)) >= _RHYME_SHARE * count
    )


def is_fiction(blocks: Sequence[Block]) -> bool:
    """Whether people speak in it as in a novel: in paragraphs of their own, or with other verbs than `said`."""
    middle = len(blocks) // 3 if len(blocks) > _BLOCKS else 0  # after the title pages and the contents
    paragraphs = [block.text for block in blocks[middle : middle + _BLOCKS] if block.sort is BlockType.PARAGRAPH]
    spoken = sum(text[:1] in _QUOTES for text in paragraphs)
    if spoken < _MIN_SPEECHES:
        return False
    text = " ".join(paragraphs)
    verbs = ["".join(found) for found in _SPEECH_VERB.findall(text)]
    others = sum(verb not in _PLAIN_VERBS for verb in verbs)
    is_spoken = spoken >= _SPEECH_SHARE * len(paragraphs) and len(verbs) >= _MIN_SPEECHES - 1
    return (is_spoken or others >= _MIN_VERBS) and len(_CITATION.findall(text)) < _MIN_SPEECHES
