"""Turns a model's answer into plain text: no markup, no control characters, no invisible letters.

Every text from a model passes through here before it is stored: title, summary, tags, caption, names of objects, points
of a summary, corrected speech. Only words that it read in a picture are stored unchanged.
"""

from __future__ import annotations

import html
import re
import unicodedata

from chyme.text.markdown_lines import clean_line

LONGEST = 4000  # characters of a line that are read

# Stops before the next tag of the same name: otherwise a row of such tags would be searched again from each of them.
_SCRIPT = re.compile(
    r"<(script|style)\b[^<>]{0,500}>(?:[^<]|<(?!/?\1\b)){0,4000}</\1\s{0,9}>", re.IGNORECASE | re.DOTALL
)
_HUGE_REFERENCE = re.compile(r"&#[0-9]{8,};?")  # html.unescape raises ValueError for thousands of digits
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,500}>")
_OPENING = re.compile(r"<(?=[A-Za-z!?/])")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?\)")
_BLOCK = re.compile(r"^[ \t]{0,9}(?:#{1,6}|>|[-*+])[ \t]+|^[ \t]{0,9}(?:```|~~~)[^\n]{0,50}$", re.MULTILINE)
_STRONG = re.compile(r"\*{2,3}|__|`+|~~")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*(?=\S)([^*\n]{1,300})(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]{1,300})(?<=\S)_(?!\w)"
)
_INVISIBLE = re.compile("[\U000e0000-\U000e007f\u00ad\u180e\ufff0-\uffff]+")  # invisible letters, which models do read
_QUOTES = {"“": "”", "„": "“", "«": "»", "‹": "›", "‘": "’", '"': '"', "'": "'"}


def plain_text(text: str | None) -> str:
    """The text as one line without markup, control characters and invisible letters."""
    plain = html.unescape(_HUGE_REFERENCE.sub("", remove_invisible(text or "")))
    plain = _BLOCK.sub("", _LINK.sub(r"\1", _TAG.sub(" ", _SCRIPT.sub(" ", plain))))
    plain = _EMPHASIS.sub(r"\1\2", _STRONG.sub("", _OPENING.sub("", plain)))
    return unicodedata.normalize("NFC", clean_line(remove_invisible(plain)))


def plain_line(text: str | None) -> str:
    """The same for a title, a caption or a tag: short, and without quotation marks around the whole."""
    plain = plain_text((text or "")[:LONGEST]).strip("#*_`~>| ")
    if plain and _QUOTES.get(plain[0]) == plain[-1] and len(plain) > 1 and plain.count(plain[-1]) <= 2:
        plain = plain[1:-1].strip()
    return plain


def remove_invisible(text: str) -> str:
    """The text without invisible letters."""
    return _INVISIBLE.sub("", text)
