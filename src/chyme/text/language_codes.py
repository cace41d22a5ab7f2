"""The languages of ISO 639-1, by code and by the names that people and models use for them."""

from __future__ import annotations

_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki
kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no
nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te
tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
CODES = frozenset(_CODES.split())
_NAMES = {
    name: code
    for code, names in {
        "ar": "arabic ara",
        "cs": "czech ces cze",
        "da": "danish dan dansk",
        "de": "german deu ger deutsch",
        "el": "greek ell gre",
        "en": "english eng",
        "es": "spanish spa español",
        "fi": "finnish fin suomi",
        "fr": "french fra fre français",
        "he": "hebrew heb",
        "hi": "hindi hin",
        "hu": "hungarian hun magyar",
        "it": "italian ita italiano",
        "ja": "japanese jpn 日本語",
        "ko": "korean kor 한국어",
        "nl": "dutch nld dut nederlands",
        "no": "norwegian nor norsk",
        "pl": "polish pol polski",
        "pt": "portuguese por português",
        "ro": "romanian ron rum",
        "ru": "russian rus русский",
        "sv": "swedish swe svenska",
        "tr": "turkish tur türkçe",
        "uk": "ukrainian ukr українська",
        "zh": "chinese zho chi mandarin 中文",
    }.items()
    for name in names.split()
}


def code_of(name: str) -> str | None:
    """`en` for en, EN, en-GB, eng and English; None when the language is not known here."""
    word = name.strip().casefold().replace("_", "-").partition("-")[0].strip()
    return word if word in CODES else _NAMES.get(word)
