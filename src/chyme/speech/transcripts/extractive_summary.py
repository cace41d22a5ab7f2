"""A summary without a model: sentences that were said, chosen by what they share with the others."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.model import Transcript
from chyme.speech.transcripts.cleanup_rules import clean_segments
from chyme.speech.transcripts.summary import Point, Summary
from chyme.text.action_phrases import asks_for_action, is_question
from chyme.text.function_words import empty_words
from chyme.text.key_phrases import key_phrases
from chyme.text.sentences import Sentence, sentences_of, terms_of, word_count
from chyme.text.text_rank import ranks
from chyme.text.unspaced_scripts import RUNS

RULES = 1  # raise it when a rule changes what comes out
SHORT = 40  # words up to which a transcript is its own summary
TOPICS, ACTIONS, QUESTIONS = 6, 6, 6
_TWO_SENTENCES = 300  # words from which on a takeaway has two
_LEAST, _MOST = 6, 45  # words of a sentence that can stand for the others
_SECOND = 0.6  # of the best: less, and one sentence is enough
_SAME = 0.5  # the share of terms from which on a second sentence says the first again
_BEGINNING, _END = 0.15, 0.9  # where people say what it is about, and what came of it
_FRAMING = 1.15
_POINTS_BACK = """
it that this these those he she they so and but or because which es das dies er sie und aber oder weil denn il elle
ça cela ce et mais ou parce eso esto y pero o porque questo quello e ma o perché dat dit en maar of want isso isto e
mas ou porque
"""
_GREETINGS = """
hello hi hey welcome good thanks thank goodbye bye hallo guten willkommen danke tschüss bonjour bonsoir salut merci
bienvenue hola buenos buenas gracias bienvenidos ciao buongiorno buonasera grazie welkom dank bedankt olá bom boa
obrigado obrigada
"""


def is_short(transcript: Transcript) -> bool:
    """Whether a transcript is its own summary."""
    return sum(word_count(segment.text) for segment in transcript.segments) < SHORT


def extract_summary(transcript: Transcript) -> Summary:
    """What the transcript says in its own words. The takeaway is empty when nothing was said."""
    language = transcript.language
    texts = clean_segments(transcript.segments, language)
    if is_short(transcript):
        return Summary(join_texts(texts))
    sentences = sentences_of(transcript.segments, texts)
    empty = empty_words(language)
    bags = [frozenset(terms_of(one.text, empty)) for one in sentences]
    scores = ranks(bags)
    actions = _actions(sentences, scores, language)
    questions = _best(
        [at for at, one in enumerate(sentences) if is_question(one.text)], scores, QUESTIONS, set(actions)
    )
    several = len({one.speaker for one in sentences}) > 1
    return Summary(
        _takeaway(sentences, bags, scores),
        tuple(
            Point(phrase, sentences[at].seconds)
            for phrase, at in key_phrases([one.text for one in sentences], language, TOPICS)
        ),
        _points(sentences, actions, several),
        _points(sentences, questions, several),
    )


def join_texts(texts: Sequence[str]) -> str:
    """The texts one after the other, with a blank between them where the script has some."""
    told = ""
    for text in texts:
        stripped = text.strip()
        unspaced = RUNS.search(told[-1:]) is not None or told[-1:] in "。！？、，"
        told += ("" if not told or (unspaced and RUNS.search(stripped[:1])) else " ") + stripped
    return told.strip()


def _takeaway(sentences: Sequence[Sentence], bags: Sequence[frozenset[str]], scores: Sequence[float]) -> str:
    weighed = {at: _weighed(one, at / len(sentences), scores[at]) for at, one in enumerate(sentences)}
    told = [at for at, one in enumerate(sentences) if _LEAST <= one.words <= _MOST and not is_question(one.text)]
    ranked = sorted(told or weighed, key=lambda at: (-weighed[at], at))
    chosen = ranked[:1]
    if chosen and sum(one.words for one in sentences) >= _TWO_SENTENCES:
        best = chosen[0]
        chosen += [at for at in ranked[1:] if _adds(bags[at], bags[best]) and weighed[at] >= _SECOND * weighed[best]][
            :1
        ]
    return join_texts([_capitalised(sentences[at].text) for at in sorted(chosen)])


def _weighed(sentence: Sentence, place: float, score: float) -> float:
    first = sentence.text.split(maxsplit=1)[0].lower().strip(",.")
    weight = score * (_FRAMING if place < _BEGINNING or place > _END else 1.0)
    return weight * (0.5 if first in _GREETINGS.split() else 0.8 if first in _POINTS_BACK.split() else 1.0)


def _adds(bag: frozenset[str], first: frozenset[str]) -> bool:
    return len(bag & first) < _SAME * max(min(len(bag), len(first)), 1)


def _actions(sentences: Sequence[Sentence], scores: Sequence[float], language: str | None) -> list[int]:
    signs = {at: asks_for_action(one.text, language) for at, one in enumerate(sentences)}
    likely = sorted((at for at in signs if signs[at]), key=lambda at: (-signs[at], -scores[at], at))
    return sorted(likely[:ACTIONS])


def _best(numbers: Sequence[int], scores: Sequence[float], most: int, but: set[int]) -> list[int]:
    return sorted(sorted((at for at in numbers if at not in but), key=lambda at: (-scores[at], at))[:most])


def _points(sentences: Sequence[Sentence], chosen: Sequence[int], several: bool) -> tuple[Point, ...]:
    return tuple(
        Point(_capitalised(one.text), one.seconds, one.speaker if several else None)
        for one in (sentences[at] for at in chosen)
    )


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].islower() and text.split(maxsplit=1)[0].islower() else text
