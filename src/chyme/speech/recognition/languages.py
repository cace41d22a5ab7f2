"""Whisper's languages by their English names, as some services return them."""

from __future__ import annotations

from functools import cache

from chyme.text.word_lists import WordList

WITHOUT_BLANKS = frozenset({"zh", "yue", "ja", "th", "lo", "my", "km", "bo"})  # no spaces between words
_LANGUAGES = WordList(__package__, "languages")


def code_of(name: str) -> str | None:
    """`en` for english; None when it is not one of Whisper's languages."""
    return _codes_by_name().get(name)


@cache
def _codes_by_name() -> dict[str, str]:
    return {name: code for code, name in (line.split(maxsplit=1) for line in _LANGUAGES.sections[""])}
