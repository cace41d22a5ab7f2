"""Unites the spellings of a word: singular and plural, accents, hyphens, British and American."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ACCENTS = re.compile("[\u0300-\u036f\u200c]")  # of Latin, Greek and Cyrillic; in other scripts they make other letters
_DIGIT_SEPARATOR = re.compile(r"(?<=\d)[\s\-_./]+(?=\d)")  # 2-1 is not 21
_SEPARATOR = re.compile(r"(?<=.)[\s\-_./'’]+")
_WORD = re.compile(r"[a-z]+")
_POSSESSIVE = re.compile(r"(?<=[a-z])['’]s\b")

# They end like plurals but are none, or mean something else.
_NO_PLURALS = """
alias always arms atlas barbados bias bus canvas chaos christmas cosmos customs dallas ethos gas glasses goods jeans
kansas kudos laos lens means news pancreas series species texas windows
"""
_UNCHANGED = frozenset(_NO_PLURALS.split())
_IRREGULAR = {
    "analyses": "analysis", "axes": "axis", "buses": "bus", "calves": "calf", "children": "child", "crises": "crisis",
    "diagnoses": "diagnosis", "feet": "foot", "gases": "gas", "geese": "goose", "halves": "half",
    "hypotheses": "hypothesis", "indices": "index", "knives": "knife", "leaves": "leaf", "lenses": "lens",
    "lives": "life", "loaves": "loaf",
    "matrices": "matrix", "men": "man", "mice": "mouse", "people": "person", "scarves": "scarf", "shelves": "shelf",
    "teeth": "tooth", "theses": "thesis", "thieves": "thief", "vertices": "vertex", "wives": "wife", "wolves": "wolf",
    "women": "woman",
}  # fmt: skip
_AMERICAN = {
    "armour": "armor", "behaviour": "behavior", "catalogue": "catalog", "centre": "center", "cheque": "check",
    "colour": "color", "defence": "defense", "dialogue": "dialog", "favour": "favor", "favourite": "favorite",
    "fibre": "fiber", "flavour": "flavor", "grey": "gray", "harbour": "harbor", "honour": "honor", "humour": "humor",
    "jewellery": "jewelry", "labour": "labor", "licence": "license", "litre": "liter", "metre": "meter",
    "neighbour": "neighbor", "neighbourhood": "neighborhood", "offence": "offense", "programme": "program",
    "rumour": "rumor", "theatre": "theater", "travelling": "traveling", "tumour": "tumor", "tyre": "tire",
    "vapour": "vapor",
}  # fmt: skip
# Unambiguous plurals of other languages; without accents.
_FOREIGN_PLURALS = (
    ("ungen", "ung"), ("heiten", "heit"), ("keiten", "keit"), ("schaften", "schaft"), ("ationen", "ation"),
    ("itaten", "itat"), ("ciones", "cion"), ("siones", "sion"), ("coes", "cao"), ("dades", "dad"),
)  # fmt: skip
_MIN_LENGTH = 4


@lru_cache(maxsize=65536)
def comparison_key(tag: str) -> str:
    """Tags with the same key are the same tag. The key is not meant to be read."""
    parts = unicodedata.normalize("NFKD", tag.casefold())
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", parts))
    plain = _DIGIT_SEPARATOR.sub("‐", _POSSESSIVE.sub("", plain))
    return _SEPARATOR.sub("", _WORD.sub(lambda word: _word_key(word[0]), plain)) or tag


def _word_key(word: str) -> str:
    """The key of one word."""
    if word in _UNCHANGED:
        return word
    word = _IRREGULAR.get(word) or _singular(word)
    word = _AMERICAN.get(word, word)
    if len(word) > 6:
        word = word.replace("isation", "ization")
        if word.endswith("ise"):
            word = f"{word[:-3]}ize"
    return _drop_final_e(word)


def _singular(word: str) -> str:
    if len(word) < _MIN_LENGTH:
        return word
    for ending, replacement in _FOREIGN_PLURALS:
        if len(word) > len(ending) + 1 and word.endswith(ending):
            return word.removesuffix(ending) + replacement
    if word.endswith("zzes"):
        return word[:-3]
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return word[:-1]


def _drop_final_e(word: str) -> str:
    """Without a final e, since a plural does not show whether it belongs to the word: caches, taxes, houses, heroes."""
    if len(word) >= _MIN_LENGTH and word.endswith(("che", "she", "xe", "ze")):
        return word[:-1]
    if len(word) > _MIN_LENGTH and word.endswith(("se", "oe")):
        return word[:-1]
    return f"{word[:-2]}y" if len(word) > _MIN_LENGTH and word.endswith("ie") else word
