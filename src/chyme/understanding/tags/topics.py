"""What a text is about, as tags: the words and phrases that come again, above all in its title and headings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chyme.text.general_words import begins_with_a_day, compound_words, general_words, has_language, is_nounlike
from chyme.text.key_phrases import key_phrases
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS
from chyme.understanding.titles.placeholders import same_words

MIN_SCORE = 0.28  # of the best: what scores less says less than it costs to read
_LONGEST = 3  # words of a tag
_TAG_LENGTH = 40
_ABBREVIATION = 4  # mentions that a tag of two letters needs
_ROOM = 120_000  # characters that are counted
_TITLE, _HEADING, _BODY, _ASIDE = 4.0, 2.0, 1.0, 0.25  # what one mention is worth
_TIE = "\ue000"  # between the parts of a name that begins with a small word: New York, San Marino
_TOKEN = re.compile(rf"[^\W_]+(?:['’\-{_TIE}][^\W_]+)*|[^\w\s]")
_TIED = re.compile(
    r"\b(?:(San|Los|Las|Saint) (?=[A-Z][a-z])|(New) (?=York|Zealand|Jersey|Delhi|Orleans|Mexico|England|Hampshire)"
    r"|(North|South) (?=America|Africa|Korea|Carolina|Dakota|Sudan))"
)
_DIGIT = re.compile(r"\d")
_ROMAN = re.compile(r"[ivxlcdm]+")
_PLURALS = frozenset({"en", "fr", "es", "pt", "nl"})
# Korean writes its particles and endings to the word: those of verbs name no subject, those of nouns are left out.
_KOREAN_VERBS = ("다", "는", "한", "할", "된", "될", "하여", "하고", "하게", "으면", "하며", "있", "것", "및")
_KOREAN_PARTICLES = re.compile(r"(?<=[\uac00-\ud7a3]{2})(?:에서|으로|에게|까지|부터|을|를|은|이|가|에|의|로|와|과|도)$")
_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Topic:
    """A tag and how much speaks for it, from 0 to 1."""

    tag: str
    score: float


@dataclass(slots=True)
class _Phrase:
    """A phrase while it is counted."""

    keys: tuple[str, ...]
    first: float  # where it stands first, from 0 to 1
    weight: float = 0.0
    count: int = 0
    body: int = 0
    raised: bool = False  # stands in the title or a heading
    capitals: int = 0
    inside: int = 0  # mentions that are no sentence's beginning
    forms: Counter[str] = field(default_factory=Counter)
    places: set[int] = field(default_factory=set)


def find_topics(blocks: Sequence[Block], title: str | None, language: str | None, most: int) -> list[Topic]:
    """The best ones first; few or none where nothing comes again."""
    sample = "".join(block.text[:400] for block in blocks[:20]) + (title or "")
    if len(IDEOGRAPH.findall(sample)) > 0.3 * max(len(sample), 1):
        lines = [title or "", title or "", *(block.text for block in _bounded(blocks))]
        found = [_bare(phrase.lower()) for phrase, _ in key_phrases(lines, language, 2 * most)]
        told_once: list[str] = []
        empty = general_words(language)
        for phrase in found:
            if (
                phrase
                and phrase not in empty
                and not begins_with_a_day(phrase)
                and not any(phrase in other or other in phrase for other in told_once)
            ):
                told_once.append(phrase)
        return [Topic(phrase, round(max(0.4, 0.8 - 0.08 * at), 2)) for at, phrase in enumerate(told_once[:most])]
    phrases = _counted(blocks, title, language)
    scores = {keys: _score(one, language) for keys, one in phrases.items()}
    told = [keys for keys in scores if scores[keys] > 0 and _is_enough(phrases[keys], blocks, has_language(language))]
    told.sort(key=lambda keys: (-scores[keys], phrases[keys].first))
    chosen = _distinct(told, most)
    if not chosen:
        return []
    best = scores[chosen[0]]
    return [
        Topic(_shown(phrases[keys], language), round(min(0.9, 0.3 + 0.5 * scores[keys] / best), 2))
        for keys in chosen
        if scores[keys] >= MIN_SCORE * best
    ]


def _bounded(blocks: Sequence[Block]) -> Iterator[Block]:
    room = _ROOM
    for block in blocks:
        if room <= 0:
            return
        room -= len(block.text)
        if block.sort is not BlockType.MENU:
            yield block


def _counted(blocks: Sequence[Block], title: str | None, language: str | None) -> dict[tuple[str, ...], _Phrase]:
    empty = general_words(language)
    found: dict[tuple[str, ...], _Phrase] = {}
    units = [(title or "", _TITLE)]
    weights = {BlockType.HEADING: _HEADING, BlockType.ASIDE: _ASIDE}
    units += [(block.text, weights.get(block.sort, _BODY)) for block in _bounded(blocks)]
    for at, (text, weight) in enumerate(units):
        if at and at < 20 and title and same_words(text, title):
            continue
        for form, begins in _phrases(text, empty, language):
            keys = tuple(_key(word, language) for word in form)
            one = found.get(keys)
            if one is None:
                one = found[keys] = _Phrase(keys, at / len(units))
            one.count += 1
            one.weight += weight
            one.body += weight == _BODY
            one.raised = one.raised or weight > _BODY
            one.forms[" ".join(form)] += 1
            if not begins:
                one.inside += 1
                one.capitals += form[-1][:1].isupper()
            one.places.add(at)
    return found


def _phrases(text: str, empty: frozenset[str], language: str | None) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Every run of one to three words that say something, and whether it begins a sentence."""
    run: list[str] = []
    begun = True
    begins = True
    for token in [*_TOKEN.findall(_TIED.sub(lambda name: name[0][:-1] + _TIE, RUNS.sub(" . ", text))), "."]:
        if _tells(token, empty):
            if not run:
                begins = begun
            run.append(token)
            begun = False
            continue
        for start in range(len(run)):
            for stop in range(start + 1, min(start + _LONGEST, len(run)) + 1):
                yield tuple(run[start:stop]), begins and start == 0
        run = []
        begun = token in ".!?:" if not token[0].isalnum() else False


def _tells(token: str, empty: frozenset[str]) -> bool:
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


def _key(word: str, language: str | None) -> str:
    plain = fold(word).replace("’", "'").removesuffix("'s")
    if language in _PLURALS and len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-3] + "y" if plain.endswith("ies") and len(plain) > 5 and language == "en" else plain[:-1]
    if language == "de" and len(plain) > 5:
        return plain[:-2] if plain.endswith(("en", "es", "er")) else plain[:-1] if plain[-1] in "ens" else plain
    return plain


def _is_enough(one: _Phrase, blocks: Sequence[Block], known: bool) -> bool:
    """Whether it comes often enough for a text of this length, and not in one place alone.

    Where nobody knows the small words of the language, its frequent words are many of them: more is asked for.
    """
    if all(key in compound_words() for key in one.keys):
        return False
    if len(one.keys[0]) == 2 and one.count < _ABBREVIATION:
        return False
    if one.raised and one.body and known:
        return True
    least = (2 if len(blocks) < 40 else 3) + (not known)
    return one.body + one.raised > 0 and one.count >= least and (len(one.places) > 1 or one.count > least)


def _score(one: _Phrase, language: str | None) -> float:
    last = one.forms.most_common(1)[0][0].rpartition(" ")[2]
    if not is_nounlike(last.lower(), language):
        return 0.0
    score = math.log1p(one.weight) * (1.0, 1.35, 1.45)[len(one.keys) - 1]
    score *= 1.0 + 0.6 * one.raised + 0.25 * (one.first < 0.1)
    score *= 0.7 + 0.3 * min(len(one.places), 5) / 5
    named = one.inside > 0 and one.capitals > 0.7 * one.inside
    if language == "de":
        score *= 1.2 if one.capitals > 0.5 * max(one.inside, 1) else 0.2  # its nouns have capitals
    elif named:
        score *= 1.15
    if not has_language(language):
        score *= 1.0 if named or len(last) > 5 else 0.3
    if len(one.keys) == 1 and len(last) < 5 and not named:
        score *= 0.8
    return score


def _distinct(ranked: Sequence[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
    """The best ones that share no word."""
    chosen: list[tuple[str, ...]] = []
    used: set[str] = set()
    for keys in ranked:
        if len(chosen) == most:
            break
        if used.isdisjoint(keys):
            chosen.append(keys)
            used.update(keys)
    return chosen


def _bare(phrase: str) -> str:
    """A phrase of an unspaced script as a tag; empty when it is a verb."""
    if not _HANGUL.search(phrase):
        return phrase
    return "" if phrase.endswith(_KOREAN_VERBS) or len(phrase) < 2 else _KOREAN_PARTICLES.sub("", phrase)


def _shown(one: _Phrase, language: str | None) -> str:
    form = one.forms.most_common(1)[0][0]
    if language == "de":
        bases = [form.removesuffix(end) for end in ("es", "s") if form.endswith(end)]  # the genitive
        form = next((base for base in bases if base in one.forms), form)
    return form.lower().replace("’", "'").removesuffix("'s").replace(_TIE, " ")[:_TAG_LENGTH]
