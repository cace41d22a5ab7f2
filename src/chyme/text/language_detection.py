"""Tell the language of a text, by py3langid and by its script.

The model and numpy take some 90 MB and half a second, once per process: for child processes only.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from chyme.core.package_versions import describe_versions

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

RULES = 1  # raise it when a rule changes what comes out
_FEW, _FEW_LATIN = 20, 12  # letters below which nobody can tell
_SHORT = 200  # letters below which only common languages are considered
_SURE, _SURE_OF_SHORT = 0.5, 0.6  # the share of belief from which on there is an answer
_SAMPLES, _SAMPLE = 12, 2_000  # how many pieces of a long text are read, and their characters
_IN_THE_SCRIPT = 0.5  # the share of letters that makes a text one of a script
_KANA = 0.05  # the share of Kana that makes Han Japanese
_NOISE = re.compile(
    r"https?://\S{1,2000}|www\.\S{1,500}|[\w.+-]{1,64}@[\w.-]{1,255}|`[^`\n]{1,200}`|[\d_#|*=<>{}\\/\[\]()~^]+"
)
# The scripts that one language of many readers writes; the share of them that is to be believed.
_ONE_LANGUAGE = {
    "HANGUL": "ko", "GREEK": "el", "HEBREW": "he", "THAI": "th", "ARMENIAN": "hy", "GEORGIAN": "ka", "TAMIL": "ta",
    "TELUGU": "te", "KANNADA": "kn", "MALAYALAM": "ml", "GUJARATI": "gu", "GURMUKHI": "pa", "SINHALA": "si",
    "KHMER": "km", "LAO": "lo", "MYANMAR": "my", "ETHIOPIC": "am", "TIBETAN": "bo", "ORIYA": "or",
}  # fmt: skip
_OF_SCRIPT = {
    "CYRILLIC": frozenset({"ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "mn", "tg", "tt", "ba", "uz"}),
    "ARABIC": frozenset({"ar", "fa", "ur", "ps", "ug", "ku"}),
    "DEVANAGARI": frozenset({"hi", "mr", "ne", "sa"}),
    "BENGALI": frozenset({"bn", "as"}),
}
_COMMON = (
    "en de fr es it pt nl pl sv da no fi cs sk tr ro hu ca hr sl et lv lt id vi is ru uk bg sr ar fa ur hi mr ne bn"
    " sq eu gl ga cy af ms sw tl"
)
# What the model tells apart and the two letters of ISO 639-1 do not.
_PART_OF = {
    "yue": "zh", "wuu": "zh", "arz": "ar", "ary": "ar", "pcm": "en", "grc": "el", "hbo": "he", "vec": "it", "lij": "it",
    "ext": "es", "ltg": "lv", "uzs": "uz", "sdh": "ku", "bs": "hr", "srl": "sr", "gug": "gn", "kik": "ki", "gcf": "ht",
    "gcr": "ht",
}  # fmt: skip
_RUSSIAN, _UKRAINIAN = frozenset("ыэё"), frozenset("іїєґ")  # letters that Bulgarian and Serbian do not have


def fingerprint() -> str:
    """The engine and its version, without loading it."""
    return f"{describe_versions('py3langid')}, rules {RULES}"


def language_of(text: str) -> tuple[str | None, float]:
    """The language as in `en`, and how sure that is; None where there is too little text, or none is likely enough."""
    plain = _sampled(text)
    letters = Counter(_script(letter) for letter in plain if letter.isalpha())
    total = sum(letters.values())
    if not total:
        return None, 0.0
    east = letters["CJK"] + letters["HIRAGANA"] + letters["KATAKANA"]
    if east > _IN_THE_SCRIPT * total:
        kana = east - letters["CJK"]
        if kana > _KANA * east:
            return "ja", 0.95 if east > 3 else 0.7
        return ("zh", 0.9) if east >= _FEW else ("zh", 0.65) if east > 1 else (None, 0.4)
    script, most = letters.most_common(1)[0]
    if most <= _IN_THE_SCRIPT * total:
        return None, 0.0
    if script in _ONE_LANGUAGE:
        return _ONE_LANGUAGE[script], 0.95 if most > 3 else 0.7
    return _by_model(plain, script, most)


def _by_model(plain: str, script: str, letters: int) -> tuple[str | None, float]:
    if letters < (_FEW_LATIN if script == "LATIN" else _FEW) and not _telltale(plain):
        return None, 0.0
    belief: dict[str, float] = {}
    in_it = "".join(one if not one.isalpha() or _script(one) == script else " " for one in plain)
    for code, share in _identifier().rank(in_it):
        known = _PART_OF.get(code, code)
        belief[known] = belief.get(known, 0.0) + share
    allowed = _OF_SCRIPT.get(script)
    others = frozenset().union(*_OF_SCRIPT.values(), _ONE_LANGUAGE.values(), {"zh", "ja", "zxx"}) - {"sr", "uz", "ku"}
    common = frozenset(_COMMON.split())
    kept = {
        code: share
        for code, share in belief.items()
        if len(code) == 2
        and (code in allowed if allowed else code not in others)
        and (letters >= _SHORT or code in common)
    }
    if script == "CYRILLIC" and letters < _SHORT:
        kept = _by_letters(plain, kept)
    if not kept:
        return None, 0.0
    whole = sum(kept.values()) or 1.0
    best = max(kept, key=kept.__getitem__)
    share = float(kept[best] / whole)
    return (best if share >= (_SURE if letters >= _SHORT else _SURE_OF_SHORT) else None), share


def _by_letters(plain: str, belief: dict[str, float]) -> dict[str, float]:
    """Letters that only some write: і is not Russian, ы is not Ukrainian."""
    told = _telltale(plain)
    if told is None:
        return belief
    out = {"bg", "sr", "mk", "uk" if told == "ru" else "ru"}
    return {code: share for code, share in belief.items() if code not in out}


def _telltale(plain: str) -> str | None:
    written = frozenset(plain.lower())
    return "uk" if written & _UKRAINIAN else "ru" if written & _RUSSIAN else None


def _sampled(text: str) -> str:
    """The words of a text without addresses, code and figures; of a long one, pieces from everywhere."""
    if len(text) > _SAMPLES * _SAMPLE:
        step = len(text) // _SAMPLES
        text = " ".join(text[at * step : at * step + _SAMPLE] for at in range(_SAMPLES))
    return " ".join(_NOISE.sub(" ", text).split())


@cache
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").replace("FULLWIDTH ", "").replace("HALFWIDTH ", "")
    return name.split(" ", 1)[0].split("-", 1)[0]


@cache
def _identifier() -> LanguageIdentifier:
    """The model, unpacked in memory: py3langid itself would write its 65 MB to the disk, for each process anew."""
    import lzma
    from array import array

    import numpy as np
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    with lzma.open(MODEL_DIR / MODEL_FILE) as packed:
        unpacked = io.BytesIO(packed.read())
    with np.load(unpacked, allow_pickle=False) as model:
        moves, rows = (array(part.dtype.char, part.tobytes()) for part in (model["nextmove"], model["nextmove_row"]))
        return LanguageIdentifier(
            *(model["ptc"], model["pc"], model["classes"].tolist(), moves, model["out_feat"].tolist()),
            norm_probs=True,
            tk_row=rows,
        )
