"""Names of tags: their stored form, what is no useful tag, and which tag a name means after people's decisions."""

from __future__ import annotations

import difflib
import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

from chyme.errors import UsageError
from chyme.text.common_words import stop_words
from chyme.text.function_words import function_words
from chyme.text.spelling_variants import comparison_key
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS
from chyme.text.word_lists import WordList
from chyme.understanding.classification.result import MAX_TAGS

Rules = Mapping[str, str | None]  # tag → what it becomes; None: it is banned
TAGS = "tags"  # the output with a file's tags
TAG_EMBEDDINGS = "tag-embeddings"  # the output with their vectors
TAGS_EMBEDDED_BEFORE = (
    "tags-embedded-before"  # the input that names the tags that have a vector already, with its model
)
MAX_LENGTH, MAX_WORDS = 50, 4
MAX_SUGGESTIONS = 5
_MAX_TEXT = 500  # characters; anything longer is no tag
_MAX_RUN = 16  # letters in a script without spaces
_MAX_DIGITS = 6  # more of them are an identifier, not a subject
_SEPARATORS = re.compile(r"[,;|\n•·]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKUP = re.compile(r"[<>{}\\=`\ufffd]|\]\(|:\S*:|/.*/|\*\*")
_ADDRESS = re.compile(
    r"://|^www\.|\S@\S|^[\w.-]+\.(?:com|org|edu|gov|info|biz|io|de|uk|fr|eu|ch|at|it|es|nl|us|jp|cn)(?:/|$)"
)
_FILE_NAME = re.compile(r"\.(?:pdf|docx?|xlsx?|pptx?|odt|txt|md|html?|csv|json|jpe?g|png|gif|heic|mp[34]|zip)$")
_KEPT_END = re.compile(r"(?:^| )[a-z]#$|[a-z]\+\+$|^[a-z]\+$")  # C#, C++, A+
_HASH = re.compile(r"(?=[0-9a-f-]*\d)[0-9a-f-]{8,}")
_CALENDAR = WordList(__package__, "calendar")
_DATE_PART = re.compile(r"\d+(?:st|nd|rd|th|\.)?|q[1-4]|h[12]|de|of|am|pm")
_MEANINGLESS_WORDS = """
content contents document documents etc file files misc miscellaneous n/a nil null undefined unknown untitled none
other others tag tags tbd text texts todo various unbekannt sonstiges dokument datei autre divers otro varios
"""
_MEANINGLESS = frozenset(_MEANINGLESS_WORDS.split())


def normalise_tag(text: str) -> str | None:
    """The tag in its stored form: a few words in lower case; None for what is meaningless or no tag at all."""
    tag = None if "<" in text else _normalise_text(text)
    if tag is None or _MARKUP.search(tag) or _ADDRESS.search(tag) or _FILE_NAME.search(tag):
        return None
    return None if _is_meaningless(tag) else tag


def parse_typed_tag(text: str) -> str:
    """The stored form of a tag that a person typed. People may use tags that a digester must not give."""
    tag = _normalise_text(text)
    if tag is None or not any(letter.isalnum() for letter in tag):
        raise UsageError(
            f"{text[:MAX_LENGTH]!r} is no tag: it takes a letter or digit, and at most {MAX_WORDS} words "
            f"or {MAX_LENGTH} characters, without commas"
        )
    return tag


def split_tags(texts: Iterable[str], limit: int = MAX_TAGS) -> list[str]:
    """The tags in these texts, in order, each once; commas separate several."""
    found: dict[str, str] = {}
    for text in texts:
        for piece in _SEPARATORS.split(text[:_MAX_TEXT]):
            tag = normalise_tag(piece)
            if tag is not None:
                found.setdefault(comparison_key(tag), tag)
        if len(found) >= limit:
            break
    return list(found.values())[:limit]


def unknown_tag_message(asked: str, known: Sequence[str]) -> str:
    """The message that there is no such tag, with suggestions."""
    near = difflib.get_close_matches(asked, known, MAX_SUGGESTIONS, 0.6) if len(asked) <= MAX_LENGTH else []
    near += [name for name in known if asked and asked in name and name not in near][: MAX_SUGGESTIONS - len(near)]
    if near:
        listed = near[0] if len(near) == 1 else f"{', '.join(near[:-1])} or {near[-1]}"
        return f"there is no tag “{asked[:MAX_LENGTH]}”; is it {listed}?"
    return f"there is no tag “{asked[:MAX_LENGTH]}”; 'chyme tags' lists them"


def apply_rules(tag: str, rules: Rules) -> str | None:
    """What a tag becomes after all of people's decisions; None if it is banned."""
    seen = {tag}
    while tag in rules:
        becomes = rules[tag]
        if becomes is None:
            return None
        if becomes in seen:
            return becomes
        seen.add(becomes)
        tag = becomes
    return tag


def current_names(rules: Rules) -> dict[str, str]:
    """Tag → its current name after all decisions. A tag that became a banned one keeps its name."""
    return {name: becomes for name in rules if (becomes := apply_rules(name, rules))}


def match_spelling(name: str, known: Collection[str]) -> list[str]:
    """The tag with exactly this name; if there is none, those that are only spelt differently."""
    return [name] if name in known else [tag for tag in known if comparison_key(tag) == comparison_key(name)]


def resolve_tag(name: str, known: Collection[str], rules: Rules) -> list[str]:
    """The tags to look for: what it became, else tags spelt like it, else what another spelling of it became."""
    becomes = current_names(rules)
    if name in becomes:
        return [becomes[name]]
    return match_spelling(name, known) or [becomes[old] for old in match_spelling(name, becomes)[:1]] or [name]


def _normalise_text(text: str) -> str | None:
    """The text in lower case with single blanks and no punctuation around it; None if it is not one tag."""
    if len(text) > _MAX_TEXT:
        return None
    text = html.unescape(text).strip()
    if text.startswith("#"):
        text = _CAMEL_CASE.sub(" ", text.lstrip("#"))
    plain = "".join(map(_replace_invisible, unicodedata.normalize("NFKC", text)))
    tag = _trim(unicodedata.normalize("NFKC", " ".join(plain.replace("_", " ").lower().split())))
    if not tag or len(tag) > MAX_LENGTH or _SEPARATORS.search(tag):
        return None
    runs = RUNS.findall(tag)
    words = len(RUNS.sub(" ", tag).split()) + len(runs)
    return None if words > MAX_WORDS or max(map(len, runs), default=0) > _MAX_RUN else tag


@cache
def _replace_invisible(letter: str) -> str:
    category = unicodedata.category(letter)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category in ("Cf", "Cs", "Co", "Cn") and letter != "\u200c" else letter


def _trim(tag: str) -> str:
    start, end = 0, len(tag)
    while start < end and not _is_tag_character(tag[start]) and not tag.startswith(".net", start):
        start += 1
    while end > start and not _is_tag_character(tag[end - 1]) and not _KEPT_END.search(tag[start:end]):
        end -= 1
    return tag[start:end]


def _is_tag_character(letter: str) -> bool:
    """Whether it is a letter, a digit, or a mark or pictogram written with them."""
    return letter.isalnum() or unicodedata.category(letter) in ("Mn", "Mc", "So")


def _is_meaningless(tag: str) -> bool:
    letters = [letter for letter in tag if letter.isalpha()]
    lone = len(letters) < 2 and not IDEOGRAPH.search(tag) and not _KEPT_END.search(tag)
    if lone and not (letters and any(letter.isdigit() for letter in tag)):
        return True  # but 5g, 3d and c64 have a meaning
    words = tag.split()
    if sum(letter.isdigit() for letter in tag) > _MAX_DIGITS or any(_HASH.fullmatch(word) for word in words):
        return True
    parts = [part for word in words for part in re.split(r"[-/.,]", word) if part]
    if all(part in _CALENDAR.words() or _DATE_PART.fullmatch(part) for part in parts):
        return True
    return tag in _MEANINGLESS or all(word in _function_words(len(words) > 1) for word in words)


@cache
def _function_words(several: bool) -> frozenset[str]:
    """Words without meaning. Alone, a function word of one language may be a noun in another (`die`, `son`)."""
    other_languages = [function_words(language) for language in ("de", "fr", "es", "it", "nl", "pt") if several]
    return function_words("en").union(stop_words(), *other_languages)
