"""Plain text from what a model answered: no markup, no control characters, no letters that nobody sees.

Every text of a model passes here before it is kept: title, summary, tags, caption, names of objects, points of a
summary, corrected speech. Only words that it read in a picture are kept as they stand there.
"""

from __future__ import annotations

import html
import re
import unicodedata

from chyme.speech.transcripts.correction_checks import clean_line

LONGEST = 4000  # characters of a line that are looked at

# Ends before the next tag that opens one: else a row of those would be searched again from each of them.
_SCRIPT = re.compile(
    r"<(script|style)\b[^<>]{0,500}>(?:[^<]|<(?!/?\1\b)){0,4000}</\1\s{0,9}>", re.IGNORECASE | re.DOTALL
)
_NO_LETTER = re.compile(r"&#[0-9]{8,};?")  # html.unescape raises ValueError for thousands of digits
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,500}>")
_OPENED = re.compile(r"<(?=[A-Za-z!?/])")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?\)")
_BLOCK = re.compile(r"^[ \t]{0,9}(?:#{1,6}|>|[-*+])[ \t]+|^[ \t]{0,9}(?:```|~~~)[^\n]{0,50}$", re.MULTILINE)
_STRONG = re.compile(r"\*{2,3}|__|`+|~~")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*(?=\S)([^*\n]{1,300})(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]{1,300})(?<=\S)_(?!\w)"
)
_HIDDEN = re.compile("[\U000e0000-\U000e007f\u00ad\u180e\ufff0-\uffff]+")  # letters nobody sees, and models read
_CLOSED = {"“": "”", "„": "“", "«": "»", "‹": "›", "‘": "’", '"': '"', "'": "'"}


def plain_text(text: str | None) -> str:
    """The text as one line without markup, control characters and hidden letters."""
    bare = html.unescape(_NO_LETTER.sub("", remove_invisible(text or "")))
    bare = _BLOCK.sub("", _LINK.sub(r"\1", _TAG.sub(" ", _SCRIPT.sub(" ", bare))))
    bare = _EMPHASIS.sub(r"\1\2", _STRONG.sub("", _OPENED.sub("", bare)))
    return unicodedata.normalize("NFC", clean_line(remove_invisible(bare)))


def plain_line(text: str | None) -> str:
    """The same of a title, a caption or a tag: short, and without quotation marks around all of it."""
    bare = plain_text((text or "")[:LONGEST]).strip("#*_`~>| ")
    if bare and _CLOSED.get(bare[0]) == bare[-1] and len(bare) > 1 and bare.count(bare[-1]) <= 2:
        bare = bare[1:-1].strip()
    return bare


def remove_invisible(text: str) -> str:
    """The text without letters that nobody sees."""
    return _HIDDEN.sub("", text)
