"""Recognise placeholder titles: what programs and templates write where a title belongs."""

from __future__ import annotations

import re
import unicodedata

from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.text.word_lists import WordList

_JUNK = WordList(__package__, "placeholders")
_PROGRAMS = re.compile(
    r"^(?:microsoft|ms)?\s*(?:office\s+)?(?:word|excel|powerpoint|outlook|publisher|visio|onenote)\s*(?:[-–:]\s*|$)",
    re.IGNORECASE,
)
_EXTENSION = re.compile(
    r"\.(?:docx?|docm|dotx?|xlsx?|xlsm|pptx?|ppsx?|pdf|odt|ods|odp|rtf|txt|html?|xml|md|indd|qxd|qxp|tex|dvi|ps|eps|ai"
    r"|cdr|pub|pages|key|numbers|wpd|fm|jpe?g|png|tiff?|gif|csv|tmp|dot|dwg|mp3|wav|m4a|mp4|mov|epub|eml|msg|svg|asp|"
    r"php|py|js|c|h)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"^(?:slide|folie|page|seite|sheet|tabelle|document|dokument|presentation|book|chapter|kapitel|section|untitled|"
    r"unbenannt|scan|image|img|figure|table|track|part|teil|appendix|copy|layout|diapositiva|feuil|hoja)[\s_-]*"
    r"(?:no\.?\s*)?[\divxa-z]{0,4}\.?$",
    re.IGNORECASE,
)
_HEX = re.compile(r"^[\s{(]*(?:[0-9a-f]{8}-[0-9a-f-]{8,27}|[0-9a-f]{12,})[\s)}]*$", re.IGNORECASE)
_UNFILLED = re.compile(r"<%|%>|\{\{|\}\}|\$\{|^\[[^\]]*\]$|^<[^>]*>$|\?{3,}|\ufffd")
_ADDRESS = re.compile(r"^(?:https?://|www\.|file:|[a-z]:\\|/)\S*$", re.IGNORECASE)
_SINGLE_RUN = re.compile(r"^(?=.*[_\d])[\w.+-]+$")  # a file name or an identifier: one run with digits or underscores
_LETTER = re.compile(r"[^\W\d_]")


def strip_program_name(title: str) -> str:
    """The title without a leading program name: `Microsoft Word - Contract.doc` is `Contract.doc`."""
    return _PROGRAMS.sub("", title, count=1).strip() if _PROGRAMS.match(title) else title


def same_words(title: str, other: str) -> bool:
    """Whether two titles are equal apart from case, spaces and punctuation."""
    if len(title) > 2 * len(other) + 20 or len(other) > 2 * len(title) + 20:
        return False
    key = comparison_key(title)
    return bool(key) and key == comparison_key(other)


def comparison_key(text: str) -> str:
    """The letters and digits of a title in lower case, for comparing titles."""
    folded = unicodedata.normalize("NFKC", text[:1000]).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


def is_file_name(title: str) -> bool:
    """Whether it looks like a file name rather than a title."""
    return _EXTENSION.search(title) is not None or _SINGLE_RUN.match(title) is not None


def is_junk(title: str, generator: str = "") -> bool:
    """Whether a title means nothing: a program's or template's text, a placeholder, numbers or random letters."""
    line = " ".join(title.split())
    plain = line.strip(" .:;-–—_*#\"'“”„«»").casefold()
    if len(plain) < 2 or plain in _JUNK.phrases() or same_words(plain, generator):
        return True
    letters = len(_LETTER.findall(line))
    if letters < 3 and not IDEOGRAPH.search(line):
        return True
    if letters < 0.4 * len(line.replace(" ", "")):
        return True
    return any(pattern.search(line) for pattern in (_NUMBERED, _HEX, _UNFILLED, _ADDRESS))
