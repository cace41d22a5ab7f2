"""Count the phrases of a text that may be topics: runs of meaningful words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chyme.text.common_words import compound_words, general_words
from chyme.text.function_words import function_words, language_of, words_in
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS
from chyme.text.word_lists import WordList
from chyme.understanding.titles.cleanup import same_words

_MAX_TAG_WORDS, _MAX_NAME_WORDS = 3, 4  # words of a tag, and of one that is a name
_GENERIC = WordList(__package__, "generic_nouns")
_FORM_WORDS = WordList(__package__, "form_words")
_MAX_CHARS = 120_000  # characters that are read
_RECENT_WORDS = 16_384  # words whose forms are remembered: most words of a text were in others before
_TITLE, _HEADING, _BODY, _ASIDE = 4.0, 2.0, 1.0, 0.25  # the weight of one mention
JOINER = "\ue000"  # joins the parts of names that begin with a common word: New York, San Marino
TOKEN = re.compile(rf"[^\W_]+(?:['’\-{JOINER}][^\W_]+)*|[^\w\s]")
_JOINED_NAME = re.compile(
    r"\b(?:(San|Los|Las|Saint) (?=[A-Z][a-z])|(New) (?=York|Zealand|Jersey|Delhi|Orleans|Mexico|England|Hampshire)"
    r"|(North|South) (?=America|Africa|Korea|Carolina|Dakota|Sudan))"
)
_TWO_LETTERS, _ROADS, _FORM_NOUNS, _FORM_HEADS = "two letters", "roads", "form nouns", "form heads"
_NO_EMPTY_WORDS = frozenset({_TWO_LETTERS, _ROADS, _FORM_NOUNS, _FORM_HEADS})  # sections
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+")
_REPEATS = 2  # times that the same block counts
_OTHER_LANGUAGES, _MIN_BLOCK, _SAMPLE = 0.15, 20, 300  # share of function words; characters of a block
_MAIL_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,64}")
_REPEATED_LETTER = re.compile(r"(.)\1\1")  # of masked names: xxxxx
_ROMAN = re.compile(r"[ivxlcdm]+")
# Words that verbs follow.
_BEFORE_VERBS = frozenset(
    {"to", "will", "would", "can", "could", "may", "might", "must", "shall", "should", "not", "cannot", "let", "being"}
    | {"i", "you", "we", "they", "he", "she", "it", "who", "which", "be", "been", "is", "are", "was", "were", "has"}
    | {"have", "had", "do", "does", "did", "don't", "doesn't"}
)
_BEFORE_NOUNS = frozenset(
    {
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "its",
        "his",
        "her",
        "their",
        "our",
        "your",
        "my",
        "each",
        "every",
    }
    | {"of", "in", "for", "with", "by", "on", "from", "about", "at", "into", "against", "between", "any", "no", "some"}
)
_VOTERS = ("en", "de", "fr", "es", "it", "pt", "nl")  # languages distinguished by their function words
_PLURALS = frozenset({"en", "fr", "es", "pt", "nl"})


class Mention(NamedTuple):
    """A phrase at one place of a text."""

    words: tuple[str, ...]
    begins: bool  # it begins a sentence
    as_verb: bool  # it follows a word that verbs follow
    is_cut: bool  # it is a part of a longer run of words
    as_modifier: bool = False  # a general noun follows, as in `custom settings`
    as_noun: bool = False  # it follows a word that nouns follow, with other words between them or none


@dataclass(slots=True)
class Phrase:
    """Counts of one phrase."""

    keys: tuple[str, ...]
    first: float  # its first position, from 0 to 1
    weight: float = 0.0
    count: int = 0
    body: int = 0
    raised: bool = False  # occurs in the title or a heading
    titled: bool = False  # occurs in the title
    capitals: int = 0
    inside: int = 0  # mentions that do not begin a sentence
    as_verb: int = 0  # mentions after a word that verbs follow
    as_modifier: int = 0  # mentions before a general noun
    as_noun: int = 0  # mentions after a word that nouns follow
    cut: int = 0  # mentions within a longer run of words
    forms: dict[str, int] = field(default_factory=dict)  # its spellings, with how often each occurs
    places: set[int] = field(default_factory=set)


def first_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    remaining = _MAX_CHARS
    for block in blocks:
        if remaining <= 0:
            return
        remaining -= len(block.text)
        if block.sort is not BlockType.MENU:
            yield block


def count_phrases(blocks: Sequence[Block], title: str | None, language: str | None) -> dict[tuple[str, ...], Phrase]:
    empty = empty_words(language)
    found: dict[tuple[str, ...], Phrase] = {}
    units = [(title or "", _TITLE)]
    weights = {BlockType.HEADING: _HEADING, BlockType.ASIDE: _ASIDE}
    units += [(block.text, weights.get(block.sort, _BODY)) for block in first_blocks(blocks)]
    small = function_words(language)
    seen: dict[str, int] = {}
    for number, (text, weight) in enumerate(units):
        if number and number < 20 and title and same_words(text, title):
            continue
        plain = _NUMBER.sub("", text)
        seen[plain] = seen.get(plain, 0) + 1
        if seen[plain] > _REPEATS:
            continue  # a header or footer of pages
        for form, begins, as_verb, is_cut, as_modifier, as_noun in phrases_in(text, empty, small):
            keys = tuple(comparison_form(word, language) for word in form)
            phrase = found.get(keys)
            if phrase is None:
                phrase = found[keys] = Phrase(keys, number / len(units))
            phrase.count += 1
            phrase.weight += weight
            phrase.body += weight == _BODY
            phrase.as_verb += as_verb
            phrase.as_modifier += as_modifier
            phrase.as_noun += as_noun
            phrase.cut += is_cut
            phrase.raised = phrase.raised or weight > _BODY
            phrase.titled = phrase.titled or not number
            spelling = " ".join(form)
            phrase.forms[spelling] = phrase.forms.get(spelling, 0) + 1
            if not begins:
                phrase.inside += 1
                phrase.capitals += form[-1][:1].isupper()
            phrase.places.add(number)
    return found


def without_other_languages(blocks: Sequence[Block], language: str | None) -> Sequence[Block]:
    """The blocks without those that are clearly in another language, if the text has many of its function words."""
    small = function_words(language)
    if not small:
        return blocks
    sample = words_in(" ".join(block.text[:_SAMPLE] for block in blocks[:40]))
    own = sum(map(small.__contains__, sample))
    rest = [word for word in sample if word not in small]
    foreign = max(sum(map(function_words(code).__contains__, rest)) for code in _VOTERS)
    if foreign < _OTHER_LANGUAGES * own:
        return blocks
    return [block for block in blocks if len(block.text) < _MIN_BLOCK or language_of(block.text) in (None, language)]


@functools.cache
def empty_words(language: str | None) -> frozenset[str]:
    sections = [section for section in _FORM_WORDS.sections if section not in _NO_EMPTY_WORDS]
    return general_words(language).union(*map(_FORM_WORDS.words, sections))


def form_nouns() -> frozenset[str]:
    """Nouns for documents and their parts, which are at the beginning or end of a title and no subject."""
    return _FORM_WORDS.words(_FORM_NOUNS)


def form_heads() -> frozenset[str]:
    """Nouns for kinds of writing: what ends with one is a subject only if the title names it."""
    return _FORM_WORDS.words(_FORM_HEADS)


@functools.cache
def generic_nouns(language: str | None) -> frozenset[str]:
    """Nouns that say nothing alone, in singular and plural as they are compared."""
    words = _GENERIC.words("en") | _GENERIC.words(language or "")
    return words.union(compound_words(), (comparison_form(word, language) for word in words))


def phrases_in(text: str, empty: frozenset[str], small: frozenset[str] = frozenset()) -> Iterator[Mention]:
    """Every run of one to three meaningful words. `small` are function words, which no adjective stands before."""
    run: list[str] = []
    at_start = True
    begins = True
    before = follows = ""
    for token in [*TOKEN.findall(_JOINED_NAME.sub(lambda name: name[0][:-1] + JOINER, _part_runs(text))), "."]:
        if _is_meaningful(token, empty):
            if not run:
                begins, follows = at_start, before
            run.append(token)
            at_start = False
            continue
        if run:
            is_modifier = token.isalpha() and token.lower() not in small
            yield from _parts_of(run, begins, follows, is_modifier)
        run = []
        if token != "," or not before.isdecimal():  # 17, Mill Road
            before = token.lower()
        at_start = token in ".!?:" if not token[0].isalnum() else False


def is_german_noun_phrase(words: Sequence[str]) -> bool:
    """Whether a phrase ends with a noun, which has a capital, after nouns and adjectives with an ending."""
    return words[-1][:1].isupper() and all(
        word[:1].isupper() or word.endswith(("e", "en", "er", "es", "em")) for word in words[:-1]
    )


def _parts_of(run: Sequence[str], begins: bool, follows: str, is_modifier: bool) -> Iterator[Mention]:
    """The phrases in a run of meaningful words. A name may have four words; parts of a longer name are no phrases."""
    is_name = len(run) > _MAX_TAG_WORDS and all(word[:1].isupper() for word in run)
    most = 1 if is_name and len(run) > _MAX_NAME_WORDS else _MAX_NAME_WORDS if is_name else _MAX_TAG_WORDS
    as_verb = len(run) == 1 and follows in _BEFORE_VERBS
    if follows.isdecimal() and not _FORM_WORDS.words(_ROADS).isdisjoint(map(str.lower, run)):
        return  # an address
    for start in range(len(run)):
        for stop in range(start + 1, min(start + most, len(run)) + 1):
            is_cut = stop - start == most and len(run) > most > 1
            is_end = stop == len(run)
            as_noun = is_end and (start > 0 or follows in _BEFORE_NOUNS)
            yield Mention(
                tuple(run[start:stop]), begins and start == 0, as_verb, is_cut, is_end and is_modifier, as_noun
            )


def _part_runs(text: str) -> str:
    """The text without e-mail addresses and runs of unspaced script, each of which ends a phrase."""
    if "@" in text:
        text = _MAIL_ADDRESS.sub(" . ", text)
    return text if text.isascii() else RUNS.sub(" . ", text)


@functools.lru_cache(_RECENT_WORDS)
def _is_meaningful(token: str, empty: frozenset[str]) -> bool:
    plain = token.lower().replace("’", "'")
    plain = plain.removesuffix("'s")
    if (
        plain in empty
        or (plain[-1:] == "s" and plain[:-1] in empty and plain not in compound_words())
        or len(plain) < 3
        or len(plain) > 30
        or _DIGIT.search(plain)
        or _ROMAN.fullmatch(plain)
        or _REPEATED_LETTER.search(plain)
    ):
        return len(plain) == 2 and token.isupper() and plain in _FORM_WORDS.words(_TWO_LETTERS)
    return plain[0].isalpha() and "'" not in plain and not _has_loose_letter(plain)


def _has_loose_letter(plain: str) -> bool:
    """Whether a hyphen joins single letters, as in the formula `x-c`; but not in `x-ray`."""
    return "-" in plain and any(len(part) < 2 for part in plain.split("-")[1:])


@functools.lru_cache(_RECENT_WORDS)
def comparison_form(word: str, language: str | None) -> str:
    plain = fold(word).replace("’", "'").removesuffix("'s")
    if language in _PLURALS and len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-3] + "y" if plain.endswith("ies") and len(plain) > 5 and language == "en" else plain[:-1]
    if language == "de" and len(plain) > 5:
        return plain[:-2] if plain.endswith(("en", "es", "er")) else plain[:-1] if plain[-1] in "ens" else plain
    return plain
