"""Summarise without a model: choose sentences by what they have in common with the others."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.model import Transcript
from chyme.speech.transcripts.cleanup_rules import clean_segments
from chyme.speech.transcripts.summary import Point, Summary
from chyme.text.action_phrases import asks_for_action, is_question
from chyme.text.function_words import empty_words
from chyme.text.key_phrases import key_phrases
from chyme.text.markdown_lines import join_texts
from chyme.text.sentences import Sentence, ranks, sentences_of, terms_of, word_count
from chyme.text.word_lists import WordList

RULES = 1  # raise it when a rule changes the result
SHORT = 40  # a transcript of fewer words is its own summary
TOPICS, ACTIONS, QUESTIONS = 6, 6, 6
_TWO_SENTENCES = 300  # words from which a takeaway has two sentences
_MIN_WORDS, _MAX_WORDS = 6, 45  # minimum and maximum words of a sentence that can represent the others
_SECOND_SCORE = 0.6  # minimum score of a second sentence, relative to the best
_REPETITION_SHARE = 0.5  # share of terms from which a second sentence only repeats the first
_BEGINNING, _END = 0.15, 0.9  # where people say what it is about, and what the result is
_FRAMING_BONUS = 1.15
_POINTS_BACK = WordList(__package__, "points_back")
_GREETINGS = WordList(__package__, "greetings")


def is_short(transcript: Transcript) -> bool:
    """Whether a transcript is its own summary."""
    return sum(word_count(segment.text) for segment in transcript.segments) < SHORT


def extract_summary(transcript: Transcript) -> Summary:
    """Summarise the transcript in its own words. The takeaway is empty when nothing was said."""
    language = transcript.language
    texts = clean_segments(transcript.segments, language)
    if is_short(transcript):
        return Summary(join_texts(texts))
    sentences = sentences_of(transcript.segments, texts)
    stop_words = empty_words(language)
    term_sets = [frozenset(terms_of(sentence.text, stop_words)) for sentence in sentences]
    scores = ranks(term_sets)
    actions = _pick_actions(sentences, scores, language)
    others = [index for index, sentence in enumerate(sentences) if is_question(sentence.text) and index not in actions]
    questions = sorted(sorted(others, key=lambda index: (-scores[index], index))[:QUESTIONS])
    several_speakers = len({sentence.speaker for sentence in sentences}) > 1
    return Summary(
        _pick_takeaway(sentences, term_sets, scores),
        tuple(
            Point(phrase, sentences[index].seconds)
            for phrase, index in key_phrases([sentence.text for sentence in sentences], language, TOPICS)
        ),
        _make_points(sentences, actions, several_speakers),
        _make_points(sentences, questions, several_speakers),
    )


def _pick_takeaway(sentences: Sequence[Sentence], term_sets: Sequence[frozenset[str]], scores: Sequence[float]) -> str:
    weights = {
        index: _weigh_sentence(sentence, index / len(sentences), scores[index])
        for index, sentence in enumerate(sentences)
    }
    candidates = [
        index
        for index, sentence in enumerate(sentences)
        if _MIN_WORDS <= sentence.words <= _MAX_WORDS and not is_question(sentence.text)
    ]
    ranked = sorted(candidates or weights, key=lambda index: (-weights[index], index))
    chosen = ranked[:1]
    if chosen and sum(sentence.words for sentence in sentences) >= _TWO_SENTENCES:
        best = chosen[0]
        chosen += [
            index
            for index in ranked[1:]
            if _adds_something(term_sets[index], term_sets[best]) and weights[index] >= _SECOND_SCORE * weights[best]
        ][:1]
    return join_texts([_capitalised(sentences[index].text) for index in sorted(chosen)])


def _weigh_sentence(sentence: Sentence, position: float, score: float) -> float:
    first_word = sentence.text.split(maxsplit=1)[0].lower().strip(",.")
    weight = score * (_FRAMING_BONUS if position < _BEGINNING or position > _END else 1.0)
    return weight * (0.5 if first_word in _GREETINGS.words() else 0.8 if first_word in _POINTS_BACK.words() else 1.0)


def _adds_something(terms: frozenset[str], first_terms: frozenset[str]) -> bool:
    return len(terms & first_terms) < _REPETITION_SHARE * max(min(len(terms), len(first_terms)), 1)


def _pick_actions(sentences: Sequence[Sentence], scores: Sequence[float], language: str | None) -> list[int]:
    action_scores = {index: asks_for_action(sentence.text, language) for index, sentence in enumerate(sentences)}
    likely = sorted(
        (index for index in action_scores if action_scores[index]),
        key=lambda index: (-action_scores[index], -scores[index], index),
    )
    return sorted(likely[:ACTIONS])


def _make_points(sentences: Sequence[Sentence], chosen: Sequence[int], several_speakers: bool) -> tuple[Point, ...]:
    return tuple(
        Point(_capitalised(sentence.text), sentence.seconds, sentence.speaker if several_speakers else None)
        for sentence in (sentences[index] for index in chosen)
    )


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].islower() and text.split(maxsplit=1)[0].islower() else text
