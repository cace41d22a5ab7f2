"""The languages of ISO 639-1, by code and by the names that people and models use for them."""

from __future__ import annotations

from functools import cache

from chyme.text.word_lists import WordList

_CODES = WordList(__package__, "language_codes")
_NAMES = WordList(__package__, "language_names")


@cache
def _codes_by_name() -> dict[str, str]:
    return {name: code for code, *names in map(str.split, _NAMES.sections[""]) for name in names}


def code_of(name: str) -> str | None:
    """`en` for en, EN, en-GB, eng and English; None when the language is not known here."""
    word = name.strip().casefold().replace("_", "-").partition("-")[0].strip()
    return word if word in _CODES.words() else _codes_by_name().get(word)


@cache
def name_of(code: str) -> str:
    """`Russian` for ru; the code itself when its name is not known here."""
    names = {first: names[0] for first, *names in map(str.split, _NAMES.sections[""])}
    return names[code].capitalize() if code in names else code
