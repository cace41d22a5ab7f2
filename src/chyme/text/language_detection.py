"""Detects the language of a text, by py3langid and by its script.

The model and numpy are loaded by child processes only.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from chyme.core.package_versions import describe_versions
from chyme.text.language_model import PACKAGE, load_identifier

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

RULES = 1  # increase it when a changed rule changes results
_MIN_LETTERS, _MIN_LATIN_LETTERS = 20, 12  # with fewer letters there is no answer
_SHORT_LETTERS = 200  # with fewer letters only common languages are considered
_MIN_PROBABILITY, _MIN_PROBABILITY_SHORT = 0.5, 0.6  # the share of probability needed for an answer
_SAMPLES, _SAMPLE = 12, 2_000  # how many pieces of a long text are read, and their length in characters
_SCRIPT_SHARE = 0.5  # the share of letters that decides the script of a text
_KANA_SHARE = 0.05  # the share of Kana that makes Han characters Japanese
_NOISE = re.compile(
    r"https?://\S{1,2000}|www\.\S{1,500}|[\w.+-]{1,64}@[\w.-]{1,255}|`[^`\n]{1,200}`|[\d_#|*=<>{}\\/\[\]()~^]+"
)
# Scripts that stand for one widely used language.
_LANGUAGE_OF_SCRIPT = {
    "HANGUL": "ko", "GREEK": "el", "HEBREW": "he", "THAI": "th", "ARMENIAN": "hy", "GEORGIAN": "ka", "TAMIL": "ta",
    "TELUGU": "te", "KANNADA": "kn", "MALAYALAM": "ml", "GUJARATI": "gu", "GURMUKHI": "pa", "SINHALA": "si",
    "KHMER": "km", "LAO": "lo", "MYANMAR": "my", "ETHIOPIC": "am", "TIBETAN": "bo", "ORIYA": "or",
}  # fmt: skip
_LANGUAGES_OF_SCRIPT = {
    "CYRILLIC": frozenset({"ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "mn", "tg", "tt", "ba", "uz"}),
    "ARABIC": frozenset({"ar", "fa", "ur", "ps", "ug", "ku"}),
    "DEVANAGARI": frozenset({"hi", "mr", "ne", "sa"}),
    "BENGALI": frozenset({"bn", "as"}),
}
# Serbian, Uzbek and Kurdish are written in Latin letters, too.
_NEVER_LATIN = frozenset(
    {*chain.from_iterable(_LANGUAGES_OF_SCRIPT.values()), *_LANGUAGE_OF_SCRIPT.values(), "zh", "ja", "zxx"}
).difference(("sr", "uz", "ku"))
_COMMON = (
    "en de fr es it pt nl pl sv da no fi cs sk tr ro hu ca hr sl et lv lt id vi is ru uk bg sr ar fa ur hi mr ne bn"
    " sq eu gl ga cy af ms sw tl"
)
_COMMON_LANGUAGES = frozenset(_COMMON.split())
# Codes that the model distinguishes and ISO 639-1 does not.
_ISO_CODES = {
    "yue": "zh", "wuu": "zh", "arz": "ar", "ary": "ar", "pcm": "en", "grc": "el", "hbo": "he", "vec": "it", "lij": "it",
    "ext": "es", "ltg": "lv", "uzs": "uz", "sdh": "ku", "bs": "hr", "srl": "sr", "gug": "gn", "kik": "ki", "gcf": "ht",
    "gcr": "ht",
}  # fmt: skip
_RUSSIAN_LETTERS, _UKRAINIAN_LETTERS = frozenset("ыэё"), frozenset("іїєґ")  # letters that Bulgarian and Serbian lack


def fingerprint() -> str:
    """The engine and its version, without loading it."""
    return f"{describe_versions(PACKAGE)}, rules {RULES}"


def language_of(text: str) -> tuple[str | None, float]:
    """The language as in `en`, and its probability; None when there is too little text or no language is likely
    enough."""
    plain = _sample_text(text)
    letters: Counter[str] = Counter()
    for character, count in Counter(plain).items():
        if character.isalpha():
            letters[_script(character)] += count
    total = sum(letters.values())
    if not total:
        return None, 0.0
    east = letters["CJK"] + letters["HIRAGANA"] + letters["KATAKANA"]
    if east > _SCRIPT_SHARE * total:
        kana = east - letters["CJK"]
        if kana > _KANA_SHARE * east:
            return "ja", 0.95 if east > 3 else 0.7
        return ("zh", 0.9) if east >= _MIN_LETTERS else ("zh", 0.65) if east > 1 else (None, 0.4)
    script, count = letters.most_common(1)[0]
    if count <= _SCRIPT_SHARE * total:
        return None, 0.0
    if script in _LANGUAGE_OF_SCRIPT:
        return _LANGUAGE_OF_SCRIPT[script], 0.95 if count > 3 else 0.7
    return _detect_by_model(plain, script, count)


def load_language_model() -> None:
    """Load the model, once per process."""
    _identifier()


def _detect_by_model(plain: str, script: str, letters: int) -> tuple[str | None, float]:
    if letters < (_MIN_LATIN_LETTERS if script == "LATIN" else _MIN_LETTERS) and not _language_by_letters(plain):
        return None, 0.0
    probabilities: dict[str, float] = {}
    foreign = {ord(c): " " for c in set(plain) if c.isalpha() and _script(c) != script}
    in_script = plain.translate(foreign) if foreign else plain
    for code, share in _identifier().rank(in_script):
        known = _ISO_CODES.get(code, code)
        probabilities[known] = probabilities.get(known, 0.0) + share
    allowed = _LANGUAGES_OF_SCRIPT.get(script)
    candidates = {
        code: share
        for code, share in probabilities.items()
        if len(code) == 2
        and (code in allowed if allowed else code not in _NEVER_LATIN)
        and (letters >= _SHORT_LETTERS or code in _COMMON_LANGUAGES)
    }
    if script == "CYRILLIC" and letters < _SHORT_LETTERS:
        candidates = _filter_by_letters(plain, candidates)
    if not candidates:
        return None, 0.0
    total = sum(candidates.values()) or 1.0
    best = max(candidates, key=candidates.__getitem__)
    share = float(candidates[best] / total)
    return (
        best if share >= (_MIN_PROBABILITY if letters >= _SHORT_LETTERS else _MIN_PROBABILITY_SHORT) else None
    ), share


def _filter_by_letters(plain: str, probabilities: dict[str, float]) -> dict[str, float]:
    """Use letters that only some languages have: і is not Russian, ы is not Ukrainian."""
    language = _language_by_letters(plain)
    if language is None:
        return probabilities
    excluded = {"bg", "sr", "mk", "uk" if language == "ru" else "ru"}
    return {code: share for code, share in probabilities.items() if code not in excluded}


def _language_by_letters(plain: str) -> str | None:
    letters = frozenset(plain.lower())
    return "uk" if letters & _UKRAINIAN_LETTERS else "ru" if letters & _RUSSIAN_LETTERS else None


def _sample_text(text: str) -> str:
    """The text without addresses, code and digits; of a long text, pieces from everywhere."""
    if len(text) > _SAMPLES * _SAMPLE:
        step = len(text) // _SAMPLES
        text = " ".join(text[i * step : i * step + _SAMPLE] for i in range(_SAMPLES))
    return " ".join(_NOISE.sub(" ", text).split())


@cache
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").replace("FULLWIDTH ", "").replace("HALFWIDTH ", "")
    return name.split(" ", 1)[0].split("-", 1)[0]


@cache
def _identifier() -> LanguageIdentifier:
    return load_identifier()
