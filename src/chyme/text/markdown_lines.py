"""Text as one line of Markdown, shown literally and cut to a length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.unspaced_scripts import RUNS

LENGTH = 300  # maximum characters of one point
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$])")
_LEADING = re.compile(r"^(#{1,6}(?=\s|$)|[-+=](?=\s|$|[-+=])|\d{1,9}(?=[.)](?:\s|$)))")
_ORIGIN_LINE = re.compile(r"\n\n\*(?:\\.|[^*\\\n])+\*\n?\Z")
_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


def strip_origin_line(markdown: str) -> str:
    """The text without its last line, which says how it was made, not what was said."""
    return _ORIGIN_LINE.sub("\n", markdown)


def escape_markdown(text: str) -> str:
    """Escape the text so that markdown shows it literally: one line, no markup, no heading, no list."""
    line = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    leading = _LEADING.match(line)
    if leading is None:
        return line
    end = leading.end()
    return f"{line[:end]}\\{line[end:]}" if line[0].isdigit() else f"\\{line}"


def shorten_text(text: str, length: int) -> str:
    """Shorten the text at a space if it is too long."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip(" ,;:") + "…"


def clean_line(text: str) -> str:
    """Reduce external text to one line without control characters."""
    plain = text if text.isprintable() else _CONTROL_CHARACTERS.sub(" ", text)
    return " ".join(plain.split())


def join_texts(texts: Sequence[str]) -> str:
    """Join the texts, with a space between them where the script uses spaces."""
    joined = ""
    for text in texts:
        stripped = text.strip()
        unspaced = RUNS.search(joined[-1:]) is not None or joined[-1:] in "。！？、，"
        joined += ("" if not joined or (unspaced and RUNS.search(stripped[:1])) else " ") + stripped
    return joined.strip()
