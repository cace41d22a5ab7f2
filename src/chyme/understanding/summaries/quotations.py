"""Quote a document without tearing it: all of its words, whole sentences, or the labels of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from chyme.model import Segment
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.sentences import sentences_of
from chyme.understanding.summaries.refusals import is_refused
from chyme.understanding.titles.cleanup import is_junk, same_words

QUOTE_LENGTH = 180  # characters that are quoted
_ONE_SENTENCE = 260  # characters of a single sentence
_LABEL_LENGTH, _MIN_LABELS, _LINES_SHARE = 45, 2, 0.4  # of lines that are quoted, and their share of a text
_MIN_FIELDS, _FIELDS_SHARE = 3, 0.2
_VERSE_READ, _VERSE_LINES, _VERSE_LENGTH, _VERSE_WORDS = 1_000, 4, 60, 3
_PLAIN_SHARE = 0.7  # of letters
_EDGES = " .:*-–—"
_LETTER = re.compile(r"[^\W\d_]")
# What is left of an encoding: quoted-printable, entities, the line ends of Office.
_RESIDUE = re.compile(r"=(?:[0-9A-F]{2})(?![0-9])|&\w{2,6}(?:;|=\s)|_x000[0-9a-fA-F]_|\s=$|\ufffd")
# Formulas, commands and markup of other languages.
_CODE = re.compile(
    r"^#\w+[ (]|^=+ |^\.\. |\$[^$\s][^$]{0,200}\$|\\[a-z]+\b|[{}]|;$|\w\([^()]{0,80}\)\s*[=+]|\w=\w|==|::"
    r"|<[/\w][^<>]{0,80}>|\^"
)
_BREAK = re.compile(r"\\(?=\s|$)")  # a line break of markdown
_JOINED = re.compile(r"[^\W\d_A-Z][A-Z](?:[a-z]|\s)")  # "TitleThis": texts of boxes that were run together
_PAGE_NUMBER = re.compile(r"^\d{1,4}\s+|\s+\d{1,4}$")
_VALUE = re.compile(r"\s*(?::.*|[#(]?\d.*)$")
_NO_LABEL = re.compile(r"[=<>{}\\$|#_;~^•·\[\]\"“”]|\S@\S|[,-]$|^\W|\b(?:https?|www)\b")


def has_residue(text: str) -> bool:
    """Whether a text shows what is left of an encoding: `na=20`, `&nbs= p;`, `_x000d_`."""
    return _RESIDUE.search(text) is not None


def is_run_together(text: str) -> bool:
    """Whether several texts stand in one line without spaces between them."""
    return len(_JOINED.findall(text)) > 1


def quote_sentences(texts: Iterable[str], title: str, language: str | None) -> str:
    """The first whole sentences of the texts that stand one after the other, as many as fit; empty if there are none.

    Those that refer to a formula or to code are left out.
    """
    quoted = ""
    for text in map(partial(_BREAK.sub, ""), texts):
        for sentence in sentences_of([Segment(0.0, 0.0, text)], [text]):
            plain = sentence.text.strip()
            if not _is_sentence(plain, title, language):
                if quoted:
                    return quoted
                continue
            if len(quoted) + len(plain) > (QUOTE_LENGTH if quoted else _ONE_SENTENCE):
                if quoted:
                    return quoted
                continue
            quoted = f"{quoted} {plain}".strip()
    return quoted


def _is_sentence(text: str, title: str, language: str | None) -> bool:
    if is_refused(text, language) or same_words(text, title):
        return False
    return not (has_residue(text) or _CODE.search(text) or is_run_together(text))


def quote_lines(text: str) -> str:
    """The first lines of verse or subtitles, which have no full stops: `The sea is grey / The gulls are gone`."""
    lines = [line.strip() for line in text[:_VERSE_READ].split("\n") if line.strip()][:_VERSE_LINES]
    is_verse = len(lines) == _VERSE_LINES and all(
        len(line) <= _VERSE_LENGTH and line[0].isupper() and len(line.split()) >= _VERSE_WORDS and _is_plain(line)
        for line in lines
    )
    return " / ".join(line.rstrip(" ,;") for line in lines[:2]) if is_verse else ""


def _is_plain(line: str) -> bool:
    letters = len(_LETTER.findall(line))
    return letters > _PLAIN_SHARE * len(line.replace(" ", "")) and not (has_residue(line) or _CODE.search(line))


def field_labels(blocks: Sequence[Block], title: str) -> list[str]:
    """What the fields of a form are called: lines that end with a value, like `Order number 17`."""
    labels = [label for block in blocks if (label := _label(block, title)) and label != block.text.strip(_EDGES)]
    found = list(dict.fromkeys(labels))
    return found if len(found) >= _MIN_FIELDS and len(labels) >= _FIELDS_SHARE * len(blocks) else []


def line_labels(blocks: Sequence[Block], title: str) -> list[str]:
    """The short lines of a text that consists of them, without their values."""
    found = {label: len(block.text) for block in blocks if (label := _label(block, title))}
    is_most = len(found) >= _LINES_SHARE * len(blocks) and sum(found.values()) >= _LINES_SHARE * sum(
        len(block.text) for block in blocks
    )
    return list(found) if len(found) >= _MIN_LABELS and is_most else []


def _label(block: Block, title: str) -> str:
    text = block.text.strip()
    if block.sort in (BlockType.ASIDE, BlockType.MENU) or len(text) > _LABEL_LENGTH:
        return ""
    label = _VALUE.sub("", text).strip(_EDGES)
    letters = len(_LETTER.findall(label))
    is_word = letters > max(2, _PLAIN_SHARE * len(label.replace(" ", ""))) and not _NO_LABEL.search(label)
    is_known = same_words(label, title) or is_junk(label) or is_run_together(label) or has_residue(label)
    return label if is_word and not is_known else ""


def without_running_heads(texts: Iterable[str], title: str) -> list[str]:
    """The texts without those that are the title, alone or beside a page number."""
    return [text for text in texts if not same_words(_PAGE_NUMBER.sub("", text), title)]
