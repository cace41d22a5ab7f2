"""Find the topics of a text as tags: words and phrases that recur, above all in its title and headings."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chyme.text.common_words import begins_with_a_day, compound_words, general_words, has_language, is_nounlike
from chyme.text.key_phrases import key_phrases
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS
from chyme.understanding.titles.cleanup import same_words

MIN_SCORE = 0.28  # share of the best score that a topic needs
_MAX_TAG_WORDS = 3  # words of a tag
_TAG_LENGTH = 40
_MIN_ABBREVIATION = 4  # mentions that a tag of two letters needs
_MAX_CHARS = 120_000  # characters that are read
_RECENT_WORDS = 16_384  # words whose forms are remembered: most words of a text were in others before
_TITLE, _HEADING, _BODY, _ASIDE = 4.0, 2.0, 1.0, 0.25  # the weight of one mention
_JOINER = "\ue000"  # joins the parts of names that begin with a common word: New York, San Marino
_TOKEN = re.compile(rf"[^\W_]+(?:['’\-{_JOINER}][^\W_]+)*|[^\w\s]")
_JOINED_NAME = re.compile(
    r"\b(?:(San|Los|Las|Saint) (?=[A-Z][a-z])|(New) (?=York|Zealand|Jersey|Delhi|Orleans|Mexico|England|Hampshire)"
    r"|(North|South) (?=America|Africa|Korea|Carolina|Dakota|Sudan))"
)
_DIGIT = re.compile(r"\d")
_ROMAN = re.compile(r"[ivxlcdm]+")
_PLURALS = frozenset({"en", "fr", "es", "pt", "nl"})
# Korean attaches particles and endings to words: verbs are no subjects, and the particles of nouns are cut off.
_KOREAN_VERBS = ("다", "는", "한", "할", "된", "될", "하여", "하고", "하게", "으면", "하며", "있", "것", "및")
_KOREAN_PARTICLES = re.compile(r"(?<=[\uac00-\ud7a3]{2})(?:에서|으로|에게|까지|부터|을|를|은|이|가|에|의|로|와|과|도)$")
_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Topic:
    """A tag with a score from 0 to 1."""

    tag: str
    score: float


@dataclass(slots=True)
class _Phrase:
    """Counts of one phrase."""

    keys: tuple[str, ...]
    first: float  # its first position, from 0 to 1
    weight: float = 0.0
    count: int = 0
    body: int = 0
    raised: bool = False  # occurs in the title or a heading
    capitals: int = 0
    inside: int = 0  # mentions that do not begin a sentence
    forms: dict[str, int] = field(default_factory=dict)  # its spellings, with how often each occurs
    places: set[int] = field(default_factory=set)


def find_topics(blocks: Sequence[Block], title: str | None, language: str | None, limit: int) -> list[Topic]:
    """The topics of a text, the best first; few or none if nothing recurs."""
    sample = "".join(block.text[:400] for block in blocks[:20]) + (title or "")
    if len(IDEOGRAPH.findall(sample)) > 0.3 * max(len(sample), 1):
        lines = [title or "", title or "", *(block.text for block in _first_blocks(blocks))]
        found = [_strip_korean_endings(phrase.lower()) for phrase, _ in key_phrases(lines, language, 2 * limit)]
        distinct: list[str] = []
        empty = general_words(language)
        for phrase in found:
            if (
                phrase
                and phrase not in empty
                and not begins_with_a_day(phrase)
                and not any(phrase in other or other in phrase for other in distinct)
            ):
                distinct.append(phrase)
        return [Topic(phrase, round(max(0.4, 0.8 - 0.08 * rank), 2)) for rank, phrase in enumerate(distinct[:limit])]
    phrases = _count_phrases(blocks, title, language)
    language_known = has_language(language)
    recurring = [keys for keys, counts in phrases.items() if _recurs(counts, blocks, language_known)]
    scores = {keys: _score(phrases[keys], language) for keys in recurring}
    ranked = [keys for keys in recurring if scores[keys] > 0]
    ranked.sort(key=lambda keys: (-scores[keys], phrases[keys].first))
    chosen = _distinct(ranked, limit)
    if not chosen:
        return []
    best = scores[chosen[0]]
    return [
        Topic(_to_tag(phrases[keys], language), round(min(0.9, 0.3 + 0.5 * scores[keys] / best), 2))
        for keys in chosen
        if scores[keys] >= MIN_SCORE * best
    ]


def _first_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    remaining = _MAX_CHARS
    for block in blocks:
        if remaining <= 0:
            return
        remaining -= len(block.text)
        if block.sort is not BlockType.MENU:
            yield block


def _count_phrases(blocks: Sequence[Block], title: str | None, language: str | None) -> dict[tuple[str, ...], _Phrase]:
    empty = general_words(language)
    found: dict[tuple[str, ...], _Phrase] = {}
    units = [(title or "", _TITLE)]
    weights = {BlockType.HEADING: _HEADING, BlockType.ASIDE: _ASIDE}
    units += [(block.text, weights.get(block.sort, _BODY)) for block in _first_blocks(blocks)]
    for number, (text, weight) in enumerate(units):
        if number and number < 20 and title and same_words(text, title):
            continue
        for form, begins in _phrases_in(text, empty):
            keys = tuple(_comparison_form(word, language) for word in form)
            phrase = found.get(keys)
            if phrase is None:
                phrase = found[keys] = _Phrase(keys, number / len(units))
            phrase.count += 1
            phrase.weight += weight
            phrase.body += weight == _BODY
            phrase.raised = phrase.raised or weight > _BODY
            spelling = " ".join(form)
            phrase.forms[spelling] = phrase.forms.get(spelling, 0) + 1
            if not begins:
                phrase.inside += 1
                phrase.capitals += form[-1][:1].isupper()
            phrase.places.add(number)
    return found


def _phrases_in(text: str, empty: frozenset[str]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Every run of one to three meaningful words, and whether it begins a sentence."""
    run: list[str] = []
    at_start = True
    begins = True
    for token in [*_TOKEN.findall(_JOINED_NAME.sub(lambda name: name[0][:-1] + _JOINER, _part_runs(text))), "."]:
        if _is_meaningful(token, empty):
            if not run:
                begins = at_start
            run.append(token)
            at_start = False
            continue
        for start in range(len(run)):
            for stop in range(start + 1, min(start + _MAX_TAG_WORDS, len(run)) + 1):
                yield tuple(run[start:stop]), begins and start == 0
        run = []
        at_start = token in ".!?:" if not token[0].isalnum() else False


def _part_runs(text: str) -> str:
    """The text without runs of unspaced script, each of which ends a phrase."""
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
    ):
        return len(plain) == 2 and token.isupper() and token.isalpha() and plain not in empty
    return plain[0].isalpha() and "'" not in plain


@functools.lru_cache(_RECENT_WORDS)
def _comparison_form(word: str, language: str | None) -> str:
    plain = fold(word).replace("’", "'").removesuffix("'s")
    if language in _PLURALS and len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-3] + "y" if plain.endswith("ies") and len(plain) > 5 and language == "en" else plain[:-1]
    if language == "de" and len(plain) > 5:
        return plain[:-2] if plain.endswith(("en", "es", "er")) else plain[:-1] if plain[-1] in "ens" else plain
    return plain


def _recurs(phrase: _Phrase, blocks: Sequence[Block], language_known: bool) -> bool:
    """Whether it occurs often enough for a text of this length, and not only in one place.

    If the language's function words are unknown, many of its frequent words are such words: more mentions are needed.
    """
    if all(key in compound_words() for key in phrase.keys):
        return False
    if len(phrase.keys[0]) == 2 and phrase.count < _MIN_ABBREVIATION:
        return False
    if phrase.raised and phrase.body and language_known:
        return True
    least = (2 if len(blocks) < 40 else 3) + (not language_known)
    return (
        phrase.body + phrase.raised > 0 and phrase.count >= least and (len(phrase.places) > 1 or phrase.count > least)
    )


def _score(phrase: _Phrase, language: str | None) -> float:
    last = max(phrase.forms, key=phrase.forms.__getitem__).rpartition(" ")[2]
    if not is_nounlike(last.lower(), language):
        return 0.0
    score = math.log1p(phrase.weight) * (1.0, 1.35, 1.45)[len(phrase.keys) - 1]
    score *= 1.0 + 0.6 * phrase.raised + 0.25 * (phrase.first < 0.1)
    score *= 0.7 + 0.3 * min(len(phrase.places), 5) / 5
    is_name = phrase.inside > 0 and phrase.capitals > 0.7 * phrase.inside
    if language == "de":
        score *= 1.2 if phrase.capitals > 0.5 * max(phrase.inside, 1) else 0.2  # German nouns have capitals
    elif is_name:
        score *= 1.15
    if not has_language(language):
        score *= 1.0 if is_name or len(last) > 5 else 0.3
    if len(phrase.keys) == 1 and len(last) < 5 and not is_name:
        score *= 0.8
    return score


def _distinct(ranked: Sequence[tuple[str, ...]], limit: int) -> list[tuple[str, ...]]:
    """The best phrases that share no word."""
    chosen: list[tuple[str, ...]] = []
    used: set[str] = set()
    for keys in ranked:
        if len(chosen) == limit:
            break
        if used.isdisjoint(keys):
            chosen.append(keys)
            used.update(keys)
    return chosen


def _strip_korean_endings(phrase: str) -> str:
    """A phrase of an unspaced script as a tag; empty if it is a verb."""
    if not _HANGUL.search(phrase):
        return phrase
    return "" if phrase.endswith(_KOREAN_VERBS) or len(phrase) < 2 else _KOREAN_PARTICLES.sub("", phrase)


def _to_tag(phrase: _Phrase, language: str | None) -> str:
    form = max(phrase.forms, key=phrase.forms.__getitem__)
    if language == "de":
        bases = [form.removesuffix(end) for end in ("es", "s") if form.endswith(end)]  # the genitive
        form = next((base for base in bases if base in phrase.forms), form)
    return form.lower().replace("’", "'").removesuffix("'s").replace(_JOINER, " ")[:_TAG_LENGTH]
