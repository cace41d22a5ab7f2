"""File names as people read them: in words, without what is markup elsewhere."""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"[_]+|(?<=[^\W\d_]{2})-(?=\w)|(?<=\d)-(?=[^\W\d_])|\s+")  # not 2024-01-03, not W-2
_MARKS = re.compile(r"[<>{}\[\]`|*#\\]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def name_to_words(stem: str) -> str:
    """A name split into words: `rental_contract-Miller` is `rental contract Miller`."""
    return " ".join(_SEPARATORS.sub(" ", _CAMEL.sub(" ", stem)).split())


def strip_markup(stem: str) -> str:
    """A file's name without characters that are markup elsewhere: `<script>alert(1)<` is `script alert(1)`."""
    return _MARKS.sub(" ", stem).strip()
