"""Clean up titles: no markup, dot leaders, page numbers or all capitals, and no longer than a line or two."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.function_words import empty_words
from chyme.text.markdown_lines import shorten_text
from chyme.text.unspaced_scripts import RUNS
from chyme.understanding.classification.result import TITLE_LENGTH

_BEGINNING = 20_000  # characters of the text in which the words of a title are looked up
_LEADERS = re.compile(
    r"(?:\s*[._·…]{3,}\s*\d*|\s+(?:page|seite|p\.|s\.)\s*\d{1,4}(?:\s*(?:of|von|/)\s*\d{1,4})?)$", re.I
)
_FILLED_IN = re.compile(r"[_.]{3,}")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SEPARATORS = re.compile(r"[_]+|(?<=[^\W\d_]{2})-(?=\w)|(?<=\d)-(?=[^\W\d_])|\s+")  # not 2024-01-03, not W-2
_MARKS = re.compile(r"[<>{}\[\]`|*#\\]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def name_to_words(stem: str) -> str:
    """A name split into words: `rental_contract-Miller` is `rental contract Miller`."""
    return " ".join(_SEPARATORS.sub(" ", _CAMEL.sub(" ", stem)).split())


def strip_markup(stem: str) -> str:
    """A file's name without characters that are markup elsewhere: `<script>alert(1)<` is `script alert(1)`."""
    return _MARKS.sub(" ", stem).strip()


def clean_title(text: str, around: str, site: str = "") -> str:
    """The title on one line. `around` is the text it belongs to; `site` is removed from its end, where pages add it."""
    line = " ".join(_FILLED_IN.sub(" ", _LEADERS.sub("", text)).split())
    line = line.replace("\u00ad", "")
    if site and len(line) > len(site) + 8 and line.casefold().endswith(site.casefold()):
        line = line[: -len(site)].rstrip(" |-–—·:»")
    line = line.strip(" \t*_#|=~^<>·•-–—").rstrip(":;,")
    return shorten_text(_to_normal_case(line, around), TITLE_LENGTH)


def _is_all_capitals(words: Sequence[str]) -> bool:
    long_words = [word for word in words if len(word) > 2]
    return sum(word.isupper() for word in long_words) > 0.8 * len(long_words)


def _to_normal_case(line: str, text: str) -> str:
    """A title in capitals in normal case, as its words occur elsewhere in the text; abbreviations stay."""
    words = _WORD.findall(line)
    if len(words) < 2 or len(line) < 10 or not _is_all_capitals(words) or RUNS.search(line):
        return line
    wanted = {word.casefold() for word in words}
    known = {
        word.casefold() for word in _WORD.findall(text[:_BEGINNING]) if word.casefold() in wanted and not word.isupper()
    }
    small = empty_words("en") | empty_words("de") | empty_words("fr") | empty_words("es")
    first = True

    def fix_case(match: re.Match[str]) -> str:
        nonlocal first
        word, plain = match[0], match[0].casefold()
        is_first, first = first, False
        if plain in small and len(word) < 5:
            return word.capitalize() if is_first else word.lower()
        return word.capitalize() if plain in known or len(word) > 4 else word

    return _WORD.sub(fix_case, line)
