"""Find the topics of a text as tags: words and phrases that recur, above all in its title and headings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chyme.text.common_words import begins_with_a_day, general_words, has_language, has_noun_endings, is_nounlike
from chyme.text.key_phrases import key_phrases
from chyme.text.markdown_blocks import Block
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.understanding.summaries.refusals import is_filler
from chyme.understanding.tags.clear_subjects import is_clear_subject, is_name
from chyme.understanding.tags.person_names import find_person_words, find_relatives
from chyme.understanding.tags.phrases import (
    JOINER,
    TOKEN,
    Phrase,
    count_phrases,
    first_blocks,
    form_heads,
    form_nouns,
    generic_nouns,
    is_german_noun_phrase,
    without_other_languages,
)

MIN_SCORE, _MIN_SCORE_OF_FEW, _FEW = 0.36, 0.28, 3  # share of the best score; less for the first topics
_SURE_TOPICS = 2  # topics that are given without further proof, unless the title names the best one
_MAX_LEAD = 1.5  # times the second score that the best one counts at most: a title is far ahead
_TAG_LENGTH = 50
_MIN_PERSON = 4  # mentions of a person whose name is in the title
_COVERED = 0.75  # share of the mentions of a phrase that are part of one longer phrase
_AS_VERB = 0.5  # share of the mentions after a word that verbs follow
_AS_NOUN = 0.3  # share of the mentions after a word that nouns follow, of a word whose verb forms a text has
_MIN_ABBREVIATION = 4  # mentions that a tag of two letters needs
_MIN_LETTERS = 4  # of a word that is a topic alone and no name or abbreviation
_AS_MODIFIER = 0.6  # share of the mentions before a general noun: favourite things, custom settings
_SHORT_TEXT = 120  # words; what occurs twice in a shorter text does so by chance
_MIN_UNCHECKED, _PLACES_UNCHECKED = 4, 3  # mentions and places where nouns are not distinguished from other words
# Korean attaches particles and endings to words: verbs are no subjects, and the particles of nouns are cut off.
_KOREAN_VERBS = ("다", "는", "한", "할", "된", "될", "하여", "하고", "하게", "으면", "하며", "있", "것", "및")
_KOREAN_PARTICLES = re.compile(r"(?<=[\uac00-\ud7a3]{2})(?:에서|으로|에게|까지|부터|을|를|은|이|가|에|의|로|와|과|도)$")
_UNSPACED_ALPHABETS = frozenset({"th", "lo", "km", "my", "bo"})
_HANGUL = re.compile("[\uac00-\ud7a3]")

_FILLER_SAMPLE = 2_000  # characters by which placeholder text is recognised


@dataclass(frozen=True, slots=True)
class Topic:
    """A tag with a score from 0 to 1."""

    tag: str
    score: float


def find_topics(
    blocks: Sequence[Block], title: str | None, language: str | None, limit: int, people: Sequence[str] = ()
) -> list[Topic]:
    """The topics of a text, the best first; few or none if nothing recurs. Placeholder text (lorem ipsum) has none.

    `people` are names of authors and senders. People are no topics, unless the title names them.
    """
    sample = "".join(block.text[:400] for block in blocks[:20]) + (title or "")
    if is_filler(sample[:_FILLER_SAMPLE]):
        return []
    if language in _UNSPACED_ALPHABETS:
        return []  # where their words end is not known
    if len(IDEOGRAPH.findall(sample)) > 0.3 * max(len(sample), 1):
        lines = [title or "", title or "", *(block.text for block in first_blocks(blocks))]
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
    blocks = without_other_languages(blocks, language)
    phrases = count_phrases(blocks, title, language)
    words = sum(len(block.text.split()) for block in first_blocks(blocks))
    is_short = words < _SHORT_TEXT
    extra = int(is_short and language != "de")  # German nouns have capitals
    recurring = [keys for keys, counts in phrases.items() if _recurs(counts, blocks, language, extra)]
    recurring = _without_people(_without_parts(recurring, phrases), phrases, blocks, title, people)
    scores = {keys: _score(phrases[keys], language, phrases) for keys in recurring}
    ranked = [keys for keys in recurring if scores[keys] > 0]
    ranked.sort(key=lambda keys: (-scores[keys], phrases[keys].first))
    chosen = _distinct(ranked, limit)
    if not chosen:
        return []
    sure = 1 if phrases[chosen[0]].titled else _SURE_TOPICS
    chosen = chosen[:sure] + [keys for keys in chosen[sure:] if is_clear_subject(phrases[keys], words, language)]
    best = min(scores[chosen[0]], _MAX_LEAD * scores[chosen[min(1, len(chosen) - 1)]])
    return [
        Topic(_to_tag(phrases[keys], language), round(min(0.9, 0.3 + 0.5 * scores[keys] / best), 2))
        for keys in chosen
        if scores[keys] >= (MIN_SCORE if chosen.index(keys) >= _FEW else _MIN_SCORE_OF_FEW) * best
    ]


def _recurs(phrase: Phrase, blocks: Sequence[Block], language: str | None, extra: int) -> bool:
    """Whether it occurs often enough for a text of this length, and not only in one place.

    If nouns of the language cannot be recognised, many of its frequent words are verbs: more mentions are
    needed. `extra` are mentions that a short text needs besides.
    """
    generic = generic_nouns(language)
    if len(phrase.keys) == 1 and phrase.keys[0] in form_nouns():
        return False
    if all(key in generic for key in phrase.keys) and (len(phrase.keys) == 1 or not phrase.raised):
        return False
    if phrase.keys[-1] in form_heads() and not phrase.titled:
        return False
    if len(phrase.keys[0]) == 2 and phrase.count < _MIN_ABBREVIATION:
        return False
    if not has_noun_endings(language):
        return phrase.count >= _MIN_UNCHECKED and len(phrase.places) >= _PLACES_UNCHECKED
    if phrase.titled and phrase.body:
        return True
    if phrase.raised and phrase.body and not extra:
        return True
    least = 2 if len(blocks) < 40 else 3
    if phrase.count < least + extra or not (phrase.body or phrase.raised):
        return False
    return len(phrase.places) > 1 or phrase.count > least


def _is_verb(phrase: Phrase, named: bool) -> bool:
    """Whether hardly a mention is where nouns are. Capitals prove no name if the text has the word without them too."""
    is_word = not named or any(form.islower() for form in phrase.forms)
    return phrase.as_noun < _AS_NOUN * phrase.count if is_word else not phrase.as_noun


def _is_apposition(form: str, generic: frozenset[str]) -> bool:
    """Whether a general noun precedes a name, as in `wife Anna`: it is a part of a sentence."""
    words = form.split()
    return any(word.islower() and word in generic and name.istitle() for word, name in pairwise(words))


def _has_verb_forms(word: str, phrases: Mapping[tuple[str, ...], Phrase]) -> bool:
    """Whether a text has forms of a verb besides the word: erased, erasing."""
    stem = word.removesuffix("e")
    return (f"{stem}ed",) in phrases or (f"{stem}ing",) in phrases


def _score(phrase: Phrase, language: str | None, phrases: Mapping[tuple[str, ...], Phrase]) -> float:
    form = max(phrase.forms, key=phrase.forms.__getitem__)
    last = form.rpartition(" ")[2]
    if not is_nounlike(last.lower(), language) or len(form) > _TAG_LENGTH:
        return 0.0
    named = is_name(phrase)
    if language != "de" and _is_apposition(form, generic_nouns(language)):
        return 0.0
    if len(phrase.keys) == 1 and (
        phrase.as_verb > _AS_VERB * phrase.count
        or (phrase.as_modifier > _AS_MODIFIER * phrase.count and not named)
        or (len(last) < _MIN_LETTERS and not last.isupper())
        or (language == "en" and _is_verb(phrase, named) and _has_verb_forms(phrase.keys[0], phrases))
    ):
        return 0.0
    if phrase.cut > _COVERED * phrase.count:
        return 0.0
    score = math.log1p(phrase.weight) * (1.0, 1.6, 1.7, 1.7)[len(phrase.keys) - 1]
    score *= 1.0 + 0.6 * phrase.raised + 0.25 * (phrase.first < 0.1)
    score *= 0.7 + 0.3 * min(len(phrase.places), 5) / 5
    if language == "de" and (phrase.capitals <= 0.5 * phrase.inside or not is_german_noun_phrase(form.split())):
        return 0.0
    if language == "de":
        score *= 1.2
    elif named:
        score *= 1.15
    if not has_language(language):
        score *= 1.0 if named or len(last) > 5 else 0.3
    if len(phrase.keys) == 1 and len(last) < 5 and not named:
        score *= 0.8
    return score


def _without_parts(
    found: Sequence[tuple[str, ...]], phrases: Mapping[tuple[str, ...], Phrase]
) -> list[tuple[str, ...]]:
    """The phrases without those that nearly always are part of the same longer one."""
    covering: dict[tuple[str, ...], int] = {}
    for keys in found:
        for length in range(1, len(keys)):
            for start in range(len(keys) - length + 1):
                part = keys[start : start + length]
                covering[part] = max(covering.get(part, 0), phrases[keys].count)
    return [keys for keys in found if covering.get(keys, 0) < _COVERED * phrases[keys].count]


def _without_people(
    found: Sequence[tuple[str, ...]],
    phrases: Mapping[tuple[str, ...], Phrase],
    blocks: Sequence[Block],
    title: str | None,
    people: Sequence[str],
) -> list[tuple[str, ...]]:
    """The phrases without people's names, except those in the title that recur, and no first name alone."""
    persons = find_person_words("\n".join(block.text for block in first_blocks(blocks)), people)
    relatives = find_relatives(title or "")
    if not persons and not relatives:
        return list(found)
    known = find_person_words("", people)
    words = TOKEN.findall(title or "")
    first = frozenset(fold(word) for word, following in pairwise(words) if fold(following) in persons)
    named = frozenset(map(fold, words)) - known
    return [
        keys
        for keys in found
        if not (len(keys) == 1 and keys[0] in first | relatives)
        and (persons.isdisjoint(keys) or (named.issuperset(keys) and phrases[keys].count >= _MIN_PERSON))
    ]


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


def _to_tag(phrase: Phrase, language: str | None) -> str:
    form = max(phrase.forms, key=phrase.forms.__getitem__)
    if language == "de":
        bases = [form.removesuffix(end) for end in ("es", "s") if form.endswith(end)]  # the genitive
        form = next((base for base in bases if base in phrase.forms), form)
    return form.lower().replace("’", "'").removesuffix("'s").replace(JOINER, " ")
