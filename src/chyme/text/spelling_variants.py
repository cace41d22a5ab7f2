"""Which spellings are of one and the same word: singular and plural, accents, hyphens, British and American."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ACCENTS = re.compile(
    "[\u0300-\u036f\u200c]"
)  # of Latin, Greek and Cyrillic; those of other scripts make other letters
_JOINT = re.compile(r"(?<=\d)[\s\-_./]+(?=\d)")  # 2-1 is not 21
_BETWEEN = re.compile(r"(?<=.)[\s\-_./'’]+")
_WORD = re.compile(r"[a-z]+")
_OWNING = re.compile(r"(?<=[a-z])['’]s\b")

# They end like plurals and are none, or mean something else.
_NO_PLURALS = """
alias always arms atlas barbados bias bus canvas chaos christmas cosmos customs dallas ethos gas glasses goods jeans
kansas kudos laos lens means news pancreas series species texas windows
"""
_ALIKE_ONLY = frozenset(_NO_PLURALS.split())
_ODD = {
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
# Plurals of other languages that cannot be taken for anything else; without accents.
_ABROAD = (
    ("ungen", "ung"), ("heiten", "heit"), ("keiten", "keit"), ("schaften", "schaft"), ("ationen", "ation"),
    ("itaten", "itat"), ("ciones", "cion"), ("siones", "sion"), ("coes", "cao"), ("dades", "dad"),
)  # fmt: skip
_SHORTEST = 4


@lru_cache(maxsize=65536)
def comparison_key(tag: str) -> str:
    """Two tags with the same one of these are one and the same. It is not meant to be read."""
    parts = unicodedata.normalize("NFKD", tag.casefold())
    bare = unicodedata.normalize("NFC", _ACCENTS.sub("", parts))
    bare = _JOINT.sub("‐", _OWNING.sub("", bare))
    return _BETWEEN.sub("", _WORD.sub(lambda word: _one(word[0]), bare)) or tag


def _one(word: str) -> str:
    """One word, of several or of one."""
    if word in _ALIKE_ONLY:
        return word
    word = _ODD.get(word) or _singular(word)
    word = _AMERICAN.get(word, word)
    if len(word) > 6:
        word = word.replace("isation", "ization")
        if word.endswith("ise"):
            word = f"{word[:-3]}ize"
    return _bare(word)


def _singular(word: str) -> str:
    if len(word) < _SHORTEST:
        return word
    for ending, instead in _ABROAD:
        if len(word) > len(ending) + 1 and word.endswith(ending):
            return word.removesuffix(ending) + instead
    if word.endswith("zzes"):
        return word[:-3]
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return word[:-1]


def _bare(word: str) -> str:
    """Without the e of which a plural does not tell whether it is the word's own: caches, taxes, houses, heroes."""
    if len(word) >= _SHORTEST and word.endswith(("che", "she", "xe", "ze")):
        return word[:-1]
    if len(word) > _SHORTEST and word.endswith(("se", "oe")):
        return word[:-1]
    return f"{word[:-2]}y" if len(word) > _SHORTEST and word.endswith("ie") else word
