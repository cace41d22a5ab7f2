"""Read texts without markup as prose: lines above a paragraph, and what is set like code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.function_words import function_words, words_in
from chyme.text.markdown_blocks import Block, BlockType

_PARAGRAPH_LINE, _SHORT_LINE = 55, 0.6  # characters of a line of a paragraph, and the share that a short line has
_BEGINNING, _MIN_WORDS = 80, 30  # blocks that show how a text is set, and words that are needed to judge it
_ENDED = re.compile(r"[.!?…:;。！？：；؟।][\"'”»’)\]」』*]{0,3}$")
_NO_TEXT = re.compile(r"^[ \t]*(?:(?:```|~~~).*|[\[<][^\n]*[\]>][ \t]*)$", re.MULTILINE)  # fences, notes of a printer
_CASE_LENGTH = 2_000  # characters that show how a text is written
_SENTENCE_START, _SPACED_STOP = re.compile(r"(\A\s*|\n\s*\n|[.!?]\s+)([^\W\d_])"), re.compile(r" ([.,;:!?])(?=\s|\Z)")
_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)


def is_preformatted(blocks: Sequence[Block]) -> bool:
    """Whether nearly all of a text is set like code, but reads like prose."""
    beginning = blocks[:_BEGINNING]
    aside = [block.text for block in beginning if block.sort is BlockType.ASIDE]
    if sum(map(len, aside)) <= 0.7 * sum(len(block.text) for block in beginning):
        return False
    words = words_in(" ".join(aside))
    small = function_words("en") | function_words("de") | function_words("fr") | function_words("es")
    return len(words) > _MIN_WORDS and sum(word in small for word in words) > 0.25 * len(words)


def plain_lines(text: str) -> str:
    """A preformatted text without indentation and fences, so that its lines are read as paragraphs."""
    return separate_short_lines(_INDENTATION.sub("", _NO_TEXT.sub("", text)))


def is_lower_case(text: str) -> bool:
    """Whether a text has no capital letters, like old databases and some chats."""
    beginning = text[:_CASE_LENGTH]
    return sum(map(str.islower, beginning)) > _CASE_LENGTH // 40 and sum(map(str.isupper, beginning)) < 3


def capitalise_sentences(text: str) -> str:
    """A text without capitals with one at the beginning of each sentence, and no space before a full stop."""
    return _SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), _SPACED_STOP.sub(r"\1", text))


def separate_short_lines(text: str) -> str:
    """The text with an empty line after a short line that stands above a paragraph: a label, a name, an address."""
    lines = text.split("\n")
    separated: list[str] = []
    for number, line in enumerate(lines):
        separated.append(line)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if (
            line
            and len(following) >= _PARAGRAPH_LINE
            and len(line) < _SHORT_LINE * len(following)
            and following[0].isupper()
            and line[:1].isalnum()
            and not _ENDED.search(line)
            and line[-1] not in ",-|"
            and line.rpartition(" ")[2].lower() not in function_words("en")
        ):
            separated.append("")
    return "\n".join(separated)
